/* Autodiff and optimizer on modules made by hand: which parameters get gradients and in what order,
   states that are read late, every optimizer's node with its states and scalars, clipping,
   micro-batches, and the whole table. */
#include "ir_world.h"

/* ---- autodiff */

static uint32_t trained(struct world *v, const char *key, const char *type)
{
    const uint32_t slot = add_param(v->m, key, type, TLMC_PARAM_TRAINED);

    v->m->params.items[slot].frozen = false;
    return slot;
}

/* loss = sum(x w + x s), with two leaf nodes of w; s is a state or a frozen parameter */
static void small_model(struct world *v)
{
    uint32_t x, w, w2, f, y;

    trained(v, "w", "f32[2]");
    trained(v, "frozen", "f32[2]");
    trained(v, "unused", "f32[2]");
    v->m->params.items[1].frozen = true;
    begin(v, TLMC_TRAIN);
    x = add_input(v->m, v->form, "x", "f32[2]");
    w = leaf(v->g, TLMC_OP_PARAM, 0, "f32[2]");
    f = leaf(v->g, TLMC_OP_PARAM, 1, "f32[2]");
    leaf(v->g, TLMC_OP_PARAM, 2, "f32[2]");
    y = tlmc_build2(v->g, TLMC_OP_MUL, tlmc_build2(v->g, TLMC_OP_MUL, x, w), f);
    w2 = leaf(v->g, TLMC_OP_PARAM, 0, "f32[2]");
    y = tlmc_build2(v->g, TLMC_OP_ADD, y, tlmc_build1(v->g, TLMC_OP_TANH, w2));
    y = NODE(v->g, "reduce_sum", "axes=0", y);
    add_io(v->m, &v->form->losses, "loss", y);
    v->form->total_loss = y;
}

static void gradients_of_what_is_trained(void **state)
{
    struct world *v = *state;
    uint32_t g;

    small_model(v);
    run(v, tlmc_pass_autodiff);
    assert_int_equal(v->form->grad_count, 1); /* not the frozen, not the unreached */
    assert_int_equal(v->form->grads[0].param, 0);
    g = v->form->grads[0].value;
    assert_int_equal(op_of(v->g, g), TLMC_OP_ADD); /* both leaves of w are one: tanh's part first */
    assert_int_equal(op_of(v->g, in_of(v->g, g, 0)), TLMC_OP_TANH_VJP);
    assert_int_equal(count_ops(v->g, TLMC_OP_PARAM), 3);
}

static void gradients_stand_in_order_of_declaration(void **state)
{
    struct world *v = *state;
    uint32_t a, b, y;

    trained(v, "a", "f32[]");
    trained(v, "b", "f32[]");
    begin(v, TLMC_TRAIN);
    b = leaf(v->g, TLMC_OP_PARAM, 1, "f32[]"); /* read first */
    a = leaf(v->g, TLMC_OP_PARAM, 0, "f32[]");
    y = tlmc_build2(v->g, TLMC_OP_MUL, b, a);
    v->form->total_loss = y;
    run(v, tlmc_pass_autodiff);
    assert_int_equal(v->form->grad_count, 2);
    assert_int_equal(v->form->grads[0].param, 0);
    assert_int_equal(v->form->grads[1].param, 1);
}

static void states_read_by_the_backward_pass_are_copied(void **state)
{
    struct world *v = *state;
    uint32_t w, s, view, y, store = TLMC_NONE, copy = TLMC_NONE, id;

    trained(v, "w", "f32[2, 1]");
    add_param(v->m, "s", "f32[2]", TLMC_PARAM_STATE);
    begin(v, TLMC_TRAIN);
    w = leaf(v->g, TLMC_OP_PARAM, 0, "f32[2, 1]");
    s = leaf(v->g, TLMC_OP_STATE, 1, "f32[2]");
    view = NODE(v->g, "reshape", "shape=2,1", s);
    y = tlmc_build2(v->g, TLMC_OP_MUL, view, w);
    v->form->total_loss = NODE(v->g, "reduce_sum", "axes=0,1", y);
    output(v, s); /* the value at entry */
    tlmc_build2(v->g, TLMC_OP_STORE, s, NODE(v->g, "reshape", "shape=2", y));
    run(v, tlmc_pass_autodiff);
    assert_int_equal(count_ops(v->g, TLMC_OP_COPY), 2); /* of the view and of the state */
    for (id = 0; id < v->g->node_count; id++) {
        if (v->g->nodes[id].op == TLMC_OP_STORE)
            store = id;
        if (v->g->nodes[id].op == TLMC_OP_COPY)
            copy = id;
    }
    assert_true(copy < store);
    assert_int_equal(v->g->nodes[copy].phase, TLMC_FORWARD);
    assert_int_equal(op_of(v->g, v->g->nodes[store].inputs[0]), TLMC_OP_STATE);
    assert_int_equal(op_of(v->g, out(v, 0)), TLMC_OP_COPY);
    assert_int_equal(op_of(v->g, in_of(v->g, v->form->grads[0].value, 1)), TLMC_OP_COPY);
}

static void states_nobody_reads_late_are_not_copied(void **state)
{
    struct world *v = *state;
    uint32_t s, y;

    add_param(v->m, "s", "f32[2]", TLMC_PARAM_STATE);
    begin(v, TLMC_INFER);
    s = leaf(v->g, TLMC_OP_STATE, 0, "f32[2]");
    y = tlmc_build1(v->g, TLMC_OP_NEG, s);
    output(v, y);
    tlmc_build2(v->g, TLMC_OP_STORE, s, y);
    run(v, tlmc_pass_autodiff);
    assert_int_equal(count_ops(v->g, TLMC_OP_COPY), 0);
}

static void frozen_states_are_not_written_in_training(void **state)
{
    struct world *v = *state;
    uint32_t s;

    v->m->params.items = NULL;
    add_param(v->m, "s", "f32[2]", TLMC_PARAM_STATE);
    v->m->params.items[0].frozen = true;
    begin(v, TLMC_TRAIN);
    s = leaf(v->g, TLMC_OP_STATE, 0, "f32[2]");
    tlmc_build2(v->g, TLMC_OP_STORE, s, tlmc_build1(v->g, TLMC_OP_NEG, s));
    begin(v, TLMC_INFER);
    s = leaf(v->g, TLMC_OP_STATE, 0, "f32[2]");
    tlmc_build2(v->g, TLMC_OP_STORE, s, tlmc_build1(v->g, TLMC_OP_NEG, s));
    run(v, tlmc_pass_autodiff);
    assert_int_equal(count_ops(v->m->forms.items[0].graph, TLMC_OP_STORE), 0);
    assert_int_equal(count_ops(v->m->forms.items[1].graph, TLMC_OP_STORE), 1);
}

/* ---- optimizer */

/* Two trained parameters, a and b, in two groups: b's stands first. */
static void two_groups(struct world *v, enum tlmc_optimizer optimizer)
{
    static uint32_t first[] = { 1 }, second[] = { 0 };
    struct tlmc_group *groups = TLMC_NEW_ARRAY(&v->arena, struct tlmc_group, 2);
    uint32_t a, b;

    trained(v, "a", "f32[2]");
    trained(v, "b", "f32[3, 2]");
    begin(v, TLMC_TRAIN);
    a = leaf(v->g, TLMC_OP_PARAM, 0, "f32[2]");
    b = leaf(v->g, TLMC_OP_PARAM, 1, "f32[3, 2]");
    a = tlmc_build_broadcast(v->g, a, tlmc_value_type(v->g, b));
    v->form->total_loss =
        NODE(v->g, "reduce_sum", "axes=0,1", tlmc_build2(v->g, TLMC_OP_MUL, a, b));
    groups[0].params = first;
    groups[1].params = second;
    groups[0].param_count = groups[1].param_count = 1;
    groups[0].lr = groups[1].lr = 0.1;
    v->m->train.present = true;
    v->m->train.optimizer = optimizer;
    v->m->train.groups = groups;
    v->m->train.group_count = 2;
    v->m->train.accumulate = 1;
}

static const struct tlmc_node *update(const struct world *v, uint32_t index)
{
    uint32_t id;

    for (id = 0; id < v->g->node_count; id++)
        if (tlmc_op_info(v->g->nodes[id].op)->family == TLMC_UPDATE && index-- == 0)
            return &v->g->nodes[id];
    fail_msg("there is no such update");
    return NULL;
}

static void assert_key(const struct world *v, uint32_t value, const char *key)
{
    const int64_t slot = tlmc_node_int(tlmc_value_node(v->g, value), TLMC_A_SLOT);

    assert_string_equal(v->m->params.items[slot].key, key);
}

static void assert_scalar(const struct world *v, uint32_t value, enum tlmc_scalar_kind kind,
                          uint32_t group)
{
    const int64_t slot = tlmc_node_int(tlmc_value_node(v->g, value), TLMC_A_SLOT);

    assert_int_equal(op_of(v->g, value), TLMC_OP_SCALAR);
    assert_int_equal(v->m->scalars.items[slot].kind, kind);
    assert_int_equal(v->m->scalars.items[slot].group, group);
}

static void step(struct world *v)
{
    run(v, tlmc_pass_autodiff);
    run(v, tlmc_pass_optimizer);
}

static void adam_updates(void **state)
{
    struct world *v = *state;
    const struct tlmc_node *u;

    two_groups(v, TLMC_ADAM);
    v->m->train.groups[1].beta2 = 0.999;
    step(v);
    u = update(v, 0); /* group 0 first: b */
    assert_int_equal(u->op, TLMC_OP_ADAM_UPDATE);
    assert_int_equal(u->phase, TLMC_UPDATE_PHASE);
    assert_key(v, u->inputs[0], "b");
    assert_key(v, u->inputs[2], "tlm.adam.exp_avg.b");
    assert_key(v, u->inputs[3], "tlm.adam.exp_avg_sq.b");
    assert_scalar(v, u->inputs[4], TLMC_SCALAR_STEP_SIZE, 0);
    assert_scalar(v, u->inputs[5], TLMC_SCALAR_SQRT_BC2, 0);
    assert_int_equal(u->input_count, 6);
    u = update(v, 1);
    assert_key(v, u->inputs[0], "a");
    assert_scalar(v, u->inputs[4], TLMC_SCALAR_STEP_SIZE, 1);
    assert_true(tlmc_node_float(u, TLMC_A_BETA2) == 0.999);
    assert_int_equal(v->m->scalars.count, 4);
    assert_int_equal(v->m->params.count, 6);
    assert_int_equal(v->m->params.items[2].kind, TLMC_PARAM_OPTIMIZER);
    assert_int_equal(v->m->params.items[2].of, 1);
    assert_int_equal(v->m->params.items[2].init.kind, TLMC_INIT_CONSTANT);
}

static void sgd_keeps_a_buffer_only_with_momentum(void **state)
{
    struct world *v = *state;
    const struct tlmc_node *u;

    two_groups(v, TLMC_SGD);
    v->m->train.groups[0].momentum = 0.9;
    v->m->train.clip = TLMC_CLIP_NORM;
    v->m->train.clip_value = 1;
    step(v);
    u = update(v, 0);
    assert_key(v, u->inputs[4], "tlm.sgd.momentum_buffer.b");
    assert_scalar(v, u->inputs[2], TLMC_SCALAR_LR, 0);
    assert_scalar(v, u->inputs[3], TLMC_SCALAR_UNDAMPED, 0);
    u = update(v, 1);
    assert_int_equal(u->input_count, 6);
    assert_int_equal(u->inputs[4], TLMC_NONE); /* its place stays, gscale follows */
    assert_int_equal(op_of(v->g, u->inputs[5]), TLMC_OP_MIN);
}

static void other_optimizers(void **state)
{
    struct world *v = *state;
    const struct tlmc_node *u;

    two_groups(v, TLMC_RMSPROP);
    v->m->train.groups[0].centered = true;
    v->m->train.groups[1].momentum = 0.9;
    step(v);
    u = update(v, 0);
    assert_key(v, u->inputs[2], "tlm.rmsprop.square_avg.b");
    assert_key(v, u->inputs[4], "tlm.rmsprop.grad_avg.b");
    assert_int_equal(u->input_count, 5);
    u = update(v, 1);
    assert_int_equal(u->inputs[4], TLMC_NONE);
    assert_key(v, u->inputs[5], "tlm.rmsprop.momentum_buffer.a");
    v->m = help_module(&v->arena);
    two_groups(v, TLMC_ADAGRAD);
    v->m->train.groups[0].initial_accumulator_value = 0.5;
    step(v);
    u = update(v, 0);
    assert_key(v, u->inputs[2], "tlm.adagrad.sum.b");
    assert_scalar(v, u->inputs[3], TLMC_SCALAR_CLR, 0);
    assert_true(v->m->params.items[2].init.a == 0.5);
    v->m = help_module(&v->arena);
    two_groups(v, TLMC_ADADELTA);
    step(v);
    u = update(v, 0);
    assert_key(v, u->inputs[2], "tlm.adadelta.square_avg.b");
    assert_key(v, u->inputs[3], "tlm.adadelta.acc_delta.b");
    v->m = help_module(&v->arena);
    two_groups(v, TLMC_ADAMW);
    step(v);
    u = update(v, 0);
    assert_key(v, u->inputs[2], "tlm.adamw.exp_avg.b");
    assert_scalar(v, u->inputs[6], TLMC_SCALAR_DECAY, 0);
}

static void the_norm_takes_gradients_in_declaration_order(void **state)
{
    struct world *v = *state;
    uint32_t scale, norm;

    two_groups(v, TLMC_ADAM);
    v->m->train.clip = TLMC_CLIP_NORM;
    v->m->train.clip_value = 2;
    step(v);
    scale = update(v, 0)->inputs[6]; /* min(1, 2 / (norm + 1e-6)) */
    assert_int_equal(op_of(v->g, scale), TLMC_OP_MIN);
    assert_true(datum(v->g, in_of(v->g, scale, 0), 0) == 1);
    scale = in_of(v->g, scale, 1);
    assert_int_equal(op_of(v->g, scale), TLMC_OP_DIV);
    assert_true(datum(v->g, in_of(v->g, scale, 0), 0) == 2);
    norm = in_of(v->g, scale, 1);
    assert_true(datum(v->g, in_of(v->g, norm, 1), 0) == 1e-6);
    norm = in_of(v->g, norm, 0);
    assert_int_equal(op_of(v->g, norm), TLMC_OP_GLOBAL_NORM);
    assert_type(v->g, in_of(v->g, norm, 0), "f32[2]"); /* a is declared first */
    assert_type(v->g, in_of(v->g, norm, 1), "f32[3, 2]");
}

static void clipping_values(void **state)
{
    struct world *v = *state;
    uint32_t g;

    two_groups(v, TLMC_SGD);
    v->m->train.clip = TLMC_CLIP_VALUE;
    v->m->train.clip_value = 0.5;
    step(v);
    g = update(v, 0)->inputs[1];
    assert_int_equal(op_of(v->g, g), TLMC_OP_CLAMP);
    assert_true(tlmc_node_float(tlmc_value_node(v->g, g), TLMC_A_MIN) == -0.5);
    assert_true(tlmc_node_float(tlmc_value_node(v->g, g), TLMC_A_MAX) == 0.5);
}

static void micro_batches(void **state)
{
    struct world *v = *state;
    const struct tlmc_node *u;
    uint32_t g;

    two_groups(v, TLMC_SGD);
    v->m->train.accumulate = 4;
    step(v);
    u = update(v, 0); /* declaration order: a */
    assert_int_equal(u->op, TLMC_OP_ACCUMULATE);
    assert_int_equal(u->phase, TLMC_ACCUMULATE_PHASE);
    assert_key(v, u->inputs[0], "tlm.accumulator.a");
    assert_int_equal(v->m->params.items[2].kind, TLMC_PARAM_ACCUMULATOR);
    assert_int_equal(u->inputs[1], v->form->grads[0].value);
    u = update(v, 2);
    g = u->inputs[1];
    assert_int_equal(op_of(v->g, g), TLMC_OP_SCALE);
    assert_true(tlmc_node_float(tlmc_value_node(v->g, g), TLMC_A_FACTOR) == 0.25);
    assert_key(v, in_of(v->g, g, 0), "tlm.accumulator.b");
    u = update(v, 4); /* set back at the end */
    assert_int_equal(u->op, TLMC_OP_STORE);
    assert_key(v, u->inputs[0], "tlm.accumulator.a");
    run(v, tlmc_pass_canonical);
    run(v, tlmc_pass_fold);
    run(v, tlmc_pass_cse);
    run(v, tlmc_pass_dce);
}

static void no_gradient_no_update(void **state)
{
    struct world *v = *state;
    static uint32_t all[] = { 0, 1, 2 };
    struct tlmc_group group = { .params = all, .param_count = 3 };

    small_model(v);
    v->m->train.present = true;
    v->m->train.optimizer = TLMC_ADAM;
    v->m->train.groups = &group;
    v->m->train.group_count = 1;
    step(v);
    assert_int_equal(count_ops(v->g, TLMC_OP_ADAM_UPDATE), 1);
    assert_int_equal(v->m->params.count, 5);
}

static void a_parameter_in_two_groups_is_updated_once(void **state)
{
    struct world *v = *state;
    static uint32_t both[] = { 0, 1 };

    two_groups(v, TLMC_SGD);
    v->m->train.groups[1].params = both;
    v->m->train.groups[1].param_count = 2;
    step(v);
    assert_int_equal(count_ops(v->g, TLMC_OP_SGD_UPDATE), 2);
    assert_key(v, update(v, 0)->inputs[0], "b");
    assert_key(v, update(v, 1)->inputs[0], "a");
}

/* ---- the table */

static void the_whole_table(void **state)
{
    struct world *v = *state;
    struct tlmc_strbuf dump = { 0 };
    struct tlmc_pass_options options = { .dump_after = "autodiff", .dump = &dump };

    two_groups(v, TLMC_ADAM);
    assert_true(tlmc_run_passes(v->m, &options, NULL));
    assert_non_null(strstr(tlmc_strbuf_text(&dump), "backward:"));
    assert_null(strstr(tlmc_strbuf_text(&dump), "adam_update"));
    assert_int_equal(count_ops(v->g, TLMC_OP_ADAM_UPDATE), 2);
    tlmc_strbuf_free(&dump);
}

static void stopping_and_leaving_out(void **state)
{
    struct world *v = *state;
    const char *off[] = { "cse", "autodiff", NULL }; /* autodiff is not optional */
    struct tlmc_pass_options options = { .stop_after = "autodiff", .off = off };

    two_groups(v, TLMC_ADAM);
    assert_true(tlmc_run_passes(v->m, &options, NULL));
    assert_int_equal(v->form->grad_count, 2);
    assert_int_equal(count_ops(v->g, TLMC_OP_ADAM_UPDATE), 0);
}

static void two_runs_print_the_same(void **state)
{
    struct world *v = *state;

    two_groups(v, TLMC_ADAMW);
    v->m->train.clip = TLMC_CLIP_NORM;
    v->m->train.clip_value = 1;
    assert_true(tlmc_run_passes(v->m, NULL, NULL));
    module_text(v->m, &v->text);
    v->m = help_module(&v->arena);
    two_groups(v, TLMC_ADAMW);
    v->m->train.clip = TLMC_CLIP_NORM;
    v->m->train.clip_value = 1;
    assert_true(tlmc_run_passes(v->m, NULL, NULL));
    assert_string_equal(module_text(v->m, &v->text2), tlmc_strbuf_text(&v->text));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(gradients_of_what_is_trained),
        TEST(gradients_stand_in_order_of_declaration),
        TEST(states_read_by_the_backward_pass_are_copied),
        TEST(states_nobody_reads_late_are_not_copied),
        TEST(frozen_states_are_not_written_in_training),
        TEST(adam_updates),
        TEST(sgd_keeps_a_buffer_only_with_momentum),
        TEST(other_optimizers),
        TEST(the_norm_takes_gradients_in_declaration_order),
        TEST(clipping_values),
        TEST(micro_batches),
        TEST(no_gradient_no_update),
        TEST(a_parameter_in_two_groups_is_updated_once),
        TEST(the_whole_table),
        TEST(stopping_and_leaving_out),
        TEST(two_runs_print_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
