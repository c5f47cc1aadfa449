/* Random draws and initial values: splitmix64 counters, the same bits as every device.  A draw's
   key is f(seed, run, site); a parameter's stream is numbered by its ordinal of first
   declaration. */
#include "spec.h"

#include <math.h>

#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)
#define PI 3.14159265358979323846

uint64_t tlmc_spec_splitmix64(uint64_t z)
{
    z += GOLDEN;
    z ^= z >> 30;
    z *= UINT64_C(0xbf58476d1ce4e5b9);
    z ^= z >> 27;
    z *= UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    return z;
}

uint64_t tlmc_spec_random_key(uint64_t seed, uint64_t step, uint64_t site)
{
    const uint64_t of_seed = tlmc_spec_splitmix64(seed);
    const uint64_t of_run = tlmc_spec_splitmix64(of_seed + step);

    return tlmc_spec_splitmix64(of_run + site);
}

static uint32_t draw(uint64_t key, uint64_t i)
{
    return (uint32_t)(tlmc_spec_splitmix64(key + i) & UINT32_MAX);
}

bool tlmc_spec_random(struct tlmc_spec *run, const struct tlmc_node *node)
{
    const uint64_t site = (uint64_t)tlmc_node_int(node, TLMC_A_SITE);
    const uint64_t key = tlmc_spec_random_key(run->env->seed, run->env->step, site);
    struct tlmc_tensor *out = tlmc_spec_out(run, node, 0);
    const int64_t count = tlmc_type_count(&out->type);
    const double threshold = ceil(tlmc_node_float(node, TLMC_A_KEEP) * 4294967296.0);

    for (int64_t i = 0; i < count; i++) {
        const uint32_t bits = draw(key, (uint64_t)i);

        if (node->op == TLMC_OP_BERNOULLI_MASK)
            out->data[i] = (double)bits < threshold;
        else
            out->data[i] = (double)(bits >> 8) / 16777216.0;
    }
    return true;
}

static double uniform(uint64_t stream, uint64_t i)
{
    return (double)draw(tlmc_spec_splitmix64(stream), i) / 4294967296.0;
}

/* Box-Muller: two draws an element; u1 in (0, 1] so that its logarithm is finite. */
static double normal(uint64_t stream, uint64_t i)
{
    const uint64_t key = tlmc_spec_splitmix64(stream);
    const double u1 = ((double)draw(key, 2 * i) + 1) / 4294967297.0;
    const double u2 = (double)draw(key, 2 * i + 1) / 4294967296.0;

    return sqrt(-2 * log(u1)) * cos(2 * PI * u2);
}

static double initial(const struct tlmc_init *init, uint64_t stream, uint64_t i)
{
    switch (init->kind) {
    case TLMC_INIT_NONE: return NAN; /* must be loaded: no number to rely on */
    case TLMC_INIT_CONSTANT: return init->a;
    case TLMC_INIT_UNIFORM: return init->a + uniform(stream, i) * (init->b - init->a);
    case TLMC_INIT_NORMAL: return init->a + init->b * normal(stream, i);
    case TLMC_INIT_TENSOR: return init->data[i];
    }
    TLMC_UNREACHABLE();
}

void tlmc_init_param(const struct tlmc_param *param, uint64_t seed, double *data)
{
    const uint64_t stream = tlmc_spec_splitmix64(seed + param->ordinal + GOLDEN);
    const int64_t count = tlmc_type_count(&param->type);
    const bool f32 = param->type.dtype == TLMC_F32;

    for (int64_t i = 0; i < count; i++) {
        const double value = initial(&param->init, stream, (uint64_t)i);

        data[i] = f32 ? tlmc_spec_f32(value) : value;
    }
}
