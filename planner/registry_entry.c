/* Field tables of the entry kinds, and what their readers share: finding a field, its words and
   spellings.  Every refusal names the entry and lists what is known. */
#include "registry_entry.h"

#include "strbuf.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const struct tlmc_reg_row capsule_rows[] = {
    [TLMC_F_OP] = { "op", true, false },
    [TLMC_F_PROVIDER] = { "provider", true, false },
    [TLMC_F_DEVICE] = { "device", true, false },
    [TLMC_F_TRUST] = { "trust", true, false },
    [TLMC_F_VJP_MODE] = { "vjp", true, false },
    [TLMC_F_NUMERIC] = { "numeric", true, false },
    [TLMC_F_ARITHMETIC] = { "arithmetic", true, false },
    [TLMC_F_FORWARD] = { "forward", false, false },
    [TLMC_F_SHAPE] = { "shape", false, false },
    [TLMC_F_LAYOUT] = { "layout", false, false },
    [TLMC_F_VALUE] = { "value", false, false },
    [TLMC_F_VJP] = { "vjp", false, false },
    [TLMC_F_DTYPE] = { "dtype", false, false },
    [TLMC_F_WORKSPACE] = { "workspace", false, false },
    [TLMC_F_ADMIT] = { "admit", false, true },
    [TLMC_F_ACCEPTS] = { "accepts", false, false },
    [TLMC_F_FUSES] = { "fuses", false, false },
    [TLMC_F_SYMBOL] = { "symbol", false, false },
    [TLMC_F_HEADER] = { "header", false, false },
    [TLMC_F_LINK] = { "link", false, false },
    [TLMC_F_ABI] = { "abi", false, false },
    [TLMC_F_LICENCE] = { "licence", false, false },
    [TLMC_F_STATUS] = { "status", false, false },
    [TLMC_F_NOTES] = { "notes", false, false },
};

static const struct tlmc_reg_row profile_rows[] = {
    [TLMC_P_DEVICE] = { "device", true, false },
    [TLMC_P_BACKEND] = { "backend", false, false },
    [TLMC_P_ASSURANCE] = { "assurance", true, false },
    [TLMC_P_VJP] = { "vjp", false, false },
    [TLMC_P_MODULES] = { "modules", true, false },
    [TLMC_P_ALLOW] = { "allow", false, false },
    [TLMC_P_REQUIRE_EVIDENCE] = { "require_evidence", false, false },
    [TLMC_P_LOWERING] = { "lowering", false, false },
    [TLMC_P_DETERMINISTIC] = { "deterministic", false, false },
    [TLMC_P_DEFAULT] = { "default", false, false },
    [TLMC_P_SUMMARY] = { "summary", false, false },
};

static const struct tlmc_reg_row provider_rows[] = {
    [TLMC_V_IN_BUILD] = { "in_build", true, false },
    [TLMC_V_LICENCE] = { "licence", false, false },
    [TLMC_V_REASON] = { "reason", false, false },
    [TLMC_V_GROUP] = { "group", false, true },
};

#define ROWS(rows) rows, (int)(sizeof(rows) / sizeof *(rows))

static const struct tlmc_reg_kind kinds[] = {
    { "capsule", TLMC_REG_CAPSULE, ROWS(capsule_rows) },
    { "profile", TLMC_REG_PROFILE, ROWS(profile_rows) },
    { "provider", TLMC_REG_PROVIDER, ROWS(provider_rows) },
    { "defaults", TLMC_REG_DEFAULTS, ROWS(capsule_rows) },
};

const struct tlmc_reg_kind *tlmc_reg_kind_find(const char *name)
{
    size_t i;

    for (i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

/* `vjp MODE;` and `vjp EVIDENCE "name";` are two fields of one name. */
static bool is_vjp_contract(const struct tlmc_reg_field *field)
{
    return field->values.count > 1 ||
           tlmc_spelling_find(TLMC_SPELLED_EVIDENCE, field->values.items[0].text) >= 0;
}

static void report_unknown_field(const struct tlmc_registry_reader *reader,
                                 const struct tlmc_reg_kind *kind,
                                 const struct tlmc_reg_entry *entry, tlmc_sym name,
                                 struct tlmc_span span)
{
    struct tlmc_diag *diag =
        tlmc_report(reader->diags, TLMC_E_REGISTRY_FIELD, span,
                    "%s '%s' has a field '%s', which is unknown", kind->name, entry->name, name);
    struct tlmc_strbuf known = { 0 };
    int i;

    for (i = 0; i < kind->count; i++)
        if (i == 0 || strcmp(kind->rows[i].name, "vjp") != 0 || i < TLMC_F_VJP ||
            kind->rows != capsule_rows)
            tlmc_strbuf_printf(&known, "%s%s", i ? ", " : "", kind->rows[i].name);
    tlmc_note(reader->diags, diag, (struct tlmc_span){ 0 }, "known fields: %s",
              tlmc_strbuf_text(&known));
    tlmc_strbuf_free(&known);
}

int tlmc_reg_field_id(const struct tlmc_registry_reader *reader, const struct tlmc_reg_kind *kind,
                      const struct tlmc_reg_entry *entry, tlmc_sym name,
                      const struct tlmc_reg_field *field)
{
    unsigned i;
    int id;

    for (id = 0; id < kind->count && strcmp(kind->rows[id].name, name) != 0; id++)
        continue;
    if (id == kind->count) {
        report_unknown_field(reader, kind, entry, name, field->span);
        return -1;
    }
    if (kind->rows == capsule_rows && id == TLMC_F_VJP_MODE && is_vjp_contract(field))
        id = TLMC_F_VJP;
    for (i = 0; i < entry->fields.count && !kind->rows[id].repeats; i++)
        if (entry->fields.items[i].id == id) {
            struct tlmc_diag *diag =
                tlmc_report(reader->diags, TLMC_E_REGISTRY_FIELD, field->span,
                            "%s '%s' has the field '%s' twice", kind->name, entry->name, name);

            tlmc_note(reader->diags, diag, entry->fields.items[i].span, "first given here");
            return -1;
        }
    return id;
}

/* ---- what the readers of entries share */

const struct tlmc_reg_field *tlmc_reg_find(const struct tlmc_reg_reading *r, int id)
{
    unsigned i;

    for (i = 0; i < r->entry->fields.count; i++)
        if (r->entry->fields.items[i].id == id)
            return &r->entry->fields.items[i];
    return NULL;
}

/* {op} put in. */
static tlmc_sym fill_op(const struct tlmc_reg_reading *r, tlmc_sym text)
{
    const char *hole = r->op ? strstr(text, "{op}") : NULL;
    struct tlmc_strbuf buf = { 0 };
    const char *at = text;
    tlmc_sym filled;

    if (!hole)
        return text;
    for (; hole; hole = strstr(at, "{op}")) {
        tlmc_strbuf_add_n(&buf, at, (size_t)(hole - at));
        tlmc_strbuf_add(&buf, r->op);
        at = hole + 4;
    }
    tlmc_strbuf_add(&buf, at);
    filled = tlmc_intern(r->reader->symbols, tlmc_strbuf_text(&buf));
    tlmc_strbuf_free(&buf);
    return filled;
}

tlmc_sym tlmc_reg_text(const struct tlmc_reg_reading *r, int id)
{
    const struct tlmc_reg_field *field = tlmc_reg_find(r, id);
    const struct tlmc_reg_value *value;

    if (!field)
        return NULL;
    value = &field->values.items[0];
    if (field->values.count != 1 || value->assigned || value->has_argument) {
        tlmc_report(r->reader->diags, TLMC_E_REGISTRY_FIELD, field->span,
                    "field '%s' of %s '%s' takes one word or string", r->kind->rows[id].name,
                    r->kind->name, r->entry->name);
        return NULL;
    }
    return fill_op(r, value->text);
}

int tlmc_reg_spelled_value(const struct tlmc_reg_reading *r, const struct tlmc_reg_value *value,
                           const char *text, enum tlmc_spelled spelled)
{
    const struct tlmc_spellings *known = tlmc_spellings_of(spelled);
    const int found = tlmc_spelling_find(spelled, text);

    if (found < 0) {
        struct tlmc_diag *diag = tlmc_report(r->reader->diags, TLMC_E_REGISTRY_FIELD, value->span,
                                             "unknown %s '%s'", known->kind, text);
        struct tlmc_strbuf list = { 0 };
        int i;

        for (i = 0; i < known->count; i++)
            tlmc_strbuf_printf(&list, "%s%s", i ? ", " : "", known->names[i]);
        tlmc_note(r->reader->diags, diag, (struct tlmc_span){ 0 }, "known: %s",
                  tlmc_strbuf_text(&list));
        tlmc_strbuf_free(&list);
    }
    return found;
}

int tlmc_reg_spelled(const struct tlmc_reg_reading *r, int id, enum tlmc_spelled spelled,
                     int absent)
{
    const struct tlmc_reg_field *field = tlmc_reg_find(r, id);
    tlmc_sym text;

    if (!field)
        return absent;
    text = tlmc_reg_text(r, id);
    return text ? tlmc_reg_spelled_value(r, &field->values.items[0], text, spelled) : -1;
}

uint32_t tlmc_reg_bits(const struct tlmc_reg_reading *r, int id, enum tlmc_spelled spelled)
{
    const struct tlmc_reg_field *field = tlmc_reg_find(r, id);
    uint32_t bits = 0;
    unsigned i;

    for (i = 0; field && i < field->values.count; i++) {
        const struct tlmc_reg_value *value = &field->values.items[i];
        int found;

        if (strcmp(value->text, "none") == 0)
            continue;
        found = tlmc_reg_spelled_value(r, value, value->text, spelled);
        if (found >= 0)
            bits |= 1u << found;
    }
    return bits;
}

/* A user's evidence is a file beside the registry file, or a test of ours by name. */
static bool evidence_exists(const struct tlmc_registry_reader *reader, const char *name)
{
    const char *path = tlmc_sources_get(reader->diags->sources, reader->file)->path;
    const char *slash = strrchr(path, '/');
    struct tlmc_strbuf full = { 0 };
    struct stat info;
    bool exists;

    if (tlmc_names_own_test(name))
        return true; /* looked up when the catalog is complete */
    if (slash && name[0] != '/')
        tlmc_strbuf_add_n(&full, path, (size_t)(slash - path) + 1);
    tlmc_strbuf_add(&full, name);
    exists = stat(tlmc_strbuf_text(&full), &info) == 0;
    tlmc_strbuf_free(&full);
    return exists;
}

static void check_evidence(const struct tlmc_reg_reading *r, const struct tlmc_reg_value *value,
                           const struct tlmc_contract *contract)
{
    struct tlmc_diag *diag;

    if (!r->reader->user || contract->evidence == TLMC_EV_GUARD ||
        contract->evidence == TLMC_EV_TRUSTED || contract->evidence == TLMC_EV_MISSING ||
        evidence_exists(r->reader, contract->name))
        return;
    diag = tlmc_report(r->reader->diags, TLMC_E_EVIDENCE, value->span,
                       "evidence '%s' of %s '%s' does not exist", contract->name, r->kind->name,
                       r->entry->name);
    tlmc_hint(r->reader->diags, diag, "name a file, relative to this one, that holds the %s",
              tlmc_evidence_name(contract->evidence));
}

/* claim "...", summary "...", source "..." */
static void contract_text(const struct tlmc_reg_reading *r, const struct tlmc_reg_value *key,
                          const char *text, struct tlmc_contract *out)
{
    if (strcmp(key->text, "claim") == 0)
        out->claim = text;
    else if (strcmp(key->text, "summary") == 0)
        out->summary = text;
    else if (strcmp(key->text, "source") == 0)
        out->provenance = text;
    else
        tlmc_report(r->reader->diags, TLMC_E_REGISTRY_FIELD, key->span,
                    "a contract has claim, summary and source beside its evidence, not '%s'",
                    key->text);
}

void tlmc_reg_contract(const struct tlmc_reg_reading *r, const struct tlmc_reg_field *field,
                       unsigned from, struct tlmc_contract *out)
{
    const struct tlmc_reg_value *values = field->values.items;
    unsigned i = from;
    int kind;

    if (i >= field->values.count) {
        tlmc_report(r->reader->diags, TLMC_E_REGISTRY_FIELD, field->span,
                    "field '%s' of %s '%s' needs its evidence", r->kind->rows[field->id].name,
                    r->kind->name, r->entry->name);
        return;
    }
    kind = tlmc_reg_spelled_value(r, &values[i], values[i].text, TLMC_SPELLED_EVIDENCE);
    if (kind < 0)
        return;
    out->evidence = (enum tlmc_evidence)kind;
    i++;
    if (out->evidence != TLMC_EV_MISSING) {
        if (i >= field->values.count || !values[i].is_string || !*values[i].text) {
            tlmc_report(r->reader->diags, TLMC_E_REGISTRY_FIELD, values[i - 1].span,
                        "'%s' is followed by the name of the evidence, a string",
                        tlmc_evidence_name(out->evidence));
            return;
        }
        out->name = fill_op(r, values[i].text);
        check_evidence(r, &values[i], out);
        i++;
    }
    for (; i < field->values.count; i += 2) {
        if (i + 1 >= field->values.count || values[i].is_string || !values[i + 1].is_string) {
            tlmc_report(
                r->reader->diags, TLMC_E_REGISTRY_FIELD, values[i].span,
                "after its evidence a contract has pairs: claim, summary or source, and a string");
            return;
        }
        contract_text(r, &values[i], fill_op(r, values[i + 1].text), out);
    }
}

static bool report_missing_fields(const struct tlmc_reg_reading *r)
{
    bool missing = false;
    int id;

    for (id = 0; id < r->kind->count; id++)
        if (r->kind->rows[id].required && !tlmc_reg_find(r, id)) {
            missing = true;
            tlmc_report(r->reader->diags, TLMC_E_REGISTRY_FIELD, r->entry->span,
                        "%s '%s' has no field '%s'", r->kind->name, r->entry->name,
                        r->kind->rows[id].name);
        }
    return missing;
}

void tlmc_reg_entry_read(const struct tlmc_registry_reader *reader,
                         const struct tlmc_reg_kind *kind, const struct tlmc_reg_entry *entry,
                         struct tlmc_registry *out)
{
    const struct tlmc_reg_reading r = { .reader = reader, .kind = kind, .entry = entry };

    if (report_missing_fields(&r))
        return;
    switch (kind->what) {
    case TLMC_REG_CAPSULE: tlmc_reg_capsule(&r, out); return;
    case TLMC_REG_PROFILE: tlmc_reg_profile(&r, out); return;
    case TLMC_REG_PROVIDER: tlmc_reg_provider(&r, out); return;
    case TLMC_REG_DEFAULTS: return;
    }
    TLMC_UNREACHABLE();
}
