/* Optimizer updates of one element, in place: PyTorch's order of operations with the fused
   multiply-adds written out (ir/exact.def has each as a straight-line program).  g is scaled by
   gscale[0] first when clipping asks for it, then decayed.  Scalars that change from step to step
   come through pointers, rounded once from binary64.  Generated kernels find the tensor and the
   element and update all parameters in one launch. */
#ifndef TLMK_UPDATE_CUH
#define TLMK_UPDATE_CUH

#include "tlm_math.h"

#include "device.cuh"

/* g * gscale, then + weight_decay * p; both left out when absent, so that bits do not depend on
   their code. */
TLM_INLINE float tlmk_effective(float g, float p, const float *gscale, float weight_decay)
{
    if (gscale)
        g = g * gscale[0];
    if (weight_decay != 0.0f)
        g = tlm_fma(weight_decay, p, g);
    return g;
}

TLM_INLINE void tlmk_f32_sgd_update__cuda_loop(float *p, const float *g, float *buf,
                                               const float *lr, const float *undamped,
                                               const float *gscale, float momentum, int nesterov,
                                               float weight_decay, uint32_t i)
{
    const float d = tlmk_effective(g[i], p[i], gscale, weight_decay);
    float step = d;

    if (buf) {
        const float b = tlm_fma(undamped[0], d, momentum * buf[i]);

        buf[i] = b;
        step = nesterov ? tlm_fma(momentum, b, d) : b;
    }
    p[i] = tlm_fma(-lr[0], step, p[i]);
}

/* The common part of adam and adamw: the new moments, and the step from them. */
TLM_INLINE float tlmk_adam_step(float p, float d, float *m, float *v, const float *step_size,
                                const float *sqrt_bc2, float beta1, float one_minus_beta1,
                                float beta2, float one_minus_beta2, float eps)
{
    const float m1 = tlm_fma(one_minus_beta1, d, beta1 * *m);
    const float v1 = tlm_fma(one_minus_beta2, d * d, beta2 * *v);

    *m = m1;
    *v = v1;
    return tlm_fma(-step_size[0], m1 / (tlm_sqrt(v1) / sqrt_bc2[0] + eps), p);
}

TLM_INLINE void tlmk_f32_adam_update__cuda_loop(float *p, const float *g, float *m, float *v,
                                                const float *step_size, const float *sqrt_bc2,
                                                const float *gscale, float beta1,
                                                float one_minus_beta1, float beta2,
                                                float one_minus_beta2, float eps,
                                                float weight_decay, uint32_t i)
{
    const float d = tlmk_effective(g[i], p[i], gscale, weight_decay);

    p[i] = tlmk_adam_step(p[i], d, m + i, v + i, step_size, sqrt_bc2, beta1, one_minus_beta1, beta2,
                          one_minus_beta2, eps);
}

/* decay = 1 - lr * weight_decay multiplies p first */
TLM_INLINE void tlmk_f32_adamw_update__cuda_loop(float *p, const float *g, float *m, float *v,
                                                 const float *step_size, const float *sqrt_bc2,
                                                 const float *decay, const float *gscale,
                                                 float beta1, float one_minus_beta1, float beta2,
                                                 float one_minus_beta2, float eps, uint32_t i)
{
    const float d = tlmk_effective(g[i], 0.0f, gscale, 0.0f);

    p[i] = tlmk_adam_step(p[i] * decay[0], d, m + i, v + i, step_size, sqrt_bc2, beta1,
                          one_minus_beta1, beta2, one_minus_beta2, eps);
}

/* grad_avg: centered; buf: momentum */
TLM_INLINE void tlmk_f32_rmsprop_update__cuda_loop(float *p, const float *g, float *sq,
                                                   const float *lr, float *grad_avg, float *buf,
                                                   const float *gscale, float alpha,
                                                   float one_minus_alpha, float eps, float momentum,
                                                   float weight_decay, uint32_t i)
{
    const float d = tlmk_effective(g[i], p[i], gscale, weight_decay);
    const float square = tlm_fma(one_minus_alpha, d * d, alpha * sq[i]);
    float spread = square, ratio;

    sq[i] = square;
    if (grad_avg) {
        const float average = tlm_fma(one_minus_alpha, d, alpha * grad_avg[i]);

        grad_avg[i] = average;
        spread = tlm_fma(-average, average, spread);
    }
    ratio = d / (tlm_sqrt(spread) + eps);
    if (buf) {
        ratio = tlm_fma(momentum, buf[i], ratio);
        buf[i] = ratio;
    }
    p[i] = tlm_fma(-lr[0], ratio, p[i]);
}

/* clr = lr / (1 + (step - 1) * lr_decay), from the host */
TLM_INLINE void tlmk_f32_adagrad_update__cuda_loop(float *p, const float *g, float *sum,
                                                   const float *clr, const float *gscale, float eps,
                                                   float weight_decay, uint32_t i)
{
    const float d = tlmk_effective(g[i], p[i], gscale, weight_decay);
    const float total = tlm_fma(d, d, sum[i]);

    sum[i] = total;
    p[i] = tlm_fma(-clr[0], d / (tlm_sqrt(total) + eps), p[i]);
}

TLM_INLINE void tlmk_f32_adadelta_update__cuda_loop(float *p, const float *g, float *sq, float *acc,
                                                    const float *lr, const float *gscale, float rho,
                                                    float one_minus_rho, float eps,
                                                    float weight_decay, uint32_t i)
{
    const float d = tlmk_effective(g[i], p[i], gscale, weight_decay);
    const float square = tlm_fma(one_minus_rho, d * d, rho * sq[i]);
    const float delta = tlm_sqrt(acc[i] + eps) / tlm_sqrt(square + eps) * d;

    sq[i] = square;
    acc[i] = tlm_fma(one_minus_rho, delta * delta, rho * acc[i]);
    p[i] = tlm_fma(-lr[0], delta, p[i]);
}

/* y = y + x: gradients of micro-batches */
TLM_INLINE void tlmk_f32_accumulate__cuda_loop(float *y, const float *x, uint32_t i)
{
    y[i] = y[i] + x[i];
}

#endif
