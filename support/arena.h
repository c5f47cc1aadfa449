/* Bump allocation.  One arena lives as long as a compilation, scratch arenas are reset after each
   pass; nothing is freed singly.  Memory comes zeroed and aligned for any type.  Running out is
   fatal (exit 2). */
#ifndef TLMC_SUPPORT_ARENA_H
#define TLMC_SUPPORT_ARENA_H

#include "bug.h"

#include <stdarg.h>
#include <stddef.h>

struct tlmc_arena {
    struct tlmc_arena_block *head;
    size_t bytes; /* handed out since the last reset, for statistics */
};

void *tlmc_arena_alloc(struct tlmc_arena *arena, size_t bytes);
/* count * size bytes; an overflowing product is an internal error: callers bound their counts
   first. */
void *tlmc_arena_array(struct tlmc_arena *arena, size_t count, size_t size);
char *tlmc_arena_strndup(struct tlmc_arena *arena, const char *text, size_t length);
char *tlmc_arena_strdup(struct tlmc_arena *arena, const char *text);
char *tlmc_arena_printf(struct tlmc_arena *arena, const char *fmt, ...) TLMC_PRINTF(2, 3);
char *tlmc_arena_vprintf(struct tlmc_arena *arena, const char *fmt, va_list ap);
void *tlmc_arena_memdup(struct tlmc_arena *arena, const void *data, size_t bytes);
void tlmc_arena_free(struct tlmc_arena *arena);

#define TLMC_NEW(arena, type) ((type *)tlmc_arena_alloc((arena), sizeof(type)))
#define TLMC_NEW_ARRAY(arena, type, count) \
    ((type *)tlmc_arena_array((arena), (count), sizeof(type)))

#endif
