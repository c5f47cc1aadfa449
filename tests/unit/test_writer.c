/* Templates, indentation, lines broken after commas, comments. */
#include "writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct pen {
    struct tlmc_strbuf text;
    struct tlmc_writer w;
};

static struct pen *pen(void)
{
    static struct pen p;

    p = (struct pen){ 0 };
    tlmc_writer_init(&p.w, &p.text);
    return &p;
}

static void expect(struct pen *p, const char *text)
{
    tlmc_writer_end(&p->w);
    assert_string_equal(tlmc_strbuf_text(&p->text), text);
    tlmc_strbuf_free(&p->text);
}

static void holes(void **state)
{
    struct pen *p = pen();

    (void)state;
    tlmc_writer_set(&p->w, "model", "mlp");
    tlmc_write(&p->w, "%{model}_%{what}(m) %% 2;\n", "what", "infer");
    tlmc_writer_set(&p->w, "model", "gpt");
    tlmc_write(&p->w, "%{model}\n");
    expect(p, "mlp_infer(m) % 2;\ngpt\n");
}

static void indentation(void **state)
{
    struct pen *p = pen();

    (void)state;
    tlmc_write(&p->w, "{\n");
    p->w.indent = 1;
    tlmc_write(&p->w, "if (a)\n    b();\n\nc(");
    tlmc_write(&p->w, "d);\n");
    p->w.indent = 0;
    tlmc_write(&p->w, "}\n");
    expect(p, "{\n    if (a)\n        b();\n\n    c(d);\n}\n");
}

/* Broken where the fewest brackets are open, never in a string, never in a comment. */
static void long_lines(void **state)
{
    struct pen *p = pen();

    (void)state;
    tlmc_write_text(&p->w, "call(aaaaaaaaaaaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb, "
                           "inner(ccccccccccccccc, ddddddddd, eeeeeeeeeeee), ffffffff);\n");
    expect(p, "call(aaaaaaaaaaaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb,\n"
              "    inner(ccccccccccccccc, ddddddddd, eeeeeeeeeeee), ffffffff);\n");
    p = pen();
    tlmc_write_text(&p->w, "_Static_assert(AT_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA == 0 && "
                           "AT_BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB == 64, \"t\");\n");
    expect(p, "_Static_assert(AT_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA == 0 &&\n"
              "    AT_BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB == 64, \"t\");\n");
    p = pen(); /* before the comment; behind "=" where nothing else is */
    tlmc_write_text(&p->w,
                    "const float *const x = tlm_f32_at(m->weights, AT_XXXXXXXXXXXXXXXXXXXXXXXXX"
                    "XXXXXXXXXXXXX); /* f32[2, 3] */\n");
    expect(p, "const float *const x = tlm_f32_at(m->weights, AT_XXXXXXXXXXXXXXXXXXXXXXXXX"
              "XXXXXXXXXXXXX);\n    /* f32[2, 3] */\n");
    p = pen();
    tlmc_write_text(&p->w, "const uint8_t *const aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa = "
                           "table_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa;\n");
    expect(p, "const uint8_t *const aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa =\n"
              "    table_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa;\n");
    p = pen();
    tlmc_write_text(
        &p->w,
        "\"a, long, string, aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aaaaaaaaaaaaaaaaaaa, end\";\n");
    expect(
        p,
        "\"a, long, string, aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aaaaaaaaaaaaaaaaaaa, end\";\n");
}

static void comments(void **state)
{
    struct pen *p = pen();
    const char *text;

    (void)state;
    tlmc_write_comment(&p->w, "one line");
    tlmc_write_comment(&p->w, "two\nlines");
    tlmc_write_comment(&p->w, "ends */ here /* not");
    expect(p, "/* one line */\n/* two\n   lines */\n/* ends * / here / * not */\n");
    p = pen();
    p->w.indent = 1;
    tlmc_write_comment(
        &p->w,
        "word word word word word word word word word word word word word word word word word "
        "word word word word word word word word");
    tlmc_writer_end(&p->w);
    text = tlmc_strbuf_text(&p->text);
    assert_true(strcspn(text, "\n") <= 100);
    assert_non_null(strstr(text, "\n       word"));
    tlmc_strbuf_free(&p->text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holes),
        cmocka_unit_test(indentation),
        cmocka_unit_test(long_lines),
        cmocka_unit_test(comments),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
