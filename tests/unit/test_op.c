/* The op table: names, attributes and queries agree with ops.def, attrs.def and dtype.def. */
#include "ir_help.h"

static void every_name_finds_its_op(void **state)
{
    unsigned i;

    (void)state;
    for (i = 0; i < TLMC_OP_COUNT; i++)
        assert_int_equal(tlmc_op_find(tlmc_op_info((enum tlmc_op)i)->name), i);
    assert_int_equal(tlmc_op_find("conv"), TLMC_OP_COUNT);
    assert_int_equal(tlmc_op_find(""), TLMC_OP_COUNT);
}

static void arity_of_derivatives(void **state)
{
    (void)state;
    assert_int_equal(tlmc_op_info(TLMC_OP_NEG_VJP)->max_inputs, 1);
    assert_int_equal(tlmc_op_info(TLMC_OP_RELU_VJP)->max_inputs, 2);
    assert_int_equal(tlmc_op_info(TLMC_OP_RELU)->vjp_op, TLMC_OP_RELU_VJP);
    assert_int_equal(tlmc_op_info(TLMC_OP_RELU)->uses, TLMC_USES_X);
    assert_int_equal(tlmc_op_info(TLMC_OP_TANH)->uses, TLMC_USES_Y);
    assert_int_equal(tlmc_op_info(TLMC_OP_MATMUL)->vjp_op, TLMC_OP_COUNT);
}

/* is_vjp is said by the kind of row; the names must agree. */
static void backward_ops_are_named_so(void **state)
{
    unsigned i;

    (void)state;
    for (i = 0; i < TLMC_OP_COUNT; i++) {
        const struct tlmc_op_info *info = tlmc_op_info((enum tlmc_op)i);

        if (info->is_vjp != (strstr(info->name, "_vjp") != NULL))
            fail_msg("%s: is_vjp is %d", info->name, info->is_vjp);
    }
}

static void every_attribute_word_is_known(void **state)
{
    unsigned i;

    (void)state;
    for (i = 0; i < TLMC_OP_COUNT; i++) {
        const struct tlmc_op_info *info = tlmc_op_info((enum tlmc_op)i);
        const char *word = info->attrs;

        while (*word) {
            char name[32] = { 0 };

            memcpy(name, word, strcspn(word, " "));
            if (tlmc_attr_find(name) == TLMC_ATTR_COUNT)
                fail_msg("%s: unknown attribute '%s'", info->name, name);
            assert_true(tlmc_op_has_attr((enum tlmc_op)i, tlmc_attr_find(name)));
            word += strcspn(word, " ");
            word += strspn(word, " ");
        }
    }
    assert_true(tlmc_op_has_attr(TLMC_OP_CLAMP_VJP, TLMC_A_MAX));
    assert_false(tlmc_op_has_attr(TLMC_OP_GATHER, TLMC_A_AXES)); /* "axis" is no prefix match */
    assert_false(tlmc_op_has_attr(TLMC_OP_REDUCE_SUM, TLMC_A_AXIS));
}

static void update_operands_fit_the_arity(void **state)
{
    unsigned i;

    (void)state;
    for (i = 0; i < TLMC_OP_COUNT; i++) {
        const struct tlmc_op_info *info = tlmc_op_info((enum tlmc_op)i);
        const char *kinds = tlmc_op_update_operands((enum tlmc_op)i);
        int all = 0, needed = 0;

        if (info->family != TLMC_UPDATE) {
            assert_null(kinds);
            assert_false(tlmc_op_writes_input((enum tlmc_op)i, 0));
            continue;
        }
        assert_non_null(kinds);
        for (; *kinds; kinds++) {
            const bool optional = *kinds == '?';

            kinds += optional;
            assert_non_null(strchr("wts", *kinds));
            all++;
            needed += !optional;
        }
        assert_int_equal(info->max_inputs, all);
        assert_int_equal(info->min_inputs, needed);
        assert_int_equal(info->results, 0);
        assert_true(tlmc_op_writes_input((enum tlmc_op)i, 0));
        assert_false(tlmc_op_writes_input((enum tlmc_op)i, 1));
    }
    assert_true(tlmc_op_writes_input(TLMC_OP_ADAM_UPDATE, 3));
    assert_false(tlmc_op_writes_input(TLMC_OP_ADAM_UPDATE, 4));
    assert_true(tlmc_op_writes_input(TLMC_OP_RMSPROP_UPDATE, 5));
    assert_false(tlmc_op_writes_input(TLMC_OP_RMSPROP_UPDATE, 99));
}

static void planned_ops_have_no_row(void **state)
{
    static const char *const planned[] = {
#define PLANNED(name) #name,
#include "planned_ops.def"
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof planned / sizeof *planned; i++) {
        assert_true(tlmc_op_is_planned(planned[i]));
        if (tlmc_op_find(planned[i]) != TLMC_OP_COUNT)
            fail_msg("'%s' is built: take it off planned_ops.def", planned[i]);
    }
    assert_false(tlmc_op_is_planned("matmul"));
    assert_false(tlmc_op_is_planned("convolve"));
}

static void element_types(void **state)
{
    (void)state;
    assert_int_equal(tlmc_dtype_find("f32"), TLMC_F32);
    assert_int_equal(tlmc_dtype_find("f23"), TLMC_DTYPE_COUNT);
    assert_string_equal(tlmc_dtype_name(TLMC_BOOL), "bool");
    assert_string_equal(tlmc_dtype_ctype(TLMC_I32), "int32_t");
    assert_int_equal(tlmc_dtype_bytes(TLMC_BOOL), 1);
    assert_true(tlmc_dtype_is_float(TLMC_F64));
    assert_false(tlmc_dtype_is_float(TLMC_I32));
    assert_string_equal(tlmc_family_name(TLMC_ROWWISE), "rowwise");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_finds_its_op),
        cmocka_unit_test(arity_of_derivatives),
        cmocka_unit_test(backward_ops_are_named_so),
        cmocka_unit_test(every_attribute_word_is_known),
        cmocka_unit_test(update_operands_fit_the_arity),
        cmocka_unit_test(planned_ops_have_no_row),
        cmocka_unit_test(element_types),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
