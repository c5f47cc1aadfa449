/* The reference interpreter: random bits and initial values against published numbers, the policies
   that the op tests take from it, updates against hand-worked steps, and the quickstart model
   trained in binary64 against the oracle of the design: mean losses, predictions, step losses, as
   printed text. */
#include "pass.h"
#include "spec/interpret.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { POINTS = 25 };

/* ---- one-node graphs */

struct bench {
    struct tlmc_arena arena;
    struct tlmc_graph *graph;
    struct tlmc_tensor inputs[8], *values;
    uint32_t input_count;
    char error[256];
};

static void bench_init(struct bench *b)
{
    memset(b, 0, sizeof *b);
    b->graph = tlmc_graph_new(&b->arena);
}

static uint32_t bench_input(struct bench *b, enum tlmc_dtype dtype, int rank, const int64_t *dims,
                            const double *data)
{
    const struct tlmc_type type = tlmc_type_make(dtype, rank, dims);

    b->inputs[b->input_count] = tlmc_tensor_new(&type);
    memcpy(b->inputs[b->input_count].data, data, (size_t)tlmc_type_count(&type) * sizeof *data);
    return tlmc_build_leaf(b->graph, TLMC_OP_INPUT, b->input_count++, &type);
}

static uint32_t bench_vector(struct bench *b, int64_t n, const double *data)
{
    return bench_input(b, TLMC_F32, 1, &n, data);
}

static bool bench_run(struct bench *b)
{
    const struct tlmc_env env = { .inputs = b->inputs, .seed = 5, .step = 3 };

    b->values = calloc(b->graph->value_count, sizeof *b->values);
    assert_non_null(b->values);
    return tlmc_interpret(b->graph, &env, 1u << TLMC_FORWARD, b->values, b->error);
}

static void bench_free(struct bench *b)
{
    tlmc_tensor_free(b->values, b->graph->value_count);
    free(b->values);
    tlmc_tensor_free(b->inputs, b->input_count);
    tlmc_arena_free(&b->arena);
}

#define V(...) ((const double[]){ __VA_ARGS__ })

static void want(const double *got, size_t n, const double *wanted)
{
    for (size_t i = 0; i < n; i++) {
        const bool same = isnan(wanted[i])
                              ? isnan(got[i])
                              : got[i] == wanted[i] && signbit(got[i]) == signbit(wanted[i]);

        if (!same)
            fail_msg("element %zu: %.17g, wanted %.17g", i, got[i], wanted[i]);
    }
}

static void test_splitmix(void **state)
{
    static const uint64_t streams[] = { UINT64_C(8699989649721214301),
                                        UINT64_C(16238661600416281737),
                                        UINT64_C(8602332331383175920),
                                        UINT64_C(11421146067748289191) };

    (void)state;
    for (uint64_t i = 0; i < 4; i++)
        assert_true(tlmc_spec_splitmix64(2026 + i + UINT64_C(0x9e3779b97f4a7c15)) == streams[i]);
}

static void test_random_draws(void **state)
{
    const int64_t n = 1000;
    const uint64_t key = tlmc_spec_random_key(5, 3, 7);
    struct tlmc_attr attrs[3];
    struct bench b;
    const double *uniform, *mask;
    uint32_t nodes[2];
    double kept = 0;

    (void)state;
    bench_init(&b);
    attrs[0] = tlmc_attr_ints(TLMC_A_SHAPE, 1, &n);
    attrs[1] = tlmc_attr_int(TLMC_A_SITE, 7);
    attrs[2] = tlmc_attr_float(TLMC_A_KEEP, 0.7);
    nodes[0] = tlmc_add_node(b.graph, TLMC_OP_RAND_UNIFORM, NULL, 0, attrs, 2);
    nodes[1] = tlmc_add_node(b.graph, TLMC_OP_BERNOULLI_MASK, NULL, 0, attrs, 3);
    assert_true(bench_run(&b));
    uniform = b.values[nodes[0]].data;
    mask = b.values[nodes[1]].data;
    for (int64_t i = 0; i < n; i++) {
        const uint32_t bits = (uint32_t)tlmc_spec_splitmix64(key + (uint64_t)i);

        assert_true(uniform[i] == (double)(bits >> 8) / 16777216.0);
        assert_true(mask[i] == (bits < 3006477108u)); /* ceil(0.7 * 2^32) */
        kept += mask[i];
    }
    assert_true(kept > 640 && kept < 760);
    bench_free(&b);
}

static void test_zeros_and_nan(void **state)
{
    struct bench b;
    uint32_t x, y, max, min, relu;

    (void)state;
    bench_init(&b);
    x = bench_vector(&b, 5, V(0.0, -0.0, NAN, 1, -0.0));
    y = bench_vector(&b, 5, V(-0.0, 0.0, 1, NAN, -0.0));
    max = tlmc_build2(b.graph, TLMC_OP_MAX, x, y);
    min = tlmc_build2(b.graph, TLMC_OP_MIN, x, y);
    relu = tlmc_build1(b.graph, TLMC_OP_RELU, x);
    assert_true(bench_run(&b));
    want(b.values[max].data, 5, V(0.0, 0.0, NAN, NAN, -0.0));
    want(b.values[min].data, 5, V(-0.0, -0.0, NAN, NAN, -0.0));
    want(b.values[relu].data, 5, V(0.0, -0.0, NAN, 1, -0.0));
    bench_free(&b);
}

static void test_integers_wrap(void **state)
{
    const int64_t n = 3;
    struct bench b;
    uint32_t x, y, sum, product, real;

    (void)state;
    bench_init(&b);
    x = bench_input(&b, TLMC_I32, 1, &n, V(2147483647, -2147483648.0, 65536));
    y = bench_input(&b, TLMC_I32, 1, &n, V(1, -1, 65537));
    sum = tlmc_build2(b.graph, TLMC_OP_ADD, x, y);
    product = tlmc_build2(b.graph, TLMC_OP_MUL, x, y);
    real = tlmc_build_cast(b.graph, bench_vector(&b, 4, V(NAN, 3e9, -2.9, -1e30)), TLMC_I32);
    assert_true(bench_run(&b));
    want(b.values[sum].data, 3, V(-2147483648.0, 2147483647, 131073));
    want(b.values[product].data, 3, V(2147483647, -2147483648.0, 65536));
    want(b.values[real].data, 4, V(0, 2147483647, -2, -2147483648.0));
    bench_free(&b);
}

static void test_blocked_rows(void **state)
{
    const int64_t dims[2] = { 3, 2 };
    struct bench b;
    uint32_t x, mask, y;

    (void)state;
    bench_init(&b);
    x = bench_input(&b, TLMC_F32, 2, dims, V(-5000, 3, 7, 7, NAN, 1));
    mask = bench_input(&b, TLMC_BOOL, 2, dims, V(1, 0, 0, 0, 0, 1));
    y = tlmc_build2(b.graph, TLMC_OP_SOFTMAX, x, mask);
    assert_true(bench_run(&b));
    want(b.values[y].data, 6, V(1, 0.0, 0.0, 0.0, 0.0, 1));
    bench_free(&b);
}

static void test_empty_reductions(void **state)
{
    const int64_t axis = 0, none = 0;
    struct bench b;
    uint32_t x, sum, mean, max;

    (void)state;
    bench_init(&b);
    x = bench_input(&b, TLMC_F32, 1, &none, V(0));
    sum = tlmc_build_reduce(b.graph, TLMC_OP_REDUCE_SUM, x, 1, &axis, false);
    mean = tlmc_build_reduce(b.graph, TLMC_OP_REDUCE_MEAN, x, 1, &axis, false);
    max = tlmc_build_reduce(b.graph, TLMC_OP_REDUCE_MAX, x, 1, &axis, false);
    assert_true(bench_run(&b));
    want(b.values[sum].data, 1, V(0));
    want(b.values[mean].data, 1, V(NAN));
    want(b.values[max].data, 1, V(-INFINITY));
    bench_free(&b);
}

static void test_index_error(void **state)
{
    const int64_t n = 3, dims[2] = { 4, 2 };
    struct bench b;
    uint32_t operands[2];

    (void)state;
    bench_init(&b);
    operands[0] = bench_input(&b, TLMC_I32, 1, &n, V(0, 4, 1));
    operands[1] = bench_input(&b, TLMC_F32, 2, dims, V(0, 1, 2, 3, 4, 5, 6, 7));
    tlmc_add_node(b.graph, TLMC_OP_EMBEDDING, operands, 2, NULL, 0);
    assert_false(bench_run(&b));
    assert_string_equal(b.error, "embedding: index 4 at position 1 is out of range [0, 4)");
    bench_free(&b);
}

/* One Adam step from zero moments with step_size = lr / (1 - beta1), sqrt_bc2 = sqrt(1 - beta2): p
   moves by lr. */
static void test_adam_step(void **state)
{
    const struct tlmc_type scalar = tlmc_type_make(TLMC_F32, 0, NULL);
    const struct tlmc_attr attrs[] = { tlmc_attr_float(TLMC_A_BETA1, 0.9),
                                       tlmc_attr_float(TLMC_A_BETA2, 0.999),
                                       tlmc_attr_float(TLMC_A_EPS, 1e-8),
                                       tlmc_attr_float(TLMC_A_WEIGHT_DECAY, 0) };
    const double scalars[2] = { 0.03 / (1 - 0.9), sqrt(1 - 0.999) };
    struct tlmc_arena arena = { 0 };
    struct tlmc_graph *graph = tlmc_graph_new(&arena);
    struct tlmc_tensor params[3], inputs[1], values[16] = { { .data = NULL } };
    const struct tlmc_env env = { .inputs = inputs, .params = params, .scalars = scalars };
    uint32_t operands[6];
    char error[256];

    (void)state;
    for (uint32_t i = 0; i < 3; i++)
        params[i] = tlmc_tensor_new(&scalar);
    inputs[0] = tlmc_tensor_new(&scalar);
    params[0].data[0] = 1;
    inputs[0].data[0] = -0.25;
    operands[0] = tlmc_build_leaf(graph, TLMC_OP_PARAM, 0, &scalar);
    operands[1] = tlmc_build_leaf(graph, TLMC_OP_INPUT, 0, &scalar);
    operands[2] = tlmc_build_leaf(graph, TLMC_OP_STATE, 1, &scalar);
    operands[3] = tlmc_build_leaf(graph, TLMC_OP_STATE, 2, &scalar);
    operands[4] = tlmc_build_leaf(graph, TLMC_OP_SCALAR, 0, &scalar);
    operands[5] = tlmc_build_leaf(graph, TLMC_OP_SCALAR, 1, &scalar);
    tlmc_add_node(graph, TLMC_OP_ADAM_UPDATE, operands, 6, attrs, 4);
    assert_true(tlmc_interpret(graph, &env, 1u << TLMC_FORWARD, values, error));
    assert_true(fabs(params[0].data[0] - 1.03) < 1e-8); /* constants are binary32 numbers */
    assert_true(params[1].data[0] == (double)(float)(1 - 0.9) * -0.25);
    assert_true(params[2].data[0] == (double)(float)(1 - 0.999) * 0.0625);
    tlmc_tensor_free(values, graph->value_count);
    tlmc_tensor_free(params, 3);
    tlmc_tensor_free(inputs, 1);
    tlmc_arena_free(&arena);
}

static void test_initial_values(void **state)
{
    const int64_t n = 4000;
    struct tlmc_param param = { .type = tlmc_type_make(TLMC_F32, 1, &n), .ordinal = 2 };
    double *data = calloc((size_t)n, sizeof *data), mean = 0, square = 0;

    (void)state;
    assert_non_null(data);
    param.init = (struct tlmc_init){ .kind = TLMC_INIT_NORMAL, .a = 1, .b = 0.02 };
    tlmc_init_param(&param, 2026, data);
    for (int64_t i = 0; i < n; i++) {
        assert_true(data[i] == (double)(float)data[i]);
        mean += data[i] / (double)n;
        square += (data[i] - 1) * (data[i] - 1) / (double)n;
    }
    assert_true(fabs(mean - 1) < 0.002);
    assert_true(fabs(sqrt(square) - 0.02) < 0.001);
    param.init = (struct tlmc_init){ .kind = TLMC_INIT_UNIFORM, .a = -0.5, .b = 0.5 };
    tlmc_init_param(&param, 2026, data);
    for (int64_t i = 0; i < 3; i++) {
        const uint64_t key = tlmc_spec_splitmix64(UINT64_C(8602332331383175920));
        const uint32_t bits = (uint32_t)tlmc_spec_splitmix64(key + (uint64_t)i);

        assert_true(data[i] == (double)(float)(-0.5 + bits / 4294967296.0));
    }
    param.init = (struct tlmc_init){ .kind = TLMC_INIT_NONE };
    tlmc_init_param(&param, 2026, data);
    assert_true(isnan(data[0]));
    free(data);
}

/* ---- the quickstart model */

struct quickstart {
    struct tlmc_arena arena;
    struct tlmc_symtab symbols;
    struct tlmc_sources sources;
    struct tlmc_diags diags;
    struct tlmc_module module;
    struct tlmc_form *form;
    uint32_t pred;
    struct tlmc_tensor inputs[2], *params, *values;
    double scalars[8];
    double powers[2]; /* beta1^t, beta2^t */
};

static uint32_t new_param(struct quickstart *q, const char *key, int rank, const int64_t *dims,
                          double limit)
{
    struct tlmc_param param = { .key = tlmc_intern(&q->symbols, key),
                                .type = tlmc_type_make(TLMC_F32, rank, dims),
                                .kind = TLMC_PARAM_TRAINED,
                                .ordinal = q->module.params.count,
                                .of = TLMC_NONE };

    param.init = (struct tlmc_init){ .kind = limit > 0 ? TLMC_INIT_UNIFORM : TLMC_INIT_CONSTANT,
                                     .a = -limit,
                                     .b = limit };
    TLMC_PUSH(&q->arena, &q->module.params, param);
    return tlmc_build_leaf(q->form->graph, TLMC_OP_PARAM, param.ordinal, &param.type);
}

static uint32_t linear(struct quickstart *q, uint32_t x, int64_t in, int64_t out,
                       const char *weight, const char *bias)
{
    struct tlmc_graph *g = q->form->graph;
    const int64_t dims[2] = { out, in };
    const uint32_t w = new_param(q, weight, 2, dims, sqrt(6.0 / (double)(in + out)));
    const uint32_t b = new_param(q, bias, 1, dims, 0);
    const uint32_t y = tlmc_build_matmul(g, x, tlmc_build_transpose(g, w));

    return tlmc_build2(g, TLMC_OP_ADD, y, tlmc_build_broadcast(g, b, tlmc_value_type(g, y)));
}

static uint32_t new_input(struct quickstart *q, const char *name, int64_t columns, bool target)
{
    const int64_t dims[2] = { 1, columns };
    const struct tlmc_type type = tlmc_type_make(TLMC_F32, 2, dims);
    struct tlmc_io io = { .name = tlmc_intern(&q->symbols, name), .is_target = target };

    q->inputs[q->form->inputs.count] = tlmc_tensor_new(&type);
    io.value = tlmc_build_leaf(q->form->graph, TLMC_OP_INPUT, q->form->inputs.count, &type);
    TLMC_PUSH(&q->arena, &q->form->inputs, io);
    return io.value;
}

static void build_model(struct quickstart *q)
{
    struct tlmc_form form = { .mode = TLMC_TRAIN, .total_loss = TLMC_NONE };
    struct tlmc_io output = { .name = tlmc_intern(&q->symbols, "pred") };
    struct tlmc_io loss = { .name = tlmc_intern(&q->symbols, "loss") };
    uint32_t x, y, h;

    form.entry = tlmc_intern(&q->symbols, "infer");
    form.graph = tlmc_graph_new(&q->arena);
    TLMC_PUSH(&q->arena, &q->module.forms, form);
    q->form = &q->module.forms.items[0];
    x = new_input(q, "x", 2, false);
    y = new_input(q, "y", 1, true);
    h = tlmc_build1(q->form->graph, TLMC_OP_RELU, linear(q, x, 2, 8, "fc1.weight", "fc1.bias"));
    q->pred = output.value = linear(q, h, 8, 1, "fc2.weight", "fc2.bias");
    loss.value = tlmc_build2(q->form->graph, TLMC_OP_MSE_LOSS, output.value, y);
    q->form->total_loss = loss.value;
    TLMC_PUSH(&q->arena, &q->form->outputs, output);
    TLMC_PUSH(&q->arena, &q->form->losses, loss);
}

static void train_clause(struct quickstart *q)
{
    struct tlmc_group *group = TLMC_NEW(&q->arena, struct tlmc_group);

    *group = (struct tlmc_group){ .lr = 0.03, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8 };
    group->param_count = 4;
    group->params = TLMC_NEW_ARRAY(&q->arena, uint32_t, 4);
    for (uint32_t i = 0; i < 4; i++)
        group->params[i] = i;
    q->module.train = (struct tlmc_train){
        .present = true, .accumulate = 1, .optimizer = TLMC_ADAM, .groups = group, .group_count = 1
    };
}

static void quickstart_init(struct quickstart *q, uint64_t seed)
{
    memset(q, 0, sizeof *q);
    tlmc_symtab_init(&q->symbols, &q->arena);
    tlmc_sources_init(&q->sources, &q->arena);
    tlmc_diags_init(&q->diags, &q->arena, &q->sources);
    q->module.arena = &q->arena;
    q->module.symbols = &q->symbols;
    q->module.sources = &q->sources;
    q->module.name = q->module.source_name = tlmc_intern(&q->symbols, "quickstart");
    build_model(q);
    train_clause(q);
    tlmc_pass_autodiff(&q->module, &q->diags);
    tlmc_pass_optimizer(&q->module, &q->diags);
    assert_int_equal(q->diags.errors, 0);
    q->pred = q->form->outputs.items[0].value; /* passes may renumber */
    assert_null(tlmc_graph_verify(q->form->graph));
    assert_true(q->module.scalars.count <= 8);
    q->params = calloc(q->module.params.count, sizeof *q->params);
    q->values = calloc(q->form->graph->value_count, sizeof *q->values);
    assert_non_null(q->params);
    assert_non_null(q->values);
    for (uint32_t i = 0; i < q->module.params.count; i++) {
        q->params[i] = tlmc_tensor_new(&q->module.params.items[i].type);
        tlmc_init_param(&q->module.params.items[i], seed, q->params[i].data);
    }
    q->powers[0] = q->powers[1] = 1;
}

static void quickstart_free(struct quickstart *q)
{
    tlmc_tensor_free(q->inputs, 2);
    tlmc_tensor_free(q->params, q->module.params.count);
    tlmc_tensor_free(q->values, q->form->graph->value_count);
    free(q->params);
    free(q->values);
    tlmc_arena_free(&q->arena);
}

static void interpret(struct quickstart *q, unsigned phases)
{
    const struct tlmc_env env = { .inputs = q->inputs, .params = q->params, .scalars = q->scalars };
    char error[256];

    assert_true(tlmc_interpret(q->form->graph, &env, phases, q->values, error));
}

/* Point i: x outer, y inner, both -1, -0.5, ..., 1. */
static void feed_point(struct quickstart *q, int i)
{
    const double x = -1 + 0.5 * (i / 5), y = -1 + 0.5 * (i % 5);

    q->inputs[0].data[0] = x;
    q->inputs[0].data[1] = y;
    q->inputs[1].data[0] = (double)(float)(0.8 * fmax(x + y, 0) - 0.4 * fmax(y - x, 0) + 0.2);
}

static double loss_of(struct quickstart *q)
{
    interpret(q, 1u << TLMC_FORWARD);
    return q->values[q->form->total_loss].data[0];
}

static double mean_loss(struct quickstart *q)
{
    double sum = 0;

    for (int i = 0; i < POINTS; i++) {
        feed_point(q, i);
        sum += loss_of(q);
    }
    return sum / POINTS;
}

static double prediction(struct quickstart *q, double x, double y)
{
    q->inputs[0].data[0] = x;
    q->inputs[0].data[1] = y;
    interpret(q, 1u << TLMC_FORWARD);
    return q->values[q->pred].data[0];
}

/* Step s on point s mod 25; the loss evaluated after the update. */
static double train_step(struct quickstart *q, int s)
{
    feed_point(q, s % POINTS);
    q->powers[0] *= 0.9;
    q->powers[1] *= 0.999;
    for (uint32_t i = 0; i < q->module.scalars.count; i++) {
        const enum tlmc_scalar_kind kind = q->module.scalars.items[i].kind;

        q->scalars[i] = kind == TLMC_SCALAR_STEP_SIZE  ? 0.03 / (1 - q->powers[0])
                        : kind == TLMC_SCALAR_SQRT_BC2 ? sqrt(1 - q->powers[1])
                                                       : 0.03;
    }
    interpret(q, 1u << TLMC_FORWARD | 1u << TLMC_BACKWARD | 1u << TLMC_ACCUMULATE_PHASE |
                     1u << TLMC_UPDATE_PHASE);
    return loss_of(q);
}

static void want_text(double got, const char *text)
{
    char buf[32];

    snprintf(buf, sizeof buf, "%.6f", got);
    assert_string_equal(buf, text);
}

static void test_quickstart_2026(void **state)
{
    static const char *const step_losses[] = { "0.000866", "0.268454", "0.005610", "0.039779",
                                               "0.069152", "0.002023", "0.003828", "0.000003" };
    struct quickstart q;

    (void)state;
    quickstart_init(&q, 2026);
    want_text(mean_loss(&q), "0.761530");
    want_text(prediction(&q, 0.25, -0.75), "0.043283");
    want_text(prediction(&q, 0, 0), "0.000000");
    for (int s = 0; s < 200; s++) {
        const double loss = train_step(&q, s);

        if (s % 25 == 0)
            want_text(loss, step_losses[s / 25]);
        if (s == 1)
            want_text(mean_loss(&q), "0.755218");
        if (s == 19) {
            want_text(mean_loss(&q), "0.459876");
            want_text(prediction(&q, 0, 0), "-0.132460");
            want_text(prediction(&q, 0.25, -0.75), "0.012967");
        }
    }
    want_text(mean_loss(&q), "0.003234");
    want_text(prediction(&q, 0.25, -0.75), "0.210239");
    want_text(prediction(&q, 0, 0), "0.232135");
    quickstart_free(&q);
}

static void test_quickstart_0(void **state)
{
    struct quickstart q;

    (void)state;
    quickstart_init(&q, 0);
    want_text(mean_loss(&q), "1.349908");
    for (int s = 0; s < 200; s++) {
        train_step(&q, s);
        if (s == 19)
            want_text(mean_loss(&q), "0.753997");
    }
    want_text(mean_loss(&q), "0.002521");
    quickstart_free(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_splitmix),       cmocka_unit_test(test_random_draws),
        cmocka_unit_test(test_zeros_and_nan),  cmocka_unit_test(test_integers_wrap),
        cmocka_unit_test(test_blocked_rows),   cmocka_unit_test(test_empty_reductions),
        cmocka_unit_test(test_index_error),    cmocka_unit_test(test_adam_step),
        cmocka_unit_test(test_initial_values), cmocka_unit_test(test_quickstart_2026),
        cmocka_unit_test(test_quickstart_0),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
