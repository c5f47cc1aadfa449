/* Help for tests of the planner room: a catalog, small models built by hand, plans of them. */
#ifndef TLMC_TESTS_PLAN_HELP_H
#define TLMC_TESTS_PLAN_HELP_H

#include "ir_help.h"

#include "plan.h"

struct bench { /* everything a test of plans needs; free with bench_end */
    struct tlmc_arena arena;
    struct tlmc_sources sources;
    struct tlmc_diags diags;
    struct tlmc_module *module;
    struct tlmc_catalog *catalog;
};

static inline void bench_begin(struct bench *b)
{
    memset(b, 0, sizeof *b);
    tlmc_sources_init(&b->sources, &b->arena);
    tlmc_diags_init(&b->diags, &b->arena, &b->sources);
    b->module = help_module(&b->arena);
    b->module->sources = &b->sources;
    b->catalog = tlmc_catalog_new(&b->arena, b->module->symbols, &b->diags);
    if (b->diags.errors)
        tlmc_diags_print(&b->diags, stderr);
    assert_int_equal(b->diags.errors, 0);
}

static inline void bench_end(struct bench *b)
{
    tlmc_arena_free(&b->arena);
}

/* A user's module; the answer of tlmc_catalog_add. */
static inline bool bench_add(struct bench *b, const char *module, const char *text)
{
    const uint32_t file =
        tlmc_sources_add(&b->sources, "test.capsules", text, (uint32_t)strlen(text), false);

    return tlmc_catalog_add(b->catalog, module, file, &b->diags);
}

/* Code and text of the i-th diagnostic. */
static inline const struct tlmc_diag *bench_diag(const struct bench *b, unsigned i)
{
    const struct tlmc_diag *d = b->diags.first;

    while (d && i--)
        d = d->next;
    assert_non_null(d);
    return d;
}

static inline bool diag_mentions(const struct tlmc_diag *d, const char *text)
{
    const struct tlmc_note *n;

    if (strstr(d->text, text))
        return true;
    for (n = d->notes; n; n = n->next)
        if (strstr(n->text, text))
            return true;
    return false;
}

static inline struct tlmc_plan *bench_plan(struct bench *b, const char *device, const char *profile)
{
    const struct tlmc_plan_options options = { .device = device, .profile = profile };

    return tlmc_plan_make(b->module, b->catalog, &options, &b->diags);
}

/* x @ w^T + bias, as the layer library writes it. */
static inline uint32_t linear(struct tlmc_graph *g, uint32_t x, uint32_t w, uint32_t bias)
{
    const struct tlmc_type *xt = tlmc_value_type(g, x);
    const int64_t cols = tlmc_value_type(g, w)->dims[0], inner = tlmc_value_type(g, w)->dims[1];
    const int64_t rows = inner ? tlmc_type_count(xt) / inner : xt->dims[0];
    struct tlmc_type out = *xt, two = *xt;
    uint32_t y;

    two.rank = 2;
    two.dims[0] = rows;
    two.dims[1] = cols;
    out.dims[out.rank - 1] = cols;
    y = tlmc_build_reshape(g, x, 2, (int64_t[]){ rows, inner });
    y = tlmc_build_matmul(g, y, tlmc_build_transpose(g, w));
    y = tlmc_build2(g, TLMC_OP_ADD, y, tlmc_build_broadcast(g, bias, &two));
    return tlmc_build_reshape(g, y, out.rank, out.dims);
}

static inline uint32_t param_leaf(struct bench *b, struct tlmc_form *form, const char *key,
                                  const char *type)
{
    unsigned slot;

    for (slot = 0; slot < b->module->params.count; slot++)
        if (strcmp(b->module->params.items[slot].key, key) == 0)
            break;
    if (slot == b->module->params.count)
        slot = add_param(b->module, key, type, TLMC_PARAM_TRAINED);
    return leaf(form->graph, TLMC_OP_PARAM, slot, type);
}

/* The two-layer perceptron of the quickstart: forms train, eval and infer, Adam.  Passes have
   run. */
static inline void build_mlp(struct bench *b, enum tlmc_optimizer optimizer)
{
    static const enum tlmc_mode modes[] = { TLMC_INFER, TLMC_TRAIN, TLMC_EVAL };
    struct tlmc_module *m = b->module;
    struct tlmc_group *group = TLMC_NEW(&b->arena, struct tlmc_group);
    unsigned i;

    for (i = 0; i < 3; i++) {
        struct tlmc_form *f = add_form(m, modes[i]);
        struct tlmc_graph *g = f->graph;
        const uint32_t x = add_input(m, f, "x", "f32[4, 2]");
        uint32_t w, c, h, y, loss;

        w = param_leaf(b, f, "fc1.weight", "f32[8, 2]");
        c = param_leaf(b, f, "fc1.bias", "f32[8]");
        h = tlmc_build1(g, TLMC_OP_RELU, linear(g, x, w, c));
        w = param_leaf(b, f, "fc2.weight", "f32[1, 8]");
        c = param_leaf(b, f, "fc2.bias", "f32[1]");
        h = linear(g, h, w, c);
        g->values[h].name = tlmc_intern(m->symbols, "pred");
        add_io(m, &f->outputs, "pred", h);
        if (modes[i] == TLMC_INFER)
            continue;
        y = add_input(m, f, "y", "f32[4, 1]");
        loss = tlmc_build2(g, TLMC_OP_MSE_LOSS, h, y);
        add_io(m, &f->losses, "loss", loss);
        if (modes[i] == TLMC_TRAIN)
            f->total_loss = loss;
    }
    *group = (struct tlmc_group){ .lr = 0.03, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8 };
    group->params = TLMC_NEW_ARRAY(&b->arena, uint32_t, m->params.count);
    group->param_count = m->params.count;
    for (i = 0; i < m->params.count; i++)
        group->params[i] = i;
    m->train.present = true;
    m->train.accumulate = 1;
    m->train.optimizer = optimizer;
    m->train.groups = group;
    m->train.group_count = 1;
    assert_true(tlmc_run_passes(m, NULL, &b->diags));
}

static inline const struct tlmc_plan_form *form_of(const struct tlmc_plan *plan,
                                                   enum tlmc_mode mode)
{
    uint32_t i;

    for (i = 0; i < plan->form_count; i++)
        if (plan->forms[i].form->mode == mode)
            return &plan->forms[i];
    fail_msg("no such form");
    return NULL;
}

#endif
