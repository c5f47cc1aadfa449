/* The shipped registry: every op that computes has its capsules, every contract claims what its
   slot owes, equal arithmetic on CPU and CUDA.  With an argument the program prints facts for
   scripts instead: --evidence (names of tests, planned ones marked), --symbols (header and symbol
   of every available CPU kernel). */
#include "plan_help.h"

#include <stdio.h>

static const struct tlmc_capsule *find(const struct bench *b, enum tlmc_op op, const char *provider,
                                       enum tlmc_device device)
{
    unsigned i;

    for (i = 0; i < b->catalog->capsules.count; i++) {
        const struct tlmc_capsule *k = &b->catalog->capsules.items[i];

        if (k->op == op && k->device == device && strcmp(k->provider, provider) == 0)
            return k;
    }
    return NULL;
}

static bool computes(enum tlmc_op op)
{
    return tlmc_op_info(op)->family != TLMC_LEAF;
}

static void every_op_has_capsules(void **state)
{
    struct bench b;
    int op;

    (void)state;
    bench_begin(&b);
    for (op = 0; op < TLMC_OP_COUNT; op++) {
        if (!computes((enum tlmc_op)op))
            continue;
        if (!find(&b, (enum tlmc_op)op, "native-c", TLMC_CPU) ||
            !find(&b, (enum tlmc_op)op, "reference", TLMC_CPU) ||
            !find(&b, (enum tlmc_op)op, "native-cuda", TLMC_CUDA))
            fail_msg("op '%s' lacks a native-c, reference or native-cuda capsule",
                     tlmc_op_info((enum tlmc_op)op)->name);
    }
    bench_end(&b);
}

static void equal_arithmetic_on_both_devices(void **state)
{
    struct bench b;
    int op;

    (void)state;
    bench_begin(&b);
    for (op = 0; op < TLMC_OP_COUNT; op++) {
        const struct tlmc_capsule *c, *cuda;

        if (!computes((enum tlmc_op)op))
            continue;
        c = find(&b, (enum tlmc_op)op, "native-c", TLMC_CPU);
        cuda = find(&b, (enum tlmc_op)op, "native-cuda", TLMC_CUDA);
        assert_string_equal(c->arithmetic, cuda->arithmetic);
        assert_string_not_equal(c->arithmetic, "implementation-defined");
        assert_memory_equal(&c->numeric, &cuda->numeric, sizeof c->numeric);
        assert_int_equal(c->dtypes, cuda->dtypes);
        assert_int_equal(c->vjp, cuda->vjp);
        assert_int_equal(c->accepts, cuda->accepts);
        assert_int_equal(c->fuses, cuda->fuses & ~(unsigned)TLMC_FUSES_LAUNCH);
    }
    bench_end(&b);
}

/* One id is one definition: "op.rule.vN", and the rule agrees with the policy. */
static void ids_agree_with_policies(void **state)
{
    struct bench b;
    unsigned i;

    (void)state;
    bench_begin(&b);
    for (i = 0; i < b.catalog->capsules.count; i++) {
        const struct tlmc_capsule *k = &b.catalog->capsules.items[i];
        const char *op = tlmc_op_info(k->op)->name, *id = k->arithmetic;

        if (strcmp(id, "implementation-defined") == 0)
            continue;
        if (strncmp(id, op, strlen(op)) != 0 || id[strlen(op)] != '.' ||
            strcmp(id + strlen(id) - 3, ".v1") != 0)
            fail_msg("arithmetic '%s' of %s is not '%s.RULE.vN'", id, k->name, op);
        if (strstr(id, ".tree64."))
            assert_int_equal(k->numeric.reduction, TLMC_RED_FIXED_TREE);
        if (strstr(id, ".left.") || strstr(id, ".chain512."))
            assert_int_equal(k->numeric.reduction, TLMC_RED_FIXED_LEFT);
        if (strstr(id, ".exact.") || strstr(id, ".poly."))
            assert_int_equal(k->numeric.reduction, TLMC_RED_NA);
        if (strstr(id, ".poly.") || strstr(id, ".chain512."))
            assert_int_equal(k->numeric.contract, TLMC_CONTRACT_FUSED);
        assert_int_equal(k->numeric.rounding, TLMC_ROUND_NEAREST_EVEN);
    }
    bench_end(&b);
}

/* Libraries and libm say so; our kernels never do. */
static void foreign_arithmetic_is_said(void **state)
{
    struct bench b;
    unsigned i;

    (void)state;
    bench_begin(&b);
    for (i = 0; i < b.catalog->capsules.count; i++) {
        const struct tlmc_capsule *k = &b.catalog->capsules.items[i];
        const bool ours =
            strcmp(k->provider, "native-c") == 0 || strcmp(k->provider, "native-cuda") == 0;
        const bool plain = strcmp(k->provider, "reference") == 0;

        if (!ours && !plain) {
            assert_int_equal(k->trust, TLMC_TRUSTED_EXTERNAL);
            assert_string_equal(k->arithmetic, "implementation-defined");
            assert_int_equal(k->numeric.reduction, TLMC_RED_IMPL);
            assert_int_equal(k->contracts[TLMC_SLOT_VALUE].evidence, TLMC_EV_TRUSTED);
        } else {
            assert_int_equal(k->trust, TLMC_CHECKED);
            assert_int_equal(k->contracts[TLMC_SLOT_VALUE].evidence, TLMC_EV_TESTS);
        }
    }
    bench_end(&b);
}

static void contracts_align(void **state)
{
    const struct tlmc_profile *profile;
    struct bench b;
    unsigned i, k;

    (void)state;
    bench_begin(&b);
    for (k = 0; k < b.catalog->profiles.count; k++) {
        profile = &b.catalog->profiles.items[k];
        for (i = 0; i < b.catalog->capsules.count; i++) {
            const char *reason =
                tlmc_capsule_refusal(b.catalog, profile, &b.catalog->capsules.items[i], &b.arena);

            if (reason && strstr(reason, "contracts-misaligned"))
                fail_msg("%s: %s", b.catalog->capsules.items[i].name, reason);
        }
    }
    bench_end(&b);
}

static void gradients_are_promised(void **state)
{
    struct bench b;
    int op;

    (void)state;
    bench_begin(&b);
    for (op = 0; op < TLMC_OP_COUNT; op++) {
        const struct tlmc_capsule *k = find(&b, (enum tlmc_op)op, "native-c", TLMC_CPU);

        if (!k)
            continue;
        assert_int_equal(k->vjp,
                         tlmc_op_has_gradient((enum tlmc_op)op) ? TLMC_VJP_BACKEND : TLMC_VJP_NONE);
        k = find(&b, (enum tlmc_op)op, "reference", TLMC_CPU);
        assert_int_equal(k->vjp,
                         tlmc_op_has_gradient((enum tlmc_op)op) ? TLMC_VJP_GRAPH : TLMC_VJP_NONE);
    }
    bench_end(&b);
}

static void policies(void **state)
{
    struct bench b;
    const struct tlmc_profile *p;
    struct tlmc_assurance custom;

    (void)state;
    bench_begin(&b);
    p = tlmc_catalog_profile(b.catalog, "checked_cpu");
    assert_string_equal(tlmc_assurance_name(&p->assurance), "checked");
    assert_true(p->is_default && p->coalesced);
    custom = p->assurance;
    custom.allow_tests = false;
    assert_string_equal(tlmc_assurance_name(&custom), "custom");
    p = tlmc_catalog_profile(b.catalog, "vendor_cuda");
    assert_string_equal(tlmc_assurance_name(&p->assurance), "external");
    assert_int_equal(p->preference, TLMC_PREFER);
    assert_string_equal(p->preferred.items[0], "cublas");
    p = tlmc_catalog_profile(b.catalog, "reference_cpu");
    assert_false(p->coalesced);
    assert_int_equal(p->preference, TLMC_PREFER_ONLY);
    assert_null(tlmc_catalog_profile(b.catalog, "no_such"));
    bench_end(&b);
}

static void devices(void **state)
{
    static const char *const refused[] = { "rocm",     "metal",  "wasm",    "tpu",
                                           "trainium", "custom", "external" };
    struct bench b;
    size_t i;

    (void)state;
    bench_begin(&b);
    assert_string_equal(tlmc_catalog_select(b.catalog, NULL, NULL, &b.diags)->name, "checked_cpu");
    assert_string_equal(tlmc_catalog_select(b.catalog, "auto", NULL, &b.diags)->name,
                        "checked_cpu");
    assert_string_equal(tlmc_catalog_select(b.catalog, "cuda", NULL, &b.diags)->name,
                        "checked_cuda");
    assert_string_equal(tlmc_catalog_select(b.catalog, NULL, "vendor_cuda", &b.diags)->name,
                        "vendor_cuda");
    assert_int_equal(b.diags.errors, 0);
    for (i = 0; i < sizeof refused / sizeof *refused; i++) {
        char text[80];

        assert_null(tlmc_catalog_select(b.catalog, refused[i], NULL, &b.diags));
        snprintf(text, sizeof text, "device '%s' has no maintained runtime profile", refused[i]);
        assert_string_equal(bench_diag(&b, (unsigned)i)->text, text);
        assert_int_equal(bench_diag(&b, (unsigned)i)->code, TLMC_E_NO_PROFILE);
    }
    assert_null(tlmc_catalog_select(b.catalog, "foo", NULL, &b.diags));
    assert_true(diag_mentions(bench_diag(&b, 7),
                              "known devices: auto, cpu, cuda, rocm, metal, wasm, tpu, trainium"));
    assert_null(tlmc_catalog_select(b.catalog, NULL, "foo", &b.diags));
    assert_true(diag_mentions(bench_diag(&b, 8), "known profiles: checked_cpu, reference_cpu"));
    assert_null(tlmc_catalog_select(b.catalog, "cpu", "checked_cuda", &b.diags));
    assert_true(
        diag_mentions(bench_diag(&b, 9), "profile 'checked_cuda' is for device 'cuda', not 'cpu'"));
    bench_end(&b);
}

static void a_profile_without_capsules_is_refused(void **state)
{
    struct bench b;

    (void)state;
    bench_begin(&b);
    assert_true(bench_add(&b, "user:p",
                          "profile odd { device tpu; assurance checked; modules native-c; }"));
    assert_null(tlmc_catalog_select(b.catalog, "tpu", "odd", &b.diags));
    assert_string_equal(bench_diag(&b, 0)->text,
                        "backend profile 'odd' has no capsule for device 'tpu'");
    bench_end(&b);
}

static const char *const mine = "capsule mine.relu { op relu; provider native-c; device cpu; trust "
                                "checked; vjp graph-vjp; arithmetic x;\n"
                                "  numeric round=nearest-even reduce=n/a; symbol s; }";

static void user_modules_come_first(void **state)
{
    struct bench b;
    unsigned count;

    (void)state;
    bench_begin(&b);
    count = b.catalog->capsules.count;
    assert_true(bench_add(&b, "user:a", mine));
    assert_true(bench_add(&b, "user:b", "# nothing"));
    assert_string_equal(b.catalog->capsules.items[0].name, "mine.relu");
    assert_int_equal(b.catalog->user_capsules, 1);
    assert_int_equal(b.catalog->capsules.count, count + 1);
    bench_end(&b);
}

static void a_module_replaces_its_namesake(void **state)
{
    struct bench b;
    unsigned i;

    (void)state;
    bench_begin(&b);
    assert_true(bench_add(&b, "native-c", mine));
    for (i = 1; i < b.catalog->capsules.count; i++)
        assert_string_not_equal(b.catalog->capsules.items[i].module, "native-c");
    bench_end(&b);
}

/* docs/adding-a-capsule.md and docs/plan.md name every field, predicate, workspace rule, profile
   and reason. */
static char *read_doc(const char *name)
{
    char path[512];
    FILE *f;
    char *text;
    long size;

    snprintf(path, sizeof path, "%s/docs/%s", TLMC_SOURCE_DIR, name);
    f = fopen(path, "rb");
    if (!f)
        fail_msg("cannot open %s", path);
    fseek(f, 0, SEEK_END);
    size = ftell(f);
    rewind(f);
    text = calloc((size_t)size + 1, 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)size, f), (size_t)size);
    fclose(f);
    return text;
}

static void named_in(const char *doc, const char *word)
{
    if (!strstr(doc, word))
        fail_msg("the page does not name '%s'", word);
}

static void docs_are_current(void **state)
{
    static const char *const on_capsules[] = {
#define ADMIT(name, takes, meaning) #name, meaning,
#include "admit.def"
#define WORKSPACE(name, bytes) #name,
#include "workspace.def"
#define TRUST(TAG, text) text,
#define VJP_MODE(TAG, text) text,
#define ROUNDING(TAG, text) text,
#define SUBNORMAL(TAG, text) text,
#define CONTRACTION(TAG, text) text,
#define REDUCTION(TAG, text) text,
#define EVIDENCE(TAG, text, disposition, label) text,
#define DEVICE(TAG, text) text,
#define ABI(TAG, text) text,
#include "enums.def"
    };
    static const char *const on_plans[] = {
#define REASON(TAG, text, meaning) text, meaning,
#include "reasons.def"
    };
    char *capsules = read_doc("adding-a-capsule.md"), *plans = read_doc("plan.md");
    struct bench b;
    size_t i;

    (void)state;
    bench_begin(&b);
    for (i = 0; i < sizeof on_capsules / sizeof *on_capsules; i++)
        named_in(capsules, on_capsules[i]);
    for (i = 0; i < sizeof on_plans / sizeof *on_plans; i += 2) {
        char reason[64];

        snprintf(reason, sizeof reason, "%.*s", (int)strcspn(on_plans[i], "("), on_plans[i]);
        named_in(plans, reason);
    }
    for (i = 0; i < b.catalog->profiles.count; i++)
        named_in(plans, b.catalog->profiles.items[i].name);
    bench_end(&b);
    free(capsules);
    free(plans);
}

/* ---- facts for scripts */

static void print_contract(const struct tlmc_contract *c, bool planned)
{
    if (c->evidence == TLMC_EV_TESTS || c->evidence == TLMC_EV_FUZZ)
        printf("%s %s\n", planned ? "planned" : "needed", c->name);
}

static int print_evidence(void)
{
    struct bench b;
    unsigned i, k;
    int slot;

    bench_begin(&b);
    for (i = 0; i < b.catalog->capsules.count; i++)
        for (slot = 0; slot < TLMC_SLOT_COUNT; slot++)
            print_contract(&b.catalog->capsules.items[i].contracts[slot],
                           b.catalog->capsules.items[i].status == TLMC_PLANNED);
    for (i = 0; i < b.catalog->providers.count; i++) {
        const struct tlmc_provider *p = &b.catalog->providers.items[i];
        bool planned = true;

        for (k = 0; k < b.catalog->capsules.count; k++)
            planned &= b.catalog->capsules.items[k].provider != p->name ||
                       b.catalog->capsules.items[k].status == TLMC_PLANNED;
        for (k = 0; k < p->groups.count; k++)
            print_contract(&p->groups.items[k].contract, planned);
    }
    bench_end(&b);
    return 0;
}

static int print_symbols(void)
{
    struct bench b;
    unsigned i;
    int d;

    bench_begin(&b);
    for (i = 0; i < b.catalog->capsules.count; i++) {
        const struct tlmc_capsule *k = &b.catalog->capsules.items[i];
        char symbol[160];

        if (k->status == TLMC_PLANNED || k->abi == TLMC_ABI_NONE || k->op == TLMC_OP_CAST)
            continue; /* a cast's formula is named by both its types */
        for (d = 0; d < TLMC_DTYPE_COUNT; d++) {
            const bool once = !strstr(k->symbol, "_T_");

            if (once ? d == 0 : (k->dtypes >> d & 1) != 0)
                printf("%s %s %s %s\n", k->header,
                       tlmc_capsule_symbol(k, (enum tlmc_dtype)d, symbol), k->name,
                       tlmc_device_name(k->device));
        }
    }
    bench_end(&b);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_has_capsules),
        cmocka_unit_test(equal_arithmetic_on_both_devices),
        cmocka_unit_test(ids_agree_with_policies),
        cmocka_unit_test(foreign_arithmetic_is_said),
        cmocka_unit_test(contracts_align),
        cmocka_unit_test(gradients_are_promised),
        cmocka_unit_test(policies),
        cmocka_unit_test(devices),
        cmocka_unit_test(a_profile_without_capsules_is_refused),
        cmocka_unit_test(user_modules_come_first),
        cmocka_unit_test(a_module_replaces_its_namesake),
        cmocka_unit_test(docs_are_current),
    };

    if (argc == 2 && strcmp(argv[1], "--evidence") == 0)
        return print_evidence();
    if (argc == 2 && strcmp(argv[1], "--symbols") == 0)
        return print_symbols();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
