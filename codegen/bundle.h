/* Single-file output: each #include "name" of a text is replaced by that file's own text, once,
   when `source` knows it; other includes stay. */
#ifndef TLMC_CODEGEN_BUNDLE_H
#define TLMC_CODEGEN_BUNDLE_H

#include "arena.h"
#include "strbuf.h"

#include <stdbool.h>

struct tlmc_bundle {
    struct tlmc_arena *arena;
    const char *(*source)(const char *name);
    const char *const *keep; /* includes that stay, NULL-terminated */
    const char *seen[256];   /* file names already put in */
    unsigned seen_count;
    const char *missing; /* first name that should have been there and was not */
};

/* Copies text to out with its includes replaced. */
void tlmc_bundle_text(struct tlmc_bundle *bundle, const char *text, struct tlmc_strbuf *out);
/* Puts in a file by name, its includes before it. */
void tlmc_bundle_file(struct tlmc_bundle *bundle, const char *name, struct tlmc_strbuf *out);

#endif
