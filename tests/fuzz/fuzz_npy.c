/* Any bytes as a .npy file: whatever is accepted has its elements within the file. */
#include "alloc.h"
#include "npy.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char error[TLM_ERROR_BYTES];
    struct tlm_npy npy;

    if (tlm_npy_parse(data, size, "fuzz.npy", &npy, error) == TLM_OK) {
        const size_t bytes = npy.count * tlm_dtype_bytes((int)npy.dtype);

        if (npy.data < data || bytes > size || (size_t)(npy.data - data) != size - bytes ||
            npy.rank > TLM_MAX_RANK)
            abort();
    } else if (memchr(error, 0, sizeof error) == NULL || strncmp(error, "fuzz.npy:", 9) != 0) {
        abort();
    }
    return 0;
}
