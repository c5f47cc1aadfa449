/* Nodes of the graph with located errors: stamps, constants, broadcasting, products, powers.  What
   ir/shape refuses becomes a diagnostic at the user's place with the operand types as a note. */
#include "sema.h"

#include <math.h>
#include <string.h>

const struct tlmc_type *tlmc_type_of(const struct tlmc_sema *s, const struct tlmc_val *v)
{
    return tlmc_value_type(s->graph, v->u.value);
}

void tlmc_stamp(struct tlmc_sema *s, const struct tlmc_frame *f, const struct tlmc_ast *n)
{
    s->graph->span = f->file->library && f->user_span.file ? f->user_span : n->span;
    s->graph->scope = f->inst->path;
}

struct tlmc_val tlmc_joined(uint32_t value, const struct tlmc_val *from, uint32_t count)
{
    struct tlmc_val v = tlmc_val_tensor(value);

    v.constant = true;
    for (uint32_t i = 0; i < count; i++) {
        v.target = v.target || from[i].target;
        v.constant = v.constant && from[i].constant;
    }
    return v;
}

static void note_operands(struct tlmc_sema *s, struct tlmc_diag *d, const uint32_t *inputs,
                          uint32_t count)
{
    struct tlmc_strbuf buf = { 0 };

    for (uint32_t i = 0; i < count && i < 8; i++)
        tlmc_strbuf_printf(&buf, "%s%s", i ? ", " : "",
                           inputs[i] == TLMC_NONE
                               ? "none"
                               : tlmc_show_type(s, tlmc_value_type(s->graph, inputs[i])));
    tlmc_sema_note(s, d, (struct tlmc_span){ 0 }, "operands: %s",
                   count ? tlmc_strbuf_text(&buf) : "none");
    tlmc_strbuf_free(&buf);
}

uint32_t tlmc_emit(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                   enum tlmc_op op, const uint32_t *inputs, uint32_t input_count,
                   const struct tlmc_attr *attrs, uint32_t attr_count)
{
    struct tlmc_shape_error error;
    uint32_t node;

    tlmc_stamp(s, f, n);
    node = tlmc_try_node(s->graph, op, inputs, input_count, attrs, attr_count, &error);
    if (node != TLMC_NONE)
        return s->graph->nodes[node].first_result;
    note_operands(s, tlmc_sema_error(s, f, n->span, error.code, "%s", error.text), inputs,
                  input_count);
    return TLMC_NONE;
}

bool tlmc_check_type(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                     const struct tlmc_type *type)
{
    if (tlmc_type_fits(type))
        return true;
    tlmc_sema_error(s, f, n->span, TLMC_E_TOO_BIG,
                    "%s is over the limit: sizes and element counts are below 2^32, ranks up to %d",
                    tlmc_show_type(s, type), TLMC_MAX_RANK);
    return false;
}

/* ---- constants */

static bool dtype_mismatch(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                           enum tlmc_dtype like, const struct tlmc_val *v)
{
    struct tlmc_diag *d =
        tlmc_sema_error(s, f, n->span, TLMC_E_DTYPE, "element types differ: %s beside %s",
                        tlmc_show(s, v), tlmc_dtype_name(like));

    if (v->kind == TLMC_V_FLOAT && like == TLMC_I32)
        tlmc_hint(s->diags, d, "write the cast: f32(x)");
    return false;
}

/* The element type that a number takes beside `like`; TLMC_DTYPE_COUNT: it does not fit. */
static enum tlmc_dtype number_dtype(const struct tlmc_val *v, enum tlmc_dtype like)
{
    if (v->kind == TLMC_V_BOOL)
        return like == TLMC_BOOL || like == TLMC_DTYPE_COUNT ? TLMC_BOOL : TLMC_DTYPE_COUNT;
    if (like == TLMC_DTYPE_COUNT)
        return v->kind == TLMC_V_INT ? TLMC_I32 : TLMC_F32;
    if (tlmc_dtype_is_float(like) || (like == TLMC_I32 && v->kind == TLMC_V_INT))
        return like;
    return TLMC_DTYPE_COUNT;
}

/* One element in binary64, rounded once to the element type. */
static bool element(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                    const struct tlmc_val *v, enum tlmc_dtype dtype, double *out)
{
    if (v->kind == TLMC_V_INT && dtype == TLMC_I32 && (v->u.i < INT32_MIN || v->u.i > INT32_MAX)) {
        tlmc_sema_error(s, f, n->span, TLMC_E_ARITHMETIC, "%lld does not fit i32",
                        (long long)v->u.i);
        return false;
    }
    *out = v->kind == TLMC_V_BOOL ? v->u.b : tlmc_val_number(v);
    if (dtype == TLMC_F32)
        *out = (float)*out;
    return true;
}

static bool is_scalar(const struct tlmc_val *v)
{
    return tlmc_val_is_number(v) || v->kind == TLMC_V_BOOL;
}

struct nested { /* a list of lists of numbers on its way to a constant tensor */
    struct tlmc_sema *s;
    struct tlmc_frame *f;
    const struct tlmc_ast *n;
    struct tlmc_type type;
    uint32_t filled, capacity;
    double *data;
    bool any_float, any_bool, any_int;
};

static bool measure(struct nested *t, const struct tlmc_val *v, int depth)
{
    bool ok = true;

    if (is_scalar(v)) {
        t->any_float |= v->kind == TLMC_V_FLOAT;
        t->any_bool |= v->kind == TLMC_V_BOOL;
        t->any_int |= v->kind == TLMC_V_INT;
        t->filled++;
        return depth == t->type.rank;
    }
    if (v->kind != TLMC_V_LIST || depth >= t->type.rank ||
        (int64_t)tlmc_list_count(v) != t->type.dims[depth])
        return false;
    for (uint32_t i = 0; i < tlmc_list_count(v) && ok; i++) {
        const struct tlmc_val item = tlmc_list_item(v, i);

        ok = measure(t, &item, depth + 1);
    }
    return ok;
}

static bool fill(struct nested *t, const struct tlmc_val *v)
{
    bool ok = true;

    if (is_scalar(v))
        return element(t->s, t->f, t->n, v, t->type.dtype, &t->data[t->filled++]);
    for (uint32_t i = 0; i < tlmc_list_count(v) && ok; i++) {
        const struct tlmc_val item = tlmc_list_item(v, i);

        ok = fill(t, &item);
    }
    return ok;
}

static bool list_to_tensor(struct nested *t, const struct tlmc_val *v, enum tlmc_dtype like,
                           struct tlmc_val *out)
{
    struct tlmc_val item = *v;

    while (item.kind == TLMC_V_LIST && t->type.rank < TLMC_MAX_RANK) {
        t->type.dims[t->type.rank++] = tlmc_list_count(&item);
        if (!tlmc_list_count(&item))
            break;
        item = tlmc_list_item(&item, 0);
    }
    if (!measure(t, v, 0)) {
        tlmc_sema_error(t->s, t->f, t->n->span, TLMC_E_KIND,
                        "%s is no constant tensor: that is a rectangular list of numbers (tensors "
                        "are joined by stack or concat)",
                        tlmc_show(t->s, v));
        return false;
    }
    if (t->any_bool && (t->any_float || t->any_int)) {
        tlmc_sema_error(t->s, t->f, t->n->span, TLMC_E_DTYPE,
                        "element types differ: bools and numbers in one list");
        return false;
    }
    item = t->any_bool                   ? tlmc_val_bool(true)
           : t->any_float || !t->any_int ? tlmc_val_float(0.0)
                                         : tlmc_val_int(0);
    if (!t->filled && like != TLMC_DTYPE_COUNT)
        t->type.dtype = like;
    else
        t->type.dtype = number_dtype(&item, like);
    if (t->type.dtype == TLMC_DTYPE_COUNT)
        return dtype_mismatch(t->s, t->f, t->n, like, v);
    t->data = TLMC_NEW_ARRAY(t->s->arena, double, t->filled + 1);
    t->filled = 0;
    if (!fill(t, v))
        return false;
    tlmc_stamp(t->s, t->f, t->n);
    *out = tlmc_val_tensor(tlmc_build_tensor(t->s->graph, &t->type, t->data));
    out->constant = true;
    return true;
}

bool tlmc_to_tensor(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                    const struct tlmc_val *v, enum tlmc_dtype like, struct tlmc_val *out)
{
    struct nested list = { .s = s, .f = f, .n = n };
    enum tlmc_dtype dtype;
    double value;

    if (v->kind == TLMC_V_POISON)
        return false;
    if (v->kind == TLMC_V_TENSOR) {
        *out = *v;
        return true;
    }
    if (v->kind == TLMC_V_LIST)
        return list_to_tensor(&list, v, like, out);
    if (!is_scalar(v)) {
        tlmc_sema_error(s, f, n->span, TLMC_E_KIND, "a tensor is needed, this is %s",
                        tlmc_show(s, v));
        return false;
    }
    dtype = number_dtype(v, like);
    if (dtype == TLMC_DTYPE_COUNT)
        return dtype_mismatch(s, f, n, like, v);
    if (!element(s, f, n, v, dtype, &value))
        return false;
    tlmc_stamp(s, f, n);
    *out = tlmc_val_tensor(tlmc_build_const(s->graph, dtype, value));
    out->constant = true;
    return true;
}

/* ---- element by element */

static void report_dtypes(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                          const struct tlmc_val *a, const struct tlmc_val *b)
{
    struct tlmc_diag *d =
        tlmc_sema_error(s, f, n->span, TLMC_E_DTYPE, "element types differ: %s and %s",
                        tlmc_show(s, a), tlmc_show(s, b));

    tlmc_hint(s->diags, d, "casts are written: f32(x), i32(x)");
}

/* The common shape; false after a report. */
static bool common_shape(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                         const struct tlmc_val *ts, uint32_t count, struct tlmc_type *out)
{
    uint32_t ids[TLMC_MAX_SIGNATURE];

    *out = *tlmc_type_of(s, &ts[0]);
    for (uint32_t i = 0; i < count; i++)
        ids[i] = ts[i].u.value;
    for (uint32_t i = 1; i < count; i++) {
        const struct tlmc_type left = *out, *right = tlmc_type_of(s, &ts[i]);

        if (!tlmc_broadcast_types(&left, right, out)) {
            note_operands(s,
                          tlmc_sema_error(s, f, n->span, TLMC_E_BROADCAST,
                                          "shapes %s and %s do not broadcast",
                                          tlmc_show_dims(s, &left), tlmc_show_dims(s, right)),
                          ids, count);
            return false;
        }
    }
    return tlmc_check_type(s, f, n, out);
}

static enum tlmc_dtype first_dtype(const struct tlmc_sema *s, const struct tlmc_val *args,
                                   uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (args[i].kind == TLMC_V_TENSOR)
            return tlmc_type_of(s, &args[i])->dtype;
    return TLMC_DTYPE_COUNT;
}

/* where: the condition is bool, the two others agree; else all agree. */
static bool make_operands(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                          enum tlmc_op op, const struct tlmc_val *args, uint32_t count,
                          struct tlmc_val *ts)
{
    const uint32_t first = op == TLMC_OP_WHERE;
    enum tlmc_dtype like = first_dtype(s, args + first, count - first);

    for (uint32_t i = first; i < count && like == TLMC_DTYPE_COUNT; i++)
        if (args[i].kind == TLMC_V_FLOAT)
            like = TLMC_F32; /* numbers alone: one float makes all float */
    if (first && !tlmc_to_tensor(s, f, n, &args[0], TLMC_DTYPE_COUNT, &ts[0]))
        return false;
    for (uint32_t i = first; i < count; i++)
        if (!tlmc_to_tensor(s, f, n, &args[i], like, &ts[i]))
            return false;
    for (uint32_t i = first + 1; i < count; i++)
        if (tlmc_type_of(s, &ts[i])->dtype != tlmc_type_of(s, &ts[first])->dtype) {
            report_dtypes(s, f, n, &ts[first], &ts[i]);
            return false;
        }
    return true;
}

struct tlmc_val tlmc_pointwise(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                               enum tlmc_op op, const struct tlmc_val *args, uint32_t count)
{
    struct tlmc_val ts[TLMC_MAX_SIGNATURE];
    uint32_t ids[TLMC_MAX_SIGNATURE], id;
    struct tlmc_type shape;

    if (!make_operands(s, f, n, op, args, count, ts) || !common_shape(s, f, n, ts, count, &shape))
        return tlmc_val_poison();
    tlmc_stamp(s, f, n);
    for (uint32_t i = 0; i < count; i++)
        ids[i] = tlmc_build_broadcast(s->graph, ts[i].u.value, &shape);
    id = tlmc_emit(s, f, n, op, ids, count, NULL, 0);
    return id == TLMC_NONE ? tlmc_val_poison() : tlmc_joined(id, ts, count);
}

struct tlmc_val tlmc_negate(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                            const struct tlmc_val *x)
{
    const struct tlmc_val zero[2] = { tlmc_val_int(0), *x };
    uint32_t id;

    if (x->kind == TLMC_V_FLOAT)
        return tlmc_val_float(-x->u.f);
    if (x->kind == TLMC_V_INT && x->u.i != INT64_MIN)
        return tlmc_val_int(-x->u.i);
    if (x->kind != TLMC_V_TENSOR) {
        tlmc_sema_error(s, f, n->span, x->kind == TLMC_V_INT ? TLMC_E_ARITHMETIC : TLMC_E_KIND,
                        "- of %s", tlmc_show(s, x));
        return tlmc_val_poison();
    }
    if (tlmc_type_of(s, x)->dtype == TLMC_I32) /* wraps as 0 - x does */
        return tlmc_pointwise(s, f, n, TLMC_OP_SUB, zero, 2);
    id = tlmc_emit(s, f, n, TLMC_OP_NEG, &x->u.value, 1, NULL, 0);
    return id == TLMC_NONE ? tlmc_val_poison() : tlmc_joined(id, x, 1);
}

/* A compile-time integer from 2 to 8 is the fixed chain of multiplications: the exponent's bits
   from the highest, a square a bit and a product where it is set. */
struct tlmc_val tlmc_power(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                           const struct tlmc_val *base, const struct tlmc_val *exponent)
{
    const struct tlmc_val both[2] = { *base, *exponent };
    struct tlmc_val pair[2];
    int bit = 1;

    if (base->kind != TLMC_V_TENSOR || exponent->kind != TLMC_V_INT || exponent->u.i < 1 ||
        exponent->u.i > 8)
        return tlmc_pointwise(s, f, n, TLMC_OP_POW, both, 2);
    while (exponent->u.i >> (bit + 1))
        bit++;
    if (exponent->u.i == 1)
        return *base;
    pair[0] = *base;
    while (bit-- > 0 && pair[0].kind != TLMC_V_POISON) {
        pair[1] = pair[0];
        pair[0] = tlmc_pointwise(s, f, n, TLMC_OP_MUL, pair, 2);
        pair[1] = *base;
        if (exponent->u.i >> bit & 1 && pair[0].kind != TLMC_V_POISON)
            pair[0] = tlmc_pointwise(s, f, n, TLMC_OP_MUL, pair, 2);
    }
    return pair[0];
}

/* ---- products */

static bool batch_shape(const struct tlmc_type *a, const struct tlmc_type *b, struct tlmc_type *out)
{
    struct tlmc_type x = *a, y = *b;

    x.rank -= 2;
    y.rank -= 2;
    if (!tlmc_broadcast_types(&x, &y, out) || out->rank + 2 > TLMC_MAX_RANK)
        return false;
    out->dims[out->rank++] = a->dims[a->rank - 2];
    out->dims[out->rank++] = b->dims[b->rank - 1];
    return true;
}

static bool check_product(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                          const struct tlmc_val *ts, struct tlmc_type *out)
{
    const struct tlmc_type *a = tlmc_type_of(s, &ts[0]), *b = tlmc_type_of(s, &ts[1]);
    const char *ta = tlmc_show_type(s, a), *tb = tlmc_show_type(s, b);

    if (a->dtype != b->dtype)
        report_dtypes(s, f, n, &ts[0], &ts[1]);
    else if (!tlmc_dtype_is_float(a->dtype))
        tlmc_sema_error(s, f, n->span, TLMC_E_DTYPE, "%s @ %s: a product is of float tensors", ta,
                        tb);
    else if (a->rank < 2 || b->rank < 2)
        tlmc_sema_error(s, f, n->span, TLMC_E_RANK,
                        "%s @ %s: rank 2 or more is needed on both sides", ta, tb);
    else if (a->dims[a->rank - 1] != b->dims[b->rank - 2])
        tlmc_sema_error(s, f, n->span, TLMC_E_SHAPE, "inner sizes differ: %s @ %s, %lld and %lld",
                        ta, tb, (long long)a->dims[a->rank - 1], (long long)b->dims[b->rank - 2]);
    else if (!batch_shape(a, b, out))
        tlmc_sema_error(s, f, n->span, TLMC_E_BROADCAST,
                        "the leading axes of %s @ %s do not broadcast", ta, tb);
    else
        return tlmc_check_type(s, f, n, out);
    return false;
}

struct tlmc_val tlmc_product(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                             const struct tlmc_val *a, const struct tlmc_val *b)
{
    const struct tlmc_val both[2] = { *a, *b };
    const enum tlmc_dtype like = first_dtype(s, both, 2);
    struct tlmc_val ts[2];
    struct tlmc_type out;

    if (!tlmc_to_tensor(s, f, n, a, like, &ts[0]) || !tlmc_to_tensor(s, f, n, b, like, &ts[1]) ||
        !check_product(s, f, n, ts, &out))
        return tlmc_val_poison();
    tlmc_stamp(s, f, n);
    return tlmc_joined(tlmc_build_matmul(s->graph, ts[0].u.value, ts[1].u.value), ts, 2);
}
