/* Comments of a file, hung on its tree for fmt.  In: the tree with extents and the comments in
   order of place. Out: each comment on the statement or list element it stands before or behind, or
   on the list whose end it stands at; empty lines between statements likewise.  A comment at a
   place where fmt writes none (inside a type, between an operator and its operand) moves to the
   element that holds it.  Lists are built from the back, so that each addition is a prepend. */
#include "parse.h"

/* Kids of these are statements: empty lines between them are kept. */
static bool is_statements(const struct tlmc_ast *node)
{
    return node->kind == TLMC_AST_FILE || node->kind == TLMC_AST_BODY ||
           node->kind == TLMC_AST_SETTINGS;
}

/* Kids of these may carry comments.  The body of an `else if` is not written and so is none. */
static bool is_carrying(const struct tlmc_ast *node)
{
    if (node->kind == TLMC_AST_BODY && node->count == 1 && node->kids[0]->begin == node->begin)
        return false;
    return is_statements(node) || node->kind == TLMC_AST_ARGS || node->kind == TLMC_AST_LIST ||
           node->kind == TLMC_AST_PARAMS || node->kind == TLMC_AST_BINDINGS ||
           node->kind == TLMC_AST_VALUES;
}

/* Lists without a bracket before them: what would stand before their first element stands before
   the statement when the text is read again, and so is put there at once. */
static bool is_open(const struct tlmc_ast *node)
{
    return node->kind == TLMC_AST_BINDINGS || node->kind == TLMC_AST_VALUES;
}

static bool may_hold_statements(const struct tlmc_ast *node)
{
    return is_statements(node) || node->kind == TLMC_AST_BLOCK || node->kind == TLMC_AST_ENTRY ||
           node->kind == TLMC_AST_CLAUSE || node->kind == TLMC_AST_SET ||
           node->kind == TLMC_AST_IF || node->kind == TLMC_AST_FOR;
}

static bool is_blank_above(const struct tlmc_parser *p, uint32_t offset)
{
    unsigned newlines = 0;

    while (offset > 0 && newlines < 2) {
        const char c = p->source->text[--offset];

        if (c == '\n')
            newlines++;
        else if (c != ' ' && c != '\t' && c != '\r')
            return false;
    }
    return newlines == 2;
}

static bool is_on_line_of(const struct tlmc_parser *p, const struct tlmc_ast *kid, uint32_t offset)
{
    return !memchr(p->source->text + kid->end, '\n', offset - kid->end);
}

static void hang(struct tlmc_parser *p, struct tlmc_ast *node, const struct tlmc_found_comment *c,
                 bool trailing)
{
    struct tlmc_comment *comment = TLMC_NEW(p->arena, struct tlmc_comment);
    const char *text = p->source->text;
    uint32_t end = c->end;

    while (end > c->begin &&
           (text[end - 1] == ' ' || text[end - 1] == '\t' || text[end - 1] == '\r'))
        end--;
    comment->text = tlmc_arena_strndup(p->arena, text + c->begin, end - c->begin);
    comment->trailing = trailing;
    comment->blank_before = !trailing && is_blank_above(p, c->begin);
    comment->next = node->comments;
    node->comments = comment;
}

static void hang_blank(struct tlmc_parser *p, struct tlmc_ast *node)
{
    struct tlmc_comment *comment = TLMC_NEW(p->arena, struct tlmc_comment);

    comment->text = "";
    comment->blank_before = true;
    comment->next = node->comments;
    node->comments = comment;
}

/* Comments low..high lie inside `node`; those that no element in it can carry go to `carrier`. */
static void place(struct tlmc_parser *p, struct tlmc_ast *node, struct tlmc_ast *carrier,
                  uint32_t low, uint32_t high)
{
    const struct tlmc_found_comment *const found = p->comments.items;
    const bool carries = is_carrying(node);

    if (low == high && !may_hold_statements(node))
        return;
    for (uint32_t k = node->kind == TLMC_AST_TYPE ? 0 : node->count; k-- > 0;) {
        struct tlmc_ast *kid = node->kids[k];
        struct tlmc_ast *after = k + 1 < node->count ? node->kids[k + 1] : node;
        uint32_t inside;

        if (kid->kind == TLMC_AST_ABSENT)
            continue;
        for (; high > low && found[high - 1].begin >= kid->end; high--) {
            const uint32_t at = found[high - 1].begin;

            if (!carries)
                hang(p, carrier, &found[high - 1], false);
            else if (is_on_line_of(p, kid, at))
                hang(p, kid, &found[high - 1], true);
            else
                hang(p, after, &found[high - 1], false);
        }
        inside = high;
        while (inside > low && found[inside - 1].begin >= kid->begin)
            inside--;
        place(p, kid, carries && !(k == 0 && is_open(node)) ? kid : carrier, inside, high);
        high = inside;
        if (is_statements(node) && carries && is_blank_above(p, kid->begin))
            hang_blank(p, kid);
    }
    for (; high > low; high--)
        hang(p, !carries ? carrier : node->count ? node->kids[0] : node, &found[high - 1], false);
}

void tlmc_comments_attach(struct tlmc_parser *p)
{
    place(p, p->root, p->root, 0, p->comments.count);
}
