/* softmax and log_softmax over rows of `cols` elements, and their derivatives.  An item is a row.
   m = max of the row, e = exp(x - m), s = tree64(e); softmax e / s, log_softmax (x - m) - log(s).
   With a mask (0: blocked) only the others take part; blocked weights are +0, and so is a row where
   all are blocked. */
#ifndef TLMK_SOFTMAX_H
#define TLMK_SOFTMAX_H

#include "reduce.h"

TLM_INLINE void tlmk_f32_softmax__cpu_rows(const int level, float *y, const float *x, size_t rows,
                                           size_t cols, size_t begin, size_t end)
{
    (void)level;
    (void)rows;
    for (size_t row = begin; row < end; row++) {
        const float *from = x + row * cols;
        float *to = y + row * cols;
        const float m = tlmk_largest(from, cols);
        float s;

        TLM_LOOP
        for (size_t j = 0; j < cols; j++)
            to[j] = tlm_exp(from[j] - m);
        s = tlmk_sum(to, cols);
        TLM_LOOP
        for (size_t j = 0; j < cols; j++)
            to[j] = to[j] / s;
    }
}

/* row_dims: the axes before the last; the mask's strides of each (0: broadcasts), mask_step along
   the row */
TLM_INLINE void tlmk_f32_softmax_masked__cpu_rows(const int level, float *y, const float *x,
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
        float m, s;

        for (int i = rank - 1; i >= 0; i--) {
            open += rest % row_dims[i] * mask_strides[i];
            rest /= row_dims[i];
        }
        TLM_LOOP
        for (size_t j = 0; j < cols; j++)
            to[j] = tlm_where(open[j * mask_step], from[j], -TLM_F32_INF);
        m = tlmk_largest(to, cols);
        TLM_LOOP
        for (size_t j = 0; j < cols; j++)
            to[j] = tlm_where(open[j * mask_step], tlm_exp(to[j] - m), 0.0f);
        s = tlmk_sum(to, cols);
        TLM_LOOP
        for (size_t j = 0; j < cols; j++)
            to[j] = tlm_where(open[j * mask_step], to[j] / s, 0.0f);
    }
}

/* y * (g - tree64(g * y)) */
TLM_INLINE void tlmk_f32_softmax_vjp__cpu_rows(const int level, float *dx, const float *g,
                                               const float *y, size_t rows, size_t cols,
                                               size_t begin, size_t end)
{
    (void)level;
    (void)rows;
    for (size_t row = begin; row < end; row++) {
        const float *gr = g + row * cols, *yr = y + row * cols;
        float *to = dx + row * cols;
        float s;

        TLMK_TREE_SUM(s, cols, j, gr[j] * yr[j]);
        TLM_LOOP
        for (size_t j = 0; j < cols; j++)
            to[j] = yr[j] * (gr[j] - s);
    }
}

TLM_INLINE void tlmk_f32_log_softmax__cpu_rows(const int level, float *y, const float *x,
                                               size_t rows, size_t cols, size_t begin, size_t end)
{
    (void)level;
    (void)rows;
    for (size_t row = begin; row < end; row++) {
        const float *from = x + row * cols;
        float *to = y + row * cols;
        const float m = tlmk_largest(from, cols);
        float s;

        TLMK_TREE_SUM(s, cols, j, tlm_exp(from[j] - m));
        s = tlm_log(s);
        TLM_LOOP
        for (size_t j = 0; j < cols; j++)
            to[j] = (from[j] - m) - s;
    }
}

/* fma(-exp(y), tree64(g), g) */
TLM_INLINE void tlmk_f32_log_softmax_vjp__cpu_rows(const int level, float *dx, const float *g,
                                                   const float *y, size_t rows, size_t cols,
                                                   size_t begin, size_t end)
{
    (void)level;
    (void)rows;
    for (size_t row = begin; row < end; row++) {
        const float *gr = g + row * cols, *yr = y + row * cols;
        float *to = dx + row * cols;
        const float s = tlmk_sum(gr, cols);

        TLM_LOOP
        for (size_t j = 0; j < cols; j++)
            to[j] = tlm_fma(-tlm_exp(yr[j]), s, gr[j]);
    }
}

#endif
