/* The tree's builders, its names and its equality.  In: pieces from the grammar's actions.  Out:
   nodes in the compilation's arena.  Refuses a node deeper than TLMC_MAX_DEPTH, so that no walk
   over a tree can overflow. */
#include "ast.h"

#include "parse.h"

const char *tlmc_ast_kind_name(enum tlmc_ast_kind kind)
{
    static const char *const names[] = {
#define TLMC_AST_NAME(kind, name) name,
        TLMC_AST_KINDS(TLMC_AST_NAME)
#undef TLMC_AST_NAME
    };

    TLMC_CHECK((unsigned)kind < sizeof names / sizeof *names);
    return names[kind];
}

static void note_depth(struct tlmc_parser *p, struct tlmc_ast *node, const struct tlmc_ast *kid)
{
    if (kid->depth < node->depth)
        return;
    node->depth = kid->depth + 1;
    if (node->depth > TLMC_MAX_DEPTH)
        tlmc_parser_too_deep(p, kid->span);
}

struct tlmc_ast *tlmc_ast_make(struct tlmc_parser *p, enum tlmc_ast_kind kind,
                               struct tlmc_span extent, struct tlmc_span place, tlmc_sym text,
                               struct tlmc_ast *const *kids, uint32_t count)
{
    struct tlmc_ast *node = TLMC_NEW(p->arena, struct tlmc_ast);

    node->kind = kind;
    node->text = text;
    node->span = place;
    node->begin = extent.begin;
    node->end = extent.end;
    node->depth = 1;
    if (count == 0)
        return node;
    node->kids = TLMC_NEW_ARRAY(p->arena, struct tlmc_ast *, count);
    node->count = node->capacity = count;
    for (uint32_t i = 0; i < count; i++) {
        node->kids[i] =
            kids[i] ? kids[i] : tlmc_ast_make(p, TLMC_AST_ABSENT, place, place, NULL, NULL, 0);
        note_depth(p, node, node->kids[i]);
    }
    return node;
}

struct tlmc_ast *tlmc_ast_add(struct tlmc_parser *p, struct tlmc_ast *list, struct tlmc_ast *kid)
{
    if (!list || !kid)
        return list;
    if (list->count == list->capacity) {
        const uint32_t capacity = list->capacity ? 2 * list->capacity : 4;
        struct tlmc_ast **kids = TLMC_NEW_ARRAY(p->arena, struct tlmc_ast *, capacity);

        if (list->count)
            memcpy(kids, list->kids, list->count * sizeof *kids);
        list->kids = kids;
        list->capacity = capacity;
    }
    list->kids[list->count++] = kid;
    if (kid->end > list->end)
        list->span.end = list->end = kid->end;
    note_depth(p, list, kid);
    return list;
}

struct tlmc_ast *tlmc_ast_enclose(struct tlmc_ast *list, struct tlmc_span open,
                                  struct tlmc_span close)
{
    list->begin = list->span.begin = open.begin;
    list->end = list->span.end = close.end;
    return list;
}

bool tlmc_ast_equal(const struct tlmc_ast *a, const struct tlmc_ast *b)
{
    if (a->kind != b->kind || a->count != b->count || !a->text != !b->text)
        return false;
    if (a->text && a->text != b->text && strcmp(a->text, b->text) != 0)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (!tlmc_ast_equal(a->kids[i], b->kids[i]))
            return false;
    return true;
}
