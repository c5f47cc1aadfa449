/* Kernels of shapes that kernels_cuda/catalogue.cu has no need of: those that show a change of the
   code which its typical shapes do not reach.  For scripts/mutate_kernels.py, which takes single
   kernels out of this file and compiles them with changed headers. */
#include "tlmk_cuda.h"

/* A struct a line. */
/* clang-format off */

/* 2^24 + 5 * 4096 terms, by a block: a level above the chunks of chunks */
struct sum_rows_levels_args { float *y; const float *x; };
TLM_KERNEL(sum_rows_levels)
{
    const float sum = tlmk_block_sum(16797696, [&](uint32_t j) { return m->x[j % 1009]; });

    if (threadIdx.x == 0)
        m->y[0] = sum;
}
