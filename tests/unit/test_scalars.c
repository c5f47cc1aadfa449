/* Step scalars: each kind's formula, running products shared by equal betas, and a resumed run with
   the same bits. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "scalars.h"

#include <math.h>
#include <string.h>

static char error[TLM_ERROR_BYTES];

static const tlm_group groups[] = {
    { .lr = 0.01,
      .beta1 = 0.9,
      .beta2 = 0.999,
      .weight_decay = 0.1,
      .dampening = 0.25,
      .lr_decay = 0.5 },
    { .lr = 0.02, .beta1 = 0.9, .beta2 = 0.99 },
};
static const tlm_scalar rows[] = {
    { TLM_SCALAR_LR, 0 },        { TLM_SCALAR_UNDAMPED, 0 }, { TLM_SCALAR_STEP_SIZE, 0 },
    { TLM_SCALAR_SQRT_BC2, 0 },  { TLM_SCALAR_DECAY, 0 },    { TLM_SCALAR_CLR, 0 },
    { TLM_SCALAR_STEP_SIZE, 1 }, { TLM_SCALAR_SQRT_BC2, 1 },
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static const tlm_train train = {
    .groups = groups, .group_count = 2, .scalars = rows, .scalar_count = ROWS
};

/* The second step, written out: beta^2 is beta * beta, every value is rounded once. */
static void test_formulas(void **state)
{
    struct tlm_scalars scalars;
    float block[ROWS];
    double b1 = 0.9, b2 = 0.999, b3 = 0.99;
    int differ = 0;

    (void)state;
    assert_int_equal(tlm_scalars_start(&scalars, &train, 10, error), TLM_OK);
    assert_int_equal(scalars.power_count, 3); /* 0.9 once, 0.999, 0.99 */
    tlm_scalars_next(&scalars, 0, block);
    assert_true(block[1] == 1.0f);
    assert_true(block[2] == (float)(0.01 / (1.0 - b1)));
    assert_true(block[3] == (float)sqrt(1.0 - b2));
    assert_true(block[5] == 0.01f);
    tlm_scalars_next(&scalars, 1, block);
    b1 *= 0.9;
    b2 *= 0.999;
    b3 *= 0.99;
    assert_true(block[0] == 0.01f);
    assert_true(block[1] == 0.75f);
    assert_true(block[2] == (float)(0.01 / (1.0 - b1)));
    assert_true(block[3] == (float)sqrt(1.0 - b2));
    assert_true(block[4] == (float)(1.0 - 0.01 * 0.1));
    assert_true(block[5] == (float)(0.01 / 1.5));
    assert_true(block[6] == (float)(0.02 / (1.0 - b1)));
    assert_true(block[7] == (float)sqrt(1.0 - b3));
    for (uint64_t step = 2; step < 40;
         step++) { /* a running product, not a power: they differ in the last places */
        tlm_scalars_next(&scalars, step, block);
        b1 *= 0.9;
        b2 *= 0.999;
        b3 *= 0.99;
        differ = differ || b1 != pow(0.9, (double)(step + 1));
        assert_true(scalars.powers[0] == b1 && scalars.powers[1] == b2 && scalars.powers[2] == b3);
    }
    assert_true(differ);
}

static void test_schedule_scales_every_group(void **state)
{
    const tlm_schedule warmup = { .kind = TLM_SCHED_WARMUP, .steps = 4 };
    tlm_train scheduled = train;
    struct tlm_scalars scalars;
    float block[ROWS];

    (void)state;
    scheduled.schedule = &warmup;
    scheduled.schedule_count = 1;
    assert_int_equal(tlm_scalars_start(&scalars, &scheduled, 10, error), TLM_OK);
    tlm_scalars_next(&scalars, 0, block);
    assert_true(block[0] == 0.0025f);
    assert_true(block[6] == (float)(0.005 / (1.0 - 0.9)));
    assert_true(tlm_scalars_lr(&scalars, 1) == 0.01); /* of the last group, 0.02 */
}

static void test_resume(void **state)
{
    struct tlm_scalars whole, half;
    tlm_run_state run = { .size = sizeof run };
    float a[ROWS], b[ROWS];

    (void)state;
    tlm_scalars_start(&whole, &train, 10, error);
    tlm_scalars_start(&half, &train, 10, error);
    for (uint64_t step = 0; step < 5; step++)
        tlm_scalars_next(&whole, step, a);
    run.power_count = whole.power_count;
    memcpy(run.powers, whole.powers, sizeof run.powers);
    assert_int_equal(tlm_scalars_resume(&half, &run, error), TLM_OK);
    tlm_scalars_next(&whole, 5, a);
    tlm_scalars_next(&half, 5, b);
    assert_memory_equal(a, b, sizeof a);
    run.power_count = 1;
    assert_int_equal(tlm_scalars_resume(&half, &run, error), TLM_ERR_MISMATCH);
}

static void test_too_many_betas(void **state)
{
    tlm_group many[17];
    tlm_scalar sizes[17];
    tlm_train train17 = { .groups = many, .group_count = 17, .scalars = sizes, .scalar_count = 17 };
    struct tlm_scalars scalars;

    (void)state;
    for (uint32_t i = 0; i < 17; i++) {
        many[i] = (tlm_group){ .lr = 1, .beta1 = 0.5 + i / 100.0 };
        sizes[i] = (tlm_scalar){ TLM_SCALAR_STEP_SIZE, i };
    }
    assert_int_equal(tlm_scalars_start(&scalars, &train17, 1, error), TLM_ERR_ARGUMENT);
    train17.scalar_count = 16;
    assert_int_equal(tlm_scalars_start(&scalars, &train17, 1, error), TLM_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formulas),
        cmocka_unit_test(test_schedule_scales_every_group),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_too_many_betas),
    };

    return cmocka_run_group_tests_name("scalars", tests, NULL, NULL);
}
