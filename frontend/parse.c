/* One parse: checks the bytes, runs the grammar, hangs the comments on the tree.  Also the token
   stream between scanner and grammar, which counts brackets and, after a syntax error, brings the
   grammar to the end of the broken statement so that the next one is read as if nothing had
   happened.  Refuses nesting deeper than TLMC_MAX_DEPTH. */
#include "parse.h"

#include "parser.h"

#include <stdarg.h>

struct tlmc_diag *tlmc_parser_report(struct tlmc_parser *p, enum tlmc_diag_code code,
                                     struct tlmc_span span, const char *fmt, ...)
{
    struct tlmc_strbuf text = { 0 };
    struct tlmc_diag *d = NULL;
    va_list ap;

    if (p->skipping || p->stop)
        return NULL;
    va_start(ap, fmt);
    tlmc_strbuf_vprintf(&text, fmt, ap);
    va_end(ap);
    d = tlmc_report(p->diags, code, span, "%s", tlmc_strbuf_text(&text));
    tlmc_strbuf_free(&text);
    if (p->diags->errors >= TLMC_MAX_ERRORS)
        p->stop = true;
    return d;
}

void tlmc_parser_too_deep(struct tlmc_parser *p, struct tlmc_span span)
{
    tlmc_parser_report(p, TLMC_E_TOO_DEEP, span, "nested more than %d deep", TLMC_MAX_DEPTH);
    p->stop = true;
}

bool tlmc_parser_is_first_on_line(const struct tlmc_parser *p)
{
    const uint32_t from = p->before.span.end, to = p->last.span.begin;

    return from < to && memchr(p->source->text + from, '\n', to - from);
}

bool tlmc_parser_is_at_statement(const struct tlmc_parser *p)
{
    const int before = p->before.kind;

    return before == TOK_END || before == ';' || before == '{' || before == '}';
}

const struct tlmc_bracket *tlmc_parser_innermost(const struct tlmc_parser *p)
{
    return p->last.open ? &p->brackets[p->last.open - 1] : NULL;
}

/* ---- the token stream */

static void count_brackets(struct tlmc_parser *p, struct tlmc_token *token)
{
    token->open = p->open;
    if (token->kind == '(' || token->kind == '[' || token->kind == '{') {
        if (p->open == TLMC_MAX_DEPTH) {
            tlmc_parser_too_deep(p, token->span);
            token->kind = TOK_END;
            return;
        }
        p->brackets[p->open++] = (struct tlmc_bracket){ (char)token->kind, token->span };
    } else if (token->kind == ')' || token->kind == ']') {
        const char opener = token->kind == ')' ? '(' : '[';

        if (p->open && p->brackets[p->open - 1].byte == opener)
            p->open--;
    } else if (token->kind == '}') {
        uint32_t at = p->open;

        while (at > 0 && p->brackets[at - 1].byte != '{')
            at--;
        if (at > 0)
            p->open = at - 1;
    }
}

static struct tlmc_token scan(struct tlmc_parser *p)
{
    struct tlmc_token token = { 0 };
    union tlmc_yyvalue value = { 0 };

    token.kind = p->stop ? TOK_END : tlmc_scan(&value, &token.span, p->scanner);
    if (token.kind == TOK_END)
        token.span = (struct tlmc_span){ p->file, p->offset, p->offset };
    token.text = value.text;
    return token;
}

static struct tlmc_token semicolon_at(const struct tlmc_parser *p, uint32_t offset)
{
    return (struct tlmc_token){ .kind = ';', .span = { p->file, offset, offset } };
}

static bool starts_statement(int kind)
{
    return (kind >= TOK_MODEL && kind <= TOK_IF) || kind == TOK_FOR || kind == TOK_RETURN ||
           kind == TOK_ASSERT;
}

static bool newline_between(const struct tlmc_parser *p, uint32_t from, uint32_t to)
{
    return from < to && memchr(p->source->text + from, '\n', to - from);
}

/* Forgets the brackets of the broken expression: what stays open are bodies. */
static void close_expression(struct tlmc_parser *p)
{
    while (p->open > 0 && p->brackets[p->open - 1].byte != '{')
        p->open--;
}

/* Reads up to the end of the broken statement: its ';', the end of the body it stands in, the
   closing brace of its own body, or a line that begins with the word of a statement.  Hands out a
   ';' in each case. */
static struct tlmc_token skip_statement(struct tlmc_parser *p)
{
    uint32_t nested = p->last.kind == '{', from = p->last.span.end;
    bool after_body = false;

    for (;;) {
        const struct tlmc_token t = scan(p);
        const bool fresh = newline_between(p, from, t.span.begin);

        if (t.kind == TOK_END)
            return t;
        if (nested == 0 && t.kind == ';')
            return t;
        if (nested == 0 && t.kind == '}' && p->open == 0)
            return semicolon_at(p, t.span.begin);
        if (nested == 0 && (t.kind == '}' || (fresh && starts_statement(t.kind)) ||
                            (after_body && fresh && t.kind != TOK_ELSE))) {
            p->queue[p->queued++] = t;
            return semicolon_at(p, from);
        }
        after_body = t.kind == '}' && nested == 1;
        nested += t.kind == '{';
        nested -= t.kind == '}' && nested > 0;
        from = t.span.end;
    }
}

int tlmc_yylex(union tlmc_yyvalue *value, struct tlmc_span *where, struct tlmc_parser *p)
{
    struct tlmc_token token;

    if (p->queued) {
        token = p->queue[0];
        p->queue[0] = p->queue[--p->queued];
    } else if (p->skipping) {
        token = skip_statement(p);
        p->skipping = false;
    } else {
        token = scan(p);
    }
    count_brackets(p, &token);
    p->before = p->last;
    p->last = token;
    value->text = token.text;
    *where = token.span;
    return token.kind;
}

void tlmc_parser_recover(struct tlmc_parser *p, bool insert)
{
    const struct tlmc_token bad = p->last;
    /* The broken statement ended before the bad token, which begins the next one. */
    const bool ended = insert || bad.kind == '}' ||
                       (starts_statement(bad.kind) && !tlmc_parser_is_at_statement(p) &&
                        tlmc_parser_is_first_on_line(p));

    p->open = bad.open;
    close_expression(p);
    if (bad.kind == ';' || bad.kind == TOK_END)
        return;
    if (bad.kind == '}' && p->open == 0) {
        p->queue[p->queued++] = semicolon_at(p, bad.span.begin);
    } else if (ended && p->replayed != bad.span.begin + 1) {
        p->replayed = bad.span.begin + 1;
        p->queue[p->queued++] = semicolon_at(p, p->before.span.end);
        p->queue[p->queued++] = bad;
    } else if (p->line_ends_error) {
        p->queue[p->queued++] = semicolon_at(p, bad.span.end);
    } else {
        p->skipping = true;
    }
    p->line_ends_error = false;
}

/* ---- the bytes */

/* Bytes of the UTF-8 character at s, of which n are left; 0: it is none. */
static uint32_t utf8_length(const unsigned char *s, uint32_t n)
{
    const uint32_t length = s[0] < 0x80   ? 1
                            : s[0] < 0xc2 ? 0
                            : s[0] < 0xe0 ? 2
                            : s[0] < 0xf0 ? 3
                            : s[0] < 0xf5 ? 4
                                          : 0;

    if (length == 0 || length > n || s[0] == 0)
        return 0;
    for (uint32_t i = 1; i < length; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return length;
}

/* A source is UTF-8 without NUL.  Anything else is another kind of file: one message, and nothing
   of it is parsed. */
static bool is_text(struct tlmc_parser *p)
{
    const unsigned char *s = (const unsigned char *)p->source->text;

    for (uint32_t i = 0, n; i < p->source->length; i += n) {
        n = utf8_length(s + i, p->source->length - i);
        if (n == 0) {
            tlmc_parser_report(p, TLMC_E_BAD_BYTE, (struct tlmc_span){ p->file, i, i + 1 },
                               "byte 0x%02x: a model is UTF-8 text", s[i]);
            return false;
        }
    }
    return true;
}

struct tlmc_ast *tlmc_parse(struct tlmc_arena *arena, struct tlmc_symtab *symbols,
                            struct tlmc_sources *sources, uint32_t file, struct tlmc_diags *diags)
{
    const unsigned before = diags->errors;
    struct tlmc_parser *p = TLMC_NEW(arena, struct tlmc_parser);

    p->arena = arena;
    p->symbols = symbols;
    p->diags = diags;
    p->source = tlmc_sources_get(sources, file);
    p->file = file;
    if (p->source->length > TLMC_MAX_SOURCE) {
        tlmc_report(diags, TLMC_E_TOO_LARGE, (struct tlmc_span){ file, 0, 1 },
                    "source larger than 16 MiB");
        return NULL;
    }
    if (!is_text(p))
        return NULL;
    tlmc_scanner_open(p);
    tlmc_yyparse(p);
    tlmc_scanner_close(p);
    if (diags->errors != before)
        return NULL;
    p->root->begin = 0;
    p->root->end = p->source->length;
    tlmc_comments_attach(p);
    return p->root;
}
