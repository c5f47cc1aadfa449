/* Constant folding.  In: any form.  Out: nodes of constants replaced by constants: moves of
   elements, integer and logical ops, comparisons, choices, and + - * / sqrt and sign in binary32,
   which are correctly rounded everywhere (docs/numerics.md).  Nothing whose bits belong to a kernel
   is folded: no other formula, no sum.  A result that is one number all over becomes a scalar
   constant and a broadcast; others only up to MAX_ELEMENTS, since they end as a table in the
   emitted text. */
#include "graph_edit.h"
#include "pass.h"

#include <math.h>
#include <string.h>

enum { MAX_ELEMENTS = 4096 };

/* What a value of the new graph is known to hold: one number all over, or every element. */
struct known {
    const double *data; /* NULL: not known */
    bool uniform;
};

struct fold {
    struct tlmc_rewrite rewrite;
    struct tlmc_graph *graph;
    struct known *known; /* by new value */
    uint32_t capacity;
};

/* One element as a program holds it. */
static double stored(enum tlmc_dtype dtype, double x)
{
    return dtype == TLMC_F32 ? (double)(float)x : x;
}

static bool bits_equal(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static bool is_uniform(const double *data, int64_t count)
{
    int64_t i;

    for (i = 1; i < count; i++)
        if (!bits_equal(data[i], data[0]))
            return false;
    return count > 0;
}

static struct known known_of(const struct fold *f, uint32_t value)
{
    const struct known nothing = { NULL, false };

    return value < f->capacity ? f->known[value] : nothing;
}

static void set_known(struct fold *f, uint32_t value, const double *data, bool uniform)
{
    if (value >= f->capacity) {
        const uint32_t capacity = 2 * value + 64;
        struct known *wider = TLMC_NEW_ARRAY(f->graph->arena, struct known, capacity);

        if (f->capacity)
            memcpy(wider, f->known, f->capacity * sizeof *wider);
        f->known = wider;
        f->capacity = capacity;
    }
    f->known[value] = (struct known){ data, uniform };
}

/* ---- element by element */

static double wrap_i32(int64_t x)
{
    return (double)(int32_t)(uint32_t)(uint64_t)x;
}

static double cast(enum tlmc_dtype to, double x)
{
    if (to == TLMC_BOOL)
        return x != 0;
    if (to == TLMC_I32) {
        if (isnan(x))
            return 0;
        return x <= INT32_MIN ? INT32_MIN : x >= INT32_MAX ? INT32_MAX : trunc(x);
    }
    return stored(to, x);
}

/* x[0..] are operands as stored, of element type `dtype`; false: not an op to fold. */
static bool arithmetic(const struct tlmc_node *node, enum tlmc_dtype dtype, const double *x,
                       double *out)
{
    const bool integer = dtype == TLMC_I32;
    const float a = (float)x[0], b = (float)x[1];

    if (!integer && dtype != TLMC_F32)
        return false;
    /* The casts to float keep every operation in binary32 whatever FLT_EVAL_METHOD says. */
    if (node->op == TLMC_OP_ADD)
        *out = integer ? wrap_i32((int64_t)x[0] + (int64_t)x[1]) : (double)(float)(a + b);
    else if (node->op == TLMC_OP_SUB)
        *out = integer ? wrap_i32((int64_t)x[0] - (int64_t)x[1]) : (double)(float)(a - b);
    else if (node->op == TLMC_OP_MUL)
        *out = integer ? wrap_i32((int64_t)x[0] * (int64_t)x[1]) : (double)(float)(a * b);
    else if (node->op == TLMC_OP_MAX && integer)
        *out = x[0] > x[1] ? x[0] : x[1];
    else if (node->op == TLMC_OP_MIN && integer)
        *out = x[0] < x[1] ? x[0] : x[1];
    else if (node->op == TLMC_OP_DIV && !integer)
        *out = (double)(float)(a / b);
    else if (node->op == TLMC_OP_SQRT && !integer)
        *out = (double)sqrtf(a);
    else if (node->op == TLMC_OP_NEG && !integer)
        *out = -x[0];
    else if (node->op == TLMC_OP_SCALE && !integer)
        *out = (double)(float)(a * (float)tlmc_node_float(node, TLMC_A_FACTOR));
    else
        return false;
    return true;
}

static bool element(const struct tlmc_node *node, enum tlmc_dtype in, enum tlmc_dtype result,
                    const double *x, double *out)
{
    switch ((int)node->op) {
    case TLMC_OP_EQ: *out = x[0] == x[1]; return true;
    case TLMC_OP_NE: *out = x[0] != x[1]; return true;
    case TLMC_OP_LT: *out = x[0] < x[1]; return true;
    case TLMC_OP_LE: *out = x[0] <= x[1]; return true;
    case TLMC_OP_GT: *out = x[0] > x[1]; return true;
    case TLMC_OP_GE: *out = x[0] >= x[1]; return true;
    case TLMC_OP_LOGICAL_AND: *out = x[0] != 0 && x[1] != 0; return true;
    case TLMC_OP_LOGICAL_OR: *out = x[0] != 0 || x[1] != 0; return true;
    case TLMC_OP_LOGICAL_NOT: *out = x[0] == 0; return true;
    case TLMC_OP_WHERE: *out = x[0] != 0 ? x[1] : x[2]; return true;
    case TLMC_OP_CAST: *out = cast(result, x[0]); return true;
    default: return arithmetic(node, in, x, out);
    }
}

/* `count` elements of a pointwise node; NULL: not an op to fold. */
static double *pointwise(struct fold *f, const struct tlmc_node *node, const uint32_t *inputs,
                         enum tlmc_dtype result, int64_t count)
{
    const enum tlmc_dtype in = tlmc_value_type(f->graph, inputs[0])->dtype;
    double *data = TLMC_NEW_ARRAY(f->graph->arena, double, (size_t)count);
    int64_t i;
    uint32_t k;

    for (i = 0; i < count; i++) {
        double x[3] = { 0, 0, 0 };

        for (k = 0; k < node->input_count; k++) {
            const struct known known = f->known[inputs[k]];

            x[k] = stored(tlmc_value_type(f->graph, inputs[k])->dtype,
                          known.data[known.uniform ? 0 : i]);
        }
        if (!element(node, in, result, x, &data[i]))
            return NULL;
    }
    return data;
}

/* ---- moves */

static void strides_of(const struct tlmc_type *type, int64_t *strides)
{
    int64_t stride = 1;
    int i;

    for (i = type->rank - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= type->dims[i];
    }
}

/* Element i of the result comes from offset + sum of (its coordinate k) * step[k]. */
static double *strided(struct fold *f, const double *from, const struct tlmc_type *to,
                       int64_t offset, const int64_t *step)
{
    const int64_t count = tlmc_type_count(to);
    double *data = TLMC_NEW_ARRAY(f->graph->arena, double, (size_t)count);
    int64_t i;
    int k;

    for (i = 0; i < count; i++) {
        int64_t rest = i, at = offset;

        for (k = to->rank - 1; k >= 0; k--) {
            at += rest % to->dims[k] * step[k];
            rest /= to->dims[k];
        }
        data[i] = from[at];
    }
    return data;
}

static double *move(struct fold *f, const struct tlmc_node *node, const uint32_t *inputs,
                    const struct tlmc_type *to)
{
    const struct tlmc_type *from = tlmc_value_type(f->graph, inputs[0]);
    const double *data = f->known[inputs[0]].data;
    int64_t strides[TLMC_MAX_RANK], step[TLMC_MAX_RANK], offset = 0;
    int i;

    strides_of(from, strides);
    for (i = 0; i < to->rank; i++) {
        if (node->op == TLMC_OP_PERMUTE) {
            step[i] = strides[tlmc_node_attr(node, TLMC_A_PERM)->v.ints[i]];
        } else if (node->op == TLMC_OP_SLICE) {
            step[i] = strides[i] * tlmc_node_attr(node, TLMC_A_STEPS)->v.ints[i];
            offset += strides[i] * tlmc_node_attr(node, TLMC_A_STARTS)->v.ints[i];
        } else { /* broadcast: trailing axes align */
            const int k = i - (to->rank - from->rank);

            step[i] = k < 0 || from->dims[k] == 1 ? 0 : strides[k];
        }
    }
    return strided(f, data, to, offset, step);
}

static double *iota(struct fold *f, const struct tlmc_node *node, int64_t count)
{
    double *data = TLMC_NEW_ARRAY(f->graph->arena, double, (size_t)count);
    int64_t i;

    for (i = 0; i < count; i++)
        data[i] = (double)(tlmc_node_int(node, TLMC_A_START) + i);
    return data;
}

/* ---- one node */

static bool all_known(const struct fold *f, const struct tlmc_node *node, const uint32_t *inputs,
                      bool *uniform)
{
    uint32_t i;

    *uniform = true;
    for (i = 0; i < node->input_count; i++) {
        if (inputs[i] == TLMC_NONE || !known_of(f, inputs[i]).data)
            return false;
        *uniform &= f->known[inputs[i]].uniform;
    }
    return true;
}

static bool is_move(enum tlmc_op op)
{
    return op == TLMC_OP_PERMUTE || op == TLMC_OP_SLICE || op == TLMC_OP_BROADCAST;
}

/* What the node's single result holds; nothing when it is not known or too large. */
static struct known evaluate(struct fold *f, const struct tlmc_node *node, const uint32_t *inputs,
                             const struct tlmc_type *to)
{
    const struct known nothing = { NULL, false };
    const int64_t count = tlmc_type_count(to);
    struct known result = nothing;
    bool uniform;

    if (count == 0 || !all_known(f, node, inputs, &uniform))
        return nothing;
    if (node->op == TLMC_OP_CONST) {
        result.data = tlmc_node_attr(node, TLMC_A_DATA)->v.data;
        result.uniform = is_uniform(result.data, count);
        return result;
    }
    if (node->input_count && uniform && is_move(node->op))
        return f->known[inputs[0]];
    if (node->op == TLMC_OP_RESHAPE || node->op == TLMC_OP_DETACH)
        return f->known[inputs[0]];
    if (!(node->input_count && uniform) && count > MAX_ELEMENTS)
        return nothing;
    if (node->op == TLMC_OP_IOTA)
        result.data = iota(f, node, count);
    else if (is_move(node->op) && !f->known[inputs[0]].uniform)
        result.data = move(f, node, inputs, to);
    else if (node->input_count && tlmc_op_info(node->op)->family == TLMC_POINTWISE)
        result.data = pointwise(f, node, inputs, to->dtype, uniform ? 1 : count);
    if (result.data)
        result.uniform = uniform && node->input_count ? true : is_uniform(result.data, count);
    return result;
}

/* Broadcasts, iota and views of them cost a kernel nothing: they are known to what follows, and
   stay. */
static bool is_replaced(const struct fold *f, const struct tlmc_node *node, const uint32_t *inputs,
                        const struct known *known)
{
    if (tlmc_is_view(node))
        return known->uniform || tlmc_value_node(f->graph, inputs[0])->op == TLMC_OP_CONST;
    return node->op != TLMC_OP_CONST && node->op != TLMC_OP_BROADCAST && node->op != TLMC_OP_IOTA;
}

static uint32_t build_known(struct fold *f, const struct known *known, const struct tlmc_type *type)
{
    uint32_t value;

    if (!known->uniform || type->rank == 0)
        return tlmc_build_tensor(f->graph, type, known->data);
    value = tlmc_build_const(f->graph, type->dtype, known->data[0]);
    set_known(f, value, known->data, true);
    return tlmc_build_broadcast(f->graph, value, type);
}

static void fold_node(struct fold *f, uint32_t id)
{
    const struct tlmc_node *node = &f->rewrite.old.nodes[id];
    const uint32_t *inputs = tlmc_rewrite_inputs(&f->rewrite, node);
    struct known known = { NULL, false };
    uint32_t first;

    if (node->result_count != 1) {
        tlmc_rewrite_copy(&f->rewrite, id);
        return;
    }
    first = node->first_result;
    known = evaluate(f, node, inputs, tlmc_value_type(&f->rewrite.old, first));
    if (known.data && is_replaced(f, node, inputs, &known)) {
        tlmc_graph_stamp(f->graph, node);
        tlmc_rewrite_set(&f->rewrite, first,
                         build_known(f, &known, tlmc_value_type(&f->rewrite.old, first)));
    } else {
        tlmc_rewrite_copy(&f->rewrite, id);
    }
    if (known.data)
        set_known(f, f->rewrite.map[first], known.data, known.uniform);
}

static void run(struct tlmc_form *form)
{
    struct fold f = { .graph = form->graph };
    uint32_t id;

    f.rewrite = tlmc_rewrite_begin(form);
    for (id = 0; id < f.rewrite.old.node_count; id++)
        fold_node(&f, id);
    tlmc_rewrite_end(&f.rewrite);
}

/* needs: nothing.  keeps: every rule of the verifier, every bit.  breaks: value ids. */
void tlmc_pass_fold(struct tlmc_module *module, struct tlmc_diags *diags)
{
    unsigned i;

    (void)diags;
    for (i = 0; i < module->forms.count; i++)
        run(&module->forms.items[i]);
}
