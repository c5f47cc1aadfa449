/* The kernel behind my_kernels.softmax: plain, max-shifted, libm's expf, sums from left to
   right. */
#include "my_softmax.h"

#include <math.h>
#include <string.h>

static void one_row(float *y, const float *x, size_t n)
{
    float most = x[0], sum = 0.0f;

    for (size_t i = 1; i < n; i++)
        most = x[i] > most ? x[i] : most;
    for (size_t i = 0; i < n; i++)
        sum += y[i] = expf(x[i] - most);
    for (size_t i = 0; i < n; i++)
        y[i] /= sum;
}

tlm_status my_softmax(const tlm_kernel_args *args)
{
    const tlm_kernel_tensor *x, *y;
    size_t rows = 1, n;

    if (args->size != sizeof *args || args->version != TLM_KERNEL_VERSION ||
        strcmp(args->op, "softmax") != 0)
        return TLM_ERR_ABI;
    x = &args->inputs[0];
    y = &args->outputs[0];
    if (x->dtype != TLM_F32 || x->rank < 1)
        return TLM_ERR_ARGUMENT;
    n = x->dims[x->rank - 1];
    for (uint32_t i = 0; i + 1 < x->rank; i++)
        rows *= x->dims[i];
    for (size_t r = 0; n > 0 && r < rows; r++)
        one_row((float *)y->data + r * n, (const float *)x->data + r * n, n);
    return TLM_OK;
}
