/* ops/<op>/native_cuda, groups/<kind>/native_cuda: all cases of an op as an emitted CUDA program,
   executed on this machine by every layer that the build has.  Each case against the interpreter
   within the tolerance of cases.def and bit for bit against the arithmetic contract (exact.c),
   which is what native_c is compared with; no layer may report anything, nothing may stay
   allocated. Out-of-range indices are refused with the message of the same program for the CPU.

     run_cuda OP|groups/KIND DIR [layer]        layer: plain, checked, ptx; all without it

   Every case runs in every layer and in each of its schedules. */
#include "compare.h"
#include "cuda.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_TESTS = (2 + OPS_LAYERS + OPS_PTX_ARCHS) * OPS_MAX_CASES };

/* The first two differ in everything. */
static const struct ops_how plain_runs[] = {
    { "in-order", 0, false }, { "reversed", 1, true },  { "random:11", 2, false },
    { "random:12", 0, true }, { "reversed", 2, false }, { "in-order", 1, true },
};
/* The checker sees a race in whatever order the threads go. */
static const struct ops_how checked_runs[] = { { "in-order", 0, false }, { "random:13", 3, true } };
static const struct ops_how ptx_runs[] = { { "in-order", 0, false }, { "random:14", 4, true } };

struct suite {
    struct tlmc_arena arena;
    struct ops_list *list;
    struct ops_program emitted, cpu; /* the steps; for messages, where there is one */
    struct ops_cuda layers[OPS_LAYERS];
};

struct one {
    struct suite *suite;
    uint32_t index;
    unsigned arch;
};

static const struct ops_case *case_of(const struct one *one)
{
    return &one->suite->list->cases[one->index];
}

/* ---- one run and what it must be */

static void check_message(const struct one *one, const struct ops_outcome *o)
{
    struct ops_outcome cpu = ops_run(&one->suite->cpu, one->suite->list, one->index,
                                     (struct ops_machine){ .threads = 1 });

    assert_int_equal(cpu.status, TLM_ERR_INDEX);
    assert_string_equal(o->error, cpu.error);
    ops_outcome_free(&cpu);
}

static void run(const struct one *one, enum ops_layer layer, struct ops_how how,
                const struct ops_contract *k)
{
    const struct ops_case *c = case_of(one);
    const char *report;
    struct ops_outcome o =
        ops_cuda_run(&one->suite->layers[layer], one->suite->list, one->index, how, &report);
    char text[80];

    snprintf(text, sizeof text, "%s, %s, defer %u", how.schedule,
             how.no_graph ? "no graph" : "graph", (unsigned)how.defer);
    if (report)
        fail_msg("%s: %s", text, report);
    ops_check_status(c, &o);
    if (c->out_of_range) {
        check_message(one, &o);
    } else {
        ops_check_value(c, &o);
        ops_check_bits(c, &o, k, text);
    }
    ops_outcome_free(&o);
}

static void run_all(const struct one *one, enum ops_layer layer, const struct ops_how *runs,
                    size_t count)
{
    const struct ops_case *c = case_of(one);
    struct ops_contract k;

    if (!c->out_of_range)
        k = ops_contract_of(c);
    for (size_t i = 0; i < count; i++)
        run(one, layer, runs[i], &k);
    if (!c->out_of_range)
        ops_contract_free(&k);
}

/* ---- the layers */

static void test_plain(void **state)
{
    run_all(*state, OPS_LAYER_PLAIN, plain_runs, sizeof plain_runs / sizeof *plain_runs);
}

static void test_checked(void **state)
{
    run_all(*state, OPS_LAYER_CHECKED, checked_runs, sizeof checked_runs / sizeof *checked_runs);
}

static void test_ptx(void **state)
{
    const struct one *one = *state;

    one->suite->layers[OPS_LAYER_PTX].host.capability((int)one->arch);
    run_all(one, OPS_LAYER_PTX, ptx_runs, sizeof ptx_runs / sizeof *ptx_runs);
}

/* Composed cases: fused as far as the case says. */
static void test_steps(void **state)
{
    const struct one *one = *state;
    const struct ops_case *c = case_of(one);

    assert_int_equal(one->suite->emitted.steps[one->index], c->launches ? c->launches : c->steps);
}

static void test_layer_missing(void **state)
{
    (void)state;
    skip();
}

/* ---- the list of tests */

static void add(struct suite *suite, struct CMUnitTest *tests, size_t *count, struct one one,
                const char *what, CMUnitTestFunction fn)
{
    struct one *copy = TLMC_NEW(&suite->arena, struct one);
    char name[200];

    *copy = one;
    snprintf(name, sizeof name, "%s: %s", what, suite->list->cases[one.index].name);
    tests[(*count)++] = (struct CMUnitTest){ .name = tlmc_arena_strdup(&suite->arena, name),
                                             .test_func = fn,
                                             .initial_state = copy };
}

static size_t list_tests(struct suite *suite, struct CMUnitTest *tests)
{
    size_t count = 0;

    for (uint32_t i = 0; i < suite->list->count; i++) {
        const struct one one = { suite, i, 0 };

        add(suite, tests, &count, one, "plain", test_plain);
        if (suite->list->cases[i].steps > 0)
            add(suite, tests, &count, one, "steps", test_steps);
        if (suite->layers[OPS_LAYER_CHECKED].program.handle)
            add(suite, tests, &count, one, "checked", test_checked);
        for (uint32_t a = 0; a < OPS_PTX_ARCHS && suite->layers[OPS_LAYER_PTX].program.handle;
             a++) {
            char what[32];

            snprintf(what, sizeof what, "compute_%u", ops_ptx_archs[a]);
            add(suite, tests, &count, (struct one){ suite, i, ops_ptx_archs[a] }, what, test_ptx);
        }
    }
    for (int layer = 0; layer < OPS_LAYERS; layer++)
        if (*ops_layer_missing((enum ops_layer)layer))
            tests[count++] = (struct CMUnitTest){ .name = ops_layer_missing((enum ops_layer)layer),
                                                  .test_func = test_layer_missing };
    return count;
}

/* ---- all of it */

static bool needs_messages(const struct ops_list *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->cases[i].out_of_range)
            return true;
    return false;
}

/* `only`: that layer beside the plain one; NULL: all. */
static bool open_all(struct suite *suite, const char *dir, const char *only)
{
    static const char *const names[OPS_LAYERS] = { "plain", "checked", "ptx" };
    char cpu[1024];

    if (!ops_cuda_emit(&suite->emitted, suite->list, dir))
        return false;
    for (int layer = 0; layer < OPS_LAYERS; layer++) {
        const bool wanted = !only || layer == OPS_LAYER_PLAIN || strcmp(only, names[layer]) == 0;

        if (wanted && !*ops_layer_missing((enum ops_layer)layer) &&
            !ops_cuda_open(&suite->layers[layer], (enum ops_layer)layer, suite->list, dir))
            return false;
    }
    snprintf(cpu, sizeof cpu, "%s/cpu", dir);
    return !needs_messages(suite->list) ||
           ops_program_open(&suite->cpu, suite->list, "cases", "reference_cpu", cpu);
}

int main(int argc, char **argv)
{
    static struct suite suite;
    static struct CMUnitTest tests[MAX_TESTS];
    enum tlmc_op op;
    int failed = 1;

    if (argc >= 3 && argc <= 4 && strncmp(argv[1], "groups/", 7) == 0)
        suite.list = ops_group_cases(argv[1] + 7, &suite.arena);
    else if (argc >= 3 && argc <= 4 && (op = tlmc_op_find(argv[1])) != TLMC_OP_COUNT)
        suite.list = ops_cases(op, &suite.arena);
    if (!suite.list) {
        fprintf(stderr, "usage: run_cuda OP|groups/KIND DIR [plain|checked|ptx]\n");
        return 2;
    }
    if (open_all(&suite, argv[2], argc == 4 ? argv[3] : NULL))
        failed = _cmocka_run_group_tests(argv[1], tests, list_tests(&suite, tests), NULL, NULL);
    ops_program_close(&suite.cpu);
    tlmc_arena_free(&suite.arena);
    return failed != 0;
}
