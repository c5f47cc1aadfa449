/* What every emitted NAME.c shares besides its numbers: the checks of NAME_create (ABI, memory
   blocks, processor, floating-point environment) and initial values.  In: the options of the caller
   and the model's own tables.  Refuses with a status and a message; allocates nothing. */
#ifndef TLM_MODEL_H
#define TLM_MODEL_H

#include "tlm_check.h"
#include "tlm_math64.h"
#include "tlm_scalar.h"

#ifdef _OPENMP
#include <omp.h>
#endif

/* ---- create */

typedef struct tlm_needs { /* of one model */
    uint32_t abi;
    size_t weights_bytes, state_bytes, activations_bytes;
} tlm_needs;

__attribute__((noinline, cold, unused)) static tlm_status
tlm_refuse(const tlm_options *options, tlm_status status, const char *what, const char *detail)
{
    tlm_message message = { options ? options->error_text : NULL, 0 };

    tlm_say(&message, what);
    tlm_say(&message, detail);
    return status;
}

TLM_INLINE tlm_status tlm_check_block(const tlm_options *options, const char *name,
                                      const void *block, size_t bytes, size_t needed)
{
    if (needed == 0)
        return TLM_OK;
    if (!block)
        return tlm_refuse(options, TLM_ERR_MEMORY, "missing memory block: ", name);
    if (bytes < needed)
        return tlm_refuse(options, TLM_ERR_MEMORY, "memory block too small: ", name);
    if ((uintptr_t)block % TLM_ALIGN != 0)
        return tlm_refuse(options, TLM_ERR_MEMORY, "memory block not aligned to 64 bytes: ", name);
    return TLM_OK;
}

TLM_INLINE tlm_status tlm_check_options(const tlm_options *options, const tlm_needs *needs)
{
    if (!options)
        return TLM_ERR_ARGUMENT;
    if (options->size != sizeof(tlm_options)) /* another layout: error_text cannot be trusted */
        return TLM_ERR_ABI;
    if (options->abi != needs->abi)
        return tlm_refuse(options, TLM_ERR_ABI, "options.abi is not that of this model", "");
    TLM_TRY(tlm_check_block(options, "weights", options->weights, options->weights_bytes,
                            needs->weights_bytes));
    TLM_TRY(tlm_check_block(options, "state", options->state, options->state_bytes,
                            needs->state_bytes));
    return tlm_check_block(options, "activations", options->activations, options->activations_bytes,
                           needs->activations_bytes);
}

/* The best level this processor has. */
TLM_INLINE uint32_t tlm_best_level(void)
{
#if TLM_HAS_X86_LEVELS
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return TLM_CPU_AVX512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return TLM_CPU_AVX2;
#endif
    return TLM_CPU_BASE;
}

/* Is binary32 arithmetic what docs/numerics.md says?  Contraction, flushing of subnormals and the
   rounding mode are tried with operands the compiler cannot see: macros do not tell, and another
   library may have changed the mode. */
TLM_INLINE int tlm_arithmetic_holds(void)
{
    volatile float one = 1.0f, tiny = 0x1p-126f, half = 0.5f, x = 1.0f + 0x1p-12f;
    volatile float quarter_ulp = 0x1p-25f, half_ulp = 0x1p-24f, odd = 1.0f + 0x1p-23f;
    volatile float square = x * x, sum, subnormal;
    const float residue = x * x - square; /* not 0 when multiplied and subtracted in one rounding */

    if (residue != 0.0f)
        return 0;
    subnormal = tiny * half;
    sum = subnormal + subnormal;
    if (subnormal == 0.0f || sum != tiny)
        return 0;
    sum = one + quarter_ulp;
    if (sum != 1.0f)
        return 0;
    sum = one - quarter_ulp * half;
    if (sum != 1.0f)
        return 0;
    sum = odd + half_ulp; /* a tie: to even, upwards here */
    return sum == 1.0f + 0x1p-22f;
}

/* Fills rt from options that tlm_check_options accepted. */
TLM_INLINE tlm_status tlm_rt_init(tlm_rt *rt, const tlm_options *options)
{
    const uint32_t best = tlm_best_level();

    memset(rt, 0, sizeof *rt);
    if ((uint32_t)options->cpu > TLM_CPU_AVX512)
        return tlm_refuse(options, TLM_ERR_ARGUMENT, "options.cpu is no level", "");
    rt->level = options->cpu == TLM_CPU_AUTO ? best : (uint32_t)options->cpu;
    if (rt->level > best)
        return tlm_refuse(options, TLM_ERR_CPU, "this processor has no ",
                          rt->level == TLM_CPU_AVX2 ? "AVX2 with FMA" : "AVX-512 (F, VL, BW, DQ)");
    rt->threads = options->threads;
#ifdef _OPENMP
    if (rt->threads == 0)
        rt->threads = (uint32_t)omp_get_max_threads();
#endif
    if (rt->threads == 0)
        rt->threads = 1;
    if (rt->threads > TLM_MAX_THREADS)
        rt->threads = TLM_MAX_THREADS;
    rt->parallel = options->parallel;
    rt->parallel_user = options->parallel_user;
    rt->log = options->log;
    rt->log_user = options->log_user;
    rt->seed = options->seed;
    if (!tlm_arithmetic_holds())
        return tlm_refuse(
            options, TLM_ERR_ARITHMETIC,
            "floating-point arithmetic is contracted, flushed or not rounded to nearest", "");
    return TLM_OK;
}

/* ---- parameters and their initial values */

typedef enum tlm_init_kind {
    TLM_INIT_NONE,     /* must be loaded: NaN until then */
    TLM_INIT_CONSTANT, /* a */
    TLM_INIT_UNIFORM,  /* [a, b) */
    TLM_INIT_NORMAL,   /* mean a, standard deviation b */
    TLM_INIT_TABLE
} tlm_init_kind;

#define TLM_NO_OFFSET ((size_t)-1)

typedef struct tlm_param_row { /* constant part of a tlm_param */
    const char *key;
    tlm_dtype dtype;
    tlm_param_kind kind;
    uint32_t trainable;
    uint32_t rank;
    uint32_t dims[TLM_MAX_RANK];
    size_t offset;   /* in weights, or in state for transient, optimizer and accumulator */
    size_t gradient; /* in activations; TLM_NO_OFFSET: none */
    tlm_init_kind init;
    double a, b;
    const void *table;
    uint32_t ordinal; /* numbers the random stream */
} tlm_param_row;

TLM_INLINE int tlm_lives_in_weights(tlm_param_kind kind)
{
    return kind == TLM_PARAM_TRAINED || kind == TLM_PARAM_STATE;
}

TLM_INLINE size_t tlm_dtype_size(tlm_dtype dtype)
{
    return dtype == TLM_BOOL ? 1 : 4;
}

TLM_INLINE void tlm_bind_params(tlm_param *params, const tlm_param_row *rows, size_t count,
                                unsigned char *weights, unsigned char *state,
                                unsigned char *activations)
{
    for (size_t i = 0; i < count; i++) {
        const tlm_param_row *row = &rows[i];
        tlm_param *param = &params[i];

        memset(param, 0, sizeof *param);
        param->size = sizeof *param;
        param->key = row->key;
        param->dtype = row->dtype;
        param->rank = row->rank;
        param->count = 1;
        for (uint32_t axis = 0; axis < row->rank; axis++) {
            param->dims[axis] = row->dims[axis];
            param->count *= row->dims[axis];
        }
        param->data = (tlm_lives_in_weights(row->kind) ? weights : state) + row->offset;
        if (row->gradient != TLM_NO_OFFSET)
            param->gradient = (const float *)(const void *)(activations + row->gradient);
        param->kind = row->kind;
        param->trainable = row->trainable;
    }
}

/* Element i of a random initialiser: counters of docs/numerics.md, binary64, not yet rounded. */
TLM_INLINE double tlm_init_draw(const tlm_param_row *row, uint64_t key, uint64_t i)
{
    double u1, u2;

    if (row->init == TLM_INIT_UNIFORM)
        return row->a + tlm_random_u32(key, i) / 4294967296.0 * (row->b - row->a);
    u1 = (tlm_random_u32(key, 2 * i) + 1.0) / 4294967297.0;
    u2 = tlm_random_u32(key, 2 * i + 1) / 4294967296.0;
    return row->a + row->b * (sqrt(-2.0 * tlm_log64(u1)) * tlm_cos64(6.283185307179586 * u2));
}

__attribute__((unused)) static inline void tlm_init_param(const tlm_param *param,
                                                          const tlm_param_row *row, uint64_t seed)
{
    const uint64_t stream = tlm_splitmix64(seed + row->ordinal + UINT64_C(0x9e3779b97f4a7c15));
    const uint64_t key = tlm_splitmix64(stream);
    float *f32 = (float *)param->data;
    int32_t *i32 = (int32_t *)param->data;
    uint8_t *u8 = (uint8_t *)param->data;

    if (row->init == TLM_INIT_TABLE) {
        memcpy(param->data, row->table, param->count * tlm_dtype_size(row->dtype));
        return;
    }
    for (size_t i = 0; i < param->count; i++) {
        double value = row->a;

        if (row->init == TLM_INIT_NONE)
            value = (double)NAN;
        else if (row->init != TLM_INIT_CONSTANT)
            value = tlm_init_draw(row, key, i);
        if (row->dtype == TLM_F32)
            f32[i] = (float)value;
        else if (row->dtype == TLM_I32)
            i32[i] = row->init == TLM_INIT_NONE ? 0 : (int32_t)value;
        else
            u8[i] = row->init != TLM_INIT_NONE && value != 0;
    }
}

/* Initial values of all parameters whose kind is in `kinds` (bits 1 << kind). */
__attribute__((unused)) static inline void tlm_init_params(const tlm_param *params,
                                                           const tlm_param_row *rows, size_t count,
                                                           unsigned kinds, uint64_t seed)
{
    for (size_t i = 0; i < count; i++)
        if (kinds >> rows[i].kind & 1)
            tlm_init_param(&params[i], &rows[i], seed);
}

enum {
    TLM_KINDS_WEIGHTS = 1 << TLM_PARAM_TRAINED | 1 << TLM_PARAM_STATE,
    TLM_KINDS_TRANSIENT = 1 << TLM_PARAM_TRANSIENT,
    TLM_KINDS_STATE =
        1 << TLM_PARAM_TRANSIENT | 1 << TLM_PARAM_OPTIMIZER | 1 << TLM_PARAM_ACCUMULATOR,
    TLM_KINDS_ALL = TLM_KINDS_WEIGHTS | TLM_KINDS_STATE
};

/* ---- tensors in a block */
TLM_INLINE float *tlm_f32_at(unsigned char *block, size_t offset)
{
    return (float *)(void *)(block + offset);
}

TLM_INLINE int32_t *tlm_i32_at(unsigned char *block, size_t offset)
{
    return (int32_t *)(void *)(block + offset);
}

TLM_INLINE uint8_t *tlm_bool_at(unsigned char *block, size_t offset)
{
    return block + offset;
}

#endif
