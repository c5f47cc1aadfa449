/* Reads PTX as text and reports arithmetic that docs/numerics.md forbids: what a device would round
   otherwise, fuse, flush or approximate.  Looks at every instruction, modelled by the interpreter
   or not; a text that is no PTX at all is a finding too. */
#include "ptx_internal.h"

#include <cstring>

namespace ptx
{
namespace
{

std::vector<std::string> split(std::string_view name)
{
    std::vector<std::string> words;
    size_t begin = 0, dot;

    while ((dot = name.find('.', begin)) != std::string_view::npos) {
        words.emplace_back(name.substr(begin, dot - begin));
        begin = dot + 1;
    }
    words.emplace_back(name.substr(begin));
    return words;
}

bool has(const std::vector<std::string> &words, const char *word)
{
    for (const std::string &w : words) {
        if (w == word)
            return true;
    }
    return false;
}

bool begins(std::string_view text, const char *with)
{
    return text.compare(0, strlen(with), with) == 0;
}

bool is_float(const std::vector<std::string> &words)
{
    static const char *const types[] = { "f32",  "f64",    "f16",  "f16x2",
                                         "bf16", "bf16x2", "tf32", "f32x2" };

    for (const char *type : types) {
        if (has(words, type))
            return true;
    }
    return false;
}

bool is_half(const std::vector<std::string> &words)
{
    return has(words, "f16") || has(words, "f16x2") || has(words, "bf16") || has(words, "bf16x2") ||
           has(words, "tf32");
}

bool one_of(const std::string &word, std::initializer_list<const char *> list)
{
    for (const char *w : list) {
        if (word == w)
            return true;
    }
    return false;
}

/* What is wrong with an instruction; NULL: nothing. */
const char *impurity(std::string_view name)
{
    const std::vector<std::string> words = split(name);
    const std::string &first = words[0];
    const bool nearest = has(words, "rn");

    if (has(words, "ftz"))
        return "flushes subnormals";
    if (has(words, "approx"))
        return "is an approximation";
    if (first == "div" && has(words, "full"))
        return "is not correctly rounded";
    if (one_of(first, { "mma", "wmma", "wgmma", "tcgen05" }))
        return "sums in an order of its own";
    if (!is_float(words))
        return nullptr;
    if (one_of(first, { "add", "sub", "mul", "mad" }) && !nearest)
        return "may be fused: it has no rounding of its own";
    if (first == "mad")
        return "is mad: fma is written fma";
    if (one_of(first, { "fma", "div", "sqrt", "rcp" }) && !nearest)
        return "is not rounded to nearest";
    if (first == "min" || first == "max")
        return "orders zeros and NaN in its own way";
    if (one_of(first, { "ex2", "lg2", "sin", "cos", "tanh", "rsqrt" }))
        return "is an approximation";
    if (one_of(first, { "atom", "red" }) && !has(words, "exch") && !has(words, "cas"))
        return "adds in an order of its own";
    if (is_half(words))
        return "computes in less than binary32";
    return nullptr;
}

class Checker
{
  public:
    explicit Checker(std::string_view text) : tokens_(tokens_of(text))
    {
    }

    void run()
    {
        bool begins_statement = true;
        bool has_version = false;

        for (size_t i = 0; tokens_[i].which != Token::end; i++) {
            const Token &token = tokens_[i];

            if (token.which == Token::mark) {
                begins_statement = strchr(";{}:", token.text_[0]) != nullptr;
                if (token.text_ == "@" && tokens_[i + 1].which != Token::end)
                    i += guard_tokens(i);
                begins_statement |= token.text_ == "@";
                continue;
            }
            if (token.which != Token::word)
                continue;
            has_version |= token.text_ == ".version";
            name(token);
            if (begins_statement && token.text_[0] != '.')
                instruction(token);
            begins_statement = false;
        }
        if (!has_version)
            add(1, "the text", "is no PTX: .version is missing");
    }

    std::vector<std::string> findings;

  private:
    /* @p and @!p: the instruction comes after */
    size_t guard_tokens(size_t at) const
    {
        return tokens_[at + 1].text_ == "!" && tokens_[at + 2].which != Token::end ? 2 : 1;
    }

    void name(const Token &token)
    {
        if (begins(token.text_, "__nv_"))
            add(token.line, token.text_, "is a function of libdevice");
        if (token.text_ == ".local" || begins(token.text_, "ld.local") ||
            begins(token.text_, "st.local"))
            add(token.line, token.text_, "is local memory");
    }

    void instruction(const Token &token)
    {
        const char *const what = impurity(token.text_);

        if (what != nullptr)
            add(token.line, token.text_, what);
    }

    void add(uint32_t line, std::string_view name, const char *what)
    {
        findings.push_back("line " + std::to_string(line) + ": '" + std::string(name) +
                           "': " + what);
    }

    std::vector<Token> tokens_;
};

} // namespace
} // namespace ptx

uint32_t ptx_check(const char *text, size_t bytes, char *report, size_t report_bytes)
{
    std::vector<std::string> findings;
    std::string all;

    try {
        if (bytes != 0 && text[bytes - 1] == '\0')
            bytes--;
        ptx::Checker checker(std::string_view(text, bytes));
        checker.run();
        findings = checker.findings;
    } catch (const ptx::Error &e) {
        findings.push_back(e.text);
    }
    for (const std::string &finding : findings)
        all += finding + "\n";
    if (report != nullptr && report_bytes != 0) {
        const size_t n = all.size() < report_bytes - 1 ? all.size() : report_bytes - 1;
        memcpy(report, all.data(), n);
        report[n] = '\0';
    }
    return (uint32_t)findings.size();
}
