/* Operations of the lanes of a warp: shuffles, votes, reductions, warp barriers; and the reducing
   block barrier.  All lanes of the mask that have not left the kernel must stand at the same
   instruction with the same mask; a value from a lane that does not take part is a fault. */
#include "ptx_internal.h"

namespace ptx
{
namespace
{

enum { WARP = 32, MASK = 4 /* its place among the sources */ };

struct Group {
    const ptx_module &module;
    const Inst &inst;
    Thread *threads;
    uint32_t lanes; /* one bit a lane that takes part */

    bool has(uint32_t lane) const
    {
        return lane < WARP && (lanes >> lane & 1) != 0;
    }

    uint64_t source(uint32_t lane, uint32_t i) const
    {
        return read(threads[lane], module.pool.data() + module.pool.size(), inst.s[i]);
    }

    void result(uint32_t lane, uint32_t i, uint64_t value) const
    {
        if (i < inst.count && inst.d[i] != SINK)
            threads[lane].registers[inst.d[i]] = value;
    }

    bool predicate(uint32_t lane, uint32_t i) const
    {
        return ((source(lane, i) & 1) != 0) != inst.negated;
    }
};

/* The lane a shuffle reads; in range: that lane's value, else its own. */
bool shuffle_from(Shuffle mode, uint32_t lane, uint32_t b, uint32_t c, uint32_t &from)
{
    const uint32_t clamp = c & 31, segment = c >> 8 & 31;
    const uint32_t last = (lane & segment) | (clamp & ~segment);
    const uint32_t first = lane & segment;
    int32_t j = 0;
    bool inside = false;

    b &= 31;
    switch (mode) {
    case Shuffle::up:
        j = (int32_t)lane - (int32_t)b;
        inside = j >= (int32_t)last;
        break;
    case Shuffle::down:
        j = (int32_t)(lane + b);
        inside = j <= (int32_t)last;
        break;
    case Shuffle::butterfly:
        j = (int32_t)(lane ^ b);
        inside = j <= (int32_t)last;
        break;
    case Shuffle::index:
        j = (int32_t)(first | (b & ~segment & 31));
        inside = j <= (int32_t)last;
        break;
    }
    from = inside ? (uint32_t)j : lane;
    return inside;
}

void shuffle(const Group &group)
{
    uint64_t values[WARP] = { 0 };

    for (uint32_t lane = 0; lane < WARP; lane++) {
        if (group.has(lane))
            values[lane] = group.source(lane, 0);
    }
    uint64_t results[WARP] = { 0 };
    bool inside[WARP] = { false };
    for (uint32_t lane = 0; lane < WARP; lane++) {
        uint32_t from;
        if (!group.has(lane))
            continue;
        inside[lane] = shuffle_from((Shuffle)group.inst.sub, lane, (uint32_t)group.source(lane, 1),
                                    (uint32_t)group.source(lane, 2), from);
        if (!group.has(from))
            throw Fault{ &group.threads[lane], "lane " + std::to_string(lane) +
                                                   " reads from lane " + std::to_string(from) +
                                                   ", which does not take part" };
        results[lane] = values[from];
    }
    for (uint32_t lane = 0; lane < WARP; lane++) {
        if (group.has(lane)) {
            group.result(lane, 0, results[lane]);
            group.result(lane, 1, inside[lane]);
        }
    }
}

void vote(const Group &group)
{
    uint32_t ballot = 0;
    uint64_t value = 0;

    for (uint32_t lane = 0; lane < WARP; lane++) {
        if (group.has(lane) && group.predicate(lane, 0))
            ballot |= 1u << lane;
    }
    switch ((Vote)group.inst.sub) {
    case Vote::all: value = ballot == group.lanes; break;
    case Vote::any: value = ballot != 0; break;
    case Vote::uniform: value = ballot == 0 || ballot == group.lanes; break;
    case Vote::ballot: value = ballot; break;
    }
    for (uint32_t lane = 0; lane < WARP; lane++) {
        if (group.has(lane))
            group.result(lane, 0, value);
    }
}

void reduce(const Group &group)
{
    const uint32_t first = (uint32_t)__builtin_ctz(group.lanes);
    uint64_t value = group.source(first, 0);

    for (uint32_t lane = first + 1; lane < WARP; lane++) {
        if (group.has(lane))
            value = (uint32_t)atomic(group.inst, value, group.source(lane, 0), 0);
    }
    for (uint32_t lane = 0; lane < WARP; lane++) {
        if (group.has(lane))
            group.result(lane, 0, value);
    }
}

} // namespace

bool warp_step(const ptx_module &module, Thread *threads, uint32_t count, uint32_t lane)
{
    const uint32_t pc = threads[lane].pc;
    const Inst &inst = module.code[pc];
    Group group{ module, inst, threads, 0 };
    const uint32_t mask = (uint32_t)group.source(lane, MASK);

    if ((mask >> lane & 1) == 0)
        throw Fault{ &threads[lane], "lane " + std::to_string(lane) + " is not in its own mask" };
    for (uint32_t i = 0; i < count; i++) {
        if ((mask >> i & 1) == 0 || threads[i].wait == Thread::done)
            continue;
        if (threads[i].wait != Thread::warp || threads[i].pc != pc ||
            (uint32_t)group.source(i, MASK) != mask)
            return false;
        group.lanes |= 1u << i;
    }
    if (inst.op == OP_shfl)
        shuffle(group);
    else if (inst.op == OP_vote)
        vote(group);
    else if (inst.op == OP_redux)
        reduce(group);
    for (uint32_t i = 0; i < count; i++) {
        if (group.has(i)) {
            threads[i].wait = Thread::running;
            threads[i].pc++;
        }
    }
    return true;
}

uint64_t block_reduce(const ptx_module &module, const std::vector<Thread> &threads)
{
    const uint64_t *pool_end = module.pool.data() + module.pool.size();
    uint64_t count = 0;
    Reduce how = Reduce::none;

    for (const Thread &thread : threads) {
        const Inst &inst = module.code[thread.pc];
        how = (Reduce)inst.sub;
        if (how != Reduce::none)
            count += ((read(thread, pool_end, inst.s[2]) & 1) != 0) != inst.negated;
    }
    switch (how) {
    case Reduce::none:
    case Reduce::population: return count;
    case Reduce::and_: return count == threads.size();
    case Reduce::or_: return count != 0;
    }
    return count;
}

} // namespace ptx
