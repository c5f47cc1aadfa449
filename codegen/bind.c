/* In: the op of a node and the capsule the plan chose.  Out: the emitter, or what does not agree.
   The rows are bind.def's. */
#include "bind.h"

#include "emit_calls.h"

#include <string.h>

static const struct {
    const char *name;
    enum tlmc_device device;
    const char *formula;
} providers[] = {
#define PROVIDER(name, device, formula) { name, device, formula },
#define HANDLER(OP, emitter, ...)
#include "bind.def"
};

static const struct {
    enum tlmc_op op;
    void (*emit)(struct tlmc_call *);
    const char *headers[2];
} emitters[] = {
#define PROVIDER(name, device, formula)
#define HANDLER(OP, emitter, ...) { TLMC_OP_##OP, tlmc_emit_##emitter, { __VA_ARGS__ } },
#include "bind.def"
};

bool tlmc_handler_find(enum tlmc_op op, const char *provider, enum tlmc_device device,
                       struct tlmc_arena *arena, struct tlmc_handler *out)
{
    const bool pointwise = tlmc_op_info(op)->family == TLMC_POINTWISE;
    size_t chosen = 0;

    for (size_t i = 0; i < sizeof providers / sizeof *providers; i++)
        if (strcmp(providers[i].name, provider) == 0 && providers[i].device == device)
            chosen = i;
    *out = (struct tlmc_handler){ .op = op,
                                  .provider = providers[chosen].name,
                                  .device = providers[chosen].device };
    out->name = tlmc_arena_printf(arena, "c.%s.%s", out->provider, tlmc_op_info(op)->name);
    if (pointwise)
        out->formula = providers[chosen].formula;
    for (size_t i = 0; i < sizeof emitters / sizeof *emitters; i++)
        if (emitters[i].op == op) {
            out->emit = emitters[i].emit;
            out->header = emitters[i].headers[chosen];
        }
    return pointwise || out->emit != NULL;
}

const char *tlmc_bind(const struct tlmc_handler *handler, const struct tlmc_capsule *capsule,
                      struct tlmc_arena *arena)
{
    if (handler->op != capsule->op)
        return tlmc_arena_printf(arena,
                                 "handler `%s` implements `%s`, but capsule `%s` implements `%s`",
                                 handler->name, tlmc_op_info(handler->op)->name, capsule->name,
                                 tlmc_op_info(capsule->op)->name);
    if (strcmp(handler->provider, capsule->provider) != 0)
        return tlmc_arena_printf(
            arena, "handler `%s` uses provider `%s`, but capsule `%s` uses provider `%s`",
            handler->name, handler->provider, capsule->name, capsule->provider);
    if (handler->device != capsule->device)
        return tlmc_arena_printf(arena, "handler `%s` targets `%s`, but capsule `%s` targets `%s`",
                                 handler->name, tlmc_device_name(handler->device), capsule->name,
                                 tlmc_device_name(capsule->device));
    return NULL;
}
