/* Outcomes of emitted programs against the interpreter and against the written arithmetic. */
#include "compare.h"

#include "exact.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

void ops_check_status(const struct ops_case *c, const struct ops_outcome *o)
{
    if (o->broken)
        fail_msg("the run wrote past the end of the %s block", o->broken);
    if (c->out_of_range) {
        assert_int_equal(o->status, TLM_ERR_INDEX);
        assert_non_null(strstr(o->error, "out of range"));
    } else if (o->status != TLM_OK) {
        fail_msg("status %d: %s", o->status, o->error);
    }
}

/* ---- against the interpreter */

static void compare_values(const struct ops_case *c, const struct ops_outcome *o,
                           const struct ops_result *want, const struct ops_result *absolute)
{
    const bool pointwise = tlmc_op_info(c->row->op)->family == TLMC_POINTWISE;
    struct ops_scales scales = { .operands = want->inputs,
                                 .elementwise = pointwise && !c->compose };
    char text[200];

    for (uint32_t i = 0; i < want->built.result_count; i++) {
        scales.absolute = absolute ? &absolute->values[want->built.results[i]] : NULL;
        if (!ops_near(c->row, o->results[i].data.any, &want->values[want->built.results[i]],
                      &scales, text))
            fail_msg("result %u, %s", i, text);
    }
    for (uint32_t i = 0; i < c->operand_count; i++) {
        if (c->operands[i].role == OPS_STATE &&
            !ops_near(c->row, o->states[i].data.any, &want->states[i], &scales, text))
            fail_msg("state %u, %s", i, text);
    }
}

void ops_check_value(const struct ops_case *c, const struct ops_outcome *o)
{
    struct tlmc_arena arena = { 0 };
    struct ops_result want = ops_interpret(c, &arena, false, OPS_SEED, 0), absolute;

    assert_true(want.ok != c->out_of_range);
    if (!c->out_of_range && c->row->scale == OPS_ABSOLUTE) {
        absolute = ops_interpret(c, &arena, true, OPS_SEED, 0);
        compare_values(c, o, &want, &absolute);
        ops_result_free(&absolute);
    } else if (!c->out_of_range) {
        compare_values(c, o, &want, NULL);
    }
    ops_result_free(&want);
    tlmc_arena_free(&arena);
}

/* ---- against the written arithmetic */

struct ops_contract ops_contract_of(const struct ops_case *c)
{
    struct tlmc_arena arena = { 0 };
    const struct ops_graph built = ops_build(c, &arena, 0);
    struct ops_contract k = { .operands = { { .data = { NULL } } } };

    for (uint32_t i = 0; i < c->operand_count; i++) {
        struct tlmc_tensor data;

        if (c->operands[i].role == OPS_ABSENT)
            continue;
        data = ops_data(c, i);
        k.operands[i] = ops_buffer_of(&data);
        tlmc_tensor_free(&data, 1);
    }
    for (uint32_t i = 0; i < built.result_count; i++)
        k.results[i] = ops_buffer_new(tlmc_value_type(built.graph, built.results[i]));
    ops_exact_graph(c, &built, k.operands, k.results);
    tlmc_arena_free(&arena);
    return k;
}

void ops_check_bits(const struct ops_case *c, const struct ops_outcome *o,
                    const struct ops_contract *k, const char *how)
{
    char text[200];

    for (uint32_t i = 0; i < OPS_MAX_RESULTS && o->results[i].data.any; i++)
        if (!ops_same_bits(&k->results[i].type, o->results[i].data.any, k->results[i].data.any,
                           text))
            fail_msg("%s, result %u, %s", how, i, text);
    for (uint32_t i = 0; i < c->operand_count; i++)
        if (c->operands[i].role == OPS_STATE &&
            !ops_same_bits(&k->operands[i].type, o->states[i].data.any, k->operands[i].data.any,
                           text))
            fail_msg("%s, state %u, %s", how, i, text);
}

void ops_contract_free(struct ops_contract *k)
{
    ops_buffer_free(k->operands, OPS_MAX_OPERANDS);
    ops_buffer_free(k->results, OPS_MAX_RESULTS);
}
