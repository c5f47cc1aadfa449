/* Copies and fills of the host CUDA runtime.  Direction, range and liveness are checked at the
   call, and once more when the work runs, which may be later or in a graph.  Pinned host memory is
   read and written when the copy runs; pageable memory is read at the call, and a copy into it
   waits. cudaMemcpy waits as far as the real one promises and no further: from pageable memory, and
   within the device, the call may return before the copy is done. */
#include "host_runtime.h"

#include <cstring>

enum copy_side { ON_DEVICE, PINNED, PAGEABLE };

static bool side_of(const void *address, size_t bytes, copy_side *side)
{
    if (tlm_host_in_arena(address)) {
        *side = ON_DEVICE;
        return tlm_host_is_device(address, bytes);
    }
    if (host_is_pinned(address, 1)) {
        *side = PINNED;
        return host_is_pinned(address, bytes);
    }
    *side = PAGEABLE;
    return address != nullptr;
}

struct copy_plan {
    void *to;
    const void *from;
    size_t bytes;
    copy_side to_side, from_side;
};

static cudaMemcpyKind kind_of(const copy_plan &plan)
{
    if (plan.to_side == ON_DEVICE)
        return plan.from_side == ON_DEVICE ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice;
    return plan.from_side == ON_DEVICE ? cudaMemcpyDeviceToHost : cudaMemcpyHostToHost;
}

static cudaError_t check_copy(copy_plan &plan, cudaMemcpyKind kind)
{
    if (kind != cudaMemcpyHostToHost && kind != cudaMemcpyHostToDevice &&
        kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyDeviceToDevice &&
        kind != cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    if (!side_of(plan.to, plan.bytes, &plan.to_side) ||
        !side_of(plan.from, plan.bytes, &plan.from_side))
        return cudaErrorInvalidValue;
    /* the real one believes the direction and crashes or corrupts later */
    return kind == cudaMemcpyDefault || kind == kind_of(plan) ? cudaSuccess : cudaErrorInvalidValue;
}

/* What the real one leaves open: a copy within memory that overlaps. */
static void report_overlap(const copy_plan &plan)
{
    const uintptr_t to = (uintptr_t)plan.to, from = (uintptr_t)plan.from;
    if (to < from + plan.bytes && from < to + plan.bytes)
        tlm_host_report(TLM_HOST_USAGE, "cudaMemcpy", "source and target overlap");
}

/* Memory that was freed since the call, e.g. under a graph. */
static bool still_live(const copy_plan &plan)
{
    copy_side to = PAGEABLE, from = PAGEABLE;
    return side_of(plan.to, plan.bytes, &to) && side_of(plan.from, plan.bytes, &from) &&
           to == plan.to_side && from == plan.from_side;
}

static void mark(const copy_plan &plan)
{
    if (plan.to_side == ON_DEVICE && plan.from_side == ON_DEVICE) {
        tlm_host_mark_copied(plan.to, plan.from, plan.bytes);
    } else if (plan.to_side == ON_DEVICE) {
        tlm_host_mark_initialised(plan.to, plan.bytes);
    } else if (plan.from_side == ON_DEVICE) {
        const size_t never = tlm_host_never_written(plan.from, plan.bytes);
        if (never != 0) {
            tlm_host_report(TLM_HOST_UNINITIALISED, "cudaMemcpy",
                            "%zu of %zu bytes copied to the host were never written", never,
                            plan.bytes);
        }
    }
}

static cudaError_t run_copy(const copy_plan &plan)
{
    if (!still_live(plan)) {
        tlm_host_report(TLM_HOST_BOUNDS, "cudaMemcpy", "memory of a queued copy was freed");
        return cudaErrorIllegalAddress;
    }
    const host_memory_open open;
    mark(plan);
    memmove(plan.to, plan.from, plan.bytes);
    return cudaSuccess;
}

static host_work work_of(const copy_plan &plan)
{
    if (plan.to_side != ON_DEVICE || plan.from_side != PAGEABLE)
        return [plan]() { return run_copy(plan); };
    const unsigned char *from = (const unsigned char *)plan.from;
    const auto staged = std::make_shared<std::vector<unsigned char>>(from, from + plan.bytes);
    return [plan, staged]() {
        copy_plan later = plan;
        later.from = staged->data();
        return run_copy(later);
    };
}

static bool waits(const copy_plan &plan, bool async)
{
    if (kind_of(plan) == cudaMemcpyHostToHost)
        return true;
    if (async)
        return plan.to_side == PAGEABLE;
    return plan.to_side != ON_DEVICE || plan.from_side == PINNED;
}

static cudaError_t copy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                        CUstream_st *stream, bool async)
{
    if (stream == nullptr)
        return cudaErrorInvalidResourceHandle;
    if (bytes == 0)
        return cudaSuccess;
    copy_plan plan = { to, from, bytes, PAGEABLE, PAGEABLE };
    cudaError_t error = check_copy(plan, kind);
    if (error != cudaSuccess)
        return error;
    report_overlap(plan);
    if (stream->capture != nullptr && (plan.to_side == PAGEABLE || plan.from_side == PAGEABLE))
        return host_capture_lost(*stream->capture, cudaErrorStreamCaptureUnsupported);
    error = host_put(stream, work_of(plan));
    if (error != cudaSuccess || stream->capture != nullptr || !waits(plan, async))
        return error;
    host_drain(stream);
    return host_fault();
}

extern "C" cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes,
                                  enum cudaMemcpyKind kind)
{
    const host_call call("cudaMemcpy");
    if (call.refused())
        return call.end();
    cudaError_t error = host_capture_forbids_legacy();
    if (error == cudaSuccess)
        error = host_capture_forbids();
    if (error == cudaSuccess)
        error = copy(to, from, bytes, kind, host_legacy_stream(), false);
    return call.end(error);
}

extern "C" cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                                       enum cudaMemcpyKind kind, cudaStream_t handle)
{
    const host_call call("cudaMemcpyAsync");
    if (call.refused())
        return call.end();
    return call.end(copy(to, from, bytes, kind, host_stream_of(handle), true));
}

/* Does not wait: neither does the real one for device memory. */
static cudaError_t fill(void *to, int value, size_t bytes, CUstream_st *stream)
{
    if (stream == nullptr)
        return cudaErrorInvalidResourceHandle;
    if (bytes == 0)
        return cudaSuccess;
    if (!tlm_host_is_device(to, bytes))
        return cudaErrorInvalidValue;
    return host_put(stream, [to, value, bytes]() {
        if (!tlm_host_is_device(to, bytes)) {
            tlm_host_report(TLM_HOST_BOUNDS, "cudaMemset", "memory of a queued fill was freed");
            return cudaErrorIllegalAddress;
        }
        const host_memory_open open;
        memset(to, value, bytes);
        tlm_host_mark_initialised(to, bytes);
        return cudaSuccess;
    });
}

extern "C" cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
    const host_call call("cudaMemset");
    if (call.refused())
        return call.end();
    cudaError_t error = host_capture_forbids_legacy();
    if (error == cudaSuccess)
        error = host_capture_forbids();
    return call.end(error != cudaSuccess ? error : fill(to, value, bytes, host_legacy_stream()));
}

extern "C" cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t handle)
{
    const host_call call("cudaMemsetAsync");
    if (call.refused())
        return call.end();
    return call.end(fill(to, value, bytes, host_stream_of(handle)));
}
