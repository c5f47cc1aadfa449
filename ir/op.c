/* Queries on the tables ops.def, attrs.def, dtype.def and planned_ops.def.  Everything here is a
   constant row or a search over rows; an unknown name is answered by the enum's count, never by a
   fault. */
#include "op.h"

#include "bug.h"

#include <string.h>

/* Inputs of a derivative op: g and what it uses. */
#define USES_INPUTS__ 1
#define USES_INPUTS_X 2
#define USES_INPUTS_Y 2
#define USES_INPUTS_XY 3

static const struct tlmc_op_info ops[] = {
#define UNARY(TAG, name_, uses_, attrs_, policy_) \
    { .name = #name_,                             \
      .family = TLMC_POINTWISE,                   \
      .min_inputs = 1,                            \
      .max_inputs = 1,                            \
      .results = 1,                               \
      .attrs = attrs_,                            \
      .policy = policy_,                          \
      .is_unary = true,                           \
      .uses = TLMC_USES_##uses_,                  \
      .vjp_op = TLMC_OP_##TAG##_VJP },            \
        { .name = #name_ "_vjp",                  \
          .family = TLMC_POINTWISE,               \
          .min_inputs = USES_INPUTS_##uses_,      \
          .max_inputs = USES_INPUTS_##uses_,      \
          .results = 1,                           \
          .attrs = attrs_,                        \
          .policy = "",                           \
          .is_unary = true,                       \
          .is_vjp = true,                         \
          .uses = TLMC_USES_##uses_,              \
          .vjp_op = TLMC_OP_COUNT },
#define ROW(name_, family_, min_, max_, results_, attrs_, policy_, is_vjp_) \
    { .name = #name_,                                                       \
      .family = TLMC_##family_,                                             \
      .min_inputs = min_,                                                   \
      .max_inputs = max_,                                                   \
      .results = results_,                                                  \
      .attrs = attrs_,                                                      \
      .policy = policy_,                                                    \
      .is_vjp = is_vjp_,                                                    \
      .vjp_op = TLMC_OP_COUNT },
#define OP(TAG, name, family, min, max, results, attrs, shape, vjp, jvp, policy) \
    ROW(name, family, min, max, results, attrs, policy, false)
#define OP_VJP(TAG, name, family, min, max, results, attrs, shape, vjp, jvp, policy) \
    ROW(name, family, min, max, results, attrs, policy, true)
#include "ops.def"
};
#undef ROW

static const char *const families[] = {
    [TLMC_LEAF] = "leaf",       [TLMC_POINTWISE] = "pointwise", [TLMC_VIEW] = "view",
    [TLMC_MOVE] = "move",       [TLMC_REDUCE] = "reduce",       [TLMC_MATMUL] = "matmul",
    [TLMC_ROWWISE] = "rowwise", [TLMC_LOSS] = "loss",           [TLMC_RANDOM] = "random",
    [TLMC_INDEX] = "index",     [TLMC_UPDATE] = "update",
};

static const struct {
    const char *name;
    enum tlmc_attr_kind kind;
} attrs[] = {
#define ATTR(TAG, name, kind) { #name, TLMC_ATTR_##kind },
#include "attrs.def"
};

static const struct {
    const char *name, *ctype;
    size_t bytes;
    bool is_float;
} dtypes[] = {
#define DTYPE(TAG, name, bytes, ctype, is_float) { #name, #ctype, bytes, is_float },
#include "dtype.def"
};

static const char *const planned[] = {
#define PLANNED(name) #name,
#include "planned_ops.def"
};

/* In the order of the policy lines of ops.def. */
static const char *const update_operands[TLMC_OP_COUNT] = {
    [TLMC_OP_STORE] = "wt",
    [TLMC_OP_ACCUMULATE] = "wt",
    [TLMC_OP_SGD_UPDATE] = "wtss?w?s",
    [TLMC_OP_ADAM_UPDATE] = "wtwwss?s",
    [TLMC_OP_ADAMW_UPDATE] = "wtwwsss?s",
    [TLMC_OP_RMSPROP_UPDATE] = "wtws?w?w?s",
    [TLMC_OP_ADAGRAD_UPDATE] = "wtws?s",
    [TLMC_OP_ADADELTA_UPDATE] = "wtwws?s",
};

#define ROWS(table) (sizeof(table) / sizeof *(table))

_Static_assert(ROWS(ops) == TLMC_OP_COUNT, "one row an op");
_Static_assert(ROWS(families) == TLMC_FAMILY_COUNT, "one name a family");

const struct tlmc_op_info *tlmc_op_info(enum tlmc_op op)
{
    TLMC_CHECK((unsigned)op < TLMC_OP_COUNT);
    return &ops[op];
}

enum tlmc_op tlmc_op_find(const char *name)
{
    unsigned i;

    for (i = 0; i < TLMC_OP_COUNT; i++)
        if (strcmp(ops[i].name, name) == 0)
            break;
    return (enum tlmc_op)i;
}

bool tlmc_op_has_attr(enum tlmc_op op, enum tlmc_attr_tag tag)
{
    const char *list = tlmc_op_info(op)->attrs, *name = tlmc_attr_name(tag);
    const size_t length = strlen(name);

    while (*list) {
        const size_t word = strcspn(list, " ");

        if (word == length && memcmp(list, name, length) == 0)
            return true;
        list += word;
        list += strspn(list, " ");
    }
    return false;
}

bool tlmc_op_is_planned(const char *name)
{
    size_t i;

    for (i = 0; i < ROWS(planned); i++)
        if (strcmp(planned[i], name) == 0)
            return true;
    return false;
}

const char *tlmc_op_update_operands(enum tlmc_op op)
{
    return tlmc_op_info(op)->family == TLMC_UPDATE ? update_operands[op] : NULL;
}

bool tlmc_op_writes_input(enum tlmc_op op, uint32_t input)
{
    const char *kinds = tlmc_op_update_operands(op);

    if (!kinds)
        return false;
    for (; *kinds; kinds++) {
        if (*kinds == '?')
            continue;
        if (input-- == 0)
            return *kinds == 'w';
    }
    return false;
}

const char *tlmc_family_name(enum tlmc_family family)
{
    TLMC_CHECK((unsigned)family < TLMC_FAMILY_COUNT);
    return families[family];
}

const char *tlmc_attr_name(enum tlmc_attr_tag tag)
{
    TLMC_CHECK((unsigned)tag < TLMC_ATTR_COUNT);
    return attrs[tag].name;
}

enum tlmc_attr_kind tlmc_attr_kind(enum tlmc_attr_tag tag)
{
    TLMC_CHECK((unsigned)tag < TLMC_ATTR_COUNT);
    return attrs[tag].kind;
}

enum tlmc_attr_tag tlmc_attr_find(const char *name)
{
    unsigned i;

    for (i = 0; i < TLMC_ATTR_COUNT; i++)
        if (strcmp(attrs[i].name, name) == 0)
            break;
    return (enum tlmc_attr_tag)i;
}

const char *tlmc_dtype_name(enum tlmc_dtype dtype)
{
    TLMC_CHECK((unsigned)dtype < TLMC_DTYPE_COUNT);
    return dtypes[dtype].name;
}

const char *tlmc_dtype_ctype(enum tlmc_dtype dtype)
{
    TLMC_CHECK((unsigned)dtype < TLMC_DTYPE_COUNT);
    return dtypes[dtype].ctype;
}

size_t tlmc_dtype_bytes(enum tlmc_dtype dtype)
{
    TLMC_CHECK((unsigned)dtype < TLMC_DTYPE_COUNT);
    return dtypes[dtype].bytes;
}

bool tlmc_dtype_is_float(enum tlmc_dtype dtype)
{
    TLMC_CHECK((unsigned)dtype < TLMC_DTYPE_COUNT);
    return dtypes[dtype].is_float;
}

enum tlmc_dtype tlmc_dtype_find(const char *name)
{
    unsigned i;

    for (i = 0; i < TLMC_DTYPE_COUNT; i++)
        if (strcmp(dtypes[i].name, name) == 0)
            break;
    return (enum tlmc_dtype)i;
}
