/* The predicates of `admit` lines (admit.def): pure functions of shapes and attributes.  A
   predicate that does not hold writes why, with both numbers. */
#include "plan_internal.h"
#include "registry.h"

#include <stdio.h>
#include <string.h>

enum { ROOM = 160 };

/* Types of a node's operands and results, one after the other. */
struct node_types {
    const struct tlmc_graph *graph;
    const struct tlmc_node *node;
};

static uint32_t type_count(const struct node_types *t)
{
    return t->node->input_count + t->node->result_count;
}

static const struct tlmc_type *type_at(const struct node_types *t, uint32_t i)
{
    uint32_t value;

    if (i >= t->node->input_count)
        value = t->node->first_result + (i - t->node->input_count);
    else
        value = t->node->inputs[i];
    return value == TLMC_NONE ? NULL : tlmc_value_type(t->graph, value);
}

static int64_t last_axis(const struct node_types *t)
{
    const struct tlmc_type *type = type_count(t) ? type_at(t, 0) : NULL;

    return type && type->rank ? type->dims[type->rank - 1] : 1;
}

static bool admit_rank_at_most(const struct node_types *t, int64_t n, char *text)
{
    uint32_t i;

    for (i = 0; i < type_count(t); i++)
        if (type_at(t, i) && type_at(t, i)->rank > n) {
            snprintf(text, ROOM, "rank %d exceeds %lld", type_at(t, i)->rank, (long long)n);
            return false;
        }
    return true;
}

static bool admit_rank_at_least(const struct node_types *t, int64_t n, char *text)
{
    const struct tlmc_type *type = type_count(t) ? type_at(t, 0) : NULL;

    if (!type || type->rank >= n)
        return true;
    snprintf(text, ROOM, "rank %d is below %lld", type->rank, (long long)n);
    return false;
}

static bool admit_last_axis_at_most(const struct node_types *t, int64_t n, char *text)
{
    if (last_axis(t) <= n)
        return true;
    snprintf(text, ROOM, "last axis %lld exceeds %lld", (long long)last_axis(t), (long long)n);
    return false;
}

static bool admit_last_axis_multiple_of(const struct node_types *t, int64_t n, char *text)
{
    if (n > 0 && last_axis(t) % n == 0)
        return true;
    snprintf(text, ROOM, "last axis %lld is no multiple of %lld", (long long)last_axis(t),
             (long long)n);
    return false;
}

static bool admit_inner_at_most(const struct node_types *t, int64_t n, char *text)
{
    if (t->node->op != TLMC_OP_MATMUL || last_axis(t) <= n)
        return true;
    snprintf(text, ROOM, "inner size %lld exceeds %lld", (long long)last_axis(t), (long long)n);
    return false;
}

static bool admit_elements_at_most(const struct node_types *t, int64_t n, char *text)
{
    uint32_t i;

    for (i = 0; i < type_count(t); i++)
        if (type_at(t, i) && tlmc_type_count(type_at(t, i)) > n) {
            snprintf(text, ROOM, "%lld elements exceed %lld",
                     (long long)tlmc_type_count(type_at(t, i)), (long long)n);
            return false;
        }
    return true;
}

static bool admit_elements_at_least(const struct node_types *t, int64_t n, char *text)
{
    const uint32_t count = type_count(t);
    const struct tlmc_type *type =
        count ? type_at(t, t->node->result_count ? t->node->input_count : 0) : NULL;

    if (!type || tlmc_type_count(type) >= n)
        return true;
    snprintf(text, ROOM, "%lld elements are below %lld", (long long)tlmc_type_count(type),
             (long long)n);
    return false;
}

static bool admit_axes_at_most(const struct node_types *t, int64_t n, char *text)
{
    uint32_t i;
    int axis;

    for (i = 0; i < type_count(t); i++)
        for (axis = 0; type_at(t, i) && axis < type_at(t, i)->rank; axis++)
            if (type_at(t, i)->dims[axis] > n) {
                snprintf(text, ROOM, "an axis of %lld exceeds %lld",
                         (long long)type_at(t, i)->dims[axis], (long long)n);
                return false;
            }
    return true;
}

/* The product of all axes of a type but the last `behind`. */
static int64_t leading_count(const struct tlmc_type *type, int behind)
{
    struct tlmc_type leading = *type;

    leading.rank -= behind;
    return tlmc_type_count(&leading);
}

static bool admit_batch_at_most(const struct node_types *t, int64_t n, char *text)
{
    const int64_t batch = t->node->op == TLMC_OP_MATMUL
                              ? leading_count(tlmc_value_type(t->graph, t->node->first_result), 2)
                              : 1;

    if (batch <= n)
        return true;
    snprintf(text, ROOM, "a batch of %lld exceeds %lld", (long long)batch, (long long)n);
    return false;
}

/* (base, index, updates): a row of updates is what the base has behind its axis. */
static bool admit_update_rows_at_most(const struct node_types *t, int64_t n, char *text)
{
    int64_t rows = 1;

    if (t->node->op == TLMC_OP_SCATTER_ADD)
        rows = leading_count(type_at(t, 2),
                             type_at(t, 0)->rank - 1 - (int)tlmc_node_int(t->node, TLMC_A_AXIS));
    if (rows <= n)
        return true;
    snprintf(text, ROOM, "%lld update rows exceed %lld", (long long)rows, (long long)n);
    return false;
}

static bool admit_counts_fit_uint32(const struct node_types *t, int64_t n, char *text)
{
    uint32_t i;

    (void)n;
    for (i = 0; i < type_count(t); i++)
        if (type_at(t, i) && !tlmc_type_fits(type_at(t, i))) {
            snprintf(text, ROOM, "a count does not fit uint32");
            return false;
        }
    return true;
}

static bool admit_not_empty(const struct node_types *t, int64_t n, char *text)
{
    uint32_t i;

    (void)n;
    for (i = 0; i < type_count(t); i++)
        if (type_at(t, i) && tlmc_type_count(type_at(t, i)) == 0) {
            snprintf(text, ROOM, "an operand is empty");
            return false;
        }
    return true;
}

static bool admit_no_mask(const struct node_types *t, int64_t n, char *text)
{
    const uint32_t least = (uint32_t)tlmc_op_info(t->node->op)->min_inputs;
    uint32_t i;

    (void)n;
    for (i = least; i < t->node->input_count; i++)
        if (t->node->inputs[i] != TLMC_NONE) {
            snprintf(text, ROOM, "it has an optional operand");
            return false;
        }
    return true;
}

static const struct {
    const char *name;
    bool takes_argument;
    bool (*holds)(const struct node_types *t, int64_t n, char *text);
} rows[] = {
#define ADMIT(name, takes, meaning) { #name, takes, admit_##name },
#include "admit.def"
};

int tlmc_admit_find(const char *predicate)
{
    size_t i;

    for (i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, predicate) == 0)
            return (int)i;
    return -1;
}

bool tlmc_admit_takes_argument(int predicate)
{
    return rows[predicate].takes_argument;
}

const char *tlmc_admit_refusal(struct tlmc_arena *arena, const struct tlmc_capsule *capsule,
                               const struct tlmc_graph *graph, uint32_t node)
{
    const struct node_types types = { .graph = graph, .node = &graph->nodes[node] };
    char text[ROOM];
    unsigned i;

    for (i = 0; i < capsule->admits.count; i++) {
        const struct tlmc_admit *admit = &capsule->admits.items[i];
        const int row = tlmc_admit_find(admit->predicate);

        if (row < 0 || !rows[row].holds(&types, admit->argument, text)) {
            if (row < 0)
                snprintf(text, sizeof text, "unknown predicate %.100s", admit->predicate);
            return tlmc_arena_strdup(arena, text);
        }
    }
    return NULL;
}
