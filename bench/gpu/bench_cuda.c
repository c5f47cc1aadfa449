/* Rates of the device and of our kernels beside them, as markdown: device-to-device copies, a loop
   of multiply-adds between registers, the kernels of kernels.def, matrix products beside cuBLAS.

     bench_cuda KERNELS.cubin

   Each figure: launches back to back between two events on one stream, so many that they take 20 ms
   at least; the median of five such rounds.  Small operands stay in the caches of the device.
   Products of both are compared: a rate of wrong results is none. */
#define _POSIX_C_SOURCE 200809L
#include <cuda_runtime_api.h>
#ifdef BENCH_CUBLAS
#include <cublas_v2.h>
#endif

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_args.h"
#include "blocks.h"

enum {
    BUFFERS = 8,
    BUFFER_ELEMENTS = SIZE(1 << 26, 1 << 15), /* of each: the largest operand */
    SMALL_ELEMENTS = 1 << 20,
    ROUNDS = SIZE(5, 1),
    MOST_REPEATS = SIZE(400, 1),
    ROUND_MS = SIZE(20, 0)
};

#define SIZES(n) n, 0
#define SIZES2(rows, cols) rows, cols

struct row {
    const char *name;
    int rows, cols;
    uint64_t blocks;
    double bytes, flops;
};
struct product {
    const char *name;
    int M, N, K, ta, tb;
};

static const struct row rows[] = {
#define ROW(name, rows, cols, blocks, bytes, flops) { name, rows, cols, blocks, bytes, flops },
#define KERNEL(name, sizes, blocks, bytes, flops, ...) ROW(#name, sizes, blocks, bytes, flops)
#define PRODUCT(name, M, N, K, ta, tb)
#include "kernels.def"
#undef ROW
};
static const struct product products[] = {
#define KERNEL(name, sizes, blocks, bytes, flops, ...)
#define PRODUCT(name, M, N, K, ta, tb) { #name, M, N, K, ta, tb },
#include "kernels.def"
};

struct bench {
    cudaStream_t stream;
    cudaEvent_t begin, end;
    cudaLibrary_t library;
    struct bench_args args;
    float *buffers[BUFFERS];
    double copy_rate, fma_rate; /* GB/s, TFLOP/s: what the others are held against */
#ifdef BENCH_CUBLAS
    cublasHandle_t cublas;
#endif
};

static void must(cudaError_t code, const char *what)
{
    if (code == cudaSuccess)
        return;
    fprintf(stderr, "bench_cuda: %s: %s: %s\n", what, cudaGetErrorName(code),
            cudaGetErrorString(code));
    exit(1);
}

/* ---- what is timed: enqueues its work once */
typedef void work_fn(struct bench *b, const void *what);

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double timed(struct bench *b, work_fn *work, const void *what, int repeats)
{
    float ms = 0.0f;

    must(cudaEventRecord(b->begin, b->stream), "cudaEventRecord");
    for (int i = 0; i < repeats; i++)
        work(b, what);
    must(cudaEventRecord(b->end, b->stream), "cudaEventRecord");
    must(cudaEventSynchronize(b->end), "the kernels");
    must(cudaEventElapsedTime(&ms, b->begin, b->end), "cudaEventElapsedTime");
    return (double)ms;
}

/* Seconds of one. */
static double seconds(struct bench *b, work_fn *work, const void *what)
{
    double ms[ROUNDS], once;
    int repeats;

    timed(b, work, what, 1);
    once = timed(b, work, what, 2) / 2.0;
    repeats = once * MOST_REPEATS > ROUND_MS ? (int)(ROUND_MS / once) + 1 : MOST_REPEATS;
    if (repeats > MOST_REPEATS)
        repeats = MOST_REPEATS;
    for (int i = 0; i < ROUNDS; i++)
        ms[i] = timed(b, work, what, repeats);
    qsort(ms, ROUNDS, sizeof *ms, by_value);
    once = ms[ROUNDS / 2] / repeats * 1e-3;
    return once > 0.0 ? once : 1e-9; /* a rehearsal may measure nothing */
}

/* ---- kernels by name */

struct launch {
    cudaKernel_t kernel;
    uint64_t blocks;
};

static struct launch launch_of(struct bench *b, const char *name, uint64_t blocks)
{
    struct launch l = { .blocks = blocks };

    must(cudaLibraryGetKernel(&l.kernel, b->library, name), name);
    return l;
}

static void launch(struct bench *b, const void *what)
{
    const struct launch *l = what;
    void *parameters[] = { &b->args };
    cudaLaunchConfig_t config;

    memset(&config, 0, sizeof config);
    config.gridDim = (dim3){ (unsigned)l->blocks, 1, 1 };
    config.blockDim = (dim3){ TLMK_THREADS, 1, 1 };
    config.stream = b->stream;
    must(cudaLaunchKernelExC(&config, l->kernel, parameters), "launch");
}

/* ---- the device's own rates */

static void copy(struct bench *b, const void *what)
{
    (void)what;
    must(cudaMemcpyAsync(b->args.y[0], b->args.x[0], ELEMENTS * sizeof(float),
                         cudaMemcpyDeviceToDevice, b->stream),
         "cudaMemcpyAsync");
}

static void measure_device(struct bench *b)
{
    const struct launch fma = launch_of(b, "fma_rate", FMA_BLOCKS);
    const struct launch own = launch_of(b, "copy_float4", TLMK_BLOCKS(ELEMENTS / 4));
    const double library = 8e-9 * ELEMENTS / seconds(b, copy, NULL);
    const double kernel = 8e-9 * ELEMENTS / seconds(b, launch, &own);

    b->copy_rate = library > kernel ? library : kernel;
    b->fma_rate =
        2e-12 * FMA_BLOCKS * TLMK_THREADS * FMA_CHAINS * FMA_ROUNDS / seconds(b, launch, &fma);
    printf("Measured rates: copy %.0f GB/s (cudaMemcpyAsync on the device %.0f, a kernel of float4 "
           "%.0f; read and written bytes), multiply-adds between registers %.1f TFLOP/s.\n\n",
           b->copy_rate, library, kernel, b->fma_rate);
}

/* ---- the tables */

static void measure_kernels(struct bench *b)
{
    printf("| kernel | sizes | us | GB/s | of the copy rate |\n| --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct launch l = launch_of(b, rows[i].name, rows[i].blocks);
        const double s = seconds(b, launch, &l), rate = 1e-9 * rows[i].bytes / s;
        char sizes[40];

        if (rows[i].cols)
            snprintf(sizes, sizeof sizes, "%d x %d", rows[i].rows, rows[i].cols);
        else
            snprintf(sizes, sizeof sizes, "%d", rows[i].rows);
        printf("| %s | %s | %.1f | %.0f | %.0f %% |\n", rows[i].name, sizes, 1e6 * s, rate,
               100.0 * rate / b->copy_rate);
        fflush(stdout);
    }
}

#ifdef BENCH_CUBLAS
static void blas(struct bench *b, cublasStatus_t status, const char *what)
{
    (void)b;
    if (status == CUBLAS_STATUS_SUCCESS)
        return;
    fprintf(stderr, "bench_cuda: %s: cuBLAS status %d\n", what, (int)status);
    exit(1);
}

/* Row-major: the transposed product of the transposes.  As runtime/cuda_cublas.c calls it. */
static void sgemm(struct bench *b, const void *what)
{
    const struct product *p = what;
    const float one = 1.0f, zero = 0.0f;

    blas(b,
         cublasSgemm(b->cublas, p->tb ? CUBLAS_OP_T : CUBLAS_OP_N,
                     p->ta ? CUBLAS_OP_T : CUBLAS_OP_N, p->N, p->M, p->K, &one, b->args.x[1],
                     p->tb ? p->K : p->N, b->args.x[0], p->ta ? p->M : p->K, &zero, b->args.y[1],
                     p->N),
         "cublasSgemm");
}

/* Two orders of adding K products below 1: at most 2 K roundings of sums below K. */
static int agree(struct bench *b, const struct product *p)
{
    const size_t count = (size_t)p->M * (size_t)p->N;
    const double bound = 2.0 * p->K * p->K * 0x1p-24;
    float *both = malloc(2 * count * sizeof *both);
    int same = 1;

    if (!both)
        exit(2);
    must(cudaStreamSynchronize(b->stream), "the product");
    must(cudaMemcpy(both, b->args.y[0], count * sizeof *both, cudaMemcpyDeviceToHost), "copy");
    must(cudaMemcpy(both + count, b->args.y[1], count * sizeof *both, cudaMemcpyDeviceToHost),
         "copy");
    for (size_t i = 0; same && i < count; i++) {
        same = fabs((double)both[i] - (double)both[count + i]) <= bound;
        if (!same)
            fprintf(stderr, "bench_cuda: %s: element %zu is %g here, %g with cuBLAS\n", p->name, i,
                    (double)both[i], (double)both[count + i]);
    }
    free(both);
    return same;
}
#endif

static int measure_products(struct bench *b)
{
    int failed = 0;

    printf("\n| M x N x K | us | TFLOP/s | of the multiply-adds | cuBLAS TFLOP/s | native / cuBLAS "
           "|\n| --- | --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        const struct product *p = &products[i];
        const struct launch l = launch_of(b, p->name, TLMK_MATMUL_BLOCKS(p->M, p->N, 1));
        const double flops = 2e-12 * p->M * p->N * p->K, s = seconds(b, launch, &l);

        printf("| %d x %d x %d %c%c | %.1f | %.2f | %.0f %% |", p->M, p->N, p->K, p->ta ? 'T' : 'N',
               p->tb ? 'T' : 'N', 1e6 * s, flops / s, 100.0 * flops / s / b->fma_rate);
#ifdef BENCH_CUBLAS
        {
            const double other = seconds(b, sgemm, p);

            printf(" %.2f | %.2f |\n", flops / other, other / s);
            failed |= !agree(b, p);
        }
#else
        printf(" | |\n");
#endif
        fflush(stdout);
    }
    return failed;
}

/* ---- memory and code */

static void *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *data = NULL;
    long size = -1;

    if (file && fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    if (size > 0 && fseek(file, 0, SEEK_SET) == 0)
        data = calloc(1, (size_t)size + 1);
    if (!data || fread(data, 1, (size_t)size, file) != (size_t)size) {
        fprintf(stderr, "bench_cuda: cannot read %s\n", path);
        exit(2);
    }
    fclose(file);
    return data;
}

static float *device_small(const float *values, size_t count)
{
    void *data = NULL;

    must(cudaMalloc(&data, count * sizeof *values), "cudaMalloc");
    must(cudaMemcpy(data, values, count * sizeof *values, cudaMemcpyHostToDevice), "cudaMemcpy");
    return data;
}

/* Every operand holds numbers of [0, 1); `one` ones, the classes are 0. */
static void begin(struct bench *b, const char *path)
{
    static float ones[SMALL_ELEMENTS];
    /* seed and run as four words, then factor and addend of the loop, step size and correction */
    static const float scalars[] = { 0.0f, 0.0f, 0.999f, 0.001f };
    struct launch fill;
    void *cls = NULL;

    must(cudaStreamCreateWithFlags(&b->stream, cudaStreamNonBlocking), "cudaStreamCreate");
    must(cudaEventCreate(&b->begin), "cudaEventCreate");
    must(cudaEventCreate(&b->end), "cudaEventCreate");
    must(cudaLibraryLoadData(&b->library, read_file(path), NULL, NULL, 0, NULL, NULL, 0), path);
    fill = launch_of(b, "fill", TLMK_BLOCKS(BUFFER_ELEMENTS));
    for (int i = 0; i < BUFFERS; i++) {
        void *data = NULL;

        must(cudaMalloc(&data, BUFFER_ELEMENTS * sizeof(float)), "cudaMalloc");
        b->buffers[i] = data;
        b->args.y[0] = data;
        launch(b, &fill);
    }
    must(cudaStreamSynchronize(b->stream), "fill");
    for (int i = 0; i < 4; i++)
        b->args.y[i] = b->buffers[i];
    for (int i = 0; i < 4; i++)
        b->args.x[i] = b->buffers[4 + i];
    b->args.x[4] = b->buffers[7];
    for (int i = 0; i < SMALL_ELEMENTS; i++)
        ones[i] = 1.0f;
    b->args.one = device_small(ones, SMALL_ELEMENTS);
    b->args.scalars = device_small(scalars, sizeof scalars / sizeof *scalars);
    must(cudaMalloc(&cls, SMALL_ELEMENTS * sizeof(int32_t)), "cudaMalloc");
    must(cudaMemset(cls, 0, SMALL_ELEMENTS * sizeof(int32_t)), "cudaMemset");
    b->args.cls = cls;
}

int main(int argc, char **argv)
{
    static struct bench b;
    int failed;

    if (argc != 2) {
        fprintf(stderr, "usage: bench_cuda KERNELS.cubin\n");
        return 2;
    }
    begin(&b, argv[1]);
#ifdef BENCH_CUBLAS
    blas(&b, cublasCreate(&b.cublas), "cublasCreate");
    blas(&b, cublasSetStream(b.cublas, b.stream), "cublasSetStream");
    blas(&b, cublasSetMathMode(b.cublas, CUBLAS_DEFAULT_MATH), "cublasSetMathMode");
#endif
    measure_device(&b);
    measure_kernels(&b);
    failed = measure_products(&b);
#ifdef BENCH_CUBLAS
    blas(&b, cublasDestroy(b.cublas), "cublasDestroy");
#endif
    for (int i = 0; i < BUFFERS; i++)
        must(cudaFree(b.buffers[i]), "cudaFree");
    must(cudaFree((void *)(uintptr_t)b.args.one), "cudaFree");
    must(cudaFree((void *)(uintptr_t)b.args.scalars), "cudaFree");
    must(cudaFree((void *)(uintptr_t)b.args.cls), "cudaFree");
    must(cudaLibraryUnload(b.library), "cudaLibraryUnload");
    must(cudaEventDestroy(b.begin), "cudaEventDestroy");
    must(cudaEventDestroy(b.end), "cudaEventDestroy");
    must(cudaStreamDestroy(b.stream), "cudaStreamDestroy");
    return failed;
}
