/* The table of passes and the loop over it.  Gradients are made first, from the graph as it was
   written: the order in which contributions are added is part of the arithmetic contract, and a
   pass that merges or shortens the forward graph before that would change it.  After that every
   pass keeps every bit, so each may be left out. */
#include "pass.h"

#include "strbuf.h"

#include <string.h>

const struct tlmc_pass tlmc_passes[] = {
    { "autodiff", tlmc_pass_autodiff, "gradients of the training form, as backward nodes", false },
    { "optimizer", tlmc_pass_optimizer, "accumulation, clipping and parameter updates", false },
    { "canonical", tlmc_pass_canonical, "shorter forms of the same bits", true },
    { "fold", tlmc_pass_fold, "what is constant, computed now", true },
    { "cse", tlmc_pass_cse, "equal nodes made once", true },
    { "dce", tlmc_pass_dce, "what nothing needs, dropped", false },
    { NULL, NULL, NULL, false },
};

static bool is_off(const struct tlmc_pass *pass, const struct tlmc_pass_options *options)
{
    const char *const *off = options->off;

    if (!pass->optional || !off)
        return false;
    while (*off && strcmp(*off, pass->name) != 0)
        off++;
    return *off != NULL;
}

static void verify(const struct tlmc_module *module, const char *after)
{
    unsigned i;

    for (i = 0; i < module->forms.count; i++) {
        const char *fault = tlmc_form_verify(module, &module->forms.items[i]);

        if (fault)
            TLMC_BUG("after %s, entry '%s' %s: %s", after, module->forms.items[i].entry,
                     tlmc_mode_name(module->forms.items[i].mode), fault);
    }
}

bool tlmc_run_passes(struct tlmc_module *module, const struct tlmc_pass_options *options,
                     struct tlmc_diags *diags)
{
    static const struct tlmc_pass_options none = { NULL, NULL, NULL, NULL };
    const unsigned errors = diags ? diags->errors : 0;
    const struct tlmc_pass *pass;

    if (!options)
        options = &none;
    verify(module, "lowering");
    for (pass = tlmc_passes; pass->name; pass++) {
        if (!is_off(pass, options)) {
            pass->run(module, diags);
            if (diags && diags->errors != errors)
                return false;
            verify(module, pass->name);
        }
        if (options->dump && options->dump_after && strcmp(options->dump_after, pass->name) == 0)
            tlmc_module_print(module, options->dump);
        if (options->stop_after && strcmp(options->stop_after, pass->name) == 0)
            break;
    }
    return true;
}
