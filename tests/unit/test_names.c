/* The naming rule: valid, never reserved, unique in order of asking. */
#include "names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void valid_parts(void **state)
{
    struct tlmc_arena arena = { 0 };

    (void)state;
    assert_string_equal(tlmc_names_valid(&arena, "h.0.attn.weight"), "h_0_attn_weight");
    assert_string_equal(tlmc_names_valid(&arena, "0x"), "v0x");
    assert_string_equal(tlmc_names_valid(&arena, "_x"), "v_x");
    assert_string_equal(tlmc_names_valid(&arena, ""), "v");
    assert_string_equal(tlmc_names_valid(&arena, "\xc3\xa9"), "v__");
    assert_string_equal(tlmc_names_upper(&arena, "fc1_w"), "FC1_W");
    tlmc_arena_free(&arena);
}

static void collisions_are_numbered(void **state)
{
    struct tlmc_arena arena = { 0 };
    struct tlmc_names names;

    (void)state;
    tlmc_names_init(&names, &arena);
    assert_string_equal(tlmc_names_make(&names, "h"), "h");
    assert_string_equal(tlmc_names_make(&names, "h"), "h_2");
    assert_string_equal(tlmc_names_make(&names, "h"), "h_3");
    assert_string_equal(tlmc_names_make(&names, "h.2"), "h_2_2");
    assert_string_equal(tlmc_names_make(&names, "a.b"), "a_b");
    assert_string_equal(tlmc_names_make(&names, "a_b"), "a_b_2");
    tlmc_arena_free(&arena);
}

static void reserved_words_give_way(void **state)
{
    static const char *const words[] = { "int",  "while", "class", "level", "begin",   "m",
                                         "args", "NULL",  "NAN",   "AT_X",  "tlm_exp", "run_x" };
    struct tlmc_arena arena = { 0 };
    struct tlmc_names names;

    (void)state;
    tlmc_names_init(&names, &arena);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *name = tlmc_names_make(&names, words[i]);

        assert_true(tlmc_names_reserved(words[i]));
        assert_int_equal(name[strlen(words[i])], '_');
    }
    assert_false(tlmc_names_reserved("logits"));
    names.own = true;
    assert_string_equal(tlmc_names_make(&names, "run_x"), "run_x");
    tlmc_arena_free(&arena);
}

static void models_leave_our_openings_alone(void **state)
{
    static const char *const taken[] = { "call", "run", "rows", "table", "part", "call_x", "tlm" };

    (void)state;
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        assert_false(tlmc_names_free_for_model(taken[i]));
    assert_true(tlmc_names_free_for_model("caller"));
    assert_true(tlmc_names_free_for_model("ca"));
}

static void long_names_are_cut_and_stay_unique(void **state)
{
    struct tlmc_arena arena = { 0 };
    struct tlmc_names names;
    char text[300];
    const char *first, *second;

    (void)state;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    tlmc_names_init(&names, &arena);
    first = tlmc_names_make(&names, text);
    second = tlmc_names_make(&names, text);
    assert_true(strlen(first) <= 81);
    assert_string_not_equal(first, second);
    tlmc_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_parts),
        cmocka_unit_test(collisions_are_numbered),
        cmocka_unit_test(reserved_words_give_way),
        cmocka_unit_test(models_leave_our_openings_alone),
        cmocka_unit_test(long_names_are_cut_and_stay_unique),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
