/* Graph storage: types and their text, limits, attributes copied to the arena, nodes and values. */
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

static void type_text(void **state)
{
    const int64_t wide[8] = { 4294967295, 1, 4294967295, 1, 4294967295, 1, 4294967295, 1 };
    const int64_t least[8] = { INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN,
                               INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN };
    struct tlmc_type type;
    char text[256];

    (void)state;
    type = ty("f32[2, 8]");
    assert_string_equal(tlmc_type_text(&type, text), "f32[2, 8]");
    type = ty("bool[]");
    assert_string_equal(tlmc_type_text(&type, text), "bool[]");
    type = tlmc_type_make(TLMC_I32, 8, wide);
    assert_string_equal(tlmc_type_text(&type, text),
                        "i32[4294967295, 1, 4294967295, 1, 4294967295, 1, 4294967295, 1]");
    type = tlmc_type_make(TLMC_I32, 8, least); /* what a message on a negative size shows */
    assert_true(strlen(tlmc_type_text(&type, text)) < sizeof text);
}

static void limits(void **state)
{
    struct tlmc_type type;

    (void)state;
    type = ty("f32[4294967295]");
    assert_true(tlmc_type_fits(&type));
    type = ty("f32[4294967296]");
    assert_false(tlmc_type_fits(&type));
    type = ty("f32[65536, 65535]");
    assert_true(tlmc_type_fits(&type));
    type = ty("f32[65536, 65536]");
    assert_false(tlmc_type_fits(&type));
    type =
        ty("f32[4294967295, 4294967295, 4294967295]"); /* the product does not fit 64 bits either */
    assert_false(tlmc_type_fits(&type));
    type = ty("f32[0, 65536, 65536]"); /* an empty axis hides nothing */
    assert_false(tlmc_type_fits(&type));
    type = ty("f32[0, 65536]");
    assert_true(tlmc_type_fits(&type));
    type = ty("f32[-1]");
    assert_false(tlmc_type_fits(&type));
    type.rank = 9;
    assert_false(tlmc_type_fits(&type));
}

static void counts(void **state)
{
    struct tlmc_type type;

    (void)state;
    type = ty("f32[]");
    assert_int_equal(tlmc_type_count(&type), 1);
    type = ty("bool[3, 0]");
    assert_int_equal(tlmc_type_count(&type), 0);
    type = ty("i32[3, 5]");
    assert_int_equal(tlmc_type_bytes(&type), 60);
}

static void broadcasting(void **state)
{
    static const struct {
        const char *a, *b, *result; /* NULL: they do not broadcast */
    } cases[] = {
        { "f32[]", "f32[2, 3]", "f32[2, 3]" },
        { "f32[3]", "f32[2, 3]", "f32[2, 3]" },
        { "f32[2, 1]", "f32[1, 3]", "f32[2, 3]" },
        { "f32[1]", "f32[0]", "f32[0]" },
        { "f32[0]", "f32[1]", "f32[0]" },
        { "f32[2]", "f32[3]", NULL },
        { "f32[2, 1]", "f32[2]", "f32[2, 2]" },
        { "f32[2, 3]", "f32[2]", NULL },
        { "f32[0]", "f32[2]", NULL },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct tlmc_type a = ty(cases[i].a), b = ty(cases[i].b);
        struct tlmc_type out;
        char text[256];

        assert_int_equal(tlmc_broadcast_types(&a, &b, &out), cases[i].result != NULL);
        if (cases[i].result)
            assert_string_equal(tlmc_type_text(&out, text), cases[i].result);
    }
}

static void attributes_are_copied(void **state)
{
    struct tlmc_graph *g = *state;
    int64_t perm[] = { 1, 0 };
    double data[] = { 1, 2 };
    const struct tlmc_attr attr = tlmc_attr_ints(TLMC_A_PERM, 2, perm);
    const struct tlmc_type pair = ty("f32[2]");
    const uint32_t x = leaf(g, TLMC_OP_INPUT, 0, "f32[2, 3]");
    const uint32_t y = tlmc_add_node(g, TLMC_OP_PERMUTE, &x, 1, &attr, 1);
    const uint32_t c = tlmc_build_tensor(g, &pair, data);

    perm[0] = 0;
    data[1] = 7;
    assert_int_equal(tlmc_node_attr(tlmc_value_node(g, y), TLMC_A_PERM)->v.ints[0], 1);
    assert_true(tlmc_node_attr(tlmc_value_node(g, c), TLMC_A_DATA)->v.data[1] == 2);
    assert_null(tlmc_node_attr(tlmc_value_node(g, y), TLMC_A_AXIS));
    assert_int_equal(tlmc_node_int(tlmc_value_node(g, y), TLMC_A_AXIS), 0);
    assert_true(tlmc_node_float(tlmc_value_node(g, y), TLMC_A_FACTOR) == 0);
}

static void nodes_and_values(void **state)
{
    struct tlmc_graph *g = *state;
    const uint32_t x = leaf(g, TLMC_OP_INPUT, 0, "f32[4, 3]");
    const uint32_t w = leaf(g, TLMC_OP_PARAM, 0, "f32[3]");
    uint32_t y;

    g->phase = TLMC_BACKWARD;
    g->scope = "ln";
    y = NODE(g, "layer_norm", "eps=1e-5", x, w, w);
    assert_int_equal(tlmc_value_node(g, y)->result_count, 3);
    assert_int_equal(tlmc_value_node(g, y)->phase, TLMC_BACKWARD);
    assert_string_equal(tlmc_value_node(g, y)->scope, "ln");
    assert_int_equal(g->values[y + 2].index, 2);
    assert_int_equal(g->values[y + 2].node, g->values[y].node);
    assert_type(g, y, "f32[4, 3]");
    assert_type(g, y + 1, "f32[4]");
}

static void a_refused_node_leaves_nothing(void **state)
{
    struct tlmc_graph *g = *state;
    const uint32_t x = leaf(g, TLMC_OP_INPUT, 0, "f32[2, 3]");
    const uint32_t inputs[] = { x, x };
    struct tlmc_shape_error error;

    assert_int_equal(tlmc_try_node(g, TLMC_OP_MATMUL, inputs, 2, NULL, 0, &error), TLMC_NONE);
    assert_int_equal(error.code, TLMC_E_SHAPE);
    assert_string_equal(error.text, "inner sizes differ: f32[2, 3] @ f32[2, 3]");
    assert_int_equal(g->node_count, 1);
    assert_int_equal(g->value_count, 1);
}

static void it_grows(void **state)
{
    struct tlmc_graph *g = *state;
    uint32_t x = leaf(g, TLMC_OP_INPUT, 0, "f32[2]"), i;

    for (i = 0; i < 1000; i++)
        x = tlmc_build1(g, TLMC_OP_NEG, x);
    assert_int_equal(g->node_count, 1001);
    assert_int_equal(g->values[x].node, 1000);
    assert_int_equal(in_of(g, x, 0), x - 1);
    assert_null(tlmc_graph_verify(g));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(type_text),
        cmocka_unit_test(limits),
        cmocka_unit_test(counts),
        cmocka_unit_test(broadcasting),
        cmocka_unit_test_setup_teardown(attributes_are_copied, setup, teardown),
        cmocka_unit_test_setup_teardown(nodes_and_values, setup, teardown),
        cmocka_unit_test_setup_teardown(a_refused_node_leaves_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(it_grows, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
