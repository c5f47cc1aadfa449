/* The model struct, its table of parameters, and the functions that are not entry points: create,
   reset, params, error, step, seed, scalars, learning rates. */
#include "emit_c.h"
#include "literal.h"

#include <string.h>

static bool draws(const struct tlmc_emit *e)
{
    for (uint32_t f = 0; f < e->form_count; f++)
        if (e->forms[f].draws)
            return true;
    return false;
}

void tlmc_emit_struct(struct tlmc_emit *e, struct tlmc_strbuf *out)
{
    struct tlmc_writer w;

    tlmc_writer_init(&w, out);
    tlmc_writer_set(&w, "model", e->model);
    if (tlmc_emit_training(e))
        tlmc_write(&w, "/* What the activations block holds after the last call. */\n"
                       "enum { DONE_NOTHING, DONE_FORWARD, DONE_BACKWARD };\n\n");
    if (draws(e) || e->cuda) {
        tlmc_write(&w, e->cuda ? "/* Forms. */\nenum { "
                               : "/* Forms, by their counters of runs. */\nenum { ");
        for (uint32_t f = 0; f < e->form_count; f++)
            tlmc_write(&w, "%{comma}FORM_%{LABEL}", "comma", f ? ", " : "", "LABEL",
                       tlmc_names_upper(e->arena, e->forms[f].label));
        tlmc_write(&w, " };\n\n");
    }
    tlmc_write(&w,
               "struct %{model} {\n"
               "    tlm_rt rt;\n"
               "    unsigned char *weights, *state, *activations;\n",
               "none", "");
    if (tlmc_emit_has_rates(e))
        tlmc_write(&w,
                   "    tlm_rate rates[%{groups}]; /* of the optimizer's groups */\n"
                   "    float scalars[%{n}]; /* of the next step: docs/runtime-api.md */\n",
                   "groups", tlmc_literal_count(e->arena, e->module->train.group_count), "n",
                   tlmc_literal_count(e->arena, e->module->scalars.count));
    if (draws(e))
        tlmc_write(
            &w, "    uint64_t runs[%{n}]; /* of each form: random draws are made anew in each */\n",
            "n", tlmc_literal_count(e->arena, e->form_count));
    if (tlmc_emit_training(e))
        tlmc_write(&w, "    uint32_t done;\n");
    if (e->cuda)
        tlmc_write(&w, "    tlm_cuda cuda;\n");
    if (e->param_count > 0)
        tlmc_write(&w, "    tlm_param params[%{n}];\n", "n",
                   tlmc_literal_count(e->arena, e->param_count));
    tlmc_write(&w,
               "};\n\n"
               "_Static_assert(sizeof(struct %{model}) <= %{head}, \"the state block begins with "
               "the struct\");\n\n",
               "head", tlmc_literal_count(e->arena, e->head_bytes));
    tlmc_writer_end(&w);
}

/* ---- the table of parameters */

static const char *kind_name(enum tlmc_param_kind kind)
{
    switch (kind) {
    case TLMC_PARAM_TRAINED: return "TLM_PARAM_TRAINED";
    case TLMC_PARAM_STATE: return "TLM_PARAM_STATE";
    case TLMC_PARAM_TRANSIENT: return "TLM_PARAM_TRANSIENT";
    case TLMC_PARAM_OPTIMIZER: return "TLM_PARAM_OPTIMIZER";
    case TLMC_PARAM_ACCUMULATOR: return "TLM_PARAM_ACCUMULATOR";
    }
    TLMC_UNREACHABLE();
}

static const char *init_name(enum tlmc_init_kind kind)
{
    switch (kind) {
    case TLMC_INIT_NONE: return "TLM_INIT_NONE";
    case TLMC_INIT_CONSTANT: return "TLM_INIT_CONSTANT";
    case TLMC_INIT_UNIFORM: return "TLM_INIT_UNIFORM";
    case TLMC_INIT_NORMAL: return "TLM_INIT_NORMAL";
    case TLMC_INIT_TENSOR: return "TLM_INIT_TABLE";
    }
    TLMC_UNREACHABLE();
}

/* The enumerator of the gradient's offset, or TLM_NO_OFFSET. */
static const char *gradient_offset(struct tlmc_emit *e, uint32_t param)
{
    const struct tlmc_emit_form *form = tlmc_emit_training(e);

    for (uint32_t i = 0; form && i < form->form->grad_count; i++) {
        const struct tlmc_grad *grad = &form->form->grads[i];

        if (grad->param == param && form->plan->values[grad->value].place == TLMC_PLACE_ARENA)
            return e->cuda ? e->io_gradients[i]
                           : form->offsets[form->plan->values[grad->value].storage];
    }
    return "TLM_NO_OFFSET";
}

static const char *init_table(struct tlmc_emit *e, const struct tlmc_param *param)
{
    const int64_t count = tlmc_type_count(&param->type);
    const char *name;

    if (param->init.kind != TLMC_INIT_TENSOR || count == 0)
        return "NULL";
    name = tlmc_names_make(&e->names, tlmc_emit_printf(e, "table_init_%s", param->key));
    tlmc_write(&e->tables, "static const %{type} %{name}[] = {\n    ", "type",
               tlmc_dtype_ctype(param->type.dtype), "name", name);
    for (int64_t i = 0; i < count; i++)
        tlmc_write(&e->tables, "%{element}%{comma}", "element",
                   tlmc_literal_element(e->arena, param->type.dtype, param->init.data[i]), "comma",
                   i + 1 < count ? ", " : "");
    tlmc_write(&e->tables, "\n};\n");
    return name;
}

static void put_row(struct tlmc_emit *e, uint32_t index)
{
    const struct tlmc_param *param = &e->module->params.items[index];
    const char *dims = "";

    for (int axis = 0; axis < param->type.rank; axis++)
        dims = tlmc_emit_printf(e, "%s%s%lldu", dims, axis ? ", " : "",
                                (long long)param->type.dims[axis]);
    tlmc_write(&e->rows,
               "    { %{key}, %{dtype}, %{kind}, %{trainable}, %{rank}, { %{dims} }, %{offset}, "
               "%{gradient}, %{init}, "
               "%{a}, %{b}, %{table}, %{ordinal} },\n",
               "key", tlmc_emit_quoted(e, param->key, 0), "dtype",
               tlmc_emit_dtype(param->type.dtype), "kind", kind_name(param->kind), "trainable",
               param->kind == TLMC_PARAM_TRAINED && !param->frozen ? "1" : "0", "rank",
               tlmc_literal_count(e->arena, (uint64_t)param->type.rank), "dims", *dims ? dims : "0",
               "offset", e->param_offsets[index], "gradient", gradient_offset(e, index), "init",
               init_name(param->init.kind), "a", tlmc_literal_f64(e->arena, param->init.a), "b",
               tlmc_literal_f64(e->arena, param->init.b), "table", init_table(e, param), "ordinal",
               tlmc_literal_count(e->arena, param->ordinal));
}

static void put_rows(struct tlmc_emit *e, struct tlmc_strbuf *out)
{
    if (e->param_count == 0)
        return;
    tlmc_writer_init(&e->rows, out);
    tlmc_write(
        &e->rows,
        "/* key, type, kind, trained, shape, offset, offset of the gradient, initial value */\n"
        "static const tlm_param_row table_params[] = {\n");
    for (uint32_t i = 0; i < e->module->params.count; i++)
        if (tlmc_emit_has_param(e, i))
            put_row(e, i);
    tlmc_write(&e->rows, "};\n\n");
    tlmc_writer_end(&e->rows);
}

/* ---- functions */

static void put_create(struct tlmc_emit *e, struct tlmc_writer *w)
{
    tlmc_write(w, "tlm_status %{model}_create(%{model} **out, const tlm_options *options)\n"
                  "{\n"
                  "    static const tlm_needs needs = { %{MODEL}_ABI, %{MODEL}_WEIGHTS_BYTES, "
                  "%{MODEL}_STATE_BYTES, "
                  "%{MODEL}_ACTIVATIONS_BYTES };\n"
                  "    struct %{model} *m;\n"
                  "\n"
                  "    if (!out)\n"
                  "        return TLM_ERR_ARGUMENT;\n"
                  "    *out = NULL;\n"
                  "    TLM_TRY(tlm_check_options(options, &needs));\n"
                  "    m = (struct %{model} *)options->state;\n"
                  "    memset(m, 0, sizeof *m);\n"
                  "    TLM_TRY(tlm_rt_init(&m->rt, options));\n"
                  "    m->weights = (unsigned char *)options->weights;\n"
                  "    m->state = (unsigned char *)options->state;\n"
                  "    m->activations = (unsigned char *)options->activations;\n");
    if (e->param_count > 0)
        tlmc_write(w,
                   "    tlm_bind_params(m->params, table_params, %{n}, m->weights, m->state, "
                   "m->activations);\n"
                   "    tlm_init_params(m->params, table_params, %{n}, options->keep_weights ? "
                   "TLM_KINDS_STATE : "
                   "TLM_KINDS_ALL, options->seed);\n",
                   "n", tlmc_literal_count(e->arena, e->param_count));
    if (tlmc_emit_has_rates(e))
        tlmc_write(w, "    call_first_rates(m);\n");
    if (e->cuda)
        tlmc_write(w, "    TLM_TRY(tlm_cuda_open(&m->cuda, &cuda_needs, options, m->weights, "
                      "m->state, m->activations));\n");
    tlmc_write(w, "    *out = m;\n"
                  "    return TLM_OK;\n"
                  "}\n\n");
}

/* CUDA: the host's copies become the newest ones.  A failure stays with the session: the next run
   reports it. */
static const char *fetch(struct tlmc_emit *e)
{
    return e->cuda
               ? "    (void)tlm_cuda_fetch(&m->cuda, &m->rt, 0); /* the next run tells a failure "
                 "*/\n"
               : "";
}

static const char *params_fetch(struct tlmc_emit *e)
{
    if (!e->cuda)
        return "";
    return tlmc_emit_printf(e,
                            "    *count = 0;\n"
                            "    if (tlm_cuda_fetch(&m->cuda, &m->rt, %s) != TLM_OK)\n"
                            "        return NULL;\n",
                            tlmc_emit_training(e) ? "m->done == DONE_BACKWARD" : "0");
}

static void put_params(struct tlmc_emit *e, struct tlmc_writer *w)
{
    const char *n = tlmc_literal_count(e->arena, e->param_count);
    const bool some = e->param_count > 0;

    tlmc_write(w,
               "const tlm_param *%{model}_params(%{model} *m, size_t *count)\n"
               "{\n"
               "%{void}%{fetch}"
               "    *count = %{n};\n"
               "    return %{params};\n"
               "}\n\n",
               "void", some || e->cuda ? "" : "    (void)m;\n", "fetch", params_fetch(e), "n", n,
               "params", some ? "m->params" : "NULL");
    tlmc_write(
        w,
        "void %{model}_reset(%{model} *m)\n"
        "{\n"
        "%{fetch}"
        "    %{call}\n"
        "}\n\n",
        "fetch", fetch(e), "call",
        some ? tlmc_emit_printf(
                   e,
                   "tlm_init_params(m->params, table_params, %s, TLM_KINDS_TRANSIENT, m->rt.seed);",
                   n)
             : "(void)m;");
    tlmc_write(
        w,
        "void %{model}_reinit(%{model} *m, uint64_t seed)\n"
        "{\n"
        "    m->rt.seed = seed;\n"
        "    %{model}_set_step(m, 0);\n"
        "%{rates}%{runs}%{fetch}%{call}"
        "}\n\n",
        "fetch", fetch(e), "rates", tlmc_emit_has_rates(e) ? "    call_first_rates(m);\n" : "",
        "runs", draws(e) ? "    memset(m->runs, 0, sizeof m->runs);\n" : "", "call",
        some ? tlmc_emit_printf(
                   e, "    tlm_init_params(m->params, table_params, %s, TLM_KINDS_ALL, seed);\n", n)
             : "");
}

static void put_state(struct tlmc_emit *e, struct tlmc_writer *w)
{
    const struct tlmc_emit_form *train = tlmc_emit_training(e);
    const int64_t accumulate = e->module->train.accumulate > 0 ? e->module->train.accumulate : 1;

    tlmc_write(w, "const char *%{model}_error(const %{model} *m)\n"
                  "{\n"
                  "    return m->rt.error;\n"
                  "}\n\n"
                  "uint64_t %{model}_get_step(const %{model} *m)\n"
                  "{\n"
                  "    return m->rt.step;\n"
                  "}\n\n"
                  "void %{model}_set_step(%{model} *m, uint64_t step)\n"
                  "{\n"
                  "    m->rt.step = step;\n");
    if (train && train->draws)
        tlmc_write(
            w,
            "    m->runs[FORM_%{LABEL}] = step * %{accumulate}; /* the draws of a step are the "
            "same after a resume */\n",
            "LABEL", tlmc_names_upper(e->arena, train->label), "accumulate",
            tlmc_literal_count(e->arena, (uint64_t)accumulate));
    tlmc_write(w, "}\n\n"
                  "uint64_t %{model}_get_seed(const %{model} *m)\n"
                  "{\n"
                  "    return m->rt.seed;\n"
                  "}\n\n"
                  "void %{model}_set_seed(%{model} *m, uint64_t seed)\n"
                  "{\n"
                  "    m->rt.seed = seed;\n"
                  "}\n\n");
    tlmc_write(w,
               "tlm_status %{model}_wait(%{model} *m)\n"
               "{\n"
               "%{wait}"
               "}\n\n"
               "void %{model}_destroy(%{model} *m)\n"
               "{\n"
               "    %{close}\n"
               "}\n\n",
               "wait",
               e->cuda && train
                   ? "    const tlm_status status = tlm_cuda_wait(&m->cuda, &m->rt);\n"
                     "\n"
                     "    if (status != TLM_OK) /* what the runs computed is not valid */\n"
                     "        m->done = DONE_NOTHING;\n"
                     "    return status;\n"
               : e->cuda ? "    return tlm_cuda_wait(&m->cuda, &m->rt);\n"
                         : "    (void)m; /* runs are done when they return */\n"
                           "    return TLM_OK;\n",
               "close",
               e->cuda ? "if (m)\n        tlm_cuda_close(&m->cuda);"
                       : "(void)m; /* all memory is the caller's */");
    if (train)
        tlmc_write(w,
                   "float *%{model}_scalars(%{model} *m)\n"
                   "{\n"
                   "%{body}"
                   "}\n\n",
                   "body",
                   e->module->scalars.count > 0 ? "    return m->scalars;\n"
                                                : "    (void)m;\n    return NULL;\n");
}

void tlmc_emit_create(struct tlmc_emit *e, struct tlmc_strbuf *out)
{
    struct tlmc_writer w;

    put_rows(e, out);
    tlmc_writer_init(&w, out);
    tlmc_writer_set(&w, "model", e->model);
    tlmc_writer_set(&w, "MODEL", e->MODEL);
    if (tlmc_emit_has_rates(e)) {
        tlmc_emit_rate_tables(e, &w);
        tlmc_write(&w, "\n");
        tlmc_emit_rate_functions(&w);
    }
    put_create(e, &w);
    put_state(e, &w);
    put_params(e, &w);
    tlmc_writer_end(&w);
}
