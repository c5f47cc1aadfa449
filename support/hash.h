/* FNV-1a over bytes, 64 bits: the digest of sources, and hashes of tables inside tlmc.  Start with
   TLMC_HASH_BASIS, or go on from an earlier hash.  Not for input that is chosen to collide: equal
   hashes are followed by a comparison wherever equality matters. */
#ifndef TLMC_SUPPORT_HASH_H
#define TLMC_SUPPORT_HASH_H

#include <stddef.h>
#include <stdint.h>

#define TLMC_HASH_BASIS UINT64_C(0xcbf29ce484222325)

static inline uint64_t tlmc_hash(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *p = data;

    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ p[i]) * UINT64_C(0x100000001b3);
    return hash;
}

#endif
