/* The vocabulary of device code: kernels that take one struct, shared arrays, the number of a
   thread. Compiled by NVRTC and nvcc; tests define these macros first and run the same text
   on the host (tests/cuda_host).  Rules: blocks of TLMK_THREADS; no inline PTX; no mutable
   __device__ variables; no waiting for another block; no library headers. */
#ifndef TLMK_DEVICE_H
#define TLMK_DEVICE_H

#include "tlm_fp.h"

#include "blocks.h"

/* TLM_KERNEL(run_softmax) { ... }: a kernel whose body reads its operands through
   `const struct run_softmax_args *m`. */
#ifndef TLM_KERNEL
#define TLM_KERNEL(name)                                                             \
    static __device__ __forceinline__ void name##_body(const struct name##_args *m); \
    extern "C" __global__ void __launch_bounds__(TLMK_THREADS, 2)                    \
        name(const __grid_constant__ struct name##_args args)                        \
    {                                                                                \
        name##_body(&args);                                                          \
    }                                                                                \
    static __device__ __forceinline__ void name##_body(const struct name##_args *m)
#endif

/* TLM_SEGMENT(segment_rows) { ... }: the same for some of a kernel's blocks; `block` is the number
   of this one among them. */
#ifndef TLM_SEGMENT
#define TLM_SEGMENT(name) \
    static __device__ __forceinline__ void name(const struct name##_args *m, const uint32_t block)
#endif

/* TLM_SHARED(float, tile, 1024): an array that the threads of a block share, aligned for float4;
   undefined until written. */
#ifndef TLM_SHARED
#define TLM_SHARED(type, name, count) __shared__ __align__(16) type name[count]
#endif

/* A constant table of device code: TLM_TABLE const struct row rows[] = { ... }; */
#ifndef TLM_TABLE
#define TLM_TABLE static __device__
#endif

/* TLMK_UNROLL: loops over register arrays, which would lie in local memory without it. TLMK_ROLLED:
   loops that would take too many registers unrolled. */
#if TLM_DEVICE
#define TLMK_UNROLL _Pragma("unroll")
#define TLMK_ROLLED _Pragma("unroll 1")
#else
#define TLMK_UNROLL
#define TLMK_ROLLED
#endif

#define TLMK_ALL_LANES 0xffffffffu

/* The number of this thread in the launch. */
TLM_INLINE uint32_t tlm_thread(void)
{
    return blockIdx.x * TLMK_THREADS + threadIdx.x;
}

/* Its place in the block. */
TLM_INLINE uint32_t tlm_lane(void)
{
    return threadIdx.x % TLMK_WARP;
}

TLM_INLINE uint32_t tlm_warp(void)
{
    return threadIdx.x / TLMK_WARP;
}

#endif
