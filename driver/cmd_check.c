/* tlmc check: what a model holds, or what is wrong with it. */
#include "commands.h"
#include "pipeline.h"

#include "frontend.h"
#include "strbuf.h"

#include <stdio.h>

static void print_io(const char *what, const tlmc_io_vec *ios, const struct tlmc_graph *graph)
{
    char text[256];

    for (unsigned i = 0; i < ios->count; i++)
        printf("%s%s: %s", i ? ", " : what, ios->items[i].name,
               tlmc_type_text(tlmc_value_type(graph, ios->items[i].value), text));
}

static void print_form(const struct tlmc_form *form)
{
    printf("  %s/%s: %u nodes", form->entry, tlmc_mode_name(form->mode), form->graph->node_count);
    print_io("; inputs ", &form->inputs, form->graph);
    print_io("; outputs ", &form->outputs, form->graph);
    print_io("; losses ", &form->losses, form->graph);
    print_io("; metrics ", &form->metrics, form->graph);
    putchar('\n');
}

static void print_summary(const struct tlmc_module *module)
{
    unsigned tensors = 0, states = 0, transient = 0;
    int64_t values = 0;

    for (unsigned i = 0; i < module->params.count; i++) {
        const struct tlmc_param *p = &module->params.items[i];

        tensors += p->kind == TLMC_PARAM_TRAINED;
        states += p->kind == TLMC_PARAM_STATE;
        transient += p->kind == TLMC_PARAM_TRANSIENT;
        if (p->kind == TLMC_PARAM_TRAINED)
            values += tlmc_type_count(&p->type);
    }
    printf("%s: %u parameter tensors, %lld values, %u saved and %u transient states\n",
           module->name, tensors, (long long)values, states, transient);
    for (unsigned i = 0; i < module->forms.count; i++)
        print_form(&module->forms.items[i]);
}

int tlmc_cmd_check(const struct tlmc_options *options)
{
    struct tlmc_compilation c;
    int status;

    tlmc_compilation_begin(&c, options);
    status = tlmc_stage_module(&c);
    if (!status && tlmc_opt_given(options, TLMC_OPT_KEYS)) {
        struct tlmc_strbuf keys = { 0 };

        tlmc_module_keys(c.module, &keys);
        fputs(tlmc_strbuf_text(&keys), stdout);
        tlmc_strbuf_free(&keys);
    } else if (!status && !tlmc_opt_given(options, TLMC_OPT_DUMP_AFTER)) {
        print_summary(c.module);
    }
    return tlmc_compilation_end(&c, status);
}
