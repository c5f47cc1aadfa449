/* Clean-up that keeps every bit, NaN, infinity and -0 included.  In: any form.  Out: moves of moves
   in one step (but a transpose that only products read stays: they take it as a flag), moves that
   move nothing dropped, permutes that only pass axes of size 1 as reshapes, double negation gone, a
   transposed product as the product of transposes (which the matmul takes as flags; fma(a, b, c) =
   fma(b, a, c)).  Nodes that are no longer read stay for dce.  A node is never bypassed when its
   operand's memory has been overwritten meanwhile, and no computed value becomes a name for memory
   that is overwritten before its last reader. */
#include "graph_edit.h"
#include "pass.h"

#include <string.h>

typedef TLMC_VEC(uint32_t) tlmc_slot_vec;

struct canonical {
    struct tlmc_rewrite rewrite;
    struct tlmc_graph *graph; /* the new one */
    uint32_t *uses;           /* of each old value, results of the form included */
    bool *read_otherwise;     /* old values that others than products and permutes read */
    bool *late; /* old values read after the backward pass: by updates, or by whoever takes the
                   form's results */
    tlmc_slot_vec written; /* slots of leaves written so far */
    tlmc_slot_vec stored;  /* slots of leaves that the forward pass writes */
};

static bool has_slot(const tlmc_slot_vec *slots, uint32_t slot)
{
    unsigned i;

    for (i = 0; i < slots->count; i++)
        if (slots->items[i] == slot)
            return true;
    return false;
}

/* Does the value still hold what it held when it was made? */
static bool is_readable(const struct canonical *c, uint32_t value)
{
    uint32_t slot;

    return !tlmc_leaf_slot(c->graph, tlmc_view_root(c->graph, value), &slot) ||
           !has_slot(&c->written, slot);
}

/* May this value stand for the node's result until that is read for the last time? */
static bool may_stand_for(const struct canonical *c, const struct tlmc_node *node, uint32_t value)
{
    uint32_t slot;

    if (tlmc_is_view(node) || !tlmc_leaf_slot(c->graph, tlmc_view_root(c->graph, value), &slot))
        return true;
    return !has_slot(&c->stored, slot) && !c->late[node->first_result];
}

/* The operand of the node that makes x, if that is this op and may be read here; else TLMC_NONE. */
static uint32_t through(const struct canonical *c, uint32_t x, enum tlmc_op op)
{
    const struct tlmc_node *node = tlmc_value_node(c->graph, x);

    if (node->op != op || !is_readable(c, node->inputs[0]))
        return TLMC_NONE;
    return node->inputs[0];
}

static uint32_t simple_reshape(struct canonical *c, uint32_t x, int rank, const int64_t *dims)
{
    uint32_t inner = through(c, x, TLMC_OP_RESHAPE);

    if (inner != TLMC_NONE)
        x = inner;
    return tlmc_build_reshape(c->graph, x, rank, dims);
}

/* Only axes of size 1 change their place among the others. */
static bool keeps_order(const struct tlmc_type *type, const int64_t *perm)
{
    int64_t last = -1;
    int i;

    for (i = 0; i < type->rank; i++) {
        if (type->dims[perm[i]] == 1)
            continue;
        if (perm[i] < last)
            return false;
        last = perm[i];
    }
    return true;
}

static bool swaps_last_two(int rank, const int64_t *perm)
{
    int i;

    for (i = 0; i < rank - 2; i++)
        if (perm[i] != i)
            return false;
    return rank >= 2 && perm[rank - 2] == rank - 1;
}

/* `for_products`: nothing but products and permutes will read it. */
static uint32_t simple_permute(struct canonical *c, uint32_t x, const int64_t *perm,
                               bool for_products)
{
    const struct tlmc_type type = *tlmc_value_type(c->graph, x);
    const uint32_t inner = through(c, x, TLMC_OP_PERMUTE);
    int64_t both[TLMC_MAX_RANK], dims[TLMC_MAX_RANK];
    int i;

    if (keeps_order(&type, perm)) {
        for (i = 0; i < type.rank; i++)
            dims[i] = type.dims[perm[i]];
        return simple_reshape(c, x, type.rank, dims);
    }
    if (inner != TLMC_NONE) {
        const int64_t *first = tlmc_node_attr(tlmc_value_node(c->graph, x), TLMC_A_PERM)->v.ints;

        for (i = 0; i < type.rank; i++)
            both[i] = first[perm[i]];
        if (!for_products || !swaps_last_two(type.rank, perm) ||
            keeps_order(tlmc_value_type(c->graph, inner), both))
            return simple_permute(c, inner, both, for_products);
    }
    return tlmc_build_permute(c->graph, x, perm);
}

static uint32_t simple_transpose(struct canonical *c, uint32_t x)
{
    const int rank = tlmc_value_type(c->graph, x)->rank;
    int64_t perm[TLMC_MAX_RANK];
    int i;

    for (i = 0; i < rank; i++)
        perm[i] = i;
    perm[rank - 2] = rank - 1;
    perm[rank - 1] = rank - 2;
    return simple_permute(c, x, perm, true);
}

/* (a b)^T = b^T a^T, when the product is read here alone. */
static uint32_t transposed_product(struct canonical *c, const struct tlmc_node *node)
{
    const uint32_t x = c->rewrite.map[node->inputs[0]];
    const struct tlmc_node product = *tlmc_value_node(c->graph, x);
    const uint32_t rule = c->graph->rule;
    uint32_t a, b, y;

    if (product.op != TLMC_OP_MATMUL ||
        tlmc_value_node(&c->rewrite.old, node->inputs[0])->op != TLMC_OP_MATMUL ||
        product.phase != node->phase || c->uses[node->inputs[0]] != 1 ||
        !is_readable(c, product.inputs[0]) || !is_readable(c, product.inputs[1]) ||
        !swaps_last_two(tlmc_value_type(c->graph, x)->rank,
                        tlmc_node_attr(node, TLMC_A_PERM)->v.ints))
        return TLMC_NONE;
    b = simple_transpose(c, product.inputs[1]);
    a = simple_transpose(c, product.inputs[0]);
    c->graph->rule = product.rule; /* it stays the product's rule that made it */
    y = tlmc_build2(c->graph, TLMC_OP_MATMUL, b, a);
    c->graph->rule = rule;
    return y;
}

/* A value equal to the node's result, or TLMC_NONE: nothing shorter is known. */
static uint32_t simplify(struct canonical *c, const struct tlmc_node *node)
{
    const struct tlmc_type *type = &c->rewrite.old.values[node->first_result].type;
    const uint32_t x = c->rewrite.map[node->inputs[0]];
    uint32_t inner;

    if (!is_readable(c, x))
        return TLMC_NONE;
    if (node->op == TLMC_OP_DETACH) /* gradients are made */
        return x;
    if (node->op == TLMC_OP_RESHAPE) {
        /* one that keeps the shape costs nothing: it stays, so that the report shows the model's
           own ops */
        if (tlmc_type_equal(tlmc_value_type(c->graph, x), type))
            return TLMC_NONE;
        return simple_reshape(c, x, type->rank, type->dims);
    }
    if (node->op == TLMC_OP_PERMUTE) {
        inner = transposed_product(c, node);
        return inner != TLMC_NONE ? inner
                                  : simple_permute(c, x, tlmc_node_attr(node, TLMC_A_PERM)->v.ints,
                                                   !c->read_otherwise[node->first_result]);
    }
    if (node->op == TLMC_OP_BROADCAST) {
        inner = through(c, x, TLMC_OP_BROADCAST);
        return tlmc_build_broadcast(c->graph, inner != TLMC_NONE ? inner : x, type);
    }
    if (node->op == TLMC_OP_NEG)
        return through(c, x, TLMC_OP_NEG);
    if ((node->op == TLMC_OP_SLICE || node->op == TLMC_OP_CONCAT || node->op == TLMC_OP_CAST) &&
        node->input_count == 1 && tlmc_type_equal(tlmc_value_type(c->graph, x), type))
        return x; /* all of it, one part, the same element type */
    if (node->op == TLMC_OP_SCALE && tlmc_node_float(node, TLMC_A_FACTOR) == 1)
        return x;
    return TLMC_NONE;
}

static void count_result(void *canonical, uint32_t value)
{
    struct canonical *c = canonical;

    c->uses[value]++;
    c->late[value] = c->read_otherwise[value] = true;
}

/* Backwards, so that a view's late reader is known when its operand is looked at. */
static void count_uses(struct canonical *c, const struct tlmc_form *form)
{
    const struct tlmc_graph *graph = form->graph;
    uint32_t id = graph->node_count, i, slot;

    c->uses = TLMC_NEW_ARRAY(graph->arena, uint32_t, graph->value_count + 1);
    c->late = TLMC_NEW_ARRAY(graph->arena, bool, graph->value_count + 1);
    c->read_otherwise = TLMC_NEW_ARRAY(graph->arena, bool, graph->value_count + 1);
    tlmc_form_results(form, count_result, c);
    while (id-- > 0) {
        const struct tlmc_node *node = &graph->nodes[id];
        const bool late =
            node->phase > TLMC_BACKWARD || (tlmc_is_view(node) && c->late[node->first_result]);

        for (i = 0; i < node->input_count; i++) {
            if (node->inputs[i] == TLMC_NONE)
                continue;
            c->uses[node->inputs[i]]++;
            c->late[node->inputs[i]] |= late;
            c->read_otherwise[node->inputs[i]] |=
                node->op != TLMC_OP_MATMUL && node->op != TLMC_OP_PERMUTE;
        }
        if (node->phase == TLMC_FORWARD && tlmc_op_writes_input(node->op, 0) &&
            tlmc_leaf_slot(graph, node->inputs[0], &slot))
            TLMC_PUSH(graph->arena, &c->stored, slot);
    }
}

static void note_writes(struct canonical *c, const struct tlmc_node *node)
{
    uint32_t i, slot;

    for (i = 0; i < node->input_count; i++)
        if (tlmc_op_writes_input(node->op, i) && node->inputs[i] != TLMC_NONE &&
            tlmc_leaf_slot(c->graph, node->inputs[i], &slot))
            TLMC_PUSH(c->graph->arena, &c->written, slot);
}

static void run(struct tlmc_form *form)
{
    struct canonical c = { .graph = form->graph };
    uint32_t id;

    count_uses(&c, form);
    c.rewrite = tlmc_rewrite_begin(form);
    for (id = 0; id < c.rewrite.old.node_count; id++) {
        const struct tlmc_node *node = &c.rewrite.old.nodes[id];
        uint32_t value = TLMC_NONE;

        tlmc_graph_stamp(c.graph, node);
        if (node->input_count && node->result_count == 1)
            value = simplify(&c, node);
        if (value != TLMC_NONE && may_stand_for(&c, node, value)) {
            tlmc_rewrite_set(&c.rewrite, node->first_result, value);
        } else {
            const uint32_t copy = tlmc_rewrite_copy(&c.rewrite, id); /* may move the nodes */

            note_writes(&c, &c.graph->nodes[copy]);
        }
    }
    tlmc_rewrite_end(&c.rewrite);
}

/* needs: gradients made (detach goes).  keeps: every rule of the verifier, every bit.  breaks:
   value ids. */
void tlmc_pass_canonical(struct tlmc_module *module, struct tlmc_diags *diags)
{
    unsigned i;

    (void)diags;
    for (i = 0; i < module->forms.count; i++)
        run(&module->forms.items[i]);
}
