/* The graph: SSA nodes with static shapes, in an order in which every value is made before it is
   read. Nodes and values are 32-bit ids into arrays of the graph; all memory is the arena's given
   at creation. A node reads values and makes zero or more values.  UPDATE nodes make none: they
   write the leaf that is their first input; no node after them in the graph reads that leaf. */
#ifndef TLMC_IR_GRAPH_H
#define TLMC_IR_GRAPH_H

#include "arena.h"
#include "diag.h"
#include "op.h"
#include "span.h"
#include "sym.h"
#include "vec.h"

#include <stdbool.h>
#include <stdint.h>

enum { TLMC_MAX_RANK = 8 };
#define TLMC_NONE UINT32_MAX

struct tlmc_type {
    enum tlmc_dtype dtype;
    int rank;
    int64_t dims[TLMC_MAX_RANK]; /* each fits uint32, and so does their product */
};

struct tlmc_attr {
    enum tlmc_attr_tag tag;
    uint32_t count; /* of ints or data */
    union {
        int64_t i; /* INT, BOOL, DTYPE */
        double f;
        const int64_t *ints;
        const double *data;
    } v;
};

/* Forward: the model.  Backward: gradients.  Accumulate: adding micro-batches.  Update: clip,
   optimizer. */
enum tlmc_phase {
    TLMC_FORWARD,
    TLMC_BACKWARD,
    TLMC_ACCUMULATE_PHASE,
    TLMC_UPDATE_PHASE,
    TLMC_PHASE_COUNT
};

struct tlmc_node {
    enum tlmc_op op;
    enum tlmc_phase phase;
    uint32_t input_count, result_count, attr_count;
    const uint32_t *inputs; /* value ids; TLMC_NONE for an optional operand left out */
    uint32_t first_result;  /* results are values first_result, first_result + 1, ... */
    const struct tlmc_attr *attrs;
    struct tlmc_span span; /* innermost place in the user's files */
    tlmc_sym scope;        /* instance path ("h.0.attn"), "" at top level */
    uint32_t rule; /* after autodiff: a forward node and the backward nodes its VJP rule made share
                      a number; 0: none.  The planner keeps the promise `backend-vjp` with it */
};

struct tlmc_value {
    struct tlmc_type type;
    uint32_t node;
    uint32_t index;   /* which result of the node */
    tlmc_sym name;    /* the user's name, or NULL; gradients: "grad of" is added by printers */
    bool is_gradient; /* name is that of the value it is the gradient of */
};

struct tlmc_graph {
    struct tlmc_arena *arena;
    struct tlmc_node *nodes;
    uint32_t node_count, node_capacity;
    struct tlmc_value *values;
    uint32_t value_count, value_capacity;
    /* stamps for new nodes */
    enum tlmc_phase phase;
    struct tlmc_span span;
    tlmc_sym scope;
    uint32_t rule;
};

struct tlmc_graph *tlmc_graph_new(struct tlmc_arena *arena);

/* ---- types */
int64_t tlmc_type_count(const struct tlmc_type *type); /* elements; 1 for rank 0 */
size_t tlmc_type_bytes(const struct tlmc_type *type);
bool tlmc_type_equal(const struct tlmc_type *a, const struct tlmc_type *b);
bool tlmc_shape_equal(const struct tlmc_type *a, const struct tlmc_type *b);
/* "f32[2, 8]" into buf (at least 256 bytes); returns buf. */
const char *tlmc_type_text(const struct tlmc_type *type, char *buf);
struct tlmc_type tlmc_type_make(enum tlmc_dtype dtype, int rank, const int64_t *dims);
/* NumPy's rule.  False when they do not broadcast; dtype is a's. */
bool tlmc_broadcast_types(const struct tlmc_type *a, const struct tlmc_type *b,
                          struct tlmc_type *out);
/* Every size and the product fit uint32 and rank <= 8. */
bool tlmc_type_fits(const struct tlmc_type *type);

/* ---- attributes */
struct tlmc_attr tlmc_attr_int(enum tlmc_attr_tag tag, int64_t i); /* INT, BOOL, DTYPE */
struct tlmc_attr tlmc_attr_float(enum tlmc_attr_tag tag, double f);
struct tlmc_attr tlmc_attr_ints(enum tlmc_attr_tag tag, uint32_t count,
                                const int64_t *ints); /* copied by add_node */
struct tlmc_attr tlmc_attr_data(enum tlmc_attr_tag tag, uint32_t count,
                                const double *data); /* copied by add_node */
const struct tlmc_attr *tlmc_node_attr(const struct tlmc_node *node,
                                       enum tlmc_attr_tag tag);               /* NULL: absent */
int64_t tlmc_node_int(const struct tlmc_node *node, enum tlmc_attr_tag tag);  /* 0 when absent */
double tlmc_node_float(const struct tlmc_node *node, enum tlmc_attr_tag tag); /* 0 when absent */

/* ---- building: shapes are inferred and checked */
/* Why a node cannot be: filled by tlmc_shape_infer and tlmc_try_node. */
struct tlmc_shape_error {
    enum tlmc_diag_code code;
    char text[320];
};

/* Result types of (op, inputs, attrs); false and *error when the operands do not fit.  results has
   room for 4. */
bool tlmc_shape_infer(enum tlmc_op op, const struct tlmc_type *const *inputs, uint32_t input_count,
                      const struct tlmc_attr *attrs, uint32_t attr_count, struct tlmc_type *results,
                      struct tlmc_shape_error *error);
/* Adds a node after checking it; TLMC_NONE and *error if it cannot be.  Returns the node's id. */
uint32_t tlmc_try_node(struct tlmc_graph *graph, enum tlmc_op op, const uint32_t *inputs,
                       uint32_t input_count, const struct tlmc_attr *attrs, uint32_t attr_count,
                       struct tlmc_shape_error *error);
/* The same where a failure is our bug (passes, VJP rules); returns the first result. */
uint32_t tlmc_add_node(struct tlmc_graph *graph, enum tlmc_op op, const uint32_t *inputs,
                       uint32_t input_count, const struct tlmc_attr *attrs, uint32_t attr_count);

/* ---- builders with a TLMC_BUG on misuse; each returns a value.  Those that change nothing return
   their input. */
uint32_t tlmc_build1(struct tlmc_graph *g, enum tlmc_op op, uint32_t x);
uint32_t tlmc_build2(struct tlmc_graph *g, enum tlmc_op op, uint32_t a, uint32_t b);
uint32_t tlmc_build3(struct tlmc_graph *g, enum tlmc_op op, uint32_t a, uint32_t b, uint32_t c);
uint32_t tlmc_build_const(struct tlmc_graph *g, enum tlmc_dtype dtype, double value); /* rank 0 */
uint32_t tlmc_build_tensor(struct tlmc_graph *g, const struct tlmc_type *type, const double *data);
uint32_t tlmc_build_full(struct tlmc_graph *g, const struct tlmc_type *type,
                         double value); /* const + broadcast */
uint32_t tlmc_build_leaf(struct tlmc_graph *g, enum tlmc_op leaf, uint32_t slot,
                         const struct tlmc_type *type);
uint32_t tlmc_build_scale(struct tlmc_graph *g, uint32_t x, double factor);
uint32_t tlmc_build_ratio(struct tlmc_graph *g, uint32_t a, uint32_t b); /* 0 where b is 0 */
uint32_t tlmc_build_reshape(struct tlmc_graph *g, uint32_t x, int rank, const int64_t *dims);
uint32_t tlmc_build_permute(struct tlmc_graph *g, uint32_t x, const int64_t *perm);
uint32_t tlmc_build_transpose(struct tlmc_graph *g, uint32_t x); /* last two axes */
uint32_t tlmc_build_broadcast(struct tlmc_graph *g, uint32_t x,
                              const struct tlmc_type *to); /* shape of `to` */
/* Any set of axes (ascending): inserts a permute when they are not adjacent. */
uint32_t tlmc_build_reduce(struct tlmc_graph *g, enum tlmc_op op, uint32_t x, uint32_t axis_count,
                           const int64_t *axes, bool keepdims);
/* The adjoint of broadcasting: sums x down to the shape of `to`. */
uint32_t tlmc_build_unbroadcast(struct tlmc_graph *g, uint32_t x, const struct tlmc_type *to);
uint32_t tlmc_build_slice(struct tlmc_graph *g, uint32_t x, const int64_t *starts,
                          const int64_t *stops, const int64_t *steps);
uint32_t tlmc_build_cast(struct tlmc_graph *g, uint32_t x, enum tlmc_dtype dtype);
/* a @ b; a right operand of rank 2 under a left one of higher rank becomes reshape, 2-D product,
   reshape. */
uint32_t tlmc_build_matmul(struct tlmc_graph *g, uint32_t a, uint32_t b);
/* Row-wise op over any axis: permutes it to the end and back. */
uint32_t tlmc_build_rowwise(struct tlmc_graph *g, enum tlmc_op op, uint32_t x, uint32_t mask,
                            int64_t axis);

static inline const struct tlmc_type *tlmc_value_type(const struct tlmc_graph *g, uint32_t value)
{
    return &g->values[value].type;
}

static inline const struct tlmc_node *tlmc_value_node(const struct tlmc_graph *g, uint32_t value)
{
    return &g->nodes[g->values[value].node];
}

/* ---- verification and printing */
struct tlmc_form;
/* NULL when every rule of this page holds; else what is broken (in the graph's arena). */
const char *tlmc_graph_verify(const struct tlmc_graph *graph);
struct tlmc_strbuf;
/* One node a line: "%7 = matmul(%3, %5) : f32[1, 8]   # 8:8 fc1". */
void tlmc_graph_print(const struct tlmc_graph *graph, struct tlmc_strbuf *out);

#endif
