/* --infer: arrays in, arrays out.  Either the arrays have the form's own shapes, or any number of
   rows goes through in batches of the form's first axis (the last one filled up with copies, whose
   results are dropped).  Outputs are written only after every row has been computed. */
#ifndef TLM_INFER_H
#define TLM_INFER_H

#include "session.h"

tlm_status tlm_infer_main(struct tlm_session *session);

#endif
