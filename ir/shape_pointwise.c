/* Shape rules of leaves, constants, random draws, iota and the pointwise ops: operands of one
   shape, no broadcasting (the graph holds that as broadcast nodes). */
#include "shape_rules.h"

#include "checked.h"

#include <math.h>

/* Constant elements fit their element type: whole numbers for i32, 0 and 1 for bool. */
static bool check_data(struct tlmc_shape_query *q, const struct tlmc_type *type)
{
    const struct tlmc_attr *data = tlmc_shape_attr(q, TLMC_A_DATA);
    uint32_t i;

    if (data->count != tlmc_type_count(type))
        return tlmc_shape_fail(q, TLMC_E_SHAPE, "%u elements do not fill %s", data->count,
                               TYPE_TEXT(type));
    if (tlmc_dtype_is_float(type->dtype))
        return true;
    for (i = 0; i < data->count; i++) {
        const double x = data->v.data[i];
        const bool fits = type->dtype == TLMC_BOOL
                              ? x == 0 || x == 1
                              : x >= INT32_MIN && x <= INT32_MAX && x == floor(x);

        if (!fits)
            return tlmc_shape_fail(q, TLMC_E_DTYPE, "element %u, %.17g, is not of type %s", i, x,
                                   tlmc_dtype_name(type->dtype));
    }
    return true;
}

bool tlmc_shape_leaf(struct tlmc_shape_query *q)
{
    const enum tlmc_dtype dtype = (enum tlmc_dtype)tlmc_shape_int(q, TLMC_A_DTYPE);

    if (q->op == TLMC_OP_SCALAR) {
        q->out[0] = tlmc_type_make(dtype, 0, NULL);
        return true;
    }
    if (!tlmc_shape_from_attr(q, dtype, &q->out[0]))
        return false;
    return q->op != TLMC_OP_CONST || check_data(q, &q->out[0]);
}

bool tlmc_shape_random(struct tlmc_shape_query *q)
{
    return tlmc_shape_from_attr(q, TLMC_F32, &q->out[0]);
}

bool tlmc_shape_iota(struct tlmc_shape_query *q)
{
    const int64_t start = tlmc_shape_int(q, TLMC_A_START);
    int64_t last;

    if (!tlmc_shape_from_attr(q, TLMC_I32, &q->out[0]))
        return false;
    if (!tlmc_add_i64(start, tlmc_type_count(&q->out[0]) - 1, &last) || start < INT32_MIN ||
        start > INT32_MAX || last > INT32_MAX)
        return tlmc_shape_fail(q, TLMC_E_ATTRIBUTE, "iota of %s from %lld leaves the range of i32",
                               TYPE_TEXT(&q->out[0]), (long long)start);
    return true;
}

bool tlmc_shape_same(struct tlmc_shape_query *q)
{
    q->out[0] = *q->in[0];
    return true;
}

bool tlmc_shape_same_numeric(struct tlmc_shape_query *q)
{
    if (!tlmc_shape_all_equal(q))
        return false;
    if (q->in[0]->dtype == TLMC_BOOL)
        return tlmc_shape_fail(q, TLMC_E_DTYPE, "op '%s' needs numbers, not %s",
                               tlmc_op_info(q->op)->name, TYPE_TEXT(q->in[0]));
    return tlmc_shape_same(q);
}

bool tlmc_shape_same_real(struct tlmc_shape_query *q)
{
    if (!tlmc_shape_want_real(q, 0) || !tlmc_shape_all_equal(q))
        return false;
    if ((q->op == TLMC_OP_CLAMP || q->op == TLMC_OP_CLAMP_VJP) &&
        !(tlmc_shape_float(q, TLMC_A_MIN) <= tlmc_shape_float(q, TLMC_A_MAX)))
        return tlmc_shape_fail(q, TLMC_E_ATTRIBUTE, "clamp needs min <= max, not %g and %g",
                               tlmc_shape_float(q, TLMC_A_MIN), tlmc_shape_float(q, TLMC_A_MAX));
    return tlmc_shape_same(q);
}

bool tlmc_shape_compare(struct tlmc_shape_query *q)
{
    const bool ordered = q->op != TLMC_OP_EQ && q->op != TLMC_OP_NE;

    if (!tlmc_shape_all_equal(q))
        return false;
    if (ordered && q->in[0]->dtype == TLMC_BOOL)
        return tlmc_shape_fail(q, TLMC_E_DTYPE, "%s has no order", TYPE_TEXT(q->in[0]));
    q->out[0] = *q->in[0];
    q->out[0].dtype = TLMC_BOOL;
    return true;
}

bool tlmc_shape_logical(struct tlmc_shape_query *q)
{
    return tlmc_shape_want_dtype(q, 0, TLMC_BOOL) && tlmc_shape_all_equal(q) && tlmc_shape_same(q);
}

bool tlmc_shape_where(struct tlmc_shape_query *q)
{
    if (!tlmc_shape_want_dtype(q, 0, TLMC_BOOL))
        return false;
    if (q->in[1]->dtype != q->in[2]->dtype)
        return tlmc_shape_fail(q, TLMC_E_DTYPE, "element types differ: %s and %s",
                               TYPE_TEXT(q->in[1]), TYPE_TEXT(q->in[2]));
    if (!tlmc_shape_equal(q->in[0], q->in[1]) || !tlmc_shape_equal(q->in[1], q->in[2]))
        return tlmc_shape_fail(q, TLMC_E_SHAPE, "shapes differ: %s, %s and %s", TYPE_TEXT(q->in[0]),
                               TYPE_TEXT(q->in[1]), TYPE_TEXT(q->in[2]));
    q->out[0] = *q->in[1];
    return true;
}

bool tlmc_shape_cast(struct tlmc_shape_query *q)
{
    q->out[0] = *q->in[0];
    q->out[0].dtype = (enum tlmc_dtype)tlmc_shape_int(q, TLMC_A_DTYPE);
    return true;
}
