/* Flat device memory for hosts that manage tensors themselves, for sessions and for vendor
   workspaces.  Released blocks wait in a cache and are reused by exact size once their event has
   passed; TLM_CUDA_CACHE_CAP_BYTES bounds the cache.

   A buffer's handle is no address but a number, a place in a table and how often the place was
   used, so that a handle that was released, or never was one, is refused and not followed.  The
   table, the cache and the counters belong to the process and are kept under one lock. */
#include "cuda_buffer.h"

#include "cuda_probe.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A block of device memory, held by a buffer or in the cache. */
struct buffer_block {
    void *address; /* NULL: a buffer of 0 bytes */
    uint64_t bytes;
    int device;
    cudaEvent_t event;         /* of its last release; NULL: never released */
    struct buffer_block *next; /* in the cache */
};

struct buffer_slot {
    struct buffer_block *block; /* NULL: free */
    uint32_t used;              /* times: the upper half of a handle */
    uint32_t next;              /* free slot, as index + 1 */
};

static struct {
    pthread_mutex_t lock;
    struct buffer_slot *slots;
    uint32_t slot_count, slot_capacity, free_slot; /* index + 1 */
    struct buffer_block *cache;                    /* the newest first */
    bool cap_read;
    tlm_cuda_stats stats; /* without the device's totals */
} buffer_all = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- handles: (uses of the slot, index of the slot + 1), times 16 like an address */

enum { BUFFER_INDEX_BITS = 28 };

static tlm_cuda_buffer *buffer_handle(uint32_t index)
{
    const uint64_t number = (uint64_t)buffer_all.slots[index].used << BUFFER_INDEX_BITS;

    return (tlm_cuda_buffer *)(uintptr_t)((number | (index + 1)) << 4);
}

/* The slot of a live buffer, or NULL. */
static struct buffer_slot *buffer_find(const tlm_cuda_buffer *buffer)
{
    const uint64_t number = (uint64_t)(uintptr_t)buffer >> 4;
    const uint64_t index = number & ((UINT64_C(1) << BUFFER_INDEX_BITS) - 1);
    struct buffer_slot *slot;

    if (((uintptr_t)buffer & 15) != 0 || index == 0 || index > buffer_all.slot_count)
        return NULL;
    slot = &buffer_all.slots[index - 1];
    return slot->block && slot->used == number >> BUFFER_INDEX_BITS ? slot : NULL;
}

/* Makes sure that a slot is free; false: no memory. */
static bool buffer_reserve_slot(void)
{
    const uint32_t most = (UINT32_C(1) << BUFFER_INDEX_BITS) - 2;
    uint32_t capacity;
    struct buffer_slot *grown;

    if (buffer_all.free_slot != 0 || buffer_all.slot_count < buffer_all.slot_capacity)
        return true;
    if (buffer_all.slot_capacity > most / 2)
        return false;
    capacity = buffer_all.slot_capacity == 0 ? 16 : 2 * buffer_all.slot_capacity;
    grown = realloc(buffer_all.slots, capacity * sizeof *grown);
    if (!grown)
        return false;
    buffer_all.slots = grown;
    buffer_all.slot_capacity = capacity;
    return true;
}

static tlm_cuda_buffer *buffer_take_slot(struct buffer_block *block)
{
    uint32_t index;

    if (buffer_all.free_slot != 0) {
        index = buffer_all.free_slot - 1;
        buffer_all.free_slot = buffer_all.slots[index].next;
    } else {
        index = buffer_all.slot_count++;
        buffer_all.slots[index].used = 0;
    }
    buffer_all.slots[index].block = block;
    buffer_all.slots[index].used++;
    return buffer_handle(index);
}

static struct buffer_block *buffer_leave_slot(struct buffer_slot *slot)
{
    struct buffer_block *const block = slot->block;

    slot->block = NULL;
    slot->next = buffer_all.free_slot;
    buffer_all.free_slot = (uint32_t)(slot - buffer_all.slots) + 1;
    return block;
}

/* ---- blocks */

/* Reads the cap, once in the life of the process. */
static void buffer_read_cap(void)
{
    char warning[TLM_ERROR_BYTES];

    if (buffer_all.cap_read)
        return;
    buffer_all.cap_read = true;
    buffer_all.stats.cache_cap_bytes =
        tlm_cuda_parse_cap(getenv("TLM_CUDA_CACHE_CAP_BYTES"), warning);
    if (*warning)
        fprintf(stderr, "tlm: warning: %s\n", warning);
}

/* Gives a block back to CUDA.  Everything is given back whatever fails; the first failure is the
   one reported. */
static tlm_status buffer_free(struct buffer_block *block, char *error)
{
    tlm_status status = TLM_OK;

    if (block->event) {
        const tlm_status waited =
            tlm_cuda_result(error, cudaEventSynchronize(block->event), "cuda buffer",
                            "cudaEventSynchronize of a released block");
        const tlm_status destroyed =
            tlm_cuda_result(waited == TLM_OK ? error : NULL, cudaEventDestroy(block->event),
                            "cuda buffer", "cudaEventDestroy");

        status = waited == TLM_OK ? destroyed : waited;
    }
    if (block->address) {
        const tlm_status freed =
            tlm_cuda_result(status == TLM_OK ? error : NULL, cudaFree(block->address),
                            "cuda buffer", "cudaFree");

        buffer_all.stats.free_count++;
        status = status == TLM_OK ? freed : status;
    }
    free(block);
    return status;
}

static tlm_status buffer_flush(char *error)
{
    tlm_status status = TLM_OK;

    while (buffer_all.cache) {
        struct buffer_block *const block = buffer_all.cache;
        tlm_status freed;

        buffer_all.cache = block->next;
        buffer_all.stats.cache_bytes -= block->bytes;
        freed = buffer_free(block, status == TLM_OK ? error : NULL);
        status = status == TLM_OK ? freed : status;
    }
    return status;
}

/* Has the work before the block's release passed? */
static tlm_status buffer_is_idle(const struct buffer_block *block, bool *idle, char *error)
{
    const cudaError_t code = cudaEventQuery(block->event);

    *idle = code == cudaSuccess;
    if (code != cudaErrorNotReady)
        return tlm_cuda_result(error, code, "cuda buffer", "cudaEventQuery of a released block");
    cudaGetLastError(); /* "not ready" is no error to remember */
    return TLM_OK;
}

/* Takes a cached block of exactly this size into *out, or NULL. */
static tlm_status buffer_reuse(struct buffer_block **out, uint64_t bytes, int device, char *error)
{
    *out = NULL;
    for (struct buffer_block **at = &buffer_all.cache; *at; at = &(*at)->next) {
        struct buffer_block *const block = *at;
        bool idle;

        if (block->bytes != bytes || block->device != device)
            continue;
        TLM_TRY(buffer_is_idle(block, &idle, error));
        if (!idle)
            continue;
        *at = block->next;
        block->next = NULL;
        buffer_all.stats.cache_bytes -= bytes;
        *out = block;
        return TLM_OK;
    }
    return TLM_OK;
}

/* cudaMalloc; short memory first costs the cache, then is an error with the figures. */
static tlm_status buffer_malloc(struct buffer_block *block, char *error)
{
    cudaError_t code = cudaMalloc(&block->address, block->bytes);

    if (code == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        buffer_flush(NULL);
        code = cudaMalloc(&block->address, block->bytes);
    }
    if (code == cudaSuccess) {
        buffer_all.stats.alloc_count++;
        return TLM_OK;
    }
    block->address = NULL;
    if (code != cudaErrorMemoryAllocation)
        return tlm_cuda_result(error, code, "cuda buffer", "cudaMalloc");
    cudaGetLastError();
    return tlm_cuda_fail(error, TLM_ERR_DEVICE,
                         "cuda buffer: %s: no device memory: requested=%" PRIu64 " live=%" PRIu64
                         " peak=%" PRIu64 " bytes, the cache is empty",
                         cudaGetErrorName(code), block->bytes, buffer_all.stats.live_bytes,
                         buffer_all.stats.peak_bytes);
}

/* A block of this size, out of the cache or new. */
static tlm_status buffer_acquire(struct buffer_block **out, uint64_t bytes, char *error)
{
    struct buffer_block *block = NULL;
    int device = 0;
    tlm_status status =
        tlm_cuda_result(error, cudaGetDevice(&device), "cuda buffer", "cudaGetDevice");

    *out = NULL;
    if (status == TLM_OK && bytes > 0)
        status = buffer_reuse(&block, bytes, device, error);
    if (status != TLM_OK)
        return status;
    if (!block) {
        block = calloc(1, sizeof *block);
        if (!block)
            return tlm_cuda_fail(error, TLM_ERR_MEMORY, "cuda buffer: no memory on the host");
        block->bytes = bytes;
        block->device = device;
        status = bytes > 0 ? buffer_malloc(block, error) : TLM_OK;
        if (status != TLM_OK) {
            free(block);
            return status;
        }
    }
    *out = block;
    return TLM_OK;
}

/* Marks the end of the work so far, on the stream that orders with all ordinary ones. */
static tlm_status buffer_mark(struct buffer_block *block, char *error)
{
    tlm_status status = TLM_OK;

    if (!block->event)
        status =
            tlm_cuda_result(error, cudaEventCreateWithFlags(&block->event, cudaEventDisableTiming),
                            "cuda buffer", "cudaEventCreateWithFlags");
    if (status == TLM_OK)
        status = tlm_cuda_result(error, cudaEventRecord(block->event, 0), "cuda buffer",
                                 "cudaEventRecord");
    return status;
}

/* ---- the calls */

tlm_status tlm_cuda_buffer_new(tlm_cuda_buffer **out, uint64_t bytes, char *error)
{
    tlm_cuda_stats *const stats = &buffer_all.stats;
    struct buffer_block *block = NULL;
    tlm_status status = TLM_OK;

    if (!out)
        return tlm_cuda_fail(error, TLM_ERR_ARGUMENT, "cuda buffer: no place for the buffer");
    *out = NULL;
    if (bytes > SIZE_MAX)
        return tlm_cuda_fail(error, TLM_ERR_ARGUMENT, "cuda buffer: %" PRIu64 " bytes", bytes);
    pthread_mutex_lock(&buffer_all.lock);
    buffer_read_cap();
    if (!buffer_reserve_slot())
        status = tlm_cuda_fail(error, TLM_ERR_MEMORY, "cuda buffer: no memory on the host");
    if (status == TLM_OK)
        status = buffer_acquire(&block, bytes, error);
    if (status == TLM_OK) {
        *out = buffer_take_slot(block);
        stats->live_bytes += bytes;
        stats->wrappers_alloc++;
        stats->wrappers_live++;
        if (stats->live_bytes > stats->peak_bytes)
            stats->peak_bytes = stats->live_bytes;
        if (stats->wrappers_live > stats->wrappers_peak)
            stats->wrappers_peak = stats->wrappers_live;
    }
    pthread_mutex_unlock(&buffer_all.lock);
    return status;
}

/* Takes the block out of a live buffer, which is none from then on.  NULL: it was none. */
static struct buffer_block *buffer_end(tlm_cuda_buffer *buffer)
{
    tlm_cuda_stats *const stats = &buffer_all.stats;
    struct buffer_slot *const slot = buffer_find(buffer);
    struct buffer_block *block;

    if (!slot)
        return NULL;
    block = buffer_leave_slot(slot);
    stats->live_bytes -= block->bytes;
    stats->wrappers_live--;
    stats->wrappers_finalized++;
    return block;
}

/* Is there room for so many bytes in the cache? */
static bool buffer_fits_cache(uint64_t bytes)
{
    const tlm_cuda_stats *const stats = &buffer_all.stats;

    return stats->cache_cap_bytes == 0 || (bytes <= stats->cache_cap_bytes &&
                                           stats->cache_bytes <= stats->cache_cap_bytes - bytes);
}

/* Into the cache, or to CUDA when it does not fit. */
static tlm_status buffer_keep(struct buffer_block *block, char *error)
{
    const tlm_status status = block->address ? buffer_mark(block, error) : TLM_OK;

    if (status != TLM_OK || !block->address) {
        /* without its event the block may still be read: cudaFree waits for the device */
        buffer_free(block, NULL);
        return status;
    }
    if (!buffer_fits_cache(block->bytes))
        return buffer_free(block, error);
    block->next = buffer_all.cache;
    buffer_all.cache = block;
    buffer_all.stats.cache_bytes += block->bytes;
    return TLM_OK;
}

static tlm_status buffer_refuse(char *error)
{
    return tlm_cuda_fail(error, TLM_ERR_ARGUMENT,
                         "cuda buffer: no live buffer (NULL, or released already)");
}

tlm_status tlm_cuda_buffer_release(tlm_cuda_buffer *buffer, char *error)
{
    struct buffer_block *block;
    tlm_status status;

    pthread_mutex_lock(&buffer_all.lock);
    block = buffer_end(buffer);
    status = block ? buffer_keep(block, error) : buffer_refuse(error);
    pthread_mutex_unlock(&buffer_all.lock);
    return status;
}

tlm_status tlm_cuda_buffer_discard(tlm_cuda_buffer *buffer, char *error)
{
    struct buffer_block *block;
    tlm_status status;

    pthread_mutex_lock(&buffer_all.lock);
    block = buffer_end(buffer);
    status = block ? buffer_free(block, error) : buffer_refuse(error);
    pthread_mutex_unlock(&buffer_all.lock);
    return status;
}

uint64_t tlm_cuda_buffer_bytes(const tlm_cuda_buffer *buffer)
{
    const struct buffer_slot *slot;
    uint64_t bytes;

    pthread_mutex_lock(&buffer_all.lock);
    slot = buffer_find(buffer);
    bytes = slot ? slot->block->bytes : 0;
    pthread_mutex_unlock(&buffer_all.lock);
    return bytes;
}

void *tlm_cuda_buffer_address(tlm_cuda_buffer *buffer)
{
    const struct buffer_slot *slot;
    void *address;

    pthread_mutex_lock(&buffer_all.lock);
    slot = buffer_find(buffer);
    address = slot ? slot->block->address : NULL;
    pthread_mutex_unlock(&buffer_all.lock);
    return address;
}

/* The block of a live buffer; a copy, so that no lock is held while CUDA copies. */
static tlm_status buffer_get(const tlm_cuda_buffer *buffer, struct buffer_block *block, char *error)
{
    const struct buffer_slot *slot;

    pthread_mutex_lock(&buffer_all.lock);
    slot = buffer_find(buffer);
    if (slot)
        *block = *slot->block;
    pthread_mutex_unlock(&buffer_all.lock);
    return slot ? TLM_OK : buffer_refuse(error);
}

static uint64_t buffer_element_bytes(tlm_dtype dtype)
{
    switch (dtype) {
    case TLM_F32:
    case TLM_I32: return 4;
    case TLM_BOOL: return 1;
    case TLM_F64: return 8;
    case TLM_F16:
    case TLM_BF16: return 2;
    }
    return 0;
}

tlm_status tlm_cuda_buffer_validate(const tlm_cuda_buffer *buffer, tlm_dtype dtype, uint32_t rank,
                                    const uint64_t *dims, char *error)
{
    const uint64_t each = buffer_element_bytes(dtype);
    struct buffer_block block;
    uint32_t count = 0;
    tlm_status status = buffer_get(buffer, &block, error);

    if (status != TLM_OK)
        return status;
    if (each == 0)
        return tlm_cuda_fail(error, TLM_ERR_ARGUMENT, "cuda buffer: %d is no element type",
                             (int)dtype);
    if (tlm_cuda_check_shape(rank, dims, &count) != TLM_OK)
        return tlm_cuda_fail(error, TLM_ERR_ARGUMENT,
                             "cuda buffer: the shape's rank is above %d, or an axis or the product "
                             "of its %" PRIu32 " axes does not fit 32 bits",
                             TLM_MAX_RANK, rank);
    if (block.bytes != count * each)
        return tlm_cuda_fail(error, TLM_ERR_MISMATCH,
                             "cuda buffer: %" PRIu64 " bytes, the shape has %" PRIu32
                             " elements of %" PRIu64 " bytes",
                             block.bytes, count, each);
    return TLM_OK;
}

/* Does [offset, offset + bytes) lie in the buffer? */
static tlm_status buffer_range(const tlm_cuda_buffer *buffer, uint64_t offset, const void *host,
                               uint64_t bytes, struct buffer_block *block, char *error)
{
    const tlm_status status = buffer_get(buffer, block, error);

    if (status != TLM_OK)
        return status;
    if (bytes > 0 && !host)
        return tlm_cuda_fail(error, TLM_ERR_ARGUMENT, "cuda buffer: no memory on the host's side");
    if (offset > block->bytes || bytes > block->bytes - offset)
        return tlm_cuda_fail(error, TLM_ERR_ARGUMENT,
                             "cuda buffer: bytes %" PRIu64 " to %" PRIu64 " + %" PRIu64
                             " of a buffer of %" PRIu64,
                             offset, offset, bytes, block->bytes);
    return TLM_OK;
}

tlm_status tlm_cuda_buffer_upload(tlm_cuda_buffer *buffer, uint64_t offset, const void *from,
                                  uint64_t bytes, char *error)
{
    struct buffer_block block;
    const tlm_status status = buffer_range(buffer, offset, from, bytes, &block, error);

    if (status != TLM_OK || bytes == 0)
        return status;
    return tlm_cuda_result(error,
                           cudaMemcpy((unsigned char *)block.address + offset, from, bytes,
                                      cudaMemcpyHostToDevice),
                           "cuda buffer", "cudaMemcpy to the device");
}

tlm_status tlm_cuda_buffer_download(const tlm_cuda_buffer *buffer, uint64_t offset, void *to,
                                    uint64_t bytes, char *error)
{
    struct buffer_block block;
    const tlm_status status = buffer_range(buffer, offset, to, bytes, &block, error);

    if (status != TLM_OK || bytes == 0)
        return status;
    return tlm_cuda_result(error,
                           cudaMemcpy(to, (unsigned char *)block.address + offset, bytes,
                                      cudaMemcpyDeviceToHost),
                           "cuda buffer", "cudaMemcpy to the host");
}

tlm_status tlm_cuda_empty_cache(char *error)
{
    tlm_status status;

    pthread_mutex_lock(&buffer_all.lock);
    status = buffer_flush(error);
    pthread_mutex_unlock(&buffer_all.lock);
    return status;
}

void tlm_cuda_get_stats(tlm_cuda_stats *stats)
{
    size_t device_free = 0, device_total = 0;

    pthread_mutex_lock(&buffer_all.lock);
    buffer_read_cap();
    *stats = buffer_all.stats;
    pthread_mutex_unlock(&buffer_all.lock);
    stats->size = sizeof *stats;
    if (cudaMemGetInfo(&device_free, &device_total) != cudaSuccess) {
        cudaGetLastError();
        device_free = device_total = 0;
    }
    stats->device_free_bytes = device_free;
    stats->device_total_bytes = device_total;
}
