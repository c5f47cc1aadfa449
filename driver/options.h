/* The command line.  In: argv.  Out: the command, its options (rows of options.def) and its file
   arguments. Refuses unknown and misplaced options, a single option given twice, missing arguments,
   empty paths: exit 2, one message. */
#ifndef TLMC_DRIVER_OPTIONS_H
#define TLMC_DRIVER_OPTIONS_H

#include <stdbool.h>

enum tlmc_option {
#define OPTION(TAG, name, letter, argument, kind, many, commands, help) TLMC_OPT_##TAG,
#include "options.def"
    TLMC_OPT_COUNT
};

struct tlmc_options;
typedef int tlmc_command_fn(const struct tlmc_options *options);

struct tlmc_options {
    const char *command;
    tlmc_command_fn *run;
    const char **values[TLMC_OPT_COUNT]; /* NULL-terminated lists; flags hold "" */
    unsigned counts[TLMC_OPT_COUNT];
    const char **files; /* NULL-terminated */
    unsigned file_count;
    char **program_args; /* after "--": NULL-terminated, or NULL */
};

/* 0: go on with options->run; else *status is the exit status (help was printed, or the line is
   wrong). */
bool tlmc_options_parse(struct tlmc_options *options, int argc, char **argv, int *status);
void tlmc_options_free(struct tlmc_options *options);
bool tlmc_opt_given(const struct tlmc_options *options, enum tlmc_option option);
const char *tlmc_opt(const struct tlmc_options *options,
                     enum tlmc_option option); /* NULL: not given */
const char *const *tlmc_opt_list(const struct tlmc_options *options,
                                 enum tlmc_option option); /* NULL: not given */

#endif
