/* The host CUDA runtime and cuBLAS of the tests: what a test can set and ask.  C11 and C++17.

   host_call.cpp, host_device.cpp, host_stream.cpp, host_graph.cpp, host_alloc.cpp, host_copy.cpp,
   host_library.cpp and host_cublas.cpp define the calls of libcudart and libcublas that emitted
   programs and runtime/cuda_*.c make, over host memory and the kernels of this process.  They are
   linked in place of the real libraries, from the same object files.

   Environment, for whole programs; the first five have functions for tests in one process:
     TLM_HOST_DEFER=SEED   work stays queued until something waits for it, and streams interleave at
                           random where events allow it; 0 or unset: work runs at the call
     TLM_HOST_FAIL=N       the N-th call that returns a status fails
     TLM_HOST_CUDA=STATE   no-driver, old-driver, stub-library, no-device, driver-failed
     TLM_HOST_CC=90        the compute capability of the device
     TLM_HOST_MEMORY=BYTES device memory, 8 GiB when unset
     TLM_HOST_GUARD=1      (of the shim) device memory is unreadable outside kernels, copies and
                           library calls
     TLM_HOST_LEAKS=1      lists what was not given back, on stderr as "cuda-host: leak: KIND: N",
                           and ends with exit status TLM_HOST_LEAK_EXIT
     TLM_HOST_CALLS=1      lists the calls made, on stderr as "cuda-host: calls: NAME N" */
#ifndef TLM_HOST_CUDART_H
#define TLM_HOST_CUDART_H

#include "host.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TLM_HOST_LEAK_EXIT = 87 };

/* Runs what is queued first.  0: eager. */
TLM_HOST_API void tlm_host_defer(uint64_t seed);
/* The n-th call from now fails once: cudaErrorMemoryAllocation for those that take memory,
   cudaErrorUnknown for the others.  A call that gives something back does so and then fails.  0:
   none. */
TLM_HOST_API void tlm_host_fail(uint64_t n);
/* Forgets the fault of the device that every call returns. */
TLM_HOST_API void tlm_host_forgive(void);
/* One of the states above; NULL: a working device. */
TLM_HOST_API void tlm_host_play(const char *state);
/* 10 * major + minor */
TLM_HOST_API void tlm_host_capability(int cc);
/* Bytes of device memory. */
TLM_HOST_API void tlm_host_set_memory(size_t bytes);

/* Calls of this name since the last reset; NULL: of all names. */
TLM_HOST_API uint64_t tlm_host_calls(const char *name);
TLM_HOST_API void tlm_host_calls_reset(void);

/* What is held now, of everything together: the number of allocations, streams, events, graphs,
   libraries and handles. `text` (capacity bytes, or NULL) takes a line for each kind that is not
   0. */
TLM_HOST_API size_t tlm_host_leaks(char *text, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif
