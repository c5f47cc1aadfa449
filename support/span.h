/* Source files and places in them.  A place is a file id with begin and end byte offsets; line and
   column are computed from a line map only when something is printed.  Columns count bytes from
   1. */
#ifndef TLMC_SUPPORT_SPAN_H
#define TLMC_SUPPORT_SPAN_H

#include "arena.h"

#include <stdbool.h>
#include <stdint.h>

struct tlmc_span {
    uint32_t file;       /* 0 = no place */
    uint32_t begin, end; /* byte offsets, end exclusive */
};

struct tlmc_source {
    const char *path; /* as shown to the user */
    const char *text; /* NUL-terminated copy; may hold NUL bytes before `length` */
    uint32_t length;
    bool library;    /* std: places in it are notes, never the primary place of an error */
    uint32_t *lines; /* offsets at which lines begin */
    uint32_t line_count;
};

struct tlmc_sources {
    struct tlmc_arena *arena;
    struct tlmc_source *items; /* items[0] is unused */
    unsigned count, capacity;
};

struct tlmc_line_place {
    uint32_t line, column; /* both from 1 */
    const char *line_text; /* the whole line, not terminated */
    uint32_t line_length;  /* without the newline */
    uint32_t caret_length; /* at least 1, not past the line's end + 1 */
};

void tlmc_sources_init(struct tlmc_sources *sources, struct tlmc_arena *arena);
/* Adds a file (path and text are copied) and returns its id, from 1. */
uint32_t tlmc_sources_add(struct tlmc_sources *sources, const char *path, const char *text,
                          uint32_t length, bool library);
const struct tlmc_source *tlmc_sources_get(const struct tlmc_sources *sources, uint32_t file);
struct tlmc_line_place tlmc_span_place(const struct tlmc_sources *sources, struct tlmc_span span);
/* From the begin of a to the end of b; both in one file. */
struct tlmc_span tlmc_span_join(struct tlmc_span a, struct tlmc_span b);

#endif
