/* Small kernels for the tests of the host CUDA runtime. */
#include "device.cuh"

#include "test_kernels.h"

TLM_KERNEL(test_fill)
{
    const uint32_t i = tlm_thread();

    if (i < m->n)
        m->y[i] = m->value;
}

TLM_KERNEL(test_add)
{
    const uint32_t i = tlm_thread();

    if (i < m->n)
        m->y[i] += m->x[i];
}

TLM_KERNEL(test_scale)
{
    const uint32_t i = tlm_thread();

    if (i < m->n)
        m->y[i] = 2.0f * m->y[i] + m->x[i];
}

TLM_KERNEL(test_trap)
{
    if (m->traps != 0)
        __trap();
}
