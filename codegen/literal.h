/* Numbers and texts as C tokens.  Floats print as the shortest decimal text that reads back the
   same value, always with a point or an exponent; infinities and NaN by name.  No locale and no
   time or place changes a byte. Results live in the arena. */
#ifndef TLMC_CODEGEN_LITERAL_H
#define TLMC_CODEGEN_LITERAL_H

#include "arena.h"
#include "op.h"
#include "strbuf.h"

#include <stdint.h>

/* The value rounded once to binary32: "0.1f", "1e-8f", "-INFINITY". */
const char *tlmc_literal_f32(struct tlmc_arena *arena, double value);
/* Binary64: "0.1", "1e-8". */
const char *tlmc_literal_f64(struct tlmc_arena *arena, double value);
/* Decimal, safe as an operand: INT32_MIN has its own spelling. */
const char *tlmc_literal_i32(struct tlmc_arena *arena, int64_t value);
/* An element of a constant: by its type. */
const char *tlmc_literal_element(struct tlmc_arena *arena, enum tlmc_dtype dtype, double value);
/* A plain decimal count. */
const char *tlmc_literal_count(struct tlmc_arena *arena, uint64_t value);
/* "text" with everything C needs escaped; NULL prints NULL.  Newlines end a piece, with an
   indentation also blanks in what is too long for a line: each piece but the first stands on a line
   of its own, after `indent` blanks. */
void tlmc_literal_string(struct tlmc_strbuf *out, const char *text, int indent);

#endif
