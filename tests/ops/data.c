/* What the operands of a case hold: values of its domain from counters, special numbers in every
   combination, ties, or distinct values away from kinks for central differences.  f32 values are
   binary32 numbers, except for differences. */
#include "cases.h"
#include "hash.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Each letter allows some. */
static const struct {
    char letter;
    double value;
} specials[] = {
    { 'N', NAN },       { 'I', INFINITY },   { 'I', -INFINITY },      { 'Z', 0.0 },
    { 'Z', -0.0 },      { 'S', 0x1p-149 },   { 'S', -0x1p-149 },      { 'S', 0x1.fffffcp-127 },
    { 'S', -0x1p-126 }, { 'S', 0x1.8p-130 }, { 'H', 0x1.fffffep127 }, { 'H', -0x1.fffffep127 },
    { 'H', 1e30 },      { 'H', -3e9 },       { 'H', 16777217.0 },     { '*', 1.0 },
    { '*', -1.0 },      { '*', 0.5 },        { '*', -2.5 },           { '*', 0.7 },
    { '*', 3.0 },
};

uint32_t ops_specials(const struct ops_row *row, double *out)
{
    uint32_t count = 0;

    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
        if (specials[i].letter == '*' || strchr(row->specials, specials[i].letter))
            out[count++] = (double)(float)specials[i].value;
    return count;
}

/* By the op's name: a new row of the op table leaves the numbers of the others alone. */
static uint64_t bits_of(const struct ops_case *c, uint32_t operand, uint64_t i)
{
    const char *op = tlmc_op_info(c->row->op)->name;
    const uint64_t key =
        tlmc_spec_random_key(tlmc_hash(TLMC_HASH_BASIS, op, strlen(op)), operand, strlen(c->name));

    return tlmc_spec_splitmix64(key + i);
}

static double unit(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1p-53;
}

/* Whole numbers from low to high for i32 and bool. */
static double plain(const struct ops_operand *operand, uint64_t bits)
{
    const double span = operand->high - operand->low;

    if (operand->type.dtype == TLMC_BOOL)
        return (double)(bits >> 40 & 1);
    if (operand->type.dtype == TLMC_I32)
        return floor(operand->low + unit(bits) * (span + 1));
    return (double)(float)(operand->low + unit(bits) * span);
}

/* Seven values, whole or quarters, so that equal ones are frequent. */
static double tied(const struct ops_operand *operand, uint64_t bits)
{
    if (operand->type.dtype == TLMC_BOOL)
        return (double)(bits >> 40 & 1);
    return fmin(operand->high, fmax(operand->low, (double)(bits % 7) - 3));
}

/* Pointwise: all combinations.  Rows: row r has special number r in one column; the second half of
   the rows holds nothing else.  Further operands of a sum are plain. */
static double special(const struct ops_case *c, uint32_t n, int64_t i)
{
    double values[32];
    const uint32_t count = ops_specials(c->row, values);
    const struct ops_operand *operand = &c->operands[n];
    const int64_t columns = operand->type.rank == 2 ? operand->type.dims[1] : 1;

    if (operand->type.rank == 2 && n == 0) {
        const int64_t r = i / columns;

        if (r < count && i % columns != r % columns)
            return plain(operand, bits_of(c, n, (uint64_t)i));
        return values[r % count];
    }
    if (tlmc_op_info(c->row->op)->family != TLMC_POINTWISE &&
        tlmc_op_info(c->row->op)->family != TLMC_MOVE && c->row->op != TLMC_OP_MSE_LOSS_VJP)
        return plain(operand, bits_of(c, n, (uint64_t)i));
    for (uint32_t k = 0; k < n; k++)
        i /= count;
    return values[i % count];
}

struct tlmc_tensor ops_data(const struct ops_case *c, uint32_t operand)
{
    const struct ops_operand *o = &c->operands[operand];
    struct tlmc_tensor t = tlmc_tensor_new(&o->type);
    const int64_t count = tlmc_type_count(&o->type);

    for (int64_t i = 0; i < count; i++) {
        if (c->fill == OPS_SPECIAL && o->type.dtype == TLMC_F32)
            t.data[i] = special(c, operand, i);
        else if (c->fill == OPS_TIES)
            t.data[i] = tied(o, bits_of(c, operand, (uint64_t)i));
        else
            t.data[i] = plain(o, bits_of(c, operand, (uint64_t)i));
    }
    return t;
}

/* ---- smooth data */

bool ops_is_smooth(const struct ops_case *c, uint32_t operand)
{
    return c->operands[operand].role == OPS_INPUT && c->operands[operand].type.dtype == TLMC_F32;
}

/* Small enough for two evaluations an element. */
bool ops_is_gradient_case(const struct ops_case *c)
{
    enum { LARGEST = 220 };
    int64_t elements = 0;

    for (uint32_t i = 0; i < c->operand_count; i++)
        if (ops_is_smooth(c, i))
            elements += tlmc_type_count(&c->operands[i].type);
    return elements > 0 && elements <= LARGEST && c->fill == OPS_PLAIN && !c->out_of_range;
}

/* Distance to the nearest kink: "whole", "half" or numbers separated by blanks. */
static double kink_distance(const char *kinks, double x)
{
    double best = INFINITY;

    if (strcmp(kinks, "whole") == 0)
        return fabs(x - nearbyint(x));
    if (strcmp(kinks, "half") == 0)
        return fabs(x + 0.5 - nearbyint(x + 0.5));
    while (*kinks) {
        char *end;

        best = fmin(best, fabs(x - strtod(kinks, &end)));
        kinks = end + strspn(end, " ");
    }
    return best;
}

struct tlmc_tensor ops_smooth_data(const struct ops_case *c, uint32_t operand, uint64_t salt)
{
    enum { PLACES = 4099 }; /* prime: multiples of a stride below it are all distinct */
    const struct ops_operand *o = &c->operands[operand];
    struct tlmc_tensor t = tlmc_tensor_new(&o->type);
    const int64_t count = tlmc_type_count(&o->type);

    if (o->type.dtype != TLMC_F32) {
        tlmc_tensor_free(&t, 1);
        return ops_data(c, operand);
    }
    for (int64_t i = 0; i < count; i++) {
        const uint64_t place = ((uint64_t)i * 10 + operand + salt) * 1597 % PLACES;

        t.data[i] = o->low + (o->high - o->low) * ((double)place + 0.5) / PLACES;
        if (kink_distance(c->row->kinks, t.data[i]) < 1e-3)
            t.data[i] += 2.5e-3;
    }
    return t;
}
