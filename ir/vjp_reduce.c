/* VJP rules of the ops that sum: reductions, matmul, the row-wise ops, the losses. */
#include "derivative_rules.h"

#define A tlmc_vjp_in(v, 0)
#define B tlmc_vjp_in(v, 1)
#define Y tlmc_vjp_result(v, 0)
#define G tlmc_vjp_grad(v)

/* A result-like value with the reduced axes kept at size 1. */
static uint32_t keep_axes(struct tlmc_vjp *v, uint32_t value)
{
    const struct tlmc_attr *axes = tlmc_node_attr(&v->node, TLMC_A_AXES);
    struct tlmc_type kept = *tlmc_value_type(v->graph, A);
    uint32_t i;

    for (i = 0; i < axes->count; i++)
        kept.dims[axes->v.ints[i]] = 1;
    return tlmc_build_reshape(v->graph, value, kept.rank, kept.dims);
}

static void spread(struct tlmc_vjp *v, uint32_t g)
{
    tlmc_vjp_give(v, 0,
                  tlmc_build_broadcast(v->graph, keep_axes(v, g), tlmc_value_type(v->graph, A)));
}

void tlmc_vjp_reduce_sum(struct tlmc_vjp *v)
{
    spread(v, G);
}

/* Divided before it is spread: one division a result. */
void tlmc_vjp_reduce_mean(struct tlmc_vjp *v)
{
    const struct tlmc_attr *axes = tlmc_node_attr(&v->node, TLMC_A_AXES);
    const uint32_t g = G;
    int64_t n = 1;
    uint32_t i, count;

    for (i = 0; i < axes->count; i++)
        n *= tlmc_value_type(v->graph, A)->dims[axes->v.ints[i]];
    count = tlmc_build_full(v->graph, tlmc_value_type(v->graph, g), (double)n);
    spread(v, tlmc_build2(v->graph, TLMC_OP_DIV, g, count));
}

void tlmc_vjp_reduce_extreme(struct tlmc_vjp *v)
{
    const uint32_t g = keep_axes(v, G), y = keep_axes(v, Y);
    const uint32_t inputs[] = { g, A, y };

    tlmc_vjp_give(v, 0,
                  tlmc_add_node(v->graph, TLMC_OP_REDUCE_EXTREME_VJP, inputs, 3,
                                tlmc_node_attr(&v->node, TLMC_A_AXES), 1));
}

/* g * x / y, 0 where the norm is 0; divided before it is spread. */
void tlmc_vjp_global_norm(struct tlmc_vjp *v)
{
    const uint32_t ratio = tlmc_build_ratio(v->graph, G, Y);
    uint32_t i;

    for (i = 0; i < v->node.input_count; i++) {
        const uint32_t x = tlmc_vjp_in(v, i);

        if (tlmc_vjp_wants(v, i))
            tlmc_vjp_give(v, i,
                          tlmc_build2(v->graph, TLMC_OP_MUL,
                                      tlmc_build_broadcast(v->graph, ratio,
                                                           tlmc_value_type(v->graph, x)),
                                      x));
    }
}

/* dA = g @ B^T, dB = A^T @ g, summed over batch axes that were broadcast. */
void tlmc_vjp_matmul(struct tlmc_vjp *v)
{
    struct tlmc_graph *graph = v->graph;

    if (tlmc_vjp_wants(v, 0)) {
        const uint32_t bt = tlmc_build_transpose(graph, B);
        const uint32_t da = tlmc_build2(graph, TLMC_OP_MATMUL, G, bt);

        tlmc_vjp_give(v, 0, tlmc_build_unbroadcast(graph, da, tlmc_value_type(graph, A)));
    }
    if (tlmc_vjp_wants(v, 1)) {
        const uint32_t at = tlmc_build_transpose(graph, A);
        const uint32_t db = tlmc_build2(graph, TLMC_OP_MATMUL, at, G);

        tlmc_vjp_give(v, 1, tlmc_build_unbroadcast(graph, db, tlmc_value_type(graph, B)));
    }
}

/* With a mask too: the weight of a blocked place is 0, and so is its gradient. */
void tlmc_vjp_softmax(struct tlmc_vjp *v)
{
    tlmc_vjp_give(v, 0, tlmc_build2(v->graph, TLMC_OP_SOFTMAX_VJP, G, Y));
}

void tlmc_vjp_log_softmax(struct tlmc_vjp *v)
{
    tlmc_vjp_give(v, 0, tlmc_build2(v->graph, TLMC_OP_LOG_SOFTMAX_VJP, G, Y));
}

void tlmc_vjp_layer_norm(struct tlmc_vjp *v)
{
    const uint32_t g = G, mean = tlmc_vjp_result(v, 1), rstd = tlmc_vjp_result(v, 2);

    if (tlmc_vjp_wants(v, 0)) {
        const uint32_t inputs[] = { g, A, B, mean, rstd };

        tlmc_vjp_give(v, 0, tlmc_add_node(v->graph, TLMC_OP_LAYER_NORM_VJP, inputs, 5, NULL, 0));
    }
    if (tlmc_vjp_wants(v, 1) || tlmc_vjp_wants(v, 2)) {
        const uint32_t inputs[] = { g, A, mean, rstd };
        const uint32_t first =
            tlmc_add_node(v->graph, TLMC_OP_LAYER_NORM_VJP_WEIGHT, inputs, 4, NULL, 0);

        tlmc_vjp_give(v, 1, first);
        tlmc_vjp_give(v, 2, first + 1);
    }
}

void tlmc_vjp_mse_loss(struct tlmc_vjp *v)
{
    const uint32_t da = tlmc_build3(v->graph, TLMC_OP_MSE_LOSS_VJP, G, A, B);

    tlmc_vjp_give(v, 0, da);
    if (tlmc_vjp_wants(v, 1))
        tlmc_vjp_give(v, 1, tlmc_build1(v->graph, TLMC_OP_NEG, da));
}

void tlmc_vjp_cross_entropy(struct tlmc_vjp *v)
{
    const uint32_t inputs[] = { G, A, B, tlmc_vjp_result(v, 1), tlmc_vjp_result(v, 2) };

    tlmc_vjp_give(v, 0, tlmc_add_node(v->graph, TLMC_OP_CROSS_ENTROPY_VJP, inputs, 5, NULL, 0));
}
