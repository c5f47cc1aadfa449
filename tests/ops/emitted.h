/* The cases of an op as an emitted program: one form a case, planned under a profile, emitted as C
   (for CUDA also as device code), compiled into a shared object and loaded; and runs of single
   cases through the emitted API, with guards around every memory block. */
#ifndef TLMC_TESTS_OPS_EMITTED_H
#define TLMC_TESTS_OPS_EMITTED_H

#include "buffer.h"

#include "tlm_program.h"

struct ops_program {
    void *handle;
    const tlm_program *program;
    uint32_t steps[OPS_MAX_CASES]; /* of each case's plan that are code */
};

/* All return false with what went wrong on stderr.  emit: into `dir`, which is made; load: a shared
   object; open: a program for the CPU, both and the compiler between them. */
bool ops_program_emit(struct ops_program *p, const struct ops_list *list, const char *name,
                      const char *profile, const char *dir);
bool ops_program_load(struct ops_program *p, const struct ops_list *list, const char *path);
bool ops_program_open(struct ops_program *p, const struct ops_list *list, const char *name,
                      const char *profile, const char *dir);
void ops_program_close(struct ops_program *p);

struct ops_machine {
    tlm_cpu cpu;
    uint32_t
        threads; /* 1: the calling thread; 2: two uneven pieces, last one first; 5: five threads */
    bool no_graph; /* CUDA: kernel by kernel */
};

enum { OPS_SEED = 7 };

/* What a run left behind: copies of the results, or of the states, by operand, that the op
   writes. */
struct ops_outcome {
    tlm_status status;
    char error[TLM_ERROR_BYTES];
    struct ops_buffer results[OPS_MAX_RESULTS], states[OPS_MAX_OPERANDS];
    const char *broken; /* a guard that was overwritten; NULL: none */
};

/* Runs case `index` of the list in a fresh model and waits for it.  TLM_ERR_CPU: this processor
   lacks the level. */
struct ops_outcome ops_run(const struct ops_program *p, const struct ops_list *list, uint32_t index,
                           struct ops_machine machine);
void ops_outcome_free(struct ops_outcome *outcome);

#endif
