/* Learning-rate schedules: factors of each group's lr, one span after the other, in binary64 with
   our own cosine.

   With t the steps done in the span and n its length (the open one, steps 0, takes what the others
   leave of the run): constant      1 warmup        (t + 1) / n cosine        final + (1 - final) *
   (1 + cos(pi * t / n)) / 2 step          factor ^ floor(t / every) exponential   factor ^ t
     one_cycle     from factor up to peak by a half cosine in the first `every` steps (0: three
   tenths of n), then down to final by another in the rest After the last span its end (t = n)
   holds; warmup's end is 1.  Powers are products by repeated squaring. */
#ifndef TLM_SCHEDULE_H
#define TLM_SCHEDULE_H

#include "tlm_program.h"

/* The factor at `step` (from 0) of a run of `total` steps; 1 without schedules. */
double tlm_schedule_factor(const tlm_schedule *schedule, uint32_t count, int64_t total,
                           int64_t step);

#endif
