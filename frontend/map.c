/* Open addressing, linear probing; keys are pointers of the symbol table, so equality is one
   compare. */
#include "map.h"

static uint32_t hash_of(tlmc_sym key)
{
    const uint64_t x = (uint64_t)(uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15);

    return (uint32_t)(x >> 32);
}

static struct tlmc_map_slot *slot_of(const struct tlmc_map *map, tlmc_sym key)
{
    uint32_t at = hash_of(key) & (map->capacity - 1);

    while (map->slots[at].key && map->slots[at].key != key)
        at = (at + 1) & (map->capacity - 1);
    return &map->slots[at];
}

static void grow(struct tlmc_arena *arena, struct tlmc_map *map)
{
    const struct tlmc_map old = *map;

    map->capacity = old.capacity ? 2 * old.capacity : 8;
    map->slots = TLMC_NEW_ARRAY(arena, struct tlmc_map_slot, map->capacity);
    for (uint32_t i = 0; i < old.capacity; i++)
        if (old.slots[i].key)
            *slot_of(map, old.slots[i].key) = old.slots[i];
}

uint32_t tlmc_map_get(const struct tlmc_map *map, tlmc_sym key)
{
    const struct tlmc_map_slot *slot = map->capacity ? slot_of(map, key) : 0;

    return slot && slot->key ? slot->value : UINT32_MAX;
}

void tlmc_map_put(struct tlmc_arena *arena, struct tlmc_map *map, tlmc_sym key, uint32_t value)
{
    struct tlmc_map_slot *slot;

    if (2 * (map->count + 1) > map->capacity)
        grow(arena, map);
    slot = slot_of(map, key);
    if (!slot->key)
        map->count++;
    *slot = (struct tlmc_map_slot){ key, value };
}
