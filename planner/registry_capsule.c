/* A `capsule` entry -> struct tlmc_capsule.  Names and symbols go into emitted text, so their bytes
   are bounded here: a symbol is a C identifier, a header a plain path, link flags plain words. */
#include "registry_entry.h"

#include "strbuf.h"

#include <stdio.h>
#include <string.h>

static bool only(const char *text, const char *extra)
{
    size_t i;

    for (i = 0; text[i]; i++) {
        const char c = text[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              strchr(extra, c)))
            return false;
    }
    return i > 0;
}

/* Reports a text whose bytes do not fit its field. */
static void check_bytes(const struct tlmc_reg_reading *r, int id, const char *text,
                        const char *extra, const char *what)
{
    const struct tlmc_reg_field *field = tlmc_reg_find(r, id);

    if (text && !only(text, extra))
        tlmc_report(r->reader->diags, TLMC_E_REGISTRY_FIELD, field->values.items[0].span,
                    "'%s' is not %s", text, what);
}

static bool read_op(const struct tlmc_reg_reading *r, struct tlmc_capsule *capsule, bool *left_out)
{
    const struct tlmc_reg_field *field = tlmc_reg_find(r, TLMC_F_OP);
    const tlmc_sym name = tlmc_reg_text(r, TLMC_F_OP);
    struct tlmc_diag *diag;

    if (!name)
        return false;
    capsule->op = tlmc_op_find(name);
    if (capsule->op != TLMC_OP_COUNT && tlmc_op_info(capsule->op)->family != TLMC_LEAF)
        return true;
    *left_out = tlmc_op_is_planned(name);
    if (*left_out)
        return true;
    diag = tlmc_report(r->reader->diags, TLMC_E_REGISTRY_FIELD, field->values.items[0].span,
                       "unknown op '%s'", name);
    tlmc_hint(r->reader->diags, diag, "'tlmc ops' lists the ops that compute something");
    return false;
}

static void read_numeric(const struct tlmc_reg_reading *r, struct tlmc_numeric *out)
{
    static const struct {
        const char *key;
        enum tlmc_spelled spelled;
    } keys[] = { { "round", TLMC_SPELLED_ROUND },
                 { "subnormal", TLMC_SPELLED_SUBNORMAL },
                 { "contract", TLMC_SPELLED_CONTRACT },
                 { "reduce", TLMC_SPELLED_REDUCE } };
    const struct tlmc_reg_field *field = tlmc_reg_find(r, TLMC_F_NUMERIC);
    int values[4] = { TLMC_ROUND_UNSPECIFIED, TLMC_SUB_UNSPECIFIED, TLMC_CONTRACT_UNSPECIFIED,
                      TLMC_RED_UNSPECIFIED };
    bool given[4] = { false };
    unsigned i, k;

    for (i = 0; i < field->values.count; i++) {
        const struct tlmc_reg_value *value = &field->values.items[i];

        for (k = 0; k < 4 && strcmp(keys[k].key, value->text) != 0; k++)
            continue;
        if (k == 4 || !value->assigned || given[k]) {
            struct tlmc_diag *diag =
                tlmc_report(r->reader->diags, TLMC_E_REGISTRY_FIELD, value->span,
                            k < 4 && given[k] ? "'%s' is given twice"
                                              : "'%s' is no numerical policy",
                            value->text);

            tlmc_hint(r->reader->diags, diag,
                      "write round=.. subnormal=.. contract=.. reduce=.., each once");
            continue;
        }
        given[k] = true;
        values[k] = tlmc_reg_spelled_value(r, value, value->assigned, keys[k].spelled);
    }
    out->rounding = (enum tlmc_rounding)values[0];
    out->subnormal = (enum tlmc_subnormal)values[1];
    out->contract = (enum tlmc_contract_kind)values[2];
    out->reduction = (enum tlmc_reduction)values[3];
}

static void read_dtypes(const struct tlmc_reg_reading *r, struct tlmc_capsule *capsule)
{
    const struct tlmc_reg_field *field = tlmc_reg_find(r, TLMC_F_DTYPE);
    unsigned i;

    capsule->dtype = TLMC_F32;
    capsule->dtypes = 1u << TLMC_F32;
    if (!field)
        return;
    capsule->dtypes = 0;
    for (i = 0; i < field->values.count; i++) {
        const struct tlmc_reg_value *value = &field->values.items[i];
        const enum tlmc_dtype dtype = tlmc_dtype_find(value->text);
        struct tlmc_strbuf known = { 0 };
        struct tlmc_diag *diag;
        int d;

        if (dtype != TLMC_DTYPE_COUNT) {
            if (!capsule->dtypes)
                capsule->dtype = dtype;
            capsule->dtypes |= 1u << dtype;
            continue;
        }
        diag = tlmc_report(r->reader->diags, TLMC_E_REGISTRY_FIELD, value->span,
                           "unknown element type '%s'", value->text);
        for (d = 0; d < TLMC_DTYPE_COUNT; d++)
            tlmc_strbuf_printf(&known, "%s%s", d ? ", " : "", tlmc_dtype_name((enum tlmc_dtype)d));
        tlmc_note(r->reader->diags, diag, (struct tlmc_span){ 0 }, "known: %s",
                  tlmc_strbuf_text(&known));
        tlmc_strbuf_free(&known);
    }
}

static void read_admits(const struct tlmc_reg_reading *r, struct tlmc_capsule *capsule)
{
    unsigned i, k;

    for (i = 0; i < r->entry->fields.count; i++) {
        const struct tlmc_reg_field *field = &r->entry->fields.items[i];

        for (k = 0; field->id == TLMC_F_ADMIT && k < field->values.count; k++) {
            const struct tlmc_reg_value *value = &field->values.items[k];
            const int row = tlmc_admit_find(value->text);

            if (row < 0 || tlmc_admit_takes_argument(row) != value->has_argument) {
                tlmc_report(r->reader->diags, TLMC_E_REGISTRY_FIELD, value->span,
                            row < 0 ? "unknown predicate '%s'"
                            : tlmc_admit_takes_argument(row)
                                ? "predicate '%s' needs a number in brackets"
                                : "predicate '%s' takes no number",
                            value->text);
                continue;
            }
            TLMC_PUSH(r->reader->arena, &capsule->admits,
                      ((struct tlmc_admit){ .predicate = value->text,
                                            .argument = value->argument,
                                            .span = value->span }));
        }
    }
}

/* Claims say what a capsule owes; they follow from slot and op unless an entry words its own. */
static void read_contracts(const struct tlmc_reg_reading *r, struct tlmc_capsule *capsule)
{
    static const int fields[] = { TLMC_F_SHAPE, TLMC_F_LAYOUT, TLMC_F_VALUE, TLMC_F_VJP };
    struct tlmc_strbuf claim = { 0 };
    int slot;

    for (slot = 0; slot < TLMC_SLOT_COUNT; slot++) {
        struct tlmc_contract *contract = &capsule->contracts[slot];
        const struct tlmc_reg_field *field = tlmc_reg_find(r, fields[slot]);

        *contract = (struct tlmc_contract){
            .evidence = TLMC_EV_MISSING, .name = "", .summary = "", .provenance = ""
        };
        if (slot == TLMC_SLOT_VJP && capsule->vjp == TLMC_VJP_NONE) {
            if (field && !field->inherited)
                tlmc_report(r->reader->diags, TLMC_E_REGISTRY_FIELD, field->span,
                            "capsule '%s' promises no VJP (vjp none) but cites evidence for one",
                            r->entry->name);
            contract->claim = "no gradient is claimed";
            continue;
        }
        if (field)
            tlmc_reg_contract(r, field, 0, contract);
        if (contract->claim)
            continue;
        tlmc_strbuf_clear(&claim);
        switch ((enum tlmc_slot)slot) {
        case TLMC_SLOT_SHAPE: tlmc_strbuf_printf(&claim, "shape safety for %s", r->op); break;
        case TLMC_SLOT_LAYOUT:
            tlmc_strbuf_printf(&claim, "flat-row-major layout compatibility for %s", r->op);
            break;
        case TLMC_SLOT_VALUE:
            tlmc_strbuf_printf(&claim, "%s forward refines docs/ops.md %s", r->op, r->op);
            break;
        case TLMC_SLOT_VJP:
            tlmc_strbuf_printf(&claim, "%s %s VJP refines docs/ops.md %s", r->op,
                               tlmc_vjp_mode_name(capsule->vjp), r->op);
            break;
        case TLMC_SLOT_COUNT: break;
        }
        contract->claim = tlmc_intern(r->reader->symbols, tlmc_strbuf_text(&claim));
    }
    tlmc_strbuf_free(&claim);
}

static tlmc_sym text_or_empty(const struct tlmc_reg_reading *r, int id)
{
    const tlmc_sym text = tlmc_reg_text(r, id);

    return text ? text : tlmc_intern(r->reader->symbols, "");
}

static void read_code(const struct tlmc_reg_reading *r, struct tlmc_capsule *capsule)
{
    const int abi = tlmc_reg_spelled(r, TLMC_F_ABI, TLMC_SPELLED_ABI, TLMC_ABI_TEMPLATE);
    const char *need = NULL;

    capsule->abi = (enum tlmc_abi)abi;
    capsule->symbol = tlmc_reg_text(r, TLMC_F_SYMBOL);
    capsule->header = tlmc_reg_text(r, TLMC_F_HEADER);
    capsule->link = text_or_empty(r, TLMC_F_LINK);
    capsule->licence = text_or_empty(r, TLMC_F_LICENCE);
    capsule->notes = text_or_empty(r, TLMC_F_NOTES);
    capsule->workspace = tlmc_reg_text(r, TLMC_F_WORKSPACE);
    check_bytes(r, TLMC_F_SYMBOL, capsule->symbol, "_", "a C identifier");
    check_bytes(r, TLMC_F_HEADER, capsule->header, "_-./+", "a plain path");
    if (*capsule->link)
        check_bytes(r, TLMC_F_LINK, capsule->link, " _-./+=,:", "a list of plain link flags");
    if (capsule->workspace && tlmc_workspace_find(capsule->workspace) < 0)
        tlmc_report(r->reader->diags, TLMC_E_REGISTRY_FIELD,
                    tlmc_reg_find(r, TLMC_F_WORKSPACE)->values.items[0].span,
                    "unknown workspace rule '%s'", capsule->workspace);
    if (capsule->abi == TLMC_ABI_NONE) {
        capsule->symbol = capsule->header = NULL;
        return;
    }
    if (!capsule->symbol)
        need = "symbol";
    else if (!capsule->header && capsule->abi == TLMC_ABI_CALL)
        need = "header";
    if (need && abi >= 0)
        tlmc_report(r->reader->diags, TLMC_E_REGISTRY_FIELD, r->entry->span,
                    "capsule '%s' has no field '%s'", r->entry->name, need);
}

void tlmc_reg_capsule(const struct tlmc_reg_reading *given, struct tlmc_registry *out)
{
    const unsigned before = given->reader->diags->errors;
    struct tlmc_reg_reading reading = *given;
    const struct tlmc_reg_reading *r = &reading;
    struct tlmc_capsule capsule = { .name = r->entry->name,
                                    .span = r->entry->span,
                                    .module = r->reader->module };
    bool left_out = false;

    if (!only(r->entry->name, "_.-"))
        tlmc_report(r->reader->diags, TLMC_E_REGISTRY_FIELD, r->entry->span,
                    "'%s' is not the name of a capsule", r->entry->name);
    if (!read_op(r, &capsule, &left_out))
        return;
    reading.op = tlmc_reg_text(r, TLMC_F_OP);
    capsule.provider = tlmc_reg_text(r, TLMC_F_PROVIDER);
    capsule.device = (enum tlmc_device)tlmc_reg_spelled(r, TLMC_F_DEVICE, TLMC_SPELLED_DEVICE, 0);
    capsule.trust = (enum tlmc_trust)tlmc_reg_spelled(r, TLMC_F_TRUST, TLMC_SPELLED_TRUST, 0);
    capsule.vjp = (enum tlmc_vjp_mode)tlmc_reg_spelled(r, TLMC_F_VJP_MODE, TLMC_SPELLED_VJP, 0);
    capsule.status =
        (enum tlmc_status)tlmc_reg_spelled(r, TLMC_F_STATUS, TLMC_SPELLED_STATUS, TLMC_AVAILABLE);
    capsule.supports_forward = tlmc_reg_spelled(r, TLMC_F_FORWARD, TLMC_SPELLED_YES_NO, 1) == 1;
    capsule.arithmetic = tlmc_reg_text(r, TLMC_F_ARITHMETIC);
    check_bytes(r, TLMC_F_ARITHMETIC, capsule.arithmetic, "_.-", "an arithmetic id");
    read_numeric(r, &capsule.numeric);
    read_dtypes(r, &capsule);
    if (r->reader->diags->errors != before)
        return;
    read_contracts(r, &capsule);
    read_admits(r, &capsule);
    capsule.accepts = tlmc_reg_bits(r, TLMC_F_ACCEPTS, TLMC_SPELLED_ACCEPTS);
    capsule.fuses = tlmc_reg_bits(r, TLMC_F_FUSES, TLMC_SPELLED_FUSES);
    read_code(r, &capsule);
    /* An entry for an op of the design that has no row yet is checked and left out. */
    if (r->reader->diags->errors == before && !left_out)
        TLMC_PUSH(r->reader->arena, &out->capsules, capsule);
}
