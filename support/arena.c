/* A list of zeroed blocks, the youngest first, which serves until it is full; a request larger than
   a block gets one of its own. */
#include "arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tlmc_arena_block {
    struct tlmc_arena_block *next;
    size_t used, capacity;
    max_align_t data[];
};

enum { BLOCK_BYTES = 1 << 16 };

static size_t round_up(size_t bytes)
{
    const size_t align = sizeof(max_align_t);

    if (bytes > SIZE_MAX / 2)
        tlmc_out_of_memory();
    return (bytes + align - 1) / align * align;
}

void *tlmc_arena_alloc(struct tlmc_arena *arena, size_t bytes)
{
    struct tlmc_arena_block *block = arena->head;
    char *out;

    bytes = round_up(bytes ? bytes : 1);
    if (!block || block->capacity - block->used < bytes) {
        const size_t capacity = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;

        block = calloc(1, sizeof *block + capacity);
        if (!block)
            tlmc_out_of_memory();
        block->capacity = capacity;
        block->next = arena->head;
        arena->head = block;
    }
    out = (char *)block->data + block->used;
    block->used += bytes;
    arena->bytes += bytes;
    return out;
}

void *tlmc_arena_array(struct tlmc_arena *arena, size_t count, size_t size)
{
    TLMC_CHECK(size == 0 || count <= SIZE_MAX / size);
    return tlmc_arena_alloc(arena, count * size);
}

char *tlmc_arena_strndup(struct tlmc_arena *arena, const char *text, size_t length)
{
    char *out = tlmc_arena_alloc(arena, length + 1);

    if (length)
        memcpy(out, text, length);
    return out;
}

char *tlmc_arena_strdup(struct tlmc_arena *arena, const char *text)
{
    return tlmc_arena_strndup(arena, text, strlen(text));
}

char *tlmc_arena_vprintf(struct tlmc_arena *arena, const char *fmt, va_list ap)
{
    char text[256]; /* holds nearly everything */
    char *out;
    va_list again;
    int n;

    va_copy(again, ap);
    n = vsnprintf(text, sizeof text, fmt, ap);
    TLMC_CHECK(n >= 0);
    out = tlmc_arena_alloc(arena, (size_t)n + 1);
    if ((size_t)n < sizeof text)
        memcpy(out, text, (size_t)n);
    else
        vsnprintf(out, (size_t)n + 1, fmt, again);
    va_end(again);
    return out;
}

char *tlmc_arena_printf(struct tlmc_arena *arena, const char *fmt, ...)
{
    va_list ap;
    char *out;

    va_start(ap, fmt);
    out = tlmc_arena_vprintf(arena, fmt, ap);
    va_end(ap);
    return out;
}

void *tlmc_arena_memdup(struct tlmc_arena *arena, const void *data, size_t bytes)
{
    void *out = tlmc_arena_alloc(arena, bytes);

    if (bytes)
        memcpy(out, data, bytes);
    return out;
}

void tlmc_arena_free(struct tlmc_arena *arena)
{
    struct tlmc_arena_block *block = arena->head, *next;

    for (; block; block = next) {
        next = block->next;
        free(block);
    }
    arena->head = NULL;
    arena->bytes = 0;
}
