/* What generated model code uses besides tlm.h: SIMD levels, the parallel loop, the random
   counters, the run-time checks.  Header-only, no libc beyond string.h and math.h; nothing
   allocates, prints or exits.

   A step of generated code is one function, written once and compiled for every level:

       TLM_STEP(mlp_s3, const mlp *m)              // declares the body; `level` is a compile-time
   constant in it
       {
           tlmk_f32_softmax__cpu_rows(level, p, logits, MLP_BATCH, MLP_CLASSES, begin, end);
       }
       TLM_LEVELS(mlp_s3, mlp)                     // makes mlp_s3__base, __avx2, __avx512 and the
   table mlp_s3

       TLM_RUN(m, mlp_s3, items, grain);           // over [0, items), on the level chosen at create

   Details and the exact macros: below. */
#ifndef TLM_RT_H
#define TLM_RT_H

#include "tlm.h"
#include "tlm_fp.h"
#include "tlm_random.h"

#include <math.h>
#include <string.h>

/* Levels.  BASE is what the compiler was asked for; on x86-64 two more are compiled with target
   attributes. */
#if defined(__x86_64__) && !defined(TLM_ONLY_BASE)
#define TLM_HAS_X86_LEVELS 1
#define TLM_TARGET_AVX2 __attribute__((target("avx2,fma")))
#define TLM_TARGET_AVX512 __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,avx2,fma")))
#else
#define TLM_HAS_X86_LEVELS 0
#endif

/* State that every model struct begins with. */
typedef struct tlm_rt {
    uint32_t level; /* tlm_cpu, never AUTO */
    uint32_t threads;
    tlm_parallel_fn *parallel;
    void *parallel_user;
    tlm_log_fn *log;
    void *log_user;
    uint64_t seed, step; /* random draws: key = f(seed, run, site) */
    uint64_t run;        /* counts runs of forms with draws: each draws anew */
    char error[TLM_ERROR_BYTES];
} tlm_rt;

#define TLM_STEP(name, model_type) \
    TLM_INLINE void name##_body(const int level, model_type *m, size_t begin, size_t end)

#if TLM_HAS_X86_LEVELS
#define TLM_LEVELS(name, model_type)                                          \
    static void name##__base(void *m, size_t b, size_t e)                     \
    {                                                                         \
        name##_body(TLM_CPU_BASE, (model_type *)m, b, e);                     \
    }                                                                         \
    TLM_TARGET_AVX2 static void name##__avx2(void *m, size_t b, size_t e)     \
    {                                                                         \
        name##_body(TLM_CPU_AVX2, (model_type *)m, b, e);                     \
    }                                                                         \
    TLM_TARGET_AVX512 static void name##__avx512(void *m, size_t b, size_t e) \
    {                                                                         \
        name##_body(TLM_CPU_AVX512, (model_type *)m, b, e);                   \
    }                                                                         \
    static tlm_range_fn *const name[3] = { name##__base, name##__avx2, name##__avx512 };
#else
#define TLM_LEVELS(name, model_type)                      \
    static void name##__base(void *m, size_t b, size_t e) \
    {                                                     \
        name##_body(TLM_CPU_BASE, (model_type *)m, b, e); \
    }                                                     \
    static tlm_range_fn *const name[3] = { name##__base, name##__base, name##__base };
#endif

/* Results never depend on how ranges are cut: each item writes its own outputs. */
__attribute__((unused)) static inline void
tlm_parallel_for(const tlm_rt *rt, size_t count, size_t grain, tlm_range_fn *fn, void *context)
{
    if (count == 0)
        return;
    if (grain == 0)
        grain = 1;
    if (rt->parallel) {
        rt->parallel(rt->parallel_user, count, grain, fn, context);
        return;
    }
#ifdef _OPENMP
    if (rt->threads > 1 && count > grain) {
        const size_t most = (count + grain - 1) / grain;
        const size_t pieces = most < rt->threads ? most : rt->threads;

#pragma omp parallel for num_threads((int)pieces) schedule(static)
        for (size_t i = 0; i < pieces; i++)
            fn(context, count * i / pieces, count * (i + 1) / pieces);
        return;
    }
#endif
    fn(context, 0, count);
}

#define TLM_RUN(m, name, items, grain) \
    tlm_parallel_for(&(m)->rt, (items), (grain), name[(m)->rt.level - 1], (m))

#endif
