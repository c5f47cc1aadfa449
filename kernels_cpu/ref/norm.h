/* layer_norm and its derivatives, a row or a column at a time; variance in two passes. */
#ifndef TLMR_NORM_H
#define TLMR_NORM_H

#include "items.h"

#include <math.h>

TLM_INLINE void tlmk_f32_layer_norm__ref_rows(const int level, float *y, float *mean, float *rstd,
                                              const float *x, const float *weight,
                                              const float *bias, size_t rows, size_t cols,
                                              float eps, size_t begin, size_t end)
{
    (void)level;
    (void)rows;
    for (size_t row = begin; row < end; row++) {
        const float *from = x + row * cols;
        float sum = 0.0f, squares = 0.0f;

        for (size_t j = 0; j < cols; j++)
            sum += from[j];
        mean[row] = sum / (float)cols;
        for (size_t j = 0; j < cols; j++) {
            const float d = from[j] - mean[row];

            squares += d * d;
        }
        rstd[row] = 1.0f / sqrtf(squares / (float)cols + eps);
        for (size_t j = 0; j < cols; j++)
            y[row * cols + j] = (from[j] - mean[row]) * rstd[row] * weight[j] + bias[j];
    }
}

TLM_INLINE void tlmk_f32_layer_norm_vjp__ref_rows(const int level, float *dx, const float *g,
                                                  const float *x, const float *weight,
                                                  const float *mean, const float *rstd, size_t rows,
                                                  size_t cols, size_t begin, size_t end)
{
    (void)level;
    (void)rows;
    for (size_t row = begin; row < end; row++) {
        const float *gr = g + row * cols, *xr = x + row * cols;
        float a = 0.0f, b = 0.0f;

        for (size_t j = 0; j < cols; j++) {
            const float z = (xr[j] - mean[row]) * rstd[row];

            a += gr[j] * weight[j];
            b += gr[j] * weight[j] * z;
        }
        a /= (float)cols;
        b /= (float)cols;
        for (size_t j = 0; j < cols; j++) {
            const float z = (xr[j] - mean[row]) * rstd[row];

            dx[row * cols + j] = rstd[row] * (gr[j] * weight[j] - a - z * b);
        }
    }
}

TLM_INLINE void tlmk_f32_layer_norm_vjp_weight__ref_columns(const int level, float *dw, float *db,
                                                            const float *g, const float *x,
                                                            const float *mean, const float *rstd,
                                                            size_t rows, size_t cols, size_t begin,
                                                            size_t end)
{
    (void)level;
    for (size_t item = begin; item < end; item++) {
        const struct tlmk_reduce_item at = tlmk_reduce_at(item, cols);

        for (size_t j = at.i; j < at.i + at.width; j++) {
            dw[j] = 0.0f;
            db[j] = 0.0f;
            for (size_t row = 0; row < rows; row++) {
                dw[j] += g[row * cols + j] * ((x[row * cols + j] - mean[row]) * rstd[row]);
                db[j] += g[row * cols + j];
            }
        }
    }
}

#endif
