/* Matrix products through cuBLAS, for plans that chose it.  Row-major operands are read as the
   column-major transposes that they are, so C = A B becomes C' = B' A' and nothing is copied.
   float32 throughout: the default math mode, in which cuBLAS uses no TF32.  Handle and workspace
   are made at the first product and live as long as the session; with one stream and one
   workspace cuBLAS repeats its results bit for bit.  Sizes beyond cuBLAS's int are refused. */
#include "tlm_cublas.h"

#include "cuda_buffer.h"
#include "cuda_session.h"

#include <cublas_v2.h>

#include <stdlib.h>

/* Enough for every algorithm; NVIDIA's advice is 4 MiB, 32 MiB from Hopper on. */
enum { PRODUCT_WORKSPACE = 32 << 20 };

struct product_library {
    cublasHandle_t handle;
    tlm_cuda_buffer *workspace;
};

static const char *product_status_name(cublasStatus_t status)
{
    switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED: return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH: return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_MAPPING_ERROR: return "CUBLAS_STATUS_MAPPING_ERROR";
    case CUBLAS_STATUS_EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR: return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
    case CUBLAS_STATUS_LICENSE_ERROR: return "CUBLAS_STATUS_LICENSE_ERROR";
    }
    return "unknown cuBLAS status";
}

/* As the CUDA calls': a failure lasts for the session's life. */
static tlm_status product_result(struct tlm_cuda_session *session, tlm_rt *rt,
                                 cublasStatus_t status, const char *place, const char *doing)
{
    if (status == CUBLAS_STATUS_SUCCESS)
        return TLM_OK;
    cudaGetLastError();
    session->status =
        tlm_cuda_fail(session->message, TLM_ERR_DEVICE, "%s: %s: cuBLAS refused or failed (%s)",
                      place, product_status_name(status), doing);
    return tlm_cuda_fail(rt->error, session->status, "%s", session->message);
}

static void product_end(void *products)
{
    struct product_library *const library = products;

    if (library->handle)
        cublasDestroy(library->handle);
    if (library->workspace)
        tlm_cuda_buffer_discard(library->workspace, NULL);
    free(library);
}

/* The handle, on the session's stream with the session's workspace: the default one would be
   allocated inside of captures. */
static tlm_status product_begin(struct tlm_cuda_session *session, tlm_rt *rt, const char *place)
{
    struct product_library *const library = calloc(1, sizeof *library);
    tlm_status status;

    if (!library)
        return tlm_cuda_fail(rt->error, TLM_ERR_MEMORY, "%s: no memory for cuBLAS", place);
    session->products = library; /* closing the session ends it, whatever fails here */
    session->end_products = product_end;
    status = product_result(session, rt, cublasCreate(&library->handle), place, "cublasCreate");
    if (status == TLM_OK)
        status = product_result(session, rt, cublasSetStream(library->handle, session->stream),
                                place, "cublasSetStream");
    if (status == TLM_OK) {
        status = tlm_cuda_buffer_new(&library->workspace, PRODUCT_WORKSPACE, session->message);
        if (status != TLM_OK) {
            session->status = status;
            tlm_cuda_fail(rt->error, status, "%s", session->message);
        }
    }
    if (status == TLM_OK)
        status = product_result(session, rt,
                                cublasSetWorkspace(library->handle,
                                                   tlm_cuda_buffer_address(library->workspace),
                                                   PRODUCT_WORKSPACE),
                                place, "cublasSetWorkspace");
    if (status == TLM_OK)
        status =
            product_result(session, rt, cublasSetMathMode(library->handle, CUBLAS_DEFAULT_MATH),
                           place, "cublasSetMathMode");
    return status;
}

/* Do the elements of one operand, or of the results, fit the uint32 of planned tensors?  Batch axes
   that it is repeated along (stride 0; strides NULL: none) are not in memory.  An axis of 0 counts
   as 1: it hides no other. */
static bool product_tensor_fits(const tlm_cublas_product *product, uint32_t rows, uint32_t columns,
                                const uint64_t *strides)
{
    const uint32_t rank = product->batch_rank;
    uint64_t dims[TLM_MAX_RANK];
    uint32_t count;

    for (uint32_t i = 0; i < rank; i++)
        dims[i] = strides && strides[i] == 0 ? 1 : product->batch_dims[i];
    dims[rank] = rows;
    dims[rank + 1] = columns;
    for (uint32_t i = 0; i < rank + 2; i++)
        dims[i] += dims[i] == 0;
    return tlm_cuda_check_shape(rank + 2, dims, &count) == TLM_OK;
}

/* Everything cuBLAS counts in int, and the planned tensors in uint32. */
static tlm_status product_check(const tlm_cublas_product *product, tlm_rt *rt, const char *place)
{
    bool fits = product->M <= INT32_MAX && product->N <= INT32_MAX && product->K <= INT32_MAX &&
                product->batch_rank <= TLM_MAX_RANK - 2;

    for (uint32_t i = 0; fits && i < product->batch_rank; i++)
        fits = product->batch_dims[i] <= INT32_MAX;
    fits = fits && product_tensor_fits(product, product->M, product->N, NULL) &&
           product_tensor_fits(product, product->M, product->K, product->a_strides) &&
           product_tensor_fits(product, product->K, product->N, product->b_strides);
    if (fits)
        return TLM_OK;
    return tlm_cuda_fail(rt->error, TLM_ERR_ARGUMENT,
                         "%s: a product of %u x %u x %u with %u batch axes is beyond cuBLAS", place,
                         (unsigned)product->M, (unsigned)product->K, (unsigned)product->N,
                         (unsigned)product->batch_rank);
}

/* The products of the innermost batch axis.  Leading dimensions are those of the stored rows. */
static tlm_status product_call(struct tlm_cuda_session *session, tlm_rt *rt,
                               const tlm_cublas_product *p, float *c, const float *a,
                               const float *b, const char *place)
{
    const struct product_library *const library = session->products;
    const cublasOperation_t op_a = p->ta ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t op_b = p->tb ? CUBLAS_OP_T : CUBLAS_OP_N;
    const int m = (int)p->M, n = (int)p->N, k = (int)p->K;
    const int lda = p->ta ? m : k, ldb = p->tb ? k : n;
    const float one = 1.0f, zero = 0.0f;
    const uint32_t inner = p->batch_rank > 0 ? p->batch_rank - 1 : 0;

    if (p->batch_rank == 0)
        return product_result(session, rt,
                              cublasSgemm(library->handle, op_b, op_a, n, m, k, &one, b, ldb, a,
                                          lda, &zero, c, n),
                              place, "cublasSgemm");
    return product_result(session, rt,
                          cublasSgemmStridedBatched(library->handle, op_b, op_a, n, m, k, &one, b,
                                                    ldb, (long long)p->b_strides[inner], a, lda,
                                                    (long long)p->a_strides[inner], &zero, c, n,
                                                    (long long)p->M * p->N,
                                                    (int)p->batch_dims[inner]),
                          place, "cublasSgemmStridedBatched");
}

/* All combinations of the outer batch axes, in row-major order: C advances by whole inner
   batches, A and B by their strides. */
static tlm_status product_loop(struct tlm_cuda_session *session, tlm_rt *rt,
                               const tlm_cublas_product *p, const char *place)
{
    const uint32_t outer = p->batch_rank > 0 ? p->batch_rank - 1 : 0;
    const size_t step = (size_t)p->M * p->N * (p->batch_rank > 0 ? p->batch_dims[outer] : 1);
    uint64_t calls = 1;

    for (uint32_t i = 0; i < outer; i++)
        calls *= p->batch_dims[i];
    for (uint64_t call = 0; call < calls; call++) {
        uint64_t rest = call, at_a = 0, at_b = 0;

        for (uint32_t i = outer; i-- > 0;) {
            const uint64_t index = rest % p->batch_dims[i];

            rest /= p->batch_dims[i];
            at_a += index * p->a_strides[i];
            at_b += index * p->b_strides[i];
        }
        TLM_TRY(product_call(session, rt, p, p->c + call * step, p->a + at_a, p->b + at_b, place));
    }
    return TLM_OK;
}

tlm_status tlm_cublas_matmul(tlm_cuda *cuda, tlm_rt *rt, const tlm_cublas_product *product,
                             const char *place)
{
    struct tlm_cuda_session *const session = cuda->session;
    uint64_t results = (uint64_t)product->M * product->N;

    TLM_TRY(tlm_cuda_usable(cuda, rt));
    TLM_TRY(product_check(product, rt, place));
    for (uint32_t i = 0; i < product->batch_rank; i++)
        results *= product->batch_dims[i];
    if (results == 0)
        return TLM_OK;
    if (product->K == 0)
        return tlm_cuda_zero(cuda, rt, product->c, results * sizeof(float), place);
    TLM_TRY(tlm_cuda_enter_library(cuda, rt));
    if (!session->products)
        TLM_TRY(product_begin(session, rt, place));
    return product_loop(session, rt, product, place);
}
