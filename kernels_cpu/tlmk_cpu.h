/* The CPU kernels that generated code calls.  Header-only: always-inline templates instantiated
   with constant shapes at each call (abi template), so this folder and runtime/tlm_*.h are all a
   model needs.

   Names: tlmk_<dtype>_<op>__<provider>_<technique>.  Providers: cpu (native-c: exact arithmetic of
   docs/numerics.md, SIMD by level; this header) and ref (reference: plain scalar C, left folds,
   libm; tlmk_ref.h).  Both families have the same parameters, so one emitter serves both: the
   capsule's symbol and header are the only difference.

   Conventions of every kernel
   - the first parameter is `const int level`, a compile-time constant after inlining (ref kernels
     ignore it);
   - then outputs, inputs, sizes (size_t), attributes (float: rounded once from binary64);
   - the last two parameters are the range [begin, end) of ITEMS; each item writes its own outputs.
     The number of items is the macro's named below (items.h); kernels without items run whole;
   - no kernel allocates, prints, exits, reads globals or checks its arguments: shapes are the
     plan's, indices are checked by TLM_CHECK_INDEX before the call;
   - sizes of 0 are legal everywhere.

   T is f32, i32 or bool (float, int32_t, uint8_t).  Row-major, contiguous unless strides are
   passed.  Below, `...` stands for the range.

   copy.h
     tlmk_T_copy__cpu_strided(level, T *y, const T *x, int rank, dims, strides, size_t offset, ...)
         y[i..] = x[offset + sum i * stride]: permute, broadcast, slice, copy.
         TLMK_ROWS(rank, dims): the product of all dims but the last
     tlmk_T_slice_vjp__cpu_strided(level, y, g, int rank, ydims, starts, steps, gdims, ...)
         TLMK_ROWS(rank, ydims)
     tlmk_T_concat__cpu_rows(level, y, size_t y_row, size_t offset, x, size_t x_row, ...)
         one call an operand: rows of x_row elements into rows of y_row at offset.  Outer rows
   reduce.h, x is [O, R, I], y [O, I]; TLMK_REDUCE_ITEMS(O, R, I)
     tlmk_f32_reduce_sum__cpu_tree64(level, y, x, size_t O, size_t R, size_t I, ...)
     tlmk_f32_reduce_mean__cpu_tree64, tlmk_f32_reduce_max__cpu_rows, tlmk_f32_reduce_min__cpu_rows,
     tlmk_i32_reduce_sum__cpu_tree64, tlmk_i32_reduce_max__cpu_rows, tlmk_i32_reduce_min__cpu_rows
     tlmk_f32_reduce_extreme_vjp__cpu_rows(level, dx, g, x, y, O, R, I, ...)
     tlmk_T_argmax__cpu_rows(level, int32_t *y, x, O, R, I, ...)
     tlmk_f32_global_norm_parts__cpu_tree64(level, parts, const float *const *x,
         const struct tlmk_span *spans, size_t count, ...)
         x[s] has spans[s].count elements, the results of its chunks begin at spans[s].first;
         all chunks are the items
     tlmk_f32_global_norm__cpu_tree64(level, y, parts, spans, count)                   runs whole
   matmul.h
     tlmk_f32_matmul__cpu_packed(level, c, a, b, size_t M, size_t N, size_t K, int ta, int tb,
         int batch_rank, batch_dims, a_strides, b_strides, ...)
         c[batch, M, N] = a[.., M, K] (ta: stored [K, M]) times b[.., K, N] (tb: stored [N, K]); the
         strides of a batch axis in elements, 0 where it broadcasts.  TLMK_MATMUL_ITEMS(M, N, batch)
   softmax.h, items are rows
     tlmk_f32_softmax__cpu_rows(level, y, x, size_t rows, size_t cols, ...)
     tlmk_f32_softmax_masked__cpu_rows(level, y, x, const uint8_t *mask, rows, cols, int rank,
         row_dims, mask_strides, size_t mask_step, ...)
         row_dims: the axes before the last; mask_strides of each (0: broadcasts), mask_step along
         the row
     tlmk_f32_softmax_vjp__cpu_rows(level, dx, g, y, rows, cols, ...)
     tlmk_f32_log_softmax__cpu_rows(level, y, x, rows, cols, ...)
     tlmk_f32_log_softmax_vjp__cpu_rows(level, dx, g, y, rows, cols, ...)
   norm.h
     tlmk_f32_layer_norm__cpu_rows(level, y, mean, rstd, x, weight, bias, rows, cols, eps, ...)
     tlmk_f32_layer_norm_vjp__cpu_rows(level, dx, g, x, weight, mean, rstd, rows, cols, ...)
     tlmk_f32_layer_norm_vjp_weight__cpu_columns(level, dw, db, g, x, mean, rstd, rows, cols, ...)
         TLMK_COLUMN_ITEMS(cols)
   loss.h
     tlmk_f32_mse_loss__cpu_tree64(level, loss, a, b, size_t n)                        runs whole
     tlmk_f32_mse_loss_vjp__cpu_loop(level, da, g, a, b, size_t n, ...)                n items
     tlmk_f32_cross_entropy__cpu_rows(level, loss, m, s, x, const int32_t *cls, rows, cols, ...)
     tlmk_f32_cross_entropy_vjp__cpu_rows(level, dx, g, x, cls, m, s, rows, cols, ...)
   random.h, n items
     tlmk_f32_rand_uniform__cpu_loop(level, y, uint64_t key, ...)
     tlmk_f32_bernoulli_mask__cpu_loop(level, y, uint64_t key, uint64_t threshold, ...)
         1 iff low32 < threshold = ceil(keep * 2^32), computed by tlmc
   index.h
     tlmk_i32_iota__cpu_loop(level, int32_t *y, int32_t start, ...)                    n items
     tlmk_T_gather__cpu_rows(level, y, x, const int32_t *index, size_t outer, size_t axis,
         size_t inner, size_t n, ...)
         y [outer, n, inner], x [outer, axis, inner]; outer * n items; embedding has outer 1
     tlmk_f32_scatter_add__cpu_rows(level, y, const int32_t *index, const float *updates, outer,
         axis, inner, n, ...)          y holds the base already; TLMK_SCATTER_ITEMS(outer, inner)
   update.h, in place, n items; gscale NULL: no clipping
     tlmk_f32_sgd_update__cpu_loop(level, p, g, buf (NULL: no momentum), lr, undamped, gscale,
         float momentum, int nesterov, float weight_decay, ...)
     tlmk_f32_adam_update__cpu_loop(level, p, g, m, v, step_size, sqrt_bc2, gscale, float beta1,
         float one_minus_beta1, float beta2, float one_minus_beta2, float eps, float wd, ...)
     tlmk_f32_adamw_update__cpu_loop(level, p, g, m, v, step_size, sqrt_bc2, decay, gscale, beta1,
         one_minus_beta1, beta2, one_minus_beta2, eps, ...)
     tlmk_f32_rmsprop_update__cpu_loop(level, p, g, sq, lr, grad_avg (NULL), buf (NULL), gscale,
         float alpha, float one_minus_alpha, float eps, float momentum, float wd, ...)
     tlmk_f32_adagrad_update__cpu_loop(level, p, g, sum, clr, gscale, float eps, float wd, ...)
     tlmk_f32_adadelta_update__cpu_loop(level, p, g, sq, acc, lr, gscale, float rho,
         float one_minus_rho, float eps, float wd, ...)
     tlmk_f32_accumulate__cpu_loop(level, y, x, ...)

   Pointwise nodes have no kernels of their own: generated loops apply the formulas of tlm_math.h
   (tlm_relu(x), tlm_relu_vjp(g, x), tlm_where(c, a, b), ...) or, for the reference provider, the
   hand-written twins of ref/pointwise.h (tlmr_relu(x), ...).  Suffixes: none for f32; _i32, _bool
   for the other element types of add sub mul max min, comparisons and where; casts are
   tlm_cast_<from>_<to>. */
#ifndef TLMK_CPU_H
#define TLMK_CPU_H

#include "tlm_rt.h"
#include "tlm_math.h"

#include "items.h"
#include "copy.h"
#include "reduce.h"
#include "matmul.h"
#include "softmax.h"
#include "norm.h"
#include "loss.h"
#include "random.h"
#include "index.h"
#include "update.h"

#endif
