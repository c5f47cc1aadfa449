/* ops/<op>/<provider>: all cases of an op as emitted code.  Every case against the interpreter
   within the tolerance of cases.def; for native-c also bit for bit against the arithmetic contract
   (exact.c), at every level this processor has and cut into 1, 2 and 5 pieces.  Out-of-range
   indices are refused, and nothing is written past a block.

     run_values OP native_c|reference DIR
     run_values groups/KIND native_c DIR        composed cases: several ops, and in how many steps
   they run */
#include "emitted.h"
#include "exact.h"

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
    const struct ops_machine machine = { cpu, threads };
    const struct ops_outcome o =
        ops_run(&one->suite->program, one->suite->list, one->index, machine);

    if (o.broken)
        fail_msg("the run wrote past the end of the %s block", o.broken);
    if (case_of(one)->out_of_range) {
        assert_int_equal(o.status, TLM_ERR_INDEX);
        assert_non_null(strstr(o.error, "out of range"));
    } else if (o.status != TLM_OK) {
        fail_msg("status %d: %s", o.status, o.error);
    }
    return o;
}

/* ---- against the interpreter */

static void compare_values(const struct ops_case *c, const struct ops_outcome *o,
                           const struct ops_result *want, const struct ops_result *absolute)
{
    const bool pointwise = tlmc_op_info(c->row->op)->family == TLMC_POINTWISE;
    struct ops_scales scales = { .operands = want->inputs,
                                 .elementwise = pointwise && !c->compose };
    char text[200];

    for (uint32_t i = 0; i < want->built.result_count; i++) {
        scales.absolute = absolute ? &absolute->values[want->built.results[i]] : NULL;
        if (!ops_near(c->row, o->results[i].data.any, &want->values[want->built.results[i]],
                      &scales, text))
            fail_msg("result %u, %s", i, text);
    }
    for (uint32_t i = 0; i < c->operand_count; i++) {
        if (c->operands[i].role == OPS_STATE &&
            !ops_near(c->row, o->states[i].data.any, &want->states[i], &scales, text))
            fail_msg("state %u, %s", i, text);
    }
}

static void test_value(void **state)
{
    const struct one *one = *state;
    const struct ops_case *c = case_of(one);
    struct tlmc_arena arena = { 0 };
    struct ops_outcome o = run(one, one->cpu, 1);
    struct ops_result want = ops_interpret(c, &arena, false, OPS_SEED, 0), absolute;

    assert_true(want.ok != c->out_of_range);
    if (!c->out_of_range && c->row->scale == OPS_ABSOLUTE) {
        absolute = ops_interpret(c, &arena, true, OPS_SEED, 0);
        compare_values(c, &o, &want, &absolute);
        ops_result_free(&absolute);
    } else if (!c->out_of_range) {
        compare_values(c, &o, &want, NULL);
    }
    ops_result_free(&want);
    ops_outcome_free(&o);
    tlmc_arena_free(&arena);
}

/* ---- against the written arithmetic */

struct contract {
    struct ops_buffer operands[OPS_MAX_OPERANDS], results[OPS_MAX_RESULTS];
};

static struct contract contract_of(const struct ops_case *c)
{
    struct tlmc_arena arena = { 0 };
    const struct ops_graph built = ops_build(c, &arena, 0);
    struct contract k = { .operands = { { .data = { NULL } } } };

    for (uint32_t i = 0; i < c->operand_count; i++) {
        struct tlmc_tensor data;

        if (c->operands[i].role == OPS_ABSENT)
            continue;
        data = ops_data(c, i);
        k.operands[i] = ops_buffer_of(&data);
        tlmc_tensor_free(&data, 1);
    }
    for (uint32_t i = 0; i < built.result_count; i++)
        k.results[i] = ops_buffer_new(tlmc_value_type(built.graph, built.results[i]));
    ops_exact_graph(c, &built, k.operands, k.results);
    tlmc_arena_free(&arena);
    return k;
}

static void compare_bits(const struct ops_case *c, const struct ops_outcome *o,
                         const struct contract *k, uint32_t threads)
{
    char text[200];

    for (uint32_t i = 0; i < OPS_MAX_RESULTS && o->results[i].data.any; i++)
        if (!ops_same_bits(&k->results[i].type, o->results[i].data.any, k->results[i].data.any,
                           text))
            fail_msg("%u pieces, result %u, %s", threads, i, text);
    for (uint32_t i = 0; i < c->operand_count; i++)
        if (c->operands[i].role == OPS_STATE &&
            !ops_same_bits(&k->operands[i].type, o->states[i].data.any, k->operands[i].data.any,
                           text))
            fail_msg("%u pieces, state %u, %s", threads, i, text);
}

static void test_bits(void **state)
{
    const struct one *one = *state;
    const struct ops_case *c = case_of(one);
    struct contract k = contract_of(c);

    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        struct ops_outcome o = run(one, one->cpu, pieces[i]);

        compare_bits(c, &o, &k, pieces[i]);
        ops_outcome_free(&o);
    }
    ops_buffer_free(k.operands, OPS_MAX_OPERANDS);
    ops_buffer_free(k.results, OPS_MAX_RESULTS);
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
    struct ops_outcome o = ops_run(&suite->program, suite->list, 0, (struct ops_machine){ cpu, 1 });
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
