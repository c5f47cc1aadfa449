/* The checker: every load and store of device code compiled with g++ -fsanitize=thread calls a
   hook, and the hooks are ours, not libtsan's.  It reports accesses outside live memory, reads of
   what nobody wrote, host addresses, misaligned vectors, and pairs of accesses with nothing between
   them.

   A cell stands for 4 bytes and remembers who wrote it last and who read it.  Two accesses are
   ordered by the end of a launch, by a barrier of their block, or by a __syncwarp of their warp;
   shuffles and votes order nothing.  So a race shows whatever the schedule was.  One writer a cell
   is kept: bytes of one cell written by several threads can hide a race, none is invented.  Two
   threads that write the same value are a race here.  A __syncwarp of some lanes counts for the
   whole warp. */
#include "cuda_host.h"
#include "host_parts.h"

#if TLM_HOST_CHECKED

#include <vector>

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

using tlm_host::memory_range;
using tlm_host::now;

namespace
{

enum : unsigned { CELL = 4, ALL_BYTES = 15, SEVERAL = 63 };

/* Who accessed a cell.  `lane` SEVERAL: several lanes of the warp, or, with `warp` SEVERAL, of
   several warps; `other_blocks`: of several blocks of the launch. */
struct access {
    uint32_t interval;
    uint32_t warp_interval : 14;
    uint32_t other_blocks : 1;
    uint32_t atomic : 1;
    uint32_t warp : 6;
    uint32_t lane : 6;
    uint32_t bytes : 4; /* of the cell; 0: nobody */
};

struct cell {
    access wrote, read;
};

/* Which bytes of a cell may be used (high 4 bits) and which were written (low 4 bits). */
typedef uint8_t cell_state;

struct region {
    char *start;
    size_t bytes;
    cell *cells;
    cell_state *states;
    bool global; /* seen by all blocks */
};

struct checker {
    region arena, shared;
    std::vector<memory_range> *constants; /* read-only memory of this executable or shared object */
};
checker check;

void *reserve(size_t bytes)
{
    void *start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) {
        perror("cuda-host: no address space for the checker");
        abort();
    }
    return start;
}

void follow(region &r, memory_range memory, bool global)
{
    r.start = memory.start;
    r.bytes = memory.bytes;
    r.global = global;
    r.cells = (cell *)reserve(memory.bytes / CELL * sizeof(cell));
    r.states = (cell_state *)reserve(memory.bytes / CELL);
}

bool inside(const memory_range &range, const void *address)
{
    return (uintptr_t)address - (uintptr_t)range.start < range.bytes;
}

bool inside(const region &r, const void *address)
{
    return (uintptr_t)address - (uintptr_t)r.start < r.bytes;
}

/* Constant tables live in segments that nobody can write. */
int add_constants(struct dl_phdr_info *info, size_t, void *)
{
    bool ours = false;

    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) &segment = info->dlpi_phdr[i];
        const memory_range range = { (char *)info->dlpi_addr + segment.p_vaddr, segment.p_memsz };
        ours = ours || (segment.p_type == PT_LOAD && inside(range, &check));
    }
    for (int i = 0; ours && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) &segment = info->dlpi_phdr[i];
        if ((segment.p_type == PT_LOAD && (segment.p_flags & PF_W) == 0) ||
            segment.p_type == PT_GNU_RELRO)
            check.constants->push_back(
                { (char *)info->dlpi_addr + segment.p_vaddr, segment.p_memsz });
    }
    return ours;
}

/* Cells appear with the memory that they stand for. */
__attribute__((noinline, cold)) void begin_following()
{
    if (check.constants == nullptr) {
        check.constants = new std::vector<memory_range>;
        dl_iterate_phdr(add_constants, nullptr);
    }
    if (check.arena.start == nullptr && tlm_host::arena_region().start != nullptr)
        follow(check.arena, tlm_host::arena_region(), true);
    if (check.shared.start == nullptr && tlm_host::shared_region().start != nullptr)
        follow(check.shared, tlm_host::shared_region(), false);
}

/* The region of memory that the shim manages; NULL: none. */
region *region_of(const void *address)
{
    if (check.arena.start == nullptr || check.shared.start == nullptr)
        begin_following();
    if (inside(check.shared, address))
        return &check.shared;
    return inside(check.arena, address) ? &check.arena : nullptr;
}

/* The bytes of a cell that [start, end) covers. */
unsigned covered(size_t index, size_t start, size_t end)
{
    unsigned bytes = ALL_BYTES;

    if (index * CELL < start)
        bytes &= ALL_BYTES << (start - index * CELL);
    if (index * CELL + CELL > end)
        bytes &= ALL_BYTES >> (index * CELL + CELL - end);
    return bytes & ALL_BYTES;
}

/* Sets and clears states of a range: whole cells at once. */
void set_states(const void *address, size_t bytes, bool usable, bool written)
{
    region *r = region_of(address);

    if (r == nullptr || bytes == 0)
        return;
    const size_t start = (size_t)((const char *)address - r->start);
    const size_t end = start + bytes;
    const unsigned state = (usable ? ALL_BYTES << 4 : 0u) | (written ? ALL_BYTES : 0u);
    const size_t first = start / CELL, last = (end - 1) / CELL;
    for (size_t i = first; i <= last; i++) {
        const unsigned part = covered(i, start, end);
        if (part == ALL_BYTES && i + 1 < last) {
            const size_t whole = end / CELL - i;
            memset(r->states + i, (int)state, whole);
            i += whole - 1;
            continue;
        }
        const unsigned mask = part | part << 4;
        r->states[i] = (cell_state)((r->states[i] & ~mask) | (state & mask));
    }
}

/* ---- races */

/* Is an earlier access not ordered before one of the current thread? */
bool unordered(const access &a, bool global)
{
    if (a.bytes == 0 || a.interval < now.launch_first)
        return false;
    if (a.interval < now.block_first || a.other_blocks)
        return global;
    if (a.interval != now.interval)
        return false;
    if (a.warp != now.warp)
        return true;
    if (a.lane == now.lane)
        return false;
    return a.warp_interval >= now.warp_interval[now.warp];
}

void report_race(const access &a, bool write, const void *address, const void *pc)
{
    char where[200];
    char who[48] = "several warps";
    const char *verb = write ? "writes" : "reads";

    tlm_host::describe_address(where, sizeof where, address);
    if (a.interval < now.block_first || a.other_blocks) {
        tlm_host::report_at(TLM_HOST_RACE, pc,
                            "%s %s, which another block of the launch accessed too", verb, where);
        return;
    }
    if (a.warp != SEVERAL && a.lane != SEVERAL)
        snprintf(who, sizeof who, "thread %u", a.warp * tlm_host::WARP + a.lane);
    else if (a.warp != SEVERAL)
        snprintf(who, sizeof who, "other lanes of warp %u", a.warp);
    tlm_host::report_at(TLM_HOST_RACE, pc, "%s %s, which %s accessed since the last barrier", verb,
                        where, who);
}

access by_this_thread(unsigned bytes, bool atomic)
{
    access a;

    a.interval = now.interval;
    a.warp_interval = now.warp_interval[now.warp] & 0x3fff;
    a.other_blocks = 0;
    a.atomic = atomic;
    a.warp = now.warp & 63;
    a.lane = now.lane & 63;
    a.bytes = bytes & ALL_BYTES;
    return a;
}

/* Adds a read of the current thread to those that the cell remembers: none of them may be lost
   while a write could still race with it. */
void remember_read(access &read, unsigned bytes, bool atomic, bool global)
{
    access a = by_this_thread(bytes, atomic);

    if (read.bytes != 0 && read.interval >= now.launch_first) {
        if (global && (read.interval < now.block_first || read.other_blocks)) {
            a.other_blocks = 1;
            a.bytes |= read.bytes;
            a.atomic &= read.atomic;
        } else if (unordered(read, global)) {
            a.lane = SEVERAL;
            a.warp = read.warp == a.warp ? (unsigned)a.warp : SEVERAL;
            a.bytes |= read.bytes;
            a.atomic &= read.atomic;
        } else if (read.interval == a.interval && read.warp == a.warp && read.lane == a.lane) {
            a.bytes |= read.bytes;
            a.atomic &= read.atomic;
        }
    }
    read = a;
}

/* Races of one access to one cell. */
void check_cell(cell &c, unsigned bytes, bool read, bool write, bool global, const void *address,
                const void *pc)
{
    const bool atomic = read && write;

    if ((c.wrote.bytes & bytes) != 0 && !(atomic && c.wrote.atomic) && unordered(c.wrote, global)) {
        report_race(c.wrote, write, address, pc);
        c.wrote.bytes = 0;
    }
    if (write) {
        if ((c.read.bytes & bytes) != 0 && !(atomic && c.read.atomic) &&
            unordered(c.read, global)) {
            report_race(c.read, write, address, pc);
            c.read.bytes = 0;
        }
        c.wrote = by_this_thread(bytes, atomic);
    }
    if (read)
        remember_read(c.read, bytes, atomic, global);
}

/* ---- one access */

void report_bounds(const char *address, size_t bytes, bool write, const void *pc)
{
    char where[200];

    tlm_host::describe_address(where, sizeof where, address);
    tlm_host::report_at(TLM_HOST_BOUNDS, pc, "%s %zu bytes at %s", write ? "writes" : "reads",
                        bytes, where);
}

void report_unwritten(const char *address, const void *pc)
{
    char where[200];

    tlm_host::describe_address(where, sizeof where, address);
    tlm_host::report_at(TLM_HOST_UNINITIALISED, pc, "reads %s, which nothing wrote", where);
}

void check_region(region &r, const char *address, size_t bytes, bool read, bool write,
                  const void *pc)
{
    const size_t start = (size_t)(address - r.start);
    const size_t end = start + bytes;

    for (size_t i = start / CELL; i * CELL < end; i++) {
        const unsigned part = covered(i, start, end);
        cell_state &state = r.states[i];
        if ((state >> 4 & part) != part) {
            report_bounds(address, bytes, write, pc);
            return;
        }
        if (read && (state & part) != part)
            report_unwritten(address, pc);
        state |= (cell_state)part; /* written, or reported once */
        check_cell(r.cells[i], part, read, write, r.global, address, pc);
    }
}

/* The arguments and the number of the thread: device code reads them all the time. */
inline bool of_the_launch(const void *address)
{
    return (uintptr_t)address - (uintptr_t)&tlm_host_ids < sizeof tlm_host_ids ||
           (uintptr_t)address - (uintptr_t)now.args < now.arg_bytes;
}

/* Memory that is neither the device's nor the block's. */
void check_elsewhere(const char *address, size_t bytes, bool write, const void *pc)
{
    if (of_the_launch(address)) {
        tlm_host::report_at(TLM_HOST_POINTER, pc, "writes constant memory of the launch");
        return;
    }
    for (const memory_range &range : *check.constants)
        if (!write && inside(range, address))
            return;
    tlm_host::report_at(TLM_HOST_POINTER, pc, "%s %zu bytes at %p, which is no device memory",
                        write ? "writes" : "reads", bytes, (const void *)address);
}

inline void hook(const void *at, size_t bytes, bool read, bool write, const void *pc)
{
    const char *address = (const char *)at;

    if (!now.device || (uintptr_t)address - (uintptr_t)now.stack < now.stack_bytes)
        return;
    if (!write && of_the_launch(address))
        return;
    if (bytes <= 16 && ((uintptr_t)address & (bytes - 1)) != 0)
        tlm_host::report_at(TLM_HOST_MISALIGNED, pc, "%zu bytes at %p", bytes, at);
    if (region *r = region_of(address))
        check_region(*r, address, bytes, read, write, pc);
    else
        check_elsewhere(address, bytes, write, pc);
}

} // namespace

/* ---- what the memory tells */

void tlm_host::check_allocated(const void *start, size_t bytes)
{
    set_states(start, bytes, true, false);
}

void tlm_host::check_freed(const void *start, size_t bytes)
{
    set_states(start, bytes, false, false);
}

void tlm_host::check_written(const void *start, size_t bytes)
{
    if (region_of(start) == &check.arena)
        set_states(start, bytes, true, true);
}

void tlm_host::check_copied(const void *to, const void *from, size_t bytes)
{
    const region &r = check.arena;

    if (region_of(to) != &r || region_of(from) != &r)
        return;
    const size_t source = (size_t)((const char *)from - r.start);
    const size_t target = (size_t)((const char *)to - r.start);
    for (size_t i = 0; i < bytes; i++) {
        const unsigned bit = 1u << (target + i) % CELL;
        cell_state &state = r.states[(target + i) / CELL];
        const bool written = (r.states[(source + i) / CELL] >> (source + i) % CELL & 1) != 0;
        state = (cell_state)(written ? state | bit : state & ~bit);
    }
}

size_t tlm_host::check_never_written(const void *start, size_t bytes)
{
    const region &r = check.arena;
    size_t count = 0;

    if (region_of(start) != &r)
        return 0;
    const size_t first = (size_t)((const char *)start - r.start);
    for (size_t i = first; i < first + bytes; i++)
        count += (r.states[i / CELL] >> i % CELL & 1) == 0;
    return count;
}

void tlm_host::check_release()
{
    for (region *r : { &check.arena, &check.shared }) {
        if (r->start == nullptr)
            continue;
        munmap(r->cells, r->bytes / CELL * sizeof(cell));
        munmap(r->states, r->bytes / CELL);
        r->start = nullptr;
        r->bytes = 0;
    }
    delete check.constants;
    check.constants = nullptr;
}

/* ---- what the compiler calls */

#define PC __builtin_return_address(0)
#define TLM_HOST_HOOKS(name, bytes)            \
    void __tsan_##name##read##bytes(void *at)  \
    {                                          \
        hook(at, bytes, true, false, PC);      \
    }                                          \
    void __tsan_##name##write##bytes(void *at) \
    {                                          \
        hook(at, bytes, false, true, PC);      \
    }
#define TLM_HOST_HOOKS_OF_ALL_SIZES(name) \
    TLM_HOST_HOOKS(name, 1)               \
    TLM_HOST_HOOKS(name, 2)               \
    TLM_HOST_HOOKS(name, 4)               \
    TLM_HOST_HOOKS(name, 8)               \
    TLM_HOST_HOOKS(name, 16)

/* UndefinedBehaviorSanitizer's records: where, and what was expected. */
struct source_place {
    const char *file;
    uint32_t line, column;
};

struct alignment_record {
    source_place place;
    const void *type;
    unsigned char log_alignment, kind;
};

struct bounds_record {
    source_place place;
    const void *array, *index;
};

extern "C" {

TLM_HOST_HOOKS_OF_ALL_SIZES()
TLM_HOST_HOOKS_OF_ALL_SIZES(unaligned_)
TLM_HOST_HOOKS_OF_ALL_SIZES(volatile_)

void __tsan_read_range(void *at, size_t bytes)
{
    hook(at, bytes, true, false, PC);
}

void __tsan_write_range(void *at, size_t bytes)
{
    hook(at, bytes, false, true, PC);
}

void __tsan_func_entry(void *)
{
}

void __tsan_func_exit(void)
{
}

void __tsan_init(void)
{
}

/* -fsanitize=alignment: a float4 whose address is not a multiple of 16 is read in four parts, each
   of them aligned, so the hooks above do not see it. */
void __ubsan_handle_type_mismatch_v1(struct alignment_record *record, uintptr_t address)
{
    char site[300];

    snprintf(site, sizeof site, "%s:%u", record->place.file, record->place.line);
    tlm_host_report(TLM_HOST_MISALIGNED, site, "%p is not a multiple of %u", (void *)address,
                    1u << record->log_alignment);
}

/* -fsanitize=bounds: an index beyond an array whose length the type tells. */
void __ubsan_handle_out_of_bounds(struct bounds_record *record, uintptr_t index)
{
    char site[300];

    snprintf(site, sizeof site, "%s:%u", record->place.file, record->place.line);
    tlm_host_report(TLM_HOST_BOUNDS, site, "index %ld is outside its array", (long)index);
}

} /* extern "C" */

#endif

/* An atomic operation: it reads and writes, and does not race with another one. */
void tlm_host_atomic(void *address, size_t bytes, const void *pc)
{
#if TLM_HOST_CHECKED
    hook(address, bytes, true, true, pc);
#else
    (void)address;
    (void)bytes;
    (void)pc;
#endif
}
