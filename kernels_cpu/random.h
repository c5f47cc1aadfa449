/* Random tensors from counters: element i of a draw is a function of (key, i), the same on every
   device and for every split of the range (docs/numerics.md, Random). */
#ifndef TLMK_RANDOM_H
#define TLMK_RANDOM_H

#include "items.h"

/* [0, 1), multiples of 2^-24 */
TLM_INLINE void tlmk_f32_rand_uniform__cpu_loop(const int level, float *y, uint64_t key,
                                                size_t begin, size_t end)
{
    (void)level;
    TLM_LOOP
    for (size_t i = begin; i < end; i++)
        y[i] = (float)(int32_t)(tlm_random_u32(key, i) >> 8) * 0x1p-24f;
}

/* 1 iff the low 32 bits are below threshold = ceil(keep * 2^32) */
TLM_INLINE void tlmk_f32_bernoulli_mask__cpu_loop(const int level, float *y, uint64_t key,
                                                  uint64_t threshold, size_t begin, size_t end)
{
    (void)level;
    TLM_LOOP
    for (size_t i = begin; i < end; i++)
        y[i] = (uint64_t)tlm_random_u32(key, i) < threshold ? 1.0f : 0.0f;
}

#endif
