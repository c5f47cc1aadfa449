/* Rows of cases.def -> lists of cases: attributes and domains are read from the row's text, shapes
   come from shapes.c. */
#include "shapes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct ops_row rows[] = {
#define CASE(TAG, shapes, domains, specials, ulps, scaled, scale, kinks, attrs, reason)         \
    { TLMC_OP_##TAG, ops_shapes_##shapes, domains, specials, ulps, scaled, scale, kinks, attrs, \
      reason },
#include "cases.def"
};

const struct ops_row *ops_row_of(enum tlmc_op op)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].op == op)
            return &rows[i];
    return NULL;
}

struct ops_list *ops_cases(enum tlmc_op op, struct tlmc_arena *arena)
{
    const struct ops_row *row = ops_row_of(op);
    struct ops_list *list = TLMC_NEW(arena, struct ops_list);

    list->arena = arena;
    if (row)
        row->shapes(list, row);
    return list;
}

const char *ops_dims_text(int rank, const int64_t *dims)
{
    static char texts[8][96];
    static unsigned next;
    char *text = texts[next++ % 8];
    size_t at = 0;

    snprintf(text, sizeof texts[0], "scalar");
    for (int i = 0; i < rank; i++)
        at += (size_t)snprintf(text + at, sizeof texts[0] - at, i ? "x%lld" : "%lld",
                               (long long)dims[i]);
    return text;
}

/* "name=number" separated by blanks */
static void row_attrs(struct ops_case *c)
{
    const char *at = c->row->attrs;

    while (*at) {
        const char *equals = strchr(at, '=');
        char name[32], *end;
        enum tlmc_attr_tag tag;

        snprintf(name, sizeof name, "%.*s", (int)(equals - at), at);
        tag = tlmc_attr_find(name);
        TLMC_CHECK(tag != TLMC_ATTR_COUNT);
        if (tlmc_attr_kind(tag) == TLMC_ATTR_FLOAT)
            ops_attr_float(c, tag, strtod(equals + 1, &end));
        else
            ops_attr_int(c, tag, strtol(equals + 1, &end, 10));
        at = end + strspn(end, " ");
    }
}

struct ops_case *ops_add(struct ops_list *list, const struct ops_row *row, const char *fmt, ...)
{
    struct ops_case *c = &list->cases[list->count++];
    char name[160];
    va_list ap;

    TLMC_CHECK(list->count <= OPS_MAX_CASES);
    va_start(ap, fmt);
    vsnprintf(name, sizeof name, fmt, ap);
    va_end(ap);
    *c = (struct ops_case){ .row = row, .name = tlmc_arena_strdup(list->arena, name) };
    row_attrs(c);
    return c;
}

/* The domain of operand `n`: the n-th, or the last one, of the row's text. */
static void domain_of(const struct ops_row *row, uint32_t n, double *low, double *high)
{
    const char *at = row->domains;

    *low = *high = 0;
    for (uint32_t i = 0; *at && i <= n; i++) {
        char *end;

        *low = strtod(at, &end);
        TLMC_CHECK(*end == ':');
        *high = strtod(end + 1, &end);
        at = end + strspn(end, " ");
    }
}

void ops_operand(struct ops_case *c, enum ops_role role, enum tlmc_dtype dtype, int rank,
                 const int64_t *dims)
{
    struct ops_operand *operand = &c->operands[c->operand_count];

    TLMC_CHECK(c->operand_count < OPS_MAX_OPERANDS);
    operand->role = role;
    operand->type = tlmc_type_make(dtype, rank, dims);
    domain_of(c->row, c->operand_count++, &operand->low, &operand->high);
}

static void add_attr(struct ops_case *c, struct tlmc_attr attr)
{
    for (uint32_t i = 0; i < c->attr_count; i++) {
        if (c->attrs[i].tag == attr.tag) {
            c->attrs[i] = attr;
            return;
        }
    }
    TLMC_CHECK(c->attr_count < OPS_MAX_ATTRS);
    c->attrs[c->attr_count++] = attr;
}

void ops_attr_ints(struct ops_list *list, struct ops_case *c, enum tlmc_attr_tag tag,
                   uint32_t count, const int64_t *ints)
{
    const int64_t *copy = count ? tlmc_arena_memdup(list->arena, ints, count * sizeof *ints) : NULL;

    add_attr(c, tlmc_attr_ints(tag, count, copy));
}

void ops_attr_int(struct ops_case *c, enum tlmc_attr_tag tag, int64_t i)
{
    add_attr(c, tlmc_attr_int(tag, i));
}

void ops_attr_float(struct ops_case *c, enum tlmc_attr_tag tag, double f)
{
    add_attr(c, tlmc_attr_float(tag, f));
}
