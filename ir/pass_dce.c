/* Dead code.  In: any form.  Out: only nodes that an output, loss, metric, gradient or update
   needs.  Inputs stay listed in training and evaluation forms, whose data clause feeds them; an
   inference form is not asked for what no output reads, except the input that generation feeds. */
#include "graph_edit.h"
#include "pass.h"

#include <string.h>

struct dce {
    const struct tlmc_graph *graph;
    bool *live; /* by node */
};

static void need(struct dce *d, uint32_t value)
{
    if (value != TLMC_NONE)
        d->live[d->graph->values[value].node] = true;
}

static void need_result(void *dce, uint32_t value)
{
    need(dce, value);
}

static void need_all(struct dce *d, const tlmc_io_vec *list)
{
    unsigned i;

    for (i = 0; i < list->count; i++)
        need(d, list->items[i].value);
}

/* Producers stand before consumers: one walk backwards. */
static void spread(struct dce *d)
{
    uint32_t id = d->graph->node_count, i;

    while (id-- > 0) {
        const struct tlmc_node *node = &d->graph->nodes[id];

        if (tlmc_op_info(node->op)->family == TLMC_UPDATE)
            d->live[id] = true;
        for (i = 0; d->live[id] && i < node->input_count; i++)
            need(d, node->inputs[i]);
    }
}

/* Drops inputs of an inference form that nothing reads; new_slot gets each old input's place,
   TLMC_NONE if dropped. */
static void drop_inputs(struct dce *d, struct tlmc_module *module, struct tlmc_form *form,
                        uint32_t *new_slot)
{
    const bool generates =
        module->generate.present && form == &module->forms.items[module->generate.form];
    unsigned i, kept = 0;

    for (i = 0; i < form->inputs.count; i++) {
        const struct tlmc_io input = form->inputs.items[i];
        const bool fed = generates && module->generate.feed == i;

        new_slot[i] = TLMC_NONE;
        if (!fed && !d->live[form->graph->values[input.value].node])
            continue;
        need(d, input.value);
        new_slot[i] = kept;
        form->inputs.items[kept++] = input;
    }
    form->inputs.count = kept;
    if (generates && module->generate.feed != TLMC_NONE)
        module->generate.feed = new_slot[module->generate.feed];
}

static void renumber(struct tlmc_form *form, const uint32_t *new_slot)
{
    struct tlmc_graph *graph = form->graph;
    uint32_t id, i;

    for (id = 0; id < graph->node_count; id++) {
        struct tlmc_node *node = &graph->nodes[id];
        struct tlmc_attr *attrs;

        if (node->op != TLMC_OP_INPUT)
            continue;
        attrs = tlmc_arena_memdup(graph->arena, node->attrs, node->attr_count * sizeof *attrs);
        for (i = 0; i < node->attr_count; i++)
            if (attrs[i].tag == TLMC_A_SLOT)
                attrs[i].v.i = new_slot[attrs[i].v.i];
        node->attrs = attrs;
    }
}

static void run(struct tlmc_module *module, struct tlmc_form *form)
{
    const bool inference = form->mode == TLMC_INFER || form->mode == TLMC_GENERATE;
    struct dce d = { .graph = form->graph };
    struct tlmc_rewrite rewrite;
    uint32_t *new_slot = NULL, id;

    if (!form->graph->node_count)
        return;
    d.live = TLMC_NEW_ARRAY(module->arena, bool, form->graph->node_count);
    tlmc_form_results(form, need_result, &d);
    spread(&d);
    if (inference && form->inputs.count) {
        new_slot = TLMC_NEW_ARRAY(module->arena, uint32_t, form->inputs.count);
        drop_inputs(&d, module, form, new_slot);
    } else {
        need_all(&d, &form->inputs);
    }
    rewrite = tlmc_rewrite_begin(form);
    for (id = 0; id < rewrite.old.node_count; id++)
        if (d.live[id])
            tlmc_rewrite_copy(&rewrite, id);
    tlmc_rewrite_end(&rewrite);
    if (new_slot)
        renumber(form, new_slot);
}

/* needs: nothing.  keeps: every rule of the verifier.  breaks: value ids; slots of inference forms'
   inputs. */
void tlmc_pass_dce(struct tlmc_module *module, struct tlmc_diags *diags)
{
    unsigned i;

    (void)diags;
    for (i = 0; i < module->forms.count; i++)
        run(module, &module->forms.items[i]);
}
