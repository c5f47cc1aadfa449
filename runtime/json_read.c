/* The pull reader of json_read.h. */
#include "json_read.h"

#include <string.h>

static bool json_refuse(struct tlm_json *json, const char *problem)
{
    if (!json->problem)
        json->problem = problem;
    return false;
}

void tlm_json_start(struct tlm_json *json, const char *text, size_t size)
{
    memset(json, 0, sizeof *json);
    json->text = text;
    json->size = size;
}

/* The next character that is no white space, or 0 at the end (a NUL in the text is never legal
   either). */
static char json_peek(struct tlm_json *json)
{
    while (json->at < json->size) {
        const char c = json->text[json->at];

        if (c != ' ' && c != '\t' && c != '\n' && c != '\r')
            return c;
        json->at++;
    }
    return 0;
}

bool tlm_json_enter(struct tlm_json *json, char bracket)
{
    if (json->problem)
        return false;
    if (json_peek(json) != bracket)
        return json_refuse(json, bracket == '{' ? "'{' expected" : "'[' expected");
    if (json->depth == TLM_JSON_DEPTH)
        return json_refuse(json, "nested too deep");
    json->at++;
    json->closers[json->depth] = bracket == '{' ? '}' : ']';
    json->started[json->depth++] = false;
    return true;
}

bool tlm_json_next(struct tlm_json *json)
{
    const unsigned top = json->depth - 1;
    char c;

    if (json->problem)
        return false;
    c = json_peek(json);
    if (c == json->closers[top]) {
        json->at++;
        json->depth--;
        return false;
    }
    if (json->started[top]) {
        if (c != ',')
            return json_refuse(json, "',' or a closing bracket expected");
        json->at++;
        if (json_peek(json) == json->closers[top])
            return json_refuse(json, "a comma before a closing bracket");
    }
    json->started[top] = true;
    return true;
}

/* Four hexadecimal digits at json->at. */
static bool json_hex4(struct tlm_json *json, uint32_t *out)
{
    *out = 0;
    if (json->size - json->at < 4)
        return json_refuse(json, "a bad \\u escape");
    for (int i = 0; i < 4; i++) {
        const char c = json->text[json->at++];

        if (c >= '0' && c <= '9')
            *out = *out * 16 + (uint32_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            *out = *out * 16 + (uint32_t)(c - 'a') + 10;
        else if (c >= 'A' && c <= 'F')
            *out = *out * 16 + (uint32_t)(c - 'A') + 10;
        else
            return json_refuse(json, "a bad \\u escape");
    }
    return true;
}

/* The code point of a \u escape, the 'u' being read: a surrogate must come with its other half. */
static bool json_code_point(struct tlm_json *json, uint32_t *out)
{
    uint32_t low;

    if (!json_hex4(json, out))
        return false;
    if (*out >= 0xdc00 && *out <= 0xdfff)
        return json_refuse(json, "half of a surrogate pair");
    if (*out < 0xd800 || *out > 0xdbff)
        return *out != 0 || json_refuse(json, "a NUL in a string");
    if (json->size - json->at < 2 || json->text[json->at] != '\\' ||
        json->text[json->at + 1] != 'u')
        return json_refuse(json, "half of a surrogate pair");
    json->at += 2;
    if (!json_hex4(json, &low))
        return false;
    if (low < 0xdc00 || low > 0xdfff)
        return json_refuse(json, "half of a surrogate pair");
    *out = 0x10000 + ((*out - 0xd800) << 10) + (low - 0xdc00);
    return true;
}

static size_t json_encode_utf8(uint32_t c, char out[4])
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

/* Bytes of the UTF-8 sequence at `text` (shortest form, no surrogates, up to U+10FFFF); 0: none. */
static size_t json_utf8_length(const uint8_t *text, size_t left)
{
    const uint8_t first = text[0];
    size_t length;

    if (first < 0x80)
        return 1;
    if (first < 0xc2 || first > 0xf4)
        return 0;
    length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (left < length)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    if ((first == 0xe0 && text[1] < 0xa0) || (first == 0xed && text[1] > 0x9f) ||
        (first == 0xf0 && text[1] < 0x90) || (first == 0xf4 && text[1] > 0x8f))
        return 0;
    return length;
}

/* One character or escape at json->at into `out`; its length, 0 after a problem. */
static size_t json_character(struct tlm_json *json, char out[4])
{
    static const char json_escapes[] = "\"\\/bfnrt";
    static const char json_meanings[] = "\"\\/\b\f\n\r\t";
    const char c = json->text[json->at];
    const char *escape;
    uint32_t code;
    size_t length;

    if ((unsigned char)c < 0x20) {
        json_refuse(json, "a control character in a string");
        return 0;
    }
    if (c != '\\') {
        length = json_utf8_length((const uint8_t *)json->text + json->at, json->size - json->at);
        if (length == 0)
            json_refuse(json, "a byte sequence that is no UTF-8");
        memcpy(out, json->text + json->at, length);
        json->at += length;
        return length;
    }
    json->at++;
    if (json->at < json->size && json->text[json->at] == 'u') {
        json->at++;
        return json_code_point(json, &code) ? json_encode_utf8(code, out) : 0;
    }
    escape = json->at < json->size && json->text[json->at]
                 ? strchr(json_escapes, json->text[json->at])
                 : NULL;
    if (!escape) {
        json_refuse(json, "an unknown escape");
        return 0;
    }
    json->at++;
    out[0] = json_meanings[escape - json_escapes];
    return 1;
}

bool tlm_json_string(struct tlm_json *json, char *out, size_t capacity)
{
    size_t length = 0;

    if (json->problem)
        return false;
    if (json_peek(json) != '"')
        return json_refuse(json, "a string expected");
    json->at++;
    while (json->at < json->size && json->text[json->at] != '"') {
        char character[4];
        const size_t bytes = json_character(json, character);

        if (bytes == 0)
            return false;
        if (capacity - length <= bytes)
            return json_refuse(json, "a string that is too long");
        memcpy(out + length, character, bytes);
        length += bytes;
    }
    if (json->at == json->size)
        return json_refuse(json, "a string without an end");
    json->at++;
    out[length] = 0;
    return true;
}

bool tlm_json_key(struct tlm_json *json, char *out, size_t capacity)
{
    if (!tlm_json_string(json, out, capacity))
        return false;
    if (json_peek(json) != ':')
        return json_refuse(json, "':' expected");
    json->at++;
    return true;
}

bool tlm_json_u64(struct tlm_json *json, uint64_t *out)
{
    const char first = json->problem ? 0 : json_peek(json);
    uint64_t value = 0;
    size_t digits = 0;

    if (json->problem)
        return false;
    while (json->at < json->size && json->text[json->at] >= '0' && json->text[json->at] <= '9') {
        const uint64_t digit = (uint64_t)(json->text[json->at] - '0');

        if (value > (UINT64_MAX - digit) / 10)
            return json_refuse(json, "an integer above 64 bits");
        value = value * 10 + digit;
        json->at++;
        digits++;
    }
    if (digits == 0 || (digits > 1 && first == '0'))
        return json_refuse(json, "an unsigned integer expected");
    if (json->at < json->size && strchr(".eE+-", json->text[json->at]) && json->text[json->at])
        return json_refuse(json, "an unsigned integer expected");
    *out = value;
    return true;
}

bool tlm_json_end(struct tlm_json *json)
{
    if (json->problem)
        return false;
    if (json->depth != 0 || json_peek(json) != 0 || json->at < json->size)
        return json_refuse(json, "more text after the end");
    return true;
}
