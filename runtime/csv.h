/* CSV files (RFC 4180: quotes, doubled quotes, LF or CRLF) into columns of numbers.

   Only the columns asked for are read as numbers; every record must have as many fields as the
   first.  Refused, each at path:line:column: a quote inside a field without quotes, text behind a
   closing quote, a quote never closed, NUL bytes, a record of another length, text, "nan" or "inf"
   where a number is needed, a number outside the element type, a column that is not there. */
#ifndef TLM_CSV_H
#define TLM_CSV_H

#include "tlm.h"

/* The columns of one feed, side by side in a row of the result. */
struct tlm_csv_want {
    const char *name;                /* of the input, for messages */
    tlm_dtype dtype;                 /* F32, I32 or BOOL (0, 1, false, true) */
    const int64_t *columns;          /* by number from 0, or NULL: */
    const char *const *column_names; /* by name in the header */
    uint32_t column_count;
};

/* Rows of one want: column_count elements of its dtype each. */
struct tlm_csv_rows {
    uint8_t *values; /* owned: free() */
    size_t bytes, capacity;
};

/* `text` is the whole file, changed while it is read (quoted fields are put together in place).
   out[i] belongs to wants[i]; all are empty after a failure. */
tlm_status tlm_csv_read(char *text, size_t size, const char *path, int header,
                        const struct tlm_csv_want *wants, uint32_t want_count,
                        struct tlm_csv_rows *out, size_t *row_count, char *error);
void tlm_csv_rows_free(struct tlm_csv_rows *rows, uint32_t count);

/* A decimal number and nothing else, rounded once; 0: it is none, -1: outside the type. */
int tlm_parse_f32(const char *text, size_t length, float *out);
int tlm_parse_i32(const char *text, size_t length, int32_t *out);

#endif
