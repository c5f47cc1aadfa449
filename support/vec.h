/* Growing arrays in an arena.  A vector is any struct with the members `items`, `count` and
   `capacity`:

       struct { uint32_t *items; uint32_t count, capacity; } ids = { 0 };
       TLMC_PUSH(arena, &ids, 7);

   Growth copies into new arena memory; pointers into `items` do not survive a push. */
#ifndef TLMC_SUPPORT_VEC_H
#define TLMC_SUPPORT_VEC_H

#include "arena.h"

#include <string.h>

#define TLMC_VEC(type)            \
    struct {                      \
        type *items;              \
        unsigned count, capacity; \
    }

#define TLMC_RESERVE(arena, vec)                                                        \
    do {                                                                                \
        if ((vec)->count == (vec)->capacity) {                                          \
            const unsigned tlmc_cap = (vec)->capacity ? 2 * (vec)->capacity : 8;        \
            void *tlmc_new = tlmc_arena_array((arena), tlmc_cap, sizeof *(vec)->items); \
            if ((vec)->count)                                                           \
                memcpy(tlmc_new, (vec)->items, (vec)->count * sizeof *(vec)->items);    \
            (vec)->items = tlmc_new;                                                    \
            (vec)->capacity = tlmc_cap;                                                 \
        }                                                                               \
    } while (0)

#define TLMC_PUSH(arena, vec, value)            \
    do {                                        \
        TLMC_RESERVE(arena, vec);               \
        (vec)->items[(vec)->count++] = (value); \
    } while (0)

#endif
