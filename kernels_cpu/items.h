/* How the work of each kernel is cut into items: geometry that both kernel families and generated
   code share.  Items depend on shapes alone, never on level or threads. */
#ifndef TLMK_ITEMS_H
#define TLMK_ITEMS_H

#include "tlm_rt.h"

enum {
    TLMK_COLUMNS = 16,       /* results of one reduce item along the inner axis */
    TLMK_SCATTER_WIDTH = 64, /* of one scatter_add item along the inner axis */
    TLMK_MM_ROWS = 264,      /* of one matmul tile, at most */
    TLMK_MM_COLS = 64,
    TLMK_MM_GRAIN = 12 /* rows of a tile are a multiple of it, but for the last */
};

/* One of several tensors that one loop works on: its elements, and the first of its items. */
struct tlmk_span {
    uint32_t count, first;
};
_Static_assert(sizeof(struct tlmk_span) == 8, "as in kernels_cuda/reduce.cuh");

#define TLMK_PARTS(n, most) (((size_t)(n) + (most)-1) / (most))

/* Rows of a walk: the product of all sizes but the last; 1 for rank 0. */
TLM_INLINE size_t tlmk_rows(int rank, const size_t *dims)
{
    size_t rows = 1;

    for (int i = 0; i + 1 < rank; i++)
        rows *= dims[i];
    return rows;
}

#define TLMK_ROWS(rank, dims) tlmk_rows((rank), (dims))
#define TLMK_COLUMN_ITEMS(I) TLMK_PARTS(I, TLMK_COLUMNS)
#define TLMK_REDUCE_ITEMS(O, R, I) ((size_t)(O)*TLMK_COLUMN_ITEMS(I))
#define TLMK_SCATTER_ITEMS(outer, inner) ((size_t)(outer)*TLMK_PARTS(inner, TLMK_SCATTER_WIDTH))
#define TLMK_MATMUL_ITEMS(M, N, batch) \
    ((size_t)(batch)*TLMK_PARTS(M, TLMK_MM_ROWS) * TLMK_PARTS(N, TLMK_MM_COLS))

/* The coordinates of row `item` along all axes but the last, and the next row's. */
TLM_INLINE void tlmk_unravel(size_t item, int rank, const size_t *dims, size_t *at)
{
    for (int i = rank - 2; i >= 0; i--) {
        at[i] = item % dims[i];
        item /= dims[i];
    }
}

TLM_INLINE void tlmk_next_row(int rank, const size_t *dims, size_t *at)
{
    for (int i = rank - 2; i >= 0; i--) {
        if (++at[i] < dims[i])
            return;
        at[i] = 0;
    }
}

/* A reduce item over [O, R, I]: results y[o * I + i ...], `width` of them. */
struct tlmk_reduce_item {
    size_t o, i, width;
};

TLM_INLINE struct tlmk_reduce_item tlmk_reduce_at(size_t item, size_t I)
{
    const size_t blocks = TLMK_COLUMN_ITEMS(I);
    const size_t i = item % blocks * TLMK_COLUMNS;
    const size_t left = I - i;
    const struct tlmk_reduce_item at = { item / blocks, i,
                                         left < TLMK_COLUMNS ? left : TLMK_COLUMNS };

    return at;
}

/* A matmul item: rows x cols of C from (row, col), in matrix `batch`. */
struct tlmk_matmul_item {
    size_t batch, row, col, rows, cols;
};

TLM_INLINE struct tlmk_matmul_item tlmk_matmul_at(size_t item, size_t M, size_t N)
{
    const size_t row_parts = TLMK_PARTS(M, TLMK_MM_ROWS), col_parts = TLMK_PARTS(N, TLMK_MM_COLS);
    const size_t most = TLMK_PARTS(TLMK_PARTS(M, row_parts), TLMK_MM_GRAIN) * TLMK_MM_GRAIN;
    const size_t row = item % row_parts * most;
    const size_t col = item / row_parts % col_parts * TLMK_MM_COLS;
    const struct tlmk_matmul_item at = { item / row_parts / col_parts, row, col,
                                         M - row < most ? M - row : most,
                                         N - col < TLMK_MM_COLS ? N - col : TLMK_MM_COLS };

    return at;
}

/* Offsets of both operands for matrix `batch`, batch axes with their strides (0: broadcasts). */
TLM_INLINE void tlmk_matmul_batch(size_t batch, int rank, const size_t *dims,
                                  const size_t *a_strides, const size_t *b_strides, size_t *a,
                                  size_t *b)
{
    *a = *b = 0;
    for (int i = rank - 1; i >= 0; i--) {
        *a += batch % dims[i] * a_strides[i];
        *b += batch % dims[i] * b_strides[i];
        batch /= dims[i];
    }
}

#endif
