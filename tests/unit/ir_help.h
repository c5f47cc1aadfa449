/* Help for tests of the ir room: types, attributes and nodes written as text.  "f32[2, 3]" is a
   type; attributes are "axis=1 shape=2,3 factor=0.5 dtype=i32 data=1,2,3"; `axes=` with nothing
   behind it is an empty list. */
#ifndef TLMC_TESTS_IR_HELP_H
#define TLMC_TESTS_IR_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "module.h"
#include "pass.h"
#include "strbuf.h"

#include <stdlib.h>
#include <string.h>

enum { HELP_LIST = 64 };

/* Reads a type and moves *text behind it. */
static inline struct tlmc_type help_type(const char **text)
{
    struct tlmc_type type = { .dtype = TLMC_F32 };
    char name[8] = { 0 };
    char *end;

    *text += strspn(*text, " ");
    memcpy(name, *text, strcspn(*text, "["));
    type.dtype = tlmc_dtype_find(name);
    assert_int_not_equal(type.dtype, TLMC_DTYPE_COUNT);
    *text += strcspn(*text, "[") + 1;
    while (**text != ']') {
        type.dims[type.rank++] = strtoll(*text, &end, 10);
        *text = end + strspn(end, ", ");
    }
    (*text)++;
    return type;
}

static inline struct tlmc_type ty(const char *text)
{
    return help_type(&text);
}

/* The attributes of `text`; lists live in the arena. */
static inline uint32_t help_attrs(struct tlmc_arena *arena, const char *text,
                                  struct tlmc_attr *attrs)
{
    uint32_t count = 0;

    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        const size_t length = strcspn(text, "=");
        const char *name = tlmc_arena_strndup(arena, text, length);
        double numbers[HELP_LIST];
        uint32_t n = 0, i;
        struct tlmc_attr *attr = &attrs[count++];
        char *end;

        attr->tag = tlmc_attr_find(name);
        assert_int_not_equal(attr->tag, TLMC_ATTR_COUNT);
        text += length + 1;
        if (tlmc_attr_kind(attr->tag) == TLMC_ATTR_DTYPE) {
            const char *dtype = tlmc_arena_strndup(arena, text, strcspn(text, " "));

            *attr = tlmc_attr_int(attr->tag, tlmc_dtype_find(dtype));
            text += strcspn(text, " ");
            continue;
        }
        while (*text && *text != ' ') {
            numbers[n++] = strtod(text, &end);
            text = end + (*end == ',');
        }
        switch (tlmc_attr_kind(attr->tag)) {
        case TLMC_ATTR_INTS: {
            int64_t *ints = TLMC_NEW_ARRAY(arena, int64_t, n + 1);

            for (i = 0; i < n; i++)
                ints[i] = (int64_t)numbers[i];
            *attr = tlmc_attr_ints(attr->tag, n, ints);
            break;
        }
        case TLMC_ATTR_DATA:
            *attr = tlmc_attr_data(attr->tag, n,
                                   tlmc_arena_memdup(arena, numbers, (n + 1) * sizeof *numbers));
            break;
        case TLMC_ATTR_FLOAT: *attr = tlmc_attr_float(attr->tag, numbers[0]); break;
        case TLMC_ATTR_INT:
        case TLMC_ATTR_BOOL:
        case TLMC_ATTR_DTYPE: *attr = tlmc_attr_int(attr->tag, (int64_t)numbers[0]); break;
        }
    }
    return count;
}

static inline uint32_t leaf(struct tlmc_graph *g, enum tlmc_op op, uint32_t slot, const char *type)
{
    const struct tlmc_type t = ty(type);

    return tlmc_build_leaf(g, op, slot, &t);
}

/* A node by op name, attributes as text, and its operands. */
static inline uint32_t node(struct tlmc_graph *g, const char *op, const char *attributes,
                            uint32_t count, const uint32_t *inputs)
{
    struct tlmc_attr attrs[8];
    const uint32_t attr_count = help_attrs(g->arena, attributes, attrs);

    return tlmc_add_node(g, tlmc_op_find(op), inputs, count, attrs, attr_count);
}

#define NODE(g, op, attrs, ...)                                                \
    node(g, op, attrs, sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t), \
         (uint32_t[]){ __VA_ARGS__ })

static inline enum tlmc_op op_of(const struct tlmc_graph *g, uint32_t value)
{
    return tlmc_value_node(g, value)->op;
}

static inline uint32_t in_of(const struct tlmc_graph *g, uint32_t value, uint32_t input)
{
    return tlmc_value_node(g, value)->inputs[input];
}

static inline void assert_type(const struct tlmc_graph *g, uint32_t value, const char *type)
{
    char text[256];

    assert_string_equal(tlmc_type_text(tlmc_value_type(g, value), text), type);
}

static inline uint32_t count_ops(const struct tlmc_graph *g, enum tlmc_op op)
{
    uint32_t count = 0, i;

    for (i = 0; i < g->node_count; i++)
        count += g->nodes[i].op == op;
    return count;
}

/* ---- modules by hand */

static inline struct tlmc_module *help_module(struct tlmc_arena *arena)
{
    struct tlmc_module *m = TLMC_NEW(arena, struct tlmc_module);

    m->arena = arena;
    m->symbols = TLMC_NEW(arena, struct tlmc_symtab);
    tlmc_symtab_init(m->symbols, arena);
    m->name = tlmc_intern(m->symbols, "test");
    return m;
}

static inline uint32_t add_param(struct tlmc_module *m, const char *key, const char *type,
                                 enum tlmc_param_kind kind)
{
    struct tlmc_param param = { .type = ty(type), .kind = kind, .of = TLMC_NONE };

    param.key = tlmc_intern(m->symbols, key);
    param.ordinal = m->params.count;
    TLMC_PUSH(m->arena, &m->params, param);
    return m->params.count - 1;
}

/* Pointers to forms do not survive the next call. */
static inline struct tlmc_form *add_form(struct tlmc_module *m, enum tlmc_mode mode)
{
    struct tlmc_form form = { .mode = mode, .total_loss = TLMC_NONE };

    form.entry = tlmc_intern(m->symbols, "infer");
    form.graph = tlmc_graph_new(m->arena);
    TLMC_PUSH(m->arena, &m->forms, form);
    return &m->forms.items[m->forms.count - 1];
}

static inline void add_io(struct tlmc_module *m, tlmc_io_vec *list, const char *name,
                          uint32_t value)
{
    struct tlmc_io io = { .value = value };

    io.name = tlmc_intern(m->symbols, name);
    TLMC_PUSH(m->arena, list, io);
}

static inline uint32_t add_input(struct tlmc_module *m, struct tlmc_form *form, const char *name,
                                 const char *type)
{
    const uint32_t value = leaf(form->graph, TLMC_OP_INPUT, form->inputs.count, type);

    form->graph->values[value].name = tlmc_intern(m->symbols, name);
    add_io(m, &form->inputs, name, value);
    return value;
}

static inline const char *module_text(const struct tlmc_module *m, struct tlmc_strbuf *out)
{
    tlmc_strbuf_clear(out);
    tlmc_module_print(m, out);
    return tlmc_strbuf_text(out);
}

#endif
