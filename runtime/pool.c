/* Threads that wait, each at a lane of its own; see tlm_pool.h for the promises.

   A loop is cut into pieces, one a lane, and each is offered by opening its lane.  Whoever closes
   an open lane has taken its piece: first the lane's own thread, so that a thread sees the same
   part of the data in one loop after the other; then whoever is done, for threads that the system
   has put aside. The caller returns when no piece is unfinished, so what describes the loop changes
   only while all lanes are closed: a thread that comes late finds its lane closed, or takes a piece
   of the next loop, which is as good. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "tlm_pool.h"

#include "status.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    POOL_LINE = 64,          /* bytes that processors hand to each other as one */
    POOL_SPINS = 200,        /* a few microseconds */
    POOL_YIELDS = 200,       /* below a millisecond if nobody else wants the processor */
    POOL_STACK = 1024 * 1024 /* a kernel needs up to 256 KiB */
};

struct pool_lane {
    _Alignas(POOL_LINE) atomic_bool open; /* a piece is here to be taken */
    atomic_bool asleep;
    struct tlm_pool *pool;
    uint32_t number;
    pthread_t thread;
    pthread_mutex_t lock; /* with `wake`: for those who sleep */
    pthread_cond_t wake;
};

struct tlm_pool {
    uint32_t threads, spins;
    pid_t process;
    atomic_bool busy, ended;
    tlm_range_fn *fn; /* the loop */
    void *context;
    size_t count;
    uint32_t pieces;
    _Alignas(POOL_LINE) atomic_uint unbegun, unfinished; /* pieces */
    struct pool_lane lanes[];                            /* that of the caller first */
};

static void pool_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static bool pool_has_work(struct pool_lane *lane)
{
    return atomic_load(&lane->open) || atomic_load(&lane->pool->ended);
}

static bool pool_is_done(struct pool_lane *lane)
{
    return atomic_load(&lane->pool->unfinished) == 0;
}

/* Until `ready`: actively for moments, then letting others go first, then asleep.  Whoever makes it
   ready writes first and reads `asleep` second, who sleeps the other way round: one of them sees
   the other. */
static void pool_wait(struct pool_lane *lane, bool (*ready)(struct pool_lane *))
{
    for (uint32_t i = 0; i < lane->pool->spins; i++) {
        if (ready(lane))
            return;
        pool_pause();
    }
    for (uint32_t i = 0; i < POOL_YIELDS; i++) {
        if (ready(lane))
            return;
        sched_yield();
    }
    pthread_mutex_lock(&lane->lock);
    atomic_store(&lane->asleep, true);
    while (!ready(lane))
        pthread_cond_wait(&lane->wake, &lane->lock);
    atomic_store(&lane->asleep, false);
    pthread_mutex_unlock(&lane->lock);
}

/* In a child after fork there is nobody to wake, and the lock may be held for ever. */
static void pool_wake(struct pool_lane *lane)
{
    if (!atomic_load(&lane->asleep) || getpid() != lane->pool->process)
        return;
    pthread_mutex_lock(&lane->lock);
    pthread_cond_signal(&lane->wake);
    pthread_mutex_unlock(&lane->lock);
}

/* Where piece `number` begins: pieces differ by one item at most. */
static size_t pool_border(const struct tlm_pool *pool, uint32_t number)
{
    const size_t rest = pool->count % pool->pieces;

    return pool->count / pool->pieces * number + (number < rest ? number : rest);
}

/* Takes the piece of lane `number` if nobody has. */
static void pool_take(struct tlm_pool *pool, uint32_t number)
{
    struct pool_lane *const lane = &pool->lanes[number];

    if (!atomic_load_explicit(&lane->open, memory_order_relaxed) ||
        !atomic_exchange(&lane->open, false))
        return;
    atomic_fetch_sub(&pool->unbegun, 1);
    pool->fn(pool->context, pool_border(pool, number), pool_border(pool, number + 1));
    if (atomic_fetch_sub(&pool->unfinished, 1) == 1)
        pool_wake(&pool->lanes[0]);
}

/* The thread's own piece, then those that nobody has begun. */
static void pool_work(struct tlm_pool *pool, uint32_t own)
{
    pool_take(pool, own);
    for (uint32_t i = 1; i < pool->threads && atomic_load(&pool->unbegun) > 0; i++)
        pool_take(pool, (own + i) % pool->threads);
}

static void *pool_thread(void *argument)
{
    struct pool_lane *const lane = argument;

    for (;;) {
        pool_wait(lane, pool_has_work);
        if (atomic_load(&lane->pool->ended))
            return NULL;
        pool_work(lane->pool, lane->number);
    }
}

void tlm_pool_run(void *user, size_t count, size_t grain, tlm_range_fn *fn, void *context)
{
    struct tlm_pool *const pool = user;
    const size_t part = grain ? grain : 1;
    const size_t most = count / part + (count % part != 0);
    const uint32_t pieces = most < pool->threads ? (uint32_t)most : pool->threads;

    if (pieces < 2 || atomic_exchange(&pool->busy, true)) {
        if (count)
            fn(context, 0, count);
        return;
    }
    pool->fn = fn;
    pool->context = context;
    pool->count = count;
    pool->pieces = pieces;
    atomic_store(&pool->unbegun, pieces);
    atomic_store(&pool->unfinished, pieces);
    for (uint32_t i = 0; i < pieces; i++)
        atomic_store(&pool->lanes[i].open, true);
    for (uint32_t i = 1; i < pieces; i++)
        pool_wake(&pool->lanes[i]);
    pool_work(pool, 0);
    pool_wait(&pool->lanes[0], pool_is_done);
    atomic_store(&pool->busy, false);
}

uint32_t tlm_pool_threads(const tlm_pool *pool)
{
    return pool->threads;
}

uint32_t tlm_processors(void)
{
    long count = 0;
#ifdef CPU_COUNT /* where the C library shows it */
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) == 0)
        count = CPU_COUNT(&set);
#endif
    if (count < 1)
        count = sysconf(_SC_NPROCESSORS_ONLN);
    if (count < 1)
        count = 1;
    return count < TLM_MAX_THREADS ? (uint32_t)count : TLM_MAX_THREADS;
}

/* The lane itself, closed; false: no memory. */
static bool pool_lane_begin(struct tlm_pool *pool, uint32_t number)
{
    struct pool_lane *const lane = &pool->lanes[number];

    lane->pool = pool;
    lane->number = number;
    atomic_init(&lane->open, false);
    atomic_init(&lane->asleep, false);
    if (pthread_mutex_init(&lane->lock, NULL) != 0)
        return false;
    if (pthread_cond_init(&lane->wake, NULL) == 0)
        return true;
    pthread_mutex_destroy(&lane->lock);
    return false;
}

static void pool_lane_end(struct pool_lane *lane)
{
    pthread_cond_destroy(&lane->wake);
    pthread_mutex_destroy(&lane->lock);
}

/* Signals that a thread's own code raises: they are told there or nowhere. */
static const int pool_faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS };

/* Starts the thread of a lane, with all other signals blocked: they are the program's own
   business. */
static int pool_start(struct pool_lane *lane)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    size_t stack = 0;
    int failed;

    if (pthread_attr_init(&attributes) != 0)
        return ENOMEM;
    pthread_attr_getstacksize(&attributes, &stack);
    if (stack < POOL_STACK)
        pthread_attr_setstacksize(&attributes, POOL_STACK);
    sigfillset(&all);
    for (size_t i = 0; i < sizeof pool_faults / sizeof *pool_faults; i++)
        sigdelset(&all, pool_faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = pthread_create(&lane->thread, &attributes, pool_thread, lane);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return failed;
}

/* Memory and lanes, still without threads. */
static struct tlm_pool *pool_memory(uint32_t threads)
{
    const size_t bytes = sizeof(struct tlm_pool) + threads * sizeof(struct pool_lane);
    struct tlm_pool *const pool = aligned_alloc(POOL_LINE, bytes);

    if (!pool)
        return NULL;
    memset(pool, 0, bytes);
    pool->process = getpid();
    pool->spins = threads > tlm_processors() ? 0 : POOL_SPINS;
    atomic_init(&pool->busy, false);
    atomic_init(&pool->ended, false);
    for (; pool->threads < threads; pool->threads++) {
        if (!pool_lane_begin(pool, pool->threads)) {
            while (pool->threads > 0)
                pool_lane_end(&pool->lanes[--pool->threads]);
            free(pool);
            return NULL;
        }
    }
    return pool;
}

/* Ends the threads of the first `started` lanes, but for the caller's, and frees everything.  In a
   child after fork those threads are not there. */
static void pool_end(struct tlm_pool *pool, uint32_t started)
{
    atomic_store(&pool->ended, true);
    if (getpid() == pool->process) {
        for (uint32_t i = 1; i < started; i++)
            pool_wake(&pool->lanes[i]);
        for (uint32_t i = 1; i < started; i++)
            pthread_join(pool->lanes[i].thread, NULL);
        for (uint32_t i = 0; i < pool->threads; i++)
            pool_lane_end(&pool->lanes[i]);
    }
    free(pool);
}

tlm_status tlm_pool_new(tlm_pool **out, uint32_t threads, char *error)
{
    const uint32_t wanted = threads ? threads : tlm_processors();
    struct tlm_pool *pool;
    uint32_t started = 1;
    int failed = 0;

    *out = NULL;
    if (wanted > TLM_MAX_THREADS)
        return tlm_fail(error, TLM_ERR_ARGUMENT, "%u threads: at most %d", (unsigned)wanted,
                        TLM_MAX_THREADS);
    pool = pool_memory(wanted);
    if (!pool)
        return tlm_fail(error, TLM_ERR_MEMORY, "no memory for %u threads", (unsigned)wanted);
    while (started < wanted && (failed = pool_start(&pool->lanes[started])) == 0)
        started++;
    if (started < wanted) {
        pool_end(pool, started);
        return tlm_fail(error, TLM_ERR_MEMORY, "%u threads: the system lets only %u run (%s)",
                        (unsigned)wanted, (unsigned)started, strerror(failed));
    }
    *out = pool;
    return TLM_OK;
}

void tlm_pool_free(tlm_pool *pool)
{
    if (pool)
        pool_end(pool, pool->threads);
}
