/* What both builds of the CUDA runtime share: guards of the uint32 ABI, the environment's two
   variables, the texts of the probe, the format of the telemetry. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "cuda_guard.h"

#include <string.h>

static void expect(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no '%s' in '%s'", part, text);
}

/* The count, or UINT32_MAX when the shape is refused: no test has that many elements. */
static uint32_t shape(uint32_t rank, const uint64_t *dims)
{
    uint32_t count = UINT32_MAX - 1;

    return tlm_cuda_check_shape(rank, dims, &count) == TLM_OK ? count : UINT32_MAX;
}

static void test_shapes(void **state)
{
    const uint64_t small[] = { 2, 3, 4, 1, 1, 1, 1, 5, 1 };
    const uint64_t largest[] = { 65535, 65537 }; /* 2^32 - 1 */
    const uint64_t product[] = { 65536, 65536 }; /* 2^32 */
    const uint64_t axis[] = { UINT64_C(1) << 32, 1 };
    const uint64_t empty_axis[] = { 0, UINT64_C(1) << 32 };
    const uint64_t wraps[] = { UINT64_C(1) << 31, UINT64_C(1) << 31, 4 }; /* 2^64 */
    const uint64_t empty[] = { UINT64_C(1) << 31, UINT64_C(1) << 31, 0 };

    (void)state;
    assert_int_equal(shape(0, NULL), 1);
    assert_int_equal(shape(3, small), 24);
    assert_int_equal(shape(8, small), 120);
    assert_int_equal(shape(9, small), UINT32_MAX); /* the rank */
    assert_int_equal(tlm_cuda_check_shape(2, largest, NULL), TLM_OK);
    assert_int_equal(shape(2, product), UINT32_MAX);
    assert_int_equal(shape(2, axis), UINT32_MAX);
    assert_int_equal(shape(2, empty_axis), UINT32_MAX);
    assert_int_equal(shape(3, wraps), UINT32_MAX);
    assert_int_equal(shape(3, empty), 0);
    assert_int_equal(shape(2, NULL), UINT32_MAX);
}

/* No channels, but a plane that no index reaches across: the whole product hides it. */
static void test_spatial_products(void **state)
{
    const uint64_t hidden[] = { 1, 0, 65536, 65536 };
    const uint64_t fits[] = { 1, 0, 65535, 65537 };
    const uint64_t no_rows[] = { 4, 3, 0, UINT64_C(1) << 31 };
    uint32_t count = 1;

    (void)state;
    assert_int_equal(tlm_cuda_check_shape(4, hidden, &count), TLM_OK);
    assert_int_equal(count, 0);
    assert_int_equal(tlm_cuda_check_spatial(4, hidden, 2), TLM_ERR_ARGUMENT);
    assert_int_equal(tlm_cuda_check_spatial(4, fits, 2), TLM_OK);
    assert_int_equal(tlm_cuda_check_spatial(4, no_rows, 2), TLM_OK);
    assert_int_equal(tlm_cuda_check_spatial(4, fits, 4), TLM_OK);
    assert_int_equal(tlm_cuda_check_spatial(4, fits, 5), TLM_ERR_ARGUMENT);
    assert_int_equal(tlm_cuda_check_spatial(9, fits, 2), TLM_ERR_ARGUMENT);
}

static void test_byte_counts(void **state)
{
    static const struct {
        const char *text;
        tlm_cuda_number kind;
        uint64_t bytes;
    } rows[] = {
        { "0", TLM_CUDA_NUMBER_GOOD, 0 },
        { "000", TLM_CUDA_NUMBER_GOOD, 0 },
        { "1048576", TLM_CUDA_NUMBER_GOOD, 1048576 },
        { "007", TLM_CUDA_NUMBER_GOOD, 7 },
        { "18446744073709551615", TLM_CUDA_NUMBER_GOOD, UINT64_MAX },
        { "18446744073709551616", TLM_CUDA_NUMBER_OVERFLOW, 0 },
        { "18446744073709551620", TLM_CUDA_NUMBER_OVERFLOW, 0 },
        { "99999999999999999999999999", TLM_CUDA_NUMBER_OVERFLOW, 0 },
        { "99999999999999999999999999x", TLM_CUDA_NUMBER_MALFORMED, 0 },
        { "", TLM_CUDA_NUMBER_MALFORMED, 0 },
        { " 1", TLM_CUDA_NUMBER_MALFORMED, 0 },
        { "1 ", TLM_CUDA_NUMBER_MALFORMED, 0 },
        { "+1", TLM_CUDA_NUMBER_MALFORMED, 0 },
        { "-1", TLM_CUDA_NUMBER_MALFORMED, 0 },
        { "0x10", TLM_CUDA_NUMBER_MALFORMED, 0 },
        { "1e6", TLM_CUDA_NUMBER_MALFORMED, 0 },
        { "1M", TLM_CUDA_NUMBER_MALFORMED, 0 },
        { "1.5", TLM_CUDA_NUMBER_MALFORMED, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t bytes = 17;
        const tlm_cuda_number kind = tlm_cuda_parse_bytes(rows[i].text, &bytes);

        if (kind != rows[i].kind || bytes != rows[i].bytes)
            fail_msg("'%s': kind %d, %llu bytes", rows[i].text, (int)kind,
                     (unsigned long long)bytes);
    }
}

static void test_cap(void **state)
{
    char warning[TLM_ERROR_BYTES] = "x";

    (void)state;
    assert_int_equal(tlm_cuda_parse_cap(NULL, warning), 0);
    assert_string_equal(warning, "");
    assert_int_equal(tlm_cuda_parse_cap("0", warning), 0);
    assert_string_equal(warning, "");
    assert_int_equal(tlm_cuda_parse_cap("536870912", warning), 536870912);
    assert_string_equal(warning, "");
    assert_int_equal(tlm_cuda_parse_cap("512M", warning), 0);
    assert_string_equal(warning, "TLM_CUDA_CACHE_CAP_BYTES='512M' is no decimal byte count: "
                                 "ignored, the cache is unbounded");
    assert_int_equal(tlm_cuda_parse_cap("18446744073709551616", warning), 0);
    assert_string_equal(warning, "TLM_CUDA_CACHE_CAP_BYTES='18446744073709551616' is more than "
                                 "18446744073709551615: ignored, the cache is unbounded");
}

static void test_switch(void **state)
{
    (void)state;
    assert_false(tlm_cuda_parse_switch(NULL));
    assert_false(tlm_cuda_parse_switch(""));
    assert_false(tlm_cuda_parse_switch("0"));
    assert_true(tlm_cuda_parse_switch("1"));
    assert_true(tlm_cuda_parse_switch("00"));
    assert_true(tlm_cuda_parse_switch("off")); /* anything else is on */
}

static void test_format(void **state)
{
    tlm_cuda_stats stats = { .size = sizeof stats };
    char text[TLM_CUDA_STATS_BYTES];

    (void)state;
    assert_string_equal(tlm_cuda_format_stats(&stats, text),
                        "live=0MiB peak=0MiB cache=0MiB cache_cap=0MiB allocs=0 frees=0 "
                        "wrappers_live=0 wrappers_peak=0 wrappers_alloc=0 wrappers_finalized=0 "
                        "cuda_free=0MiB cuda_total=0MiB");
    stats.live_bytes = 3 << 19;
    stats.peak_bytes = 1 << 18;
    stats.cache_bytes = 4096;              /* 0.00390625 */
    stats.cache_cap_bytes = (1 << 20) - 1; /* rounds up to a whole one */
    stats.alloc_count = 2;
    stats.free_count = 1;
    stats.wrappers_live = 1;
    stats.wrappers_peak = 3;
    stats.wrappers_alloc = 5;
    stats.wrappers_finalized = 4;
    stats.device_free_bytes = 105906176; /* exactly 101 */
    stats.device_total_bytes = UINT64_MAX;
    assert_string_equal(tlm_cuda_format_stats(&stats, text),
                        "live=1.5MiB peak=0.25MiB cache=0.004MiB cache_cap=1MiB allocs=2 frees=1 "
                        "wrappers_live=1 wrappers_peak=3 wrappers_alloc=5 wrappers_finalized=4 "
                        "cuda_free=101MiB cuda_total=17592186044416MiB");
    memset(&stats, 0xff, sizeof stats);
    assert_true(strlen(tlm_cuda_format_stats(&stats, text)) < TLM_CUDA_STATS_BYTES - 1);
}

/* Each cause has a text of its own that fits and says what to do. */
static void test_causes(void **state)
{
    static const struct {
        tlm_cuda_cause cause;
        const char *what, *remedy;
    } rows[] = {
        { TLM_CUDA_CAUSE_STUB_BUILD, "tlmc's stub of the CUDA runtime", "-DTLMC_CUDA=ON" },
        { TLM_CUDA_CAUSE_NO_DRIVER, "no NVIDIA driver", "install one for CUDA 13.0" },
        { TLM_CUDA_CAUSE_DRIVER_TOO_OLD, "it is for CUDA 11.4, the program for 13.0", "update" },
        { TLM_CUDA_CAUSE_STUB_LIBRARY, "stub of libcuda", "LD_LIBRARY_PATH" },
        { TLM_CUDA_CAUSE_NO_VISIBLE_DEVICE, "no usable CUDA device is visible",
          "CUDA_VISIBLE_DEVICES" },
        { TLM_CUDA_CAUSE_DRIVER_FAILED, "cudaErrorUnknown: unknown error", "nvidia-smi" },
    };
    char texts[6][TLM_ERROR_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tlm_cuda_cause_text(rows[i].cause, 11040, 13000, "cudaErrorUnknown: unknown error",
                            texts[i]);
        expect(texts[i], "CUDA was requested");
        expect(texts[i], rows[i].what);
        expect(texts[i], rows[i].remedy); /* it stands at the end: nothing was cut */
        for (size_t other = 0; other < i; other++)
            assert_string_not_equal(texts[i], texts[other]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),      cmocka_unit_test(test_spatial_products),
        cmocka_unit_test(test_byte_counts), cmocka_unit_test(test_cap),
        cmocka_unit_test(test_switch),      cmocka_unit_test(test_format),
        cmocka_unit_test(test_causes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
