/* Floats read back as themselves in their shortest text; strings are what C reads back. */
#include "literal.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void f32_texts(void **state)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        { 0.0, "0.0f" },
        { -0.0, "-0.0f" },
        { 1.0, "1.0f" },
        { -1.5, "-1.5f" },
        { 25.0, "25.0f" },
        { 100000.0, "100000.0f" },
        { 16777216.0, "16777216.0f" },
        { 1e9, "1e9f" },
        { 1e20, "1e20f" },
        { 0.1, "0.1f" },
        { 0.001, "0.001f" },
        { 1e-5, "0.00001f" },
        { 1e-8, "1e-8f" },
        { 1.25e-7, "1.25e-7f" },
        { 3.4028234663852886e38, "3.4028235e38f" },
        { 1.401298464324817e-45, "1e-45f" },
        { 0.333333333333, "0.33333334f" },
        { INFINITY, "INFINITY" },
        { -INFINITY, "-INFINITY" },
        { 1e39, "INFINITY" },
        { NAN, "NAN" },
    };
    struct tlmc_arena arena = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(tlmc_literal_f32(&arena, cases[i].value), cases[i].text);
    tlmc_arena_free(&arena);
}

static void f64_texts(void **state)
{
    struct tlmc_arena arena = { 0 };

    (void)state;
    assert_string_equal(tlmc_literal_f64(&arena, 0.1), "0.1");
    assert_string_equal(tlmc_literal_f64(&arena, 1e-5), "0.00001");
    assert_string_equal(tlmc_literal_f64(&arena, 2.0 / 3.0), "0.6666666666666666");
    assert_string_equal(tlmc_literal_f64(&arena, 5e-324), "5e-324");
    assert_string_equal(tlmc_literal_f64(&arena, 1e300), "1e300");
    tlmc_arena_free(&arena);
}

/* Bits are drawn from a counter, so a failure can be repeated. */
static uint64_t mixed(uint64_t z)
{
    z = (z + UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void every_float_reads_back(void **state)
{
    struct tlmc_arena arena = { 0 };

    (void)state;
    for (uint64_t i = 0; i < 20000; i++) {
        const uint32_t bits = (uint32_t)mixed(i);
        float value, back;

        memcpy(&value, &bits, sizeof value);
        if (isnan(value) || isinf(value))
            continue;
        back = strtof(tlmc_literal_f32(&arena, (double)value), NULL);
        if (memcmp(&back, &value, sizeof value) != 0)
            fail_msg("bits %08" PRIx32 " print as %s", bits,
                     tlmc_literal_f32(&arena, (double)value));
    }
    for (uint64_t i = 0; i < 20000; i++) {
        const uint64_t bits = mixed(i);
        double value, back;

        memcpy(&value, &bits, sizeof value);
        if (isnan(value) || isinf(value))
            continue;
        back = strtod(tlmc_literal_f64(&arena, value), NULL);
        if (memcmp(&back, &value, sizeof value) != 0)
            fail_msg("bits %016" PRIx64 " print as %s", bits, tlmc_literal_f64(&arena, value));
    }
    tlmc_arena_free(&arena);
}

static void integers(void **state)
{
    struct tlmc_arena arena = { 0 };

    (void)state;
    assert_string_equal(tlmc_literal_i32(&arena, -7), "-7");
    assert_string_equal(tlmc_literal_i32(&arena, INT32_MIN), "INT32_MIN");
    assert_string_equal(tlmc_literal_count(&arena, UINT64_MAX), "18446744073709551615");
    assert_string_equal(tlmc_literal_element(&arena, TLMC_BOOL, 1.0), "1");
    assert_string_equal(tlmc_literal_element(&arena, TLMC_I32, 3.0), "3");
    assert_string_equal(tlmc_literal_element(&arena, TLMC_F32, 3.0), "3.0f");
    tlmc_arena_free(&arena);
}

static void check_string(const char *text, const char *expected)
{
    struct tlmc_strbuf out = { 0 };

    tlmc_literal_string(&out, text, 4);
    assert_string_equal(tlmc_strbuf_text(&out), expected);
    tlmc_strbuf_free(&out);
}

static void strings(void **state)
{
    (void)state;
    check_string(NULL, "NULL");
    check_string("", "\"\"");
    check_string("a\"b\\c", "\"a\\\"b\\\\c\"");
    check_string("tab\there", "\"tab\\011here\"");
    check_string("\xc3\xa9"
                 "1",
                 "\"\\303\\2511\"");
    check_string("what?"
                 "?!",
                 "\"what?\\?!\"");
    check_string("one\ntwo\n", "\"one\\n\"\n    \"two\\n\"");
    check_string(
        "a long line of a table, which takes all of what a line of emitted code takes, "
        "and more than that",
        "\"a long line of a table, which takes all of what a line of emitted code takes, and "
        "\"\n    \"more than that\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f32_texts),
        cmocka_unit_test(f64_texts),
        cmocka_unit_test(every_float_reads_back),
        cmocka_unit_test(integers),
        cmocka_unit_test(strings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
