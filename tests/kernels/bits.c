/* Prints a digest of the results of every formula and kernel for each level, one line each: "exp
   avx2 0123456789abcdef".  The same source is built by several compilers with several flags;
   compare_bits.cmake demands that all builds and levels print equal digests.  NaNs count as one. */
#include "tlmk_cpu.h"
#include "tlm_math64.h"

#include <stdio.h>
#include <stdlib.h>

static int has_level(int level)
{
#if TLM_HAS_X86_LEVELS
    if (level == TLM_CPU_AVX2)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (level == TLM_CPU_AVX512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
#endif
    return level == TLM_CPU_BASE;
}

enum { N = 1 << 16 };

struct job {
    const float *x, *z; /* spread over all bit patterns; moderate values */
    float *y;
    size_t count;
    int option;
};

static uint64_t digest(const float *y, size_t n)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < n; i++) {
        const uint32_t u = y[i] != y[i] ? 0x7fc00000u : tlm_bits(y[i]);

        h = tlm_splitmix64(h ^ u);
    }
    return h;
}

/* ---- formulas: y[i] = f(x[i]) or f(x[i], b), b another of the inputs */
#define FORMULA(name, expression)                 \
    TLM_STEP(f_##name, struct job)                \
    {                                             \
        (void)level;                              \
        for (size_t i = begin; i < end; i++) {    \
            const float x = m->x[i];              \
            const float b = m->x[(i * 7919) % N]; \
                                                  \
            (void)x;                              \
            (void)b;                              \
            m->y[i] = (expression);               \
        }                                         \
    }                                             \
    TLM_LEVELS(f_##name, struct job)
#define CALL_none
#define CALL_factor , 0.7f
#define CALL_eps , 1e-6f
#define CALL_slope , 0.01f
#define CALL_alpha , 1.3f
#define CALL_min_max , -0.5f, 2.0f
#define CALL__
#define CALL_X , x
#define CALL_Y , tlm_float(tlm_bits(x) & 0x3f7fffffu)
#define TLM_UNARY(name, attrs, formula, uses, derivative, ulp, vjp_ulp, domain) \
    FORMULA(name, tlm_##name(x CALL_##attrs))                                   \
    FORMULA(name##_vjp, tlm_##name##_vjp(1.7f CALL_##uses CALL_##attrs))
#define TLM_MAP(name, type, parameters, formula, ulp, domain)
#include "tlm_pointwise.def"
FORMULA(add, tlm_add(x, b))
FORMULA(mul, tlm_mul(x, b))
FORMULA(div, tlm_div(x, b))
FORMULA(max, tlm_max(x, b))
FORMULA(min, tlm_min(x, b))
FORMULA(pow, tlm_pow(x, b))
FORMULA(pow_moderate, tlm_pow(tlm_exp(m->z[i]), m->z[(i * 7919) % N] * 20.0f))
FORMULA(pow_vjp_a, tlm_pow_vjp_a(1.7f, x, b))
FORMULA(pow_vjp_b, tlm_pow_vjp_b(1.7f, x, b))
FORMULA(cast, (float)tlm_cast_f32_i32(x))
/* what a compiler would contract if it were let */
FORMULA(contraction, x *b + m->z[i])

/* ---- kernels on moderate values */
#define KERNEL(name, call)         \
    TLM_STEP(k_##name, struct job) \
    {                              \
        (void)begin;               \
        (void)end;                 \
        call;                      \
    }                              \
    TLM_LEVELS(k_##name, struct job)

KERNEL(matmul, tlmk_f32_matmul__cpu_packed(level, m->y, m->z, m->z + 30000, 53, 71, 523,
                                           m->option & 1, m->option >> 1, 0, NULL, NULL, NULL, 0,
                                           TLMK_MATMUL_ITEMS(53, 71, 1)))
KERNEL(matmul_small, tlmk_f32_matmul__cpu_packed(level, m->y, m->z, m->z + 30000, 7, 9, 13,
                                                 m->option & 1, m->option >> 1, 0, NULL, NULL, NULL,
                                                 0, TLMK_MATMUL_ITEMS(7, 9, 1)))
KERNEL(matvec, tlmk_f32_matmul__cpu_packed(level, m->y, m->z, m->z + 1000, m->option & 1 ? 1 : 67,
                                           m->option & 1 ? 67 : 1, 700, 0, m->option >> 1, 0, NULL,
                                           NULL, NULL, 0, 2))
KERNEL(sum, tlmk_f32_reduce_sum__cpu_tree64(level, m->y, m->z, 1, N, 1, 0, 1))
KERNEL(columns, tlmk_f32_reduce_mean__cpu_tree64(level, m->y, m->z, 2, 1000, 30, 0,
                                                 TLMK_REDUCE_ITEMS(2, 1000, 30)))
KERNEL(softmax, tlmk_f32_softmax__cpu_rows(level, m->y, m->z, 100, 200, 0, 100))
KERNEL(log_softmax, tlmk_f32_log_softmax__cpu_rows(level, m->y, m->z, 100, 200, 0, 100))
KERNEL(layer_norm,
       tlmk_f32_layer_norm__cpu_rows(level, m->y, m->y + 20000, m->y + 20100, m->z, m->z + 40000,
                                     m->z + 41000, 100, 200, 1e-5f, 0, 100))
KERNEL(layer_norm_vjp,
       tlmk_f32_layer_norm_vjp__cpu_rows(level, m->y, m->z + 10000, m->z, m->z + 40000,
                                         m->z + 41000, m->z + 42000, 100, 200, 0, 100))
KERNEL(layer_norm_weight,
       tlmk_f32_layer_norm_vjp_weight__cpu_columns(level, m->y, m->y + 200, m->z + 10000, m->z,
                                                   m->z + 41000, m->z + 42000, 100, 200, 0,
                                                   TLMK_COLUMN_ITEMS(200)))
KERNEL(mse, tlmk_f32_mse_loss__cpu_tree64(level, m->y, m->z, m->z + 20000, 20000))
KERNEL(adam, tlmk_f32_adam_update__cpu_loop(level, m->y, m->z, m->y + 10000, m->y + 20000, m->z + 3,
                                            m->z + 50001, m->z + 5, 0.9f, 0.1f, 0.999f, 0.001f,
                                            1e-8f, 0.01f, 0, 10000))
KERNEL(rmsprop, tlmk_f32_rmsprop_update__cpu_loop(level, m->y, m->z, m->y + 10000, m->z + 3,
                                                  m->y + 20000, m->y + 30000, NULL, 0.99f, 0.01f,
                                                  1e-8f, 0.9f, 0.0f, 0, 10000))
KERNEL(random, tlmk_f32_rand_uniform__cpu_loop(level, m->y, 99, 0, 10000))

static void run(const char *name, tlm_range_fn *const *steps, struct job *j, size_t n, int options)
{
    static const char *const levels[] = { "base", "avx2", "avx512" };

    for (int level = TLM_CPU_BASE; level <= TLM_CPU_AVX512; level++) {
        uint64_t h = 0;

        if (!has_level(level))
            continue;
        for (j->option = 0; j->option < options; j->option++) {
            for (size_t i = 0; i < N; i++)
                j->y[i] = tlm_fabs_bits(j->z[i]);
            steps[level - 1](j, 0, N);
            h ^= digest(j->y, n) + (uint64_t)j->option;
        }
        printf("%s %s %016llx\n", name, levels[level - 1], (unsigned long long)h);
    }
}

int main(void)
{
    float *x = malloc(N * sizeof *x), *z = malloc(2 * N * sizeof *z), *y = malloc(N * sizeof *y);
    struct job j = { x, z, y, N, 0 };
    uint64_t h = 0;

    if (!x || !z || !y)
        return 1;
    for (uint32_t i = 0; i < N; i++)
        x[i] = tlm_float(i * 65537u + (i & 1023u) * 64u);
    for (uint32_t i = 0; i < 2 * N; i++)
        z[i] = (float)(int32_t)(tlm_random_u32(1, i) >> 8) * 0x1p-23f - 1.0f;
#define RUN(name) run(#name, f_##name, &j, N, 1);
#define TLM_UNARY(name, attrs, formula, uses, derivative, ulp, vjp_ulp, domain) \
    RUN(name) RUN(name##_vjp)
#define TLM_MAP(name, type, parameters, formula, ulp, domain)
#include "tlm_pointwise.def"
    RUN(add)
    RUN(mul)
    RUN(div)
    RUN(max)
    RUN(min)
    RUN(pow)
    RUN(pow_moderate)
    RUN(pow_vjp_a)
    RUN(pow_vjp_b)
    RUN(cast)
    RUN(contraction)
    run("matmul", k_matmul, &j, 53 * 71, 4);
    run("matmul_small", k_matmul_small, &j, 7 * 9, 4);
    run("matvec", k_matvec, &j, 67, 4);
    run("sum", k_sum, &j, 1, 1);
    run("columns", k_columns, &j, 60, 1);
    run("softmax", k_softmax, &j, 20000, 1);
    run("log_softmax", k_log_softmax, &j, 20000, 1);
    run("layer_norm", k_layer_norm, &j, 20200, 1);
    run("layer_norm_vjp", k_layer_norm_vjp, &j, 20000, 1);
    run("layer_norm_weight", k_layer_norm_weight, &j, 400, 1);
    run("mse", k_mse, &j, 1, 1);
    run("adam", k_adam, &j, 30000, 1);
    run("rmsprop", k_rmsprop, &j, 40000, 1);
    run("random", k_random, &j, 10000, 1);
    for (uint32_t i = 0; i < N; i++) {
        const double u = (double)tlm_random_u32(2, i) * 0x1p-32 + 0x1p-40;

        h = tlm_splitmix64(h ^ tlm_bits64(tlm_log64(u)));
        h = tlm_splitmix64(h ^ tlm_bits64(tlm_cos64(6.283185307179586 * u)));
        h = tlm_splitmix64(h ^ tlm_bits64(tlm_exp64(1000.0 * u - 500.0)));
    }
    printf("binary64 base %016llx\n", (unsigned long long)h);
    free(x);
    free(y);
    free(z);
    return 0;
}
