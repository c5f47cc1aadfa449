/* Flags: both forms of values, lists, optional values, and every refusal. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "options.h"

#include <string.h>

static char error[TLM_ERROR_BYTES], words[512];

/* Parses the words of `line`, separated by blanks. */
static tlm_status parse(struct tlm_flags *flags, const char *line)
{
    char *argv[64] = { words };
    int argc = 0;

    strcpy(words, "p ");
    strcat(words, line);
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    error[0] = 0;
    return tlm_flags_parse(flags, argc, argv, error);
}

static void refuses(const char *line, const char *message)
{
    struct tlm_flags flags;

    assert_int_equal(parse(&flags, line), TLM_ERR_ARGUMENT);
    assert_string_equal(error, message);
    tlm_flags_free(&flags);
}

static void test_defaults(void **state)
{
    struct tlm_flags flags;

    (void)state;
    assert_int_equal(parse(&flags, ""), TLM_OK);
    assert_int_equal(flags.steps, -1);
    assert_int_equal(flags.threads, -1);
    assert_true(flags.temperature < 0);
    assert_false(flags.seed_given || flags.train || flags.infer.given);
    assert_int_equal(flags.cpu, TLM_CPU_AUTO);
    tlm_flags_free(&flags);
}

static void test_both_forms(void **state)
{
    static const char *const lines[] = {
        "--steps 20 --seed 18446744073709551615 --cpu avx2 --temperature 0.5 --save a.b --data x y "
        "--top-k 3",
        "--steps=20 --seed=18446744073709551615 --cpu=avx2 --temperature=5e-1 --save=a.b --top-k=3 "
        "--data x y",
    };

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct tlm_flags flags;

        assert_int_equal(parse(&flags, lines[i]), TLM_OK);
        assert_int_equal(flags.steps, 20);
        assert_true(flags.seed_given && flags.seed == UINT64_MAX);
        assert_int_equal(flags.cpu, TLM_CPU_AVX2);
        assert_true(flags.temperature == 0.5);
        assert_string_equal(flags.save, "a.b");
        assert_int_equal(flags.top_k, 3);
        assert_int_equal(flags.data.count, 2);
        assert_string_equal(flags.data.at[1], "y");
        tlm_flags_free(&flags);
    }
}

static void test_lists_and_choices(void **state)
{
    struct tlm_flags flags;

    (void)state;
    assert_int_equal(parse(&flags,
                           "--infer --input a=1 b=2 --input=c=3 --pretrained file --output o=4"),
                     TLM_OK);
    assert_true(flags.infer.given && !flags.infer.value);
    assert_string_equal(flags.pretrained.value, "file");
    assert_int_equal(flags.inputs.count, 3);
    assert_string_equal(flags.inputs.at[2], "c=3");
    tlm_flags_free(&flags);
    assert_int_equal(parse(&flags, "--infer=decode --pretrained --prompt=--x"), TLM_OK);
    assert_string_equal(flags.infer.value, "decode");
    assert_true(flags.pretrained.given && !flags.pretrained.value);
    assert_string_equal(flags.prompt, "--x");
    tlm_flags_free(&flags);
}

static void test_refusals(void **state)
{
    (void)state;
    refuses("--frob", "unknown flag '--frob'");
    refuses("--step 3", "unknown flag '--step'");
    refuses("--", "unknown flag '--'");
    refuses("x", "unexpected argument 'x'");
    refuses("-x", "unexpected argument '-x'");
    refuses("--steps 1 2", "unexpected argument '2'");
    refuses("--steps", "--steps needs a value: N");
    refuses("--steps --train", "--steps needs a value: N");
    refuses("--steps -1", "--steps: '-1' is not a value for N");
    refuses("--steps +1", "--steps: '+1' is not a value for N");
    refuses("--steps 1x", "--steps: '1x' is not a value for N");
    refuses("--steps=", "--steps: '' is not a value for N");
    refuses("--steps 9223372036854775808", "--steps: '9223372036854775808' is not a value for N");
    refuses("--seed 18446744073709551616", "--seed: '18446744073709551616' is not a value for N");
    refuses("--seed 1.5", "--seed: '1.5' is not a value for N");
    refuses("--threads 0", "--threads: '0' is not a value for N");
    refuses("--temperature -1", "--temperature: '-1' is not a value for T");
    refuses("--temperature nan", "--temperature: 'nan' is not a value for T");
    refuses("--temperature 1e999", "--temperature: '1e999' is not a value for T");
    refuses("--temperature 0x1", "--temperature: '0x1' is not a value for T");
    refuses("--cpu z80", "--cpu: 'z80' is not a value for LEVEL");
    refuses("--train=1", "--train takes no value");
    refuses("--steps 1 --steps 2", "--steps: duplicate flag");
    refuses("--data a --data b", "--data: duplicate flag");
    refuses("--input", "--input needs a value: NAME=FILE.npy...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_both_forms),
        cmocka_unit_test(test_lists_and_choices),
        cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
