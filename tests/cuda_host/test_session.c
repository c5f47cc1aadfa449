/* Sessions of emitted CUDA models on the host CUDA runtime: a toy model with the phases of
   training, written as generated code is.  Values come from the same sums in C; all are small
   integers and halves, so that they are exact.  Eager and deferred, with and without graphs; every
   CUDA call is made to fail once; the five states of a machine without a usable device. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tlm_cublas.h"
#include "tlm_cuda.h"

#include "host.h"
#include "host_cudart.h"
#include "test_session.h"

#include <stdio.h>
#include <string.h>

#include <sys/mman.h>

enum { TOY_BYTES = TOY_N * sizeof(float), TOY_HEAD = 64 };

/* The caller's activations block, and the device's. */
enum {
    IO_X = 0,
    IO_INDEX = 256,
    IO_Y = 320,
    IO_G = 512,
    IO_INFER_X = 704,
    IO_INFER_Y = 896,
    IO_BYTES = 1088,
    AT_X = 0,
    AT_INDEX = 256,
    AT_Y = 512,
    AT_G = 768,
    AT_BYTES = 1024
};

enum {
    KERNEL_toy_check,
    KERNEL_toy_forward,
    KERNEL_toy_backward,
    KERNEL_toy_step,
    KERNEL_toy_trap
};
enum { FORM_TRAIN, FORM_INFER, FORMS };
enum { PHASE_FORWARD, PHASE_BACKWARD, PHASE_STEP, PHASE_BATCH, PHASE_INFER, PHASE_ODD, PHASES };

static const tlm_cuda_kernel toy_kernels[] = {
    { "toy_check", 256, sizeof(struct toy_check_args) },
    { "toy_forward", 256, sizeof(struct toy_forward_args) },
    { "toy_backward", 256, sizeof(struct toy_backward_args) },
    { "toy_step", 256, sizeof(struct toy_step_args) },
    { "toy_trap", 256, sizeof(struct toy_trap_args) },
    { "tlm_probe", 256, sizeof(struct tlm_probe_args) },
};

static const tlm_cuda_span train_inputs[] = {
    { IO_X, AT_X, TOY_BYTES, TLM_CUDA_ACTIVATIONS },
    { IO_INDEX, AT_INDEX, sizeof(int32_t), TLM_CUDA_ACTIVATIONS },
};
static const tlm_cuda_span train_outputs[] = { { IO_Y, AT_Y, TOY_BYTES, TLM_CUDA_ACTIVATIONS } };
static const tlm_cuda_span infer_inputs[] = { { IO_INFER_X, AT_X, TOY_BYTES,
                                                TLM_CUDA_ACTIVATIONS } };
/* an output may be a parameter, or nothing at all */
static const tlm_cuda_span infer_outputs[] = {
    { IO_INFER_Y, AT_Y, TOY_BYTES, TLM_CUDA_ACTIVATIONS }, { IO_X, 0, 0, TLM_CUDA_WEIGHTS }
};
static const tlm_cuda_form toy_forms[] = { { train_inputs, train_outputs, 2, 1 },
                                           { infer_inputs, infer_outputs, 1, 2 } };
static const tlm_cuda_span toy_gradients[] = { { IO_G, AT_G, TOY_BYTES, TLM_CUDA_ACTIVATIONS } };
static const tlm_cuda_check toy_checks[] = { { 5, "'unused'", "toy.tlm:1:1" },
                                             { 7, "index", "toy.tlm:2:9" } };
static float toy_table_data[TOY_N];
static const tlm_cuda_table toy_tables[] = { { toy_table_data, 256, TOY_BYTES } };

static const char host_image[] = "TLM-CUDA-HOST", no_image[] = "nothing that can be loaded";
static const tlm_cuda_image toy_images[] = { { TLM_CUDA_IMAGE_ANY, 0, host_image,
                                               sizeof host_image } };
static const uint32_t toy_image_count = 1;

static const tlm_cuda_needs toy_needs = {
    .size = sizeof(tlm_cuda_needs),
    .model = "toy",
    .images = toy_images,
    .image_count = &toy_image_count,
    .kernels = toy_kernels,
    .kernel_count = 6,
    .weights_bytes = TOY_BYTES,
    .state_bytes = TOY_HEAD + TOY_BYTES,
    .state_begin = TOY_HEAD,
    .activations_bytes = AT_BYTES,
    .tables_bytes = 512,
    .tables = toy_tables,
    .table_count = 1,
    .forms = toy_forms,
    .form_count = FORMS,
    .gradients = toy_gradients,
    .gradient_count = 1,
    .checks = toy_checks,
    .check_count = 2,
    .scalar_count = 1,
    .phase_count = PHASES,
};

typedef struct toy {
    tlm_rt rt;
    tlm_cuda cuda;
    float *w; /* the weights block */
    float w_own[TOY_N];
    _Alignas(64) unsigned char state[TOY_HEAD + TOY_BYTES];
    _Alignas(64) unsigned char io[IO_BYTES];
    float scalars[1];
    char create_error[TLM_ERROR_BYTES];
    tlm_status odd; /* what the enqueue function of the odd phase returns */
    int trap, wrong_upload, product, store;
} toy;

static float *toy_floats(toy *m, size_t at)
{
    return (float *)(void *)(m->io + at);
}

static float *toy_moment(toy *m)
{
    return (float *)(void *)(m->state + TOY_HEAD);
}

static float *at(toy *m, size_t offset)
{
    return (float *)(void *)(m->cuda.activations + offset);
}

/* ---- as emitted */

static tlm_status enqueue_forward(void *model)
{
    toy *const m = model;

    TLM_TRY(tlm_cuda_upload(&m->cuda, &m->rt, FORM_TRAIN));
    TLM_LAUNCH(m, toy_check, 1, "toy.tlm:2:9", .fault = m->cuda.fault,
               .index = (const int32_t *)(const void *)at(m, AT_INDEX), .limit = 7, .check = 1);
    TLM_LAUNCH(m, toy_forward, 1, "toy.tlm:3:1", .y = at(m, AT_Y),
               .w = (const float *)(const void *)m->cuda.weights, .x = at(m, AT_X),
               .table = (const float *)(const void *)(m->cuda.tables + 256),
               .draws = m->cuda.draws);
    TLM_TRY(tlm_cuda_download(&m->cuda, &m->rt, FORM_TRAIN));
    return TLM_OK;
}

static tlm_status enqueue_backward(void *model)
{
    toy *const m = model;

    TLM_TRY(tlm_cuda_zero(&m->cuda, &m->rt, at(m, AT_G), TOY_BYTES, "toy.tlm:4:1"));
    TLM_LAUNCH(m, toy_backward, 1, "toy.tlm:4:1", .g = at(m, AT_G), .x = at(m, AT_X),
               .y = at(m, AT_Y));
    return TLM_OK;
}

static tlm_status enqueue_step(void *model)
{
    toy *const m = model;

    TLM_TRY(tlm_cuda_upload(&m->cuda, &m->rt, TLM_CUDA_NO_FORM));
    TLM_LAUNCH(m, toy_step, 1, "toy.tlm:5:1", .w = (float *)(void *)m->cuda.weights,
               .moment = (float *)(void *)(m->cuda.state + TOY_HEAD), .g = at(m, AT_G),
               .scalars = m->cuda.scalars, .fault = m->cuda.fault);
    return TLM_OK;
}

static tlm_status enqueue_batch(void *model)
{
    TLM_TRY(enqueue_forward(model));
    TLM_TRY(enqueue_backward(model));
    return enqueue_step(model);
}

/* The inputs of a form twice in one run. */
static tlm_status enqueue_inputs_twice(void *model)
{
    TLM_TRY(enqueue_forward(model));
    return enqueue_forward(model);
}

static tlm_status enqueue_infer(void *model)
{
    toy *const m = model;

    TLM_TRY(tlm_cuda_upload(&m->cuda, &m->rt, FORM_INFER));
    TLM_LAUNCH(m, toy_forward, 1, "toy.tlm:3:1", .y = at(m, AT_Y),
               .w = (const float *)(const void *)m->cuda.weights, .x = at(m, AT_X),
               .table = (const float *)(const void *)(m->cuda.tables + 256),
               .draws = m->cuda.draws);
    return tlm_cuda_download(&m->cuda, &m->rt, FORM_INFER);
}

/* A user's kernel that fails, a kernel that traps, an upload in the wrong place, a product. */
static tlm_status enqueue_odd(void *model)
{
    toy *const m = model;

    TLM_LAUNCH(m, toy_backward, 0, "toy.tlm:6:1", .g = NULL, .x = NULL, .y = NULL);
    if (m->trap)
        TLM_LAUNCH(m, toy_trap, 1, "toy.tlm:6:2", .out = m->cuda.fault);
    if (m->store) { /* a saved state, written by a pass */
        TLM_LAUNCH(m, toy_backward, 1, "toy.tlm:6:4", .g = (float *)(void *)m->cuda.weights,
                   .x = at(m, AT_X), .y = at(m, AT_X));
        tlm_cuda_touched(&m->cuda);
    }
    if (m->wrong_upload)
        TLM_TRY(tlm_cuda_upload(&m->cuda, &m->rt, TLM_CUDA_NO_FORM));
    if (m->product) {
        /* g[2, 3] = x[2, 4] y[4, 3], in one of its forms */
        const tlm_cublas_product product = { .c = at(m, AT_G),
                                             .a = at(m, AT_X),
                                             .b = at(m, AT_Y),
                                             .M = 2,
                                             .N = 3,
                                             .K = m->product == 2 ? 0 : 4 };

        TLM_TRY(tlm_cublas_matmul(&m->cuda, &m->rt, &product, "toy.tlm:6:3"));
    }
    if (m->odd != TLM_OK)
        strcpy(m->rt.error, "a kernel of the user's");
    return m->odd;
}

static tlm_status toy_train_forward(toy *m)
{
    m->rt.run++;
    return tlm_cuda_run(&m->cuda, &m->rt, PHASE_FORWARD, FORM_TRAIN, NULL, enqueue_forward, m);
}

static tlm_status toy_train_backward(toy *m)
{
    return tlm_cuda_run(&m->cuda, &m->rt, PHASE_BACKWARD, TLM_CUDA_NO_FORM, NULL, enqueue_backward,
                        m);
}

static tlm_status toy_train_step(toy *m)
{
    TLM_TRY(
        tlm_cuda_run(&m->cuda, &m->rt, PHASE_STEP, TLM_CUDA_NO_FORM, m->scalars, enqueue_step, m));
    tlm_cuda_touched(&m->cuda);
    return TLM_OK;
}

static tlm_status toy_train_batch(toy *m)
{
    m->rt.run++;
    TLM_TRY(tlm_cuda_run(&m->cuda, &m->rt, PHASE_BATCH, FORM_TRAIN, m->scalars, enqueue_batch, m));
    tlm_cuda_touched(&m->cuda);
    return TLM_OK;
}

static tlm_status toy_infer(toy *m)
{
    return tlm_cuda_run(&m->cuda, &m->rt, PHASE_INFER, FORM_INFER, NULL, enqueue_infer, m);
}

static tlm_status toy_odd(toy *m)
{
    return tlm_cuda_run(&m->cuda, &m->rt, PHASE_ODD, TLM_CUDA_NO_FORM, NULL, enqueue_odd, m);
}

/* ---- the same in C */

typedef struct sums {
    float w[TOY_N], moment[TOY_N], x[TOY_N], y[TOY_N], g[TOY_N];
} sums;

static void sums_step(sums *s, int step, uint64_t seed, uint64_t run, float rate)
{
    for (int i = 0; i < TOY_N; i++) {
        s->x[i] = (float)((i + step) % 5 - 2);
        s->y[i] = s->w[i] * s->x[i] + toy_table_data[i] + (float)(seed * 100 + run);
        s->g[i] = s->x[i] + s->y[i];
        s->moment[i] += s->g[i];
        s->w[i] -= rate * s->moment[i];
    }
}

/* ---- set up */

static tlm_status toy_create(toy *m, const tlm_cuda_needs *needs, int no_graph)
{
    tlm_options options = TLM_OPTIONS_INIT;

    memset(m, 0, sizeof *m);
    options.error_text = m->create_error;
    options.no_graph = no_graph != 0;
    m->w = m->w_own;
    m->rt.seed = 3;
    for (int i = 0; i < TOY_N; i++) {
        toy_table_data[i] = (float)(i % 3);
        m->w[i] = (float)(i % 7 - 3);
        toy_moment(m)[i] = 0.5f;
    }
    return tlm_cuda_open(&m->cuda, needs, &options, (unsigned char *)m->w, m->state, m->io);
}

static void toy_fill(toy *m, int step)
{
    const int32_t index = 6;

    for (int i = 0; i < TOY_N; i++)
        toy_floats(m, IO_X)[i] = (float)((i + step) % 5 - 2);
    memcpy(m->io + IO_INDEX, &index, sizeof index);
    m->scalars[0] = (float)(step % 3) * 0.5f;
}

/* A closed session leaves nothing behind, not even in the cache of buffers. */
static void assert_nothing_held(void)
{
    char text[1024] = "";

    if (tlm_host_leaks(text, sizeof text) != 0)
        fail_msg("held: %s", text);
}

static void assert_floats(const float *got, const float *wanted, const char *what)
{
    for (int i = 0; i < TOY_N; i++)
        if (got[i] != wanted[i])
            fail_msg("%s[%d] is %g, not %g", what, i, (double)got[i], (double)wanted[i]);
}

/* ---- tests */

/* Steps with inputs that change at once after each call, waited for only at the end. */
static void train_and_compare(int steps, int no_graph, int fetch_between, int at_once)
{
    static toy model;
    toy *const m = &model;
    sums s = { .w = { 0 } };

    assert_int_equal(toy_create(m, &toy_needs, no_graph), TLM_OK);
    for (int i = 0; i < TOY_N; i++) {
        s.w[i] = (float)(i % 7 - 3);
        s.moment[i] = 0.5f;
    }
    for (int step = 0; step < steps; step++) {
        toy_fill(m, step);
        assert_int_equal(at_once ? toy_train_batch(m) : toy_train_forward(m), TLM_OK);
        memset(m->io + IO_X, 0x7f, TOY_BYTES); /* the staging memory has them */
        if (!at_once) {
            assert_int_equal(toy_train_backward(m), TLM_OK);
            assert_int_equal(toy_train_step(m), TLM_OK);
        }
        m->scalars[0] = -7.0f;
        sums_step(&s, step, 3, (uint64_t)step + 1, (float)(step % 3) * 0.5f);
        if (fetch_between && step % 2 == 0)
            assert_int_equal(tlm_cuda_fetch(&m->cuda, &m->rt, 0), TLM_OK);
    }
    assert_int_equal(tlm_cuda_wait(&m->cuda, &m->rt), TLM_OK);
    assert_floats(toy_floats(m, IO_Y), s.y, "y");
    assert_int_equal(tlm_cuda_fetch(&m->cuda, &m->rt, 1), TLM_OK);
    assert_floats(m->w, s.w, "w");
    assert_floats(toy_moment(m), s.moment, "moment");
    assert_floats(toy_floats(m, IO_G), s.g, "g");
    for (int i = 0; i < TOY_HEAD; i++)
        assert_int_equal(m->state[i], 0); /* the model's own struct stands there */
    tlm_cuda_close(&m->cuda);
    assert_null(m->cuda.session);
    assert_nothing_held();
}

static void test_training(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 8; seed++) {
        tlm_host_defer(seed);
        for (int at_once = 0; at_once < 2; at_once++) {
            train_and_compare(7, 0, 0, at_once);
            train_and_compare(7, 1, 0, at_once);
            train_and_compare(6, 0, 1, at_once);
            train_and_compare(5, 1, 1, at_once);
        }
    }
    tlm_host_defer(0);
}

/* Three steps; what the host library counts afterwards are the calls of the third. */
static void run_three_steps(toy *m, int at_once)
{
    assert_int_equal(toy_create(m, &toy_needs, 0), TLM_OK);
    for (int step = 0; step < 3; step++) {
        if (step == 2)
            tlm_host_calls_reset();
        toy_fill(m, step);
        assert_int_equal(at_once ? toy_train_batch(m) : toy_train_forward(m), TLM_OK);
        if (at_once)
            continue;
        assert_int_equal(toy_train_backward(m), TLM_OK);
        assert_int_equal(toy_train_step(m), TLM_OK);
    }
}

/* After the first step the graphs are there: no launch of a kernel, no wait, three graphs. */
static void test_no_round_trip(void **state)
{
    static toy model;
    toy *const m = &model;

    (void)state;
    run_three_steps(m, 0);
    assert_int_equal(tlm_host_calls("cudaGraphLaunch"), 3);
    assert_int_equal(tlm_host_calls("cudaLaunchKernelExC"), 0);
    assert_int_equal(tlm_host_calls("cudaStreamSynchronize"), 0);
    assert_int_equal(tlm_host_calls("cudaStreamBeginCapture"), 0);
    tlm_host_calls_reset();
    assert_int_equal(tlm_cuda_wait(&m->cuda, &m->rt), TLM_OK);
    assert_int_equal(tlm_host_calls("cudaStreamSynchronize"), 1);
    tlm_cuda_close(&m->cuda);
    assert_int_equal(toy_create(m, &toy_needs, 1), TLM_OK);
    tlm_host_calls_reset();
    assert_int_equal(toy_train_backward(m), TLM_OK);
    assert_int_equal(tlm_host_calls("cudaLaunchKernelExC"), 1);
    assert_int_equal(tlm_host_calls("cudaStreamBeginCapture"), 0);
    tlm_cuda_close(&m->cuda);
    assert_nothing_held();
}

/* Two forms that ran since the last wait: both results arrive. */
static void test_two_forms(void **state)
{
    static toy model;
    toy *const m = &model;

    (void)state;
    for (uint64_t seed = 0; seed < 4; seed++) {
        tlm_host_defer(seed);
        assert_int_equal(toy_create(m, &toy_needs, 0), TLM_OK);
        toy_fill(m, 1);
        for (int i = 0; i < TOY_N; i++)
            toy_floats(m, IO_INFER_X)[i] = 2.0f;
        assert_int_equal(toy_train_forward(m), TLM_OK);
        assert_int_equal(toy_infer(m), TLM_OK);
        assert_int_equal(tlm_cuda_wait(&m->cuda, &m->rt), TLM_OK);
        assert_true(toy_floats(m, IO_Y)[0] == 301.0f + -3.0f * -1.0f);
        assert_true(toy_floats(m, IO_INFER_Y)[0] == 301.0f + -3.0f * 2.0f);
        tlm_cuda_close(&m->cuda);
    }
    tlm_host_defer(0);
    assert_nothing_held();
}

/* The host writes weights after a fetch; the device takes them, also when nothing changed there. */
static void test_ownership(void **state)
{
    static toy model;
    toy *const m = &model;

    (void)state;
    assert_int_equal(toy_create(m, &toy_needs, 0), TLM_OK);
    for (int round = 0; round < 3; round++) {
        toy_fill(m, 0);
        assert_int_equal(tlm_cuda_fetch(&m->cuda, &m->rt, 0), TLM_OK);
        for (int i = 0; i < TOY_N; i++)
            m->w[i] = (float)round;
        assert_int_equal(tlm_cuda_fetch(&m->cuda, &m->rt, 0), TLM_OK); /* takes nothing back */
        assert_true(m->w[0] == (float)round);
        assert_int_equal(toy_train_forward(m), TLM_OK);
        assert_int_equal(tlm_cuda_wait(&m->cuda, &m->rt), TLM_OK);
        assert_true(toy_floats(m, IO_Y)[0] == (float)round * -2.0f + 300.0f + (float)m->rt.run);
    }
    tlm_cuda_close(&m->cuda);
    assert_nothing_held();
}

/* A phase that stores into a block does so in every launch of its graph. */
static void test_store(void **state)
{
    static toy model;
    toy *const m = &model;

    (void)state;
    assert_int_equal(toy_create(m, &toy_needs, 0), TLM_OK);
    toy_fill(m, 0);
    m->store = 1;
    assert_int_equal(toy_train_forward(m), TLM_OK);
    for (int round = 0; round < 3; round++) {
        m->w[0] = 17.0f;
        assert_int_equal(toy_odd(m), TLM_OK);
        assert_int_equal(tlm_cuda_fetch(&m->cuda, &m->rt, 0), TLM_OK);
        assert_true(m->w[0] == 2 * -2.0f);
    }
    tlm_cuda_close(&m->cuda);
    assert_nothing_held();
}

/* Weights that may not be written are not, as long as no update runs. */
static void test_read_only_weights(void **state)
{
    static toy model;
    toy *const m = &model;
    tlm_options options = TLM_OPTIONS_INIT;
    float *const page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)state;
    assert_true(page != MAP_FAILED);
    page[0] = 4.0f;
    assert_int_equal(mprotect(page, 4096, PROT_READ), 0);
    memset(m, 0, sizeof *m);
    assert_int_equal(tlm_cuda_open(&m->cuda, &toy_needs, &options, (unsigned char *)page, m->state,
                                   m->io),
                     TLM_OK);
    toy_floats(m, IO_INFER_X)[0] = 1.0f;
    assert_int_equal(toy_infer(m), TLM_OK);
    assert_int_equal(tlm_cuda_fetch(&m->cuda, &m->rt, 1), TLM_OK);
    assert_true(toy_floats(m, IO_INFER_Y)[0] == 4.0f);
    tlm_cuda_close(&m->cuda);
    munmap(page, 4096);
    assert_nothing_held();
}

/* The CPU's message, the update left out, and the session usable afterwards. */
static void fault_and_recover(int no_graph, int waits)
{
    static toy model;
    toy *const m = &model;
    tlm_rt cpu = { .level = 1 };
    const int32_t bad = -2, good = 6;
    tlm_status status;
    float before;

    assert_int_equal(toy_create(m, &toy_needs, no_graph), TLM_OK);
    before = m->w[0];
    toy_fill(m, 1);
    memcpy(m->io + IO_INDEX, &bad, sizeof bad);
    status = toy_train_forward(m);
    if (waits) {
        assert_int_equal(status, TLM_OK);
        status = tlm_cuda_wait(&m->cuda, &m->rt);
    }
    if (status == TLM_OK) /* the fault may be known by now, and must be at the end */
        status = toy_train_backward(m);
    if (status == TLM_OK)
        status = toy_train_step(m);
    if (status == TLM_OK)
        status = tlm_cuda_wait(&m->cuda, &m->rt);
    assert_int_equal(status, TLM_ERR_INDEX);
    assert_int_equal(tlm_check_index(&cpu, &bad, 1, 7, "index", "toy.tlm:2:9"), TLM_ERR_INDEX);
    assert_string_equal(m->rt.error, cpu.error);
    assert_int_equal(tlm_cuda_fetch(&m->cuda, &m->rt, 0), TLM_OK); /* told once */
    assert_true(m->w[0] == before);
    memcpy(m->io + IO_INDEX, &good, sizeof good);
    assert_int_equal(toy_train_forward(m), TLM_OK);
    assert_int_equal(toy_train_backward(m), TLM_OK);
    assert_int_equal(toy_train_step(m), TLM_OK);
    assert_int_equal(tlm_cuda_fetch(&m->cuda, &m->rt, 0), TLM_OK);
    assert_true(m->w[0] != before);
    tlm_cuda_close(&m->cuda);
    assert_nothing_held();
}

static void test_fault(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 4; seed++) {
        tlm_host_defer(seed);
        for (int kind = 0; kind < 4; kind++)
            fault_and_recover(kind & 1, kind >> 1);
    }
    tlm_host_defer(0);
}

/* A step in one call is one graph, and its numbers and inputs are brought once. */
static void test_one_graph(void **state)
{
    static toy model;
    toy *const m = &model;

    (void)state;
    run_three_steps(m, 1);
    assert_int_equal(tlm_host_calls("cudaGraphLaunch"), 1);
    assert_int_equal(tlm_host_calls("cudaEventRecord"), 1);
    assert_int_equal(tlm_host_calls("cudaMemcpyAsync"), 3); /* the step's block, x, index */
    assert_int_equal(tlm_host_calls("cudaLaunchKernelExC"), 0);
    assert_int_equal(tlm_host_calls("cudaStreamSynchronize"), 0);
    assert_int_equal(tlm_cuda_wait(&m->cuda, &m->rt), TLM_OK);
    tlm_cuda_close(&m->cuda);
    assert_nothing_held();
}

/* Who never waits hears of a fault from a later run, at most the update of the next step, or the
   third batch after. */
static void test_fault_without_wait(void **state)
{
    static toy model;
    toy *const m = &model;
    const int32_t bad = 7;

    (void)state;
    for (uint64_t seed = 0; seed < 16; seed++) {
        const int at_once = seed >= 8;
        tlm_status status = TLM_OK;
        int runs = 0;

        tlm_host_defer(seed % 8);
        assert_int_equal(toy_create(m, &toy_needs, 0), TLM_OK);
        toy_fill(m, 1);
        memcpy(m->io + IO_INDEX, &bad, sizeof bad);
        while (status == TLM_OK && runs < 9) {
            status = at_once         ? toy_train_batch(m)
                     : runs % 3 == 0 ? toy_train_forward(m)
                     : runs % 3 == 1 ? toy_train_backward(m)
                                     : toy_train_step(m);
            runs++;
        }
        assert_int_equal(status, TLM_ERR_INDEX);
        assert_true(runs > 1 && runs <= (at_once ? 4 : 6));
        assert_non_null(strstr(m->rt.error, "toy.tlm:2:9: index 7 at position 0"));
        tlm_cuda_close(&m->cuda);
    }
    tlm_host_defer(0);
    assert_nothing_held();
}

/* What an enqueue function returns inside a capture is returned, and the capture is gone. */
static void test_failing_enqueue(void **state)
{
    static toy model;
    toy *const m = &model;

    (void)state;
    for (int no_graph = 0; no_graph < 2; no_graph++) {
        assert_int_equal(toy_create(m, &toy_needs, no_graph), TLM_OK);
        m->odd = TLM_ERR_MISMATCH;
        assert_int_equal(toy_odd(m), TLM_ERR_MISMATCH);
        assert_string_equal(m->rt.error, "a kernel of the user's");
        m->odd = TLM_OK;
        m->wrong_upload = 1; /* after a launch: it would overtake it */
        assert_int_equal(toy_odd(m), TLM_ERR_STATE);
        m->wrong_upload = 0;
        assert_int_equal(toy_odd(m), TLM_OK);
        assert_int_equal(tlm_cuda_run(&m->cuda, &m->rt, PHASE_BATCH, FORM_TRAIN, NULL,
                                      enqueue_inputs_twice, m),
                         TLM_ERR_STATE);
        toy_fill(m, 0);
        assert_int_equal(toy_train_forward(m), TLM_OK);
        assert_int_equal(tlm_cuda_wait(&m->cuda, &m->rt), TLM_OK);
        assert_int_equal(tlm_cuda_upload(&m->cuda, &m->rt, FORM_TRAIN), TLM_ERR_STATE);
        assert_int_equal(tlm_cuda_run(&m->cuda, &m->rt, PHASES, FORM_TRAIN, NULL, enqueue_forward,
                                      m),
                         TLM_ERR_ARGUMENT);
        assert_int_equal(tlm_cuda_run(&m->cuda, &m->rt, PHASE_FORWARD, FORMS, NULL, enqueue_forward,
                                      m),
                         TLM_ERR_ARGUMENT);
        tlm_cuda_close(&m->cuda);
        assert_int_equal(toy_train_forward(m), TLM_ERR_STATE);
        assert_nothing_held();
    }
}

/* A kernel that fails shows at the next wait, for good; the last test, since CUDA forgets it no
   more in this process. */
static void test_broken_device(void **state)
{
    static toy model;
    toy *const m = &model;
    char first[TLM_ERROR_BYTES];

    (void)state;
    tlm_host_quiet(1); /* the trap is asked for */
    assert_int_equal(toy_create(m, &toy_needs, 0), TLM_OK);
    m->trap = 1;
    toy_odd(m);
    assert_int_equal(tlm_cuda_wait(&m->cuda, &m->rt), TLM_ERR_DEVICE);
    assert_int_equal(strncmp(m->rt.error, "cudaError", 9),
                     0); /* no place, and not the model's name */
    strcpy(first, m->rt.error);
    assert_int_equal(toy_train_forward(m), TLM_ERR_DEVICE);
    assert_string_equal(m->rt.error, first);
    assert_int_equal(tlm_cuda_fetch(&m->cuda, &m->rt, 0), TLM_ERR_DEVICE);
    tlm_cuda_close(&m->cuda);
}

static void test_products(void **state)
{
    static toy model;
    toy *const m = &model;

    (void)state;
    for (int no_graph = 0; no_graph < 2; no_graph++) {
        for (int product = 1; product < 3; product++) {
            assert_int_equal(toy_create(m, &toy_needs, no_graph), TLM_OK);
            toy_fill(m, 0);
            assert_int_equal(toy_train_forward(m), TLM_OK);
            m->product = product;
            for (int again = 0; again < 3; again++) { /* uncaptured, captured, launched */
                assert_int_equal(toy_odd(m), TLM_OK);
                assert_int_equal(tlm_cuda_fetch(&m->cuda, &m->rt, 1), TLM_OK);
                for (int i = 0; i < 2; i++)
                    for (int j = 0; j < 3; j++) {
                        const float *const x = toy_floats(m, IO_X), *const y = toy_floats(m, IO_Y);
                        float sum = 0;

                        for (int k = 0; k < (product == 2 ? 0 : 4); k++)
                            sum += x[4 * i + k] * y[3 * k + j];
                        assert_true(toy_floats(m, IO_G)[3 * i + j] == sum);
                    }
            }
            tlm_cuda_close(&m->cuda);
            assert_nothing_held();
        }
    }
}

/* ---- open */

#define CUBIN TLM_CUDA_IMAGE_CUBIN
#define PTX TLM_CUDA_IMAGE_PTX

static void test_image_choice(void **state)
{
    static const struct {
        int device;
        tlm_cuda_image_kind kind;
        uint32_t arch; /* of the image that must be taken */
    } rows[] = {
        { 80, CUBIN, 80 }, { 86, CUBIN, 86 }, { 89, CUBIN, 86 },   { 90, CUBIN, 90 },
        { 75, PTX, 75 },   { 100, PTX, 80 },  { 120, CUBIN, 120 }, { 121, CUBIN, 120 },
    };
    tlm_cuda_image images[] = {
        { PTX, 75, NULL, 0 },   { CUBIN, 80, NULL, 0 }, { CUBIN, 120, NULL, 0 },
        { CUBIN, 86, NULL, 0 }, { PTX, 80, NULL, 0 },   { CUBIN, 90, NULL, 0 },
        { PTX, 120, NULL, 0 },
    };
    uint32_t count = sizeof images / sizeof images[0];
    tlm_cuda_needs needs = toy_needs;
    static toy model;

    (void)state;
    needs.images = images;
    needs.image_count = &count;
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        for (uint32_t i = 0; i < count; i++) {
            const int wanted = images[i].kind == rows[row].kind && images[i].arch == rows[row].arch;

            images[i].data = wanted ? host_image : no_image;
            images[i].bytes = wanted ? sizeof host_image : sizeof no_image;
        }
        tlm_host_capability(rows[row].device);
        if (toy_create(&model, &needs, 0) != TLM_OK)
            fail_msg("sm_%d: %s", rows[row].device, model.create_error);
        tlm_cuda_close(&model.cuda);
    }
    tlm_host_capability(75);
    images[0] = (tlm_cuda_image){ CUBIN, 80, no_image, sizeof no_image };
    images[1] = (tlm_cuda_image){ TLM_CUDA_IMAGE_ANY, 0, host_image, sizeof host_image };
    images[2] = (tlm_cuda_image){ PTX, 75, no_image, sizeof no_image };
    count = 3;
    assert_int_equal(toy_create(&model, &needs, 0), TLM_OK); /* a fatbin before PTX */
    tlm_cuda_close(&model.cuda);
    tlm_host_capability(90);
    assert_nothing_held();
}

static void test_no_image(void **state)
{
    const tlm_cuda_image images[] = {
        { TLM_CUDA_IMAGE_CUBIN, 80, host_image, sizeof host_image },
        { TLM_CUDA_IMAGE_CUBIN, 90, host_image, sizeof host_image },
        { TLM_CUDA_IMAGE_PTX, 80, host_image, sizeof host_image },
    };
    const uint32_t count = 3;
    tlm_cuda_needs needs = toy_needs;
    static toy model;

    (void)state;
    needs.images = images;
    needs.image_count = &count;
    tlm_host_capability(75);
    assert_int_equal(toy_create(&model, &needs, 0), TLM_ERR_DEVICE);
    assert_string_equal(model.create_error,
                        "no code for this device, sm_75: the program has sm_80 sm_90 "
                        "compute_80; build it with --arch 75");
    tlm_host_capability(90);
    assert_null(model.cuda.session);
    assert_nothing_held();
}

static void test_bad_arithmetic(void **state)
{
    tlm_cuda_kernel kernels[6];
    tlm_cuda_needs needs = toy_needs;
    static toy model;

    (void)state;
    memcpy(kernels, toy_kernels, sizeof kernels);
    kernels[5].name = "toy_probe_bad";
    needs.kernels = kernels;
    assert_int_equal(toy_create(&model, &needs, 0), TLM_ERR_ARITHMETIC);
    assert_non_null(strstr(model.create_error, "binary32"));
    assert_nothing_held();
    kernels[1].name = "toy_missing";
    assert_int_equal(toy_create(&model, &needs, 0), TLM_ERR_DEVICE);
    assert_non_null(strstr(model.create_error, "(kernel toy_missing)"));
    assert_nothing_held();
}

static void test_deterministic(void **state)
{
    tlm_cuda_needs needs = toy_needs;
    static toy model;

    (void)state;
    needs.undefined_reduction = "cublas.matmul";
    assert_int_equal(toy_create(&model, &needs, 0), TLM_OK);
    tlm_cuda_close(&model.cuda);
    assert_int_equal(tlm_cuda_set_deterministic_reductions(2), 1);
    assert_int_equal(toy_create(&model, &needs, 0), TLM_ERR_DEVICE);
    assert_string_equal(model.create_error,
                        "deterministic reductions are asked for, but the order of cublas.matmul is "
                        "not defined; build the program with --deterministic");
    assert_int_equal(toy_create(&model, &toy_needs, 0), TLM_OK); /* every order is defined */
    tlm_cuda_close(&model.cuda);
    assert_int_equal(tlm_cuda_set_deterministic_reductions(0), 0);
    assert_nothing_held();
}

static void test_machine_states(void **state)
{
    static const struct {
        const char *state;
        tlm_cuda_cause cause;
        const char *text;
    } rows[] = {
        { "no-driver", TLM_CUDA_CAUSE_NO_DRIVER,
          "no NVIDIA driver can be loaded (libcuda.so.1 is missing or broken)" },
        { "old-driver", TLM_CUDA_CAUSE_DRIVER_TOO_OLD, "the NVIDIA driver is too old" },
        { "stub-library", TLM_CUDA_CAUSE_STUB_LIBRARY, "the toolkit's stub of libcuda" },
        { "no-device", TLM_CUDA_CAUSE_NO_VISIBLE_DEVICE, "no usable CUDA device is visible" },
        { "driver-failed", TLM_CUDA_CAUSE_DRIVER_FAILED, "the driver failed: cudaError" },
    };
    char text[TLM_ERROR_BYTES];
    static toy model;
    tlm_cuda_stats stats;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tlm_host_play(rows[i].state);
        assert_int_equal(tlm_cuda_runtime_status(), TLM_CUDA_NO_DEVICE);
        assert_int_equal(tlm_cuda_runtime_cause(text), rows[i].cause);
        assert_int_equal(toy_create(&model, &toy_needs, 0), TLM_ERR_DEVICE);
        assert_string_equal(model.create_error, text);
        if (!strstr(text, rows[i].text))
            fail_msg("%s: %s", rows[i].state, text);
        tlm_cuda_get_stats(&stats);
        assert_int_equal(stats.device_total_bytes, 0);
    }
    tlm_host_play(NULL);
    assert_int_equal(tlm_cuda_runtime_status(), TLM_CUDA_NATIVE);
    assert_int_equal(tlm_cuda_runtime_cause(text), TLM_CUDA_CAUSE_NONE);
    tlm_cuda_get_stats(&stats);
    assert_true(stats.device_total_bytes > 0);
    assert_nothing_held();
}

/* ---- every call fails once */

/* A whole life; the first failure ends it.  *message is what was said then. */
static tlm_status toy_life(toy *m, int no_graph, const char **message)
{
    tlm_status status = toy_create(m, &toy_needs, no_graph);

    *message = m->create_error;
    if (status != TLM_OK)
        return status;
    *message = m->rt.error;
    m->product = 1;
    for (int step = 0; status == TLM_OK && step < 2; step++) {
        toy_fill(m, step);
        status = toy_train_forward(m);
        if (status == TLM_OK)
            status = toy_train_backward(m);
        if (status == TLM_OK)
            status = toy_odd(m);
        if (status == TLM_OK)
            status = toy_train_step(m);
    }
    if (status == TLM_OK)
        status = tlm_cuda_wait(&m->cuda, &m->rt);
    if (status == TLM_OK)
        status = tlm_cuda_fetch(&m->cuda, &m->rt, 1);
    if (status != TLM_OK) { /* it lasts */
        char said[TLM_ERROR_BYTES];

        strcpy(said, m->rt.error);
        assert_int_equal(toy_train_forward(m), status);
        assert_string_equal(m->rt.error, said);
    }
    return status;
}

static void test_every_call_fails(void **state)
{
    static toy model;
    toy *const m = &model;

    (void)state;
    for (int no_graph = 0; no_graph < 2; no_graph++) {
        uint64_t calls, failed = 0, said_nothing = 0;
        const char *message;

        tlm_host_calls_reset();
        assert_int_equal(toy_life(m, no_graph, &message), TLM_OK);
        calls = tlm_host_calls(NULL);
        tlm_cuda_close(&m->cuda);
        calls = tlm_host_calls(NULL) > calls ? tlm_host_calls(NULL) : calls;
        assert_true(calls > 40);
        for (uint64_t n = 1; n <= calls; n++) {
            tlm_status status;

            tlm_host_fail(n);
            status = toy_life(m, no_graph, &message);
            if (status != TLM_OK) {
                failed++;
                if (!strstr(message, "cudaError") && !strstr(message, "CUBLAS_STATUS"))
                    fail_msg("call %d: '%s'", (int)n, message);
            } else {
                said_nothing++;
            }
            tlm_cuda_close(&m->cuda);
            tlm_host_fail(0);
            assert_nothing_held();
        }
        /* Only the calls of close, and a few that a run can do without (the probe's versions, a
           first cudaMalloc that is tried again), fail without a status. */
        if (failed < 40 || said_nothing > 24)
            fail_msg("%d of %d calls failed with a status, %d without", (int)failed, (int)calls,
                     (int)said_nothing);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_training),           cmocka_unit_test(test_no_round_trip),
        cmocka_unit_test(test_one_graph),          cmocka_unit_test(test_two_forms),
        cmocka_unit_test(test_ownership),          cmocka_unit_test(test_store),
        cmocka_unit_test(test_read_only_weights),  cmocka_unit_test(test_fault),
        cmocka_unit_test(test_fault_without_wait), cmocka_unit_test(test_failing_enqueue),
        cmocka_unit_test(test_products),           cmocka_unit_test(test_image_choice),
        cmocka_unit_test(test_no_image),           cmocka_unit_test(test_bad_arithmetic),
        cmocka_unit_test(test_deterministic),      cmocka_unit_test(test_machine_states),
        cmocka_unit_test(test_every_call_fails),   cmocka_unit_test(test_broken_device),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
