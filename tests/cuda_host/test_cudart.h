/* What the tests of the host CUDA runtime share: checked calls, a loaded library, launches of the
   kernels in test_kernels.cu. */
#ifndef TLM_TEST_CUDART_H
#define TLM_TEST_CUDART_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

extern "C" {
#include <cmocka.h>
}

#include <cuda_runtime_api.h>

#include "host_cudart.h"
#include "test_kernels.h"

enum { TEST_N = 300 }; /* elements: more than one block, no multiple of a warp */
enum { TEST_BYTES = TEST_N * sizeof(float) };

#define GOOD(call) assert_int_equal((call), cudaSuccess)

/* The error, remembered and then forgotten. */
#define FAILS(call, error)                                 \
    do {                                                   \
        assert_int_equal((call), (error));                 \
        assert_int_equal(cudaPeekAtLastError(), (error));  \
        assert_int_equal(cudaGetLastError(), (error));     \
        assert_int_equal(cudaGetLastError(), cudaSuccess); \
    } while (0)

/* All kernels of this program; unloaded at the end of the scope. */
struct test_library {
    cudaLibrary_t library = nullptr;

    test_library()
    {
        GOOD(cudaLibraryLoadData(&library, "TLM-CUDA-HOST", nullptr, nullptr, 0, nullptr, nullptr,
                                 0));
    }
    ~test_library()
    {
        cudaLibraryUnload(library);
    }
    cudaKernel_t kernel(const char *name) const
    {
        cudaKernel_t found = nullptr;
        GOOD(cudaLibraryGetKernel(&found, library, name));
        return found;
    }
};

template <typename args>
static inline cudaError_t test_launch(cudaKernel_t kernel, cudaStream_t stream, args values)
{
    cudaLaunchConfig_t config = {};
    void *pointers[] = { &values };
    config.gridDim = dim3((TEST_N + 255) / 256);
    config.blockDim = dim3(256);
    config.stream = stream;
    return cudaLaunchKernelExC(&config, (const void *)kernel, pointers);
}

static inline float *test_device(void)
{
    void *memory = nullptr;
    GOOD(cudaMalloc(&memory, TEST_BYTES));
    return (float *)memory;
}

static inline float *test_pinned(void)
{
    void *memory = nullptr;
    GOOD(cudaHostAlloc(&memory, TEST_BYTES, 0));
    return (float *)memory;
}

static inline cudaStream_t test_stream(unsigned flags = cudaStreamNonBlocking)
{
    cudaStream_t stream = nullptr;
    GOOD(cudaStreamCreateWithFlags(&stream, flags));
    return stream;
}

static inline cudaEvent_t test_event(void)
{
    cudaEvent_t event = nullptr;
    GOOD(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    return event;
}

/* The first and the last element of device memory, after all work. */
static inline void test_expect(const float *device, float value)
{
    float host[TEST_N];
    GOOD(cudaDeviceSynchronize());
    GOOD(cudaMemcpy(host, device, TEST_BYTES, cudaMemcpyDeviceToHost));
    assert_true(host[0] == value);
    assert_true(host[TEST_N - 1] == value);
}

/* Nothing may be left behind by a test, nor anything set for the next one. */
static inline int test_clean(void **)
{
    char text[1024];
    tlm_host_fail(0);
    tlm_host_play(nullptr);
    tlm_host_forgive();
    tlm_host_defer(0);
    const size_t held = tlm_host_leaks(text, sizeof text);
    if (held != 0)
        print_error("%s", text);
    return held == 0 ? 0 : -1;
}

#endif
