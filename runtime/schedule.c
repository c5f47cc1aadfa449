/* The formulas of schedule.h. */
#include "schedule.h"

#include "tlm_math64.h"

#define SCHEDULE_PI 3.14159265358979323846

/* base^n: the bits of n from the lowest, squaring as it goes. */
static double schedule_power(double base, int64_t n)
{
    double result = 1.0;

    for (; n > 0; n >>= 1) {
        if (n & 1)
            result *= base;
        base *= base;
    }
    return result;
}

/* From `from` at t = 0 to `to` at t = n along half a cosine. */
static double schedule_half_cosine(double from, double to, int64_t t, int64_t n)
{
    if (n <= 0 || t >= n)
        return to;
    return to + (from - to) * (1.0 + tlm_cos64(SCHEDULE_PI * (double)t / (double)n)) / 2.0;
}

static double schedule_one_cycle(const tlm_schedule *s, int64_t t, int64_t n)
{
    const int64_t rise = s->every > 0 ? s->every : n * 3 / 10;

    if (t < rise)
        return schedule_half_cosine(s->factor, s->peak, t, rise);
    return schedule_half_cosine(s->peak, s->final, t - rise, n - rise);
}

/* The factor `t` steps into a span of `n`; t = n is its end. */
static double schedule_span(const tlm_schedule *s, int64_t t, int64_t n)
{
    switch (s->kind) {
    case TLM_SCHED_CONSTANT: return 1.0;
    case TLM_SCHED_WARMUP: return t >= n ? 1.0 : (double)(t + 1) / (double)n;
    case TLM_SCHED_COSINE: return schedule_half_cosine(1.0, s->final, t, n);
    case TLM_SCHED_STEP: return schedule_power(s->factor, s->every > 0 ? t / s->every : 0);
    case TLM_SCHED_EXPONENTIAL: return schedule_power(s->factor, t);
    case TLM_SCHED_ONE_CYCLE: return schedule_one_cycle(s, t, n);
    }
    return 1.0;
}

double tlm_schedule_factor(const tlm_schedule *schedule, uint32_t count, int64_t total,
                           int64_t step)
{
    int64_t rest = total;

    for (uint32_t i = 0; i < count; i++)
        rest -= schedule[i].steps < rest ? schedule[i].steps : rest;
    for (uint32_t i = 0; i < count; i++) {
        const int64_t n = schedule[i].steps > 0 ? schedule[i].steps : rest;

        if (step < n)
            return schedule_span(&schedule[i], step, n);
        if (i + 1 == count)
            return schedule_span(&schedule[i], n, n);
        step -= n;
    }
    return 1.0;
}
