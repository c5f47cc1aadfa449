/* C identifiers from the user's names.  The rule, which readers of generated code can follow:

     1. every byte that cannot stand in an identifier becomes '_' ("h.0.attn" -> h_0_attn), a
   leading digit or underscore gets a 'v' in front (v0), an empty name is "v"; names are cut at 80
   characters;
     2. a reserved word of C, a macro of the headers used, or a name generated code uses itself gets
   a '_' at its end;
     3. a name already taken in the same table gets _2, _3, ... in order of asking.

   Results live in the arena of the table. */
#ifndef TLMC_CODEGEN_NAMES_H
#define TLMC_CODEGEN_NAMES_H

#include "arena.h"
#include "sym.h"

#include <stdbool.h>

struct tlmc_names {
    struct tlmc_symtab taken;
    bool own; /* names generated code gives itself: rule 2 does not apply */
};

void tlmc_names_init(struct tlmc_names *names, struct tlmc_arena *arena);
/* Rules 1 to 3. */
const char *tlmc_names_make(struct tlmc_names *names, const char *wanted);
/* Rule 1 only: a part of a longer identifier. */
const char *tlmc_names_valid(struct tlmc_arena *arena, const char *wanted);
/* Upper case of an identifier. */
const char *tlmc_names_upper(struct tlmc_arena *arena, const char *name);
bool tlmc_names_reserved(const char *name);
/* Neither a keyword nor a function or type of the C headers that generated programs include, nor an
   opening of ours. */
bool tlmc_names_free_for_model(const char *name);

#endif
