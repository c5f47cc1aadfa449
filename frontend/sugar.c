/* Shapes, creation and queries: what is written short and lowered to reshape, permute, slice,
   concat and constants. */
#include "sema.h"

#include <stdlib.h>
#include <string.h>

static struct tlmc_results failed(void)
{
    return tlmc_result(tlmc_val_poison());
}

static struct tlmc_results fail(struct tlmc_call *c, enum tlmc_diag_code code, const char *text)
{
    tlmc_sema_error(c->s, c->f, c->node->span, code, "%s", text);
    return failed();
}

/* A list of at most 8 sizes; false after a report. */
static bool list_dims(struct tlmc_call *c, const struct tlmc_val *list, int64_t lowest, int *rank,
                      int64_t *dims)
{
    if (tlmc_list_count(list) > TLMC_MAX_RANK) {
        tlmc_sema_error(c->s, c->f, c->node->span, TLMC_E_TOO_BIG, "%u axes; at most %d",
                        tlmc_list_count(list), TLMC_MAX_RANK);
        return false;
    }
    *rank = (int)tlmc_list_count(list);
    for (int i = 0; i < *rank; i++) {
        dims[i] = tlmc_list_item(list, (uint32_t)i).u.i;
        if (dims[i] < lowest) {
            tlmc_sema_error(c->s, c->f, c->node->span, TLMC_E_SHAPE, "%lld is no size in %s",
                            (long long)dims[i], tlmc_show(c->s, list));
            return false;
        }
    }
    return true;
}

static const struct tlmc_type *operand(struct tlmc_call *c)
{
    return tlmc_type_of(c->s, &c->v[0]);
}

static struct tlmc_results reshaped(struct tlmc_call *c, int rank, const int64_t *dims)
{
    if (rank > TLMC_MAX_RANK)
        return fail(c, TLMC_E_TOO_BIG, "the result has more than 8 axes");
    tlmc_stamp(c->s, c->f, c->node);
    return tlmc_result_of(tlmc_build_reshape(c->s->graph, c->v[0].u.value, rank, dims), c->v, 1);
}

/* ---- reshape, permute, broadcast: written, so they stand in the graph even when they change
   nothing */

/* Fills in the one -1. */
static bool complete_shape(struct tlmc_call *c, int rank, int64_t *dims)
{
    struct tlmc_type rest = { .dtype = TLMC_F32 };
    const int64_t have = tlmc_type_count(operand(c));
    int64_t filled;
    int open = -1;

    for (int i = 0; i < rank; i++) {
        if (dims[i] >= 0) {
            rest.dims[rest.rank++] = dims[i];
            continue;
        }
        if (open >= 0) {
            fail(c, TLMC_E_SHAPE, "more than one -1 in a shape");
            return false;
        }
        open = i;
    }
    if (!tlmc_check_type(c->s, c->f, c->node, &rest))
        return false;
    filled = tlmc_type_count(&rest);
    if (open >= 0 && filled && have % filled == 0)
        dims[open] = have / filled;
    else if (open >= 0 || filled != have) {
        tlmc_sema_error(c->s, c->f, c->node->span, TLMC_E_SHAPE,
                        "%s has %lld elements, they do not fill %s", tlmc_show(c->s, &c->v[0]),
                        (long long)have, tlmc_show(c->s, &c->v[1]));
        return false;
    }
    return true;
}

static struct tlmc_results with_ints(struct tlmc_call *c, enum tlmc_op op, enum tlmc_attr_tag tag,
                                     int count, const int64_t *ints)
{
    const struct tlmc_attr attr = tlmc_attr_ints(tag, (uint32_t)count, ints);

    return tlmc_result_of(tlmc_emit(c->s, c->f, c->node, op, &c->v[0].u.value, 1, &attr, 1), c->v,
                          1);
}

struct tlmc_results tlmc_fn_reshape(struct tlmc_call *c)
{
    int64_t dims[TLMC_MAX_RANK];
    int rank;

    if (!tlmc_call_tensor(c, 0) || !list_dims(c, &c->v[1], -1, &rank, dims) ||
        !complete_shape(c, rank, dims))
        return failed();
    return with_ints(c, TLMC_OP_RESHAPE, TLMC_A_SHAPE, rank, dims);
}

struct tlmc_results tlmc_fn_permute(struct tlmc_call *c)
{
    int64_t perm[TLMC_MAX_RANK];
    bool seen[TLMC_MAX_RANK] = { 0 };
    int rank;

    if (!tlmc_call_tensor(c, 0) || !list_dims(c, &c->v[1], -TLMC_MAX_RANK, &rank, perm))
        return failed();
    for (int i = 0; i < rank; i++) {
        if (rank != operand(c)->rank || !tlmc_call_axis(c, &perm[i], rank) || seen[perm[i]]) {
            tlmc_sema_error(c->s, c->f, c->node->span, TLMC_E_ATTRIBUTE,
                            "%s is no permutation of the axes of %s", tlmc_show(c->s, &c->v[1]),
                            tlmc_show(c->s, &c->v[0]));
            return failed();
        }
        seen[perm[i]] = true;
    }
    return with_ints(c, TLMC_OP_PERMUTE, TLMC_A_PERM, rank, perm);
}

struct tlmc_results tlmc_fn_broadcast(struct tlmc_call *c)
{
    int64_t dims[TLMC_MAX_RANK];
    struct tlmc_type want, all;
    int rank;

    if (!tlmc_call_tensor(c, 0) || !list_dims(c, &c->v[1], 0, &rank, dims))
        return failed();
    want = tlmc_type_make(operand(c)->dtype, rank, dims);
    if (!tlmc_check_type(c->s, c->f, c->node, &want))
        return failed();
    if (!tlmc_broadcast_types(operand(c), &want, &all) || !tlmc_shape_equal(&all, &want)) {
        tlmc_sema_error(c->s, c->f, c->node->span, TLMC_E_BROADCAST, "%s does not broadcast to %s",
                        tlmc_show(c->s, &c->v[0]), tlmc_show(c->s, &c->v[1]));
        return failed();
    }
    return with_ints(c, TLMC_OP_BROADCAST, TLMC_A_SHAPE, rank, dims);
}

struct tlmc_results tlmc_fn_transpose(struct tlmc_call *c)
{
    int64_t perm[TLMC_MAX_RANK];

    if (!tlmc_call_tensor(c, 0) || !tlmc_call_axis(c, &c->v[1].u.i, operand(c)->rank) ||
        !tlmc_call_axis(c, &c->v[2].u.i, operand(c)->rank))
        return failed();
    for (int i = 0; i < TLMC_MAX_RANK; i++)
        perm[i] = i;
    perm[c->v[1].u.i] = c->v[2].u.i;
    perm[c->v[2].u.i] = c->v[1].u.i;
    tlmc_stamp(c->s, c->f, c->node);
    return tlmc_result_of(tlmc_build_permute(c->s->graph, c->v[0].u.value, perm), c->v, 1);
}

struct tlmc_results tlmc_fn_unsqueeze(struct tlmc_call *c)
{
    int64_t dims[TLMC_MAX_RANK + 1];
    struct tlmc_type type;

    if (!tlmc_call_tensor(c, 0) || !tlmc_call_axis(c, &c->v[1].u.i, operand(c)->rank + 1))
        return failed();
    type = *operand(c);
    for (int i = 0; i <= type.rank; i++)
        dims[i] = i < c->v[1].u.i ? type.dims[i] : i == c->v[1].u.i ? 1 : type.dims[i - 1];
    return reshaped(c, type.rank + 1, dims);
}

struct tlmc_results tlmc_fn_squeeze(struct tlmc_call *c)
{
    int64_t dims[TLMC_MAX_RANK];
    struct tlmc_type type;

    if (!tlmc_call_tensor(c, 0) || !tlmc_call_axis(c, &c->v[1].u.i, operand(c)->rank))
        return failed();
    type = *operand(c);
    if (type.dims[c->v[1].u.i] != 1) {
        tlmc_sema_error(c->s, c->f, c->node->span, TLMC_E_SHAPE, "axis %lld of %s is not 1",
                        (long long)c->v[1].u.i, tlmc_show(c->s, &c->v[0]));
        return failed();
    }
    for (int i = 0, k = 0; i < type.rank; i++)
        if (i != c->v[1].u.i)
            dims[k++] = type.dims[i];
    return reshaped(c, type.rank - 1, dims);
}

/* ---- joining and cutting */

static bool list_tensors(struct tlmc_call *c, struct tlmc_val **items, uint32_t **ids,
                         uint32_t *count)
{
    enum tlmc_dtype like = TLMC_DTYPE_COUNT;

    *count = tlmc_list_count(&c->v[0]);
    if (!*count) {
        fail(c, TLMC_E_SHAPE, "the list is empty: nothing says what the result would be");
        return false;
    }
    if (*count > TLMC_MAX_PARTS) {
        fail(c, TLMC_E_TOO_BIG, "more than 65536 parts");
        return false;
    }
    *items = TLMC_NEW_ARRAY(c->s->arena, struct tlmc_val, *count);
    *ids = TLMC_NEW_ARRAY(c->s->arena, uint32_t, *count);
    for (uint32_t i = 0; i < *count && like == TLMC_DTYPE_COUNT; i++) {
        const struct tlmc_val v = tlmc_list_item(&c->v[0], i);

        like = v.kind == TLMC_V_TENSOR ? tlmc_type_of(c->s, &v)->dtype : like;
    }
    for (uint32_t i = 0; i < *count; i++) {
        const struct tlmc_val v = tlmc_list_item(&c->v[0], i);

        if (!tlmc_to_tensor(c->s, c->f, c->node, &v, like, &(*items)[i]))
            return false;
        (*ids)[i] = (*items)[i].u.value;
    }
    return true;
}

static struct tlmc_results joined(struct tlmc_call *c, const uint32_t *ids,
                                  const struct tlmc_val *items, uint32_t count)
{
    const struct tlmc_attr axis = tlmc_attr_int(TLMC_A_AXIS, c->v[1].u.i);

    return tlmc_result_of(tlmc_emit(c->s, c->f, c->node, TLMC_OP_CONCAT, ids, count, &axis, 1),
                          items, count);
}

struct tlmc_results tlmc_fn_concat(struct tlmc_call *c)
{
    struct tlmc_val *items;
    uint32_t *ids, count;

    if (!list_tensors(c, &items, &ids, &count) ||
        !tlmc_call_axis(c, &c->v[1].u.i, tlmc_type_of(c->s, &items[0])->rank))
        return failed();
    return joined(c, ids, items, count);
}

struct tlmc_results tlmc_fn_stack(struct tlmc_call *c)
{
    struct tlmc_val *items;
    uint32_t *ids, count;
    struct tlmc_type type;
    int64_t dims[TLMC_MAX_RANK + 1];

    if (!list_tensors(c, &items, &ids, &count) ||
        !tlmc_call_axis(c, &c->v[1].u.i, tlmc_type_of(c->s, &items[0])->rank + 1))
        return failed();
    type = *tlmc_type_of(c->s, &items[0]);
    if (type.rank == TLMC_MAX_RANK)
        return fail(c, TLMC_E_TOO_BIG, "the result has more than 8 axes");
    for (int i = 0; i <= type.rank; i++)
        dims[i] = i < c->v[1].u.i ? type.dims[i] : i == c->v[1].u.i ? 1 : type.dims[i - 1];
    for (uint32_t i = 0; i < count; i++) {
        if (!tlmc_type_equal(&type, tlmc_type_of(c->s, &items[i]))) {
            tlmc_sema_error(c->s, c->f, c->node->span, TLMC_E_SHAPE,
                            "stack of different types: %s and %s", tlmc_show(c->s, &items[0]),
                            tlmc_show(c->s, &items[i]));
            return failed();
        }
        tlmc_stamp(c->s, c->f, c->node);
        ids[i] = tlmc_build_reshape(c->s->graph, items[i].u.value, type.rank + 1, dims);
    }
    return joined(c, ids, items, count);
}

/* Cuts an axis into pieces of these sizes. */
static struct tlmc_results cut(struct tlmc_call *c, int64_t axis, const int64_t *sizes,
                               uint32_t count)
{
    const struct tlmc_type type = *operand(c);
    int64_t starts[TLMC_MAX_RANK] = { 0 }, stops[TLMC_MAX_RANK], steps[TLMC_MAX_RANK], at = 0;
    struct tlmc_val *items = TLMC_NEW_ARRAY(c->s->arena, struct tlmc_val, count + 1);

    for (int i = 0; i < type.rank; i++) {
        stops[i] = type.dims[i];
        steps[i] = 1;
    }
    tlmc_stamp(c->s, c->f, c->node);
    for (uint32_t i = 0; i < count; i++) {
        starts[axis] = at;
        stops[axis] = at += sizes[i];
        items[i] = tlmc_joined(tlmc_build_slice(c->s->graph, c->v[0].u.value, starts, stops, steps),
                               c->v, 1);
    }
    return (struct tlmc_results){ .count = count, .one = items[0], .items = items };
}

struct tlmc_results tlmc_fn_split(struct tlmc_call *c)
{
    int64_t *sizes, sum = 0, size;
    uint32_t count;

    if (c->v[1].kind != TLMC_V_LIST)
        return fail(c, TLMC_E_KIND,
                    "split takes the list of sizes; for equal parts use chunk(x, parts)");
    if (!tlmc_call_tensor(c, 0) || !tlmc_call_axis(c, &c->v[2].u.i, operand(c)->rank))
        return failed();
    count = tlmc_list_count(&c->v[1]);
    if (count > TLMC_MAX_PARTS)
        return fail(c, TLMC_E_TOO_BIG, "more than 65536 parts");
    size = operand(c)->dims[c->v[2].u.i];
    sizes = TLMC_NEW_ARRAY(c->s->arena, int64_t, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        const struct tlmc_val v = tlmc_list_item(&c->v[1], i);

        if (v.kind != TLMC_V_INT || v.u.i < 0 || v.u.i > size)
            return fail(c, TLMC_E_SHAPE,
                        "a size of split is an integer from 0 to the size of the axis");
        sum += sizes[i] = v.u.i;
    }
    if (sum != size) {
        tlmc_sema_error(c->s, c->f, c->node->span, TLMC_E_SHAPE,
                        "sizes %s add up to %lld, axis %lld of %s has %lld",
                        tlmc_show(c->s, &c->v[1]), (long long)sum, (long long)c->v[2].u.i,
                        tlmc_show(c->s, &c->v[0]), (long long)size);
        return failed();
    }
    return cut(c, c->v[2].u.i, sizes, count);
}

struct tlmc_results tlmc_fn_chunk(struct tlmc_call *c)
{
    const int64_t parts = c->v[1].u.i;
    int64_t *sizes, size;

    if (!tlmc_call_tensor(c, 0) || !tlmc_call_axis(c, &c->v[2].u.i, operand(c)->rank))
        return failed();
    size = operand(c)->dims[c->v[2].u.i];
    if (parts < 1 || parts > TLMC_MAX_PARTS || size % parts) {
        tlmc_sema_error(c->s, c->f, c->node->span, TLMC_E_SHAPE,
                        "%lld parts do not divide axis %lld of %s", (long long)parts,
                        (long long)c->v[2].u.i, tlmc_show(c->s, &c->v[0]));
        return failed();
    }
    sizes = TLMC_NEW_ARRAY(c->s->arena, int64_t, (size_t)parts);
    for (int64_t i = 0; i < parts; i++)
        sizes[i] = size / parts;
    return cut(c, c->v[2].u.i, sizes, (uint32_t)parts);
}

struct tlmc_results tlmc_fn_slice(struct tlmc_call *c)
{
    int64_t ends[3][TLMC_MAX_RANK];
    struct tlmc_attr attrs[3];
    int rank;

    if (!tlmc_call_tensor(c, 0))
        return failed();
    for (int i = 0; i < 3; i++) {
        if (!list_dims(c, &c->v[1 + i], 0, &rank, ends[i]))
            return failed();
        attrs[i] = tlmc_attr_ints(i == 0   ? TLMC_A_STARTS
                                  : i == 1 ? TLMC_A_STOPS
                                           : TLMC_A_STEPS,
                                  (uint32_t)rank, ends[i]);
    }
    return tlmc_result_of(tlmc_emit(c->s, c->f, c->node, TLMC_OP_SLICE, &c->v[0].u.value, 1, attrs,
                                    3),
                          c->v, 1);
}

/* ---- creation */

static struct tlmc_results filled(struct tlmc_call *c, enum tlmc_dtype dtype, double value)
{
    int64_t dims[TLMC_MAX_RANK];
    struct tlmc_type type;
    int rank;

    if (!list_dims(c, &c->v[0], 0, &rank, dims))
        return failed();
    type = tlmc_type_make(dtype, rank, dims);
    if (!tlmc_check_type(c->s, c->f, c->node, &type))
        return failed();
    tlmc_stamp(c->s, c->f, c->node);
    return tlmc_result_of(tlmc_build_full(c->s->graph, &type, value), NULL, 0);
}

struct tlmc_results tlmc_fn_zeros(struct tlmc_call *c)
{
    return filled(c, TLMC_F32, 0.0);
}

struct tlmc_results tlmc_fn_ones(struct tlmc_call *c)
{
    return filled(c, TLMC_F32, 1.0);
}

struct tlmc_results tlmc_fn_full(struct tlmc_call *c)
{
    const struct tlmc_val v = c->v[1];

    if (v.kind == TLMC_V_BOOL)
        return filled(c, TLMC_BOOL, v.u.b);
    if (v.kind == TLMC_V_INT && v.u.i >= INT32_MIN && v.u.i <= INT32_MAX)
        return filled(c, TLMC_I32, (double)v.u.i);
    if (v.kind == TLMC_V_FLOAT)
        return filled(c, TLMC_F32, (float)v.u.f);
    return fail(c, TLMC_E_KIND, "full takes a compile-time number that fits its type");
}

static struct tlmc_results counted(struct tlmc_call *c, int64_t start, int rank,
                                   const int64_t *dims)
{
    const struct tlmc_attr attrs[2] = { tlmc_attr_int(TLMC_A_START, start),
                                        tlmc_attr_ints(TLMC_A_SHAPE, (uint32_t)rank, dims) };
    const struct tlmc_type type = tlmc_type_make(TLMC_I32, rank, dims);

    if (!tlmc_check_type(c->s, c->f, c->node, &type))
        return failed();
    if (start < INT32_MIN || start > INT32_MAX || start + tlmc_type_count(&type) - 1 > INT32_MAX)
        return fail(c, TLMC_E_ARITHMETIC, "the numbers do not fit i32");
    return tlmc_result_of(tlmc_emit(c->s, c->f, c->node, TLMC_OP_IOTA, NULL, 0, attrs, 2), NULL, 0);
}

struct tlmc_results tlmc_fn_arange(struct tlmc_call *c)
{
    const bool both = c->v[1].kind == TLMC_V_INT;
    const int64_t from = both ? c->v[0].u.i : 0, to = both ? c->v[1].u.i : c->v[0].u.i;
    int64_t count;

    if (!both && c->v[1].kind != TLMC_V_NONE)
        return fail(c, TLMC_E_KIND, "the ends of arange are compile-time integers");
    if (from < INT32_MIN || to > INT32_MAX || to < from)
        return fail(c, TLMC_E_ARITHMETIC, "arange counts upwards within i32");
    count = to - from;
    return counted(c, from, 1, &count);
}

struct tlmc_results tlmc_fn_iota(struct tlmc_call *c)
{
    int64_t dims[TLMC_MAX_RANK];
    int rank;

    return list_dims(c, &c->v[0], 0, &rank, dims) ? counted(c, c->v[1].u.i, rank, dims) : failed();
}

/* Draws are numbered in the order of elaboration: each place has a stream of its own. */
static struct tlmc_results draw(struct tlmc_call *c, enum tlmc_op op, uint32_t attr_count,
                                double keep)
{
    int64_t dims[TLMC_MAX_RANK];
    struct tlmc_attr attrs[3];
    struct tlmc_type type;
    struct tlmc_results r;
    int rank;

    if (!list_dims(c, &c->v[0], 0, &rank, dims))
        return failed();
    type = tlmc_type_make(TLMC_F32, rank, dims);
    if (!tlmc_check_type(c->s, c->f, c->node, &type))
        return failed();
    attrs[0] = tlmc_attr_ints(TLMC_A_SHAPE, (uint32_t)rank, dims);
    attrs[1] = tlmc_attr_int(TLMC_A_SITE, c->s->work->form.random_sites++);
    attrs[2] = tlmc_attr_float(TLMC_A_KEEP, keep);
    r = tlmc_result_of(tlmc_emit(c->s, c->f, c->node, op, NULL, 0, attrs, attr_count), NULL, 0);
    r.one.constant = false;
    return r;
}

struct tlmc_results tlmc_fn_rand_uniform(struct tlmc_call *c)
{
    return draw(c, TLMC_OP_RAND_UNIFORM, 2, 0.0);
}

struct tlmc_results tlmc_fn_bernoulli_mask(struct tlmc_call *c)
{
    if (!(c->v[1].u.f >= 0.0 && c->v[1].u.f <= 1.0))
        return fail(c, TLMC_E_ATTRIBUTE, "keep is a probability from 0 to 1");
    return draw(c, TLMC_OP_BERNOULLI_MASK, 3, c->v[1].u.f);
}

/* ---- of compile-time values */

struct tlmc_results tlmc_fn_len(struct tlmc_call *c)
{
    return tlmc_result(tlmc_val_int(tlmc_list_count(&c->v[0])));
}

struct tlmc_results tlmc_fn_prod(struct tlmc_call *c)
{
    int64_t product = 1;

    for (uint32_t i = 0; i < tlmc_list_count(&c->v[0]); i++)
        if (__builtin_mul_overflow(product, tlmc_list_item(&c->v[0], i).u.i, &product))
            return fail(c, TLMC_E_ARITHMETIC, "the product overflows 64 bits");
    return tlmc_result(tlmc_val_int(product));
}

struct tlmc_results tlmc_fn_size(struct tlmc_call *c)
{
    if (c->v[0].kind != TLMC_V_TENSOR)
        return fail(c, TLMC_E_KIND, "size is of a tensor; the length of a list is len");
    if (!tlmc_call_axis(c, &c->v[1].u.i, operand(c)->rank))
        return failed();
    return tlmc_result(tlmc_val_int(operand(c)->dims[c->v[1].u.i]));
}

struct tlmc_results tlmc_fn_rank(struct tlmc_call *c)
{
    if (c->v[0].kind != TLMC_V_TENSOR)
        return fail(c, TLMC_E_KIND, "rank is of a tensor; the length of a list is len");
    return tlmc_result(tlmc_val_int(operand(c)->rank));
}

struct tlmc_results tlmc_fn_int(struct tlmc_call *c)
{
    const struct tlmc_val v = c->v[0];

    if (v.kind == TLMC_V_INT)
        return tlmc_result(v);
    if (v.kind == TLMC_V_FLOAT && v.u.f >= -9007199254740992.0 && v.u.f <= 9007199254740992.0 &&
        v.u.f == (double)(int64_t)v.u.f)
        return tlmc_result(tlmc_val_int((int64_t)v.u.f));
    tlmc_sema_error(c->s, c->f, c->node->span,
                    v.kind == TLMC_V_FLOAT ? TLMC_E_ARITHMETIC : TLMC_E_KIND,
                    "int of %s, which is no whole number%s", tlmc_show(c->s, &v),
                    v.kind == TLMC_V_TENSOR ? "; the cast of a tensor is i32(x)" : "");
    return failed();
}

struct tlmc_results tlmc_fn_float(struct tlmc_call *c)
{
    const struct tlmc_val v = c->v[0];

    if (tlmc_val_is_number(&v))
        return tlmc_result(tlmc_val_float(tlmc_val_number(&v)));
    tlmc_sema_error(c->s, c->f, c->node->span, TLMC_E_KIND, "float of %s, which is no number%s",
                    tlmc_show(c->s, &v),
                    v.kind == TLMC_V_TENSOR ? "; the cast of a tensor is f32(x)" : "");
    return failed();
}
