/* Binary64 log, exp, cos and sin for what the host computes: initial values, Box-Muller, schedules,
   sampling.  Plain IEEE operations in a written order, no fused multiply-add, no libm: the same
   bits from every compiler and machine.  Errors stay below 1 unit in the last place for log and
   exp, below 2 for cos and sin (docs/numerics.md).

   tlm_cos64 and tlm_sin64 take |x| <= 2^20; beyond that, and for infinities, they give NaN. */
#ifndef TLM_MATH64_H
#define TLM_MATH64_H

#include "tlm_fp.h"

TLM_INLINE uint64_t tlm_bits64(double x)
{
    uint64_t u;

    memcpy(&u, &x, sizeof u);
    return u;
}

TLM_INLINE double tlm_double(uint64_t u)
{
    double x;

    memcpy(&x, &u, sizeof x);
    return x;
}

#define TLM_F64_INF tlm_double(UINT64_C(0x7ff0000000000000))
#define TLM_F64_NAN tlm_double(UINT64_C(0x7ff8000000000000))

/* x = m * 2^e, sqrt(1/2) <= m < sqrt(2); log(m) = f - s (f - R), f = m - 1, s = f / (2 + f), R the
   series of 2 atanh(s) / s - 2 */
__attribute__((unused)) static double tlm_log64(double x)
{
    static const double series[] = { 2.0 / 23, 2.0 / 21, 2.0 / 19, 2.0 / 17, 2.0 / 15, 2.0 / 13,
                                     2.0 / 11, 2.0 / 9,  2.0 / 7,  2.0 / 5,  2.0 / 3 };
    double e = 0.0, f, s, v, r = 0.0;
    uint64_t u;

    if (x != x || x == TLM_F64_INF)
        return x;
    if (x <= 0.0)
        return x == 0.0 ? -TLM_F64_INF : TLM_F64_NAN;
    if (x < 0x1p-1022) {
        x *= 0x1p54;
        e = -54.0;
    }
    u = tlm_bits64(x) - UINT64_C(0x3fe6a09e667f3bcd);
    e += (double)((int64_t)u >> 52);
    f = tlm_double((u & UINT64_C(0x000fffffffffffff)) + UINT64_C(0x3fe6a09e667f3bcd)) - 1.0;
    s = f / (2.0 + f);
    v = s * s;
    for (unsigned i = 0; i < sizeof series / sizeof *series; i++)
        r = (r + series[i]) * v;
    return e * 0x1.62e42feep-1 + (f - (s * (f - r) - e * 0x1.a39ef35793c76p-33));
}

/* x = n ln 2 + r; Taylor's series of e^r */
__attribute__((unused)) static double tlm_exp64(double x)
{
    double n, r, p = 0.0, high, low;
    int64_t half;

    if (x != x)
        return x;
    if (x > 709.79)
        return TLM_F64_INF;
    if (x < -745.2)
        return 0.0;
    n = (x * 0x1.71547652b82fep+0 + 0x1.8p52) - 0x1.8p52;
    high = x - n * 0x1.62e42feep-1;
    low = n * 0x1.a39ef35793c76p-33;
    r = high - low;
    for (int k = 13; k >= 2; k--)
        p = (p + 1.0) * r / (double)k;
    p = 1.0 + (high + ((p * r) - low));
    half = (int64_t)n / 2;
    return p * tlm_double((uint64_t)(half + 1023) << 52) *
           tlm_double((uint64_t)((int64_t)n - half + 1023) << 52);
}

/* cos or, with quarter 1 more, sin of quarter * pi/2 + x, by Taylor's series below pi/4 */
__attribute__((unused)) static double tlm_cosine64(double x, unsigned quarter)
{
    double n, r, low, v, p = 0.0, y;

    if (!(x <= 0x1p20 && x >= -0x1p20))
        return TLM_F64_NAN;
    n = (x * 0x1.45f306dc9c883p-1 + 0x1.8p52) - 0x1.8p52;
    quarter += (unsigned)(int)n & 3u;
    x = (x - n * 0x1.921fb544p+0) - n * 0x1.0b4611a6p-34; /* exact but for the last difference */
    r = x - n * 0x1.3198a2e037073p-69;
    low = (x - r) - n * 0x1.3198a2e037073p-69;
    v = r * r;
    if (quarter & 1u) { /* -sin r */
        for (int k = 17; k >= 3; k -= 2)
            p = (p - 1.0) * v / (double)(-k * (k - 1));
        /* p = v/6 - ... */
        y = -(r - (p * r - low));
    } else {
        for (int k = 18; k >= 4; k -= 2)
            p = (p - 1.0) * v / (double)(-k * (k - 1));
        /* p = v/12 - ... */
        y = 1.0 - (0.5 * v * (1.0 - p) + r * low);
    }
    return quarter & 2u ? -y : y;
}

__attribute__((unused)) static double tlm_cos64(double x)
{
    return tlm_cosine64(x, 0);
}

__attribute__((unused)) static double tlm_sin64(double x)
{
    return tlm_cosine64(x, 3);
}

#endif
