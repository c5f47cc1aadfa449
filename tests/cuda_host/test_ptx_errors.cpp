/* What the PTX interpreter refuses, with which words: texts that do not parse, kernels that touch
   memory they do not own, barriers and shuffles that do not meet, endless loops.  Texts cut and
   changed at random never crash it.  And the reader of impure arithmetic. */
#include "ptx_test.h"

namespace
{

typedef uint64_t u64;
typedef uint32_t u32;

std::string kernel_text(const std::string &module, const std::string &body)
{
    return ptx_head() + module + "\n" +
           ".visible .entry k(.param .u64 py)\n.maxntid 256, 1, 1\n{\n"
           ".reg .b32 t, r<8>; .reg .b64 y, q<8>; .reg .pred p<4>; .reg .b16 h<4>;\n"
           ".shared .align 4 .b8 s[64]; .shared .align 4 .b8 s2[64];\n"
           "mov.u32 t, %tid.x; ld.param.u64 y, [py];\n" +
           body + "\nret;\n}\n";
}

/* ---- texts that do not load */

std::string load_error(const std::string &text)
{
    char error[PTX_ERROR_BYTES] = "";
    ptx_module *const module = ptx_load(text.data(), text.size(), error);

    ptx_free(module);
    return module != nullptr ? "" : error;
}

void expect(const std::string &error, const char *part, const std::string &text)
{
    if (error.find(part) == std::string::npos)
        fail_msg("'%s' does not say '%s':\n%s", error.c_str(), part, text.c_str());
}

void test_refused_instructions(void **)
{
    static const struct {
        const char *body, *error;
    } rows[] = {
        { "wgmma.fence.sync.aligned;",
          "ptx: line 11: unknown instruction 'wgmma.fence.sync.aligned'" },
        { "add.rn.ftz.f32 r0, r1, r2;", "unknown instruction 'add.rn.ftz.f32'" },
        { "add.rz.f32 r0, r1, r2;", "unknown instruction 'add.rz.f32'" },
        { "rcp.approx.f32 r0, r1;", "unknown instruction 'rcp.approx.f32'" },
        { "ex2.approx.f32 r0, r1;", "unknown instruction" },
        { "ld.global.v3.u32 {r0, r1, r2}, [y];", "unknown instruction" },
        { "ld.global.v4.u64 {q0, q1, q2, q3}, [y];", "unknown instruction" },
        { "cvt.f32.s32 r0, r1;", "unknown instruction" },
        { "cvt.rn.s32.f32 r0, r1;", "unknown instruction" },
        { "cvt.rn.f32.f32 r0, r1;", "unknown instruction" },
        { "setp.lt.b32 p0, r0, r1;", "unknown instruction" },
        { "setp.ltu.s32 p0, r0, r1;", "unknown instruction" },
        { "atom.global.max.f32 r0, [y], r1;", "unknown instruction" },
        { "shfl.bfly.b32 r0, r1, 1, 31;", "unknown instruction" },
        { "bar.arrive 0, 64;", "unknown instruction" },
        { "cp.async.wait_all;", "unknown instruction" },
        { "add.s32 q0, r1, r2;", "a register of 64 bits where 32 belong" },
        { "add.s32 r0, r1;", "wrong number of operands" },
        { "add.s32 r0, r1, r2, r3;", "wrong number of operands" },
        { "add.s32 r0, r1, r9;", "unknown name 'r9'" },
        { "add.s32 r0, r1, %nothing;", "unknown register '%nothing'" },
        { "add.s32 5, r1, r2;", "a register expected as the destination" },
        { "add.s32 %tid.x, r1, r2;", "a register expected as the destination" },
        { "add.s32 r0, r1, !r2;", "'!' does not belong here" },
        { "@r0 add.s32 r0, r1, r2;", "'r0' is no predicate" },
        { "bra nowhere;", "unknown label 'nowhere'" },
        { "x: x: ret;", "label 'x' stands twice" },
        { "brx.idx r0, x;", "unknown branch targets 'x'" },
        { "call nobody, ();", "call of the unknown function 'nobody'" },
        { "ld.global.u32 r0, y;", "an address in brackets expected" },
        { "ld.global.u32 r0, [z];", "unknown name 'z'" },
        { "ld.global.u32 r0, [r1];", "an address of 32 bits" },
        { "ld.global.u32 r0, [s];", "a symbol of another state space" },
        { "ld.shared.u32 h0, [s];", "a register of 16 bits where 32 belong" },
        { "ld.global.v2.u32 r0, [y];", "2 registers in braces expected" },
        { "st.param.u32 [py], r0;", "parameters of a kernel are not written" },
        { "mov.u32 r0, 0f3F80;", "'0f3F80' has a wrong number of digits" },
        { "mov.u32 r0, 1.5;", "'1.5' is no number of this interpreter" },
        { "mov.u32 r0, 99999999999999999999999;", "is no number of this interpreter" },
        { ".reg .b32 a<9999999>;", "too many registers" },
        { ".reg .b77 a;", "unknown type '.b77'" },
        { ".shared .b8 big[999999999];", "array 'big' is too large" },
        { "add.s32 r0, r1, r2", "';' expected" },
        { "{ add.s32 r0, r1, r2;", "'}' expected, not the end of the text" },
        { "mov.u32 r0, #;", "unexpected byte 35" },
    };

    for (const auto &row : rows)
        expect(load_error(kernel_text("", row.body)), row.error, row.body);
}

void test_refused_declarations(void **)
{
    static const struct {
        const char *module, *error;
    } rows[] = {
        { ".global .texref t;", "unknown type '.texref'" },
        { ".surface s;", "unknown directive '.surface'" },
        { ".global .u32 a[2] = {1, 2, 3};", "too many values for 'a'" },
        { ".global .u64 a = nobody;", "'nobody' is no variable with an address" },
        { ".global .u32 a; .global .u32 a;", "'a' is declared twice" },
        { ".global .u32 a[];", "variable 'a' has no size" },
        { ".global .align 3 .u32 a;", "an alignment of 3" },
        { ".target compute_80", "unknown target 'compute_80'" },
        { ".func f();", "" },
        { ".visible .entry e();", "kernel 'e' has no body" },
        { ".func f() { ret; } .func f() { ret; }", "function 'f' is defined twice" },
        { ".func f(); .func f(.param .u32 a) { ret; }", "function 'f' differs" },
        { ".visible .entry e() .cluster 2 { ret; }", "unknown directive '.cluster'" },
        { "/* no end", "a comment does not end" },
        { ".pragma \"x", "a text does not end" },
    };

    for (const auto &row : rows)
        expect(load_error(kernel_text(row.module, "")), row.error, row.module);
    assert_string_not_equal(load_error("\177ELF").c_str(), "");
}

/* ---- runs that fail */

struct Arena {
    u32 words[64];
};

int holds(void *user, const void *start, size_t bytes)
{
    const u64 begin = (u64)user, at = (u64)start;

    return at >= begin && at + bytes <= begin + sizeof(Arena) && at + bytes >= at;
}

std::string run_error(const std::string &text, u32 threads = 64, Arena *arena = nullptr)
{
    const Module module(text);
    Arena own = {};
    void *py = arena != nullptr ? arena : &own;
    void *args[] = { &py };
    ptx_launch launch = launch_of(1, threads, args);
    char error[PTX_ERROR_BYTES] = "";

    launch.holds = holds;
    launch.user = py;
    launch.branch_limit = 1000;
    const int failed = ptx_run(module.kernel("k"), &launch, error);
    assert_int_equal(failed, error[0] != '\0');
    return error;
}

void test_failing_runs(void **)
{
    static const struct {
        const char *body, *error;
    } rows[] = {
        { "st.global.u32 [y+252], t;", "" },
        { "st.global.u32 [y+256], t;",
          "ptx: line 11: st.global.u32 in k, block 0,0,0, thread 0: address" },
        { "st.global.u32 [y+256], t;", "4 bytes, is outside every live allocation" },
        { "ld.global.u32 r0, [y+-4];", "is outside every live allocation" },
        { "ld.global.v4.u32 {r0, r1, r2, r3}, [y+248];", "is no multiple of 16" },
        { "ld.global.u64 q0, [y+4];", "is no multiple of 8" },
        { "mov.u64 q0, 0; ld.global.u32 r0, [q0];", "is no address" },
        { "mov.u64 q0, -4; ld.u32 r0, [q0];", "is no address" },
        { "setp.eq.u32 p0, t, 63; @p0 add.s64 y, y, 256; st.u32 [y], t;", "thread 63" },
        { "ld.shared.u32 r0, [s+60];", "" },
        { "ld.shared.u32 r0, [s+64];", "shared address 0x40 is outside every array" },
        { "ld.shared.u32 r0, [s2+64];", "is outside every array" },
        { "mov.u32 r1, s; sub.s32 r1, r1, 4; ld.shared.u32 r0, [r1];", "is outside every array" },
        { "mov.u64 q0, py; ld.param.u64 q1, [q0+8];", "parameter offset 8 is past the end" },
        { ".local .b8 l[16]; ld.local.u32 r0, [l+16];", "is past the end" },
        { "trap;", "trap" },
        { "x: bra x;", "does not end: 1000 branches" },
        { "x: .branchtargets z, z; mov.u32 r0, 2; brx.idx r0, x; z:", "branch 2 of 2" },
        { "setp.lt.u32 p0, t, 32; @p0 ret; bar.sync 0;",
          "waits at a barrier that 32 threads of the block left out" },
        { "setp.lt.u32 p0, t, 32; @p0 bra x; bar.sync 1; ret; x: bar.sync 0;",
          "waits at another barrier than thread 0" },
        { "setp.lt.u32 p0, t, 7; @p0 bra x; bar.sync 0; ret; x: bar.sync 0;",
          "lanes of one warp wait at different barriers (lines 11 and 11)" },
        { "setp.lt.u32 p0, t, 7; @p0 bra x; barrier.sync 0; ret; x: barrier.sync 0;", "" },
        { "bar.sync 0, 32;", "a barrier for a part of the block is not modelled" },
        { "setp.lt.u32 p0, t, 7; @p0 bra x; shfl.sync.bfly.b32 r0, t, 1, 31, -1; x: bar.sync 0;",
          "deadlock" },
        { "setp.lt.u32 p0, t, 7; @p0 ret; shfl.sync.bfly.b32 r0, t, 1, 31, -1;",
          "reads from lane 6, which does not take part" },
        { "shfl.sync.bfly.b32 r0, t, 1, 31, 0xfffe;", "lane 0 is not in its own mask" },
        { "bar.warp.sync 0;", "lane 0 is not in its own mask" },
    };

    for (const auto &row : rows) {
        const std::string error = run_error(kernel_text("", row.body));
        if (row.error[0] == '\0' && !error.empty())
            fail_msg("%s: %s", row.body, error.c_str());
        expect(error, row.error, row.body);
    }
}

void test_recursion(void **)
{
    const std::string function = ".func f();\n.func g() { call.uni f, (); ret; }\n"
                                 ".func f() { call.uni g, (); ret; }\n";

    expect(run_error(kernel_text(function, "call.uni f, ();")), "recursion is not modelled", "f");
}

/* Nothing beyond the failed access is written, and a later run works. */
void test_failed_run_stops(void **)
{
    Arena arena = {};
    const std::string text = kernel_text("", "mul.wide.u32 q0, t, 8; add.s64 y, y, q0;\n"
                                             "st.global.u32 [y], 1; st.global.u32 [y+4], 2;");

    expect(run_error(text, 64, &arena), "thread 32", text);
    assert_int_equal(arena.words[63], 2);
    assert_string_equal(run_error(text, 32, &arena).c_str(), "");
}

void test_launch_limits(void **)
{
    expect(run_error(kernel_text("", ""), 257), "it was compiled for 256", "");
    expect(run_error(kernel_text("", ""), 0), "is empty", "");
    expect(run_error(kernel_text("", ""), 2000), "too large", "");
}

/* ---- damaged texts */

std::string sample()
{
    return kernel_text(
        ".global .align 8 .u64 rows[2] = {generic(one)+4, 7};\n.global .u32 one[2] = {1, 0x2};\n"
        ".func (.param .b32 r) f(.param .align 8 .b8 a[16]) { .reg .b32 x; ld.param.u32 x, [a+4];\n"
        "st.param.b32 [r], x; ret; }\n",
        "/* text */ setp.lt.and.u32 p0|p1, t, 7, !p2; @!p0 bra x; ld.global.v2.u32 {r0, _}, "
        "[y+-8];\n"
        "{ .param .align 8 .b8 a0[16]; st.param.b64 [a0+8], q0; .param .b32 r8; call.uni (r8), f, "
        "(a0);\n"
        "ld.param.b32 r1, [r8]; }\nx: z: .branchtargets x, x; brx.idx r0, z; mov.b64 q1, {r0, "
        "r1};\n"
        "shfl.sync.up.b32 r0|p1, r1, 1, 0, -1; fma.rn.f32 r0, r1, r2, 0f3F800000;\n"
        "bar.red.popc.u32 r0, 0, p0; atom.global.cas.b32 r0, [y], r1, r2;\n.loc 1 2 3\n"
        ".pragma \"nounroll\"; cvt.rzi.s32.f32 r0, r1; prmt.b32 r0, r1, r2, 0x7650;");
}

void test_damaged_texts(void **)
{
    const std::string text = sample();
    u64 state = 5;
    u32 loaded = 0;

    assert_string_equal(load_error(text).c_str(), "");
    for (size_t n = 0; n < text.size(); n++)
        load_error(text.substr(0, n));
    for (int i = 0; i < 4000; i++) {
        std::string damaged = text;
        const u32 edits = 1 + next_random(state) % 3;
        for (u32 e = 0; e < edits; e++) {
            const size_t at = next_random(state) % damaged.size();
            const size_t other = next_random(state) % damaged.size();
            switch (next_random(state) % 4) {
            case 0: damaged[at] = (char)next_random(state); break;
            case 1: damaged.erase(at, 1 + next_random(state) % 9); break;
            case 2: damaged.insert(at, damaged.substr(other, next_random(state) % 30)); break;
            default: damaged[at] = text[other % text.size()]; break;
            }
        }
        loaded += load_error(damaged).empty();
        ptx_check(damaged.data(), damaged.size(), nullptr, 0);
    }
    assert_true(loaded > 20 && loaded < 3000); /* both happen */
}

/* ---- impure arithmetic */

void test_check(void **)
{
    static const struct {
        const char *body, *finding;
    } rows[] = {
        { "add.rn.f32 r0, r1, r2; fma.rn.f32 r0, r1, r2, r3; neg.f32 r0, r1; abs.f32 r0, r1;", "" },
        { "add.s32 r0, r1, r2; mad.lo.s32 r0, r1, r2, r3; min.s32 r0, r1, r2; sqrt.rn.f32 r0, r1;",
          "" },
        { "atom.global.add.u32 r0, [y], r1; cvt.rzi.s32.f32 r0, r1; div.rn.f64 q0, q1, q2;", "" },
        { "add.f32 r0, r1, r2;", "line 11: 'add.f32': may be fused" },
        { "@p0 mul.f32 r0, r1, r2;", "'mul.f32': may be fused" },
        { "@!p0 sub.f64 r0, r1, r2;", "'sub.f64': may be fused" },
        { "mad.f32 r0, r1, r2, r3;", "'mad.f32': may be fused" },
        { "mad.rn.f32 r0, r1, r2, r3;", "'mad.rn.f32': is mad" },
        { "fma.rz.f32 r0, r1, r2, r3;", "is not rounded to nearest" },
        { "add.rn.ftz.f32 r0, r1, r2;", "flushes subnormals" },
        { "setp.lt.ftz.f32 p0, r1, r2;", "flushes subnormals" },
        { "ex2.approx.f32 r0, r1;", "is an approximation" },
        { "x: sqrt.approx.f32 r0, r1;", "is an approximation" },
        { "div.full.f32 r0, r1, r2;", "is not correctly rounded" },
        { "min.f32 r0, r1, r2;", "orders zeros and NaN in its own way" },
        { "max.NaN.f32 r0, r1, r2;", "orders zeros and NaN in its own way" },
        { "red.global.add.f32 [y], r0;", "adds in an order of its own" },
        { "fma.rn.bf16x2 r0, r1, r2, r3;", "computes in less than binary32" },
        { "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {r0}, {r1}, {r2}, {r3};",
          "sums in an order of its own" },
        { "call.uni (r8), __nv_expf, (a0);", "'__nv_expf': is a function of libdevice" },
        { "st.local.u32 [q0], r0;", "is local memory" },
        { ".local .align 4 .b8 __local_depot0[4];", "is local memory" },
    };
    char report[4096];

    for (const auto &row : rows) {
        const std::string text = kernel_text("", row.body);
        const u32 count = ptx_check(text.data(), text.size(), report, sizeof report);
        if (row.finding[0] == '\0' && count != 0)
            fail_msg("%s: %s", row.body, report);
        if (row.finding[0] != '\0')
            assert_int_equal(count, 1);
        expect(report, row.finding, row.body);
    }
    assert_int_equal(ptx_check("", 0, report, sizeof report), 1);
    const std::string two = kernel_text("", "add.f32 r0, r1, r2; mul.f32 r0, r1, r2;");
    char small[20];
    assert_int_equal(ptx_check(two.data(), two.size(), small, sizeof small), 2);
    assert_int_equal(strlen(small), sizeof small - 1);
}

} // namespace

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused_instructions), cmocka_unit_test(test_refused_declarations),
        cmocka_unit_test(test_failing_runs),         cmocka_unit_test(test_recursion),
        cmocka_unit_test(test_failed_run_stops),     cmocka_unit_test(test_launch_limits),
        cmocka_unit_test(test_damaged_texts),        cmocka_unit_test(test_check),
    };

    return cmocka_run_group_tests_name("ptx_errors", tests, nullptr, nullptr);
}
