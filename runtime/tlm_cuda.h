/* What emitted CUDA programs use: the session of a model (device memory, one stream, kernels by
   number, a captured graph for each function), the state of the CUDA runtime, and the buffer
   runtime for hosts that manage device tensors themselves.  Plain C11 and C++17; needs no CUDA
   header.

   Implemented twice with the same functions: cuda_session.c and cuda_buffer.c over the CUDA
   runtime, cuda_stub.c for builds without CUDA, where every request is refused by name.
   docs/cuda.md explains sessions, buffers and the environment variables. */
#ifndef TLM_CUDA_H
#define TLM_CUDA_H

#include "tlm.h"
#include "tlm_check.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the state of the runtime */

typedef enum tlm_cuda_state {
    TLM_CUDA_STUB = 0,     /* this build has no CUDA */
    TLM_CUDA_NATIVE = 1,   /* native build, a device can be used */
    TLM_CUDA_NO_DEVICE = 2 /* native build without a usable device: tlm_cuda_runtime_cause */
} tlm_cuda_state;

typedef enum tlm_cuda_cause {
    TLM_CUDA_CAUSE_NONE = 0,
    TLM_CUDA_CAUSE_STUB_BUILD = 1,
    TLM_CUDA_CAUSE_NO_DRIVER = 2,
    TLM_CUDA_CAUSE_DRIVER_TOO_OLD = 3,
    TLM_CUDA_CAUSE_STUB_LIBRARY = 4, /* the toolkit's stub of libcuda is first on the path */
    TLM_CUDA_CAUSE_NO_VISIBLE_DEVICE = 5,
    TLM_CUDA_CAUSE_DRIVER_FAILED = 6
} tlm_cuda_cause;

/* Asks the runtime, each time anew. */
tlm_cuda_state tlm_cuda_runtime_status(void);
/* Why the state is what it is; `text` (TLM_ERROR_BYTES, or NULL) takes what it means and what to
   do. */
tlm_cuda_cause tlm_cuda_runtime_cause(char *text);

/* ---- deterministic reductions: TLM_CUDA_DETERMINISTIC_REDUCTIONS (unset, empty or "0": off;
   anything else: on), or this call.  A program whose plan has implementation-defined reductions is
   refused at create while the switch is on.  Returns the setting that holds afterwards: 0 in a stub
   build. */
int tlm_cuda_set_deterministic_reductions(int on);
int tlm_cuda_get_deterministic_reductions(void);

/* ---- guards of the uint32 ABI: every path that takes run-time sizes */

/* rank <= TLM_MAX_RANK, every axis and the product fit uint32: TLM_OK and the product in *count. */
tlm_status tlm_cuda_check_shape(uint32_t rank, const uint64_t *dims, uint32_t *count);
/* The spatial axes alone (from `first` on): an axis of 0 elsewhere hides nothing. */
tlm_status tlm_cuda_check_spatial(uint32_t rank, const uint64_t *dims, uint32_t first);

/* ---- raw buffers: flat device memory, with a cache of released blocks
   A released block of exactly the same size is reused once its event has passed.
   TLM_CUDA_CACHE_CAP_BYTES (decimal; 0 or unset: unbounded; malformed or overflowing: a warning on
   stderr, ignored) bounds the cache and is read once; a block that would exceed it waits for its
   event and is freed.  Thread-safe. */
typedef struct tlm_cuda_buffer tlm_cuda_buffer;

tlm_status tlm_cuda_buffer_new(tlm_cuda_buffer **out, uint64_t bytes, char *error);
/* NULL and a buffer already released are TLM_ERR_ARGUMENT. */
tlm_status tlm_cuda_buffer_release(tlm_cuda_buffer *buffer, char *error);
uint64_t tlm_cuda_buffer_bytes(const tlm_cuda_buffer *buffer); /* 0: not a live buffer */
void *tlm_cuda_buffer_address(tlm_cuda_buffer *buffer);        /* device; NULL: not a live buffer */
/* Is this a live buffer of exactly the elements of the shape?  TLM_ERR_ARGUMENT or
   TLM_ERR_MISMATCH with a message when not. */
tlm_status tlm_cuda_buffer_validate(const tlm_cuda_buffer *buffer, tlm_dtype dtype, uint32_t rank,
                                    const uint64_t *dims, char *error);
tlm_status tlm_cuda_buffer_upload(tlm_cuda_buffer *buffer, uint64_t offset, const void *from,
                                  uint64_t bytes, char *error);
tlm_status tlm_cuda_buffer_download(const tlm_cuda_buffer *buffer, uint64_t offset, void *to,
                                    uint64_t bytes, char *error);
/* Frees every cached block. */
tlm_status tlm_cuda_empty_cache(char *error);

enum { TLM_CUDA_STATS_BYTES = 512 };

typedef struct tlm_cuda_stats {
    uint32_t size;
    uint64_t live_bytes, peak_bytes;       /* of buffers that are held */
    uint64_t cache_bytes, cache_cap_bytes; /* released blocks; 0: unbounded */
    uint64_t alloc_count, free_count;      /* cudaMalloc and cudaFree */
    uint64_t wrappers_live, wrappers_peak, wrappers_alloc, wrappers_finalized;
    uint64_t device_free_bytes, device_total_bytes; /* cudaMemGetInfo */
} tlm_cuda_stats;

/* Zeros in a stub build. */
void tlm_cuda_get_stats(tlm_cuda_stats *stats);
/* "live=1.5MiB peak=... cache=... cache_cap=... allocs=2 frees=1 wrappers_live=1 wrappers_peak=1
   wrappers_alloc=2 wrappers_finalized=1 cuda_free=...MiB cuda_total=...MiB"; text has
   TLM_CUDA_STATS_BYTES; returns text. */
char *tlm_cuda_format_stats(const tlm_cuda_stats *stats, char *text);
/* Two lines for a run's report, TLM_REPORT_BYTES: "cuda: deterministic_reductions=off" and "cuda: "
   with the stats. */
void tlm_cuda_report(char *text);

/* ---- the session of an emitted model */

typedef enum tlm_cuda_image_kind {
    TLM_CUDA_IMAGE_CUBIN = 0, /* for devices of the same major version and at least this minor */
    TLM_CUDA_IMAGE_PTX = 1,   /* compiled by the driver, for devices of at least this version */
    TLM_CUDA_IMAGE_ANY = 2    /* a fatbin: the driver chooses */
} tlm_cuda_image_kind;

typedef struct tlm_cuda_image {
    tlm_cuda_image_kind kind;
    uint32_t arch; /* 80, 90, ...: 10 * major + minor; ANY: the oldest that it has code for */
    const void *data;
    size_t bytes;
} tlm_cuda_image;

typedef struct tlm_cuda_kernel {
    const char *name;
    uint32_t threads;   /* of a block */
    uint32_t arg_bytes; /* of the one struct it takes */
} tlm_cuda_kernel;

typedef enum tlm_cuda_block {
    TLM_CUDA_ACTIVATIONS = 0,
    TLM_CUDA_WEIGHTS = 1,
    TLM_CUDA_STATE = 2,
    TLM_CUDA_TABLES = 3
} tlm_cuda_block;

/* A tensor that travels: `host` counts from the caller's activations block, `device` from the start
   of a block on the device. */
typedef struct tlm_cuda_span {
    size_t host, device, bytes;
    tlm_cuda_block block;
} tlm_cuda_span;

typedef struct tlm_cuda_table { /* constants: `device` counts from the tables on the device */
    const void *data;
    size_t device, bytes;
} tlm_cuda_table;

typedef struct tlm_cuda_form {
    const tlm_cuda_span *inputs, *outputs; /* outputs, losses, metrics */
    uint32_t input_count, output_count;
} tlm_cuda_form;

typedef struct tlm_cuda_check { /* of an index tensor; numbered by its place in the table */
    uint32_t limit;
    const char *tensor, *place;
} tlm_cuda_check;

/* The constants of one model. */
typedef struct tlm_cuda_needs {
    uint32_t size;
    const char *model;
    const tlm_cuda_image *images;
    const uint32_t *image_count;
    const tlm_cuda_kernel *kernels; /* the last one is the probe of the arithmetic */
    uint32_t kernel_count;
    size_t weights_bytes, state_bytes, state_begin; /* tensors of the state block begin there */
    size_t activations_bytes, tables_bytes;         /* on the device */
    const tlm_cuda_table *tables;
    uint32_t table_count;
    const tlm_cuda_form *forms;
    uint32_t form_count;
    const tlm_cuda_span *gradients; /* fetched when a backward pass was the last */
    uint32_t gradient_count;
    const tlm_cuda_check *checks;
    uint32_t check_count;
    uint32_t scalar_count;
    uint32_t phase_count;            /* numbers that tlm_cuda_run is called with */
    const char *undefined_reduction; /* a capsule whose reduction has no definition; NULL: none */
} tlm_cuda_needs;

struct tlm_cuda_session;

/* In the model struct.  Addresses are the device's: the host must not read through them. */
typedef struct tlm_cuda {
    struct tlm_cuda_session *session;
    unsigned char *weights, *state, *activations, *tables;
    float *scalars;  /* of the step */
    uint64_t *draws; /* seed, run */
    uint32_t *fault; /* 4 words: set, check, position, value of the first bad index */
} tlm_cuda;

/* Probes the runtime, takes device memory, loads the image for this device, finds the kernels, runs
   the arithmetic probe.  `weights`, `state`, `io` are the caller's blocks.  The first run uploads
   weights and state.  TLM_ERR_DEVICE with what to do when there is no usable device. */
tlm_status tlm_cuda_open(tlm_cuda *cuda, const tlm_cuda_needs *needs, const tlm_options *options,
                         unsigned char *weights, unsigned char *state, unsigned char *io);
void tlm_cuda_close(tlm_cuda *cuda); /* NULL session: nothing */

/* Puts a phase on the stream: copies seed, run and `scalars` to the staging memory, with `form`
   also its inputs (TLM_CUDA_NO_FORM: none), uploads weights and state if the host may have changed
   them, then enqueues: `enqueue(model)` directly, or captured once and launched as a graph from
   then on. Does not wait.  Errors of earlier work are reported here at the latest. */
typedef tlm_status tlm_cuda_enqueue(void *model);
enum { TLM_CUDA_NO_FORM = 0xffff };
tlm_status tlm_cuda_run(tlm_cuda *cuda, tlm_rt *rt, uint32_t phase, uint32_t form,
                        const float *scalars, tlm_cuda_enqueue *enqueue, void *model);
/* In an enqueue function.  upload: staging -> device, of the step's block and the form's inputs,
   the form that the run was given, before anything else; a later upload of TLM_CUDA_NO_FORM in the
   same run does nothing: the step's block is there.  download: device -> staging, of the fault and
   the form's outputs.  A captured upload is kept beside the graph and done anew before each launch
   of it, so that its staging memory is known to be free again. */
tlm_status tlm_cuda_upload(tlm_cuda *cuda, tlm_rt *rt, uint32_t form);
tlm_status tlm_cuda_download(tlm_cuda *cuda, tlm_rt *rt, uint32_t form);
/* 0 blocks: nothing is launched. */
tlm_status tlm_cuda_launch(tlm_cuda *cuda, tlm_rt *rt, uint32_t kernel, uint64_t blocks,
                           const void *args, const char *place);
tlm_status tlm_cuda_zero(tlm_cuda *cuda, tlm_rt *rt, void *to, size_t bytes, const char *place);
tlm_status tlm_cuda_copy(tlm_cuda *cuda, tlm_rt *rt, void *to, const void *from, size_t bytes,
                         const char *place);
void *tlm_cuda_stream(tlm_cuda *cuda); /* cudaStream_t, for users' kernels */

/* Waits for the stream, reports a fault of the device as the CPU would (TLM_ERR_INDEX with place,
   tensor, position and value), copies outputs from the staging memory into the io block. */
tlm_status tlm_cuda_wait(tlm_cuda *cuda, tlm_rt *rt);
/* The same, then weights, state and (with_gradients) gradients into the caller's blocks, if the
   device has newer ones.  The next run uploads them again: the caller may write. */
tlm_status tlm_cuda_fetch(tlm_cuda *cuda, tlm_rt *rt, int with_gradients);
/* The device has changed weights or state (updates, stores).  In an enqueue function: so does every
   run of its phase. */
void tlm_cuda_touched(tlm_cuda *cuda);

/* A launch of generated code: the remaining arguments fill the struct KERNEL_args. */
#define TLM_LAUNCH(m, kernel, blocks, place, ...)                                                  \
    do {                                                                                           \
        const struct kernel##_args tlm_args = { __VA_ARGS__ };                                     \
        TLM_TRY(                                                                                   \
            tlm_cuda_launch(&(m)->cuda, &(m)->rt, KERNEL_##kernel, (blocks), &tlm_args, (place))); \
    } while (0)

#ifdef __cplusplus
}
#endif
#endif
