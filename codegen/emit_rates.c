/* Learning rates of an emitted model: the tables of optimizer groups and step scalars, which NAME.c
   and NAME_main.c both hold, and NAME_get_lr and NAME_set_lr. */
#include "emit_c.h"
#include "literal.h"

static const char *const scalar_names[] = { "TLM_SCALAR_LR",        "TLM_SCALAR_UNDAMPED",
                                            "TLM_SCALAR_STEP_SIZE", "TLM_SCALAR_SQRT_BC2",
                                            "TLM_SCALAR_DECAY",     "TLM_SCALAR_CLR" };

bool tlmc_emit_has_rates(const struct tlmc_emit *e)
{
    return tlmc_emit_training(e) && e->module->scalars.count > 0;
}

void tlmc_emit_rate_tables(struct tlmc_emit *e, struct tlmc_writer *w)
{
    const struct tlmc_train *train = &e->module->train;

    if (train->group_count > 0) {
        tlmc_write(w, "/* lr, beta1, beta2, weight_decay, dampening, lr_decay */\n"
                      "static const tlm_group table_groups[] = {\n");
        for (uint32_t i = 0; i < train->group_count; i++) {
            const struct tlmc_group *g = &train->groups[i];

            tlmc_write(w, "    { %{lr}, %{b1}, %{b2}, %{wd}, %{damp}, %{decay} },\n", "lr",
                       tlmc_literal_f64(e->arena, g->lr), "b1",
                       tlmc_literal_f64(e->arena, g->beta1), "b2",
                       tlmc_literal_f64(e->arena, g->beta2), "wd",
                       tlmc_literal_f64(e->arena, g->weight_decay), "damp",
                       tlmc_literal_f64(e->arena, g->dampening), "decay",
                       tlmc_literal_f64(e->arena, g->lr_decay));
        }
        tlmc_write(w, "};\n");
    }
    if (e->module->scalars.count > 0) {
        tlmc_write(w, "static const tlm_scalar table_scalars[] = {\n");
        for (unsigned i = 0; i < e->module->scalars.count; i++)
            tlmc_write(w, "    { %{kind}, %{group} },\n", "kind",
                       scalar_names[e->module->scalars.items[i].kind], "group",
                       tlmc_literal_count(e->arena, e->module->scalars.items[i].group));
        tlmc_write(w, "};\n");
    }
}

void tlmc_emit_rate_functions(struct tlmc_writer *w)
{
    tlmc_write(w, "double %{model}_get_lr(const %{model} *m, uint32_t group)\n"
                  "{\n"
                  "    return group < %{MODEL}_GROUPS ? m->rates[group].lr : (double)NAN;\n"
                  "}\n\n"
                  "tlm_status %{model}_set_lr(%{model} *m, uint32_t group, double lr)\n"
                  "{\n"
                  "    if (group >= %{MODEL}_GROUPS)\n"
                  "        return TLM_ERR_ARGUMENT;\n"
                  "    tlm_rate_set(&m->rates[group], lr, &table_groups[group], group, m->rt.step, "
                  "table_scalars, %{MODEL}_SCALARS, m->scalars);\n"
                  "    return TLM_OK;\n"
                  "}\n\n"
                  "static void call_first_rates(%{model} *m)\n"
                  "{\n"
                  "    for (uint32_t group = 0; group < %{MODEL}_GROUPS; group++)\n"
                  "        %{model}_set_lr(m, group, table_groups[group].lr);\n"
                  "}\n\n");
}
