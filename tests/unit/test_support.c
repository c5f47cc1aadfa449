/* support: arena, vectors, symbols, text buffers, places, diagnostics as printed, checked
   arithmetic. */
#define _POSIX_C_SOURCE 200809L
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "checked.h"
#include "diag.h"
#include "strbuf.h"
#include "sym.h"
#include "vec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void arena_is_zeroed_and_aligned(void **state)
{
    struct tlmc_arena arena = { 0 };

    (void)state;
    for (size_t size = 0; size < 300; size++) {
        unsigned char *p = tlmc_arena_alloc(&arena, size);

        assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xff, size); /* the next one must not see this */
    }
    assert_true(arena.bytes >= 299 * 300 / 2);
    tlmc_arena_free(&arena);
    assert_null(arena.head);
    assert_int_equal(arena.bytes, 0);
}

static void arena_holds_large_pieces(void **state)
{
    struct tlmc_arena arena = { 0 };
    char *small = tlmc_arena_strdup(&arena, "small");
    char *large = tlmc_arena_alloc(&arena, 1 << 20);

    (void)state;
    memset(large, 'x', 1 << 20);
    assert_string_equal(small, "small");
    assert_string_equal(tlmc_arena_strndup(&arena, "abcdef", 3), "abc");
    assert_memory_equal(tlmc_arena_memdup(&arena, "a\0b", 3), "a\0b", 3);
    tlmc_arena_free(&arena);
}

static void vector_grows(void **state)
{
    struct tlmc_arena arena = { 0 };
    TLMC_VEC(unsigned) v = { 0 };

    (void)state;
    for (unsigned i = 0; i < 1000; i++)
        TLMC_PUSH(&arena, &v, i * i);
    assert_int_equal(v.count, 1000);
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(v.items[i], i * i);
    tlmc_arena_free(&arena);
}

static void symbols_are_unique(void **state)
{
    struct tlmc_arena arena = { 0 };
    struct tlmc_symtab table;
    tlmc_sym first[2000];
    char name[32];

    (void)state;
    tlmc_symtab_init(&table, &arena);
    for (int i = 0; i < 2000; i++) {
        snprintf(name, sizeof name, "n%d", i);
        first[i] = tlmc_intern(&table, name);
        assert_string_equal(first[i], name);
    }
    for (int i = 0; i < 2000; i++) {
        snprintf(name, sizeof name, "n%d and more", i);
        assert_ptr_equal(tlmc_intern_n(&table, name, strcspn(name, " ")), first[i]);
    }
    assert_int_equal(table.count, 2000);
    assert_ptr_equal(tlmc_intern(&table, ""), tlmc_intern_n(&table, "x", 0));
    assert_ptr_not_equal(tlmc_intern(&table, "n1 "), first[1]);
    tlmc_arena_free(&arena);
}

static void strbuf_grows(void **state)
{
    struct tlmc_strbuf buf = { 0 };

    (void)state;
    assert_string_equal(tlmc_strbuf_text(&buf), "");
    tlmc_strbuf_add(&buf, "a");
    tlmc_strbuf_char(&buf, 'b');
    tlmc_strbuf_add_n(&buf, "cd..", 2);
    tlmc_strbuf_printf(&buf, "%d-%s", 12, "x");
    assert_string_equal(tlmc_strbuf_text(&buf), "abcd12-x");
    assert_int_equal(buf.length, 8);
    tlmc_strbuf_clear(&buf);
    assert_string_equal(tlmc_strbuf_text(&buf), "");
    for (int i = 0; i < 10000; i++)
        tlmc_strbuf_add(&buf, "0123456789");
    assert_int_equal(buf.length, 100000);
    assert_int_equal(strlen(tlmc_strbuf_text(&buf)), 100000);
    tlmc_strbuf_free(&buf);
    assert_null(buf.text);
}

/* A source and diagnostics around it; printed() gives their text. */
struct fixture {
    struct tlmc_arena arena;
    struct tlmc_sources sources;
    struct tlmc_diags diags;
    uint32_t file;
    char *text;
    size_t size;
};

static struct fixture *open_fixture(const char *source)
{
    struct fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    tlmc_sources_init(&f->sources, &f->arena);
    tlmc_diags_init(&f->diags, &f->arena, &f->sources);
    f->file = tlmc_sources_add(&f->sources, "a.tlm", source, (uint32_t)strlen(source), false);
    return f;
}

static const char *printed(struct fixture *f)
{
    FILE *out;

    free(f->text);
    out = open_memstream(&f->text, &f->size);
    assert_non_null(out);
    tlmc_diags_print(&f->diags, out);
    fclose(out);
    return f->text;
}

static void close_fixture(struct fixture *f)
{
    tlmc_arena_free(&f->arena);
    free(f->text);
    free(f);
}

static void expect_place(const struct fixture *f, uint32_t begin, uint32_t end, uint32_t line,
                         uint32_t col, uint32_t caret, const char *text)
{
    const struct tlmc_line_place p =
        tlmc_span_place(&f->sources, (struct tlmc_span){ f->file, begin, end });

    assert_int_equal(p.line, line);
    assert_int_equal(p.column, col);
    assert_int_equal(p.caret_length, caret);
    assert_int_equal(p.line_length, strlen(text));
    assert_memory_equal(p.line_text, text, strlen(text));
}

static void places_have_lines_and_columns(void **state)
{
    struct fixture *f = open_fixture("ab\r\n\nlast x");

    (void)state;
    expect_place(f, 0, 2, 1, 1, 2, "ab");
    expect_place(f, 1, 9, 1, 2, 1, "ab"); /* carets end with the line */
    expect_place(f, 2, 3, 1, 3, 1, "ab"); /* behind the last byte */
    expect_place(f, 4, 5, 2, 1, 1, "");
    expect_place(f, 5, 9, 3, 1, 4, "last x");
    expect_place(f, 11, 11, 3, 7, 1, "last x"); /* the end of the file */
    expect_place(f, 99, 120, 3, 7, 1, "last x");
    close_fixture(f);
    f = open_fixture("");
    expect_place(f, 0, 1, 1, 1, 1, "");
    close_fixture(f);
}

static void spans_join(void **state)
{
    const struct tlmc_span a = { 1, 2, 5 }, b = { 1, 7, 9 }, inner = { 1, 3, 4 };

    (void)state;
    assert_int_equal(tlmc_span_join(a, b).begin, 2);
    assert_int_equal(tlmc_span_join(a, b).end, 9);
    assert_int_equal(tlmc_span_join(a, inner).end, 5);
}

static void diagnostics_show_the_line_and_a_caret(void **state)
{
    struct fixture *f = open_fixture("dim n = 3;\n\tn = 4;\n");
    struct tlmc_diag *d =
        tlmc_report(&f->diags, TLMC_E_ASSIGN_DECLARED, (struct tlmc_span){ f->file, 12, 17 },
                    "'%s' is declared", "n");

    (void)state;
    tlmc_note(&f->diags, d, (struct tlmc_span){ f->file, 4, 5 }, "declared here");
    tlmc_note(&f->diags, d, (struct tlmc_span){ 0 }, "it has no place");
    tlmc_hint(&f->diags, d, "choose another name");
    tlmc_report(&f->diags, TLMC_E_SHARED_ONCE, (struct tlmc_span){ f->file, 10, 11 },
                "behind the line");
    tlmc_report(&f->diags, TLMC_E_DEFINE, (struct tlmc_span){ 0 }, "no place at all");
    assert_string_equal(printed(f), "a.tlm:2:2: error[E0303]: 'n' is declared\n"
                                    "     n = 4;\n"
                                    "     ^^^^^\n"
                                    "a.tlm:1:5: note: declared here\n"
                                    "    dim n = 3;\n"
                                    "        ^\n"
                                    "note: it has no place\n"
                                    "hint: choose another name\n"
                                    "a.tlm:1:11: warning[W0504]: behind the line\n"
                                    "    dim n = 3;\n"
                                    "              ^\n"
                                    "tlmc: error[E0308]: no place at all\n");
    assert_int_equal(f->diags.errors, 2);
    assert_int_equal(f->diags.warnings, 1);
    close_fixture(f);
}

static void carets_stand_below_utf8_and_hide_control_bytes(void **state)
{
    struct fixture *f = open_fixture("\"\xc3\xa4\xe2\x82\xac\" + \x1b[2J\n");

    (void)state;
    tlmc_report(&f->diags, TLMC_E_SYNTAX, (struct tlmc_span){ f->file, 0, 7 }, "a string");
    tlmc_report(&f->diags, TLMC_E_SYNTAX, (struct tlmc_span){ f->file, 8, 9 }, "a plus");
    assert_string_equal(printed(f), "a.tlm:1:1: error[E0201]: a string\n"
                                    "    \"\xc3\xa4\xe2\x82\xac\" + ?[2J\n"
                                    "    ^^^^\n"
                                    "a.tlm:1:9: error[E0201]: a plus\n"
                                    "    \"\xc3\xa4\xe2\x82\xac\" + ?[2J\n"
                                    "         ^\n");
    close_fixture(f);
}

static void long_lines_are_cut_around_the_caret(void **state)
{
    char line[4001];
    struct fixture *f;

    (void)state;
    memset(line, 'x', 4000);
    line[4000] = '\0';
    line[3000] = '!';
    f = open_fixture(line);
    tlmc_report(&f->diags, TLMC_E_SYNTAX, (struct tlmc_span){ f->file, 3000, 3900 }, "far right");
    assert_true(strlen(printed(f)) < 500);
    {
        const char *shown = strchr(f->text, '\n') + 1, *carets = strchr(shown, '\n') + 1;

        assert_int_equal(shown[strspn(carets, " ")], '!');
    }
    close_fixture(f);
}

static void errors_beyond_twenty_are_counted(void **state)
{
    struct fixture *f = open_fixture("x\n");
    unsigned kept = 0;

    (void)state;
    for (int i = 0; i < 25; i++)
        tlmc_report(&f->diags, TLMC_E_SYNTAX, (struct tlmc_span){ f->file, 0, 1 }, "number %d", i);
    for (const struct tlmc_diag *d = f->diags.first; d; d = d->next)
        kept++;
    assert_int_equal(kept, TLMC_MAX_ERRORS);
    assert_int_equal(f->diags.errors, 25);
    assert_non_null(strstr(printed(f), "number 19\n"));
    assert_null(strstr(f->text, "number 20\n"));
    assert_non_null(strstr(f->text, "tlmc: 5 more errors not shown\n"));
    close_fixture(f);
}

static void codes_have_labels(void **state)
{
    (void)state;
    assert_string_equal(tlmc_diag_label(TLMC_E_BAD_BYTE), "E0101");
    assert_string_equal(tlmc_diag_label(TLMC_E_SHARED_ONCE), "W0504");
    assert_int_equal(tlmc_diag_severity(TLMC_E_SHARED_ONCE), TLMC_WARNING);
    for (int a = 0; a < TLMC_DIAG_CODES; a++) {
        assert_true(strlen(tlmc_diag_title((enum tlmc_diag_code)a)) > 0);
        for (int b = 0; b < a; b++)
            assert_string_not_equal(tlmc_diag_label((enum tlmc_diag_code)a) + 1,
                                    tlmc_diag_label((enum tlmc_diag_code)b) + 1);
    }
}

/* docs/errors.md has a heading "### E0101: title" for each code, with the table's title, and text
 * below it. */
static void every_code_is_documented(void **state)
{
    FILE *file = fopen(TLMC_SOURCE_DIR "/docs/errors.md", "r");
    struct tlmc_strbuf text = { 0 };
    char chunk[4096];
    bool all = true;

    (void)state;
    assert_non_null(file);
    for (size_t n; (n = fread(chunk, 1, sizeof chunk, file)) > 0;)
        tlmc_strbuf_add_n(&text, chunk, n);
    fclose(file);
    for (int code = 0; code < TLMC_DIAG_CODES; code++) {
        char heading[256];
        const char *at;

        snprintf(heading, sizeof heading, "\n### %s: %s\n",
                 tlmc_diag_label((enum tlmc_diag_code)code),
                 tlmc_diag_title((enum tlmc_diag_code)code));
        at = strstr(tlmc_strbuf_text(&text), heading);
        if (!at || strncmp(at + strlen(heading), "\n#", 2) == 0) {
            print_error("docs/errors.md: no entry%s", heading);
            all = false;
        }
    }
    tlmc_strbuf_free(&text);
    assert_true(all);
}

static void checked_arithmetic_does_not_wrap(void **state)
{
    int64_t i = 7;
    size_t s = 7;

    (void)state;
    assert_false(tlmc_mul_i64(INT64_MAX, 2, &i));
    assert_false(tlmc_mul_i64(INT64_MIN, -1, &i));
    assert_false(tlmc_add_i64(INT64_MAX, 1, &i));
    assert_false(tlmc_sub_i64(INT64_MIN, 1, &i));
    assert_true(i == 7);
    assert_true(tlmc_mul_i64(-3, 5, &i) && i == -15);
    assert_true(tlmc_add_i64(INT64_MAX, INT64_MIN, &i) && i == -1);
    assert_true(tlmc_sub_i64(0, INT64_MAX, &i) && i == -INT64_MAX);
    assert_false(tlmc_mul_size(SIZE_MAX, 2, &s));
    assert_false(tlmc_add_size(SIZE_MAX, 1, &s));
    assert_true(s == 7);
    assert_true(tlmc_mul_size(SIZE_MAX, 1, &s) && s == SIZE_MAX);
    assert_true(tlmc_add_size(SIZE_MAX - 1, 1, &s) && s == SIZE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena_is_zeroed_and_aligned),
        cmocka_unit_test(arena_holds_large_pieces),
        cmocka_unit_test(vector_grows),
        cmocka_unit_test(symbols_are_unique),
        cmocka_unit_test(strbuf_grows),
        cmocka_unit_test(places_have_lines_and_columns),
        cmocka_unit_test(spans_join),
        cmocka_unit_test(diagnostics_show_the_line_and_a_caret),
        cmocka_unit_test(carets_stand_below_utf8_and_hide_control_bytes),
        cmocka_unit_test(long_lines_are_cut_around_the_caret),
        cmocka_unit_test(errors_beyond_twenty_are_counted),
        cmocka_unit_test(codes_have_labels),
        cmocka_unit_test(every_code_is_documented),
        cmocka_unit_test(checked_arithmetic_does_not_wrap),
    };

    return cmocka_run_group_tests_name("support", tests, NULL, NULL);
}
