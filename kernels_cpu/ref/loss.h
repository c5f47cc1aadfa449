/* mse_loss, cross_entropy and their gradients. */
#ifndef TLMR_LOSS_H
#define TLMR_LOSS_H

#include "ref/softmax.h"

TLM_INLINE void tlmk_f32_mse_loss__ref_left(const int level, float *loss, const float *a,
                                            const float *b, size_t n)
{
    float sum = 0.0f;

    (void)level;
    for (size_t i = 0; i < n; i++) {
        const float d = a[i] - b[i];

        sum += d * d;
    }
    *loss = sum / (float)n;
}

TLM_INLINE void tlmk_f32_mse_loss_vjp__ref_loop(const int level, float *da, const float *g,
                                                const float *a, const float *b, size_t n,
                                                size_t begin, size_t end)
{
    (void)level;
    for (size_t i = begin; i < end; i++)
        da[i] = 2.0f / (float)n * (a[i] - b[i]) * *g;
}

TLM_INLINE void tlmk_f32_cross_entropy__ref_rows(const int level, float *loss, float *m, float *s,
                                                 const float *x, const int32_t *cls, size_t rows,
                                                 size_t cols, size_t begin, size_t end)
{
    (void)level;
    (void)rows;
    for (size_t row = begin; row < end; row++) {
        const float *from = x + row * cols;

        m[row] = tlmr_row_max(from, cols);
        s[row] = 0.0f;
        for (size_t j = 0; j < cols; j++)
            s[row] += expf(from[j] - m[row]);
        loss[row] = logf(s[row]) - (from[cls[row]] - m[row]);
    }
}

TLM_INLINE void tlmk_f32_cross_entropy_vjp__ref_rows(const int level, float *dx, const float *g,
                                                     const float *x, const int32_t *cls,
                                                     const float *m, const float *s, size_t rows,
                                                     size_t cols, size_t begin, size_t end)
{
    (void)level;
    (void)rows;
    for (size_t row = begin; row < end; row++)
        for (size_t j = 0; j < cols; j++) {
            const float p = expf(x[row * cols + j] - m[row]) / s[row];

            dx[row * cols + j] = (j == (size_t)cls[row] ? p - 1.0f : p) * g[row];
        }
}

#endif
