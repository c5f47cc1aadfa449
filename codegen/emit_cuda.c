/* What only the CUDA target has.  In: the state of an emission whose profile is on CUDA.  Out: the
   tables of NAME.c that the session reads (kernels, tensors that travel, constants, index checks),
   NAME.cu, and the list of kernels that a build checks.  Kernels themselves come from the emitters
   that both targets share. */
#include "emit_c.h"
#include "literal.h"

#include <string.h>

/* ---- tensors that travel */

static const char *number(struct tlmc_emit *e, uint64_t value)
{
    return tlmc_literal_count(e->arena, value);
}

static size_t take(struct tlmc_emit *e, const struct tlmc_type *type)
{
    const size_t at = e->io_bytes, bytes = tlmc_type_bytes(type);

    e->io_bytes += (bytes + TLMC_ALIGN - 1) / TLMC_ALIGN * TLMC_ALIGN;
    return at;
}

/* "IO_TRAIN_X" */
static const char *io_name(struct tlmc_emit *e, const struct tlmc_emit_form *form, const char *name)
{
    return tlmc_names_make(&e->names,
                           tlmc_emit_printf(e, "IO_%s_%s", tlmc_names_upper(e->arena, form->label),
                                            tlmc_names_upper(e->arena,
                                                             tlmc_names_valid(e->arena, name))));
}

static void name_gradients(struct tlmc_emit *e, struct tlmc_emit_form *form)
{
    const struct tlmc_form *train = form->form;

    e->io_gradients = TLMC_NEW_ARRAY(e->arena, const char *, train->grad_count + 1);
    for (uint32_t i = 0; i < train->grad_count; i++)
        e->io_gradients[i] =
            io_name(e, form,
                    tlmc_emit_printf(e, "d_%s",
                                     e->module->params.items[train->grads[i].param].key));
}

void tlmc_cuda_set_up(struct tlmc_emit *e)
{
    for (uint32_t f = 0; f < e->form_count; f++) {
        struct tlmc_emit_form *form = &e->forms[f];

        for (int kind = 0; kind < TLMC_IO_KINDS; kind++) {
            const tlmc_io_vec *ios = tlmc_emit_ios(form->form, (enum tlmc_io_kind)kind);

            form->io[kind] = TLMC_NEW_ARRAY(e->arena, const char *, ios->count + 1);
            for (unsigned i = 0; i < ios->count; i++) {
                form->io[kind][i] = io_name(e, form, ios->items[i].name);
                take(e, tlmc_value_type(form->graph, ios->items[i].value));
            }
        }
        if (form->form->mode != TLMC_TRAIN)
            continue;
        name_gradients(e, form);
        for (uint32_t i = 0; i < form->form->grad_count; i++)
            take(e, tlmc_value_type(form->graph, form->form->grads[i].value));
    }
}

static void put_offset(struct tlmc_emit *e, struct tlmc_strbuf *out, const char *name,
                       const struct tlmc_type *type)
{
    const size_t at = take(e, type);
    char text[256];

    tlmc_type_text(type, text);
    tlmc_strbuf_printf(out, "#define %s ((size_t)%zu) /* %s */\n", name, at, text);
}

/* The same walk as tlmc_cuda_set_up: the offsets come out equal. */
void tlmc_cuda_memory(struct tlmc_emit *e, struct tlmc_strbuf *out)
{
    const size_t total = e->io_bytes;

    if (total == 0)
        return;
    e->io_bytes = 0;
    tlmc_strbuf_add(out,
                    "/* Offsets in the activations block of the host, in bytes: the tensors that "
                    "travel. */\n");
    for (uint32_t f = 0; f < e->form_count; f++) {
        const struct tlmc_emit_form *form = &e->forms[f];

        for (int kind = 0; kind < TLMC_IO_KINDS; kind++) {
            const tlmc_io_vec *ios = tlmc_emit_ios(form->form, (enum tlmc_io_kind)kind);

            for (unsigned i = 0; i < ios->count; i++)
                put_offset(e, out, form->io[kind][i],
                           tlmc_value_type(form->graph, ios->items[i].value));
        }
        for (uint32_t i = 0; form->form->mode == TLMC_TRAIN && i < form->form->grad_count; i++)
            put_offset(e, out, e->io_gradients[i],
                       tlmc_value_type(form->graph, form->form->grads[i].value));
    }
    tlmc_strbuf_char(out, '\n');
    TLMC_CHECK(e->io_bytes == total);
}

/* "{ IO_TRAIN_X, AT_TRAIN_X, 8, TLM_CUDA_ACTIVATIONS },": from the value's storage. */
static void put_span(struct tlmc_emit *e, struct tlmc_writer *w, struct tlmc_emit_form *form,
                     const char *host, uint32_t value)
{
    const char *block, *device = tlmc_emit_offset(e, form, value, &block);

    TLMC_CHECK(device != NULL);
    tlmc_write(w, "    { %{host}, %{device}, %{bytes}, TLM_CUDA_%{BLOCK} },\n", "host", host,
               "device", device, "bytes",
               number(e, tlmc_type_bytes(tlmc_value_type(form->graph, value))), "BLOCK",
               tlmc_names_upper(e->arena, block));
}

struct spans { /* a list of them in the emitted text; "NULL" when empty */
    const char *name;
    unsigned count;
};

static struct spans put_spans(struct tlmc_emit *e, struct tlmc_writer *w,
                              struct tlmc_emit_form *form, bool inputs)
{
    const int first = inputs ? TLMC_IO_INPUT : TLMC_IO_OUTPUT;
    const int last = inputs ? TLMC_IO_INPUT : TLMC_IO_METRIC;
    struct spans spans = {
        tlmc_emit_printf(e, "cuda_%s_%s", form->label, inputs ? "inputs" : "outputs"), 0
    };

    for (int kind = first; kind <= last; kind++) {
        const tlmc_io_vec *ios = tlmc_emit_ios(form->form, (enum tlmc_io_kind)kind);

        for (unsigned i = 0; i < ios->count; i++) {
            if (spans.count++ == 0)
                tlmc_write(w, "static const tlm_cuda_span %{list}[] = {\n", "list", spans.name);
            put_span(e, w, form, form->io[kind][i], ios->items[i].value);
        }
    }
    if (spans.count == 0)
        spans.name = "NULL";
    else
        tlmc_write(w, "};\n");
    return spans;
}

static void put_forms(struct tlmc_emit *e, struct tlmc_writer *w)
{
    struct spans *lists = TLMC_NEW_ARRAY(e->arena, struct spans, 2 * e->form_count + 1);

    tlmc_write(w, "/* Tensors that travel: offset on the host, on the device, bytes, block. */\n");
    for (uint32_t f = 0; f < e->form_count; f++) {
        lists[2 * f] = put_spans(e, w, &e->forms[f], true);
        lists[2 * f + 1] = put_spans(e, w, &e->forms[f], false);
    }
    tlmc_write(w, "static const tlm_cuda_form cuda_forms[] = {\n");
    for (uint32_t f = 0; f < e->form_count; f++)
        tlmc_write(w, "    { %{in}, %{out}, %{in_count}, %{out_count} },\n", "in",
                   lists[2 * f].name, "out", lists[2 * f + 1].name, "in_count",
                   number(e, lists[2 * f].count), "out_count", number(e, lists[2 * f + 1].count));
    tlmc_write(w, "};\n\n");
}

/* Gradients that lie in the arena; those of parameters that nothing depends on do not. */
static uint32_t put_gradients(struct tlmc_emit *e, struct tlmc_writer *w)
{
    uint32_t count = 0;

    for (uint32_t f = 0; f < e->form_count; f++) {
        struct tlmc_emit_form *form = &e->forms[f];

        for (uint32_t i = 0; form->form->mode == TLMC_TRAIN && i < form->form->grad_count; i++) {
            const uint32_t value = form->form->grads[i].value;

            if (form->plan->values[value].place != TLMC_PLACE_ARENA)
                continue;
            if (count++ == 0)
                tlmc_write(w, "static const tlm_cuda_span cuda_gradients[] = {\n");
            put_span(e, w, form, e->io_gradients[i], value);
        }
    }
    if (count > 0)
        tlmc_write(w, "};\n\n");
    return count;
}

/* ---- kernels */

static const char *kernel_number(struct tlmc_emit *e, const char *name)
{
    return tlmc_emit_printf(e, "KERNEL_%s", name);
}

/* Structs, numbers and names of the kernels; the probe of the arithmetic is the last. */
static void put_kernels(struct tlmc_emit *e, struct tlmc_writer *w)
{
    tlmc_write_text(w, "/* What each kernel takes; NAME.cu has the same structs. */\n");
    tlmc_write_text(w, tlmc_strbuf_text(&e->structs_text));
    tlmc_write(w, "\n"
                  "enum {\n");
    for (unsigned i = 0; i < e->bodies.count; i++)
        tlmc_write(w, "    %{kernel},\n", "kernel", kernel_number(e, e->bodies.items[i].name));
    tlmc_write(w, "    KERNEL_tlm_probe,\n"
                  "};\n\n"
                  "static const tlm_cuda_kernel cuda_kernels[] = {\n");
    for (unsigned i = 0; i < e->bodies.count; i++)
        tlmc_write(w, "    { \"%{name}\", TLMK_THREADS, sizeof(struct %{name}_args) },\n", "name",
                   e->bodies.items[i].name);
    tlmc_write(w, "    { \"tlm_probe\", TLMK_THREADS, sizeof(void *) },\n"
                  "};\n\n");
    tlmc_write(
        w, "_Static_assert(TLMK_THREADS == %{threads}, \"blocks of updates are counted so\");\n",
        "threads", number(e, TLMC_CUDA_THREADS));
    for (unsigned i = 0; i < e->bodies.count; i++)
        tlmc_write(w,
                   "_Static_assert(sizeof(struct %{name}_args) == %{bytes}, \"what the build "
                   "checked\");\n",
                   "name", e->bodies.items[i].name, "bytes",
                   number(e, e->bodies.items[i].arg_bytes));
    if (e->offsets_text.length > 0)
        tlmc_write(w, "/* Offsets in tables of NAME.cu, which has no enumerators. */\n");
    tlmc_write_text(w, tlmc_strbuf_text(&e->offsets_text));
    tlmc_write(w, "\n");
}

void tlmc_cuda_kernels(struct tlmc_emit *e, struct tlmc_emission *out)
{
    struct tlmc_emitted_kernel *kernels =
        TLMC_NEW_ARRAY(e->arena, struct tlmc_emitted_kernel, e->bodies.count + 1);

    for (unsigned i = 0; i < e->bodies.count; i++)
        kernels[i] =
            (struct tlmc_emitted_kernel){ e->bodies.items[i].name, TLMC_CUDA_THREADS,
                                          e->bodies.items[i].arg_bytes, e->bodies.items[i].stack };
    kernels[e->bodies.count] = (struct tlmc_emitted_kernel){ "tlm_probe", TLMC_CUDA_THREADS, 8, 0 };
    out->cuda = true;
    out->kernels = kernels;
    out->kernel_count = e->bodies.count + 1;
}

const char *tlmc_cuda_phase(struct tlmc_emit *e, const char *base)
{
    return tlmc_emit_printf(e, "PHASE_%s", tlmc_names_upper(e->arena, base));
}

const char *tlmc_cuda_form(struct tlmc_emit *e, const struct tlmc_emit_form *form)
{
    return tlmc_emit_printf(e, "FORM_%s", tlmc_names_upper(e->arena, form->label));
}

static void put_phases(struct tlmc_emit *e, struct tlmc_writer *w)
{
    tlmc_write(w, "/* What each run function launches is captured once, as a graph. */\n"
                  "enum {\n");
    for (uint32_t f = 0; f < e->form_count; f++) {
        const struct tlmc_emit_form *form = &e->forms[f];

        tlmc_write(w, "    %{phase},\n", "phase",
                   tlmc_cuda_phase(e, form->run + strlen(e->model) + 1));
        for (int i = 0; form->form->mode == TLMC_TRAIN && i < TLMC_TRAINING_CALLS; i++)
            tlmc_write(w, "    %{phase},\n", "phase",
                       tlmc_cuda_phase(e, tlmc_emit_printf(e, "%s_%s", form->label,
                                                           tlmc_training_calls[i])));
    }
    tlmc_write(w, "    PHASES\n"
                  "};\n\n");
}

/* ---- constants and checks */

static void put_constants(struct tlmc_emit *e, struct tlmc_writer *w)
{
    if (e->tables_made.count == 0)
        return;
    tlmc_write(w, "/* Constants on the device. */\n"
                  "enum {\n");
    for (unsigned i = 0; i < e->tables_made.count; i++)
        tlmc_write(w, "    %{place} = %{offset},\n", "place", e->tables_made.items[i].place,
                   "offset", number(e, e->tables_made.items[i].offset));
    tlmc_write(w, "};\n"
                  "static const tlm_cuda_table cuda_tables[] = {\n");
    for (unsigned i = 0; i < e->tables_made.count; i++)
        tlmc_write(w, "    { %{name}, %{place}, sizeof %{name} },\n", "name",
                   e->tables_made.items[i].name, "place", e->tables_made.items[i].place);
    tlmc_write(w, "};\n\n");
}

void tlmc_cuda_check_index(struct tlmc_call *call, uint32_t input, int64_t limit)
{
    struct tlmc_emit *e = call->e;
    const uint32_t value = call->node->inputs[input];
    const int64_t n = tlmc_type_count(tlmc_value_type(call->form->graph, value));
    const struct tlmc_emit_check check = { limit, tlmc_emit_local(e, call->form, value),
                                           tlmc_emit_place(e, call->node->span) };
    struct tlmc_geometry how = { "", "1", 0 };

    tlmc_emit_need_device_header(e, e->options->single_file ? "index.cuh" : "tlmk_cuda.h");
    tlmc_call_field(call, "uint32_t *", "fault", "m->cuda.fault");
    tlmc_call_input(call, "index", input);
    tlmc_call_field(call, "uint32_t ", "check", number(e, e->checks.count));
    tlmc_call_run(
        call, tlmc_emit_printf(e, "check_index_%lldx%lld", (long long)n, (long long)limit),
        tlmc_emit_printf(e, "%lld indices lie below %lld", (long long)n, (long long)limit),
        tlmc_emit_printf(
            e, "    tlmk_i32_check_index__cuda_block(m->fault, m->index, %s, %s, m->check);\n",
            number(e, (uint64_t)n), number(e, (uint64_t)limit)),
        how);
    TLMC_PUSH(e->arena, &e->checks, check);
}

static void put_checks(struct tlmc_emit *e, struct tlmc_writer *w)
{
    if (e->checks.count == 0)
        return;
    tlmc_write(w, "/* Indices that kernels check: limit, tensor, place in the source. */\n"
                  "static const tlm_cuda_check cuda_checks[] = {\n");
    for (unsigned i = 0; i < e->checks.count; i++)
        tlmc_write(w, "    { %{limit}, %{tensor}, %{place} },\n", "limit",
                   number(e, (uint64_t)e->checks.items[i].limit), "tensor",
                   tlmc_emit_quoted(e, e->checks.items[i].tensor, 0), "place",
                   tlmc_emit_quoted(e, e->checks.items[i].place, 0));
    tlmc_write(w, "};\n\n");
}

/* A capsule of the plan whose sums have no defined order; NULL: none. */
static const char *undefined_reduction(const struct tlmc_emit *e)
{
    for (uint32_t f = 0; f < e->form_count; f++)
        for (uint32_t n = 0; n < e->forms[f].graph->node_count; n++) {
            const struct tlmc_capsule *capsule = e->forms[f].plan->choice[n];

            if (capsule && tlmc_capsule_reduction_is_undefined(capsule))
                return capsule->name;
        }
    return NULL;
}

void tlmc_cuda_tables(struct tlmc_emit *e, struct tlmc_strbuf *out)
{
    const char *undefined = undefined_reduction(e);
    struct tlmc_strbuf spans = { 0 };
    struct tlmc_writer w;
    uint32_t gradients;

    tlmc_writer_init(&w, &spans); /* first: an output may be a constant, whose table it makes */
    put_forms(e, &w);
    gradients = put_gradients(e, &w);
    tlmc_writer_end(&w);

    tlmc_writer_init(&w, out);
    tlmc_writer_set(&w, "model", e->model);
    tlmc_writer_set(&w, "MODEL", e->MODEL);
    put_kernels(e, &w);
    put_phases(e, &w);
    put_constants(e, &w);
    tlmc_write_text(&w, tlmc_strbuf_text(&spans));
    tlmc_strbuf_free(&spans);
    put_checks(e, &w);
    tlmc_write(
        &w,
        "/* The compiled device code, made by the build. */\n"
        "extern const tlm_cuda_image %{model}_images[];\n"
        "extern const uint32_t %{model}_image_count;\n\n"
        "static const tlm_cuda_needs cuda_needs = {\n"
        "    .size = sizeof(tlm_cuda_needs), .model = \"%{model}\",\n"
        "    .images = %{model}_images, .image_count = &%{model}_image_count,\n"
        "    .kernels = cuda_kernels, .kernel_count = sizeof cuda_kernels / sizeof *cuda_kernels,\n"
        "    .weights_bytes = %{MODEL}_WEIGHTS_BYTES, .state_bytes = %{MODEL}_STATE_BYTES,\n"
        "    .state_begin = %{head}, .activations_bytes = %{activations}, .tables_bytes = "
        "%{tables},\n",
        "head", number(e, e->head_bytes), "activations", number(e, e->plan->activations_bytes),
        "tables", number(e, e->table_bytes));
    tlmc_write(&w,
               "    .tables = %{table_list}, .table_count = %{table_count},\n"
               "    .forms = cuda_forms, .form_count = %{forms},\n"
               "    .gradients = %{gradients}, .gradient_count = %{gradient_count},\n"
               "    .checks = %{checks}, .check_count = %{check_count},\n"
               "    .scalar_count = %{scalars}, .phase_count = PHASES,\n"
               "    .undefined_reduction = %{undefined},\n"
               "};\n\n",
               "table_list", e->tables_made.count ? "cuda_tables" : "NULL", "table_count",
               number(e, e->tables_made.count), "forms", number(e, e->form_count), "gradients",
               gradients ? "cuda_gradients" : "NULL", "gradient_count", number(e, gradients),
               "checks", e->checks.count ? "cuda_checks" : "NULL", "check_count",
               number(e, e->checks.count), "scalars",
               number(e, tlmc_emit_training(e) ? e->module->scalars.count : 0), "undefined",
               undefined ? tlmc_emit_quoted(e, undefined, 0) : "NULL");
    tlmc_writer_end(&w);
}

/* ---- NAME.cu */

void tlmc_cuda_device_text(struct tlmc_emit *e, struct tlmc_strbuf *out)
{
    tlmc_emit_need_device_header(e, e->options->single_file ? "probe.cuh" : "tlmk_cuda.h");
    tlmc_strbuf_add(out, "#include \"tlm_math.h\"\n");
    for (unsigned i = 0; i < e->device_headers.count; i++)
        if (strcmp(e->device_headers.items[i], "tlm_math.h") != 0)
            tlmc_strbuf_printf(out, "#include \"%s\"\n", e->device_headers.items[i]);
    tlmc_strbuf_printf(out, "\n%s", tlmc_strbuf_text(&e->bodies_text));
    tlmc_strbuf_add(out, "/* Is the arithmetic of this device what docs/numerics.md says? */\n"
                         "struct tlm_probe_args {\n"
                         "    uint32_t *out;\n"
                         "};\n"
                         "TLM_KERNEL(tlm_probe)\n"
                         "{\n"
                         "    tlmk_probe(m->out);\n"
                         "}\n");
}

void tlmc_cuda_fatbin_text(struct tlmc_emit *e, struct tlmc_strbuf *out)
{
    struct tlmc_writer w;

    tlmc_writer_init(&w, out);
    tlmc_writer_set(&w, "model", e->model);
    tlmc_writer_set(&w, "MODEL", e->MODEL);
    tlmc_write(
        &w, "\n"
            "/* Device code that nvcc compiled: CMakeLists.txt names the C array that bin2c made "
            "of it.\n"
            "   tlmc build writes NAME_images.c in its place. */\n"
            "#ifdef %{MODEL}_FATBIN\n"
            "#include %{MODEL}_FATBIN\n"
            "extern const tlm_cuda_image %{model}_images[];\n"
            "extern const uint32_t %{model}_image_count;\n"
            "const tlm_cuda_image %{model}_images[] = { { TLM_CUDA_IMAGE_ANY, 0, %{model}_fatbin, "
            "sizeof %{model}_fatbin } };\n"
            "const uint32_t %{model}_image_count = 1;\n"
            "#endif\n");
    tlmc_writer_end(&w);
}
