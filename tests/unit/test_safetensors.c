/* Checkpoints: what is saved loads again bit for bit, every lie of a header is found, keys map as
   docs/language.md says, nothing is written into a model that does not fit, and a save that fails
   or dies at any point leaves the old file whole. */
#define _POSIX_C_SOURCE 200809L
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "checkpoint.h"
#include "json_read.h"
#include "pattern.h"
#include "safetensors.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char error[TLM_ERROR_BYTES], notice[TLM_ERROR_BYTES];

static void take_notice(void *user, const char *message)
{
    (void)user;
    snprintf(notice, sizeof notice, "%s", message);
}

static void expect(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no '%s' in: %s", part, text);
}

/* ---- files from header texts */

struct made {
    uint8_t *bytes;
    size_t size;
};

/* A file with this header and these data, in memory of exactly its size. */
static struct made make_with(uint64_t length, const char *header, const void *data,
                             size_t data_size)
{
    const size_t text = strlen(header);
    struct made file = { malloc(8 + text + data_size + (data_size == 0)), 8 + text + data_size };

    assert_non_null(file.bytes);
    for (int i = 0; i < 8; i++)
        file.bytes[i] = (uint8_t)(length >> 8 * i);
    memcpy(file.bytes + 8, header, text);
    if (data_size > 0)
        memcpy(file.bytes + 8 + text, data, data_size);
    return file;
}

static void refuses(struct made file, const char *part)
{
    struct tlm_safetensors table;

    assert_int_equal(tlm_safetensors_parse(file.bytes, file.size, "f", &table, error),
                     TLM_ERR_FORMAT);
    expect(error, part);
    tlm_safetensors_free(&table);
    free(file.bytes);
}

static const uint8_t zeros[64];

static void refuses_header(const char *header, size_t data, const char *part)
{
    refuses(make_with(strlen(header), header, zeros, data), part);
}

static void test_headers(void **state)
{
    (void)state;
    refuses_header("", 0, "'{' expected");
    refuses_header("[]", 0, "is not a safetensors file");
    refuses_header("{", 0, "a string expected");
    refuses_header("{}", 4, "4 bytes at the end belong to no tensor");
    refuses_header("{\"a\":1}", 0, "'{' expected");
    refuses_header("{\"a\":{}}", 0, "'a' lacks its dtype, shape or data_offsets");
    refuses_header("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":1}}", 4,
                   "field 'x', which is not");
    refuses_header(
        "{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
        "'dtype' twice");
    refuses_header("{\"a\":{\"dtype\":\"Q4\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
                   "unknown dtype 'Q4'");
    refuses_header("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4,
                   "not what its dtype and shape need");
    refuses_header("{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4,
                   "an unsigned integer expected");
    refuses_header("{\"a\":{\"dtype\":\"F32\",\"shape\":[1.0],\"data_offsets\":[0,4]}}", 4,
                   "an unsigned integer expected");
    refuses_header("{\"a\":{\"dtype\":\"F32\",\"shape\":[01],\"data_offsets\":[0,4]}}", 4,
                   "an unsigned integer expected");
    refuses_header(
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", 0,
        "dtype and shape");
    refuses_header(
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]}}", 4,
        "more than 8 axes");
    refuses_header("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,8]}}", 4,
                   "stands at bytes 0 to 8");
    refuses_header("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 4,
                   "stands at bytes 4 to 0");
    refuses_header(
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,18446744073709551616]}}", 4,
        "above 64 bits");
    refuses_header("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", 4,
                   "two offsets expected");
    refuses_header("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}} x", 4,
                   "more text");
    refuses_header("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},}", 4,
                   "a comma before");
    refuses_header("{\"a\\u0000b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
                   "a NUL in a string");
    refuses_header("{\"a\\ud800\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
                   "half of a surrogate pair");
    refuses_header("{\"a\xff\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
                   "no UTF-8");
    refuses_header("{\"__metadata__\":{},\"__metadata__\":{}}", 0, "'__metadata__' stands twice");
    refuses_header("{\"__metadata__\":{\"a\":1}}", 0, "a string expected");
}

static void test_tables(void **state)
{
    (void)state;
    refuses_header("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
                   "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
                   8, "'b' overlaps");
    refuses_header("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
                   "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,12]}}",
                   12, "'b' leaves a hole");
    refuses_header("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
                   "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
                   8, "the key 'a' stands twice");
    refuses_header("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 8,
                   "4 bytes at the end");
}

static void test_lengths(void **state)
{
    (void)state;
    refuses(make_with(0, "", zeros, 0), "'{' expected");
    refuses(make_with(3, "{}", zeros, 0), "a header of 3 bytes in a file of 10");
    refuses(make_with(UINT64_MAX, "{}", zeros, 0),
            "a header of 18446744073709551615 bytes; at most 100000000");
    refuses(make_with(100000001, "{}", zeros, 0), "at most 100000000");
    /* other files: their first 8 bytes mean nothing */
    refuses(make_with(UINT64_C(8386095470441930787), "y,x2", zeros, 0),
            "is not a safetensors file");
    refuses(make_with(2, "PK", zeros, 4), "is not a safetensors file");
    for (size_t size = 0; size < 8; size++) {
        struct made file = { calloc(size + 1, 1), size };

        refuses(file, "too short");
    }
}

/* Deep nesting anywhere is refused, not followed. */
static void test_deep(void **state)
{
    const size_t depth = 100000;
    char *text = malloc(depth + 1);

    (void)state;
    assert_non_null(text);
    memset(text, '{', depth);
    text[depth] = 0;
    refuses_header(text, 0, "a string expected");
    memset(text, '[', depth);
    memcpy(text, "{\"a\":{\"shape\":", 14);
    refuses_header(text, 0, "an unsigned integer expected");
    free(text);
}

/* The reader's own bound, which headers never come near. */
static void test_json_depth(void **state)
{
    struct tlm_json json;
    int depth = 0;

    (void)state;
    tlm_json_start(&json, "[[[[[[[[[[", 10);
    while (tlm_json_enter(&json, '[') && tlm_json_next(&json))
        depth++;
    assert_int_equal(depth, TLM_JSON_DEPTH);
    assert_string_equal(json.problem, "nested too deep");
}

static void test_good_table(void **state)
{
    const char *const header =
        "{\"__metadata__\":{\"k\":\"v\\n\\u00e9\\ud83d\\ude00\"},\n"
        "\"b\":{\"dtype\":\"I32\",\"shape\":[],\"data_offsets\":[0,4]},"
        "\"a\\u002ec\":{\"data_offsets\":[4,4],\"shape\":[0,3],\"dtype\":\"F64\"}}   ";
    struct made file = make_with(strlen(header), header, zeros, 4);
    struct tlm_safetensors table;

    (void)state;
    assert_int_equal(tlm_safetensors_parse(file.bytes, file.size, "f", &table, error), TLM_OK);
    assert_int_equal(table.count, 2);
    assert_non_null(tlm_safetensors_find(&table, "a.c"));
    assert_int_equal(tlm_safetensors_find(&table, "a.c")->rank, 2);
    assert_int_equal(tlm_safetensors_find(&table, "b")->count, 1);
    assert_null(tlm_safetensors_find(&table, "c"));
    tlm_safetensors_free(&table);
    free(file.bytes);
}

/* ---- patterns */

static void test_patterns(void **state)
{
    char out[32];

    (void)state;
    assert_true(tlm_pattern_match("*", ""));
    assert_true(tlm_pattern_match("*.bias", "h.0.bias"));
    assert_true(tlm_pattern_match("*.ln_?.*", "h.0.ln_1.weight"));
    assert_false(tlm_pattern_match("*.ln_?.*", "h.0.ln_12.weight"));
    assert_true(tlm_pattern_match("a*b*c", "abbcbc"));
    assert_false(tlm_pattern_match("a*b*c", "abbcb"));
    assert_false(tlm_pattern_match("", "a"));
    assert_false(tlm_pattern_match("a?", "a"));
    assert_false(
        tlm_pattern_match("*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
    assert_true(tlm_pattern_rename("transformer.*", "*", "transformer.h.0.w", out, sizeof out));
    assert_string_equal(out, "h.0.w");
    assert_true(tlm_pattern_rename("*.c?.*", "x.*.?.*", "a.b.c7.d.e", out, sizeof out));
    assert_string_equal(out, "x.a.b.7.d.e");
    assert_false(tlm_pattern_rename("b.*", "*", "a.c", out, sizeof out));
    assert_false(
        tlm_pattern_rename("*", "*.this.is.much.too.long.to.fit.here", "a", out, sizeof out));
}

/* ---- a model of five tensors */

struct model {
    float weight[2][3], state[2], moment[2][3];
    int32_t steps;
    uint8_t mask[3];
    tlm_param params[5];
};

static void set_param(struct model *m, int i, const char *key, tlm_dtype dtype, uint32_t rank,
                      uint32_t d0, uint32_t d1, void *data, tlm_param_kind kind)
{
    m->params[i] = (tlm_param){ .size = sizeof(tlm_param),
                                .key = key,
                                .dtype = dtype,
                                .rank = rank,
                                .dims = { d0, d1 },
                                .count = (size_t)d0 * d1,
                                .data = data,
                                .kind = kind };
}

static void make_model(struct model *m, float value)
{
    memset(m, 0, sizeof *m);
    for (int i = 0; i < 6; i++) {
        m->weight[i / 3][i % 3] = value + (float)i;
        m->moment[i / 3][i % 3] = -value * (float)i;
    }
    m->state[0] = value;
    m->state[1] = (float)NAN;
    m->steps = (int32_t)value;
    m->mask[1] = 1;
    set_param(m, 0, "fc.weight", TLM_F32, 2, 2, 3, m->weight, TLM_PARAM_TRAINED);
    set_param(m, 1, "running", TLM_F32, 1, 2, 1, m->state, TLM_PARAM_STATE);
    set_param(m, 2, "steps", TLM_I32, 0, 1, 1, &m->steps, TLM_PARAM_STATE);
    set_param(m, 3, "mask", TLM_BOOL, 1, 3, 1, m->mask, TLM_PARAM_STATE);
    set_param(m, 4, "tlm.adam.m.fc.weight", TLM_F32, 2, 2, 3, m->moment, TLM_PARAM_OPTIMIZER);
}

static char path[96];

static void must(tlm_status status)
{
    if (status != TLM_OK)
        fail_msg("%s", error);
}

static void test_round_trip(void **state)
{
    const uint32_t canonical = 0x7fc00000;
    struct model a, b;
    tlm_run_state run = { .size = sizeof run,
                          .step = 12345678901234567u,
                          .seed = UINT64_MAX,
                          .epoch = 3,
                          .position = 7,
                          .power_count = 2,
                          .powers = { 0.1 + 0.2, 0x1.fffffffffffffp-1022 },
                          .planned = 99 },
                  read = { .size = sizeof read };

    (void)state;
    make_model(&a, 0.1f);
    make_model(&b, 5.0f);
    must(tlm_save(a.params, 5, path, &run, error));
    must(tlm_load(b.params, 5, path, NULL, &read, NULL, NULL, error));
    assert_memory_equal(&run, &read, sizeof run);
    assert_memory_equal(a.weight, b.weight, sizeof a.weight);
    assert_memory_equal(a.moment, b.moment, sizeof a.moment);
    assert_memory_equal(&b.state[1], &canonical, 4);
    assert_int_equal(a.steps, b.steps);
    make_model(&b, 5.0f); /* inference: what begins with "tlm." does not matter */
    must(tlm_load(b.params, 4, path, NULL, NULL, NULL, NULL, error));
    assert_memory_equal(a.weight, b.weight, sizeof a.weight);
    must(tlm_save(a.params, 5, path, NULL, error)); /* weights alone */
    must(tlm_load(b.params, 5, path, NULL, NULL, NULL, NULL, error));
    assert_int_equal(tlm_load(b.params, 5, path, NULL, &read, NULL, NULL, error), TLM_ERR_MISMATCH);
    expect(error, "no tensor 'tlm.run'");
    remove(path);
}

/* A failed load changes nothing. */
static void cannot_load(const struct made file, const tlm_mapping *mapping, tlm_run_state *run,
                        const char *part)
{
    struct model m, before;

    make_model(&m, 2.0f);
    before = m;
    error[0] = 0;
    assert_int_not_equal(tlm_load_bytes(m.params, 5, file.bytes, file.size, "f", mapping, run, NULL,
                                        NULL, error),
                         TLM_OK);
    expect(error, part);
    assert_memory_equal(&m, &before, offsetof(struct model, params));
    free(file.bytes);
}

#define WEIGHT "\"fc.weight\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}"
#define RUNNING ",\"running\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[24,32]}"
#define STEPS ",\"steps\":{\"dtype\":\"I32\",\"shape\":[],\"data_offsets\":[32,36]}"
#define MASK ",\"mask\":{\"dtype\":\"BOOL\",\"shape\":[3],\"data_offsets\":[36,39]}"

static struct made whole(const char *header, size_t data)
{
    return make_with(strlen(header), header, zeros, data);
}

static void test_misfits(void **state)
{
    uint8_t bad[39] = { 0 };
    tlm_run_state run = { .size = sizeof run };

    (void)state;
    cannot_load(whole("{" WEIGHT RUNNING STEPS "}", 36), NULL, NULL, "no tensor 'mask'");
    cannot_load(whole("{" WEIGHT RUNNING STEPS MASK
                      ",\"x\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[39,40]}}",
                      40),
                NULL, NULL, "the tensor 'x' belongs to no parameter");
    cannot_load(
        whole("{\"fc.weight\":{\"dtype\":\"F32\",\"shape\":[3,2],\"data_offsets\":[0,24]}" RUNNING
                  STEPS MASK "}",
              39),
        NULL, NULL, "'fc.weight' has the shape [3, 2], the model's is [2, 3]");
    cannot_load(
        whole("{\"fc.weight\":{\"dtype\":\"I32\",\"shape\":[2,3],\"data_offsets\":[0,24]}" RUNNING
                  STEPS MASK "}",
              39),
        NULL, NULL, "'fc.weight' is I32, the model's is f32");
    cannot_load(whole("{" WEIGHT RUNNING
                      ",\"steps\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[32,36]}" MASK
                      "}",
                      39),
                NULL, NULL, "'steps' is F32, the model's is i32");
    bad[38] = 7;
    cannot_load(make_with(strlen("{" WEIGHT RUNNING STEPS MASK "}"),
                          "{" WEIGHT RUNNING STEPS MASK "}", bad, 39),
                NULL, NULL, "'mask' holds 7 at 2");
    cannot_load(whole("{" WEIGHT RUNNING STEPS MASK "}", 39), NULL, &run, "no tensor 'tlm.run'");
    run.size = 3;
    cannot_load(whole("{" WEIGHT RUNNING STEPS MASK "}", 39), NULL, &run, "wrong size");
}

/* The run tensor itself may lie. */
static void test_bad_run(void **state)
{
    static const struct {
        uint64_t words[8];
        const char *shape, *part;
    } cases[] = {
        { { 2, 0, 0, 0, 0, 0, 0 }, "7],\"data_offsets\":[0,56]", "has version 2, not 1" },
        { { 1, 0, 0, 0, 0, 0, 1 }, "7],\"data_offsets\":[0,56]", "'tlm.run' is malformed" },
        { { 1, 0, 0, 0, 0, 0, UINT64_MAX },
          "7],\"data_offsets\":[0,56]",
          "'tlm.run' is malformed" },
        { { 1, 0, 0, 0, 0, 0 }, "6],\"data_offsets\":[0,48]", "'tlm.run' is malformed" },
        { { 1, 0, 0, 0, 0, 0, 0 }, "7,1],\"data_offsets\":[0,56]", "'tlm.run' is malformed" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tlm_run_state run = { .size = sizeof run };
        char header[128];

        snprintf(header, sizeof header, "{\"tlm.run\":{\"dtype\":\"U64\",\"shape\":[%s}}",
                 cases[i].shape);
        cannot_load(make_with(strlen(header), header, cases[i].words, i == 3 ? 48 : 56), NULL, &run,
                    cases[i].part);
    }
}

/* binary16 and bfloat16 widen exactly, with a notice. */
static void test_widening(void **state)
{
    static const uint16_t halves[] = { 0x3c00, 0xc000, 0x0001, 0x03ff, 0x7bff, 0xfc00 };
    static const float expected[] = { 1.0f, -2.0f, 0x1p-24f, 0x1.ff8p-15f, 65504.0f, -INFINITY };
    static const uint16_t brains[] = { 0x3f80, 0xc000, 0x0001, 0x7f7f, 0xff80, 0x8000 };
    const char *const f16 =
        "{\"fc.weight\":{\"dtype\":\"F16\",\"shape\":[2,3],\"data_offsets\":[0,12]}}";
    const char *const bf16 =
        "{\"fc.weight\":{\"dtype\":\"BF16\",\"shape\":[2,3],\"data_offsets\":[0,12]}}";
    struct made file = make_with(strlen(f16), f16, halves, 12);
    struct model m;

    (void)state;
    make_model(&m, 2.0f);
    must(tlm_load_bytes(m.params, 1, file.bytes, file.size, "f", NULL, NULL, take_notice, NULL,
                        error));
    assert_memory_equal(m.weight, expected, sizeof expected);
    assert_string_equal(notice, "f: 1 tensor widened from F16 to f32, the first is 'fc.weight'");
    free(file.bytes);
    file = make_with(strlen(bf16), bf16, brains, 12);
    must(tlm_load_bytes(m.params, 1, file.bytes, file.size, "f", NULL, NULL, take_notice, NULL,
                        error));
    for (int i = 0; i < 6; i++) {
        const uint32_t bits = (uint32_t)brains[i] << 16;

        assert_memory_equal(&m.weight[i / 3][i % 3], &bits, 4);
    }
    free(file.bytes);
}

/* rename, ignore and only, as docs/language.md says. */
static void test_mapping(void **state)
{
    static const char *const from[] = { "fc.*", "*" }, *const to[] = { "body.*", "model.*" };
    static const char *const ignore[] = { "head.*", "*weight" }, *const only[] = { "fc.*" };
    const char *const header =
        "{\"body.weight\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
        "\"model.running\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[24,32]},"
        "\"steps\":{\"dtype\":\"I32\",\"shape\":[],\"data_offsets\":[32,36]},"
        "\"model.mask\":{\"dtype\":\"BOOL\",\"shape\":[3],\"data_offsets\":[36,39]},"
        "\"head.x\":{\"dtype\":\"BOOL\",\"shape\":[1],\"data_offsets\":[39,40]}}";
    tlm_mapping mapping = { .size = sizeof mapping,
                            .rename_from = from,
                            .rename_to = to,
                            .rename_count = 2,
                            .ignore = ignore,
                            .ignore_count = 2 };
    struct made file = whole(header, 40);
    struct model m;

    (void)state;
    make_model(&m, 2.0f);
    must(
        tlm_load_bytes(m.params, 4, file.bytes, file.size, "f", &mapping, NULL, NULL, NULL, error));
    assert_true(m.weight[1][2] == 0); /* claimed, so the pattern that ignores it does not */
    assert_true(m.state[0] == 0);
    mapping.only = only;
    mapping.only_count = 1;
    make_model(&m, 2.0f);
    must(
        tlm_load_bytes(m.params, 4, file.bytes, file.size, "f", &mapping, NULL, NULL, NULL, error));
    assert_true(m.weight[1][2] == 0);
    assert_true(m.state[0] == 2.0f); /* not among the only ones */
    mapping.only_count = 0;
    mapping.ignore_count = 0;
    cannot_load(file, &mapping, NULL, "the tensor 'head.x' belongs to no parameter");
    mapping.rename_count = 1;
    mapping.ignore_count = 1;
    cannot_load(whole(header, 40), &mapping, NULL, "no tensor 'running'");
    mapping.rename_count = 0;
    cannot_load(whole(header, 40), &mapping, NULL, "no tensor 'fc.weight'");
    mapping.rename_count = 1;
    cannot_load(whole("{\"x\":{\"dtype\":\"I8\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0),
                &mapping, NULL, "no tensor 'fc.weight', nor 'body.weight'");
}

/* ---- faults while saving */

/* Counts the calls; number `fail_at` and, when the process "died", all later ones fail. */
struct faults {
    int calls, fail_at, reason;
    int dies; /* nothing happens after the fault, not even the removal of the temporary file */
    int short_writes;
    char order[64]; /* the calls, a letter each */
};

static int fault_now(struct faults *f, char letter)
{
    const int now = f->calls++;

    if (now + 1 < (int)sizeof f->order)
        f->order[now] = letter;

    if (now == f->fail_at || (f->dies && now > f->fail_at)) {
        errno = f->reason;
        return 1;
    }
    return 0;
}

static int fault_create(void *user, const char *name)
{
    return fault_now(user, 'c') ? -1 : tlm_system_files.create(NULL, name);
}

static int fault_folder(void *user, const char *name)
{
    return fault_now(user, 'f') ? -1 : tlm_system_files.open_folder(NULL, name);
}

static long fault_write(void *user, int file, const void *data, size_t size)
{
    struct faults *f = user;

    if (fault_now(f, 'w')) {
        if (f->reason != EINTR)
            tlm_system_files.write(NULL, file, data,
                                   size / 2); /* a torn write: half of it got there */
        errno = f->reason;
        return -1;
    }
    return tlm_system_files.write(NULL, file, data, f->short_writes && size > 5 ? 5 : size);
}

static int fault_sync(void *user, int file)
{
    return fault_now(user, 's') ? -1 : tlm_system_files.sync(NULL, file);
}

static int fault_close(void *user, int file)
{
    const int fails = fault_now(user, 'x');

    tlm_system_files.close(NULL, file); /* the test itself must not leak */
    return fails ? -1 : 0;
}

static int fault_rename(void *user, const char *from, const char *to)
{
    return fault_now(user, 'r') ? -1 : tlm_system_files.rename(NULL, from, to);
}

static int fault_unlink(void *user, const char *name)
{
    return fault_now(user, 'u') ? -1 : tlm_system_files.unlink(NULL, name);
}

static struct tlm_file_calls fault_calls(struct faults *f)
{
    return (struct tlm_file_calls){ f,          fault_create, fault_folder, fault_write,
                                    fault_sync, fault_close,  fault_rename, fault_unlink };
}

static char folder[64];

/* Files in the test's folder; removes those that are not the checkpoint. */
static int count_files(void)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    int count = 0;

    assert_non_null(dir);
    while ((entry = readdir(dir))) {
        char name[512];

        if (entry->d_name[0] == '.')
            continue;
        count++;
        snprintf(name, sizeof name, "%s/%s", folder, entry->d_name);
        if (strcmp(name, path) != 0)
            remove(name);
    }
    closedir(dir);
    return count;
}

/* The checkpoint holds the old or the new model, whole. */
static float loaded_value(void)
{
    tlm_run_state run = { .size = sizeof run };
    struct model m;

    make_model(&m, 0.0f);
    must(tlm_load(m.params, 5, path, NULL, &run, NULL, NULL, error));
    return m.weight[0][0];
}

static void test_faults(void **state)
{
    static const int reasons[] = { ENOSPC, EIO };
    const tlm_run_state run = { .size = sizeof run };
    struct model old, new;

    (void)state;
    make_model(&old, 1.0f);
    make_model(&new, 2.0f);
    for (int r = 0; r < 4; r++) {
        struct faults f = { .reason = reasons[r % 2], .dies = r >= 2 };
        const struct tlm_file_calls calls = fault_calls(&f);
        int failures = 0;

        for (f.fail_at = 0;; f.fail_at++) {
            tlm_status status;
            float value;

            must(tlm_save(old.params, 5, path, &run, error));
            f.calls = 0;
            status = tlm_save_with(new.params, 5, path, &run, &calls, error);
            value = loaded_value();
            if (status == TLM_OK) {
                assert_true(value == 2.0f);
                break;
            }
            failures++;
            assert_int_equal(status, TLM_ERR_IO);
            expect(error, strerror(f.reason));
            assert_true(value == 1.0f ||
                        (value == 2.0f && strstr(error, "written, but its folder")));
            if (count_files() != 1)
                assert_true(f.dies);
        }
        assert_true(failures >= 10); /* create, writes, sync, close, rename, folder, its sync */
    }
    count_files();
}

/* The file is synced and closed before the rename, the folder after it. */
static void test_call_order(void **state)
{
    const tlm_run_state run = { .size = sizeof run };
    struct faults f = { .fail_at = -1 };
    const struct tlm_file_calls calls = fault_calls(&f);
    struct model m;

    (void)state;
    make_model(&m, 3.0f);
    must(tlm_save_with(m.params, 5, path, &run, &calls, error));
    assert_int_equal(f.order[0], 'c');
    assert_string_equal(strrchr(f.order, 'w'), "wsxrfsx");
    assert_null(strchr(f.order, 'u'));
}

/* Short writes and interruptions are no failures. */
static void test_short_writes(void **state)
{
    const tlm_run_state run = { .size = sizeof run };
    struct faults f = { .fail_at = 3, .reason = EINTR, .short_writes = 1 };
    const struct tlm_file_calls calls = fault_calls(&f);
    struct model m;

    (void)state;
    make_model(&m, 3.0f);
    must(tlm_save_with(m.params, 5, path, &run, &calls, error));
    assert_true(loaded_value() == 3.0f);
    assert_true(f.calls > 20);
    assert_int_equal(count_files(), 1);
}

static int set_up(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/tlm-safetensors-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/m", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    remove(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headers),      cmocka_unit_test(test_tables),
        cmocka_unit_test(test_lengths),      cmocka_unit_test(test_deep),
        cmocka_unit_test(test_good_table),   cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_round_trip),   cmocka_unit_test(test_misfits),
        cmocka_unit_test(test_bad_run),      cmocka_unit_test(test_widening),
        cmocka_unit_test(test_mapping),      cmocka_unit_test(test_faults),
        cmocka_unit_test(test_short_writes), cmocka_unit_test(test_call_order),
        cmocka_unit_test(test_json_depth),
    };

    return cmocka_run_group_tests_name("safetensors", tests, set_up, tear_down);
}
