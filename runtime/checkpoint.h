/* tlm_load and tlm_save (tlm.h) in the form that tests need: with the system calls of the save
   replaceable, and the load from memory.

   Layout of a saved file: every trained parameter and saved state under its key; with a run also
   the optimizer's state (keys that begin with "tlm.") and "tlm.run", an U64 tensor of a version,
   step, seed, epoch, position, planned steps, the number of powers and the powers' binary64 bits.
   NaNs are stored as 7fc00000.  Wider elements come first, so that every tensor is aligned in the
   file. */
#ifndef TLM_CHECKPOINT_H
#define TLM_CHECKPOINT_H

#include "file.h"

#define TLM_RUN_KEY "tlm.run"

tlm_status tlm_load_bytes(const tlm_param *params, size_t count, const uint8_t *bytes, size_t size,
                          const char *path, const tlm_mapping *mapping, tlm_run_state *run,
                          tlm_log_fn *log, void *log_user, char *error);
tlm_status tlm_save_with(const tlm_param *params, size_t count, const char *path,
                         const tlm_run_state *run, const struct tlm_file_calls *calls, char *error);

#endif
