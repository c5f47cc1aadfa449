/* The CUDA runtime of builds without CUDA: the same functions, every request refused by name with
   what to do.  Nothing is allocated, counted or remembered; guards and formats (cuda_guard.c) work
   as in a native build. */
#include "cuda_guard.h"
#include "tlm_cublas.h"

#include <string.h>

static tlm_status stub_refuse(char *error)
{
    char text[TLM_ERROR_BYTES];

    tlm_cuda_cause_text(TLM_CUDA_CAUSE_STUB_BUILD, 0, 0, NULL, text);
    return tlm_cuda_fail(error, TLM_ERR_DEVICE, "%s", text);
}

tlm_cuda_state tlm_cuda_runtime_status(void)
{
    return TLM_CUDA_STUB;
}

tlm_cuda_cause tlm_cuda_runtime_cause(char *text)
{
    stub_refuse(text);
    return TLM_CUDA_CAUSE_STUB_BUILD;
}

int tlm_cuda_set_deterministic_reductions(int on)
{
    (void)on;
    return 0;
}

int tlm_cuda_get_deterministic_reductions(void)
{
    return 0;
}

/* ---- buffers: there is none, so none is live */

tlm_status tlm_cuda_buffer_new(tlm_cuda_buffer **out, uint64_t bytes, char *error)
{
    (void)bytes;
    if (out)
        *out = NULL;
    return stub_refuse(error);
}

tlm_status tlm_cuda_buffer_release(tlm_cuda_buffer *buffer, char *error)
{
    (void)buffer;
    return tlm_cuda_fail(error, TLM_ERR_ARGUMENT, "cuda buffer: no live buffer in a stub build");
}

uint64_t tlm_cuda_buffer_bytes(const tlm_cuda_buffer *buffer)
{
    (void)buffer;
    return 0;
}

void *tlm_cuda_buffer_address(tlm_cuda_buffer *buffer)
{
    (void)buffer;
    return NULL;
}

tlm_status tlm_cuda_buffer_validate(const tlm_cuda_buffer *buffer, tlm_dtype dtype, uint32_t rank,
                                    const uint64_t *dims, char *error)
{
    (void)buffer;
    (void)dtype;
    (void)rank;
    (void)dims;
    return tlm_cuda_fail(error, TLM_ERR_ARGUMENT, "cuda buffer: no live buffer in a stub build");
}

tlm_status tlm_cuda_buffer_upload(tlm_cuda_buffer *buffer, uint64_t offset, const void *from,
                                  uint64_t bytes, char *error)
{
    (void)buffer;
    (void)offset;
    (void)from;
    (void)bytes;
    return stub_refuse(error);
}

tlm_status tlm_cuda_buffer_download(const tlm_cuda_buffer *buffer, uint64_t offset, void *to,
                                    uint64_t bytes, char *error)
{
    (void)buffer;
    (void)offset;
    (void)to;
    (void)bytes;
    return stub_refuse(error);
}

tlm_status tlm_cuda_empty_cache(char *error)
{
    (void)error;
    return TLM_OK;
}

void tlm_cuda_get_stats(tlm_cuda_stats *stats)
{
    memset(stats, 0, sizeof *stats);
    stats->size = sizeof *stats;
}

/* ---- sessions: open refuses, so the others are never reached with one */

tlm_status tlm_cuda_open(tlm_cuda *cuda, const tlm_cuda_needs *needs, const tlm_options *options,
                         unsigned char *weights, unsigned char *state, unsigned char *io)
{
    (void)needs;
    (void)weights;
    (void)state;
    (void)io;
    memset(cuda, 0, sizeof *cuda);
    return stub_refuse(options->error_text);
}

void tlm_cuda_close(tlm_cuda *cuda)
{
    memset(cuda, 0, sizeof *cuda);
}

tlm_status tlm_cuda_run(tlm_cuda *cuda, tlm_rt *rt, uint32_t phase, uint32_t form,
                        const float *scalars, tlm_cuda_enqueue *enqueue, void *model)
{
    (void)cuda;
    (void)phase;
    (void)form;
    (void)scalars;
    (void)enqueue;
    (void)model;
    return stub_refuse(rt->error);
}

tlm_status tlm_cuda_upload(tlm_cuda *cuda, tlm_rt *rt, uint32_t form)
{
    (void)cuda;
    (void)form;
    return stub_refuse(rt->error);
}

tlm_status tlm_cuda_download(tlm_cuda *cuda, tlm_rt *rt, uint32_t form)
{
    (void)cuda;
    (void)form;
    return stub_refuse(rt->error);
}

tlm_status tlm_cuda_launch(tlm_cuda *cuda, tlm_rt *rt, uint32_t kernel, uint64_t blocks,
                           const void *args, const char *place)
{
    (void)cuda;
    (void)kernel;
    (void)blocks;
    (void)args;
    (void)place;
    return stub_refuse(rt->error);
}

tlm_status tlm_cuda_zero(tlm_cuda *cuda, tlm_rt *rt, void *to, size_t bytes, const char *place)
{
    (void)cuda;
    (void)to;
    (void)bytes;
    (void)place;
    return stub_refuse(rt->error);
}

tlm_status tlm_cuda_copy(tlm_cuda *cuda, tlm_rt *rt, void *to, const void *from, size_t bytes,
                         const char *place)
{
    (void)cuda;
    (void)to;
    (void)from;
    (void)bytes;
    (void)place;
    return stub_refuse(rt->error);
}

void *tlm_cuda_stream(tlm_cuda *cuda)
{
    (void)cuda;
    return NULL;
}

tlm_status tlm_cuda_wait(tlm_cuda *cuda, tlm_rt *rt)
{
    (void)cuda;
    return stub_refuse(rt->error);
}

tlm_status tlm_cuda_fetch(tlm_cuda *cuda, tlm_rt *rt, int with_gradients)
{
    (void)cuda;
    (void)with_gradients;
    return stub_refuse(rt->error);
}

void tlm_cuda_touched(tlm_cuda *cuda)
{
    (void)cuda;
}

/* ---- the vendor's libraries: their entries are here too, so that such programs link */

tlm_status tlm_cublas_matmul(tlm_cuda *cuda, tlm_rt *rt, const tlm_cublas_product *product,
                             const char *place)
{
    (void)cuda;
    (void)product;
    (void)place;
    return stub_refuse(rt->error);
}
