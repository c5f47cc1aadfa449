/* Matrix product by its definition: one sum a result, k ascending, multiply, then add. */
#ifndef TLMR_MATMUL_H
#define TLMR_MATMUL_H

#include "items.h"

TLM_INLINE void tlmk_f32_matmul__ref_left(const int level, float *c, const float *a, const float *b,
                                          size_t M, size_t N, size_t K, int ta, int tb,
                                          int batch_rank, const size_t *batch_dims,
                                          const size_t *a_strides, const size_t *b_strides,
                                          size_t begin, size_t end)
{
    (void)level;
    for (size_t item = begin; item < end; item++) {
        const struct tlmk_matmul_item at = tlmk_matmul_at(item, M, N);
        size_t a_batch, b_batch;

        tlmk_matmul_batch(at.batch, batch_rank, batch_dims, a_strides, b_strides, &a_batch,
                          &b_batch);
        for (size_t i = at.row; i < at.row + at.rows; i++)
            for (size_t j = at.col; j < at.col + at.cols; j++) {
                float sum = 0.0f;

                for (size_t k = 0; k < K; k++) {
                    const float left = a[a_batch + (ta ? k * M + i : i * K + k)];
                    const float right = b[b_batch + (tb ? j * K + k : k * N + j)];

                    sum = sum + left * right;
                }
                c[(at.batch * M + i) * N + j] = sum;
            }
    }
}

#endif
