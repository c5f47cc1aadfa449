/* The draws that the program shell makes itself, on the same counters as the model's
   (docs/numerics.md, Random).  A model numbers its places from 0, so the shell's are numbered from
   the other end. */
#ifndef TLM_RANDOM_SITES_H
#define TLM_RANDOM_SITES_H

#include "tlm_rt.h"

#define TLM_SITE_SHUFFLE (UINT64_MAX)    /* run = epoch */
#define TLM_SITE_SPLIT (UINT64_MAX - 1)  /* run = 0 */
#define TLM_SITE_SAMPLE (UINT64_MAX - 2) /* run = number of the token */
#define TLM_SITE_CHECK (UINT64_MAX - 3)  /* run = number of the parameter */

#endif
