/* The CUDA kernels: device functions that generated kernels call with constant shapes, which are
   propagated into them.

   tlmk_<dtype>_<op>__cuda_<technique>.  The arithmetic is that of the same op of native-c, rounding
   by rounding (docs/numerics.md): products are chains of fused multiply-adds in blocks of 512, sums
   are 64-lane trees over chunks of 4096, formulas are the rows of runtime/tlm_pointwise.def.

   Conventions
   - every thread of every block of the launch calls the function; the launch has the blocks of the
     macro named below (blocks.h), TLMK_THREADS threads each;
   - functions that begin with `block` can share a launch (`fuses launch` in their capsules): each
     gets blocks of its own, one after another, and the number of the block among them;
   - outputs, then inputs, then sizes (uint32_t), then attributes (float), as in tlmk_cpu.h without
     level and range; sizes of 0 are legal everywhere;
   - no kernel allocates or checks shapes; indices are checked by check_index before, and one that
     is out of range is skipped: nothing outside a tensor is touched;
   - a result does not overlap an operand, except elementwise kernels in place (update, copies of
     pointwise loops);
   - one function of reduce.cuh, softmax.cuh, norm.cuh, loss.cuh or matmul.cuh a block: two would
     share arrays between whose uses there is no barrier.

   T is f32, i32 or bool (float, int32_t, uint8_t).

   device.cuh   tlm_thread(), TLM_KERNEL, TLM_SEGMENT, TLM_SHARED
   rows.cuh, columns.cuh   what row and column kernels are made of
   copy.cuh
     tlmk_T_copy__cuda_strided(T *y, const T *x, int rank, dims, strides, uint64_t offset, n)
         y[i..] = x[offset + sum i * stride]; n elements of y: TLMK_BLOCKS(n).  dims: const
         uint32_t *, strides: const uint64_t *: constant arrays of the caller
     tlmk_T_slice_vjp__cuda_strided(y, g, int rank, ydims, starts, steps, gdims, n)
         n of y, TLMK_BLOCKS(n); all four const uint32_t *
     tlmk_T_concat__cuda_rows(y, y_row, uint64_t offset, x, x_row, n)
         n = outer * x_row, TLMK_BLOCKS(n)
   reduce.cuh   x is [outer, length, inner]; TLMK_REDUCE_BLOCKS(outer, length, inner)
     tlmk_f32_reduce_sum__cuda_tree64(y, x, outer, length, inner)
     tlmk_f32_reduce_mean__cuda_tree64, tlmk_i32_reduce_sum__cuda_tree64,
     tlmk_T_reduce_max__cuda_tree, tlmk_T_reduce_min__cuda_tree (f32, i32)
     tlmk_f32_reduce_extreme_vjp__cuda_rows(dx, g, x, y, outer, length, inner)
     tlmk_T_argmax__cuda_rows(int32_t *y, x, outer, length, inner)
     tlmk_f32_reduce_chunks__cuda_tree64(parts, x, outer, length)
         inner 1: parts [outer, TLMK_CHUNKS(length)], the results of its chunks;
         TLMK_CHUNK_BLOCKS(outer, length).  reduce_sum over parts gives the sum
     tlmk_f32_mean_of_parts__cuda_tree64(y, parts, outer, chunks, length)
         the sum of parts / length; TLMK_REDUCE_BLOCKS(outer, chunks, 1)
     tlmk_f32_global_norm_parts__cuda_tree64(parts, const float *const *x,
         const struct tlmk_span *spans, count, half)
         x[s] has spans[s].count elements, the results of its chunks begin at spans[s].first; a warp
         a chunk.  half: the largest power of 2 below count, or 1
     tlmk_f32_global_norm_sums__cuda_tree64(sums, parts, spans)     a block a tensor
     tlmk_f32_global_norm__cuda_tree64(y, sums, count)              1 block
   matmul.cuh   TLMK_MATMUL_BLOCKS(M, N, batch)
     tlmk_f32_matmul__cuda_tiled(c, a, b, M, N, K, int ta, int tb, int batch_rank,
         const uint32_t *batch_dims, const uint64_t *a_strides, const uint64_t *b_strides)
         operands start at multiples of 16 bytes; so float4 is legal where rows and strides are
         multiples of 4
   softmax.cuh  rows: TLMK_ROW_BLOCKS(rows, cols)
     tlmk_f32_softmax__cuda_row(y, x, rows, cols)
     tlmk_f32_softmax_masked__cuda_row(y, x, const uint8_t *mask, rows, cols, int rank, row_dims,
         mask_strides, uint64_t mask_step)
     tlmk_f32_softmax_vjp__cuda_row(dx, g, y, rows, cols)
     tlmk_f32_log_softmax__cuda_row(y, x, rows, cols)
     tlmk_f32_log_softmax_vjp__cuda_row(dx, g, y, rows, cols)
   norm.cuh
     tlmk_f32_layer_norm__cuda_row(y, mean, rstd, x, weight, bias, rows, cols, eps)
         TLMK_ROW_BLOCKS(rows, cols)
     tlmk_f32_layer_norm_vjp__cuda_row(block, dx, g, x, weight, mean, rstd, rows, cols)
         TLMK_ROW_BLOCKS(rows, cols)
     tlmk_f32_layer_norm_vjp_weight__cuda_columns(block, dw, db, g, x, mean, rstd, rows, cols)
         TLMK_COLUMN_BLOCKS(cols)
   loss.cuh
     tlmk_f32_mse_loss__cuda_tree64(loss, a, b, n)                  TLMK_ROW_BLOCKS(1, n)
     tlmk_f32_mse_chunks__cuda_tree64(parts, a, b, n)
         TLMK_CHUNK_BLOCKS(1, n); then mean_of_parts
     tlmk_f32_mse_loss_vjp__cuda_loop(da, g, a, b, n)               TLMK_BLOCKS(n)
     tlmk_f32_cross_entropy__cuda_row(loss, m, s, x, const int32_t *cls, rows, cols)
         TLMK_ROW_BLOCKS(rows, cols)
     tlmk_f32_cross_entropy_vjp__cuda_row(dx, g, x, cls, m, s, rows, cols)
         TLMK_BLOCKS(rows * cols)
   random.cuh   TLMK_BLOCKS(n); draws: the two words seed and run of the step
     tlmk_f32_rand_uniform__cuda_loop(y, const uint64_t *draws, uint64_t site, n)
     tlmk_f32_bernoulli_mask__cuda_loop(y, const uint64_t *draws, uint64_t site,
         uint64_t threshold, n)
   index.cuh
     tlmk_i32_iota__cuda_loop(y, int32_t start, n)                  TLMK_BLOCKS(n)
     tlmk_i32_check_index__cuda_block(uint32_t *fault, index, n, limit, uint32_t check)
         1 block.  When fault[0] is 0 and some index is outside [0, limit): fault = { 1, check,
         position, value } of the first
     tlmk_T_gather__cuda_rows(y, x, index, outer, axis, inner, n)
         TLMK_BLOCKS(outer * n * inner)
     tlmk_f32_scatter_add__cuda_rows(y, index, updates, outer, axis, inner, n)
         y holds the base; TLMK_SCATTER_BLOCKS(outer, n); added in increasing order of n, without
         atomics
   update.cuh   one element, in place: generated kernels find the tensor and the element.  Pointers
     are to tensors, i is the element; NULL operands as in tlmk_cpu.h.  A run with a fault changes
     nothing: generated kernels return before when fault[0] is not 0
     tlmk_f32_sgd_update__cuda_loop(p, g, buf, lr, undamped, gscale, momentum, nesterov,
         weight_decay, i)
     and adam, adamw, rmsprop, adagrad, adadelta, accumulate: the parameters of tlmk_cpu.h without
     level, with the element i in place of the range
   probe.cuh
     tlmk_probe(uint32_t *out)
         1 block: out[0] = 1 when binary32 arithmetic is what docs/numerics.md says, else 2 */
#ifndef TLMK_CUDA_H
#define TLMK_CUDA_H

#include "tlm_math.h"
#include "tlm_random.h"

#include "device.cuh"
#include "copy.cuh"
#include "rows.cuh"
#include "columns.cuh"
#include "reduce.cuh"
#include "matmul.cuh"
#include "softmax.cuh"
#include "norm.cuh"
#include "loss.cuh"
#include "random.cuh"
#include "index.cuh"
#include "update.cuh"
#include "probe.cuh"

#endif
