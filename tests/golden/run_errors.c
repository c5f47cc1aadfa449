/* Golden diagnostics.  In: the files of errors/.  The comment lines a file opens with say what it
   must be told, one a line, in order of report:

       # error[E0202] 4:10            a code and its place; text behind it must occur in the message
       # error[E0304] lib/a.tlm:2:7   a place in another file, by the end of its path
       # error[E0308] -               no place
       # define: n=3                  as the option -D

   Each file is a test of its own.  A run must give exactly these, no more and no fewer, and no
   module if one of them is an error. */
#define _POSIX_C_SOURCE 200809L
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "frontend.h"
#include "strbuf.h"
#include "vec.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER TLMC_SOURCE_DIR "/tests/golden/errors"

enum { MAX_CASES = 512, MAX_DEFINES = 8 };

struct wanted {
    const char *head; /* "error[E0202] 4:10" */
    const char *text; /* "" or a part of the message */
};

struct expectation {
    TLMC_VEC(struct wanted) rows;
    const char *defines[MAX_DEFINES + 1];
    unsigned define_count;
};

static const char *skip_blanks(const char *s)
{
    return s + strspn(s, " \t");
}

static void read_row(struct tlmc_arena *arena, struct expectation *e, const char *line)
{
    const bool marks = strncmp(line, "error[", 6) == 0 || strncmp(line, "warning[", 8) == 0;
    const size_t label = strcspn(line, " ");
    const char *place = skip_blanks(line + label);
    const size_t length = strcspn(place, " ");

    if (strncmp(line, "define: ", 8) == 0) {
        assert_true(e->define_count < MAX_DEFINES);
        e->defines[e->define_count++] = tlmc_arena_strdup(arena, line + 8);
    } else if (marks) {
        const struct wanted row = { tlmc_arena_strndup(arena, line,
                                                       (size_t)(place - line) + length),
                                    tlmc_arena_strdup(arena, skip_blanks(place + length)) };

        TLMC_PUSH(arena, &e->rows, row);
    }
}

static void read_expectation(struct tlmc_arena *arena, const char *path, struct expectation *e)
{
    FILE *file = fopen(path, "r");
    char line[512];

    assert_non_null(file);
    while (fgets(line, sizeof line, file) && line[0] == '#') {
        line[strcspn(line, "\r\n")] = '\0';
        read_row(arena, e, skip_blanks(line + 1));
    }
    fclose(file);
    if (e->rows.count == 0)
        fail_msg("%s expects nothing", path);
}

/* "error[E0202] 4:10", with the file's path first when it is not the case's own. */
static const char *head_of(struct tlmc_arena *arena, const struct tlmc_diags *diags,
                           const struct tlmc_diag *d, const char *own, const char *wanted)
{
    const char *severity = tlmc_diag_severity(d->code) == TLMC_ERROR ? "error" : "warning";
    struct tlmc_strbuf text = { 0 };
    const char *out;

    tlmc_strbuf_printf(&text, "%s[%s] ", severity, tlmc_diag_label(d->code));
    if (d->span.file == 0) {
        tlmc_strbuf_char(&text, '-');
    } else {
        const struct tlmc_line_place place = tlmc_span_place(diags->sources, d->span);
        const char *path = tlmc_sources_get(diags->sources, d->span.file)->path;
        const char *named = wanted ? wanted + strcspn(wanted, " ") : "";
        const size_t n = strcspn(skip_blanks(named), ":");

        if (strcmp(path, own) != 0 && strlen(path) > n)
            tlmc_strbuf_printf(&text, "%s:", path + strlen(path) - n);
        else if (strcmp(path, own) != 0)
            tlmc_strbuf_printf(&text, "%s:", path);
        tlmc_strbuf_printf(&text, "%u:%u", place.line, place.column);
    }
    out = tlmc_arena_strdup(arena, tlmc_strbuf_text(&text));
    tlmc_strbuf_free(&text);
    return out;
}

static void compare(struct tlmc_arena *arena, const struct expectation *e,
                    const struct tlmc_diags *diags, const char *path)
{
    const struct tlmc_diag *d = diags->first;
    bool same = diags->errors <= TLMC_MAX_ERRORS;

    for (unsigned i = 0; i < e->rows.count || d; i++) {
        const struct wanted *want = i < e->rows.count ? &e->rows.items[i] : NULL;
        const char *got = d ? head_of(arena, diags, d, path, want ? want->head : NULL) : NULL;

        if (!want || !got || strcmp(want->head, got) != 0 || !strstr(d->text, want->text)) {
            print_error("wanted %s %s\n   got %s %s\n", want ? want->head : "nothing",
                        want ? want->text : "", got ? got : "nothing", d ? d->text : "");
            same = false;
        }
        if (d)
            d = d->next;
    }
    if (!same)
        tlmc_diags_print(diags, stderr);
    assert_true(same);
}

static void run_case(void **state)
{
    const char *path = *state;
    struct tlmc_arena arena = { 0 };
    struct tlmc_symtab symbols;
    struct tlmc_sources sources;
    struct tlmc_diags diags;
    struct expectation e = { 0 };
    struct tlmc_frontend_options options = { 0 };
    struct tlmc_module *module;

    read_expectation(&arena, path, &e);
    options.defines = e.defines;
    tlmc_symtab_init(&symbols, &arena);
    tlmc_sources_init(&sources, &arena);
    tlmc_diags_init(&diags, &arena, &sources);
    module = tlmc_frontend(&arena, &symbols, &sources, path, &options, &diags);
    compare(&arena, &e, &diags, path);
    assert_true((module == NULL) == (diags.errors > 0));
    tlmc_arena_free(&arena);
}

/* Codes that no file can show, with the test that shows them. */
static bool has_test_elsewhere(const char *label)
{
    static const char *const elsewhere[] = {
        "E0105", /* unit/parser: a folder, a missing file */
        "E0605", /* programs/cli: said when planning */
        "E0605", /* golden/several_trained: the driver refuses to plan them */
        "E0801", /* unit/parser: 16 MiB of text */
    };

    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        if (strcmp(label, elsewhere[i]) == 0)
            return true;
    return label[1] == '0' &&
           label[2] == '9'; /* registries, profiles, plans: the planner's tests */
}

static char *case_paths[MAX_CASES];
static size_t case_count;

static void every_code_has_a_case(void **state)
{
    struct tlmc_arena arena = { 0 };
    struct expectation e = { 0 };
    bool all = true;

    (void)state;
    for (size_t i = 0; i < case_count; i++)
        read_expectation(&arena, case_paths[i], &e);
    for (int code = 0; code < TLMC_DIAG_CODES; code++) {
        const char *label = tlmc_diag_label((enum tlmc_diag_code)code);
        bool found = has_test_elsewhere(label);

        for (unsigned i = 0; i < e.rows.count && !found; i++)
            found = strstr(e.rows.items[i].head, label) != NULL;
        if (!found)
            print_error("%s has no case\n", label);
        all = all && found;
    }
    tlmc_arena_free(&arena);
    assert_true(all);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void find_cases(struct tlmc_arena *arena)
{
    DIR *folder = opendir(FOLDER);
    const struct dirent *entry;

    if (!folder)
        return;
    while ((entry = readdir(folder)) && case_count < MAX_CASES) {
        const size_t n = strlen(entry->d_name);
        char path[1024];

        if (n < 5 || strcmp(entry->d_name + n - 4, ".tlm") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", FOLDER, entry->d_name);
        case_paths[case_count++] = tlmc_arena_strdup(arena, path);
    }
    closedir(folder);
    qsort(case_paths, case_count, sizeof *case_paths, by_name);
}

int main(void)
{
    static struct CMUnitTest tests[MAX_CASES + 1];
    struct tlmc_arena arena = { 0 };
    int failed;

    find_cases(&arena);
    for (size_t i = 0; i < case_count; i++)
        tests[i] = (struct CMUnitTest){ strrchr(case_paths[i], '/') + 1, run_case, NULL, NULL,
                                        case_paths[i] };
    tests[case_count] =
        (struct CMUnitTest){ "every code has a case", every_code_has_a_case, NULL, NULL, NULL };
    failed = _cmocka_run_group_tests("golden/errors", tests, case_count + 1, NULL, NULL);
    tlmc_arena_free(&arena);
    return case_count == 0 || failed != 0;
}
