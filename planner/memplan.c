/* The memory plan of a form.  In: its steps.  Out: for each value where it lives, offsets in one
   arena, the planned peak and the lower bound.

   A value is stored when a step other than its own loop reads its memory, or when the caller does.
   Views share the storage of what they view.  A loop may write over an operand of equal size and
   type that it alone reads for the last time, scatter_add over its base.  Lifetimes are counted in
   steps; inputs, outputs, losses, metrics, and gradients live to the end of the form.  Offsets:
   largest storage first, each into the smallest gap that fits among those alive at the same time
   (Note [Packing]). */
#include "plan_internal.h"

#include <stdlib.h>
#include <string.h>

struct planning {
    struct tlmc_arena *arena;
    const struct tlmc_module *module;
    struct tlmc_plan_form *form;
    const struct tlmc_graph *graph;
    uint32_t *in_step;  /* node: 1 + the step being looked at that lists it */
    bool *read;         /* value: its memory is read by a step or by the caller */
    bool *pointer;      /* value: read through a pointer by a call, not as a line's operand */
    bool *kept;         /* value, of storages: lives to the end of the form */
    uint32_t last_step; /* of the form */
};

static size_t aligned(size_t bytes)
{
    return (bytes + TLMC_ALIGN - 1) / TLMC_ALIGN * TLMC_ALIGN;
}

/* ---- storages */

static uint32_t storage_of(struct planning *p, uint32_t value)
{
    struct tlmc_placement *values = p->form->values;
    uint32_t root = value;

    while (values[root].storage != root)
        root = values[root].storage;
    while (values[value].storage != root) {
        const uint32_t next = values[value].storage;

        values[value].storage = root;
        value = next;
    }
    return root;
}

static void extend(struct planning *p, uint32_t value, uint32_t step)
{
    struct tlmc_placement *storage = &p->form->values[storage_of(p, value)];

    if (step > storage->last_step)
        storage->last_step = step;
}

static bool is_view(const struct planning *p, uint32_t node)
{
    return tlmc_op_info(p->graph->nodes[node].op)->family == TLMC_VIEW;
}

/* Every read of memory by a step: calls visit(value, as a pointer). */
static void reads_of_step(struct planning *p, uint32_t s,
                          void (*visit)(struct planning *p, uint32_t s, uint32_t value,
                                        bool pointer))
{
    const struct tlmc_step *step = &p->form->steps[s];
    const bool loop = step->kind == TLMC_STEP_POINTWISE;
    uint32_t i, k;

    if (step->kind == TLMC_STEP_NOTHING)
        return;
    for (i = 0; i < step->node_count; i++)
        p->in_step[step->nodes[i]] = s + 1;
    for (i = 0; i < step->node_count; i++) {
        const struct tlmc_node *node = &p->graph->nodes[step->nodes[i]];

        for (k = 0; k < node->input_count; k++) {
            uint32_t value = node->inputs[k];

            if (k < 2 && step->kind == TLMC_STEP_CALL && step->operands[k] != TLMC_NONE)
                value = step->operands[k];
            if (value == TLMC_NONE || (loop && p->in_step[p->graph->values[value].node] == s + 1))
                continue;
            visit(p, s, value, !loop);
        }
    }
}

static void note_read(struct planning *p, uint32_t s, uint32_t value, bool pointer)
{
    (void)s;
    if (p->form->values[value].place == TLMC_PLACE_LITERAL)
        return;
    p->read[value] = true;
    p->pointer[value] |= pointer;
}

static void note_use(struct planning *p, uint32_t s, uint32_t value, bool pointer)
{
    (void)pointer;
    if (p->form->values[value].place != TLMC_PLACE_LITERAL)
        extend(p, value, s);
}

static void caller_reads(void *planning, uint32_t value)
{
    struct planning *p = planning;

    p->read[value] = p->pointer[value] = true;
}

static void keep(void *planning, uint32_t value)
{
    struct planning *p = planning;

    p->kept[storage_of(p, value)] = true;
}

/* Views carry reads to what they view; a view stands behind what it views. */
static void carry_views(struct planning *p)
{
    uint32_t n;

    for (n = p->graph->node_count; n-- > 0;)
        if (is_view(p, n) && p->read[p->graph->nodes[n].first_result])
            caller_reads(p, p->graph->nodes[n].inputs[0]);
}

/* ---- places */

static void place_leaf(struct planning *p, const struct tlmc_node *node, struct tlmc_placement *v,
                       bool pointer, const size_t *param_offsets)
{
    const uint32_t slot = (uint32_t)tlmc_node_int(node, TLMC_A_SLOT);
    const bool scalar = tlmc_value_type(p->graph, node->first_result)->rank == 0;

    if (node->op == TLMC_OP_CONST) {
        v->place = scalar && !pointer ? TLMC_PLACE_LITERAL : TLMC_PLACE_TABLE;
    } else if (node->op == TLMC_OP_SCALAR) {
        v->place = TLMC_PLACE_SCALAR;
    } else if (node->op == TLMC_OP_INPUT) {
        v->place = TLMC_PLACE_ARENA;
        v->last_step = p->last_step;
        p->kept[node->first_result] = true;
    } else {
        const enum tlmc_param_kind kind = p->module->params.items[slot].kind;

        v->place = kind == TLMC_PARAM_TRAINED || kind == TLMC_PARAM_STATE ? TLMC_PLACE_WEIGHTS
                                                                          : TLMC_PLACE_STATE;
        v->offset = param_offsets[slot];
    }
}

static void place_leaves(struct planning *p, const size_t *param_offsets)
{
    uint32_t n, i;

    for (i = 0; i < p->graph->value_count; i++) {
        p->form->values[i].storage = i;
        p->form->values[i].bytes = tlmc_type_bytes(&p->graph->values[i].type);
    }
    for (n = 0; n < p->graph->node_count; n++) {
        const struct tlmc_node *node = &p->graph->nodes[n];

        if (tlmc_op_info(node->op)->family == TLMC_LEAF)
            place_leaf(p, node, &p->form->values[node->first_result],
                       p->pointer[node->first_result], param_offsets);
    }
}

/* What steps make and somebody reads goes to the arena; results of calls are written whether read
   or not. */
static void place_results(struct planning *p)
{
    uint32_t s, i, k;

    for (s = 0; s < p->form->step_count; s++) {
        const struct tlmc_step *step = &p->form->steps[s];

        for (i = 0; i < step->node_count; i++) {
            const struct tlmc_node *node = &p->graph->nodes[step->nodes[i]];

            for (k = 0; k < node->result_count; k++) {
                struct tlmc_placement *v = &p->form->values[node->first_result + k];

                if (is_view(p, step->nodes[i])) {
                    v->storage = storage_of(p, node->inputs[0]);
                } else if (step->kind == TLMC_STEP_CALL ||
                           (step->kind == TLMC_STEP_POINTWISE && p->read[node->first_result + k])) {
                    v->place = TLMC_PLACE_ARENA;
                    v->first_step = v->last_step = s;
                }
            }
        }
    }
}

/* ---- writing over operands */

static bool may_take(struct planning *p, uint32_t s, uint32_t value,
                     const struct tlmc_placement *result)
{
    const uint32_t root = storage_of(p, value);
    const struct tlmc_placement *storage = &p->form->values[root];

    return storage->place == TLMC_PLACE_ARENA && !p->kept[root] && storage->last_step == s &&
           storage->first_step < s && storage->bytes == result->bytes && result->bytes > 0;
}

static void take(struct planning *p, uint32_t result, uint32_t operand)
{
    const uint32_t root = storage_of(p, operand), old = storage_of(p, result);
    struct tlmc_placement *values = p->form->values;

    if (values[old].last_step > values[root].last_step)
        values[root].last_step = values[old].last_step;
    p->kept[root] |= p->kept[old];
    values[old].storage = root;
}

/* The loop reads the storage element by element, as the result's type; its stores stand behind its
   reads. */
static bool loop_lets_take(struct planning *p, const struct tlmc_step *step, uint32_t writer,
                           uint32_t root)
{
    const enum tlmc_dtype dtype =
        tlmc_value_type(p->graph, p->graph->nodes[writer].first_result)->dtype;
    uint32_t i, k;

    for (i = 0; i < step->node_count; i++) {
        const struct tlmc_node *node = &p->graph->nodes[step->nodes[i]];

        for (k = 0; k < node->input_count; k++) {
            const uint32_t value = node->inputs[k];

            if (value == TLMC_NONE || p->form->values[value].place == TLMC_PLACE_LITERAL ||
                storage_of(p, value) != root)
                continue;
            if (node->op == TLMC_OP_BROADCAST || tlmc_value_type(p->graph, value)->dtype != dtype)
                return false;
        }
        /* another result of this loop may live there already */
        for (k = 0; k < node->result_count; k++)
            if (storage_of(p, node->first_result + k) == root)
                return false;
    }
    return true;
}

static void overwrite_in_loop(struct planning *p, uint32_t s)
{
    const struct tlmc_step *step = &p->form->steps[s];
    uint32_t w, i, k;

    for (w = 0; w < step->node_count; w++) {
        const struct tlmc_node *writer = &p->graph->nodes[step->nodes[w]];
        const struct tlmc_placement *result = &p->form->values[writer->first_result];
        bool taken = false;

        if (result->place != TLMC_PLACE_ARENA ||
            storage_of(p, writer->first_result) != writer->first_result)
            continue;
        for (i = 0; i < step->node_count && !taken; i++) {
            const struct tlmc_node *reader = &p->graph->nodes[step->nodes[i]];

            for (k = 0; k < reader->input_count && !taken; k++) {
                const uint32_t value = reader->inputs[k];

                if (value == TLMC_NONE || p->in_step[p->graph->values[value].node] == s + 1 ||
                    !may_take(p, s, value, result) ||
                    !loop_lets_take(p, step, step->nodes[w], storage_of(p, value)))
                    continue;
                take(p, writer->first_result, value);
                taken = true;
            }
        }
    }
}

static void overwrite_base(struct planning *p, uint32_t s)
{
    const struct tlmc_node *node = &p->graph->nodes[p->form->steps[s].nodes[0]];
    const uint32_t base = node->input_count > 0 ? node->inputs[0] : TLMC_NONE;

    if (node->op != TLMC_OP_SCATTER_ADD ||
        !may_take(p, s, base, &p->form->values[node->first_result]) ||
        storage_of(p, node->inputs[1]) == storage_of(p, base) ||
        storage_of(p, node->inputs[2]) == storage_of(p, base))
        return;
    take(p, node->first_result, base);
}

/* ---- packing */

struct block { /* a storage or a workspace */
    size_t bytes, offset;
    uint32_t first, last;
    uint32_t value, step; /* whose; TLMC_NONE: the other's */
};

typedef TLMC_VEC(struct block) block_vec;

static int larger_first(const void *a, const void *b)
{
    const struct block *x = a, *y = b;

    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return x->step < y->step ? -1 : x->step > y->step;
}

static int longer_first(const void *a, const void *b)
{
    const struct block *x = a, *y = b;
    const uint32_t p = x->last - x->first, q = y->last - y->first;

    return p != q ? (p > q ? -1 : 1) : larger_first(a, b);
}

/* Offsets of the blocks in their order; returns the peak.  `placed` has room for all, kept sorted
   by offset. */
static size_t pack(struct block *blocks, uint32_t count, const struct block **placed)
{
    size_t peak = 0;
    uint32_t i, k, n = 0;

    for (i = 0; i < count; i++) {
        struct block *b = &blocks[i];
        size_t cursor = 0, best = SIZE_MAX, best_gap = SIZE_MAX;

        for (k = 0; k < n; k++) {
            const struct block *o = placed[k];

            if (o->last < b->first || b->last < o->first)
                continue;
            if (o->offset > cursor && o->offset - cursor >= b->bytes &&
                o->offset - cursor < best_gap) {
                best = cursor;
                best_gap = o->offset - cursor;
            }
            if (o->offset + o->bytes > cursor)
                cursor = o->offset + o->bytes;
        }
        b->offset = best == SIZE_MAX ? cursor : best;
        if (b->offset + b->bytes > peak)
            peak = b->offset + b->bytes;
        if (!b->bytes)
            continue;
        for (k = n++; k > 0 && placed[k - 1]->offset > b->offset; k--)
            placed[k] = placed[k - 1];
        placed[k] = b;
    }
    return peak;
}

static void add_block(struct planning *p, block_vec *blocks, size_t bytes, uint32_t first,
                      uint32_t last, uint32_t value, uint32_t step)
{
    TLMC_PUSH(
        p->arena, blocks,
        ((struct block){
            .bytes = aligned(bytes), .first = first, .last = last, .value = value, .step = step }));
}

static void collect_blocks(struct planning *p, block_vec *blocks)
{
    struct tlmc_plan_form *form = p->form;
    uint32_t i;

    for (i = 0; i < p->graph->value_count; i++) {
        struct tlmc_placement *v = &form->values[i];

        if (v->place != TLMC_PLACE_ARENA || v->storage != i)
            continue;
        if (p->kept[i])
            v->last_step = p->last_step;
        add_block(p, blocks, v->bytes, v->first_step, v->last_step, i, TLMC_NONE);
    }
    for (i = 0; i < form->step_count; i++)
        if (form->steps[i].workspace_bytes)
            add_block(p, blocks, form->steps[i].workspace_bytes, i, i, TLMC_NONE, i);
}

static size_t lower_bound_of(struct planning *p, const block_vec *blocks)
{
    const uint32_t steps = p->last_step + 1;
    size_t *begins = TLMC_NEW_ARRAY(p->arena, size_t, steps + 1);
    size_t *ends = TLMC_NEW_ARRAY(p->arena, size_t, steps + 1);
    size_t live = 0, most = 0;
    uint32_t i;

    for (i = 0; i < blocks->count; i++) {
        begins[blocks->items[i].first] += blocks->items[i].bytes;
        ends[blocks->items[i].last + 1] += blocks->items[i].bytes;
    }
    for (i = 0; i < steps; i++) {
        live = live + begins[i] - ends[i];
        if (live > most)
            most = live;
    }
    return most;
}

static void apply(struct planning *p, const struct block *blocks, uint32_t count)
{
    uint32_t i;

    for (i = 0; i < count; i++) {
        if (blocks[i].value != TLMC_NONE)
            p->form->values[blocks[i].value].offset = blocks[i].offset;
        else
            p->form->steps[blocks[i].step].workspace_offset = blocks[i].offset;
    }
}

/* Largest first meets the lower bound nearly always; where it does not, longest-lived first may. */
static void pack_form(struct planning *p)
{
    block_vec blocks = { 0 };
    const struct block **placed;
    size_t peak;

    collect_blocks(p, &blocks);
    p->form->lower_bound = lower_bound_of(p, &blocks);
    if (!blocks.count)
        return;
    placed = TLMC_NEW_ARRAY(p->arena, const struct block *, blocks.count);
    qsort(blocks.items, blocks.count, sizeof *blocks.items, larger_first);
    peak = pack(blocks.items, blocks.count, placed);
    if (peak > p->form->lower_bound) {
        struct block *others =
            tlmc_arena_memdup(p->arena, blocks.items, blocks.count * sizeof *others);
        size_t other;

        qsort(others, blocks.count, sizeof *others, longer_first);
        other = pack(others, blocks.count, placed);
        if (other < peak) {
            peak = other;
            blocks.items = others;
        }
    }
    p->form->arena_bytes = peak;
    apply(p, blocks.items, blocks.count);
}

/* Aliases take place and offset of their storage. */
static void settle(struct planning *p)
{
    uint32_t i;

    for (i = 0; i < p->graph->value_count; i++) {
        struct tlmc_placement *v = &p->form->values[i];
        const struct tlmc_placement *storage = &p->form->values[storage_of(p, i)];

        if (storage != v) {
            v->place = storage->place;
            v->offset = storage->offset;
            v->first_step = storage->first_step;
            v->last_step = storage->last_step;
        }
    }
}

void tlmc_memplan_form(struct tlmc_arena *arena, const struct tlmc_module *module,
                       struct tlmc_plan_form *form, const size_t *param_offsets)
{
    const struct tlmc_graph *graph = form->form->graph;
    struct planning p = { .arena = arena,
                          .module = module,
                          .form = form,
                          .graph = graph,
                          .last_step = form->step_count ? form->step_count - 1 : 0 };
    uint32_t s;

    p.in_step = TLMC_NEW_ARRAY(arena, uint32_t, graph->node_count);
    p.read = TLMC_NEW_ARRAY(arena, bool, graph->value_count);
    p.pointer = TLMC_NEW_ARRAY(arena, bool, graph->value_count);
    p.kept = TLMC_NEW_ARRAY(arena, bool, graph->value_count);
    for (s = 0; s < form->step_count; s++)
        reads_of_step(&p, s, note_read);
    tlmc_form_results(form->form, caller_reads, &p);
    carry_views(&p);
    place_leaves(&p, param_offsets);
    place_results(&p);
    tlmc_form_results(form->form, keep, &p);
    for (s = 0; s < form->step_count; s++)
        reads_of_step(&p, s, note_use);
    memset(p.in_step, 0, graph->node_count * sizeof *p.in_step);
    for (s = 0; s < form->step_count; s++) {
        const struct tlmc_step *step = &form->steps[s];
        uint32_t i;

        for (i = 0; i < step->node_count; i++)
            p.in_step[step->nodes[i]] = s + 1;
        if (step->kind == TLMC_STEP_POINTWISE)
            overwrite_in_loop(&p, s);
        else if (step->kind == TLMC_STEP_CALL)
            overwrite_base(&p, s);
        if (step->node_count)
            form->steps[s].workspace_bytes =
                tlmc_workspace_bytes(form->choice[step->nodes[0]], graph, step->nodes[0]);
    }
    pack_form(&p);
    settle(&p);
}

/* Optimizer states and gradient sums exist only where something is trained. */
static bool needs_param(const struct tlmc_plan *plan, enum tlmc_param_kind kind)
{
    uint32_t i;

    if (kind != TLMC_PARAM_OPTIMIZER && kind != TLMC_PARAM_ACCUMULATOR)
        return true;
    for (i = 0; i < plan->form_count; i++)
        if (plan->forms[i].form->mode == TLMC_TRAIN)
            return true;
    return false;
}

void tlmc_memplan_params(struct tlmc_plan *plan)
{
    const struct tlmc_module *module = plan->module;
    unsigned i;

    plan->param_offsets = TLMC_NEW_ARRAY(module->arena, size_t, module->params.count);
    for (i = 0; i < module->params.count; i++) {
        const struct tlmc_param *param = &module->params.items[i];
        const bool weights = param->kind == TLMC_PARAM_TRAINED || param->kind == TLMC_PARAM_STATE;
        size_t *total = weights ? &plan->weights_bytes : &plan->state_bytes;

        if (!needs_param(plan, param->kind))
            continue;
        plan->param_offsets[i] = *total;
        *total += aligned(tlmc_type_bytes(&param->type));
    }
}

/* Note [Packing].  Blocks are intervals of steps with a size; two that are alive at one step may
   not overlap in memory. The blocks already placed are kept in order of their offsets, so one walk
   over them sees every gap between those alive with the new one.  That is quadratic in the number
   of storages (some 2,000 for a 12-layer transformer: a few million comparisons of two integers),
   and needs no sorting for each block.  The lower bound is the largest sum of sizes alive at one
   step: no layout can be smaller. */
