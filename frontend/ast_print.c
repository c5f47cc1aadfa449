/* `tlmc fmt`: a tree as source text in house layout: two spaces a level, one blank around
   operators, lines of at most 100 columns where the tokens allow it.  In: a tree that the parser
   made.  Out: text that parses to an equal tree and prints to itself; comments and single empty
   lines between statements are kept.  A part is written flat when it fits and holds no comment,
   else its outermost list is broken, one element a line. */
#include "ast.h"
#include "strbuf.h"

#include <string.h>

enum { WIDTH = 100, STEP = 2, DEEPEST_INDENT = 60 };

/* ---- flat text, up to a limit */

struct flat {
    struct tlmc_strbuf *out;
    size_t limit; /* length of `out` after which there is no point in going on */
    bool over;    /* too long, or something that no single line can hold */
};

static void write_string(struct tlmc_strbuf *out, const char *text)
{
    tlmc_strbuf_char(out, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            tlmc_strbuf_char(out, '\\');
        if (*text == '\n')
            tlmc_strbuf_add(out, "\\n");
        else if (*text == '\t')
            tlmc_strbuf_add(out, "\\t");
        else
            tlmc_strbuf_char(out, *text);
    }
    tlmc_strbuf_char(out, '"');
}

static bool is_word(const char *text)
{
    static const char *const never[] = { "shared", "true", "false", "none" };

    if (!*text || (*text >= '0' && *text <= '9'))
        return false;
    for (const char *c = text; *c; c++)
        if (!((*c >= 'A' && *c <= 'Z') || (*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') ||
              *c == '_'))
            return false;
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        if (strcmp(text, never[i]) == 0)
            return false;
    return true;
}

static void write_part(struct tlmc_strbuf *out, const char *text)
{
    if (is_word(text))
        tlmc_strbuf_add(out, text);
    else
        write_string(out, text);
}

static bool is_absent(const struct tlmc_ast *node)
{
    return node->kind == TLMC_AST_ABSENT;
}

static void flat_node(struct flat *f, const struct tlmc_ast *node);

static void flat_kid(struct flat *f, const struct tlmc_ast *node)
{
    if (node->comments)
        f->over = true;
    if (f->out->length > f->limit)
        f->over = true;
    if (!f->over)
        flat_node(f, node);
}

static void flat_list(struct flat *f, const struct tlmc_ast *list, const char *open,
                      const char *close)
{
    tlmc_strbuf_add(f->out, open);
    for (uint32_t i = 0; i < list->count && !f->over; i++) {
        if (i > 0)
            tlmc_strbuf_add(f->out, ", ");
        flat_kid(f, list->kids[i]);
    }
    tlmc_strbuf_add(f->out, close);
}

static void flat_settings(struct flat *f, const struct tlmc_ast *settings)
{
    tlmc_strbuf_add(f->out, "{ ");
    for (uint32_t i = 0; i < settings->count && !f->over; i++) {
        flat_kid(f, settings->kids[i]);
        tlmc_strbuf_add(f->out, "; ");
    }
    tlmc_strbuf_char(f->out, '}');
}

static void flat_path(struct flat *f, const struct tlmc_ast *path)
{
    for (uint32_t i = 0; i < path->count && !f->over; i++) {
        const struct tlmc_ast *kid = path->kids[i];

        if (kid->kind == TLMC_AST_PART) {
            tlmc_strbuf_add(f->out, i > 0 ? "." : "");
            write_part(f->out, kid->text);
        } else {
            tlmc_strbuf_char(f->out, '[');
            flat_kid(f, kid);
            tlmc_strbuf_char(f->out, ']');
        }
    }
}

static void flat_slice(struct flat *f, const struct tlmc_ast *slice)
{
    for (uint32_t i = 0; i < 3; i++) {
        if (i == 1 || (i == 2 && !is_absent(slice->kids[2])))
            tlmc_strbuf_char(f->out, ':');
        if (!is_absent(slice->kids[i]))
            flat_kid(f, slice->kids[i]);
    }
}

static void flat_named(struct flat *f, const struct tlmc_ast *node)
{
    if (node->text)
        tlmc_strbuf_printf(f->out, "%s = ", node->text);
    flat_kid(f, node->kids[0]);
}

static void flat_arg(struct flat *f, const struct tlmc_ast *arg)
{
    tlmc_strbuf_printf(f->out, "%s: ", arg->text);
    flat_kid(f, arg->kids[0]);
    if (is_absent(arg->kids[1]))
        return;
    tlmc_strbuf_add(f->out, " = ");
    flat_kid(f, arg->kids[1]);
}

static void flat_results(struct flat *f, const struct tlmc_ast *results)
{
    if (results->count == 1 && !results->kids[0]->text)
        flat_kid(f, results->kids[0]);
    else
        flat_list(f, results, "(", ")");
}

static void flat_set(struct flat *f, const struct tlmc_ast *set)
{
    tlmc_strbuf_add(f->out, set->text);
    if (!is_absent(set->kids[0])) {
        tlmc_strbuf_char(f->out, ' ');
        flat_kid(f, set->kids[0]);
    }
    if (!is_absent(set->kids[1]))
        f->over = true;
}

static void flat_pair(struct flat *f, const struct tlmc_ast *node, const char *between)
{
    flat_kid(f, node->kids[0]);
    tlmc_strbuf_add(f->out, between);
    flat_kid(f, node->kids[1]);
}

static void flat_binary(struct flat *f, const struct tlmc_ast *node)
{
    flat_kid(f, node->kids[0]);
    tlmc_strbuf_printf(f->out, " %s ", node->text);
    flat_kid(f, node->kids[1]);
}

/* What stands between an instance and its member: "1.x" would read as half a number. */
static const char *dot_after(const struct tlmc_ast *base)
{
    return base->kind == TLMC_AST_INT ? " ." : ".";
}

/* What a sign is written as: "--" is no token of the language. */
static const char *sign_of(const struct tlmc_ast *node)
{
    return node->kind == TLMC_AST_NOT ? "!" : node->kids[0]->kind == TLMC_AST_NEG ? "- " : "-";
}

static void flat_before(struct flat *f, const char *text, const struct tlmc_ast *kid)
{
    tlmc_strbuf_add(f->out, text);
    flat_kid(f, kid);
}

static void flat_dot(struct flat *f, const struct tlmc_ast *node)
{
    flat_kid(f, node->kids[0]);
    tlmc_strbuf_add(f->out, dot_after(node->kids[0]));
    tlmc_strbuf_add(f->out, node->text);
}

static void flat_node(struct flat *f, const struct tlmc_ast *node)
{
    switch (node->kind) {
    case TLMC_AST_ABSENT: break;
    case TLMC_AST_SETTINGS: flat_settings(f, node); break;
    case TLMC_AST_SET: flat_set(f, node); break;
    case TLMC_AST_MAPS: flat_pair(f, node, " -> "); break;
    case TLMC_AST_RANGE: flat_pair(f, node, ".."); break;
    case TLMC_AST_BIND:
    case TLMC_AST_KEYWORD: flat_named(f, node); break;
    case TLMC_AST_DIM:
        tlmc_strbuf_add(f->out, "dim ");
        flat_named(f, node);
        break;
    case TLMC_AST_VALUES:
    case TLMC_AST_BINDINGS:
    case TLMC_AST_NAMES:
    case TLMC_AST_EXPRS: flat_list(f, node, "", ""); break;
    case TLMC_AST_ARGS:
    case TLMC_AST_PARAMS: flat_list(f, node, "(", ")"); break;
    case TLMC_AST_LIST:
    case TLMC_AST_SUBS: flat_list(f, node, "[", "]"); break;
    case TLMC_AST_ARG: flat_arg(f, node); break;
    case TLMC_AST_RESULTS: flat_results(f, node); break;
    case TLMC_AST_RESULT:
        if (node->text)
            tlmc_strbuf_printf(f->out, "%s: ", node->text);
        flat_kid(f, node->kids[0]);
        break;
    case TLMC_AST_TYPE: flat_before(f, node->text, node->kids[0]); break;
    case TLMC_AST_PACK: tlmc_strbuf_printf(f->out, "...%s", node->text); break;
    case TLMC_AST_BINARY: flat_binary(f, node); break;
    case TLMC_AST_NEG:
    case TLMC_AST_NOT: flat_before(f, sign_of(node), node->kids[0]); break;
    case TLMC_AST_PAREN:
        flat_before(f, "(", node->kids[0]);
        tlmc_strbuf_char(f->out, ')');
        break;
    case TLMC_AST_AS: flat_pair(f, node, node->text ? " as shared " : " as "); break;
    case TLMC_AST_PATH: flat_path(f, node); break;
    case TLMC_AST_CALL:
    case TLMC_AST_INDEX: flat_pair(f, node, ""); break;
    case TLMC_AST_SLICE: flat_slice(f, node); break;
    case TLMC_AST_DOT: flat_dot(f, node); break;
    case TLMC_AST_NAME:
    case TLMC_AST_INT:
    case TLMC_AST_FLOAT:
    case TLMC_AST_BOOL: tlmc_strbuf_add(f->out, node->text); break;
    case TLMC_AST_STR: write_string(f->out, node->text); break;
    case TLMC_AST_PART: write_part(f->out, node->text); break;
    case TLMC_AST_NONE: tlmc_strbuf_add(f->out, "none"); break;
    case TLMC_AST_FILE:
    case TLMC_AST_MODEL:
    case TLMC_AST_IMPORT:
    case TLMC_AST_BLOCK:
    case TLMC_AST_ENTRY:
    case TLMC_AST_CLAUSE:
    case TLMC_AST_BODY:
    case TLMC_AST_CONST:
    case TLMC_AST_INPUT:
    case TLMC_AST_TARGET:
    case TLMC_AST_PARAM:
    case TLMC_AST_STATE:
    case TLMC_AST_TRANSIENT:
    case TLMC_AST_UPDATE:
    case TLMC_AST_OUTPUT:
    case TLMC_AST_LOSS:
    case TLMC_AST_METRIC:
    case TLMC_AST_ASSIGN:
    case TLMC_AST_IF:
    case TLMC_AST_FOR:
    case TLMC_AST_RETURN:
    case TLMC_AST_ASSERT: f->over = true; break; /* statements */
    }
}

/* ---- lines */

struct printer {
    struct tlmc_strbuf *out;
    struct tlmc_strbuf scratch;
    size_t line;     /* where the current line begins in out */
    unsigned indent; /* columns */
};

static size_t column(const struct printer *p)
{
    return p->out->length - p->line;
}

static void put(struct printer *p, const char *text)
{
    tlmc_strbuf_add(p->out, text);
}

static void end_line(struct printer *p)
{
    tlmc_strbuf_char(p->out, '\n');
    p->line = p->out->length;
}

static void start_line(struct printer *p)
{
    for (unsigned i = 0; i < p->indent && i < DEEPEST_INDENT; i++)
        tlmc_strbuf_char(p->out, ' ');
}

/* The node in one line from here, with `tail` more columns behind it; its text is then in
   p->scratch. */
static bool fits(struct printer *p, const struct tlmc_ast *node, size_t tail)
{
    struct flat f = { .out = &p->scratch };

    if (column(p) + tail > WIDTH)
        return false;
    f.limit = WIDTH - column(p) - tail;
    tlmc_strbuf_clear(&p->scratch);
    flat_node(&f, node);
    return !f.over && p->scratch.length <= f.limit;
}

/* In one line whatever its length; for parts that hold no comments. */
static void put_flat(struct printer *p, const struct tlmc_ast *node)
{
    struct flat f = { .out = p->out, .limit = SIZE_MAX };

    flat_node(&f, node);
}

/* Comments above a node, or above the end of a list; `first`: an empty line would follow an opening
   bracket. */
static void leading(struct printer *p, const struct tlmc_ast *node, bool first)
{
    for (const struct tlmc_comment *c = node->comments; c; c = c->next) {
        if (c->trailing)
            continue;
        if (c->blank_before && !first)
            end_line(p);
        if (*c->text) {
            start_line(p);
            put(p, c->text);
            end_line(p);
            first = false;
        }
    }
}

static void trailing(struct printer *p, const struct tlmc_ast *node)
{
    for (const struct tlmc_comment *c = node->comments; c; c = c->next)
        if (c->trailing) {
            put(p, "  ");
            put(p, c->text);
        }
    end_line(p);
}

static bool has_leading(const struct tlmc_ast *node)
{
    for (const struct tlmc_comment *c = node->comments; c; c = c->next)
        if (!c->trailing)
            return true;
    return false;
}

static bool has_comments(const struct tlmc_ast *list)
{
    if (list->comments)
        return true;
    for (uint32_t i = 0; i < list->count; i++)
        if (list->kids[i]->comments)
            return true;
    return false;
}

/* ---- expressions that may be broken */

static void expression(struct printer *p, const struct tlmc_ast *node, size_t tail);

/* Lists of numbers and names fill their lines, everything else has a line for each element. */
static bool is_filling(const struct tlmc_ast *list)
{
    if (list->kind != TLMC_AST_LIST || has_comments(list))
        return false;
    for (uint32_t i = 0; i < list->count; i++)
        if (list->kids[i]->count && list->kids[i]->kind != TLMC_AST_NEG)
            return false;
    return true;
}

static void bracketed(struct printer *p, const struct tlmc_ast *list, const char *open,
                      const char *close)
{
    const bool filling = is_filling(list);

    put(p, open);
    if (list->count || list->comments) {
        end_line(p);
        p->indent += STEP;
        for (uint32_t i = 0; i < list->count; i++) {
            const struct tlmc_ast *kid = list->kids[i];

            leading(p, kid, i == 0);
            if (filling && column(p) > 0 && fits(p, kid, 2)) {
                put(p, " ");
            } else {
                if (column(p) > 0)
                    end_line(p);
                start_line(p);
            }
            expression(p, kid, 1);
            put(p, i + 1 < list->count ? "," : "");
            if (!filling || i + 1 == list->count)
                trailing(p, kid);
        }
        leading(p, list, list->count == 0);
        p->indent -= STEP;
        start_line(p);
    }
    put(p, close);
}

/* Elements of `output a, b;` and of a setting: from the current column, one a line when they do not
   fit. */
static void aligned(struct printer *p, const struct tlmc_ast *list, size_t tail)
{
    const unsigned outer = p->indent;

    if (has_leading(list->kids[0])) {
        end_line(p);
        p->indent += STEP;
    } else {
        put(p, " ");
        if (fits(p, list, tail)) {
            put(p, p->scratch.text);
            return;
        }
        p->indent = (unsigned)column(p);
    }
    for (uint32_t i = 0; i < list->count; i++) {
        const bool last = i + 1 == list->count;

        leading(p, list->kids[i], true);
        if (column(p) == 0)
            start_line(p);
        expression(p, list->kids[i], last ? tail : 1);
        if (last)
            break;
        put(p, ",");
        trailing(p, list->kids[i]);
    }
    p->indent = outer;
}

static void binary(struct printer *p, const struct tlmc_ast *node, size_t tail)
{
    expression(p, node->kids[0], 1 + strlen(node->text));
    put(p, " ");
    put(p, node->text);
    if (fits(p, node->kids[1], tail + 1)) {
        put(p, " ");
        put(p, p->scratch.text);
        return;
    }
    end_line(p);
    p->indent += 2 * STEP;
    start_line(p);
    expression(p, node->kids[1], tail);
    p->indent -= 2 * STEP;
}

static void subscripts(struct printer *p, const struct tlmc_ast *subs)
{
    put(p, "[");
    for (uint32_t i = 0; i < subs->count; i++) {
        put(p, i > 0 ? ", " : "");
        expression(p, subs->kids[i], 1);
    }
    put(p, "]");
}

static void path(struct printer *p, const struct tlmc_ast *node)
{
    for (uint32_t i = 0; i < node->count; i++) {
        const struct tlmc_ast *kid = node->kids[i];

        put(p, kid->kind != TLMC_AST_PART ? "[" : i > 0 ? "." : "");
        expression(p, kid, 1);
        put(p, kid->kind != TLMC_AST_PART ? "]" : "");
    }
}

static void slice(struct printer *p, const struct tlmc_ast *node)
{
    for (uint32_t i = 0; i < 3; i++) {
        if (i == 1 || (i == 2 && !is_absent(node->kids[2])))
            put(p, ":");
        if (!is_absent(node->kids[i]))
            expression(p, node->kids[i], 1);
    }
}

static void pair(struct printer *p, const struct tlmc_ast *node, const char *between, size_t tail)
{
    expression(p, node->kids[0], strlen(between));
    put(p, between);
    expression(p, node->kids[1], tail);
}

static void argument(struct printer *p, const struct tlmc_ast *node)
{
    put(p, node->text);
    put(p, ": ");
    put_flat(p, node->kids[0]);
    if (is_absent(node->kids[1]))
        return;
    put(p, " = ");
    expression(p, node->kids[1], 1);
}

/* A part that does not fit into its line: broken at its outermost bracket or operator. */
static void broken(struct printer *p, const struct tlmc_ast *node, size_t tail)
{
    switch ((int)node->kind) {
    case TLMC_AST_BINARY: binary(p, node, tail); break;
    case TLMC_AST_CALL:
        expression(p, node->kids[0], 1);
        bracketed(p, node->kids[1], "(", ")");
        break;
    case TLMC_AST_LIST: bracketed(p, node, "[", "]"); break;
    case TLMC_AST_INDEX:
        expression(p, node->kids[0], 1);
        subscripts(p, node->kids[1]);
        break;
    case TLMC_AST_DOT:
        expression(p, node->kids[0], 1);
        put(p, dot_after(node->kids[0]));
        put(p, node->text);
        break;
    case TLMC_AST_NEG:
    case TLMC_AST_NOT:
        put(p, sign_of(node));
        expression(p, node->kids[0], tail);
        break;
    case TLMC_AST_PAREN:
        put(p, "(");
        expression(p, node->kids[0], tail + 1);
        put(p, ")");
        break;
    case TLMC_AST_AS:
        expression(p, node->kids[0], tail);
        put(p, node->text ? " as shared " : " as ");
        path(p, node->kids[1]);
        break;
    case TLMC_AST_BIND:
    case TLMC_AST_KEYWORD:
        if (node->text) {
            put(p, node->text);
            put(p, " = ");
        }
        expression(p, node->kids[0], tail);
        break;
    case TLMC_AST_RANGE: pair(p, node, "..", tail); break;
    case TLMC_AST_MAPS: pair(p, node, " -> ", tail); break;
    case TLMC_AST_SLICE: slice(p, node); break;
    case TLMC_AST_ARG: argument(p, node); break;
    default: put_flat(p, node); break; /* one token */
    }
}

static void expression(struct printer *p, const struct tlmc_ast *node, size_t tail)
{
    if (fits(p, node, tail))
        put(p, p->scratch.text);
    else
        broken(p, node, tail);
}

/* ---- statements */

static void statement(struct printer *p, const struct tlmc_ast *node);

static void block_of(struct printer *p, const struct tlmc_ast *list)
{
    put(p, "{");
    if (list->count == 0 && !list->comments) {
        put(p, " }");
        return;
    }
    end_line(p);
    p->indent += STEP;
    for (uint32_t i = 0; i < list->count; i++) {
        leading(p, list->kids[i], i == 0);
        statement(p, list->kids[i]);
    }
    leading(p, list, list->count == 0);
    p->indent -= STEP;
    start_line(p);
    put(p, "}");
}

/* Settings in braces: up to `most` of them in one line when they fit. */
static void settings(struct printer *p, const struct tlmc_ast *list, uint32_t most)
{
    if (list->count > 0 && list->count <= most && !list->comments && fits(p, list, 0))
        put(p, p->scratch.text);
    else
        block_of(p, list);
}

static void set(struct printer *p, const struct tlmc_ast *node)
{
    enum { ON_ONE_LINE = 3 };
    const bool has_settings = !is_absent(node->kids[1]);

    put(p, node->text);
    if (!is_absent(node->kids[0]))
        aligned(p, node->kids[0], has_settings ? 2 : 1);
    if (has_settings) {
        put(p, " ");
        settings(p, node->kids[1], ON_ONE_LINE);
    } else {
        put(p, ";");
    }
}

static void clause(struct printer *p, const struct tlmc_ast *node)
{
    put(p, node->text);
    put(p, " ");
    if (!is_absent(node->kids[0])) {
        put_flat(p, node->kids[0]);
        put(p, " ");
    }
    settings(p, node->kids[1], 1);
}

static void block(struct printer *p, const struct tlmc_ast *node)
{
    size_t tail = strlen(" {");

    put(p, "block ");
    put(p, node->text);
    if (!is_absent(node->kids[1])) {
        tlmc_strbuf_clear(&p->scratch);
        flat_node(&(struct flat){ .out = &p->scratch, .limit = WIDTH }, node->kids[1]);
        tail += strlen(" -> ") + p->scratch.length;
    }
    if (!node->kids[0]->comments && fits(p, node->kids[0], tail))
        put(p, p->scratch.text);
    else
        bracketed(p, node->kids[0], "(", ")");
    if (!is_absent(node->kids[1])) {
        put(p, " -> ");
        put_flat(p, node->kids[1]);
    }
    put(p, " ");
    block_of(p, node->kids[2]);
}

static void if_chain(struct printer *p, const struct tlmc_ast *node)
{
    for (;;) {
        const struct tlmc_ast *other = node->kids[2];

        put(p, "if ");
        expression(p, node->kids[0], 2);
        put(p, " ");
        block_of(p, node->kids[1]);
        if (is_absent(other))
            return;
        put(p, " else ");
        if (other->count != 1 || other->comments || other->kids[0]->kind != TLMC_AST_IF ||
            other->kids[0]->comments) {
            block_of(p, other);
            return;
        }
        node = other->kids[0];
    }
}

/* "word NAME: type" of a declaration. */
static void declared(struct printer *p, const char *word, const struct tlmc_ast *node,
                     const struct tlmc_ast *type)
{
    put(p, word);
    put(p, " ");
    put(p, node->text);
    if (is_absent(type))
        return;
    put(p, ": ");
    put_flat(p, type);
}

static void assigned(struct printer *p, const struct tlmc_ast *value)
{
    put(p, " = ");
    expression(p, value, 1);
    put(p, ";");
}

static void param(struct printer *p, const char *word, const struct tlmc_ast *node)
{
    declared(p, word, node, node->kids[0]);
    if (!is_absent(node->kids[1])) {
        put(p, " = ");
        expression(p, node->kids[1], 1);
    }
    if (node->kids[2]->kind == TLMC_AST_TRANSIENT) {
        put(p, " transient");
    } else if (!is_absent(node->kids[2])) {
        put(p, " named ");
        put_flat(p, node->kids[2]);
    }
    put(p, ";");
}

static void bound(struct printer *p, const char *word, const struct tlmc_ast *node)
{
    put(p, word);
    aligned(p, node->kids[0], 1);
    put(p, ";");
}

static void import(struct printer *p, const struct tlmc_ast *node)
{
    put(p, "import ");
    write_string(p->out, node->text);
    if (!is_absent(node->kids[0])) {
        put(p, " as ");
        put(p, node->kids[0]->text);
    }
    put(p, ";");
}

static void returned(struct printer *p, const struct tlmc_ast *exprs)
{
    put(p, "return ");
    for (uint32_t i = 0; i < exprs->count; i++) {
        put(p, i > 0 ? ", " : "");
        expression(p, exprs->kids[i], 1);
    }
    put(p, ";");
}

/* "word name = expression;", "name = expression;" without a word. */
static void defined(struct printer *p, const char *word, const struct tlmc_ast *node)
{
    put(p, word);
    put(p, node->text);
    assigned(p, node->kids[0]);
}

static void loop(struct printer *p, const struct tlmc_ast *node)
{
    put(p, "for ");
    put(p, node->text);
    put(p, " in ");
    expression(p, node->kids[0], 2);
    put(p, " ");
    block_of(p, node->kids[1]);
}

static void assertion(struct printer *p, const struct tlmc_ast *node)
{
    put(p, "assert ");
    expression(p, node->kids[0], strlen(node->text) + 5);
    put(p, ", ");
    write_string(p->out, node->text);
    put(p, ";");
}

static void statement(struct printer *p, const struct tlmc_ast *node)
{
    start_line(p);
    switch ((int)node->kind) {
    case TLMC_AST_MODEL:
        put(p, "model ");
        put(p, node->text);
        put(p, ";");
        break;
    case TLMC_AST_IMPORT: import(p, node); break;
    case TLMC_AST_BLOCK: block(p, node); break;
    case TLMC_AST_ENTRY:
        put(p, "entry ");
        put(p, node->text);
        put(p, " ");
        block_of(p, node->kids[0]);
        break;
    case TLMC_AST_CLAUSE: clause(p, node); break;
    case TLMC_AST_SET: set(p, node); break;
    case TLMC_AST_BIND: defined(p, "", node); break;
    case TLMC_AST_DIM: defined(p, "dim ", node); break;
    case TLMC_AST_UPDATE: defined(p, "update ", node); break;
    case TLMC_AST_CONST:
        declared(p, "const", node, node->kids[0]);
        assigned(p, node->kids[1]);
        break;
    case TLMC_AST_INPUT:
    case TLMC_AST_TARGET:
        declared(p, node->kind == TLMC_AST_INPUT ? "input" : "target", node, node->kids[0]);
        put(p, ";");
        break;
    case TLMC_AST_PARAM: param(p, "param", node); break;
    case TLMC_AST_STATE: param(p, "state", node); break;
    case TLMC_AST_OUTPUT: bound(p, "output", node); break;
    case TLMC_AST_LOSS: bound(p, "loss", node); break;
    case TLMC_AST_METRIC: bound(p, "metric", node); break;
    case TLMC_AST_ASSIGN:
        put_flat(p, node->kids[0]);
        assigned(p, node->kids[1]);
        break;
    case TLMC_AST_IF: if_chain(p, node); break;
    case TLMC_AST_FOR: loop(p, node); break;
    case TLMC_AST_RETURN: returned(p, node->kids[0]); break;
    case TLMC_AST_ASSERT: assertion(p, node); break;
    default: TLMC_BUG("%s is no statement", tlmc_ast_kind_name(node->kind));
    }
    trailing(p, node);
}

void tlmc_ast_print(const struct tlmc_ast *file, struct tlmc_strbuf *out)
{
    struct printer p = { .out = out, .line = out->length };

    TLMC_CHECK(file->kind == TLMC_AST_FILE);
    for (uint32_t i = 0; i < file->count; i++) {
        leading(&p, file->kids[i], i == 0);
        statement(&p, file->kids[i]);
    }
    leading(&p, file, file->count == 0);
    tlmc_strbuf_free(&p.scratch);
}
