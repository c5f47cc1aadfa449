/* The PTX interpreter beyond single values: memory of every state space and its initial values,
   shuffles and votes, barriers, calls, branch tables, atomics, the order of threads; and kernels
   with one planted fault each, which must give another result.  Texts written by hand. */
#include "ptx_test.h"

#include <algorithm>
#include <numeric>

namespace
{

typedef uint64_t u64;
typedef uint32_t u32;

/* One kernel k(u32 *y, const u32 *x): `module` before it, `body` in it.  t is the thread of the
   block, i of the launch; y and x are loaded. */
std::string kernel_text(const std::string &module, const std::string &body)
{
    return ptx_head() + module +
           ".visible .entry k(.param .u64 py, .param .u64 px)\n{\n"
           ".reg .b32 t, i, r<20>; .reg .b64 y, x, ty, tx, q<10>; .reg .pred p<10>; .reg .b16 "
           "h<4>;\n"
           "mov.u32 t, %tid.x; mov.u32 r0, %ctaid.x; mov.u32 r1, %ntid.x;\n"
           "mad.lo.s32 i, r0, r1, t; ld.param.u64 y, [py]; ld.param.u64 x, [px];\n"
           "cvta.to.global.u64 y, y; cvta.to.global.u64 x, x; mul.wide.u32 q0, i, 4;\n"
           "add.s64 ty, y, q0; add.s64 tx, x, q0;\n" +
           body + "\nret;\n}\n";
}

struct Result {
    std::vector<u32> y;
    std::string error;
};

Result run_text(const std::string &text, std::vector<u32> x, u32 blocks, u32 threads,
                ptx_order order = PTX_IN_ORDER, u64 seed = 0)
{
    const Module module(text);
    Result result;
    char error[PTX_ERROR_BYTES] = "";

    x.resize(std::max<size_t>(x.size(), blocks * threads));
    result.y.resize(std::max<size_t>(x.size(), 4 * blocks * threads + 8), 0xeeeeeeee);
    u32 *py = result.y.data();
    const u32 *px = x.data();
    void *args[] = { &py, &px };
    ptx_launch launch = launch_of(blocks, threads, args);
    launch.order = order;
    launch.seed = seed;
    ptx_run(module.kernel("k"), &launch, error);
    result.error = error;
    return result;
}

std::vector<u32> run_well(const std::string &text, const std::vector<u32> &x, u32 blocks,
                          u32 threads, ptx_order order = PTX_IN_ORDER, u64 seed = 0)
{
    const Result result = run_text(text, x, blocks, threads, order, seed);

    if (!result.error.empty())
        fail_msg("%s\n%s", result.error.c_str(), text.c_str());
    return result.y;
}

std::vector<u32> counted(u32 n)
{
    std::vector<u32> x(n);

    std::iota(x.begin(), x.end(), 1000u);
    return x;
}

/* ---- memory */

void test_vectors(void **)
{
    const std::vector<u32> y =
        run_well(kernel_text(".shared .align 16 .b8 s[4096];\n",
                             "mul.wide.u32 q1, i, 16; add.s64 q2, x, q1; add.s64 q3, y, q1;\n"
                             "ld.global.v4.u32 {r2, r3, r4, r5}, [q2];\n"
                             "shl.b32 r6, t, 4; mov.u32 r7, s; add.s32 r7, r7, r6;\n"
                             "st.shared.v2.b32 [r7], {r5, r4}; st.shared.v2.b32 [r7+8], {r3, r2};\n"
                             "ld.shared.v4.b32 {r8, r9, _, r11}, [r7]; ld.shared.u32 r10, [r7+8];\n"
                             "st.global.v4.u32 [q3], {r8, r9, r10, r11};"),
                 counted(256), 2, 32);

    for (u32 i = 0; i < 256; i++)
        assert_int_equal(y[i], 1000 + i / 4 * 4 + (3 - i % 4));
}

void test_small_elements(void **)
{
    const std::vector<u32> y = run_well(
        kernel_text(
            "", "ld.global.u8 r2, [tx]; ld.global.s8 r3, [tx+1]; ld.global.u16 r4, [tx];\n"
                "ld.global.s16 h0, [tx+2]; cvt.s32.s16 r5, h0; ld.global.s8 q1, [tx+1];\n"
                "shr.u64 q1, q1, 32; cvt.u32.u64 r6, q1; mul.wide.u32 q2, i, 20;\n"
                "add.s64 q2, y, q2; st.global.u32 [q2], r2; st.global.u32 [q2+4], r3;\n"
                "st.global.u32 [q2+8], r4; st.global.u32 [q2+12], r5; st.global.u8 [q2+16], r6;\n"
                "st.global.u16 [q2+18], r6;"),
        { 0x8001807f }, 1, 1);

    assert_int_equal(y[0], 0x7f);
    assert_int_equal(y[1], 0xffffff80);
    assert_int_equal(y[2], 0x807f);
    assert_int_equal(y[3], 0xffff8001);
    assert_int_equal(y[4], 0xffffeeff);
}

void test_params(void **)
{
    const Module module(
        ptx_head() +
        ".visible .entry k(.param .u8 a, .param .align 16 .b8 s[32], .param .u64 .ptr .global "
        ".align 4 py)\n{\n"
        ".reg .b32 r<8>; .reg .b64 q<8>;\nld.param.u64 q0, [py]; ld.param.v2.u32 {r0, r1}, [s+8];\n"
        "mov.b64 q1, s; add.s64 q1, q1, 32; ld.param.u32 r2, [q1+-4];\n"
        "mov.b64 q2, s; cvta.param.u64 q3, q2; ld.u32 r3, [q3+4]; ld.param.u8 r4, [a];\n"
        "st.global.u32 [q0], r0; st.global.u32 [q0+4], r1; st.global.u32 [q0+8], r2;\n"
        "st.global.u32 [q0+12], r3; st.global.u32 [q0+16], r4;\n}\n");
    const ptx_kernel *const k = module.kernel("k");
    unsigned char a = 200;
    const u32 s[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    u32 y[5] = { 0 }, *py = y, copy[8];
    void *args[] = { &a, copy, &py };
    ptx_launch launch = launch_of(1, 1, args);
    char error[PTX_ERROR_BYTES] = "";

    memcpy(copy, s, sizeof s);
    assert_int_equal(ptx_param_count(k), 3);
    assert_int_equal(ptx_param_bytes(k, 0), 1);
    assert_int_equal(ptx_param_offset(k, 1), 16);
    assert_int_equal(ptx_param_bytes(k, 1), 32);
    assert_int_equal(ptx_param_offset(k, 2), 48);
    if (ptx_run(k, &launch, error) != 0)
        fail_msg("%s", error);
    const u32 want[5] = { 3, 4, 8, 2, 200 };
    assert_memory_equal(y, want, sizeof want);
}

const char *const tables =
    ".global .align 4 .b8 dims[12] = {3, 0, 0, 0, 5, 0, 0, 0, 7};\n"
    ".global .align 8 .u64 rows[3] = {generic(dims), generic(dims)+4, 0};\n"
    ".global .align 4 .u8 bytes[8] = {0xFF(generic(dims)+8), 0xFF00(generic(dims)+8),\n"
    "  0xFF0000(generic(dims)+8), 0XFF000000(generic(dims)+8), 0xFF00000000(generic(dims)+8),\n"
    "  0xFF0000000000(generic(dims)+8), 0xFF000000000000(generic(dims)+8),\n"
    "  0xFF00000000000000(generic(dims)+8)};\n"
    ".const .align 4 .f32 halves[2] = {0f3F000000, 0fBF000000};\n"
    ".global .align 4 .u32 one = 17;\n.global .align 8 .u64 self = self;\n";

void test_tables(void **)
{
    const std::string text = kernel_text(
        tables, "mov.u64 q1, rows; ld.global.nc.u64 q2, [q1+8]; ld.global.u32 r2, [q2];\n"
                "mov.u64 q3, bytes; ld.global.nc.u32 r3, [q3]; ld.global.nc.u32 r4, [q3+4];\n"
                "mov.b64 q4, {r3, r4}; ld.u32 r5, [q4]; ld.const.f32 r6, [halves+4];\n"
                "ld.global.u32 r7, [one]; ld.global.u32 r8, [dims]; ld.global.u64 q5, [self];\n"
                "mov.u64 q6, self; sub.s64 q5, q5, q6; cvt.u32.u64 r9, q5;\n"
                "st.global.u32 [y], r2; st.global.u32 [y+4], r5; st.global.u32 [y+8], r6;\n"
                "st.global.u32 [y+12], r7; st.global.u32 [y+16], r8; st.global.u32 [y+20], r9;");
    const std::vector<u32> y = run_well(text, { 0 }, 1, 1);
    const u32 want[6] = { 5, 7, 0xbf000000, 17, 3, 0 };

    assert_memory_equal(y.data(), want, sizeof want);
    const Module module(text);
    size_t bytes = 0;
    const u32 *const dims = (const u32 *)ptx_variable(module.module, "dims", &bytes);
    assert_int_equal(bytes, 12);
    assert_int_equal(dims[2], 7);
    assert_null(ptx_variable(module.module, "nothing", nullptr));
}

/* One address through a generic pointer of each space. */
void test_generic(void **)
{
    const std::vector<u32> y = run_well(
        kernel_text("",
                    ".shared .align 4 .b8 s[256]; .local .align 8 .b8 __local_depot0[16];\n"
                    "shl.b32 r2, t, 2; mov.u32 r3, s; add.s32 r3, r3, r2; cvt.u64.u32 q1, r3;\n"
                    "cvta.shared.u64 q2, q1; st.u32 [q2], t; ld.shared.u32 r4, [r3];\n"
                    "cvta.to.shared.u64 q3, q2; cvt.u32.u64 r5, q3; sub.s32 r5, r5, r3;\n"
                    "mov.u64 q4, __local_depot0; cvta.local.u64 q5, q4; add.s32 r6, t, 5;\n"
                    "st.local.u32 [q4+8], r6; ld.u32 r7, [q5+8]; ld.u32 r8, [tx];\n"
                    "add.s32 r9, r4, r5; add.s32 r9, r9, r7; add.s32 r9, r9, r8; st.u32 [ty], r9;"),
        counted(64), 1, 64);

    for (u32 i = 0; i < 64; i++)
        assert_int_equal(y[i], i + 0 + (i + 5) + (1000 + i));
}

void test_dynamic_shared(void **)
{
    const Module module(ptx_head() +
                        ".extern .shared .align 16 .b8 dyn[];\n"
                        ".visible .entry k(.param .u64 py)\n{\n.shared .align 4 .b8 s[12];\n"
                        ".reg .b32 r<4>; .reg .b64 q<4>;\nld.param.u64 q0, [py]; mov.u32 r0, dyn;\n"
                        "mov.u32 r1, 77; st.shared.u32 [r0+60], r1; st.shared.u32 [s+8], r1;\n"
                        "ld.shared.u32 r2, [dyn+60]; st.global.u32 [q0], r2;\n}\n");
    u32 y = 0, *py = &y;
    void *args[] = { &py };
    ptx_launch launch = launch_of(1, 1, args);
    char error[PTX_ERROR_BYTES] = "";

    launch.shared_bytes = 64;
    assert_int_equal(ptx_run(module.kernel("k"), &launch, error), 0);
    assert_int_equal(y, 77);
    launch.shared_bytes = 60;
    assert_int_equal(ptx_run(module.kernel("k"), &launch, error), 1);
    assert_non_null(strstr(error, "is outside every array"));
    assert_int_equal(ptx_shared_bytes(module.kernel("k")), 12);
}

/* ---- warps */

/* The manual's words: the lane that is read, and whether it is in range. */
bool manual_shuffle(const std::string &mode, u32 lane, u32 b, u32 c, u32 &from)
{
    const int bval = (int)(b & 31), cval = (int)(c & 31), mask = (int)(c >> 8 & 31);
    const int max_lane = ((int)lane & mask) | (cval & ~mask), min_lane = (int)lane & mask;
    int j = 0;
    bool p = false;

    if (mode == "up") {
        j = (int)lane - bval;
        p = j >= max_lane;
    } else if (mode == "down") {
        j = (int)lane + bval;
        p = j <= max_lane;
    } else if (mode == "bfly") {
        j = (int)lane ^ bval;
        p = j <= max_lane;
    } else {
        j = min_lane | (bval & ~mask);
        p = j <= max_lane;
    }
    from = p ? (u32)j : lane;
    return p;
}

void test_shuffles(void **)
{
    for (const std::string mode : { "up", "down", "bfly", "idx" }) {
        for (const u32 width : { 32u, 16u, 8u, 2u }) {
            const u32 c = (32 - width) << 8 | (mode == "up" ? 0 : 31);
            for (u32 b = 0; b < 32; b++) {
                const std::string text =
                    kernel_text("", "ld.global.u32 r2, [tx];\nshfl.sync." + mode +
                                        ".b32 r3|p0, r2, " + std::to_string(b) + ", " +
                                        std::to_string(c) +
                                        ", -1;\nselp.u32 r4, 100000, 0, p0; add.s32 r3, r3, r4;\n"
                                        "st.global.u32 [ty], r3;");
                const std::vector<u32> y = run_well(text, counted(64), 1, 64);
                for (u32 t = 0; t < 64; t++) {
                    u32 from;
                    const bool p = manual_shuffle(mode, t % 32, b, c, from);
                    assert_int_equal(y[t], 1000 + t / 32 * 32 + from + (p ? 100000 : 0));
                }
            }
        }
    }
}

/* Half a warp shuffles by itself, the other half in another arm; both masks are right. */
void test_shuffle_in_arms(void **)
{
    const std::string text =
        kernel_text("",
                    "ld.global.u32 r2, [tx]; mov.u32 r4, %laneid; setp.lt.u32 p0, r4, 16;\n"
                    "@p0 bra low;\nshfl.sync.idx.b32 r3, r2, 17, 31, 0xffff0000; bra.uni join;\n"
                    "low: shfl.sync.bfly.b32 r3, r2, 1, 31, 0xffff;\njoin:\n"
                    "bar.warp.sync -1; st.global.u32 [ty], r3;");
    const std::vector<u32> y = run_well(text, counted(32), 1, 32, PTX_RANDOM, 3);

    for (u32 t = 0; t < 32; t++)
        assert_int_equal(y[t], 1000 + (t < 16 ? t ^ 1 : 17));
}

void test_votes(void **)
{
    const std::string text = kernel_text(
        "", "ld.global.u32 r2, [tx]; setp.gt.u32 p0, r2, 4; mul.wide.u32 q1, i, 16;\n"
            "add.s64 q1, y, q1; vote.sync.all.pred p1, p0, -1; vote.sync.any.pred p2, p0, -1;\n"
            "vote.sync.uni.pred p3, !p0, -1; vote.sync.ballot.b32 r3, p0, -1; activemask.b32 r7;\n"
            "selp.u32 r4, 1, 0, p1; selp.u32 r5, 2, 0, p2; selp.u32 r6, 4, 0, p3;\n"
            "or.b32 r4, r4, r5; or.b32 r4, r4, r6; redux.sync.add.u32 r5, r2, -1;\n"
            "redux.sync.min.s32 r6, r2, -1; add.s32 r6, r6, r7; st.global.v4.u32 [q1], {r3, r4, "
            "r5, r6};");
    std::vector<u32> x(96, 9);

    std::fill(x.begin() + 32, x.begin() + 64, 1); /* warp 0: all; warp 1: none; warp 2: some */
    x[64 + 3] = 2;
    x[64 + 9] = (u32)-5;
    x[64 + 10] = 4;
    const std::vector<u32> y = run_well(text, x, 1, 96, PTX_REVERSED);
    const u32 ballots[3] = { ~0u, 0, ~0u ^ (1u << 3) ^ (1u << 10) };
    const u32 flags[3] = { 1 + 2 + 4, 4, 2 };
    const u32 sums[3] = { 9 * 32, 32, 9 * 29 + 2 + 4 - 5 };
    const u32 least[3] = { 9, 1, (u32)-5 };
    for (u32 t = 0; t < 96; t++) {
        assert_int_equal(y[4 * t], ballots[t / 32]);
        assert_int_equal(y[4 * t + 1], flags[t / 32]);
        assert_int_equal(y[4 * t + 2], sums[t / 32]);
        assert_int_equal(y[4 * t + 3], least[t / 32] - 1);
    }
}

void test_barrier_reductions(void **)
{
    const std::string text = kernel_text(
        "", "ld.global.u32 r2, [tx]; setp.gt.u32 p0, r2, 4; bar.red.popc.u32 r3, 0, p0;\n"
            "bar.red.and.pred p1, 0, p0; barrier.red.or.pred p2, 0, !p0; selp.u32 r4, 1, 0, p1;\n"
            "selp.u32 r5, 2, 0, p2; add.s32 r4, r4, r5; mul.wide.u32 q1, i, 8; add.s64 q1, y, q1;\n"
            "st.global.v2.u32 [q1], {r3, r4};");
    std::vector<u32> x(128, 9);

    x[100] = 3;
    const std::vector<u32> y = run_well(text, x, 2, 64, PTX_RANDOM, 1);
    for (u32 t = 0; t < 128; t++) {
        assert_int_equal(y[2 * t], t < 64 ? 64 : 63);
        assert_int_equal(y[2 * t + 1], t < 64 ? 1 : 2);
    }
}

/* ---- control */

void test_branch_table(void **)
{
    const std::string text =
        kernel_text("", "rem.u32 r2, t, 4;\nwhere: .branchtargets zero, one, two, one;\n"
                        "brx.idx r2, where;\nzero: mov.u32 r3, 10; bra.uni done;\n"
                        "one: mov.u32 r3, 20; bra.uni done;\ntwo: mov.u32 r3, 30;\ndone:\n"
                        "st.global.u32 [ty], r3;");
    const std::vector<u32> y = run_well(text, {}, 1, 32);
    const u32 want[4] = { 10, 20, 30, 20 };

    for (u32 t = 0; t < 32; t++)
        assert_int_equal(y[t], want[t % 4]);
}

/* A function that calls another; a block in which registers and parameters have old names. */
void test_calls(void **)
{
    const std::string functions =
        ".func (.param .b32 result) twice(.param .b32 v)\n;\n"
        ".func (.param .b32 result) plus(.param .b32 a, .param .align 8 .b8 b[16])\n{\n"
        ".reg .b32 r<4>; .reg .b64 q<2>; ld.param.u32 r0, [a]; ld.param.u64 q0, [b+8];\n"
        "cvt.u32.u64 r1, q0;\n{ .param .b32 p0; st.param.b32 [p0], r1; .param .b32 ret0;\n"
        "call.uni (ret0), twice, (p0); ld.param.b32 r2, [ret0]; }\n"
        "add.s32 r0, r0, r2; st.param.b32 [result], r0; ret;\n}\n"
        ".func (.param .b32 result) twice(.param .b32 v)\n{\n.reg .b32 r<2>;\n"
        "ld.param.u32 r0, [v]; shl.b32 r0, r0, 1; st.param.b32 [result+0], r0; ret;\n}\n";
    const std::string text =
        kernel_text(functions,
                    "mov.u32 r2, 5;\n{ .reg .b32 r2; .param .b32 p0; .param .align 8 .b8 p1[16];\n"
                    "st.param.b32 [p0+0], t; ld.global.u32 r2, [tx]; cvt.u64.u32 q1, r2;\n"
                    "st.param.b64 [p1+8], q1; .param .b32 ret0; call.uni (ret0), plus, (p0, p1);\n"
                    "ld.param.b32 r3, [ret0+0]; }\nadd.s32 r3, r3, r2; st.global.u32 [ty], r3;");
    const std::vector<u32> y = run_well(text, counted(64), 1, 64, PTX_RANDOM, 5);

    for (u32 t = 0; t < 64; t++)
        assert_int_equal(y[t], t + 2 * (1000 + t) + 5);
}

void test_atomics(void **)
{
    const std::string text = kernel_text(
        "", ".shared .align 4 .b8 s[4]; setp.eq.u32 p0, t, 0; mov.u32 r2, 0;\n"
            "@p0 st.shared.u32 [s], r2; bar.sync 0; atom.shared.add.u32 r3, [s], 2; bar.sync 0;\n"
            "ld.shared.u32 r4, [s]; red.global.add.u32 [y], t; red.global.max.s32 [y+4], t;\n"
            "atom.global.min.u32 r5, [y+8], t; atom.relaxed.gpu.global.cas.b32 r5, [y+12], "
            "-286331154, 1;\n"
            "mov.u32 r6, 0f3F800000; red.global.add.f32 [y+16], r6; @p0 st.global.u32 [y+20], r4;\n"
            "membar.gl; fence.acq_rel.gpu;");
    const Module module(text);
    u32 y[8] = { 0, 0, 100, 0xeeeeeeee, 0, 0, 0, 0 }, x[64], *py = y, *px = x;
    void *args[] = { &py, &px };
    ptx_launch launch = launch_of(1, 64, args);
    char error[PTX_ERROR_BYTES] = "";

    if (ptx_run(module.kernel("k"), &launch, error) != 0)
        fail_msg("%s", error);
    assert_int_equal(y[0], 64 * 63 / 2);
    assert_int_equal(y[1], 63);
    assert_int_equal(y[2], 0);
    assert_int_equal(y[3], 1);
    assert_int_equal(y[4], bits_of(64.0f));
    assert_int_equal(y[5], 128);
}

/* ---- order */

/* Each thread takes a ticket: the order becomes visible. */
void test_order(void **)
{
    const std::string text =
        kernel_text("", "atom.global.add.u32 r2, [x], 1; st.global.u32 [ty], r2;");
    std::vector<u32> y = run_well(text, { 0 }, 4, 64);

    for (u32 i = 0; i < 256; i++)
        assert_int_equal(y[i], i);
    y = run_well(text, { 0 }, 4, 64, PTX_REVERSED);
    for (u32 i = 0; i < 256; i++)
        assert_int_equal(y[i], 255 - i);
    y = run_well(text, { 0 }, 4, 64, PTX_RANDOM, 1);
    std::vector<u32> sorted(y.begin(), y.begin() + 256);
    std::sort(sorted.begin(), sorted.end());
    for (u32 i = 0; i < 256; i++)
        assert_int_equal(sorted[i], i);
    assert_true(run_well(text, { 0 }, 4, 64, PTX_RANDOM, 1) == y);
    assert_false(run_well(text, { 0 }, 4, 64, PTX_RANDOM, 2) == y);
}

/* ---- planted faults */

/* y[block] = sum of 256 x: shuffles in each warp, then one warp over shared memory. */
const char *const sum_body =
    ".shared .align 4 .b8 s[32];\nld.global.f32 r2, [tx]; fma.rn.f32 r2, r2, r2, 0f3A83126F;\n"
    "shfl.sync.down.b32 r3, r2, 16, 31, -1; add.rn.f32 r2, r2, r3;\n"
    "shfl.sync.down.b32 r3, r2, 8, 31, -1; add.rn.f32 r2, r2, r3;\n"
    "shfl.sync.down.b32 r3, r2, 4, 31, -1; add.rn.f32 r2, r2, r3;\n"
    "shfl.sync.down.b32 r3, r2, 2, 31, -1; add.rn.f32 r2, r2, r3;\n"
    "shfl.sync.down.b32 r3, r2, 1, 31, -1; add.rn.f32 r2, r2, r3;\n"
    "shr.u32 r4, t, 5; shl.b32 r4, r4, 2; mov.u32 r5, s; add.s32 r4, r5, r4;\n"
    "and.b32 r6, t, 31; setp.ne.u32 p0, r6, 0; @p0 bra stored; st.shared.f32 [r4], r2;\nstored:\n"
    "bar.sync 0;\nsetp.ne.u32 p1, t, 0; @p1 bra end; mov.u32 r7, 0; mov.u32 r8, 0f00000000;\n"
    "again: add.s32 r9, r5, r7; ld.shared.f32 r10, [r9]; add.rn.f32 r8, r8, r10;\n"
    "add.s32 r7, r7, 4; setp.lt.u32 p2, r7, 32; @p2 bra again;\n"
    "mul.wide.u32 q1, r0, 4; add.s64 q1, y, q1; st.global.f32 [q1], r8;\nend:";

std::vector<u32> sum_data()
{
    std::vector<u32> x(1024);
    u64 state = 11;

    for (u32 &value : x)
        value = (u32)bits_of((float)(next_random(state) >> 40) * 0x1p-24f - 0.5f);
    return x;
}

std::string edited(std::string text, const std::string &from, const std::string &to)
{
    const size_t at = text.find(from);

    if (at == std::string::npos)
        fail_msg("no '%s' to edit", from.c_str());
    return text.replace(at, from.size(), to);
}

void test_planted(void **)
{
    static const struct {
        const char *from, *to;
    } faults[] = {
        { "fma.rn.f32 r2, r2, r2, 0f3A83126F;",
          "mul.rn.f32 r2, r2, r2; add.rn.f32 r2, r2, 0f3A83126F;" }, /* two roundings */
        { "bar.sync 0;", "" },
        { "r2, 4, 31, -1", "r2, 3, 31, -1" },   /* a shuffle distance */
        { "r2, 8, 31, -1", "r2, 8, 6151, -1" }, /* segments of 8 lanes */
        { "add.rn.f32 r8, r8, r10", "sub.rn.f32 r8, r8, r10" },
        { "setp.lt.u32 p2, r7, 32", "setp.lt.u32 p2, r7, 28" },
    };
    const std::string text = kernel_text("", sum_body);
    const std::vector<u32> x = sum_data();
    const std::vector<u32> y = run_well(text, x, 4, 256);

    for (u32 block = 0; block < 4; block++) { /* the sum itself, roundly */
        double sum = 0;
        for (u32 i = 0; i < 256; i++)
            sum += std::pow((double)float_of(x[block * 256 + i]), 2) + 0.001;
        assert_true(std::fabs(float_of(y[block]) - sum) < 1e-4);
    }
    assert_true(run_well(text, x, 4, 256, PTX_REVERSED) == y);
    for (u64 seed = 0; seed < 5; seed++)
        assert_true(run_well(text, x, 4, 256, PTX_RANDOM, seed) == y);
    for (const auto &fault : faults) {
        bool seen = false;
        for (const ptx_order order : { PTX_IN_ORDER, PTX_REVERSED }) {
            const Result result =
                run_text(kernel_text("", edited(sum_body, fault.from, fault.to)), x, 4, 256, order);
            seen |= !result.error.empty() || result.y != y;
        }
        if (!seen)
            fail_msg("nothing noticed '%s' for '%s'", fault.to, fault.from);
    }
}

} // namespace

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),      cmocka_unit_test(test_small_elements),
        cmocka_unit_test(test_params),       cmocka_unit_test(test_tables),
        cmocka_unit_test(test_generic),      cmocka_unit_test(test_dynamic_shared),
        cmocka_unit_test(test_shuffles),     cmocka_unit_test(test_shuffle_in_arms),
        cmocka_unit_test(test_votes),        cmocka_unit_test(test_barrier_reductions),
        cmocka_unit_test(test_branch_table), cmocka_unit_test(test_calls),
        cmocka_unit_test(test_atomics),      cmocka_unit_test(test_order),
        cmocka_unit_test(test_planted),
    };

    return cmocka_run_group_tests_name("ptx_machine", tests, nullptr, nullptr);
}
