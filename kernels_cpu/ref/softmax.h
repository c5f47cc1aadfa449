/* softmax, log_softmax and their derivatives, a row at a time. */
#ifndef TLMR_SOFTMAX_H
#define TLMR_SOFTMAX_H

#include "items.h"
#include "ref/pointwise.h"

TLM_INLINE float tlmr_row_max(const float *x, size_t n)
{
    float m = -INFINITY;

    for (size_t j = 0; j < n; j++)
        m = tlmr_max(m, x[j]);
    return m;
}

TLM_INLINE void tlmk_f32_softmax_masked__ref_rows(const int level, float *y, const float *x,
                                                  const uint8_t *mask, size_t rows, size_t cols,
                                                  int rank, const size_t *row_dims,
                                                  const size_t *mask_strides, size_t mask_step,
                                                  size_t begin, size_t end)
{
    (void)level;
    (void)rows;
    for (size_t row = begin; row < end; row++) {
        const float *from = x + row * cols;
        float *to = y + row * cols;
        const uint8_t *open = mask;
        size_t rest = row;
        float m = -INFINITY, s = 0.0f;

        for (int axis = rank - 1; axis >= 0; axis--) {
            open += rest % row_dims[axis] * mask_strides[axis];
            rest /= row_dims[axis];
        }
        for (size_t j = 0; j < cols; j++)
            if (open[j * mask_step])
                m = tlmr_max(m, from[j]);
        for (size_t j = 0; j < cols; j++) {
            to[j] = open[j * mask_step] ? expf(from[j] - m) : 0.0f;
            s += to[j];
        }
        for (size_t j = 0; j < cols; j++)
            if (open[j * mask_step])
                to[j] /= s;
    }
}

TLM_INLINE void tlmk_f32_softmax__ref_rows(const int level, float *y, const float *x, size_t rows,
                                           size_t cols, size_t begin, size_t end)
{
    static const uint8_t all_open = 1;

    tlmk_f32_softmax_masked__ref_rows(level, y, x, &all_open, rows, cols, 0, NULL, NULL, 0, begin,
                                      end);
}

TLM_INLINE void tlmk_f32_softmax_vjp__ref_rows(const int level, float *dx, const float *g,
                                               const float *y, size_t rows, size_t cols,
                                               size_t begin, size_t end)
{
    (void)level;
    (void)rows;
    for (size_t row = begin; row < end; row++) {
        float s = 0.0f;

        for (size_t j = row * cols; j < (row + 1) * cols; j++)
            s += g[j] * y[j];
        for (size_t j = row * cols; j < (row + 1) * cols; j++)
            dx[j] = y[j] * (g[j] - s);
    }
}

TLM_INLINE void tlmk_f32_log_softmax__ref_rows(const int level, float *y, const float *x,
                                               size_t rows, size_t cols, size_t begin, size_t end)
{
    (void)level;
    (void)rows;
    for (size_t row = begin; row < end; row++) {
        const float m = tlmr_row_max(x + row * cols, cols);
        float s = 0.0f;

        for (size_t j = row * cols; j < (row + 1) * cols; j++)
            s += expf(x[j] - m);
        for (size_t j = row * cols; j < (row + 1) * cols; j++)
            y[j] = (x[j] - m) - logf(s);
    }
}

TLM_INLINE void tlmk_f32_log_softmax_vjp__ref_rows(const int level, float *dx, const float *g,
                                                   const float *y, size_t rows, size_t cols,
                                                   size_t begin, size_t end)
{
    (void)level;
    (void)rows;
    for (size_t row = begin; row < end; row++) {
        float s = 0.0f;

        for (size_t j = row * cols; j < (row + 1) * cols; j++)
            s += g[j];
        for (size_t j = row * cols; j < (row + 1) * cols; j++)
            dx[j] = g[j] - expf(y[j]) * s;
    }
}

#endif
