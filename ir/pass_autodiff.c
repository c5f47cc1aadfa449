/* Gradients.  In: forms as lowered.  Out: leaves of one parameter made once, so that all its
   consumers are seen; in the training form backward nodes and form->grads in order of declaration,
   and no writes of frozen states; in every form copies of states that are read after they are
   written.  Gradients reach trained parameters only. */
#include "graph_edit.h"
#include "pass.h"

#include <string.h>

/* ---- one leaf a parameter */

static bool is_frozen_store(const struct tlmc_module *module, const struct tlmc_form *form,
                            const struct tlmc_graph *graph, const struct tlmc_node *node)
{
    uint32_t slot;

    return form->mode == TLMC_TRAIN && node->op == TLMC_OP_STORE &&
           tlmc_leaf_slot(graph, node->inputs[0], &slot) && slot < module->params.count &&
           module->params.items[slot].frozen;
}

static void merge_leaves(const struct tlmc_module *module, struct tlmc_form *form)
{
    struct tlmc_rewrite rewrite = tlmc_rewrite_begin(form);
    uint32_t *leaf_of = NULL, id, slot;

    if (module->params.count) {
        leaf_of = TLMC_NEW_ARRAY(module->arena, uint32_t, module->params.count);
        memset(leaf_of, 0xff, module->params.count * sizeof *leaf_of);
    }
    for (id = 0; id < rewrite.old.node_count; id++) {
        const struct tlmc_node *node = &rewrite.old.nodes[id];
        const uint32_t first = node->first_result;

        if (is_frozen_store(module, form, &rewrite.old, node))
            continue;
        if (!node->result_count || !tlmc_leaf_slot(&rewrite.old, first, &slot)) {
            tlmc_rewrite_copy(&rewrite, id);
        } else if (leaf_of[slot] != TLMC_NONE) {
            tlmc_rewrite_set(&rewrite, first, leaf_of[slot]);
        } else {
            tlmc_rewrite_copy(&rewrite, id);
            leaf_of[slot] = rewrite.map[first];
        }
    }
    tlmc_rewrite_end(&rewrite);
}

/* ---- backward nodes */

static void add_gradients(struct tlmc_module *module, struct tlmc_form *form)
{
    const uint32_t count = module->params.count;
    uint32_t *params, *leaves, *grads, found = 0, id, i, slot;

    if (form->total_loss == TLMC_NONE || !count)
        return;
    params = TLMC_NEW_ARRAY(module->arena, uint32_t, count);
    leaves = TLMC_NEW_ARRAY(module->arena, uint32_t, count);
    grads = TLMC_NEW_ARRAY(module->arena, uint32_t, count);
    memset(grads, 0xff, count * sizeof *grads);
    for (id = 0; id < form->graph->node_count; id++) /* by slot: order of declaration */
        if (form->graph->nodes[id].op == TLMC_OP_PARAM &&
            tlmc_leaf_slot(form->graph, form->graph->nodes[id].first_result, &slot))
            grads[slot] = form->graph->nodes[id].first_result;
    for (i = 0; i < count; i++) {
        const struct tlmc_param *param = &module->params.items[i];

        if (grads[i] == TLMC_NONE || param->kind != TLMC_PARAM_TRAINED || param->frozen ||
            !tlmc_dtype_is_float(param->type.dtype))
            continue;
        params[found] = i;
        leaves[found++] = grads[i];
    }
    tlmc_autodiff(form->graph, form->total_loss, leaves, found, grads);
    form->grads = TLMC_NEW_ARRAY(module->arena, struct tlmc_grad, found ? found : 1);
    form->grad_count = 0;
    for (i = 0; i < found; i++)
        if (grads[i] != TLMC_NONE)
            form->grads[form->grad_count++] =
                (struct tlmc_grad){ .param = params[i], .value = grads[i] };
}

/* ---- states that are read after they are written */

struct protect {
    struct tlmc_rewrite rewrite;
    uint32_t *written_at; /* by slot: the first forward node that writes it, or TLMC_NONE */
    uint32_t *plain;      /* old value -> new value, copies left out */
    bool *needed;         /* old values whose state's old value is read after the write */
    bool any;
};

/* Where the memory that this value shows is overwritten; TLMC_NONE: nowhere. */
static uint32_t overwritten_at(const struct protect *p, const struct tlmc_graph *graph,
                               uint32_t value)
{
    uint32_t slot;

    if (!tlmc_leaf_slot(graph, tlmc_view_root(graph, value), &slot))
        return TLMC_NONE;
    return p->written_at[slot];
}

static void find_writes(struct protect *p, const struct tlmc_graph *graph)
{
    uint32_t id, slot;

    for (id = 0; id < graph->node_count && graph->nodes[id].phase == TLMC_FORWARD; id++)
        if (tlmc_op_writes_input(graph->nodes[id].op, 0) &&
            tlmc_leaf_slot(graph, graph->nodes[id].inputs[0], &slot) &&
            p->written_at[slot] == TLMC_NONE)
            p->written_at[slot] = id;
}

static void find_late_reads(struct protect *p, const struct tlmc_graph *graph)
{
    uint32_t id, i;

    for (id = 0; id < graph->node_count; id++) {
        const struct tlmc_node *node = &graph->nodes[id];

        for (i = 0; i < node->input_count; i++) {
            uint32_t at;

            if (node->inputs[i] == TLMC_NONE || tlmc_op_writes_input(node->op, i))
                continue;
            at = overwritten_at(p, graph, node->inputs[i]);
            if (at != TLMC_NONE && id > at)
                p->needed[node->inputs[i]] = p->any = true;
        }
    }
}

static void find_late_results(struct protect *p, const struct tlmc_graph *graph,
                              const tlmc_io_vec *list)
{
    unsigned i;

    for (i = 0; i < list->count; i++)
        if (overwritten_at(p, graph, list->items[i].value) != TLMC_NONE)
            p->needed[list->items[i].value] = p->any = true;
}

/* Copies of everything needed that shows the leaf this node is about to write. */
static void copy_before(struct protect *p, uint32_t writer)
{
    const struct tlmc_graph *old = &p->rewrite.old;
    uint32_t value;

    for (value = 0; value < old->nodes[writer].first_result; value++) {
        if (!p->needed[value] || overwritten_at(p, old, value) != writer)
            continue;
        tlmc_graph_stamp(p->rewrite.graph, &old->nodes[writer]);
        tlmc_rewrite_set(&p->rewrite, value,
                         tlmc_build1(p->rewrite.graph, TLMC_OP_COPY, p->plain[value]));
    }
}

static void protect_states(const struct tlmc_module *module, struct tlmc_form *form)
{
    const struct tlmc_graph *graph = form->graph;
    struct protect p = { .any = false };
    uint32_t id, i;

    if (!module->params.count || !graph->value_count)
        return;
    p.written_at = TLMC_NEW_ARRAY(module->arena, uint32_t, module->params.count);
    memset(p.written_at, 0xff, module->params.count * sizeof *p.written_at);
    p.needed = TLMC_NEW_ARRAY(module->arena, bool, graph->value_count);
    p.plain = TLMC_NEW_ARRAY(module->arena, uint32_t, graph->value_count);
    find_writes(&p, graph);
    find_late_reads(&p, graph);
    find_late_results(&p, graph, &form->outputs);
    find_late_results(&p, graph, &form->losses);
    find_late_results(&p, graph, &form->metrics);
    if (!p.any)
        return;
    p.rewrite = tlmc_rewrite_begin(form);
    for (id = 0; id < p.rewrite.old.node_count; id++) {
        const struct tlmc_node *node = &p.rewrite.old.nodes[id];
        const bool writes = tlmc_op_writes_input(node->op, 0);
        uint32_t copy = TLMC_NONE;

        if (writes) { /* the leaf itself is written, whatever stands for its old value */
            copy_before(&p, id);
            copy = p.rewrite.map[node->inputs[0]];
            p.rewrite.map[node->inputs[0]] = p.plain[node->inputs[0]];
        }
        tlmc_rewrite_copy(&p.rewrite, id);
        if (writes)
            p.rewrite.map[node->inputs[0]] = copy;
        for (i = 0; i < node->result_count; i++)
            p.plain[node->first_result + i] = p.rewrite.map[node->first_result + i];
    }
    tlmc_rewrite_end(&p.rewrite);
}

/* needs: lowered forms.  keeps: every rule of the verifier.  breaks: value ids. */
void tlmc_pass_autodiff(struct tlmc_module *module, struct tlmc_diags *diags)
{
    unsigned i;

    (void)diags;
    for (i = 0; i < module->forms.count; i++) {
        struct tlmc_form *form = &module->forms.items[i];

        merge_leaves(module, form);
        if (form->mode == TLMC_TRAIN)
            add_gradients(module, form);
        protect_states(module, form);
    }
}
