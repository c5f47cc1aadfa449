/* VJP rules of the ops that move elements: each is the move back.  Where elements were repeated,
   they are summed. */
#include "derivative_rules.h"

#define G tlmc_vjp_grad(v)

static const struct tlmc_type *in_type(const struct tlmc_vjp *v, uint32_t input)
{
    return tlmc_value_type(v->graph, tlmc_vjp_in(v, input));
}

void tlmc_vjp_reshape(struct tlmc_vjp *v)
{
    const struct tlmc_type *to = in_type(v, 0);

    tlmc_vjp_give(v, 0, tlmc_build_reshape(v->graph, G, to->rank, to->dims));
}

void tlmc_vjp_permute(struct tlmc_vjp *v)
{
    const struct tlmc_attr *perm = tlmc_node_attr(&v->node, TLMC_A_PERM);
    int64_t inverse[TLMC_MAX_RANK];
    uint32_t i;

    for (i = 0; i < perm->count; i++)
        inverse[perm->v.ints[i]] = i;
    tlmc_vjp_give(v, 0, tlmc_build_permute(v->graph, G, inverse));
}

void tlmc_vjp_broadcast(struct tlmc_vjp *v)
{
    tlmc_vjp_give(v, 0, tlmc_build_unbroadcast(v->graph, G, in_type(v, 0)));
}

void tlmc_vjp_concat(struct tlmc_vjp *v)
{
    const uint32_t g = G;
    const struct tlmc_type type = *tlmc_value_type(v->graph, g);
    const int64_t axis = tlmc_node_int(&v->node, TLMC_A_AXIS);
    int64_t starts[TLMC_MAX_RANK] = { 0 }, stops[TLMC_MAX_RANK], steps[TLMC_MAX_RANK];
    uint32_t i;
    int d;

    for (d = 0; d < type.rank; d++) {
        stops[d] = type.dims[d];
        steps[d] = 1;
    }
    stops[axis] = 0;
    for (i = 0; i < v->node.input_count; i++) {
        starts[axis] = stops[axis];
        stops[axis] += in_type(v, i)->dims[axis];
        if (tlmc_vjp_wants(v, i))
            tlmc_vjp_give(v, i, tlmc_build_slice(v->graph, g, starts, stops, steps));
    }
}

void tlmc_vjp_slice(struct tlmc_vjp *v)
{
    const struct tlmc_type *to = in_type(v, 0);
    const uint32_t g = G;
    const struct tlmc_attr attrs[] = {
        tlmc_attr_ints(TLMC_A_SHAPE, (uint32_t)to->rank, to->dims),
        *tlmc_node_attr(&v->node, TLMC_A_STARTS),
        *tlmc_node_attr(&v->node, TLMC_A_STOPS),
        *tlmc_node_attr(&v->node, TLMC_A_STEPS),
    };

    tlmc_vjp_give(v, 0, tlmc_add_node(v->graph, TLMC_OP_SLICE_VJP, &g, 1, attrs, 4));
}

void tlmc_vjp_slice_vjp(struct tlmc_vjp *v)
{
    tlmc_vjp_give(v, 0,
                  tlmc_build_slice(v->graph, G, tlmc_node_attr(&v->node, TLMC_A_STARTS)->v.ints,
                                   tlmc_node_attr(&v->node, TLMC_A_STOPS)->v.ints,
                                   tlmc_node_attr(&v->node, TLMC_A_STEPS)->v.ints));
}

/* Adds g at the places that `index` took from operand x; what has been accumulated for x is the
   base. */
static void scatter(struct tlmc_vjp *v, uint32_t x, uint32_t index, int64_t axis)
{
    const struct tlmc_attr attr = tlmc_attr_int(TLMC_A_AXIS, axis);
    uint32_t inputs[3];

    if (!tlmc_vjp_wants(v, x))
        return;
    inputs[0] = tlmc_vjp_base(v, x);
    inputs[1] = tlmc_vjp_in(v, index);
    inputs[2] = G;
    tlmc_vjp_replace(v, x, tlmc_add_node(v->graph, TLMC_OP_SCATTER_ADD, inputs, 3, &attr, 1));
}

void tlmc_vjp_gather(struct tlmc_vjp *v)
{
    scatter(v, 0, 1, tlmc_node_int(&v->node, TLMC_A_AXIS));
}

void tlmc_vjp_embedding(struct tlmc_vjp *v)
{
    scatter(v, 1, 0, 0);
}

void tlmc_vjp_scatter_add(struct tlmc_vjp *v)
{
    const uint32_t inputs[] = { G, tlmc_vjp_in(v, 1) };

    tlmc_vjp_give(v, 0, inputs[0]);
    if (tlmc_vjp_wants(v, 2))
        tlmc_vjp_give(v, 2,
                      tlmc_add_node(v->graph, TLMC_OP_GATHER, inputs, 2, v->node.attrs,
                                    v->node.attr_count));
}
