/* Groups: which nodes run in one loop or call.  In: a form with its capsules chosen.  Out: its
   steps, in an order in which every value is made before it is read.

   Loops hold pointwise and broadcast nodes of one provider, phase and result shape.  A node joins
   the loop of a producer, or the last step when both read one value, if everything else it reads is
   made in an earlier step; so nodes move only to earlier steps, never past what they read.  A
   broadcast that only loops read is repeated in each of them and never stored.  A permute of the
   last two axes is folded into the matmuls that accept it.  Calls that read one value and do not
   wait for each other share a launch when their kernels allow it (horizontal fusion).  Updates run
   at the end of their phase, those of one kernel together, in it those of one kind next to each
   other, one from a constant alone.  A profile with singleton lowering gets one node a step.
   Grouping never moves a rounding point: each node keeps its formula, its capsule and its
   arithmetic. */
#include "plan_internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    LOOP_MAX = 64, /* nodes of a loop: bounds live locals and the size of a function */
    NEAR = 12      /* steps that a node may move up: farther, its result would live too long */
};

struct draft { /* a step being built */
    struct tlmc_step step;
    TLMC_VEC(uint32_t) nodes;
    uint32_t shape; /* a value with the loop's shape */
};

struct grouping {
    struct tlmc_arena *arena;
    const struct tlmc_graph *graph;
    struct tlmc_plan_form *form;
    bool coalesced;
    uint32_t *ready;     /* value: first step that may read its memory */
    uint32_t *loop;      /* node: the loop that it runs in, or TLMC_NONE */
    bool *only_loops;    /* value: nothing but loops and broadcasts of loops reads it */
    bool *folds;         /* value: made by a permute that all its readers read through */
    uint32_t *fold_note; /* value: TLMC_ACCEPTS_... bits of the matmuls that read through it */
    TLMC_VEC(struct draft) drafts;
    TLMC_VEC(uint32_t) updates; /* of the phase, waiting for its end */
    uint32_t *leaf_read;        /* parameter slot: 1 + last update step that reads it */
};

/* ---- what kind of step a node makes */

static const struct tlmc_node *node_of(const struct grouping *g, uint32_t node)
{
    return &g->graph->nodes[node];
}

static enum tlmc_family family_of(const struct grouping *g, uint32_t node)
{
    return tlmc_op_info(node_of(g, node)->op)->family;
}

/* Emitted as a line of a loop? */
static bool is_line(const struct grouping *g, uint32_t node)
{
    const struct tlmc_capsule *k = g->form->choice[node];

    if (family_of(g, node) == TLMC_POINTWISE)
        return !k || k->abi != TLMC_ABI_CALL;
    return node_of(g, node)->op == TLMC_OP_BROADCAST && g->coalesced && k &&
           (k->fuses & TLMC_FUSES_POINTWISE) && k->abi != TLMC_ABI_CALL;
}

/* May it share a loop with others? */
static bool may_fuse(const struct grouping *g, uint32_t node)
{
    const struct tlmc_capsule *k = g->form->choice[node];

    return g->coalesced && k && (k->fuses & TLMC_FUSES_POINTWISE) && is_line(g, node);
}

static bool swaps_last_two(const struct grouping *g, const struct tlmc_node *node)
{
    const struct tlmc_attr *perm = tlmc_node_attr(node, TLMC_A_PERM);
    const int rank = tlmc_value_type(g->graph, node->first_result)->rank;
    int i;

    if (node->op != TLMC_OP_PERMUTE || !perm || rank < 2)
        return false;
    for (i = 0; i < rank - 2; i++)
        if (perm->v.ints[i] != i)
            return false;
    return perm->v.ints[rank - 2] == rank - 1 && perm->v.ints[rank - 1] == rank - 2;
}

/* TLMC_ACCEPTS_... when operand i of a matmul is read through a transpose, else 0. */
static uint32_t fold_of(const struct grouping *g, uint32_t node, uint32_t i)
{
    static const uint32_t flags[] = { TLMC_ACCEPTS_TRANSPOSE_A, TLMC_ACCEPTS_TRANSPOSE_B };
    const struct tlmc_capsule *k = g->form->choice[node];
    const struct tlmc_node *n = node_of(g, node);

    if (!g->coalesced || n->op != TLMC_OP_MATMUL || i > 1 || !k || !(k->accepts & flags[i]))
        return 0;
    return swaps_last_two(g, tlmc_value_node(g->graph, n->inputs[i])) ? flags[i] : 0;
}

/* ---- who reads what */

static void mark_memory(struct grouping *g, uint32_t value)
{
    if (value != TLMC_NONE)
        g->only_loops[value] = g->folds[value] = false;
}

static void mark_result(void *grouping, uint32_t value)
{
    mark_memory(grouping, value);
}

/* Loops hold nodes of one provider: a broadcast of another one is read from memory. */
static bool same_provider(const struct grouping *g, uint32_t reader, uint32_t value)
{
    const struct tlmc_capsule *a = g->form->choice[reader];
    const struct tlmc_capsule *b = g->form->choice[g->graph->values[value].node];

    return tlmc_value_node(g->graph, value)->op != TLMC_OP_BROADCAST ||
           (a && b && a->provider == b->provider);
}

static void mark_readers(struct grouping *g)
{
    uint32_t n, i;

    for (i = 0; i < g->graph->value_count; i++)
        g->only_loops[i] = g->folds[i] = true;
    for (n = 0; n < g->graph->node_count; n++) {
        const struct tlmc_node *node = node_of(g, n);

        for (i = 0; i < node->input_count; i++) {
            const uint32_t value = node->inputs[i];
            const uint32_t fold = value == TLMC_NONE ? 0 : fold_of(g, n, i);

            if (value == TLMC_NONE)
                continue;
            if (fold) {
                g->only_loops[value] = false;
                g->fold_note[value] |= fold;
                mark_memory(g, tlmc_value_node(g->graph, value)->inputs[0]);
            } else if (is_line(g, n) && node->op != TLMC_OP_BROADCAST &&
                       same_provider(g, n, value)) {
                g->folds[value] = false;
            } else { /* a broadcast reads its operand at other places than it writes */
                mark_memory(g, value);
            }
        }
    }
    tlmc_form_results(g->form->form, mark_result, g);
    for (i = 0; i < g->graph->value_count; i++)
        g->folds[i] = g->folds[i] && g->fold_note[i];
}

/* A broadcast that is repeated in each loop that reads it. */
static bool is_repeated(const struct grouping *g, uint32_t node)
{
    return node_of(g, node)->op == TLMC_OP_BROADCAST && may_fuse(g, node) &&
           g->only_loops[node_of(g, node)->first_result];
}

static bool is_scalar_const(const struct grouping *g, uint32_t value)
{
    return tlmc_value_node(g->graph, value)->op == TLMC_OP_CONST &&
           tlmc_value_type(g->graph, value)->rank == 0;
}

/* ---- steps */

static uint32_t new_step(struct grouping *g, enum tlmc_step_kind kind, uint32_t node)
{
    struct draft draft = { .step = { .kind = kind, .phase = node_of(g, node)->phase } };
    const uint32_t id = g->drafts.count;
    uint32_t i;

    TLMC_PUSH(g->arena, &draft.nodes, node);
    draft.shape = node_of(g, node)->result_count ? node_of(g, node)->first_result : TLMC_NONE;
    TLMC_PUSH(g->arena, &g->drafts, draft);
    for (i = 0; i < node_of(g, node)->result_count; i++)
        g->ready[node_of(g, node)->first_result + i] = id + 1;
    return id;
}

static void add_nothing(struct grouping *g, uint32_t node, const char *note, uint32_t ready)
{
    const uint32_t id = new_step(g, TLMC_STEP_NOTHING, node);

    g->drafts.items[id].step.note = note;
    g->ready[node_of(g, node)->first_result] = ready;
}

static void add_call_alone(struct grouping *g, uint32_t node)
{
    const uint32_t id = new_step(g, TLMC_STEP_CALL, node);
    struct tlmc_step *step = &g->drafts.items[id].step;
    const struct tlmc_node *n = node_of(g, node);
    uint32_t i;

    step->operands[0] = step->operands[1] = TLMC_NONE;
    for (i = 0; i < 2 && n->op == TLMC_OP_MATMUL; i++) {
        const uint32_t fold = fold_of(g, node, i);

        step->operands[i] =
            fold ? tlmc_value_node(g->graph, n->inputs[i])->inputs[0] : n->inputs[i];
        step->transpose_a |= fold == TLMC_ACCEPTS_TRANSPOSE_A;
        step->transpose_b |= fold == TLMC_ACCEPTS_TRANSPOSE_B;
    }
}

/* A near step of this kind, in the node's phase, of its provider, with room for one more. */
static bool fits_step(const struct grouping *g, uint32_t node, uint32_t step,
                      enum tlmc_step_kind kind, uint32_t most)
{
    const struct draft *draft = step < g->drafts.count ? &g->drafts.items[step] : NULL;
    const struct tlmc_capsule *const *choice = g->form->choice;

    return draft && g->drafts.count - step <= NEAR && draft->step.kind == kind &&
           draft->step.phase == node_of(g, node)->phase && draft->nodes.count < most &&
           choice[draft->nodes.items[0]] && choice[node] &&
           choice[draft->nodes.items[0]]->provider == choice[node]->provider;
}

/* ---- calls side by side */

static bool reads(const struct tlmc_node *node, uint32_t value)
{
    uint32_t i;

    for (i = 0; i < node->input_count; i++)
        if (node->inputs[i] == value)
            return true;
    return false;
}

static bool shares_operand(const struct grouping *g, uint32_t node, uint32_t step)
{
    const struct draft *draft = &g->drafts.items[step];
    uint32_t i, k;

    for (i = 0; i < node_of(g, node)->input_count; i++)
        for (k = 0; k < draft->nodes.count; k++)
            if (node_of(g, node)->inputs[i] != TLMC_NONE &&
                reads(node_of(g, draft->nodes.items[k]), node_of(g, node)->inputs[i]))
                return true;
    return false;
}

/* Has it an element to compute?  A call without one may have no blocks. */
static bool has_elements(const struct grouping *g, uint32_t node)
{
    const struct tlmc_node *n = node_of(g, node);
    uint32_t i;

    for (i = 0; i < n->result_count; i++)
        if (tlmc_type_count(tlmc_value_type(g->graph, n->first_result + i)) > 0)
            return true;
    return false;
}

/* May its blocks stand beside those of other calls?  A workspace and folded transposes are those of
   a step, and a base that is overwritten may be read by the other calls. */
static bool may_share_launch(const struct grouping *g, uint32_t node)
{
    const struct tlmc_capsule *k = g->form->choice[node];
    const enum tlmc_op op = node_of(g, node)->op;

    return g->coalesced && k && (k->fuses & TLMC_FUSES_LAUNCH) && k->abi != TLMC_ABI_CALL &&
           k->device == TLMC_CUDA && op != TLMC_OP_MATMUL && op != TLMC_OP_SCATTER_ADD &&
           has_elements(g, node) && tlmc_workspace_bytes(k, g->graph, node) == 0;
}

/* The last step of calls that this one may join; TLMC_NONE: none. */
static uint32_t launch_for(const struct grouping *g, uint32_t node)
{
    uint32_t least = g->drafts.count > NEAR ? g->drafts.count - NEAR : 0, s, i;

    for (i = 0; i < node_of(g, node)->input_count; i++)
        if (node_of(g, node)->inputs[i] != TLMC_NONE &&
            g->ready[node_of(g, node)->inputs[i]] > least)
            least = g->ready[node_of(g, node)->inputs[i]];
    for (s = g->drafts.count; s-- > least;) {
        const uint32_t first = g->drafts.items[s].nodes.items[0];

        if (fits_step(g, node, s, TLMC_STEP_CALL, TLMC_LAUNCH_MAX) && may_share_launch(g, first) &&
            shares_operand(g, node, s))
            return s;
    }
    return TLMC_NONE;
}

static void join_launch(struct grouping *g, uint32_t node, uint32_t step)
{
    const struct tlmc_node *n = node_of(g, node);
    uint32_t i;

    TLMC_PUSH(g->arena, &g->drafts.items[step].nodes, node);
    for (i = 0; i < n->result_count; i++)
        g->ready[n->first_result + i] = step + 1;
}

static void add_call(struct grouping *g, uint32_t node)
{
    const uint32_t launch = may_share_launch(g, node) ? launch_for(g, node) : TLMC_NONE;

    if (launch == TLMC_NONE)
        add_call_alone(g, node);
    else
        join_launch(g, node, launch);
}

/* ---- loops */

/* The first step that may hold a line that reads this value; *from: the loop that makes it, joined
   without a store. */
static uint32_t earliest(const struct grouping *g, uint32_t reader, uint32_t value, uint32_t *from)
{
    const uint32_t maker = g->graph->values[value].node;

    *from = TLMC_NONE;
    if (is_repeated(g, maker) && node_of(g, reader)->op != TLMC_OP_BROADCAST)
        return g->ready[node_of(g, maker)->inputs[0]];
    if (g->loop[maker] != TLMC_NONE && node_of(g, reader)->op != TLMC_OP_BROADCAST) {
        *from = g->loop[maker];
        return *from;
    }
    return g->ready[value];
}

static bool fits_loop(const struct grouping *g, uint32_t node, uint32_t step, uint32_t least)
{
    return step >= least && fits_step(g, node, step, TLMC_STEP_POINTWISE, LOOP_MAX) &&
           may_fuse(g, g->drafts.items[step].nodes.items[0]) &&
           tlmc_shape_equal(tlmc_value_type(g->graph, g->drafts.items[step].shape),
                            tlmc_value_type(g->graph, node_of(g, node)->first_result));
}

static void add_line(struct grouping *g, uint32_t node)
{
    const struct tlmc_node *n = node_of(g, node);
    uint32_t least = 0, step = TLMC_NONE, i;

    for (i = 0; i < n->input_count; i++) {
        uint32_t from, first;

        if (n->inputs[i] == TLMC_NONE)
            continue;
        first = earliest(g, node, n->inputs[i], &from);
        if (first > least)
            least = first;
        if (from != TLMC_NONE && (step == TLMC_NONE || from > step))
            step = from;
    }
    if (!may_fuse(g, node))
        step = TLMC_NONE;
    else if (step == TLMC_NONE || !fits_loop(g, node, step, least))
        step = g->drafts.count && fits_loop(g, node, g->drafts.count - 1, least) &&
                       shares_operand(g, node, g->drafts.count - 1)
                   ? g->drafts.count - 1
                   : TLMC_NONE;
    if (step == TLMC_NONE) {
        step = new_step(g, TLMC_STEP_POINTWISE, node);
    } else {
        TLMC_PUSH(g->arena, &g->drafts.items[step].nodes, node);
        g->ready[n->first_result] = step + 1;
    }
    g->loop[node] = step;
}

/* ---- updates */

/* The letter of operand i in tlmc_op_update_operands: w, t or s. */
static char operand_letter(enum tlmc_op op, uint32_t i)
{
    const char *letters = tlmc_op_update_operands(op);

    for (; letters && *letters; letters++) {
        if (*letters == '?')
            continue;
        if (i-- == 0)
            return *letters;
    }
    return 's';
}

static bool same_attr(const struct tlmc_attr *a, const struct tlmc_attr *b)
{
    if (a->tag != b->tag || a->count != b->count)
        return false;
    switch (tlmc_attr_kind(a->tag)) {
    case TLMC_ATTR_INT:
    case TLMC_ATTR_BOOL:
    case TLMC_ATTR_DTYPE: return a->v.i == b->v.i;
    case TLMC_ATTR_FLOAT: return memcmp(&a->v.f, &b->v.f, sizeof a->v.f) == 0;
    case TLMC_ATTR_INTS:
        return !a->count || memcmp(a->v.ints, b->v.ints, a->count * sizeof *a->v.ints) == 0;
    case TLMC_ATTR_DATA:
        return !a->count || memcmp(a->v.data, b->v.data, a->count * sizeof *a->v.data) == 0;
    }
    TLMC_UNREACHABLE();
}

static bool same_scalar(const struct grouping *g, uint32_t a, uint32_t b)
{
    const struct tlmc_node *x = tlmc_value_node(g->graph, a), *y = tlmc_value_node(g->graph, b);

    return a == b || (x->op == TLMC_OP_SCALAR && y->op == TLMC_OP_SCALAR &&
                      tlmc_node_int(x, TLMC_A_SLOT) == tlmc_node_int(y, TLMC_A_SLOT));
}

/* One table of tensors can hold both: same op, kernel and element type. */
static bool same_table(const struct grouping *g, uint32_t a, uint32_t b)
{
    const struct tlmc_node *x = node_of(g, a), *y = node_of(g, b);

    return x->op == y->op && g->form->choice[a] == g->form->choice[b] &&
           tlmc_value_type(g->graph, x->inputs[0])->dtype ==
               tlmc_value_type(g->graph, y->inputs[0])->dtype;
}

/* One call can do both, of those that one table holds: same options and scalars, the same operands
   left out. */
static bool same_kind(const struct grouping *g, uint32_t a, uint32_t b)
{
    const struct tlmc_node *x = node_of(g, a), *y = node_of(g, b);
    uint32_t i;

    if (x->attr_count != y->attr_count || x->input_count != y->input_count)
        return false;
    for (i = 0; i < x->attr_count; i++)
        if (!same_attr(&x->attrs[i], &y->attrs[i]))
            return false;
    for (i = 0; i < x->input_count; i++) {
        if ((x->inputs[i] == TLMC_NONE) != (y->inputs[i] == TLMC_NONE))
            return false;
        if (x->inputs[i] != TLMC_NONE && operand_letter(x->op, i) == 's' &&
            !same_scalar(g, x->inputs[i], y->inputs[i]))
            return false;
    }
    return true;
}

/* What makes a value, through views. */
static const struct tlmc_node *maker_of(const struct grouping *g, uint32_t value)
{
    const struct tlmc_node *node = tlmc_value_node(g->graph, value);

    while (tlmc_op_info(node->op)->family == TLMC_VIEW)
        node = tlmc_value_node(g->graph, node->inputs[0]);
    return node;
}

/* The parameter slot behind a value; TLMC_NONE: no leaf of a parameter. */
static uint32_t leaf_slot(const struct grouping *g, uint32_t value)
{
    const struct tlmc_node *node;

    if (value == TLMC_NONE)
        return TLMC_NONE;
    node = maker_of(g, value);
    return node->op == TLMC_OP_PARAM || node->op == TLMC_OP_STATE
               ? (uint32_t)tlmc_node_int(node, TLMC_A_SLOT)
               : TLMC_NONE;
}

/* A table names tensors by their offsets: constants, as the gradient of a parameter in which the
   loss is linear, have none. */
static bool may_share_table(const struct grouping *g, uint32_t node)
{
    const struct tlmc_node *n = node_of(g, node);
    uint32_t i;

    for (i = 0; i < n->input_count; i++)
        if (n->inputs[i] != TLMC_NONE && operand_letter(n->op, i) == 't' &&
            maker_of(g, n->inputs[i])->op == TLMC_OP_CONST)
            return false;
    return g->coalesced;
}

/* An update may move before those that stand in later steps unless one of them reads what it
   writes. */
static bool update_fits(const struct grouping *g, uint32_t node, uint32_t step)
{
    const struct tlmc_node *n = node_of(g, node);
    uint32_t i;

    for (i = 0; i < n->input_count; i++) {
        const uint32_t slot = leaf_slot(g, n->inputs[i]);

        if (slot != TLMC_NONE && tlmc_op_writes_input(n->op, i) && g->leaf_read[slot] > step)
            return false;
    }
    return true;
}

static void add_update(struct grouping *g, uint32_t node, uint32_t first_step)
{
    const struct tlmc_node *n = node_of(g, node);
    const bool alone = !may_share_table(g, node);
    uint32_t step = TLMC_NONE, s, i;

    for (s = first_step; s < g->drafts.count && step == TLMC_NONE && !alone; s++)
        if (may_share_table(g, g->drafts.items[s].nodes.items[0]) &&
            same_table(g, g->drafts.items[s].nodes.items[0], node) && update_fits(g, node, s))
            step = s;
    if (step == TLMC_NONE)
        step = new_step(g, TLMC_STEP_UPDATES, node);
    else
        TLMC_PUSH(g->arena, &g->drafts.items[step].nodes, node);
    for (i = 0; i < n->input_count; i++) {
        const uint32_t slot = leaf_slot(g, n->inputs[i]);

        if (slot != TLMC_NONE && !tlmc_op_writes_input(n->op, i))
            g->leaf_read[slot] = step + 1;
    }
}

/* Nodes of one kind next to each other, kinds in order of their first nodes.  What runs when inside
   a step is free: update_fits lets no node write what another one of its step reads, and the
   verifier lets none read what an earlier one wrote. */
static void sort_kinds(struct grouping *g, struct draft *draft)
{
    const uint32_t count = draft->nodes.count;
    uint32_t *nodes = draft->nodes.items, *sorted = TLMC_NEW_ARRAY(g->arena, uint32_t, count);
    uint32_t *starts = TLMC_NEW_ARRAY(g->arena, uint32_t, count + 1);
    uint32_t kinds = 0, done = 0, i;

    while (done < count) {
        const uint32_t first = nodes[0], rest = count - done;
        uint32_t others = 0;

        starts[kinds++] = done;
        for (i = 0; i < rest; i++)
            if (same_kind(g, first, nodes[i]))
                sorted[done++] = nodes[i];
            else
                nodes[others++] = nodes[i];
    }
    starts[kinds] = count;
    draft->nodes.items = sorted;
    draft->step.kinds = starts;
    draft->step.kind_count = kinds;
}

/* ---- the whole form */

static const char *fold_text(uint32_t bits)
{
    if (bits == (TLMC_ACCEPTS_TRANSPOSE_A | TLMC_ACCEPTS_TRANSPOSE_B))
        return "folded into matmul, transpose_a and transpose_b";
    return bits == TLMC_ACCEPTS_TRANSPOSE_A ? "folded into matmul, transpose_a"
                                            : "folded into matmul, transpose_b";
}

static void add_node(struct grouping *g, uint32_t node)
{
    const struct tlmc_node *n = node_of(g, node);
    const enum tlmc_family family = family_of(g, node);

    if (family == TLMC_LEAF)
        return;
    if (family == TLMC_VIEW) {
        add_nothing(g, node, "view, no code", g->ready[n->inputs[0]]);
    } else if (family == TLMC_UPDATE) {
        TLMC_PUSH(g->arena, &g->updates, node);
    } else if (g->folds[n->result_count ? n->first_result : 0] && n->op == TLMC_OP_PERMUTE) {
        add_nothing(g, node, fold_text(g->fold_note[n->first_result]), g->ready[n->inputs[0]]);
    } else if (is_repeated(g, node)) {
        if (is_scalar_const(g, n->inputs[0])) {
            add_nothing(g, node, "constant, written as a number", 0);
            g->form->values[n->first_result].place = TLMC_PLACE_LITERAL;
        }
    } else if (is_line(g, node)) {
        add_line(g, node);
    } else {
        add_call(g, node);
    }
}

static int compare_ids(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

/* Broadcasts that the loop's lines read join its list; literal ones are numbers and need no
   line. */
static void add_repeated(struct grouping *g, struct draft *draft)
{
    const uint32_t lines = draft->nodes.count;
    uint32_t i, k, m;

    for (i = 0; i < lines; i++) {
        const struct tlmc_node *n = node_of(g, draft->nodes.items[i]);

        for (k = 0; k < n->input_count; k++) {
            const uint32_t maker =
                n->inputs[k] == TLMC_NONE ? TLMC_NONE : g->graph->values[n->inputs[k]].node;

            if (maker == TLMC_NONE || !is_repeated(g, maker) ||
                g->form->values[n->inputs[k]].place == TLMC_PLACE_LITERAL)
                continue;
            for (m = lines; m < draft->nodes.count && draft->nodes.items[m] != maker; m++)
                continue;
            if (m == draft->nodes.count)
                TLMC_PUSH(g->arena, &draft->nodes, maker);
        }
    }
}

static void finish(struct grouping *g)
{
    struct tlmc_plan_form *form = g->form;
    uint32_t s;

    form->step_count = g->drafts.count;
    form->steps = TLMC_NEW_ARRAY(g->arena, struct tlmc_step, g->drafts.count);
    for (s = 0; s < g->drafts.count; s++) {
        struct draft *draft = &g->drafts.items[s];
        const struct tlmc_node *first = node_of(g, draft->nodes.items[0]);

        if (draft->step.kind == TLMC_STEP_POINTWISE) {
            /* A broadcast alone is a strided copy, unless it spreads a number. */
            if (draft->nodes.count == 1 && first->op == TLMC_OP_BROADCAST &&
                !is_scalar_const(g, first->inputs[0]))
                draft->step.kind = TLMC_STEP_CALL;
            else
                add_repeated(g, draft);
        }
        if (draft->step.kind != TLMC_STEP_CALL || first->op != TLMC_OP_MATMUL)
            draft->step.operands[0] = draft->step.operands[1] = TLMC_NONE;
        qsort(draft->nodes.items, draft->nodes.count, sizeof *draft->nodes.items, compare_ids);
        if (draft->step.kind == TLMC_STEP_UPDATES)
            sort_kinds(g, draft);
        form->steps[s] = draft->step;
        form->steps[s].nodes = draft->nodes.items;
        form->steps[s].node_count = draft->nodes.count;
    }
}

static uint32_t slot_count(const struct tlmc_graph *graph)
{
    int64_t most = 0;
    uint32_t i;

    for (i = 0; i < graph->node_count; i++)
        if (graph->nodes[i].op == TLMC_OP_PARAM || graph->nodes[i].op == TLMC_OP_STATE)
            if (tlmc_node_int(&graph->nodes[i], TLMC_A_SLOT) >= most)
                most = tlmc_node_int(&graph->nodes[i], TLMC_A_SLOT) + 1;
    return (uint32_t)most;
}

void tlmc_group(struct tlmc_arena *arena, const struct tlmc_profile *profile,
                struct tlmc_plan_form *form)
{
    const struct tlmc_graph *graph = form->form->graph;
    struct grouping g = {
        .arena = arena, .graph = graph, .form = form, .coalesced = profile->coalesced
    };
    int phase;
    uint32_t i;

    g.ready = TLMC_NEW_ARRAY(arena, uint32_t, graph->value_count);
    g.loop = TLMC_NEW_ARRAY(arena, uint32_t, graph->node_count);
    g.only_loops = TLMC_NEW_ARRAY(arena, bool, graph->value_count);
    g.folds = TLMC_NEW_ARRAY(arena, bool, graph->value_count);
    g.fold_note = TLMC_NEW_ARRAY(arena, uint32_t, graph->value_count);
    g.leaf_read = TLMC_NEW_ARRAY(arena, uint32_t, slot_count(graph));
    form->values = TLMC_NEW_ARRAY(arena, struct tlmc_placement, graph->value_count);
    for (i = 0; i < graph->node_count; i++)
        g.loop[i] = TLMC_NONE;
    mark_readers(&g);
    for (phase = 0; phase < TLMC_PHASE_COUNT; phase++) {
        uint32_t first_update;

        g.updates.count = 0;
        for (i = 0; i < graph->node_count; i++)
            if (graph->nodes[i].phase == (enum tlmc_phase)phase)
                add_node(&g, i);
        first_update = g.drafts.count;
        for (i = 0; i < g.updates.count; i++)
            add_update(&g, g.updates.items[i], first_update);
    }
    finish(&g);
}
