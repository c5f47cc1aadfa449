/* A growing text.  Memory is the heap's; tlmc_strbuf_free gives it back.  Always NUL-terminated
   after the first write.  Formatting of floats is locale-independent through literal.h of codegen,
   not through here. */
#ifndef TLMC_SUPPORT_STRBUF_H
#define TLMC_SUPPORT_STRBUF_H

#include "bug.h"

#include <stdarg.h>
#include <stddef.h>

struct tlmc_strbuf {
    char *text;
    size_t length, capacity;
};

void tlmc_strbuf_add(struct tlmc_strbuf *buf, const char *text);
void tlmc_strbuf_add_n(struct tlmc_strbuf *buf, const char *text, size_t length);
void tlmc_strbuf_char(struct tlmc_strbuf *buf, char c);
void tlmc_strbuf_printf(struct tlmc_strbuf *buf, const char *fmt, ...) TLMC_PRINTF(2, 3);
void tlmc_strbuf_vprintf(struct tlmc_strbuf *buf, const char *fmt, va_list ap);
/* The text, "" when nothing was written; valid until the next write. */
const char *tlmc_strbuf_text(const struct tlmc_strbuf *buf);
void tlmc_strbuf_clear(struct tlmc_strbuf *buf);
void tlmc_strbuf_free(struct tlmc_strbuf *buf);

#endif
