/* Training: data, steps, reports, checkpoints.  One step is `accumulate` batches forward and
   backward, then the optimizer.  Everything that decides the numbers of step s (rows, draws,
   scalars) follows from the seed, the run state and s, so a run that was saved and resumed is the
   run in one piece. */
#ifndef TLM_TRAIN_H
#define TLM_TRAIN_H

#include "evaluate.h"
#include "scalars.h"

struct tlm_training {
    struct tlm_session *session;
    const tlm_train *train;
    struct tlm_dataset data, validation_data;
    struct tlm_subset rows, validation_rows;
    const struct tlm_dataset *validation; /* NULL: none */
    struct tlm_order order;
    struct tlm_scalars scalars;
    size_t *batch_rows;
    bool look;      /* the next step's losses are wanted: on a device reading them waits for it */
    double *losses; /* of the last step looked at, each loss of the training form */
    double loss;    /* their sum */
    uint64_t step, steps;
    int64_t log_every; /* as the clause says; without it about ten lines a run */
    bool nan_seen;
};

/* Reads the data and sets up everything for the first step; end frees it, also after a failure. */
tlm_status tlm_training_begin(struct tlm_training *training, struct tlm_session *session);
void tlm_training_end(struct tlm_training *training);

/* The next step: fills batch_rows, and with `look` losses and loss. */
tlm_status tlm_training_step(struct tlm_training *training);

/* The whole run with its report. */
tlm_status tlm_train_main(struct tlm_session *session);

#endif
