/* Failures of the runtime library: a status and one line of text in the caller's buffer of
   TLM_ERROR_BYTES (or NULL). The text is lower case, one line, and names the file, key or value at
   fault. */
#ifndef TLM_STATUS_H
#define TLM_STATUS_H

#include "tlm.h"

/* Writes the text (cut to TLM_ERROR_BYTES) and returns `status`, so that callers can write `return
   tlm_fail(...)`. */
__attribute__((format(printf, 3, 4))) tlm_status tlm_fail(char *error, tlm_status status,
                                                          const char *format, ...);

/* The end of a long path: what fits into a message beside its other words. */
const char *tlm_path_tail(const char *path);

/* Exit status of a program that stopped with `status`: 1 data or input (a file that cannot be read
   included), 2 usage or environment, 3 device. */
int tlm_exit_code(tlm_status status);

#endif
