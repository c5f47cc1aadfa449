/* A progress bar on standard error, only when that is a terminal and never more than ten times a
   second. */
#ifndef TLM_PROGRESS_H
#define TLM_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct tlm_progress {
    bool on, shown;
    uint64_t done_before, total; /* steps before this run; steps in all */
    double started, last;        /* seconds */
};

void tlm_progress_start(struct tlm_progress *progress, uint64_t done, uint64_t total);
void tlm_progress_update(struct tlm_progress *progress, uint64_t done, double loss);

/* Takes the bar away, before something else is printed and at the end. */
void tlm_progress_clear(struct tlm_progress *progress);

/* Seconds of a clock that only goes forward. */
double tlm_seconds(void);

#endif
