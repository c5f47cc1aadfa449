/* Which rows a run uses, and in which order.

   A subset is a part of a dataset: a range, or a list of rows (a random split).  An order walks a
   subset in batches, epoch after epoch; the rows behind the last full batch of an epoch are left
   out of it.  All random choices are Fisher-Yates on the counters of docs/numerics.md, keyed by the
   seed and, for shuffling, the epoch: for i from n - 1 down to 1, element i changes places with
   element splitmix64(key + i) mod (i + 1). */
#ifndef TLM_ORDER_H
#define TLM_ORDER_H

#include "tlm_program.h"

#include <stdbool.h>

struct tlm_subset {
    size_t begin, count;
    uint32_t *index; /* owned; NULL: the rows begin, begin + 1, ... */
};

/* Splits `rows` rows; without a split (or with validation data of its own) *validation is empty.
   TLM_ERR_MISMATCH when a part would be empty.  Free both, also after a failure. */
tlm_status tlm_split_rows(const tlm_train *train, size_t rows, uint64_t seed,
                          struct tlm_subset *training, struct tlm_subset *validation, char *error);
void tlm_subset_free(struct tlm_subset *subset);
size_t tlm_subset_row(const struct tlm_subset *subset, size_t i);

struct tlm_order {
    const struct tlm_subset *subset;
    size_t batch; /* <= subset->count */
    uint64_t seed, epoch;
    size_t position;    /* next row of the epoch's order */
    uint32_t *shuffled; /* owned; NULL: in order */
};

/* Starts at `position` of `epoch`. */
tlm_status tlm_order_start(struct tlm_order *order, const struct tlm_subset *subset, size_t batch,
                           bool shuffle, uint64_t seed, uint64_t epoch, uint64_t position,
                           char *error);
void tlm_order_free(struct tlm_order *order);

/* The rows of the next batch into rows[batch]. */
void tlm_order_next(struct tlm_order *order, size_t *rows);

/* list[i] = i, then shuffled. */
void tlm_shuffle(uint32_t *list, size_t count, uint64_t key);

#endif
