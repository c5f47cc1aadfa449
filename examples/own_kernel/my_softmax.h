/* softmax over the last axis, for programs compiled with --capsules my_kernels.capsules. */
#ifndef MY_SOFTMAX_H
#define MY_SOFTMAX_H

#include "tlm_kernel.h"

/* inputs[0], outputs[0]: f32, equal shapes of rank 1 to 8, row-major.  Refuses any other call with
   TLM_ERR_ARGUMENT. */
tlm_status my_softmax(const tlm_kernel_args *args);

#endif
