/* Optimizer updates, in place, element by element: PyTorch's order of operations with the fused
   multiply-adds written out (ir/exact.def has each as a straight-line program).  g is scaled by
   gscale[0] first when clipping asks for it, then decayed.  Scalars that change from step to step
   come through pointers, rounded once from binary64. */
#ifndef TLMK_UPDATE_H
#define TLMK_UPDATE_H

#include "items.h"
#include "tlm_math.h"

/* g * gscale, then + weight_decay * p; both left out when absent, so that bits do not depend on
   their code. */
TLM_INLINE float tlmk_effective(float g, float p, int scaled, float scale, float weight_decay)
{
    if (scaled)
        g = g * scale;
    if (weight_decay != 0.0f)
        g = tlm_fma(weight_decay, p, g);
    return g;
}

TLM_INLINE void tlmk_f32_sgd_update__cpu_loop(const int level, float *restrict p,
                                              const float *restrict g, float *restrict buf,
                                              const float *lr, const float *undamped,
                                              const float *gscale, float momentum, int nesterov,
                                              float weight_decay, size_t begin, size_t end)
{
    const float scale = gscale ? gscale[0] : 1.0f, minus = -lr[0], fresh = undamped[0];

    (void)level;
    if (!buf) {
        TLM_LOOP
        for (size_t i = begin; i < end; i++)
            p[i] = tlm_fma(minus, tlmk_effective(g[i], p[i], gscale != NULL, scale, weight_decay),
                           p[i]);
        return;
    }
    TLM_LOOP
    for (size_t i = begin; i < end; i++) {
        const float d = tlmk_effective(g[i], p[i], gscale != NULL, scale, weight_decay);
        const float b = tlm_fma(fresh, d, momentum * buf[i]);

        buf[i] = b;
        p[i] = tlm_fma(minus, nesterov ? tlm_fma(momentum, b, d) : b, p[i]);
    }
}

/* The common part of adam and adamw: the step from the moments as they are after this gradient. */
TLM_INLINE float tlmk_adam_step(float p, float m, float v, float minus_size, float root, float eps)
{
    return tlm_fma(minus_size, m / (tlm_sqrt(v) / root + eps), p);
}

TLM_INLINE void tlmk_f32_adam_update__cpu_loop(const int level, float *restrict p,
                                               const float *restrict g, float *restrict m,
                                               float *restrict v, const float *step_size,
                                               const float *sqrt_bc2, const float *gscale,
                                               float beta1, float one_minus_beta1, float beta2,
                                               float one_minus_beta2, float eps, float weight_decay,
                                               size_t begin, size_t end)
{
    const float scale = gscale ? gscale[0] : 1.0f, minus = -step_size[0], root = sqrt_bc2[0];

    (void)level;
    TLM_LOOP
    for (size_t i = begin; i < end; i++) {
        const float d = tlmk_effective(g[i], p[i], gscale != NULL, scale, weight_decay);
        const float m1 = tlm_fma(one_minus_beta1, d, beta1 * m[i]);
        const float v1 = tlm_fma(one_minus_beta2, d * d, beta2 * v[i]);

        m[i] = m1;
        v[i] = v1;
        p[i] = tlmk_adam_step(p[i], m1, v1, minus, root, eps);
    }
}

/* decay = 1 - lr * weight_decay multiplies p first */
TLM_INLINE void
tlmk_f32_adamw_update__cpu_loop(const int level, float *restrict p, const float *restrict g,
                                float *restrict m, float *restrict v, const float *step_size,
                                const float *sqrt_bc2, const float *decay, const float *gscale,
                                float beta1, float one_minus_beta1, float beta2,
                                float one_minus_beta2, float eps, size_t begin, size_t end)
{
    const float scale = gscale ? gscale[0] : 1.0f, minus = -step_size[0], root = sqrt_bc2[0],
                keep = decay[0];

    (void)level;
    TLM_LOOP
    for (size_t i = begin; i < end; i++) {
        const float d = tlmk_effective(g[i], 0.0f, gscale != NULL, scale, 0.0f);
        const float m1 = tlm_fma(one_minus_beta1, d, beta1 * m[i]);
        const float v1 = tlm_fma(one_minus_beta2, d * d, beta2 * v[i]);

        m[i] = m1;
        v[i] = v1;
        p[i] = tlmk_adam_step(p[i] * keep, m1, v1, minus, root, eps);
    }
}

/* grad_avg: centered; buf: momentum */
TLM_INLINE void tlmk_f32_rmsprop_update__cpu_loop(const int level, float *restrict p,
                                                  const float *restrict g, float *restrict sq,
                                                  const float *lr, float *restrict grad_avg,
                                                  float *restrict buf, const float *gscale,
                                                  float alpha, float one_minus_alpha, float eps,
                                                  float momentum, float weight_decay, size_t begin,
                                                  size_t end)
{
    const float scale = gscale ? gscale[0] : 1.0f, minus = -lr[0];

    (void)level;
    TLM_LOOP
    for (size_t i = begin; i < end; i++) {
        const float d = tlmk_effective(g[i], p[i], gscale != NULL, scale, weight_decay);
        float spread, ratio;

        sq[i] = tlm_fma(one_minus_alpha, d * d, alpha * sq[i]);
        spread = sq[i];
        if (grad_avg) {
            grad_avg[i] = tlm_fma(one_minus_alpha, d, alpha * grad_avg[i]);
            spread = tlm_fma(-grad_avg[i], grad_avg[i], spread);
        }
        ratio = d / (tlm_sqrt(spread) + eps);
        if (buf) {
            buf[i] = tlm_fma(momentum, buf[i], ratio);
            ratio = buf[i];
        }
        p[i] = tlm_fma(minus, ratio, p[i]);
    }
}

/* clr = lr / (1 + (step - 1) * lr_decay), from the host */
TLM_INLINE void tlmk_f32_adagrad_update__cpu_loop(const int level, float *restrict p,
                                                  const float *restrict g, float *restrict sum,
                                                  const float *clr, const float *gscale, float eps,
                                                  float weight_decay, size_t begin, size_t end)
{
    const float scale = gscale ? gscale[0] : 1.0f, minus = -clr[0];

    (void)level;
    TLM_LOOP
    for (size_t i = begin; i < end; i++) {
        const float d = tlmk_effective(g[i], p[i], gscale != NULL, scale, weight_decay);

        sum[i] = tlm_fma(d, d, sum[i]);
        p[i] = tlm_fma(minus, d / (tlm_sqrt(sum[i]) + eps), p[i]);
    }
}

TLM_INLINE void tlmk_f32_adadelta_update__cpu_loop(const int level, float *restrict p,
                                                   const float *restrict g, float *restrict sq,
                                                   float *restrict acc, const float *lr,
                                                   const float *gscale, float rho,
                                                   float one_minus_rho, float eps,
                                                   float weight_decay, size_t begin, size_t end)
{
    const float scale = gscale ? gscale[0] : 1.0f, minus = -lr[0];

    (void)level;
    TLM_LOOP
    for (size_t i = begin; i < end; i++) {
        const float d = tlmk_effective(g[i], p[i], gscale != NULL, scale, weight_decay);
        float delta;

        sq[i] = tlm_fma(one_minus_rho, d * d, rho * sq[i]);
        delta = tlm_sqrt(acc[i] + eps) / tlm_sqrt(sq[i] + eps) * d;
        acc[i] = tlm_fma(one_minus_rho, delta * delta, rho * acc[i]);
        p[i] = tlm_fma(minus, delta, p[i]);
    }
}

/* y = y + x: gradients of micro-batches */
TLM_INLINE void tlmk_f32_accumulate__cpu_loop(const int level, float *restrict y,
                                              const float *restrict x, size_t begin, size_t end)
{
    (void)level;
    TLM_LOOP
    for (size_t i = begin; i < end; i++)
        y[i] = y[i] + x[i];
}

#endif
