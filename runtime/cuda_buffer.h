/* Buffers from inside the CUDA runtime. */
#ifndef TLM_CUDA_BUFFER_H
#define TLM_CUDA_BUFFER_H

#include "tlm_cuda.h"

/* Releases a buffer past the cache: cudaFree, which waits for the device.  For sessions: their
   arenas are large, and whoever destroys a model wants its memory back. */
tlm_status tlm_cuda_buffer_discard(tlm_cuda_buffer *buffer, char *error);

#endif
