/* What a run prints: see report.h. */
#include "report.h"

#include "status.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void report_number(double value)
{
    if (isnan(value))
        fputs("nan", stdout); /* printf would show its sign, which means nothing */
    else
        printf("%.6f", value);
}

void tlm_print_value(tlm_dtype dtype, double value)
{
    if (dtype == TLM_I32 || dtype == TLM_BOOL)
        printf("%.0f", value);
    else
        report_number(value);
}

void tlm_report_backend(const tlm_program *program)
{
    const size_t length = strlen(program->backend_report);

    fputs(program->backend_report, stdout);
    if (length > 0 && program->backend_report[length - 1] != '\n')
        putchar('\n');
    if (program->device_report) {
        char text[TLM_REPORT_BYTES] = "";

        program->device_report(text);
        printf("%.*s\n", (int)strcspn(text, "\n"), text); /* its first line: the settings */
    }
}

void tlm_report_device(const tlm_program *program)
{
    char text[TLM_REPORT_BYTES] = "";

    if (!program->device_report)
        return;
    program->device_report(text);
    fputs(text, stdout);
}

static void report_memory_form(const tlm_form *form, const char *mode)
{
    printf("memory of %s (%s): arena %zu bytes, lower bound %zu\n", form->entry, mode,
           form->arena_bytes, form->lower_bound);
    if (form->memory) {
        const size_t length = strlen(form->memory);

        fputs(form->memory, stdout);
        if (length > 0 && form->memory[length - 1] != '\n')
            putchar('\n');
    }
}

void tlm_report_memory(const tlm_program *program)
{
    printf("weights %zu bytes, state %zu, activations %zu\n", program->weights_bytes,
           program->state_bytes, program->activations_bytes);
    if (program->train) {
        report_memory_form(program->train->form, "train");
        report_memory_form(program->train->eval, "evaluation");
    }
    for (uint32_t i = 0; i < program->infer_count; i++)
        report_memory_form(&program->infer[i], "infer");
    if (program->generate)
        report_memory_form(program->generate->form, "generate");
}

void tlm_report_head(struct tlm_session *session, uint64_t steps, size_t rows,
                     size_t validation_rows)
{
    const tlm_program *const program = session->program;

    printf("== %s: training ==\n", program->name);
    printf("seed  = %" PRIu64 "\n", session->seed);
    printf("steps = %" PRIu64 "\n", steps);
    if (session->resumed)
        printf("resumed after step %" PRIu64 "\n", session->run.step);
    printf("device = %s (profile %s)\n", program->device, program->profile);
    if (session->flags->show_backend)
        tlm_report_backend(program);
    if (session->flags->show_memory)
        tlm_report_memory(program);
    printf("dataset size = %zu\n", rows);
    if (validation_rows > 0)
        printf("validation size = %zu\n", validation_rows);
    fflush(stdout);
}

static void report_named(const char *name, const char *when, double value)
{
    printf("%s(%s) = ", name, when);
    report_number(value);
    putchar('\n');
}

void tlm_report_means(struct tlm_session *session, const char *when, const struct tlm_means *means)
{
    const tlm_form *const form = session->program->train->eval;

    tlm_progress_clear(&session->progress);
    report_named("mean_loss", when, means->loss);
    for (uint32_t i = 0; form->loss_count > 1 && i < form->loss_count; i++)
        report_named(form->losses[i].name, when, means->values[i]);
    for (uint32_t i = 0; i < form->metric_count; i++)
        report_named(form->metrics[i].name, when, means->values[form->loss_count + i]);
    fflush(stdout);
}

/* " loss=0.5": the one loss is called so; several have their names. */
static void report_losses(const tlm_form *form, const double *losses, double total)
{
    if (form->loss_count == 1) {
        fputs(" loss=", stdout);
        report_number(total);
        return;
    }
    for (uint32_t i = 0; i < form->loss_count; i++) {
        printf(" %s=", form->losses[i].name);
        report_number(losses[i]);
    }
}

void tlm_report_step(struct tlm_session *session, uint64_t step, const double *losses, double total)
{
    tlm_progress_clear(&session->progress);
    printf("step %" PRIu64 ":", step);
    report_losses(session->program->train->form, losses, total);
    putchar('\n');
    fflush(stdout);
}

void tlm_report_validation(struct tlm_session *session, uint64_t step,
                           const struct tlm_means *means)
{
    const tlm_form *const form = session->program->train->eval;

    tlm_progress_clear(&session->progress);
    printf("validate step %" PRIu64 ":", step);
    report_losses(form, means->values, means->loss);
    for (uint32_t i = 0; i < form->metric_count; i++) {
        printf(" %s=", form->metrics[i].name);
        report_number(means->values[form->loss_count + i]);
    }
    putchar('\n');
    fflush(stdout);
}

/* ---- probes */

/* The form that shows a probe's outputs: evaluation, or the entry's inference form. */
static const tlm_form *report_probe_form(const tlm_program *program)
{
    const tlm_train *const train = program->train;

    if (train->eval->output_count > 0)
        return train->eval;
    for (uint32_t i = 0; i < program->infer_count; i++)
        if (strcmp(program->infer[i].entry, train->form->entry) == 0)
            return &program->infer[i];
    return NULL;
}

/* The probe's row, the same in every row of the batch; what it does not give is 0. */
static void report_feed_probe(const struct tlm_session *session, const tlm_form *form,
                              const tlm_probe *probe)
{
    const tlm_form *const fed = session->program->train->form;

    for (uint32_t i = 0; i < form->input_count; i++) {
        const tlm_io *const io = &form->inputs[i];
        const size_t elements = tlm_io_elements(io);
        void *const data = io->data(session->model);

        for (size_t e = 0; e < elements; e++)
            tlm_set_element(io->dtype, data, e, 0.0);
        for (uint32_t v = 0; v < probe->value_count; v++) {
            const tlm_probe_value *const value = &probe->values[v];

            if (value->count == 0 || strcmp(fed->inputs[value->input].name, io->name) != 0)
                continue;
            for (size_t e = 0; e < elements; e++)
                tlm_set_element(io->dtype, data, e, value->data[e % value->count]);
        }
    }
}

/* "0.5" or "0.5, 1.0" */
static void report_list(tlm_dtype dtype, const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            fputs(", ", stdout);
        tlm_print_value(dtype, values[i]);
    }
}

/* " x=(0.0, 0.0)" for an input; " target=0.2" for the one target, by its name when there are
 * several. */
static void report_probe_values(const tlm_form *fed, const tlm_probe *probe)
{
    uint32_t targets = 0;

    for (uint32_t i = 0; i < fed->input_count; i++)
        targets += fed->inputs[i].is_target;
    for (uint32_t want_target = 0; want_target < 2; want_target++) {
        for (uint32_t v = 0; v < probe->value_count; v++) {
            const tlm_probe_value *const value = &probe->values[v];
            const tlm_io *const io = &fed->inputs[value->input];
            const bool bare = want_target && value->count == 1;

            if ((io->is_target != 0) != (want_target != 0))
                continue;
            printf(" %s=%s", want_target && targets == 1 ? "target" : io->name, bare ? "" : "(");
            report_list(io->dtype, value->data, value->count);
            fputs(bare ? "" : ")", stdout);
        }
    }
}

static void report_probe_outputs(const struct tlm_session *session, const tlm_form *form)
{
    for (uint32_t i = 0; i < form->output_count; i++) {
        const tlm_io *const io = &form->outputs[i];
        const size_t count = tlm_io_row_elements(io);
        const void *const data = io->data(session->model);

        printf(" %s=[", io->name);
        for (size_t e = 0; e < count; e++) {
            if (e > 0)
                fputs(", ", stdout);
            tlm_print_value(io->dtype, tlm_get_element(io->dtype, data, e));
        }
        putchar(']');
    }
}

tlm_status tlm_report_probes(struct tlm_session *session, const char *when)
{
    const tlm_train *const train = session->program->train;
    const tlm_form *const form = report_probe_form(session->program);

    if (train->probe_count == 0 || !form)
        return TLM_OK;
    tlm_progress_clear(&session->progress);
    printf("predictions(%s)\n", when);
    for (uint32_t i = 0; i < train->probe_count; i++) {
        const tlm_probe *const probe = &train->probes[i];
        tlm_status status;

        report_feed_probe(session, form, probe);
        status = tlm_session_run(session, form);
        if (status != TLM_OK)
            return status;
        printf("  %s:", probe->name);
        report_probe_values(train->form, probe);
        report_probe_outputs(session, form);
        putchar('\n');
    }
    fflush(stdout);
    return TLM_OK;
}

void tlm_report_end(struct tlm_session *session, uint64_t steps, bool known, double first,
                    double last)
{
    tlm_progress_clear(&session->progress);
    printf("steps=%" PRIu64, steps);
    if (known) {
        fputs(" loss0=", stdout);
        report_number(first);
        fputs(" loss1=", stdout);
        report_number(last);
    }
    putchar('\n');
    fflush(stdout);
}

void tlm_report_phases(struct tlm_session *session)
{
    static const char *const report_phases[TLM_PHASE_COUNT] = {
        [TLM_PHASE_DATA] = "data",           [TLM_PHASE_FORWARD] = "forward",
        [TLM_PHASE_BACKWARD] = "backward",   [TLM_PHASE_UPDATE] = "update",
        [TLM_PHASE_EVALUATE] = "evaluation", [TLM_PHASE_SAVE] = "saving"
    };

    printf("profile:\n");
    for (int i = 0; i < TLM_PHASE_COUNT; i++)
        printf("  %-10s %12.6f s\n", report_phases[i], session->phase_seconds[i]);
}
