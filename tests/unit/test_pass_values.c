/* The optional passes change no value: whole models, forward, backward and update, evaluated by the
   reference interpreter with all of them off, each one alone, and all on.

   The interpreter adds in the order of the operands, in binary64, so clean-up, cse and dce must
   give equal numbers, not close ones.  Folding computes in binary32, as programs do: there 1e-5 of
   the value's size is allowed, for some thousand such roundings. */
#include "frontend.h"
#include "ir_help.h"
#include "spec/interpret.h"

#include <math.h>

static const char *const optional[] = { "canonical", "fold", "cse", NULL };

struct run {
    struct tlmc_arena arena;
    struct tlmc_module *module;
    struct tlmc_form *form;
    struct tlmc_tensor *params, *inputs, *values;
    double *scalars;
};

/* Numbers without pattern, the same for every run. */
static double draw(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 11) * 0x1p-53;
}

static void fill_inputs(struct run *r)
{
    uint64_t state = 7;
    unsigned i;
    int64_t k;

    r->inputs = calloc(r->form->inputs.count, sizeof *r->inputs);
    for (i = 0; i < r->form->inputs.count; i++) {
        const struct tlmc_type *type =
            tlmc_value_type(r->form->graph, r->form->inputs.items[i].value);

        r->inputs[i] = tlmc_tensor_new(type);
        for (k = 0; k < tlmc_type_count(type); k++)
            r->inputs[i].data[k] = tlmc_dtype_is_float(type->dtype)
                                       ? (double)(float)(2 * draw(&state) - 1)
                                       : floor(5 * draw(&state));
    }
}

static void fill_params(struct run *r)
{
    unsigned i;

    r->params = calloc(r->module->params.count, sizeof *r->params);
    for (i = 0; i < r->module->params.count; i++) {
        r->params[i] = tlmc_tensor_new(&r->module->params.items[i].type);
        tlmc_init_param(&r->module->params.items[i], 1, r->params[i].data);
    }
    r->scalars = calloc(r->module->scalars.count + 1, sizeof *r->scalars);
    for (i = 0; i < r->module->scalars.count; i++)
        r->scalars[i] = 0.01 * (i + 1);
}

/* The training form of a model, evaluated once with the passes in `off` left out. */
static void run_model(struct run *r, const char *path, const char *const *defines,
                      const char *const *off)
{
    const struct tlmc_frontend_options front = { .defines = defines };
    const struct tlmc_pass_options passes = { .off = off };
    const unsigned all = 1u << TLMC_FORWARD | 1u << TLMC_BACKWARD | 1u << TLMC_ACCUMULATE_PHASE |
                         1u << TLMC_UPDATE_PHASE;
    struct tlmc_symtab symbols;
    struct tlmc_sources sources;
    struct tlmc_diags diags;
    struct tlmc_env env = { .seed = 3 };
    char error[256] = "";

    memset(r, 0, sizeof *r);
    tlmc_symtab_init(&symbols, &r->arena);
    tlmc_sources_init(&sources, &r->arena);
    tlmc_diags_init(&diags, &r->arena, &sources);
    r->module = tlmc_frontend(&r->arena, &symbols, &sources, path, &front, &diags);
    if (!r->module)
        tlmc_diags_print(&diags, stderr);
    assert_non_null(r->module);
    assert_true(tlmc_run_passes(r->module, &passes, &diags));
    r->form = tlmc_module_training_form(r->module);
    assert_non_null(r->form);
    fill_inputs(r);
    fill_params(r);
    env.inputs = r->inputs;
    env.params = r->params;
    env.scalars = r->scalars;
    r->values = calloc(r->form->graph->value_count, sizeof *r->values);
    if (!tlmc_interpret(r->form->graph, &env, all, r->values, error))
        fail_msg("%s", error);
}

static void free_run(struct run *r)
{
    tlmc_tensor_free(r->inputs, r->form->inputs.count);
    tlmc_tensor_free(r->params, r->module->params.count);
    tlmc_tensor_free(r->values, r->form->graph->value_count);
    free(r->inputs);
    free(r->params);
    free(r->values);
    free(r->scalars);
    tlmc_arena_free(&r->arena);
}

static void compare(const char *what, const struct tlmc_tensor *have,
                    const struct tlmc_tensor *want, double tolerance)
{
    double size = 0;
    int64_t i;

    assert_true(tlmc_type_equal(&have->type, &want->type));
    for (i = 0; i < tlmc_type_count(&want->type); i++)
        size = fmax(size, fabs(want->data[i]));
    for (i = 0; i < tlmc_type_count(&want->type); i++)
        if (!(fabs(have->data[i] - want->data[i]) <= tolerance * size) &&
            !(isnan(have->data[i]) && isnan(want->data[i])))
            fail_msg("%s[%lld] is %.17g, not %.17g", what, (long long)i, have->data[i],
                     want->data[i]);
}

/* Loss, gradients, and everything the step wrote. */
static void compare_runs(const struct run *have, const struct run *want, double tolerance)
{
    uint32_t i;

    compare("loss", &have->values[have->form->total_loss], &want->values[want->form->total_loss],
            tolerance);
    assert_int_equal(have->form->grad_count, want->form->grad_count);
    for (i = 0; i < want->form->grad_count; i++)
        compare("gradient", &have->values[have->form->grads[i].value],
                &want->values[want->form->grads[i].value], tolerance);
    assert_int_equal(have->module->params.count, want->module->params.count);
    for (i = 0; i < want->module->params.count; i++) /* m / sqrt(v) magnifies what rounds near 0 */
        if (tolerance == 0 || want->module->params.items[i].kind != TLMC_PARAM_TRAINED)
            compare(want->module->params.items[i].key, &have->params[i], &want->params[i],
                    tolerance);
}

static void check_model(const char *path, const char *const *defines)
{
    struct run plain, other;
    unsigned i, k;

    run_model(&plain, path, defines, optional);
    assert_true(plain.form->grad_count > 0);
    for (i = 0; optional[i]; i++) { /* one on, the others off */
        const char *off[4] = { NULL };
        unsigned n = 0;

        for (k = 0; optional[k]; k++)
            if (k != i)
                off[n++] = optional[k];
        run_model(&other, path, defines, off);
        compare_runs(&other, &plain, strcmp(optional[i], "fold") == 0 ? 1e-5 : 0);
        free_run(&other);
    }
    run_model(&other, path, defines, NULL);
    compare_runs(&other, &plain, 1e-5);
    free_run(&other);
    free_run(&plain);
}

static void quickstart(void **state)
{
    (void)state;
    check_model(TLMC_SOURCE_DIR "/examples/quickstart_mlp/quickstart_mlp.tlm", NULL);
}

static void digits(void **state)
{
    static const char *const defines[] = { "train.batch=3", NULL };

    (void)state;
    check_model(TLMC_SOURCE_DIR "/examples/digits_mlp/digits_mlp.tlm", defines);
}

static void transformer(void **state)
{
    static const char *const defines[] = { "train.batch=2", "T=5",      "C=8",      "L=2",
                                           "heads=2",       "vocab=11", "drop=0.2", NULL };

    (void)state;
    check_model(TLMC_SOURCE_DIR "/examples/char_gpt/char_gpt.tlm", defines);
}

static void gpt2(void **state)
{
    static const char *const defines[] = { "train.batch=2", "T=5",     "ctx=6",    "C=8",
                                           "L=2",           "heads=2", "vocab=11", NULL };

    (void)state;
    check_model(TLMC_SOURCE_DIR "/examples/gpt2/gpt2.tlm", defines);
}

/* Random draws, several losses. */
static void autoencoder(void **state)
{
    static const char *const defines[] = { "train.batch=2", NULL };

    (void)state;
    check_model(TLMC_SOURCE_DIR "/tests/models/11_vae.tlm", defines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quickstart), cmocka_unit_test(digits),      cmocka_unit_test(transformer),
        cmocka_unit_test(gpt2),       cmocka_unit_test(autoencoder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
