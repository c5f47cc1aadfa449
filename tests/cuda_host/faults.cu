/* Device code with one planted fault each, and controls without any: what test_faults.cpp runs to
   see which layer notices which fault.  Every kernel takes the same operands: y, x, n. */
#include "faults.h"

#include "device.cuh"

#define FAULT(name)                       \
    struct name##_args : fault_operands { \
    };                                    \
    TLM_KERNEL(name)

TLM_TABLE const float quarter_steps[4] = { 0.0f, 0.25f, 0.5f, 0.75f };

/* ---- controls */

FAULT(control_reverse)
{
    TLM_SHARED(float, s, TLMK_THREADS);
    const uint32_t t = threadIdx.x;

    s[t] = m->x[t];
    __syncthreads();
    m->y[t] = s[TLMK_THREADS - 1 - t];
}

/* A sum of 64 lanes by two registers and shuffles; warps beyond `n` rows leave before it. */
FAULT(control_row_sum)
{
    const uint32_t row = tlm_thread() / TLMK_WARP;
    const uint32_t lane = threadIdx.x % TLMK_WARP;

    if (row >= m->n)
        return;
    const float *at = m->x + row * 64;
    float sum = __ldg(&at[lane]) + at[lane + 32];
    for (int by = 16; by != 0; by /= 2)
        sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffffu, sum, by));
    if (lane == 0)
        m->y[row] = sum;
}

/* float4, a table, an exchange inside the warp, votes, counting barriers, atomics, bytes. */
FAULT(control_vocabulary)
{
    TLM_SHARED(float4, quads, 64);
    TLM_SHARED(float, pairs, TLMK_THREADS);
    TLM_SHARED(uint8_t, bytes, TLMK_THREADS);
    TLM_SHARED(int32_t, counts, 8);
    const uint32_t t = threadIdx.x;

    if (t < 8)
        counts[t] = 0;
    if (t < 64)
        quads[t] = *(const float4 *)(m->x + 4 * t);
    bytes[t] = (uint8_t)t;
    __syncthreads();
    atomicAdd(&counts[t % 8], 1);
    pairs[t] = t % 4 == 3 ? quads[t / 4].w : m->x[t];
    __syncwarp();
    float value = pairs[t ^ 1];
    __syncwarp();
    pairs[t] = value;
    const unsigned even = __ballot_sync(0xffffffffu, t % 2 == 0);
    const int some = __any_sync(0xffffffffu, t == 0);
    const int every = __all_sync(0xffffffffu, 1);
    const int counted = __syncthreads_count(t < 100);
    value = pairs[t ^ 1];
    if (even != 0x55555555u || some != (t < 32) || !every || counted != 100)
        value = -1.0f;
    if (__syncthreads_or(t == 7) == 0 || __syncthreads_and(t != 7) != 0 || counts[t % 8] != 32)
        value = -2.0f;
    if (bytes[TLMK_THREADS - 1 - t] != TLMK_THREADS - 1 - t)
        value = -3.0f;
    if (__shfl_sync(0xffffffffu, t, 3) % 32 != 3 ||
        __shfl_down_sync(0xffffffffu, t, 1) != (t % 32 == 31 ? t : t + 1) ||
        __shfl_up_sync(0xffffffffu, t, 2, 8) != (t % 8 < 2 ? t : t - 2))
        value = -4.0f;
    m->y[tlm_thread()] = value + quarter_steps[t % 4] - quarter_steps[t % 4];
}

/* ---- missing barriers */

FAULT(read_without_barrier)
{
    TLM_SHARED(float, s, TLMK_THREADS);
    const uint32_t t = threadIdx.x;

    s[t] = m->x[t];
    m->y[t] = s[TLMK_THREADS - 1 - t];
}

FAULT(write_without_barrier)
{
    TLM_SHARED(float, s, TLMK_THREADS);
    const uint32_t t = threadIdx.x;
    float sum = 0.0f;

    for (uint32_t k = 0; k < 8; k++) {
        s[t] = m->x[k * TLMK_THREADS + t];
        __syncthreads();
        sum += s[(t + 40) % TLMK_THREADS];
        /* the tile is overwritten while others read it */
    }
    m->y[t] = sum;
}

template <int N>
static __device__ void reverse_of(float *y, const float *x)
{
    TLM_SHARED(float, s, N);
    const uint32_t t = threadIdx.x;

    s[t] = x[t];
    y[t] = s[N - 1 - t];
}

FAULT(template_without_barrier)
{
    reverse_of<TLMK_THREADS>(m->y, m->x);
}

FAULT(exchange_without_syncwarp)
{
    TLM_SHARED(float, s, TLMK_THREADS);
    const uint32_t t = threadIdx.x;

    s[t] = m->x[t];
    m->y[t] = s[t ^ 1];
}

/* ---- races whose result may be right */

FAULT(histogram_without_atomics)
{
    TLM_SHARED(float, h, 8);
    const uint32_t t = threadIdx.x;

    if (t < 8)
        h[t] = 0.0f;
    __syncthreads();
    h[t % 8] += m->x[t];
    __syncthreads();
    if (t < 8)
        m->y[t] = h[t];
}

FAULT(atomic_and_plain)
{
    TLM_SHARED(int32_t, count, 1);
    const uint32_t t = threadIdx.x;

    if (t == 0)
        count[0] = 0;
    __syncthreads();
    atomicAdd(&count[0], 1);
    if (t == 0)
        count[0] = 0;
    __syncthreads();
    m->y[t] = (float)(count[0] >= 0);
}

FAULT(same_value_twice)
{
    m->y[0] = 1.0f;
}

FAULT(two_blocks_write)
{
    m->y[threadIdx.x] = m->x[tlm_thread()];
}

FAULT(block_reads_another)
{
    const uint32_t i = tlm_thread();

    if (blockIdx.x == 0)
        m->y[i] = m->x[i];
    else
        m->y[i] = m->y[i - TLMK_THREADS];
}

/* The last block reads what all others read, and writes it: its barrier orders nothing for them. */
FAULT(last_block_writes)
{
    const uint32_t t = threadIdx.x;
    const float value = m->y[t];

    __syncthreads();
    if (blockIdx.x == gridDim.x - 1)
        m->y[t] = value + m->x[t];
}

/* ---- outside memory */

FAULT(global_one_beyond)
{
    const uint32_t i = tlm_thread();

    if (i <= m->n)
        m->y[i] = m->x[i < m->n ? i : 0];
}

FAULT(global_one_before)
{
    m->y[threadIdx.x] = (m->x - 1)[threadIdx.x];
}

FAULT(global_far_beyond)
{
    m->y[threadIdx.x] = m->x[threadIdx.x + m->n];
}

FAULT(shared_index_beyond)
{
    TLM_SHARED(float, s, TLMK_THREADS);
    const uint32_t t = threadIdx.x;

    s[t] = m->x[t];
    __syncthreads();
    m->y[t] = s[t + 1];
}

/* Through a pointer: the type says no length. */
static __device__ __noinline__ void write_row(float *row, uint32_t t, float value)
{
    row[t] = value;
}

FAULT(shared_pointer_beyond)
{
    TLM_SHARED(float, s, TLMK_THREADS);
    TLM_SHARED(float, next, TLMK_THREADS);
    const uint32_t t = threadIdx.x;

    next[t] = m->x[t];
    s[t] = 0.0f;
    __syncthreads();
    write_row(s, t + 4, 1.0f);
    __syncthreads();
    m->y[t] = next[t];
}

FAULT(copy) /* of n floats: used with addresses that it must not get */
{
    const uint32_t i = tlm_thread();

    if (i < m->n)
        m->y[i] = m->x[i];
}

FAULT(arguments_written)
{
    if (threadIdx.x == 0)
        const_cast<control_reverse_args *>((const control_reverse_args *)m)->n = 7;
    m->y[threadIdx.x] = m->x[threadIdx.x];
}

FAULT(misaligned_quad)
{
    const uint32_t t = threadIdx.x;
    const float4 v = *(const float4 *)(m->x + 1 + 4 * t);

    m->y[t] = v.x + v.w;
}

/* ---- never written */

FAULT(shared_unwritten)
{
    TLM_SHARED(float, s, TLMK_THREADS);
    const uint32_t t = threadIdx.x;

    if (t < TLMK_THREADS - 1)
        s[t] = m->x[t];
    __syncthreads();
    m->y[t] = s[t];
}

FAULT(shared_sum_unwritten) /* right where fresh memory is 0 */
{
    TLM_SHARED(float, s, TLMK_THREADS);
    const uint32_t t = threadIdx.x;

    s[t] += m->x[t];
    m->y[t] = s[t];
}

FAULT(global_unwritten) /* an accumulator that nobody zeroed */
{
    if (threadIdx.x < 8)
        m->y[threadIdx.x] += m->x[threadIdx.x];
}

/* ---- threads that do not meet */

FAULT(barrier_of_some)
{
    const uint32_t t = threadIdx.x;

    m->y[t] = m->x[t];
    if (t < 64)
        __syncthreads();
}

FAULT(barrier_in_two_arms)
{
    TLM_SHARED(float, s, TLMK_THREADS);
    const uint32_t t = threadIdx.x;

    s[t] = m->x[t];
    if (t % 2 != 0)
        __syncthreads();
    else
        __syncthreads();
    m->y[t] = s[TLMK_THREADS - 1 - t];
}

FAULT(return_before_barrier)
{
    TLM_SHARED(float, s, TLMK_THREADS);
    const uint32_t t = threadIdx.x;

    if (t >= m->n)
        return;
    s[t] = m->x[t];
    __syncthreads();
    m->y[t] = s[m->n - 1 - t];
}

FAULT(barrier_against_collective)
{
    if (threadIdx.x % 32 < 16)
        __syncthreads();
    else
        __syncwarp();
    m->y[threadIdx.x] = m->x[threadIdx.x];
}

FAULT(shuffle_of_half_a_warp)
{
    const uint32_t t = threadIdx.x;
    float v = m->x[t];

    if (t % 32 < 16)
        v += __shfl_xor_sync(0xffffffffu, v, 1);
    __syncwarp();
    m->y[t] = v;
}

FAULT(shuffle_from_no_lane) /* in a warp of 8 threads */
{
    const uint32_t t = threadIdx.x;
    float v = m->x[t];

    for (int by = 16; by != 0; by /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, by);
    m->y[t] = v;
}

FAULT(shuffle_from_outside_the_mask)
{
    const uint32_t t = threadIdx.x;
    float v = m->x[t];

    if (t % 32 < 16)
        v += __shfl_xor_sync(0x0000ffffu, v, 16);
    m->y[t] = v;
}

FAULT(mask_without_the_caller)
{
    const uint32_t t = threadIdx.x;

    m->y[t] = __shfl_xor_sync(0x0000ffffu, m->x[t], 1);
}

FAULT(two_kinds_of_collective)
{
    const uint32_t t = threadIdx.x;
    float v = m->x[t];

    if (t % 2 != 0)
        v = __shfl_xor_sync(0xffffffffu, v, 1);
    else
        v = (float)__ballot_sync(0xffffffffu, v > 0.0f);
    m->y[t] = v;
}

/* ---- limits */

FAULT(too_much_shared)
{
    TLM_SHARED(float, a, 8192);
    TLM_SHARED(float, b, 8192);
    const uint32_t t = threadIdx.x;

    a[t] = m->x[t];
    b[t] = a[t];
    m->y[t] = b[t];
}

FAULT(trap)
{
    if (threadIdx.x == 3)
        __trap();
    m->y[threadIdx.x] = m->x[threadIdx.x];
}
