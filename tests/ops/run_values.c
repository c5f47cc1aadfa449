/* ops/<op>/<provider>: all cases of an op as emitted code.  Every case against the interpreter
   within the tolerance of cases.def; for native-c also bit for bit against the arithmetic contract
   (exact.c), at every level this processor has and cut into 1, 2 and 5 pieces.  Out-of-range
   indices are refused, and nothing is written past a block.

     run_values OP native_c|reference DIR
     run_values groups/KIND native_c DIR        composed cases: several ops, and in how many steps
   they run */
#include "compare.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct suite {
    struct tlmc_arena arena;
    struct ops_program program;
    struct ops_list *list;
};

struct one {
    struct suite *suite;
    uint32_t index;
    tlm_cpu cpu;
};

static const struct {
    tlm_cpu cpu;
    const char *name;
} levels[] = { { TLM_CPU_BASE, "base" }, { TLM_CPU_AVX2, "avx2" }, { TLM_CPU_AVX512, "avx512" } };

static const uint32_t pieces[] = { 1, 2, 5 };

enum { MAX_TESTS = 5 * OPS_MAX_CASES + 4 };

static const struct ops_case *case_of(const struct one *one)
{
    return &one->suite->list->cases[one->index];
}

static struct ops_outcome run(const struct one *one, tlm_cpu cpu, uint32_t threads)
{
    const struct ops_machine machine = { .cpu = cpu, .threads = threads };
    const struct ops_outcome o =
        ops_run(&one->suite->program, one->suite->list, one->index, machine);

    ops_check_status(case_of(one), &o);
    return o;
}

static void test_value(void **state)
{
    const struct one *one = *state;
    struct ops_outcome o = run(one, one->cpu, 1);

    ops_check_value(case_of(one), &o);
    ops_outcome_free(&o);
}

static void test_bits(void **state)
{
    const struct one *one = *state;
    const struct ops_case *c = case_of(one);
    struct ops_contract k = ops_contract_of(c);

    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        struct ops_outcome o = run(one, one->cpu, pieces[i]);
        char how[32];

        snprintf(how, sizeof how, "%u pieces", pieces[i]);
        ops_check_bits(c, &o, &k, how);
        ops_outcome_free(&o);
    }
    ops_contract_free(&k);
}

/* Composed cases: fused as far as the case says. */
static void test_steps(void **state)
{
    const struct one *one = *state;

    assert_int_equal(one->suite->program.steps[one->index], case_of(one)->steps);
}

static void test_level_missing(void **state)
{
    (void)state;
    skip();
}

/* ---- the list of tests */

static bool has_level(const struct suite *suite, tlm_cpu cpu)
{
    struct ops_outcome o =
        ops_run(&suite->program, suite->list, 0, (struct ops_machine){ .cpu = cpu, .threads = 1 });
    const bool has = o.status != TLM_ERR_CPU;

    ops_outcome_free(&o);
    return has;
}

static void add(struct suite *suite, struct CMUnitTest *tests, size_t *count, uint32_t index,
                tlm_cpu cpu, const char *what, const char *level, CMUnitTestFunction fn)
{
    struct one *one = TLMC_NEW(&suite->arena, struct one);
    char name[200];

    snprintf(name, sizeof name, "%s%s: %s", what, level, suite->list->cases[index].name);
    *one = (struct one){ suite, index, cpu };
    tests[(*count)++] = (struct CMUnitTest){ .name = tlmc_arena_strdup(&suite->arena, name),
                                             .test_func = fn,
                                             .initial_state = one };
}

static size_t list_tests(struct suite *suite, bool native, struct CMUnitTest *tests)
{
    size_t count = 0;

    for (uint32_t i = 0; i < suite->list->count; i++) {
        add(suite, tests, &count, i, TLM_CPU_AUTO, "value", "", test_value);
        if (suite->list->cases[i].steps > 0)
            add(suite, tests, &count, i, TLM_CPU_AUTO, "steps", "", test_steps);
    }
    for (size_t l = 0; native && l < sizeof levels / sizeof *levels; l++) {
        if (!has_level(suite, levels[l].cpu)) {
            add(suite, tests, &count, 0, levels[l].cpu, "this processor has no ", levels[l].name,
                test_level_missing);
            continue;
        }
        for (uint32_t i = 0; i < suite->list->count; i++)
            if (!suite->list->cases[i].out_of_range)
                add(suite, tests, &count, i, levels[l].cpu, "bits ", levels[l].name, test_bits);
    }
    return count;
}

int main(int argc, char **argv)
{
    struct suite suite = { .list = NULL };
    struct CMUnitTest tests[MAX_TESTS];
    enum tlmc_op op;
    bool native;
    int failed = 1;

    if (argc == 4 && strncmp(argv[1], "groups/", 7) == 0)
        suite.list = ops_group_cases(argv[1] + 7, &suite.arena);
    else if (argc == 4 && (op = tlmc_op_find(argv[1])) != TLMC_OP_COUNT)
        suite.list = ops_cases(op, &suite.arena);
    if (!suite.list) {
        fprintf(stderr, "usage: run_values OP|groups/KIND native_c|reference DIR\n");
        return 2;
    }
    native = strcmp(argv[2], "native_c") == 0;
    if (ops_program_open(&suite.program, suite.list, "cases",
                         native ? "checked_cpu" : "reference_cpu", argv[3]))
        failed =
            _cmocka_run_group_tests(argv[1], tests, list_tests(&suite, native, tests), NULL, NULL);
    ops_program_close(&suite.program);
    tlmc_arena_free(&suite.arena);
    return failed != 0;
}
