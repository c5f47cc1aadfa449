/* The scanner of registry files: words, strings and seven signs; '#' starts a comment.  Refuses,
   with a place and once for the file: a byte that starts nothing, an unfinished string, a word or
   string over 255 bytes, files over 16 MiB.
   `{op}` inside a word or string is kept as it stands: the reader of entries puts the op's name
   there. */
#include "registry.h"

#include <stdio.h>
#include <string.h>

enum { MAX_FILE = 16 << 20, MAX_TEXT = 255 };

static void refuse(struct tlmc_reg_scanner *s, uint32_t begin, uint32_t end, const char *text)
{
    s->token = TLMC_REG_BAD;
    s->span = (struct tlmc_span){ .file = s->file, .begin = begin, .end = end };
    s->at = s->length;
    tlmc_report(s->diags, TLMC_E_REGISTRY, s->span, "%s", text);
}

void tlmc_reg_scanner_init(struct tlmc_reg_scanner *s, struct tlmc_arena *arena,
                           struct tlmc_symtab *symbols, struct tlmc_diags *diags, uint32_t file)
{
    const struct tlmc_source *source = tlmc_sources_get(diags->sources, file);

    *s = (struct tlmc_reg_scanner){ .arena = arena,
                                    .symbols = symbols,
                                    .diags = diags,
                                    .text = source->text,
                                    .length = source->length,
                                    .file = file };
    if (s->length > MAX_FILE)
        refuse(s, 0, 0, "the registry file is larger than 16 MiB");
    else
        tlmc_reg_next(s);
}

static bool is_word_byte(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("_.+-/:*<>", c));
}

/* A word goes on over `{op}`: "tlmk_f32_{op}__cpu_rows". */
static bool is_hole(const struct tlmc_reg_scanner *s, uint32_t at)
{
    return s->length - at >= 4 && memcmp(s->text + at, "{op}", 4) == 0;
}

static void skip_blanks(struct tlmc_reg_scanner *s)
{
    while (s->at < s->length) {
        const char c = s->text[s->at];

        if (c == '#') {
            while (s->at < s->length && s->text[s->at] != '\n' && s->text[s->at] != '\0')
                s->at++;
        } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
            s->at++;
        } else {
            return;
        }
    }
}

static void scan_word(struct tlmc_reg_scanner *s)
{
    const uint32_t begin = s->at;

    while (s->at < s->length) {
        if (is_hole(s, s->at))
            s->at += 4;
        else if (is_word_byte((unsigned char)s->text[s->at]))
            s->at++;
        else
            break;
    }
    if (s->at - begin > MAX_TEXT) {
        refuse(s, begin, begin + 1, "a word longer than 255 bytes");
        return;
    }
    s->token = TLMC_REG_WORD;
    s->word = tlmc_intern_n(s->symbols, s->text + begin, s->at - begin);
    s->span = (struct tlmc_span){ .file = s->file, .begin = begin, .end = s->at };
}

static void scan_string(struct tlmc_reg_scanner *s)
{
    const uint32_t begin = s->at++;
    char text[MAX_TEXT];
    size_t length = 0;

    for (;;) {
        char c;

        if (s->at >= s->length || (unsigned char)s->text[s->at] < ' ') {
            refuse(s, begin, begin + 1, "this string does not end on its line");
            return;
        }
        c = s->text[s->at++];
        if (c == '"')
            break;
        if (c == '\\') {
            if (s->at >= s->length || !strchr("\\\"", s->text[s->at])) {
                refuse(s, s->at - 1, s->at, "'\\' is followed by neither '\\' nor '\"'");
                return;
            }
            c = s->text[s->at++];
        }
        if (length == MAX_TEXT) {
            refuse(s, begin, begin + 1, "a string longer than 255 bytes");
            return;
        }
        text[length++] = c;
    }
    s->token = TLMC_REG_STRING;
    s->word = tlmc_intern_n(s->symbols, text, length);
    s->span = (struct tlmc_span){ .file = s->file, .begin = begin, .end = s->at };
}

void tlmc_reg_next(struct tlmc_reg_scanner *s)
{
    unsigned char c;

    if (s->token == TLMC_REG_BAD)
        return;
    skip_blanks(s);
    if (s->at >= s->length) {
        s->token = TLMC_REG_END;
        s->span = (struct tlmc_span){ .file = s->file, .begin = s->length, .end = s->length };
        return;
    }
    c = (unsigned char)s->text[s->at];
    if (c == '"') {
        scan_string(s);
    } else if (is_hole(s, s->at) || is_word_byte(c)) {
        scan_word(s);
    } else if (c && strchr("{};,=()", c)) {
        s->token = TLMC_REG_PUNCT;
        s->punct = (char)c;
        s->span = (struct tlmc_span){ .file = s->file, .begin = s->at, .end = s->at + 1 };
        s->at++;
    } else {
        char text[80];

        snprintf(text, sizeof text, "no word of a registry file starts with the byte 0x%02x", c);
        refuse(s, s->at, s->at + 1, text);
    }
}
