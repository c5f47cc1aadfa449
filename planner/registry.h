/* Inside the planner room: reading registry texts.  In: one file of the sources.  Out: its
   capsules, profiles and providers.  Refuses with a place whatever is unknown, missing, repeated or
   malformed; never recurses. */
#ifndef TLMC_PLANNER_REGISTRY_H
#define TLMC_PLANNER_REGISTRY_H

#include "capsule.h"

/* ---- spellings (enums.def) */
enum tlmc_spelled {
    TLMC_SPELLED_DEVICE,
    TLMC_SPELLED_TRUST,
    TLMC_SPELLED_VJP,
    TLMC_SPELLED_ROUND,
    TLMC_SPELLED_SUBNORMAL,
    TLMC_SPELLED_CONTRACT,
    TLMC_SPELLED_REDUCE,
    TLMC_SPELLED_EVIDENCE,
    TLMC_SPELLED_STATUS,
    TLMC_SPELLED_ABI,
    TLMC_SPELLED_PREFERENCE,
    TLMC_SPELLED_LOWERING,
    TLMC_SPELLED_ASSURANCE,
    TLMC_SPELLED_ACCEPTS,
    TLMC_SPELLED_FUSES,
    TLMC_SPELLED_YES_NO
};

struct tlmc_spellings {
    const char *kind; /* "trust level" */
    const char *const *names;
    int count;
};

const struct tlmc_spellings *tlmc_spellings_of(enum tlmc_spelled spelled);
int tlmc_spelling_find(enum tlmc_spelled spelled, const char *text); /* -1: unknown */
bool tlmc_assurance_preset(const char *name, struct tlmc_assurance *out);

/* ---- tokens */
enum tlmc_reg_token { TLMC_REG_END, TLMC_REG_WORD, TLMC_REG_STRING, TLMC_REG_PUNCT, TLMC_REG_BAD };

struct tlmc_reg_scanner {
    struct tlmc_arena *arena;
    struct tlmc_symtab *symbols;
    struct tlmc_diags *diags;
    const char *text;
    uint32_t length, at, file;
    /* the current token */
    enum tlmc_reg_token token;
    tlmc_sym word; /* WORD, STRING: its text, escapes resolved */
    char punct;    /* PUNCT: one of { } ; , = ( ) */
    struct tlmc_span span;
};

void tlmc_reg_scanner_init(struct tlmc_reg_scanner *scanner, struct tlmc_arena *arena,
                           struct tlmc_symtab *symbols, struct tlmc_diags *diags, uint32_t file);
/* Moves to the next token.  BAD was reported and ends the file. */
void tlmc_reg_next(struct tlmc_reg_scanner *scanner);

/* ---- statements: `KIND NAME { field values; ... }` as plain data */
struct tlmc_reg_value {
    tlmc_sym text;
    tlmc_sym assigned; /* NAME=assigned, else NULL */
    bool is_string, has_argument;
    int64_t argument; /* NAME(argument) */
    struct tlmc_span span;
};

struct tlmc_reg_field {
    int id;         /* row of the entry kind's field table */
    bool inherited; /* from a `defaults` block */
    struct tlmc_span span;
    TLMC_VEC(struct tlmc_reg_value) values;
};

struct tlmc_reg_entry {
    tlmc_sym name;
    struct tlmc_span span; /* of the name */
    TLMC_VEC(struct tlmc_reg_field) fields;
};

typedef TLMC_VEC(struct tlmc_capsule) tlmc_capsule_vec;
typedef TLMC_VEC(struct tlmc_profile) tlmc_profile_vec;
typedef TLMC_VEC(struct tlmc_provider) tlmc_provider_vec;

struct tlmc_registry { /* what one file holds */
    tlmc_capsule_vec capsules;
    tlmc_profile_vec profiles;
    tlmc_provider_vec providers;
};

struct tlmc_registry_reader {
    struct tlmc_arena *arena;
    struct tlmc_symtab *symbols;
    struct tlmc_diags *diags;
    tlmc_sym module; /* stamped on the capsules */
    bool user;       /* evidence must exist as a file or be a test of ours */
    uint32_t file;
};

/* False when anything was reported. */
bool tlmc_registry_read(const struct tlmc_registry_reader *reader, struct tlmc_registry *out);

/* ---- predicates of `admit` lines and workspace rules (admit.def, workspace.def) */
int tlmc_admit_find(const char *predicate); /* -1: unknown */
bool tlmc_admit_takes_argument(int predicate);
int tlmc_workspace_find(const char *rule); /* -1: unknown */

#endif
