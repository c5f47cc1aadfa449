/* Optimizer updates, element by element: PyTorch's formulas and order, products and sums fused
   where fmaf is written, every other operation rounded; 1 - beta is formed in binary64 and rounded
   once. */
#include "exact.h"

#include <math.h>
#include <string.h>

/* The gradient as the update sees it: clipped, then decay added. */
static float gradient(float g, const float *gscale, float decay, float p)
{
    if (gscale)
        g = g * gscale[0];
    if (decay != 0)
        g = fmaf(decay, p, g);
    return g;
}

static float rest(const struct ops_case *c, enum tlmc_attr_tag tag)
{
    return (float)(1.0 - ops_attr_f64(c, tag));
}

static void sgd(const struct ops_case *c, struct ops_buffer *in, int64_t i)
{
    const float momentum = ops_attr_f32(c, TLMC_A_MOMENTUM);
    const float lr = in[2].data.f[0], undamped = in[3].data.f[0];
    float *p = &in[0].data.f[i], *buf = in[4].data.f;
    float g = gradient(in[1].data.f[i], in[5].data.f, ops_attr_f32(c, TLMC_A_WEIGHT_DECAY), *p);

    if (buf) {
        buf[i] = fmaf(undamped, g, momentum * buf[i]);
        g = ops_attr_i64(c, TLMC_A_NESTEROV) ? fmaf(momentum, buf[i], g) : buf[i];
    }
    *p = fmaf(-lr, g, *p);
}

static void adam(const struct ops_case *c, struct ops_buffer *in, int64_t i)
{
    const bool decoupled = c->row->op == TLMC_OP_ADAMW_UPDATE;
    const float *gscale = in[decoupled ? 7 : 6].data.f;
    const float step_size = in[4].data.f[0], sqrt_bc2 = in[5].data.f[0];
    float *p = &in[0].data.f[i], *m = &in[2].data.f[i], *v = &in[3].data.f[i];
    const float g =
        gradient(in[1].data.f[i], gscale, decoupled ? 0 : ops_attr_f32(c, TLMC_A_WEIGHT_DECAY), *p);

    if (decoupled)
        *p = *p * in[6].data.f[0];
    *m = fmaf(rest(c, TLMC_A_BETA1), g, ops_attr_f32(c, TLMC_A_BETA1) * *m);
    *v = fmaf(rest(c, TLMC_A_BETA2), g * g, ops_attr_f32(c, TLMC_A_BETA2) * *v);
    *p = fmaf(-step_size, *m / (sqrtf(*v) / sqrt_bc2 + ops_attr_f32(c, TLMC_A_EPS)), *p);
}

static void rmsprop(const struct ops_case *c, struct ops_buffer *in, int64_t i)
{
    const float alpha = ops_attr_f32(c, TLMC_A_ALPHA), momentum = ops_attr_f32(c, TLMC_A_MOMENTUM);
    float *p = &in[0].data.f[i], *sq = &in[2].data.f[i];
    float *avg = in[4].data.f, *buf = in[5].data.f;
    const float g =
        gradient(in[1].data.f[i], in[6].data.f, ops_attr_f32(c, TLMC_A_WEIGHT_DECAY), *p);
    float variance, step;

    *sq = fmaf(rest(c, TLMC_A_ALPHA), g * g, alpha * *sq);
    variance = *sq;
    if (avg) {
        avg[i] = fmaf(rest(c, TLMC_A_ALPHA), g, alpha * avg[i]);
        variance = fmaf(-avg[i], avg[i], variance);
    }
    step = g / (sqrtf(variance) + ops_attr_f32(c, TLMC_A_EPS));
    if (buf) {
        buf[i] = fmaf(momentum, buf[i], step);
        step = buf[i];
    }
    *p = fmaf(-in[3].data.f[0], step, *p);
}

static void adagrad(const struct ops_case *c, struct ops_buffer *in, int64_t i)
{
    float *p = &in[0].data.f[i], *sum = &in[2].data.f[i];
    const float g =
        gradient(in[1].data.f[i], in[4].data.f, ops_attr_f32(c, TLMC_A_WEIGHT_DECAY), *p);

    *sum = fmaf(g, g, *sum);
    *p = fmaf(-in[3].data.f[0], g / (sqrtf(*sum) + ops_attr_f32(c, TLMC_A_EPS)), *p);
}

static void adadelta(const struct ops_case *c, struct ops_buffer *in, int64_t i)
{
    const float rho = ops_attr_f32(c, TLMC_A_RHO), eps = ops_attr_f32(c, TLMC_A_EPS);
    float *p = &in[0].data.f[i], *sq = &in[2].data.f[i], *acc = &in[3].data.f[i];
    const float g =
        gradient(in[1].data.f[i], in[5].data.f, ops_attr_f32(c, TLMC_A_WEIGHT_DECAY), *p);
    float step;

    *sq = fmaf(rest(c, TLMC_A_RHO), g * g, rho * *sq);
    step = sqrtf(*acc + eps) / sqrtf(*sq + eps) * g;
    *acc = fmaf(rest(c, TLMC_A_RHO), step * step, rho * *acc);
    *p = fmaf(-in[4].data.f[0], step, *p);
}

static void accumulate(const struct ops_case *c, struct ops_buffer *in, int64_t i)
{
    (void)c;
    in[0].data.f[i] = in[0].data.f[i] + in[1].data.f[i];
}

bool ops_exact_update(const struct ops_case *c, struct ops_buffer *operands)
{
    static void (*const rules[TLMC_OP_COUNT])(const struct ops_case *, struct ops_buffer *,
                                              int64_t) = {
        [TLMC_OP_ACCUMULATE] = accumulate,    [TLMC_OP_SGD_UPDATE] = sgd,
        [TLMC_OP_ADAM_UPDATE] = adam,         [TLMC_OP_ADAMW_UPDATE] = adam,
        [TLMC_OP_RMSPROP_UPDATE] = rmsprop,   [TLMC_OP_ADAGRAD_UPDATE] = adagrad,
        [TLMC_OP_ADADELTA_UPDATE] = adadelta,
    };
    const int64_t count = tlmc_type_count(&operands[0].type);

    if (!rules[c->row->op])
        return false;
    for (int64_t i = 0; i < count; i++)
        rules[c->row->op](c, operands, i);
    return true;
}
