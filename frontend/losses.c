/* Losses that are ops: mse_loss and cross_entropy, with what their arguments lower to. */
#include "sema.h"

#include <string.h>

static struct tlmc_results failed(void)
{
    return tlmc_result(tlmc_val_poison());
}

static bool is_mean(struct tlmc_call *c, const struct tlmc_val *v, bool *mean)
{
    *mean = !strcmp(v->u.s, "mean");
    if (*mean || !strcmp(v->u.s, "none"))
        return true;
    tlmc_sema_error(c->s, c->f, c->node->span, TLMC_E_ATTRIBUTE,
                    "reduction is \"mean\" or \"none\", not \"%s\"", v->u.s);
    return false;
}

/* Mean over all elements; of one element it is that. */
static uint32_t mean_of(struct tlmc_call *c, uint32_t value)
{
    const int rank = tlmc_value_type(c->s->graph, value)->rank;
    int64_t axes[TLMC_MAX_RANK];

    for (int i = 0; i < rank; i++)
        axes[i] = i;
    return tlmc_build_reduce(c->s->graph, TLMC_OP_REDUCE_MEAN, value, (uint32_t)rank, axes, false);
}

struct tlmc_results tlmc_fn_mse_loss(struct tlmc_call *c)
{
    const struct tlmc_type *a, *b;
    uint32_t ids[2];
    bool mean;

    if (!is_mean(c, &c->v[2], &mean) || !tlmc_call_tensor(c, 0) || !tlmc_call_tensor(c, 1))
        return failed();
    a = tlmc_type_of(c->s, &c->v[0]);
    b = tlmc_type_of(c->s, &c->v[1]);
    if (!tlmc_type_equal(a, b)) {
        tlmc_sema_error(c->s, c->f, c->node->span,
                        a->dtype == b->dtype ? TLMC_E_SHAPE : TLMC_E_DTYPE,
                        "%s and %s differ: a loss does not broadcast", tlmc_show_type(c->s, a),
                        tlmc_show_type(c->s, b));
        return failed();
    }
    ids[0] = c->v[0].u.value;
    ids[1] = c->v[1].u.value;
    if (mean)
        return tlmc_result_of(tlmc_emit(c->s, c->f, c->node, TLMC_OP_MSE_LOSS, ids, 2, NULL, 0),
                              c->v, 2);
    ids[0] = tlmc_emit(c->s, c->f, c->node, TLMC_OP_SUB, ids, 2, NULL, 0);
    if (ids[0] == TLMC_NONE)
        return failed();
    ids[1] = ids[0];
    return tlmc_result_of(tlmc_emit(c->s, c->f, c->node, TLMC_OP_MUL, ids, 2, NULL, 0), c->v, 2);
}

/* The class axis permuted to the end; false after a report. */
static bool class_last(struct tlmc_call *c, uint32_t *logits)
{
    struct tlmc_type type, want;
    int64_t perm[TLMC_MAX_RANK];
    const struct tlmc_type *target;
    int k = 0;

    if (!tlmc_call_tensor(c, 0) || !tlmc_call_tensor(c, 1) ||
        !tlmc_call_axis(c, &c->v[2].u.i, tlmc_type_of(c->s, &c->v[0])->rank))
        return false;
    type = *tlmc_type_of(c->s, &c->v[0]);
    want = tlmc_type_make(TLMC_I32, 0, NULL);
    for (int i = 0; i < type.rank; i++)
        if (i != c->v[2].u.i) {
            perm[k++] = i;
            want.dims[want.rank++] = type.dims[i];
        }
    perm[k] = c->v[2].u.i;
    target = tlmc_type_of(c->s, &c->v[1]);
    if (!tlmc_dtype_is_float(type.dtype) || !tlmc_type_equal(target, &want)) {
        tlmc_sema_error(c->s, c->f, c->node->span,
                        target->dtype == TLMC_I32 ? TLMC_E_SHAPE : TLMC_E_DTYPE,
                        "float logits %s need class indices %s, got %s",
                        tlmc_show_type(c->s, &type), tlmc_show_type(c->s, &want),
                        tlmc_show_type(c->s, target));
        return false;
    }
    tlmc_stamp(c->s, c->f, c->node);
    *logits = tlmc_build_permute(c->s->graph, c->v[0].u.value, perm);
    return true;
}

/* (1 - e) * rows - e * mean of the log-probabilities. */
static uint32_t smoothed(struct tlmc_call *c, uint32_t rows, uint32_t logits, double e)
{
    struct tlmc_graph *g = c->s->graph;
    const int64_t last = tlmc_value_type(g, logits)->rank - 1;
    const uint32_t log_p = tlmc_build_rowwise(g, TLMC_OP_LOG_SOFTMAX, logits, TLMC_NONE, last);
    const uint32_t mean = tlmc_build_reduce(g, TLMC_OP_REDUCE_MEAN, log_p, 1, &last, false);

    return tlmc_build2(g, TLMC_OP_SUB, tlmc_build_scale(g, rows, 1.0 - e),
                       tlmc_build_scale(g, mean, e));
}

struct tlmc_results tlmc_fn_cross_entropy(struct tlmc_call *c)
{
    const double e = c->v[3].u.f;
    uint32_t ids[2], rows;
    bool mean;

    if (!is_mean(c, &c->v[4], &mean) || !class_last(c, &ids[0]))
        return failed();
    if (!(e >= 0.0 && e <= 1.0)) {
        tlmc_sema_error(c->s, c->f, c->node->span, TLMC_E_ATTRIBUTE,
                        "label_smoothing is from 0 to 1");
        return failed();
    }
    ids[1] = c->v[1].u.value;
    rows = tlmc_emit(c->s, c->f, c->node, TLMC_OP_CROSS_ENTROPY, ids, 2, NULL, 0);
    if (rows == TLMC_NONE)
        return failed();
    if (e > 0.0)
        rows = smoothed(c, rows, ids[0], e);
    return tlmc_result_of(mean ? mean_of(c, rows) : rows, c->v, 2);
}
