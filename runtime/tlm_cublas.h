/* Matrix products through cuBLAS, for plans that chose it: row-major operands, transposes as flags,
   float32 throughout (TF32 off), on the model's stream. */
#ifndef TLM_CUBLAS_H
#define TLM_CUBLAS_H

#include "tlm_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* c[batch, M, N] = a[.., M, K] (ta: stored [K, M]) times b[.., K, N] (tb: stored [N, K]).  Batch
   axes as in tlmk_cpu.h: dims, and the elements between neighbours of each operand, 0 where it
   broadcasts; the innermost becomes one strided-batched call, the others a loop.  K = 0 gives
   zeros. */
typedef struct tlm_cublas_product {
    float *c;
    const float *a, *b;
    uint32_t M, N, K;
    int ta, tb;
    uint32_t batch_rank;
    const uint32_t *batch_dims;
    const uint64_t *a_strides, *b_strides;
} tlm_cublas_product;

tlm_status tlm_cublas_matmul(tlm_cuda *cuda, tlm_rt *rt, const tlm_cublas_product *product,
                             const char *place);

#ifdef __cplusplus
}
#endif
#endif
