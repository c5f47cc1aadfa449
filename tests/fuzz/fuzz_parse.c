/* Any bytes as a model file: the parser returns a tree and reports nothing, or reports and returns
   none; every place it names lies in the file, and every message can be printed. */
#include "ast.h"
#include "strbuf.h"

#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_tree(const struct tlmc_ast *node, uint32_t length)
{
    TLMC_CHECK(node->span.file == 1 && node->span.begin <= node->span.end &&
               node->span.end <= length);
    TLMC_CHECK(node->begin <= node->end && node->end <= length);
    TLMC_CHECK(node->depth <= TLMC_MAX_DEPTH);
    for (uint32_t i = 0; i < node->count; i++) {
        TLMC_CHECK(node->kids[i]->depth < node->depth);
        check_tree(node->kids[i], length);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tlmc_arena arena = { 0 };
    struct tlmc_symtab symbols;
    struct tlmc_sources sources;
    struct tlmc_diags diags;
    struct tlmc_ast *tree;
    FILE *sink;

    if (size > 1 << 20)
        return 0;
    tlmc_symtab_init(&symbols, &arena);
    tlmc_sources_init(&sources, &arena);
    tlmc_diags_init(&diags, &arena, &sources);
    tree = tlmc_parse(&arena, &symbols, &sources,
                      tlmc_sources_add(&sources, "f.tlm", size ? (const char *)data : "",
                                       (uint32_t)size, false),
                      &diags);
    TLMC_CHECK((tree != NULL) == (diags.errors == 0));
    TLMC_CHECK(diags.errors <= TLMC_MAX_ERRORS);
    if (tree)
        check_tree(tree, (uint32_t)size);
    for (const struct tlmc_diag *d = diags.first; d; d = d->next)
        TLMC_CHECK(d->span.file == 1 && d->span.begin <= size && d->span.begin <= d->span.end);
    sink = fopen("/dev/null", "w");
    TLMC_CHECK(sink);
    tlmc_diags_print(&diags, sink);
    fclose(sink);
    tlmc_arena_free(&arena);
    return 0;
}
