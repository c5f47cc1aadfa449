/* Optimizer updates as PyTorch writes them, each operation rounded by itself. */
#ifndef TLMR_UPDATE_H
#define TLMR_UPDATE_H

#include "items.h"

#include <math.h>

TLM_INLINE float tlmr_decayed(float g, float p, const float *gscale, float weight_decay)
{
    if (gscale)
        g = g * *gscale;
    return weight_decay != 0.0f ? g + weight_decay * p : g;
}

TLM_INLINE void tlmk_f32_sgd_update__ref_loop(const int level, float *p, const float *g, float *buf,
                                              const float *lr, const float *undamped,
                                              const float *gscale, float momentum, int nesterov,
                                              float weight_decay, size_t begin, size_t end)
{
    (void)level;
    for (size_t i = begin; i < end; i++) {
        float d = tlmr_decayed(g[i], p[i], gscale, weight_decay);

        if (buf) {
            buf[i] = momentum * buf[i] + *undamped * d;
            d = nesterov ? d + momentum * buf[i] : buf[i];
        }
        p[i] = p[i] - *lr * d;
    }
}

TLM_INLINE float tlmr_adam(float p, float d, float *m, float *v, float step_size, float sqrt_bc2,
                           float beta1, float one_minus_beta1, float beta2, float one_minus_beta2,
                           float eps)
{
    *m = beta1 * *m + one_minus_beta1 * d;
    *v = beta2 * *v + one_minus_beta2 * d * d;
    return p - step_size * (*m / (sqrtf(*v) / sqrt_bc2 + eps));
}

TLM_INLINE void tlmk_f32_adam_update__ref_loop(const int level, float *p, const float *g, float *m,
                                               float *v, const float *step_size,
                                               const float *sqrt_bc2, const float *gscale,
                                               float beta1, float one_minus_beta1, float beta2,
                                               float one_minus_beta2, float eps, float weight_decay,
                                               size_t begin, size_t end)
{
    (void)level;
    for (size_t i = begin; i < end; i++)
        p[i] =
            tlmr_adam(p[i], tlmr_decayed(g[i], p[i], gscale, weight_decay), &m[i], &v[i],
                      *step_size, *sqrt_bc2, beta1, one_minus_beta1, beta2, one_minus_beta2, eps);
}

TLM_INLINE void tlmk_f32_adamw_update__ref_loop(
    const int level, float *p, const float *g, float *m, float *v, const float *step_size,
    const float *sqrt_bc2, const float *decay, const float *gscale, float beta1,
    float one_minus_beta1, float beta2, float one_minus_beta2, float eps, size_t begin, size_t end)
{
    (void)level;
    for (size_t i = begin; i < end; i++)
        p[i] =
            tlmr_adam(p[i] * *decay, tlmr_decayed(g[i], p[i], gscale, 0.0f), &m[i], &v[i],
                      *step_size, *sqrt_bc2, beta1, one_minus_beta1, beta2, one_minus_beta2, eps);
}

TLM_INLINE void tlmk_f32_rmsprop_update__ref_loop(const int level, float *p, const float *g,
                                                  float *sq, const float *lr, float *grad_avg,
                                                  float *buf, const float *gscale, float alpha,
                                                  float one_minus_alpha, float eps, float momentum,
                                                  float weight_decay, size_t begin, size_t end)
{
    (void)level;
    for (size_t i = begin; i < end; i++) {
        float d = tlmr_decayed(g[i], p[i], gscale, weight_decay), spread;

        sq[i] = alpha * sq[i] + one_minus_alpha * d * d;
        spread = sq[i];
        if (grad_avg) {
            grad_avg[i] = alpha * grad_avg[i] + one_minus_alpha * d;
            spread = spread - grad_avg[i] * grad_avg[i];
        }
        d = d / (sqrtf(spread) + eps);
        if (buf) {
            buf[i] = momentum * buf[i] + d;
            d = buf[i];
        }
        p[i] = p[i] - *lr * d;
    }
}

TLM_INLINE void tlmk_f32_adagrad_update__ref_loop(const int level, float *p, const float *g,
                                                  float *sum, const float *clr, const float *gscale,
                                                  float eps, float weight_decay, size_t begin,
                                                  size_t end)
{
    (void)level;
    for (size_t i = begin; i < end; i++) {
        const float d = tlmr_decayed(g[i], p[i], gscale, weight_decay);

        sum[i] = sum[i] + d * d;
        p[i] = p[i] - *clr * (d / (sqrtf(sum[i]) + eps));
    }
}

TLM_INLINE void tlmk_f32_adadelta_update__ref_loop(const int level, float *p, const float *g,
                                                   float *sq, float *acc, const float *lr,
                                                   const float *gscale, float rho,
                                                   float one_minus_rho, float eps,
                                                   float weight_decay, size_t begin, size_t end)
{
    (void)level;
    for (size_t i = begin; i < end; i++) {
        const float d = tlmr_decayed(g[i], p[i], gscale, weight_decay);
        float delta;

        sq[i] = rho * sq[i] + one_minus_rho * d * d;
        delta = sqrtf(acc[i] + eps) / sqrtf(sq[i] + eps) * d;
        acc[i] = rho * acc[i] + one_minus_rho * delta * delta;
        p[i] = p[i] - *lr * delta;
    }
}

TLM_INLINE void tlmk_f32_accumulate__ref_loop(const int level, float *y, const float *x,
                                              size_t begin, size_t end)
{
    (void)level;
    for (size_t i = begin; i < end; i++)
        y[i] += x[i];
}

#endif
