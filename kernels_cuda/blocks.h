/* How the work of each kernel is cut into blocks of TLMK_THREADS threads: geometry that device code
   and the host code that launches it share.  C11 and C++; constants of the shapes alone. */
#ifndef TLMK_BLOCKS_H
#define TLMK_BLOCKS_H

enum {
    TLMK_THREADS = 256, /* of every block: 8 warps */
    TLMK_WARP = 32,
    TLMK_WARPS = TLMK_THREADS / TLMK_WARP,
    TLM_REDUCE_CHUNK = 4096, /* terms of one tree: docs/numerics.md, Sums */
    TLMK_ROW_ALONE = 8192,   /* longer rows take a whole block, shorter ones a warp */
    TLMK_COLUMNS = 32        /* results of one block of a column reduction */
};

#define TLMK_PARTS(n, most) (((n) + (most)-1) / (most))

/* one thread an element */
#define TLMK_BLOCKS(n) TLMK_PARTS((uint64_t)(n), TLMK_THREADS)
/* warps that share a row of `cols` elements */
#define TLMK_ROW_WARPS(cols) ((cols) > TLMK_ROW_ALONE ? TLMK_WARPS : 1)
#define TLMK_ROW_BLOCKS(rows, cols) TLMK_PARTS((uint64_t)(rows), TLMK_WARPS / TLMK_ROW_WARPS(cols))
#define TLMK_COLUMN_BLOCKS(cols) TLMK_PARTS((uint64_t)(cols), TLMK_COLUMNS)
/* [outer, length, inner] -> [outer, inner] */
#define TLMK_REDUCE_BLOCKS(outer, length, inner) \
    ((inner) == 1 ? TLMK_ROW_BLOCKS(outer, length) : (uint64_t)(outer)*TLMK_COLUMN_BLOCKS(inner))
/* One warp a chunk of TLM_REDUCE_CHUNK terms, for long rows: their results are reduced by the same
   rule in a second launch. */
#define TLMK_CHUNKS(length) TLMK_PARTS((uint64_t)(length), TLM_REDUCE_CHUNK)
#define TLMK_CHUNK_BLOCKS(outer, length) \
    TLMK_PARTS((uint64_t)(outer)*TLMK_CHUNKS(length), TLMK_WARPS)
/* one block an update row: it works when its index is the first of its kind */
#define TLMK_SCATTER_BLOCKS(outer, n) ((uint64_t)(outer) * (n))
/* tiles of C: rows and columns by the shape alone */
#define TLMK_MM_ROWS(M, N) ((M) <= 16 ? 16 : (M) <= 64 || (N) <= 64 ? 64 : 128)
#define TLMK_MM_COLS(M, N) ((M) <= 64 || (N) <= 64 ? 64 : 128)
#define TLMK_MATMUL_BLOCKS(M, N, batch)                                \
    ((uint64_t)(batch)*TLMK_PARTS((uint64_t)(M), TLMK_MM_ROWS(M, N)) * \
     TLMK_PARTS((uint64_t)(N), TLMK_MM_COLS(M, N)))

#endif
