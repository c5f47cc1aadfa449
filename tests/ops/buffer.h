/* Tensors as programs hold them: float, int32_t or uint8_t elements, row-major; conversion from and
   to the interpreter's binary64, and the two comparisons of the op tests. */
#ifndef TLMC_TESTS_OPS_BUFFER_H
#define TLMC_TESTS_OPS_BUFFER_H

#include "cases.h"

struct ops_buffer {
    struct tlmc_type type;
    union {
        void *any; /* NULL: left out */
        float *f;
        int32_t *i;
        uint8_t *b;
    } data;
};

struct ops_buffer ops_buffer_new(const struct tlmc_type *type); /* zeros; heap */
void ops_buffer_free(struct ops_buffer *buffers, uint32_t count);
void ops_store(const struct tlmc_tensor *from, void *to); /* f32 rounded, at `to` */
struct ops_buffer ops_buffer_of(const struct tlmc_tensor *tensor);

/* Equal bits, or both NaN.  False with the first difference in text (200 bytes). */
bool ops_same_bits(const struct tlmc_type *type, const void *got, const void *want, char *text);

/* The interpreter's value within the row's tolerance. */
struct ops_scales {
    const struct tlmc_tensor *absolute; /* OPS_ABSOLUTE: the op over absolute values */
    const struct tlmc_tensor
        *operands;    /* OPS_OPERANDS: OPS_MAX_OPERANDS of them, data NULL where left out */
    bool elementwise; /* operands of one shape: only element i of them matters to result i */
};

bool ops_near(const struct ops_row *row, const void *got, const struct tlmc_tensor *want,
              const struct ops_scales *scales, char *text);

#endif
