/* The text report.  For each op and capsule one block, forward, then backward, then optimizer, in
   execution order:

       matmul: native_cuda.matmul
         provider=native-cuda trust=checked vjp=backend-vjp
         numeric=[round=..,subnormal=..,contract=..,reduce=..]

   then what costs nothing, then memory.  --contracts adds the four obligations and the arithmetic
   id, --explain every refusal, --steps the steps of each form (plan_steps.c). */
#include "plan_report.h"

#include "plan_internal.h"

#include <string.h>

const struct tlmc_plan_form *tlmc_report_form(const struct tlmc_plan *plan, uint32_t i)
{
    uint32_t k, seen = 0;

    /* The training form first: it has every phase. */
    for (k = 0; k < plan->form_count; k++)
        if (plan->forms[k].form->mode == TLMC_TRAIN && seen++ == i)
            return &plan->forms[k];
    for (k = 0; k < plan->form_count; k++)
        if (plan->forms[k].form->mode != TLMC_TRAIN && seen++ == i)
            return &plan->forms[k];
    TLMC_UNREACHABLE();
}

/* ---- which (op, capsule) pairs occur */

struct row { /* one block */
    enum tlmc_op op;
    const struct tlmc_capsule *capsule;
    const struct tlmc_plan_form *form;
    uint32_t node;         /* the first that has it: its refusals are shown */
    bool costs_nothing[2]; /* some nodes have no code; some have */
    const char *notes[4];
    unsigned note_count;
};

typedef TLMC_VEC(struct row) row_vec;

static struct row *row_of(const struct tlmc_plan *plan, row_vec *rows,
                          const struct tlmc_plan_form *form, uint32_t node)
{
    const enum tlmc_op op = form->form->graph->nodes[node].op;
    unsigned i;

    for (i = 0; i < rows->count; i++)
        if (rows->items[i].op == op && rows->items[i].capsule == form->choice[node])
            return &rows->items[i];
    TLMC_PUSH(plan->module->arena, rows,
              ((struct row){
                  .op = op, .capsule = form->choice[node], .form = form, .node = node }));
    return &rows->items[rows->count - 1];
}

static void add_note(struct row *row, const char *note)
{
    unsigned i;

    row->costs_nothing[note ? 0 : 1] = true;
    if (!note)
        return;
    for (i = 0; i < row->note_count; i++)
        if (strcmp(row->notes[i], note) == 0)
            return;
    if (row->note_count < 4)
        row->notes[row->note_count++] = note;
}

/* The form's steps of these phases, one bit each. */
static void collect_form(const struct tlmc_plan *plan, const struct tlmc_plan_form *form,
                         unsigned phases, row_vec *rows)
{
    uint32_t s, n;

    for (s = 0; s < form->step_count; s++) {
        const struct tlmc_step *step = &form->steps[s];

        for (n = 0; phases & (1u << step->phase) && n < step->node_count; n++)
            add_note(row_of(plan, rows, form, step->nodes[n]), step->note);
    }
}

static void collect(const struct tlmc_plan *plan, row_vec *rows)
{
    static const unsigned sections[] = { 1u << TLMC_FORWARD, 1u << TLMC_BACKWARD,
                                         1u << TLMC_ACCUMULATE_PHASE | 1u << TLMC_UPDATE_PHASE };
    unsigned section;
    uint32_t f;

    for (section = 0; section < 3; section++)
        for (f = 0; f < plan->form_count; f++)
            collect_form(plan, tlmc_report_form(plan, f), sections[section], rows);
}

/* ---- blocks */

/* Of a user's capsule only the existence of what it names is known. */
static void put_evidence(const struct tlmc_capsule *k, const struct tlmc_contract *c,
                         struct tlmc_strbuf *out)
{
    const bool users = tlmc_capsule_is_users(k) && c->evidence != TLMC_EV_TRUSTED &&
                       c->evidence != TLMC_EV_MISSING;

    if (!users)
        tlmc_strbuf_printf(out, "%s%s%s", tlmc_evidence_label(c->evidence), *c->name ? " " : "",
                           c->name);
    else if (c->evidence == TLMC_EV_GUARD)
        tlmc_strbuf_printf(out, "claims the guard %s", c->name);
    else if (tlmc_names_own_test(c->name))
        tlmc_strbuf_printf(out, "cites %s, a test of tlmc", c->name);
    else
        tlmc_strbuf_printf(out, "claims %s in %s (not run by tlmc)",
                           tlmc_evidence_name(c->evidence), c->name);
}

static void put_contracts(const struct tlmc_capsule *k, struct tlmc_strbuf *out)
{
    int slot;

    for (slot = 0; slot < TLMC_SLOT_COUNT; slot++) {
        const struct tlmc_contract *c = &k->contracts[slot];
        const bool owed = slot != TLMC_SLOT_VJP || k->vjp != TLMC_VJP_NONE;

        tlmc_strbuf_printf(out, "    %s: %s", tlmc_slot_name((enum tlmc_slot)slot), c->claim);
        if (owed) {
            tlmc_strbuf_add(out, "; ");
            put_evidence(k, c, out);
        }
        if (*c->summary)
            tlmc_strbuf_printf(out, " (%s)", c->summary);
        if (*c->provenance)
            tlmc_strbuf_printf(out, " [%s]", c->provenance);
        tlmc_strbuf_char(out, '\n');
    }
    tlmc_strbuf_printf(out, "    arithmetic: %s\n", k->arithmetic);
    if (*k->notes)
        tlmc_strbuf_printf(out, "    notes: %s\n", k->notes);
}

/* A user's own capsule that was refused is always said. */
static void print_refusals(const struct row *row, bool all, struct tlmc_strbuf *out)
{
    const struct tlmc_refusal *r = row->form->refusals[row->node];

    for (; r->capsule; r++)
        if (all || tlmc_capsule_is_users(r->capsule))
            tlmc_strbuf_printf(out, "  %s refused: %s\n", r->capsule->name, r->text);
}

static void print_row(const struct row *row, const struct tlmc_report_options *options,
                      struct tlmc_strbuf *out)
{
    const struct tlmc_capsule *k = row->capsule;
    const char *op = tlmc_op_info(row->op)->name;
    char numeric[160];
    unsigned i;

    tlmc_strbuf_printf(out, "%s: %s\n", op, k ? k->name : "no admissible capsule");
    if (k) {
        tlmc_strbuf_printf(out, "  provider=%s trust=%s vjp=%s\n  numeric=[%s]\n", k->provider,
                           tlmc_trust_name(k->trust), tlmc_vjp_mode_name(k->vjp),
                           tlmc_numeric_text(&k->numeric, numeric));
        if (options->contracts)
            put_contracts(k, out);
        if (k->status == TLMC_PLANNED)
            tlmc_strbuf_add(out, "  not accepted: planned\n");
    }
    print_refusals(row, options->explain || !k, out);
    for (i = 0; i < row->note_count; i++)
        tlmc_strbuf_printf(out, "%s: %s%s\n", op, row->notes[i],
                           row->costs_nothing[1] ? ", where it can" : "");
}

/* ---- the whole */

static void print_boundary(const row_vec *rows, struct tlmc_strbuf *out)
{
    unsigned i, k, count = 0;

    tlmc_strbuf_add(out, "trusted external boundary: ");
    for (i = 0; i < rows->count; i++) {
        const struct row *row = &rows->items[i];

        if (!row->capsule || row->capsule->trust != TLMC_TRUSTED_EXTERNAL)
            continue;
        for (k = 0; k < i; k++)
            if (rows->items[k].op == row->op && rows->items[k].capsule &&
                rows->items[k].capsule->trust == TLMC_TRUSTED_EXTERNAL)
                break;
        if (k == i)
            tlmc_strbuf_printf(out, "%s%s", count++ ? "," : "", tlmc_op_info(row->op)->name);
    }
    tlmc_strbuf_add(out, count ? "\n" : "none\n");
}

static void print_memory(const struct tlmc_plan *plan, struct tlmc_strbuf *out)
{
    uint32_t i;

    tlmc_strbuf_printf(out, "memory: weights=%zu state=%zu activations=%zu\n", plan->weights_bytes,
                       plan->state_bytes, plan->activations_bytes);
    for (i = 0; i < plan->form_count; i++) {
        const struct tlmc_plan_form *form = tlmc_report_form(plan, i);

        tlmc_strbuf_printf(out, "  %s %s: planned peak %zu bytes, lower bound %zu, %u steps\n",
                           form->form->entry, tlmc_mode_name(form->form->mode), form->arena_bytes,
                           form->lower_bound, form->step_count);
    }
}

static void print_failure(void *context, const struct tlmc_node *node, const char *line)
{
    (void)node;
    tlmc_strbuf_printf(context, "  %s\n", line);
}

static void print_failures(const struct tlmc_plan *plan, bool all, struct tlmc_strbuf *out)
{
    if (!plan->failure_count)
        return;
    tlmc_strbuf_add(out, "not accepted\n");
    tlmc_tell_failures(plan, all, TLMC_ANY_FAILURE, print_failure, out);
}

void tlmc_plan_text(const struct tlmc_plan *plan, const struct tlmc_report_options *options,
                    struct tlmc_strbuf *out)
{
    const struct tlmc_profile *p = plan->profile;
    row_vec rows = { 0 };
    unsigned i;

    collect(plan, &rows);
    tlmc_strbuf_printf(out, "plan %s  profile=%s device=%s assurance=%s vjp=%s%s\n",
                       plan->module->name, p->name, tlmc_device_name(p->device),
                       tlmc_assurance_name(&p->assurance), tlmc_vjp_mode_name(p->vjp),
                       plan->deterministic ? " deterministic" : "");
    print_boundary(&rows, out);
    for (i = 0; i < rows.count; i++)
        print_row(&rows.items[i], options, out);
    if (options->steps)
        for (i = 0; i < plan->form_count; i++)
            tlmc_report_steps(plan, tlmc_report_form(plan, i), options, out);
    print_memory(plan, out);
    print_failures(plan, options->explain, out);
}
