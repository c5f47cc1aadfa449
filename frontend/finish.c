/* Completes the graph of a form: scalar losses and their sum for training, stores of the updated
   states, and for inference a graph of the nodes that outputs and states need, with the inputs that
   are left. */
#include "sema.h"

#include <string.h>

static void stamp_io(struct tlmc_graph *g, const struct tlmc_io *io)
{
    g->span = io->span;
    g->scope = g->node_count ? g->nodes[0].scope : NULL;
}

/* ---- losses */

/* A leaf would show its new value after the step: losses are values of their own. */
static bool is_leaf(const struct tlmc_graph *g, uint32_t value)
{
    while (tlmc_op_info(tlmc_value_node(g, value)->op)->family == TLMC_VIEW)
        value = tlmc_value_node(g, value)->inputs[0];
    return tlmc_op_info(tlmc_value_node(g, value)->op)->family == TLMC_LEAF;
}

static uint32_t scalar_loss(struct tlmc_graph *g, uint32_t value)
{
    const int rank = tlmc_value_type(g, value)->rank;
    int64_t axes[TLMC_MAX_RANK];

    for (int i = 0; i < rank; i++)
        axes[i] = i;
    if (rank)
        return tlmc_build_reduce(g, TLMC_OP_REDUCE_MEAN, value, (uint32_t)rank, axes, false);
    return is_leaf(g, value) ? tlmc_build1(g, TLMC_OP_COPY, value) : value;
}

static void sum_losses(struct tlmc_sema *s, struct tlmc_form *form)
{
    struct tlmc_graph *g = form->graph;
    const enum tlmc_dtype dtype = tlmc_value_type(g, form->losses.items[0].value)->dtype;

    for (unsigned i = 0; i < form->losses.count; i++) {
        struct tlmc_io *io = &form->losses.items[i];

        if (tlmc_value_type(g, io->value)->dtype != dtype) {
            tlmc_sema_error(s, NULL, io->span, TLMC_E_DTYPE,
                            "losses are added and have one element type");
            return;
        }
        stamp_io(g, io);
        io->value = scalar_loss(g, io->value);
        form->total_loss = i ? tlmc_build2(g, TLMC_OP_ADD, form->total_loss, io->value) : io->value;
    }
}

/* ---- states */

static bool is_stored(const struct tlmc_sema *s, const struct tlmc_work *w,
                      const struct tlmc_place_of_key *p)
{
    return p->updated && p->current.u.value != p->leaf &&
           !(w->form.mode == TLMC_TRAIN && s->module->params.items[p->param].frozen);
}

/* The state leaf that a value is, or views; TLMC_NONE: none. */
static uint32_t viewed_state(const struct tlmc_graph *g, uint32_t value)
{
    while (tlmc_op_info(tlmc_value_node(g, value)->op)->family == TLMC_VIEW)
        value = tlmc_value_node(g, value)->inputs[0];
    return tlmc_value_node(g, value)->op == TLMC_OP_STATE ? value : TLMC_NONE;
}

/* The value, copied when a store would change it. */
static uint32_t kept(const struct tlmc_sema *s, struct tlmc_work *w, uint32_t value)
{
    const uint32_t state = viewed_state(w->form.graph, value);

    for (unsigned i = 0; state != TLMC_NONE && i < w->places.count; i++)
        if (w->places.items[i].leaf == state && is_stored(s, w, &w->places.items[i]))
            return tlmc_build1(w->form.graph, TLMC_OP_COPY, value);
    return value;
}

static void keep_list(const struct tlmc_sema *s, struct tlmc_work *w, tlmc_io_vec *list)
{
    for (unsigned i = 0; i < list->count; i++) {
        stamp_io(w->form.graph, &list->items[i]);
        list->items[i].value = kept(s, w, list->items[i].value);
    }
}

static void store_states(struct tlmc_sema *s, struct tlmc_work *w)
{
    struct tlmc_graph *g = w->form.graph;

    keep_list(s, w, &w->form.outputs);
    keep_list(s, w, &w->form.losses);
    keep_list(s, w, &w->form.metrics);
    for (unsigned i = 0; i < w->places.count; i++)
        if (is_stored(s, w, &w->places.items[i]))
            w->places.items[i].current.u.value = kept(s, w, w->places.items[i].current.u.value);
    for (unsigned i = 0; i < w->places.count; i++) {
        const struct tlmc_place_of_key *p = &w->places.items[i];
        const uint32_t operands[2] = { p->leaf, p->current.u.value };

        if (!is_stored(s, w, p))
            continue;
        g->span = tlmc_value_node(g, p->current.u.value)->span;
        g->scope = tlmc_value_node(g, p->leaf)->scope;
        tlmc_add_node(g, TLMC_OP_STORE, operands, 2, NULL, 0);
    }
}

/* ---- inference: only what outputs and states need */

static bool *mark_needed(struct tlmc_sema *s, const struct tlmc_form *form)
{
    const struct tlmc_graph *g = form->graph;
    bool *needed = TLMC_NEW_ARRAY(s->arena, bool, g->node_count + 1);

    for (unsigned i = 0; i < form->outputs.count; i++)
        needed[g->values[form->outputs.items[i].value].node] = true;
    for (uint32_t i = g->node_count; i-- > 0;) {
        needed[i] = needed[i] || g->nodes[i].op == TLMC_OP_STORE;
        for (uint32_t k = 0; needed[i] && k < g->nodes[i].input_count; k++)
            if (g->nodes[i].inputs[k] != TLMC_NONE)
                needed[g->values[g->nodes[i].inputs[k]].node] = true;
    }
    return needed;
}

struct rebuild {
    struct tlmc_sema *s;
    struct tlmc_form *form;
    struct tlmc_graph *to;
    tlmc_io_vec inputs;
    uint32_t *map; /* old value to new */
};

static uint32_t rebuild_input(struct rebuild *r, const struct tlmc_node *n)
{
    struct tlmc_io io = r->form->inputs.items[tlmc_node_int(n, TLMC_A_SLOT)];

    io.value = tlmc_build_leaf(r->to, TLMC_OP_INPUT, r->inputs.count,
                               tlmc_value_type(r->form->graph, n->first_result));
    TLMC_PUSH(r->s->arena, &r->inputs, io);
    return io.value;
}

static void rebuild_node(struct rebuild *r, const struct tlmc_node *n)
{
    uint32_t *ids = TLMC_NEW_ARRAY(r->s->arena, uint32_t, n->input_count + 1), first;

    r->to->span = n->span;
    r->to->scope = n->scope;
    for (uint32_t k = 0; k < n->input_count; k++)
        ids[k] = n->inputs[k] == TLMC_NONE ? TLMC_NONE : r->map[n->inputs[k]];
    first = n->op == TLMC_OP_INPUT
                ? rebuild_input(r, n)
                : tlmc_add_node(r->to, n->op, ids, n->input_count, n->attrs, n->attr_count);
    for (uint32_t k = 0; k < n->result_count; k++) {
        r->map[n->first_result + k] = first + k;
        r->to->values[first + k].name = r->form->graph->values[n->first_result + k].name;
    }
}

static void prune(struct tlmc_sema *s, struct tlmc_form *form)
{
    const struct tlmc_graph *g = form->graph;
    const bool *needed = mark_needed(s, form);
    struct rebuild r = { .s = s, .form = form, .to = tlmc_graph_new(s->arena) };

    r.map = TLMC_NEW_ARRAY(s->arena, uint32_t, g->value_count + 1);
    for (uint32_t i = 0; i < g->node_count; i++)
        if (needed[i])
            rebuild_node(&r, &g->nodes[i]);
    for (unsigned i = 0; i < form->outputs.count; i++)
        form->outputs.items[i].value = r.map[form->outputs.items[i].value];
    form->inputs.count = 0;
    for (unsigned i = 0; i < r.inputs.count; i++)
        TLMC_PUSH(s->arena, &form->inputs, r.inputs.items[i]);
    form->graph = r.to;
}

void tlmc_finish_form(struct tlmc_sema *s, struct tlmc_work *w)
{
    struct tlmc_form *form = &w->form;

    s->work = w;
    s->graph = w->built = form->graph;
    if (form->mode == TLMC_TRAIN) { /* what is not trained on is evaluated by the evaluation form */
        form->outputs.count = form->metrics.count = 0;
        sum_losses(s, form);
    }
    if (form->mode == TLMC_INFER || form->mode == TLMC_GENERATE)
        form->losses.count = form->metrics.count = 0;
    if (form->mode != TLMC_EVAL) /* evaluation leaves the states alone */
        store_states(s, w);
    if (form->mode == TLMC_INFER || form->mode == TLMC_GENERATE)
        prune(s, form);
}
