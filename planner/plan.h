/* Plans.  In: a module whose passes have run, a catalog, a profile.  Out: an accepted plan, the
   only thing codegen takes; tlmc_plan_accept is its only constructor and repeats every check.  A
   plan that is not accepted can still be printed, with its refusals.  Memory: the module's arena;
   plans are immutable once made. */
#ifndef TLMC_PLANNER_PLAN_H
#define TLMC_PLANNER_PLAN_H

#include "capsule.h"

/* Why a capsule was not taken for a node: rows of reasons.def. */
struct tlmc_refusal {
    const struct tlmc_capsule *capsule;
    const char *text; /* "trust-not-admitted(trusted-external)" */
};

/* Where a value lives while the program runs. */
enum tlmc_place {
    TLMC_PLACE_NONE,    /* never stored: inside a fused loop, or a folded node */
    TLMC_PLACE_LITERAL, /* constant of rank 0, or a broadcast of one: printed as a number */
    TLMC_PLACE_TABLE,   /* constant tensor: a static const array */
    TLMC_PLACE_WEIGHTS, /* the leaf of a parameter or saved state: slot */
    TLMC_PLACE_STATE,   /* the leaf of an optimizer state, accumulator or transient state: slot */
    TLMC_PLACE_SCALAR,  /* step scalar: slot */
    TLMC_PLACE_ARENA    /* offset in the activations block */
};

struct tlmc_placement {
    enum tlmc_place place;
    uint32_t
        storage;   /* the value that owns the memory: itself, or the one it views or overwrites */
    size_t offset; /* ARENA: bytes from its start, a multiple of TLMC_ALIGN */
    size_t bytes;
    uint32_t first_step, last_step; /* ARENA: lifetime of the storage, in steps of the form */
};

enum { TLMC_ALIGN = 64 };
/* Terms of one tree64 (docs/numerics.md, Sums): workspaces are counted in them. */
enum { TLMC_SUM_CHUNK = 4096 };

enum tlmc_step_kind {
    TLMC_STEP_NOTHING,   /* view, constant or folded node: no code; the note says what */
    TLMC_STEP_CALL,      /* one node (its folded neighbours besides): one kernel call; or several of
                            one provider that read one value and not each other: one launch */
    TLMC_STEP_POINTWISE, /* pointwise and broadcast nodes of one loop; for each element it reads
                            all, then stores */
    TLMC_STEP_UPDATES    /* UPDATE nodes of one op, kernel and element type: a table of tensors for
                            a loop or a launch */
};

/* The most calls of one launch: a block first passes over the blocks of those before its own. */
enum { TLMC_LAUNCH_MAX = 4 };

struct tlmc_step {
    enum tlmc_step_kind kind;
    enum tlmc_phase phase;
    uint32_t *nodes; /* ascending, in UPDATES within a kind; the first one, the lowest, names the
                        step.  Leaves stand in no step.  A broadcast that only loops read stands in
                        each of them: the loop reads the broadcast's operand, nothing is stored */
    uint32_t node_count;
    const uint32_t *kinds; /* UPDATES: where the nodes of each kind, with the same options, operands
                              present and step scalars, begin in `nodes`; then node_count */
    uint32_t kind_count;   /* 0 in other steps */
    const char *note;      /* "folded into matmul, transpose_b", "view, no code"; NULL: none */
    bool transpose_a, transpose_b; /* MATMUL calls: the operand is read through a folded permute */
    uint32_t
        operands[2]; /* MATMUL calls: the values really read (the permute's input when folded) */
    size_t workspace_offset, workspace_bytes;
};

/* The highest node of a step. */
uint32_t tlmc_step_last(const struct tlmc_step *step);

struct tlmc_plan_form {
    const struct tlmc_form *form;
    const struct tlmc_capsule *
        *choice; /* a node: its capsule; NULL for leaves and when nothing was admissible */
    struct tlmc_refusal *
        *refusals; /* a node: every other capsule of its op, array ended by a NULL capsule */
    struct tlmc_step *steps;
    uint32_t step_count;
    struct tlmc_placement *values; /* a value each */
    size_t arena_bytes;            /* planned peak, a multiple of TLMC_ALIGN */
    size_t lower_bound;            /* the largest sum of live bytes at any step */
};

struct tlmc_failure { /* one reason the gate did not accept; of several equal ones the first */
    const struct tlmc_plan_form *form;  /* NULL: of the whole plan */
    uint32_t node;                      /* TLMC_NONE: of no node */
    const struct tlmc_capsule *capsule; /* NULL: no admissible capsule */
    const char *text;
};

struct tlmc_plan {
    const struct tlmc_module *module;
    const struct tlmc_catalog *catalog;
    const struct tlmc_profile *profile;
    struct tlmc_plan_form *forms; /* one for each form of the module (or of the entry asked for) */
    uint32_t form_count;
    struct tlmc_failure *failures;
    uint32_t failure_count;
    bool deterministic;
    size_t weights_bytes, state_bytes, activations_bytes;
    size_t *param_offsets; /* of each module param in its block, a multiple of TLMC_ALIGN */
};

struct tlmc_plan_options {
    const char *device;  /* NULL: the profile's, or cpu */
    const char *profile; /* NULL: the device's default */
    /* NULL-terminated; NULL: all.  "infer" leaves train and eval forms out. */
    const char *const *only_entries;
    bool deterministic;
};

/* Chooses, groups, lays out memory and audits.  NULL when the device or profile is refused
   (reported to diags); else a plan, whose failures say why it would not be accepted. */
struct tlmc_plan *tlmc_plan_make(const struct tlmc_module *module,
                                 const struct tlmc_catalog *catalog,
                                 const struct tlmc_plan_options *options, struct tlmc_diags *diags);

/* An accepted plan: opaque, made by tlmc_plan_accept alone, which repeats the admissibility of
   every choice.  NULL when the plan has failures (reported to diags) or a capsule is `status
   planned`. */
typedef struct tlmc_accepted_plan tlmc_accepted_plan;
const tlmc_accepted_plan *tlmc_plan_accept(const struct tlmc_plan *plan, struct tlmc_diags *diags);
const struct tlmc_plan *tlmc_accepted(const tlmc_accepted_plan *plan);

/* ---- reports */
struct tlmc_strbuf;
struct tlmc_report_options {
    bool explain, contracts, steps;
};
void tlmc_plan_text(const struct tlmc_plan *plan, const struct tlmc_report_options *options,
                    struct tlmc_strbuf *out);
void tlmc_plan_json(const struct tlmc_plan *plan, struct tlmc_strbuf *out);
void tlmc_plan_dot(const struct tlmc_plan *plan, struct tlmc_strbuf *out);

#endif
