/* The floating-point environment of every file that computes: contraction off whatever the command
   line says, always-inline functions, and the few operations that the formulas are made of.
   Included by tlm_rt.h and tlm_math.h.

   gcc: a pragma of its own, which also switches on full vectorisation at -O2, and -O2
   where no level is asked for (values do not depend on it).  clang: the standard's pragma.
   Neither keeps always_inline functions from being inlined.  Both compilers vectorise square
   roots only under -fno-math-errno, which no pragma can ask for: emitted build files pass it. */
#ifndef TLM_FP_H
#define TLM_FP_H

/* CUDA device code (nvcc, NVRTC): TLM_DEVICE; compiled with -fmad=false, which is what keeps it
   from contracting.  NVRTC has no system headers. */
#if defined(__CUDACC__)
#define TLM_DEVICE 1
#else
#define TLM_DEVICE 0
#endif

#if defined(__CUDACC_RTC__)
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#define UINT64_C(value) value##ULL
#else
#include <stdint.h>
#include <string.h>
#endif

#if TLM_DEVICE || defined(TLM_CUDA_HOST)
/* device code, and device code run on the host in tests: the compiler's options say it all */
#elif defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__) && defined(__OPTIMIZE__)
#pragma GCC optimize("fp-contract=off", "tree-vectorize", "vect-cost-model=dynamic")
#elif defined(__GNUC__) /* a plain `cc model.c` is small and fast too */
#pragma GCC optimize("O2", "fp-contract=off", "tree-vectorize", "vect-cost-model=dynamic")
#endif

#if TLM_DEVICE
#define TLM_INLINE static __device__ __forceinline__
#elif !defined(TLM_INLINE)
#define TLM_INLINE static inline __attribute__((always_inline, unused))
#endif

/* Before a loop whose iterations are independent (in place is fine: element i reads element i
   only): gcc vectorises it without asking whether the arrays overlap.  clang asks at run time; its
   pragma would warn of each loop left scalar. */
#if defined(__GNUC__) && !defined(__clang__) && !TLM_DEVICE
#define TLM_LOOP _Pragma("GCC ivdep")
#else
#define TLM_LOOP
#endif

/* a * b + c, rounded once */
TLM_INLINE float tlm_fma(float a, float b, float c)
{
#if TLM_DEVICE
    return __fmaf_rn(a, b, c);
#else
    return __builtin_fmaf(a, b, c);
#endif
}

/* IEEE square root */
TLM_INLINE float tlm_root(float x)
{
#if TLM_DEVICE
    return __fsqrt_rn(x);
#else
    return __builtin_sqrtf(x);
#endif
}

TLM_INLINE uint32_t tlm_bits(float x)
{
#if TLM_DEVICE
    return __float_as_uint(x);
#else
    uint32_t u;

    memcpy(&u, &x, sizeof u);
    return u;
#endif
}

TLM_INLINE float tlm_float(uint32_t u)
{
#if TLM_DEVICE
    return __uint_as_float(u);
#else
    float x;

    memcpy(&x, &u, sizeof x);
    return x;
#endif
}

/* c ? a : b on bits: no branch for a compiler to make out of it, so every formula vectorises. */
TLM_INLINE float tlm_select(int c, float a, float b)
{
    const uint32_t mask = 0u - (uint32_t)(c != 0);

    return tlm_float((tlm_bits(a) & mask) | (tlm_bits(b) & ~mask));
}

TLM_INLINE uint32_t tlm_select_u32(int c, uint32_t a, uint32_t b)
{
    const uint32_t mask = 0u - (uint32_t)(c != 0);

    return (a & mask) | (b & ~mask);
}

#define TLM_F32_INF tlm_float(0x7f800000u)
#define TLM_F32_NAN tlm_float(0x7fc00000u)

#endif
