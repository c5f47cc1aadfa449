/* The random counters of docs/numerics.md: a draw is a function of (seed, run, site, element)
   alone, the same on every device. */
#ifndef TLM_RANDOM_H
#define TLM_RANDOM_H

#include "tlm_fp.h"

TLM_INLINE uint64_t tlm_splitmix64(uint64_t z)
{
    z += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

TLM_INLINE uint64_t tlm_random_key(uint64_t seed, uint64_t run, uint64_t site)
{
    return tlm_splitmix64(tlm_splitmix64(tlm_splitmix64(seed) + run) + site);
}

/* low 32 bits of draw i */
TLM_INLINE uint32_t tlm_random_u32(uint64_t key, uint64_t i)
{
    return (uint32_t)tlm_splitmix64(key + i);
}

#endif
