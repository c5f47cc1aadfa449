/* The kernels of the toy model in test_session.c, on vectors of TOY_N. */
#include "device.cuh"

#include "test_session.h"

/* As generated code checks indices: the first bad one stays. */
TLM_KERNEL(toy_check)
{
    const uint32_t i = tlm_thread();

    if (i == 0 && m->fault[0] == 0 && (uint32_t)m->index[0] >= m->limit) {
        m->fault[0] = 1;
        m->fault[1] = m->check;
        m->fault[2] = 0;
        m->fault[3] = (uint32_t)m->index[0];
    }
}

/* y = w x + table + draws: a sum of small integers, exact in any order. */
TLM_KERNEL(toy_forward)
{
    const uint32_t i = tlm_thread();

    if (i < TOY_N)
        m->y[i] = m->w[i] * m->x[i] + m->table[i] + (float)(m->draws[0] * 100 + m->draws[1]);
}

TLM_KERNEL(toy_backward)
{
    const uint32_t i = tlm_thread();

    if (i < TOY_N)
        m->g[i] = m->x[i] + m->y[i];
}

TLM_KERNEL(toy_step)
{
    const uint32_t i = tlm_thread();

    if (m->fault[0] != 0 || i >= TOY_N)
        return;
    m->moment[i] += m->g[i];
    m->w[i] -= m->scalars[0] * m->moment[i];
}

TLM_KERNEL(toy_trap)
{
    if (m->out)
        __trap();
}

TLM_KERNEL(toy_probe_bad)
{
    if (tlm_thread() == 0)
        m->out[0] = 2;
}

TLM_KERNEL(tlm_probe)
{
    if (tlm_thread() == 0)
        m->out[0] = 1;
}
