/* NumPy's .npy files (versions 1, 2, 3) with exact element types '<f4', '<i4' and '|b1', C order.
   Refused: any other dtype or order, rank above TLM_MAX_RANK, data that is shorter or longer than
   dtype and shape say, bools that are neither 0 nor 1. */
#ifndef TLM_NPY_H
#define TLM_NPY_H

#include "tlm.h"

struct tlm_npy {
    tlm_dtype dtype;
    uint32_t rank;
    uint64_t dims[TLM_MAX_RANK];
    size_t count;        /* elements */
    const uint8_t *data; /* in the caller's bytes; any alignment */
};

/* `path` is for messages; *out points into `bytes`. */
tlm_status tlm_npy_parse(const uint8_t *bytes, size_t size, const char *path, struct tlm_npy *out,
                         char *error);

/* "<f4" */
const char *tlm_npy_descr(tlm_dtype dtype);

/* Atomic replacement of `path` by the array; f32, i32 or bool. */
tlm_status tlm_npy_write(const char *path, tlm_dtype dtype, uint32_t rank, const uint64_t *dims,
                         const void *data, char *error);

#endif
