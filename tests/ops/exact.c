/* chain512, tree64 and the composite ops, as docs/numerics.md states them: one loop a sentence.
   Every operation below is one IEEE binary32 operation; the only fused ones are written fmaf. */
#include "exact.h"

#include "tlm_math.h"

#include <math.h>
#include <stdlib.h>

enum { K_BLOCK = 512, CHUNK = 4096, LANES = 64 };

static const struct tlmc_attr *attr_of(const struct ops_case *c, enum tlmc_attr_tag tag)
{
    for (uint32_t i = 0; i < c->attr_count; i++)
        if (c->attrs[i].tag == tag)
            return &c->attrs[i];
    return NULL;
}

double ops_attr_f64(const struct ops_case *c, enum tlmc_attr_tag tag)
{
    const struct tlmc_attr *attr = attr_of(c, tag);

    return attr ? attr->v.f : 0;
}

float ops_attr_f32(const struct ops_case *c, enum tlmc_attr_tag tag)
{
    return (float)ops_attr_f64(c, tag);
}

int64_t ops_attr_i64(const struct ops_case *c, enum tlmc_attr_tag tag)
{
    const struct tlmc_attr *attr = attr_of(c, tag);

    return attr ? attr->v.i : 0;
}

/* ---- the two sums */

/* Lane l takes elements l, l + 64, ... of a chunk; lanes are combined by halving. */
static float tree_chunk(const float *x, int64_t n)
{
    float lanes[LANES] = { 0 };

    for (int64_t i = 0; i < n; i++)
        lanes[i % LANES] += x[i];
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            lanes[l] += lanes[l + half];
    return lanes[0];
}

/* Chunk results are reduced by the same rule.  x is overwritten. */
static float tree64(float *x, int64_t n)
{
    while (n > CHUNK) {
        const int64_t chunks = (n + CHUNK - 1) / CHUNK;

        for (int64_t k = 0; k < chunks; k++)
            x[k] = tree_chunk(x + k * CHUNK, n - k * CHUNK < CHUNK ? n - k * CHUNK : CHUNK);
        n = chunks;
    }
    return tree_chunk(x, n);
}

/* sum of a[k * sa] * b[k * sb]: blocks of 512, in each an ascending chain of fused multiply-adds
   from +0 */
static float chain512(const float *a, int64_t sa, const float *b, int64_t sb, int64_t n)
{
    float total = 0;

    for (int64_t begin = 0; begin < n; begin += K_BLOCK) {
        const int64_t end = begin + K_BLOCK < n ? begin + K_BLOCK : n;
        float block = 0;

        for (int64_t k = begin; k < end; k++)
            block = fmaf(a[k * sa], b[k * sb], block);
        total = begin == 0 ? block : total + block;
    }
    return total;
}

/* Room for the terms of one sum. */
static float *terms_new(int64_t n)
{
    float *terms = calloc(n > 0 ? (size_t)n : 1, sizeof *terms);

    if (!terms)
        tlmc_out_of_memory();
    return terms;
}

/* ---- reductions over [outer, reduced, inner] */

struct view {
    int64_t outer, reduced, inner;
};

static struct view view_of(const struct ops_case *c, const struct tlmc_type *type)
{
    const struct tlmc_attr *axes = attr_of(c, TLMC_A_AXES);
    const int64_t first = axes->v.ints[0], last = axes->v.ints[axes->count - 1];
    struct view v = { 1, 1, 1 };

    for (int axis = 0; axis < type->rank; axis++)
        *(axis < first ? &v.outer : axis <= last ? &v.reduced : &v.inner) *= type->dims[axis];
    return v;
}

static float reduce_one(enum tlmc_op op, const float *x, struct view v, float *terms)
{
    float best = op == TLMC_OP_REDUCE_MAX ? -INFINITY : INFINITY;

    for (int64_t r = 0; r < v.reduced; r++)
        terms[r] = x[r * v.inner];
    if (op == TLMC_OP_REDUCE_SUM)
        return tree64(terms, v.reduced);
    if (op == TLMC_OP_REDUCE_MEAN)
        return tree64(terms, v.reduced) / (float)v.reduced;
    for (int64_t r = 0; r < v.reduced; r++)
        best = op == TLMC_OP_REDUCE_MAX ? tlm_max(best, terms[r]) : tlm_min(best, terms[r]);
    return best;
}

static bool reduce(const struct ops_case *c, const struct ops_buffer *in, struct ops_buffer *out)
{
    const struct view v = view_of(c, &in[0].type);
    float *terms = terms_new(v.reduced);

    for (int64_t o = 0; o < v.outer && in[0].type.dtype == TLMC_F32; o++)
        for (int64_t i = 0; i < v.inner; i++)
            out->data.f[o * v.inner + i] =
                reduce_one(c->row->op, in[0].data.f + o * v.reduced * v.inner + i, v, terms);
    free(terms);
    return in[0].type.dtype == TLMC_F32;
}

/* (g, x, y): g / (number of x equal to y) there, +0 elsewhere */
static bool extreme_vjp(const struct ops_case *c, const struct ops_buffer *in,
                        struct ops_buffer *out)
{
    const struct view v = view_of(c, &in[1].type);

    for (int64_t o = 0; o < v.outer; o++) {
        for (int64_t i = 0; i < v.inner; i++) {
            const float g = in[0].data.f[o * v.inner + i], y = in[2].data.f[o * v.inner + i];
            const float *x = in[1].data.f + o * v.reduced * v.inner + i;
            float *dx = out->data.f + o * v.reduced * v.inner + i, ties = 0;

            for (int64_t r = 0; r < v.reduced; r++)
                ties += x[r * v.inner] == y ? 1.0f : 0.0f;
            for (int64_t r = 0; r < v.reduced; r++)
                dx[r * v.inner] = x[r * v.inner] == y ? g / ties : 0.0f;
        }
    }
    return true;
}

/* sqrt of tree64(x * x) for each operand, added left to right */
static bool global_norm(const struct ops_case *c, const struct ops_buffer *in,
                        struct ops_buffer *out)
{
    float total = 0;

    for (uint32_t k = 0; k < c->operand_count; k++) {
        const int64_t n = tlmc_type_count(&in[k].type);
        float *terms = terms_new(n);

        for (int64_t i = 0; i < n; i++)
            terms[i] = in[k].data.f[i] * in[k].data.f[i];
        total += tree64(terms, n);
        free(terms);
    }
    out->data.f[0] = sqrtf(total);
    return true;
}

/* ---- products */

/* Offset of batch n in an operand whose leading axes broadcast. */
static int64_t batch_offset(const struct tlmc_type *from, const struct tlmc_type *to, int64_t n)
{
    int64_t offset = 0, stride = from->dims[from->rank - 1] * from->dims[from->rank - 2];

    for (int axis = to->rank - 3; axis >= 0; axis--) {
        const int theirs = axis - to->rank + from->rank;
        const int64_t index = n % to->dims[axis];

        n /= to->dims[axis];
        if (theirs < 0)
            continue;
        if (from->dims[theirs] != 1)
            offset += index * stride;
        stride *= from->dims[theirs];
    }
    return offset;
}

static bool matmul(const struct ops_case *c, const struct ops_buffer *in, struct ops_buffer *out)
{
    const struct tlmc_type *type = &out->type;
    const int64_t rows = type->dims[type->rank - 2], columns = type->dims[type->rank - 1];
    const int64_t inner = in[0].type.dims[in[0].type.rank - 1];
    const int64_t plane = rows * columns, batches = plane ? tlmc_type_count(type) / plane : 0;

    (void)c;
    for (int64_t n = 0; n < batches; n++) {
        const float *a = in[0].data.f + batch_offset(&in[0].type, type, n);
        const float *b = in[1].data.f + batch_offset(&in[1].type, type, n);

        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < columns; j++)
                out->data.f[n * plane + i * columns + j] =
                    chain512(a + i * inner, 1, b + j, columns, inner);
    }
    return true;
}

/* ---- rows */

struct rows {
    int64_t count, columns;
};

static struct rows rows_of(const struct tlmc_type *type)
{
    struct rows r = { 1, type->dims[type->rank - 1] };

    for (int axis = 0; axis < type->rank - 1; axis++)
        r.count *= type->dims[axis];
    return r;
}

/* m = max of what takes part, e = exp(x - m) or +0, s = tree64(e), e / s; +0 in a row without
   any. */
static void softmax_row(float *y, const float *x, const uint8_t *mask, int64_t n, float *terms)
{
    float max = -INFINITY, sum;
    bool any = false;

    for (int64_t j = 0; j < n; j++) {
        if (mask && !mask[j])
            continue;
        any = true;
        max = tlm_max(max, x[j]);
    }
    for (int64_t j = 0; j < n; j++)
        y[j] = terms[j] = mask && !mask[j] ? 0.0f : tlm_exp(x[j] - max);
    sum = tree64(terms, n);
    for (int64_t j = 0; j < n; j++)
        y[j] = !any || (mask && !mask[j]) ? 0.0f : y[j] / sum;
}

static bool softmax(const struct ops_case *c, const struct ops_buffer *in, struct ops_buffer *out)
{
    const struct rows r = rows_of(&in[0].type);
    const uint8_t *mask = c->operand_count > 1 ? in[1].data.b : NULL;
    float *terms = terms_new(r.columns);

    for (int64_t i = 0; i < r.count; i++)
        softmax_row(out->data.f + i * r.columns, in[0].data.f + i * r.columns,
                    mask ? mask + i * r.columns : NULL, r.columns, terms);
    free(terms);
    return true;
}

/* y * (g - tree64(g * y)) */
static bool softmax_vjp(const struct ops_case *c, const struct ops_buffer *in,
                        struct ops_buffer *out)
{
    const struct rows r = rows_of(&in[0].type);
    float *terms = terms_new(r.columns);

    (void)c;
    for (int64_t i = 0; i < r.count; i++) {
        const float *g = in[0].data.f + i * r.columns, *y = in[1].data.f + i * r.columns;
        float sum;

        for (int64_t j = 0; j < r.columns; j++)
            terms[j] = g[j] * y[j];
        sum = tree64(terms, r.columns);
        for (int64_t j = 0; j < r.columns; j++)
            out->data.f[i * r.columns + j] = y[j] * (g[j] - sum);
    }
    free(terms);
    return true;
}

static float row_max(const float *x, int64_t n)
{
    float max = -INFINITY;

    for (int64_t j = 0; j < n; j++)
        max = tlm_max(max, x[j]);
    return max;
}

static float row_exp_sum(const float *x, int64_t n, float max, float *terms)
{
    for (int64_t j = 0; j < n; j++)
        terms[j] = tlm_exp(x[j] - max);
    return tree64(terms, n);
}

/* (x - m) - log(s) */
static bool log_softmax(const struct ops_case *c, const struct ops_buffer *in,
                        struct ops_buffer *out)
{
    const struct rows r = rows_of(&in[0].type);
    float *terms = terms_new(r.columns);

    (void)c;
    for (int64_t i = 0; i < r.count; i++) {
        const float *x = in[0].data.f + i * r.columns;
        const float max = row_max(x, r.columns);
        const float log_sum = tlm_log(row_exp_sum(x, r.columns, max, terms));

        for (int64_t j = 0; j < r.columns; j++)
            out->data.f[i * r.columns + j] = (x[j] - max) - log_sum;
    }
    free(terms);
    return true;
}

/* fma(-exp(y), tree64(g), g) */
static bool log_softmax_vjp(const struct ops_case *c, const struct ops_buffer *in,
                            struct ops_buffer *out)
{
    const struct rows r = rows_of(&in[0].type);
    float *terms = terms_new(r.columns);

    (void)c;
    for (int64_t i = 0; i < r.count; i++) {
        const float *g = in[0].data.f + i * r.columns, *y = in[1].data.f + i * r.columns;
        float sum;

        memcpy(terms, g, (size_t)r.columns * sizeof *g);
        sum = tree64(terms, r.columns);
        for (int64_t j = 0; j < r.columns; j++)
            out->data.f[i * r.columns + j] = fmaf(-tlm_exp(y[j]), sum, g[j]);
    }
    free(terms);
    return true;
}

/* ---- layer_norm */

static bool layer_norm(const struct ops_case *c, const struct ops_buffer *in,
                       struct ops_buffer *out)
{
    const struct rows r = rows_of(&in[0].type);
    const float eps = ops_attr_f32(c, TLMC_A_EPS), n = (float)r.columns;
    const float *weight = in[1].data.f, *bias = in[2].data.f;
    float *terms = terms_new(r.columns);

    for (int64_t i = 0; i < r.count; i++) {
        const float *x = in[0].data.f + i * r.columns;
        float *y = out[0].data.f + i * r.columns, mean, rstd;

        memcpy(terms, x, (size_t)r.columns * sizeof *x);
        mean = tree64(terms, r.columns) / n;
        for (int64_t j = 0; j < r.columns; j++) {
            const float d = x[j] - mean;

            terms[j] = d * d;
        }
        rstd = 1.0f / sqrtf(tree64(terms, r.columns) / n + eps);
        for (int64_t j = 0; j < r.columns; j++)
            y[j] = fmaf((x[j] - mean) * rstd, weight[j], bias[j]);
        out[1].data.f[i] = mean;
        out[2].data.f[i] = rstd;
    }
    free(terms);
    return true;
}

/* h = g * weight, z = (x - mean) * rstd; a = tree64(h) / n, b = tree64(h * z) / n; rstd * fma(-z,
   b, h - a) */
static bool layer_norm_vjp(const struct ops_case *c, const struct ops_buffer *in,
                           struct ops_buffer *out)
{
    const struct rows r = rows_of(&in[1].type);
    const float *weight = in[2].data.f, n = (float)r.columns;
    float *h = terms_new(r.columns), *z = terms_new(r.columns), *terms = terms_new(r.columns);

    (void)c;
    for (int64_t i = 0; i < r.count; i++) {
        const float *g = in[0].data.f + i * r.columns, *x = in[1].data.f + i * r.columns;
        const float mean = in[3].data.f[i], rstd = in[4].data.f[i];
        float a, b;

        for (int64_t j = 0; j < r.columns; j++) {
            terms[j] = h[j] = g[j] * weight[j];
            z[j] = (x[j] - mean) * rstd;
        }
        a = tree64(terms, r.columns) / n;
        for (int64_t j = 0; j < r.columns; j++)
            terms[j] = h[j] * z[j];
        b = tree64(terms, r.columns) / n;
        for (int64_t j = 0; j < r.columns; j++)
            out->data.f[i * r.columns + j] = rstd * fmaf(-z[j], b, h[j] - a);
    }
    free(h);
    free(z);
    free(terms);
    return true;
}

/* Down the columns: tree64(g * z) and tree64(g) over the rows. */
static bool layer_norm_vjp_weight(const struct ops_case *c, const struct ops_buffer *in,
                                  struct ops_buffer *out)
{
    const struct rows r = rows_of(&in[1].type);
    float *terms = terms_new(r.count);

    (void)c;
    for (int64_t j = 0; j < r.columns; j++) {
        for (int64_t i = 0; i < r.count; i++)
            terms[i] = in[0].data.f[i * r.columns + j] *
                       ((in[1].data.f[i * r.columns + j] - in[2].data.f[i]) * in[3].data.f[i]);
        out[0].data.f[j] = tree64(terms, r.count);
        for (int64_t i = 0; i < r.count; i++)
            terms[i] = in[0].data.f[i * r.columns + j];
        out[1].data.f[j] = tree64(terms, r.count);
    }
    free(terms);
    return true;
}

/* ---- losses */

/* tree64((a - b)^2) / n */
static bool mse_loss(const struct ops_case *c, const struct ops_buffer *in, struct ops_buffer *out)
{
    const int64_t n = tlmc_type_count(&in[0].type);
    float *terms = terms_new(n);

    (void)c;
    for (int64_t i = 0; i < n; i++) {
        const float d = in[0].data.f[i] - in[1].data.f[i];

        terms[i] = d * d;
    }
    out->data.f[0] = tree64(terms, n) / (float)n;
    free(terms);
    return true;
}

/* ((2 / n) * d) * g */
static bool mse_loss_vjp(const struct ops_case *c, const struct ops_buffer *in,
                         struct ops_buffer *out)
{
    const int64_t n = tlmc_type_count(&in[1].type);

    (void)c;
    for (int64_t i = 0; i < n; i++)
        out->data.f[i] =
            ((2.0f / (float)n) * (in[1].data.f[i] - in[2].data.f[i])) * in[0].data.f[0];
    return true;
}

/* log(s) - (x_class - m), m, s */
static bool cross_entropy(const struct ops_case *c, const struct ops_buffer *in,
                          struct ops_buffer *out)
{
    const struct rows r = rows_of(&in[0].type);
    float *terms = terms_new(r.columns);

    (void)c;
    for (int64_t i = 0; i < r.count; i++) {
        const float *x = in[0].data.f + i * r.columns;
        const float max = row_max(x, r.columns), sum = row_exp_sum(x, r.columns, max, terms);

        out[0].data.f[i] = tlm_log(sum) - (x[in[1].data.i[i]] - max);
        out[1].data.f[i] = max;
        out[2].data.f[i] = sum;
    }
    free(terms);
    return true;
}

/* (exp(x - m) / s - [class]) * g */
static bool cross_entropy_vjp(const struct ops_case *c, const struct ops_buffer *in,
                              struct ops_buffer *out)
{
    const struct rows r = rows_of(&in[1].type);

    (void)c;
    for (int64_t i = 0; i < r.count; i++) {
        for (int64_t j = 0; j < r.columns; j++) {
            const float p =
                tlm_exp(in[1].data.f[i * r.columns + j] - in[3].data.f[i]) / in[4].data.f[i];

            out->data.f[i * r.columns + j] =
                (p - (j == in[2].data.i[i] ? 1.0f : 0.0f)) * in[0].data.f[i];
        }
    }
    return true;
}

/* base, then the updates in increasing source order */
static bool scatter_add(const struct ops_case *c, const struct ops_buffer *in,
                        struct ops_buffer *out)
{
    const int axis = (int)ops_attr_i64(c, TLMC_A_AXIS);
    const struct tlmc_type *type = &in[0].type;
    const int64_t n = tlmc_type_count(&in[1].type), size = type->dims[axis];
    int64_t outer = 1, inner = 1;

    for (int i = 0; i < type->rank; i++)
        *(i < axis ? &outer : &inner) *= i == axis ? 1 : type->dims[i];
    memcpy(out->data.f, in[0].data.f, (size_t)tlmc_type_count(type) * sizeof(float));
    for (int64_t o = 0; o < outer; o++)
        for (int64_t k = 0; k < n; k++)
            for (int64_t i = 0; i < inner; i++)
                out->data.f[(o * size + in[1].data.i[k]) * inner + i] +=
                    in[2].data.f[(o * n + k) * inner + i];
    return true;
}

bool ops_exact(const struct ops_case *c, struct ops_buffer *operands, struct ops_buffer *results)
{
    static bool (*const rules[TLMC_OP_COUNT])(const struct ops_case *, const struct ops_buffer *,
                                              struct ops_buffer *) = {
        [TLMC_OP_REDUCE_SUM] = reduce,
        [TLMC_OP_REDUCE_MEAN] = reduce,
        [TLMC_OP_REDUCE_MAX] = reduce,
        [TLMC_OP_REDUCE_MIN] = reduce,
        [TLMC_OP_REDUCE_EXTREME_VJP] = extreme_vjp,
        [TLMC_OP_GLOBAL_NORM] = global_norm,
        [TLMC_OP_MATMUL] = matmul,
        [TLMC_OP_SOFTMAX] = softmax,
        [TLMC_OP_SOFTMAX_VJP] = softmax_vjp,
        [TLMC_OP_LOG_SOFTMAX] = log_softmax,
        [TLMC_OP_LOG_SOFTMAX_VJP] = log_softmax_vjp,
        [TLMC_OP_LAYER_NORM] = layer_norm,
        [TLMC_OP_LAYER_NORM_VJP] = layer_norm_vjp,
        [TLMC_OP_LAYER_NORM_VJP_WEIGHT] = layer_norm_vjp_weight,
        [TLMC_OP_MSE_LOSS] = mse_loss,
        [TLMC_OP_MSE_LOSS_VJP] = mse_loss_vjp,
        [TLMC_OP_CROSS_ENTROPY] = cross_entropy,
        [TLMC_OP_CROSS_ENTROPY_VJP] = cross_entropy_vjp,
        [TLMC_OP_SCATTER_ADD] = scatter_add,
    };
    const enum tlmc_family family = tlmc_op_info(c->row->op)->family;

    if (family == TLMC_POINTWISE)
        return ops_exact_pointwise(c, operands, results);
    if (family == TLMC_UPDATE)
        return ops_exact_update(c, operands);
    return rules[c->row->op] && rules[c->row->op](c, operands, results);
}
