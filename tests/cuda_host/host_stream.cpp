/* Streams and events of the host CUDA runtime.  A stream is a queue of jobs; a job waits for points
   of other streams.  Eager: a job runs when it is put.  Deferred: jobs wait until something waits
   for them, and which stream goes next is drawn at random among those whose first job may run.

   Streams get random priorities that are drawn anew now and then, so that one of them falls far
   behind the others: a fair draw at every step would seldom do that.  Now and then a job runs long
   before anything waits for it, as on a device that is idle. */
#include "host_runtime.h"

#include <algorithm>
#include <ctime>

struct stream_state {
    CUstream_st legacy;
    std::vector<CUstream_st *> streams; /* those that live or have jobs */
    size_t events_live = 0;
    uint64_t random = host_setting().defer;
};

static stream_state &state_of_streams(void)
{
    static stream_state *state = [] {
        stream_state *made = new stream_state;
        made->streams.push_back(&made->legacy);
        return made;
    }();
    return *state;
}

const std::vector<CUstream_st *> &host_streams(void)
{
    return state_of_streams().streams;
}

CUstream_st *host_legacy_stream(void)
{
    return &state_of_streams().legacy;
}

CUstream_st *host_stream_of(cudaStream_t handle)
{
    if (handle == nullptr || handle == cudaStreamLegacy)
        return host_legacy_stream();
    for (CUstream_st *stream : host_streams())
        if (stream == handle && stream->live)
            return stream;
    return nullptr;
}

void host_reseed(uint64_t seed)
{
    state_of_streams().random = seed;
    for (CUstream_st *stream : host_streams())
        stream->priority = 0;
}

/* splitmix64 */
uint64_t host_random(uint64_t n)
{
    uint64_t &state = state_of_streams().random;
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % n;
}

/* ---- running */

static bool may_run(const CUstream_st *stream)
{
    if (stream->jobs.empty())
        return false;
    for (const host_point &point : stream->jobs.front().after)
        if (point.stream->done < point.job)
            return false;
    return true;
}

static CUstream_st *next_stream(void)
{
    const bool deferred = host_setting().defer != 0;
    if (deferred && host_random(8) == 0)
        for (CUstream_st *stream : host_streams())
            stream->priority = host_random(1u << 30);
    CUstream_st *best = nullptr;
    for (CUstream_st *stream : host_streams())
        if (may_run(stream) && (best == nullptr || stream->priority > best->priority))
            best = stream;
    return best;
}

static bool node_may_run(const host_job &job, size_t node)
{
    if (job.done[node])
        return false;
    for (size_t earlier : (*job.nodes)[node].after)
        if (!job.done[earlier])
            return false;
    return true;
}

/* The first that may run, or one of them at random: nodes only depend on earlier ones. */
static size_t next_node(const host_job &job)
{
    std::vector<size_t> ready;
    for (size_t node = job.first; node < job.done.size(); node++) {
        if (node_may_run(job, node)) {
            ready.push_back(node);
            if (host_setting().defer == 0)
                break;
        }
    }
    return ready[ready.size() == 1 ? 0 : host_random(ready.size())];
}

static void forget_if_over(CUstream_st *stream)
{
    if (!stream->live && stream->jobs.empty()) {
        std::vector<CUstream_st *> &all = state_of_streams().streams;
        all.erase(std::find(all.begin(), all.end(), stream));
    }
}

bool host_step(void)
{
    CUstream_st *stream = next_stream();
    if (stream == nullptr)
        return false;
    host_job &job = stream->jobs.front();
    if (job.left != 0) {
        const size_t node = next_node(job);
        job.done[node] = true;
        job.left--;
        while (job.first < job.done.size() && job.done[job.first])
            job.first++;
        /* after a fault the device does nothing more */
        if (host_fault() == cudaSuccess) {
            const cudaError_t error = (*job.nodes)[node].run();
            if (error != cudaSuccess)
                host_set_fault(error);
        }
    }
    if (job.left == 0) {
        stream->done = job.number;
        stream->jobs.pop_front();
        forget_if_over(stream);
    }
    return true;
}

void host_drain(CUstream_st *stream)
{
    while (!stream->jobs.empty() && host_step()) {
    }
}

void host_drain_all(void)
{
    while (host_step()) {
    }
}

/* ---- putting */

/* The legacy stream comes after all blocking streams, and these come after it. */
static void add_legacy_order(CUstream_st *stream, std::vector<host_point> &after)
{
    CUstream_st *legacy = host_legacy_stream();
    if (stream != legacy) {
        if (stream->blocking)
            after.push_back({ legacy, legacy->put });
        return;
    }
    for (CUstream_st *other : host_streams())
        if (other != legacy && other->blocking)
            after.push_back({ other, other->put });
}

cudaError_t host_put_nodes(CUstream_st *stream, std::shared_ptr<const host_nodes> nodes,
                           std::vector<host_point> after)
{
    add_legacy_order(stream, after);
    host_job job;
    job.done.assign(nodes->size(), false);
    job.first = 0;
    job.left = nodes->size();
    job.nodes = std::move(nodes);
    job.after = std::move(after);
    job.number = ++stream->put;
    stream->jobs.push_back(std::move(job));
    if (host_setting().defer == 0) {
        host_drain_all();
    } else if (host_random(8) == 0) {
        for (uint64_t steps = host_random(4); steps != 0 && host_step(); steps--) {
        }
    }
    /* what the work itself does wrong shows at a later call */
    return cudaSuccess;
}

cudaError_t host_put(CUstream_st *stream, host_work work)
{
    if (stream->capture != nullptr)
        return host_capture_put(stream, std::move(work));
    if (stream == host_legacy_stream()) {
        const cudaError_t forbidden = host_capture_forbids_legacy();
        if (forbidden != cudaSuccess)
            return forbidden;
    }
    return host_put_nodes(stream, std::make_shared<host_nodes>(1, host_node{ std::move(work), {} }),
                          {});
}

/* ---- streams */

static cudaError_t stream_new(cudaStream_t *out, unsigned flags)
{
    if (out == nullptr || (flags & ~(unsigned)cudaStreamNonBlocking) != 0)
        return cudaErrorInvalidValue;
    CUstream_st *stream = host_keep(new CUstream_st);
    stream->blocking = (flags & cudaStreamNonBlocking) == 0;
    state_of_streams().streams.push_back(stream);
    *out = stream;
    return cudaSuccess;
}

extern "C" cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    const host_call call("cudaStreamCreateWithFlags", HOST_ALLOCATES);
    return call.refused() ? call.end() : call.end(stream_new(stream, flags));
}

extern "C" cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    const host_call call("cudaStreamCreate", HOST_ALLOCATES);
    return call.refused() ? call.end() : call.end(stream_new(stream, cudaStreamDefault));
}

/* Does not wait: jobs of a destroyed stream run when something else waits. */
extern "C" cudaError_t cudaStreamDestroy(cudaStream_t handle)
{
    const host_call call("cudaStreamDestroy", HOST_RELEASES);
    CUstream_st *stream = call.refused() ? nullptr : host_stream_of(handle);
    if (stream == nullptr || stream == host_legacy_stream())
        return call.end(cudaErrorInvalidResourceHandle);
    if (stream->capture != nullptr)
        host_capture_lost(*stream->capture, cudaSuccess);
    stream->live = false;
    forget_if_over(stream);
    return call.end();
}

/* Waits and questions on a capturing stream, and on any other while a capture forbids them. */
static cudaError_t forbidden_on(CUstream_st *stream)
{
    if (stream == nullptr)
        return cudaErrorInvalidResourceHandle;
    if (stream->capture != nullptr)
        return host_capture_lost(*stream->capture, cudaErrorStreamCaptureUnsupported);
    if (stream == host_legacy_stream()) {
        const cudaError_t error = host_capture_forbids_legacy();
        if (error != cudaSuccess)
            return error;
    }
    return host_capture_forbids();
}

extern "C" cudaError_t cudaStreamSynchronize(cudaStream_t handle)
{
    const host_call call("cudaStreamSynchronize");
    if (call.refused())
        return call.end();
    CUstream_st *stream = host_stream_of(handle);
    const cudaError_t error = forbidden_on(stream);
    if (error != cudaSuccess)
        return call.end(error);
    host_drain(stream);
    if (stream == host_legacy_stream()) {
        /* waiting for it waits for the blocking streams it comes after */
        for (CUstream_st *other : std::vector<CUstream_st *>(host_streams()))
            if (other->blocking)
                host_drain(other);
    }
    return call.end(host_fault());
}

extern "C" cudaError_t cudaStreamQuery(cudaStream_t handle)
{
    const host_call call("cudaStreamQuery");
    if (call.refused())
        return call.end();
    CUstream_st *stream = host_stream_of(handle);
    const cudaError_t error = forbidden_on(stream);
    if (error != cudaSuccess)
        return call.end(error);
    host_step();
    return call.end(stream->jobs.empty() ? host_fault() : cudaErrorNotReady);
}

/* ---- events */

static cudaError_t event_new(cudaEvent_t *out, unsigned flags)
{
    const unsigned known = cudaEventBlockingSync | cudaEventDisableTiming;
    if (out == nullptr || (flags & ~known) != 0)
        return cudaErrorInvalidValue;
    CUevent_st *event = host_keep(new CUevent_st);
    event->timed = (flags & cudaEventDisableTiming) == 0;
    state_of_streams().events_live++;
    *out = event;
    return cudaSuccess;
}

extern "C" cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    const host_call call("cudaEventCreateWithFlags", HOST_ALLOCATES);
    return call.refused() ? call.end() : call.end(event_new(event, flags));
}

extern "C" cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    const host_call call("cudaEventCreate", HOST_ALLOCATES);
    return call.refused() ? call.end() : call.end(event_new(event, cudaEventDefault));
}

static bool event_lives(cudaEvent_t event)
{
    return event != nullptr && event->live;
}

extern "C" cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    const host_call call("cudaEventDestroy", HOST_RELEASES);
    if (call.refused() || !event_lives(event))
        return call.end(cudaErrorInvalidResourceHandle);
    event->live = false;
    event->capture = nullptr;
    state_of_streams().events_live--;
    return call.end();
}

static double milliseconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

extern "C" cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle)
{
    const host_call call("cudaEventRecord");
    if (call.refused())
        return call.end();
    CUstream_st *stream = host_stream_of(handle);
    if (!event_lives(event) || stream == nullptr)
        return call.end(cudaErrorInvalidResourceHandle);
    if (stream->capture != nullptr) {
        if (stream->capture->invalid)
            return call.end(cudaErrorStreamCaptureInvalidated);
        event->capture = stream->capture;
        event->frontier = stream->frontier;
        return call.end();
    }
    const std::shared_ptr<double> time = std::make_shared<double>(0);
    const cudaError_t error = host_put(stream, [time]() {
        *time = milliseconds_now();
        return cudaSuccess;
    });
    if (error == cudaSuccess) {
        event->milliseconds = time;
        event->point = { stream, stream->put };
        event->recorded = true;
        event->capture = nullptr;
    }
    return call.end(error);
}

/* The stream's further work comes after the event, in the event's capture. */
static cudaError_t wait_in_capture(CUstream_st *stream, const CUevent_st *event)
{
    if (stream == host_legacy_stream())
        return host_capture_lost(*event->capture, cudaErrorStreamCaptureImplicit);
    if (stream->capture != nullptr && stream->capture != event->capture) {
        host_capture_lost(*event->capture, cudaErrorStreamCaptureMerge);
        return host_capture_lost(*stream->capture, cudaErrorStreamCaptureMerge);
    }
    stream->capture = event->capture;
    stream->frontier.insert(stream->frontier.end(), event->frontier.begin(), event->frontier.end());
    return cudaSuccess;
}

extern "C" cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned flags)
{
    const host_call call("cudaStreamWaitEvent");
    if (call.refused())
        return call.end();
    CUstream_st *stream = host_stream_of(handle);
    if (!event_lives(event) || stream == nullptr)
        return call.end(cudaErrorInvalidResourceHandle);
    if (flags != cudaEventWaitDefault)
        return call.end(cudaErrorInvalidValue);
    if (event->capture != nullptr) {
        return call.end(event->capture->invalid ? cudaErrorStreamCaptureInvalidated
                                                : wait_in_capture(stream, event));
    }
    if (!event->recorded)
        return call.end(); /* waiting for what was never recorded is no wait */
    if (stream->capture != nullptr)
        return call.end(host_capture_lost(*stream->capture, cudaErrorStreamCaptureIsolation));
    const std::shared_ptr<host_nodes> nothing = std::make_shared<host_nodes>();
    return call.end(host_put_nodes(stream, nothing, { event->point }));
}

static bool event_passed(const CUevent_st *event)
{
    return !event->recorded || event->point.stream->done >= event->point.job;
}

static cudaError_t event_forbidden(cudaEvent_t event)
{
    if (!event_lives(event))
        return cudaErrorInvalidResourceHandle;
    if (event->capture != nullptr) {
        host_capture_lost(*event->capture, cudaErrorCapturedEvent);
        return cudaErrorCapturedEvent;
    }
    return host_capture_forbids();
}

extern "C" cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    const host_call call("cudaEventSynchronize");
    if (call.refused())
        return call.end();
    const cudaError_t error = event_forbidden(event);
    if (error != cudaSuccess)
        return call.end(error);
    while (!event_passed(event) && host_step()) {
    }
    return call.end(host_fault());
}

extern "C" cudaError_t cudaEventQuery(cudaEvent_t event)
{
    const host_call call("cudaEventQuery");
    if (call.refused())
        return call.end();
    const cudaError_t error = event_forbidden(event);
    if (error != cudaSuccess)
        return call.end(error);
    host_step();
    return call.end(event_passed(event) ? host_fault() : cudaErrorNotReady);
}

extern "C" cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to)
{
    const host_call call("cudaEventElapsedTime");
    if (call.refused())
        return call.end();
    if (!event_lives(from) || !event_lives(to))
        return call.end(cudaErrorInvalidResourceHandle);
    if (!from->timed || !to->timed || !from->recorded || !to->recorded)
        return call.end(cudaErrorInvalidResourceHandle);
    if (!event_passed(from) || !event_passed(to))
        return call.end(cudaErrorNotReady);
    *milliseconds = (float)(*to->milliseconds - *from->milliseconds);
    return call.end();
}

/* ---- what is held */

host_held host_held_streams(void)
{
    size_t count = 0;
    for (const CUstream_st *stream : host_streams())
        count += stream->live && stream != host_legacy_stream() ? 1 : 0;
    return { "streams", count, 0 };
}

host_held host_held_events(void)
{
    return { "events", state_of_streams().events_live, 0 };
}
