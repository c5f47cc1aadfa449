/* Queries on the op table (ops.def), the attribute table (attrs.def) and the element types
   (dtype.def). */
#ifndef TLMC_IR_OP_H
#define TLMC_IR_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tlmc_dtype {
#define DTYPE(TAG, name, bytes, ctype, is_float) TLMC_##TAG,
#include "dtype.def"
    TLMC_DTYPE_COUNT
};

enum tlmc_attr_kind {
    TLMC_ATTR_INT,
    TLMC_ATTR_FLOAT,
    TLMC_ATTR_BOOL,
    TLMC_ATTR_INTS,
    TLMC_ATTR_DTYPE,
    TLMC_ATTR_DATA
};

enum tlmc_attr_tag {
#define ATTR(TAG, name, kind) TLMC_A_##TAG,
#include "attrs.def"
    TLMC_ATTR_COUNT
};

enum tlmc_op {
#define UNARY(TAG, name, uses, attrs, policy) TLMC_OP_##TAG, TLMC_OP_##TAG##_VJP,
#define OP(TAG, name, family, min, max, results, attrs, shape, vjp, jvp, policy) TLMC_OP_##TAG,
#include "ops.def"
    TLMC_OP_COUNT
};

enum tlmc_family {
    TLMC_LEAF,
    TLMC_POINTWISE,
    TLMC_VIEW,
    TLMC_MOVE,
    TLMC_REDUCE,
    TLMC_MATMUL,
    TLMC_ROWWISE,
    TLMC_LOSS,
    TLMC_RANDOM,
    TLMC_INDEX,
    TLMC_UPDATE,
    TLMC_FAMILY_COUNT
};

/* What the derivative of a unary pointwise op reads besides g. */
enum tlmc_uses { TLMC_USES__, TLMC_USES_X, TLMC_USES_Y, TLMC_USES_XY };

struct tlmc_op_info {
    const char *name;
    enum tlmc_family family;
    int min_inputs, max_inputs; /* max -1: any number */
    int results;
    const char *attrs; /* names of attrs.def, separated by blanks */
    const char *policy;
    bool is_unary; /* a UNARY row or its derivative */
    bool is_vjp;   /* a backward rule of its own: *_vjp* */
    enum tlmc_uses uses;
    enum tlmc_op vjp_op; /* of a UNARY row: its derivative op; else TLMC_OP_COUNT */
};

const struct tlmc_op_info *tlmc_op_info(enum tlmc_op op);
/* TLMC_OP_COUNT when no op has this name. */
enum tlmc_op tlmc_op_find(const char *name);
bool tlmc_op_has_attr(enum tlmc_op op, enum tlmc_attr_tag tag);
/* An op of the design that this version has no row for (conv, max_pool, ...): a message can say
   so. */
bool tlmc_op_is_planned(const char *name);

/* Operands of an UPDATE op, one letter each: w a leaf that is written, t a tensor of the first
   leaf's type, s a scalar;
   '?' before a letter: may be left out.  NULL for other families. */
const char *tlmc_op_update_operands(enum tlmc_op op);
/* Does the op write the leaf that is this input? */
bool tlmc_op_writes_input(enum tlmc_op op, uint32_t input);

const char *tlmc_family_name(enum tlmc_family family);
const char *tlmc_attr_name(enum tlmc_attr_tag tag);
enum tlmc_attr_kind tlmc_attr_kind(enum tlmc_attr_tag tag);
enum tlmc_attr_tag tlmc_attr_find(const char *name); /* TLMC_ATTR_COUNT: unknown */

const char *tlmc_dtype_name(enum tlmc_dtype dtype);
const char *tlmc_dtype_ctype(enum tlmc_dtype dtype); /* "float", "int32_t", "uint8_t" */
size_t tlmc_dtype_bytes(enum tlmc_dtype dtype);
bool tlmc_dtype_is_float(enum tlmc_dtype dtype);
enum tlmc_dtype tlmc_dtype_find(const char *name); /* TLMC_DTYPE_COUNT: unknown */

#endif
