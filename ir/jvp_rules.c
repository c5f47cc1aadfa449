/* JVP rules.  Derived on their own, not as transposes of the VJP rules, wherever that is possible:
   the test that compares both then says something about each. */
#include "derivative_rules.h"

#define A tlmc_jvp_in(j, 0)
#define B tlmc_jvp_in(j, 1)
#define Y tlmc_jvp_result(j, 0)
#define TA tlmc_jvp_tangent(j, 0)
#define TB tlmc_jvp_tangent(j, 1)

static const struct tlmc_type *type_of(const struct tlmc_jvp *j, uint32_t value)
{
    return tlmc_value_type(j->graph, value);
}

/* The sum of two tangents, either of which may be zero. */
static uint32_t sum(struct tlmc_jvp *j, uint32_t a, uint32_t b)
{
    if (a == TLMC_NONE)
        return b;
    return b == TLMC_NONE ? a : tlmc_build2(j->graph, TLMC_OP_ADD, a, b);
}

static uint32_t times(struct tlmc_jvp *j, uint32_t a, uint32_t b)
{
    return a == TLMC_NONE || b == TLMC_NONE ? TLMC_NONE : tlmc_build2(j->graph, TLMC_OP_MUL, a, b);
}

static uint32_t zero_if_none(struct tlmc_jvp *j, uint32_t tangent, uint32_t of)
{
    return tangent != TLMC_NONE ? tangent : tlmc_build_full(j->graph, type_of(j, of), 0);
}

uint32_t tlmc_jvp_none(struct tlmc_jvp *j)
{
    (void)j;
    return TLMC_NONE;
}

uint32_t tlmc_jvp_unary(struct tlmc_jvp *j)
{
    return tlmc_op_is_flat(j->node.op) ? TLMC_NONE : tlmc_unary_derivative(j->graph, &j->node, TA);
}

/* Linear ops of one operand: the op itself, applied to the tangent. */
uint32_t tlmc_jvp_same_op(struct tlmc_jvp *j)
{
    const uint32_t t = TA;

    return tlmc_add_node(j->graph, j->node.op, &t, 1, j->node.attrs, j->node.attr_count);
}

uint32_t tlmc_jvp_add(struct tlmc_jvp *j)
{
    return sum(j, TA, TB);
}

uint32_t tlmc_jvp_sub(struct tlmc_jvp *j)
{
    if (TB == TLMC_NONE)
        return TA;
    if (TA == TLMC_NONE)
        return tlmc_build1(j->graph, TLMC_OP_NEG, TB);
    return tlmc_build2(j->graph, TLMC_OP_SUB, TA, TB);
}

uint32_t tlmc_jvp_mul(struct tlmc_jvp *j)
{
    const uint32_t left = times(j, TA, B);

    return sum(j, left, times(j, TB, A));
}

/* (ta - y tb) / b */
uint32_t tlmc_jvp_div(struct tlmc_jvp *j)
{
    uint32_t t = times(j, TB, Y);

    if (t == TLMC_NONE)
        t = TA;
    else if (TA == TLMC_NONE)
        t = tlmc_build1(j->graph, TLMC_OP_NEG, t);
    else
        t = tlmc_build2(j->graph, TLMC_OP_SUB, TA, t);
    return tlmc_build2(j->graph, TLMC_OP_DIV, t, B);
}

uint32_t tlmc_jvp_pow(struct tlmc_jvp *j)
{
    uint32_t ta = TA, tb = TB;

    if (ta != TLMC_NONE)
        ta = tlmc_build3(j->graph, TLMC_OP_POW_VJP_A, ta, A, B);
    if (tb != TLMC_NONE)
        tb = tlmc_build3(j->graph, TLMC_OP_POW_VJP_B, tb, A, Y);
    return sum(j, ta, tb);
}

static uint32_t extreme(struct tlmc_jvp *j, enum tlmc_op derivative)
{
    uint32_t ta = TA, tb = TB;

    if (ta != TLMC_NONE)
        ta = tlmc_build3(j->graph, derivative, ta, A, B);
    if (tb != TLMC_NONE)
        tb = tlmc_build3(j->graph, derivative, tb, B, A);
    return sum(j, ta, tb);
}

uint32_t tlmc_jvp_max(struct tlmc_jvp *j)
{
    return extreme(j, TLMC_OP_MAX_VJP);
}

uint32_t tlmc_jvp_min(struct tlmc_jvp *j)
{
    return extreme(j, TLMC_OP_MIN_VJP);
}

uint32_t tlmc_jvp_where(struct tlmc_jvp *j)
{
    const uint32_t c = tlmc_jvp_in(j, 2), tc = tlmc_jvp_tangent(j, 2);

    if (TB == TLMC_NONE && tc == TLMC_NONE)
        return TLMC_NONE;
    return tlmc_build3(j->graph, TLMC_OP_WHERE, A, zero_if_none(j, TB, B), zero_if_none(j, tc, c));
}

uint32_t tlmc_jvp_cast(struct tlmc_jvp *j)
{
    const enum tlmc_dtype to = type_of(j, Y)->dtype;

    return tlmc_dtype_is_float(to) ? tlmc_build_cast(j->graph, TA, to) : TLMC_NONE;
}

uint32_t tlmc_jvp_concat(struct tlmc_jvp *j)
{
    uint32_t *inputs = TLMC_NEW_ARRAY(j->graph->arena, uint32_t, j->node.input_count), i;

    for (i = 0; i < j->node.input_count; i++)
        inputs[i] = zero_if_none(j, tlmc_jvp_tangent(j, i), tlmc_jvp_in(j, i));
    return tlmc_add_node(j->graph, TLMC_OP_CONCAT, inputs, j->node.input_count, j->node.attrs,
                         j->node.attr_count);
}

/* The tangents at the places that equal the result, averaged over ties. */
uint32_t tlmc_jvp_reduce_extreme(struct tlmc_jvp *j)
{
    const struct tlmc_attr *axes = tlmc_node_attr(&j->node, TLMC_A_AXES);
    struct tlmc_type kept = *type_of(j, A);
    uint32_t share[3], i;

    for (i = 0; i < axes->count; i++)
        kept.dims[axes->v.ints[i]] = 1;
    share[0] = tlmc_build_full(j->graph, &kept, 1);
    share[1] = A;
    share[2] = tlmc_build_reshape(j->graph, Y, kept.rank, kept.dims);
    i = tlmc_add_node(j->graph, TLMC_OP_REDUCE_EXTREME_VJP, share, 3, axes, 1);
    i = times(j, TA, i);
    return tlmc_add_node(j->graph, TLMC_OP_REDUCE_SUM, &i, 1, j->node.attrs, j->node.attr_count);
}

/* sum(x t) / y over all operands, 0 where the norm is 0 */
uint32_t tlmc_jvp_global_norm(struct tlmc_jvp *j)
{
    const int64_t all[TLMC_MAX_RANK] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    uint32_t total = TLMC_NONE, i;

    for (i = 0; i < j->node.input_count; i++) {
        const uint32_t x = tlmc_jvp_in(j, i), t = tlmc_jvp_tangent(j, i);

        if (t != TLMC_NONE)
            total = sum(j, total,
                        tlmc_build_reduce(j->graph, TLMC_OP_REDUCE_SUM, times(j, x, t),
                                          (uint32_t)type_of(j, x)->rank, all, false));
    }
    return tlmc_build_ratio(j->graph, total, Y);
}

uint32_t tlmc_jvp_matmul(struct tlmc_jvp *j)
{
    uint32_t left = TLMC_NONE, right = TLMC_NONE;

    if (TA != TLMC_NONE)
        left = tlmc_build2(j->graph, TLMC_OP_MATMUL, TA, B);
    if (TB != TLMC_NONE)
        right = tlmc_build2(j->graph, TLMC_OP_MATMUL, A, TB);
    return sum(j, left, right);
}

static uint32_t row_sum(struct tlmc_jvp *j, enum tlmc_op op, uint32_t x, bool spread)
{
    const struct tlmc_type type = *type_of(j, x);
    const int64_t last = type.rank - 1;

    x = tlmc_build_reduce(j->graph, op, x, 1, &last, spread);
    return spread ? tlmc_build_broadcast(j->graph, x, &type) : x;
}

/* y (t - sum(y t)): the Jacobian of a softmax row is symmetric. */
uint32_t tlmc_jvp_softmax(struct tlmc_jvp *j)
{
    const uint32_t mean = row_sum(j, TLMC_OP_REDUCE_SUM, times(j, Y, TA), true);

    return times(j, Y, tlmc_build2(j->graph, TLMC_OP_SUB, TA, mean));
}

uint32_t tlmc_jvp_log_softmax(struct tlmc_jvp *j)
{
    const uint32_t p = tlmc_build1(j->graph, TLMC_OP_EXP, Y);
    const uint32_t mean = row_sum(j, TLMC_OP_REDUCE_SUM, times(j, p, TA), true);

    return tlmc_build2(j->graph, TLMC_OP_SUB, TA, mean);
}

/* A value a row, spread over the row. */
static uint32_t spread_rows(struct tlmc_jvp *j, uint32_t rows)
{
    const struct tlmc_type to = *type_of(j, A);
    struct tlmc_type kept = to;

    kept.dims[kept.rank - 1] = 1;
    rows = tlmc_build_reshape(j->graph, rows, kept.rank, kept.dims);
    return tlmc_build_broadcast(j->graph, rows, &to);
}

/* With h = (x - mean) rstd: dy = rstd (t - mean(t) - h mean(h t)) w + h tw + tb. */
uint32_t tlmc_jvp_layer_norm(struct tlmc_jvp *j)
{
    struct tlmc_graph *graph = j->graph;
    const struct tlmc_type type = *type_of(j, A);
    const uint32_t rstd = spread_rows(j, tlmc_jvp_result(j, 2));
    const uint32_t centred =
        tlmc_build2(graph, TLMC_OP_SUB, A, spread_rows(j, tlmc_jvp_result(j, 1)));
    const uint32_t h = times(j, centred, rstd);
    const uint32_t tb = tlmc_jvp_tangent(j, 2);
    uint32_t result = TLMC_NONE;

    if (TA != TLMC_NONE) {
        uint32_t t = tlmc_build2(graph, TLMC_OP_SUB, TA, row_sum(j, TLMC_OP_REDUCE_MEAN, TA, true));
        const uint32_t along = row_sum(j, TLMC_OP_REDUCE_MEAN, times(j, h, TA), true);

        t = tlmc_build2(graph, TLMC_OP_SUB, t, times(j, h, along));
        result = times(j, times(j, rstd, t), tlmc_build_broadcast(graph, B, &type));
    }
    if (TB != TLMC_NONE)
        result = sum(j, result, times(j, h, tlmc_build_broadcast(graph, TB, &type)));
    if (tb != TLMC_NONE)
        result = sum(j, result, tlmc_build_broadcast(graph, tb, &type));
    return result;
}

/* mean(2 (a - b) (ta - tb)) */
uint32_t tlmc_jvp_mse_loss(struct tlmc_jvp *j)
{
    const int64_t all[TLMC_MAX_RANK] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    uint32_t t = tlmc_build2(j->graph, TLMC_OP_SUB, A, B);

    t = times(j, tlmc_build_scale(j->graph, t, 2), tlmc_jvp_sub(j));
    return tlmc_build_reduce(j->graph, TLMC_OP_REDUCE_MEAN, t, (uint32_t)type_of(j, A)->rank, all,
                             false);
}

/* sum((p - [class]) t) a row, with p - [class] as the loss's own gradient at 1. */
uint32_t tlmc_jvp_cross_entropy(struct tlmc_jvp *j)
{
    const uint32_t ones = tlmc_build_full(j->graph, type_of(j, Y), 1);
    const uint32_t inputs[] = { ones, A, B, tlmc_jvp_result(j, 1), tlmc_jvp_result(j, 2) };
    const uint32_t d = tlmc_add_node(j->graph, TLMC_OP_CROSS_ENTROPY_VJP, inputs, 5, NULL, 0);

    return row_sum(j, TLMC_OP_REDUCE_SUM, times(j, d, TA), false);
}

uint32_t tlmc_jvp_gather(struct tlmc_jvp *j)
{
    const uint32_t inputs[] = { TA, B };

    if (TA == TLMC_NONE)
        return TLMC_NONE;
    return tlmc_add_node(j->graph, TLMC_OP_GATHER, inputs, 2, j->node.attrs, j->node.attr_count);
}

uint32_t tlmc_jvp_embedding(struct tlmc_jvp *j)
{
    return TB == TLMC_NONE ? TLMC_NONE : tlmc_build2(j->graph, TLMC_OP_EMBEDDING, A, TB);
}

uint32_t tlmc_jvp_scatter_add(struct tlmc_jvp *j)
{
    const uint32_t updates = tlmc_jvp_in(j, 2);
    const uint32_t inputs[] = { zero_if_none(j, TA, A), B,
                                zero_if_none(j, tlmc_jvp_tangent(j, 2), updates) };

    return tlmc_add_node(j->graph, TLMC_OP_SCATTER_ADD, inputs, 3, j->node.attrs,
                         j->node.attr_count);
}
