/* .npy: all three header versions, what is written reads back, and every refusal by name. */
#define _POSIX_C_SOURCE 200809L
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "file.h"
#include "npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char error[TLM_ERROR_BYTES];

/* A file of that version with this header text and `data` bytes of zero behind it, in exactly sized
   memory. */
static uint8_t *make(int version, const char *header, size_t data, size_t *size)
{
    const size_t length = strlen(header), wide = version == 1 ? 2 : 4;
    uint8_t *bytes;

    *size = 8 + wide + length + data;
    bytes = calloc(*size + 1, 1);
    assert_non_null(bytes);
    memcpy(bytes, "\x93NUMPY", 6);
    bytes[6] = (uint8_t)version;
    bytes[8] = (uint8_t)(length & 0xff);
    bytes[9] = (uint8_t)(length >> 8);
    memcpy(bytes + 8 + wide, header, length);
    return bytes;
}

static tlm_status parse(int version, const char *header, size_t data, struct tlm_npy *out)
{
    size_t size;
    uint8_t *bytes = make(version, header, data, &size);
    const tlm_status status = tlm_npy_parse(bytes, size, "f.npy", out, error);

    free(bytes);
    return status;
}

static void refuses(const char *header, size_t data, tlm_status status, const char *part)
{
    struct tlm_npy npy;

    assert_int_equal(parse(1, header, data, &npy), status);
    if (!strstr(error, part))
        fail_msg("no '%s' in: %s", part, error);
}

static void test_versions(void **state)
{
    struct tlm_npy npy;

    (void)state;
    for (int version = 1; version <= 3; version++) {
        assert_int_equal(parse(version,
                               "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  \n",
                               24, &npy),
                         TLM_OK);
        assert_int_equal(npy.dtype, TLM_F32);
        assert_int_equal(npy.rank, 2);
        assert_int_equal(npy.dims[0], 2);
        assert_int_equal(npy.dims[1], 3);
        assert_int_equal(npy.count, 6);
    }
    assert_int_equal(parse(1, "{\"shape\":(),\"fortran_order\":False,\"descr\":\"<i4\"}", 4, &npy),
                     TLM_OK);
    assert_int_equal(npy.rank, 0);
    assert_int_equal(npy.dtype, TLM_I32);
    assert_int_equal(parse(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (0, 7)}", 0, &npy),
                     TLM_OK);
    assert_int_equal(npy.count, 0);
}

static void test_refusals(void **state)
{
    struct tlm_npy npy;

    (void)state;
    refuses("{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}", 8, TLM_ERR_MISMATCH,
            "dtype '<f8'");
    refuses("{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}", 4, TLM_ERR_MISMATCH,
            "dtype '>f4'");
    refuses("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2)}", 16, TLM_ERR_MISMATCH,
            "Fortran order");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2)}", 15, TLM_ERR_FORMAT,
            "15 bytes of data");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2)}", 17, TLM_ERR_FORMAT,
            "17 bytes of data");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (-2, 2)}", 16, TLM_ERR_FORMAT,
            "not a dict");
    refuses("{'descr': '<f4', 'fortran_order': False}", 8, TLM_ERR_FORMAT, "not a dict");
    refuses("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}", 4,
            TLM_ERR_FORMAT, "not a dict");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (), 'more': 1}", 4, TLM_ERR_FORMAT,
            "not a dict");
    refuses("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}", 4, TLM_ERR_FORMAT,
            "not a dict");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}", 4,
            TLM_ERR_FORMAT, "not a dict");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", 0,
            TLM_ERR_FORMAT, "0 bytes");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", 0,
            TLM_ERR_FORMAT, "not a dict");
    refuses("", 0, TLM_ERR_FORMAT, "not a dict");
    assert_int_equal(parse(4, "{}", 0, &npy), TLM_ERR_FORMAT);
    assert_non_null(strstr(error, "version 4.0"));
}

static void test_short_files(void **state)
{
    struct tlm_npy npy;
    size_t size;
    uint8_t *whole = make(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 8, &size);

    (void)state;
    assert_int_equal(tlm_npy_parse(whole, size, "f.npy", &npy, error), TLM_OK);
    for (size_t cut = 0; cut < size;
         cut++) { /* in memory of that size, so that a read beyond it shows */
        uint8_t *bytes = malloc(cut + 1);

        assert_non_null(bytes);
        memcpy(bytes, whole, cut);
        assert_int_equal(tlm_npy_parse(bytes, cut, "f.npy", &npy, error), TLM_ERR_FORMAT);
        free(bytes);
    }
    free(whole);
}

static void test_bools(void **state)
{
    struct tlm_npy npy;
    size_t size;
    uint8_t *bytes = make(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}", 3, &size);

    (void)state;
    bytes[size - 2] = 2;
    assert_int_equal(tlm_npy_parse(bytes, size, "f.npy", &npy, error), TLM_ERR_FORMAT);
    assert_string_equal(error, "f.npy: 2 at element 1 is not a bool");
    free(bytes);
}

static void test_write(void **state)
{
    static const int32_t values[] = { 1, -2, 3, 4, 5, 6 };
    static const uint64_t dims[] = { 3, 2 };
    char path[64];
    struct tlm_bytes bytes;
    struct tlm_npy npy;

    (void)state;
    snprintf(path, sizeof path, "/tmp/tlm-npy-%ld.npy", (long)getpid());
    for (uint32_t rank = 0; rank <= 2; rank++) {
        assert_int_equal(tlm_npy_write(path, TLM_I32, rank, dims, values, error), TLM_OK);
        assert_int_equal(tlm_file_read(path, 1 << 20, &bytes, error), TLM_OK);
        assert_int_equal(tlm_npy_parse(bytes.data, bytes.size, path, &npy, error), TLM_OK);
        assert_int_equal((npy.data - bytes.data) % 64, 0);
        assert_int_equal(npy.rank, rank);
        assert_memory_equal(npy.dims, dims, rank * sizeof *dims);
        assert_memory_equal(npy.data, values, npy.count * 4);
        tlm_bytes_free(&bytes);
    }
    remove(path);
    assert_int_equal(tlm_npy_write("/nonexistent/f.npy", TLM_I32, 0, dims, values, error),
                     TLM_ERR_IO);
    assert_int_equal(tlm_npy_write(path, TLM_BF16, 0, dims, values, error), TLM_ERR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions),    cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_short_files), cmocka_unit_test(test_bools),
        cmocka_unit_test(test_write),
    };

    return cmocka_run_group_tests_name("npy", tests, NULL, NULL);
}
