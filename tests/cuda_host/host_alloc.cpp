/* Memory of the host CUDA runtime: device memory from the shim's arena, pinned memory from malloc,
   so that a sanitizer knows its bounds.  Fresh memory holds NaNs.  Freeing waits for all work, as
   the real one does; a second free and a pointer that was never given out are refused. */
#include "host_runtime.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

struct pinned_state {
    std::map<const unsigned char *, size_t> live; /* start, bytes */
};

static pinned_state &state_of_pinned(void)
{
    static pinned_state *state = new pinned_state;
    return *state;
}

/* Blocks that cudaMalloc gave out: start, bytes. */
static std::map<const void *, size_t> &device_blocks(void)
{
    static std::map<const void *, size_t> *blocks = new std::map<const void *, size_t>;
    return *blocks;
}

bool host_is_pinned(const void *address, size_t bytes)
{
    const unsigned char *at = (const unsigned char *)address;
    const auto &live = state_of_pinned().live;
    auto after = live.upper_bound(at);
    if (after == live.begin())
        return false;
    --after;
    const size_t offset = (size_t)(at - after->first);
    return offset < after->second && bytes <= after->second - offset;
}

static size_t memory_bytes(void)
{
    return std::min(host_setting().memory, tlm_host_memory_bytes());
}

extern "C" cudaError_t cudaMalloc(void **out, size_t bytes)
{
    const host_call call("cudaMalloc", HOST_ALLOCATES | HOST_UNSAFE);
    if (call.refused())
        return call.end();
    if (out == nullptr)
        return call.end(cudaErrorInvalidValue);
    if (bytes == 0) {
        *out = nullptr;
        return call.end();
    }
    if (bytes > memory_bytes() - std::min(memory_bytes(), tlm_host_live_bytes()))
        return call.end(cudaErrorMemoryAllocation);
    void *memory = tlm_host_alloc(bytes);
    if (memory == nullptr)
        return call.end(cudaErrorMemoryAllocation);
    device_blocks()[memory] = bytes;
    *out = memory;
    return call.end();
}

extern "C" cudaError_t cudaFree(void *memory)
{
    const host_call call("cudaFree", HOST_RELEASES | HOST_UNSAFE);
    if (call.refused())
        return call.end();
    host_drain_all();
    if (memory != nullptr) {
        if (!tlm_host_free(memory))
            return call.end(cudaErrorInvalidValue);
        device_blocks().erase(memory);
    }
    return call.end(host_fault());
}

static cudaError_t pinned_new(void **out, size_t bytes)
{
    if (out == nullptr)
        return cudaErrorInvalidValue;
    if (bytes == 0) {
        *out = nullptr;
        return cudaSuccess;
    }
    void *memory = malloc(bytes);
    if (memory == nullptr)
        return cudaErrorMemoryAllocation;
    memset(memory, 0xff, bytes);
    state_of_pinned().live[(const unsigned char *)memory] = bytes;
    *out = memory;
    return cudaSuccess;
}

extern "C" cudaError_t cudaHostAlloc(void **out, size_t bytes, unsigned flags)
{
    const host_call call("cudaHostAlloc", HOST_ALLOCATES | HOST_UNSAFE);
    if (call.refused())
        return call.end();
    const unsigned known = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
    return call.end((flags & ~known) != 0 ? cudaErrorInvalidValue : pinned_new(out, bytes));
}

extern "C" cudaError_t cudaMallocHost(void **out, size_t bytes)
{
    const host_call call("cudaMallocHost", HOST_ALLOCATES | HOST_UNSAFE);
    return call.refused() ? call.end() : call.end(pinned_new(out, bytes));
}

extern "C" cudaError_t cudaFreeHost(void *memory)
{
    const host_call call("cudaFreeHost", HOST_RELEASES | HOST_UNSAFE);
    if (call.refused())
        return call.end();
    host_drain_all();
    if (memory != nullptr) {
        const auto found = state_of_pinned().live.find((const unsigned char *)memory);
        if (found == state_of_pinned().live.end())
            return call.end(cudaErrorInvalidValue);
        state_of_pinned().live.erase(found);
        free(memory);
    }
    return call.end(host_fault());
}

extern "C" cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    const host_call call("cudaMemGetInfo");
    if (call.refused())
        return call.end();
    *total_bytes = memory_bytes();
    *free_bytes = memory_bytes() - std::min(memory_bytes(), tlm_host_live_bytes());
    return call.end();
}

extern "C" cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes,
                                                const void *pointer)
{
    const host_call call("cudaPointerGetAttributes");
    if (call.refused())
        return call.end();
    union {
        const void *from;
        void *to;
    } address = { pointer };
    memset(attributes, 0, sizeof *attributes);
    if (tlm_host_is_device(pointer, 1)) {
        attributes->type = cudaMemoryTypeDevice;
        attributes->devicePointer = address.to;
    } else if (host_is_pinned(pointer, 1)) {
        attributes->type = cudaMemoryTypeHost;
        attributes->devicePointer = address.to;
        attributes->hostPointer = address.to;
    } else {
        attributes->type = cudaMemoryTypeUnregistered;
        attributes->device = -2; /* no device, as the real one says */
        attributes->hostPointer = address.to;
    }
    return call.end();
}

host_held host_held_device(void)
{
    size_t bytes = 0;
    for (const auto &[start, size] : device_blocks())
        bytes += size;
    return { "device memory", device_blocks().size(), bytes };
}

host_held host_held_pinned(void)
{
    size_t bytes = 0;
    for (const auto &[start, size] : state_of_pinned().live)
        bytes += size;
    return { "pinned memory", state_of_pinned().live.size(), bytes };
}
