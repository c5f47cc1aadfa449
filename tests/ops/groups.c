/* Composed cases, one function a graph: what runs in one loop, what is read through a folded
   transpose, what is updated together, what shares a launch.  Each says in how many steps a plan
   runs it, on CUDA in how many if those are fewer; its bits are those of its nodes one by one. */
#include "shapes.h"

#include <string.h>

/* Data of all composed cases; a chain's error is a few roundings of its largest intermediate
   value. */
static const struct ops_row chain_row = {
    .op = TLMC_OP_ADD,
    .domains = "-3:3",
    .specials = "NIZS",
    .ulps = 64,
    .scaled = 256,
    .scale = OPS_OPERANDS,
    .kinks = "",
    .attrs = "",
    .reason = "a few roundings a node; products of up to 600 terms"
};

static void result(struct ops_graph *b, uint32_t value)
{
    TLMC_CHECK(b->result_count < OPS_MAX_RESULTS);
    b->results[b->result_count++] = value;
}

static uint32_t as(struct ops_graph *b, uint32_t operand, uint32_t like)
{
    return tlmc_build_broadcast(b->graph, b->operands[operand], tlmc_value_type(b->graph, like));
}

/* ---- pointwise */

/* tanh(x * y + x) */
static void multiply_add(struct ops_graph *b)
{
    const uint32_t x = b->operands[0], y = b->operands[1];
    const uint32_t product = tlmc_build2(b->graph, TLMC_OP_MUL, x, y);
    const uint32_t sum = tlmc_build2(b->graph, TLMC_OP_ADD, product, x);

    result(b, tlmc_build1(b->graph, TLMC_OP_TANH, sum));
}

/* x [n, m], y [m], z [n, 1]: relu(x + y) * z, with the sum a result too */
static void bias(struct ops_graph *b)
{
    const uint32_t x = b->operands[0];
    const uint32_t sum = tlmc_build2(b->graph, TLMC_OP_ADD, x, as(b, 1, x));
    const uint32_t y = tlmc_build1(b->graph, TLMC_OP_RELU, sum);

    result(b, sum);
    result(b, tlmc_build2(b->graph, TLMC_OP_MUL, y, as(b, 2, x)));
}

/* where(x < y, exp(x), sigmoid(y)) * f32(x < y) + 0.3 * x: element types mixed in one loop */
static void mixed(struct ops_graph *b)
{
    struct tlmc_graph *g = b->graph;
    const uint32_t x = b->operands[0], y = b->operands[1];
    const uint32_t less = tlmc_build2(g, TLMC_OP_LT, x, y);
    const uint32_t taken = tlmc_build3(g, TLMC_OP_WHERE, less, tlmc_build1(g, TLMC_OP_EXP, x),
                                       tlmc_build1(g, TLMC_OP_SIGMOID, y));
    const uint32_t masked = tlmc_build2(g, TLMC_OP_MUL, taken, tlmc_build_cast(g, less, TLMC_F32));

    result(b, tlmc_build2(g, TLMC_OP_ADD, masked, tlmc_build_scale(g, x, 0.3)));
    result(b, less);
}

/* A constant of rank 0 and one repeated along rows. */
static void constants(struct ops_graph *b)
{
    static const double row[] = { 0.1, -2, 3.5 };
    struct tlmc_graph *g = b->graph;
    const int64_t dims[] = { 3 };
    const struct tlmc_type row_type = tlmc_type_make(TLMC_F32, 1, dims);
    const uint32_t x = b->operands[0];
    const uint32_t scalar = tlmc_build_full(g, tlmc_value_type(g, x), 0.7);
    const uint32_t rows =
        tlmc_build_broadcast(g, tlmc_build_tensor(g, &row_type, row), tlmc_value_type(g, x));
    const uint32_t scaled = tlmc_build2(g, TLMC_OP_MUL, x, scalar);

    result(b, tlmc_build2(g, TLMC_OP_SUB, scaled, rows));
}

/* Two consumers of one value, and a value that is used again later. */
static void diamond(struct ops_graph *b)
{
    struct tlmc_graph *g = b->graph;
    const uint32_t x = b->operands[0], y = b->operands[1];
    const uint32_t top = tlmc_build2(g, TLMC_OP_SUB, x, y);
    const uint32_t left = tlmc_build1(g, TLMC_OP_GELU, top);
    const uint32_t right = tlmc_build1(g, TLMC_OP_SILU, top);
    const uint32_t both = tlmc_build2(g, TLMC_OP_MAX, left, right);

    result(b, tlmc_build2(g, TLMC_OP_ADD, both, top));
}

struct composed {
    const char *name;
    ops_compose_fn *compose;
    uint32_t steps;
    int operands;
    struct {
        int rank;
        int64_t dims[TLMC_MAX_RANK];
    } shapes[3];
};

static const struct composed pointwise[] = {
    { "multiply and add 7x11", multiply_add, 1, 2, { { 2, { 7, 11 } }, { 2, { 7, 11 } } } },
    { "multiply and add 1031", multiply_add, 1, 2, { { 1, { 1031 } }, { 1, { 1031 } } } },
    { "multiply and add scalar", multiply_add, 1, 2, { { 0, { 0 } }, { 0, { 0 } } } },
    { "multiply and add 0x3", multiply_add, 1, 2, { { 2, { 0, 3 } }, { 2, { 0, 3 } } } },
    { "bias 5x17", bias, 1, 3, { { 2, { 5, 17 } }, { 1, { 17 } }, { 2, { 5, 1 } } } },
    { "bias 2x3x16", bias, 1, 3, { { 3, { 2, 3, 16 } }, { 1, { 16 } }, { 3, { 2, 1, 1 } } } },
    { "mixed element types 7x11", mixed, 1, 2, { { 2, { 7, 11 } }, { 2, { 7, 11 } } } },
    { "mixed element types 131", mixed, 1, 2, { { 1, { 131 } }, { 1, { 131 } } } },
    { "constants 5x3", constants, 1, 1, { { 2, { 5, 3 } } } },
    { "diamond 4x33", diamond, 1, 2, { { 2, { 4, 33 } }, { 2, { 4, 33 } } } },
};

/* ---- transposes */

/* x [k, m] transposed @ y [n, k] transposed */
static void both_transposed(struct ops_graph *b)
{
    const uint32_t x = tlmc_build_transpose(b->graph, b->operands[0]);
    const uint32_t y = tlmc_build_transpose(b->graph, b->operands[1]);

    result(b, tlmc_build2(b->graph, TLMC_OP_MATMUL, x, y));
}

/* x @ y transposed, with a bias after it */
static void right_transposed(struct ops_graph *b)
{
    const uint32_t y = tlmc_build_transpose(b->graph, b->operands[1]);
    const uint32_t product = tlmc_build2(b->graph, TLMC_OP_MATMUL, b->operands[0], y);

    result(b, tlmc_build2(b->graph, TLMC_OP_ADD, product, as(b, 2, product)));
}

/* The transposed operand is a result as well: it must exist. */
static void also_a_result(struct ops_graph *b)
{
    const uint32_t y = tlmc_build_transpose(b->graph, b->operands[1]);

    result(b, tlmc_build2(b->graph, TLMC_OP_MATMUL, b->operands[0], y));
    result(b, y);
}

/* One transposed operand read by two products. */
static void read_twice(struct ops_graph *b)
{
    const uint32_t y = tlmc_build_transpose(b->graph, b->operands[1]);

    result(b, tlmc_build2(b->graph, TLMC_OP_MATMUL, b->operands[0], y));
    result(b, tlmc_build2(b->graph, TLMC_OP_MATMUL, b->operands[2], y));
}

static const struct composed transposes[] = {
    { "both 7x5, 17x7", both_transposed, 1, 2, { { 2, { 7, 5 } }, { 2, { 17, 7 } } } },
    { "both, batches 3x7x5, 2x3x4x7",
      both_transposed,
      1,
      2,
      { { 3, { 3, 7, 5 } }, { 4, { 2, 3, 4, 7 } } } },
    { "both 600x33, 40x600", both_transposed, 1, 2, { { 2, { 600, 33 } }, { 2, { 40, 600 } } } },
    { "right, then bias 5x7, 16x7",
      right_transposed,
      2,
      3,
      { { 2, { 5, 7 } }, { 2, { 16, 7 } }, { 1, { 16 } } } },
    { "also a result 5x7, 3x7", also_a_result, 2, 2, { { 2, { 5, 7 } }, { 2, { 3, 7 } } } },
    { "read twice 5x7, 3x7, 2x7",
      read_twice,
      2,
      3,
      { { 2, { 5, 7 } }, { 2, { 3, 7 } }, { 2, { 2, 7 } } } },
};

/* ---- launches */

/* Operands of all: g, x, weight, mean, rstd. */
static void gradient(struct ops_graph *b, enum tlmc_op op)
{
    const uint32_t *in = b->operands;
    const uint32_t of_x[] = { in[0], in[1], in[2], in[3], in[4] };
    const uint32_t of_weight[] = { in[0], in[1], in[3], in[4] };
    const bool weight = op == TLMC_OP_LAYER_NORM_VJP_WEIGHT;
    const uint32_t first =
        tlmc_add_node(b->graph, op, weight ? of_weight : of_x, weight ? 4 : 5, NULL, 0);

    result(b, first);
    if (weight)
        result(b, first + 1);
}

static void layer_norm_vjps(struct ops_graph *b)
{
    gradient(b, TLMC_OP_LAYER_NORM_VJP);
    gradient(b, TLMC_OP_LAYER_NORM_VJP_WEIGHT);
}

static void weight_first(struct ops_graph *b)
{
    gradient(b, TLMC_OP_LAYER_NORM_VJP_WEIGHT);
    gradient(b, TLMC_OP_LAYER_NORM_VJP);
}

/* Two calls of one op beside a third. */
static void one_op_twice(struct ops_graph *b)
{
    layer_norm_vjps(b);
    gradient(b, TLMC_OP_LAYER_NORM_VJP);
}

/* One more than a launch holds. */
static void five_calls(struct ops_graph *b)
{
    layer_norm_vjps(b);
    one_op_twice(b);
}

static void add_launches(struct ops_list *list)
{
    static const struct {
        const char *name;
        ops_compose_fn *compose;
        uint32_t steps, launches;
        int64_t rows, cols;
    } rows[] = {
        { "layer_norm_vjp and its weight's", layer_norm_vjps, 2, 1, 9, 130 },
        { "layer_norm_vjp and its weight's", layer_norm_vjps, 2, 1, 70, 40 },
        { "layer_norm_vjp and its weight's", layer_norm_vjps, 2, 1, 2, 12300 },
        { "layer_norm_vjp and its weight's", layer_norm_vjps, 2, 1, 1, 1 },
        { "layer_norm_vjp and its weight's", layer_norm_vjps, 2, 2, 0, 5 },
        { "layer_norm_vjp and its weight's", layer_norm_vjps, 2, 2, 9, 0 },
        { "the weight's first", weight_first, 2, 1, 33, 65 },
        { "one op twice", one_op_twice, 3, 1, 17, 31 },
        { "five calls", five_calls, 5, 2, 17, 31 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int64_t n = rows[i].rows, m = rows[i].cols, all[] = { n, m };
        struct ops_case *c = ops_add(list, &chain_row, "%s %dx%d", rows[i].name, (int)n, (int)m);

        c->compose = rows[i].compose;
        c->steps = rows[i].steps;
        c->launches = rows[i].launches;
        ops_operand(c, OPS_INPUT, TLMC_F32, 2, all);
        ops_operand(c, OPS_INPUT, TLMC_F32, 2, all);
        ops_operand(c, OPS_INPUT, TLMC_F32, 1, &m);
        ops_operand(c, OPS_INPUT, TLMC_F32, 1, &n);
        ops_operand(c, OPS_INPUT, TLMC_F32, 1, &n);
    }
}

/* ---- updates */

static void node(struct ops_graph *b, enum tlmc_op op, const uint32_t *operands, uint32_t count,
                 const struct tlmc_attr *attrs, uint32_t attr_count)
{
    tlmc_add_node(b->graph, op, operands, count, attrs, attr_count);
}

/* Operands: p, g, m, v of tensor one, of tensor two, step_size, sqrt_bc2. */
static void two_adams(struct ops_graph *b)
{
    const struct tlmc_attr attrs[] = { tlmc_attr_float(TLMC_A_BETA1, 0.9),
                                       tlmc_attr_float(TLMC_A_BETA2, 0.999),
                                       tlmc_attr_float(TLMC_A_EPS, 1e-8),
                                       tlmc_attr_float(TLMC_A_WEIGHT_DECAY, 0) };

    for (uint32_t k = 0; k < 2; k++) {
        const uint32_t *own = b->operands + 4 * k;
        const uint32_t operands[] = {
            own[0], own[1], own[2], own[3], b->operands[8], b->operands[9]
        };

        node(b, TLMC_OP_ADAM_UPDATE, operands, 6, attrs, 4);
    }
}

/* Operands: p, g, buf of tensor one, of tensor two, lr, undamped. */
static void two_momenta(struct ops_graph *b)
{
    const struct tlmc_attr attrs[] = { tlmc_attr_float(TLMC_A_MOMENTUM, 0.9),
                                       tlmc_attr_int(TLMC_A_NESTEROV, 0),
                                       tlmc_attr_float(TLMC_A_WEIGHT_DECAY, 0.01) };

    for (uint32_t k = 0; k < 2; k++) {
        const uint32_t *own = b->operands + 3 * k;
        const uint32_t operands[] = { own[0], own[1], b->operands[6], b->operands[7], own[2] };

        node(b, TLMC_OP_SGD_UPDATE, operands, 5, attrs, 3);
    }
}

/* The same with a weight decay of its own for each: two kinds of one tensor. */
static void two_decays(struct ops_graph *b)
{
    for (uint32_t k = 0; k < 2; k++) {
        const uint32_t *own = b->operands + 4 * k;
        const uint32_t operands[] = {
            own[0], own[1], own[2], own[3], b->operands[8], b->operands[9]
        };
        const struct tlmc_attr attrs[] = { tlmc_attr_float(TLMC_A_BETA1, 0.9),
                                           tlmc_attr_float(TLMC_A_BETA2, 0.999),
                                           tlmc_attr_float(TLMC_A_EPS, 1e-8),
                                           tlmc_attr_float(TLMC_A_WEIGHT_DECAY, k ? 0.25 : 0) };

        node(b, TLMC_OP_ADAM_UPDATE, operands, 6, attrs, 4);
    }
}

/* Operands: p, g of three tensors, lr and undamped of two kinds; the tensor in the middle is the
   second kind. */
static void two_rates(struct ops_graph *b)
{
    for (uint32_t k = 0; k < 3; k++) {
        const uint32_t *own = b->operands + 2 * k, *scalars = b->operands + 6 + 2 * (k == 1);
        const uint32_t operands[] = { own[0], own[1], scalars[0], scalars[1] };
        const struct tlmc_attr attrs[] = {
            tlmc_attr_float(TLMC_A_MOMENTUM, 0), tlmc_attr_int(TLMC_A_NESTEROV, 0),
            tlmc_attr_float(TLMC_A_WEIGHT_DECAY, k == 1 ? 0.25 : 0)
        };

        node(b, TLMC_OP_SGD_UPDATE, operands, 4, attrs, 3);
    }
}

/* Operands: p, g, buf of tensor one, p, g of two others, lr, undamped: momentum in one of them. */
static void one_momentum(struct ops_graph *b)
{
    for (uint32_t k = 0; k < 3; k++) {
        const uint32_t *own = b->operands + (k ? 1 + 2 * k : 0);
        const uint32_t operands[] = { own[0], own[1], b->operands[7], b->operands[8], own[2] };
        const struct tlmc_attr attrs[] = { tlmc_attr_float(TLMC_A_MOMENTUM, k ? 0 : 0.9),
                                           tlmc_attr_int(TLMC_A_NESTEROV, 0),
                                           tlmc_attr_float(TLMC_A_WEIGHT_DECAY, 0) };

        node(b, TLMC_OP_SGD_UPDATE, operands, k ? 4 : 5, attrs, 3);
    }
}

/* Operands: leaf, value of three tensors. */
static void three_sums(struct ops_graph *b)
{
    for (uint32_t k = 0; k < 3; k++)
        node(b, TLMC_OP_ACCUMULATE, b->operands + 2 * k, 2, NULL, 0);
}

/* Letters as in shapes.c, upper case for the second shape; s: a scalar; v and u: w and t of
   rank 0. */
static void add_updates(struct ops_list *list, const char *name, ops_compose_fn *compose,
                        const char *operands, int64_t first, int64_t second)
{
    struct ops_case *c = ops_add(list, &chain_row, "%s %d, %d", name, (int)first, (int)second);

    c->compose = compose;
    c->steps = 1;
    for (const char *k = operands; *k; k++) {
        const int64_t n = *k == 'W' || *k == 'T' || *k == 'P' ? second : first;

        ops_operand(c, strchr("wWpPv", *k) ? OPS_STATE : OPS_INPUT, TLMC_F32,
                    strchr("svu", *k) ? 0 : 1, &n);
        if (*k == 's' || *k == 'p' || *k == 'P') { /* positive: step sizes, second moments */
            c->operands[c->operand_count - 1].low = 0.1;
            c->operands[c->operand_count - 1].high = 1;
        }
    }
}

static void add_composed(struct ops_list *list, const struct composed *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct ops_case *c = ops_add(list, &chain_row, "%s", rows[i].name);

        c->compose = rows[i].compose;
        c->steps = rows[i].steps;
        for (int k = 0; k < rows[i].operands; k++)
            ops_operand(c, OPS_INPUT, TLMC_F32, rows[i].shapes[k].rank, rows[i].shapes[k].dims);
    }
}

/* tanh(x * y + x) over every pair of special numbers. */
static void add_special(struct ops_list *list)
{
    double values[32];
    const int64_t count = ops_specials(&chain_row, values), pairs = count * count;
    struct ops_case *c = ops_add(list, &chain_row, "multiply and add special values");

    c->compose = multiply_add;
    c->steps = 1;
    c->fill = OPS_SPECIAL;
    ops_operand(c, OPS_INPUT, TLMC_F32, 1, &pairs);
    ops_operand(c, OPS_INPUT, TLMC_F32, 1, &pairs);
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

struct ops_list *ops_group_cases(const char *kind, struct tlmc_arena *arena)
{
    struct ops_list *list = TLMC_NEW(arena, struct ops_list);

    list->arena = arena;
    if (strcmp(kind, "pointwise") == 0) {
        add_composed(list, pointwise, COUNT(pointwise));
        add_special(list);
    } else if (strcmp(kind, "transpose") == 0) {
        add_composed(list, transposes, COUNT(transposes));
    } else if (strcmp(kind, "updates") == 0) {
        add_updates(list, "adam of", two_adams, "wtwpWTWPss", 17, 1031);
        add_updates(list, "adam of", two_adams, "wtwpWTWPss", 0, 5);
        add_updates(list, "momentum of", two_momenta, "wtwWTWss", 33, 7);
        add_updates(list, "adam in two kinds of", two_decays, "wtwpWTWPss", 17, 1031);
        add_updates(list, "sgd in two kinds of", two_rates, "wtWTwtssss", 300, 1031);
        add_updates(list, "sgd in two kinds of", two_rates, "wtWTwtssss", 5, 0);
        add_updates(list, "momentum in one of", one_momentum, "wtwWTwtss", 300, 1031);
        add_updates(list, "momentum in one of", one_momentum, "wtwWTvuss", 5, 17);
        add_updates(list, "accumulation of", three_sums, "wtWTwt", 16, 131);
        add_updates(list, "accumulation of", three_sums, "vuWTvu", 16, 131);
    } else if (strcmp(kind, "launch") == 0) {
        add_launches(list);
    } else {
        return NULL;
    }
    return list;
}
