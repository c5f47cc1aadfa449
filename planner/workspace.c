/* Workspace sizes (workspace.def): pure functions of a node's shapes. */
#include "plan_internal.h"
#include "registry.h"

#include <string.h>

static size_t workspace_result(const struct tlmc_graph *graph, const struct tlmc_node *node)
{
    return node->result_count ? tlmc_type_bytes(tlmc_value_type(graph, node->first_result)) : 0;
}

static size_t workspace_operands(const struct tlmc_graph *graph, const struct tlmc_node *node)
{
    size_t bytes = 0;
    uint32_t i;

    for (i = 0; i < node->input_count; i++)
        if (node->inputs[i] != TLMC_NONE)
            bytes += tlmc_type_bytes(tlmc_value_type(graph, node->inputs[i]));
    return bytes;
}

static size_t workspace_row(const struct tlmc_graph *graph, const struct tlmc_node *node)
{
    struct tlmc_type rows;

    if (!node->input_count || node->inputs[0] == TLMC_NONE)
        return 0;
    rows = *tlmc_value_type(graph, node->inputs[0]);
    if (rows.rank)
        rows.rank--;
    return (size_t)tlmc_type_count(&rows) * sizeof(float);
}

/* Sums of few, long, contiguous rows are cut into the chunks of their arithmetic, which a device
   adds side by side. */
static size_t workspace_chunks(const struct tlmc_graph *graph, const struct tlmc_node *node)
{
    enum { SHORT = 8 * TLMC_SUM_CHUNK, MANY = 128 };
    const struct tlmc_type *x = tlmc_value_type(graph, node->inputs[0]);
    const struct tlmc_attr *axes = tlmc_node_attr(node, TLMC_A_AXES);
    int64_t rows = 1, length = 1;

    if (x->dtype != TLMC_F32)
        return 0;
    for (int axis = 0; axis < x->rank; axis++)
        if (axes && axis < axes->v.ints[0])
            rows *= x->dims[axis];
        else
            length *= x->dims[axis];
    if (axes && axes->v.ints[0] + (int)axes->count != x->rank)
        return 0; /* the rows are not contiguous */
    if (rows >= MANY || length <= SHORT)
        return 0;
    return (size_t)(rows * ((length + TLMC_SUM_CHUNK - 1) / TLMC_SUM_CHUNK)) * sizeof(float);
}

static size_t workspace_squares(const struct tlmc_graph *graph, const struct tlmc_node *node)
{
    size_t parts = node->input_count;

    for (uint32_t i = 0; i < node->input_count; i++)
        parts += (size_t)(tlmc_type_count(tlmc_value_type(graph, node->inputs[i])) +
                          TLMC_SUM_CHUNK - 1) /
                 TLMC_SUM_CHUNK;
    return parts * sizeof(float);
}

static const struct {
    const char *name;
    size_t (*bytes)(const struct tlmc_graph *graph, const struct tlmc_node *node);
} rules[] = {
#define WORKSPACE(name, bytes) { #name, workspace_##name },
#include "workspace.def"
};

int tlmc_workspace_find(const char *rule)
{
    size_t i;

    for (i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strcmp(rules[i].name, rule) == 0)
            return (int)i;
    return -1;
}

size_t tlmc_workspace_bytes(const struct tlmc_capsule *capsule, const struct tlmc_graph *graph,
                            uint32_t node)
{
    const int rule = capsule && capsule->workspace ? tlmc_workspace_find(capsule->workspace) : -1;

    return rule < 0 ? 0 : rules[rule].bytes(graph, &graph->nodes[node]);
}
