/* Capacity doubles; sizes that would overflow end like a lack of memory. */
#include "strbuf.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void reserve(struct tlmc_strbuf *buf, size_t more)
{
    size_t capacity = buf->capacity ? buf->capacity : 256;

    if (more > SIZE_MAX / 4 || buf->length > SIZE_MAX / 4)
        tlmc_out_of_memory();
    while (capacity < buf->length + more + 1)
        capacity *= 2;
    if (capacity == buf->capacity)
        return;
    buf->text = realloc(buf->text, capacity);
    if (!buf->text)
        tlmc_out_of_memory();
    buf->capacity = capacity;
}

void tlmc_strbuf_add_n(struct tlmc_strbuf *buf, const char *text, size_t length)
{
    reserve(buf, length);
    memcpy(buf->text + buf->length, text, length);
    buf->length += length;
    buf->text[buf->length] = '\0';
}

void tlmc_strbuf_add(struct tlmc_strbuf *buf, const char *text)
{
    tlmc_strbuf_add_n(buf, text, strlen(text));
}

void tlmc_strbuf_char(struct tlmc_strbuf *buf, char c)
{
    tlmc_strbuf_add_n(buf, &c, 1);
}

void tlmc_strbuf_vprintf(struct tlmc_strbuf *buf, const char *fmt, va_list ap)
{
    va_list again;
    int n;

    va_copy(again, ap);
    n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    TLMC_CHECK(n >= 0);
    reserve(buf, (size_t)n);
    vsnprintf(buf->text + buf->length, (size_t)n + 1, fmt, ap);
    buf->length += (size_t)n;
}

void tlmc_strbuf_printf(struct tlmc_strbuf *buf, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    tlmc_strbuf_vprintf(buf, fmt, ap);
    va_end(ap);
}

const char *tlmc_strbuf_text(const struct tlmc_strbuf *buf)
{
    return buf->text ? buf->text : "";
}

void tlmc_strbuf_clear(struct tlmc_strbuf *buf)
{
    buf->length = 0;
    if (buf->text)
        buf->text[0] = '\0';
}

void tlmc_strbuf_free(struct tlmc_strbuf *buf)
{
    free(buf->text);
    *buf = (struct tlmc_strbuf){ 0 };
}
