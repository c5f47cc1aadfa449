/* Reading a safetensors file into a model and writing a model into one; see checkpoint.h and tlm.h.
   A load first finds and checks a tensor for every parameter and a reason for every tensor, and
   only then writes into the model. */
#include "checkpoint.h"

#include "alloc.h"
#include "pattern.h"
#include "safetensors.h"
#include "status.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "model files are little-endian, and so must the machine be"
#endif

enum { CHECKPOINT_VERSION = 1, CHECKPOINT_RUN_WORDS = 7, CHECKPOINT_POWERS = 16 };

/* One load under way. */
struct checkpoint_load {
    const tlm_param *params;
    size_t count;
    const char *path;
    const tlm_mapping *mapping;
    const tlm_run_state *run;
    struct tlm_safetensors table;
    const struct tlm_tensor **chosen; /* of each parameter; NULL: not loaded */
    bool *accounted;                  /* of each tensor of the file */
    char *error;
};

static bool checkpoint_any_matches(const char *const *patterns, uint32_t count, const char *key)
{
    for (uint32_t i = 0; i < count; i++)
        if (tlm_pattern_match(patterns[i], key))
            return true;
    return false;
}

static bool checkpoint_is_run_key(const char *key)
{
    return strncmp(key, "tlm.", 4) == 0;
}

/* The parameter's place is in a file of this kind. */
static bool checkpoint_is_stored(const tlm_param *param, bool with_run)
{
    return param->kind == TLM_PARAM_TRAINED || param->kind == TLM_PARAM_STATE ||
           (param->kind == TLM_PARAM_OPTIMIZER && with_run);
}

/* The file's tensor for a key of the model: of the same key, else of what the first fitting rename
   makes of it. */
static const struct tlm_tensor *checkpoint_find(const struct checkpoint_load *load, const char *key,
                                                char renamed[TLM_SAFETENSORS_KEY_BYTES])
{
    const struct tlm_tensor *tensor = tlm_safetensors_find(&load->table, key);
    const tlm_mapping *const mapping = load->mapping;

    renamed[0] = 0;
    if (tensor || !mapping)
        return tensor;
    for (uint32_t i = 0; i < mapping->rename_count; i++)
        if (tlm_pattern_rename(mapping->rename_from[i], mapping->rename_to[i], key, renamed,
                               TLM_SAFETENSORS_KEY_BYTES))
            return tlm_safetensors_find(&load->table, renamed);
    renamed[0] = 0;
    return NULL;
}

/* Element type and shape must agree; F16 and BF16 may widen. */
static tlm_status checkpoint_check_fit(const struct checkpoint_load *load, const tlm_param *param,
                                       const struct tlm_tensor *tensor)
{
    const int dtype = tlm_safetensors_tlm_dtype(tensor->dtype);
    uint64_t dims[TLM_MAX_RANK];
    char has[128], needs[128];
    bool same = tensor->rank == param->rank;

    if (dtype != (int)param->dtype &&
        !(param->dtype == TLM_F32 && (dtype == TLM_F16 || dtype == TLM_BF16)))
        return tlm_fail(load->error, TLM_ERR_MISMATCH, "%s: '%s' is %s, the model's is %s",
                        tlm_path_tail(load->path), tensor->key,
                        tlm_safetensors_dtype_name(tensor->dtype),
                        tlm_dtype_name((int)param->dtype));
    for (uint32_t i = 0; i < param->rank; i++) {
        dims[i] = param->dims[i];
        same = same && tensor->dims[i] == dims[i];
    }
    if (!same) {
        tlm_shape_text(tensor->rank, tensor->dims, has, sizeof has);
        tlm_shape_text(param->rank, dims, needs, sizeof needs);
        return tlm_fail(load->error, TLM_ERR_MISMATCH,
                        "%s: '%s' has the shape %s, the model's is %s", tlm_path_tail(load->path),
                        tensor->key, has, needs);
    }
    if (param->dtype == TLM_BOOL)
        for (size_t i = 0; i < tensor->count; i++)
            if (tensor->data[i] > 1)
                return tlm_fail(load->error, TLM_ERR_FORMAT, "%s: '%s' holds %d at %zu, not a bool",
                                tlm_path_tail(load->path), tensor->key, tensor->data[i], i);
    return TLM_OK;
}

/* Finds the tensor of every parameter. */
static tlm_status checkpoint_choose(struct checkpoint_load *load)
{
    const tlm_mapping *const mapping = load->mapping;

    for (size_t i = 0; i < load->count; i++) {
        const tlm_param *const param = &load->params[i];
        char renamed[TLM_SAFETENSORS_KEY_BYTES];
        const struct tlm_tensor *tensor;
        tlm_status status;

        if (!checkpoint_is_stored(param, load->run != NULL))
            continue;
        tensor = checkpoint_find(load, param->key, renamed);
        if (tensor)
            load->accounted[tensor - load->table.tensors] = true;
        if (mapping && mapping->only_count > 0 &&
            !checkpoint_any_matches(mapping->only, mapping->only_count, param->key))
            continue;
        if (!tensor)
            return tlm_fail(load->error, TLM_ERR_MISMATCH, "%s: no tensor '%s'%s%s%s",
                            tlm_path_tail(load->path), param->key, renamed[0] ? ", nor '" : "",
                            renamed, renamed[0] ? "'" : "");
        status = checkpoint_check_fit(load, param, tensor);
        if (status != TLM_OK)
            return status;
        load->chosen[i] = tensor;
    }
    return TLM_OK;
}

/* Every tensor of the file must belong to somebody. */
static tlm_status checkpoint_check_rest(const struct checkpoint_load *load)
{
    const tlm_mapping *const mapping = load->mapping;

    for (size_t i = 0; i < load->table.count; i++) {
        const char *const key = load->table.tensors[i].key;

        if (load->accounted[i] ||
            (load->run ? strcmp(key, TLM_RUN_KEY) == 0 : checkpoint_is_run_key(key)))
            continue;
        if (mapping && checkpoint_any_matches(mapping->ignore, mapping->ignore_count, key))
            continue;
        return tlm_fail(load->error, TLM_ERR_MISMATCH,
                        "%s: the tensor '%s' belongs to no parameter", tlm_path_tail(load->path),
                        key);
    }
    return TLM_OK;
}

static tlm_status checkpoint_read_run(const struct checkpoint_load *load, tlm_run_state *out)
{
    const struct tlm_tensor *const tensor = tlm_safetensors_find(&load->table, TLM_RUN_KEY);
    uint64_t words[CHECKPOINT_RUN_WORDS + CHECKPOINT_POWERS];

    if (!tensor)
        return tlm_fail(load->error, TLM_ERR_MISMATCH,
                        "%s: no tensor '%s': weights alone, not a run that could go on",
                        tlm_path_tail(load->path), TLM_RUN_KEY);
    if (tensor->dtype != TLM_ST_U64 || tensor->rank != 1 || tensor->count < CHECKPOINT_RUN_WORDS ||
        tensor->count > sizeof words / sizeof words[0])
        return tlm_fail(load->error, TLM_ERR_FORMAT, "%s: '%s' is malformed",
                        tlm_path_tail(load->path), TLM_RUN_KEY);
    memcpy(words, tensor->data, tensor->size);
    if (words[0] != CHECKPOINT_VERSION)
        return tlm_fail(load->error, TLM_ERR_FORMAT, "%s: '%s' has version %" PRIu64 ", not %d",
                        tlm_path_tail(load->path), TLM_RUN_KEY, words[0], CHECKPOINT_VERSION);
    if (words[6] != tensor->count - CHECKPOINT_RUN_WORDS)
        return tlm_fail(load->error, TLM_ERR_FORMAT, "%s: '%s' is malformed",
                        tlm_path_tail(load->path), TLM_RUN_KEY);
    memset(out, 0, sizeof *out);
    out->size = sizeof *out;
    out->step = words[1];
    out->seed = words[2];
    out->epoch = words[3];
    out->position = words[4];
    out->planned = words[5];
    out->power_count = (uint32_t)words[6];
    memcpy(out->powers, words + CHECKPOINT_RUN_WORDS, out->power_count * sizeof out->powers[0]);
    return TLM_OK;
}

/* binary16 to binary32, exactly. */
static uint32_t checkpoint_widen_f16(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t exponent = half >> 10 & 0x1f;
    uint32_t fraction = half & 0x3ff;

    if (exponent == 31) /* infinity; NaN in the form files use */
        return fraction ? 0x7fc00000u : sign | 0x7f800000u;
    if (exponent == 0) {
        if (fraction == 0)
            return sign;
        exponent = 1; /* subnormal: shift until the leading one is where a normal number has it */
        while (!(fraction & 0x400)) {
            fraction <<= 1;
            exponent--;
        }
        fraction &= 0x3ff;
    }
    return sign | (exponent + 112) << 23 | fraction << 13;
}

static void checkpoint_copy(const tlm_param *param, const struct tlm_tensor *tensor)
{
    char *const out = param->data;

    if (tlm_safetensors_tlm_dtype(tensor->dtype) == (int)param->dtype) {
        if (tensor->size > 0)
            memcpy(param->data, tensor->data, tensor->size);
        return;
    }
    for (size_t i = 0; i < tensor->count; i++) {
        uint16_t half;
        uint32_t word;

        memcpy(&half, tensor->data + 2 * i, sizeof half);
        word = tensor->dtype == TLM_ST_BF16 ? (uint32_t)half << 16 : checkpoint_widen_f16(half);
        memcpy(out + 4 * i, &word, sizeof word);
    }
}

/* Says once for each narrower type how many tensors were widened. */
static void checkpoint_notice(const struct checkpoint_load *load, tlm_log_fn *log, void *log_user)
{
    static const enum tlm_safetensors_dtype narrow[] = { TLM_ST_F16, TLM_ST_BF16 };
    char text[TLM_ERROR_BYTES];

    for (size_t n = 0; log && n < sizeof narrow / sizeof narrow[0]; n++) {
        const char *first = NULL;
        size_t widened = 0;

        for (size_t i = 0; i < load->count; i++) {
            if (!load->chosen[i] || load->chosen[i]->dtype != narrow[n])
                continue;
            if (widened++ == 0)
                first = load->chosen[i]->key;
        }
        if (widened == 0)
            continue;
        snprintf(text, sizeof text, "%s: %zu tensor%s widened from %s to f32, the first is '%s'",
                 tlm_path_tail(load->path), widened, widened == 1 ? "" : "s",
                 tlm_safetensors_dtype_name(narrow[n]), first);
        log(log_user, text);
    }
}

/* Everything that can fail; nothing is written to the model yet. */
static tlm_status checkpoint_prepare(struct checkpoint_load *load, const uint8_t *bytes,
                                     size_t size, tlm_run_state *read)
{
    tlm_status status = tlm_safetensors_parse(bytes, size, load->path, &load->table, load->error);

    if (status != TLM_OK)
        return status;
    load->chosen = tlm_alloc(load->count, sizeof(*load->chosen));
    load->accounted = tlm_alloc(load->table.count, sizeof(*load->accounted));
    if (!load->chosen || !load->accounted)
        return tlm_fail(load->error, TLM_ERR_MEMORY, "%s: no memory to load it",
                        tlm_path_tail(load->path));
    if (load->run)
        status = checkpoint_read_run(load, read);
    if (status == TLM_OK)
        status = checkpoint_choose(load);
    if (status == TLM_OK)
        status = checkpoint_check_rest(load);
    return status;
}

tlm_status tlm_load_bytes(const tlm_param *params, size_t count, const uint8_t *bytes, size_t size,
                          const char *path, const tlm_mapping *mapping, tlm_run_state *run,
                          tlm_log_fn *log, void *log_user, char *error)
{
    struct checkpoint_load load = { .params = params,
                                    .count = count,
                                    .path = path,
                                    .mapping = mapping,
                                    .run = run,
                                    .error = error };
    tlm_run_state read;
    tlm_status status;

    if ((run && run->size != sizeof *run) || (mapping && mapping->size != sizeof *mapping))
        return tlm_fail(error, TLM_ERR_ARGUMENT, "a struct has the wrong size");
    status = checkpoint_prepare(&load, bytes, size, &read);
    if (status == TLM_OK) {
        for (size_t i = 0; i < count; i++)
            if (load.chosen[i])
                checkpoint_copy(&params[i], load.chosen[i]);
        if (run)
            *run = read;
        checkpoint_notice(&load, log, log_user);
    }
    free(load.chosen);
    free(load.accounted);
    tlm_safetensors_free(&load.table);
    return status;
}

tlm_status tlm_load(const tlm_param *params, size_t count, const char *path,
                    const tlm_mapping *mapping, tlm_run_state *run, tlm_log_fn *log, void *log_user,
                    char *error)
{
    struct tlm_bytes bytes;
    tlm_status status = tlm_file_read(path, SIZE_MAX / 2, &bytes, error);

    if (status != TLM_OK)
        return status;
    status = tlm_load_bytes(params, count, bytes.data, bytes.size, path, mapping, run, log,
                            log_user, error);
    tlm_bytes_free(&bytes);
    return status;
}

/* ---- saving */

/* A growing text. */
struct checkpoint_text {
    char *text;
    size_t length, capacity;
    bool failed; /* memory was short; everything after is dropped */
};

static void checkpoint_put(struct checkpoint_text *out, const char *text)
{
    const size_t length = strlen(text);
    char *grown;

    if (out->failed)
        return;
    grown = tlm_regrow(out->text, &out->capacity, out->length + length + 1, 1);
    if (!grown) {
        out->failed = true;
        return;
    }
    out->text = grown;
    memcpy(out->text + out->length, text, length + 1);
    out->length += length;
}

static void checkpoint_put_u64(struct checkpoint_text *out, uint64_t value)
{
    char digits[24];

    snprintf(digits, sizeof digits, "%" PRIu64, value);
    checkpoint_put(out, digits);
}

/* One row of the header; *offset moves behind the tensor. */
static void checkpoint_put_tensor(struct checkpoint_text *out, const char *key, const char *dtype,
                                  uint32_t rank, const uint32_t *dims, size_t bytes,
                                  uint64_t *offset)
{
    checkpoint_put(out, ",\"");
    checkpoint_put(out, key); /* letters, digits, '_' and '.' alone: nothing to escape */
    checkpoint_put(out, "\":{\"dtype\":\"");
    checkpoint_put(out, dtype);
    checkpoint_put(out, "\",\"shape\":[");
    for (uint32_t i = 0; i < rank; i++) {
        if (i > 0)
            checkpoint_put(out, ",");
        checkpoint_put_u64(out, dims[i]);
    }
    checkpoint_put(out, "],\"data_offsets\":[");
    checkpoint_put_u64(out, *offset);
    checkpoint_put(out, ",");
    *offset += bytes;
    checkpoint_put_u64(out, *offset);
    checkpoint_put(out, "]}");
}

static const char *checkpoint_file_dtype(tlm_dtype dtype)
{
    for (int i = 0; i < TLM_ST_COUNT; i++)
        if (tlm_safetensors_tlm_dtype((enum tlm_safetensors_dtype)i) == (int)dtype)
            return tlm_safetensors_dtype_name((enum tlm_safetensors_dtype)i);
    return "F32";
}

/* One save under way. */
struct checkpoint_save {
    const tlm_param *params;
    size_t count;
    const tlm_run_state *run;
    struct tlm_replace replace;
};

static void checkpoint_header(const struct checkpoint_save *save, struct checkpoint_text *out)
{
    uint64_t offset = 0;

    /* "pt" is what readers of this format demand before they look at a key */
    checkpoint_put(out, "{\"__metadata__\":{\"format\":\"pt\"}");
    if (save->run) {
        const uint32_t words = CHECKPOINT_RUN_WORDS + save->run->power_count;

        checkpoint_put_tensor(out, TLM_RUN_KEY, "U64", 1, &words, 8 * (size_t)words, &offset);
    }
    for (size_t width = 8; width > 0; width /= 2) {
        for (size_t i = 0; i < save->count; i++) {
            const tlm_param *const param = &save->params[i];

            if (checkpoint_is_stored(param, save->run != NULL) &&
                tlm_dtype_bytes((int)param->dtype) == width)
                checkpoint_put_tensor(out, param->key, checkpoint_file_dtype(param->dtype),
                                      param->rank, param->dims, param->count * width, &offset);
        }
    }
    checkpoint_put(out, "}");
    while (!out->failed && out->length % 8 != 0)
        checkpoint_put(out, " ");
}

/* The elements, NaNs in one form. */
static tlm_status checkpoint_write_tensor(struct tlm_replace *replace, const tlm_param *param)
{
    enum { PIECE = 4096 };
    const char *const data = param->data;
    uint32_t piece[PIECE];
    tlm_status status = TLM_OK;

    if (param->dtype != TLM_F32)
        return tlm_replace_write(replace, param->data,
                                 param->count * tlm_dtype_bytes((int)param->dtype));
    for (size_t at = 0; status == TLM_OK && at < param->count; at += PIECE) {
        const size_t n = param->count - at < PIECE ? param->count - at : PIECE;

        memcpy(piece, data + 4 * at, n * sizeof piece[0]);
        for (size_t i = 0; i < n; i++)
            if ((piece[i] & 0x7fffffff) > 0x7f800000)
                piece[i] = 0x7fc00000;
        status = tlm_replace_write(replace, piece, n * sizeof piece[0]);
    }
    return status;
}

static tlm_status checkpoint_write(struct checkpoint_save *save,
                                   const struct checkpoint_text *header)
{
    uint64_t words[CHECKPOINT_RUN_WORDS + CHECKPOINT_POWERS] = { header->length };
    tlm_status status = tlm_replace_write(&save->replace, words, 8);

    if (status == TLM_OK)
        status = tlm_replace_write(&save->replace, header->text, header->length);
    if (status == TLM_OK && save->run) {
        const tlm_run_state *const run = save->run;

        words[0] = CHECKPOINT_VERSION;
        words[1] = run->step;
        words[2] = run->seed;
        words[3] = run->epoch;
        words[4] = run->position;
        words[5] = run->planned;
        words[6] = run->power_count;
        memcpy(words + CHECKPOINT_RUN_WORDS, run->powers, run->power_count * sizeof words[0]);
        status = tlm_replace_write(&save->replace, words,
                                   8 * ((size_t)CHECKPOINT_RUN_WORDS + run->power_count));
    }
    for (size_t width = 8; width > 0; width /= 2)
        for (size_t i = 0; status == TLM_OK && i < save->count; i++)
            if (checkpoint_is_stored(&save->params[i], save->run != NULL) &&
                tlm_dtype_bytes((int)save->params[i].dtype) == width)
                status = checkpoint_write_tensor(&save->replace, &save->params[i]);
    return status;
}

tlm_status tlm_save_with(const tlm_param *params, size_t count, const char *path,
                         const tlm_run_state *run, const struct tlm_file_calls *calls, char *error)
{
    struct checkpoint_save save = { .params = params, .count = count, .run = run };
    struct checkpoint_text header = { 0 };
    tlm_status status;

    if (run && (run->size != sizeof *run || run->power_count > CHECKPOINT_POWERS))
        return tlm_fail(error, TLM_ERR_ARGUMENT, "a struct has the wrong size");
    checkpoint_header(&save, &header);
    if (header.failed) {
        free(header.text);
        return tlm_fail(error, TLM_ERR_MEMORY, "%s: no memory to save", tlm_path_tail(path));
    }
    status = tlm_replace_begin(&save.replace, path, calls, error);
    if (status == TLM_OK) {
        status = checkpoint_write(&save, &header);
        if (status == TLM_OK)
            status = tlm_replace_commit(&save.replace);
    }
    free(header.text);
    return status;
}

tlm_status tlm_save(const tlm_param *params, size_t count, const char *path,
                    const tlm_run_state *run, char *error)
{
    return tlm_save_with(params, count, path, run, NULL, error);
}
