/* Bytes and vocabulary files: see vocabulary.h. */
#include "vocabulary.h"

#include "alloc.h"
#include "status.h"

#include <stdlib.h>
#include <string.h>

static int vocabulary_hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Replaces the escapes of a line of `length` bytes in place; its new length, or SIZE_MAX: an
   unknown escape. */
static size_t vocabulary_unescape(char *line, size_t length)
{
    size_t out = 0;

    for (size_t i = 0; i < length; i++) {
        if (line[i] != '\\') {
            line[out++] = line[i];
            continue;
        }
        if (++i == length)
            return SIZE_MAX;
        if (line[i] == 'x' && i + 2 < length && vocabulary_hex(line[i + 1]) >= 0 &&
            vocabulary_hex(line[i + 2]) >= 0) {
            line[out++] = (char)(vocabulary_hex(line[i + 1]) * 16 + vocabulary_hex(line[i + 2]));
            i += 2;
        } else if (line[i] == 'n' || line[i] == 'r' || line[i] == 't' || line[i] == '\\') {
            line[out++] = line[i] == 'n'   ? '\n'
                          : line[i] == 'r' ? '\r'
                          : line[i] == 't' ? '\t'
                                           : '\\';
        } else {
            return SIZE_MAX;
        }
    }
    return out;
}

tlm_status tlm_vocabulary_parse(struct tlm_vocabulary *v, const char *path, char *error)
{
    char *const text = (char *)v->bytes.data;
    size_t capacity = 0, at = 0;

    while (at < v->bytes.size) {
        const char *const end = memchr(text + at, '\n', v->bytes.size - at);
        size_t length = end ? (size_t)(end - text) - at : v->bytes.size - at;
        const size_t next = at + length + 1;
        struct tlm_token *grown =
            tlm_regrow(v->tokens, &capacity, (size_t)v->count + 1, sizeof *grown);

        if (!grown)
            return tlm_fail(error, TLM_ERR_MEMORY, "%s: no memory for the vocabulary",
                            tlm_path_tail(path));
        v->tokens = grown;
        if (length > 0 && text[at + length - 1] == '\r')
            length--;
        length = vocabulary_unescape(text + at, length);
        if (length == SIZE_MAX || length == 0)
            return tlm_fail(error, TLM_ERR_FORMAT, "%s:%u:1: %s", tlm_path_tail(path),
                            (unsigned)v->count + 1,
                            length == 0 ? "an empty token" : "an unknown escape");
        v->tokens[v->count].text = text + at;
        v->tokens[v->count++].length = length;
        at = next;
    }
    if (v->count == 0)
        return tlm_fail(error, TLM_ERR_FORMAT, "%s:1:1: the vocabulary is empty",
                        tlm_path_tail(path));
    return TLM_OK;
}

tlm_status tlm_vocabulary_open(struct tlm_vocabulary *vocabulary, const char *path, char *error)
{
    tlm_status status;

    memset(vocabulary, 0, sizeof *vocabulary);
    if (!path) {
        vocabulary->count = 256;
        return TLM_OK;
    }
    status = tlm_file_read(path, INT32_MAX, &vocabulary->bytes, error); /* ids are i32 */
    return status == TLM_OK ? tlm_vocabulary_parse(vocabulary, path, error) : status;
}

void tlm_vocabulary_free(struct tlm_vocabulary *vocabulary)
{
    free(vocabulary->tokens);
    tlm_bytes_free(&vocabulary->bytes);
    memset(vocabulary, 0, sizeof *vocabulary);
}

/* The longest token that `text` begins with; count: none. */
static uint32_t vocabulary_longest(const struct tlm_vocabulary *v, const char *text, size_t length)
{
    uint32_t best = v->count;

    for (uint32_t i = 0; i < v->count; i++) {
        const struct tlm_token *const token = &v->tokens[i];

        if (token->length <= length && memcmp(token->text, text, token->length) == 0 &&
            (best == v->count || token->length > v->tokens[best].length))
            best = i;
    }
    return best;
}

tlm_status tlm_vocabulary_encode(const struct tlm_vocabulary *v, const char *text, size_t length,
                                 int32_t **out, size_t *count, char *error)
{
    *count = 0;
    *out = tlm_alloc(length + 1, sizeof **out);
    if (!*out)
        return tlm_fail(error, TLM_ERR_MEMORY, "no memory for the prompt");
    for (size_t at = 0; at < length;) {
        uint32_t token = (uint8_t)text[at];
        size_t bytes = 1;

        if (v->tokens) {
            token = vocabulary_longest(v, text + at, length - at);
            if (token == v->count)
                return tlm_fail(error, TLM_ERR_MISMATCH, "byte %zu of the prompt begins no token",
                                at);
            bytes = v->tokens[token].length;
        }
        (*out)[(*count)++] = (int32_t)token;
        at += bytes;
    }
    return TLM_OK;
}

const char *tlm_vocabulary_text(const struct tlm_vocabulary *vocabulary, int32_t token,
                                char byte[1], size_t *length)
{
    if (vocabulary->tokens) {
        *length = vocabulary->tokens[token].length;
        return vocabulary->tokens[token].text;
    }
    byte[0] = (char)token;
    *length = 1;
    return byte;
}
