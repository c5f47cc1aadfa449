/* Emitted programs, whole.  Each gen/NAME.tlm (and the quickstart example) is emitted under the
   profile of its row or its first line and compared with gen/NAME.c.golden; UPDATE_GOLDEN=1 writes
   those files.  Emitting again, and from another folder, must give the same bytes. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "emit.h"
#include "frontend.h"
#include "pass.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct program {
    const char *path; /* below the source folder */
    const char *name;
    const char *files[4];  /* endings compared in full */
    const char *profile;   /* NULL: of the first line */
    const char *directory; /* of the golden files, below gen */
};

static const struct program programs[] = {
    { "examples/quickstart_mlp/quickstart_mlp.tlm",
      "quickstart_mlp",
      { ".c", ".h", "_main.c" },
      NULL,
      "" },
    { "examples/quickstart_mlp/quickstart_mlp.tlm",
      "quickstart_mlp",
      { ".c", ".cu", ".h" },
      "checked_cuda",
      "cuda/" },
    { "tests/golden/gen/calls.tlm", "calls", { ".c" }, NULL, "" },
    { "tests/golden/gen/fused.tlm", "fused", { ".c" }, NULL, "" },
    { "tests/golden/gen/calls.tlm", "calls", { ".c", ".cu" }, "checked_cuda", "cuda/" },
    { "tests/golden/gen/fused.tlm", "fused", { ".cu" }, "checked_cuda", "cuda/" },
    { "tests/golden/gen/groups.tlm", "groups", { ".cu" }, "checked_cuda", "cuda/" },
    { "tests/golden/gen/reference.tlm", "reference", { ".c" }, NULL, "" },
};

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    long size;

    if (!file)
        return NULL;
    if (fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0 &&
        fseek(file, 0, SEEK_SET) == 0) {
        text = calloc((size_t)size + 1, 1);
        if (text && fread(text, 1, (size_t)size, file) != (size_t)size) {
            free(text);
            text = NULL;
        }
    }
    fclose(file);
    return text;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* The row's, or "# profile: NAME" in the first line, or the default. */
static const char *profile_of(const struct program *program, const char *source)
{
    static char name[64];

    if (program->profile)
        return program->profile;
    if (sscanf(source, "# profile: %63[a-z_]", name) != 1)
        return NULL;
    return name;
}

struct compiled {
    struct tlmc_arena arena;
    struct tlmc_emission emission;
};

static void compile(const char *path, const char *profile, struct compiled *out)
{
    struct tlmc_symtab symbols;
    struct tlmc_sources sources;
    struct tlmc_diags diags;
    const struct tlmc_frontend_options front = { 0 };
    const struct tlmc_pass_options passes = { 0 };
    const struct tlmc_plan_options plan_options = { .profile = profile };
    const struct tlmc_emit_options emit = { .with_main = true, .version = "golden" };
    struct tlmc_module *module;
    struct tlmc_plan *plan = NULL;
    const tlmc_accepted_plan *accepted = NULL;

    *out = (struct compiled){ 0 };
    tlmc_symtab_init(&symbols, &out->arena);
    tlmc_sources_init(&sources, &out->arena);
    tlmc_diags_init(&diags, &out->arena, &sources);
    module = tlmc_frontend(&out->arena, &symbols, &sources, path, &front, &diags);
    if (module && tlmc_run_passes(module, &passes, &diags))
        plan = tlmc_plan_make(module, tlmc_catalog_new(&out->arena, &symbols, &diags),
                              &plan_options, &diags);
    if (plan)
        accepted = tlmc_plan_accept(plan, &diags);
    if (!accepted || !tlmc_emit_c(accepted, &emit, &out->emission, &diags)) {
        tlmc_diags_print(&diags, stderr);
        fail_msg("%s is not emitted", path);
    }
}

static void release(struct compiled *compiled)
{
    tlmc_emission_free(&compiled->emission);
    tlmc_arena_free(&compiled->arena);
}

static const char *text_of(const struct compiled *compiled, const char *name)
{
    for (unsigned i = 0; i < compiled->emission.count; i++)
        if (strcmp(compiled->emission.files[i].name, name) == 0)
            return tlmc_strbuf_text(&compiled->emission.files[i].text);
    fail_msg("no file %s is emitted", name);
    return NULL;
}

/* A copy without the plan's report, whose text has golden files of its own. */
static char *without_report(const char *text)
{
    static const char opening[] = "static const char backend_report[] =\n";
    const char *report = strstr(text, opening), *end = report ? strstr(report, ";\n") : NULL;
    char *copy = calloc(strlen(text) + 1, 1);

    assert_non_null(copy);
    if (!end) {
        strcpy(copy, text);
    } else {
        memcpy(copy, text, (size_t)(report - text) + sizeof opening - 1);
        strcat(copy, "    ...");
        strcat(copy, end);
    }
    return copy;
}

static void check_golden(const struct compiled *compiled, const char *directory, const char *file)
{
    char *text = without_report(text_of(compiled, file));
    char path[1024], *golden;

    snprintf(path, sizeof path, "%s/tests/golden/gen/%s%s.golden", TLMC_SOURCE_DIR, directory,
             file);
    if (getenv("UPDATE_GOLDEN")) {
        write_file(path, text);
        free(text);
        return;
    }
    golden = read_file(path);
    if (!golden)
        fail_msg("no golden file %s: run with UPDATE_GOLDEN=1", path);
    for (size_t i = 0, line = 1; text[i] || golden[i]; i++) {
        if (text[i] != golden[i])
            fail_msg("%s%s differs from its golden file in line %zu: run with UPDATE_GOLDEN=1 and "
                     "look at the difference",
                     directory, file, line);
        line += text[i] == '\n';
    }
    free(golden);
    free(text);
}

static void check_program(void **state)
{
    const struct program *program = *state;
    struct compiled compiled;
    char path[1024], name[128], *source;

    snprintf(path, sizeof path, "%s/%s", TLMC_SOURCE_DIR, program->path);
    source = read_file(path);
    assert_non_null(source);
    compile(path, profile_of(program, source), &compiled);
    for (unsigned i = 0; program->files[i]; i++) {
        snprintf(name, sizeof name, "%s%s", program->name, program->files[i]);
        check_golden(&compiled, program->directory, name);
    }
    release(&compiled);
    free(source);
}

/* The same text in another folder, and a second time here, gives the same bytes. */
static void check_same_bytes(void **state)
{
    const struct program *program = *state;
    struct compiled here, again, elsewhere;
    char folder[] = "gen_XXXXXX", path[1024], moved[1024], *source;

    snprintf(path, sizeof path, "%s/%s", TLMC_SOURCE_DIR, program->path);
    source = read_file(path);
    assert_non_null(source);
    assert_non_null(mkdtemp(folder));
    snprintf(moved, sizeof moved, "%s/%s.tlm", folder, program->name);
    write_file(moved, source);
    compile(path, profile_of(program, source), &here);
    compile(path, profile_of(program, source), &again);
    compile(moved, profile_of(program, source), &elsewhere);
    remove(moved);
    rmdir(folder);
    for (unsigned i = 0; i < here.emission.count; i++) {
        const char *name = here.emission.files[i].name, *text = text_of(&here, name);

        assert_string_equal(text, text_of(&again, name));
        assert_string_equal(text, text_of(&elsewhere, name));
        assert_null(strstr(text, TLMC_SOURCE_DIR));
    }
    release(&here);
    release(&again);
    release(&elsewhere);
    free(source);
}

int main(void)
{
    enum { COUNT = sizeof programs / sizeof *programs };
    struct CMUnitTest tests[2 * COUNT];
    char names[2 * COUNT][80];

    for (unsigned i = 0; i < COUNT; i++) {
        snprintf(names[2 * i], sizeof names[0], "%s%s", programs[i].directory, programs[i].name);
        snprintf(names[2 * i + 1], sizeof names[0], "%s%s: same bytes", programs[i].directory,
                 programs[i].name);
        tests[2 * i] = (struct CMUnitTest){ names[2 * i], check_program, NULL, NULL,
                                            (void *)(uintptr_t)&programs[i] };
        tests[2 * i + 1] = (struct CMUnitTest){ names[2 * i + 1], check_same_bytes, NULL, NULL,
                                                (void *)(uintptr_t)&programs[i] };
    }
    return _cmocka_run_group_tests("gen", tests, 2 * COUNT, NULL, NULL);
}
