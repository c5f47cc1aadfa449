/* tlmc emit: the program as source files in a folder; with --depfile also a rule that says which
   files it was made from.  Refuses, before it writes anything, to replace files that are not
   tlmc's. */
#define _POSIX_C_SOURCE 200809L
#include "commands.h"
#include "output.h"
#include "pipeline.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A path as a rule of make has it: blanks and # with a backslash, $ twice. */
static void put_path(struct tlmc_strbuf *out, const char *path)
{
    char here[PATH_MAX];

    if (path[0] != '/' && getcwd(here, sizeof here)) {
        put_path(out, here);
        tlmc_strbuf_char(out, '/');
    }
    for (; *path; path++) {
        if (*path == ' ' || *path == '#')
            tlmc_strbuf_char(out, '\\');
        if (*path == '$')
            tlmc_strbuf_char(out, '$');
        tlmc_strbuf_char(out, *path);
    }
}

/* "FOLDER/NAME.c: model.tlm block.tlm my_npu.capsules", all absolute: who reads it may stand
   elsewhere. */
static bool write_depfile(const struct tlmc_compilation *c, const char *path, const char *folder,
                          const char *made)
{
    const char *slash = strrchr(path, '/');
    const char *where =
        slash ? tlmc_arena_printf(c->sources.arena, "%.*s", (int)(slash - path), path) : ".";
    struct tlmc_strbuf rule = { 0 };
    bool ok;

    put_path(&rule, tlmc_arena_printf(c->sources.arena, "%s/%s", folder, made));
    tlmc_strbuf_char(&rule, ':');
    for (uint32_t i = 1; i < c->sources.count; i++) {
        if (c->sources.items[i].library)
            continue;
        tlmc_strbuf_add(&rule, " \\\n  ");
        put_path(&rule, c->sources.items[i].path);
    }
    tlmc_strbuf_char(&rule, '\n');
    ok = tlmc_write_file(where, slash ? slash + 1 : path, tlmc_strbuf_text(&rule), rule.length);
    tlmc_strbuf_free(&rule);
    return ok;
}

int tlmc_cmd_emit(const struct tlmc_options *options)
{
    const char *folder = tlmc_opt(options, TLMC_OPT_OUTPUT);
    struct tlmc_emission emission = { 0 };
    struct tlmc_compilation c;
    int status;

    if (!folder)
        folder = ".";
    tlmc_compilation_begin(&c, options);
    status = tlmc_stage_emit(&c,
                             tlmc_opt_given(options, TLMC_OPT_SINGLE_FILE) ? TLMC_EMIT_SINGLE
                                                                           : TLMC_EMIT_FOLDER,
                             &emission);
    for (unsigned i = 0; !status && i < emission.count; i++)
        if (!tlmc_may_replace(folder, emission.files[i].name))
            status = TLMC_EXIT_USAGE;
    if (!status && !tlmc_make_folder(folder))
        status = TLMC_EXIT_USAGE;
    for (unsigned i = 0; !status && i < emission.count; i++) {
        const struct tlmc_emitted *f = &emission.files[i];

        if (!tlmc_write_file(folder, f->name, tlmc_strbuf_text(&f->text), f->text.length))
            status = TLMC_EXIT_USAGE;
        else
            printf("%s/%s\n", folder, f->name);
    }
    if (!status && tlmc_opt_given(options, TLMC_OPT_DEPFILE) &&
        !write_depfile(&c, tlmc_opt(options, TLMC_OPT_DEPFILE), folder, emission.files[0].name))
        status = TLMC_EXIT_USAGE;
    tlmc_emission_free(&emission);
    return tlmc_compilation_end(&c, status);
}
