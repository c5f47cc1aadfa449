/* Files: the model, what it imports, std.  In: paths.  Out: trees with their blocks, entries and
   clauses listed. Refused: a file that imports itself, two blocks of one name, statements where a
   file of that kind has none. */
#include "sema.h"

#include <stdio.h>
#include <string.h>

/* Functions NAME_<this> of the emitted program: no entry may be called so. */
static const char *const taken_entries[] = { "create",   "destroy",  "params",   "reset",
                                             "train",    "infer",    "generate", "eval",
                                             "evaluate", "error",    "load",     "save",
                                             "reinit",   "get_step", "set_step", "get_seed",
                                             "set_seed", "get_lr",   "set_lr",   "scalars" };

static const char *const c_keywords[] = { "auto",     "break",   "case",     "char",    "const",
                                          "continue", "default", "do",       "double",  "else",
                                          "enum",     "extern",  "float",    "for",     "goto",
                                          "if",       "inline",  "int",      "long",    "register",
                                          "restrict", "return",  "short",    "signed",  "sizeof",
                                          "static",   "struct",  "switch",   "typedef", "union",
                                          "unsigned", "void",    "volatile", "while",   "main" };

static bool is_one_of(const char *name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(name, list[i]))
            return true;
    return false;
}

static void add_block(struct tlmc_sema *s, struct tlmc_file *file, const struct tlmc_ast *n)
{
    const uint32_t old = tlmc_map_get(&file->block_map, n->text);

    if (old != UINT32_MAX) {
        struct tlmc_diag *d = tlmc_sema_error(s, NULL, n->span, TLMC_E_REDEFINED,
                                              "block `%s` is defined twice", n->text);

        tlmc_sema_note(s, d, file->blocks.items[old]->span, "first defined here");
        return;
    }
    tlmc_map_put(s->arena, &file->block_map, n->text, file->blocks.count);
    TLMC_PUSH(s->arena, &file->blocks, n);
}

static void add_entry(struct tlmc_sema *s, struct tlmc_file *file, const struct tlmc_ast *n)
{
    if (is_one_of(n->text, taken_entries, sizeof taken_entries / sizeof *taken_entries))
        tlmc_sema_error(s, NULL, n->span, TLMC_E_ENTRY,
                        "the emitted program has a function `%s` already; name the entry otherwise",
                        n->text);
    for (unsigned i = 0; i < file->entries.count; i++)
        if (file->entries.items[i]->text == n->text) {
            struct tlmc_diag *d = tlmc_sema_error(s, NULL, n->span, TLMC_E_REDEFINED,
                                                  "entry `%s` is defined twice", n->text);

            tlmc_sema_note(s, d, file->entries.items[i]->span, "first defined here");
        }
    TLMC_PUSH(s->arena, &file->entries, n);
}

static void add_model(struct tlmc_sema *s, struct tlmc_file *file, const struct tlmc_ast *n)
{
    if (file->model) {
        struct tlmc_diag *d = tlmc_sema_error(s, NULL, n->span, TLMC_E_REDEFINED,
                                              "a file is one model; it has its name already");

        tlmc_sema_note(s, d, file->model->span, "named here");
        return;
    }
    if (is_one_of(n->text, c_keywords, sizeof c_keywords / sizeof *c_keywords))
        tlmc_sema_error(s, NULL, n->span, TLMC_E_PLACEMENT,
                        "`%s` is a word of C; the emitted program cannot be named so", n->text);
    file->model = n;
}

static bool is_library_item(const struct tlmc_ast *n)
{
    return n->kind == TLMC_AST_DIM || n->kind == TLMC_AST_CONST || n->kind == TLMC_AST_BLOCK ||
           n->kind == TLMC_AST_IMPORT;
}

static bool is_declaration(const struct tlmc_ast *n)
{
    return n->kind == TLMC_AST_DIM || n->kind == TLMC_AST_CONST || n->kind == TLMC_AST_PARAM ||
           n->kind == TLMC_AST_STATE;
}

/* ---- imports */

/* "a/./b/../c" as "a/c": two spellings of one file are one file. */
static tlmc_sym normal_path(struct tlmc_sema *s, const char *path)
{
    char *out = TLMC_NEW_ARRAY(s->arena, char, strlen(path) + 2);
    size_t length = 0;
    const bool absolute = path[0] == '/';

    if (absolute)
        out[length++] = '/';
    for (const char *p = path; *p;) {
        const size_t part = strcspn(p, "/");
        const char *last = out + length;

        while (last > out && last[-1] != '/')
            last--;
        if (part == 2 && !memcmp(p, "..", 2) && length > absolute && strcmp(last, "..")) {
            length = (size_t)(last - out);
            if (length > absolute)
                length--;
        } else if (part && !(part == 1 && *p == '.')) {
            if (length > absolute)
                out[length++] = '/';
            memcpy(out + length, p, part);
            length += part;
        }
        out[length] = 0;
        p += part + (p[part] == '/');
    }
    return tlmc_intern(s->symbols, out);
}

static tlmc_sym joined_path(struct tlmc_sema *s, const char *folder, size_t length,
                            const char *name)
{
    struct tlmc_strbuf buf = { 0 };
    tlmc_sym path;

    if (name[0] != '/' && length) {
        tlmc_strbuf_add_n(&buf, folder, length);
        if (folder[length - 1] != '/')
            tlmc_strbuf_char(&buf, '/');
    }
    tlmc_strbuf_add(&buf, name);
    path = normal_path(s, tlmc_strbuf_text(&buf));
    tlmc_strbuf_free(&buf);
    return path;
}

static bool exists(const char *path)
{
    FILE *in = fopen(path, "rb");

    if (in)
        fclose(in);
    return in != NULL;
}

/* The importing file's folder first, then each -I. */
static tlmc_sym find_import(struct tlmc_sema *s, const struct tlmc_file *from, const char *name)
{
    const char *slash = strrchr(from->path, '/');
    const char *const *include = s->options ? s->options->includes : NULL;
    tlmc_sym path = joined_path(s, from->path, slash ? (size_t)(slash - from->path) + 1 : 0, name);

    if (exists(path))
        return path;
    for (; include && *include; include++) {
        path = joined_path(s, *include, strlen(*include), name);
        if (exists(path))
            return path;
    }
    return NULL;
}

static struct tlmc_file *load(struct tlmc_sema *s, tlmc_sym path, uint32_t source, bool library,
                              uint32_t depth);

static struct tlmc_file *load_import(struct tlmc_sema *s, struct tlmc_file *file,
                                     const struct tlmc_ast *n, uint32_t depth)
{
    const tlmc_sym path = find_import(s, file, n->text);
    uint32_t source;

    if (!path) {
        tlmc_sema_error(s, NULL, n->span, TLMC_E_IMPORT,
                        "`%s` is neither beside this file nor in a folder of -I", n->text);
        return NULL;
    }
    for (unsigned i = 0; i < s->files.count; i++) {
        if (s->files.items[i]->path != path)
            continue;
        if (!s->files.items[i]->loading)
            return s->files.items[i];
        tlmc_sema_error(s, NULL, n->span, TLMC_E_IMPORT, "import of `%s` goes round in a circle",
                        n->text);
        return NULL;
    }
    if (depth >= TLMC_MAX_IMPORTS) {
        tlmc_sema_error(s, NULL, n->span, TLMC_E_IMPORT,
                        "imports within imports, more than %d deep", TLMC_MAX_IMPORTS);
        return NULL;
    }
    source = tlmc_read_source(s->sources, path, n->span, s->diags);
    if (!source) {
        s->failures++;
        return NULL;
    }
    return load(s, path, source, false, depth + 1);
}

static void import_blocks(struct tlmc_sema *s, struct tlmc_file *file, const struct tlmc_ast *n,
                          struct tlmc_file *from)
{
    for (unsigned i = 0; i < from->blocks.count; i++) {
        const tlmc_sym name = from->blocks.items[i]->text;
        const uint32_t old = tlmc_map_get(&file->imported_map, name);

        if (old != UINT32_MAX && file->imported.items[old].file != from)
            tlmc_sema_error(s, NULL, n->span, TLMC_E_REDEFINED,
                            "block `%s` is imported twice, from `%s` and from `%s`; import one of "
                            "them `as` a name",
                            name, file->imported.items[old].file->path, from->path);
        if (old != UINT32_MAX)
            continue;
        tlmc_map_put(s->arena, &file->imported_map, name, file->imported.count);
        TLMC_PUSH(s->arena, &file->imported, ((struct tlmc_import){ name, from }));
    }
}

static void add_import(struct tlmc_sema *s, struct tlmc_file *file, const struct tlmc_ast *n,
                       uint32_t depth)
{
    struct tlmc_file *from = load_import(s, file, n, depth);

    if (!from)
        return;
    if (n->kids[0]->kind != TLMC_AST_NAME) {
        import_blocks(s, file, n, from);
        return;
    }
    if (tlmc_find_alias(file, n->kids[0]->text))
        tlmc_sema_error(s, NULL, n->kids[0]->span, TLMC_E_REDEFINED, "`%s` names an import already",
                        n->kids[0]->text);
    else
        TLMC_PUSH(s->arena, &file->aliases, ((struct tlmc_import){ n->kids[0]->text, from }));
}

/* ---- what stands in a file */

static void add_item(struct tlmc_sema *s, struct tlmc_file *file, const struct tlmc_ast *n,
                     uint32_t depth, bool imported)
{
    if (imported && !is_library_item(n)) {
        tlmc_sema_error(s, NULL, n->span, TLMC_E_PLACEMENT,
                        "an imported file has imports, blocks, dims and consts, no `%s`",
                        tlmc_ast_kind_name(n->kind));
        return;
    }
    if (n->kind == TLMC_AST_MODEL)
        add_model(s, file, n);
    else if (n->kind == TLMC_AST_BLOCK)
        add_block(s, file, n);
    else if (n->kind == TLMC_AST_ENTRY)
        add_entry(s, file, n);
    else if (n->kind == TLMC_AST_CLAUSE)
        TLMC_PUSH(s->arena, &file->clauses, n);
    else if (n->kind == TLMC_AST_IMPORT)
        add_import(s, file, n, depth);
    else
        TLMC_PUSH(s->arena, &file->items, n);
}

static struct tlmc_file *load(struct tlmc_sema *s, tlmc_sym path, uint32_t source, bool library,
                              uint32_t depth)
{
    struct tlmc_file *file = TLMC_NEW(s->arena, struct tlmc_file);

    file->path = path;
    file->source = source;
    file->library = library;
    file->loading = true;
    if (!library)
        TLMC_PUSH(s->arena, &s->files, file);
    file->ast = tlmc_parse(s->arena, s->symbols, s->sources, source, s->diags);
    if (!file->ast) {
        s->failures++;
        return NULL;
    }
    for (uint32_t i = 0; i < file->ast->count; i++)
        if (file->ast->kids[i])
            add_item(s, file, file->ast->kids[i], depth, library || depth);
    file->loading = false;
    return file;
}

struct tlmc_file *tlmc_load_model(struct tlmc_sema *s, uint32_t source)
{
    const char *path = tlmc_sources_get(s->sources, source)->path;
    struct tlmc_file *file = load(s, normal_path(s, path), source, false, 0);

    if (!file)
        return NULL;
    if (!file->model)
        tlmc_sema_error(s, NULL, (struct tlmc_span){ source, 0, 0 }, TLMC_E_PLACEMENT,
                        "a model file says its name: model NAME;");
    for (unsigned i = 0; i < file->items.count && file->entries.count; i++)
        if (!is_declaration(file->items.items[i]))
            tlmc_sema_error(s, NULL, file->items.items[i]->span, TLMC_E_PLACEMENT,
                            "`%s` stands outside an entry of a model with entries",
                            tlmc_ast_kind_name(file->items.items[i]->kind));
    return s->failures ? NULL : file;
}

bool tlmc_load_std(struct tlmc_sema *s)
{
    for (const struct tlmc_std_text *t = tlmc_std_texts; t->name; t++) {
        const tlmc_sym path = joined_path(s, "std", 3, t->name);
        const uint32_t source =
            tlmc_sources_add(s->sources, path, t->text, (uint32_t)strlen(t->text), true);
        struct tlmc_file *file = load(s, path, source, true, 0);

        if (!file)
            return false;
        for (unsigned i = 0; i < file->blocks.count; i++) {
            const tlmc_sym name = file->blocks.items[i]->text;

            TLMC_CHECK(tlmc_map_get(&s->std_map, name) == UINT32_MAX); /* one flat namespace */
            tlmc_map_put(s->arena, &s->std_map, name, s->std.count);
            TLMC_PUSH(s->arena, &s->std, ((struct tlmc_std_block){ name, file }));
        }
    }
    return true;
}

/* ---- finding blocks */

const struct tlmc_fn *tlmc_block_of(struct tlmc_sema *s, struct tlmc_file *file, tlmc_sym name)
{
    const uint32_t at = tlmc_map_get(&file->block_map, name);
    struct tlmc_fn *fn;

    if (at == UINT32_MAX)
        return NULL;
    fn = TLMC_NEW(s->arena, struct tlmc_fn);
    *fn = (struct tlmc_fn){
        .kind = TLMC_FN_BLOCK, .name = name, .block = file->blocks.items[at], .file = file
    };
    return fn;
}

const struct tlmc_fn *tlmc_find_block(struct tlmc_sema *s, struct tlmc_file *file, tlmc_sym name)
{
    const struct tlmc_fn *own = tlmc_block_of(s, file, name);
    const uint32_t imported = tlmc_map_get(&file->imported_map, name);
    const uint32_t std = tlmc_map_get(&s->std_map, name);

    if (own)
        return own;
    if (imported != UINT32_MAX)
        return tlmc_block_of(s, file->imported.items[imported].file, name);
    if (std != UINT32_MAX)
        return tlmc_block_of(s, s->std.items[std].file, name);
    return NULL;
}

struct tlmc_file *tlmc_find_alias(const struct tlmc_file *file, tlmc_sym name)
{
    for (unsigned i = 0; i < file->aliases.count; i++)
        if (file->aliases.items[i].name == name)
            return file->aliases.items[i].file;
    return NULL;
}
