/* The device functions that emitted programs call, instantiated for the sizes of kernels.def, and
   two kernels that measure the device: multiply-adds between registers, and a fill. */
#include "tlm_math.h"
#include "tlmk_cuda.h"

#include "bench_args.h"

struct fill_args : bench_args {
};
TLM_KERNEL(fill)
{
    const uint32_t i = tlm_thread();

    if (i < SIZE(1 << 26, 1 << 15))
        m->y[0][i] = (float)((i * 2654435761u) >> 8) * 0x1p-24f;
}

struct fma_rate_args : bench_args {
};
TLM_KERNEL(fma_rate)
{
    const float factor = m->scalars[2];
    const float add = m->scalars[3];
    float chain[FMA_CHAINS];
    float sum = 0.0f;

    TLMK_UNROLL
    for (int c = 0; c < FMA_CHAINS; c++)
        chain[c] = (float)(tlm_lane() + (uint32_t)c);
    for (int round = 0; round < FMA_ROUNDS; round++) {
        TLMK_UNROLL
        for (int c = 0; c < FMA_CHAINS; c++)
            chain[c] = tlm_fma(chain[c], factor, add);
    }
    TLMK_UNROLL
    for (int c = 0; c < FMA_CHAINS; c++)
        sum = tlm_add(sum, chain[c]);
    m->y[0][tlm_thread()] = sum;
}

#define KERNEL(name, sizes, blocks, bytes, flops, ...) \
    struct name##_args : bench_args {                  \
    };                                                 \
    TLM_KERNEL(name)                                   \
    {                                                  \
        __VA_ARGS__                                    \
    }
#define PRODUCT(name, M, N, K, ta, tb)                                                      \
    struct name##_args : bench_args {                                                       \
    };                                                                                      \
    TLM_KERNEL(name)                                                                        \
    {                                                                                       \
        tlmk_f32_matmul__cuda_tiled(m->y[0], m->x[0], m->x[1], M, N, K, ta, tb, 0, nullptr, \
                                    nullptr, nullptr);                                      \
    }
#include "kernels.def"
