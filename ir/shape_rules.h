/* Inside the ir room: what a shape rule gets and gives.  A rule sees operands whose number the op
   table allows and attributes that are known, complete and given once; it writes the result types
   or refuses with tlmc_shape_fail. Every rule named in ops.def is declared here, so one that is not
   written is a link error. */
#ifndef TLMC_IR_SHAPE_RULES_H
#define TLMC_IR_SHAPE_RULES_H

#include "graph.h"

struct tlmc_shape_query {
    enum tlmc_op op;
    const struct tlmc_type *const *in; /* NULL where an optional operand is left out */
    uint32_t in_count;
    const struct tlmc_attr *attrs;
    uint32_t attr_count;
    struct tlmc_type *out;
    struct tlmc_shape_error *error;
};

typedef bool tlmc_shape_rule(struct tlmc_shape_query *q);

#define UNARY(TAG, name, uses, attrs, policy)
#define OP(TAG, name, family, min, max, results, attrs, shape, vjp, jvp, policy) \
    tlmc_shape_rule tlmc_shape_##shape;
#include "ops.def"

/* Always false, for `return tlmc_shape_fail(...)`. */
bool tlmc_shape_fail(struct tlmc_shape_query *q, enum tlmc_diag_code code, const char *fmt, ...)
    TLMC_PRINTF(3, 4);
/* "f32[2, 3]" as an argument of a message; the buffer lives to the end of the block. */
#define TYPE_TEXT(type) tlmc_type_text((type), (char[256]){ 0 })

const struct tlmc_attr *tlmc_shape_attr(const struct tlmc_shape_query *q, enum tlmc_attr_tag tag);
int64_t tlmc_shape_int(const struct tlmc_shape_query *q, enum tlmc_attr_tag tag);
double tlmc_shape_float(const struct tlmc_shape_query *q, enum tlmc_attr_tag tag);
/* The type of `dtype` with the shape attribute's sizes; false with a message when it is over a
   limit. */
bool tlmc_shape_from_attr(struct tlmc_shape_query *q, enum tlmc_dtype dtype, struct tlmc_type *out);
/* False with a message when a computed result is over a limit. */
bool tlmc_shape_check_fits(struct tlmc_shape_query *q, const struct tlmc_type *type);
/* The attribute `axis`, checked against the rank; -1 with a message. */
int tlmc_shape_axis(struct tlmc_shape_query *q, int rank);
/* All operands present are of this one type, or dtype, or of floats. */
bool tlmc_shape_all_equal(struct tlmc_shape_query *q);
bool tlmc_shape_want_real(struct tlmc_shape_query *q, uint32_t input);
bool tlmc_shape_want_dtype(struct tlmc_shape_query *q, uint32_t input, enum tlmc_dtype dtype);
/* Operand `input` is exactly of this type; `what` names it in the message. */
bool tlmc_shape_want_type(struct tlmc_shape_query *q, uint32_t input, const char *what,
                          const struct tlmc_type *type);

#endif
