/* Lists, comparison and printing of compile-time values. */
#include "value.h"

#include "strbuf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t depth_of(const struct tlmc_val *items, uint32_t count)
{
    uint32_t depth = 0;

    for (uint32_t i = 0; i < count; i++)
        if (items[i].kind == TLMC_V_LIST && items[i].u.list->depth > depth)
            depth = items[i].u.list->depth;
    return depth + 1;
}

static struct tlmc_val make_list(struct tlmc_arena *arena, struct tlmc_val_store *store,
                                 uint32_t count, uint32_t depth)
{
    struct tlmc_val_list *list = TLMC_NEW(arena, struct tlmc_val_list);

    *list = (struct tlmc_val_list){ count, depth, store };
    return (struct tlmc_val){ .kind = TLMC_V_LIST, .u.list = list };
}

static struct tlmc_val_store *make_store(struct tlmc_arena *arena, uint32_t capacity)
{
    struct tlmc_val_store *store = TLMC_NEW(arena, struct tlmc_val_store);

    store->capacity = capacity;
    store->items = capacity ? TLMC_NEW_ARRAY(arena, struct tlmc_val, capacity) : NULL;
    return store;
}

struct tlmc_val tlmc_val_list_of(struct tlmc_arena *arena, const struct tlmc_val *items,
                                 uint32_t count)
{
    struct tlmc_val_store *store = make_store(arena, count);

    store->used = count;
    if (count)
        memcpy(store->items, items, count * sizeof *items);
    return make_list(arena, store, count, depth_of(items, count));
}

struct tlmc_val tlmc_val_list_join(struct tlmc_arena *arena, const struct tlmc_val *a,
                                   const struct tlmc_val *b, uint32_t *copied)
{
    const uint32_t na = tlmc_list_count(a), nb = tlmc_list_count(b);
    struct tlmc_val_store *store = a->u.list->store;

    *copied = nb;
    if (store->used != na || store->capacity - na < nb) { /* the tail is taken or too short */
        const struct tlmc_val *old = store->items;

        store = make_store(arena, 2 * (na + nb));
        if (na)
            memcpy(store->items, old, na * sizeof *old);
        *copied += na;
    }
    if (nb)
        memmove(store->items + na, b->u.list->store->items, nb * sizeof *store->items);
    store->used = na + nb;
    return make_list(arena, store, na + nb,
                     a->u.list->depth > b->u.list->depth ? a->u.list->depth : b->u.list->depth);
}

bool tlmc_val_is_static(const struct tlmc_val *v)
{
    if (v->kind == TLMC_V_TENSOR)
        return false;
    if (v->kind != TLMC_V_LIST)
        return true;
    for (uint32_t i = 0; i < tlmc_list_count(v); i++) {
        const struct tlmc_val item = tlmc_list_item(v, i);

        if (!tlmc_val_is_static(&item))
            return false;
    }
    return true;
}

static bool lists_equal(const struct tlmc_val *a, const struct tlmc_val *b)
{
    if (tlmc_list_count(a) != tlmc_list_count(b))
        return false;
    for (uint32_t i = 0; i < tlmc_list_count(a); i++) {
        const struct tlmc_val x = tlmc_list_item(a, i), y = tlmc_list_item(b, i);

        if (!tlmc_val_equal(&x, &y))
            return false;
    }
    return true;
}

bool tlmc_val_equal(const struct tlmc_val *a, const struct tlmc_val *b)
{
    if (tlmc_val_is_number(a) && tlmc_val_is_number(b))
        return a->kind == TLMC_V_INT && b->kind == TLMC_V_INT
                   ? a->u.i == b->u.i
                   : tlmc_val_number(a) == tlmc_val_number(b);
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case TLMC_V_POISON:
    case TLMC_V_NONE: return true;
    case TLMC_V_INT:
    case TLMC_V_FLOAT: break; /* above */
    case TLMC_V_BOOL: return a->u.b == b->u.b;
    case TLMC_V_STR: return a->u.s == b->u.s;
    case TLMC_V_LIST: return lists_equal(a, b);
    case TLMC_V_FN: return a->u.fn->name == b->u.fn->name && a->u.fn->block == b->u.fn->block;
    case TLMC_V_INIT: return a->u.init->text == b->u.init->text;
    case TLMC_V_RANGE: return a->u.range.from == b->u.range.from && a->u.range.to == b->u.range.to;
    case TLMC_V_TENSOR: return a->u.value == b->u.value;
    }
    return false;
}

const char *tlmc_val_kind_name(enum tlmc_val_kind kind)
{
    static const char *const names[] = { "nothing",        "none",     "an integer", "a float",
                                         "a bool",         "a string", "a list",     "a function",
                                         "an initialiser", "a range",  "a tensor" };

    return names[kind];
}

/* The shortest decimal text that reads back as the same binary64, always with a point or
   exponent. */
static const char *float_text(double value, char buf[32])
{
    if (isnan(value))
        return "nan";
    if (isinf(value))
        return value < 0 ? "-inf" : "inf";
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(buf, 32, "%.*g", digits, value);
        if (strtod(buf, NULL) == value)
            break;
    }
    if (!strpbrk(buf, ".e"))
        strcat(buf, ".0");
    return buf;
}

static void print_list(const struct tlmc_graph *graph, const struct tlmc_val *v,
                       struct tlmc_strbuf *out)
{
    enum { SHOWN = 8 };

    tlmc_strbuf_char(out, '[');
    for (uint32_t i = 0; i < tlmc_list_count(v); i++) {
        const struct tlmc_val item = tlmc_list_item(v, i);

        if (i)
            tlmc_strbuf_add(out, ", ");
        if (i == SHOWN || out->length > 200) {
            tlmc_strbuf_add(out, "...");
            break;
        }
        tlmc_val_print(graph, &item, out);
    }
    tlmc_strbuf_char(out, ']');
}

void tlmc_val_print(const struct tlmc_graph *graph, const struct tlmc_val *v,
                    struct tlmc_strbuf *out)
{
    char buf[256];

    switch (v->kind) {
    case TLMC_V_POISON: tlmc_strbuf_add(out, "nothing"); break;
    case TLMC_V_NONE: tlmc_strbuf_add(out, "none"); break;
    case TLMC_V_INT: tlmc_strbuf_printf(out, "%lld", (long long)v->u.i); break;
    case TLMC_V_FLOAT: tlmc_strbuf_add(out, float_text(v->u.f, buf)); break;
    case TLMC_V_BOOL: tlmc_strbuf_add(out, v->u.b ? "true" : "false"); break;
    case TLMC_V_STR: tlmc_strbuf_printf(out, "\"%.80s\"", v->u.s); break;
    case TLMC_V_LIST: print_list(graph, v, out); break;
    case TLMC_V_FN: tlmc_strbuf_printf(out, "function `%s`", v->u.fn->name); break;
    case TLMC_V_INIT: tlmc_strbuf_add(out, v->u.init->text); break;
    case TLMC_V_RANGE:
        tlmc_strbuf_printf(out, "%lld..%lld", (long long)v->u.range.from, (long long)v->u.range.to);
        break;
    case TLMC_V_TENSOR:
        tlmc_strbuf_add(out, tlmc_type_text(tlmc_value_type(graph, v->u.value), buf));
        break;
    }
}
