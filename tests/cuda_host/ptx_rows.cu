/* The scalar formulas of runtime/tlm_pointwise.def as kernels, one a row and one a derivative:
   y[i] = bits of f(x[i], x[n + i], ...).  For the test that runs what compilers make of them. */
#include "tlm_math.h"
#include "tlm_random.h"

#include "device.cuh"

struct row_operands {
    uint32_t *y;
    const uint32_t *x;
    uint32_t n;
};

template <class T>
struct row_value;

template <>
struct row_value<float> {
    TLM_INLINE float take(uint32_t bits)
    {
        return tlm_float(bits);
    }
    TLM_INLINE uint32_t give(float value)
    {
        return tlm_bits(value);
    }
};

template <>
struct row_value<int32_t> {
    TLM_INLINE int32_t take(uint32_t bits)
    {
        return (int32_t)bits;
    }
    TLM_INLINE uint32_t give(int32_t value)
    {
        return (uint32_t)value;
    }
};

template <>
struct row_value<uint8_t> {
    TLM_INLINE uint8_t take(uint32_t bits)
    {
        return bits & 1;
    }
    TLM_INLINE uint32_t give(uint8_t value)
    {
        return value;
    }
};

#define TAKE(T, k) row_value<T>::take(m->x[k * m->n + i])

template <class R, class A>
TLM_INLINE void row_apply(const struct row_operands *m, uint32_t i, R (*f)(A))
{
    m->y[i] = row_value<R>::give(f(TAKE(A, 0)));
}

template <class R, class A, class B>
TLM_INLINE void row_apply(const struct row_operands *m, uint32_t i, R (*f)(A, B))
{
    m->y[i] = row_value<R>::give(f(TAKE(A, 0), TAKE(B, 1)));
}

template <class R, class A, class B, class C>
TLM_INLINE void row_apply(const struct row_operands *m, uint32_t i, R (*f)(A, B, C))
{
    m->y[i] = row_value<R>::give(f(TAKE(A, 0), TAKE(B, 1), TAKE(C, 2)));
}

template <class R, class A, class B, class C, class D>
TLM_INLINE void row_apply(const struct row_operands *m, uint32_t i, R (*f)(A, B, C, D))
{
    m->y[i] = row_value<R>::give(f(TAKE(A, 0), TAKE(B, 1), TAKE(C, 2), TAKE(D, 3)));
}

#define ROW_KERNEL(name)                      \
    struct row_##name##_args : row_operands { \
    };                                        \
    TLM_KERNEL(row_##name)                    \
    {                                         \
        const uint32_t i = tlm_thread();      \
                                              \
        if (i < m->n)                         \
            row_apply(m, i, tlm_##name);      \
    }
#define TLM_UNARY(name, attrs, formula, uses, derivative, ulp, vjp_ulp, domain) \
    ROW_KERNEL(name)                                                            \
    ROW_KERNEL(name##_vjp)
#define TLM_MAP(name, type, parameters, formula, ulp, domain) ROW_KERNEL(name)
#include "tlm_pointwise.def"

/* 64-bit products, shifts and sums */
struct row_random_args : row_operands {
};
TLM_KERNEL(row_random)
{
    const uint32_t i = tlm_thread();

    if (i < m->n) {
        const uint64_t key = tlm_random_key(m->x[i], m->x[m->n + i], 3);
        m->y[i] = tlm_random_u32(key, (uint64_t)m->x[i] << 13);
    }
}

/* signed and unsigned division, 8-bit arithmetic, conversions of 64 bits */
struct row_integers_args : row_operands {
};
TLM_KERNEL(row_integers)
{
    const uint32_t i = tlm_thread();

    if (i < m->n) {
        const uint32_t a = m->x[i], b = m->x[m->n + i] | 1;
        const int32_t s = (int32_t)(b == 0xffffffffu ? 3u : b);
        const uint64_t w = (uint64_t)a * b;
        const uint8_t narrow = (uint8_t)((uint8_t)a * (uint8_t)b + (a >> 24));
        uint32_t y = a / b ^ a % b ^ (uint32_t)((int32_t)a / s) ^ (uint32_t)((int32_t)a % s);
        y ^= (uint32_t)(w / (b >> 3 | 1)) ^ (uint32_t)(w % 1000003) ^ a / 7 ^ a % 13;
        y ^= narrow ^ (uint32_t)(int32_t)(signed char)narrow ^ (uint32_t)((int64_t)w >> 37);
        y ^= tlm_bits((float)w) ^ tlm_bits((float)(int64_t)w) ^ tlm_bits((float)narrow);
        m->y[i] = y;
    }
}
