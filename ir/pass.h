/* The passes: one file each, in one visible table (pass.c).  Each works on every form of a module
   and leaves a graph that tlmc_form_verify accepts; tlmc_run_passes verifies after each one and
   names the pass that broke a rule. */
#ifndef TLMC_IR_PASS_H
#define TLMC_IR_PASS_H

#include "module.h"

struct tlmc_pass {
    const char *name;
    void (*run)(struct tlmc_module *module, struct tlmc_diags *diags);
    const char *title; /* one line for --help and docs */
    bool optional;     /* may be switched off with --no-pass=NAME: bits do not change */
};

/* In order, ended by a row without a name. */
extern const struct tlmc_pass tlmc_passes[];

struct tlmc_pass_options {
    const char *dump_after; /* pass name, or NULL */
    const char *stop_after;
    const char *const *off;   /* names of optional passes to leave out, NULL-terminated; or NULL */
    struct tlmc_strbuf *dump; /* where --dump-after goes */
};

/* Runs the table.  False when a pass reported an error to diags. */
bool tlmc_run_passes(struct tlmc_module *module, const struct tlmc_pass_options *options,
                     struct tlmc_diags *diags);

/* The pass functions; needs / keeps / breaks stand above each in its file. */
void tlmc_pass_autodiff(struct tlmc_module *module,
                        struct tlmc_diags *diags); /* TRAIN forms: backward nodes, grads */
void tlmc_pass_optimizer(
    struct tlmc_module *module,
    struct tlmc_diags *diags); /* accumulate, clip, update nodes and their states */
void tlmc_pass_fold(struct tlmc_module *module, struct tlmc_diags *diags);
void tlmc_pass_cse(struct tlmc_module *module, struct tlmc_diags *diags);
void tlmc_pass_canonical(struct tlmc_module *module,
                         struct tlmc_diags *diags); /* bit-preserving clean-up */
void tlmc_pass_dce(struct tlmc_module *module, struct tlmc_diags *diags);

/* Gradients of the scalar `loss` with respect to `wanted` (values of the graph), appended to the
   graph as BACKWARD nodes; out[i] = TLMC_NONE where wanted[i] is not reached.  Several consumers:
   contributions are added in reverse order of the forward consumers, the first is not added to
   zero. */
void tlmc_autodiff(struct tlmc_graph *graph, uint32_t loss, const uint32_t *wanted, uint32_t count,
                   uint32_t *out);
/* The same from several seeded values: seeds[i] is the incoming gradient of outputs[i] (test tool
   and inner use). */
void tlmc_vjp(struct tlmc_graph *graph, const uint32_t *outputs, const uint32_t *seeds,
              uint32_t output_count, const uint32_t *wanted, uint32_t count, uint32_t *out);
/* Forward mode: tangents[i] of inputs[i] -> tangents of outputs (TLMC_NONE: zero). */
void tlmc_jvp(struct tlmc_graph *graph, const uint32_t *inputs, const uint32_t *tangents,
              uint32_t input_count, const uint32_t *outputs, uint32_t output_count, uint32_t *out);

#endif
