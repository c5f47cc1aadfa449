/* A plan: profile, then for each form choice, groups and memory, then the audit.  The order of the
   stages is the body of tlmc_plan_make. */
#include "plan_internal.h"

#include "strbuf.h"

#include <string.h>

static bool is_wanted(const struct tlmc_form *form, const char *const *only)
{
    const char *const *entry;

    if (!only)
        return true;
    /* "infer" leaves training and evaluation out; other names are those of entries. */
    if (form->mode != TLMC_INFER && form->mode != TLMC_GENERATE)
        return false;
    for (entry = only; *entry; entry++)
        if (strcmp(form->entry, *entry) == 0 || strcmp(tlmc_mode_name(form->mode), *entry) == 0)
            return true;
    return false;
}

static bool collect_forms(struct tlmc_plan *plan, const char *const *only, struct tlmc_diags *diags)
{
    const struct tlmc_module *module = plan->module;
    struct tlmc_strbuf known = { 0 };
    unsigned i;

    plan->forms = TLMC_NEW_ARRAY(module->arena, struct tlmc_plan_form, module->forms.count);
    for (i = 0; i < module->forms.count; i++)
        if (is_wanted(&module->forms.items[i], only))
            plan->forms[plan->form_count++].form = &module->forms.items[i];
    if (plan->form_count || !only)
        return true;
    for (i = 0; i < module->forms.count; i++)
        if (module->forms.items[i].mode == TLMC_INFER)
            tlmc_strbuf_printf(&known, "%s%s", known.length ? ", " : "",
                               module->forms.items[i].entry);
    tlmc_note(diags,
              tlmc_report(diags, TLMC_E_ENTRY, (struct tlmc_span){ 0 },
                          "model '%s' has no entry '%s'", module->name, only[0] ? only[0] : ""),
              (struct tlmc_span){ 0 }, "entries with an inference form: %s",
              tlmc_strbuf_text(&known));
    tlmc_strbuf_free(&known);
    return false;
}

struct tlmc_plan *tlmc_plan_make(const struct tlmc_module *module,
                                 const struct tlmc_catalog *catalog,
                                 const struct tlmc_plan_options *options, struct tlmc_diags *diags)
{
    const struct tlmc_profile *profile =
        tlmc_catalog_select(catalog, options->device, options->profile, diags);
    struct tlmc_plan *plan;
    struct tlmc_choosing *choosing;
    uint32_t i;

    if (!profile)
        return NULL;
    plan = TLMC_NEW(module->arena, struct tlmc_plan);
    plan->module = module;
    plan->catalog = catalog;
    plan->profile = profile;
    plan->deterministic = options->deterministic || profile->deterministic;
    if (!collect_forms(plan, options->only_entries, diags))
        return NULL;
    choosing = TLMC_NEW(module->arena, struct tlmc_choosing);
    tlmc_choosing_init(choosing, module->arena, catalog, profile, plan->deterministic);
    tlmc_memplan_params(plan);
    for (i = 0; i < plan->form_count; i++) {
        struct tlmc_plan_form *form = &plan->forms[i];

        tlmc_choose(choosing, form);
        tlmc_group(module->arena, profile, form);
        tlmc_memplan_form(module->arena, module, form, plan->param_offsets);
        if (form->arena_bytes > plan->activations_bytes)
            plan->activations_bytes = form->arena_bytes;
    }
    tlmc_audit(plan, choosing);
    return plan;
}
