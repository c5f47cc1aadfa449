/* Which GPU is here?  Asks the CUDA runtime as emitted programs do and prints what the first device
   is, one "name=value" a line.  Exit 77 with the reason and what to do when no device can be
   used: the number that ctest counts as skipped. */
#include "tlm_cuda.h"

#include <cuda_runtime_api.h>

#include <stdio.h>

enum { PROBE_SKIP = 77 };

static int attribute(enum cudaDeviceAttr which)
{
    int value = 0;

    return cudaDeviceGetAttribute(&value, which, 0) == cudaSuccess ? value : 0;
}

int main(void)
{
    static char text[TLM_ERROR_BYTES];
    struct cudaDeviceProp properties;
    size_t free_bytes = 0, total_bytes = 0;
    int driver = 0, runtime = 0;

    if (tlm_cuda_runtime_cause(text) != TLM_CUDA_CAUSE_NONE) {
        fprintf(stderr, "%s\n", text);
        return PROBE_SKIP;
    }
    if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess ||
        cudaMemGetInfo(&free_bytes, &total_bytes) != cudaSuccess) {
        fprintf(stderr, "the device is visible but does not answer: %s\n",
                cudaGetErrorString(cudaGetLastError()));
        return 1;
    }
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    printf("name=%s\n", properties.name);
    printf("arch=%d%d\n", properties.major, properties.minor);
    printf("driver=%d.%d\n", driver / 1000, driver % 1000 / 10);
    printf("runtime=%d.%d\n", runtime / 1000, runtime % 1000 / 10);
    printf("multiprocessors=%d\n", properties.multiProcessorCount);
    printf("clock_mhz=%d\n", attribute(cudaDevAttrClockRate) / 1000);
    printf("memory_clock_mhz=%d\n", attribute(cudaDevAttrMemoryClockRate) / 1000);
    printf("memory_bus_bits=%d\n", attribute(cudaDevAttrGlobalMemoryBusWidth));
    printf("l2_mib=%d\n", attribute(cudaDevAttrL2CacheSize) >> 20);
    printf("memory_mib=%zu\n", total_bytes >> 20);
    printf("memory_free_mib=%zu\n", free_bytes >> 20);
    return 0;
}
