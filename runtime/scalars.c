/* Step scalars: see scalars.h. */
#include "scalars.h"

#include "schedule.h"
#include "status.h"

#include <inttypes.h>
#include <string.h>

/* The beta whose power a row needs; 0 with *needed = 0 when it needs none. */
static double scalars_beta(const tlm_train *train, const tlm_scalar *row, int *needed)
{
    *needed = row->kind == TLM_SCALAR_STEP_SIZE || row->kind == TLM_SCALAR_SQRT_BC2;
    if (row->kind == TLM_SCALAR_STEP_SIZE)
        return train->groups[row->group].beta1;
    return row->kind == TLM_SCALAR_SQRT_BC2 ? train->groups[row->group].beta2 : 0.0;
}

/* The place of a beta's power; power_count: not there yet. */
static uint32_t scalars_find(const struct tlm_scalars *scalars, double beta)
{
    uint32_t i = 0;

    while (i < scalars->power_count && memcmp(&scalars->betas[i], &beta, sizeof beta) != 0)
        i++;
    return i;
}

tlm_status tlm_scalars_start(struct tlm_scalars *scalars, const tlm_train *train, int64_t total,
                             char *error)
{
    memset(scalars, 0, sizeof *scalars);
    scalars->train = train;
    scalars->total = total;
    for (uint32_t i = 0; i < train->scalar_count; i++) {
        int needed;
        const double beta = scalars_beta(train, &train->scalars[i], &needed);

        if (!needed || scalars_find(scalars, beta) < scalars->power_count)
            continue;
        if (scalars->power_count == TLM_POWERS)
            return tlm_fail(error, TLM_ERR_ARGUMENT,
                            "the optimizer groups have more than %d different betas", TLM_POWERS);
        scalars->betas[scalars->power_count] = beta;
        scalars->powers[scalars->power_count++] = 1.0;
    }
    return TLM_OK;
}

tlm_status tlm_scalars_resume(struct tlm_scalars *scalars, const tlm_run_state *run, char *error)
{
    if (run->power_count != scalars->power_count)
        return tlm_fail(error, TLM_ERR_MISMATCH,
                        "the saved run has %" PRIu32
                        " running products, this model's optimizer %" PRIu32,
                        run->power_count, scalars->power_count);
    memcpy(scalars->powers, run->powers, sizeof scalars->powers);
    return TLM_OK;
}

static double scalars_value(const struct tlm_scalars *scalars, const tlm_scalar *row, double factor,
                            uint64_t step)
{
    const tlm_group *const group = &scalars->train->groups[row->group];
    int needed;
    const double beta = scalars_beta(scalars->train, row, &needed);
    const double power = needed ? scalars->powers[scalars_find(scalars, beta)] : 0.0;

    return tlm_scalar_value(row->kind, group, group->lr * factor, power, step);
}

void tlm_scalars_next(struct tlm_scalars *scalars, uint64_t step, float *block)
{
    const tlm_train *const train = scalars->train;
    const double factor =
        tlm_schedule_factor(train->schedule, train->schedule_count, scalars->total, (int64_t)step);

    for (uint32_t i = 0; i < scalars->power_count; i++)
        scalars->powers[i] *= scalars->betas[i];
    for (uint32_t i = 0; i < train->scalar_count; i++)
        block[i] = (float)scalars_value(scalars, &train->scalars[i], factor, step);
}

double tlm_scalars_lr(const struct tlm_scalars *scalars, uint64_t step)
{
    const tlm_train *const train = scalars->train;

    if (train->group_count == 0)
        return 0.0;
    return train->groups[train->group_count - 1].lr *
           tlm_schedule_factor(train->schedule, train->schedule_count, scalars->total,
                               (int64_t)step);
}
