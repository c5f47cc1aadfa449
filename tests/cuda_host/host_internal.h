/* What the parts of the shim use of each other: kernels of this executable or shared object, device
   memory, launches, reports.  The host versions of the CUDA runtime and of cuBLAS stand on it.

   All of it is hidden: each shared object has its own copy.  Device memory may be taken and given
   back by several host threads; launches wait for each other. */
#ifndef TLM_HOST_INTERNAL_H
#define TLM_HOST_INTERNAL_H

#include "host.h"

#include <cuda_runtime_api.h>

#include <stddef.h>
#include <stdint.h>

#define TLM_HOST_HIDDEN __attribute__((visibility("hidden")))

extern "C" {

/* ---- kernels: TLM_KERNEL registers them before main, or when the shared object is opened */

struct tlm_host_kernel {
    const char *name;
    void (*run)(const void *args); /* the body, as the current thread of the current block */
    size_t arg_bytes;              /* of the one struct it takes */
    unsigned max_threads;          /* __launch_bounds__ */
    const char *file;              /* where it stands */
    struct tlm_host_kernel *next;
};

TLM_HOST_HIDDEN void tlm_host_register(struct tlm_host_kernel *kernel);
TLM_HOST_HIDDEN const struct tlm_host_kernel *tlm_host_kernels(void); /* head of the list */
TLM_HOST_HIDDEN const struct tlm_host_kernel *tlm_host_find_kernel(const char *name); /* or NULL */

/* ---- device memory: addresses are multiples of 256 and never given out again; memory is filled
   with 0xff (NaN) when allocated and out of reach when freed.  Between allocations lie gaps.

   TLM_HOST_GUARD=1 in the environment: host code that touches device memory is stopped. */

TLM_HOST_HIDDEN void *tlm_host_alloc(size_t bytes); /* NULL: out of memory; 0 bytes: as 1 */
TLM_HOST_HIDDEN int tlm_host_free(void *start);     /* 0: not the start of a live allocation */
/* Do all bytes lie in one live allocation? */
TLM_HOST_HIDDEN int tlm_host_is_device(const void *start, size_t bytes);
/* Is it an address that device memory could have, live or not? */
TLM_HOST_HIDDEN int tlm_host_in_arena(const void *address);
/* A fill or a copy from the host wrote these bytes. */
TLM_HOST_HIDDEN void tlm_host_mark_initialised(void *start, size_t bytes);
/* A copy within the device: bytes never written stay so. */
TLM_HOST_HIDDEN void tlm_host_mark_copied(void *to, const void *from, size_t bytes);
/* How many of the bytes were never written; 0 in layers other than checked. */
TLM_HOST_HIDDEN size_t tlm_host_never_written(const void *start, size_t bytes);
TLM_HOST_HIDDEN size_t tlm_host_live_bytes(void);
TLM_HOST_HIDDEN size_t tlm_host_memory_bytes(void); /* of the device */
/* Host code may not touch device memory except between these two (they nest): copies and fills of
   the CUDA runtime, host versions of library calls.  Launches open it themselves. */
TLM_HOST_HIDDEN void tlm_host_memory_open(void);
TLM_HOST_HIDDEN void tlm_host_memory_close(void);

/* ---- launches */

/* What a launch returns at once: cudaSuccess, cudaErrorInvalidConfiguration (shape of grid or
   block), cudaErrorInvalidValue (shared memory, size of the arguments), and
   cudaErrorLaunchOutOfResources (more threads than the kernel's launch bounds).  Nothing is
   reported: callers check for errors. */
TLM_HOST_HIDDEN cudaError_t tlm_host_check_launch(dim3 grid, dim3 block, size_t shared_bytes,
                                                  size_t arg_bytes, unsigned max_threads);

/* Runs all blocks, on a copy of the arguments.  cudaErrorLaunchFailure after a deadlock, a trap or
   too much static shared memory: later calls of the runtime must then fail too. */
TLM_HOST_HIDDEN cudaError_t tlm_host_run(const char *name, void (*run)(const void *args),
                                         const void *args, size_t arg_bytes, dim3 grid, dim3 block,
                                         size_t shared_bytes);

/* ---- reports */

/* `site` is "file:line" or what stands for it, e.g. the name of a call of the runtime. */
TLM_HOST_HIDDEN void tlm_host_report(tlm_host_kind kind, const char *site, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

} /* extern "C" */

#endif
