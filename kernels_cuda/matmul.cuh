/* Matrix products, chain512: the k axis in blocks of TLM_K_BLOCK, each block one chain of fused
   multiply-adds from +0 in ascending k, blocks added left to right (docs/numerics.md, Products). */
#ifndef TLMK_MATMUL_CUH
#define TLMK_MATMUL_CUH

#include "tlm_math.h"

#include "device.cuh"

enum { TLM_K_BLOCK = 512 };

TLM_INLINE void tlmk_f32_matmul__cuda_tiled(float *c, const float *a, const float *b, uint32_t M,
                                            uint32_t N, uint32_t K, int ta, int tb, int batch_rank,
                                            const uint32_t *batch_dims, const uint64_t *a_strides,
                                            const uint64_t *b_strides)
{
    const uint32_t tile_rows = TLMK_MM_ROWS(M, N), tile_cols = TLMK_MM_COLS(M, N);
    const uint32_t row_parts = TLMK_PARTS(M, tile_rows), col_parts = TLMK_PARTS(N, tile_cols);
    const uint32_t row_first = blockIdx.x % row_parts * tile_rows;
    const uint32_t col_first = blockIdx.x / row_parts % col_parts * tile_cols;
    const uint32_t batch = blockIdx.x / row_parts / col_parts;
    uint32_t rest = batch;

    TLMK_UNROLL
    for (int i = batch_rank - 1; i >= 0; i--) {
        a += rest % batch_dims[i] * a_strides[i];
        b += rest % batch_dims[i] * b_strides[i];
        rest /= batch_dims[i];
    }
    c += (uint64_t)batch * M * N;
    for (uint32_t e = threadIdx.x; e < tile_rows * tile_cols; e += TLMK_THREADS) {
        const uint32_t row = row_first + e / tile_cols, col = col_first + e % tile_cols;
        float sum = 0.0f;

        if (row >= M || col >= N)
            continue;
        for (uint32_t first = 0; first < K; first += TLM_K_BLOCK) {
            float chain = 0.0f;

            for (uint32_t k = first; k < K && k < first + TLM_K_BLOCK; k++)
                chain = tlm_fma(a[ta ? (uint64_t)k * M + row : (uint64_t)row * K + k],
                                b[tb ? (uint64_t)col * K + k : (uint64_t)k * N + col], chain);
            sum = first == 0 ? chain : sum + chain;
        }
        c[(uint64_t)row * N + col] = sum;
    }
}

#endif
