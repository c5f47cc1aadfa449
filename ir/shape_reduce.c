/* Shape rules of ops that sum: reductions, matmul, the row-wise ops, the losses, each with its
   backward ops. */
#include "shape_rules.h"

/* x with its axes first .. first + count - 1 kept at size 1, or dropped. */
static struct tlmc_type reduced(const struct tlmc_type *x, int first, int count, bool keepdims)
{
    struct tlmc_type out = { .dtype = x->dtype };
    int i;

    for (i = 0; i < x->rank; i++) {
        if (i < first || i >= first + count)
            out.dims[out.rank++] = x->dims[i];
        else if (keepdims)
            out.dims[out.rank++] = 1;
    }
    return out;
}

/* The attribute `axes`: at least one, ascending, adjacent, inside x. */
static bool check_axes(struct tlmc_shape_query *q, const struct tlmc_type *x, int *first,
                       int *count)
{
    const struct tlmc_attr *axes = tlmc_shape_attr(q, TLMC_A_AXES);
    uint32_t i;

    if (axes->count == 0)
        return tlmc_shape_fail(q, TLMC_E_ATTRIBUTE, "op '%s' needs at least one axis",
                               tlmc_op_info(q->op)->name);
    for (i = 0; i < axes->count; i++) {
        if (axes->v.ints[i] < 0 || axes->v.ints[i] >= x->rank)
            return tlmc_shape_fail(q, TLMC_E_BOUNDS, "axis %lld is not an axis of %s",
                                   (long long)axes->v.ints[i], TYPE_TEXT(x));
        if (axes->v.ints[i] != axes->v.ints[0] + (int64_t)i)
            return tlmc_shape_fail(q, TLMC_E_ATTRIBUTE, "axes must be ascending and adjacent");
    }
    *first = (int)axes->v.ints[0];
    *count = (int)axes->count;
    return true;
}

bool tlmc_shape_reduce(struct tlmc_shape_query *q)
{
    int first, count;

    if (!check_axes(q, q->in[0], &first, &count))
        return false;
    if (q->op == TLMC_OP_REDUCE_MEAN && !tlmc_shape_want_real(q, 0))
        return false;
    if (q->in[0]->dtype == TLMC_BOOL)
        return tlmc_shape_fail(q, TLMC_E_DTYPE, "op '%s' needs numbers, not %s",
                               tlmc_op_info(q->op)->name, TYPE_TEXT(q->in[0]));
    q->out[0] = reduced(q->in[0], first, count, tlmc_shape_int(q, TLMC_A_KEEPDIMS) != 0);
    return true;
}

bool tlmc_shape_global_norm(struct tlmc_shape_query *q)
{
    for (uint32_t i = 0; i < q->in_count; i++)
        if (!tlmc_shape_want_real(q, i))
            return false;
    q->out[0] = (struct tlmc_type){ .dtype = q->in[0]->dtype };
    return true;
}

bool tlmc_shape_reduce_vjp(struct tlmc_shape_query *q)
{
    struct tlmc_type kept;
    int first, count;

    if (!tlmc_shape_want_real(q, 1) || !check_axes(q, q->in[1], &first, &count))
        return false;
    kept = reduced(q->in[1], first, count, true);
    if (!tlmc_shape_want_type(q, 0, "the gradient", &kept) ||
        !tlmc_shape_want_type(q, 2, "the reduced value", &kept))
        return false;
    q->out[0] = *q->in[1];
    return true;
}

bool tlmc_shape_argmax(struct tlmc_shape_query *q)
{
    const int axis = tlmc_shape_axis(q, q->in[0]->rank);

    if (axis < 0)
        return false;
    if (q->in[0]->dtype == TLMC_BOOL)
        return tlmc_shape_fail(q, TLMC_E_DTYPE, "op 'argmax' needs numbers, not %s",
                               TYPE_TEXT(q->in[0]));
    if (q->in[0]->dims[axis] == 0)
        return tlmc_shape_fail(q, TLMC_E_SHAPE, "axis %d of %s is empty and has no maximum", axis,
                               TYPE_TEXT(q->in[0]));
    q->out[0] = reduced(q->in[0], axis, 1, tlmc_shape_int(q, TLMC_A_KEEPDIMS) != 0);
    q->out[0].dtype = TLMC_I32;
    return true;
}

bool tlmc_shape_matmul(struct tlmc_shape_query *q)
{
    const struct tlmc_type *a = q->in[0], *b = q->in[1];
    struct tlmc_type batch_a, batch_b, *out = &q->out[0];

    if (!tlmc_shape_want_real(q, 0))
        return false;
    if (a->dtype != b->dtype)
        return tlmc_shape_fail(q, TLMC_E_DTYPE, "element types differ: %s @ %s", TYPE_TEXT(a),
                               TYPE_TEXT(b));
    if (a->rank < 2 || b->rank < 2)
        return tlmc_shape_fail(q, TLMC_E_RANK, "both operands must have rank 2 or more: %s @ %s",
                               TYPE_TEXT(a), TYPE_TEXT(b));
    if (a->dims[a->rank - 1] != b->dims[b->rank - 2])
        return tlmc_shape_fail(q, TLMC_E_SHAPE, "inner sizes differ: %s @ %s", TYPE_TEXT(a),
                               TYPE_TEXT(b));
    batch_a = *a;
    batch_b = *b;
    batch_a.rank -= 2;
    batch_b.rank -= 2;
    if (!tlmc_broadcast_types(&batch_a, &batch_b, out))
        return tlmc_shape_fail(q, TLMC_E_BROADCAST, "batch axes do not broadcast: %s @ %s",
                               TYPE_TEXT(a), TYPE_TEXT(b));
    out->dims[out->rank++] = a->dims[a->rank - 2];
    out->dims[out->rank++] = b->dims[b->rank - 1];
    return true;
}

/* Operand 0 is a float tensor with a last axis, the row. */
static bool check_rows(struct tlmc_shape_query *q, uint32_t input)
{
    if (!tlmc_shape_want_real(q, input))
        return false;
    if (q->in[input]->rank < 1)
        return tlmc_shape_fail(q, TLMC_E_RANK, "op '%s' needs rank 1 or more, not %s",
                               tlmc_op_info(q->op)->name, TYPE_TEXT(q->in[input]));
    return true;
}

bool tlmc_shape_softmax(struct tlmc_shape_query *q)
{
    struct tlmc_type mask = *q->in[0];

    if (!check_rows(q, 0))
        return false;
    mask.dtype = TLMC_BOOL;
    if (q->in_count > 1 && q->in[1] && !tlmc_shape_want_type(q, 1, "the mask", &mask))
        return false;
    q->out[0] = *q->in[0];
    return true;
}

/* Softmax gradients and log_softmax: rows in, rows out. */
bool tlmc_shape_rows(struct tlmc_shape_query *q)
{
    if (!check_rows(q, 0) || !tlmc_shape_all_equal(q))
        return false;
    q->out[0] = *q->in[0];
    return true;
}

static struct tlmc_type per_row(const struct tlmc_type *x)
{
    return reduced(x, x->rank - 1, 1, false);
}

static struct tlmc_type row_of(const struct tlmc_type *x)
{
    return tlmc_type_make(x->dtype, 1, &x->dims[x->rank - 1]);
}

bool tlmc_shape_layer_norm(struct tlmc_shape_query *q)
{
    struct tlmc_type row;

    if (!check_rows(q, 0))
        return false;
    row = row_of(q->in[0]);
    if (!tlmc_shape_want_type(q, 1, "weight", &row) || !tlmc_shape_want_type(q, 2, "bias", &row))
        return false;
    q->out[0] = *q->in[0];
    q->out[1] = q->out[2] = per_row(q->in[0]);
    return true;
}

bool tlmc_shape_layer_norm_vjp(struct tlmc_shape_query *q)
{
    struct tlmc_type row, rows;

    if (!check_rows(q, 1))
        return false;
    row = row_of(q->in[1]);
    rows = per_row(q->in[1]);
    if (!tlmc_shape_want_type(q, 0, "the gradient", q->in[1]) ||
        !tlmc_shape_want_type(q, 2, "weight", &row) || !tlmc_shape_want_type(q, 3, "mean", &rows) ||
        !tlmc_shape_want_type(q, 4, "rstd", &rows))
        return false;
    q->out[0] = *q->in[1];
    return true;
}

bool tlmc_shape_layer_norm_vjp_weight(struct tlmc_shape_query *q)
{
    struct tlmc_type rows;

    if (!check_rows(q, 1))
        return false;
    rows = per_row(q->in[1]);
    if (!tlmc_shape_want_type(q, 0, "the gradient", q->in[1]) ||
        !tlmc_shape_want_type(q, 2, "mean", &rows) || !tlmc_shape_want_type(q, 3, "rstd", &rows))
        return false;
    q->out[0] = q->out[1] = row_of(q->in[1]);
    return true;
}

bool tlmc_shape_mse_loss(struct tlmc_shape_query *q)
{
    if (!tlmc_shape_want_real(q, 0) || !tlmc_shape_all_equal(q))
        return false;
    q->out[0] = tlmc_type_make(q->in[0]->dtype, 0, NULL);
    return true;
}

bool tlmc_shape_mse_loss_vjp(struct tlmc_shape_query *q)
{
    const struct tlmc_type scalar = tlmc_type_make(q->in[1]->dtype, 0, NULL);

    if (!tlmc_shape_want_real(q, 1) || !tlmc_shape_want_type(q, 0, "the gradient", &scalar) ||
        !tlmc_shape_want_type(q, 2, "the second operand", q->in[1]))
        return false;
    q->out[0] = *q->in[1];
    return true;
}

bool tlmc_shape_cross_entropy(struct tlmc_shape_query *q)
{
    struct tlmc_type classes;

    if (!check_rows(q, 0))
        return false;
    q->out[0] = q->out[1] = q->out[2] = classes = per_row(q->in[0]);
    classes.dtype = TLMC_I32;
    return tlmc_shape_want_type(q, 1, "the classes", &classes);
}

bool tlmc_shape_cross_entropy_vjp(struct tlmc_shape_query *q)
{
    struct tlmc_type rows, classes;

    if (!check_rows(q, 1))
        return false;
    rows = classes = per_row(q->in[1]);
    classes.dtype = TLMC_I32;
    if (!tlmc_shape_want_type(q, 0, "the gradient", &rows) ||
        !tlmc_shape_want_type(q, 2, "the classes", &classes) ||
        !tlmc_shape_want_type(q, 3, "the row maxima", &rows) ||
        !tlmc_shape_want_type(q, 4, "the row sums", &rows))
        return false;
    q->out[0] = *q->in[1];
    return true;
}
