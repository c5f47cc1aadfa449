/* Evaluation: see evaluate.h. */
#include "evaluate.h"

#include "alloc.h"
#include "status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool tlm_is_whole_batch(const tlm_io *io, size_t batch)
{
    return io->rank == 0 || batch == 0 || io->dims[0] == 0 || io->dims[0] % batch != 0;
}

void tlm_feed_rows(struct tlm_session *session, const tlm_form *form,
                   const struct tlm_dataset *dataset, const size_t *rows, size_t batch)
{
    const tlm_form *const fed = session->program->train->form;

    for (uint32_t i = 0; i < form->input_count; i++) {
        const tlm_io *const named =
            tlm_find_io(fed->inputs, fed->input_count, form->inputs[i].name);
        const struct tlm_source *const source = &dataset->sources[named - fed->inputs];
        char *const data = form->inputs[i].data(session->model);

        for (size_t b = 0; b < batch; b++)
            tlm_source_row(source, rows[b], data + b * source->row_bytes);
    }
}

double tlm_io_mean(const struct tlm_session *session, const tlm_io *io)
{
    const size_t elements = tlm_io_elements(io);
    const void *const data = io->data(session->model);
    double sum = 0.0;

    for (size_t i = 0; i < elements; i++)
        sum += tlm_get_element(io->dtype, data, i);
    return elements == 1 ? sum : sum / (double)elements;
}

double tlm_form_loss(const struct tlm_session *session, const tlm_form *form)
{
    double sum = 0.0;

    for (uint32_t i = 0; i < form->loss_count; i++)
        sum += tlm_io_mean(session, &form->losses[i]);
    return sum;
}

/* A sum under way. */
struct evaluate_sum {
    double sum, count;
};

/* Adds what one batch with `rows` real rows says. */
static void evaluate_add(const struct tlm_session *session, const tlm_io *io, size_t rows,
                         size_t batch, struct evaluate_sum *sum)
{
    const void *const data = io->data(session->model);
    size_t elements;

    if (tlm_is_whole_batch(io, batch)) {
        if (rows == batch) {
            sum->sum += tlm_io_mean(session, io) * (double)batch;
            sum->count += (double)batch;
        }
        return;
    }
    elements = tlm_io_elements(io) / batch * rows;
    for (size_t i = 0; i < elements; i++)
        sum->sum += tlm_get_element(io->dtype, data, i);
    sum->count += (double)elements;
}

/* All batches of the subset into sums[losses, metrics]. */
static tlm_status evaluate_batches(struct tlm_session *session, const struct tlm_dataset *dataset,
                                   const struct tlm_subset *subset, size_t *rows,
                                   struct evaluate_sum *sums)
{
    const tlm_train *const train = session->program->train;
    const tlm_form *const form = train->eval;
    const size_t batch = train->batch;

    for (size_t at = 0; at < subset->count; at += batch) {
        const size_t real = subset->count - at < batch ? subset->count - at : batch;
        tlm_status status;

        for (size_t b = 0; b < batch; b++)
            rows[b] = tlm_subset_row(subset, at + (b < real ? b : real - 1));
        tlm_feed_rows(session, form, dataset, rows, batch);
        status = tlm_session_run(session, form);
        if (status != TLM_OK)
            return status;
        for (uint32_t i = 0; i < form->loss_count; i++)
            evaluate_add(session, &form->losses[i], real, batch, &sums[i]);
        for (uint32_t i = 0; i < form->metric_count; i++)
            evaluate_add(session, &form->metrics[i], real, batch, &sums[form->loss_count + i]);
    }
    return TLM_OK;
}

tlm_status tlm_evaluate(struct tlm_session *session, const struct tlm_dataset *dataset,
                        const struct tlm_subset *subset, struct tlm_means *out)
{
    const tlm_train *const train = session->program->train;
    const uint32_t count = train->eval->loss_count + train->eval->metric_count;
    const double start = tlm_seconds();
    size_t *rows = tlm_alloc(train->batch, sizeof *rows);
    struct evaluate_sum *sums = tlm_alloc(count, sizeof *sums);
    tlm_status status;

    memset(out, 0, sizeof *out);
    out->values = tlm_alloc(count, sizeof *out->values);
    status = rows && sums && out->values
                 ? evaluate_batches(session, dataset, subset, rows, sums)
                 : tlm_fail(session->error, TLM_ERR_MEMORY, "no memory to evaluate");
    for (uint32_t i = 0; status == TLM_OK && i < count; i++) {
        const tlm_io *const io = i < train->eval->loss_count
                                     ? &train->eval->losses[i]
                                     : &train->eval->metrics[i - train->eval->loss_count];

        out->values[i] = sums[i].count > 0 ? sums[i].sum / sums[i].count : (double)NAN;
        if (i < train->eval->loss_count)
            out->loss += out->values[i];
        if (tlm_is_whole_batch(io, train->batch))
            out->left_out = subset->count % train->batch;
    }
    free(rows);
    free(sums);
    tlm_session_phase(session, TLM_PHASE_EVALUATE, start);
    return status;
}

void tlm_means_free(struct tlm_means *means)
{
    free(means->values);
    means->values = NULL;
}
