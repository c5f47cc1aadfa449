/* What the parts of the program shell share: one model that was created, its flags, and where
   messages go.

   Every part returns a status; the text of a failure is in session->error. */
#ifndef TLM_SESSION_H
#define TLM_SESSION_H

#include "log.h"
#include "options.h"
#include "progress.h"
#include "tlm_pool.h"
#include "tlm_program.h"

enum tlm_phase {
    TLM_PHASE_DATA,
    TLM_PHASE_FORWARD,
    TLM_PHASE_BACKWARD,
    TLM_PHASE_UPDATE,
    TLM_PHASE_EVALUATE,
    TLM_PHASE_SAVE,
    TLM_PHASE_COUNT
};

struct tlm_session {
    const tlm_program *program;
    const struct tlm_flags *flags;
    void *model, *arena; /* owned */
    tlm_pool *pool;      /* owned; NULL: one thread, or a device */
    bool created;        /* the model must be destroyed */
    const tlm_param *params;
    size_t param_count;
    uint64_t seed;
    bool resumed;       /* `run` was read by --resume */
    bool output_failed; /* the failure is that of a file to be written: the environment, not the
                           input */
    tlm_run_state run;
    struct tlm_log log;
    struct tlm_progress progress;
    double phase_seconds[TLM_PHASE_COUNT]; /* printed by --profile; on a device forward, backward
                                              and update are measured only then */
    char error[TLM_ERROR_BYTES];
};

/* Allocates and creates the model, with --cpu, --threads and the seed; end frees it. */
tlm_status tlm_session_begin(struct tlm_session *session, const tlm_program *program,
                             const struct tlm_flags *flags);
void tlm_session_end(struct tlm_session *session);

/* --load, --pretrained, --resume; TLM_ERR_UNINITIALISED when a parameter is left without a
   value. */
tlm_status tlm_session_load(struct tlm_session *session);

/* A status of the model's own calls, with the model's message. */
tlm_status tlm_session_check(struct tlm_session *session, tlm_status status);

/* Passes on the status of writing a file. */
tlm_status tlm_session_wrote(struct tlm_session *session, tlm_status status);

/* A line on standard error that is no failure. */
__attribute__((format(printf, 2, 3))) void tlm_session_note(struct tlm_session *session,
                                                            const char *format, ...);

/* Does the model run on a device of its own, beside the host? */
bool tlm_session_on_device(const struct tlm_session *session);

/* Waits until what ran so far stands on the host: before outputs, losses and metrics are read. */
tlm_status tlm_session_wait(struct tlm_session *session);

/* The parameters, their values and gradients on the host and its own until the next run: before
   they are read or written. */
tlm_status tlm_session_params(struct tlm_session *session);

/* Runs a form and waits for it. */
tlm_status tlm_session_run(struct tlm_session *session, const tlm_form *form);

/* Adds the time since `start` to a phase; returns now. */
double tlm_session_phase(struct tlm_session *session, enum tlm_phase phase, double start);

/* The tensor of that name, or NULL. */
const tlm_io *tlm_find_io(const tlm_io *ios, uint32_t count, const char *name);

/* Element i of a tensor at `data`, and writing one. */
double tlm_get_element(tlm_dtype dtype, const void *data, size_t i);
void tlm_set_element(tlm_dtype dtype, void *data, size_t i, double value);

#endif
