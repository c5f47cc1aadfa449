/* The shape sets that rows of cases.def name: each appends its cases to a list. */
#ifndef TLMC_TESTS_OPS_SHAPES_H
#define TLMC_TESTS_OPS_SHAPES_H

#include "cases.h"

/* A list of dims as (rank, dims) arguments. */
#define OPS_DIMS(...)                                                                    \
    (int)(sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)), (const int64_t[]) \
    {                                                                                    \
        __VA_ARGS__                                                                      \
    }

ops_shapes_fn ops_shapes_pointwise, ops_shapes_numeric, ops_shapes_ties, ops_shapes_pow,
    ops_shapes_equality, ops_shapes_order, ops_shapes_logical, ops_shapes_where, ops_shapes_cast,
    ops_shapes_reshape, ops_shapes_moved, ops_shapes_permute, ops_shapes_broadcast,
    ops_shapes_concat, ops_shapes_slice, ops_shapes_slice_vjp, ops_shapes_reduce,
    ops_shapes_reduce_real, ops_shapes_extreme_vjp, ops_shapes_argmax, ops_shapes_matmul,
    ops_shapes_softmax, ops_shapes_rows1, ops_shapes_rows2, ops_shapes_layer_norm,
    ops_shapes_layer_norm_vjp, ops_shapes_layer_norm_vjp_weight, ops_shapes_mse_loss,
    ops_shapes_global_norm, ops_shapes_mse_loss_vjp, ops_shapes_cross_entropy,
    ops_shapes_cross_entropy_vjp, ops_shapes_random, ops_shapes_iota, ops_shapes_gather,
    ops_shapes_embedding, ops_shapes_scatter_add, ops_shapes_store, ops_shapes_update,
    ops_shapes_sgd, ops_shapes_adam, ops_shapes_adamw, ops_shapes_rmsprop, ops_shapes_adagrad,
    ops_shapes_adadelta;

/* "3x0x5"; "scalar" for rank 0.  Valid until the eighth call after. */
const char *ops_dims_text(int rank, const int64_t *dims);

#endif
