/* Reads the braces of a clause by the table settings.def, and the values that settings share. */
#include "sema.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum value_kind { VALUE_HANDLED, VALUE_INT, VALUE_BOOL };

static const struct row {
    enum tlmc_clause_kind clause;
    const char *name;
    void (*handler)(struct tlmc_clause *c, const struct tlmc_ast *set);
    bool repeats;
    enum value_kind kind;
    size_t field;
    int64_t lowest;
} rows[] = {
#define SETTING(clause, name, handler, repeats) \
    { TLMC_C_##clause, #name, tlmc_set_##handler, repeats, VALUE_HANDLED, 0, 0 },
#define NUMBER_SETTING(clause, name, type, field, lowest)                                      \
    {                                                                                          \
        TLMC_C_##clause, #name, NULL, false, VALUE_##type, offsetof(struct tlmc_train, field), \
        lowest                                                                                 \
    },
#include "settings.def"
};

enum { ROW_COUNT = sizeof rows / sizeof *rows };

static const struct row *find_row(enum tlmc_clause_kind clause, const char *name)
{
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (rows[i].clause == clause && !strcmp(rows[i].name, name))
            return &rows[i];
    return NULL;
}

static void report_unknown(struct tlmc_clause *c, enum tlmc_clause_kind clause,
                           const struct tlmc_ast *set)
{
    struct tlmc_strbuf known = { 0 };
    TLMC_VEC(tlmc_sym) names = { 0 };
    struct tlmc_diag *d;
    tlmc_sym near;

    for (size_t i = 0; i < ROW_COUNT; i++)
        if (rows[i].clause == clause) {
            tlmc_strbuf_printf(&known, "%s%s", known.length ? ", " : "", rows[i].name);
            TLMC_PUSH(c->s->arena, &names, rows[i].name);
        }
    d = tlmc_sema_error(c->s, c->f, set->span, TLMC_E_CLAUSE,
                        "unknown setting `%s` in `%s`; known: %s", set->text, c->node->text,
                        known.length ? tlmc_strbuf_text(&known) : "none");
    near = tlmc_nearest(set->text, names.items, names.count);
    if (near)
        tlmc_hint(c->s->diags, d, "did you mean `%s`?", near);
    tlmc_strbuf_free(&known);
}

static void apply_row(struct tlmc_clause *c, const struct row *row, const struct tlmc_ast *set)
{
    char *train = (char *)&c->s->module->train;
    int64_t i;
    bool b;

    switch (row->kind) {
    case VALUE_HANDLED: row->handler(c, set); break;
    case VALUE_INT:
        if (tlmc_setting_int(c, set, row->lowest, &i))
            memcpy(train + row->field, &i, sizeof i);
        break;
    case VALUE_BOOL:
        if (tlmc_setting_bool(c, set, &b))
            memcpy(train + row->field, &b, sizeof b);
        break;
    }
}

static void read_dim(struct tlmc_clause *c, enum tlmc_clause_kind kind, const struct tlmc_ast *n)
{
    const struct tlmc_binding *b;

    if (kind != TLMC_C_TRAIN && kind != TLMC_C_INFER && kind != TLMC_C_GENERATE) {
        tlmc_sema_error(c->s, c->f, n->span, TLMC_E_CLAUSE, "no dims stand in `%s`", c->node->text);
        return;
    }
    b = c->f ? tlmc_frame_find(c->f, n->text) : NULL;
    if (!b && c->f)
        b = tlmc_frame_find(c->s->work->file_frame, n->text);
    if (!b || b->kind != TLMC_B_DECLARED || b->value.kind != TLMC_V_INT)
        tlmc_sema_error(c->s, c->f, n->span, TLMC_E_CLAUSE,
                        "`%s` is no dim that `%s` could replace", n->text, c->node->text);
}

bool tlmc_setting_repeats(struct tlmc_clause *c, const struct tlmc_ast *list, uint32_t at)
{
    const struct tlmc_ast *n = list->kids[at];

    for (uint32_t i = 0; i < at; i++)
        if (list->kids[i] && list->kids[i]->kind == n->kind && n->text &&
            list->kids[i]->text == n->text) {
            tlmc_sema_error(c->s, c->f, n->span, TLMC_E_SETTING, "`%s` is set twice", n->text);
            return true;
        }
    return false;
}

void tlmc_read_settings(struct tlmc_clause *c, enum tlmc_clause_kind kind,
                        const struct tlmc_ast *settings)
{
    for (uint32_t i = 0; i < settings->count && !c->s->stop; i++) {
        const struct tlmc_ast *n = settings->kids[i];
        const struct row *row = n ? find_row(kind, n->text) : NULL;

        if (!n || (n->kind == TLMC_AST_BIND && kind == TLMC_C_DATA))
            continue;
        if (n->kind == TLMC_AST_DIM && !tlmc_setting_repeats(c, settings, i))
            read_dim(c, kind, n);
        else if (n->kind == TLMC_AST_DIM)
            continue;
        else if (!row)
            report_unknown(c, kind, n);
        else if (n->kind == TLMC_AST_BIND)
            tlmc_sema_error(c->s, c->f, n->span, TLMC_E_SETTING,
                            "a setting is written without =: %s value;", n->text);
        else if (row->repeats || !tlmc_setting_repeats(c, settings, i))
            apply_row(c, row, n);
    }
}

/* ---- values */

bool tlmc_setting_one(struct tlmc_clause *c, const struct tlmc_ast *set,
                      const struct tlmc_ast **value)
{
    if (set->kids[0]->kind == TLMC_AST_VALUES && set->kids[0]->count == 1) {
        *value = set->kids[0]->kids[0];
        return true;
    }
    tlmc_sema_error(c->s, c->f, set->span, TLMC_E_SETTING, "`%s` takes one value", set->text);
    return false;
}

static bool eval_one(struct tlmc_clause *c, const struct tlmc_ast *set, struct tlmc_val *v)
{
    const struct tlmc_ast *n;

    if (!tlmc_setting_one(c, set, &n))
        return false;
    if (set->kids[1]->kind != TLMC_AST_ABSENT) {
        tlmc_sema_error(c->s, c->f, set->kids[1]->span, TLMC_E_SETTING,
                        "`%s` has no settings of its own", set->text);
        return false;
    }
    *v = tlmc_eval(c->s, c->f, n);
    return v->kind != TLMC_V_POISON;
}

static bool wrong_value(struct tlmc_clause *c, const struct tlmc_ast *set, const char *want,
                        const struct tlmc_val *v)
{
    tlmc_sema_error(c->s, c->f, set->kids[0]->span, TLMC_E_SETTING, "`%s` is %s, not %s", set->text,
                    want, tlmc_show(c->s, v));
    return false;
}

bool tlmc_setting_int(struct tlmc_clause *c, const struct tlmc_ast *set, int64_t lowest,
                      int64_t *out)
{
    struct tlmc_val v;
    char want[64];

    if (!eval_one(c, set, &v))
        return false;
    snprintf(want, sizeof want, "an integer from %lld up", (long long)lowest);
    if (v.kind != TLMC_V_INT || v.u.i < lowest)
        return wrong_value(c, set, want, &v);
    *out = v.u.i;
    return true;
}

bool tlmc_setting_number(struct tlmc_clause *c, const struct tlmc_ast *set, double *out)
{
    struct tlmc_val v;

    if (!eval_one(c, set, &v))
        return false;
    if (!tlmc_val_is_number(&v) || !isfinite(tlmc_val_number(&v)))
        return wrong_value(c, set, "a number", &v);
    *out = tlmc_val_number(&v);
    return true;
}

bool tlmc_setting_bool(struct tlmc_clause *c, const struct tlmc_ast *set, bool *out)
{
    struct tlmc_val v;

    if (!eval_one(c, set, &v))
        return false;
    if (v.kind != TLMC_V_BOOL)
        return wrong_value(c, set, "true or false", &v);
    *out = v.u.b;
    return true;
}

bool tlmc_call_form(const struct tlmc_ast *n, tlmc_sym *name, const struct tlmc_ast **args)
{
    *args = NULL;
    if (n->kind == TLMC_AST_CALL && n->kids[0]->kind == TLMC_AST_NAME) {
        *args = n->kids[1];
        n = n->kids[0];
    }
    *name = n->text;
    return n->kind == TLMC_AST_NAME;
}

bool tlmc_setting_strings(struct tlmc_clause *c, const struct tlmc_ast *set, tlmc_sym **out,
                          uint32_t *count)
{
    const struct tlmc_ast *values = set->kids[0];

    *count = values->kind == TLMC_AST_VALUES ? values->count : 0;
    *out = TLMC_NEW_ARRAY(c->s->arena, tlmc_sym, *count + 1);
    if (!*count)
        tlmc_sema_error(c->s, c->f, set->span, TLMC_E_SETTING, "`%s` takes patterns in quotes",
                        set->text);
    for (uint32_t i = 0; i < *count; i++) {
        if (values->kids[i]->kind != TLMC_AST_STR) {
            tlmc_sema_error(c->s, c->f, values->kids[i]->span, TLMC_E_SETTING,
                            "`%s` takes patterns in quotes", set->text);
            return false;
        }
        (*out)[i] = tlmc_eval_string(c->s, c->f, values->kids[i]->span, values->kids[i]->text);
        if (!(*out)[i])
            return false;
    }
    return *count > 0;
}

/* ---- patterns */

bool tlmc_pattern_matches(const char *pattern, const char *text)
{
    const char *star = NULL, *retry = NULL;

    while (*text) {
        if (*pattern == '*') {
            star = pattern++;
            retry = text;
        } else if (*pattern == '?' || *pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

bool tlmc_pattern_known(struct tlmc_clause *c, const struct tlmc_ast *n, const char *pattern,
                        bool states)
{
    const struct tlmc_module *m = c->s->module;

    for (unsigned i = 0; i < m->params.count; i++)
        if ((states || m->params.items[i].kind == TLMC_PARAM_TRAINED) &&
            tlmc_pattern_matches(pattern, m->params.items[i].key))
            return true;
    tlmc_sema_error(c->s, c->f, n->span, TLMC_E_NO_MATCH, "`%s` matches no parameter", pattern);
    return false;
}
