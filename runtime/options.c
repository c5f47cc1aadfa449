/* One table of flags: parsing, --help and the check for duplicates read it. */
#include "options.h"

#include "alloc.h"
#include "status.h"
#include "tlm_pool.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum options_kind {
    OPTIONS_SWITCH,   /* bool */
    OPTIONS_TEXT,     /* const char * */
    OPTIONS_COUNT,    /* int64_t from 0 */
    OPTIONS_POSITIVE, /* int64_t from 1 */
    OPTIONS_SEED,     /* uint64_t */
    OPTIONS_REAL,     /* double from 0 */
    OPTIONS_CPU,
    OPTIONS_CHOICE,  /* a value or none */
    OPTIONS_WORDS,   /* one or more values, up to the next flag */
    OPTIONS_REPEATED /* as WORDS, and may stand several times */
};

static const struct options_row {
    const char *name;
    enum options_kind kind;
    size_t place; /* in tlm_flags */
    const char *value, *help;
} options_table[] = {
#define OPTIONS_ROW(name, kind, field, value, help) \
    { name, kind, offsetof(struct tlm_flags, field), value, help },
    OPTIONS_ROW("train", OPTIONS_SWITCH, train, NULL,
                "train (the default of a model that can be trained)")
        OPTIONS_ROW(
            "infer", OPTIONS_CHOICE, infer, "[ENTRY]",
            "run the model on --input, write --output") OPTIONS_ROW("generate", OPTIONS_SWITCH,
                                                                    generate, NULL,
                                                                    "write text after --prompt")
            OPTIONS_ROW(
                "input", OPTIONS_REPEATED, inputs, "NAME=FILE.npy...",
                "values of an input") OPTIONS_ROW("output", OPTIONS_REPEATED, outputs,
                                                  "NAME=FILE.npy...",
                                                  "where an output goes; without any they are "
                                                  "printed") OPTIONS_ROW("prompt", OPTIONS_TEXT,
                                                                         prompt, "TEXT",
                                                                         "what generation starts "
                                                                         "from")
                OPTIONS_ROW(
                    "tokens", OPTIONS_COUNT, tokens, "N",
                    "how many tokens to generate") OPTIONS_ROW("temperature", OPTIONS_REAL,
                                                               temperature, "T",
                                                               "0: always the likeliest token")
                    OPTIONS_ROW(
                        "top-k", OPTIONS_COUNT, top_k, "K",
                        "draw among the K likeliest; 0: all") OPTIONS_ROW("steps", OPTIONS_COUNT,
                                                                          steps, "N",
                                                                          "steps of the whole run, "
                                                                          "those before --resume "
                                                                          "included")
                        OPTIONS_ROW("seed", OPTIONS_SEED, seed, "N",
                                    "of initial values, shuffling and draws (default: the model's, "
                                    "else 0)") OPTIONS_ROW("threads", OPTIONS_POSITIVE, threads,
                                                           "N",
                                                           "threads of the calculation (default: "
                                                           "one a processor)")
                            OPTIONS_ROW("cpu", OPTIONS_CPU, cpu, "LEVEL",
                                        "auto, base, avx2 or avx512: instructions to use")
                                OPTIONS_ROW("data", OPTIONS_WORDS, data, "FILE...",
                                            "in place of the files of the data clauses, in their "
                                            "order") OPTIONS_ROW("load", OPTIONS_TEXT, load, "FILE",
                                                                 "start from these weights")
                                    OPTIONS_ROW(
                                        "pretrained", OPTIONS_CHOICE, pretrained, "[FILE]",
                                        "start from foreign weights, by the pretrained clause")
                                        OPTIONS_ROW(
                                            "save", OPTIONS_TEXT, save, "FILE",
                                            "write weights and run at the end, and as save_every "
                                            "says") OPTIONS_ROW("resume", OPTIONS_TEXT, resume,
                                                                "FILE",
                                                                "go on with a saved run, up to "
                                                                "--steps in all")
                                            OPTIONS_ROW("log", OPTIONS_TEXT, log, "FILE.jsonl",
                                                        "write what happens as JSON lines")
                                                OPTIONS_ROW(
                                                    "show-backend", OPTIONS_SWITCH, show_backend,
                                                    NULL, "print which code computes which number")
                                                    OPTIONS_ROW("show-memory", OPTIONS_SWITCH,
                                                                show_memory, NULL,
                                                                "print the memory plan")
                                                        OPTIONS_ROW(
                                                            "check-gradients", OPTIONS_SWITCH,
                                                            check_gradients, NULL,
                                                            "compare gradients with differences of "
                                                            "the loss, then stop")
                                                            OPTIONS_ROW(
                                                                "profile", OPTIONS_SWITCH, profile,
                                                                NULL,
                                                                "print the time of each phase")
                                                                OPTIONS_ROW(
                                                                    "no-graph", OPTIONS_SWITCH,
                                                                    no_graph, NULL,
                                                                    "launch kernels one by one "
                                                                    "(CUDA; no effect on a CPU)")
                                                                    OPTIONS_ROW("help",
                                                                                OPTIONS_SWITCH,
                                                                                help, NULL,
                                                                                "print this")
#undef OPTIONS_ROW
};

enum { OPTIONS_ROWS = sizeof options_table / sizeof options_table[0] };

static int options_find(const char *name, size_t length)
{
    for (int i = 0; i < OPTIONS_ROWS; i++)
        if (strlen(options_table[i].name) == length &&
            memcmp(options_table[i].name, name, length) == 0)
            return i;
    return -1;
}

/* Decimal digits alone, at most `most`. */
static bool options_integer(const char *text, uint64_t most, uint64_t *out)
{
    if (!*text)
        return false;
    for (*out = 0; *text; text++) {
        const uint64_t digit = (uint64_t)(*text - '0');

        if (!isdigit((unsigned char)*text) || *out > (most - digit) / 10)
            return false;
        *out = *out * 10 + digit;
    }
    return *out <= most;
}

static bool options_real(const char *text, double *out)
{
    char *end;

    if (!isdigit((unsigned char)*text) && *text != '.')
        return false;
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        return false;
    *out = strtod(text, &end); /* the program never calls setlocale */
    return end != text && !*end && isfinite(*out);
}

static bool options_cpu(const char *text, tlm_cpu *out)
{
    static const struct {
        const char *name;
        tlm_cpu cpu;
    } options_levels[] = { { "auto", TLM_CPU_AUTO },
                           { "base", TLM_CPU_BASE },
                           { "avx2", TLM_CPU_AVX2 },
                           { "avx512", TLM_CPU_AVX512 } };

    for (size_t i = 0; i < sizeof options_levels / sizeof options_levels[0]; i++) {
        if (strcmp(text, options_levels[i].name) == 0) {
            *out = options_levels[i].cpu;
            return true;
        }
    }
    return false;
}

/* Stores one value at its place; false: malformed. */
static bool options_store(const struct options_row *row, struct tlm_flags *flags, const char *value)
{
    void *const place = (char *)flags + row->place;
    uint64_t integer = 0;

    switch (row->kind) {
    case OPTIONS_SWITCH: *(bool *)place = true; return true;
    case OPTIONS_TEXT:
        *(const char **)place = value;
        return *value != 0 || row->place == offsetof(struct tlm_flags, prompt);
    case OPTIONS_COUNT:
    case OPTIONS_POSITIVE:
        if (!options_integer(value, INT64_MAX, &integer) ||
            (row->kind == OPTIONS_POSITIVE && integer == 0))
            return false;
        *(int64_t *)place = (int64_t)integer;
        return true;
    case OPTIONS_SEED: flags->seed_given = true; return options_integer(value, UINT64_MAX, place);
    case OPTIONS_REAL: return options_real(value, place);
    case OPTIONS_CPU: return options_cpu(value, place);
    case OPTIONS_CHOICE: ((struct tlm_choice *)place)->value = value; return *value != 0;
    case OPTIONS_WORDS:
    case OPTIONS_REPEATED: {
        struct tlm_words *const words = place;

        words->at[words->count++] = value;
        return *value != 0;
    }
    }
    return false;
}

/* The flag at argv[*at] with its values; *at moves to the last word it took. */
static tlm_status options_take(struct tlm_flags *flags, const struct options_row *row, int argc,
                               char **argv, int *at, char *error)
{
    const char *const equals = strchr(argv[*at], '=');
    const bool wants = row->kind != OPTIONS_SWITCH && row->kind != OPTIONS_CHOICE;
    const bool several = row->kind == OPTIONS_WORDS || row->kind == OPTIONS_REPEATED;
    int taken = 0;

    if (equals) {
        if (row->kind == OPTIONS_SWITCH)
            return tlm_fail(error, TLM_ERR_ARGUMENT, "--%s takes no value", row->name);
        taken = 1;
        if (!options_store(row, flags, equals + 1))
            return tlm_fail(error, TLM_ERR_ARGUMENT, "--%s: '%s' is not a value for %s", row->name,
                            equals + 1, row->value);
    }
    if (row->kind == OPTIONS_SWITCH)
        options_store(row, flags, NULL);
    if (row->kind == OPTIONS_CHOICE)
        ((struct tlm_choice *)(void *)((char *)flags + row->place))->given = true;
    while (!equals && row->kind != OPTIONS_SWITCH && *at + 1 < argc &&
           strncmp(argv[*at + 1], "--", 2) != 0 && (taken == 0 || several)) {
        taken++;
        if (!options_store(row, flags, argv[++*at]))
            return tlm_fail(error, TLM_ERR_ARGUMENT, "--%s: '%s' is not a value for %s", row->name,
                            argv[*at], row->value);
    }
    if (wants && taken == 0)
        return tlm_fail(error, TLM_ERR_ARGUMENT, "--%s needs a value: %s", row->name, row->value);
    return TLM_OK;
}

tlm_status tlm_flags_parse(struct tlm_flags *flags, int argc, char **argv, char *error)
{
    bool seen[OPTIONS_ROWS] = { false };

    *flags = (struct tlm_flags){
        .steps = -1, .tokens = -1, .top_k = -1, .temperature = -1, .threads = -1
    };
    flags->inputs.at = tlm_alloc((size_t)argc, sizeof(char *));
    flags->outputs.at = tlm_alloc((size_t)argc, sizeof(char *));
    flags->data.at = tlm_alloc((size_t)argc, sizeof(char *));
    if (!flags->inputs.at || !flags->outputs.at || !flags->data.at)
        return tlm_fail(error, TLM_ERR_MEMORY, "no memory for the flags");
    for (int i = 1; i < argc; i++) {
        const char *const word = argv[i];
        const bool is_flag = strncmp(word, "--", 2) == 0;
        const int row = is_flag ? options_find(word + 2, strcspn(word + 2, "=")) : -1;
        tlm_status status;

        if (strcmp(word, "-h") == 0) {
            flags->help = true;
            continue;
        }
        if (row < 0)
            return tlm_fail(error, TLM_ERR_ARGUMENT,
                            is_flag ? "unknown flag '%s'" : "unexpected argument '%s'", word);
        if (seen[row] && options_table[row].kind != OPTIONS_REPEATED)
            return tlm_fail(error, TLM_ERR_ARGUMENT, "--%s: duplicate flag",
                            options_table[row].name);
        seen[row] = true;
        status = options_take(flags, &options_table[row], argc, argv, &i, error);
        if (status != TLM_OK)
            return status;
    }
    return TLM_OK;
}

void tlm_flags_free(struct tlm_flags *flags)
{
    free(flags->inputs.at);
    free(flags->outputs.at);
    free(flags->data.at);
    flags->inputs.at = flags->outputs.at = flags->data.at = NULL;
}

/* Is the program going to train?  Without a mode it does if it can, unless inputs are given. */
static bool options_trains(const struct tlm_flags *flags, const tlm_program *program)
{
    return flags->train || flags->check_gradients ||
           (program->train && !flags->infer.given && !flags->generate);
}

tlm_status tlm_flags_check(const struct tlm_flags *flags, const tlm_program *program, char *error)
{
    const bool trains = options_trains(flags, program);
    const struct {
        bool given, allowed;
        const char *flag, *needs;
    } rules[] = {
        { flags->train || flags->check_gradients, program->train != NULL, "training",
          "a model with a train clause" },
        { flags->infer.given, program->infer_count > 0, "--infer", "a model with outputs" },
        { flags->generate, program->generate != NULL, "--generate",
          "a model with a generate clause" },
        { flags->inputs.count > 0, flags->infer.given, "--input", "--infer" },
        { flags->outputs.count > 0, flags->infer.given, "--output", "--infer" },
        { flags->prompt != NULL, flags->generate, "--prompt", "--generate" },
        { flags->tokens >= 0, flags->generate, "--tokens", "--generate" },
        { flags->temperature >= 0, flags->generate, "--temperature", "--generate" },
        { flags->top_k >= 0, flags->generate, "--top-k", "--generate" },
        { flags->steps >= 0, trains, "--steps", "training" },
        { flags->data.count > 0, trains, "--data", "training" },
        { flags->resume != NULL, trains, "--resume", "training" },
        { flags->save != NULL, trains || flags->pretrained.given, "--save",
          "training or --pretrained" },
        { flags->log != NULL, trains, "--log", "training" },
        { flags->pretrained.given, program->pretrained || flags->pretrained.value, "--pretrained",
          "a file, or a model with a pretrained clause" },
    };

    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].given && !rules[i].allowed)
            return tlm_fail(error, TLM_ERR_ARGUMENT, "%s needs %s", rules[i].flag, rules[i].needs);
    if ((flags->load != NULL) + (flags->resume != NULL) + flags->pretrained.given > 1)
        return tlm_fail(error, TLM_ERR_ARGUMENT,
                        "--load, --resume and --pretrained exclude each other");
    if (flags->threads > TLM_MAX_THREADS)
        return tlm_fail(error, TLM_ERR_ARGUMENT, "--threads: at most %d", TLM_MAX_THREADS);
    if (program->train && flags->data.count > program->train->data_count)
        return tlm_fail(error, TLM_ERR_ARGUMENT,
                        "--data: %u files, but the model has %u data clauses",
                        (unsigned)flags->data.count, (unsigned)program->train->data_count);
    return TLM_OK;
}

void tlm_flags_help(const tlm_program *program, FILE *out)
{
    fprintf(out, "usage: %s [flags]\n", program->name);
    for (int i = 0; i < OPTIONS_ROWS; i++) {
        const struct options_row *const row = &options_table[i];
        const int width = fprintf(out, "  --%s%s%s", row->name, row->value ? " " : "",
                                  row->value ? row->value : "");

        fprintf(out, "%*s%s\n", width < 32 ? 32 - width : 2, "", row->help);
    }
    fprintf(out, "exit status: 0 done, 1 data or input rejected, 2 usage or environment, 3 device "
                 "refused\n");
}
