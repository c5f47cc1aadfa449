/* Program tensors and their comparison. */
#include "buffer.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ops_buffer ops_buffer_new(const struct tlmc_type *type)
{
    const size_t count = (size_t)tlmc_type_count(type);
    struct ops_buffer b = { .type = *type };

    b.data.any = calloc(count ? count : 1, sizeof(float));
    if (!b.data.any)
        tlmc_out_of_memory();
    return b;
}

void ops_buffer_free(struct ops_buffer *buffers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        free(buffers[i].data.any);
}

void ops_store(const struct tlmc_tensor *from, void *to)
{
    const int64_t count = tlmc_type_count(&from->type);
    float *f = to;
    int32_t *n = to;
    uint8_t *b = to;

    for (int64_t i = 0; i < count; i++) {
        if (from->type.dtype == TLMC_F32)
            f[i] = (float)from->data[i];
        else if (from->type.dtype == TLMC_I32)
            n[i] = (int32_t)from->data[i];
        else
            b[i] = from->data[i] != 0;
    }
}

struct ops_buffer ops_buffer_of(const struct tlmc_tensor *tensor)
{
    struct ops_buffer b = ops_buffer_new(&tensor->type);

    ops_store(tensor, b.data.any);
    return b;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

bool ops_same_bits(const struct tlmc_type *type, const void *got, const void *want, char *text)
{
    const int64_t count = tlmc_type_count(type);
    const float *f = got, *g = want;
    const int32_t *n = got, *m = want;
    const uint8_t *b = got, *c = want;

    for (int64_t i = 0; i < count; i++) {
        if (type->dtype == TLMC_F32 && bits_of(f[i]) != bits_of(g[i]) &&
            !(isnan(f[i]) && isnan(g[i]))) {
            snprintf(text, 200, "element %lld: %a (%.9g), wanted %a (%.9g)", (long long)i,
                     (double)f[i], (double)f[i], (double)g[i], (double)g[i]);
            return false;
        }
        if (type->dtype == TLMC_I32 && n[i] != m[i]) {
            snprintf(text, 200, "element %lld: %d, wanted %d", (long long)i, n[i], m[i]);
            return false;
        }
        if (type->dtype == TLMC_BOOL && b[i] != c[i]) {
            snprintf(text, 200, "element %lld: %u, wanted %u", (long long)i, b[i], c[i]);
            return false;
        }
    }
    return true;
}

/* Infinite where binary64 is beyond, or within the tolerance of, the largest binary32 number. */
static bool is_near(double got, double want, double bound)
{
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got);
    if (isinf(want))
        return got == want;
    if (isinf(got))
        return signbit(got) == signbit(want) && fabs(want) >= (double)FLT_MAX - bound;
    if (isinf((float)want))
        return signbit(got) == signbit(want) && fabs(got) >= (double)FLT_MAX - bound;
    return fabs(got - want) <= bound;
}

static double largest(const struct tlmc_tensor *t, int64_t begin, int64_t end)
{
    double most = 1;

    for (int64_t i = begin; i < end; i++)
        if (isfinite(t->data[i]))
            most = fmax(most, fabs(t->data[i]));
    return most;
}

/* The product over the float operands of max(1, largest absolute value): of all their elements, or
   of element i. */
static double operand_scale(const struct ops_scales *scales, int64_t i)
{
    double scale = 1;

    for (uint32_t k = 0; k < OPS_MAX_OPERANDS; k++) {
        const struct tlmc_tensor *t = &scales->operands[k];

        if (t->data && t->type.dtype == TLMC_F32)
            scale *= scales->elementwise ? largest(t, i, i + 1)
                                         : largest(t, 0, tlmc_type_count(&t->type));
    }
    return scale;
}

bool ops_near(const struct ops_row *row, const void *got, const struct tlmc_tensor *want,
              const struct ops_scales *scales, char *text)
{
    const int64_t count = tlmc_type_count(&want->type);
    const float *f = got;
    double scale = 0;

    if (want->type.dtype != TLMC_F32 || (row->ulps == 0 && row->scaled == 0)) {
        struct ops_buffer rounded = ops_buffer_of(want);
        const bool same = ops_same_bits(&want->type, got, rounded.data.any, text);

        ops_buffer_free(&rounded, 1);
        return same;
    }
    if (row->scale == OPS_OPERANDS && !scales->elementwise)
        scale = operand_scale(scales, 0);
    for (int64_t i = 0; i < count; i++) {
        double bound;

        if (row->scale == OPS_ABSOLUTE)
            scale = scales->absolute->data[i];
        else if (row->scale == OPS_OPERANDS && scales->elementwise)
            scale = operand_scale(scales, i);
        bound = row->ulps * fabs(want->data[i]) + (isfinite(scale) ? row->scaled * scale : 0);
        bound = bound * 0x1p-24 + (1 + row->scaled) * 0x1p-149; /* every step may underflow */
        if (!is_near((double)f[i], want->data[i], bound)) {
            snprintf(text, 200, "element %lld: %.9g, interpreter %.17g, bound %.3g (%s)",
                     (long long)i, (double)f[i], want->data[i], bound, row->reason);
            return false;
        }
    }
    return true;
}
