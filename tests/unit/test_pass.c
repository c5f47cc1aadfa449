/* The clean-up passes, on modules made by hand: what each does, what it must not do, and that a
   second run changes nothing.  Then the rows of the table, and the printed form of a graph. */
#include "ir_world.h"

#include <math.h>

/* Runs pass and dce, then both again: the second time nothing changes. */
static void run_to_rest(struct world *v, void (*pass)(struct tlmc_module *, struct tlmc_diags *))
{
    run(v, pass);
    run(v, tlmc_pass_dce);
    module_text(v->m, &v->text);
    run(v, pass);
    run(v, tlmc_pass_dce);
    assert_string_equal(module_text(v->m, &v->text2), tlmc_strbuf_text(&v->text));
}

/* ---- dce */

static void dce_drops_what_nothing_needs(void **state)
{
    struct world *v = *state;
    uint32_t x, y;

    begin(v, TLMC_EVAL);
    x = add_input(v->m, v->form, "x", "f32[2]");
    add_input(v->m, v->form, "unused", "f32[3]");
    tlmc_build1(v->g, TLMC_OP_EXP, x);
    y = tlmc_build1(v->g, TLMC_OP_NEG, x);
    output(v, y);
    run(v, tlmc_pass_dce);
    assert_int_equal(count_ops(v->g, TLMC_OP_EXP), 0);
    assert_int_equal(op_of(v->g, out(v, 0)), TLMC_OP_NEG);
    assert_int_equal(v->form->inputs.count, 2); /* data feeds both */
    assert_int_equal(count_ops(v->g, TLMC_OP_INPUT), 2);
}

static void dce_asks_inference_only_for_what_it_reads(void **state)
{
    struct world *v = *state;
    uint32_t x;

    begin(v, TLMC_GENERATE);
    add_input(v->m, v->form, "unused", "f32[3]");
    add_input(v->m, v->form, "fed", "i32[3]");
    x = add_input(v->m, v->form, "x", "f32[2]");
    output(v, tlmc_build1(v->g, TLMC_OP_NEG, x));
    v->m->generate.present = true;
    v->m->generate.form = 0;
    v->m->generate.feed = 1;
    run(v, tlmc_pass_dce);
    assert_int_equal(v->form->inputs.count, 2);
    assert_string_equal(v->form->inputs.items[0].name, "fed"); /* generation feeds it */
    assert_string_equal(v->form->inputs.items[1].name, "x");
    assert_int_equal(v->m->generate.feed, 0);
    assert_int_equal(tlmc_node_int(tlmc_value_node(v->g, in_of(v->g, out(v, 0), 0)), TLMC_A_SLOT),
                     1);
}

static void dce_keeps_updates_losses_and_gradients(void **state)
{
    struct world *v = *state;
    struct tlmc_grad grad = { .param = 1 };
    uint32_t s, x;

    add_param(v->m, "s", "f32[2]", TLMC_PARAM_STATE);
    add_param(v->m, "w", "f32[2]", TLMC_PARAM_TRAINED);
    begin(v, TLMC_TRAIN);
    x = add_input(v->m, v->form, "x", "f32[2]");
    s = leaf(v->g, TLMC_OP_STATE, 0, "f32[2]");
    tlmc_build2(v->g, TLMC_OP_STORE, s, tlmc_build1(v->g, TLMC_OP_EXP, x));
    v->form->total_loss = NODE(v->g, "reduce_sum", "axes=0", x);
    grad.value = tlmc_build1(v->g, TLMC_OP_TANH, x);
    v->form->grads = &grad;
    v->form->grad_count = 1;
    run(v, tlmc_pass_dce);
    assert_int_equal(count_ops(v->g, TLMC_OP_STORE), 1);
    assert_int_equal(count_ops(v->g, TLMC_OP_EXP), 1);
    assert_int_equal(op_of(v->g, v->form->total_loss), TLMC_OP_REDUCE_SUM);
    assert_int_equal(op_of(v->g, v->form->grads[0].value), TLMC_OP_TANH);
}

/* ---- cse */

static void cse_merges_equal_nodes(void **state)
{
    struct world *v = *state;
    uint32_t x, a, b, c, d;

    begin(v, TLMC_INFER);
    x = add_input(v->m, v->form, "x", "f32[2]");
    a = tlmc_build_scale(v->g, x, 2);
    b = tlmc_build_scale(v->g, x, 2);
    c = tlmc_build_scale(v->g, x, 3);
    d = tlmc_build2(v->g, TLMC_OP_MUL, tlmc_build2(v->g, TLMC_OP_ADD, a, b), c);
    output(v, d);
    run_to_rest(v, tlmc_pass_cse);
    assert_int_equal(count_ops(v->g, TLMC_OP_SCALE), 2);
    d = in_of(v->g, out(v, 0), 0);
    assert_int_equal(in_of(v->g, d, 0), in_of(v->g, d, 1));
}

static void cse_tells_bits_apart(void **state)
{
    struct world *v = *state;
    const struct tlmc_type type = ty("f32[]");
    const double values[] = { 0.0, -0.0, NAN, NAN };
    uint32_t i;

    begin(v, TLMC_INFER);
    for (i = 0; i < 4; i++)
        output(v, tlmc_build_tensor(v->g, &type, &values[i]));
    run_to_rest(v, tlmc_pass_cse);
    assert_int_not_equal(out(v, 0), out(v, 1)); /* +0 and -0 */
    assert_int_equal(out(v, 2), out(v, 3));
}

static void cse_leaves_random_and_updates_alone(void **state)
{
    struct world *v = *state;
    uint32_t s, a, b;

    add_param(v->m, "s", "f32[2]", TLMC_PARAM_STATE);
    begin(v, TLMC_TRAIN);
    s = leaf(v->g, TLMC_OP_STATE, 0, "f32[2]");
    a = node(v->g, "rand_uniform", "shape=2 site=0", 0, NULL);
    b = node(v->g, "rand_uniform", "shape=2 site=0", 0, NULL);
    output(v, tlmc_build2(v->g, TLMC_OP_SUB, a, b));
    tlmc_build2(v->g, TLMC_OP_ACCUMULATE, s, a);
    tlmc_build2(v->g, TLMC_OP_ACCUMULATE, s, a);
    tlmc_pass_cse(v->m, NULL);
    assert_int_equal(count_ops(v->g, TLMC_OP_RAND_UNIFORM), 2);
    assert_int_equal(count_ops(v->g, TLMC_OP_ACCUMULATE), 2);
}

static void cse_keeps_the_update_phase_apart(void **state)
{
    struct world *v = *state;
    uint32_t x, a, b, c;

    begin(v, TLMC_TRAIN);
    x = add_input(v->m, v->form, "x", "f32[2]");
    a = tlmc_build1(v->g, TLMC_OP_EXP, x);
    v->g->phase = TLMC_BACKWARD;
    b = tlmc_build1(v->g, TLMC_OP_EXP, x);
    v->g->phase = TLMC_UPDATE_PHASE;
    c = tlmc_build1(v->g, TLMC_OP_EXP, x);
    output(v, a);
    output(v, b);
    output(v, c);
    run(v, tlmc_pass_cse);
    assert_int_equal(out(v, 0), out(v, 1));
    assert_int_not_equal(out(v, 0), out(v, 2));
}

/* ---- canonical */

static void moves_of_moves(void **state)
{
    struct world *v = *state;
    uint32_t x, y;

    begin(v, TLMC_INFER);
    x = add_input(v->m, v->form, "x", "f32[2, 3, 4]");
    y = NODE(v->g, "permute", "perm=1,2,0", NODE(v->g, "permute", "perm=2,0,1", x));
    output(v, y); /* the identity */
    y = NODE(v->g, "permute", "perm=1,0,2", NODE(v->g, "permute", "perm=2,0,1", x));
    output(v, y);
    y = NODE(v->g, "reshape", "shape=24", NODE(v->g, "reshape", "shape=6,4", x));
    output(v, y);
    y = NODE(v->g, "broadcast", "shape=5,2,3,4", NODE(v->g, "broadcast", "shape=1,2,3,4", x));
    output(v, y);
    y = NODE(v->g, "detach", "", NODE(v->g, "neg", "", NODE(v->g, "neg", "", x)));
    output(v, y);
    y = NODE(v->g, "concat", "axis=0",
             NODE(v->g, "slice", "starts=0,0,0 stops=2,3,4 steps=1,1,1", x));
    output(v, NODE(v->g, "cast", "dtype=f32", y));
    run_to_rest(v, tlmc_pass_canonical);
    x = v->form->inputs.items[0].value;
    assert_int_equal(out(v, 0), x);
    assert_int_equal(in_of(v->g, out(v, 1), 0), x);
    assert_type(v->g, out(v, 1), "f32[2, 4, 3]");
    assert_int_equal(in_of(v->g, out(v, 2), 0), x);
    assert_int_equal(in_of(v->g, out(v, 3), 0), x);
    assert_int_equal(out(v, 4), x);
    assert_int_equal(out(v, 5), x);
    assert_int_equal(v->g->node_count, 4);
}

/* A transpose for products stays one; if something else reads it too, one move is made of both. */
static void transposes_for_products_stay(void **state)
{
    struct world *v = *state;
    uint32_t x, q, y, t;

    begin(v, TLMC_INFER);
    x = add_input(v->m, v->form, "x", "f32[2, 3, 4]");
    q = add_input(v->m, v->form, "q", "f32[3, 5, 4]");
    y = NODE(v->g, "permute", "perm=1,0,2", x);
    t = NODE(v->g, "permute", "perm=0,2,1", y);
    output(v, tlmc_build2(v->g, TLMC_OP_MATMUL, q, t));
    output(v, NODE(v->g, "permute", "perm=0,2,1", t)); /* y again */
    t = NODE(v->g, "permute", "perm=0,2,1", y);
    output(v, tlmc_build2(v->g, TLMC_OP_MATMUL, q, t));
    output(v, tlmc_build1(v->g, TLMC_OP_NEG, t));
    run_to_rest(v, tlmc_pass_canonical);
    x = v->form->inputs.items[0].value;
    y = out(v, 1);
    assert_int_equal(in_of(v->g, y, 0), x);
    t = in_of(v->g, out(v, 0), 1);
    assert_int_equal(op_of(v->g, t), TLMC_OP_PERMUTE);
    assert_int_equal(in_of(v->g, t, 0), y);
    t = in_of(v->g, out(v, 2), 1);
    assert_int_equal(t, in_of(v->g, out(v, 3), 0));
    assert_int_equal(in_of(v->g, t, 0), x);
}

static void a_permute_of_unit_axes_is_a_view(void **state)
{
    struct world *v = *state;
    uint32_t x;

    begin(v, TLMC_INFER);
    x = add_input(v->m, v->form, "x", "f32[2, 1, 4]");
    output(v, NODE(v->g, "permute", "perm=1,0,2", x));
    output(v, NODE(v->g, "permute", "perm=2,1,0", x));
    run_to_rest(v, tlmc_pass_canonical);
    assert_int_equal(op_of(v->g, out(v, 0)), TLMC_OP_RESHAPE);
    assert_type(v->g, out(v, 0), "f32[1, 2, 4]");
    assert_int_equal(op_of(v->g, out(v, 1)), TLMC_OP_PERMUTE);
}

static void a_transposed_product(void **state)
{
    struct world *v = *state;
    uint32_t a, b, c;

    begin(v, TLMC_INFER);
    a = add_input(v->m, v->form, "a", "f32[3, 2]");
    b = add_input(v->m, v->form, "b", "f32[3, 4]");
    c = tlmc_build_matmul(v->g, tlmc_build_transpose(v->g, a), b);
    output(v, tlmc_build_transpose(v->g, c));
    run_to_rest(v, tlmc_pass_canonical);
    c = out(v, 0);
    assert_int_equal(op_of(v->g, c), TLMC_OP_MATMUL);
    assert_type(v->g, c, "f32[4, 2]");
    assert_int_equal(op_of(v->g, in_of(v->g, c, 0)), TLMC_OP_PERMUTE); /* b^T */
    assert_int_equal(op_of(v->g, in_of(v->g, c, 1)), TLMC_OP_INPUT);   /* a^T^T */
}

static void a_product_with_another_reader_is_not_made_twice(void **state)
{
    struct world *v = *state;
    uint32_t a, c;

    begin(v, TLMC_INFER);
    a = add_input(v->m, v->form, "a", "f32[3, 3]");
    c = tlmc_build_matmul(v->g, a, a);
    output(v, tlmc_build_transpose(v->g, c));
    output(v, c);
    c = tlmc_build_matmul(v->g, a, c);
    output(v, tlmc_build_transpose(v->g, NODE(v->g, "detach", "", c)));
    output(v, c);
    run_to_rest(v, tlmc_pass_canonical);
    assert_int_equal(count_ops(v->g, TLMC_OP_MATMUL), 2);
}

/* Each of these changes a bit for some operand: x + 0 (-0), 0 x (NaN), x / 1 and max(x, x) are left
   to nobody. */
static void what_would_change_bits_stays(void **state)
{
    struct world *v = *state;
    const struct tlmc_type type = ty("f32[2]");
    uint32_t x, zero;

    begin(v, TLMC_INFER);
    x = add_input(v->m, v->form, "x", "f32[2]");
    zero = tlmc_build_full(v->g, &type, 0);
    output(v, tlmc_build2(v->g, TLMC_OP_ADD, x, zero));
    output(v, tlmc_build2(v->g, TLMC_OP_MUL, x, zero));
    output(v, tlmc_build_scale(v->g, tlmc_build_scale(v->g, x, 2), 3));
    run_to_rest(v, tlmc_pass_canonical);
    assert_int_equal(op_of(v->g, out(v, 0)), TLMC_OP_ADD);
    assert_int_equal(op_of(v->g, out(v, 1)), TLMC_OP_MUL);
    assert_int_equal(count_ops(v->g, TLMC_OP_SCALE), 2);
}

/* neg(neg(s)) is the old value of s; s itself is overwritten before the reader. */
static void a_value_does_not_become_overwritten_memory(void **state)
{
    struct world *v = *state;
    uint32_t x, s, old;

    add_param(v->m, "s", "f32[2, 3]", TLMC_PARAM_STATE);
    begin(v, TLMC_INFER);
    x = add_input(v->m, v->form, "x", "f32[2, 3]");
    s = leaf(v->g, TLMC_OP_STATE, 0, "f32[2, 3]");
    old = NODE(v->g, "neg", "", NODE(v->g, "neg", "", s));
    tlmc_build2(v->g, TLMC_OP_STORE, s, x);
    output(v, tlmc_build2(v->g, TLMC_OP_ADD, old, x));
    run_to_rest(v, tlmc_pass_canonical);
    assert_int_equal(count_ops(v->g, TLMC_OP_NEG), 2);
}

static void a_value_is_not_read_after_the_write(void **state)
{
    struct world *v = *state;
    uint32_t x, s, t;

    add_param(v->m, "s", "f32[2, 3, 4]", TLMC_PARAM_STATE);
    begin(v, TLMC_INFER);
    x = add_input(v->m, v->form, "x", "f32[2, 3, 4]");
    s = leaf(v->g, TLMC_OP_STATE, 0, "f32[2, 3, 4]");
    t = tlmc_build_transpose(v->g, s);
    tlmc_build2(v->g, TLMC_OP_STORE, s, x);
    output(v, NODE(v->g, "permute", "perm=1,0,2", t)); /* in one step it would read the new value */
    output(v, tlmc_build_transpose(v->g, t));          /* and so would the identity */
    run_to_rest(v, tlmc_pass_canonical);
    assert_int_equal(count_ops(v->g, TLMC_OP_PERMUTE), 3);
}

/* An output that was the parameter before the update does not become the parameter after it; a
   backward node's operand may. */
static void a_result_does_not_become_an_updated_parameter(void **state)
{
    struct world *v = *state;
    uint32_t w, back, lr;

    add_param(v->m, "w", "f32[2, 3]", TLMC_PARAM_TRAINED);
    begin(v, TLMC_TRAIN);
    w = leaf(v->g, TLMC_OP_PARAM, 0, "f32[2, 3]");
    lr = tlmc_build_const(v->g, TLMC_F32, 0.1);
    back = tlmc_build_transpose(v->g, tlmc_build_transpose(v->g, w));
    output(v, NODE(v->g, "reshape", "shape=6", back));
    back =
        tlmc_build1(v->g, TLMC_OP_EXP, tlmc_build_transpose(v->g, tlmc_build_transpose(v->g, w)));
    v->g->phase = TLMC_UPDATE_PHASE;
    NODE(v->g, "sgd_update", "momentum=0 weight_decay=0", w, back, lr, lr);
    run_to_rest(v, tlmc_pass_canonical);
    assert_int_equal(op_of(v->g, in_of(v->g, out(v, 0), 0)), TLMC_OP_PERMUTE);
    assert_int_equal(count_ops(v->g, TLMC_OP_PERMUTE), 2);
}

/* ---- fold */

static void folds_integers_and_comparisons(void **state)
{
    struct world *v = *state;
    const struct tlmc_type four = ty("i32[4, 4]");
    uint32_t rows, columns, mask;

    begin(v, TLMC_INFER);
    rows = node(v->g, "iota", "start=0 shape=4,1", 0, NULL);
    columns = node(v->g, "iota", "start=0 shape=4", 0, NULL);
    mask = tlmc_build2(v->g, TLMC_OP_GE, tlmc_build_broadcast(v->g, rows, &four),
                       tlmc_build_broadcast(v->g, columns, &four));
    output(v, mask);
    run_to_rest(v, tlmc_pass_fold);
    assert_type(v->g, out(v, 0), "bool[4, 4]");
    assert_true(datum(v->g, out(v, 0), 4) == 1); /* row 1, column 0 */
    assert_true(datum(v->g, out(v, 0), 1) == 0); /* row 0, column 1 */
    assert_int_equal(v->g->node_count, 1);
}

static void folds_in_binary32(void **state)
{
    struct world *v = *state;
    const struct tlmc_type f = ty("f32[]");
    const double a = 0.1, b = 0.2, big = 3e38, tiny = 1e-45;
    uint32_t x, y;

    begin(v, TLMC_INFER);
    x = tlmc_build_tensor(v->g, &f, &a);
    y = tlmc_build_tensor(v->g, &f, &b);
    output(v, tlmc_build2(v->g, TLMC_OP_ADD, x, y));
    output(v, tlmc_build2(v->g, TLMC_OP_DIV, x, y));
    output(v, tlmc_build1(v->g, TLMC_OP_SQRT, y));
    x = tlmc_build_tensor(v->g, &f, &big);
    output(v, tlmc_build2(v->g, TLMC_OP_ADD, x, x));
    output(v, tlmc_build1(v->g, TLMC_OP_NEG, tlmc_build_const(v->g, TLMC_F32, 0)));
    output(v, tlmc_build_scale(v->g, tlmc_build_tensor(v->g, &f, &tiny), 0.5));
    run_to_rest(v, tlmc_pass_fold);
    assert_true(datum(v->g, out(v, 0), 0) == (double)((float)a + (float)b));
    assert_true(datum(v->g, out(v, 1), 0) == (double)((float)a / (float)b));
    assert_true(datum(v->g, out(v, 2), 0) == (double)sqrtf((float)b));
    assert_true(isinf(datum(v->g, out(v, 3), 0)));
    assert_true(signbit(datum(v->g, out(v, 4), 0)) != 0);
    assert_true(datum(v->g, out(v, 5), 0) == 0); /* half of the least subnormal: to even */
}

static void integers_wrap_and_casts_clamp(void **state)
{
    struct world *v = *state;
    const struct tlmc_type i = ty("i32[]"), f = ty("f32[4]");
    const double most = INT32_MAX, floats[] = { NAN, 3e9, -2.9, -INFINITY };
    uint32_t x;

    begin(v, TLMC_INFER);
    x = tlmc_build_tensor(v->g, &i, &most);
    output(v, tlmc_build2(v->g, TLMC_OP_ADD, x, x));
    output(v, tlmc_build2(v->g, TLMC_OP_MUL, x, x));
    output(v, tlmc_build_cast(v->g, tlmc_build_tensor(v->g, &f, floats), TLMC_I32));
    output(v, tlmc_build_cast(v->g, x, TLMC_F32));
    run_to_rest(v, tlmc_pass_fold);
    assert_true(datum(v->g, out(v, 0), 0) == -2);
    assert_true(datum(v->g, out(v, 1), 0) == 1);
    assert_true(datum(v->g, out(v, 2), 0) == 0);
    assert_true(datum(v->g, out(v, 2), 1) == INT32_MAX);
    assert_true(datum(v->g, out(v, 2), 2) == -2);
    assert_true(datum(v->g, out(v, 2), 3) == INT32_MIN);
    assert_true(datum(v->g, out(v, 3), 0) == 2147483648.0);
}

static void folds_moves(void **state)
{
    struct world *v = *state;
    const struct tlmc_type type = ty("f32[2, 3]");
    const double data[] = { 0, 1, 2, 3, 4, 5 };
    const double turned[] = { 0, 3, 1, 4, 2, 5 };
    uint32_t x, i;

    begin(v, TLMC_INFER);
    x = tlmc_build_tensor(v->g, &type, data);
    output(v, tlmc_build_transpose(v->g, x));
    output(v, NODE(v->g, "slice", "starts=1,0 stops=2,3 steps=1,2", x));
    output(v, NODE(v->g, "reshape", "shape=3,2", x));
    run_to_rest(v, tlmc_pass_fold);
    for (i = 0; i < 6; i++)
        assert_true(datum(v->g, out(v, 0), i) == turned[i]);
    assert_true(datum(v->g, out(v, 1), 0) == 3 && datum(v->g, out(v, 1), 1) == 5);
    assert_true(datum(v->g, out(v, 2), 5) == 5);
}

/* One number all over stays one number, however large; a large table is not made. */
static void folding_makes_no_large_tables(void **state)
{
    struct world *v = *state;
    const struct tlmc_type large = ty("f32[1000, 1000]"), wide = ty("i32[100000]");
    uint32_t x;

    begin(v, TLMC_INFER);
    x = tlmc_build_full(v->g, &large, 2);
    output(v, tlmc_build2(v->g, TLMC_OP_MUL, x, tlmc_build_full(v->g, &large, 3)));
    x = node(v->g, "iota", "start=0 shape=100000", 0, NULL);
    output(v, tlmc_build2(v->g, TLMC_OP_ADD, x, tlmc_build_full(v->g, &wide, 3)));
    run_to_rest(v, tlmc_pass_fold);
    assert_int_equal(op_of(v->g, out(v, 0)), TLMC_OP_BROADCAST);
    assert_true(datum(v->g, in_of(v->g, out(v, 0), 0), 0) == 6);
    assert_int_equal(op_of(v->g, out(v, 1)), TLMC_OP_ADD);
}

static void what_belongs_to_a_kernel_is_not_folded(void **state)
{
    struct world *v = *state;
    uint32_t x;

    begin(v, TLMC_INFER);
    x = tlmc_build_const(v->g, TLMC_F32, 0.5);
    output(v, tlmc_build1(v->g, TLMC_OP_EXP, x));
    output(v, NODE(v->g, "reduce_sum", "axes=0", NODE(v->g, "reshape", "shape=1", x)));
    output(v, NODE(v->g, "copy", "", x));
    run_to_rest(v, tlmc_pass_fold);
    assert_int_equal(op_of(v->g, out(v, 0)), TLMC_OP_EXP);
    assert_int_equal(op_of(v->g, out(v, 1)), TLMC_OP_REDUCE_SUM);
    assert_int_equal(op_of(v->g, out(v, 2)), TLMC_OP_COPY);
}

/* ---- the table, the printer */

static void leaving_out_cse_leaves_copies(void **state)
{
    struct world *v = *state;
    const char *off[] = { "cse", NULL };
    struct tlmc_pass_options options = { .off = off };
    uint32_t x;

    begin(v, TLMC_INFER);
    x = add_input(v->m, v->form, "x", "f32[2]");
    output(v, tlmc_build2(v->g, TLMC_OP_ADD, tlmc_build1(v->g, TLMC_OP_EXP, x),
                          tlmc_build1(v->g, TLMC_OP_EXP, x)));
    assert_true(tlmc_run_passes(v->m, &options, NULL));
    assert_int_equal(count_ops(v->g, TLMC_OP_EXP), 2);
    assert_true(tlmc_run_passes(v->m, NULL, NULL));
    assert_int_equal(count_ops(v->g, TLMC_OP_EXP), 1);
}

static void rows_of_the_table(void **state)
{
    const struct tlmc_pass *pass, *other;

    (void)state;
    for (pass = tlmc_passes; pass->name; pass++) {
        assert_non_null(pass->run);
        assert_true(strlen(pass->title) > 0);
        for (other = tlmc_passes; other != pass; other++)
            assert_string_not_equal(other->name, pass->name);
    }
    assert_null(pass->run);
}

static void the_printed_form(void **state)
{
    struct world *v = *state;
    struct tlmc_graph *g;
    uint32_t x, w, y;

    begin(v, TLMC_INFER);
    g = v->g;
    x = add_input(v->m, v->form, "x", "f32[2, 3]");
    g->scope = "ln";
    w = leaf(g, TLMC_OP_PARAM, 4, "f32[3]");
    y = node(g, "const", "shape=3 dtype=f32 data=0.1,-inf,nan", 0, NULL);
    y = NODE(g, "layer_norm", "eps=1e-5", x, w, y);
    g->values[y].name = "h";
    g->values[y].is_gradient = true;
    NODE(g, "store", "", y, y);
    tlmc_graph_print(g, &v->text);
    assert_string_equal(tlmc_strbuf_text(&v->text),
                        "  forward:\n"
                        "  %0 = input(0) : f32[2, 3]   # 'x'\n"
                        "  %1 = param(4) : f32[3]   # ln\n"
                        "  %2 = const() {data = [0.1, -inf, nan]} : f32[3]   # ln\n"
                        "  %3, %4, %5 = layer_norm(%0, %1, %2) {eps = 1e-05} : f32[2, 3], f32[2], "
                        "f32[2]   # ln grad of 'h'\n"
                        "  store(%3, %3)   # ln\n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(dce_drops_what_nothing_needs),
        TEST(dce_asks_inference_only_for_what_it_reads),
        TEST(dce_keeps_updates_losses_and_gradients),
        TEST(cse_merges_equal_nodes),
        TEST(cse_tells_bits_apart),
        TEST(cse_leaves_random_and_updates_alone),
        TEST(cse_keeps_the_update_phase_apart),
        TEST(moves_of_moves),
        TEST(transposes_for_products_stay),
        TEST(a_permute_of_unit_axes_is_a_view),
        TEST(a_transposed_product),
        TEST(a_product_with_another_reader_is_not_made_twice),
        TEST(what_would_change_bits_stays),
        TEST(a_value_does_not_become_overwritten_memory),
        TEST(a_value_is_not_read_after_the_write),
        TEST(a_result_does_not_become_an_updated_parameter),
        TEST(folds_integers_and_comparisons),
        TEST(folds_in_binary32),
        TEST(integers_wrap_and_casts_clamp),
        TEST(folds_moves),
        TEST(folding_makes_no_large_tables),
        TEST(what_belongs_to_a_kernel_is_not_folded),
        TEST(leaving_out_cse_leaves_copies),
        TEST(rows_of_the_table),
        TEST(the_printed_form),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
