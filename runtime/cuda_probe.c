/* The state of the CUDA runtime in a native build: whether a device can be used and why not, the
   switch of deterministic reductions, and CUDA's errors as messages. */
#include "cuda_probe.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

tlm_status tlm_cuda_result(char *error, cudaError_t code, const char *place, const char *doing)
{
    if (code == cudaSuccess)
        return TLM_OK;
    cudaGetLastError(); /* an error that was reported must not be found again by someone else */
    return tlm_cuda_fail(error, TLM_ERR_DEVICE, "%s%s%s: %s (%s)", place ? place : "",
                         place ? ": " : "", cudaGetErrorName(code), cudaGetErrorString(code),
                         doing);
}

/* The same code means "no driver" and "old driver"; the driver's version tells which. */
static tlm_cuda_cause probe_cause(cudaError_t code, int count, int driver)
{
    if (code == cudaSuccess)
        return count > 0 ? TLM_CUDA_CAUSE_NONE : TLM_CUDA_CAUSE_NO_VISIBLE_DEVICE;
    if (code == cudaErrorInsufficientDriver)
        return driver > 0 ? TLM_CUDA_CAUSE_DRIVER_TOO_OLD : TLM_CUDA_CAUSE_NO_DRIVER;
    if (code == cudaErrorStubLibrary)
        return TLM_CUDA_CAUSE_STUB_LIBRARY;
    if (code == cudaErrorNoDevice)
        return TLM_CUDA_CAUSE_NO_VISIBLE_DEVICE;
    return TLM_CUDA_CAUSE_DRIVER_FAILED;
}

tlm_cuda_cause tlm_cuda_runtime_cause(char *text)
{
    char detail[TLM_ERROR_BYTES];
    int count = 0, driver = 0, runtime = 0; /* CUDA leaves them alone when it fails */
    const cudaError_t code = cudaGetDeviceCount(&count);
    tlm_cuda_cause cause;

    if (code != cudaSuccess)
        cudaGetLastError();
    if (cudaDriverGetVersion(&driver) != cudaSuccess || cudaRuntimeGetVersion(&runtime))
        cudaGetLastError();
    cause = probe_cause(code, count, driver);
    if (text) {
        snprintf(detail, sizeof detail, "%s: %s", cudaGetErrorName(code), cudaGetErrorString(code));
        tlm_cuda_cause_text(cause, driver, runtime, detail, text);
    }
    return cause;
}

tlm_cuda_state tlm_cuda_runtime_status(void)
{
    return tlm_cuda_runtime_cause(NULL) == TLM_CUDA_CAUSE_NONE ? TLM_CUDA_NATIVE
                                                               : TLM_CUDA_NO_DEVICE;
}

/* ---- deterministic reductions: a setting of the process */

enum { PROBE_BY_ENVIRONMENT = -1 };

static atomic_int probe_deterministic = PROBE_BY_ENVIRONMENT;

int tlm_cuda_set_deterministic_reductions(int on)
{
    atomic_store(&probe_deterministic, on != 0);
    return on != 0;
}

int tlm_cuda_get_deterministic_reductions(void)
{
    const int set = atomic_load(&probe_deterministic);

    if (set != PROBE_BY_ENVIRONMENT)
        return set;
    return tlm_cuda_parse_switch(getenv("TLM_CUDA_DETERMINISTIC_REDUCTIONS"));
}
