/* Memory of the runtime library: zeroed arrays with checked sizes.  Emitted models never come
   here. */
#ifndef TLM_ALLOC_H
#define TLM_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

/* `count` zeroed elements of `size` bytes, at least one byte; NULL when the product overflows or
   memory is short. */
void *tlm_alloc(size_t count, size_t size);

/* The array `old` of *capacity elements, made to hold `needed` (at least doubled); NULL on failure,
 *when `old` and capacity stay as they were. */
void *tlm_regrow(void *old, size_t *capacity, size_t needed, size_t size);

/* *out = a * b or a + b; false when it does not fit. */
bool tlm_size_mul(size_t a, size_t b, size_t *out);
bool tlm_size_add(size_t a, size_t b, size_t *out);

/* Bytes of one element; 0 for a value that is no dtype.  A tlm_dtype is passed as int. */
size_t tlm_dtype_bytes(int dtype);
const char *tlm_dtype_name(int dtype);

#endif
