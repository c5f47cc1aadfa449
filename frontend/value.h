/* Values of the language while a model is elaborated: compile-time ones, and tensors, which are
   values of the graph being built.  A POISON value stands for something that was already reported:
   whatever it touches stays silent. */
#ifndef TLMC_FRONTEND_VALUE_H
#define TLMC_FRONTEND_VALUE_H

#include "ast.h"
#include "module.h"

enum tlmc_val_kind {
    TLMC_V_POISON,
    TLMC_V_NONE,
    TLMC_V_INT,
    TLMC_V_FLOAT,
    TLMC_V_BOOL,
    TLMC_V_STR,
    TLMC_V_LIST,
    TLMC_V_FN,
    TLMC_V_INIT,
    TLMC_V_RANGE,
    TLMC_V_TENSOR
};

struct tlmc_val {
    enum tlmc_val_kind kind;
    bool target;    /* TENSOR: depends on a target */
    bool constant;  /* TENSOR: made of constants alone */
    bool is_state;  /* TENSOR: the name of a state */
    uint32_t place; /* TENSOR: 1 + index of the parameter or state it is read from; 0: computed */
    union {
        int64_t i;
        double f;
        bool b;
        tlmc_sym s;
        const struct tlmc_val_list *list;
        const struct tlmc_fn *fn;
        const struct tlmc_init_call *init;
        struct {
            int64_t from, to;
        } range;
        uint32_t value; /* TENSOR: id in the graph */
    } u;
};

/* Lists are immutable; an append may share the storage of what it extends (`used` says how much of
   it is taken). */
struct tlmc_val_store {
    uint32_t used, capacity;
    struct tlmc_val *items;
};

struct tlmc_val_list {
    uint32_t count;
    uint32_t depth; /* 1 + that of the deepest item: bounds every recursion over values */
    struct tlmc_val_store *store;
};

enum tlmc_fn_kind {
    TLMC_FN_BLOCK,
    TLMC_FN_FUNCTION, /* a row of functions.def */
    TLMC_FN_OP,       /* an op of the table, called with its own operands */
    TLMC_FN_CAST,     /* the name of an element type */
    TLMC_FN_INIT      /* an initialiser that is no function besides */
};

struct tlmc_fn {
    enum tlmc_fn_kind kind;
    tlmc_sym name;
    const struct tlmc_ast *block; /* BLOCK */
    struct tlmc_file *file;       /* BLOCK: where its names are looked up */
    uint32_t row;                 /* FUNCTION: of functions.def; INIT: of initialisers.def */
    enum tlmc_op op;              /* OP */
    enum tlmc_dtype dtype;        /* CAST */
};

/* An initialiser call: a creation without its shape, which the parameter gives. */
struct tlmc_init_call {
    uint32_t row;  /* of initialisers.def */
    double a, b;   /* its numbers, in the order of the row */
    tlmc_sym mode; /* kaiming: fan_in or fan_out */
    tlmc_sym text;
};

/* What a call gives back: one value, or the several of `items`. */
struct tlmc_results {
    uint32_t count;
    struct tlmc_val one;
    const struct tlmc_val *items;
};

static inline struct tlmc_val tlmc_val_poison(void)
{
    return (struct tlmc_val){ .kind = TLMC_V_POISON };
}

static inline struct tlmc_val tlmc_val_none(void)
{
    return (struct tlmc_val){ .kind = TLMC_V_NONE };
}

static inline struct tlmc_val tlmc_val_int(int64_t i)
{
    return (struct tlmc_val){ .kind = TLMC_V_INT, .u.i = i };
}

static inline struct tlmc_val tlmc_val_float(double f)
{
    return (struct tlmc_val){ .kind = TLMC_V_FLOAT, .u.f = f };
}

static inline struct tlmc_val tlmc_val_bool(bool b)
{
    return (struct tlmc_val){ .kind = TLMC_V_BOOL, .u.b = b };
}

static inline struct tlmc_val tlmc_val_str(tlmc_sym s)
{
    return (struct tlmc_val){ .kind = TLMC_V_STR, .u.s = s };
}

static inline struct tlmc_val tlmc_val_tensor(uint32_t value)
{
    return (struct tlmc_val){ .kind = TLMC_V_TENSOR, .u.value = value };
}

static inline bool tlmc_val_is_number(const struct tlmc_val *v)
{
    return v->kind == TLMC_V_INT || v->kind == TLMC_V_FLOAT;
}

static inline double tlmc_val_number(const struct tlmc_val *v)
{
    return v->kind == TLMC_V_INT ? (double)v->u.i : v->u.f;
}

static inline uint32_t tlmc_list_count(const struct tlmc_val *list)
{
    return list->u.list->count;
}

static inline struct tlmc_val tlmc_list_item(const struct tlmc_val *list, uint32_t i)
{
    return list->u.list->store->items[i];
}

/* A list of `count` copied items; items may be NULL when count is 0. */
struct tlmc_val tlmc_val_list_of(struct tlmc_arena *arena, const struct tlmc_val *items,
                                 uint32_t count);
/* a followed by b; *copied says how many items had to be copied. */
struct tlmc_val tlmc_val_list_join(struct tlmc_arena *arena, const struct tlmc_val *a,
                                   const struct tlmc_val *b, uint32_t *copied);
/* No tensor in it, at any depth. */
bool tlmc_val_is_static(const struct tlmc_val *v);
bool tlmc_val_equal(const struct tlmc_val *a, const struct tlmc_val *b);
const char *tlmc_val_kind_name(enum tlmc_val_kind kind);

struct tlmc_strbuf;
/* As a message shows it: 2.5, "text", [1, 2], f32[2, 3]; long lists are cut. */
void tlmc_val_print(const struct tlmc_graph *graph, const struct tlmc_val *v,
                    struct tlmc_strbuf *out);

#endif
