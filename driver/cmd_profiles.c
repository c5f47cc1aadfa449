/* tlmc profiles and tlmc capsules: the registry as a reader sees it. */
#include "commands.h"
#include "pipeline.h"

#include <stdio.h>
#include <string.h>

static const char *preference_text(const struct tlmc_profile *p, char *buf, size_t size)
{
    int n = snprintf(buf, size, "%s",
                     p->preference == TLMC_PREFER_AUTO ? "auto"
                     : p->preference == TLMC_PREFER    ? "prefer"
                                                       : "only");

    for (unsigned i = 0; i < p->preferred.count && n > 0 && (size_t)n < size; i++)
        n += snprintf(buf + n, size - (size_t)n, "%s%s", i ? ", " : " ", p->preferred.items[i]);
    return buf;
}

int tlmc_cmd_profiles(const struct tlmc_options *options)
{
    struct tlmc_compilation c;
    char preference[128];
    int status;

    tlmc_compilation_begin(&c, options);
    status = tlmc_stage_catalog(&c);
    for (unsigned i = 0; !status && i < c.catalog->profiles.count; i++) {
        const struct tlmc_profile *p = &c.catalog->profiles.items[i];

        printf("%-22s device=%s assurance=%s vjp=%s backend=%s lowering=%s%s\n", p->name,
               tlmc_device_name(p->device), tlmc_assurance_name(&p->assurance),
               tlmc_vjp_mode_name(p->vjp), preference_text(p, preference, sizeof preference),
               p->coalesced ? "coalesced" : "singleton", p->deterministic ? " deterministic" : "");
    }
    return tlmc_compilation_end(&c, status);
}

int tlmc_cmd_capsules(const struct tlmc_options *options)
{
    const char *profile_name = tlmc_opt(options, TLMC_OPT_PROFILE),
               *device_name = tlmc_opt(options, TLMC_OPT_DEVICE);
    const struct tlmc_profile *profile = NULL;
    struct tlmc_compilation c;
    int status;

    tlmc_compilation_begin(&c, options);
    status = tlmc_stage_catalog(&c);
    if (!status && (profile_name || device_name)) {
        profile = tlmc_catalog_select(c.catalog, device_name, profile_name, &c.diags);
        if (!profile)
            status = TLMC_EXIT_PLAN;
    }
    for (unsigned i = 0; !status && i < c.catalog->capsules.count; i++) {
        const struct tlmc_capsule *k = &c.catalog->capsules.items[i];
        const char *refused =
            profile ? tlmc_capsule_refusal(c.catalog, profile, k, &c.arena) : NULL;

        printf("%-34s op=%s provider=%s device=%s trust=%s vjp=%s arithmetic=%s%s%s%s\n", k->name,
               tlmc_op_info(k->op)->name, k->provider, tlmc_device_name(k->device),
               tlmc_trust_name(k->trust), tlmc_vjp_mode_name(k->vjp),
               k->arithmetic ? k->arithmetic : "-", k->status == TLMC_PLANNED ? " planned" : "",
               profile ? (refused ? " refused: " : " admitted") : "", refused ? refused : "");
    }
    return tlmc_compilation_end(&c, status);
}
