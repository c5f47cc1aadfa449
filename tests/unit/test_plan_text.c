/* The report of plans, whole, against tests/golden/plans (UPDATE_GOLDEN=1 rewrites), and facts that
   survive a change of wording: each op once, order of phases, folds said, refusals said. */
#include "plan_help.h"

#include <stdio.h>

static char *read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text;
    long size;

    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    size = ftell(f);
    rewind(f);
    text = calloc((size_t)size + 1, 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)size, f), (size_t)size);
    fclose(f);
    return text;
}

static void compare_golden(const char *name, const char *text)
{
    char path[512];
    char *wanted;

    snprintf(path, sizeof path, "%s/tests/golden/plans/%s.txt", TLMC_SOURCE_DIR, name);
    if (getenv("UPDATE_GOLDEN")) {
        FILE *f = fopen(path, "wb");

        assert_non_null(f);
        fputs(text, f);
        fclose(f);
        return;
    }
    wanted = read_file(path);
    if (!wanted)
        fail_msg("%s is missing: run with UPDATE_GOLDEN=1", path);
    if (strcmp(wanted, text) != 0)
        fail_msg("the plan differs from %s; UPDATE_GOLDEN=1 rewrites it.  Now:\n%s", path, text);
    free(wanted);
}

struct report {
    struct bench bench;
    struct tlmc_plan *plan;
    struct tlmc_strbuf text;
};

static void make(struct report *r, const char *device, const char *profile,
                 struct tlmc_report_options options)
{
    bench_begin(&r->bench);
    build_mlp(&r->bench, TLMC_ADAM);
    r->plan = bench_plan(&r->bench, device, profile);
    assert_non_null(r->plan);
    memset(&r->text, 0, sizeof r->text);
    tlmc_plan_text(r->plan, &options, &r->text);
}

static void drop(struct report *r)
{
    tlmc_strbuf_free(&r->text);
    bench_end(&r->bench);
}

static void golden(const char *name, const char *device, const char *profile,
                   struct tlmc_report_options options)
{
    struct report r;

    make(&r, device, profile, options);
    compare_golden(name, tlmc_strbuf_text(&r.text));
    drop(&r);
}

static void checked_cpu(void **state)
{
    (void)state;
    golden("mlp_checked_cpu", NULL, NULL, (struct tlmc_report_options){ .steps = true });
}

static void reference_cpu(void **state)
{
    (void)state;
    golden("mlp_reference_cpu", NULL, "reference_cpu",
           (struct tlmc_report_options){ .steps = true });
}

static void checked_cuda(void **state)
{
    (void)state;
    golden("mlp_checked_cuda", "cuda", NULL, (struct tlmc_report_options){ .explain = true });
}

static void vendor_cuda(void **state)
{
    (void)state;
    golden("mlp_vendor_cuda", "cuda", "vendor_cuda",
           (struct tlmc_report_options){ .explain = true });
}

static void verified_cpu(void **state)
{
    (void)state;
    golden("mlp_verified_cpu", NULL, "verified_cpu", (struct tlmc_report_options){ 0 });
}

static void openblas_cpu(void **state)
{
    (void)state;
    golden("mlp_openblas_cpu", NULL, "openblas_cpu",
           (struct tlmc_report_options){ .explain = true });
}

static void contracts(void **state)
{
    (void)state;
    golden("mlp_contracts", NULL, NULL, (struct tlmc_report_options){ .contracts = true });
}

/* Heads of blocks: "op: capsule". */
static void each_op_once(void **state)
{
    struct report r;
    const char *line, *next;
    unsigned matmuls = 0;

    (void)state;
    make(&r, NULL, NULL, (struct tlmc_report_options){ 0 });
    for (line = tlmc_strbuf_text(&r.text); *line; line = next) {
        next = strchr(line, '\n') + 1;
        matmuls += strncmp(line, "matmul: native_c.matmul\n", 24) == 0;
    }
    assert_int_equal(matmuls, 1);
    drop(&r);
}

static const char *at(const struct report *r, const char *text)
{
    const char *found = strstr(r->text.text, text);

    if (!found)
        fail_msg("'%s' is not in the report:\n%s", text, r->text.text);
    return found;
}

static void execution_order(void **state)
{
    struct report r;

    (void)state;
    make(&r, "cuda", NULL, (struct tlmc_report_options){ 0 });
    assert_true(at(&r, "permute: native_cuda.permute\n") < at(&r, "matmul: native_cuda.matmul\n"));
    assert_true(at(&r, "matmul: native_cuda.matmul\n") < at(&r, "relu: native_cuda.relu\n"));
    assert_true(at(&r, "relu: native_cuda.relu\n") < at(&r, "mse_loss: native_cuda.mse_loss\n"));
    assert_true(at(&r, "mse_loss: native_cuda.mse_loss\n") <
                at(&r, "mse_loss_vjp: native_cuda.mse_loss_vjp\n"));
    assert_true(at(&r, "relu_vjp: native_cuda.relu_vjp\n") <
                at(&r, "adam_update: native_cuda.adam_update\n"));
    at(&r, "permute: folded into matmul, transpose_b\n");
    at(&r, "matmul: native_cuda.matmul\n"
           "  provider=native-cuda trust=checked vjp=backend-vjp\n"
           "  "
           "numeric=[round=nearest-even,subnormal=gradual-underflow,contract=fused,reduce=fixed-"
           "left]\n");
    assert_null(strstr(tlmc_strbuf_text(&r.text), "not accepted"));
    at(&r, "trusted external boundary: none\n");
    drop(&r);
}

/* Entries without code in this build are said where they would be chosen. */
static void planned(void **state)
{
    struct report r;
    const struct tlmc_report_options options = { 0 };

    (void)state;
    bench_begin(&r.bench);
    assert_true(bench_add(
        &r.bench, "user:t",
        "provider soon { in_build yes; }\n"
        "capsule soon.relu { op relu; provider soon; device cpu; trust checked; vjp graph-vjp;\n"
        "  shape guard \"g\"; layout guard \"g\"; value guard \"g\"; vjp guard \"g\";\n"
        "  numeric round=nearest-even reduce=n/a; arithmetic x; abi template; symbol soon;\n"
        "  status planned; }\n"
        "profile p { device cpu; assurance checked; vjp graph-vjp; modules native-c, user:t;\n"
        "  backend prefer soon; }"));
    build_mlp(&r.bench, TLMC_ADAM);
    r.plan = bench_plan(&r.bench, NULL, "p");
    assert_non_null(r.plan);
    memset(&r.text, 0, sizeof r.text);
    tlmc_plan_text(r.plan, &options, &r.text);
    assert_true(at(&r, "relu: soon.relu\n") < at(&r, "  not accepted: planned\n"));
    drop(&r);
}

static void json_and_dot(void **state)
{
    struct report r;
    struct tlmc_strbuf one = { 0 }, two = { 0 };

    (void)state;
    make(&r, NULL, NULL, (struct tlmc_report_options){ 0 });
    tlmc_plan_json(r.plan, &one);
    tlmc_plan_json(r.plan, &two);
    assert_string_equal(one.text, two.text);
    assert_non_null(strstr(one.text, "\"profile\": \"checked_cpu\""));
    tlmc_strbuf_clear(&one);
    tlmc_plan_dot(r.plan, &one);
    assert_memory_equal(one.text, "digraph \"test\" {\n", 17);
    assert_string_equal(one.text + one.length - 2, "}\n");
    tlmc_strbuf_free(&one);
    tlmc_strbuf_free(&two);
    drop(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checked_cpu),  cmocka_unit_test(reference_cpu),
        cmocka_unit_test(checked_cuda), cmocka_unit_test(vendor_cuda),
        cmocka_unit_test(verified_cpu), cmocka_unit_test(openblas_cpu),
        cmocka_unit_test(contracts),    cmocka_unit_test(each_op_once),
        cmocka_unit_test(planned),      cmocka_unit_test(execution_order),
        cmocka_unit_test(json_and_dot),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
