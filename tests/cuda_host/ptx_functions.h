/* The functions that expressions of ptx_ops.def call, and how the types of its rows stand in the
   64-bit registers of the interpreter.  Private to ptx_run.cpp. */
#ifndef TLM_PTX_FUNCTIONS_H
#define TLM_PTX_FUNCTIONS_H

#include "ptx_internal.h"

#include <cstring>

namespace ptx
{

typedef uint16_t u16;
typedef int16_t s16;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;
typedef int64_t s64;
typedef float f32;
typedef double f64;
typedef __int128 s128;
typedef unsigned __int128 u128;
struct pred {
};

/* ---- how the types of ptx_ops.def stand in registers */

template <class T>
struct As { /* integers */
    typedef T value;
    static T get(u64 bits)
    {
        return (T)bits;
    }
    static u64 put(T x)
    {
        return sizeof(T) == 8 ? (u64)x : sizeof(T) == 4 ? (u64)(u32)x : (u64)(u16)x;
    }
};

template <>
struct As<pred> {
    typedef u32 value;
    static u32 get(u64 bits)
    {
        return bits & 1;
    }
    static u64 put(u32 x)
    {
        return x & 1;
    }
};

template <>
struct As<f32> {
    typedef f32 value;
    static f32 get(u64 bits)
    {
        const u32 low = (u32)bits;
        f32 x;

        memcpy(&x, &low, sizeof x);
        return x;
    }
    static u64 put(f32 x)
    {
        u32 bits;

        memcpy(&bits, &x, sizeof bits);
        return x != x ? 0x7fffffffu : bits;
    }
};

template <>
struct As<f64> {
    typedef f64 value;
    static f64 get(u64 bits)
    {
        f64 x;

        memcpy(&x, &bits, sizeof x);
        return x;
    }
    static u64 put(f64 x)
    {
        u64 bits;

        memcpy(&bits, &x, sizeof bits);
        return x != x ? UINT64_C(0x7ff8000000000000) : bits;
    }
};

/* ---- functions of the rows */

/* of two zeros the negative one; NaN only when both are */
template <class F>
F smaller(F a, F b)
{
    if (a == b)
        return __builtin_signbit(a) ? a : b;
    return a < b || b != b ? a : b;
}

template <class F>
F larger(F a, F b)
{
    if (a == b)
        return __builtin_signbit(a) ? b : a;
    return a > b || b != b ? a : b;
}

/* Division by zero has no defined value: all ones, as devices give. */
template <class I>
inline u64 quotient(I a, I b)
{
    return b == 0 ? ~UINT64_C(0) : (u64)(a / b);
}

template <class I>
inline u64 remainder(I a, I b)
{
    return b == 0 ? (u64)a : (u64)(a % b);
}

/* the upper half of (b:a) << n, the lower half of (b:a) >> n; n up to 32 */
inline u32 funnel_left(u32 a, u32 b, u32 n)
{
    return (u32)(((u64)b << 32 | a) << n >> 32);
}

inline u32 funnel_right(u32 a, u32 b, u32 n)
{
    return (u32)(((u64)b << 32 | a) >> n);
}

/* `length` bits of a from `position`; bits beyond the top, and for signed ones above the field, are
   its last bit, or zeros.  a is extended to 64 bits as its sign says. */
inline u64 field(u64 a, u32 position, u32 length, u32 bits, bool is_signed)
{
    position &= 255;
    length &= 255;
    if (length == 0)
        return 0;
    const u32 top = position + length - 1 < bits - 1 ? position + length - 1 : bits - 1;
    const u64 fill = is_signed && (a >> top & 1) != 0 ? ~UINT64_C(0) : 0;
    if (position > top)
        return fill;
    const u32 kept = top - position + 1;
    const u64 ones = kept == 64 ? ~UINT64_C(0) : (UINT64_C(1) << kept) - 1;
    return (a >> position & ones) | (fill & ~ones);
}

/* the low `length` bits of a, put into b at `position` */
inline u64 insert(u64 a, u64 b, u32 position, u32 length, u32 bits)
{
    position &= 255;
    length &= 255;
    if (position >= bits || length == 0)
        return b;
    const u32 kept = length < bits - position ? length : bits - position;
    const u64 ones = (kept == 64 ? ~UINT64_C(0) : (UINT64_C(1) << kept) - 1) << position;
    return (b & ~ones) | (a << position & ones);
}

/* bit i of the result: the bit of `table` that the bits i of a, b and c number */
inline u32 logic(u32 a, u32 b, u32 c, u32 table)
{
    u32 result = 0;

    for (u32 row = 0; row < 8; row++) {
        if ((table >> row & 1) != 0)
            result |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
    }
    return result;
}

/* four bytes of (b:a), each chosen by a digit of `selector`; 8 and up: its sign, eight times */
inline u32 permute(u32 a, u32 b, u32 selector)
{
    const u64 bytes = (u64)b << 32 | a;
    u32 result = 0;

    for (u32 i = 0; i < 4; i++) {
        const u32 digit = selector >> (4 * i) & 15;
        u32 byte = (u32)(bytes >> (8 * (digit & 7))) & 255;
        if (digit > 7)
            byte = byte > 127 ? 255 : 0;
        result |= byte << (8 * i);
    }
    return result;
}

inline u64 reversed(u64 a)
{
    u64 result = 0;

    for (int i = 0; i < 64; i++)
        result = result << 1 | (a >> i & 1);
    return result;
}

/* the place of the highest one; all ones: none */
inline u32 highest(u64 a)
{
    return a == 0 ? ~0u : 63u - (u32)__builtin_clzll(a);
}

template <class T>
inline bool compared(Compare how, T a, T b)
{
    switch (how) {
    case Compare::eq: return a == b;
    case Compare::ne: return a < b || a > b;
    case Compare::lt:
    case Compare::lo: return a < b;
    case Compare::le:
    case Compare::ls: return a <= b;
    case Compare::gt:
    case Compare::hi: return a > b;
    case Compare::ge:
    case Compare::hs: return a >= b;
    case Compare::equ: return !(a < b || a > b);
    case Compare::neu: return !(a == b);
    case Compare::ltu: return !(a >= b);
    case Compare::leu: return !(a > b);
    case Compare::gtu: return !(a <= b);
    case Compare::geu: return !(a < b);
    case Compare::num: return a == a && b == b;
    case Compare::nan: return a != a || b != b;
    }
    return false;
}

inline bool combined(Combine how, bool p, bool c)
{
    switch (how) {
    case Combine::none: return p;
    case Combine::and_: return p && c;
    case Combine::or_: return p || c;
    case Combine::xor_: return p != c;
    }
    return p;
}

} // namespace ptx
#endif
