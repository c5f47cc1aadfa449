/* The log of a run as JSON lines: one object a line, its first member "event".  Numbers that JSON
   cannot hold are the strings "NaN", "Infinity" and "-Infinity".  A failed write is kept and
   reported by tlm_log_end. */
#ifndef TLM_LOG_H
#define TLM_LOG_H

#include "tlm.h"

#include <stdio.h>

struct tlm_log {
    FILE *file; /* NULL: no log; every call does nothing */
    const char *path;
};

/* `append`: go on with the file, as a resumed run does. */
tlm_status tlm_log_open(struct tlm_log *log, const char *path, int append, char *error);
tlm_status tlm_log_close(struct tlm_log *log, char *error);

void tlm_log_begin(struct tlm_log *log, const char *event);
void tlm_log_number(struct tlm_log *log, const char *name, double value);
void tlm_log_integer(struct tlm_log *log, const char *name, uint64_t value);
void tlm_log_text(struct tlm_log *log, const char *name, const char *value);
tlm_status tlm_log_end(struct tlm_log *log, char *error);

#endif
