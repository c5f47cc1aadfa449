/* Choice: order, preference, every reason of reasons.def, promises of backend-vjp. */
#include "plan_help.h"

#include "plan_internal.h"

#include <stdio.h>

/* One user capsule of relu; ~ is replaced by fields that make it refused. */
static const char *const base =
    "provider mine { in_build yes; licence MIT; group pointwise trusted \"x\"; }\n"
    "provider away { in_build no; }\n"
    "defaults { provider mine; device cpu; trust checked; vjp graph-vjp; abi template; symbol "
    "my_{op};\n"
    "  arithmetic implementation-defined; shape guard \"g\"; layout guard \"g\"; value trusted "
    "\"v\";\n"
    "  vjp tests \"gradients/{op}\"; numeric round=nearest-even subnormal=gradual-underflow "
    "contract=n/a reduce=n/a; }\n"
    "profile lax { device cpu; assurance external; modules native-c, reference; }\n"
    "profile fixed { device cpu; assurance external; modules native-c; deterministic yes; }\n"
    "profile owned { device cpu; assurance external; modules native-c; vjp backend-vjp; }\n"
    "profile prefers { device cpu; assurance external; backend prefer reference; modules native-c, "
    "reference; }\n"
    "profile exclusive { device cpu; assurance external; backend only reference; modules native-c, "
    "reference; }\n";

struct chosen {
    struct bench bench;
    struct tlmc_plan *plan;
    const struct tlmc_plan_form *train;
};

static void choose(struct chosen *c, const char *capsule, const char *profile)
{
    char text[4096];

    bench_begin(&c->bench);
    snprintf(text, sizeof text, "%s%s", base, capsule);
    if (!bench_add(&c->bench, "user:mine", text)) {
        tlmc_diags_print(&c->bench.diags, stderr);
        fail();
    }
    build_mlp(&c->bench, TLMC_SGD);
    c->plan = bench_plan(&c->bench, NULL, profile);
    assert_non_null(c->plan);
    c->train = form_of(c->plan, TLMC_TRAIN);
}

static uint32_t first_node(const struct tlmc_plan_form *form, enum tlmc_op op,
                           enum tlmc_phase phase)
{
    uint32_t i;

    for (i = 0; i < form->form->graph->node_count; i++)
        if (form->form->graph->nodes[i].op == op && form->form->graph->nodes[i].phase == phase)
            return i;
    fail_msg("no node %s", tlmc_op_info(op)->name);
    return 0;
}

static const char *refusal(const struct tlmc_plan_form *form, uint32_t node, const char *capsule)
{
    const struct tlmc_refusal *r;

    for (r = form->refusals[node]; r->capsule; r++)
        if (strcmp(r->capsule->name, capsule) == 0)
            return r->text;
    return "not refused";
}

static void expect(const char *capsule, const char *profile, const char *reason)
{
    struct chosen c;
    uint32_t node;

    choose(&c, capsule, profile);
    node = first_node(c.train, TLMC_OP_RELU, TLMC_FORWARD);
    assert_string_equal(refusal(c.train, node, "mine.relu"), reason);
    if (strcmp(reason, "not refused") == 0)
        assert_string_equal(c.train->choice[node]->name, "mine.relu");
    bench_end(&c.bench);
}

static void reasons(void **state)
{
    (void)state;
    expect("capsule mine.relu { op relu; }", "lax", "not refused");
    expect("capsule mine.relu { op relu; forward no; }", "lax", "forward-unsupported");
    expect("capsule mine.relu { op relu; shape guard \"g\" claim \"shape safety for add\"; }",
           "lax", "contracts-misaligned(shape)");
    expect("capsule mine.relu { op relu; vjp guard \"g\" claim \"relu backend-vjp VJP\"; }", "lax",
           "contracts-misaligned(vjp)");
    expect("capsule mine.relu { op relu; device cuda; }", "lax", "device-mismatch(cuda)");
    expect("capsule mine.relu { op relu; dtype i32; }", "lax", "dtype-not-supported(f32)");
    expect("capsule mine.relu { op relu; provider away; }", "lax", "provider-not-available(away)");
    expect("capsule mine.relu { op relu; }", "exclusive", "provider-rejected(mine)");
    expect("capsule mine.relu { op relu; }", "prefers", "provider-not-preferred(mine)");
    expect("capsule mine.relu { op relu; trust trusted-external; }", "checked_cpu",
           "trust-not-admitted(trusted-external)");
    expect("capsule mine.relu { op relu; }", "checked_cpu", "evidence-rejected(value: trusted)");
    expect("capsule mine.relu { op relu; value missing; }", "lax",
           "evidence-rejected(value: missing)");
    expect("capsule mine.relu { op relu; vjp none; }", "lax", "vjp-mismatch(none)");
    expect("capsule mine.relu { op relu; }", "owned", "vjp-mismatch(graph-vjp)");
    expect("capsule mine.relu { op relu; numeric reduce=implementation-defined; }", "fixed",
           "reduction-not-deterministic(implementation-defined)");
    expect("capsule mine.relu { op relu; admit rank_at_most(1); }", "lax",
           "admit(rank 2 exceeds 1)");
    expect("capsule mine.relu { op relu; admit last_axis_at_most(7); }", "lax",
           "admit(last axis 8 exceeds 7)");
    expect("capsule mine.relu { op relu; admit last_axis_multiple_of(3); }", "lax",
           "admit(last axis 8 is no multiple of 3)");
    expect("capsule mine.relu { op relu; admit elements_at_most(31); }", "lax",
           "admit(32 elements exceed 31)");
    expect("capsule mine.relu { op relu; admit axes_at_most(7); }", "lax",
           "admit(an axis of 8 exceeds 7)");
    expect("capsule mine.relu { op relu; admit elements_at_least(33); }", "lax",
           "admit(32 elements are below 33)");
    expect("capsule mine.relu { op relu; admit counts_fit_uint32, not_empty, no_mask, "
           "rank_at_least(2); }",
           "lax", "not refused");
    expect("capsule mine.relu { op relu; status planned; }", "lax", "not refused");
}

/* Everything that was not taken has its reason, what comes later too. */
static void all_are_explained(void **state)
{
    struct chosen c;
    uint32_t node;

    (void)state;
    choose(&c, "capsule mine.relu { op relu; }", "lax");
    node = first_node(c.train, TLMC_OP_RELU, TLMC_FORWARD);
    assert_string_equal(refusal(c.train, node, "native_c.relu"), "later-in-order(mine.relu)");
    assert_string_equal(refusal(c.train, node, "reference.relu"), "later-in-order(mine.relu)");
    bench_end(&c.bench);
}

static void prefer_falls_back(void **state)
{
    struct chosen c;
    uint32_t node;

    (void)state;
    choose(&c, "capsule mine.relu { op relu; }", "prefers");
    node = first_node(c.train, TLMC_OP_MATMUL, TLMC_FORWARD);
    assert_string_equal(c.train->choice[node]->name, "reference.matmul");
    assert_string_equal(refusal(c.train, node, "native_c.matmul"),
                        "provider-not-preferred(native-c)");
    bench_end(&c.bench);

    choose(
        &c,
        "profile back { device cpu; assurance external; backend prefer mine; modules native-c; }\n"
        "capsule mine.relu { op relu; }",
        "back");
    assert_string_equal(c.train->choice[first_node(c.train, TLMC_OP_RELU, TLMC_FORWARD)]->name,
                        "mine.relu");
    node = first_node(c.train, TLMC_OP_MATMUL, TLMC_FORWARD);
    assert_string_equal(c.train->choice[node]->name, "native_c.matmul");
    bench_end(&c.bench);
}

static void only_does_not(void **state)
{
    struct chosen c;
    uint32_t node;

    (void)state;
    choose(&c,
           "profile solo { device cpu; assurance external; backend only mine; modules native-c; }\n"
           "capsule mine.relu { op relu; }",
           "solo");
    node = first_node(c.train, TLMC_OP_MATMUL, TLMC_FORWARD);
    assert_null(c.train->choice[node]);
    assert_string_equal(refusal(c.train, node, "native_c.matmul"), "provider-rejected(native-c)");
    assert_true(c.plan->failure_count > 0);
    assert_null(tlmc_plan_accept(c.plan, &c.bench.diags));
    assert_int_equal(bench_diag(&c.bench, 0)->code, TLMC_E_NO_CAPSULE);
    assert_true(diag_mentions(bench_diag(&c.bench, 0),
                              "no admissible backend capsule for op 'matmul' on device 'cpu'"));
    bench_end(&c.bench);
}

/* relu's own capsule promises backend-vjp: relu_vjp goes to the same provider, though another comes
   first. */
static void backend_vjp_is_kept(void **state)
{
    struct chosen c;
    uint32_t forward, backward;

    (void)state;
    choose(&c, "capsule mine.relu_vjp { op relu_vjp; vjp none; }", "lax");
    forward = first_node(c.train, TLMC_OP_RELU, TLMC_FORWARD);
    backward = first_node(c.train, TLMC_OP_RELU_VJP, TLMC_BACKWARD);
    assert_string_equal(c.train->choice[forward]->name, "native_c.relu");
    assert_string_equal(c.train->choice[backward]->name, "native_c.relu_vjp");
    assert_string_equal(refusal(c.train, backward, "mine.relu_vjp"),
                        "vjp-mismatch(backend-vjp of native_c.relu)");
    bench_end(&c.bench);

    choose(&c, "capsule mine.relu_vjp { op relu_vjp; vjp none; } capsule mine.relu { op relu; }",
           "lax");
    backward = first_node(c.train, TLMC_OP_RELU_VJP, TLMC_BACKWARD);
    assert_string_equal(c.train->choice[backward]->name,
                        "mine.relu_vjp"); /* graph-vjp promises nothing */
    bench_end(&c.bench);

    choose(&c, "capsule mine.relu { op relu; vjp backend-vjp; }", "lax");
    backward = first_node(c.train, TLMC_OP_RELU_VJP, TLMC_BACKWARD);
    assert_null(c.train->choice[backward]); /* the promise cannot be kept */
    assert_null(tlmc_plan_accept(c.plan, &c.bench.diags));
    bench_end(&c.bench);
}

/* A forward-only capsule is fine where nothing is trained. */
static void inference_needs_no_gradient(void **state)
{
    struct chosen c;
    const struct tlmc_plan_form *infer;

    (void)state;
    choose(&c, "capsule mine.relu { op relu; vjp none; }", "lax");
    infer = form_of(c.plan, TLMC_INFER);
    assert_string_equal(infer->choice[first_node(infer, TLMC_OP_RELU, TLMC_FORWARD)]->name,
                        "mine.relu");
    assert_string_equal(c.train->choice[first_node(c.train, TLMC_OP_RELU, TLMC_FORWARD)]->name,
                        "native_c.relu");
    bench_end(&c.bench);
}

static void the_same_plan_twice(void **state)
{
    struct chosen a, b;
    struct tlmc_strbuf one = { 0 }, two = { 0 };

    (void)state;
    choose(&a, "capsule mine.relu { op relu; }", "prefers");
    choose(&b, "capsule mine.relu { op relu; }", "prefers");
    tlmc_plan_json(a.plan, &one);
    tlmc_plan_json(b.plan, &two);
    assert_string_equal(one.text, two.text);
    tlmc_strbuf_free(&one);
    tlmc_strbuf_free(&two);
    bench_end(&a.bench);
    bench_end(&b.bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reasons),
        cmocka_unit_test(all_are_explained),
        cmocka_unit_test(prefer_falls_back),
        cmocka_unit_test(only_does_not),
        cmocka_unit_test(backend_vjp_is_kept),
        cmocka_unit_test(inference_needs_no_gradient),
        cmocka_unit_test(the_same_plan_twice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
