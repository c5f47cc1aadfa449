/* Capsules, providers, profiles: the registry as data.  In: registry text (compiled in, or
   --capsules FILE).  Out: a catalog in file order.  Refuses unknown fields, unknown spellings,
   repeated identities, evidence that does not exist. Spellings of all enumerations are rows of
   enums.def.  Memory: the arena's given to tlmc_catalog_new. */
#ifndef TLMC_PLANNER_CAPSULE_H
#define TLMC_PLANNER_CAPSULE_H

#include "module.h"

enum tlmc_device {
    TLMC_CPU,
    TLMC_CUDA,
    TLMC_ROCM,
    TLMC_METAL,
    TLMC_WASM,
    TLMC_TPU,
    TLMC_TRAINIUM,
    TLMC_CUSTOM,
    TLMC_EXTERNAL,
    TLMC_DEVICE_COUNT
};
enum tlmc_trust {
    TLMC_VERIFIED,
    TLMC_CHECKED,
    TLMC_FUZZED,
    TLMC_TRUSTED_EXTERNAL,
    TLMC_TRUST_COUNT
};
enum tlmc_vjp_mode {
    TLMC_VJP_NONE,
    TLMC_VJP_GRAPH,
    TLMC_VJP_BACKEND,
    TLMC_VJP_COUNT
}; /* none, graph-vjp, backend-vjp */
enum tlmc_rounding {
    TLMC_ROUND_SCALAR_CONTEXT,
    TLMC_ROUND_NEAREST_EVEN,
    TLMC_ROUND_DIRECTED,
    TLMC_ROUND_IMPL,
    TLMC_ROUND_UNSPECIFIED,
    TLMC_ROUND_COUNT
};
enum tlmc_subnormal {
    TLMC_SUB_GRADUAL,
    TLMC_SUB_FLUSH,
    TLMC_SUB_IMPL,
    TLMC_SUB_UNSPECIFIED,
    TLMC_SUB_COUNT
};
enum tlmc_contract_kind {
    TLMC_CONTRACT_SEPARATE,
    TLMC_CONTRACT_FUSED,
    TLMC_CONTRACT_IMPL,
    TLMC_CONTRACT_NA,
    TLMC_CONTRACT_UNSPECIFIED,
    TLMC_CONTRACT_COUNT
};
enum tlmc_reduction {
    TLMC_RED_FIXED_LEFT,
    TLMC_RED_FIXED_TREE,
    TLMC_RED_IMPL,
    TLMC_RED_NA,
    TLMC_RED_UNSPECIFIED,
    TLMC_RED_COUNT
};
/* theorem, checker, guard, tests, fuzz, trusted, missing -> proved, checked, guarded, tested,
   fuzzed, trusted, missing */
enum tlmc_evidence {
    TLMC_EV_THEOREM,
    TLMC_EV_CHECKER,
    TLMC_EV_GUARD,
    TLMC_EV_TESTS,
    TLMC_EV_FUZZ,
    TLMC_EV_TRUSTED,
    TLMC_EV_MISSING,
    TLMC_EV_COUNT
};
enum tlmc_slot {
    TLMC_SLOT_SHAPE,
    TLMC_SLOT_LAYOUT,
    TLMC_SLOT_VALUE,
    TLMC_SLOT_VJP,
    TLMC_SLOT_COUNT
};
enum tlmc_status { TLMC_AVAILABLE, TLMC_PLANNED };
enum tlmc_abi { TLMC_ABI_NONE, TLMC_ABI_TEMPLATE, TLMC_ABI_CALL };

struct tlmc_contract {
    enum tlmc_evidence evidence;
    const char *name; /* of the test, guard, theorem; or the reason of trust */
    const char
        *claim; /* generated for its slot ("relu forward refines docs/ops.md relu") unless given */
    const char *summary;    /* free text, "" when not given */
    const char *provenance; /* source file, native symbol or note, "" when not given */
};

struct tlmc_numeric {
    enum tlmc_rounding rounding;
    enum tlmc_subnormal subnormal;
    enum tlmc_contract_kind contract;
    enum tlmc_reduction reduction;
};

struct tlmc_admit {
    const char *predicate;
    int64_t argument;
    struct tlmc_span span;
}; /* rows of admit.def */

struct tlmc_capsule {
    tlmc_sym name; /* "native_c.softmax" */
    enum tlmc_op op;
    tlmc_sym provider; /* "native-c" */
    enum tlmc_device device;
    enum tlmc_trust trust;
    bool supports_forward;
    enum tlmc_vjp_mode vjp;
    struct tlmc_contract contracts[TLMC_SLOT_COUNT];
    struct tlmc_numeric numeric;
    tlmc_sym arithmetic;   /* "softmax.tree64.v1", or "implementation-defined" */
    enum tlmc_dtype dtype; /* of the first result (first written leaf for UPDATE) unless the op is
                              polymorphic: see `dtypes` */
    uint32_t dtypes;       /* set: bits 1 << dtype the kernel takes */
    tlmc_sym workspace;    /* rule name of workspace.def, NULL: none */
    TLMC_VEC(struct tlmc_admit) admits;
    uint32_t accepts; /* bits TLMC_ACCEPTS_TRANSPOSE_A ... */
    uint32_t fuses;   /* bits TLMC_FUSES_... */
    tlmc_sym symbol, header, link, licence, notes;
    enum tlmc_abi abi;
    enum tlmc_status status;
    struct tlmc_span span;
    tlmc_sym module; /* registry module: "native-c", "reference", "user:my_npu" */
};

enum { TLMC_ACCEPTS_TRANSPOSE_A = 1, TLMC_ACCEPTS_TRANSPOSE_B = 2 };
enum {
    TLMC_FUSES_POINTWISE = 1, /* joins loops of pointwise nodes */
    TLMC_FUSES_LAUNCH = 2     /* its blocks may stand in one launch with those of other calls */
};

/* Loops and launches that a provider emits for several nodes have evidence of their own. */
struct tlmc_group_evidence {
    tlmc_sym kind;
    struct tlmc_contract contract;
}; /* kind: "pointwise", "updates", "transpose" */

struct tlmc_provider {
    tlmc_sym name;
    tlmc_sym licence;
    bool in_build;
    tlmc_sym
        reason; /* why it is not in this build, or how to get it; "" when nothing is to be said */
    TLMC_VEC(struct tlmc_group_evidence) groups;
    struct tlmc_span span;
};

enum tlmc_preference { TLMC_PREFER_AUTO, TLMC_PREFER, TLMC_PREFER_ONLY };

struct tlmc_assurance {
    bool allow_checked, allow_fuzzed, allow_trusted_external;
    bool require_evidence, allow_guards, allow_tests;
};

struct tlmc_profile {
    tlmc_sym name;
    enum tlmc_device device;
    enum tlmc_preference preference;
    TLMC_VEC(tlmc_sym) preferred; /* providers of prefer / only, in order */
    struct tlmc_assurance assurance;
    enum tlmc_vjp_mode vjp;
    TLMC_VEC(tlmc_sym) modules; /* registry modules, in catalog order */
    bool coalesced;             /* lowering: groups may form; singleton: one node a step */
    bool deterministic;         /* refuses implementation-defined reductions */
    bool is_default;            /* of its device */
    tlmc_sym summary;           /* one line for `tlmc profiles`, "" when not given */
    struct tlmc_span span;
};

struct tlmc_catalog {
    struct tlmc_arena *arena;
    struct tlmc_symtab *symbols;
    TLMC_VEC(struct tlmc_capsule)
    capsules;                   /* module by module, file order; a user's modules first */
    unsigned user_capsules;     /* how many of them are a user's: candidates under every profile */
    TLMC_VEC(tlmc_sym) modules; /* names, in the same order */
    TLMC_VEC(uint32_t) user_files; /* sources, in the order given */
    TLMC_VEC(struct tlmc_profile) profiles;
    TLMC_VEC(struct tlmc_provider) providers;
};

/* The built-in registry; errors in it are reported like a user's (and fail our tests). */
struct tlmc_catalog *tlmc_catalog_new(struct tlmc_arena *arena, struct tlmc_symtab *symbols,
                                      struct tlmc_diags *diags);
/* Adds a user's module (file already read): false when anything was reported.  A user's capsules
   come before ours. */
bool tlmc_catalog_add(struct tlmc_catalog *catalog, const char *module, uint32_t file,
                      struct tlmc_diags *diags);
const struct tlmc_profile *tlmc_catalog_profile(const struct tlmc_catalog *catalog,
                                                const char *name); /* NULL: unknown */
/* The profile that --device and --profile (either may be NULL) mean; NULL when they are refused
   (reported to diags). */
const struct tlmc_profile *tlmc_catalog_select(const struct tlmc_catalog *catalog,
                                               const char *device, const char *profile,
                                               struct tlmc_diags *diags);
const struct tlmc_provider *tlmc_catalog_provider(const struct tlmc_catalog *catalog,
                                                  tlmc_sym name); /* NULL: unknown */
/* Why the profile would not take the capsule for any node ("trust-not-admitted(trusted-external)"),
 * NULL: it may. */
const char *tlmc_capsule_refusal(const struct tlmc_catalog *catalog,
                                 const struct tlmc_profile *profile,
                                 const struct tlmc_capsule *capsule, struct tlmc_arena *arena);
/* "ops/softmax/native_c", "gradients/softmax": evidence by the name of a test of tlmc's, not by a
   file. */
bool tlmc_names_own_test(const char *evidence);
/* Does it come from a user's file? */
bool tlmc_capsule_is_users(const struct tlmc_capsule *capsule);
/* Is the order of its sums nobody's promise?  Deterministic plans and programs refuse it. */
bool tlmc_capsule_reduction_is_undefined(const struct tlmc_capsule *capsule);
/* The symbol for an element type: "tlmk_T_copy__cpu_strided" -> "tlmk_i32_copy__cpu_strided"; buf
 * has 160 bytes. */
const char *tlmc_capsule_symbol(const struct tlmc_capsule *capsule, enum tlmc_dtype dtype,
                                char *buf);
/* Built-in registry texts, for tests and `tlmc capsules`: name and text, ended by a NULL name. */
struct tlmc_registry_text {
    const char *name, *text;
    size_t length; /* of the text, without its NUL */
};
extern const struct tlmc_registry_text tlmc_registry_texts[];

const char *tlmc_device_name(enum tlmc_device device);
bool tlmc_device_find(const char *name, enum tlmc_device *out);
const char *tlmc_trust_name(enum tlmc_trust trust);
const char *tlmc_vjp_mode_name(enum tlmc_vjp_mode mode);
const char *tlmc_slot_name(enum tlmc_slot slot);
const char *tlmc_evidence_name(enum tlmc_evidence evidence);        /* "tests" */
const char *tlmc_evidence_disposition(enum tlmc_evidence evidence); /* "tested" */
const char *tlmc_evidence_label(enum tlmc_evidence evidence);       /* "covered by test" */
const char *tlmc_abi_name(enum tlmc_abi abi);
/* Does a VJP rule exist for the op?  Ops without one take capsules with `vjp none`. */
bool tlmc_op_has_gradient(enum tlmc_op op);
/* "verified", "checked", "external" or "custom". */
const char *tlmc_assurance_name(const struct tlmc_assurance *assurance);
/* "round=..,subnormal=..,contract=..,reduce=.." into buf (160 bytes); returns buf. */
const char *tlmc_numeric_text(const struct tlmc_numeric *numeric, char *buf);

#endif
