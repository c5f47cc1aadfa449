/* Random tensors from counters: element i of a draw is a function of (seed, run, site, i), the same
   on every device (docs/numerics.md, Random).  draws: the two words seed and run of the step, in
   device memory, so that a captured graph stays valid. */
#ifndef TLMK_RANDOM_CUH
#define TLMK_RANDOM_CUH

#include "tlm_random.h"

#include "device.cuh"

/* [0, 1), multiples of 2^-24 */
TLM_INLINE void tlmk_f32_rand_uniform__cuda_loop(float *y, const uint64_t *draws, uint64_t site,
                                                 uint32_t n)
{
    const uint32_t i = tlm_thread();

    if (i < n) {
        const uint64_t key = tlm_random_key(draws[0], draws[1], site);

        y[i] = (float)(int32_t)(tlm_random_u32(key, i) >> 8) * 0x1p-24f;
    }
}

/* 1 iff the low 32 bits are below threshold = ceil(keep * 2^32) */
TLM_INLINE void tlmk_f32_bernoulli_mask__cuda_loop(float *y, const uint64_t *draws, uint64_t site,
                                                   uint64_t threshold, uint32_t n)
{
    const uint32_t i = tlm_thread();

    if (i < n) {
        const uint64_t key = tlm_random_key(draws[0], draws[1], site);

        y[i] = (uint64_t)tlm_random_u32(key, i) < threshold ? 1.0f : 0.0f;
    }
}

#endif
