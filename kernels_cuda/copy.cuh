/* Kernels that move bits: strided copy (permute, broadcast, slice), the adjoint of slice, rows of
   concat; one thread an element of the result.  They compute nothing, so NaN payloads and signed
   zeros pass unchanged.  dims and strides are constant arrays of the caller: with the loops
   unrolled they become constants of the code. */
#ifndef TLMK_COPY_CUH
#define TLMK_COPY_CUH

#include "device.cuh"

/* y[i..] = x[offset + sum i * stride] */
template <typename T>
TLM_INLINE void tlmk_copy(T *y, const T *x, int rank, const uint32_t *dims, const uint64_t *strides,
                          uint64_t offset, uint32_t n)
{
    const uint32_t element = tlm_thread();
    uint32_t rest = element;

    if (element >= n)
        return;
    TLMK_UNROLL
    for (int i = rank - 1; i >= 0; i--) {
        offset += rest % dims[i] * strides[i];
        rest /= dims[i];
    }
    y[element] = x[offset];
}

/* y is g at starts + i * steps, 0 elsewhere */
template <typename T>
TLM_INLINE void tlmk_slice_vjp(T *y, const T *g, int rank, const uint32_t *ydims,
                               const uint32_t *starts, const uint32_t *steps, const uint32_t *gdims,
                               uint32_t n)
{
    const uint32_t element = tlm_thread();
    uint32_t rest = element;
    uint32_t source = 0, scale = 1;
    bool inside = true;

    if (element >= n)
        return;
    TLMK_UNROLL
    for (int i = rank - 1; i >= 0; i--) {
        const uint32_t at = rest % ydims[i];
        const uint32_t past = at - starts[i];

        inside = inside && at >= starts[i] && past % steps[i] == 0 && past / steps[i] < gdims[i];
        source += past / steps[i] * scale;
        scale *= gdims[i];
        rest /= ydims[i];
    }
    y[element] = inside ? g[source] : (T)0;
}

/* rows of x_row elements into rows of y_row elements, at offset */
template <typename T>
TLM_INLINE void tlmk_concat(T *y, uint32_t y_row, uint64_t offset, const T *x, uint32_t x_row,
                            uint32_t n)
{
    const uint32_t element = tlm_thread();

    if (element < n)
        y[(uint64_t)(element / x_row) * y_row + offset + element % x_row] = x[element];
}

#define TLMK_COPY_KERNELS(name, type)                                                          \
    TLM_INLINE void tlmk_##name##_copy__cuda_strided(type *y, const type *x, int rank,         \
                                                     const uint32_t *dims,                     \
                                                     const uint64_t *strides, uint64_t offset, \
                                                     uint32_t n)                               \
    {                                                                                          \
        tlmk_copy(y, x, rank, dims, strides, offset, n);                                       \
    }                                                                                          \
    TLM_INLINE void tlmk_##name##_slice_vjp__cuda_strided(type *y, const type *g, int rank,    \
                                                          const uint32_t *ydims,               \
                                                          const uint32_t *starts,              \
                                                          const uint32_t *steps,               \
                                                          const uint32_t *gdims, uint32_t n)   \
    {                                                                                          \
        tlmk_slice_vjp(y, g, rank, ydims, starts, steps, gdims, n);                            \
    }                                                                                          \
    TLM_INLINE void tlmk_##name##_concat__cuda_rows(type *y, uint32_t y_row, uint64_t offset,  \
                                                    const type *x, uint32_t x_row, uint32_t n) \
    {                                                                                          \
        tlmk_concat(y, y_row, offset, x, x_row, n);                                            \
    }

TLMK_COPY_KERNELS(f32, float)
TLMK_COPY_KERNELS(i32, int32_t)
TLMK_COPY_KERNELS(bool, uint8_t)
#undef TLMK_COPY_KERNELS

#endif
