/* A graph by the arithmetic contract: every node through exact.c, or, where bits are only copied,
   counted or drawn, through the interpreter and rounded.  What fused code must still compute:
   grouping moves no rounding point. */
#include "exact.h"

#include <stdlib.h>
#include <string.h>

struct tables {
    const struct tlmc_graph *graph;
    struct ops_buffer *values;
};

static struct tlmc_tensor widened(const struct ops_buffer *from)
{
    struct tlmc_tensor t = tlmc_tensor_new(&from->type);
    const int64_t count = tlmc_type_count(&from->type);

    for (int64_t i = 0; i < count; i++)
        t.data[i] = from->type.dtype == TLMC_F32   ? (double)from->data.f[i]
                    : from->type.dtype == TLMC_I32 ? from->data.i[i]
                                                   : from->data.b[i];
    return t;
}

/* One node alone, its operands as inputs or, where it writes, states. */
static void through_interpreter(const struct tlmc_node *node, struct ops_buffer *operands,
                                struct ops_buffer *results)
{
    const bool writes = tlmc_op_info(node->op)->family == TLMC_UPDATE;
    struct tlmc_arena arena = { 0 };
    struct tlmc_graph *alone = tlmc_graph_new(&arena);
    struct tlmc_tensor tensors[OPS_MAX_OPERANDS], values[2 * OPS_MAX_OPERANDS];
    const struct tlmc_env env = { .inputs = tensors, .params = tensors, .seed = 7 };
    uint32_t leaves[OPS_MAX_OPERANDS], id;
    struct tlmc_shape_error error;
    char text[256];

    memset(values, 0, sizeof values);
    for (uint32_t i = 0; i < node->input_count; i++) {
        tensors[i] = widened(&operands[i]);
        leaves[i] = tlmc_build_leaf(alone, writes && i == 0 ? TLMC_OP_STATE : TLMC_OP_INPUT, i,
                                    &operands[i].type);
    }
    id = tlmc_try_node(alone, node->op, leaves, node->input_count, node->attrs, node->attr_count,
                       &error);
    TLMC_CHECK(id != TLMC_NONE);
    if (!tlmc_interpret(alone, &env, 1u << TLMC_FORWARD, values, text))
        TLMC_BUG("%s", text);
    for (uint32_t r = 0; r < node->result_count; r++)
        ops_store(&values[alone->nodes[id].first_result + r], results[r].data.any);
    if (writes)
        ops_store(&tensors[0], operands[0].data.any);
    tlmc_tensor_free(values, alone->value_count);
    tlmc_tensor_free(tensors, node->input_count);
    tlmc_arena_free(&arena);
}

static void one_node(struct tables *t, const struct tlmc_node *node)
{
    struct ops_buffer operands[OPS_MAX_OPERANDS] = { { .data = { NULL } } };
    struct ops_case c = { .row = ops_row_of(node->op), .operand_count = node->input_count };

    TLMC_CHECK(node->input_count <= OPS_MAX_OPERANDS && node->attr_count <= OPS_MAX_ATTRS);
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != TLMC_NONE)
            operands[i] = t->values[node->inputs[i]];
    c.attr_count = node->attr_count;
    if (node->attr_count)
        memcpy(c.attrs, node->attrs, node->attr_count * sizeof *c.attrs);
    for (uint32_t r = 0; r < node->result_count; r++)
        t->values[node->first_result + r] =
            ops_buffer_new(tlmc_value_type(t->graph, node->first_result + r));
    if (!c.row || !ops_exact(&c, operands, &t->values[node->first_result]))
        through_interpreter(node, operands, &t->values[node->first_result]);
}

void ops_exact_graph(const struct ops_case *c, const struct ops_graph *built,
                     struct ops_buffer *operands, struct ops_buffer *results)
{
    struct tables t = { .graph = built->graph };

    t.values = calloc(built->graph->value_count + 1, sizeof *t.values);
    if (!t.values)
        tlmc_out_of_memory();
    for (uint32_t i = 0; i < c->operand_count; i++)
        if (built->operands[i] != TLMC_NONE)
            t.values[built->operands[i]] = operands[i]; /* shared: writes stay */
    for (uint32_t i = 0; i < built->graph->node_count; i++) {
        const struct tlmc_node *node = &built->graph->nodes[i];

        if (node->result_count == 0 || !t.values[node->first_result].data.any)
            one_node(&t, node);
    }
    for (uint32_t i = 0; i < built->result_count; i++)
        memcpy(results[i].data.any, t.values[built->results[i]].data.any,
               tlmc_type_bytes(&results[i].type));
    for (uint32_t i = 0; i < c->operand_count; i++)
        if (built->operands[i] != TLMC_NONE)
            t.values[built->operands[i]].data.any = NULL;
    ops_buffer_free(t.values, built->graph->value_count);
    free(t.values);
}
