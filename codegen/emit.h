/* An accepted plan -> source text.  Takes nothing else; writes into buffers, the driver writes
   files.  The same plan, options and version give the same bytes. */
#ifndef TLMC_CODEGEN_EMIT_H
#define TLMC_CODEGEN_EMIT_H

#include "plan.h"
#include "strbuf.h"

struct tlmc_emit_options {
    bool single_file; /* NAME.c with every kernel it needs, NAME_main.c with shell and runtime
                         inlined */
    bool with_main;   /* also NAME_main.c */
    bool shell_apart; /* in single files: NAME_main.c without shell and runtime, to be linked with
                         libtlm */
    const char *version; /* of tlmc */
    /* Options of the command line that shaped the model and stand in no plan, for "regenerate
       with": folders of -I and passes of --no-pass.  NULL-terminated; NULL: none. */
    const char *const *includes, *const *passes_off;
    /* Text of a runtime or kernel file by its include name ("tlm_rt.h", "ref/matmul.h", "shell.c");
       NULL: no such file. Needed for single_file. */
    const char *(*source)(const char *name);
};

struct tlmc_emitted {
    const char *name;
    struct tlmc_strbuf text;
};

/* A kernel of NAME.cu, as its host code launches it: what a build checks the compiled code against.
 */
struct tlmc_emitted_kernel {
    const char *name;
    uint32_t threads;   /* of a block */
    uint32_t arg_bytes; /* of the one struct it takes */
    uint32_t stack;     /* bytes a thread may have there; 0: the kernel must not spill */
};

enum { TLMC_EMIT_LINKS = 16 };

/* Bytes of stack that a thread of a product may have.  The largest tile uses all 128 registers that
   two blocks side by side leave to a thread, and which way a few addresses go differs from run to
   run of the compiler; they are outside of the loop over k. */
enum { TLMC_CUDA_TILE_STACK = 64 };

/* Architectures that device code is compiled for unless others are named. */
#define TLMC_CUDA_ARCHITECTURES "80,90,100,120"

struct tlmc_emission {
    /* NAME.h, NAME.c, NAME_main.c, NAME.plan.json, CMakeLists.txt; for CUDA also NAME.cu, and in
       single files NAME_cuda.c, the CUDA runtime */
    struct tlmc_emitted files[8];
    unsigned count;
    bool cuda, cublas; /* the program needs compiled NAME.cu; calls of cuBLAS */
    const struct tlmc_emitted_kernel *kernels;
    unsigned kernel_count;
    const char *links[TLMC_EMIT_LINKS]; /* link flags of users' capsules, each once: "-lmy_npu" */
    unsigned link_count;
};

/* False when something cannot be emitted (reported to diags: a capsule without an emitter, a kernel
   text missing). */
bool tlmc_emit_c(const tlmc_accepted_plan *plan, const struct tlmc_emit_options *options,
                 struct tlmc_emission *out, struct tlmc_diags *diags);
void tlmc_emission_free(struct tlmc_emission *emission);

#endif
