/* Pointwise ops, element by element through the scalar functions of runtime/tlm_math.h. */
#include "exact.h"

#include "tlm_math.h"

#include <stdio.h>

struct settings {
    float factor, min, max, eps, slope, alpha;
};

typedef union number {
    float f;
    int32_t i;
    uint8_t b;
} number;

typedef number formula(const number *in, const struct settings *a);

/* ---- unary rows */
#define PASS_none
#define PASS_factor , a->factor
#define PASS_eps , a->eps
#define PASS_slope , a->slope
#define PASS_alpha , a->alpha
#define PASS_min_max , a->min, a->max
#define SECOND__
#define SECOND_X , in[1].f
#define SECOND_Y , in[1].f

#define TLM_UNARY(name, attrs, text, uses, derivative, ulp, vjp_ulp, domain)          \
    static number value_##name(const number *in, const struct settings *a)            \
    {                                                                                 \
        (void)a;                                                                      \
        return (number){ .f = tlm_##name(in[0].f PASS_##attrs) };                     \
    }                                                                                 \
    static number slope_##name(const number *in, const struct settings *a)            \
    {                                                                                 \
        (void)a;                                                                      \
        return (number){ .f = tlm_##name##_vjp(in[0].f SECOND_##uses PASS_##attrs) }; \
    }
#define TLM_MAP(name, type, parameters, text, ulp, domain)
#include "tlm_pointwise.def"

/* ---- other rows */
#define IN(k, type) in[k].type
#define MAP(name, out, ...)                                                \
    static number value_##name(const number *in, const struct settings *a) \
    {                                                                      \
        (void)a;                                                           \
        return (number){ .out = tlm_##name(__VA_ARGS__) };                 \
    }
#include "exact_maps.def"

static const struct {
    const char *name;
    formula *value;
} formulas[] = {
#define TLM_UNARY(name, attrs, text, uses, derivative, ulp, vjp_ulp, domain) \
    { #name, value_##name }, { #name "_vjp", slope_##name },
#define TLM_MAP(name, type, parameters, text, ulp, domain)
#include "tlm_pointwise.def"
#define MAP(name, out, ...) { #name, value_##name },
#include "exact_maps.def"
};

/* Functions are named after the op and, beside f32, the element type of its operands. */
static formula *find(const struct ops_case *c, const struct ops_buffer *operands,
                     const struct ops_buffer *result)
{
    const char *op = tlmc_op_info(c->row->op)->name;
    const enum tlmc_dtype dtype = operands[c->row->op == TLMC_OP_WHERE ? 1 : 0].type.dtype;
    const bool logical = c->row->op == TLMC_OP_LOGICAL_AND || c->row->op == TLMC_OP_LOGICAL_OR ||
                         c->row->op == TLMC_OP_LOGICAL_NOT;
    char name[64];

    if (c->row->op == TLMC_OP_CAST)
        snprintf(name, sizeof name, "cast_%s_%s", tlmc_dtype_name(dtype),
                 tlmc_dtype_name(result->type.dtype));
    else if (dtype == TLMC_F32 || logical)
        snprintf(name, sizeof name, "%s", op);
    else
        snprintf(name, sizeof name, "%s_%s", op, tlmc_dtype_name(dtype));
    for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++)
        if (strcmp(formulas[i].name, name) == 0)
            return formulas[i].value;
    TLMC_BUG("tlm_math.h has no row '%s'", name);
}

static number load(const struct ops_buffer *from, int64_t i)
{
    if (from->type.dtype == TLMC_F32)
        return (number){ .f = from->data.f[i] };
    if (from->type.dtype == TLMC_I32)
        return (number){ .i = from->data.i[i] };
    return (number){ .b = from->data.b[i] };
}

bool ops_exact_pointwise(const struct ops_case *c, const struct ops_buffer *operands,
                         struct ops_buffer *result)
{
    const struct settings a = { ops_attr_f32(c, TLMC_A_FACTOR), ops_attr_f32(c, TLMC_A_MIN),
                                ops_attr_f32(c, TLMC_A_MAX),    ops_attr_f32(c, TLMC_A_EPS),
                                ops_attr_f32(c, TLMC_A_SLOPE),  ops_attr_f32(c, TLMC_A_ALPHA) };
    formula *value = find(c, operands, result);
    const int64_t count = tlmc_type_count(&result->type);

    for (int64_t i = 0; i < count; i++) {
        number in[3] = { { .i = 0 } }, out;

        for (uint32_t k = 0; k < c->operand_count; k++)
            in[k] = load(&operands[k], i);
        out = value(in, &a);
        if (result->type.dtype == TLMC_F32)
            result->data.f[i] = out.f;
        else if (result->type.dtype == TLMC_I32)
            result->data.i[i] = out.i;
        else
            result->data.b[i] = out.b;
    }
    return true;
}
