/* Means of the losses and metrics of an evaluation form over rows of a dataset.

   The rows go through the form in full batches; the last one is filled up with copies of its last
   row.  A value with a row axis counts for the rows really there; a scalar stands for a whole batch
   and is left out of a ragged one. Everything is summed in binary64, in order, and divided by what
   was counted (0: NaN). */
#ifndef TLM_EVALUATE_H
#define TLM_EVALUATE_H

#include "data.h"
#include "order.h"
#include "session.h"

struct tlm_means {
    double *values;  /* owned: the losses, then the metrics */
    double loss;     /* sum of the losses */
    size_t left_out; /* rows that the scalars among them leave out */
};

/* The rows `rows[0..batch)` into the form's inputs, from the sources of the training form's inputs
   of the same name. */
void tlm_feed_rows(struct tlm_session *session, const tlm_form *form,
                   const struct tlm_dataset *dataset, const size_t *rows, size_t batch);

/* *out is made anew; free with tlm_means_free, also after a failure. */
tlm_status tlm_evaluate(struct tlm_session *session, const struct tlm_dataset *dataset,
                        const struct tlm_subset *subset, struct tlm_means *out);
void tlm_means_free(struct tlm_means *means);

/* A loss or metric of the evaluation form that has no row axis. */
bool tlm_is_whole_batch(const tlm_io *io, size_t batch);

/* The sum of the form's losses as they stand: each the mean over its elements. */
double tlm_form_loss(const struct tlm_session *session, const tlm_form *form);
double tlm_io_mean(const struct tlm_session *session, const tlm_io *io);

#endif
