/* layer_norm over rows of `cols` elements: y, mean, rstd in one kernel; the gradient of x (by rows)
   and those of weight and bias (by columns), which can share a launch: `block` is the number
   of this block among those of its gradient.  mean = tree64(x) / n; variance = tree64((x -
   mean)^2) / n, two-pass; rstd = 1 / sqrt(variance + eps); y = fma((x - mean) * rstd, weight,
   bias).  Empty rows give mean NaN. */
#ifndef TLMK_NORM_CUH
#define TLMK_NORM_CUH

#include "columns.cuh"

TLM_INLINE void tlmk_f32_layer_norm__cuda_row(float *y, float *mean, float *rstd, const float *x,
                                              const float *weight, const float *bias, uint32_t rows,
                                              uint32_t cols, float eps)
{
    const struct tlmk_row at = tlmk_row_here(cols);
    const float *from = x + (uint64_t)at.row * cols;
    float *to = y + (uint64_t)at.row * cols;
    const float n = (float)cols;

    if (at.row >= rows)
        return;
    const float mu = tlmk_row_sum(at, cols, [&](uint32_t j) { return from[j]; }) / n;
    const float squares =
        tlmk_row_sum(at, cols, [&](uint32_t j) { return (from[j] - mu) * (from[j] - mu); });
    const float scale = tlm_rsqrt(squares / n + eps);

    if (at.first == 0) {
        mean[at.row] = mu;
        rstd[at.row] = scale;
    }
    for (uint32_t j = at.first; j < cols; j += at.step)
        to[j] = tlm_fma((from[j] - mu) * scale, weight[j], bias[j]);
}

/* h = g * weight, z = (x - mean) * rstd: rstd * fma(-z, tree64(h * z) / n, h - tree64(h) / n) */
TLM_INLINE void tlmk_f32_layer_norm_vjp__cuda_row(uint32_t block, float *dx, const float *g,
                                                  const float *x, const float *weight,
                                                  const float *mean, const float *rstd,
                                                  uint32_t rows, uint32_t cols)
{
    const struct tlmk_row at = tlmk_row_of(block, cols);
    const float *gr = g + (uint64_t)at.row * cols, *xr = x + (uint64_t)at.row * cols;
    float *to = dx + (uint64_t)at.row * cols;
    const float n = (float)cols;

    if (at.row >= rows)
        return;
    const float mu = mean[at.row], scale = rstd[at.row];
    const auto h = [&](uint32_t j) { return gr[j] * weight[j]; };
    const auto z = [&](uint32_t j) { return (xr[j] - mu) * scale; };
    const float a = tlmk_row_sum(at, cols, h) / n;
    const float b = tlmk_row_sum(at, cols, [&](uint32_t j) { return h(j) * z(j); }) / n;

    for (uint32_t j = at.first; j < cols; j += at.step)
        to[j] = scale * tlm_fma(-z(j), b, h(j) - a);
}

/* dw = tree64 over rows of g * ((x - mean) * rstd), db = tree64 over rows of g */
TLM_INLINE void tlmk_f32_layer_norm_vjp_weight__cuda_columns(uint32_t block, float *dw, float *db,
                                                             const float *g, const float *x,
                                                             const float *mean, const float *rstd,
                                                             uint32_t rows, uint32_t cols)
{
    const struct tlmk_column at = tlmk_column_of(block, cols);
    const float *gc = g + at.column, *xc = x + at.column;
    const struct tlmk_terms<2> sums = tlmk_column_sums<2>(rows, at.inside, [&](uint32_t row) {
        const uint64_t place = (uint64_t)row * cols;
        const float seed = gc[place];
        struct tlmk_terms<2> terms;

        terms.of[0] = seed * ((xc[place] - mean[row]) * rstd[row]);
        terms.of[1] = seed;
        return terms;
    });

    if (at.inside && tlm_warp() == 0) {
        dw[at.column] = sums.of[0];
        db[at.column] = sums.of[1];
    }
}

#endif
