/* Initialisers.  A call keeps its arguments; the parameter's shape turns them into the numbers of a
   uniform or normal distribution (binary64), with PyTorch's fans: weights are [out, in, rest...].
   A constant expression is evaluated. */
#include "sema.h"

#include "spec/interpret.h"

#include <math.h>
#include <string.h>

enum { MOST_ELEMENTS = 1 << 24 }; /* of a computed initial value */

enum init_row {
#define INIT(name, signature) INIT_##name,
#include "initialisers.def"
    INIT_COUNT
};

static const struct {
    const char *name, *signature;
} initialisers[] = {
#define INIT(name, signature) { #name, signature },
#include "initialisers.def"
};

uint32_t tlmc_init_find(const char *name)
{
    for (uint32_t i = 0; i < INIT_COUNT; i++)
        if (!strcmp(initialisers[i].name, name))
            return i;
    return UINT32_MAX;
}

const char *tlmc_init_name(uint32_t row)
{
    return row < INIT_COUNT ? initialisers[row].name : NULL;
}

static tlmc_sym call_text(struct tlmc_call *c, const struct tlmc_args *args)
{
    struct tlmc_strbuf buf = { 0 };
    tlmc_sym text;

    tlmc_strbuf_printf(&buf, "%s(", c->name);
    for (unsigned i = 0; i < args->list.count; i++) {
        const struct tlmc_arg *a = &args->list.items[i];

        tlmc_strbuf_add(&buf, i ? ", " : "");
        if (a->name)
            tlmc_strbuf_printf(&buf, "%s = ", a->name);
        tlmc_val_print(c->s->graph, &a->value, &buf);
    }
    tlmc_strbuf_char(&buf, ')');
    text = TLMC_SYM(c->s, tlmc_strbuf_text(&buf));
    tlmc_strbuf_free(&buf);
    return text;
}

static bool check_words(struct tlmc_call *c)
{
    const char *mode = c->v[1].u.s, *shape = c->v[2].u.s;

    if (strcmp(mode, "fan_in") && strcmp(mode, "fan_out"))
        tlmc_sema_error(c->s, c->f, c->node->span, TLMC_E_ATTRIBUTE,
                        "mode is \"fan_in\" or \"fan_out\", not \"%s\"", mode);
    else if (strcmp(shape, "leaky_relu") && strcmp(shape, "relu") && strcmp(shape, "linear") &&
             strcmp(shape, "tanh"))
        tlmc_sema_error(
            c->s, c->f, c->node->span, TLMC_E_ATTRIBUTE,
            "nonlinearity is \"leaky_relu\", \"relu\", \"tanh\" or \"linear\", not \"%s\"", shape);
    else
        return true;
    return false;
}

/* PyTorch's gains. */
static double gain_of(const char *nonlinearity, double slope)
{
    if (!strcmp(nonlinearity, "linear"))
        return 1.0;
    if (!strcmp(nonlinearity, "tanh"))
        return 5.0 / 3.0;
    return sqrt(2.0 / (1.0 + (strcmp(nonlinearity, "relu") ? slope * slope : 0.0)));
}

struct tlmc_val tlmc_init_call(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                               uint32_t row, const struct tlmc_args *args)
{
    struct tlmc_call c = { .s = s, .f = f, .node = n, .name = initialisers[row].name };
    const bool kaiming = row == INIT_kaiming_uniform || row == INIT_kaiming_normal;
    struct tlmc_init_call *init;

    if (!tlmc_bind_signature(&c, initialisers[row].signature, args) ||
        (kaiming && !check_words(&c)))
        return tlmc_val_poison();
    init = TLMC_NEW(s->arena, struct tlmc_init_call);
    *init = (struct tlmc_init_call){ .row = row, .text = call_text(&c, args) };
    if (kaiming) {
        init->a = gain_of(c.v[2].u.s, c.v[0].u.f);
        init->mode = c.v[1].u.s;
    } else {
        init->a = c.v[0].kind == TLMC_V_FLOAT ? c.v[0].u.f : 0.0;
        init->b = c.v[1].kind == TLMC_V_FLOAT ? c.v[1].u.f : 0.0;
    }
    return (struct tlmc_val){ .kind = TLMC_V_INIT, .u.init = init };
}

/* ---- shapes to numbers */

static void fans(const struct tlmc_type *type, double *in, double *out)
{
    double rest = 1.0;

    for (int i = 2; i < type->rank; i++)
        rest *= (double)type->dims[i];
    *in = *out = 1.0;
    if (type->rank == 1)
        *in = *out = (double)type->dims[0];
    if (type->rank >= 2) {
        *in = (double)type->dims[1] * rest;
        *out = (double)type->dims[0] * rest;
    }
    *in = *in > 0.0 ? *in : 1.0; /* an empty weight draws nothing */
    *out = *out > 0.0 ? *out : 1.0;
}

static void uniform(struct tlmc_init *out, double bound)
{
    out->kind = TLMC_INIT_UNIFORM;
    out->a = -bound;
    out->b = bound;
}

static void normal(struct tlmc_init *out, double mean, double std)
{
    out->kind = TLMC_INIT_NORMAL;
    out->a = mean;
    out->b = std;
}

static bool check_random(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                         const struct tlmc_init_call *init, const struct tlmc_type *type)
{
    if (!tlmc_dtype_is_float(type->dtype))
        tlmc_sema_error(s, f, n->span, TLMC_E_DTYPE, "%s draws floats; %s cannot start so",
                        init->text, tlmc_show_type(s, type));
    else if (init->row == INIT_uniform && !(init->a <= init->b && isfinite(init->b - init->a)))
        tlmc_sema_error(s, f, n->span, TLMC_E_ATTRIBUTE, "%s: the first number is the lower end",
                        init->text);
    else if (init->row == INIT_normal &&
             !(init->b >= 0.0 && isfinite(init->a) && isfinite(init->b)))
        tlmc_sema_error(s, f, n->span, TLMC_E_ATTRIBUTE, "%s: a standard deviation is from 0 up",
                        init->text);
    else
        return true;
    return false;
}

static bool resolve_call(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                         const struct tlmc_init_call *init, const struct tlmc_type *type,
                         struct tlmc_init *out)
{
    double in, outward, fan;

    fans(type, &in, &outward);
    fan = init->mode && !strcmp(init->mode, "fan_out") ? outward : in;
    out->text = init->text;
    out->kind = TLMC_INIT_CONSTANT;
    switch ((enum init_row)init->row) {
    case INIT_zeros: return true;
    case INIT_ones: out->a = 1.0; return true;
    case INIT_constant: out->a = init->a; return true;
    case INIT_uniform:
        out->kind = TLMC_INIT_UNIFORM;
        out->a = init->a;
        out->b = init->b;
        break;
    case INIT_normal: normal(out, init->a, init->b); break;
    case INIT_xavier_uniform: uniform(out, init->a * sqrt(6.0 / (in + outward))); break;
    case INIT_xavier_normal: normal(out, 0.0, init->a * sqrt(2.0 / (in + outward))); break;
    case INIT_kaiming_uniform: uniform(out, init->a * sqrt(3.0 / fan)); break;
    case INIT_kaiming_normal: normal(out, 0.0, init->a / sqrt(fan)); break;
    case INIT_COUNT: TLMC_UNREACHABLE();
    }
    return check_random(s, f, n, init, type);
}

/* ---- constant expressions */

/* The nodes that a value is computed from, as a graph of its own in `scratch`; *elements counts
   what they hold. */
static struct tlmc_graph *cut_out(const struct tlmc_graph *g, struct tlmc_arena *scratch,
                                  uint32_t value, uint32_t *inner, int64_t *elements)
{
    struct tlmc_graph *out = tlmc_graph_new(scratch);
    uint32_t *map = TLMC_NEW_ARRAY(scratch, uint32_t, g->value_count);
    bool *needed = TLMC_NEW_ARRAY(scratch, bool, g->node_count);

    needed[g->values[value].node] = true;
    for (uint32_t i = g->values[value].node + 1; i-- > 0;)
        for (uint32_t k = 0; needed[i] && k < g->nodes[i].input_count; k++)
            if (g->nodes[i].inputs[k] != TLMC_NONE)
                needed[g->values[g->nodes[i].inputs[k]].node] = true;
    *elements = 0;
    for (uint32_t i = 0; i < g->node_count; i++) {
        const struct tlmc_node *n = &g->nodes[i];
        uint32_t *ids = TLMC_NEW_ARRAY(scratch, uint32_t, needed[i] ? n->input_count + 1 : 1),
                 first;

        if (!needed[i])
            continue;
        for (uint32_t k = 0; k < n->input_count; k++)
            ids[k] = n->inputs[k] == TLMC_NONE ? TLMC_NONE : map[n->inputs[k]];
        first = tlmc_add_node(out, n->op, ids, n->input_count, n->attrs, n->attr_count);
        for (uint32_t k = 0; k < n->result_count; k++) {
            map[n->first_result + k] = first + k;
            *elements += tlmc_type_count(&g->values[n->first_result + k].type);
        }
    }
    *inner = map[value];
    return out;
}

static bool run_constant(const struct tlmc_graph *g, struct tlmc_arena *scratch, uint32_t inner,
                         double *data, char *error)
{
    const struct tlmc_env env = { 0 };
    struct tlmc_tensor *values = TLMC_NEW_ARRAY(scratch, struct tlmc_tensor, g->value_count);
    const struct tlmc_type *type = tlmc_value_type(g, inner);
    const bool ok = tlmc_interpret(g, &env, 1u << TLMC_FORWARD, values, error);

    for (int64_t i = 0; ok && i < tlmc_type_count(type); i++)
        data[i] = type->dtype == TLMC_F32 ? (float)values[inner].data[i] : values[inner].data[i];
    tlmc_tensor_free(values, g->value_count);
    return ok;
}

static bool evaluate(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                     uint32_t value, double *data)
{
    struct tlmc_arena scratch = { 0 };
    char error[256];
    uint32_t inner;
    int64_t elements;
    const struct tlmc_graph *g = cut_out(s->graph, &scratch, value, &inner, &elements);
    bool ok = elements <= 4 * (int64_t)MOST_ELEMENTS;

    if (!ok)
        tlmc_sema_error(s, f, n->span, TLMC_E_TOO_BIG,
                        "the initial value is computed from %lld elements; at most %d",
                        (long long)elements, 4 * MOST_ELEMENTS);
    else if (!(ok = run_constant(g, &scratch, inner, data, error)))
        tlmc_sema_error(s, f, n->span, TLMC_E_BOUNDS, "the initial value cannot be computed: %s",
                        error);
    tlmc_arena_free(&scratch);
    return ok;
}

static bool resolve_tensor(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                           const struct tlmc_val *v, const struct tlmc_type *type,
                           struct tlmc_init *out)
{
    struct tlmc_type all;
    struct tlmc_val t;
    double *data;

    if (!tlmc_to_tensor(s, f, n, v, type->dtype, &t))
        return false;
    if (!t.constant) {
        tlmc_sema_error(s, f, n->span, TLMC_E_KIND,
                        "an initial value is an initialiser or a constant expression");
        return false;
    }
    if (tlmc_type_of(s, &t)->dtype != type->dtype) {
        tlmc_sema_error(s, f, n->span, TLMC_E_DTYPE, "%s cannot start as %s",
                        tlmc_show_type(s, type), tlmc_show(s, &t));
        return false;
    }
    if (!tlmc_broadcast_types(tlmc_type_of(s, &t), type, &all) || !tlmc_shape_equal(&all, type)) {
        tlmc_sema_error(s, f, n->span, TLMC_E_BROADCAST, "%s does not broadcast to %s",
                        tlmc_show(s, &t), tlmc_show_type(s, type));
        return false;
    }
    if (tlmc_type_count(type) > MOST_ELEMENTS) {
        tlmc_sema_error(s, f, n->span, TLMC_E_TOO_BIG, "a constant of %lld elements; at most %d",
                        (long long)tlmc_type_count(type), MOST_ELEMENTS);
        return false;
    }
    if (!tlmc_charge(s, f, n->span, s->graph->node_count / 64)) /* the graph is walked */
        return false;
    tlmc_stamp(s, f, n);
    data = TLMC_NEW_ARRAY(s->arena, double, (size_t)tlmc_type_count(type) + 1);
    out->kind = TLMC_INIT_TENSOR;
    out->data = data;
    out->text = "constant";
    return evaluate(s, f, n, tlmc_build_broadcast(s->graph, t.u.value, type), data);
}

bool tlmc_init_resolve(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                       const struct tlmc_val *v, const struct tlmc_type *type,
                       struct tlmc_init *out)
{
    *out = (struct tlmc_init){ 0 };
    if (v->kind == TLMC_V_POISON)
        return false;
    if (v->kind == TLMC_V_NONE)
        return true;
    if (v->kind == TLMC_V_INIT)
        return resolve_call(s, f, n, v->u.init, type, out);
    if (v->kind == TLMC_V_TENSOR || v->kind == TLMC_V_LIST)
        return resolve_tensor(s, f, n, v, type, out);
    if (v->kind == TLMC_V_BOOL ? type->dtype == TLMC_BOOL
                               : v->kind == TLMC_V_INT || (v->kind == TLMC_V_FLOAT &&
                                                           tlmc_dtype_is_float(type->dtype))) {
        out->kind = TLMC_INIT_CONSTANT;
        out->a = v->kind == TLMC_V_BOOL ? v->u.b : tlmc_val_number(v);
        out->text = TLMC_SYM(s, tlmc_show(s, v));
        return true;
    }
    tlmc_sema_error(s, f, n->span, TLMC_E_KIND, "%s is no initial value of %s", tlmc_show(s, v),
                    tlmc_show_type(s, type));
    return false;
}

bool tlmc_init_equal(const struct tlmc_init *a, const struct tlmc_init *b,
                     const struct tlmc_type *type)
{
    if (a->kind != b->kind || a->a != b->a || a->b != b->b)
        return false;
    return a->kind != TLMC_INIT_TENSOR ||
           !memcmp(a->data, b->data, (size_t)tlmc_type_count(type) * sizeof(double));
}
