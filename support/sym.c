/* Open addressing with linear probing, at most half full; nothing is ever removed. */
#include "sym.h"

#include "hash.h"

#include <string.h>

void tlmc_symtab_init(struct tlmc_symtab *table, struct tlmc_arena *arena)
{
    *table = (struct tlmc_symtab){ .arena = arena };
}

static uint32_t hash(const char *text, size_t length)
{
    return (uint32_t)tlmc_hash(TLMC_HASH_BASIS, text, length);
}

static void grow(struct tlmc_symtab *table)
{
    const uint32_t old = table->capacity, capacity = old ? 2 * old : 256;
    tlmc_sym *slots = TLMC_NEW_ARRAY(table->arena, tlmc_sym, capacity);

    for (uint32_t i = 0; i < old; i++) {
        tlmc_sym s = table->slots[i];
        uint32_t at;

        if (!s)
            continue;
        at = hash(s, strlen(s)) & (capacity - 1);
        while (slots[at])
            at = (at + 1) & (capacity - 1);
        slots[at] = s;
    }
    table->slots = slots;
    table->capacity = capacity;
}

tlmc_sym tlmc_intern_n(struct tlmc_symtab *table, const char *text, size_t length)
{
    uint32_t at;

    if (2 * table->count >= table->capacity)
        grow(table);
    at = hash(text, length) & (table->capacity - 1);
    for (tlmc_sym s; (s = table->slots[at]); at = (at + 1) & (table->capacity - 1))
        if (strncmp(s, text, length) == 0 && s[length] == '\0')
            return s;
    table->count++;
    return table->slots[at] = tlmc_arena_strndup(table->arena, text, length);
}

tlmc_sym tlmc_intern(struct tlmc_symtab *table, const char *text)
{
    return tlmc_intern_n(table, text, strlen(text));
}
