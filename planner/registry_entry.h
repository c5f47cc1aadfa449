/* Inside the planner room: the kinds of registry entries, their fields, and how an entry becomes a
   struct. */
#ifndef TLMC_PLANNER_REGISTRY_ENTRY_H
#define TLMC_PLANNER_REGISTRY_ENTRY_H

#include "registry.h"

enum tlmc_reg_what { TLMC_REG_CAPSULE, TLMC_REG_PROFILE, TLMC_REG_PROVIDER, TLMC_REG_DEFAULTS };

struct tlmc_reg_kind {
    const char *name; /* "capsule" */
    enum tlmc_reg_what what;
    const struct tlmc_reg_row *rows;
    int count;
};

const struct tlmc_reg_kind *tlmc_reg_kind_find(const char *name);
/* The row of a field just read; -1 when it is unknown or repeated (reported). */
int tlmc_reg_field_id(const struct tlmc_registry_reader *reader, const struct tlmc_reg_kind *kind,
                      const struct tlmc_reg_entry *entry, tlmc_sym name,
                      const struct tlmc_reg_field *field);
/* Appends the entry to `out` unless something in it was reported. */
void tlmc_reg_entry_read(const struct tlmc_registry_reader *reader,
                         const struct tlmc_reg_kind *kind, const struct tlmc_reg_entry *entry,
                         struct tlmc_registry *out);

/* ---- shared by the readers of entries */
struct tlmc_reg_reading { /* one entry being read */
    const struct tlmc_registry_reader *reader;
    const struct tlmc_reg_kind *kind;
    const struct tlmc_reg_entry *entry;
    const char *op; /* what `{op}` stands for; NULL: nothing */
};

const struct tlmc_reg_field *tlmc_reg_find(const struct tlmc_reg_reading *r, int id);
/* The text of the field's only value, NULL when the field is absent or has several (reported). */
tlmc_sym tlmc_reg_text(const struct tlmc_reg_reading *r, int id);
/* Index of a spelling, or `absent` without the field, or -1 after a report. */
int tlmc_reg_spelled(const struct tlmc_reg_reading *r, int id, enum tlmc_spelled spelled,
                     int absent);
int tlmc_reg_spelled_value(const struct tlmc_reg_reading *r, const struct tlmc_reg_value *value,
                           const char *text, enum tlmc_spelled spelled);
/* Bits of the spellings a field lists; "none" is no bit. */
uint32_t tlmc_reg_bits(const struct tlmc_reg_reading *r, int id, enum tlmc_spelled spelled);
/* EVIDENCE "name" [claim "..."] [summary "..."] [source "..."], from value `from` on. */
void tlmc_reg_contract(const struct tlmc_reg_reading *r, const struct tlmc_reg_field *field,
                       unsigned from, struct tlmc_contract *out);

void tlmc_reg_capsule(const struct tlmc_reg_reading *r, struct tlmc_registry *out);
void tlmc_reg_profile(const struct tlmc_reg_reading *r, struct tlmc_registry *out);
void tlmc_reg_provider(const struct tlmc_reg_reading *r, struct tlmc_registry *out);

enum { /* fields of a capsule, in the order of its rows */
       TLMC_F_OP,
       TLMC_F_PROVIDER,
       TLMC_F_DEVICE,
       TLMC_F_TRUST,
       TLMC_F_VJP_MODE,
       TLMC_F_NUMERIC,
       TLMC_F_ARITHMETIC,
       TLMC_F_FORWARD,
       TLMC_F_SHAPE,
       TLMC_F_LAYOUT,
       TLMC_F_VALUE,
       TLMC_F_VJP,
       TLMC_F_DTYPE,
       TLMC_F_WORKSPACE,
       TLMC_F_ADMIT,
       TLMC_F_ACCEPTS,
       TLMC_F_FUSES,
       TLMC_F_SYMBOL,
       TLMC_F_HEADER,
       TLMC_F_LINK,
       TLMC_F_ABI,
       TLMC_F_LICENCE,
       TLMC_F_STATUS,
       TLMC_F_NOTES
};

enum { /* fields of a profile */
       TLMC_P_DEVICE,
       TLMC_P_BACKEND,
       TLMC_P_ASSURANCE,
       TLMC_P_VJP,
       TLMC_P_MODULES,
       TLMC_P_ALLOW,
       TLMC_P_REQUIRE_EVIDENCE,
       TLMC_P_LOWERING,
       TLMC_P_DETERMINISTIC,
       TLMC_P_DEFAULT,
       TLMC_P_SUMMARY
};

enum { /* fields of a provider */
       TLMC_V_IN_BUILD,
       TLMC_V_LICENCE,
       TLMC_V_REASON,
       TLMC_V_GROUP
};

struct tlmc_reg_row {
    const char *name;
    bool required, repeats;
};

#endif
