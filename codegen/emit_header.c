/* NAME.h: the API of a model, for C11 and C++17. */
#include "emit_c.h"
#include "literal.h"

static void put_sizes(struct tlmc_emit *e, struct tlmc_writer *w)
{
    tlmc_write_comment(
        w,
        tlmc_emit_printf(
            e,
            "Memory for %s_create, from the caller or from tlm_arena_new.  Sizes do not depend on "
            "the number of threads, which is at most %s_MAX_THREADS.",
            e->model, e->MODEL));
    tlmc_write(w,
               "#define %{MODEL}_ABI UINT32_C(0x%{abi})\n"
               "#define %{MODEL}_WEIGHTS_BYTES ((size_t)%{weights})\n"
               "#define %{MODEL}_STATE_BYTES ((size_t)%{state})\n"
               "#define %{MODEL}_ACTIVATIONS_BYTES ((size_t)%{activations})\n"
               "#define %{MODEL}_ALIGN 64\n"
               "#define %{MODEL}_MAX_THREADS 1024\n\n",
               "abi", tlmc_emit_printf(e, "%08x", e->abi), "weights",
               tlmc_literal_count(e->arena, e->plan->weights_bytes), "state",
               tlmc_literal_count(e->arena, e->state_bytes), "activations",
               tlmc_literal_count(e->arena, tlmc_emit_activations_bytes(e)));
}

static void put_tensors(struct tlmc_emit *e, struct tlmc_writer *w,
                        const struct tlmc_emit_form *form)
{
    for (int kind = 0; kind < TLMC_IO_KINDS; kind++) {
        const tlmc_io_vec *ios = tlmc_emit_ios(form->form, (enum tlmc_io_kind)kind);

        for (unsigned i = 0; i < ios->count; i++) {
            const struct tlmc_type *type = tlmc_value_type(form->graph, ios->items[i].value);
            const char *qualifier = kind == TLMC_IO_INPUT ? "" : "const ";
            char text[256];

            tlmc_type_text(type, text);
            tlmc_write(w, "%{const}%{ctype} *%{name}(%{const}%{model} *m); /* %{type} */\n",
                       "const", qualifier, "ctype", tlmc_dtype_ctype(type->dtype), "name",
                       tlmc_emit_accessor(e, form, (enum tlmc_io_kind)kind, &ios->items[i]), "type",
                       text);
        }
    }
}

/* Which number of the step stands where. */
static void put_scalars(struct tlmc_emit *e, struct tlmc_writer *w)
{
    tlmc_write(w,
               "/* Numbers of the step, computed by the caller before it: docs/runtime-api.md. */\n"
               "enum { ");
    for (uint32_t i = 0; i < e->module->scalars.count; i++)
        tlmc_write(w, "%{MODEL}_SCALAR_%{NAME}, ", "NAME",
                   tlmc_names_upper(e->arena, tlmc_emit_scalar_name(e, i)));
    tlmc_write(w, "%{MODEL}_SCALARS };\n"
                  "float *%{model}_scalars(%{model} *m); /* %{MODEL}_SCALARS of them */\n");
    if (tlmc_emit_has_rates(e)) {
        tlmc_write_comment(
            w, "Learning rates of the optimizer's groups: after create those of the model's "
               "file.  set_lr also fills the scalars of its group for the next step; without it "
               "they stay as they are.");
        tlmc_write(w,
                   "enum { %{MODEL}_GROUPS = %{groups} };\n"
                   "double %{model}_get_lr(const %{model} *m, uint32_t group);\n"
                   "tlm_status %{model}_set_lr(%{model} *m, uint32_t group, double lr);\n",
                   "groups", tlmc_literal_count(e->arena, e->module->train.group_count));
    }
}

static void put_training(struct tlmc_emit *e, struct tlmc_writer *w,
                         const struct tlmc_emit_form *form)
{
    const bool accumulates = tlmc_emit_has_phase(form, TLMC_ACCUMULATE_PHASE);

    tlmc_write_comment(
        w, tlmc_emit_printf(
               e,
               "Training: fill the inputs, forward, backward (overwrites the gradients)%s, step.  "
               "Another form that runs in between uses the same memory.  batch: forward, backward "
               "and %s in one call%s.%s",
               accumulates ? ", accumulate" : "", accumulates ? "accumulate" : "step",
               accumulates ? "" : "; set the step's numbers (below) before it",
               e->cuda ? "  It is one captured graph unless no_graph is set." : ""));
    tlmc_write(w,
               "tlm_status %{model}_%{label}_forward(%{model} *m);\n"
               "tlm_status %{model}_%{label}_backward(%{model} *m);\n",
               "label", form->label);
    if (accumulates)
        tlmc_write(w, "tlm_status %{model}_%{label}_accumulate(%{model} *m);\n", "label",
                   form->label);
    tlmc_write(w,
               "tlm_status %{model}_%{label}_step(%{model} *m);\n"
               "tlm_status %{model}_%{label}_batch(%{model} *m);\n",
               "label", form->label);
    put_scalars(e, w);
}

static void put_form(struct tlmc_emit *e, struct tlmc_writer *w, const struct tlmc_emit_form *form)
{
    if (form->form->mode == TLMC_TRAIN)
        put_training(e, w, form);
    else
        tlmc_write(
            w,
            "/* %{what}: fill the inputs, run, read the results before any other form runs. */\n"
            "tlm_status %{run}(%{model} *m);\n",
            "what", form->form->mode == TLMC_EVAL ? "Evaluation" : "Inference", "run", form->run);
    put_tensors(e, w, form);
    tlmc_write(w, "\n");
}

/* Above NAME_params: on a device it is more than a table. */
static const char *params_comment(struct tlmc_emit *e)
{
    if (!e->cuda)
        return "/* Parameters, states and optimizer states; the table lives as long as the model. "
               "*/\n";
    return tlmc_emit_printf(
        e,
        "/* Parameters, states and optimizer states; the table lives as long as the model.  Call\n"
        "   it again before values are read or written: it fetches what the device has changed,\n"
        "   and what is written reaches the device with the next run.  NULL: %s_error says\n"
        "   why. */\n",
        e->model);
}

void tlmc_emit_header(struct tlmc_emit *e, struct tlmc_strbuf *out)
{
    struct tlmc_writer w;

    tlmc_emit_head(e, "The API.", out);
    tlmc_writer_init(&w, out);
    tlmc_writer_set(&w, "model", e->model);
    tlmc_writer_set(&w, "MODEL", e->MODEL);
    tlmc_write(&w, "#ifndef %{MODEL}_H\n"
                   "#define %{MODEL}_H\n"
                   "\n"
                   "#include \"tlm.h\"\n"
                   "\n"
                   "#ifdef __cplusplus\n"
                   "extern \"C\" {\n"
                   "#endif\n\n");
    put_sizes(e, &w);
    tlmc_write(
        &w,
        "typedef struct %{model} %{model};\n"
        "\n"
        "/* Makes a model at the start of options->state.  options->abi is %{MODEL}_ABI. */\n"
        "tlm_status %{model}_create(%{model} **out, const tlm_options *options);\n"
        "/* Gives back what create took besides the caller's blocks%{nothing};\n"
        "   before those are freed.  NULL: nothing. */\n"
        "void %{model}_destroy(%{model} *m);\n"
        "/* Results of the runs before it can be read afterwards%{at_once}. */\n"
        "tlm_status %{model}_wait(%{model} *m);\n"
        "const char *%{model}_error(const %{model} *m); /* of the last call that failed */\n"
        "%{ask}"
        "const tlm_param *%{model}_params(%{model} *m, size_t *count);\n"
        "/* Transient states to their initial values. */\n"
        "void %{model}_reset(%{model} *m);\n"
        "/* Everything as after create with this seed. */\n"
        "void %{model}_reinit(%{model} *m, uint64_t seed);\n"
        "/* Optimizer steps done; the seed of random draws. */\n"
        "uint64_t %{model}_get_step(const %{model} *m);\n"
        "void %{model}_set_step(%{model} *m, uint64_t step);\n"
        "uint64_t %{model}_get_seed(const %{model} *m);\n"
        "void %{model}_set_seed(%{model} *m, uint64_t seed);\n\n",
        "nothing", e->cuda ? "" : ": on the CPU nothing", "at_once",
        e->cuda ? ";\n   errors that the device found are told" : "; on the CPU: at once", "ask",
        params_comment(e));
    for (uint32_t f = 0; f < e->form_count; f++)
        put_form(e, &w, &e->forms[f]);
    tlmc_write(&w, "#ifdef __cplusplus\n"
                   "}\n"
                   "#endif\n"
                   "#endif\n");
    tlmc_writer_end(&w);
}
