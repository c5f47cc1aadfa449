/* safetensors files: the table of a file that is already in memory.  tlm_load and tlm_save are in
   checkpoint.c.

   Refused, each with its reason: a header above 100 MB or longer than the file, text that is not
   the header's JSON, a key twice, a dtype without a name here, rank above TLM_MAX_RANK, a size that
   does not follow from dtype and shape, and tensors that overlap, leave a hole or do not end with
   the file. */
#ifndef TLM_SAFETENSORS_H
#define TLM_SAFETENSORS_H

#include "tlm.h"

#include <stdbool.h>

enum { TLM_SAFETENSORS_HEADER_MOST = 100000000, TLM_SAFETENSORS_KEY_BYTES = 1024 };

/* Element types of the format: name, bytes of an element, tlm_dtype or -1 (known, of no use to a
   model). */
#define TLM_SAFETENSORS_DTYPES(X) \
    X(F32, 4, TLM_F32)            \
    X(I32, 4, TLM_I32)            \
    X(BOOL, 1, TLM_BOOL)          \
    X(F64, 8, TLM_F64)            \
    X(F16, 2, TLM_F16)            \
    X(BF16, 2, TLM_BF16)          \
    X(I64, 8, -1)                 \
    X(I16, 2, -1)                 \
    X(I8, 1, -1)                  \
    X(U64, 8, -1)                 \
    X(U32, 4, -1)                 \
    X(U16, 2, -1)                 \
    X(U8, 1, -1)                  \
    X(F8_E4M3, 1, -1)             \
    X(F8_E5M2, 1, -1)

enum tlm_safetensors_dtype {
#define TLM_SAFETENSORS_ENUM(name, bytes, dtype) TLM_ST_##name,
    TLM_SAFETENSORS_DTYPES(TLM_SAFETENSORS_ENUM)
#undef TLM_SAFETENSORS_ENUM
        TLM_ST_COUNT
};

struct tlm_tensor {
    char *key; /* owned by the table */
    enum tlm_safetensors_dtype dtype;
    uint32_t rank;
    uint64_t dims[TLM_MAX_RANK];
    size_t count;        /* elements */
    const uint8_t *data; /* in the file's bytes; any alignment */
    size_t size;
};

struct tlm_safetensors {
    struct tlm_tensor *tensors; /* sorted by key */
    size_t count;
};

/* `bytes` must outlive the table; `path` is for messages.  Free with tlm_safetensors_free, also
   after a failure. */
tlm_status tlm_safetensors_parse(const uint8_t *bytes, size_t size, const char *path,
                                 struct tlm_safetensors *out, char *error);
void tlm_safetensors_free(struct tlm_safetensors *table);
const struct tlm_tensor *tlm_safetensors_find(const struct tlm_safetensors *table, const char *key);

const char *tlm_safetensors_dtype_name(enum tlm_safetensors_dtype dtype);
size_t tlm_safetensors_dtype_bytes(enum tlm_safetensors_dtype dtype);
int tlm_safetensors_tlm_dtype(enum tlm_safetensors_dtype dtype); /* tlm_dtype, or -1 */

/* "[8, 2]" into `out`, cut to its size. */
void tlm_shape_text(uint32_t rank, const uint64_t *dims, char *out, size_t capacity);

#endif
