/* A pool of threads for the parallel loops of models: hand tlm_pool_run and the pool to
   tlm_options.parallel and parallel_user.  Part of libtlm; the program shell uses one.

   A loop is cut into at most one piece a thread, and the calling thread works too.  A thread that
   has nothing to do waits actively for moments and then sleeps, and pieces of a thread that does
   not come are done by the others: on a machine that others use too, a loop takes its share and no
   more.  A loop from inside a loop, or from a second thread while one runs, is done by its caller
   alone.  After fork the child's loops are done by the child alone. */
#ifndef TLM_POOL_H
#define TLM_POOL_H

#include "tlm.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tlm_pool tlm_pool;

/* A pool of `threads` threads, the calling one included; 0: as many as tlm_processors says.  Free
   it with tlm_pool_free.  Fewer threads than asked for are a failure, with their number in `error`
   (TLM_ERROR_BYTES or NULL). */
tlm_status tlm_pool_new(tlm_pool **pool, uint32_t threads, char *error);

/* Ends the threads; no loop may run.  NULL: nothing. */
void tlm_pool_free(tlm_pool *pool);

uint32_t tlm_pool_threads(const tlm_pool *pool);

/* A tlm_parallel_fn; `pool` is a tlm_pool. */
void tlm_pool_run(void *pool, size_t count, size_t grain, tlm_range_fn *fn, void *context);

/* How many processors this process may run on, from 1 to TLM_MAX_THREADS. */
uint32_t tlm_processors(void);

#ifdef __cplusplus
}
#endif
#endif
