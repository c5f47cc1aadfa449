/* Schedules: the formulas of schedule.h at their ends and between, chains of them, and the open
   one. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "schedule.h"

#include <math.h>

/* Our cosine is within two units of the last place of the true one, and the formulas around it
   round a few times: 1e-14 is about fifty units, and far below what a wrong formula would show. */
static void near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-14))
        fail_msg("%.17g is not %.17g", value, expected);
}

static const double pi = 3.14159265358979323846;

static void test_none(void **state)
{
    (void)state;
    near(tlm_schedule_factor(NULL, 0, 10, 5), 1.0);
}

static void test_warmup_then_cosine(void **state)
{
    const tlm_schedule s[] = { { .kind = TLM_SCHED_WARMUP, .steps = 4 },
                               { .kind = TLM_SCHED_COSINE, .final = 0.1 } };

    (void)state;
    near(tlm_schedule_factor(s, 2, 20, 0), 0.25);
    near(tlm_schedule_factor(s, 2, 20, 3), 1.0);
    near(tlm_schedule_factor(s, 2, 20, 4), 1.0);
    near(tlm_schedule_factor(s, 2, 20, 12), 0.55);
    near(tlm_schedule_factor(s, 2, 20, 8), 0.1 + 0.9 * (1 + cos(pi / 4)) / 2);
    near(tlm_schedule_factor(s, 2, 20, 19), 0.1 + 0.9 * (1 + cos(pi * 15 / 16)) / 2);
    near(tlm_schedule_factor(s, 2, 20, 20), 0.1);
    near(tlm_schedule_factor(s, 2, 20, 1000), 0.1);
    near(tlm_schedule_factor(s, 2, 3, 2), 0.75); /* the run ends within the warmup */
    near(tlm_schedule_factor(s, 2, 3, 5), 0.1);
}

/* The open one may stand in the middle. */
static void test_open_in_the_middle(void **state)
{
    const tlm_schedule s[] = { { .kind = TLM_SCHED_WARMUP, .steps = 2 },
                               { .kind = TLM_SCHED_CONSTANT },
                               { .kind = TLM_SCHED_COSINE, .steps = 10 } };

    (void)state;
    near(tlm_schedule_factor(s, 3, 100, 1), 1.0);
    near(tlm_schedule_factor(s, 3, 100, 89), 1.0);
    near(tlm_schedule_factor(s, 3, 100, 95), 0.5);
    near(tlm_schedule_factor(s, 3, 100, 100), 0.0);
}

static void test_step_and_exponential(void **state)
{
    const tlm_schedule step = { .kind = TLM_SCHED_STEP, .every = 10, .factor = 0.5 };
    const tlm_schedule exponential = { .kind = TLM_SCHED_EXPONENTIAL, .factor = 0.9 };

    (void)state;
    near(tlm_schedule_factor(&step, 1, 100, 9), 1.0);
    near(tlm_schedule_factor(&step, 1, 100, 10), 0.5);
    near(tlm_schedule_factor(&step, 1, 100, 35), 0.125);
    near(tlm_schedule_factor(&exponential, 1, 100, 0), 1.0);
    near(tlm_schedule_factor(&exponential, 1, 100, 7), pow(0.9, 7));
    near(tlm_schedule_factor(&exponential, 1, 1 << 30, (1 << 30) - 1), 0.0);
}

static void test_one_cycle(void **state)
{
    tlm_schedule s = { .kind = TLM_SCHED_ONE_CYCLE, .factor = 0.04, .peak = 1.0, .final = 0.01 };

    (void)state;
    near(tlm_schedule_factor(&s, 1, 100, 0), 0.04);
    near(tlm_schedule_factor(&s, 1, 100, 15), 0.52);
    near(tlm_schedule_factor(&s, 1, 100, 30), 1.0);
    near(tlm_schedule_factor(&s, 1, 100, 65), 0.505);
    near(tlm_schedule_factor(&s, 1, 100, 100), 0.01);
    s.every = 50;
    near(tlm_schedule_factor(&s, 1, 100, 25), 0.52);
    near(tlm_schedule_factor(&s, 1, 100, 50), 1.0);
}

static void test_short_runs(void **state)
{
    const tlm_schedule s[] = { { .kind = TLM_SCHED_COSINE } };

    (void)state;
    near(tlm_schedule_factor(s, 1, 0, 0), 0.0);
    near(tlm_schedule_factor(s, 1, 1, 0), 1.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_warmup_then_cosine),
        cmocka_unit_test(test_open_in_the_middle),
        cmocka_unit_test(test_step_and_exponential),
        cmocka_unit_test(test_one_cycle),
        cmocka_unit_test(test_short_runs),
    };

    return cmocka_run_group_tests_name("schedule", tests, NULL, NULL);
}
