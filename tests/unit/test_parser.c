/* The syntactic front end: shapes of trees, places, round trips over the models and std, fmt,
   refusals by code, bounds. Diagnostics of files on disk are golden/errors; here are those that no
   file can hold and the ones about trees. */
#define _POSIX_C_SOURCE 200809L
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "ast.h"
#include "frontend.h"
#include "strbuf.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct session {
    struct tlmc_arena arena;
    struct tlmc_symtab symbols;
    struct tlmc_sources sources;
    struct tlmc_diags diags;
};

static int open_session(void **state)
{
    struct session *s = calloc(1, sizeof *s);

    if (!s)
        return -1;
    tlmc_symtab_init(&s->symbols, &s->arena);
    tlmc_sources_init(&s->sources, &s->arena);
    tlmc_diags_init(&s->diags, &s->arena, &s->sources);
    *state = s;
    return 0;
}

static int close_session(void **state)
{
    struct session *s = *state;

    tlmc_arena_free(&s->arena);
    free(s);
    return 0;
}

static struct tlmc_ast *parse_n(struct session *s, const char *text, size_t length)
{
    const uint32_t file = tlmc_sources_add(&s->sources, "t.tlm", text, (uint32_t)length, false);

    return tlmc_parse(&s->arena, &s->symbols, &s->sources, file, &s->diags);
}

static struct tlmc_ast *parse(struct session *s, const char *text)
{
    struct tlmc_ast *tree = parse_n(s, text, strlen(text));

    if (!tree)
        tlmc_diags_print(&s->diags, stderr);
    assert_non_null(tree);
    return tree;
}

/* (kind text kids), text and kids left out when there are none. */
static void dump(const struct tlmc_ast *node, struct tlmc_strbuf *out)
{
    tlmc_strbuf_printf(out, "(%s", tlmc_ast_kind_name(node->kind));
    if (node->text)
        tlmc_strbuf_printf(out, " %s", node->text);
    for (uint32_t i = 0; i < node->count; i++) {
        tlmc_strbuf_char(out, ' ');
        dump(node->kids[i], out);
    }
    tlmc_strbuf_char(out, ')');
}

static void expect_tree(struct session *s, const char *text, const char *want)
{
    struct tlmc_strbuf got = { 0 };
    const struct tlmc_ast *tree = parse(s, text);

    assert_int_equal(tree->count, 1);
    dump(tree->kids[0], &got);
    assert_string_equal(tlmc_strbuf_text(&got), want);
    tlmc_strbuf_free(&got);
}

static void expect_expr(struct session *s, const char *text, const char *want)
{
    struct tlmc_strbuf source = { 0 }, tree = { 0 };

    tlmc_strbuf_printf(&source, "v = %s;", text);
    tlmc_strbuf_printf(&tree, "(assign (names (name v)) %s)", want);
    expect_tree(s, tlmc_strbuf_text(&source), tlmc_strbuf_text(&tree));
    tlmc_strbuf_free(&source);
    tlmc_strbuf_free(&tree);
}

static void operators_bind_as_documented(void **state)
{
    struct session *s = *state;

    expect_expr(s, "-x ** 2", "(neg (bin ** (name x) (int 2)))");
    expect_expr(s, "2 ** -x", "(bin ** (int 2) (neg (name x)))");
    expect_expr(s, "a ** b ** c", "(bin ** (name a) (bin ** (name b) (name c)))");
    expect_expr(s, "a - b - c", "(bin - (bin - (name a) (name b)) (name c))");
    expect_expr(s, "a + b * c @ d // e % f / g",
                "(bin + (name a) (bin / (bin % (bin // (bin @ (bin * (name b) (name c)) (name d)) "
                "(name e)) (name f)) "
                "(name g)))");
    expect_expr(s, "a || b && c == d + e",
                "(bin || (name a) (bin && (name b) (bin == (name c) (bin + (name d) (name e)))))");
    expect_expr(s, "!a < b", "(bin < (not (name a)) (name b))");
    expect_expr(s, "(a + b) * c", "(bin * (paren (bin + (name a) (name b))) (name c))");
    expect_expr(s, "f(x) as h ** 2",
                "(bin ** (as (call (name f) (args (name x))) (path (part h))) (int 2))");
}

static void expressions_have_their_nodes(void **state)
{
    struct session *s = *state;

    expect_expr(s, "f(x, 0..4, k = 1, dim = a..b,)",
                "(call (name f) (args (name x) (range (int 0) (int 4)) (kw k (int 1)) (kw dim "
                "(range (name a) (name "
                "b)))))");
    expect_expr(
        s, "x[i, 1:, :-1, ::2, a:b:c, ...]",
        "(index (name x) (subs (name i) (slice (int 1) (absent) (absent)) (slice (absent) (neg "
        "(int 1)) "
        "(absent)) (slice (absent) (absent) (int 2)) (slice (name a) (name b) (name c)) (pack )))");
    expect_expr(s, "g(y) as shared h[i + 1].attention.output.\"x.y\"",
                "(as shared (call (name g) (args (name y))) (path (part h) (bin + (name i) (int "
                "1)) (part attention) "
                "(part output) (part x.y)))");
    expect_expr(s, "(f() as a).b[0].weight",
                "(dot weight (index (dot b (paren (as (call (name f) (args)) (path (part a))))) "
                "(subs (int 0))))");
    expect_expr(s, "[1, 2.5e-3, true, none, \"a\\\"\\\\\\n\\t\", ...S]",
                "(list (int 1) (float 2.5e-3) (bool true) (none) (str a\"\\\n\t) (pack S))");
}

static void statements_have_their_nodes(void **state)
{
    struct session *s = *state;

    expect_tree(s, "model m;", "(model m)");
    expect_tree(s, "import \"a.tlm\" as lib;", "(import a.tlm (name lib))");
    expect_tree(s, "dim n = 3;", "(dim n (int 3))");
    expect_tree(s, "const t: f32[2] = [1.0, 2.0];",
                "(const t (type f32 (list (int 2))) (list (float 1.0) (float 2.0)))");
    expect_tree(s, "input x: f32[N, ...S];", "(input x (type f32 (list (name N) (pack S))))");
    expect_tree(s, "target y: i32;", "(target y (type i32 (absent)))");
    expect_tree(s, "param w: f32[2] = zeros() named \"k\";",
                "(param w (type f32 (list (int 2))) (call (name zeros) (args)) (str k))");
    expect_tree(s, "state c: f32[2] transient;",
                "(state c (type f32 (list (int 2))) (absent) (transient))");
    expect_tree(s, "update c = d;", "(update c (name d))");
    expect_tree(s, "output a, in = b;", "(output (bindings (bind (name a)) (bind in (name b))))");
    expect_tree(s, "loss l;", "(loss (bindings (bind (name l))))");
    expect_tree(s, "metric loss = l;", "(metric (bindings (bind loss (name l))))");
    expect_tree(s, "a, _ = f();", "(assign (names (name a) (name _)) (call (name f) (args)))");
    expect_tree(s, "for i in 0..n { }", "(for i (range (int 0) (name n)) (body))");
    expect_tree(s, "assert a, \"why\";", "(assert why (name a))");
    expect_tree(s, "if a { } else if b { x = 1; } else { }",
                "(if (name a) (body) (body (if (name b) (body (assign (names (name x)) (int 1))) "
                "(body))))");
    expect_tree(s,
                "block f(x: real[..., I], n: dim = 2, g: fn) -> (f32, y: f32[I]) { return x, n; }",
                "(block f (params (arg x (type real (list (pack ) (name I))) (absent)) (arg n "
                "(type dim (absent)) (int "
                "2)) (arg g (type fn (absent)) (absent))) (results (result (type f32 (absent))) "
                "(result y (type f32 "
                "(list (name I))))) (body (return (exprs (name x) (name n)))))");
    expect_tree(s, "entry e { }", "(entry e (body))");
    expect_tree(
        s, "train { dim b = 1; data \"f\" { x = a(); } loss 1..2, \"a\" -> \"b\"; on; group { } }",
        "(clause train (absent) (settings (dim b (int 1)) (set data (values (str f)) (settings "
        "(bind x (call "
        "(name a) (args))))) (set loss (values (range (int 1) (int 2)) (maps (str a) (str b))) "
        "(absent)) (set "
        "on (absent) (absent)) (set group (absent) (settings))))");
    expect_tree(s, "pretrained \"p\" { }", "(clause pretrained (str p) (settings))");
}

static void messages_point_at_names(void **state)
{
    struct session *s = *state;
    const struct tlmc_ast *tree = parse(s, "dim long = 3;\nx = f(a, key = 1);\n");
    const struct tlmc_ast *dim = tree->kids[0], *call = tree->kids[1]->kids[1],
                          *key = call->kids[1]->kids[1];

    assert_int_equal(dim->span.begin, 4);
    assert_int_equal(dim->span.end, 8);
    assert_int_equal(dim->begin, 0);
    assert_int_equal(dim->end, 13);
    assert_int_equal(call->span.begin, 18);
    assert_int_equal(call->span.end, 31);
    assert_int_equal(key->span.begin, 23);
    assert_int_equal(key->span.end, 26);
    assert_int_equal(key->end, 30);
    assert_ptr_equal(key->text, tlmc_intern(&s->symbols, "key"));
}

static void equality_sees_kinds_texts_and_kids(void **state)
{
    struct session *s = *state;
    const struct tlmc_ast *tree = parse(s, "a = f(x, 1);");

    assert_true(tlmc_ast_equal(tree, parse(s, "a  =  f ( x ,1, ) ; # c")));
    assert_false(tlmc_ast_equal(tree, parse(s, "b = f(x, 1);")));
    assert_false(tlmc_ast_equal(tree, parse(s, "a = f(x, 1.0);")));
    assert_false(tlmc_ast_equal(tree, parse(s, "a = f(x);")));
    assert_false(tlmc_ast_equal(tree, parse(s, "a = (f(x, 1));")));
    assert_false(tlmc_ast_equal(parse(s, "output x;"), parse(s, "output x = x;")));
}

/* ---- fmt */

static void print(const struct tlmc_ast *tree, struct tlmc_strbuf *out)
{
    tlmc_strbuf_clear(out);
    tlmc_ast_print(tree, out);
}

static void expect_fmt(struct session *s, const char *text, const char *want)
{
    struct tlmc_strbuf got = { 0 };

    print(parse(s, text), &got);
    assert_string_equal(tlmc_strbuf_text(&got), want);
    print(parse(s, want), &got);
    assert_string_equal(tlmc_strbuf_text(&got), want);
    tlmc_strbuf_free(&got);
}

static void fmt_lays_out(void **state)
{
    struct session *s = *state;

    expect_fmt(s, "model   m ;dim a=1;\n\n\n\ndim b = a*2+( 3 );",
               "model m;\ndim a = 1;\n\ndim b = a * 2 + (3);\n");
    expect_fmt(s, "if a{x=1;}else{if b{x=2;}}", "if a {\n  x = 1;\n} else if b {\n  x = 2;\n}\n");
    expect_fmt(s, "x = - - 1; y = 1 .z; w = f() as \"plain\".\"a.b\".\"none\";",
               "x = - -1;\ny = 1 .z;\nw = f() as plain.\"a.b\".\"none\";\n");
    expect_fmt(s, "block f()->(f32[2]){return 1;}", "block f() -> f32[2] {\n  return 1;\n}\n");
    expect_fmt(s, "block f()->(y:f32[2]){ }", "block f() -> (y: f32[2]) { }\n");
    expect_fmt(s, "train{steps 1;probe p{x=[1.0];y=[2.0];}}",
               "train {\n  steps 1;\n  probe p { x = [1.0]; y = [2.0]; }\n}\n");
    expect_fmt(s, "infer{dim batch=8;}", "infer { dim batch = 8; }\n");
    expect_fmt(s, "", "");
}

static void fmt_breaks_long_lines(void **state)
{
    expect_fmt(*state,
               "answer = some_function(first_argument_of_several, second_argument_of_several, "
               "third = another_function(1, 2, 3));",
               "answer = some_function(\n"
               "  first_argument_of_several,\n"
               "  second_argument_of_several,\n"
               "  third = another_function(1, 2, 3)\n"
               ");\n");
    expect_fmt(*state,
               "loss first_of_the_losses = a_function_of_some_kind(a, b), second_of_the_losses = "
               "a_function_of_some_kind(c, d);",
               "loss first_of_the_losses = a_function_of_some_kind(a, b),\n"
               "     second_of_the_losses = a_function_of_some_kind(c, d);\n");
    expect_fmt(*state,
               "block a_block_with_many_arguments(x: f32[N, C], width: dim, bias: bool = true, "
               "init: init = "
               "zeros()) -> f32[N] { return x; }",
               "block a_block_with_many_arguments(\n"
               "  x: f32[N, C],\n"
               "  width: dim,\n"
               "  bias: bool = true,\n"
               "  init: init = zeros()\n"
               ") -> f32[N] {\n"
               "  return x;\n"
               "}\n");
}

static void fmt_keeps_comments(void **state)
{
    struct session *s = *state;

    expect_fmt(s, "# top\n\n# two\nmodel m;# why\n\n\n# above\ndim a = 1;\n# end",
               "# top\n\n# two\nmodel m;  # why\n\n# above\ndim a = 1;\n# end\n");
    expect_fmt(s, "x = f(a, # first\n  # before b\n  b\n  # last\n);",
               "x = f(\n  a,  # first\n  # before b\n  b\n  # last\n);\n");
    expect_fmt(s, "if c { # in\n  x = 1;\n  # end of body\n} # behind\n",
               "if c {\n  # in\n  x = 1;\n  # end of body\n}  # behind\n");
    expect_fmt(s, "if a { } else {\n  # an else\n  if b { }\n}",
               "if a { } else {\n  # an else\n  if b { }\n}\n");
    expect_fmt(s, "x = a + # inside\n  b;", "# inside\nx = a + b;\n");
    expect_fmt(s, "input x: f32[ # rows\n  N];\r\n# crlf\r\n",
               "# rows\ninput x: f32[N];\n# crlf\n");
    expect_fmt(s, "train { # t\n}\nblock f( # no arguments\n) { }",
               "train {\n  # t\n}\nblock f(\n  # no arguments\n) { }\n");
}

static unsigned count_marks(const char *text)
{
    unsigned n = 0;

    for (; *text; text++)
        n += *text == '#';
    return n;
}

static void round_trip(struct session *s, const char *path, const char *text, size_t length)
{
    struct tlmc_strbuf first = { 0 }, second = { 0 };
    const struct tlmc_ast *tree = parse_n(s, text, length), *again;

    if (!tree)
        tlmc_diags_print(&s->diags, stderr);
    assert_non_null(tree);
    print(tree, &first);
    again = parse(s, tlmc_strbuf_text(&first));
    if (!tlmc_ast_equal(tree, again))
        fail_msg("%s: the printed text parses to another tree", path);
    if (count_marks(text) != count_marks(tlmc_strbuf_text(&first)))
        fail_msg("%s: fmt lost a comment", path);
    print(again, &second);
    assert_string_equal(tlmc_strbuf_text(&first), tlmc_strbuf_text(&second));
    tlmc_strbuf_free(&first);
    tlmc_strbuf_free(&second);
}

static void models_round_trip(void **state)
{
    struct session *s = *state;
    DIR *folder = opendir(TLMC_SOURCE_DIR "/tests/models");
    const struct dirent *entry;
    unsigned count = 0;

    assert_non_null(folder);
    while ((entry = readdir(folder))) {
        char path[1024];
        const struct tlmc_source *source;
        uint32_t file;

        if (!strstr(entry->d_name, ".tlm"))
            continue;
        snprintf(path, sizeof path, "%s/tests/models/%s", TLMC_SOURCE_DIR, entry->d_name);
        file = tlmc_read_source(&s->sources, path, (struct tlmc_span){ 0 }, &s->diags);
        assert_true(file > 0);
        source = tlmc_sources_get(&s->sources, file);
        round_trip(s, path, source->text, source->length);
        count++;
    }
    closedir(folder);
    assert_true(count >= 15);
}

static void library_round_trips(void **state)
{
    unsigned count = 0;

    for (const struct tlmc_std_text *t = tlmc_std_texts; t->name; t++, count++)
        round_trip(*state, t->name, t->text, strlen(t->text));
    assert_true(count > 0);
}

/* ---- bounds */

static void expect_only(struct session *s, enum tlmc_diag_code code, const char *text,
                        size_t length)
{
    assert_null(parse_n(s, text, length));
    assert_int_equal(s->diags.errors, 1);
    assert_string_equal(tlmc_diag_label(s->diags.first->code), tlmc_diag_label(code));
    tlmc_diags_init(&s->diags, &s->arena, &s->sources);
}

static void expect_repeated(struct session *s, enum tlmc_diag_code code, const char *head,
                            const char *part, unsigned times, const char *tail)
{
    struct tlmc_strbuf text = { 0 };

    tlmc_strbuf_add(&text, head);
    for (unsigned i = 0; i < times; i++)
        tlmc_strbuf_add(&text, part);
    tlmc_strbuf_add(&text, tail);
    expect_only(s, code, tlmc_strbuf_text(&text), text.length);
    tlmc_strbuf_free(&text);
}

static void nesting_is_bounded(void **state)
{
    struct session *s = *state;

    expect_repeated(s, TLMC_E_TOO_DEEP, "x = ", "(", 1000000, "1;");
    expect_repeated(s, TLMC_E_TOO_DEEP, "x = ", "!", 1000000, "a;");
    expect_repeated(s, TLMC_E_TOO_DEEP, "x = ", "- ", 1000000, "a;");
    expect_repeated(s, TLMC_E_TOO_DEEP, "x = 1", " + 1", 1000000, ";");
    expect_repeated(s, TLMC_E_TOO_DEEP, "x = 1", " + 1", 398,
                    ";"); /* the operators, the 1, and x = in a file */
    expect_repeated(s, TLMC_E_TOO_DEEP, "x = 1", " ** 1", 1000000, ";");
    expect_repeated(s, TLMC_E_TOO_DEEP, "", "if a { ", 10000, "");
    expect_repeated(s, TLMC_E_TOO_DEEP, "", "if a { } else ", 1000000, "{ }");
    expect_repeated(s, TLMC_E_TOO_DEEP, "x = f", "()", 1000000, ";");
    expect_repeated(s, TLMC_E_TOO_DEEP, "x = f", ".a", 1000000, ";");
    expect_repeated(s, TLMC_E_TOO_DEEP, "train { ", "a { ", 1000000, "");
    expect_repeated(s, TLMC_E_TOO_DEEP, "input x: f32[", "f(", 1000000, "");
}

/* What is long without being deep is no offence. */
static void length_is_not_depth(void **state)
{
    struct session *s = *state;
    struct tlmc_strbuf text = { 0 };

    tlmc_strbuf_add(&text, "x = [0");
    for (int i = 0; i < 200000; i++)
        tlmc_strbuf_add(&text, ",1");
    tlmc_strbuf_add(&text, "];\n");
    for (int i = 0; i < 200000; i++)
        tlmc_strbuf_add(&text, "a = 1;\n");
    assert_int_equal(parse(s, tlmc_strbuf_text(&text))->count, 200001);
    tlmc_strbuf_free(&text);
    tlmc_strbuf_add(&text, "x = 1");
    for (int i = 0; i < 397; i++)
        tlmc_strbuf_add(&text, " + 1");
    tlmc_strbuf_char(&text, ';');
    assert_int_equal(parse(s, tlmc_strbuf_text(&text))->depth, TLMC_MAX_DEPTH);
    tlmc_strbuf_clear(&text);
    for (int i = 0; i < 390; i++)
        tlmc_strbuf_add(&text, i ? "(" : "x = (");
    tlmc_strbuf_char(&text, '1');
    for (int i = 0; i < 390; i++)
        tlmc_strbuf_char(&text, ')');
    tlmc_strbuf_char(&text, ';');
    round_trip(s, "390 parentheses", tlmc_strbuf_text(&text), text.length);
    tlmc_strbuf_free(&text);
}

static void errors_stop_at_twenty(void **state)
{
    struct session *s = *state;
    struct tlmc_strbuf text = { 0 };

    for (int i = 0; i < 1000; i++)
        tlmc_strbuf_add(&text, "x = 1 2;\n/* ");
    assert_null(parse_n(s, tlmc_strbuf_text(&text), text.length));
    assert_int_equal(s->diags.errors, TLMC_MAX_ERRORS);
    tlmc_strbuf_free(&text);
}

static void odd_bytes_are_one_error(void **state)
{
    struct session *s = *state;

    expect_only(s, TLMC_E_BAD_BYTE,
                "\x7f"
                "ELF\0\0\0",
                7);
    expect_only(s, TLMC_E_BAD_BYTE, "x = 1;\0y = 2;", 13);
    expect_only(s, TLMC_E_BAD_BYTE, "# \xc0\x80\n", 5);         /* overlong */
    expect_only(s, TLMC_E_BAD_BYTE, "# \xed\xa0\x80\n", 6);     /* a surrogate */
    expect_only(s, TLMC_E_BAD_BYTE, "# \xf4\x90\x80\x80\n", 7); /* above U+10FFFF */
    expect_only(s, TLMC_E_BAD_BYTE, "# \xe2\x82", 4);           /* cut off */
    expect_only(s, TLMC_E_BAD_BYTE, "x = \xe2\x82\xac;", 8);
    assert_non_null(parse(s, "# \xe2\x82\xac \xf0\x9f\x98\x80\nconst s = \"\xc3\xa4\";"));
}

/* ---- files */

static uint32_t read_path(struct session *s, const char *path)
{
    return tlmc_read_source(&s->sources, path, (struct tlmc_span){ 0 }, &s->diags);
}

static void unreadable_files_are_named(void **state)
{
    struct session *s = *state;

    assert_int_equal(read_path(s, TLMC_SOURCE_DIR "/tests/no_such.tlm"), 0);
    assert_int_equal(s->diags.last->code, TLMC_E_BAD_FILE);
    assert_non_null(strstr(s->diags.last->text, "no_such.tlm"));
    assert_int_equal(read_path(s, TLMC_SOURCE_DIR "/tests"), 0);
    assert_int_equal(s->diags.last->code, TLMC_E_BAD_FILE);
    assert_int_equal(s->diags.errors, 2);
}

static void sources_over_16_mib_are_refused(void **state)
{
    struct session *s = *state;
    char path[] = "/tmp/tlmc_test_XXXXXX";
    const int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, TLMC_MAX_SOURCE), 0);
    assert_true(read_path(s, path) > 0);
    assert_int_equal(ftruncate(fd, 100 << 20), 0);
    assert_int_equal(read_path(s, path), 0);
    assert_int_equal(s->diags.errors, 1);
    assert_int_equal(s->diags.first->code, TLMC_E_TOO_LARGE);
    close(fd);
    unlink(path);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_session, close_session)
    const struct CMUnitTest tests[] = {
        TEST(operators_bind_as_documented),
        TEST(expressions_have_their_nodes),
        TEST(statements_have_their_nodes),
        TEST(messages_point_at_names),
        TEST(equality_sees_kinds_texts_and_kids),
        TEST(fmt_lays_out),
        TEST(fmt_breaks_long_lines),
        TEST(fmt_keeps_comments),
        TEST(models_round_trip),
        TEST(library_round_trips),
        TEST(nesting_is_bounded),
        TEST(length_is_not_depth),
        TEST(errors_stop_at_twenty),
        TEST(odd_bytes_are_one_error),
        TEST(unreadable_files_are_named),
        TEST(sources_over_16_mib_are_refused),
    };

    return cmocka_run_group_tests_name("parser", tests, NULL, NULL);
}
