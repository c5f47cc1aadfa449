/* Captures and graphs of the host CUDA runtime.  While a stream captures, its work becomes nodes of
   a graph, in the order that the streams and events of the capture give; a launched graph runs them
   in any order that keeps it.  What the real runtime does not allow during a capture fails with its
   error and the capture is lost: cudaStreamEndCapture then says so and makes no graph.

   Stricter than the real one in one thing: every wait and every question is refused while a
   capture that is not relaxed is under way, on whatever stream. */
#include "host_runtime.h"

#include <algorithm>
#include <cstdio>

struct CUgraph_st {
    std::shared_ptr<const host_nodes> nodes;
    bool live = true;
};

struct CUgraphExec_st {
    std::shared_ptr<const host_nodes> nodes;
    host_point last = { nullptr, 0 }; /* launches of one graph come one after another */
    bool live = true;
};

static size_t graphs_live, execs_live;

/* ---- captures */

cudaError_t host_capture_lost(host_capture &capture, cudaError_t error)
{
    capture.invalid = true;
    return error;
}

static bool forbids_here(const host_capture &capture)
{
    switch (capture.mode) {
    case cudaStreamCaptureModeGlobal: return true;
    case cudaStreamCaptureModeThreadLocal: return capture.thread == std::this_thread::get_id();
    case cudaStreamCaptureModeRelaxed: return false;
    }
    return true;
}

cudaError_t host_capture_forbids(void)
{
    cudaError_t error = cudaSuccess;
    for (CUstream_st *stream : host_streams())
        if (stream->capture != nullptr && forbids_here(*stream->capture))
            error = host_capture_lost(*stream->capture, cudaErrorStreamCaptureUnsupported);
    return error;
}

cudaError_t host_capture_forbids_legacy(void)
{
    cudaError_t error = cudaSuccess;
    for (CUstream_st *stream : host_streams())
        if (stream->capture != nullptr && stream->blocking)
            error = host_capture_lost(*stream->capture, cudaErrorStreamCaptureImplicit);
    return error;
}

cudaError_t host_capture_put(CUstream_st *stream, host_work work)
{
    host_capture &capture = *stream->capture;
    if (capture.invalid)
        return cudaErrorStreamCaptureInvalidated;
    capture.nodes.push_back({ std::move(work), stream->frontier });
    stream->frontier.assign(1, capture.nodes.size() - 1);
    return cudaSuccess;
}

extern "C" cudaError_t cudaStreamBeginCapture(cudaStream_t handle, enum cudaStreamCaptureMode mode)
{
    const host_call call("cudaStreamBeginCapture");
    if (call.refused())
        return call.end();
    CUstream_st *stream = host_stream_of(handle);
    if (stream == nullptr)
        return call.end(cudaErrorInvalidResourceHandle);
    if (stream == host_legacy_stream())
        return call.end(cudaErrorStreamCaptureUnsupported);
    if (stream->capture != nullptr)
        return call.end(cudaErrorIllegalState);
    stream->capture = std::make_shared<host_capture>();
    stream->capture->origin = stream;
    stream->capture->mode = mode;
    stream->capture->thread = std::this_thread::get_id();
    stream->frontier.clear();
    return call.end();
}

/* Does every node come before the end of the stream that the capture began on? */
static bool all_joined(const host_nodes &nodes, const std::vector<size_t> &end)
{
    std::vector<bool> before(nodes.size(), false);
    for (size_t node : end)
        before[node] = true;
    for (size_t node = nodes.size(); node-- > 0;) {
        if (!before[node])
            return false;
        for (size_t earlier : nodes[node].after)
            before[earlier] = true;
    }
    return true;
}

static cudaError_t end_error(const CUstream_st *stream, const host_capture &capture)
{
    if (capture.invalid)
        return cudaErrorStreamCaptureInvalidated;
    if (capture.origin != stream)
        return cudaErrorStreamCaptureUnmatched;
    if (capture.mode != cudaStreamCaptureModeRelaxed &&
        capture.thread != std::this_thread::get_id())
        return cudaErrorStreamCaptureWrongThread;
    return all_joined(capture.nodes, stream->frontier) ? cudaSuccess
                                                       : cudaErrorStreamCaptureUnjoined;
}

static void leave_capture(const std::shared_ptr<host_capture> &capture)
{
    for (CUstream_st *stream : host_streams()) {
        if (stream->capture == capture) {
            stream->capture = nullptr;
            stream->frontier.clear();
        }
    }
}

extern "C" cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t *graph)
{
    const host_call call("cudaStreamEndCapture", HOST_RELEASES);
    if (call.refused())
        return call.end();
    CUstream_st *stream = host_stream_of(handle);
    if (stream == nullptr)
        return call.end(cudaErrorInvalidResourceHandle);
    if (stream->capture == nullptr)
        return call.end(cudaErrorIllegalState);
    const std::shared_ptr<host_capture> capture = stream->capture;
    const cudaError_t error = end_error(stream, *capture);
    *graph = nullptr;
    if (error == cudaErrorStreamCaptureUnmatched || error == cudaErrorStreamCaptureWrongThread)
        return call.end(host_capture_lost(*capture, error));
    leave_capture(capture);
    if (error == cudaSuccess && !call.fails_late()) {
        *graph = host_keep(new CUgraph_st);
        (*graph)->nodes = std::make_shared<host_nodes>(std::move(capture->nodes));
        graphs_live++;
    }
    capture->invalid = true; /* events recorded in it lead nowhere from here on */
    return call.end(error);
}

extern "C" cudaError_t cudaStreamIsCapturing(cudaStream_t handle,
                                             enum cudaStreamCaptureStatus *status)
{
    const host_call call("cudaStreamIsCapturing");
    if (call.refused())
        return call.end();
    const CUstream_st *stream = host_stream_of(handle);
    if (stream == nullptr)
        return call.end(cudaErrorInvalidResourceHandle);
    if (stream->capture == nullptr) {
        *status = cudaStreamCaptureStatusNone;
    } else {
        *status = stream->capture->invalid ? cudaStreamCaptureStatusInvalidated
                                           : cudaStreamCaptureStatusActive;
    }
    return call.end();
}

/* ---- graphs */

static bool graph_lives(cudaGraph_t graph)
{
    return graph != nullptr && graph->live;
}

extern "C" cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
                                            unsigned long long flags)
{
    const host_call call("cudaGraphInstantiate", HOST_ALLOCATES);
    if (call.refused())
        return call.end();
    if (exec == nullptr || !graph_lives(graph))
        return call.end(cudaErrorInvalidValue);
    if (flags != 0) {
        fprintf(stderr, "cuda-host: flags of cudaGraphInstantiate are not played\n");
        return call.end(cudaErrorNotSupported);
    }
    *exec = host_keep(new CUgraphExec_st);
    (*exec)->nodes = graph->nodes;
    execs_live++;
    return call.end();
}

/* In a capture the nodes become nodes of it, after what the stream has so far. */
static cudaError_t launch_in_capture(CUstream_st *stream, const host_nodes &nodes)
{
    host_capture &capture = *stream->capture;
    if (capture.invalid)
        return cudaErrorStreamCaptureInvalidated;
    const size_t base = capture.nodes.size();
    std::vector<bool> last(nodes.size(), true);
    for (const host_node &node : nodes) {
        host_node copy = { node.run, stream->frontier };
        for (size_t earlier : node.after) {
            copy.after.push_back(base + earlier);
            last[earlier] = false;
        }
        capture.nodes.push_back(std::move(copy));
    }
    for (size_t node = 0; node < nodes.size(); node++)
        if (last[node])
            stream->frontier.push_back(base + node);
    return cudaSuccess;
}

extern "C" cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t handle)
{
    const host_call call("cudaGraphLaunch");
    if (call.refused())
        return call.end();
    CUstream_st *stream = host_stream_of(handle);
    if (stream == nullptr)
        return call.end(cudaErrorInvalidResourceHandle);
    if (exec == nullptr || !exec->live)
        return call.end(cudaErrorInvalidValue);
    if (stream->capture != nullptr)
        return call.end(launch_in_capture(stream, *exec->nodes));
    if (stream == host_legacy_stream()) {
        const cudaError_t forbidden = host_capture_forbids_legacy();
        if (forbidden != cudaSuccess)
            return call.end(forbidden);
    }
    std::vector<host_point> after;
    if (exec->last.stream != nullptr)
        after.push_back(exec->last);
    const cudaError_t error = host_put_nodes(stream, exec->nodes, std::move(after));
    exec->last = { stream, stream->put };
    return call.end(error);
}

extern "C" cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    const host_call call("cudaGraphDestroy", HOST_RELEASES);
    if (call.refused() || !graph_lives(graph))
        return call.end(cudaErrorInvalidValue);
    graph->live = false;
    graph->nodes = nullptr;
    graphs_live--;
    return call.end();
}

/* Launches that are queued keep their nodes. */
extern "C" cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    const host_call call("cudaGraphExecDestroy", HOST_RELEASES);
    if (call.refused() || exec == nullptr || !exec->live)
        return call.end(cudaErrorInvalidValue);
    exec->live = false;
    exec->nodes = nullptr;
    execs_live--;
    return call.end();
}

/* Answers with the number of nodes alone: their handles are not played. */
extern "C" cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    const host_call call("cudaGraphGetNodes");
    if (call.refused())
        return call.end();
    if (!graph_lives(graph) || count == nullptr)
        return call.end(cudaErrorInvalidValue);
    if (nodes != nullptr)
        return call.end(cudaErrorNotSupported);
    *count = graph->nodes->size();
    return call.end();
}

host_held host_held_graphs(void)
{
    return { "graphs", graphs_live, 0 };
}

host_held host_held_execs(void)
{
    return { "executable graphs", execs_live, 0 };
}
