/* A model written by hand behind the table of tlm_program.h, for tests of the program shell: pred =
   x w + b with two inputs, mean squared error, Adam; a saved state that counts training passes; and
   a second form that "writes text": the likeliest byte after c is c + 1.

   The rows of a batch are TINY_BATCH; a value of y above 1000 makes the forward pass fail as a bad
   index would. */
#ifndef TINY_PROGRAM_H
#define TINY_PROGRAM_H

#include "tlm_program.h"

#include <math.h>
#include <string.h>

enum { TINY_BATCH = 4, TINY_IN = 2, TINY_WINDOW = 3, TINY_BYTES = 256, TINY_PARAMS = 7 };

typedef struct tiny {
    float w[TINY_IN], b, passes, m[TINY_IN], v[TINY_IN], mb, vb;
    float gw[TINY_IN], gb, sums[TINY_IN + 1];
    float x[TINY_BATCH * TINY_IN], y[TINY_BATCH], pred[TINY_BATCH], loss, scalars[2];
    float row_losses[TINY_BATCH];
    uint8_t close[TINY_BATCH];
    int32_t ids[TINY_WINDOW];
    float logits[TINY_WINDOW * TINY_BYTES];
    uint64_t step, seed;
    tlm_param params[TINY_PARAMS];
    char error[TLM_ERROR_BYTES];
    uint32_t micro; /* batches accumulated */
} tiny;

#define TINY_DATA(field)                  \
    static void *tiny_at_##field(void *m) \
    {                                     \
        return &((tiny *)m)->field;       \
    }
TINY_DATA(x)
TINY_DATA(y)
TINY_DATA(pred)
TINY_DATA(loss)
TINY_DATA(row_losses)
TINY_DATA(close)
TINY_DATA(ids)
TINY_DATA(logits)

static void tiny_param(tiny *m, int i, const char *key, float *data, uint32_t rank, uint32_t n,
                       const float *gradient, tlm_param_kind kind)
{
    m->params[i] = (tlm_param){ .size = sizeof(tlm_param),
                                .key = key,
                                .dtype = TLM_F32,
                                .rank = rank,
                                .dims = { n },
                                .count = rank ? n : 1,
                                .data = data,
                                .gradient = gradient,
                                .kind = kind,
                                .trainable = kind == TLM_PARAM_TRAINED };
}

static tlm_status tiny_create(void *model, const tlm_options *options)
{
    tiny *m = model;

    if (options->abi != 7 || !options->weights)
        return TLM_ERR_ABI;
    if (options->cpu == TLM_CPU_AVX512) {
        strcpy(options->error_text, "this processor has no AVX-512");
        return TLM_ERR_CPU;
    }
    memset(m, 0, sizeof *m);
    m->seed = options->seed;
    for (int i = 0; i < TINY_IN; i++)
        m->w[i] = 0.25f * (float)(i + 1) + (float)(options->seed % 16);
    tiny_param(m, 0, "fc.weight", m->w, 1, TINY_IN, m->gw, TLM_PARAM_TRAINED);
    tiny_param(m, 1, "fc.bias", &m->b, 0, 1, &m->gb, TLM_PARAM_TRAINED);
    tiny_param(m, 2, "passes", &m->passes, 0, 1, NULL, TLM_PARAM_STATE);
    tiny_param(m, 3, "tlm.adam.m.fc.weight", m->m, 1, TINY_IN, NULL, TLM_PARAM_OPTIMIZER);
    tiny_param(m, 4, "tlm.adam.v.fc.weight", m->v, 1, TINY_IN, NULL, TLM_PARAM_OPTIMIZER);
    tiny_param(m, 5, "tlm.adam.m.fc.bias", &m->mb, 0, 1, NULL, TLM_PARAM_OPTIMIZER);
    tiny_param(m, 6, "tlm.adam.v.fc.bias", &m->vb, 0, 1, NULL, TLM_PARAM_OPTIMIZER);
    return TLM_OK;
}

static const tlm_param *tiny_params(void *model, size_t *count)
{
    *count = TINY_PARAMS;
    return ((tiny *)model)->params;
}

static const char *tiny_error(const void *model)
{
    return ((const tiny *)model)->error;
}

static void tiny_reset(void *model)
{
    (void)model;
}

static void tiny_set_step(void *model, uint64_t step)
{
    ((tiny *)model)->step = step;
}

static uint64_t tiny_get_step(const void *model)
{
    return ((const tiny *)model)->step;
}

static void tiny_set_seed(void *model, uint64_t seed)
{
    ((tiny *)model)->seed = seed;
}

static void tiny_reinit(void *model, uint64_t seed)
{
    (void)model;
    (void)seed;
}

static tlm_status tiny_infer(void *model)
{
    tiny *m = model;

    for (int r = 0; r < TINY_BATCH; r++)
        m->pred[r] = m->x[2 * r] * m->w[0] + m->x[2 * r + 1] * m->w[1] + m->b;
    return TLM_OK;
}

static tlm_status tiny_eval(void *model)
{
    tiny *m = model;

    tiny_infer(model);
    for (int r = 0; r < TINY_BATCH; r++) {
        const float d = m->pred[r] - m->y[r];

        if (m->y[r] > 1000.0f) {
            strcpy(m->error, "index 1001 at position 0 of tensor 'y' is out of range");
            return TLM_ERR_INDEX;
        }
        m->row_losses[r] = d * d;
        m->close[r] = fabsf(d) < 0.5f;
    }
    return TLM_OK;
}

static tlm_status tiny_forward(void *model)
{
    tiny *m = model;
    const tlm_status status = tiny_eval(model);

    m->loss = 0;
    for (int r = 0; r < TINY_BATCH; r++)
        m->loss += m->row_losses[r] / TINY_BATCH;
    m->passes += 1.0f;
    return status;
}

static tlm_status tiny_backward(void *model)
{
    tiny *m = model;

    m->gw[0] = m->gw[1] = m->gb = 0;
    for (int r = 0; r < TINY_BATCH; r++) {
        /* the seed stands for random draws: a run with another one has other gradients */
        const float g = 2.0f * (m->pred[r] - m->y[r]) / TINY_BATCH + 0.01f * (float)(m->seed % 8);

        m->gw[0] += g * m->x[2 * r];
        m->gw[1] += g * m->x[2 * r + 1];
        m->gb += g;
    }
    return TLM_OK;
}

__attribute__((unused)) static tlm_status tiny_backward_wrong(void *model)
{
    tiny_backward(model);
    ((tiny *)model)->gw[1] *= 1.5f;
    return TLM_OK;
}

__attribute__((unused)) static tlm_status tiny_accumulate(void *model)
{
    tiny *m = model;

    m->sums[0] += m->gw[0];
    m->sums[1] += m->gw[1];
    m->sums[2] += m->gb;
    m->micro++;
    return TLM_OK;
}

static void tiny_adam(float *p, float g, float *m, float *v, const float *scalars)
{
    *m = 0.9f * *m + 0.1f * g;
    *v = 0.99f * *v + 0.01f * g * g;
    *p -= scalars[0] * *m / (sqrtf(*v) / scalars[1] + 1e-8f);
}

static tlm_status tiny_step(void *model)
{
    tiny *m = model;

    if (m->micro > 0) {
        m->gw[0] = m->sums[0] / (float)m->micro;
        m->gw[1] = m->sums[1] / (float)m->micro;
        m->gb = m->sums[2] / (float)m->micro;
        memset(m->sums, 0, sizeof m->sums);
        m->micro = 0;
    }
    for (int i = 0; i < TINY_IN; i++)
        tiny_adam(&m->w[i], m->gw[i], &m->m[i], &m->v[i], m->scalars);
    tiny_adam(&m->b, m->gb, &m->mb, &m->vb, m->scalars);
    return TLM_OK;
}

static float *tiny_scalars(void *model)
{
    return ((tiny *)model)->scalars;
}

static tlm_status tiny_next(void *model)
{
    tiny *m = model;

    for (int p = 0; p < TINY_WINDOW; p++)
        for (int c = 0; c < TINY_BYTES; c++)
            m->logits[p * TINY_BYTES + c] = c == m->ids[p] + 1 ? 5.0f : 0.0f;
    return TLM_OK;
}

static const tlm_io tiny_inputs[] = {
    { "x", TLM_F32, 2, { TINY_BATCH, TINY_IN }, 0, tiny_at_x },
    { "y", TLM_F32, 2, { TINY_BATCH, 1 }, 1, tiny_at_y },
};
static const tlm_io tiny_outputs[] = { { "pred", TLM_F32, 2, { TINY_BATCH, 1 }, 0, tiny_at_pred } };
static const tlm_io tiny_losses[] = { { "loss", TLM_F32, 0, { 0 }, 0, tiny_at_loss } };
static const tlm_io tiny_row_losses[] = {
    { "loss", TLM_F32, 1, { TINY_BATCH }, 0, tiny_at_row_losses }
};
static const tlm_io tiny_metrics[] = { { "close", TLM_BOOL, 1, { TINY_BATCH }, 0, tiny_at_close } };
static const tlm_io tiny_ids[] = { { "ids", TLM_I32, 2, { 1, TINY_WINDOW }, 0, tiny_at_ids } };
static const tlm_io tiny_logits[] = {
    { "logits", TLM_F32, 3, { 1, TINY_WINDOW, TINY_BYTES }, 0, tiny_at_logits }
};

static const tlm_form tiny_train_form = { .entry = "infer",
                                          .inputs = tiny_inputs,
                                          .input_count = 2,
                                          .outputs = tiny_outputs,
                                          .output_count = 1,
                                          .losses = tiny_losses,
                                          .loss_count = 1,
                                          .run = tiny_forward };
static const tlm_form tiny_eval_form = { .entry = "infer",
                                         .inputs = tiny_inputs,
                                         .input_count = 2,
                                         .outputs = tiny_outputs,
                                         .output_count = 1,
                                         .losses = tiny_row_losses,
                                         .loss_count = 1,
                                         .metrics = tiny_metrics,
                                         .metric_count = 1,
                                         .run = tiny_eval };
static const tlm_form tiny_infer_forms[] = { { .entry = "infer",
                                               .inputs = tiny_inputs,
                                               .input_count = 1,
                                               .outputs = tiny_outputs,
                                               .output_count = 1,
                                               .run = tiny_infer,
                                               .memory = "x 0 32",
                                               .arena_bytes = 64,
                                               .lower_bound = 48 } };
static const tlm_form tiny_next_form = { .entry = "next",
                                         .inputs = tiny_ids,
                                         .input_count = 1,
                                         .outputs = tiny_logits,
                                         .output_count = 1,
                                         .run = tiny_next };
static const tlm_generate tiny_generate = {
    .form = &tiny_next_form, .bytes = 1, .tokens = 4, .temperature = 0.0
};

static const int64_t tiny_x_columns[] = { 0, 1 };
static const char *const tiny_y_columns[] = { "y" };
static const tlm_feed tiny_feeds[] = {
    { .input = 0, .reader = TLM_READ_COLUMNS, .columns = tiny_x_columns, .column_count = 2 },
    { .input = 1, .reader = TLM_READ_COLUMNS, .column_names = tiny_y_columns, .column_count = 1 },
};
static const tlm_data tiny_data[] = {
    { .path = "tiny.csv", .header = 1, .feeds = tiny_feeds, .feed_count = 2 }
};
static const tlm_group tiny_groups[] = { { .lr = 0.05, .beta1 = 0.9, .beta2 = 0.99 } };
static const tlm_scalar tiny_scalar_rows[] = { { TLM_SCALAR_STEP_SIZE, 0 },
                                               { TLM_SCALAR_SQRT_BC2, 0 } };
static const double tiny_probe_x[] = { 0.5, -0.25 }, tiny_probe_y[] = { 2.0 };
static const tlm_probe_value tiny_probe_values[] = { { 0, tiny_probe_x, 2 },
                                                     { 1, tiny_probe_y, 1 } };
static const tlm_probe tiny_probes[] = { { "here", tiny_probe_values, 2 } };

/* The train clause and the program that tests start from and change. */
static const tlm_train tiny_train = {
    .data = tiny_data,
    .data_count = 1,
    .evaluate_train = 1,
    .steps = 20,
    .log_every = 10,
    .accumulate = 1,
    .optimizer = TLM_ADAM,
    .groups = tiny_groups,
    .group_count = 1,
    .scalars = tiny_scalar_rows,
    .scalar_count = 2,
    .probes = tiny_probes,
    .probe_count = 1,
    .form = &tiny_train_form,
    .eval = &tiny_eval_form,
    .batch = TINY_BATCH,
    .forward = tiny_forward,
    .backward = tiny_backward,
    .step = tiny_step,
    .scalar_block = tiny_scalars,
};

static tlm_program tiny_program(const tlm_train *train)
{
    return (tlm_program){
        .size = sizeof(tlm_program),
        .abi = 7,
        .name = "tiny",
        .device = "cpu",
        .profile = "checked_cpu",
        .backend_report = "matmul: by_hand\n",
        .model_bytes = sizeof(tiny),
        .weights_bytes = 16,
        .state_bytes = 16,
        .activations_bytes = 16,
        .create = tiny_create,
        .params = tiny_params,
        .error = tiny_error,
        .reset = tiny_reset,
        .set_step = tiny_set_step,
        .get_step = tiny_get_step,
        .set_seed = tiny_set_seed,
        .reinit = tiny_reinit,
        .infer = tiny_infer_forms,
        .infer_count = 1,
        .train = train,
        .generate = &tiny_generate,
    };
}

#endif
