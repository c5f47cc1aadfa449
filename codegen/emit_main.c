/* NAME_main.c: the table that the program shell works from (runtime/tlm_program.h), as data, and
   the small functions that let the shell call a model whose type it does not know.  A model is
   handed around as the address of a pointer to it: create stores the pointer there. */
#include "emit_c.h"
#include "literal.h"

#include <string.h>

static const char *count(struct tlmc_emit *e, uint64_t value)
{
    return tlmc_literal_count(e->arena, value);
}

static const char *quoted(struct tlmc_emit *e, const char *text)
{
    return tlmc_emit_quoted(e, text, 4);
}

static const char *i64(struct tlmc_emit *e, int64_t value)
{
    return tlmc_emit_printf(e, "%lld", (long long)value);
}

static const char *f64(struct tlmc_emit *e, double value)
{
    return tlmc_literal_f64(e->arena, value);
}

/* A public function without the model's name in front: what the adapter to it is called. */
static const char *adapter(struct tlmc_emit *e, const char *name)
{
    return tlmc_emit_printf(e, "call_%s", name + strlen(e->model) + 1);
}

static const char *put_adapter(struct tlmc_emit *e, struct tlmc_writer *w, const char *name)
{
    tlmc_write(w,
               "static tlm_status %{adapter}(void *model)\n"
               "{\n"
               "    return %{name}(call_model(model));\n"
               "}\n\n",
               "adapter", adapter(e, name), "name", name);
    return adapter(e, name);
}

/* ---- forms */

static const char *io_list(struct tlmc_emit *e, const struct tlmc_emit_form *form,
                           enum tlmc_io_kind kind)
{
    static const char *const words[TLMC_IO_KINDS] = { "inputs", "outputs", "losses", "metrics" };

    if (tlmc_emit_ios(form->form, kind)->count == 0)
        return "NULL";
    return tlmc_emit_printf(e, "%s_%s", form->label, words[kind]);
}

static void put_ios(struct tlmc_emit *e, struct tlmc_writer *w, const struct tlmc_emit_form *form,
                    enum tlmc_io_kind kind)
{
    const tlmc_io_vec *ios = tlmc_emit_ios(form->form, kind);

    if (ios->count == 0)
        return;
    for (unsigned i = 0; i < ios->count; i++) {
        const char *name = tlmc_emit_accessor(e, form, kind, &ios->items[i]);

        tlmc_write(w,
                   "static void *%{adapter}(void *model)\n"
                   "{\n"
                   "    return call_plain(%{name}(call_model(model)));\n"
                   "}\n\n",
                   "adapter", adapter(e, name), "name", name);
    }
    tlmc_write(w, "static const tlm_io %{list}[] = {\n", "list", io_list(e, form, kind));
    for (unsigned i = 0; i < ios->count; i++) {
        const struct tlmc_io *io = &ios->items[i];
        const struct tlmc_type *type = tlmc_value_type(form->graph, io->value);
        const char *dims = type->rank ? "" : "0";

        for (int axis = 0; axis < type->rank; axis++)
            dims = tlmc_emit_printf(e, "%s%s%lldu", dims, axis ? ", " : "",
                                    (long long)type->dims[axis]);
        tlmc_write(w, "    { %{name}, %{dtype}, %{rank}, { %{dims} }, %{target}, %{data} },\n",
                   "name", quoted(e, io->name), "dtype", tlmc_emit_dtype(type->dtype), "rank",
                   count(e, (uint64_t)type->rank), "dims", dims, "target",
                   io->is_target ? "1" : "0", "data",
                   adapter(e, tlmc_emit_accessor(e, form, kind, io)));
    }
    tlmc_write(w, "};\n\n");
}

/* What a form's row needs, in front of it. */
static void put_form_parts(struct tlmc_emit *e, struct tlmc_writer *w,
                           const struct tlmc_emit_form *form)
{
    for (int kind = 0; kind < TLMC_IO_KINDS; kind++)
        put_ios(e, w, form, (enum tlmc_io_kind)kind);
    put_adapter(e, w, form->run);
    tlmc_write(w,
               "static const char %{label}_memory[] =\n"
               "    %{memory};\n\n",
               "label", form->label, "memory", quoted(e, tlmc_emit_memory_text(e, form)));
}

/* The initialiser of its tlm_form. */
static void put_form_row(struct tlmc_emit *e, struct tlmc_writer *w,
                         const struct tlmc_emit_form *form)
{
    tlmc_write(
        w,
        "{ %{entry}, %{in}, %{in_count}, %{out}, %{out_count}, %{loss}, %{loss_count}, %{metric}, "
        "%{metric_count}, %{run}, %{label}_memory, %{arena}, %{bound} }",
        "entry", quoted(e, form->form->entry), "in", io_list(e, form, TLMC_IO_INPUT), "in_count",
        count(e, form->form->inputs.count), "out", io_list(e, form, TLMC_IO_OUTPUT), "out_count",
        count(e, form->form->outputs.count), "loss", io_list(e, form, TLMC_IO_LOSS), "loss_count",
        count(e, form->form->losses.count), "metric", io_list(e, form, TLMC_IO_METRIC),
        "metric_count", count(e, form->form->metrics.count), "run", adapter(e, form->run), "label",
        form->label, "arena", count(e, form->plan->arena_bytes), "bound",
        count(e, form->plan->lower_bound));
}

static void put_form(struct tlmc_emit *e, struct tlmc_writer *w, const char *name,
                     const struct tlmc_emit_form *form)
{
    tlmc_write(w, "static const tlm_form %{name} = ", "name", name);
    put_form_row(e, w, form);
    tlmc_write(w, ";\n\n");
}

/* ---- training: data, groups, schedule, probes */

static const char *const optimizer_names[TLMC_OPTIMIZER_COUNT] = { "TLM_SGD",     "TLM_ADAM",
                                                                   "TLM_ADAMW",   "TLM_RMSPROP",
                                                                   "TLM_ADAGRAD", "TLM_ADADELTA" };
static const char *const schedule_names[] = { "TLM_SCHED_CONSTANT",    "TLM_SCHED_WARMUP",
                                              "TLM_SCHED_COSINE",      "TLM_SCHED_STEP",
                                              "TLM_SCHED_EXPONENTIAL", "TLM_SCHED_ONE_CYCLE" };
static const char *const reader_names[] = { "TLM_READ_COLUMNS", "TLM_READ_ARRAY", "TLM_READ_TENSOR",
                                            "TLM_READ_BYTES", "TLM_READ_TOKENS" };
static const char *const split_names[] = { "TLM_SPLIT_NONE", "TLM_SPLIT_FIRST", "TLM_SPLIT_LAST",
                                           "TLM_SPLIT_RANDOM", "TLM_SPLIT_DATA" };

/* The columns of a feed as a static list; its name, or NULL where the feed has none of that sort.
 */
static const char *put_columns(struct tlmc_emit *e, struct tlmc_writer *w, const char *list,
                               const struct tlmc_feed *feed, bool by_name)
{
    if (feed->reader != TLMC_READ_COLUMNS || (feed->column_names != NULL) != by_name ||
        feed->column_count == 0)
        return "NULL";
    list = tlmc_emit_printf(e, "%s_%s", list, by_name ? "column_names" : "columns");
    tlmc_write(w, "static const %{type}%{list}[] = { ", "type",
               by_name ? "char *const " : "int64_t ", "list", list);
    for (uint32_t i = 0; i < feed->column_count; i++)
        tlmc_write(w, "%{comma}%{column}", "comma", i ? ", " : "", "column",
                   by_name ? quoted(e, feed->column_names[i]) : i64(e, feed->columns[i]));
    tlmc_write(w, " };\n");
    return list;
}

/* One list of data clauses; its name, or NULL when empty. */
static const char *put_data(struct tlmc_emit *e, struct tlmc_writer *w, const char *name,
                            const tlmc_data_vec *data)
{
    if (data->count == 0)
        return "NULL";
    for (unsigned i = 0; i < data->count; i++) {
        struct tlmc_strbuf rows = { 0 };

        for (unsigned k = 0; k < data->items[i].feeds.count; k++) {
            const struct tlmc_feed *feed = &data->items[i].feeds.items[k];
            const char *list = tlmc_emit_printf(e, "%s_%u_%u", name, i, k);
            const char *numbers = put_columns(e, w, list, feed, false);
            const char *names = put_columns(e, w, list, feed, true);

            tlmc_strbuf_printf(&rows, "    { %u, %s, %s, %s, %s, %u, %lld, %lld },\n", feed->input,
                               reader_names[feed->reader], quoted(e, feed->key), numbers, names,
                               feed->column_count, (long long)feed->begin, (long long)feed->end);
        }
        tlmc_write(w,
                   "static const tlm_feed %{name}_%{i}[] = {\n"
                   "%{rows}"
                   "};\n",
                   "name", name, "i", count(e, i), "rows", tlmc_strbuf_text(&rows));
        tlmc_strbuf_free(&rows);
    }
    tlmc_write(w, "static const tlm_data %{name}[] = {\n", "name", name);
    for (unsigned i = 0; i < data->count; i++)
        tlmc_write(w, "    { %{path}, %{header}, %{stride}, %{name}_%{i}, %{feeds} },\n", "path",
                   quoted(e, data->items[i].path), "header", data->items[i].header ? "1" : "0",
                   "stride", i64(e, data->items[i].stride), "name", name, "i", count(e, i), "feeds",
                   count(e, data->items[i].feeds.count));
    tlmc_write(w, "};\n\n");
    return name;
}

static void put_groups(struct tlmc_emit *e, struct tlmc_writer *w, const struct tlmc_train *train)
{
    tlmc_emit_rate_tables(e, w);
    if (train->schedule.count > 0) {
        tlmc_write(w, "static const tlm_schedule table_schedule[] = {\n");
        for (unsigned i = 0; i < train->schedule.count; i++) {
            const struct tlmc_schedule *s = &train->schedule.items[i];

            tlmc_write(w, "    { %{kind}, %{steps}, %{every}, %{factor}, %{final}, %{peak} },\n",
                       "kind", schedule_names[s->kind], "steps", i64(e, s->steps), "every",
                       i64(e, s->every), "factor", f64(e, s->factor), "final", f64(e, s->final),
                       "peak", f64(e, s->peak));
        }
        tlmc_write(w, "};\n");
    }
    tlmc_write(w, "\n");
}

static void put_probes(struct tlmc_emit *e, struct tlmc_writer *w, const struct tlmc_train *train)
{
    if (train->probes.count == 0)
        return;
    for (unsigned i = 0; i < train->probes.count; i++) {
        const struct tlmc_probe *probe = &train->probes.items[i];

        for (unsigned k = 0; k < probe->values.count; k++) {
            const struct tlmc_probe_value *value = &probe->values.items[k];

            tlmc_write(w, "static const double probe_%{i}_%{k}[] = { ", "i", count(e, i), "k",
                       count(e, k));
            for (uint32_t n = 0; n < value->count; n++)
                tlmc_write(w, "%{comma}%{value}", "comma", n ? ", " : "", "value",
                           f64(e, value->data[n]));
            tlmc_write(w, "%{empty} };\n", "empty", value->count ? "" : "0");
        }
        tlmc_write(w, "static const tlm_probe_value probe_%{i}[] = {\n", "i", count(e, i));
        for (unsigned k = 0; k < probe->values.count; k++)
            tlmc_write(w, "    { %{input}, probe_%{i}_%{k}, %{n} },\n", "input",
                       count(e, probe->values.items[k].input), "i", count(e, i), "k", count(e, k),
                       "n", count(e, probe->values.items[k].count));
        tlmc_write(w, "    { 0, NULL, 0 },\n};\n");
    }
    tlmc_write(w, "static const tlm_probe table_probes[] = {\n");
    for (unsigned i = 0; i < train->probes.count; i++)
        tlmc_write(w, "    { %{name}, probe_%{i}, %{n} },\n", "name",
                   quoted(e, train->probes.items[i].name), "i", count(e, i), "n",
                   count(e, train->probes.items[i].values.count));
    tlmc_write(w, "};\n\n");
}

static const struct tlmc_emit_form *form_of_mode(const struct tlmc_emit *e, enum tlmc_mode mode)
{
    for (uint32_t f = 0; f < e->form_count; f++)
        if (e->forms[f].form->mode == mode)
            return &e->forms[f];
    return NULL;
}

static const char *batch(struct tlmc_emit *e, const struct tlmc_emit_form *form)
{
    if (form->form->inputs.count > 0) {
        const struct tlmc_type *type =
            tlmc_value_type(form->graph, form->form->inputs.items[0].value);

        if (type->rank > 0)
            return count(e, (uint64_t)type->dims[0]);
    }
    return "1";
}

static void put_train(struct tlmc_emit *e, struct tlmc_writer *w, const struct tlmc_emit_form *form)
{
    const struct tlmc_train *t = &e->module->train;
    const struct tlmc_emit_form *eval = form_of_mode(e, TLMC_EVAL);
    const char *prefix = tlmc_emit_printf(e, "%s_%s", e->model, form->label), *accumulate = "NULL";
    const char *data = put_data(e, w, "table_data", &t->data);
    const char *validation = put_data(e, w, "table_validation", &t->validation_data);

    put_groups(e, w, t);
    put_probes(e, w, t);
    put_adapter(e, w, tlmc_emit_printf(e, "%s_backward", prefix));
    if (tlmc_emit_has_phase(form, TLMC_ACCUMULATE_PHASE))
        accumulate = put_adapter(e, w, tlmc_emit_printf(e, "%s_accumulate", prefix));
    put_adapter(e, w, tlmc_emit_printf(e, "%s_step", prefix));
    put_adapter(e, w, tlmc_emit_printf(e, "%s_batch", prefix));
    tlmc_write(w, "static float *call_scalars(void *model)\n"
                  "{\n"
                  "    return %{model}_scalars(call_model(model));\n"
                  "}\n\n");
    put_form(e, w, "train_form", form);
    if (eval)
        put_form(e, w, "eval_form", eval);
    tlmc_write(
        w,
        "static const tlm_train table_train = {\n"
        "    .data = %{data}, .data_count = %{data_count},\n"
        "    .split = %{split}, .split_fraction = %{fraction}, .split_count = %{split_count},\n"
        "    .validation = %{validation}, .validation_count = %{validation_count},\n"
        "    .shuffle = %{shuffle}, .evaluate_train = %{evaluate}, .log_loss_after = %{after},\n"
        "    .steps = %{steps}, .epochs = %{epochs}, .log_every = %{log}, .validate_every = "
        "%{validate}, "
        ".save_every = %{save}, .accumulate = %{accumulate},\n",
        "data", data, "data_count", count(e, t->data.count), "split", split_names[t->split],
        "fraction", f64(e, t->split_fraction), "split_count", i64(e, t->split_count), "validation",
        validation, "validation_count", count(e, t->validation_data.count), "shuffle",
        t->shuffle ? "1" : "0", "evaluate", t->evaluate_train ? "1" : "0", "after",
        t->log_loss_after ? "1" : "0", "steps", i64(e, t->steps), "epochs", i64(e, t->epochs),
        "log", i64(e, t->log_every), "validate", i64(e, t->validate_every), "save",
        i64(e, t->save_every), "accumulate", i64(e, t->accumulate > 0 ? t->accumulate : 1));
    tlmc_write(w,
               "    .seed = UINT64_C(%{seed}), .optimizer = %{optimizer},\n"
               "    .groups = %{groups}, .group_count = %{group_count}, .scalars = %{scalars}, "
               ".scalar_count = "
               "%{scalar_count},\n"
               "    .schedule = %{schedule}, .schedule_count = %{schedule_count},\n"
               "    .probes = %{probes}, .probe_count = %{probe_count},\n"
               "    .form = &train_form, .eval = %{eval}, .batch = %{batch},\n"
               "    .forward = %{forward}, .backward = call_%{label}_backward,\n"
               "    .accumulate_step = %{accumulate}, .step = call_%{label}_step, .train_batch = "
               "call_%{label}_batch,\n"
               "    .scalar_block = call_scalars,\n"
               "};\n\n",
               "seed", count(e, t->seed), "optimizer", optimizer_names[t->optimizer], "groups",
               t->group_count ? "table_groups" : "NULL", "group_count", count(e, t->group_count),
               "scalars", e->module->scalars.count ? "table_scalars" : "NULL", "scalar_count",
               count(e, e->module->scalars.count), "schedule",
               t->schedule.count ? "table_schedule" : "NULL", "schedule_count",
               count(e, t->schedule.count), "probes", t->probes.count ? "table_probes" : "NULL",
               "probe_count", count(e, t->probes.count), "eval", eval ? "&eval_form" : "NULL",
               "batch", batch(e, form), "forward", adapter(e, form->run), "label", form->label,
               "accumulate", accumulate);
}

/* ---- inference, generation, checkpoints */

static uint32_t put_infer(struct tlmc_emit *e, struct tlmc_writer *w)
{
    uint32_t n = 0;

    for (uint32_t f = 0; f < e->form_count; f++) {
        if (e->forms[f].form->mode != TLMC_INFER)
            continue;
        tlmc_write(w, "%{open}    ", "open",
                   n == 0 ? "static const tlm_form infer_forms[] = {\n" : "");
        put_form_row(e, w, &e->forms[f]);
        tlmc_write(w, ",\n");
        n++;
    }
    if (n > 0)
        tlmc_write(w, "};\n\n");
    return n;
}

/* The row of an inference form in infer_forms, or a form of its own. */
static const char *generate_form(struct tlmc_emit *e, struct tlmc_writer *w,
                                 const struct tlmc_emit_form *form)
{
    uint32_t row = 0;

    if (form->form->mode != TLMC_INFER) {
        put_form(e, w, "generate_form", form);
        return "&generate_form";
    }
    for (uint32_t f = 0; &e->forms[f] != form; f++)
        row += e->forms[f].form->mode == TLMC_INFER;
    return tlmc_emit_printf(e, "&infer_forms[%u]", row);
}

static bool put_generate(struct tlmc_emit *e, struct tlmc_writer *w)
{
    const struct tlmc_generate *g = &e->module->generate;
    struct tlmc_emit_form *form =
        g->present ? tlmc_emit_find_form(e, &e->module->forms.items[g->form]) : NULL;
    const char *pointer;

    if (!form)
        return false;
    pointer = generate_form(e, w, form);
    tlmc_write(w,
               "static const tlm_generate table_generate = {\n"
               "    .form = %{form}, .feed = %{feed}, .sample = %{sample}, .bytes = %{bytes},\n"
               "    .vocabulary = %{vocabulary}, .tokens = %{tokens}, .top_k = %{top_k}, "
               ".temperature = %{temperature},\n"
               "};\n\n",
               "form", pointer, "feed", count(e, g->feed), "sample", count(e, g->sample), "bytes",
               g->bytes ? "1" : "0", "vocabulary", quoted(e, g->vocabulary), "tokens",
               i64(e, g->tokens), "top_k", i64(e, g->top_k), "temperature", f64(e, g->temperature));
    return true;
}

static const char *put_strings(struct tlmc_emit *e, struct tlmc_writer *w, const char *name,
                               const tlmc_sym *texts, unsigned n, unsigned stride)
{
    if (n == 0)
        return "NULL";
    tlmc_write(w, "static const char *const %{name}[] = { ", "name", name);
    for (unsigned i = 0; i < n; i++)
        tlmc_write(w, "%{comma}%{text}", "comma", i ? ", " : "", "text",
                   quoted(e, texts[i * stride]));
    tlmc_write(w, " };\n");
    return name;
}

/* Indices, in the emitted table, of parameters without initialiser. */
static uint32_t put_no_init(struct tlmc_emit *e, struct tlmc_writer *w)
{
    uint32_t n = 0, index = 0;

    for (uint32_t i = 0; i < e->module->params.count; i++) {
        if (!tlmc_emit_has_param(e, i))
            continue;
        if (e->module->params.items[i].init.kind == TLMC_INIT_NONE) {
            tlmc_write(w, "%{open}%{i}", "open", n ? ", " : "static const uint32_t no_init[] = { ",
                       "i", count(e, index));
            n++;
        }
        index++;
    }
    if (n > 0)
        tlmc_write(w, " };\n\n");
    return n;
}

static void put_handle(struct tlmc_emit *e, struct tlmc_writer *w)
{
    tlmc_write(w, "/* The shell hands a model around as the address of a pointer to it. */\n"
                  "static struct %{model} *call_model(const void *model)\n"
                  "{\n"
                  "    return *(struct %{model} *const *)model;\n"
                  "}\n\n"
                  "static void *call_plain(const void *data)\n"
                  "{\n"
                  "    return (void *)(uintptr_t)data;\n"
                  "}\n\n"
                  "static tlm_status call_create(void *model, const tlm_options *options)\n"
                  "{\n"
                  "    return %{model}_create((struct %{model} **)model, options);\n"
                  "}\n\n"
                  "static const tlm_param *call_params(void *model, size_t *count)\n"
                  "{\n"
                  "    return %{model}_params(call_model(model), count);\n"
                  "}\n\n"
                  "static const char *call_error(const void *model)\n"
                  "{\n"
                  "    return %{model}_error(call_model(model));\n"
                  "}\n\n"
                  "static void call_reset(void *model)\n"
                  "{\n"
                  "    %{model}_reset(call_model(model));\n"
                  "}\n\n");
    tlmc_write(w, "static tlm_status call_wait(void *model)\n"
                  "{\n"
                  "    return %{model}_wait(call_model(model));\n"
                  "}\n\n"
                  "static void call_destroy(void *model)\n"
                  "{\n"
                  "    %{model}_destroy(call_model(model));\n"
                  "}\n\n");
    tlmc_write(w, "static void call_set_step(void *model, uint64_t step)\n"
                  "{\n"
                  "    %{model}_set_step(call_model(model), step);\n"
                  "}\n\n"
                  "static uint64_t call_get_step(const void *model)\n"
                  "{\n"
                  "    return %{model}_get_step(call_model(model));\n"
                  "}\n\n"
                  "static void call_set_seed(void *model, uint64_t seed)\n"
                  "{\n"
                  "    %{model}_set_seed(call_model(model), seed);\n"
                  "}\n\n"
                  "static void call_reinit(void *model, uint64_t seed)\n"
                  "{\n"
                  "    %{model}_reinit(call_model(model), seed);\n"
                  "}\n\n");
    (void)e;
}

static const char *backend_report(struct tlmc_emit *e)
{
    const struct tlmc_report_options options = { false, false, false };
    struct tlmc_strbuf text = { 0 };
    const char *out;

    tlmc_plan_text(e->plan, &options, &text);
    out = quoted(e, tlmc_strbuf_text(&text));
    tlmc_strbuf_free(&text);
    return out;
}

static void put_program(struct tlmc_emit *e, struct tlmc_writer *w)
{
    const struct tlmc_pretrained *p = &e->module->pretrained;
    const struct tlmc_emit_form *train = tlmc_emit_training(e);
    const uint32_t infer = put_infer(e, w), no_init = put_no_init(e, w);
    const bool generates = put_generate(e, w);
    const char *from =
        put_strings(e, w, "rename_from", p->renames.count ? &p->renames.items[0].from : NULL,
                    p->renames.count, 2);
    const char *to =
        put_strings(e, w, "rename_to", p->renames.count ? &p->renames.items[0].to : NULL,
                    p->renames.count, 2);
    const char *ignore = put_strings(e, w, "ignore_keys", p->ignores.items, p->ignores.count, 1);
    const char *only = put_strings(e, w, "only_keys", p->onlys.items, p->onlys.count, 1);

    tlmc_write(
        w,
        "static const tlm_program table_program = {\n"
        "    .size = sizeof(tlm_program), .abi = %{MODEL}_ABI,\n"
        "    .name = \"%{model}\", .device = \"%{device}\", .profile = %{profile},\n"
        "    .backend_report = backend_report,\n"
        "    .model_bytes = sizeof(struct %{model} *),\n"
        "    .weights_bytes = %{MODEL}_WEIGHTS_BYTES, .state_bytes = %{MODEL}_STATE_BYTES,\n"
        "    .activations_bytes = %{MODEL}_ACTIVATIONS_BYTES,\n"
        "    .create = call_create, .params = call_params, .error = call_error, .reset = "
        "call_reset,\n"
        "    .set_step = call_set_step, .get_step = call_get_step, .set_seed = call_set_seed,\n"
        "    .reinit = call_reinit,\n",
        "device", tlmc_device_name(e->plan->profile->device), "profile",
        quoted(e, e->plan->profile->name));
    tlmc_write(w,
               "    .no_init = %{no_init}, .no_init_count = %{no_init_count},\n"
               "    .infer = %{infer}, .infer_count = %{infer_count},\n"
               "    .train = %{train}, .generate = %{generate},\n"
               "    .pretrained = %{pretrained},\n"
               "    .mapping = { sizeof(tlm_mapping), %{from}, %{to}, %{renames}, %{ignore}, "
               "%{ignores}, %{only}, %{onlys} "
               "},\n"
               "    .wait = call_wait, .destroy = call_destroy, .device_report = %{report},\n"
               "};\n\n"
               "int main(int argc, char **argv)\n"
               "{\n"
               "    return tlm_shell_main(&table_program, argc, argv);\n"
               "}\n",
               "no_init", no_init ? "no_init" : "NULL", "no_init_count", count(e, no_init), "infer",
               infer ? "infer_forms" : "NULL", "infer_count", count(e, infer), "train",
               train ? "&table_train" : "NULL", "generate", generates ? "&table_generate" : "NULL",
               "pretrained", p->present ? quoted(e, p->path) : "NULL", "from", from, "to", to,
               "renames", count(e, p->renames.count), "ignore", ignore, "ignores",
               count(e, p->ignores.count), "only", only, "onlys", count(e, p->onlys.count),
               "report", e->cuda ? "tlm_cuda_report" : "NULL");
}

void tlmc_emit_main(struct tlmc_emit *e, struct tlmc_strbuf *out)
{
    const struct tlmc_emit_form *train = tlmc_emit_training(e);
    struct tlmc_writer w;

    tlmc_emit_head(e, "The program: what the shell of tlm_program.h knows of the model.", out);
    tlmc_writer_init(&w, out);
    tlmc_writer_set(&w, "model", e->model);
    tlmc_writer_set(&w, "MODEL", e->MODEL);
    if (e->options->single_file)
        tlmc_write(&w,
                   "#define _GNU_SOURCE /* files, the terminal, the processors there are */\n\n");
    tlmc_write(&w, "#include \"%{model}.h\"\n"
                   "#include \"tlm_program.h\"\n");
    tlmc_write(&w, e->cuda ? "#include \"tlm_cuda.h\"\n\n" : "\n");
    put_handle(e, &w);
    for (uint32_t f = 0; f < e->form_count; f++)
        put_form_parts(e, &w, &e->forms[f]);
    if (train)
        put_train(e, &w, train);
    tlmc_write(&w,
               "static const char backend_report[] =\n"
               "    %{report};\n\n",
               "report", backend_report(e));
    put_program(e, &w);
    tlmc_writer_end(&w);
}
