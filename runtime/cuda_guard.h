/* What both builds of the CUDA runtime share inside: parsing of the environment, the texts of the
   probe, messages.  Private to runtime/cuda_*.c. */
#ifndef TLM_CUDA_GUARD_H
#define TLM_CUDA_GUARD_H

#include "tlm_cuda.h"

#include <stdbool.h>

typedef enum tlm_cuda_number {
    TLM_CUDA_NUMBER_GOOD,
    TLM_CUDA_NUMBER_MALFORMED, /* anything but decimal digits, also nothing at all */
    TLM_CUDA_NUMBER_OVERFLOW   /* more than 2^64 - 1 */
} tlm_cuda_number;

/* A byte count in strict decimal: no sign, blank, prefix or suffix.  *bytes is 0 unless good. */
tlm_cuda_number tlm_cuda_parse_bytes(const char *text, uint64_t *bytes);

/* NULL, "" and "0" are off, anything else is on. */
bool tlm_cuda_parse_switch(const char *text);

/* TLM_CUDA_CACHE_CAP_BYTES as `text` says; what cannot be used leaves the cache unbounded (0) with
   one line of warning, TLM_ERROR_BYTES, "" when there is none. */
uint64_t tlm_cuda_parse_cap(const char *text, char *warning);

/* What a cause means and what to do, TLM_ERROR_BYTES.  driver and runtime are CUDA's version
   numbers (1000 * major + 10 * minor), `detail` the driver's own words; each is used where the
   cause needs it. */
void tlm_cuda_cause_text(tlm_cuda_cause cause, int driver, int runtime, const char *detail,
                         char *text);

/* Leaves a message (error may be NULL) and returns `status`.  The CUDA runtime needs nothing of
   libtlm, so it has its own. */
__attribute__((format(printf, 3, 4))) tlm_status tlm_cuda_fail(char *error, tlm_status status,
                                                               const char *format, ...);

#endif
