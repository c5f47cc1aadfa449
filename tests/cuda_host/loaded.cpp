/* The one function that a shared object of shim and kernels exports for test_loaded.c: runs a
   kernel of faults.cu with one block on fresh operands, x[i] = i, and returns y[7]. */
#include "faults.h"
#include "host_internal.h"

#include <string.h>

extern "C" __attribute__((visibility("default"))) float loaded_run(const char *name)
{
    enum { THREADS = 256, BYTES = 4096 * sizeof(float) };
    const struct tlm_host_kernel *kernel = tlm_host_find_kernel(name);
    float *y = (float *)tlm_host_alloc(BYTES);
    float *x = (float *)tlm_host_alloc(BYTES);
    const fault_operands operands = { y, x, THREADS };
    float result = -1.0f;

    tlm_host_memory_open();
    memset(y, 0, BYTES);
    for (int i = 0; i < 4096; i++)
        x[i] = (float)i;
    tlm_host_memory_close();
    tlm_host_mark_initialised(y, BYTES);
    tlm_host_mark_initialised(x, BYTES);
    if (kernel != nullptr && tlm_host_run(name, kernel->run, &operands, sizeof operands, dim3(1),
                                          dim3(THREADS), 0) == cudaSuccess) {
        tlm_host_memory_open();
        result = y[7];
        tlm_host_memory_close();
    }
    tlm_host_free(x);
    tlm_host_free(y);
    return result;
}
