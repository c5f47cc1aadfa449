/* Matrix product over the last two axes; the axes before them broadcast.  An inner size of 0 gives
   +0. */
#include "spec.h"

/* Offset of batch b of the result in an operand whose leading axes broadcast. */
static int64_t batch_offset(const struct tlmc_type *operand, const struct tlmc_type *result,
                            int64_t b)
{
    struct tlmc_type from = *operand, to = *result;
    int64_t strides[TLMC_MAX_RANK], index[TLMC_MAX_RANK];

    from.rank -= 2;
    to.rank -= 2;
    tlmc_spec_broadcast_strides(&from, &to, strides);
    tlmc_spec_unflatten(&to, b, index);
    return tlmc_spec_dot(to.rank, index, strides) * operand->dims[operand->rank - 2] *
           operand->dims[operand->rank - 1];
}

bool tlmc_spec_matmul(struct tlmc_spec *run, const struct tlmc_node *node)
{
    const struct tlmc_tensor *a = tlmc_spec_in(run, node, 0), *b = tlmc_spec_in(run, node, 1);
    struct tlmc_tensor *c = tlmc_spec_out(run, node, 0);
    const int64_t rows = c->type.dims[c->type.rank - 2], columns = c->type.dims[c->type.rank - 1];
    const int64_t inner = a->type.dims[a->type.rank - 1];
    int64_t batches = 1;

    for (int axis = 0; axis < c->type.rank - 2; axis++)
        batches *= c->type.dims[axis];
    for (int64_t n = 0; n < batches; n++) {
        const double *left = a->data + batch_offset(&a->type, &c->type, n);
        const double *right = b->data + batch_offset(&b->type, &c->type, n);
        double *out = c->data + n * rows * columns;

        for (int64_t i = 0; i < rows; i++) {
            for (int64_t j = 0; j < columns; j++) {
                double sum = 0;

                for (int64_t k = 0; k < inner; k++)
                    sum += left[i * inner + k] * right[k * columns + j];
                out[i * columns + j] = sum;
            }
        }
    }
    return true;
}
