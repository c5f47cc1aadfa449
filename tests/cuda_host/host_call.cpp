/* One call of the host CUDA runtime from entry to return: the lock, the count of calls, the states
   of a machine without a device, failures on purpose, faults that stick, the last error of a
   thread, what is reported at exit.  Settings come from the environment (host_cudart.h); a value
   that is not understood ends the process, since a test that plays nothing would pass. */
#include "host_runtime.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include <unistd.h>

/* Made at the first call and never destroyed: objects of the program may call at exit. */
struct call_state {
    std::recursive_mutex lock;
    std::map<std::string, uint64_t> calls;
    cudaError_t fault = cudaSuccess;
    host_settings settings;
};

typedef std::lock_guard<std::recursive_mutex> hold;

static thread_local cudaError_t last_error = cudaSuccess;

[[noreturn]] static void refuse_setting(const char *name, const char *value)
{
    fprintf(stderr, "cuda-host: %s is '%s'\n", name, value);
    abort();
}

static uint64_t number_from(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    if (text == nullptr || *text == '\0')
        return otherwise;
    char *end = nullptr;
    const uint64_t number = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0')
        refuse_setting(name, text);
    return number;
}

struct machine_state {
    const char *name;
    cudaError_t error;
    int driver_version;
};

/* What the real runtime answered in each state; the version of a driver that fails is its own. */
static const machine_state machine_states[] = {
    { "no-driver", cudaErrorInsufficientDriver, 0 },
    { "old-driver", cudaErrorInsufficientDriver, 11000 },
    { "stub-library", cudaErrorStubLibrary, 0 },
    { "no-device", cudaErrorNoDevice, 0 },
    { "driver-failed", cudaErrorUnknown, 13000 },
};

static void play_state(host_settings &settings, const char *name)
{
    settings.device_error = cudaSuccess;
    settings.driver_version = 13000;
    if (name == nullptr || *name == '\0')
        return;
    for (const machine_state &state : machine_states) {
        if (strcmp(state.name, name) == 0) {
            settings.device_error = state.error;
            settings.driver_version = state.driver_version;
            return;
        }
    }
    refuse_setting("TLM_HOST_CUDA", name);
}

static void set_capability(host_settings &settings, uint64_t cc)
{
    settings.major = (int)(cc / 10);
    settings.minor = (int)(cc % 10);
}

static host_settings settings_from_environment(void)
{
    host_settings settings;
    settings.defer = number_from("TLM_HOST_DEFER", 0);
    settings.fail_in = number_from("TLM_HOST_FAIL", 0);
    play_state(settings, getenv("TLM_HOST_CUDA"));
    set_capability(settings, number_from("TLM_HOST_CC", 90));
    settings.memory = (size_t)number_from("TLM_HOST_MEMORY", settings.memory);
    settings.print_calls = number_from("TLM_HOST_CALLS", 0) != 0;
    settings.leaks = number_from("TLM_HOST_LEAKS", 0) != 0;
    return settings;
}

static void report_at_exit(void);

static call_state &state_of_calls(void)
{
    static call_state *state = [] {
        call_state *made = new call_state;
        made->settings = settings_from_environment();
        atexit(report_at_exit);
        return made;
    }();
    return *state;
}

host_settings &host_setting(void)
{
    return state_of_calls().settings;
}

cudaError_t host_fault(void)
{
    return state_of_calls().fault;
}

void host_set_fault(cudaError_t error)
{
    state_of_calls().fault = error;
}

/* Counts down to the failure that was asked for. */
static bool fails_on_purpose(const char *name)
{
    host_settings &settings = host_setting();
    if (settings.fail_in == 0 || --settings.fail_in != 0)
        return false;
    fprintf(stderr, "cuda-host: failed on purpose: %s\n", name);
    return true;
}

host_call::host_call(const char *name, unsigned kinds)
{
    call_state &state = state_of_calls();
    state.lock.lock();
    state.calls[name]++;
    cudaError_t error = cudaSuccess;
    if (fails_on_purpose(name))
        error = (kinds & HOST_ALLOCATES) != 0 ? cudaErrorMemoryAllocation : cudaErrorUnknown;
    else if ((kinds & HOST_NO_DEVICE) == 0)
        error = state.fault;
    if ((kinds & HOST_RELEASES) != 0)
        late = error;
    else
        refusal = error;
    if ((kinds & HOST_NO_DEVICE) == 0 && state.settings.device_error != cudaSuccess)
        refusal = state.settings.device_error;
    if ((kinds & HOST_UNSAFE) != 0 && refusal == cudaSuccess)
        refusal = host_capture_forbids();
}

host_call::~host_call()
{
    state_of_calls().lock.unlock();
}

cudaError_t host_call::end(cudaError_t error) const
{
    if (refusal != cudaSuccess)
        error = refusal;
    else if (error == cudaSuccess)
        error = late;
    /* Not ready is an answer, not an error to remember. */
    if (error != cudaSuccess && error != cudaErrorNotReady)
        last_error = error;
    return error;
}

/* ---- errors by name */

struct error_row {
    cudaError_t code;
    const char *name, *text;
};

#define ERROR_ROW(code, text) \
    {                         \
        code, #code, text     \
    }

/* The texts of libcudart 13.0; test_cudart compares them where the library is at hand. */
static const error_row error_rows[] = {
    ERROR_ROW(cudaSuccess, "no error"),
    ERROR_ROW(cudaErrorInvalidValue, "invalid argument"),
    ERROR_ROW(cudaErrorMemoryAllocation, "out of memory"),
    ERROR_ROW(cudaErrorInitializationError, "initialization error"),
    ERROR_ROW(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    ERROR_ROW(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    ERROR_ROW(cudaErrorStubLibrary, "CUDA driver is a stub library"),
    ERROR_ROW(cudaErrorInsufficientDriver,
              "CUDA driver version is insufficient for CUDA runtime version"),
    ERROR_ROW(cudaErrorInvalidDeviceFunction, "invalid device function"),
    ERROR_ROW(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    ERROR_ROW(cudaErrorInvalidDevice, "invalid device ordinal"),
    ERROR_ROW(cudaErrorInvalidKernelImage, "device kernel image is invalid"),
    ERROR_ROW(cudaErrorNoKernelImageForDevice,
              "no kernel image is available for execution on the device"),
    ERROR_ROW(cudaErrorInvalidPtx, "a PTX JIT compilation failed"),
    ERROR_ROW(cudaErrorUnsupportedPtxVersion,
              "the provided PTX was compiled with an unsupported toolchain."),
    ERROR_ROW(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    ERROR_ROW(cudaErrorIllegalState, "the operation cannot be performed in the present state"),
    ERROR_ROW(cudaErrorSymbolNotFound, "named symbol not found"),
    ERROR_ROW(cudaErrorNotReady, "device not ready"),
    ERROR_ROW(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    ERROR_ROW(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    ERROR_ROW(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    ERROR_ROW(cudaErrorIllegalInstruction, "an illegal instruction was encountered"),
    ERROR_ROW(cudaErrorMisalignedAddress, "misaligned address"),
    ERROR_ROW(cudaErrorLaunchFailure, "unspecified launch failure"),
    ERROR_ROW(cudaErrorNotPermitted, "operation not permitted"),
    ERROR_ROW(cudaErrorNotSupported, "operation not supported"),
    ERROR_ROW(cudaErrorStreamCaptureUnsupported,
              "operation not permitted when stream is capturing"),
    ERROR_ROW(cudaErrorStreamCaptureInvalidated,
              "operation failed due to a previous error during capture"),
    ERROR_ROW(cudaErrorStreamCaptureMerge,
              "operation would result in a merge of separate capture sequences"),
    ERROR_ROW(cudaErrorStreamCaptureUnmatched,
              "capture was not ended in the same stream as it began"),
    ERROR_ROW(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
    ERROR_ROW(cudaErrorStreamCaptureIsolation,
              "dependency created on uncaptured work in another stream"),
    ERROR_ROW(cudaErrorStreamCaptureImplicit,
              "operation would make the legacy stream depend on a capturing blocking stream"),
    ERROR_ROW(cudaErrorCapturedEvent,
              "operation not permitted on an event last recorded in a capturing stream"),
    ERROR_ROW(cudaErrorStreamCaptureWrongThread,
              "attempt to terminate a thread-local capture sequence from another thread"),
    ERROR_ROW(cudaErrorUnknown, "unknown error"),
};

static const error_row *row_of(cudaError_t code)
{
    for (const error_row &row : error_rows)
        if (row.code == code)
            return &row;
    return nullptr;
}

extern "C" const char *cudaGetErrorName(cudaError_t code)
{
    const error_row *row = row_of(code);
    return row != nullptr ? row->name : "unrecognized error code";
}

extern "C" const char *cudaGetErrorString(cudaError_t code)
{
    const error_row *row = row_of(code);
    return row != nullptr ? row->text : "unrecognized error code";
}

extern "C" cudaError_t cudaGetLastError(void)
{
    const hold held(state_of_calls().lock);
    const cudaError_t error = last_error;
    last_error = host_fault();
    return error;
}

extern "C" cudaError_t cudaPeekAtLastError(void)
{
    return last_error;
}

/* ---- what tests set and ask */

void tlm_host_defer(uint64_t seed)
{
    const hold held(state_of_calls().lock);
    host_drain_all();
    host_setting().defer = seed;
    host_reseed(seed);
}

void tlm_host_fail(uint64_t n)
{
    const hold held(state_of_calls().lock);
    host_setting().fail_in = n;
}

void tlm_host_forgive(void)
{
    const hold held(state_of_calls().lock);
    host_drain_all();
    host_set_fault(cudaSuccess);
    last_error = cudaSuccess;
}

void tlm_host_play(const char *state)
{
    const hold held(state_of_calls().lock);
    play_state(host_setting(), state);
}

void tlm_host_capability(int cc)
{
    const hold held(state_of_calls().lock);
    set_capability(host_setting(), (uint64_t)cc);
}

void tlm_host_set_memory(size_t bytes)
{
    const hold held(state_of_calls().lock);
    host_setting().memory = bytes;
}

uint64_t tlm_host_calls(const char *name)
{
    const hold held(state_of_calls().lock);
    uint64_t sum = 0;
    for (const auto &[called, count] : state_of_calls().calls)
        if (name == nullptr || called == name)
            sum += count;
    return sum;
}

void tlm_host_calls_reset(void)
{
    const hold held(state_of_calls().lock);
    state_of_calls().calls.clear();
}

size_t tlm_host_leaks(char *text, size_t capacity)
{
    const hold held(state_of_calls().lock);
    const host_held kinds[] = {
        host_held_device(), host_held_pinned(), host_held_streams(),   host_held_events(),
        host_held_graphs(), host_held_execs(),  host_held_libraries(), host_held_cublas(),
    };
    std::string lines;
    size_t sum = 0;
    for (const host_held &kind : kinds) {
        if (kind.count == 0)
            continue;
        sum += kind.count;
        lines += std::string("cuda-host: leak: ") + kind.what + ": " + std::to_string(kind.count);
        lines += kind.bytes != 0 ? ", " + std::to_string(kind.bytes) + " bytes\n" : "\n";
    }
    if (text != nullptr && capacity != 0)
        snprintf(text, capacity, "%s", lines.c_str());
    return sum;
}

static void report_at_exit(void)
{
    const host_settings &settings = host_setting();
    if (settings.print_calls)
        for (const auto &[name, count] : state_of_calls().calls)
            fprintf(stderr, "cuda-host: calls: %s %llu\n", name.c_str(), (unsigned long long)count);
    char text[1024];
    if (!settings.leaks || tlm_host_leaks(text, sizeof text) == 0)
        return;
    fputs(text, stderr);
    /* exit() is already running: what is buffered is written here */
    fflush(nullptr);
    _exit(TLM_HOST_LEAK_EXIT);
}
