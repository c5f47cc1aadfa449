/* The memory plan: no two storages that are alive together overlap, for random graphs; peak and
   lower bound; what may be overwritten; who lives to the end. */
#include "plan_help.h"

#include <stdio.h>

struct planned {
    struct bench bench;
    struct tlmc_form *form;
    struct tlmc_graph *g;
    const struct tlmc_plan *whole;
    const struct tlmc_plan_form *plan;
};

static void begin(struct planned *t)
{
    bench_begin(&t->bench);
    t->form = add_form(t->bench.module, TLMC_INFER);
    t->g = t->form->graph;
}

static void output(struct planned *t, uint32_t value)
{
    char name[16];

    snprintf(name, sizeof name, "y%u", t->form->outputs.count);
    add_io(t->bench.module, &t->form->outputs, name, value);
}

static void plan(struct planned *t, const char *profile)
{
    t->whole = bench_plan(&t->bench, NULL, profile);
    assert_non_null(t->whole);
    t->plan = &t->whole->forms[0];
}

static const struct tlmc_placement *at(const struct planned *t, uint32_t value)
{
    return &t->plan->values[value];
}

static void end(struct planned *t)
{
    bench_end(&t->bench);
}

/* ---- the property */

/* First and last step that touches a value's memory, from the steps alone. */
static void touch(const struct tlmc_plan_form *plan, uint32_t value, uint32_t s, uint32_t *first,
                  uint32_t *last)
{
    const uint32_t storage = plan->values[value].storage;

    if (plan->values[value].place != TLMC_PLACE_ARENA)
        return;
    if (s < first[storage])
        first[storage] = s;
    if (s > last[storage])
        last[storage] = s;
}

static bool lists(const struct tlmc_step *step, uint32_t node)
{
    uint32_t i;

    for (i = 0; i < step->node_count; i++)
        if (step->nodes[i] == node)
            return true;
    return false;
}

static void lifetimes(const struct tlmc_plan_form *plan, uint32_t *first, uint32_t *last)
{
    const struct tlmc_graph *g = plan->form->graph;
    uint32_t s, n, i;

    for (s = 0; s < plan->step_count; s++) {
        const struct tlmc_step *step = &plan->steps[s];

        for (n = 0; n < step->node_count && step->kind != TLMC_STEP_NOTHING; n++) {
            const struct tlmc_node *node_ = &g->nodes[step->nodes[n]];

            for (i = 0; i < node_->input_count; i++) {
                uint32_t value = node_->inputs[i];

                if (i < 2 && step->operands[i] != TLMC_NONE)
                    value = step->operands[i];
                if (value == TLMC_NONE)
                    continue;
                if (step->kind != TLMC_STEP_POINTWISE || !lists(step, g->values[value].node)) {
                    assert_int_not_equal(plan->values[value].place, TLMC_PLACE_NONE);
                    touch(plan, value, s, first, last);
                }
            }
            for (i = 0; i < node_->result_count; i++)
                touch(plan, node_->first_result + i, s, first, last);
        }
    }
}

static void to_end(const struct tlmc_plan_form *plan, uint32_t value, uint32_t *last)
{
    if (value != TLMC_NONE && plan->values[value].place == TLMC_PLACE_ARENA)
        last[plan->values[value].storage] = plan->step_count;
}

static void no_overlap(const struct tlmc_plan_form *plan)
{
    const struct tlmc_graph *g = plan->form->graph;
    uint32_t *first = malloc((g->value_count + 1) * sizeof *first),
             *last = calloc(g->value_count + 1, sizeof *last);
    const struct tlmc_form *form = plan->form;
    uint32_t i, k;

    memset(first, 0xff, (g->value_count + 1) * sizeof *first);
    for (i = 0; i < form->inputs.count; i++) {
        first[form->inputs.items[i].value] = 0;
        to_end(plan, form->inputs.items[i].value, last);
    }
    lifetimes(plan, first, last);
    for (i = 0; i < form->outputs.count; i++)
        to_end(plan, form->outputs.items[i].value, last);
    for (i = 0; i < form->losses.count; i++)
        to_end(plan, form->losses.items[i].value, last);
    for (i = 0; i < form->grad_count; i++)
        to_end(plan, form->grads[i].value, last);
    for (i = 0; i < g->value_count; i++) {
        const struct tlmc_placement *a = &plan->values[i];

        if (a->place != TLMC_PLACE_ARENA || a->storage != i)
            continue;
        assert_int_equal(a->offset % TLMC_ALIGN, 0);
        assert_true(a->offset + a->bytes <= plan->arena_bytes);
        for (k = i + 1; k < g->value_count; k++) {
            const struct tlmc_placement *b = &plan->values[k];

            if (b->place != TLMC_PLACE_ARENA || b->storage != k || !a->bytes || !b->bytes ||
                last[i] < first[k] || last[k] < first[i])
                continue;
            if (a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes)
                fail_msg("%%%u and %%%u overlap", i, k);
        }
    }
    assert_true(plan->lower_bound <= plan->arena_bytes);
    free(first);
    free(last);
}

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static uint32_t random_value(struct planned *t, uint32_t *seed, const uint32_t *pool,
                             uint32_t count)
{
    const uint32_t a = pool[next_random(seed) % count], b = pool[next_random(seed) % count];
    const int64_t n = tlmc_value_type(t->g, a)->dims[0];
    const struct tlmc_type type = *tlmc_value_type(t->g, a);

    switch (next_random(seed) % 8) {
    case 0: return tlmc_build1(t->g, TLMC_OP_EXP, a);
    case 1:
        return tlmc_shape_equal(&type, tlmc_value_type(t->g, b))
                   ? tlmc_build2(t->g, TLMC_OP_ADD, a, b)
                   : a;
    case 2: return tlmc_build1(t->g, TLMC_OP_SOFTMAX, a);
    case 3: return tlmc_build_transpose(t->g, a);
    case 4:
        return tlmc_build_slice(t->g, a, (int64_t[]){ n / 2, 0 }, (int64_t[]){ n, type.dims[1] },
                                (int64_t[]){ 1, 1 });
    case 5: return node(t->g, "concat", "axis=0", 2, (uint32_t[]){ a, a });
    case 6: return tlmc_build_reshape(t->g, a, 2, (int64_t[]){ type.dims[1], type.dims[0] });
    default: return tlmc_build_matmul(t->g, a, tlmc_build_transpose(t->g, a));
    }
}

static void random_graphs(void **state)
{
    uint32_t seed;

    (void)state;
    for (seed = 1; seed <= 300; seed++) {
        struct planned t;
        uint32_t pool[64], count = 0, random = seed * 7919;

        begin(&t);
        pool[count++] = add_input(t.bench.module, t.form, "x", "f32[4, 6]");
        pool[count++] =
            add_input(t.bench.module, t.form, "y", seed % 5 ? "f32[16, 3]" : "f32[0, 3]");
        while (count < 30) {
            pool[count] = random_value(&t, &random, pool, count);
            if (tlmc_type_count(tlmc_value_type(t.g, pool[count])) < 4096)
                count++;
        }
        output(&t, pool[29]);
        output(&t, pool[13]);
        plan(&t, seed % 3 ? "checked_cpu" : "reference_cpu");
        no_overlap(t.plan);
        end(&t);
    }
}

static void trained_models(void **state)
{
    static const enum tlmc_optimizer optimizers[] = { TLMC_SGD, TLMC_ADAM, TLMC_ADAMW,
                                                      TLMC_RMSPROP };
    struct bench b;
    uint32_t i, f;

    (void)state;
    for (i = 0; i < 4; i++) {
        const struct tlmc_plan *p;

        bench_begin(&b);
        build_mlp(&b, optimizers[i]);
        p = bench_plan(&b, NULL, NULL);
        for (f = 0; f < p->form_count; f++) {
            no_overlap(&p->forms[f]);
            assert_true(p->activations_bytes >= p->forms[f].arena_bytes);
        }
        bench_end(&b);
    }
}

/* ---- single facts */

static void loops_overwrite(void **state)
{
    struct planned t;
    uint32_t x, a, b, y;

    (void)state;
    begin(&t);
    x = add_input(t.bench.module, t.form, "x", "f32[4, 16]");
    a = tlmc_build1(t.g, TLMC_OP_SOFTMAX, x);
    b = tlmc_build1(t.g, TLMC_OP_EXP, a); /* a's last use */
    y = tlmc_build1(t.g, TLMC_OP_SOFTMAX, b);
    output(&t, y);
    plan(&t, NULL);
    assert_int_equal(at(&t, b)->storage, a);
    assert_int_equal(at(&t, b)->offset, at(&t, a)->offset);
    no_overlap(t.plan);
    assert_int_equal(t.plan->arena_bytes, t.plan->lower_bound);
    end(&t);

    begin(&t); /* an input is never overwritten, nor what is read later, nor by another type */
    x = add_input(t.bench.module, t.form, "x", "f32[4, 16]");
    b = tlmc_build1(t.g, TLMC_OP_EXP, x);
    a = tlmc_build1(t.g, TLMC_OP_SOFTMAX, b);
    y = tlmc_build_cast(t.g, a, TLMC_I32);
    output(&t, y);
    output(&t, tlmc_build2(t.g, TLMC_OP_MATMUL, b, tlmc_build_transpose(t.g, a)));
    plan(&t, NULL);
    assert_int_equal(at(&t, b)->storage, b);
    assert_int_equal(at(&t, y)->storage, y);
    no_overlap(t.plan);
    end(&t);
}

/* A loop that also reads its operand through a broadcast may not overwrite it. */
static void broadcast_operands_stay(void **state)
{
    struct planned t;
    uint32_t x, a, b;

    (void)state;
    begin(&t);
    x = add_input(t.bench.module, t.form, "x", "f32[3, 3]");
    a = tlmc_build1(t.g, TLMC_OP_SOFTMAX, x);
    b = tlmc_build_broadcast(t.g, a, &(struct tlmc_type){ TLMC_F32, 3, { 1, 3, 3 } });
    output(&t, tlmc_build1(t.g, TLMC_OP_EXP, b));
    plan(&t, NULL);
    assert_int_equal(at(&t, t.form->outputs.items[0].value)->storage,
                     t.form->outputs.items[0].value);
    no_overlap(t.plan);
    end(&t);
}

static void scatter_overwrites_its_base(void **state)
{
    struct planned t;
    uint32_t x, index, updates, base, y;

    (void)state;
    begin(&t);
    x = add_input(t.bench.module, t.form, "x", "f32[8, 4]");
    index = add_input(t.bench.module, t.form, "i", "i32[3]");
    updates = add_input(t.bench.module, t.form, "u", "f32[3, 4]");
    base = tlmc_build1(t.g, TLMC_OP_SOFTMAX, x);
    y = node(t.g, "scatter_add", "axis=0", 3, (uint32_t[]){ base, index, updates });
    output(&t, y);
    plan(&t, NULL);
    assert_int_equal(at(&t, y)->storage, base);
    end(&t);

    begin(&t); /* an input stays */
    base = add_input(t.bench.module, t.form, "x", "f32[8, 4]");
    index = add_input(t.bench.module, t.form, "i", "i32[3]");
    updates = add_input(t.bench.module, t.form, "u", "f32[3, 4]");
    y = node(t.g, "scatter_add", "axis=0", 3, (uint32_t[]){ base, index, updates });
    output(&t, y);
    plan(&t, NULL);
    assert_int_equal(at(&t, y)->storage, y);
    end(&t);
}

static void views_share(void **state)
{
    struct planned t;
    uint32_t w, v, y;

    (void)state;
    begin(&t);
    w = param_leaf(&t.bench, t.form, "w", "f32[4, 3]");
    v = tlmc_build_reshape(t.g, w, 1, (int64_t[]){ 12 });
    y = tlmc_build1(t.g, TLMC_OP_NEG, v);
    output(&t, tlmc_build_reshape(t.g, y, 2, (int64_t[]){ 2, 6 }));
    plan(&t, NULL);
    assert_int_equal(at(&t, v)->place, TLMC_PLACE_WEIGHTS);
    assert_int_equal(at(&t, v)->storage, w);
    assert_int_equal(at(&t, t.form->outputs.items[0].value)->storage, y);
    assert_int_equal(at(&t, y)->last_step, t.plan->step_count - 1);
    end(&t);
}

static void blocks_of_parameters(void **state)
{
    struct bench b;
    const struct tlmc_plan *p;
    const char *const only[] = { "infer", NULL };
    const struct tlmc_plan_options options = { .only_entries = only };
    unsigned i;

    (void)state;
    bench_begin(&b);
    build_mlp(&b, TLMC_ADAM);
    p = bench_plan(&b, NULL, NULL);
    assert_int_equal(p->weights_bytes, 4 * TLMC_ALIGN); /* 64, 32, 32 and 4 bytes */
    assert_int_equal(p->state_bytes, 8 * TLMC_ALIGN);
    for (i = 0; i < b.module->params.count; i++)
        assert_int_equal(p->param_offsets[i] % TLMC_ALIGN, 0);
    p = tlmc_plan_make(b.module, b.catalog, &options, &b.diags);
    assert_int_equal(p->form_count, 1);
    assert_int_equal(p->state_bytes, 0); /* nothing is trained */
    bench_end(&b);
}

/* Workspace lives in its own step alone. */
static void workspaces(void **state)
{
    struct planned t;
    uint32_t x, y;

    (void)state;
    begin(&t);
    assert_true(bench_add(
        &t.bench, "user:w",
        "capsule w.softmax { op softmax; provider native-c; device cpu; trust checked; vjp none;\n"
        "  shape guard \"g\"; layout guard \"g\"; value guard \"g\"; arithmetic x; symbol s;\n"
        "  numeric round=nearest-even reduce=fixed-tree; workspace operands; }"));
    x = add_input(t.bench.module, t.form, "x", "f32[4, 40]");
    y = tlmc_build1(t.g, TLMC_OP_SOFTMAX, x);
    output(&t, tlmc_build1(t.g, TLMC_OP_NEG, y));
    plan(&t, NULL);
    assert_int_equal(t.plan->steps[0].workspace_bytes, 640);
    assert_int_equal(t.plan->arena_bytes, 3 * 640);
    end(&t);
}

static void empty_forms(void **state)
{
    struct planned t;
    uint32_t x;

    (void)state;
    begin(&t);
    x = add_input(t.bench.module, t.form, "x", "f32[0, 3]");
    output(&t, tlmc_build1(t.g, TLMC_OP_EXP, x));
    plan(&t, NULL);
    assert_int_equal(t.plan->arena_bytes, 0);
    end(&t);

    begin(&t); /* nothing but an input handed on, and a constant */
    x = add_input(t.bench.module, t.form, "x", "f32[2]");
    output(&t, x);
    output(&t, tlmc_build_const(t.g, TLMC_F32, 3));
    plan(&t, NULL);
    assert_int_equal(t.plan->step_count, 0);
    assert_int_equal(t.plan->arena_bytes, 64);
    assert_int_equal(at(&t, t.form->outputs.items[1].value)->place, TLMC_PLACE_TABLE);
    end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs),
        cmocka_unit_test(trained_models),
        cmocka_unit_test(loops_overwrite),
        cmocka_unit_test(broadcast_operands_stay),
        cmocka_unit_test(scatter_overwrites_its_base),
        cmocka_unit_test(views_share),
        cmocka_unit_test(blocks_of_parameters),
        cmocka_unit_test(workspaces),
        cmocka_unit_test(empty_forms),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
