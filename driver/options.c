/* getopt_long over the rows of options.def and commands.def; help is printed from the same rows.
   Refusals and exit statuses: options.h. */
#define _GNU_SOURCE /* getopt_long */
#include "options.h"

#include "bug.h"
#include "commands.h"
#include "emit.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { ARGUMENT_NONE, ARGUMENT_NAME, ARGUMENT_PATH, ARGUMENT_PAIR, ARGUMENT_TEXT };

struct row {
    const char *name;
    int letter;
    const char *argument;
    enum kind kind;
    bool many;
    const char *commands, *help;
};

static const struct row rows[TLMC_OPT_COUNT] = {
#define OPTION(TAG, name, letter, argument, kind, many, commands, help) \
    { name, letter, argument, ARGUMENT_##kind, many, commands, help },
#include "options.def"
};

static const struct command {
    char letter;
    const char *name, *arguments, *help;
    tlmc_command_fn *run;
} commands[] = {
#define COMMAND(letter, name, arguments, help) { letter, #name, arguments, help, tlmc_cmd_##name },
#include "commands.def"
};

enum { COMMAND_COUNT = sizeof commands / sizeof *commands, LONG_BASE = 1000 };

static void print_usage(FILE *out)
{
    fputs("usage: tlmc COMMAND [OPTIONS] MODEL.tlm\n\n"
          "An ahead-of-time compiler for neural networks: .tlm in, reviewable C or CUDA out.\n\n"
          "commands:\n",
          out);
    for (int i = 0; i < COMMAND_COUNT; i++)
        fprintf(out, "  %-9s %s\n", commands[i].name, commands[i].help);
    fputs(
        "\ntlmc COMMAND --help lists the options of a command; tlmc --version prints the version.\n"
        "exit status: 0 accepted, 1 input rejected, 2 usage or environment, 3 plan not accepted\n",
        out);
}

static void print_command_help(const struct command *command)
{
    printf("usage: tlmc %s [OPTIONS] %s\n\n%s\n\noptions:\n", command->name, command->arguments,
           command->help);
    for (int i = 0; i < TLMC_OPT_COUNT; i++) {
        char head[64];

        if (!strchr(rows[i].commands, command->letter))
            continue;
        snprintf(head, sizeof head, "%s--%s%s%s",
                 rows[i].letter ? (char[]){ '-', (char)rows[i].letter, ',', ' ', 0 } : "    ",
                 rows[i].name, rows[i].argument ? " " : "",
                 rows[i].argument ? rows[i].argument : "");
        printf("  %-30s %s\n", head, rows[i].help);
    }
}

static const struct command *find_command(const char *name)
{
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static void *must(void *memory)
{
    if (!memory)
        tlmc_out_of_memory();
    return memory;
}

static void push(const char ***list, unsigned *count, const char *value)
{
    *list = must(realloc(*list, (*count + 2) * sizeof **list));
    (*list)[(*count)++] = value;
    (*list)[*count] = NULL;
}

/* The options of one command as getopt_long wants them. */
static void fill_tables(const struct command *command, struct option *longs, char *shorts)
{
    int n = 0;

    *shorts++ = ':'; /* a missing argument is told apart from an unknown option */
    for (int i = 0; i < TLMC_OPT_COUNT; i++) {
        if (!strchr(rows[i].commands, command->letter))
            continue;
        longs[n++] =
            (struct option){ rows[i].name, rows[i].argument ? required_argument : no_argument, NULL,
                             LONG_BASE + i };
        if (rows[i].letter) {
            *shorts++ = (char)rows[i].letter;
            if (rows[i].argument)
                *shorts++ = ':';
        }
    }
    longs[n] = (struct option){ 0 };
    *shorts = '\0';
}

static int option_of(int code, const struct command *command)
{
    if (code >= LONG_BASE)
        return code - LONG_BASE;
    for (int i = 0; i < TLMC_OPT_COUNT; i++)
        if (rows[i].letter == code && strchr(rows[i].commands, command->letter))
            return i;
    return -1;
}

/* Is this what the option takes?  `apart`: it is a word of its own, which might be the next option
   where the argument was forgotten. */
static bool check_argument(const struct command *command, const struct row *row, const char *text,
                           bool apart)
{
    const char *path = row->kind == ARGUMENT_PATH ? text : NULL;

    if (apart && row->kind != ARGUMENT_TEXT && text[0] == '-' && text[1] != '\0') {
        fprintf(stderr,
                "tlmc %s: option '--%s' needs an argument, which '%s' is not: --%s=%s if it is\n",
                command->name, row->name, text, row->name, text);
        return false;
    }
    if (row->kind == ARGUMENT_PAIR && strchr(text, '='))
        path = strchr(text, '=') + 1;
    if (path && !*path) {
        fprintf(stderr, "tlmc %s: --%s '%s': no file or folder is named\n", command->name,
                row->name, text);
        return false;
    }
    return true;
}

static bool parse_flags(struct tlmc_options *options, const struct command *command, int argc,
                        char **argv)
{
    struct option longs[TLMC_OPT_COUNT + 1];
    char shorts[3 * TLMC_OPT_COUNT + 2];
    int code;

    fill_tables(command, longs, shorts);
    opterr = 0;
    optind = 1;
    while ((code = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
        const int at = option_of(code, command);

        if (code == ':' || at < 0) {
            fprintf(stderr,
                    code == ':' ? "tlmc %s: option '%s' needs an argument\n"
                                : "tlmc %s: unknown option '%s'; see tlmc %s --help\n",
                    command->name, argv[optind - 1], command->name);
            return false;
        }
        if (options->counts[at] && !rows[at].many) {
            fprintf(stderr, "tlmc %s: --%s is given twice\n", command->name, rows[at].name);
            return false;
        }
        if (optarg && !check_argument(command, &rows[at], optarg, optarg == argv[optind - 1]))
            return false;
        push(&options->values[at], &options->counts[at], optarg ? optarg : "");
    }
    for (int i = optind; i < argc; i++)
        push(&options->files, &options->file_count, argv[i]);
    return true;
}

static int split_program_args(struct tlmc_options *options, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0) {
            options->program_args = argv + i + 1;
            argv[i] = NULL;
            return i;
        }
    }
    return argc;
}

bool tlmc_options_parse(struct tlmc_options *options, int argc, char **argv, int *status)
{
    const struct command *command;

    *options = (struct tlmc_options){ 0 };
    *status = 2;
    if (argc < 2) {
        print_usage(stderr);
        return false;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_usage(stdout);
        *status = 0;
        return false;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("tlmc " TLMC_VERSION "\nCUDA toolkit: " TLMC_CUDA_TOOLKIT);
        *status = 0;
        return false;
    }
    command = find_command(argv[1]);
    if (!command) {
        fprintf(stderr, "tlmc: unknown command '%s'\n", argv[1]);
        print_usage(stderr);
        return false;
    }
    options->command = command->name;
    options->run = command->run;
    argc = split_program_args(options, argc - 1, argv + 1);
    if (!parse_flags(options, command, argc, argv + 1))
        return false;
    if (tlmc_opt_given(options, TLMC_OPT_HELP)) {
        print_command_help(command);
        *status = 0;
        return false;
    }
    if (options->program_args && command->letter != 'R') {
        fprintf(stderr, "tlmc %s: only run takes arguments after --\n", command->name);
        return false;
    }
    return true;
}

void tlmc_options_free(struct tlmc_options *options)
{
    for (int i = 0; i < TLMC_OPT_COUNT; i++)
        free(options->values[i]);
    free(options->files);
}

bool tlmc_opt_given(const struct tlmc_options *options, enum tlmc_option option)
{
    return options->counts[option] > 0;
}

const char *tlmc_opt(const struct tlmc_options *options, enum tlmc_option option)
{
    return options->counts[option] ? options->values[option][0] : NULL;
}

const char *const *tlmc_opt_list(const struct tlmc_options *options, enum tlmc_option option)
{
    return options->values[option];
}
