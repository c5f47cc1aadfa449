/* Conversions and atomic operations of the PTX interpreter: values in, values out. */
#include "ptx_internal.h"

#include <cmath>
#include <cstring>

namespace ptx
{
namespace
{

typedef __int128 wide;

/* Holds every integer and every binary64 exactly. */
typedef long double exact;
static_assert(__LDBL_MANT_DIG__ >= 64, "long double holds no 64-bit integer");

float f32_of(uint64_t bits)
{
    const uint32_t low = (uint32_t)bits;
    float x;

    memcpy(&x, &low, sizeof x);
    return x;
}

double f64_of(uint64_t bits)
{
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

uint64_t bits_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return x != x ? 0x7fffffffu : bits;
}

uint64_t bits_of(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return x != x ? UINT64_C(0x7ff8000000000000) : bits;
}

wide integer_of(Type type, uint64_t value)
{
    const uint32_t unused = 64u - type.bits;

    if (type.is_signed())
        return (int64_t)(value << unused) >> unused;
    return (value << unused) >> unused;
}

exact float_of(Type type, uint64_t value)
{
    return type.bits == 32 ? (exact)f32_of(value) : (exact)f64_of(value);
}

exact whole(exact x, Rounding rounding)
{
    switch (rounding) {
    case Rounding::none: return x;
    case Rounding::nearest: return rintl(x);
    case Rounding::zero: return truncl(x);
    case Rounding::down: return floorl(x);
    case Rounding::up: return ceill(x);
    }
    return x;
}

/* x in the format F: the nearest one, moved one step where the rounding asks for the other. */
template <class F>
F rounded(exact x, Rounding rounding)
{
    const F nearest = (F)x;
    const F infinity = (F)INFINITY;

    switch (rounding) {
    case Rounding::none:
    case Rounding::nearest: return nearest;
    case Rounding::zero:
        return fabsl((exact)nearest) > fabsl(x) ? std::nextafter(nearest, (F)0) : nearest;
    case Rounding::down: return (exact)nearest > x ? std::nextafter(nearest, -infinity) : nearest;
    case Rounding::up: return (exact)nearest < x ? std::nextafter(nearest, infinity) : nearest;
    }
    return nearest;
}

uint64_t float_bits(Type type, exact x, Rounding rounding)
{
    return type.bits == 32 ? bits_of(rounded<float>(x, rounding))
                           : bits_of(rounded<double>(x, rounding));
}

void limits(Type type, wide &least, wide &most)
{
    if (type.is_signed()) {
        least = -((wide)1 << (type.bits - 1));
        most = ((wide)1 << (type.bits - 1)) - 1;
    } else {
        least = 0;
        most = ((wide)1 << type.bits) - 1;
    }
}

wide clamped(Type type, wide value)
{
    wide least, most;

    limits(type, least, most);
    return value < least ? least : value > most ? most : value;
}

/* Out of range: the nearest limit.  NaN: 0, or the top bit where 64 bits take part. */
wide integer_from(const Inst &inst, exact x)
{
    wide least, most;

    limits(inst.type, least, most);
    if (x != x) {
        if (inst.type.bits < 64 && inst.from.bits < 64)
            return 0;
        return inst.type.is_signed() ? least : (wide)1 << (inst.type.bits - 1);
    }
    x = whole(x, inst.rounding);
    if (x <= (exact)least)
        return least;
    if (x >= (exact)most)
        return most;
    return (wide)x;
}

uint64_t float_from_float(const Inst &inst, uint64_t value)
{
    const bool narrows = inst.type.bits < inst.from.bits;
    exact x = float_of(inst.from, value);

    if (!narrows)
        x = whole(x, inst.rounding);
    if (inst.saturate)
        x = x > 1 ? 1 : x > 0 ? x : 0;
    return float_bits(inst.type, x, narrows ? inst.rounding : Rounding::nearest);
}

} // namespace

uint64_t convert(const Inst &inst, uint64_t value)
{
    const Type to = inst.type;
    wide integer;

    if (inst.op == OP_cvt_float)
        return float_from_float(inst, value);
    if (inst.op == OP_cvt_int_float)
        return float_bits(to, (exact)integer_of(inst.from, value), inst.rounding);
    if (inst.op == OP_cvt_float_int) {
        integer = integer_from(inst, float_of(inst.from, value));
    } else {
        integer = integer_of(inst.from, value);
        if (inst.saturate)
            integer = clamped(to, integer);
    }
    /* cut to the type, then extended to the register as the type says */
    return (uint64_t)integer_of(to, (uint64_t)integer);
}

uint64_t atomic(const Inst &inst, uint64_t old, uint64_t value, uint64_t other)
{
    const Type type = inst.type;
    const wide x = type.is_float() ? 0 : integer_of(type, old);
    const wide y = type.is_float() ? 0 : integer_of(type, value);

    switch ((Atomic)inst.sub) {
    case Atomic::add:
        if (type.is_float())
            return type.bits == 32 ? bits_of(f32_of(old) + f32_of(value))
                                   : bits_of(f64_of(old) + f64_of(value));
        return old + value;
    case Atomic::min: return x < y ? old : value;
    case Atomic::max: return x > y ? old : value;
    case Atomic::and_: return old & value;
    case Atomic::or_: return old | value;
    case Atomic::xor_: return old ^ value;
    case Atomic::exchange: return value;
    case Atomic::compare: return x == y ? other : old;
    case Atomic::increment: return x >= y ? 0 : old + 1;
    case Atomic::decrement: return x == 0 || x > y ? value : old - 1;
    }
    return old;
}

} // namespace ptx
