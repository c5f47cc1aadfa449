/* The text of PTX as tokens: words with their dots ("ld.global.v4.f32", "%tid.x", "$L__BB0_2"),
   numbers, quoted texts and marks, each with its line.  Comments are dropped.  Refuses bytes that
   PTX does not have. */
#include "ptx_internal.h"

#include <cctype>
#include <cstdio>
#include <cstring>

namespace ptx
{

void fail(uint32_t line, const std::string &what)
{
    throw Error{ "ptx: line " + std::to_string(line) + ": " + what };
}

void put_error(char *error, const std::string &text)
{
    if (error != nullptr)
        snprintf(error, PTX_ERROR_BYTES, "%s", text.c_str());
}

bool type_of(std::string_view word, Type &type)
{
    static const struct {
        std::string_view word;
        Kind kind;
        uint8_t bits;
    } rows[] = {
        { "pred", Kind::predicate, 1 }, { "b8", Kind::bits, 8 },
        { "b16", Kind::bits, 16 },      { "b32", Kind::bits, 32 },
        { "b64", Kind::bits, 64 },      { "u8", Kind::unsigned_, 8 },
        { "u16", Kind::unsigned_, 16 }, { "u32", Kind::unsigned_, 32 },
        { "u64", Kind::unsigned_, 64 }, { "s8", Kind::signed_, 8 },
        { "s16", Kind::signed_, 16 },   { "s32", Kind::signed_, 32 },
        { "s64", Kind::signed_, 64 },   { "f32", Kind::floating, 32 },
        { "f64", Kind::floating, 64 },
    };

    for (const auto &row : rows) {
        if (row.word == word) {
            type.kind = row.kind;
            type.bits = row.bits;
            return true;
        }
    }
    return false;
}

namespace
{

bool begins_word(char c)
{
    return isalpha((unsigned char)c) || (c != 0 && strchr("_$%.", c) != nullptr);
}

bool in_word(char c)
{
    return isalnum((unsigned char)c) || (c != 0 && strchr("_$%.", c) != nullptr);
}

class Scanner
{
  public:
    explicit Scanner(std::string_view text) : text_(text)
    {
    }

    std::vector<Token> run()
    {
        std::vector<Token> tokens;

        for (;;) {
            skip_blanks();
            if (at_ >= text_.size())
                break;
            tokens.push_back(next());
        }
        tokens.push_back({ Token::end, "", line_ });
        return tokens;
    }

  private:
    char peek(size_t ahead = 0) const
    {
        return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
    }

    void advance()
    {
        if (text_[at_] == '\n')
            line_++;
        at_++;
    }

    void skip_blanks()
    {
        while (at_ < text_.size()) {
            if (isspace((unsigned char)peek()))
                advance();
            else if (peek() == '/' && peek(1) == '/')
                skip_line();
            else if (peek() == '/' && peek(1) == '*')
                skip_comment();
            else
                return;
        }
    }

    void skip_line()
    {
        while (at_ < text_.size() && peek() != '\n')
            advance();
    }

    void skip_comment()
    {
        const uint32_t line = line_;

        while (at_ < text_.size() && !(peek() == '*' && peek(1) == '/'))
            advance();
        if (at_ >= text_.size())
            fail(line, "a comment does not end");
        at_ += 2;
    }

    Token next()
    {
        const size_t begin = at_;
        const uint32_t line = line_;
        const char c = peek();

        if (c == '"') {
            advance();
            while (at_ < text_.size() && peek() != '"')
                advance();
            if (at_ >= text_.size())
                fail(line, "a text does not end");
            advance();
            return { Token::text, text_.substr(begin + 1, at_ - begin - 2), line };
        }
        if (begins_word(c)) {
            while (in_word(peek()) || (peek() == ':' && peek(1) == ':')) {
                if (peek() == ':')
                    at_++;
                at_++;
            }
            return { Token::word, text_.substr(begin, at_ - begin), line };
        }
        if (isdigit((unsigned char)c)) {
            while (in_word(peek()))
                at_++;
            return { Token::number, text_.substr(begin, at_ - begin), line };
        }
        if (c == '\0' || strchr("{}()[],;:+-!|@=<>", c) == nullptr)
            fail(line, "unexpected byte " + std::to_string((unsigned char)c));
        at_++;
        return { Token::mark, text_.substr(begin, 1), line };
    }

    std::string_view text_;
    size_t at_ = 0;
    uint32_t line_ = 1;
};

} // namespace

std::vector<Token> tokens_of(std::string_view text)
{
    return Scanner(text).run();
}

} // namespace ptx
