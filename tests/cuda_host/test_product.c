/* tlm_cublas_matmul on the host cuBLAS: transposes as flags, batches with broadcast operands, empty
   axes, captured and not.  Values are small integers, so every order of summation is exact; the
   oracle is the definition written down. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tlm_cublas.h"

#include "host_cudart.h"
#include "test_session.h"

#include <string.h>

enum { PLACES = 512, PRODUCT_BYTES = PLACES * sizeof(float), AXES = 3 };

struct product_case {
    uint32_t M, N, K;
    int ta, tb;
    uint32_t rank, dims[AXES];
    uint64_t a_strides[AXES], b_strides[AXES];
};

static const struct product_case cases[] = {
    { 2, 3, 4, 0, 0, 0, { 0 }, { 0 }, { 0 } },
    { 2, 3, 4, 1, 0, 0, { 0 }, { 0 }, { 0 } },
    { 2, 3, 4, 0, 1, 0, { 0 }, { 0 }, { 0 } },
    { 2, 3, 4, 1, 1, 0, { 0 }, { 0 }, { 0 } },
    { 1, 7, 1, 0, 1, 0, { 0 }, { 0 }, { 0 } },
    { 5, 1, 3, 1, 0, 0, { 0 }, { 0 }, { 0 } },
    { 2, 3, 4, 0, 0, 1, { 3 }, { 8 }, { 12 } },
    { 2, 3, 4, 1, 1, 1, { 3 }, { 8 }, { 0 } },            /* one b for all */
    { 2, 3, 4, 0, 1, 2, { 2, 3 }, { 24, 8 }, { 0, 12 } }, /* b again for each of the outer axis */
    { 2, 2, 3, 0, 0, 2, { 3, 2 }, { 0, 6 }, { 12, 6 } },
    { 1, 2, 2, 1, 0, 3, { 2, 2, 3 }, { 12, 6, 2 }, { 0, 12, 4 } },
    { 2, 3, 4, 0, 0, 2, { 2, 1 }, { 8, 0 }, { 0, 0 } },
    { 0, 3, 4, 0, 0, 0, { 0 }, { 0 }, { 0 } }, /* no results: nothing is touched */
    { 2, 0, 4, 0, 0, 1, { 3 }, { 8 }, { 0 } },
    { 2, 3, 4, 0, 0, 2, { 2, 0 }, { 8, 8 }, { 12, 12 } },
    { 2, 3, 0, 0, 0, 2, { 2, 3 }, { 0, 0 }, { 0, 0 } }, /* sums of nothing: zeros */
};

static const tlm_cuda_kernel kernels[] = { { "tlm_probe", 256, sizeof(struct tlm_probe_args) } };
static const tlm_cuda_image images[] = { { TLM_CUDA_IMAGE_ANY, 0, "TLM-CUDA-HOST", 14 } };
static const uint32_t image_count = 1;
static const tlm_cuda_span inputs[] = {
    { 0, 0, PRODUCT_BYTES, TLM_CUDA_ACTIVATIONS },
    { PRODUCT_BYTES, PRODUCT_BYTES, PRODUCT_BYTES, TLM_CUDA_ACTIVATIONS },
    { 2 * PRODUCT_BYTES, 2 * PRODUCT_BYTES, PRODUCT_BYTES, TLM_CUDA_ACTIVATIONS },
};
static const tlm_cuda_form forms[] = { { inputs, inputs + 2, 3, 1 } };
static const tlm_cuda_needs needs = {
    .size = sizeof(tlm_cuda_needs),
    .model = "product",
    .images = images,
    .image_count = &image_count,
    .kernels = kernels,
    .kernel_count = 1,
    .activations_bytes = 3 * PRODUCT_BYTES,
    .forms = forms,
    .form_count = 1,
    .phase_count = 1,
};

typedef struct model {
    tlm_rt rt;
    tlm_cuda cuda;
    const struct product_case *now;
    float io[3][PLACES]; /* a, b, c */
} model;

static tlm_status enqueue(void *context)
{
    model *const m = context;
    const struct product_case *const p = m->now;
    float *const at = (float *)(void *)m->cuda.activations;
    const tlm_cublas_product product = { .c = at + 2 * PLACES,
                                         .a = at,
                                         .b = at + PLACES,
                                         .M = p->M,
                                         .N = p->N,
                                         .K = p->K,
                                         .ta = p->ta,
                                         .tb = p->tb,
                                         .batch_rank = p->rank,
                                         .batch_dims = p->dims,
                                         .a_strides = p->a_strides,
                                         .b_strides = p->b_strides };

    TLM_TRY(tlm_cuda_upload(&m->cuda, &m->rt, 0));
    TLM_TRY(tlm_cublas_matmul(&m->cuda, &m->rt, &product, "product.tlm:1:1"));
    return tlm_cuda_download(&m->cuda, &m->rt, 0);
}

/* The definition; returns how many elements of c it gives. */
static size_t define(const struct product_case *p, const float *a, const float *b, float *c)
{
    size_t results = (size_t)p->M * p->N, batches = 1;

    for (uint32_t i = 0; i < p->rank; i++)
        batches *= p->dims[i];
    for (size_t batch = 0; batch < batches; batch++) {
        size_t rest = batch, at_a = 0, at_b = 0;

        for (uint32_t i = p->rank; i-- > 0; rest /= p->dims[i]) {
            at_a += rest % p->dims[i] * p->a_strides[i];
            at_b += rest % p->dims[i] * p->b_strides[i];
        }
        for (uint32_t i = 0; i < p->M; i++)
            for (uint32_t j = 0; j < p->N; j++) {
                float sum = 0;

                for (uint32_t k = 0; k < p->K; k++)
                    sum += a[at_a + (p->ta ? k * p->M + i : i * p->K + k)] *
                           b[at_b + (p->tb ? j * p->K + k : k * p->N + j)];
                c[batch * results + i * p->N + j] = sum;
            }
    }
    return batches * results;
}

static void run_case(const struct product_case *p, size_t number, uint32_t no_graph)
{
    static model all;
    model *const m = &all;
    tlm_options options = TLM_OPTIONS_INIT;
    char error[TLM_ERROR_BYTES] = "";

    memset(m, 0, sizeof *m);
    m->now = p;
    options.error_text = error;
    options.no_graph = no_graph;
    if (tlm_cuda_open(&m->cuda, &needs, &options, NULL, NULL, (unsigned char *)m->io) != TLM_OK)
        fail_msg("%s", error);
    for (int round = 0; round < 3; round++) { /* uncaptured, captured and launched, launched */
        float wanted[PLACES];

        for (int i = 0; i < PLACES; i++) {
            m->io[0][i] = (float)((i * 7 + round) % 11 - 5);
            m->io[1][i] = (float)((i * 5 + round) % 13 - 6);
            m->io[2][i] = wanted[i] = 99.0f; /* what is no result stays */
        }
        define(p, m->io[0], m->io[1], wanted);
        if (tlm_cuda_run(&m->cuda, &m->rt, 0, 0, NULL, enqueue, m) != TLM_OK ||
            tlm_cuda_wait(&m->cuda, &m->rt) != TLM_OK)
            fail_msg("case %d: %s", (int)number, m->rt.error);
        for (int i = 0; i < PLACES; i++)
            if (m->io[2][i] != wanted[i])
                fail_msg("case %d, round %d: c[%d] is %g, not %g", (int)number, round, i,
                         (double)m->io[2][i], (double)wanted[i]);
    }
    tlm_cuda_close(&m->cuda);
}

static void test_products(void **state)
{
    (void)state;
    for (uint32_t no_graph = 0; no_graph < 2; no_graph++)
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
            run_case(&cases[i], i, no_graph);
}

/* The handle is made once, with its workspace, and not inside of a capture. */
static void test_one_handle(void **state)
{
    (void)state;
    tlm_host_calls_reset();
    run_case(&cases[0], 0, 0);
    assert_int_equal(tlm_host_calls("cublasCreate"), 1);
    assert_int_equal(tlm_host_calls("cublasSetWorkspace"), 1);
    assert_int_equal(tlm_host_calls("cublasDestroy"), 1);
    assert_int_equal(tlm_host_calls("cublasSgemm"), 2);
    tlm_host_calls_reset();
    run_case(&cases[8], 8, 0); /* the outer axis is a loop, the inner one a call */
    assert_int_equal(tlm_host_calls("cublasSgemmStridedBatched"), 2 * 2);
    tlm_host_calls_reset();
    run_case(&cases[15], 15, 0); /* nothing to multiply needs no library */
    assert_int_equal(tlm_host_calls("cublasCreate"), 0);
}

static void test_beyond_int(void **state)
{
    static const struct product_case beyond[] = {
        { UINT32_C(1) << 31, 1, 1, 0, 0, 0, { 0 }, { 0 }, { 0 } },
        { 1, 1, UINT32_C(1) << 31, 0, 0, 0, { 0 }, { 0 }, { 0 } },
        { 1, 1, 1, 0, 0, 1, { UINT32_C(1) << 31 }, { 0 }, { 0 } },
        { 65536, 65536, 1, 0, 0, 0, { 0 }, { 0 }, { 0 } }, /* the results */
        { 65536, 1, 65536, 0, 0, 0, { 0 }, { 0 }, { 0 } }, /* a */
        { 1, 65536, 65536, 0, 0, 0, { 0 }, { 0 }, { 0 } }, /* b */
        { 1, 1, 65536, 0, 0, 1, { 65536 }, { 65536 }, { 0 } },
        { 1, 1, 65536, 0, 0, 1, { 65536 }, { 0 }, { 65536 } },
        { 65536, 0, 65536, 0, 0, 0, { 0 }, { 0 }, { 0 } }, /* an axis of 0 hides nothing */
        { 0, 65536, 65536, 0, 0, 0, { 0 }, { 0 }, { 0 } },
        { 65536, 65536, 0, 0, 0, 0, { 0 }, { 0 }, { 0 } },
        { 65536, 65536, 1, 0, 0, 1, { 0 }, { 0 }, { 0 } },
        { 2, 1, INT32_MAX, 0, 0, 2, { 0, 2 }, { 0, 4 }, { 0, 0 } },
        { 0, 1, 1, 0, 0, 7, { 0 }, { 0 }, { 0 } }, /* the rank */
    };
    /* operands that are repeated are small */
    static const struct product_case repeated = { 0, 1, 65536, 0, 0, 1, { 65536 }, { 0 }, { 0 } };
    static model all;
    model *const m = &all;
    tlm_options options = TLM_OPTIONS_INIT;

    (void)state;
    memset(m, 0, sizeof *m);
    options.no_graph = 1;
    assert_int_equal(tlm_cuda_open(&m->cuda, &needs, &options, NULL, NULL, (unsigned char *)m->io),
                     TLM_OK);
    for (size_t i = 0; i < sizeof beyond / sizeof beyond[0]; i++) {
        m->now = &beyond[i];
        if (tlm_cuda_run(&m->cuda, &m->rt, 0, 0, NULL, enqueue, m) != TLM_ERR_ARGUMENT)
            fail_msg("case %d is not refused", (int)i);
        assert_non_null(strstr(m->rt.error, "product.tlm:1:1: a product of "));
    }
    m->now = &repeated;
    assert_int_equal(tlm_cuda_run(&m->cuda, &m->rt, 0, 0, NULL, enqueue, m), TLM_OK);
    m->now = &cases[0];
    assert_int_equal(tlm_cuda_run(&m->cuda, &m->rt, 0, 0, NULL, enqueue, m), TLM_OK);
    tlm_cuda_close(&m->cuda);
    assert_int_equal(tlm_host_leaks(NULL, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_one_handle),
        cmocka_unit_test(test_beyond_int),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
