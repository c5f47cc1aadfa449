/* Matrix products, chain512: the k axis in blocks of TLM_K_BLOCK, each block one chain of fused
   multiply-adds from +0 in ascending k, blocks added left to right (docs/numerics.md, Products).
   Tiles, packing, levels and threads are therefore free: every one of them leaves each chain as it
   is.

   An item is a tile of C: up to TLMK_MM_ROWS rows (in equal parts) by TLMK_MM_COLS columns.  It
   packs the block of B it needs into panels on the stack and runs register-blocked kernels over
   them; A is read in place, or packed when it is stored transposed.  A thread needs 256 KiB of
   stack.  Small tiles run plain loops, inlined where the call is. */
#ifndef TLMK_MATMUL_H
#define TLMK_MATMUL_H

#include "items.h"
#include "tlm_math.h"

enum {
    TLM_K_BLOCK = 512,
    TLMK_MM_SMALL = 4096, /* products below it are not worth a tile */
    TLMK_MM_GROUP = 48,   /* rows of a transposed A packed together: a multiple of tall kernels */
    /* Packed blocks keep a gap: at multiples of 4 KiB all would compete for the same cache
       lines. */
    TLMK_MM_GAP_A = 4,
    TLMK_MM_GAP_B = 1
};

/* One tile: c[i * c_row + j], a[i * a_row + k * a_k], b[k * b_k + j * b_col]. */
struct tlmk_mm_tile {
    float *c;
    const float *a, *b;
    size_t rows, cols, k;
    size_t c_row, a_row, a_k, b_k, b_col;
};

/* A register kernel: some rows by two vectors of C over one block of k.  b is a panel whose rows
   lie b_k apart; `first` stores the block, else it is added to C. */
typedef void tlmk_mm_kernel(size_t k, const float *a, size_t a_row, size_t a_k, const float *b,
                            size_t b_k, float *c, size_t c_row, int first);

/* Lane by lane: both compilers make one instruction of it, and neither may contract anything
   else. */
#define TLMK_MM_FMA(acc, y)                                  \
    {                                                        \
        vector r_;                                           \
        for (int l_ = 0; l_ < lanes; l_++)                   \
            r_[l_] = __builtin_fmaf(x_, (y)[l_], (acc)[l_]); \
        (acc) = r_;                                          \
    }
#define TLMK_MM_DECLARE(i, address) vector c##i##0 = { 0 }, c##i##1 = { 0 };
#define TLMK_MM_STEP(i, address)    \
    {                               \
        const float x_ = (address); \
        TLMK_MM_FMA(c##i##0, b0)    \
        TLMK_MM_FMA(c##i##1, b1)    \
    }
#define TLMK_MM_STORE(i, address)              \
    {                                          \
        loose *to_ = (loose *)(c + (i)*c_row); \
                                               \
        if (!first) {                          \
            c##i##0 = to_[0] + c##i##0;        \
            c##i##1 = to_[1] + c##i##1;        \
        }                                      \
        to_[0] = c##i##0;                      \
        to_[1] = c##i##1;                      \
    }

/* Rows and where their element of A is: three rows a pointer, so that each address is one
   instruction's. */
#define TLMK_MM_ROWS_1(X) X(0, p0[0])
#define TLMK_MM_ROWS_2(X) TLMK_MM_ROWS_1(X) X(1, p0[a_row])
#define TLMK_MM_ROWS_4(X) TLMK_MM_ROWS_2(X) X(2, p0[2 * a_row]) X(3, p1[0])
#define TLMK_MM_ROWS_6(X) TLMK_MM_ROWS_4(X) X(4, p1[a_row]) X(5, p1[2 * a_row])
#define TLMK_MM_ROWS_12(X) \
    TLMK_MM_ROWS_6(X)      \
    X(6, p2[0])            \
    X(7, p2[a_row]) X(8, p2[2 * a_row]) X(9, p3[0]) X(10, p3[a_row]) X(11, p3[2 * a_row])

#define TLMK_MM_KERNEL(name, target, width, count)                                               \
    target __attribute__((noinline, unused)) static void name(size_t k, const float *a,          \
                                                              size_t a_row, size_t a_k,          \
                                                              const float *b, size_t b_k,        \
                                                              float *c, size_t c_row, int first) \
    {                                                                                            \
        enum { lanes = (width) };                                                                \
        typedef float vector __attribute__((vector_size(4 * (width))));                          \
        typedef float loose __attribute__((vector_size(4 * (width)), aligned(4), may_alias));    \
        const float *p0 = a, *p1 = a + 3 * a_row, *p2 = a + 6 * a_row, *p3 = a + 9 * a_row;      \
                                                                                                 \
        (void)p1, (void)p2, (void)p3;                                                            \
        TLMK_MM_ROWS_##count(TLMK_MM_DECLARE) for (; k > 0; k--)                                 \
        {                                                                                        \
            const vector b0 = ((const loose *)b)[0], b1 = ((const loose *)b)[1];                 \
                                                                                                 \
            TLMK_MM_ROWS_##count(TLMK_MM_STEP) p0 += a_k;                                        \
            p1 += a_k;                                                                           \
            p2 += a_k;                                                                           \
            p3 += a_k;                                                                           \
            b += b_k;                                                                            \
        }                                                                                        \
        TLMK_MM_ROWS_##count(TLMK_MM_STORE)                                                      \
    }

#define TLMK_MM_ANYWHERE
TLMK_MM_KERNEL(tlmk_mm_4x8_base, TLMK_MM_ANYWHERE, 4, 4)
TLMK_MM_KERNEL(tlmk_mm_1x8_base, TLMK_MM_ANYWHERE, 4, 1)

#if TLM_HAS_X86_LEVELS
TLMK_MM_KERNEL(tlmk_mm_6x16_avx2, TLM_TARGET_AVX2, 8, 6)
TLMK_MM_KERNEL(tlmk_mm_4x16_avx2, TLM_TARGET_AVX2, 8, 4)
TLMK_MM_KERNEL(tlmk_mm_2x16_avx2, TLM_TARGET_AVX2, 8, 2)
TLMK_MM_KERNEL(tlmk_mm_1x16_avx2, TLM_TARGET_AVX2, 8, 1)
TLMK_MM_KERNEL(tlmk_mm_12x32_avx512, TLM_TARGET_AVX512, 16, 12)
TLMK_MM_KERNEL(tlmk_mm_6x32_avx512, TLM_TARGET_AVX512, 16, 6)
TLMK_MM_KERNEL(tlmk_mm_4x32_avx512, TLM_TARGET_AVX512, 16, 4)
TLMK_MM_KERNEL(tlmk_mm_2x32_avx512, TLM_TARGET_AVX512, 16, 2)
TLMK_MM_KERNEL(tlmk_mm_1x32_avx512, TLM_TARGET_AVX512, 16, 1)

/* One row by 64 columns, for matrix times vector: eight chains hide the latency that two would
   show. */
#define TLMK_MM_WIDE(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define TLMK_MM_WIDE_DECLARE(i) vector c##i = { 0 };
#define TLMK_MM_WIDE_STEP(i) TLMK_MM_FMA(c##i, ((const loose *)b)[i])
#define TLMK_MM_WIDE_STORE(i) to[i] = first ? c##i : (vector)(to[i] + c##i);
TLM_TARGET_AVX2 __attribute__((noinline, unused)) static void
tlmk_mm_1x64_avx2(size_t k, const float *a, size_t a_k, const float *b, size_t b_k, float *c,
                  int first)
{
    enum { lanes = 8 };
    typedef float vector __attribute__((vector_size(32)));
    typedef float loose __attribute__((vector_size(32), aligned(4), may_alias));
    loose *to = (loose *)c;

    TLMK_MM_WIDE(TLMK_MM_WIDE_DECLARE)
    for (; k > 0; k--) {
        const float x_ = *a;

        TLMK_MM_WIDE(TLMK_MM_WIDE_STEP)
        a += a_k;
        b += b_k;
    }
    TLMK_MM_WIDE(TLMK_MM_WIDE_STORE)
}
#undef TLMK_MM_WIDE
#undef TLMK_MM_WIDE_DECLARE
#undef TLMK_MM_WIDE_STEP
#undef TLMK_MM_WIDE_STORE

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define TLMK_MM_SHUFFLES 1
#endif
#endif

#ifdef TLMK_MM_SHUFFLES
/* to[k * to_row + j] = from[j * from_row + k] for 8 by 8 elements */
#define TLMK_MM_LOW(x, y) __builtin_shufflevector(x, y, 0, 8, 1, 9, 4, 12, 5, 13)
#define TLMK_MM_HIGH(x, y) __builtin_shufflevector(x, y, 2, 10, 3, 11, 6, 14, 7, 15)
#define TLMK_MM_PAIRS_LOW(x, y) __builtin_shufflevector(x, y, 0, 1, 8, 9, 4, 5, 12, 13)
#define TLMK_MM_PAIRS_HIGH(x, y) __builtin_shufflevector(x, y, 2, 3, 10, 11, 6, 7, 14, 15)
#define TLMK_MM_HALVES_LOW(x, y) __builtin_shufflevector(x, y, 0, 1, 2, 3, 8, 9, 10, 11)
#define TLMK_MM_HALVES_HIGH(x, y) __builtin_shufflevector(x, y, 4, 5, 6, 7, 12, 13, 14, 15)
TLM_TARGET_AVX2 __attribute__((noinline, unused)) static void
tlmk_mm_transpose_avx2(float *to, size_t to_row, const float *from, size_t from_row, size_t blocks)
{
    typedef float vector __attribute__((vector_size(32)));
    typedef float loose __attribute__((vector_size(32), aligned(4), may_alias));

    for (; blocks > 0; blocks--, from += 8, to += 8 * to_row) {
        const vector x0 = *(const loose *)from, x1 = *(const loose *)(from + from_row);
        const vector x2 = *(const loose *)(from + 2 * from_row),
                     x3 = *(const loose *)(from + 3 * from_row);
        const vector x4 = *(const loose *)(from + 4 * from_row),
                     x5 = *(const loose *)(from + 5 * from_row);
        const vector x6 = *(const loose *)(from + 6 * from_row),
                     x7 = *(const loose *)(from + 7 * from_row);
        const vector y0 = TLMK_MM_LOW(x0, x1), y1 = TLMK_MM_HIGH(x0, x1), y2 = TLMK_MM_LOW(x2, x3);
        const vector y3 = TLMK_MM_HIGH(x2, x3), y4 = TLMK_MM_LOW(x4, x5), y5 = TLMK_MM_HIGH(x4, x5);
        const vector y6 = TLMK_MM_LOW(x6, x7), y7 = TLMK_MM_HIGH(x6, x7);
        const vector z0 = TLMK_MM_PAIRS_LOW(y0, y2), z1 = TLMK_MM_PAIRS_HIGH(y0, y2);
        const vector z2 = TLMK_MM_PAIRS_LOW(y1, y3), z3 = TLMK_MM_PAIRS_HIGH(y1, y3);
        const vector z4 = TLMK_MM_PAIRS_LOW(y4, y6), z5 = TLMK_MM_PAIRS_HIGH(y4, y6);
        const vector z6 = TLMK_MM_PAIRS_LOW(y5, y7), z7 = TLMK_MM_PAIRS_HIGH(y5, y7);

        *(loose *)to = TLMK_MM_HALVES_LOW(z0, z4);
        *(loose *)(to + to_row) = TLMK_MM_HALVES_LOW(z1, z5);
        *(loose *)(to + 2 * to_row) = TLMK_MM_HALVES_LOW(z2, z6);
        *(loose *)(to + 3 * to_row) = TLMK_MM_HALVES_LOW(z3, z7);
        *(loose *)(to + 4 * to_row) = TLMK_MM_HALVES_HIGH(z0, z4);
        *(loose *)(to + 5 * to_row) = TLMK_MM_HALVES_HIGH(z1, z5);
        *(loose *)(to + 6 * to_row) = TLMK_MM_HALVES_HIGH(z2, z6);
        *(loose *)(to + 7 * to_row) = TLMK_MM_HALVES_HIGH(z3, z7);
    }
}
#undef TLMK_MM_LOW
#undef TLMK_MM_HIGH
#undef TLMK_MM_PAIRS_LOW
#undef TLMK_MM_PAIRS_HIGH
#undef TLMK_MM_HALVES_LOW
#undef TLMK_MM_HALVES_HIGH
#endif
#endif

/* What a level brings: vector length and kernels from the tallest down; every list ends with one
   row. */
struct tlmk_mm_level {
    int lanes;
    int rows[5];
    tlmk_mm_kernel *kernels[5];
};

/* A panel of B stored row by row: the `left` columns from column j on, `width` wide with zeros. */
TLM_INLINE void tlmk_mm_copy_row(float *panel, size_t width, const float *b, size_t left)
{
    if (left >= width) {
        for (size_t j = 0; j < width; j++)
            panel[j] = b[j];
    } else {
        for (size_t j = 0; j < width; j++)
            panel[j] = j < left ? b[j] : 0.0f;
    }
}

/* All panels of a block of k, row by row: each row of B is read in one go. */
TLM_INLINE void tlmk_mm_pack_rows(float *packed, size_t width, const float *b, size_t b_k, size_t k,
                                  size_t cols)
{
    for (size_t p = 0; p < k; p++)
        for (size_t j = 0; j < cols; j += width)
            tlmk_mm_copy_row(packed + j * (k + TLMK_MM_GAP_B) + p * width, width, b + p * b_k + j,
                             cols - j);
}

/* One panel of B stored column by column. */
TLM_INLINE void tlmk_mm_pack_columns(float *panel, size_t width, const float *b, size_t b_k,
                                     size_t b_col, size_t k, size_t cols, int lanes)
{
    size_t done = 0;

#ifdef TLMK_MM_SHUFFLES
    if (b_k == 1 && lanes >= 8)
        for (; done + 8 <= cols; done += 8) {
            const size_t whole = k / 8 * 8;

            tlmk_mm_transpose_avx2(panel + done, width, b + done * b_col, b_col, k / 8);
            for (size_t p = whole; p < k; p++)
                for (size_t j = done; j < done + 8; j++)
                    panel[p * width + j] = b[p + j * b_col];
        }
#else
    (void)lanes;
#endif
    for (size_t p = 0; p < k; p++) {
        for (size_t j = done; j < cols; j++)
            panel[p * width + j] = b[p * b_k + j * b_col];
        for (size_t j = cols; j < width; j++)
            panel[p * width + j] = 0.0f;
    }
}

/* Neighbouring rows of A stored transposed: `blocks` blocks of `height` rows, each k by k. */
TLM_INLINE void tlmk_mm_pack_blocks(float *packed, size_t height, size_t blocks, const float *a,
                                    size_t a_k, size_t k)
{
    for (size_t p = 0; p < k; p++)
        for (size_t q = 0; q < blocks; q++)
            memcpy(packed + q * height * (k + TLMK_MM_GAP_A) + p * height, a + p * a_k + q * height,
                   height * sizeof *a);
}

/* Up to TLMK_MM_GROUP rows in the blocks that the kernels take, with constant sizes. */
TLM_INLINE void tlmk_mm_pack_a(float *packed, const struct tlmk_mm_level *level, size_t rows,
                               const float *a, size_t a_k, size_t k)
{
    const size_t tallest = (size_t)level->rows[0];
    size_t row = 0;

    if (rows >= TLMK_MM_GROUP) {
        tlmk_mm_pack_blocks(packed, tallest, TLMK_MM_GROUP / tallest, a, a_k, k);
        return;
    }
    for (int choice = 0; row < rows;) {
        float *to = packed + row * (k + TLMK_MM_GAP_A);
        const size_t height = (size_t)level->rows[choice];

        if (height > rows - row) {
            choice++;
            continue;
        }
        if (height == tallest)
            tlmk_mm_pack_blocks(to, tallest, 1, a + row, a_k, k);
        else if (height == 6)
            tlmk_mm_pack_blocks(to, 6, 1, a + row, a_k, k);
        else if (height == 4)
            tlmk_mm_pack_blocks(to, 4, 1, a + row, a_k, k);
        else if (height == 2)
            tlmk_mm_pack_blocks(to, 2, 1, a + row, a_k, k);
        else
            tlmk_mm_pack_blocks(to, 1, 1, a + row, a_k, k);
        row += height;
    }
}

/* All panels of a row block: c over one block of k. */
TLM_INLINE void tlmk_mm_row_block(const struct tlmk_mm_tile *t, tlmk_mm_kernel *kernel, size_t rows,
                                  size_t width, size_t row, const float *a, size_t a_row,
                                  size_t a_k, const float *const *panels, const size_t *panel_k,
                                  size_t k, int first)
{
    float edge[TLMK_MM_GRAIN * 2 * 16];

    for (size_t j = 0, panel = 0; j < t->cols; j += width, panel++) {
        float *c = t->c + row * t->c_row + j;
        const size_t cols = t->cols - j < width ? t->cols - j : width;

        if (cols == width) {
            kernel(k, a, a_row, a_k, panels[panel], panel_k[panel], c, t->c_row, first);
            continue;
        }
        kernel(k, a, a_row, a_k, panels[panel], panel_k[panel], edge, width, 1);
        for (size_t i = 0; i < rows; i++)
            for (size_t q = 0; q < cols; q++)
                c[i * t->c_row + q] =
                    first ? edge[i * width + q] : c[i * t->c_row + q] + edge[i * width + q];
    }
}

TLM_INLINE void tlmk_mm_run_tile(const struct tlmk_mm_tile *t, const struct tlmk_mm_level *level)
{
    float packed_b[(TLM_K_BLOCK + TLMK_MM_GAP_B) * TLMK_MM_COLS] __attribute__((aligned(64)));
    float packed_a[(TLM_K_BLOCK + TLMK_MM_GAP_A) * TLMK_MM_GROUP] __attribute__((aligned(64)));
    const size_t width = 2 * (size_t)level->lanes;
    const int pack_a = t->a_row == 1 && t->a_k > 1 && t->cols > width;

    for (size_t begin = 0; begin < t->k; begin += TLM_K_BLOCK) {
        const size_t k = t->k - begin < TLM_K_BLOCK ? t->k - begin : TLM_K_BLOCK;
        const float *b = t->b + begin * t->b_k;
        const float *panels[TLMK_MM_COLS / 8];
        size_t panel_k[TLMK_MM_COLS / 8], rows;
        const int in_place = t->b_col == 1 && t->rows <= TLMK_MM_GRAIN;
        int choice = 0;

#if TLM_HAS_X86_LEVELS
        if (level->lanes >= 8 && t->rows == 1 && t->cols == 64 && t->b_col == 1) {
            tlmk_mm_1x64_avx2(k, t->a + begin * t->a_k, t->a_k, b, t->b_k, t->c, begin == 0);
            continue;
        }
#endif
        if (t->b_col == 1 && !in_place)
            tlmk_mm_pack_rows(packed_b, width, b, t->b_k, k, t->cols);
        for (size_t j = 0, panel = 0; j < t->cols; j += width, panel++) {
            const size_t cols = t->cols - j < width ? t->cols - j : width;

            panels[panel] = in_place && cols == width ? b + j : packed_b + j * (k + TLMK_MM_GAP_B);
            panel_k[panel] = in_place && cols == width ? t->b_k : width;
            if (in_place ? cols < width : t->b_col != 1)
                tlmk_mm_pack_columns(packed_b + j * (k + TLMK_MM_GAP_B), width, b + j * t->b_col,
                                     t->b_k, t->b_col, k, cols, level->lanes);
        }
        for (size_t row = 0; row < t->rows; row += rows) {
            const float *a = t->a + row * t->a_row + begin * t->a_k;
            const size_t place = row % TLMK_MM_GROUP;

            while ((size_t)level->rows[choice] > t->rows - row)
                choice++;
            rows = (size_t)level->rows[choice];
            if (pack_a && place == 0)
                tlmk_mm_pack_a(packed_a, level, t->rows - row, a, t->a_k, k);
            if (pack_a)
                tlmk_mm_row_block(t, level->kernels[choice], rows, width, row,
                                  packed_a + place * (k + TLMK_MM_GAP_A), 1, rows, panels, panel_k,
                                  k, begin == 0);
            else
                tlmk_mm_row_block(t, level->kernels[choice], rows, width, row, a, t->a_row, t->a_k,
                                  panels, panel_k, k, begin == 0);
        }
    }
}

__attribute__((noinline, unused)) static void tlmk_mm_tile_base(const struct tlmk_mm_tile *t)
{
    static const struct tlmk_mm_level level = { 4,
                                                { 4, 1 },
                                                { tlmk_mm_4x8_base, tlmk_mm_1x8_base } };

    tlmk_mm_run_tile(t, &level);
}

#if TLM_HAS_X86_LEVELS
TLM_TARGET_AVX2 __attribute__((noinline, unused)) static void
tlmk_mm_tile_avx2(const struct tlmk_mm_tile *t)
{
    static const struct tlmk_mm_level level = { 8,
                                                { 6, 4, 2, 1 },
                                                { tlmk_mm_6x16_avx2, tlmk_mm_4x16_avx2,
                                                  tlmk_mm_2x16_avx2, tlmk_mm_1x16_avx2 } };

    tlmk_mm_run_tile(t, &level);
}

TLM_TARGET_AVX512 __attribute__((noinline, unused)) static void
tlmk_mm_tile_avx512(const struct tlmk_mm_tile *t)
{
    static const struct tlmk_mm_level level = { 16,
                                                { 12, 6, 4, 2, 1 },
                                                { tlmk_mm_12x32_avx512, tlmk_mm_6x32_avx512,
                                                  tlmk_mm_4x32_avx512, tlmk_mm_2x32_avx512,
                                                  tlmk_mm_1x32_avx512 } };

    tlmk_mm_run_tile(t, &level);
}
#endif

/* Plain loops, eight columns at a time: one block of k. */
TLM_INLINE void tlmk_mm_small(const struct tlmk_mm_tile *t)
{
    for (size_t i = 0; i < t->rows; i++) {
        size_t j = 0;

        for (; j + 8 <= t->cols; j += 8) {
            float acc[8] = { 0.0f };

            for (size_t p = 0; p < t->k; p++)
                for (size_t l = 0; l < 8; l++)
                    acc[l] = tlm_fma(t->a[i * t->a_row + p * t->a_k],
                                     t->b[p * t->b_k + (j + l) * t->b_col], acc[l]);
            for (size_t l = 0; l < 8; l++)
                t->c[i * t->c_row + j + l] = acc[l];
        }
        for (; j < t->cols; j++) {
            float acc = 0.0f;

            for (size_t p = 0; p < t->k; p++)
                acc =
                    tlm_fma(t->a[i * t->a_row + p * t->a_k], t->b[p * t->b_k + j * t->b_col], acc);
            t->c[i * t->c_row + j] = acc;
        }
    }
}

TLM_INLINE void tlmk_mm_tile_at(const int level, const struct tlmk_mm_tile *t)
{
#if TLM_HAS_X86_LEVELS
    if (level >= TLM_CPU_AVX512)
        tlmk_mm_tile_avx512(t);
    else if (level >= TLM_CPU_AVX2)
        tlmk_mm_tile_avx2(t);
    else
        tlmk_mm_tile_base(t);
#else
    (void)level;
    tlmk_mm_tile_base(t);
#endif
}

/* A column of C is a row of its transpose: the chains are the same, and 64 rows of A go side by
   side. */
TLM_INLINE void tlmk_mm_column(const int level, const struct tlmk_mm_tile *t)
{
    for (size_t row = 0; row < t->rows; row += TLMK_MM_COLS) {
        const size_t left = t->rows - row;
        const struct tlmk_mm_tile turned = { .c = t->c + row,
                                             .a = t->b,
                                             .b = t->a + row * t->a_row,
                                             .rows = 1,
                                             .cols = left < TLMK_MM_COLS ? left : TLMK_MM_COLS,
                                             .k = t->k,
                                             .c_row = t->rows,
                                             .a_row = 1,
                                             .a_k = t->b_k,
                                             .b_k = t->a_k,
                                             .b_col = t->a_row };

        tlmk_mm_tile_at(level, &turned);
    }
}

/* c[batch, M, N] = a[.., M, K] (ta: stored [K, M]) times b[.., K, N] (tb: stored [N, K]) */
TLM_INLINE void tlmk_f32_matmul__cpu_packed(const int level, float *c, const float *a,
                                            const float *b, size_t M, size_t N, size_t K, int ta,
                                            int tb, int batch_rank, const size_t *batch_dims,
                                            const size_t *a_strides, const size_t *b_strides,
                                            size_t begin, size_t end)
{
    for (size_t item = begin; item < end; item++) {
        const struct tlmk_matmul_item at = tlmk_matmul_at(item, M, N);
        size_t a_batch, b_batch;
        struct tlmk_mm_tile t = { .rows = at.rows,
                                  .cols = at.cols,
                                  .k = K,
                                  .c_row = N,
                                  .a_row = ta ? 1 : K,
                                  .a_k = ta ? M : 1,
                                  .b_k = tb ? 1 : N,
                                  .b_col = tb ? K : 1 };

        tlmk_matmul_batch(at.batch, batch_rank, batch_dims, a_strides, b_strides, &a_batch,
                          &b_batch);
        t.c = c + (at.batch * M + at.row) * N + at.col;
        t.a = a + a_batch + at.row * t.a_row;
        t.b = b + b_batch + at.col * t.b_col;
        if (K <= TLM_K_BLOCK && t.rows * t.cols * K <= TLMK_MM_SMALL)
            tlmk_mm_small(&t);
        else if (N == 1)
            tlmk_mm_column(level, &t);
        else
            tlmk_mm_tile_at(level, &t);
    }
}

#undef TLMK_MM_FMA
#undef TLMK_MM_DECLARE
#undef TLMK_MM_STEP
#undef TLMK_MM_STORE
#undef TLMK_MM_ROWS_1
#undef TLMK_MM_ROWS_2
#undef TLMK_MM_ROWS_4
#undef TLMK_MM_ROWS_6
#undef TLMK_MM_ROWS_12
#undef TLMK_MM_KERNEL
#undef TLMK_MM_ANYWHERE
#undef TLMK_MM_SHUFFLES

#endif
