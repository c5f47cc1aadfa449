/* A compilation: everything from a path to an accepted plan, with one arena that is freed at the
   end.  Diagnostics are printed to stderr by tlmc_compilation_end. */
#ifndef TLMC_DRIVER_PIPELINE_H
#define TLMC_DRIVER_PIPELINE_H

#include "options.h"

#include "diag.h"
#include "emit.h"
#include "module.h"
#include "plan.h"

enum { TLMC_EXIT_OK = 0, TLMC_EXIT_INPUT = 1, TLMC_EXIT_USAGE = 2, TLMC_EXIT_PLAN = 3 };

struct tlmc_compilation {
    const struct tlmc_options *options;
    struct tlmc_arena arena;
    struct tlmc_symtab symbols;
    struct tlmc_sources sources;
    struct tlmc_diags diags;
    struct tlmc_catalog *catalog;
    struct tlmc_module *module;
    struct tlmc_plan *plan;
};

/* Runtime and kernel files as text, for --single-file and build; ended by a NULL name. */
struct tlmc_program_text {
    const char *name, *text;
    size_t length; /* of the text, without its NUL */
};
extern const struct tlmc_program_text tlmc_program_texts[];
/* libtlm.o: shell and runtime as one object, compiled with the compiler that made tlmc; build links
   it where the compiler and its flags are not the user's choice. */
extern const struct tlmc_program_text tlmc_program_objects[];
const char *tlmc_find_program_text(const char *name); /* NULL: none */

void tlmc_compilation_begin(struct tlmc_compilation *c, const struct tlmc_options *options);
/* Prints what was reported and frees everything; returns `status`, or TLMC_EXIT_INPUT if it was 0
   and there are errors. */
int tlmc_compilation_end(struct tlmc_compilation *c, int status);

/* Each stage returns TLMC_EXIT_OK or the exit status to end with. */
int tlmc_stage_module(struct tlmc_compilation *c);  /* front end and passes */
int tlmc_stage_catalog(struct tlmc_compilation *c); /* the registry and --capsules */
int tlmc_stage_plan(struct tlmc_compilation *c);    /* both, and a plan: accepted or not */
enum tlmc_emit_form {
    TLMC_EMIT_FOLDER, /* to be compiled against an installed tlmc */
    TLMC_EMIT_SINGLE, /* single files that need nothing else */
    TLMC_EMIT_LINKED  /* single files, but for shell and runtime: libtlm.o */
};
int tlmc_stage_emit(struct tlmc_compilation *c, enum tlmc_emit_form form,
                    struct tlmc_emission *out);

#endif
