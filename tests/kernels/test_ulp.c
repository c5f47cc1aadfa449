/* The error of every formula and derivative against binary64, over inputs spread across all bit
   patterns and around the places where formulas change: at most the bound that its row in
   tlm_pointwise.def states.  `kernels_ulp --measure [STEP] [NAME]` prints the largest errors over
   every STEP-th input (1: all 2^32) instead. */
#include "kernel_test.h"

#include "tlm_math.h"

#include <math.h>

#define PI 3.14159265358979323846

static const float factor = 0.7f, eps = 1e-6f, slope = 0.01f, alpha = 1.3f;
static const float min = -0.5f, max = 2.0f;
static const float g = 1.7f; /* a derivative's incoming gradient */

/* ---- the functions in binary64, from their definitions */
static double sigmoid(double x)
{
    return x < 0.0 ? exp(x) / (1.0 + exp(x)) : 1.0 / (1.0 + exp(-x));
}
static double softplus(double x)
{
    return (x > 0.0 ? x : 0.0) + log1p(exp(-fabs(x)));
}
static double gelu_argument(double x)
{
    return 2.0 * sqrt(2.0 / PI) * (x + 0.044715 * x * x * x);
}
static double normal(double x)
{
    return 0.5 * erfc(-x / sqrt(2.0));
}
static double clamped(double x, double most)
{
    return x > most ? most : x < -most ? -most : x;
}

#define EXACT(name, formula, derivative)           \
    static double exact_##name(double x)           \
    {                                              \
        return formula;                            \
    }                                              \
    static double slope_##name(double x, double y) \
    {                                              \
        (void)x;                                   \
        (void)y;                                   \
        return derivative;                         \
    }
#define ATTR(name) ((double)(name))
EXACT(neg, -x, -1.0)
EXACT(scale, x *ATTR(factor), ATTR(factor))
EXACT(abs, fabs(x), x < 0.0 ? -1.0 : x == 0.0 ? 0.0 : 1.0)
EXACT(sqrt, sqrt(x), 0.5 / y)
EXACT(rsqrt, 1.0 / sqrt(x), -0.5 * y * y * y)
EXACT(exp, exp(x), y)
EXACT(log, log(x), 1.0 / x)
EXACT(sin, sin(x), cos(x))
EXACT(cos, cos(x), -sin(x))
EXACT(inv, 1.0 / x, -y *y)
EXACT(relu, x < 0.0 ? 0.0 : x, x <= 0.0 ? 0.0 : 1.0)
EXACT(gelu, x *sigmoid(gelu_argument(x)),
      sigmoid(gelu_argument(clamped(x, 40.0))) +
          clamped(x, 40.0) * 2.0 * sqrt(2.0 / PI) *
              (1.0 + 3.0 * 0.044715 * clamped(x, 40.0) * clamped(x, 40.0)) *
              sigmoid(gelu_argument(clamped(x, 40.0))) * sigmoid(-gelu_argument(clamped(x, 40.0))))
EXACT(gelu_erf, x *normal(x),
      normal(x) +
          clamped(x, 60.0) * exp(-0.5 * clamped(x, 60.0) * clamped(x, 60.0)) / sqrt(2.0 * PI))
EXACT(sigmoid, sigmoid(x), y *(1.0 - y))
EXACT(tanh, tanh(x), 1.0 - y * y)
EXACT(softplus, softplus(x), sigmoid(x))
EXACT(safe_log, log(softplus(x) + ATTR(eps)), sigmoid(x) / (softplus(x) + ATTR(eps)))
EXACT(erf, erf(x), 2.0 / sqrt(PI) * exp(-x * x))
EXACT(silu, x *sigmoid(x), sigmoid(x) * (1.0 + x * sigmoid(-x)))
EXACT(leaky_relu, x > 0.0 ? x : x * ATTR(slope), x > 0.0 ? 1.0 : ATTR(slope))
EXACT(elu, x > 0.0 ? x : ATTR(alpha) * expm1(x), x > 0.0 ? 1.0 : ATTR(alpha) * exp(x))
EXACT(clamp, x<ATTR(min) ? ATTR(min) : x> ATTR(max) ? ATTR(max) : x,
      x<ATTR(min) || x> ATTR(max) ? 0.0 : 1.0)
EXACT(floor, floor(x), 0.0)
EXACT(ceil, ceil(x), 0.0)
EXACT(round, rint(x), 0.0)

/* ---- the rows: formula and derivative as functions of one number */
#define CALL_none
#define CALL_factor , factor
#define CALL_eps , eps
#define CALL_slope , slope
#define CALL_alpha , alpha
#define CALL_min_max , min, max
#define CALL__
#define CALL_X , x
#define CALL_Y , y
#define TLM_UNARY(name, attrs, formula, uses, derivative, ulp, vjp_ulp, domain) \
    static float value_##name(float x)                                          \
    {                                                                           \
        return tlm_##name(x CALL_##attrs);                                      \
    }                                                                           \
    static float gradient_##name(float x)                                       \
    {                                                                           \
        const float y = value_##name(x);                                        \
                                                                                \
        (void)y;                                                                \
        return tlm_##name##_vjp(g CALL_##uses CALL_##attrs);                    \
    }                                                                           \
    static double exact_gradient_##name(double x)                               \
    {                                                                           \
        return (double)g * slope_##name(x, (double)value_##name((float)x));     \
    }
#define TLM_MAP(name, type, parameters, formula, ulp, domain)
#include "tlm_pointwise.def"

struct row {
    const char *name;
    float (*value)(float);
    double (*exact)(double);
    double bound, scale; /* negative bound: units of max(|result|, scale), for derivatives g */
};

static const struct row rows[] = {
#define TLM_UNARY(name, attrs, formula, uses, derivative, ulp, vjp_ulp, domain) \
    { #name, value_##name, exact_##name, ulp, 1.0 },                            \
        { #name "_vjp", gradient_##name, exact_gradient_##name, vjp_ulp, (double)1.7f },
#define TLM_MAP(name, type, parameters, formula, ulp, domain)
#include "tlm_pointwise.def"
};

/* Error of y in units of the last place of the exact t (or of `least` where that is larger). */
static double error_of(float y, double t, double least)
{
    double size = fabs(t) > least ? fabs(t) : least;
    int exponent;

    if (isnan(t) || isnan(y))
        return isnan(t) && isnan(y) ? 0.0 : HUGE_VAL;
    if (isinf(t))
        return (double)y == t ? 0.0 : HUGE_VAL;
    if (isinf(y)) /* as if the exponent went on */
        return (0x1p128 - fabs(t)) *
                   (y > 0   ? t > 0
                    : t < 0 ? 1
                            : 0) /
                   0x1p104 +
               ((y > 0) == (t > 0) ? 0.0 : HUGE_VAL);
    if (size == 0.0)
        return y == 0.0f ? 0.0 : HUGE_VAL;
    frexp(size, &exponent);
    return fabs((double)y - t) / ldexp(1.0, (exponent < -125 ? -125 : exponent) - 24);
}

static double row_error(const struct row *row, float x)
{
    const double t = row->exact((double)x);

    return error_of(row->value(x), t, row->bound < 0.0 ? row->scale : 0.0);
}

static const float places[] = { 0.0f,       1.0f,           0.5f,        2.0f,       0.70710677f,
                                1.4142135f, 0.78539819f,    0.34657359f, 88.722839f, 87.336548f,
                                103.97208f, 104.0f,         89.0f,       10.0f,      15.0f,
                                20.0f,      14.0f,          8388608.0f,  4194304.0f, 3.1415927f,
                                1.5707964f, 1.17549435e-38f };

static void measured(const struct row *row, uint64_t step, double *worst, float *where)
{
    *worst = 0.0;
    *where = 0.0f;
    for (uint64_t u = 0; u < UINT64_C(0x100000000); u += step) {
        const float x = tlm_float((uint32_t)u);
        const double e = row_error(row, x);

        if (e > *worst) {
            *worst = e;
            *where = x;
        }
    }
    for (size_t i = 0; i < COUNT(places); i++)
        for (uint32_t d = 0; d < 128; d++)
            for (uint32_t sign = 0; sign < 2; sign++) {
                const float x = tlm_float((float_bits(places[i]) + d - 64) ^ (sign << 31));
                const double e = row_error(row, x);

                if (e > *worst) {
                    *worst = e;
                    *where = x;
                }
            }
}

/* 2^18 bit patterns a row: an odd step meets every exponent with ever other fractions. */
static void bounds_hold(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        double worst;
        float where;

        measured(&rows[i], 16381, &worst, &where);
        if (worst > fabs(rows[i].bound))
            fail_msg("%s is %.3f units off at %a, its row says %g", rows[i].name, worst,
                     (double)where, rows[i].bound);
    }
}

/* ---- pow and its derivatives over pairs */
static double pow_error(float a, float b, int which)
{
    if (which == 0)
        return error_of(tlm_pow(a, b), pow((double)a, (double)b), 0.0);
    if (which == 1) { /* b - 1 is rounded; a^(b - 1) and b times it are normal numbers */
        const double power = pow((double)a, (double)(b - 1.0f));

        if (fabs(power) < 0x1p-126 || fabs(power) >= 0x1p128 || fabs((double)b * power) < 0x1p-126)
            return 0.0;
        return error_of(tlm_pow_vjp_a(g, a, b), b == 0.0f ? 0.0 : (double)g * (double)b * power,
                        0.0);
    }
    if (fabs((double)b * log((double)a)) < 0x1p-126)
        return 0.0;
    return error_of(tlm_pow_vjp_b(g, a, b),
                    a <= 0.0f ? 0.0 : (double)g * (double)b * log((double)a), 0.0);
}

static const struct {
    const char *name;
    double ulp;
} maps[] = {
#define TLM_UNARY(name, attrs, formula, uses, derivative, ulp, vjp_ulp, domain)
#define TLM_MAP(name, type, parameters, formula, ulp, domain) { #name, ulp },
#include "tlm_pointwise.def"
};

static double map_bound(const char *name)
{
    for (size_t i = 0; i < COUNT(maps); i++)
        if (strcmp(maps[i].name, name) == 0)
            return maps[i].ulp;
    fail_msg("no row %s", name);
    return 0.0;
}

static const char *const pow_names[] = { "pow", "pow_vjp_a", "pow_vjp_b" };

/* Any bit patterns; bases near 1 and moderate exponents, where results are finite; small
   integers. */
static void pow_pair(uint64_t *state, float *a, float *b)
{
    const uint64_t r = next_random(state), s = next_random(state);

    *a = tlm_float((uint32_t)r);
    *b = tlm_float((uint32_t)s);
    if (r >> 32 & 1)
        *a = (float)exp(((double)(r >> 40) * 0x1p-24 - 0.5) * (r >> 33 & 1 ? 0.01 : 20.0));
    if (s >> 32 & 1)
        *b = ((float)(s >> 40) * 0x1p-24f - 0.5f) * (s >> 33 & 1 ? 4.0f : 200.0f);
    else if ((s >> 33 & 3) == 0)
        *b = (float)((int)(s >> 40 & 31) - 16);
    if ((s >> 56 & 7) == 0)
        *a = -*a;
}

static double measured_pow(int which, size_t pairs, float *worst_a, float *worst_b)
{
    uint64_t state = 7;
    double worst = 0.0;

    for (size_t i = 0; i < pairs; i++) {
        float a, b;
        double e;

        pow_pair(&state, &a, &b);
        e = pow_error(a, b, which);
        if (e > worst) {
            worst = e;
            *worst_a = a;
            *worst_b = b;
        }
    }
    return worst;
}

static void pow_bounds_hold(void **state)
{
    (void)state;
    for (int which = 0; which < 3; which++) {
        float a = 0.0f, b = 0.0f;
        const double worst = measured_pow(which, 1 << 20, &a, &b);

        if (worst > map_bound(pow_names[which]))
            fail_msg("%s is %.3f units off at %a, %a, its row says %g", pow_names[which], worst,
                     (double)a, (double)b, map_bound(pow_names[which]));
    }
}

static int measure(uint64_t step, const char *only)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        double worst;
        float where;

        if (only && strcmp(only, rows[i].name) != 0)
            continue;
        measured(&rows[i], step, &worst, &where);
        printf("%-16s %8.3f (row: %g) at %a (%g)\n", rows[i].name, worst, rows[i].bound,
               (double)where, (double)where);
        fflush(stdout);
    }
    for (int which = 0; which < 3; which++) {
        float a = 0.0f, b = 0.0f;
        double worst;

        if (only && strcmp(only, pow_names[which]) != 0)
            continue;
        worst = measured_pow(which, step < 64 ? 1 << 28 : 1 << 24, &a, &b);
        printf("%-16s %8.3f (row: %g) at %a, %a\n", pow_names[which], worst,
               map_bound(pow_names[which]), (double)a, (double)b);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(bounds_hold),
                                        cmocka_unit_test(pow_bounds_hold) };

    if (argc > 1 && strcmp(argv[1], "--measure") == 0)
        return measure(argc > 2 ? strtoull(argv[2], NULL, 10) : 4093, argc > 3 ? argv[3] : NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
