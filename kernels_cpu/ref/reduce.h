/* Reductions of [O, R, I] over R: left folds, result by result. */
#ifndef TLMR_REDUCE_H
#define TLMR_REDUCE_H

#include "items.h"
#include "ref/pointwise.h"

/* result = empty; then result = combine(result, x) in increasing order; then finish(result) */
#define TLMR_REDUCE(symbol, type, empty, combine, finish)                                         \
    TLM_INLINE void symbol(const int level, type *y, const type *x, size_t O, size_t R, size_t I, \
                           size_t begin, size_t end)                                              \
    {                                                                                             \
        (void)level;                                                                              \
        (void)O;                                                                                  \
        for (size_t item = begin; item < end; item++) {                                           \
            const struct tlmk_reduce_item at = tlmk_reduce_at(item, I);                           \
                                                                                                  \
            for (size_t i = at.i; i < at.i + at.width; i++) {                                     \
                type result = (empty);                                                            \
                                                                                                  \
                for (size_t r = 0; r < R; r++)                                                    \
                    result = combine(result, x[(at.o * R + r) * I + i]);                          \
                y[at.o * I + i] = finish(result, R);                                              \
            }                                                                                     \
        }                                                                                         \
    }

#define TLMR_AS_IS(result, n) (result)
#define TLMR_MEAN(result, n) ((result) / (float)(n))
TLMR_REDUCE(tlmk_f32_reduce_sum__ref_left, float, 0.0f, tlmr_add, TLMR_AS_IS)
TLMR_REDUCE(tlmk_f32_reduce_mean__ref_left, float, 0.0f, tlmr_add, TLMR_MEAN)
TLMR_REDUCE(tlmk_f32_reduce_max__ref_rows, float, -INFINITY, tlmr_max, TLMR_AS_IS)
TLMR_REDUCE(tlmk_f32_reduce_min__ref_rows, float, INFINITY, tlmr_min, TLMR_AS_IS)
TLMR_REDUCE(tlmk_i32_reduce_sum__ref_left, int32_t, 0, tlmr_add_i32, TLMR_AS_IS)
TLMR_REDUCE(tlmk_i32_reduce_max__ref_rows, int32_t, INT32_MIN, tlmr_max_i32, TLMR_AS_IS)
TLMR_REDUCE(tlmk_i32_reduce_min__ref_rows, int32_t, INT32_MAX, tlmr_min_i32, TLMR_AS_IS)
#undef TLMR_REDUCE
#undef TLMR_AS_IS
#undef TLMR_MEAN

TLM_INLINE void tlmk_f32_reduce_extreme_vjp__ref_rows(const int level, float *dx, const float *g,
                                                      const float *x, const float *y, size_t O,
                                                      size_t R, size_t I, size_t begin, size_t end)
{
    (void)level;
    (void)O;
    for (size_t item = begin; item < end; item++) {
        const struct tlmk_reduce_item at = tlmk_reduce_at(item, I);

        for (size_t i = at.i; i < at.i + at.width; i++) {
            const size_t result = at.o * I + i;
            size_t ties = 0;

            for (size_t r = 0; r < R; r++)
                if (x[(at.o * R + r) * I + i] == y[result])
                    ties++;
            for (size_t r = 0; r < R; r++) {
                const size_t element = (at.o * R + r) * I + i;

                dx[element] = x[element] == y[result] ? g[result] / (float)ties : 0.0f;
            }
        }
    }
}

#define TLMR_ARGMAX(name, type)                                                                \
    TLM_INLINE void tlmk_##name##_argmax__ref_rows(const int level, int32_t *y, const type *x, \
                                                   size_t O, size_t R, size_t I, size_t begin, \
                                                   size_t end)                                 \
    {                                                                                          \
        (void)level;                                                                           \
        (void)O;                                                                               \
        for (size_t item = begin; item < end; item++) {                                        \
            const struct tlmk_reduce_item at = tlmk_reduce_at(item, I);                        \
                                                                                               \
            for (size_t i = at.i; i < at.i + at.width; i++) {                                  \
                const type *column = x + at.o * R * I + i;                                     \
                size_t best = 0;                                                               \
                                                                                               \
                for (size_t r = 1; r < R; r++) {                                               \
                    const int best_is_nan = column[best * I] != column[best * I];              \
                    const int is_nan = column[r * I] != column[r * I];                         \
                                                                                               \
                    if (!best_is_nan && (is_nan || column[r * I] > column[best * I]))          \
                        best = r;                                                              \
                }                                                                              \
                y[at.o * I + i] = (int32_t)best;                                               \
            }                                                                                  \
        }                                                                                      \
    }

TLMR_ARGMAX(f32, float)
TLMR_ARGMAX(i32, int32_t)
TLMR_ARGMAX(bool, uint8_t)
#undef TLMR_ARGMAX

TLM_INLINE void tlmk_f32_global_norm__ref_left(const int level, float *y, const float *const *x,
                                               const struct tlmk_span *spans, size_t count)
{
    float total = 0.0f;

    (void)level;
    for (size_t s = 0; s < count; s++) {
        float sum = 0.0f;

        for (size_t i = 0; i < spans[s].count; i++)
            sum += x[s][i] * x[s][i];
        total += sum;
    }
    *y = sqrtf(total);
}

#endif
