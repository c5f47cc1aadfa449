/* Binding: which emitter writes the code of a capsule.  A handler says which op it implements, with
   which provider's kernels, on which device; it is used for a capsule only when all three agree. */
#ifndef TLMC_CODEGEN_BIND_H
#define TLMC_CODEGEN_BIND_H

#include "capsule.h"

struct tlmc_call;

struct tlmc_handler {
    const char *name; /* "c.native-c.matmul" */
    enum tlmc_op op;
    const char *provider;
    enum tlmc_device device;
    const char *formula; /* pointwise ops: prefix of the inline formula, "tlm_"; else NULL */
    void (*emit)(struct tlmc_call *); /* ops that are calls; else NULL */
    const char *header; /* of its kernel alone, for single-file output; else the capsule's header */
    bool on_device;     /* the header holds device code */
};

/* The handler for an op with a provider's kernels.  Falls back to the first provider's when this
   one has none, so that tlmc_bind can say what differs; false: no provider has one. */
bool tlmc_handler_find(enum tlmc_op op, const char *provider, enum tlmc_device device,
                       struct tlmc_arena *arena, struct tlmc_handler *out);
/* NULL when op, provider and device agree, else what does not (in the arena). */
const char *tlmc_bind(const struct tlmc_handler *handler, const struct tlmc_capsule *capsule,
                      struct tlmc_arena *arena);

#endif
