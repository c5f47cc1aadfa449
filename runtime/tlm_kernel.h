/* The call interface of a user's kernel (`abi call` in a capsule): one function,

       tlm_status my_softmax(const tlm_kernel_args *args);

   called once for each step that the plan gave to it, on the thread that runs the model.  Outputs
   are written whole, inputs are not changed (UPDATE ops: the first input is written, there are no
   outputs).  The kernel must not keep pointers.  A status other than TLM_OK ends the run; `error`
   takes a message.  C11 and C++17. */
#ifndef TLM_KERNEL_H
#define TLM_KERNEL_H

#include "tlm.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TLM_KERNEL_VERSION = 1, TLM_KERNEL_MAX_TENSORS = 16, TLM_KERNEL_MAX_ATTRS = 8 };

typedef struct tlm_kernel_tensor { /* row-major, contiguous */
    void *data;                    /* NULL: an optional operand left out */
    tlm_dtype dtype;
    uint32_t rank;
    uint32_t dims[TLM_MAX_RANK];
} tlm_kernel_tensor;

typedef struct tlm_kernel_attr {
    const char *name;    /* as in docs/ops.md: "axis" */
    int64_t i;           /* int, bool */
    double f;            /* float */
    const int64_t *ints; /* list */
    uint32_t count;      /* of ints */
} tlm_kernel_attr;

typedef struct tlm_kernel_args {
    uint32_t size, version; /* sizeof(tlm_kernel_args), TLM_KERNEL_VERSION */
    const char *op;         /* "softmax" */
    uint32_t output_count, input_count, attr_count;
    tlm_kernel_tensor outputs[TLM_KERNEL_MAX_TENSORS], inputs[TLM_KERNEL_MAX_TENSORS];
    tlm_kernel_attr attrs[TLM_KERNEL_MAX_ATTRS];
    uint32_t transpose_a,
        transpose_b; /* matmul: the operand is stored transposed (capsule accepts it) */
    void *workspace; /* as booked by the capsule's workspace rule; aligned to TLM_ALIGN */
    size_t workspace_bytes;
    void *stream;              /* CUDA stream; NULL on the cpu */
    uint64_t random_key;       /* of random ops: docs/numerics.md */
    uint32_t threads;          /* how many the caller allows */
    tlm_parallel_fn *parallel; /* NULL: none given */
    void *parallel_user;
    char *error; /* TLM_ERROR_BYTES */
} tlm_kernel_args;

typedef tlm_status tlm_kernel_fn(const tlm_kernel_args *args);

#ifdef __cplusplus
}
#endif
#endif
