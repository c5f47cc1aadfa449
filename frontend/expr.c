/* Expressions.  Compile-time values are computed, tensors become nodes.  Every mistake is reported
   where it stands and gives POISON, which silences what follows from it. */
#include "sema.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- strings */

static bool is_word_char(char c, bool first)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (!first && c >= '0' && c <= '9');
}

/* Length of "{name}" at text, 0: it is none. */
static size_t hole_length(const char *text)
{
    size_t n = 1;

    if (text[0] != '{' || !is_word_char(text[1], true))
        return 0;
    while (is_word_char(text[n], false))
        n++;
    return text[n] == '}' ? n + 1 : 0;
}

static bool fill_hole(struct tlmc_sema *s, struct tlmc_frame *f, struct tlmc_span span,
                      tlmc_sym name, struct tlmc_strbuf *out)
{
    const struct tlmc_val v = tlmc_lookup(s, f, name, span);

    if (v.kind == TLMC_V_POISON)
        return false;
    if (v.kind == TLMC_V_STR) {
        tlmc_strbuf_add(out, v.u.s);
    } else if (tlmc_val_is_number(&v) || v.kind == TLMC_V_BOOL) {
        tlmc_val_print(s->graph, &v, out);
    } else {
        tlmc_sema_error(s, f, span, TLMC_E_KIND, "`%s` is %s, no number or string", name,
                        tlmc_val_kind_name(v.kind));
        return false;
    }
    return true;
}

tlmc_sym tlmc_eval_string(struct tlmc_sema *s, struct tlmc_frame *f, struct tlmc_span span,
                          tlmc_sym text)
{
    struct tlmc_strbuf buf = { 0 };
    tlmc_sym result = NULL;
    bool ok = true;

    if (!strchr(text, '{'))
        return text;
    for (const char *p = text; *p && ok;) {
        const size_t hole = hole_length(p);

        if (hole)
            ok = fill_hole(s, f, span, tlmc_intern_n(s->symbols, p + 1, hole - 2), &buf);
        else
            tlmc_strbuf_char(&buf, *p);
        p += hole ? hole : 1;
        ok = ok && (buf.length < 4096 || tlmc_charge(s, f, span, buf.length));
    }
    if (ok && tlmc_charge(s, f, span, buf.length))
        result = tlmc_intern(s->symbols, tlmc_strbuf_text(&buf));
    tlmc_strbuf_free(&buf);
    return result;
}

/* ---- literals */

static struct tlmc_val eval_int(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n)
{
    long long i;

    errno = 0;
    i = strtoll(n->text, NULL, 10);
    if (errno) {
        tlmc_sema_error(s, f, n->span, TLMC_E_ARITHMETIC, "the integer does not fit 64 bits");
        return tlmc_val_poison();
    }
    return tlmc_val_int(i);
}

static struct tlmc_val eval_float(struct tlmc_sema *s, struct tlmc_frame *f,
                                  const struct tlmc_ast *n)
{
    const double d = strtod(n->text, NULL);

    if (d > 1.7976931348623157e308) {
        tlmc_sema_error(s, f, n->span, TLMC_E_ARITHMETIC,
                        "the number does not fit binary64; write inf");
        return tlmc_val_poison();
    }
    return tlmc_val_float(d);
}

static struct tlmc_val eval_str(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n)
{
    const tlmc_sym text = tlmc_eval_string(s, f, n->span, n->text);

    return text ? tlmc_val_str(text) : tlmc_val_poison();
}

/* "..." and "...S": the axes that the signature bound. */
static bool splice_pack(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                        struct tlmc_val *list)
{
    struct tlmc_strbuf name = { 0 };
    const struct tlmc_binding *b;
    uint32_t copied;

    tlmc_strbuf_printf(&name, "...%s", n->text ? n->text : "");
    b = tlmc_frame_find(f, TLMC_SYM(s, tlmc_strbuf_text(&name)));
    tlmc_strbuf_free(&name);
    if (!b) {
        tlmc_sema_error(s, f, n->span, TLMC_E_UNKNOWN_NAME, "`...%s` is not bound here",
                        n->text ? n->text : "");
        return false;
    }
    *list = tlmc_val_list_join(s->arena, list, &b->value, &copied);
    return true;
}

static struct tlmc_val eval_list(struct tlmc_sema *s, struct tlmc_frame *f,
                                 const struct tlmc_ast *n)
{
    struct tlmc_val list = tlmc_val_list_of(s->arena, NULL, 0), one;
    uint32_t copied;
    bool ok = tlmc_charge(s, f, n->span, n->count);

    for (uint32_t i = 0; i < n->count; i++) {
        if (n->kids[i]->kind == TLMC_AST_PACK) {
            ok = splice_pack(s, f, n->kids[i], &list) && ok;
            continue;
        }
        one = tlmc_eval(s, f, n->kids[i]);
        ok = ok && one.kind != TLMC_V_POISON;
        if (ok) {
            one = tlmc_val_list_of(s->arena, &one, 1);
            list = tlmc_val_list_join(s->arena, &list, &one, &copied);
        }
    }
    if (ok && list.u.list->depth > TLMC_MAX_LIST_DEPTH) {
        tlmc_sema_error(s, f, n->span, TLMC_E_TOO_DEEP, "lists nest more than %d deep",
                        TLMC_MAX_LIST_DEPTH);
        ok = false;
    }
    return ok ? list : tlmc_val_poison();
}

bool tlmc_eval_int(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                   const char *what, int64_t *out)
{
    const struct tlmc_val v = tlmc_eval(s, f, n);

    if (v.kind == TLMC_V_INT) {
        *out = v.u.i;
        return true;
    }
    if (v.kind != TLMC_V_POISON)
        tlmc_sema_error(s, f, n->span, TLMC_E_KIND, "%s is a compile-time integer, this is %s",
                        what, tlmc_show(s, &v));
    return false;
}

static struct tlmc_val eval_range(struct tlmc_sema *s, struct tlmc_frame *f,
                                  const struct tlmc_ast *n)
{
    struct tlmc_val v = { .kind = TLMC_V_RANGE };
    const bool from = tlmc_eval_int(s, f, n->kids[0], "the end of a range", &v.u.range.from);
    const bool to = tlmc_eval_int(s, f, n->kids[1], "the end of a range", &v.u.range.to);

    return from && to ? v : tlmc_val_poison();
}

/* ---- operators */

static struct tlmc_val eval_not(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n)
{
    const struct tlmc_val v = tlmc_eval(s, f, n->kids[0]);
    uint32_t id;

    if (v.kind == TLMC_V_POISON)
        return v;
    if (v.kind == TLMC_V_BOOL)
        return tlmc_val_bool(!v.u.b);
    if (v.kind != TLMC_V_TENSOR) {
        tlmc_sema_error(s, f, n->span, TLMC_E_KIND, "! of %s, which is no bool", tlmc_show(s, &v));
        return tlmc_val_poison();
    }
    id = tlmc_emit(s, f, n, TLMC_OP_LOGICAL_NOT, &v.u.value, 1, NULL, 0);
    return id == TLMC_NONE ? tlmc_val_poison() : tlmc_joined(id, &v, 1);
}

static const struct {
    const char *text;
    enum tlmc_op op;
} operators[] = {
    { "+", TLMC_OP_ADD }, { "-", TLMC_OP_SUB },          { "*", TLMC_OP_MUL },
    { "/", TLMC_OP_DIV }, { "==", TLMC_OP_EQ },          { "!=", TLMC_OP_NE },
    { "<", TLMC_OP_LT },  { "<=", TLMC_OP_LE },          { ">", TLMC_OP_GT },
    { ">=", TLMC_OP_GE }, { "&&", TLMC_OP_LOGICAL_AND }, { "||", TLMC_OP_LOGICAL_OR }
};

/* With a tensor on a side. */
static struct tlmc_val tensor_binary(struct tlmc_sema *s, struct tlmc_frame *f,
                                     const struct tlmc_ast *n, const struct tlmc_val *a,
                                     const struct tlmc_val *b)
{
    const struct tlmc_val both[2] = { *a, *b };

    if (!strcmp(n->text, "@"))
        return tlmc_product(s, f, n, a, b);
    if (!strcmp(n->text, "**"))
        return tlmc_power(s, f, n, a, b);
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (!strcmp(operators[i].text, n->text))
            return tlmc_pointwise(s, f, n, operators[i].op, both, 2);
    tlmc_sema_error(s, f, n->span, TLMC_E_KIND, "%s is for compile-time integers", n->text);
    return tlmc_val_poison();
}

/* && and || decided by their left side: the right one is not looked at. */
static struct tlmc_val short_circuit(struct tlmc_sema *s, struct tlmc_frame *f,
                                     const struct tlmc_ast *n, const struct tlmc_val *a)
{
    struct tlmc_val b;

    if (a->u.b == !strcmp(n->text, "||"))
        return *a;
    b = tlmc_eval(s, f, n->kids[1]);
    if (b.kind == TLMC_V_BOOL || b.kind == TLMC_V_POISON)
        return b;
    tlmc_sema_error(s, f, n->span, TLMC_E_KIND, "%s of a compile-time bool and %s", n->text,
                    tlmc_show(s, &b));
    return tlmc_val_poison();
}

static struct tlmc_val eval_binary(struct tlmc_sema *s, struct tlmc_frame *f,
                                   const struct tlmc_ast *n)
{
    const bool logic = !strcmp(n->text, "&&") || !strcmp(n->text, "||");
    const bool equality = !strcmp(n->text, "==") || !strcmp(n->text, "!=");
    const struct tlmc_val a = tlmc_eval(s, f, n->kids[0]);
    struct tlmc_val b;

    if (logic && a.kind == TLMC_V_BOOL)
        return short_circuit(s, f, n, &a);
    b = tlmc_eval(s, f, n->kids[1]);
    if (a.kind == TLMC_V_POISON || b.kind == TLMC_V_POISON)
        return tlmc_val_poison();
    if (equality && (a.kind == TLMC_V_NONE || b.kind == TLMC_V_NONE))
        return tlmc_val_bool((a.kind == b.kind) == !strcmp(n->text, "=="));
    if ((tlmc_val_is_static(&a) && tlmc_val_is_static(&b)) ||
        (a.kind == TLMC_V_LIST && b.kind == TLMC_V_LIST))
        return tlmc_static_binary(s, f, n, &a, &b);
    return tensor_binary(s, f, n, &a, &b);
}

static struct tlmc_val eval_neg(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n)
{
    const struct tlmc_val v = tlmc_eval(s, f, n->kids[0]);

    return v.kind == TLMC_V_POISON ? v : tlmc_negate(s, f, n, &v);
}

/* ---- all kinds */

static struct tlmc_val single(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                              struct tlmc_results r)
{
    if (r.count == 1)
        return r.one;
    tlmc_sema_error(s, f, n->span, TLMC_E_RESULTS, "this call has %u results, 1 wanted", r.count);
    return tlmc_val_poison();
}

static struct tlmc_val eval_kind(struct tlmc_sema *s, struct tlmc_frame *f,
                                 const struct tlmc_ast *n)
{
    switch ((int)n->kind) {
    case TLMC_AST_NAME: return tlmc_lookup(s, f, n->text, n->span);
    case TLMC_AST_INT: return eval_int(s, f, n);
    case TLMC_AST_FLOAT: return eval_float(s, f, n);
    case TLMC_AST_STR: return eval_str(s, f, n);
    case TLMC_AST_BOOL: return tlmc_val_bool(!strcmp(n->text, "true"));
    case TLMC_AST_NONE: return tlmc_val_none();
    case TLMC_AST_LIST: return eval_list(s, f, n);
    case TLMC_AST_RANGE: return eval_range(s, f, n);
    case TLMC_AST_PAREN: return tlmc_eval(s, f, n->kids[0]);
    case TLMC_AST_NEG: return eval_neg(s, f, n);
    case TLMC_AST_NOT: return eval_not(s, f, n);
    case TLMC_AST_BINARY: return eval_binary(s, f, n);
    case TLMC_AST_INDEX: return tlmc_eval_index(s, f, n);
    case TLMC_AST_DOT: return tlmc_eval_member(s, f, n);
    case TLMC_AST_CALL: return single(s, f, n, tlmc_eval_call(s, f, n, NULL));
    case TLMC_AST_AS: return single(s, f, n, tlmc_eval_call(s, f, n->kids[0], n));
    default: break; /* the other kinds are no expressions */
    }
    tlmc_sema_error(s, f, n->span, TLMC_E_PLACEMENT, "`%s` cannot stand here",
                    tlmc_ast_kind_name(n->kind));
    return tlmc_val_poison();
}

/* Bounds what a form may cost, so that no text keeps the compiler busy for hours or overflows its
   stack. */
static bool may_go_on(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n)
{
    if (s->stop)
        return false;
    if (s->work->depth > TLMC_MAX_WALK_DEPTH) {
        tlmc_sema_error(s, f, n->span, TLMC_E_TOO_DEEP,
                        "blocks, statements and expressions nest more than %d deep",
                        TLMC_MAX_WALK_DEPTH);
        s->stop = true;
    } else if (++s->work->evaluations > TLMC_MAX_EVALUATIONS ||
               s->graph->node_count > TLMC_MAX_NODES) {
        tlmc_sema_error(s, f, n->span, TLMC_E_TOO_LONG,
                        "the model unrolls to more than %d operations", TLMC_MAX_NODES);
        s->stop = true;
    }
    return !s->stop;
}

struct tlmc_val tlmc_eval(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n)
{
    struct tlmc_val v;

    if (!may_go_on(s, f, n)) {
        s->failures++;
        return tlmc_val_poison();
    }
    s->work->depth++;
    v = eval_kind(s, f, n);
    s->work->depth--;
    return v;
}

struct tlmc_results tlmc_eval_results(struct tlmc_sema *s, struct tlmc_frame *f,
                                      const struct tlmc_ast *n)
{
    while (n->kind == TLMC_AST_PAREN)
        n = n->kids[0];
    if (!s->stop && n->kind == TLMC_AST_CALL)
        return tlmc_eval_call(s, f, n, NULL);
    if (!s->stop && n->kind == TLMC_AST_AS)
        return tlmc_eval_call(s, f, n->kids[0], n);
    return tlmc_result(tlmc_eval(s, f, n));
}
