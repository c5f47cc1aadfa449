/* Two compiled models in one program, each in a thread of its own: `plane` is trained from C,
   `quickstart_mlp` infers with weights from a checkpoint.  Memory comes from tlm_arena_new; nothing
   allocates after create. usage: embed quickstart.safetensors.  Exit 0 when both did what they
   should. */
#include "plane.h"
#include "quickstart_mlp.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 300, ROWS = 16 };

struct job {
    const char *checkpoint;
    char message[TLM_ERROR_BYTES];
    float a, b, c;    /* of plane: the slopes and the offset found */
    float prediction; /* of quickstart_mlp at (0.25, -0.75) */
    int failed;
};

/* Fills one batch with points of the unit square, the same for every run. */
static void fill_batch(plane *model, unsigned step)
{
    float *x = plane_train_input_x(model), *z = plane_train_target_z(model);
    unsigned state = 2654435761u * (step + 1);

    for (int i = 0; i < ROWS; i++) {
        state = 1664525u * state + 1013904223u;
        x[2 * i] = (float)(state >> 8) * 0x1p-24f;
        state = 1664525u * state + 1013904223u;
        x[2 * i + 1] = (float)(state >> 8) * 0x1p-24f;
        z[i] = 3.0f * x[2 * i] - 2.0f * x[2 * i + 1] + 1.0f;
    }
}

static tlm_status train_plane(plane *model)
{
    tlm_status status = TLM_OK;

    for (unsigned step = 0; status == TLM_OK && step < STEPS; step++) {
        fill_batch(model, step);
        status = plane_train_forward(model);
        if (status == TLM_OK)
            status = plane_train_backward(model);
        if (status == TLM_OK) /* slower towards the end */
            status = plane_set_lr(model, 0, step < STEPS / 2 ? 0.2 : 0.1);
        if (status == TLM_OK)
            status = plane_train_step(model);
    }
    return status;
}

/* The parameter with this key; every model has a table of them. */
static const float *find(const tlm_param *params, size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(params[i].key, key) == 0)
            return params[i].data;
    return NULL;
}

static void *run_training(void *argument)
{
    struct job *job = argument;
    tlm_options options = TLM_OPTIONS_INIT;
    plane *model = NULL;
    size_t count = 0;

    options.abi = PLANE_ABI;
    options.threads = 1;
    options.error_text = job->message;
    job->failed = tlm_arena_new(&options, PLANE_WEIGHTS_BYTES, PLANE_STATE_BYTES,
                                PLANE_ACTIVATIONS_BYTES) != TLM_OK ||
                  plane_create(&model, &options) != TLM_OK;
    if (!job->failed && train_plane(model) != TLM_OK) {
        job->failed = 1;
        strcpy(job->message, plane_error(model));
    }
    if (!job->failed) {
        const tlm_param *params = plane_params(model, &count);
        const float *weight = find(params, count, "fit.weight"),
                    *bias = find(params, count, "fit.bias");

        job->a = weight[0];
        job->b = weight[1];
        job->c = bias[0];
    }
    tlm_arena_free(&options);
    return NULL;
}

static void *run_inference(void *argument)
{
    struct job *job = argument;
    tlm_options options = TLM_OPTIONS_INIT;
    quickstart_mlp *model = NULL;
    size_t count = 0;

    options.abi = QUICKSTART_MLP_ABI;
    options.threads = 1;
    options.error_text = job->message;
    job->failed = tlm_arena_new(&options, QUICKSTART_MLP_WEIGHTS_BYTES, QUICKSTART_MLP_STATE_BYTES,
                                QUICKSTART_MLP_ACTIVATIONS_BYTES) != TLM_OK ||
                  quickstart_mlp_create(&model, &options) != TLM_OK;
    if (!job->failed) {
        const tlm_param *params = quickstart_mlp_params(model, &count);

        job->failed = tlm_load(params, count, job->checkpoint, NULL, NULL, NULL, NULL,
                               job->message) != TLM_OK;
    }
    if (!job->failed) {
        quickstart_mlp_input_x(model)[0] = 0.25f;
        quickstart_mlp_input_x(model)[1] = -0.75f;
        job->failed = quickstart_mlp_infer(model) != TLM_OK;
        job->prediction = quickstart_mlp_output_pred(model)[0];
    }
    tlm_arena_free(&options);
    return NULL;
}

int main(int argc, char **argv)
{
    struct job jobs[2] = { { 0 } };
    void *(*const work[2])(void *) = { run_training, run_inference };
    pthread_t threads[2];

    if (argc != 2) {
        fprintf(stderr, "usage: %s quickstart.safetensors\n", argv[0]);
        return 2;
    }
    jobs[1].checkpoint = argv[1];
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, work[i], &jobs[i]) != 0) {
            fputs("cannot start a thread\n", stderr);
            return 2;
        }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 2; i++)
        if (jobs[i].failed) {
            fprintf(stderr, "%s\n", jobs[i].message);
            return 1;
        }
    printf("plane: z = %.4f a + %.4f b + %.4f\n", (double)jobs[0].a, (double)jobs[0].b,
           (double)jobs[0].c);
    printf("quickstart_mlp: pred(0.25, -0.75) = %.6f\n", (double)jobs[1].prediction);
    return fabsf(jobs[0].a - 3.0f) < 0.01f && fabsf(jobs[0].b + 2.0f) < 0.01f &&
                   fabsf(jobs[0].c - 1.0f) < 0.01f
               ? 0
               : 1;
}
