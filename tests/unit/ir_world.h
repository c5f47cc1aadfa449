/* A module by hand for tests of passes: forms, outputs, one pass with the verifier behind it. */
#ifndef TLMC_TESTS_IR_WORLD_H
#define TLMC_TESTS_IR_WORLD_H

#include "ir_help.h"

struct world {
    struct tlmc_arena arena;
    struct tlmc_module *m;
    struct tlmc_form *form;
    struct tlmc_graph *g;
    struct tlmc_strbuf text, text2;
};

static inline int setup(void **state)
{
    struct world *v = calloc(1, sizeof *v);

    v->m = help_module(&v->arena);
    *state = v;
    return 0;
}

static inline int teardown(void **state)
{
    struct world *v = *state;

    tlmc_strbuf_free(&v->text);
    tlmc_strbuf_free(&v->text2);
    tlmc_arena_free(&v->arena);
    free(v);
    return 0;
}

static inline void begin(struct world *v, enum tlmc_mode mode)
{
    v->form = add_form(v->m, mode);
    v->g = v->form->graph;
}

static inline uint32_t output(struct world *v, uint32_t value)
{
    add_io(v->m, &v->form->outputs, "out", value);
    return value;
}

static inline uint32_t out(const struct world *v, unsigned i)
{
    return v->form->outputs.items[i].value;
}

static inline void verified(const struct world *v)
{
    const char *fault = tlmc_form_verify(v->m, v->form);

    if (fault)
        fail_msg("%s", fault);
}

static inline void run(struct world *v, void (*pass)(struct tlmc_module *, struct tlmc_diags *))
{
    pass(v->m, NULL);
    verified(v);
}

static inline double datum(const struct tlmc_graph *g, uint32_t value, uint32_t i)
{
    const struct tlmc_attr *data = tlmc_node_attr(tlmc_value_node(g, value), TLMC_A_DATA);

    assert_int_equal(op_of(g, value), TLMC_OP_CONST);
    assert_in_range(i, 0, data->count - 1);
    return data->v.data[i];
}

#endif
