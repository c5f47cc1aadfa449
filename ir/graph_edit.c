/* Leaves, views, and the frame of a pass that rewrites a form's graph. */
#include "graph_edit.h"

#include <string.h>

bool tlmc_is_view(const struct tlmc_node *node)
{
    return tlmc_op_info(node->op)->family == TLMC_VIEW;
}

bool tlmc_leaf_slot(const struct tlmc_graph *graph, uint32_t value, uint32_t *slot)
{
    const struct tlmc_node *node = tlmc_value_node(graph, value);

    if (node->op != TLMC_OP_PARAM && node->op != TLMC_OP_STATE)
        return false;
    *slot = (uint32_t)tlmc_node_int(node, TLMC_A_SLOT);
    return true;
}

uint32_t tlmc_view_root(const struct tlmc_graph *graph, uint32_t value)
{
    while (tlmc_is_view(tlmc_value_node(graph, value)))
        value = tlmc_value_node(graph, value)->inputs[0];
    return value;
}

void tlmc_graph_stamp(struct tlmc_graph *graph, const struct tlmc_node *like)
{
    graph->phase = like->phase;
    graph->span = like->span;
    graph->scope = like->scope;
    graph->rule = like->rule;
}

struct tlmc_rewrite tlmc_rewrite_begin(struct tlmc_form *form)
{
    struct tlmc_rewrite rewrite = { .form = form, .old = *form->graph, .graph = form->graph };
    struct tlmc_arena *arena = form->graph->arena;

    *form->graph = *tlmc_graph_new(arena);
    if (rewrite.old.value_count) {
        rewrite.map = TLMC_NEW_ARRAY(arena, uint32_t, rewrite.old.value_count);
        memset(rewrite.map, 0xff, rewrite.old.value_count * sizeof *rewrite.map);
    }
    return rewrite;
}

static uint32_t mapped(const struct tlmc_rewrite *rewrite, uint32_t value)
{
    if (value == TLMC_NONE)
        return TLMC_NONE;
    TLMC_CHECK(rewrite->map[value] != TLMC_NONE);
    return rewrite->map[value];
}

const uint32_t *tlmc_rewrite_inputs(struct tlmc_rewrite *rewrite, const struct tlmc_node *node)
{
    uint32_t *inputs, i;

    if (!node->input_count)
        return NULL;
    inputs = TLMC_NEW_ARRAY(rewrite->graph->arena, uint32_t, node->input_count);
    for (i = 0; i < node->input_count; i++)
        inputs[i] = mapped(rewrite, node->inputs[i]);
    return inputs;
}

void tlmc_rewrite_set(struct tlmc_rewrite *rewrite, uint32_t old_value, uint32_t new_value)
{
    const struct tlmc_value *from = &rewrite->old.values[old_value];
    struct tlmc_value *to = &rewrite->graph->values[new_value];

    rewrite->map[old_value] = new_value;
    if (!to->name) {
        to->name = from->name;
        to->is_gradient = from->is_gradient;
    }
}

uint32_t tlmc_rewrite_copy(struct tlmc_rewrite *rewrite, uint32_t old_node)
{
    struct tlmc_node node = rewrite->old.nodes[old_node];
    const uint32_t old_first = node.first_result;
    struct tlmc_type results[TLMC_MAX_RESULTS];
    uint32_t id, i;

    for (i = 0; i < node.result_count; i++)
        results[i] = rewrite->old.values[old_first + i].type;
    node.inputs = tlmc_rewrite_inputs(rewrite, &node);
    id = tlmc_graph_append(rewrite->graph, &node, results);
    for (i = 0; i < node.result_count; i++)
        tlmc_rewrite_set(rewrite, old_first + i, rewrite->graph->nodes[id].first_result + i);
    return id;
}

static void map_io(const struct tlmc_rewrite *rewrite, tlmc_io_vec *list)
{
    unsigned i;

    for (i = 0; i < list->count; i++)
        list->items[i].value = mapped(rewrite, list->items[i].value);
}

void tlmc_rewrite_end(struct tlmc_rewrite *rewrite)
{
    struct tlmc_form *form = rewrite->form;
    uint32_t i;

    map_io(rewrite, &form->inputs);
    map_io(rewrite, &form->outputs);
    map_io(rewrite, &form->losses);
    map_io(rewrite, &form->metrics);
    form->total_loss = mapped(rewrite, form->total_loss);
    for (i = 0; i < form->grad_count; i++)
        form->grads[i].value = mapped(rewrite, form->grads[i].value);
    /* New nodes of later passes begin at the form's last phase only when they say so. */
    rewrite->graph->phase = rewrite->old.phase;
    rewrite->graph->span = rewrite->old.span;
    rewrite->graph->scope = rewrite->old.scope;
}
