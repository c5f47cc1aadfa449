/* The order of work on the host CUDA runtime: streams, events, what a copy waits for, captures and
   graphs, and three faults of host programs that the eager mode misses and the deferred mode finds
   with every seed. */
#include "test_cudart.h"

#include <chrono>
#include <cmath>
#include <initializer_list>
#include <thread>

enum { SEEDS = 20 };

static void set_all(float *host, float value)
{
    for (int i = 0; i < TEST_N; i++)
        host[i] = value;
}

/* Device memory that holds `value`. */
static float *device_of(float value)
{
    float host[TEST_N];
    float *device = test_device();
    set_all(host, value);
    GOOD(cudaMemcpy(device, host, TEST_BYTES, cudaMemcpyHostToDevice));
    GOOD(cudaDeviceSynchronize());
    return device;
}

/* ---- what copies read and when */

static void test_pinned_is_read_later(void **)
{
    float *x = test_device(), *pinned = test_pinned();
    cudaStream_t stream = test_stream();
    int late = 0;
    for (int seed = 1; seed <= SEEDS; seed++) {
        float back[TEST_N];
        tlm_host_defer((uint64_t)seed);
        set_all(pinned, 1);
        GOOD(cudaMemcpyAsync(x, pinned, TEST_BYTES, cudaMemcpyHostToDevice, stream));
        set_all(pinned, 2);
        GOOD(cudaMemcpyAsync(back, x, TEST_BYTES, cudaMemcpyDeviceToHost, stream));
        late += back[0] == 2; /* a copy into pageable memory waited */
        assert_true(back[0] == 1 || back[0] == 2);
        assert_true(back[TEST_N - 1] == back[0]);
    }
    assert_in_range(late, SEEDS / 2, SEEDS - 1); /* and sometimes a device is fast */
    tlm_host_defer(0);
    GOOD(cudaStreamDestroy(stream));
    GOOD(cudaFreeHost(pinned));
    GOOD(cudaFree(x));
}

static void test_pageable_is_staged(void **)
{
    float host[TEST_N];
    float *x = test_device();
    cudaStream_t stream = test_stream();
    tlm_host_defer(5);
    for (int i = 0; i < SEEDS; i++) {
        set_all(host, 1);
        GOOD(cudaMemcpyAsync(x, host, TEST_BYTES, cudaMemcpyHostToDevice, stream));
        set_all(host, 2);
        test_expect(x, 1);
    }
    GOOD(cudaStreamDestroy(stream));
    GOOD(cudaFree(x));
}

/* cudaMemcpy from pageable memory returns when it has staged: a stream that does not order with the
   legacy one must not count on it. */
static void test_copy_returns_early(void **)
{
    const test_library library;
    const cudaKernel_t add = library.kernel("test_add");
    cudaStream_t apart = test_stream(), blocking = test_stream(cudaStreamDefault);
    float host[TEST_N];
    float *x = device_of(0), *y = device_of(0);
    int wrong = 0;
    for (int seed = 1; seed <= SEEDS; seed++) {
        const float value = 5 + (float)seed;
        tlm_host_defer((uint64_t)seed);
        set_all(host, value);
        GOOD(cudaMemcpy(x, host, TEST_BYTES, cudaMemcpyHostToDevice));
        GOOD(cudaMemsetAsync(y, 0, TEST_BYTES, apart));
        GOOD(test_launch(add, apart, test_add_args{ y, x, TEST_N }));
        GOOD(cudaStreamSynchronize(apart));
        GOOD(cudaMemcpy(host, y, TEST_BYTES, cudaMemcpyDeviceToHost));
        wrong += host[0] != value;
        set_all(host, -value);
        GOOD(cudaMemcpy(x, host, TEST_BYTES, cudaMemcpyHostToDevice));
        GOOD(cudaMemsetAsync(y, 0, TEST_BYTES, blocking));
        GOOD(test_launch(add, blocking, test_add_args{ y, x, TEST_N }));
        /* and the legacy stream comes after the blocking one */
        GOOD(cudaMemcpy(host, y, TEST_BYTES, cudaMemcpyDeviceToHost));
        assert_true(host[TEST_N - 1] == -value);
    }
    assert_in_range(wrong, 1, SEEDS);
    tlm_host_defer(0);
    GOOD(cudaStreamDestroy(apart));
    GOOD(cudaStreamDestroy(blocking));
    GOOD(cudaFree(x));
    GOOD(cudaFree(y));
}

/* Freeing waits for everything. */
static void test_free_waits(void **)
{
    const test_library library;
    const cudaKernel_t add = library.kernel("test_add");
    cudaStream_t stream = test_stream();
    float *y = device_of(0);
    for (int seed = 1; seed <= SEEDS; seed++) {
        float *x = device_of(1), *pinned = test_pinned();
        tlm_host_defer((uint64_t)seed);
        set_all(pinned, 2);
        GOOD(test_launch(add, stream, test_add_args{ y, x, TEST_N }));
        GOOD(cudaMemcpyAsync(x, pinned, TEST_BYTES, cudaMemcpyHostToDevice, stream));
        GOOD(test_launch(add, stream, test_add_args{ y, x, TEST_N }));
        if (seed % 2 == 0) {
            GOOD(cudaFree(x));
            GOOD(cudaFreeHost(pinned));
        } else {
            GOOD(cudaFreeHost(pinned));
            GOOD(cudaFree(x));
        }
        test_expect(y, 3 * (float)seed);
    }
    GOOD(cudaStreamDestroy(stream));
    GOOD(cudaFree(y));
}

/* A stream that was destroyed is not one that was waited for. */
static void test_destroy_does_not_wait(void **)
{
    float *x = device_of(3), *pinned = test_pinned();
    int early = 0;
    for (int seed = 1; seed <= SEEDS; seed++) {
        cudaStream_t stream = test_stream();
        tlm_host_defer((uint64_t)seed);
        set_all(pinned, 0);
        GOOD(cudaMemcpyAsync(pinned, x, TEST_BYTES, cudaMemcpyDeviceToHost, stream));
        GOOD(cudaStreamDestroy(stream));
        early += pinned[0] != 3;
        GOOD(cudaDeviceSynchronize());
        assert_true(pinned[0] == 3);
    }
    assert_in_range(early, 1, SEEDS);
    tlm_host_defer(0);
    GOOD(cudaFreeHost(pinned));
    GOOD(cudaFree(x));
}

/* ---- events */

static void test_events(void **)
{
    const test_library library;
    const cudaKernel_t fill = library.kernel("test_fill");
    float *y = test_device();
    cudaStream_t stream = test_stream();
    cudaEvent_t from = nullptr, to = nullptr, untimed = test_event();
    float milliseconds = -1;
    GOOD(cudaEventCreate(&from));
    GOOD(cudaEventCreate(&to));
    GOOD(cudaEventQuery(from));
    GOOD(cudaEventSynchronize(from));
    GOOD(cudaStreamWaitEvent(stream, from, 0));
    FAILS(cudaEventElapsedTime(&milliseconds, from, to), cudaErrorInvalidResourceHandle);
    tlm_host_defer(2);
    GOOD(cudaEventRecord(from, stream));
    GOOD(cudaEventSynchronize(from));
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    int not_ready = 0;
    for (int i = 0; i < 8; i++)
        GOOD(test_launch(fill, stream, test_fill_args{ y, 1, TEST_N }));
    GOOD(cudaEventRecord(to, stream));
    while (cudaEventQuery(to) == cudaErrorNotReady)
        not_ready++;
    assert_in_range(not_ready, 1, 20);
    assert_int_equal(cudaGetLastError(), cudaSuccess);
    GOOD(cudaEventElapsedTime(&milliseconds, from, to));
    assert_true(milliseconds >= 2);
    GOOD(cudaEventRecord(untimed, stream));
    GOOD(cudaEventSynchronize(untimed));
    FAILS(cudaEventElapsedTime(&milliseconds, from, untimed), cudaErrorInvalidResourceHandle);
    GOOD(cudaStreamQuery(stream));
    GOOD(cudaEventDestroy(from));
    FAILS(cudaEventDestroy(from), cudaErrorInvalidResourceHandle);
    FAILS(cudaEventRecord(from, stream), cudaErrorInvalidResourceHandle);
    GOOD(cudaEventDestroy(to));
    GOOD(cudaEventDestroy(untimed));
    GOOD(cudaStreamDestroy(stream));
    GOOD(cudaFree(y));
}

/* ---- captures */

/* y = 2 y + x twice, with x and then z, through two streams; then to the host. */
struct two_streams {
    test_library library;
    cudaKernel_t scale = library.kernel("test_scale");
    cudaStream_t one = test_stream(), two = test_stream();
    cudaEvent_t there = test_event(), back = test_event();
    float *x = device_of(1), *y = device_of(0), *z = device_of(10);
    float *pinned = test_pinned();

    void enqueue(void)
    {
        GOOD(cudaMemcpyAsync(y, pinned, TEST_BYTES, cudaMemcpyHostToDevice, one));
        GOOD(test_launch(scale, one, test_scale_args{ y, x, TEST_N }));
        GOOD(cudaEventRecord(there, one));
        GOOD(cudaStreamWaitEvent(two, there, 0));
        GOOD(test_launch(scale, two, test_scale_args{ y, z, TEST_N }));
        GOOD(cudaEventRecord(back, two));
        GOOD(cudaStreamWaitEvent(one, back, 0));
        GOOD(cudaMemcpyAsync(pinned, y, TEST_BYTES, cudaMemcpyDeviceToHost, one));
    }
    ~two_streams()
    {
        cudaDeviceSynchronize();
        cudaFreeHost(pinned);
        cudaFree(x);
        cudaFree(y);
        cudaFree(z);
        cudaEventDestroy(there);
        cudaEventDestroy(back);
        cudaStreamDestroy(one);
        cudaStreamDestroy(two);
    }
};

static void test_graph(void **)
{
    for (int seed = 0; seed <= SEEDS; seed++) {
        two_streams work;
        cudaGraph_t graph = nullptr;
        cudaGraphExec_t exec = nullptr;
        size_t nodes = 0;
        tlm_host_defer((uint64_t)seed);
        set_all(work.pinned, 1);
        GOOD(cudaStreamBeginCapture(work.one, cudaStreamCaptureModeGlobal));
        work.enqueue();
        assert_true(work.pinned[0] == 1); /* nothing ran */
        GOOD(cudaStreamEndCapture(work.one, &graph));
        GOOD(cudaGraphGetNodes(graph, nullptr, &nodes));
        assert_int_equal(nodes, 4);
        GOOD(cudaGraphInstantiate(&exec, graph, 0));
        GOOD(cudaGraphDestroy(graph));
        for (float start = 1; start < 4; start++) {
            set_all(work.pinned, start); /* read at each launch */
            GOOD(cudaGraphLaunch(exec, work.one));
            GOOD(cudaStreamSynchronize(work.one));
            assert_true(work.pinned[TEST_N - 1] == 4 * start + 12);
        }
        GOOD(cudaGraphExecDestroy(exec));
        FAILS(cudaGraphLaunch(exec, work.one), cudaErrorInvalidValue);
        tlm_host_defer(0);
    }
}

/* Nodes that no event orders run in any order. */
static void test_graph_without_order(void **)
{
    const test_library library;
    const cudaKernel_t scale = library.kernel("test_scale");
    cudaStream_t one = test_stream(), two = test_stream();
    cudaEvent_t fork = test_event(), join = test_event();
    float *x = device_of(1), *z = device_of(10), *y = device_of(0);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    GOOD(cudaStreamBeginCapture(one, cudaStreamCaptureModeThreadLocal));
    GOOD(cudaMemsetAsync(y, 0, TEST_BYTES, one));
    GOOD(cudaEventRecord(fork, one));
    GOOD(cudaStreamWaitEvent(two, fork, 0));
    GOOD(test_launch(scale, one, test_scale_args{ y, x, TEST_N }));
    GOOD(test_launch(scale, two, test_scale_args{ y, z, TEST_N }));
    GOOD(cudaEventRecord(join, two));
    GOOD(cudaStreamWaitEvent(one, join, 0));
    GOOD(cudaStreamEndCapture(one, &graph));
    GOOD(cudaGraphInstantiate(&exec, graph, 0));
    GOOD(cudaGraphDestroy(graph));
    int first = 0;
    for (int seed = 1; seed <= SEEDS; seed++) {
        float host[TEST_N];
        tlm_host_defer((uint64_t)seed);
        GOOD(cudaGraphLaunch(exec, one));
        GOOD(cudaStreamSynchronize(one));
        GOOD(cudaMemcpy(host, y, TEST_BYTES, cudaMemcpyDeviceToHost));
        assert_true(host[0] == 12 || host[0] == 21);
        first += host[0] == 12;
    }
    assert_in_range(first, 1, SEEDS - 1);
    tlm_host_defer(0);
    GOOD(cudaGraphExecDestroy(exec));
    GOOD(cudaEventDestroy(fork));
    GOOD(cudaEventDestroy(join));
    GOOD(cudaStreamDestroy(one));
    GOOD(cudaStreamDestroy(two));
    GOOD(cudaFree(x));
    GOOD(cudaFree(y));
    GOOD(cudaFree(z));
}

/* Memory freed under a graph: the launch is queued, and the fault shows at the wait. */
static void graph_over_freed(bool copies)
{
    float *x = device_of(1), *pinned = test_pinned();
    cudaStream_t stream = test_stream();
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    GOOD(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    if (copies)
        GOOD(cudaMemcpyAsync(pinned, x, TEST_BYTES, cudaMemcpyDeviceToHost, stream));
    else
        GOOD(cudaMemsetAsync(x, 0, TEST_BYTES, stream));
    GOOD(cudaStreamEndCapture(stream, &graph));
    GOOD(cudaGraphInstantiate(&exec, graph, 0));
    GOOD(cudaGraphDestroy(graph));
    GOOD(cudaFree(x));
    tlm_host_quiet(1);
    GOOD(cudaGraphLaunch(exec, stream));
    assert_int_equal(cudaStreamSynchronize(stream), cudaErrorIllegalAddress);
    assert_int_equal(tlm_host_count(TLM_HOST_BOUNDS), 1);
    tlm_host_reset();
    tlm_host_quiet(0);
    tlm_host_forgive();
    GOOD(cudaGraphExecDestroy(exec));
    GOOD(cudaStreamDestroy(stream));
    GOOD(cudaFreeHost(pinned));
}

static void test_graph_over_freed_memory(void **)
{
    graph_over_freed(true);
    graph_over_freed(false);
}

/* One call inside a capture: its error, and whether the capture is lost. */
typedef cudaError_t capture_call(cudaStream_t capturing, cudaStream_t other, cudaEvent_t captured,
                                 cudaEvent_t plain, float *x, float *pinned);

struct capture_row {
    const char *name;
    cudaError_t error;
    capture_call *call;
};

#define CAPTURE_ROW(error, expression)                                                 \
    {                                                                                  \
#expression, error,                                                                  \
            [](cudaStream_t capturing, cudaStream_t other, cudaEvent_t captured,             \
               cudaEvent_t plain, float *x, float *pinned) -> cudaError_t {                  \
                float host[TEST_N] = { 0 };                                                  \
                void *memory = nullptr;                                                      \
                (void)capturing, (void)other, (void)captured, (void)plain, (void)x;          \
                (void)pinned, (void)host, (void)memory;                                      \
                return expression;                                                           \
            } \
    }

#define UNSUPPORTED cudaErrorStreamCaptureUnsupported

static const capture_row capture_rows[] = {
    CAPTURE_ROW(UNSUPPORTED, cudaStreamSynchronize(capturing)),
    CAPTURE_ROW(UNSUPPORTED, cudaStreamQuery(capturing)),
    CAPTURE_ROW(UNSUPPORTED, cudaStreamSynchronize(other)),
    CAPTURE_ROW(UNSUPPORTED, cudaDeviceSynchronize()),
    CAPTURE_ROW(UNSUPPORTED, cudaMalloc(&memory, 16)),
    CAPTURE_ROW(UNSUPPORTED, cudaFree(x)),
    CAPTURE_ROW(UNSUPPORTED, cudaHostAlloc(&memory, 16, 0)),
    CAPTURE_ROW(UNSUPPORTED, cudaFreeHost(pinned)),
    CAPTURE_ROW(UNSUPPORTED, cudaEventQuery(plain)),
    CAPTURE_ROW(UNSUPPORTED, cudaEventSynchronize(plain)),
    CAPTURE_ROW(cudaErrorCapturedEvent, cudaEventQuery(captured)),
    CAPTURE_ROW(cudaErrorCapturedEvent, cudaEventSynchronize(captured)),
    CAPTURE_ROW(UNSUPPORTED, cudaMemcpy(x, pinned, 4, cudaMemcpyHostToDevice)),
    CAPTURE_ROW(UNSUPPORTED, cudaMemset(x, 0, 4)),
    CAPTURE_ROW(UNSUPPORTED, cudaMemcpyAsync(x, host, 4, cudaMemcpyHostToDevice, capturing)),
    CAPTURE_ROW(UNSUPPORTED, cudaMemcpyAsync(host, x, 4, cudaMemcpyDeviceToHost, capturing)),
    CAPTURE_ROW(cudaErrorStreamCaptureIsolation, cudaStreamWaitEvent(capturing, plain, 0)),
};

static void test_capture_refusals(void **)
{
    for (const capture_row &row : capture_rows) {
        cudaStream_t capturing = test_stream(), other = test_stream();
        cudaEvent_t captured = test_event(), plain = test_event();
        float *x = device_of(1), *pinned = test_pinned();
        cudaGraph_t graph = nullptr;
        cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
        GOOD(cudaEventRecord(plain, other));
        GOOD(cudaStreamBeginCapture(capturing, cudaStreamCaptureModeGlobal));
        GOOD(cudaEventRecord(captured, capturing));
        const cudaError_t error = row.call(capturing, other, captured, plain, x, pinned);
        if (error != row.error)
            print_error("%s\n", row.name);
        assert_int_equal(error, row.error);
        GOOD(cudaStreamIsCapturing(capturing, &status));
        assert_int_equal(status, cudaStreamCaptureStatusInvalidated);
        assert_int_equal(cudaMemsetAsync(x, 0, 4, capturing), cudaErrorStreamCaptureInvalidated);
        assert_int_equal(cudaStreamEndCapture(capturing, &graph),
                         cudaErrorStreamCaptureInvalidated);
        assert_null(graph);
        GOOD(cudaMemsetAsync(x, 0, 4, capturing)); /* the stream is a plain one again */
        GOOD(cudaStreamSynchronize(capturing));
        tlm_host_forgive();
        GOOD(cudaEventDestroy(captured));
        GOOD(cudaEventDestroy(plain));
        GOOD(cudaStreamDestroy(capturing));
        GOOD(cudaStreamDestroy(other));
        GOOD(cudaFree(x));
        GOOD(cudaFreeHost(pinned));
    }
}

/* Whom a capture's mode binds: all threads, its own, nobody. */
static void test_capture_modes(void **)
{
    static const struct {
        cudaStreamCaptureMode mode;
        cudaError_t here, elsewhere;
    } rows[] = {
        { cudaStreamCaptureModeGlobal, UNSUPPORTED, UNSUPPORTED },
        { cudaStreamCaptureModeThreadLocal, UNSUPPORTED, cudaSuccess },
        { cudaStreamCaptureModeRelaxed, cudaSuccess, cudaSuccess },
    };
    cudaStream_t stream = test_stream();
    for (const auto &row : rows) {
        cudaGraph_t graph = nullptr;
        cudaError_t elsewhere = cudaErrorUnknown;
        GOOD(cudaStreamBeginCapture(stream, row.mode));
        std::thread([&elsewhere] { elsewhere = cudaDeviceSynchronize(); }).join();
        assert_int_equal(elsewhere, row.elsewhere);
        assert_int_equal(cudaDeviceSynchronize(), row.here);
        cudaStreamEndCapture(stream, &graph);
        if (graph != nullptr)
            GOOD(cudaGraphDestroy(graph));
        tlm_host_forgive();
    }
    GOOD(cudaStreamDestroy(stream));
}

static void test_capture_and_legacy(void **)
{
    float *x = device_of(1);
    cudaStream_t blocking = test_stream(cudaStreamDefault), apart = test_stream();
    cudaGraph_t graph = nullptr;
    FAILS(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal), UNSUPPORTED);
    GOOD(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed));
    FAILS(cudaMemsetAsync(x, 0, 4, nullptr), cudaErrorStreamCaptureImplicit);
    FAILS(cudaStreamEndCapture(blocking, &graph), cudaErrorStreamCaptureInvalidated);
    GOOD(cudaStreamBeginCapture(apart, cudaStreamCaptureModeRelaxed));
    GOOD(cudaMemsetAsync(x, 0, 4, nullptr)); /* no order with that stream */
    FAILS(cudaStreamBeginCapture(apart, cudaStreamCaptureModeRelaxed), cudaErrorIllegalState);
    GOOD(cudaStreamEndCapture(apart, &graph));
    GOOD(cudaGraphDestroy(graph));
    FAILS(cudaStreamEndCapture(apart, &graph), cudaErrorIllegalState);
    GOOD(cudaStreamDestroy(blocking));
    GOOD(cudaStreamDestroy(apart));
    GOOD(cudaFree(x));
}

static void test_capture_joins(void **)
{
    float *x = device_of(1);
    cudaStream_t one = test_stream(), two = test_stream();
    cudaEvent_t event = test_event(), other = test_event();
    cudaGraph_t graph = nullptr;
    /* work of a second stream that the first never waits for */
    GOOD(cudaStreamBeginCapture(one, cudaStreamCaptureModeThreadLocal));
    GOOD(cudaEventRecord(event, one));
    GOOD(cudaStreamWaitEvent(two, event, 0));
    GOOD(cudaMemsetAsync(x, 0, 4, two));
    FAILS(cudaStreamEndCapture(one, &graph), cudaErrorStreamCaptureUnjoined);
    assert_null(graph);
    GOOD(cudaMemsetAsync(x, 0, 4, two));
    /* the end on the wrong stream */
    GOOD(cudaStreamBeginCapture(one, cudaStreamCaptureModeThreadLocal));
    GOOD(cudaEventRecord(event, one));
    GOOD(cudaStreamWaitEvent(two, event, 0));
    FAILS(cudaStreamEndCapture(two, &graph), cudaErrorStreamCaptureUnmatched);
    FAILS(cudaStreamEndCapture(one, &graph), cudaErrorStreamCaptureInvalidated);
    /* two captures cannot become one */
    GOOD(cudaStreamBeginCapture(one, cudaStreamCaptureModeThreadLocal));
    GOOD(cudaStreamBeginCapture(two, cudaStreamCaptureModeThreadLocal));
    GOOD(cudaEventRecord(other, two));
    FAILS(cudaStreamWaitEvent(one, other, 0), cudaErrorStreamCaptureMerge);
    FAILS(cudaStreamEndCapture(one, &graph), cudaErrorStreamCaptureInvalidated);
    FAILS(cudaStreamEndCapture(two, &graph), cudaErrorStreamCaptureInvalidated);
    GOOD(cudaDeviceSynchronize());
    GOOD(cudaEventDestroy(event));
    GOOD(cudaEventDestroy(other));
    GOOD(cudaStreamDestroy(one));
    GOOD(cudaStreamDestroy(two));
    GOOD(cudaFree(x));
}

/* ---- faults of host programs */

enum host_fault { CORRECT, NO_WAIT_FOR_THE_COPY, PINNED_REUSED_EARLY, READ_BEFORE_THE_END };

/* Sums what is copied in, batch by batch, on two streams: y = 2 y + x.  Returns what the host sees
   of it. */
static float run_program(host_fault fault, uint64_t seed)
{
    const test_library library;
    const cudaKernel_t scale = library.kernel("test_scale");
    cudaStream_t copies = test_stream(), compute = test_stream();
    cudaEvent_t copied = test_event(), used = test_event();
    float *x = device_of(0), *y = device_of(0);
    float *in = test_pinned(), *out = test_pinned();
    tlm_host_defer(seed);
    for (int step = 0; step < 12; step++) {
        set_all(in, (float)(step % 5));
        GOOD(cudaMemcpyAsync(x, in, TEST_BYTES, cudaMemcpyHostToDevice, copies));
        GOOD(cudaEventRecord(copied, copies));
        if (fault != NO_WAIT_FOR_THE_COPY)
            GOOD(cudaStreamWaitEvent(compute, copied, 0));
        GOOD(test_launch(scale, compute, test_scale_args{ y, x, TEST_N }));
        GOOD(cudaEventRecord(used, compute));
        GOOD(cudaStreamWaitEvent(copies, used, 0));
        if (fault != PINNED_REUSED_EARLY)
            GOOD(cudaEventSynchronize(copied));
    }
    GOOD(cudaMemcpyAsync(out, y, TEST_BYTES, cudaMemcpyDeviceToHost, compute));
    if (fault != READ_BEFORE_THE_END)
        GOOD(cudaStreamSynchronize(compute));
    const float seen = out[TEST_N - 1];
    GOOD(cudaDeviceSynchronize());
    tlm_host_defer(0);
    GOOD(cudaFreeHost(in));
    GOOD(cudaFreeHost(out));
    GOOD(cudaFree(x));
    GOOD(cudaFree(y));
    GOOD(cudaEventDestroy(copied));
    GOOD(cudaEventDestroy(used));
    GOOD(cudaStreamDestroy(copies));
    GOOD(cudaStreamDestroy(compute));
    return seen;
}

static void test_planted_faults(void **)
{
    float right = 0;
    for (int step = 0; step < 12; step++)
        right = 2 * right + (float)(step % 5);
    for (host_fault fault :
         { CORRECT, NO_WAIT_FOR_THE_COPY, PINNED_REUSED_EARLY, READ_BEFORE_THE_END }) {
        int found = 0;
        for (uint64_t seed = 1; seed <= SEEDS; seed++)
            found += run_program(fault, seed) != right;
        print_message("fault %d: found with %d of %d seeds\n", (int)fault, found, (int)SEEDS);
        assert_int_equal(found, fault == CORRECT ? 0 : SEEDS);
        assert_true(run_program(fault, 0) == right); /* the eager mode misses them all */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_pinned_is_read_later, test_clean),
        cmocka_unit_test_teardown(test_pageable_is_staged, test_clean),
        cmocka_unit_test_teardown(test_copy_returns_early, test_clean),
        cmocka_unit_test_teardown(test_free_waits, test_clean),
        cmocka_unit_test_teardown(test_destroy_does_not_wait, test_clean),
        cmocka_unit_test_teardown(test_events, test_clean),
        cmocka_unit_test_teardown(test_graph, test_clean),
        cmocka_unit_test_teardown(test_graph_without_order, test_clean),
        cmocka_unit_test_teardown(test_graph_over_freed_memory, test_clean),
        cmocka_unit_test_teardown(test_capture_refusals, test_clean),
        cmocka_unit_test_teardown(test_capture_modes, test_clean),
        cmocka_unit_test_teardown(test_capture_and_legacy, test_clean),
        cmocka_unit_test_teardown(test_capture_joins, test_clean),
        cmocka_unit_test_teardown(test_planted_faults, test_clean),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
