/* Shape sets of pointwise ops, views, moves, index ops, random draws and updates.  Sizes: 0, 1, a
   vector less one, a vector, a vector more one, primes, several axes, rank 0 and rank 8. */
#include "shapes.h"

#include <stdio.h>
#include <string.h>

struct shape {
    int rank;
    int64_t dims[TLMC_MAX_RANK];
};

static const struct shape general[] = {
    { 0, { 0 } },       { 1, { 0 } },     { 1, { 1 } },
    { 1, { 15 } },      { 1, { 16 } },    { 1, { 17 } },
    { 3, { 3, 0, 2 } }, { 2, { 7, 11 } }, { 8, { 1, 2, 1, 3, 1, 2, 1, 2 } },
    { 1, { 1031 } },
};

static const struct shape few[] = { { 1, { 0 } }, { 1, { 17 } }, { 2, { 3, 5 } } };

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *letters(enum tlmc_dtype dtype)
{
    return tlmc_dtype_name(dtype);
}

static const char *text(const struct shape *s)
{
    return ops_dims_text(s->rank, s->dims);
}

static void inputs(struct ops_case *c, int n, enum tlmc_dtype dtype, const struct shape *s)
{
    for (int i = 0; i < n; i++)
        ops_operand(c, OPS_INPUT, dtype, s->rank, s->dims);
}

static int arity(const struct ops_row *row)
{
    return tlmc_op_info(row->op)->min_inputs;
}

/* ---- pointwise */

static void plain(struct ops_list *list, const struct ops_row *row, enum tlmc_dtype dtype,
                  const struct shape *shapes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        inputs(ops_add(list, row, "%s %s", letters(dtype), text(&shapes[i])), arity(row), dtype,
               &shapes[i]);
}

/* Every combination of the special numbers over n operands. */
static struct shape special_shape(const struct ops_row *row, int n)
{
    double values[32];
    const uint32_t count = ops_specials(row, values);
    struct shape s = { 1, { 1 } };

    for (int i = 0; i < n; i++)
        s.dims[0] *= count;
    return s;
}

static void special(struct ops_list *list, const struct ops_row *row, int n)
{
    const struct shape s = special_shape(row, n);
    struct ops_case *c;

    if (!*row->specials)
        return;
    c = ops_add(list, row, "special values");
    c->fill = OPS_SPECIAL;
    inputs(c, n, TLMC_F32, &s);
}

void ops_shapes_pointwise(struct ops_list *list, const struct ops_row *row)
{
    plain(list, row, TLMC_F32, general, COUNT(general));
    special(list, row, arity(row));
}

static void tied(struct ops_list *list, const struct ops_row *row, enum tlmc_dtype dtype)
{
    const struct shape s = { 1, { 97 } };
    struct ops_case *c = ops_add(list, row, "%s ties 97", letters(dtype));

    c->fill = OPS_TIES;
    inputs(c, arity(row), dtype, &s);
}

void ops_shapes_ties(struct ops_list *list, const struct ops_row *row)
{
    ops_shapes_pointwise(list, row);
    tied(list, row, TLMC_F32);
}

/* Integers over their whole range: sums and products wrap. */
static void wide_integers(struct ops_list *list, const struct ops_row *row)
{
    const struct shape s = { 1, { 101 } };
    struct ops_case *c = ops_add(list, row, "i32 whole range 101");

    inputs(c, arity(row), TLMC_I32, &s);
    for (uint32_t i = 0; i < c->operand_count; i++) {
        c->operands[i].low = INT32_MIN;
        c->operands[i].high = INT32_MAX;
    }
}

void ops_shapes_numeric(struct ops_list *list, const struct ops_row *row)
{
    ops_shapes_pointwise(list, row);
    plain(list, row, TLMC_I32, few, COUNT(few));
    wide_integers(list, row);
}

void ops_shapes_order(struct ops_list *list, const struct ops_row *row)
{
    ops_shapes_numeric(list, row);
    tied(list, row, TLMC_F32);
    tied(list, row, TLMC_I32);
}

void ops_shapes_equality(struct ops_list *list, const struct ops_row *row)
{
    ops_shapes_order(list, row);
    plain(list, row, TLMC_BOOL, few, COUNT(few));
}

/* Besides: whole exponents, which negative bases allow too. */
void ops_shapes_pow(struct ops_list *list, const struct ops_row *row)
{
    const struct shape s = { 1, { 211 } };
    struct ops_case *c;

    ops_shapes_pointwise(list, row);
    c = ops_add(list, row, "whole exponents 211");
    c->fill = OPS_TIES;
    inputs(c, arity(row), TLMC_F32, &s);
    c->operands[c->operand_count - 2].low = -4;
    c->operands[c->operand_count - 2].high = 4;
    c->operands[c->operand_count - 1].low = -4;
    c->operands[c->operand_count - 1].high = 4;
}

void ops_shapes_logical(struct ops_list *list, const struct ops_row *row)
{
    plain(list, row, TLMC_BOOL, general, COUNT(general));
}

void ops_shapes_where(struct ops_list *list, const struct ops_row *row)
{
    static const enum tlmc_dtype dtypes[] = { TLMC_F32, TLMC_I32, TLMC_BOOL };

    for (size_t d = 0; d < COUNT(dtypes); d++) {
        const size_t count = d == 0 ? COUNT(general) : COUNT(few);
        const struct shape *shapes = d == 0 ? general : few;

        for (size_t i = 0; i < count; i++) {
            struct ops_case *c = ops_add(list, row, "%s %s", letters(dtypes[d]), text(&shapes[i]));

            inputs(c, 1, TLMC_BOOL, &shapes[i]);
            inputs(c, 2, dtypes[d], &shapes[i]);
        }
    }
}

void ops_shapes_cast(struct ops_list *list, const struct ops_row *row)
{
    static const enum tlmc_dtype dtypes[] = { TLMC_F32, TLMC_I32, TLMC_BOOL };
    static const struct shape shapes[] = { { 0, { 0 } }, { 1, { 0 } }, { 2, { 7, 11 } } };

    for (size_t from = 0; from < COUNT(dtypes); from++) {
        for (size_t to = 0; to < COUNT(dtypes); to++) {
            for (size_t i = 0; i < COUNT(shapes) && from != to; i++) {
                struct ops_case *c = ops_add(list, row, "%s to %s %s", letters(dtypes[from]),
                                             letters(dtypes[to]), text(&shapes[i]));

                inputs(c, 1, dtypes[from], &shapes[i]);
                ops_attr_int(c, TLMC_A_DTYPE, dtypes[to]);
                if (dtypes[from] == TLMC_I32) {
                    c->operands[0].low = INT32_MIN;
                    c->operands[0].high = INT32_MAX;
                }
            }
        }
    }
    for (int to = 1; to < 3; to++) {
        special(list, row, 1);
        list->cases[list->count - 1].name =
            to == 1 ? "special values to i32" : "special values to bool";
        ops_attr_int(&list->cases[list->count - 1], TLMC_A_DTYPE, dtypes[to]);
    }
}

/* ---- views and moves, over all element types */

struct remap {
    struct shape from, to; /* `to`: a shape, or a permutation */
};

static void remaps(struct ops_list *list, const struct ops_row *row, enum tlmc_attr_tag tag,
                   const struct remap *rows, size_t count)
{
    static const enum tlmc_dtype dtypes[] = { TLMC_F32, TLMC_I32, TLMC_BOOL };

    for (size_t d = 0; d < COUNT(dtypes); d++) {
        for (size_t i = 0; i < (d == 0 ? count : 3); i++) {
            struct ops_case *c = ops_add(list, row, "%s %s to %s", letters(dtypes[d]),
                                         text(&rows[i].from), text(&rows[i].to));

            inputs(c, 1, dtypes[d], &rows[i].from);
            ops_attr_ints(list, c, tag, (uint32_t)rows[i].to.rank, rows[i].to.dims);
        }
    }
}

void ops_shapes_reshape(struct ops_list *list, const struct ops_row *row)
{
    static const struct remap table[] = {
        { { 2, { 6, 4 } }, { 2, { 4, 6 } } },
        { { 1, { 24 } }, { 3, { 2, 3, 4 } } },
        { { 0, { 0 } }, { 2, { 1, 1 } } },
        { { 1, { 1 } }, { 0, { 0 } } },
        { { 2, { 0, 3 } }, { 3, { 3, 5, 0 } } },
        { { 1, { 12 } }, { 8, { 1, 2, 1, 3, 1, 2, 1, 1 } } },
        { { 2, { 3, 5 } }, { 2, { 3, 5 } } },
    };

    remaps(list, row, TLMC_A_SHAPE, table, COUNT(table));
}

void ops_shapes_moved(struct ops_list *list, const struct ops_row *row)
{
    plain(list, row, TLMC_F32, general, COUNT(general));
    plain(list, row, TLMC_I32, few, COUNT(few));
    plain(list, row, TLMC_BOOL, few, COUNT(few));
    special(list, row, 1);
}

void ops_shapes_permute(struct ops_list *list, const struct ops_row *row)
{
    static const struct remap table[] = {
        { { 2, { 17, 33 } }, { 2, { 1, 0 } } },
        { { 3, { 3, 5, 7 } }, { 3, { 2, 0, 1 } } },
        { { 3, { 2, 0, 3 } }, { 3, { 1, 2, 0 } } },
        { { 0, { 0 } }, { 0, { 0 } } },
        { { 1, { 13 } }, { 1, { 0 } } },
        { { 2, { 65, 67 } }, { 2, { 1, 0 } } },
        { { 4, { 2, 3, 4, 5 } }, { 4, { 0, 2, 1, 3 } } },
        { { 4, { 2, 3, 4, 5 } }, { 4, { 3, 2, 1, 0 } } },
        { { 8, { 2, 1, 3, 1, 2, 2, 1, 3 } }, { 8, { 7, 2, 0, 5, 1, 4, 6, 3 } } },
    };

    remaps(list, row, TLMC_A_PERM, table, COUNT(table));
}

void ops_shapes_broadcast(struct ops_list *list, const struct ops_row *row)
{
    static const struct remap table[] = {
        { { 2, { 3, 1 } }, { 3, { 2, 3, 4 } } },
        { { 1, { 4 } }, { 2, { 3, 4 } } },
        { { 0, { 0 } }, { 2, { 3, 5 } } },
        { { 1, { 1 } }, { 1, { 17 } } },
        { { 2, { 1, 0 } }, { 2, { 3, 0 } } },
        { { 1, { 1 } }, { 1, { 0 } } },
        { { 2, { 5, 1 } }, { 2, { 5, 67 } } },
        { { 2, { 1, 67 } }, { 2, { 5, 67 } } },
        { { 3, { 2, 1, 3 } }, { 8, { 1, 2, 1, 2, 1, 2, 5, 3 } } },
    };

    remaps(list, row, TLMC_A_SHAPE, table, COUNT(table));
}

struct joined {
    int axis, parts;
    struct shape shapes[3];
};

static void joins(struct ops_list *list, const struct ops_row *row, enum tlmc_dtype dtype,
                  const struct joined *j)
{
    struct ops_case *c = ops_add(list, row, "%s axis %d of %d, first %s", letters(dtype), j->axis,
                                 j->parts, text(&j->shapes[0]));

    for (int i = 0; i < j->parts; i++)
        inputs(c, 1, dtype, &j->shapes[i]);
    ops_attr_int(c, TLMC_A_AXIS, j->axis);
}

void ops_shapes_concat(struct ops_list *list, const struct ops_row *row)
{
    static const struct joined table[] = {
        { 0, 2, { { 1, { 3 } }, { 1, { 5 } }, { 0, { 0 } } } },
        { 1, 3, { { 2, { 4, 3 } }, { 2, { 4, 1 } }, { 2, { 4, 7 } } } },
        { 0, 3, { { 2, { 2, 5 } }, { 2, { 0, 5 } }, { 2, { 3, 5 } } } },
        { 1, 2, { { 3, { 2, 3, 4 } }, { 3, { 2, 2, 4 } }, { 0, { 0 } } } },
        { 0, 1, { { 1, { 9 } }, { 0, { 0 } }, { 0, { 0 } } } },
        { 1, 2, { { 2, { 0, 3 } }, { 2, { 0, 4 } }, { 0, { 0 } } } },
        { 5,
          2,
          { { 8, { 1, 2, 1, 2, 1, 3, 1, 2 } }, { 8, { 1, 2, 1, 2, 1, 2, 1, 2 } }, { 0, { 0 } } } },
    };

    for (size_t i = 0; i < COUNT(table); i++)
        joins(list, row, TLMC_F32, &table[i]);
    joins(list, row, TLMC_I32, &table[1]);
    joins(list, row, TLMC_BOOL, &table[1]);
}

static const struct cut {
    struct shape whole;
    int64_t starts[TLMC_MAX_RANK], stops[TLMC_MAX_RANK], steps[TLMC_MAX_RANK];
} cuts[] = {
    { { 1, { 17 } }, { 3 }, { 16 }, { 1 } },
    { { 2, { 9, 11 } }, { 1, 2 }, { 9, 11 }, { 3, 2 } },
    { { 3, { 4, 5, 6 } }, { 0, 2, 0 }, { 4, 3, 6 }, { 1, 1, 1 } },
    { { 1, { 5 } }, { 2 }, { 2 }, { 1 } },
    { { 2, { 0, 4 } }, { 0, 1 }, { 0, 3 }, { 1, 1 } },
    { { 0, { 0 } }, { 0 }, { 0 }, { 0 } },
    { { 1, { 1031 } }, { 5 }, { 1030 }, { 7 } },
    { { 8, { 2, 3, 1, 2, 3, 1, 2, 5 } },
      { 0, 1, 0, 1, 0, 0, 0, 1 },
      { 2, 3, 1, 2, 3, 1, 2, 5 },
      { 1, 1, 1, 1, 2, 1, 1, 3 } },
};

static void cut_attrs(struct ops_list *list, struct ops_case *c, const struct cut *cut)
{
    const uint32_t rank = (uint32_t)cut->whole.rank;

    ops_attr_ints(list, c, TLMC_A_STARTS, rank, cut->starts);
    ops_attr_ints(list, c, TLMC_A_STOPS, rank, cut->stops);
    ops_attr_ints(list, c, TLMC_A_STEPS, rank, cut->steps);
}

static void one_cut(struct ops_list *list, const struct ops_row *row, enum tlmc_dtype dtype,
                    const struct cut *cut)
{
    struct ops_case *c =
        ops_add(list, row, "%s of %s, first %lld step %lld", letters(dtype), text(&cut->whole),
                (long long)cut->starts[0], (long long)cut->steps[0]);
    struct shape part = cut->whole;

    cut_attrs(list, c, cut);
    if (row->op == TLMC_OP_SLICE_VJP) {
        ops_attr_ints(list, c, TLMC_A_SHAPE, (uint32_t)part.rank, part.dims);
        for (int i = 0; i < part.rank; i++)
            part.dims[i] = (cut->stops[i] - cut->starts[i] + cut->steps[i] - 1) / cut->steps[i];
    }
    inputs(c, 1, dtype, &part);
}

void ops_shapes_slice(struct ops_list *list, const struct ops_row *row)
{
    for (size_t i = 0; i < COUNT(cuts); i++)
        one_cut(list, row, TLMC_F32, &cuts[i]);
    one_cut(list, row, TLMC_I32, &cuts[1]);
    one_cut(list, row, TLMC_BOOL, &cuts[1]);
}

void ops_shapes_slice_vjp(struct ops_list *list, const struct ops_row *row)
{
    for (size_t i = 0; i < COUNT(cuts); i++)
        one_cut(list, row, TLMC_F32, &cuts[i]);
}

/* ---- random and iota */

void ops_shapes_random(struct ops_list *list, const struct ops_row *row)
{
    for (size_t i = 0; i < COUNT(general); i++) {
        struct ops_case *c = ops_add(list, row, "site %u %s", (unsigned)i, text(&general[i]));

        ops_attr_ints(list, c, TLMC_A_SHAPE, (uint32_t)general[i].rank, general[i].dims);
        ops_attr_int(c, TLMC_A_SITE, (int64_t)i);
    }
    if (row->op != TLMC_OP_BERNOULLI_MASK)
        return;
    for (int i = 0; i < 2; i++) {
        struct ops_case *c = ops_add(list, row, "keep %d 100", i);

        ops_attr_ints(list, c, TLMC_A_SHAPE, OPS_DIMS(100));
        ops_attr_int(c, TLMC_A_SITE, 40 + i);
        ops_attr_float(c, TLMC_A_KEEP, i);
    }
}

void ops_shapes_iota(struct ops_list *list, const struct ops_row *row)
{
    static const int64_t starts[] = { 0, -3, INT32_MAX - 2000 };

    for (size_t i = 0; i < COUNT(general); i++) {
        const int64_t start = starts[i % COUNT(starts)];
        struct ops_case *c =
            ops_add(list, row, "from %lld %s", (long long)start, text(&general[i]));

        ops_attr_ints(list, c, TLMC_A_SHAPE, (uint32_t)general[i].rank, general[i].dims);
        ops_attr_int(c, TLMC_A_START, start);
    }
}

/* ---- index */

struct taken {
    struct shape x, index;
    int axis;
};

static const struct taken takes[] = {
    { { 1, { 7 } }, { 1, { 5 } }, 0 },
    { { 2, { 7, 3 } }, { 0, { 0 } }, 0 },
    { { 2, { 7, 16 } }, { 2, { 4, 3 } }, 0 },
    { { 3, { 2, 7, 5 } }, { 1, { 9 } }, 1 },
    { { 2, { 3, 7 } }, { 2, { 2, 2 } }, 1 },
    { { 2, { 7, 0 } }, { 1, { 3 } }, 0 },
    { { 2, { 7, 4 } }, { 1, { 0 } }, 0 },
    { { 3, { 1, 7, 17 } }, { 1, { 33 } }, 1 },
    { { 8, { 1, 2, 1, 1, 1, 2, 1, 7 } }, { 1, { 3 } }, 7 },
};

/* Shape of what is taken from x. */
static struct shape taken_shape(const struct taken *t)
{
    struct shape s = { 0, { 0 } };

    for (int i = 0; i < t->axis; i++)
        s.dims[s.rank++] = t->x.dims[i];
    for (int i = 0; i < t->index.rank; i++)
        s.dims[s.rank++] = t->index.dims[i];
    for (int i = t->axis + 1; i < t->x.rank; i++)
        s.dims[s.rank++] = t->x.dims[i];
    return s;
}

static struct ops_case *one_take(struct ops_list *list, const struct ops_row *row,
                                 enum tlmc_dtype dtype, const struct taken *t)
{
    const struct shape part = taken_shape(t);
    struct ops_case *c = ops_add(list, row, "%s %s axis %d index %s", letters(dtype), text(&t->x),
                                 t->axis, text(&t->index));

    if (row->op == TLMC_OP_EMBEDDING)
        inputs(c, 1, TLMC_I32, &t->index);
    inputs(c, 1, dtype, &t->x);
    if (row->op != TLMC_OP_EMBEDDING) {
        inputs(c, 1, TLMC_I32, &t->index);
        ops_attr_int(c, TLMC_A_AXIS, t->axis);
    }
    if (row->op == TLMC_OP_SCATTER_ADD)
        inputs(c, 1, dtype, &part);
    return c;
}

/* One index past the end, one before the beginning. */
static void refused_takes(struct ops_list *list, const struct ops_row *row)
{
    for (int i = 0; i < 2; i++) {
        struct ops_case *c = one_take(list, row, TLMC_F32, &takes[2]);
        struct ops_operand *index = &c->operands[row->op == TLMC_OP_EMBEDDING ? 0 : 1];

        c->name = i ? "index -1 is refused" : "index 7 of 7 is refused";
        c->out_of_range = true;
        index->low = index->high = i ? -1 : 7;
    }
}

void ops_shapes_gather(struct ops_list *list, const struct ops_row *row)
{
    for (size_t i = 0; i < COUNT(takes); i++)
        one_take(list, row, TLMC_F32, &takes[i]);
    one_take(list, row, TLMC_I32, &takes[3]);
    one_take(list, row, TLMC_BOOL, &takes[3]);
    refused_takes(list, row);
}

void ops_shapes_scatter_add(struct ops_list *list, const struct ops_row *row)
{
    for (size_t i = 0; i < COUNT(takes); i++)
        one_take(list, row, TLMC_F32, &takes[i]);
    refused_takes(list, row);
}

void ops_shapes_embedding(struct ops_list *list, const struct ops_row *row)
{
    for (size_t i = 0; i < COUNT(takes); i++)
        if (takes[i].x.rank == 2 && takes[i].axis == 0)
            one_take(list, row, TLMC_F32, &takes[i]);
    refused_takes(list, row);
}

/* ---- updates */

static const struct shape updated[] = { { 0, { 0 } },  { 1, { 0 } },     { 1, { 1 } },
                                        { 1, { 16 } }, { 2, { 7, 11 } }, { 1, { 1031 } } };

/* Operands by letter: w written, t another tensor, s scalar, - left out. */
static struct ops_case *one_update(struct ops_list *list, const struct ops_row *row,
                                   const char *operands, const struct shape *s, const char *what)
{
    const struct shape scalar = { 0, { 0 } };
    struct ops_case *c = ops_add(list, row, "%s%s", what, text(s));

    for (const char *k = operands; *k; k++) {
        const struct shape *own = *k == 's' ? &scalar : s;

        ops_operand(c,
                    *k == 'w'   ? OPS_STATE
                    : *k == '-' ? OPS_ABSENT
                                : OPS_INPUT,
                    TLMC_F32, own->rank, own->dims);
    }
    return c;
}

static void updates(struct ops_list *list, const struct ops_row *row, const char *operands)
{
    for (size_t i = 0; i < COUNT(updated); i++)
        one_update(list, row, operands, &updated[i], "");
}

void ops_shapes_update(struct ops_list *list, const struct ops_row *row)
{
    updates(list, row, "wt");
}

void ops_shapes_store(struct ops_list *list, const struct ops_row *row)
{
    updates(list, row, "wt");
    for (int d = TLMC_I32; d <= TLMC_BOOL; d++) {
        struct ops_case *c = ops_add(list, row, "%s 7x11", letters((enum tlmc_dtype)d));

        ops_operand(c, OPS_STATE, (enum tlmc_dtype)d, OPS_DIMS(7, 11));
        ops_operand(c, OPS_INPUT, (enum tlmc_dtype)d, OPS_DIMS(7, 11));
    }
}

static const struct shape middle = { 2, { 7, 11 } };

void ops_shapes_sgd(struct ops_list *list, const struct ops_row *row)
{
    struct ops_case *c;

    updates(list, row, "wtss");
    one_update(list, row, "wtss-s", &middle, "clipped ");
    c = one_update(list, row, "wtssw", &middle, "momentum ");
    ops_attr_float(c, TLMC_A_MOMENTUM, 0.9);
    c = one_update(list, row, "wtssws", &middle, "nesterov, decay, clipped ");
    ops_attr_float(c, TLMC_A_MOMENTUM, 0.9);
    ops_attr_int(c, TLMC_A_NESTEROV, 1);
    ops_attr_float(c, TLMC_A_WEIGHT_DECAY, 0.01);
}

void ops_shapes_adam(struct ops_list *list, const struct ops_row *row)
{
    struct ops_case *c;

    updates(list, row, "wtwwss");
    c = one_update(list, row, "wtwwsss", &middle, "decay, clipped ");
    ops_attr_float(c, TLMC_A_WEIGHT_DECAY, 0.01);
}

void ops_shapes_adamw(struct ops_list *list, const struct ops_row *row)
{
    updates(list, row, "wtwwsss");
    one_update(list, row, "wtwwssss", &middle, "clipped ");
}

void ops_shapes_rmsprop(struct ops_list *list, const struct ops_row *row)
{
    struct ops_case *c;

    updates(list, row, "wtws");
    one_update(list, row, "wtws--s", &middle, "clipped ");
    c = one_update(list, row, "wtwsw", &middle, "centered ");
    ops_attr_int(c, TLMC_A_CENTERED, 1);
    c = one_update(list, row, "wtws-w", &middle, "momentum ");
    ops_attr_float(c, TLMC_A_MOMENTUM, 0.9);
    c = one_update(list, row, "wtwswws", &middle, "centered, momentum, decay, clipped ");
    ops_attr_int(c, TLMC_A_CENTERED, 1);
    ops_attr_float(c, TLMC_A_MOMENTUM, 0.9);
    ops_attr_float(c, TLMC_A_WEIGHT_DECAY, 0.01);
}

void ops_shapes_adagrad(struct ops_list *list, const struct ops_row *row)
{
    struct ops_case *c;

    updates(list, row, "wtws");
    c = one_update(list, row, "wtwss", &middle, "decay, clipped ");
    ops_attr_float(c, TLMC_A_WEIGHT_DECAY, 0.01);
}

void ops_shapes_adadelta(struct ops_list *list, const struct ops_row *row)
{
    struct ops_case *c;

    updates(list, row, "wtwws");
    c = one_update(list, row, "wtwwss", &middle, "decay, clipped ");
    ops_attr_float(c, TLMC_A_WEIGHT_DECAY, 0.01);
}
