/* The verifier: a sound graph passes, and each rule, broken by hand, is named. */
#include "ir_help.h"

struct world {
    struct tlmc_arena arena;
    struct tlmc_module *module;
    struct tlmc_form *form;
    struct tlmc_graph *g;
    uint32_t x, w, s, y; /* input, parameter, state, their product */
};

static int setup(void **state)
{
    struct world *v = calloc(1, sizeof *v);

    v->module = help_module(&v->arena);
    add_param(v->module, "w", "f32[2]", TLMC_PARAM_TRAINED);
    add_param(v->module, "s", "f32[2]", TLMC_PARAM_STATE);
    v->form = add_form(v->module, TLMC_TRAIN);
    v->g = v->form->graph;
    v->x = add_input(v->module, v->form, "x", "f32[2]");
    v->w = leaf(v->g, TLMC_OP_PARAM, 0, "f32[2]");
    v->s = leaf(v->g, TLMC_OP_STATE, 1, "f32[2]");
    v->y = tlmc_build2(v->g, TLMC_OP_MUL, v->x, v->w);
    add_io(v->module, &v->form->outputs, "y", v->y);
    *state = v;
    return 0;
}

static int teardown(void **state)
{
    struct world *v = *state;

    tlmc_arena_free(&v->arena);
    free(v);
    return 0;
}

static void assert_broken(const struct world *v, const char *part)
{
    const char *fault = tlmc_form_verify(v->module, v->form);

    if (!fault)
        fail_msg("not noticed: %s", part);
    if (!strstr(fault, part))
        fail_msg("'%s' does not say '%s'", fault, part);
}

static struct tlmc_node *node_at(struct world *v, uint32_t value)
{
    return &v->g->nodes[v->g->values[value].node];
}

static uint32_t *inputs_of(struct world *v, uint32_t value)
{
    struct tlmc_node *n = node_at(v, value);
    uint32_t *inputs = tlmc_arena_memdup(&v->arena, n->inputs, n->input_count * sizeof *inputs);

    n->inputs = inputs;
    return inputs;
}

static void a_sound_graph(void **state)
{
    struct world *v = *state;

    assert_null(tlmc_form_verify(v->module, v->form));
}

static void an_id_out_of_range(void **state)
{
    struct world *v = *state;

    inputs_of(v, v->y)[1] = 1000;
    assert_broken(v, "node 3 (mul): an operand is read before it is made");
}

static void a_read_before_the_producer(void **state)
{
    struct world *v = *state;

    inputs_of(v, v->y)[0] = v->y;
    assert_broken(v, "read before it is made");
}

static void an_unknown_op(void **state)
{
    struct world *v = *state;

    node_at(v, v->y)->op = TLMC_OP_COUNT;
    assert_broken(v, "unknown op");
}

static void a_wrong_type(void **state)
{
    struct world *v = *state;

    v->g->values[v->y].type.dims[0] = 3;
    assert_broken(v, "a result's type differs");
}

static void operands_that_do_not_fit(void **state)
{
    struct world *v = *state;

    v->g->values[v->x].type = ty("f32[3]");
    node_at(v, v->x)->attrs = NULL; /* its own rule would notice first */
    node_at(v, v->x)->attr_count = 0;
    assert_broken(v, "node 0 (input): op 'input' needs the attribute");
}

static void a_missing_operand(void **state)
{
    struct world *v = *state;

    inputs_of(v, v->y)[0] = TLMC_NONE;
    assert_broken(v, "operand 1 of op 'mul' is missing");
}

static void a_foreign_attribute(void **state)
{
    struct world *v = *state;
    struct tlmc_attr *attr = TLMC_NEW(&v->arena, struct tlmc_attr);

    *attr = tlmc_attr_int(TLMC_A_AXIS, 0);
    node_at(v, v->y)->attrs = attr;
    node_at(v, v->y)->attr_count = 1;
    assert_broken(v, "op 'mul' has no attribute 'axis'");
    attr->tag = TLMC_ATTR_COUNT;
    assert_broken(v, "unknown attribute");
}

static void results_out_of_order(void **state)
{
    struct world *v = *state;

    node_at(v, v->y)->first_result--;
    assert_broken(v, "results are not numbered in order");
    node_at(v, v->y)->first_result++;
    v->g->values[v->y].node = 0;
    assert_broken(v, "a result names another node");
    v->g->values[v->y].node = 3;
    node_at(v, v->y)->result_count = 2;
    assert_broken(v, "wrong number of results");
}

static void a_value_without_a_node(void **state)
{
    struct world *v = *state;

    v->g->node_count--;
    assert_broken(v, "1 values have no node");
}

static void phases_out_of_order(void **state)
{
    struct world *v = *state;

    node_at(v, v->w)->phase = TLMC_BACKWARD;
    assert_broken(v, "phases are out of order");
    node_at(v, v->w)->phase = TLMC_PHASE_COUNT;
    assert_broken(v, "unknown phase");
}

static void a_read_after_the_write(void **state)
{
    struct world *v = *state;
    const uint32_t view = NODE(v->g, "reshape", "shape=1,2", v->s);

    tlmc_build2(v->g, TLMC_OP_STORE, v->s, v->y);
    assert_null(tlmc_form_verify(v->module, v->form));
    tlmc_build1(v->g, TLMC_OP_NEG, view); /* a view shows the same memory */
    assert_broken(v, "reads a leaf after the node that writes it");
}

static void another_leaf_of_the_same_slot(void **state)
{
    struct world *v = *state;

    tlmc_build2(v->g, TLMC_OP_STORE, v->s, v->y);
    tlmc_build1(v->g, TLMC_OP_NEG, leaf(v->g, TLMC_OP_STATE, 1, "f32[2]"));
    assert_broken(v, "reads a leaf after the node that writes it");
}

static void states_of_an_update_are_written_too(void **state)
{
    struct world *v = *state;
    const uint32_t lr = tlmc_build_const(v->g, TLMC_F32, 0.1);

    v->g->phase = TLMC_UPDATE_PHASE;
    NODE(v->g, "sgd_update", "momentum=0.9 nesterov=0 weight_decay=0", v->w, v->y, lr, lr, v->s);
    assert_null(tlmc_form_verify(v->module, v->form));
    tlmc_build1(v->g, TLMC_OP_NEG, v->s);
    assert_broken(v, "reads a leaf after the node that writes it");
}

static void sums_of_micro_batches_are_read_by_the_update(void **state)
{
    struct world *v = *state;
    uint32_t sum;

    v->g->phase = TLMC_ACCUMULATE_PHASE;
    tlmc_build2(v->g, TLMC_OP_ACCUMULATE, v->s, v->y);
    v->g->phase = TLMC_UPDATE_PHASE;
    sum = leaf(v->g, TLMC_OP_STATE, 1, "f32[2]");
    tlmc_build1(v->g, TLMC_OP_NEG, sum);
    assert_null(tlmc_form_verify(v->module, v->form));
    tlmc_build2(v->g, TLMC_OP_STORE, sum, v->y);
    assert_null(tlmc_form_verify(v->module, v->form));
    tlmc_build1(v->g, TLMC_OP_NEG, sum);
    assert_broken(v, "reads a leaf after the node that writes it");
}

static void a_sum_read_through_an_old_leaf(void **state)
{
    struct world *v = *state;

    v->g->phase = TLMC_ACCUMULATE_PHASE;
    tlmc_build2(v->g, TLMC_OP_ACCUMULATE, v->s, v->y);
    v->g->phase = TLMC_UPDATE_PHASE;
    tlmc_build1(v->g, TLMC_OP_NEG, v->s);
    assert_broken(v, "reads a sum of micro-batches through a leaf of another phase");
}

static void a_write_into_no_leaf(void **state)
{
    struct world *v = *state;

    tlmc_build2(v->g, TLMC_OP_STORE, v->y, v->x);
    assert_broken(v, "writes a value that is no parameter or state");
}

static void a_write_into_a_view(void **state)
{
    struct world *v = *state;
    const uint32_t view = NODE(v->g, "detach", "", v->s);

    tlmc_build2(v->g, TLMC_OP_STORE, view, v->y);
    assert_broken(v, "writes a view instead of the leaf");
}

static void what_a_form_holds(void **state)
{
    struct world *v = *state;
    struct tlmc_grad grad = { .param = 0, .value = v->y };

    v->form->grads = &grad;
    v->form->grad_count = 1;
    assert_null(tlmc_form_verify(v->module, v->form));
    grad.value = 99;
    assert_broken(v, "wrong gradient 0 of entry 'infer'");
    v->form->grad_count = 0;
    v->form->total_loss = 99;
    assert_broken(v, "unknown total loss");
    v->form->total_loss = TLMC_NONE;
    v->form->outputs.items[0].value = 99;
    assert_broken(v, "unknown value of output 0");
    v->form->outputs.items[0].value = v->y;
    v->form->inputs.items[0].value = v->w;
    assert_broken(v, "wrong slot of input 0");
    v->form->inputs.items[0].value = v->x;
    v->module->params.items[1].type = ty("f32[3]");
    assert_broken(v, "unknown parameter or wrong type at node 2");
}

static void an_unknown_scalar(void **state)
{
    struct world *v = *state;

    leaf(v->g, TLMC_OP_SCALAR, 0, "f32[]");
    assert_broken(v, "unknown step scalar");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_sound_graph),
        TEST(an_id_out_of_range),
        TEST(a_read_before_the_producer),
        TEST(an_unknown_op),
        TEST(a_wrong_type),
        TEST(operands_that_do_not_fit),
        TEST(a_missing_operand),
        TEST(a_foreign_attribute),
        TEST(results_out_of_order),
        TEST(a_value_without_a_node),
        TEST(phases_out_of_order),
        TEST(a_read_after_the_write),
        TEST(another_leaf_of_the_same_slot),
        TEST(states_of_an_update_are_written_too),
        TEST(sums_of_micro_batches_are_read_by_the_update),
        TEST(a_sum_read_through_an_old_leaf),
        TEST(a_write_into_no_leaf),
        TEST(a_write_into_a_view),
        TEST(what_a_form_holds),
        TEST(an_unknown_scalar),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
