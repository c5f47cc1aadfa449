/* Groups: what shares a loop, what is folded, what costs nothing, and that order is kept. */
#include "plan_help.h"

#include <stdio.h>

struct grouped {
    struct bench bench;
    struct tlmc_form *form;
    struct tlmc_graph *g;
    const struct tlmc_plan_form *plan;
};

static void begin(struct grouped *t)
{
    bench_begin(&t->bench);
    t->form = add_form(t->bench.module, TLMC_INFER);
    t->g = t->form->graph;
}

static void output(struct grouped *t, uint32_t value)
{
    char name[16];

    snprintf(name, sizeof name, "y%u", t->form->outputs.count);
    add_io(t->bench.module, &t->form->outputs, name, value);
}

/* Plans the form as it stands; no pass has touched it. */
static void group(struct grouped *t, const char *profile)
{
    const char *device = strcmp(profile, "checked_cuda") == 0 ? "cuda" : NULL;
    struct tlmc_plan *plan = bench_plan(&t->bench, device, profile);

    assert_non_null(plan);
    if (!tlmc_plan_accept(plan, &t->bench.diags)) {
        tlmc_diags_print(&t->bench.diags, stderr);
        fail();
    }
    t->plan = &plan->forms[0];
}

static void end(struct grouped *t)
{
    bench_end(&t->bench);
}

/* "pointwise(add relu) call(matmul) ..." of the whole form. */
static const char *steps(struct grouped *t)
{
    static const char *const kinds[] = { "nothing", "call", "pointwise", "updates" };
    struct tlmc_strbuf text = { 0 };
    const char *copy;
    uint32_t s, n;

    for (s = 0; s < t->plan->step_count; s++) {
        tlmc_strbuf_printf(&text, "%s%s(", s ? " " : "", kinds[t->plan->steps[s].kind]);
        for (n = 0; n < t->plan->steps[s].node_count; n++)
            tlmc_strbuf_printf(&text, "%s%s", n ? " " : "",
                               tlmc_op_info(t->g->nodes[t->plan->steps[s].nodes[n]].op)->name);
        tlmc_strbuf_char(&text, ')');
    }
    copy = tlmc_arena_strdup(&t->bench.arena, tlmc_strbuf_text(&text));
    tlmc_strbuf_free(&text);
    return copy;
}

static enum tlmc_place place(const struct grouped *t, uint32_t value)
{
    return t->plan->values[value].place;
}

static void chains_are_one_loop(void **state)
{
    struct grouped t;
    uint32_t x, a, b, y;

    (void)state;
    begin(&t);
    x = add_input(t.bench.module, t.form, "x", "f32[4, 3]");
    a = tlmc_build1(t.g, TLMC_OP_EXP, x);
    b = tlmc_build1(t.g, TLMC_OP_NEG, a);
    y = tlmc_build2(t.g, TLMC_OP_ADD, a, b);
    output(&t, y);
    group(&t, "checked_cpu");
    assert_string_equal(steps(&t), "pointwise(exp neg add)");
    assert_int_equal(place(&t, a), TLMC_PLACE_NONE);
    assert_int_equal(place(&t, b), TLMC_PLACE_NONE);
    assert_int_equal(place(&t, y), TLMC_PLACE_ARENA);
    end(&t);
}

static void bias_is_not_stored(void **state)
{
    struct grouped t;
    uint32_t x, w, c, y, spread;

    (void)state;
    begin(&t);
    x = add_input(t.bench.module, t.form, "x", "f32[4, 2]");
    w = param_leaf(&t.bench, t.form, "w", "f32[2, 3]");
    c = param_leaf(&t.bench, t.form, "c", "f32[3]");
    spread =
        tlmc_build_broadcast(t.g, c,
                             &(struct tlmc_type){ TLMC_F32, 2, { 4, 3 } }); /* before the product */
    y = tlmc_build1(t.g, TLMC_OP_RELU,
                    tlmc_build2(t.g, TLMC_OP_ADD, tlmc_build_matmul(t.g, x, w), spread));
    output(&t, y);
    group(&t, "checked_cpu");
    assert_string_equal(steps(&t), "call(matmul) pointwise(broadcast add relu)");
    assert_int_equal(place(&t, spread), TLMC_PLACE_NONE);
    end(&t);
}

/* Read by two loops, a broadcast is repeated; read by a call, it is stored once. */
static void broadcasts_are_repeated_or_stored(void **state)
{
    struct grouped t;
    const struct tlmc_type wide = { TLMC_F32, 2, { 4, 3 } };
    uint32_t x, c, spread, a, b;

    (void)state;
    begin(&t);
    x = add_input(t.bench.module, t.form, "x", "f32[4, 3]");
    c = add_input(t.bench.module, t.form, "c", "f32[3]");
    spread = tlmc_build_broadcast(t.g, c, &wide);
    a = tlmc_build2(t.g, TLMC_OP_ADD, x, spread);
    b = tlmc_build1(t.g, TLMC_OP_SOFTMAX, a);
    output(&t, tlmc_build2(t.g, TLMC_OP_MUL, b, spread));
    group(&t, "checked_cpu");
    assert_string_equal(steps(&t),
                        "pointwise(broadcast add) call(softmax) pointwise(broadcast mul)");
    assert_int_equal(place(&t, spread), TLMC_PLACE_NONE);
    end(&t);

    begin(&t);
    c = add_input(t.bench.module, t.form, "c", "f32[3]");
    spread = tlmc_build_broadcast(t.g, c, &wide);
    output(&t, tlmc_build1(t.g, TLMC_OP_SOFTMAX, spread));
    output(&t, tlmc_build1(t.g, TLMC_OP_NEG, spread));
    group(&t, "checked_cpu");
    assert_string_equal(steps(&t), "pointwise(broadcast neg) call(softmax)");
    assert_int_equal(place(&t, spread), TLMC_PLACE_ARENA);
    end(&t);

    begin(&t); /* alone it is a strided copy */
    c = add_input(t.bench.module, t.form, "c", "f32[3]");
    output(&t, tlmc_build_broadcast(t.g, c, &wide));
    group(&t, "checked_cpu");
    assert_string_equal(steps(&t), "call(broadcast)");
    end(&t);
}

static void numbers_are_written(void **state)
{
    struct grouped t;
    const struct tlmc_type wide = { TLMC_F32, 1, { 5 } };
    uint32_t x, half, spread, filled;

    (void)state;
    begin(&t);
    x = add_input(t.bench.module, t.form, "x", "f32[5]");
    half = tlmc_build_const(t.g, TLMC_F32, 0.5);
    spread = tlmc_build_broadcast(t.g, half, &wide);
    output(&t, tlmc_build2(t.g, TLMC_OP_MUL, x, spread));
    group(&t, "checked_cpu");
    assert_string_equal(steps(&t), "nothing(broadcast) pointwise(mul)");
    assert_int_equal(place(&t, half), TLMC_PLACE_LITERAL);
    assert_int_equal(place(&t, spread), TLMC_PLACE_LITERAL);
    end(&t);

    begin(&t); /* read by a call it fills memory; the number still is one */
    filled = tlmc_build_full(t.g, &wide, 2);
    output(&t, filled);
    output(&t, tlmc_build1(t.g, TLMC_OP_SOFTMAX, filled));
    group(&t, "checked_cpu");
    assert_string_equal(steps(&t), "pointwise(broadcast) call(softmax)");
    assert_int_equal(place(&t, filled), TLMC_PLACE_ARENA);
    assert_int_equal(place(&t, t.g->nodes[t.g->values[filled].node].inputs[0]), TLMC_PLACE_LITERAL);
    end(&t);

    begin(&t); /* a number that a call reads through a pointer */
    x = add_input(t.bench.module, t.form, "x", "f32[5]");
    half = tlmc_build_const(t.g, TLMC_F32, 0.5);
    output(&t, tlmc_build3(t.g, TLMC_OP_MSE_LOSS_VJP, half, x, x));
    group(&t, "checked_cpu");
    assert_int_equal(place(&t, half), TLMC_PLACE_TABLE);
    end(&t);
}

static void shapes_end_loops(void **state)
{
    struct grouped t;
    uint32_t x, a, flat, y;

    (void)state;
    begin(&t);
    x = add_input(t.bench.module, t.form, "x", "f32[4, 3]");
    a = tlmc_build1(t.g, TLMC_OP_EXP, x);
    flat = tlmc_build_reshape(t.g, a, 1, (int64_t[]){ 12 });
    y = tlmc_build1(t.g, TLMC_OP_NEG, flat);
    output(&t, y);
    group(&t, "checked_cpu");
    assert_string_equal(steps(&t), "pointwise(exp) nothing(reshape) pointwise(neg)");
    assert_int_equal(t.plan->values[flat].storage, a);
    assert_string_equal(t.plan->steps[1].note, "view, no code");
    end(&t);
}

/* a leaves the loop and comes back: its way back must not be part of the loop that it left. */
static void no_loop_is_left_and_entered_again(void **state)
{
    struct grouped t;
    uint32_t x, a, b, y;

    (void)state;
    begin(&t);
    x = add_input(t.bench.module, t.form, "x", "f32[4, 3]");
    a = tlmc_build1(t.g, TLMC_OP_EXP, x);
    b = tlmc_build1(t.g, TLMC_OP_SOFTMAX, a);
    y = tlmc_build2(t.g, TLMC_OP_ADD, a, b);
    output(&t, y);
    group(&t, "checked_cpu");
    assert_string_equal(steps(&t), "pointwise(exp) call(softmax) pointwise(add)");
    end(&t);
}

/* A node may join an earlier loop past an unrelated call. */
static void calls_in_between_do_not_end_loops(void **state)
{
    struct grouped t;
    uint32_t x, a, b, y;

    (void)state;
    begin(&t);
    x = add_input(t.bench.module, t.form, "x", "f32[4, 3]");
    a = tlmc_build1(t.g, TLMC_OP_EXP, x);
    b = tlmc_build1(t.g, TLMC_OP_SOFTMAX, x);
    y = tlmc_build1(t.g, TLMC_OP_NEG, a);
    output(&t, b);
    output(&t, y);
    group(&t, "checked_cpu");
    assert_string_equal(steps(&t), "pointwise(exp neg) call(softmax)");
    end(&t);
}

/* There and back through views: what a loop joined late is still read from memory, by a later
   loop. */
static void views_are_read_from_memory(void **state)
{
    struct grouped t;
    uint32_t x, a, v;

    (void)state;
    begin(&t);
    x = add_input(t.bench.module, t.form, "x", "f32[4, 3]");
    a = tlmc_build1(t.g, TLMC_OP_NEG, tlmc_build1(t.g, TLMC_OP_EXP, x));
    v = tlmc_build_reshape(t.g, tlmc_build_reshape(t.g, a, 1, (int64_t[]){ 12 }), 2,
                           (int64_t[]){ 4, 3 });
    output(&t, tlmc_build2(t.g, TLMC_OP_ADD, a, v));
    group(&t, "checked_cpu");
    assert_string_equal(steps(&t),
                        "pointwise(exp neg) nothing(reshape) nothing(reshape) pointwise(add)");
    end(&t);
}

/* A broadcast reads its operand at other places: never from the loop that makes it. */
static void a_broadcast_does_not_read_its_own_loop(void **state)
{
    struct grouped t;
    uint32_t x, a, spread;

    (void)state;
    begin(&t);
    x = add_input(t.bench.module, t.form, "x", "f32[1, 3]");
    a = tlmc_build1(t.g, TLMC_OP_EXP, x);
    spread = tlmc_build_broadcast(t.g, a, &(struct tlmc_type){ TLMC_F32, 2, { 4, 3 } });
    output(&t, tlmc_build1(t.g, TLMC_OP_NEG, spread));
    group(&t, "checked_cpu");
    assert_string_equal(steps(&t), "pointwise(exp) pointwise(broadcast neg)");
    assert_int_equal(place(&t, a), TLMC_PLACE_ARENA);
    end(&t);
}

static void transposes_are_folded(void **state)
{
    struct grouped t;
    uint32_t x, w, wt, y;
    const struct tlmc_step *step;

    (void)state;
    begin(&t);
    x = add_input(t.bench.module, t.form, "x", "f32[4, 2]");
    w = add_input(t.bench.module, t.form, "w", "f32[3, 2]");
    wt = tlmc_build_transpose(t.g, w);
    y = tlmc_build_matmul(t.g, x, wt);
    output(&t, y);
    group(&t, "checked_cpu");
    assert_string_equal(steps(&t), "nothing(permute) call(matmul)");
    step = &t.plan->steps[1];
    assert_true(step->transpose_b && !step->transpose_a);
    assert_int_equal(step->operands[0], x);
    assert_int_equal(step->operands[1], w);
    assert_string_equal(t.plan->steps[0].note, "folded into matmul, transpose_b");
    assert_int_equal(place(&t, wt), TLMC_PLACE_NONE);
    end(&t);

    begin(&t); /* another reader: materialised for it, the product still reads through */
    x = add_input(t.bench.module, t.form, "x", "f32[4, 2]");
    w = add_input(t.bench.module, t.form, "w", "f32[3, 2]");
    wt = tlmc_build_transpose(t.g, w);
    output(&t, tlmc_build_matmul(t.g, x, wt));
    output(&t, tlmc_build1(t.g, TLMC_OP_NEG, wt));
    group(&t, "checked_cpu");
    assert_string_equal(steps(&t), "call(permute) call(matmul) pointwise(neg)");
    assert_int_equal(t.plan->steps[1].operands[1], w);
    assert_int_equal(place(&t, wt), TLMC_PLACE_ARENA);
    end(&t);

    begin(&t); /* batch axes that move are no transpose of the last two */
    x = add_input(t.bench.module, t.form, "x", "f32[2, 3, 4]");
    y = tlmc_build_permute(t.g, x, (int64_t[]){ 1, 0, 2 });
    output(&t, tlmc_build_matmul(t.g, y, add_input(t.bench.module, t.form, "w", "f32[3, 4, 2]")));
    group(&t, "checked_cpu");
    assert_string_equal(steps(&t), "call(permute) call(matmul)");
    end(&t);
}

/* What a folded transpose reads is stored, though only the product reads it. */
static void folded_operands_are_stored(void **state)
{
    struct grouped t;
    uint32_t x, w, a;

    (void)state;
    begin(&t);
    x = add_input(t.bench.module, t.form, "x", "f32[4, 2]");
    w = add_input(t.bench.module, t.form, "w", "f32[3, 2]");
    a = tlmc_build1(t.g, TLMC_OP_EXP, w);
    output(&t, tlmc_build_matmul(t.g, x, tlmc_build_transpose(t.g, a)));
    group(&t, "checked_cpu");
    assert_string_equal(steps(&t), "pointwise(exp) nothing(permute) call(matmul)");
    assert_int_equal(place(&t, a), TLMC_PLACE_ARENA);
    end(&t);
}

/* Results of layer_norm_vjp and its weight's, both as the op says. */
static uint32_t norm_vjp(struct grouped *t, uint32_t g, uint32_t x, uint32_t weight, uint32_t each)
{
    return tlmc_add_node(t->g, TLMC_OP_LAYER_NORM_VJP, (uint32_t[]){ g, x, weight, each, each }, 5,
                         NULL, 0);
}

static uint32_t norm_vjp_weight(struct grouped *t, uint32_t g, uint32_t x, uint32_t each)
{
    return tlmc_add_node(t->g, TLMC_OP_LAYER_NORM_VJP_WEIGHT, (uint32_t[]){ g, x, each, each }, 4,
                         NULL, 0);
}

/* The second one moves up past what reads the first; not when it reads the first itself, nor on a
   device where the kernels do not share launches. */
static void calls_share_a_launch(void **state)
{
    struct grouped t;
    uint32_t g, x, w, each, dx, i;

    (void)state;
    begin(&t);
    g = add_input(t.bench.module, t.form, "g", "f32[4, 3]");
    x = add_input(t.bench.module, t.form, "x", "f32[4, 3]");
    w = add_input(t.bench.module, t.form, "w", "f32[3]");
    each = add_input(t.bench.module, t.form, "each", "f32[4]");
    dx = norm_vjp(&t, g, x, w, each);
    output(&t, tlmc_build1(t.g, TLMC_OP_NEG, dx));
    output(&t, norm_vjp_weight(&t, g, x, each));
    output(&t, norm_vjp_weight(&t, dx, x, each));
    group(&t, "checked_cuda");
    assert_string_equal(steps(&t), "call(layer_norm_vjp layer_norm_vjp_weight) pointwise(neg) "
                                   "call(layer_norm_vjp_weight)");
    group(&t, "checked_cpu");
    assert_string_equal(steps(&t), "call(layer_norm_vjp) pointwise(neg) "
                                   "call(layer_norm_vjp_weight) call(layer_norm_vjp_weight)");
    end(&t);

    begin(&t); /* nothing that both read; then five of which four fit */
    g = add_input(t.bench.module, t.form, "g", "f32[4, 3]");
    x = add_input(t.bench.module, t.form, "x", "f32[4, 3]");
    each = add_input(t.bench.module, t.form, "each", "f32[4]");
    output(&t, norm_vjp_weight(&t, g, g, add_input(t.bench.module, t.form, "own", "f32[4]")));
    for (i = 0; i < 5; i++)
        output(&t, norm_vjp_weight(&t, x, x, each));
    group(&t, "checked_cuda");
    assert_string_equal(steps(&t),
                        "call(layer_norm_vjp_weight) call(layer_norm_vjp_weight "
                        "layer_norm_vjp_weight layer_norm_vjp_weight layer_norm_vjp_weight) "
                        "call(layer_norm_vjp_weight)");
    end(&t);
}

static void singleton_lowering(void **state)
{
    struct grouped t;
    uint32_t x, w, c;

    (void)state;
    begin(&t);
    x = add_input(t.bench.module, t.form, "x", "f32[4, 2]");
    w = param_leaf(&t.bench, t.form, "w", "f32[3, 2]");
    c = param_leaf(&t.bench, t.form, "c", "f32[3]");
    output(&t, tlmc_build1(t.g, TLMC_OP_RELU, linear(t.g, x, w, c)));
    group(&t, "reference_cpu");
    assert_string_equal(
        steps(&t), "call(permute) call(matmul) call(broadcast) pointwise(add) pointwise(relu)");
    end(&t);
}

static uint32_t store(struct grouped *t, uint32_t leaf_value, uint32_t value)
{
    const uint32_t id = t->g->node_count;

    node(t->g, "store", "", 2, (uint32_t[]){ leaf_value, value });
    return id;
}

static uint32_t state_of(struct grouped *t, const char *key, const char *type)
{
    return leaf(t->g, TLMC_OP_STATE, add_param(t->bench.module, key, type, TLMC_PARAM_STATE), type);
}

static void updates_come_last_and_together(void **state)
{
    struct grouped t;
    uint32_t x, a, b;

    (void)state;
    begin(&t);
    x = add_input(t.bench.module, t.form, "x", "f32[3]");
    a = state_of(&t, "a", "f32[3]");
    b = state_of(&t, "b", "f32[3]");
    store(&t, a, tlmc_build1(t.g, TLMC_OP_EXP, x));
    store(&t, b, tlmc_build1(t.g, TLMC_OP_NEG, x));
    output(&t, x);
    group(&t, "checked_cpu");
    assert_string_equal(steps(&t), "pointwise(exp neg) updates(store store)");
    end(&t);
}

/* b is read by the first update and written by the second: not in one loop, and not before. */
static void updates_keep_their_order(void **state)
{
    struct grouped t;
    uint32_t x, a, b;

    (void)state;
    begin(&t);
    x = add_input(t.bench.module, t.form, "x", "f32[3]");
    a = state_of(&t, "a", "f32[3]");
    b = state_of(&t, "b", "f32[3]");
    store(&t, a, b);
    store(&t, b, x);
    output(&t, x);
    group(&t, "checked_cpu");
    assert_string_equal(steps(&t), "updates(store) updates(store)");
    end(&t);
}

/* p -= lr * (g + weight_decay * p), with a momentum buffer unless it is left out. */
static void sgd(struct grouped *t, uint32_t p, uint32_t g, uint32_t lr, double weight_decay,
                uint32_t buffer)
{
    const uint32_t inputs[] = { p, g, lr, lr, buffer };
    const struct tlmc_attr attrs[] = {
        tlmc_attr_float(TLMC_A_MOMENTUM, buffer == TLMC_NONE ? 0 : 0.9),
        tlmc_attr_int(TLMC_A_NESTEROV, 0), tlmc_attr_float(TLMC_A_WEIGHT_DECAY, weight_decay)
    };

    tlmc_add_node(t->g, TLMC_OP_SGD_UPDATE, inputs, buffer == TLMC_NONE ? 4 : 5, attrs, 3);
}

/* Letters of the parameters that a step of updates writes, a blank between its kinds. */
static const char *kinds(struct grouped *t, uint32_t s)
{
    const struct tlmc_step *step = &t->plan->steps[s];
    struct tlmc_strbuf text = { 0 };
    const char *copy;
    uint32_t k, n;

    assert_int_equal(step->kinds[0], 0);
    assert_int_equal(step->kinds[step->kind_count], step->node_count);
    for (k = 0; k < step->kind_count; k++) {
        tlmc_strbuf_add(&text, k ? " " : "");
        for (n = step->kinds[k]; n < step->kinds[k + 1]; n++)
            tlmc_strbuf_add(&text, t->g->values[t->g->nodes[step->nodes[n]].inputs[0]].name);
    }
    copy = tlmc_arena_strdup(&t->bench.arena, tlmc_strbuf_text(&text));
    tlmc_strbuf_free(&text);
    return copy;
}

static uint32_t named_state(struct grouped *t, const char *key)
{
    const uint32_t value = state_of(t, key, "f32[3]");

    t->g->values[value].name = key;
    return value;
}

static void options_and_scalars_are_kinds(void **state)
{
    struct grouped t;
    uint32_t g, lr, other, p[6], i;

    (void)state;
    begin(&t);
    g = add_input(t.bench.module, t.form, "g", "f32[3]");
    lr = add_input(t.bench.module, t.form, "lr", "f32[]");
    other = add_input(t.bench.module, t.form, "other", "f32[]");
    for (i = 0; i < 6; i++)
        p[i] = named_state(&t, (const char *[]){ "a", "b", "c", "d", "e", "f" }[i]);
    sgd(&t, p[0], g, lr, 0.1, TLMC_NONE);
    sgd(&t, p[1], g, lr, 0, TLMC_NONE);
    sgd(&t, p[2], g, lr, 0.1, TLMC_NONE);
    sgd(&t, p[3], g, other, 0.1, TLMC_NONE);
    sgd(&t, p[4], g, lr, 0, TLMC_NONE);
    sgd(&t, p[5], g, lr, 0.1, TLMC_NONE);
    output(&t, g);
    group(&t, "checked_cpu");
    assert_int_equal(t.plan->step_count, 1);
    assert_string_equal(kinds(&t, 0), "acf be d");
    assert_int_equal(tlmc_step_last(&t.plan->steps[0]), t.g->node_count - 1);
    group(&t, "reference_cpu");
    assert_int_equal(t.plan->step_count, 6); /* singleton lowering */
    end(&t);
}

/* Operands that are left out make a kind.  A constant has no offset for a table: its update stands
   alone.  Another kernel's updates are another step. */
static void operands_are_kinds(void **state)
{
    struct grouped t;
    const struct tlmc_type three = { TLMC_F32, 1, { 3 } };
    uint32_t g, lr, a, b, c, d, m, zeros, scalar;

    (void)state;
    begin(&t);
    g = add_input(t.bench.module, t.form, "g", "f32[3]");
    lr = add_input(t.bench.module, t.form, "lr", "f32[]");
    a = named_state(&t, "a");
    b = named_state(&t, "b");
    c = named_state(&t, "c");
    d = named_state(&t, "d");
    m = named_state(&t, "m");
    zeros = tlmc_build_tensor(t.g, &three, (double[]){ 0, 0, 0 });
    scalar = state_of(&t, "r", "f32[]");
    t.g->values[scalar].name = "r";
    sgd(&t, a, g, lr, 0.1, TLMC_NONE);
    sgd(&t, d, zeros, lr, 0.1, TLMC_NONE);
    sgd(&t, b, g, lr, 0.1, m);
    sgd(&t, c, g, lr, 0, TLMC_NONE);
    sgd(&t, scalar, lr, lr, 0.1, TLMC_NONE);
    store(&t, m, g);
    output(&t, g);
    group(&t, "checked_cpu");
    assert_string_equal(steps(&t), "updates(sgd_update sgd_update sgd_update sgd_update) "
                                   "updates(sgd_update) updates(store)");
    assert_string_equal(kinds(&t, 0), "ar b c");
    assert_string_equal(kinds(&t, 1), "d");
    end(&t);
}

/* b is the second one's gradient, and what the third one writes: that may neither join the step of
   both, nor stand before the second one with the first, whose kind it is. */
static void kinds_keep_their_order(void **state)
{
    struct grouped t;
    uint32_t g, lr, a, b, c;

    (void)state;
    begin(&t);
    g = add_input(t.bench.module, t.form, "g", "f32[3]");
    lr = add_input(t.bench.module, t.form, "lr", "f32[]");
    a = named_state(&t, "a");
    b = named_state(&t, "b");
    c = named_state(&t, "c");
    sgd(&t, a, g, lr, 0.1, TLMC_NONE);
    sgd(&t, c, b, lr, 0, TLMC_NONE);
    sgd(&t, b, g, lr, 0.1, TLMC_NONE);
    output(&t, g);
    group(&t, "checked_cpu");
    assert_string_equal(steps(&t), "updates(sgd_update sgd_update) updates(sgd_update)");
    assert_string_equal(kinds(&t, 0), "a c");
    assert_string_equal(kinds(&t, 1), "b");
    end(&t);
}

/* A broadcast of the forward phase, read in the backward phase: repeated there, and accepted. */
static void later_phases_repeat_broadcasts(void **state)
{
    struct grouped t;
    uint32_t x, spread, a, b;

    (void)state;
    begin(&t);
    x = add_input(t.bench.module, t.form, "x", "f32[4, 3]");
    spread = tlmc_build_broadcast(t.g, add_input(t.bench.module, t.form, "c", "f32[3]"),
                                  tlmc_value_type(t.g, x));
    a = tlmc_build2(t.g, TLMC_OP_ADD, x, spread);
    t.g->phase = TLMC_BACKWARD;
    b = tlmc_build2(t.g, TLMC_OP_MUL, x, spread);
    output(&t, a);
    output(&t, b);
    group(&t, "checked_cpu");
    assert_string_equal(steps(&t), "pointwise(broadcast add) pointwise(broadcast mul)");
    assert_int_equal(place(&t, spread), TLMC_PLACE_NONE);
    end(&t);
}

static void optimizers(void **state)
{
    struct bench b;
    const struct tlmc_plan_form *train;
    const struct tlmc_plan *plan;

    (void)state;
    bench_begin(&b);
    build_mlp(&b, TLMC_ADAM);
    plan = bench_plan(&b, NULL, NULL);
    train = form_of(plan, TLMC_TRAIN);
    assert_int_equal(train->steps[train->step_count - 1].kind, TLMC_STEP_UPDATES);
    assert_int_equal(train->steps[train->step_count - 1].node_count, 4);
    assert_non_null(tlmc_plan_accept(plan, &b.diags));
    bench_end(&b);
}

/* Random graphs: every value is made before it is read, every node runs once. */
static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

enum { ROW }; /* its place in the pool */

static uint32_t random_value(struct grouped *t, uint32_t *seed, uint32_t *pool, uint32_t count)
{
    const uint32_t a = pool[1 + next_random(seed) % (count - 1)],
                   b = pool[1 + next_random(seed) % (count - 1)];
    const struct tlmc_type square = { TLMC_F32, 2, { 4, 4 } };
    const uint32_t row = pool[ROW];

    switch (next_random(seed) % 11) {
    case 0: return tlmc_build1(t->g, TLMC_OP_EXP, a);
    case 1: return tlmc_build2(t->g, TLMC_OP_ADD, a, b);
    case 2: return tlmc_build_matmul(t->g, a, b);
    case 3: return tlmc_build_matmul(t->g, a, tlmc_build_transpose(t->g, b));
    case 4: return tlmc_build_matmul(t->g, tlmc_build_transpose(t->g, a), b);
    case 5: return tlmc_build1(t->g, TLMC_OP_SOFTMAX, a);
    case 6:
        return tlmc_build_broadcast(t->g,
                                    tlmc_build_reduce(t->g, TLMC_OP_REDUCE_SUM, a, 1,
                                                      (int64_t[]){ 0 }, true),
                                    &square);
    case 7: return tlmc_build2(t->g, TLMC_OP_MUL, a, tlmc_build_full(t->g, &square, 0.5));
    case 8: return norm_vjp(t, a, b, row, row);
    case 9: return tlmc_build_broadcast(t->g, norm_vjp_weight(t, a, b, row), &square);
    default:
        return tlmc_build_reshape(t->g,
                                  tlmc_build1(t->g, TLMC_OP_NEG,
                                              tlmc_build_reshape(t->g, a, 1, (int64_t[]){ 16 })),
                                  2, square.dims);
    }
}

static void check_order(const struct grouped *t)
{
    uint32_t *made = calloc(t->g->value_count, sizeof *made),
             *runs = calloc(t->g->node_count, sizeof *runs);
    uint32_t s, n, i;

    for (i = 0; i < t->g->node_count; i++)
        if (tlmc_op_info(t->g->nodes[i].op)->family == TLMC_LEAF)
            made[t->g->nodes[i].first_result] = 1;
    for (s = 0; s < t->plan->step_count; s++) {
        const struct tlmc_step *step = &t->plan->steps[s];

        for (n = 0; n < step->node_count; n++) {
            const struct tlmc_node *node_ = &t->g->nodes[step->nodes[n]];

            for (i = 0; i < node_->input_count; i++) {
                if (!made[node_->inputs[i]] && place(t, node_->inputs[i]) != TLMC_PLACE_LITERAL)
                    fail_msg("step %u reads %%%u before it is made", s, node_->inputs[i]);
                if (step->kind == TLMC_STEP_CALL && made[node_->inputs[i]] == s + 2)
                    fail_msg("step %u reads %%%u of its own launch", s, node_->inputs[i]);
            }
            for (i = 0; i < node_->result_count; i++)
                made[node_->first_result + i] = s + 2;
            runs[step->nodes[n]]++;
        }
    }
    for (i = 0; i < t->g->node_count; i++)
        if (tlmc_op_info(t->g->nodes[i].op)->family != TLMC_LEAF &&
            t->g->nodes[i].op != TLMC_OP_BROADCAST)
            assert_int_equal(runs[i], 1);
    free(made);
    free(runs);
}

static void order_is_kept(void **state)
{
    uint32_t seed;

    (void)state;
    for (seed = 1; seed <= 200; seed++) {
        struct grouped t;
        uint32_t pool[64], count = 0, random = seed;

        begin(&t);
        pool[count++] = add_input(t.bench.module, t.form, "row", "f32[4]");
        pool[count++] = add_input(t.bench.module, t.form, "x", "f32[4, 4]");
        pool[count++] = add_input(t.bench.module, t.form, "y", "f32[4, 4]");
        while (count < 40) {
            pool[count] = random_value(&t, &random, pool, count);
            count++;
        }
        output(&t, pool[count - 1]);
        output(&t, pool[count / 2]);
        group(&t, ((const char *[]){ "checked_cpu", "checked_cuda", "reference_cpu" })[seed % 3]);
        check_order(&t);
        end(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_are_one_loop),
        cmocka_unit_test(bias_is_not_stored),
        cmocka_unit_test(broadcasts_are_repeated_or_stored),
        cmocka_unit_test(numbers_are_written),
        cmocka_unit_test(shapes_end_loops),
        cmocka_unit_test(no_loop_is_left_and_entered_again),
        cmocka_unit_test(calls_in_between_do_not_end_loops),
        cmocka_unit_test(a_broadcast_does_not_read_its_own_loop),
        cmocka_unit_test(views_are_read_from_memory),
        cmocka_unit_test(transposes_are_folded),
        cmocka_unit_test(folded_operands_are_stored),
        cmocka_unit_test(calls_share_a_launch),
        cmocka_unit_test(singleton_lowering),
        cmocka_unit_test(updates_come_last_and_together),
        cmocka_unit_test(updates_keep_their_order),
        cmocka_unit_test(options_and_scalars_are_kinds),
        cmocka_unit_test(operands_are_kinds),
        cmocka_unit_test(kinds_keep_their_order),
        cmocka_unit_test(later_phases_repeat_broadcasts),
        cmocka_unit_test(optimizers),
        cmocka_unit_test(order_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
