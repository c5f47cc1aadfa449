/* Reductions over the middle axis of [O, R, I], and the sums that row kernels are made of.
   Sums are tree64 (docs/numerics.md, Sums): 64 lanes over chunks of 4096 terms, lanes halved, chunk
   results reduced by the same rule.  A result depends on its terms alone: not on threads, level,
   compiler or width of the vectors. An item is 16 neighbouring results: [o, 16 columns of I]. Empty
   sums are +0, empty means NaN, empty maxima -inf. */
#ifndef TLMK_REDUCE_H
#define TLMK_REDUCE_H

#include "items.h"
#include "tlm_math.h"

enum { TLMK_LANES = 64, TLM_REDUCE_CHUNK = 4096 };

#define TLMK_CHUNKS(n) TLMK_PARTS(n, TLM_REDUCE_CHUNK)

/* Lanes start at +0 and so never hold -0: halving may leave out lanes past `used`, which are +0. */
TLM_INLINE float tlmk_halve(float *lanes, size_t used)
{
    for (size_t half = TLMK_LANES / 2; half > 0; half /= 2) {
        if (half >= used)
            continue;
        for (size_t l = 0; l < half; l++)
            lanes[l] += lanes[l + half];
    }
    return lanes[0];
}

/* A sum in progress.  Level 0 takes terms, level 1 the results of 4096 terms, level 2 those of
   4096^2: enough for the 2^32 elements a tensor may have. */
struct tlmk_tree {
    float lanes[3][TLMK_LANES];
    size_t used;   /* lanes of level 0 that a term reached */
    size_t groups; /* of 64 terms in the chunk */
    size_t chunks;
};

TLM_INLINE void tlmk_tree_begin(struct tlmk_tree *t)
{
    memset(t->lanes[0], 0, sizeof t->lanes[0]);
    t->used = t->groups = t->chunks = 0;
}

/* The chunk is full, or the terms are at their end: its result is a term of level 1. */
__attribute__((noinline, unused)) static void tlmk_tree_carry(struct tlmk_tree *t)
{
    const float chunk = tlmk_halve(t->lanes[0], TLMK_LANES);

    if (t->chunks % TLM_REDUCE_CHUNK == 0) {
        if (t->chunks == TLM_REDUCE_CHUNK)
            memset(t->lanes[2], 0, sizeof t->lanes[2]);
        if (t->chunks > 0)
            t->lanes[2][(t->chunks / TLM_REDUCE_CHUNK - 1) % TLMK_LANES] +=
                tlmk_halve(t->lanes[1], TLMK_LANES);
        memset(t->lanes[1], 0, sizeof t->lanes[1]);
    }
    t->lanes[1][t->chunks % TLMK_LANES] += chunk;
    t->chunks++;
    memset(t->lanes[0], 0, sizeof t->lanes[0]);
    t->groups = 0;
}

/* The next 64 terms, or the last 1..63. */
TLM_INLINE void tlmk_tree_add(struct tlmk_tree *t, const float *terms, size_t count)
{
    if (count == TLMK_LANES) {
        for (size_t l = 0; l < TLMK_LANES; l++)
            t->lanes[0][l] += terms[l];
    } else {
        for (size_t l = 0; l < count; l++)
            t->lanes[0][l] += terms[l];
    }
    t->used = t->used > count ? t->used : count;
    if (++t->groups == TLM_REDUCE_CHUNK / TLMK_LANES)
        tlmk_tree_carry(t);
}

TLM_INLINE float tlmk_tree_end(struct tlmk_tree *t)
{
    if (t->chunks == 0)
        return tlmk_halve(t->lanes[0], t->used);
    if (t->groups > 0)
        tlmk_tree_carry(t);
    if (t->chunks <= TLM_REDUCE_CHUNK)
        return tlmk_halve(t->lanes[1], TLMK_LANES);
    t->lanes[2][((t->chunks - 1) / TLM_REDUCE_CHUNK) % TLMK_LANES] +=
        tlmk_halve(t->lanes[1], TLMK_LANES);
    return tlmk_halve(t->lanes[2], TLMK_LANES);
}

/* sum of f(j), j = 0 .. n - 1, where `term` is an expression in j */
#define TLMK_TREE_SUM(result, n, j, term)                                       \
    do {                                                                        \
        struct tlmk_tree tree_;                                                 \
        const size_t count_ = (n);                                              \
        size_t base_ = 0;                                                       \
                                                                                \
        tlmk_tree_begin(&tree_);                                                \
        for (; base_ + TLMK_LANES <= count_; base_ += TLMK_LANES) {             \
            float terms_[TLMK_LANES];                                           \
                                                                                \
            for (size_t l_ = 0; l_ < TLMK_LANES; l_++) {                        \
                const size_t j = base_ + l_;                                    \
                terms_[l_] = (term);                                            \
            }                                                                   \
            tlmk_tree_add(&tree_, terms_, TLMK_LANES);                          \
        }                                                                       \
        if (base_ < count_) {                                                   \
            float terms_[TLMK_LANES] = { 0.0f };                                \
                                                                                \
            for (size_t l_ = 0; l_ < TLMK_LANES && l_ < count_ - base_; l_++) { \
                const size_t j = base_ + l_;                                    \
                terms_[l_] = (term);                                            \
            }                                                                   \
            tlmk_tree_add(&tree_, terms_, count_ - base_);                      \
        }                                                                       \
        (result) = tlmk_tree_end(&tree_);                                       \
    } while (0)

TLM_INLINE float tlmk_sum(const float *x, size_t n)
{
    struct tlmk_tree t;

    tlmk_tree_begin(&t);
    for (size_t i = 0; i < n; i += TLMK_LANES)
        tlmk_tree_add(&t, x + i, n - i < TLMK_LANES ? n - i : TLMK_LANES);
    return tlmk_tree_end(&t);
}

/* The largest of n values by tlm_max: any order gives the same. */
TLM_INLINE float tlmk_largest(const float *x, size_t n)
{
    float lanes[TLMK_COLUMNS];
    size_t i = 0;

    for (size_t l = 0; l < TLMK_COLUMNS; l++)
        lanes[l] = -TLM_F32_INF;
    for (; i + TLMK_COLUMNS <= n; i += TLMK_COLUMNS)
        for (size_t l = 0; l < TLMK_COLUMNS; l++)
            lanes[l] = tlm_max(lanes[l], x[i + l]);
    for (; i < n; i++)
        lanes[0] = tlm_max(lanes[0], x[i]);
    for (size_t half = TLMK_COLUMNS / 2; half > 0; half /= 2)
        for (size_t l = 0; l < half; l++)
            lanes[l] = tlm_max(lanes[l], lanes[l + half]);
    return lanes[0];
}

TLM_INLINE float tlmk_smallest(const float *x, size_t n)
{
    float lanes[TLMK_COLUMNS];
    size_t i = 0;

    for (size_t l = 0; l < TLMK_COLUMNS; l++)
        lanes[l] = TLM_F32_INF;
    for (; i + TLMK_COLUMNS <= n; i += TLMK_COLUMNS)
        for (size_t l = 0; l < TLMK_COLUMNS; l++)
            lanes[l] = tlm_min(lanes[l], x[i + l]);
    for (; i < n; i++)
        lanes[0] = tlm_min(lanes[0], x[i]);
    for (size_t half = TLMK_COLUMNS / 2; half > 0; half /= 2)
        for (size_t l = 0; l < half; l++)
            lanes[l] = tlm_min(lanes[l], lanes[l + half]);
    return lanes[0];
}

/* The same tree for 16 columns at once. */
struct tlmk_columns {
    float lanes[3][TLMK_LANES][TLMK_COLUMNS];
    size_t rows; /* of the chunk */
    size_t chunks;
};

TLM_INLINE void tlmk_columns_begin(struct tlmk_columns *t, size_t rows)
{
    memset(t->lanes[0], 0, (rows < TLMK_LANES ? rows : TLMK_LANES) * sizeof t->lanes[0][0]);
    t->rows = t->chunks = 0;
}

TLM_INLINE void tlmk_columns_halve(float (*lanes)[TLMK_COLUMNS], size_t used, float *result)
{
    for (size_t half = TLMK_LANES / 2; half > 0; half /= 2) {
        for (size_t l = 0; l + half < used && l < half; l++)
            for (size_t c = 0; c < TLMK_COLUMNS; c++)
                lanes[l][c] += lanes[l + half][c];
        used = used < half ? used : half;
    }
    for (size_t c = 0; c < TLMK_COLUMNS; c++)
        result[c] = used > 0 ? lanes[0][c] : 0.0f;
}

__attribute__((noinline, unused)) static void tlmk_columns_carry(struct tlmk_columns *t)
{
    float chunk[TLMK_COLUMNS], upper[TLMK_COLUMNS];

    tlmk_columns_halve(t->lanes[0], t->rows < TLMK_LANES ? t->rows : TLMK_LANES, chunk);
    if (t->chunks % TLM_REDUCE_CHUNK == 0) {
        if (t->chunks == TLM_REDUCE_CHUNK)
            memset(t->lanes[2], 0, sizeof t->lanes[2]);
        if (t->chunks > 0) {
            float *lane = t->lanes[2][(t->chunks / TLM_REDUCE_CHUNK - 1) % TLMK_LANES];

            tlmk_columns_halve(t->lanes[1], TLMK_LANES, upper);
            for (size_t c = 0; c < TLMK_COLUMNS; c++)
                lane[c] += upper[c];
        }
        memset(t->lanes[1], 0, sizeof t->lanes[1]);
    }
    for (size_t c = 0; c < TLMK_COLUMNS; c++)
        t->lanes[1][t->chunks % TLMK_LANES][c] += chunk[c];
    t->chunks++;
    memset(t->lanes[0], 0, sizeof t->lanes[0]);
    t->rows = 0;
}

/* The lane that takes the next row of terms; terms past the valid columns are left out.  After the
   row, tlmk_columns_next. */
TLM_INLINE float *tlmk_columns_lane(struct tlmk_columns *t)
{
    return t->lanes[0][t->rows % TLMK_LANES];
}

TLM_INLINE void tlmk_columns_next(struct tlmk_columns *t)
{
    if (++t->rows == TLM_REDUCE_CHUNK)
        tlmk_columns_carry(t);
}

TLM_INLINE void tlmk_columns_end(struct tlmk_columns *t, float *result)
{
    float upper[TLMK_COLUMNS];
    float *lane;

    if (t->chunks == 0) {
        tlmk_columns_halve(t->lanes[0], t->rows < TLMK_LANES ? t->rows : TLMK_LANES, result);
        return;
    }
    if (t->rows > 0)
        tlmk_columns_carry(t);
    if (t->chunks <= TLM_REDUCE_CHUNK) {
        tlmk_columns_halve(t->lanes[1], TLMK_LANES, result);
        return;
    }
    tlmk_columns_halve(t->lanes[1], TLMK_LANES, upper);
    lane = t->lanes[2][((t->chunks - 1) / TLM_REDUCE_CHUNK) % TLMK_LANES];
    for (size_t c = 0; c < TLMK_COLUMNS; c++)
        lane[c] += upper[c];
    tlmk_columns_halve(t->lanes[2], TLMK_LANES, result);
}

/* up to 16 sums of columns, x at the first of them, rows I apart */
TLM_INLINE void tlmk_column_sums(float *y, const float *x, size_t R, size_t I, size_t width)
{
    struct tlmk_columns t;
    float result[TLMK_COLUMNS];

    tlmk_columns_begin(&t, R);
    for (size_t r = 0; r < R; r++) {
        const float *from = x + r * I;
        float *lane = tlmk_columns_lane(&t);

        if (width == TLMK_COLUMNS)
            for (size_t c = 0; c < TLMK_COLUMNS; c++)
                lane[c] += from[c];
        else
            for (size_t c = 0; c < width; c++)
                lane[c] += from[c];
        tlmk_columns_next(&t);
    }
    tlmk_columns_end(&t, result);
    for (size_t c = 0; c < width; c++)
        y[c] = result[c];
}

TLM_INLINE void tlmk_f32_reduce_sum__cpu_tree64(const int level, float *y, const float *x, size_t O,
                                                size_t R, size_t I, size_t begin, size_t end)
{
    (void)level;
    (void)O;
    for (size_t item = begin; item < end; item++) {
        const struct tlmk_reduce_item at = tlmk_reduce_at(item, I);

        if (I == 1)
            y[at.o] = tlmk_sum(x + at.o * R, R);
        else
            tlmk_column_sums(y + at.o * I + at.i, x + at.o * R * I + at.i, R, I, at.width);
    }
}

/* sum / n, one division */
TLM_INLINE void tlmk_f32_reduce_mean__cpu_tree64(const int level, float *y, const float *x,
                                                 size_t O, size_t R, size_t I, size_t begin,
                                                 size_t end)
{
    const float n = (float)R;

    tlmk_f32_reduce_sum__cpu_tree64(level, y, x, O, R, I, begin, end);
    for (size_t item = begin; item < end; item++) {
        const struct tlmk_reduce_item at = tlmk_reduce_at(item, I);

        for (size_t c = 0; c < at.width; c++)
            y[at.o * I + at.i + c] /= n;
    }
}

/* Order does not matter to these: maxima, minima, wrapping sums.  `row` is the kernel for a
   contiguous row. */
#define TLMK_REDUCE_ANY_ORDER(symbol, type, empty, combine)                                       \
    TLM_INLINE void symbol(const int level, type *y, const type *x, size_t O, size_t R, size_t I, \
                           size_t begin, size_t end)                                              \
    {                                                                                             \
        (void)level;                                                                              \
        (void)O;                                                                                  \
        for (size_t item = begin; item < end; item++) {                                           \
            const struct tlmk_reduce_item at = tlmk_reduce_at(item, I);                           \
            const type *from = x + at.o * R * I + at.i;                                           \
            type *to = y + at.o * I + at.i;                                                       \
            type best[TLMK_COLUMNS];                                                              \
            size_t r = 0;                                                                         \
                                                                                                  \
            for (size_t c = 0; c < TLMK_COLUMNS; c++)                                             \
                best[c] = (empty);                                                                \
            if (I == 1) {                                                                         \
                for (; r + TLMK_COLUMNS <= R; r += TLMK_COLUMNS)                                  \
                    for (size_t c = 0; c < TLMK_COLUMNS; c++)                                     \
                        best[c] = combine(best[c], from[r + c]);                                  \
                for (; r < R; r++)                                                                \
                    best[0] = combine(best[0], from[r]);                                          \
                for (size_t c = 1; c < TLMK_COLUMNS; c++)                                         \
                    best[0] = combine(best[0], best[c]);                                          \
            } else if (at.width == TLMK_COLUMNS) {                                                \
                for (; r < R; r++)                                                                \
                    for (size_t c = 0; c < TLMK_COLUMNS; c++)                                     \
                        best[c] = combine(best[c], from[r * I + c]);                              \
            } else {                                                                              \
                for (; r < R; r++)                                                                \
                    for (size_t c = 0; c < at.width; c++)                                         \
                        best[c] = combine(best[c], from[r * I + c]);                              \
            }                                                                                     \
            for (size_t c = 0; c < at.width; c++)                                                 \
                to[c] = best[c];                                                                  \
        }                                                                                         \
    }

TLMK_REDUCE_ANY_ORDER(tlmk_f32_reduce_max__cpu_rows, float, -TLM_F32_INF, tlm_max)
TLMK_REDUCE_ANY_ORDER(tlmk_f32_reduce_min__cpu_rows, float, TLM_F32_INF, tlm_min)
TLMK_REDUCE_ANY_ORDER(tlmk_i32_reduce_sum__cpu_tree64, int32_t, 0, tlm_add_i32)
TLMK_REDUCE_ANY_ORDER(tlmk_i32_reduce_max__cpu_rows, int32_t, INT32_MIN, tlm_max_i32)
TLMK_REDUCE_ANY_ORDER(tlmk_i32_reduce_min__cpu_rows, int32_t, INT32_MAX, tlm_min_i32)
#undef TLMK_REDUCE_ANY_ORDER

/* dx = x == y ? g / ties : 0.  Where y is NaN nothing equals it and the gradient is 0. */
TLM_INLINE void tlmk_f32_reduce_extreme_vjp__cpu_rows(const int level, float *dx, const float *g,
                                                      const float *x, const float *y, size_t O,
                                                      size_t R, size_t I, size_t begin, size_t end)
{
    (void)level;
    (void)O;
    for (size_t item = begin; item < end; item++) {
        const struct tlmk_reduce_item at = tlmk_reduce_at(item, I);
        const size_t first = at.o * R * I + at.i, result = at.o * I + at.i;
        uint32_t ties[TLMK_COLUMNS] = { 0 };
        float share[TLMK_COLUMNS];

        for (size_t r = 0; r < R; r++)
            for (size_t c = 0; c < at.width; c++)
                ties[c] += x[first + r * I + c] == y[result + c];
        for (size_t c = 0; c < at.width; c++)
            share[c] = g[result + c] / (float)ties[c];
        for (size_t r = 0; r < R; r++)
            for (size_t c = 0; c < at.width; c++)
                dx[first + r * I + c] =
                    tlm_select(x[first + r * I + c] == y[result + c], share[c], 0.0f);
    }
}

/* First NaN wins, else the first maximum. */
#define TLMK_ARGMAX(name, type, isnan_of)                                                      \
    TLM_INLINE void tlmk_##name##_argmax__cpu_rows(const int level, int32_t *y, const type *x, \
                                                   size_t O, size_t R, size_t I, size_t begin, \
                                                   size_t end)                                 \
    {                                                                                          \
        (void)level;                                                                           \
        (void)O;                                                                               \
        for (size_t item = begin; item < end; item++) {                                        \
            const struct tlmk_reduce_item at = tlmk_reduce_at(item, I);                        \
                                                                                               \
            for (size_t c = 0; c < at.width; c++) {                                            \
                const type *from = x + at.o * R * I + at.i + c;                                \
                type best = from[0];                                                           \
                size_t where = 0;                                                              \
                                                                                               \
                for (size_t r = 1; r < R && !isnan_of(best); r++) {                            \
                    const type value = from[r * I];                                            \
                                                                                               \
                    if (value > best || isnan_of(value)) {                                     \
                        best = value;                                                          \
                        where = r;                                                             \
                    }                                                                          \
                }                                                                              \
                y[at.o * I + at.i + c] = (int32_t)where;                                       \
            }                                                                                  \
        }                                                                                      \
    }

#define TLMK_IS_NAN(v) ((v) != (v))
#define TLMK_NEVER_NAN(v) (0)
TLMK_ARGMAX(f32, float, TLMK_IS_NAN)
TLMK_ARGMAX(i32, int32_t, TLMK_NEVER_NAN)
TLMK_ARGMAX(bool, uint8_t, TLMK_NEVER_NAN)
#undef TLMK_ARGMAX

/* ---- the norm of all elements of several tensors.  An item is a chunk of one of them; then its
   results, the parts, are reduced tensor by tensor. */
TLM_INLINE void tlmk_f32_global_norm_parts__cpu_tree64(const int level, float *parts,
                                                       const float *const *x,
                                                       const struct tlmk_span *spans, size_t count,
                                                       size_t begin, size_t end)
{
    size_t s = 0;

    (void)level;
    for (size_t part = begin; part < end; part++) {
        while (s + 1 < count && spans[s + 1].first <= part)
            s++;
        const size_t first = (part - spans[s].first) * TLM_REDUCE_CHUNK;
        const size_t left = spans[s].count - first;
        const float *from = x[s] + first;

        TLMK_TREE_SUM(parts[part], left < TLM_REDUCE_CHUNK ? left : TLM_REDUCE_CHUNK, j,
                      from[j] * from[j]);
    }
}

TLM_INLINE void tlmk_f32_global_norm__cpu_tree64(const int level, float *y, const float *parts,
                                                 const struct tlmk_span *spans, size_t count)
{
    float total = 0.0f;

    (void)level;
    for (size_t s = 0; s < count; s++)
        total += tlmk_sum(parts + spans[s].first, TLMK_CHUNKS(spans[s].count));
    y[0] = tlm_sqrt(total);
}

#endif
