/* CSV: quoting and line ends of RFC 4180, columns by number and name, and every refusal at its line
   and column. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "csv.h"

#include <stdlib.h>
#include <string.h>

static char error[TLM_ERROR_BYTES];
static const int64_t first_two[] = { 0, 1 };
static const char *const named[] = { "b", "a" };

/* Reads `size` bytes of text with one want; the rows, which the caller frees, and the status. */
static tlm_status read_bytes(const char *text, size_t size, int header,
                             const struct tlm_csv_want *want, struct tlm_csv_rows *rows,
                             size_t *count)
{
    char *copy = malloc(size + 1);
    tlm_status status;

    assert_non_null(copy);
    memcpy(copy, text, size);
    copy[size] = 0;
    error[0] = 0;
    status = tlm_csv_read(copy, size, "f.csv", header, want, 1, rows, count, error);
    free(copy);
    return status;
}

/* Columns 0 and 1 as f32 must be `values`. */
static void gives(const char *text, int header, size_t count, const float *values)
{
    const struct tlm_csv_want want = { "x", TLM_F32, first_two, NULL, 2 };
    struct tlm_csv_rows rows;
    size_t found;

    if (read_bytes(text, strlen(text), header, &want, &rows, &found) != TLM_OK)
        fail_msg("%s\nin: %s", error, text);
    assert_int_equal(found, count);
    assert_memory_equal(rows.values, values, count * 2 * sizeof *values);
    tlm_csv_rows_free(&rows, 1);
}

static void refuses(const char *text, int header, const struct tlm_csv_want *want,
                    const char *message)
{
    struct tlm_csv_rows rows;
    size_t found;

    assert_int_equal(read_bytes(text, strlen(text), header, want, &rows, &found), TLM_ERR_FORMAT);
    assert_string_equal(error, message);
    assert_null(rows.values);
}

static void refuses_f32(const char *text, const char *message)
{
    const struct tlm_csv_want want = { "x", TLM_F32, first_two, NULL, 2 };

    refuses(text, 0, &want, message);
}

static void test_layouts(void **state)
{
    static const float values[] = { 1, 2, -3.5f, 4e2f };

    (void)state;
    gives("1,2\n-3.5,4e2\n", 0, 2, values);
    gives("1,2\n-3.5,4e2", 0, 2, values);
    gives("1,2\r\n-3.5,4e2\r\n\r\n\n", 0, 2, values);
    gives("\xef\xbb\xbf"
          "a,b\n1,2\n-3.5,4e2\n",
          1, 2, values);
    gives("1,2,text,\"more, \"\"text\"\"\nover lines\"\n-3.5,4e2,,\n", 0, 2, values);
    gives("\"1\",\"2\"\r\n\"-3.5\",\"4e2\"\r\n", 0, 2, values);
    gives(" 1 ,\t2\n-3.5 ,+4.E+2\n", 0, 2, values);
    gives("a,b\n", 1, 0, values);
}

/* Rounded once, from the decimal text: through binary64 the first of these would come out one unit
   higher. */
static void test_rounding(void **state)
{
    (void)state;
    gives("1.00000017881393432617187499,1.00000005960464477539062499\n", 0, 1,
          (const float[]){ 0x1.000002p0f, 0x1p0f });
    gives("1.000000178813934326171875001,1e0\n", 0, 1, (const float[]){ 0x1.000004p0f, 1.0f });
}

static void test_names_and_types(void **state)
{
    const struct tlm_csv_want wants[] = { { "x", TLM_F32, NULL, named, 2 },
                                          { "n", TLM_I32, first_two, NULL, 1 },
                                          { "m", TLM_BOOL, (const int64_t[]){ 2 }, NULL, 1 } };
    char text[] = "a,b,flag\n-2147483648,0.5,true\n2147483647,1.5,0\n";
    struct tlm_csv_rows rows[3];
    size_t count;

    (void)state;
    assert_int_equal(tlm_csv_read(text, strlen(text), "f.csv", 1, wants, 3, rows, &count, error),
                     TLM_OK);
    assert_int_equal(count, 2);
    assert_memory_equal(rows[0].values,
                        ((const float[]){ 0.5f, -2147483648.0f, 1.5f, 2147483648.0f }), 16);
    assert_memory_equal(rows[1].values, ((const int32_t[]){ INT32_MIN, INT32_MAX }), 8);
    assert_memory_equal(rows[2].values, ((const uint8_t[]){ 1, 0 }), 2);
    tlm_csv_rows_free(rows, 3);
}

static void test_refused_numbers(void **state)
{
    const struct tlm_csv_want integer = { "n", TLM_I32, first_two, NULL, 1 };
    const struct tlm_csv_want boolean = { "m", TLM_BOOL, first_two, NULL, 1 };

    (void)state;
    refuses_f32("1,2\n3,cat\n", "f.csv:2:3: 'cat' where a number is needed, of type f32");
    refuses_f32("a,b\n3,4\n", "f.csv:1:1: 'a' where a number is needed, of type f32 (is it a "
                              "header? `header true` skips it)");
    refuses_f32("1,2\n3,\n", "f.csv:2:3: '' where a number is needed, of type f32");
    refuses_f32("1,2\n3,nan\n", "f.csv:2:3: 'nan' where a number is needed, of type f32");
    refuses_f32("1,2\n3,-inf\n", "f.csv:2:3: '-inf' where a number is needed, of type f32");
    refuses_f32("1,2\n3,0x10\n", "f.csv:2:3: '0x10' where a number is needed, of type f32");
    refuses_f32("1,2\n3,1e39\n", "f.csv:2:3: '1e39' is outside the range of f32");
    refuses_f32("1,2\n3,1.5.2\n", "f.csv:2:3: '1.5.2' where a number is needed, of type f32");
    refuses_f32("1,2\n3,1e\n", "f.csv:2:3: '1e' where a number is needed, of type f32");
    refuses_f32("1,2\n\"3\",\"4\n5\"\n", "f.csv:2:5: '4' where a number is needed, of type f32");
    refuses("1\n2.0\n", 0, &integer, "f.csv:2:1: '2.0' where a number is needed, of type i32");
    refuses("1\n2147483648\n", 0, &integer, "f.csv:2:1: '2147483648' is outside the range of i32");
    refuses("1\n99999999999999999999\n", 0, &integer,
            "f.csv:2:1: '99999999999999999999' is outside the range of i32");
    refuses("1\n2\n", 0, &boolean, "f.csv:2:1: '2' where a number is needed, of type bool");
}

static void test_refused_layouts(void **state)
{
    const struct tlm_csv_want third = { "x", TLM_F32, (const int64_t[]){ 2 }, NULL, 1 };
    const struct tlm_csv_want name = { "x", TLM_F32, NULL, (const char *const[]){ "c" }, 1 };

    (void)state;
    refuses_f32("", "f.csv:1:1: the file is empty");
    refuses_f32("\n\r\n", "f.csv:1:1: the file is empty");
    refuses_f32("1,2\n3\n", "f.csv:2:1: 1 fields; the first line has 2");
    refuses_f32("1,2\n3,4,5\n", "f.csv:2:1: 3 fields; the first line has 2");
    refuses_f32("1,2\n\n3,4\n", "f.csv:2:1: 1 fields; the first line has 2");
    refuses_f32("1,2\n3,\"4\n5,6\n", "f.csv:2:3: this quote is never closed");
    refuses_f32("1,2\n3,\"4\"5\n", "f.csv:2:6: text behind a closing quote");
    refuses_f32("1,2\n3,4\"\n", "f.csv:2:4: a quote inside a field without quotes");
    refuses("1,2\n", 0, &third, "f.csv:1:1: no column 2 for 'x': a line has 2");
    refuses("a,b\n1,2\n", 1, &name, "f.csv:1:1: no column 'c' for 'x'");
    refuses("1,2\n", 0, &name,
            "f.csv:1:1: no column 'c' for 'x': without `header true` columns have no names");
    refuses("a,c,c\n1,2,3\n", 1, &name, "f.csv:1:5: two columns are named 'c'");
}

static void test_nul_bytes(void **state)
{
    const struct tlm_csv_want want = { "x", TLM_F32, first_two, NULL, 2 };
    struct tlm_csv_rows rows;
    size_t count;

    (void)state;
    assert_int_equal(read_bytes("1,2\n3,\0004\n", 9, 0, &want, &rows, &count), TLM_ERR_FORMAT);
    assert_string_equal(error, "f.csv:2:3: a NUL byte");
    assert_int_equal(read_bytes("1,2\n3,\"\0004\"\n", 11, 0, &want, &rows, &count), TLM_ERR_FORMAT);
    assert_string_equal(error, "f.csv:2:4: a NUL byte");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts),         cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_names_and_types), cmocka_unit_test(test_refused_numbers),
        cmocka_unit_test(test_refused_layouts), cmocka_unit_test(test_nul_bytes),
    };

    return cmocka_run_group_tests_name("csv", tests, NULL, NULL);
}
