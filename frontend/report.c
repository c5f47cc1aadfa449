/* Diagnostics of the semantic stage: the trail of block calls, texts of values for messages, near
   names. */
#include "sema.h"

#include <stdlib.h>
#include <string.h>

static bool is_library(const struct tlmc_sema *s, struct tlmc_span span)
{
    return span.file && tlmc_sources_get(s->sources, span.file)->library;
}

/* The frame whose call is the next place outward, and that place. */
static const struct tlmc_frame *caller(const struct tlmc_frame *f)
{
    return f && f->call ? f->parent : NULL;
}

static bool is_repeated(const struct tlmc_sema *s, enum tlmc_diag_code code, struct tlmc_span span)
{
    for (const struct tlmc_diag *d = s->diags->first; d; d = d->next)
        if (d->code == code && d->span.file == span.file && d->span.begin == span.begin)
            return span.file != 0;
    return false;
}

static struct tlmc_diag *report(struct tlmc_sema *s, struct tlmc_span span,
                                enum tlmc_diag_code code, const char *text)
{
    if (is_repeated(s, code, span))
        return TLMC_NEW(s->arena, struct tlmc_diag); /* takes notes that nobody reads */
    return tlmc_report(s->diags, code, span, "%s", text);
}

struct tlmc_diag *tlmc_sema_error(struct tlmc_sema *s, const struct tlmc_frame *f,
                                  struct tlmc_span span, enum tlmc_diag_code code, const char *fmt,
                                  ...)
{
    enum { TRAIL_SHOWN = 12 };
    const struct tlmc_frame *mine = f;
    struct tlmc_span primary = span;
    struct tlmc_diag *diag;
    va_list ap;
    int shown = 0;

    s->failures += tlmc_diag_severity(code) == TLMC_ERROR;
    while (is_library(s, primary) && caller(mine)) {
        primary = mine->call->span;
        mine = caller(mine);
    }
    va_start(ap, fmt);
    diag = report(s, primary, code, tlmc_arena_vprintf(s->arena, fmt, ap));
    va_end(ap);
    if (tlmc_diag_severity(code) == TLMC_ERROR && s->diags->errors >= TLMC_MAX_ERRORS)
        s->stop = true;
    for (const struct tlmc_frame *g = f; g != mine; g = caller(g), shown++) {
        if (shown < TRAIL_SHOWN)
            tlmc_note(s->diags, diag, span, "here, in block `%s` of the library", g->title);
        span = g->call->span;
    }
    for (; mine && mine->call && shown < TRAIL_SHOWN; mine = caller(mine), shown++)
        tlmc_note(s->diags, diag, mine->call->span, "in block `%s`, called here", mine->title);
    return diag;
}

void tlmc_sema_note(struct tlmc_sema *s, struct tlmc_diag *diag, struct tlmc_span span,
                    const char *fmt, ...)
{
    va_list ap;
    const char *text;

    va_start(ap, fmt);
    text = tlmc_arena_vprintf(s->arena, fmt, ap);
    va_end(ap);
    tlmc_note(s->diags, diag, span, "%s", text);
}

const char *tlmc_show(struct tlmc_sema *s, const struct tlmc_val *v)
{
    struct tlmc_strbuf buf = { 0 };
    const char *text;

    tlmc_val_print(s->graph, v, &buf);
    text = tlmc_arena_strdup(s->arena, tlmc_strbuf_text(&buf));
    tlmc_strbuf_free(&buf);
    return text;
}

const char *tlmc_show_type(struct tlmc_sema *s, const struct tlmc_type *type)
{
    char buf[256];

    return tlmc_arena_strdup(s->arena, tlmc_type_text(type, buf));
}

const char *tlmc_show_dims(struct tlmc_sema *s, const struct tlmc_type *type)
{
    return strchr(tlmc_show_type(s, type), '[');
}

/* Edit distance of two names, at most `limit` + 1. */
static int distance(const char *a, const char *b, int limit)
{
    enum { LONGEST = 63 };
    const int na = (int)strlen(a), nb = (int)strlen(b);
    int row[LONGEST + 1];

    if (na > LONGEST || nb > LONGEST || abs(na - nb) > limit)
        return limit + 1;
    for (int j = 0; j <= nb; j++)
        row[j] = j;
    for (int i = 1; i <= na; i++) {
        int diagonal = row[0];

        row[0] = i;
        for (int j = 1; j <= nb; j++) {
            const int change = diagonal + (a[i - 1] != b[j - 1]);
            const int insert = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;

            diagonal = row[j];
            row[j] = change < insert ? change : insert;
        }
    }
    return row[nb];
}

tlmc_sym tlmc_nearest(tlmc_sym name, const tlmc_sym *names, uint32_t count)
{
    const size_t length = strlen(name);
    int best = length < 3 ? 1 : length < 5 ? 2 : 3; /* one less is the most that counts as near */
    tlmc_sym found = NULL;

    for (uint32_t i = 0; i < count; i++) {
        const int d = distance(name, names[i], best - 1);

        if (d > 0 && d < best) {
            best = d;
            found = names[i];
        }
    }
    return found;
}

bool tlmc_charge(struct tlmc_sema *s, const struct tlmc_frame *f, struct tlmc_span span,
                 uint64_t amount)
{
    if (amount <= TLMC_MAX_COPIED_ITEMS && s->work->copied + amount <= TLMC_MAX_COPIED_ITEMS) {
        s->work->copied += (uint32_t)amount;
        return true;
    }
    tlmc_sema_error(s, f, span, TLMC_E_TOO_LONG,
                    "lists and strings of more than %d items are built in all",
                    TLMC_MAX_COPIED_ITEMS);
    s->stop = true;
    return false;
}
