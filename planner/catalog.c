/* The catalog: registry texts read and linked.  A user's modules come first, in the order given;
   one that bears the name of a built-in module replaces it.  Refuses a repeated module, capsule
   identity (name, device, dtype), profile or provider, and names of providers, modules and tests
   that do not exist. */
#include "capsule.h"

#include "registry.h"
#include "strbuf.h"

#include <stdlib.h>
#include <string.h>

/* ---- look-ups */

const struct tlmc_profile *tlmc_catalog_profile(const struct tlmc_catalog *catalog,
                                                const char *name)
{
    unsigned i;

    for (i = 0; i < catalog->profiles.count; i++)
        if (strcmp(catalog->profiles.items[i].name, name) == 0)
            return &catalog->profiles.items[i];
    return NULL;
}

const struct tlmc_provider *tlmc_catalog_provider(const struct tlmc_catalog *catalog, tlmc_sym name)
{
    unsigned i;

    for (i = 0; i < catalog->providers.count; i++)
        if (catalog->providers.items[i].name == name)
            return &catalog->providers.items[i];
    return NULL;
}

static bool has_module(const struct tlmc_catalog *catalog, tlmc_sym name)
{
    unsigned i;

    for (i = 0; i < catalog->modules.count; i++)
        if (catalog->modules.items[i] == name)
            return true;
    return false;
}

/* ---- checks over the whole catalog */

struct identity {
    tlmc_sym name;
    enum tlmc_device device;
    unsigned index;
};

static int compare_identities(const void *a, const void *b)
{
    const struct identity *x = a, *y = b;
    const int order = x->name == y->name ? 0 : strcmp(x->name, y->name);

    if (order)
        return order;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

static void check_identities(const struct tlmc_catalog *catalog, struct tlmc_diags *diags)
{
    const unsigned count = catalog->capsules.count;
    const struct tlmc_capsule *items = catalog->capsules.items;
    struct identity *ids = TLMC_NEW_ARRAY(catalog->arena, struct identity, count);
    unsigned i, k;

    for (i = 0; i < count; i++)
        ids[i] = (struct identity){ items[i].name, items[i].device, i };
    if (count)
        qsort(ids, count, sizeof *ids, compare_identities);
    for (i = 0; i + 1 < count; i++)
        for (k = i + 1; k < count && ids[k].name == ids[i].name && ids[k].device == ids[i].device;
             k++)
            if (items[ids[i].index].dtypes & items[ids[k].index].dtypes) {
                struct tlmc_diag *diag =
                    tlmc_report(diags, TLMC_E_REGISTRY_TWICE, items[ids[k].index].span,
                                "duplicate backend capsule identity '%s' on device '%s'",
                                ids[i].name, tlmc_device_name(ids[i].device));

                tlmc_note(diags, diag, items[ids[i].index].span, "first given here");
                i = k; /* one report a pair of neighbours */
                break;
            }
}

static void list_providers(const struct tlmc_catalog *catalog, struct tlmc_diags *diags,
                           struct tlmc_diag *diag)
{
    struct tlmc_strbuf list = { 0 };
    unsigned i;

    for (i = 0; i < catalog->providers.count; i++)
        tlmc_strbuf_printf(&list, "%s%s", i ? ", " : "", catalog->providers.items[i].name);
    tlmc_note(diags, diag, (struct tlmc_span){ 0 }, "known providers: %s", tlmc_strbuf_text(&list));
    tlmc_strbuf_free(&list);
}

static void check_capsule_providers(const struct tlmc_catalog *catalog, unsigned begin,
                                    unsigned end, struct tlmc_diags *diags)
{
    unsigned i;

    for (i = begin; i < end; i++) {
        const struct tlmc_capsule *k = &catalog->capsules.items[i];
        struct tlmc_diag *diag;

        if (tlmc_catalog_provider(catalog, k->provider))
            continue;
        diag = tlmc_report(diags, TLMC_E_REGISTRY_FIELD, k->span,
                           "unknown provider '%s' of capsule '%s'", k->provider, k->name);
        list_providers(catalog, diags, diag);
        tlmc_hint(diags, diag,
                  "an entry 'provider %s { in_build yes; licence \"..\"; }' declares it",
                  k->provider);
    }
}

static void check_profiles(const struct tlmc_catalog *catalog, unsigned begin,
                           struct tlmc_diags *diags)
{
    unsigned i, k;

    for (i = begin; i < catalog->profiles.count; i++) {
        const struct tlmc_profile *p = &catalog->profiles.items[i];

        for (k = 0; k < p->preferred.count; k++)
            if (!tlmc_catalog_provider(catalog, p->preferred.items[k]))
                list_providers(catalog, diags,
                               tlmc_report(diags, TLMC_E_REGISTRY_FIELD, p->span,
                                           "unknown provider '%s' of profile '%s'",
                                           p->preferred.items[k], p->name));
        for (k = 0; k < p->modules.count; k++)
            if (!has_module(catalog, p->modules.items[k]))
                tlmc_report(diags, TLMC_E_REGISTRY_FIELD, p->span,
                            "unknown module '%s' of profile '%s'", p->modules.items[k], p->name);
        for (k = 0; k < i; k++)
            if (catalog->profiles.items[k].name == p->name)
                tlmc_note(diags,
                          tlmc_report(diags, TLMC_E_REGISTRY_TWICE, p->span,
                                      "duplicate profile '%s'", p->name),
                          catalog->profiles.items[k].span, "first given here");
    }
}

static void check_providers(const struct tlmc_catalog *catalog, unsigned begin,
                            struct tlmc_diags *diags)
{
    unsigned i, k;

    for (i = begin; i < catalog->providers.count; i++)
        for (k = 0; k < i; k++)
            if (catalog->providers.items[k].name == catalog->providers.items[i].name)
                tlmc_note(diags,
                          tlmc_report(diags, TLMC_E_REGISTRY_TWICE,
                                      catalog->providers.items[i].span, "duplicate provider '%s'",
                                      catalog->providers.items[i].name),
                          catalog->providers.items[k].span, "first given here");
}

/* A user's evidence may be one of our tests: then some capsule of ours must cite it. */
static bool is_test_of_ours(const struct tlmc_catalog *catalog, const char *name)
{
    unsigned i;
    int slot;

    for (i = catalog->user_capsules; i < catalog->capsules.count; i++)
        for (slot = 0; slot < TLMC_SLOT_COUNT; slot++)
            if (strcmp(catalog->capsules.items[i].contracts[slot].name, name) == 0)
                return true;
    return false;
}

static void check_user_evidence(const struct tlmc_catalog *catalog, unsigned begin, unsigned end,
                                struct tlmc_diags *diags)
{
    unsigned i;
    int slot;

    for (i = begin; i < end; i++)
        for (slot = 0; slot < TLMC_SLOT_COUNT; slot++) {
            const struct tlmc_capsule *capsule = &catalog->capsules.items[i];
            const struct tlmc_contract *contract = &capsule->contracts[slot];

            if (contract->evidence == TLMC_EV_GUARD || contract->evidence == TLMC_EV_TRUSTED ||
                contract->evidence == TLMC_EV_MISSING)
                continue;
            if (tlmc_names_own_test(contract->name) && !is_test_of_ours(catalog, contract->name))
                tlmc_report(diags, TLMC_E_EVIDENCE, capsule->span,
                            "evidence '%s' of capsule '%s' is not a test of this tlmc",
                            contract->name, capsule->name);
        }
}

/* ---- building */

static tlmc_sym module_of_file(struct tlmc_symtab *symbols, const char *name)
{
    char module[64];
    size_t i;

    for (i = 0; name[i] && name[i] != '.' && i + 1 < sizeof module; i++)
        module[i] = name[i] == '_' ? '-' : name[i];
    return tlmc_intern_n(symbols, module, i);
}

static void append_all(struct tlmc_catalog *catalog, const struct tlmc_registry *found)
{
    unsigned i;

    for (i = 0; i < found->profiles.count; i++)
        TLMC_PUSH(catalog->arena, &catalog->profiles, found->profiles.items[i]);
    for (i = 0; i < found->providers.count; i++)
        TLMC_PUSH(catalog->arena, &catalog->providers, found->providers.items[i]);
}

struct tlmc_catalog *tlmc_catalog_new(struct tlmc_arena *arena, struct tlmc_symtab *symbols,
                                      struct tlmc_diags *diags)
{
    struct tlmc_catalog *catalog = TLMC_NEW(arena, struct tlmc_catalog);
    const struct tlmc_registry_text *text;
    unsigned i;

    catalog->arena = arena;
    catalog->symbols = symbols;
    for (text = tlmc_registry_texts; text->name; text++) {
        struct tlmc_strbuf path = { 0 };
        struct tlmc_registry found = { 0 };
        struct tlmc_registry_reader reader = { .arena = arena,
                                               .symbols = symbols,
                                               .diags = diags,
                                               .module = module_of_file(symbols, text->name) };

        tlmc_strbuf_printf(&path, "registry/%s", text->name);
        reader.file = tlmc_sources_add(diags->sources, tlmc_strbuf_text(&path), text->text,
                                       (uint32_t)strlen(text->text), true);
        tlmc_strbuf_free(&path);
        tlmc_registry_read(&reader, &found);
        for (i = 0; i < found.capsules.count; i++)
            TLMC_PUSH(arena, &catalog->capsules, found.capsules.items[i]);
        if (found.capsules.count)
            TLMC_PUSH(arena, &catalog->modules, reader.module);
        append_all(catalog, &found);
    }
    check_identities(catalog, diags);
    check_capsule_providers(catalog, 0, catalog->capsules.count, diags);
    check_providers(catalog, 0, diags);
    check_profiles(catalog, 0, diags);
    return catalog;
}

/* The user's capsules behind those of earlier user modules; a built-in module of this name goes. */
static void insert_capsules(struct tlmc_catalog *catalog, tlmc_sym module,
                            const tlmc_capsule_vec *added)
{
    const unsigned count = catalog->capsules.count, user = catalog->user_capsules;
    const struct tlmc_capsule *old = catalog->capsules.items;
    tlmc_capsule_vec all = { 0 };
    unsigned i;

    for (i = 0; i < user; i++)
        TLMC_PUSH(catalog->arena, &all, old[i]);
    for (i = 0; i < added->count; i++)
        TLMC_PUSH(catalog->arena, &all, added->items[i]);
    for (i = user; i < count; i++)
        if (old[i].module != module)
            TLMC_PUSH(catalog->arena, &all, old[i]);
    catalog->capsules.items = all.items;
    catalog->capsules.count = all.count;
    catalog->capsules.capacity = all.capacity;
    catalog->user_capsules = user + added->count;
}

bool tlmc_catalog_add(struct tlmc_catalog *catalog, const char *module, uint32_t file,
                      struct tlmc_diags *diags)
{
    const unsigned before = diags->errors, user = catalog->user_capsules;
    const unsigned profiles = catalog->profiles.count, providers = catalog->providers.count;
    struct tlmc_registry found = { 0 };
    const struct tlmc_registry_reader reader = { .arena = catalog->arena,
                                                 .symbols = catalog->symbols,
                                                 .diags = diags,
                                                 .module = tlmc_intern(catalog->symbols, module),
                                                 .user = true,
                                                 .file = file };
    unsigned i;

    for (i = 0; i < user; i++)
        if (catalog->capsules.items[i].module == reader.module) {
            tlmc_report(diags, TLMC_E_REGISTRY_TWICE, (struct tlmc_span){ .file = file },
                        "duplicate backend capsule module '%s'", module);
            return false;
        }
    if (!tlmc_registry_read(&reader, &found))
        return false;
    insert_capsules(catalog, reader.module, &found.capsules);
    if (!has_module(catalog, reader.module))
        TLMC_PUSH(catalog->arena, &catalog->modules, reader.module);
    TLMC_PUSH(catalog->arena, &catalog->user_files, file);
    append_all(catalog, &found);
    check_identities(catalog, diags);
    check_capsule_providers(catalog, user, catalog->user_capsules, diags);
    check_providers(catalog, providers, diags);
    check_profiles(catalog, profiles, diags);
    check_user_evidence(catalog, user, catalog->user_capsules, diags);
    return diags->errors == before;
}

/* ---- selection */

static const struct tlmc_profile *default_profile(const struct tlmc_catalog *catalog,
                                                  enum tlmc_device device)
{
    unsigned i;

    for (i = 0; i < catalog->profiles.count; i++)
        if (catalog->profiles.items[i].device == device && catalog->profiles.items[i].is_default)
            return &catalog->profiles.items[i];
    return NULL;
}

static void report_unknown_device(struct tlmc_diags *diags, const char *device)
{
    struct tlmc_diag *diag = tlmc_report(diags, TLMC_E_NO_PROFILE, (struct tlmc_span){ 0 },
                                         "unknown device '%s'", device);
    struct tlmc_strbuf list = { 0 };
    int i;

    for (i = 0; i < TLMC_DEVICE_COUNT; i++)
        tlmc_strbuf_printf(&list, "%s%s", i ? ", " : "", tlmc_device_name((enum tlmc_device)i));
    tlmc_note(diags, diag, (struct tlmc_span){ 0 }, "known devices: auto, %s",
              tlmc_strbuf_text(&list));
    tlmc_strbuf_free(&list);
}

static void report_unknown_profile(const struct tlmc_catalog *catalog, struct tlmc_diags *diags,
                                   const char *name)
{
    struct tlmc_diag *diag = tlmc_report(diags, TLMC_E_NO_PROFILE, (struct tlmc_span){ 0 },
                                         "unknown profile '%s'", name);
    struct tlmc_strbuf list = { 0 };
    unsigned i;

    for (i = 0; i < catalog->profiles.count; i++)
        tlmc_strbuf_printf(&list, "%s%s", i ? ", " : "", catalog->profiles.items[i].name);
    tlmc_note(diags, diag, (struct tlmc_span){ 0 }, "known profiles: %s", tlmc_strbuf_text(&list));
    tlmc_strbuf_free(&list);
}

static bool has_capsule_for(const struct tlmc_catalog *catalog, const struct tlmc_profile *profile)
{
    unsigned i, k;

    for (i = 0; i < catalog->capsules.count; i++) {
        const struct tlmc_capsule *capsule = &catalog->capsules.items[i];

        if (capsule->device != profile->device)
            continue;
        if (i < catalog->user_capsules)
            return true;
        for (k = 0; k < profile->modules.count; k++)
            if (profile->modules.items[k] == capsule->module)
                return true;
    }
    return false;
}

const struct tlmc_profile *tlmc_catalog_select(const struct tlmc_catalog *catalog,
                                               const char *device, const char *name,
                                               struct tlmc_diags *diags)
{
    const struct tlmc_span nowhere = { 0 };
    const struct tlmc_profile *profile;
    enum tlmc_device wanted = TLMC_CPU;
    const bool any = !device || strcmp(device, "auto") == 0;

    if (!any && !tlmc_device_find(device, &wanted)) {
        report_unknown_device(diags, device);
        return NULL;
    }
    profile = name ? tlmc_catalog_profile(catalog, name) : default_profile(catalog, wanted);
    if (name && !profile) {
        report_unknown_profile(catalog, diags, name);
        return NULL;
    }
    if (!profile) {
        tlmc_hint(
            diags,
            tlmc_report(diags, TLMC_E_NO_PROFILE, nowhere,
                        "device '%s' has no maintained runtime profile", device),
            "a module given with --capsules can bring a profile for it (docs/adding-a-capsule.md)");
        return NULL;
    }
    if (!any && profile->device != wanted) {
        tlmc_report(diags, TLMC_E_NO_PROFILE, nowhere, "profile '%s' is for device '%s', not '%s'",
                    profile->name, tlmc_device_name(profile->device), device);
        return NULL;
    }
    if (!has_capsule_for(catalog, profile)) {
        tlmc_report(diags, TLMC_E_NO_PROFILE, nowhere,
                    "backend profile '%s' has no capsule for device '%s'", profile->name,
                    tlmc_device_name(profile->device));
        return NULL;
    }
    return profile;
}
