/* The semantic stage: keys of the models, forms, overrides, states, groups, initial values,
   digests, and what the language computes: small models evaluated by the reference interpreter
   against numbers written here. */
#define _POSIX_C_SOURCE 200809L
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "frontend.h"
#include "spec/interpret.h"
#include "strbuf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct session {
    struct tlmc_arena arena;
    struct tlmc_symtab symbols;
    struct tlmc_sources sources;
    struct tlmc_diags diags;
    char folder[64];
};

static int open_session(void **state)
{
    struct session *s = calloc(1, sizeof *s);

    if (!s)
        return -1;
    strcpy(s->folder, "/tmp/tlmc_sema_XXXXXX");
    if (!mkdtemp(s->folder))
        return -1;
    tlmc_symtab_init(&s->symbols, &s->arena);
    tlmc_sources_init(&s->sources, &s->arena);
    tlmc_diags_init(&s->diags, &s->arena, &s->sources);
    *state = s;
    return 0;
}

static const char *path_in(struct session *s, const char *name)
{
    struct tlmc_strbuf path = { 0 };
    const char *text;

    tlmc_strbuf_printf(&path, "%s/%s", s->folder, name);
    text = tlmc_arena_strdup(&s->arena, tlmc_strbuf_text(&path));
    tlmc_strbuf_free(&path);
    return text;
}

static int close_session(void **state)
{
    struct session *s = *state;

    remove(path_in(s, "m.tlm"));
    remove(path_in(s, "lib.tlm"));
    rmdir(s->folder);
    tlmc_arena_free(&s->arena);
    free(s);
    return 0;
}

static void write_file(struct session *s, const char *name, const char *text)
{
    FILE *out = fopen(path_in(s, name), "w");

    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
}

static struct tlmc_module *load(struct session *s, const char *path, const char *const *defines)
{
    const struct tlmc_frontend_options options = { .defines = defines };

    tlmc_diags_init(&s->diags, &s->arena, &s->sources);
    return tlmc_frontend(&s->arena, &s->symbols, &s->sources, path, &options, &s->diags);
}

static struct tlmc_module *compile_with(struct session *s, const char *text,
                                        const char *const *defines)
{
    struct tlmc_module *m;

    write_file(s, "m.tlm", text);
    m = load(s, path_in(s, "m.tlm"), defines);
    if (!m)
        tlmc_diags_print(&s->diags, stderr);
    assert_non_null(m);
    for (unsigned i = 0; i < m->forms.count; i++)
        assert_null(tlmc_graph_verify(m->forms.items[i].graph));
    return m;
}

static struct tlmc_module *compile(struct session *s, const char *text)
{
    return compile_with(s, text, NULL);
}

static struct tlmc_form *form(struct session *s, struct tlmc_module *m, const char *entry,
                              enum tlmc_mode mode)
{
    return tlmc_module_form(m, tlmc_intern(&s->symbols, entry), mode);
}

static const struct tlmc_param *param(const struct tlmc_module *m, const char *key)
{
    for (unsigned i = 0; i < m->params.count; i++)
        if (!strcmp(m->params.items[i].key, key))
            return &m->params.items[i];
    fail_msg("no key %s", key);
    return NULL;
}

static uint32_t count_ops(const struct tlmc_graph *g, enum tlmc_op op)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < g->node_count; i++)
        n += g->nodes[i].op == op;
    return n;
}

static const struct tlmc_node *find_node(const struct tlmc_graph *g, enum tlmc_op op)
{
    for (uint32_t i = 0; i < g->node_count; i++)
        if (g->nodes[i].op == op)
            return &g->nodes[i];
    fail_msg("no node %s", tlmc_op_info(op)->name);
    return NULL;
}

/* ---- the models */

static const struct {
    const char *name;
    bool complete; /* every op is there: it elaborates to its table of keys */
} models[] = {
    { "01_quickstart_mlp", true },
    { "02_digits_mlp", true },
    { "03_char_gpt", true },
    { "04_gpt2", true },
    { "05_resnet18", false },
    { "06_vit", false },
    { "07_unet", false },
    { "08_lstm_lm", false },
    { "09_fno1d", false },
    { "10_mamba", false },
    { "11_vae", true },
    { "12_finetune", false },
    { "13_gan", true },
    { "14_codec", false },
    { "15_kv_cache", true },
};

static char *read_text(const char *path)
{
    static char text[1 << 20];
    FILE *in = fopen(path, "r");
    size_t n;

    assert_non_null(in);
    n = fread(text, 1, sizeof text - 1, in);
    text[n] = 0;
    fclose(in);
    return text;
}

static void keys_of_the_models(void **state)
{
    struct session *s = *state;
    char path[512];

    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct tlmc_strbuf keys = { 0 };
        struct tlmc_module *m;

        snprintf(path, sizeof path, "%s/tests/models/%s.tlm", TLMC_SOURCE_DIR, models[i].name);
        m = load(s, path, NULL);
        if (!models[i].complete) {
            assert_null(m);
            assert_int_equal(s->diags.first->code, TLMC_E_NOT_BUILT);
            continue;
        }
        if (!m)
            tlmc_diags_print(&s->diags, stderr);
        assert_non_null(m);
        snprintf(path, sizeof path, "%s/tests/models/keys/%s.keys", TLMC_SOURCE_DIR,
                 models[i].name);
        tlmc_module_keys(m, &keys);
        assert_string_equal(tlmc_strbuf_text(&keys), read_text(path));
        tlmc_strbuf_free(&keys);
    }
}

static void good_cases(void **state)
{
    struct session *s = *state;
    const char *other[] = { "act_name=other", NULL };
    struct tlmc_module *m = load(s, TLMC_SOURCE_DIR "/tests/golden/good/library.tlm", NULL);
    const struct tlmc_form *f;

    assert_non_null(m);
    f = form(s, m, "infer", TLMC_INFER);
    assert_non_null(f);
    assert_int_equal(f->outputs.count, 6);
    assert_int_equal(count_ops(f->graph, TLMC_OP_GELU_ERF), 1);
    assert_int_equal(count_ops(f->graph, TLMC_OP_WHERE), 2); /* gate, and extra.gate inside mlp */
    assert_true(param(m, "narrow.down.weight")->type.dims[1] == 6);
    assert_non_null(load(s, TLMC_SOURCE_DIR "/tests/golden/good/library.tlm", other));

    m = load(s, TLMC_SOURCE_DIR "/tests/golden/good/shared.tlm", NULL);
    assert_non_null(m);
    assert_int_equal(s->diags.warnings, 0);
    assert_int_equal(m->params.count, 5); /* one cell for ten calls, one table for two uses */
    f = form(s, m, "infer", TLMC_TRAIN);
    assert_int_equal(count_ops(f->graph, TLMC_OP_PARAM), 5);
    assert_int_equal(m->train.optimizer, TLMC_SGD);
    assert_true(m->train.groups[0].momentum == 0.9 && m->train.groups[0].param_count == 5);
}

/* ---- forms and overrides */

static const char digits[] =
    "model digits;\n"
    "dim batch = 1;\n"
    "const rate = 0.5;\n"
    "const wide = true;\n"
    "input x: f32[batch, 4];\n"
    "target y: i32[batch];\n"
    "if wide { dim width = 8; h = linear(x, width) as fc1; } else { h = linear(x, 3) as fc1; }\n"
    "h = dropout(h, rate);\n"
    "logits = linear(h, 2) as fc2;\n"
    "output logits, label = argmax(logits);\n"
    "loss cross_entropy(logits, y);\n"
    "metric right = argmax(logits) == y;\n"
    "train { dim batch = 16; optimizer adam(); }\n";

static int64_t batch_of(const struct tlmc_form *f)
{
    return tlmc_value_type(f->graph, f->inputs.items[0].value)->dims[0];
}

static void forms_of_a_model(void **state)
{
    struct session *s = *state;
    struct tlmc_module *m = compile(s, digits);
    const struct tlmc_form *train = form(s, m, "infer", TLMC_TRAIN),
                           *eval = form(s, m, "infer", TLMC_EVAL),
                           *infer = form(s, m, "infer", TLMC_INFER);

    assert_int_equal(m->forms.count, 3);
    assert_false(m->has_entries);
    assert_int_equal(batch_of(train), 16);
    assert_int_equal(batch_of(eval), 16);
    assert_int_equal(batch_of(infer), 1);
    assert_int_equal(train->inputs.count, 2);
    assert_true(train->inputs.items[1].is_target);
    assert_int_equal(tlmc_value_type(train->graph, train->total_loss)->rank, 0);
    assert_int_equal(count_ops(train->graph, TLMC_OP_BERNOULLI_MASK), 1);
    assert_int_equal(train->random_sites, 1);
    assert_int_equal(count_ops(eval->graph, TLMC_OP_BERNOULLI_MASK), 0);
    assert_int_equal(eval->losses.count, 1);
    assert_int_equal(eval->metrics.count, 1);
    assert_int_equal(eval->total_loss, TLMC_NONE);
    /* inference: no target, no loss, nothing that only they need */
    assert_int_equal(infer->inputs.count, 1);
    assert_int_equal(infer->losses.count + infer->metrics.count, 0);
    assert_int_equal(count_ops(infer->graph, TLMC_OP_CROSS_ENTROPY), 0);
    assert_int_equal(count_ops(infer->graph, TLMC_OP_INPUT), 1);
    assert_int_equal(infer->outputs.count, 2);
    assert_string_equal(infer->graph->values[infer->outputs.items[0].value].name, "logits");
}

static void overrides(void **state)
{
    struct session *s = *state;
    const char *plain[] = { "batch=3", "rate=0.25", "wide=false", NULL };
    const char *scoped[] = { "train.batch=5", "infer.batch=2", NULL };
    const char *last[] = { "batch=3", "batch=4", NULL };
    struct tlmc_module *m = compile_with(s, digits, plain);

    assert_int_equal(batch_of(form(s, m, "infer", TLMC_INFER)), 3);
    assert_int_equal(batch_of(form(s, m, "infer", TLMC_TRAIN)),
                     16); /* the clause's own dim holds */
    assert_int_equal(param(m, "fc1.weight")->type.dims[0], 3);
    assert_true(
        tlmc_node_float(find_node(form(s, m, "infer", TLMC_TRAIN)->graph, TLMC_OP_BERNOULLI_MASK),
                        TLMC_A_KEEP) == 0.75);
    assert_string_equal(m->command, "-D batch=3 -D rate=0.25 -D wide=false");
    m = compile_with(s, digits, scoped);
    assert_int_equal(batch_of(form(s, m, "infer", TLMC_EVAL)), 5);
    assert_int_equal(batch_of(form(s, m, "infer", TLMC_INFER)), 2);
    assert_int_equal(batch_of(form(s, compile_with(s, digits, last), "infer", TLMC_INFER)), 4);
}

static const char entries[] =
    "model two;\n"
    "dim width = 2;\n"
    "entry fit {\n"
    "  dim batch = 8;\n"
    "  input x: f32[batch, width];\n"
    "  input unused: f32[batch];\n"
    "  loss reduce_mean(linear(x, 1) as fc), extra = 2.0 * reduce_sum(x * x, axis = 1);\n"
    "}\n"
    "entry use {\n"
    "  dim batch = 1; dim width = 2;\n"
    "  input x: f32[batch, width]; input unused: f32[batch];\n"
    "  output y = linear(x, 1) as fc;\n"
    "}\n"
    "train { optimizer sgd(lr = 0.1); }\n";

static void forms_of_entries(void **state)
{
    struct session *s = *state;
    const char *defines[] = { "fit.batch=4", "use.batch=9", "width=2", NULL };
    struct tlmc_module *m = compile_with(s, entries, defines);
    const struct tlmc_form *train = form(s, m, "fit", TLMC_TRAIN);

    assert_true(m->has_entries);
    assert_int_equal(m->forms.count, 3); /* fit has no outputs: no inference form */
    assert_null(form(s, m, "fit", TLMC_INFER));
    assert_int_equal(batch_of(train), 4);
    assert_int_equal(batch_of(form(s, m, "use", TLMC_INFER)), 9);
    assert_int_equal(form(s, m, "use", TLMC_INFER)->inputs.count,
                     1); /* what no output needs is left out */
    assert_int_equal(train->inputs.count, 2);
    assert_int_equal(train->losses.count, 2);
    assert_int_equal(tlmc_value_node(train->graph, train->total_loss)->op, TLMC_OP_ADD);
    assert_int_equal(m->params.count, 2); /* both entries have the same parameters */
    assert_int_equal(param(m, "fc.bias")->ordinal, 1);
}

static void several_trained_entries_elaborate(void **state)
{
    struct session *s = *state;
    struct tlmc_module *m = load(s, TLMC_SOURCE_DIR "/tests/models/13_gan.tlm", NULL);
    unsigned trained = 0;

    assert_non_null(m);
    for (unsigned i = 0; i < m->forms.count; i++)
        trained += m->forms.items[i].mode == TLMC_TRAIN;
    assert_int_equal(trained, 2); /* planning refuses them */
    assert_null(tlmc_module_training_form(m));
}

/* ---- states */

static void updates_of_states(void **state)
{
    struct session *s = *state;
    struct tlmc_module *m = compile(s, "model m;\n"
                                       "input x: f32[2];\n"
                                       "state a: f32[2] = zeros();\n"
                                       "state b: f32[2] = ones() transient;\n"
                                       "old = a;\n"
                                       "update a = b;\n"
                                       "update b = old;\n"
                                       "update b = b;\n"
                                       "output y = x + a, old, new = b;\n");
    const struct tlmc_form *f = form(s, m, "infer", TLMC_INFER);
    double start[2][2] = { { 1, 2 }, { 3, 4 } }, given[2] = { 10, 20 };
    struct tlmc_tensor input = { tlmc_type_make(TLMC_F32, 1, (const int64_t[]){ 2 }), given };
    struct tlmc_tensor params[2] = { { input.type, start[0] }, { input.type, start[1] } };
    const struct tlmc_env env = { .inputs = &input, .params = params };
    struct tlmc_tensor *values = calloc(f->graph->value_count, sizeof *values);
    char error[256];

    assert_int_equal(param(m, "b")->kind, TLMC_PARAM_TRANSIENT);
    assert_int_equal(count_ops(f->graph, TLMC_OP_STORE), 2);
    assert_non_null(values);
    assert_true(tlmc_interpret(f->graph, &env, 1u << TLMC_FORWARD, values, error));
    assert_true(start[0][0] == 3 && start[0][1] == 4); /* exchanged, not overwritten */
    assert_true(start[1][0] == 1 && start[1][1] == 2);
    assert_true(values[f->outputs.items[0].value].data[1] ==
                24); /* a read after its update is new */
    assert_true(values[f->outputs.items[1].value].data[0] ==
                1); /* the name given before it is not */
    assert_true(values[f->outputs.items[2].value].data[0] == 1);
    tlmc_tensor_free(values, f->graph->value_count);
    free(values);
}

static void running_statistics(void **state)
{
    struct session *s = *state;
    static const char text[] =
        "model m;\ndim batch = 4;\ninput x: f32[batch, 3, 2];\ntarget y: f32[batch, 3, 2];\n"
        "h = batch_norm(x) as bn;\noutput h;\nloss mse_loss(h, y);\n"
        "train { %s optimizer sgd(lr = 0.1); }\n";
    char buf[512];
    struct tlmc_module *m;

    snprintf(buf, sizeof buf, text, "");
    m = compile(s, buf);
    assert_int_equal(count_ops(form(s, m, "infer", TLMC_TRAIN)->graph, TLMC_OP_STORE), 2);
    assert_int_equal(count_ops(form(s, m, "infer", TLMC_EVAL)->graph, TLMC_OP_STORE), 0);
    assert_int_equal(count_ops(form(s, m, "infer", TLMC_INFER)->graph, TLMC_OP_STORE), 0);
    assert_int_equal(param(m, "bn.running_var")->kind, TLMC_PARAM_STATE);
    snprintf(buf, sizeof buf, text, "freeze \"bn.running_*\", \"bn.weight\";");
    m = compile(s, buf);
    assert_int_equal(count_ops(form(s, m, "infer", TLMC_TRAIN)->graph, TLMC_OP_STORE), 0);
    assert_true(param(m, "bn.weight")->frozen);
    assert_int_equal(m->train.groups[0].param_count, 1); /* bn.bias alone */
}

/* ---- clauses */

static const char trained[] =
    "model m;\ndim batch = 2;\ninput x: f32[batch, 3];\ntarget y: f32[batch, 1];\n"
    "h = layer_norm(linear(x, 4) as a.fc) as a.ln;\np = linear(h, 1) as head;\n"
    "output p;\nloss mse_loss(p, y);\ntrain {\n"
    "  data \"rows.csv\" { x = columns(0..3); y = columns(\"label\"); header true; }\n";

static struct tlmc_module *train_clause(struct session *s, const char *settings)
{
    struct tlmc_strbuf text = { 0 };
    struct tlmc_module *m;

    tlmc_strbuf_printf(&text, "%s%s}\n", trained, settings);
    m = compile(s, tlmc_strbuf_text(&text));
    tlmc_strbuf_free(&text);
    return m;
}

static void optimizer_groups(void **state)
{
    struct session *s = *state;
    const char *settings = "optimizer adamw(lr = 0.5, beta1 = 0.8) {\n"
                           "  group \"*.bias\" { weight_decay = 0.0; }\n"
                           "  group \"a.*\" { lr = 0.25; }\n"
                           "}\n";
    struct tlmc_module *m = train_clause(s, settings);

    assert_int_equal(m->train.optimizer, TLMC_ADAMW);
    assert_int_equal(m->train.group_count, 3);
    assert_int_equal(m->train.groups[0].param_count,
                     3); /* a.fc, a.ln, head: the first match wins */
    assert_int_equal(m->train.groups[1].param_count, 2);
    assert_int_equal(m->train.groups[2].param_count, 1);
    assert_string_equal(m->params.items[m->train.groups[2].params[0]].key, "head.weight");
    assert_true(m->train.groups[0].weight_decay == 0.0 && m->train.groups[0].lr == 0.5);
    assert_true(m->train.groups[1].weight_decay == 0.01 && m->train.groups[1].lr == 0.25);
    assert_true(m->train.groups[2].beta1 == 0.8 && m->train.groups[2].beta2 == 0.999);
    assert_true(m->train.groups[2].eps == 1e-8);
}

static void data_and_the_rest(void **state)
{
    struct session *s = *state;
    struct tlmc_module *m =
        train_clause(s, "validation last(0.25); shuffle true; steps 7; log_every 2; seed 9; "
                        "accumulate 4; clip norm(2.0);\n"
                        "optimizer sgd(lr = 0.1, momentum = 0.9, nesterov = true);\n"
                        "schedule warmup(3), cosine(final = 0.1);\n"
                        "evaluate train; log_loss after;\n"
                        "probe here { x = [[1.0, 2.0, 3.0]]; }\n");
    const struct tlmc_train *t = &m->train;

    assert_true(t->present && t->shuffle && t->evaluate_train && t->log_loss_after);
    assert_int_equal(t->data.count, 1);
    assert_string_equal(t->data.items[0].path, "rows.csv");
    assert_int_equal(t->data.items[0].feeds.count, 2);
    assert_int_equal(t->data.items[0].feeds.items[0].columns[2], 2);
    assert_string_equal(t->data.items[0].feeds.items[1].column_names[0], "label");
    assert_null(t->data.items[0].feeds.items[1].columns);
    assert_int_equal(t->split, TLMC_SPLIT_LAST);
    assert_true(t->split_fraction == 0.25 && t->split_count == 0);
    assert_true(t->steps == 7 && t->epochs == 0 && t->log_every == 2 && t->seed == 9 &&
                t->accumulate == 4);
    assert_int_equal(t->clip, TLMC_CLIP_NORM);
    assert_true(t->clip_value == 2.0 && t->groups[0].nesterov);
    assert_int_equal(t->schedule.count, 2);
    assert_true(t->schedule.items[0].steps == 3 && t->schedule.items[1].final == 0.1);
    assert_int_equal(t->probes.count, 1);
    assert_int_equal(t->probes.items[0].values.items[0].count, 3);
    assert_true(t->probes.items[0].values.items[0].data[2] == 3.0);
}

static void generation_and_pretrained(void **state)
{
    struct session *s = *state;
    struct tlmc_module *m = compile(
        s,
        "model m;\ndim T = 8;\ninput ids: i32[1, T];\n"
        "output logits = embedding(ids, 5, 5) as wte;\n"
        "pretrained \"f.safetensors\" { rename \"wte.*\" -> \"*\"; ignore \"x\"; only \"w*\"; }\n"
        "generate { dim T = 3; feed ids; sample logits; text bytes; tokens 6; top_k 2; "
        "temperature 0.5; }\n");
    const struct tlmc_form *f = &m->forms.items[m->generate.form];

    assert_int_equal(f->mode, TLMC_GENERATE);
    assert_int_equal(tlmc_value_type(f->graph, f->inputs.items[m->generate.feed].value)->dims[1],
                     3);
    assert_true(m->generate.bytes && m->generate.tokens == 6 && m->generate.top_k == 2 &&
                m->generate.temperature == 0.5);
    assert_string_equal(m->pretrained.path, "f.safetensors");
    assert_string_equal(m->pretrained.renames.items[0].to, "*");
    assert_int_equal(m->pretrained.ignores.count, 1);
    assert_int_equal(m->pretrained.onlys.count, 1);
}

/* ---- initial values */

static void initial_values(void **state)
{
    struct session *s = *state;
    struct tlmc_module *m = compile(
        s,
        "model m;\n"
        "param xu: f32[4, 3, 2] = xavier_uniform();\n"
        "param xn: f32[4, 3, 2] = xavier_normal(gain = 2.0);\n"
        "param ku: f32[4, 3, 2] = kaiming_uniform();\n"
        "param kn: f32[4, 3, 2] = kaiming_normal(mode = \"fan_out\", nonlinearity = \"linear\");\n"
        "param un: f32[4] = uniform(-1.0, 3.0);\n"
        "param c:  f32[2] = 0.5;\n"
        "param t:  f32[2, 3] = log(f32(arange(1, 4)));\n"
        "param l:  f32[2] = [1.0, 0.1];\n"
        "param no: f32[2];\n"
        "output y = reduce_sum(xu);\n");
    const struct tlmc_init *i = &param(m, "xu")->init;

    assert_int_equal(i->kind, TLMC_INIT_UNIFORM); /* fan_in 6, fan_out 8 */
    assert_true(fabs(i->b - sqrt(6.0 / 14.0)) < 1e-15 && i->a == -i->b);
    i = &param(m, "xn")->init;
    assert_int_equal(i->kind, TLMC_INIT_NORMAL);
    assert_true(i->a == 0.0 && fabs(i->b - 2.0 * sqrt(2.0 / 14.0)) < 1e-15);
    assert_true(fabs(param(m, "ku")->init.b - sqrt(2.0) * sqrt(3.0 / 6.0)) < 1e-15);
    assert_true(fabs(param(m, "kn")->init.b - 1.0 / sqrt(8.0)) < 1e-15);
    i = &param(m, "un")->init;
    assert_true(i->a == -1.0 && i->b == 3.0);
    assert_string_equal(i->text, "uniform(-1.0, 3.0)");
    i = &param(m, "c")->init;
    assert_true(i->kind == TLMC_INIT_CONSTANT && i->a == 0.5);
    i = &param(m, "t")->init;
    assert_int_equal(i->kind, TLMC_INIT_TENSOR);
    assert_true(i->data[0] == 0.0 && i->data[4] == (float)log(2.0)); /* binary64, rounded once */
    assert_true(param(m, "l")->init.data[1] == 0.1f);
    assert_int_equal(param(m, "no")->init.kind, TLMC_INIT_NONE);
    assert_int_equal(param(m, "no")->ordinal, 8);
}

/* ---- digest */

static uint64_t fnv(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

static void digest_of_the_texts(void **state)
{
    struct session *s = *state;
    static const char model[] =
        "model m;\nimport \"lib.tlm\";\ninput x: f32[2];\noutput y = twice(x);\n";
    static const char lib[] = "block twice(x: f32[...]) { return x + x; }\n";
    struct tlmc_module *m;

    write_file(s, "lib.tlm", lib);
    m = compile(s, model);
    assert_true(m->digest == fnv(fnv(UINT64_C(0xcbf29ce484222325), model), lib));
    assert_string_equal(m->source_name, "m.tlm");
    assert_string_equal(m->name, "m");
}

/* ---- what expressions compute */

static const struct {
    const char *text; /* an expression of f32 or i32 or bool tensors */
    int count;
    double want[12];
} computed[] = {
    { "arange(6)[1:5:2]", 2, { 1, 3 } },
    { "reshape(arange(6), [2, 3])[-1]", 3, { 3, 4, 5 } },
    { "reshape(arange(6), [2, 3])[:, 1]", 2, { 1, 4 } },
    { "reshape(arange(6), [2, 3])[..., -2:]", 4, { 1, 2, 4, 5 } },
    { "transpose(reshape(arange(6), [2, 3]))", 6, { 0, 3, 1, 4, 2, 5 } },
    { "unsqueeze(arange(2), -1) + arange(3)", 6, { 0, 1, 2, 1, 2, 3 } },
    { "squeeze(reshape(arange(2), [1, 2]), 0)", 2, { 0, 1 } },
    { "stack([arange(2), arange(2, 4)], axis = 1)", 4, { 0, 2, 1, 3 } },
    { "concat([arange(2), arange(2, 4)])", 4, { 0, 1, 2, 3 } },
    { "op.slice(arange(6), [1], [6], [3])", 2, { 1, 4 } },
    { "f32(arange(3)) ** 3", 3, { 0, 1, 8 } },
    { "f32(arange(3)) ** 5", 3, { 0, 1, 32 } },
    { "-arange(3)", 3, { 0, -1, -2 } },
    { "2.0 - f32(arange(3)) / 4.0", 3, { 2, 1.75, 1.5 } },
    { "where(arange(3) > 1, 7, arange(3))", 3, { 0, 1, 7 } },
    { "arange(3) == 1 || arange(3) == 2", 3, { 0, 1, 1 } },
    { "!(arange(2) == 1)", 2, { 1, 0 } },
    { "max(f32(arange(3)), 1.0)", 3, { 1, 1, 2 } },
    { "clamp(f32(arange(4)), min = 1.0, max = 2.0)", 4, { 1, 1, 2, 2 } },
    { "scale(f32(arange(3)), 0.5)", 3, { 0, 0.5, 1 } },
    { "reduce_sum(reshape(f32(arange(6)), [2, 3]), axis = 0)", 3, { 3, 5, 7 } },
    { "reduce_sum(reshape(f32(arange(8)), [2, 2, 2]), axis = [0, 2])", 2, { 10, 18 } },
    { "reduce_mean(f32(arange(5)))", 1, { 2 } },
    { "reduce_max(reshape(f32(arange(6)), [2, 3]), axis = -1, keepdims = true)", 2, { 2, 5 } },
    { "argmax(reshape(f32(arange(6)), [2, 3]))", 2, { 2, 2 } },
    { "softmax(zeros([2, 2]), axis = 0)", 4, { 0.5, 0.5, 0.5, 0.5 } },
    { "softmax(zeros([3]), mask = arange(3) < 2)", 3, { 0.5, 0.5, 0 } },
    { "ones([2, 3]) @ ones([3, 2])", 4, { 3, 3, 3, 3 } },
    { "reduce_sum(ones([4, 2, 3]) @ ones([3, 2]), axis = [1, 2])", 4, { 12, 12, 12, 12 } },
    { "full([2], 3)", 2, { 3, 3 } },
    { "mse_loss(f32(arange(3)), zeros([3]), reduction = \"none\")", 3, { 0, 1, 4 } },
    { "cross_entropy(zeros([2, 4]), i32(zeros([2]))) / log(4.0)", 1, { 1 } },
    { "cross_entropy(zeros([2, 4, 3]), i32(zeros([2, 3])), axis = 1, reduction = \"none\") / "
      "log(4.0)",
      6,
      { 1, 1, 1, 1, 1, 1 } },
    { "cross_entropy(zeros([2, 4]), i32(zeros([2])), label_smoothing = 0.5) / log(4.0)", 1, { 1 } },
    { "op.embedding(arange(2), reshape(f32(arange(4)), [2, 2]))", 4, { 0, 1, 2, 3 } },
    { "gather(f32(arange(4)), arange(1, 3))", 2, { 1, 2 } },
    { "bce_with_logits(zeros([2]), ones([2])) / log(2.0)", 1, { 1 } },
    { "huber_loss(f32(arange(4)), zeros([4]), delta = 2.0, reduction = \"none\")",
      4,
      { 0, 0.5, 2, 4 } },
    { "l1_loss(f32(arange(4)), zeros([4]))", 1, { 1.5 } },
    { "accuracy(reshape(f32(arange(4)), [2, 2]), arange(2))", 2, { 0, 1 } },
    { "merge_heads(split_heads(reshape(f32(arange(8)), [2, 4]), 2))",
      8,
      { 0, 1, 2, 3, 4, 5, 6, 7 } },
    /* position 0 sees value 0 alone, position 1 the mean of both */
    { "scaled_dot_product_attention(zeros([2, 1]), zeros([2, 1]), reshape(f32(arange(2)), [2, 1]), "
      "causal = true)",
      2,
      { 0, 0.5 } },
    { "group_norm(reshape(f32(arange(4)), [1, 2, 2]), 2, eps = 0.0) as g", 4, { -1, 1, -1, 1 } },
    { "rms_norm(full([2, 2], 3.0), eps = 0.0) as n", 4, { 1, 1, 1, 1 } },
    { "batch_norm(ones([2, 1, 2]), eps = 0.0) as n", 4, { 1, 1, 1, 1 } },
    { "kl_normal(ones([2, 3]), zeros([2, 3]))", 2, { 1.5, 1.5 } },
    { "lstm_cell_of(zeros([1, 2]))", 2, { 0, 0 } },
};

static void check_computed(struct session *s, size_t row)
{
    struct tlmc_strbuf text = { 0 };
    struct tlmc_module *m;
    const struct tlmc_form *f;
    struct tlmc_tensor *values, *params;
    char error[256];
    uint32_t out;

    tlmc_strbuf_printf(&text,
                       "model m;\n"
                       "block lstm_cell_of(x: f32[B, I]) -> f32[B, I] {\n"
                       "  h, c = lstm_cell(x, zeros([B, I]), zeros([B, I])) as cell;\n"
                       "  return h * 0.0;\n"
                       "}\n"
                       "output y = %s;\n",
                       computed[row].text);
    m = compile(s, tlmc_strbuf_text(&text));
    tlmc_strbuf_free(&text);
    f = &m->forms.items[0];
    values = calloc(f->graph->value_count, sizeof *values);
    params = calloc(m->params.count + 1, sizeof *params);
    assert_true(values && params);
    for (unsigned i = 0; i < m->params.count; i++) {
        params[i] = tlmc_tensor_new(&m->params.items[i].type);
        tlmc_init_param(&m->params.items[i], 1, params[i].data);
    }
    assert_true(tlmc_interpret(f->graph, &(struct tlmc_env){ .params = params }, 1u << TLMC_FORWARD,
                               values, error));
    out = f->outputs.items[0].value;
    assert_int_equal(tlmc_type_count(&values[out].type), computed[row].count);
    for (int i = 0; i < computed[row].count; i++)
        if (!(fabs(values[out].data[i] - computed[row].want[i]) <
              1e-6)) /* log(4) and eps are read as binary32 */
            fail_msg("%s: element %d is %g, not %g", computed[row].text, i, values[out].data[i],
                     computed[row].want[i]);
    tlmc_tensor_free(values, f->graph->value_count);
    tlmc_tensor_free(params, m->params.count);
    free(values);
    free(params);
}

static void expressions(void **state)
{
    for (size_t i = 0; i < sizeof computed / sizeof *computed; i++)
        check_computed(*state, i);
}

static void compile_time_values(void **state)
{
    struct session *s = *state;

    compile(
        s,
        "model m;\n"
        "assert 7 / 7 == 1 && 7 // 2 == 3 && -7 // 2 == -4 && -7 % 3 == 2, \"division\";\n"
        "assert 2 ** 10 == 1024 && (-1) ** 5 == -1 && 0 ** 0 == 1 && -2 ** 2 == -4, \"powers\";\n"
        "assert 1.0 / 4 == 0.25 && 2 * 0.5 == 1.0 && 3 == 3.0, \"floats\";\n"
        "assert sqrt(16) == 4.0 && abs(-3) == 3 && floor(-0.5) == -1 && ceil(0.5) == 1 && "
        "round(2.5) == 2, \"functions\";\n"
        "assert max(2, 3) == 3 && min(2.0, 3) == 2.0 && pow(2, 3) == 8 && where(true, 1, \"a\") == "
        "1, \"choices\";\n"
        "assert len([1, 2] + [3]) == 3 && prod([2, 3, 4]) == 24 && [1, [2]] == [1, [2]], "
        "\"lists\";\n"
        "assert int(4.0) == 4 && float(2) / 4 == 0.5 && \"a\" + \"b\" == \"ab\", \"conversions\";\n"
        "n = 3; assert \"x{n}y{n}\" == \"x3y3\" && \"{n\" != \"3\", \"holes\";\n"
        "assert !(none == 1) && none == none && (false || 1 < 2 && 2 <= 2), \"logic\";\n"
        "assert !training, \"mode\";\n"
        "t = 0; for i in 1..5 { if i % 2 == 0 { t = t + i; } } assert t == 6, \"loops\";\n"
        "c = 0; for w in [\"a\", \"b\"] { c = c + 1; } assert c == 2, \"lists in loops\";\n"
        "input x: f32[2, 3];\n"
        "assert size(x, -1) == 3 && rank(x) == 2, \"sizes\";\n"
        "f = relu; y = f(x);\n"
        "output y;\n");
}

/* A power of 2 to 8 is a chain of products, anything else the op. */
static void powers(void **state)
{
    struct session *s = *state;
    const struct tlmc_graph *g;

    g = form(s, compile(s, "model m;\ninput x: f32[2];\noutput y = x ** 7;\n"), "infer", TLMC_INFER)
            ->graph;
    assert_int_equal(count_ops(g, TLMC_OP_MUL), 4); /* x^2, x^3, x^6, x^7 */
    assert_int_equal(count_ops(g, TLMC_OP_POW), 0);
    g = form(s, compile(s, "model m;\ninput x: f32[2];\noutput y = x ** 0.5 + 2.0 ** x;\n"),
             "infer", TLMC_INFER)
            ->graph;
    assert_int_equal(count_ops(g, TLMC_OP_POW), 2);
}

/* Nodes of std are stamped with the place in the user's file and the instance. */
static void places_of_nodes(void **state)
{
    struct session *s = *state;
    struct tlmc_module *m =
        compile(s, "model m;\ninput x: f32[2, 2];\ny = mlp(x, [3, 4]) as net;\noutput y;\n");
    const struct tlmc_node *n = find_node(m->forms.items[0].graph, TLMC_OP_MATMUL);

    assert_int_equal(tlmc_span_place(&s->sources, n->span).line, 3);
    assert_false(tlmc_sources_get(&s->sources, n->span.file)->library);
    assert_string_equal(n->scope, "net.layers.0");
}

static void circle_of_imports(void **state)
{
    struct session *s = *state;

    write_file(s, "lib.tlm", "import \"lib.tlm\";\nblock b(x: f32[2]) { return x; }\n");
    write_file(s, "m.tlm", "model m;\nimport \"lib.tlm\";\ninput x: f32[2];\noutput y = b(x);\n");
    assert_null(load(s, path_in(s, "m.tlm"), NULL));
    assert_int_equal(s->diags.first->code, TLMC_E_IMPORT);
    assert_int_equal(s->diags.errors, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_session, close_session)
    const struct CMUnitTest tests[] = {
        TEST(keys_of_the_models),        TEST(good_cases),
        TEST(forms_of_a_model),          TEST(overrides),
        TEST(forms_of_entries),          TEST(several_trained_entries_elaborate),
        TEST(updates_of_states),         TEST(running_statistics),
        TEST(optimizer_groups),          TEST(data_and_the_rest),
        TEST(generation_and_pretrained), TEST(initial_values),
        TEST(digest_of_the_texts),       TEST(expressions),
        TEST(compile_time_values),       TEST(powers),
        TEST(places_of_nodes),           TEST(circle_of_imports),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
