/* What kernels.cu and bench_cuda.c share: the one struct that every kernel takes, and the sizes.
   C11 and C++; device code has the types of <stdint.h> already. */
#ifndef BENCH_ARGS_H
#define BENCH_ARGS_H

struct bench_args {
    float *y[4];
    const float *x[5];
    const float *one, *scalars; /* 1048576 ones; seed and run of the draws, step_size, sqrt_bc2 */
    const int32_t *cls;
};

#ifdef BENCH_REHEARSAL
#define SIZE(real, small) (small)
#else
#define SIZE(real, small) (real)
#endif

/* Macros, not enumerators: blocks.h compares them with its own. */
#define ELEMENTS SIZE(1 << 26, 1 << 12)
#define ROWS SIZE(65536, 16)
#define COLS SIZE(1024, 96)
#define WIDTH SIZE(768, 64)
#define TOKENS SIZE(1024, 4)
#define VOCAB SIZE(50257, 301)
#define FMA_BLOCKS SIZE(8192, 2)
#define FMA_CHAINS 16
#define FMA_ROUNDS SIZE(2048, 16)

#endif
