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
#define LIBRARY(provider, OP, emitter)
#define HANDLER(OP, emitter, ...)
#include "bind.def"
};

static const struct {
    const char *provider;
    enum tlmc_op op;
    void (*emit)(struct tlmc_call *);
} libraries[] = {
#define PROVIDER(name, device, formula)
#define LIBRARY(provider, OP, emitter) { provider, TLMC_OP_##OP, tlmc_emit_##emitter },
#define HANDLER(OP, emitter, ...)
#include "bind.def"
};

static const struct {
    enum tlmc_op op;
    void (*emit)(struct tlmc_call *);
    const char *headers[2];
} emitters[] = {
#define PROVIDER(name, device, formula)
#define LIBRARY(provider, OP, emitter)
#define HANDLER(OP, emitter, ...) { TLMC_OP_##OP, tlmc_emit_##emitter, { __VA_ARGS__ } },
#include "bind.def"
};

static bool is_library(const char *provider)
{
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (strcmp(libraries[i].provider, provider) == 0)
            return true;
    return false;
}

/* Ours: the kernels of all our providers have the same parameters. */
static void find_kernel(enum tlmc_op op, size_t provider, struct tlmc_arena *arena,
                        struct tlmc_handler *out)
{
    const bool device = providers[provider].device == TLMC_CUDA;

    if (tlmc_op_info(op)->family == TLMC_POINTWISE)
        out->formula = providers[provider].formula;
    for (size_t i = 0; i < sizeof emitters / sizeof *emitters; i++) {
        if (emitters[i].op != op)
            continue;
        out->emit = emitters[i].emit;
        out->header =
            device ? tlmc_arena_printf(arena, "%scuh",
                                       tlmc_arena_strndup(arena, emitters[i].headers[0],
                                                          strlen(emitters[i].headers[0]) - 1))
                   : emitters[i].headers[provider];
    }
}

bool tlmc_handler_find(enum tlmc_op op, const char *provider, enum tlmc_device device,
                       struct tlmc_arena *arena, struct tlmc_handler *out)
{
    size_t chosen = 0;

    for (size_t i = 0; i < sizeof providers / sizeof *providers; i++)
        if (strcmp(providers[i].name, provider) == 0 && providers[i].device == device)
            chosen = i;
    *out = (struct tlmc_handler){ .op = op,
                                  .provider = providers[chosen].name,
                                  .device = providers[chosen].device };
    out->name = tlmc_arena_printf(arena, "c.%s.%s", out->provider, tlmc_op_info(op)->name);
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (libraries[i].op == op && strcmp(libraries[i].provider, out->provider) == 0)
            out->emit = libraries[i].emit;
    if (!is_library(out->provider))
        find_kernel(op, chosen, arena, out);
    out->on_device = out->device == TLMC_CUDA && !is_library(out->provider);
    return out->formula != NULL || out->emit != NULL;
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
