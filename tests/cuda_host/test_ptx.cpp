/* The PTX interpreter, instruction by instruction against C, in small texts written by hand:
   arithmetic where it is special, integers, bits, conversions, comparisons.  Memory, warps and
   blocks: test_ptx_machine.cpp; errors: test_ptx_errors.cpp; what compilers emit:
   test_ptx_kernels.cpp. */
#include "ptx_test.h"

#include <algorithm>

namespace
{

typedef uint64_t u64;
typedef int64_t s64;
typedef uint32_t u32;
typedef int32_t s32;

/* ---- one instruction over all combinations of values */

enum Values { FLOATS, DOUBLES, INTS16, INTS32, INTS64, SHIFTS, PREDICATES };

struct Type {
    uint32_t bits;
    Values values;
};

const Type F = { 32, FLOATS }, D = { 64, DOUBLES }, H = { 16, INTS16 }, I = { 32, INTS32 },
           L = { 64, INTS64 }, N = { 32, SHIFTS }, P = { 1, PREDICATES };

std::vector<u64> float_values()
{
    std::vector<u64> values;
    const u64 positive[] = {
        0x00000000, 0x00000001, 0x00000002, 0x00400000, 0x007fffff, /* 0, subnormals */
        0x00800000, 0x00800001, 0x00ffffff, 0x33800000, 0x33800001, /* 2^-24: a tie beside 1 */
        0x34000000, 0x3effffff, 0x3f000000, 0x3f7fffff, 0x3f800000, 0x3f800001, 0x3fc00000,
        0x40000000, 0x40400000, 0x40490fdb, 0x4b000000, 0x4b000001, 0x4b7fffff, 0x4b800000,
        0x4effffff, 0x4f000000, 0x4f7fffff, 0x4f800000, 0x5effffff, 0x5f000000, 0x5f800000,
        0x7effffff, 0x7f000000, 0x7f7fffff, 0x7f800000, 0x7fc00000, 0x7fffffff
    };
    u64 state = 1;

    for (const u64 value : positive) {
        values.push_back(value);
        values.push_back(value | 0x80000000);
    }
    for (int i = 0; i < 12; i++)
        values.push_back(next_random(state) >> 32);
    for (int i = 0; i < 6; i++) /* near one another, so that sums cancel */
        values.push_back(0x3f800000 + (next_random(state) >> 44));
    return values;
}

std::vector<u64> integer_values(uint32_t bits)
{
    const u64 ones = bits == 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1;
    std::vector<u64> values;
    u64 state = bits;

    for (u64 small = 0; small < 4; small++) {
        values.push_back(small);
        values.push_back(ones - small);
        values.push_back(ones / 2 + small - 1);
    }
    for (int i = 0; i < 12; i++)
        values.push_back(next_random(state) & ones);
    for (int i = 0; i < 6; i++)
        values.push_back((next_random(state) & ones) >> (next_random(state) % bits));
    return values;
}

std::vector<u64> values_of(Values which)
{
    std::vector<u64> values;

    switch (which) {
    case FLOATS: return float_values();
    case DOUBLES:
        for (const u64 value : float_values()) /* and what binary32 cannot hold */
            for (u64 add = 0; add < 2; add++)
                values.push_back(bits_of((double)float_of(value)) + add * 0x10000001);
        return values;
    case INTS16: return integer_values(16);
    case INTS32: return integer_values(32);
    case INTS64: return integer_values(64);
    case SHIFTS: return { 0, 1, 5, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 0x80000000 };
    case PREDICATES: return { 0, 1 };
    }
    return values;
}

struct Operation {
    const char *text; /* "add.rn.f32 d, a, b;" */
    Type d;
    std::vector<Type> sources;
    std::function<u64(u64 a, u64 b, u64 c, u64 e)> want;
};

std::string load_source(char name, Type type, int i)
{
    const std::string n(1, name), slot = std::to_string(i * 8);
    std::string text = "ld.global.b64 raw, [in+" + slot + "];\n";

    if (type.bits == 64)
        return text + "mov.b64 " + n + ", raw;\n";
    text += "cvt.u32.u64 low, raw;\n";
    if (type.bits == 32)
        return text + "mov.b32 " + n + ", low;\n";
    if (type.bits == 16)
        return text + "cvt.u16.u32 " + n + ", low;\n";
    return text + "setp.ne.u32 " + n + ", low, 0;\n";
}

std::string declare(char name, Type type)
{
    const std::string bits = type.bits == 1 ? "pred" : "b" + std::to_string(type.bits);

    return ".reg ." + bits + " " + std::string(1, name) + ";\n";
}

/* Thread i takes operands 4 i ... and gives result i. */
std::string operation_text(const Operation &operation)
{
    std::string text = ptx_head() +
                       ".visible .entry k(.param .u64 py, .param .u64 px, .param .u32 pn)\n{\n"
                       ".reg .pred outside; .reg .b32 i, n, low; .reg .b64 in, out, raw, wide;\n";

    for (size_t s = 0; s < operation.sources.size(); s++)
        text += declare("abce"[s], operation.sources[s]);
    text += declare('d', operation.d);
    text += "mov.u32 low, %ctaid.x;\nmov.u32 n, %ntid.x;\nmov.u32 i, %tid.x;\n"
            "mad.lo.s32 i, low, n, i;\nld.param.u32 n, [pn];\nsetp.ge.u32 outside, i, n;\n"
            "@outside bra end;\nld.param.u64 in, [px];\nld.param.u64 out, [py];\n"
            "mul.wide.u32 wide, i, 32;\nadd.s64 in, in, wide;\nmul.wide.u32 wide, i, 8;\n"
            "add.s64 out, out, wide;\n";
    for (size_t s = 0; s < operation.sources.size(); s++)
        text += load_source("abce"[s], operation.sources[s], (int)s);
    text += std::string(operation.text) + "\n";
    switch (operation.d.bits) {
    case 64: text += "mov.b64 raw, d;\n"; break;
    case 32: text += "cvt.u64.u32 raw, d;\n"; break;
    case 16: text += "cvt.u64.u16 raw, d;\n"; break;
    default: text += "selp.b64 raw, 1, 0, d;\n"; break;
    }
    return text + "st.global.b64 [out], raw;\nend:\nret;\n}\n";
}

std::vector<u64> operands_of(const Operation &operation)
{
    std::vector<std::vector<u64>> values(4, { 0 });
    std::vector<u64> operands;
    size_t product = 1;
    u64 state = 7;

    for (size_t s = 0; s < operation.sources.size(); s++) {
        values[s] = values_of(operation.sources[s].values);
        product *= values[s].size();
    }
    const bool all = product <= 20000;
    const size_t count = all ? product : 20000;
    for (size_t i = 0; i < count; i++) {
        size_t rest = i;
        for (size_t s = 0; s < 4; s++) {
            const size_t n = values[s].size();
            operands.push_back(values[s][(all ? rest : next_random(state) >> 8) % n]);
            rest /= n;
        }
    }
    return operands;
}

void check_operation(const Operation &operation)
{
    const Module module(operation_text(operation));
    const std::vector<u64> x = operands_of(operation);
    std::vector<u64> y(x.size() / 4, 0xdead);
    u64 *py = y.data();
    const u64 *px = x.data();
    u32 n = (u32)y.size();
    void *args[] = { &py, &px, &n };
    ptx_launch launch = launch_of((n + 255) / 256, 256, args);
    char error[PTX_ERROR_BYTES] = "";

    if (ptx_run(module.kernel("k"), &launch, error) != 0)
        fail_msg("%s: %s", operation.text, error);
    for (u32 i = 0; i < n; i++) {
        const u64 *v = &x[i * 4];
        const u64 want = operation.want(v[0], v[1], v[2], v[3]);
        const bool same = operation.d.values == FLOATS    ? same_float(y[i], want)
                          : operation.d.values == DOUBLES ? same_double(y[i], want)
                                                          : y[i] == want;
        if (!same)
            fail_msg("%s of %llx, %llx, %llx, %llx is %llx, not %llx", operation.text,
                     (unsigned long long)v[0], (unsigned long long)v[1], (unsigned long long)v[2],
                     (unsigned long long)v[3], (unsigned long long)y[i], (unsigned long long)want);
    }
}

void check_operations(const std::vector<Operation> &operations)
{
    for (const Operation &operation : operations)
        check_operation(operation);
}

/* ---- what C says */

/* a * b + c of binary32, rounded once: the product is exact in binary64; the sum is rounded there
   to odd, which a second rounding cannot spoil. */
float fused(float a, float b, float c)
{
    const double p = (double)a * b, q = c, s = p + q;
    u64 bits = bits_of(s);

    if (!std::isfinite(s))
        return (float)s;
    const double t = s - p, rest = (p - (s - t)) + (q - t);
    if (rest != 0 && (bits & 1) == 0)
        bits += (rest > 0) == (s > 0) ? UINT64_C(1) : ~UINT64_C(0);
    return (float)double_of(bits);
}

u64 f(double x) /* rounds once more: sums, products, quotients and roots survive it */
{
    return bits_of((float)x);
}

u64 low(u64 x, uint32_t bits)
{
    return bits == 64 ? x : x & ((UINT64_C(1) << bits) - 1);
}

s64 sign(u64 x, uint32_t bits)
{
    const u64 top = UINT64_C(1) << (bits - 1);

    return (s64)((low(x, bits) ^ top) - top);
}

void test_float_arithmetic(void **)
{
    check_operations({
        { "add.rn.f32 d, a, b;",
          F,
          { F, F },
          [](u64 a, u64 b, u64, u64) { return f((double)float_of(a) + float_of(b)); } },
        { "sub.rn.f32 d, a, b;",
          F,
          { F, F },
          [](u64 a, u64 b, u64, u64) { return f((double)float_of(a) - float_of(b)); } },
        { "mul.rn.f32 d, a, b;",
          F,
          { F, F },
          [](u64 a, u64 b, u64, u64) { return f((double)float_of(a) * float_of(b)); } },
        { "div.rn.f32 d, a, b;",
          F,
          { F, F },
          [](u64 a, u64 b, u64, u64) { return f((double)float_of(a) / float_of(b)); } },
        { "sqrt.rn.f32 d, a;",
          F,
          { F },
          [](u64 a, u64, u64, u64) { return f(std::sqrt((double)float_of(a))); } },
        { "rcp.rn.f32 d, a;",
          F,
          { F },
          [](u64 a, u64, u64, u64) { return f(1.0 / (double)float_of(a)); } },
        { "fma.rn.f32 d, a, b, c;",
          F,
          { F, F, F },
          [](u64 a, u64 b, u64 c, u64) {
              return bits_of(fused(float_of(a), float_of(b), float_of(c)));
          } },
        { "fma.rn.f32 d, a, 0fBF800000, a;",
          F,
          { F },
          [](u64 a, u64, u64, u64) { return f((double)float_of(a) - float_of(a)); } },
        { "neg.f32 d, a;", I, { F }, [](u64 a, u64, u64, u64) { return a ^ 0x80000000; } },
        { "abs.f32 d, a;", I, { F }, [](u64 a, u64, u64, u64) { return a & 0x7fffffff; } },
        { "copysign.f32 d, a, b;",
          F,
          { F, F },
          [](u64 a, u64 b, u64, u64) { return bits_of(std::copysign(float_of(b), float_of(a))); } },
        { "add.rn.f64 d, a, b;",
          D,
          { D, D },
          [](u64 a, u64 b, u64, u64) { return bits_of(double_of(a) + double_of(b)); } },
        { "mul.rn.f64 d, a, b;",
          D,
          { D, D },
          [](u64 a, u64 b, u64, u64) { return bits_of(double_of(a) * double_of(b)); } },
        { "div.rn.f64 d, a, b;",
          D,
          { D, D },
          [](u64 a, u64 b, u64, u64) { return bits_of(double_of(a) / double_of(b)); } },
        { "sqrt.rn.f64 d, a;",
          D,
          { D },
          [](u64 a, u64, u64, u64) { return bits_of(std::sqrt(double_of(a))); } },
        { "fma.rn.f64 d, a, b, c;",
          D,
          { D, D, D },
          [](u64 a, u64 b, u64 c, u64) {
              return bits_of(std::fma(double_of(a), double_of(b), double_of(c)));
          } },
    });
}

/* NaN loses against a number, -0 is below +0. */
void test_float_min_max(void **)
{
    const auto less = [](u64 a, u64 b) {
        const float x = float_of(a), y = float_of(b);
        if (std::isnan(x))
            return b;
        if (std::isnan(y))
            return a;
        return x < y || (x == y && std::signbit(x)) ? a : b;
    };

    check_operations({
        { "min.f32 d, a, b;", F, { F, F }, [&](u64 a, u64 b, u64, u64) { return less(a, b); } },
        { "max.f32 d, a, b;",
          F,
          { F, F },
          [&](u64 a, u64 b, u64, u64) {
              return less(a ^ 0x80000000, b ^ 0x80000000) ^ 0x80000000;
          } },
    });
}

void test_integers(void **)
{
    std::vector<Operation> list;
    static const struct {
        const char *suffix;
        Type type, wide;
    } types[] = { { "16", H, I }, { "32", I, L }, { "64", L, L } };
    static std::vector<std::string> texts;

    texts.clear();
    texts.reserve(400); /* Operation keeps pointers into them */
    const auto add = [&](const std::string &text, Type d, std::vector<Type> sources,
                         std::function<u64(u64, u64, u64, u64)> want) {
        texts.push_back(text);
        list.push_back({ texts.back().c_str(), d, std::move(sources), std::move(want) });
    };
    typedef unsigned __int128 u128;
    typedef __int128 s128;

    for (const auto &t : types) {
        const Type T = t.type;
        const uint32_t n = T.bits;
        const std::string s = t.suffix;

        for (const std::string kind : { "u", "s" }) {
            const bool is_signed = kind == "s";
            const std::string k = "." + kind + s;
            const auto value = [=](u64 x) { return is_signed ? (s128)sign(x, n) : (s128)(u128)x; };
            const auto cut = [=](s128 x) { return low((u64)x, n); };
            add("add" + k + " d, a, b;", T, { T, T },
                [=](u64 a, u64 b, u64, u64) { return cut(value(a) + value(b)); });
            add("sub" + k + " d, a, b;", T, { T, T },
                [=](u64 a, u64 b, u64, u64) { return cut(value(a) - value(b)); });
            add("mul.lo" + k + " d, a, b;", T, { T, T },
                [=](u64 a, u64 b, u64, u64) { return low(a * b, n); });
            add("mul.hi" + k + " d, a, b;", T, { T, T }, [=](u64 a, u64 b, u64, u64) {
                if (is_signed)
                    return cut((value(a) * value(b)) >> n);
                return low((u64)(((u128)a * b) >> n), n);
            });
            add("mad.lo" + k + " d, a, b, c;", T, { T, T, T },
                [=](u64 a, u64 b, u64 c, u64) { return low(a * b + c, n); });
            if (n < 64) {
                const Type W = t.wide;
                add("mul.wide" + k + " d, a, b;", W, { T, T },
                    [=](u64 a, u64 b, u64, u64) { return low((u64)(value(a) * value(b)), 2 * n); });
                add("mad.wide" + k + " d, a, b, c;", W, { T, T, W }, [=](u64 a, u64 b, u64 c, u64) {
                    return low((u64)(value(a) * value(b)) + c, 2 * n);
                });
            }
            add("div" + k + " d, a, b;", T, { T, T }, [=](u64 a, u64 b, u64, u64) {
                return b == 0 ? low(~UINT64_C(0), n) : cut(value(a) / value(b));
            });
            add("rem" + k + " d, a, b;", T, { T, T },
                [=](u64 a, u64 b, u64, u64) { return b == 0 ? a : cut(value(a) % value(b)); });
            add("min" + k + " d, a, b;", T, { T, T },
                [=](u64 a, u64 b, u64, u64) { return value(a) < value(b) ? a : b; });
            add("max" + k + " d, a, b;", T, { T, T },
                [=](u64 a, u64 b, u64, u64) { return value(a) < value(b) ? b : a; });
            add("shr" + k + " d, a, b;", T, { T, N },
                [=](u64 a, u64 b, u64, u64) { return cut(value(a) >> (b > 100 ? 100 : b)); });
            add("selp" + k + " d, a, b, c;", T, { T, T, P },
                [](u64 a, u64 b, u64 c, u64) { return c ? a : b; });
        }
        add("neg.s" + s + " d, a;", T, { T }, [=](u64 a, u64, u64, u64) { return low(0 - a, n); });
        add("abs.s" + s + " d, a;", T, { T },
            [=](u64 a, u64, u64, u64) { return low(sign(a, n) < 0 ? 0 - a : a, n); });
        add("shl.b" + s + " d, a, b;", T, { T, N },
            [=](u64 a, u64 b, u64, u64) { return b >= n ? 0 : low(a << b, n); });
        add("and.b" + s + " d, a, b;", T, { T, T }, [](u64 a, u64 b, u64, u64) { return a & b; });
        add("or.b" + s + " d, a, b;", T, { T, T }, [](u64 a, u64 b, u64, u64) { return a | b; });
        add("xor.b" + s + " d, a, b;", T, { T, T }, [](u64 a, u64 b, u64, u64) { return a ^ b; });
        add("not.b" + s + " d, a;", T, { T }, [=](u64 a, u64, u64, u64) { return low(~a, n); });
    }
    check_operations(list);
}

/* The manual's loops, bit by bit. */
u64 manual_bfe(u64 a, u64 b, u64 c, uint32_t bits, bool is_signed)
{
    const int msb = (int)bits - 1, pos = (int)(b & 255), len = (int)(c & 255);
    const int top = std::min(pos + len - 1, msb);
    const u64 sign_bit = !is_signed || len == 0 ? 0 : a >> top & 1;
    u64 d = 0;

    for (int i = 0; i <= msb; i++)
        d |= (i < len && pos + i <= msb ? a >> (pos + i) & 1 : sign_bit) << i;
    return d;
}

u64 manual_bfi(u64 a, u64 b, u64 c, u64 e, uint32_t bits)
{
    const int msb = (int)bits - 1, pos = (int)(c & 255), len = (int)(e & 255);
    u64 d = b;

    for (int i = 0; i < len && pos + i <= msb; i++)
        d = (d & ~(UINT64_C(1) << (pos + i))) | (a >> i & 1) << (pos + i);
    return d;
}

u64 find_bit(u64 a, uint32_t bits, bool is_signed)
{
    if (is_signed && sign(a, bits) < 0)
        a = low(~a, bits);
    for (int i = (int)bits - 1; i >= 0; i--) {
        if ((a >> i & 1) != 0)
            return (u64)i;
    }
    return 0xffffffff;
}

u64 bytes_of_pair(u64 a, u64 b, u64 c)
{
    u64 d = 0;

    for (int i = 0; i < 4; i++) {
        const int digit = (int)(c >> (4 * i) & 15);
        const u64 source = (digit & 7) < 4 ? a : b;
        u64 byte = source >> (8 * (digit & 3)) & 255;
        if ((digit & 8) != 0)
            byte = (byte & 128) != 0 ? 255 : 0;
        d |= byte << (8 * i);
    }
    return d;
}

u64 table_of_three(u64 a, u64 b, u64 c, u64 table)
{
    u64 d = 0;

    for (int i = 0; i < 32; i++) {
        const u64 row = (a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1);
        d |= (table >> row & 1) << i;
    }
    return d;
}

u64 turned(u64 a, uint32_t bits)
{
    u64 d = 0;

    for (uint32_t i = 0; i < bits; i++)
        d |= (a >> i & 1) << (bits - 1 - i);
    return d;
}

void test_bits(void **)
{
    check_operations({
        { "bfe.u32 d, a, b, c;",
          I,
          { I, N, N },
          [](u64 a, u64 b, u64 c, u64) { return manual_bfe(a, b, c, 32, false); } },
        { "bfe.s32 d, a, b, c;",
          I,
          { I, N, N },
          [](u64 a, u64 b, u64 c, u64) { return manual_bfe(a, b, c, 32, true); } },
        { "bfe.u64 d, a, b, c;",
          L,
          { L, N, N },
          [](u64 a, u64 b, u64 c, u64) { return manual_bfe(a, b, c, 64, false); } },
        { "bfe.s64 d, a, b, c;",
          L,
          { L, N, N },
          [](u64 a, u64 b, u64 c, u64) { return manual_bfe(a, b, c, 64, true); } },
        { "bfi.b32 d, a, b, c, e;",
          I,
          { I, I, N, N },
          [](u64 a, u64 b, u64 c, u64 e) { return manual_bfi(a, b, c, e, 32); } },
        { "bfi.b64 d, a, b, c, e;",
          L,
          { L, L, N, N },
          [](u64 a, u64 b, u64 c, u64 e) { return manual_bfi(a, b, c, e, 64); } },
        { "lop3.b32 d, a, b, c, 0xe2;",
          I,
          { I, I, I },
          [](u64 a, u64 b, u64 c, u64) { return table_of_three(a, b, c, 0xe2); } },
        { "lop3.b32 d, a, b, c, 0x1b;",
          I,
          { I, I, I },
          [](u64 a, u64 b, u64 c, u64) { return table_of_three(a, b, c, 0x1b); } },
        { "prmt.b32 d, a, b, c;",
          I,
          { I, I, I },
          [](u64 a, u64 b, u64 c, u64) { return bytes_of_pair(a, b, c); } },
        { "shf.l.wrap.b32 d, a, b, c;",
          I,
          { I, I, N },
          [](u64 a, u64 b, u64 c, u64) { return low((b << 32 | a) << (c % 32) >> 32, 32); } },
        { "shf.r.wrap.b32 d, a, b, c;",
          I,
          { I, I, N },
          [](u64 a, u64 b, u64 c, u64) { return low((b << 32 | a) >> (c % 32), 32); } },
        { "shf.l.clamp.b32 d, a, b, c;",
          I,
          { I, I, N },
          [](u64 a, u64 b, u64 c, u64) { return c > 31 ? a : low((b << 32 | a) << c >> 32, 32); } },
        { "shf.r.clamp.b32 d, a, b, c;",
          I,
          { I, I, N },
          [](u64 a, u64 b, u64 c, u64) { return c > 31 ? b : low((b << 32 | a) >> c, 32); } },
        { "popc.b32 d, a;",
          I,
          { I },
          [](u64 a, u64, u64, u64) { return (u64)__builtin_popcountll(a); } },
        { "popc.b64 d, a;",
          I,
          { L },
          [](u64 a, u64, u64, u64) { return (u64)__builtin_popcountll(a); } },
        { "clz.b32 d, a;",
          I,
          { I },
          [](u64 a, u64, u64, u64) { return (31 - find_bit(a, 32, false)) & 0xffffffff; } },
        { "clz.b64 d, a;",
          I,
          { L },
          [](u64 a, u64, u64, u64) { return (63 - find_bit(a, 64, false)) & 0xffffffff; } },
        { "brev.b32 d, a;", I, { I }, [](u64 a, u64, u64, u64) { return turned(a, 32); } },
        { "brev.b64 d, a;", L, { L }, [](u64 a, u64, u64, u64) { return turned(a, 64); } },
        { "bfind.u32 d, a;",
          I,
          { I },
          [](u64 a, u64, u64, u64) { return find_bit(a, 32, false); } },
        { "bfind.s32 d, a;", I, { I }, [](u64 a, u64, u64, u64) { return find_bit(a, 32, true); } },
        { "bfind.u64 d, a;",
          I,
          { L },
          [](u64 a, u64, u64, u64) { return find_bit(a, 64, false); } },
        { "bfind.s64 d, a;", I, { L }, [](u64 a, u64, u64, u64) { return find_bit(a, 64, true); } },
        { "bfind.shiftamt.u32 d, a;",
          I,
          { I },
          [](u64 a, u64, u64, u64) { return a == 0 ? 0xffffffff : 31 - find_bit(a, 32, false); } },
        { "and.pred d, a, b;", P, { P, P }, [](u64 a, u64 b, u64, u64) { return a & b; } },
        { "or.pred d, a, b;", P, { P, P }, [](u64 a, u64 b, u64, u64) { return a | b; } },
        { "xor.pred d, a, b;", P, { P, P }, [](u64 a, u64 b, u64, u64) { return a ^ b; } },
        { "not.pred d, a;", P, { P }, [](u64 a, u64, u64, u64) { return a ^ 1; } },
        { "mov.pred d, a;", P, { P }, [](u64 a, u64, u64, u64) { return a; } },
        { "mov.b32 d, a;", I, { F }, [](u64 a, u64, u64, u64) { return a; } },
        { "mov.b64 d, {a, b};", L, { I, I }, [](u64 a, u64 b, u64, u64) { return b << 32 | a; } },
        { "mov.b32 d, {a, b};", I, { H, H }, [](u64 a, u64 b, u64, u64) { return b << 16 | a; } },
        { "mov.b64 {_, d}, a;", I, { L }, [](u64 a, u64, u64, u64) { return a >> 32; } },
        { "mov.b64 {d, _}, a;", I, { L }, [](u64 a, u64, u64, u64) { return low(a, 32); } },
        { "selp.f32 d, a, b, c;",
          I,
          { F, F, P },
          [](u64 a, u64 b, u64 c, u64) { return c ? a : b; } },
    });
}

/* ---- comparisons */

bool manual_compare(const std::string &how, int order, bool unordered)
{
    const bool less = order<0, equal = order == 0, more = order> 0;

    if (how == "num")
        return !unordered;
    if (how == "nan")
        return unordered;
    if (unordered)
        return how.size() == 3;
    const std::string two = how.substr(0, 2);
    if (two == "eq")
        return equal;
    if (two == "ne")
        return !equal;
    if (two == "lt" || two == "lo")
        return less;
    if (two == "le" || two == "ls")
        return less || equal;
    if (two == "gt" || two == "hi")
        return more;
    return more || equal;
}

template <class T>
int order_of(T a, T b)
{
    return a < b ? -1 : a > b ? 1 : 0;
}

void test_comparisons(void **)
{
    const char *const floats[] = { "eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                   "neu", "ltu", "leu", "gtu", "geu", "num", "nan" };
    const char *const integers[] = { "eq", "ne", "lt", "le", "gt", "ge" };
    const char *const unsigned_only[] = { "lo", "ls", "hi", "hs" };

    for (const std::string how : floats) {
        const std::string text = "setp." + how + ".f32 d, a, b;";
        check_operation({ text.c_str(), P, { F, F }, [&](u64 a, u64 b, u64, u64) {
                             const float x = float_of(a), y = float_of(b);
                             return (u64)manual_compare(how, order_of(x, y), x != x || y != y);
                         } });
        const std::string wide = "setp." + how + ".f64 d, a, b;";
        check_operation({ wide.c_str(), P, { D, D }, [&](u64 a, u64 b, u64, u64) {
                             const double x = double_of(a), y = double_of(b);
                             return (u64)manual_compare(how, order_of(x, y), x != x || y != y);
                         } });
    }
    for (const Type type : { H, I, L }) {
        const std::string bits = std::to_string(type.bits);
        for (const std::string how : integers) {
            const std::string text = "setp." + how + ".s" + bits + " d, a, b;";
            check_operation({ text.c_str(), P, { type, type }, [&](u64 a, u64 b, u64, u64) {
                                 const s64 x = sign(a, type.bits), y = sign(b, type.bits);
                                 return (u64)manual_compare(how, order_of(x, y), false);
                             } });
        }
        for (const char *const *list : { integers, unsigned_only }) {
            for (int i = 0; i < (list == integers ? 6 : 4); i++) {
                const std::string how = list[i], text = "setp." + how + ".u" + bits + " d, a, b;";
                check_operation({ text.c_str(), P, { type, type }, [&](u64 a, u64 b, u64, u64) {
                                     return (u64)manual_compare(how, order_of(a, b), false);
                                 } });
            }
        }
    }
}

void test_combined_comparisons(void **)
{
    check_operations({
        { "setp.lt.and.f32 d, a, b, c;",
          P,
          { F, F, P },
          [](u64 a, u64 b, u64 c, u64) { return (u64)(float_of(a) < float_of(b) && c); } },
        { "setp.lt.or.f32 d, a, b, !c;",
          P,
          { F, F, P },
          [](u64 a, u64 b, u64 c, u64) { return (u64)(float_of(a) < float_of(b) || !c); } },
        { "setp.eq.xor.s32 d, a, b, c;",
          P,
          { I, I, P },
          [](u64 a, u64 b, u64 c, u64) { return (u64)((a == b) != (c != 0)); } },
        { "{ .reg .pred p; setp.lt.and.u32 p|d, a, b, c; }",
          P,
          { I, I, P },
          [](u64 a, u64 b, u64 c, u64) { return (u64)(!(a < b) && c); } },
        { "{ .reg .pred p; setp.lt.u32 p, a, b; mov.b32 d, 1; @p mov.b32 d, 2; }",
          I,
          { I, I },
          [](u64 a, u64 b, u64, u64) { return (u64)(a < b ? 2 : 1); } },
        { "{ .reg .pred p; setp.lt.u32 p, a, b; mov.b32 d, 1; @!p mov.b32 d, 2; }",
          I,
          { I, I },
          [](u64 a, u64 b, u64, u64) { return (u64)(a < b ? 1 : 2); } },
    });
}

/* ---- conversions */

/* The integer a device gives: clamped; NaN is 0, or the top bit where 64 bits take part. */
u64 to_integer(double x, uint32_t bits, bool is_signed, bool wide_source)
{
    const long double least = is_signed ? -std::ldexp(1.0L, (int)bits - 1) : 0;
    const long double limit = std::ldexp(1.0L, (int)bits - is_signed);

    if (std::isnan(x))
        return bits == 64 || wide_source ? UINT64_C(1) << (bits - 1) : 0;
    if (x <= least)
        return low(is_signed ? UINT64_C(1) << (bits - 1) : 0, bits);
    if (x >= limit)
        return is_signed ? (UINT64_C(1) << (bits - 1)) - 1 : low(~UINT64_C(0), bits);
    return low(is_signed ? (u64)(s64)x : (u64)x, bits);
}

double by_word(double x, const std::string &word)
{
    return word == "rni"   ? std::nearbyint(x)
           : word == "rzi" ? std::trunc(x)
           : word == "rmi" ? std::floor(x)
                           : std::ceil(x);
}

/* Is y the float that the rounding asks for? */
bool is_rounded(long double x, float y, const std::string &word)
{
    const long double error = (long double)y - x;
    const float up = std::nextafter(y, INFINITY), down = std::nextafter(y, -INFINITY);

    if (std::isnan(x))
        return std::isnan(y);
    if (word == "rz"   ? std::fabs((long double)y) > std::fabs(x)
        : word == "rm" ? error > 0
        : word == "rp" ? error < 0
                       : false)
        return false;
    if (error == 0 || std::isinf(x))
        return error == 0 || (long double)y == x;
    if (word == "rz")
        return x > 0 ? (long double)up > x : (long double)down < x;
    if (word == "rm")
        return (long double)up > x;
    return (long double)down < x;
}

void test_float_to_integer(void **)
{
    for (const std::string word : { "rni", "rzi", "rmi", "rpi" }) {
        for (const Type type : { H, I, L }) {
            for (const bool is_signed : { false, true }) {
                const std::string to = (is_signed ? "s" : "u") + std::to_string(type.bits);
                const std::string text = "cvt." + word + "." + to + ".f32 d, a;";
                check_operation({ text.c_str(), type, { F }, [&](u64 a, u64, u64, u64) {
                                     return to_integer(by_word(float_of(a), word), type.bits,
                                                       is_signed, false);
                                 } });
                const std::string wide = "cvt." + word + "." + to + ".f64 d, a;";
                check_operation({ wide.c_str(), type, { D }, [&](u64 a, u64, u64, u64) {
                                     return to_integer(by_word(double_of(a), word), type.bits,
                                                       is_signed, true);
                                 } });
            }
        }
        const std::string text = "cvt." + word + ".f32.f32 d, a;";
        check_operation({ text.c_str(), F, { F }, [&](u64 a, u64, u64, u64) {
                             return bits_of((float)by_word(float_of(a), word));
                         } });
    }
}

void check_rounding(const std::string &text, Type from, const std::string &word,
                    const std::function<long double(u64)> &value)
{
    /* the result is stored as it is and looked at afterwards: directed rounding is a property */
    check_operation({ text.c_str(), F, { from }, [&](u64 a, u64, u64, u64) {
                         const long double x = value(a);
                         float y = (float)x;
                         for (const float candidate :
                              { y, std::nextafter(y, INFINITY), std::nextafter(y, -INFINITY) }) {
                             if (word != "rn" && is_rounded(x, candidate, word)) {
                                 y = candidate;
                                 break;
                             }
                         }
                         return bits_of(y);
                     } });
}

void test_integer_to_float(void **)
{
    for (const std::string word : { "rn", "rz", "rm", "rp" }) {
        for (const Type type : { H, I, L }) {
            const std::string bits = std::to_string(type.bits);
            check_rounding("cvt." + word + ".f32.s" + bits + " d, a;", type, word,
                           [&](u64 a) { return (long double)sign(a, type.bits); });
            check_rounding("cvt." + word + ".f32.u" + bits + " d, a;", type, word,
                           [&](u64 a) { return (long double)a; });
        }
        check_rounding("cvt." + word + ".f32.f64 d, a;", D, word,
                       [&](u64 a) { return (long double)double_of(a); });
    }
}

void test_other_conversions(void **)
{
    check_operations({
        { "cvt.f64.f32 d, a;",
          D,
          { F },
          [](u64 a, u64, u64, u64) { return bits_of((double)float_of(a)); } },
        { "cvt.rn.f64.s64 d, a;",
          D,
          { L },
          [](u64 a, u64, u64, u64) { return bits_of((double)(s64)a); } },
        { "cvt.sat.f32.f32 d, a;",
          F,
          { F },
          [](u64 a, u64, u64, u64) {
              const float x = float_of(a);
              return bits_of(x > 1 ? 1.0f : x > 0 ? x : 0.0f);
          } },
        { "cvt.u32.u64 d, a;", I, { L }, [](u64 a, u64, u64, u64) { return low(a, 32); } },
        { "cvt.u64.u32 d, a;", L, { I }, [](u64 a, u64, u64, u64) { return a; } },
        { "cvt.s64.s32 d, a;", L, { I }, [](u64 a, u64, u64, u64) { return (u64)sign(a, 32); } },
        { "cvt.s32.s8 d, a;",
          I,
          { I },
          [](u64 a, u64, u64, u64) { return low((u64)sign(a, 8), 32); } },
        { "cvt.u32.u8 d, a;", I, { I }, [](u64 a, u64, u64, u64) { return low(a, 8); } },
        { "cvt.s16.s8 d, a;",
          I,
          { H }, /* into a wider register: extended as the type says */
          [](u64 a, u64, u64, u64) { return low((u64)sign(a, 8), 32); } },
        { "cvt.u16.s8 d, a;",
          I,
          { H },
          [](u64 a, u64, u64, u64) { return low((u64)sign(a, 8), 16); } },
        { "cvt.sat.u8.s32 d, a;",
          I,
          { I },
          [](u64 a, u64, u64, u64) {
              const s64 x = sign(a, 32);
              return (u64)(x < 0 ? 0 : x > 255 ? 255 : x);
          } },
        { "cvt.sat.s16.s64 d, a;",
          H,
          { L },
          [](u64 a, u64, u64, u64) {
              const s64 x = (s64)a;
              return low((u64)(x < -32768 ? -32768 : x > 32767 ? 32767 : x), 16);
          } },
    });
}

} // namespace

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_float_arithmetic),  cmocka_unit_test(test_float_min_max),
        cmocka_unit_test(test_integers),          cmocka_unit_test(test_bits),
        cmocka_unit_test(test_comparisons),       cmocka_unit_test(test_combined_comparisons),
        cmocka_unit_test(test_float_to_integer),  cmocka_unit_test(test_integer_to_float),
        cmocka_unit_test(test_other_conversions),
    };

    return cmocka_run_group_tests_name("ptx", tests, nullptr, nullptr);
}
