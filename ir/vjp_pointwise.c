/* VJP rules of the pointwise ops.  A rule gives each wanted operand its contribution, in operand
   order. */
#include "derivative_rules.h"

#define A tlmc_vjp_in(v, 0)
#define B tlmc_vjp_in(v, 1)
#define Y tlmc_vjp_result(v, 0)
#define G tlmc_vjp_grad(v)

uint32_t tlmc_unary_derivative(struct tlmc_graph *graph, const struct tlmc_node *node, uint32_t g)
{
    const struct tlmc_op_info *info = tlmc_op_info(node->op);
    uint32_t inputs[3], count = 0;

    inputs[count++] = g;
    if (info->uses == TLMC_USES_X || info->uses == TLMC_USES_XY)
        inputs[count++] = node->inputs[0];
    if (info->uses == TLMC_USES_Y || info->uses == TLMC_USES_XY)
        inputs[count++] = node->first_result;
    return tlmc_add_node(graph, info->vjp_op, inputs, count, node->attrs, node->attr_count);
}

void tlmc_vjp_unary(struct tlmc_vjp *v)
{
    tlmc_vjp_give(v, 0, tlmc_unary_derivative(v->graph, &v->node, G));
}

void tlmc_vjp_identity(struct tlmc_vjp *v)
{
    tlmc_vjp_give(v, 0, G);
}

void tlmc_vjp_add(struct tlmc_vjp *v)
{
    const uint32_t g = G;

    tlmc_vjp_give(v, 0, g);
    tlmc_vjp_give(v, 1, g);
}

void tlmc_vjp_sub(struct tlmc_vjp *v)
{
    const uint32_t g = G;

    tlmc_vjp_give(v, 0, g);
    if (tlmc_vjp_wants(v, 1))
        tlmc_vjp_give(v, 1, tlmc_build1(v->graph, TLMC_OP_NEG, g));
}

void tlmc_vjp_mul(struct tlmc_vjp *v)
{
    if (tlmc_vjp_wants(v, 0))
        tlmc_vjp_give(v, 0, tlmc_build2(v->graph, TLMC_OP_MUL, G, B));
    if (tlmc_vjp_wants(v, 1))
        tlmc_vjp_give(v, 1, tlmc_build2(v->graph, TLMC_OP_MUL, G, A));
}

void tlmc_vjp_div(struct tlmc_vjp *v)
{
    if (tlmc_vjp_wants(v, 0))
        tlmc_vjp_give(v, 0, tlmc_build2(v->graph, TLMC_OP_DIV, G, B));
    if (tlmc_vjp_wants(v, 1)) { /* -(g * y / b): y = a / b is at hand */
        uint32_t t = tlmc_build2(v->graph, TLMC_OP_MUL, G, Y);

        t = tlmc_build2(v->graph, TLMC_OP_DIV, t, B);
        tlmc_vjp_give(v, 1, tlmc_build1(v->graph, TLMC_OP_NEG, t));
    }
}

void tlmc_vjp_pow(struct tlmc_vjp *v)
{
    if (tlmc_vjp_wants(v, 0))
        tlmc_vjp_give(v, 0, tlmc_build3(v->graph, TLMC_OP_POW_VJP_A, G, A, B));
    if (tlmc_vjp_wants(v, 1))
        tlmc_vjp_give(v, 1, tlmc_build3(v->graph, TLMC_OP_POW_VJP_B, G, A, Y));
}

static void extreme(struct tlmc_vjp *v, enum tlmc_op derivative)
{
    if (tlmc_vjp_wants(v, 0))
        tlmc_vjp_give(v, 0, tlmc_build3(v->graph, derivative, G, A, B));
    if (tlmc_vjp_wants(v, 1))
        tlmc_vjp_give(v, 1, tlmc_build3(v->graph, derivative, G, B, A));
}

void tlmc_vjp_max(struct tlmc_vjp *v)
{
    extreme(v, TLMC_OP_MAX_VJP);
}

void tlmc_vjp_min(struct tlmc_vjp *v)
{
    extreme(v, TLMC_OP_MIN_VJP);
}

void tlmc_vjp_where(struct tlmc_vjp *v)
{
    const uint32_t g = G;
    const uint32_t zero = tlmc_build_full(v->graph, tlmc_value_type(v->graph, g), 0);

    if (tlmc_vjp_wants(v, 1))
        tlmc_vjp_give(v, 1, tlmc_build3(v->graph, TLMC_OP_WHERE, A, g, zero));
    if (tlmc_vjp_wants(v, 2))
        tlmc_vjp_give(v, 2, tlmc_build3(v->graph, TLMC_OP_WHERE, A, zero, g));
}

/* Only between float types: a wanted operand is one. */
void tlmc_vjp_cast(struct tlmc_vjp *v)
{
    tlmc_vjp_give(v, 0, tlmc_build_cast(v->graph, G, tlmc_value_type(v->graph, A)->dtype));
}
