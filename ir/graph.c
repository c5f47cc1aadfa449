/* Graph storage: types, attributes, nodes and values.  A node enters only through tlmc_try_node,
   which infers its result types and refuses what does not fit, or through tlmc_graph_append of the
   passes, which copies a node that was already checked. */
#include "graph.h"

#include "checked.h"
#include "graph_edit.h"

#include <stdio.h>
#include <string.h>

struct tlmc_graph *tlmc_graph_new(struct tlmc_arena *arena)
{
    struct tlmc_graph *graph = TLMC_NEW(arena, struct tlmc_graph);

    graph->arena = arena;
    graph->scope = "";
    return graph;
}

/* ---- types */

int64_t tlmc_type_count(const struct tlmc_type *type)
{
    int64_t count = 1;
    int i;

    for (i = 0; i < type->rank; i++)
        count *= type->dims[i];
    return count;
}

size_t tlmc_type_bytes(const struct tlmc_type *type)
{
    return (size_t)tlmc_type_count(type) * tlmc_dtype_bytes(type->dtype);
}

bool tlmc_shape_equal(const struct tlmc_type *a, const struct tlmc_type *b)
{
    int i;

    if (a->rank != b->rank)
        return false;
    for (i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i])
            return false;
    return true;
}

bool tlmc_type_equal(const struct tlmc_type *a, const struct tlmc_type *b)
{
    return a->dtype == b->dtype && tlmc_shape_equal(a, b);
}

const char *tlmc_type_text(const struct tlmc_type *type, char *buf)
{
    enum { ROOM = 256 };
    int length = snprintf(buf, ROOM, "%s[", tlmc_dtype_name(type->dtype));
    int i;

    for (i = 0; i < type->rank && i < TLMC_MAX_RANK; i++)
        length += snprintf(buf + length, (size_t)(ROOM - length), "%s%lld", i ? ", " : "",
                           (long long)type->dims[i]);
    snprintf(buf + length, (size_t)(ROOM - length), "]");
    return buf;
}

struct tlmc_type tlmc_type_make(enum tlmc_dtype dtype, int rank, const int64_t *dims)
{
    struct tlmc_type type = { .dtype = dtype, .rank = rank };

    TLMC_CHECK(rank >= 0 && rank <= TLMC_MAX_RANK);
    if (rank)
        memcpy(type.dims, dims, (size_t)rank * sizeof *dims);
    return type;
}

bool tlmc_broadcast_types(const struct tlmc_type *a, const struct tlmc_type *b,
                          struct tlmc_type *out)
{
    struct tlmc_type result = { .dtype = a->dtype };
    int i;

    result.rank = a->rank > b->rank ? a->rank : b->rank;
    for (i = 1; i <= result.rank; i++) { /* from the last axis */
        const int64_t da = i <= a->rank ? a->dims[a->rank - i] : 1;
        const int64_t db = i <= b->rank ? b->dims[b->rank - i] : 1;

        if (da != db && da != 1 && db != 1)
            return false;
        result.dims[result.rank - i] = da == 1 ? db : da;
    }
    *out = result;
    return true;
}

bool tlmc_type_fits(const struct tlmc_type *type)
{
    int64_t count = 1;
    int i;

    if (type->rank < 0 || type->rank > TLMC_MAX_RANK)
        return false;
    for (i = 0; i < type->rank; i++) {
        if (type->dims[i] < 0 || type->dims[i] > UINT32_MAX)
            return false;
        /* An empty axis hides nothing: the others must still fit. */
        if (type->dims[i] != 0 &&
            (!tlmc_mul_i64(count, type->dims[i], &count) || count > UINT32_MAX))
            return false;
    }
    return true;
}

/* ---- attributes */

struct tlmc_attr tlmc_attr_int(enum tlmc_attr_tag tag, int64_t i)
{
    struct tlmc_attr attr = { .tag = tag };

    attr.v.i = i;
    return attr;
}

struct tlmc_attr tlmc_attr_float(enum tlmc_attr_tag tag, double f)
{
    struct tlmc_attr attr = { .tag = tag };

    attr.v.f = f;
    return attr;
}

struct tlmc_attr tlmc_attr_ints(enum tlmc_attr_tag tag, uint32_t count, const int64_t *ints)
{
    struct tlmc_attr attr = { .tag = tag, .count = count };

    attr.v.ints = ints;
    return attr;
}

struct tlmc_attr tlmc_attr_data(enum tlmc_attr_tag tag, uint32_t count, const double *data)
{
    struct tlmc_attr attr = { .tag = tag, .count = count };

    attr.v.data = data;
    return attr;
}

const struct tlmc_attr *tlmc_node_attr(const struct tlmc_node *node, enum tlmc_attr_tag tag)
{
    return tlmc_attr_of(node->attrs, node->attr_count, tag);
}

int64_t tlmc_node_int(const struct tlmc_node *node, enum tlmc_attr_tag tag)
{
    const struct tlmc_attr *attr = tlmc_node_attr(node, tag);

    return attr ? attr->v.i : 0;
}

double tlmc_node_float(const struct tlmc_node *node, enum tlmc_attr_tag tag)
{
    const struct tlmc_attr *attr = tlmc_node_attr(node, tag);

    return attr ? attr->v.f : 0;
}

const struct tlmc_attr *tlmc_attr_of(const struct tlmc_attr *attrs, uint32_t count,
                                     enum tlmc_attr_tag tag)
{
    uint32_t i;

    for (i = 0; i < count; i++)
        if (attrs[i].tag == tag)
            return &attrs[i];
    return NULL;
}

/* The attributes with their lists moved to the arena. */
static const struct tlmc_attr *copy_attrs(struct tlmc_arena *arena, const struct tlmc_attr *attrs,
                                          uint32_t count)
{
    struct tlmc_attr *copy;
    uint32_t i;

    if (!count)
        return NULL;
    copy = tlmc_arena_memdup(arena, attrs, count * sizeof *attrs);
    for (i = 0; i < count; i++) {
        const enum tlmc_attr_kind kind = tlmc_attr_kind(copy[i].tag);

        if (kind == TLMC_ATTR_INTS && copy[i].count)
            copy[i].v.ints =
                tlmc_arena_memdup(arena, copy[i].v.ints, copy[i].count * sizeof *copy[i].v.ints);
        else if (kind == TLMC_ATTR_DATA && copy[i].count)
            copy[i].v.data =
                tlmc_arena_memdup(arena, copy[i].v.data, copy[i].count * sizeof *copy[i].v.data);
    }
    return copy;
}

/* ---- nodes */

static void *grown(struct tlmc_arena *arena, const void *items, uint32_t count, uint32_t *capacity,
                   size_t size)
{
    const uint32_t wider = *capacity ? 2 * *capacity : 64;
    void *copy;

    TLMC_CHECK(wider > *capacity);
    copy = tlmc_arena_array(arena, wider, size);
    if (count)
        memcpy(copy, items, count * size);
    *capacity = wider;
    return copy;
}

uint32_t tlmc_graph_append(struct tlmc_graph *graph, const struct tlmc_node *node,
                           const struct tlmc_type *results)
{
    const uint32_t id = graph->node_count;
    uint32_t i;

    if (graph->node_count == graph->node_capacity)
        graph->nodes = grown(graph->arena, graph->nodes, graph->node_count, &graph->node_capacity,
                             sizeof *graph->nodes);
    graph->nodes[id] = *node;
    graph->nodes[id].first_result = graph->value_count;
    graph->node_count++;
    for (i = 0; i < node->result_count; i++) {
        if (graph->value_count == graph->value_capacity)
            graph->values = grown(graph->arena, graph->values, graph->value_count,
                                  &graph->value_capacity, sizeof *graph->values);
        graph->values[graph->value_count++] =
            (struct tlmc_value){ .type = results[i], .node = id, .index = i };
    }
    return id;
}

uint32_t tlmc_try_node(struct tlmc_graph *graph, enum tlmc_op op, const uint32_t *inputs,
                       uint32_t input_count, const struct tlmc_attr *attrs, uint32_t attr_count,
                       struct tlmc_shape_error *error)
{
    enum { FEW = 16 };
    const struct tlmc_type *few[FEW] = { NULL }, **types = few;
    struct tlmc_type results[TLMC_MAX_RESULTS];
    struct tlmc_node node = { .op = op,
                              .phase = graph->phase,
                              .input_count = input_count,
                              .attr_count = attr_count,
                              .span = graph->span,
                              .scope = graph->scope,
                              .rule = graph->rule };
    uint32_t i;

    if (input_count > FEW)
        types = TLMC_NEW_ARRAY(graph->arena, const struct tlmc_type *, input_count);
    for (i = 0; i < input_count; i++) {
        TLMC_CHECK(inputs[i] == TLMC_NONE || inputs[i] < graph->value_count);
        types[i] = inputs[i] == TLMC_NONE ? NULL : &graph->values[inputs[i]].type;
    }
    if (!tlmc_shape_infer(op, types, input_count, attrs, attr_count, results, error))
        return TLMC_NONE;
    node.result_count = (uint32_t)tlmc_op_info(op)->results;
    if (input_count)
        node.inputs = tlmc_arena_memdup(graph->arena, inputs, input_count * sizeof *inputs);
    node.attrs = copy_attrs(graph->arena, attrs, attr_count);
    return tlmc_graph_append(graph, &node, results);
}

uint32_t tlmc_add_node(struct tlmc_graph *graph, enum tlmc_op op, const uint32_t *inputs,
                       uint32_t input_count, const struct tlmc_attr *attrs, uint32_t attr_count)
{
    struct tlmc_shape_error error;
    const uint32_t node = tlmc_try_node(graph, op, inputs, input_count, attrs, attr_count, &error);

    if (node == TLMC_NONE)
        TLMC_BUG("%s: %s", tlmc_op_info(op)->name, error.text);
    return graph->nodes[node].result_count ? graph->nodes[node].first_result : TLMC_NONE;
}
