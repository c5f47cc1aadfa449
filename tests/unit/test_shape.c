/* Every shape rule accepts what fits, with the right results, and refuses what does not, with its
   code and message. One row a case; the last test asks that each rule of ops.def has rows of both
   kinds. */
#include "ir_help.h"

struct accepted {
    const char *op, *operands, *attrs, *results; /* "_" is an operand left out */
};

struct refused {
    const char *op, *operands, *attrs;
    enum tlmc_diag_code code;
    const char *text;
};

static const struct accepted accepted[] = {
    { "input", "", "slot=0 shape=2,3 dtype=f32", "f32[2, 3]" },
    { "scalar", "", "slot=0 dtype=f32", "f32[]" },
    { "const", "", "shape=2 dtype=bool data=0,1", "bool[2]" },
    { "const", "", "shape=0,4 dtype=f32 data=", "f32[0, 4]" },
    { "relu", "f32[2, 3]", "", "f32[2, 3]" },
    { "relu_vjp", "f32[2] f32[2]", "", "f32[2]" },
    { "clamp", "f32[2]", "min=-1 max=1", "f32[2]" },
    { "clamp", "f32[2]", "min=-inf max=1", "f32[2]" },
    { "div", "f64[2] f64[2]", "", "f64[2]" },
    { "add", "i32[2] i32[2]", "", "i32[2]" },
    { "add", "f32[] f32[]", "", "f32[]" },
    { "lt", "i32[2] i32[2]", "", "bool[2]" },
    { "eq", "bool[2] bool[2]", "", "bool[2]" },
    { "logical_and", "bool[2] bool[2]", "", "bool[2]" },
    { "where", "bool[2] i32[2] i32[2]", "", "i32[2]" },
    { "cast", "f32[2, 3]", "dtype=i32", "i32[2, 3]" },
    { "reshape", "f32[2, 3]", "shape=3,1,2", "f32[3, 1, 2]" },
    { "reshape", "f32[1]", "shape=", "f32[]" },
    { "detach", "i32[2]", "", "i32[2]" },
    { "copy", "bool[]", "", "bool[]" },
    { "permute", "f32[2, 3, 4]", "perm=2,0,1", "f32[4, 2, 3]" },
    { "permute", "f32[]", "perm=", "f32[]" },
    { "broadcast", "f32[1, 3]", "shape=4,2,3", "f32[4, 2, 3]" },
    { "broadcast", "f32[1]", "shape=0", "f32[0]" },
    { "concat", "f32[2, 3] f32[2, 0] f32[2, 4]", "axis=1", "f32[2, 7]" },
    { "concat", "f32[2]", "axis=0", "f32[2]" },
    { "slice", "f32[5, 6]", "starts=1,0 stops=5,6 steps=2,4", "f32[2, 2]" },
    { "slice", "f32[5]", "starts=5 stops=5 steps=1", "f32[0]" },
    { "slice_vjp", "f32[2, 2]", "shape=5,6 starts=1,0 stops=5,6 steps=2,4", "f32[5, 6]" },
    { "reduce_sum", "f32[2, 3, 4]", "axes=1,2", "f32[2]" },
    { "reduce_sum", "i32[2, 3]", "axes=0 keepdims=1", "i32[1, 3]" },
    { "reduce_mean", "f32[0, 3]", "axes=0", "f32[3]" },
    { "reduce_extreme_vjp", "f32[2, 1] f32[2, 3] f32[2, 1]", "axes=1", "f32[2, 3]" },
    { "argmax", "f32[2, 3]", "axis=1", "i32[2]" },
    { "argmax", "i32[2, 3]", "axis=0 keepdims=1", "i32[1, 3]" },
    { "global_norm", "f32[2, 3] f32[] f32[0]", "", "f32[]" },
    { "matmul", "f32[2, 3] f32[3, 4]", "", "f32[2, 4]" },
    { "matmul", "f32[5, 1, 2, 0] f32[6, 0, 4]", "", "f32[5, 6, 2, 4]" },
    { "softmax", "f32[2, 3]", "", "f32[2, 3]" },
    { "softmax", "f32[2, 3] bool[2, 3]", "", "f32[2, 3]" },
    { "log_softmax", "f32[3]", "", "f32[3]" },
    { "layer_norm", "f32[5, 2, 3] f32[3] f32[3]", "eps=1e-5", "f32[5, 2, 3] f32[5, 2] f32[5, 2]" },
    { "layer_norm_vjp", "f32[2, 3] f32[2, 3] f32[3] f32[2] f32[2]", "", "f32[2, 3]" },
    { "layer_norm_vjp_weight", "f32[2, 3] f32[2, 3] f32[2] f32[2]", "", "f32[3] f32[3]" },
    { "mse_loss", "f32[2, 3] f32[2, 3]", "", "f32[]" },
    { "mse_loss_vjp", "f32[] f32[2] f32[2]", "", "f32[2]" },
    { "cross_entropy", "f32[5, 2, 3] i32[5, 2]", "", "f32[5, 2] f32[5, 2] f32[5, 2]" },
    { "cross_entropy_vjp", "f32[2] f32[2, 3] i32[2] f32[2] f32[2]", "", "f32[2, 3]" },
    { "rand_uniform", "", "shape=2,3 site=0", "f32[2, 3]" },
    { "bernoulli_mask", "", "shape=2 site=1 keep=0.9", "f32[2]" },
    { "iota", "", "start=2147483645 shape=3", "i32[3]" },
    { "gather", "f32[5, 6, 7] i32[2, 3]", "axis=1", "f32[5, 2, 3, 7]" },
    { "gather", "bool[5] i32[]", "axis=0", "bool[]" },
    { "embedding", "i32[2, 3] f32[9, 4]", "", "f32[2, 3, 4]" },
    { "scatter_add", "f32[5, 6] i32[3] f32[5, 3]", "axis=1", "f32[5, 6]" },
    { "store", "i32[2] i32[2]", "", "" },
    { "accumulate", "f32[2] f32[2]", "", "" },
    { "sgd_update", "f32[2] f32[2] f32[] f32[]", "momentum=0 nesterov=0 weight_decay=0", "" },
    { "sgd_update", "f32[2] f32[2] f32[] f32[] _ f32[]", "momentum=0 weight_decay=0", "" },
    { "sgd_update", "f32[2] f32[2] f32[] f32[] f32[2]", "momentum=0.9 weight_decay=0", "" },
    { "adam_update", "f32[2] f32[2] f32[2] f32[2] f32[] f32[] f32[]",
      "beta1=0.9 beta2=0.999 eps=1e-8 weight_decay=0", "" },
    { "adamw_update", "f32[2] f32[2] f32[2] f32[2] f32[] f32[] f32[]",
      "beta1=0.9 beta2=0.999 eps=1e-8", "" },
    { "rmsprop_update", "f32[2] f32[2] f32[2] f32[] _ f32[2]",
      "alpha=0.9 eps=1e-8 momentum=0.9 centered=0 weight_decay=0", "" },
    { "adagrad_update", "f32[2] f32[2] f32[2] f32[]", "eps=1e-10 weight_decay=0", "" },
    { "adadelta_update", "f32[2] f32[2] f32[2] f32[2] f32[]", "rho=0.9 eps=1e-6 weight_decay=0",
      "" },
};

static const struct refused refused[] = {
    /* what holds for every op */
    { "add", "f32[2]", "", TLMC_E_ARGUMENT, "op 'add' takes 2 operands, not 1" },
    { "relu", "f32[2] f32[2]", "", TLMC_E_ARGUMENT, "op 'relu' takes 1 operand, not 2" },
    { "concat", "", "axis=0", TLMC_E_ARGUMENT, "op 'concat' takes at least 1 operand, not 0" },
    { "softmax", "", "", TLMC_E_ARGUMENT, "op 'softmax' takes 1 to 2 operands, not 0" },
    { "add", "_ f32[2]", "", TLMC_E_ARGUMENT, "operand 1 of op 'add' is missing" },
    { "add", "f32[2] f32[2]", "axis=0", TLMC_E_ATTRIBUTE, "op 'add' has no attribute 'axis'" },
    { "reduce_sum", "f32[2]", "axes=0 axes=0", TLMC_E_ATTRIBUTE,
      "attribute 'axes' of op 'reduce_sum' is given twice" },
    { "reduce_sum", "f32[2]", "", TLMC_E_ATTRIBUTE, "op 'reduce_sum' needs the attribute 'axes'" },
    { "bernoulli_mask", "", "shape=2 site=0 keep=1.5", TLMC_E_ATTRIBUTE,
      "attribute 'keep' must be in [0, 1], not 1.5" },
    { "bernoulli_mask", "", "shape=2 site=0 keep=nan", TLMC_E_ATTRIBUTE,
      "attribute 'keep' must be in [0, 1], not nan" },
    { "layer_norm", "f32[2, 3] f32[3] f32[3]", "eps=-1", TLMC_E_ATTRIBUTE,
      "attribute 'eps' must be finite and not negative, not -1" },
    { "input", "", "slot=-1 shape=2 dtype=f32", TLMC_E_ATTRIBUTE,
      "attribute 'slot' is out of range: -1" },
    { "cast", "f32[2]", "dtype=f23", TLMC_E_ATTRIBUTE, "attribute 'dtype' is no element type" },
    { "concat", "f32[4294967295] f32[4294967295]", "axis=0", TLMC_E_TOO_BIG,
      "f32[8589934590] has a size or an element count over the limit of 4294967295" },
    /* leaves, constants, draws */
    { "input", "", "slot=0 shape=2,-3 dtype=f32", TLMC_E_SHAPE, "size -3 of axis 1 is negative" },
    { "input", "", "slot=0 shape=1,1,1,1,1,1,1,1,1 dtype=f32", TLMC_E_TOO_BIG,
      "rank 9 is over the limit of 8" },
    { "param", "", "slot=0 shape=65536,65536 dtype=f32", TLMC_E_TOO_BIG,
      "f32[65536, 65536] has a size or an element count over the limit of 4294967295" },
    { "const", "", "shape=3 dtype=f32 data=1,2", TLMC_E_SHAPE, "2 elements do not fill f32[3]" },
    { "const", "", "shape=2 dtype=i32 data=1,2.5", TLMC_E_DTYPE,
      "element 1, 2.5, is not of type i32" },
    { "const", "", "shape=1 dtype=bool data=2", TLMC_E_DTYPE, "element 0, 2, is not of type bool" },
    { "rand_uniform", "", "shape=-1 site=0", TLMC_E_SHAPE, "size -1 of axis 0 is negative" },
    { "iota", "", "start=2147483646 shape=3", TLMC_E_ATTRIBUTE,
      "iota of i32[3] from 2147483646 leaves the range of i32" },
    /* pointwise */
    { "relu", "i32[2]", "", TLMC_E_DTYPE, "op 'relu' needs float elements, not i32[2]" },
    { "relu_vjp", "f32[2] f32[3]", "", TLMC_E_SHAPE, "shapes differ: f32[2] and f32[3]" },
    { "clamp", "f32[2]", "min=2 max=1", TLMC_E_ATTRIBUTE, "clamp needs min <= max, not 2 and 1" },
    { "clamp", "f32[2]", "min=nan max=1", TLMC_E_ATTRIBUTE,
      "clamp needs min <= max, not nan and 1" },
    { "add", "f32[2] f32[1]", "", TLMC_E_SHAPE, "shapes differ: f32[2] and f32[1]" },
    { "add", "f32[2] i32[2]", "", TLMC_E_DTYPE, "element types differ: f32[2] and i32[2]" },
    { "add", "bool[2] bool[2]", "", TLMC_E_DTYPE, "op 'add' needs numbers, not bool[2]" },
    { "lt", "bool[2] bool[2]", "", TLMC_E_DTYPE, "bool[2] has no order" },
    { "logical_not", "f32[2]", "", TLMC_E_DTYPE,
      "op 'logical_not' needs bool elements as operand 1, not f32[2]" },
    { "where", "f32[2] f32[2] f32[2]", "", TLMC_E_DTYPE,
      "op 'where' needs bool elements as operand 1, not f32[2]" },
    { "where", "bool[2] f32[2] i32[2]", "", TLMC_E_DTYPE,
      "element types differ: f32[2] and i32[2]" },
    { "where", "bool[2] f32[3] f32[3]", "", TLMC_E_SHAPE,
      "shapes differ: bool[2], f32[3] and f32[3]" },
    /* moves */
    { "reshape", "f32[2, 3]", "shape=7", TLMC_E_SHAPE,
      "element counts differ: f32[2, 3] has 6, f32[7] has 7" },
    { "permute", "f32[2, 3]", "perm=0", TLMC_E_RANK, "perm names 1 axes, f32[2, 3] has 2" },
    { "permute", "f32[2, 3]", "perm=0,2", TLMC_E_BOUNDS, "axis 2 is not an axis of f32[2, 3]" },
    { "permute", "f32[2, 3]", "perm=1,1", TLMC_E_ATTRIBUTE, "perm names axis 1 twice" },
    { "broadcast", "f32[2]", "shape=3", TLMC_E_BROADCAST, "f32[2] does not broadcast to f32[3]" },
    { "broadcast", "f32[2, 3]", "shape=3", TLMC_E_BROADCAST,
      "f32[2, 3] does not broadcast to f32[3]" },
    { "broadcast", "f32[2]", "shape=1", TLMC_E_BROADCAST, "f32[2] does not broadcast to f32[1]" },
    { "concat", "f32[2] f32[2]", "axis=1", TLMC_E_BOUNDS,
      "axis 1 is not an axis of a tensor of rank 1" },
    { "concat", "f32[2, 3] f32[3, 3]", "axis=1", TLMC_E_SHAPE,
      "shapes differ beside axis 1: f32[2, 3] and f32[3, 3]" },
    { "concat", "f32[2, 3] f32[2]", "axis=1", TLMC_E_RANK, "ranks differ: f32[2, 3] and f32[2]" },
    { "concat", "f32[2] i32[2]", "axis=0", TLMC_E_DTYPE,
      "element types differ: f32[2] and i32[2]" },
    { "slice", "f32[5]", "starts=0 stops=6 steps=1", TLMC_E_BOUNDS,
      "slice 0:6 is outside axis 0 of f32[5]" },
    { "slice", "f32[5]", "starts=3 stops=2 steps=1", TLMC_E_BOUNDS,
      "slice 3:2 is outside axis 0 of f32[5]" },
    { "slice", "f32[5]", "starts=0 stops=5 steps=0", TLMC_E_BOUNDS,
      "step 0 of axis 0 is not positive" },
    { "slice", "f32[5]", "starts=0,0 stops=5 steps=1", TLMC_E_RANK,
      "slice names 2, 1 and 1 axes, f32[5] has 1" },
    { "slice_vjp", "f32[3]", "shape=5 starts=0 stops=2 steps=1", TLMC_E_SHAPE,
      "the sliced part must be f32[2], not f32[3]" },
    { "gather", "f32[5] f32[2]", "axis=0", TLMC_E_DTYPE,
      "op 'gather' needs i32 elements as operand 2, not f32[2]" },
    { "gather", "f32[] i32[2]", "axis=0", TLMC_E_BOUNDS,
      "axis 0 is not an axis of a tensor of rank 0" },
    { "gather", "f32[1, 1, 1, 1, 1] i32[1, 1, 1, 1, 1]", "axis=0", TLMC_E_TOO_BIG,
      "rank 9 is over the limit of 8" },
    { "embedding", "i32[2] f32[3]", "", TLMC_E_RANK, "the table must be a matrix, not f32[3]" },
    { "scatter_add", "f32[5, 6] i32[3] f32[5, 4]", "axis=1", TLMC_E_SHAPE,
      "updates must be f32[5, 3], not f32[5, 4]" },
    { "scatter_add", "i32[5] i32[3] i32[3]", "axis=0", TLMC_E_DTYPE,
      "op 'scatter_add' needs float elements, not i32[5]" },
    /* sums */
    { "reduce_sum", "f32[2]", "axes=", TLMC_E_ATTRIBUTE,
      "op 'reduce_sum' needs at least one axis" },
    { "reduce_sum", "f32[2]", "axes=1", TLMC_E_BOUNDS, "axis 1 is not an axis of f32[2]" },
    { "reduce_sum", "f32[2, 3, 4]", "axes=0,2", TLMC_E_ATTRIBUTE,
      "axes must be ascending and adjacent" },
    { "reduce_sum", "bool[2]", "axes=0", TLMC_E_DTYPE,
      "op 'reduce_sum' needs numbers, not bool[2]" },
    { "global_norm", "f32[2] i32[2]", "", TLMC_E_DTYPE,
      "op 'global_norm' needs float elements, not i32[2]" },
    { "reduce_mean", "i32[2]", "axes=0", TLMC_E_DTYPE,
      "op 'reduce_mean' needs float elements, not i32[2]" },
    { "reduce_extreme_vjp", "f32[2] f32[2, 3] f32[2]", "axes=1", TLMC_E_SHAPE,
      "the gradient must be f32[2, 1], not f32[2]" },
    { "argmax", "f32[2, 0]", "axis=1", TLMC_E_SHAPE,
      "axis 1 of f32[2, 0] is empty and has no maximum" },
    { "argmax", "bool[2]", "axis=0", TLMC_E_DTYPE, "op 'argmax' needs numbers, not bool[2]" },
    { "matmul", "f32[2, 3] f32[4, 2]", "", TLMC_E_SHAPE,
      "inner sizes differ: f32[2, 3] @ f32[4, 2]" },
    { "matmul", "f32[3] f32[3, 2]", "", TLMC_E_RANK,
      "both operands must have rank 2 or more: f32[3] @ f32[3, 2]" },
    { "matmul", "f32[2, 2, 3] f32[3, 3, 4]", "", TLMC_E_BROADCAST,
      "batch axes do not broadcast: f32[2, 2, 3] @ f32[3, 3, 4]" },
    { "matmul", "f32[2, 3] f64[3, 4]", "", TLMC_E_DTYPE,
      "element types differ: f32[2, 3] @ f64[3, 4]" },
    { "softmax", "f32[]", "", TLMC_E_RANK, "op 'softmax' needs rank 1 or more, not f32[]" },
    { "softmax", "f32[2, 3] bool[3]", "", TLMC_E_SHAPE,
      "the mask must be bool[2, 3], not bool[3]" },
    { "softmax", "f32[2] f32[2]", "", TLMC_E_DTYPE, "the mask must be bool[2], not f32[2]" },
    { "log_softmax", "f32[]", "", TLMC_E_RANK, "op 'log_softmax' needs rank 1 or more, not f32[]" },
    { "layer_norm", "f32[2, 3] f32[2] f32[3]", "eps=0", TLMC_E_SHAPE,
      "weight must be f32[3], not f32[2]" },
    { "layer_norm_vjp", "f32[2, 3] f32[2, 3] f32[3] f32[3] f32[2]", "", TLMC_E_SHAPE,
      "mean must be f32[2], not f32[3]" },
    { "layer_norm_vjp_weight", "f32[2] f32[2, 3] f32[2] f32[2]", "", TLMC_E_SHAPE,
      "the gradient must be f32[2, 3], not f32[2]" },
    { "mse_loss", "f32[2] f32[3]", "", TLMC_E_SHAPE, "shapes differ: f32[2] and f32[3]" },
    { "mse_loss_vjp", "f32[1] f32[2] f32[2]", "", TLMC_E_SHAPE,
      "the gradient must be f32[], not f32[1]" },
    { "cross_entropy", "f32[2, 3] i32[3]", "", TLMC_E_SHAPE,
      "the classes must be i32[2], not i32[3]" },
    { "cross_entropy", "f32[2, 3] f32[2]", "", TLMC_E_DTYPE,
      "the classes must be i32[2], not f32[2]" },
    { "cross_entropy_vjp", "f32[2] f32[2, 3] i32[2] f32[3] f32[2]", "", TLMC_E_SHAPE,
      "the row maxima must be f32[2], not f32[3]" },
    /* updates */
    { "store", "f32[2] f32[3]", "", TLMC_E_SHAPE, "operand 2 must be f32[2], not f32[3]" },
    { "accumulate", "i32[2] i32[2]", "", TLMC_E_DTYPE,
      "op 'accumulate' needs float elements, not i32[2]" },
    { "sgd_update", "f32[2] f32[2] f32[2] f32[]", "momentum=0 weight_decay=0", TLMC_E_SHAPE,
      "operand 3 must be f32[], not f32[2]" },
    { "sgd_update", "f32[2] f32[2] f32[] f32[]", "momentum=0.9 weight_decay=0", TLMC_E_ARGUMENT,
      "operand 5 of op 'sgd_update' is missing: the momentum buffer" },
    { "sgd_update", "f32[2] f32[2] f32[] f32[] f32[2]", "momentum=0 weight_decay=0",
      TLMC_E_ARGUMENT, "operand 5 of op 'sgd_update' is not used: the momentum buffer" },
    { "rmsprop_update", "f32[2] f32[2] f32[2] f32[]",
      "alpha=0.9 eps=1e-8 momentum=0 centered=1 weight_decay=0", TLMC_E_ARGUMENT,
      "operand 5 of op 'rmsprop_update' is missing: the mean gradient" },
};

#define ROWS(table) (sizeof(table) / sizeof *(table))
enum { MOST = 8 };

struct query {
    enum tlmc_op op;
    struct tlmc_type types[MOST];
    const struct tlmc_type *in[MOST];
    uint32_t in_count, attr_count;
    struct tlmc_attr attrs[MOST];
};

static struct query *read_query(struct tlmc_arena *arena, const char *op, const char *operands,
                                const char *attrs)
{
    struct query *q = TLMC_NEW(arena, struct query);

    q->op = tlmc_op_find(op);
    assert_int_not_equal(q->op, TLMC_OP_COUNT);
    for (operands += strspn(operands, " "); *operands; operands += strspn(operands, " ")) {
        if (*operands == '_') {
            operands++;
            q->in[q->in_count++] = NULL;
            continue;
        }
        q->types[q->in_count] = help_type(&operands);
        q->in[q->in_count] = &q->types[q->in_count];
        q->in_count++;
    }
    q->attr_count = help_attrs(arena, attrs, q->attrs);
    return q;
}

static bool infer(const struct query *q, struct tlmc_type *results, struct tlmc_shape_error *error)
{
    return tlmc_shape_infer(q->op, q->in, q->in_count, q->attrs, q->attr_count, results, error);
}

static void rules_accept(void **state)
{
    struct tlmc_arena arena = { 0 };
    size_t i;
    int k;

    (void)state;
    for (i = 0; i < ROWS(accepted); i++) {
        const struct accepted *row = &accepted[i];
        const struct query *q = read_query(&arena, row->op, row->operands, row->attrs);
        struct tlmc_shape_error error = { .text = "" };
        struct tlmc_type results[4];
        char text[256], all[1024] = "";

        if (!infer(q, results, &error))
            fail_msg("%s(%s) {%s}: %s", row->op, row->operands, row->attrs, error.text);
        for (k = 0; k < tlmc_op_info(q->op)->results; k++) {
            strcat(all, k ? " " : "");
            strcat(all, tlmc_type_text(&results[k], text));
        }
        assert_string_equal(all, row->results);
    }
    tlmc_arena_free(&arena);
}

static void rules_refuse(void **state)
{
    struct tlmc_arena arena = { 0 };
    size_t i;

    (void)state;
    for (i = 0; i < ROWS(refused); i++) {
        const struct refused *row = &refused[i];
        const struct query *q = read_query(&arena, row->op, row->operands, row->attrs);
        struct tlmc_shape_error error = { .text = "" };
        struct tlmc_type results[4];

        if (infer(q, results, &error))
            fail_msg("%s(%s) {%s} is accepted", row->op, row->operands, row->attrs);
        assert_string_equal(error.text, row->text);
        assert_int_equal(error.code, row->code);
    }
    tlmc_arena_free(&arena);
}

static const char *rule_of(enum tlmc_op op)
{
    static const char *const rules[] = {
#define UNARY(TAG, name, uses, attrs, policy) "same_real", "same_real",
#define OP(TAG, name, family, min, max, results, attrs, shape, vjp, jvp, policy) #shape,
#include "ops.def"
    };

    return rules[op];
}

static void every_rule_has_cases(void **state)
{
    unsigned op;

    (void)state;
    for (op = 0; op < TLMC_OP_COUNT; op++) {
        const char *rule = rule_of((enum tlmc_op)op);
        bool accepts = false, refuses = false;
        size_t i;

        for (i = 0; i < ROWS(accepted); i++)
            accepts |= strcmp(rule_of(tlmc_op_find(accepted[i].op)), rule) == 0;
        for (i = 0; i < ROWS(refused); i++)
            refuses |= strcmp(rule_of(tlmc_op_find(refused[i].op)), rule) == 0;
        if (!accepts)
            fail_msg("no accepted case of rule '%s'", rule);
        /* `same` takes anything */
        if (!refuses && strcmp(rule, "same") != 0)
            fail_msg("no refused case of rule '%s'", rule);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_accept),
        cmocka_unit_test(rules_refuse),
        cmocka_unit_test(every_rule_has_cases),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
