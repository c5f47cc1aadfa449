/* All cases of an op as an emitted CUDA program on the GPU of this machine: each case against the
   interpreter within the tolerance of cases.def and bit for bit against the arithmetic contract,
   as for native_c, with the captured graph and without.  Out-of-range indices are refused.

     run_ops OP|groups/KIND DIR COMMAND

   The op is emitted into DIR; `COMMAND DIR` compiles it to DIR/cases.so for the device. */
#include "compare.h"
#include "emitted.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct suite {
    struct tlmc_arena arena;
    struct ops_list *list;
    struct ops_program program;
};

struct one {
    struct suite *suite;
    uint32_t index;
};

static void run(const struct one *one, bool no_graph, const struct ops_contract *k)
{
    const struct ops_case *c = &one->suite->list->cases[one->index];
    const struct ops_machine machine = { .threads = 1, .no_graph = no_graph };
    struct ops_outcome o = ops_run(&one->suite->program, one->suite->list, one->index, machine);

    ops_check_status(c, &o);
    if (!c->out_of_range) {
        ops_check_value(c, &o);
        ops_check_bits(c, &o, k, no_graph ? "no graph" : "graph");
    }
    ops_outcome_free(&o);
}

static void test_case(void **state)
{
    const struct one *one = *state;
    const struct ops_case *c = &one->suite->list->cases[one->index];
    struct ops_contract k;

    if (!c->out_of_range)
        k = ops_contract_of(c);
    run(one, false, &k);
    run(one, true, &k);
    if (!c->out_of_range)
        ops_contract_free(&k);
}

static size_t list_tests(struct suite *suite, struct CMUnitTest *tests)
{
    struct one *all = TLMC_NEW_ARRAY(&suite->arena, struct one, suite->list->count + 1);

    for (uint32_t i = 0; i < suite->list->count; i++) {
        all[i] = (struct one){ suite, i };
        tests[i] = (struct CMUnitTest){ .name = suite->list->cases[i].name,
                                        .test_func = test_case,
                                        .initial_state = &all[i] };
    }
    return suite->list->count;
}

static bool build(struct suite *suite, const char *dir, const char *command)
{
    char text[4096];

    if (!ops_program_emit(&suite->program, suite->list, "cases", "checked_cuda", dir))
        return false;
    if (snprintf(text, sizeof text, "%s '%s'", command, dir) >= (int)sizeof text ||
        system(text) != 0) {
        fprintf(stderr, "failed: %s '%s'\n", command, dir);
        return false;
    }
    snprintf(text, sizeof text, "%s/cases.so", dir);
    return ops_program_load(&suite->program, suite->list, text);
}

int main(int argc, char **argv)
{
    static struct suite suite;
    static struct CMUnitTest tests[OPS_MAX_CASES];
    enum tlmc_op op;
    int failed = 1;

    if (argc == 4 && strncmp(argv[1], "groups/", 7) == 0)
        suite.list = ops_group_cases(argv[1] + 7, &suite.arena);
    else if (argc == 4 && (op = tlmc_op_find(argv[1])) != TLMC_OP_COUNT)
        suite.list = ops_cases(op, &suite.arena);
    if (!suite.list) {
        fprintf(stderr, "usage: run_ops OP|groups/KIND DIR COMMAND\n");
        return 2;
    }
    if (build(&suite, argv[2], argv[3]))
        failed = _cmocka_run_group_tests(argv[1], tests, list_tests(&suite, tests), NULL, NULL);
    ops_program_close(&suite.program);
    tlmc_arena_free(&suite.arena);
    return failed != 0;
}
