/* Kernels that move bits: strided copy (permute, broadcast, slice), the adjoint of slice, rows of
   concat. In: row-major operands, sizes and strides in elements.  Out: the items [begin, end), rows
   of the result.  They compute nothing, so NaN payloads and signed zeros pass unchanged. */
#ifndef TLMK_COPY_H
#define TLMK_COPY_H

#include "items.h"

#define TLMK_COPY_KERNELS(name, type)                                                              \
    TLM_INLINE void tlmk_##name##_copy__cpu_strided(const int level, type *y, const type *x,       \
                                                    int rank, const size_t *dims,                  \
                                                    const size_t *strides, size_t offset,          \
                                                    size_t begin, size_t end)                      \
    {                                                                                              \
        const size_t width = rank > 0 ? dims[rank - 1] : 1;                                        \
        const size_t step = rank > 0 ? strides[rank - 1] : 1;                                      \
        size_t at[TLM_MAX_RANK] = { 0 };                                                           \
                                                                                                   \
        (void)level;                                                                               \
        if (begin >= end || width == 0)                                                            \
            return;                                                                                \
        tlmk_unravel(begin, rank, dims, at);                                                       \
        for (size_t row = begin, rows = 1; row < end; row += rows) {                               \
            type *to = y + row * width;                                                            \
            const type *from = x + offset;                                                         \
                                                                                                   \
            rows = 1;                                                                              \
            for (int i = 0; i + 1 < rank; i++)                                                     \
                from += at[i] * strides[i];                                                        \
            if (step == 1) {                                                                       \
                memcpy(to, from, width * sizeof(type));                                            \
            } else if (step > 1 && rank > 1 && strides[rank - 2] == 1) {                           \
                /* a transpose: several rows at once, so that neighbours are read together */      \
                rows = dims[rank - 2] - at[rank - 2];                                              \
                rows = rows < end - row ? rows : end - row;                                        \
                rows = rows < TLMK_COLUMNS ? rows : TLMK_COLUMNS;                                  \
                for (size_t j = 0; j < width; j++)                                                 \
                    for (size_t r = 0; r < rows; r++)                                              \
                        to[r * width + j] = from[j * step + r];                                    \
                at[rank - 2] += rows - 1;                                                          \
            } else {                                                                               \
                TLM_LOOP                                                                           \
                for (size_t j = 0; j < width; j++)                                                 \
                    to[j] = from[j * step];                                                        \
            }                                                                                      \
            tlmk_next_row(rank, dims, at);                                                         \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* y is g at starts + i * steps, 0 elsewhere */                                                \
    TLM_INLINE void tlmk_##name##_slice_vjp__cpu_strided(const int level, type *y, const type *g,  \
                                                         int rank, const size_t *ydims,            \
                                                         const size_t *starts,                     \
                                                         const size_t *steps, const size_t *gdims, \
                                                         size_t begin, size_t end)                 \
    {                                                                                              \
        const size_t width = rank > 0 ? ydims[rank - 1] : 1;                                       \
        const size_t g_width = rank > 0 ? gdims[rank - 1] : 1;                                     \
        const size_t start = rank > 0 ? starts[rank - 1] : 0;                                      \
        const size_t step = rank > 0 ? steps[rank - 1] : 1;                                        \
        size_t at[TLM_MAX_RANK] = { 0 };                                                           \
                                                                                                   \
        (void)level;                                                                               \
        if (begin >= end || width == 0)                                                            \
            return;                                                                                \
        tlmk_unravel(begin, rank, ydims, at);                                                      \
        for (size_t row = begin; row < end; row++) {                                               \
            type *to = y + row * width;                                                            \
            size_t source = 0;                                                                     \
            int inside = 1;                                                                        \
                                                                                                   \
            for (int i = 0; i + 1 < rank; i++) {                                                   \
                const size_t past = at[i] - starts[i];                                             \
                                                                                                   \
                inside = inside && at[i] >= starts[i] && past % steps[i] == 0 &&                   \
                         past / steps[i] < gdims[i];                                               \
                source = source * gdims[i] + past / steps[i];                                      \
            }                                                                                      \
            memset(to, 0, width * sizeof(type));                                                   \
            if (inside) {                                                                          \
                const type *from = g + source * g_width;                                           \
                                                                                                   \
                for (size_t j = 0; j < g_width; j++)                                               \
                    to[start + j * step] = from[j];                                                \
            }                                                                                      \
            tlmk_next_row(rank, ydims, at);                                                        \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* rows of x_row elements into rows of y_row elements, at offset */                            \
    TLM_INLINE void tlmk_##name##_concat__cpu_rows(const int level, type *y, size_t y_row,         \
                                                   size_t offset, const type *x, size_t x_row,     \
                                                   size_t begin, size_t end)                       \
    {                                                                                              \
        (void)level;                                                                               \
        if (x_row == 0)                                                                            \
            return;                                                                                \
        for (size_t row = begin; row < end; row++)                                                 \
            memcpy(y + row * y_row + offset, x + row * x_row, x_row * sizeof(type));               \
    }

TLMK_COPY_KERNELS(f32, float)
TLMK_COPY_KERNELS(i32, int32_t)
TLMK_COPY_KERNELS(bool, uint8_t)
#undef TLMK_COPY_KERNELS

#endif
