/* The cases of an op as a CUDA program on this machine: emitted once, built and opened once for
   each layer that executes device code, and the controls of the layer that is linked into it
   (tests/cuda_host/host.h, host_cudart.h). */
#ifndef TLMC_TESTS_OPS_CUDA_H
#define TLMC_TESTS_OPS_CUDA_H

#include "emitted.h"

#include "host.h"

enum ops_layer {
    OPS_LAYER_PLAIN,   /* device code compiled by g++; in a build with sanitizers, with those */
    OPS_LAYER_CHECKED, /* the same under the checker of races, bounds and unwritten memory */
    OPS_LAYER_PTX,     /* what NVRTC emits, interpreted */
    OPS_LAYERS
};

/* Of a shared object; all from host.h and host_cudart.h but empty_cache, of tlm_cuda.h. */
struct ops_host {
    int (*schedule)(const char *text);
    void (*quiet)(int on);
    unsigned (*total)(void);
    unsigned (*count)(tlm_host_kind kind);
    const char *(*text)(unsigned back);
    void (*reset)(void);
    void (*defer)(uint64_t seed);
    void (*forgive)(void);
    void (*capability)(int cc);
    size_t (*leaks)(char *text, size_t capacity);
    tlm_status (*empty_cache)(char *error);
};

struct ops_cuda {
    struct ops_program program;
    struct ops_host host;
};

/* "", or why this build has no such layer. */
const char *ops_layer_missing(enum ops_layer layer);
/* Emits into `dir` and compiles the host code.  False with what went wrong on stderr, as below. */
bool ops_cuda_emit(struct ops_program *p, const struct ops_list *list, const char *dir);
/* Builds and opens one layer of what was emitted into `dir`.  It stays open: what it keeps about
   dead handles is reachable only from there. */
bool ops_cuda_open(struct ops_cuda *cuda, enum ops_layer layer, const struct ops_list *list,
                   const char *dir);

enum { OPS_PTX_ARCHS = 2 };
extern const unsigned ops_ptx_archs[OPS_PTX_ARCHS];
/* ptx.c: PTX of dir/cases.cu for each of them, as C text in dir/ptx_images.c. */
bool ops_cuda_ptx(const char *dir);

/* How one run goes about it. */
struct ops_how {
    const char *schedule; /* of blocks and threads */
    uint64_t defer;       /* seed; 0: work runs at the call */
    bool no_graph;
};

/* Runs a case; *report is NULL or what the layer reported, kept until the next run.  Of a run that
   is refused, results may be unwritten where they are copied to the host. */
struct ops_outcome ops_cuda_run(struct ops_cuda *cuda, const struct ops_list *list, uint32_t index,
                                struct ops_how how, const char **report);

#endif
