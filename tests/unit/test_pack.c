/* Packed images: what is packed unpacks to the same bytes, repetition packs well, a stream that is
   cut off is refused, and no change of a bit leads outside of either buffer (which sanitizers would
   see).  A changed bit need not be noticed: the driver checks what it loads. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "cuda_unpack.c" /* of the CUDA runtime, which no library here has */
#include "pack.h"

#include <stdlib.h>

enum { MOST = 100000 };

static uint32_t draw(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 16;
}

/* From and into memory of exactly those sizes. */
static int unpacks(const struct tlmc_strbuf *packed, size_t length, unsigned char *result,
                   size_t size)
{
    unsigned char *stream = malloc(length ? length : 1);
    int ok;

    assert_non_null(stream);
    memcpy(stream, packed->text, length);
    ok = tlm_cuda_unpack(stream, length, result, size);
    free(stream);
    return ok;
}

static size_t round_trip(const unsigned char *data, size_t size)
{
    struct tlmc_strbuf packed = { 0 };
    unsigned char *result = malloc(size ? size : 1);
    size_t length;

    assert_non_null(result);
    tlmc_pack(data, size, &packed);
    length = packed.length;
    assert_true(unpacks(&packed, length, result, size));
    assert_memory_equal(result, data, size);
    if (size > 0) /* not a byte less, not a byte more */
        assert_false(unpacks(&packed, length, result, size - 1));
    assert_false(unpacks(&packed, length - 1, result, size));
    free(result);
    tlmc_strbuf_free(&packed);
    return length;
}

static void test_round_trips(void **state)
{
    unsigned char *data = calloc(MOST, 1);
    uint32_t seed = 7;
    size_t length;

    (void)state;
    assert_non_null(data);
    for (size_t size = 0; size < 40; size++)
        round_trip(data, size);
    assert_true(round_trip(data, MOST) < 32); /* one byte repeated */
    for (size_t i = 0; i < MOST; i++)
        data[i] = (unsigned char)draw(&seed);
    length = round_trip(data, MOST);
    assert_true(length > MOST && length < MOST + MOST / 100); /* nothing repeats */
    for (size_t size = 0; size < 300; size++)                 /* counts around their limits */
        round_trip(data, size);
    for (size_t i = 0; i < MOST; i++)
        data[i] = (unsigned char)(draw(&seed) % 3);
    round_trip(data, MOST);
    for (size_t i = 0; i < MOST; i++) /* far matches, long ones */
        data[i] = i < 30000 ? (unsigned char)draw(&seed) : data[i - 30000];
    length = round_trip(data, 30000);
    assert_true(round_trip(data, MOST) < length + 32);
    free(data);
}

static void test_damage(void **state)
{
    unsigned char data[2000], result[2000];
    struct tlmc_strbuf packed = { 0 };
    uint32_t seed = 11;

    (void)state;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i % 100 < 60 ? i % 100 : draw(&seed));
    tlmc_pack(data, sizeof data, &packed);
    for (size_t length = 0; length < packed.length; length++)
        assert_false(unpacks(&packed, length, result, sizeof result));
    for (size_t at = 0; at < packed.length; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            packed.text[at] = (char)(packed.text[at] ^ 1 << bit);
            unpacks(&packed, packed.length, result, sizeof result);
            packed.text[at] = (char)(packed.text[at] ^ 1 << bit);
        }
    assert_true(unpacks(&packed, packed.length, result, sizeof result));
    tlmc_strbuf_free(&packed);
}

static void test_hostile(void **state)
{
    static const unsigned char before[] = { 0x00, 0x01 };    /* a match before any byte */
    static const unsigned char far[] = { 0x10, 'a', 0x02 };  /* two back, one is there */
    static const unsigned char none[] = { 0x10, 'a', 0x00 }; /* no way back */
    static const unsigned char endless[] = { 0xf0, 0xff, 0xff, 0xff, 0xff, 0xff,
                                             0xff, 0xff, 0xff, 0xff, 0xff, 0x01 };
    static const unsigned char huge[] = {
        0xf0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f
    };
    unsigned char result[64];

    (void)state;
    assert_false(tlm_cuda_unpack(before, sizeof before, result, sizeof result));
    assert_false(tlm_cuda_unpack(far, sizeof far, result, sizeof result));
    assert_false(tlm_cuda_unpack(none, sizeof none, result, sizeof result));
    assert_false(tlm_cuda_unpack(endless, sizeof endless, result, sizeof result));
    assert_false(tlm_cuda_unpack(huge, sizeof huge, result, sizeof result));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_hostile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
