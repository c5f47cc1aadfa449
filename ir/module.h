/* A checked model: its parameters, one graph for each form of each entry, and the clauses as plain
   data. Made by frontend/lower, completed by the passes (pass.h), read by planner and codegen.
   Memory: the arena's. */
#ifndef TLMC_IR_MODULE_H
#define TLMC_IR_MODULE_H

#include "graph.h"

enum tlmc_init_kind {
    TLMC_INIT_NONE,
    TLMC_INIT_CONSTANT,
    TLMC_INIT_UNIFORM,
    TLMC_INIT_NORMAL,
    TLMC_INIT_TENSOR
};

struct tlmc_init {
    enum tlmc_init_kind kind; /* NONE: must be loaded */
    double a, b; /* CONSTANT a; UNIFORM [a, b); NORMAL mean a, standard deviation b; fans already
                    applied */
    const double *data; /* TENSOR: row-major, of the parameter's own shape */
    tlmc_sym text;      /* as written, for printers: "xavier_uniform()" */
};

enum tlmc_param_kind {
    TLMC_PARAM_TRAINED,
    TLMC_PARAM_STATE,      /* saved */
    TLMC_PARAM_TRANSIENT,  /* kept between runs, not saved, set back by NAME_reset */
    TLMC_PARAM_OPTIMIZER,  /* made by the optimizer pass; saved under "tlm." with the run */
    TLMC_PARAM_ACCUMULATOR /* gradient sums over micro-batches; never saved */
};

struct tlmc_param {
    tlmc_sym key; /* "fc1.weight"; optimizer state: "tlm.adam.exp_avg.fc1.weight" */
    struct tlmc_type type;
    enum tlmc_param_kind kind;
    bool frozen; /* no gradient, no update */
    struct tlmc_init init;
    uint32_t ordinal; /* of first declaration: numbers the random stream of the initialiser */
    uint32_t of; /* optimizer state, accumulator: the parameter it belongs to; else TLMC_NONE */
    struct tlmc_span span;
};

enum tlmc_mode { TLMC_INFER, TLMC_TRAIN, TLMC_EVAL, TLMC_GENERATE };

struct tlmc_io {
    tlmc_sym name;
    uint32_t value;
    bool is_target; /* of inputs */
    struct tlmc_span span;
};

typedef TLMC_VEC(struct tlmc_io) tlmc_io_vec;

struct tlmc_form {
    tlmc_sym entry; /* "infer" in a file without entries */
    enum tlmc_mode mode;
    struct tlmc_graph *graph;
    tlmc_io_vec inputs; /* inputs, then targets (train, eval) in order of declaration; slot of an
                           INPUT leaf = index */
    tlmc_io_vec outputs;
    tlmc_io_vec
        losses; /* TRAIN: scalars (means); EVAL: as written, scalar or with a leading row axis */
    tlmc_io_vec metrics;     /* as losses; also bool or i32 */
    uint32_t total_loss;     /* TRAIN: sum of the losses, where backward starts; else TLMC_NONE */
    struct tlmc_grad *grads; /* TRAIN, after autodiff: one for each trained parameter reached */
    uint32_t grad_count;
    uint32_t random_sites; /* draws of the entry, numbered before passes */
};

struct tlmc_grad {
    uint32_t param; /* index into module params */
    uint32_t value; /* its gradient: same type */
};

/* ---- clauses */
enum tlmc_optimizer {
    TLMC_SGD,
    TLMC_ADAM,
    TLMC_ADAMW,
    TLMC_RMSPROP,
    TLMC_ADAGRAD,
    TLMC_ADADELTA,
    TLMC_OPTIMIZER_COUNT
};

struct tlmc_group { /* options of one optimizer group; unused ones stand at their defaults */
    double lr, beta1, beta2, eps, weight_decay, momentum, dampening, alpha, rho, lr_decay,
        initial_accumulator_value;
    bool nesterov, centered;
    uint32_t *params; /* indices into module params: the members */
    uint32_t param_count;
};

enum tlmc_schedule_kind {
    TLMC_SCHED_CONSTANT,
    TLMC_SCHED_WARMUP,
    TLMC_SCHED_COSINE,
    TLMC_SCHED_STEP,
    TLMC_SCHED_EXPONENTIAL,
    TLMC_SCHED_ONE_CYCLE
};

struct tlmc_schedule { /* factors of lr, one after the other; steps 0 = open: takes the rest */
    enum tlmc_schedule_kind kind;
    int64_t steps, every;
    double factor, final, peak; /* see docs/language.md for each kind's formula */
};

enum tlmc_reader {
    TLMC_READ_COLUMNS,
    TLMC_READ_ARRAY,
    TLMC_READ_TENSOR,
    TLMC_READ_BYTES,
    TLMC_READ_TOKENS
};

struct tlmc_feed {
    uint32_t input; /* index into the training form's inputs */
    enum tlmc_reader reader;
    tlmc_sym key;           /* TENSOR: the key; else NULL */
    int64_t *columns;       /* COLUMNS by number, from 0 */
    tlmc_sym *column_names; /* COLUMNS by name (needs header true); else NULL */
    uint32_t column_count;
    int64_t begin, end; /* BYTES, TOKENS: offsets in the window, end exclusive */
    struct tlmc_span span;
};

struct tlmc_data {
    tlmc_sym path;
    bool header;
    int64_t stride; /* between windows; 0: the longest window */
    TLMC_VEC(struct tlmc_feed) feeds;
    struct tlmc_span span;
};

typedef TLMC_VEC(struct tlmc_data) tlmc_data_vec;

enum tlmc_split {
    TLMC_SPLIT_NONE,
    TLMC_SPLIT_FIRST,
    TLMC_SPLIT_LAST,
    TLMC_SPLIT_RANDOM,
    TLMC_SPLIT_DATA
};

struct tlmc_probe_value {
    uint32_t input;
    const double *data;
    uint32_t count;
};

struct tlmc_probe { /* one row; values for inputs of the training form, targets optional */
    tlmc_sym name;
    TLMC_VEC(struct tlmc_probe_value) values;
};

enum tlmc_clip { TLMC_CLIP_NONE, TLMC_CLIP_NORM, TLMC_CLIP_VALUE };

struct tlmc_train {
    bool present;
    struct tlmc_span span;
    tlmc_data_vec data;
    enum tlmc_split split;
    double split_fraction; /* in (0, 1), or 0 when split_count holds */
    int64_t split_count;
    tlmc_data_vec validation_data;
    bool shuffle, evaluate_train, log_loss_after;
    int64_t steps, epochs; /* one of them > 0, else both 0: steps 1 epoch */
    int64_t log_every, validate_every, save_every, accumulate;
    uint64_t seed;
    enum tlmc_optimizer optimizer;
    struct tlmc_group *groups; /* in source order; the last one is the optimizer's own arguments */
    uint32_t group_count;
    TLMC_VEC(struct tlmc_schedule) schedule;
    enum tlmc_clip clip;
    double clip_value;
    TLMC_VEC(struct tlmc_probe) probes;
};

struct tlmc_rename {
    tlmc_sym from, to;
};

struct tlmc_pretrained {
    bool present;
    tlmc_sym path;
    TLMC_VEC(struct tlmc_rename) renames; /* "*" runs of any character, "?" one */
    TLMC_VEC(tlmc_sym) ignores;
    TLMC_VEC(tlmc_sym) onlys;
};

struct tlmc_generate {
    bool present;
    uint32_t form;         /* index into module forms */
    uint32_t feed, sample; /* input index, output index of that form */
    bool bytes;            /* text bytes; else `vocabulary` names a file */
    tlmc_sym vocabulary;
    int64_t tokens, top_k; /* top_k 0: all */
    double temperature;
};

/* Host-computed numbers of one step, in one small block: SCALAR leaf slot = index. */
enum tlmc_scalar_kind {
    TLMC_SCALAR_LR,        /* lr of the group */
    TLMC_SCALAR_UNDAMPED,  /* sgd: 1 on the first step, then 1 - dampening */
    TLMC_SCALAR_STEP_SIZE, /* adam: lr / (1 - beta1^t) */
    TLMC_SCALAR_SQRT_BC2,  /* adam: sqrt(1 - beta2^t) */
    TLMC_SCALAR_DECAY,     /* adamw: 1 - lr * weight_decay */
    TLMC_SCALAR_CLR        /* adagrad: lr / (1 + (t - 1) * lr_decay) */
};

struct tlmc_scalar {
    enum tlmc_scalar_kind kind;
    uint32_t group;
};

struct tlmc_module {
    struct tlmc_arena *arena;
    struct tlmc_symtab *symbols;
    struct tlmc_sources *sources;
    tlmc_sym name;        /* C identifier */
    tlmc_sym source_name; /* file name without folders */
    uint64_t digest;      /* FNV-1a of the model's own text and of its imports, std excluded */
    const char *command;  /* options that shaped the model (-D...), for "regenerate with" */
    bool
        has_entries; /* written with entry blocks: names of the emitted functions carry the entry */
    TLMC_VEC(struct tlmc_param) params;
    TLMC_VEC(struct tlmc_form) forms;
    TLMC_VEC(struct tlmc_scalar) scalars;
    struct tlmc_train train;
    struct tlmc_pretrained pretrained;
    struct tlmc_generate generate;
};

/* The form of an entry in a mode, or NULL. */
struct tlmc_form *tlmc_module_form(const struct tlmc_module *module, tlmc_sym entry,
                                   enum tlmc_mode mode);
struct tlmc_form *
tlmc_module_training_form(const struct tlmc_module *module); /* the single TRAIN form, or NULL */
/* The values a form is run for: outputs, losses, metrics, gradients, the total loss. */
void tlmc_form_results(const struct tlmc_form *form, void (*visit)(void *context, uint32_t value),
                       void *context);
const char *tlmc_mode_name(enum tlmc_mode mode); /* "infer", "train", "eval", "generate" */
const char *tlmc_optimizer_name(enum tlmc_optimizer optimizer);
/* NULL when the graph's rules hold and the form's values, slots and gradients fit the module; else
   what is broken. */
const char *tlmc_form_verify(const struct tlmc_module *module, const struct tlmc_form *form);
struct tlmc_strbuf;
void tlmc_module_print(const struct tlmc_module *module, struct tlmc_strbuf *out);

#endif
