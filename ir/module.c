/* Small questions about a module. */
#include "module.h"

struct tlmc_form *tlmc_module_form(const struct tlmc_module *module, tlmc_sym entry,
                                   enum tlmc_mode mode)
{
    unsigned i;

    for (i = 0; i < module->forms.count; i++)
        if (module->forms.items[i].entry == entry && module->forms.items[i].mode == mode)
            return &module->forms.items[i];
    return NULL;
}

struct tlmc_form *tlmc_module_training_form(const struct tlmc_module *module)
{
    struct tlmc_form *found = NULL;
    unsigned i;

    for (i = 0; i < module->forms.count; i++) {
        if (module->forms.items[i].mode != TLMC_TRAIN)
            continue;
        if (found)
            return NULL;
        found = &module->forms.items[i];
    }
    return found;
}

static void visit_io(const tlmc_io_vec *list, void (*visit)(void *context, uint32_t value),
                     void *context)
{
    unsigned i;

    for (i = 0; i < list->count; i++)
        if (list->items[i].value != TLMC_NONE)
            visit(context, list->items[i].value);
}

void tlmc_form_results(const struct tlmc_form *form, void (*visit)(void *context, uint32_t value),
                       void *context)
{
    uint32_t i;

    visit_io(&form->outputs, visit, context);
    visit_io(&form->losses, visit, context);
    visit_io(&form->metrics, visit, context);
    for (i = 0; i < form->grad_count; i++)
        if (form->grads[i].value != TLMC_NONE)
            visit(context, form->grads[i].value);
    if (form->total_loss != TLMC_NONE)
        visit(context, form->total_loss);
}

const char *tlmc_mode_name(enum tlmc_mode mode)
{
    switch (mode) {
    case TLMC_INFER: return "infer";
    case TLMC_TRAIN: return "train";
    case TLMC_EVAL: return "eval";
    case TLMC_GENERATE: return "generate";
    }
    TLMC_UNREACHABLE();
}

const char *tlmc_optimizer_name(enum tlmc_optimizer optimizer)
{
    switch (optimizer) {
    case TLMC_SGD: return "sgd";
    case TLMC_ADAM: return "adam";
    case TLMC_ADAMW: return "adamw";
    case TLMC_RMSPROP: return "rmsprop";
    case TLMC_ADAGRAD: return "adagrad";
    case TLMC_ADADELTA: return "adadelta";
    case TLMC_OPTIMIZER_COUNT: break;
    }
    TLMC_UNREACHABLE();
}
