/* `profile` and `provider` entries -> structs. */
#include "registry_entry.h"

#include <string.h>

static void read_backend(const struct tlmc_reg_reading *r, struct tlmc_profile *profile)
{
    const struct tlmc_reg_field *field = tlmc_reg_find(r, TLMC_P_BACKEND);
    unsigned i;
    int kind;

    profile->preference = TLMC_PREFER_AUTO;
    if (!field)
        return;
    kind = tlmc_reg_spelled_value(r, &field->values.items[0], field->values.items[0].text,
                                  TLMC_SPELLED_PREFERENCE);
    if (kind < 0)
        return;
    profile->preference = (enum tlmc_preference)kind;
    if ((kind == TLMC_PREFER_AUTO) != (field->values.count == 1))
        tlmc_report(r->reader->diags, TLMC_E_REGISTRY_FIELD, field->span,
                    kind == TLMC_PREFER_AUTO ? "'auto' names no provider"
                                             : "'%s' is followed by its providers",
                    field->values.items[0].text);
    for (i = 1; i < field->values.count; i++)
        TLMC_PUSH(r->reader->arena, &profile->preferred, field->values.items[i].text);
}

static void read_assurance(const struct tlmc_reg_reading *r, struct tlmc_assurance *out)
{
    static const char *const flags[] = { "checked", "fuzzed", "trusted-external", "guards",
                                         "tests" };
    bool *const targets[] = { &out->allow_checked, &out->allow_fuzzed, &out->allow_trusted_external,
                              &out->allow_guards, &out->allow_tests };
    const tlmc_sym name = tlmc_reg_text(r, TLMC_P_ASSURANCE);
    const struct tlmc_reg_field *allow = tlmc_reg_find(r, TLMC_P_ALLOW);
    const struct tlmc_reg_field *require = tlmc_reg_find(r, TLMC_P_REQUIRE_EVIDENCE);
    const bool custom = name && strcmp(name, "custom") == 0;
    unsigned i, k;

    *out = (struct tlmc_assurance){ .require_evidence = true };
    if (!name || tlmc_reg_spelled(r, TLMC_P_ASSURANCE, TLMC_SPELLED_ASSURANCE, 0) < 0)
        return;
    tlmc_assurance_preset(name, out);
    if (!custom && (allow || require)) {
        tlmc_report(r->reader->diags, TLMC_E_REGISTRY_FIELD, (allow ? allow : require)->span,
                    "only 'assurance custom' has flags of its own");
        return;
    }
    if (require)
        out->require_evidence =
            tlmc_reg_spelled(r, TLMC_P_REQUIRE_EVIDENCE, TLMC_SPELLED_YES_NO, 1) == 1;
    for (i = 0; allow && i < allow->values.count; i++) {
        for (k = 0; k < 5 && strcmp(flags[k], allow->values.items[i].text) != 0; k++)
            continue;
        if (k < 5)
            *targets[k] = true;
        else
            tlmc_report(
                r->reader->diags, TLMC_E_REGISTRY_FIELD, allow->values.items[i].span,
                "unknown flag '%s'; known: checked, fuzzed, trusted-external, guards, tests",
                allow->values.items[i].text);
    }
}

void tlmc_reg_profile(const struct tlmc_reg_reading *r, struct tlmc_registry *out)
{
    const unsigned before = r->reader->diags->errors;
    const struct tlmc_reg_field *modules = tlmc_reg_find(r, TLMC_P_MODULES);
    struct tlmc_profile profile = { .name = r->entry->name, .span = r->entry->span };
    unsigned i;

    profile.device = (enum tlmc_device)tlmc_reg_spelled(r, TLMC_P_DEVICE, TLMC_SPELLED_DEVICE, 0);
    profile.vjp =
        (enum tlmc_vjp_mode)tlmc_reg_spelled(r, TLMC_P_VJP, TLMC_SPELLED_VJP, TLMC_VJP_GRAPH);
    profile.coalesced = tlmc_reg_spelled(r, TLMC_P_LOWERING, TLMC_SPELLED_LOWERING, 1) == 1;
    profile.deterministic = tlmc_reg_spelled(r, TLMC_P_DETERMINISTIC, TLMC_SPELLED_YES_NO, 0) == 1;
    profile.is_default = tlmc_reg_spelled(r, TLMC_P_DEFAULT, TLMC_SPELLED_YES_NO, 0) == 1;
    profile.summary = tlmc_reg_text(r, TLMC_P_SUMMARY);
    if (!profile.summary)
        profile.summary = "";
    read_backend(r, &profile);
    read_assurance(r, &profile.assurance);
    for (i = 0; i < modules->values.count; i++)
        TLMC_PUSH(r->reader->arena, &profile.modules, modules->values.items[i].text);
    if (r->reader->diags->errors == before)
        TLMC_PUSH(r->reader->arena, &out->profiles, profile);
}

/* group KIND EVIDENCE "name"; */
static void read_group(const struct tlmc_reg_reading *r, const struct tlmc_reg_field *field,
                       struct tlmc_provider *provider)
{
    struct tlmc_group_evidence group = { .kind = field->values.items[0].text,
                                         .contract = { .evidence = TLMC_EV_MISSING,
                                                       .name = "",
                                                       .claim = "grouping moves no rounding point",
                                                       .summary = "",
                                                       .provenance = "" } };

    tlmc_reg_contract(r, field, 1, &group.contract);
    TLMC_PUSH(r->reader->arena, &provider->groups, group);
}

void tlmc_reg_provider(const struct tlmc_reg_reading *r, struct tlmc_registry *out)
{
    const unsigned before = r->reader->diags->errors;
    struct tlmc_provider provider = { .name = r->entry->name, .span = r->entry->span };
    const tlmc_sym licence = tlmc_reg_text(r, TLMC_V_LICENCE),
                   reason = tlmc_reg_text(r, TLMC_V_REASON);
    unsigned i;

    provider.in_build = tlmc_reg_spelled(r, TLMC_V_IN_BUILD, TLMC_SPELLED_YES_NO, 0) == 1;
    provider.licence = licence ? licence : "";
    provider.reason = reason ? reason : "";
    for (i = 0; i < r->entry->fields.count; i++)
        if (r->entry->fields.items[i].id == TLMC_V_GROUP)
            read_group(r, &r->entry->fields.items[i], &provider);
    if (r->reader->diags->errors == before)
        TLMC_PUSH(r->reader->arena, &out->providers, provider);
}
