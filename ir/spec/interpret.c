/* The driver of the reference interpreter: walks the nodes of the phases asked for in graph order,
   allocates their results, reads leaves from the environment and hands every other node to its
   family.  Refuses nothing but an index out of range: shapes and types are the verifier's
   business. */
#include "spec.h"

#include <stdlib.h>
#include <string.h>

static tlmc_spec_fn *const families[TLMC_FAMILY_COUNT] = {
    [TLMC_POINTWISE] = tlmc_spec_pointwise, [TLMC_VIEW] = tlmc_spec_move,
    [TLMC_MOVE] = tlmc_spec_move,           [TLMC_REDUCE] = tlmc_spec_reduce,
    [TLMC_MATMUL] = tlmc_spec_matmul,       [TLMC_ROWWISE] = tlmc_spec_rowwise,
    [TLMC_LOSS] = tlmc_spec_loss,           [TLMC_RANDOM] = tlmc_spec_random,
    [TLMC_INDEX] = tlmc_spec_index,         [TLMC_UPDATE] = tlmc_spec_update,
};

const struct tlmc_tensor *tlmc_spec_in(const struct tlmc_spec *run, const struct tlmc_node *node,
                                       uint32_t i)
{
    if (i >= node->input_count || node->inputs[i] == TLMC_NONE)
        return NULL;
    const struct tlmc_tensor *tensor = &run->values[node->inputs[i]];

    if (!tensor->data)
        TLMC_BUG("interpreter: operand %u of %s has not been computed", (unsigned)i,
                 tlmc_op_info(node->op)->name);
    return tensor;
}

struct tlmc_tensor *tlmc_spec_out(struct tlmc_spec *run, const struct tlmc_node *node, uint32_t i)
{
    TLMC_CHECK(i < node->result_count);
    return &run->values[node->first_result + i];
}

double tlmc_spec_f32(double x)
{
    return (double)(float)x;
}

double tlmc_spec_attr(const struct tlmc_node *node, enum tlmc_attr_tag tag)
{
    return tlmc_spec_f32(tlmc_node_float(node, tag));
}

void tlmc_spec_strides(const struct tlmc_type *type, int64_t *strides)
{
    int64_t stride = 1;

    for (int axis = type->rank - 1; axis >= 0; axis--) {
        strides[axis] = stride;
        stride *= type->dims[axis];
    }
}

void tlmc_spec_broadcast_strides(const struct tlmc_type *from, const struct tlmc_type *to,
                                 int64_t *strides)
{
    int64_t own[TLMC_MAX_RANK];
    const int missing = to->rank - from->rank;

    tlmc_spec_strides(from, own);
    for (int axis = 0; axis < to->rank; axis++) {
        const int theirs = axis - missing;

        strides[axis] = theirs < 0 || from->dims[theirs] == 1 ? 0 : own[theirs];
    }
}

void tlmc_spec_unflatten(const struct tlmc_type *type, int64_t i, int64_t *index)
{
    for (int axis = type->rank - 1; axis >= 0; axis--) {
        index[axis] = i % type->dims[axis];
        i /= type->dims[axis];
    }
}

int64_t tlmc_spec_dot(int rank, const int64_t *index, const int64_t *strides)
{
    int64_t sum = 0;

    for (int axis = 0; axis < rank; axis++)
        sum += index[axis] * strides[axis];
    return sum;
}

struct tlmc_tensor tlmc_tensor_new(const struct tlmc_type *type)
{
    const size_t count = (size_t)tlmc_type_count(type);
    struct tlmc_tensor tensor = { .type = *type,
                                  .data = calloc(count ? count : 1, sizeof(double)) };

    if (!tensor.data)
        tlmc_out_of_memory();
    return tensor;
}

void tlmc_tensor_free(struct tlmc_tensor *tensors, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        free(tensors[i].data);
        tensors[i].data = NULL;
    }
}

/* ---- leaves */

static void read_constant(const struct tlmc_node *node, struct tlmc_tensor *out)
{
    const struct tlmc_attr *data = tlmc_node_attr(node, TLMC_A_DATA);
    const bool f32 = out->type.dtype == TLMC_F32;

    for (uint32_t i = 0; data && i < data->count; i++)
        out->data[i] = f32 ? tlmc_spec_f32(data->v.data[i]) : data->v.data[i];
}

static void read_leaf(struct tlmc_spec *run, const struct tlmc_node *node)
{
    struct tlmc_tensor *out = tlmc_spec_out(run, node, 0);
    const int64_t slot = tlmc_node_int(node, TLMC_A_SLOT);
    const struct tlmc_tensor *from = NULL;

    if (node->op == TLMC_OP_CONST) {
        read_constant(node, out);
        return;
    }
    if (node->op == TLMC_OP_SCALAR) {
        out->data[0] = tlmc_spec_f32(run->env->scalars[slot]);
        return;
    }
    from = node->op == TLMC_OP_INPUT ? &run->env->inputs[slot] : &run->env->params[slot];
    TLMC_CHECK(from->data && tlmc_type_count(&from->type) == tlmc_type_count(&out->type));
    memcpy(out->data, from->data, (size_t)tlmc_type_count(&out->type) * sizeof(double));
}

/* Parameters and states change between phases of one step: what was read in an earlier call is read
   again. */
static void refresh_leaves(struct tlmc_spec *run)
{
    for (uint32_t i = 0; i < run->graph->node_count; i++) {
        const struct tlmc_node *node = &run->graph->nodes[i];

        if ((node->op == TLMC_OP_PARAM || node->op == TLMC_OP_STATE) &&
            run->values[node->first_result].data)
            read_leaf(run, node);
    }
}

bool tlmc_interpret(const struct tlmc_graph *graph, const struct tlmc_env *env, unsigned phases,
                    struct tlmc_tensor *values, char *error)
{
    struct tlmc_spec run = { .graph = graph, .env = env, .values = values, .error = error };

    error[0] = '\0';
    refresh_leaves(&run);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct tlmc_node *node = &graph->nodes[i];
        const enum tlmc_family family = tlmc_op_info(node->op)->family;

        if (!(phases & 1u << node->phase))
            continue;
        for (uint32_t r = 0; r < node->result_count; r++) {
            const uint32_t value = node->first_result + r;

            tlmc_tensor_free(&values[value], 1);
            values[value] = tlmc_tensor_new(&graph->values[value].type);
        }
        if (family == TLMC_LEAF)
            read_leaf(&run, node);
        else if (!families[family](&run, node))
            return false;
    }
    return true;
}
