/* The training loop: see train.h. */
#include "train.h"

#include "alloc.h"
#include "file.h"
#include "report.h"
#include "status.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the shell counts on; the compiler makes it so. */
static tlm_status train_check_forms(struct tlm_session *session)
{
    const tlm_train *const train = session->program->train;

    if (train->batch == 0)
        return tlm_fail(session->error, TLM_ERR_MISMATCH,
                        "the model is trained on batches of 0 rows");
    for (uint32_t i = 0; i < train->form->input_count; i++)
        if (train->form->inputs[i].rank == 0 || train->form->inputs[i].dims[0] != train->batch)
            return tlm_fail(session->error, TLM_ERR_MISMATCH,
                            "the first axis of '%s' is not the batch of %" PRIu32,
                            train->form->inputs[i].name, train->batch);
    for (uint32_t i = 0; i < train->eval->input_count; i++)
        if (!tlm_find_io(train->form->inputs, train->form->input_count,
                         train->eval->inputs[i].name))
            return tlm_fail(session->error, TLM_ERR_MISMATCH,
                            "evaluation has an input '%s' of its own", train->eval->inputs[i].name);
    return TLM_OK;
}

/* Reads the files and splits the rows. */
static tlm_status train_load_data(struct tlm_training *t)
{
    const tlm_train *const train = t->train;
    const struct tlm_flags *const flags = t->session->flags;
    char *const error = t->session->error;
    tlm_status status = tlm_dataset_load(&t->data, train->form, train->data, train->data_count,
                                         flags->data.at, flags->data.count, error);

    if (status == TLM_OK)
        status = tlm_split_rows(train, t->data.rows, t->session->seed, &t->rows,
                                &t->validation_rows, error);
    if (status != TLM_OK)
        return status;
    if (train->split == TLM_SPLIT_DATA) {
        status = tlm_dataset_load(&t->validation_data, train->form, train->validation,
                                  train->validation_count, NULL, 0, error);
        t->validation = &t->validation_data;
        t->validation_rows.count = t->validation_data.rows;
    } else if (train->split != TLM_SPLIT_NONE) {
        t->validation = &t->data;
    }
    return status;
}

/* Rows that evaluation must leave out are said, once; a part without a single full batch is
   refused. */
static tlm_status train_check_ragged(struct tlm_training *t, const struct tlm_subset *rows,
                                     const char *what)
{
    const tlm_form *const eval = t->train->eval;
    const size_t batch = t->train->batch;

    for (uint32_t i = 0; i < eval->loss_count + eval->metric_count; i++) {
        const tlm_io *const io =
            i < eval->loss_count ? &eval->losses[i] : &eval->metrics[i - eval->loss_count];

        if (!tlm_is_whole_batch(io, batch) || rows->count % batch == 0)
            continue;
        if (rows->count < batch)
            return tlm_fail(t->session->error, TLM_ERR_MISMATCH,
                            "%zu %s rows do not fill the batch of %zu that the scalar '%s' needs",
                            rows->count, what, batch, io->name);
        tlm_session_note(
            t->session,
            "'%s' is a scalar: the last %zu of %zu %s rows do not fill a batch and are "
            "left out of its mean",
            io->name, rows->count % batch, rows->count, what);
    }
    return TLM_OK;
}

/* Steps of the whole run. */
static uint64_t train_total_steps(const struct tlm_training *t)
{
    const tlm_train *const train = t->train;
    const uint64_t each = train->accumulate > 0 ? (uint64_t)train->accumulate : 1;
    const uint64_t batches = t->rows.count / train->batch;
    const uint64_t epochs = train->epochs > 0 ? (uint64_t)train->epochs : 1;
    const uint64_t most = INT64_MAX;

    if (t->session->flags->steps >= 0)
        return (uint64_t)t->session->flags->steps;
    if (train->steps > 0)
        return (uint64_t)train->steps;
    return batches > 0 && epochs > most / batches ? most / each : epochs * batches / each;
}

/* The first data file, for messages about the rows as a whole. */
static const char *train_data_name(const struct tlm_training *t)
{
    const struct tlm_words *const given = &t->session->flags->data;

    if (t->train->data_count == 0)
        return t->session->program->name;
    return tlm_path_tail(given->count > 0 ? given->at[0] : t->train->data[0].path);
}

/* Where the run begins: at step 0, or where the saved one stopped. */
static tlm_status train_start(struct tlm_training *t)
{
    struct tlm_session *const session = t->session;
    const tlm_run_state *const run = &session->run;
    tlm_status status;

    if (t->rows.count < t->train->batch)
        return tlm_fail(session->error, TLM_ERR_MISMATCH,
                        "%s: %zu rows to train on do not fill a batch of %" PRIu32,
                        train_data_name(t), t->rows.count, t->train->batch);
    status = tlm_order_start(&t->order, &t->rows, t->train->batch, t->train->shuffle != 0,
                             session->seed, run->epoch, run->position, session->error);

    t->steps = train_total_steps(t);
    t->log_every = t->train->log_every > 0 ? t->train->log_every : (int64_t)(t->steps / 10 + 1);
    t->step = run->step;
    if (status == TLM_OK)
        status = tlm_scalars_start(&t->scalars, t->train, (int64_t)t->steps, session->error);
    if (session->resumed && t->step >= t->steps)
        tlm_session_note(session,
                         "the saved run has %" PRIu64 " steps: none of %" PRIu64 " is left",
                         t->step, t->steps);
    if (status == TLM_OK && session->resumed) {
        status = tlm_scalars_resume(&t->scalars, run, session->error);
        if (status == TLM_OK && t->train->schedule_count > 0 && run->planned != t->steps)
            tlm_session_note(
                session,
                "the saved run was planned for %" PRIu64 " steps, this one for %" PRIu64
                ": schedules that spread over the run differ from those of a run in one "
                "piece",
                run->planned, t->steps);
    }
    return status;
}

tlm_status tlm_training_begin(struct tlm_training *t, struct tlm_session *session)
{
    const double start = tlm_seconds();
    tlm_status status;

    memset(t, 0, sizeof *t);
    t->session = session;
    t->train = session->program->train;
    status = train_check_forms(session);
    if (status == TLM_OK)
        status = train_load_data(t);
    if (status == TLM_OK)
        status = train_start(t);
    if (status == TLM_OK && t->validation)
        status = train_check_ragged(t, &t->validation_rows, "validation");
    if (status == TLM_OK && t->train->evaluate_train)
        status = train_check_ragged(t, &t->rows, "training");
    t->batch_rows = tlm_alloc(t->train->batch, sizeof *t->batch_rows);
    t->losses = tlm_alloc(t->train->form->loss_count, sizeof *t->losses);
    if (status == TLM_OK && (!t->batch_rows || !t->losses))
        status = tlm_fail(session->error, TLM_ERR_MEMORY, "no memory to train");
    tlm_session_phase(session, TLM_PHASE_DATA, start);
    return status;
}

void tlm_training_end(struct tlm_training *t)
{
    tlm_order_free(&t->order);
    tlm_subset_free(&t->rows);
    tlm_subset_free(&t->validation_rows);
    tlm_dataset_free(&t->data);
    tlm_dataset_free(&t->validation_data);
    free(t->batch_rows);
    free(t->losses);
}

/* The losses of the batch that just went forward, divided by the batches of a step, are added to
   t->losses. */
static tlm_status train_add_losses(struct tlm_training *t, double share)
{
    const tlm_form *const form = t->train->form;
    tlm_status status;

    if (!t->look)
        return TLM_OK;
    status = tlm_session_wait(t->session);
    for (uint32_t i = 0; status == TLM_OK && i < form->loss_count; i++)
        t->losses[i] += tlm_io_mean(t->session, &form->losses[i]) * share;
    return status;
}

/* The end of a phase: with --profile a device must be done before the clock is read. */
static tlm_status train_phase(struct tlm_training *t, enum tlm_phase phase, double *now)
{
    struct tlm_session *const session = t->session;
    tlm_status status = TLM_OK;

    if (session->flags->profile && tlm_session_on_device(session))
        status = tlm_session_wait(session);
    *now = tlm_session_phase(session, phase, *now);
    return status;
}

/* On a device one call, and one graph, a batch; unless somebody wants to know how long its phases
   take. */
static bool train_at_once(const struct tlm_training *t)
{
    return tlm_session_on_device(t->session) && !t->session->flags->profile;
}

/* Does a batch's one call make the step? */
static bool train_batch_steps(const struct tlm_training *t)
{
    return train_at_once(t) && !t->train->accumulate_step;
}

/* One batch forward and backward; at once also what follows. */
static tlm_status train_batch(struct tlm_training *t, double share)
{
    struct tlm_session *const session = t->session;
    const tlm_train *const train = t->train;
    double now = tlm_seconds();
    tlm_status status;

    tlm_order_next(&t->order, t->batch_rows);
    tlm_feed_rows(session, train->form, &t->data, t->batch_rows, train->batch);
    now = tlm_session_phase(session, TLM_PHASE_DATA, now);
    if (train_at_once(t)) {
        status = tlm_session_check(session, train->train_batch(session->model));
        return status == TLM_OK ? train_add_losses(t, share) : status;
    }
    status = tlm_session_check(session, train->forward(session->model));
    if (status == TLM_OK)
        status = train_add_losses(t, share);
    if (status == TLM_OK)
        status = train_phase(t, TLM_PHASE_FORWARD, &now);
    if (status == TLM_OK)
        status = tlm_session_check(session, train->backward(session->model));
    if (status == TLM_OK && train->accumulate_step)
        status = tlm_session_check(session, train->accumulate_step(session->model));
    return status == TLM_OK ? train_phase(t, TLM_PHASE_BACKWARD, &now) : status;
}

tlm_status tlm_training_step(struct tlm_training *t)
{
    struct tlm_session *const session = t->session;
    const tlm_train *const train = t->train;
    const uint64_t batches = train->accumulate > 1 ? (uint64_t)train->accumulate : 1;
    tlm_status status = TLM_OK;
    double now;

    if (t->look)
        memset(t->losses, 0, train->form->loss_count * sizeof *t->losses);
    session->program->set_step(session->model, t->step);
    if (train->scalar_count > 0)
        tlm_scalars_next(&t->scalars, t->step, train->scalar_block(session->model));
    for (uint64_t i = 0; status == TLM_OK && i < batches; i++)
        status = train_batch(t, 1.0 / (double)batches);
    if (status != TLM_OK)
        return status;
    if (t->look)
        t->loss = 0.0;
    for (uint32_t i = 0; t->look && i < train->form->loss_count; i++)
        t->loss += t->losses[i];
    now = tlm_seconds();
    if (!train_batch_steps(t))
        status = tlm_session_check(session, train->step(session->model));
    t->step++;
    session->program->set_step(session->model, t->step);
    return status == TLM_OK ? train_phase(t, TLM_PHASE_UPDATE, &now) : status;
}

/* Logs the step just done, number `step`; with log_loss after its loss is evaluated again first. */
static tlm_status train_log_step(struct tlm_training *t, uint64_t step)
{
    struct tlm_session *const session = t->session;
    struct tlm_log *const log = &session->log;
    const tlm_train *const train = t->train;

    if (train->log_loss_after) {
        const double start = tlm_seconds();
        tlm_status status;

        tlm_feed_rows(session, train->eval, &t->data, t->batch_rows, train->batch);
        status = tlm_session_run(session, train->eval);
        if (status != TLM_OK)
            return status;
        t->loss = tlm_form_loss(session, train->eval);
        for (uint32_t i = 0; i < train->form->loss_count && i < train->eval->loss_count; i++)
            t->losses[i] = tlm_io_mean(session, &train->eval->losses[i]);
        tlm_session_phase(session, TLM_PHASE_EVALUATE, start);
    }
    tlm_report_step(session, step, t->losses, t->loss);
    tlm_log_begin(log, "step");
    tlm_log_integer(log, "step", step);
    tlm_log_number(log, "loss", t->loss);
    for (uint32_t i = 0; train->form->loss_count > 1 && i < train->form->loss_count; i++)
        tlm_log_number(log, train->form->losses[i].name, t->losses[i]);
    tlm_log_number(log, "lr", tlm_scalars_lr(&t->scalars, step));
    tlm_log_integer(log, "epoch", t->order.epoch);
    return tlm_session_wrote(session, tlm_log_end(log, session->error));
}

static tlm_status train_log_means(struct tlm_training *t, const char *event,
                                  const struct tlm_means *means)
{
    const tlm_form *const eval = t->train->eval;
    struct tlm_log *const log = &t->session->log;

    tlm_log_begin(log, event);
    tlm_log_integer(log, "step", t->step);
    tlm_log_number(log, "loss", means->loss);
    for (uint32_t i = 0; eval->loss_count > 1 && i < eval->loss_count; i++)
        tlm_log_number(log, eval->losses[i].name, means->values[i]);
    for (uint32_t i = 0; i < eval->metric_count; i++)
        tlm_log_number(log, eval->metrics[i].name, means->values[eval->loss_count + i]);
    return tlm_session_wrote(t->session, tlm_log_end(log, t->session->error));
}

static tlm_status train_validate(struct tlm_training *t)
{
    struct tlm_means means;
    tlm_status status = tlm_evaluate(t->session, t->validation, &t->validation_rows, &means);

    if (status == TLM_OK) {
        tlm_report_validation(t->session, t->step, &means);
        status = train_log_means(t, "validate", &means);
    }
    tlm_means_free(&means);
    return status;
}

static tlm_status train_save(struct tlm_training *t)
{
    struct tlm_session *const session = t->session;
    tlm_run_state run = { .size = sizeof run,
                          .step = t->step,
                          .seed = session->seed,
                          .epoch = t->order.epoch,
                          .position = t->order.position,
                          .power_count = t->scalars.power_count,
                          .planned = t->steps };
    const double start = tlm_seconds();
    tlm_status status;

    memcpy(run.powers, t->scalars.powers, sizeof run.powers);
    status = tlm_session_params(session);
    if (status == TLM_OK)
        status = tlm_session_wrote(session, tlm_save(session->params, session->param_count,
                                                     session->flags->save, &run, session->error));
    tlm_session_phase(session, TLM_PHASE_SAVE, start);
    if (status != TLM_OK)
        return status;
    tlm_log_begin(&session->log, "save");
    tlm_log_integer(&session->log, "step", t->step);
    tlm_log_text(&session->log, "file", session->flags->save);
    return tlm_session_wrote(session, tlm_log_end(&session->log, session->error));
}

static bool train_is_due(int64_t every, uint64_t step)
{
    return every > 0 && step % (uint64_t)every == 0;
}

/* Are the losses of the next step needed?  On the CPU they cost nothing; on a device reading them
   waits, so only those that are printed, and those at the ends. */
static bool train_looks(const struct tlm_training *t, uint64_t begin)
{
    return !tlm_session_on_device(t->session) || t->step == begin || t->step + 1 == t->steps ||
           train_is_due(t->log_every, t->step);
}

/* The steps, with what is printed and saved between them.  *first and *last are the losses of the
   steps at the ends. */
static tlm_status train_loop(struct tlm_training *t, double *first, double *last)
{
    struct tlm_session *const session = t->session;
    const uint64_t begin = t->step;
    uint64_t validated = UINT64_MAX;

    tlm_progress_start(&session->progress, begin, t->steps);
    while (t->step < t->steps) {
        const uint64_t step = t->step;
        tlm_status status;

        t->look = train_looks(t, begin);
        status = tlm_training_step(t);
        if (status != TLM_OK)
            return status;
        if (!isfinite(t->loss) && !t->nan_seen) {
            tlm_session_note(session, "the loss of step %" PRIu64 " is %s", step,
                             isnan(t->loss) ? "nan" : "infinite");
            t->nan_seen = true;
        }
        if (step == begin)
            *first = t->loss;
        *last = t->loss;
        if (train_is_due(t->log_every, step))
            status = train_log_step(t, step);
        if (status == TLM_OK && t->validation && train_is_due(t->train->validate_every, t->step)) {
            status = train_validate(t);
            validated = t->step;
        }
        if (status == TLM_OK && session->flags->save &&
            train_is_due(t->train->save_every, t->step) && t->step < t->steps)
            status = train_save(t);
        if (status != TLM_OK)
            return status;
        tlm_progress_update(&session->progress, t->step, t->loss);
    }
    tlm_progress_clear(&session->progress);
    return t->validation && validated != t->step ? train_validate(t) : TLM_OK;
}

/* evaluate train and the probes; *loss is the mean loss. */
static tlm_status train_show(struct tlm_training *t, const char *when, double *loss)
{
    struct tlm_means means;
    tlm_status status = TLM_OK;

    if (t->train->evaluate_train) {
        status = tlm_evaluate(t->session, &t->data, &t->rows, &means);
        if (status == TLM_OK) {
            *loss = means.loss;
            tlm_report_means(t->session, when, &means);
            status = train_log_means(t, when, &means);
        }
        tlm_means_free(&means);
    }
    return status == TLM_OK ? tlm_report_probes(t->session, when) : status;
}

/* --save must be possible before hours go into a run. */
static tlm_status train_try_save(struct tlm_session *session)
{
    struct tlm_replace replace;
    tlm_status status;

    if (!session->flags->save)
        return TLM_OK;
    status = tlm_session_wrote(session, tlm_replace_begin(&replace, session->flags->save, NULL,
                                                          session->error));
    if (status == TLM_OK)
        tlm_replace_abort(&replace);
    return status;
}

static tlm_status train_begin_log(struct tlm_training *t)
{
    struct tlm_session *const session = t->session;
    struct tlm_log *const log = &session->log;
    tlm_status status = tlm_session_wrote(session, tlm_log_open(log, session->flags->log,
                                                                session->resumed, session->error));

    if (status != TLM_OK)
        return status;
    tlm_log_begin(log, "start");
    tlm_log_text(log, "model", session->program->name);
    tlm_log_text(log, "device", session->program->device);
    tlm_log_text(log, "profile", session->program->profile);
    tlm_log_integer(log, "seed", session->seed);
    tlm_log_integer(log, "step", t->step);
    tlm_log_integer(log, "steps", t->steps);
    tlm_log_integer(log, "rows", t->rows.count);
    return tlm_session_wrote(session, tlm_log_end(log, session->error));
}

/* From the report's head to its last figures. */
static tlm_status train_run(struct tlm_training *t)
{
    struct tlm_session *const session = t->session;
    double first = 0.0, last = 0.0, before = 0.0, after = 0.0;
    const bool evaluated = t->train->evaluate_train != 0;
    const bool moved = t->step < t->steps;
    tlm_status status;

    tlm_report_head(session, t->steps, t->rows.count, t->validation_rows.count);
    status = train_show(t, "before", &before);
    if (status == TLM_OK)
        status = train_loop(t, &first, &last);
    if (status == TLM_OK)
        status = train_show(t, "after", &after);
    if (status == TLM_OK && session->flags->save)
        status = train_save(t);
    if (status != TLM_OK)
        return status;
    tlm_report_end(session, t->steps, evaluated || moved, evaluated ? before : first,
                   evaluated ? after : last);
    tlm_log_begin(&session->log, "end");
    tlm_log_integer(&session->log, "step", t->step);
    status = tlm_session_wrote(session, tlm_log_end(&session->log, session->error));
    if (session->flags->profile)
        tlm_report_phases(session);
    return status;
}

tlm_status tlm_train_main(struct tlm_session *session)
{
    struct tlm_training training;
    char ignored[TLM_ERROR_BYTES];
    tlm_status status = tlm_training_begin(&training, session);

    if (status == TLM_OK)
        status = train_try_save(session);
    if (status == TLM_OK)
        status = train_begin_log(&training);
    if (status == TLM_OK)
        status = train_run(&training);
    tlm_progress_clear(&session->progress);
    if (status == TLM_OK)
        status = tlm_session_wrote(session, tlm_log_close(&session->log, session->error));
    else
        tlm_log_close(&session->log, ignored); /* the first failure is the one to report */
    tlm_training_end(&training);
    return status;
}
