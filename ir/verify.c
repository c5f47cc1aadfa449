/* The verifier: a graph in, NULL out when every rule of graph.h holds, else one sentence on the
   first that is broken. It trusts nothing it has not checked, so a damaged graph is reported, not
   followed.  tlmc_form_verify adds what a form promises about the values it names. */
#include "graph_edit.h"
#include "strbuf.h"

#include <stdio.h>
#include <string.h>

struct verifier {
    const struct tlmc_graph *graph;
    struct tlmc_arena scratch;
    uint32_t *roots; /* of each value: the value whose memory it shows */
    struct {
        uint32_t *items;
        unsigned count, capacity;
    } forward, accumulated; /* slots written so far: in any phase but ACCUMULATE, in ACCUMULATE */
    char text[512];
};

static bool broken(struct verifier *v, uint32_t node, const char *what)
{
    const char *name = v->graph->nodes[node].op < TLMC_OP_COUNT
                           ? tlmc_op_info(v->graph->nodes[node].op)->name
                           : "?";

    snprintf(v->text, sizeof v->text, "node %u (%s): %s", node, name, what);
    return false;
}

static bool check_results(struct verifier *v, uint32_t id, uint32_t first)
{
    const struct tlmc_node *node = &v->graph->nodes[id];
    uint32_t i;

    if (node->result_count != (uint32_t)tlmc_op_info(node->op)->results)
        return broken(v, id, "wrong number of results");
    if (node->first_result != first || node->result_count > v->graph->value_count - first)
        return broken(v, id, "results are not numbered in order");
    for (i = 0; i < node->result_count; i++) {
        const struct tlmc_value *value = &v->graph->values[first + i];

        if (value->node != id || value->index != i)
            return broken(v, id, "a result names another node");
    }
    return true;
}

static bool check_types(struct verifier *v, uint32_t id)
{
    const struct tlmc_node *node = &v->graph->nodes[id];
    const struct tlmc_type **in = NULL;
    struct tlmc_type results[TLMC_MAX_RESULTS];
    struct tlmc_shape_error error;
    uint32_t i;

    if (node->input_count)
        in = TLMC_NEW_ARRAY(&v->scratch, const struct tlmc_type *, node->input_count);
    for (i = 0; i < node->input_count; i++) {
        if (node->inputs[i] == TLMC_NONE)
            continue;
        if (node->inputs[i] >= node->first_result)
            return broken(v, id, "an operand is read before it is made");
        in[i] = tlmc_value_type(v->graph, node->inputs[i]);
    }
    for (i = 0; i < node->attr_count; i++)
        if ((unsigned)node->attrs[i].tag >= TLMC_ATTR_COUNT)
            return broken(v, id, "unknown attribute");
    if (!tlmc_shape_infer(node->op, in, node->input_count, node->attrs, node->attr_count, results,
                          &error))
        return broken(v, id, error.text);
    for (i = 0; i < node->result_count; i++)
        if (!tlmc_type_equal(&results[i], tlmc_value_type(v->graph, node->first_result + i)))
            return broken(v, id, "a result's type differs from the inferred one");
    return true;
}

static bool has_slot(const uint32_t *slots, unsigned count, uint32_t slot)
{
    unsigned i;

    for (i = 0; i < count; i++)
        if (slots[i] == slot)
            return true;
    return false;
}

/* Reads of leaves that are already overwritten, then this node's own writes.  The sums of the
   accumulate phase are there to be read by the update phase, which runs apart. */
static bool check_leaves(struct verifier *v, uint32_t id)
{
    const struct tlmc_node *node = &v->graph->nodes[id];
    uint32_t i;

    for (i = 0; i < node->input_count; i++) {
        const bool writes = tlmc_op_writes_input(node->op, i);
        uint32_t slot;

        if (node->inputs[i] == TLMC_NONE)
            continue;
        if (!tlmc_leaf_slot(v->graph, v->roots[node->inputs[i]], &slot)) {
            if (writes)
                return broken(v, id, "writes a value that is no parameter or state");
            continue;
        }
        if (writes && v->roots[node->inputs[i]] != node->inputs[i])
            return broken(v, id, "writes a view instead of the leaf");
        if (has_slot(v->forward.items, v->forward.count, slot) ||
            (node->phase != TLMC_UPDATE_PHASE &&
             has_slot(v->accumulated.items, v->accumulated.count, slot)))
            return broken(v, id, "reads a leaf after the node that writes it");
        if (has_slot(v->accumulated.items, v->accumulated.count, slot) &&
            tlmc_value_node(v->graph, v->roots[node->inputs[i]])->phase != TLMC_UPDATE_PHASE)
            return broken(v, id, "reads a sum of micro-batches through a leaf of another phase");
    }
    for (i = 0; i < node->input_count; i++) {
        uint32_t slot;

        if (!tlmc_op_writes_input(node->op, i) || node->inputs[i] == TLMC_NONE)
            continue;
        tlmc_leaf_slot(v->graph, node->inputs[i], &slot);
        if (node->phase == TLMC_ACCUMULATE_PHASE)
            TLMC_PUSH(&v->scratch, &v->accumulated, slot);
        else
            TLMC_PUSH(&v->scratch, &v->forward, slot);
    }
    return true;
}

static bool check_node(struct verifier *v, uint32_t id, uint32_t first)
{
    const struct tlmc_node *node = &v->graph->nodes[id];
    uint32_t i;

    if ((unsigned)node->op >= TLMC_OP_COUNT)
        return broken(v, id, "unknown op");
    if ((unsigned)node->phase >= TLMC_PHASE_COUNT)
        return broken(v, id, "unknown phase");
    if (id && node->phase < v->graph->nodes[id - 1].phase)
        return broken(v, id, "phases are out of order");
    if (!check_results(v, id, first) || !check_types(v, id))
        return false;
    for (i = 0; i < node->result_count; i++)
        v->roots[first + i] = tlmc_is_view(node) ? v->roots[node->inputs[0]] : first + i;
    return check_leaves(v, id);
}

const char *tlmc_graph_verify(const struct tlmc_graph *graph)
{
    struct verifier v = { .graph = graph };
    const char *result = NULL;
    uint32_t id, first = 0;
    bool good = true;

    if (graph->value_count)
        v.roots = TLMC_NEW_ARRAY(&v.scratch, uint32_t, graph->value_count);
    for (id = 0; good && id < graph->node_count; id++) {
        good = check_node(&v, id, first);
        first += graph->nodes[id].result_count;
    }
    if (good && first != graph->value_count) {
        snprintf(v.text, sizeof v.text, "%u values have no node", graph->value_count - first);
        good = false;
    }
    if (!good)
        result = tlmc_arena_strdup(graph->arena, v.text);
    tlmc_arena_free(&v.scratch);
    return result;
}

static const char *form_fault(const struct tlmc_form *form, const char *what, uint32_t index)
{
    char text[160];

    snprintf(text, sizeof text, "%s %u of entry '%s'", what, index, form->entry);
    return tlmc_arena_strdup(form->graph->arena, text);
}

static const char *check_io(const struct tlmc_form *form, const tlmc_io_vec *list, const char *what)
{
    unsigned i;

    for (i = 0; i < list->count; i++)
        if (list->items[i].value >= form->graph->value_count)
            return form_fault(form, what, i);
    return NULL;
}

static const char *check_inputs(const struct tlmc_form *form)
{
    unsigned i;

    for (i = 0; i < form->inputs.count; i++) {
        const struct tlmc_node *leaf = tlmc_value_node(form->graph, form->inputs.items[i].value);

        if (leaf->op != TLMC_OP_INPUT || tlmc_node_int(leaf, TLMC_A_SLOT) != i)
            return form_fault(form, "wrong slot of input", i);
    }
    return NULL;
}

static const char *check_grads(const struct tlmc_module *module, const struct tlmc_form *form)
{
    uint32_t i;

    for (i = 0; i < form->grad_count; i++) {
        const struct tlmc_grad *grad = &form->grads[i];

        if (grad->param >= module->params.count || grad->value >= form->graph->value_count ||
            !tlmc_type_equal(tlmc_value_type(form->graph, grad->value),
                             &module->params.items[grad->param].type))
            return form_fault(form, "wrong gradient", i);
    }
    return NULL;
}

/* Parameter and scalar leaves name what the module has, with its type. */
static const char *check_slots(const struct tlmc_module *module, const struct tlmc_form *form)
{
    const struct tlmc_graph *graph = form->graph;
    uint32_t i, slot;

    for (i = 0; i < graph->node_count; i++) {
        const struct tlmc_node *node = &graph->nodes[i];

        if (node->op == TLMC_OP_SCALAR &&
            tlmc_node_int(node, TLMC_A_SLOT) >= (int64_t)module->scalars.count)
            return form_fault(form, "unknown step scalar at node", i);
        if (node->result_count && tlmc_leaf_slot(graph, node->first_result, &slot) &&
            (slot >= module->params.count ||
             !tlmc_type_equal(&graph->values[node->first_result].type,
                              &module->params.items[slot].type)))
            return form_fault(form, "unknown parameter or wrong type at node", i);
    }
    return NULL;
}

const char *tlmc_form_verify(const struct tlmc_module *module, const struct tlmc_form *form)
{
    const char *fault = tlmc_graph_verify(form->graph);

    if (!fault)
        fault = check_io(form, &form->inputs, "unknown value of input");
    if (!fault)
        fault = check_io(form, &form->outputs, "unknown value of output");
    if (!fault)
        fault = check_io(form, &form->losses, "unknown value of loss");
    if (!fault)
        fault = check_io(form, &form->metrics, "unknown value of metric");
    if (!fault && form->total_loss != TLMC_NONE && form->total_loss >= form->graph->value_count)
        fault = form_fault(form, "unknown total loss", 0);
    if (!fault)
        fault = check_inputs(form);
    if (!fault)
        fault = check_grads(module, form);
    if (!fault)
        fault = check_slots(module, form);
    return fault;
}
