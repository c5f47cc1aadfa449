/* Any bytes as a CSV file: the first one chooses header and types, the rest is the text.  Whatever
   is accepted has as many values as it says. */
#include "csv.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t numbers[] = { 0, 2 };
    static const char *const names[] = { "a", "b" };
    static const tlm_dtype dtypes[] = { TLM_F32, TLM_I32, TLM_BOOL, TLM_F32 };
    const uint8_t choice = size > 0 ? data[0] : 0;
    const size_t length = size > 0 ? size - 1 : 0;
    const struct tlm_csv_want wants[] = {
        { "x", dtypes[choice >> 1 & 3], numbers, NULL, 1u + (choice >> 3 & 1) },
        { "y", dtypes[choice >> 4 & 3], choice >> 6 & 1 ? NULL : numbers, names, 1 },
    };
    struct tlm_csv_rows rows[2];
    char error[TLM_ERROR_BYTES];
    char *text = malloc(length + 1);
    size_t count;

    if (!text)
        return 0;
    if (length > 0)
        memcpy(text, data + 1, length);
    text[length] = 0;
    if (tlm_csv_read(text, length, "fuzz.csv", choice & 1, wants, 2, rows, &count, error) ==
        TLM_OK) {
        const size_t width = wants[0].dtype == TLM_BOOL ? 1 : 4;

        if (rows[0].bytes != count * width * wants[0].column_count)
            abort();
        tlm_csv_rows_free(rows, 2);
    } else if (memchr(error, 0, sizeof error) == NULL || strncmp(error, "fuzz.csv:", 9) != 0) {
        abort();
    }
    free(text);
    return 0;
}
