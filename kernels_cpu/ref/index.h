/* iota, gather, scatter_add. */
#ifndef TLMR_INDEX_H
#define TLMR_INDEX_H

#include "items.h"

TLM_INLINE void tlmk_i32_iota__ref_loop(const int level, int32_t *y, int32_t start, size_t begin,
                                        size_t end)
{
    (void)level;
    for (size_t i = begin; i < end; i++)
        y[i] = (int32_t)(start + (int64_t)i);
}

#define TLMR_GATHER(name, type)                                                                   \
    TLM_INLINE void tlmk_##name##_gather__ref_rows(const int level, type *y, const type *x,       \
                                                   const int32_t *index, size_t outer,            \
                                                   size_t axis, size_t inner, size_t n,           \
                                                   size_t begin, size_t end)                      \
    {                                                                                             \
        (void)level;                                                                              \
        (void)outer;                                                                              \
        for (size_t item = begin; item < end; item++)                                             \
            for (size_t j = 0; j < inner; j++)                                                    \
                y[item * inner + j] = x[(item / n * axis + (size_t)index[item % n]) * inner + j]; \
    }
TLMR_GATHER(f32, float)
TLMR_GATHER(i32, int32_t)
TLMR_GATHER(bool, uint8_t)
#undef TLMR_GATHER

TLM_INLINE void tlmk_f32_scatter_add__ref_rows(const int level, float *y, const int32_t *index,
                                               const float *updates, size_t outer, size_t axis,
                                               size_t inner, size_t n, size_t begin, size_t end)
{
    const size_t blocks = TLMK_PARTS(inner, TLMK_SCATTER_WIDTH);

    (void)level;
    (void)outer;
    for (size_t item = begin; item < end; item++) {
        const size_t o = item / blocks, first = item % blocks * TLMK_SCATTER_WIDTH;

        for (size_t i = 0; i < n; i++)
            for (size_t j = first; j < inner && j < first + TLMK_SCATTER_WIDTH; j++)
                y[(o * axis + (size_t)index[i]) * inner + j] += updates[(o * n + i) * inner + j];
    }
}

#endif
