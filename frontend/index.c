/* Indexing and members: x[i, a:b:c, ...] as slice and reshape; inst.param as a read of a parameter
   by its key. */
#include "sema.h"

#include <string.h>

/* ---- lists */

static struct tlmc_val index_list(struct tlmc_sema *s, struct tlmc_frame *f,
                                  const struct tlmc_ast *subs, const struct tlmc_val *list)
{
    const int64_t count = tlmc_list_count(list);
    int64_t i;

    if (subs->count != 1 || subs->kids[0]->kind == TLMC_AST_SLICE ||
        subs->kids[0]->kind == TLMC_AST_PACK) {
        tlmc_sema_error(s, f, subs->span, TLMC_E_KIND, "a list takes one integer index");
        return tlmc_val_poison();
    }
    if (!tlmc_eval_int(s, f, subs->kids[0], "the index of a list", &i))
        return tlmc_val_poison();
    if (i < -count || i >= count) {
        tlmc_sema_error(s, f, subs->kids[0]->span, TLMC_E_BOUNDS, "index %lld of a list of %lld",
                        (long long)i, (long long)count);
        return tlmc_val_poison();
    }
    return tlmc_list_item(list, (uint32_t)(i < 0 ? i + count : i));
}

/* ---- tensors */

struct selection { /* what the subscripts say of each axis */
    int64_t starts[TLMC_MAX_RANK], stops[TLMC_MAX_RANK], steps[TLMC_MAX_RANK];
    bool dropped[TLMC_MAX_RANK];
    int axis;
};

static bool slice_end(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                      int64_t *out)
{
    struct tlmc_val v;

    if (n->kind == TLMC_AST_ABSENT)
        return true;
    v = tlmc_eval(s, f, n);
    if (v.kind == TLMC_V_INT) {
        *out = v.u.i;
        return true;
    }
    if (v.kind != TLMC_V_POISON)
        tlmc_sema_error(s, f, n->span, TLMC_E_KIND,
                        "the ends of a slice are compile-time integers, this is %s; for index "
                        "tensors use gather",
                        tlmc_show(s, &v));
    return false;
}

static bool select_slice(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                         int64_t size, struct selection *sel)
{
    int64_t from = 0, to = size, step = 1;

    if (!slice_end(s, f, n->kids[0], &from) || !slice_end(s, f, n->kids[1], &to) ||
        !slice_end(s, f, n->kids[2], &step))
        return false;
    from += from < 0 ? size : 0;
    to += to < 0 ? size : 0;
    if (from < 0 || from > to || to > size || step < 1) {
        char text[32] = "";

        if (step != 1)
            snprintf(text, sizeof text, ":%lld", (long long)step);
        tlmc_sema_error(s, f, n->span, TLMC_E_BOUNDS, "slice %lld:%lld%s of an axis of %lld",
                        (long long)from, (long long)to, text, (long long)size);
        return false;
    }
    sel->starts[sel->axis] = from;
    sel->stops[sel->axis] = to;
    sel->steps[sel->axis] = step;
    return true;
}

static bool select_one(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                       int64_t size, struct selection *sel)
{
    const struct tlmc_val v = tlmc_eval(s, f, n);

    if (v.kind == TLMC_V_POISON)
        return false;
    if (v.kind != TLMC_V_INT) {
        tlmc_sema_error(s, f, n->span, TLMC_E_KIND,
                        "an index is a compile-time integer, this is %s%s", tlmc_show(s, &v),
                        v.kind == TLMC_V_TENSOR ? "; use gather or embedding" : "");
        return false;
    }
    if (v.u.i < -size || v.u.i >= size) {
        tlmc_sema_error(s, f, n->span, TLMC_E_BOUNDS, "index %lld of an axis of %lld",
                        (long long)v.u.i, (long long)size);
        return false;
    }
    sel->starts[sel->axis] = v.u.i < 0 ? v.u.i + size : v.u.i;
    sel->stops[sel->axis] = sel->starts[sel->axis] + 1;
    sel->dropped[sel->axis] = true;
    return true;
}

static bool select_all(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *subs,
                       const struct tlmc_type *type, struct selection *sel)
{
    int packs = 0;

    for (uint32_t i = 0; i < subs->count; i++)
        packs += subs->kids[i]->kind == TLMC_AST_PACK;
    if (packs > 1 || (int64_t)subs->count - packs > type->rank) {
        tlmc_sema_error(s, f, subs->span, TLMC_E_RANK, "%u indices for %s",
                        subs->count - (unsigned)packs, tlmc_show_type(s, type));
        return false;
    }
    for (int i = 0; i < type->rank; i++) {
        sel->stops[i] = type->dims[i];
        sel->steps[i] = 1;
    }
    for (uint32_t i = 0; i < subs->count; i++) {
        const struct tlmc_ast *n = subs->kids[i];

        if (n->kind == TLMC_AST_PACK) {
            sel->axis += type->rank - (int)(subs->count - 1);
            continue;
        }
        if (!(n->kind == TLMC_AST_SLICE ? select_slice : select_one)(s, f, n, type->dims[sel->axis],
                                                                     sel))
            return false;
        sel->axis++;
    }
    return true;
}

static struct tlmc_val index_tensor(struct tlmc_sema *s, struct tlmc_frame *f,
                                    const struct tlmc_ast *n, const struct tlmc_val *base)
{
    const struct tlmc_type type = *tlmc_type_of(s, base);
    struct selection sel = { 0 };
    int64_t dims[TLMC_MAX_RANK];
    uint32_t id;
    int rank = 0;

    if (!select_all(s, f, n->kids[1], &type, &sel))
        return tlmc_val_poison();
    tlmc_stamp(s, f, n);
    id = tlmc_build_slice(s->graph, base->u.value, sel.starts, sel.stops, sel.steps);
    for (int i = 0; i < type.rank; i++)
        if (!sel.dropped[i])
            dims[rank++] = tlmc_value_type(s->graph, id)->dims[i];
    return tlmc_joined(tlmc_build_reshape(s->graph, id, rank, dims), base, 1);
}

struct tlmc_val tlmc_eval_index(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n)
{
    const struct tlmc_val base = tlmc_eval(s, f, n->kids[0]);

    if (base.kind == TLMC_V_POISON)
        return base;
    if (base.kind == TLMC_V_LIST)
        return index_list(s, f, n->kids[1], &base);
    if (base.kind == TLMC_V_TENSOR)
        return index_tensor(s, f, n, &base);
    tlmc_sema_error(s, f, n->kids[0]->span, TLMC_E_KIND, "%s cannot be indexed",
                    tlmc_show(s, &base));
    return tlmc_val_poison();
}

/* ---- members: a.b[i].weight */

static const char *list_kids(struct tlmc_sema *s, const struct tlmc_instance *inst, bool members)
{
    enum { SHOWN = 12 };
    const unsigned count = members ? inst->members.count : inst->kids.count;
    struct tlmc_strbuf buf = { 0 };
    const char *text;

    for (unsigned i = 0; i < count && i <= SHOWN; i++)
        tlmc_strbuf_printf(&buf, "%s%s", i ? ", " : "",
                           i == SHOWN ? "..."
                           : members  ? inst->members.items[i].name
                                      : inst->kids.items[i]->part);
    text = count ? tlmc_arena_strdup(s->arena, tlmc_strbuf_text(&buf)) : "none";
    tlmc_strbuf_free(&buf);
    return text;
}

static const char *path_or(const struct tlmc_instance *inst, const char *title)
{
    return inst->path[0] ? inst->path : title;
}

/* The instance that a chain of names and [int] leads to; NULL after a report. */
static struct tlmc_instance *walk_chain(struct tlmc_sema *s, struct tlmc_frame *f,
                                        const struct tlmc_ast *n)
{
    struct tlmc_instance *inst = f->inst, *next;
    tlmc_sym part = n->text;
    int64_t i;
    char digits[32];

    if (n->kind == TLMC_AST_DOT || (n->kind == TLMC_AST_INDEX && n->kids[1]->count == 1))
        inst = walk_chain(s, f, n->kids[0]);
    else if (n->kind != TLMC_AST_NAME)
        goto no_instance;
    if (!inst)
        return NULL;
    if (n->kind == TLMC_AST_INDEX) {
        if (n->kids[1]->kids[0]->kind == TLMC_AST_SLICE ||
            n->kids[1]->kids[0]->kind == TLMC_AST_PACK)
            goto no_instance;
        if (!tlmc_eval_int(s, f, n->kids[1]->kids[0], "the index of an instance", &i))
            return NULL;
        snprintf(digits, sizeof digits, "%lld", (long long)i);
        part = TLMC_SYM(s, digits);
    }
    next = tlmc_instance_find(s, inst, part);
    if (!next)
        tlmc_sema_error(s, f, n->span, TLMC_E_NO_MEMBER, "no instance `%s` in `%s`; known: %s",
                        part, path_or(inst, f->title), list_kids(s, inst, false));
    return next;
no_instance:
    tlmc_sema_error(s, f, n->span, TLMC_E_NO_MEMBER, "only instances have members");
    return NULL;
}

/* op.relu, lib.block: as a value. */
static bool function_member(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                            struct tlmc_val *out)
{
    const struct tlmc_ast *base = n->kids[0];
    struct tlmc_file *alias =
        base->kind == TLMC_AST_NAME ? tlmc_find_alias(f->file, base->text) : NULL;
    const struct tlmc_fn *fn;

    if (base->kind != TLMC_AST_NAME || (!alias && strcmp(base->text, "op")))
        return false;
    *out = tlmc_val_poison();
    fn = alias ? tlmc_block_of(s, alias, n->text) : tlmc_find_op_fn(s, n->text);
    if (fn)
        *out = (struct tlmc_val){ .kind = TLMC_V_FN, .u.fn = fn };
    else if (!alias && tlmc_op_is_planned(n->text))
        tlmc_sema_error(s, f, n->span, TLMC_E_NOT_BUILT, "op `%s` is not available in this version",
                        n->text);
    else if (alias)
        tlmc_sema_error(s, f, n->span, TLMC_E_NO_MEMBER, "no block `%s` in `%s`", n->text,
                        base->text);
    else
        tlmc_sema_error(s, f, n->span, TLMC_E_UNKNOWN_NAME, "no op `%s`", n->text);
    return true;
}

struct tlmc_val tlmc_eval_member(struct tlmc_sema *s, struct tlmc_frame *f,
                                 const struct tlmc_ast *n)
{
    struct tlmc_instance *inst;
    struct tlmc_val v;
    struct tlmc_diag *d;
    TLMC_VEC(tlmc_sym) names = { 0 };

    if (function_member(s, f, n, &v))
        return v;
    inst = walk_chain(s, f, n->kids[0]);
    if (!inst)
        return tlmc_val_poison();
    for (unsigned i = 0; i < inst->members.count; i++) {
        if (inst->members.items[i].name == n->text)
            return tlmc_place_read(s, inst->members.items[i].place);
        TLMC_PUSH(s->arena, &names, inst->members.items[i].name);
    }
    d = tlmc_sema_error(s, f, n->span, TLMC_E_NO_MEMBER, "`%s%s%s` is no parameter; known: %s",
                        inst->path, inst->path[0] ? "." : "", n->text, list_kids(s, inst, true));
    if (tlmc_nearest(n->text, names.items, names.count))
        tlmc_hint(s->diags, d, "did you mean `%s`?",
                  tlmc_nearest(n->text, names.items, names.count));
    return tlmc_val_poison();
}
