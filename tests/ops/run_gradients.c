/* gradients/<op>: the op's VJP rule, built by tlmc_vjp and evaluated in binary64, against central
   differences of the interpreter; and its JVP rule against the VJP, <u, J v> = <J^T u, v>.  One
   CMocka test a small case with float operands.

     run_gradients OP

   Differences: step 1e-5, error O(step^2) + 2^-53 / step, about 1e-10 of the function's size; bound
   1e-6 of the largest derivative of the case.  Data are distinct and keep off the kinks of
   cases.def.  The inner products agree up to rounding: bound 1e-11. */
#include "cases.h"
#include "pass.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define STEP 1e-5
#define DIFFERENCE_BOUND 1e-6
#define PRODUCT_BOUND 1e-11

/* f: operands -> result 0, as a function of the operands' numbers; u a seed of the result, v a
   direction. */
struct problem {
    const struct ops_case *c;
    struct tlmc_arena arena;
    struct ops_graph built;
    uint32_t y, u;                         /* values */
    uint32_t directions[OPS_MAX_OPERANDS]; /* leaves of v, by operand */
    uint32_t slots[OPS_MAX_OPERANDS];
    struct tlmc_tensor inputs[2 * OPS_MAX_OPERANDS + 1]; /* by slot */
    uint32_t input_count;
};

static uint32_t new_leaf(struct problem *p, struct tlmc_tensor data)
{
    p->inputs[p->input_count] = data;
    return tlmc_build_leaf(p->built.graph, TLMC_OP_INPUT, p->input_count++, &data.type);
}

static struct tlmc_tensor direction(const struct tlmc_type *type, uint64_t salt)
{
    struct tlmc_tensor t = tlmc_tensor_new(type);

    for (int64_t i = 0; i < tlmc_type_count(type); i++)
        t.data[i] = (double)(tlmc_spec_splitmix64(salt + (uint64_t)i * 7919) >> 40) * 0x1p-23 - 1;
    return t;
}

static void problem_init(struct problem *p, const struct ops_case *c)
{
    *p = (struct problem){ .c = c };
    p->built = ops_build(c, &p->arena, 0);
    p->y = p->built.graph->nodes[p->built.node].first_result;
    for (uint32_t i = 0; i < c->operand_count; i++) {
        if (c->operands[i].role != OPS_INPUT)
            continue;
        p->slots[i] = p->input_count;
        p->inputs[p->input_count++] = ops_smooth_data(c, i, 0);
    }
    for (uint32_t i = 0; i < c->operand_count; i++) {
        p->directions[i] = TLMC_NONE;
        if (ops_is_smooth(c, i))
            p->directions[i] = new_leaf(p, direction(&c->operands[i].type, 100 + i));
    }
    p->u = new_leaf(p, direction(tlmc_value_type(p->built.graph, p->y), 1));
}

static void problem_free(struct problem *p)
{
    tlmc_tensor_free(p->inputs, p->input_count);
    tlmc_arena_free(&p->arena);
}

/* All values of the graph; the caller frees them. */
static struct tlmc_tensor *evaluate(struct problem *p, unsigned phases)
{
    struct tlmc_tensor *values = calloc(p->built.graph->value_count, sizeof *values);
    const struct tlmc_env env = { .inputs = p->inputs };
    char error[256];

    assert_non_null(values);
    if (!tlmc_interpret(p->built.graph, &env, phases, values, error))
        fail_msg("%s", error);
    return values;
}

static void release(struct problem *p, struct tlmc_tensor *values)
{
    tlmc_tensor_free(values, p->built.graph->value_count);
    free(values);
}

static double dot(const struct tlmc_tensor *a, const struct tlmc_tensor *b)
{
    double sum = 0;

    for (int64_t i = 0; i < tlmc_type_count(&a->type); i++)
        sum += a->data[i] * b->data[i];
    return sum;
}

/* <u, f> */
static double objective(struct problem *p)
{
    struct tlmc_tensor *values = evaluate(p, 1u << TLMC_FORWARD);
    const double result = dot(&values[p->u], &values[p->y]);

    release(p, values);
    return result;
}

/* Largest absolute gradient, at least 1: what the bound is relative to. */
static double size_of(const struct tlmc_tensor *gradient)
{
    double most = 1;

    for (int64_t i = 0; i < tlmc_type_count(&gradient->type); i++)
        most = fmax(most, fabs(gradient->data[i]));
    return most;
}

static void check_differences(struct problem *p, uint32_t operand,
                              const struct tlmc_tensor *gradient)
{
    struct tlmc_tensor *x = &p->inputs[p->slots[operand]];
    const double bound = DIFFERENCE_BOUND * size_of(gradient);

    for (int64_t i = 0; i < tlmc_type_count(&x->type); i++) {
        const double kept = x->data[i];
        double above, below, want;

        x->data[i] = kept + STEP;
        above = objective(p);
        x->data[i] = kept - STEP;
        below = objective(p);
        x->data[i] = kept;
        want = (above - below) / (2 * STEP);
        if (!(fabs(gradient->data[i] - want) <= bound))
            fail_msg("operand %u, element %lld: gradient %.12g, differences say %.12g", operand,
                     (long long)i, gradient->data[i], want);
    }
}

static void check_case(void **state)
{
    const struct ops_case *c = *state;
    struct problem p;
    uint32_t wanted[OPS_MAX_OPERANDS], tangents[OPS_MAX_OPERANDS], found[OPS_MAX_OPERANDS];
    uint32_t operands[OPS_MAX_OPERANDS], count = 0, moved;
    struct tlmc_tensor zero, *values;
    double forward, backward = 0;

    problem_init(&p, c);
    for (uint32_t i = 0; i < c->operand_count; i++) {
        if (!ops_is_smooth(c, i))
            continue;
        operands[count] = i;
        tangents[count] = p.directions[i];
        wanted[count++] = p.built.operands[i];
    }
    p.built.graph->phase = TLMC_BACKWARD;
    tlmc_vjp(p.built.graph, &p.y, &p.u, 1, wanted, count, found);
    tlmc_jvp(p.built.graph, wanted, tangents, count, &p.y, 1, &moved);
    assert_null(tlmc_graph_verify(p.built.graph));
    values = evaluate(&p, 1u << TLMC_FORWARD | 1u << TLMC_BACKWARD);
    for (uint32_t k = 0; k < count; k++) {
        zero = tlmc_tensor_new(&c->operands[operands[k]].type);
        if (found[k] != TLMC_NONE) {
            assert_true(tlmc_type_equal(&values[found[k]].type, &zero.type));
            backward += dot(&values[found[k]], &values[tangents[k]]);
        }
        check_differences(&p, operands[k], found[k] == TLMC_NONE ? &zero : &values[found[k]]);
        tlmc_tensor_free(&zero, 1);
    }
    forward = moved == TLMC_NONE ? 0 : dot(&values[p.u], &values[moved]);
    if (!(fabs(forward - backward) <= PRODUCT_BOUND * fmax(1, fabs(backward)) * 100))
        fail_msg("<u, J v> = %.15g, <J^T u, v> = %.15g", forward, backward);
    release(&p, values);
    problem_free(&p);
}

int main(int argc, char **argv)
{
    struct CMUnitTest tests[OPS_MAX_CASES];
    struct tlmc_arena arena = { 0 };
    struct ops_list *list;
    enum tlmc_op op;
    size_t count = 0;
    int failed;

    if (argc != 2 || (op = tlmc_op_find(argv[1])) == TLMC_OP_COUNT) {
        fprintf(stderr, "usage: run_gradients OP\n");
        return 2;
    }
    list = ops_cases(op, &arena);
    for (uint32_t i = 0; i < list->count; i++)
        if (ops_is_gradient_case(&list->cases[i]))
            tests[count++] = (struct CMUnitTest){ .name = list->cases[i].name,
                                                  .test_func = check_case,
                                                  .initial_state = &list->cases[i] };
    if (count == 0) {
        fprintf(stderr, "%s has no case for gradients\n", argv[1]);
        return 1;
    }
    failed = _cmocka_run_group_tests(argv[1], tests, count, NULL, NULL);
    tlmc_arena_free(&arena);
    return failed != 0;
}
