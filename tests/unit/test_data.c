/* Data: every reader into rows, windows with strides, splits, shuffled orders; what does not fit is
   refused by name. */
#define _POSIX_C_SOURCE 200809L
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "data.h"
#include "npy.h"
#include "order.h"
#include "random_sites.h"
#include "vocabulary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char error[TLM_ERROR_BYTES];

static void write_bytes(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void must(tlm_status status)
{
    if (status != TLM_OK)
        fail_msg("%s", error);
}

/* x: f32[2, 2, 3]; ids: i32[2, 4]; ok: bool[2] */
static const tlm_io inputs[] = {
    { "x", TLM_F32, 3, { 2, 2, 3 }, 0, NULL },
    { "ids", TLM_I32, 2, { 2, 4 }, 0, NULL },
    { "ok", TLM_BOOL, 1, { 2 }, 0, NULL },
};

/* A form of one of the inputs. */
static tlm_form form_of(int input)
{
    return (tlm_form){ .entry = "infer", .inputs = &inputs[input], .input_count = 1 };
}

static tlm_status load_one(struct tlm_dataset *dataset, int input, const tlm_feed *feed,
                           const char *path, int64_t stride)
{
    const tlm_form form = form_of(input);
    const tlm_data clause = { .path = path, .stride = stride, .feeds = feed, .feed_count = 1 };

    error[0] = 0;
    return tlm_dataset_load(dataset, &form, &clause, 1, NULL, 0, error);
}

static void refuses(int input, const tlm_feed *feed, const char *path, const char *part)
{
    struct tlm_dataset dataset;

    assert_int_not_equal(load_one(&dataset, input, feed, path, 0), TLM_OK);
    if (!strstr(error, part))
        fail_msg("no '%s' in: %s", part, error);
    tlm_dataset_free(&dataset);
}

static void test_arrays(void **state)
{
    static const float values[3][6] = { { 0, 1, 2, 3, 4, 5 },
                                        { 6, 7, 8, 9, 10, 11 },
                                        { 12, 13, 14, 15, 16, 17 } };
    const tlm_feed feed = { .reader = TLM_READ_ARRAY };
    struct tlm_dataset dataset;
    float row[6];

    (void)state;
    must(tlm_npy_write("a.npy", TLM_F32, 2, (const uint64_t[]){ 3, 6 }, values,
                       error)); /* fills [2, 3] */
    must(load_one(&dataset, 0, &feed, "a.npy", 0));
    assert_int_equal(dataset.rows, 3);
    tlm_source_row(&dataset.sources[0], 2, row);
    assert_memory_equal(row, values[2], sizeof row);
    tlm_dataset_free(&dataset);
    must(tlm_npy_write("a.npy", TLM_F32, 2, (const uint64_t[]){ 6, 3 }, values, error));
    refuses(0, &feed, "a.npy", "a.npy: the shape [6, 3] gives no rows of 6 values for 'x'");
    refuses(1, &feed, "a.npy", "a.npy: the elements are '<f4', those of 'ids' are i32");
    must(tlm_npy_write("a.npy", TLM_F32, 0, NULL, values, error));
    refuses(0, &feed, "a.npy", "the shape [] gives no rows");
    must(tlm_npy_write("a.npy", TLM_F32, 2, (const uint64_t[]){ 0, 6 }, values, error));
    refuses(0, &feed, "a.npy", "a.npy: not one row for 'x'");
    refuses(0, &feed, "none.npy", "none.npy: cannot be opened");
    refuses(0, &feed, ".", ".: cannot be read");
}

static void test_tensors(void **state)
{
    const char *const header =
        "{\"t\":{\"dtype\":\"BOOL\",\"shape\":[3],\"data_offsets\":[0,3]}}     ";
    const tlm_feed feed = { .reader = TLM_READ_TENSOR, .key = "t" },
                   other = { .reader = TLM_READ_TENSOR, .key = "u" };
    struct tlm_dataset dataset;
    char file[80] = { 0 };
    uint8_t row = 9;

    (void)state;
    file[0] = (char)strlen(header);
    memcpy(file + 8, header, strlen(header));
    file[8 + strlen(header) + 1] = 1;
    write_bytes("t.safetensors", file, 8 + strlen(header) + 3);
    must(load_one(&dataset, 2, &feed, "t.safetensors", 0));
    assert_int_equal(dataset.rows, 3);
    tlm_source_row(&dataset.sources[0], 1, &row);
    assert_int_equal(row, 1);
    tlm_dataset_free(&dataset);
    refuses(2, &other, "t.safetensors", "t.safetensors: no tensor 'u'");
    refuses(0, &feed, "t.safetensors", "the elements are 'BOOL', those of 'x' are f32");
    file[8 + strlen(header) + 1] = 2;
    write_bytes("t.safetensors", file, 8 + strlen(header) + 3);
    refuses(2, &feed, "t.safetensors", "2 at element 1 is not a bool");
}

static void test_windows(void **state)
{
    static const int32_t tokens[] = { 10, 11, 12, 13, 14, 15, 16, 17, 18 };
    tlm_feed feed = { .reader = TLM_READ_BYTES, .begin = 1, .end = 5 };
    struct tlm_dataset dataset;
    int32_t row[4];

    (void)state;
    write_bytes("text", "abcdefghij\xff", 11);
    must(load_one(&dataset, 1, &feed, "text", 0)); /* windows of 5: two */
    assert_int_equal(dataset.rows, 2);
    tlm_source_row(&dataset.sources[0], 1, row);
    assert_memory_equal(row, ((const int32_t[]){ 'g', 'h', 'i', 'j' }), sizeof row);
    tlm_dataset_free(&dataset);
    must(load_one(&dataset, 1, &feed, "text", 1));
    assert_int_equal(dataset.rows, 7);
    tlm_source_row(&dataset.sources[0], 6, row);
    assert_memory_equal(row, ((const int32_t[]){ 'h', 'i', 'j', 255 }), sizeof row);
    tlm_dataset_free(&dataset);
    feed.reader = TLM_READ_TOKENS;
    must(tlm_npy_write("tokens.npy", TLM_I32, 1, (const uint64_t[]){ 9 }, tokens, error));
    must(load_one(&dataset, 1, &feed, "tokens.npy", 3));
    assert_int_equal(dataset.rows, 2);
    tlm_source_row(&dataset.sources[0], 1, row);
    assert_memory_equal(row, tokens + 4, sizeof row);
    tlm_dataset_free(&dataset);
    refuses(1, &feed, "text", "text: not a .npy file");
    feed.reader = TLM_READ_BYTES;
    write_bytes("text", "abcd", 4);
    refuses(1, &feed, "text", "text: not one row for 'ids'");
    refuses(2, &feed, "text", "bytes and tokens are i32, 'ok' is bool");
    feed.end = 9;
    refuses(1, &feed, "text", "offsets 1..9 for 'ids', whose rows have 4 values");
}

/* Two files, one of them replaced by --data; rows must agree in number. */
static void test_several_files(void **state)
{
    static const int64_t column[] = { 0 };
    static const tlm_feed ids = { .input = 0, .reader = TLM_READ_BYTES, .begin = 0, .end = 4 };
    static const tlm_feed ok = {
        .input = 1, .reader = TLM_READ_COLUMNS, .columns = column, .column_count = 1
    };
    static const tlm_data clauses[] = { { .path = "text", .feeds = &ids, .feed_count = 1 },
                                        { .path = "ok.csv", .feeds = &ok, .feed_count = 1 } };
    const char *const paths[] = { "text2" };
    const tlm_form form = { .entry = "infer", .inputs = inputs + 1, .input_count = 2 };
    struct tlm_dataset dataset;

    (void)state;
    write_bytes("text", "abcdefgh", 8);
    write_bytes("text2", "abcdefghijkl", 12);
    write_bytes("ok.csv", "1\n0\n1\n", 6);
    assert_int_equal(tlm_dataset_load(&dataset, &form, clauses, 2, NULL, 0, error),
                     TLM_ERR_MISMATCH);
    assert_string_equal(error, "ok.csv: 3 rows for 'ok', but the data before have 2");
    tlm_dataset_free(&dataset);
    must(tlm_dataset_load(&dataset, &form, clauses, 2, paths, 1, error));
    assert_int_equal(dataset.rows, 3);
    tlm_dataset_free(&dataset);
    assert_int_equal(tlm_dataset_load(&dataset, &form, clauses, 1, paths, 1, error),
                     TLM_ERR_MISMATCH);
    assert_string_equal(error, "no data clause feeds 'ok'");
    tlm_dataset_free(&dataset);
}

/* ---- splits and orders */

static void test_splits(void **state)
{
    tlm_train train = { .split = TLM_SPLIT_LAST, .split_fraction = 0.25 };
    struct tlm_subset training, held;
    uint8_t seen[10] = { 0 };

    (void)state;
    must(tlm_split_rows(&train, 10, 0, &training, &held, error)); /* 2.5 rounds up */
    assert_int_equal(training.count, 7);
    assert_int_equal(tlm_subset_row(&training, 6), 6);
    assert_int_equal(tlm_subset_row(&held, 0), 7);
    train.split = TLM_SPLIT_FIRST;
    train.split_fraction = 0;
    train.split_count = 4;
    must(tlm_split_rows(&train, 10, 0, &training, &held, error));
    assert_int_equal(tlm_subset_row(&training, 0), 4);
    assert_int_equal(tlm_subset_row(&held, 3), 3);
    train.split = TLM_SPLIT_RANDOM;
    must(tlm_split_rows(&train, 10, 5, &training, &held, error));
    for (size_t i = 0; i < 6; i++)
        seen[tlm_subset_row(&training, i)]++;
    for (size_t i = 0; i < 4; i++)
        seen[tlm_subset_row(&held, i)]++;
    assert_memory_equal(seen, "\1\1\1\1\1\1\1\1\1\1", 10);
    assert_true(held.index[0] < held.index[1] && held.index[1] < held.index[2] &&
                held.index[2] < held.index[3]);
    assert_true(held.index[3] - held.index[0] > 3); /* not simply a range, for this seed */
    tlm_subset_free(&training);
    tlm_subset_free(&held);
    train.split_count = 10;
    assert_int_equal(tlm_split_rows(&train, 10, 5, &training, &held, error), TLM_ERR_MISMATCH);
    assert_string_equal(error, "the validation split takes 10 of 10 rows; both parts need some");
    train.split_count = 0;
    assert_int_equal(tlm_split_rows(&train, 10, 5, &training, &held, error), TLM_ERR_MISMATCH);
    train.split = TLM_SPLIT_NONE;
    must(tlm_split_rows(&train, 10, 5, &training, &held, error));
    assert_int_equal(training.count, 10);
    assert_int_equal(held.count, 0);
}

/* The written rule of order.h, computed apart. */
static void test_shuffle(void **state)
{
    const uint64_t key = tlm_random_key(7, 2, TLM_SITE_SHUFFLE);
    uint32_t list[20], expected[20];

    (void)state;
    for (uint32_t i = 0; i < 20; i++)
        expected[i] = i;
    for (uint32_t i = 19; i >= 1; i--) {
        const uint32_t j = (uint32_t)(tlm_splitmix64(key + i) % (i + 1)), kept = expected[i];

        expected[i] = expected[j];
        expected[j] = kept;
    }
    tlm_shuffle(list, 20, key);
    assert_memory_equal(list, expected, sizeof list);
    tlm_shuffle(list, 0, key);
    tlm_shuffle(list, 1, key);
    assert_int_equal(list[0], 0);
}

/* In order, an epoch of ten rows has three batches of three; the tenth row is left out. */
static void test_order(void **state)
{
    const struct tlm_subset rows = { .begin = 100, .count = 10 };
    struct tlm_order order;
    size_t batch[3];

    (void)state;
    must(tlm_order_start(&order, &rows, 3, false, 1, 0, 0, error));
    for (int i = 0; i < 3; i++)
        tlm_order_next(&order, batch);
    assert_int_equal(batch[2], 108);
    assert_int_equal(order.position, 9);
    tlm_order_next(&order, batch);
    assert_int_equal(order.epoch, 1);
    assert_int_equal(batch[0], 100);
    tlm_order_free(&order);
    assert_int_equal(tlm_order_start(&order, &rows, 11, false, 1, 0, 0, error), TLM_ERR_MISMATCH);
    tlm_order_free(&order);
    assert_int_equal(tlm_order_start(&order, &rows, 3, false, 1, 0, 11, error), TLM_ERR_MISMATCH);
    tlm_order_free(&order);
}

/* Shuffled: each epoch has its own order, every row once, and an order begun in the middle goes on
   as the whole one. */
static void test_shuffled_order(void **state)
{
    const struct tlm_subset rows = { .count = 12 };
    size_t whole[3][12], again[3], epochs_differ = 0;
    struct tlm_order order;

    (void)state;
    must(tlm_order_start(&order, &rows, 3, true, 1, 0, 0, error));
    for (int e = 0; e < 3; e++) {
        unsigned seen = 0;

        for (int b = 0; b < 4; b++)
            tlm_order_next(&order, &whole[e][3 * b]);
        for (int i = 0; i < 12; i++)
            seen |= 1u << whole[e][i];
        assert_int_equal(seen, 0xfff);
        epochs_differ += e > 0 && memcmp(whole[e], whole[e - 1], sizeof whole[e]) != 0;
    }
    tlm_order_free(&order);
    assert_int_equal(epochs_differ, 2);
    must(tlm_order_start(&order, &rows, 3, true, 1, 2, 6, error));
    tlm_order_next(&order, again);
    assert_memory_equal(again, &whole[2][6], sizeof again);
    tlm_order_free(&order);
}

/* ---- vocabularies */

static void test_vocabulary(void **state)
{
    struct tlm_vocabulary v;
    int32_t *tokens;
    size_t count, length;
    char byte[1];

    (void)state;
    write_bytes("v.txt", "a\r\nab\n\\n\n\\x41\\\\\nb", 17);
    must(tlm_vocabulary_open(&v, "v.txt", error));
    assert_int_equal(v.count, 5);
    must(tlm_vocabulary_encode(&v, "aabb\nA\\", 7, &tokens, &count, error));
    assert_int_equal(count, 5);
    assert_memory_equal(tokens, ((const int32_t[]){ 0, 1, 4, 2, 3 }), 20);
    free(tokens);
    assert_int_equal(tlm_vocabulary_encode(&v, "ac", 2, &tokens, &count, error), TLM_ERR_MISMATCH);
    assert_string_equal(error, "byte 1 of the prompt begins no token");
    free(tokens);
    assert_memory_equal(tlm_vocabulary_text(&v, 3, byte, &length), "A\\", 2);
    tlm_vocabulary_free(&v);
    write_bytes("v.txt", "a\n\nb\n", 5);
    assert_int_equal(tlm_vocabulary_open(&v, "v.txt", error), TLM_ERR_FORMAT);
    assert_string_equal(error, "v.txt:2:1: an empty token");
    tlm_vocabulary_free(&v);
    write_bytes("v.txt", "a\\q\n", 4);
    assert_int_equal(tlm_vocabulary_open(&v, "v.txt", error), TLM_ERR_FORMAT);
    assert_string_equal(error, "v.txt:1:1: an unknown escape");
    tlm_vocabulary_free(&v);
}

static int set_up(void **state)
{
    static char folder[] = "/tmp/tlm-data-XXXXXX";

    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    static const char *const files[] = { "a.npy",      "t.safetensors", "text", "text2",
                                         "tokens.npy", "ok.csv",        "v.txt" };
    char folder[256];

    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        remove(files[i]);
    return getcwd(folder, sizeof folder) && chdir("/") == 0 ? rmdir(folder) : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arrays),     cmocka_unit_test(test_tensors),
        cmocka_unit_test(test_windows),    cmocka_unit_test(test_several_files),
        cmocka_unit_test(test_splits),     cmocka_unit_test(test_shuffle),
        cmocka_unit_test(test_order),      cmocka_unit_test(test_shuffled_order),
        cmocka_unit_test(test_vocabulary),
    };

    return cmocka_run_group_tests_name("data", tests, set_up, tear_down);
}
