/* Reductions along columns, [outer, length, inner] with inner > 1: a block takes 32 neighbouring
   columns, so that reads are coalesced; its 8 warps share the rows.  Thread (column, warp) holds
   lanes 8 * warp .. 8 * warp + 7 of its column's tree (docs/numerics.md, Sums; rows.cuh) in
   registers.  All threads of the block take part, those past the last column with nothing to add;
   every thread gets its column's result. */
#ifndef TLMK_COLUMNS_CUH
#define TLMK_COLUMNS_CUH

#include "rows.cuh"

enum { TLMK_OWN_LANES = TLMK_LANES / TLMK_WARPS };
static_assert((int)TLMK_OWN_LANES == (int)TLMK_WARPS,
              "both halves of tlmk_column_halve combine 8 values");
static_assert((int)TLMK_COLUMNS == (int)TLMK_WARP, "a warp reads a row of its columns");

struct tlmk_column {
    uint32_t outer, column;
    bool inside; /* the column exists */
};

/* Of block `block` of those that share the columns. */
TLM_INLINE struct tlmk_column tlmk_column_of(uint32_t block, uint32_t inner)
{
    const uint32_t blocks = TLMK_COLUMN_BLOCKS(inner);
    struct tlmk_column at;

    at.outer = block / blocks;
    at.column = block % blocks * TLMK_COLUMNS + tlm_lane();
    at.inside = at.column < inner;
    return at;
}

TLM_INLINE struct tlmk_column tlmk_column_here(uint32_t inner)
{
    return tlmk_column_of(blockIdx.x, inner);
}

/* ---- sums, one or more at once */
template <int COUNT>
struct tlmk_terms {
    float of[COUNT];
};

/* lanes[s][i]: lane 8 * warp + i of sum s */
template <int COUNT>
struct tlmk_lanes {
    float of[COUNT][TLMK_OWN_LANES];
};

template <int COUNT>
TLM_INLINE void tlmk_lanes_begin(struct tlmk_lanes<COUNT> *lanes)
{
    TLMK_UNROLL
    for (int s = 0; s < COUNT; s++) {
        TLMK_UNROLL
        for (int i = 0; i < TLMK_OWN_LANES; i++)
            lanes->of[s][i] = 0.0f;
    }
}

TLM_INLINE float *tlmk_column_parts(void)
{
    TLM_SHARED(float, parts, (TLMK_LANES + TLMK_WARPS) * TLMK_COLUMNS);

    return parts;
}

/* The three steps that halve values i, i + apart, .. to one: 4, 2 and 1 times `apart` between the
   two that are added. */
TLM_INLINE float tlmk_halve_eight(const float *value, uint32_t apart)
{
    const float even = (value[0] + value[4 * apart]) + (value[2 * apart] + value[6 * apart]);
    const float odd = (value[apart] + value[5 * apart]) + (value[3 * apart] + value[7 * apart]);

    return even + odd;
}

/* Lanes 32, 16, 8 apart are in the same registers of different warps, so warp w halves lanes w, w +
   8, .. to lane w; then all threads halve the 8 lanes left.  No third barrier: whoever writes
   `parts` again has passed the second, whoever writes `left` again the first. */
TLM_INLINE float tlmk_column_halve(const float *lanes)
{
    float *parts = tlmk_column_parts(), *left = parts + TLMK_LANES * TLMK_COLUMNS;

    TLMK_UNROLL
    for (int i = 0; i < TLMK_OWN_LANES; i++)
        parts[(tlm_warp() * TLMK_OWN_LANES + i) * TLMK_COLUMNS + tlm_lane()] = lanes[i];
    __syncthreads();
    left[tlm_warp() * TLMK_COLUMNS + tlm_lane()] =
        tlmk_halve_eight(parts + tlm_warp() * TLMK_COLUMNS + tlm_lane(),
                         TLMK_OWN_LANES * TLMK_COLUMNS);
    __syncthreads();
    return tlmk_halve_eight(left + tlm_lane(), TLMK_COLUMNS);
}

/* The level above takes the results as its lane `at`. */
template <int COUNT>
TLM_INLINE void tlmk_column_carry(struct tlmk_lanes<COUNT> *above, uint32_t at,
                                  const struct tlmk_lanes<COUNT> *lanes)
{
    const uint32_t first = tlm_warp() * TLMK_OWN_LANES;

    TLMK_UNROLL
    for (int s = 0; s < COUNT; s++) {
        const float result = tlmk_column_halve(lanes->of[s]);

        TLMK_UNROLL
        for (uint32_t i = 0; i < TLMK_OWN_LANES; i++)
            if (at % TLMK_LANES == first + i)
                above->of[s][i] += result;
    }
}

template <int COUNT>
TLM_INLINE struct tlmk_terms<COUNT> tlmk_column_results(const struct tlmk_lanes<COUNT> *lanes) {
    struct tlmk_terms<COUNT> results;

    TLMK_UNROLL
    for (int s = 0; s < COUNT; s++)
        results.of[s] = tlmk_column_halve(lanes->of[s]);
    return results;
}

/* The rows first .. first + count - 1, at most a chunk. */
template <int COUNT, typename Term>
TLM_INLINE void tlmk_column_chunk(struct tlmk_lanes<COUNT> *lanes, uint32_t first, uint32_t count,
                                  bool inside, Term term)
{
    tlmk_lanes_begin(lanes);
    for (uint32_t group = 0; inside && group < count; group += TLMK_LANES) {
        TLMK_UNROLL
        for (uint32_t i = 0; i < TLMK_OWN_LANES; i++) {
            const uint32_t row = group + tlm_warp() * TLMK_OWN_LANES + i;

            if (row < count) {
                const struct tlmk_terms<COUNT> terms = term(first + row);

                TLMK_UNROLL
                for (int s = 0; s < COUNT; s++)
                    lanes->of[s][i] += terms.of[s];
            }
        }
    }
}

/* The sums of term(0) .. term(rows - 1), which gives COUNT terms of this thread's column. */
template <int COUNT, typename Term>
TLM_INLINE struct tlmk_terms<COUNT> tlmk_column_sums(uint32_t rows, bool inside, Term term) {
    const uint32_t chunks = TLMK_CHUNKS(rows);
    struct tlmk_lanes<COUNT> zero, one, two;

    if (chunks <= 1) {
        tlmk_column_chunk(&zero, 0, rows, inside, term);
        return tlmk_column_results(&zero);
    }
    tlmk_lanes_begin(&one);
    tlmk_lanes_begin(&two);
    for (uint32_t chunk = 0; chunk < chunks; chunk++) {
        const uint32_t first = chunk * TLM_REDUCE_CHUNK;

        if (chunk != 0 && chunk % TLM_REDUCE_CHUNK == 0) {
            tlmk_column_carry(&two, chunk / TLM_REDUCE_CHUNK - 1, &one);
            tlmk_lanes_begin(&one);
        }
        tlmk_column_chunk(&zero, first, tlmk_chunk_terms(rows, first), inside, term);
        tlmk_column_carry(&one, chunk, &zero);
    }
    if (chunks <= TLM_REDUCE_CHUNK)
        return tlmk_column_results(&one);
    tlmk_column_carry(&two, (chunks - 1) / TLM_REDUCE_CHUNK, &one);
    return tlmk_column_results(&two);
}

/* ---- reductions whose order does not matter: what each warp found, combined for every column */
template <typename T, typename Combine>
TLM_INLINE T tlmk_column_any_order(T *parts, T mine, Combine combine)
{
    parts[tlm_warp() * TLMK_COLUMNS + tlm_lane()] = mine;
    __syncthreads();
    mine = parts[tlm_lane()];
    TLMK_UNROLL
    for (uint32_t warp = 1; warp < TLMK_WARPS; warp++)
        mine = combine(mine, parts[warp * TLMK_COLUMNS + tlm_lane()]);
    return mine;
}

#endif
