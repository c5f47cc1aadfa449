/* Libraries, kernels and launches of the host CUDA runtime.  The image "TLM-CUDA-HOST" stands for
   all kernels of this executable or shared object that TLM_KERNEL registered; PTX text is run by
   the interpreter (ptx.h) where it is linked in.  Cubins and fatbins cannot run here and are
   refused.

   Arguments are copied at the launch, as many bytes as the kernel takes.  A launch that no device
   takes fails at once; what a kernel does wrong shows at a later call. */
#include "host_device.h"
#include "host_runtime.h"
#include "ptx.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

/* In libraries without the interpreter its functions are not there. */
#ifndef TLM_HOST_PTX
#define TLM_HOST_PTX 0
#endif
#if !TLM_HOST_PTX
#pragma weak ptx_load
#pragma weak ptx_free
#pragma weak ptx_target
#pragma weak ptx_find
#pragma weak ptx_param_count
#pragma weak ptx_param_bytes
#pragma weak ptx_max_threads
#pragma weak ptx_shared_bytes
#pragma weak ptx_local_bytes
#pragma weak ptx_run
#endif

struct CUkern_st {
    struct CUlib_st *library;
    std::string name;
    const tlm_host_kernel *host; /* one of the two */
    const ptx_kernel *ptx;
    size_t shared_allowed = HOST_SHARED; /* dynamic */
};

struct CUlib_st {
    bool live = true;
    std::shared_ptr<ptx_module> ptx; /* NULL: the kernels of this process */
    std::map<std::string, CUkern_st *> kernels;
};

static size_t libraries_live;

static const char host_image[] = "TLM-CUDA-HOST";

/* ---- libraries */

static cudaError_t load_ptx(CUlib_st &library, const char *text)
{
    if (!TLM_HOST_PTX && ptx_load == nullptr) {
        fprintf(stderr, "cuda-host: PTX, but the interpreter is not linked in\n");
        return cudaErrorInvalidPtx;
    }
    char error[PTX_ERROR_BYTES];
    ptx_module *module = ptx_load(text, strlen(text), error);
    if (module == nullptr) {
        fprintf(stderr, "cuda-host: %s\n", error);
        return cudaErrorInvalidPtx;
    }
    library.ptx = std::shared_ptr<ptx_module>(module, ptx_free);
    const uint32_t device = (uint32_t)(host_setting().major * 10 + host_setting().minor);
    return ptx_target(module) > device ? cudaErrorNoKernelImageForDevice : cudaSuccess;
}

static bool is_binary(const void *code)
{
    static const unsigned char fatbin[] = { 0x50, 0xed, 0x55, 0xba };
    return memcmp(code, "\177ELF", 4) == 0 || memcmp(code, fatbin, sizeof fatbin) == 0;
}

static cudaError_t load(CUlib_st &library, const void *code)
{
    if (is_binary(code)) {
        fprintf(stderr, "cuda-host: a cubin or fatbin cannot run on the host\n");
        return cudaErrorInvalidKernelImage;
    }
    if (strncmp((const char *)code, host_image, strlen(host_image)) == 0)
        return cudaSuccess;
    return load_ptx(library, (const char *)code);
}

extern "C" cudaError_t cudaLibraryLoadData(cudaLibrary_t *out, const void *code,
                                           enum cudaJitOption *, void **, unsigned jit_options,
                                           enum cudaLibraryOption *, void **, unsigned options)
{
    const host_call call("cudaLibraryLoadData", HOST_ALLOCATES | HOST_UNSAFE);
    if (call.refused())
        return call.end();
    if (out == nullptr || code == nullptr)
        return call.end(cudaErrorInvalidValue);
    if (jit_options != 0 || options != 0) {
        fprintf(stderr, "cuda-host: options of cudaLibraryLoadData are not played\n");
        return call.end(cudaErrorNotSupported);
    }
    CUlib_st *library = host_keep(new CUlib_st);
    const cudaError_t error = load(*library, code);
    if (error != cudaSuccess) {
        library->live = false;
        library->ptx = nullptr;
        return call.end(error);
    }
    libraries_live++;
    *out = library;
    return call.end();
}

static bool library_lives(cudaLibrary_t library)
{
    return library != nullptr && library->live;
}

/* Queued launches keep the module. */
extern "C" cudaError_t cudaLibraryUnload(cudaLibrary_t library)
{
    const host_call call("cudaLibraryUnload", HOST_RELEASES | HOST_UNSAFE);
    if (call.refused() || !library_lives(library))
        return call.end(cudaErrorInvalidResourceHandle);
    library->live = false;
    library->ptx = nullptr;
    libraries_live--;
    return call.end();
}

extern "C" cudaError_t cudaLibraryGetKernel(cudaKernel_t *out, cudaLibrary_t library,
                                            const char *name)
{
    const host_call call("cudaLibraryGetKernel");
    if (call.refused())
        return call.end();
    if (!library_lives(library))
        return call.end(cudaErrorInvalidResourceHandle);
    if (out == nullptr || name == nullptr)
        return call.end(cudaErrorInvalidValue);
    CUkern_st *&kernel = library->kernels[name];
    if (kernel == nullptr) {
        const tlm_host_kernel *host = nullptr;
        const ptx_kernel *ptx = nullptr;
        if (library->ptx != nullptr)
            ptx = ptx_find(library->ptx.get(), name);
        else
            host = tlm_host_find_kernel(name);
        if (host == nullptr && ptx == nullptr) {
            library->kernels.erase(name);
            return call.end(cudaErrorSymbolNotFound);
        }
        kernel = host_keep(new CUkern_st{ library, name, host, ptx });
    }
    *out = kernel;
    return call.end();
}

/* ---- facts of a kernel */

static bool kernel_lives(const CUkern_st *kernel)
{
    return kernel != nullptr && kernel->library->live;
}

static unsigned max_threads_of(const CUkern_st &kernel)
{
    return kernel.host != nullptr ? kernel.host->max_threads : ptx_max_threads(kernel.ptx);
}

/* Bytes of each argument. */
static std::vector<size_t> sizes_of(const CUkern_st &kernel)
{
    if (kernel.host != nullptr)
        return { kernel.host->arg_bytes };
    std::vector<size_t> sizes;
    for (uint32_t i = 0; i < ptx_param_count(kernel.ptx); i++)
        sizes.push_back(ptx_param_bytes(kernel.ptx, i));
    return sizes;
}

extern "C" cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute,
                                            int value)
{
    const host_call call("cudaFuncSetAttribute");
    if (call.refused())
        return call.end();
    union {
        const void *function;
        CUkern_st *kernel;
    } of = { function };
    if (!kernel_lives(of.kernel))
        return call.end(cudaErrorInvalidDeviceFunction);
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) {
        fprintf(stderr, "cuda-host: the attribute %d of kernels is not played\n", (int)attribute);
        return call.end(cudaErrorNotSupported);
    }
    if (value < 0 || value > HOST_SHARED_OPTIN)
        return call.end(cudaErrorInvalidValue);
    of.kernel->shared_allowed = (size_t)value;
    return call.end();
}

/* Registers are a guess: nothing here has any. */
extern "C" cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes,
                                             const void *function)
{
    const host_call call("cudaFuncGetAttributes");
    if (call.refused())
        return call.end();
    const CUkern_st *kernel = (const CUkern_st *)function;
    if (!kernel_lives(kernel))
        return call.end(cudaErrorInvalidDeviceFunction);
    memset(attributes, 0, sizeof *attributes);
    attributes->maxThreadsPerBlock = (int)max_threads_of(*kernel);
    attributes->maxDynamicSharedSizeBytes = (int)kernel->shared_allowed;
    attributes->numRegs = 32;
    attributes->binaryVersion = host_setting().major * 10 + host_setting().minor;
    attributes->ptxVersion = attributes->binaryVersion;
    if (kernel->ptx != nullptr) {
        attributes->sharedSizeBytes = ptx_shared_bytes(kernel->ptx);
        attributes->localSizeBytes = ptx_local_bytes(kernel->ptx);
    }
    return call.end();
}

extern "C" cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
                                                                     const void *function,
                                                                     int threads, size_t)
{
    const host_call call("cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    if (call.refused())
        return call.end();
    if (!kernel_lives((const CUkern_st *)function))
        return call.end(cudaErrorInvalidDeviceFunction);
    if (threads < 1 || threads > HOST_BLOCK_THREADS)
        return call.end(cudaErrorInvalidValue);
    *blocks = HOST_RESIDENT_THREADS / threads;
    return call.end();
}

/* ---- launches */

/* Copies of the arguments, each at a multiple of 16. */
struct launch {
    CUkern_st *kernel;
    std::shared_ptr<ptx_module> module; /* kept while the launch is queued */
    dim3 grid, block;
    size_t shared_bytes;
    std::vector<size_t> sizes, offsets;
    std::vector<max_align_t> bytes;

    void *arg(size_t i)
    {
        return (unsigned char *)bytes.data() + offsets[i];
    }
};

static void copy_args(launch &made, void **args)
{
    size_t end = 0;
    for (size_t size : made.sizes) {
        made.offsets.push_back(end);
        end += (size + 15) & ~(size_t)15;
    }
    made.bytes.resize(end / sizeof(max_align_t) + 1);
    for (size_t i = 0; i < made.sizes.size(); i++)
        memcpy(made.arg(i), args[i], made.sizes[i]);
}

/* The same order as the shim's threads: TLM_HOST_SCHEDULE. */
static void set_order(ptx_launch &run)
{
    const char *text = getenv("TLM_HOST_SCHEDULE");
    run.order = PTX_IN_ORDER;
    if (text != nullptr && strcmp(text, "reversed") == 0) {
        run.order = PTX_REVERSED;
    } else if (text != nullptr && strncmp(text, "random:", 7) == 0) {
        run.order = PTX_RANDOM;
        run.seed = strtoull(text + 7, nullptr, 10);
    }
}

static int holds(void *, const void *start, size_t bytes)
{
    return tlm_host_is_device(start, bytes);
}

static void wrote(void *, void *start, size_t bytes)
{
    tlm_host_mark_initialised(start, bytes);
}

static cudaError_t run_ptx(launch &made)
{
    ptx_launch run = {};
    run.grid[0] = made.grid.x;
    run.grid[1] = made.grid.y;
    run.grid[2] = made.grid.z;
    run.block[0] = made.block.x;
    run.block[1] = made.block.y;
    run.block[2] = made.block.z;
    run.shared_bytes = made.shared_bytes;
    std::vector<void *> args;
    for (size_t i = 0; i < made.sizes.size(); i++)
        args.push_back(made.arg(i));
    run.args = args.data();
    run.holds = holds;
    run.wrote = wrote;
    set_order(run);
    char error[PTX_ERROR_BYTES];
    const host_memory_open open;
    if (ptx_run(made.kernel->ptx, &run, error) == 0)
        return cudaSuccess;
    tlm_host_report(TLM_HOST_TRAP, made.kernel->name.c_str(), "%s", error);
    return cudaErrorLaunchFailure;
}

static cudaError_t run_launch(launch &made)
{
    if (made.kernel->ptx != nullptr)
        return run_ptx(made);
    const tlm_host_kernel &host = *made.kernel->host;
    return tlm_host_run(host.name, host.run, made.arg(0), host.arg_bytes, made.grid, made.block,
                        made.shared_bytes);
}

static cudaError_t check(const CUkern_st &kernel, const cudaLaunchConfig_t &config)
{
    if (config.numAttrs != 0) {
        fprintf(stderr, "cuda-host: launch attributes are not played\n");
        return cudaErrorNotSupported;
    }
    if (config.dynamicSmemBytes > kernel.shared_allowed)
        return cudaErrorInvalidValue;
    size_t arg_bytes = 0;
    for (size_t size : sizes_of(kernel))
        arg_bytes += size;
    return tlm_host_check_launch(config.gridDim, config.blockDim, config.dynamicSmemBytes,
                                 arg_bytes, max_threads_of(kernel));
}

static cudaError_t launch_kernel(const cudaLaunchConfig_t *config, const void *function,
                                 void **args)
{
    union {
        const void *function;
        CUkern_st *kernel;
    } of = { function };
    if (config == nullptr || args == nullptr)
        return cudaErrorInvalidValue;
    if (!kernel_lives(of.kernel))
        return cudaErrorInvalidDeviceFunction;
    CUstream_st *stream = host_stream_of(config->stream);
    if (stream == nullptr)
        return cudaErrorInvalidResourceHandle;
    const cudaError_t error = check(*of.kernel, *config);
    if (error != cudaSuccess)
        return error;
    const auto made = std::make_shared<launch>();
    made->kernel = of.kernel;
    made->module = of.kernel->library->ptx;
    made->grid = config->gridDim;
    made->block = config->blockDim;
    made->shared_bytes = config->dynamicSmemBytes;
    made->sizes = sizes_of(*of.kernel);
    copy_args(*made, args);
    return host_put(stream, [made]() { return run_launch(*made); });
}

extern "C" cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function,
                                           void **args)
{
    const host_call call("cudaLaunchKernelExC");
    return call.refused() ? call.end() : call.end(launch_kernel(config, function, args));
}

host_held host_held_libraries(void)
{
    return { "libraries", libraries_live, 0 };
}
