/* The host CUDA runtime call by call: the device and its states, errors by name, memory, copies,
   libraries and launches, failures on purpose, leaks.  Streams and captures: test_streams.cpp. */
#include "test_cudart.h"

#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <cublas_v2.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_device_facts(void **)
{
    int count = 0, device = -1, value = 0;
    cudaDeviceProp properties;
    GOOD(cudaGetDeviceCount(&count));
    assert_int_equal(count, 1);
    GOOD(cudaSetDevice(0));
    GOOD(cudaGetDevice(&device));
    assert_int_equal(device, 0);
    FAILS(cudaSetDevice(1), cudaErrorInvalidDevice);
    GOOD(cudaRuntimeGetVersion(&value));
    assert_int_equal(value, CUDART_VERSION);
    GOOD(cudaDriverGetVersion(&value));
    assert_true(value >= CUDART_VERSION / 1000 * 1000);
    tlm_host_capability(120);
    GOOD(cudaGetDeviceProperties(&properties, 0));
    assert_int_equal(properties.major, 12);
    assert_int_equal(properties.minor, 0);
    GOOD(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 0));
    assert_int_equal(value, 12);
    tlm_host_capability(90);
    GOOD(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
    assert_int_equal(value, 132);
    FAILS(cudaGetDeviceProperties(&properties, 1), cudaErrorInvalidDevice);
}

struct state_row {
    const char *name;
    cudaError_t error;
    int driver_version;
};

static const state_row state_rows[] = {
    { "no-driver", cudaErrorInsufficientDriver, 0 },
    { "old-driver", cudaErrorInsufficientDriver, 11000 },
    { "stub-library", cudaErrorStubLibrary, 0 },
    { "no-device", cudaErrorNoDevice, 0 },
    { "driver-failed", cudaErrorUnknown, 13000 },
};

/* Every call says the same and leaves what it was to write alone. */
static void test_states(void **)
{
    for (const state_row &row : state_rows) {
        int count = 7, version = -1;
        void *memory = &count;
        cudaStream_t stream = nullptr;
        cublasHandle_t handle = nullptr;
        tlm_host_play(row.name);
        FAILS(cudaGetDeviceCount(&count), row.error);
        assert_int_equal(count, 7);
        FAILS(cudaMalloc(&memory, 16), row.error);
        assert_ptr_equal(memory, &count);
        FAILS(cudaFree(nullptr), row.error);
        FAILS(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), row.error);
        FAILS(cudaMemcpy(&version, &count, 4, cudaMemcpyHostToHost), row.error);
        GOOD(cudaDriverGetVersion(&version));
        assert_int_equal(version, row.driver_version);
        GOOD(cudaRuntimeGetVersion(&version));
        assert_int_equal(version, CUDART_VERSION);
        assert_int_equal(cublasCreate(&handle), CUBLAS_STATUS_NOT_INITIALIZED);
    }
    tlm_host_play(nullptr);
    int count = 0;
    GOOD(cudaGetDeviceCount(&count));
}

#ifdef TLM_TEST_CUDART
typedef const char *text_of_error(cudaError_t error);

static text_of_error *real_function(void *library, const char *name)
{
    union {
        void *data;
        text_of_error *function;
    } found = { dlsym(library, name) };
    return found.function;
}
#endif

/* The names and texts of the real library, which gives them without a device. */
static void test_error_texts(void **)
{
    assert_string_equal(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
    assert_string_equal(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
    assert_string_equal(cudaGetErrorName((cudaError_t)12345), "unrecognized error code");
#ifdef TLM_TEST_CUDART
    void *library = dlopen(TLM_TEST_CUDART, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        return;
    text_of_error *name = real_function(library, "cudaGetErrorName");
    text_of_error *text = real_function(library, "cudaGetErrorString");
    for (int code = 0; code < 1000; code++) {
        const char *mine = cudaGetErrorName((cudaError_t)code);
        if (strcmp(mine, "unrecognized error code") != 0) {
            assert_string_equal(mine, name((cudaError_t)code));
            assert_string_equal(cudaGetErrorString((cudaError_t)code), text((cudaError_t)code));
        }
    }
    dlclose(library);
#endif
}

static void test_memory(void **)
{
    float host[TEST_N];
    int local = 0;
    float *x = test_device();
    float *pinned = test_pinned();
    GOOD(cudaMemset(x, 0, 4));
    GOOD(cudaMemcpy(host, x, 4, cudaMemcpyDeviceToHost));
    assert_true(host[0] == 0);
    assert_true(std::isnan(pinned[TEST_N - 1]));
    assert_int_equal((uintptr_t)x % 256, 0);
    FAILS(cudaFree(x + 1), cudaErrorInvalidValue);
    FAILS(cudaFree(&local), cudaErrorInvalidValue);
    FAILS(cudaFreeHost(x), cudaErrorInvalidValue);
    FAILS(cudaFreeHost(pinned + 1), cudaErrorInvalidValue);
    FAILS(cudaFree(pinned), cudaErrorInvalidValue);
    GOOD(cudaFree(x));
    FAILS(cudaFree(x), cudaErrorInvalidValue);
    GOOD(cudaFreeHost(pinned));
    FAILS(cudaFreeHost(pinned), cudaErrorInvalidValue);
    GOOD(cudaFree(nullptr));
    GOOD(cudaFreeHost(nullptr));
    void *nothing = &local;
    GOOD(cudaMalloc(&nothing, 0));
    assert_null(nothing);
}

/* Unwritten memory is NaNs, and freed memory is not given out again. */
static void test_fresh_memory(void **)
{
    float host[TEST_N] = { 0 };
    float *x = test_device();
    tlm_host_quiet(1); /* the checker reports the copy */
    GOOD(cudaMemcpy(host, x, TEST_BYTES, cudaMemcpyDeviceToHost));
    tlm_host_reset();
    tlm_host_quiet(0);
    assert_true(std::isnan(host[0]) && std::isnan(host[TEST_N - 1]));
    GOOD(cudaFree(x));
    float *y = test_device();
    assert_ptr_not_equal(x, y);
    GOOD(cudaFree(y));
}

static void test_out_of_memory(void **)
{
    size_t free_bytes = 0, total_bytes = 0;
    void *first = nullptr, *second = nullptr;
    tlm_host_set_memory(1 << 20);
    GOOD(cudaMalloc(&first, 700 << 10));
    FAILS(cudaMalloc(&second, 400 << 10), cudaErrorMemoryAllocation);
    assert_null(second);
    GOOD(cudaMemGetInfo(&free_bytes, &total_bytes));
    assert_int_equal(total_bytes, 1 << 20);
    assert_int_equal(free_bytes, 324 << 10);
    FAILS(cudaMalloc(&second, SIZE_MAX), cudaErrorMemoryAllocation);
    GOOD(cudaFree(first));
    GOOD(cudaMalloc(&second, 400 << 10));
    GOOD(cudaFree(second));
    tlm_host_set_memory((size_t)8 << 30);
}

static void test_pointer_attributes(void **)
{
    int local = 0;
    cudaPointerAttributes attributes;
    float *x = test_device();
    float *pinned = test_pinned();
    GOOD(cudaPointerGetAttributes(&attributes, x + TEST_N - 1));
    assert_int_equal(attributes.type, cudaMemoryTypeDevice);
    GOOD(cudaPointerGetAttributes(&attributes, pinned));
    assert_int_equal(attributes.type, cudaMemoryTypeHost);
    GOOD(cudaPointerGetAttributes(&attributes, &local));
    assert_int_equal(attributes.type, cudaMemoryTypeUnregistered);
    GOOD(cudaFree(x));
    GOOD(cudaPointerGetAttributes(&attributes, x));
    assert_int_equal(attributes.type, cudaMemoryTypeUnregistered);
    GOOD(cudaFreeHost(pinned));
}

static void test_copy_checks(void **)
{
    float host[TEST_N] = { 0 };
    float *x = test_device();
    float *pinned = test_pinned();
    FAILS(cudaMemcpy(x, host, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    FAILS(cudaMemcpy(x, host, 4, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
    FAILS(cudaMemcpy(host, x, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    FAILS(cudaMemcpy(host, x, 4, cudaMemcpyHostToHost), cudaErrorInvalidValue);
    FAILS(cudaMemcpy(x, host, 4, (cudaMemcpyKind)9), cudaErrorInvalidMemcpyDirection);
    FAILS(cudaMemcpy(x + 1, host, TEST_BYTES, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    FAILS(cudaMemcpy(host, x - 1, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    FAILS(cudaMemcpy(pinned + 1, x, TEST_BYTES, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    FAILS(cudaMemset(x + 1, 0, TEST_BYTES), cudaErrorInvalidValue);
    FAILS(cudaMemset(host, 0, 4), cudaErrorInvalidValue);
    GOOD(cudaMemcpy(x, host, 0, cudaMemcpyDeviceToHost));
    GOOD(cudaMemcpy(x, host, TEST_BYTES, cudaMemcpyDefault));
    test_expect(x, 0);
    tlm_host_quiet(1);
    GOOD(cudaMemcpy(x + 1, x, TEST_BYTES / 2, cudaMemcpyDeviceToDevice));
    assert_int_equal(tlm_host_count(TLM_HOST_USAGE), 1);
    GOOD(cudaMemcpy(x + TEST_N / 2, x, TEST_BYTES / 2, cudaMemcpyDeviceToDevice));
    assert_int_equal(tlm_host_total(), 1);
    tlm_host_reset();
    tlm_host_quiet(0);
    cudaStream_t stream = test_stream();
    GOOD(cudaStreamDestroy(stream));
    FAILS(cudaMemcpyAsync(x, host, 4, cudaMemcpyHostToDevice, stream),
          cudaErrorInvalidResourceHandle);
    FAILS(cudaStreamDestroy(stream), cudaErrorInvalidResourceHandle);
    GOOD(cudaFree(x));
    FAILS(cudaMemcpy(x, host, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    GOOD(cudaFreeHost(pinned));
}

static void test_launches(void **)
{
    const test_library library;
    const cudaKernel_t fill = library.kernel("test_fill");
    float *y = test_device();
    GOOD(test_launch(fill, nullptr, test_fill_args{ y, 3, TEST_N }));
    test_expect(y, 3);
    cudaKernel_t none = nullptr;
    FAILS(cudaLibraryGetKernel(&none, library.library, "test_none"), cudaErrorSymbolNotFound);
    assert_null(none);
    cudaFuncAttributes attributes;
    GOOD(cudaFuncGetAttributes(&attributes, (const void *)fill));
    assert_int_equal(attributes.maxThreadsPerBlock, 256);
    GOOD(cudaFree(y));
}

/* What no device takes fails at the launch. */
static void test_launch_limits(void **)
{
    const test_library library;
    const cudaKernel_t fill = library.kernel("test_fill");
    test_fill_args args = { nullptr, 0, 0 };
    void *pointers[] = { &args };
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(1);
    config.blockDim = dim3(256);
    const auto launch = [&] { return cudaLaunchKernelExC(&config, (const void *)fill, pointers); };
    GOOD(launch());
    config.gridDim = dim3(0);
    FAILS(launch(), cudaErrorInvalidConfiguration);
    config.gridDim = dim3(1, 65536);
    FAILS(launch(), cudaErrorInvalidConfiguration);
    config.gridDim = dim3(1);
    config.blockDim = dim3(1025);
    FAILS(launch(), cudaErrorInvalidConfiguration);
    config.blockDim = dim3(512);
    FAILS(launch(), cudaErrorLaunchOutOfResources);
    config.blockDim = dim3(256);
    config.dynamicSmemBytes = 48 << 10;
    GOOD(launch());
    config.dynamicSmemBytes = (48 << 10) + 1;
    FAILS(launch(), cudaErrorInvalidValue);
    GOOD(cudaFuncSetAttribute((const void *)fill, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              16 << 10));
    config.dynamicSmemBytes = 16 << 10;
    GOOD(launch());
    config.dynamicSmemBytes = (16 << 10) + 1;
    FAILS(launch(), cudaErrorInvalidValue);
    FAILS(cudaFuncSetAttribute((const void *)fill, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               228 << 10),
          cudaErrorInvalidValue);
    config.dynamicSmemBytes = 0;
    FAILS(cudaLaunchKernelExC(&config, nullptr, pointers), cudaErrorInvalidDeviceFunction);
    FAILS(cudaLaunchKernelExC(&config, (const void *)fill, nullptr), cudaErrorInvalidValue);
}

static cudaError_t load_image(cudaLibrary_t *library, const char *image)
{
    return cudaLibraryLoadData(library, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
}

static void test_images(void **)
{
    cudaLibrary_t library = nullptr;
    FAILS(load_image(&library, "\177ELF...."), cudaErrorInvalidKernelImage);
    FAILS(load_image(&library, "no PTX at all\n"), cudaErrorInvalidPtx);
    assert_null(library);
    cudaKernel_t kernel = nullptr;
    {
        const test_library gone;
        library = gone.library;
        kernel = gone.kernel("test_fill");
    }
    FAILS(cudaLibraryUnload(library), cudaErrorInvalidResourceHandle);
    FAILS(test_launch(kernel, nullptr, test_fill_args{ nullptr, 0, 0 }),
          cudaErrorInvalidDeviceFunction);
}

static const char ptx_image[] = R"(//
.version 8.0
.target sm_80
.address_size 64
.visible .entry ptx_fill(.param .align 8 .b8 ptx_fill_param_0[16])
.maxntid 256, 1, 1
{
    .reg .pred %p<2>;
    .reg .f32 %f<2>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [ptx_fill_param_0];
    ld.param.f32 %f1, [ptx_fill_param_0+8];
    ld.param.u32 %r1, [ptx_fill_param_0+12];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra $L__BB0_2;
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.u32 %rd3, %r5, 4;
    add.s64 %rd4, %rd2, %rd3;
    st.global.f32 [%rd4], %f1;
$L__BB0_2:
    ret;
}
)";

/* PTX text runs in the interpreter, with the same limits and faults. */
static void test_ptx(void **)
{
    cudaLibrary_t library = nullptr;
    cudaKernel_t fill = nullptr;
    float *y = test_device();
    tlm_host_capability(75);
    FAILS(load_image(&library, ptx_image), cudaErrorNoKernelImageForDevice);
    tlm_host_capability(90);
    GOOD(load_image(&library, ptx_image));
    FAILS(cudaLibraryGetKernel(&fill, library, "test_fill"), cudaErrorSymbolNotFound);
    GOOD(cudaLibraryGetKernel(&fill, library, "ptx_fill"));
    cudaFuncAttributes attributes;
    GOOD(cudaFuncGetAttributes(&attributes, (const void *)fill));
    assert_int_equal(attributes.maxThreadsPerBlock, 256);
    tlm_host_defer(1);
    GOOD(test_launch(fill, nullptr, test_fill_args{ y, 3, TEST_N }));
    /* a library may go while its work is queued */
    GOOD(cudaLibraryUnload(library));
    test_expect(y, 3);
    tlm_host_defer(0);
    GOOD(load_image(&library, ptx_image));
    GOOD(cudaLibraryGetKernel(&fill, library, "ptx_fill"));
    tlm_host_quiet(1);
    GOOD(test_launch(fill, nullptr, test_fill_args{ y, 4, TEST_N + 1 })); /* one too many */
    assert_int_equal(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
    assert_int_equal(tlm_host_count(TLM_HOST_TRAP), 1);
    tlm_host_reset();
    tlm_host_quiet(0);
    tlm_host_forgive();
    GOOD(cudaLibraryUnload(library));
    GOOD(cudaFree(y));
}

/* The arguments are those of the call. */
static void test_args_are_copied(void **)
{
    const test_library library;
    const cudaKernel_t fill = library.kernel("test_fill");
    float *y = test_device();
    tlm_host_defer(1);
    test_fill_args args = { y, 5, TEST_N };
    void *pointers[] = { &args };
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(2);
    config.blockDim = dim3(256);
    GOOD(cudaLaunchKernelExC(&config, (const void *)fill, pointers));
    args.y = nullptr;
    args.value = 6;
    test_expect(y, 5);
    GOOD(cudaFree(y));
}

/* A kernel that failed: every call says so from the next wait on, and nothing more is done. */
static void fault_sticks(uint64_t seed)
{
    float *y = test_device();
    {
        const test_library library;
        const cudaKernel_t trap = library.kernel("test_trap");
        const cudaKernel_t fill = library.kernel("test_fill");
        GOOD(test_launch(fill, nullptr, test_fill_args{ y, 1, TEST_N }));
        GOOD(cudaDeviceSynchronize());
        tlm_host_defer(seed);
        tlm_host_quiet(1);
        GOOD(test_launch(trap, nullptr, test_trap_args{ 1 }));
        assert_int_equal(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
        assert_int_equal(cudaGetLastError(), cudaErrorLaunchFailure);
        assert_int_equal(cudaGetLastError(), cudaErrorLaunchFailure);
        void *memory = nullptr;
        assert_int_equal(cudaMalloc(&memory, 4), cudaErrorLaunchFailure);
        assert_int_equal(test_launch(fill, nullptr, test_fill_args{ y, 2, TEST_N }),
                         cudaErrorLaunchFailure);
        assert_int_equal(tlm_host_count(TLM_HOST_TRAP), 1);
        tlm_host_reset();
        tlm_host_quiet(0);
        tlm_host_forgive();
    }
    test_expect(y, 1);
    GOOD(cudaFree(y));
}

static void test_fault(void **)
{
    fault_sticks(0);
    fault_sticks(3);
}

/* ---- failures on purpose */

static bool call_failed(bool *failed, cudaError_t error)
{
    *failed = *failed || error != cudaSuccess;
    return error != cudaSuccess;
}

/* A program that checks every status and gives everything back. */
static bool careful_program(void)
{
    bool failed = false;
    void *x = nullptr, *pinned = nullptr;
    cudaStream_t stream = nullptr;
    cudaLibrary_t library = nullptr;
    cudaKernel_t fill = nullptr;
    if (!call_failed(&failed, cudaMalloc(&x, TEST_BYTES)) &&
        !call_failed(&failed, cudaHostAlloc(&pinned, TEST_BYTES, 0)) &&
        !call_failed(&failed, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)) &&
        !call_failed(&failed, cudaLibraryLoadData(&library, "TLM-CUDA-HOST", nullptr, nullptr, 0,
                                                  nullptr, nullptr, 0)) &&
        !call_failed(&failed, cudaLibraryGetKernel(&fill, library, "test_fill")) &&
        !call_failed(&failed, test_launch(fill, stream, test_fill_args{ (float *)x, 2, TEST_N })) &&
        !call_failed(&failed,
                     cudaMemcpyAsync(pinned, x, TEST_BYTES, cudaMemcpyDeviceToHost, stream)) &&
        !call_failed(&failed, cudaStreamSynchronize(stream)))
        assert_true(((float *)pinned)[TEST_N - 1] == 2);
    if (library != nullptr)
        call_failed(&failed, cudaLibraryUnload(library));
    if (stream != nullptr)
        call_failed(&failed, cudaStreamDestroy(stream));
    call_failed(&failed, cudaFreeHost(pinned));
    call_failed(&failed, cudaFree(x));
    return !failed;
}

static void test_failures(void **)
{
    unsigned walked = 0;
    for (uint64_t n = 1;; n++) {
        tlm_host_fail(n);
        tlm_host_calls_reset();
        const bool succeeded = careful_program();
        assert_int_equal(tlm_host_leaks(nullptr, 0), 0);
        if (tlm_host_calls(nullptr) < n) {
            assert_true(succeeded);
            break;
        }
        assert_false(succeeded);
        assert_int_not_equal(cudaGetLastError(), cudaSuccess);
        walked++;
    }
    tlm_host_fail(0);
    assert_int_equal(walked, 12);
    void *memory = nullptr;
    tlm_host_fail(1);
    FAILS(cudaMalloc(&memory, 4), cudaErrorMemoryAllocation);
    tlm_host_fail(1);
    FAILS(cudaDeviceSynchronize(), cudaErrorUnknown);
    GOOD(cudaDeviceSynchronize());
}

static void test_call_counts(void **)
{
    tlm_host_calls_reset();
    float *x = test_device();
    GOOD(cudaFree(x));
    GOOD(cudaFree(nullptr));
    assert_int_equal(tlm_host_calls("cudaMalloc"), 1);
    assert_int_equal(tlm_host_calls("cudaFree"), 2);
    assert_int_equal(tlm_host_calls("cudaMemcpy"), 0);
    assert_int_equal(tlm_host_calls(nullptr), 3);
}

static void test_threads(void **)
{
    std::vector<std::thread> threads;
    int wrong[4] = { 0 };
    for (int t = 0; t < 4; t++) {
        threads.emplace_back([t, &wrong] {
            for (int i = 0; i < 50; i++) {
                void *memory = nullptr;
                const float value = (float)t;
                float back = -1;
                wrong[t] += cudaMalloc(&memory, 64) != cudaSuccess;
                wrong[t] += cudaMemcpy(memory, &value, 4, cudaMemcpyHostToDevice) != cudaSuccess;
                wrong[t] += cudaMemcpy(&back, memory, 4, cudaMemcpyDeviceToHost) != cudaSuccess;
                wrong[t] += cudaFree(memory) != cudaSuccess || back != value;
            }
        });
    }
    for (std::thread &thread : threads)
        thread.join();
    for (int count : wrong)
        assert_int_equal(count, 0);
}

/* ---- whole processes: this program run again with a word that says what to do */

static const char *self;

struct outcome {
    int status; /* exit status, or 128 + the signal */
    std::string stderr_text;
};

static outcome run_again(const char *word, const char *name, const char *value)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 2);
        close(ends[0]);
        close(ends[1]);
        setenv(name, value, 1);
        execl(self, self, word, (char *)nullptr);
        _exit(126);
    }
    close(ends[1]);
    outcome seen = { 0, "" };
    char part[512];
    for (ssize_t got = 0; (got = read(ends[0], part, sizeof part)) > 0;)
        seen.stderr_text.append(part, (size_t)got);
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    seen.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return seen;
}

static void test_leaks(void **)
{
    outcome seen = run_again("leak", "TLM_HOST_LEAKS", "1");
    assert_int_equal(seen.status, TLM_HOST_LEAK_EXIT);
    assert_string_equal(seen.stderr_text.c_str(), "cuda-host: leak: device memory: 2, 128 bytes\n"
                                                  "cuda-host: leak: pinned memory: 1, 10 bytes\n"
                                                  "cuda-host: leak: streams: 1\n"
                                                  "cuda-host: leak: events: 1\n"
                                                  "cuda-host: leak: graphs: 1\n"
                                                  "cuda-host: leak: executable graphs: 1\n"
                                                  "cuda-host: leak: libraries: 1\n"
                                                  "cuda-host: leak: cuBLAS handles: 1\n");
    seen = run_again("leak", "TLM_HOST_LEAKS", "0");
    assert_int_equal(seen.status, 0);
    assert_string_equal(seen.stderr_text.c_str(), "");
    seen = run_again("clean", "TLM_HOST_LEAKS", "1");
    assert_int_equal(seen.status, 0);
}

static void test_environment(void **)
{
    assert_int_equal(run_again("clean", "TLM_HOST_CUDA", "no-driver").status,
                     cudaErrorInsufficientDriver);
    assert_int_equal(run_again("clean", "TLM_HOST_FAIL", "1").status, cudaErrorMemoryAllocation);
    assert_int_equal(run_again("clean", "TLM_HOST_FAIL", "2").status, 255 & cudaErrorUnknown);
    assert_int_equal(run_again("clean", "TLM_HOST_FAIL", "3").status, 0);
    const outcome counted = run_again("clean", "TLM_HOST_CALLS", "1");
    assert_string_equal(counted.stderr_text.c_str(), "cuda-host: calls: cudaFree 1\n"
                                                     "cuda-host: calls: cudaMalloc 1\n");
    /* a value that plays nothing must not pass for a test */
    assert_int_equal(run_again("clean", "TLM_HOST_CUDA", "nodriver").status, 128 + SIGABRT);
    assert_int_equal(run_again("clean", "TLM_HOST_DEFER", "yes").status, 128 + SIGABRT);
    assert_int_equal(run_again("clean", "TLM_HOST_FAIL", "-1").status, 128 + SIGABRT);
}

/* Host code that reads through a device pointer works here unless the arena is guarded. */
static void test_guard(void **)
{
    assert_int_equal(run_again("touch", "TLM_HOST_GUARD", "0").status, 0);
    const outcome seen = run_again("touch", "TLM_HOST_GUARD", "1");
    assert_int_not_equal(seen.status, 0);
    assert_int_not_equal(seen.status, 126);
}

static int leak_everything(void)
{
    void *memory = nullptr;
    cudaStream_t stream = nullptr;
    cudaEvent_t event = nullptr;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    cudaLibrary_t library = nullptr;
    cublasHandle_t handle = nullptr;
    GOOD(cudaMalloc(&memory, 100));
    GOOD(cudaMalloc(&memory, 28));
    GOOD(cudaHostAlloc(&memory, 10, 0));
    GOOD(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    GOOD(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    GOOD(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    GOOD(cudaStreamEndCapture(stream, &graph));
    GOOD(cudaGraphInstantiate(&exec, graph, 0));
    GOOD(cudaLibraryLoadData(&library, "TLM-CUDA-HOST", nullptr, nullptr, 0, nullptr, nullptr, 0));
    assert_int_equal(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
    return 0;
}

static int touch(void)
{
    float *x = test_device();
    GOOD(cudaMemset(x, 0, TEST_BYTES));
    const volatile float *device = x;
    const float value = *device;
    GOOD(cudaFree(x));
    return value == 0 ? 0 : 1;
}

static int clean(void)
{
    void *memory = nullptr;
    const cudaError_t taken = cudaMalloc(&memory, 16);
    const cudaError_t freed = taken == cudaSuccess ? cudaFree(memory) : taken;
    return 255 & (int)freed;
}

int main(int argc, char **argv)
{
    self = argv[0];
    if (argc > 1 && strcmp(argv[1], "leak") == 0)
        return leak_everything();
    if (argc > 1 && strcmp(argv[1], "touch") == 0)
        return touch();
    if (argc > 1)
        return clean();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_device_facts, test_clean),
        cmocka_unit_test_teardown(test_states, test_clean),
        cmocka_unit_test_teardown(test_error_texts, test_clean),
        cmocka_unit_test_teardown(test_memory, test_clean),
        cmocka_unit_test_teardown(test_fresh_memory, test_clean),
        cmocka_unit_test_teardown(test_out_of_memory, test_clean),
        cmocka_unit_test_teardown(test_pointer_attributes, test_clean),
        cmocka_unit_test_teardown(test_copy_checks, test_clean),
        cmocka_unit_test_teardown(test_launches, test_clean),
        cmocka_unit_test_teardown(test_launch_limits, test_clean),
        cmocka_unit_test_teardown(test_images, test_clean),
        cmocka_unit_test_teardown(test_ptx, test_clean),
        cmocka_unit_test_teardown(test_args_are_copied, test_clean),
        cmocka_unit_test_teardown(test_fault, test_clean),
        cmocka_unit_test_teardown(test_failures, test_clean),
        cmocka_unit_test_teardown(test_call_counts, test_clean),
        cmocka_unit_test_teardown(test_threads, test_clean),
        cmocka_unit_test_teardown(test_leaks, test_clean),
        cmocka_unit_test_teardown(test_environment, test_clean),
        cmocka_unit_test_teardown(test_guard, test_clean),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
