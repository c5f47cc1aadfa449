/* PTX text -> ptx_module: declarations, symbols, labels and operands; ptx_decode.cpp makes the
   instructions.  Kernels and device functions share one code array; the registers, parameters and
   local arrays of a function are places of its own in each thread, so recursion is refused at run
   time.  Refuses with line and name what it does not know. */
#include "ptx_reader.h"
#include "ptx_scopes.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace ptx
{
namespace
{

enum {
    KERNEL_REGISTERS = 1 << 20, /* numbers of a kernel's registers until all functions are known */
    MAX_REGISTERS = 1 << 16,
    MAX_ARRAY = 1 << 26
};

struct Declared { /* [.align N] .type name[n] */
    std::string name;
    Type type;
    size_t align = 0, count = 1;
    bool is_array = false, open = false; /* open: [] */

    size_t bytes() const
    {
        return count * type.bytes();
    }
};

struct AddressFixup { /* an initial value that is an address */
    unsigned char *at;
    size_t bytes;
    uint64_t mask;
    std::string name;
    int64_t offset;
    uint32_t line;
};

struct LabelFixup {
    std::string name;
    uint32_t instruction, line;
    int32_t table; /* of branch targets; -1: the instruction itself */
    uint32_t entry;
};

size_t round_up(size_t n, size_t align)
{
    return (n + align - 1) / align * align;
}

class Parser : public Names, private Reader
{
  public:
    Parser(ptx_module &module, std::string_view text) : Reader(text), m_(module)
    {
        m_.function_registers = SPECIALS;
        scopes_.open();
    }

    void run()
    {
        while (peek().which != Token::end)
            module_item();
        finish();
    }

    int32_t constant(uint64_t value) override
    {
        const auto found = constants_.find(value);

        if (found != constants_.end())
            return found->second;
        m_.constants.push_back(value);
        return constants_[value] = -(int32_t)m_.constants.size();
    }

    void label(const std::string &name, uint32_t instruction, uint32_t line) override
    {
        fixups_.push_back({ name, instruction, line, -1, 0 });
    }

  private:
    /* ---- the module */

    void module_item()
    {
        if (take(".version") || take(".address_size")) {
            skip_rest_of_line();
        } else if (take(".target")) {
            target();
        } else if (take(".file")) {
            skip_rest_of_line();
        } else if (take(".section")) {
            word();
            skip_braces();
        } else if (take(".visible") || take(".weak") || take(".common")) {
            return;
        } else if (is(".extern") && is(".shared", 1)) {
            at_ += 2;
            shared(true);
        } else if (is(".extern") && is(".func", 1)) {
            at_ += 2;
            function(false);
        } else if (take(".entry")) {
            function(true);
        } else if (take(".func")) {
            function(false);
        } else if (take(".global") || take(".const")) {
            variable();
        } else if (take(".shared")) {
            shared(false);
        } else {
            fail(line(), "unknown directive '" + shown() + "'");
        }
    }

    void target()
    {
        const std::string name = word();

        if (name.compare(0, 3, "sm_") != 0)
            fail(line(), "unknown target '" + name + "'");
        m_.target = (uint32_t)strtoul(name.c_str() + 3, nullptr, 10);
        skip_rest_of_line();
    }

    Declared declared()
    {
        Declared d;

        if (take(".align")) {
            d.align = number();
            if (d.align == 0 || d.align > 4096 || (d.align & (d.align - 1)) != 0)
                fail(line(), "an alignment of " + std::to_string(d.align));
        }
        const std::string type = word();
        if (type[0] != '.' || !type_of(type.substr(1), d.type) || d.type.bits < 8)
            fail(line(), "unknown type '" + type + "'");
        if (take(".ptr")) { /* what a pointer points to: no concern of ours */
            if (is(".global") || is(".shared") || is(".const") || is(".local"))
                at_++;
            if (take(".align"))
                number();
        }
        d.name = word();
        d.align = std::max<size_t>(d.align, d.type.bytes());
        while (take("[")) {
            d.is_array = true;
            d.open = is("]");
            if (!d.open) {
                const uint64_t n = number();
                if (n > MAX_ARRAY || d.count * n * d.type.bytes() > MAX_ARRAY)
                    fail(line(), "array '" + d.name + "' is too large");
                d.count *= n;
            }
            want("]");
        }
        return d;
    }

    void add_symbol(const std::string &name, Space space, uint64_t value, bool dynamic = false,
                    bool by_name_only = false)
    {
        if (!scopes_.inner()
                 .symbols.emplace(name, Symbol{ space, value, dynamic, by_name_only })
                 .second)
            fail(line(), "'" + name + "' is declared twice");
    }

    /* .global .align 8 .u64 rows[3] = {generic(dims)+4, 0, 1}; */
    void variable()
    {
        const Declared d = declared();

        if (d.open)
            fail(line(), "variable '" + d.name + "' has no size");
        m_.memory.emplace_back(new unsigned char[d.bytes() + d.align]());
        unsigned char *at = m_.memory.back().get();
        at += round_up((uintptr_t)at, d.align) - (uintptr_t)at;
        add_symbol(d.name, Space::global, (uint64_t)at);
        m_.variables.push_back({ d.name, d.bytes(), d.align, at });
        if (take("="))
            initial_values(d, at);
        want(";");
    }

    void initial_values(const Declared &d, unsigned char *at)
    {
        const bool list = take("{");
        const size_t element = d.type.bytes();

        for (size_t i = 0; !(list && is("}")); i++) {
            if (i >= d.count)
                fail(line(), "too many values for '" + d.name + "'");
            initial_value(at + i * element, element);
            if (!list || !take(","))
                break;
        }
        if (list)
            want("}");
    }

    /* 12 | -1 | name+4 | generic(name)+4 | 0xFF00(generic(name)+4), the last one byte of it */
    void initial_value(unsigned char *at, size_t bytes)
    {
        const uint32_t here = line();
        uint64_t mask = ~UINT64_C(0);
        bool masked = false;

        if (peek().which == Token::number || is("-")) {
            const int64_t value = signed_number();
            if (!take("(")) {
                memcpy(at, &value, bytes);
                return;
            }
            mask = (uint64_t)value;
            masked = true;
            if (mask == 0)
                fail(here, "a mask of 0");
        }
        const bool generic = is("generic") && is("(", 1);
        if (generic)
            at_ += 2;
        const std::string name = word();
        if (generic)
            want(")");
        int64_t offset = 0;
        if (take("+"))
            offset = signed_number();
        if (masked)
            want(")");
        addresses_.push_back({ at, bytes, mask, name, offset, here });
    }

    void shared(bool external)
    {
        const Declared d = declared();

        want(";");
        if (external && d.open) {
            add_symbol(d.name, Space::shared, 0, true);
            return;
        }
        if (external || d.open)
            fail(line(), "shared '" + d.name + "' is neither an array nor dynamic");
        /* those of the module stand before those of each kernel */
        Function &owner = function_ != nullptr ? *function_ : common_;
        size_t begin = owner.shared_bytes == 0 ? 0 : owner.shared_bytes + SHARED_GAP;
        begin = round_up(begin, std::max<size_t>(d.align, 16));
        if (begin + d.bytes() > MAX_ARRAY)
            fail(line(), "too much shared memory");
        add_symbol(d.name, Space::shared, begin);
        owner.shared_bytes = begin + d.bytes();
        owner.shared_valid.resize(owner.shared_bytes, false);
        std::fill(owner.shared_valid.begin() + (ptrdiff_t)begin, owner.shared_valid.end(), true);
    }

    /* ---- functions */

    void function(bool is_kernel)
    {
        Function made;

        made.is_kernel = is_kernel;
        made.shared_bytes = common_.shared_bytes;
        made.shared_valid = common_.shared_valid;
        scopes_.open();
        if (!is_kernel && is("("))
            made.results = params(made);
        made.name = word();
        if (is("("))
            made.params = params(made);
        function_directives(made);
        if (!is_kernel)
            as_declared(made);
        if (take(";")) { /* a declaration: of a function of this text that comes later */
            scopes_.close();
            if (is_kernel)
                fail(line(), "kernel '" + made.name + "' has no body");
            m_.functions.emplace(made.name, made);
            return;
        }
        made.has_body = true;
        function_ = &made;
        next_register_ = is_kernel ? (int32_t)KERNEL_REGISTERS : (int32_t)m_.function_registers;
        made.begin = (uint32_t)m_.code.size();
        body();
        made.end = (uint32_t)m_.code.size();
        end_of_function(made);
        scopes_.close();
        function_ = nullptr;
    }

    /* A function that was declared before keeps the places that calls of it know already. */
    void as_declared(Function &made)
    {
        const auto declared = m_.functions.find(made.name);

        if (declared == m_.functions.end())
            return;
        keep_places(declared->second.params, made.params, made.name);
        keep_places(declared->second.results, made.results, made.name);
    }

    void keep_places(const std::vector<Param> &old, std::vector<Param> &made,
                     const std::string &function)
    {
        if (old.size() != made.size())
            fail(line(), "function '" + function + "' differs from its declaration");
        for (size_t i = 0; i < made.size(); i++) {
            if (old[i].bytes != made[i].bytes)
                fail(line(), "function '" + function + "' differs from its declaration");
            made[i].offset = old[i].offset;
            scopes_.inner().symbols[made[i].name].value = old[i].offset;
        }
    }

    std::vector<Param> params(Function &made)
    {
        std::vector<Param> list;

        want("(");
        while (!take(")")) {
            take(".reg"); /* functions of the old form, which keep working as memory */
            take(".param");
            const Declared d = declared();
            size_t &used = made.is_kernel ? made.param_bytes : m_.local_bytes;
            used = round_up(used, d.align);
            list.push_back({ d.name, used, d.bytes() });
            add_symbol(d.name, made.is_kernel ? Space::param : Space::local, used, false,
                       !made.is_kernel);
            used += d.bytes();
            if (!take(",") && !is(")"))
                fail(line(), "',' expected, not '" + shown() + "'");
        }
        return list;
    }

    void function_directives(Function &made)
    {
        while (!is("{") && !is(";")) {
            const std::string name = word();
            const bool most = name == ".maxntid" || name == ".reqntid";
            uint64_t product = 1;

            if (name == ".noreturn")
                continue;
            if (!most && name != ".minnctapersm" && name != ".maxnctapersm" && name != ".maxnreg")
                fail(line(), "unknown directive '" + name + "'");
            do
                product *= number();
            while (take(","));
            if (most)
                made.max_threads = (uint32_t)std::min<uint64_t>(product, 1024);
        }
    }

    void end_of_function(Function &made)
    {
        labels_of_function();
        for (const int32_t constant : dynamic_)
            m_.constants[(size_t)(-constant - 1)] = dynamic_begin(made);
        if (!dynamic_.empty() && !made.is_kernel)
            fail(line(), "dynamic shared memory in device function '" + made.name + "'");
        dynamic_.clear();
        if (made.is_kernel) {
            made.registers = (uint32_t)next_register_ - KERNEL_REGISTERS;
            m_.kernels.emplace_back(new ptx_kernel{ made, &m_ });
            return;
        }
        m_.function_registers = (uint32_t)next_register_;
        const auto declared = m_.functions.find(made.name);
        if (declared != m_.functions.end() && declared->second.has_body)
            fail(line(), "function '" + made.name + "' is defined twice");
        m_.functions[made.name] = made;
    }

    static uint64_t dynamic_begin(const Function &made)
    {
        return made.shared_bytes == 0 ? 0 : round_up(made.shared_bytes + SHARED_GAP, 16);
    }

    void labels_of_function()
    {
        for (const LabelFixup &fixup : fixups_) {
            const auto found = labels_.find(fixup.name);

            if (found == labels_.end())
                fail(fixup.line, "unknown label '" + fixup.name + "'");
            if (fixup.table >= 0)
                m_.tables[(size_t)fixup.table][fixup.entry] = found->second;
            else
                m_.code[fixup.instruction].target = found->second;
        }
        fixups_.clear();
        labels_.clear();
        tables_.clear();
    }

    /* ---- bodies */

    void body()
    {
        const size_t outer = scopes_.depth();

        want("{");
        do {
            if (take("{"))
                scopes_.open();
            else if (take("}"))
                end_of_scope(outer);
            else
                statement();
        } while (scopes_.depth() >= outer && !done_);
        done_ = false;
        Inst end; /* a body may end with a label or without ret */
        end.op = OP_ret;
        end.line = line();
        m_.code.push_back(end);
        m_.names.push_back("ret");
    }

    void end_of_scope(size_t outer)
    {
        if (scopes_.depth() == outer)
            done_ = true;
        else
            scopes_.close();
    }

    void statement()
    {
        if (peek().which == Token::end)
            fail(line(), "'}' expected, not the end of the text");
        if (take(";"))
            return;
        if (take(".reg")) {
            registers();
        } else if (take(".shared")) {
            shared(false);
        } else if (take(".local")) {
            local(false);
        } else if (take(".param")) {
            local(true);
        } else if (take(".global") || take(".const")) {
            variable();
        } else if (take(".pragma")) {
            at_++;
            want(";");
        } else if (is(".loc") || is(".file")) {
            skip_rest_of_line();
        } else if (peek().which == Token::word && is(":", 1)) {
            label_here();
        } else {
            instruction();
        }
    }

    void registers()
    {
        Type type;
        const std::string name = word();

        if (name[0] != '.' || !type_of(name.substr(1), type))
            fail(line(), "unknown type '" + name + "'");
        do
            one_register(type);
        while (take(","));
        want(";");
    }

    void one_register(Type type)
    {
        const std::string name = word();
        uint64_t count = 1;

        if (take("<")) {
            count = number();
            want(">");
            if (count > MAX_REGISTERS)
                fail(line(), "too many registers");
            scopes_.inner().ranges[name] = { next_register_, (uint32_t)count, type.bits };
        } else {
            scopes_.inner().registers[name] = { next_register_, type.bits };
        }
        next_register_ += (int32_t)count;
        if (next_register_ > (int32_t)KERNEL_REGISTERS + MAX_REGISTERS ||
            (!function_->is_kernel && next_register_ > MAX_REGISTERS))
            fail(line(), "too many registers");
    }

    /* .local arrays, and the .param variables of a call */
    void local(bool is_param)
    {
        const Declared d = declared();

        want(";");
        m_.local_bytes = round_up(m_.local_bytes, std::max<size_t>(d.align, 16));
        add_symbol(d.name, Space::local, m_.local_bytes, false, is_param);
        m_.local_bytes += d.bytes();
        if (d.open || m_.local_bytes > MAX_ARRAY)
            fail(line(), "local '" + d.name + "' has no size or a too large one");
        if (!is_param)
            function_->local_bytes += d.bytes();
    }

    void label_here()
    {
        const std::string name = word();

        want(":");
        if (take(".branchtargets")) {
            const uint32_t table = (uint32_t)m_.tables.size();

            m_.tables.emplace_back();
            tables_[name] = table;
            do {
                const uint32_t here = line();
                fixups_.push_back(
                    { word(), 0, here, (int32_t)table, (uint32_t)m_.tables[table].size() });
                m_.tables[table].push_back(0);
            } while (take(","));
            want(";");
            return;
        }
        if (!labels_.emplace(name, (uint32_t)m_.code.size()).second)
            fail(line(), "label '" + name + "' stands twice");
    }

    void instruction()
    {
        Inst inst;
        const uint32_t here = line();

        inst.line = here;
        if (take("@"))
            guard(inst);
        const std::string name = word();
        if (name.compare(0, 4, "call") == 0 && (name.size() == 4 || name[4] == '.')) {
            call(inst);
        } else {
            std::vector<Operand> operands;
            while (!is(";")) {
                operands.push_back(operand());
                if (!take(",") && !is(";"))
                    fail(line(), "';' expected, not '" + shown() + "'");
            }
            decode(name, operands, here, (uint32_t)m_.code.size(), *this, inst);
            if (inst.op == OP_brx)
                branch_table(operands, inst);
        }
        want(";");
        m_.code.push_back(inst);
        m_.names.push_back(name);
    }

    void branch_table(const std::vector<Operand> &operands, Inst &inst)
    {
        const auto found = tables_.find(operands[1].name);

        if (found == tables_.end())
            fail(inst.line, "unknown branch targets '" + operands[1].name + "'");
        inst.target = found->second;
    }

    void guard(Inst &inst)
    {
        inst.guard_value = !take("!");
        const std::string name = word();
        Register found;

        if (scopes_.find_register(name, found) == 0 || found.bits != 1)
            fail(line(), "'" + name + "' is no predicate");
        inst.guarded = true;
        inst.guard = found.number;
    }

    /* call.uni (results), name, (arguments): copies of memory around a jump.  Calls are rare, so
       the copies are ordinary instructions. */
    void call(Inst &inst)
    {
        std::vector<std::string> results, arguments;

        if (inst.guarded)
            fail(inst.line, "a call under a predicate is not modelled");
        if (is("(")) {
            results = call_names();
            want(",");
        }
        const std::string name = word();
        if (take(","))
            arguments = call_names();
        const auto found = m_.functions.find(name);
        if (found == m_.functions.end())
            fail(inst.line, "call of the unknown function '" + name + "'");
        const Function &callee = found->second;
        if (callee.params.size() != arguments.size() || callee.results.size() != results.size())
            fail(inst.line, "call of '" + name + "' with a wrong number of arguments");
        for (size_t i = 0; i < arguments.size(); i++)
            copy_param(local_offset(arguments[i]), callee.params[i].offset, callee.params[i].bytes);
        inst.op = OP_call;
        inst.target = (uint32_t)m_.code.size();
        calls_.push_back({ name, inst.target, inst.line });
        if (results.empty())
            return;
        m_.code.push_back(inst);
        m_.names.push_back("call");
        for (size_t i = 0; i < results.size(); i++)
            copy_param(callee.results[i].offset, local_offset(results[i]), callee.results[i].bytes);
        inst = Inst{}; /* the caller of this function adds one more */
        inst.line = line();
    }

    std::vector<std::string> call_names()
    {
        std::vector<std::string> names;

        want("(");
        while (!take(")")) {
            names.push_back(word());
            take(",");
        }
        return names;
    }

    uint64_t local_offset(const std::string &name)
    {
        const Symbol *symbol = nullptr;

        if (scopes_.find_symbol(name, symbol) == 0 || symbol->space != Space::local)
            fail(line(), "'" + name + "' is no parameter of a call");
        return symbol->value;
    }

    void copy_param(uint64_t from, uint64_t to, size_t bytes)
    {
        const int32_t scratch = next_register_++;

        for (size_t i = 0; i < bytes; i++) {
            Inst ld;
            ld.line = line();
            ld.space = Space::local;
            ld.type = { Kind::unsigned_, 8 };
            ld.sources = 1;
            Inst st = ld;
            ld.op = OP_ld;
            ld.count = 1;
            ld.mask = 0xff;
            ld.d[0] = scratch;
            ld.s[0] = constant(from + i);
            st.op = OP_st;
            st.s[0] = constant(to + i);
            st.s[1] = scratch;
            m_.code.push_back(ld);
            m_.names.push_back("ld.param");
            m_.code.push_back(st);
            m_.names.push_back("st.param");
        }
    }

    /* ---- operands */

    Operand operand()
    {
        Operand o;

        if (take("{")) {
            o.which = Operand::vector;
            while (!take("}")) {
                o.parts.push_back(simple_operand());
                if (!take(",") && !is("}"))
                    fail(line(), "'}' expected, not '" + shown() + "'");
            }
            return o;
        }
        if (take("["))
            return address();
        if (take("!")) {
            o = simple_operand();
            o.negated = true;
            return o;
        }
        o = simple_operand();
        if (!take("|"))
            return o;
        Operand pair;
        pair.which = Operand::vector;
        pair.parts.push_back(o);
        pair.parts.push_back(simple_operand());
        return pair;
    }

    Operand address()
    {
        Operand o = simple_operand();

        if (o.which == Operand::label)
            fail(line(), "unknown name '" + o.name + "'");
        if (o.which != Operand::reg && o.which != Operand::constant)
            fail(line(), "an address is a register, a symbol or a number");
        o.which = Operand::address;
        if (take("+"))
            o.offset += signed_number();
        else if (is("-"))
            o.offset += signed_number();
        want("]");
        return o;
    }

    Operand simple_operand()
    {
        Operand o;
        Register found;

        if (peek().which == Token::number || is("-")) {
            o.which = Operand::constant;
            o.number = constant((uint64_t)signed_number());
            return o;
        }
        const std::string name = word();
        if (name == "_") {
            o.which = Operand::sink;
            return o;
        }
        if (name == "WARP_SZ") {
            o.which = Operand::constant;
            o.number = constant(32);
            return o;
        }
        const Symbol *symbol = nullptr;
        const size_t symbol_depth = scopes_.find_symbol(name, symbol);
        if (scopes_.find_register(name, found) > symbol_depth) {
            o.which = Operand::reg;
            o.bits = found.bits;
            o.number = found.number;
            return o;
        }
        if (symbol != nullptr)
            return symbol_operand(*symbol);
        if (name[0] == '%')
            fail(line(), "unknown register '" + name + "'");
        o.which = Operand::label;
        o.name = name;
        return o;
    }

    Operand symbol_operand(const Symbol &symbol)
    {
        Operand o;
        uint64_t value = symbol.value;

        o.which = Operand::constant;
        o.is_symbol = true;
        o.space = symbol.space;
        o.by_name_only = symbol.by_name_only;
        if (symbol.dynamic) { /* its place is known at the end of the kernel */
            m_.constants.push_back(0);
            o.number = -(int32_t)m_.constants.size();
            dynamic_.push_back(o.number);
            return o;
        }
        if (is("+") && peek(1).which == Token::number) {
            at_++;
            value += number();
        }
        o.number = constant(value);
        return o;
    }

    /* ---- the end */

    void finish()
    {
        for (const AddressFixup &fixup : addresses_)
            put_address(fixup);
        for (const Call &call : calls_) {
            const Function &callee = m_.functions.at(call.name);
            if (!callee.has_body)
                fail(call.line, "function '" + call.name + "' has no body");
            m_.code[call.instruction].target = callee.begin;
        }
        m_.pool.assign(m_.constants.rbegin(), m_.constants.rend());
        for (Inst &inst : m_.code) {
            relocate(inst.guard);
            for (int32_t &d : inst.d)
                relocate(d);
            for (int32_t &s : inst.s)
                relocate(s);
        }
        for (const std::unique_ptr<ptx_kernel> &kernel : m_.kernels)
            kernel->function.registers += m_.function_registers;
    }

    void relocate(int32_t &operand) const
    {
        if (operand >= (int32_t)KERNEL_REGISTERS && operand != SINK)
            operand += (int32_t)m_.function_registers - (int32_t)KERNEL_REGISTERS;
    }

    void put_address(const AddressFixup &fixup)
    {
        const Symbol *symbol = nullptr;

        if (scopes_.find_symbol(fixup.name, symbol) == 0 || symbol->space != Space::global)
            fail(fixup.line, "'" + fixup.name + "' is no variable with an address");
        uint64_t value = symbol->value + (uint64_t)fixup.offset;
        value = (value & fixup.mask) >> __builtin_ctzll(fixup.mask);
        memcpy(fixup.at, &value, fixup.bytes);
    }

    struct Call {
        std::string name;
        uint32_t instruction, line;
    };

    ptx_module &m_;
    Scopes scopes_;
    std::map<uint64_t, int32_t> constants_;
    std::map<std::string, uint32_t> labels_, tables_;
    std::vector<LabelFixup> fixups_;
    std::vector<AddressFixup> addresses_;
    std::vector<Call> calls_;
    std::vector<int32_t> dynamic_;
    Function common_; /* shared arrays of the module */
    Function *function_ = nullptr;
    int32_t next_register_ = 0;
    bool done_ = false;
};

} // namespace
} // namespace ptx

ptx_module *ptx_load(const char *text, size_t bytes, char *error)
{
    std::unique_ptr<ptx_module> module(new ptx_module);

    try {
        if (bytes != 0 && text[bytes - 1] == '\0') /* images often count it */
            bytes--;
        ptx::Parser(*module, std::string_view(text, bytes)).run();
        return module.release();
    } catch (const ptx::Error &e) {
        ptx::put_error(error, e.text);
    } catch (const std::bad_alloc &) {
        ptx::put_error(error, "ptx: out of memory");
    }
    return nullptr;
}
