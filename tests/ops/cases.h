/* The cases of the op tests: for every op the shapes, attributes and data it is run on, made from
   the rows of cases.def and the shape sets of shapes.c.  Everything is deterministic; memory is the
   arena's. */
#ifndef TLMC_TESTS_OPS_CASES_H
#define TLMC_TESTS_OPS_CASES_H

#include "module.h"
#include "spec/interpret.h"

enum { OPS_MAX_OPERANDS = 10, OPS_MAX_ATTRS = 8, OPS_MAX_CASES = 64, OPS_MAX_RESULTS = 8 };

enum ops_role {
    OPS_INPUT,
    OPS_STATE, /* a leaf that the op writes, or reads beside it */
    OPS_ABSENT /* an optional operand left out */
};

enum ops_fill {
    OPS_PLAIN,   /* the operand's domain */
    OPS_SPECIAL, /* NaN, infinities, zeros, subnormals, huge numbers: those the row allows */
    OPS_TIES     /* few distinct values: many equal elements */
};

/* What the second part of the tolerance is measured in. */
enum ops_scale {
    OPS_NO_SCALE,
    OPS_ABSOLUTE, /* the same op over the absolute values of its operands: sums and products */
    OPS_OPERANDS  /* the product over the operands of max(1, largest absolute value); of a pointwise
                     op: element by element */
};

struct ops_row;
struct ops_list;
struct ops_graph;
/* Adds nodes that read built->operands, and says what the results are. */
typedef void ops_compose_fn(struct ops_graph *built);
typedef void ops_shapes_fn(struct ops_list *list, const struct ops_row *row);

/* A row of cases.def. */
struct ops_row {
    enum tlmc_op op;
    ops_shapes_fn *shapes;
    const char
        *domains; /* "lo:hi" an operand, separated by blanks; the last one holds for the rest */
    const char *specials; /* letters: N NaN, I infinities, Z zeros, S subnormals, H huge */
    double ulps, scaled;  /* |got - want| <= (ulps * |want| + scaled * scale) * 2^-24 + (1 + scaled)
                           * 2^-149 */
    enum ops_scale scale; /* both 0: equal bits */
    const char *kinks;  /* places where the derivative jumps: gradient checks keep away from them */
    const char *attrs;  /* "eps=1e-5" */
    const char *reason; /* of the tolerance */
};

struct ops_operand {
    enum ops_role role;
    struct tlmc_type type;
    double low, high;
    bool repeated; /* the op reads it through a broadcast to `repeated_to` */
    struct tlmc_type repeated_to;
};

struct ops_case {
    const struct ops_row *row;
    const char *name;
    struct ops_operand operands[OPS_MAX_OPERANDS];
    uint32_t operand_count;
    struct tlmc_attr attrs[OPS_MAX_ATTRS];
    uint32_t attr_count;
    enum ops_fill fill;
    bool transpose[2];       /* operand 0, 1 comes through a permute of its last two axes */
    bool out_of_range;       /* one index is: the run must be refused */
    ops_compose_fn *compose; /* several ops: the row gives data and tolerance, not the op */
    uint32_t steps;          /* composed: in how many steps the plan must run them */
    uint32_t launches;       /* those on CUDA, where calls share launches; 0: `steps` */
};

struct ops_list {
    struct tlmc_arena *arena;
    struct ops_case cases[OPS_MAX_CASES];
    uint32_t count;
};

/* NULL when cases.def has no row for the op. */
const struct ops_row *ops_row_of(enum tlmc_op op);
/* Cases of a kind of group: "pointwise", "transpose", "updates"; NULL when there is no such kind.
 */
struct ops_list *ops_group_cases(const char *kind, struct tlmc_arena *arena);
/* All cases of an op. */
struct ops_list *ops_cases(enum tlmc_op op, struct tlmc_arena *arena);

/* ---- for shapes.c */
/* A new case with the row's attributes and no operands; the name is formatted. */
struct ops_case *ops_add(struct ops_list *list, const struct ops_row *row, const char *fmt, ...)
    TLMC_PRINTF(3, 4);
/* Adds an operand with the next domain of the row. */
void ops_operand(struct ops_case *c, enum ops_role role, enum tlmc_dtype dtype, int rank,
                 const int64_t *dims);
void ops_attr_ints(struct ops_list *list, struct ops_case *c, enum tlmc_attr_tag tag,
                   uint32_t count, const int64_t *ints);
void ops_attr_int(struct ops_case *c, enum tlmc_attr_tag tag, int64_t i);
void ops_attr_float(struct ops_case *c, enum tlmc_attr_tag tag, double f);

/* ---- data */
/* The special numbers that a row allows; returns how many. */
uint32_t ops_specials(const struct ops_row *row, double *out);
/* Values of an operand as programs see them: f32 values are binary32 numbers. */
struct tlmc_tensor ops_data(const struct ops_case *c, uint32_t operand);
/* Is operand one that gradients flow into?  Is the case one that gradient checks run on? */
bool ops_is_smooth(const struct ops_case *c, uint32_t operand);
bool ops_is_gradient_case(const struct ops_case *c);
/* Distinct, evenly spaced values away from the kinks: for central differences. */
struct tlmc_tensor ops_smooth_data(const struct ops_case *c, uint32_t operand, uint64_t salt);

/* ---- graphs */
struct ops_graph {
    struct tlmc_graph *graph;
    uint32_t operands[OPS_MAX_OPERANDS]; /* leaf values; TLMC_NONE when left out */
    uint32_t node;                       /* the op's; composed: TLMC_NONE */
    uint32_t results[OPS_MAX_RESULTS], result_count;
};

/* Builds leaves and op; input leaves take the slots 0, 1, ... , state leaves first_param,
   first_param + 1, ... */
struct ops_graph ops_build(const struct ops_case *c, struct tlmc_arena *arena,
                           uint32_t first_param);

/* Operands and results of a case as the interpreter computes them. */
struct ops_result {
    struct ops_graph built;
    struct tlmc_tensor inputs[OPS_MAX_OPERANDS]; /* before the run, by operand */
    struct tlmc_tensor
        states[OPS_MAX_OPERANDS]; /* after the run, by operand; data NULL for others */
    struct tlmc_tensor *values;
    bool ok;
    char error[256];
};

struct ops_result ops_interpret(const struct ops_case *c, struct tlmc_arena *arena, bool absolute,
                                uint64_t seed, uint64_t run);
void ops_result_free(struct ops_result *result);

#endif
