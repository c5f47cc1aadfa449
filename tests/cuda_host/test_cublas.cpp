/* The host cuBLAS against direct sums: transposes, leading dimensions, batches, alpha and beta,
   pointer modes, math modes, workspaces, refusals.  Operands are small integers, so sums are exact
   and are compared as bits whatever their order. */
#include "test_cudart.h"

#include <cmath>
#include <cstring>
#include <vector>

#include <cublas_v2.h>

#define FINE(call) assert_int_equal((call), CUBLAS_STATUS_SUCCESS)

struct test_matrices { /* column-major, on the device and on the host */
    std::vector<float> host;
    float *device = nullptr;

    explicit test_matrices(size_t elements, float fill) : host(elements, fill)
    {
    }
    void upload(void)
    {
        void *memory = nullptr;
        const size_t bytes = host.size() * sizeof(float);
        GOOD(cudaMalloc(&memory, bytes));
        device = (float *)memory;
        GOOD(cudaMemcpy(device, host.data(), bytes, cudaMemcpyHostToDevice));
    }
    std::vector<float> download(void) const
    {
        std::vector<float> back(host.size());
        GOOD(cudaDeviceSynchronize());
        GOOD(cudaMemcpy(back.data(), device, back.size() * sizeof(float), cudaMemcpyDeviceToHost));
        return back;
    }
    ~test_matrices()
    {
        cudaFree(device);
    }
    test_matrices(const test_matrices &) = delete;
    test_matrices &operator=(const test_matrices &) = delete;
};

/* Small integers that repeat with no simple period. */
static void number(std::vector<float> &values, uint32_t seed)
{
    for (float &value : values) {
        seed = seed * 1664525u + 1013904223u;
        value = (float)(int)(seed >> 24) / 32 - 4;
        value = (float)(int)value;
    }
}

struct gemm_case {
    int m, n, k, batch;
    int a_extra, b_extra, c_extra; /* of the leading dimensions */
    float alpha, beta;
    bool a_shared; /* one matrix for the whole batch: a stride of 0 */
};

static const gemm_case gemm_cases[] = {
    { 1, 1, 1, 1, 0, 0, 0, 1, 0, false },    { 3, 5, 7, 1, 0, 0, 0, 1, 0, false },
    { 17, 9, 33, 1, 3, 1, 2, 1, 1, false },  { 4, 4, 4, 1, 0, 0, 5, 2, -3, false },
    { 5, 3, 0, 1, 0, 0, 0, 1, 0, false },    { 5, 3, 0, 1, 0, 0, 0, 1, 2, false },
    { 6, 2, 11, 1, 0, 0, 0, 0, 2, false },   { 3, 5, 7, 4, 0, 0, 0, 1, 0, false },
    { 8, 16, 24, 3, 2, 2, 2, -1, 1, false }, { 7, 2, 19, 5, 0, 1, 0, 1, 0, true },
    { 0, 3, 3, 1, 0, 0, 0, 1, 0, false },    { 3, 0, 3, 2, 0, 0, 0, 1, 0, false },
};

static int most(int a, int b)
{
    return a > b ? a : b;
}

static float element(const std::vector<float> &x, size_t base, int lead, bool transposed, int row,
                     int col)
{
    const int r = transposed ? col : row;
    const int c = transposed ? row : col;
    return x[base + (size_t)c * (size_t)lead + (size_t)r];
}

static void check_gemm(cublasHandle_t handle, const gemm_case &of, bool ta, bool tb, bool batched)
{
    const int lda = most(1, (ta ? of.k : of.m) + of.a_extra);
    const int ldb = most(1, (tb ? of.n : of.k) + of.b_extra);
    const int ldc = most(1, of.m + of.c_extra);
    const size_t a_step = of.a_shared ? 0 : (size_t)lda * (size_t)(ta ? of.m : of.k) + 1;
    const size_t b_step = (size_t)ldb * (size_t)(tb ? of.k : of.n) + 2;
    const size_t c_step = (size_t)ldc * (size_t)of.n + 3;
    const size_t batch = (size_t)of.batch;
    test_matrices a(a_step * batch + (size_t)lda * (size_t)most(of.m, of.k) + 1, 0);
    test_matrices b(b_step * batch + 1, 0);
    test_matrices c(c_step * batch + 1, NAN);
    number(a.host, 1);
    number(b.host, 2);
    if (of.beta != 0)
        number(c.host, 3); /* else NaNs, which nothing may read */
    a.upload();
    b.upload();
    c.upload();
    const cublasOperation_t opa = ta ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t opb = tb ? CUBLAS_OP_T : CUBLAS_OP_N;
    if (batched)
        FINE(cublasSgemmStridedBatched(handle, opa, opb, of.m, of.n, of.k, &of.alpha, a.device, lda,
                                       (long long)a_step, b.device, ldb, (long long)b_step,
                                       &of.beta, c.device, ldc, (long long)c_step, of.batch));
    else
        FINE(cublasSgemm(handle, opa, opb, of.m, of.n, of.k, &of.alpha, a.device, lda, b.device,
                         ldb, &of.beta, c.device, ldc));
    std::vector<float> expected = c.host;
    for (size_t matrix = 0; matrix < (batched ? batch : 1); matrix++) {
        for (int j = 0; j < of.n; j++) {
            for (int i = 0; i < of.m; i++) {
                float sum = 0;
                for (int l = 0; l < of.k; l++)
                    sum += element(a.host, a_step * matrix, lda, ta, i, l) *
                           element(b.host, b_step * matrix, ldb, tb, l, j);
                float &at = expected[c_step * matrix + (size_t)j * (size_t)ldc + (size_t)i];
                at = of.beta == 0 ? of.alpha * sum : of.alpha * sum + of.beta * at;
            }
        }
    }
    const std::vector<float> got = c.download();
    for (size_t i = 0; i < got.size(); i++)
        assert_true(got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i])));
}

static void test_gemm(void **)
{
    cublasHandle_t handle = nullptr;
    FINE(cublasCreate(&handle));
    for (const gemm_case &of : gemm_cases) {
        for (int flags = 0; flags < 4; flags++) {
            check_gemm(handle, of, (flags & 1) != 0, (flags & 2) != 0, true);
            if (of.batch == 1)
                check_gemm(handle, of, (flags & 1) != 0, (flags & 2) != 0, false);
        }
    }
    FINE(cublasDestroy(handle));
}

/* ---- one product of 2 x 2 matrices: the identity by `value` */

struct small_product {
    cublasHandle_t handle = nullptr;
    test_matrices a{ 4, 0 }, b{ 4, 0 }, c{ 4, NAN };

    explicit small_product(float value)
    {
        FINE(cublasCreate(&handle));
        a.host[0] = a.host[3] = 1;
        b.host.assign(4, value);
        a.upload();
        b.upload();
        c.upload();
    }
    cublasStatus_t run(const float *alpha, const float *beta)
    {
        return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, alpha, a.device, 2, b.device,
                           2, beta, c.device, 2);
    }
    ~small_product()
    {
        cublasDestroy(handle);
    }
};

/* Host scalars are those of the call, device scalars those of the time it runs. */
static void test_scalars(void **)
{
    small_product product(3);
    test_matrices scalars(2, 0);
    cudaStream_t stream = test_stream();
    float alpha = 2, beta = 0;
    scalars.upload();
    FINE(cublasSetStream(product.handle, stream));
    tlm_host_defer(4);
    FINE(product.run(&alpha, &beta));
    alpha = 100;
    assert_true(product.c.download()[3] == 6);
    FINE(cublasSetPointerMode(product.handle, CUBLAS_POINTER_MODE_DEVICE));
    assert_int_equal(product.run(&alpha, &beta), CUBLAS_STATUS_INVALID_VALUE);
    scalars.host[0] = 5;
    GOOD(cudaMemcpyAsync(scalars.device, scalars.host.data(), 2 * sizeof(float),
                         cudaMemcpyHostToDevice, stream));
    FINE(product.run(scalars.device, scalars.device + 1));
    assert_true(product.c.download()[3] == 15);
    tlm_host_defer(0);
    GOOD(cudaStreamDestroy(stream));
}

/* The work is on the handle's stream. */
static void test_stream_order(void **)
{
    const float one = 1, zero = 0;
    small_product product(3);
    cudaStream_t stream = test_stream();
    int early = 0;
    FINE(cublasSetStream(product.handle, stream));
    for (uint64_t seed = 1; seed <= 20; seed++) {
        float back = 0;
        tlm_host_defer(seed);
        FINE(product.run(&one, &zero));
        /* the legacy stream does not wait for this one */
        GOOD(cudaMemcpy(&back, product.c.device, sizeof back, cudaMemcpyDeviceToHost));
        early += back != 3;
        GOOD(cudaStreamSynchronize(stream));
        GOOD(cudaMemcpy(&back, product.c.device, sizeof back, cudaMemcpyDeviceToHost));
        assert_true(back == 3);
        GOOD(cudaMemset(product.c.device, 0, sizeof back));
        GOOD(cudaDeviceSynchronize());
    }
    assert_in_range(early, 1, 20);
    tlm_host_defer(0);
    FINE(cublasSetStream(product.handle, nullptr));
    GOOD(cudaStreamDestroy(stream));
    assert_int_equal(cublasSetStream(product.handle, stream), CUBLAS_STATUS_INVALID_VALUE);
}

static void test_in_a_graph(void **)
{
    const float one = 1, zero = 0;
    small_product product(3);
    cudaStream_t stream = test_stream();
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    cublasHandle_t late = nullptr;
    FINE(cublasSetStream(product.handle, stream));
    GOOD(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    FINE(product.run(&one, &zero));
    GOOD(cudaStreamEndCapture(stream, &graph));
    assert_true(std::isnan(product.c.download()[0]));
    GOOD(cudaGraphInstantiate(&exec, graph, 0));
    GOOD(cudaGraphDestroy(graph));
    GOOD(cudaGraphLaunch(exec, stream));
    assert_true(product.c.download()[0] == 3);
    GOOD(cudaGraphExecDestroy(exec));
    /* a handle is memory: none is made inside a capture */
    GOOD(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    assert_int_not_equal(cublasCreate(&late), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
    GOOD(cudaStreamDestroy(stream));
}

/* TF32 keeps ten bits: a program that meant all of them sees it. */
static void test_math_mode(void **)
{
    const float one = 1, zero = 0, fine = 1 + 0x1p-12f;
    small_product product(fine);
    FINE(product.run(&one, &zero));
    assert_true(product.c.download()[0] == fine);
    FINE(cublasSetMathMode(product.handle, CUBLAS_TF32_TENSOR_OP_MATH));
    FINE(product.run(&one, &zero));
    assert_true(product.c.download()[0] == 1);
    FINE(cublasSetMathMode(product.handle, CUBLAS_PEDANTIC_MATH));
    FINE(product.run(&one, &zero));
    assert_true(product.c.download()[0] == fine);
}

/* What the caller lends as a workspace is overwritten. */
static void test_workspace(void **)
{
    const float one = 1, zero = 0;
    small_product product(3);
    test_matrices lent(128, 7);
    lent.upload();
    FINE(cublasSetWorkspace(product.handle, lent.device, 512));
    FINE(product.run(&one, &zero));
    assert_true(std::isnan(lent.download()[127]));
    assert_int_equal(cublasSetWorkspace(product.handle, lent.device + 1, 256),
                     CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasSetWorkspace(product.handle, lent.device, 513),
                     CUBLAS_STATUS_INVALID_VALUE);
    GOOD(cudaMemset(lent.device, 0, 512));
    FINE(cublasSetStream(product.handle, nullptr)); /* takes it away */
    FINE(product.run(&one, &zero));
    assert_true(lent.download()[127] == 0);
}

static void test_refusals(void **)
{
    const float one = 1, zero = 0;
    small_product product(3);
    float *a = product.a.device, *b = product.b.device, *c = product.c.device;
    float host[4] = { 0 };
    const auto gemm = [&](int m, int n, int k, int lda, int ldb, int ldc) {
        return cublasSgemm(product.handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, a, lda, b, ldb,
                           &zero, c, ldc);
    };
    FINE(gemm(2, 2, 2, 2, 2, 2));
    assert_int_equal(gemm(2, 2, 2, 1, 2, 2), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(gemm(2, 2, 2, 2, 1, 2), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(gemm(2, 2, 2, 2, 2, 1), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(gemm(-1, 2, 2, 2, 2, 2), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(gemm(2, 2, -1, 2, 2, 2), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(gemm(0, 2, 2, 0, 2, 1), CUBLAS_STATUS_INVALID_VALUE);
    tlm_host_quiet(1);
    assert_int_equal(gemm(2, 3, 2, 2, 2, 2), CUBLAS_STATUS_INVALID_VALUE); /* beyond b and c */
    a = host;
    assert_int_equal(gemm(2, 2, 2, 2, 2, 2), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(tlm_host_count(TLM_HOST_USAGE), 2);
    tlm_host_reset();
    tlm_host_quiet(0);
    assert_int_equal(product.run(nullptr, &zero), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasSgemm(nullptr, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a, 2, b, 2,
                                 &zero, c, 2),
                     CUBLAS_STATUS_NOT_INITIALIZED);
    assert_int_equal(cublasSgemm(product.handle, (cublasOperation_t)9, CUBLAS_OP_N, 2, 2, 2, &one,
                                 b, 2, b, 2, &zero, c, 2),
                     CUBLAS_STATUS_INVALID_VALUE);
    tlm_host_fail(1);
    cublasHandle_t handle = nullptr;
    assert_int_equal(cublasCreate(&handle), CUBLAS_STATUS_ALLOC_FAILED);
    tlm_host_fail(1);
    assert_int_equal(product.run(&one, &zero), CUBLAS_STATUS_EXECUTION_FAILED);
    FINE(product.run(&one, &zero));
}

/* An operand that nothing wrote: the checker tells, the other layers compute with NaNs. */
static void test_unwritten(void **)
{
    const float one = 1, zero = 0;
    small_product product(3);
    const unsigned expected = strcmp(tlm_host_layer(), "checked") == 0 ? 1 : 0;
    void *fresh = nullptr;
    float *kept = product.a.device;
    tlm_host_quiet(1);
    FINE(product.run(&one, &zero));
    assert_int_equal(tlm_host_total(), 0);
    GOOD(cudaMalloc(&fresh, 16));
    product.a.device = (float *)fresh;
    FINE(product.run(&one, &zero));
    product.a.device = kept;
    assert_int_equal(tlm_host_count(TLM_HOST_UNINITIALISED), expected);
    assert_true(std::isnan(product.c.download()[0]));
    tlm_host_reset();
    tlm_host_quiet(0);
    GOOD(cudaFree(fresh));
}

static void test_dead_handle(void **)
{
    cublasHandle_t handle = nullptr;
    FINE(cublasCreate(&handle));
    FINE(cublasDestroy(handle));
    assert_int_equal(cublasDestroy(handle), CUBLAS_STATUS_NOT_INITIALIZED);
    assert_int_equal(cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH), CUBLAS_STATUS_NOT_INITIALIZED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_gemm, test_clean),
        cmocka_unit_test_teardown(test_scalars, test_clean),
        cmocka_unit_test_teardown(test_stream_order, test_clean),
        cmocka_unit_test_teardown(test_in_a_graph, test_clean),
        cmocka_unit_test_teardown(test_math_mode, test_clean),
        cmocka_unit_test_teardown(test_workspace, test_clean),
        cmocka_unit_test_teardown(test_refusals, test_clean),
        cmocka_unit_test_teardown(test_unwritten, test_clean),
        cmocka_unit_test_teardown(test_dead_handle, test_clean),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
