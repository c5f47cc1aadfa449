/* Binds the arguments of a function to its signature: by position, then by name, then defaults;
   checks kinds. */
#include "sema.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct slot { /* one item of a signature */
    char kind;
    char name[24], fallback[24];
    bool has_fallback;
};

static const char *next_slot(const char *p, struct slot *out)
{
    size_t name, fallback = 0;

    while (*p == ' ')
        p++;
    if (!*p)
        return NULL;
    *out = (struct slot){ .kind = *p };
    p += 2;
    name = strcspn(p, " =");
    out->has_fallback = p[name] == '=';
    if (out->has_fallback)
        fallback = strcspn(p + name + 1, " ");
    TLMC_CHECK(name < sizeof out->name && fallback < sizeof out->fallback);
    memcpy(out->name, p, name);
    memcpy(out->fallback, p + name + 1, fallback);
    return p + name + (out->has_fallback ? 1 + fallback : 0);
}

static struct tlmc_val fallback_value(struct tlmc_sema *s, const struct slot *slot)
{
    switch (slot->kind) {
    case 'i': return tlmc_val_int(strtoll(slot->fallback, NULL, 10));
    case 'b': return tlmc_val_bool(!strcmp(slot->fallback, "true"));
    case 's': return tlmc_val_str(TLMC_SYM(s, slot->fallback));
    case 'f':
        if (strstr(slot->fallback, "inf"))
            return tlmc_val_float(slot->fallback[0] == '-' ? -INFINITY : INFINITY);
        return tlmc_val_float(strtod(slot->fallback, NULL));
    default: return tlmc_val_none();
    }
}

static bool is_tensor_like(const struct tlmc_val *v)
{
    return v->kind == TLMC_V_TENSOR || tlmc_val_is_number(v) || v->kind == TLMC_V_BOOL ||
           v->kind == TLMC_V_LIST;
}

static bool is_int_list(const struct tlmc_val *v)
{
    if (v->kind != TLMC_V_LIST)
        return false;
    for (uint32_t i = 0; i < tlmc_list_count(v); i++)
        if (tlmc_list_item(v, i).kind != TLMC_V_INT)
            return false;
    return true;
}

static bool fits(char kind, const struct tlmc_val *v)
{
    switch (kind) {
    case 't': return is_tensor_like(v);
    case 'T': return v->kind == TLMC_V_NONE || is_tensor_like(v);
    case 'i': return v->kind == TLMC_V_INT;
    case 'f': return tlmc_val_is_number(v);
    case 'b': return v->kind == TLMC_V_BOOL;
    case 's': return v->kind == TLMC_V_STR;
    case 'I': return is_int_list(v);
    case 'A': return v->kind == TLMC_V_NONE || v->kind == TLMC_V_INT || is_int_list(v);
    case 'L': return v->kind == TLMC_V_LIST;
    default: return true;
    }
}

static const char *kind_text(char kind)
{
    switch (kind) {
    case 't':
    case 'T': return "a tensor";
    case 'i': return "a compile-time integer";
    case 'f': return "a compile-time number";
    case 'b': return "a compile-time bool";
    case 's': return "a string";
    case 'I': return "a list of integers";
    case 'A': return "an integer or a list of integers";
    case 'L': return "a list";
    default: return "a value";
    }
}

static bool take(struct tlmc_call *c, const struct slot *slot, const struct tlmc_arg *arg,
                 struct tlmc_val *out)
{
    if (!fits(slot->kind, &arg->value)) {
        tlmc_sema_error(c->s, c->f, arg->node->span, TLMC_E_KIND,
                        "argument `%s` of `%s` is %s, got %s", slot->name, c->name,
                        kind_text(slot->kind), tlmc_show(c->s, &arg->value));
        return false;
    }
    *out = slot->kind == 'f' ? tlmc_val_float(tlmc_val_number(&arg->value)) : arg->value;
    return true;
}

static const char *known_names(struct tlmc_call *c, const char *signature)
{
    struct tlmc_strbuf buf = { 0 };
    struct slot slot;
    const char *text;

    for (const char *p = signature; (p = next_slot(p, &slot)) != NULL;)
        tlmc_strbuf_printf(&buf, "%s%s", buf.length ? ", " : "", slot.name);
    text = tlmc_arena_strdup(c->s->arena, buf.length ? tlmc_strbuf_text(&buf) : "none");
    tlmc_strbuf_free(&buf);
    return text;
}

static int slot_index(const char *signature, const char *name)
{
    struct slot slot;
    int i = 0;

    for (const char *p = signature; (p = next_slot(p, &slot)) != NULL; i++)
        if (!strcmp(slot.name, name))
            return i;
    return -1;
}

static bool unknown_argument(struct tlmc_call *c, const char *signature, const struct tlmc_arg *arg)
{
    struct tlmc_diag *d = tlmc_sema_error(c->s, c->f, arg->key->span, TLMC_E_ARGUMENT,
                                          "`%s` has no argument `%s`; it has %s", c->name,
                                          arg->name, known_names(c, signature));

    if (!strcmp(arg->name, "dim") && slot_index(signature, "axis") >= 0)
        tlmc_hint(c->s->diags, d, "did you mean axis?");
    return false;
}

/* Which argument goes to which slot; false after a report. */
static bool place_arguments(struct tlmc_call *c, const char *signature,
                            const struct tlmc_args *args, int count, const struct tlmc_arg **slots)
{
    for (unsigned i = 0; i < args->list.count; i++) {
        const struct tlmc_arg *arg = &args->list.items[i];
        const int at = arg->name ? slot_index(signature, arg->name) : (int)i;

        if (at < 0)
            return unknown_argument(c, signature, arg);
        if (at >= count) {
            tlmc_sema_error(c->s, c->f, arg->key->span, TLMC_E_ARGUMENT,
                            "`%s` takes %d argument%s (%s)", c->name, count, count == 1 ? "" : "s",
                            known_names(c, signature));
            return false;
        }
        if (slots[at]) {
            tlmc_sema_error(c->s, c->f, arg->key->span, TLMC_E_ARGUMENT,
                            "argument `%s` is given twice", arg->name ? arg->name : "");
            return false;
        }
        slots[at] = arg;
    }
    return true;
}

bool tlmc_bind_signature(struct tlmc_call *c, const char *signature, const struct tlmc_args *args)
{
    const struct tlmc_arg *slots[TLMC_MAX_SIGNATURE] = { 0 };
    struct slot slot;
    int count = 0, i = 0;

    for (const char *p = signature; (p = next_slot(p, &slot)) != NULL;)
        count++;
    TLMC_CHECK(count <= TLMC_MAX_SIGNATURE);
    if (!place_arguments(c, signature, args, count, slots))
        return false;
    for (const char *p = signature; (p = next_slot(p, &slot)) != NULL; i++) {
        if (slots[i] && !take(c, &slot, slots[i], &c->v[i]))
            return false;
        if (slots[i])
            continue;
        if (!slot.has_fallback) {
            tlmc_sema_error(c->s, c->f, c->node->span, TLMC_E_ARGUMENT, "`%s` needs argument `%s`",
                            c->name, slot.name);
            return false;
        }
        c->v[i] = fallback_value(c->s, &slot);
    }
    return true;
}
