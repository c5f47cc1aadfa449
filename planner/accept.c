/* Acceptance: the only constructor of an accepted plan.  Repeats the whole admissibility of every
   choice, whoever made the plan, and refuses a plan with failures, a node without a capsule, or a
   capsule without code in this build. */
#include "plan_internal.h"

#include <string.h>

struct tlmc_accepted_plan {
    const struct tlmc_plan *plan;
};

const struct tlmc_plan *tlmc_accepted(const tlmc_accepted_plan *plan)
{
    return plan->plan;
}

struct notes { /* of one message */
    const struct tlmc_plan *plan;
    struct tlmc_diags *diags;
    struct tlmc_diag *diag;
};

/* One line, with its place and without the text there. */
static void note_failure(void *context, const struct tlmc_node *node, const char *line)
{
    const struct notes *notes = context;
    const struct tlmc_sources *sources = notes->plan->module->sources;
    const struct tlmc_span nowhere = { 0 };

    if (node && node->span.file && sources) {
        const struct tlmc_line_place place = tlmc_span_place(sources, node->span);

        tlmc_note(notes->diags, notes->diag, nowhere, "%s:%u:%u: %s",
                  tlmc_sources_get(sources, node->span.file)->path, place.line, place.column, line);
    } else {
        tlmc_note(notes->diags, notes->diag, nowhere, "%s", line);
    }
}

/* Failures of one code under one diagnostic. */
static void report_code(const struct tlmc_plan *plan, struct tlmc_diags *diags,
                        enum tlmc_diag_code code)
{
    const struct tlmc_span nowhere = { 0 };
    const char *name = plan->module->name, *profile = plan->profile->name;
    struct notes notes = { .plan = plan, .diags = diags };
    bool any = false;
    uint32_t i;

    for (i = 0; i < plan->failure_count; i++)
        any |= tlmc_failure_code(&plan->failures[i]) == code;
    if (!any)
        return;
    if (code == TLMC_E_NOT_EMITTABLE)
        notes.diag = tlmc_report(
            diags, code, nowhere,
            "plan of '%s' not accepted: profile '%s' needs code that this build does not have",
            name, profile);
    else if (code == TLMC_E_NO_CAPSULE)
        notes.diag = tlmc_report(
            diags, code, nowhere,
            "plan of '%s' not accepted: ops without an admissible capsule under profile '%s'", name,
            profile);
    else
        notes.diag = tlmc_report(
            diags, code, nowhere,
            "plan of '%s' not accepted: the gate refuses it under policy '%s' of profile '%s'",
            name, tlmc_assurance_name(&plan->profile->assurance), profile);
    tlmc_tell_failures(plan, false, code, note_failure, &notes);
}

/* What was chosen once is asked again: nothing but these checks stands between a plan and the
   emitter. */
static bool recheck_form(const struct tlmc_choosing *choosing, const struct tlmc_plan_form *form,
                         struct tlmc_diags *diags)
{
    const struct tlmc_graph *graph = form->form->graph;
    uint32_t *rule_nodes, rule_count, n;
    bool good = true;

    rule_nodes = tlmc_rule_nodes(choosing->arena, graph, &rule_count);
    for (n = 0; n < graph->node_count; n++) {
        const struct tlmc_demand demand = tlmc_demand_of(form, rule_nodes, rule_count, n);
        const struct tlmc_capsule *k = form->choice[n];
        const char *op = tlmc_op_info(graph->nodes[n].op)->name, *reason;

        if (tlmc_op_info(graph->nodes[n].op)->family == TLMC_LEAF)
            continue;
        reason = k ? tlmc_refuse(choosing, k, &demand) : "no capsule";
        if (k && !reason && k->status == TLMC_PLANNED)
            reason = tlmc_reason_text(choosing->arena, TLMC_REASON_PLANNED, NULL);
        if (!reason)
            continue;
        tlmc_report(diags, TLMC_E_GATE, graph->nodes[n].span, "%s: %s refused: %s", op,
                    k ? k->name : "nothing chosen", reason);
        good = false;
    }
    return good;
}

/* A loop may repeat a broadcast of an earlier phase. */
static bool fits_phase(const struct tlmc_node *node, enum tlmc_phase phase)
{
    return node->phase == phase || (node->op == TLMC_OP_BROADCAST && node->phase < phase);
}

/* Every node that computes stands in a step of its phase. */
static bool covers_nodes(const struct tlmc_choosing *choosing, const struct tlmc_plan_form *form,
                         struct tlmc_diags *diags)
{
    const struct tlmc_graph *graph = form->form->graph;
    bool *seen = TLMC_NEW_ARRAY(choosing->arena, bool, graph->node_count), good = true;
    uint32_t s, n, i;

    for (s = 0; s < form->step_count; s++)
        for (n = 0; n < form->steps[s].node_count; n++) {
            seen[form->steps[s].nodes[n]] = true;
            good &= fits_phase(&graph->nodes[form->steps[s].nodes[n]], form->steps[s].phase);
        }
    for (n = 0; n < graph->node_count; n++) {
        bool used = graph->nodes[n].result_count == 0;

        for (i = 0; i < graph->nodes[n].result_count; i++)
            used |= form->values[graph->nodes[n].first_result + i].place != TLMC_PLACE_NONE;
        if (used && !seen[n] && tlmc_op_info(graph->nodes[n].op)->family != TLMC_LEAF)
            good = false;
    }
    if (!good)
        tlmc_report(diags, TLMC_E_GATE, (struct tlmc_span){ 0 },
                    "steps and nodes of entry '%s' do not agree", form->form->entry);
    return good;
}

const tlmc_accepted_plan *tlmc_plan_accept(const struct tlmc_plan *plan, struct tlmc_diags *diags)
{
    struct tlmc_arena *arena = plan->module->arena;
    struct tlmc_choosing *choosing;
    tlmc_accepted_plan *accepted;
    bool good = true;
    uint32_t i;

    if (plan->failure_count) {
        report_code(plan, diags, TLMC_E_NO_CAPSULE);
        report_code(plan, diags, TLMC_E_GATE);
        report_code(plan, diags, TLMC_E_NOT_EMITTABLE);
        return NULL;
    }
    choosing = TLMC_NEW(arena, struct tlmc_choosing);
    tlmc_choosing_init(choosing, arena, plan->catalog, plan->profile, plan->deterministic);
    for (i = 0; i < plan->form_count; i++) {
        good &= recheck_form(choosing, &plan->forms[i], diags);
        good &= covers_nodes(choosing, &plan->forms[i], diags);
    }
    if (!good)
        return NULL;
    accepted = TLMC_NEW(arena, tlmc_accepted_plan);
    accepted->plan = plan;
    return accepted;
}
