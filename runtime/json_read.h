/* A strict JSON reader for small trusted-by-nobody headers: no tree, no allocation, no recursion.

   The caller walks the text it expects; the first thing that is not there sets `problem`, after
   which every call returns false.  Refused: bad UTF-8, control characters, escapes of NUL, strings
   longer than the caller's buffer, nesting above TLM_JSON_DEPTH, numbers that are not plain
   unsigned integers of 64 bits. */
#ifndef TLM_JSON_READ_H
#define TLM_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TLM_JSON_DEPTH = 8 };

struct tlm_json {
    const char *text;
    size_t size, at;
    const char *problem; /* NULL: none yet */
    unsigned depth;
    char closers[TLM_JSON_DEPTH]; /* '}' or ']' of the containers that are open */
    bool started[TLM_JSON_DEPTH]; /* an element was read in it */
};

void tlm_json_start(struct tlm_json *json, const char *text, size_t size);

/* Reads an opening '{' or '['.  Then tlm_json_next says whether one more element follows (having
   read its comma), and reads the closing bracket when none does. */
bool tlm_json_enter(struct tlm_json *json, char bracket);
bool tlm_json_next(struct tlm_json *json);

/* A string, decoded to UTF-8 with a zero behind it; `key` also reads the colon. */
bool tlm_json_string(struct tlm_json *json, char *out, size_t capacity);
bool tlm_json_key(struct tlm_json *json, char *out, size_t capacity);
bool tlm_json_u64(struct tlm_json *json, uint64_t *out);

/* Nothing but white space follows, and every container is closed. */
bool tlm_json_end(struct tlm_json *json);

#endif
