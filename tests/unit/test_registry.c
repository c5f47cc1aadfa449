/* Registry texts: what is read, and every refusal with its code and what it lists.  A text that is
   wrong anywhere is refused as a whole; none crashes. */
#include "plan_help.h"

#include <stdio.h>

/* A complete capsule; ~ stands where a test puts a field of its own. */
static const char *const whole =
    "provider acme { in_build yes; licence MIT; }\n"
    "capsule acme.relu {\n"
    "  op relu; provider acme; device cpu; trust checked; vjp graph-vjp;\n"
    "  shape guard \"rank <= 8\"; layout guard \"rows\";\n"
    "  value trusted \"vendor test suite\"; vjp tests \"gradients/relu\";\n"
    "  numeric round=nearest-even subnormal=flush-to-zero contract=fused reduce=n/a;\n"
    "  arithmetic implementation-defined; abi call; symbol acme_relu; header acme.h;\n"
    "  ~\n"
    "}\n";

static bool add_with(struct bench *b, const char *field)
{
    const char *hole = strchr(whole, '~');
    char text[2048];

    snprintf(text, sizeof text, "%.*s%s%s", (int)(hole - whole), whole, field, hole + 1);
    return bench_add(b, "user:acme", text);
}

static void refused(const char *text, enum tlmc_diag_code code, const char *message)
{
    struct bench b;
    const struct tlmc_diag *d;

    bench_begin(&b);
    assert_false(bench_add(&b, "user:acme", text));
    d = bench_diag(&b, 0);
    if (d->code != code || !diag_mentions(d, message))
        fail_msg("expected %s '%s', got %s '%s'", tlmc_diag_label(code), message,
                 tlmc_diag_label(d->code), d->text);
    bench_end(&b);
}

/* The whole capsule with one more field. */
static void refused_field(const char *field, enum tlmc_diag_code code, const char *message)
{
    const char *hole = strchr(whole, '~');
    char text[2048];

    snprintf(text, sizeof text, "%.*s%s%s", (int)(hole - whole), whole, field, hole + 1);
    refused(text, code, message);
}

/* The whole capsule with a part of it replaced. */
static void refused_swap(const char *part, const char *by, enum tlmc_diag_code code,
                         const char *message)
{
    const char *at = strstr(whole, part), *hole = strchr(whole, '~');
    char text[2048];

    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%.*s%s", (int)(at - whole), whole, by,
             (int)(hole - at - (long)strlen(part)), at + strlen(part), hole + 1);
    refused(text, code, message);
}

static void reads_every_field(void **state)
{
    const struct tlmc_capsule *k;
    struct bench b;
    char numeric[160], symbol[160];

    (void)state;
    bench_begin(&b);
    assert_true(add_with(
        &b,
        "dtype f32, i32; forward no; workspace row; admit rank_at_most(4), not_empty; "
        "accepts transpose_a; fuses pointwise; link \"-lacme -lm\"; licence BSD; status planned; "
        "notes \"a \\\"note\\\"\";"));
    k = &b.catalog->capsules.items[0];
    assert_string_equal(k->name, "acme.relu");
    assert_int_equal(k->op, TLMC_OP_RELU);
    assert_string_equal(k->provider, "acme");
    assert_int_equal(k->trust, TLMC_CHECKED);
    assert_int_equal(k->vjp, TLMC_VJP_GRAPH);
    assert_false(k->supports_forward);
    assert_int_equal(k->dtypes, 1u << TLMC_F32 | 1u << TLMC_I32);
    assert_int_equal(k->admits.count, 2);
    assert_int_equal(k->admits.items[0].argument, 4);
    assert_string_equal(k->workspace, "row");
    assert_int_equal(k->accepts, TLMC_ACCEPTS_TRANSPOSE_A);
    assert_int_equal(k->fuses, TLMC_FUSES_POINTWISE);
    assert_int_equal(k->abi, TLMC_ABI_CALL);
    assert_int_equal(k->status, TLMC_PLANNED);
    assert_string_equal(k->link, "-lacme -lm");
    assert_string_equal(k->notes, "a \"note\"");
    assert_string_equal(k->module, "user:acme");
    assert_int_equal(k->contracts[TLMC_SLOT_VALUE].evidence, TLMC_EV_TRUSTED);
    assert_string_equal(k->contracts[TLMC_SLOT_VALUE].claim,
                        "relu forward refines docs/ops.md relu");
    assert_string_equal(tlmc_numeric_text(&k->numeric, numeric),
                        "round=nearest-even,subnormal=flush-to-zero,contract=fused,reduce=n/a");
    assert_string_equal(tlmc_capsule_symbol(k, TLMC_F32, symbol), "acme_relu");
    bench_end(&b);
}

static void defaults_hold(void **state)
{
    struct bench b;
    const struct tlmc_capsule *k;

    (void)state;
    bench_begin(&b);
    assert_true(bench_add(&b, "user:d",
                          "defaults { provider native-c; device cpu; trust fuzzed; vjp none; abi "
                          "template; symbol my_{op}_f;\n"
                          "  arithmetic {op}.x.v1; numeric round=directed "
                          "subnormal=gradual-underflow contract=n/a reduce=n/a; }\n"
                          "capsule d.one { op eq; }\n"
                          "defaults { trust checked; }\n"
                          "capsule d.two { op ne; numeric contract=separate; symbol other; }\n"));
    k = b.catalog->capsules.items;
    assert_string_equal(k[0].symbol, "my_eq_f");
    assert_string_equal(k[0].arithmetic, "eq.x.v1");
    assert_int_equal(k[0].trust, TLMC_FUZZED);
    assert_int_equal(k[1].trust, TLMC_CHECKED);
    assert_string_equal(k[1].symbol, "other");
    assert_int_equal(k[1].numeric.contract, TLMC_CONTRACT_SEPARATE);
    assert_int_equal(k[1].numeric.rounding, TLMC_ROUND_DIRECTED);
    bench_end(&b);
}

static void text_is_refused(void **state)
{
    (void)state;
    refused("@", TLMC_E_REGISTRY, "byte 0x40");
    refused("\x7f"
            "ELF",
            TLMC_E_REGISTRY, "byte 0x7f");
    refused("capsule \xff", TLMC_E_REGISTRY, "byte 0xff");
    refused("capsule a { op \"relu\n; }", TLMC_E_REGISTRY, "does not end on its line");
    refused("capsule a { notes \"a\\n\"; }", TLMC_E_REGISTRY, "followed by neither");
    refused("relu { }", TLMC_E_REGISTRY,
            "expected 'capsule', 'profile', 'provider' or 'defaults', found 'relu'");
    refused("capsule { }", TLMC_E_REGISTRY, "expected a name, found '{'");
    refused("capsule a op relu;", TLMC_E_REGISTRY, "expected '{', found 'op'");
    refused("capsule a { op relu", TLMC_E_REGISTRY, "expected ';', found the end of the file");
    refused("capsule a { op relu;", TLMC_E_REGISTRY, "'{' of 'a' is never closed");
    refused("capsule a { op; }", TLMC_E_REGISTRY, "expected a value, found ';'");
    refused("capsule a { ; }", TLMC_E_REGISTRY, "expected the name of a field or '}', found ';'");
    refused("capsule a { admit rank_at_most(x); }", TLMC_E_REGISTRY,
            "expected a whole number, found 'x'");
    refused("capsule a { admit rank_at_most(99999999999999999999); }", TLMC_E_REGISTRY,
            "at most 18 digits");
    refused("capsule a { admit rank_at_most(4; }", TLMC_E_REGISTRY, "expected ')', found ';'");
    refused("capsule a { numeric round=; }", TLMC_E_REGISTRY, "expected a word after '='");
    refused("{ { { {", TLMC_E_REGISTRY, "found '{'");
}

static void fields_are_refused(void **state)
{
    (void)state;
    refused_field("colour red;", TLMC_E_REGISTRY_FIELD, "field 'colour', which is unknown");
    refused_field("colour red;", TLMC_E_REGISTRY_FIELD, "known fields: op, provider, device");
    refused_field("op relu;", TLMC_E_REGISTRY_FIELD, "has the field 'op' twice");
    refused_field("op relu;", TLMC_E_REGISTRY_FIELD, "first given here");
    refused_swap("op relu; ", "", TLMC_E_REGISTRY_FIELD, "has no field 'op'");
    refused_swap("arithmetic implementation-defined; ", "", TLMC_E_REGISTRY_FIELD,
                 "has no field 'arithmetic'");
    refused_swap("symbol acme_relu; ", "", TLMC_E_REGISTRY_FIELD, "has no field 'symbol'");
    refused_swap("header acme.h;", "", TLMC_E_REGISTRY_FIELD, "has no field 'header'");
    refused_swap("op relu;", "op rulu;", TLMC_E_REGISTRY_FIELD, "unknown op 'rulu'");
    refused_swap("op relu;", "op input;", TLMC_E_REGISTRY_FIELD, "unknown op 'input'");
    refused_swap("device cpu;", "device gpu;", TLMC_E_REGISTRY_FIELD, "unknown device 'gpu'");
    refused_swap("device cpu;", "device gpu;", TLMC_E_REGISTRY_FIELD, "known: cpu, cuda, rocm");
    refused_swap("trust checked;", "trust total;", TLMC_E_REGISTRY_FIELD,
                 "known: verified, checked, fuzzed");
    refused_swap("vjp graph-vjp;", "vjp tape;", TLMC_E_REGISTRY_FIELD,
                 "known: none, graph-vjp, backend-vjp");
    refused_swap("round=nearest-even", "round=up", TLMC_E_REGISTRY_FIELD, "unknown rounding 'up'");
    refused_swap("round=nearest-even", "way=up", TLMC_E_REGISTRY_FIELD,
                 "'way' is no numerical policy");
    refused_swap("contract=fused", "round=directed", TLMC_E_REGISTRY_FIELD,
                 "'round' is given twice");
    refused_swap("provider acme; device", "provider acne; device", TLMC_E_REGISTRY_FIELD,
                 "unknown provider 'acne'");
    refused_swap("provider acme; device", "provider acne; device", TLMC_E_REGISTRY_FIELD,
                 "known providers: ");
    refused_swap("symbol acme_relu", "symbol acme-relu", TLMC_E_REGISTRY_FIELD,
                 "'acme-relu' is not a C identifier");
    refused_swap("header acme.h", "header \"a\\\"b.h\"", TLMC_E_REGISTRY_FIELD,
                 "is not a plain path");
    refused_field("link \"-l$(x)\";", TLMC_E_REGISTRY_FIELD, "plain link flags");
    refused_field("dtype f33;", TLMC_E_REGISTRY_FIELD, "unknown element type 'f33'");
    refused_field("admit rank_atmost(3);", TLMC_E_REGISTRY_FIELD,
                  "unknown predicate 'rank_atmost'");
    refused_field("admit rank_at_most;", TLMC_E_REGISTRY_FIELD, "needs a number");
    refused_field("admit not_empty(3);", TLMC_E_REGISTRY_FIELD, "takes no number");
    refused_field("workspace much;", TLMC_E_REGISTRY_FIELD, "unknown workspace rule 'much'");
    refused_field("accepts rotation;", TLMC_E_REGISTRY_FIELD, "unknown acceptance 'rotation'");
    refused_field("status soon;", TLMC_E_REGISTRY_FIELD, "known: available, planned");
    refused_field("forward maybe;", TLMC_E_REGISTRY_FIELD, "known: no, yes");
    refused_swap("shape guard \"rank <= 8\"", "shape magic \"x\"", TLMC_E_REGISTRY_FIELD,
                 "unknown kind of evidence 'magic'");
    refused_swap("shape guard \"rank <= 8\"", "shape guard", TLMC_E_REGISTRY_FIELD,
                 "followed by the name");
    refused_swap("shape guard \"rank <= 8\"", "shape guard \"x\" because \"y\"",
                 TLMC_E_REGISTRY_FIELD, "not 'because'");
    refused_swap("vjp graph-vjp;", "vjp none;", TLMC_E_REGISTRY_FIELD, "promises no VJP");
}

static void evidence_must_exist(void **state)
{
    struct bench b;

    (void)state;
    refused_swap("value trusted \"vendor test suite\"", "value tests \"no/such/file.c\"",
                 TLMC_E_EVIDENCE,
                 "evidence 'no/such/file.c' of capsule 'acme.relu' does not exist");
    refused_swap("value trusted \"vendor test suite\"", "value tests \"ops/relu/acme\"",
                 TLMC_E_EVIDENCE, "is not a test of this tlmc");
    bench_begin(&b);
    assert_true(add_with(&b, "")); /* gradients/relu is a test of ours */
    bench_end(&b);
}

static void twice_is_refused(void **state)
{
    struct bench b;
    char text[4096];

    (void)state;
    bench_begin(&b);
    assert_true(add_with(&b, ""));
    assert_false(bench_add(&b, "user:acme", "# again"));
    assert_true(diag_mentions(bench_diag(&b, 0), "duplicate backend capsule module 'user:acme'"));
    assert_int_equal(bench_diag(&b, 0)->code, TLMC_E_REGISTRY_TWICE);
    bench_end(&b);

    snprintf(text, sizeof text,
             "defaults { provider native-c; device cpu; trust checked; vjp none; arithmetic x;\n"
             "numeric round=directed; symbol s; }\n"
             "capsule a.eq { op eq; dtype f32, i32; } capsule a.eq { op eq; dtype i32; }");
    refused(text, TLMC_E_REGISTRY_TWICE,
            "duplicate backend capsule identity 'a.eq' on device 'cpu'");
    refused("capsule native_c.relu { op relu; provider native-c; device cpu; trust checked; vjp "
            "none; arithmetic x;"
            " numeric round=directed; symbol s; }",
            TLMC_E_REGISTRY_TWICE, "identity 'native_c.relu'");
    refused("provider native-c { in_build yes; }", TLMC_E_REGISTRY_TWICE,
            "duplicate provider 'native-c'");
    refused("profile checked_cpu { device cpu; assurance checked; modules native-c; }",
            TLMC_E_REGISTRY_TWICE, "duplicate profile 'checked_cpu'");
}

static void profiles_are_refused(void **state)
{
    (void)state;
    refused("profile p { device cpu; modules native-c; }", TLMC_E_REGISTRY_FIELD,
            "profile 'p' has no field 'assurance'");
    refused("profile p { device cpu; assurance strict; modules native-c; }", TLMC_E_REGISTRY_FIELD,
            "known: verified, checked, external, custom");
    refused("profile p { device cpu; assurance checked; allow fuzzed; modules native-c; }",
            TLMC_E_REGISTRY_FIELD, "only 'assurance custom'");
    refused("profile p { device cpu; assurance custom; allow luck; modules native-c; }",
            TLMC_E_REGISTRY_FIELD, "unknown flag 'luck'");
    refused("profile p { device cpu; assurance checked; modules native-d; }", TLMC_E_REGISTRY_FIELD,
            "unknown module 'native-d' of profile 'p'");
    refused("profile p { device cpu; assurance checked; modules native-c; backend prefer; }",
            TLMC_E_REGISTRY_FIELD, "'prefer' is followed by its providers");
    refused(
        "profile p { device cpu; assurance checked; modules native-c; backend auto reference; }",
        TLMC_E_REGISTRY_FIELD, "'auto' names no provider");
    refused("profile p { device cpu; assurance checked; modules native-c; backend only nobody; }",
            TLMC_E_REGISTRY_FIELD, "unknown provider 'nobody'");
    refused("profile p { device cpu; assurance checked; modules native-c; colour red; }",
            TLMC_E_REGISTRY_FIELD, "known fields: device, backend");
    refused("provider p { licence MIT; }", TLMC_E_REGISTRY_FIELD,
            "provider 'p' has no field 'in_build'");
}

/* 17 MiB, and files of one sign repeated: refused at once, bounded reports. */
static void large_files(void **state)
{
    static const char *const signs[] = {
        "{", "}", ";", "a ", "capsule a { ", "capsule a { x y; } ", "\"", "(", "{op}"
    };
    struct bench b;
    size_t i, k;
    char *text = malloc(17u << 20);

    (void)state;
    assert_non_null(text);
    memset(text, ' ', (17u << 20) - 1);
    text[(17u << 20) - 1] = '\0';
    refused(text, TLMC_E_REGISTRY, "larger than 16 MiB");
    for (i = 0; i < sizeof signs / sizeof *signs; i++) {
        text[0] = '\0';
        for (k = 0; k < 10000; k++)
            memcpy(text + k * strlen(signs[i]), signs[i], strlen(signs[i]) + 1);
        bench_begin(&b);
        assert_false(bench_add(&b, "user:x", text));
        assert_true(b.diags.errors >= 1 && b.diags.errors < 100);
        bench_end(&b);
    }
    free(text);
}

/* Cut anywhere, a good text is refused or read, never a fault. */
static void cut_anywhere(void **state)
{
    size_t length;
    struct bench b;
    char text[2048];

    (void)state;
    for (length = 0; length < strlen(whole); length++) {
        bench_begin(&b);
        snprintf(text, sizeof text, "%.*s", (int)length, whole);
        bench_add(&b, "user:cut", text);
        bench_end(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_field),    cmocka_unit_test(defaults_hold),
        cmocka_unit_test(text_is_refused),      cmocka_unit_test(fields_are_refused),
        cmocka_unit_test(evidence_must_exist),  cmocka_unit_test(twice_is_refused),
        cmocka_unit_test(profiles_are_refused), cmocka_unit_test(large_files),
        cmocka_unit_test(cut_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
