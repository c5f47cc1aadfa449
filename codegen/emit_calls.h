/* Emitters of single kernel calls: one function each, named by bind.def.  Each fills the args
   struct, the sizes and the body of its kernel and writes the statement that runs it. */
#ifndef TLMC_CODEGEN_EMIT_CALLS_H
#define TLMC_CODEGEN_EMIT_CALLS_H

#include <stdint.h>

struct tlmc_call;

/* Where a search by halving begins: the largest power of 2 below `count`, or 1. */
uint32_t tlmc_emit_half(uint32_t count);

#define PROVIDER(name, device, formula)
#define LIBRARY(provider, OP, emitter) void tlmc_emit_##emitter(struct tlmc_call *call);
#define HANDLER(OP, emitter, ...) void tlmc_emit_##emitter(struct tlmc_call *call);
#include "bind.def"

#endif
