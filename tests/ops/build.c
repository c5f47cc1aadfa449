/* Cases -> graphs, and what the interpreter makes of them. */
#include "cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The operand as the op reads it: through a permute of its last two axes or a broadcast where the
   case says so. */
static uint32_t as_read(struct tlmc_graph *graph, const struct ops_case *c, uint32_t operand,
                        uint32_t value)
{
    if (operand < 2 && c->transpose[operand])
        value = tlmc_build_transpose(graph, value);
    if (c->operands[operand].repeated)
        value = tlmc_build_broadcast(graph, value, &c->operands[operand].repeated_to);
    return value;
}

struct ops_graph ops_build(const struct ops_case *c, struct tlmc_arena *arena, uint32_t first_param)
{
    struct ops_graph built = { .graph = tlmc_graph_new(arena) };
    uint32_t read[OPS_MAX_OPERANDS], slot = 0, param = first_param;
    struct tlmc_shape_error error;

    for (uint32_t i = 0; i < c->operand_count; i++) {
        const struct ops_operand *operand = &c->operands[i];

        built.operands[i] = read[i] = TLMC_NONE;
        if (operand->role == OPS_INPUT)
            built.operands[i] = tlmc_build_leaf(built.graph, TLMC_OP_INPUT, slot++, &operand->type);
        else if (operand->role == OPS_STATE)
            built.operands[i] =
                tlmc_build_leaf(built.graph, TLMC_OP_STATE, param++, &operand->type);
        if (built.operands[i] != TLMC_NONE)
            read[i] = as_read(built.graph, c, i, built.operands[i]);
    }
    if (c->compose) {
        built.node = TLMC_NONE;
        c->compose(&built);
        return built;
    }
    built.node = tlmc_try_node(built.graph, c->row->op, read, c->operand_count, c->attrs,
                               c->attr_count, &error);
    if (built.node == TLMC_NONE)
        TLMC_BUG("%s, case '%s': %s", tlmc_op_info(c->row->op)->name, c->name, error.text);
    built.result_count = built.graph->nodes[built.node].result_count;
    for (uint32_t i = 0; i < built.result_count; i++)
        built.results[i] = built.graph->nodes[built.node].first_result + i;
    return built;
}

static void make_absolute(struct tlmc_tensor *t)
{
    const int64_t count = tlmc_type_count(&t->type);

    for (int64_t i = 0; i < count; i++)
        t->data[i] = fabs(t->data[i]);
}

struct ops_result ops_interpret(const struct ops_case *c, struct tlmc_arena *arena, bool absolute,
                                uint64_t seed, uint64_t run)
{
    struct ops_result r = { .built = ops_build(c, arena, 0) };
    struct tlmc_tensor inputs[OPS_MAX_OPERANDS], params[OPS_MAX_OPERANDS];
    uint32_t input_count = 0, param_count = 0;
    struct tlmc_env env = { .inputs = inputs, .params = params, .seed = seed, .step = run };

    for (uint32_t i = 0; i < c->operand_count; i++) {
        if (c->operands[i].role == OPS_ABSENT)
            continue;
        r.inputs[i] = ops_data(c, i);
        if (absolute)
            make_absolute(&r.inputs[i]);
        if (c->operands[i].role == OPS_INPUT) {
            inputs[input_count++] = r.inputs[i];
        } else {
            r.states[i] = ops_data(c, i); /* its own copy: written */
            if (absolute)
                make_absolute(&r.states[i]);
            params[param_count++] = r.states[i];
        }
    }
    r.values = calloc(r.built.graph->value_count + 1, sizeof *r.values);
    if (!r.values)
        tlmc_out_of_memory();
    r.ok = tlmc_interpret(r.built.graph, &env, 1u << TLMC_FORWARD, r.values, r.error);
    return r;
}

void ops_result_free(struct ops_result *result)
{
    tlmc_tensor_free(result->inputs, OPS_MAX_OPERANDS);
    tlmc_tensor_free(result->states, OPS_MAX_OPERANDS);
    tlmc_tensor_free(result->values, result->built.graph->value_count);
    free(result->values);
}
