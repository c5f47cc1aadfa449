/* The CUDA runtime of a build without CUDA: every request is refused with the same text, nothing is
   counted, and no setting is kept. */
#define _POSIX_C_SOURCE 200809L
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tlm_cublas.h"
#include "tlm_program.h"

#include <stdlib.h>
#include <string.h>

static const char refusal[] =
    "CUDA was requested, but this program is linked to tlmc's stub of the CUDA runtime; rebuild "
    "tlmc with the CUDA toolkit (-DTLMC_CUDA=ON), then the program";

static void test_probe(void **state)
{
    char text[TLM_ERROR_BYTES] = "";

    (void)state;
    assert_int_equal(tlm_cuda_runtime_status(), TLM_CUDA_STUB);
    assert_int_equal(tlm_cuda_runtime_cause(NULL), TLM_CUDA_CAUSE_STUB_BUILD);
    assert_int_equal(tlm_cuda_runtime_cause(text), TLM_CUDA_CAUSE_STUB_BUILD);
    assert_string_equal(text, refusal);
}

static void test_session(void **state)
{
    char error[TLM_ERROR_BYTES] = "";
    const tlm_cuda_needs needs = { .size = sizeof needs, .model = "mlp" };
    const tlm_cublas_product product = { .M = 2, .N = 2, .K = 2 };
    tlm_options options = TLM_OPTIONS_INIT;
    tlm_cuda cuda;
    tlm_rt rt;

    (void)state;
    memset(&cuda, 0xff, sizeof cuda);
    memset(&rt, 0, sizeof rt);
    options.error_text = error;
    assert_int_equal(tlm_cuda_open(&cuda, &needs, &options, NULL, NULL, NULL), TLM_ERR_DEVICE);
    assert_string_equal(error, refusal);
    assert_null(cuda.session);
    assert_int_equal(tlm_cuda_run(&cuda, &rt, 0, TLM_CUDA_NO_FORM, NULL, NULL, NULL),
                     TLM_ERR_DEVICE);
    assert_string_equal(rt.error, refusal);
    assert_int_equal(tlm_cuda_wait(&cuda, &rt), TLM_ERR_DEVICE);
    assert_int_equal(tlm_cuda_fetch(&cuda, &rt, 1), TLM_ERR_DEVICE);
    rt.error[0] = '\0';
    assert_int_equal(tlm_cublas_matmul(&cuda, &rt, &product, "mlp.tlm:1:1"), TLM_ERR_DEVICE);
    assert_string_equal(rt.error, refusal);
    assert_null(tlm_cuda_stream(&cuda));
    tlm_cuda_touched(&cuda);
    tlm_cuda_close(&cuda);
    options.error_text = NULL;
    assert_int_equal(tlm_cuda_open(&cuda, &needs, &options, NULL, NULL, NULL), TLM_ERR_DEVICE);
}

static void test_buffers(void **state)
{
    char error[TLM_ERROR_BYTES] = "", text[TLM_CUDA_STATS_BYTES];
    tlm_cuda_buffer *buffer = (tlm_cuda_buffer *)(uintptr_t)16;
    tlm_cuda_stats stats, zeros;
    const uint64_t dims[] = { 4 };

    (void)state;
    assert_int_equal(tlm_cuda_buffer_new(&buffer, 16, error), TLM_ERR_DEVICE);
    assert_string_equal(error, refusal);
    assert_null(buffer);
    assert_int_equal(tlm_cuda_buffer_release(buffer, error), TLM_ERR_ARGUMENT);
    assert_int_equal(tlm_cuda_buffer_validate(buffer, TLM_F32, 1, dims, error), TLM_ERR_ARGUMENT);
    assert_int_equal(tlm_cuda_buffer_bytes(buffer), 0);
    assert_null(tlm_cuda_buffer_address(buffer));
    assert_int_equal(tlm_cuda_empty_cache(error), TLM_OK);
    memset(&zeros, 0, sizeof zeros);
    zeros.size = sizeof zeros;
    memset(&stats, 0xff, sizeof stats);
    tlm_cuda_get_stats(&stats);
    assert_memory_equal(&stats, &zeros, sizeof stats);
    assert_non_null(strstr(tlm_cuda_format_stats(&stats, text), "cache=0MiB cache_cap=0MiB"));
}

static void test_settings(void **state)
{
    char text[TLM_REPORT_BYTES] = "";

    (void)state;
    assert_int_equal(setenv("TLM_CUDA_DETERMINISTIC_REDUCTIONS", "1", 1), 0);
    assert_int_equal(setenv("TLM_CUDA_CACHE_CAP_BYTES", "4096", 1), 0);
    assert_int_equal(tlm_cuda_get_deterministic_reductions(), 0);
    assert_int_equal(tlm_cuda_set_deterministic_reductions(1), 0);
    assert_int_equal(tlm_cuda_get_deterministic_reductions(), 0);
    tlm_cuda_report(text);
    assert_string_equal(text,
                        "cuda: deterministic_reductions=off\ncuda: live=0MiB peak=0MiB cache=0MiB "
                        "cache_cap=0MiB allocs=0 frees=0 wrappers_live=0 wrappers_peak=0 "
                        "wrappers_alloc=0 wrappers_finalized=0 cuda_free=0MiB cuda_total=0MiB\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_probe),
        cmocka_unit_test(test_session),
        cmocka_unit_test(test_buffers),
        cmocka_unit_test(test_settings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
