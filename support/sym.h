/* Interned strings.  Two symbols are equal iff their pointers are equal; text lives as long as the
   table. */
#ifndef TLMC_SUPPORT_SYM_H
#define TLMC_SUPPORT_SYM_H

#include "arena.h"

#include <stdint.h>

typedef const char *tlmc_sym; /* NUL-terminated, unique per text; NULL is "no name" */

struct tlmc_symtab {
    struct tlmc_arena *arena;
    tlmc_sym *slots;
    uint32_t count, capacity; /* capacity is 0 or a power of two */
};

void tlmc_symtab_init(struct tlmc_symtab *table, struct tlmc_arena *arena);
tlmc_sym tlmc_intern(struct tlmc_symtab *table, const char *text);
tlmc_sym tlmc_intern_n(struct tlmc_symtab *table, const char *text, size_t length);

#endif
