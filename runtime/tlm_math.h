/* The binary32 formulas: scalar functions tlm_<op>(x, attributes) and tlm_<op>_vjp(g[, x][, y],
   attributes), tlm_add(a, b), tlm_where(c, a, b), ...  Every one is a straight line of IEEE
   operations, written fused multiply-adds and integer bit operations: the same bits from every
   compiler, level and device, and plain loops over them vectorise.

   One row an op stands in tlm_pointwise.def; a row is a one-line expression, this file holds what
   those expressions call: exp, log, sine and cosine with their argument reduction, erfc, pow.
   Coefficients are minimax fits of our own, rounded to binary32 one after the other; the error each
   leaves is given beside it, relative to the function. Refuses nothing: every input has a value
   (docs/numerics.md, Formulas). */
#ifndef TLM_MATH_H
#define TLM_MATH_H

#include "tlm_fp.h"

/* ---- sign, order, rounding to integers */
TLM_INLINE float tlm_fabs_bits(float x)
{
    return tlm_float(tlm_bits(x) & 0x7fffffffu);
}

/* magnitude of x, sign of s */
TLM_INLINE float tlm_copysign_bits(float x, float s)
{
    return tlm_float((tlm_bits(x) & 0x7fffffffu) | (tlm_bits(s) & 0x80000000u));
}

/* NaN stays NaN */
TLM_INLINE float tlm_clamp_between(float x, float low, float high)
{
    const float t = tlm_select(x < low, low, x);

    return tlm_select(t > high, high, t);
}

/* Equal operands are equal bits or two zeros; the `and` of two zeros is +0 unless both are -0, the
   `or` the reverse. */
TLM_INLINE float tlm_max_of(float a, float b)
{
    const float larger = tlm_select(a > b, a, b);
    const float merged = tlm_select(a == b, tlm_float(tlm_bits(a) & tlm_bits(b)), larger);

    return tlm_select(a != a, a, merged);
}

TLM_INLINE float tlm_min_of(float a, float b)
{
    const float smaller = tlm_select(a < b, a, b);
    const float merged = tlm_select(a == b, tlm_float(tlm_bits(a) | tlm_bits(b)), smaller);

    return tlm_select(a != a, a, merged);
}

/* Nearest integer, ties to even: adding 2^23 leaves no fraction bits.  Larger values are integers
   already. */
TLM_INLINE float tlm_round_even(float x)
{
    const float a = tlm_fabs_bits(x);
    const float whole = (a + 0x1p23f) - 0x1p23f;

    return tlm_select(a < 0x1p23f, tlm_copysign_bits(whole, x), x);
}

TLM_INLINE float tlm_floor_of(float x)
{
    const float r = tlm_round_even(x);

    return tlm_copysign_bits(tlm_select(r > x, r - 1.0f, r), x);
}

TLM_INLINE float tlm_ceil_of(float x)
{
    const float r = tlm_round_even(x);

    return tlm_copysign_bits(tlm_select(r < x, r + 1.0f, r), x);
}

/* NaN is 0, truncated, clamped to the range of int32 */
TLM_INLINE int32_t tlm_to_i32(float x)
{
    const float finite = tlm_select(x != x, 0.0f, x);
    const float inside = tlm_clamp_between(finite, -0x1p31f, 0x1.fffffep30f);
    const uint32_t truncated = (uint32_t)(int32_t)inside;

    return (int32_t)tlm_select_u32(finite >= 0x1p31f, 0x7fffffffu, truncated);
}

/* ---- exp */
/* p * 2^n for p near 1 and -252 <= n <= 254, rounded once (the first product is exact) */
TLM_INLINE float tlm_scale_2n(float p, uint32_t n)
{
    const uint32_t half = (uint32_t)((int32_t)n >> 1);
    const uint32_t rest = n - half;

    return p * tlm_float((half + 127u) << 23) * tlm_float((rest + 127u) << 23);
}

/* (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2; 2^-27.7 of e^r */
TLM_INLINE float tlm_exp_poly(float r)
{
    float p = 0x1.6d730ap-10f;

    p = tlm_fma(p, r, 0x1.123ad4p-7f);
    p = tlm_fma(p, r, 0x1.5554c6p-5f);
    p = tlm_fma(p, r, 0x1.55549p-3f);
    return tlm_fma(p, r, 0.5f);
}

/* e^(x + low), low far smaller than x: overflows to inf, underflows gradually, NaN stays NaN.
   x = n ln 2 + r; adding 1.5 * 2^23 rounds x / ln 2 to n and leaves n in the low bits. */
TLM_INLINE float tlm_exp_sum(float x, float low)
{
    const float c = tlm_clamp_between(x, -104.0f, 89.0f);
    const float shifted = tlm_fma(c, 0x1.715476p+0f, 0x1.8p23f);
    const uint32_t n = tlm_bits(shifted) - 0x4b400000u;
    const float whole = shifted - 0x1.8p23f;
    float r = tlm_fma(whole, -0x1.62e4p-1f, c);

    r = tlm_fma(whole, -0x1.7f7d1cp-20f, r) + low;
    return tlm_scale_2n(tlm_fma(tlm_exp_poly(r), r * r, r) + 1.0f, n);
}

/* e^x - 1 for -20 <= x <= 21 */
TLM_INLINE float tlm_expm1_core(float x)
{
    const float shifted = tlm_fma(x, 0x1.715476p+0f, 0x1.8p23f);
    const uint32_t n = tlm_bits(shifted) - 0x4b400000u;
    const float whole = shifted - 0x1.8p23f;
    const float power = tlm_float((n + 127u) << 23);
    float r = tlm_fma(whole, -0x1.62e4p-1f, x);

    r = tlm_fma(whole, -0x1.7f7d1cp-20f, r);
    return tlm_fma(power, tlm_fma(tlm_exp_poly(r), r * r, r), power - 1.0f);
}

/* e^(-factor x^2), factor a power of two, the square in two floats */
TLM_INLINE float tlm_exp_neg_square(float x, float factor)
{
    const float c = tlm_clamp_between(x, -15.0f, 15.0f); /* 0 beyond */
    const float high = c * c;
    const float low = tlm_fma(c, c, -high);

    return tlm_exp_sum(-(high * factor), -(low * factor));
}

/* ---- log */
/* The exponent and mantissa of a positive x: x = m * 2^e, sqrt(1/2) <= m < sqrt(2); subnormals
   included. */
TLM_INLINE float tlm_split(float x, float *exponent)
{
    const int tiny = x < 0x1p-126f;
    const uint32_t u = tlm_bits(tlm_select(tiny, x * 0x1p24f, x)) - 0x3f3504f3u;

    *exponent = (float)((int32_t)u >> 23) - tlm_select(tiny, 24.0f, 0.0f);
    return tlm_float((u & 0x007fffffu) + 0x3f3504f3u);
}

/* log(1 + f) = f - f^2/2 + f^3 P(f), 2^-30.2 */
TLM_INLINE float tlm_log_core(float x)
{
    float e;
    const float f = tlm_split(x, &e) - 1.0f;
    const float s = f * f;
    float p = 0x1.148598p-4f;

    p = tlm_fma(p, f, -0x1.de0f4ap-4f);
    p = tlm_fma(p, f, 0x1.e6bfa2p-4f);
    p = tlm_fma(p, f, -0x1.fc269cp-4f);
    p = tlm_fma(p, f, 0x1.233b7ap-3f);
    p = tlm_fma(p, f, -0x1.555c4ep-3f);
    p = tlm_fma(p, f, 0x1.99a478p-3f);
    p = tlm_fma(p, f, -0x1.000006p-2f);
    p = tlm_fma(p, f, 0x1.555548p-2f);
    p = tlm_fma(-0.5f, s, p * (f * s));
    p = tlm_fma(e, 0x1.7f7d1cp-20f, p);
    return tlm_fma(e, 0x1.62e4p-1f, f + p);
}

/* x < 0: NaN; 0: -inf; inf and NaN stay */
TLM_INLINE float tlm_log_of(float x)
{
    float y = tlm_log_core(x);

    y = tlm_select(x == 0.0f, -TLM_F32_INF, y);
    y = tlm_select(x < 0.0f, TLM_F32_NAN, y);
    return tlm_select(!(x < TLM_F32_INF), x, y);
}

/* log(1 + e) for 0 <= e <= 1: t + t (t/2)^2 P, t/2 = e / (2 + e), from 2 atanh(t/2), 2^-33 */
TLM_INLINE float tlm_log1p_core(float e)
{
    const float t = e / tlm_fma(0.5f, e, 1.0f);
    const float v = 0.25f * t * t;
    float p = 0x1.f08ae4p-4f;

    p = tlm_fma(p, v, 0x1.b72bbap-4f);
    p = tlm_fma(p, v, 0x1.25051p-3f);
    p = tlm_fma(p, v, 0x1.9996d8p-3f);
    p = tlm_fma(p, v, 0x1.555558p-2f);
    return tlm_fma(t * v, p, t);
}

/* ---- functions made of exp and log */
TLM_INLINE float tlm_sigmoid_of(float x)
{
    const float e = tlm_exp_sum(-tlm_fabs_bits(x), 0.0f);

    return tlm_select(x < 0.0f, e, 1.0f) / (1.0f + e);
}

/* x * sigmoid(z), with no subnormal number on the way to one that is not */
TLM_INLINE float tlm_times_sigmoid(float x, float z)
{
    const float h = tlm_exp_sum(-0.5f * tlm_fabs_bits(z), 0.0f);

    return tlm_select(z < 0.0f, x * h * h, x) / tlm_fma(h, h, 1.0f);
}

TLM_INLINE float tlm_tanh_of(float x)
{
    const float a = tlm_clamp_between(tlm_fabs_bits(x), 0.0f, 10.0f);
    const float e = tlm_expm1_core(a + a);

    return tlm_copysign_bits(e / (e + 2.0f), x);
}

TLM_INLINE float tlm_softplus_of(float x)
{
    return tlm_select(x < 0.0f, 0.0f, x) + tlm_log1p_core(tlm_exp_sum(-tlm_fabs_bits(x), 0.0f));
}

TLM_INLINE float tlm_elu_of(float x, float alpha)
{
    const float below = tlm_expm1_core(tlm_clamp_between(x, -20.0f, 0.0f));

    return tlm_select(x > 0.0f, x, alpha * tlm_copysign_bits(below, x));
}

/* sigmoid(x) and its slope e^-|x| / (1 + e^-|x|)^2, which does not cancel */
TLM_INLINE float tlm_sigmoid_and_slope(float x, float *slope)
{
    const float e = tlm_exp_sum(-tlm_fabs_bits(x), 0.0f);
    const float d = 1.0f + e;

    *slope = e / d / d;
    return tlm_select(x < 0.0f, e, 1.0f) / d;
}

TLM_INLINE float tlm_silu_slope(float x)
{
    float slope;
    const float s = tlm_sigmoid_and_slope(x, &slope);

    return tlm_fma(x, slope, s);
}

/* gelu, tanh form: x * sigmoid(z), z = 2 sqrt(2/pi) (x + 0.044715 x^3) */
TLM_INLINE float tlm_gelu_inner(float x)
{
    return x * tlm_fma(0x1.2444f2p-4f, x * x, 0x1.988454p+0f);
}

TLM_INLINE float tlm_gelu_slope(float x)
{
    const float c = tlm_clamp_between(x, -20.0f, 20.0f);
    const float inner = tlm_fma(0x1.b6676cp-3f, c * c, 0x1.988454p+0f);
    float slope;
    const float s = tlm_sigmoid_and_slope(tlm_gelu_inner(c), &slope);

    return tlm_fma(c * inner, slope, s);
}

/* ---- erf */
/* e^(z^2) erfc(z) for z >= 0: a polynomial in (z - 2) / (z + 2) over 1 + 2 z, 2^-25.6 up to 10.6 */
TLM_INLINE float tlm_erfcx_core(float z)
{
    const float t = (z - 2.0f) / (z + 2.0f);
    float p = -0x1.a27916p-12f;

    p = tlm_fma(p, t, -0x1.421acap-10f);
    p = tlm_fma(p, t, 0x1.583288p-10f);
    p = tlm_fma(p, t, 0x1.1ae10ap-7f);
    p = tlm_fma(p, t, -0x1.08159p-7f);
    p = tlm_fma(p, t, -0x1.bc0d7p-5f);
    p = tlm_fma(p, t, 0x1.4ffc0ap-3f);
    p = tlm_fma(p, t, -0x1.54081cp-3f);
    p = tlm_fma(p, t, -0x1.7bf608p-4f);
    p = tlm_fma(p, t, 0x1.46e80ep+0f);
    return p / tlm_fma(2.0f, z, 1.0f);
}

/* x + x q(x^2) below 1 (2^-29.4), 1 - erfc above */
TLM_INLINE float tlm_erf_of(float x)
{
    const float a = tlm_clamp_between(tlm_fabs_bits(x), 0.0f, 10.0f);
    const float v = a * a;
    const float above = 1.0f - tlm_exp_sum(-v, 0.0f) * tlm_erfcx_core(a);
    float q = 0x1.4772a4p-14f;

    q = tlm_fma(q, v, -0x1.a35182p-11f);
    q = tlm_fma(q, v, 0x1.53f226p-8f);
    q = tlm_fma(q, v, -0x1.b7f71ap-6f);
    q = tlm_fma(q, v, 0x1.ce2ce6p-4f);
    q = tlm_fma(q, v, -0x1.81273ep-2f);
    q = tlm_fma(q, v, 0x1.06eba8p-3f);
    return tlm_copysign_bits(tlm_select(a < 1.0f, tlm_fma(a, q, a), above), x);
}

/* The normal distribution function, its lower tail to full relative precision; *bell is
   e^(-x^2/2), the density without its factor. */
TLM_INLINE float tlm_normal_cdf(float x, float *bell)
{
    const float c = tlm_clamp_between(x, -15.0f, 15.0f);
    const float e = tlm_exp_neg_square(c, 0.5f);
    const float tail = 0.5f * e * tlm_erfcx_core(tlm_fabs_bits(c) * 0x1.6a09e6p-1f);

    *bell = e;
    return tlm_select(x < 0.0f, tail, 1.0f - tail);
}

TLM_INLINE float tlm_gelu_erf_of(float x)
{
    float bell;

    return x * tlm_normal_cdf(x, &bell);
}

TLM_INLINE float tlm_gelu_erf_slope(float x)
{
    float bell;
    const float below = tlm_normal_cdf(x, &bell);

    return tlm_fma(tlm_clamp_between(x, -15.0f, 15.0f), bell * 0x1.988454p-2f, below);
}

/* ---- sin, cos */
/* |x| = quarter * pi/2 + (r + low), |r| <= pi/4: every finite argument, in integers, with no branch
   (Payne and Hanek). |x| = m * 2^(s - 24) with a 24-bit m.  The 256 bits below are 2/pi * 2^230;
   shifted left by s they hold, in their first 96, the part of 2^(s - 24) * 2/pi below 4 in steps of
   2^-94.  m times that, of which the first 64 bits are kept, is |x| * 2/pi modulo 4 in steps of
   2^-62; no binary32 comes nearer to a multiple of pi/2 than 2^-33. */
TLM_INLINE uint32_t tlm_reduce(float x, float *r, float *low)
{
    static const float c30 = 0x1.921fb6p-30f, c30_low = -0x1.777a5cp-55f; /* pi/2 * 2^-30 */
    const uint32_t u = tlm_bits(x) & 0x7fffffffu;
    const uint32_t exponent = u >> 23;
    const uint32_t below = exponent - 126u; /* wraps for small x, which are taken as they are */
    const uint32_t top = (below >> 7) & 1u; /* s is 128 for the largest exponent only */
    const uint32_t s = (below - top) & 127u;
    const uint32_t m = ((u & 0x007fffffu) | 0x00800000u) << top;
    const int by2 = (int)(s & 64u), by1 = (int)(s & 32u);
    const uint32_t v0 = tlm_select_u32(by2, 0x91054a7fu, 0x00000028u);
    const uint32_t v1 = tlm_select_u32(by2, 0x09d5f47du, 0xbe60db93u);
    const uint32_t v2 = tlm_select_u32(by2, 0x4d377036u, 0x91054a7fu);
    const uint32_t v3 = tlm_select_u32(by2, 0xd8a5664fu, 0x09d5f47du);
    const uint32_t v4 = tlm_select_u32(by2, 0x10e4107fu, 0x4d377036u);
    const uint32_t w0 = tlm_select_u32(by1, v1, v0), w1 = tlm_select_u32(by1, v2, v1);
    const uint32_t w2 = tlm_select_u32(by1, v3, v2), w3 = tlm_select_u32(by1, v4, v3);
    const uint32_t left = s & 31u, right = 31u - left;
    const uint32_t a0 = (w0 << left) | ((w1 >> 1) >> right);
    const uint32_t a1 = (w1 << left) | ((w2 >> 1) >> right);
    const uint32_t a2 = (w2 << left) | ((w3 >> 1) >> right);
    const uint64_t p1 = (uint64_t)m * a1 + (((uint64_t)m * a2) >> 32);
    const uint32_t high = (uint32_t)(p1 >> 32) + m * a0;
    const uint32_t quarter = (high + 0x20000000u) >> 30;
    const int32_t whole =
        (int32_t)(high - (quarter << 30)); /* of the fraction, in steps of 2^-30 */
    const float f = (float)whole;          /* and what its rounding and the low word leave: */
    const float rest = (float)(whole - (int32_t)f) + (float)(int32_t)((uint32_t)p1 >> 1) * 0x1p-31f;
    const float product = f * c30;
    const float error = tlm_fma(rest, c30, tlm_fma(f, c30_low, tlm_fma(f, c30, -product)));
    const float sum = product + error;
    const int small = u < 0x3f490fdbu; /* pi/4 */

    *r = tlm_select(small, tlm_float(u), sum);
    *low = tlm_select(small, 0.0f, (product - sum) + error);
    return tlm_select_u32(small, 0u, quarter);
}

/* sine (cosine when `quarter` is odd, with signs) of r + low: 2^-32.4 and 2^-32.7 */
TLM_INLINE float tlm_sine_of_quarter(float r, float low, uint32_t quarter)
{
    const float v = r * r;
    float s = 0x1.7ccf18p-19f, c = 0x1.99e0e8p-16f, y;

    s = tlm_fma(s, v, -0x1.a05ba8p-13f);
    s = tlm_fma(s, v, 0x1.111176p-7f);
    s = tlm_fma(s, v, -0x1.555556p-3f);
    s = r + tlm_fma(s, r * v, low);
    c = tlm_fma(c, v, -0x1.6c0c1ap-10f);
    c = tlm_fma(c, v, 0x1.55554ap-5f);
    c = tlm_fma(c, v * v, tlm_fma(-r, low, 1.0f - 0.5f * v));
    y = tlm_select((int)(quarter & 1u), c, s);
    return tlm_float(tlm_bits(y) ^ ((quarter & 2u) << 30));
}

TLM_INLINE float tlm_sin_of(float x)
{
    float r, low;
    const uint32_t quarter = tlm_reduce(x, &r, &low);
    const float y = tlm_sine_of_quarter(r, low, quarter);

    return tlm_select(tlm_fabs_bits(x) < TLM_F32_INF,
                      tlm_float(tlm_bits(y) ^ (tlm_bits(x) & 0x80000000u)), x - x);
}

TLM_INLINE float tlm_cos_of(float x)
{
    float r, low;
    const uint32_t quarter = tlm_reduce(x, &r, &low);

    return tlm_select(tlm_fabs_bits(x) < TLM_F32_INF, tlm_sine_of_quarter(r, low, quarter + 1u),
                      x - x);
}

/* ---- pow */
/* log(x) of a positive finite x as high + low, about 2^-46: 2 atanh(s), s = (m - 1) / (m + 1) in
   two floats */
TLM_INLINE float tlm_log_two(float x, float *low)
{
    float e;
    const float m = tlm_split(x, &e), f = m - 1.0f;
    const float d = m + 1.0f, d_low = m - (d - 1.0f);
    const float inverse = 1.0f / d;
    const float s = f * inverse;
    const float s_low = inverse * tlm_fma(-s, d_low, tlm_fma(-s, d, f));
    const float v = s * s;
    const float v_low = tlm_fma(s + s, s_low, tlm_fma(s, s, -v));
    const float u = v * tlm_fma(tlm_fma(0x1.dfa302p-3f, v, 0x1.24527ap-2f), v, 0x1.999ap-2f);
    const float q = 0x1.555556p-1f + u; /* 2/3 + ... */
    const float q_low = ((0x1.555556p-1f - q) + u) - 0x1.555556p-26f;
    const float c = s * v;
    const float c_low = tlm_fma(s, v_low, tlm_fma(s_low, v, tlm_fma(s, v, -c)));
    const float w = c * q;
    const float w_low = tlm_fma(c, q_low, tlm_fma(c_low, q, tlm_fma(c, q, -w)));
    const float h = (s + s) + w;
    const float h_low = (((s + s) - h) + w) + (w_low + (s_low + s_low));
    const float base = e * 0x1.62e4p-1f; /* exact: 16 bits times 8 */
    const float high = base + h;

    /* base is 0 or larger than h */
    *low = (tlm_select(e == 0.0f, 0.0f, (base - high) + h)) + tlm_fma(e, 0x1.7f7d1cp-20f, h_low);
    return high;
}

/* a^n for n = 0 .. 7, a fixed chain of products */
TLM_INLINE float tlm_power_chain(float a, uint32_t n)
{
    const float a2 = a * a, a4 = a2 * a2;
    const float p1 = tlm_select((int)(n & 1u), a, 1.0f);
    const float p2 = tlm_select((int)(n & 2u), a2, 1.0f);
    const float p4 = tlm_select((int)(n & 4u), a4, 1.0f);

    return p1 * p2 * p4;
}

/* The special values are those of C's pow. */
TLM_INLINE float tlm_pow_of(float a, float b)
{
    const float x = tlm_fabs_bits(a), half = 0.5f * b;
    const int whole = tlm_round_even(b) == b;
    const int odd = whole & (int)(tlm_round_even(half) != half);
    const int negative = (int)(tlm_bits(a) >> 31);
    const int extreme =
        (x == 0.0f) | (int)(x == TLM_F32_INF) | (int)(tlm_fabs_bits(b) == TLM_F32_INF);
    const int grows = (x > 1.0f) == (b > 0.0f);
    const int chained = whole & (b >= 0.0f) & (b <= 7.0f);
    float low, y;
    const float high = tlm_log_two(x, &low);
    const float product = b * high;
    const float tail = tlm_fma(b, low, tlm_fma(b, high, -product));

    y = tlm_exp_sum(product, tlm_select(tlm_fabs_bits(product) < 200.0f, tail, 0.0f));
    y = tlm_select(extreme, tlm_select(grows, TLM_F32_INF, 0.0f), y);
    y = tlm_select(x == 1.0f, 1.0f, y);
    y = tlm_select(negative & odd, -y, y);
    y = tlm_select((a < 0.0f) & (x < TLM_F32_INF) & !whole, TLM_F32_NAN, y);
    y = tlm_select((a != a) | (b != b), TLM_F32_NAN, y);
    y = tlm_select(chained, tlm_power_chain(a, (uint32_t)tlm_to_i32(b)), y);
    return tlm_select((a == 1.0f) | (b == 0.0f), 1.0f, y);
}

/* ---- the functions of the rows */
#define TLM_ATTRS_none
#define TLM_ATTRS_factor , float factor
#define TLM_ATTRS_eps , float eps
#define TLM_ATTRS_slope , float slope
#define TLM_ATTRS_alpha , float alpha
#define TLM_ATTRS_min_max , float min, float max
#define TLM_USES__
#define TLM_USES_X , float x
#define TLM_USES_Y , float y

#define TLM_UNARY(name, attrs, formula, uses, derivative, ulp, vjp_ulp, domain)  \
    TLM_INLINE float tlm_##name(float x TLM_ATTRS_##attrs)                       \
    {                                                                            \
        return formula;                                                          \
    }                                                                            \
    TLM_INLINE float tlm_##name##_vjp(float g TLM_USES_##uses TLM_ATTRS_##attrs) \
    {                                                                            \
        return derivative;                                                       \
    }
#define TLM_MAP(name, type, parameters, formula, ulp, domain) \
    TLM_INLINE type tlm_##name parameters                     \
    {                                                         \
        return formula;                                       \
    }
#include "tlm_pointwise.def"

#endif
