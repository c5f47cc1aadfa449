/* What an outcome must be, whatever ran it: CMocka assertions for the programs run_values and
   run_cuda. */
#ifndef TLMC_TESTS_OPS_COMPARE_H
#define TLMC_TESTS_OPS_COMPARE_H

#include "emitted.h"

/* Done, or refused with TLM_ERR_INDEX where an index is out of range; no guard overwritten. */
void ops_check_status(const struct ops_case *c, const struct ops_outcome *o);
/* Near the interpreter's values, as cases.def says. */
void ops_check_value(const struct ops_case *c, const struct ops_outcome *o);

/* Results and operands after the run by the arithmetic contract (exact.c). */
struct ops_contract {
    struct ops_buffer operands[OPS_MAX_OPERANDS], results[OPS_MAX_RESULTS];
};

struct ops_contract ops_contract_of(const struct ops_case *c);
void ops_contract_free(struct ops_contract *k);
/* The same bits; `how` names the run in messages. */
void ops_check_bits(const struct ops_case *c, const struct ops_outcome *o,
                    const struct ops_contract *k, const char *how);

#endif
