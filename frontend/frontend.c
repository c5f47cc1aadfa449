/* The front end in one call, and the table of keys. */
#include "sema.h"

#include "hash.h"

#include <string.h>

static bool read_defines(struct tlmc_sema *s)
{
    const char *const *d = s->options ? s->options->defines : NULL;

    for (; d && *d; d++) {
        const char *equal = strchr(*d, '=');
        struct tlmc_define define = { 0 };

        if (!equal || equal == *d) {
            tlmc_sema_error(s, NULL, (struct tlmc_span){ 0 }, TLMC_E_DEFINE,
                            "-D %s: NAME=VALUE is wanted", *d);
            continue;
        }
        define.name = tlmc_intern_n(s->symbols, *d, (size_t)(equal - *d));
        define.text = equal + 1;
        TLMC_PUSH(s->arena, &s->defines, define);
    }
    return !s->failures;
}

static const char *command_text(struct tlmc_sema *s)
{
    struct tlmc_strbuf buf = { 0 };
    const char *text;

    for (unsigned i = 0; i < s->defines.count; i++)
        tlmc_strbuf_printf(&buf, "%s-D %s=%s", i ? " " : "", s->defines.items[i].name,
                           s->defines.items[i].text);
    text = tlmc_arena_strdup(s->arena, tlmc_strbuf_text(&buf));
    tlmc_strbuf_free(&buf);
    return text;
}

static void describe(struct tlmc_sema *s)
{
    struct tlmc_module *m = s->module;
    const char *slash = strrchr(s->file->path, '/');

    m->name = s->file->model->text;
    m->source_name = TLMC_SYM(s, slash ? slash + 1 : s->file->path);
    m->has_entries = s->file->entries.count > 0;
    m->command = command_text(s);
    m->digest = TLMC_HASH_BASIS;
    for (unsigned i = 0; i < s->files.count; i++) {
        const struct tlmc_source *source = tlmc_sources_get(s->sources, s->files.items[i]->source);

        m->digest = tlmc_hash(m->digest, source->text, source->length);
    }
}

static bool build(struct tlmc_sema *s, uint32_t source)
{
    if (!read_defines(s) || !tlmc_load_std(s))
        return false;
    s->file = tlmc_load_model(s, source);
    if (!s->file || !tlmc_check_clause_names(s) || !tlmc_elaborate_all(s))
        return false;
    describe(s);
    tlmc_check_clauses(s);
    for (unsigned i = 0; i < s->works.count && !s->failures; i++) {
        tlmc_finish_form(s, s->works.items[i]);
        TLMC_PUSH(s->arena, &s->module->forms, s->works.items[i]->form);
    }
    if (!s->failures)
        tlmc_apply_clauses(s);
    return !s->failures;
}

struct tlmc_module *tlmc_frontend_source(struct tlmc_arena *arena, struct tlmc_symtab *symbols,
                                         struct tlmc_sources *sources, uint32_t source,
                                         const struct tlmc_frontend_options *options,
                                         struct tlmc_diags *diags)
{
    struct tlmc_sema s = {
        .arena = arena, .symbols = symbols, .sources = sources, .diags = diags, .options = options
    };

    s.module = TLMC_NEW(arena, struct tlmc_module);
    s.module->arena = arena;
    s.module->symbols = symbols;
    s.module->sources = sources;
    return build(&s, source) && !diags->errors ? s.module : NULL;
}

struct tlmc_module *tlmc_frontend(struct tlmc_arena *arena, struct tlmc_symtab *symbols,
                                  struct tlmc_sources *sources, const char *path,
                                  const struct tlmc_frontend_options *options,
                                  struct tlmc_diags *diags)
{
    const uint32_t source = tlmc_read_source(sources, path, (struct tlmc_span){ 0 }, diags);

    return source ? tlmc_frontend_source(arena, symbols, sources, source, options, diags) : NULL;
}

void tlmc_module_keys(const struct tlmc_module *module, struct tlmc_strbuf *out)
{
    char type[256];

    for (unsigned i = 0; i < module->params.count; i++) {
        const struct tlmc_param *p = &module->params.items[i];

        if (p->kind == TLMC_PARAM_TRAINED || p->kind == TLMC_PARAM_STATE)
            tlmc_strbuf_printf(out, "%s %s %s\n", p->kind == TLMC_PARAM_TRAINED ? "param" : "state",
                               p->key, tlmc_type_text(&p->type, type));
    }
}
