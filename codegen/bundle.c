/* In: a text with #include "..." lines and a function that knows files by name.  Out: one text with
   each of those files put in once, in the order of first need.  Headers keep their guards.  A .def
   file, which is included on purpose more than once, is put in each time. */
#include "bundle.h"

#include <string.h>

static bool listed(const char *const *list, const char *name)
{
    for (; list && *list; list++)
        if (strcmp(*list, name) == 0)
            return true;
    return false;
}

static bool is_table(const char *name)
{
    const size_t n = strlen(name);

    return n > 4 && strcmp(name + n - 4, ".def") == 0;
}

/* "tlm_rt.h" and "../runtime/tlm_rt.h" name one file; "ref/matmul.h" keeps its folder. */
static const char *plain_name(const char *name)
{
    const char *slash = strrchr(name, '/');

    return slash && strncmp(name, "../", 3) == 0 ? slash + 1 : name;
}

static const char *find(const struct tlmc_bundle *bundle, const char *name)
{
    const char *text = bundle->source ? bundle->source(name) : NULL;
    const char *slash = strrchr(name, '/');

    if (!text && slash)
        text = bundle->source ? bundle->source(slash + 1) : NULL;
    return text;
}

/* The name in `#include "name"`, or NULL. */
static const char *included(struct tlmc_arena *arena, const char *line, size_t length)
{
    const char *p = line, *end = line + length, *close;

    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    if (p == end || *p != '#')
        return NULL;
    p++;
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    if (end - p < 8 || strncmp(p, "include", 7) != 0)
        return NULL;
    p += 7;
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    if (p == end || *p != '"')
        return NULL;
    close = memchr(p + 1, '"', (size_t)(end - p - 1));
    return close ? tlmc_arena_strndup(arena, p + 1, (size_t)(close - p - 1)) : NULL;
}

void tlmc_bundle_file(struct tlmc_bundle *bundle, const char *name, struct tlmc_strbuf *out)
{
    const char *const *keep = bundle->keep;
    const char *text;

    name = plain_name(name);
    text = find(bundle, name);
    if (!text) {
        if (!bundle->missing)
            bundle->missing = name;
        return;
    }
    if (!is_table(name)) {
        for (unsigned i = 0; i < bundle->seen_count; i++)
            if (strcmp(bundle->seen[i], name) == 0)
                return;
        TLMC_CHECK(bundle->seen_count < sizeof bundle->seen / sizeof *bundle->seen);
        bundle->seen[bundle->seen_count++] = name;
        tlmc_strbuf_printf(out, "/* ---- %s */\n", name);
    }
    bundle->keep = NULL; /* what our files include is ours: a model may be called as one of them */
    tlmc_bundle_text(bundle, text, out);
    bundle->keep = keep;
    if (out->length > 0 && out->text[out->length - 1] != '\n')
        tlmc_strbuf_char(out, '\n');
}

void tlmc_bundle_text(struct tlmc_bundle *bundle, const char *text, struct tlmc_strbuf *out)
{
    while (*text) {
        const size_t n = strcspn(text, "\n");
        const char *name = included(bundle->arena, text, n);

        if (name && !listed(bundle->keep, name)) {
            tlmc_bundle_file(bundle, name, out);
        } else {
            tlmc_strbuf_add_n(out, text, n);
            tlmc_strbuf_char(out, '\n');
        }
        text += n + (text[n] == '\n');
    }
}
