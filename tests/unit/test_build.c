/* The builders: what they build, and that those which would change nothing return their input. */
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

static void assert_ints(const struct tlmc_graph *g, uint32_t value, enum tlmc_attr_tag tag,
                        uint32_t count, const int64_t *ints)
{
    const struct tlmc_attr *attr = tlmc_node_attr(tlmc_value_node(g, value), tag);

    assert_non_null(attr);
    assert_int_equal(attr->count, count);
    assert_memory_equal(attr->v.ints, ints, count * sizeof *ints);
}

#define INTS(...) ((const int64_t[]){ __VA_ARGS__ })

static void no_change_no_node(void **state)
{
    struct tlmc_graph *g = *state;
    const uint32_t x = leaf(g, TLMC_OP_INPUT, 0, "f32[2, 3]");
    const struct tlmc_type same = *tlmc_value_type(g, x);
    const uint32_t before = g->node_count;

    assert_int_equal(tlmc_build_reshape(g, x, 2, INTS(2, 3)), x);
    assert_int_equal(tlmc_build_permute(g, x, INTS(0, 1)), x);
    assert_int_equal(tlmc_build_broadcast(g, x, &same), x);
    assert_int_equal(tlmc_build_unbroadcast(g, x, &same), x);
    assert_int_equal(tlmc_build_slice(g, x, INTS(0, 0), INTS(2, 3), INTS(1, 1)), x);
    assert_int_equal(tlmc_build_cast(g, x, TLMC_F32), x);
    assert_int_equal(tlmc_build_scale(g, x, 1), x);
    assert_int_equal(tlmc_build_reduce(g, TLMC_OP_REDUCE_SUM, x, 0, NULL, false), x);
    assert_int_equal(g->node_count, before);
}

static void constants(void **state)
{
    struct tlmc_graph *g = *state;
    const struct tlmc_type scalar = ty("f32[]"), matrix = ty("i32[2, 2]");
    uint32_t x = tlmc_build_full(g, &matrix, 7);

    assert_int_equal(op_of(g, x), TLMC_OP_BROADCAST);
    assert_type(g, x, "i32[2, 2]");
    assert_type(g, in_of(g, x, 0), "i32[]");
    x = tlmc_build_full(g, &scalar, 0.5);
    assert_int_equal(op_of(g, x), TLMC_OP_CONST);
    assert_true(tlmc_node_attr(tlmc_value_node(g, x), TLMC_A_DATA)->v.data[0] == 0.5);
    assert_type(g, leaf(g, TLMC_OP_SCALAR, 3, "f32[]"), "f32[]");
}

static void reductions(void **state)
{
    struct tlmc_graph *g = *state;
    const uint32_t x = leaf(g, TLMC_OP_INPUT, 0, "f32[2, 3, 4]");
    uint32_t y = tlmc_build_reduce(g, TLMC_OP_REDUCE_SUM, x, 2, INTS(0, 1), true);

    assert_int_equal(op_of(g, y), TLMC_OP_REDUCE_SUM); /* adjacent: one node */
    assert_type(g, y, "f32[1, 1, 4]");
    y = tlmc_build_reduce(g, TLMC_OP_REDUCE_MEAN, x, 2, INTS(0, 2), false);
    assert_type(g, y, "f32[3]");
    assert_ints(g, y, TLMC_A_AXES, 2, INTS(1, 2));
    y = in_of(g, y, 0);
    assert_int_equal(op_of(g, y), TLMC_OP_PERMUTE); /* the reduced axes, in order, at the end */
    assert_ints(g, y, TLMC_A_PERM, 3, INTS(1, 0, 2));
    y = tlmc_build_reduce(g, TLMC_OP_REDUCE_MAX, x, 2, INTS(0, 2), true);
    assert_int_equal(op_of(g, y), TLMC_OP_RESHAPE);
    assert_type(g, y, "f32[1, 3, 1]");
}

static void unbroadcasting(void **state)
{
    struct tlmc_graph *g = *state;
    const uint32_t x = leaf(g, TLMC_OP_INPUT, 0, "f32[5, 2, 3]");
    struct tlmc_type to = ty("f32[3]");
    uint32_t y = tlmc_build_unbroadcast(g, x, &to);

    assert_int_equal(op_of(g, y), TLMC_OP_REDUCE_SUM); /* one sum over both axes */
    assert_ints(g, y, TLMC_A_AXES, 2, INTS(0, 1));
    to = ty("f32[1, 3]");
    y = tlmc_build_unbroadcast(g, x, &to);
    assert_int_equal(op_of(g, y), TLMC_OP_RESHAPE);
    assert_ints(g, in_of(g, y, 0), TLMC_A_AXES, 2, INTS(0, 1));
    to = ty("f32[5, 1, 3]");
    assert_type(g, tlmc_build_unbroadcast(g, x, &to), "f32[5, 1, 3]");
    to = ty("f32[]");
    assert_type(g, tlmc_build_unbroadcast(g, x, &to), "f32[]");
    to = ty("f32[2, 1]"); /* axes 0 and 2: not adjacent, still one sum */
    y = tlmc_build_unbroadcast(g, x, &to);
    assert_type(g, y, "f32[2, 1]");
    assert_int_equal(op_of(g, in_of(g, in_of(g, y, 0), 0)), TLMC_OP_PERMUTE);
}

static void products(void **state)
{
    struct tlmc_graph *g = *state;
    const uint32_t x = leaf(g, TLMC_OP_INPUT, 0, "f32[5, 2, 3]");
    const uint32_t w = leaf(g, TLMC_OP_PARAM, 0, "f32[3, 4]");
    const uint32_t b = leaf(g, TLMC_OP_PARAM, 1, "f32[1, 3, 4]");
    uint32_t y = tlmc_build_matmul(g, x, w);

    assert_type(g, y, "f32[5, 2, 4]"); /* rows, 2-D product, back */
    assert_int_equal(op_of(g, y), TLMC_OP_RESHAPE);
    y = in_of(g, y, 0);
    assert_int_equal(op_of(g, y), TLMC_OP_MATMUL);
    assert_type(g, in_of(g, y, 0), "f32[10, 3]");
    y = tlmc_build_matmul(g, x, b);
    assert_int_equal(op_of(g, y), TLMC_OP_MATMUL); /* batched */
    assert_type(g, y, "f32[5, 2, 4]");
    assert_type(g, tlmc_build_transpose(g, x), "f32[5, 3, 2]");
}

static void rows_of_any_axis(void **state)
{
    struct tlmc_graph *g = *state;
    const uint32_t x = leaf(g, TLMC_OP_INPUT, 0, "f32[2, 3, 4]");
    const uint32_t mask = leaf(g, TLMC_OP_INPUT, 1, "bool[3, 1]");
    uint32_t y = tlmc_build_rowwise(g, TLMC_OP_LOG_SOFTMAX, x, TLMC_NONE, 2);

    assert_int_equal(op_of(g, y), TLMC_OP_LOG_SOFTMAX);
    y = tlmc_build_rowwise(g, TLMC_OP_SOFTMAX, x, mask, 0);
    assert_type(g, y, "f32[2, 3, 4]");
    assert_ints(g, y, TLMC_A_PERM, 3, INTS(2, 0, 1)); /* back */
    y = in_of(g, y, 0);
    assert_type(g, y, "f32[3, 4, 2]");
    assert_type(g, in_of(g, y, 1), "bool[3, 4, 2]");
    assert_null(tlmc_graph_verify(g));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_change_no_node, setup, teardown),
        cmocka_unit_test_setup_teardown(constants, setup, teardown),
        cmocka_unit_test_setup_teardown(reductions, setup, teardown),
        cmocka_unit_test_setup_teardown(unbroadcasting, setup, teardown),
        cmocka_unit_test_setup_teardown(products, setup, teardown),
        cmocka_unit_test_setup_teardown(rows_of_any_axis, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
