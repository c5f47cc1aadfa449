/* Reverse and forward mode as graph construction: order of contributions, what is shared, what
   stops a gradient, and for every rule that its nodes are sound and its gradients have the
   operands' types.  Numbers are checked by the gradient tests in tests/ops. */
#include "ir_help.h"

static int setup(void **state)
{
    struct tlmc_arena *arena = calloc(1, sizeof *arena);

    *state = tlmc_graph_new(arena);
    return 0;
}

static int teardown(void **state)
{
    struct tlmc_graph *g = *state;
    struct tlmc_arena *arena = g->arena;

    tlmc_arena_free(arena);
    free(arena);
    return 0;
}

static uint32_t sum_all(struct tlmc_graph *g, uint32_t x)
{
    const int64_t all[TLMC_MAX_RANK] = { 0, 1, 2, 3, 4, 5, 6, 7 };

    return tlmc_build_reduce(g, TLMC_OP_REDUCE_SUM, x, (uint32_t)tlmc_value_type(g, x)->rank, all,
                             false);
}

static uint32_t gradient(struct tlmc_graph *g, uint32_t loss, uint32_t of)
{
    uint32_t out;

    tlmc_autodiff(g, loss, &of, 1, &out);
    assert_null(tlmc_graph_verify(g));
    return out;
}

static void later_consumers_come_first(void **state)
{
    struct tlmc_graph *g = *state;
    const uint32_t x = leaf(g, TLMC_OP_PARAM, 0, "f32[2]");
    const uint32_t a = tlmc_build1(g, TLMC_OP_RELU, x);
    const uint32_t b = tlmc_build1(g, TLMC_OP_TANH, x);
    const uint32_t c = tlmc_build1(g, TLMC_OP_EXP, x);
    const uint32_t y = tlmc_build2(g, TLMC_OP_ADD, tlmc_build2(g, TLMC_OP_ADD, a, b), c);
    const uint32_t dx = gradient(g, sum_all(g, y), x);

    /* (exp + tanh) + relu, and no zero anywhere */
    assert_int_equal(op_of(g, dx), TLMC_OP_ADD);
    assert_int_equal(op_of(g, in_of(g, dx, 1)), TLMC_OP_RELU_VJP);
    assert_int_equal(op_of(g, in_of(g, in_of(g, dx, 0), 1)), TLMC_OP_TANH_VJP);
    assert_int_equal(op_of(g, in_of(g, in_of(g, dx, 0), 0)), TLMC_OP_EXP_VJP);
    assert_int_equal(count_ops(g, TLMC_OP_CONST), 1); /* the seed */
}

static void operands_of_one_node_in_order(void **state)
{
    struct tlmc_graph *g = *state;
    const uint32_t x = leaf(g, TLMC_OP_PARAM, 0, "f32[2]");
    const uint32_t y = tlmc_build2(g, TLMC_OP_DIV, x, x);
    const uint32_t dx = gradient(g, sum_all(g, y), x);

    assert_int_equal(op_of(g, dx), TLMC_OP_ADD);
    assert_int_equal(op_of(g, in_of(g, dx, 0)), TLMC_OP_DIV);
    assert_int_equal(op_of(g, in_of(g, dx, 1)), TLMC_OP_NEG);
}

static void a_tied_table_is_the_base_of_its_scatter(void **state)
{
    struct tlmc_graph *g = *state;
    const uint32_t ids = leaf(g, TLMC_OP_INPUT, 0, "i32[4]");
    const uint32_t table = leaf(g, TLMC_OP_PARAM, 0, "f32[9, 3]");
    const uint32_t x = NODE(g, "embedding", "", ids, table);
    const uint32_t y = tlmc_build_matmul(g, x, tlmc_build_transpose(g, table));
    const uint32_t d = gradient(g, sum_all(g, y), table);

    assert_int_equal(op_of(g, d), TLMC_OP_SCATTER_ADD);
    assert_int_equal(op_of(g, in_of(g, d, 0)), TLMC_OP_PERMUTE); /* from the head, not zeros */
    assert_int_equal(in_of(g, d, 1), ids);
    assert_int_equal(count_ops(g, TLMC_OP_ADD), 0);
}

static void the_first_scatter_starts_from_zero(void **state)
{
    struct tlmc_graph *g = *state;
    const uint32_t index = leaf(g, TLMC_OP_INPUT, 0, "i32[4]");
    const uint32_t x = leaf(g, TLMC_OP_PARAM, 0, "f32[9, 3]");
    const uint32_t a = NODE(g, "gather", "axis=1", x, index);
    const uint32_t b = NODE(g, "gather", "axis=0", x, index);
    const uint32_t loss = tlmc_build2(g, TLMC_OP_ADD, sum_all(g, a), sum_all(g, b));
    const uint32_t d = gradient(g, loss, x);

    assert_int_equal(tlmc_node_int(tlmc_value_node(g, d), TLMC_A_AXIS), 1);
    assert_int_equal(op_of(g, in_of(g, d, 0)), TLMC_OP_SCATTER_ADD);
    assert_int_equal(op_of(g, in_of(g, in_of(g, d, 0), 0)), TLMC_OP_BROADCAST);
}

static void only_what_is_wanted(void **state)
{
    struct tlmc_graph *g = *state;
    const uint32_t x = leaf(g, TLMC_OP_INPUT, 0, "f32[2, 3]");
    const uint32_t w = leaf(g, TLMC_OP_PARAM, 0, "f32[3, 4]");
    const uint32_t v = leaf(g, TLMC_OP_PARAM, 1, "f32[3]");
    const uint32_t y = tlmc_build_matmul(g, x, w);
    const uint32_t wanted[] = { w, v };
    uint32_t out[2];

    tlmc_autodiff(g, sum_all(g, y), wanted, 2, out);
    assert_int_equal(op_of(g, out[0]), TLMC_OP_MATMUL);
    assert_int_equal(op_of(g, in_of(g, out[0], 0)), TLMC_OP_PERMUTE);
    assert_int_equal(out[1], TLMC_NONE);               /* not reached */
    assert_int_equal(count_ops(g, TLMC_OP_MATMUL), 2); /* none for x */
}

static void what_stops_a_gradient(void **state)
{
    static const char *const stops[] = { "detach", "floor", "ceil", "round" };
    struct tlmc_graph *g = *state;
    const uint32_t x = leaf(g, TLMC_OP_PARAM, 0, "f32[2]");
    uint32_t y;
    size_t i;

    for (i = 0; i < sizeof stops / sizeof *stops; i++) {
        y = NODE(g, stops[i], "", x);
        assert_int_equal(gradient(g, sum_all(g, y), x), TLMC_NONE);
        g = tlmc_graph_new(g->arena);
        leaf(g, TLMC_OP_PARAM, 0, "f32[2]");
    }
    y = NODE(g, "cast", "dtype=f32", NODE(g, "cast", "dtype=i32", x)); /* through whole numbers */
    assert_int_equal(gradient(g, sum_all(g, y), x), TLMC_NONE);
}

/* Mean and rstd are there for the backward rule; no gradient flows through them. */
static void further_results_carry_nothing(void **state)
{
    struct tlmc_graph *g = *state;
    const uint32_t x = leaf(g, TLMC_OP_PARAM, 0, "f32[2, 3]");
    const uint32_t w = leaf(g, TLMC_OP_PARAM, 1, "f32[3]");
    const uint32_t y = NODE(g, "layer_norm", "eps=1e-5", x, w, w);

    assert_int_equal(gradient(g, sum_all(g, y + 1), x), TLMC_NONE);
}

static void backward_nodes_know_where_they_come_from(void **state)
{
    struct tlmc_graph *g = *state;
    const uint32_t x = leaf(g, TLMC_OP_PARAM, 0, "f32[2]");
    uint32_t y, loss, dx;

    g->span = (struct tlmc_span){ 1, 10, 20 };
    g->scope = "h.0";
    g->values[x].name = "x";
    y = tlmc_build1(g, TLMC_OP_RELU, x);
    g->span = (struct tlmc_span){ 0, 0, 0 };
    g->scope = "";
    loss = sum_all(g, y);
    dx = gradient(g, loss, x);
    assert_int_equal(tlmc_value_node(g, dx)->phase, TLMC_BACKWARD);
    assert_int_equal(tlmc_value_node(g, dx)->span.begin, 10);
    assert_string_equal(tlmc_value_node(g, dx)->scope, "h.0");
    assert_string_equal(g->values[dx].name, "x");
    assert_true(g->values[dx].is_gradient);
    assert_int_equal(g->phase, TLMC_FORWARD); /* the stamps are put back */
    assert_string_equal(g->scope, "");
}

static void a_broadcast_batch_is_summed(void **state)
{
    struct tlmc_graph *g = *state;
    const uint32_t a = leaf(g, TLMC_OP_INPUT, 0, "f32[5, 6, 2, 3]");
    const uint32_t b = leaf(g, TLMC_OP_PARAM, 0, "f32[6, 3, 4]");
    const uint32_t y = tlmc_build_matmul(g, a, b);
    const uint32_t d = gradient(g, sum_all(g, y), b);

    assert_int_equal(op_of(g, d), TLMC_OP_REDUCE_SUM);
    assert_type(g, d, "f32[6, 3, 4]");
}

static void seeds_of_one_output_add_up(void **state)
{
    struct tlmc_graph *g = *state;
    const uint32_t x = leaf(g, TLMC_OP_PARAM, 0, "f32[2]");
    const uint32_t y = tlmc_build1(g, TLMC_OP_RELU, x);
    const uint32_t s = leaf(g, TLMC_OP_INPUT, 0, "f32[2]"), t = leaf(g, TLMC_OP_INPUT, 1, "f32[2]");
    const uint32_t outputs[] = { y, y }, seeds[] = { s, t };
    uint32_t dx, count;

    tlmc_vjp(g, outputs, seeds, 2, &x, 1, &dx);
    assert_int_equal(op_of(g, in_of(g, dx, 0)), TLMC_OP_ADD);
    assert_int_equal(in_of(g, in_of(g, dx, 0), 0), s);
    count = g->node_count;
    tlmc_vjp(g, &y, &s, 1, &y, 1, &dx); /* a wanted output is its own seed, and needs no node */
    assert_int_equal(dx, s);
    assert_int_equal(g->node_count, count);
}

/* One node of every op with a rule; '-' marks operands without a derivative. */
static const struct {
    const char *op, *attrs, *operands;
} samples[] = {
    { "add", "", "f32[2] f32[2]" },
    { "sub", "", "f32[2] f32[2]" },
    { "mul", "", "f32[2] f32[2]" },
    { "div", "", "f32[2] f32[2]" },
    { "pow", "", "f32[2] f32[2]" },
    { "max", "", "f32[2] f32[2]" },
    { "min", "", "f32[2] f32[2]" },
    { "where", "", "-bool[2] f32[2] f32[2]" },
    { "cast", "dtype=f64", "f32[2]" },
    { "reshape", "shape=3,2", "f32[2, 3]" },
    { "copy", "", "f32[2]" },
    { "permute", "perm=2,0,1", "f32[2, 3, 4]" },
    { "broadcast", "shape=5,2,3", "f32[2, 1]" },
    { "concat", "axis=1", "f32[2, 3] f32[2, 0] f32[2, 4]" },
    { "slice", "starts=1,0 stops=5,6 steps=2,4", "f32[5, 6]" },
    { "slice_vjp", "shape=5,6 starts=1,0 stops=5,6 steps=2,4", "f32[2, 2]" },
    { "reduce_sum", "axes=1,2", "f32[2, 3, 4]" },
    { "reduce_sum", "axes=0 keepdims=1", "f32[2, 3]" },
    { "reduce_mean", "axes=0,1", "f32[2, 3]" },
    { "reduce_max", "axes=1", "f32[2, 3]" },
    { "reduce_min", "axes=0 keepdims=1", "f32[2, 3]" },
    { "global_norm", "", "f32[2, 3] f32[] f32[4]" },
    { "matmul", "", "f32[2, 3] f32[3, 4]" },
    { "matmul", "", "f32[5, 1, 2, 3] f32[6, 3, 4]" },
    { "softmax", "", "f32[2, 3]" },
    { "softmax", "", "f32[2, 3] -bool[2, 3]" },
    { "log_softmax", "", "f32[2, 3]" },
    { "layer_norm", "eps=1e-5", "f32[5, 2, 3] f32[3] f32[3]" },
    { "mse_loss", "", "f32[2, 3] f32[2, 3]" },
    { "mse_loss", "", "f32[] f32[]" },
    { "cross_entropy", "", "f32[2, 3] -i32[2]" },
    { "gather", "axis=1", "f32[5, 6] -i32[2, 3]" },
    { "embedding", "", "-i32[2, 3] f32[9, 4]" },
    { "scatter_add", "axis=1", "f32[5, 6] -i32[3] f32[5, 3]" },
};

enum { MOST = 4 };

struct sample {
    uint32_t y, operands[MOST], real[MOST], count, real_count;
};

static struct sample build(struct tlmc_graph *g, const char *op, const char *attrs,
                           const char *operands)
{
    struct sample s = { .count = 0 };

    for (operands += strspn(operands, " "); *operands; operands += strspn(operands, " ")) {
        const bool none = *operands == '-';
        struct tlmc_type type;

        operands += none;
        type = help_type(&operands);
        s.operands[s.count] = tlmc_build_leaf(g, TLMC_OP_PARAM, s.count, &type);
        if (!none)
            s.real[s.real_count++] = s.operands[s.count];
        s.count++;
    }
    s.y = node(g, op, attrs, s.count, s.operands);
    return s;
}

static uint32_t like(struct tlmc_graph *g, uint32_t value, uint32_t slot)
{
    const struct tlmc_type type = *tlmc_value_type(g, value);

    return tlmc_build_leaf(g, TLMC_OP_INPUT, slot, &type);
}

static void check_sample(struct tlmc_arena *arena, const char *op, const char *attrs,
                         const char *operands)
{
    struct tlmc_graph *g = tlmc_graph_new(arena);
    struct sample s = build(g, op, attrs, operands);
    uint32_t out[MOST], tangents[MOST], seed = like(g, s.y, 0), i;

    tlmc_vjp(g, &s.y, &seed, 1, s.real, s.real_count, out);
    for (i = 0; i < s.real_count; i++) {
        if (out[i] == TLMC_NONE)
            fail_msg("%s: no gradient of operand %u", op, i);
        assert_true(tlmc_type_equal(tlmc_value_type(g, out[i]), tlmc_value_type(g, s.real[i])));
    }
    assert_null(tlmc_graph_verify(g));
    g = tlmc_graph_new(arena); /* all tangents, then each alone */
    s = build(g, op, attrs, operands);
    for (i = 0; i < s.real_count; i++)
        tangents[i] = like(g, s.real[i], i);
    tlmc_jvp(g, s.real, tangents, s.real_count, &s.y, 1, out);
    assert_true(tlmc_type_equal(tlmc_value_type(g, out[0]), tlmc_value_type(g, s.y)));
    for (i = 0; i < s.real_count; i++) {
        tlmc_jvp(g, &s.real[i], &tangents[i], 1, &s.y, 1, out);
        if (out[0] == TLMC_NONE)
            fail_msg("%s: no tangent from operand %u", op, i);
        assert_true(tlmc_type_equal(tlmc_value_type(g, out[0]), tlmc_value_type(g, s.y)));
    }
    assert_null(tlmc_graph_verify(g));
}

static void every_rule_builds_sound_nodes(void **state)
{
    struct tlmc_graph *g = *state;
    size_t i;

    for (i = 0; i < sizeof samples / sizeof *samples; i++)
        check_sample(g->arena, samples[i].op, samples[i].attrs, samples[i].operands);
}

static void every_unary_op_has_its_derivative(void **state)
{
    struct tlmc_graph *arena_of = *state;
    unsigned op;

    for (op = 0; op < TLMC_OP_COUNT; op++) {
        const struct tlmc_op_info *info = tlmc_op_info((enum tlmc_op)op);
        struct tlmc_graph *g = tlmc_graph_new(arena_of->arena);
        const uint32_t x = leaf(g, TLMC_OP_PARAM, 0, "f32[2]");
        uint32_t seed, y, dx;

        if (!info->is_unary || info->is_vjp || op == TLMC_OP_FLOOR || op == TLMC_OP_CEIL ||
            op == TLMC_OP_ROUND)
            continue;
        y = node(g, info->name,
                 op == TLMC_OP_CLAMP        ? "min=-1 max=1"
                 : op == TLMC_OP_SCALE      ? "factor=2"
                 : op == TLMC_OP_SAFE_LOG   ? "eps=1e-6"
                 : op == TLMC_OP_LEAKY_RELU ? "negative_slope=0.01"
                 : op == TLMC_OP_ELU        ? "alpha=1"
                                            : "",
                 1, &x);
        seed = like(g, y, 0);
        tlmc_vjp(g, &y, &seed, 1, &x, 1, &dx);
        assert_int_equal(op_of(g, dx), info->vjp_op);
        assert_int_equal(in_of(g, dx, 0), seed);
        if (info->uses == TLMC_USES_X)
            assert_int_equal(in_of(g, dx, 1), x);
        if (info->uses == TLMC_USES_Y)
            assert_int_equal(in_of(g, dx, 1), y);
        assert_int_equal(tlmc_value_node(g, dx)->attr_count, tlmc_value_node(g, y)->attr_count);
        assert_null(tlmc_graph_verify(g));
    }
}

static void every_rule_is_sampled(void **state)
{
    static const struct {
        const char *op, *vjp, *jvp;
    } rows[] = {
#define UNARY(TAG, name, uses, attrs, policy)
#define OP(TAG, name, family, min, max, results, attrs, shape, vjp, jvp, policy) \
    { #name, #vjp, #jvp },
#include "ops.def"
    };
    size_t i, k;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool sampled = false;

        for (k = 0; k < sizeof samples / sizeof *samples; k++)
            sampled |= strcmp(samples[k].op, rows[i].op) == 0;
        assert_int_equal(strcmp(rows[i].vjp, "none") == 0, strcmp(rows[i].jvp, "none") == 0);
        if (!sampled && strcmp(rows[i].vjp, "none") != 0)
            fail_msg("no sample of '%s'", rows[i].op);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(later_consumers_come_first),
        TEST(operands_of_one_node_in_order),
        TEST(a_tied_table_is_the_base_of_its_scatter),
        TEST(the_first_scatter_starts_from_zero),
        TEST(only_what_is_wanted),
        TEST(what_stops_a_gradient),
        TEST(further_results_carry_nothing),
        TEST(backward_nodes_know_where_they_come_from),
        TEST(a_broadcast_batch_is_summed),
        TEST(seeds_of_one_output_add_up),
        TEST(every_rule_builds_sound_nodes),
        TEST(every_unary_op_has_its_derivative),
        cmocka_unit_test(every_rule_is_sampled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
