/* iota, gather (embedding is gather with outer 1), scatter_add.  Indices are checked before the
   call. */
#ifndef TLMK_INDEX_H
#define TLMK_INDEX_H

#include "items.h"

TLM_INLINE void tlmk_i32_iota__cpu_loop(const int level, int32_t *y, int32_t start, size_t begin,
                                        size_t end)
{
    (void)level;
    TLM_LOOP
    for (size_t i = begin; i < end; i++)
        y[i] = (int32_t)((uint32_t)start + (uint32_t)i);
}

/* y [outer, n, inner] = x [outer, axis, inner] at index [n]; an item is a row of y */
#define TLMK_GATHER(name, type)                                                             \
    TLM_INLINE void tlmk_##name##_gather__cpu_rows(const int level, type *y, const type *x, \
                                                   const int32_t *index, size_t outer,      \
                                                   size_t axis, size_t inner, size_t n,     \
                                                   size_t begin, size_t end)                \
    {                                                                                       \
        (void)level;                                                                        \
        (void)outer;                                                                        \
        if (inner == 0)                                                                     \
            return;                                                                         \
        for (size_t item = begin; item < end; item++) {                                     \
            const size_t from = item / n * axis + (size_t)index[item % n];                  \
                                                                                            \
            memcpy(y + item * inner, x + from * inner, inner * sizeof(type));               \
        }                                                                                   \
    }

TLMK_GATHER(f32, float)
TLMK_GATHER(i32, int32_t)
TLMK_GATHER(bool, uint8_t)
#undef TLMK_GATHER

/* y [outer, axis, inner] holds the base; an item adds to 64 neighbours along the inner axis,
   over the whole scattered axis; updates [outer, n, inner] are added in increasing order of
   n */
TLM_INLINE void tlmk_f32_scatter_add__cpu_rows(const int level, float *y, const int32_t *index,
                                               const float *updates, size_t outer, size_t axis,
                                               size_t inner, size_t n, size_t begin, size_t end)
{
    const size_t blocks = TLMK_PARTS(inner, TLMK_SCATTER_WIDTH);

    (void)level;
    (void)outer;
    for (size_t item = begin; item < end; item++) {
        const size_t o = item / blocks, first = item % blocks * TLMK_SCATTER_WIDTH;
        const size_t width =
            inner - first < TLMK_SCATTER_WIDTH ? inner - first : TLMK_SCATTER_WIDTH;

        for (size_t i = 0; i < n; i++) {
            float *to = y + (o * axis + (size_t)index[i]) * inner + first;
            const float *from = updates + (o * n + i) * inner + first;

            TLM_LOOP
            for (size_t c = 0; c < width; c++)
                to[c] = to[c] + from[c];
        }
    }
}

#endif
