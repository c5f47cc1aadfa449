/* The numbers of an optimizer step that are no tensors, from the learning rate of their group: the
   formulas, in binary64, rounded once to binary32 by whoever stores them (docs/numerics.md).  In:
   a group's options, the step.  Shared by emitted models (NAME_set_lr) and the training loop of
   libtlm, so both give the same bits. */
#ifndef TLM_SCALAR_H
#define TLM_SCALAR_H

#include "tlm_fp.h"

#include <math.h>
#include <stddef.h>

typedef struct tlm_group { /* one optimizer group: what the step scalars are made of (binary64) */
    double lr, beta1, beta2, weight_decay, dampening, lr_decay;
} tlm_group;

typedef enum tlm_scalar_kind {
    TLM_SCALAR_LR,
    TLM_SCALAR_UNDAMPED,
    TLM_SCALAR_STEP_SIZE,
    TLM_SCALAR_SQRT_BC2,
    TLM_SCALAR_DECAY,
    TLM_SCALAR_CLR
} tlm_scalar_kind;
typedef struct tlm_scalar {
    tlm_scalar_kind kind;
    uint32_t group;
} tlm_scalar;

/* The value of a kind in step `step`, counted from 0; `power` is beta1 (STEP_SIZE) or beta2
   (SQRT_BC2) multiplied step + 1 times. */
TLM_INLINE double tlm_scalar_value(tlm_scalar_kind kind, const tlm_group *group, double lr,
                                   double power, uint64_t step)
{
    switch (kind) {
    case TLM_SCALAR_LR: return lr;
    case TLM_SCALAR_UNDAMPED: return step == 0 ? 1.0 : 1.0 - group->dampening;
    case TLM_SCALAR_STEP_SIZE: return lr / (1.0 - power);
    case TLM_SCALAR_SQRT_BC2: return sqrt(1.0 - power);
    case TLM_SCALAR_DECAY: return 1.0 - lr * group->weight_decay;
    case TLM_SCALAR_CLR: return lr / (1.0 + (double)step * group->lr_decay);
    }
    return 0.0;
}

typedef struct tlm_rate { /* of a group in an emitted model */
    double lr;
    uint64_t steps; /* factors in the running products */
    double power1, power2;
} tlm_rate;

/* Brings the running products to `steps` factors; from 1 again when they are past it. */
TLM_INLINE void tlm_rate_advance(tlm_rate *rate, const tlm_group *group, uint64_t steps)
{
    if (rate->steps == 0 || rate->steps > steps) {
        rate->steps = 0;
        rate->power1 = rate->power2 = 1.0;
    }
    for (; rate->steps < steps; rate->steps++) {
        rate->power1 *= group->beta1;
        rate->power2 *= group->beta2;
    }
}

/* Sets the rate of group number `index` and fills its scalars for step `step` (from 0). */
TLM_INLINE void tlm_rate_set(tlm_rate *rate, double lr, const tlm_group *group, uint32_t index,
                             uint64_t step, const tlm_scalar *rows, size_t count, float *block)
{
    rate->lr = lr;
    tlm_rate_advance(rate, group, step + 1);
    for (size_t i = 0; i < count; i++)
        if (rows[i].group == index)
            block[i] = (float)tlm_scalar_value(rows[i].kind, group, lr,
                                               rows[i].kind == TLM_SCALAR_SQRT_BC2 ? rate->power2
                                                                                   : rate->power1,
                                               step);
}

#endif
