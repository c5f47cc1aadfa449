/* Reductions: the operand is seen as [outer, reduced, inner], the axes being adjacent.  Empty
   reductions give the identity, an empty mean NaN; NaN wins every maximum and minimum; ties share a
   gradient equally. */
#include "spec.h"

#include <math.h>

struct view {
    int64_t outer, reduced, inner;
};

static struct view view_of(const struct tlmc_type *type, int first, int last)
{
    struct view v = { 1, 1, 1 };

    for (int axis = 0; axis < type->rank; axis++) {
        int64_t *part = axis < first ? &v.outer : axis <= last ? &v.reduced : &v.inner;

        *part *= type->dims[axis];
    }
    return v;
}

/* No axes at all: every element is a reduction of one. */
static struct view view_of_axes(const struct tlmc_node *node, const struct tlmc_type *type)
{
    const struct tlmc_attr *axes = tlmc_node_attr(node, TLMC_A_AXES);

    if (!axes || axes->count == 0)
        return (struct view){ tlmc_type_count(type), 1, 1 };
    return view_of(type, (int)axes->v.ints[0], (int)axes->v.ints[axes->count - 1]);
}

/* x steps by `inner` from element to element. */
static double sum(const double *x, int64_t n, int64_t step)
{
    double total = 0;

    for (int64_t r = 0; r < n; r++)
        total += x[r * step];
    return total;
}

/* sign 1: maximum, -1: minimum */
static double extreme(const double *x, int64_t n, int64_t step, double sign)
{
    double best = -INFINITY * sign;

    for (int64_t r = 0; r < n; r++) {
        const double v = x[r * step];

        if (isnan(v))
            return NAN;
        if (sign * v > sign * best)
            best = v;
        else if (v == 0 && best == 0 && signbit(v) != signbit(best))
            best = sign > 0 ? 0.0 : -0.0;
    }
    return best;
}

/* First NaN, else first maximum. */
static double argmax(const double *x, int64_t n, int64_t step)
{
    int64_t best = 0;

    for (int64_t r = 0; r < n; r++) {
        if (isnan(x[r * step]))
            return (double)r;
        if (x[r * step] > x[best * step])
            best = r;
    }
    return (double)best;
}

static double wrap_i32(double x)
{
    const double r = fmod(x, 4294967296.0); /* exact: |x| < 2^63 by the limits on counts */

    return r > 2147483647.0 ? r - 4294967296.0 : r < -2147483648.0 ? r + 4294967296.0 : r;
}

static double reduce_one(const struct tlmc_node *node, const double *x, struct view v, bool integer)
{
    if (node->op == TLMC_OP_REDUCE_SUM)
        return integer ? wrap_i32(sum(x, v.reduced, v.inner)) : sum(x, v.reduced, v.inner);
    if (node->op == TLMC_OP_REDUCE_MEAN)
        return sum(x, v.reduced, v.inner) / (double)v.reduced;
    if (node->op == TLMC_OP_ARGMAX)
        return argmax(x, v.reduced, v.inner);
    if (v.reduced == 0 && integer)
        return node->op == TLMC_OP_REDUCE_MAX ? INT32_MIN : INT32_MAX;
    return extreme(x, v.reduced, v.inner, node->op == TLMC_OP_REDUCE_MAX ? 1 : -1);
}

/* (g, x, y), one g and y a reduction: g / ties where x == y, else 0. */
static void extreme_vjp(struct tlmc_spec *run, const struct tlmc_node *node)
{
    const double *g = tlmc_spec_in(run, node, 0)->data, *y = tlmc_spec_in(run, node, 2)->data;
    const struct tlmc_tensor *x = tlmc_spec_in(run, node, 1);
    double *dx = tlmc_spec_out(run, node, 0)->data;
    const struct view v = view_of_axes(node, &x->type);

    for (int64_t o = 0; o < v.outer; o++) {
        for (int64_t i = 0; i < v.inner; i++) {
            const int64_t base = o * v.reduced * v.inner + i, at = o * v.inner + i;
            double ties = 0;

            for (int64_t r = 0; r < v.reduced; r++)
                ties += x->data[base + r * v.inner] == y[at];
            for (int64_t r = 0; r < v.reduced; r++)
                dx[base + r * v.inner] = x->data[base + r * v.inner] == y[at] ? g[at] / ties : 0;
        }
    }
}

static double global_norm(struct tlmc_spec *run, const struct tlmc_node *node)
{
    double total = 0;

    for (uint32_t k = 0; k < node->input_count; k++) {
        const struct tlmc_tensor *x = tlmc_spec_in(run, node, k);

        for (int64_t i = 0; i < tlmc_type_count(&x->type); i++)
            total += x->data[i] * x->data[i];
    }
    return sqrt(total);
}

bool tlmc_spec_reduce(struct tlmc_spec *run, const struct tlmc_node *node)
{
    const struct tlmc_tensor *x = tlmc_spec_in(run, node, 0);
    struct tlmc_tensor *out = tlmc_spec_out(run, node, 0);
    const int axis = (int)tlmc_node_int(node, TLMC_A_AXIS);
    struct view v;

    if (node->op == TLMC_OP_REDUCE_EXTREME_VJP) {
        extreme_vjp(run, node);
        return true;
    }
    if (node->op == TLMC_OP_GLOBAL_NORM) {
        out->data[0] = global_norm(run, node);
        return true;
    }
    v = node->op == TLMC_OP_ARGMAX ? view_of(&x->type, axis, axis) : view_of_axes(node, &x->type);
    for (int64_t o = 0; o < v.outer; o++)
        for (int64_t i = 0; i < v.inner; i++)
            out->data[o * v.inner + i] = reduce_one(node, x->data + o * v.reduced * v.inner + i, v,
                                                    x->type.dtype == TLMC_I32);
    return true;
}
