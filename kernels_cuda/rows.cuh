/* Work on rows: who takes part in which row, and sums and maxima over one.  Rows of up to
   TLMK_ROW_ALONE elements take a warp each, longer ones a block each (blocks.h).

   Sums are tree64 (docs/numerics.md, Sums): 64 lanes over chunks of 4096 terms, lanes halved, chunk
   results reduced by the same rule.  Thread t of a warp holds lanes t and t + 32 of a chunk in
   registers; lane l + half is added to lane l, and to both at once by a butterfly, since addition
   commutes: every thread ends up with the result.  Lanes start at +0 and so never hold -0: lanes
   that no term reached change nothing.  All threads of a row get the result. */
#ifndef TLMK_ROWS_CUH
#define TLMK_ROWS_CUH

#include "tlm_math.h"

#include "device.cuh"

enum { TLMK_LANES = 64 };
static_assert((int)TLMK_ROW_ALONE == 2 * (int)TLM_REDUCE_CHUNK,
              "a warp's row is at most two chunks");

/* The part of this thread. */
struct tlmk_row {
    uint32_t row;         /* its row */
    uint32_t warps;       /* that share it: a constant of the shape */
    uint32_t first, step; /* its elements, in loops where order does not matter */
};

/* Of block `block` of those that share the rows: blockIdx.x, unless the launch has others too. */
TLM_INLINE struct tlmk_row tlmk_row_of(uint32_t block, uint32_t cols)
{
    struct tlmk_row at;

    at.warps = TLMK_ROW_WARPS(cols);
    at.row = at.warps == 1 ? block * TLMK_WARPS + tlm_warp() : block;
    at.first = at.warps == 1 ? tlm_lane() : threadIdx.x;
    at.step = at.warps * TLMK_WARP;
    return at;
}

TLM_INLINE struct tlmk_row tlmk_row_here(uint32_t cols)
{
    return tlmk_row_of(blockIdx.x, cols);
}

/* One value a lane of the level above, or one a warp, for rows that a block shares. */
TLM_INLINE float *tlmk_row_parts(void)
{
    TLM_SHARED(float, parts, TLMK_LANES);

    return parts;
}

/* ---- sums */
TLM_INLINE float tlmk_warp_sum(float low, float high)
{
    float sum = low + high;

    TLMK_UNROLL
    for (int half = TLMK_WARP / 2; half > 0; half /= 2)
        sum += __shfl_xor_sync(TLMK_ALL_LANES, sum, half);
    return sum;
}

/* The terms of the chunk that begins at `first`. */
TLM_INLINE uint32_t tlmk_chunk_terms(uint32_t n, uint32_t first)
{
    const uint32_t left = n - first, most = TLM_REDUCE_CHUNK;

    return left < most ? left : most;
}

/* One chunk by one warp: the terms first .. first + count - 1. */
template <typename Term>
TLM_INLINE float tlmk_chunk_sum(uint32_t first, uint32_t count, Term term)
{
    float low = 0.0f, high = 0.0f;
    uint32_t j = tlm_lane();

    for (; j + TLMK_WARP < count; j += TLMK_LANES) {
        low += term(first + j);
        high += term(first + j + TLMK_WARP);
    }
    if (j < count)
        low += term(first + j);
    return tlmk_warp_sum(low, high);
}

/* The lanes of one level above the chunks: each warp holds all of them. */
struct tlmk_level {
    float low, high;
};

/* Adds a result, the same in every thread, to lane `at`. */
TLM_INLINE void tlmk_level_add(struct tlmk_level *level, uint32_t at, float result)
{
    if (tlm_lane() == at % TLMK_WARP) {
        if (at % TLMK_LANES < TLMK_WARP)
            level->low += result;
        else
            level->high += result;
    }
}

/* Long rows: the 8 warps take 64 chunks in turn; then each adds all 64 results to its level 1.
   Level 2 takes the results of 4096 chunks: enough for the 2^32 elements a tensor may have. */
template <typename Term>
TLM_INLINE float tlmk_block_sum(uint32_t n, Term term)
{
    float *parts = tlmk_row_parts();
    const uint32_t chunks = TLMK_CHUNKS(n);
    struct tlmk_level one = { 0.0f, 0.0f }, two = { 0.0f, 0.0f };

    for (uint32_t first = 0; first < chunks; first += TLMK_LANES) {
        if (first != 0 && first % TLM_REDUCE_CHUNK == 0) {
            tlmk_level_add(&two, first / TLM_REDUCE_CHUNK - 1, tlmk_warp_sum(one.low, one.high));
            one.low = one.high = 0.0f;
        }
        __syncthreads(); /* the parts before these have been read */
        for (uint32_t lane = tlm_warp(); lane < TLMK_LANES; lane += TLMK_WARPS) {
            const uint32_t begin = (first + lane) * TLM_REDUCE_CHUNK;
            float result = 0.0f;

            if (first + lane < chunks)
                result = tlmk_chunk_sum(begin, tlmk_chunk_terms(n, begin), term);
            if (tlm_lane() == 0)
                parts[lane] = result;
        }
        __syncthreads();
        one.low += parts[tlm_lane()];
        one.high += parts[tlm_lane() + TLMK_WARP];
    }
    if (chunks <= TLM_REDUCE_CHUNK)
        return tlmk_warp_sum(one.low, one.high);
    tlmk_level_add(&two, (chunks - 1) / TLM_REDUCE_CHUNK, tlmk_warp_sum(one.low, one.high));
    return tlmk_warp_sum(two.low, two.high);
}

/* The sum of term(0) .. term(n - 1); n is the one that tlmk_row_here was asked with. */
template <typename Term>
TLM_INLINE float tlmk_row_sum(struct tlmk_row at, uint32_t n, Term term)
{
    float sum;

    if (at.warps > 1)
        return tlmk_block_sum(n, term);
    if (n <= TLM_REDUCE_CHUNK)
        return tlmk_chunk_sum(0, n, term);
    sum = tlmk_chunk_sum(0, TLM_REDUCE_CHUNK, term);
    return sum + tlmk_chunk_sum(TLM_REDUCE_CHUNK, n - TLM_REDUCE_CHUNK, term);
}

/* ---- reductions whose order does not matter: combine(a, b), from `empty` */
template <typename T, typename Combine>
TLM_INLINE T tlmk_warp_any_order(T mine, Combine combine)
{
    TLMK_UNROLL
    for (int half = TLMK_WARP / 2; half > 0; half /= 2)
        mine = combine(mine, __shfl_xor_sync(TLMK_ALL_LANES, mine, half));
    return mine;
}

/* parts: TLMK_WARPS of them, in shared memory, not in use before: there is no barrier in front. */
template <typename T, typename Combine>
TLM_INLINE T tlmk_block_any_order(T *parts, T mine, Combine combine)
{
    if (tlm_lane() == 0)
        parts[tlm_warp()] = mine;
    __syncthreads();
    mine = parts[0];
    TLMK_UNROLL
    for (uint32_t warp = 1; warp < TLMK_WARPS; warp++)
        mine = combine(mine, parts[warp]);
    return mine;
}

template <typename Term>
TLM_INLINE float tlmk_row_max(struct tlmk_row at, uint32_t n, Term term)
{
    const auto larger = [](float a, float b) { return tlm_max(a, b); };
    float best = -TLM_F32_INF;

    for (uint32_t j = at.first; j < n; j += at.step)
        best = tlm_max(best, term(j));
    best = tlmk_warp_any_order(best, larger);
    return at.warps > 1 ? tlmk_block_any_order(tlmk_row_parts(), best, larger) : best;
}

#endif
