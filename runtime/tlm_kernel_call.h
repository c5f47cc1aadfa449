/* What generated code needs to call a user's kernel (tlm_kernel.h): an args struct with the parts
   every call shares. */
#ifndef TLM_KERNEL_CALL_H
#define TLM_KERNEL_CALL_H

#include "tlm_kernel.h"
#include "tlm_rt.h"

TLM_INLINE tlm_kernel_args tlm_kernel_begin(tlm_rt *rt, const char *op, uint32_t output_count,
                                            uint32_t input_count, uint32_t attr_count)
{
    tlm_kernel_args args;

    memset(&args, 0, sizeof args);
    args.size = sizeof args;
    args.version = TLM_KERNEL_VERSION;
    args.op = op;
    args.output_count = output_count;
    args.input_count = input_count;
    args.attr_count = attr_count;
    args.threads = rt->threads;
    args.parallel = rt->parallel;
    args.parallel_user = rt->parallel_user;
    args.error = rt->error;
    return args;
}

/* Inputs travel in the same struct as outputs: the kernel's promise, not the type, keeps them
   unchanged. */
TLM_INLINE void *tlm_plain(const void *data)
{
    return (void *)(uintptr_t)data;
}

#endif
