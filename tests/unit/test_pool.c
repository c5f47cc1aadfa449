/* The threads of the shell: every item exactly once for many counts, grains and numbers of threads;
   loops inside loops; loops from two threads; many short loops; threads that sleep and are woken;
   start and stop; fork; a system that lets no more threads run. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int threads_left = -1; /* that the system lets start; -1: all */

static int limited_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument)
{
    if (threads_left == 0)
        return EAGAIN;
    if (threads_left > 0)
        threads_left--;
    return pthread_create(thread, attributes, start, argument);
}

#define pthread_create limited_create
#include "pool.c"
#undef pthread_create

enum { POOL_ITEMS = 4096 };

struct pool_seen {
    atomic_uint times[POOL_ITEMS]; /* that an item was done */
    size_t count, smallest;
    atomic_uint calls, bad; /* bad: ranges that are empty or leave the loop */
};

static void see(void *context, size_t begin, size_t end)
{
    struct pool_seen *const seen = context;

    atomic_fetch_add(&seen->calls, 1);
    if (begin >= end || end > seen->count) {
        atomic_fetch_add(&seen->bad, 1);
        return;
    }
    for (size_t i = begin; i < end; i++)
        atomic_fetch_add(&seen->times[i], 1);
}

static tlm_pool *pool_of(uint32_t threads)
{
    char error[TLM_ERROR_BYTES];
    tlm_pool *pool;

    if (tlm_pool_new(&pool, threads, error) != TLM_OK)
        fail_msg("%s", error);
    return pool;
}

/* One loop; each item once, and no more pieces than threads or than grains. */
static void covers(tlm_pool *pool, size_t count, size_t grain)
{
    static struct pool_seen seen;
    const size_t part = grain ? grain : 1;

    memset(&seen, 0, sizeof seen);
    seen.count = count;
    tlm_pool_run(pool, count, grain, see, &seen);
    assert_int_equal(seen.bad, 0);
    for (size_t i = 0; i < POOL_ITEMS; i++)
        if (seen.times[i] != (i < count))
            fail_msg("%u threads, %zu items, grain %zu: item %zu was done %u times",
                     tlm_pool_threads(pool), count, grain, i, (unsigned)seen.times[i]);
    assert_true(seen.calls <= tlm_pool_threads(pool));
    assert_true(seen.calls <= count / part + (count % part != 0));
}

static void test_covers(void **state)
{
    static const size_t counts[] = { 0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 64, 100, 1000, POOL_ITEMS };
    static const size_t grains[] = { 0, 1, 2, 3, 8, 63, 64, 65, 5000, SIZE_MAX };
    static const uint32_t threads[] = { 1, 2, 3, 4, 7, 16 };

    (void)state;
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
        tlm_pool *const pool = pool_of(threads[t]);

        assert_int_equal(tlm_pool_threads(pool), threads[t]);
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
            for (size_t g = 0; g < sizeof grains / sizeof *grains; g++)
                covers(pool, counts[c], grains[g]);
        tlm_pool_free(pool);
    }
}

/* Borders are computed without overflow. */
static void sum_lengths(void *context, size_t begin, size_t end)
{
    if (begin >= end)
        abort();
    atomic_fetch_add((atomic_size_t *)context, end - begin);
}

static void test_huge_count(void **state)
{
    tlm_pool *const pool = pool_of(3);
    atomic_size_t sum;

    (void)state;
    atomic_init(&sum, 0);
    tlm_pool_run(pool, SIZE_MAX, 1, sum_lengths, &sum);
    assert_true(sum == SIZE_MAX);
    tlm_pool_free(pool);
}

/* ---- both threads work: each waits for the other, which a loop done by one would not survive */

struct pool_meeting {
    atomic_uint here, done;
    pthread_t caller, who[2];
    int blocked[2]; /* SIGINT */
    bool late;      /* the other thread is the last */
};

static void moment(void) /* long enough for everybody who waits to sleep */
{
    const struct timespec time = { .tv_nsec = 30 * 1000 * 1000 };

    nanosleep(&time, NULL);
}

static void meet(void *context, size_t begin, size_t end)
{
    struct pool_meeting *const meeting = context;
    sigset_t mask;

    (void)end;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    meeting->who[begin] = pthread_self();
    meeting->blocked[begin] = sigismember(&mask, SIGINT);
    atomic_fetch_add(&meeting->here, 1);
    while (atomic_load(&meeting->here) < 2)
        sched_yield();
    if (meeting->late && !pthread_equal(pthread_self(), meeting->caller))
        moment();
    atomic_fetch_add(&meeting->done, 1);
}

/* Signals are the program's own: a thread of the pool takes none. */
static void test_threads_work(void **state)
{
    tlm_pool *const pool = pool_of(2);

    (void)state;
    for (int i = 0; i < 8; i++) {
        struct pool_meeting meeting = { .caller = pthread_self(), .late = i % 4 == 3 };

        if (i % 2)
            moment();
        tlm_pool_run(pool, 2, 1, meet, &meeting);
        assert_int_equal(meeting.done, 2);
        assert_false(pthread_equal(meeting.who[0], meeting.who[1]));
        for (int k = 0; k < 2; k++)
            assert_int_equal(meeting.blocked[k], !pthread_equal(meeting.who[k], meeting.caller));
    }
    tlm_pool_free(pool);
}

static void test_short_loops(void **state)
{
    (void)state;
    for (uint32_t threads = 2; threads <= 5; threads++) {
        tlm_pool *const pool = pool_of(threads);
        atomic_size_t sum;
        size_t wanted = 0;

        atomic_init(&sum, 0);
        for (size_t i = 0; i < 5000; i++) {
            tlm_pool_run(pool, 1 + i % 9, 1, sum_lengths, &sum);
            wanted += 1 + i % 9;
        }
        assert_true(sum == wanted);
        tlm_pool_free(pool);
    }
}

/* ---- loops inside loops, and from two threads */

struct pool_nest {
    tlm_pool *pool;
    atomic_size_t sum;
};

static void nest(void *context, size_t begin, size_t end)
{
    struct pool_nest *const nested = context;

    for (size_t i = begin; i < end; i++)
        tlm_pool_run(nested->pool, 10, 1, sum_lengths, &nested->sum);
}

static void test_nested(void **state)
{
    struct pool_nest nested = { .pool = pool_of(3) };

    (void)state;
    tlm_pool_run(nested.pool, 50, 1, nest, &nested);
    assert_true(nested.sum == 500);
    tlm_pool_free(nested.pool);
}

static void *second_caller(void *argument)
{
    for (int i = 0; i < 300; i++)
        nest(argument, 0, 1);
    return NULL;
}

static void test_two_callers(void **state)
{
    struct pool_nest shared = { .pool = pool_of(3) };
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, second_caller, &shared), 0);
    second_caller(&shared);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(shared.sum == 6000);
    tlm_pool_free(shared.pool);
}

/* ---- begin and end */

static void test_start_and_stop(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 1000; i++) {
        tlm_pool *const pool = pool_of(1 + i % 4);

        if (i % 3 == 0)
            covers(pool, 5, 1);
        tlm_pool_free(pool);
    }
    tlm_pool_free(NULL);
}

static void test_processors(void **state)
{
    tlm_pool *const pool = pool_of(0);

    (void)state;
    assert_in_range(tlm_processors(), 1, TLM_MAX_THREADS);
    assert_int_equal(tlm_pool_threads(pool), tlm_processors());
    tlm_pool_free(pool);
}

/* A child has none of the threads, whether they slept or not. */
static void test_fork(void **state)
{
    (void)state;
    for (int asleep = 0; asleep < 2; asleep++) {
        tlm_pool *const pool = pool_of(3);
        pid_t child;
        int status = -1;

        covers(pool, 30, 1);
        if (asleep)
            moment();
        child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            atomic_size_t sum;

            alarm(20);
            atomic_init(&sum, 0);
            for (int i = 0; i < 100; i++)
                tlm_pool_run(pool, 30, 1, sum_lengths, &sum);
            tlm_pool_free(pool);
            _exit(sum == 3000 ? 0 : 1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        covers(pool, 30, 1);
        tlm_pool_free(pool);
    }
}

/* ---- refusals */

static void test_too_many(void **state)
{
    char error[TLM_ERROR_BYTES];
    tlm_pool *pool;

    (void)state;
    assert_int_equal(tlm_pool_new(&pool, TLM_MAX_THREADS + 1, error), TLM_ERR_ARGUMENT);
    assert_string_equal(error, "1025 threads: at most 1024");
    assert_null(pool);
    assert_int_equal(tlm_pool_new(&pool, TLM_MAX_THREADS + 1, NULL), TLM_ERR_ARGUMENT);
}

static void test_no_more_threads(void **state)
{
    (void)state;
    for (int limit = 0; limit < 4; limit++) {
        char error[TLM_ERROR_BYTES], wanted[TLM_ERROR_BYTES];
        tlm_pool *pool;

        threads_left = limit;
        assert_int_equal(tlm_pool_new(&pool, 5, error), TLM_ERR_MEMORY);
        snprintf(wanted, sizeof wanted, "5 threads: the system lets only %d run (%s)", limit + 1,
                 strerror(EAGAIN));
        assert_string_equal(error, wanted);
        assert_null(pool);
    }
    threads_left = -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_covers),
        cmocka_unit_test(test_huge_count),
        cmocka_unit_test(test_threads_work),
        cmocka_unit_test(test_short_loops),
        cmocka_unit_test(test_nested),
        cmocka_unit_test(test_two_callers),
        cmocka_unit_test(test_start_and_stop),
        cmocka_unit_test(test_processors),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_no_more_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
