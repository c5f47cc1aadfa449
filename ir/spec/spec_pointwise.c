/* Pointwise ops in binary64: one small function an op, straight from the policy column of ops.def,
   in a table by op. Derivatives of unary ops are closed forms of x or y as the table's `uses`
   column says.  Where a derivative is said to be 0 it is 0 whatever g is: a selection, not a
   product. */
#include "spec.h"

#include <math.h>

#define PI 3.14159265358979323846

struct attrs {
    double factor, low, high, eps, slope, alpha;
};

typedef double unary_fn(double x, const struct attrs *a);
typedef double unary_vjp_fn(double g, double x, double y, const struct attrs *a);
typedef double binary_fn(double a, double b);
typedef double ternary_fn(double a, double b, double c);

/* ---- unary: values */

static double sigmoid(double x)
{
    return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
}

static double softplus(double x)
{
    return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}

/* Twice the argument of tanh in gelu, and its derivative: (1 + tanh u) / 2 = sigmoid(2u). */
static double gelu_argument(double x)
{
    return 2 * sqrt(2 / PI) * (x + 0.044715 * x * x * x);
}

static double gelu_argument_slope(double x)
{
    return 2 * sqrt(2 / PI) * (1 + 3 * 0.044715 * x * x);
}

/* Both gelus level off: their slope at infinity is the limit. */
static double gelu_slope(double x)
{
    const double s = sigmoid(gelu_argument(x));

    if (isinf(x))
        return x > 0;
    return s + x * s * sigmoid(-gelu_argument(x)) * gelu_argument_slope(x);
}

static double gelu_erf_slope(double x)
{
    if (isinf(x))
        return x > 0;
    return 0.5 * erfc(-x / sqrt(2)) + x * exp(-0.5 * x * x) / sqrt(2 * PI);
}

#define U(name, body)                                   \
    static double name(double x, const struct attrs *a) \
    {                                                   \
        (void)a;                                        \
        return body;                                    \
    }
U(u_neg, -x)
U(u_scale, x * a->factor)
U(u_abs, fabs(x))
U(u_sqrt, sqrt(x))
U(u_rsqrt, 1 / sqrt(x))
U(u_exp, exp(x))
U(u_log, log(x))
U(u_sin, sin(x))
U(u_cos, cos(x))
U(u_inv, 1 / x)
U(u_relu, x < 0 ? 0 : x)
U(u_gelu, x *sigmoid(gelu_argument(x)))
U(u_gelu_erf, 0.5 * x * erfc(-x / sqrt(2)))
U(u_sigmoid, sigmoid(x))
U(u_tanh, tanh(x))
U(u_softplus, softplus(x))
U(u_safe_log, log(softplus(x) + a->eps))
U(u_erf, erf(x))
U(u_silu, x *sigmoid(x))
U(u_leaky_relu, x < 0 ? a->slope * x : x)
U(u_elu, x > 0 ? x : a->alpha * expm1(x))
U(u_clamp, x<a->low ? a->low : x> a->high ? a->high : x)
U(u_floor, floor(x))
U(u_ceil, ceil(x))
U(u_round, nearbyint(x))
#undef U

/* ---- unary: derivative times g */

#define V(name, body)                                                       \
    static double name(double g, double x, double y, const struct attrs *a) \
    {                                                                       \
        (void)g;                                                            \
        (void)x;                                                            \
        (void)y;                                                            \
        (void)a;                                                            \
        return body;                                                        \
    }
V(v_neg, -g)
V(v_scale, g * a->factor)
V(v_abs, x < 0 ? -g : x == 0 ? 0 : g)
V(v_sqrt, g / (2 * y))
V(v_rsqrt, -0.5 * g * y * y * y)
V(v_exp, g *y)
V(v_log, g / x)
V(v_sin, g *cos(x))
V(v_cos, -g *sin(x))
V(v_inv, -g *y *y)
V(v_relu, x <= 0 ? 0 : g)
V(v_gelu, g *gelu_slope(x))
V(v_gelu_erf, g *gelu_erf_slope(x))
V(v_sigmoid, g *y *(1 - y))
V(v_tanh, g *(1 - y * y))
V(v_softplus, g *sigmoid(x))
V(v_safe_log, g *sigmoid(x) / (softplus(x) + a->eps))
V(v_erf, g * 2 / sqrt(PI) * exp(-x * x))
V(v_silu, g *sigmoid(x) * (1 + x * sigmoid(-x)))
V(v_leaky_relu, x > 0 ? g : a->slope * g)
V(v_elu, x > 0 ? g : g * a->alpha * exp(x))
V(v_clamp, x<a->low || x> a->high ? 0 : g)
V(v_zero, 0)
#undef V

static const struct {
    unary_fn *value;
    unary_vjp_fn *vjp;
} unary[TLMC_OP_COUNT] = {
    [TLMC_OP_NEG] = { u_neg, v_neg },
    [TLMC_OP_SCALE] = { u_scale, v_scale },
    [TLMC_OP_ABS] = { u_abs, v_abs },
    [TLMC_OP_SQRT] = { u_sqrt, v_sqrt },
    [TLMC_OP_RSQRT] = { u_rsqrt, v_rsqrt },
    [TLMC_OP_EXP] = { u_exp, v_exp },
    [TLMC_OP_LOG] = { u_log, v_log },
    [TLMC_OP_SIN] = { u_sin, v_sin },
    [TLMC_OP_COS] = { u_cos, v_cos },
    [TLMC_OP_INV] = { u_inv, v_inv },
    [TLMC_OP_RELU] = { u_relu, v_relu },
    [TLMC_OP_GELU] = { u_gelu, v_gelu },
    [TLMC_OP_GELU_ERF] = { u_gelu_erf, v_gelu_erf },
    [TLMC_OP_SIGMOID] = { u_sigmoid, v_sigmoid },
    [TLMC_OP_TANH] = { u_tanh, v_tanh },
    [TLMC_OP_SOFTPLUS] = { u_softplus, v_softplus },
    [TLMC_OP_SAFE_LOG] = { u_safe_log, v_safe_log },
    [TLMC_OP_ERF] = { u_erf, v_erf },
    [TLMC_OP_SILU] = { u_silu, v_silu },
    [TLMC_OP_LEAKY_RELU] = { u_leaky_relu, v_leaky_relu },
    [TLMC_OP_ELU] = { u_elu, v_elu },
    [TLMC_OP_CLAMP] = { u_clamp, v_clamp },
    [TLMC_OP_FLOOR] = { u_floor, v_zero },
    [TLMC_OP_CEIL] = { u_ceil, v_zero },
    [TLMC_OP_ROUND] = { u_round, v_zero },
};

/* ---- two operands */

static double b_add(double a, double b)
{
    return a + b;
}

static double b_sub(double a, double b)
{
    return a - b;
}

static double b_mul(double a, double b)
{
    return a * b;
}

static double b_div(double a, double b)
{
    return a / b;
}

/* NaN if either is NaN; of two zeros +0. */
static double b_max(double a, double b)
{
    if (isnan(a) || isnan(b))
        return NAN;
    if (a == 0 && b == 0)
        return signbit(a) ? b : a;
    return a > b ? a : b;
}

/* NaN if either is NaN; of two zeros -0. */
static double b_min(double a, double b)
{
    if (isnan(a) || isnan(b))
        return NAN;
    if (a == 0 && b == 0)
        return signbit(a) ? a : b;
    return a < b ? a : b;
}

static double b_eq(double a, double b)
{
    return a == b;
}

static double b_ne(double a, double b)
{
    return a != b;
}

static double b_lt(double a, double b)
{
    return a < b;
}

static double b_le(double a, double b)
{
    return a <= b;
}

static double b_gt(double a, double b)
{
    return a > b;
}

static double b_ge(double a, double b)
{
    return a >= b;
}

static double b_and(double a, double b)
{
    return a != 0 && b != 0;
}

static double b_or(double a, double b)
{
    return a != 0 || b != 0;
}

static binary_fn *const binary[TLMC_OP_COUNT] = {
    [TLMC_OP_ADD] = b_add, [TLMC_OP_SUB] = b_sub,         [TLMC_OP_MUL] = b_mul,
    [TLMC_OP_DIV] = b_div, [TLMC_OP_POW] = pow,           [TLMC_OP_MAX] = b_max,
    [TLMC_OP_MIN] = b_min, [TLMC_OP_EQ] = b_eq,           [TLMC_OP_NE] = b_ne,
    [TLMC_OP_LT] = b_lt,   [TLMC_OP_LE] = b_le,           [TLMC_OP_GT] = b_gt,
    [TLMC_OP_GE] = b_ge,   [TLMC_OP_LOGICAL_AND] = b_and, [TLMC_OP_LOGICAL_OR] = b_or,
};

/* ---- three operands */

static double t_pow_vjp_a(double g, double a, double b)
{
    return b == 0 ? 0 : g * b * pow(a, b - 1);
}

static double t_pow_vjp_b(double g, double a, double y)
{
    return a <= 0 ? 0 : g * y * log(a);
}

static double t_max_vjp(double g, double a, double b)
{
    return a < b ? 0 : a == b ? g / 2 : g;
}

static double t_min_vjp(double g, double a, double b)
{
    return a > b ? 0 : a == b ? g / 2 : g;
}

static double t_where(double c, double a, double b)
{
    return c != 0 ? a : b;
}

static ternary_fn *const ternary[TLMC_OP_COUNT] = {
    [TLMC_OP_POW_VJP_A] = t_pow_vjp_a, [TLMC_OP_POW_VJP_B] = t_pow_vjp_b,
    [TLMC_OP_MAX_VJP] = t_max_vjp,     [TLMC_OP_MIN_VJP] = t_min_vjp,
    [TLMC_OP_WHERE] = t_where,
};

/* ---- integers and casts */

static double wrap_i32(int64_t x)
{
    const int64_t two32 = INT64_C(1) << 32;
    int64_t low = x % two32; /* in (-2^32, 2^32) */

    if (low > INT32_MAX)
        low -= two32;
    else if (low < INT32_MIN)
        low += two32;
    return (double)low;
}

/* add, sub, mul of i32 operands, exact in 64 bits and then wrapped. */
static double integer_arithmetic(enum tlmc_op op, double a, double b)
{
    const int64_t x = (int64_t)a, y = (int64_t)b;

    if (op == TLMC_OP_ADD)
        return wrap_i32(x + y);
    if (op == TLMC_OP_SUB)
        return wrap_i32(x - y);
    return wrap_i32(x * y);
}

static double cast(double x, enum tlmc_dtype to)
{
    if (to == TLMC_BOOL)
        return x != 0;
    if (to != TLMC_I32)
        return x;
    if (isnan(x))
        return 0;
    if (x <= INT32_MIN)
        return INT32_MIN;
    return x >= INT32_MAX ? INT32_MAX : trunc(x);
}

/* ---- dispatch */

static struct attrs read_attrs(const struct tlmc_node *node)
{
    return (struct attrs){
        .factor = tlmc_spec_attr(node, TLMC_A_FACTOR),
        .low = tlmc_spec_attr(node, TLMC_A_MIN),
        .high = tlmc_spec_attr(node, TLMC_A_MAX),
        .eps = tlmc_spec_attr(node, TLMC_A_EPS),
        .slope = tlmc_spec_attr(node, TLMC_A_SLOPE),
        .alpha = tlmc_spec_attr(node, TLMC_A_ALPHA),
    };
}

/* The row whose derivative op this is: vjp rows follow their op in the enum. */
static bool unary_vjp(struct tlmc_spec *run, const struct tlmc_node *node)
{
    const enum tlmc_op op = (enum tlmc_op)(node->op - 1);
    const enum tlmc_uses uses = tlmc_op_info(op)->uses;
    const struct attrs attrs = read_attrs(node);
    const double *g = tlmc_spec_in(run, node, 0)->data;
    const double *x = NULL, *y = NULL;
    struct tlmc_tensor *out = tlmc_spec_out(run, node, 0);
    const int64_t count = tlmc_type_count(&out->type);

    if (uses == TLMC_USES_X || uses == TLMC_USES_XY)
        x = tlmc_spec_in(run, node, 1)->data;
    if (uses == TLMC_USES_Y || uses == TLMC_USES_XY)
        y = tlmc_spec_in(run, node, uses == TLMC_USES_Y ? 1 : 2)->data;
    for (int64_t i = 0; i < count; i++)
        out->data[i] = unary[op].vjp(g[i], x ? x[i] : 0, y ? y[i] : 0, &attrs);
    return true;
}

static void two_operands(const struct tlmc_node *node, const struct tlmc_tensor *a, const double *b,
                         struct tlmc_tensor *out)
{
    const int64_t count = tlmc_type_count(&out->type);
    const bool wraps =
        out->type.dtype == TLMC_I32 &&
        (node->op == TLMC_OP_ADD || node->op == TLMC_OP_SUB || node->op == TLMC_OP_MUL);

    for (int64_t i = 0; i < count; i++)
        out->data[i] = wraps ? integer_arithmetic(node->op, a->data[i], b[i])
                             : binary[node->op](a->data[i], b[i]);
}

bool tlmc_spec_pointwise(struct tlmc_spec *run, const struct tlmc_node *node)
{
    const struct tlmc_op_info *info = tlmc_op_info(node->op);
    const struct tlmc_tensor *a = tlmc_spec_in(run, node, 0);
    struct tlmc_tensor *out = tlmc_spec_out(run, node, 0);
    const int64_t count = tlmc_type_count(&out->type);

    if (info->is_unary && info->is_vjp)
        return unary_vjp(run, node);
    if (binary[node->op]) {
        two_operands(node, a, tlmc_spec_in(run, node, 1)->data, out);
    } else if (ternary[node->op]) {
        const double *b = tlmc_spec_in(run, node, 1)->data, *c = tlmc_spec_in(run, node, 2)->data;

        for (int64_t i = 0; i < count; i++)
            out->data[i] = ternary[node->op](a->data[i], b[i], c[i]);
    } else if (node->op == TLMC_OP_CAST) {
        for (int64_t i = 0; i < count; i++)
            out->data[i] = cast(a->data[i], out->type.dtype);
    } else if (node->op == TLMC_OP_LOGICAL_NOT) {
        for (int64_t i = 0; i < count; i++)
            out->data[i] = a->data[i] == 0;
    } else {
        const struct attrs attrs = read_attrs(node);

        TLMC_CHECK(unary[node->op].value);
        for (int64_t i = 0; i < count; i++)
            out->data[i] = unary[node->op].value(a->data[i], &attrs);
    }
    return true;
}
