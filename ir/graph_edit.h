/* Inside the ir room: appending checked nodes, leaves and views, and rewriting a form's graph.  A
   pass walks the old nodes in order and appends to the emptied graph, with a map from old to new
   values; at the end every id the form holds goes through the map.  Memory is the graph's arena. */
#ifndef TLMC_IR_GRAPH_EDIT_H
#define TLMC_IR_GRAPH_EDIT_H

#include "module.h"

enum { TLMC_MAX_RESULTS = 4 };

const struct tlmc_attr *tlmc_attr_of(const struct tlmc_attr *attrs, uint32_t count,
                                     enum tlmc_attr_tag tag);
/* Appends a node as it is, with these result types; inputs and attributes are shared, not
   copied. */
uint32_t tlmc_graph_append(struct tlmc_graph *graph, const struct tlmc_node *node,
                           const struct tlmc_type *results);

/* A view shows its first operand's memory. */
bool tlmc_is_view(const struct tlmc_node *node);
/* Is the value a PARAM or STATE leaf, and of which slot of the module's params? */
bool tlmc_leaf_slot(const struct tlmc_graph *graph, uint32_t value, uint32_t *slot);
/* The value whose memory this one shows: through reshapes and detaches. */
uint32_t tlmc_view_root(const struct tlmc_graph *graph, uint32_t value);

struct tlmc_rewrite {
    struct tlmc_form *form;
    struct tlmc_graph old;    /* its arrays stay readable */
    struct tlmc_graph *graph; /* the form's, empty at first */
    uint32_t *map;            /* old value -> new value; TLMC_NONE: not made */
};

struct tlmc_rewrite tlmc_rewrite_begin(struct tlmc_form *form);
/* The operands of an old node as new values. */
const uint32_t *tlmc_rewrite_inputs(struct tlmc_rewrite *rewrite, const struct tlmc_node *node);
/* Appends the old node with mapped operands and maps its results.  Returns the new node's id. */
uint32_t tlmc_rewrite_copy(struct tlmc_rewrite *rewrite, uint32_t old_node);
/* Maps an old value to a new one; its name goes along if the new one has none. */
void tlmc_rewrite_set(struct tlmc_rewrite *rewrite, uint32_t old_value, uint32_t new_value);
/* Stamps new nodes with phase, place and scope of a node. */
void tlmc_graph_stamp(struct tlmc_graph *graph, const struct tlmc_node *like);
/* Sends the form's ids through the map; what a form holds must have been made. */
void tlmc_rewrite_end(struct tlmc_rewrite *rewrite);

#endif
