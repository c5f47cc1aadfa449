/* Does the suite cover the op table?  Walks ops.def and demands a row of cases.def with cases for
   every op that computes, cases for gradients for every op with a VJP rule, cases that build and
   that the interpreter evaluates, and a ctest of the right name for each (names from the list that
   CMake wrote when it registered them).

     test_meta NAMES.txt */
#include "cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Has a VJP rule that gradients flow through? */
static const bool has_vjp[TLMC_OP_COUNT] = {
#define UNARY(TAG, name, uses, attrs, policy) [TLMC_OP_##TAG] = true,
#define OP(TAG, name, family, min, max, results, attrs, shape, vjp, jvp, policy) \
    [TLMC_OP_##TAG] = sizeof(#vjp) != sizeof "none" && TLMC_##family != TLMC_UPDATE,
#include "ops.def"
};

static char *names;

static bool is_registered(const char *name)
{
    const size_t length = strlen(name);

    for (const char *at = names; (at = strstr(at, name)); at += length)
        if ((at == names || at[-1] == '\n') && at[length] == '\n')
            return true;
    return false;
}

static void want_name(const char *fmt, const char *op)
{
    char name[128];

    snprintf(name, sizeof name, fmt, op);
    if (!is_registered(name))
        fail_msg("there is no test '%s'", name);
}

static bool computes(enum tlmc_op op)
{
    return tlmc_op_info(op)->family != TLMC_LEAF;
}

static void test_every_op_has_tests(void **state)
{
    (void)state;
    for (int i = 0; i < TLMC_OP_COUNT; i++) {
        const enum tlmc_op op = (enum tlmc_op)i;

        if (!computes(op))
            continue;
        want_name("ops/%s/native_c", tlmc_op_info(op)->name);
        want_name("ops/%s/reference", tlmc_op_info(op)->name);
        if (has_vjp[op])
            want_name("gradients/%s", tlmc_op_info(op)->name);
    }
}

static void test_every_op_has_cases(void **state)
{
    (void)state;
    for (int i = 0; i < TLMC_OP_COUNT; i++) {
        const enum tlmc_op op = (enum tlmc_op)i;
        struct tlmc_arena arena = { 0 };
        const struct ops_list *list = ops_cases(op, &arena);
        uint32_t gradients = 0;

        for (uint32_t k = 0; k < list->count; k++)
            gradients += ops_is_gradient_case(&list->cases[k]);
        if (computes(op) && list->count == 0)
            fail_msg("cases.def has no case for %s", tlmc_op_info(op)->name);
        if (computes(op) && !*ops_row_of(op)->reason)
            fail_msg("the tolerance of %s has no reason", tlmc_op_info(op)->name);
        if (has_vjp[op] && gradients == 0)
            fail_msg("%s has no case for gradients", tlmc_op_info(op)->name);
        tlmc_arena_free(&arena);
    }
}

/* Builds, is evaluated, and is refused exactly where the case says so. */
static void test_cases_evaluate(void **state)
{
    (void)state;
    for (int i = 0; i < TLMC_OP_COUNT; i++) {
        struct tlmc_arena arena = { 0 };
        const struct ops_list *list = ops_cases((enum tlmc_op)i, &arena);

        for (uint32_t k = 0; k < list->count; k++) {
            struct ops_result r = ops_interpret(&list->cases[k], &arena, false, 1, 1);

            if (r.ok == list->cases[k].out_of_range)
                fail_msg("%s, case '%s': %s", tlmc_op_info((enum tlmc_op)i)->name,
                         list->cases[k].name, r.ok ? "not refused" : r.error);
            ops_result_free(&r);
        }
        tlmc_arena_free(&arena);
    }
}

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 16);
    size_t length;

    if (!file || !text)
        return NULL;
    length = fread(text, 1, (1 << 16) - 1, file);
    fclose(file);
    return length > 0 ? text : NULL;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_op_has_tests),
        cmocka_unit_test(test_every_op_has_cases),
        cmocka_unit_test(test_cases_evaluate),
    };
    int failed;

    if (argc != 2 || !(names = read_text(argv[1]))) {
        fprintf(stderr, "usage: test_meta NAMES.txt\n");
        return 2;
    }
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(names);
    return failed;
}
