/* In place of the program shell: trains a model for some steps on made-up inputs and writes every
   number it can reach as raw bytes, each behind a line that names it: losses and gradients of every
   third step, results of evaluation and inference, parameters and states at the end.  Two programs
   of one model compute the same iff their files are equal.

     PROGRAM OUT STEPS [no-graph]

   Inputs are functions of their place alone: real numbers in [-1, 1], indices below 8. */
#include "scalars.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct dump {
    const tlm_program *program;
    void *model;
    tlm_options options;
    FILE *out;
};

static int fail(const struct dump *d, const char *what, tlm_status status)
{
    fprintf(stderr, "%s: %s: %s: %s\n", d->program->name, what, tlm_status_text(status),
            d->model ? d->program->error(d->model) : "");
    return status == TLM_ERR_DEVICE ? 3 : 1;
}

static void put(struct dump *d, const char *what, const char *name, const void *data, size_t bytes)
{
    fprintf(d->out, "%s %s %zu\n", what, name, bytes);
    fwrite(data, 1, bytes, d->out);
    fputc('\n', d->out);
}

static size_t elements(const tlm_io *io)
{
    size_t count = 1;

    for (uint32_t i = 0; i < io->rank; i++)
        count *= io->dims[i];
    return count;
}

static void fill(struct dump *d, const tlm_form *form, uint64_t step)
{
    for (uint32_t i = 0; i < form->input_count; i++) {
        const tlm_io *io = &form->inputs[i];
        void *data = io->data(d->model);

        for (size_t k = 0; k < elements(io); k++) {
            const uint64_t place = k * 7 + i * 3 + step * 11;

            if (io->dtype == TLM_F32)
                ((float *)data)[k] = (float)((int)(place % 129) - 64) / 64.0f;
            else if (io->dtype == TLM_I32)
                ((int32_t *)data)[k] = (int32_t)(place % 8);
            else
                ((uint8_t *)data)[k] = place % 3 != 0;
        }
    }
}

static void put_ios(struct dump *d, const char *what, const tlm_io *ios, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        put(d, what, ios[i].name, ios[i].data(d->model),
            elements(&ios[i]) * (ios[i].dtype == TLM_BOOL ? 1 : 4));
}

static int wait(struct dump *d)
{
    const tlm_status status = d->program->wait ? d->program->wait(d->model) : TLM_OK;

    return status == TLM_OK ? 0 : fail(d, "wait", status);
}

/* A form on its inputs, and its results. */
static int run_form(struct dump *d, const tlm_form *form)
{
    tlm_status status;
    int code;

    fill(d, form, 5);
    status = form->run(d->model);
    code = status == TLM_OK ? wait(d) : fail(d, form->entry, status);
    if (code)
        return code;
    put_ios(d, "output", form->outputs, form->output_count);
    put_ios(d, "loss", form->losses, form->loss_count);
    put_ios(d, "metric", form->metrics, form->metric_count);
    return 0;
}

static int put_params(struct dump *d, int gradients)
{
    size_t count;
    const tlm_param *params = d->program->params(d->model, &count);

    if (!params)
        return fail(d, "params", TLM_ERR_DEVICE);
    for (size_t i = 0; i < count; i++) {
        if (gradients && params[i].gradient)
            put(d, "gradient", params[i].key, params[i].gradient, params[i].count * 4);
        if (!gradients)
            put(d, "parameter", params[i].key, params[i].data,
                params[i].count * (params[i].dtype == TLM_BOOL ? 1 : 4));
    }
    return 0;
}

/* A batch by its three calls; of the last one of a step the gradients are shown. */
static int train_apart(struct dump *d, int shown)
{
    const tlm_train *train = d->program->train;
    tlm_status status = train->forward(d->model);
    int code = 0;

    if (status == TLM_OK)
        status = train->backward(d->model);
    if (status == TLM_OK && shown) {
        code = wait(d);
        if (!code)
            code = put_params(d, 1);
        if (code)
            return code;
        put_ios(d, "loss", train->form->losses, train->form->loss_count);
    }
    if (status == TLM_OK && train->accumulate_step)
        status = train->accumulate_step(d->model);
    else if (status == TLM_OK)
        status = train->step(d->model);
    return status == TLM_OK ? 0 : fail(d, "train", status);
}

/* One step; every third one shows its gradients, the others run in one call a batch and go on
   without the host. */
static int train_step(struct dump *d, struct tlm_scalars *scalars, uint64_t step)
{
    const tlm_train *train = d->program->train;
    const int64_t batches = train->accumulate > 1 ? train->accumulate : 1;
    const int apart = step % 3 == 1;
    tlm_status status = TLM_OK;
    int code = 0;

    d->program->set_step(d->model, step);
    if (train->scalar_count > 0)
        tlm_scalars_next(scalars, step, train->scalar_block(d->model));
    for (int64_t i = 0; !code && status == TLM_OK && i < batches; i++) {
        fill(d, train->form, step * (uint64_t)batches + (uint64_t)i);
        if (apart)
            code = train_apart(d, i + 1 == batches);
        else
            status = train->train_batch(d->model);
    }
    if (!code && status == TLM_OK && train->accumulate_step)
        status = train->step(d->model);
    return code ? code : status == TLM_OK ? 0 : fail(d, "train", status);
}

static int run_all(struct dump *d, uint64_t steps)
{
    const tlm_train *train = d->program->train;
    struct tlm_scalars scalars;
    char error[TLM_ERROR_BYTES];
    int code = 0;

    if (train && tlm_scalars_start(&scalars, train, (int64_t)steps, error) != TLM_OK)
        return fail(d, error, TLM_ERR_ARGUMENT);
    for (uint64_t step = 0; train && !code && step < steps; step++)
        code = train_step(d, &scalars, step);
    if (train && !code)
        code = wait(d);
    if (train && !code) /* of the last batch */
        put_ios(d, "loss", train->form->losses, train->form->loss_count);
    if (train && !code)
        code = run_form(d, train->eval);
    for (uint32_t i = 0; !code && i < d->program->infer_count; i++)
        code = run_form(d, &d->program->infer[i]);
    return code ? code : put_params(d, 0);
}

int tlm_shell_main(const tlm_program *program, int argc, char **argv)
{
    struct dump d = { .program = program, .options = TLM_OPTIONS_INIT };
    char error[TLM_ERROR_BYTES] = "";
    void *model = NULL;
    tlm_status status;
    int code;

    if (argc < 3)
        return 2;
    d.out = fopen(argv[1], "wb");
    if (!d.out || tlm_arena_new(&d.options, program->weights_bytes, program->state_bytes,
                                program->activations_bytes) != TLM_OK)
        return 2;
    d.options.abi = program->abi;
    d.options.seed = 2026;
    d.options.no_graph = argc > 3 && strcmp(argv[3], "no-graph") == 0;
    d.options.error_text = error;
    status = program->create(&model, &d.options);
    if (status != TLM_OK) {
        fprintf(stderr, "%s: create: %s\n", program->name, error);
        return status == TLM_ERR_DEVICE ? 3 : 1;
    }
    d.model = &model;
    code = run_all(&d, strtoull(argv[2], NULL, 10));
    if (program->destroy)
        program->destroy(d.model);
    tlm_arena_free(&d.options);
    return fclose(d.out) != 0 ? 2 : code;
}
