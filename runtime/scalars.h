/* The numbers of a step that the host computes: learning rates and what the optimizers' corrections
   need, in binary64, rounded once to binary32.  beta^t is a running product, one for each different
   beta in the order of the model's table; the products are part of a run's state, so that a resumed
   run has the same bits. */
#ifndef TLM_SCALARS_H
#define TLM_SCALARS_H

#include "tlm_program.h"

enum { TLM_POWERS = sizeof(((tlm_run_state *)0)->powers) / sizeof(double) };

struct tlm_scalars {
    const tlm_train *train;
    int64_t total; /* steps of the run */
    uint32_t power_count;
    double betas[TLM_POWERS], powers[TLM_POWERS];
};

/* At step 0.  TLM_ERR_ARGUMENT: more than TLM_POWERS different betas. */
tlm_status tlm_scalars_start(struct tlm_scalars *scalars, const tlm_train *train, int64_t total,
                             char *error);

/* Takes the products of a saved run; TLM_ERR_MISMATCH when it had another number of them. */
tlm_status tlm_scalars_resume(struct tlm_scalars *scalars, const tlm_run_state *run, char *error);

/* Moves to the next step, which is number `step` from 0, and fills block[scalar_count]. */
void tlm_scalars_next(struct tlm_scalars *scalars, uint64_t step, float *block);

/* lr of the optimizer's own group at `step`, for logs. */
double tlm_scalars_lr(const struct tlm_scalars *scalars, uint64_t step);

#endif
