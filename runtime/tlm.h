/* tlm.h: what a compiled model needs and gives.  Included by every emitted NAME.h; C11 and C++17.

   Memory belongs to the caller.  A model takes three blocks at creation (or one tlm_arena_new from
   libtlm); after NAME_create nothing allocates.  One model is used by one thread at a time;
   different models in different threads. Every fallible call returns a tlm_status; the message is
   kept in the model (NAME_error), create's goes to options.error_text.  Public structs begin with
   `uint32_t size`, set by the TLM_..._INIT macros. */
#ifndef TLM_H
#define TLM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Status values, listed once and frozen: TLM_STATUS(name, value, "text"). */
#define TLM_STATUS_LIST(X)                                                                     \
    X(TLM_OK, 0, "done")                                                                       \
    X(TLM_ERR_ARGUMENT, 1, "an argument is missing or out of range")                           \
    X(TLM_ERR_ABI, 2, "header and object file of the model differ")                            \
    X(TLM_ERR_MEMORY, 3, "a memory block is missing, too small or misaligned")                 \
    X(TLM_ERR_ARITHMETIC, 4, "the processor's floating-point environment breaks the contract") \
    X(TLM_ERR_CPU, 5, "the processor lacks the instruction set asked for")                     \
    X(TLM_ERR_INDEX, 6, "an index is out of range")                                            \
    X(TLM_ERR_IO, 7, "a file cannot be read or written")                                       \
    X(TLM_ERR_FORMAT, 8, "a file is malformed")                                                \
    X(TLM_ERR_MISMATCH, 9, "a file does not fit the model")                                    \
    X(TLM_ERR_UNINITIALISED, 10, "a parameter has neither initialiser nor loaded value")       \
    X(TLM_ERR_STATE, 11, "a call in the wrong order")                                          \
    X(TLM_ERR_DEVICE, 12, "the device is not available")

typedef enum tlm_status {
#define TLM_STATUS_ENUM(name, value, text) name = value,
    TLM_STATUS_LIST(TLM_STATUS_ENUM)
#undef TLM_STATUS_ENUM
} tlm_status;

typedef enum tlm_dtype {
    TLM_F32 = 0,
    TLM_I32 = 1,
    TLM_BOOL = 2,
    TLM_F64 = 3,
    TLM_F16 = 4,
    TLM_BF16 = 5
} tlm_dtype;
typedef enum tlm_cpu {
    TLM_CPU_AUTO = 0,
    TLM_CPU_BASE = 1,
    TLM_CPU_AVX2 = 2,
    TLM_CPU_AVX512 = 3
} tlm_cpu;

enum { TLM_ALIGN = 64, TLM_MAX_RANK = 8, TLM_ERROR_BYTES = 256, TLM_MAX_THREADS = 1024 };

/* Runs fn(context, begin, end) over disjoint ranges that cover [0, count), in any order and
   number. */
typedef void tlm_range_fn(void *context, size_t begin, size_t end);
typedef void tlm_parallel_fn(void *user, size_t count, size_t grain, tlm_range_fn *fn,
                             void *context);
typedef void tlm_log_fn(void *user, const char *message);

typedef struct tlm_options {
    uint32_t size; /* sizeof(tlm_options) */
    uint32_t abi;  /* NAME_ABI */
    void *weights, *state,
        *activations; /* NAME_WEIGHTS_BYTES, NAME_STATE_BYTES, NAME_ACTIVATIONS_BYTES; TLM_ALIGN */
    size_t weights_bytes, state_bytes, activations_bytes;
    uint64_t seed;
    uint32_t threads;      /* 0: as many as OpenMP would use; without OpenMP 1 */
    tlm_cpu cpu;           /* AUTO: the best this processor has */
    uint32_t keep_weights; /* not 0: the weights block holds values already (shared or mapped); do
                              not initialise */
    tlm_parallel_fn *parallel; /* NULL: OpenMP, or the calling thread */
    void *parallel_user;
    tlm_log_fn *log; /* warnings; NULL: dropped */
    void *log_user;
    char *error_text;  /* TLM_ERROR_BYTES for create's message; NULL: dropped */
    uint32_t no_graph; /* CUDA: not 0 launches kernels one by one instead of as captured graphs */
} tlm_options;

#define TLM_OPTIONS_INIT                                                                      \
    {                                                                                         \
        sizeof(tlm_options), 0, NULL, NULL, NULL, 0, 0, 0, 0, 0, TLM_CPU_AUTO, 0, NULL, NULL, \
            NULL, NULL, NULL, 0                                                               \
    }

typedef enum tlm_param_kind {
    TLM_PARAM_TRAINED = 0,
    TLM_PARAM_STATE = 1,
    TLM_PARAM_TRANSIENT = 2,
    TLM_PARAM_OPTIMIZER = 3,
    TLM_PARAM_ACCUMULATOR = 4
} tlm_param_kind;

/* One parameter, state or optimizer state of a model: the table NAME_params returns. */
typedef struct tlm_param {
    uint32_t size;
    const char *key; /* checkpoint key, "fc1.weight" */
    tlm_dtype dtype;
    uint32_t rank;
    uint32_t dims[TLM_MAX_RANK];
    size_t count;          /* elements */
    void *data;            /* in the weights or state block */
    const float *gradient; /* of the last NAME_train_backward, not of a _batch; NULL: not trained */
    tlm_param_kind kind;
    uint32_t trainable; /* 0: frozen or not a parameter */
} tlm_param;

const char *tlm_status_text(tlm_status status);

/* ---- libtlm: what needs malloc, files or stdio.  Emitted models do not need it. */

/* One block with three aligned parts, filled into options; free with tlm_arena_free(options). */
tlm_status tlm_arena_new(tlm_options *options, size_t weights_bytes, size_t state_bytes,
                         size_t activations_bytes);
void tlm_arena_free(tlm_options *options);

/* Foreign keys: each pattern has '*' (any run, dots too) and '?' (one character). */
typedef struct tlm_mapping {
    uint32_t size;
    const char *const *rename_from, *const *rename_to;
    uint32_t rename_count;
    const char *const *ignore;
    uint32_t ignore_count;
    const char *const *only;
    uint32_t only_count;
} tlm_mapping;

/* The numbers of a run that a checkpoint keeps besides tensors. */
typedef struct tlm_run_state {
    uint32_t size;
    uint64_t step, seed, epoch, position; /* optimizer steps done; next row in the epoch's order */
    uint32_t power_count; /* running products beta^t, in the order of the model's table */
    double powers[16];
    uint64_t planned; /* steps of the whole run: what schedules spread over */
} tlm_run_state;

/* safetensors.  load: every parameter and saved state must be there (after mapping, NULL: own keys)
   with its shape; F16 and BF16 widen with a notice to log; any other difference is refused by name,
   and nothing is written to the model unless everything fits.  run NULL: inference, "tlm." entries
   are ignored; else optimizer state and run state must be there too.  save: atomic replace
   (temporary file beside it, fsync, rename). */
tlm_status tlm_load(const tlm_param *params, size_t count, const char *path,
                    const tlm_mapping *mapping, tlm_run_state *run, tlm_log_fn *log, void *log_user,
                    char *error);
tlm_status tlm_save(const tlm_param *params, size_t count, const char *path,
                    const tlm_run_state *run, char *error);

#ifdef __cplusplus
}
#endif
#endif
