/* --check-gradients: on the first batch, gradients of NAME_train_backward against central
   differences of the training loss, for a few elements of each trained parameter: some drawn, and
   those with the largest gradients.  See Note [Bound] in gradcheck.c. */
#ifndef TLM_GRADCHECK_H
#define TLM_GRADCHECK_H

#include "session.h"

/* Prints a line for each parameter and the worst; TLM_ERR_MISMATCH when the bound is passed. */
tlm_status tlm_gradcheck_main(struct tlm_session *session);

#endif
