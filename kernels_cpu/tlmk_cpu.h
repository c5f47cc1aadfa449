/* The CPU kernels that generated code calls, one line a kernel.  Header-only: `static inline`
   templates instantiated with constant shapes at each call (abi template), so this header and
   runtime/tlm_rt.h are all a model needs.

   Grammar of names: tlmk_<dtype>_<op>__<provider>_<technique>.  Providers: cpu (native-c: exact
   arithmetic of docs/numerics.md, SIMD by level) and ref (reference: plain scalar C, left folds,
   libm).  Both families have the same parameters, so one emitter serves both: the capsule's symbol
   is the only difference.

   Conventions of every kernel
     - the first parameter is `const int level` (a compile-time constant after inlining; ref kernels
   ignore it);
     - outputs, then inputs, then sizes (size_t), then attributes (float: rounded once from
   binary64);
     - the last two parameters are the range [begin, end) of ITEMS; each item writes its own
   outputs.  The number of items is given by the macro named below, which generated code calls;
   kernels without ITEMS run whole;
     - no kernel allocates, prints, exits, reads globals or checks its arguments: shapes are the
   plan's, indices are checked by TLM_CHECK_INDEX before the call;
     - sizes of 0 are legal everywhere.

   T is f32, i32 or bool (float, int32_t, uint8_t).  Row-major, contiguous unless strides are
   passed.

   copy      tlmk_T_copy__cpu_strided(level, T *y, const T *x, int rank, const size_t *dims, const
   size_t *strides, size_t offset, begin, end)                 y[i...] = x[offset + sum i * stride];
   permute, broadcast, slice, copy.  ITEMS: TLMK_ROWS(rank, dims) = product of all dims but the last
   (1 for rank 0) slice_vjp tlmk_T_slice_vjp__cpu_strided(level, T *y, const T *g, int rank, const
   size_t *ydims, const size_t *starts, const size_t *steps, const size_t *gdims, begin, end) ITEMS:
   TLMK_ROWS(rank, ydims) concat    tlmk_T_concat__cpu_rows(level, T *y, size_t y_row, size_t
   offset, const T *x, size_t x_row, begin, end) one call an operand: rows of x_row elements into y
   rows of y_row at offset.  ITEMS: outer rows reduce    tlmk_f32_reduce_sum__cpu_tree64(level,
   float *y, const float *x, size_t O, size_t R, size_t I, begin, end) reduce_mean, reduce_max,
   reduce_min (f32; also i32 for sum, max, min); x is [O, R, I], y [O, I] ITEMS:
   TLMK_REDUCE_ITEMS(O, R, I) tlmk_f32_reduce_extreme_vjp__cpu_rows(level, dx, g, x, y, O, R, I,
   begin, end)      ITEMS as above tlmk_T_argmax__cpu_rows(level, int32_t *y, const T *x, O, R, I,
   begin, end)          ITEMS as above matmul    tlmk_f32_matmul__cpu_packed(level, float *c, const
   float *a, const float *b, size_t M, size_t N, size_t K, int ta, int tb, int batch_rank, const
   size_t *batch_dims, const size_t *a_strides, const size_t *b_strides, begin, end) c[batch, M, N]
   = a[.., M, K] (ta: stored [K, M]) times b[.., K, N] (tb: stored [N, K]); the strides of a batch
   axis in elements, 0 where it broadcasts.  ITEMS: TLMK_MATMUL_ITEMS(M, N, batch) softmax
   tlmk_f32_softmax__cpu_rows(level, y, x, rows, cols, begin, end)                       ITEMS: rows
             tlmk_f32_softmax_masked__cpu_rows(level, y, x, const uint8_t *mask, rows, cols, int
   rank, const size_t *row_dims, const size_t *mask_strides, size_t mask_step, begin, end) row_dims:
   the axes before the last; mask_strides of each (0: broadcasts), mask_step along the row
             tlmk_f32_softmax_vjp__cpu_rows(level, dx, g, y, rows, cols, begin, end)
             tlmk_f32_log_softmax__cpu_rows(level, y, x, rows, cols, begin, end)
             tlmk_f32_log_softmax_vjp__cpu_rows(level, dx, g, y, rows, cols, begin, end)
   norm      tlmk_f32_layer_norm__cpu_rows(level, y, mean, rstd, x, weight, bias, rows, cols, float
   eps, begin, end) tlmk_f32_layer_norm_vjp__cpu_rows(level, dx, g, x, weight, mean, rstd, rows,
   cols, begin, end) tlmk_f32_layer_norm_vjp_weight__cpu_columns(level, dw, db, g, x, mean, rstd,
   rows, cols, begin, end) ITEMS: TLMK_COLUMN_ITEMS(cols) losses
   tlmk_f32_mse_loss__cpu_tree64(level, float *loss, const float *a, const float *b, size_t n) whole
             tlmk_f32_mse_loss_vjp__cpu_loop(level, da, const float *g, a, b, size_t n, begin, end)
   ITEMS: n tlmk_f32_cross_entropy__cpu_rows(level, loss, m, s, x, const int32_t *cls, rows, cols,
   begin, end) tlmk_f32_cross_entropy_vjp__cpu_rows(level, dx, g, x, cls, m, s, rows, cols, begin,
   end)   ITEMS: rows random    tlmk_f32_rand_uniform__cpu_loop(level, y, uint64_t key, begin, end)
   ITEMS: n tlmk_f32_bernoulli_mask__cpu_loop(level, y, uint64_t key, uint64_t threshold, begin,
   end) keeps iff low32 < threshold = ceil(keep * 2^32), computed by tlmc ITEMS: n index
   tlmk_i32_iota__cpu_loop(level, int32_t *y, int32_t start, begin, end) ITEMS: n
             tlmk_T_gather__cpu_rows(level, y, x, const int32_t *index, size_t outer, size_t axis,
   size_t inner, size_t n, begin, end)      y [outer, n, inner], x [outer, axis, inner]    ITEMS:
   outer * n (embedding is gather with outer 1) tlmk_f32_scatter_add__cpu_rows(level, float *y,
   const int32_t *index, const float *updates, size_t outer, size_t axis, size_t inner, size_t n,
   begin, end)   y holds the base already ITEMS: TLMK_SCATTER_ITEMS(outer, inner) updates   in
   place, elementwise over [begin, end), ITEMS: n; gscale NULL: no clipping
             tlmk_f32_sgd_update__cpu_loop(level, p, g, buf (NULL: momentum 0), const float *lr,
   const float *undamped, const float *gscale, float momentum, int nesterov, float weight_decay,
   begin, end) tlmk_f32_adam_update__cpu_loop(level, p, g, m, v, const float *step_size, const float
   *sqrt_bc2, gscale, float beta1, float one_minus_beta1, float beta2, float one_minus_beta2, float
   eps, float wd, begin, end) tlmk_f32_adamw_update__cpu_loop(level, p, g, m, v, step_size,
   sqrt_bc2, const float *decay, gscale, beta1, one_minus_beta1, beta2, one_minus_beta2, eps, begin,
   end) tlmk_f32_rmsprop_update__cpu_loop(level, p, g, sq, const float *lr, grad_avg (NULL), buf
   (NULL), gscale, float alpha, float one_minus_alpha, float eps, float momentum, float wd, begin,
   end) tlmk_f32_adagrad_update__cpu_loop(level, p, g, sum, const float *clr, gscale, float eps,
   float wd, begin, end) tlmk_f32_adadelta_update__cpu_loop(level, p, g, sq, acc, const float *lr,
   gscale, float rho, float one_minus_rho, float eps, float wd, begin, end)
             tlmk_f32_accumulate__cpu_loop(level, y, x, begin, end)                         y[i] =
   y[i] + x[i]

   Pointwise nodes have no kernels of their own: generated loops apply the formulas of
   runtime/tlm_math.h (tlm_relu(x), tlm_relu_vjp(g, x), tlm_add(a, b), tlm_add_i32(a, b),
   tlm_where(c, a, b), tlm_lt(a, b), ...) or, for the reference provider, the hand-written twins of
   ref/pointwise.h (tlmr_relu(x), ...).  Suffixes: none for f32, _i32 and _bool for the other
   element types of add sub mul max min, comparisons and where; casts are tlm_cast_<from>_<to>. */
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
