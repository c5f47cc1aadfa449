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

enum {
    ELEMENTS = SIZE(1 << 26, 1 << 12),
    ROWS = SIZE(65536, 16),
    COLS = SIZE(1024, 96),
    WIDTH = SIZE(768, 64),
    TOKENS = SIZE(1024, 4),
    VOCAB = SIZE(50257, 301),
    FMA_BLOCKS = SIZE(8192, 2),
    FMA_CHAINS = 16,
    FMA_ROUNDS = SIZE(2048, 16)
};

#endif
