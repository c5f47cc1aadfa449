/* Memory of the device on the host: an arena for allocations and one block's shared arrays.

   Allocations start at odd multiples of 256 bytes on pages of their own, with unmapped pages
   between them, and no address is given out twice: what a kernel does outside a live allocation is
   a crash with a message here (plain), stopped (ASan), or reported (checked).  Everything holds
   0xff bytes, NaNs, until it is written.  Shared arrays get fresh places in every block. */
#include "cuda_host.h"
#include "host_parts.h"

#include <map>
#include <mutex>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

namespace
{

enum : size_t {
    GIB = (size_t)1 << 30,
    PAGE = 4096,
    ALIGNMENT = 256, /* what cudaMalloc promises: no more, so that nobody relies on more */
    DEVICE_BYTES = 8 * GIB,
    ARENA_BYTES =
        (TLM_HOST_CHECKED ? 16 : 64) * GIB, /* addresses; the checker needs five times them */
    STATIC_SHARED_BYTES = 48 << 10,
    SHARED_BYTES = 1 << 20,
    SHARED_GAP = 4096,
    MOST_ARRAYS = 128
};

struct shared_array {
    const char *name;
    char *start;
    size_t bytes;
};

struct device_memory {
    std::mutex lock;
    char *arena, *top;
    std::map<uintptr_t, size_t> live, freed; /* start and bytes */
    size_t live_bytes;
    int open; /* nested tlm_host_memory_open */
    bool guarded;
    struct sigaction before; /* the handler we stand in front of */
    char *shared;
    size_t shared_top;  /* places given out in this block, gaps included */
    size_t shared_used; /* bytes of its arrays */
    shared_array arrays[MOST_ARRAYS];
    size_t array_count;
};
device_memory memory;

char *reserve(size_t bytes, int protection)
{
    void *start =
        mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) {
        perror("cuda-host: no address space for device memory");
        abort();
    }
    return (char *)start;
}

/* Poisons or frees bytes for AddressSanitizer. */
void forbid(void *start, size_t bytes)
{
#if TLM_HOST_ASAN
    __asan_poison_memory_region(start, bytes);
#else
    (void)start;
    (void)bytes;
#endif
}

void allow(void *start, size_t bytes)
{
#if TLM_HOST_ASAN
    __asan_unpoison_memory_region(start, bytes);
#else
    (void)start;
    (void)bytes;
#endif
}

/* A memory fault: in the arena it is a report and the end, elsewhere it is not ours. */
void on_fault(int signal, siginfo_t *info, void *context)
{
    const char *address = (const char *)info->si_addr;
    const void *pc = nullptr;
    char where[200];

    if (memory.arena != nullptr && address >= memory.arena &&
        address < memory.arena + ARENA_BYTES) {
#if defined(__x86_64__)
        pc = (const char *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] + 1;
#else
        (void)context;
#endif
        tlm_host::describe_address(where, sizeof where, address);
        if (tlm_host::now.device)
            tlm_host::report_at(TLM_HOST_BOUNDS, pc, "touches %s", where);
        else
            tlm_host::report_at(TLM_HOST_POINTER, pc, "touches device memory: %s", where);
        fflush(nullptr);
        _exit(TLM_HOST_EXIT);
    }
    /* returning runs the instruction again, now under the handler before ours */
    sigaction(signal, &memory.before, nullptr);
}

void begin_arena()
{
    if (memory.arena != nullptr)
        return;
    const char *guard = getenv("TLM_HOST_GUARD");
    memory.guarded = guard != nullptr && strcmp(guard, "1") == 0;
    /* the checker reports a wild access and lets it happen, so all of it must be there */
    memory.arena = reserve(ARENA_BYTES, TLM_HOST_CHECKED ? PROT_READ | PROT_WRITE : PROT_NONE);
    memory.top = memory.arena;
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, &memory.before);
}

char *page_of(const void *address)
{
    return (char *)((uintptr_t)address & ~(uintptr_t)(PAGE - 1));
}

char *page_after(const void *address)
{
    return page_of((const char *)address + PAGE - 1);
}

/* Makes all live allocations readable and writable, or out of reach. */
void protect_arena(int protection)
{
    for (const auto &entry : memory.live) {
        char *first = page_of((void *)entry.first);
        char *end = page_after((void *)(entry.first + entry.second));
        mprotect(first, (size_t)(end - first), protection);
    }
}

const std::map<uintptr_t, size_t>::const_iterator find_live(const void *address)
{
    auto after = memory.live.upper_bound((uintptr_t)address);
    if (after == memory.live.begin())
        return memory.live.end();
    return --after;
}

/* The shared object is being closed: nothing of it may stay mapped or called. */
__attribute__((destructor)) void release_memory()
{
    struct sigaction current;

    if (memory.arena != nullptr) {
        sigaction(SIGSEGV, nullptr, &current);
        if (current.sa_sigaction == on_fault)
            sigaction(SIGSEGV, &memory.before, nullptr);
        tlm_host::check_release();
        allow(memory.arena, (size_t)(memory.top - memory.arena));
        munmap(memory.arena, ARENA_BYTES);
    }
    if (memory.shared != nullptr) {
        allow(memory.shared, SHARED_BYTES);
        munmap(memory.shared, SHARED_BYTES);
    }
    memory.arena = nullptr;
    memory.shared = nullptr;
}

} // namespace

extern "C" {

void *tlm_host_alloc(size_t bytes)
{
    const std::lock_guard<std::mutex> hold(memory.lock);

    begin_arena();
    if (bytes == 0)
        bytes = 1;
    if (bytes > DEVICE_BYTES - memory.live_bytes)
        return nullptr;
    char *start = memory.top + ALIGNMENT;
    char *end = page_after(start + bytes);
    if ((size_t)(memory.arena + ARENA_BYTES - memory.top) < (size_t)(end + PAGE - memory.top))
        return nullptr;
    if (!TLM_HOST_CHECKED)
        mprotect(memory.top, (size_t)(end - memory.top), PROT_READ | PROT_WRITE);
    memset(start, 0xff, bytes);
    forbid(memory.top, (size_t)(end - memory.top));
    allow(start, bytes);
    tlm_host::check_allocated(start, bytes);
    memory.live[(uintptr_t)start] = bytes;
    memory.live_bytes += bytes;
    if (memory.guarded && memory.open == 0)
        mprotect(memory.top, (size_t)(end - memory.top), PROT_NONE);
    memory.top = end + PAGE;
    return start;
}

int tlm_host_free(void *start)
{
    const std::lock_guard<std::mutex> hold(memory.lock);
    const auto found = memory.live.find((uintptr_t)start);

    if (memory.arena == nullptr || found == memory.live.end())
        return 0;
    const size_t bytes = found->second;
    char *first = page_of(start);
    const size_t span = (size_t)(page_after((char *)start + bytes) - first);
    memory.live.erase(found);
    memory.freed[(uintptr_t)start] = bytes;
    memory.live_bytes -= bytes;
    tlm_host::check_freed(start, bytes);
    forbid(start, bytes);
    /* gives the pages back; the checker keeps them reachable, full of zeros that it reports */
    if (TLM_HOST_CHECKED)
        mprotect(first, span, PROT_READ | PROT_WRITE);
    madvise(first, span, MADV_DONTNEED);
    if (!TLM_HOST_CHECKED)
        mprotect(first, span, PROT_NONE);
    return 1;
}

int tlm_host_is_device(const void *start, size_t bytes)
{
    const std::lock_guard<std::mutex> hold(memory.lock);
    const auto found = find_live(start);

    if (found == memory.live.end())
        return 0;
    const size_t before = (uintptr_t)start - found->first;
    return before <= found->second && bytes <= found->second - before &&
           (bytes != 0 || before < found->second);
}

int tlm_host_in_arena(const void *address)
{
    const char *at = (const char *)address;

    return memory.arena != nullptr && at >= memory.arena && at < memory.arena + ARENA_BYTES;
}

void tlm_host_mark_initialised(void *start, size_t bytes)
{
    tlm_host::check_written(start, bytes);
}

void tlm_host_mark_copied(void *to, const void *from, size_t bytes)
{
    tlm_host::check_copied(to, from, bytes);
}

size_t tlm_host_never_written(const void *start, size_t bytes)
{
    return tlm_host::check_never_written(start, bytes);
}

size_t tlm_host_live_bytes(void)
{
    const std::lock_guard<std::mutex> hold(memory.lock);

    return memory.live_bytes;
}

size_t tlm_host_memory_bytes(void)
{
    return DEVICE_BYTES;
}

void tlm_host_memory_open(void)
{
    const std::lock_guard<std::mutex> hold(memory.lock);

    if (memory.open++ == 0 && memory.guarded)
        protect_arena(PROT_READ | PROT_WRITE);
}

void tlm_host_memory_close(void)
{
    const std::lock_guard<std::mutex> hold(memory.lock);

    if (--memory.open == 0 && memory.guarded)
        protect_arena(PROT_NONE);
}

/* The place of a shared array in the current block.  The first thread that comes takes it. */
void *tlm_host_shared(struct tlm_host_slot *slot, const char *name, size_t bytes, const char *file,
                      unsigned line)
{
    char site[300];

    if (slot->block == tlm_host::now.block)
        return slot->start;
    memory.shared_used += (bytes + 15) & ~(size_t)15;
    if (memory.shared_used > STATIC_SHARED_BYTES || memory.array_count == MOST_ARRAYS) {
        snprintf(site, sizeof site, "%s:%u", file, line);
        tlm_host_report(TLM_HOST_LIMIT, site,
                        "%zu bytes of static shared memory in %zu arrays; a block has %zu",
                        memory.shared_used, memory.array_count + 1, (size_t)STATIC_SHARED_BYTES);
        tlm_host::abandon_launch();
    }
    char *start = memory.shared + memory.shared_top + SHARED_GAP;
    memory.shared_top += SHARED_GAP + ((bytes + 15) & ~(size_t)15);
    allow(start, bytes);
    memset(start, 0xff, bytes);
    tlm_host::check_allocated(start, bytes);
    memory.arrays[memory.array_count++] = { name, start, bytes };
    slot->block = tlm_host::now.block;
    slot->start = start;
    return start;
}

} /* extern "C" */

void tlm_host::begin_block_memory()
{
    if (memory.shared == nullptr) {
        memory.shared = reserve(SHARED_BYTES, PROT_READ | PROT_WRITE);
        memory.shared_top = SHARED_BYTES;
    }
    if (memory.shared_top != 0) {
        check_freed(memory.shared, memory.shared_top);
        forbid(memory.shared, memory.shared_top);
    }
    memory.shared_top = 0;
    memory.shared_used = 0;
    memory.array_count = 0;
}

void tlm_host::describe_address(char *text, size_t bytes, const void *address)
{
    const char *at = (const char *)address;

    for (size_t i = 0; i < memory.array_count; i++) {
        const shared_array &a = memory.arrays[i];
        const ptrdiff_t offset = at - a.start;
        if (offset >= -(ptrdiff_t)SHARED_GAP / 2 &&
            offset < (ptrdiff_t)(a.bytes + SHARED_GAP / 2)) {
            snprintf(text, bytes, "byte %td of %zu of shared %s", offset, a.bytes, a.name);
            return;
        }
    }
    const std::lock_guard<std::mutex> hold(memory.lock);
    const char *nearest = nullptr; /* allocation that begins before the address, or just after it */
    size_t size = 0;
    bool freed = false;
    for (const auto *map : { &memory.live, &memory.freed }) {
        auto found = map->upper_bound((uintptr_t)at + ALIGNMENT - 1);
        if (found == map->begin() || (const char *)(--found)->first < nearest)
            continue;
        nearest = (const char *)found->first;
        size = found->second;
        freed = map == &memory.freed;
    }
    if (!tlm_host_in_arena(at) || nearest == nullptr)
        snprintf(text, bytes, "%p", address);
    else
        snprintf(text, bytes, "byte %td of %zu of %s allocation", at - nearest, size,
                 freed ? "a freed" : "an");
}

tlm_host::memory_range tlm_host::shared_region()
{
    return { memory.shared, SHARED_BYTES };
}

tlm_host::memory_range tlm_host::arena_region()
{
    return { memory.arena, ARENA_BYTES };
}
