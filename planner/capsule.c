/* Names of the enumerations of capsule.h, made from enums.def, and the few facts that follow from a
   capsule alone. */
#include "capsule.h"

#include "registry.h"

#include <stdio.h>
#include <string.h>

static const char *const device_names[] = {
#define DEVICE(TAG, text) [TLMC_##TAG] = text,
#include "enums.def"
};
static const char *const trust_names[] = {
#define TRUST(TAG, text) [TLMC_##TAG] = text,
#include "enums.def"
};
static const char *const vjp_names[] = {
#define VJP_MODE(TAG, text) [TLMC_##TAG] = text,
#include "enums.def"
};
static const char *const rounding_names[] = {
#define ROUNDING(TAG, text) [TLMC_##TAG] = text,
#include "enums.def"
};
static const char *const subnormal_names[] = {
#define SUBNORMAL(TAG, text) [TLMC_##TAG] = text,
#include "enums.def"
};
static const char *const contraction_names[] = {
#define CONTRACTION(TAG, text) [TLMC_##TAG] = text,
#include "enums.def"
};
static const char *const reduction_names[] = {
#define REDUCTION(TAG, text) [TLMC_##TAG] = text,
#include "enums.def"
};
static const char *const evidence_names[] = {
#define EVIDENCE(TAG, text, disposition, label) [TLMC_##TAG] = text,
#include "enums.def"
};
static const char *const dispositions[] = {
#define EVIDENCE(TAG, text, disposition, label) [TLMC_##TAG] = disposition,
#include "enums.def"
};
static const char *const evidence_labels[] = {
#define EVIDENCE(TAG, text, disposition, label) [TLMC_##TAG] = label,
#include "enums.def"
};
static const char *const slot_names[] = {
#define SLOT(TAG, text) [TLMC_##TAG] = text,
#include "enums.def"
};
static const char *const status_names[] = {
#define STATUS(TAG, text) [TLMC_##TAG] = text,
#include "enums.def"
};
static const char *const abi_names[] = {
#define ABI(TAG, text) [TLMC_##TAG] = text,
#include "enums.def"
};
static const char *const preference_names[] = {
#define PREFERENCE(TAG, text) [TLMC_##TAG] = text,
#include "enums.def"
};
static const char *const lowering_names[] = {
#define LOWERING(value, text) [value] = text,
#include "enums.def"
};
static const char *const accepts_names[] = {
#define ACCEPTS(TAG, text) text,
#include "enums.def"
};
static const char *const fuses_names[] = {
#define FUSES(TAG, text) text,
#include "enums.def"
};
static const struct {
    const char *name;
    struct tlmc_assurance policy;
} assurances[] = {
#define ASSURANCE(text, checked, fuzzed, external, require, guards, tests) \
    { text, { checked, fuzzed, external, require, guards, tests } },
#include "enums.def"
};
static const char *const assurance_names[] = {
#define ASSURANCE(text, checked, fuzzed, external, require, guards, tests) text,
#include "enums.def"
    "custom",
};
static const char *const yes_no[] = { "no", "yes" };

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))
#define SPELLINGS(kind_, array)    \
    {                              \
        kind_, array, COUNT(array) \
    }

/* In the order of enum tlmc_spelled. */
static const struct tlmc_spellings spellings[] = {
    [TLMC_SPELLED_DEVICE] = SPELLINGS("device", device_names),
    [TLMC_SPELLED_TRUST] = SPELLINGS("trust level", trust_names),
    [TLMC_SPELLED_VJP] = SPELLINGS("vjp mode", vjp_names),
    [TLMC_SPELLED_ROUND] = SPELLINGS("rounding", rounding_names),
    [TLMC_SPELLED_SUBNORMAL] = SPELLINGS("subnormal policy", subnormal_names),
    [TLMC_SPELLED_CONTRACT] = SPELLINGS("contraction policy", contraction_names),
    [TLMC_SPELLED_REDUCE] = SPELLINGS("reduction policy", reduction_names),
    [TLMC_SPELLED_EVIDENCE] = SPELLINGS("kind of evidence", evidence_names),
    [TLMC_SPELLED_STATUS] = SPELLINGS("status", status_names),
    [TLMC_SPELLED_ABI] = SPELLINGS("abi", abi_names),
    [TLMC_SPELLED_PREFERENCE] = SPELLINGS("preference", preference_names),
    [TLMC_SPELLED_LOWERING] = SPELLINGS("lowering", lowering_names),
    [TLMC_SPELLED_ASSURANCE] = SPELLINGS("assurance policy", assurance_names),
    [TLMC_SPELLED_ACCEPTS] = SPELLINGS("acceptance", accepts_names),
    [TLMC_SPELLED_FUSES] = SPELLINGS("fusion", fuses_names),
    [TLMC_SPELLED_YES_NO] = SPELLINGS("answer", yes_no),
};

const struct tlmc_spellings *tlmc_spellings_of(enum tlmc_spelled spelled)
{
    return &spellings[spelled];
}

int tlmc_spelling_find(enum tlmc_spelled spelled, const char *text)
{
    int i;

    for (i = 0; i < spellings[spelled].count; i++)
        if (strcmp(spellings[spelled].names[i], text) == 0)
            return i;
    return -1;
}

const char *tlmc_device_name(enum tlmc_device device)
{
    return device_names[device];
}

bool tlmc_device_find(const char *name, enum tlmc_device *out)
{
    const int found = tlmc_spelling_find(TLMC_SPELLED_DEVICE, name);

    if (found < 0)
        return false;
    *out = (enum tlmc_device)found;
    return true;
}

const char *tlmc_trust_name(enum tlmc_trust trust)
{
    return trust_names[trust];
}

const char *tlmc_vjp_mode_name(enum tlmc_vjp_mode mode)
{
    return vjp_names[mode];
}

const char *tlmc_slot_name(enum tlmc_slot slot)
{
    return slot_names[slot];
}

const char *tlmc_evidence_name(enum tlmc_evidence evidence)
{
    return evidence_names[evidence];
}

const char *tlmc_evidence_disposition(enum tlmc_evidence evidence)
{
    return dispositions[evidence];
}

const char *tlmc_evidence_label(enum tlmc_evidence evidence)
{
    return evidence_labels[evidence];
}

const char *tlmc_abi_name(enum tlmc_abi abi)
{
    return abi_names[abi];
}

static bool same_policy(const struct tlmc_assurance *a, const struct tlmc_assurance *b)
{
    return a->allow_checked == b->allow_checked && a->allow_fuzzed == b->allow_fuzzed &&
           a->allow_trusted_external == b->allow_trusted_external &&
           a->require_evidence == b->require_evidence && a->allow_guards == b->allow_guards &&
           a->allow_tests == b->allow_tests;
}

const char *tlmc_assurance_name(const struct tlmc_assurance *assurance)
{
    int i;

    for (i = 0; i < COUNT(assurances); i++)
        if (same_policy(assurance, &assurances[i].policy))
            return assurances[i].name;
    return "custom";
}

bool tlmc_assurance_preset(const char *name, struct tlmc_assurance *out)
{
    int i;

    for (i = 0; i < COUNT(assurances); i++)
        if (strcmp(assurances[i].name, name) == 0) {
            *out = assurances[i].policy;
            return true;
        }
    return false;
}

const char *tlmc_numeric_text(const struct tlmc_numeric *numeric, char *buf)
{
    enum { ROOM = 160 };

    snprintf(buf, ROOM, "round=%s,subnormal=%s,contract=%s,reduce=%s",
             rounding_names[numeric->rounding], subnormal_names[numeric->subnormal],
             contraction_names[numeric->contract], reduction_names[numeric->reduction]);
    return buf;
}

const char *tlmc_capsule_symbol(const struct tlmc_capsule *capsule, enum tlmc_dtype dtype,
                                char *buf)
{
    enum { ROOM = 160 };
    const char *symbol = capsule->symbol ? capsule->symbol : "";
    const char *hole = strstr(symbol, "_T_");

    if (hole)
        snprintf(buf, ROOM, "%.*s_%s_%s", (int)(hole - symbol), symbol, tlmc_dtype_name(dtype),
                 hole + 3);
    else
        snprintf(buf, ROOM, "%s", symbol);
    return buf;
}

/* The gradient column of ops.def, as text: "none" marks an op through which no gradient flows. */
bool tlmc_op_has_gradient(enum tlmc_op op)
{
    static const char *const rules[] = {
#define UNARY(TAG, name, uses, attrs, policy) "unary", "none",
#define OP(TAG, name, family, min, max, results, attrs, shape, vjp, jvp, policy) #vjp,
#include "ops.def"
    };

    return strcmp(rules[op], "none") != 0;
}

bool tlmc_names_own_test(const char *evidence)
{
    static const char *const folders[] = { "ops/", "gradients/", "groups/" };

    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (strncmp(evidence, folders[i], strlen(folders[i])) == 0)
            return true;
    return false;
}

bool tlmc_capsule_is_users(const struct tlmc_capsule *capsule)
{
    return strncmp(capsule->module, "user:", 5) == 0;
}

bool tlmc_capsule_reduction_is_undefined(const struct tlmc_capsule *capsule)
{
    return capsule->numeric.reduction == TLMC_RED_IMPL ||
           capsule->numeric.reduction == TLMC_RED_UNSPECIFIED;
}
