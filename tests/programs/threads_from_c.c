/* digits_mlp trained through its API, 3 steps on made-up rows, with as many threads as the first
   argument says: those of a pool with WITH_POOL, else OpenMP's if compiled for it, else none.
   Writes the weights to standard output, and how many threads there are then to standard error. */
#include "digits_mlp.h"

#include <stdio.h>
#include <stdlib.h>
#ifdef WITH_POOL
#include "tlm_pool.h"
#endif

#include <dirent.h>

enum { ROWS = 64, PIXELS = 64, STEPS = 3 };

static _Alignas(64) unsigned char weights[DIGITS_MLP_WEIGHTS_BYTES];
static _Alignas(64) unsigned char state[DIGITS_MLP_STATE_BYTES];
static _Alignas(64) unsigned char activations[DIGITS_MLP_ACTIVATIONS_BYTES];

static int step(digits_mlp *m, int n)
{
    for (int i = 0; i < ROWS * PIXELS; i++)
        digits_mlp_train_input_x(m)[i] = (float)((i * 31 + n * 17) % 16);
    for (int i = 0; i < ROWS; i++)
        digits_mlp_train_target_y(m)[i] = (i * 7 + n) % 10;
    return digits_mlp_train_forward(m) == TLM_OK && digits_mlp_train_backward(m) == TLM_OK &&
           digits_mlp_train_step(m) == TLM_OK;
}

static void write_weights(digits_mlp *m)
{
    size_t count;
    const tlm_param *params = digits_mlp_params(m, &count);

    for (size_t i = 0; i < count; i++) {
        const float *data = params[i].data;

        if (params[i].kind == TLM_PARAM_TRAINED)
            for (size_t k = 0; k < params[i].count; k++)
                printf("%s %a\n", params[i].key, (double)data[k]);
    }
}

/* Also "." and "..". */
static int entries(const char *folder)
{
    DIR *open = opendir(folder);
    int count = 0;

    while (open && readdir(open))
        count++;
    if (open)
        closedir(open);
    return count;
}

int main(int argc, char **argv)
{
    tlm_options options = TLM_OPTIONS_INIT;
    digits_mlp *m;

    options.abi = DIGITS_MLP_ABI;
    options.weights = weights, options.weights_bytes = sizeof weights;
    options.state = state, options.state_bytes = sizeof state;
    options.activations = activations, options.activations_bytes = sizeof activations;
    options.seed = 2026;
    options.threads = argc > 1 ? (uint32_t)atoi(argv[1]) : 0;
#ifdef WITH_POOL
    tlm_pool *pool;

    if (tlm_pool_new(&pool, options.threads, NULL) != TLM_OK)
        return 1;
    options.parallel = tlm_pool_run;
    options.parallel_user = pool;
#endif
    if (digits_mlp_create(&m, &options) != TLM_OK)
        return 1;
    for (int n = 0; n < STEPS; n++)
        if (!step(m, n))
            return 1;
    write_weights(m);
    fprintf(stderr, "%d\n", entries("/proc/self/task") - 2);
    digits_mlp_destroy(m);
#ifdef WITH_POOL
    tlm_pool_free(pool);
#endif
    return 0;
}
