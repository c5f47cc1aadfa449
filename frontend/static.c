/* Compile-time arithmetic: integers are exact and 64 bits wide, with a float it is binary64.
   Refused: an inexact integer division, an overflow, operators on kinds that have none. */
#include "sema.h"

#include "checked.h"

#include <math.h>
#include <string.h>

static struct tlmc_val bad_operands(struct tlmc_sema *s, struct tlmc_frame *f,
                                    const struct tlmc_ast *n, const struct tlmc_val *a,
                                    const struct tlmc_val *b)
{
    tlmc_sema_error(s, f, n->span, TLMC_E_KIND, "%s of %s and %s", n->text, tlmc_show(s, a),
                    tlmc_show(s, b));
    return tlmc_val_poison();
}

static struct tlmc_val bad_arithmetic(struct tlmc_sema *s, struct tlmc_frame *f,
                                      const struct tlmc_ast *n, const char *text)
{
    tlmc_sema_error(s, f, n->span, TLMC_E_ARITHMETIC, "%s", text);
    return tlmc_val_poison();
}

/* base ** exponent by squaring; false: overflow. */
static bool power_i64(int64_t base, int64_t exponent, int64_t *out)
{
    int64_t r = 1;

    if (base == 0 || base == 1 || base == -1) {
        *out = exponent == 0 || base == 1 ? 1 : base == 0 ? 0 : exponent % 2 ? -1 : 1;
        return true;
    }
    for (int64_t i = 0; i < exponent; i++) /* at most 63 turns before it overflows */
        if (!tlmc_mul_i64(r, base, &r))
            return false;
    *out = r;
    return true;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static struct tlmc_val int_division(struct tlmc_sema *s, struct tlmc_frame *f,
                                    const struct tlmc_ast *n, int64_t a, int64_t b)
{
    if (b == 0)
        return bad_arithmetic(s, f, n, "division by zero");
    if (a == INT64_MIN && b == -1)
        return !strcmp(n->text, "%") ? tlmc_val_int(0)
                                     : bad_arithmetic(s, f, n, "the quotient overflows 64 bits");
    if (!strcmp(n->text, "//"))
        return tlmc_val_int(floor_div(a, b));
    if (!strcmp(n->text, "%"))
        return tlmc_val_int(a - floor_div(a, b) * b);
    if (a % b == 0)
        return tlmc_val_int(a / b);
    tlmc_sema_error(s, f, n->span, TLMC_E_ARITHMETIC,
                    "%lld / %lld is not exact; write %lld.0 / %lld for a float or // to round down",
                    (long long)a, (long long)b, (long long)a, (long long)b);
    return tlmc_val_poison();
}

static struct tlmc_val int_binary(struct tlmc_sema *s, struct tlmc_frame *f,
                                  const struct tlmc_ast *n, int64_t a, int64_t b)
{
    int64_t r = 0;
    bool ok;

    if (!strcmp(n->text, "/") || !strcmp(n->text, "//") || !strcmp(n->text, "%"))
        return int_division(s, f, n, a, b);
    if (!strcmp(n->text, "**")) {
        if (b < 0)
            return bad_arithmetic(s, f, n, "a negative power of an integer is no integer");
        ok = power_i64(a, b, &r);
    } else if (!strcmp(n->text, "+")) {
        ok = tlmc_add_i64(a, b, &r);
    } else if (!strcmp(n->text, "-")) {
        ok = tlmc_sub_i64(a, b, &r);
    } else {
        ok = tlmc_mul_i64(a, b, &r);
    }
    if (ok)
        return tlmc_val_int(r);
    tlmc_sema_error(s, f, n->span, TLMC_E_ARITHMETIC, "%lld %s %lld overflows 64 bits",
                    (long long)a, n->text, (long long)b);
    return tlmc_val_poison();
}

static struct tlmc_val float_binary(struct tlmc_sema *s, struct tlmc_frame *f,
                                    const struct tlmc_ast *n, double a, double b)
{
    if (!strcmp(n->text, "+"))
        return tlmc_val_float(a + b);
    if (!strcmp(n->text, "-"))
        return tlmc_val_float(a - b);
    if (!strcmp(n->text, "*"))
        return tlmc_val_float(a * b);
    if (!strcmp(n->text, "**"))
        return tlmc_val_float(pow(a, b));
    if (!strcmp(n->text, "/"))
        return b == 0.0 ? bad_arithmetic(s, f, n, "division by zero") : tlmc_val_float(a / b);
    tlmc_sema_error(s, f, n->span, TLMC_E_KIND, "%s is for integers", n->text);
    return tlmc_val_poison();
}

static bool compare(const char *op, const struct tlmc_val *a, const struct tlmc_val *b)
{
    const bool ints = a->kind == TLMC_V_INT && b->kind == TLMC_V_INT;
    const double x = tlmc_val_number(a), y = tlmc_val_number(b);
    const bool less = ints ? a->u.i < b->u.i : x < y, greater = ints ? a->u.i > b->u.i : x > y;
    const bool equal = ints ? a->u.i == b->u.i : x == y;

    return op[0] == '<' ? less || (op[1] == '=' && equal) : greater || (op[1] == '=' && equal);
}

static struct tlmc_val join_lists(struct tlmc_sema *s, struct tlmc_frame *f,
                                  const struct tlmc_ast *n, const struct tlmc_val *a,
                                  const struct tlmc_val *b)
{
    uint32_t copied;
    struct tlmc_val v;

    if (!tlmc_charge(s, f, n->span, (uint64_t)tlmc_list_count(b) + 1))
        return tlmc_val_poison();
    if ((uint64_t)tlmc_list_count(a) + tlmc_list_count(b) > TLMC_MAX_COPIED_ITEMS) {
        tlmc_charge(s, f, n->span, UINT64_MAX);
        return tlmc_val_poison();
    }
    v = tlmc_val_list_join(s->arena, a, b, &copied);
    return copied <= tlmc_list_count(b) || tlmc_charge(s, f, n->span, copied) ? v
                                                                              : tlmc_val_poison();
}

static struct tlmc_val join_strings(struct tlmc_sema *s, struct tlmc_frame *f,
                                    const struct tlmc_ast *n, tlmc_sym a, tlmc_sym b)
{
    struct tlmc_strbuf buf = { 0 };
    struct tlmc_val v = tlmc_val_poison();

    if (!tlmc_charge(s, f, n->span, strlen(a) + strlen(b)))
        return v;
    tlmc_strbuf_printf(&buf, "%s%s", a, b);
    v = tlmc_val_str(TLMC_SYM(s, tlmc_strbuf_text(&buf)));
    tlmc_strbuf_free(&buf);
    return v;
}

struct tlmc_val tlmc_static_binary(struct tlmc_sema *s, struct tlmc_frame *f,
                                   const struct tlmc_ast *n, const struct tlmc_val *a,
                                   const struct tlmc_val *b)
{
    if (!strcmp(n->text, "==") || !strcmp(n->text, "!="))
        return tlmc_val_bool(tlmc_val_equal(a, b) == !strcmp(n->text, "=="));
    if (a->kind == TLMC_V_LIST && b->kind == TLMC_V_LIST && !strcmp(n->text, "+"))
        return join_lists(s, f, n, a, b);
    if (a->kind == TLMC_V_STR && b->kind == TLMC_V_STR && !strcmp(n->text, "+"))
        return join_strings(s, f, n, a->u.s, b->u.s);
    if (!tlmc_val_is_number(a) || !tlmc_val_is_number(b) || !strcmp(n->text, "@") ||
        !strcmp(n->text, "&&") || !strcmp(n->text, "||"))
        return bad_operands(s, f, n, a, b);
    if (n->text[0] == '<' || n->text[0] == '>')
        return tlmc_val_bool(compare(n->text, a, b));
    if (a->kind == TLMC_V_INT && b->kind == TLMC_V_INT)
        return int_binary(s, f, n, a->u.i, b->u.i);
    return float_binary(s, f, n, tlmc_val_number(a), tlmc_val_number(b));
}

/* ---- functions of numbers */

static double round_even(double x)
{
    const double low = floor(x), rest = x - low;

    return rest < 0.5 ? low : rest > 0.5 ? low + 1 : fmod(low, 2) == 0 ? low : low + 1;
}

static const struct {
    const char *name;
    double (*fn)(double);
    bool to_integer;
} unary[] = { { "sqrt", sqrt, false }, { "exp", exp, false },        { "log", log, false },
              { "sin", sin, false },   { "cos", cos, false },        { "floor", floor, true },
              { "ceil", ceil, true },  { "round", round_even, true } };

static struct tlmc_val static_unary(struct tlmc_sema *s, struct tlmc_frame *f,
                                    const struct tlmc_ast *n, size_t row, const struct tlmc_val *a)
{
    const double x = tlmc_val_number(a), y = unary[row].fn(x);

    if (unary[row].to_integer && a->kind == TLMC_V_INT)
        return *a;
    if (unary[row].to_integer) {
        if (!(y >= -9223372036854775808.0 && y < 9223372036854775808.0))
            return bad_arithmetic(s, f, n, "the result does not fit a 64-bit integer");
        return tlmc_val_int((int64_t)y);
    }
    if (isnan(y) && !isnan(x)) {
        tlmc_sema_error(s, f, n->span, TLMC_E_ARITHMETIC, "%s of %s", unary[row].name,
                        tlmc_show(s, a));
        return tlmc_val_poison();
    }
    return tlmc_val_float(y);
}

static struct tlmc_val static_extreme(bool want_max, const struct tlmc_val *a,
                                      const struct tlmc_val *b)
{
    const bool first = compare(want_max ? ">=" : "<=", a, b);

    if (a->kind == TLMC_V_INT && b->kind == TLMC_V_INT)
        return first ? *a : *b;
    if (isnan(tlmc_val_number(a)))
        return *a;
    return tlmc_val_float(tlmc_val_number(first ? a : b));
}

static struct tlmc_val static_abs(struct tlmc_sema *s, struct tlmc_frame *f,
                                  const struct tlmc_ast *n, const struct tlmc_val *a)
{
    if (a->kind == TLMC_V_FLOAT)
        return tlmc_val_float(fabs(a->u.f));
    if (a->u.i == INT64_MIN)
        return bad_arithmetic(s, f, n, "the absolute value overflows 64 bits");
    return tlmc_val_int(a->u.i < 0 ? -a->u.i : a->u.i);
}

static struct tlmc_val static_pow(struct tlmc_sema *s, struct tlmc_frame *f,
                                  const struct tlmc_ast *n, const struct tlmc_val *a,
                                  const struct tlmc_val *b)
{
    const struct tlmc_ast power = { .kind = TLMC_AST_BINARY, .text = "**", .span = n->span };

    return tlmc_static_binary(s, f, &power, a, b);
}

bool tlmc_static_call(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                      const char *name, const struct tlmc_val *args, uint32_t count,
                      struct tlmc_val *out)
{
    if (count == 3 && !strcmp(name, "where") && args[0].kind == TLMC_V_BOOL) {
        *out = args[0].u.b ? args[1] : args[2];
        return true;
    }
    for (uint32_t i = 0; i < count; i++)
        if (!tlmc_val_is_number(&args[i]))
            return false;
    for (size_t i = 0; count == 1 && i < sizeof unary / sizeof *unary; i++)
        if (!strcmp(unary[i].name, name)) {
            *out = static_unary(s, f, n, i, &args[0]);
            return true;
        }
    if (count == 1 && !strcmp(name, "abs"))
        *out = static_abs(s, f, n, &args[0]);
    else if (count == 2 && (!strcmp(name, "max") || !strcmp(name, "min")))
        *out = static_extreme(!strcmp(name, "max"), &args[0], &args[1]);
    else if (count == 2 && !strcmp(name, "pow"))
        *out = static_pow(s, f, n, &args[0], &args[1]);
    else
        return false;
    return true;
}
