/* The program shell: flags in, an exit status out (0 done, 1 data or input rejected, 2
   usage or environment, 3 device refused).  The work is in train.c, infer.c, generate.c and
   gradcheck.c. */
#include "generate.h"
#include "gradcheck.h"
#include "infer.h"
#include "report.h"
#include "session.h"
#include "status.h"
#include "train.h"

#include <stdio.h>
#include <stdlib.h>

/* What this call is to do, in this order. */
struct shell_work {
    bool check, train, infer, generate;
};

static struct shell_work shell_plan(const tlm_program *program, const struct tlm_flags *flags)
{
    struct shell_work work = { flags->check_gradients, flags->train, flags->infer.given,
                               flags->generate };

    if (!work.train && !work.infer && !work.generate && !work.check && program->train)
        work.train = true;
    return work;
}

/* Weights alone, for a model that was loaded and is not trained here. */
static tlm_status shell_save_weights(struct tlm_session *session)
{
    const tlm_status status = tlm_session_params(session);

    if (status != TLM_OK)
        return status;
    return tlm_session_wrote(session, tlm_save(session->params, session->param_count,
                                               session->flags->save, NULL, session->error));
}

static tlm_status shell_do(struct tlm_session *session, struct shell_work work)
{
    const struct tlm_flags *const flags = session->flags;
    const bool silent = work.train; /* the training report has its own places for these */
    tlm_status status = TLM_OK;

    if (flags->show_backend && !silent)
        tlm_report_backend(session->program);
    if (flags->show_memory && !silent)
        tlm_report_memory(session->program);
    if (work.check)
        status = tlm_gradcheck_main(session);
    if (status == TLM_OK && work.train)
        status = tlm_train_main(session);
    if (status == TLM_OK && work.infer)
        status = tlm_infer_main(session);
    if (status == TLM_OK && work.generate)
        status = tlm_generate_main(session);
    if (status == TLM_OK && flags->save && !work.train)
        status = shell_save_weights(session);
    if (status == TLM_OK && flags->show_memory)
        tlm_report_device(session->program);
    if (status == TLM_OK && (work.train || work.check))
        printf("%s: ok\n", session->program->name);
    return status;
}

/* Creates the model, loads it and does the work. */
static tlm_status shell_run(struct tlm_session *session, const tlm_program *program,
                            const struct tlm_flags *flags, struct shell_work work)
{
    tlm_status status = tlm_session_begin(session, program, flags);

    if (status != TLM_OK)
        return status;
    if (flags->no_graph && !tlm_session_on_device(session))
        tlm_session_note(session, "--no-graph has no effect on %s", program->device);
    status = tlm_session_load(session);
    return status == TLM_OK ? shell_do(session, work) : status;
}

/* Text that could not be printed must not look like success. */
static int shell_finish(const tlm_program *program, int code)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "%s: error: standard output could not be written\n", program->name);
        return code == 0 ? 2 : code;
    }
    return code;
}

static int shell_with_flags(const tlm_program *program, const struct tlm_flags *flags)
{
    const struct shell_work work = shell_plan(program, flags);
    struct tlm_session *session;
    tlm_status status;
    char error[TLM_ERROR_BYTES];
    int code;

    status = tlm_flags_check(flags, program, error);
    if (status == TLM_OK && !work.check && !work.train && !work.infer && !work.generate &&
        !flags->save && !flags->show_backend && !flags->show_memory)
        status =
            tlm_fail(error, TLM_ERR_ARGUMENT, "nothing to do: --infer with --input, or --generate");
    if (status != TLM_OK) {
        fprintf(stderr, "%s: error: %s (--help lists the flags)\n", program->name, error);
        return 2;
    }
    session = calloc(1, sizeof *session);
    if (!session) {
        fprintf(stderr, "%s: error: no memory\n", program->name);
        return 2;
    }
    status = shell_run(session, program, flags, work);
    tlm_progress_clear(&session->progress);
    fflush(stdout); /* what was done stands before what failed */
    if (status != TLM_OK)
        fprintf(stderr, "%s: error: %s\n", program->name, session->error);
    code = session->output_failed && status != TLM_OK ? 2 : tlm_exit_code(status);
    tlm_session_end(session);
    free(session);
    return code;
}

int tlm_shell_main(const tlm_program *program, int argc, char **argv)
{
    struct tlm_flags flags;
    char error[TLM_ERROR_BYTES];
    tlm_status status = tlm_flags_parse(&flags, argc, argv, error);
    int code;

    if (status != TLM_OK) {
        fprintf(stderr, "%s: error: %s (--help lists the flags)\n", program->name, error);
        code = 2;
    } else if (flags.help) {
        tlm_flags_help(program, stdout);
        code = 0;
    } else {
        code = shell_with_flags(program, &flags);
    }
    tlm_flags_free(&flags);
    return shell_finish(program, code);
}
