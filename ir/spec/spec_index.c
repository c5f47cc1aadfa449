/* Index ops: iota, gather, embedding, scatter_add.  An index out of range is the one run-time
   error: the message names op, value and position. */
#include "spec.h"

#include <stdio.h>
#include <string.h>

static bool index_fits(struct tlmc_spec *run, const struct tlmc_node *node, double index,
                       int64_t at, int64_t size)
{
    if (index >= 0 && index < (double)size)
        return true;
    snprintf(run->error, 256, "%s: index %.0f at position %lld is out of range [0, %lld)",
             tlmc_op_info(node->op)->name, index, (long long)at, (long long)size);
    return false;
}

static int64_t product(const struct tlmc_type *type, int begin, int end)
{
    int64_t p = 1;

    for (int axis = begin; axis < end; axis++)
        p *= type->dims[axis];
    return p;
}

/* x [outer, size, inner], index [n] -> y [outer, n, inner] */
static bool gather(struct tlmc_spec *run, const struct tlmc_node *node, const struct tlmc_tensor *x,
                   const struct tlmc_tensor *index, int axis)
{
    double *y = tlmc_spec_out(run, node, 0)->data;
    const int64_t outer = product(&x->type, 0, axis), size = x->type.dims[axis];
    const int64_t inner = product(&x->type, axis + 1, x->type.rank);
    const int64_t n = tlmc_type_count(&index->type);

    for (int64_t k = 0; k < n; k++) {
        if (!index_fits(run, node, index->data[k], k, size))
            return false;
        for (int64_t o = 0; o < outer; o++)
            for (int64_t i = 0; i < inner; i++)
                y[(o * n + k) * inner + i] =
                    x->data[(o * size + (int64_t)index->data[k]) * inner + i];
    }
    return true;
}

/* (base [outer, size, inner], index [n], updates [outer, n, inner]), in increasing source order */
static bool scatter_add(struct tlmc_spec *run, const struct tlmc_node *node)
{
    const struct tlmc_tensor *base = tlmc_spec_in(run, node, 0),
                             *index = tlmc_spec_in(run, node, 1);
    const double *updates = tlmc_spec_in(run, node, 2)->data;
    double *y = tlmc_spec_out(run, node, 0)->data;
    const int axis = (int)tlmc_node_int(node, TLMC_A_AXIS);
    const int64_t outer = product(&base->type, 0, axis), size = base->type.dims[axis];
    const int64_t inner = product(&base->type, axis + 1, base->type.rank);
    const int64_t n = tlmc_type_count(&index->type);

    memcpy(y, base->data, (size_t)tlmc_type_count(&base->type) * sizeof(double));
    for (int64_t k = 0; k < n; k++) {
        if (!index_fits(run, node, index->data[k], k, size))
            return false;
        for (int64_t o = 0; o < outer; o++)
            for (int64_t i = 0; i < inner; i++)
                y[(o * size + (int64_t)index->data[k]) * inner + i] +=
                    updates[(o * n + k) * inner + i];
    }
    return true;
}

static void iota(struct tlmc_spec *run, const struct tlmc_node *node)
{
    struct tlmc_tensor *out = tlmc_spec_out(run, node, 0);
    const int64_t start = tlmc_node_int(node, TLMC_A_START), n = tlmc_type_count(&out->type);

    for (int64_t i = 0; i < n; i++)
        out->data[i] = (double)(start + i);
}

bool tlmc_spec_index(struct tlmc_spec *run, const struct tlmc_node *node)
{
    if (node->op == TLMC_OP_GATHER)
        return gather(run, node, tlmc_spec_in(run, node, 0), tlmc_spec_in(run, node, 1),
                      (int)tlmc_node_int(node, TLMC_A_AXIS));
    if (node->op == TLMC_OP_EMBEDDING)
        return gather(run, node, tlmc_spec_in(run, node, 1), tlmc_spec_in(run, node, 0), 0);
    if (node->op == TLMC_OP_SCATTER_ADD)
        return scatter_add(run, node);
    TLMC_CHECK(node->op == TLMC_OP_IOTA);
    iota(run, node);
    return true;
}
