/* In place of the program shell: how long a model's training step, its micro-batch and its forward
   pass take, on the wall clock, as a training loop sees them: enqueued back to back, waited for at
   the end.  Prints "step=MS micro=MS forward=MS micro_batches=N".

     PROGRAM SECONDS [no-graph]     each figure is measured for about that long

   Inputs are index 1 and the number 0.5, copied to the device in each step. */
#define _POSIX_C_SOURCE 200809L
#include "scalars.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WARM = 2, MOST = 100000 };

struct bench {
    const tlm_program *program;
    void *model;
    struct tlm_scalars scalars;
    int64_t micro_batches;
};

typedef tlm_status once_fn(struct bench *b);

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void must(const struct bench *b, tlm_status status, const char *what)
{
    if (status == TLM_OK)
        return;
    fprintf(stderr, "%s: %s: %s: %s\n", b->program->name, what, tlm_status_text(status),
            b->program->error(b->model));
    exit(1);
}

static void finish(const struct bench *b)
{
    if (b->program->wait)
        must(b, b->program->wait(b->model), "wait");
}

static void fill(const struct bench *b, const tlm_form *form)
{
    for (uint32_t i = 0; i < form->input_count; i++) {
        const tlm_io *io = &form->inputs[i];
        void *data = io->data(b->model);
        size_t count = 1;

        for (uint32_t r = 0; r < io->rank; r++)
            count *= io->dims[r];
        for (size_t k = 0; k < count; k++) {
            if (io->dtype == TLM_F32)
                ((float *)data)[k] = 0.5f;
            else if (io->dtype == TLM_I32)
                ((int32_t *)data)[k] = 1;
            else
                ((uint8_t *)data)[k] = 1;
        }
    }
}

/* ---- what is timed */

static tlm_status micro_batch(struct bench *b)
{
    const tlm_train *train = b->program->train;
    tlm_status status;

    if (train->accumulate_step)
        return train->train_batch(b->model);
    status = train->forward(b->model);
    return status == TLM_OK ? train->backward(b->model) : status;
}

static tlm_status step(struct bench *b)
{
    const tlm_train *train = b->program->train;
    const uint64_t number = b->program->get_step(b->model);
    tlm_status status = TLM_OK;

    if (train->scalar_count > 0)
        tlm_scalars_next(&b->scalars, number, train->scalar_block(b->model));
    for (int64_t i = 0; status == TLM_OK && i < b->micro_batches; i++)
        status = train->train_batch(b->model);
    return status == TLM_OK && train->accumulate_step ? train->step(b->model) : status;
}

static tlm_status forward(struct bench *b)
{
    return b->program->train->eval->run(b->model);
}

/* Milliseconds of one: rounds of a growing number until one lasts long enough. */
static double measure(struct bench *b, once_fn *once, const char *what, double wanted)
{
    int count = 1;

    for (int i = 0; i < WARM; i++)
        must(b, once(b), what);
    finish(b);
    for (;;) {
        const double start = now();
        double took;

        for (int i = 0; i < count; i++)
            must(b, once(b), what);
        finish(b);
        took = now() - start;
        if (took >= wanted || count >= MOST)
            return 1e3 * took / count;
        count =
            took > 0.0 && wanted / took < 8.0 ? (int)(1.2 * count * wanted / took) + 1 : count * 8;
    }
}

int tlm_shell_main(const tlm_program *program, int argc, char **argv)
{
    struct bench b = { .program = program, .micro_batches = 1 };
    const double wanted = argc > 1 ? strtod(argv[1], NULL) : 0.5;
    tlm_options options = TLM_OPTIONS_INIT;
    char error[TLM_ERROR_BYTES] = "";
    void *model = NULL;
    double micro, whole, pass;

    if (!program->train || tlm_arena_new(&options, program->weights_bytes, program->state_bytes,
                                         program->activations_bytes) != TLM_OK)
        return 2;
    options.abi = program->abi;
    options.seed = 1;
    options.no_graph = argc > 2 && strcmp(argv[2], "no-graph") == 0;
    options.error_text = error;
    if (program->create(&model, &options) != TLM_OK) {
        fprintf(stderr, "%s: create: %s\n", program->name, error);
        return 3;
    }
    b.model = &model;
    if (program->train->accumulate > 1)
        b.micro_batches = program->train->accumulate;
    if (tlm_scalars_start(&b.scalars, program->train, MOST, error) != TLM_OK)
        return 2;
    fill(&b, program->train->form);
    fill(&b, program->train->eval);
    whole = measure(&b, step, "step", wanted);
    micro = measure(&b, micro_batch, "micro-batch", wanted);
    pass = measure(&b, forward, "forward", wanted);
    printf("step=%.6f micro=%.6f forward=%.6f micro_batches=%lld\n", whole, micro, pass,
           (long long)b.micro_batches);
    if (program->destroy)
        program->destroy(b.model);
    tlm_arena_free(&options);
    return 0;
}
