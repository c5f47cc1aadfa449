/* Inside the ir room: appending checked nodes, attribute lists without a node, and rewriting a
   form's graph.  A pass walks the old nodes in order and appends to a new graph, with a map from
   old to new values; at the end the form takes the new graph and every id it holds goes through the
   map. */
#ifndef TLMC_IR_GRAPH_EDIT_H
#define TLMC_IR_GRAPH_EDIT_H

#include "module.h"

enum { TLMC_MAX_RESULTS = 4 };

const struct tlmc_attr *tlmc_attr_of(const struct tlmc_attr *attrs, uint32_t count,
                                     enum tlmc_attr_tag tag);
/* Appends a node as it is, with these result types; inputs and attributes are shared, not copied.
 */
uint32_t tlmc_graph_append(struct tlmc_graph *graph, const struct tlmc_node *node,
                           const struct tlmc_type *results);

#endif
