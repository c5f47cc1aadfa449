/* The reference kernels: the plainest C there is for each op, scalar, sums as left folds, libm for
   transcendental functions.  Names and parameters are those of tlmk_cpu.h with `ref` for `cpu`;
   items are the same (items.h).  Written by hand, apart from the fast family and from
   tlm_pointwise.def: what it is compared with must not share its mistakes. */
#ifndef TLMK_REF_H
#define TLMK_REF_H

#include "tlm_rt.h"

#include "items.h"
#include "ref/pointwise.h"
#include "ref/copy.h"
#include "ref/reduce.h"
#include "ref/matmul.h"
#include "ref/softmax.h"
#include "ref/norm.h"
#include "ref/loss.h"
#include "ref/random.h"
#include "ref/index.h"
#include "ref/update.h"

#endif
