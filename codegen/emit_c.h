/* Shared by the emit_*.c files: the state of one emission and the small vocabulary they build text
   with.  Two targets, C for the CPU and C with device code for CUDA, share forms, names, entry
   points and kernel calls; what differs is in emit_body.c (a step's body and the statement that
   runs it) and emit_cuda.c.  Texts live in the module's arena unless said otherwise. */
#ifndef TLMC_CODEGEN_EMIT_C_H
#define TLMC_CODEGEN_EMIT_C_H

#include "emit.h"
#include "names.h"
#include "writer.h"

/* Public tensors of a form. */
enum tlmc_io_kind { TLMC_IO_INPUT, TLMC_IO_OUTPUT, TLMC_IO_LOSS, TLMC_IO_METRIC, TLMC_IO_KINDS };

/* Of every block of a CUDA launch: TLMK_THREADS of kernels_cuda/blocks.h, which emitted code
 * asserts. */
enum { TLMC_CUDA_THREADS = 256 };

/* One form of one entry, with the names that its text uses. */
struct tlmc_emit_form {
    const struct tlmc_plan_form *plan;
    const struct tlmc_form *form;
    const struct tlmc_graph *graph;
    const char *
        label; /* "train", "evaluate", "infer", the entry's name: file-scope identifiers carry it */
    const char *prefix; /* of public tensor accessors: "MODEL_" or "MODEL_label_" */
    const char
        *run; /* public function that runs it: MODEL_infer, MODEL_evaluate, MODEL_train_forward */
    const char *
        *locals; /* a value: name of the pointer to it in entry points; NULL: not asked for yet */
    const char **offsets;           /* a storage in the arena: its enumerator */
    const char **io[TLMC_IO_KINDS]; /* CUDA: enumerators of the host's copies */
    struct tlmc_names names;
    uint32_t index;
    bool draws; /* has random nodes */
};

struct tlmc_emit_body { /* a step body, shared by all steps with the same text */
    tlmc_sym key;
    const char *name;
    uint32_t arg_bytes; /* of its struct */
    uint32_t stack;     /* CUDA: bytes a thread may have there */
};

struct tlmc_emit_use { /* a local pointer of the function being written, or of a step in it */
    uint32_t value;
    bool written;
};
typedef TLMC_VEC(struct tlmc_emit_use) tlmc_emit_use_vec;

struct tlmc_emit_table { /* a static const array */
    enum tlmc_dtype dtype;
    const char *text, *name;
    const char *place; /* CUDA: enumerator of its offset on the device */
    size_t offset;
};

struct tlmc_emit_check { /* CUDA: indices that a kernel checks */
    int64_t limit;
    const char *tensor, *place;
};

struct tlmc_emit {
    const struct tlmc_plan *plan;
    const struct tlmc_module *module;
    const struct tlmc_emit_options *options;
    struct tlmc_diags *diags;
    struct tlmc_arena *arena;
    const char *model, *MODEL; /* the module's name, and in upper case */
    struct tlmc_emit_form *forms;
    uint32_t form_count;
    struct tlmc_names names; /* file scope of NAME.c */
    struct tlmc_symtab body_keys;
    TLMC_VEC(struct tlmc_emit_body) bodies;
    TLMC_VEC(struct tlmc_emit_body) segments; /* CUDA: bodies in kernels of several calls */
    TLMC_VEC(struct tlmc_emit_table) tables_made;
    struct tlmc_writer rows;    /* of the table of parameters */
    uint32_t param_count;       /* module params that this emission has */
    const char **param_offsets; /* a module param: its enumerator */
    struct tlmc_strbuf tables_text, bodies_text, entries_text;
    struct tlmc_writer tables, body; /* onto the first two */
    struct tlmc_strbuf statements;   /* of the function being written */
    struct tlmc_writer entry;        /* onto them */
    tlmc_emit_use_vec uses;          /* its pointers */
    tlmc_emit_use_vec step_uses;     /* those of the step being written, in the call's order */
    TLMC_VEC(const char *) headers;  /* of kernels, in order of first use */
    TLMC_VEC(const char *) links;    /* of user capsules */
    bool cuda;
    TLMC_VEC(const char *) device_headers; /* CUDA: of kernels, included by NAME.cu */
    TLMC_VEC(struct tlmc_emit_check) checks;
    struct tlmc_strbuf structs_text; /* CUDA: the args structs, for NAME.c */
    struct tlmc_writer structs;      /* onto them */
    struct tlmc_strbuf offsets_text; /* CUDA: asserts about the offsets in NAME.cu, for NAME.c */
    struct tlmc_writer offsets;      /* onto them */
    size_t table_bytes, io_bytes;    /* CUDA: constants on the device; tensors on the host */
    const char **io_gradients;       /* CUDA: a gradient of the training form: its enumerator */
    size_t head_bytes;               /* of the model struct at the start of the state block */
    size_t state_bytes;              /* with it */
    uint64_t digest;                 /* of the model's text and the user's capsule files */
    uint32_t abi;
    bool failed;
};

/* ---- emit_c.c */
/* Something cannot be emitted: reported at the node's place. */
void tlmc_emit_refuse(struct tlmc_emit *e, const struct tlmc_node *node, const char *fmt, ...)
    TLMC_PRINTF(3, 4);
const char *tlmc_emit_printf(struct tlmc_emit *e, const char *fmt, ...) TLMC_PRINTF(2, 3);
/* A C string literal: continued lines are indented so far. */
const char *tlmc_emit_quoted(struct tlmc_emit *e, const char *text, int indent);
/* The node's place in the source, as one. */
const char *tlmc_emit_quoted_place(struct tlmc_emit *e, const struct tlmc_node *node);
void tlmc_emit_need_header(struct tlmc_emit *e, const char *header);
void tlmc_emit_need_device_header(struct tlmc_emit *e, const char *header);
bool tlmc_emit_uses_cublas(const struct tlmc_emit *e);
/* Bytes of the activations block that the caller hands in. */
size_t tlmc_emit_activations_bytes(const struct tlmc_emit *e);
const struct tlmc_emit_form *
tlmc_emit_training(const struct tlmc_emit *e); /* NULL: nothing trains */
/* Optimizer states and accumulators go when nothing trains. */
bool tlmc_emit_has_param(const struct tlmc_emit *e, uint32_t param);
struct tlmc_emit_form *tlmc_emit_find_form(struct tlmc_emit *e, const struct tlmc_form *form);
/* "quickstart_mlp.tlm:8:8": file name without folders. */
const char *tlmc_emit_place(struct tlmc_emit *e, struct tlmc_span span);
/* "fc1_weight: f32[8, 2]", for comments. */
const char *tlmc_emit_value_text(struct tlmc_emit *e, const struct tlmc_emit_form *form,
                                 uint32_t value);

/* ---- emit_values.c: where values live, what they are called */
const struct tlmc_placement *tlmc_emit_placement(const struct tlmc_emit_form *form,
                                                 uint32_t value); /* of its storage */
/* The leaf's slot of a value in WEIGHTS, STATE or SCALAR. */
uint32_t tlmc_emit_slot(const struct tlmc_emit_form *form, uint32_t value);
/* "step_size", with the optimizer group when there are several. */
const char *tlmc_emit_scalar_name(struct tlmc_emit *e, uint32_t slot);
const char *tlmc_emit_local(struct tlmc_emit *e, struct tlmc_emit_form *form, uint32_t value);
/* The address of a value's first element, as C: "tlm_f32_at(m->activations, AT_TRAIN_H)". */
const char *tlmc_emit_address(struct tlmc_emit *e, struct tlmc_emit_form *form, uint32_t value);
/* The enumerator of a value's offset in a block ("weights", "state", "activations", on CUDA also
   "tables"); NULL: it lies in none. */
const char *tlmc_emit_offset(struct tlmc_emit *e, struct tlmc_emit_form *form, uint32_t value,
                             const char **block);
/* "m->weights", or "m->cuda.weights" where the values live on the device. */
const char *tlmc_emit_block(const struct tlmc_emit *e, const char *name);
/* Do the two values share a byte? */
bool tlmc_emit_overlap(const struct tlmc_emit_form *form, uint32_t a, uint32_t b);
bool tlmc_emit_is_literal(const struct tlmc_emit_form *form, uint32_t value);
const char *tlmc_emit_literal(struct tlmc_emit *e, const struct tlmc_emit_form *form,
                              uint32_t value);
/* Enumerators of all offsets with the memory plan beside them. */
void tlmc_emit_memory(struct tlmc_emit *e, struct tlmc_strbuf *out);
/* The plan of one form as text, for --show-memory. */
const char *tlmc_emit_memory_text(struct tlmc_emit *e, const struct tlmc_emit_form *form);

/* ---- emit_steps.c: entry points */
/* The functions of a form: its run, or forward, backward, accumulate, step and batch. */
void tlmc_emit_form_functions(struct tlmc_emit *e, struct tlmc_emit_form *form);
/* In a function being written: the local pointer to a value, declared at its top. */
const char *tlmc_emit_use(struct tlmc_emit *e, struct tlmc_emit_form *form, uint32_t value,
                          bool written);
bool tlmc_emit_has_phase(const struct tlmc_emit_form *form, enum tlmc_phase phase);

/* ---- emit_body.c: step bodies */
struct tlmc_call {
    struct tlmc_emit *e;
    struct tlmc_emit_form *form;
    const struct tlmc_step *step;
    const struct tlmc_node *node;
    const struct tlmc_capsule *capsule;
    struct tlmc_strbuf fields; /* members of the args struct */
    struct tlmc_strbuf sizes;  /* "M = 1, N = 8": constants at the head of the body */
    struct tlmc_strbuf lists;  /* "const size_t dims[2] = { 2, 8 };" there */
    struct tlmc_strbuf inits;  /* ".y = h, .x = x" */
    const char *shape;         /* for the body's name: "25x8" */
    uint32_t arg_bytes;        /* of the fields so far */
    uint32_t stack;            /* CUDA: bytes a thread of the kernel may have there */
    struct tlmc_segments
        *segments; /* CUDA: the launch that this call joins; NULL: one of its own */
    bool by_block; /* its kernel takes the number of the block: it can be a segment of a launch */
};

struct tlmc_segment { /* a call whose blocks stand beside those of others */
    const char *op, *shape;
    const char *name;   /* of its body */
    const char *member; /* of the kernel's struct: its operands */
    const char *blocks, *inits;
    uint32_t arg_bytes, stack;
};
struct tlmc_segments {
    TLMC_VEC(struct tlmc_segment) list;
};

/* How a kernel is run: the items of its loop on the CPU, the blocks of its launch on CUDA, and
   simple operations in all. */
struct tlmc_geometry {
    const char *items, *blocks;
    double work;
};

void tlmc_call_begin(struct tlmc_call *call, struct tlmc_emit *e, struct tlmc_emit_form *form,
                     const struct tlmc_step *step);
/* To the step's n-th node. */
void tlmc_call_node(struct tlmc_call *call, uint32_t n);
void tlmc_call_end(struct tlmc_call *call);
/* A member of the args struct, `ctype` with its star; given as `text` by the entry point. */
void tlmc_call_field(struct tlmc_call *call, const char *ctype, const char *name, const char *text);
/* The member for a value read or written. */
void tlmc_call_value(struct tlmc_call *call, const char *name, uint32_t value, bool written);
void tlmc_call_input(struct tlmc_call *call, const char *name, uint32_t input);
void tlmc_call_output(struct tlmc_call *call, const char *name, uint32_t result);
/* An array of pointers to `count` operands of one element type. */
void tlmc_call_inputs(struct tlmc_call *call, const char *name, uint32_t first, uint32_t count);
/* "const size_t rows = 25;" in the body (uint32_t on CUDA). */
void tlmc_call_size(struct tlmc_call *call, const char *name, int64_t value);
void tlmc_call_sizes(struct tlmc_call *call, const char *name, int count, const int64_t *values);
/* The same for distances between elements (uint64_t on CUDA). */
void tlmc_call_strides(struct tlmc_call *call, const char *name, int count, const int64_t *values);
/* The kernel's symbol for the element type of this node. */
const char *tlmc_call_symbol(struct tlmc_call *call);
/* The body (made once for all steps of the same text) and the statement that runs it. */
void tlmc_call_run(struct tlmc_call *call, const char *base, const char *comment, const char *text,
                   struct tlmc_geometry geometry);
/* CUDA, calls side by side: the kernel of all segments and the statement that launches it. */
void tlmc_call_run_segments(struct tlmc_call *call);

/* ---- emit_rates.c: what a model with optimizer groups has for their learning rates */
bool tlmc_emit_has_rates(const struct tlmc_emit *e);
void tlmc_emit_rate_tables(struct tlmc_emit *e, struct tlmc_writer *w);
void tlmc_emit_rate_functions(struct tlmc_writer *w);

/* ---- emit_pointwise.c, emit_calls.c, emit_update.c, emit_user.c */
void tlmc_emit_pointwise(struct tlmc_emit *e, struct tlmc_emit_form *form,
                         const struct tlmc_step *step);
void tlmc_emit_updates(struct tlmc_emit *e, struct tlmc_emit_form *form,
                       const struct tlmc_step *step);
void tlmc_emit_user_call(struct tlmc_call *call);

/* ---- emit_cuda.c: what only the CUDA target has */
/* Names and offsets of the tensors that travel between host and device. */
void tlmc_cuda_set_up(struct tlmc_emit *e);
/* A kernel that leaves the first index outside [0, limit) in the model's fault. */
void tlmc_cuda_check_index(struct tlmc_call *call, uint32_t input, int64_t limit);
/* Everything between the struct and the entry points of NAME.c. */
void tlmc_cuda_tables(struct tlmc_emit *e, struct tlmc_strbuf *out);
/* The host's offsets, beside those of the device. */
void tlmc_cuda_memory(struct tlmc_emit *e, struct tlmc_strbuf *out);
/* NAME.cu, without its head comment. */
void tlmc_cuda_device_text(struct tlmc_emit *e, struct tlmc_strbuf *out);
/* The end of NAME_cuda.c: device code that nvcc compiled, when the build names it. */
void tlmc_cuda_fatbin_text(struct tlmc_emit *e, struct tlmc_strbuf *out);
/* The kernels of the emission, in the module's arena. */
void tlmc_cuda_kernels(struct tlmc_emit *e, struct tlmc_emission *out);
/* "PHASE_TRAIN_FORWARD" of "train_forward", "FORM_TRAIN". */
const char *tlmc_cuda_phase(struct tlmc_emit *e, const char *base);
const char *tlmc_cuda_form(struct tlmc_emit *e, const struct tlmc_emit_form *form);

/* ---- whole files */
void tlmc_emit_create(struct tlmc_emit *e, struct tlmc_strbuf *out);
void tlmc_emit_struct(struct tlmc_emit *e, struct tlmc_strbuf *out);
/* Refuses public names that would occur twice: an entry named as a tensor of another, names alike
   once they are identifiers. */
void tlmc_emit_claim_names(struct tlmc_emit *e);
void tlmc_emit_accessors(struct tlmc_emit *e, struct tlmc_strbuf *out);
void tlmc_emit_header(struct tlmc_emit *e, struct tlmc_strbuf *out);
void tlmc_emit_main(struct tlmc_emit *e, struct tlmc_strbuf *out);
void tlmc_emit_cmake(struct tlmc_emit *e, struct tlmc_strbuf *out);

/* ---- emit_head.c */
/* The head comment of a file; `what` says what it holds. */
void tlmc_emit_head(struct tlmc_emit *e, const char *what, struct tlmc_strbuf *out);
/* FNV-1a of what the texts of an emission are made from: the model, its imports, capsule files. */
uint64_t tlmc_emit_digest(const struct tlmc_emit *e);

/* ---- emit_io.c: public tensors */
/* Functions of a training form besides its forward pass: NAME_train_backward, ... */
enum { TLMC_TRAINING_CALLS = 4 };
extern const char *const tlmc_training_calls[TLMC_TRAINING_CALLS];
const tlmc_io_vec *tlmc_emit_ios(const struct tlmc_form *form, enum tlmc_io_kind kind);
/* Public accessor of one: "quickstart_mlp_train_target_y". */
const char *tlmc_emit_accessor(struct tlmc_emit *e, const struct tlmc_emit_form *form,
                               enum tlmc_io_kind kind, const struct tlmc_io *io);
/* "f32", "i32", "bool" -> "TLM_F32", ... */
const char *tlmc_emit_dtype(enum tlmc_dtype dtype);

#endif
