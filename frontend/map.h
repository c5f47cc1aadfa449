/* A small hash map from interned names to 32-bit numbers.  Memory: the arena's; entries are never
   removed. */
#ifndef TLMC_FRONTEND_MAP_H
#define TLMC_FRONTEND_MAP_H

#include "sym.h"

struct tlmc_map_slot {
    tlmc_sym key;
    uint32_t value;
};

struct tlmc_map {
    struct tlmc_map_slot *slots;
    uint32_t count, capacity; /* capacity is 0 or a power of two */
};

/* UINT32_MAX when the name is not there. */
uint32_t tlmc_map_get(const struct tlmc_map *map, tlmc_sym key);
void tlmc_map_put(struct tlmc_arena *arena, struct tlmc_map *map, tlmc_sym key, uint32_t value);

#endif
