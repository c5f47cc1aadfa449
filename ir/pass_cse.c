/* Common subexpressions.  In: any form.  Out: of equal nodes (op, operands, attributes bit by bit)
   only the first. Random draws are each their own, updates write; neither is ever merged.  Forward
   and backward pass are one run; the accumulate and update phases run apart, so only leaves and
   constants are shared with them. */
#include "graph_edit.h"
#include "hash.h"
#include "pass.h"

#include <string.h>

struct cse {
    struct tlmc_rewrite rewrite;
    uint32_t *slots; /* node ids of the new graph by hash, TLMC_NONE: free */
    uint32_t capacity;
};

/* The bits of an attribute's value; lists by their elements. */
static const void *attr_bits(const struct tlmc_attr *attr, size_t *bytes)
{
    switch (tlmc_attr_kind(attr->tag)) {
    case TLMC_ATTR_INT:
    case TLMC_ATTR_BOOL:
    case TLMC_ATTR_DTYPE: *bytes = sizeof attr->v.i; return &attr->v.i;
    case TLMC_ATTR_FLOAT: *bytes = sizeof attr->v.f; return &attr->v.f;
    case TLMC_ATTR_INTS: *bytes = attr->count * sizeof *attr->v.ints; return attr->v.ints;
    case TLMC_ATTR_DATA: *bytes = attr->count * sizeof *attr->v.data; return attr->v.data;
    }
    TLMC_UNREACHABLE();
}

/* Order of attributes does not matter: their hashes are summed. */
static uint64_t hash_node(const struct tlmc_node *node, const uint32_t *inputs)
{
    uint64_t hash = tlmc_hash(TLMC_HASH_BASIS, &node->op, sizeof node->op), attrs = 0;
    uint32_t i;

    if (node->input_count)
        hash = tlmc_hash(hash, inputs, node->input_count * sizeof *inputs);
    for (i = 0; i < node->attr_count; i++) {
        uint64_t h = tlmc_hash(TLMC_HASH_BASIS, &node->attrs[i].tag, sizeof node->attrs[i].tag);
        size_t bytes;
        const void *bits = attr_bits(&node->attrs[i], &bytes);

        attrs += bytes ? tlmc_hash(h, bits, bytes) : h;
    }
    return tlmc_hash(hash, &attrs, sizeof attrs);
}

static bool attrs_equal(const struct tlmc_node *a, const struct tlmc_node *b)
{
    uint32_t i;

    if (a->attr_count != b->attr_count)
        return false;
    for (i = 0; i < a->attr_count; i++) {
        const struct tlmc_attr *other = tlmc_node_attr(b, a->attrs[i].tag);
        size_t bytes, other_bytes;
        const void *bits, *other_bits;

        if (!other)
            return false;
        bits = attr_bits(&a->attrs[i], &bytes);
        other_bits = attr_bits(other, &other_bytes);
        if (bytes != other_bytes || (bytes && memcmp(bits, other_bits, bytes) != 0))
            return false;
    }
    return true;
}

static bool is_mergeable(const struct tlmc_node *node)
{
    const enum tlmc_family family = tlmc_op_info(node->op)->family;

    return family != TLMC_RANDOM && family != TLMC_UPDATE && node->result_count;
}

static bool run_together(const struct tlmc_node *a, const struct tlmc_node *b)
{
    return a->phase == b->phase || (a->phase <= TLMC_BACKWARD && b->phase <= TLMC_BACKWARD);
}

static bool nodes_equal(const struct tlmc_node *have, const struct tlmc_node *node,
                        const uint32_t *inputs)
{
    return have->op == node->op && have->input_count == node->input_count &&
           (!node->input_count ||
            memcmp(have->inputs, inputs, node->input_count * sizeof *inputs) == 0) &&
           attrs_equal(have, node) && run_together(have, node);
}

/* The slot of an equal node of the new graph, or the free one where this node belongs. */
static uint32_t *find(struct cse *c, const struct tlmc_node *node)
{
    const uint32_t *inputs = tlmc_rewrite_inputs(&c->rewrite, node);
    uint64_t at = hash_node(node, inputs);

    for (;; at++) {
        uint32_t *slot = &c->slots[at & (c->capacity - 1)];

        if (*slot == TLMC_NONE || nodes_equal(&c->rewrite.graph->nodes[*slot], node, inputs))
            return slot;
    }
}

static void run(struct tlmc_form *form)
{
    struct cse c = { .capacity = 64 };
    uint32_t id, i;

    while (c.capacity < 2 * (uint64_t)form->graph->node_count)
        c.capacity *= 2;
    c.slots = TLMC_NEW_ARRAY(form->graph->arena, uint32_t, c.capacity);
    memset(c.slots, 0xff, c.capacity * sizeof *c.slots);
    c.rewrite = tlmc_rewrite_begin(form);
    for (id = 0; id < c.rewrite.old.node_count; id++) {
        const struct tlmc_node *node = &c.rewrite.old.nodes[id];
        uint32_t *slot = is_mergeable(node) ? find(&c, node) : NULL;

        if (slot && *slot != TLMC_NONE) {
            for (i = 0; i < node->result_count; i++)
                tlmc_rewrite_set(&c.rewrite, node->first_result + i,
                                 c.rewrite.graph->nodes[*slot].first_result + i);
            continue;
        }
        i = tlmc_rewrite_copy(&c.rewrite, id);
        if (slot)
            *slot = i;
    }
    tlmc_rewrite_end(&c.rewrite);
}

/* needs: nothing.  keeps: every rule of the verifier, every bit.  breaks: value ids. */
void tlmc_pass_cse(struct tlmc_module *module, struct tlmc_diags *diags)
{
    unsigned i;

    (void)diags;
    for (i = 0; i < module->forms.count; i++)
        run(&module->forms.items[i]);
}
