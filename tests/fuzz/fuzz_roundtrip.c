/* Any bytes that parse: what fmt prints parses to an equal tree, prints to itself, and has as many
   comments. */
#include "ast.h"
#include "strbuf.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned count_comments(const struct tlmc_ast *node)
{
    unsigned count = 0;

    for (const struct tlmc_comment *c = node->comments; c; c = c->next)
        count += *c->text != '\0';
    for (uint32_t i = 0; i < node->count; i++)
        count += count_comments(node->kids[i]);
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tlmc_arena arena = { 0 };
    struct tlmc_symtab symbols;
    struct tlmc_sources sources;
    struct tlmc_diags diags;
    struct tlmc_strbuf first = { 0 }, second = { 0 };
    struct tlmc_ast *tree, *again;

    if (size > 1 << 20)
        return 0;
    tlmc_symtab_init(&symbols, &arena);
    tlmc_sources_init(&sources, &arena);
    tlmc_diags_init(&diags, &arena, &sources);
    tree = tlmc_parse(&arena, &symbols, &sources,
                      tlmc_sources_add(&sources, "f.tlm", size ? (const char *)data : "",
                                       (uint32_t)size, false),
                      &diags);
    if (tree) {
        tlmc_ast_print(tree, &first);
        again = tlmc_parse(&arena, &symbols, &sources,
                           tlmc_sources_add(&sources, "g.tlm", tlmc_strbuf_text(&first),
                                            (uint32_t)first.length, false),
                           &diags);
        TLMC_CHECK(again);
        TLMC_CHECK(tlmc_ast_equal(tree, again));
        TLMC_CHECK(count_comments(tree) == count_comments(again));
        tlmc_ast_print(again, &second);
        TLMC_CHECK(strcmp(tlmc_strbuf_text(&first), tlmc_strbuf_text(&second)) == 0);
    }
    tlmc_strbuf_free(&first);
    tlmc_strbuf_free(&second);
    tlmc_arena_free(&arena);
    return 0;
}
