/* Shape sets of everything that sums: reductions, products, row-wise ops, losses.  Sizes around the
   lane count (64), the chunk (4096) and the k block (512), with zeros, primes, several axes,
   rank 8. */
#include "shapes.h"

#include <stdio.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

struct reduction {
    int rank;
    int64_t dims[TLMC_MAX_RANK];
    int first, count;
    bool keepdims;
};

static const struct reduction reductions[] = {
    { 1, { 0 }, 0, 1, false },
    { 1, { 1 }, 0, 1, false },
    { 1, { 63 }, 0, 1, false },
    { 1, { 64 }, 0, 1, true },
    { 1, { 65 }, 0, 1, false },
    { 2, { 3, 131 }, 1, 1, false },
    { 2, { 131, 3 }, 0, 1, true },
    { 3, { 5, 67, 17 }, 1, 1, false },
    { 3, { 2, 3, 0 }, 1, 1, false },
    { 3, { 2, 0, 3 }, 1, 1, false },
    { 3, { 4, 5, 6 }, 0, 2, false },
    { 3, { 4, 5, 6 }, 1, 2, true },
    { 3, { 4, 5, 6 }, 0, 3, false },
    { 2, { 2, 4095 }, 1, 1, false },
    { 1, { 4096 }, 0, 1, false },
    { 1, { 4097 }, 0, 1, false },
    { 2, { 10007, 2 }, 0, 1, false },
    { 1, { 290001 }, 0, 1, false },
    { 2, { 130, 8299 }, 1, 1, false }, /* too many rows to be cut, each a block, on CUDA */
    { 8, { 2, 1, 3, 2, 1, 2, 1, 3 }, 2, 3, false },
};

static struct ops_case *one_reduction(struct ops_list *list, const struct ops_row *row,
                                      enum tlmc_dtype dtype, const struct reduction *r)
{
    int64_t axes[TLMC_MAX_RANK];
    struct ops_case *c = ops_add(list, row, "%s %s axes %d..%d%s", tlmc_dtype_name(dtype),
                                 ops_dims_text(r->rank, r->dims), r->first, r->first + r->count - 1,
                                 r->keepdims ? " kept" : "");

    for (int i = 0; i < r->count; i++)
        axes[i] = r->first + i;
    ops_operand(c, OPS_INPUT, dtype, r->rank, r->dims);
    ops_attr_ints(list, c, TLMC_A_AXES, (uint32_t)r->count, axes);
    ops_attr_int(c, TLMC_A_KEEPDIMS, r->keepdims);
    return c;
}

/* One row a special number: the number among ordinary ones, then rows of nothing else. */
static void special_rows(struct ops_list *list, const struct ops_row *row, struct ops_case *c)
{
    double values[32];
    const int64_t dims[2] = { 2 * (int64_t)ops_specials(row, values), 7 };

    (void)list;
    c->name = "special values";
    c->fill = OPS_SPECIAL;
    ops_operand(c, OPS_INPUT, TLMC_F32, 2, dims);
}

static void special_reduction(struct ops_list *list, const struct ops_row *row)
{
    const int64_t axes[1] = { 1 };
    struct ops_case *c = ops_add(list, row, "special values");

    special_rows(list, row, c);
    if (row->op == TLMC_OP_ARGMAX)
        ops_attr_int(c, TLMC_A_AXIS, 1);
    else
        ops_attr_ints(list, c, TLMC_A_AXES, 1, axes);
    ops_attr_int(c, TLMC_A_KEEPDIMS, 0);
}

void ops_shapes_reduce_real(struct ops_list *list, const struct ops_row *row)
{
    for (size_t i = 0; i < COUNT(reductions); i++)
        one_reduction(list, row, TLMC_F32, &reductions[i]);
    special_reduction(list, row);
    one_reduction(list, row, TLMC_F32, &reductions[7])->fill = OPS_TIES;
    list->cases[list->count - 1].name = "f32 ties 5x67x17";
}

void ops_shapes_reduce(struct ops_list *list, const struct ops_row *row)
{
    static const int integers[] = { 0, 4, 7, 10 };

    ops_shapes_reduce_real(list, row);
    for (size_t i = 0; i < COUNT(integers); i++) {
        struct ops_case *c = one_reduction(list, row, TLMC_I32, &reductions[integers[i]]);

        c->operands[0].low = INT32_MIN;
        c->operands[0].high = INT32_MAX;
    }
}

/* (g, x, y) with g and y of the kept shape; few distinct values, so that many x equal y. */
void ops_shapes_extreme_vjp(struct ops_list *list, const struct ops_row *row)
{
    for (size_t i = 0; i < COUNT(reductions); i++) {
        const struct reduction *r = &reductions[i];
        int64_t kept[TLMC_MAX_RANK], axes[TLMC_MAX_RANK];
        struct ops_case *c;

        if (r->dims[0] > 5000)
            continue;
        c = ops_add(list, row, "%s axes %d..%d", ops_dims_text(r->rank, r->dims), r->first,
                    r->first + r->count - 1);
        for (int axis = 0; axis < r->rank; axis++)
            kept[axis] = axis >= r->first && axis < r->first + r->count ? 1 : r->dims[axis];
        for (int k = 0; k < r->count; k++)
            axes[k] = r->first + k;
        c->fill = OPS_TIES;
        ops_operand(c, OPS_INPUT, TLMC_F32, r->rank, kept);
        ops_operand(c, OPS_INPUT, TLMC_F32, r->rank, r->dims);
        ops_operand(c, OPS_INPUT, TLMC_F32, r->rank, kept);
        ops_attr_ints(list, c, TLMC_A_AXES, (uint32_t)r->count, axes);
    }
}

void ops_shapes_argmax(struct ops_list *list, const struct ops_row *row)
{
    static const struct reduction table[] = {
        { 1, { 1 }, 0, 1, false },
        { 1, { 131 }, 0, 1, false },
        { 2, { 5, 16 }, 1, 1, true },
        { 2, { 16, 5 }, 0, 1, false },
        { 3, { 3, 7, 17 }, 1, 1, false },
        { 2, { 0, 3 }, 1, 1, false },
        { 8, { 1, 2, 1, 3, 1, 2, 5, 2 }, 6, 1, false },
    };
    static const char *const names[] = { "f32 ties 3x7x17", "i32 ties 3x7x17" };

    for (size_t i = 0; i < COUNT(table) + 2; i++) {
        const bool tied = i >= COUNT(table);
        const struct reduction *r = &table[tied ? 4 : i];
        const bool integer = i > COUNT(table);
        struct ops_case *c = ops_add(list, row, "%s axis %d%s", ops_dims_text(r->rank, r->dims),
                                     r->first, r->keepdims ? " kept" : "");

        if (tied) {
            c->name = names[integer];
            c->fill = OPS_TIES;
        }
        ops_operand(c, OPS_INPUT, integer ? TLMC_I32 : TLMC_F32, r->rank, r->dims);
        ops_attr_int(c, TLMC_A_AXIS, r->first);
        ops_attr_int(c, TLMC_A_KEEPDIMS, r->keepdims);
    }
    special_reduction(list, row);
}

/* ---- products */

struct product {
    int rank_a, rank_b;
    int64_t a[TLMC_MAX_RANK], b[TLMC_MAX_RANK];
    bool ta, tb;
};

static const struct product products[] = {
    { 2, 2, { 1, 1 }, { 1, 1 }, false, false },
    { 2, 2, { 0, 3 }, { 3, 4 }, false, false },
    { 2, 2, { 3, 0 }, { 0, 4 }, false, false },
    { 2, 2, { 5, 7 }, { 7, 15 }, false, false },
    { 2, 2, { 6, 16 }, { 16, 16 }, false, false },
    { 2, 2, { 7, 17 }, { 17, 33 }, false, false },
    { 2, 2, { 13, 511 }, { 511, 17 }, false, false },
    { 2, 2, { 2, 512 }, { 32, 512 }, false, true },
    { 2, 2, { 513, 3 }, { 513, 5 }, true, false },
    { 2, 2, { 1031, 37 }, { 41, 1031 }, true, true },
    { 2, 2, { 1, 64 }, { 64, 129 }, false, false },
    { 2, 2, { 129, 8 }, { 3, 8 }, false, true },
    { 3, 3, { 4, 5, 6 }, { 4, 6, 7 }, false, false },
    { 3, 2, { 4, 5, 6 }, { 6, 7 }, false, false },
    { 4, 4, { 2, 1, 5, 6 }, { 1, 3, 6, 4 }, false, false },
    { 4, 3, { 2, 3, 6, 5 }, { 3, 4, 6 }, true, true },
    { 8, 8, { 1, 2, 1, 1, 2, 1, 3, 4 }, { 2, 1, 1, 2, 2, 1, 4, 3 }, false, false },
};

void ops_shapes_matmul(struct ops_list *list, const struct ops_row *row)
{
    for (size_t i = 0; i < COUNT(products); i++) {
        const struct product *p = &products[i];
        struct ops_case *c = ops_add(list, row, "%s%s @ %s%s", ops_dims_text(p->rank_a, p->a),
                                     p->ta ? " transposed" : "", ops_dims_text(p->rank_b, p->b),
                                     p->tb ? " transposed" : "");

        ops_operand(c, OPS_INPUT, TLMC_F32, p->rank_a, p->a);
        ops_operand(c, OPS_INPUT, TLMC_F32, p->rank_b, p->b);
        c->transpose[0] = p->ta;
        c->transpose[1] = p->tb;
    }
    {
        struct ops_case *c = ops_add(list, row, "special values");

        special_rows(list, row, c);
        ops_operand(c, OPS_INPUT, TLMC_F32, OPS_DIMS(7, 5));
    }
}

/* ---- rows */

struct row_shape {
    int rank;
    int64_t dims[TLMC_MAX_RANK];
};

static const struct row_shape row_shapes[] = {
    { 1, { 1 } },        { 1, { 17 } },      { 2, { 3, 0 } },
    { 2, { 0, 5 } },     { 2, { 5, 15 } },   { 2, { 4, 16 } },
    { 3, { 2, 3, 65 } }, { 2, { 2, 4097 } }, { 8, { 1, 2, 1, 2, 1, 3, 1, 7 } },
    { 2, { 2, 8299 } }, /* a block a row on CUDA */
};

static void rows_of(struct ops_list *list, const struct ops_row *row, int operands)
{
    for (size_t i = 0; i < COUNT(row_shapes); i++) {
        const struct row_shape *s = &row_shapes[i];
        struct ops_case *c = ops_add(list, row, "%s", ops_dims_text(s->rank, s->dims));

        for (int k = 0; k < operands; k++)
            ops_operand(c, OPS_INPUT, TLMC_F32, s->rank, s->dims);
    }
}

void ops_shapes_rows1(struct ops_list *list, const struct ops_row *row)
{
    rows_of(list, row, 1);
    if (*row->specials)
        special_rows(list, row, ops_add(list, row, "special values"));
}

void ops_shapes_rows2(struct ops_list *list, const struct ops_row *row)
{
    rows_of(list, row, 2);
}

/* Masks of the operand's shape, and masks that reach it through a broadcast; rows of one or two
   columns are often blocked altogether. */
void ops_shapes_softmax(struct ops_list *list, const struct ops_row *row)
{
    static const struct {
        struct row_shape x, mask;
    } masks[] = {
        { { 2, { 9, 1 } }, { 2, { 9, 1 } } },
        { { 2, { 23, 2 } }, { 2, { 23, 2 } } },
        { { 2, { 5, 33 } }, { 2, { 5, 33 } } },
        { { 4, { 2, 3, 5, 7 } }, { 2, { 5, 7 } } },
        { { 4, { 2, 3, 5, 7 } }, { 4, { 2, 1, 1, 7 } } },
        { { 3, { 2, 6, 4 } }, { 3, { 2, 6, 1 } } },
    };
    struct ops_case *long_row;

    ops_shapes_rows1(list, row);
    /* More than 64 chunks: a block's second turn on CUDA.  Sums of ones are exact. */
    long_row = ops_add(list, row, "constant row 270001");
    ops_operand(long_row, OPS_INPUT, TLMC_F32, OPS_DIMS(1, 270001));
    long_row->operands[0].low = long_row->operands[0].high = 1.5;
    for (size_t i = 0; i < COUNT(masks); i++) {
        const struct row_shape *x = &masks[i].x, *mask = &masks[i].mask;
        struct ops_case *c = ops_add(list, row, "%s mask %s", ops_dims_text(x->rank, x->dims),
                                     ops_dims_text(mask->rank, mask->dims));

        ops_operand(c, OPS_INPUT, TLMC_F32, x->rank, x->dims);
        ops_operand(c, OPS_INPUT, TLMC_BOOL, mask->rank, mask->dims);
        c->operands[1].low = 0;
        c->operands[1].high = 1;
        c->operands[1].repeated_to = tlmc_type_make(TLMC_BOOL, x->rank, x->dims);
        c->operands[1].repeated =
            !tlmc_shape_equal(&c->operands[1].type, &c->operands[1].repeated_to);
    }
}

/* ---- norms and losses */

static const struct row_shape norm_shapes[] = {
    { 1, { 1 } },       { 2, { 3, 2 } },    { 2, { 0, 5 } },
    { 2, { 5, 15 } },   { 2, { 4, 16 } },   { 3, { 2, 3, 67 } },
    { 2, { 2, 4097 } }, { 2, { 5003, 3 } }, { 8, { 1, 2, 1, 2, 1, 3, 1, 7 } },
    { 2, { 2, 8299 } }, /* a block a row on CUDA */
};

/* Operands by letter: x rows, c a value a column, r a value a row, i a class a row. */
static void normed(struct ops_list *list, const struct ops_row *row, const char *operands)
{
    for (size_t i = 0; i < COUNT(norm_shapes); i++) {
        const struct row_shape *s = &norm_shapes[i];
        struct ops_case *c = ops_add(list, row, "%s", ops_dims_text(s->rank, s->dims));

        for (const char *k = operands; *k; k++) {
            if (*k == 'x')
                ops_operand(c, OPS_INPUT, TLMC_F32, s->rank, s->dims);
            else if (*k == 'c')
                ops_operand(c, OPS_INPUT, TLMC_F32, 1, &s->dims[s->rank - 1]);
            else
                ops_operand(c, OPS_INPUT, *k == 'i' ? TLMC_I32 : TLMC_F32, s->rank - 1, s->dims);
            if (*k == 'i') {
                c->operands[c->operand_count - 1].low = 0;
                c->operands[c->operand_count - 1].high = (double)(s->dims[s->rank - 1] - 1);
            }
        }
    }
}

void ops_shapes_layer_norm(struct ops_list *list, const struct ops_row *row)
{
    struct ops_case *c;

    normed(list, row, "xcc");
    c = ops_add(list, row, "special values");
    special_rows(list, row, c);
    ops_operand(c, OPS_INPUT, TLMC_F32, OPS_DIMS(7));
    ops_operand(c, OPS_INPUT, TLMC_F32, OPS_DIMS(7));
    c = ops_add(list, row, "constant rows 3x9");
    ops_operand(c, OPS_INPUT, TLMC_F32, OPS_DIMS(3, 9));
    ops_operand(c, OPS_INPUT, TLMC_F32, OPS_DIMS(9));
    ops_operand(c, OPS_INPUT, TLMC_F32, OPS_DIMS(9));
    c->operands[0].low = c->operands[0].high = 1.5;
}

void ops_shapes_layer_norm_vjp(struct ops_list *list, const struct ops_row *row)
{
    normed(list, row, "xxcrr");
}

void ops_shapes_layer_norm_vjp_weight(struct ops_list *list, const struct ops_row *row)
{
    normed(list, row, "xxrr");
}

static const struct row_shape loss_shapes[] = {
    { 0, { 0 } },
    { 1, { 0 } },
    { 1, { 1 } },
    { 2, { 7, 11 } },
    { 1, { 64 } },
    { 1, { 4097 } },
    { 1, { 8299 } },  /* a block on CUDA */
    { 1, { 40009 } }, /* two launches on CUDA */
    { 8, { 1, 2, 1, 3, 1, 2, 1, 2 } },
};

static void mean_square(struct ops_list *list, const struct ops_row *row, bool backward)
{
    double values[32];
    const int64_t n = ops_specials(row, values);
    struct ops_case *c;

    for (size_t i = 0; i < COUNT(loss_shapes); i++) {
        const struct row_shape *s = &loss_shapes[i];

        c = ops_add(list, row, "%s", ops_dims_text(s->rank, s->dims));
        if (backward)
            ops_operand(c, OPS_INPUT, TLMC_F32, 0, NULL);
        for (int k = 0; k < 2; k++)
            ops_operand(c, OPS_INPUT, TLMC_F32, s->rank, s->dims);
    }
    c = ops_add(list, row, "special values");
    c->fill = OPS_SPECIAL;
    if (backward)
        ops_operand(c, OPS_INPUT, TLMC_F32, 0, NULL);
    for (int k = 0; k < 2; k++)
        ops_operand(c, OPS_INPUT, TLMC_F32, 1, &n);
}

/* Several tensors: elements of each, as vectors; then a scalar and a matrix. */
void ops_shapes_global_norm(struct ops_list *list, const struct ops_row *row)
{
    static const struct {
        int count;
        int64_t sizes[OPS_MAX_OPERANDS];
    } table[] = {
        { 1, { 1 } },
        { 1, { 0 } },
        { 1, { 63 } },
        { 1, { 4096 } },
        { 1, { 290001 } },
        { 2, { 4097, 64 } },
        { 4, { 0, 65, 0, 0 } },
        { 3, { 12289, 0, 4095 } },
        { 10, { 3, 1, 8192, 5, 0, 131, 4100, 7, 64, 65 } },
    };
    const int64_t matrix[] = { 67, 131 }, n = 7;
    struct ops_case *c;

    for (size_t i = 0; i < COUNT(table); i++) {
        c = ops_add(list, row, "%d tensors, first %s", table[i].count,
                    ops_dims_text(1, table[i].sizes));
        for (int k = 0; k < table[i].count; k++)
            ops_operand(c, OPS_INPUT, TLMC_F32, 1, &table[i].sizes[k]);
    }
    c = ops_add(list, row, "a scalar and a matrix");
    ops_operand(c, OPS_INPUT, TLMC_F32, 0, NULL);
    ops_operand(c, OPS_INPUT, TLMC_F32, 2, matrix);
    c = ops_add(list, row, "special values");
    c->fill = OPS_SPECIAL;
    for (int k = 0; k < 2; k++)
        ops_operand(c, OPS_INPUT, TLMC_F32, 1, &n);
}

void ops_shapes_mse_loss(struct ops_list *list, const struct ops_row *row)
{
    mean_square(list, row, false);
}

void ops_shapes_mse_loss_vjp(struct ops_list *list, const struct ops_row *row)
{
    mean_square(list, row, true);
}

static void refused_class(struct ops_list *list, const struct ops_row *row, const char *operands,
                          double class_id, const char *name)
{
    struct ops_case *c = ops_add(list, row, "%s", name);

    for (const char *k = operands; *k; k++) {
        if (*k == 'x')
            ops_operand(c, OPS_INPUT, TLMC_F32, OPS_DIMS(3, 5));
        else
            ops_operand(c, OPS_INPUT, *k == 'i' ? TLMC_I32 : TLMC_F32, OPS_DIMS(3));
        if (*k == 'i')
            c->operands[c->operand_count - 1].low = c->operands[c->operand_count - 1].high =
                class_id;
    }
    c->out_of_range = true;
}

void ops_shapes_cross_entropy(struct ops_list *list, const struct ops_row *row)
{
    normed(list, row, "xi");
    refused_class(list, row, "xi", 5, "class 5 of 5 is refused");
    refused_class(list, row, "xi", -1, "class -1 is refused");
}

void ops_shapes_cross_entropy_vjp(struct ops_list *list, const struct ops_row *row)
{
    normed(list, row, "rxirr");
}
