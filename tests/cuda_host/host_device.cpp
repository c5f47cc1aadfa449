/* The one device of the host CUDA runtime: its number, versions, properties and attributes.  Limits
   are those of compute capability 9.0 whatever TLM_HOST_CC says: programs read them, launches are
   checked against them. */
#include "host_device.h"
#include "host_runtime.h"

#include <cstdio>
#include <cstring>

extern "C" cudaError_t cudaGetDeviceCount(int *count)
{
    const host_call call("cudaGetDeviceCount");
    if (call.refused())
        return call.end();
    if (count == nullptr)
        return call.end(cudaErrorInvalidValue);
    *count = 1;
    return call.end();
}

extern "C" cudaError_t cudaSetDevice(int device)
{
    const host_call call("cudaSetDevice");
    return call.end(device == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}

extern "C" cudaError_t cudaGetDevice(int *device)
{
    const host_call call("cudaGetDevice");
    if (call.refused())
        return call.end();
    *device = 0;
    return call.end();
}

extern "C" cudaError_t cudaDriverGetVersion(int *version)
{
    const host_call call("cudaDriverGetVersion", HOST_NO_DEVICE);
    if (call.refused())
        return call.end();
    *version = host_setting().driver_version;
    return call.end();
}

extern "C" cudaError_t cudaRuntimeGetVersion(int *version)
{
    const host_call call("cudaRuntimeGetVersion", HOST_NO_DEVICE);
    if (call.refused())
        return call.end();
    *version = CUDART_VERSION;
    return call.end();
}

extern "C" cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    const host_call call("cudaGetDeviceProperties");
    if (call.refused())
        return call.end();
    if (device != 0)
        return call.end(cudaErrorInvalidDevice);
    memset(properties, 0, sizeof *properties);
    snprintf(properties->name, sizeof properties->name, "host (no GPU)");
    properties->major = host_setting().major;
    properties->minor = host_setting().minor;
    properties->totalGlobalMem = host_setting().memory;
    properties->multiProcessorCount = HOST_MULTIPROCESSORS;
    properties->warpSize = 32;
    properties->maxThreadsPerBlock = HOST_BLOCK_THREADS;
    properties->maxThreadsDim[0] = HOST_BLOCK_THREADS;
    properties->maxThreadsDim[1] = HOST_BLOCK_THREADS;
    properties->maxThreadsDim[2] = HOST_BLOCK_DEPTH;
    properties->maxGridSize[0] = HOST_GRID_X;
    properties->maxGridSize[1] = HOST_GRID_YZ;
    properties->maxGridSize[2] = HOST_GRID_YZ;
    properties->sharedMemPerBlock = HOST_SHARED;
    properties->sharedMemPerBlockOptin = HOST_SHARED_OPTIN;
    properties->sharedMemPerMultiprocessor = HOST_SHARED_OPTIN + 1024;
    properties->regsPerBlock = HOST_REGISTERS;
    properties->regsPerMultiprocessor = HOST_REGISTERS;
    properties->maxThreadsPerMultiProcessor = HOST_RESIDENT_THREADS;
    properties->unifiedAddressing = 1;
    properties->concurrentKernels = 1;
    properties->asyncEngineCount = 2;
    return call.end();
}

struct attribute_row {
    cudaDeviceAttr attribute;
    int value;
};

static const attribute_row attribute_rows[] = {
    { cudaDevAttrMultiProcessorCount, HOST_MULTIPROCESSORS },
    { cudaDevAttrMaxSharedMemoryPerBlock, HOST_SHARED },
    { cudaDevAttrMaxSharedMemoryPerBlockOptin, HOST_SHARED_OPTIN },
    { cudaDevAttrMaxSharedMemoryPerMultiprocessor, HOST_SHARED_OPTIN + 1024 },
    { cudaDevAttrMaxRegistersPerBlock, HOST_REGISTERS },
    { cudaDevAttrMaxThreadsPerBlock, HOST_BLOCK_THREADS },
    { cudaDevAttrMaxThreadsPerMultiProcessor, HOST_RESIDENT_THREADS },
    { cudaDevAttrMaxGridDimX, HOST_GRID_X },
    { cudaDevAttrMaxGridDimY, HOST_GRID_YZ },
    { cudaDevAttrMaxGridDimZ, HOST_GRID_YZ },
    { cudaDevAttrWarpSize, 32 },
    { cudaDevAttrUnifiedAddressing, 1 },
    { cudaDevAttrConcurrentKernels, 1 },
};

extern "C" cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    const host_call call("cudaDeviceGetAttribute");
    if (call.refused())
        return call.end();
    if (device != 0)
        return call.end(cudaErrorInvalidDevice);
    if (attribute == cudaDevAttrComputeCapabilityMajor) {
        *value = host_setting().major;
        return call.end();
    }
    if (attribute == cudaDevAttrComputeCapabilityMinor) {
        *value = host_setting().minor;
        return call.end();
    }
    for (const attribute_row &row : attribute_rows) {
        if (row.attribute == attribute) {
            *value = row.value;
            return call.end();
        }
    }
    fprintf(stderr, "cuda-host: the attribute %d has no value here\n", (int)attribute);
    return call.end(cudaErrorNotSupported);
}

extern "C" cudaError_t cudaDeviceSynchronize(void)
{
    const host_call call("cudaDeviceSynchronize", HOST_UNSAFE);
    if (call.refused())
        return call.end();
    host_drain_all();
    return call.end(host_fault());
}
