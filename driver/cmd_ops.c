/* tlmc ops: the op table, as a list or as the page docs/ops.md. */
#include "commands.h"
#include "pipeline.h"

#include "op.h"

#include <stdio.h>
#include <string.h>

/* What each op computes, rounding point by rounding point: rows of ir/exact.def. */
static const char *const exact[TLMC_OP_COUNT] = {
#define EXACT(TAG, text) [TLMC_OP_##TAG] = text,
#include "exact.def"
};

static void print_arity(const struct tlmc_op_info *op)
{
    if (op->max_inputs < 0)
        printf("%d or more operands", op->min_inputs);
    else if (op->min_inputs != op->max_inputs)
        printf("%d to %d operands", op->min_inputs, op->max_inputs);
    else
        printf("%d operand%s", op->min_inputs, op->min_inputs == 1 ? "" : "s");
    if (op->results != 1)
        printf(", %d results", op->results);
}

static void print_line(enum tlmc_op op)
{
    const struct tlmc_op_info *info = tlmc_op_info(op);

    printf("%-24s %-10s ", info->name, tlmc_family_name(info->family));
    print_arity(info);
    if (*info->attrs)
        printf("; attributes %s", info->attrs);
    if (*info->policy)
        printf("; %s", info->policy);
    putchar('\n');
}

static void print_markdown(void)
{
    puts("# The ops\n\n<!-- Made by `tlmc ops --markdown` from ir/ops.def and ir/exact.def; do not "
         "edit. -->\n\n"
         "One section an op. \"exact\" is what native kernels compute, with every rounding point "
         "(docs/numerics.md explains chain512 and tree64); a capsule with another arithmetic id "
         "says so in the plan.");
    for (int family = 0; family < TLMC_FAMILY_COUNT; family++) {
        printf("\n## %s\n", tlmc_family_name((enum tlmc_family)family));
        for (int op = 0; op < TLMC_OP_COUNT; op++) {
            const struct tlmc_op_info *info = tlmc_op_info((enum tlmc_op)op);

            if ((int)info->family != family)
                continue;
            printf("\n### %s\n\n", info->name);
            print_arity(info);
            printf("%s%s.\n", *info->attrs ? "; attributes: " : "", info->attrs);
            if (*info->policy)
                printf("\nPolicy: %s.\n", info->policy);
            if (exact[op])
                printf("\nExact: %s.\n", exact[op]);
        }
    }
}

int tlmc_cmd_ops(const struct tlmc_options *options)
{
    if (tlmc_opt_given(options, TLMC_OPT_MARKDOWN)) {
        print_markdown();
        return TLMC_EXIT_OK;
    }
    for (unsigned i = 0; i < options->file_count; i++) {
        const enum tlmc_op op = tlmc_op_find(options->files[i]);

        if (op == TLMC_OP_COUNT) {
            fprintf(stderr, "tlmc ops: no op '%s'%s\n", options->files[i],
                    tlmc_op_is_planned(options->files[i])
                        ? "; it is planned, this version does not have it"
                        : "");
            return TLMC_EXIT_INPUT;
        }
        print_line(op);
        if (exact[op])
            printf("    exact: %s\n", exact[op]);
    }
    for (int op = 0; !options->file_count && op < TLMC_OP_COUNT; op++)
        print_line((enum tlmc_op)op);
    return TLMC_EXIT_OK;
}
