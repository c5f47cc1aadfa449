/* Pointwise ops by hand: tlmr_<op>, the twins of the rows of tlm_pointwise.def, with libm's exp,
   log, ... and separate roundings.  Where no libm function takes part the bits are those of the
   rows. */
#ifndef TLMR_POINTWISE_H
#define TLMR_POINTWISE_H

#include "tlm_rt.h"

#include <math.h>

/* ---- unary and their derivatives times g */
TLM_INLINE float tlmr_neg(float x)
{
    return -x;
}
TLM_INLINE float tlmr_neg_vjp(float g)
{
    return -g;
}
TLM_INLINE float tlmr_scale(float x, float factor)
{
    return x * factor;
}
TLM_INLINE float tlmr_scale_vjp(float g, float factor)
{
    return g * factor;
}
TLM_INLINE float tlmr_abs(float x)
{
    return fabsf(x);
}
TLM_INLINE float tlmr_abs_vjp(float g, float x)
{
    if (x < 0.0f)
        return -g;
    return x == 0.0f ? 0.0f : g;
}
TLM_INLINE float tlmr_sqrt(float x)
{
    return sqrtf(x);
}
TLM_INLINE float tlmr_sqrt_vjp(float g, float y)
{
    return g / (2.0f * y);
}
TLM_INLINE float tlmr_rsqrt(float x)
{
    return 1.0f / sqrtf(x);
}
TLM_INLINE float tlmr_rsqrt_vjp(float g, float y)
{
    return -0.5f * g * y * (y * y);
}
TLM_INLINE float tlmr_exp(float x)
{
    return expf(x);
}
TLM_INLINE float tlmr_exp_vjp(float g, float y)
{
    return g * y;
}
TLM_INLINE float tlmr_log(float x)
{
    return logf(x);
}
TLM_INLINE float tlmr_log_vjp(float g, float x)
{
    return g / x;
}
TLM_INLINE float tlmr_sin(float x)
{
    return sinf(x);
}
TLM_INLINE float tlmr_sin_vjp(float g, float x)
{
    return g * cosf(x);
}
TLM_INLINE float tlmr_cos(float x)
{
    return cosf(x);
}
TLM_INLINE float tlmr_cos_vjp(float g, float x)
{
    return -(g * sinf(x));
}
TLM_INLINE float tlmr_inv(float x)
{
    return 1.0f / x;
}
TLM_INLINE float tlmr_inv_vjp(float g, float y)
{
    return -(g * y * y);
}
TLM_INLINE float tlmr_relu(float x)
{
    return x < 0.0f ? 0.0f : x;
}
TLM_INLINE float tlmr_relu_vjp(float g, float x)
{
    return x <= 0.0f ? 0.0f : g;
}
TLM_INLINE float tlmr_sigmoid(float x)
{
    if (x >= 0.0f)
        return 1.0f / (1.0f + expf(-x));
    return expf(x) / (1.0f + expf(x));
}
TLM_INLINE float tlmr_sigmoid_vjp(float g, float y)
{
    return g * ((1.0f - y) * y);
}
TLM_INLINE float tlmr_tanh(float x)
{
    return tanhf(x);
}
TLM_INLINE float tlmr_tanh_vjp(float g, float y)
{
    return g * ((1.0f - y) * (1.0f + y));
}
/* sqrt(2/pi) (x + 0.044715 x^3) */
TLM_INLINE float tlmr_gelu_argument(float x)
{
    return 0.79788456f * (x + 0.044715f * x * x * x);
}
TLM_INLINE float tlmr_gelu(float x)
{
    return x * tlmr_sigmoid(2.0f * tlmr_gelu_argument(x));
}
TLM_INLINE float tlmr_gelu_vjp(float g, float x)
{
    const float c = x > 20.0f ? 20.0f : x < -20.0f ? -20.0f : x;
    const float z = 2.0f * tlmr_gelu_argument(c);
    const float inner = 2.0f * 0.79788456f * (1.0f + 3.0f * 0.044715f * c * c);

    return g * (tlmr_sigmoid(z) + c * inner * (tlmr_sigmoid(z) * tlmr_sigmoid(-z)));
}
TLM_INLINE float tlmr_gelu_erf(float x)
{
    return x * (0.5f * erfcf(-0.70710678f * x));
}
TLM_INLINE float tlmr_gelu_erf_vjp(float g, float x)
{
    const float c = x > 15.0f ? 15.0f : x < -15.0f ? -15.0f : x;

    return g * (0.5f * erfcf(-0.70710678f * c) + c * (0.39894228f * expf(-0.5f * c * c)));
}
TLM_INLINE float tlmr_softplus(float x)
{
    const float above = x < 0.0f ? 0.0f : x;

    return above + log1pf(expf(-fabsf(x)));
}
TLM_INLINE float tlmr_softplus_vjp(float g, float x)
{
    return g * tlmr_sigmoid(x);
}
TLM_INLINE float tlmr_safe_log(float x, float eps)
{
    return logf(tlmr_softplus(x) + eps);
}
TLM_INLINE float tlmr_safe_log_vjp(float g, float x, float eps)
{
    return g * tlmr_sigmoid(x) / (tlmr_softplus(x) + eps);
}
TLM_INLINE float tlmr_erf(float x)
{
    return erff(x);
}
TLM_INLINE float tlmr_erf_vjp(float g, float x)
{
    return g * (1.1283792f * expf(-(x * x)));
}
TLM_INLINE float tlmr_silu(float x)
{
    return x * tlmr_sigmoid(x);
}
TLM_INLINE float tlmr_silu_vjp(float g, float x)
{
    return g * (tlmr_sigmoid(x) * (1.0f + x * tlmr_sigmoid(-x)));
}
TLM_INLINE float tlmr_leaky_relu(float x, float slope)
{
    return x > 0.0f ? x : x * slope;
}
TLM_INLINE float tlmr_leaky_relu_vjp(float g, float x, float slope)
{
    return x > 0.0f ? g : g * slope;
}
TLM_INLINE float tlmr_elu(float x, float alpha)
{
    return x > 0.0f ? x : alpha * expm1f(x);
}
TLM_INLINE float tlmr_elu_vjp(float g, float x, float alpha)
{
    return x > 0.0f ? g : g * (alpha * expf(x));
}
TLM_INLINE float tlmr_clamp(float x, float min, float max)
{
    if (x < min)
        x = min;
    return x > max ? max : x;
}
TLM_INLINE float tlmr_clamp_vjp(float g, float x, float min, float max)
{
    return x < min || x > max ? 0.0f : g;
}
TLM_INLINE float tlmr_floor(float x)
{
    return floorf(x);
}
TLM_INLINE float tlmr_floor_vjp(float g)
{
    (void)g;
    return 0.0f;
}
TLM_INLINE float tlmr_ceil(float x)
{
    return ceilf(x);
}
TLM_INLINE float tlmr_ceil_vjp(float g)
{
    (void)g;
    return 0.0f;
}
TLM_INLINE float tlmr_round(float x)
{
    return rintf(x);
}
TLM_INLINE float tlmr_round_vjp(float g)
{
    (void)g;
    return 0.0f;
}

/* ---- two and three operands */
TLM_INLINE float tlmr_add(float a, float b)
{
    return a + b;
}
TLM_INLINE float tlmr_sub(float a, float b)
{
    return a - b;
}
TLM_INLINE float tlmr_mul(float a, float b)
{
    return a * b;
}
TLM_INLINE float tlmr_div(float a, float b)
{
    return a / b;
}
TLM_INLINE float tlmr_pow(float a, float b)
{
    return powf(a, b);
}
TLM_INLINE float tlmr_pow_vjp_a(float g, float a, float b)
{
    return b == 0.0f ? 0.0f : g * (b * powf(a, b - 1.0f));
}
TLM_INLINE float tlmr_pow_vjp_b(float g, float a, float y)
{
    return a <= 0.0f ? 0.0f : g * (y * logf(a));
}
/* NaN if either is; of two zeros +0 */
TLM_INLINE float tlmr_max(float a, float b)
{
    if (isnan(a) || isnan(b))
        return a + b;
    if (a == b)
        return signbit(a) ? b : a;
    return a > b ? a : b;
}
/* NaN if either is; of two zeros -0 */
TLM_INLINE float tlmr_min(float a, float b)
{
    if (isnan(a) || isnan(b))
        return a + b;
    if (a == b)
        return signbit(a) ? a : b;
    return a < b ? a : b;
}
TLM_INLINE float tlmr_max_vjp(float g, float a, float b)
{
    if (a == b)
        return 0.5f * g;
    return a < b ? 0.0f : g;
}
TLM_INLINE float tlmr_min_vjp(float g, float a, float b)
{
    if (a == b)
        return 0.5f * g;
    return a > b ? 0.0f : g;
}
TLM_INLINE int32_t tlmr_add_i32(int32_t a, int32_t b)
{
    return (int32_t)((int64_t)a + b);
}
TLM_INLINE int32_t tlmr_sub_i32(int32_t a, int32_t b)
{
    return (int32_t)((int64_t)a - b);
}
TLM_INLINE int32_t tlmr_mul_i32(int32_t a, int32_t b)
{
    return (int32_t)((int64_t)a * b);
}
TLM_INLINE int32_t tlmr_max_i32(int32_t a, int32_t b)
{
    return a > b ? a : b;
}
TLM_INLINE int32_t tlmr_min_i32(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

#define TLMR_COMPARE(name, operator)                            \
    TLM_INLINE uint8_t tlmr_##name(float a, float b)            \
    {                                                           \
        return a operator b;                                    \
    }                                                           \
    TLM_INLINE uint8_t tlmr_##name##_i32(int32_t a, int32_t b)  \
    {                                                           \
        return a operator b;                                    \
    }                                                           \
    TLM_INLINE uint8_t tlmr_##name##_bool(uint8_t a, uint8_t b) \
    {                                                           \
        return !!a operator!!b;                                 \
    }
TLMR_COMPARE(eq, ==)
TLMR_COMPARE(ne, !=)
TLMR_COMPARE(lt, <)
TLMR_COMPARE(le, <=)
TLMR_COMPARE(gt, >)
TLMR_COMPARE(ge, >=)
#undef TLMR_COMPARE

TLM_INLINE uint8_t tlmr_logical_and(uint8_t a, uint8_t b)
{
    return a && b;
}
TLM_INLINE uint8_t tlmr_logical_or(uint8_t a, uint8_t b)
{
    return a || b;
}
TLM_INLINE uint8_t tlmr_logical_not(uint8_t a)
{
    return !a;
}
TLM_INLINE float tlmr_where(uint8_t c, float a, float b)
{
    return c ? a : b;
}
TLM_INLINE int32_t tlmr_where_i32(uint8_t c, int32_t a, int32_t b)
{
    return c ? a : b;
}
TLM_INLINE uint8_t tlmr_where_bool(uint8_t c, uint8_t a, uint8_t b)
{
    return c ? !!a : !!b;
}

/* ---- casts */
TLM_INLINE float tlmr_cast_f32_f32(float a)
{
    return a;
}
TLM_INLINE int32_t tlmr_cast_f32_i32(float a)
{
    if (isnan(a))
        return 0;
    if (a >= 2147483648.0f)
        return INT32_MAX;
    return a <= -2147483648.0f ? INT32_MIN : (int32_t)a;
}
TLM_INLINE uint8_t tlmr_cast_f32_bool(float a)
{
    return a != 0.0f;
}
TLM_INLINE float tlmr_cast_i32_f32(int32_t a)
{
    return (float)a;
}
TLM_INLINE int32_t tlmr_cast_i32_i32(int32_t a)
{
    return a;
}
TLM_INLINE uint8_t tlmr_cast_i32_bool(int32_t a)
{
    return a != 0;
}
TLM_INLINE float tlmr_cast_bool_f32(uint8_t a)
{
    return a ? 1.0f : 0.0f;
}
TLM_INLINE int32_t tlmr_cast_bool_i32(uint8_t a)
{
    return a ? 1 : 0;
}
TLM_INLINE uint8_t tlmr_cast_bool_bool(uint8_t a)
{
    return !!a;
}

#endif
