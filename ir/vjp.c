/* Reverse mode.  In: a graph, values with incoming gradients, values whose gradients are wanted.
   Out: BACKWARD nodes appended to the graph.  The forward nodes are walked backwards, each by its
   local rule (vjp_*.c); only operands that a wanted value feeds get nodes.  No gradient flows into
   integer or bool tensors, through `none` rules, or into the second and later results of an op,
   which exist for its backward rule. */
#include "derivative_rules.h"
#include "graph_edit.h"
#include "pass.h"

#include <string.h>

static tlmc_vjp_rule *const rules[] = {
#define UNARY(TAG, name, uses, attrs, policy) tlmc_vjp_unary, tlmc_vjp_none,
#define OP(TAG, name, family, min, max, results, attrs, shape, vjp, jvp, policy) tlmc_vjp_##vjp,
#include "ops.def"
};

void tlmc_vjp_none(struct tlmc_vjp *v)
{
    (void)v;
}

bool tlmc_op_is_flat(enum tlmc_op op)
{
    return op == TLMC_OP_FLOOR || op == TLMC_OP_CEIL || op == TLMC_OP_ROUND;
}

uint32_t tlmc_vjp_in(const struct tlmc_vjp *v, uint32_t input)
{
    return v->node.inputs[input];
}

uint32_t tlmc_vjp_result(const struct tlmc_vjp *v, uint32_t index)
{
    return v->node.first_result + index;
}

uint32_t tlmc_vjp_grad(const struct tlmc_vjp *v)
{
    return v->grads[v->node.first_result];
}

bool tlmc_vjp_wants(const struct tlmc_vjp *v, uint32_t input)
{
    return input < v->node.input_count && v->node.inputs[input] != TLMC_NONE &&
           v->needed[v->node.inputs[input]];
}

/* A gradient is named after its value; one that serves several values keeps its first name. */
static void set_grad(struct tlmc_vjp *v, uint32_t value, uint32_t grad)
{
    struct tlmc_value *to = &v->graph->values[grad];

    TLMC_CHECK(tlmc_type_equal(&to->type, tlmc_value_type(v->graph, value)));
    if (!to->name && !to->is_gradient) {
        to->name = v->graph->values[value].name;
        to->is_gradient = to->name != NULL;
    }
    v->grads[value] = grad;
}

static void add_grad(struct tlmc_vjp *v, uint32_t value, uint32_t contribution)
{
    const uint32_t so_far = v->grads[value], rule = v->graph->rule;

    v->graph->rule = 0; /* the sum of contributions is nobody's rule */
    if (so_far != TLMC_NONE)
        contribution = tlmc_build2(v->graph, TLMC_OP_ADD, so_far, contribution);
    v->graph->rule = rule;
    set_grad(v, value, contribution);
}

void tlmc_vjp_give(struct tlmc_vjp *v, uint32_t input, uint32_t contribution)
{
    if (tlmc_vjp_wants(v, input))
        add_grad(v, v->node.inputs[input], contribution);
}

uint32_t tlmc_vjp_base(struct tlmc_vjp *v, uint32_t input)
{
    const uint32_t value = v->node.inputs[input];

    if (v->grads[value] != TLMC_NONE)
        return v->grads[value];
    return tlmc_build_full(v->graph, tlmc_value_type(v->graph, value), 0);
}

void tlmc_vjp_replace(struct tlmc_vjp *v, uint32_t input, uint32_t grad)
{
    set_grad(v, v->node.inputs[input], grad);
}

static bool wants_any(const struct tlmc_vjp *v)
{
    uint32_t i;

    for (i = 0; i < v->node.input_count; i++)
        if (tlmc_vjp_wants(v, i))
            return true;
    return false;
}

/* Which values depend on a wanted one through rules that carry gradients. */
static bool *find_needed(const struct tlmc_graph *graph, const uint32_t *wanted, uint32_t count)
{
    bool *needed = TLMC_NEW_ARRAY(graph->arena, bool, graph->value_count);
    uint32_t id, i;

    for (i = 0; i < count; i++)
        needed[wanted[i]] = true;
    for (id = 0; id < graph->node_count; id++) {
        const struct tlmc_node *node = &graph->nodes[id];
        bool reached = false;

        if (rules[node->op] == tlmc_vjp_none || tlmc_op_is_flat(node->op) || !node->result_count ||
            !tlmc_dtype_is_float(graph->values[node->first_result].type.dtype))
            continue;
        for (i = 0; i < node->input_count; i++)
            reached |= node->inputs[i] != TLMC_NONE && needed[node->inputs[i]];
        needed[node->first_result] |= reached;
    }
    return needed;
}

void tlmc_vjp(struct tlmc_graph *graph, const uint32_t *outputs, const uint32_t *seeds,
              uint32_t output_count, const uint32_t *wanted, uint32_t count, uint32_t *out)
{
    const struct tlmc_node before = { .phase = graph->phase,
                                      .span = graph->span,
                                      .scope = graph->scope };
    const uint32_t value_count = graph->value_count;
    uint32_t id = graph->node_count, i;
    struct tlmc_vjp v = { .graph = graph };

    if (!value_count)
        return;
    v.needed = find_needed(graph, wanted, count);
    v.grads = TLMC_NEW_ARRAY(graph->arena, uint32_t, value_count);
    memset(v.grads, 0xff, value_count * sizeof *v.grads);
    graph->phase = TLMC_BACKWARD;
    for (i = 0; i < output_count; i++)
        if (v.needed[outputs[i]])
            add_grad(&v, outputs[i], seeds[i]);
    while (id-- > 0) {
        v.node = graph->nodes[id];
        if (!v.node.result_count || !v.needed[v.node.first_result] ||
            v.grads[v.node.first_result] == TLMC_NONE || !wants_any(&v))
            continue;
        tlmc_graph_stamp(graph, &v.node);
        graph->phase = TLMC_BACKWARD;
        if (v.node.phase == TLMC_FORWARD)
            graph->rule = graph->nodes[id].rule = id + 1;
        rules[v.node.op](&v);
    }
    for (i = 0; i < count; i++)
        out[i] = v.grads[wanted[i]];
    tlmc_graph_stamp(graph, &before);
}

void tlmc_autodiff(struct tlmc_graph *graph, uint32_t loss, const uint32_t *wanted, uint32_t count,
                   uint32_t *out)
{
    const struct tlmc_node before = { .phase = graph->phase,
                                      .span = graph->span,
                                      .scope = graph->scope };
    uint32_t seed;

    TLMC_CHECK(tlmc_value_type(graph, loss)->rank == 0);
    graph->phase = TLMC_BACKWARD;
    graph->span = tlmc_value_node(graph, loss)->span;
    graph->scope = tlmc_value_node(graph, loss)->scope;
    seed = tlmc_build_const(graph, tlmc_value_type(graph, loss)->dtype, 1);
    tlmc_vjp(graph, &loss, &seed, 1, wanted, count, out);
    tlmc_graph_stamp(graph, &before);
}
