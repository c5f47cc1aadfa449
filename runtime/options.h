/* The flags of an emitted program, both as `--key value` and `--key=value`.  Refused: unknown
   flags, a flag twice, a missing or malformed value, left-over words, and flags that contradict
   each other. */
#ifndef TLM_OPTIONS_H
#define TLM_OPTIONS_H

#include "tlm_program.h"

#include <stdbool.h>
#include <stdio.h>

struct tlm_words {   /* values in argv */
    const char **at; /* owned */
    uint32_t count;
};

struct tlm_choice { /* a flag with an optional value */
    bool given;
    const char *value; /* NULL: none */
};

struct tlm_flags {
    bool help, train, generate, show_backend, show_memory, check_gradients, profile, no_graph;
    struct tlm_choice infer, pretrained;
    struct tlm_words inputs, outputs, data;
    const char *prompt, *load, *save, *resume, *log;
    int64_t steps, tokens, top_k; /* -1: not given */
    double temperature;           /* negative: not given */
    bool seed_given;
    uint64_t seed;
    int64_t threads; /* -1: not given */
    tlm_cpu cpu;
};

/* Free with tlm_flags_free, also after a failure (TLM_ERR_ARGUMENT: usage). */
tlm_status tlm_flags_parse(struct tlm_flags *flags, int argc, char **argv, char *error);
void tlm_flags_free(struct tlm_flags *flags);

/* The flags must make sense for this program: training only with something to train, ... */
tlm_status tlm_flags_check(const struct tlm_flags *flags, const tlm_program *program, char *error);

void tlm_flags_help(const tlm_program *program, FILE *out);

#endif
