/* iota, the check of indices, gather (embedding is gather with outer 1), scatter_add.  An index out
   of range is reported by check_index and skipped by the others: nothing outside a tensor is
   touched. */
#ifndef TLMK_INDEX_CUH
#define TLMK_INDEX_CUH

#include "device.cuh"

TLM_INLINE void tlmk_i32_iota__cuda_loop(int32_t *y, int32_t start, uint32_t n)
{
    const uint32_t i = tlm_thread();

    if (i < n)
        y[i] = (int32_t)((uint32_t)start + i);
}

/* The smaller of both, over a warp: every lane gets it. */
TLM_INLINE uint32_t tlmk_warp_least(uint32_t x)
{
    TLMK_UNROLL
    for (uint32_t half = TLMK_WARP / 2; half > 0; half /= 2) {
        const uint32_t other = __shfl_xor_sync(TLMK_ALL_LANES, x, half);

        x = other < x ? other : x;
    }
    return x;
}

/* One block.  fault = { 1, check, position, value } of the first index outside [0, limit), unless
   an earlier check has found one. */
TLM_INLINE void tlmk_i32_check_index__cuda_block(uint32_t *fault, const int32_t *index, uint32_t n,
                                                 uint32_t limit, uint32_t check)
{
    TLM_SHARED(uint32_t, firsts, TLMK_WARPS);
    const uint32_t none = 0xffffffffu; /* no position: n is at most 2^32 - 1 */
    uint32_t first = none;

    for (uint32_t i = 0; i < TLMK_BLOCKS(n) && first == none; i++) {
        const uint32_t at = i * TLMK_THREADS + threadIdx.x;

        if (at < n && (uint32_t)index[at] >= limit)
            first = at;
    }
    first = tlmk_warp_least(first);
    if (tlm_lane() == 0)
        firsts[tlm_warp()] = first;
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    for (uint32_t w = 0; w < TLMK_WARPS; w++)
        first = firsts[w] < first ? firsts[w] : first;
    if (first != none && fault[0] == 0) {
        fault[1] = check;
        fault[2] = first;
        fault[3] = (uint32_t)index[first];
        fault[0] = 1;
    }
}

/* y [outer, n, inner] = x [outer, axis, inner] at index [n]; one thread an element of y */
template <typename T>
TLM_INLINE void tlmk_gather(T *y, const T *x, const int32_t *index, uint32_t outer, uint32_t axis,
                            uint32_t inner, uint32_t n)
{
    const uint32_t element = tlm_thread();

    if (element < outer * n * inner) {
        const uint32_t row = element / inner;
        const uint32_t at = (uint32_t)index[row % n];

        if (at < axis)
            y[element] = x[((uint64_t)(row / n) * axis + at) * inner + element % inner];
    }
}

TLM_INLINE void tlmk_f32_gather__cuda_rows(float *y, const float *x, const int32_t *index,
                                           uint32_t outer, uint32_t axis, uint32_t inner,
                                           uint32_t n)
{
    tlmk_gather(y, x, index, outer, axis, inner, n);
}

TLM_INLINE void tlmk_i32_gather__cuda_rows(int32_t *y, const int32_t *x, const int32_t *index,
                                           uint32_t outer, uint32_t axis, uint32_t inner,
                                           uint32_t n)
{
    tlmk_gather(y, x, index, outer, axis, inner, n);
}

TLM_INLINE void tlmk_bool_gather__cuda_rows(uint8_t *y, const uint8_t *x, const int32_t *index,
                                            uint32_t outer, uint32_t axis, uint32_t inner,
                                            uint32_t n)
{
    tlmk_gather(y, x, index, outer, axis, inner, n);
}

/* The lanes whose update, first + lane, goes to row `at` of y. */
TLM_INLINE uint32_t tlmk_same_index(const int32_t *index, uint32_t at, uint32_t first, uint32_t end)
{
    const uint32_t left = end - first;

    return __ballot_sync(TLMK_ALL_LANES,
                         tlm_lane() < left && (uint32_t)index[first + tlm_lane()] == at);
}

/* y [outer, axis, inner] holds the base; updates [outer, n, inner].  Block (o, i) owns the row that
   update i goes to, if no update before it goes there: it adds this and all later ones to it, in
   increasing order.  Each warp finds them on its own, so that no barrier is needed, and all come to
   the same answer. */
TLM_INLINE void tlmk_f32_scatter_add__cuda_rows(float *y, const int32_t *index,
                                                const float *updates, uint32_t outer, uint32_t axis,
                                                uint32_t inner, uint32_t n)
{
    const uint32_t o = blockIdx.x / n, i = blockIdx.x % n;
    const uint32_t at = (uint32_t)index[i];

    (void)outer;
    if (at >= axis)
        return;
    for (uint32_t first = 0; first < i; first += TLMK_WARP)
        if (tlmk_same_index(index, at, first, i) != 0)
            return;
    for (uint32_t column = 0; column < inner; column += TLMK_THREADS) {
        const uint32_t c = column + threadIdx.x;
        const float *from = updates + (uint64_t)o * n * inner + c;
        float *to = y + ((uint64_t)o * axis + at) * inner + c;
        float sum = c < inner ? *to : 0.0f;

        for (uint32_t first = i; first < n; first += TLMK_WARP) {
            uint32_t found = tlmk_same_index(index, at, first, n);

            while (found != 0) {
                const uint32_t j = first + (uint32_t)__ffs((int)found) - 1;

                found &= found - 1;
                sum = sum + (c < inner ? from[(uint64_t)j * inner] : 0.0f);
            }
        }
        if (c < inner)
            *to = sum;
    }
}

#endif
