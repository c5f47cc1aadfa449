/* Matrix products, chain512: the k axis in blocks of TLM_K_BLOCK, each block
   one chain of fused multiply-adds from +0 in ascending k, blocks added left to
   right (docs/numerics.md, Products). Tiles are therefore free: every one of
   them leaves each chain as it is.

   A block of threads makes one tile of C.  It brings both operands to shared
   memory a slice of k at a time, k the slow axis there whichever way an operand
   is stored, so that transposes are read in place; a thread keeps its elements
   of C in registers and adds a finished block of k to C in memory. While one
   slice is multiplied the next one is on its way: two buffers, one barrier a
   slice.  Past the ends of A and B slices hold -0 and +0: fma(-0, +0, x) is x
   for every x, so that a chain may run over the end. */
#ifndef TLMK_MATMUL_CUH
#define TLMK_MATMUL_CUH

#include "tlm_math.h"

#include "device.cuh"

enum {
    TLM_K_BLOCK = 512,
    /* Rows of a slice in shared memory are 4 apart from a multiple of 8, which
       keeps float4 aligned and lets a warp store 16 columns of two k that are 4
       apart without bank conflicts. */
    TLMK_MM_GAP = 4
};

/* The threads of a block: 4 x 2 warps, each 4 x 8 threads.  A thread has ROWS x
   COLS elements of the tile: groups of 4 neighbours, the groups of a warp next
   to each other, so that the float4 reads of a warp are too. */
enum {
    TLMK_MM_WARPS_DOWN = 4,
    TLMK_MM_LANES_DOWN = 4,
    TLMK_MM_LANES_ACROSS = 8,
    TLMK_MM_DOWN = TLMK_MM_WARPS_DOWN * TLMK_MM_LANES_DOWN,
    TLMK_MM_ACROSS = TLMK_THREADS / TLMK_MM_DOWN
};

/* ---- slices */
/* One operand, from some row (A) or column (B) and some k on: element (k, w) is
   at from[w * width_step + k * k_step], one of the steps is 1. */
struct tlmk_mm_operand {
    const float *from;
    uint32_t width, k; /* how far the operand goes from there */
    uint32_t width_step, k_step;
    bool by_fours; /* rows start at multiples of 16 bytes */
    float outside;
};

/* The operand from w and k on. */
TLM_INLINE void tlmk_mm_move(struct tlmk_mm_operand *x, uint32_t w, uint32_t k)
{
    x->from += (uint64_t)w * x->width_step + (uint64_t)k * x->k_step;
    x->width = x->width > w ? x->width - w : 0;
    x->k = x->k > k ? x->k - k : 0;
}

/* What one thread carries of a slice: up to 4 elements a round. */
template <int WIDTH, int DEPTH>
struct tlmk_mm_load {
    enum { ROUNDS = TLMK_PARTS(WIDTH * DEPTH, 4 * TLMK_THREADS) };
    float of[ROUNDS][4];
};

struct tlmk_mm_place {
    uint32_t k, w;
};

/* Which element of the slice a thread carries as number e of a round.  With
   float4 along k two neighbours take 8 of k and the warp 16 columns; without, 8
   neighbours take the 8.  All sizes are powers of two: the place is that of
   (thread, 0, 0) plus that of (0, round, e), and the second is a constant. */
template <int WIDTH>
TLM_INLINE struct tlmk_mm_place tlmk_mm_place_of(const struct tlmk_mm_operand *x, uint32_t thread,
                                                 uint32_t round, uint32_t e)
{
    const uint32_t four = round * TLMK_THREADS + thread;
    const uint32_t one = (round * 4 + e) * TLMK_THREADS + thread;
    const bool along_k = x->k_step == 1;
    struct tlmk_mm_place at;

    if (x->by_fours && along_k) {
        at.k = four / (2 * WIDTH) * 8 + four % 2 * 4 + e;
        at.w = four / 2 % WIDTH;
    } else if (x->by_fours) {
        at.k = four / (WIDTH / 4);
        at.w = four % (WIDTH / 4) * 4 + e;
    } else if (along_k) {
        at.k = one / (8 * WIDTH) * 8 + one % 8;
        at.w = one / 8 % WIDTH;
    } else {
        at.k = one / WIDTH;
        at.w = one % WIDTH;
    }
    return at;
}

/* Does the thread carry element k of the slice?  Only narrow slices have fewer
   elements than all threads could carry. */
template <int WIDTH, int DEPTH>
TLM_INLINE bool tlmk_mm_carries(uint32_t k)
{
    return WIDTH * DEPTH % (4 * TLMK_THREADS) == 0 || k < DEPTH;
}

/* From the tile's first element to the first that this thread carries. */
template <int WIDTH>
TLM_INLINE void tlmk_mm_start(struct tlmk_mm_operand *x)
{
    const struct tlmk_mm_place start = tlmk_mm_place_of<WIDTH>(x, threadIdx.x, 0, 0);

    tlmk_mm_move(x, start.w, start.k);
}

/* A slice to registers; x, which has been started, moves to the next. */
template <int WIDTH, int DEPTH>
TLM_INLINE void tlmk_mm_fetch(struct tlmk_mm_load<WIDTH, DEPTH> *load, struct tlmk_mm_operand *x)
{
    const struct tlmk_mm_place start = tlmk_mm_place_of<WIDTH>(x, threadIdx.x, 0, 0);

    TLMK_UNROLL
    for (uint32_t round = 0; round < tlmk_mm_load<WIDTH, DEPTH>::ROUNDS; round++) {
        float *to = load->of[round];

        TLMK_UNROLL
        for (uint32_t e = 0; e < 4; e++) {
            const struct tlmk_mm_place step = tlmk_mm_place_of<WIDTH>(x, 0, round, e);
            const float *from =
                x->from + (uint64_t)step.w * x->width_step + (uint64_t)step.k * x->k_step;
            const bool inside = tlmk_mm_carries<WIDTH, DEPTH>(start.k + step.k) && step.k < x->k &&
                                step.w < x->width;

            if (x->by_fours) {
                const float4 outside = { x->outside, x->outside, x->outside, x->outside };
                const float4 four = inside ? *(const float4 *)from : outside;

                to[0] = four.x;
                to[1] = four.y;
                to[2] = four.z;
                to[3] = four.w;
                break; /* all four of the round */
            }
            to[e] = inside ? *from : x->outside;
        }
    }
    tlmk_mm_move(x, 0, DEPTH);
}

/* The slice from registers to shared memory: element (k, w) at k * (WIDTH +
 * TLMK_MM_GAP) + w. */
template <int WIDTH, int DEPTH>
TLM_INLINE void tlmk_mm_put(float *slice, const struct tlmk_mm_load<WIDTH, DEPTH> *load,
                            const struct tlmk_mm_operand *x)
{
    const struct tlmk_mm_place start = tlmk_mm_place_of<WIDTH>(x, threadIdx.x, 0, 0);
    float *mine = slice + start.k * (WIDTH + TLMK_MM_GAP) + start.w;

    TLMK_UNROLL
    for (uint32_t round = 0; round < tlmk_mm_load<WIDTH, DEPTH>::ROUNDS; round++) {
        const float *from = load->of[round];

        TLMK_UNROLL
        for (uint32_t e = 0; e < 4; e++) {
            const struct tlmk_mm_place step = tlmk_mm_place_of<WIDTH>(x, 0, round, e);
            float *to = mine + step.k * (WIDTH + TLMK_MM_GAP) + step.w;

            if (!tlmk_mm_carries<WIDTH, DEPTH>(start.k + step.k))
                continue;
            if (x->by_fours && x->width_step == 1) {
                *(float4 *)to = { from[0], from[1], from[2], from[3] };
                break;
            }
            *to = from[e];
        }
    }
}

/* ---- the elements of one thread */
template <int ROWS, int COLS>
struct tlmk_mm_thread {
    float chain[ROWS][COLS];
    uint32_t row, col; /* of the first, in the tile */
};

/* Distance of element i from the first: groups of 4, `apart` groups between. */
TLM_INLINE uint32_t tlmk_mm_element(uint32_t i, uint32_t apart)
{
    return i / 4 * 4 * apart + i % 4;
}

template <int ROWS, int COLS>
TLM_INLINE void tlmk_mm_clear(struct tlmk_mm_thread<ROWS, COLS> *t)
{
    TLMK_UNROLL
    for (int i = 0; i < ROWS; i++) {
        TLMK_UNROLL
        for (int j = 0; j < COLS; j++)
            t->chain[i][j] = 0.0f;
    }
}

template <int ROWS, int COLS>
TLM_INLINE void tlmk_mm_begin(struct tlmk_mm_thread<ROWS, COLS> *t)
{
    const uint32_t warp_row = tlm_warp() % TLMK_MM_WARPS_DOWN;
    const uint32_t warp_col = tlm_warp() / TLMK_MM_WARPS_DOWN;
    const uint32_t lane_row = tlm_lane() / TLMK_MM_LANES_ACROSS;
    const uint32_t lane_col = tlm_lane() % TLMK_MM_LANES_ACROSS;

    t->row = warp_row * TLMK_MM_LANES_DOWN * ROWS + lane_row * (ROWS < 4 ? ROWS : 4);
    t->col = warp_col * TLMK_MM_LANES_ACROSS * COLS + lane_col * 4;
    tlmk_mm_clear(t);
}

/* COUNT elements of a row of a slice, for one thread: groups of 4, or one. */
template <int COUNT>
TLM_INLINE void tlmk_mm_read(float *to, const float *from, uint32_t apart)
{
    TLMK_UNROLL
    for (int i = 0; i < COUNT % 4; i++)
        to[i] = from[i];
    TLMK_UNROLL
    for (int i = 0; i < COUNT / 4 * 4; i += 4) {
        const float4 four = *(const float4 *)(from + tlmk_mm_element((uint32_t)i, apart));

        to[i] = four.x;
        to[i + 1] = four.y;
        to[i + 2] = four.z;
        to[i + 3] = four.w;
    }
}

/* The chains go on through one slice.  Large thread tiles keep the loop over k rolled: there the
   reads of one k hide behind the multiplications of the other warps, and reads ahead would cost
   more registers than there are. */
template <int ROWS, int COLS, int DEPTH>
TLM_INLINE void tlmk_mm_multiply(struct tlmk_mm_thread<ROWS, COLS> *t, const float *a,
                                 const float *b)
{
    enum { STEP = ROWS * COLS >= 64 ? 1 : DEPTH };

    a += t->row;
    b += t->col;
    TLMK_ROLLED
    for (int first = 0; first < DEPTH; first += STEP) {
        TLMK_UNROLL
        for (int k = first; k < first + STEP; k++) {
            float x[ROWS], y[COLS];

            tlmk_mm_read<ROWS>(x, a + k * (ROWS * TLMK_MM_DOWN + TLMK_MM_GAP), TLMK_MM_LANES_DOWN);
            tlmk_mm_read<COLS>(y, b + k * (COLS * TLMK_MM_ACROSS + TLMK_MM_GAP),
                               TLMK_MM_LANES_ACROSS);
            TLMK_UNROLL
            for (int i = 0; i < ROWS; i++) {
                TLMK_UNROLL
                for (int j = 0; j < COLS; j++)
                    t->chain[i][j] = tlm_fma(x[i], y[j], t->chain[i][j]);
            }
        }
    }
}

/* A block of k is at its end: C = chain for the first one, else C = C + chain;
 * then chains from +0.
 */
template <int ROWS, int COLS>
TLM_INLINE void tlmk_mm_store(struct tlmk_mm_thread<ROWS, COLS> *t, float *c, uint32_t row,
                              uint32_t col, uint32_t M, uint32_t N, bool first)
{
    row += t->row;
    col += t->col;
    TLMK_UNROLL
    for (uint32_t i = 0; i < ROWS; i++) {
        const uint32_t r = row + tlmk_mm_element(i, TLMK_MM_LANES_DOWN);

        TLMK_UNROLL
        for (uint32_t j = 0; j < COLS; j += 4) {
            const uint32_t s = col + tlmk_mm_element(j, TLMK_MM_LANES_ACROSS);
            const float *chain = t->chain[i] + j;
            float *to = c + (uint64_t)r * N + s;

            if (N % 4 == 0 && r < M && s < N) {
                float4 sum = { chain[0], chain[1], chain[2], chain[3] };

                if (!first) {
                    const float4 before = *(const float4 *)to;

                    sum = { before.x + sum.x, before.y + sum.y, before.z + sum.z,
                            before.w + sum.w };
                }
                *(float4 *)to = sum;
            }
            TLMK_UNROLL
            for (uint32_t e = 0; e < 4; e++)
                if (N % 4 != 0 && r < M && s + e < N)
                    to[e] = first ? chain[e] : to[e] + chain[e];
        }
    }
    tlmk_mm_clear(t);
}

/* ---- the tile of one block */
/* floats of shared memory: both slices, twice */
#define TLMK_MM_SHARED(ROWS, COLS, DEPTH) \
    (2 * (DEPTH) * ((ROWS)*TLMK_MM_DOWN + (COLS)*TLMK_MM_ACROSS + 2 * TLMK_MM_GAP))

/* row, col: of the tile in C; a and b begin there, and move on */
template <int ROWS, int COLS, int DEPTH>
TLM_INLINE void tlmk_mm_tile(float *shared, float *c, struct tlmk_mm_operand *a,
                             struct tlmk_mm_operand *b, uint32_t row, uint32_t col, uint32_t M,
                             uint32_t N, uint32_t K)
{
    enum { HEIGHT = ROWS * TLMK_MM_DOWN, WIDTH = COLS * TLMK_MM_ACROSS };
    enum { A_FLOATS = DEPTH * (HEIGHT + TLMK_MM_GAP), B_FLOATS = DEPTH * (WIDTH + TLMK_MM_GAP) };
    const uint32_t slices = TLMK_PARTS((uint64_t)K, DEPTH), slices_of_block = TLM_K_BLOCK / DEPTH;
    float *a_slices = shared, *b_slices = shared + 2 * A_FLOATS;
    struct tlmk_mm_thread<ROWS, COLS> t;
    struct tlmk_mm_load<HEIGHT, DEPTH> a_next;
    struct tlmk_mm_load<WIDTH, DEPTH> b_next;

    tlmk_mm_begin(&t);
    tlmk_mm_start<HEIGHT>(a);
    tlmk_mm_start<WIDTH>(b);
    tlmk_mm_fetch(&a_next, a);
    tlmk_mm_fetch(&b_next, b);
    tlmk_mm_put(a_slices, &a_next, a);
    tlmk_mm_put(b_slices, &b_next, b);
    __syncthreads();
    for (uint32_t slice = 0; slice < slices; slice++) {
        const uint32_t now = slice % 2, next = 1 - now;
        const bool more = slice + 1 < slices;

        if (more) {
            tlmk_mm_fetch(&a_next, a);
            tlmk_mm_fetch(&b_next, b);
        }
        tlmk_mm_multiply<ROWS, COLS, DEPTH>(&t, a_slices + now * A_FLOATS,
                                            b_slices + now * B_FLOATS);
        if (more) {
            tlmk_mm_put(a_slices + next * A_FLOATS, &a_next, a);
            tlmk_mm_put(b_slices + next * B_FLOATS, &b_next, b);
        }
        if (more && (slice + 1) % slices_of_block == 0)
            tlmk_mm_store(&t, c, row, col, M, N, slice < slices_of_block);
        __syncthreads();
    }
    tlmk_mm_store(&t, c, row, col, M, N, K <= TLM_K_BLOCK);
}

TLM_INLINE void tlmk_f32_matmul__cuda_tiled(float *c, const float *a, const float *b, uint32_t M,
                                            uint32_t N, uint32_t K, int ta, int tb, int batch_rank,
                                            const uint32_t *batch_dims, const uint64_t *a_strides,
                                            const uint64_t *b_strides)
{
    const uint32_t row_parts = TLMK_PARTS((uint64_t)M, TLMK_MM_ROWS(M, N));
    const uint32_t col_parts = TLMK_PARTS((uint64_t)N, TLMK_MM_COLS(M, N));
    const uint32_t row = blockIdx.x % row_parts * TLMK_MM_ROWS(M, N);
    const uint32_t col = blockIdx.x / row_parts % col_parts * TLMK_MM_COLS(M, N);
    const uint32_t batch = blockIdx.x / row_parts / col_parts;
    uint32_t rest = batch;
    struct tlmk_mm_operand left = { a, M, K, ta ? 1 : K, ta ? M : 1, true, -0.0f };
    struct tlmk_mm_operand right = { b, N, K, tb ? K : 1, tb ? 1 : N, true, 0.0f };

    left.by_fours = (ta ? M : K) % 4 == 0;
    right.by_fours = (tb ? K : N) % 4 == 0;
    TLMK_UNROLL
    for (int i = batch_rank - 1; i >= 0; i--) {
        left.from += rest % batch_dims[i] * a_strides[i];
        right.from += rest % batch_dims[i] * b_strides[i];
        left.by_fours = left.by_fours && (batch_dims[i] == 1 || a_strides[i] % 4 == 0);
        right.by_fours = right.by_fours && (batch_dims[i] == 1 || b_strides[i] % 4 == 0);
        rest /= batch_dims[i];
    }
    tlmk_mm_move(&left, row, 0);
    tlmk_mm_move(&right, col, 0);
    c += (uint64_t)batch * M * N;
    if (TLMK_MM_ROWS(M, N) == 16) {
        TLM_SHARED(float, shared, TLMK_MM_SHARED(1, 4, 32));

        tlmk_mm_tile<1, 4, 32>(shared, c, &left, &right, row, col, M, N, K);
    } else if (TLMK_MM_ROWS(M, N) == 64) {
        TLM_SHARED(float, shared, TLMK_MM_SHARED(4, 4, 16));

        tlmk_mm_tile<4, 4, 16>(shared, c, &left, &right, row, col, M, N, K);
    } else {
        TLM_SHARED(float, shared, TLMK_MM_SHARED(8, 8, 8));

        tlmk_mm_tile<8, 8, 8>(shared, c, &left, &right, row, col, M, N, K);
    }
}

#endif
