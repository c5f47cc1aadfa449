/* Strided copy, adjoint of slice, rows of concat: one element at a time. */
#ifndef TLMR_COPY_H
#define TLMR_COPY_H

#include "items.h"

#define TLMR_MOVES(name, type)                                                                     \
    TLM_INLINE void tlmk_##name##_copy__ref_strided(const int level, type *y, const type *x,       \
                                                    int rank, const size_t *dims,                  \
                                                    const size_t *strides, size_t offset,          \
                                                    size_t begin, size_t end)                      \
    {                                                                                              \
        const size_t width = rank > 0 ? dims[rank - 1] : 1;                                        \
                                                                                                   \
        (void)level;                                                                               \
        for (size_t element = begin * width; element < end * width; element++) {                   \
            size_t rest = element, from = offset;                                                  \
                                                                                                   \
            for (int axis = rank - 1; axis >= 0; axis--) {                                         \
                from += rest % dims[axis] * strides[axis];                                         \
                rest /= dims[axis];                                                                \
            }                                                                                      \
            y[element] = x[from];                                                                  \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    TLM_INLINE void tlmk_##name##_slice_vjp__ref_strided(const int level, type *y, const type *g,  \
                                                         int rank, const size_t *ydims,            \
                                                         const size_t *starts,                     \
                                                         const size_t *steps, const size_t *gdims, \
                                                         size_t begin, size_t end)                 \
    {                                                                                              \
        const size_t width = rank > 0 ? ydims[rank - 1] : 1;                                       \
                                                                                                   \
        (void)level;                                                                               \
        for (size_t element = begin * width; element < end * width; element++) {                   \
            size_t rest = element, from = 0, stride = 1;                                           \
            int sliced = 1;                                                                        \
                                                                                                   \
            for (int axis = rank - 1; axis >= 0; axis--) {                                         \
                const size_t at = rest % ydims[axis];                                              \
                                                                                                   \
                rest /= ydims[axis];                                                               \
                if (at < starts[axis] || (at - starts[axis]) % steps[axis] != 0 ||                 \
                    (at - starts[axis]) / steps[axis] >= gdims[axis]) {                            \
                    sliced = 0;                                                                    \
                    break;                                                                         \
                }                                                                                  \
                from += (at - starts[axis]) / steps[axis] * stride;                                \
                stride *= gdims[axis];                                                             \
            }                                                                                      \
            y[element] = sliced ? g[from] : 0;                                                     \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    TLM_INLINE void tlmk_##name##_concat__ref_rows(const int level, type *y, size_t y_row,         \
                                                   size_t offset, const type *x, size_t x_row,     \
                                                   size_t begin, size_t end)                       \
    {                                                                                              \
        (void)level;                                                                               \
        for (size_t row = begin; row < end; row++)                                                 \
            for (size_t j = 0; j < x_row; j++)                                                     \
                y[row * y_row + offset + j] = x[row * x_row + j];                                  \
    }

TLMR_MOVES(f32, float)
TLMR_MOVES(i32, int32_t)
TLMR_MOVES(bool, uint8_t)
#undef TLMR_MOVES

#endif
