/* The CUDA runtime's answers as statuses and texts, shared by the native files of the CUDA
   runtime. */
#ifndef TLM_CUDA_PROBE_H
#define TLM_CUDA_PROBE_H

#include "cuda_guard.h"

#include <cuda_runtime_api.h>

/* TLM_OK, or TLM_ERR_DEVICE with "PLACE: cudaErrorName: what it means (DOING)", without a place
   when that is NULL; CUDA then forgets the error, where it can. */
tlm_status tlm_cuda_result(char *error, cudaError_t code, const char *place, const char *doing);

#endif
