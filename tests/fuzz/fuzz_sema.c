/* Any bytes as a model: the front end gives a module whose graphs hold every rule, and the passes
   run on it; or it reports and gives none.  Every message can be printed. */
#include "frontend.h"
#include "pass.h"
#include "strbuf.h"

#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_module(struct tlmc_module *m, struct tlmc_diags *diags)
{
    enum { MOST_NODES = 2000 }; /* passes over more only cost time */
    struct tlmc_pass_options options = { 0 };
    struct tlmc_strbuf keys = { 0 };
    uint32_t nodes = 0;

    for (unsigned i = 0; i < m->forms.count; i++) {
        TLMC_CHECK(!tlmc_graph_verify(m->forms.items[i].graph));
        nodes += m->forms.items[i].graph->node_count;
    }
    tlmc_module_keys(m, &keys);
    tlmc_strbuf_free(&keys);
    if (nodes < MOST_NODES)
        tlmc_run_passes(m, &options, diags);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tlmc_arena arena = { 0 };
    struct tlmc_symtab symbols;
    struct tlmc_sources sources;
    struct tlmc_diags diags;
    struct tlmc_module *module;
    FILE *sink;

    if (size > 1 << 16)
        return 0;
    tlmc_symtab_init(&symbols, &arena);
    tlmc_sources_init(&sources, &arena);
    tlmc_diags_init(&diags, &arena, &sources);
    module =
        tlmc_frontend_source(&arena, &symbols, &sources,
                             tlmc_sources_add(&sources, "f.tlm", size ? (const char *)data : "",
                                              (uint32_t)size, false),
                             NULL, &diags);
    TLMC_CHECK((module == NULL) == (diags.errors > 0));
    if (module)
        check_module(module, &diags);
    sink = fopen("/dev/null", "w");
    if (sink) {
        tlmc_diags_print(&diags, sink);
        fclose(sink);
    }
    tlmc_arena_free(&arena);
    return 0;
}
