/* Reading a cubin: an ELF file that says of each kernel how many registers, how much stack and
   shared memory it takes, and where its parameters lie.  In: bytes that nobody has checked.  Out:
   a row a kernel.  Refuses what is not a cubin, and every offset, size or index that leads outside
   of the bytes. */
#ifndef TLMC_DRIVER_CUBIN_H
#define TLMC_DRIVER_CUBIN_H

#include "arena.h"

#include <stdbool.h>
#include <stdint.h>

struct tlmc_cubin_kernel {
    const char *name;
    uint32_t registers; /* of a thread */
    uint32_t stack;     /* bytes of a thread: the larger of frame and minimum; spills lie there */
    uint32_t shared;    /* static bytes of a block, as the source declares them */
    uint32_t code;      /* bytes */
    uint32_t param_count, param_bytes;
    uint32_t param_offset, param_size; /* of the first parameter */
};

struct tlmc_cubin {
    uint32_t arch; /* 80, 90, ... */
    struct tlmc_cubin_kernel *kernels;
    unsigned kernel_count;
};

/* Names and rows are the arena's.  False: `why` says what is wrong. */
bool tlmc_cubin_read(const void *data, size_t size, struct tlmc_arena *arena,
                     struct tlmc_cubin *cubin, const char **why);
/* NULL: no kernel of that name. */
const struct tlmc_cubin_kernel *tlmc_cubin_find(const struct tlmc_cubin *cubin, const char *name);

#endif
