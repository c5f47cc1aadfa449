/* tlmc plan: which code computes which number, who vouches for it, with what arithmetic, in what
   memory. */
#include "commands.h"
#include "pipeline.h"

#include "strbuf.h"

#include <stdio.h>
#include <string.h>

typedef void report_fn(const struct tlmc_plan *plan, struct tlmc_strbuf *out);

static int report(const struct tlmc_compilation *c, struct tlmc_strbuf *out)
{
    const struct tlmc_options *o = c->options;
    const struct tlmc_report_options text = { .explain = tlmc_opt_given(o, TLMC_OPT_EXPLAIN),
                                              .contracts = tlmc_opt_given(o, TLMC_OPT_CONTRACTS),
                                              .steps = tlmc_opt_given(o, TLMC_OPT_STEPS) };
    const char *format = tlmc_opt(o, TLMC_OPT_FORMAT);

    if (!format || strcmp(format, "text") == 0)
        tlmc_plan_text(c->plan, &text, out);
    else if (strcmp(format, "json") == 0)
        tlmc_plan_json(c->plan, out);
    else if (strcmp(format, "dot") == 0)
        tlmc_plan_dot(c->plan, out);
    else {
        fprintf(stderr, "tlmc plan: unknown format '%s'; known: text, json, dot\n", format);
        return TLMC_EXIT_USAGE;
    }
    return TLMC_EXIT_OK;
}

int tlmc_cmd_plan(const struct tlmc_options *options)
{
    struct tlmc_compilation c;
    struct tlmc_strbuf out = { 0 };
    int status;

    tlmc_compilation_begin(&c, options);
    status = tlmc_stage_plan(&c);
    if (!status)
        status = report(&c, &out);
    fputs(tlmc_strbuf_text(&out), stdout);
    tlmc_strbuf_free(&out);
    if (!status && !tlmc_plan_accept(c.plan, &c.diags))
        status = TLMC_EXIT_PLAN;
    return tlmc_compilation_end(&c, status);
}
