/* The CUDA language for g++: put in front of a .cu file (-x c++ -include cuda_host.h), so that the
   very text that NVRTC compiles runs on this machine.  Types come from the toolkit's own headers.

   What it takes: what device code of this project may use (kernels_cuda/device.cuh) and some
   more of the same kind.  What it refuses, by not declaring it: <<<>>>, approximate functions,
   inline PTX, dynamic shared memory, textures, launches from kernels.  Known differences from a
   device are listed in docs/testing-cuda.md.

   Blocks run one after another.  The threads of a block are fibres: one runs until it waits at a
   barrier or a collective of its warp, or returns; one that never waits costs a function call. */
#ifndef CUDA_HOST_H
#define CUDA_HOST_H

#ifndef __cplusplus
#error "device code is C++17 on the host"
#endif

#include "host_internal.h"

#include <math.h>
#include <string.h>

#include <type_traits>

#include <vector_functions.h>

#ifndef TLM_CUDA_HOST
#define TLM_CUDA_HOST 1
#endif

#undef __global__
#undef __device__
#undef __host__
#undef __constant__
#undef __shared__
#undef __forceinline__
#undef __noinline__
#undef __launch_bounds__
#undef __align__
#undef __grid_constant__
#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __grid_constant__

/* Code of the shim that stands in this header: the checker must not see its accesses. */
#define TLM_HOST_CODE __attribute__((no_sanitize("thread"), unused)) static

/* The place of the call, as last parameters of what device code calls by name. */
#define TLM_HOST_SITE const char *file = __builtin_FILE(), unsigned line = __builtin_LINE()

/* ---- the number of a thread */

struct tlm_host_ids {
    uint3 thread, block;
    dim3 block_size, grid_size;
};

/* ---- what a lane brings to a collective of its warp, and takes from it */

enum tlm_host_collective_kind {
    TLM_HOST_SYNC,
    TLM_HOST_SHUFFLE,
    TLM_HOST_VOTE,
};

struct tlm_host_lane {
    tlm_host_collective_kind kind;
    unsigned mask;
    const char *file;
    unsigned line;
    unsigned source;    /* of a shuffle: the lane to read */
    unsigned value[4];  /* brought: of a vote, one bit */
    unsigned result[4]; /* of a vote: ballot and those who took part */
};

struct tlm_host_slot { /* of a shared array: its place in the block that used it last */
    uint64_t block;
    void *start;
};

extern "C" {
extern TLM_HOST_HIDDEN struct tlm_host_ids tlm_host_ids;
TLM_HOST_HIDDEN void *tlm_host_shared(struct tlm_host_slot *slot, const char *name, size_t bytes,
                                      const char *file, unsigned line);
enum tlm_host_barrier_kind { TLM_HOST_BARRIER, TLM_HOST_COUNT, TLM_HOST_AND, TLM_HOST_OR };
TLM_HOST_HIDDEN int tlm_host_barrier(tlm_host_barrier_kind kind, int value, const char *file,
                                     unsigned line);
TLM_HOST_HIDDEN void tlm_host_collective(struct tlm_host_lane *mine);
TLM_HOST_HIDDEN unsigned tlm_host_lane_number(void);
TLM_HOST_HIDDEN void tlm_host_atomic(void *address, size_t bytes, const void *pc);
TLM_HOST_HIDDEN void tlm_host_trap(const char *file, unsigned line) __attribute__((noreturn));
}

#define threadIdx ((const uint3 &)tlm_host_ids.thread)
#define blockIdx ((const uint3 &)tlm_host_ids.block)
#define blockDim ((const dim3 &)tlm_host_ids.block_size)
#define gridDim ((const dim3 &)tlm_host_ids.grid_size)
#define warpSize 32

/* ---- kernels, shared arrays, tables: the vocabulary of kernels_cuda/device.cuh */

#define TLM_KERNEL(name)                                                               \
    static void name##_body(const struct name##_args *m);                              \
    static void name##_run(const void *args)                                           \
    {                                                                                  \
        name##_body((const struct name##_args *)args);                                 \
    }                                                                                  \
    static struct tlm_host_kernel name##_kernel = {                                    \
        #name, name##_run, sizeof(struct name##_args), TLMK_THREADS, __FILE__, nullptr \
    };                                                                                 \
    __attribute__((constructor)) static void name##_known(void)                        \
    {                                                                                  \
        tlm_host_register(&name##_kernel);                                             \
    }                                                                                  \
    static void name##_body(const struct name##_args *m)

#define TLM_SEGMENT(name) static void name(const struct name##_args *m, const uint32_t block)

/* A reference to an array, so that sizeof and the bounds of the type stay. */
#define TLM_SHARED(type, name, count)                                          \
    static struct tlm_host_slot name##_slot;                                   \
    type(&name)[count] = *(type(*)[count])tlm_host_shared(&name##_slot, #name, \
                                                          sizeof(type[count]), __FILE__, __LINE__)

#define TLM_TABLE static

/* ---- barriers of the block */

TLM_HOST_CODE void __syncthreads(TLM_HOST_SITE)
{
    tlm_host_barrier(TLM_HOST_BARRIER, 0, file, line);
}

TLM_HOST_CODE int __syncthreads_count(int value, TLM_HOST_SITE)
{
    return tlm_host_barrier(TLM_HOST_COUNT, value, file, line);
}

TLM_HOST_CODE int __syncthreads_and(int value, TLM_HOST_SITE)
{
    return tlm_host_barrier(TLM_HOST_AND, value, file, line);
}

TLM_HOST_CODE int __syncthreads_or(int value, TLM_HOST_SITE)
{
    return tlm_host_barrier(TLM_HOST_OR, value, file, line);
}

TLM_HOST_CODE void __threadfence(void)
{
}

TLM_HOST_CODE void __threadfence_block(void)
{
}

TLM_HOST_CODE void __trap(TLM_HOST_SITE)
{
    tlm_host_trap(file, line);
}

/* ---- collectives of the warp */

TLM_HOST_CODE void __syncwarp(unsigned mask = 0xffffffffu, TLM_HOST_SITE)
{
    struct tlm_host_lane mine;

    mine.kind = TLM_HOST_SYNC;
    mine.mask = mask;
    mine.file = file;
    mine.line = line;
    tlm_host_collective(&mine);
}

template <class T>
TLM_HOST_CODE T tlm_host_shuffle(unsigned mask, T value, unsigned source, const char *file,
                                 unsigned line)
{
    static_assert(sizeof(T) <= 16 && std::is_trivially_copyable<T>::value,
                  "a shuffle of plain data");
    struct tlm_host_lane mine;
    T result;

    mine.kind = TLM_HOST_SHUFFLE;
    mine.mask = mask;
    mine.file = file;
    mine.line = line;
    mine.source = source;
    memcpy(mine.value, &value, sizeof value);
    tlm_host_collective(&mine);
    memcpy(&result, mine.result, sizeof result);
    return result;
}

/* Lanes are taken in groups of `width`; who would read beyond the group keeps its own value. */
template <class T>
TLM_HOST_CODE T __shfl_sync(unsigned mask, T value, int source, int width = 32, TLM_HOST_SITE)
{
    const unsigned group = tlm_host_lane_number() & ~(unsigned)(width - 1);

    return tlm_host_shuffle(mask, value, group + ((unsigned)source & (unsigned)(width - 1)), file,
                            line);
}

template <class T>
TLM_HOST_CODE T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32, TLM_HOST_SITE)
{
    const unsigned lane = tlm_host_lane_number();
    const unsigned within = lane & (unsigned)(width - 1);

    return tlm_host_shuffle(mask, value, within < by ? lane : lane - by, file, line);
}

template <class T>
TLM_HOST_CODE T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32, TLM_HOST_SITE)
{
    const unsigned lane = tlm_host_lane_number();
    const unsigned within = lane & (unsigned)(width - 1);

    return tlm_host_shuffle(mask, value, by >= (unsigned)width - within ? lane : lane + by, file,
                            line);
}

template <class T>
TLM_HOST_CODE T __shfl_xor_sync(unsigned mask, T value, int with, int width = 32, TLM_HOST_SITE)
{
    const unsigned lane = tlm_host_lane_number();
    const unsigned end = (lane & ~(unsigned)(width - 1)) + (unsigned)width;
    const unsigned source = lane ^ (unsigned)with;

    return tlm_host_shuffle(mask, value, source >= end ? lane : source, file, line);
}

TLM_HOST_CODE struct tlm_host_lane tlm_host_vote(unsigned mask, int value, const char *file,
                                                 unsigned line)
{
    struct tlm_host_lane mine;

    mine.kind = TLM_HOST_VOTE;
    mine.mask = mask;
    mine.file = file;
    mine.line = line;
    mine.value[0] = value != 0;
    tlm_host_collective(&mine);
    return mine;
}

TLM_HOST_CODE unsigned __ballot_sync(unsigned mask, int value, TLM_HOST_SITE)
{
    return tlm_host_vote(mask, value, file, line).result[0];
}

TLM_HOST_CODE int __any_sync(unsigned mask, int value, TLM_HOST_SITE)
{
    return tlm_host_vote(mask, value, file, line).result[0] != 0;
}

TLM_HOST_CODE int __all_sync(unsigned mask, int value, TLM_HOST_SITE)
{
    const struct tlm_host_lane lane = tlm_host_vote(mask, value, file, line);

    return lane.result[0] == lane.result[1];
}

/* ---- atomics: one thread at a time runs, so they are plain here.  Not inlined: the address they
   return to is the place that a report names. */

#define TLM_HOST_ATOMIC_CODE \
    template <class T>       \
    TLM_HOST_CODE __attribute__((noinline)) T
#define TLM_HOST_ATOMIC(name, expression)                                 \
    TLM_HOST_ATOMIC_CODE name(T *address, std::common_type_t<T> value)    \
    {                                                                     \
        tlm_host_atomic(address, sizeof(T), __builtin_return_address(0)); \
        const T old = *address;                                           \
        *address = (T)(expression);                                       \
        return old;                                                       \
    }
TLM_HOST_ATOMIC(atomicAdd, old + value)
TLM_HOST_ATOMIC(atomicMax, old < value ? value : old)
TLM_HOST_ATOMIC(atomicMin, value < old ? value : old)
TLM_HOST_ATOMIC(atomicAnd, old &value)
TLM_HOST_ATOMIC(atomicOr, old | value)
TLM_HOST_ATOMIC(atomicExch, value)
#undef TLM_HOST_ATOMIC

TLM_HOST_ATOMIC_CODE atomicCAS(T *address, std::common_type_t<T> expected,
                               std::common_type_t<T> value)
{
    tlm_host_atomic(address, sizeof(T), __builtin_return_address(0));
    const T old = *address;
    if (old == expected)
        *address = value;
    return old;
}

/* ---- loads and stores with a hint.  Instrumented: the access counts as the caller's. */

template <class T>
static __forceinline__ T __ldg(const T *address)
{
    return *address;
}

template <class T>
static __forceinline__ T __ldcs(const T *address)
{
    return *address;
}

template <class T>
static __forceinline__ void __stcs(T *address, T value)
{
    *address = value;
}

/* ---- arithmetic with its rounding in the name: IEEE, to nearest.  Contraction is off. */

static __forceinline__ float __fadd_rn(float a, float b)
{
    return a + b;
}

static __forceinline__ float __fsub_rn(float a, float b)
{
    return a - b;
}

static __forceinline__ float __fmul_rn(float a, float b)
{
    return a * b;
}

static __forceinline__ float __fdiv_rn(float a, float b)
{
    return a / b;
}

static __forceinline__ float __fmaf_rn(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}

static __forceinline__ float __fsqrt_rn(float a)
{
    return __builtin_sqrtf(a);
}

static __forceinline__ float __frcp_rn(float a)
{
    return 1.0f / a;
}

static __forceinline__ double __dadd_rn(double a, double b)
{
    return a + b;
}

static __forceinline__ double __dsub_rn(double a, double b)
{
    return a - b;
}

static __forceinline__ double __dmul_rn(double a, double b)
{
    return a * b;
}

static __forceinline__ double __ddiv_rn(double a, double b)
{
    return a / b;
}

static __forceinline__ double __fma_rn(double a, double b, double c)
{
    return __builtin_fma(a, b, c);
}

static __forceinline__ double __dsqrt_rn(double a)
{
    return __builtin_sqrt(a);
}

/* ---- conversions and bits */

template <class To, class From>
static __forceinline__ To tlm_host_bits(From from)
{
    static_assert(sizeof(To) == sizeof(From), "the same bits");
    To to;

    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}

static __forceinline__ int __float_as_int(float x)
{
    return tlm_host_bits<int>(x);
}

static __forceinline__ unsigned __float_as_uint(float x)
{
    return tlm_host_bits<unsigned>(x);
}

static __forceinline__ float __int_as_float(int x)
{
    return tlm_host_bits<float>(x);
}

static __forceinline__ float __uint_as_float(unsigned x)
{
    return tlm_host_bits<float>(x);
}

static __forceinline__ long long __double_as_longlong(double x)
{
    return tlm_host_bits<long long>(x);
}

static __forceinline__ double __longlong_as_double(long long x)
{
    return tlm_host_bits<double>(x);
}

static __forceinline__ float __int2float_rn(int x)
{
    return (float)x;
}

static __forceinline__ float __uint2float_rn(unsigned x)
{
    return (float)x;
}

static __forceinline__ float __double2float_rn(double x)
{
    return (float)x;
}

/* A device saturates, and makes 0 of a NaN; C leaves both open. */
static __forceinline__ int tlm_host_saturate(double x)
{
    if (x != x)
        return 0;
    if (x >= 2147483647.0)
        return 2147483647;
    return x <= -2147483648.0 ? -2147483647 - 1 : (int)x;
}

static __forceinline__ int __float2int_rz(float x)
{
    return tlm_host_saturate((double)x);
}

static __forceinline__ int __float2int_rn(float x)
{
    return tlm_host_saturate(__builtin_rint((double)x));
}

static __forceinline__ int __popc(unsigned x)
{
    return __builtin_popcount(x);
}

static __forceinline__ int __popcll(unsigned long long x)
{
    return __builtin_popcountll(x);
}

static __forceinline__ int __clz(int x)
{
    return x == 0 ? 32 : __builtin_clz((unsigned)x);
}

static __forceinline__ int __clzll(long long x)
{
    return x == 0 ? 64 : __builtin_clzll((unsigned long long)x);
}

static __forceinline__ int __ffs(int x)
{
    return __builtin_ffs(x);
}

static __forceinline__ unsigned __umulhi(unsigned a, unsigned b)
{
    return (unsigned)((unsigned long long)a * b >> 32);
}

static __forceinline__ unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}

static __forceinline__ unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by)
{
    return (unsigned)(((unsigned long long)high << 32 | low) << (by & 31) >> 32);
}

static __forceinline__ unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by)
{
    return (unsigned)(((unsigned long long)high << 32 | low) >> (by & 31));
}

#define TLM_HOST_MIN_MAX(type)                      \
    static __forceinline__ type min(type a, type b) \
    {                                               \
        return b < a ? b : a;                       \
    }                                               \
    static __forceinline__ type max(type a, type b) \
    {                                               \
        return a < b ? b : a;                       \
    }
TLM_HOST_MIN_MAX(int)
TLM_HOST_MIN_MAX(unsigned)
TLM_HOST_MIN_MAX(long long)
TLM_HOST_MIN_MAX(unsigned long long)
#undef TLM_HOST_MIN_MAX

#endif
