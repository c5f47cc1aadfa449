/* Where files of the CUDA toolkit lie: --cuda-path, which is believed alone; else $CUDA_HOME,
   $CUDA_PATH and the folder that this tlmc was configured with.  Looks when a build for CUDA asks,
   never before. */
#ifndef TLMC_DRIVER_TOOLKIT_H
#define TLMC_DRIVER_TOOLKIT_H

#include "arena.h"
#include "strbuf.h"

#include <stdbool.h>

enum { TLMC_TOOLKIT_FOLDERS = 16 };

struct tlmc_toolkit {
    const char *libraries[TLMC_TOOLKIT_FOLDERS + 1]; /* folders; NULL-terminated */
    const char *headers[TLMC_TOOLKIT_FOLDERS + 1];
    const char *tools[TLMC_TOOLKIT_FOLDERS + 1];
    bool asked; /* --cuda-path was given: nowhere else is looked */
};

/* Was this tlmc configured with a toolkit?  If not, programs for CUDA get the stub. */
bool tlmc_toolkit_configured(void);
/* `path`: of --cuda-path, or NULL.  The texts are the arena's. */
void tlmc_toolkit_find(struct tlmc_toolkit *toolkit, const char *path, struct tlmc_arena *arena);
/* The first folder of a list that holds the file; NULL: `why` says where it is not. */
const char *tlmc_toolkit_folder(const char *const *folders, const char *file,
                                struct tlmc_arena *arena, struct tlmc_strbuf *why);

#endif
