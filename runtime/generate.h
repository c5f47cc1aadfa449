/* --generate: a prompt in, text out.  The window of the form's input holds the last T tokens, pads
   (0) after them; the logits are those of the last real token.  An input of one token is fed one at
   a time, through the transient states.

   A token is drawn by the Gumbel rule: among the top_k likeliest, the one with the greatest
   logit / temperature - log(-log(u)), u = (low32 + 0.5) / 2^32 of counter `token id` under the key
   of (seed, number of the token).  Temperature 0 takes the greatest logit.  Ties go to the lower
   id. */
#ifndef TLM_GENERATE_H
#define TLM_GENERATE_H

#include "session.h"

tlm_status tlm_generate_main(struct tlm_session *session);

/* The token for `logits[count]`; -1 when one is NaN.  `scratch` has room for count entries. */
struct tlm_candidate {
    float logit;
    int32_t token;
};
int32_t tlm_sample(const float *logits, uint32_t count, double temperature, int64_t top_k,
                   uint64_t key, struct tlm_candidate *scratch);

#endif
