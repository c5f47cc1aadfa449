/* Losses and their gradients.  mse_loss: the mean of (a - b)^2 over all elements, one tree64.
   cross_entropy: a loss a row, log(s) - (x_class - m), with the row's maximum m and s =
   tree64(exp(x - m)), which the gradient reads again.  Classes are checked before; one out of range
   is skipped. */
#ifndef TLMK_LOSS_CUH
#define TLMK_LOSS_CUH

#include "rows.cuh"

TLM_INLINE void tlmk_f32_mse_loss__cuda_tree64(float *loss, const float *a, const float *b,
                                               uint32_t n)
{
    const struct tlmk_row at = tlmk_row_here(n);

    if (at.row > 0)
        return;
    const float sum =
        tlmk_row_sum(at, n, [&](uint32_t j) { return (a[j] - b[j]) * (a[j] - b[j]); });

    if (at.first == 0)
        loss[0] = sum / (float)n;
}

/* The results of the chunks, one a warp; mean_of_parts gives the loss. */
TLM_INLINE void tlmk_f32_mse_chunks__cuda_tree64(float *parts, const float *a, const float *b,
                                                 uint32_t n)
{
    const uint32_t chunk = blockIdx.x * TLMK_WARPS + tlm_warp();
    const uint32_t first = chunk * TLM_REDUCE_CHUNK;

    if (chunk >= TLMK_CHUNKS(n))
        return;
    const float sum = tlmk_chunk_sum(first, tlmk_chunk_terms(n, first),
                                     [&](uint32_t j) { return (a[j] - b[j]) * (a[j] - b[j]); });

    if (tlm_lane() == 0)
        parts[chunk] = sum;
}

/* ((2 / n) * (a - b)) * g */
TLM_INLINE void tlmk_f32_mse_loss_vjp__cuda_loop(float *da, const float *g, const float *a,
                                                 const float *b, uint32_t n)
{
    const uint32_t i = tlm_thread();

    if (i < n)
        da[i] = ((2.0f / (float)n) * (a[i] - b[i])) * g[0];
}

TLM_INLINE void tlmk_f32_cross_entropy__cuda_row(float *loss, float *m, float *s, const float *x,
                                                 const int32_t *cls, uint32_t rows, uint32_t cols)
{
    const struct tlmk_row at = tlmk_row_here(cols);
    const float *from = x + (uint64_t)at.row * cols;

    if (at.row >= rows)
        return;
    const float top = tlmk_row_max(at, cols, [&](uint32_t j) { return from[j]; });
    const float sum = tlmk_row_sum(at, cols, [&](uint32_t j) { return tlm_exp(from[j] - top); });

    if (at.first == 0) {
        const uint32_t hit = (uint32_t)cls[at.row];

        m[at.row] = top;
        s[at.row] = sum;
        if (hit < cols)
            loss[at.row] = tlm_log(sum) - (from[hit] - top);
    }
}

/* (exp(x - m) / s - [class]) * g; one thread an element */
TLM_INLINE void tlmk_f32_cross_entropy_vjp__cuda_row(float *dx, const float *g, const float *x,
                                                     const int32_t *cls, const float *m,
                                                     const float *s, uint32_t rows, uint32_t cols)
{
    const uint32_t i = tlm_thread();

    if (i < rows * cols) {
        const uint32_t row = i / cols, j = i % cols;
        const float p = tlm_exp(x[i] - m[row]) / s[row];

        dx[i] = tlm_select(j == (uint32_t)cls[row], p - 1.0f, p) * g[row];
    }
}

#endif
