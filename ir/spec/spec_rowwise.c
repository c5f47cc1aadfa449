/* Row-wise ops and losses: softmax and log_softmax (max-shifted), layer_norm (two-pass variance),
   mse_loss and cross_entropy, with their backward ops.  The last axis is the row.  Refuses a class
   out of range. */
#include "spec.h"

#include <math.h>
#include <stdio.h>

struct rows {
    int64_t count, columns;
};

/* A tensor of rank 0 is one row of one element. */
static struct rows rows_of(const struct tlmc_type *type)
{
    struct rows r = { 1, 1 };

    for (int axis = 0; axis < type->rank - 1; axis++)
        r.count *= type->dims[axis];
    if (type->rank > 0)
        r.columns = type->dims[type->rank - 1];
    return r;
}

/* -inf for an empty row; NaN wins. */
static double row_max(const double *x, int64_t n)
{
    double best = -INFINITY;

    for (int64_t j = 0; j < n; j++) {
        if (isnan(x[j]))
            return NAN;
        if (x[j] > best)
            best = x[j];
    }
    return best;
}

static double row_exp_sum(const double *x, int64_t n, double max)
{
    double sum = 0;

    for (int64_t j = 0; j < n; j++)
        sum += exp(x[j] - max);
    return sum;
}

/* ---- softmax */

/* Gathers the columns that take part, so that what is blocked can have no influence; the rest stays
   +0. */
static void softmax_row(double *y, const double *x, int64_t n, const double *mask, int64_t step)
{
    double max = -INFINITY, sum = 0;

    for (int64_t j = 0; j < n; j++) {
        if (mask && mask[j * step] == 0)
            continue;
        if (isnan(x[j]) || isnan(max))
            max = NAN;
        else if (x[j] > max)
            max = x[j];
    }
    for (int64_t j = 0; j < n; j++)
        if (!mask || mask[j * step] != 0)
            sum += exp(x[j] - max);
    for (int64_t j = 0; j < n; j++)
        if (!mask || mask[j * step] != 0)
            y[j] = exp(x[j] - max) / sum;
}

static void softmax(struct tlmc_spec *run, const struct tlmc_node *node)
{
    const struct tlmc_tensor *x = tlmc_spec_in(run, node, 0), *mask = tlmc_spec_in(run, node, 1);
    struct tlmc_tensor *y = tlmc_spec_out(run, node, 0);
    const struct rows r = rows_of(&x->type);
    int64_t strides[TLMC_MAX_RANK] = { 0 }, index[TLMC_MAX_RANK];

    if (mask)
        tlmc_spec_broadcast_strides(&mask->type, &x->type, strides);
    if (r.columns == 0)
        return;
    for (int64_t i = 0; i < r.count; i++) {
        const double *blocked = NULL;

        if (mask) {
            tlmc_spec_unflatten(&x->type, i * r.columns, index);
            blocked = mask->data + tlmc_spec_dot(x->type.rank, index, strides);
        }
        softmax_row(y->data + i * r.columns, x->data + i * r.columns, r.columns, blocked,
                    x->type.rank ? strides[x->type.rank - 1] : 0);
    }
}

/* (g, y): y * (g - sum(g * y)) */
static void softmax_vjp(struct tlmc_spec *run, const struct tlmc_node *node)
{
    const double *g = tlmc_spec_in(run, node, 0)->data, *y = tlmc_spec_in(run, node, 1)->data;
    struct tlmc_tensor *out = tlmc_spec_out(run, node, 0);
    const struct rows r = rows_of(&out->type);

    for (int64_t i = 0; i < r.count; i++) {
        const int64_t at = i * r.columns;
        double dot = 0;

        for (int64_t j = 0; j < r.columns; j++)
            dot += g[at + j] * y[at + j];
        for (int64_t j = 0; j < r.columns; j++)
            out->data[at + j] = y[at + j] * (g[at + j] - dot);
    }
}

static void log_softmax(struct tlmc_spec *run, const struct tlmc_node *node)
{
    const struct tlmc_tensor *x = tlmc_spec_in(run, node, 0);
    double *y = tlmc_spec_out(run, node, 0)->data;
    const struct rows r = rows_of(&x->type);

    for (int64_t i = 0; i < r.count; i++) {
        const double *row = x->data + i * r.columns;
        const double max = row_max(row, r.columns);
        const double log_sum = log(row_exp_sum(row, r.columns, max));

        for (int64_t j = 0; j < r.columns; j++)
            y[i * r.columns + j] = (row[j] - max) - log_sum;
    }
}

/* (g, y): g - exp(y) * sum(g) */
static void log_softmax_vjp(struct tlmc_spec *run, const struct tlmc_node *node)
{
    const double *g = tlmc_spec_in(run, node, 0)->data, *y = tlmc_spec_in(run, node, 1)->data;
    struct tlmc_tensor *out = tlmc_spec_out(run, node, 0);
    const struct rows r = rows_of(&out->type);

    for (int64_t i = 0; i < r.count; i++) {
        const int64_t at = i * r.columns;
        double sum = 0;

        for (int64_t j = 0; j < r.columns; j++)
            sum += g[at + j];
        for (int64_t j = 0; j < r.columns; j++)
            out->data[at + j] = g[at + j] - exp(y[at + j]) * sum;
    }
}

/* ---- layer_norm */

static void layer_norm(struct tlmc_spec *run, const struct tlmc_node *node)
{
    const struct tlmc_tensor *x = tlmc_spec_in(run, node, 0);
    const double *weight = tlmc_spec_in(run, node, 1)->data,
                 *bias = tlmc_spec_in(run, node, 2)->data;
    double *y = tlmc_spec_out(run, node, 0)->data, *means = tlmc_spec_out(run, node, 1)->data;
    double *rstds = tlmc_spec_out(run, node, 2)->data;
    const double eps = tlmc_spec_attr(node, TLMC_A_EPS);
    const struct rows r = rows_of(&x->type);

    for (int64_t i = 0; i < r.count; i++) {
        const double *row = x->data + i * r.columns;
        double sum = 0, squares = 0;

        for (int64_t j = 0; j < r.columns; j++)
            sum += row[j];
        means[i] = sum / (double)r.columns;
        for (int64_t j = 0; j < r.columns; j++)
            squares += (row[j] - means[i]) * (row[j] - means[i]);
        rstds[i] = 1 / sqrt(squares / (double)r.columns + eps);
        for (int64_t j = 0; j < r.columns; j++)
            y[i * r.columns + j] = (row[j] - means[i]) * rstds[i] * weight[j] + bias[j];
    }
}

/* (g, x, weight, mean, rstd), h = g * weight, z = (x - mean) * rstd:  rstd * (h - mean(h) - z *
   mean(h * z)) */
static void layer_norm_vjp(struct tlmc_spec *run, const struct tlmc_node *node)
{
    const double *g = tlmc_spec_in(run, node, 0)->data, *x = tlmc_spec_in(run, node, 1)->data;
    const double *weight = tlmc_spec_in(run, node, 2)->data;
    const double *means = tlmc_spec_in(run, node, 3)->data,
                 *rstds = tlmc_spec_in(run, node, 4)->data;
    struct tlmc_tensor *out = tlmc_spec_out(run, node, 0);
    const struct rows r = rows_of(&out->type);
    const double n = (double)r.columns;

    for (int64_t i = 0; i < r.count; i++) {
        const int64_t at = i * r.columns;
        double sum = 0, dot = 0;

        for (int64_t j = 0; j < r.columns; j++) {
            sum += g[at + j] * weight[j];
            dot += g[at + j] * weight[j] * (x[at + j] - means[i]) * rstds[i];
        }
        for (int64_t j = 0; j < r.columns; j++) {
            const double z = (x[at + j] - means[i]) * rstds[i];

            out->data[at + j] = rstds[i] * (g[at + j] * weight[j] - sum / n - z * (dot / n));
        }
    }
}

/* (g, x, mean, rstd): sums over the rows of g * (x - mean) * rstd and of g */
static void layer_norm_vjp_weight(struct tlmc_spec *run, const struct tlmc_node *node)
{
    const double *g = tlmc_spec_in(run, node, 0)->data;
    const struct tlmc_tensor *x = tlmc_spec_in(run, node, 1);
    const double *means = tlmc_spec_in(run, node, 2)->data,
                 *rstds = tlmc_spec_in(run, node, 3)->data;
    double *dw = tlmc_spec_out(run, node, 0)->data, *db = tlmc_spec_out(run, node, 1)->data;
    const struct rows r = rows_of(&x->type);

    for (int64_t i = 0; i < r.count; i++) {
        for (int64_t j = 0; j < r.columns; j++) {
            const int64_t at = i * r.columns + j;

            dw[j] += g[at] * (x->data[at] - means[i]) * rstds[i];
            db[j] += g[at];
        }
    }
}

bool tlmc_spec_rowwise(struct tlmc_spec *run, const struct tlmc_node *node)
{
    static void (*const rules[TLMC_OP_COUNT])(struct tlmc_spec *, const struct tlmc_node *) = {
        [TLMC_OP_SOFTMAX] = softmax,
        [TLMC_OP_SOFTMAX_VJP] = softmax_vjp,
        [TLMC_OP_LOG_SOFTMAX] = log_softmax,
        [TLMC_OP_LOG_SOFTMAX_VJP] = log_softmax_vjp,
        [TLMC_OP_LAYER_NORM] = layer_norm,
        [TLMC_OP_LAYER_NORM_VJP] = layer_norm_vjp,
        [TLMC_OP_LAYER_NORM_VJP_WEIGHT] = layer_norm_vjp_weight,
    };

    TLMC_CHECK(rules[node->op]);
    rules[node->op](run, node);
    return true;
}

/* ---- losses */

static void mse_loss(struct tlmc_spec *run, const struct tlmc_node *node)
{
    const struct tlmc_tensor *a = tlmc_spec_in(run, node, 0);
    const double *b = tlmc_spec_in(run, node, 1)->data;
    const int64_t n = tlmc_type_count(&a->type);
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += (a->data[i] - b[i]) * (a->data[i] - b[i]);
    tlmc_spec_out(run, node, 0)->data[0] = sum / (double)n;
}

static void mse_loss_vjp(struct tlmc_spec *run, const struct tlmc_node *node)
{
    const double g = tlmc_spec_in(run, node, 0)->data[0];
    const double *a = tlmc_spec_in(run, node, 1)->data, *b = tlmc_spec_in(run, node, 2)->data;
    struct tlmc_tensor *out = tlmc_spec_out(run, node, 0);
    const int64_t n = tlmc_type_count(&out->type);

    for (int64_t i = 0; i < n; i++)
        out->data[i] = 2 / (double)n * (a[i] - b[i]) * g;
}

static bool class_fits(struct tlmc_spec *run, double class_id, int64_t row, int64_t classes)
{
    if (class_id >= 0 && class_id < (double)classes)
        return true;
    snprintf(run->error, 256, "cross_entropy: class %.0f at row %lld is out of range [0, %lld)",
             class_id, (long long)row, (long long)classes);
    return false;
}

/* -> log(s) - (x_y - m), m = max, s = sum(exp(x - m)), a row each */
static bool cross_entropy(struct tlmc_spec *run, const struct tlmc_node *node)
{
    const struct tlmc_tensor *x = tlmc_spec_in(run, node, 0);
    const double *class_ids = tlmc_spec_in(run, node, 1)->data;
    double *loss = tlmc_spec_out(run, node, 0)->data, *maxima = tlmc_spec_out(run, node, 1)->data;
    double *sums = tlmc_spec_out(run, node, 2)->data;
    const struct rows r = rows_of(&x->type);

    for (int64_t i = 0; i < r.count; i++) {
        const double *row = x->data + i * r.columns;

        if (!class_fits(run, class_ids[i], i, r.columns))
            return false;
        maxima[i] = row_max(row, r.columns);
        sums[i] = row_exp_sum(row, r.columns, maxima[i]);
        loss[i] = log(sums[i]) - (row[(int64_t)class_ids[i]] - maxima[i]);
    }
    return true;
}

/* (g, logits, class, m, s): (exp(x - m) / s - [class]) * g */
static bool cross_entropy_vjp(struct tlmc_spec *run, const struct tlmc_node *node)
{
    const double *g = tlmc_spec_in(run, node, 0)->data, *x = tlmc_spec_in(run, node, 1)->data;
    const double *class_ids = tlmc_spec_in(run, node, 2)->data;
    const double *maxima = tlmc_spec_in(run, node, 3)->data,
                 *sums = tlmc_spec_in(run, node, 4)->data;
    struct tlmc_tensor *out = tlmc_spec_out(run, node, 0);
    const struct rows r = rows_of(&out->type);

    for (int64_t i = 0; i < r.count; i++) {
        if (!class_fits(run, class_ids[i], i, r.columns))
            return false;
        for (int64_t j = 0; j < r.columns; j++) {
            const double p = exp(x[i * r.columns + j] - maxima[i]) / sums[i];

            out->data[i * r.columns + j] = (p - (j == (int64_t)class_ids[i])) * g[i];
        }
    }
    return true;
}

bool tlmc_spec_loss(struct tlmc_spec *run, const struct tlmc_node *node)
{
    if (node->op == TLMC_OP_CROSS_ENTROPY)
        return cross_entropy(run, node);
    if (node->op == TLMC_OP_CROSS_ENTROPY_VJP)
        return cross_entropy_vjp(run, node);
    if (node->op == TLMC_OP_MSE_LOSS)
        mse_loss(run, node);
    else if (node->op == TLMC_OP_MSE_LOSS_VJP)
        mse_loss_vjp(run, node);
    else
        TLMC_BUG("interpreter: no rule for %s", tlmc_op_info(node->op)->name);
    return true;
}
