/* Reading a sequence of tokens of PTX: look, take, want; words and numbers.  Base of the parser. */
#ifndef TLM_PTX_READER_H
#define TLM_PTX_READER_H

#include "ptx_internal.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace ptx
{

class Reader
{
  protected:
    explicit Reader(std::string_view text) : tokens_(tokens_of(text))
    {
    }

    const Token &peek(size_t ahead = 0) const
    {
        return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
    }

    uint32_t line() const
    {
        return peek().line;
    }

    bool is(std::string_view text, size_t ahead = 0) const
    {
        const Token &token = peek(ahead);

        return (token.which == Token::word || token.which == Token::mark) && token.text_ == text;
    }

    bool take(std::string_view text)
    {
        if (!is(text))
            return false;
        at_++;
        return true;
    }

    void want(std::string_view text)
    {
        if (!take(text))
            fail(line(), "'" + std::string(text) + "' expected, not '" + shown() + "'");
    }

    std::string shown() const
    {
        return peek().which == Token::end ? "end of text" : std::string(peek().text_);
    }

    std::string word()
    {
        if (peek().which != Token::word)
            fail(line(), "a name expected, not '" + shown() + "'");
        return std::string(tokens_[at_++].text_);
    }

    uint64_t number()
    {
        if (peek().which != Token::number)
            fail(line(), "a number expected, not '" + shown() + "'");
        return number_of(std::string(tokens_[at_++].text_));
    }

    /* 12, 0x1f, 017, 0b101, 0f3F800000 (bits), 0d... (bits); a U at the end */
    uint64_t number_of(std::string text)
    {
        const std::string whole = text;
        int base = 10;
        size_t digits = 0;
        char *end;

        if (text.size() > 2 && text[0] == '0' && strchr("xXfFdDbB", text[1]) != nullptr) {
            digits = 2;
            base = strchr("bB", text[1]) != nullptr ? 2 : 16;
            if ((strchr("fF", text[1]) != nullptr && text.size() != 10) ||
                (strchr("dD", text[1]) != nullptr && text.size() != 18))
                fail(line(), "'" + whole + "' has a wrong number of digits");
        } else if (text[0] == '0' && text.size() > 1) {
            base = 8;
        }
        if (base != 16 && text.back() == 'U')
            text.pop_back();
        errno = 0;
        const uint64_t value = strtoull(text.c_str() + digits, &end, base);
        if (*end != '\0' || end == text.c_str() + digits || errno != 0)
            fail(line(), "'" + whole + "' is no number of this interpreter");
        return value;
    }

    int64_t signed_number()
    {
        const bool minus = take("-");
        const uint64_t value = number();

        return (int64_t)(minus ? 0 - value : value);
    }

    void skip_rest_of_line()
    {
        const uint32_t here = line();

        while (peek().which != Token::end && line() == here)
            at_++;
    }

    void skip_braces()
    {
        uint32_t depth = 0;

        do {
            if (peek().which == Token::end)
                fail(line(), "'}' expected");
            if (is("{"))
                depth++;
            if (is("}"))
                depth--;
            at_++;
        } while (depth != 0);
    }

    std::vector<Token> tokens_;
    size_t at_ = 0;
};

} // namespace ptx
#endif
