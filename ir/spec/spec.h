/* Inside of the interpreter: one run, and one function a family of ops.  Each reads its operands
   from `values`, finds its results allocated there (zeros, of the graph's types) and fills them.
   Nothing here is shared with kernels: the loops are the definitions of docs/ops.md in binary64,
   written to be read, not to be fast. */
#ifndef TLMC_IR_SPEC_SPEC_H
#define TLMC_IR_SPEC_SPEC_H

#include "interpret.h"

struct tlmc_spec {
    const struct tlmc_graph *graph;
    const struct tlmc_env *env;
    struct tlmc_tensor *values;
    char *error; /* 256 bytes */
};

/* False: an index out of range, with the message in run->error. */
typedef bool tlmc_spec_fn(struct tlmc_spec *run, const struct tlmc_node *node);

tlmc_spec_fn tlmc_spec_pointwise, tlmc_spec_move, tlmc_spec_reduce, tlmc_spec_matmul,
    tlmc_spec_rowwise, tlmc_spec_loss, tlmc_spec_random, tlmc_spec_index, tlmc_spec_update;

/* Operand i, NULL when it was left out, and its type. */
const struct tlmc_tensor *tlmc_spec_in(const struct tlmc_spec *run, const struct tlmc_node *node,
                                       uint32_t i);
struct tlmc_tensor *tlmc_spec_out(struct tlmc_spec *run, const struct tlmc_node *node, uint32_t i);

/* The binary32 number a program sees, as binary64. */
double tlmc_spec_f32(double x);
double tlmc_spec_attr(const struct tlmc_node *node, enum tlmc_attr_tag tag); /* rounded once */

/* Row-major strides in elements. */
void tlmc_spec_strides(const struct tlmc_type *type, int64_t *strides);
/* Strides that walk `from` in the order of `to`, to which it broadcasts: 0 where an axis
   repeats. */
void tlmc_spec_broadcast_strides(const struct tlmc_type *from, const struct tlmc_type *to,
                                 int64_t *strides);
/* Multi-index of element i of a shape, and the dot product of an index with strides. */
void tlmc_spec_unflatten(const struct tlmc_type *type, int64_t i, int64_t *index);
int64_t tlmc_spec_dot(int rank, const int64_t *index, const int64_t *strides);

#endif
