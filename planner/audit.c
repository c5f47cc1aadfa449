/* The gate.  In: a plan with choices and steps.  Out: its failures, each once for an op and a
   capsule: nothing admissible (with the obligations that the nearest capsule does not meet),
   capsules without code in this build, providers that the profile prefers and this build lacks,
   loops without evidence of their own. */
#include "plan_internal.h"

#include <stdio.h>
#include <string.h>

/* ---- contracts */

bool tlmc_slot_owed(const struct tlmc_capsule *capsule, enum tlmc_slot slot)
{
    return slot != TLMC_SLOT_VJP || capsule->vjp != TLMC_VJP_NONE;
}

bool tlmc_evidence_admitted(const struct tlmc_assurance *policy,
                            const struct tlmc_contract *contract)
{
    switch (contract->evidence) {
    case TLMC_EV_THEOREM:
    case TLMC_EV_CHECKER: return true;
    case TLMC_EV_GUARD: return policy->allow_guards;
    case TLMC_EV_TESTS: return policy->allow_tests;
    case TLMC_EV_FUZZ: return policy->allow_fuzzed;
    case TLMC_EV_TRUSTED: return policy->allow_trusted_external;
    case TLMC_EV_MISSING: return !policy->require_evidence;
    case TLMC_EV_COUNT: break;
    }
    TLMC_UNREACHABLE();
}

static bool mentions(const char *claim, const char *word)
{
    const size_t length = strlen(word);
    const char *at = claim;

    for (at = strstr(claim, word); at; at = strstr(at + 1, word)) {
        const char before = at == claim ? ' ' : at[-1], after = at[length];

        if ((before == ' ' || before == '.') &&
            (after == ' ' || after == '\0' || after == ';' || after == ','))
            return true;
    }
    return false;
}

/* A claim names the op it is about, and that of the VJP the mode it promises; a VJP is promised
   only for ops that have a gradient rule. */
enum tlmc_slot tlmc_misaligned_slot(const struct tlmc_capsule *capsule)
{
    const char *op = tlmc_op_info(capsule->op)->name;
    int slot;

    if (capsule->vjp != TLMC_VJP_NONE &&
        (!tlmc_op_has_gradient(capsule->op) ||
         !mentions(capsule->contracts[TLMC_SLOT_VJP].claim, tlmc_vjp_mode_name(capsule->vjp))))
        return TLMC_SLOT_VJP;
    for (slot = 0; slot < TLMC_SLOT_COUNT; slot++)
        if (tlmc_slot_owed(capsule, (enum tlmc_slot)slot) &&
            !mentions(capsule->contracts[slot].claim, op))
            return (enum tlmc_slot)slot;
    return TLMC_SLOT_COUNT;
}

/* ---- failures */

struct audit {
    struct tlmc_plan *plan;
    const struct tlmc_choosing *choosing;
    const struct tlmc_plan_form *form;
    TLMC_VEC(struct tlmc_failure) failures;
};

static enum tlmc_op failure_op(const struct tlmc_failure *f)
{
    return f->node == TLMC_NONE ? TLMC_OP_COUNT : f->form->form->graph->nodes[f->node].op;
}

static void fail(struct audit *a, uint32_t node, const struct tlmc_capsule *capsule,
                 const char *text)
{
    const struct tlmc_failure failure = {
        .form = node == TLMC_NONE ? NULL : a->form, .node = node, .capsule = capsule, .text = text
    };
    unsigned i;

    for (i = 0; i < a->failures.count; i++) {
        const struct tlmc_failure *old = &a->failures.items[i];

        if (old->capsule == capsule && failure_op(old) == failure_op(&failure) &&
            strcmp(old->text, text) == 0)
            return;
    }
    TLMC_PUSH(a->choosing->arena, &a->failures, failure);
}

static void fail_obligations(struct audit *a, uint32_t node, const struct tlmc_capsule *k)
{
    const struct tlmc_assurance *policy = &a->plan->profile->assurance;
    const char *reason = tlmc_refuse_trust(a->choosing, k);
    struct tlmc_arena *arena = a->choosing->arena;
    int slot;

    if (strncmp(reason, "trust-", 6) == 0)
        fail(a, node, k, reason);
    for (slot = 0; slot < TLMC_SLOT_COUNT; slot++) {
        const struct tlmc_contract *c = &k->contracts[slot];
        char text[480];

        if (!tlmc_slot_owed(k, (enum tlmc_slot)slot) || tlmc_evidence_admitted(policy, c))
            continue;
        snprintf(text, sizeof text, "%s obligation %s %.255s; policy '%s' does not admit it",
                 tlmc_slot_name((enum tlmc_slot)slot), tlmc_evidence_label(c->evidence), c->name,
                 tlmc_assurance_name(policy));
        fail(a, node, k, tlmc_arena_strdup(arena, text));
    }
}

/* The first capsule that could do it, were it trusted, says what is missing. */
static void fail_without_choice(struct audit *a, uint32_t node)
{
    const struct tlmc_graph *graph = a->form->form->graph;
    const enum tlmc_op op = graph->nodes[node].op;
    const struct tlmc_candidates *candidates = &a->choosing->by_op[op];
    struct tlmc_arena *arena = a->choosing->arena;
    uint32_t *rule_nodes, rule_count;
    struct tlmc_demand demand;
    char text[160];
    unsigned i;

    rule_nodes = tlmc_rule_nodes(arena, graph, &rule_count);
    demand = tlmc_demand_of(a->form, rule_nodes, rule_count, node);
    for (i = 0; i < candidates->list.count; i++)
        if (!tlmc_refuse_technical(a->choosing, candidates->list.items[i], &demand)) {
            fail_obligations(a, node, candidates->list.items[i]);
            return;
        }
    snprintf(text, sizeof text, "no admissible backend capsule for op '%s' on device '%s'",
             tlmc_op_info(op)->name, tlmc_device_name(a->plan->profile->device));
    fail(a, node, NULL, tlmc_arena_strdup(arena, text));
}

static void audit_nodes(struct audit *a)
{
    const struct tlmc_graph *graph = a->form->form->graph;
    bool missing[TLMC_OP_COUNT] = { false };
    uint32_t n;

    for (n = 0; n < graph->node_count; n++) {
        const struct tlmc_capsule *k = a->form->choice[n];
        const enum tlmc_op op = graph->nodes[n].op;

        if (tlmc_op_info(op)->family == TLMC_LEAF)
            continue;
        if (k && k->status == TLMC_PLANNED)
            fail(a, n, k, tlmc_reason_text(a->choosing->arena, TLMC_REASON_PLANNED, NULL));
        if (!k && !missing[op]) {
            missing[op] = true; /* the first node of an op speaks for the others */
            fail_without_choice(a, n);
        }
    }
}

static const struct tlmc_contract *group_evidence(const struct tlmc_provider *provider,
                                                  const char *kind)
{
    unsigned i;

    for (i = 0; provider && i < provider->groups.count; i++)
        if (strcmp(provider->groups.items[i].kind, kind) == 0)
            return &provider->groups.items[i].contract;
    return NULL;
}

static void audit_group(struct audit *a, uint32_t node, const char *kind)
{
    const struct tlmc_capsule *k = a->form->choice[node];
    const struct tlmc_provider *provider =
        k ? tlmc_catalog_provider(a->plan->catalog, k->provider) : NULL;
    const struct tlmc_contract *evidence = group_evidence(provider, kind);
    char text[160];

    /* A kernel that is called takes transposes as flags: its own contracts cover them. */
    if (!k || k->abi == TLMC_ABI_CALL ||
        (evidence && tlmc_evidence_admitted(&a->plan->profile->assurance, evidence)))
        return;
    snprintf(text, sizeof text, "%s group of provider '%.60s': evidence %s", kind, k->provider,
             evidence ? tlmc_evidence_disposition(evidence->evidence) : "missing");
    fail(a, node, k, tlmc_arena_strdup(a->choosing->arena, text));
}

static void audit_steps(struct audit *a)
{
    uint32_t s;

    for (s = 0; s < a->form->step_count; s++) {
        const struct tlmc_step *step = &a->form->steps[s];

        if (step->kind == TLMC_STEP_POINTWISE && step->node_count > 1)
            audit_group(a, step->nodes[0], "pointwise");
        else if (step->kind == TLMC_STEP_UPDATES && step->node_count > 1)
            audit_group(a, step->nodes[0], "updates");
        else if (step->kind == TLMC_STEP_CALL && step->node_count > 1)
            audit_group(a, step->nodes[0], "launch");
        else if (step->transpose_a || step->transpose_b)
            audit_group(a, step->nodes[0], "transpose");
    }
}

static void audit_preferred(struct audit *a)
{
    const struct tlmc_profile *profile = a->plan->profile;
    unsigned i;

    for (i = 0; i < profile->preferred.count; i++) {
        const struct tlmc_provider *provider =
            tlmc_catalog_provider(a->plan->catalog, profile->preferred.items[i]);
        char text[400];

        if (provider && provider->in_build)
            continue;
        snprintf(text, sizeof text, "provider '%.60s' not available in this build%s%.255s",
                 profile->preferred.items[i], provider && *provider->reason ? ": " : "",
                 provider ? provider->reason : "");
        fail(a, TLMC_NONE, NULL, tlmc_arena_strdup(a->choosing->arena, text));
    }
}

void tlmc_audit(struct tlmc_plan *plan, const struct tlmc_choosing *choosing)
{
    struct audit a = { .plan = plan, .choosing = choosing };
    uint32_t i;

    audit_preferred(&a);
    for (i = 0; i < plan->form_count; i++) {
        a.form = &plan->forms[i];
        audit_nodes(&a);
        audit_steps(&a);
    }
    plan->failures = a.failures.items;
    plan->failure_count = a.failures.count;
}
