/* Kernels of shapes that kernels_cuda/catalogue.cu has no need of: those that show a change of the
   code which its typical shapes do not reach.  For scripts/mutate_kernels.py, which takes single
   kernels out of this file, what stands before the first with them, and compiles them with changed
   headers. */
#include "tlmk_cuda.h"

/* Terms of long sums come from their number: no memory is that large.  The first and the fifth 2^24
   of them cancel, so that sums in another order lose what the third ones bring. */
TLM_INLINE float long_term(uint32_t j)
{
    const uint32_t part = j >> 24;
    const float scale = part == 0 ? 1024.0f : part == 2 ? 0x1p-10f : part == 4 ? -1024.0f : 1.0f;

    return (float)(j % 0x1000000u % 1021u) * 0.1f * scale;
}

/* A struct a line. */
/* clang-format off */

/* [1, 8232, 1]: a block a row, the last element belongs to its second warp */
struct reduce_max_f32_second_warp_args { float *y; const float *x; };
TLM_KERNEL(reduce_max_f32_second_warp)
{
    tlmk_f32_reduce_max__cuda_tree(m->y, m->x, 1, 8232, 1);
}

/* [3, 5, 1]: lanes of the warp without an element */
struct argmax_f32_short_args { int32_t *y; const float *x; };
TLM_KERNEL(argmax_f32_short)
{
    tlmk_f32_argmax__cuda_rows(m->y, m->x, 3, 5, 1);
}

/* [2, 5, 40]: warps of the block without an element */
struct argmax_f32_few_args { int32_t *y; const float *x; };
TLM_KERNEL(argmax_f32_few)
{
    tlmk_f32_argmax__cuda_rows(m->y, m->x, 2, 5, 40);
}

/* [3, 4, 5], a mask for each row; rows with no element above 0, or none at all */
struct softmax_masked_narrow_args { float *y; const float *x; const uint8_t *mask; };
TLM_KERNEL(softmax_masked_narrow)
{
    const uint32_t row_dims[] = { 3, 4 };
    const uint64_t mask_strides[] = { 20, 5 };
    tlmk_f32_softmax_masked__cuda_row(m->y, m->x, m->mask, 12, 5, 2, row_dims, mask_strides, 1);
}

/* 512 indices: the last belongs to the last lane of the last warp */
struct check_index_warps_args { uint32_t *fault; const int32_t *index; uint32_t check; };
TLM_KERNEL(check_index_warps)
{
    tlmk_i32_check_index__cuda_block(m->fault, m->index, 512, 7, m->check);
}

/* 70 updates of 5 elements to 40 rows */
struct scatter_add_pairs_args { float *y; const int32_t *index; const float *updates; };
TLM_KERNEL(scatter_add_pairs)
{
    tlmk_f32_scatter_add__cuda_rows(m->y, m->index, m->updates, 1, 40, 5, 70);
}

/* 100 elements; the threshold is the number that is drawn for element 7 */
struct bernoulli_equal_args { float *y; const uint64_t *draws; };
TLM_KERNEL(bernoulli_equal)
{
    const uint64_t key = tlm_random_key(m->draws[0], m->draws[1], 3);

    tlmk_f32_bernoulli_mask__cuda_loop(m->y, m->draws, 3, tlm_random_u32(key, 7), 100);
}

/* ---- products */

/* 16 x 68 x 72, float4: three slices of k; the first to see most changes, with the next one */
struct mm_fours_args { float *c; const float *a; const float *b; };
TLM_KERNEL(mm_fours)
{
    tlmk_f32_matmul__cuda_tiled(m->c, m->a, m->b, 16, 68, 72, 0, 0, 0, nullptr, nullptr, nullptr);
}

/* 13 x 67 x 71, single elements, a stored transposed */
struct mm_ones_args { float *c; const float *a; const float *b; };
TLM_KERNEL(mm_ones)
{
    tlmk_f32_matmul__cuda_tiled(m->c, m->a, m->b, 13, 67, 71, 1, 0, 0, nullptr, nullptr, nullptr);
}

/* 132 x 136 x 20, float4: the largest tile */
struct mm_large_args { float *c; const float *a; const float *b; };
TLM_KERNEL(mm_large)
{
    tlmk_f32_matmul__cuda_tiled(m->c, m->a, m->b, 132, 136, 20, 0, 0, 0, nullptr, nullptr, nullptr);
}

/* 4 of 5 x 8 x 8; operands of a batch start at any element */
struct mm_anywhere_args { float *c; const float *a; const float *b; };
TLM_KERNEL(mm_anywhere)
{
    const uint32_t dims[] = { 4 };
    const uint64_t a_strides[] = { 2 }, b_strides[] = { 3 };
    tlmk_f32_matmul__cuda_tiled(m->c, m->a, m->b, 5, 8, 8, 0, 0, 1, dims, a_strides, b_strides);
}

/* 5 x 8 x 512 */
struct mm_one_args { float *c; const float *a; const float *b; };
TLM_KERNEL(mm_one)
{
    tlmk_f32_matmul__cuda_tiled(m->c, m->a, m->b, 5, 8, 512, 0, 0, 0, nullptr, nullptr, nullptr);
}

/* 5 x 8 x 513 */
struct mm_two_args { float *c; const float *a; const float *b; };
TLM_KERNEL(mm_two)
{
    tlmk_f32_matmul__cuda_tiled(m->c, m->a, m->b, 5, 8, 513, 0, 0, 0, nullptr, nullptr, nullptr);
}

/* 2 of 4 x 2 x 6: operands of a batch are aligned, their rows are not, columns of a would be */
struct mm_rows_args { float *c; const float *a; const float *b; };
TLM_KERNEL(mm_rows)
{
    const uint32_t dims[] = { 2 };
    const uint64_t a_strides[] = { 24 }, b_strides[] = { 12 };
    tlmk_f32_matmul__cuda_tiled(m->c, m->a, m->b, 4, 2, 6, 0, 0, 1, dims, a_strides, b_strides);
}

/* 5 x 6 x 4: columns of b would be aligned */
struct mm_columns_args { float *c; const float *a; const float *b; };
TLM_KERNEL(mm_columns)
{
    tlmk_f32_matmul__cuda_tiled(m->c, m->a, m->b, 5, 6, 4, 0, 0, 0, nullptr, nullptr, nullptr);
}

/* 5 x 8 x 3 */
struct mm_thin_args { float *c; const float *a; const float *b; };
TLM_KERNEL(mm_thin)
{
    tlmk_f32_matmul__cuda_tiled(m->c, m->a, m->b, 5, 8, 3, 0, 0, 0, nullptr, nullptr, nullptr);
}

/* 5 x 8 x 0 */
struct mm_empty_args { float *c; const float *a; const float *b; };
TLM_KERNEL(mm_empty)
{
    tlmk_f32_matmul__cuda_tiled(m->c, m->a, m->b, 5, 8, 0, 0, 0, 0, nullptr, nullptr, nullptr);
}

/* ---- levels above the chunks */

/* a result to each of 100 lanes: all of them, some twice */
struct level_lanes_args { float *y; const float *x; };
TLM_KERNEL(level_lanes)
{
    struct tlmk_level level = { 0.0f, 0.0f };

    for (uint32_t at = 0; at < 100; at++)
        tlmk_level_add(&level, at, m->x[at]);
    if (tlm_warp() == 0) {
        m->y[tlm_lane()] = level.low;
        m->y[TLMK_WARP + tlm_lane()] = level.high;
    }
}

/* 4096 chunks: the last number that needs no level above them */
struct sum_rows_chunks_args { float *y; };
TLM_KERNEL(sum_rows_chunks)
{
    const float sum = tlmk_block_sum(4096 * 4096, long_term);

    if (threadIdx.x == 0)
        m->y[0] = sum;
}

/* five times as many: sums of five lanes differ by their order */
struct sum_rows_levels_args { float *y; };
TLM_KERNEL(sum_rows_levels)
{
    const float sum = tlmk_block_sum(5 * 4096 * 4096, long_term);

    if (threadIdx.x == 0)
        m->y[0] = sum;
}

/* the same in a column */
struct sum_columns_levels_args { float *y; };
TLM_KERNEL(sum_columns_levels)
{
    const struct tlmk_terms<1> sum =
        tlmk_column_sums<1>(5 * 4096 * 4096, tlm_lane() == 0, [](uint32_t row) {
            const struct tlmk_terms<1> term = { { long_term(row) } };

            return term;
        });

    if (threadIdx.x == 0)
        m->y[0] = sum.of[0];
}
