/* Random draws from counters: integers, so that the bits are those of every other device. */
#ifndef TLMR_RANDOM_H
#define TLMR_RANDOM_H

#include "items.h"

TLM_INLINE void tlmk_f32_rand_uniform__ref_loop(const int level, float *y, uint64_t key,
                                                size_t begin, size_t end)
{
    (void)level;
    for (size_t i = begin; i < end; i++)
        y[i] = (float)(tlm_random_u32(key, i) / 256) / 16777216.0f;
}

TLM_INLINE void tlmk_f32_bernoulli_mask__ref_loop(const int level, float *y, uint64_t key,
                                                  uint64_t threshold, size_t begin, size_t end)
{
    (void)level;
    for (size_t i = begin; i < end; i++)
        y[i] = tlm_random_u32(key, i) < threshold;
}

#endif
