/* Checked arrays on malloc, and the sizes of element types. */
#include "alloc.h"
#include "tlm.h"

#include <stdint.h>
#include <stdlib.h>

bool tlm_size_mul(size_t a, size_t b, size_t *out)
{
    if (a != 0 && b > SIZE_MAX / a)
        return false;
    *out = a * b;
    return true;
}

bool tlm_size_add(size_t a, size_t b, size_t *out)
{
    if (b > SIZE_MAX - a)
        return false;
    *out = a + b;
    return true;
}

void *tlm_alloc(size_t count, size_t size)
{
    if (count == 0 || size == 0)
        return calloc(1, 1);
    return calloc(count, size);
}

void *tlm_regrow(void *old, size_t *capacity, size_t needed, size_t size)
{
    size_t wanted = *capacity < 16 ? 16 : *capacity;
    size_t bytes;
    void *grown;

    if (needed <= *capacity && old)
        return old;
    while (wanted < needed) {
        if (wanted > SIZE_MAX / 2)
            return NULL;
        wanted *= 2;
    }
    if (!tlm_size_mul(wanted, size, &bytes))
        return NULL;
    grown = realloc(old, bytes);
    if (grown)
        *capacity = wanted;
    return grown;
}

size_t tlm_dtype_bytes(int dtype)
{
    static const size_t alloc_bytes[] = {
        [TLM_F32] = 4, [TLM_I32] = 4, [TLM_BOOL] = 1, [TLM_F64] = 8, [TLM_F16] = 2, [TLM_BF16] = 2
    };
    const int count = (int)(sizeof alloc_bytes / sizeof alloc_bytes[0]);

    return dtype >= 0 && dtype < count ? alloc_bytes[dtype] : 0;
}

const char *tlm_dtype_name(int dtype)
{
    static const char *const alloc_names[] = {
        [TLM_F32] = "f32", [TLM_I32] = "i32", [TLM_BOOL] = "bool",
        [TLM_F64] = "f64", [TLM_F16] = "f16", [TLM_BF16] = "bf16"
    };
    const int count = (int)(sizeof alloc_names / sizeof alloc_names[0]);

    return dtype >= 0 && dtype < count ? alloc_names[dtype] : "?";
}
