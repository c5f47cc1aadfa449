/* In: names of C files and a compiler's command.  Out: objects, a program.  Refuses command lines
   beyond a fixed length. */
#include "compile.h"

#include "bug.h"

#include <stdio.h>
#include <string.h>

struct words {
    char *argv[512];
    unsigned count;
    char text[1 << 17]; /* room for every object's path, each as long as a path can be */
    size_t used;
    bool full;
};

/* One word: two texts and the beginning of a third. */
static void add_parts(struct words *w, const char *a, const char *b, const char *c, size_t length)
{
    const size_t size = strlen(a) + strlen(b) + length + 1;
    char *word = w->text + w->used;

    if (w->count + 1 >= sizeof w->argv / sizeof *w->argv || w->used + size > sizeof w->text) {
        w->full = true;
        return;
    }
    snprintf(word, size, "%s%s%.*s", a, b, (int)length, c);
    w->argv[w->count++] = word;
    w->used += size;
}

static void add_word(struct words *w, const char *word)
{
    add_parts(w, "", "", word, strlen(word));
}

static void add_words(struct words *w, const char *text)
{
    while (*(text += strspn(text, " \t"))) {
        const size_t length = strcspn(text, " \t");

        add_parts(w, "", "", text, length);
        text += length;
    }
}

static void add_path(struct words *w, const char *folder, const char *name)
{
    add_parts(w, folder, *folder ? "/" : "", name, strlen(name));
}

/* The object of a file: its name with an o at the end. */
static void add_object(struct words *w, const struct tlmc_compiler *compiler, const char *name)
{
    add_path(w, compiler->objects, name);
    if (!w->full)
        w->text[w->used - 2] = 'o';
}

static void begin(struct words *w, const struct tlmc_compiler *compiler)
{
    add_words(w, compiler->command);
    add_words(w, "-std=c11 -ffp-contract=off -fno-math-errno");
    add_words(w, compiler->flags);
}

static bool fits(const struct words *w)
{
    if (w->full)
        fputs("tlmc: the compiler's command line is too long\n", stderr);
    return !w->full;
}

bool tlmc_compile_file(struct tlmc_compiler *compiler, struct tlmc_jobs *jobs, const char *name)
{
    struct words w = { 0 };

    begin(&w, compiler);
    if (compiler->headers)
        add_parts(&w, "-I", "", compiler->headers, strlen(compiler->headers));
    for (const char *const *folder = compiler->includes; folder && *folder; folder++)
        add_parts(&w, "-I", "", *folder, strlen(*folder));
    add_words(&w, "-c");
    add_path(&w, compiler->sources, name);
    add_words(&w, "-o");
    add_object(&w, compiler, name);
    if (!fits(&w) || compiler->count == TLMC_OBJECTS)
        return false;
    compiler->files[compiler->count++] = name;
    tlmc_jobs_command(jobs, compiler->command, w.argv);
    return true;
}

void tlmc_compile_object(struct tlmc_compiler *compiler, const char *name)
{
    TLMC_CHECK(compiler->count < TLMC_OBJECTS);
    compiler->files[compiler->count++] = name;
}

bool tlmc_compile_link(const struct tlmc_compiler *compiler, const char *program,
                       const char *const *folders, const char *const *links,
                       const char *const *libraries)
{
    struct words w = { 0 };

    begin(&w, compiler);
    add_words(&w, "-o");
    add_word(&w, program);
    for (unsigned i = 0; i < compiler->count; i++)
        add_object(&w, compiler, compiler->files[i]);
    for (; *folders; folders++)
        add_word(&w, *folders);
    for (; *links; links++)
        add_words(&w, *links);
    for (; *libraries; libraries++)
        add_word(&w, *libraries);
    return fits(&w) && tlmc_run_program(NULL, w.argv) == 0;
}
