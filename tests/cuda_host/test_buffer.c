/* Raw device buffers on the host CUDA runtime: validation, reuse by exact size, events, short
   memory, failures.  The cap of the cache is read once in the life of a process, so each setting is
   tried in a fresh one: this program runs itself, with the setting in the environment and the name
   of the probe as its argument. */
#define _POSIX_C_SOURCE 200809L
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tlm_cuda.h"

#include <cuda_runtime_api.h>

#include "host_cudart.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/wait.h>
#include <unistd.h>

enum { BLOCK = 65536 * 4, BLOCKS = 32 }; /* 8 MiB in all */

static const char *self; /* this program */

static tlm_cuda_stats stats_now(void)
{
    tlm_cuda_stats stats;

    tlm_cuda_get_stats(&stats);
    return stats;
}

static tlm_cuda_buffer *buffer_of(uint64_t bytes)
{
    char error[TLM_ERROR_BYTES] = "";
    tlm_cuda_buffer *buffer = NULL;

    if (tlm_cuda_buffer_new(&buffer, bytes, error) != TLM_OK)
        fail_msg("%s", error);
    return buffer;
}

static void release(tlm_cuda_buffer *buffer)
{
    char error[TLM_ERROR_BYTES] = "";

    if (tlm_cuda_buffer_release(buffer, error) != TLM_OK)
        fail_msg("%s", error);
}

static void assert_nothing_held(void)
{
    char text[1024] = "";

    assert_int_equal(tlm_cuda_empty_cache(NULL), TLM_OK);
    if (tlm_host_leaks(text, sizeof text) != 0)
        fail_msg("held: %s", text);
}

/* ---- one process */

static void test_reuse_by_exact_size(void **state)
{
    tlm_cuda_buffer *const a = buffer_of(4096), *const b = buffer_of(4100);
    void *const place = tlm_cuda_buffer_address(a);
    const tlm_cuda_stats before = stats_now();
    tlm_cuda_buffer *c;

    (void)state;
    assert_int_equal(before.live_bytes, 4096 + 4100);
    release(a);
    release(b);
    assert_int_equal(stats_now().live_bytes, 0);
    assert_int_equal(stats_now().cache_bytes, 4096 + 4100);
    c = buffer_of(4092); /* 4096 would do, but is not the same */
    assert_int_equal(stats_now().alloc_count, before.alloc_count + 1);
    release(c);
    c = buffer_of(4096);
    assert_ptr_equal(tlm_cuda_buffer_address(c), place);
    assert_int_equal(stats_now().alloc_count, before.alloc_count + 1);
    assert_int_equal(stats_now().cache_bytes, 4100 + 4092);
    assert_int_equal(stats_now().wrappers_live, 1);
    assert_int_equal(stats_now().peak_bytes, before.peak_bytes);
    release(c);
    assert_int_equal(stats_now().free_count, before.free_count);
    assert_nothing_held();
    assert_int_equal(stats_now().free_count, before.free_count + 3);
    assert_int_equal(stats_now().cache_bytes, 0);
}

/* A block whose release the device has not reached is not handed out again. */
static void test_event_before_reuse(void **state)
{
    tlm_cuda_buffer *a, *b;
    void *place;

    (void)state;
    tlm_host_defer(5);
    a = buffer_of(1024);
    place = tlm_cuda_buffer_address(a);
    for (int i = 0; i < 64; i++) /* each call lets a few of them run, not all */
        assert_int_equal(cudaMemsetAsync(place, 0, 1024, 0), cudaSuccess);
    release(a);
    b = buffer_of(1024);
    assert_ptr_not_equal(tlm_cuda_buffer_address(b), place);
    assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
    a = buffer_of(1024);
    assert_ptr_equal(tlm_cuda_buffer_address(a), place);
    release(a);
    release(b);
    tlm_host_defer(0);
    assert_nothing_held();
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess); /* "not ready" was no error */
}

static void test_double_release(void **state)
{
    char error[TLM_ERROR_BYTES] = "";
    tlm_cuda_buffer *const a = buffer_of(64);
    tlm_cuda_buffer *b;

    (void)state;
    release(a);
    assert_int_equal(tlm_cuda_buffer_release(a, error), TLM_ERR_ARGUMENT);
    assert_non_null(strstr(error, "released already"));
    b = buffer_of(64); /* takes the place of a, not its name */
    assert_int_equal(tlm_cuda_buffer_release(a, error), TLM_ERR_ARGUMENT);
    assert_int_equal(tlm_cuda_buffer_bytes(a), 0);
    assert_null(tlm_cuda_buffer_address(a));
    assert_int_equal(tlm_cuda_buffer_upload(a, 0, "x", 1, error), TLM_ERR_ARGUMENT);
    assert_int_equal(tlm_cuda_buffer_bytes(b), 64);
    release(b);
    assert_int_equal(tlm_cuda_buffer_release(NULL, NULL), TLM_ERR_ARGUMENT);
    assert_int_equal(tlm_cuda_buffer_release((tlm_cuda_buffer *)(void *)&b, error),
                     TLM_ERR_ARGUMENT); /* never was one */
    assert_int_equal(tlm_cuda_buffer_new(NULL, 64, error), TLM_ERR_ARGUMENT);
    assert_nothing_held();
}

static void test_validation(void **state)
{
    char error[TLM_ERROR_BYTES] = "";
    tlm_cuda_buffer *const buffer = buffer_of(24), *const empty = buffer_of(0);
    const uint64_t fits[] = { 2, 3 }, other[] = { 7 }, none[] = { 4, 0 };
    const uint64_t beyond[] = { 65536, 65536 }, nine[9] = { 1, 1, 1, 1, 1, 1, 1, 1, 6 };

    (void)state;
    assert_int_equal(tlm_cuda_buffer_validate(buffer, TLM_F32, 2, fits, error), TLM_OK);
    assert_int_equal(tlm_cuda_buffer_validate(buffer, TLM_I32, 2, fits, error), TLM_OK);
    assert_int_equal(tlm_cuda_buffer_validate(buffer, TLM_F32, 1, other, error), TLM_ERR_MISMATCH);
    assert_string_equal(error, "cuda buffer: 24 bytes, the shape has 7 elements of 4 bytes");
    assert_int_equal(tlm_cuda_buffer_validate(buffer, TLM_F64, 2, fits, error), TLM_ERR_MISMATCH);
    assert_int_equal(tlm_cuda_buffer_validate(buffer, TLM_F32, 2, beyond, error), TLM_ERR_ARGUMENT);
    assert_int_equal(tlm_cuda_buffer_validate(buffer, TLM_F32, 9, nine, error), TLM_ERR_ARGUMENT);
    assert_int_equal(tlm_cuda_buffer_validate(buffer, (tlm_dtype)99, 2, fits, error),
                     TLM_ERR_ARGUMENT);
    assert_int_equal(tlm_cuda_buffer_validate(NULL, TLM_F32, 2, fits, error), TLM_ERR_ARGUMENT);
    assert_int_equal(tlm_cuda_buffer_validate(empty, TLM_F32, 2, none, error), TLM_OK);
    release(buffer);
    assert_int_equal(tlm_cuda_buffer_validate(buffer, TLM_F32, 2, fits, error), TLM_ERR_ARGUMENT);
    release(empty);
    assert_nothing_held();
}

static void test_copies(void **state)
{
    char error[TLM_ERROR_BYTES] = "", text[8] = "";
    tlm_cuda_buffer *const buffer = buffer_of(8);

    (void)state;
    assert_int_equal(tlm_cuda_buffer_upload(buffer, 0, "abcdefgh", 8, error), TLM_OK);
    assert_int_equal(tlm_cuda_buffer_upload(buffer, 2, "XY", 2, error), TLM_OK);
    assert_int_equal(tlm_cuda_buffer_download(buffer, 1, text, 5, error), TLM_OK);
    assert_memory_equal(text, "bXYef", 5);
    assert_int_equal(tlm_cuda_buffer_download(buffer, 8, text, 0, error), TLM_OK);
    assert_int_equal(tlm_cuda_buffer_download(buffer, 4, text, 5, error), TLM_ERR_ARGUMENT);
    assert_int_equal(tlm_cuda_buffer_download(buffer, 9, text, 0, error), TLM_ERR_ARGUMENT);
    assert_int_equal(tlm_cuda_buffer_upload(buffer, UINT64_MAX, "abc", 3, error), TLM_ERR_ARGUMENT);
    assert_int_equal(tlm_cuda_buffer_upload(buffer, 0, NULL, 3, error), TLM_ERR_ARGUMENT);
    release(buffer);
    assert_nothing_held();
}

/* Short memory takes the cache first; when that is not enough, the figures are said. */
static void test_short_memory(void **state)
{
    char error[TLM_ERROR_BYTES] = "";
    tlm_cuda_buffer *held, *buffer = NULL;

    (void)state;
    tlm_host_set_memory(1 << 20);
    held = buffer_of(256 << 10);
    release(buffer_of(512 << 10));
    assert_int_equal(stats_now().cache_bytes, 512 << 10);
    buffer = buffer_of(600 << 10); /* only without the cache */
    assert_int_equal(stats_now().cache_bytes, 0);
    release(buffer);
    assert_int_equal(tlm_cuda_buffer_new(&buffer, 900 << 10, error), TLM_ERR_DEVICE);
    assert_null(buffer);
    assert_non_null(strstr(error, "requested=921600 live=262144 peak="));
    assert_non_null(strstr(error, "cudaErrorMemoryAllocation"));
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
    release(held);
    tlm_host_set_memory((size_t)8 << 30);
    assert_nothing_held();
}

/* Every call of CUDA fails once: a status with a message, nothing lost, the counters whole. */
static void test_every_call_fails(void **state)
{
    (void)state;
    for (uint64_t n = 1; n <= 24; n++) {
        char error[TLM_ERROR_BYTES] = "";
        tlm_cuda_buffer *a = NULL, *b = NULL;
        char byte = 1;
        tlm_status status;

        tlm_host_fail(n);
        status = tlm_cuda_buffer_new(&a, 100, error);
        if (status == TLM_OK)
            status = tlm_cuda_buffer_new(&b, 200, error);
        if (status == TLM_OK)
            status = tlm_cuda_buffer_upload(a, 0, &byte, 1, error);
        if (status == TLM_OK)
            status = tlm_cuda_buffer_download(a, 0, &byte, 1, error);
        if (b) {
            const tlm_status released = tlm_cuda_buffer_release(b, error);

            status = status == TLM_OK ? released : status;
        }
        if (a) {
            const tlm_status released = tlm_cuda_buffer_release(a, error);

            status = status == TLM_OK ? released : status;
        }
        if (status == TLM_OK)
            status = tlm_cuda_empty_cache(error);
        if (status != TLM_OK && !strstr(error, "cudaError"))
            fail_msg("call %d: '%s'", (int)n, error);
        tlm_host_fail(0);
        assert_nothing_held();
        assert_int_equal(stats_now().live_bytes, 0);
        assert_int_equal(stats_now().cache_bytes, 0);
        assert_int_equal(stats_now().wrappers_live, 0);
        assert_int_equal(stats_now().alloc_count, stats_now().free_count);
    }
}

/* A failure that the event of a cached block tells is told by who wanted the block. */
static void test_failing_event(void **state)
{
    char error[TLM_ERROR_BYTES] = "";
    tlm_cuda_buffer *a = buffer_of(100);

    (void)state;
    release(a);
    tlm_host_fail(2); /* cudaGetDevice, cudaEventQuery */
    assert_int_equal(tlm_cuda_buffer_new(&a, 100, error), TLM_ERR_DEVICE);
    tlm_host_fail(0);
    assert_null(a);
    assert_non_null(strstr(error, "(cudaEventQuery of a released block)"));
    assert_int_equal(stats_now().cache_bytes, 100); /* it is still there */
    a = buffer_of(100);
    assert_int_equal(stats_now().cache_bytes, 0);
    release(a);
    assert_nothing_held();
}

/* ---- fresh processes */

/* Runs this program with a probe's name and one variable; its exit status, what it printed in
   `text`. */
static int run_probe(const char *probe, const char *variable, const char *value, char *text,
                     size_t capacity)
{
    int channel[2], status;
    size_t length = 0;
    ssize_t got;
    pid_t child;

    assert_int_equal(pipe(channel), 0);
    fflush(NULL);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(channel[1], 1);
        dup2(channel[1], 2);
        close(channel[0]);
        close(channel[1]);
        if (value)
            setenv(variable, value, 1);
        else
            unsetenv(variable);
        execl(self, self, probe, (char *)NULL);
        _exit(127);
    }
    close(channel[1]);
    while (length + 1 < capacity &&
           (got = read(channel[0], text + length, capacity - 1 - length)) > 0)
        length += (size_t)got;
    text[length] = '\0';
    close(channel[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The probe of the cap: 8 MiB are released, then the cache's bytes and cap are printed. */
static int probe_cap(void)
{
    tlm_cuda_buffer *buffers[BLOCKS];
    tlm_cuda_stats stats;

    for (int i = 0; i < BLOCKS; i++)
        if (tlm_cuda_buffer_new(&buffers[i], BLOCK, NULL) != TLM_OK)
            return 1;
    for (int i = 0; i < BLOCKS; i++)
        if (tlm_cuda_buffer_release(buffers[i], NULL) != TLM_OK)
            return 1;
    setenv("TLM_CUDA_CACHE_CAP_BYTES", "1", 1); /* too late: it was read */
    tlm_cuda_get_stats(&stats);
    printf("cache=%llu cap=%llu frees=%llu\n", (unsigned long long)stats.cache_bytes,
           (unsigned long long)stats.cache_cap_bytes, (unsigned long long)stats.free_count);
    return tlm_cuda_empty_cache(NULL) != TLM_OK;
}

static void test_cap(void **state)
{
    static const struct {
        const char *value, *wanted, *warning;
    } rows[] = {
        { "1048576", "cache=1048576 cap=1048576 frees=28\n", NULL },
        { "1048575", "cache=786432 cap=1048575 frees=29\n", NULL },
        { "1000", "cache=0 cap=1000 frees=32\n", NULL }, /* no block fits */
        { "0", "cache=8388608 cap=0 frees=0\n", NULL },
        { NULL, "cache=8388608 cap=0 frees=0\n", NULL },
        { "18446744073709551615", "cache=8388608 cap=18446744073709551615 frees=0\n", NULL },
        { "1MiB", "cache=8388608 cap=0 frees=0\n", "'1MiB' is no decimal byte count" },
        { "-1", "cache=8388608 cap=0 frees=0\n", "'-1' is no decimal byte count" },
        { "", "cache=8388608 cap=0 frees=0\n", "'' is no decimal byte count" },
        { "18446744073709551616", "cache=8388608 cap=0 frees=0\n",
          "is more than 18446744073709551615" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[4096];
        const int code =
            run_probe("cap", "TLM_CUDA_CACHE_CAP_BYTES", rows[i].value, text, sizeof text);
        const char *const warned = strstr(text, "tlm: warning: TLM_CUDA_CACHE_CAP_BYTES=");

        if (code != 0 || !strstr(text, rows[i].wanted))
            fail_msg("cap '%s': exit %d\n%s", rows[i].value, code, text);
        if ((warned != NULL) != (rows[i].warning != NULL))
            fail_msg("cap '%s' warns:\n%s", rows[i].value, text);
        if (warned) {
            assert_non_null(strstr(warned, rows[i].warning));
            assert_null(strstr(warned + 1, "tlm: warning")); /* once */
        }
    }
}

static int probe_switch(void)
{
    printf("%d", tlm_cuda_get_deterministic_reductions());
    printf("%d", tlm_cuda_set_deterministic_reductions(0));
    printf("%d", tlm_cuda_get_deterministic_reductions());
    printf("%d", tlm_cuda_set_deterministic_reductions(3));
    printf("%d\n", tlm_cuda_get_deterministic_reductions());
    return 0;
}

static void test_switch(void **state)
{
    static const struct {
        const char *value, *wanted;
    } rows[] = { { NULL, "00011\n" },
                 { "", "00011\n" },
                 { "0", "00011\n" },
                 { "1", "10011\n" },
                 { "no", "10011\n" } };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[4096];
        const int code = run_probe("switch", "TLM_CUDA_DETERMINISTIC_REDUCTIONS", rows[i].value,
                                   text, sizeof text);

        assert_int_equal(code, 0);
        assert_string_equal(text, rows[i].wanted);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reuse_by_exact_size),
        cmocka_unit_test(test_event_before_reuse),
        cmocka_unit_test(test_double_release),
        cmocka_unit_test(test_validation),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_short_memory),
        cmocka_unit_test(test_every_call_fails),
        cmocka_unit_test(test_failing_event),
        cmocka_unit_test(test_cap),
        cmocka_unit_test(test_switch),
    };

    self = argv[0];
    if (argc > 1 && strcmp(argv[1], "cap") == 0)
        return probe_cap();
    if (argc > 1 && strcmp(argv[1], "switch") == 0)
        return probe_switch();
    unsetenv("TLM_CUDA_CACHE_CAP_BYTES");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
