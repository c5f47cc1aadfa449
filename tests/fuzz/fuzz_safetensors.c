/* Any bytes as a checkpoint, loaded into a small model with and without a run and a mapping.
   Whatever is refused leaves the model as it was. */
#include "checkpoint.h"
#include "safetensors.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz_model {
    float weight[6], moment[6];
    int32_t steps;
    uint8_t mask[4];
};

static void load(const uint8_t *data, size_t size, const tlm_mapping *mapping, tlm_run_state *run)
{
    struct fuzz_model model, before;
    const tlm_param params[] = {
        { sizeof(tlm_param),
          "fc.weight",
          TLM_F32,
          2,
          { 2, 3 },
          6,
          model.weight,
          NULL,
          TLM_PARAM_TRAINED,
          1 },
        { sizeof(tlm_param),
          "tlm.m",
          TLM_F32,
          1,
          { 6 },
          6,
          model.moment,
          NULL,
          TLM_PARAM_OPTIMIZER,
          0 },
        { sizeof(tlm_param),
          "steps",
          TLM_I32,
          0,
          { 0 },
          1,
          &model.steps,
          NULL,
          TLM_PARAM_STATE,
          0 },
        { sizeof(tlm_param), "mask", TLM_BOOL, 1, { 3 }, 3, model.mask, NULL, TLM_PARAM_STATE, 0 },
    };
    char error[TLM_ERROR_BYTES];

    memset(&model, 1, sizeof model);
    before = model;
    if (tlm_load_bytes(params, 4, data, size, "fuzz", mapping, run, NULL, NULL, error) != TLM_OK &&
        (memcmp(&model, &before, sizeof model) != 0 || strncmp(error, "fuzz:", 5) != 0))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const from[] = { "fc.*", "*" }, *const to[] = { "*.?", "m.*" };
    static const char *const ignore[] = { "x*" }, *const only[] = { "fc.*" };
    const tlm_mapping mapping = { sizeof mapping, from, to, 2, ignore, 1, only, 1 };
    tlm_run_state run = { .size = sizeof run };

    load(data, size, NULL, NULL);
    load(data, size, &mapping, NULL);
    load(data, size, NULL, &run);
    return 0;
}
