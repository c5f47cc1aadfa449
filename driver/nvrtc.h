/* NVRTC, the toolkit's compiler for CUDA C++ as a library, loaded when a build asks for device code
   and never before.  In: a text, its headers as texts, one architecture.  Out: the log, the cubin
   and the PTX.  No header of the toolkit is needed; refuses libraries that lack a function. */
#ifndef TLMC_DRIVER_NVRTC_H
#define TLMC_DRIVER_NVRTC_H

#include "strbuf.h"

#include <stdbool.h>

enum { TLMC_NVRTC_ARCHS = 64 };

struct tlmc_nvrtc {
    void *library;
    const struct tlmc_nvrtc_calls *calls; /* the heap's, freed by close */
    int major, minor;
    unsigned archs[TLMC_NVRTC_ARCHS]; /* what it compiles for: 75, 80, ... */
    unsigned arch_count;
};

/* Looks in `folders` (NULL-terminated, in that order), with `system` also where the dynamic linker
   looks.  False: `why` says where it looked and what it found. */
bool tlmc_nvrtc_open(struct tlmc_nvrtc *nvrtc, const char *const *folders, bool system,
                     struct tlmc_strbuf *why);
void tlmc_nvrtc_close(struct tlmc_nvrtc *nvrtc);
bool tlmc_nvrtc_knows(const struct tlmc_nvrtc *nvrtc, unsigned arch);

struct tlmc_nvrtc_source {
    const char *name, *text; /* of the device code; messages begin with the name */
    const char *const *header_names, *const *header_texts;
    unsigned header_count;
};

struct tlmc_nvrtc_result {
    struct tlmc_strbuf log, cubin, ptx; /* owned by the caller: tlmc_nvrtc_result_free */
};

/* False: it does not compile, or NVRTC failed; the log says why. */
bool tlmc_nvrtc_compile(const struct tlmc_nvrtc *nvrtc, const struct tlmc_nvrtc_source *source,
                        unsigned arch, struct tlmc_nvrtc_result *result);
void tlmc_nvrtc_result_free(struct tlmc_nvrtc_result *result);

#endif
