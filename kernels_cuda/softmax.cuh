/* softmax and log_softmax over rows of `cols` elements, and their derivatives: one kernel forward,
   one backward.  m = max of the row, e = exp(x - m), s = tree64(e); softmax e / s, log_softmax
   (x - m) - log(s). With a mask (0: blocked) only the others take part; blocked weights are +0, and
   so is a row where all are blocked.  Exponentials are computed twice rather than stored and read
   again: the row lies in the cache, and nothing crosses between threads. */
#ifndef TLMK_SOFTMAX_CUH
#define TLMK_SOFTMAX_CUH

#include "rows.cuh"

TLM_INLINE void tlmk_f32_softmax__cuda_row(float *y, const float *x, uint32_t rows, uint32_t cols)
{
    const struct tlmk_row at = tlmk_row_here(cols);
    const float *from = x + (uint64_t)at.row * cols;
    float *to = y + (uint64_t)at.row * cols;

    if (at.row >= rows)
        return;
    const float m = tlmk_row_max(at, cols, [&](uint32_t j) { return from[j]; });
    const float s = tlmk_row_sum(at, cols, [&](uint32_t j) { return tlm_exp(from[j] - m); });

    for (uint32_t j = at.first; j < cols; j += at.step)
        to[j] = tlm_exp(from[j] - m) / s;
}

/* row_dims: the axes before the last; the mask's strides of each (0: broadcasts), mask_step along
   the row */
TLM_INLINE void tlmk_f32_softmax_masked__cuda_row(float *y, const float *x, const uint8_t *mask,
                                                  uint32_t rows, uint32_t cols, int rank,
                                                  const uint32_t *row_dims,
                                                  const uint64_t *mask_strides, uint64_t mask_step)
{
    const struct tlmk_row at = tlmk_row_here(cols);
    const float *from = x + (uint64_t)at.row * cols;
    float *to = y + (uint64_t)at.row * cols;
    const uint8_t *open = mask;
    uint32_t rest = at.row;

    if (at.row >= rows)
        return;
    TLMK_UNROLL
    for (int i = rank - 1; i >= 0; i--) {
        open += rest % row_dims[i] * mask_strides[i];
        rest /= row_dims[i];
    }
    const float m = tlmk_row_max(at, cols, [&](uint32_t j) {
        return tlm_where(open[j * mask_step], from[j], -TLM_F32_INF);
    });
    /* Blocked elements may hold anything: what exp makes of them is not used. */
    const auto weight = [&](uint32_t j) {
        return tlm_where(open[j * mask_step], tlm_exp(from[j] - m), 0.0f);
    };
    const float s = tlmk_row_sum(at, cols, weight);

    for (uint32_t j = at.first; j < cols; j += at.step)
        to[j] = tlm_where(open[j * mask_step], weight(j) / s, 0.0f);
}

/* y * (g - tree64(g * y)) */
TLM_INLINE void tlmk_f32_softmax_vjp__cuda_row(float *dx, const float *g, const float *y,
                                               uint32_t rows, uint32_t cols)
{
    const struct tlmk_row at = tlmk_row_here(cols);
    const float *gr = g + (uint64_t)at.row * cols, *yr = y + (uint64_t)at.row * cols;
    float *to = dx + (uint64_t)at.row * cols;

    if (at.row >= rows)
        return;
    const float s = tlmk_row_sum(at, cols, [&](uint32_t j) { return gr[j] * yr[j]; });

    for (uint32_t j = at.first; j < cols; j += at.step)
        to[j] = yr[j] * (gr[j] - s);
}

TLM_INLINE void tlmk_f32_log_softmax__cuda_row(float *y, const float *x, uint32_t rows,
                                               uint32_t cols)
{
    const struct tlmk_row at = tlmk_row_here(cols);
    const float *from = x + (uint64_t)at.row * cols;
    float *to = y + (uint64_t)at.row * cols;

    if (at.row >= rows)
        return;
    const float m = tlmk_row_max(at, cols, [&](uint32_t j) { return from[j]; });
    const float s =
        tlm_log(tlmk_row_sum(at, cols, [&](uint32_t j) { return tlm_exp(from[j] - m); }));

    for (uint32_t j = at.first; j < cols; j += at.step)
        to[j] = (from[j] - m) - s;
}

/* fma(-exp(y), tree64(g), g) */
TLM_INLINE void tlmk_f32_log_softmax_vjp__cuda_row(float *dx, const float *g, const float *y,
                                                   uint32_t rows, uint32_t cols)
{
    const struct tlmk_row at = tlmk_row_here(cols);
    const float *gr = g + (uint64_t)at.row * cols, *yr = y + (uint64_t)at.row * cols;
    float *to = dx + (uint64_t)at.row * cols;

    if (at.row >= rows)
        return;
    const float s = tlmk_row_sum(at, cols, [&](uint32_t j) { return gr[j]; });

    for (uint32_t j = at.first; j < cols; j += at.step)
        to[j] = tlm_fma(-tlm_exp(yr[j]), s, gr[j]);
}

#endif
