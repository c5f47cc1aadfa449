/* The gate and acceptance: policies refuse with op, capsule and obligation; acceptance repeats
   every check on a plan that was tampered with; nothing planned is accepted. */
#include "plan_help.h"

#include "plan_internal.h"

#include <stdio.h>

struct gated {
    struct bench bench;
    struct tlmc_plan *plan;
};

static void begin(struct gated *t, const char *text, const char *device, const char *profile)
{
    bench_begin(&t->bench);
    if (text && !bench_add(&t->bench, "user:t", text)) {
        tlmc_diags_print(&t->bench.diags, stderr);
        fail();
    }
    build_mlp(&t->bench, TLMC_ADAM);
    t->plan = bench_plan(&t->bench, device, profile);
    assert_non_null(t->plan);
}

static void end(struct gated *t)
{
    bench_end(&t->bench);
}

static bool has_failure(const struct gated *t, const char *op, const char *capsule,
                        const char *text)
{
    uint32_t i;

    for (i = 0; i < t->plan->failure_count; i++) {
        const struct tlmc_failure *f = &t->plan->failures[i];
        const char *name =
            f->form ? tlmc_op_info(f->form->form->graph->nodes[f->node].op)->name : "";

        if (strcmp(name, op) == 0 && strcmp(f->capsule ? f->capsule->name : "", capsule) == 0 &&
            strstr(f->text, text))
            return true;
    }
    return false;
}

/* Refused, with this code and text in the first diagnostic of the code. */
static void refused(struct gated *t, enum tlmc_diag_code code, const char *text)
{
    const struct tlmc_diag *d;

    assert_null(tlmc_plan_accept(t->plan, &t->bench.diags));
    for (d = t->bench.diags.first; d && d->code != code; d = d->next)
        continue;
    assert_non_null(d);
    if (!diag_mentions(d, text))
        fail_msg("'%s' is not in '%s' and its notes", text, d->text);
}

static void checked_is_accepted(void **state)
{
    static const char *const profiles[] = { "checked_cpu", "reference_cpu" };
    struct gated t;
    unsigned i;

    (void)state;
    for (i = 0; i < 2; i++) {
        begin(&t, NULL, NULL, profiles[i]);
        assert_int_equal(t.plan->failure_count, 0);
        assert_ptr_equal(tlmc_accepted(tlmc_plan_accept(t.plan, &t.bench.diags)), t.plan);
        assert_int_equal(t.bench.diags.errors, 0);
        end(&t);
    }
}

static void verified_lists_obligations(void **state)
{
    struct gated t;

    (void)state;
    begin(&t, NULL, NULL, "verified_cpu");
    assert_true(has_failure(&t, "matmul", "native_c.matmul", "trust-not-admitted(checked)"));
    assert_true(has_failure(&t, "matmul", "native_c.matmul",
                            "value obligation covered by test ops/matmul/native_c"));
    assert_true(
        has_failure(&t, "relu", "native_c.relu", "vjp obligation covered by test gradients/relu"));
    assert_true(
        has_failure(&t, "adam_update", "native_c.adam_update", "shape obligation guarded by"));
    assert_false(has_failure(&t, "adam_update", "native_c.adam_update", "vjp obligation"));
    refused(&t, TLMC_E_GATE, "policy 'verified'");
    refused(&t, TLMC_E_GATE, "matmul: native_c.matmul: trust-not-admitted(checked), and 4 more");
    end(&t);
}

/* Custom flags: each obligation by its own flag. */
static void custom_policies(void **state)
{
    struct gated t;

    (void)state;
    begin(&t,
          "profile p { device cpu; assurance custom; allow checked, guards; modules native-c; }",
          NULL, "p");
    assert_true(has_failure(&t, "relu", "native_c.relu", "value obligation"));
    assert_false(has_failure(&t, "relu", "native_c.relu", "shape obligation"));
    end(&t);
    begin(&t,
          "profile p { device cpu; assurance custom; allow checked, guards, tests; modules "
          "native-c; }",
          NULL, "p");
    assert_int_equal(t.plan->failure_count, 0);
    end(&t);
}

static void planned_is_not_accepted(void **state)
{
    struct gated t;

    (void)state;
    begin(&t,
          "provider soon { in_build yes; }\n"
          "capsule soon.matmul { op matmul; provider soon; device cpu; trust checked; vjp "
          "graph-vjp;\n"
          "  shape guard \"g\"; layout guard \"g\"; value guard \"g\"; vjp guard \"g\";\n"
          "  numeric round=nearest-even reduce=n/a; arithmetic x; abi template; symbol soon;\n"
          "  status planned; }\n"
          "profile p { device cpu; assurance checked; vjp graph-vjp; modules native-c, user:t;\n"
          "  backend prefer soon; }",
          NULL, "p");
    assert_true(has_failure(&t, "matmul", "soon.matmul", "planned"));
    assert_false(has_failure(&t, "relu", "native_c.relu", "planned"));
    refused(&t, TLMC_E_NOT_EMITTABLE, "matmul: soon.matmul: planned");
    end(&t);
}

/* CUDA plans need no toolkit. */
static void cuda_is_accepted(void **state)
{
    static const char *const profiles[] = { "checked_cuda", "vendor_cuda" };
    struct gated t;

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        begin(&t, NULL, "cuda", profiles[i]);
        assert_int_equal(t.plan->failure_count, 0);
        assert_ptr_equal(tlmc_accepted(tlmc_plan_accept(t.plan, &t.bench.diags)), t.plan);
        end(&t);
    }
}

static void absent_providers_are_said(void **state)
{
    static const char *const profiles[][2] = {
        { "openblas_cpu", "provider 'openblas' not available in this build" },
        { "libtorch_forward_cpu", "provider 'libtorch' not available in this build" },
        { "libtorch_forward_cuda", "provider 'libtorch' not available in this build" }
    };
    struct gated t;
    unsigned i;

    (void)state;
    for (i = 0; i < 3; i++) {
        begin(&t, NULL, NULL, profiles[i][0]);
        refused(&t, TLMC_E_NOT_EMITTABLE, profiles[i][1]);
        end(&t);
    }
}

/* A loop of a provider without evidence for loops. */
static void groups_need_evidence(void **state)
{
    static const char *const text = "provider mine { in_build yes; %s }\n"
                                    "defaults { provider mine; device cpu; trust checked; vjp "
                                    "graph-vjp; symbol my_{op}; fuses pointwise;\n"
                                    "  arithmetic x; shape guard \"g\"; layout guard \"g\"; value "
                                    "guard \"g\"; vjp guard \"g\";\n"
                                    "  numeric round=nearest-even reduce=n/a; }\n"
                                    "capsule mine.add { op add; } capsule mine.relu { op relu; }";
    struct gated t;
    char with[1024];

    (void)state;
    snprintf(with, sizeof with, text, "");
    begin(&t, with, NULL, NULL);
    assert_true(
        has_failure(&t, "add", "mine.add", "pointwise group of provider 'mine': evidence missing"));
    end(&t);
    snprintf(with, sizeof with, text, "group pointwise guard \"g\";");
    begin(&t, with, NULL, NULL);
    assert_int_equal(t.plan->failure_count, 0);
    end(&t);
}

/* A called kernel that accepts transposes vouches for them itself. */
static void called_kernels_take_flags(void **state)
{
    struct gated t;

    (void)state;
    begin(&t,
          "provider mine { in_build yes; }\n"
          "capsule mine.matmul { op matmul; provider mine; device cpu; trust checked; vjp "
          "graph-vjp; arithmetic x;\n"
          "  shape guard \"g\"; layout guard \"g\"; value guard \"g\"; vjp guard \"g\"; accepts "
          "transpose_a, transpose_b;\n"
          "  numeric round=nearest-even reduce=fixed-left; abi call; symbol m; header m.h; }",
          NULL, NULL);
    assert_int_equal(t.plan->failure_count, 0);
    end(&t);
}

/* ---- acceptance repeats the checks, whoever made the plan */

static uint32_t node_with(const struct tlmc_plan_form *form, enum tlmc_op op)
{
    uint32_t i;

    for (i = 0; i < form->form->graph->node_count; i++)
        if (form->form->graph->nodes[i].op == op)
            return i;
    fail();
    return 0;
}

static const struct tlmc_capsule *named(const struct gated *t, const char *name)
{
    unsigned i;

    for (i = 0; i < t->bench.catalog->capsules.count; i++)
        if (strcmp(t->bench.catalog->capsules.items[i].name, name) == 0)
            return &t->bench.catalog->capsules.items[i];
    fail_msg("no capsule %s", name);
    return NULL;
}

/* The choice of a relu node of the training form is replaced: acceptance must see it. */
static void tampered(const char *text, const char *profile, const char *capsule, const char *reason)
{
    struct gated t;
    struct tlmc_plan_form *form;
    uint32_t i;

    begin(&t, text, NULL, profile);
    assert_int_equal(t.plan->failure_count, 0);
    for (i = 0; t.plan->forms[i].form->mode != TLMC_TRAIN; i++)
        continue;
    form = &t.plan->forms[i];
    form->choice[node_with(form, TLMC_OP_RELU)] = capsule ? named(&t, capsule) : NULL;
    refused(&t, TLMC_E_GATE, reason);
    end(&t);
}

static const char *const mine =
    "provider mine { in_build yes; }\n"
    "defaults { provider mine; device cpu; trust checked; vjp graph-vjp; symbol my_{op}; "
    "arithmetic x; abi template;\n"
    "  shape guard \"g\"; layout guard \"g\"; value guard \"g\"; vjp guard \"g\"; numeric "
    "round=nearest-even reduce=n/a; }\n"
    "capsule mine.noforward { op relu; forward no; }\n"
    "capsule mine.misaligned { op relu; value guard \"g\" claim \"add\"; }\n"
    "capsule mine.trusted { op relu; trust trusted-external; }\n"
    "capsule mine.missing { op relu; value missing; }\n"
    "capsule mine.novjp { op relu; vjp none; }\n";

static void acceptance_repeats_every_check(void **state)
{
    (void)state;
    tampered(NULL, "checked_cpu", NULL, "relu: nothing chosen refused: no capsule");
    tampered(NULL, "checked_cpu", "native_c.tanh",
             "relu: native_c.tanh refused: operation-mismatch(tanh)");
    tampered(NULL, "checked_cpu", "native_cuda.relu", "device-mismatch(cuda)");
    tampered(NULL, "reference_cpu", "native_c.relu", "provider-rejected(native-c)");
    tampered(mine, "checked_cpu", "mine.noforward", "forward-unsupported");
    tampered(mine, "checked_cpu", "mine.misaligned", "contracts-misaligned(value)");
    tampered(mine, "checked_cpu", "mine.trusted", "trust-not-admitted(trusted-external)");
    tampered(mine, "checked_cpu", "mine.missing", "evidence-rejected(value: missing)");
    tampered(mine, "checked_cpu", "mine.novjp", "vjp-mismatch(none)");
}

static void acceptance_sees_planned_choices(void **state)
{
    struct gated t;
    struct tlmc_plan_form *form;

    (void)state;
    begin(&t, NULL, NULL, NULL);
    form = &t.plan->forms[0];
    form->choice[node_with(form, TLMC_OP_ADD)] = named(&t, "native_c.add");
    t.bench.catalog->capsules.items[named(&t, "native_c.add") - t.bench.catalog->capsules.items]
        .status = TLMC_PLANNED;
    refused(&t, TLMC_E_GATE, "add: native_c.add refused: planned");
    end(&t);
}

static void acceptance_sees_lost_nodes(void **state)
{
    struct gated t;

    (void)state;
    begin(&t, NULL, NULL, NULL);
    t.plan->forms[0].step_count--;
    refused(&t, TLMC_E_GATE, "steps and nodes of entry 'infer' do not agree");
    end(&t);
}

static void deterministic_is_repeated(void **state)
{
    struct gated t;

    (void)state;
    begin(&t, NULL, NULL, NULL);
    t.plan->deterministic = true; /* native-c keeps it */
    assert_non_null(tlmc_plan_accept(t.plan, &t.bench.diags));
    end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checked_is_accepted),
        cmocka_unit_test(verified_lists_obligations),
        cmocka_unit_test(custom_policies),
        cmocka_unit_test(planned_is_not_accepted),
        cmocka_unit_test(cuda_is_accepted),
        cmocka_unit_test(absent_providers_are_said),
        cmocka_unit_test(groups_need_evidence),
        cmocka_unit_test(called_kernels_take_flags),
        cmocka_unit_test(acceptance_repeats_every_check),
        cmocka_unit_test(acceptance_sees_planned_choices),
        cmocka_unit_test(acceptance_sees_lost_nodes),
        cmocka_unit_test(deterministic_is_repeated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
