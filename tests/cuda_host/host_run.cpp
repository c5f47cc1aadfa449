/* Runs a launch: blocks one after another, the threads of a block as fibres on stacks of their own.

   A fibre starts threads until one of them waits; then another ready thread, or a fresh fibre, goes
   on.  A barrier lets all threads of the block go when the last one comes; a collective is carried
   out by the last lane of its mask for all.  When nobody can go on, that is a deadlock: it is
   reported and the launch fails. */
#include "cuda_host.h"
#include "host_parts.h"

#include <mutex>
#include <string>
#include <utility>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#if !defined(__x86_64__) || defined(TLM_HOST_UCONTEXT)
#include <ucontext.h>
#define TLM_HOST_OWN_SWITCH 0
#else
#define TLM_HOST_OWN_SWITCH 1
#endif

struct tlm_host_ids tlm_host_ids;
struct tlm_host::running tlm_host::now;

using tlm_host::MOST_THREADS;
using tlm_host::MOST_WARPS;
using tlm_host::now;
using tlm_host::WARP;

namespace
{

/* ---- fibres */

enum : size_t {
    STACK_BYTES = TLM_HOST_ASAN ? 256 << 10 : 64 << 10,
    GUARD_BYTES = 4096,
    LINE_BYTES = 64
};

struct fibre {
    char *stack; /* NULL: the caller's own */
#if TLM_HOST_OWN_SWITCH
    void *pointer; /* of the stack, while another fibre runs */
#else
    ucontext_t context;
#endif
#if TLM_HOST_ASAN
    void *fake;
    const void *bottom;
    size_t bytes;
#endif
};

#if TLM_HOST_OWN_SWITCH
/* Keeps what a call preserves on the stack, stores where, and goes on with another stack.  A jump
   instead of a return: the processor's record of return addresses is of another fibre. */
extern "C" void tlm_host_switch(void **keep, void *other);
asm(".pushsection .text\n"
    ".hidden tlm_host_switch\n"
    ".globl tlm_host_switch\n"
    ".type tlm_host_switch, @function\n"
    "tlm_host_switch:\n"
    "    pushq %r15\n"
    "    pushq %r14\n"
    "    pushq %r13\n"
    "    pushq %r12\n"
    "    pushq %rbx\n"
    "    pushq %rbp\n"
    "    movq %rsp, (%rdi)\n"
    "    movq %rsi, %rsp\n"
    "    popq %rbp\n"
    "    popq %rbx\n"
    "    popq %r12\n"
    "    popq %r13\n"
    "    popq %r14\n"
    "    popq %r15\n"
    "    popq %rdx\n"
    "    jmpq *%rdx\n"
    ".size tlm_host_switch, . - tlm_host_switch\n"
    ".popsection\n");
enum { SAVED_REGISTERS = 6 };
#endif

/* ---- threads, warps, the scheduler */

enum thread_state : uint8_t { IDLE, RUNNING, AT_BARRIER, AT_COLLECTIVE };

struct thread {
    fibre *on;
    uint3 index;
    uint16_t number;
    uint8_t warp, lane;
    thread_state state;
    int value; /* brought to a barrier that counts */
    const char *file;
    unsigned line;
};

struct warp {
    unsigned alive;   /* lanes that have not returned */
    unsigned waiting; /* lanes at a collective */
    struct tlm_host_lane *brought[WARP];
};

enum schedule { IN_ORDER, REVERSED, RANDOM };

struct scheduler {
    std::mutex lock; /* one launch at a time */
    fibre home;      /* the caller of tlm_host_run */
    fibre fibres[MOST_THREADS];
    unsigned made; /* fibres that have a stack */
    fibre *idle[MOST_THREADS];
    unsigned idle_count;
    fibre *current, *previous;

    thread threads[MOST_THREADS];
    warp warps[MOST_WARPS];
    thread *self;
    unsigned count, alive;        /* threads of a block; those that have not returned */
    uint16_t order[MOST_THREADS]; /* in which they start */
    unsigned next;                /* to start */
    uint16_t ready[MOST_THREADS]; /* a ring of those that may go on */
    unsigned ready_first, ready_end;
    unsigned at_barrier;
    int counted, all, any; /* of the last barrier */
    bool returned, told_returned;
    bool failed;

    schedule mode;
    bool chosen;
    uint64_t random;
    void (*run)(const void *args);
    alignas(16) char args[32768];
    unsigned long long launches, ran;
};
scheduler it;

enum { ARG_LIMIT = 32764, SHARED_LIMIT = 48 << 10 };

/* splitmix64 */
uint64_t draw()
{
    it.random += 0x9e3779b97f4a7c15u;
    uint64_t x = it.random;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

[[noreturn]] void fibre_main();

/* A stack that will start fibre_main.  Stacks begin at different cache lines of a page, or the tops
   of all of them would share a few sets of the cache. */
void prepare(fibre &f)
{
    const size_t number = (size_t)(&f - it.fibres);
    const size_t used = STACK_BYTES - LINE_BYTES * (1 + number * 7 % 61);

#if TLM_HOST_ASAN
    __asan_unpoison_memory_region(f.stack, STACK_BYTES);
    f.fake = nullptr;
    f.bottom = f.stack;
    f.bytes = STACK_BYTES;
#endif
#if TLM_HOST_OWN_SWITCH
    /* from the top: where a caller's address would be, the start, registers */
    void **top = (void **)(f.stack + used);
    top[-1] = nullptr;
    top[-2] = (void *)fibre_main;
    for (int i = 0; i < SAVED_REGISTERS; i++)
        top[-3 - i] = nullptr;
    f.pointer = top - 2 - SAVED_REGISTERS;
#else
    getcontext(&f.context);
    f.context.uc_stack.ss_sp = f.stack;
    f.context.uc_stack.ss_size = used;
    f.context.uc_link = nullptr;
    makecontext(&f.context, fibre_main, 0);
#endif
}

fibre *take_fibre()
{
    if (it.idle_count != 0)
        return it.idle[--it.idle_count];
    fibre &f = it.fibres[it.made++];
    char *start = (char *)mmap(nullptr, GUARD_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) {
        perror("cuda-host: no memory for a stack");
        abort();
    }
    mprotect(start, GUARD_BYTES, PROT_NONE);
    f.stack = start + GUARD_BYTES;
    prepare(f);
    return &f;
}

/* After a switch: AddressSanitizer learns which stack we are on, we learn the caller's. */
void arrived()
{
#if TLM_HOST_ASAN
    const void *bottom;
    size_t bytes;

    __sanitizer_finish_switch_fiber(it.current->fake, &bottom, &bytes);
    it.previous->bottom = bottom;
    it.previous->bytes = bytes;
#endif
}

void jump(fibre *to)
{
    fibre *from = it.current;

    it.previous = from;
    it.current = to;
#if TLM_HOST_ASAN
    __sanitizer_start_switch_fiber(&from->fake, to->bottom, to->bytes);
#endif
#if TLM_HOST_OWN_SWITCH
    tlm_host_switch(&from->pointer, to->pointer);
#else
    swapcontext(&from->context, &to->context);
#endif
    arrived();
}

/* ---- who goes on */

void make_ready(thread &t)
{
    t.state = IDLE;
    it.ready[it.ready_end++ % MOST_THREADS] = t.number;
}

thread *take_ready()
{
    const unsigned waiting = it.ready_end - it.ready_first;

    if (waiting == 0)
        return nullptr;
    if (it.mode == RANDOM) {
        const unsigned other = it.ready_first + (unsigned)(draw() % waiting);
        std::swap(it.ready[other % MOST_THREADS], it.ready[it.ready_first % MOST_THREADS]);
    }
    return &it.threads[it.ready[it.ready_first++ % MOST_THREADS]];
}

void report_deadlock()
{
    std::string text;
    unsigned stuck = 0, shown = 0;
    const thread *last = nullptr;
    char part[300];

    for (unsigned i = 0; i < it.count; i++) {
        const thread &t = it.threads[i];
        if (t.state != AT_BARRIER && t.state != AT_COLLECTIVE)
            continue;
        stuck++;
        if (shown == 4 || (last != nullptr && last->line == t.line && last->state == t.state))
            continue;
        snprintf(part, sizeof part, "; thread %u waits at a %s at %s:%u", i,
                 t.state == AT_BARRIER ? "barrier" : "collective of its warp", t.file, t.line);
        text += part;
        shown++;
        last = &t;
    }
    snprintf(part, sizeof part, "%s:%u", last != nullptr ? last->file : "?",
             last != nullptr ? last->line : 0);
    tlm_host_report(TLM_HOST_DEADLOCK, part, "%u threads can never go on%s", stuck, text.c_str());
}

/* The current fibre has nothing to do: another one goes on. */
void leave()
{
    const bool fresh = it.next < it.count;

    if (!(fresh && it.mode == RANDOM && (draw() & 1) != 0)) {
        if (thread *t = take_ready()) {
            if (t->on != it.current)
                jump(t->on);
            return;
        }
    }
    if (fresh) {
        fibre *f = take_fibre();
        if (f != it.current) /* this one may just have become idle */
            jump(f);
        return;
    }
    if (it.alive != 0) {
        report_deadlock();
        it.failed = true;
    }
    jump(&it.home);
}

/* The current fibre is the thread's. */
void become(thread &t)
{
    it.self = &t;
    t.state = RUNNING;
    tlm_host_ids.thread = t.index;
    now.warp = t.warp;
    now.lane = t.lane;
    now.stack = it.current->stack;
}

void wait_as(thread &t)
{
    leave();
    become(t);
}

/* ---- barriers */

/* Out of line: what waits keeps its stack small. */
__attribute__((noinline, cold, format(printf, 4, 5))) void
report_place(tlm_host_kind kind, const char *file, unsigned line, const char *format, ...)
{
    char site[300], text[300];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    snprintf(site, sizeof site, "%s:%u", file, line);
    tlm_host_report(kind, site, "%s", text);
}

bool same_place(const char *file, unsigned line, const char *other_file, unsigned other_line)
{
    return line == other_line && (file == other_file || strcmp(file, other_file) == 0);
}

/* The barrier is complete: looks whether it is one, and takes its results. */
void look_at_barrier()
{
    const thread *first = nullptr;
    bool told = false;

    it.counted = 0;
    it.all = 1;
    it.any = 0;
    for (unsigned i = 0; i < it.count; i++) {
        const thread &t = it.threads[i];
        if (t.state != AT_BARRIER)
            continue;
        it.counted += t.value != 0;
        it.all &= t.value != 0;
        it.any |= t.value != 0;
        if (first == nullptr)
            first = &t;
        if (told || same_place(t.file, t.line, first->file, first->line))
            continue;
        told = true;
        report_place(TLM_HOST_DIVERGENCE, first->file, first->line,
                     "thread %u waits at this barrier, thread %u at the one at %s:%u",
                     first->number, t.number, t.file, t.line);
    }
    if (it.returned && !it.told_returned && first != nullptr) {
        it.told_returned = true;
        report_place(TLM_HOST_DIVERGENCE, first->file, first->line,
                     "threads of the block returned before this barrier");
    }
}

void try_barrier()
{
    if (it.at_barrier == 0 || it.at_barrier != it.alive)
        return;
    look_at_barrier();
    it.at_barrier = 0;
    now.interval++;
    memset(now.warp_interval, 0, sizeof now.warp_interval);
    for (unsigned i = 0; i < it.count; i++) {
        thread &t = it.threads[it.mode == REVERSED ? it.count - 1 - i : i];
        if (t.state == AT_BARRIER)
            make_ready(t);
    }
}

/* ---- collectives of a warp */

/* Do all lanes of `need` mean the same collective?  If not even the same kind, it never happens. */
bool agree(const warp &w, unsigned need)
{
    const unsigned first = (unsigned)__builtin_ctz(need);
    const struct tlm_host_lane &one = *w.brought[first];

    for (unsigned l = first + 1; l < WARP; l++) {
        if ((need >> l & 1) == 0)
            continue;
        const struct tlm_host_lane &other = *w.brought[l];
        if (other.mask == one.mask && other.kind == one.kind &&
            same_place(one.file, one.line, other.file, other.line))
            continue;
        report_place(TLM_HOST_DIVERGENCE, one.file, one.line,
                     "lane %u is here with mask %08x, lane %u at %s:%u with mask %08x", first,
                     one.mask, l, other.file, other.line, other.mask);
        return other.kind == one.kind;
    }
    return true;
}

void shuffle(const warp &w, unsigned need)
{
    for (unsigned l = 0; l < WARP; l++) {
        if ((need >> l & 1) == 0)
            continue;
        struct tlm_host_lane &lane = *w.brought[l];
        const unsigned source = lane.source % WARP;
        if ((need >> source & 1) != 0) {
            memcpy(lane.result, w.brought[source]->value, sizeof lane.result);
            continue;
        }
        report_place(TLM_HOST_DIVERGENCE, lane.file, lane.line,
                     "lane %u reads lane %u, which takes no part", l, source);
        memset(lane.result, 0xff, sizeof lane.result);
    }
}

void vote(const warp &w, unsigned need)
{
    unsigned ballot = 0;

    for (unsigned l = 0; l < WARP; l++)
        if ((need >> l & 1) != 0 && w.brought[l]->value[0] != 0)
            ballot |= 1u << l;
    for (unsigned l = 0; l < WARP; l++) {
        if ((need >> l & 1) == 0)
            continue;
        w.brought[l]->result[0] = ballot;
        w.brought[l]->result[1] = need;
    }
}

/* Carries a collective out if all living lanes of the mask are there, and lets them go, except
   `self`, which runs. */
bool try_collective(warp &w, unsigned mask, const thread *self)
{
    const unsigned number = (unsigned)(&w - it.warps);
    const unsigned need = mask & w.alive;

    if (need == 0 || (w.waiting & need) != need || !agree(w, need))
        return false;
    switch (w.brought[__builtin_ctz(need)]->kind) {
    case TLM_HOST_SHUFFLE: shuffle(w, need); break;
    case TLM_HOST_VOTE: vote(w, need); break;
    case TLM_HOST_SYNC: now.warp_interval[number]++; break;
    }
    w.waiting &= ~need;
    for (unsigned i = 0; i < WARP; i++) {
        const unsigned l = it.mode == REVERSED ? WARP - 1 - i : i;
        thread &t = it.threads[number * WARP + l];
        if ((need >> l & 1) != 0 && &t != self)
            make_ready(t);
    }
    return true;
}

/* ---- threads begin and end */

void retire(thread &t)
{
    warp &w = it.warps[t.warp];

    t.state = IDLE;
    it.alive--;
    it.returned = true;
    w.alive &= ~(1u << t.lane);
    for (unsigned left = w.waiting; left != 0;) {
        const unsigned mask = w.brought[__builtin_ctz(left)]->mask;
        try_collective(w, mask, nullptr);
        left &= ~mask;
    }
    if (it.at_barrier != 0)
        try_barrier();
}

void fibre_main()
{
    arrived();
    for (;;) {
        while (it.next < it.count) {
            thread &t = it.threads[it.order[it.next++]];
            t.on = it.current;
            become(t);
            it.run(now.args);
            retire(t);
            if (it.mode == RANDOM && it.ready_end != it.ready_first && (draw() & 1) != 0)
                break;
        }
        it.idle[it.idle_count++] = it.current;
        leave();
    }
}

/* ---- blocks */

void begin_block(dim3 grid, uint64_t number)
{
    tlm_host_ids.block = { (unsigned)(number % grid.x), (unsigned)(number / grid.x % grid.y),
                           (unsigned)(number / grid.x / grid.y) };
    now.block++;
    now.block_first = ++now.interval;
    memset(now.warp_interval, 0, sizeof now.warp_interval);
    tlm_host::begin_block_memory();
    for (unsigned w = 0; w * WARP < it.count; w++) {
        const unsigned lanes = it.count - w * WARP;
        it.warps[w].alive = lanes >= WARP ? 0xffffffffu : (1u << lanes) - 1;
        it.warps[w].waiting = 0;
    }
    if (it.mode == RANDOM)
        for (unsigned i = it.count; i > 1; i--)
            std::swap(it.order[i - 1], it.order[draw() % i]);
    it.ready_first = 0;
    it.ready_end = 0;
    it.next = 0;
    it.at_barrier = 0;
    it.alive = it.count;
    it.returned = false;
}

/* Threads were left where they waited: every stack starts anew. */
void drop_block()
{
    it.idle_count = 0;
    for (unsigned i = 0; i < it.made; i++) {
        prepare(it.fibres[i]);
        it.idle[it.idle_count++] = &it.fibres[i];
    }
}

/* Which block comes at place `i`: for random a walk over all of them, i * step + start modulo the
   count with a step that has no common divisor with it. */
struct block_order {
    uint64_t count, start, step;
};

block_order choose_block_order(uint64_t count)
{
    block_order order = { count, 0, 1 };

    if (it.mode != RANDOM)
        return order;
    order.start = draw() % count;
    for (;;) {
        order.step = draw() % count;
        uint64_t a = count, b = order.step;
        while (b != 0) {
            const uint64_t rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1)
            return order;
    }
}

uint64_t block_at(const block_order &order, uint64_t i)
{
    if (it.mode == REVERSED)
        return order.count - 1 - i;
    return (uint64_t)(((unsigned __int128)i * order.step + order.start) % order.count);
}

void number_threads(dim3 block)
{
    unsigned i = 0;

    for (unsigned z = 0; z < block.z; z++)
        for (unsigned y = 0; y < block.y; y++)
            for (unsigned x = 0; x < block.x; x++, i++) {
                thread &t = it.threads[i];
                t.index = { x, y, z };
                t.number = (uint16_t)i;
                t.warp = (uint8_t)(i / WARP);
                t.lane = (uint8_t)(i % WARP);
                t.state = IDLE;
                it.order[i] = (uint16_t)(it.mode == REVERSED ? it.count - 1 - i : i);
            }
}

void choose_schedule()
{
    const char *text = getenv("TLM_HOST_SCHEDULE");

    if (it.chosen)
        return;
    it.chosen = true;
    if (text == nullptr || text[0] == 0 || tlm_host_schedule(text) == 0)
        return;
    fprintf(stderr,
            "cuda-host: TLM_HOST_SCHEDULE is '%s'; known: in-order, reversed, random:SEED\n", text);
    exit(2);
}

/* The shared object is being closed, or the program ends. */
__attribute__((destructor)) void release_stacks()
{
    for (unsigned i = 0; i < it.made; i++) {
#if TLM_HOST_ASAN
        __asan_unpoison_memory_region(it.fibres[i].stack, STACK_BYTES);
#endif
        munmap(it.fibres[i].stack - GUARD_BYTES, GUARD_BYTES + STACK_BYTES);
    }
    it.made = 0;
    it.idle_count = 0;
}

struct tlm_host_kernel *first_kernel, *last_kernel;

} // namespace

void tlm_host::describe_place(char *text, size_t bytes)
{
    const uint3 b = tlm_host_ids.block, t = tlm_host_ids.thread;

    if (!now.device) {
        snprintf(text, bytes, "host code");
        return;
    }
    snprintf(text, bytes, "kernel %s block (%u,%u,%u) thread (%u,%u,%u)", now.kernel, b.x, b.y, b.z,
             t.x, t.y, t.z);
}

void tlm_host::abandon_launch()
{
    it.failed = true;
    jump(&it.home);
    abort(); /* nobody comes back here */
}

extern "C" {

void tlm_host_register(struct tlm_host_kernel *kernel)
{
    if (last_kernel == nullptr)
        first_kernel = kernel;
    else
        last_kernel->next = kernel;
    last_kernel = kernel;
}

const struct tlm_host_kernel *tlm_host_kernels(void)
{
    return first_kernel;
}

const struct tlm_host_kernel *tlm_host_find_kernel(const char *name)
{
    for (const struct tlm_host_kernel *k = first_kernel; k != nullptr; k = k->next)
        if (strcmp(k->name, name) == 0)
            return k;
    return nullptr;
}

cudaError_t tlm_host_check_launch(dim3 grid, dim3 block, size_t shared_bytes, size_t arg_bytes,
                                  unsigned max_threads)
{
    const uint64_t threads = (uint64_t)block.x * block.y * block.z;

    if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7fffffffu || grid.y > 65535 ||
        grid.z > 65535)
        return cudaErrorInvalidConfiguration;
    if (threads == 0 || block.x > MOST_THREADS || block.y > MOST_THREADS || block.z > 64 ||
        threads > MOST_THREADS)
        return cudaErrorInvalidConfiguration;
    if (threads > max_threads)
        return cudaErrorLaunchOutOfResources;
    if (shared_bytes > SHARED_LIMIT || arg_bytes > ARG_LIMIT)
        return cudaErrorInvalidValue;
    return cudaSuccess;
}

cudaError_t tlm_host_run(const char *name, void (*run)(const void *args), const void *args,
                         size_t arg_bytes, dim3 grid, dim3 block, size_t shared_bytes)
{
    const std::lock_guard<std::mutex> hold(it.lock);
    const cudaError_t refused =
        tlm_host_check_launch(grid, block, shared_bytes, arg_bytes, MOST_THREADS);

    if (refused != cudaSuccess)
        return refused;
    choose_schedule();
    tlm_host_memory_open();
    memcpy(it.args, args, arg_bytes);
    it.run = run;
    it.count = block.x * block.y * block.z;
    it.failed = false;
    it.told_returned = false;
    it.current = &it.home;
    number_threads(block);
    tlm_host_ids.block_size = block;
    tlm_host_ids.grid_size = grid;
    now.kernel = name;
    now.args = it.args;
    now.arg_bytes = arg_bytes;
    now.stack_bytes = STACK_BYTES;
    now.launch_first = ++now.interval;
    now.device = true;
    const block_order order = choose_block_order((uint64_t)grid.x * grid.y * grid.z);
    for (uint64_t i = 0; i < order.count && !it.failed; i++) {
        begin_block(grid, block_at(order, i));
        jump(take_fibre());
        it.ran += it.count;
    }
    if (it.failed)
        drop_block();
    it.launches++;
    now.device = false;
    now.kernel = nullptr;
    tlm_host_memory_close();
    return it.failed ? cudaErrorLaunchFailure : cudaSuccess;
}

int tlm_host_barrier(enum tlm_host_barrier_kind kind, int value, const char *file, unsigned line)
{
    thread &t = *it.self;

    t.value = value;
    t.file = file;
    t.line = line;
    t.state = AT_BARRIER;
    it.at_barrier++;
    try_barrier();
    wait_as(t);
    switch (kind) {
    case TLM_HOST_COUNT: return it.counted;
    case TLM_HOST_AND: return it.all;
    case TLM_HOST_OR: return it.any;
    case TLM_HOST_BARRIER: break;
    }
    return 0;
}

void tlm_host_collective(struct tlm_host_lane *mine)
{
    thread &t = *it.self;
    warp &w = it.warps[t.warp];

    if ((mine->mask >> t.lane & 1) == 0) {
        report_place(TLM_HOST_DIVERGENCE, mine->file, mine->line,
                     "the mask %08x leaves out the calling lane %u", mine->mask, t.lane);
        memset(mine->result, 0xff, sizeof mine->result);
        return;
    }
    w.brought[t.lane] = mine;
    w.waiting |= 1u << t.lane;
    if (try_collective(w, mine->mask, &t))
        return;
    t.file = mine->file;
    t.line = mine->line;
    t.state = AT_COLLECTIVE;
    wait_as(t);
}

unsigned tlm_host_lane_number(void)
{
    return it.self->lane;
}

void tlm_host_trap(const char *file, unsigned line)
{
    report_place(TLM_HOST_TRAP, file, line, "the kernel stopped itself");
    tlm_host::abandon_launch();
}

/* "in-order", "reversed", "random:7" */
int tlm_host_schedule(const char *text)
{
    char *end;

    if (strcmp(text, "in-order") == 0) {
        it.mode = IN_ORDER;
    } else if (strcmp(text, "reversed") == 0) {
        it.mode = REVERSED;
    } else if (strncmp(text, "random:", 7) == 0 && text[7] >= '0' && text[7] <= '9') {
        const unsigned long long seed = strtoull(text + 7, &end, 10);
        if (*end != 0)
            return -1;
        it.mode = RANDOM;
        it.random = seed;
    } else {
        return -1;
    }
    it.chosen = true;
    return 0;
}

unsigned long long tlm_host_launches(void)
{
    return it.launches;
}

unsigned long long tlm_host_threads(void)
{
    return it.ran;
}

} /* extern "C" */
