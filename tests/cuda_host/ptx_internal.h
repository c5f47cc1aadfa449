/* What the parser of PTX hands to the interpreter: one array of compact instructions for a module,
   in which labels, registers, constants and symbols are numbers already.  Private to ptx_*.cpp.

   An operand is a number: 0 and up a register of the thread, below 0 a constant, counted from the
   end of the module's pool.  The first registers are the special ones (%tid.x, ...), then those of
   device functions, each of which has its own (no recursion), then those of the kernel. */
#ifndef TLM_PTX_INTERNAL_H
#define TLM_PTX_INTERNAL_H

#include "ptx.h"

#include <array>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ptx
{

/* The error of a text or a run; caught at the C functions. */
struct Error {
    std::string text;
};

[[noreturn]] void fail(uint32_t line, const std::string &what);
void put_error(char *error, const std::string &text);

enum class Kind : uint8_t { none, bits, unsigned_, signed_, floating, predicate };

struct Type {
    Kind kind = Kind::none;
    uint8_t bits = 0; /* 1 for a predicate */

    bool is_float() const
    {
        return kind == Kind::floating;
    }
    bool is_signed() const
    {
        return kind == Kind::signed_;
    }
    uint32_t bytes() const
    {
        return bits / 8u;
    }
};

bool type_of(std::string_view word, Type &type); /* "u32", without the dot */

/* ---- instructions */

enum class Space : uint8_t { generic, global, shared, local, param };
enum class Rounding : uint8_t { none, nearest, zero, down, up };
enum class Compare : uint8_t {
    eq,
    ne,
    lt,
    le,
    gt,
    ge,
    lo,
    ls,
    hi,
    hs,
    equ,
    neu,
    ltu,
    leu,
    gtu,
    geu,
    num,
    nan
};
enum class Combine : uint8_t { none, and_, or_, xor_ };
enum class Shuffle : uint8_t { up, down, butterfly, index };
enum class Vote : uint8_t { all, any, uniform, ballot };
enum class Atomic : uint8_t {
    add,
    min,
    max,
    and_,
    or_,
    xor_,
    exchange,
    compare,
    increment,
    decrement
};
enum class Reduce : uint8_t { none, population, and_, or_ }; /* bar.red */

enum Op : uint16_t {
#define PTX_1(id, names, d, a, ...) OP_##id,
#define PTX_2(id, names, d, a, b, ...) OP_##id,
#define PTX_3(id, names, d, a, b, c, ...) OP_##id,
#define PTX_4(id, names, d, a, b, c, e, ...) OP_##id,
#include "ptx_ops.def"
    OP_rows, /* the others are decoded by hand */
    OP_ld = OP_rows,
    OP_st,
    OP_atom,
    OP_cvta,
    OP_pack,
    OP_unpack,
    OP_setp_u16,
    OP_setp_s16,
    OP_setp_u32,
    OP_setp_s32,
    OP_setp_u64,
    OP_setp_s64,
    OP_setp_f32,
    OP_setp_f64,
    OP_cvt_int,
    OP_cvt_int_float,
    OP_cvt_float_int,
    OP_cvt_float,
    OP_bra,
    OP_brx,
    OP_call,
    OP_ret,
    OP_exit,
    OP_trap,
    OP_nothing,
    OP_shfl,
    OP_vote,
    OP_warp_sync,
    OP_redux,
    OP_activemask, /* wait for the warp */
    OP_bar         /* waits for the block */
};

struct Inst {
    Op op = OP_nothing;
    Space space = Space::generic;
    Type type, from;                /* of cvt: to, from */
    uint8_t count = 0, sources = 0; /* of destinations; of values that ld and st move */
    uint8_t sub = 0;                /* Compare, Shuffle, Vote, Atomic, Reduce */
    Combine combine = Combine::none;
    Rounding rounding = Rounding::none;
    bool saturate = false, to_space = false, aligned = false, negated = false; /* last source */
    bool guarded = false, guard_value = true;
    int32_t guard = 0;
    int32_t d[4] = { 0, 0, 0, 0 };
    int32_t s[5] = { 0, 0, 0, 0, 0 };
    int64_t offset = 0;  /* of an address */
    uint64_t mask = 0;   /* of the destination register */
    uint32_t target = 0; /* of branches and calls; of brx: the table */
    uint32_t line = 0;
};

enum { SINK = INT32_MAX, SPECIALS = 14 }; /* `_`; %tid.x ... */
enum { CALL_DEPTH = 16, SHARED_GAP = 64 };

struct Param {
    std::string name;
    size_t offset, bytes;
};

struct Variable { /* .global, .const */
    std::string name;
    size_t bytes, align;
    unsigned char *at;
};

struct Function {
    std::string name;
    bool is_kernel = false, has_body = false;
    uint32_t begin = 0, end = 0; /* of the code */
    uint32_t registers = 0;      /* of a kernel: that a thread needs, all together */
    std::vector<Param> params;   /* of a kernel: offsets in the parameter space */
    std::vector<Param> results;  /* of a function; offsets in the local space, as its params */
    size_t param_bytes = 0, shared_bytes = 0, local_bytes = 0;
    uint32_t max_threads = 1024;
    std::vector<bool> shared_valid; /* which bytes of shared memory belong to an array */
};

} // namespace ptx

struct ptx_kernel {
    ptx::Function function;
    const ptx_module *module;
};

struct ptx_module {
    uint32_t target = 0;
    std::vector<ptx::Inst> code;
    std::vector<std::string> names;  /* of the instructions, for messages */
    std::vector<uint64_t> constants; /* the pool, in the order of their numbers -1, -2, ... */
    std::vector<uint64_t> pool;      /* the same, turned round */
    std::vector<std::vector<uint32_t>> tables; /* of brx.idx */
    std::vector<std::unique_ptr<ptx_kernel>> kernels;
    std::map<std::string, ptx::Function> functions;
    std::vector<ptx::Variable> variables;
    std::vector<std::unique_ptr<unsigned char[]>> memory;
    uint32_t function_registers = 0; /* special ones and those of device functions */
    size_t local_bytes = 0;          /* of all functions of the module */
};

namespace ptx
{

/* ---- the text: tokens and operands */

struct Token {
    enum Which : uint8_t { word, number, text, mark, end } which;
    std::string_view text_;
    uint32_t line;
};

std::vector<Token> tokens_of(std::string_view text);

struct Operand {
    enum Which : uint8_t { none, reg, constant, address, vector, label, sink } which = none;
    bool negated = false;
    uint8_t bits = 0; /* of a register */
    int32_t number = 0;
    Space space = Space::generic;                 /* of a symbol that stands in an address */
    bool is_symbol = false, by_name_only = false; /* parameters of device functions */
    int64_t offset = 0;
    std::string name;
    std::vector<Operand> parts; /* of a vector, and of a | b */
};

/* What the decoder asks of the parser: numbers of constants and labels. */
struct Names {
    virtual int32_t constant(uint64_t value) = 0;
    virtual void label(const std::string &name, uint32_t instruction, uint32_t line) = 0;

  protected:
    ~Names() = default;
};

/* Fills `inst` from "ld.global.v4.f32" and its operands; fails with unknown instructions. */
void decode(const std::string &name, std::vector<Operand> &operands, uint32_t line, uint32_t place,
            Names &names, Inst &inst);

/* ---- the run */

struct Thread {
    uint64_t *registers;
    uint32_t pc, number; /* of the thread in its block */
    enum Wait : uint8_t { running, warp, block, done } wait;
    uint8_t depth; /* of calls */
    uint32_t returns[CALL_DEPTH];
    unsigned char *local;
    uint64_t branches; /* since the last wait */
};

/* What a thread did wrong; the run adds where. */
struct Fault {
    const Thread *thread;
    std::string text;
};

/* The warp operation that threads[lane] waits at, for all lanes of its mask, when all of them wait
   there; true when it was done.  The warp is threads[0 .. count). */
bool warp_step(const ptx_module &module, Thread *threads, uint32_t count, uint32_t lane);
/* bar.red: the value all threads get. */
uint64_t block_reduce(const ptx_module &module, const std::vector<Thread> &threads);

uint64_t convert(const Inst &inst, uint64_t value); /* cvt */
uint64_t atomic(const Inst &inst, uint64_t old, uint64_t value, uint64_t other);

inline uint64_t read(const Thread &thread, const uint64_t *pool_end, int32_t operand)
{
    return (operand >= 0 ? thread.registers : pool_end)[operand];
}

} // namespace ptx
#endif
