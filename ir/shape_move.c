/* Shape rules of ops that move elements and change no bit: reshape, permute, broadcast, concat,
   slice, and the index ops gather, embedding and scatter_add. */
#include "shape_rules.h"

#include "checked.h"

bool tlmc_shape_reshape(struct tlmc_shape_query *q)
{
    if (!tlmc_shape_from_attr(q, q->in[0]->dtype, &q->out[0]))
        return false;
    if (tlmc_type_count(&q->out[0]) != tlmc_type_count(q->in[0]))
        return tlmc_shape_fail(q, TLMC_E_SHAPE, "element counts differ: %s has %lld, %s has %lld",
                               TYPE_TEXT(q->in[0]), (long long)tlmc_type_count(q->in[0]),
                               TYPE_TEXT(&q->out[0]), (long long)tlmc_type_count(&q->out[0]));
    return true;
}

bool tlmc_shape_permute(struct tlmc_shape_query *q)
{
    const struct tlmc_attr *perm = tlmc_shape_attr(q, TLMC_A_PERM);
    const struct tlmc_type *x = q->in[0];
    unsigned seen = 0;
    uint32_t i;

    if (perm->count != (uint32_t)x->rank)
        return tlmc_shape_fail(q, TLMC_E_RANK, "perm names %u axes, %s has %d", perm->count,
                               TYPE_TEXT(x), x->rank);
    q->out[0] = *x;
    for (i = 0; i < perm->count; i++) {
        const int64_t axis = perm->v.ints[i];

        if (axis < 0 || axis >= x->rank)
            return tlmc_shape_fail(q, TLMC_E_BOUNDS, "axis %lld is not an axis of %s",
                                   (long long)axis, TYPE_TEXT(x));
        if (seen & 1u << axis)
            return tlmc_shape_fail(q, TLMC_E_ATTRIBUTE, "perm names axis %lld twice",
                                   (long long)axis);
        seen |= 1u << axis;
        q->out[0].dims[i] = x->dims[axis];
    }
    return true;
}

bool tlmc_shape_broadcast(struct tlmc_shape_query *q)
{
    const struct tlmc_type *x = q->in[0];
    struct tlmc_type both;

    if (!tlmc_shape_from_attr(q, x->dtype, &q->out[0]))
        return false;
    if (!tlmc_broadcast_types(x, &q->out[0], &both) || !tlmc_type_equal(&both, &q->out[0]))
        return tlmc_shape_fail(q, TLMC_E_BROADCAST, "%s does not broadcast to %s", TYPE_TEXT(x),
                               TYPE_TEXT(&q->out[0]));
    return true;
}

bool tlmc_shape_concat(struct tlmc_shape_query *q)
{
    const int axis = tlmc_shape_axis(q, q->in[0]->rank);
    uint32_t i;
    int d;

    if (axis < 0)
        return false;
    q->out[0] = *q->in[0];
    for (i = 1; i < q->in_count; i++) {
        const struct tlmc_type *x = q->in[i];

        if (x->dtype != q->out[0].dtype)
            return tlmc_shape_fail(q, TLMC_E_DTYPE, "element types differ: %s and %s",
                                   TYPE_TEXT(q->in[0]), TYPE_TEXT(x));
        if (x->rank != q->out[0].rank)
            return tlmc_shape_fail(q, TLMC_E_RANK, "ranks differ: %s and %s", TYPE_TEXT(q->in[0]),
                                   TYPE_TEXT(x));
        for (d = 0; d < x->rank; d++)
            if (d != axis && x->dims[d] != q->out[0].dims[d])
                return tlmc_shape_fail(q, TLMC_E_SHAPE, "shapes differ beside axis %d: %s and %s",
                                       axis, TYPE_TEXT(q->in[0]), TYPE_TEXT(x));
        if (!tlmc_add_i64(q->out[0].dims[axis], x->dims[axis], &q->out[0].dims[axis]))
            return tlmc_shape_fail(q, TLMC_E_TOO_BIG, "axis %d is over the limit of 4294967295",
                                   axis);
    }
    return true;
}

/* The type of a slice of `x`; false with a message when a bound lies outside. */
static bool slice_type(struct tlmc_shape_query *q, const struct tlmc_type *x, struct tlmc_type *out)
{
    const struct tlmc_attr *starts = tlmc_shape_attr(q, TLMC_A_STARTS);
    const struct tlmc_attr *stops = tlmc_shape_attr(q, TLMC_A_STOPS);
    const struct tlmc_attr *steps = tlmc_shape_attr(q, TLMC_A_STEPS);
    int i;

    if (starts->count != (uint32_t)x->rank || stops->count != (uint32_t)x->rank ||
        steps->count != (uint32_t)x->rank)
        return tlmc_shape_fail(q, TLMC_E_RANK, "slice names %u, %u and %u axes, %s has %d",
                               starts->count, stops->count, steps->count, TYPE_TEXT(x), x->rank);
    *out = *x;
    for (i = 0; i < x->rank; i++) {
        const int64_t start = starts->v.ints[i], stop = stops->v.ints[i], step = steps->v.ints[i];

        if (step < 1)
            return tlmc_shape_fail(q, TLMC_E_BOUNDS, "step %lld of axis %d is not positive",
                                   (long long)step, i);
        if (start < 0 || stop < start || stop > x->dims[i])
            return tlmc_shape_fail(q, TLMC_E_BOUNDS, "slice %lld:%lld is outside axis %d of %s",
                                   (long long)start, (long long)stop, i, TYPE_TEXT(x));
        out->dims[i] = (stop - start) / step + ((stop - start) % step != 0);
    }
    return true;
}

bool tlmc_shape_slice(struct tlmc_shape_query *q)
{
    return slice_type(q, q->in[0], &q->out[0]);
}

bool tlmc_shape_slice_vjp(struct tlmc_shape_query *q)
{
    struct tlmc_type part;

    return tlmc_shape_from_attr(q, q->in[0]->dtype, &q->out[0]) &&
           slice_type(q, &q->out[0], &part) && tlmc_shape_want_type(q, 0, "the sliced part", &part);
}

/* x's axis `axis` replaced by the axes of `index`, as NumPy's take. */
static bool take_type(struct tlmc_shape_query *q, const struct tlmc_type *x, int axis,
                      const struct tlmc_type *index, struct tlmc_type *out)
{
    int i, n = 0;

    if (x->rank - 1 + index->rank > TLMC_MAX_RANK)
        return tlmc_shape_fail(q, TLMC_E_TOO_BIG, "rank %d is over the limit of %d",
                               x->rank - 1 + index->rank, TLMC_MAX_RANK);
    *out = (struct tlmc_type){ .dtype = x->dtype, .rank = x->rank - 1 + index->rank };
    for (i = 0; i < axis; i++)
        out->dims[n++] = x->dims[i];
    for (i = 0; i < index->rank; i++)
        out->dims[n++] = index->dims[i];
    for (i = axis + 1; i < x->rank; i++)
        out->dims[n++] = x->dims[i];
    return true;
}

bool tlmc_shape_gather(struct tlmc_shape_query *q)
{
    const int axis = tlmc_shape_axis(q, q->in[0]->rank);

    return axis >= 0 && tlmc_shape_want_dtype(q, 1, TLMC_I32) &&
           take_type(q, q->in[0], axis, q->in[1], &q->out[0]);
}

bool tlmc_shape_embedding(struct tlmc_shape_query *q)
{
    if (!tlmc_shape_want_dtype(q, 0, TLMC_I32))
        return false;
    if (q->in[1]->rank != 2)
        return tlmc_shape_fail(q, TLMC_E_RANK, "the table must be a matrix, not %s",
                               TYPE_TEXT(q->in[1]));
    return take_type(q, q->in[1], 0, q->in[0], &q->out[0]);
}

bool tlmc_shape_scatter_add(struct tlmc_shape_query *q)
{
    const int axis = tlmc_shape_axis(q, q->in[0]->rank);
    struct tlmc_type updates;

    if (axis < 0 || !tlmc_shape_want_dtype(q, 1, TLMC_I32) || !tlmc_shape_want_real(q, 0) ||
        !take_type(q, q->in[0], axis, q->in[1], &updates) || !tlmc_shape_check_fits(q, &updates) ||
        !tlmc_shape_want_type(q, 2, "updates", &updates))
        return false;
    q->out[0] = *q->in[0];
    return true;
}
