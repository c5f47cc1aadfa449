/* Forward mode.  In: a graph, inputs with tangents, outputs.  Out: the outputs' tangents, made by
   nodes appended to the graph in its last phase.  Used to check the VJP rules against an
   independent derivation, and by whoever wants directional derivatives. */
#include "derivative_rules.h"
#include "graph_edit.h"
#include "pass.h"

#include <string.h>

static tlmc_jvp_rule *const rules[] = {
#define UNARY(TAG, name, uses, attrs, policy) tlmc_jvp_unary, tlmc_jvp_none,
#define OP(TAG, name, family, min, max, results, attrs, shape, vjp, jvp, policy) tlmc_jvp_##jvp,
#include "ops.def"
};

uint32_t tlmc_jvp_in(const struct tlmc_jvp *j, uint32_t input)
{
    return j->node.inputs[input];
}

uint32_t tlmc_jvp_result(const struct tlmc_jvp *j, uint32_t index)
{
    return j->node.first_result + index;
}

uint32_t tlmc_jvp_tangent(const struct tlmc_jvp *j, uint32_t input)
{
    if (input >= j->node.input_count || j->node.inputs[input] == TLMC_NONE)
        return TLMC_NONE;
    return j->tangents[j->node.inputs[input]];
}

static bool has_tangent(const struct tlmc_jvp *j)
{
    uint32_t i;

    for (i = 0; i < j->node.input_count; i++)
        if (tlmc_jvp_tangent(j, i) != TLMC_NONE)
            return true;
    return false;
}

void tlmc_jvp(struct tlmc_graph *graph, const uint32_t *inputs, const uint32_t *tangents,
              uint32_t input_count, const uint32_t *outputs, uint32_t output_count, uint32_t *out)
{
    const struct tlmc_node before = { .phase = graph->phase,
                                      .span = graph->span,
                                      .scope = graph->scope };
    const uint32_t node_count = graph->node_count, value_count = graph->value_count;
    struct tlmc_jvp j = { .graph = graph };
    enum tlmc_phase phase;
    uint32_t *tangent;
    uint32_t id, i;

    if (!node_count)
        return;
    phase = graph->nodes[node_count - 1].phase;
    tangent = TLMC_NEW_ARRAY(graph->arena, uint32_t, value_count);
    memset(tangent, 0xff, value_count * sizeof *tangent);
    j.tangents = tangent;
    for (i = 0; i < input_count; i++)
        tangent[inputs[i]] = tangents[i];
    for (id = 0; id < node_count; id++) {
        j.node = graph->nodes[id];
        if (!j.node.result_count || tangent[j.node.first_result] != TLMC_NONE || !has_tangent(&j))
            continue;
        tlmc_graph_stamp(graph, &j.node);
        graph->phase = phase;
        tangent[j.node.first_result] = rules[j.node.op](&j);
    }
    for (i = 0; i < output_count; i++)
        out[i] = tangent[outputs[i]];
    tlmc_graph_stamp(graph, &before);
}
