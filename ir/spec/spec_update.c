/* Updates: the first operand is a leaf and is written in place, in the environment; so are the
   optimizer states among the operands.  PyTorch's formulas and order of operations.  Attributes
   such as beta are rounded once to binary32, and so is 1 - beta, formed from the unrounded
   attribute. */
#include "spec.h"

#include <math.h>

/* One element's numbers: g already scaled by the clipping factor. */
struct constants {
    double momentum, weight_decay, beta1, rest1, beta2, rest2, eps, alpha, rest_alpha, rho,
        rest_rho;
    bool nesterov, centered;
};

static double rest(const struct tlmc_node *node, enum tlmc_attr_tag tag)
{
    return tlmc_spec_f32(1.0 - tlmc_node_float(node, tag));
}

static struct constants read_constants(const struct tlmc_node *node)
{
    return (struct constants){
        .momentum = tlmc_spec_attr(node, TLMC_A_MOMENTUM),
        .weight_decay = tlmc_spec_attr(node, TLMC_A_WEIGHT_DECAY),
        .beta1 = tlmc_spec_attr(node, TLMC_A_BETA1),
        .rest1 = rest(node, TLMC_A_BETA1),
        .beta2 = tlmc_spec_attr(node, TLMC_A_BETA2),
        .rest2 = rest(node, TLMC_A_BETA2),
        .eps = tlmc_spec_attr(node, TLMC_A_EPS),
        .alpha = tlmc_spec_attr(node, TLMC_A_ALPHA),
        .rest_alpha = rest(node, TLMC_A_ALPHA),
        .rho = tlmc_spec_attr(node, TLMC_A_RHO),
        .rest_rho = rest(node, TLMC_A_RHO),
        .nesterov = tlmc_node_int(node, TLMC_A_NESTEROV) != 0,
        .centered = tlmc_node_int(node, TLMC_A_CENTERED) != 0,
    };
}

/* Where operand i lives: a parameter or state in the environment (so that writes stay), else its
   value; NULL when it was left out. */
static double *operand(struct tlmc_spec *run, const struct tlmc_node *node, uint32_t i)
{
    if (i >= node->input_count || node->inputs[i] == TLMC_NONE)
        return NULL;
    const struct tlmc_node *maker = tlmc_value_node(run->graph, node->inputs[i]);

    if (maker->op == TLMC_OP_PARAM || maker->op == TLMC_OP_STATE)
        return run->env->params[tlmc_node_int(maker, TLMC_A_SLOT)].data;
    return tlmc_spec_in(run, node, i)->data;
}

/* The gradient of element i: clipped, then with decay added. */
static double gradient(const double *g, const double *gscale, double decay, double p, int64_t i)
{
    const double clipped = gscale ? g[i] * gscale[0] : g[i];

    return decay != 0 ? clipped + decay * p : clipped;
}

static void sgd(struct tlmc_spec *run, const struct tlmc_node *node, double *p, int64_t n)
{
    const struct constants c = read_constants(node);
    const double *grad = operand(run, node, 1), *lr = operand(run, node, 2);
    const double *undamped = operand(run, node, 3), *gscale = operand(run, node, 5);
    double *buf = operand(run, node, 4);

    for (int64_t i = 0; i < n; i++) {
        double g = gradient(grad, gscale, c.weight_decay, p[i], i);

        if (buf) {
            buf[i] = c.momentum * buf[i] + undamped[0] * g;
            g = c.nesterov ? g + c.momentum * buf[i] : buf[i];
        }
        p[i] -= lr[0] * g;
    }
}

static void adam(struct tlmc_spec *run, const struct tlmc_node *node, double *p, int64_t n)
{
    const bool decoupled = node->op == TLMC_OP_ADAMW_UPDATE;
    const struct constants c = read_constants(node);
    const double *grad = operand(run, node, 1), *step_size = operand(run, node, 4);
    const double *sqrt_bc2 = operand(run, node, 5);
    const double *decay = decoupled ? operand(run, node, 6) : NULL;
    const double *gscale = operand(run, node, decoupled ? 7 : 6);
    double *m = operand(run, node, 2), *v = operand(run, node, 3);

    for (int64_t i = 0; i < n; i++) {
        const double g = gradient(grad, gscale, decoupled ? 0 : c.weight_decay, p[i], i);

        if (decoupled)
            p[i] *= decay[0];
        m[i] = c.beta1 * m[i] + c.rest1 * g;
        v[i] = c.beta2 * v[i] + c.rest2 * g * g;
        p[i] -= step_size[0] * m[i] / (sqrt(v[i]) / sqrt_bc2[0] + c.eps);
    }
}

static void rmsprop(struct tlmc_spec *run, const struct tlmc_node *node, double *p, int64_t n)
{
    const struct constants c = read_constants(node);
    const double *grad = operand(run, node, 1), *lr = operand(run, node, 3);
    const double *gscale = operand(run, node, 6);
    double *square = operand(run, node, 2), *average = operand(run, node, 4);
    double *buf = operand(run, node, 5);

    for (int64_t i = 0; i < n; i++) {
        const double g = gradient(grad, gscale, c.weight_decay, p[i], i);
        double variance, step;

        square[i] = c.alpha * square[i] + c.rest_alpha * g * g;
        variance = square[i];
        if (average) {
            average[i] = c.alpha * average[i] + c.rest_alpha * g;
            variance -= average[i] * average[i];
        }
        step = g / (sqrt(variance) + c.eps);
        if (buf) {
            buf[i] = c.momentum * buf[i] + step;
            step = buf[i];
        }
        p[i] -= lr[0] * step;
    }
}

static void adagrad(struct tlmc_spec *run, const struct tlmc_node *node, double *p, int64_t n)
{
    const struct constants c = read_constants(node);
    const double *grad = operand(run, node, 1), *clr = operand(run, node, 3);
    const double *gscale = operand(run, node, 4);
    double *sum = operand(run, node, 2);

    for (int64_t i = 0; i < n; i++) {
        const double g = gradient(grad, gscale, c.weight_decay, p[i], i);

        sum[i] += g * g;
        p[i] -= clr[0] * g / (sqrt(sum[i]) + c.eps);
    }
}

static void adadelta(struct tlmc_spec *run, const struct tlmc_node *node, double *p, int64_t n)
{
    const struct constants c = read_constants(node);
    const double *grad = operand(run, node, 1), *lr = operand(run, node, 4);
    const double *gscale = operand(run, node, 5);
    double *square = operand(run, node, 2), *delta = operand(run, node, 3);

    for (int64_t i = 0; i < n; i++) {
        const double g = gradient(grad, gscale, c.weight_decay, p[i], i);
        double step;

        square[i] = c.rho * square[i] + c.rest_rho * g * g;
        step = sqrt(delta[i] + c.eps) / sqrt(square[i] + c.eps) * g;
        delta[i] = c.rho * delta[i] + c.rest_rho * step * step;
        p[i] -= lr[0] * step;
    }
}

static void store(struct tlmc_spec *run, const struct tlmc_node *node, double *p, int64_t n)
{
    const double *value = operand(run, node, 1);

    for (int64_t i = 0; i < n; i++)
        p[i] = node->op == TLMC_OP_ACCUMULATE ? p[i] + value[i] : value[i];
}

bool tlmc_spec_update(struct tlmc_spec *run, const struct tlmc_node *node)
{
    static void (*const rules[TLMC_OP_COUNT])(struct tlmc_spec *, const struct tlmc_node *,
                                              double *, int64_t) = {
        [TLMC_OP_STORE] = store,
        [TLMC_OP_ACCUMULATE] = store,
        [TLMC_OP_SGD_UPDATE] = sgd,
        [TLMC_OP_ADAM_UPDATE] = adam,
        [TLMC_OP_ADAMW_UPDATE] = adam,
        [TLMC_OP_RMSPROP_UPDATE] = rmsprop,
        [TLMC_OP_ADAGRAD_UPDATE] = adagrad,
        [TLMC_OP_ADADELTA_UPDATE] = adadelta,
    };
    const struct tlmc_type *type = tlmc_value_type(run->graph, node->inputs[0]);

    TLMC_CHECK(rules[node->op]);
    rules[node->op](run, node, operand(run, node, 0), tlmc_type_count(type));
    return true;
}
