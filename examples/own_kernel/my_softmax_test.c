/* The test that my_kernels.capsules cites for the value of my_softmax: rows of several ranks and
   lengths against binary64, large scores, and the calls that it must refuse.  Exit 0 when all of
   them are as they should be. */
#include "my_softmax.h"

#include <math.h>
#include <stdio.h>

enum { MOST = 600 };

static int failures;

static void check(int holds, const char *what)
{
    if (holds)
        return;
    printf("FAILED: %s\n", what);
    failures++;
}

static tlm_kernel_args call_of(float *y, float *x, uint32_t rank, const uint32_t *dims)
{
    tlm_kernel_args args = { 0 };

    args.size = sizeof args;
    args.version = TLM_KERNEL_VERSION;
    args.op = "softmax";
    args.input_count = args.output_count = 1;
    args.inputs[0].data = x;
    args.outputs[0].data = y;
    args.inputs[0].dtype = args.outputs[0].dtype = TLM_F32;
    args.inputs[0].rank = args.outputs[0].rank = rank;
    for (uint32_t i = 0; i < rank; i++)
        args.inputs[0].dims[i] = args.outputs[0].dims[i] = dims[i];
    return args;
}

/* Scores between -8 and 8, the same in every run; `shift` is added to all. */
static void fill(float *x, size_t count, float shift)
{
    uint32_t state = 2463534242u;

    for (size_t i = 0; i < count; i++) {
        state = 1664525u * state + 1013904223u;
        x[i] = (float)(state >> 8) * 0x1p-20f - 8.0f + shift;
    }
}

/* The bound: expf and the quotient are off by a few units in the last place, a sum from left to
   right by at most one for each of its terms. */
static void check_row(const float *y, const float *x, size_t n)
{
    double most = x[0], sum = 0.0;

    for (size_t i = 1; i < n; i++)
        most = x[i] > most ? (double)x[i] : most;
    for (size_t i = 0; i < n; i++)
        sum += exp(x[i] - most);
    for (size_t i = 0; i < n; i++) {
        const double wanted = exp(x[i] - most) / sum;

        check(fabs(y[i] - wanted) <= wanted * (double)(n + 8) * 0x1p-24, "a weight is off");
    }
}

static void rows(uint32_t rank, const uint32_t *dims, float shift)
{
    float x[MOST], y[MOST];
    const uint32_t n = dims[rank - 1];
    size_t count = 1;
    tlm_kernel_args args = call_of(y, x, rank, dims);

    for (uint32_t i = 0; i < rank; i++)
        count *= dims[i];
    fill(x, count, shift);
    check(my_softmax(&args) == TLM_OK, "a row is refused");
    for (size_t at = 0; at < count; at += n)
        check_row(y + at, x + at, n);
}

static void refusals(void)
{
    float x[4] = { 0 }, y[4];
    const uint32_t dims[] = { 4 };
    tlm_kernel_args args = call_of(y, x, 1, dims);

    args.version++;
    check(my_softmax(&args) == TLM_ERR_ABI, "another version is taken");
    args = call_of(y, x, 1, dims);
    args.size--;
    check(my_softmax(&args) == TLM_ERR_ABI, "another struct is taken");
    args = call_of(y, x, 1, dims);
    args.op = "relu";
    check(my_softmax(&args) == TLM_ERR_ABI, "another op is taken");
    args = call_of(y, x, 1, dims);
    args.inputs[0].dtype = TLM_I32;
    check(my_softmax(&args) == TLM_ERR_ARGUMENT, "integers are taken");
    args = call_of(y, x, 0, dims);
    check(my_softmax(&args) == TLM_ERR_ARGUMENT, "a scalar is taken");
}

int main(void)
{
    rows(1, (const uint32_t[]){ 1 }, 0.0f);
    rows(1, (const uint32_t[]){ MOST }, 0.0f);
    rows(2, (const uint32_t[]){ 2, 4 }, 0.0f);
    rows(2, (const uint32_t[]){ 3, 100 }, 1000.0f); /* expf of the scores themselves overflows */
    rows(4, (const uint32_t[]){ 2, 3, 5, 7 }, -1000.0f);
    refusals();
    puts(failures ? "my_softmax: failed" : "my_softmax: ok");
    return failures != 0;
}
