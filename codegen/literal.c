/* In: numbers and texts.  Out: C tokens.  Digits come from printf in rising precision until they
   read back; the text is then laid out here, so that the C library decides neither the form of the
   exponent nor the decimal point. */
#include "literal.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct digits {
    char text[24]; /* without point or sign */
    int count;
    int exponent; /* of the first digit */
};

static bool reads_back(const char *text, double value, bool is_f32)
{
    return is_f32 ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value;
}

/* The fewest digits that read back; value is finite and positive. */
static struct digits shortest(double value, bool is_f32)
{
    const int most = is_f32 ? 9 : 17;
    struct digits d = { .count = 0 };
    char text[48];
    const char *exponent;

    for (int precision = 0; precision < most; precision++) {
        snprintf(text, sizeof text, "%.*e", precision, value);
        if (reads_back(text, value, is_f32))
            break;
    }
    exponent = strchr(text, 'e');
    TLMC_CHECK(exponent != NULL);
    for (const char *p = text; p < exponent; p++)
        if (*p >= '0' && *p <= '9')
            d.text[d.count++] = *p;
    while (d.count > 1 && d.text[d.count - 1] == '0')
        d.count--;
    d.exponent = atoi(exponent + 1);
    return d;
}

static void lay_out(const struct digits *d, struct tlmc_strbuf *out)
{
    if (d->exponent < -5 || d->exponent > 8) {
        tlmc_strbuf_char(out, d->text[0]);
        if (d->count > 1) {
            tlmc_strbuf_char(out, '.');
            tlmc_strbuf_add_n(out, d->text + 1, (size_t)d->count - 1);
        }
        tlmc_strbuf_printf(out, "e%d", d->exponent);
    } else if (d->exponent < 0) {
        tlmc_strbuf_add(out, "0.");
        for (int i = -1; i > d->exponent; i--)
            tlmc_strbuf_char(out, '0');
        tlmc_strbuf_add_n(out, d->text, (size_t)d->count);
    } else {
        for (int i = 0; i <= d->exponent || i < d->count; i++) {
            if (i == d->exponent + 1)
                tlmc_strbuf_char(out, '.');
            tlmc_strbuf_char(out, i < d->count ? d->text[i] : '0');
        }
        if (d->count <= d->exponent + 1)
            tlmc_strbuf_add(out, ".0");
    }
}

static const char *literal(struct tlmc_arena *arena, double value, bool is_f32)
{
    struct tlmc_strbuf out = { 0 };
    const char *text;

    if (isnan(value))
        return "NAN";
    if (isinf(value))
        return value < 0 ? "-INFINITY" : "INFINITY";
    if (signbit(value))
        tlmc_strbuf_char(&out, '-');
    if (value == 0) {
        tlmc_strbuf_add(&out, "0.0");
    } else {
        const struct digits d = shortest(fabs(value), is_f32);

        lay_out(&d, &out);
    }
    if (is_f32)
        tlmc_strbuf_char(&out, 'f');
    text = tlmc_arena_strdup(arena, tlmc_strbuf_text(&out));
    tlmc_strbuf_free(&out);
    return text;
}

const char *tlmc_literal_f32(struct tlmc_arena *arena, double value)
{
    return literal(arena, (double)(float)value, true);
}

const char *tlmc_literal_f64(struct tlmc_arena *arena, double value)
{
    return literal(arena, value, false);
}

const char *tlmc_literal_i32(struct tlmc_arena *arena, int64_t value)
{
    char text[32];

    if (value == INT32_MIN)
        return "INT32_MIN";
    snprintf(text, sizeof text, "%" PRId64, value);
    return tlmc_arena_strdup(arena, text);
}

const char *tlmc_literal_element(struct tlmc_arena *arena, enum tlmc_dtype dtype, double value)
{
    switch (dtype) {
    case TLMC_F32: return tlmc_literal_f32(arena, value);
    case TLMC_F64: return tlmc_literal_f64(arena, value);
    case TLMC_I32: return tlmc_literal_i32(arena, (int64_t)value);
    case TLMC_BOOL: return value != 0 ? "1" : "0";
    case TLMC_DTYPE_COUNT: break;
    }
    TLMC_UNREACHABLE();
}

const char *tlmc_literal_count(struct tlmc_arena *arena, uint64_t value)
{
    char text[32];

    snprintf(text, sizeof text, "%" PRIu64, value);
    return tlmc_arena_strdup(arena, text);
}

void tlmc_literal_string(struct tlmc_strbuf *out, const char *text, int indent)
{
    enum { LONG = 84, LONGEST = 94 }; /* of a piece with its indentation */
    size_t begin;                     /* of the piece */

    if (!text) {
        tlmc_strbuf_add(out, "NULL");
        return;
    }
    tlmc_strbuf_char(out, '"');
    begin = out->length;
    for (const char *p = text; *p; p++) {
        const unsigned char c = (unsigned char)*p;

        const size_t width = out->length - begin + (size_t)indent;

        if (indent > 0 && c == ' ' && width > LONG && width + strcspn(p, "\n") > LONGEST) {
            tlmc_strbuf_printf(out, " \"\n%*s\"", indent, "");
            begin = out->length;
        } else if (c == '\n' && p[1] != '\0') {
            tlmc_strbuf_printf(out, "\\n\"\n%*s\"", indent, "");
            begin = out->length;
        } else if (c == '\n')
            tlmc_strbuf_add(out, "\\n");
        else if (c == '"' || c == '\\')
            tlmc_strbuf_printf(out, "\\%c", c);
        else if (c == '?' && p > text && p[-1] == '?')
            tlmc_strbuf_add(out, "\\?"); /* no trigraphs */
        else if (c < 32 || c > 126)
            tlmc_strbuf_printf(out, "\\%03o", c);
        else
            tlmc_strbuf_char(out, (char)c);
    }
    tlmc_strbuf_char(out, '"');
}
