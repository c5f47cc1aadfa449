/* Public tensors of a model: inputs, targets, outputs, losses and metrics of each form, with the
   names of their accessors. */
#include "emit_c.h"

#include <string.h>

const tlmc_io_vec *tlmc_emit_ios(const struct tlmc_form *form, enum tlmc_io_kind kind)
{
    switch (kind) {
    case TLMC_IO_INPUT: return &form->inputs;
    case TLMC_IO_OUTPUT: return &form->outputs;
    case TLMC_IO_LOSS: return &form->losses;
    case TLMC_IO_METRIC: return &form->metrics;
    case TLMC_IO_KINDS: break;
    }
    TLMC_UNREACHABLE();
}

const char *tlmc_emit_accessor(struct tlmc_emit *e, const struct tlmc_emit_form *form,
                               enum tlmc_io_kind kind, const struct tlmc_io *io)
{
    static const char *const words[TLMC_IO_KINDS] = { "input", "output", "loss", "metric" };
    const char *word = kind == TLMC_IO_INPUT && io->is_target ? "target" : words[kind];

    return tlmc_emit_printf(e, "%s%s_%s", form->prefix, word, tlmc_names_valid(e->arena, io->name));
}

const char *tlmc_emit_dtype(enum tlmc_dtype dtype)
{
    switch (dtype) {
    case TLMC_F32: return "TLM_F32";
    case TLMC_I32: return "TLM_I32";
    case TLMC_BOOL: return "TLM_BOOL";
    case TLMC_F64: return "TLM_F64";
    case TLMC_DTYPE_COUNT: break;
    }
    TLMC_UNREACHABLE();
}

static void claim(struct tlmc_emit *e, struct tlmc_symtab *seen, const char *name,
                  struct tlmc_span span)
{
    const uint32_t before = seen->count;

    tlmc_intern(seen, name);
    if (seen->count > before)
        return;
    tlmc_report(e->diags, TLMC_E_NOT_EMITTABLE, span,
                "two parts of the emitted program would be named `%s`; rename one", name);
    e->failed = true;
}

const char *const tlmc_training_calls[TLMC_TRAINING_CALLS] = { "backward", "accumulate", "step",
                                                               "batch" };

void tlmc_emit_claim_names(struct tlmc_emit *e)
{
    static const char *const macros[] = {
        "ABI", "WEIGHTS_BYTES", "STATE_BYTES", "ACTIVATIONS_BYTES", "ALIGN", "MAX_THREADS", "H"
    };
    const struct tlmc_span nowhere = { 0 };
    struct tlmc_symtab seen;

    tlmc_symtab_init(&seen, e->arena);
    for (size_t i = 0; i < sizeof macros / sizeof *macros; i++)
        claim(e, &seen, tlmc_emit_printf(e, "%s_%s", e->MODEL, macros[i]), nowhere);
    for (uint32_t f = 0; f < e->form_count; f++) {
        const struct tlmc_emit_form *form = &e->forms[f];

        for (int kind = 0; kind < TLMC_IO_KINDS; kind++) {
            const tlmc_io_vec *ios = tlmc_emit_ios(form->form, (enum tlmc_io_kind)kind);

            for (unsigned i = 0; i < ios->count; i++)
                claim(e, &seen,
                      tlmc_emit_accessor(e, form, (enum tlmc_io_kind)kind, &ios->items[i]),
                      ios->items[i].span);
        }
        for (int i = 0; form->form->mode == TLMC_TRAIN && i < TLMC_TRAINING_CALLS; i++)
            claim(e, &seen, tlmc_emit_printf(e, "%s%s", form->prefix, tlmc_training_calls[i]),
                  nowhere);
    }
    for (uint32_t f = 0; f < e->form_count; f++) {
        const tlmc_io_vec *outputs = &e->forms[f].form->outputs;

        claim(e, &seen, e->forms[f].run, outputs->count ? outputs->items[0].span : nowhere);
    }
}

/* The functions that hand out the public tensors, for NAME.c. */
void tlmc_emit_accessors(struct tlmc_emit *e, struct tlmc_strbuf *out)
{
    struct tlmc_writer w;

    tlmc_writer_init(&w, out);
    for (uint32_t f = 0; f < e->form_count; f++) {
        struct tlmc_emit_form *form = &e->forms[f];

        for (int kind = 0; kind < TLMC_IO_KINDS; kind++) {
            const tlmc_io_vec *ios = tlmc_emit_ios(form->form, (enum tlmc_io_kind)kind);

            for (unsigned i = 0; i < ios->count; i++) {
                const bool input = kind == TLMC_IO_INPUT;
                const char *type =
                    tlmc_dtype_ctype(tlmc_value_type(form->graph, ios->items[i].value)->dtype);
                const char *address =
                    e->cuda ? tlmc_emit_printf(
                                  e, "tlm_%s_at(m->activations, %s)",
                                  tlmc_dtype_name(
                                      tlmc_value_type(form->graph, ios->items[i].value)->dtype),
                                  form->io[kind][i])
                            : tlmc_emit_address(e, form, ios->items[i].value);

                tlmc_write(&w,
                           "%{const}%{type} *%{name}(%{const}%{model} *m)\n"
                           "{\n"
                           "%{unused}"
                           "    return %{address};\n"
                           "}\n\n",
                           "const", input ? "" : "const ", "type", type, "name",
                           tlmc_emit_accessor(e, form, (enum tlmc_io_kind)kind, &ios->items[i]),
                           "model", e->model, "unused",
                           strstr(address, "m->") ? "" : "    (void)m;\n", "address", address);
            }
        }
    }
    tlmc_writer_end(&w);
}
