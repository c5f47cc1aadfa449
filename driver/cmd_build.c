/* tlmc build and tlmc run: emit single files, compile them with the system's C compiler, run the
   program. */
#define _GNU_SOURCE /* environ */
#include "commands.h"
#include "output.h"
#include "pipeline.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The exit status of a program run to its end; 2 when it cannot be started; 128 + n when signal n
   ended it. */
static int run_program(char *const *argv)
{
    pid_t pid;
    int state;
    const int failed = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);

    if (failed) {
        fprintf(stderr, "tlmc: cannot run '%s': %s\n", argv[0], strerror(failed));
        return TLMC_EXIT_USAGE;
    }
    while (waitpid(pid, &state, 0) < 0)
        if (errno != EINTR)
            return TLMC_EXIT_USAGE;
    if (WIFSIGNALED(state)) {
        fprintf(stderr, "tlmc: '%s' was ended by signal %d\n", argv[0], WTERMSIG(state));
        return 128 + WTERMSIG(state);
    }
    return WEXITSTATUS(state);
}

/* Compiler, flags and link flags are words separated by blanks; the shell is not involved. */
struct words {
    char *argv[128];
    unsigned count;
    char text[8192];
    size_t used;
};

static bool add_word(struct words *w, const char *word, size_t length)
{
    if (w->count + 1 >= sizeof w->argv / sizeof *w->argv || w->used + length + 1 > sizeof w->text) {
        fputs("tlmc: the compiler's command line is too long\n", stderr);
        return false;
    }
    w->argv[w->count++] = memcpy(w->text + w->used, word, length);
    w->text[w->used + length] = '\0';
    w->used += length + 1;
    return true;
}

static bool add_words(struct words *w, const char *text)
{
    while (*(text += strspn(text, " \t"))) {
        const size_t length = strcspn(text, " \t");

        if (!add_word(w, text, length))
            return false;
        text += length;
    }
    return true;
}

static bool add_path(struct words *w, const char *folder, const char *name)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) {
        fputs("tlmc: the path of a folder is too long\n", stderr);
        return false;
    }
    return add_word(w, path, strlen(path));
}

static int compile(const struct tlmc_compilation *c, const struct tlmc_emission *emission,
                   const char *folder, const char *program)
{
    const char *cc = tlmc_opt(c->options, TLMC_OPT_CC),
               *flags = tlmc_opt(c->options, TLMC_OPT_CFLAGS);
    struct words w = { 0 };
    bool ok;

    if (!cc)
        cc = getenv("CC");
    if (!cc || !*cc)
        cc = "cc";
    ok = add_words(&w, cc) && add_words(&w, "-std=c11 -ffp-contract=off -fno-math-errno") &&
         add_words(&w, flags ? flags : TLMC_DEFAULT_CFLAGS) && add_words(&w, "-o") &&
         add_word(&w, program, strlen(program));
    for (unsigned i = 0; ok && i < emission->count; i++) {
        const char *dot = strrchr(emission->files[i].name, '.');

        if (dot && strcmp(dot, ".c") == 0)
            ok = add_path(&w, folder, emission->files[i].name);
    }
    for (unsigned i = 0; ok && i < emission->link_count; i++)
        ok = add_words(&w, emission->links[i]);
    ok = ok && add_words(&w, "-lm");
    if (!ok)
        return TLMC_EXIT_USAGE;
    if (run_program(w.argv) != 0) {
        fprintf(stderr,
                "tlmc: '%s' did not compile the emitted program; see its messages above, and --cc, "
                "--cflags\n",
                cc);
        return TLMC_EXIT_USAGE;
    }
    return TLMC_EXIT_OK;
}

static int write_sources(const struct tlmc_emission *emission, const char *folder)
{
    if (!tlmc_make_folder(folder))
        return TLMC_EXIT_USAGE;
    for (unsigned i = 0; i < emission->count; i++) {
        const struct tlmc_emitted *f = &emission->files[i];

        if (!tlmc_write_file(folder, f->name, tlmc_strbuf_text(&f->text), f->text.length))
            return TLMC_EXIT_USAGE;
    }
    return TLMC_EXIT_OK;
}

/* Emits and compiles to `program`, or to a program in `temporary` when that is NULL (its path into
   `made`). */
static int build(const struct tlmc_options *options, const char *program, const char *temporary,
                 char *made, size_t size)
{
    const char *keep = tlmc_opt(options, TLMC_OPT_KEEP);
    struct tlmc_emission emission = { 0 };
    struct tlmc_compilation c;
    int status;

    tlmc_compilation_begin(&c, options);
    status = tlmc_stage_emit(&c, true, &emission);
    if (!status) {
        if (!program)
            snprintf(made, size, "%s/%s", temporary, "program");
        else
            snprintf(made, size, "%s", program);
        status = write_sources(&emission, keep ? keep : temporary);
    }
    if (!status)
        status = compile(&c, &emission, keep ? keep : temporary, made);
    tlmc_emission_free(&emission);
    return tlmc_compilation_end(&c, status);
}

/* "dir/model.tlm" -> "model" in the current folder */
static void default_program(const struct tlmc_options *options, char *out, size_t size)
{
    const char *path = options->file_count ? options->files[0] : "model";
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;

    snprintf(out, size, "%.*s", (int)strcspn(base, "."), base);
}

int tlmc_cmd_build(const struct tlmc_options *options)
{
    char temporary[PATH_MAX], made[PATH_MAX + 16], program[PATH_MAX];
    int status;

    if (tlmc_opt(options, TLMC_OPT_OUTPUT))
        snprintf(program, sizeof program, "%s", tlmc_opt(options, TLMC_OPT_OUTPUT));
    else
        default_program(options, program, sizeof program);
    if (!tlmc_temporary_folder(temporary, sizeof temporary))
        return TLMC_EXIT_USAGE;
    status = build(options, program, temporary, made, sizeof made);
    tlmc_remove_folder(temporary);
    if (!status)
        printf("%s\n", made);
    return status;
}

int tlmc_cmd_run(const struct tlmc_options *options)
{
    char temporary[PATH_MAX], made[PATH_MAX + 16];
    char **argv;
    int status, count = 0;

    if (!tlmc_temporary_folder(temporary, sizeof temporary))
        return TLMC_EXIT_USAGE;
    status = build(options, NULL, temporary, made, sizeof made);
    if (!status) {
        while (options->program_args && options->program_args[count])
            count++;
        argv = calloc((size_t)count + 2, sizeof *argv);
        if (!argv)
            tlmc_out_of_memory();
        argv[0] = made;
        if (count)
            memcpy(argv + 1, options->program_args, (size_t)count * sizeof *argv);
        status = run_program(argv);
        free(argv);
    }
    tlmc_remove_folder(temporary);
    return status;
}
