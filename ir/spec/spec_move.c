/* Views and moves: every result element is a copy of one operand element (or 0 in slice_vjp); which
   one is index arithmetic, written out per op. */
#include "spec.h"

#include <string.h>

static const int64_t *ints(const struct tlmc_node *node, enum tlmc_attr_tag tag)
{
    const struct tlmc_attr *attr = tlmc_node_attr(node, tag);

    return attr ? attr->v.ints : NULL;
}

/* out[i...] = x[sum i * strides + offset] */
static void strided(struct tlmc_tensor *out, const double *x, const int64_t *strides,
                    int64_t offset)
{
    const int64_t count = tlmc_type_count(&out->type);
    int64_t index[TLMC_MAX_RANK];

    for (int64_t i = 0; i < count; i++) {
        tlmc_spec_unflatten(&out->type, i, index);
        out->data[i] = x[offset + tlmc_spec_dot(out->type.rank, index, strides)];
    }
}

static void permute(const struct tlmc_node *node, const struct tlmc_tensor *x,
                    struct tlmc_tensor *out)
{
    const int64_t *perm = ints(node, TLMC_A_PERM);
    int64_t own[TLMC_MAX_RANK], strides[TLMC_MAX_RANK];

    tlmc_spec_strides(&x->type, own);
    for (int axis = 0; axis < out->type.rank; axis++)
        strides[axis] = own[perm[axis]];
    strided(out, x->data, strides, 0);
}

static void broadcast(const struct tlmc_tensor *x, struct tlmc_tensor *out)
{
    int64_t strides[TLMC_MAX_RANK];

    tlmc_spec_broadcast_strides(&x->type, &out->type, strides);
    strided(out, x->data, strides, 0);
}

static void slice(const struct tlmc_node *node, const struct tlmc_tensor *x,
                  struct tlmc_tensor *out)
{
    const int64_t *starts = ints(node, TLMC_A_STARTS), *steps = ints(node, TLMC_A_STEPS);
    int64_t own[TLMC_MAX_RANK], strides[TLMC_MAX_RANK], offset = 0;

    tlmc_spec_strides(&x->type, own);
    for (int axis = 0; axis < out->type.rank; axis++) {
        strides[axis] = own[axis] * steps[axis];
        offset += own[axis] * starts[axis];
    }
    strided(out, x->data, strides, offset);
}

/* The transpose of slice: g at the sliced places, 0 elsewhere (out starts as zeros). */
static void slice_vjp(const struct tlmc_node *node, const struct tlmc_tensor *g,
                      struct tlmc_tensor *out)
{
    const int64_t *starts = ints(node, TLMC_A_STARTS), *steps = ints(node, TLMC_A_STEPS);
    const int64_t count = tlmc_type_count(&g->type);
    int64_t own[TLMC_MAX_RANK], index[TLMC_MAX_RANK];

    tlmc_spec_strides(&out->type, own);
    for (int64_t i = 0; i < count; i++) {
        tlmc_spec_unflatten(&g->type, i, index);
        for (int axis = 0; axis < g->type.rank; axis++)
            index[axis] = starts[axis] + index[axis] * steps[axis];
        out->data[tlmc_spec_dot(out->type.rank, index, own)] = g->data[i];
    }
}

static void concat(struct tlmc_spec *run, const struct tlmc_node *node, struct tlmc_tensor *out)
{
    const int axis = (int)tlmc_node_int(node, TLMC_A_AXIS);
    int64_t own[TLMC_MAX_RANK], index[TLMC_MAX_RANK], begin = 0;

    tlmc_spec_strides(&out->type, own);
    for (uint32_t k = 0; k < node->input_count; k++) {
        const struct tlmc_tensor *x = tlmc_spec_in(run, node, k);
        const int64_t count = tlmc_type_count(&x->type);

        for (int64_t i = 0; i < count; i++) {
            tlmc_spec_unflatten(&x->type, i, index);
            index[axis] += begin;
            out->data[tlmc_spec_dot(out->type.rank, index, own)] = x->data[i];
        }
        begin += x->type.dims[axis];
    }
}

bool tlmc_spec_move(struct tlmc_spec *run, const struct tlmc_node *node)
{
    const struct tlmc_tensor *x = tlmc_spec_in(run, node, 0);
    struct tlmc_tensor *out = tlmc_spec_out(run, node, 0);

    if (node->op == TLMC_OP_PERMUTE)
        permute(node, x, out);
    else if (node->op == TLMC_OP_BROADCAST)
        broadcast(x, out);
    else if (node->op == TLMC_OP_SLICE)
        slice(node, x, out);
    else if (node->op == TLMC_OP_SLICE_VJP)
        slice_vjp(node, x, out);
    else if (node->op == TLMC_OP_CONCAT)
        concat(run, node, out);
    else if (node->op == TLMC_OP_RESHAPE || node->op == TLMC_OP_DETACH || node->op == TLMC_OP_COPY)
        memcpy(out->data, x->data, (size_t)tlmc_type_count(&out->type) * sizeof(double));
    else
        TLMC_BUG("interpreter: no rule for %s", tlmc_op_info(node->op)->name);
    return true;
}
