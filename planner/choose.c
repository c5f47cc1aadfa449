/* Choosing a capsule for each node.  In: a graph, a catalog, a profile.  Out: for each node that
   computes, the first admissible capsule of its op in the order of preference, and why each other
   one was not taken. Order: a user's modules, then the profile's; `prefer P` moves P's capsules to
   the front, `only P` refuses the rest.

   A forward capsule with `vjp backend-vjp` promises that every backward node of its VJP rule is
   executed by the same provider: such nodes (node.rule) admit that provider's capsules only. */
#include "plan_internal.h"

#include <stdio.h>
#include <string.h>

static const char *const reason_texts[] = {
#define REASON(TAG, text, meaning) [TLMC_REASON_##TAG] = text,
#include "reasons.def"
};

const char *tlmc_reason_text(struct tlmc_arena *arena, enum tlmc_reason reason, const char *operand)
{
    const char *text = reason_texts[reason], *hole = strstr(text, "%s");
    const size_t extra = operand ? strlen(operand) : 0;
    char *out;

    if (!hole)
        return text;
    out = tlmc_arena_alloc(arena, strlen(text) + extra + 1);
    memcpy(out, text, (size_t)(hole - text));
    if (extra)
        memcpy(out + (hole - text), operand, extra);
    strcpy(out + (hole - text) + extra, hole + 2);
    return out;
}

/* ---- candidates */

static bool lists(const tlmc_sym *items, unsigned count, tlmc_sym name)
{
    unsigned i;

    for (i = 0; i < count; i++)
        if (items[i] == name)
            return true;
    return false;
}

static bool is_preferred(const struct tlmc_profile *profile, const struct tlmc_capsule *capsule)
{
    return lists(profile->preferred.items, profile->preferred.count, capsule->provider);
}

static void add_candidates(struct tlmc_choosing *c, tlmc_sym module, tlmc_sym provider,
                           bool preferred)
{
    const struct tlmc_capsule *items = c->catalog->capsules.items;
    const unsigned user = c->catalog->user_capsules;
    const unsigned begin = module ? user : 0;
    const unsigned end = module ? c->catalog->capsules.count : user;
    unsigned i;

    for (i = begin; i < end; i++) {
        const struct tlmc_capsule *capsule = &items[i];
        const bool mine = is_preferred(c->profile, capsule);

        if ((module && capsule->module != module) || (provider && capsule->provider != provider) ||
            (!provider && preferred != mine))
            continue;
        TLMC_PUSH(c->arena, &c->by_op[capsule->op].list, capsule);
    }
}

static void add_modules(struct tlmc_choosing *c, tlmc_sym provider, bool preferred)
{
    unsigned i;

    add_candidates(c, NULL, provider, preferred);
    for (i = 0; i < c->profile->modules.count; i++)
        add_candidates(c, c->profile->modules.items[i], provider, preferred);
}

void tlmc_choosing_init(struct tlmc_choosing *choosing, struct tlmc_arena *arena,
                        const struct tlmc_catalog *catalog, const struct tlmc_profile *profile,
                        bool deterministic)
{
    unsigned i;

    memset(choosing, 0, sizeof *choosing);
    choosing->arena = arena;
    choosing->catalog = catalog;
    choosing->profile = profile;
    choosing->deterministic = deterministic || profile->deterministic;
    for (i = 0; i < profile->preferred.count; i++)
        add_modules(choosing, profile->preferred.items[i], true);
    add_modules(choosing, NULL, false);
}

/* ---- admissibility */

/* The element type that must be among a capsule's: of the first result, of an update's leaf. */
static enum tlmc_dtype node_dtype(const struct tlmc_graph *graph, uint32_t node)
{
    const struct tlmc_node *n = &graph->nodes[node];

    if (n->result_count)
        return graph->values[n->first_result].type.dtype;
    return n->input_count && n->inputs[0] != TLMC_NONE ? graph->values[n->inputs[0]].type.dtype
                                                       : TLMC_F32;
}

static const char *refuse_for_node(const struct tlmc_choosing *c, const struct tlmc_capsule *k,
                                   const struct tlmc_demand *d)
{
    const enum tlmc_dtype dtype = node_dtype(d->graph, d->node);
    const enum tlmc_op op = d->graph->nodes[d->node].op;
    const char *admit;

    if (k->op != op)
        return tlmc_reason_text(c->arena, TLMC_REASON_OPERATION, tlmc_op_info(k->op)->name);
    if (!(k->dtypes & (1u << dtype)))
        return tlmc_reason_text(c->arena, TLMC_REASON_DTYPE, tlmc_dtype_name(dtype));
    if (d->promised && d->promised->provider != k->provider)
        return tlmc_reason_text(c->arena, TLMC_REASON_PROMISE, d->promised->name);
    if (d->gradient && (k->vjp == TLMC_VJP_NONE ||
                        (c->profile->vjp == TLMC_VJP_BACKEND && k->vjp != TLMC_VJP_BACKEND)))
        return tlmc_reason_text(c->arena, TLMC_REASON_VJP, tlmc_vjp_mode_name(k->vjp));
    admit = tlmc_admit_refusal(c->arena, k, d->graph, d->node);
    return admit ? tlmc_reason_text(c->arena, TLMC_REASON_ADMIT, admit) : NULL;
}

const char *tlmc_refuse_technical(const struct tlmc_choosing *c, const struct tlmc_capsule *k,
                                  const struct tlmc_demand *demand)
{
    const struct tlmc_provider *provider = tlmc_catalog_provider(c->catalog, k->provider);
    const enum tlmc_slot misaligned = tlmc_misaligned_slot(k);
    const char *reason;

    if (!k->supports_forward)
        return tlmc_reason_text(c->arena, TLMC_REASON_FORWARD, NULL);
    if (misaligned != TLMC_SLOT_COUNT)
        return tlmc_reason_text(c->arena, TLMC_REASON_CONTRACTS, tlmc_slot_name(misaligned));
    if (k->device != c->profile->device)
        return tlmc_reason_text(c->arena, TLMC_REASON_DEVICE, tlmc_device_name(k->device));
    if (c->profile->preference == TLMC_PREFER_ONLY && !is_preferred(c->profile, k))
        return tlmc_reason_text(c->arena, TLMC_REASON_PROVIDER_REJECTED, k->provider);
    if (!provider || !provider->in_build)
        return tlmc_reason_text(c->arena, TLMC_REASON_PROVIDER_MISSING, k->provider);
    reason = demand->graph ? refuse_for_node(c, k, demand) : NULL;
    if (!reason && c->deterministic && tlmc_capsule_reduction_is_undefined(k)) {
        const bool impl = k->numeric.reduction == TLMC_RED_IMPL;

        reason = tlmc_reason_text(c->arena, TLMC_REASON_REDUCTION,
                                  impl ? "implementation-defined" : "unspecified");
    }
    return reason;
}

static bool trust_admitted(const struct tlmc_assurance *policy, enum tlmc_trust trust)
{
    switch (trust) {
    case TLMC_VERIFIED: return true;
    case TLMC_CHECKED: return policy->allow_checked;
    case TLMC_FUZZED: return policy->allow_fuzzed;
    case TLMC_TRUSTED_EXTERNAL: return policy->allow_trusted_external;
    case TLMC_TRUST_COUNT: break;
    }
    TLMC_UNREACHABLE();
}

const char *tlmc_refuse_trust(const struct tlmc_choosing *c, const struct tlmc_capsule *k)
{
    const struct tlmc_assurance *policy = &c->profile->assurance;
    int slot;

    if (!trust_admitted(policy, k->trust))
        return tlmc_reason_text(c->arena, TLMC_REASON_TRUST, tlmc_trust_name(k->trust));
    for (slot = 0; slot < TLMC_SLOT_COUNT; slot++) {
        const struct tlmc_contract *contract = &k->contracts[slot];
        char text[64];

        if (!tlmc_slot_owed(k, (enum tlmc_slot)slot) || tlmc_evidence_admitted(policy, contract))
            continue;
        snprintf(text, sizeof text, "%s: %s", tlmc_slot_name((enum tlmc_slot)slot),
                 tlmc_evidence_disposition(contract->evidence));
        return tlmc_reason_text(c->arena, TLMC_REASON_EVIDENCE, text);
    }
    return NULL;
}

const char *tlmc_refuse(const struct tlmc_choosing *choosing, const struct tlmc_capsule *capsule,
                        const struct tlmc_demand *demand)
{
    const char *reason = tlmc_refuse_technical(choosing, capsule, demand);

    return reason ? reason : tlmc_refuse_trust(choosing, capsule);
}

const char *tlmc_capsule_refusal(const struct tlmc_catalog *catalog,
                                 const struct tlmc_profile *profile,
                                 const struct tlmc_capsule *capsule, struct tlmc_arena *arena)
{
    const struct tlmc_choosing choosing = { .arena = arena,
                                            .catalog = catalog,
                                            .profile = profile,
                                            .deterministic = profile->deterministic };
    const struct tlmc_demand nothing = { 0 };

    return tlmc_refuse(&choosing, capsule, &nothing);
}

/* ---- the choice */

uint32_t *tlmc_rule_nodes(struct tlmc_arena *arena, const struct tlmc_graph *graph, uint32_t *count)
{
    uint32_t *nodes, most = 0, i;

    for (i = 0; i < graph->node_count; i++)
        if (graph->nodes[i].rule > most)
            most = graph->nodes[i].rule;
    *count = most + 1;
    nodes = TLMC_NEW_ARRAY(arena, uint32_t, *count);
    for (i = 0; i < *count; i++)
        nodes[i] = TLMC_NONE;
    for (i = 0; i < graph->node_count; i++)
        if (graph->nodes[i].rule && graph->nodes[i].phase == TLMC_FORWARD)
            nodes[graph->nodes[i].rule] = i;
    return nodes;
}

struct tlmc_demand tlmc_demand_of(const struct tlmc_plan_form *form, const uint32_t *rule_nodes,
                                  uint32_t rule_count, uint32_t node)
{
    const struct tlmc_node *n = &form->form->graph->nodes[node];
    struct tlmc_demand demand = { .graph = form->form->graph, .node = node };
    uint32_t forward;

    if (!n->rule || n->rule >= rule_count)
        return demand;
    demand.gradient = n->phase == TLMC_FORWARD && tlmc_op_has_gradient(n->op);
    forward = rule_nodes[n->rule];
    if (n->phase == TLMC_BACKWARD && forward != TLMC_NONE && form->choice[forward] &&
        form->choice[forward]->vjp == TLMC_VJP_BACKEND)
        demand.promised = form->choice[forward];
    return demand;
}

/* Candidates are all looked at: the plan keeps a reason for each one that was not taken. */
static void choose_node(const struct tlmc_choosing *c, struct tlmc_plan_form *form,
                        const struct tlmc_demand *demand)
{
    const uint32_t node = demand->node;
    const struct tlmc_candidates *candidates = &c->by_op[demand->graph->nodes[node].op];
    struct tlmc_refusal *refusals =
        TLMC_NEW_ARRAY(c->arena, struct tlmc_refusal, candidates->list.count + 1);
    const struct tlmc_capsule *chosen = NULL;
    unsigned i, count = 0;

    for (i = 0; i < candidates->list.count; i++) {
        const struct tlmc_capsule *k = candidates->list.items[i];
        const char *reason = tlmc_refuse(c, k, demand);

        if (!reason && !chosen) {
            chosen = k;
            continue;
        }
        if (!reason) {
            const bool preferred = is_preferred(c->profile, chosen) && !is_preferred(c->profile, k);

            reason = tlmc_reason_text(c->arena,
                                      preferred ? TLMC_REASON_NOT_PREFERRED : TLMC_REASON_LATER,
                                      preferred ? k->provider : chosen->name);
        }
        refusals[count++] = (struct tlmc_refusal){ .capsule = k, .text = reason };
    }
    form->choice[node] = chosen;
    form->refusals[node] = refusals;
}

void tlmc_choose(const struct tlmc_choosing *choosing, struct tlmc_plan_form *form)
{
    const struct tlmc_graph *graph = form->form->graph;
    uint32_t *rule_nodes, rule_count, i;

    form->choice = TLMC_NEW_ARRAY(choosing->arena, const struct tlmc_capsule *, graph->node_count);
    form->refusals = TLMC_NEW_ARRAY(choosing->arena, struct tlmc_refusal *, graph->node_count);
    rule_nodes = tlmc_rule_nodes(choosing->arena, graph, &rule_count);
    for (i = 0; i < graph->node_count; i++) {
        const struct tlmc_demand demand = tlmc_demand_of(form, rule_nodes, rule_count, i);

        if (tlmc_op_info(graph->nodes[i].op)->family == TLMC_LEAF)
            form->refusals[i] = TLMC_NEW(choosing->arena, struct tlmc_refusal);
        else
            choose_node(choosing, form, &demand);
    }
}
