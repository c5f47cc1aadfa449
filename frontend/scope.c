/* Names.  Each frame holds what its body declares and assigns; a block sees besides the dims and
   consts of its own file, an entry what its file declares.  Declared names end with their braces,
   assigned ones live on. */
#include "sema.h"

#include <math.h>
#include <string.h>

struct tlmc_frame *tlmc_frame_new(struct tlmc_sema *s, struct tlmc_frame *parent,
                                  struct tlmc_file *file, tlmc_sym title)
{
    struct tlmc_frame *f = TLMC_NEW(s->arena, struct tlmc_frame);

    f->parent = parent;
    f->file = file;
    f->title = title;
    f->real = f->any = TLMC_DTYPE_COUNT;
    return f;
}

struct tlmc_binding *tlmc_frame_find(const struct tlmc_frame *f, tlmc_sym name)
{
    const uint32_t at = tlmc_map_get(&f->names, name);

    if (at == UINT32_MAX || f->bindings.items[at].kind == TLMC_B_DEAD)
        return NULL;
    return &f->bindings.items[at];
}

struct tlmc_binding *tlmc_frame_bind(struct tlmc_sema *s, struct tlmc_frame *f, tlmc_sym name,
                                     enum tlmc_binding_kind kind, struct tlmc_val value,
                                     struct tlmc_span span)
{
    const struct tlmc_binding binding = { name, kind, f->depth, value, span };
    uint32_t at = tlmc_map_get(&f->names, name);

    if (at == UINT32_MAX) {
        at = f->bindings.count;
        TLMC_PUSH(s->arena, &f->bindings, binding);
        tlmc_map_put(s->arena, &f->names, name, at);
    }
    f->bindings.items[at] = binding;
    if (kind == TLMC_B_DECLARED)
        TLMC_PUSH(s->arena, &f->open, at);
    return &f->bindings.items[at];
}

uint32_t tlmc_scope_open(struct tlmc_frame *f)
{
    f->depth++;
    return f->open.count;
}

void tlmc_scope_close(struct tlmc_frame *f, uint32_t mark)
{
    f->depth--;
    while (f->open.count > mark)
        f->bindings.items[f->open.items[--f->open.count]].kind = TLMC_B_DEAD;
}

void tlmc_declare(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                  struct tlmc_val value)
{
    const struct tlmc_binding *old = tlmc_frame_find(f, n->text);

    if (old) {
        struct tlmc_diag *d = tlmc_sema_error(s, f, n->span, TLMC_E_REDEFINED,
                                              "`%s` already has a meaning here", n->text);

        tlmc_sema_note(s, d, old->span, "given here");
        return;
    }
    if (tlmc_dtype_find(n->text) != TLMC_DTYPE_COUNT || !strcmp(n->text, "real") ||
        !strcmp(n->text, "any")) {
        tlmc_sema_error(s, f, n->span, TLMC_E_REDEFINED, "`%s` is a type", n->text);
        return;
    }
    tlmc_frame_bind(s, f, n->text, TLMC_B_DECLARED, value, n->span);
}

/* The declarations of the file as its blocks see them; of the model they are those of the form
   being built. */
static struct tlmc_frame *file_scope(struct tlmc_sema *s, struct tlmc_file *file)
{
    if (file == s->file)
        return s->work->file_frame;
    if (file->scope_form == s->work->serial && file->scope)
        return file->scope;
    file->scope = tlmc_frame_new(s, NULL, file, file->path);
    file->scope->inst = s->work->root;
    file->scope_form = s->work->serial;
    for (unsigned i = 0; i < file->items.count; i++)
        tlmc_walk_one(s, file->scope, file->items.items[i]);
    return file->scope;
}

/* What a body sees of its file: an entry everything declared, a block dims and consts. */
static struct tlmc_binding *find_in_file(struct tlmc_sema *s, struct tlmc_frame *f, tlmc_sym name)
{
    struct tlmc_frame *scope;
    struct tlmc_binding *b;

    if (!f->is_block && !f->is_entry)
        return NULL;
    scope = file_scope(s, f->file);
    b = scope == f ? NULL : tlmc_frame_find(scope, name);
    if (!b || b->kind != TLMC_B_DECLARED || b->depth)
        return NULL;
    return f->is_block && b->value.kind == TLMC_V_TENSOR && b->value.place ? NULL : b;
}

static bool predefined(const char *name, struct tlmc_val *out)
{
    if (!strcmp(name, "inf"))
        *out = tlmc_val_float(INFINITY);
    else if (!strcmp(name, "nan"))
        *out = tlmc_val_float(NAN);
    else if (!strcmp(name, "pi"))
        *out = tlmc_val_float(3.14159265358979323846);
    else
        return false;
    return true;
}

const struct tlmc_fn *tlmc_find_op_fn(struct tlmc_sema *s, tlmc_sym name)
{
    struct tlmc_fn fn = { .name = name, .row = tlmc_function_find(name) };
    const enum tlmc_op op = tlmc_op_find(name);

    if (fn.row != UINT32_MAX) {
        fn.kind = TLMC_FN_FUNCTION;
    } else if (op != TLMC_OP_COUNT && tlmc_op_info(op)->family != TLMC_LEAF &&
               tlmc_op_info(op)->family != TLMC_UPDATE) {
        fn.kind = TLMC_FN_OP;
        fn.op = op;
    } else if (tlmc_dtype_find(name) != TLMC_DTYPE_COUNT) {
        fn.kind = TLMC_FN_CAST;
        fn.dtype = tlmc_dtype_find(name);
    } else if (tlmc_init_find(name) != UINT32_MAX) {
        fn.kind = TLMC_FN_INIT;
        fn.row = tlmc_init_find(name);
    } else {
        return NULL;
    }
    return tlmc_arena_memdup(s->arena, &fn, sizeof fn);
}

/* ---- near names */

typedef TLMC_VEC(tlmc_sym) names_vec;

static void add_frame_names(struct tlmc_sema *s, const struct tlmc_frame *f, bool declared,
                            names_vec *names)
{
    for (unsigned i = 0; i < f->bindings.count && names->count < 4096; i++) {
        const struct tlmc_binding *b = &f->bindings.items[i];

        if (b->kind == TLMC_B_DECLARED ||
            (b->kind == TLMC_B_VARIABLE && !declared && b->name[0] != '.'))
            TLMC_PUSH(s->arena, names, b->name);
    }
}

static void add_functions(struct tlmc_sema *s, const struct tlmc_file *file, names_vec *names)
{
    for (unsigned i = 0; i < file->blocks.count && names->count < 8192; i++)
        TLMC_PUSH(s->arena, names, file->blocks.items[i]->text);
    for (unsigned i = 0; i < file->imported.count && names->count < 8192; i++)
        TLMC_PUSH(s->arena, names, file->imported.items[i].name);
    for (unsigned i = 0; i < s->std.count; i++)
        TLMC_PUSH(s->arena, names, s->std.items[i].name);
    for (uint32_t i = 0; tlmc_function_name(i); i++)
        TLMC_PUSH(s->arena, names, tlmc_function_name(i));
    for (int op = 0; op < TLMC_OP_COUNT; op++)
        if (tlmc_op_info(op)->family != TLMC_LEAF && tlmc_op_info(op)->family != TLMC_UPDATE)
            TLMC_PUSH(s->arena, names, tlmc_op_info(op)->name);
    for (uint32_t i = 0; tlmc_init_name(i); i++)
        TLMC_PUSH(s->arena, names, tlmc_init_name(i));
}

static const struct tlmc_ast *skipped_condition(const struct tlmc_frame *f, tlmc_sym name)
{
    for (unsigned i = 0; i < f->skipped.count; i++)
        if (f->skipped.items[i].name == name)
            return f->skipped.items[i].condition;
    return NULL;
}

static bool is_planned_block(const char *name)
{
    static const char *const planned[] = {
#define PLANNED(name) #name,
#include "planned_blocks.def"
    };

    for (size_t i = 0; i < sizeof planned / sizeof *planned; i++)
        if (!strcmp(planned[i], name))
            return true;
    return false;
}

static void report_unknown(struct tlmc_sema *s, struct tlmc_frame *f, tlmc_sym name,
                           struct tlmc_span span, bool called)
{
    const struct tlmc_ast *condition = skipped_condition(f, name);
    names_vec names = { 0 };
    struct tlmc_diag *d;
    tlmc_sym near;

    if (condition) {
        d = tlmc_sema_error(
            s, f, span, TLMC_E_OTHER_BRANCH,
            "`%s` has no meaning here; it is assigned only where the condition goes the other way",
            name);
        tlmc_sema_note(s, d, condition->span, "this condition");
        return;
    }
    if (tlmc_op_is_planned(name) || is_planned_block(name)) {
        tlmc_sema_error(s, f, span, TLMC_E_NOT_BUILT, "%s `%s` is not available in this version",
                        is_planned_block(name) ? "block" : "op", name);
        return;
    }
    add_frame_names(s, f, false, &names);
    if (f->is_block || f->is_entry)
        add_frame_names(s, file_scope(s, f->file), true, &names);
    add_functions(s, f->file, &names);
    near = tlmc_nearest(name, names.items, names.count);
    d = tlmc_sema_error(s, f, span, TLMC_E_UNKNOWN_NAME,
                        called ? "no op or block `%s`" : "`%s` has no meaning here", name);
    if (near)
        tlmc_hint(s->diags, d, "did you mean `%s`?", near);
}

/* ---- lookup */

static struct tlmc_val read_binding(const struct tlmc_sema *s, const struct tlmc_binding *b)
{
    /* a state's name gives its last update */
    return b->value.kind == TLMC_V_TENSOR && b->value.is_state ? tlmc_place_read(s, b->value.place)
                                                               : b->value;
}

static struct tlmc_val function_value(const struct tlmc_fn *fn)
{
    return (struct tlmc_val){ .kind = TLMC_V_FN, .u.fn = fn };
}

struct tlmc_val tlmc_lookup(struct tlmc_sema *s, struct tlmc_frame *f, tlmc_sym name,
                            struct tlmc_span span)
{
    const struct tlmc_binding *b = tlmc_frame_find(f, name);
    const struct tlmc_fn *fn;
    struct tlmc_val v;

    if (b)
        return read_binding(s, b);
    if (!strcmp(name, "training"))
        return tlmc_val_bool(f->training);
    b = find_in_file(s, f, name);
    if (b)
        return read_binding(s, b);
    if (predefined(name, &v))
        return v;
    fn = tlmc_find_block(s, f->file, name);
    if (!fn)
        fn = tlmc_find_op_fn(s, name);
    if (fn)
        return function_value(fn);
    report_unknown(s, f, name, span, false);
    return tlmc_val_poison();
}

const struct tlmc_fn *tlmc_lookup_fn(struct tlmc_sema *s, struct tlmc_frame *f, tlmc_sym name,
                                     struct tlmc_span span)
{
    const struct tlmc_binding *b = tlmc_frame_find(f, name);
    const struct tlmc_fn *fn;

    if (b && b->value.kind == TLMC_V_POISON)
        return NULL;
    if (!b || b->value.kind != TLMC_V_FN)
        b = find_in_file(s, f, name);
    if (b && b->value.kind == TLMC_V_FN)
        return b->value.u.fn;
    fn = tlmc_find_block(s, f->file, name);
    if (!fn)
        fn = tlmc_find_op_fn(s, name);
    if (fn)
        return fn;
    b = tlmc_frame_find(f, name);
    if (b)
        tlmc_sema_error(s, f, span, TLMC_E_KIND, "`%s` is %s, which cannot be called", name,
                        tlmc_show(s, &b->value));
    else
        report_unknown(s, f, name, span, true);
    return NULL;
}
