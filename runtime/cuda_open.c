/* Opens and closes the session of an emitted model: device memory in one buffer, staging memory,
   one stream, the image for this device with its kernels, the probe of the arithmetic.  What is
   missing is refused with a text that says what to do; a session that could not be opened leaves
   nothing behind. */
#include "cuda_buffer.h"
#include "cuda_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPEN_PART = 256 }; /* alignment of the arena's parts */

/* ---- the image */

/* Is `image` for a device of this version, and better than `best`? */
static bool open_is_better(const tlm_cuda_image *image, const tlm_cuda_image *best, uint32_t device)
{
    /* compiled code before what the driver must choose or compile */
    static const int open_rank[] = {
        [TLM_CUDA_IMAGE_CUBIN] = 2, [TLM_CUDA_IMAGE_ANY] = 1, [TLM_CUDA_IMAGE_PTX] = 0
    };
    bool fits = true;

    if (image->kind == TLM_CUDA_IMAGE_CUBIN)
        fits = image->arch / 10 == device / 10 && image->arch <= device;
    else if (image->kind == TLM_CUDA_IMAGE_PTX)
        fits = image->arch <= device;
    if (!fits || !best)
        return fits;
    if (image->kind != best->kind)
        return open_rank[image->kind] > open_rank[best->kind];
    return image->arch > best->arch;
}

/* "sm_80 sm_90 compute_80" */
static void open_list_images(const tlm_cuda_needs *needs, char *text, size_t capacity)
{
    static const char *const open_kinds[] = { [TLM_CUDA_IMAGE_CUBIN] = "sm_",
                                              [TLM_CUDA_IMAGE_PTX] = "compute_",
                                              [TLM_CUDA_IMAGE_ANY] = "code from sm_" };
    size_t length = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < *needs->image_count && length < capacity; i++)
        length +=
            (size_t)snprintf(text + length, capacity - length, "%s%s%u", i > 0 ? " " : "",
                             open_kinds[needs->images[i].kind], (unsigned)needs->images[i].arch);
}

/* No image, or none in the fatbin, is for this device. */
static tlm_status open_no_code(const tlm_cuda_needs *needs, int major, int minor, char *error)
{
    char list[128];

    open_list_images(needs, list, sizeof list);
    return tlm_cuda_fail(error, TLM_ERR_DEVICE,
                         "no code for this device, sm_%d%d: the program has %s; build it with "
                         "--arch %d%d",
                         major, minor, *list ? list : "none", major, minor);
}

/* Loads the image for this device.  The driver keeps a copy of what it loads. */
static tlm_status open_library(struct tlm_cuda_session *session, char *error)
{
    const tlm_cuda_needs *const needs = session->needs;
    const tlm_cuda_image *image = NULL;
    int major = 0, minor = 0;
    cudaError_t code;
    tlm_status status =
        tlm_cuda_result(error,
                        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor,
                                               session->device),
                        NULL, "cudaDeviceGetAttribute");

    if (status == TLM_OK)
        status = tlm_cuda_result(error,
                                 cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor,
                                                        session->device),
                                 NULL, "cudaDeviceGetAttribute");
    for (uint32_t i = 0; status == TLM_OK && i < *needs->image_count; i++)
        if (open_is_better(&needs->images[i], image, (uint32_t)(10 * major + minor)))
            image = &needs->images[i];
    if (status != TLM_OK)
        return status;
    if (!image)
        return open_no_code(needs, major, minor, error);
    code = cudaLibraryLoadData(&session->library, image->data, NULL, NULL, 0, NULL, NULL, 0);
    if (code == cudaErrorNoKernelImageForDevice)
        return open_no_code(needs, major, minor, error);
    return tlm_cuda_result(error, code, NULL, "cudaLibraryLoadData of the kernels");
}

/* Looks one kernel up.  Asking for its attributes also loads its code, which the driver would else
   do at the first launch: that lies in a capture, where it may not. */
static tlm_status open_kernel(struct tlm_cuda_session *session, uint32_t number, char *error)
{
    const tlm_cuda_kernel *const kernel = &session->needs->kernels[number];
    struct cudaFuncAttributes attributes;
    tlm_status status;
    char doing[128];

    snprintf(doing, sizeof doing, "kernel %.100s", kernel->name);
    status = tlm_cuda_result(error,
                             cudaLibraryGetKernel(&session->kernels[number], session->library,
                                                  kernel->name),
                             NULL, doing);
    if (status == TLM_OK)
        status = tlm_cuda_result(error,
                                 cudaFuncGetAttributes(&attributes,
                                                       (const void *)session->kernels[number]),
                                 NULL, doing);
    if (status == TLM_OK && (uint32_t)attributes.maxThreadsPerBlock < kernel->threads)
        status = tlm_cuda_fail(error, TLM_ERR_DEVICE,
                               "%s runs with %d threads a block on this device, %u are needed",
                               doing, attributes.maxThreadsPerBlock, (unsigned)kernel->threads);
    return status;
}

static tlm_status open_load(struct tlm_cuda_session *session, char *error)
{
    tlm_status status = open_library(session, error);

    for (uint32_t i = 0; status == TLM_OK && i < session->needs->kernel_count; i++)
        status = open_kernel(session, i, error);
    return status;
}

/* ---- memory */

/* The next part of the arena: its offset, and *total behind it; false: more than there are
   addresses. */
static bool open_part(size_t *total, size_t bytes, size_t *offset)
{
    *offset = *total;
    if (bytes > SIZE_MAX - (OPEN_PART - 1) - *total)
        return false;
    *total = (*total + bytes + OPEN_PART - 1) / OPEN_PART * OPEN_PART;
    return true;
}

static tlm_status open_arena(tlm_cuda *cuda, char *error)
{
    struct tlm_cuda_session *const session = cuda->session;
    const tlm_cuda_needs *const needs = session->needs;
    size_t total = 0, weights, state, activations, tables, step, fault;
    unsigned char *base;
    tlm_status status;

    if (!open_part(&total, needs->weights_bytes, &weights) ||
        !open_part(&total, needs->state_bytes, &state) ||
        !open_part(&total, needs->activations_bytes, &activations) ||
        !open_part(&total, needs->tables_bytes, &tables) ||
        !open_part(&total, session->step_bytes, &step) ||
        !open_part(&total, 4 * sizeof(uint32_t), &fault))
        return tlm_cuda_fail(error, TLM_ERR_MEMORY, "more memory than there are addresses");
    status = tlm_cuda_buffer_new(&session->arena, total, error);
    if (status != TLM_OK)
        return status;
    base = tlm_cuda_buffer_address(session->arena);
    cuda->weights = base + weights;
    cuda->state = base + state;
    cuda->activations = base + activations;
    cuda->tables = base + tables;
    cuda->draws = (uint64_t *)(void *)(base + step);
    cuda->scalars = (float *)(void *)(base + step + 2 * sizeof(uint64_t));
    cuda->fault = (uint32_t *)(void *)(base + fault);
    return TLM_OK;
}

static size_t open_spans_bytes(const tlm_cuda_span *spans, uint32_t count)
{
    size_t bytes = 0;

    for (uint32_t i = 0; i < count; i++)
        bytes += tlm_cuda_staged(spans[i].bytes);
    return bytes;
}

/* Pinned memory: the slots, the outputs of each form, the fault. */
static tlm_status open_staging(struct tlm_cuda_session *session, char *error)
{
    const tlm_cuda_needs *const needs = session->needs;
    size_t inputs = 0, slot, total;
    void *pinned = NULL;
    tlm_status status;

    for (uint32_t f = 0; f < needs->form_count; f++) {
        const size_t bytes = open_spans_bytes(needs->forms[f].inputs, needs->forms[f].input_count);

        inputs = bytes > inputs ? bytes : inputs;
    }
    slot = tlm_cuda_staged(session->step_bytes) + inputs;
    total = TLM_CUDA_SLOTS * slot;
    for (uint32_t f = 0; f < needs->form_count; f++) {
        session->outputs[f] = total;
        total += open_spans_bytes(needs->forms[f].outputs, needs->forms[f].output_count);
    }
    status =
        tlm_cuda_result(error,
                        cudaHostAlloc(&pinned, total + 4 * sizeof(uint32_t), cudaHostAllocDefault),
                        NULL, "cudaHostAlloc of the staging memory");
    if (status != TLM_OK)
        return status;
    session->pinned = pinned;
    session->fault = (volatile uint32_t *)(void *)(session->pinned + total);
    for (int i = 0; status == TLM_OK && i < TLM_CUDA_SLOTS; i++) {
        session->slots[i].data = session->pinned + (size_t)i * slot;
        status = tlm_cuda_result(error,
                                 cudaEventCreateWithFlags(&session->slots[i].event,
                                                          cudaEventDisableTiming),
                                 NULL, "cudaEventCreateWithFlags");
    }
    return status;
}

/* Constants, once; the probe has cleared the fault. */
static tlm_status open_fill_tables(tlm_cuda *cuda, char *error)
{
    struct tlm_cuda_session *const session = cuda->session;
    const tlm_cuda_needs *const needs = session->needs;
    tlm_status status = TLM_OK;

    for (uint32_t i = 0; status == TLM_OK && i < needs->table_count; i++) {
        const tlm_cuda_table *const table = &needs->tables[i];

        if (table->bytes > 0)
            status = tlm_cuda_result(error,
                                     cudaMemcpyAsync(cuda->tables + table->device, table->data,
                                                     table->bytes, cudaMemcpyHostToDevice,
                                                     session->stream),
                                     NULL, "cudaMemcpyAsync of the constants");
    }
    if (status == TLM_OK)
        status = tlm_cuda_result(error, cudaStreamSynchronize(session->stream), NULL,
                                 "cudaStreamSynchronize of the constants");
    return status;
}

/* ---- the probe of the arithmetic: the last kernel writes 1 when it is what docs/numerics.md
   says */

static tlm_status open_probe(tlm_cuda *cuda, char *error)
{
    struct tlm_cuda_session *const session = cuda->session;
    const tlm_cuda_needs *const needs = session->needs;
    const tlm_cuda_kernel *const probe = &needs->kernels[needs->kernel_count - 1];
    const struct {
        uint32_t *out;
    } args = { cuda->fault };
    void *parameters[1] = { (void *)(uintptr_t)&args };
    cudaLaunchConfig_t launch;
    uint32_t found = 0;
    tlm_status status;

    memset(&launch, 0, sizeof launch);
    launch.gridDim = (dim3){ 1, 1, 1 };
    launch.blockDim = (dim3){ probe->threads, 1, 1 };
    launch.stream = session->stream;
    status = tlm_cuda_result(error,
                             cudaLaunchKernelExC(&launch, session->kernels[needs->kernel_count - 1],
                                                 parameters),
                             NULL, "launch of the arithmetic's probe");
    if (status == TLM_OK)
        status = tlm_cuda_result(error,
                                 cudaMemcpyAsync(session->pinned, cuda->fault, sizeof found,
                                                 cudaMemcpyDeviceToHost, session->stream),
                                 NULL, "cudaMemcpyAsync of the arithmetic's probe");
    if (status == TLM_OK)
        status = tlm_cuda_result(error,
                                 cudaMemsetAsync(cuda->fault, 0, 4 * sizeof *cuda->fault,
                                                 session->stream),
                                 NULL, "cudaMemsetAsync of the fault");
    if (status == TLM_OK)
        status = tlm_cuda_result(error, cudaStreamSynchronize(session->stream), NULL,
                                 "the arithmetic's probe");
    if (status != TLM_OK)
        return status;
    memcpy(&found, session->pinned, sizeof found);
    for (int i = 0; i < 4; i++)
        session->fault[i] = 0;
    if (found != 1)
        return tlm_cuda_fail(error, TLM_ERR_ARITHMETIC,
                             "the device's binary32 arithmetic is contracted, flushed or not "
                             "rounded to nearest");
    return TLM_OK;
}

/* ---- open and close */

/* The switch refuses a plan that was made without it. */
static tlm_status open_check_options(const tlm_cuda_needs *needs, char *error)
{
    if (!needs->undefined_reduction || !tlm_cuda_get_deterministic_reductions())
        return TLM_OK;
    return tlm_cuda_fail(error, TLM_ERR_DEVICE,
                         "deterministic reductions are asked for, but the order of %s is not "
                         "defined; build the program with --deterministic",
                         needs->undefined_reduction);
}

static struct tlm_cuda_session *open_new(const tlm_cuda_needs *needs)
{
    struct tlm_cuda_session *const session = calloc(1, sizeof *session);

    if (!session)
        return NULL;
    session->needs = needs;
    session->step_bytes = 2 * sizeof(uint64_t) + needs->scalar_count * sizeof(float);
    session->kernels = calloc(needs->kernel_count, sizeof(cudaKernel_t));
    session->outputs = calloc(needs->form_count + 1, sizeof *session->outputs);
    session->ran = calloc(needs->form_count + 1, sizeof *session->ran);
    session->phases = calloc(needs->phase_count + 1, sizeof *session->phases);
    session->host_newer = true;
    return session;
}

static tlm_status open_all(tlm_cuda *cuda, char *error)
{
    struct tlm_cuda_session *const session = cuda->session;
    tlm_status status =
        tlm_cuda_result(error, cudaGetDevice(&session->device), NULL, "cudaGetDevice");

    if (status == TLM_OK)
        status = tlm_cuda_result(error,
                                 cudaStreamCreateWithFlags(&session->stream, cudaStreamNonBlocking),
                                 NULL, "cudaStreamCreateWithFlags");
    if (status == TLM_OK)
        status = open_load(session, error);
    if (status == TLM_OK)
        status = open_arena(cuda, error);
    if (status == TLM_OK)
        status = open_staging(session, error);
    if (status == TLM_OK)
        status = open_probe(cuda, error);
    return status == TLM_OK ? open_fill_tables(cuda, error) : status;
}

tlm_status tlm_cuda_open(tlm_cuda *cuda, const tlm_cuda_needs *needs, const tlm_options *options,
                         unsigned char *weights, unsigned char *state, unsigned char *io)
{
    char *const error = options->error_text;
    char text[TLM_ERROR_BYTES];
    struct tlm_cuda_session *session;
    tlm_status status;

    memset(cuda, 0, sizeof *cuda);
    if (needs->size != sizeof *needs || needs->kernel_count == 0)
        return tlm_cuda_fail(error, TLM_ERR_ABI,
                             "the model and the CUDA runtime are of different versions");
    status = open_check_options(needs, error);
    if (status != TLM_OK)
        return status;
    if (tlm_cuda_runtime_cause(text) != TLM_CUDA_CAUSE_NONE)
        return tlm_cuda_fail(error, TLM_ERR_DEVICE, "%s", text);
    session = open_new(needs);
    if (!session)
        return tlm_cuda_fail(error, TLM_ERR_MEMORY, "no memory for the session");
    cuda->session = session;
    session->host_weights = weights;
    session->host_state = state;
    session->io = io;
    session->no_graph = options->no_graph != 0;
    if (!session->kernels || !session->outputs || !session->ran || !session->phases)
        status = tlm_cuda_fail(error, TLM_ERR_MEMORY, "no memory for the session");
    if (status == TLM_OK)
        status = open_all(cuda, error);
    if (status != TLM_OK)
        tlm_cuda_close(cuda);
    return status;
}

/* Gives everything back, in an order that a working device can follow; what fails here has nobody
   to hear it. */
void tlm_cuda_close(tlm_cuda *cuda)
{
    struct tlm_cuda_session *const session = cuda->session;

    if (!session)
        return;
    if (session->stream)
        cudaStreamSynchronize(session->stream);
    if (session->products)
        session->end_products(session->products);
    for (uint32_t i = 0; session->phases && i < session->needs->phase_count; i++)
        if (session->phases[i].graph)
            cudaGraphExecDestroy(session->phases[i].graph);
    for (int i = 0; i < TLM_CUDA_SLOTS; i++)
        if (session->slots[i].event)
            cudaEventDestroy(session->slots[i].event);
    if (session->library)
        cudaLibraryUnload(session->library);
    if (session->pinned)
        cudaFreeHost(session->pinned);
    if (session->arena)
        tlm_cuda_buffer_discard(session->arena, NULL);
    if (session->stream)
        cudaStreamDestroy(session->stream);
    cudaGetLastError();
    free(session->kernels);
    free(session->outputs);
    free(session->ran);
    free(session->phases);
    free(session);
    memset(cuda, 0, sizeof *cuda);
}
