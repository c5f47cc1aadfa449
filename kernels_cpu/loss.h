/* Losses and their gradients.  mse_loss: the mean of (a - b)^2 over all elements, one tree64 (runs
   whole). cross_entropy: a loss a row, log(s) - (x_class - m), with the row's maximum m and s =
   tree64(exp(x - m)), which the gradient reads again.  Classes are checked before the call. */
#ifndef TLMK_LOSS_H
#define TLMK_LOSS_H

#include "reduce.h"

TLM_INLINE void tlmk_f32_mse_loss__cpu_tree64(const int level, float *loss, const float *a,
                                              const float *b, size_t n)
{
    float sum;

    (void)level;
    TLMK_TREE_SUM(sum, n, j, (a[j] - b[j]) * (a[j] - b[j]));
    loss[0] = sum / (float)n;
}

/* ((2 / n) * (a - b)) * g */
TLM_INLINE void tlmk_f32_mse_loss_vjp__cpu_loop(const int level, float *da, const float *g,
                                                const float *a, const float *b, size_t n,
                                                size_t begin, size_t end)
{
    const float factor = 2.0f / (float)n, seed = begin < end ? g[0] : 0.0f;

    (void)level;
    TLM_LOOP
    for (size_t i = begin; i < end; i++)
        da[i] = (factor * (a[i] - b[i])) * seed;
}

TLM_INLINE void tlmk_f32_cross_entropy__cpu_rows(const int level, float *loss, float *m, float *s,
                                                 const float *x, const int32_t *cls, size_t rows,
                                                 size_t cols, size_t begin, size_t end)
{
    (void)level;
    (void)rows;
    for (size_t row = begin; row < end; row++) {
        const float *from = x + row * cols;
        const float top = tlmk_largest(from, cols);
        float sum;

        TLMK_TREE_SUM(sum, cols, j, tlm_exp(from[j] - top));
        m[row] = top;
        s[row] = sum;
        loss[row] = tlm_log(sum) - (from[cls[row]] - top);
    }
}

/* (exp(x - m) / s - [class]) * g */
TLM_INLINE void tlmk_f32_cross_entropy_vjp__cpu_rows(const int level, float *dx, const float *g,
                                                     const float *x, const int32_t *cls,
                                                     const float *m, const float *s, size_t rows,
                                                     size_t cols, size_t begin, size_t end)
{
    (void)level;
    (void)rows;
    for (size_t row = begin; row < end; row++) {
        const float *from = x + row * cols;
        const float top = m[row], sum = s[row], seed = g[row];
        const size_t hit = (size_t)cls[row];
        const float x_hit = from[hit];
        float *to = dx + row * cols;

        TLM_LOOP
        for (size_t j = 0; j < cols; j++)
            to[j] = (tlm_exp(from[j] - top) / sum) * seed;
        to[hit] = (tlm_exp(x_hit - top) / sum - 1.0f) * seed;
    }
}

#endif
