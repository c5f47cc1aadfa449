/* The calls of cuBLAS that runtime/cuda_cublas.c makes, over host memory, on the host CUDA runtime:
   column-major, checked like the real one and beyond it (operands must be live device memory of
   their whole span).

   Sums are eight interleaved chains added at the end: neither the order of our own kernels nor that
   of any cuBLAS, so that nobody's bits come to rely on one.  With CUBLAS_TF32_TENSOR_OP_MATH the
   operands lose their low 13 bits, as on a device: a program that meant full precision shows it.
   A workspace of the caller is overwritten at both ends. */
#include "host_runtime.h"

#include <algorithm>
#include <cstring>

#include <cublas_v2.h>

struct cublasContext {
    bool live = true;
    CUstream_st *stream = host_legacy_stream();
    cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
    cublasMath_t math = CUBLAS_DEFAULT_MATH;
    void *workspace = nullptr;
    size_t workspace_bytes = 0;
};

static size_t handles_live;

static bool handle_lives(cublasHandle_t handle)
{
    return handle != nullptr && handle->live;
}

host_held host_held_cublas(void)
{
    return { "cuBLAS handles", handles_live, 0 };
}

/* What a call that the runtime refuses says instead. */
static cublasStatus_t status_of(cudaError_t error)
{
    if (error == cudaSuccess)
        return CUBLAS_STATUS_SUCCESS;
    return error == cudaErrorMemoryAllocation ? CUBLAS_STATUS_ALLOC_FAILED
                                              : CUBLAS_STATUS_EXECUTION_FAILED;
}

/* ---- handles */

extern "C" cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
    const host_call call("cublasCreate", HOST_ALLOCATES | HOST_UNSAFE);
    if (host_setting().device_error != cudaSuccess)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (call.refused())
        return status_of(call.end());
    *handle = host_keep(new cublasContext);
    handles_live++;
    return CUBLAS_STATUS_SUCCESS;
}

extern "C" cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
    const host_call call("cublasDestroy", HOST_RELEASES | HOST_UNSAFE);
    if (call.refused())
        return status_of(call.end());
    if (!handle_lives(handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    host_drain_all(); /* it frees memory */
    handle->live = false;
    handles_live--;
    return status_of(call.end());
}

extern "C" cublasStatus_t cublasGetVersion_v2(cublasHandle_t, int *version)
{
    *version = CUBLAS_VERSION;
    return CUBLAS_STATUS_SUCCESS;
}

/* Also takes the workspace away, as the real one does. */
extern "C" cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream)
{
    const host_call call("cublasSetStream");
    if (call.refused())
        return status_of(call.end());
    if (!handle_lives(handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (host_stream_of(stream) == nullptr)
        return CUBLAS_STATUS_INVALID_VALUE;
    handle->stream = host_stream_of(stream);
    handle->workspace = nullptr;
    handle->workspace_bytes = 0;
    return CUBLAS_STATUS_SUCCESS;
}

extern "C" cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace,
                                                size_t bytes)
{
    const host_call call("cublasSetWorkspace");
    if (call.refused())
        return status_of(call.end());
    if (!handle_lives(handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if ((uintptr_t)workspace % 256 != 0 || (bytes != 0 && !tlm_host_is_device(workspace, bytes)))
        return CUBLAS_STATUS_INVALID_VALUE;
    handle->workspace = workspace;
    handle->workspace_bytes = bytes;
    return CUBLAS_STATUS_SUCCESS;
}

extern "C" cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode)
{
    const host_call call("cublasSetMathMode");
    if (call.refused())
        return status_of(call.end());
    if (!handle_lives(handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    handle->math = mode;
    return CUBLAS_STATUS_SUCCESS;
}

extern "C" cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode)
{
    const host_call call("cublasSetPointerMode");
    if (call.refused())
        return status_of(call.end());
    if (!handle_lives(handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (mode != CUBLAS_POINTER_MODE_HOST && mode != CUBLAS_POINTER_MODE_DEVICE)
        return CUBLAS_STATUS_INVALID_VALUE;
    handle->pointer_mode = mode;
    return CUBLAS_STATUS_SUCCESS;
}

#define STATUS_CASE(status) \
    case status: return #status

extern "C" const char *cublasGetStatusName(cublasStatus_t status)
{
    switch (status) {
        STATUS_CASE(CUBLAS_STATUS_SUCCESS);
        STATUS_CASE(CUBLAS_STATUS_NOT_INITIALIZED);
        STATUS_CASE(CUBLAS_STATUS_ALLOC_FAILED);
        STATUS_CASE(CUBLAS_STATUS_INVALID_VALUE);
        STATUS_CASE(CUBLAS_STATUS_ARCH_MISMATCH);
        STATUS_CASE(CUBLAS_STATUS_MAPPING_ERROR);
        STATUS_CASE(CUBLAS_STATUS_EXECUTION_FAILED);
        STATUS_CASE(CUBLAS_STATUS_INTERNAL_ERROR);
        STATUS_CASE(CUBLAS_STATUS_NOT_SUPPORTED);
        STATUS_CASE(CUBLAS_STATUS_LICENSE_ERROR);
    }
    return "unknown status";
}

extern "C" const char *cublasGetStatusString(cublasStatus_t status)
{
    return cublasGetStatusName(status);
}

/* ---- products */

struct operand { /* column-major */
    const float *at;
    int rows, cols, lead;
    bool transposed;
    long long step; /* elements between matrices of a batch */
};

struct product {
    int m, n, k, batch;
    operand a, b;
    const float *alpha, *beta; /* in device pointer mode, else NULL */
    float alpha_value, beta_value;
    float *c;
    int c_lead;
    long long c_step;
    bool tf32;
    void *workspace;
    size_t workspace_bytes;
};

/* Elements from the first to behind the last. */
static size_t span_of(int rows, int cols, int lead, long long step, int batch)
{
    if (rows == 0 || cols == 0 || batch == 0)
        return 0;
    return (size_t)step * (size_t)(batch - 1) + (size_t)lead * (size_t)(cols - 1) + (size_t)rows;
}

static bool in_memory(const float *at, size_t span)
{
    return span == 0 || tlm_host_is_device(at, span * sizeof *at);
}

static bool operand_in_memory(const operand &x, int batch)
{
    return in_memory(x.at, span_of(x.rows, x.cols, x.lead, x.step, batch));
}

static bool all_in_memory(const product &p)
{
    return operand_in_memory(p.a, p.batch) && operand_in_memory(p.b, p.batch) &&
           in_memory(p.c, span_of(p.m, p.n, p.c_lead, p.c_step, p.batch));
}

static float rounded_to_tf32(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if ((bits & 0x7f800000u) != 0x7f800000u)
        bits += 0x0fffu + (bits >> 13 & 1u);
    bits &= ~0x1fffu;
    memcpy(&x, &bits, sizeof bits);
    return x;
}

/* One row (or column) of k elements of an operand, side by side. */
static void gather(float *to, const operand &x, int matrix, int line, bool line_is_column, int k,
                   bool tf32)
{
    const float *from = x.at + x.step * matrix;
    const bool down = line_is_column != x.transposed; /* along a column of the memory */
    for (int l = 0; l < k; l++) {
        const size_t at = down ? (size_t)line * (size_t)x.lead + (size_t)l
                               : (size_t)l * (size_t)x.lead + (size_t)line;
        to[l] = tf32 ? rounded_to_tf32(from[at]) : from[at];
    }
}

static float dot(const float *a, const float *b, int k)
{
    float chain[8] = { 0 };
    int l = 0;
    for (; l + 8 <= k; l += 8)
        for (int i = 0; i < 8; i++)
            chain[i] = __builtin_fmaf(a[l + i], b[l + i], chain[i]);
    for (; l < k; l++)
        chain[0] = __builtin_fmaf(a[l], b[l], chain[0]);
    return ((chain[0] + chain[1]) + (chain[2] + chain[3])) +
           ((chain[4] + chain[5]) + (chain[6] + chain[7]));
}

static void run_matrix(const product &p, int matrix, float alpha, float beta)
{
    const size_t k = (size_t)p.k;
    std::vector<float> rows((size_t)p.m * k), column(k);
    const bool reads = alpha != 0; /* with alpha 0 the operands are not looked at */
    for (int i = 0; i < p.m && reads; i++)
        gather(rows.data() + (size_t)i * k, p.a, matrix, i, false, p.k, p.tf32);
    for (int j = 0; j < p.n; j++) {
        float *c = p.c + p.c_step * matrix + (size_t)j * (size_t)p.c_lead;
        if (reads)
            gather(column.data(), p.b, matrix, j, true, p.k, p.tf32);
        for (int i = 0; i < p.m; i++) {
            const float sum = reads ? dot(rows.data() + (size_t)i * k, column.data(), p.k) : 0;
            /* with beta 0 the old value is not read: it may be a NaN */
            c[i] = beta == 0 ? alpha * sum : alpha * sum + beta * c[i];
        }
        tlm_host_mark_initialised(c, (size_t)p.m * sizeof *c);
    }
}

/* The checker's question of every column that is read. */
static void report_unwritten(const operand &x, int batch)
{
    size_t never = 0;
    for (int matrix = 0; matrix < batch; matrix++)
        for (int col = 0; col < x.cols; col++)
            never += tlm_host_never_written(x.at + x.step * matrix + (size_t)col * (size_t)x.lead,
                                            (size_t)x.rows * sizeof *x.at);
    if (never != 0)
        tlm_host_report(TLM_HOST_UNINITIALISED, "cublasSgemm",
                        "%zu bytes of an operand were never written", never);
}

static void report_unwritten_operands(const product &p, float alpha, float beta)
{
    if (alpha != 0) {
        report_unwritten(p.a, p.batch);
        report_unwritten(p.b, p.batch);
    }
    if (beta != 0)
        report_unwritten({ p.c, p.m, p.n, p.c_lead, false, p.c_step }, p.batch);
}

static void spoil(void *start, size_t bytes)
{
    memset(start, 0xff, bytes);
    tlm_host_mark_initialised(start, bytes);
}

/* Both ends of it: a workspace is large, and products are many. */
static void spoil_workspace(const product &p)
{
    const size_t end = std::min(p.workspace_bytes, (size_t)4096);
    if (end == 0 || !tlm_host_is_device(p.workspace, p.workspace_bytes))
        return;
    spoil(p.workspace, end);
    spoil((unsigned char *)p.workspace + p.workspace_bytes - end, end);
}

static cudaError_t run_product(const product &p)
{
    if (!all_in_memory(p)) {
        tlm_host_report(TLM_HOST_BOUNDS, "cublasSgemm", "memory of a queued product was freed");
        return cudaErrorIllegalAddress;
    }
    const host_memory_open open;
    spoil_workspace(p);
    const float alpha = p.alpha != nullptr ? *p.alpha : p.alpha_value;
    const float beta = p.beta != nullptr ? *p.beta : p.beta_value;
    report_unwritten_operands(p, alpha, beta);
    for (int matrix = 0; matrix < p.batch; matrix++)
        run_matrix(p, matrix, alpha, beta);
    return cudaSuccess;
}

static bool is_operation(cublasOperation_t operation)
{
    return operation == CUBLAS_OP_N || operation == CUBLAS_OP_T || operation == CUBLAS_OP_C;
}

static bool lead_fits(int lead, int rows)
{
    return lead >= (rows > 1 ? rows : 1);
}

static bool fits(const product &p)
{
    return p.m >= 0 && p.n >= 0 && p.k >= 0 && p.batch >= 0 && lead_fits(p.a.lead, p.a.rows) &&
           lead_fits(p.b.lead, p.b.rows) && lead_fits(p.c_lead, p.m);
}

static cublasStatus_t put_product(cublasHandle_t handle, product &p)
{
    if (p.m == 0 || p.n == 0 || p.batch == 0)
        return CUBLAS_STATUS_SUCCESS;
    if (!all_in_memory(p)) {
        /* the real one would fail later, or write into something else */
        tlm_host_report(TLM_HOST_USAGE, "cublasSgemm", "an operand is not in device memory");
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    p.tf32 = handle->math == CUBLAS_TF32_TENSOR_OP_MATH;
    p.workspace = handle->workspace;
    p.workspace_bytes = handle->workspace_bytes;
    return status_of(host_put(handle->stream, [p]() { return run_product(p); }));
}

static operand operand_of(const float *at, cublasOperation_t operation, int rows, int cols,
                          int lead, long long step)
{
    const bool transposed = operation != CUBLAS_OP_N;
    return { at, transposed ? cols : rows, transposed ? rows : cols, lead, transposed, step };
}

static cublasStatus_t multiply(const char *name, cublasHandle_t handle, cublasOperation_t ta,
                               cublasOperation_t tb, product p, const float *alpha,
                               const float *beta)
{
    const host_call call(name);
    if (call.refused())
        return status_of(call.end());
    if (!handle_lives(handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!is_operation(ta) || !is_operation(tb) || alpha == nullptr || beta == nullptr || !fits(p))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE) {
        if (!tlm_host_is_device(alpha, sizeof *alpha) || !tlm_host_is_device(beta, sizeof *beta))
            return CUBLAS_STATUS_INVALID_VALUE;
        p.alpha = alpha;
        p.beta = beta;
    } else {
        p.alpha_value = *alpha;
        p.beta_value = *beta;
    }
    return put_product(handle, p);
}

extern "C" cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t ta,
                                                    cublasOperation_t tb, int m, int n, int k,
                                                    const float *alpha, const float *a, int lda,
                                                    long long a_step, const float *b, int ldb,
                                                    long long b_step, const float *beta, float *c,
                                                    int ldc, long long c_step, int batch)
{
    product p = {};
    p.m = m;
    p.n = n;
    p.k = k;
    p.batch = batch;
    p.a = operand_of(a, ta, m, k, lda, a_step);
    p.b = operand_of(b, tb, k, n, ldb, b_step);
    p.c = c;
    p.c_lead = ldc;
    p.c_step = c_step;
    return multiply("cublasSgemmStridedBatched", handle, ta, tb, p, alpha, beta);
}

extern "C" cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t ta,
                                         cublasOperation_t tb, int m, int n, int k,
                                         const float *alpha, const float *a, int lda,
                                         const float *b, int ldb, const float *beta, float *c,
                                         int ldc)
{
    product p = {};
    p.m = m;
    p.n = n;
    p.k = k;
    p.batch = 1;
    p.a = operand_of(a, ta, m, k, lda, 0);
    p.b = operand_of(b, tb, k, n, ldb, 0);
    p.c = c;
    p.c_lead = ldc;
    return multiply("cublasSgemm", handle, ta, tb, p, alpha, beta);
}
