/* Written types: element types, sizes with packs, and the kinds of compile-time arguments. */
#include "sema.h"

#include <string.h>

static const char *const kinds[] = { "dim", "int", "float", "bool", "str", "fn", "init", "list" };
static const char kinds_text[] = "dim, int, float, bool, str, fn, init, list";

static bool is_kind(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kinds[i], name))
            return true;
    return false;
}

bool tlmc_is_tensor_type(const struct tlmc_ast *type)
{
    return type->kids[0]->kind != TLMC_AST_ABSENT &&
           (!is_kind(type->text) || !strcmp(type->text, "bool"));
}

static const char *known_dtypes(struct tlmc_sema *s)
{
    struct tlmc_strbuf buf = { 0 };
    const char *text;

    for (int d = 0; d < TLMC_DTYPE_COUNT; d++)
        tlmc_strbuf_printf(&buf, "%s, ", tlmc_dtype_name((enum tlmc_dtype)d));
    tlmc_strbuf_add(&buf, "and in blocks real, any");
    text = tlmc_arena_strdup(s->arena, tlmc_strbuf_text(&buf));
    tlmc_strbuf_free(&buf);
    return text;
}

bool tlmc_eval_dtype(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *type,
                     enum tlmc_dtype *out)
{
    const bool is_real = !strcmp(type->text, "real"), is_any = !strcmp(type->text, "any");

    *out = is_real ? f->real : is_any ? f->any : tlmc_dtype_find(type->text);
    if (*out != TLMC_DTYPE_COUNT)
        return true;
    if (is_real || is_any)
        tlmc_sema_error(s, f, type->span, TLMC_E_DTYPE,
                        "`%s` is not bound by an argument of the block", type->text);
    else
        tlmc_sema_error(s, f, type->span, TLMC_E_DTYPE, "unknown element type `%s`; known: %s",
                        type->text, known_dtypes(s));
    return false;
}

/* One size at *rank; false after a report. */
static bool add_size(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                     const struct tlmc_val *v, int *rank, int64_t *dims)
{
    if (v->kind == TLMC_V_POISON)
        return false;
    if (v->kind != TLMC_V_INT || v->u.i < 0) {
        tlmc_sema_error(s, f, n->span, TLMC_E_KIND, "a size is an integer from 0 up, this is %s",
                        tlmc_show(s, v));
        return false;
    }
    if (*rank == TLMC_MAX_RANK) {
        tlmc_sema_error(s, f, n->span, TLMC_E_TOO_BIG, "more than %d axes", TLMC_MAX_RANK);
        return false;
    }
    dims[(*rank)++] = v->u.i;
    return true;
}

bool tlmc_eval_sizes(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *list,
                     int *rank, int64_t *dims)
{
    const struct tlmc_val all = tlmc_eval(s, f, list); /* packs are spliced there */

    *rank = 0;
    if (all.kind != TLMC_V_LIST)
        return false;
    for (uint32_t i = 0; i < tlmc_list_count(&all); i++) {
        const struct tlmc_val v = tlmc_list_item(&all, i);

        if (!add_size(s, f, list->count == tlmc_list_count(&all) ? list->kids[i] : list, &v, rank,
                      dims))
            return false;
    }
    return true;
}

bool tlmc_eval_type(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *type,
                    struct tlmc_type *out)
{
    enum tlmc_dtype dtype;
    int64_t dims[TLMC_MAX_RANK];
    int rank;

    if (!tlmc_is_tensor_type(type)) {
        if (is_kind(type->text))
            tlmc_sema_error(
                s, f, type->span, TLMC_E_KIND,
                "`%s` without brackets is a compile-time kind; a scalar tensor is f32[]",
                type->text);
        else
            tlmc_sema_error(s, f, type->span, TLMC_E_KIND,
                            "a type has its sizes in brackets; a scalar tensor is %s[]",
                            type->text);
        return false;
    }
    if (!tlmc_eval_dtype(s, f, type, &dtype) || !tlmc_eval_sizes(s, f, type->kids[0], &rank, dims))
        return false;
    *out = tlmc_type_make(dtype, rank, dims);
    return tlmc_check_type(s, f, type, out);
}

/* ---- compile-time kinds */

static bool has_kind(const char *kind, const struct tlmc_val *v)
{
    if (!strcmp(kind, "dim"))
        return v->kind == TLMC_V_INT && v->u.i >= 0;
    if (!strcmp(kind, "int"))
        return v->kind == TLMC_V_INT;
    if (!strcmp(kind, "float"))
        return tlmc_val_is_number(v);
    if (!strcmp(kind, "bool"))
        return v->kind == TLMC_V_BOOL;
    if (!strcmp(kind, "str"))
        return v->kind == TLMC_V_STR;
    if (!strcmp(kind, "fn"))
        return v->kind == TLMC_V_FN;
    if (!strcmp(kind, "init"))
        return v->kind == TLMC_V_INIT || tlmc_val_is_number(v);
    return v->kind == TLMC_V_LIST;
}

/* at, span: where the value came from; f: the frame of the written kind. */
static bool convert_one(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_frame *at,
                        struct tlmc_span span, const char *what, const struct tlmc_ast *type,
                        struct tlmc_val *v)
{
    struct tlmc_diag *d;

    if (!is_kind(type->text)) {
        tlmc_sema_error(s, f, type->span, TLMC_E_KIND,
                        "unknown kind `%s`; known: %s; a scalar tensor is f32[]", type->text,
                        kinds_text);
        return false;
    }
    if (v->kind == TLMC_V_POISON)
        return false;
    if (!has_kind(type->text, v)) {
        d = tlmc_sema_error(s, at, span, TLMC_E_KIND, "%s is a %s, got %s", what, type->text,
                            tlmc_show(s, v));
        tlmc_sema_note(s, d, type->span, "declared here");
        if (v->kind == TLMC_V_TENSOR)
            tlmc_hint(s->diags, d, "a tensor stands where a compile-time value is needed");
        return false;
    }
    if (!strcmp(type->text, "float"))
        *v = tlmc_val_float(tlmc_val_number(v));
    return true;
}

static bool convert_list(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_frame *at,
                         struct tlmc_span span, const char *what, const struct tlmc_ast *type,
                         struct tlmc_val *v)
{
    int64_t want[TLMC_MAX_RANK];
    int rank;
    const bool is_list = v->kind == TLMC_V_LIST;
    const uint32_t given = is_list ? tlmc_list_count(v) : 1;
    uint32_t count = given;
    struct tlmc_val *items;

    if (!tlmc_eval_sizes(s, f, type->kids[0], &rank, want))
        return false;
    if (rank && given == 1 && want[0] <= TLMC_MAX_COPIED_ITEMS)
        count = (uint32_t)want[0];
    if (rank && count != want[0]) {
        tlmc_sema_error(s, at, span, TLMC_E_KIND, "%s takes %lld values, got %u", what,
                        (long long)want[0], given);
        return false;
    }
    if (!tlmc_charge(s, at, span, count))
        return false;
    items = TLMC_NEW_ARRAY(s->arena, struct tlmc_val, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        items[i] = is_list ? tlmc_list_item(v, given == 1 ? 0 : i) : *v;
        if (!convert_one(s, f, at, span, what, type, &items[i]))
            return false;
    }
    *v = tlmc_val_list_of(s->arena, items, count);
    return true;
}

bool tlmc_convert(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_frame *at,
                  struct tlmc_span span, const char *what, const struct tlmc_ast *type,
                  struct tlmc_val *v)
{
    if (v->kind == TLMC_V_POISON)
        return false;
    if (type->kids[0]->kind == TLMC_AST_ABSENT)
        return convert_one(s, f, at, span, what, type, v);
    return convert_list(s, f, at, span, what, type, v);
}
