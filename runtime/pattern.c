/* Glob matching that goes back to the last '*' only, so its cost is at most pattern times key. */
#include "pattern.h"

#include <string.h>

enum { PATTERN_WILDCARDS = 32 };

/* What each wildcard matched, in order. */
struct pattern_captures {
    unsigned count;
    struct pattern_capture {
        const char *at;
        size_t length;
        char kind;
    } of[PATTERN_WILDCARDS];
};

static bool pattern_match(const char *pattern, const char *key, struct pattern_captures *captures)
{
    const char *star = NULL, *mark = NULL; /* the last '*' and where its run ends */
    unsigned star_count = 0;

    captures->count = 0;
    while (*key || *pattern == '*') {
        if (*pattern == '*' || (*pattern == '?' && *key)) {
            if (captures->count == PATTERN_WILDCARDS)
                return false;
            captures->of[captures->count++] =
                (struct pattern_capture){ key, *pattern == '?', *pattern };
            if (*pattern++ == '*') {
                star = pattern;
                mark = key;
                star_count = captures->count;
            } else {
                key++;
            }
        } else if (*pattern == *key) {
            pattern++;
            key++;
        } else if (star) { /* one more character for the last '*' */
            key = ++mark;
            pattern = star;
            captures->count = star_count;
            captures->of[star_count - 1].length++;
        } else {
            return false;
        }
        if (!*pattern && *key &&
            star) { /* the pattern ended too early: longer run, by the same rule */
            key = ++mark;
            pattern = star;
            captures->count = star_count;
            captures->of[star_count - 1].length++;
        }
    }
    return *pattern == 0;
}

bool tlm_pattern_match(const char *pattern, const char *key)
{
    struct pattern_captures captures;

    return pattern_match(pattern, key, &captures);
}

bool tlm_pattern_rename(const char *from, const char *to, const char *key, char *out,
                        size_t capacity)
{
    struct pattern_captures captures;
    unsigned next_star = 0, next_one = 0;
    size_t length = 0;

    if (!pattern_match(from, key, &captures))
        return false;
    for (; *to; to++) {
        const char *text = to;
        size_t bytes = 1;

        if (*to == '*' || *to == '?') {
            unsigned *next = *to == '*' ? &next_star : &next_one;

            while (*next < captures.count && captures.of[*next].kind != *to)
                ++*next;
            if (*next == captures.count)
                return false;
            text = captures.of[*next].at;
            bytes = captures.of[(*next)++].length;
        }
        if (capacity - length <= bytes)
            return false;
        memcpy(out + length, text, bytes);
        length += bytes;
    }
    out[length] = 0;
    return true;
}
