/* Shape rules of the ops that write a leaf in place: which operands there are is told by
   tlmc_op_update_operands. */
#include "shape_rules.h"

#include <stdio.h>

/* Every operand against its letter. */
static bool check_update(struct tlmc_shape_query *q)
{
    const struct tlmc_type *leaf = q->in[0];
    const struct tlmc_type scalar = tlmc_type_make(leaf->dtype, 0, NULL);
    const char *kind = tlmc_op_update_operands(q->op);
    uint32_t i;

    for (i = 0; i < q->in_count; i++, kind++) {
        char what[32];

        if (*kind == '?')
            kind++;
        if (!q->in[i])
            continue; /* an optional one: the number of required ones is checked */
        snprintf(what, sizeof what, "operand %u", i + 1);
        if (!tlmc_shape_want_type(q, i, what, *kind == 's' ? &scalar : leaf))
            return false;
    }
    return true;
}

bool tlmc_shape_store(struct tlmc_shape_query *q)
{
    if (q->op == TLMC_OP_ACCUMULATE && !tlmc_shape_want_real(q, 0))
        return false;
    return check_update(q);
}

static bool check_buffer(struct tlmc_shape_query *q, uint32_t input, bool needed, const char *why)
{
    const bool there = input < q->in_count && q->in[input];

    if (needed == there)
        return true;
    return tlmc_shape_fail(q, TLMC_E_ARGUMENT, "operand %u of op '%s' %s: %s", input + 1,
                           tlmc_op_info(q->op)->name, needed ? "is missing" : "is not used", why);
}

bool tlmc_shape_update(struct tlmc_shape_query *q)
{
    const bool momentum = tlmc_shape_float(q, TLMC_A_MOMENTUM) != 0;

    if (!tlmc_shape_want_real(q, 0) || !check_update(q))
        return false;
    if (q->op == TLMC_OP_SGD_UPDATE)
        return check_buffer(q, 4, momentum, "the momentum buffer");
    if (q->op == TLMC_OP_RMSPROP_UPDATE)
        return check_buffer(q, 4, tlmc_shape_int(q, TLMC_A_CENTERED) != 0, "the mean gradient") &&
               check_buffer(q, 5, momentum, "the momentum buffer");
    return true;
}
