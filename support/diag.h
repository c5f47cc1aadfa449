/* Diagnostics: the user's errors and warnings.  Collected, printed as

       path:line:col: error[E0404]: message
           the source line
               ^^^^
       path:line:col: note: ...
       hint: ...

   Up to TLMC_MAX_ERRORS errors are kept, further ones are counted.  Codes are rows of
   diag_codes.def, each with an entry in docs/errors.md.  Messages are lower case, without a full
   stop, and quote the user's names. */
#ifndef TLMC_SUPPORT_DIAG_H
#define TLMC_SUPPORT_DIAG_H

#include "bug.h"
#include "span.h"

#include <stdbool.h>
#include <stdio.h>

enum { TLMC_MAX_ERRORS = 20 };

enum tlmc_severity { TLMC_ERROR, TLMC_WARNING };

enum tlmc_diag_code {
#define DIAG(number, severity, tag, title) TLMC_E_##tag,
#include "diag_codes.def"
    TLMC_DIAG_CODES
};

struct tlmc_note {
    struct tlmc_span
        span; /* file 0: no place, printed as "hint: ..." when `hint`, else "note: ..." */
    const char *text;
    bool hint;
    struct tlmc_note *next;
};

struct tlmc_diag {
    enum tlmc_diag_code code;
    struct tlmc_span span;
    const char *text;
    struct tlmc_note *notes, *last_note;
    struct tlmc_diag *next;
};

struct tlmc_diags {
    struct tlmc_arena *arena;
    struct tlmc_sources *sources;
    struct tlmc_diag *first, *last;
    unsigned errors, warnings; /* all that were reported, kept or not */
};

void tlmc_diags_init(struct tlmc_diags *diags, struct tlmc_arena *arena,
                     struct tlmc_sources *sources);
/* Adds a diagnostic and returns it so that notes can follow; never NULL. */
struct tlmc_diag *tlmc_report(struct tlmc_diags *diags, enum tlmc_diag_code code,
                              struct tlmc_span span, const char *fmt, ...) TLMC_PRINTF(4, 5);
void tlmc_note(struct tlmc_diags *diags, struct tlmc_diag *diag, struct tlmc_span span,
               const char *fmt, ...) TLMC_PRINTF(4, 5);
void tlmc_hint(struct tlmc_diags *diags, struct tlmc_diag *diag, const char *fmt, ...)
    TLMC_PRINTF(3, 4);
void tlmc_diags_print(const struct tlmc_diags *diags, FILE *out);

/* "E0404", "W0504". */
const char *tlmc_diag_label(enum tlmc_diag_code code);
const char *tlmc_diag_title(enum tlmc_diag_code code);
enum tlmc_severity tlmc_diag_severity(enum tlmc_diag_code code);

#endif
