/* quickstart_mlp trained through its API alone, 20 steps on rows read from standard input; writes
   the weights to standard output, key by key.  Memory is static: nothing but the model is linked.
 */
#include "quickstart_mlp.h"

#include <stdio.h>
#include <string.h>

enum { ROWS = 25, STEPS = 20 };

static _Alignas(64) unsigned char weights[QUICKSTART_MLP_WEIGHTS_BYTES];
static _Alignas(64) unsigned char state[QUICKSTART_MLP_STATE_BYTES];
static _Alignas(64) unsigned char activations[QUICKSTART_MLP_ACTIVATIONS_BYTES];

static int step(quickstart_mlp *m, float rows[ROWS][3])
{
    const float *row = rows[quickstart_mlp_get_step(m) % ROWS];

    memcpy(quickstart_mlp_train_input_x(m), row, 2 * sizeof *row);
    memcpy(quickstart_mlp_train_target_y(m), row + 2, sizeof *row);
    if (quickstart_mlp_get_step(m) % 2) /* the same in one call */
        return quickstart_mlp_set_lr(m, 0, quickstart_mlp_get_lr(m, 0)) == TLM_OK &&
               quickstart_mlp_train_batch(m) == TLM_OK;
    return quickstart_mlp_train_forward(m) == TLM_OK &&
           quickstart_mlp_train_backward(m) == TLM_OK &&
           quickstart_mlp_set_lr(m, 0, quickstart_mlp_get_lr(m, 0)) == TLM_OK &&
           quickstart_mlp_train_step(m) == TLM_OK;
}

int main(void)
{
    tlm_options options = TLM_OPTIONS_INIT;
    static float rows[ROWS][3];
    float third[QUICKSTART_MLP_SCALARS];
    quickstart_mlp *m;
    const tlm_param *params;
    size_t count;

    options.abi = QUICKSTART_MLP_ABI;
    options.weights = weights, options.weights_bytes = sizeof weights;
    options.state = state, options.state_bytes = sizeof state;
    options.activations = activations, options.activations_bytes = sizeof activations;
    options.seed = 2026;
    for (int i = 0; i < ROWS; i++)
        if (scanf("%f,%f,%f", &rows[i][0], &rows[i][1], &rows[i][2]) != 3)
            return 2;
    if (quickstart_mlp_create(&m, &options) != TLM_OK || quickstart_mlp_get_lr(m, 0) != 0.03 ||
        quickstart_mlp_set_lr(m, 1, 0.1) != TLM_ERR_ARGUMENT)
        return 1;
    for (int i = 0; i < STEPS; i++) {
        if (i == STEPS / 2) { /* back to the numbers of an earlier step, and on */
            quickstart_mlp_set_step(m, 3);
            quickstart_mlp_set_lr(m, 0, 0.03);
            if (memcmp(third, quickstart_mlp_scalars(m), sizeof third) != 0)
                return 1;
            quickstart_mlp_set_step(m, STEPS / 2);
        }
        if (!step(m, rows))
            return 1;
        if (i == 3)
            memcpy(third, quickstart_mlp_scalars(m), sizeof third);
    }
    params = quickstart_mlp_params(m, &count);
    for (size_t i = 0; i < count; i++) {
        const float *data = params[i].data;

        if (params[i].kind == TLM_PARAM_TRAINED)
            for (size_t k = 0; k < params[i].count; k++)
                printf("%s %a\n", params[i].key, (double)data[k]);
    }
    return 0;
}
