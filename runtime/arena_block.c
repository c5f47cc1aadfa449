/* tlm_arena_new: the three memory blocks of a model in one allocation, for those who do not bring
   their own. */
#include "alloc.h"
#include "tlm.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* *size rounded up to TLM_ALIGN, at least one line so that no block is NULL; false when that
   overflows. */
static bool arena_round_up(size_t *size)
{
    size_t padded;

    if (!tlm_size_add(*size == 0 ? 1 : *size, TLM_ALIGN - 1, &padded))
        return false;
    *size = padded / TLM_ALIGN * TLM_ALIGN;
    return true;
}

tlm_status tlm_arena_new(tlm_options *options, size_t weights_bytes, size_t state_bytes,
                         size_t activations_bytes)
{
    size_t weights = weights_bytes, state = state_bytes, activations = activations_bytes;
    size_t total;
    char *block;

    if (!options || options->size != sizeof *options)
        return TLM_ERR_ARGUMENT;
    if (!arena_round_up(&weights) || !arena_round_up(&state) || !arena_round_up(&activations) ||
        !tlm_size_add(weights, state, &total) || !tlm_size_add(total, activations, &total))
        return TLM_ERR_MEMORY;
    block = aligned_alloc(TLM_ALIGN, total);
    if (!block)
        return TLM_ERR_MEMORY;
    memset(block, 0, total);
    options->weights = block;
    options->state = block + weights;
    options->activations = block + weights + state;
    options->weights_bytes = weights_bytes;
    options->state_bytes = state_bytes;
    options->activations_bytes = activations_bytes;
    return TLM_OK;
}

void tlm_arena_free(tlm_options *options)
{
    if (!options)
        return;
    free(options->weights); /* the start of the one allocation */
    options->weights = options->state = options->activations = NULL;
    options->weights_bytes = options->state_bytes = options->activations_bytes = 0;
}
