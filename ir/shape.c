/* Shape inference: operands and attributes of one node in, result types out, or the reason why not.
   Here is what holds for every op: number of operands, attributes known, complete and in range,
   limits of the result; the rules of the single ops stand in shape_pointwise.c, shape_move.c,
   shape_reduce.c and shape_update.c. */
#include "shape_rules.h"

#include "graph_edit.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

static tlmc_shape_rule *const rules[] = {
#define UNARY(TAG, name, uses, attrs, policy) tlmc_shape_same_real, tlmc_shape_same_real,
#define OP(TAG, name, family, min, max, results, attrs, shape, vjp, jvp, policy) tlmc_shape_##shape,
#include "ops.def"
};

bool tlmc_shape_fail(struct tlmc_shape_query *q, enum tlmc_diag_code code, const char *fmt, ...)
{
    va_list ap;

    q->error->code = code;
    va_start(ap, fmt);
    vsnprintf(q->error->text, sizeof q->error->text, fmt, ap);
    va_end(ap);
    return false;
}

const struct tlmc_attr *tlmc_shape_attr(const struct tlmc_shape_query *q, enum tlmc_attr_tag tag)
{
    return tlmc_attr_of(q->attrs, q->attr_count, tag);
}

int64_t tlmc_shape_int(const struct tlmc_shape_query *q, enum tlmc_attr_tag tag)
{
    const struct tlmc_attr *attr = tlmc_shape_attr(q, tag);

    return attr ? attr->v.i : 0;
}

double tlmc_shape_float(const struct tlmc_shape_query *q, enum tlmc_attr_tag tag)
{
    const struct tlmc_attr *attr = tlmc_shape_attr(q, tag);

    return attr ? attr->v.f : 0;
}

bool tlmc_shape_check_fits(struct tlmc_shape_query *q, const struct tlmc_type *type)
{
    int i;

    if (type->rank > TLMC_MAX_RANK)
        return tlmc_shape_fail(q, TLMC_E_TOO_BIG, "rank %d is over the limit of %d", type->rank,
                               TLMC_MAX_RANK);
    for (i = 0; i < type->rank; i++)
        if (type->dims[i] < 0)
            return tlmc_shape_fail(q, TLMC_E_SHAPE, "size %lld of axis %d is negative",
                                   (long long)type->dims[i], i);
    if (!tlmc_type_fits(type))
        return tlmc_shape_fail(q, TLMC_E_TOO_BIG,
                               "%s has a size or an element count over the limit of 4294967295",
                               TYPE_TEXT(type));
    return true;
}

bool tlmc_shape_from_attr(struct tlmc_shape_query *q, enum tlmc_dtype dtype, struct tlmc_type *out)
{
    const struct tlmc_attr *shape = tlmc_shape_attr(q, TLMC_A_SHAPE);

    if (shape->count > TLMC_MAX_RANK)
        return tlmc_shape_fail(q, TLMC_E_TOO_BIG, "rank %u is over the limit of %d", shape->count,
                               TLMC_MAX_RANK);
    *out = tlmc_type_make(dtype, (int)shape->count, shape->v.ints);
    return tlmc_shape_check_fits(q, out);
}

int tlmc_shape_axis(struct tlmc_shape_query *q, int rank)
{
    const int64_t axis = tlmc_shape_int(q, TLMC_A_AXIS);

    if (axis < 0 || axis >= rank) {
        tlmc_shape_fail(q, TLMC_E_BOUNDS, "axis %lld is not an axis of a tensor of rank %d",
                        (long long)axis, rank);
        return -1;
    }
    return (int)axis;
}

bool tlmc_shape_all_equal(struct tlmc_shape_query *q)
{
    uint32_t i;

    for (i = 1; i < q->in_count; i++) {
        if (q->in[i]->dtype != q->in[0]->dtype)
            return tlmc_shape_fail(q, TLMC_E_DTYPE, "element types differ: %s and %s",
                                   TYPE_TEXT(q->in[0]), TYPE_TEXT(q->in[i]));
        if (!tlmc_shape_equal(q->in[i], q->in[0]))
            return tlmc_shape_fail(q, TLMC_E_SHAPE, "shapes differ: %s and %s", TYPE_TEXT(q->in[0]),
                                   TYPE_TEXT(q->in[i]));
    }
    return true;
}

bool tlmc_shape_want_real(struct tlmc_shape_query *q, uint32_t input)
{
    if (tlmc_dtype_is_float(q->in[input]->dtype))
        return true;
    return tlmc_shape_fail(q, TLMC_E_DTYPE, "op '%s' needs float elements, not %s",
                           tlmc_op_info(q->op)->name, TYPE_TEXT(q->in[input]));
}

bool tlmc_shape_want_dtype(struct tlmc_shape_query *q, uint32_t input, enum tlmc_dtype dtype)
{
    if (q->in[input]->dtype == dtype)
        return true;
    return tlmc_shape_fail(q, TLMC_E_DTYPE, "op '%s' needs %s elements as operand %u, not %s",
                           tlmc_op_info(q->op)->name, tlmc_dtype_name(dtype), input + 1,
                           TYPE_TEXT(q->in[input]));
}

bool tlmc_shape_want_type(struct tlmc_shape_query *q, uint32_t input, const char *what,
                          const struct tlmc_type *type)
{
    const struct tlmc_type *have = q->in[input];

    if (tlmc_type_equal(have, type))
        return true;
    return tlmc_shape_fail(q, have->dtype == type->dtype ? TLMC_E_SHAPE : TLMC_E_DTYPE,
                           "%s must be %s, not %s", what, TYPE_TEXT(type), TYPE_TEXT(have));
}

static bool check_operands(struct tlmc_shape_query *q)
{
    const struct tlmc_op_info *info = tlmc_op_info(q->op);
    uint32_t i;

    if (q->in_count < (uint32_t)info->min_inputs ||
        (info->max_inputs >= 0 && q->in_count > (uint32_t)info->max_inputs)) {
        if (info->max_inputs < 0)
            return tlmc_shape_fail(q, TLMC_E_ARGUMENT,
                                   "op '%s' takes at least %d operand%s, not %u", info->name,
                                   info->min_inputs, info->min_inputs == 1 ? "" : "s", q->in_count);
        if (info->min_inputs != info->max_inputs)
            return tlmc_shape_fail(q, TLMC_E_ARGUMENT, "op '%s' takes %d to %d operands, not %u",
                                   info->name, info->min_inputs, info->max_inputs, q->in_count);
        return tlmc_shape_fail(q, TLMC_E_ARGUMENT, "op '%s' takes %d operand%s, not %u", info->name,
                               info->min_inputs, info->min_inputs == 1 ? "" : "s", q->in_count);
    }
    for (i = 0; i < q->in_count; i++)
        if (!q->in[i] && i < (uint32_t)info->min_inputs)
            return tlmc_shape_fail(q, TLMC_E_ARGUMENT, "operand %u of op '%s' is missing", i + 1,
                                   info->name);
    return true;
}

/* Probabilities, slopes and the like: what no value outside makes sense for. */
static bool check_range(struct tlmc_shape_query *q, const struct tlmc_attr *attr)
{
    const char *name = tlmc_attr_name(attr->tag);
    const double f = attr->v.f;

    if (attr->tag == TLMC_A_KEEP && !(f >= 0 && f <= 1))
        return tlmc_shape_fail(q, TLMC_E_ATTRIBUTE, "attribute '%s' must be in [0, 1], not %g",
                               name, f);
    if (attr->tag == TLMC_A_EPS && !(f >= 0 && f < INFINITY))
        return tlmc_shape_fail(q, TLMC_E_ATTRIBUTE,
                               "attribute '%s' must be finite and not negative, not %g", name, f);
    if ((attr->tag == TLMC_A_SLOT || attr->tag == TLMC_A_SITE) &&
        (attr->v.i < 0 || attr->v.i >= TLMC_NONE))
        return tlmc_shape_fail(q, TLMC_E_ATTRIBUTE, "attribute '%s' is out of range: %lld", name,
                               (long long)attr->v.i);
    if (attr->tag == TLMC_A_DTYPE && (attr->v.i < 0 || attr->v.i >= TLMC_DTYPE_COUNT))
        return tlmc_shape_fail(q, TLMC_E_ATTRIBUTE, "attribute '%s' is no element type", name);
    return true;
}

static uint32_t count_words(const char *list)
{
    uint32_t words = *list != 0;

    for (; *list; list++)
        words += *list == ' ';
    return words;
}

/* Known, once each, and all there; only a bool may be left out: false. */
static bool check_attrs(struct tlmc_shape_query *q)
{
    const char *op = tlmc_op_info(q->op)->name;
    unsigned tag;
    uint32_t i;

    for (i = 0; i < q->attr_count; i++) {
        const char *name = tlmc_attr_name(q->attrs[i].tag);

        if (!tlmc_op_has_attr(q->op, q->attrs[i].tag))
            return tlmc_shape_fail(q, TLMC_E_ATTRIBUTE, "op '%s' has no attribute '%s'", op, name);
        if (tlmc_shape_attr(q, q->attrs[i].tag) != &q->attrs[i])
            return tlmc_shape_fail(q, TLMC_E_ATTRIBUTE, "attribute '%s' of op '%s' is given twice",
                                   name, op);
        if (!check_range(q, &q->attrs[i]))
            return false;
    }
    if (q->attr_count == count_words(tlmc_op_info(q->op)->attrs))
        return true; /* known and distinct: all of them */
    for (tag = 0; tag < TLMC_ATTR_COUNT; tag++)
        if (tlmc_attr_kind((enum tlmc_attr_tag)tag) != TLMC_ATTR_BOOL &&
            !tlmc_shape_attr(q, (enum tlmc_attr_tag)tag) &&
            tlmc_op_has_attr(q->op, (enum tlmc_attr_tag)tag))
            return tlmc_shape_fail(q, TLMC_E_ATTRIBUTE, "op '%s' needs the attribute '%s'", op,
                                   tlmc_attr_name((enum tlmc_attr_tag)tag));
    return true;
}

bool tlmc_shape_infer(enum tlmc_op op, const struct tlmc_type *const *inputs, uint32_t input_count,
                      const struct tlmc_attr *attrs, uint32_t attr_count, struct tlmc_type *results,
                      struct tlmc_shape_error *error)
{
    struct tlmc_shape_query q = { .op = op,
                                  .in = inputs,
                                  .in_count = input_count,
                                  .attrs = attrs,
                                  .attr_count = attr_count,
                                  .out = results,
                                  .error = error };
    int i;

    if (!check_operands(&q) || !check_attrs(&q) || !rules[op](&q))
        return false;
    for (i = 0; i < tlmc_op_info(op)->results; i++)
        if (!tlmc_shape_check_fits(&q, &results[i]))
            return false;
    return true;
}
