/* Inside the planner room: the stages of a plan.  tlmc_plan_make (plan.c) runs choose, group and
   memory for each form and audits the whole; accept.c repeats the checks of choose.c. */
#ifndef TLMC_PLANNER_PLAN_INTERNAL_H
#define TLMC_PLANNER_PLAN_INTERNAL_H

#include "plan.h"

/* ---- reasons.def */
enum tlmc_reason {
#define REASON(TAG, text, meaning) TLMC_REASON_##TAG,
#include "reasons.def"
    TLMC_REASON_COUNT
};
/* In the arena; `operand` may be NULL where the text has no hole. */
const char *tlmc_reason_text(struct tlmc_arena *arena, enum tlmc_reason reason,
                             const char *operand);

/* ---- choose.c */
struct tlmc_candidates { /* of one op, in order of preference */
    TLMC_VEC(const struct tlmc_capsule *) list;
};

struct tlmc_choosing {
    struct tlmc_arena *arena;
    const struct tlmc_catalog *catalog;
    const struct tlmc_profile *profile;
    bool deterministic;
    struct tlmc_candidates by_op[TLMC_OP_COUNT];
};

/* What a capsule is asked to do; graph NULL: nothing in particular. */
struct tlmc_demand {
    const struct tlmc_graph *graph;
    uint32_t node;
    bool gradient; /* a VJP rule ran for the node */
    const struct tlmc_capsule
        *promised; /* forward capsule whose `backend-vjp` covers the node, or NULL */
};

void tlmc_choosing_init(struct tlmc_choosing *choosing, struct tlmc_arena *arena,
                        const struct tlmc_catalog *catalog, const struct tlmc_profile *profile,
                        bool deterministic);
/* NULL: admissible; else the reason, in the arena. */
const char *tlmc_refuse(const struct tlmc_choosing *choosing, const struct tlmc_capsule *capsule,
                        const struct tlmc_demand *demand);
/* Everything that must hold besides trust and evidence. */
const char *tlmc_refuse_technical(const struct tlmc_choosing *choosing,
                                  const struct tlmc_capsule *capsule,
                                  const struct tlmc_demand *demand);
const char *tlmc_refuse_trust(const struct tlmc_choosing *choosing,
                              const struct tlmc_capsule *capsule);
/* The forward node of each VJP rule, by rule number; *count entries, TLMC_NONE where no node has
   it. */
uint32_t *tlmc_rule_nodes(struct tlmc_arena *arena, const struct tlmc_graph *graph,
                          uint32_t *count);
struct tlmc_demand tlmc_demand_of(const struct tlmc_plan_form *form, const uint32_t *rule_nodes,
                                  uint32_t rule_count, uint32_t node);
/* Fills choice and refusals of every node that computes. */
void tlmc_choose(const struct tlmc_choosing *choosing, struct tlmc_plan_form *form);

/* ---- admit.c, workspace.c */
/* NULL: the predicates hold; else the refusal of the first that does not. */
const char *tlmc_admit_refusal(struct tlmc_arena *arena, const struct tlmc_capsule *capsule,
                               const struct tlmc_graph *graph, uint32_t node);
size_t tlmc_workspace_bytes(const struct tlmc_capsule *capsule, const struct tlmc_graph *graph,
                            uint32_t node);

/* ---- audit.c */
/* Does the policy admit the contract's evidence? */
bool tlmc_evidence_admitted(const struct tlmc_assurance *policy,
                            const struct tlmc_contract *contract);
/* Does the capsule owe the slot?  Without a VJP mode nothing is owed for gradients. */
bool tlmc_slot_owed(const struct tlmc_capsule *capsule, enum tlmc_slot slot);
/* The slot whose contract does not claim what it owes, or TLMC_SLOT_COUNT. */
enum tlmc_slot tlmc_misaligned_slot(const struct tlmc_capsule *capsule);
/* Fills the plan's failures: no capsule, planned capsules, missing providers, evidence of
   groups. */
void tlmc_audit(struct tlmc_plan *plan, const struct tlmc_choosing *choosing);

/* ---- group.c, memplan.c */
void tlmc_group(struct tlmc_arena *arena, const struct tlmc_profile *profile,
                struct tlmc_plan_form *form);
void tlmc_memplan_form(struct tlmc_arena *arena, const struct tlmc_module *module,
                       struct tlmc_plan_form *form, const size_t *param_offsets);
void tlmc_memplan_params(struct tlmc_plan *plan);

/* ---- failures.c */
#define TLMC_ANY_FAILURE ((enum tlmc_diag_code)0)
/* The message that a failure stands under. */
enum tlmc_diag_code tlmc_failure_code(const struct tlmc_failure *failure);
/* Told a line; `node`: the first that it is about, NULL: none. */
typedef void tlmc_tell_fn(void *context, const struct tlmc_node *node, const char *line);
/* The failures of one code: a line each with `all`, else one an op and capsule, not too many. */
void tlmc_tell_failures(const struct tlmc_plan *plan, bool all, enum tlmc_diag_code code,
                        tlmc_tell_fn *tell, void *context);

#endif
