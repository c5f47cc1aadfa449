/* The formulas where values are special: NaN, infinities, zeros of both signs, subnormals, overflow
   and underflow, ties, the corner cases of pow, casts at their ends; the twins of the reference
   family, bit for bit where no libm function takes part; and that this build neither contracts nor
   flushes. */
#include "kernel_test.h"

#include "ref/pointwise.h"
#include "tlm_math.h"
#include "tlm_math64.h"

static void same(float got, float want, const char *what)
{
    if (!same_bits(got, want))
        fail_msg("%s is %a, not %a", what, (double)got, (double)want);
}
#define SAME(expression, want) same((expression), (want), #expression)

static const float tiny = 0x1p-149f, normal = 0x1p-126f, most = 0x1.fffffep127f;

static void environment(void **state)
{
    volatile float a = 1.0f + 0x1p-12f, c = -1.0f, half = 0.5f;

    (void)state;
    /* contracted, a * a - (1 + 2^-11) would be 2^-24 */
    SAME(a * a + (c - 0x1p-11f), 0.0f);
    SAME(tlm_fma(a, a, c - 0x1p-11f), 0x1p-24f);
    SAME(half * normal, 0x1p-127f); /* not flushed */
}

static void exp_log(void **state)
{
    (void)state;
    SAME(tlm_exp(NAN), NAN);
    SAME(tlm_exp(INFINITY), INFINITY);
    SAME(tlm_exp(-INFINITY), 0.0f);
    SAME(tlm_exp(0.0f), 1.0f);
    SAME(tlm_exp(-0.0f), 1.0f);
    SAME(tlm_exp(tiny), 1.0f);
    SAME(tlm_exp(88.72283f), 0x1.ffff08p127f);
    SAME(tlm_exp(88.72285f), INFINITY);
    SAME(tlm_exp(most), INFINITY);
    SAME(tlm_exp(-most), 0.0f);
    SAME(tlm_exp(-87.33655f), (float)exp(-87.33655f)); /* the first subnormal results */
    SAME(tlm_exp(-95.0f), (float)exp(-95.0));
    SAME(tlm_exp(-103.0f), (float)exp(-103.0));
    SAME(tlm_exp(-103.97f), tiny);
    SAME(tlm_exp(-103.98f), 0.0f);
    SAME(tlm_log(NAN), NAN);
    SAME(tlm_log(INFINITY), INFINITY);
    SAME(tlm_log(0.0f), -INFINITY);
    SAME(tlm_log(-0.0f), -INFINITY);
    SAME(tlm_log(-tiny), NAN);
    SAME(tlm_log(-INFINITY), NAN);
    SAME(tlm_log(1.0f), 0.0f);
    SAME(tlm_log(tiny), (float)log(0x1p-149));
    SAME(tlm_log(most), (float)log((double)most));
}

static void sin_cos(void **state)
{
    static const float large[] = { 1e10f, 0x1.fffffep127f, 0x1p127f, 0x1.5fd7fep20f,
                                   16367173.0f * 0x1p72f };

    (void)state;
    SAME(tlm_sin(NAN), NAN);
    SAME(tlm_sin(INFINITY), NAN);
    SAME(tlm_cos(-INFINITY), NAN);
    SAME(tlm_sin(0.0f), 0.0f);
    SAME(tlm_sin(-0.0f), -0.0f);
    SAME(tlm_cos(-0.0f), 1.0f);
    SAME(tlm_sin(tiny), tiny);
    SAME(tlm_sin(-tiny), -tiny);
    for (size_t i = 0; i < COUNT(large); i++) {
        /* the last one lies nearest of all to a multiple of pi/2 */
        assert_true(fabs((double)tlm_sin(large[i]) - sin((double)large[i])) <
                    0x1p-23 * fabs(sin((double)large[i])));
        assert_true(fabs((double)tlm_cos(-large[i]) - cos((double)large[i])) <
                    0x1p-23 * fabs(cos((double)large[i])));
    }
}

static void sigmoids(void **state)
{
    (void)state;
    SAME(tlm_sigmoid(NAN), NAN);
    SAME(tlm_sigmoid(INFINITY), 1.0f);
    SAME(tlm_sigmoid(-INFINITY), 0.0f);
    SAME(tlm_sigmoid(0.0f), 0.5f);
    SAME(tlm_sigmoid(-100.0f), (float)exp(-100.0)); /* subnormal, not 0 */
    SAME(tlm_tanh(NAN), NAN);
    SAME(tlm_tanh(INFINITY), 1.0f);
    SAME(tlm_tanh(-most), -1.0f);
    SAME(tlm_tanh(-0.0f), -0.0f);
    SAME(tlm_tanh(tiny), tiny);
    SAME(tlm_erf(NAN), NAN);
    SAME(tlm_erf(INFINITY), 1.0f);
    SAME(tlm_erf(-most), -1.0f);
    SAME(tlm_erf(-0.0f), -0.0f);
    SAME(tlm_softplus(NAN), NAN);
    SAME(tlm_softplus(INFINITY), INFINITY);
    SAME(tlm_softplus(-INFINITY), 0.0f);
    SAME(tlm_softplus(most), most);
    SAME(tlm_softplus(-100.0f), (float)exp(-100.0));
    SAME(tlm_gelu(NAN), NAN);
    SAME(tlm_gelu(most), most);
    SAME(tlm_gelu(-most), -0.0f);
    SAME(tlm_gelu(-0.0f), -0.0f);
    SAME(tlm_gelu_vjp(2.0f, most), 2.0f);
    SAME(tlm_gelu_vjp(2.0f, -most), 0.0f);
    SAME(tlm_gelu_vjp(2.0f, NAN), NAN);
    SAME(tlm_gelu_erf(NAN), NAN);
    SAME(tlm_gelu_erf(most), most);
    SAME(tlm_gelu_erf(-most), -0.0f);
    SAME(tlm_gelu_erf_vjp(2.0f, most), 2.0f);
    SAME(tlm_gelu_erf_vjp(2.0f, NAN), NAN);
    SAME(tlm_silu(NAN), NAN);
    SAME(tlm_silu(most), most);
    SAME(tlm_silu(-most), -0.0f);
    SAME(tlm_elu(NAN, 1.0f), NAN);
    SAME(tlm_elu(-most, 1.5f), -1.5f);
    SAME(tlm_elu(-0.0f, 1.0f), -0.0f);
    SAME(tlm_elu(-tiny, 1.0f), -tiny);
    SAME(tlm_safe_log(-most, 1e-6f), tlm_log(1e-6f));
}

static void order(void **state)
{
    (void)state;
    SAME(tlm_relu(-0.0f), -0.0f);
    SAME(tlm_relu(NAN), NAN);
    SAME(tlm_relu(-INFINITY), 0.0f);
    SAME(tlm_relu_vjp(3.0f, 0.0f), 0.0f);
    SAME(tlm_relu_vjp(3.0f, -0.0f), 0.0f);
    SAME(tlm_relu_vjp(3.0f, NAN), 3.0f);
    SAME(tlm_abs(-0.0f), 0.0f);
    SAME(tlm_abs_vjp(3.0f, -0.0f), 0.0f);
    SAME(tlm_abs_vjp(3.0f, -2.0f), -3.0f);
    SAME(tlm_max(NAN, 1.0f), NAN);
    SAME(tlm_max(1.0f, NAN), NAN);
    SAME(tlm_max(NAN, INFINITY), NAN);
    SAME(tlm_max(0.0f, -0.0f), 0.0f);
    SAME(tlm_max(-0.0f, 0.0f), 0.0f);
    SAME(tlm_max(-0.0f, -0.0f), -0.0f);
    SAME(tlm_max(-INFINITY, -1.0f), -1.0f);
    SAME(tlm_min(NAN, 1.0f), NAN);
    SAME(tlm_min(1.0f, NAN), NAN);
    SAME(tlm_min(0.0f, -0.0f), -0.0f);
    SAME(tlm_min(-0.0f, 0.0f), -0.0f);
    SAME(tlm_min(0.0f, 0.0f), 0.0f);
    SAME(tlm_max_vjp(3.0f, 1.0f, 1.0f), 1.5f);
    SAME(tlm_max_vjp(3.0f, 0.0f, -0.0f), 1.5f);
    SAME(tlm_max_vjp(3.0f, 0.0f, 1.0f), 0.0f);
    SAME(tlm_min_vjp(3.0f, 0.0f, 1.0f), 3.0f);
    SAME(tlm_clamp(NAN, -1.0f, 1.0f), NAN);
    SAME(tlm_clamp(-0.0f, 0.0f, 1.0f), -0.0f);
    SAME(tlm_clamp(-5.0f, -1.0f, INFINITY), -1.0f);
    SAME(tlm_clamp(5.0f, -INFINITY, 1.0f), 1.0f);
    SAME(tlm_clamp_vjp(3.0f, 1.0f, -1.0f, 1.0f), 3.0f);
    SAME(tlm_clamp_vjp(3.0f, 1.5f, -1.0f, 1.0f), 0.0f);
    SAME(tlm_leaky_relu_vjp(3.0f, 0.0f, 0.5f), 1.5f);
    SAME(tlm_where(2, 1.0f, NAN), 1.0f);
    SAME(tlm_where(0, NAN, 1.0f), 1.0f);
    assert_int_equal(tlm_eq(NAN, NAN), 0);
    assert_int_equal(tlm_ne(NAN, NAN), 1);
    assert_int_equal(tlm_le(NAN, 1.0f), 0);
    assert_int_equal(tlm_eq(0.0f, -0.0f), 1);
    assert_int_equal(tlm_logical_and(2, 4), 1);
    assert_int_equal(tlm_where_bool(0, 0, 7), 1);
}

static void rounding(void **state)
{
    (void)state;
    SAME(tlm_round(0.5f), 0.0f);
    SAME(tlm_round(1.5f), 2.0f);
    SAME(tlm_round(2.5f), 2.0f);
    SAME(tlm_round(-0.5f), -0.0f);
    SAME(tlm_round(-2.5f), -2.0f);
    SAME(tlm_round(8388607.5f), 8388608.0f);
    SAME(tlm_floor(-0.0f), -0.0f);
    SAME(tlm_floor(-tiny), -1.0f);
    SAME(tlm_floor(tiny), 0.0f);
    SAME(tlm_ceil(-0.7f), -0.0f);
    SAME(tlm_ceil(tiny), 1.0f);
    SAME(tlm_floor(-INFINITY), -INFINITY);
    SAME(tlm_ceil(NAN), NAN);
    assert_int_equal(tlm_cast_f32_i32(NAN), 0);
    assert_int_equal(tlm_cast_f32_i32(INFINITY), INT32_MAX);
    assert_int_equal(tlm_cast_f32_i32(0x1p31f), INT32_MAX);
    assert_int_equal(tlm_cast_f32_i32(0x1.fffffep30f), 2147483520);
    assert_int_equal(tlm_cast_f32_i32(-0x1p31f), INT32_MIN);
    assert_int_equal(tlm_cast_f32_i32(-most), INT32_MIN);
    assert_int_equal(tlm_cast_f32_i32(-1.9f), -1);
    assert_int_equal(tlm_cast_f32_bool(NAN), 1);
    assert_int_equal(tlm_cast_f32_bool(-0.0f), 0);
    assert_int_equal(tlm_add_i32(INT32_MAX, 1), INT32_MIN);
    assert_int_equal(tlm_mul_i32(INT32_MIN, -1), INT32_MIN);
    assert_int_equal(tlm_sub_i32(INT32_MIN, 1), INT32_MAX);
    SAME(tlm_cast_i32_f32(16777217), 16777216.0f);
}

/* pow at the corners of C's definition, which libm follows. */
static void powers(void **state)
{
    static const float values[] = { 0.0f,       -0.0f,    1.0f,      -1.0f,  2.0f,
                                    -2.0f,      0.5f,     -0.5f,     3.0f,   -3.0f,
                                    0.1f,       -0.1f,    1e30f,     -1e30f, 0x1p-149f,
                                    -0x1p-149f, INFINITY, -INFINITY, NAN,    16777217.0f,
                                    -5.0f,      7.0f,     -7.0f,     8.0f,   1e-10f };

    (void)state;
    for (size_t i = 0; i < COUNT(values); i++)
        for (size_t k = 0; k < COUNT(values); k++) {
            const float got = tlm_pow(values[i], values[k]);
            const float want = (float)pow((double)values[i], (double)values[k]);

            if (same_bits(got, want))
                continue;
            if (isnan(want) || isinf(want) || want == 0.0f || isnan(got) ||
                !(fabsf(got - want) <= 0x1p-21f * fabsf(want)))
                fail_msg("pow(%a, %a) is %a, not %a", (double)values[i], (double)values[k],
                         (double)got, (double)want);
        }
    SAME(tlm_pow(3.3f, 2.0f), 3.3f * 3.3f); /* the chain */
    SAME(tlm_pow(-1.7f, 3.0f), -1.7f * (1.7f * 1.7f));
    SAME(tlm_pow_vjp_a(2.0f, 0.0f, 0.0f), 0.0f);
    SAME(tlm_pow_vjp_a(2.0f, 3.0f, 2.0f), 12.0f);
    SAME(tlm_pow_vjp_b(2.0f, 0.0f, 0.0f), 0.0f);
    SAME(tlm_pow_vjp_b(2.0f, -1.0f, 1.0f), 0.0f);
    SAME(tlm_pow_vjp_b(2.0f, NAN, NAN), NAN);
}

/* ---- twins without libm have the bits of the rows */
static const float samples[] = { 0.0f,   -0.0f,      1.0f,        -1.0f,         0.5f,
                                 -0.5f,  2.5f,       -2.5f,       0x1p-149f,     -0x1p-130f,
                                 1e-30f, 3e38f,      -3e38f,      INFINITY,      -INFINITY,
                                 NAN,    8388607.5f, -4194304.5f, 2147483648.0f, -2147483904.0f,
                                 0.3f,   -0.7f,      1.7f,        100.1f };

static void twins(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(samples); i++)
        for (size_t k = 0; k < COUNT(samples); k++) {
            const float x = samples[i], y = samples[k];

#define TWIN(call) same(tlm_##call, tlmr_##call, #call)
            TWIN(neg(x));
            TWIN(scale(x, y));
            TWIN(abs(x));
            TWIN(abs_vjp(x, y));
            TWIN(sqrt(x));
            TWIN(sqrt_vjp(x, y));
            TWIN(rsqrt(x));
            TWIN(rsqrt_vjp(x, y));
            TWIN(exp_vjp(x, y));
            TWIN(log_vjp(x, y));
            TWIN(inv(x));
            TWIN(inv_vjp(x, y));
            TWIN(relu(x));
            TWIN(relu_vjp(x, y));
            TWIN(sigmoid_vjp(x, y));
            TWIN(tanh_vjp(x, y));
            TWIN(leaky_relu(x, y));
            TWIN(leaky_relu_vjp(x, y, 0.3f));
            TWIN(clamp(x, y, 1.0f));
            TWIN(clamp_vjp(x, y, -1.0f, 0.7f));
            TWIN(floor(x));
            TWIN(ceil(x));
            TWIN(round(x));
            TWIN(add(x, y));
            TWIN(sub(x, y));
            TWIN(mul(x, y));
            TWIN(div(x, y));
            TWIN(max(x, y));
            TWIN(min(x, y));
            TWIN(max_vjp(2.0f, x, y));
            TWIN(min_vjp(2.0f, x, y));
            TWIN(where(x > 0, x, y));
#define TWIN_INT(call) assert_int_equal(tlm_##call, tlmr_##call)
            TWIN_INT(eq(x, y));
            TWIN_INT(ne(x, y));
            TWIN_INT(lt(x, y));
            TWIN_INT(le(x, y));
            TWIN_INT(gt(x, y));
            TWIN_INT(ge(x, y));
            TWIN_INT(cast_f32_i32(x));
            TWIN_INT(cast_f32_bool(x));
            TWIN_INT(add_i32((int32_t)float_bits(x), (int32_t)float_bits(y)));
            TWIN_INT(sub_i32((int32_t)float_bits(x), (int32_t)float_bits(y)));
            TWIN_INT(mul_i32((int32_t)float_bits(x), (int32_t)float_bits(y)));
            TWIN_INT(max_i32((int32_t)float_bits(x), (int32_t)float_bits(y)));
            TWIN_INT(min_i32((int32_t)float_bits(x), (int32_t)float_bits(y)));
            TWIN_INT(lt_i32((int32_t)float_bits(x), (int32_t)float_bits(y)));
            TWIN_INT(logical_or((uint8_t)i, (uint8_t)k));
            TWIN_INT(lt_bool((uint8_t)i, (uint8_t)k));
            TWIN_INT(where_bool((uint8_t)(i % 2), (uint8_t)i, (uint8_t)k));
        }
}

/* The other twins go through libm: near, relative to the larger of result and operand's share. */
static void near_twins(void **state)
{
    (void)state;
    for (int i = -2000; i <= 2000; i++) {
        const float x = (float)i * 0.01f + 0.003f;
        const struct {
            float got, want;
        } pairs[] = {
            { tlm_exp(x), tlmr_exp(x) },
            { tlm_log(fabsf(x)), tlmr_log(fabsf(x)) },
            { tlm_sin(x), tlmr_sin(x) },
            { tlm_cos(x), tlmr_cos(x) },
            { tlm_sigmoid(x), tlmr_sigmoid(x) },
            { tlm_tanh(x), tlmr_tanh(x) },
            { tlm_gelu(x), tlmr_gelu(x) },
            { tlm_gelu_vjp(2.0f, x), tlmr_gelu_vjp(2.0f, x) },
            { tlm_gelu_erf(x), tlmr_gelu_erf(x) },
            { tlm_gelu_erf_vjp(2.0f, x), tlmr_gelu_erf_vjp(2.0f, x) },
            { tlm_softplus(x), tlmr_softplus(x) },
            { tlm_softplus_vjp(2.0f, x), tlmr_softplus_vjp(2.0f, x) },
            { tlm_safe_log(x, 1e-6f), tlmr_safe_log(x, 1e-6f) },
            { tlm_safe_log_vjp(2.0f, x, 1e-6f), tlmr_safe_log_vjp(2.0f, x, 1e-6f) },
            { tlm_erf(x), tlmr_erf(x) },
            { tlm_erf_vjp(2.0f, x), tlmr_erf_vjp(2.0f, x) },
            { tlm_silu(x), tlmr_silu(x) },
            { tlm_silu_vjp(2.0f, x), tlmr_silu_vjp(2.0f, x) },
            { tlm_elu(x, 1.3f), tlmr_elu(x, 1.3f) },
            { tlm_elu_vjp(2.0f, x, 1.3f), tlmr_elu_vjp(2.0f, x, 1.3f) },
            { tlm_pow(fabsf(x), 1.7f), tlmr_pow(fabsf(x), 1.7f) },
            { tlm_pow_vjp_a(2.0f, fabsf(x), 1.7f), tlmr_pow_vjp_a(2.0f, fabsf(x), 1.7f) },
            { tlm_pow_vjp_b(2.0f, fabsf(x), 0.7f), tlmr_pow_vjp_b(2.0f, fabsf(x), 0.7f) },
        };

        /* a few roundings each; those that add or cancel are absolute near 0 */
        for (size_t k = 0; k < COUNT(pairs); k++)
            if (!(fabsf(pairs[k].got - pairs[k].want) <= 2e-6f * fmaxf(fabsf(pairs[k].want), 1.0f)))
                fail_msg("formula %zu at %a is %a, its twin %a", k, (double)x, (double)pairs[k].got,
                         (double)pairs[k].want);
    }
}

/* ---- binary64 */
static void wide(void **state)
{
    uint64_t seed = 5;

    (void)state;
    assert_true(tlm_log64(1.0) == 0.0 && tlm_log64(0.0) == -INFINITY && isnan(tlm_log64(-1.0)));
    assert_true(tlm_exp64(0.0) == 1.0 && tlm_exp64(800.0) == INFINITY && tlm_exp64(-800.0) == 0.0);
    assert_true(tlm_cos64(0.0) == 1.0 && tlm_sin64(0.0) == 0.0 && isnan(tlm_cos64(INFINITY)));
    assert_true(isnan(tlm_log64(NAN)) && isnan(tlm_exp64(NAN)) && isnan(tlm_cos64(1e300)));
    for (int i = 0; i < 20000; i++) {
        const double u = (double)(next_random(&seed) >> 11) * 0x1p-53;
        const double x = (u - 0.5) * 1400.0;
        const long double e = expl((long double)x), c = cosl((long double)(1000.0 * x));
        const long double s = sinl((long double)(1000.0 * x));

        assert_true(fabsl((long double)tlm_log64(u) - logl((long double)u)) <=
                    0x1p-52L * fabsl(logl((long double)u)));
        assert_true(fabsl((long double)tlm_exp64(x) - e) <= 0x1p-52L * e + 0x1p-1075L);
        assert_true(fabsl((long double)tlm_cos64(1000.0 * x) - c) <= 0x1p-51L * fabsl(c));
        assert_true(fabsl((long double)tlm_sin64(1000.0 * x) - s) <= 0x1p-51L * fabsl(s));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(environment), cmocka_unit_test(exp_log), cmocka_unit_test(sin_cos),
        cmocka_unit_test(sigmoids),    cmocka_unit_test(order),   cmocka_unit_test(rounding),
        cmocka_unit_test(powers),      cmocka_unit_test(twins),   cmocka_unit_test(near_twins),
        cmocka_unit_test(wide),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
