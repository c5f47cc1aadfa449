/* Statements: declarations, assignments, if and for unrolled, what an entry gives out. */
#include "sema.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool at_top(const struct tlmc_frame *f)
{
    return !f->is_block && f->depth == 0;
}

/* ---- dim, const */

static bool parse_define(const char *text, const struct tlmc_val *like, struct tlmc_sema *s,
                         struct tlmc_val *out)
{
    char *end;

    errno = 0;
    switch ((int)like->kind) {
    case TLMC_V_INT: *out = tlmc_val_int(strtoll(text, &end, 10)); break;
    case TLMC_V_FLOAT: *out = tlmc_val_float(strtod(text, &end)); break;
    case TLMC_V_BOOL:
        *out = tlmc_val_bool(!strcmp(text, "true"));
        return out->u.b || !strcmp(text, "false");
    case TLMC_V_STR: *out = tlmc_val_str(TLMC_SYM(s, text)); return true;
    default: return false;
    }
    return !errno && end != text && !*end && *text != ' ';
}

static tlmc_sym dotted(struct tlmc_sema *s, const char *scope, const char *name)
{
    struct tlmc_strbuf buf = { 0 };
    tlmc_sym sym;

    tlmc_strbuf_printf(&buf, "%s.%s", scope, name);
    sym = TLMC_SYM(s, tlmc_strbuf_text(&buf));
    tlmc_strbuf_free(&buf);
    return sym;
}

/* The -D that holds for this declaration: of the form, of the entry, of the file.  A clause's own
   dim hides the two latter, so they are only marked as known. */
static struct tlmc_define *find_override(struct tlmc_sema *s, const struct tlmc_frame *f,
                                         const struct tlmc_ast *n, bool in_clause)
{
    struct tlmc_define *form = tlmc_find_define(s, dotted(s, s->work->scope, n->text));
    struct tlmc_define *entry = tlmc_find_define(s, dotted(s, s->work->form.entry, n->text));
    struct tlmc_define *plain = f->is_entry ? NULL : tlmc_find_define(s, n->text);

    tlmc_know_define(s, dotted(s, s->work->scope, n->text));
    tlmc_know_define(s, dotted(s, s->work->form.entry, n->text));
    if (!f->is_entry)
        tlmc_know_define(s, n->text);
    if (form)
        form->used = true;
    if (entry)
        entry->used = true;
    if (plain)
        plain->used = true;
    if (form || in_clause)
        return form;
    return entry ? entry : plain;
}

static void override(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                     bool in_clause, struct tlmc_val *v)
{
    const struct tlmc_define *d = find_override(s, f, n, in_clause);
    struct tlmc_val value;

    if (!d || v->kind == TLMC_V_POISON)
        return;
    if (parse_define(d->text, v, s, &value)) {
        *v = value;
        return;
    }
    tlmc_sema_error(s, f, n->span, TLMC_E_DEFINE, "-D %s=%s: `%s` is %s", d->name, d->text, n->text,
                    tlmc_val_kind_name(v->kind));
    *v = tlmc_val_poison();
}

static const struct tlmc_ast *clause_dim(const struct tlmc_sema *s, tlmc_sym name)
{
    const struct tlmc_ast *settings = s->work->dims;

    for (uint32_t i = 0; settings && i < settings->count; i++)
        if (settings->kids[i] && settings->kids[i]->kind == TLMC_AST_DIM &&
            settings->kids[i]->text == name)
            return settings->kids[i];
    return NULL;
}

static void walk_dim(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n)
{
    const bool top = at_top(f) && f->file == s->file;
    const struct tlmc_ast *from = top ? clause_dim(s, n->text) : NULL;
    struct tlmc_val v = tlmc_eval(s, f, from ? from->kids[0] : n->kids[0]);

    if (v.kind != TLMC_V_POISON && v.kind != TLMC_V_INT) {
        tlmc_sema_error(s, f, n->span, TLMC_E_KIND, "dim `%s` is %s, not an integer from 0 up",
                        n->text, tlmc_show(s, &v));
        v = tlmc_val_poison();
    }
    if (top)
        override(s, f, n, from != NULL, &v);
    if (v.kind == TLMC_V_INT && v.u.i < 0) {
        tlmc_sema_error(s, f, (from ? from : n)->span, TLMC_E_KIND,
                        "dim `%s` is %lld, not an integer from 0 up", n->text, (long long)v.u.i);
        v = tlmc_val_poison();
    }
    tlmc_declare(s, f, n, v);
}

static struct tlmc_val typed_const(struct tlmc_sema *s, struct tlmc_frame *f,
                                   const struct tlmc_ast *n, const struct tlmc_val *v)
{
    struct tlmc_type want;
    struct tlmc_val t;

    if (!tlmc_eval_type(s, f, n->kids[0], &want) ||
        !tlmc_to_tensor(s, f, n->kids[1], v, want.dtype, &t))
        return tlmc_val_poison();
    if (!t.constant) {
        tlmc_sema_error(s, f, n->kids[1]->span, TLMC_E_KIND,
                        "const `%s` is made of constants alone", n->text);
        return tlmc_val_poison();
    }
    if (!tlmc_type_equal(&want, tlmc_type_of(s, &t))) {
        tlmc_sema_error(s, f, n->span, TLMC_E_SHAPE, "const `%s` is declared %s, its value is %s",
                        n->text, tlmc_show_type(s, &want), tlmc_show(s, &t));
        return tlmc_val_poison();
    }
    if (!s->graph->values[t.u.value].name && !f->file->library)
        s->graph->values[t.u.value].name = n->text;
    return t;
}

static void walk_const(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n)
{
    struct tlmc_val v = tlmc_eval(s, f, n->kids[1]);

    if (v.kind != TLMC_V_POISON && n->kids[0]->kind == TLMC_AST_TYPE) {
        v = typed_const(s, f, n, &v);
    } else if (v.kind == TLMC_V_TENSOR && !v.constant) {
        tlmc_sema_error(s, f, n->kids[1]->span, TLMC_E_KIND,
                        "const `%s` is a compile-time value, this is %s", n->text,
                        tlmc_show(s, &v));
        v = tlmc_val_poison();
    } else if (at_top(f) && f->file == s->file) {
        override(s, f, n, false, &v);
    }
    tlmc_declare(s, f, n, v);
}

/* ---- inputs and results of an entry */

static bool of_entry(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n)
{
    if (!f->is_block)
        return true;
    tlmc_sema_error(s, f, n->span, TLMC_E_PLACEMENT,
                    "`%s` stands inside a block; only entries have it",
                    tlmc_ast_kind_name(n->kind));
    return false;
}

static void walk_input(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n)
{
    struct tlmc_io io = { .name = n->text,
                          .is_target = n->kind == TLMC_AST_TARGET,
                          .span = n->span };
    const struct tlmc_binding *old = tlmc_frame_find(f, n->text);
    struct tlmc_val v = tlmc_val_poison();
    struct tlmc_type type;

    if (!of_entry(s, f, n))
        return;
    if (!old && f->is_entry)
        old = tlmc_frame_find(s->work->file_frame, n->text);
    if (old) {
        struct tlmc_diag *d = tlmc_sema_error(s, f, n->span, TLMC_E_REDEFINED,
                                              "`%s` already has a meaning here", n->text);

        tlmc_sema_note(s, d, old->span, "given here");
        return;
    }
    if (tlmc_eval_type(s, f, n->kids[0], &type)) {
        tlmc_stamp(s, f, n);
        io.value = tlmc_build_leaf(s->graph, TLMC_OP_INPUT, s->work->form.inputs.count, &type);
        s->graph->values[io.value].name = n->text;
        v = tlmc_val_tensor(io.value);
        v.target = io.is_target;
        TLMC_PUSH(s->arena, &s->work->form.inputs, io);
    }
    tlmc_frame_bind(s, f, n->text, TLMC_B_VARIABLE, v, n->span);
}

static bool is_new_name(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                        const tlmc_io_vec *list, tlmc_sym name)
{
    for (unsigned i = 0; i < list->count; i++)
        if (list->items[i].name == name) {
            struct tlmc_diag *d =
                tlmc_sema_error(s, f, n->span, TLMC_E_REDEFINED, "`%s` is given out twice", name);

            tlmc_sema_note(s, d, list->items[i].span, "first given here");
            return false;
        }
    return true;
}

/* A loss or metric without a name takes the statement's, numbered from the second on. */
static tlmc_sym automatic_name(struct tlmc_sema *s, const char *what, uint32_t count)
{
    char buf[32];

    if (!count)
        return TLMC_SYM(s, what);
    snprintf(buf, sizeof buf, "%s%u", what, count + 1);
    return TLMC_SYM(s, buf);
}

static void add_result(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                       const struct tlmc_ast *bind)
{
    struct tlmc_form *form = &s->work->form;
    tlmc_io_vec *list = n->kind == TLMC_AST_OUTPUT ? &form->outputs
                        : n->kind == TLMC_AST_LOSS ? &form->losses
                                                   : &form->metrics;
    const struct tlmc_val v = tlmc_eval(s, f, bind->kids[0]);
    struct tlmc_io io = { .name = bind->text, .span = bind->span };
    struct tlmc_val t;

    if (!io.name && bind->kids[0]->kind == TLMC_AST_NAME)
        io.name = bind->kids[0]->text;
    if (!io.name && n->kind == TLMC_AST_OUTPUT) {
        tlmc_sema_error(s, f, bind->span, TLMC_E_ARGUMENT,
                        "an output that is an expression needs a name: output NAME = ...");
        return;
    }
    if (!io.name)
        io.name = automatic_name(s, tlmc_ast_kind_name(n->kind), list->count);
    if (!tlmc_to_tensor(s, f, bind, &v, TLMC_DTYPE_COUNT, &t) ||
        !is_new_name(s, f, bind, list, io.name))
        return;
    if (n->kind == TLMC_AST_LOSS && !tlmc_dtype_is_float(tlmc_type_of(s, &t)->dtype)) {
        tlmc_sema_error(s, f, bind->span, TLMC_E_DTYPE, "a loss is a float tensor, this is %s",
                        tlmc_show(s, &t));
        return;
    }
    io.value = t.u.value;
    if (n->kind == TLMC_AST_OUTPUT && t.target)
        tlmc_sema_error(s, f, bind->span, TLMC_E_TARGET_NEEDED,
                        "output `%s` depends on a target, which inference has not", io.name);
    if (!s->graph->values[io.value].name)
        s->graph->values[io.value].name = io.name;
    TLMC_PUSH(s->arena, list, io);
}

static void walk_result(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n)
{
    if (!of_entry(s, f, n))
        return;
    for (uint32_t i = 0; i < n->kids[0]->count; i++)
        add_result(s, f, n, n->kids[0]->kids[i]);
}

/* ---- assignment */

static bool may_assign(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *name)
{
    const struct tlmc_binding *b = tlmc_frame_find(f, name->text);
    struct tlmc_diag *d;

    if (!b && f->is_entry)
        b = tlmc_frame_find(s->work->file_frame, name->text);
    if (!b || b->kind != TLMC_B_DECLARED)
        return true;
    d = tlmc_sema_error(s, f, name->span, TLMC_E_ASSIGN_DECLARED,
                        "`%s` is declared and cannot be assigned%s", name->text,
                        b->value.is_state ? ": write `update`" : "");
    tlmc_sema_note(s, d, b->span, "declared here");
    return false;
}

static void assign_one(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *name,
                       struct tlmc_val v)
{
    if (!strcmp(name->text, "_") || !may_assign(s, f, name))
        return;
    if (v.kind == TLMC_V_TENSOR && !f->file->library && !s->graph->values[v.u.value].name)
        s->graph->values[v.u.value].name = name->text;
    tlmc_frame_bind(s, f, name->text, TLMC_B_VARIABLE, v, name->span);
}

static void walk_assign(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n)
{
    const struct tlmc_ast *names = n->kids[0];
    const struct tlmc_results r = tlmc_eval_results(s, f, n->kids[1]);
    const bool poisoned = r.count == 1 && r.one.kind == TLMC_V_POISON;

    if (r.count != names->count && !poisoned)
        tlmc_sema_error(s, f, n->kids[1]->span, TLMC_E_RESULTS, "%u result%s, %u wanted", r.count,
                        r.count == 1 ? "" : "s", names->count);
    for (uint32_t i = 0; i < names->count; i++)
        assign_one(s, f, names->kids[i],
                   r.count != names->count ? tlmc_val_poison()
                   : i == 0                ? r.one
                                           : r.items[i]);
}

/* ---- if and for */

/* Names a body would assign: poisoned after a mistake, remembered when the branch is not taken. */
static void skip_body(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *body,
                      const struct tlmc_ast *condition, bool poison)
{
    for (uint32_t i = 0; i < body->count; i++) {
        const struct tlmc_ast *n = body->kids[i];

        for (uint32_t k = 0; n && n->kind == TLMC_AST_ASSIGN && k < n->kids[0]->count; k++) {
            const struct tlmc_ast *name = n->kids[0]->kids[k];
            const struct tlmc_binding *old = tlmc_frame_find(f, name->text);

            if (!poison)
                TLMC_PUSH(s->arena, &f->skipped, ((struct tlmc_skipped){ name->text, condition }));
            else if (!old || old->kind != TLMC_B_DECLARED)
                tlmc_frame_bind(s, f, name->text, TLMC_B_VARIABLE, tlmc_val_poison(), name->span);
        }
        if (n && n->kind == TLMC_AST_IF)
            for (uint32_t k = 1; k < 3; k++)
                skip_body(s, f, n->kids[k], condition, poison);
        if (n && n->kind == TLMC_AST_FOR)
            skip_body(s, f, n->kids[1], condition, poison);
    }
}

static void walk_scope(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *body)
{
    const uint32_t mark = tlmc_scope_open(f);

    tlmc_walk(s, f, body);
    tlmc_scope_close(f, mark);
}

static void walk_if(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n)
{
    const struct tlmc_val c = tlmc_eval(s, f, n->kids[0]);

    if (c.kind != TLMC_V_BOOL) {
        if (c.kind == TLMC_V_TENSOR)
            tlmc_sema_error(s, f, n->kids[0]->span, TLMC_E_KIND,
                            "if is decided at compile time; for tensors use where");
        else if (c.kind != TLMC_V_POISON)
            tlmc_sema_error(s, f, n->kids[0]->span, TLMC_E_KIND,
                            "the condition is %s, not true or false", tlmc_show(s, &c));
        s->failures++;
        skip_body(s, f, n->kids[1], n->kids[0], true);
        skip_body(s, f, n->kids[2], n->kids[0], true);
        return;
    }
    if (f->skipped.count < TLMC_MAX_STATEMENTS)
        skip_body(s, f, n->kids[c.u.b ? 2 : 1], n->kids[0], false);
    if (n->kids[c.u.b ? 1 : 2]->kind != TLMC_AST_ABSENT)
        walk_scope(s, f, n->kids[c.u.b ? 1 : 2]);
}

static bool loop_bounds(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                        const struct tlmc_val *over, int64_t *count)
{
    if (over->kind == TLMC_V_LIST) {
        *count = tlmc_list_count(over);
        return true;
    }
    if (over->kind != TLMC_V_RANGE) {
        if (over->kind != TLMC_V_POISON)
            tlmc_sema_error(s, f, n->kids[0]->span, TLMC_E_KIND,
                            "a loop runs over a range a..b or a list, not over %s",
                            tlmc_show(s, over));
        return false;
    }
    if (over->u.range.to <= over->u.range.from) {
        *count = 0;
        return true;
    }
    if (__builtin_sub_overflow(over->u.range.to, over->u.range.from, count) ||
        *count > TLMC_MAX_STATEMENTS) {
        tlmc_sema_error(s, f, n->kids[0]->span, TLMC_E_TOO_LONG,
                        "the loop runs from %lld to %lld; more than %d times",
                        (long long)over->u.range.from, (long long)over->u.range.to,
                        TLMC_MAX_STATEMENTS);
        return false;
    }
    return true;
}

static void walk_for(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n)
{
    const struct tlmc_val over = tlmc_eval(s, f, n->kids[0]);
    int64_t count;

    if (!loop_bounds(s, f, n, &over, &count)) {
        s->failures++;
        skip_body(s, f, n->kids[1], n->kids[0], true);
        return;
    }
    for (int64_t i = 0; i < count && !f->returned && !s->stop; i++) {
        const uint32_t mark = tlmc_scope_open(f);

        tlmc_declare(s, f, n,
                     over.kind == TLMC_V_LIST ? tlmc_list_item(&over, (uint32_t)i)
                                              : tlmc_val_int(over.u.range.from + i));
        s->work->statements++;
        tlmc_walk(s, f, n->kids[1]);
        tlmc_scope_close(f, mark);
    }
}

/* ---- return, assert */

static void walk_return(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n)
{
    const struct tlmc_ast *exprs = n->kids[0];
    struct tlmc_val *items;

    if (!f->is_block) {
        tlmc_sema_error(s, f, n->span, TLMC_E_PLACEMENT,
                        "return stands outside a block; an entry has outputs");
        return;
    }
    items = TLMC_NEW_ARRAY(s->arena, struct tlmc_val, exprs->count);
    for (uint32_t i = 0; i < exprs->count; i++)
        items[i] = tlmc_eval(s, f, exprs->kids[i]);
    f->results = (struct tlmc_results){ exprs->count, items[0], items };
    f->returned = n;
}

static void walk_assert(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n)
{
    const struct tlmc_val c = tlmc_eval(s, f, n->kids[0]);
    tlmc_sym text;

    if (c.kind == TLMC_V_POISON || (c.kind == TLMC_V_BOOL && c.u.b))
        return;
    text = tlmc_eval_string(s, f, n->span, n->text);
    if (c.kind != TLMC_V_BOOL)
        tlmc_sema_error(s, f, n->kids[0]->span, TLMC_E_KIND,
                        "an assertion is of a compile-time bool, this is %s", tlmc_show(s, &c));
    else if (text)
        tlmc_sema_error(s, f, n->span, TLMC_E_ASSERTION, "assertion failed: %s", text);
}

static void walk_kind(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n)
{
    switch ((int)n->kind) {
    case TLMC_AST_DIM: walk_dim(s, f, n); break;
    case TLMC_AST_CONST: walk_const(s, f, n); break;
    case TLMC_AST_INPUT:
    case TLMC_AST_TARGET: walk_input(s, f, n); break;
    case TLMC_AST_PARAM:
    case TLMC_AST_STATE: tlmc_declare_param(s, f, n); break;
    case TLMC_AST_UPDATE: tlmc_update_state(s, f, n); break;
    case TLMC_AST_OUTPUT:
    case TLMC_AST_LOSS:
    case TLMC_AST_METRIC: walk_result(s, f, n); break;
    case TLMC_AST_ASSIGN: walk_assign(s, f, n); break;
    case TLMC_AST_IF: walk_if(s, f, n); break;
    case TLMC_AST_FOR: walk_for(s, f, n); break;
    case TLMC_AST_RETURN: walk_return(s, f, n); break;
    case TLMC_AST_ASSERT: walk_assert(s, f, n); break;
    default:
        tlmc_sema_error(s, f, n->span, TLMC_E_PLACEMENT, "`%s` cannot stand here",
                        tlmc_ast_kind_name(n->kind));
    }
}

void tlmc_walk_one(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n)
{
    if (s->stop || !n)
        return;
    if (++s->work->statements > TLMC_MAX_STATEMENTS) {
        tlmc_sema_error(s, f, n->span, TLMC_E_TOO_LONG,
                        "the model unrolls to more than %d statements", TLMC_MAX_STATEMENTS);
        s->stop = true;
        return;
    }
    s->work->depth++;
    walk_kind(s, f, n);
    s->work->depth--;
}

void tlmc_walk(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *body)
{
    for (uint32_t i = 0; i < body->count && !f->returned && !s->stop; i++)
        tlmc_walk_one(s, f, body->kids[i]);
}
