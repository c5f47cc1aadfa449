/* layer_norm over rows of `cols` elements: y, mean, rstd; gradient of x (by rows), of weight and
   bias (by columns). mean = tree64(x) / n; variance = tree64((x - mean)^2) / n, two-pass; rstd = 1
   / sqrt(variance + eps); y = fma((x - mean) * rstd, weight, bias).  Empty rows give mean NaN. */
#ifndef TLMK_NORM_H
#define TLMK_NORM_H

#include "reduce.h"

TLM_INLINE void tlmk_f32_layer_norm__cpu_rows(const int level, float *y, float *mean, float *rstd,
                                              const float *x, const float *weight,
                                              const float *bias, size_t rows, size_t cols,
                                              float eps, size_t begin, size_t end)
{
    const float n = (float)cols;

    (void)level;
    (void)rows;
    for (size_t row = begin; row < end; row++) {
        const float *from = x + row * cols;
        float *to = y + row * cols;
        const float mu = tlmk_sum(from, cols) / n;
        float squares, scale;

        TLMK_TREE_SUM(squares, cols, j, (from[j] - mu) * (from[j] - mu));
        scale = tlm_rsqrt(squares / n + eps);
        mean[row] = mu;
        rstd[row] = scale;
        TLM_LOOP
        for (size_t j = 0; j < cols; j++)
            to[j] = tlm_fma((from[j] - mu) * scale, weight[j], bias[j]);
    }
}

/* h = g * weight, z = (x - mean) * rstd: rstd * fma(-z, tree64(h * z) / n, h - tree64(h) / n) */
TLM_INLINE void tlmk_f32_layer_norm_vjp__cpu_rows(const int level, float *dx, const float *g,
                                                  const float *x, const float *weight,
                                                  const float *mean, const float *rstd, size_t rows,
                                                  size_t cols, size_t begin, size_t end)
{
    const float n = (float)cols;

    (void)level;
    (void)rows;
    for (size_t row = begin; row < end; row++) {
        const float *gr = g + row * cols, *xr = x + row * cols;
        float *to = dx + row * cols;
        const float mu = mean[row], scale = rstd[row];
        float a, b;

        TLMK_TREE_SUM(a, cols, j, gr[j] * weight[j]);
        TLMK_TREE_SUM(b, cols, j, (gr[j] * weight[j]) * ((xr[j] - mu) * scale));
        a = a / n;
        b = b / n;
        TLM_LOOP
        for (size_t j = 0; j < cols; j++)
            to[j] = scale * tlm_fma(-((xr[j] - mu) * scale), b, gr[j] * weight[j] - a);
    }
}

/* dw = tree64 over rows of g * ((x - mean) * rstd), db = tree64 over rows of g.  An item is 16
   columns. */
TLM_INLINE void tlmk_f32_layer_norm_vjp_weight__cpu_columns(const int level, float *dw, float *db,
                                                            const float *g, const float *x,
                                                            const float *mean, const float *rstd,
                                                            size_t rows, size_t cols, size_t begin,
                                                            size_t end)
{
    (void)level;
    for (size_t item = begin; item < end; item++) {
        const size_t first = item * TLMK_COLUMNS;
        const size_t width = cols - first < TLMK_COLUMNS ? cols - first : TLMK_COLUMNS;
        struct tlmk_columns weights, biases;
        float result[TLMK_COLUMNS];

        tlmk_columns_begin(&weights, rows);
        tlmk_columns_begin(&biases, rows);
        for (size_t row = 0; row < rows; row++) {
            const float *gr = g + row * cols + first, *xr = x + row * cols + first;
            const float mu = mean[row], scale = rstd[row];
            float *w = tlmk_columns_lane(&weights), *b = tlmk_columns_lane(&biases);

            if (width == TLMK_COLUMNS)
                for (size_t c = 0; c < TLMK_COLUMNS; c++) {
                    w[c] += gr[c] * ((xr[c] - mu) * scale);
                    b[c] += gr[c];
                }
            else
                for (size_t c = 0; c < width; c++) {
                    w[c] += gr[c] * ((xr[c] - mu) * scale);
                    b[c] += gr[c];
                }
            tlmk_columns_next(&weights);
            tlmk_columns_next(&biases);
        }
        tlmk_columns_end(&weights, result);
        memcpy(dw + first, result, width * sizeof *dw);
        tlmk_columns_end(&biases, result);
        memcpy(db + first, result, width * sizeof *db);
    }
}

#endif
