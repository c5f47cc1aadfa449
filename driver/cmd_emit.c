/* tlmc emit: the program as source files in a folder; with --depfile also a rule that says which
   files it was made from.  Refuses, before it writes anything, to replace files that are not
   tlmc's. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "commands.h"
#include "output.h"
#include "pipeline.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the rule of --depfile */

/* What in a path no rule can hold, as make and ninja read it: NULL if there is nothing.  Where the
   two differ about a backslash, no way to write it serves both. */
static const char *not_in_a_rule(const char *path)
{
    for (const char *c = path; *c; c++) {
        if ((unsigned char)*c < ' ')
            return "a control character";
        if (*c == ';' || *c == '|')
            return "; or |";
        if (*c == '\\' && (c[1] == '#' || c[1] == ':' || !c[1]))
            return "a backslash before # or : or at its end";
    }
    return NULL;
}

/* A path as make and ninja read it in a rule: blanks, # and : with a backslash, those that stand
   before a blank twice, $ twice.  What only one of them reads stays as it is: = and, in the target,
   % mean something to make; * ? & ' " < > ^ end a name for ninja. */
static void put_path(struct tlmc_strbuf *out, const char *path)
{
    unsigned backslashes = 0; /* just before */

    for (; *path; path++) {
        for (; *path == ' ' && backslashes; backslashes--)
            tlmc_strbuf_char(out, '\\');
        if (*path == ' ' || *path == '#' || *path == ':')
            tlmc_strbuf_char(out, '\\');
        if (*path == '$')
            tlmc_strbuf_char(out, '$');
        tlmc_strbuf_char(out, *path);
        backslashes = *path == '\\' ? backslashes + 1 : 0;
    }
}

/* Who reads the rule may stand elsewhere. */
static const char *absolute(struct tlmc_arena *arena, const char *path)
{
    char here[PATH_MAX];

    if (path[0] == '/' || !getcwd(here, sizeof here))
        return path;
    return tlmc_arena_printf(arena, "%s/%s", strcmp(here, "/") == 0 ? "" : here, path);
}

static bool add_path(struct tlmc_compilation *c, struct tlmc_strbuf *rule, const char *path)
{
    const char *const whole = absolute(&c->arena, path);
    const char *const bad = not_in_a_rule(whole);

    if (bad) {
        fprintf(stderr, "tlmc: no rule of --depfile can name '%s': it has %s\n", whole, bad);
        return false;
    }
    put_path(rule, whole);
    return true;
}

/* "FOLDER/NAME.c: model.tlm block.tlm my_npu.capsules", all absolute, a line each: output.c knows a
   rule by this form. */
static bool make_rule(struct tlmc_compilation *c, const char *made, struct tlmc_strbuf *rule)
{
    bool ok = add_path(c, rule, made);

    tlmc_strbuf_char(rule, ':');
    for (uint32_t i = 1; ok && i < c->sources.count; i++) {
        if (c->sources.items[i].library)
            continue;
        tlmc_strbuf_add(rule, " \\\n  ");
        ok = add_path(c, rule, c->sources.items[i].path);
    }
    tlmc_strbuf_char(rule, '\n');
    return ok;
}

/* The longest part of `path` that is there, resolved ("": the current folder).  What is behind it.
 */
static const char *put_found(struct tlmc_strbuf *out, const char *path)
{
    struct tlmc_strbuf part = { 0 };
    size_t length = strlen(path);
    char found[PATH_MAX];

    tlmc_strbuf_add(&part, path);
    while (length && !realpath(part.text, found)) { /* "/" is always there */
        while (length && path[length - 1] != '/')
            length--;
        while (length > 1 && path[length - 1] == '/')
            length--;
        part.text[length] = '\0';
    }
    if (length || realpath(".", found))
        tlmc_strbuf_add(out, strcmp(found, "/") == 0 ? "" : found);
    tlmc_strbuf_free(&part);
    return path + length;
}

/* A path without links, . and ..; what is not there yet becomes folders, not links. */
static void put_resolved(struct tlmc_strbuf *out, const char *path)
{
    const char *rest = put_found(out, path);

    while (*rest) {
        const size_t n = strcspn(rest, "/");

        if (n == 2 && memcmp(rest, "..", 2) == 0)
            while (out->length && out->text[--out->length] != '/')
                ;
        else if (n > 1 || (n == 1 && *rest != '.'))
            tlmc_strbuf_printf(out, "/%.*s", (int)n, rest);
        rest += n + (rest[n] == '/');
    }
    if (out->text)
        out->text[out->length] = '\0';
}

static bool same_place(const char *a, const char *b)
{
    struct tlmc_strbuf one = { 0 }, other = { 0 };
    bool same;

    put_resolved(&one, a);
    put_resolved(&other, b);
    same = strcmp(tlmc_strbuf_text(&one), tlmc_strbuf_text(&other)) == 0;
    tlmc_strbuf_free(&one);
    tlmc_strbuf_free(&other);
    return same;
}

static bool same_file(const char *a, const char *b)
{
    struct stat one, other;

    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

/* Asked before anything is written: the rule is the last file, and would replace what was read or
   the sources beside it. */
static bool may_write_rule(struct tlmc_compilation *c, const struct tlmc_emission *emission,
                           const char *folder, const char *path)
{
    const char *is = NULL;

    for (uint32_t i = 1; !is && i < c->sources.count; i++)
        if (!c->sources.items[i].library && same_file(path, c->sources.items[i].path))
            is = "it is one of the files that were read";
    for (unsigned i = 0; !is && i < emission->count; i++)
        if (same_place(path,
                       tlmc_arena_printf(&c->arena, "%s/%s", folder, emission->files[i].name)))
            is = "it is one of the files that are emitted";
    if (is)
        fprintf(stderr, "tlmc: cannot write '%s': %s\n", path, is);
    return !is && tlmc_may_replace_rule(path);
}

/* ---- the command */

static int check_files(struct tlmc_compilation *c, const struct tlmc_emission *emission,
                       const char *folder, struct tlmc_strbuf *rule)
{
    const char *const depfile = tlmc_opt(c->options, TLMC_OPT_DEPFILE);

    for (unsigned i = 0; i < emission->count; i++)
        if (!tlmc_may_replace(folder, emission->files[i].name))
            return TLMC_EXIT_USAGE;
    if (depfile &&
        (!may_write_rule(c, emission, folder, depfile) ||
         !make_rule(c, tlmc_arena_printf(&c->arena, "%s/%s", folder, emission->files[0].name),
                    rule)))
        return TLMC_EXIT_USAGE;
    return TLMC_EXIT_OK;
}

static int write_files(const struct tlmc_compilation *c, const struct tlmc_emission *emission,
                       const char *folder, const struct tlmc_strbuf *rule)
{
    const char *const depfile = tlmc_opt(c->options, TLMC_OPT_DEPFILE);

    if (!tlmc_make_folder(folder))
        return TLMC_EXIT_USAGE;
    for (unsigned i = 0; i < emission->count; i++) {
        const struct tlmc_emitted *f = &emission->files[i];

        if (!tlmc_write_file(folder, f->name, tlmc_strbuf_text(&f->text), f->text.length))
            return TLMC_EXIT_USAGE;
        printf("%s/%s\n", folder, f->name);
    }
    if (depfile && !tlmc_write_file("", depfile, tlmc_strbuf_text(rule), rule->length))
        return TLMC_EXIT_USAGE;
    return TLMC_EXIT_OK;
}

int tlmc_cmd_emit(const struct tlmc_options *options)
{
    const char *folder = tlmc_opt(options, TLMC_OPT_OUTPUT);
    struct tlmc_emission emission = { 0 };
    struct tlmc_strbuf rule = { 0 };
    struct tlmc_compilation c;
    int status;

    if (!folder)
        folder = ".";
    tlmc_compilation_begin(&c, options);
    status = tlmc_stage_emit(&c,
                             tlmc_opt_given(options, TLMC_OPT_SINGLE_FILE) ? TLMC_EMIT_SINGLE
                                                                           : TLMC_EMIT_FOLDER,
                             &emission);
    if (!status)
        status = check_files(&c, &emission, folder, &rule);
    if (!status)
        status = write_files(&c, &emission, folder, &rule);
    tlmc_strbuf_free(&rule);
    tlmc_emission_free(&emission);
    return tlmc_compilation_end(&c, status);
}
