/* Inside the ir room: what VJP and JVP rules see.  A rule is graph construction: it reads gradients
   or tangents, adds nodes, and gives results.  Every rule named in ops.def is declared here, so one
   that is not written is a link error.  Only differentiable operands that matter are asked for, so
   a rule never checks element types. */
#ifndef TLMC_IR_DERIVATIVE_RULES_H
#define TLMC_IR_DERIVATIVE_RULES_H

#include "graph.h"

/* One forward node while its rule runs. */
struct tlmc_vjp {
    struct tlmc_graph *graph;
    struct tlmc_node node; /* a copy: the graph grows meanwhile */
    const bool *needed;    /* of each forward value: does a wanted value feed it? */
    uint32_t *grads; /* of each forward value, as far as accumulated; TLMC_NONE: nothing yet */
};

typedef void tlmc_vjp_rule(struct tlmc_vjp *v);

/* Operand and result values, and the gradient of the first result, which is there whenever a rule
   runs. */
uint32_t tlmc_vjp_in(const struct tlmc_vjp *v, uint32_t input);
uint32_t tlmc_vjp_result(const struct tlmc_vjp *v, uint32_t index);
uint32_t tlmc_vjp_grad(const struct tlmc_vjp *v);
bool tlmc_vjp_wants(const struct tlmc_vjp *v, uint32_t input);
/* Adds a contribution to the gradient of an operand: the first one stands alone, later ones are
   added on the right. */
void tlmc_vjp_give(struct tlmc_vjp *v, uint32_t input, uint32_t contribution);
/* Scatter-like rules add into what is there: the gradient so far (zeros if none), then what
   replaces it. */
uint32_t tlmc_vjp_base(struct tlmc_vjp *v, uint32_t input);
void tlmc_vjp_replace(struct tlmc_vjp *v, uint32_t input, uint32_t grad);

struct tlmc_jvp {
    struct tlmc_graph *graph;
    struct tlmc_node node;
    const uint32_t *tangents; /* of each forward value; TLMC_NONE: zero */
};

/* Returns the tangent of the first result; at least one operand has a tangent.  TLMC_NONE: zero. */
typedef uint32_t tlmc_jvp_rule(struct tlmc_jvp *j);

uint32_t tlmc_jvp_in(const struct tlmc_jvp *j, uint32_t input);
uint32_t tlmc_jvp_result(const struct tlmc_jvp *j, uint32_t index);
/* TLMC_NONE: zero. */
uint32_t tlmc_jvp_tangent(const struct tlmc_jvp *j, uint32_t input);

#define UNARY(TAG, name, uses, attrs, policy)
#define OP(TAG, name, family, min, max, results, attrs, shape, vjp, jvp, policy) \
    tlmc_vjp_rule tlmc_vjp_##vjp;                                                \
    tlmc_jvp_rule tlmc_jvp_##jvp;
#include "ops.def"

/* Shared by both: the unary op's derivative at this node times g. */
uint32_t tlmc_unary_derivative(struct tlmc_graph *graph, const struct tlmc_node *node, uint32_t g);
/* Derivative zero by definition: floor, ceil, round. */
bool tlmc_op_is_flat(enum tlmc_op op);
tlmc_vjp_rule tlmc_vjp_unary;
tlmc_jvp_rule tlmc_jvp_unary;

#endif
