/* The lines of a training run on standard output, six decimals, in the order docs/runtime-api.md
   gives. */
#ifndef TLM_REPORT_H
#define TLM_REPORT_H

#include "evaluate.h"

void tlm_report_head(struct tlm_session *session, uint64_t steps, size_t rows,
                     size_t validation_rows);

/* mean_loss(WHEN) = ..., then each loss if there are several, then the metrics. */
void tlm_report_means(struct tlm_session *session, const char *when, const struct tlm_means *means);

/* `step N: loss=...`: losses[i] of the training form. */
void tlm_report_step(struct tlm_session *session, uint64_t step, const double *losses,
                     double total);

/* `validate step N: loss=... metric=...` */
void tlm_report_validation(struct tlm_session *session, uint64_t step,
                           const struct tlm_means *means);

/* predictions(WHEN) and a line for each probe, whose rows are run through the model. */
tlm_status tlm_report_probes(struct tlm_session *session, const char *when);

/* steps=N loss0=... loss1=... (the losses only when `known`). */
void tlm_report_end(struct tlm_session *session, uint64_t steps, bool known, double first,
                    double last);

/* --profile: seconds of each phase. */
void tlm_report_phases(struct tlm_session *session);

/* --show-memory: the table of each form. */
void tlm_report_memory(const tlm_program *program);

/* --show-memory on a device, after the run: settings and memory of the device; nothing on the
   CPU. */
void tlm_report_device(const tlm_program *program);

/* The plan's report, ended by a line end; on a device also its settings. */
void tlm_report_backend(const tlm_program *program);

/* Six decimals; every NaN is `nan`. */
void tlm_print_value(tlm_dtype dtype, double value);

#endif
