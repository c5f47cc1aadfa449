/* Each source has the offsets of its lines; a place is found by bisection when it is printed. */
#include "span.h"

#include "bug.h"
#include "vec.h"

#include <string.h>

void tlmc_sources_init(struct tlmc_sources *sources, struct tlmc_arena *arena)
{
    *sources = (struct tlmc_sources){ .arena = arena };
    TLMC_PUSH(arena, sources, (struct tlmc_source){ 0 });
}

uint32_t tlmc_sources_add(struct tlmc_sources *sources, const char *path, const char *text,
                          uint32_t length, bool library)
{
    struct tlmc_source s = { .path = tlmc_arena_strdup(sources->arena, path),
                             .text = tlmc_arena_strndup(sources->arena, text, length),
                             .length = length,
                             .library = library };
    uint32_t at = 1;

    s.line_count = 1;
    for (uint32_t i = 0; i < length; i++)
        s.line_count += text[i] == '\n';
    s.lines = TLMC_NEW_ARRAY(sources->arena, uint32_t, s.line_count);
    for (uint32_t i = 0; i < length; i++)
        if (text[i] == '\n')
            s.lines[at++] = i + 1;
    TLMC_PUSH(sources->arena, sources, s);
    return sources->count - 1;
}

const struct tlmc_source *tlmc_sources_get(const struct tlmc_sources *sources, uint32_t file)
{
    TLMC_CHECK(file > 0 && file < sources->count);
    return &sources->items[file];
}

static uint32_t find_line(const struct tlmc_source *s, uint32_t offset)
{
    uint32_t low = 0, high = s->line_count;

    while (high - low > 1) {
        const uint32_t mid = low + (high - low) / 2;

        if (s->lines[mid] <= offset)
            low = mid;
        else
            high = mid;
    }
    return low;
}

struct tlmc_line_place tlmc_span_place(const struct tlmc_sources *sources, struct tlmc_span span)
{
    const struct tlmc_source *s = tlmc_sources_get(sources, span.file);
    const uint32_t begin = span.begin < s->length ? span.begin : s->length;
    const uint32_t line = find_line(s, begin), start = s->lines[line];
    uint32_t end = line + 1 < s->line_count ? s->lines[line + 1] - 1 : s->length;
    struct tlmc_line_place place = { .line = line + 1, .column = begin - start + 1 };

    if (end > start && s->text[end - 1] == '\r')
        end--;
    place.line_text = s->text + start;
    place.line_length = end - start;
    place.caret_length = span.end > begin ? span.end - begin : 1;
    if (begin + place.caret_length > end)
        place.caret_length = end > begin ? end - begin : 1;
    return place;
}

struct tlmc_span tlmc_span_join(struct tlmc_span a, struct tlmc_span b)
{
    return (struct tlmc_span){ a.file, a.begin, b.end > a.end ? b.end : a.end };
}
