/* What the kernel tests share: a job run on every level of this processor and with its items cut in
   several ways, values to feed it, comparison of bits, and tree64 straight from its definition.
   Equal bits means equal, or both NaN.  Levels that the processor lacks are skipped and counted. */
#ifndef KERNEL_TEST_H
#define KERNEL_TEST_H

#include "tlm_rt.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static inline int has_level(int level)
{
#if TLM_HAS_X86_LEVELS
    if (level == TLM_CPU_AVX2)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (level == TLM_CPU_AVX512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
    return 1;
#else
    return level == TLM_CPU_BASE;
#endif
}

/* Runs step over [0, items) whole, in two pieces, and item by item from the last to the first. */
static inline void run_cut(tlm_range_fn *step, void *job, size_t items, int cut)
{
    if (cut == 0) {
        step(job, 0, items);
    } else if (cut == 1) {
        step(job, items / 2, items);
        step(job, 0, items / 2);
    } else {
        for (size_t i = items; i > 0; i--)
            step(job, i - 1, i);
    }
}

/* Every level and cut: `prepare` before, `check` after each run. */
static inline void run_everywhere(tlm_range_fn *const *steps, void *job, size_t items,
                                  void (*prepare)(void *job), void (*check)(const void *job))
{
    for (int level = TLM_CPU_BASE; level <= TLM_CPU_AVX512; level++) {
        if (!has_level(level))
            continue;
        for (int cut = 0; cut < 3; cut++) {
            prepare(job);
            run_cut(steps[level - 1], job, items, cut);
            check(job);
        }
    }
}

static inline void report_levels(void)
{
    for (int level = TLM_CPU_AVX2; level <= TLM_CPU_AVX512; level++)
        if (!has_level(level))
            print_message("skipped: this processor lacks %s\n",
                          level == TLM_CPU_AVX2 ? "avx2" : "avx512");
}

static inline uint32_t float_bits(float x)
{
    uint32_t u;

    memcpy(&u, &x, sizeof u);
    return u;
}

static inline int same_bits(float a, float b)
{
    return float_bits(a) == float_bits(b) || (isnan(a) && isnan(b));
}

static inline void assert_same_floats(const char *what, const float *got, const float *want,
                                      size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!same_bits(got[i], want[i]))
            fail_msg("%s: element %zu of %zu is %a, not %a", what, i, n, (double)got[i],
                     (double)want[i]);
}

/* Relative to the largest magnitude of the wanted values: sums in another order. */
static inline void assert_near_floats(const char *what, const float *got, const float *want,
                                      size_t n, double tolerance)
{
    double scale = 1e-30;

    for (size_t i = 0; i < n; i++)
        if (isfinite(want[i]) && fabs((double)want[i]) > scale)
            scale = fabs((double)want[i]);
    for (size_t i = 0; i < n; i++) {
        if (isnan(want[i]) ? isnan(got[i]) : isinf(want[i]) ? got[i] == want[i] : 0)
            continue;
        if (!(fabs((double)got[i] - (double)want[i]) <= tolerance * scale))
            fail_msg("%s: element %zu of %zu is %a, not near %a", what, i, n, (double)got[i],
                     (double)want[i]);
    }
}

static inline uint64_t next_random(uint64_t *state)
{
    return tlm_splitmix64((*state)++);
}

/* [-scale, scale] */
static inline void fill_uniform(float *x, size_t n, uint64_t seed, float scale)
{
    for (size_t i = 0; i < n; i++)
        x[i] = ((float)(next_random(&seed) >> 40) * 0x1p-23f - 1.0f) * scale;
}

/* Now and then a zero of either sign, a subnormal, an infinity, a NaN. */
static inline void sprinkle(float *x, size_t n, uint64_t seed)
{
    static const float special[] = { 0.0f, -0.0f, 1e-40f, -1e-45f, 3e38f, INFINITY, NAN };

    for (size_t i = 0; i < n; i++) {
        const uint64_t r = next_random(&seed);

        if (r % 16 == 0)
            x[i] = special[(r >> 8) % COUNT(special)];
    }
}

static inline void *allocate(size_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);

    if (!p)
        abort();
    return p;
}

static inline float *floats(size_t n)
{
    return allocate(n * sizeof(float));
}

/* docs/numerics.md, Sums, word for word */
static inline float exact_tree64(const float *terms, size_t n)
{
    const size_t chunks = (n + 4095) / 4096;
    float *results = floats(chunks), sum;

    if (n == 0) {
        free(results);
        return 0.0f;
    }
    for (size_t c = 0; c < chunks; c++) {
        float lanes[64] = { 0.0f };

        for (size_t i = c * 4096; i < n && i < (c + 1) * 4096; i++)
            lanes[i % 64] += terms[i];
        for (size_t half = 32; half > 0; half /= 2)
            for (size_t l = 0; l < half; l++)
                lanes[l] += lanes[l + half];
        results[c] = lanes[0];
    }
    sum = chunks == 1 ? results[0] : exact_tree64(results, chunks);
    free(results);
    return sum;
}

#endif
