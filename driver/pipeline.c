/* The stages of a compilation, each running those before it: front end and passes, catalog, plan,
   acceptance and emission.  A stage refuses wrong options (exit 2), rejected input (1) and plans
   that cannot be had (3). */
#include "pipeline.h"

#include "frontend.h"
#include "pass.h"
#include "strbuf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *tlmc_find_program_text(const char *name)
{
    for (const struct tlmc_program_text *t = tlmc_program_texts; t->name; t++)
        if (strcmp(t->name, name) == 0)
            return t->text;
    return NULL;
}

void tlmc_compilation_begin(struct tlmc_compilation *c, const struct tlmc_options *options)
{
    *c = (struct tlmc_compilation){ .options = options };
    tlmc_symtab_init(&c->symbols, &c->arena);
    tlmc_sources_init(&c->sources, &c->arena);
    tlmc_diags_init(&c->diags, &c->arena, &c->sources);
}

int tlmc_compilation_end(struct tlmc_compilation *c, int status)
{
    tlmc_diags_print(&c->diags, stderr);
    if (status == TLMC_EXIT_OK && c->diags.errors)
        status = TLMC_EXIT_INPUT;
    tlmc_arena_free(&c->arena);
    return status;
}

static int need_one_file(const struct tlmc_options *o)
{
    if (o->file_count == 1)
        return TLMC_EXIT_OK;
    fprintf(stderr, "tlmc %s: one model file is needed, %u are given\n", o->command, o->file_count);
    return TLMC_EXIT_USAGE;
}

static int check_pass_name(const struct tlmc_options *o, const char *name, bool optional)
{
    if (!optional && strcmp(name, "lower") == 0)
        return TLMC_EXIT_OK;
    for (const struct tlmc_pass *p = tlmc_passes; p->name; p++)
        if (strcmp(p->name, name) == 0 && (p->optional || !optional))
            return TLMC_EXIT_OK;
    fprintf(stderr, "tlmc %s: no %spass '%s'; known:", o->command, optional ? "optional " : "",
            name);
    for (const struct tlmc_pass *p = tlmc_passes; p->name; p++)
        if (p->optional || !optional)
            fprintf(stderr, " %s", p->name);
    fputc('\n', stderr);
    return TLMC_EXIT_USAGE;
}

static int check_pass_options(const struct tlmc_options *o)
{
    const char *const *off = tlmc_opt_list(o, TLMC_OPT_NO_PASS);
    int status = TLMC_EXIT_OK;

    if (tlmc_opt_given(o, TLMC_OPT_DUMP_AFTER))
        status = check_pass_name(o, tlmc_opt(o, TLMC_OPT_DUMP_AFTER), false);
    if (!status && tlmc_opt_given(o, TLMC_OPT_STOP_AFTER))
        status = check_pass_name(o, tlmc_opt(o, TLMC_OPT_STOP_AFTER), false);
    for (; !status && off && *off; off++)
        status = check_pass_name(o, *off, true);
    return status;
}

static bool run_passes(struct tlmc_compilation *c)
{
    const struct tlmc_options *o = c->options;
    struct tlmc_strbuf dump = { 0 };
    const struct tlmc_pass_options passes = { .dump_after = tlmc_opt(o, TLMC_OPT_DUMP_AFTER),
                                              .stop_after = tlmc_opt(o, TLMC_OPT_STOP_AFTER),
                                              .off = tlmc_opt_list(o, TLMC_OPT_NO_PASS),
                                              .dump = &dump };
    bool ok = true;

    if (passes.dump_after && strcmp(passes.dump_after, "lower") == 0)
        tlmc_module_print(c->module, &dump);
    if (!passes.stop_after || strcmp(passes.stop_after, "lower") != 0)
        ok = tlmc_run_passes(c->module, &passes, &c->diags);
    fputs(tlmc_strbuf_text(&dump), stdout);
    tlmc_strbuf_free(&dump);
    return ok;
}

int tlmc_stage_module(struct tlmc_compilation *c)
{
    const struct tlmc_options *o = c->options;
    const struct tlmc_frontend_options front = { .defines = tlmc_opt_list(o, TLMC_OPT_DEFINE),
                                                 .includes = tlmc_opt_list(o, TLMC_OPT_INCLUDE) };
    int status = need_one_file(o);

    if (!status)
        status = check_pass_options(o);
    if (status)
        return status;
    c->module = tlmc_frontend(&c->arena, &c->symbols, &c->sources, o->files[0], &front, &c->diags);
    if (!c->module || !run_passes(c))
        return TLMC_EXIT_INPUT;
    return TLMC_EXIT_OK;
}

/* "dir/my_npu.capsules" -> "user:my_npu" */
static const char *module_name(struct tlmc_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    const size_t length = strcspn(base, ".");
    char *name = tlmc_arena_alloc(arena, length + 6);

    memcpy(name, "user:", 5);
    memcpy(name + 5, base, length);
    return name;
}

int tlmc_stage_catalog(struct tlmc_compilation *c)
{
    const char *const *extra = tlmc_opt_list(c->options, TLMC_OPT_CAPSULES);

    c->catalog = tlmc_catalog_new(&c->arena, &c->symbols, &c->diags);
    for (; c->catalog && extra && *extra; extra++) {
        const uint32_t file =
            tlmc_read_source(&c->sources, *extra, (struct tlmc_span){ 0 }, &c->diags);

        if (!file || !tlmc_catalog_add(c->catalog, module_name(&c->arena, *extra), file, &c->diags))
            return TLMC_EXIT_INPUT;
    }
    return c->catalog && !c->diags.errors ? TLMC_EXIT_OK : TLMC_EXIT_INPUT;
}

/* Plans are made for one trained entry; the language allows several, this version does not. */
static int check_trained_entries(struct tlmc_compilation *c)
{
    unsigned trained = 0;

    for (unsigned i = 0; i < c->module->forms.count; i++)
        trained += c->module->forms.items[i].mode == TLMC_TRAIN;
    if (trained <= 1)
        return TLMC_EXIT_OK;
    tlmc_report(&c->diags, TLMC_E_SEVERAL_TRAINED, c->module->train.span,
                "%u entries are trained; this version plans and emits one", trained);
    return TLMC_EXIT_INPUT;
}

int tlmc_stage_plan(struct tlmc_compilation *c)
{
    const struct tlmc_options *o = c->options;
    const struct tlmc_plan_options plan = { .device = tlmc_opt(o, TLMC_OPT_DEVICE),
                                            .profile = tlmc_opt(o, TLMC_OPT_PROFILE),
                                            .only_entries = tlmc_opt_list(o, TLMC_OPT_ENTRY),
                                            .deterministic =
                                                tlmc_opt_given(o, TLMC_OPT_DETERMINISTIC) };
    int status = tlmc_stage_module(c);

    if (!status)
        status = tlmc_stage_catalog(c);
    if (!status && !plan.only_entries)
        status = check_trained_entries(c);
    if (status)
        return status;
    c->plan = tlmc_plan_make(c->module, c->catalog, &plan, &c->diags);
    return c->plan ? TLMC_EXIT_OK : TLMC_EXIT_PLAN;
}

int tlmc_stage_emit(struct tlmc_compilation *c, enum tlmc_emit_form form, struct tlmc_emission *out)
{
    const struct tlmc_emit_options emit = { .single_file = form != TLMC_EMIT_FOLDER,
                                            .shell_apart = form == TLMC_EMIT_LINKED,
                                            .with_main = true,
                                            .version = TLMC_VERSION,
                                            .includes = tlmc_opt_list(c->options, TLMC_OPT_INCLUDE),
                                            .passes_off =
                                                tlmc_opt_list(c->options, TLMC_OPT_NO_PASS),
                                            .source = tlmc_find_program_text };
    const tlmc_accepted_plan *accepted;
    int status = tlmc_stage_plan(c);

    if (status)
        return status;
    accepted = tlmc_plan_accept(c->plan, &c->diags);
    if (!accepted)
        return TLMC_EXIT_PLAN;
    return tlmc_emit_c(accepted, &emit, out, &c->diags) ? TLMC_EXIT_OK : TLMC_EXIT_PLAN;
}
