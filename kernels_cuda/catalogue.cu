/* One kernel for each function of tlmk_cuda.h, and for each way it can go: a row a warp or a
   block, columns of one or several chunks, each tile of the products with each way to read an
   operand.  Written as the compiler emits kernels: one struct of pointers, constant shapes, which
   the comments give.  For tables of registers, for tests that compile for every architecture and
   for tests that break the code; no program includes this file. */
#include "tlmk_cuda.h"

/* A struct a line. */
/* clang-format off */

/* ---- copy.cuh */

/* [5, 7, 11] from [11, 7, 5]: a permutation */
struct copy_f32_args { float *y; const float *x; };
TLM_KERNEL(copy_f32)
{
    const uint32_t dims[] = { 5, 7, 11 };
    const uint64_t strides[] = { 1, 5, 35 };
    tlmk_f32_copy__cuda_strided(m->y, m->x, 3, dims, strides, 0, 385);
}

/* [5, 7, 11] from [11, 7, 5]: a permutation */
struct copy_i32_args { int32_t *y; const int32_t *x; };
TLM_KERNEL(copy_i32)
{
    const uint32_t dims[] = { 5, 7, 11 };
    const uint64_t strides[] = { 1, 5, 35 };
    tlmk_i32_copy__cuda_strided(m->y, m->x, 3, dims, strides, 0, 385);
}

/* [5, 7, 11] from [11, 7, 5]: a permutation */
struct copy_bool_args { uint8_t *y; const uint8_t *x; };
TLM_KERNEL(copy_bool)
{
    const uint32_t dims[] = { 5, 7, 11 };
    const uint64_t strides[] = { 1, 5, 35 };
    tlmk_bool_copy__cuda_strided(m->y, m->x, 3, dims, strides, 0, 385);
}

/* [6, 4, 9] from [1, 4, 1] */
struct copy_f32_broadcast_args { float *y; const float *x; };
TLM_KERNEL(copy_f32_broadcast)
{
    const uint32_t dims[] = { 6, 4, 9 };
    const uint64_t strides[] = { 0, 1, 0 };
    tlmk_f32_copy__cuda_strided(m->y, m->x, 3, dims, strides, 0, 216);
}

/* [7, 8] into [20, 30], from (3, 4) in steps of (2, 3) */
struct slice_vjp_f32_args { float *y; const float *g; };
TLM_KERNEL(slice_vjp_f32)
{
    const uint32_t ydims[] = { 20, 30 }, starts[] = { 3, 4 }, steps[] = { 2, 3 };
    const uint32_t gdims[] = { 7, 8 };
    tlmk_f32_slice_vjp__cuda_strided(m->y, m->g, 2, ydims, starts, steps, gdims, 600);
}

/* [7, 8] into [20, 30], from (3, 4) in steps of (2, 3) */
struct slice_vjp_i32_args { int32_t *y; const int32_t *g; };
TLM_KERNEL(slice_vjp_i32)
{
    const uint32_t ydims[] = { 20, 30 }, starts[] = { 3, 4 }, steps[] = { 2, 3 };
    const uint32_t gdims[] = { 7, 8 };
    tlmk_i32_slice_vjp__cuda_strided(m->y, m->g, 2, ydims, starts, steps, gdims, 600);
}

/* [7, 8] into [20, 30], from (3, 4) in steps of (2, 3) */
struct slice_vjp_bool_args { uint8_t *y; const uint8_t *g; };
TLM_KERNEL(slice_vjp_bool)
{
    const uint32_t ydims[] = { 20, 30 }, starts[] = { 3, 4 }, steps[] = { 2, 3 };
    const uint32_t gdims[] = { 7, 8 };
    tlmk_bool_slice_vjp__cuda_strided(m->y, m->g, 2, ydims, starts, steps, gdims, 600);
}

/* rows of 13 into 40 rows of 25, at 9 */
struct concat_f32_args { float *y; const float *x; };
TLM_KERNEL(concat_f32)
{
    tlmk_f32_concat__cuda_rows(m->y, 25, 9, m->x, 13, 520);
}

/* rows of 13 into 40 rows of 25, at 9 */
struct concat_i32_args { int32_t *y; const int32_t *x; };
TLM_KERNEL(concat_i32)
{
    tlmk_i32_concat__cuda_rows(m->y, 25, 9, m->x, 13, 520);
}

/* rows of 13 into 40 rows of 25, at 9 */
struct concat_bool_args { uint8_t *y; const uint8_t *x; };
TLM_KERNEL(concat_bool)
{
    tlmk_bool_concat__cuda_rows(m->y, 25, 9, m->x, 13, 520);
}

/* ---- reduce.cuh */

/* [9, 130, 1]: a warp a row */
struct reduce_sum_f32_rows_args { float *y; const float *x; };
TLM_KERNEL(reduce_sum_f32_rows)
{
    tlmk_f32_reduce_sum__cuda_tree64(m->y, m->x, 9, 130, 1);
}

/* [2, 12300, 1]: a block a row */
struct reduce_sum_f32_long_args { float *y; const float *x; };
TLM_KERNEL(reduce_sum_f32_long)
{
    tlmk_f32_reduce_sum__cuda_tree64(m->y, m->x, 2, 12300, 1);
}

/* [3, 70, 40]: blocks of 32 columns */
struct reduce_sum_f32_columns_args { float *y; const float *x; };
TLM_KERNEL(reduce_sum_f32_columns)
{
    tlmk_f32_reduce_sum__cuda_tree64(m->y, m->x, 3, 70, 40);
}

/* [9, 130, 1]: a warp a row */
struct reduce_mean_f32_rows_args { float *y; const float *x; };
TLM_KERNEL(reduce_mean_f32_rows)
{
    tlmk_f32_reduce_mean__cuda_tree64(m->y, m->x, 9, 130, 1);
}

/* [2, 12300, 1]: a block a row */
struct reduce_mean_f32_long_args { float *y; const float *x; };
TLM_KERNEL(reduce_mean_f32_long)
{
    tlmk_f32_reduce_mean__cuda_tree64(m->y, m->x, 2, 12300, 1);
}

/* [3, 70, 40]: blocks of 32 columns */
struct reduce_mean_f32_columns_args { float *y; const float *x; };
TLM_KERNEL(reduce_mean_f32_columns)
{
    tlmk_f32_reduce_mean__cuda_tree64(m->y, m->x, 3, 70, 40);
}

/* [9, 130, 1]: a warp a row */
struct reduce_max_f32_rows_args { float *y; const float *x; };
TLM_KERNEL(reduce_max_f32_rows)
{
    tlmk_f32_reduce_max__cuda_tree(m->y, m->x, 9, 130, 1);
}

/* [2, 12300, 1]: a block a row */
struct reduce_max_f32_long_args { float *y; const float *x; };
TLM_KERNEL(reduce_max_f32_long)
{
    tlmk_f32_reduce_max__cuda_tree(m->y, m->x, 2, 12300, 1);
}

/* [3, 70, 40]: blocks of 32 columns */
struct reduce_max_f32_columns_args { float *y; const float *x; };
TLM_KERNEL(reduce_max_f32_columns)
{
    tlmk_f32_reduce_max__cuda_tree(m->y, m->x, 3, 70, 40);
}

/* [9, 130, 1]: a warp a row */
struct reduce_min_f32_rows_args { float *y; const float *x; };
TLM_KERNEL(reduce_min_f32_rows)
{
    tlmk_f32_reduce_min__cuda_tree(m->y, m->x, 9, 130, 1);
}

/* [2, 12300, 1]: a block a row */
struct reduce_min_f32_long_args { float *y; const float *x; };
TLM_KERNEL(reduce_min_f32_long)
{
    tlmk_f32_reduce_min__cuda_tree(m->y, m->x, 2, 12300, 1);
}

/* [3, 70, 40]: blocks of 32 columns */
struct reduce_min_f32_columns_args { float *y; const float *x; };
TLM_KERNEL(reduce_min_f32_columns)
{
    tlmk_f32_reduce_min__cuda_tree(m->y, m->x, 3, 70, 40);
}

/* [9, 130, 1]: a warp a row */
struct reduce_sum_i32_rows_args { int32_t *y; const int32_t *x; };
TLM_KERNEL(reduce_sum_i32_rows)
{
    tlmk_i32_reduce_sum__cuda_tree64(m->y, m->x, 9, 130, 1);
}

/* [2, 12300, 1]: a block a row */
struct reduce_sum_i32_long_args { int32_t *y; const int32_t *x; };
TLM_KERNEL(reduce_sum_i32_long)
{
    tlmk_i32_reduce_sum__cuda_tree64(m->y, m->x, 2, 12300, 1);
}

/* [3, 70, 40]: blocks of 32 columns */
struct reduce_sum_i32_columns_args { int32_t *y; const int32_t *x; };
TLM_KERNEL(reduce_sum_i32_columns)
{
    tlmk_i32_reduce_sum__cuda_tree64(m->y, m->x, 3, 70, 40);
}

/* [9, 130, 1]: a warp a row */
struct reduce_max_i32_rows_args { int32_t *y; const int32_t *x; };
TLM_KERNEL(reduce_max_i32_rows)
{
    tlmk_i32_reduce_max__cuda_tree(m->y, m->x, 9, 130, 1);
}

/* [2, 12300, 1]: a block a row */
struct reduce_max_i32_long_args { int32_t *y; const int32_t *x; };
TLM_KERNEL(reduce_max_i32_long)
{
    tlmk_i32_reduce_max__cuda_tree(m->y, m->x, 2, 12300, 1);
}

/* [3, 70, 40]: blocks of 32 columns */
struct reduce_max_i32_columns_args { int32_t *y; const int32_t *x; };
TLM_KERNEL(reduce_max_i32_columns)
{
    tlmk_i32_reduce_max__cuda_tree(m->y, m->x, 3, 70, 40);
}

/* [9, 130, 1]: a warp a row */
struct reduce_min_i32_rows_args { int32_t *y; const int32_t *x; };
TLM_KERNEL(reduce_min_i32_rows)
{
    tlmk_i32_reduce_min__cuda_tree(m->y, m->x, 9, 130, 1);
}

/* [2, 12300, 1]: a block a row */
struct reduce_min_i32_long_args { int32_t *y; const int32_t *x; };
TLM_KERNEL(reduce_min_i32_long)
{
    tlmk_i32_reduce_min__cuda_tree(m->y, m->x, 2, 12300, 1);
}

/* [3, 70, 40]: blocks of 32 columns */
struct reduce_min_i32_columns_args { int32_t *y; const int32_t *x; };
TLM_KERNEL(reduce_min_i32_columns)
{
    tlmk_i32_reduce_min__cuda_tree(m->y, m->x, 3, 70, 40);
}

/* [1, 8200, 33]: columns of three chunks */
struct reduce_sum_f32_deep_args { float *y; const float *x; };
TLM_KERNEL(reduce_sum_f32_deep)
{
    tlmk_f32_reduce_sum__cuda_tree64(m->y, m->x, 1, 8200, 33);
}

/* [2, 8000, 1]: a warp a row, two chunks */
struct reduce_sum_f32_pair_args { float *y; const float *x; };
TLM_KERNEL(reduce_sum_f32_pair)
{
    tlmk_f32_reduce_sum__cuda_tree64(m->y, m->x, 2, 8000, 1);
}

/* [9, 130, 1]: a warp a row */
struct reduce_extreme_vjp_rows_args { float *dx; const float *g; const float *x; const float *y; };
TLM_KERNEL(reduce_extreme_vjp_rows)
{
    tlmk_f32_reduce_extreme_vjp__cuda_rows(m->dx, m->g, m->x, m->y, 9, 130, 1);
}

/* [2, 12300, 1]: a block a row */
struct reduce_extreme_vjp_long_args { float *dx; const float *g; const float *x; const float *y; };
TLM_KERNEL(reduce_extreme_vjp_long)
{
    tlmk_f32_reduce_extreme_vjp__cuda_rows(m->dx, m->g, m->x, m->y, 2, 12300, 1);
}

/* [3, 70, 40]: blocks of 32 columns */
struct reduce_extreme_vjp_columns_args {
    float *dx; const float *g;
    const float *x; const float *y;
};
TLM_KERNEL(reduce_extreme_vjp_columns)
{
    tlmk_f32_reduce_extreme_vjp__cuda_rows(m->dx, m->g, m->x, m->y, 3, 70, 40);
}

/* [9, 130, 1]: a warp a row */
struct argmax_f32_rows_args { int32_t *y; const float *x; };
TLM_KERNEL(argmax_f32_rows)
{
    tlmk_f32_argmax__cuda_rows(m->y, m->x, 9, 130, 1);
}

/* [2, 12300, 1]: a block a row */
struct argmax_f32_long_args { int32_t *y; const float *x; };
TLM_KERNEL(argmax_f32_long)
{
    tlmk_f32_argmax__cuda_rows(m->y, m->x, 2, 12300, 1);
}

/* [3, 70, 40]: blocks of 32 columns */
struct argmax_f32_columns_args { int32_t *y; const float *x; };
TLM_KERNEL(argmax_f32_columns)
{
    tlmk_f32_argmax__cuda_rows(m->y, m->x, 3, 70, 40);
}

/* [9, 130, 1]: a warp a row */
struct argmax_i32_rows_args { int32_t *y; const int32_t *x; };
TLM_KERNEL(argmax_i32_rows)
{
    tlmk_i32_argmax__cuda_rows(m->y, m->x, 9, 130, 1);
}

/* [2, 12300, 1]: a block a row */
struct argmax_i32_long_args { int32_t *y; const int32_t *x; };
TLM_KERNEL(argmax_i32_long)
{
    tlmk_i32_argmax__cuda_rows(m->y, m->x, 2, 12300, 1);
}

/* [3, 70, 40]: blocks of 32 columns */
struct argmax_i32_columns_args { int32_t *y; const int32_t *x; };
TLM_KERNEL(argmax_i32_columns)
{
    tlmk_i32_argmax__cuda_rows(m->y, m->x, 3, 70, 40);
}

/* [9, 130, 1]: a warp a row */
struct argmax_bool_rows_args { int32_t *y; const uint8_t *x; };
TLM_KERNEL(argmax_bool_rows)
{
    tlmk_bool_argmax__cuda_rows(m->y, m->x, 9, 130, 1);
}

/* [2, 12300, 1]: a block a row */
struct argmax_bool_long_args { int32_t *y; const uint8_t *x; };
TLM_KERNEL(argmax_bool_long)
{
    tlmk_bool_argmax__cuda_rows(m->y, m->x, 2, 12300, 1);
}

/* [3, 70, 40]: blocks of 32 columns */
struct argmax_bool_columns_args { int32_t *y; const uint8_t *x; };
TLM_KERNEL(argmax_bool_columns)
{
    tlmk_bool_argmax__cuda_rows(m->y, m->x, 3, 70, 40);
}

/* [3, 9000]: three chunks each */
struct reduce_chunks_args { float *parts; const float *x; };
TLM_KERNEL(reduce_chunks)
{
    tlmk_f32_reduce_chunks__cuda_tree64(m->parts, m->x, 3, 9000);
}

/* 3 rows of 9000 elements */
struct mean_of_parts_args { float *y; const float *parts; };
TLM_KERNEL(mean_of_parts)
{
    tlmk_f32_mean_of_parts__cuda_tree64(m->y, m->parts, 3, 3, 9000);
}

/* 5000, none, 130, 9000 and 1 elements: 7 chunks */
struct global_norm_parts_args { float *parts; const float *x[5]; };
TLM_KERNEL(global_norm_parts)
{
    TLM_TABLE const struct tlmk_span spans[] = {
        { 5000, 0 }, { 0, 2 }, { 130, 2 }, { 9000, 3 }, { 1, 6 }
    };

    tlmk_f32_global_norm_parts__cuda_tree64(m->parts, m->x, spans, 5, 4);
}

struct global_norm_sums_args { float *sums; const float *parts; };
TLM_KERNEL(global_norm_sums)
{
    TLM_TABLE const struct tlmk_span spans[] = {
        { 5000, 0 }, { 0, 2 }, { 130, 2 }, { 9000, 3 }, { 1, 6 }
    };

    tlmk_f32_global_norm_sums__cuda_tree64(m->sums, m->parts, spans);
}

struct global_norm_args { float *y; const float *sums; };
TLM_KERNEL(global_norm)
{
    tlmk_f32_global_norm__cuda_tree64(m->y, m->sums, 5);
}

/* ---- matmul.cuh: each tile, each way to read an operand */

/* 16 x 68 x 520, float4 */
struct matmul_16x64_nn_args { float *c; const float *a; const float *b; };
TLM_KERNEL(matmul_16x64_nn)
{
    tlmk_f32_matmul__cuda_tiled(m->c, m->a, m->b, 16, 68, 520, 0, 0, 0, nullptr, nullptr, nullptr);
}

/* 16 x 68 x 520, float4, a stored transposed, b stored transposed */
struct matmul_16x64_tt_args { float *c; const float *a; const float *b; };
TLM_KERNEL(matmul_16x64_tt)
{
    tlmk_f32_matmul__cuda_tiled(m->c, m->a, m->b, 16, 68, 520, 1, 1, 0, nullptr, nullptr, nullptr);
}

/* 13 x 67 x 519, single elements, b stored transposed */
struct matmul_16x64_nt_args { float *c; const float *a; const float *b; };
TLM_KERNEL(matmul_16x64_nt)
{
    tlmk_f32_matmul__cuda_tiled(m->c, m->a, m->b, 13, 67, 519, 0, 1, 0, nullptr, nullptr, nullptr);
}

/* 13 x 67 x 519, single elements, a stored transposed */
struct matmul_16x64_tn_args { float *c; const float *a; const float *b; };
TLM_KERNEL(matmul_16x64_tn)
{
    tlmk_f32_matmul__cuda_tiled(m->c, m->a, m->b, 13, 67, 519, 1, 0, 0, nullptr, nullptr, nullptr);
}

/* 64 x 72 x 520, float4 */
struct matmul_64x64_nn_args { float *c; const float *a; const float *b; };
TLM_KERNEL(matmul_64x64_nn)
{
    tlmk_f32_matmul__cuda_tiled(m->c, m->a, m->b, 64, 72, 520, 0, 0, 0, nullptr, nullptr, nullptr);
}

/* 64 x 72 x 520, float4, a stored transposed, b stored transposed */
struct matmul_64x64_tt_args { float *c; const float *a; const float *b; };
TLM_KERNEL(matmul_64x64_tt)
{
    tlmk_f32_matmul__cuda_tiled(m->c, m->a, m->b, 64, 72, 520, 1, 1, 0, nullptr, nullptr, nullptr);
}

/* 61 x 75 x 519, single elements, b stored transposed */
struct matmul_64x64_nt_args { float *c; const float *a; const float *b; };
TLM_KERNEL(matmul_64x64_nt)
{
    tlmk_f32_matmul__cuda_tiled(m->c, m->a, m->b, 61, 75, 519, 0, 1, 0, nullptr, nullptr, nullptr);
}

/* 61 x 75 x 519, single elements, a stored transposed */
struct matmul_64x64_tn_args { float *c; const float *a; const float *b; };
TLM_KERNEL(matmul_64x64_tn)
{
    tlmk_f32_matmul__cuda_tiled(m->c, m->a, m->b, 61, 75, 519, 1, 0, 0, nullptr, nullptr, nullptr);
}

/* 132 x 136 x 520, float4 */
struct matmul_128x128_nn_args { float *c; const float *a; const float *b; };
TLM_KERNEL(matmul_128x128_nn)
{
    tlmk_f32_matmul__cuda_tiled(m->c, m->a, m->b, 132, 136, 520, 0, 0, 0, nullptr, nullptr,
        nullptr);
}

/* 132 x 136 x 520, float4, a stored transposed, b stored transposed */
struct matmul_128x128_tt_args { float *c; const float *a; const float *b; };
TLM_KERNEL(matmul_128x128_tt)
{
    tlmk_f32_matmul__cuda_tiled(m->c, m->a, m->b, 132, 136, 520, 1, 1, 0, nullptr, nullptr,
        nullptr);
}

/* 131 x 133 x 519, single elements, b stored transposed */
struct matmul_128x128_nt_args { float *c; const float *a; const float *b; };
TLM_KERNEL(matmul_128x128_nt)
{
    tlmk_f32_matmul__cuda_tiled(m->c, m->a, m->b, 131, 133, 519, 0, 1, 0, nullptr, nullptr,
        nullptr);
}

/* 131 x 133 x 519, single elements, a stored transposed */
struct matmul_128x128_tn_args { float *c; const float *a; const float *b; };
TLM_KERNEL(matmul_128x128_tn)
{
    tlmk_f32_matmul__cuda_tiled(m->c, m->a, m->b, 131, 133, 519, 1, 0, 0, nullptr, nullptr,
        nullptr);
}

/* [2, 3] of 20 x 24 x 16; a broadcasts along the first batch axis, b along the second */
struct matmul_batched_args { float *c; const float *a; const float *b; };
TLM_KERNEL(matmul_batched)
{
    const uint32_t dims[] = { 2, 3 };
    const uint64_t a_strides[] = { 0, 320 }, b_strides[] = { 384, 0 };
    tlmk_f32_matmul__cuda_tiled(m->c, m->a, m->b, 20, 24, 16, 0, 0, 2, dims, a_strides, b_strides);
}

/* 4 x 8 x 1100: three blocks of k */
struct matmul_blocks_args { float *c; const float *a; const float *b; };
TLM_KERNEL(matmul_blocks)
{
    tlmk_f32_matmul__cuda_tiled(m->c, m->a, m->b, 4, 8, 1100, 0, 0, 0, nullptr, nullptr, nullptr);
}

/* ---- softmax.cuh */

/* 9 x 130: a warp a row */
struct softmax_row_args { float *y; const float *x; };
TLM_KERNEL(softmax_row)
{
    tlmk_f32_softmax__cuda_row(m->y, m->x, 9, 130);
}

/* 2 x 12300: a block a row */
struct softmax_long_args { float *y; const float *x; };
TLM_KERNEL(softmax_long)
{
    tlmk_f32_softmax__cuda_row(m->y, m->x, 2, 12300);
}

/* 9 x 130: a warp a row; one mask for all rows */
struct softmax_masked_row_args { float *y; const float *x; const uint8_t *mask; };
TLM_KERNEL(softmax_masked_row)
{
    const uint32_t row_dims[] = { 9 };
    const uint64_t mask_strides[] = { 0 };
    tlmk_f32_softmax_masked__cuda_row(m->y, m->x, m->mask, 9, 130, 1, row_dims, mask_strides, 1);
}

/* 2 x 12300: a block a row; one mask for all rows */
struct softmax_masked_long_args { float *y; const float *x; const uint8_t *mask; };
TLM_KERNEL(softmax_masked_long)
{
    const uint32_t row_dims[] = { 2 };
    const uint64_t mask_strides[] = { 0 };
    tlmk_f32_softmax_masked__cuda_row(m->y, m->x, m->mask, 2, 12300, 1, row_dims, mask_strides, 1);
}

/* 9 x 130: a warp a row */
struct softmax_vjp_row_args { float *dx; const float *g; const float *y; };
TLM_KERNEL(softmax_vjp_row)
{
    tlmk_f32_softmax_vjp__cuda_row(m->dx, m->g, m->y, 9, 130);
}

/* 2 x 12300: a block a row */
struct softmax_vjp_long_args { float *dx; const float *g; const float *y; };
TLM_KERNEL(softmax_vjp_long)
{
    tlmk_f32_softmax_vjp__cuda_row(m->dx, m->g, m->y, 2, 12300);
}

/* 9 x 130: a warp a row */
struct log_softmax_row_args { float *y; const float *x; };
TLM_KERNEL(log_softmax_row)
{
    tlmk_f32_log_softmax__cuda_row(m->y, m->x, 9, 130);
}

/* 2 x 12300: a block a row */
struct log_softmax_long_args { float *y; const float *x; };
TLM_KERNEL(log_softmax_long)
{
    tlmk_f32_log_softmax__cuda_row(m->y, m->x, 2, 12300);
}

/* 9 x 130: a warp a row */
struct log_softmax_vjp_row_args { float *dx; const float *g; const float *y; };
TLM_KERNEL(log_softmax_vjp_row)
{
    tlmk_f32_log_softmax_vjp__cuda_row(m->dx, m->g, m->y, 9, 130);
}

/* 2 x 12300: a block a row */
struct log_softmax_vjp_long_args { float *dx; const float *g; const float *y; };
TLM_KERNEL(log_softmax_vjp_long)
{
    tlmk_f32_log_softmax_vjp__cuda_row(m->dx, m->g, m->y, 2, 12300);
}

/* ---- norm.cuh */

/* 9 x 130: a warp a row */
struct layer_norm_row_args {
    float *y; float *mean; float *rstd;
    const float *x; const float *weight; const float *bias;
};
TLM_KERNEL(layer_norm_row)
{
    tlmk_f32_layer_norm__cuda_row(m->y, m->mean, m->rstd, m->x, m->weight, m->bias, 9, 130, 1e-5f);
}

/* 2 x 12300: a block a row */
struct layer_norm_long_args {
    float *y; float *mean; float *rstd;
    const float *x; const float *weight; const float *bias;
};
TLM_KERNEL(layer_norm_long)
{
    tlmk_f32_layer_norm__cuda_row(m->y, m->mean, m->rstd, m->x, m->weight, m->bias, 2, 12300,
        1e-5f);
}

/* 9 x 130: a warp a row */
struct layer_norm_vjp_row_args {
    float *dx; const float *g; const float *x;
    const float *weight; const float *mean; const float *rstd;
};
TLM_KERNEL(layer_norm_vjp_row)
{
    tlmk_f32_layer_norm_vjp__cuda_row(blockIdx.x, m->dx, m->g, m->x, m->weight, m->mean, m->rstd,
        9, 130);
}

/* 2 x 12300: a block a row */
struct layer_norm_vjp_long_args {
    float *dx; const float *g; const float *x;
    const float *weight; const float *mean; const float *rstd;
};
TLM_KERNEL(layer_norm_vjp_long)
{
    tlmk_f32_layer_norm_vjp__cuda_row(blockIdx.x, m->dx, m->g, m->x, m->weight, m->mean, m->rstd,
        2, 12300);
}

/* 70 x 40 */
struct layer_norm_vjp_weight_columns_args {
    float *dw; float *db; const float *g;
    const float *x; const float *mean; const float *rstd;
};
TLM_KERNEL(layer_norm_vjp_weight_columns)
{
    tlmk_f32_layer_norm_vjp_weight__cuda_columns(blockIdx.x, m->dw, m->db, m->g, m->x, m->mean,
        m->rstd, 70, 40);
}

/* 8200 x 33: three chunks of rows */
struct layer_norm_vjp_weight_deep_args {
    float *dw; float *db; const float *g;
    const float *x; const float *mean; const float *rstd;
};
TLM_KERNEL(layer_norm_vjp_weight_deep)
{
    tlmk_f32_layer_norm_vjp_weight__cuda_columns(blockIdx.x, m->dw, m->db, m->g, m->x, m->mean,
        m->rstd, 8200, 33);
}

/* ---- loss.cuh */

/* 130 elements: a warp */
struct mse_loss_row_args { float *loss; const float *a; const float *b; };
TLM_KERNEL(mse_loss_row)
{
    tlmk_f32_mse_loss__cuda_tree64(m->loss, m->a, m->b, 130);
}

/* 12300 elements: a block */
struct mse_loss_long_args { float *loss; const float *a; const float *b; };
TLM_KERNEL(mse_loss_long)
{
    tlmk_f32_mse_loss__cuda_tree64(m->loss, m->a, m->b, 12300);
}

/* 12300 elements: four chunks */
struct mse_chunks_args { float *parts; const float *a; const float *b; };
TLM_KERNEL(mse_chunks)
{
    tlmk_f32_mse_chunks__cuda_tree64(m->parts, m->a, m->b, 12300);
}

/* 1000 elements */
struct mse_loss_vjp_args { float *da; const float *g; const float *a; const float *b; };
TLM_KERNEL(mse_loss_vjp)
{
    tlmk_f32_mse_loss_vjp__cuda_loop(m->da, m->g, m->a, m->b, 1000);
}

/* 9 x 130: a warp a row */
struct cross_entropy_row_args {
    float *loss; float *top; float *sum;
    const float *x; const int32_t *cls;
};
TLM_KERNEL(cross_entropy_row)
{
    tlmk_f32_cross_entropy__cuda_row(m->loss, m->top, m->sum, m->x, m->cls, 9, 130);
}

/* 2 x 12300: a block a row */
struct cross_entropy_long_args {
    float *loss; float *top; float *sum;
    const float *x; const int32_t *cls;
};
TLM_KERNEL(cross_entropy_long)
{
    tlmk_f32_cross_entropy__cuda_row(m->loss, m->top, m->sum, m->x, m->cls, 2, 12300);
}

/* 9 x 130 */
struct cross_entropy_vjp_args {
    float *dx; const float *g; const float *x;
    const int32_t *cls; const float *top; const float *sum;
};
TLM_KERNEL(cross_entropy_vjp)
{
    tlmk_f32_cross_entropy_vjp__cuda_row(m->dx, m->g, m->x, m->cls, m->top, m->sum, 9, 130);
}

/* ---- random.cuh */

/* 1000 elements */
struct rand_uniform_args { float *y; const uint64_t *draws; };
TLM_KERNEL(rand_uniform)
{
    tlmk_f32_rand_uniform__cuda_loop(m->y, m->draws, 3, 1000);
}

/* 1000 elements, kept with probability 0.9 */
struct bernoulli_mask_args { float *y; const uint64_t *draws; };
TLM_KERNEL(bernoulli_mask)
{
    tlmk_f32_bernoulli_mask__cuda_loop(m->y, m->draws, 3, UINT64_C(3865470567), 1000);
}

/* ---- index.cuh */

/* 1000 elements from -5 */
struct iota_args { int32_t *y; };
TLM_KERNEL(iota)
{
    tlmk_i32_iota__cuda_loop(m->y, -5, 1000);
}

/* 300 indices below 7 */
struct check_index_args { uint32_t *fault; const int32_t *index; uint32_t check; };
TLM_KERNEL(check_index)
{
    tlmk_i32_check_index__cuda_block(m->fault, m->index, 300, 7, m->check);
}

/* [4, 9, 10] from [4, 6, 10] */
struct gather_f32_args { float *y; const float *x; const int32_t *index; };
TLM_KERNEL(gather_f32)
{
    tlmk_f32_gather__cuda_rows(m->y, m->x, m->index, 4, 6, 10, 9);
}

/* [4, 9, 10] from [4, 6, 10] */
struct gather_i32_args { int32_t *y; const int32_t *x; const int32_t *index; };
TLM_KERNEL(gather_i32)
{
    tlmk_i32_gather__cuda_rows(m->y, m->x, m->index, 4, 6, 10, 9);
}

/* [4, 9, 10] from [4, 6, 10] */
struct gather_bool_args { uint8_t *y; const uint8_t *x; const int32_t *index; };
TLM_KERNEL(gather_bool)
{
    tlmk_bool_gather__cuda_rows(m->y, m->x, m->index, 4, 6, 10, 9);
}

/* 70 updates of 300 elements to 20 rows, twice */
struct scatter_add_args { float *y; const int32_t *index; const float *updates; };
TLM_KERNEL(scatter_add)
{
    tlmk_f32_scatter_add__cuda_rows(m->y, m->index, m->updates, 2, 20, 300, 70);
}

/* ---- update.cuh: 700 elements, with clipping and every optional operand */

/* 700 elements */
struct sgd_update_args {
    float *p; const float *g; float *buf;
    const float *lr; const float *undamped; const float *gscale;
};
TLM_KERNEL(sgd_update)
{
    if (tlm_thread() < 700)
        tlmk_f32_sgd_update__cuda_loop(m->p, m->g, m->buf, m->lr, m->undamped, m->gscale, 0.9f, 1,
            0.01f, tlm_thread());
}

/* 700 elements */
struct adam_update_args {
    float *p; const float *g; float *moment; float *square;
    const float *step_size; const float *sqrt_bc2; const float *gscale;
};
TLM_KERNEL(adam_update)
{
    if (tlm_thread() < 700)
        tlmk_f32_adam_update__cuda_loop(m->p, m->g, m->moment, m->square, m->step_size,
            m->sqrt_bc2, m->gscale, 0.9f, 0.1f, 0.999f, 0.001f, 1e-8f, 0.01f, tlm_thread());
}

/* 700 elements */
struct adamw_update_args {
    float *p; const float *g; float *moment; float *square;
    const float *step_size; const float *sqrt_bc2; const float *decay; const float *gscale;
};
TLM_KERNEL(adamw_update)
{
    if (tlm_thread() < 700)
        tlmk_f32_adamw_update__cuda_loop(m->p, m->g, m->moment, m->square, m->step_size,
            m->sqrt_bc2, m->decay, m->gscale, 0.9f, 0.1f, 0.999f, 0.001f, 1e-8f, tlm_thread());
}

/* 700 elements */
struct rmsprop_update_args {
    float *p; const float *g; float *square; const float *lr;
    float *average; float *buf; const float *gscale;
};
TLM_KERNEL(rmsprop_update)
{
    if (tlm_thread() < 700)
        tlmk_f32_rmsprop_update__cuda_loop(m->p, m->g, m->square, m->lr, m->average, m->buf,
            m->gscale, 0.99f, 0.01f, 1e-8f, 0.9f, 0.01f, tlm_thread());
}

/* 700 elements */
struct adagrad_update_args {
    float *p; const float *g; float *sum;
    const float *clr; const float *gscale;
};
TLM_KERNEL(adagrad_update)
{
    if (tlm_thread() < 700)
        tlmk_f32_adagrad_update__cuda_loop(m->p, m->g, m->sum, m->clr, m->gscale, 1e-10f, 0.01f,
            tlm_thread());
}

/* 700 elements */
struct adadelta_update_args {
    float *p; const float *g; float *square;
    float *acc; const float *lr; const float *gscale;
};
TLM_KERNEL(adadelta_update)
{
    if (tlm_thread() < 700)
        tlmk_f32_adadelta_update__cuda_loop(m->p, m->g, m->square, m->acc, m->lr, m->gscale, 0.9f,
            0.1f, 1e-6f, 0.01f, tlm_thread());
}

/* 700 elements */
struct accumulate_args { float *y; const float *x; };
TLM_KERNEL(accumulate)
{
    if (tlm_thread() < 700)
        tlmk_f32_accumulate__cuda_loop(m->y, m->x, tlm_thread());
}

/* ---- probe.cuh */

/* one block */
struct probe_args { uint32_t *out; };
TLM_KERNEL(probe)
{
    tlmk_probe(m->out);
}
