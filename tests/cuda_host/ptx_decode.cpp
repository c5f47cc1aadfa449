/* One instruction: "setp.lt.or.f32" and its operands -> Inst.  Instructions that compute a value
   from values are rows of ptx_ops.def; the families whose modifiers combine are decoded here, one
   function each.  Refuses every modifier that it does not know, and registers of another width
   than the instruction's. */
#include "ptx_internal.h"

#include <cstring>
#include <unordered_map>

namespace ptx
{
namespace
{

/* ---- rows */

struct Row {
    Op op;
    uint8_t d;          /* bits of the destination */
    uint8_t sources[4]; /* 0: none */
};

enum : uint8_t {
    WIDTH_pred = 1,
    WIDTH_u16 = 16,
    WIDTH_s16 = 16,
    WIDTH_u32 = 32,
    WIDTH_s32 = 32,
    WIDTH_f32 = 32,
    WIDTH_u64 = 64,
    WIDTH_s64 = 64,
    WIDTH_f64 = 64
};

typedef std::unordered_map<std::string, Row> Rows;

void add_names(Rows &rows, const char *names, const Row &row)
{
    while (*names != '\0') {
        const size_t n = strcspn(names, " ");
        rows.emplace(std::string(names, n), row);
        names += n;
        names += strspn(names, " ");
    }
}

Rows make_rows()
{
    Rows rows;

#define PTX_1(id, names, d, a, ...) \
    add_names(rows, names, { OP_##id, WIDTH_##d, { WIDTH_##a, 0, 0, 0 } });
#define PTX_2(id, names, d, a, b, ...) \
    add_names(rows, names, { OP_##id, WIDTH_##d, { WIDTH_##a, WIDTH_##b, 0, 0 } });
#define PTX_3(id, names, d, a, b, c, ...) \
    add_names(rows, names, { OP_##id, WIDTH_##d, { WIDTH_##a, WIDTH_##b, WIDTH_##c, 0 } });
#define PTX_4(id, names, d, a, b, c, e, ...) \
    add_names(rows, names, { OP_##id, WIDTH_##d, { WIDTH_##a, WIDTH_##b, WIDTH_##c, WIDTH_##e } });
#include "ptx_ops.def"
    return rows;
}

const Rows &all_rows()
{
    static const Rows rows = make_rows();

    return rows;
}

/* ---- words of modifiers */

struct Word {
    const char *text;
    uint8_t value;
};

template <size_t N>
bool find_word(const Word (&words)[N], const std::string &text, uint8_t &value)
{
    for (const Word &word : words) {
        if (text == word.text) {
            value = word.value;
            return true;
        }
    }
    return false;
}

template <class E>
constexpr uint8_t number(E e)
{
    return (uint8_t)e;
}

const Word compare_words[] = {
    { "eq", number(Compare::eq) },   { "ne", number(Compare::ne) },
    { "lt", number(Compare::lt) },   { "le", number(Compare::le) },
    { "gt", number(Compare::gt) },   { "ge", number(Compare::ge) },
    { "lo", number(Compare::lo) },   { "ls", number(Compare::ls) },
    { "hi", number(Compare::hi) },   { "hs", number(Compare::hs) },
    { "equ", number(Compare::equ) }, { "neu", number(Compare::neu) },
    { "ltu", number(Compare::ltu) }, { "leu", number(Compare::leu) },
    { "gtu", number(Compare::gtu) }, { "geu", number(Compare::geu) },
    { "num", number(Compare::num) }, { "nan", number(Compare::nan) },
};
const Word combine_words[] = { { "and", number(Combine::and_) },
                               { "or", number(Combine::or_) },
                               { "xor", number(Combine::xor_) } };
const Word shuffle_words[] = { { "up", number(Shuffle::up) },
                               { "down", number(Shuffle::down) },
                               { "bfly", number(Shuffle::butterfly) },
                               { "idx", number(Shuffle::index) } };
const Word vote_words[] = { { "all", number(Vote::all) },
                            { "any", number(Vote::any) },
                            { "uni", number(Vote::uniform) },
                            { "ballot", number(Vote::ballot) } };
const Word atomic_words[] = {
    { "add", number(Atomic::add) },       { "min", number(Atomic::min) },
    { "max", number(Atomic::max) },       { "and", number(Atomic::and_) },
    { "or", number(Atomic::or_) },        { "xor", number(Atomic::xor_) },
    { "exch", number(Atomic::exchange) }, { "cas", number(Atomic::compare) },
    { "inc", number(Atomic::increment) }, { "dec", number(Atomic::decrement) },
};
const Word space_words[] = {
    { "global", number(Space::global) }, { "const", number(Space::global) },
    { "shared", number(Space::shared) }, { "shared::cta", number(Space::shared) },
    { "local", number(Space::local) },   { "param", number(Space::param) }
};
/* To nearest, ...; the second of each group rounds to integers. */
const Word rounding_words[] = {
    { "rn", number(Rounding::nearest) },  { "rz", number(Rounding::zero) },
    { "rm", number(Rounding::down) },     { "rp", number(Rounding::up) },
    { "rni", number(Rounding::nearest) }, { "rzi", number(Rounding::zero) },
    { "rmi", number(Rounding::down) },    { "rpi", number(Rounding::up) },
};

/* Order and scope of memory operations and hints to caches: they change no value here. */
bool is_memory_hint(const std::string &word)
{
    static const char *const hints[] = { "volatile", "weak", "relaxed", "acquire", "release",
                                         "acq_rel",  "cta",  "gpu",     "sys",     "nc",
                                         "ca",       "cg",   "cs",      "cv",      "lu",
                                         "wb",       "wt" };

    for (const char *hint : hints) {
        if (word == hint)
            return true;
    }
    return word.compare(0, 4, "L1::") == 0 || word.compare(0, 4, "L2::") == 0;
}

std::vector<std::string> split(const std::string &name)
{
    std::vector<std::string> words;
    size_t begin = 0, dot;

    while ((dot = name.find('.', begin)) != std::string::npos) {
        words.push_back(name.substr(begin, dot - begin));
        begin = dot + 1;
    }
    words.push_back(name.substr(begin));
    return words;
}

class Decoder
{
  public:
    Decoder(const std::string &name, std::vector<Operand> &operands, uint32_t line, uint32_t place,
            Names &names, Inst &inst)
        : name_(name), words_(split(name)), operands_(operands), line_(line), place_(place),
          names_(names), inst_(inst)
    {
    }

    void run()
    {
        static const struct {
            const char *word;
            void (Decoder::*decode)();
        } families[] = {
            { "ld", &Decoder::load },          { "ldu", &Decoder::load },
            { "st", &Decoder::store },         { "atom", &Decoder::atomic },
            { "red", &Decoder::atomic },       { "cvta", &Decoder::address_space },
            { "setp", &Decoder::compare },     { "cvt", &Decoder::convert },
            { "mov", &Decoder::pack },         { "bra", &Decoder::branch },
            { "brx", &Decoder::branch_table }, { "ret", &Decoder::plain },
            { "exit", &Decoder::plain },       { "trap", &Decoder::plain },
            { "membar", &Decoder::fence },     { "fence", &Decoder::fence },
            { "shfl", &Decoder::shuffle },     { "vote", &Decoder::vote },
            { "redux", &Decoder::redux },      { "activemask", &Decoder::active },
            { "bar", &Decoder::barrier },      { "barrier", &Decoder::barrier },
        };

        if (row())
            return;
        for (const auto &family : families) {
            if (words_[0] == family.word) {
                (this->*family.decode)();
                return;
            }
        }
        unknown();
    }

  private:
    [[noreturn]] void unknown() const
    {
        fail(line_, "unknown instruction '" + name_ + "'");
    }

    [[noreturn]] void wrong(const std::string &what) const
    {
        fail(line_, "'" + name_ + "': " + what);
    }

    void want_operands(size_t least, size_t most) const
    {
        if (operands_.size() < least || operands_.size() > most)
            wrong("wrong number of operands");
    }

    void want_words(size_t count) const
    {
        if (words_.size() != count)
            unknown();
    }

    /* The last word is the type. */
    Type type_word(const std::string &word) const
    {
        Type type;

        if (!type_of(word, type))
            unknown();
        return type;
    }

    /* A register or a constant of so many bits; a register may be wider where `wider` says so. */
    int32_t value(const Operand &o, uint32_t bits, bool wider = false, bool negatable = false) const
    {
        if (o.which == Operand::label)
            wrong("unknown name '" + o.name + "'");
        if (o.which != Operand::reg && o.which != Operand::constant)
            wrong("a register or a constant expected");
        if (o.by_name_only)
            wrong("the address of a parameter of a device function is not modelled");
        if (o.negated && !negatable)
            wrong("'!' does not belong here");
        if (o.which == Operand::reg && o.bits != bits && !(wider && o.bits > bits && bits > 1))
            wrong("a register of " + std::to_string(o.bits) + " bits where " +
                  std::to_string(bits) + " belong");
        return o.number;
    }

    void destination(const Operand &o, uint32_t bits, bool wider = false)
    {
        if (o.which == Operand::sink) {
            inst_.d[inst_.count++] = SINK;
            return;
        }
        if (o.which != Operand::reg || o.number < SPECIALS)
            wrong("a register expected as the destination");
        value(o, bits, wider);
        if (inst_.count == 0 || inst_.mask == 0)
            inst_.mask = o.bits == 64 ? ~UINT64_C(0) : (UINT64_C(1) << o.bits) - 1;
        inst_.d[inst_.count++] = o.number;
    }

    /* d or d|p */
    void destination_pair(const Operand &o, uint32_t bits, uint32_t second_bits)
    {
        if (o.which != Operand::vector) {
            destination(o, bits);
            return;
        }
        if (o.parts.size() != 2)
            wrong("d|p expected");
        destination(o.parts[0], bits);
        destination(o.parts[1], second_bits);
    }

    bool row()
    {
        const auto found = all_rows().find(name_);
        size_t sources = 0;

        if (found == all_rows().end())
            return false;
        for (const Operand &o : operands_) {
            if (o.which == Operand::vector)
                return false; /* mov that packs */
        }
        const Row &row = found->second;
        while (sources < 4 && row.sources[sources] != 0)
            sources++;
        want_operands(sources + 1, sources + 1);
        inst_.op = row.op;
        destination(operands_[0], row.d);
        if (inst_.d[0] == SINK)
            wrong("a register expected as the destination");
        for (size_t i = 0; i < sources; i++)
            inst_.s[i] = value(operands_[i + 1], row.sources[i]);
        return true;
    }

    /* ---- memory */

    void memory_words(bool with_vector)
    {
        uint8_t found;

        inst_.sources = 1;
        for (size_t i = 1; i + 1 < words_.size(); i++) {
            if (find_word(space_words, words_[i], found))
                inst_.space = (Space)found;
            else if (with_vector && (words_[i] == "v2" || words_[i] == "v4"))
                inst_.sources = (uint8_t)(words_[i][1] - '0');
            else if (!is_memory_hint(words_[i]))
                unknown();
        }
        inst_.type = type_word(words_.back());
        if (inst_.type.bits < 8 || inst_.type.bytes() * inst_.sources > 16)
            unknown();
    }

    void memory_address(const Operand &o)
    {
        if (o.which != Operand::address)
            wrong("an address in brackets expected");
        inst_.s[0] = o.number;
        inst_.offset = o.offset;
        if (o.is_symbol && o.space == Space::local && inst_.space == Space::param)
            inst_.space = Space::local; /* of a device function */
        else if (o.is_symbol && o.space != inst_.space)
            wrong("a symbol of another state space");
        if (o.bits == 32 && inst_.space != Space::shared)
            wrong("an address of 32 bits");
    }

    const std::vector<Operand> &parts(const Operand &o)
    {
        if (inst_.sources == 1) {
            one_[0] = o;
            return one_;
        }
        if (o.which != Operand::vector || o.parts.size() != inst_.sources)
            wrong(std::to_string(inst_.sources) + " registers in braces expected");
        return o.parts;
    }

    void load()
    {
        memory_words(true);
        want_operands(2, 2);
        inst_.op = OP_ld;
        for (const Operand &part : parts(operands_[0]))
            destination(part, inst_.type.bits, true);
        memory_address(operands_[1]);
    }

    void store()
    {
        size_t i = 1;

        memory_words(true);
        want_operands(2, 2);
        inst_.op = OP_st;
        if (inst_.space == Space::param && !operands_[0].is_symbol)
            wrong("parameters of a kernel are not written");
        memory_address(operands_[0]);
        if (inst_.space == Space::param)
            wrong("parameters of a kernel are not written");
        for (const Operand &part : parts(operands_[1]))
            inst_.s[i++] = value(part, inst_.type.bits, true);
    }

    void atomic()
    {
        const bool has_result = words_[0] == "atom";
        std::vector<std::string> rest;
        uint8_t found;
        bool has_operation = false;

        for (const std::string &word : words_) {
            if (find_word(atomic_words, word, found)) {
                inst_.sub = found;
                has_operation = true;
            } else {
                rest.push_back(word);
            }
        }
        if (!has_operation)
            unknown();
        words_ = rest;
        memory_words(false);
        const Atomic operation = (Atomic)inst_.sub;
        const size_t values = operation == Atomic::compare ? 2 : 1;
        check_atomic(operation);
        want_operands(values + 1 + has_result, values + 1 + has_result);
        inst_.op = OP_atom;
        if (has_result)
            destination(operands_[0], inst_.type.bits);
        memory_address(operands_[has_result]);
        for (size_t i = 0; i < values; i++)
            inst_.s[1 + i] = value(operands_[has_result + 1 + i], inst_.type.bits);
    }

    void check_atomic(Atomic operation) const
    {
        if (inst_.space == Space::local || inst_.space == Space::param || inst_.type.bits < 32)
            unknown();
        if (inst_.type.is_float() && operation != Atomic::add && operation != Atomic::exchange)
            unknown();
    }

    /* cvta.shared.u64 to a generic address, cvta.to.shared.u64 from one */
    void address_space()
    {
        uint8_t found;

        inst_.to_space = words_.size() > 1 && words_[1] == "to";
        want_words(inst_.to_space ? 4 : 3);
        want_operands(2, 2);
        if (words_.back() != "u64" || !find_word(space_words, words_[words_.size() - 2], found))
            unknown();
        inst_.op = OP_cvta;
        inst_.space = (Space)found;
        destination(operands_[0], 64);
        inst_.s[0] = value(operands_[1], 64);
    }

    /* mov.b64 {a, b}, c and mov.b64 c, {a, b} */
    void pack()
    {
        want_words(2);
        want_operands(2, 2);
        inst_.type = type_word(words_[1]);
        const bool unpacks = operands_[0].which == Operand::vector;
        const Operand &list = operands_[unpacks ? 0 : 1];
        if (list.which != Operand::vector || inst_.type.bits < 16 || list.parts.empty() ||
            (list.parts.size() != 2 && list.parts.size() != 4))
            unknown();
        const uint32_t bits = inst_.type.bits / (uint32_t)list.parts.size();
        inst_.from = { Kind::bits, (uint8_t)bits };
        inst_.sources = (uint8_t)list.parts.size();
        inst_.op = unpacks ? OP_unpack : OP_pack;
        if (bits < 16)
            unknown();
        if (unpacks) {
            for (const Operand &part : list.parts)
                destination(part, bits);
            inst_.s[0] = value(operands_[1], inst_.type.bits);
            return;
        }
        destination(operands_[0], inst_.type.bits);
        for (size_t i = 0; i < list.parts.size(); i++)
            inst_.s[i] = value(list.parts[i], bits);
    }

    /* ---- predicates and conversions */

    /* setp.lt{.and}.f32 p{|q}, a, b{, {!}c} */
    void compare()
    {
        uint8_t found;

        if (words_.size() < 3 || words_.size() > 4 || !find_word(compare_words, words_[1], found))
            unknown();
        inst_.sub = found;
        if (words_.size() == 4) {
            if (!find_word(combine_words, words_[2], found))
                unknown();
            inst_.combine = (Combine)found;
        }
        const Type type = type_word(words_.back());
        inst_.op = compare_op(type, (Compare)inst_.sub);
        want_operands(words_.size(), words_.size());
        destination_pair(operands_[0], 1, 1);
        inst_.s[0] = value(operands_[1], type.bits);
        inst_.s[1] = value(operands_[2], type.bits);
        if (words_.size() == 4) {
            inst_.s[2] = value(operands_[3], 1, false, true);
            inst_.negated = operands_[3].negated;
        }
    }

    Op compare_op(Type type, Compare how) const
    {
        const bool unsigned_only = how >= Compare::lo && how <= Compare::hs;
        const bool float_only = how >= Compare::equ;

        if (type.is_float()) {
            if (unsigned_only)
                unknown();
            return type.bits == 32 ? OP_setp_f32 : OP_setp_f64;
        }
        if (float_only || type.bits < 16 || (unsigned_only && type.is_signed()) ||
            (type.kind == Kind::bits && how != Compare::eq && how != Compare::ne))
            unknown();
        if (type.bits == 16)
            return type.is_signed() ? OP_setp_s16 : OP_setp_u16;
        if (type.bits == 32)
            return type.is_signed() ? OP_setp_s32 : OP_setp_u32;
        return type.is_signed() ? OP_setp_s64 : OP_setp_u64;
    }

    /* cvt{.rounding}{.sat}.to.from */
    void convert()
    {
        bool to_integer = false;

        if (words_.size() < 3)
            unknown();
        inst_.type = type_word(words_[words_.size() - 2]);
        inst_.from = type_word(words_.back());
        for (size_t i = 1; i + 2 < words_.size(); i++) {
            uint8_t found;
            if (words_[i] == "sat") {
                inst_.saturate = true;
            } else if (find_word(rounding_words, words_[i], found)) {
                inst_.rounding = (Rounding)found;
                to_integer = words_[i].size() == 3;
            } else {
                unknown();
            }
        }
        check_convert(to_integer);
        want_operands(2, 2);
        destination(operands_[0], inst_.type.bits, true);
        inst_.s[0] = value(operands_[1], inst_.from.bits, true);
    }

    /* Which roundings a conversion must or may have: those that the manual gives. */
    void check_convert(bool to_integer)
    {
        const bool to_float = inst_.type.is_float(), from_float = inst_.from.is_float();
        const bool rounds = inst_.rounding != Rounding::none;

        if (inst_.type.bits < 8 || inst_.from.bits < 8 || inst_.type.kind == Kind::bits ||
            inst_.from.kind == Kind::bits)
            unknown();
        if (!to_float && !from_float) {
            inst_.op = OP_cvt_int;
            if (rounds)
                unknown();
        } else if (to_float && !from_float) {
            inst_.op = OP_cvt_int_float;
            if (!rounds || to_integer || inst_.saturate)
                unknown();
        } else if (!to_float) {
            inst_.op = OP_cvt_float_int;
            if (!rounds || !to_integer)
                unknown();
        } else {
            const bool narrows = inst_.type.bits < inst_.from.bits;
            inst_.op = OP_cvt_float;
            if ((narrows && (!rounds || to_integer)) || (!narrows && rounds && !to_integer) ||
                (!narrows && inst_.type.bits != inst_.from.bits && rounds))
                unknown();
            if (narrows && inst_.saturate)
                unknown();
        }
    }

    /* ---- control */

    void branch()
    {
        if (words_.size() > 2 || (words_.size() == 2 && words_[1] != "uni"))
            unknown();
        want_operands(1, 1);
        inst_.op = OP_bra;
        if (operands_[0].which != Operand::label)
            wrong("a label expected");
        names_.label(operands_[0].name, place_, line_);
    }

    void branch_table()
    {
        if (words_.size() < 2 || words_[1] != "idx" || words_.size() > 3 ||
            (words_.size() == 3 && words_[2] != "uni"))
            unknown();
        want_operands(2, 2);
        inst_.op = OP_brx;
        inst_.s[0] = value(operands_[0], 32);
        if (operands_[1].which != Operand::label)
            wrong("branch targets expected");
    }

    void plain()
    {
        want_operands(0, 0);
        if (words_.size() > 2 || (words_.size() == 2 && (words_[1] != "uni" || words_[0] != "ret")))
            unknown();
        inst_.op = words_[0] == "ret" ? OP_ret : words_[0] == "exit" ? OP_exit : OP_trap;
    }

    /* Threads run one after another, so stores are in order already. */
    void fence()
    {
        want_operands(0, 0);
        for (size_t i = 1; i < words_.size(); i++) {
            if (words_[i] != "gl" && words_[i] != "sc" && !is_memory_hint(words_[i]))
                unknown();
        }
        inst_.op = OP_nothing;
    }

    /* ---- warps and blocks */

    /* shfl.sync.bfly.b32 d{|p}, a, b, c, mask */
    void shuffle()
    {
        want_words(4);
        want_operands(5, 5);
        if (words_[1] != "sync" || words_[3] != "b32" ||
            !find_word(shuffle_words, words_[2], inst_.sub))
            unknown();
        inst_.op = OP_shfl;
        destination_pair(operands_[0], 32, 1);
        for (size_t i = 0; i < 4; i++)
            inst_.s[i] = value(operands_[i + 1], 32);
        inst_.s[4] = inst_.s[3]; /* the mask has one place in all warp operations */
    }

    /* vote.sync.ballot.b32 d, {!}a, mask */
    void vote()
    {
        want_words(4);
        want_operands(3, 3);
        if (words_[1] != "sync" || !find_word(vote_words, words_[2], inst_.sub))
            unknown();
        const bool ballot = (Vote)inst_.sub == Vote::ballot;
        if (words_[3] != (ballot ? "b32" : "pred"))
            unknown();
        inst_.op = OP_vote;
        destination(operands_[0], ballot ? 32 : 1);
        inst_.s[0] = value(operands_[1], 1, false, true);
        inst_.negated = operands_[1].negated;
        inst_.s[4] = value(operands_[2], 32);
    }

    /* redux.sync.add.u32 d, a, mask */
    void redux()
    {
        want_words(4);
        want_operands(3, 3);
        inst_.type = type_word(words_[3]);
        if (words_[1] != "sync" || !find_word(atomic_words, words_[2], inst_.sub) ||
            inst_.type.bits != 32 || inst_.type.is_float() || (Atomic)inst_.sub > Atomic::xor_)
            unknown();
        inst_.op = OP_redux;
        destination(operands_[0], 32);
        inst_.s[0] = value(operands_[1], 32);
        inst_.s[4] = value(operands_[2], 32);
    }

    void active()
    {
        want_words(2);
        want_operands(1, 1);
        if (words_[1] != "b32")
            unknown();
        inst_.op = OP_activemask;
        destination(operands_[0], 32);
    }

    /* bar{rier}{.cta}.sync{.aligned} a{, b}; bar.red.popc.u32 d, a{, b}, {!}c; bar.warp.sync mask
     */
    void barrier()
    {
        std::vector<std::string> rest;

        inst_.aligned = words_[0] == "bar";
        for (size_t i = 1; i < words_.size(); i++) {
            if (words_[i] == "aligned")
                inst_.aligned = true;
            else if (words_[i] != "cta")
                rest.push_back(words_[i]);
        }
        inst_.op = OP_bar;
        if (rest.size() == 2 && rest[0] == "warp" && rest[1] == "sync") {
            want_operands(1, 1);
            inst_.op = OP_warp_sync;
            inst_.s[4] = value(operands_[0], 32);
        } else if (rest.size() == 1 && rest[0] == "sync") {
            want_operands(1, 2);
            barrier_number(0, operands_.size());
        } else if (rest.size() == 3 && rest[0] == "red") {
            barrier_reduction(rest[1], rest[2]);
        } else {
            unknown();
        }
    }

    void barrier_reduction(const std::string &operation, const std::string &type)
    {
        want_operands(3, 4);
        if (operation == "popc" && type == "u32")
            inst_.sub = number(Reduce::population);
        else if (operation == "and" && type == "pred")
            inst_.sub = number(Reduce::and_);
        else if (operation == "or" && type == "pred")
            inst_.sub = number(Reduce::or_);
        else
            unknown();
        destination(operands_[0], type == "u32" ? 32 : 1);
        barrier_number(1, operands_.size() - 1);
        inst_.s[2] = value(operands_.back(), 1, false, true);
        inst_.negated = operands_.back().negated;
    }

    /* s[0]: which barrier; s[1]: how many threads, when said */
    void barrier_number(size_t first, size_t end)
    {
        inst_.s[0] = value(operands_[first], 32);
        inst_.sources = (uint8_t)(end - first);
        if (end - first == 2)
            inst_.s[1] = value(operands_[first + 1], 32);
    }

    const std::string &name_;
    std::vector<std::string> words_;
    std::vector<Operand> &operands_;
    uint32_t line_, place_;
    Names &names_;
    Inst &inst_;
    std::vector<Operand> one_ = std::vector<Operand>(1);
};

} // namespace

void decode(const std::string &name, std::vector<Operand> &operands, uint32_t line, uint32_t place,
            Names &names, Inst &inst)
{
    Decoder(name, operands, line, place, names, inst).run();
}

} // namespace ptx
