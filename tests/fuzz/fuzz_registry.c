/* Any bytes as a registry file: entries are read and nothing is reported, or something is reported;
   every place lies in the file, every message can be printed, and what was read can be asked
   about. */
#include "plan_internal.h"
#include "registry.h"

#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_entries(const struct tlmc_registry *found)
{
    unsigned i;
    int slot;

    for (i = 0; i < found->capsules.count; i++) {
        const struct tlmc_capsule *k = &found->capsules.items[i];
        char text[160];

        TLMC_CHECK(k->op < TLMC_OP_COUNT && k->device < TLMC_DEVICE_COUNT && k->dtypes);
        TLMC_CHECK(k->abi == TLMC_ABI_NONE || k->symbol);
        for (slot = 0; slot < TLMC_SLOT_COUNT; slot++)
            TLMC_CHECK(k->contracts[slot].claim && k->contracts[slot].name);
        tlmc_misaligned_slot(k);
        tlmc_numeric_text(&k->numeric, text);
        tlmc_capsule_symbol(k, k->dtype, text);
    }
    for (i = 0; i < found->profiles.count; i++)
        TLMC_CHECK(tlmc_assurance_name(&found->profiles.items[i].assurance) &&
                   found->profiles.items[i].modules.count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tlmc_arena arena = { 0 };
    struct tlmc_symtab symbols;
    struct tlmc_sources sources;
    struct tlmc_diags diags;
    struct tlmc_registry found = { 0 };
    struct tlmc_registry_reader reader = {
        .arena = &arena, .symbols = &symbols, .diags = &diags, .user = true
    };
    FILE *sink;

    if (size > 1 << 20)
        return 0;
    tlmc_symtab_init(&symbols, &arena);
    tlmc_sources_init(&sources, &arena);
    tlmc_diags_init(&diags, &arena, &sources);
    reader.module = tlmc_intern(&symbols, "user:fuzz");
    reader.file = tlmc_sources_add(&sources, "f.capsules", size ? (const char *)data : "",
                                   (uint32_t)size, false);
    TLMC_CHECK(tlmc_registry_read(&reader, &found) == (diags.errors == 0));
    check_entries(&found);
    for (const struct tlmc_diag *d = diags.first; d; d = d->next)
        TLMC_CHECK(d->span.file == 1 && d->span.begin <= size && d->span.begin <= d->span.end);
    sink = fopen("/dev/null", "w");
    TLMC_CHECK(sink);
    tlmc_diags_print(&diags, sink);
    fclose(sink);
    tlmc_arena_free(&arena);
    return 0;
}
