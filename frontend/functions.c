/* Calls of ops and of the functions of functions.def: attributes, reductions, row-wise ops, random
   draws, queries. */
#include "sema.h"

#include <string.h>

static const struct {
    const char *name, *signature;
    struct tlmc_results (*run)(struct tlmc_call *c);
} functions[] = {
#define FUN(name, signature, handler) { #name, signature, tlmc_fn_##handler },
#include "functions.def"
};

enum { FUNCTION_COUNT = sizeof functions / sizeof *functions };

uint32_t tlmc_function_find(const char *name)
{
    for (uint32_t i = 0; i < FUNCTION_COUNT; i++)
        if (!strcmp(functions[i].name, name))
            return i;
    return UINT32_MAX;
}

const char *tlmc_function_name(uint32_t row)
{
    return row < FUNCTION_COUNT ? functions[row].name : NULL;
}

struct tlmc_results tlmc_result(struct tlmc_val v)
{
    return (struct tlmc_results){ .count = 1, .one = v };
}

struct tlmc_results tlmc_result_of(uint32_t value, const struct tlmc_val *from, uint32_t count)
{
    return tlmc_result(value == TLMC_NONE ? tlmc_val_poison() : tlmc_joined(value, from, count));
}

static struct tlmc_results failed(void)
{
    return tlmc_result(tlmc_val_poison());
}

bool tlmc_call_tensor(struct tlmc_call *c, uint32_t arg)
{
    const struct tlmc_val v = c->v[arg];

    /* a number where a float tensor stands: f32 */
    return tlmc_to_tensor(c->s, c->f, c->node, &v,
                          v.kind == TLMC_V_FLOAT ? TLMC_F32 : TLMC_DTYPE_COUNT, &c->v[arg]);
}

bool tlmc_call_axis(struct tlmc_call *c, int64_t *axis, int rank)
{
    if (*axis >= -rank && *axis < rank) {
        *axis += *axis < 0 ? rank : 0;
        return true;
    }
    tlmc_sema_error(c->s, c->f, c->node->span, TLMC_E_ATTRIBUTE,
                    "axis %lld of a tensor of rank %d in `%s`", (long long)*axis, rank, c->name);
    return false;
}

struct tlmc_results tlmc_call_function(struct tlmc_sema *s, struct tlmc_frame *f,
                                       const struct tlmc_ast *n, uint32_t row,
                                       const struct tlmc_args *args)
{
    struct tlmc_call c = { .s = s, .f = f, .node = n, .name = functions[row].name };

    if (!tlmc_bind_signature(&c, functions[row].signature, args))
        return failed();
    return functions[row].run(&c);
}

/* ---- ops called as the table has them */

static bool op_attr(struct tlmc_call *c, enum tlmc_op op, const struct tlmc_arg *arg,
                    struct tlmc_attr *out)
{
    const enum tlmc_attr_tag tag = tlmc_attr_find(arg->name);
    const struct tlmc_val *v = &arg->value;
    int64_t *ints;

    if (tag == TLMC_ATTR_COUNT || !tlmc_op_has_attr(op, tag)) {
        struct tlmc_diag *d = tlmc_sema_error(c->s, c->f, arg->key->span, TLMC_E_ATTRIBUTE,
                                              "`%s` has no attribute `%s`", c->name, arg->name);

        if (tlmc_op_info(op)->attrs[0])
            tlmc_hint(c->s->diags, d, "it has %s", tlmc_op_info(op)->attrs);
        return false;
    }
    switch (tlmc_attr_kind(tag)) {
    case TLMC_ATTR_FLOAT:
        *out = tlmc_attr_float(tag, tlmc_val_is_number(v) ? tlmc_val_number(v) : 0.0);
        if (tlmc_val_is_number(v))
            return true;
        break;
    case TLMC_ATTR_BOOL:
        *out = tlmc_attr_int(tag, v->kind == TLMC_V_BOOL && v->u.b);
        if (v->kind == TLMC_V_BOOL)
            return true;
        break;
    case TLMC_ATTR_DTYPE:
        if (v->kind == TLMC_V_FN && v->u.fn->kind == TLMC_FN_CAST) {
            *out = tlmc_attr_int(tag, v->u.fn->dtype);
            return true;
        }
        break;
    case TLMC_ATTR_INT:
        *out = tlmc_attr_int(tag, v->kind == TLMC_V_INT ? v->u.i : 0);
        if (v->kind == TLMC_V_INT)
            return true;
        break;
    case TLMC_ATTR_INTS:
        if (v->kind != TLMC_V_LIST)
            break;
        ints = TLMC_NEW_ARRAY(c->s->arena, int64_t, tlmc_list_count(v) + 1);
        for (uint32_t i = 0; i < tlmc_list_count(v); i++) {
            const struct tlmc_val item = tlmc_list_item(v, i);

            if (item.kind != TLMC_V_INT)
                goto wrong;
            ints[i] = item.u.i;
        }
        *out = tlmc_attr_ints(tag, tlmc_list_count(v), ints);
        return true;
    case TLMC_ATTR_DATA: break;
    }
wrong:
    tlmc_sema_error(c->s, c->f, arg->node->span, TLMC_E_ATTRIBUTE,
                    "attribute `%s` of `%s` cannot be %s", arg->name, c->name, tlmc_show(c->s, v));
    return false;
}

static bool check_operand_count(struct tlmc_call *c, enum tlmc_op op, uint32_t count)
{
    const struct tlmc_op_info *info = tlmc_op_info(op);

    if ((int)count >= info->min_inputs && (info->max_inputs < 0 || (int)count <= info->max_inputs))
        return true;
    tlmc_sema_error(c->s, c->f, c->node->span, TLMC_E_ARGUMENT, "`%s` takes %s%d operand%s, got %u",
                    c->name, info->max_inputs == info->min_inputs ? "" : "at least ",
                    info->min_inputs, info->min_inputs == 1 ? "" : "s", count);
    return false;
}

static struct tlmc_results op_results(struct tlmc_call *c, enum tlmc_op op, uint32_t first,
                                      const struct tlmc_val *from, uint32_t count)
{
    const int results = tlmc_op_info(op)->results;
    struct tlmc_val *items;

    if (first == TLMC_NONE || results == 1)
        return tlmc_result_of(first, from, count);
    items = TLMC_NEW_ARRAY(c->s->arena, struct tlmc_val, (size_t)results);
    for (int i = 0; i < results; i++)
        items[i] = tlmc_joined(first + (uint32_t)i, from, count);
    return (struct tlmc_results){ .count = (uint32_t)results, .one = items[0], .items = items };
}

struct tlmc_results tlmc_call_op(struct tlmc_sema *s, struct tlmc_frame *f,
                                 const struct tlmc_ast *n, enum tlmc_op op,
                                 const struct tlmc_args *args)
{
    const struct tlmc_op_info *info = tlmc_op_info(op);
    struct tlmc_call c = { .s = s, .f = f, .node = n, .name = info->name };
    struct tlmc_val *vals = TLMC_NEW_ARRAY(s->arena, struct tlmc_val, args->list.count + 1);
    uint32_t *ids = TLMC_NEW_ARRAY(s->arena, uint32_t, args->list.count + 1), count = 0,
             attr_count = 0;
    struct tlmc_attr *attrs = TLMC_NEW_ARRAY(s->arena, struct tlmc_attr, args->list.count + 1);

    for (unsigned i = 0; i < args->list.count; i++) {
        if (args->list.items[i].name &&
            !op_attr(&c, op, &args->list.items[i], &attrs[attr_count++]))
            return failed();
        if (!args->list.items[i].name)
            vals[count++] = args->list.items[i].value;
    }
    if (!check_operand_count(&c, op, count))
        return failed();
    if (info->family == TLMC_POINTWISE && !info->is_vjp && count > 1 && count <= TLMC_MAX_SIGNATURE)
        return tlmc_result(tlmc_pointwise(s, f, n, op, vals, count));
    for (uint32_t i = 0; i < count; i++) {
        const struct tlmc_val v = vals[i];

        if (v.kind == TLMC_V_NONE) {
            ids[i] = TLMC_NONE;
            vals[i].constant = true;
            continue;
        }
        if (!tlmc_to_tensor(s, f, n, &v, tlmc_val_is_number(&v) ? TLMC_F32 : TLMC_DTYPE_COUNT,
                            &vals[i]))
            return failed();
        ids[i] = vals[i].u.value;
    }
    return op_results(&c, op, tlmc_emit(s, f, n, op, ids, count, attrs, attr_count), vals, count);
}

struct tlmc_val tlmc_cast(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                          enum tlmc_dtype dtype, const struct tlmc_args *args)
{
    struct tlmc_call c = { .s = s, .f = f, .node = n, .name = tlmc_dtype_name(dtype) };
    const struct tlmc_attr attr = tlmc_attr_int(TLMC_A_DTYPE, dtype);
    uint32_t id;

    if (!tlmc_bind_signature(&c, "t:x", args))
        return tlmc_val_poison();
    if (tlmc_val_is_number(&c.v[0]) && dtype != TLMC_BOOL &&
        (tlmc_dtype_is_float(dtype) || c.v[0].kind == TLMC_V_INT)) { /* a constant of that type */
        const struct tlmc_val v = c.v[0];

        return tlmc_to_tensor(s, f, n, &v, dtype, &c.v[0]) ? c.v[0] : tlmc_val_poison();
    }
    if (!tlmc_call_tensor(&c, 0))
        return tlmc_val_poison();
    if (tlmc_type_of(s, &c.v[0])->dtype == dtype)
        return c.v[0];
    id = tlmc_emit(s, f, n, TLMC_OP_CAST, &c.v[0].u.value, 1, &attr, 1);
    return id == TLMC_NONE ? tlmc_val_poison() : tlmc_joined(id, &c.v[0], 1);
}

/* ---- attributes with defaults */

/* An op of one tensor with one float attribute. */
static struct tlmc_results unary_attrs(struct tlmc_call *c, enum tlmc_op op,
                                       const struct tlmc_attr *attrs, uint32_t count)
{
    if (!tlmc_call_tensor(c, 0))
        return failed();
    return tlmc_result_of(tlmc_emit(c->s, c->f, c->node, op, &c->v[0].u.value, 1, attrs, count),
                          c->v, 1);
}

static struct tlmc_results with_float(struct tlmc_call *c, enum tlmc_op op, enum tlmc_attr_tag tag)
{
    const struct tlmc_attr attr = tlmc_attr_float(tag, c->v[1].u.f);

    return unary_attrs(c, op, &attr, 1);
}

struct tlmc_results tlmc_fn_scale(struct tlmc_call *c)
{
    return with_float(c, TLMC_OP_SCALE, TLMC_A_FACTOR);
}

struct tlmc_results tlmc_fn_leaky_relu(struct tlmc_call *c)
{
    return with_float(c, TLMC_OP_LEAKY_RELU, TLMC_A_SLOPE);
}

struct tlmc_results tlmc_fn_elu(struct tlmc_call *c)
{
    return with_float(c, TLMC_OP_ELU, TLMC_A_ALPHA);
}

struct tlmc_results tlmc_fn_safe_log(struct tlmc_call *c)
{
    return with_float(c, TLMC_OP_SAFE_LOG, TLMC_A_EPS);
}

struct tlmc_results tlmc_fn_clamp(struct tlmc_call *c)
{
    const struct tlmc_attr attrs[2] = { tlmc_attr_float(TLMC_A_MIN, c->v[1].u.f),
                                        tlmc_attr_float(TLMC_A_MAX, c->v[2].u.f) };

    if (!(c->v[1].u.f <= c->v[2].u.f)) {
        tlmc_sema_error(c->s, c->f, c->node->span, TLMC_E_ATTRIBUTE, "clamp from %s to %s",
                        tlmc_show(c->s, &c->v[1]), tlmc_show(c->s, &c->v[2]));
        return failed();
    }
    return unary_attrs(c, TLMC_OP_CLAMP, attrs, 2);
}

struct tlmc_results tlmc_fn_gelu(struct tlmc_call *c)
{
    const bool erf = !strcmp(c->v[1].u.s, "none");

    if (!erf && strcmp(c->v[1].u.s, "tanh")) {
        tlmc_sema_error(c->s, c->f, c->node->span, TLMC_E_ATTRIBUTE,
                        "gelu is approximate = \"tanh\" or \"none\", not \"%s\"", c->v[1].u.s);
        return failed();
    }
    return unary_attrs(c, erf ? TLMC_OP_GELU_ERF : TLMC_OP_GELU, NULL, 0);
}

struct tlmc_results tlmc_fn_neg(struct tlmc_call *c)
{
    return tlmc_result(tlmc_negate(c->s, c->f, c->node, &c->v[0]));
}

struct tlmc_results tlmc_fn_pow(struct tlmc_call *c)
{
    return tlmc_result(tlmc_power(c->s, c->f, c->node, &c->v[0], &c->v[1]));
}

struct tlmc_results tlmc_fn_where(struct tlmc_call *c)
{
    return tlmc_result(tlmc_pointwise(c->s, c->f, c->node, TLMC_OP_WHERE, c->v, 3));
}

struct tlmc_results tlmc_fn_matmul(struct tlmc_call *c)
{
    return tlmc_result(tlmc_product(c->s, c->f, c->node, &c->v[0], &c->v[1]));
}

/* ---- rows */

static bool check_float(struct tlmc_call *c, const struct tlmc_val *v)
{
    if (tlmc_dtype_is_float(tlmc_type_of(c->s, v)->dtype))
        return true;
    tlmc_sema_error(c->s, c->f, c->node->span, TLMC_E_DTYPE, "`%s` takes a float tensor, got %s",
                    c->name, tlmc_show(c->s, v));
    return false;
}

/* The mask of a softmax: bool, broadcast to the rows. */
static bool bind_mask(struct tlmc_call *c, uint32_t *mask)
{
    const struct tlmc_type *x = tlmc_type_of(c->s, &c->v[0]), *m;
    struct tlmc_type all;

    *mask = TLMC_NONE;
    if (c->v[2].kind == TLMC_V_NONE)
        return true;
    if (!tlmc_call_tensor(c, 2))
        return false;
    m = tlmc_type_of(c->s, &c->v[2]);
    if (m->dtype != TLMC_BOOL) {
        tlmc_sema_error(c->s, c->f, c->node->span, TLMC_E_DTYPE,
                        "the mask is bool, true takes part; this is %s", tlmc_show_type(c->s, m));
        return false;
    }
    if (!tlmc_broadcast_types(x, m, &all) || !tlmc_shape_equal(x, &all)) {
        tlmc_sema_error(c->s, c->f, c->node->span, TLMC_E_BROADCAST,
                        "the mask %s does not broadcast to %s", tlmc_show_type(c->s, m),
                        tlmc_show_type(c->s, x));
        return false;
    }
    tlmc_stamp(c->s, c->f, c->node);
    *mask = tlmc_build_broadcast(c->s->graph, c->v[2].u.value, tlmc_type_of(c->s, &c->v[0]));
    return true;
}

struct tlmc_results tlmc_fn_softmax(struct tlmc_call *c)
{
    struct tlmc_val from[2];
    uint32_t mask;

    if (!tlmc_call_tensor(c, 0) || !check_float(c, &c->v[0]) ||
        !tlmc_call_axis(c, &c->v[1].u.i, tlmc_type_of(c->s, &c->v[0])->rank) ||
        !bind_mask(c, &mask))
        return failed();
    from[0] = c->v[0];
    from[1] = mask == TLMC_NONE ? c->v[0] : c->v[2];
    tlmc_stamp(c->s, c->f, c->node);
    return tlmc_result_of(tlmc_build_rowwise(c->s->graph, TLMC_OP_SOFTMAX, c->v[0].u.value, mask,
                                             c->v[1].u.i),
                          from, 2);
}

struct tlmc_results tlmc_fn_log_softmax(struct tlmc_call *c)
{
    if (!tlmc_call_tensor(c, 0) || !check_float(c, &c->v[0]) ||
        !tlmc_call_axis(c, &c->v[1].u.i, tlmc_type_of(c->s, &c->v[0])->rank))
        return failed();
    tlmc_stamp(c->s, c->f, c->node);
    return tlmc_result_of(tlmc_build_rowwise(c->s->graph, TLMC_OP_LOG_SOFTMAX, c->v[0].u.value,
                                             TLMC_NONE, c->v[1].u.i),
                          c->v, 1);
}

struct tlmc_results tlmc_fn_layer_norm(struct tlmc_call *c)
{
    const struct tlmc_attr eps = tlmc_attr_float(TLMC_A_EPS, c->v[3].u.f);
    uint32_t ids[3];

    for (uint32_t i = 0; i < 3; i++) {
        if (!tlmc_call_tensor(c, i))
            return failed();
        ids[i] = c->v[i].u.value;
    }
    return tlmc_result_of(tlmc_emit(c->s, c->f, c->node, TLMC_OP_LAYER_NORM, ids, 3, &eps, 1), c->v,
                          3);
}

struct tlmc_results tlmc_fn_argmax(struct tlmc_call *c)
{
    struct tlmc_attr attrs[2];

    if (!tlmc_call_tensor(c, 0) ||
        !tlmc_call_axis(c, &c->v[1].u.i, tlmc_type_of(c->s, &c->v[0])->rank))
        return failed();
    attrs[0] = tlmc_attr_int(TLMC_A_AXIS, c->v[1].u.i);
    attrs[1] = tlmc_attr_int(TLMC_A_KEEPDIMS, c->v[2].u.b);
    return unary_attrs(c, TLMC_OP_ARGMAX, attrs, 2);
}

/* ---- reductions */

static bool reduce_axes(struct tlmc_call *c, int rank, int64_t *axes, uint32_t *count)
{
    const struct tlmc_val *v = &c->v[1];
    bool set[TLMC_MAX_RANK] = { 0 };

    for (int i = 0; v->kind == TLMC_V_NONE && i < rank; i++)
        set[i] = true;
    for (uint32_t i = 0;
         v->kind != TLMC_V_NONE && i < (v->kind == TLMC_V_INT ? 1 : tlmc_list_count(v)); i++) {
        int64_t axis = v->kind == TLMC_V_INT ? v->u.i : tlmc_list_item(v, i).u.i;

        if (!tlmc_call_axis(c, &axis, rank))
            return false;
        if (set[axis]) {
            tlmc_sema_error(c->s, c->f, c->node->span, TLMC_E_ATTRIBUTE, "axis %lld is named twice",
                            (long long)axis);
            return false;
        }
        set[axis] = true;
    }
    *count = 0;
    for (int i = 0; i < rank; i++)
        if (set[i])
            axes[(*count)++] = i;
    return true;
}

static bool check_reducible(struct tlmc_call *c, enum tlmc_op op)
{
    if (op == TLMC_OP_REDUCE_MEAN || tlmc_type_of(c->s, &c->v[0])->dtype == TLMC_BOOL)
        return check_float(c, &c->v[0]);
    return true;
}

static struct tlmc_results reduce(struct tlmc_call *c, enum tlmc_op op)
{
    int64_t axes[TLMC_MAX_RANK];
    uint32_t count;

    if (!tlmc_call_tensor(c, 0) || !check_reducible(c, op) ||
        !reduce_axes(c, tlmc_type_of(c->s, &c->v[0])->rank, axes, &count))
        return failed();
    tlmc_stamp(c->s, c->f, c->node);
    return tlmc_result_of(tlmc_build_reduce(c->s->graph, op, c->v[0].u.value, count, axes,
                                            c->v[2].u.b),
                          c->v, 1);
}

struct tlmc_results tlmc_fn_reduce_sum(struct tlmc_call *c)
{
    return reduce(c, TLMC_OP_REDUCE_SUM);
}

struct tlmc_results tlmc_fn_reduce_mean(struct tlmc_call *c)
{
    return reduce(c, TLMC_OP_REDUCE_MEAN);
}

struct tlmc_results tlmc_fn_reduce_max(struct tlmc_call *c)
{
    return reduce(c, TLMC_OP_REDUCE_MAX);
}

struct tlmc_results tlmc_fn_reduce_min(struct tlmc_call *c)
{
    return reduce(c, TLMC_OP_REDUCE_MIN);
}

/* ---- indices */

struct tlmc_results tlmc_fn_gather(struct tlmc_call *c)
{
    struct tlmc_attr axis;
    uint32_t ids[2];

    if (!tlmc_call_tensor(c, 0) || !tlmc_call_tensor(c, 1) ||
        !tlmc_call_axis(c, &c->v[2].u.i, tlmc_type_of(c->s, &c->v[0])->rank))
        return failed();
    axis = tlmc_attr_int(TLMC_A_AXIS, c->v[2].u.i);
    ids[0] = c->v[0].u.value;
    ids[1] = c->v[1].u.value;
    return tlmc_result_of(tlmc_emit(c->s, c->f, c->node, TLMC_OP_GATHER, ids, 2, &axis, 1), c->v,
                          2);
}

struct tlmc_results tlmc_fn_scatter_add(struct tlmc_call *c)
{
    struct tlmc_attr axis;
    uint32_t ids[3];

    for (uint32_t i = 0; i < 3; i++) {
        if (!tlmc_call_tensor(c, i))
            return failed();
        ids[i] = c->v[i].u.value;
    }
    if (!tlmc_call_axis(c, &c->v[3].u.i, tlmc_type_of(c->s, &c->v[0])->rank))
        return failed();
    axis = tlmc_attr_int(TLMC_A_AXIS, c->v[3].u.i);
    return tlmc_result_of(tlmc_emit(c->s, c->f, c->node, TLMC_OP_SCATTER_ADD, ids, 3, &axis, 1),
                          c->v, 3);
}
