/* An interpreter for the PTX that NVRTC and nvcc emit for the kernels of this project, and a reader
   that finds impure arithmetic in it.  For tests: bits are those of a device, time is not.

   In: PTX text, a kernel's name, grid, block and argument pointers, as for cudaLaunchKernelExC.
   Out: what the kernel stores, or an error text that names the line, block and thread.  Refuses
   what it does not model by name ("ptx: line 12: unknown instruction 'wgmma...'"), at load; out of
   bounds and misaligned accesses, divergent barriers, shuffles from absent lanes and endless loops
   at run time.  Not modelled: memory order between blocks, waiting for another block, textures,
   tensor cores, asynchronous copies, half precision.  Of two threads that race, one schedule shows
   one order: run several. */
#ifndef TLM_PTX_H
#define TLM_PTX_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PTX_ERROR_BYTES = 512 };

typedef struct ptx_module ptx_module;
typedef struct ptx_kernel ptx_kernel;

/* `text` need not end with 0.  NULL and a text in error (PTX_ERROR_BYTES) when it does not parse.
   Constant arrays of the module live in it. */
ptx_module *ptx_load(const char *text, size_t bytes, char *error);
void ptx_free(ptx_module *module);

uint32_t ptx_target(const ptx_module *module); /* of .target: 75, 80, ... */
uint32_t ptx_kernel_count(const ptx_module *module);
const ptx_kernel *ptx_kernel_at(const ptx_module *module, uint32_t i);
const ptx_kernel *ptx_find(const ptx_module *module, const char *name); /* NULL: none */

/* Kernels belong to their module. */
const char *ptx_kernel_name(const ptx_kernel *kernel);
uint32_t ptx_param_count(const ptx_kernel *kernel);
size_t ptx_param_bytes(const ptx_kernel *kernel, uint32_t i);
size_t ptx_param_offset(const ptx_kernel *kernel, uint32_t i);
uint32_t ptx_max_threads(const ptx_kernel *kernel); /* of .maxntid; 1024 when it has none */
size_t ptx_shared_bytes(const ptx_kernel *kernel);  /* static */
size_t ptx_local_bytes(const ptx_kernel *kernel);   /* of a thread: arrays that are no registers */
/* The variable of this name: its address and size.  NULL: none. */
void *ptx_variable(const ptx_module *module, const char *name, size_t *bytes);

typedef enum ptx_order { PTX_IN_ORDER = 0, PTX_REVERSED = 1, PTX_RANDOM = 2 } ptx_order;

/* Do all bytes lie in one live allocation? */
typedef int ptx_holds(void *user, const void *start, size_t bytes);
/* A kernel has written these bytes. */
typedef void ptx_wrote(void *user, void *start, size_t bytes);

typedef struct ptx_launch {
    uint32_t grid[3], block[3];
    size_t shared_bytes;   /* dynamic */
    void *const *args;     /* one pointer a parameter */
    ptx_order order;       /* of blocks, warps and lanes */
    uint64_t seed;         /* of PTX_RANDOM */
    ptx_holds *holds;      /* NULL: global addresses are not checked */
    ptx_wrote *wrote;      /* or NULL */
    void *user;            /* of holds and wrote */
    uint64_t branch_limit; /* of a thread between two waits; 0: 2^32 */
    uint64_t executed;     /* out: instructions */
} ptx_launch;

/* 0, or 1 and a text in error (PTX_ERROR_BYTES). */
int ptx_run(const ptx_kernel *kernel, ptx_launch *launch, char *error);

/* Is the arithmetic of this PTX that of docs/numerics.md?  Finds float operations without a
   rounding of their own, .ftz, .approx, .full, min and max of floats, mad of floats, float atomics,
   libdevice calls and local memory.  Returns the number of findings, with one line for each in
   `report` (cut to `bytes`; NULL: none): "line 12: 'fma.rn.ftz.f32': flushes subnormals". */
uint32_t ptx_check(const char *text, size_t bytes, char *report, size_t report_bytes);

#ifdef __cplusplus
}
#endif
#endif
