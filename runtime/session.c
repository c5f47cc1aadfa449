/* Creating, loading and running a model for the program shell: see session.h. */
#include "session.h"

#include "alloc.h"
#include "pattern.h"
#include "status.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void tlm_session_note(struct tlm_session *session, const char *format, ...)
{
    va_list arguments;

    tlm_progress_clear(&session->progress);
    fprintf(stderr, "%s: note: ", session->program->name);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

static void session_log(void *user, const char *message)
{
    tlm_session_note(user, "%s", message);
}

tlm_status tlm_session_check(struct tlm_session *session, tlm_status status)
{
    const char *message;

    if (status == TLM_OK)
        return status;
    message = session->program->error ? session->program->error(session->model) : NULL;
    return tlm_fail(session->error, status, "%s%s%s", tlm_status_text(status),
                    message && *message ? ": " : "", message ? message : "");
}

tlm_status tlm_session_wrote(struct tlm_session *session, tlm_status status)
{
    session->output_failed = session->output_failed || status != TLM_OK;
    return status;
}

/* How the model's loops run: by the shell's threads, unless a device does the work. */
static tlm_status session_threads(struct tlm_session *session, tlm_options *options)
{
    char reason[TLM_ERROR_BYTES];
    tlm_status status;

    options->threads =
        session->flags->threads > 0 ? (uint32_t)session->flags->threads : tlm_processors();
    if (tlm_session_on_device(session) || options->threads == 1)
        return TLM_OK;
    status = tlm_pool_new(&session->pool, options->threads, reason);
    if (status != TLM_OK)
        return tlm_fail(session->error, status, "%.200s; --threads N sets how many", reason);
    options->parallel = tlm_pool_run;
    options->parallel_user = session->pool;
    return TLM_OK;
}

/* aligned_alloc wants a multiple of the alignment. */
static void *session_model_memory(size_t bytes)
{
    const size_t padded = bytes / TLM_ALIGN * TLM_ALIGN + TLM_ALIGN;
    void *memory = padded > bytes ? aligned_alloc(TLM_ALIGN, padded) : NULL;

    if (memory)
        memset(memory, 0, padded);
    return memory;
}

tlm_status tlm_session_begin(struct tlm_session *session, const tlm_program *program,
                             const struct tlm_flags *flags)
{
    tlm_options options = TLM_OPTIONS_INIT;
    tlm_status status;

    memset(session, 0, sizeof *session);
    session->program = program;
    session->flags = flags;
    session->run.size = sizeof session->run;
    session->seed = flags->seed_given ? flags->seed : program->train ? program->train->seed : 0;
    if (program->size != sizeof *program)
        return tlm_fail(session->error, TLM_ERR_ABI,
                        "the program and libtlm are of different versions");
    session->model = session_model_memory(program->model_bytes);
    status = session->model ? tlm_arena_new(&options, program->weights_bytes, program->state_bytes,
                                            program->activations_bytes)
                            : TLM_ERR_MEMORY;
    if (status != TLM_OK) {
        free(session->model);
        session->model = NULL;
        return tlm_fail(session->error, status,
                        "no memory for the model: %zu bytes of weights, %zu of state, "
                        "%zu of activations",
                        program->weights_bytes, program->state_bytes, program->activations_bytes);
    }
    session->arena = options.weights;
    options.abi = program->abi;
    options.seed = session->seed;
    options.cpu = flags->cpu;
    options.no_graph = flags->no_graph;
    options.log = session_log;
    options.log_user = session;
    options.error_text = session->error;
    status = session_threads(session, &options);
    if (status != TLM_OK)
        return status;
    status = program->create(session->model, &options);
    if (status != TLM_OK && !session->error[0])
        tlm_fail(session->error, status, "%s", tlm_status_text(status));
    session->created = status == TLM_OK;
    return status == TLM_OK ? tlm_session_params(session) : status;
}

void tlm_session_end(struct tlm_session *session)
{
    tlm_options options = TLM_OPTIONS_INIT;

    if (session->created && session->program->destroy)
        session->program->destroy(session->model);
    tlm_pool_free(session->pool);
    session->pool = NULL;
    options.weights = session->arena;
    tlm_arena_free(&options);
    free(session->model);
    session->arena = session->model = NULL;
    session->created = false;
}

/* The model takes the numbers of the run that was read. */
static tlm_status session_take_run(struct tlm_session *session)
{
    if (session->flags->seed_given && session->flags->seed != session->run.seed)
        return tlm_fail(session->error, TLM_ERR_ARGUMENT,
                        "--seed %" PRIu64 ", but the run in %s has the seed %" PRIu64,
                        session->flags->seed, tlm_path_tail(session->flags->resume),
                        session->run.seed);
    session->resumed = true;
    session->seed = session->run.seed;
    session->program->set_seed(session->model, session->seed);
    session->program->set_step(session->model, session->run.step);
    return TLM_OK;
}

/* Did the load give parameter `param` its value? */
static bool session_is_loaded(const struct tlm_session *session, const tlm_param *param)
{
    const tlm_mapping *const mapping = &session->program->mapping;

    if (!session->flags->pretrained.given)
        return session->flags->load || session->flags->resume;
    for (uint32_t i = 0; i < mapping->only_count; i++)
        if (tlm_pattern_match(mapping->only[i], param->key))
            return true;
    return mapping->only_count == 0;
}

tlm_status tlm_session_load(struct tlm_session *session)
{
    const tlm_program *const program = session->program;
    const struct tlm_flags *const flags = session->flags;
    const char *path = flags->resume ? flags->resume : flags->load;
    const tlm_mapping *mapping = NULL;
    tlm_mapping foreign = program->mapping;
    tlm_status status = TLM_OK;

    foreign.size = sizeof foreign;
    if (flags->pretrained.given) {
        path = flags->pretrained.value ? flags->pretrained.value : program->pretrained;
        mapping = &foreign;
    }
    if (path)
        status = tlm_session_params(session);
    if (path && status == TLM_OK)
        status =
            tlm_load(session->params, session->param_count, path, mapping,
                     flags->resume ? &session->run : NULL, session_log, session, session->error);
    if (status == TLM_OK && flags->resume)
        status = session_take_run(session);
    for (uint32_t i = 0; status == TLM_OK && i < program->no_init_count; i++) {
        const tlm_param *const param = &session->params[program->no_init[i]];

        if (!session_is_loaded(session, param))
            return tlm_fail(session->error, TLM_ERR_UNINITIALISED,
                            "the parameter '%s' has no initialiser and was not loaded (--load, "
                            "--pretrained or --resume)",
                            param->key);
    }
    return status;
}

bool tlm_session_on_device(const struct tlm_session *session)
{
    return session->program->device_report != NULL;
}

tlm_status tlm_session_wait(struct tlm_session *session)
{
    if (!session->program->wait)
        return TLM_OK;
    return tlm_session_check(session, session->program->wait(session->model));
}

/* Fetching has no status of its own: a fault of an earlier run shows before it, a device that
   failed still fails after it. */
tlm_status tlm_session_params(struct tlm_session *session)
{
    const tlm_status status = tlm_session_wait(session);

    if (status != TLM_OK)
        return status;
    session->params = session->program->params(session->model, &session->param_count);
    return tlm_session_wait(session);
}

tlm_status tlm_session_run(struct tlm_session *session, const tlm_form *form)
{
    const tlm_status status = tlm_session_check(session, form->run(session->model));

    return status == TLM_OK ? tlm_session_wait(session) : status;
}

double tlm_session_phase(struct tlm_session *session, enum tlm_phase phase, double start)
{
    const double now = tlm_seconds();

    session->phase_seconds[phase] += now - start;
    return now;
}

const tlm_io *tlm_find_io(const tlm_io *ios, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(ios[i].name, name) == 0)
            return &ios[i];
    return NULL;
}

double tlm_get_element(tlm_dtype dtype, const void *data, size_t i)
{
    switch (dtype) {
    case TLM_F32: return (double)((const float *)data)[i];
    case TLM_I32: return (double)((const int32_t *)data)[i];
    case TLM_BOOL: return (double)((const uint8_t *)data)[i];
    case TLM_F64: return ((const double *)data)[i];
    case TLM_F16:
    case TLM_BF16: break; /* no tensor of a form has them */
    }
    return 0.0;
}

void tlm_set_element(tlm_dtype dtype, void *data, size_t i, double value)
{
    switch (dtype) {
    case TLM_F32: ((float *)data)[i] = (float)value; break;
    case TLM_I32: ((int32_t *)data)[i] = (int32_t)value; break;
    case TLM_BOOL: ((uint8_t *)data)[i] = value != 0; break;
    case TLM_F64: ((double *)data)[i] = value; break;
    case TLM_F16:
    case TLM_BF16: break;
    }
}
