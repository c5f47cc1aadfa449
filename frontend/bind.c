/* Binding the arguments of a block, in this order: compile-time arguments that are given; tensors
   from left to right, which bind the bare names and packs of their shapes; defaults from left to
   right; sizes that are expressions. */
#include "sema.h"

#include <string.h>

struct binding_job {
    struct tlmc_sema *s;
    struct tlmc_frame *g; /* the block's */
    const struct tlmc_ast *call;
    const struct tlmc_ast *params;
    const struct tlmc_arg **given; /* a parameter each; NULL: not given */
};

/* Where to point for a parameter: the argument, or the call. */
static struct tlmc_span place_of(const struct binding_job *j, uint32_t i)
{
    return j->given[i] ? j->given[i]->node->span : j->call->span;
}

/* An error about an argument stands in the caller's text. */
static struct tlmc_diag *argument_error(const struct binding_job *j, uint32_t i,
                                        enum tlmc_diag_code code, const char *text)
{
    struct tlmc_diag *d = tlmc_sema_error(j->s, j->g->parent, place_of(j, i), code, "%s", text);

    tlmc_sema_note(j->s, d, j->params->kids[i]->span, "argument `%s` of block `%s`",
                   j->params->kids[i]->text, j->g->title);
    return d;
}

static void bind_name(const struct binding_job *j, tlmc_sym name, struct tlmc_val v,
                      struct tlmc_span span)
{
    tlmc_frame_bind(j->s, j->g, name, TLMC_B_VARIABLE, v, span);
}

/* ---- which argument goes where */

static uint32_t param_index(const struct tlmc_ast *params, tlmc_sym name)
{
    for (uint32_t i = 0; i < params->count; i++)
        if (params->kids[i]->text == name)
            return i;
    return UINT32_MAX;
}

static const char *param_names(const struct binding_job *j)
{
    struct tlmc_strbuf buf = { 0 };
    const char *text;

    for (uint32_t i = 0; i < j->params->count; i++)
        tlmc_strbuf_printf(&buf, "%s%s", i ? ", " : "", j->params->kids[i]->text);
    text = tlmc_arena_strdup(j->s->arena, j->params->count ? tlmc_strbuf_text(&buf) : "none");
    tlmc_strbuf_free(&buf);
    return text;
}

static bool place_argument(const struct binding_job *j, const struct tlmc_arg *arg,
                           uint32_t position)
{
    const uint32_t at = arg->name ? param_index(j->params, arg->name) : position;
    struct tlmc_sema *s = j->s;

    if (!arg->name && at >= j->params->count) {
        tlmc_sema_error(s, j->g->parent, arg->key->span, TLMC_E_ARGUMENT,
                        "`%s` takes %u arguments (%s)", j->g->title, j->params->count,
                        param_names(j));
        return false;
    }
    if (at == UINT32_MAX) {
        struct tlmc_diag *d = tlmc_sema_error(s, j->g->parent, arg->key->span, TLMC_E_ARGUMENT,
                                              "`%s` has no argument `%s`; it has %s", j->g->title,
                                              arg->name, param_names(j));

        if (!strcmp(arg->name, "dim") && param_index(j->params, TLMC_SYM(s, "axis")) != UINT32_MAX)
            tlmc_hint(s->diags, d, "did you mean axis?");
        return false;
    }
    if (j->given[at]) {
        tlmc_sema_error(s, j->g->parent, arg->key->span, TLMC_E_ARGUMENT,
                        "argument `%s` is given twice", j->params->kids[at]->text);
        return false;
    }
    j->given[at] = arg;
    return true;
}

static bool check_signature(const struct binding_job *j)
{
    for (uint32_t i = 0; i < j->params->count; i++)
        if (param_index(j->params, j->params->kids[i]->text) != i) {
            tlmc_sema_error(j->s, j->g, j->params->kids[i]->span, TLMC_E_REDEFINED,
                            "argument `%s` stands twice", j->params->kids[i]->text);
            return false;
        }
    return true;
}

/* ---- step 1 */

static bool bind_static(const struct binding_job *j, uint32_t i, struct tlmc_val v)
{
    const struct tlmc_ast *p = j->params->kids[i];
    const char *what = tlmc_arena_printf(j->s->arena, "argument `%s`", p->text);

    if (!tlmc_convert(j->s, j->g, j->g->parent, place_of(j, i), what, p->kids[0], &v))
        return false;
    bind_name(j, p->text, v, p->span);
    return true;
}

/* ---- step 2 */

static bool bind_class(const struct binding_job *j, uint32_t i, const struct tlmc_type *type)
{
    const struct tlmc_ast *t = j->params->kids[i]->kids[0];
    const bool is_real = !strcmp(t->text, "real"), is_any = !strcmp(t->text, "any");
    enum tlmc_dtype *class = is_real ? &j->g->real : &j->g->any, want;

    if (is_real || is_any) {
        if (*class == TLMC_DTYPE_COUNT && (is_any || tlmc_dtype_is_float(type->dtype)))
            *class = type->dtype;
        want = *class;
    } else if (!tlmc_eval_dtype(j->s, j->g, t, &want)) {
        return false;
    }
    if (want == type->dtype)
        return true;
    argument_error(j, i, TLMC_E_DTYPE,
                   tlmc_arena_printf(j->s->arena, "argument `%s` is %s, wanted %s",
                                     j->params->kids[i]->text, tlmc_show_type(j->s, type),
                                     want == TLMC_DTYPE_COUNT ? "a float tensor"
                                                              : tlmc_dtype_name(want)));
    return false;
}

static bool bind_or_check(const struct binding_job *j, uint32_t i, tlmc_sym name, struct tlmc_val v)
{
    const struct tlmc_binding *old = tlmc_frame_find(j->g, name);

    if (old && !tlmc_val_equal(&old->value, &v)) {
        argument_error(j, i, TLMC_E_SHAPE,
                       tlmc_arena_printf(j->s->arena, "`%s` is %s and %s (argument `%s`)", name,
                                         tlmc_show(j->s, &old->value), tlmc_show(j->s, &v),
                                         j->params->kids[i]->text));
        return false;
    }
    if (!old)
        bind_name(j, name, v, j->params->kids[i]->span);
    return true;
}

/* `...` and `...S`: the list of sizes left over; S alone is that list too. */
static bool bind_pack(const struct binding_job *j, uint32_t i, const struct tlmc_ast *pack,
                      const int64_t *sizes, int count)
{
    struct tlmc_val items[TLMC_MAX_RANK], list;
    const char *name = pack->text ? pack->text : "";

    for (int k = 0; k < count; k++)
        items[k] = tlmc_val_int(sizes[k]);
    list = tlmc_val_list_of(j->s->arena, items, (uint32_t)count);
    if (!bind_or_check(j, i, TLMC_SYM(j->s, tlmc_arena_printf(j->s->arena, "...%s", name)), list))
        return false;
    return !name[0] || bind_or_check(j, i, pack->text, list);
}

static bool match_shape(const struct binding_job *j, uint32_t i, const struct tlmc_type *type)
{
    const struct tlmc_ast *list = j->params->kids[i]->kids[0]->kids[0];
    int packs = 0, extra, axis = 0;

    for (uint32_t k = 0; k < list->count; k++)
        packs += list->kids[k]->kind == TLMC_AST_PACK;
    if (packs > 1) {
        tlmc_sema_error(j->s, j->g, list->span, TLMC_E_KIND, "one `...` a shape");
        return false;
    }
    extra = type->rank - ((int)list->count - packs);
    if (extra < 0 || (!packs && extra)) {
        argument_error(j, i, TLMC_E_RANK,
                       tlmc_arena_printf(j->s->arena, "argument `%s` is %s: rank %s%d wanted",
                                         j->params->kids[i]->text, tlmc_show_type(j->s, type),
                                         packs ? "at least " : "", (int)list->count - packs));
        return false;
    }
    for (uint32_t k = 0; k < list->count; k++) {
        const struct tlmc_ast *e = list->kids[k];

        if (e->kind == TLMC_AST_PACK && !bind_pack(j, i, e, type->dims + axis, extra))
            return false;
        if (e->kind == TLMC_AST_NAME &&
            !bind_or_check(j, i, e->text, tlmc_val_int(type->dims[axis])))
            return false;
        axis += e->kind == TLMC_AST_PACK ? extra : 1;
    }
    return true;
}

static bool bind_tensor(const struct binding_job *j, uint32_t i)
{
    const struct tlmc_ast *p = j->params->kids[i];
    struct tlmc_val v = j->given[i]->value;
    struct tlmc_type type;

    if (v.kind == TLMC_V_NONE) {
        if (p->kids[1]->kind != TLMC_AST_NONE) {
            argument_error(j, i, TLMC_E_KIND,
                           tlmc_arena_printf(j->s->arena, "argument `%s` of `%s` cannot be none",
                                             p->text, j->g->title));
            return false;
        }
        bind_name(j, p->text, v, p->span);
        return true;
    }
    if (v.kind != TLMC_V_TENSOR && !tlmc_val_is_number(&v) && v.kind != TLMC_V_BOOL &&
        v.kind != TLMC_V_LIST) {
        argument_error(j, i, TLMC_E_KIND,
                       tlmc_arena_printf(j->s->arena, "argument `%s` is a tensor, got %s", p->text,
                                         tlmc_show(j->s, &v)));
        return false;
    }
    if (!tlmc_to_tensor(j->s, j->g->parent, j->given[i]->node, &j->given[i]->value,
                        tlmc_dtype_find(p->kids[0]->text), &v))
        return false;
    type = *tlmc_type_of(j->s, &v);
    if (!bind_class(j, i, &type) || !match_shape(j, i, &type))
        return false;
    bind_name(j, p->text, v, p->span);
    return true;
}

/* ---- steps 3 and 4 */

static bool bind_default(const struct binding_job *j, uint32_t i)
{
    const struct tlmc_ast *p = j->params->kids[i];
    struct tlmc_val v;

    if (j->given[i])
        return true;
    if (p->kids[1]->kind == TLMC_AST_ABSENT) {
        argument_error(j, i, TLMC_E_ARGUMENT,
                       tlmc_arena_printf(j->s->arena, "`%s` needs argument `%s`", j->g->title,
                                         p->text));
        return false;
    }
    v = tlmc_eval(j->s, j->g, p->kids[1]);
    if (v.kind == TLMC_V_POISON)
        return false;
    if (!tlmc_is_tensor_type(p->kids[0]))
        return bind_static(j, i, v);
    if (v.kind != TLMC_V_NONE) {
        tlmc_sema_error(j->s, j->g, p->kids[1]->span, TLMC_E_KIND,
                        "the default of a tensor is none");
        return false;
    }
    bind_name(j, p->text, v, p->span);
    return true;
}

static bool check_sizes(const struct binding_job *j, uint32_t i)
{
    const struct tlmc_ast *p = j->params->kids[i];
    const struct tlmc_binding *b = tlmc_frame_find(j->g, p->text);
    struct tlmc_type want;
    int64_t dims[TLMC_MAX_RANK];
    int rank;

    if (!b || b->value.kind != TLMC_V_TENSOR)
        return true;
    if (!tlmc_eval_sizes(j->s, j->g, p->kids[0]->kids[0], &rank, dims))
        return false;
    want = tlmc_type_make(tlmc_type_of(j->s, &b->value)->dtype, rank, dims);
    if (tlmc_type_equal(&want, tlmc_type_of(j->s, &b->value)))
        return true;
    argument_error(j, i, TLMC_E_SHAPE,
                   tlmc_arena_printf(j->s->arena, "argument `%s` of `%s` is %s, wanted %s", p->text,
                                     j->g->title, tlmc_show(j->s, &b->value),
                                     tlmc_show_type(j->s, &want)));
    return false;
}

bool tlmc_bind_block(struct tlmc_sema *s, struct tlmc_frame *g, const struct tlmc_ast *call,
                     const struct tlmc_args *args)
{
    struct binding_job j = { .s = s, .g = g, .call = call, .params = g->block->kids[0] };

    j.given = TLMC_NEW_ARRAY(s->arena, const struct tlmc_arg *, j.params->count + 1);
    if (!check_signature(&j))
        return false;
    for (unsigned i = 0; i < args->list.count; i++)
        if (!place_argument(&j, &args->list.items[i], i))
            return false;
    for (uint32_t i = 0; i < j.params->count; i++)
        if (j.given[i] && !tlmc_is_tensor_type(j.params->kids[i]->kids[0]) &&
            !bind_static(&j, i, j.given[i]->value))
            return false;
    for (uint32_t i = 0; i < j.params->count; i++)
        if (j.given[i] && tlmc_is_tensor_type(j.params->kids[i]->kids[0]) && !bind_tensor(&j, i))
            return false;
    for (uint32_t i = 0; i < j.params->count; i++)
        if (!bind_default(&j, i))
            return false;
    for (uint32_t i = 0; i < j.params->count; i++)
        if (tlmc_is_tensor_type(j.params->kids[i]->kids[0]) && !check_sizes(&j, i))
            return false;
    return true;
}

/* ---- results */

static bool check_result(struct tlmc_sema *s, struct tlmc_frame *g, const struct tlmc_ast *result,
                         struct tlmc_val *v, const struct tlmc_ast *returned)
{
    const struct tlmc_ast *type = result->kids[0];
    struct tlmc_type want;
    struct tlmc_diag *d;

    if (!tlmc_is_tensor_type(type))
        return tlmc_convert(s, g, g, returned->span, "the result", type, v);
    if (!tlmc_eval_type(s, g, type, &want))
        return false;
    if (v->kind != TLMC_V_TENSOR) {
        const struct tlmc_val plain = *v;

        if (!tlmc_to_tensor(s, g, returned, &plain, want.dtype, v))
            return false;
    }
    if (tlmc_type_equal(&want, tlmc_type_of(s, v)))
        return true;
    d = tlmc_sema_error(s, g, returned->span, TLMC_E_RETURN_TYPE,
                        "block `%s` promises %s and returns %s", g->title, tlmc_show_type(s, &want),
                        tlmc_show(s, v));
    tlmc_sema_note(s, d, type->span, "promised here");
    return false;
}

bool tlmc_check_results(struct tlmc_sema *s, struct tlmc_frame *g, const struct tlmc_ast *block)
{
    const struct tlmc_ast *promise = block->kids[1], *returned = g->returned->kids[0];
    struct tlmc_val *items;

    if (promise->kind == TLMC_AST_ABSENT)
        return true;
    if (promise->count != g->results.count) {
        struct tlmc_diag *d = tlmc_sema_error(s, g, g->returned->span, TLMC_E_RETURN_TYPE,
                                              "block `%s` promises %u results and returns %u",
                                              g->title, promise->count, g->results.count);

        tlmc_sema_note(s, d, promise->span, "promised here");
        return false;
    }
    items = TLMC_NEW_ARRAY(s->arena, struct tlmc_val, g->results.count);
    for (uint32_t i = 0; i < g->results.count; i++) {
        items[i] = g->results.count == 1 ? g->results.one : g->results.items[i];
        if (!check_result(s, g, promise->kids[i], &items[i], returned->kids[i]))
            return false;
    }
    g->results = (struct tlmc_results){ g->results.count, items[0], items };
    return true;
}
