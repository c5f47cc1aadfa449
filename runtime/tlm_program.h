/* The table that an emitted NAME_main.c hands to the program shell (shell.c): everything the shell
   knows of a model. Emitted text holds data only; behaviour (flags, data, training loop, reports)
   is the shell's. */
#ifndef TLM_PROGRAM_H
#define TLM_PROGRAM_H

#include "tlm.h"
#include "tlm_scalar.h"

typedef struct tlm_io { /* an input, target, output, loss or metric of a form */
    const char *name;
    tlm_dtype dtype;
    uint32_t rank;
    uint32_t dims[TLM_MAX_RANK];
    uint32_t is_target;
    void *(*data)(void *model); /* where it lives */
} tlm_io;

typedef struct tlm_form { /* one form of one entry */
    const char *entry;    /* "infer" in a file without entries */
    const tlm_io *inputs;
    uint32_t input_count; /* inputs, then targets */
    const tlm_io *outputs;
    uint32_t output_count;
    const tlm_io *losses;
    uint32_t loss_count;
    const tlm_io *metrics;
    uint32_t metric_count;
    tlm_status (*run)(void *model); /* infer, eval, generate: the whole form; train: forward */
    const char *memory;             /* the form's memory-plan table as text, for --show-memory */
    size_t arena_bytes, lower_bound;
} tlm_form;

typedef enum tlm_optimizer {
    TLM_SGD,
    TLM_ADAM,
    TLM_ADAMW,
    TLM_RMSPROP,
    TLM_ADAGRAD,
    TLM_ADADELTA
} tlm_optimizer;

typedef enum tlm_schedule_kind {
    TLM_SCHED_CONSTANT,
    TLM_SCHED_WARMUP,
    TLM_SCHED_COSINE,
    TLM_SCHED_STEP,
    TLM_SCHED_EXPONENTIAL,
    TLM_SCHED_ONE_CYCLE
} tlm_schedule_kind;
typedef struct tlm_schedule { /* factor of lr for `steps` steps (0: the rest), one after the other
                               */
    tlm_schedule_kind kind;
    int64_t steps, every;
    double factor, final, peak;
} tlm_schedule;

typedef enum tlm_reader {
    TLM_READ_COLUMNS,
    TLM_READ_ARRAY,
    TLM_READ_TENSOR,
    TLM_READ_BYTES,
    TLM_READ_TOKENS
} tlm_reader;
typedef struct tlm_feed {
    uint32_t input; /* index into the training form's inputs */
    tlm_reader reader;
    const char *key;        /* TENSOR */
    const int64_t *columns; /* COLUMNS by number; NULL: by name */
    const char *const *column_names;
    uint32_t column_count;
    int64_t begin, end; /* BYTES, TOKENS */
} tlm_feed;

typedef struct tlm_data {
    const char *path;
    uint32_t header;
    int64_t stride; /* 0: the longest window */
    const tlm_feed *feeds;
    uint32_t feed_count;
} tlm_data;

typedef enum tlm_split {
    TLM_SPLIT_NONE,
    TLM_SPLIT_FIRST,
    TLM_SPLIT_LAST,
    TLM_SPLIT_RANDOM,
    TLM_SPLIT_DATA
} tlm_split;

typedef struct tlm_probe_value {
    uint32_t input;
    const double *data;
    uint32_t count;
} tlm_probe_value;
typedef struct tlm_probe {
    const char *name;
    const tlm_probe_value *values;
    uint32_t value_count;
} tlm_probe;

typedef struct tlm_train {
    const tlm_data *data;
    uint32_t data_count;
    tlm_split split;
    double split_fraction;
    int64_t split_count;
    const tlm_data *validation;
    uint32_t validation_count;
    uint32_t shuffle, evaluate_train, log_loss_after;
    int64_t steps, epochs, log_every, validate_every, save_every, accumulate;
    uint64_t seed;
    tlm_optimizer optimizer;
    const tlm_group *groups;
    uint32_t group_count;
    const tlm_scalar *scalars;
    uint32_t scalar_count;
    const tlm_schedule *schedule;
    uint32_t schedule_count;
    const tlm_probe *probes;
    uint32_t probe_count;
    const tlm_form *form; /* the training form: losses are scalars (means) */
    const tlm_form
        *eval; /* its evaluation form, same shapes; losses and metrics scalar or with a row axis */
    uint32_t batch; /* leading axis of the training inputs; rows a step */
    tlm_status (*forward)(void *model);
    tlm_status (*backward)(void *model); /* overwrites gradients */
    tlm_status (*accumulate_step)(
        void *model); /* adds the gradients of a micro-batch; NULL when accumulate is 1 */
    tlm_status (*step)(void *model); /* clip and optimizer, from the gradients (or their sums) */
    tlm_status (*train_batch)(
        void *model); /* forward, backward, then accumulate_step or, without one, step */
    float *(*scalar_block)(
        void *model); /* scalar_count floats, filled before the call that makes the step */
} tlm_train;

typedef struct tlm_generate {
    const tlm_form *form;
    uint32_t feed, sample; /* input index, output index */
    uint32_t bytes;
    const char *vocabulary; /* file; NULL with bytes */
    int64_t tokens, top_k;
    double temperature;
} tlm_generate;

enum { TLM_REPORT_BYTES = 1024 };

typedef struct tlm_program {
    uint32_t size, abi;
    const char *name;   /* model name */
    const char *device; /* "cpu" */
    const char *profile;
    const char *backend_report; /* --show-backend: the plan's report, byte for byte */
    size_t model_bytes;         /* sizeof(NAME): memory for the model struct itself */
    size_t weights_bytes, state_bytes, activations_bytes;
    tlm_status (*create)(void *model, const tlm_options *options);
    const tlm_param *(*params)(void *model, size_t *count);
    const char *(*error)(const void *model);
    void (*reset)(void *model); /* transient states to their initial values */
    void (*set_step)(void *model,
                     uint64_t step); /* also the draws of training: those of that step */
    uint64_t (*get_step)(const void *model);
    void (*set_seed)(void *model, uint64_t seed);
    void (*reinit)(void *model, uint64_t seed); /* draws all initial values again */
    const uint32_t *no_init;
    uint32_t no_init_count; /* params (index) without initialiser: must be loaded */
    const tlm_form *infer;
    uint32_t infer_count;         /* inference forms, entries in file order */
    const tlm_train *train;       /* NULL: nothing to train */
    const tlm_generate *generate; /* NULL */
    const char *pretrained;       /* file of the pretrained clause; NULL: no clause */
    tlm_mapping mapping;
    /* Waits until outputs, losses, metrics and errors of the runs so far stand on the host; NULL:
       they always do. */
    tlm_status (*wait)(void *model);
    void (*destroy)(void *model); /* ends what create began; NULL: nothing to end */
    /* A device's memory and settings as lines of text (TLM_REPORT_BYTES); NULL: no device. */
    void (*device_report)(char *text);
} tlm_program;

/* The whole program: parses flags, loads, trains, infers, generates, saves.  Returns the exit
   status: 0 done, 1 data or input rejected, 2 usage or environment, 3 device refused. */
int tlm_shell_main(const tlm_program *program, int argc, char **argv);

#endif
