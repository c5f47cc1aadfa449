/* Reductions over the middle axis of [outer, length, inner]: by rows when inner is 1, else by
   columns.  Sums are tree64 (rows.cuh, columns.cuh).  Empty sums are +0, empty means NaN, empty
   maxima -inf.  Long rows are split in two launches by their chunks: the first reduces each chunk,
   the second their results by the same rule, so the bits are those of one launch. */
#ifndef TLMK_REDUCE_CUH
#define TLMK_REDUCE_CUH

#include "columns.cuh"

/* ---- sums.  finish(sum) is what is stored. */
template <typename Finish>
TLM_INLINE void tlmk_reduce_sum(float *y, const float *x, uint32_t outer, uint32_t length,
                                uint32_t inner, Finish finish)
{
    if (inner == 1) {
        const struct tlmk_row at = tlmk_row_here(length);
        const float *from = x + (uint64_t)at.row * length;

        if (at.row >= outer)
            return;
        const float sum = tlmk_row_sum(at, length, [&](uint32_t j) { return from[j]; });

        if (at.first == 0)
            y[at.row] = finish(sum);
    } else {
        const struct tlmk_column at = tlmk_column_here(inner);
        const float *from = x + (uint64_t)at.outer * length * inner + at.column;
        const struct tlmk_terms<1> sum = tlmk_column_sums<1>(length, at.inside, [&](uint32_t row) {
            struct tlmk_terms<1> term;

            term.of[0] = from[(uint64_t)row * inner];
            return term;
        });

        if (at.inside && tlm_warp() == 0)
            y[(uint64_t)at.outer * inner + at.column] = finish(sum.of[0]);
    }
}

TLM_INLINE void tlmk_f32_reduce_sum__cuda_tree64(float *y, const float *x, uint32_t outer,
                                                 uint32_t length, uint32_t inner)
{
    tlmk_reduce_sum(y, x, outer, length, inner, [](float sum) { return sum; });
}

/* sum / n, one division */
TLM_INLINE void tlmk_f32_reduce_mean__cuda_tree64(float *y, const float *x, uint32_t outer,
                                                  uint32_t length, uint32_t inner)
{
    tlmk_reduce_sum(y, x, outer, length, inner, [&](float sum) { return sum / (float)length; });
}

/* parts [outer, TLMK_CHUNKS(length)]: one warp a chunk */
TLM_INLINE void tlmk_f32_reduce_chunks__cuda_tree64(float *parts, const float *x, uint32_t outer,
                                                    uint32_t length)
{
    const uint32_t chunks = TLMK_CHUNKS(length);
    const uint32_t part = blockIdx.x * TLMK_WARPS + tlm_warp();
    const uint32_t first = part % chunks * TLM_REDUCE_CHUNK;
    const float *from = x + (uint64_t)(part / chunks) * length;

    if (part >= outer * chunks)
        return;
    const float sum =
        tlmk_chunk_sum(first, tlmk_chunk_terms(length, first), [&](uint32_t j) { return from[j]; });

    if (tlm_lane() == 0)
        parts[part] = sum;
}

/* The means of rows of `length` elements whose chunks have been reduced. */
TLM_INLINE void tlmk_f32_mean_of_parts__cuda_tree64(float *y, const float *parts, uint32_t outer,
                                                    uint32_t chunks, uint32_t length)
{
    tlmk_reduce_sum(y, parts, outer, chunks, 1, [&](float sum) { return sum / (float)length; });
}

/* ---- maxima, minima and wrapping sums: order does not matter.  parts: for each thread one, in
   shared memory. */
template <typename T, typename Combine>
TLM_INLINE void tlmk_reduce_any_order(T *parts, T *y, const T *x, uint32_t outer, uint32_t length,
                                      uint32_t inner, T empty, Combine combine)
{
    T mine = empty;

    if (inner == 1) {
        const struct tlmk_row at = tlmk_row_here(length);
        const T *from = x + (uint64_t)at.row * length;

        if (at.row >= outer)
            return;
        for (uint32_t j = at.first; j < length; j += at.step)
            mine = combine(mine, from[j]);
        mine = tlmk_warp_any_order(mine, combine);
        if (at.warps > 1)
            mine = tlmk_block_any_order(parts, mine, combine);
        if (at.first == 0)
            y[at.row] = mine;
    } else {
        const struct tlmk_column at = tlmk_column_here(inner);
        const T *from = x + (uint64_t)at.outer * length * inner + at.column;

        for (uint32_t row = tlm_warp(); at.inside && row < length; row += TLMK_WARPS)
            mine = combine(mine, from[(uint64_t)row * inner]);
        mine = tlmk_column_any_order(parts, mine, combine);
        if (at.inside && tlm_warp() == 0)
            y[(uint64_t)at.outer * inner + at.column] = mine;
    }
}

#define TLMK_REDUCE_ANY_ORDER(symbol, type, empty, combine)                         \
    TLM_INLINE void symbol(type *y, const type *x, uint32_t outer, uint32_t length, \
                           uint32_t inner)                                          \
    {                                                                               \
        TLM_SHARED(type, parts, TLMK_THREADS);                                      \
                                                                                    \
        tlmk_reduce_any_order(parts, y, x, outer, length, inner, (type)(empty),     \
                              [](type a, type b) { return combine(a, b); });        \
    }

TLMK_REDUCE_ANY_ORDER(tlmk_f32_reduce_max__cuda_tree, float, -TLM_F32_INF, tlm_max)
TLMK_REDUCE_ANY_ORDER(tlmk_f32_reduce_min__cuda_tree, float, TLM_F32_INF, tlm_min)
TLMK_REDUCE_ANY_ORDER(tlmk_i32_reduce_sum__cuda_tree64, int32_t, 0, tlm_add_i32)
TLMK_REDUCE_ANY_ORDER(tlmk_i32_reduce_max__cuda_tree, int32_t, 0x80000000u, tlm_max_i32)
TLMK_REDUCE_ANY_ORDER(tlmk_i32_reduce_min__cuda_tree, int32_t, 0x7fffffff, tlm_min_i32)
#undef TLMK_REDUCE_ANY_ORDER

/* dx = x == y ? g / ties : 0.  Where y is NaN nothing equals it and the gradient is 0. */
TLM_INLINE void tlmk_f32_reduce_extreme_vjp__cuda_rows(float *dx, const float *g, const float *x,
                                                       const float *y, uint32_t outer,
                                                       uint32_t length, uint32_t inner)
{
    TLM_SHARED(uint32_t, parts, TLMK_THREADS);
    const auto add = [](uint32_t a, uint32_t b) { return a + b; };
    uint32_t ties = 0;

    if (inner == 1) {
        const struct tlmk_row at = tlmk_row_here(length);
        const float *from = x + (uint64_t)at.row * length;
        float *to = dx + (uint64_t)at.row * length;

        if (at.row >= outer)
            return;
        const float extreme = y[at.row];

        for (uint32_t j = at.first; j < length; j += at.step)
            ties += from[j] == extreme;
        ties = tlmk_warp_any_order(ties, add);
        if (at.warps > 1)
            ties = tlmk_block_any_order(parts, ties, add);
        const float share = g[at.row] / (float)ties;

        for (uint32_t j = at.first; j < length; j += at.step)
            to[j] = tlm_select(from[j] == extreme, share, 0.0f);
    } else {
        const struct tlmk_column at = tlmk_column_here(inner);
        const uint64_t first = (uint64_t)at.outer * length * inner + at.column;
        const uint64_t result = (uint64_t)at.outer * inner + at.column;
        const float extreme = at.inside ? y[result] : 0.0f;

        for (uint32_t row = tlm_warp(); at.inside && row < length; row += TLMK_WARPS)
            ties += x[first + (uint64_t)row * inner] == extreme;
        ties = tlmk_column_any_order(parts, ties, add);
        const float share = (at.inside ? g[result] : 0.0f) / (float)ties;

        for (uint32_t row = tlm_warp(); at.inside && row < length; row += TLMK_WARPS) {
            const uint64_t place = first + (uint64_t)row * inner;

            dx[place] = tlm_select(x[place] == extreme, share, 0.0f);
        }
    }
}

/* ---- argmax: the first NaN wins, else the first maximum.  Threads see elements of their own, so
   candidates carry their place and two of them compare by it last. */
template <typename T>
struct tlmk_candidate {
    T value;
    uint32_t place; /* 0xffffffff: none yet */
};

template <typename T>
TLM_INLINE bool tlmk_candidate_wins(struct tlmk_candidate<T> a, struct tlmk_candidate<T> b)
{
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;

    if (a.place == 0xffffffffu || b.place == 0xffffffffu)
        return a.place < b.place;
    if (a_nan || b_nan)
        return a_nan && (!b_nan || a.place < b.place);
    return a.value > b.value || (a.value == b.value && a.place < b.place);
}

/* Two words travel separately: a shuffle takes no structs. */
template <typename T, typename Combine>
TLM_INLINE struct tlmk_candidate<T> tlmk_warp_candidate(struct tlmk_candidate<T> mine,
                                                        Combine combine) {
    TLMK_UNROLL
    for (int half = TLMK_WARP / 2; half > 0; half /= 2) {
        struct tlmk_candidate<T> other;

        other.value = __shfl_xor_sync(TLMK_ALL_LANES, mine.value, half);
        other.place = __shfl_xor_sync(TLMK_ALL_LANES, mine.place, half);
        mine = combine(mine, other);
    }
    return mine;
}

/* parts: for each thread one, in shared memory.  V holds values of T and fills a word, so that no
   byte of a candidate is padding. */
template <typename V, typename T>
TLM_INLINE void tlmk_argmax(struct tlmk_candidate<V> *parts, int32_t *y, const T *x, uint32_t outer,
                            uint32_t length, uint32_t inner)
{
    using candidate = struct tlmk_candidate<V>;
    const auto better = [](candidate a, candidate b) { return tlmk_candidate_wins(b, a) ? b : a; };
    candidate mine = { (V)0, 0xffffffffu };

    if (inner == 1) {
        const struct tlmk_row at = tlmk_row_here(length);
        const T *from = x + (uint64_t)at.row * length;

        if (at.row >= outer)
            return;
        for (uint32_t j = at.first; j < length; j += at.step) {
            const candidate next = { (V)from[j], j };

            mine = better(mine, next);
        }
        mine = tlmk_warp_candidate(mine, better);
        if (at.warps > 1)
            mine = tlmk_block_any_order(parts, mine, better);
        if (at.first == 0)
            y[at.row] = (int32_t)mine.place;
    } else {
        const struct tlmk_column at = tlmk_column_here(inner);
        const T *from = x + (uint64_t)at.outer * length * inner + at.column;

        for (uint32_t row = tlm_warp(); at.inside && row < length; row += TLMK_WARPS) {
            const candidate next = { (V)from[(uint64_t)row * inner], row };

            mine = better(mine, next);
        }
        mine = tlmk_column_any_order(parts, mine, better);
        if (at.inside && tlm_warp() == 0)
            y[(uint64_t)at.outer * inner + at.column] = (int32_t)mine.place;
    }
}

#define TLMK_ARGMAX(name, type, word)                                                          \
    TLM_INLINE void tlmk_##name##_argmax__cuda_rows(int32_t *y, const type *x, uint32_t outer, \
                                                    uint32_t length, uint32_t inner)           \
    {                                                                                          \
        TLM_SHARED(struct tlmk_candidate<word>, parts, TLMK_THREADS);                          \
                                                                                               \
        tlmk_argmax(parts, y, x, outer, length, inner);                                        \
    }

TLMK_ARGMAX(f32, float, float)
TLMK_ARGMAX(i32, int32_t, int32_t)
TLMK_ARGMAX(bool, uint8_t, int32_t)
#undef TLMK_ARGMAX

/* ---- the norm of all elements of several tensors, in three launches: chunks, tensors, all */
/* One of the tensors: its elements, and the first of its chunks. */
struct tlmk_span {
    uint32_t count, first;
};
static_assert(sizeof(struct tlmk_span) == 8, "as in kernels_cpu/items.h");

/* One warp a chunk, of the tensors x[0] .. x[count - 1]: finds the last that begins with it or
   before. */
TLM_INLINE void tlmk_f32_global_norm_parts__cuda_tree64(float *parts, const float *const *x,
                                                        const struct tlmk_span *spans,
                                                        uint32_t count, uint32_t half)
{
    const uint32_t begin = spans[0].first;
    const uint32_t end = spans[count - 1].first + TLMK_CHUNKS(spans[count - 1].count);
    const uint32_t part = begin + blockIdx.x * TLMK_WARPS + tlm_warp();
    uint32_t s = 0;

    if (part >= end)
        return;
    for (uint32_t step = half; step > 0; step /= 2)
        if (s + step < count && spans[s + step].first <= part)
            s += step;
    const float *from = x[s];
    const uint32_t first = (part - spans[s].first) * TLM_REDUCE_CHUNK;
    const float sum = tlmk_chunk_sum(first, tlmk_chunk_terms(spans[s].count, first),
                                     [&](uint32_t j) { return from[j] * from[j]; });

    if (tlm_lane() == 0)
        parts[part] = sum;
}

/* One block a tensor: the sum of its parts. */
TLM_INLINE void tlmk_f32_global_norm_sums__cuda_tree64(float *sums, const float *parts,
                                                       const struct tlmk_span *spans)
{
    const struct tlmk_span span = spans[blockIdx.x];
    const float sum =
        tlmk_block_sum(TLMK_CHUNKS(span.count), [&](uint32_t j) { return parts[span.first + j]; });

    if (threadIdx.x == 0)
        sums[blockIdx.x] = sum;
}

/* One thread: the sums left to right. */
TLM_INLINE void tlmk_f32_global_norm__cuda_tree64(float *y, const float *sums, uint32_t count)
{
    float total = 0.0f;

    if (tlm_thread() != 0)
        return;
    for (uint32_t s = 0; s < count; s++)
        total += sums[s];
    y[0] = tlm_sqrt(total);
}

#endif
