/* Runs a kernel: blocks one after another; in a block each thread until it waits, for its warp or
   for the block, then the next.  A thread is a place in the code and its registers, so nothing is
   switched.  Shared memory, registers and local memory are filled with ones (NaN) at the start of
   each block.  Every access is checked. */
#include "ptx_functions.h"
#include "ptx_internal.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace ptx
{
namespace
{

enum { WARP = 32 };
enum : uint64_t { LOWEST_ADDRESS = 1 << 16, BRANCH_LIMIT = UINT64_C(1) << 32 };

/* ---- one launch */

class Run
{
  public:
    Run(const ptx_kernel &kernel, ptx_launch &launch)
        : m_(*kernel.module), f_(kernel.function), launch_(launch),
          pool_end_(m_.pool.data() + m_.pool.size())
    {
    }

    void run();
    std::string place(const Thread &thread) const;

  private:
    struct Range {
        u64 begin, end;

        bool holds(u64 address, u32 bytes) const
        {
            return address >= begin && address < end && bytes <= end - address;
        }
    };

    void check() const;
    void prepare();
    void start_block(u64 number);
    void run_block();
    bool run_warp(u32 first);
    void check_barrier() const;
    void pass_barrier();
    void shuffle_order(std::vector<u32> &order);
    u64 random();
    void thread(Thread &t);

    void set_predicates(const Inst &in, u64 *r, bool p, bool c) const;
    void load(const Inst &in, Thread &t);
    void store(const Inst &in, Thread &t);
    void change(const Inst &in, Thread &t);
    u64 address_space(const Inst &in, const Thread &t, u64 address) const;
    unsigned char *memory(const Inst &in, const Thread &t, u32 bytes, bool writes);
    unsigned char *shared(const Thread &t, u64 offset, u32 bytes);
    unsigned char *generic(const Thread &t, u64 address, u32 bytes, bool writes);
    unsigned char *global(const Thread &t, u64 address, u32 bytes);
    bool grow_range(u64 address, u32 bytes);
    [[noreturn]] static void fault(const Thread &t, const std::string &text)
    {
        throw Fault{ &t, text };
    }

    const ptx_module &m_;
    const Function &f_;
    ptx_launch &launch_;
    const u64 *pool_end_;
    std::vector<Thread> threads_;
    std::vector<u64> registers_;
    std::vector<u128> shared_, local_, params_; /* for their alignment */
    std::vector<bool> shared_valid_;
    std::vector<u32> warps_, lanes_;
    std::vector<Range> ranges_;
    Range range_ = { 0, 0 }; /* of the last global access */
    size_t shared_bytes_ = 0, local_bytes_ = 0;
    u32 block_[3] = { 0, 0, 0 };
    u64 random_ = 0;
    u64 branch_limit_ = BRANCH_LIMIT;
};

template <class T>
unsigned char *bytes_of(std::vector<T> &memory)
{
    return (unsigned char *)memory.data();
}

std::string hex(u64 value)
{
    char text[24];

    snprintf(text, sizeof text, "0x%llx", (unsigned long long)value);
    return text;
}

std::string Run::place(const Thread &t) const
{
    const Inst &inst = m_.code[t.pc];
    const std::string block = std::to_string(block_[0]) + "," + std::to_string(block_[1]) + "," +
                              std::to_string(block_[2]);

    return "ptx: line " + std::to_string(inst.line) + ": " + m_.names[t.pc] + " in " + f_.name +
           ", block " + block + ", thread " + std::to_string(t.number) + ": ";
}

void Run::check() const
{
    u64 threads = 1, blocks = 1;

    for (int i = 0; i < 3; i++) {
        threads *= launch_.block[i];
        blocks *= launch_.grid[i];
        if (launch_.grid[i] > (i == 0 ? 0x7fffffffu : 65535u) || threads > 1024)
            throw Error{ "ptx: " + f_.name + ": the grid or the block is too large" };
    }
    if (threads == 0 || blocks == 0)
        throw Error{ "ptx: " + f_.name + ": the grid or the block is empty" };
    if (threads > f_.max_threads)
        throw Error{ "ptx: " + f_.name + ": blocks of " + std::to_string(threads) +
                     " threads, but it was compiled for " + std::to_string(f_.max_threads) };
    if (launch_.shared_bytes > (1u << 20))
        throw Error{ "ptx: " + f_.name + ": too much shared memory" };
}

void Run::prepare()
{
    const u32 count = launch_.block[0] * launch_.block[1] * launch_.block[2];

    threads_.resize(count);
    registers_.resize((size_t)count * f_.registers);
    local_bytes_ = (m_.local_bytes + 15) / 16 * 16;
    local_.resize(local_bytes_ / 16 * count);
    shared_bytes_ = f_.shared_bytes;
    shared_valid_ = f_.shared_valid;
    if (launch_.shared_bytes != 0) { /* as the parser placed it */
        const size_t begin =
            f_.shared_bytes == 0 ? 0 : (f_.shared_bytes + SHARED_GAP + 15) / 16 * 16;
        shared_bytes_ = begin + launch_.shared_bytes;
        shared_valid_.resize(begin, false);
        shared_valid_.resize(shared_bytes_, true);
    }
    shared_.resize(shared_bytes_ / 16 + 1);
    params_.resize(f_.param_bytes / 16 + 1);
    for (size_t i = 0; i < f_.params.size(); i++)
        memcpy(bytes_of(params_) + f_.params[i].offset, launch_.args[i], f_.params[i].bytes);
    warps_.resize((count + WARP - 1) / WARP);
    lanes_.resize(WARP);
    std::iota(warps_.begin(), warps_.end(), 0);
    std::iota(lanes_.begin(), lanes_.end(), 0);
    if (launch_.order == PTX_REVERSED) {
        std::reverse(warps_.begin(), warps_.end());
        std::reverse(lanes_.begin(), lanes_.end());
    }
    random_ = launch_.seed;
    if (launch_.branch_limit != 0)
        branch_limit_ = launch_.branch_limit;
}

u64 Run::random()
{
    random_ += UINT64_C(0x9e3779b97f4a7c15);
    u64 z = random_;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void Run::shuffle_order(std::vector<u32> &order)
{
    if (launch_.order != PTX_RANDOM)
        return;
    for (size_t i = order.size(); i > 1; i--)
        std::swap(order[i - 1], order[random() % i]);
}

void Run::run()
{
    check();
    prepare();
    const u64 count = (u64)launch_.grid[0] * launch_.grid[1] * launch_.grid[2];
    u64 step = 1, first = 0; /* random: block first + i * step, which meets each block once */

    if (launch_.order == PTX_RANDOM) {
        first = random() % count;
        do
            step = random() % count + 1;
        while (std::gcd(step, count) != 1);
    }
    for (u64 i = 0; i < count; i++) {
        u64 number = (u64)(((u128)i * step + first) % count);
        if (launch_.order == PTX_REVERSED)
            number = count - 1 - i;
        start_block(number);
        run_block();
    }
}

void Run::start_block(u64 number)
{
    const u32 *const n = launch_.block, *const g = launch_.grid;

    block_[0] = (u32)(number % g[0]);
    block_[1] = (u32)(number / g[0] % g[1]);
    block_[2] = (u32)(number / g[0] / g[1]);
    memset(bytes_of(registers_), 0xff, registers_.size() * sizeof(u64));
    memset(bytes_of(shared_), 0xff, shared_.size() * sizeof(u128));
    if (!local_.empty())
        memset(bytes_of(local_), 0xff, local_.size() * sizeof(u128));
    for (u32 i = 0; i < threads_.size(); i++) {
        Thread &t = threads_[i];
        u64 *const r = registers_.data() + (size_t)i * f_.registers;
        const u64 special[SPECIALS] = {
            i % n[0],  i / n[0] % n[1], i / n[0] / n[1], n[0], n[1], n[2],
            block_[0], block_[1],       block_[2],       g[0], g[1], g[2],
            i % WARP,  i / WARP
        };
        memcpy(r, special, sizeof special);
        t.registers = r;
        t.pc = f_.begin;
        t.number = i;
        t.wait = Thread::running;
        t.depth = 0;
        t.local = bytes_of(local_) + i * local_bytes_;
        t.branches = 0;
    }
}

void Run::run_block()
{
    for (;;) {
        bool moved = false;
        size_t done = 0, waiting = 0;

        shuffle_order(warps_);
        for (const u32 warp : warps_)
            moved |= run_warp(warp * WARP);
        for (const Thread &t : threads_) {
            done += t.wait == Thread::done;
            waiting += t.wait == Thread::block;
        }
        if (done == threads_.size())
            return;
        if (waiting == threads_.size()) {
            check_barrier();
            pass_barrier();
        } else if (done + waiting == threads_.size()) {
            for (const Thread &t : threads_) {
                if (t.wait == Thread::block)
                    fault(t, "waits at a barrier that " + std::to_string(done) +
                                 " threads of the block left out");
            }
        } else if (!moved) {
            for (const Thread &t : threads_) {
                if (t.wait == Thread::warp)
                    fault(t, "deadlock: lanes of its mask do not come");
            }
            throw Error{ "ptx: " + f_.name + ": nothing runs" };
        }
    }
}

/* One warp as far as it goes; true when anything was done. */
bool Run::run_warp(u32 first)
{
    const u32 count = threads_.size() - first < WARP ? (u32)(threads_.size() - first) : (u32)WARP;
    Thread *const warp = &threads_[first];
    bool moved = false, again = true;

    while (again) {
        again = false;
        shuffle_order(lanes_);
        for (const u32 lane : lanes_) {
            if (lane < count && warp[lane].wait == Thread::running) {
                warp[lane].branches = 0;
                thread(warp[lane]);
                moved = true;
            }
        }
        for (const u32 lane : lanes_) {
            if (lane < count && warp[lane].wait == Thread::warp)
                again |= warp_step(m_, warp, count, lane);
        }
        moved |= again;
    }
    return moved;
}

void Run::check_barrier() const
{
    const Thread &leader = threads_[0];
    const Inst &expected = m_.code[leader.pc];
    const u64 which = read(leader, pool_end_, expected.s[0]);

    for (const Thread &t : threads_) {
        const Inst &inst = m_.code[t.pc];
        const Thread &first = threads_[t.number / WARP * WARP];

        if (read(t, pool_end_, inst.s[0]) != which || inst.sub != expected.sub)
            fault(t, "waits at another barrier than thread 0");
        if (inst.aligned && t.pc != first.pc)
            fault(t, "lanes of one warp wait at different barriers (lines " +
                         std::to_string(inst.line) + " and " +
                         std::to_string(m_.code[first.pc].line) + ")");
        if (inst.sources == 2 && read(t, pool_end_, inst.s[1]) != threads_.size())
            fault(t, "a barrier for a part of the block is not modelled");
    }
}

void Run::pass_barrier()
{
    const u64 value = block_reduce(m_, threads_);

    for (Thread &t : threads_) {
        const Inst &inst = m_.code[t.pc];
        if (inst.count != 0 && inst.d[0] != SINK)
            t.registers[inst.d[0]] = value;
        t.wait = Thread::running;
        t.pc++;
    }
}

/* ---- memory */

unsigned char *Run::shared(const Thread &t, u64 offset, u32 bytes)
{
    if (offset >= shared_bytes_ || bytes > shared_bytes_ - offset || !shared_valid_[offset] ||
        !shared_valid_[offset + bytes - 1])
        fault(t, "shared address " + hex(offset) + " is outside every array");
    return bytes_of(shared_) + offset;
}

/* The allocation around these bytes, found by asking for more and more of it. */
bool Run::grow_range(u64 address, u32 bytes)
{
    Range r = { address, address + bytes };

    if (launch_.holds(launch_.user, (const void *)r.begin, bytes) == 0)
        return false;
    for (u64 step = UINT64_C(1) << 32; step != 0; step /= 2) {
        if (launch_.holds(launch_.user, (const void *)r.begin, r.end + step - r.begin) != 0)
            r.end += step;
    }
    for (u64 step = UINT64_C(1) << 32; step != 0; step /= 2) {
        if (r.begin > step && launch_.holds(launch_.user, (const void *)(r.begin - step),
                                            r.end - r.begin + step) != 0)
            r.begin -= step;
    }
    ranges_.push_back(r);
    range_ = r;
    return true;
}

unsigned char *Run::global(const Thread &t, u64 address, u32 bytes)
{
    if (range_.holds(address, bytes))
        return (unsigned char *)address;
    for (const Range &range : ranges_) {
        if (range.holds(address, bytes)) {
            range_ = range;
            return (unsigned char *)address;
        }
    }
    for (const Variable &variable : m_.variables) {
        const u64 begin = (u64)variable.at;
        if (Range{ begin, begin + variable.bytes }.holds(address, bytes))
            return (unsigned char *)address;
    }
    if (address < LOWEST_ADDRESS || address > UINT64_MAX - bytes)
        fault(t, "address " + hex(address) + " is no address");
    if (launch_.holds == nullptr)
        return (unsigned char *)address;
    if (!grow_range(address, bytes))
        fault(t, "address " + hex(address) + ", " + std::to_string(bytes) +
                     " bytes, is outside every live allocation");
    return (unsigned char *)address;
}

unsigned char *Run::generic(const Thread &t, u64 address, u32 bytes, bool writes)
{
    const u64 shared_begin = (u64)shared_.data(), param_begin = (u64)params_.data();
    const u64 local_begin = (u64)t.local;

    if (address - shared_begin < shared_bytes_)
        return shared(t, address - shared_begin, bytes);
    if (address - param_begin < f_.param_bytes) {
        if (writes || address - param_begin + bytes > f_.param_bytes)
            fault(t, "writes a parameter, or reads past it");
        return (unsigned char *)address;
    }
    if (address - local_begin < local_bytes_) {
        if (address - local_begin + bytes > local_bytes_)
            fault(t, "local address past its end");
        return (unsigned char *)address;
    }
    return global(t, address, bytes);
}

unsigned char *Run::memory(const Inst &in, const Thread &t, u32 bytes, bool writes)
{
    const u64 address = read(t, pool_end_, in.s[0]) + (u64)in.offset;

    if ((address & (bytes - 1)) != 0)
        fault(t, "address " + hex(address) + " is no multiple of " + std::to_string(bytes));
    switch (in.space) {
    case Space::global: return global(t, address, bytes);
    case Space::shared: return shared(t, (u32)address, bytes);
    case Space::param:
        if (address >= f_.param_bytes || bytes > f_.param_bytes - address)
            fault(t, "parameter offset " + std::to_string(address) + " is past the end");
        return bytes_of(params_) + address;
    case Space::local:
        if (address >= m_.local_bytes || bytes > m_.local_bytes - address)
            fault(t, "local address " + hex(address) + " is past the end");
        return t.local + address;
    case Space::generic: return generic(t, address, bytes, writes);
    }
    return nullptr;
}

u64 element(const unsigned char *from, Type type)
{
    u64 value = 0;

    switch (type.bytes()) {
    case 1: value = type.is_signed() ? (u64)(s64)(signed char)*from : *from; break;
    case 2: {
        u16 x;
        memcpy(&x, from, sizeof x);
        value = type.is_signed() ? (u64)(s64)(s16)x : x;
        break;
    }
    case 4: {
        u32 x;
        memcpy(&x, from, sizeof x);
        value = type.is_signed() ? (u64)(s64)(s32)x : x;
        break;
    }
    default: memcpy(&value, from, sizeof value); break;
    }
    return value;
}

void Run::load(const Inst &in, Thread &t)
{
    const u32 bytes = in.type.bytes();
    const unsigned char *const from = memory(in, t, bytes * in.sources, false);

    for (u32 i = 0; i < in.count; i++) {
        if (in.d[i] != SINK)
            t.registers[in.d[i]] = element(from + i * bytes, in.type) & in.mask;
    }
}

void Run::store(const Inst &in, Thread &t)
{
    const u32 bytes = in.type.bytes();
    unsigned char *const to = memory(in, t, bytes * in.sources, true);

    for (u32 i = 0; i < in.sources; i++) {
        const u64 value = read(t, pool_end_, in.s[i + 1]);
        memcpy(to + i * bytes, &value, bytes);
    }
    if (launch_.wrote != nullptr && (in.space == Space::global || in.space == Space::generic))
        launch_.wrote(launch_.user, to, bytes * in.sources);
}

void Run::change(const Inst &in, Thread &t)
{
    const u32 bytes = in.type.bytes();
    unsigned char *const at = memory(in, t, bytes, true);
    const u64 old = element(at, { Kind::bits, in.type.bits });
    const u64 value = atomic(in, old, read(t, pool_end_, in.s[1]), read(t, pool_end_, in.s[2]));

    memcpy(at, &value, bytes);
    if (in.count != 0 && in.d[0] != SINK)
        t.registers[in.d[0]] = old;
    if (launch_.wrote != nullptr && in.space != Space::shared)
        launch_.wrote(launch_.user, at, bytes);
}

u64 Run::address_space(const Inst &in, const Thread &t, u64 address) const
{
    u64 base = 0;

    switch (in.space) {
    case Space::generic:
    case Space::global: return address;
    case Space::shared: base = (u64)shared_.data(); break;
    case Space::local: base = (u64)t.local; break;
    case Space::param: base = (u64)params_.data(); break;
    }
    return in.to_space ? address - base : address + base;
}

/* ---- one thread, until it waits or ends */

void Run::set_predicates(const Inst &in, u64 *r, bool p, bool c) const
{
    if (in.d[0] != SINK)
        r[in.d[0]] = combined(in.combine, p, c != in.negated);
    if (in.count > 1 && in.d[1] != SINK)
        r[in.d[1]] = combined(in.combine, !p, c != in.negated);
}

void Run::thread(Thread &t)
{
    const Inst *const code = m_.code.data();
    u64 *const r = t.registers;
    const u64 *const pool_end = pool_end_;
    u64 executed = 0;
    u32 pc = t.pc;

#define SOURCE(i) ((in.s[i] >= 0 ? r : pool_end)[in.s[i]])
    for (;; pc++) {
        const Inst &in = code[pc];

        executed++;
        if (in.guarded && ((r[in.guard] & 1) != 0) != in.guard_value)
            continue;
        switch (in.op) {
#define PTX_1(id, names, D, A, ...)                           \
    case OP_##id: {                                           \
        const As<A>::value a = As<A>::get(SOURCE(0));         \
        r[in.d[0]] = As<D>::put((As<D>::value)(__VA_ARGS__)); \
        break;                                                \
    }
#define PTX_2(id, names, D, A, B, ...)                        \
    case OP_##id: {                                           \
        const As<A>::value a = As<A>::get(SOURCE(0));         \
        const As<B>::value b = As<B>::get(SOURCE(1));         \
        r[in.d[0]] = As<D>::put((As<D>::value)(__VA_ARGS__)); \
        break;                                                \
    }
#define PTX_3(id, names, D, A, B, C, ...)                     \
    case OP_##id: {                                           \
        const As<A>::value a = As<A>::get(SOURCE(0));         \
        const As<B>::value b = As<B>::get(SOURCE(1));         \
        const As<C>::value c = As<C>::get(SOURCE(2));         \
        r[in.d[0]] = As<D>::put((As<D>::value)(__VA_ARGS__)); \
        break;                                                \
    }
#define PTX_4(id, names, D, A, B, C, E, ...)                  \
    case OP_##id: {                                           \
        const As<A>::value a = As<A>::get(SOURCE(0));         \
        const As<B>::value b = As<B>::get(SOURCE(1));         \
        const As<C>::value c = As<C>::get(SOURCE(2));         \
        const As<E>::value e = As<E>::get(SOURCE(3));         \
        r[in.d[0]] = As<D>::put((As<D>::value)(__VA_ARGS__)); \
        break;                                                \
    }
#include "ptx_ops.def"
#define SETP(T)                                                                                    \
    case OP_setp_##T:                                                                              \
        set_predicates(in, r,                                                                      \
                       compared<T>((Compare)in.sub, As<T>::get(SOURCE(0)), As<T>::get(SOURCE(1))), \
                       in.combine != Combine::none && (SOURCE(2) & 1) != 0);                       \
        break;
            SETP(u16)
            SETP(s16)
            SETP(u32)
            SETP(s32)
            SETP(u64)
            SETP(s64)
            SETP(f32)
            SETP(f64)
#undef SETP
        case OP_ld:
            t.pc = pc;
            load(in, t);
            break;
        case OP_st:
            t.pc = pc;
            store(in, t);
            break;
        case OP_atom:
            t.pc = pc;
            change(in, t);
            break;
        case OP_cvta: r[in.d[0]] = address_space(in, t, SOURCE(0)); break;
        case OP_cvt_int:
        case OP_cvt_int_float:
        case OP_cvt_float_int:
        case OP_cvt_float: r[in.d[0]] = convert(in, SOURCE(0)) & in.mask; break;
        case OP_pack: {
            u64 value = 0;
            for (u32 i = 0; i < in.sources; i++)
                value |= (SOURCE(i) & ((UINT64_C(1) << in.from.bits) - 1)) << (i * in.from.bits);
            r[in.d[0]] = value;
            break;
        }
        case OP_unpack: {
            const u64 value = SOURCE(0);
            for (u32 i = 0; i < in.count; i++) {
                if (in.d[i] != SINK)
                    r[in.d[i]] = value >> (i * in.from.bits) & ((UINT64_C(1) << in.from.bits) - 1);
            }
            break;
        }
        case OP_bra:
            if (++t.branches > branch_limit_) {
                t.pc = pc;
                fault(t, "does not end: " + std::to_string(branch_limit_) + " branches");
            }
            pc = in.target - 1;
            break;
        case OP_brx: {
            const std::vector<u32> &table = m_.tables[in.target];
            t.pc = pc;
            if ((u32)SOURCE(0) >= table.size())
                fault(t, "branch " + std::to_string((u32)SOURCE(0)) + " of " +
                             std::to_string(table.size()));
            if (++t.branches > branch_limit_)
                fault(t, "does not end: " + std::to_string(branch_limit_) + " branches");
            pc = table[(u32)SOURCE(0)] - 1;
            break;
        }
        case OP_call:
            t.pc = pc;
            for (u32 i = 0; i < t.depth; i++) {
                if (code[t.returns[i]].target == in.target)
                    fault(t, "recursion is not modelled");
            }
            if (t.depth == CALL_DEPTH)
                fault(t, "too many calls inside each other");
            t.returns[t.depth++] = pc;
            pc = in.target - 1;
            break;
        case OP_ret:
            if (t.depth != 0) {
                pc = t.returns[--t.depth];
                break;
            }
            t.wait = Thread::done;
            goto stop;
        case OP_exit: t.wait = Thread::done; goto stop;
        case OP_trap: t.pc = pc; fault(t, "trap");
        case OP_nothing: break;
        case OP_activemask: {
            /* lanes run one after another: all that have not ended count as active */
            const u32 first = t.number / WARP * WARP;
            u32 mask = 0;
            for (u32 i = first; i < threads_.size() && i < first + WARP; i++)
                mask |= (u32)(threads_[i].wait != Thread::done) << (i - first);
            r[in.d[0]] = mask;
            break;
        }
        case OP_shfl:
        case OP_vote:
        case OP_redux:
        case OP_warp_sync: t.wait = Thread::warp; goto stop;
        case OP_bar: t.wait = Thread::block; goto stop;
        }
    }
stop:
#undef SOURCE
    t.pc = pc;
    launch_.executed += executed;
}

} // namespace
} // namespace ptx

int ptx_run(const ptx_kernel *kernel, ptx_launch *launch, char *error)
{
    launch->executed = 0;
    try {
        ptx::Run run(*kernel, *launch);

        try {
            run.run();
            return 0;
        } catch (const ptx::Fault &fault) {
            ptx::put_error(error, run.place(*fault.thread) + fault.text);
        }
    } catch (const ptx::Error &e) {
        ptx::put_error(error, e.text);
    } catch (const std::bad_alloc &) {
        ptx::put_error(error, "ptx: out of memory");
    }
    return 1;
}
