/* Builders of common nodes for passes, derivative rules and the front end.  Operands must fit: who
   cannot know that asks tlmc_shape_infer first, here a misfit is our own fault.  A builder that
   would change nothing returns its input. */
#include "graph.h"

uint32_t tlmc_build1(struct tlmc_graph *g, enum tlmc_op op, uint32_t x)
{
    return tlmc_add_node(g, op, &x, 1, NULL, 0);
}

uint32_t tlmc_build2(struct tlmc_graph *g, enum tlmc_op op, uint32_t a, uint32_t b)
{
    const uint32_t inputs[] = { a, b };

    return tlmc_add_node(g, op, inputs, 2, NULL, 0);
}

uint32_t tlmc_build3(struct tlmc_graph *g, enum tlmc_op op, uint32_t a, uint32_t b, uint32_t c)
{
    const uint32_t inputs[] = { a, b, c };

    return tlmc_add_node(g, op, inputs, 3, NULL, 0);
}

uint32_t tlmc_build_const(struct tlmc_graph *g, enum tlmc_dtype dtype, double value)
{
    const struct tlmc_type type = tlmc_type_make(dtype, 0, NULL);

    return tlmc_build_tensor(g, &type, &value);
}

static struct tlmc_attr shape_attr(const struct tlmc_type *type)
{
    return tlmc_attr_ints(TLMC_A_SHAPE, (uint32_t)type->rank, type->dims);
}

uint32_t tlmc_build_tensor(struct tlmc_graph *g, const struct tlmc_type *type, const double *data)
{
    const struct tlmc_attr attrs[] = {
        shape_attr(type),
        tlmc_attr_int(TLMC_A_DTYPE, type->dtype),
        tlmc_attr_data(TLMC_A_DATA, (uint32_t)tlmc_type_count(type), data),
    };

    return tlmc_add_node(g, TLMC_OP_CONST, NULL, 0, attrs, 3);
}

uint32_t tlmc_build_full(struct tlmc_graph *g, const struct tlmc_type *type, double value)
{
    return tlmc_build_broadcast(g, tlmc_build_const(g, type->dtype, value), type);
}

uint32_t tlmc_build_leaf(struct tlmc_graph *g, enum tlmc_op leaf, uint32_t slot,
                         const struct tlmc_type *type)
{
    const struct tlmc_attr attrs[] = {
        tlmc_attr_int(TLMC_A_SLOT, slot),
        tlmc_attr_int(TLMC_A_DTYPE, type->dtype),
        shape_attr(type),
    };

    return tlmc_add_node(g, leaf, NULL, 0, attrs, leaf == TLMC_OP_SCALAR ? 2 : 3);
}

uint32_t tlmc_build_scale(struct tlmc_graph *g, uint32_t x, double factor)
{
    const struct tlmc_attr attr = tlmc_attr_float(TLMC_A_FACTOR, factor);

    return factor == 1 ? x : tlmc_add_node(g, TLMC_OP_SCALE, &x, 1, &attr, 1);
}

uint32_t tlmc_build_ratio(struct tlmc_graph *g, uint32_t a, uint32_t b)
{
    const uint32_t zero = tlmc_build_full(g, tlmc_value_type(g, b), 0);

    return tlmc_build3(g, TLMC_OP_WHERE, tlmc_build2(g, TLMC_OP_EQ, b, zero), zero,
                       tlmc_build2(g, TLMC_OP_DIV, a, b));
}

uint32_t tlmc_build_reshape(struct tlmc_graph *g, uint32_t x, int rank, const int64_t *dims)
{
    const struct tlmc_type to = tlmc_type_make(tlmc_value_type(g, x)->dtype, rank, dims);
    const struct tlmc_attr attr = shape_attr(&to);

    if (tlmc_shape_equal(tlmc_value_type(g, x), &to))
        return x;
    return tlmc_add_node(g, TLMC_OP_RESHAPE, &x, 1, &attr, 1);
}

uint32_t tlmc_build_permute(struct tlmc_graph *g, uint32_t x, const int64_t *perm)
{
    const int rank = tlmc_value_type(g, x)->rank;
    const struct tlmc_attr attr = tlmc_attr_ints(TLMC_A_PERM, (uint32_t)rank, perm);
    int i;

    for (i = 0; i < rank && perm[i] == i; i++)
        ;
    return i == rank ? x : tlmc_add_node(g, TLMC_OP_PERMUTE, &x, 1, &attr, 1);
}

uint32_t tlmc_build_transpose(struct tlmc_graph *g, uint32_t x)
{
    const int rank = tlmc_value_type(g, x)->rank;
    int64_t perm[TLMC_MAX_RANK];
    int i;

    TLMC_CHECK(rank >= 2);
    for (i = 0; i < rank; i++)
        perm[i] = i;
    perm[rank - 2] = rank - 1;
    perm[rank - 1] = rank - 2;
    return tlmc_build_permute(g, x, perm);
}

uint32_t tlmc_build_broadcast(struct tlmc_graph *g, uint32_t x, const struct tlmc_type *to)
{
    const struct tlmc_attr attr = shape_attr(to);

    if (tlmc_shape_equal(tlmc_value_type(g, x), to))
        return x;
    return tlmc_add_node(g, TLMC_OP_BROADCAST, &x, 1, &attr, 1);
}

static bool are_adjacent(uint32_t count, const int64_t *axes)
{
    uint32_t i;

    for (i = 1; i < count; i++)
        if (axes[i] != axes[i - 1] + 1)
            return false;
    return true;
}

/* Moves the axes to the end, in their order; *first is where they then begin. */
static uint32_t axes_to_end(struct tlmc_graph *g, uint32_t x, uint32_t count, const int64_t *axes,
                            int *first)
{
    const int rank = tlmc_value_type(g, x)->rank;
    int64_t perm[TLMC_MAX_RANK];
    int n = 0;
    uint32_t k = 0;
    int i;

    for (i = 0; i < rank; i++) {
        if (k < count && axes[k] == i)
            k++;
        else
            perm[n++] = i;
    }
    TLMC_CHECK(k == count);
    *first = n;
    for (k = 0; k < count; k++)
        perm[n++] = axes[k];
    return tlmc_build_permute(g, x, perm);
}

uint32_t tlmc_build_reduce(struct tlmc_graph *g, enum tlmc_op op, uint32_t x, uint32_t axis_count,
                           const int64_t *axes, bool keepdims)
{
    struct tlmc_type kept = *tlmc_value_type(g, x);
    const bool adjacent = are_adjacent(axis_count, axes);
    int64_t moved[TLMC_MAX_RANK];
    struct tlmc_attr attrs[2];
    uint32_t i;
    int first;

    TLMC_CHECK(axis_count <= (uint32_t)kept.rank);
    if (axis_count == 0)
        return x;
    for (i = 0; i < axis_count; i++) {
        TLMC_CHECK(axes[i] >= 0 && axes[i] < kept.rank);
        kept.dims[axes[i]] = 1;
        moved[i] = axes[i];
    }
    if (!adjacent) {
        x = axes_to_end(g, x, axis_count, axes, &first);
        for (i = 0; i < axis_count; i++)
            moved[i] = first + (int)i;
    }
    attrs[0] = tlmc_attr_ints(TLMC_A_AXES, axis_count, moved);
    attrs[1] = tlmc_attr_int(TLMC_A_KEEPDIMS, adjacent && keepdims);
    x = tlmc_add_node(g, op, &x, 1, attrs, 2);
    return keepdims ? tlmc_build_reshape(g, x, kept.rank, kept.dims) : x;
}

uint32_t tlmc_build_unbroadcast(struct tlmc_graph *g, uint32_t x, const struct tlmc_type *to)
{
    const struct tlmc_type from = *tlmc_value_type(g, x);
    const int extra = from.rank - to->rank;
    int64_t axes[TLMC_MAX_RANK];
    uint32_t count = 0;
    int i;

    TLMC_CHECK(extra >= 0);
    for (i = 0; i < from.rank; i++)
        if (i < extra || to->dims[i - extra] != from.dims[i])
            axes[count++] = i;
    x = tlmc_build_reduce(g, TLMC_OP_REDUCE_SUM, x, count, axes, false);
    return tlmc_build_reshape(g, x, to->rank, to->dims);
}

uint32_t tlmc_build_slice(struct tlmc_graph *g, uint32_t x, const int64_t *starts,
                          const int64_t *stops, const int64_t *steps)
{
    const struct tlmc_type *type = tlmc_value_type(g, x);
    const uint32_t rank = (uint32_t)type->rank;
    const struct tlmc_attr attrs[] = {
        tlmc_attr_ints(TLMC_A_STARTS, rank, starts),
        tlmc_attr_ints(TLMC_A_STOPS, rank, stops),
        tlmc_attr_ints(TLMC_A_STEPS, rank, steps),
    };
    uint32_t i;

    for (i = 0; i < rank && starts[i] == 0 && stops[i] == type->dims[i] && steps[i] == 1; i++)
        ;
    return i == rank ? x : tlmc_add_node(g, TLMC_OP_SLICE, &x, 1, attrs, 3);
}

uint32_t tlmc_build_cast(struct tlmc_graph *g, uint32_t x, enum tlmc_dtype dtype)
{
    const struct tlmc_attr attr = tlmc_attr_int(TLMC_A_DTYPE, dtype);

    if (tlmc_value_type(g, x)->dtype == dtype)
        return x;
    return tlmc_add_node(g, TLMC_OP_CAST, &x, 1, &attr, 1);
}

uint32_t tlmc_build_matmul(struct tlmc_graph *g, uint32_t a, uint32_t b)
{
    const struct tlmc_type left = *tlmc_value_type(g, a);
    struct tlmc_type out = left;
    int64_t rows[2] = { 1, 0 };
    int i;

    if (tlmc_value_type(g, b)->rank != 2 || left.rank <= 2)
        return tlmc_build2(g, TLMC_OP_MATMUL, a, b);
    for (i = 0; i < left.rank - 1; i++)
        rows[0] *= left.dims[i];
    rows[1] = left.dims[left.rank - 1];
    out.dims[out.rank - 1] = tlmc_value_type(g, b)->dims[1];
    a = tlmc_build_reshape(g, a, 2, rows);
    return tlmc_build_reshape(g, tlmc_build2(g, TLMC_OP_MATMUL, a, b), out.rank, out.dims);
}

uint32_t tlmc_build_rowwise(struct tlmc_graph *g, enum tlmc_op op, uint32_t x, uint32_t mask,
                            int64_t axis)
{
    const struct tlmc_type type = *tlmc_value_type(g, x);
    int64_t back[TLMC_MAX_RANK];
    uint32_t inputs[2];
    int i, last;

    TLMC_CHECK(axis >= 0 && axis < type.rank);
    inputs[0] = axes_to_end(g, x, 1, &axis, &last);
    if (mask != TLMC_NONE)
        inputs[1] = axes_to_end(g, tlmc_build_broadcast(g, mask, &type), 1, &axis, &last);
    x = tlmc_add_node(g, op, inputs, mask == TLMC_NONE ? 1 : 2, NULL, 0);
    for (i = 0; i < type.rank; i++)
        back[i] = i < axis ? i : i == axis ? last : i - 1;
    return tlmc_build_permute(g, x, back);
}
