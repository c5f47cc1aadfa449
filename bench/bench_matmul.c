/* Single-thread matrix products: the native kernel beside OpenBLAS, when a libopenblas.so.0 is
   found, interleaved in one process, order rotated, medians of the rounds, with a register-only
   loop of fused multiply-adds in each round as thermometer.  Build and run (see RESULTS.md):

       cc -O2 -I runtime -I kernels_cpu bench/bench_matmul.c -o bench_matmul -lm -ldl
       env -u OPENBLAS_CORETYPE ./bench_matmul [ROUNDS] [PATH of libopenblas.so.0] */
#define _POSIX_C_SOURCE 200809L
#include "tlmk_cpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef void sgemm_fn(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                      int lda, const float *b, int ldb, float beta, float *c, int ldc);

struct product {
    float *c;
    const float *a, *b;
    size_t M, N, K;
    int ta, tb;
};

TLM_STEP(matmul, const struct product)
{
    tlmk_f32_matmul__cpu_packed(level, m->c, m->a, m->b, m->M, m->N, m->K, m->ta, m->tb, 0, NULL,
                                NULL, NULL, begin, end);
}
TLM_LEVELS(matmul, const struct product)

/* Processor time of this thread: other jobs on the machine then count little. */
static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Twelve independent chains of eight lanes: what the core can do, GFLOP/s. */
#define CHAINS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define CHAIN_BEGIN(i) vector c##i = { i, 1, 2, 3, 4, 5, 6, 7 };
#define CHAIN_STEP(i)                                        \
    {                                                        \
        vector r_;                                           \
        for (int l = 0; l < 8; l++)                          \
            r_[l] = __builtin_fmaf(c##i[l], 0.999f, 0.001f); \
        c##i = r_;                                           \
    }
#define CHAIN_END(i) +c##i
TLM_TARGET_AVX2 static double thermometer(void)
{
    typedef float vector __attribute__((vector_size(32)));
    const double start = now();
    vector sum;

    CHAINS(CHAIN_BEGIN)
    for (int r = 0; r < 200000; r++) {
        CHAINS(CHAIN_STEP)
    }
    sum = CHAINS(CHAIN_END);
    if (sum[0] == 12345.0f) /* never: it keeps the loop */
        puts("");
    return 2e-9 * 200000 * 12 * 8 / (now() - start);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, by_value);
    return x[n / 2];
}

static float *filled(size_t n)
{
    float *x = aligned_alloc(64, (n * sizeof *x + 127) / 64 * 64);

    if (!x)
        exit(2);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(int32_t)(tlm_random_u32(n, i) >> 8) * 0x1p-24f - 0.5f;
    return x;
}

static double timed(const struct product *p, sgemm_fn *sgemm, int level, long repeats)
{
    const double start = now();
    struct product copy = *p;

    for (long r = 0; r < repeats; r++) {
        if (sgemm)
            sgemm(101, p->ta ? 112 : 111, p->tb ? 112 : 111, (int)p->M, (int)p->N, (int)p->K, 1.0f,
                  p->a, (int)(p->ta ? p->M : p->K), p->b, (int)(p->tb ? p->K : p->N), 0.0f, p->c,
                  (int)p->N);
        else
            matmul[level - 1](&copy, 0, TLMK_MATMUL_ITEMS(p->M, p->N, 1));
    }
    return 2e-9 * (double)p->M * (double)p->N * (double)p->K * (double)repeats / (now() - start);
}

enum { MOST_ROUNDS = 101 };

static void compare(size_t M, size_t N, size_t K, sgemm_fn *sgemm, int level, int rounds)
{
    static const char *const names[] = { "NN", "NT", "TN", "TT" };
    const long repeats = 1 + (long)(1e8 / (2.0 * (double)M * (double)N * (double)K + 1e4));

    for (int flags = 0; flags < 3; flags++) {
        struct product p = { filled(M * N), filled(M * K), filled(K * N), M, N, K,
                             flags == 2,    flags == 1 };
        double own[MOST_ROUNDS], other[MOST_ROUNDS], heat[MOST_ROUNDS];
        double a, b, h;

        for (int r = 0; r < rounds; r++) {
            heat[r] = thermometer();
            other[r] = 0.0;
            if (r % 2 == 0 && sgemm)
                other[r] = timed(&p, sgemm, level, repeats);
            own[r] = timed(&p, NULL, level, repeats);
            if (r % 2 == 1 && sgemm)
                other[r] = timed(&p, sgemm, level, repeats);
        }
        a = median(own, rounds);
        b = median(other, rounds);
        h = median(heat, rounds);
        printf("| %zux%zux%zu %s | %.1f | %.0f %% |", M, N, K, names[flags], a, 100.0 * a / h);
        if (sgemm)
            printf(" %.1f | %.2f |\n", b, a / b);
        else
            printf(" | |\n");
        fflush(stdout);
        free(p.c);
        free((void *)(uintptr_t)p.a);
        free((void *)(uintptr_t)p.b);
    }
}

int main(int argc, char **argv)
{
    static const size_t shapes[][3] = { { 512, 512, 512 }, { 64, 768, 768 },  { 64, 3072, 768 },
                                        { 64, 768, 3072 }, { 256, 768, 768 }, { 1024, 768, 768 },
                                        { 64, 64, 64 },    { 128, 128, 128 }, { 1, 768, 768 },
                                        { 32, 10, 64 },    { 25, 8, 2 } };
    void *library = dlopen(argc > 2 ? argv[2] : "libopenblas.so.0", RTLD_NOW);
    void *symbol = library ? dlsym(library, "cblas_sgemm") : NULL;
    void *threads = library ? dlsym(library, "openblas_set_num_threads") : NULL;
    int rounds = argc > 1 ? atoi(argv[1]) : 9, level = TLM_CPU_BASE;
    sgemm_fn *sgemm = NULL;

    if (rounds < 1 || rounds > MOST_ROUNDS)
        rounds = 9;
    if (symbol && threads) {
        void (*set_threads)(int);

        memcpy(&sgemm, &symbol, sizeof sgemm);
        memcpy(&set_threads, &threads, sizeof set_threads);
        set_threads(1);
    }
#if TLM_HAS_X86_LEVELS
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        level = TLM_CPU_AVX2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
        level = TLM_CPU_AVX512;
#endif
    printf("level %s, 1 thread, median of %d rounds, GFLOP/s; FMA loop %.0f\n\n",
           level == TLM_CPU_BASE   ? "base"
           : level == TLM_CPU_AVX2 ? "avx2"
                                   : "avx512",
           rounds, thermometer());
    printf("| M x N x K | own | of the FMA loop | OpenBLAS | own / OpenBLAS |\n");
    printf("| --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        compare(shapes[i][0], shapes[i][1], shapes[i][2], sgemm, level, rounds);
    return 0;
}
