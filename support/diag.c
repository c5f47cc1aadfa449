/* Diagnostics are kept and printed in the order of the reports.  Lines of source are cut around the
   place when they are long, and reach a terminal without control bytes. */
#include "diag.h"

#include <string.h>

static const struct {
    enum tlmc_severity severity;
    const char *label, *title;
} codes[] = {
#define DIAG(number, severity, tag, title) \
    { severity, #severity[5] == 'E' ? "E" #number : "W" #number, title },
#include "diag_codes.def"
};

const char *tlmc_diag_label(enum tlmc_diag_code code)
{
    return codes[code].label;
}

const char *tlmc_diag_title(enum tlmc_diag_code code)
{
    return codes[code].title;
}

enum tlmc_severity tlmc_diag_severity(enum tlmc_diag_code code)
{
    return codes[code].severity;
}

void tlmc_diags_init(struct tlmc_diags *diags, struct tlmc_arena *arena,
                     struct tlmc_sources *sources)
{
    *diags = (struct tlmc_diags){ .arena = arena, .sources = sources };
}

static bool is_dropped(const struct tlmc_diags *diags, enum tlmc_severity severity)
{
    return severity == TLMC_ERROR ? diags->errors > TLMC_MAX_ERRORS
                                  : diags->warnings > TLMC_MAX_ERRORS;
}

struct tlmc_diag *tlmc_report(struct tlmc_diags *diags, enum tlmc_diag_code code,
                              struct tlmc_span span, const char *fmt, ...)
{
    struct tlmc_diag *d = TLMC_NEW(diags->arena, struct tlmc_diag);
    va_list ap;

    d->code = code;
    d->span = span;
    va_start(ap, fmt);
    d->text = tlmc_arena_vprintf(diags->arena, fmt, ap);
    va_end(ap);
    if (tlmc_diag_severity(code) == TLMC_ERROR)
        diags->errors++;
    else
        diags->warnings++;
    if (is_dropped(diags, tlmc_diag_severity(code)))
        return d;
    if (diags->last)
        diags->last->next = d;
    else
        diags->first = d;
    return diags->last = d;
}

static void add_note(struct tlmc_diags *diags, struct tlmc_diag *diag, struct tlmc_note note)
{
    struct tlmc_note *n = TLMC_NEW(diags->arena, struct tlmc_note);

    *n = note;
    if (diag->last_note)
        diag->last_note->next = n;
    else
        diag->notes = n;
    diag->last_note = n;
}

void tlmc_note(struct tlmc_diags *diags, struct tlmc_diag *diag, struct tlmc_span span,
               const char *fmt, ...)
{
    va_list ap;
    const char *text;

    va_start(ap, fmt);
    text = tlmc_arena_vprintf(diags->arena, fmt, ap);
    va_end(ap);
    add_note(diags, diag, (struct tlmc_note){ .span = span, .text = text });
}

void tlmc_hint(struct tlmc_diags *diags, struct tlmc_diag *diag, const char *fmt, ...)
{
    va_list ap;
    const char *text;

    va_start(ap, fmt);
    text = tlmc_arena_vprintf(diags->arena, fmt, ap);
    va_end(ap);
    add_note(diags, diag, (struct tlmc_note){ .text = text, .hint = true });
}

/* Bytes that a terminal could take for a command are shown as '?'; tabs as one blank, so that the
   carets line up. */
static void print_line(FILE *out, const char *text, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)text[i];

        fputc(c == '\t' ? ' ' : c < 0x20 || c == 0x7f ? '?' : c, out);
    }
}

/* Columns that `length` bytes take on a terminal: those that do not continue a UTF-8 character. */
static uint32_t columns_of(const char *text, uint32_t length)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < length; i++)
        n += ((unsigned char)text[i] & 0xc0) != 0x80;
    return n;
}

static void print_place(const struct tlmc_diags *diags, struct tlmc_span span, FILE *out)
{
    enum { LINE_SHOWN = 160 };
    const struct tlmc_line_place p = tlmc_span_place(diags->sources, span);
    const uint32_t skip = p.column > LINE_SHOWN ? p.column - LINE_SHOWN / 2 : 0;
    const uint32_t from = skip < p.line_length ? skip : p.line_length;
    const uint32_t left = p.line_length - from;
    const uint32_t shown = left > LINE_SHOWN ? LINE_SHOWN : left;
    const uint32_t before = p.column - 1 - skip; /* at most LINE_SHOWN */
    const uint32_t room = before < shown ? shown - before : 0;
    const uint32_t marked = p.caret_length < room ? p.caret_length : room;
    const uint32_t carets = columns_of(p.line_text + from + before, marked);

    fputs("    ", out);
    print_line(out, p.line_text + from, shown);
    fprintf(out, "\n    %*s", (int)columns_of(p.line_text + from, before), "");
    for (uint32_t i = 0; i == 0 || i < carets; i++)
        fputc('^', out);
    fputc('\n', out);
}

static void print_head(const struct tlmc_diags *diags, struct tlmc_span span, FILE *out)
{
    const struct tlmc_line_place p = tlmc_span_place(diags->sources, span);

    fprintf(out, "%s:%u:%u: ", tlmc_sources_get(diags->sources, span.file)->path, p.line, p.column);
}

static void print_one(const struct tlmc_diags *diags, const struct tlmc_diag *d, FILE *out)
{
    if (d->span.file)
        print_head(diags, d->span, out);
    else
        fputs("tlmc: ", out);
    fprintf(out, "%s[%s]: %s\n", tlmc_diag_severity(d->code) == TLMC_ERROR ? "error" : "warning",
            tlmc_diag_label(d->code), d->text);
    if (d->span.file)
        print_place(diags, d->span, out);
    for (const struct tlmc_note *n = d->notes; n; n = n->next) {
        if (n->span.file) {
            print_head(diags, n->span, out);
            fprintf(out, "note: %s\n", n->text);
            print_place(diags, n->span, out);
        } else {
            fprintf(out, "%s: %s\n", n->hint ? "hint" : "note", n->text);
        }
    }
}

void tlmc_diags_print(const struct tlmc_diags *diags, FILE *out)
{
    for (const struct tlmc_diag *d = diags->first; d; d = d->next)
        print_one(diags, d, out);
    if (diags->errors > TLMC_MAX_ERRORS)
        fprintf(out, "tlmc: %u more errors not shown\n", diags->errors - TLMC_MAX_ERRORS);
}
