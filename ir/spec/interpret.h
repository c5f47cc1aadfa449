/* The reference interpreter: evaluates a graph in binary64 straight from the written semantics
   (docs/ops.md), sharing no code with the kernels.  Constants and attributes are read rounded to
   binary32 as programs see them, random draws have the same bits, everything else is binary64: the
   oracle of every value and gradient test. Tensors are double arrays, row-major; i32 and bool hold
   whole numbers. */
#ifndef TLMC_IR_SPEC_INTERPRET_H
#define TLMC_IR_SPEC_INTERPRET_H

#include "module.h"

struct tlmc_tensor {
    struct tlmc_type type;
    double *data; /* heap; tlmc_tensor_free */
};

/* What a run reads and writes.  inputs[slot] for INPUT leaves, params[slot] for PARAM and STATE
   leaves (written by STORE and the updates), scalars[slot] for SCALAR leaves. */
struct tlmc_env {
    struct tlmc_tensor *inputs, *params;
    const double *scalars;
    uint64_t seed, step; /* of random draws: key = f(seed, step, site) */
};

/* Evaluates the nodes of the phases in `phases` (bits 1 << TLMC_FORWARD ...) and stores every value
   computed in values[id] (type count value_count; data NULL where not computed).  Earlier phases'
   values may be present. False with a message in error (256 bytes) for an index out of range: the
   one run-time error there is. */
bool tlmc_interpret(const struct tlmc_graph *graph, const struct tlmc_env *env, unsigned phases,
                    struct tlmc_tensor *values, char *error);
void tlmc_tensor_free(struct tlmc_tensor *tensors, uint32_t count);
struct tlmc_tensor tlmc_tensor_new(const struct tlmc_type *type); /* zeros */

/* The initial value of a parameter under a seed (docs/numerics.md: counters by ordinal, binary64,
   rounded once to binary32). */
void tlmc_init_param(const struct tlmc_param *param, uint64_t seed, double *data);
uint64_t tlmc_spec_splitmix64(uint64_t z);
uint64_t tlmc_spec_random_key(uint64_t seed, uint64_t step, uint64_t site);

#endif
