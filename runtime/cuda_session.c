/* Runs of an emitted model on its session: staging, one stream, a captured graph for each function,
   the fault of the device, and who owns weights and state.

   Nothing waits but tlm_cuda_wait and tlm_cuda_fetch; tlm_cuda_run does only for staging memory
   that an earlier copy still reads, and where it uploads blocks that the caller may write again.
   Every status of CUDA is checked, but for those of the end (tlm_cuda_close), which has nobody to
   tell; a failure lasts for the session's life. */
#include "cuda_session.h"

#include <stdio.h>
#include <string.h>

/* ---- failures */

tlm_status tlm_cuda_broke(struct tlm_cuda_session *session, tlm_rt *rt, cudaError_t code,
                          const char *place, const char *doing)
{
    if (code == cudaSuccess)
        return TLM_OK;
    session->status = tlm_cuda_result(session->message, code, place, doing);
    return tlm_cuda_fail(rt->error, session->status, "%s", session->message);
}

tlm_status tlm_cuda_usable(const tlm_cuda *cuda, tlm_rt *rt)
{
    if (!cuda->session)
        return tlm_cuda_fail(rt->error, TLM_ERR_STATE, "the model has no CUDA session");
    if (cuda->session->status != TLM_OK)
        return tlm_cuda_fail(rt->error, cuda->session->status, "%s", cuda->session->message);
    return TLM_OK;
}

/* A failure that has no place in the model's source. */
static tlm_status run_broke(struct tlm_cuda_session *session, tlm_rt *rt, cudaError_t code,
                            const char *doing)
{
    return tlm_cuda_broke(session, rt, code, NULL, doing);
}

/* Makes the session's device the thread's. */
static tlm_status run_begin(tlm_cuda *cuda, tlm_rt *rt)
{
    TLM_TRY(tlm_cuda_usable(cuda, rt));
    return run_broke(cuda->session, rt, cudaSetDevice(cuda->session->device), "cudaSetDevice");
}

/* The device's fault as the CPU's message; the cell is cleared.  The stream is idle. */
static tlm_status run_report_fault(tlm_cuda *cuda, tlm_rt *rt)
{
    struct tlm_cuda_session *const session = cuda->session;
    const tlm_cuda_needs *const needs = session->needs;
    uint32_t fault[4];
    int32_t value;

    for (int i = 0; i < 4; i++)
        fault[i] = session->fault[i];
    if (fault[0] == 0)
        return TLM_OK;
    for (int i = 0; i < 4; i++)
        session->fault[i] = 0;
    session->ran_count = 0; /* what those runs computed is not valid */
    TLM_TRY(run_broke(session, rt, cudaMemsetAsync(cuda->fault, 0, sizeof fault, session->stream),
                      "cudaMemsetAsync of the fault"));
    if (fault[1] >= needs->check_count)
        return tlm_cuda_fail(rt->error, TLM_ERR_DEVICE,
                             "the device reports check %u, the model has %u", (unsigned)fault[1],
                             (unsigned)needs->check_count);
    memcpy(&value, &fault[3], sizeof value);
    return tlm_index_error(rt, value, fault[2], needs->checks[fault[1]].limit,
                           needs->checks[fault[1]].tensor, needs->checks[fault[1]].place);
}

/* Waits for the stream and reports a fault. */
static tlm_status run_settle(tlm_cuda *cuda, tlm_rt *rt)
{
    struct tlm_cuda_session *const session = cuda->session;

    TLM_TRY(run_broke(session, rt, cudaStreamSynchronize(session->stream),
                      "found while waiting for the device"));
    for (int i = 0; i < TLM_CUDA_SLOTS; i++)
        session->slots[i].pending = false;
    return run_report_fault(cuda, rt);
}

/* ---- the caller's blocks */

static unsigned char *run_device_address(const tlm_cuda *cuda, const tlm_cuda_span *span)
{
    switch (span->block) {
    case TLM_CUDA_ACTIVATIONS: return cuda->activations + span->device;
    case TLM_CUDA_WEIGHTS: return cuda->weights + span->device;
    case TLM_CUDA_STATE: return cuda->state + span->device;
    case TLM_CUDA_TABLES: return cuda->tables + span->device;
    }
    return NULL;
}

static tlm_status run_copy(struct tlm_cuda_session *session, tlm_rt *rt, void *to, const void *from,
                           size_t bytes, enum cudaMemcpyKind kind, const char *doing)
{
    if (bytes == 0)
        return TLM_OK;
    return run_broke(session, rt, cudaMemcpyAsync(to, from, bytes, kind, session->stream), doing);
}

/* Weights and state, whole, in the direction of `kind`. */
static tlm_status run_copy_blocks(tlm_cuda *cuda, tlm_rt *rt, enum cudaMemcpyKind kind)
{
    struct tlm_cuda_session *const session = cuda->session;
    const size_t begin = session->needs->state_begin;
    const size_t weights_bytes = session->needs->weights_bytes;
    const size_t state_bytes =
        session->needs->state_bytes > begin ? session->needs->state_bytes - begin : 0;

    if (kind == cudaMemcpyHostToDevice) {
        TLM_TRY(run_copy(session, rt, cuda->weights, session->host_weights, weights_bytes, kind,
                         "cudaMemcpyAsync of the weights"));
        return run_copy(session, rt, cuda->state + begin, session->host_state + begin, state_bytes,
                        kind, "cudaMemcpyAsync of the state");
    }
    TLM_TRY(run_copy(session, rt, session->host_weights, cuda->weights, weights_bytes, kind,
                     "cudaMemcpyAsync of the weights"));
    return run_copy(session, rt, session->host_state + begin, cuda->state + begin, state_bytes,
                    kind, "cudaMemcpyAsync of the state");
}

/* Before a run, when the host may have written weights or state.  The caller may write again as
   soon as the run returns, and its memory may be pinned: so this waits for the copy. */
static tlm_status run_take_blocks(tlm_cuda *cuda, tlm_rt *rt)
{
    struct tlm_cuda_session *const session = cuda->session;

    if (!session->host_newer)
        return TLM_OK;
    TLM_TRY(run_copy_blocks(cuda, rt, cudaMemcpyHostToDevice));
    TLM_TRY(run_broke(session, rt, cudaStreamSynchronize(session->stream),
                      "upload of weights and state"));
    session->host_newer = false;
    return TLM_OK;
}

/* ---- staging */

/* The next slot, free to be written. */
static tlm_status run_take_slot(tlm_cuda *cuda, tlm_rt *rt)
{
    struct tlm_cuda_session *const session = cuda->session;
    struct tlm_cuda_slot *slot;

    session->slot = (session->slot + 1) % TLM_CUDA_SLOTS;
    slot = &session->slots[session->slot];
    if (!slot->pending)
        return TLM_OK;
    TLM_TRY(run_broke(session, rt, cudaEventSynchronize(slot->event),
                      "found while waiting for the staging memory"));
    slot->pending = false;
    return TLM_OK;
}

/* Seed, run, scalars and the form's inputs into the slot. */
static void run_fill_slot(struct tlm_cuda_session *session, const tlm_rt *rt, uint32_t form,
                          const float *scalars)
{
    const tlm_cuda_needs *const needs = session->needs;
    unsigned char *at = session->slots[session->slot].data;
    const uint64_t draws[2] = { rt->seed, rt->run };

    memcpy(at, draws, sizeof draws);
    if (needs->scalar_count > 0 && scalars)
        memcpy(at + sizeof draws, scalars, needs->scalar_count * sizeof *scalars);
    else if (needs->scalar_count > 0)
        memset(at + sizeof draws, 0, needs->scalar_count * sizeof *scalars);
    if (form == TLM_CUDA_NO_FORM)
        return;
    at += tlm_cuda_staged(session->step_bytes);
    for (uint32_t i = 0; i < needs->forms[form].input_count; i++) {
        const tlm_cuda_span *const span = &needs->forms[form].inputs[i];

        if (span->bytes > 0)
            memcpy(at, session->io + span->host, span->bytes);
        at += tlm_cuda_staged(span->bytes);
    }
}

/* The slot onto the device; its event tells when it is free again. */
static tlm_status run_upload_slot(tlm_cuda *cuda, tlm_rt *rt)
{
    struct tlm_cuda_session *const session = cuda->session;
    struct tlm_cuda_slot *const slot = &session->slots[session->slot];
    const tlm_cuda_form *inputs = NULL;
    const unsigned char *at = slot->data;

    if (session->now_form != TLM_CUDA_NO_FORM)
        inputs = &session->needs->forms[session->now_form];
    TLM_TRY(run_copy(session, rt, cuda->draws, at, session->step_bytes, cudaMemcpyHostToDevice,
                     "cudaMemcpyAsync of the step's numbers"));
    at += tlm_cuda_staged(session->step_bytes);
    for (uint32_t i = 0; inputs && i < inputs->input_count; i++) {
        const tlm_cuda_span *const span = &inputs->inputs[i];

        TLM_TRY(run_copy(session, rt, run_device_address(cuda, span), at, span->bytes,
                         cudaMemcpyHostToDevice, "cudaMemcpyAsync of an input"));
        at += tlm_cuda_staged(span->bytes);
    }
    slot->pending = true;
    return run_broke(session, rt, cudaEventRecord(slot->event, session->stream),
                     "cudaEventRecord of the staging memory");
}

/* The form's outputs will be there when the stream is done: behind those of other forms, once. */
static void run_note_outputs(struct tlm_cuda_session *session, uint32_t form)
{
    uint32_t kept = 0;

    if (form == TLM_CUDA_NO_FORM)
        return;
    for (uint32_t i = 0; i < session->ran_count; i++)
        if (session->ran[i] != form)
            session->ran[kept++] = session->ran[i];
    session->ran[kept] = form;
    session->ran_count = kept + 1;
}

static void run_take_outputs(struct tlm_cuda_session *session)
{
    for (uint32_t r = 0; r < session->ran_count; r++) {
        const tlm_cuda_form *const form = &session->needs->forms[session->ran[r]];
        const unsigned char *at = session->pinned + session->outputs[session->ran[r]];

        for (uint32_t i = 0; i < form->output_count; i++) {
            if (form->outputs[i].bytes > 0)
                memcpy(session->io + form->outputs[i].host, at, form->outputs[i].bytes);
            at += tlm_cuda_staged(form->outputs[i].bytes);
        }
    }
    session->ran_count = 0;
}

/* ---- phases */

/* Calls the enqueue function; what it asks for is kept in the phase. */
static tlm_status run_enqueue(struct tlm_cuda_session *session, struct tlm_cuda_phase *phase,
                              tlm_cuda_enqueue *enqueue, void *model)
{
    tlm_status status;

    phase->uploads = phase->touches = false;
    phase->downloads = TLM_CUDA_NO_FORM;
    phase->form = session->now_form;
    session->now = phase;
    session->enqueued = 0;
    status = enqueue(model);
    session->now = NULL;
    return status;
}

/* Captures the phase into a graph.  A function that fails leaves no graph; session->cold tells that
   it must run uncaptured first. */
static tlm_status run_capture(struct tlm_cuda_session *session, tlm_rt *rt,
                              struct tlm_cuda_phase *phase, tlm_cuda_enqueue *enqueue, void *model)
{
    cudaGraph_t graph = NULL;
    cudaError_t ended, destroyed;
    tlm_status status;

    TLM_TRY(run_broke(session, rt,
                      cudaStreamBeginCapture(session->stream, cudaStreamCaptureModeThreadLocal),
                      "cudaStreamBeginCapture"));
    session->capturing = true;
    session->cold = false;
    status = run_enqueue(session, phase, enqueue, model);
    session->capturing = false;
    ended = cudaStreamEndCapture(session->stream, &graph);
    if (status == TLM_OK)
        status = run_broke(session, rt, ended, "cudaStreamEndCapture");
    else if (ended != cudaSuccess)
        cudaGetLastError(); /* the first failure is the one to report */
    if (status == TLM_OK)
        status = run_broke(session, rt, cudaGraphInstantiate(&phase->graph, graph, 0),
                           "cudaGraphInstantiate");
    if (graph) {
        destroyed = cudaGraphDestroy(graph);
        if (status == TLM_OK)
            status = run_broke(session, rt, destroyed, "cudaGraphDestroy");
    }
    return status;
}

/* The phase onto the stream: its graph, captured if it was not yet, or kernel by kernel. */
static tlm_status run_phase(tlm_cuda *cuda, tlm_rt *rt, struct tlm_cuda_phase *phase,
                            tlm_cuda_enqueue *enqueue, void *model)
{
    struct tlm_cuda_session *const session = cuda->session;

    if (!session->no_graph && !phase->graph) {
        const tlm_status status = run_capture(session, rt, phase, enqueue, model);

        if (status != TLM_OK && !session->cold)
            return status;
    }
    if (!phase->graph) {
        phase->warm = true;
        return run_enqueue(session, phase, enqueue, model);
    }
    if (phase->form != session->now_form)
        return tlm_cuda_fail(rt->error, TLM_ERR_ARGUMENT,
                             "a phase was captured with form %u and is run with %u",
                             (unsigned)phase->form, (unsigned)session->now_form);
    if (phase->uploads)
        TLM_TRY(run_upload_slot(cuda, rt));
    return run_broke(session, rt, cudaGraphLaunch(phase->graph, session->stream),
                     "cudaGraphLaunch");
}

tlm_status tlm_cuda_run(tlm_cuda *cuda, tlm_rt *rt, uint32_t phase, uint32_t form,
                        const float *scalars, tlm_cuda_enqueue *enqueue, void *model)
{
    struct tlm_cuda_session *const session = cuda->session;
    bool stages; /* not when its graph is known to upload nothing */

    TLM_TRY(run_begin(cuda, rt));
    if (phase >= session->needs->phase_count ||
        (form >= session->needs->form_count && form != TLM_CUDA_NO_FORM))
        return tlm_cuda_fail(rt->error, TLM_ERR_ARGUMENT, "no phase %u or form %u", (unsigned)phase,
                             (unsigned)form);
    stages = !session->phases[phase].graph || session->phases[phase].uploads;
    if (stages)
        TLM_TRY(run_take_slot(cuda, rt));
    /* An earlier fault is seen here as soon as it was copied.  A slot is free again when the run
       that used it before, two staged runs ago, has begun: so at most three staged runs late, in
       training in the update of the next step, with train_batch in the third batch after.  Updates
       behind the fault did nothing. */
    if (session->fault[0] != 0)
        TLM_TRY(run_settle(cuda, rt));
    TLM_TRY(run_take_blocks(cuda, rt));
    if (stages)
        run_fill_slot(session, rt, form, scalars);
    session->now_form = form;
    session->gradients_newer = true;
    TLM_TRY(run_phase(cuda, rt, &session->phases[phase], enqueue, model));
    run_note_outputs(session, session->phases[phase].downloads);
    session->device_newer = session->device_newer || session->phases[phase].touches;
    return TLM_OK;
}

/* ---- in an enqueue function */

/* A call outside of one would end up in no graph. */
static tlm_status run_check_enqueueing(const tlm_cuda *cuda, tlm_rt *rt)
{
    TLM_TRY(tlm_cuda_usable(cuda, rt));
    if (!cuda->session->now)
        return tlm_cuda_fail(rt->error, TLM_ERR_STATE, "work for the device outside of a run");
    return TLM_OK;
}

tlm_status tlm_cuda_upload(tlm_cuda *cuda, tlm_rt *rt, uint32_t form)
{
    struct tlm_cuda_session *const session = cuda->session;

    TLM_TRY(run_check_enqueueing(cuda, rt));
    if (session->now->uploads && form == TLM_CUDA_NO_FORM)
        return TLM_OK; /* the step's block came with the inputs */
    if (session->enqueued > 0 || form != session->now_form)
        return tlm_cuda_fail(rt->error, TLM_ERR_STATE,
                             "an upload that is not the first of its run, or of another form");
    session->now->uploads = true;
    return session->capturing ? TLM_OK : run_upload_slot(cuda, rt);
}

tlm_status tlm_cuda_download(tlm_cuda *cuda, tlm_rt *rt, uint32_t form)
{
    struct tlm_cuda_session *const session = cuda->session;
    const tlm_cuda_form *outputs = NULL;
    unsigned char *at = NULL;

    TLM_TRY(run_check_enqueueing(cuda, rt));
    session->enqueued++;
    if (form < session->needs->form_count) {
        outputs = &session->needs->forms[form];
        at = session->pinned + session->outputs[form];
    } else if (form != TLM_CUDA_NO_FORM) {
        return tlm_cuda_fail(rt->error, TLM_ERR_ARGUMENT, "no form %u", (unsigned)form);
    }
    for (uint32_t i = 0; outputs && i < outputs->output_count; i++) {
        const tlm_cuda_span *const span = &outputs->outputs[i];

        TLM_TRY(run_copy(session, rt, at, run_device_address(cuda, span), span->bytes,
                         cudaMemcpyDeviceToHost, "cudaMemcpyAsync of an output"));
        at += tlm_cuda_staged(span->bytes);
    }
    session->now->downloads = form;
    return run_copy(session, rt, (void *)(uintptr_t)session->fault, cuda->fault,
                    4 * sizeof *cuda->fault, cudaMemcpyDeviceToHost,
                    "cudaMemcpyAsync of the fault");
}

tlm_status tlm_cuda_launch(tlm_cuda *cuda, tlm_rt *rt, uint32_t kernel, uint64_t blocks,
                           const void *args, const char *place)
{
    struct tlm_cuda_session *const session = cuda->session;
    void *parameters[1] = { (void *)(uintptr_t)args };
    cudaLaunchConfig_t launch;
    cudaError_t code;
    char doing[128];

    TLM_TRY(run_check_enqueueing(cuda, rt));
    session->enqueued++;
    if (kernel >= session->needs->kernel_count)
        return tlm_cuda_fail(rt->error, TLM_ERR_ARGUMENT, "%s: no kernel %u", place,
                             (unsigned)kernel);
    if (blocks == 0)
        return TLM_OK;
    if (blocks > INT32_MAX)
        return tlm_cuda_fail(rt->error, TLM_ERR_DEVICE,
                             "%s: %llu blocks are more than one launch can have (kernel %s)", place,
                             (unsigned long long)blocks, session->needs->kernels[kernel].name);
    memset(&launch, 0, sizeof launch);
    launch.gridDim = (dim3){ (unsigned)blocks, 1, 1 };
    launch.blockDim = (dim3){ session->needs->kernels[kernel].threads, 1, 1 };
    launch.stream = session->stream;
    code = cudaLaunchKernelExC(&launch, session->kernels[kernel], parameters);
    if (code == cudaSuccess)
        return TLM_OK;
    snprintf(doing, sizeof doing, "kernel %.100s", session->needs->kernels[kernel].name);
    return tlm_cuda_broke(session, rt, code, place, doing);
}

tlm_status tlm_cuda_zero(tlm_cuda *cuda, tlm_rt *rt, void *to, size_t bytes, const char *place)
{
    TLM_TRY(run_check_enqueueing(cuda, rt));
    cuda->session->enqueued++;
    if (bytes == 0)
        return TLM_OK;
    return tlm_cuda_broke(cuda->session, rt, cudaMemsetAsync(to, 0, bytes, cuda->session->stream),
                          place, "cudaMemsetAsync");
}

tlm_status tlm_cuda_copy(tlm_cuda *cuda, tlm_rt *rt, void *to, const void *from, size_t bytes,
                         const char *place)
{
    TLM_TRY(run_check_enqueueing(cuda, rt));
    cuda->session->enqueued++;
    if (bytes == 0)
        return TLM_OK;
    return tlm_cuda_broke(cuda->session, rt,
                          cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice,
                                          cuda->session->stream),
                          place, "cudaMemcpyAsync");
}

void *tlm_cuda_stream(tlm_cuda *cuda)
{
    return cuda->session ? cuda->session->stream : NULL;
}

tlm_status tlm_cuda_enter_library(tlm_cuda *cuda, tlm_rt *rt)
{
    struct tlm_cuda_session *const session = cuda->session;

    TLM_TRY(run_check_enqueueing(cuda, rt));
    session->enqueued++;
    if (!session->capturing || session->now->warm)
        return TLM_OK;
    session->cold = true;
    return tlm_cuda_fail(rt->error, TLM_ERR_STATE, "a library before its first call");
}

void tlm_cuda_touched(tlm_cuda *cuda)
{
    if (!cuda->session)
        return;
    cuda->session->device_newer = true;
    if (cuda->session->now)
        cuda->session->now->touches = true;
}

/* ---- to the host */

tlm_status tlm_cuda_wait(tlm_cuda *cuda, tlm_rt *rt)
{
    TLM_TRY(run_begin(cuda, rt));
    TLM_TRY(run_settle(cuda, rt));
    run_take_outputs(cuda->session);
    return TLM_OK;
}

tlm_status tlm_cuda_fetch(tlm_cuda *cuda, tlm_rt *rt, int with_gradients)
{
    struct tlm_cuda_session *const session = cuda->session;
    const bool gradients = session && with_gradients && session->gradients_newer;

    TLM_TRY(tlm_cuda_wait(cuda, rt));
    if (session->device_newer)
        TLM_TRY(run_copy_blocks(cuda, rt, cudaMemcpyDeviceToHost));
    for (uint32_t i = 0; gradients && i < session->needs->gradient_count; i++) {
        const tlm_cuda_span *const span = &session->needs->gradients[i];

        TLM_TRY(run_copy(session, rt, session->io + span->host, run_device_address(cuda, span),
                         span->bytes, cudaMemcpyDeviceToHost, "cudaMemcpyAsync of a gradient"));
    }
    TLM_TRY(run_broke(session, rt, cudaStreamSynchronize(session->stream),
                      "download of weights, state and gradients"));
    session->device_newer = false;
    session->gradients_newer = session->gradients_newer && !gradients;
    session->host_newer = true;
    return TLM_OK;
}
