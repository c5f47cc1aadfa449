/* Inference from .npy files: see infer.h. */
#include "infer.h"

#include "alloc.h"
#include "data.h"
#include "file.h"
#include "npy.h"
#include "report.h"
#include "safetensors.h"
#include "status.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* One tensor of the form with its file. */
struct infer_tensor {
    const tlm_io *io;
    const char *path;       /* NULL: an output that is printed */
    struct tlm_bytes bytes; /* of an input's file */
    const uint8_t *source;  /* an input's elements */
    uint8_t *result;        /* an output's rows; owned */
    size_t rows, row_bytes; /* rows: the first axis of an input's file; 0 without axes */
};

struct infer_run {
    struct tlm_session *session;
    const tlm_form *form;
    struct infer_tensor *inputs, *outputs;
    uint32_t output_count;
    bool by_rows; /* rows in batches; else one run of the form's own shapes */
    size_t rows, batch;
};

/* "x, y" of a form's tensors, for messages. */
static const char *infer_names(const tlm_io *ios, uint32_t count, char *out, size_t capacity)
{
    size_t length = 0;

    out[0] = 0;
    for (uint32_t i = 0; i < count && length < capacity; i++)
        length +=
            (size_t)snprintf(out + length, capacity - length, "%s%s", i ? ", " : "", ios[i].name);
    return out;
}

/* The word NAME=FILE: its file, and in *length the length of its name; NULL: malformed. */
static const char *infer_split(const char *word, size_t *length)
{
    const char *const equals = strchr(word, '=');

    if (!equals || equals == word || !equals[1])
        return NULL;
    *length = (size_t)(equals - word);
    return equals + 1;
}

static bool infer_names_input(const char *word, const char *name)
{
    size_t length;

    return infer_split(word, &length) && strlen(name) == length && memcmp(word, name, length) == 0;
}

/* Does every --input belong to the form, and every input have one? */
static bool infer_fits(const struct tlm_flags *flags, const tlm_form *form)
{
    if (flags->inputs.count != form->input_count)
        return false;
    for (uint32_t i = 0; i < form->input_count; i++) {
        uint32_t found = 0;

        for (uint32_t w = 0; w < flags->inputs.count; w++)
            found += infer_names_input(flags->inputs.at[w], form->inputs[i].name);
        if (found != 1)
            return false;
    }
    return true;
}

/* The form that --infer [ENTRY] means. */
static tlm_status infer_choose(struct infer_run *run)
{
    const tlm_program *const program = run->session->program;
    const struct tlm_flags *const flags = run->session->flags;
    uint32_t fitting = 0;

    for (uint32_t i = 0; i < program->infer_count; i++) {
        const tlm_form *const form = &program->infer[i];

        if (flags->infer.value ? strcmp(flags->infer.value, form->entry) == 0
                               : program->infer_count == 1 || infer_fits(flags, form)) {
            run->form = form;
            fitting++;
        }
    }
    if (fitting == 1)
        return TLM_OK;
    if (flags->infer.value)
        return tlm_fail(run->session->error, TLM_ERR_ARGUMENT,
                        "--infer: no entry '%s' with outputs; "
                        "the first is '%s'",
                        flags->infer.value, program->infer[0].entry);
    return tlm_fail(run->session->error, TLM_ERR_ARGUMENT,
                    "--infer needs the name of an entry: %s has exactly the inputs given",
                    fitting ? "more than one" : "none");
}

/* Pairs one word with a tensor of `ios`; its index, or count after a failure. */
static uint32_t infer_pair(struct infer_run *run, const char *flag, const char *word,
                           const tlm_io *ios, uint32_t count, struct infer_tensor *tensors,
                           tlm_status *status)
{
    char names[128];
    uint32_t i = 0;

    while (i < count && !infer_names_input(word, ios[i].name))
        i++;
    if (i == count)
        *status = tlm_fail(run->session->error, TLM_ERR_ARGUMENT,
                           "%s %s: NAME=FILE.npy is needed, with one of the names %s", flag, word,
                           infer_names(ios, count, names, sizeof names));
    else if (tensors[i].path)
        *status = tlm_fail(run->session->error, TLM_ERR_ARGUMENT, "%s: '%s' is given twice", flag,
                           ios[i].name);
    return i;
}

static tlm_status infer_pair_all(struct infer_run *run)
{
    const struct tlm_flags *const flags = run->session->flags;
    const tlm_form *const form = run->form;
    tlm_status status = TLM_OK;
    size_t length;

    for (uint32_t w = 0; w < flags->inputs.count; w++) {
        const uint32_t i = infer_pair(run, "--input", flags->inputs.at[w], form->inputs,
                                      form->input_count, run->inputs, &status);

        if (status != TLM_OK)
            return status;
        run->inputs[i].path = infer_split(flags->inputs.at[w], &length);
    }
    for (uint32_t w = 0; w < flags->outputs.count; w++) {
        const uint32_t i = infer_pair(run, "--output", flags->outputs.at[w], form->outputs,
                                      form->output_count, run->outputs, &status);

        if (status != TLM_OK)
            return status;
        run->outputs[i].path = infer_split(flags->outputs.at[w], &length);
    }
    for (uint32_t i = 0; i < form->input_count; i++)
        if (!run->inputs[i].path)
            return tlm_fail(run->session->error, TLM_ERR_ARGUMENT,
                            "--infer needs --input %s=FILE.npy", form->inputs[i].name);
    return TLM_OK;
}

/* Reads an input's file and compares its axes with the form's: all of them, or all behind the
   first. */
static tlm_status infer_read(struct infer_run *run, struct infer_tensor *tensor)
{
    const tlm_io *const io = tensor->io;
    char *const error = run->session->error;
    char has[128], needs[128];
    uint64_t dims[TLM_MAX_RANK];
    struct tlm_npy npy;
    bool same, rows;
    tlm_status status = tlm_file_read(tensor->path, SIZE_MAX / 2, &tensor->bytes, error);

    if (status == TLM_OK)
        status = tlm_npy_parse(tensor->bytes.data, tensor->bytes.size, tensor->path, &npy, error);
    if (status != TLM_OK)
        return status;
    if (npy.dtype != io->dtype)
        return tlm_fail(error, TLM_ERR_MISMATCH, "%s: the elements are '%s', those of '%s' are %s",
                        tlm_path_tail(tensor->path), tlm_npy_descr(npy.dtype), io->name,
                        tlm_dtype_name((int)io->dtype));
    same = rows = npy.rank == io->rank;
    for (uint32_t i = 0; i < io->rank; i++) {
        dims[i] = io->dims[i];
        same = same && npy.dims[i] == dims[i];
        rows = rows && (i == 0 || npy.dims[i] == dims[i]);
    }
    tensor->source = npy.data;
    tensor->rows = npy.rank > 0 ? (size_t)npy.dims[0] : 0;
    run->by_rows = run->by_rows || !same;
    if (same || (rows && io->rank > 0 && io->dims[0] > 0))
        return TLM_OK;
    tlm_shape_text(npy.rank, npy.dims, has, sizeof has);
    tlm_shape_text(io->rank, dims, needs, sizeof needs);
    return tlm_fail(error, TLM_ERR_MISMATCH, "%s: the shape is %s, '%s' needs %s",
                    tlm_path_tail(tensor->path), has, io->name, needs);
}

/* How many rows there are, and how many go through at once. */
static tlm_status infer_count_rows(struct infer_run *run)
{
    const struct infer_tensor *const first = run->inputs;

    run->rows = run->batch = 1;
    if (!run->by_rows)
        return TLM_OK; /* one run, whatever the first axis is */
    run->rows = first->rows;
    run->batch = first->io->rank > 0 ? first->io->dims[0] : 0;
    for (uint32_t i = 0; i < run->form->input_count; i++) {
        const struct infer_tensor *const in = &run->inputs[i];

        if (in->io->rank == 0 || in->io->dims[0] != run->batch || run->batch == 0)
            return tlm_fail(
                run->session->error, TLM_ERR_MISMATCH,
                "'%s' has no row axis like the other inputs': every shape must be the form's",
                in->io->name);
        if (in->rows != run->rows)
            return tlm_fail(run->session->error, TLM_ERR_MISMATCH,
                            "%s: %zu rows, those of '%s' are %zu", tlm_path_tail(in->path),
                            in->rows, first->io->name, run->rows);
    }
    return TLM_OK;
}

/* Memory for the results; in rows, an output needs the row axis. */
static tlm_status infer_prepare_outputs(struct infer_run *run)
{
    for (uint32_t i = 0; i < run->output_count; i++) {
        struct infer_tensor *const out = &run->outputs[i];
        const size_t bytes = tlm_io_elements(out->io) * tlm_dtype_bytes((int)out->io->dtype);

        if (run->by_rows && (out->io->rank == 0 || out->io->dims[0] != run->batch))
            return tlm_fail(run->session->error, TLM_ERR_MISMATCH,
                            "the output '%s' has no row axis: the inputs must have %zu rows",
                            out->io->name, run->batch);
        out->row_bytes = bytes / run->batch;
        out->result = tlm_alloc(run->rows, out->row_bytes);
        if (!out->result)
            return tlm_fail(run->session->error, TLM_ERR_MEMORY, "no memory for %zu rows of '%s'",
                            run->rows, out->io->name);
    }
    for (uint32_t i = 0; i < run->form->input_count; i++)
        run->inputs[i].row_bytes = tlm_io_elements(run->inputs[i].io) *
                                   tlm_dtype_bytes((int)run->inputs[i].io->dtype) / run->batch;
    return TLM_OK;
}

static tlm_status infer_compute(struct infer_run *run)
{
    struct tlm_session *const session = run->session;

    for (size_t at = 0; at < run->rows; at += run->batch) {
        const size_t real = run->rows - at < run->batch ? run->rows - at : run->batch;
        tlm_status status;

        for (uint32_t i = 0; i < run->form->input_count; i++) {
            const struct infer_tensor *const in = &run->inputs[i];
            char *const data = in->io->data(session->model);

            for (size_t b = 0; in->row_bytes > 0 && b < run->batch; b++)
                memcpy(data + b * in->row_bytes,
                       in->source + (at + (b < real ? b : real - 1)) * in->row_bytes,
                       in->row_bytes);
        }
        status = tlm_session_run(session, run->form);
        if (status != TLM_OK)
            return status;
        for (uint32_t i = 0; i < run->output_count; i++) {
            struct infer_tensor *const out = &run->outputs[i];

            if (out->row_bytes > 0)
                memcpy(out->result + at * out->row_bytes, out->io->data(session->model),
                       real * out->row_bytes);
        }
    }
    return TLM_OK;
}

/* "pred: f32[4, 1]" and a line of values for each row. */
static void infer_print(const struct infer_tensor *out, uint32_t rank, const uint64_t *dims)
{
    const size_t rows = rank == 0 ? 1 : (size_t)dims[0];
    const size_t each = rank == 0 ? 1 : tlm_io_row_elements(out->io);
    char shape[128];

    tlm_shape_text(rank, dims, shape, sizeof shape);
    printf("%s: %s%s\n", out->io->name, tlm_dtype_name((int)out->io->dtype), shape);
    for (size_t r = 0; r < rows; r++) {
        fputs("  [", stdout);
        for (size_t e = 0; e < each; e++) {
            if (e > 0)
                fputs(", ", stdout);
            tlm_print_value(out->io->dtype,
                            tlm_get_element(out->io->dtype, out->result, r * each + e));
        }
        puts("]");
    }
}

static tlm_status infer_deliver(struct infer_run *run)
{
    const bool print = run->session->flags->outputs.count == 0;
    tlm_status status = TLM_OK;

    for (uint32_t i = 0; status == TLM_OK && i < run->output_count; i++) {
        const struct infer_tensor *const out = &run->outputs[i];
        uint64_t dims[TLM_MAX_RANK];

        for (uint32_t d = 0; d < out->io->rank; d++)
            dims[d] = d == 0 && run->by_rows ? run->rows : out->io->dims[d];
        if (print)
            infer_print(out, out->io->rank, dims);
        else if (out->path)
            status = tlm_session_wrote(run->session,
                                       tlm_npy_write(out->path, out->io->dtype, out->io->rank, dims,
                                                     out->result, run->session->error));
    }
    return status;
}

static tlm_status infer_run_all(struct infer_run *run)
{
    tlm_status status = infer_pair_all(run);

    for (uint32_t i = 0; status == TLM_OK && i < run->form->input_count; i++)
        status = infer_read(run, &run->inputs[i]);
    if (status == TLM_OK)
        status = infer_count_rows(run);
    if (status == TLM_OK)
        status = infer_prepare_outputs(run);
    if (status == TLM_OK)
        status = infer_compute(run);
    return status == TLM_OK ? infer_deliver(run) : status;
}

tlm_status tlm_infer_main(struct tlm_session *session)
{
    struct infer_run run = { .session = session };
    tlm_status status = infer_choose(&run);

    if (status != TLM_OK)
        return status;
    run.output_count = run.form->output_count;
    run.inputs = tlm_alloc(run.form->input_count, sizeof *run.inputs);
    run.outputs = tlm_alloc(run.output_count, sizeof *run.outputs);
    if (!run.inputs || !run.outputs) {
        status = tlm_fail(session->error, TLM_ERR_MEMORY, "no memory to infer");
    } else {
        for (uint32_t i = 0; i < run.form->input_count; i++)
            run.inputs[i].io = &run.form->inputs[i];
        for (uint32_t i = 0; i < run.output_count; i++)
            run.outputs[i].io = &run.form->outputs[i];
        status = infer_run_all(&run);
    }
    for (uint32_t i = 0; run.inputs && i < run.form->input_count; i++)
        tlm_bytes_free(&run.inputs[i].bytes);
    for (uint32_t i = 0; run.outputs && i < run.output_count; i++)
        free(run.outputs[i].result);
    free(run.inputs);
    free(run.outputs);
    return status;
}
