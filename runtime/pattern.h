/* Key patterns of clauses (docs/language.md): '*' is any run of characters, dots too, '?' one
   character. */
#ifndef TLM_PATTERN_H
#define TLM_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

bool tlm_pattern_match(const char *pattern, const char *key);

/* `key` matched by `from`, written as `to`: each '*' and '?' of `to` takes what the wildcard of the
   same rank and kind matched ('*' the shortest run, from the left).  False when it does not match
   or the result does not fit. */
bool tlm_pattern_rename(const char *from, const char *to, const char *key, char *out,
                        size_t capacity);

#endif
