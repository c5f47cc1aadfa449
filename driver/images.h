/* The device code of a program: NAME.cu compiled for every architecture that was asked for, each
   result read back and checked against what the host code passes, and all of them in NAME_images.c,
   in the table that the session of the program chooses from: one compressed fatbin, made by the
   toolkit's fatbinary, or without that tool a plain C array each.  Refuses wrong lists of
   architectures (exit 2); what does not compile or does not fit is a fault of tlmc, said so. */
#ifndef TLMC_DRIVER_IMAGES_H
#define TLMC_DRIVER_IMAGES_H

#include "cubin.h"
#include "emit.h"
#include "jobs.h"
#include "nvrtc.h"

enum { TLMC_REGISTER_GRAIN = 8 }; /* registers are handed out by so many a thread */

struct tlmc_images {
    struct tlmc_arena *arena;
    const struct tlmc_nvrtc *nvrtc;
    unsigned archs[TLMC_NVRTC_ARCHS]; /* ascending; of the first also the PTX is kept */
    unsigned arch_count;
    const char *folder;    /* where results of the compilers lie, one file an architecture */
    const char *fatbinary; /* the toolkit's tool; NULL: images travel one by one, plain */
    const char *name;      /* of the model */
    struct tlmc_nvrtc_source source;
    const struct tlmc_emitted_kernel *kernels;
    unsigned kernel_count;
};

/* "80,90"; NULL: the default, as far as this NVRTC goes.  False: one message was printed. */
bool tlmc_images_choose(struct tlmc_images *images, const char *list);
/* Gives `source` every text that this tlmc carries as a header. */
void tlmc_images_source(struct tlmc_images *images, const char *file, const char *text);
/* One job an architecture. */
void tlmc_images_compile(const struct tlmc_images *images, struct tlmc_jobs *jobs);
/* After the jobs: reads what they made, checks it and writes the text of NAME_images.c.  False:
   every violation was printed. */
bool tlmc_images_collect(const struct tlmc_images *images, struct tlmc_strbuf *out);
/* The PTX, for people: NAME_<arch>.ptx in another folder. */
const char *tlmc_images_ptx_name(const struct tlmc_images *images);
bool tlmc_images_keep_ptx(const struct tlmc_images *images, const char *folder);
/* The table of a program that gets the stub: no image. */
void tlmc_images_none(struct tlmc_arena *arena, const char *name, struct tlmc_strbuf *out);

/* The check of one cubin, and what it looks for.  NULL: it fits; else what does not, in the
   arena. */
const char *tlmc_images_misfit(const struct tlmc_cubin_kernel *compiled,
                               const struct tlmc_emitted_kernel *wanted, struct tlmc_arena *arena);

#endif
