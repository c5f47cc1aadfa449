/* How a plan's failures are told.  In: the failures of the audit, each once for an op, a capsule
   and an obligation.  Out: lines for reports and messages: one an op and capsule, with the first of
   its failures and the number of the others, no more than a screen of them; or all of them. */
#include "plan_internal.h"

#include "strbuf.h"

#include <string.h>

enum { MOST_LINES = 20 };

enum tlmc_diag_code tlmc_failure_code(const struct tlmc_failure *failure)
{
    if (!failure->form || strcmp(failure->text, "planned") == 0)
        return TLMC_E_NOT_EMITTABLE;
    return failure->capsule ? TLMC_E_GATE : TLMC_E_NO_CAPSULE;
}

static const struct tlmc_node *node_of(const struct tlmc_failure *f)
{
    return f->form ? &f->form->form->graph->nodes[f->node] : NULL;
}

/* Of one op and capsule, told under one message. */
static bool same_line(const struct tlmc_failure *a, const struct tlmc_failure *b)
{
    return a->form && b->form && a->capsule == b->capsule && node_of(a)->op == node_of(b)->op &&
           tlmc_failure_code(a) == tlmc_failure_code(b);
}

/* "matmul: native_c.matmul: trust-not-admitted(checked)" */
static void put_failure(const struct tlmc_failure *f, struct tlmc_strbuf *out)
{
    if (f->form)
        tlmc_strbuf_printf(out, "%s: ", tlmc_op_info(node_of(f)->op)->name);
    if (f->capsule)
        tlmc_strbuf_printf(out, "%s: ", f->capsule->name);
    tlmc_strbuf_add(out, f->text);
}

void tlmc_tell_failures(const struct tlmc_plan *plan, bool all, enum tlmc_diag_code code,
                        tlmc_tell_fn *tell, void *context)
{
    unsigned lines = 0;

    for (uint32_t i = 0; i < plan->failure_count; i++) {
        const struct tlmc_failure *f = &plan->failures[i];
        struct tlmc_strbuf line = { 0 };
        uint32_t before = 0, others = 0;

        if (code != TLMC_ANY_FAILURE && tlmc_failure_code(f) != code)
            continue;
        for (uint32_t k = 0; k < plan->failure_count && !all; k++)
            if (k != i && same_line(f, &plan->failures[k])) {
                before += k < i;
                others++;
            }
        if (before > 0 || (lines++ >= MOST_LINES && !all))
            continue;
        put_failure(f, &line);
        if (others > 0)
            tlmc_strbuf_printf(&line, ", and %u more", others);
        tell(context, node_of(f), tlmc_strbuf_text(&line));
        tlmc_strbuf_free(&line);
    }
    if (lines > MOST_LINES && !all) {
        struct tlmc_strbuf line = { 0 };

        tlmc_strbuf_printf(&line, "and %u more; tlmc plan --explain lists them",
                           lines - MOST_LINES);
        tell(context, NULL, tlmc_strbuf_text(&line));
        tlmc_strbuf_free(&line);
    }
}
