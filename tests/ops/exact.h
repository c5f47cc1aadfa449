/* The arithmetic contract restated: what native-c must compute, bit for bit, as plain scalar loops
   over program tensors.  Independent of the kernels; the formulas of pointwise ops
   (runtime/tlm_math.h) are the one shared text. */
#ifndef TLMC_TESTS_OPS_EXACT_H
#define TLMC_TESTS_OPS_EXACT_H

#include "buffer.h"

/* Computes the results of a case, and what it writes into its states (operands in place).  Operands
   are as the op reads them: permuted and repeated already.  False when the op has no arithmetic of
   its own to restate (bits are copied, counted or drawn): the interpreter's values, rounded, are
   the contract then. */
bool ops_exact(const struct ops_case *c, struct ops_buffer *operands, struct ops_buffer *results);

/* exact_graph.c: a whole graph, node by node, each value rounded as programs store it.  operands:
   by operand of the case, written where the graph writes them; results as the case's. */
void ops_exact_graph(const struct ops_case *c, const struct ops_graph *built,
                     struct ops_buffer *operands, struct ops_buffer *results);

/* exact_pointwise.c */
bool ops_exact_pointwise(const struct ops_case *c, const struct ops_buffer *operands,
                         struct ops_buffer *result);
/* exact_update.c */
bool ops_exact_update(const struct ops_case *c, struct ops_buffer *operands);

/* An attribute rounded once to binary32; 0 when absent. */
float ops_attr_f32(const struct ops_case *c, enum tlmc_attr_tag tag);
double ops_attr_f64(const struct ops_case *c, enum tlmc_attr_tag tag);
int64_t ops_attr_i64(const struct ops_case *c, enum tlmc_attr_tag tag);

#endif
