/* Parsing and checking a safetensors header: see safetensors.h for what is refused. */
#include "safetensors.h"

#include "alloc.h"
#include "json_read.h"
#include "status.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct safetensors_type {
    const char *name;
    size_t bytes;
    int dtype;
} safetensors_types[TLM_ST_COUNT] = {
#define SAFETENSORS_ROW(name, bytes, dtype) { #name, bytes, dtype },
    TLM_SAFETENSORS_DTYPES(SAFETENSORS_ROW)
#undef SAFETENSORS_ROW
};

const char *tlm_safetensors_dtype_name(enum tlm_safetensors_dtype dtype)
{
    return safetensors_types[dtype].name;
}

size_t tlm_safetensors_dtype_bytes(enum tlm_safetensors_dtype dtype)
{
    return safetensors_types[dtype].bytes;
}

int tlm_safetensors_tlm_dtype(enum tlm_safetensors_dtype dtype)
{
    return safetensors_types[dtype].dtype;
}

void tlm_shape_text(uint32_t rank, const uint64_t *dims, char *out, size_t capacity)
{
    size_t length = (size_t)snprintf(out, capacity, "[");

    for (uint32_t i = 0; i < rank && length < capacity; i++)
        length +=
            (size_t)snprintf(out + length, capacity - length, "%s%" PRIu64, i ? ", " : "", dims[i]);
    if (length < capacity)
        snprintf(out + length, capacity - length, "]");
}

/* What the functions below share while a header is read. */
struct safetensors_reader {
    struct tlm_json json;
    const char *path;
    const uint8_t *data; /* after the header */
    size_t data_size, capacity;
    struct tlm_safetensors *table;
    char *error;
    char key[TLM_SAFETENSORS_KEY_BYTES];
};

static tlm_status safetensors_json_failed(struct safetensors_reader *r)
{
    return tlm_fail(r->error, TLM_ERR_FORMAT, "%s: byte %zu of the header: %s",
                    tlm_path_tail(r->path), r->json.at, r->json.problem);
}

/* "dtype": "F32" */
static tlm_status safetensors_read_dtype(struct safetensors_reader *r, struct tlm_tensor *tensor)
{
    char name[32];

    if (!tlm_json_string(&r->json, name, sizeof name))
        return safetensors_json_failed(r);
    for (int i = 0; i < TLM_ST_COUNT; i++) {
        if (strcmp(name, safetensors_types[i].name) == 0) {
            tensor->dtype = (enum tlm_safetensors_dtype)i;
            return TLM_OK;
        }
    }
    return tlm_fail(r->error, TLM_ERR_FORMAT, "%s: '%s' has the unknown dtype '%s'",
                    tlm_path_tail(r->path), r->key, name);
}

/* "shape": [8, 2] */
static tlm_status safetensors_read_shape(struct safetensors_reader *r, struct tlm_tensor *tensor)
{
    if (!tlm_json_enter(&r->json, '['))
        return safetensors_json_failed(r);
    while (tlm_json_next(&r->json)) {
        if (tensor->rank == TLM_MAX_RANK)
            return tlm_fail(r->error, TLM_ERR_FORMAT, "%s: '%s' has more than %d axes",
                            tlm_path_tail(r->path), r->key, TLM_MAX_RANK);
        if (!tlm_json_u64(&r->json, &tensor->dims[tensor->rank]))
            break;
        tensor->rank++;
    }
    return r->json.problem ? safetensors_json_failed(r) : TLM_OK;
}

/* "data_offsets": [0, 64]; the element count is known only after all fields are read. */
static tlm_status safetensors_read_offsets(struct safetensors_reader *r, struct tlm_tensor *tensor)
{
    uint64_t begin = 0, end = 0;

    if (!tlm_json_enter(&r->json, '[') || !tlm_json_next(&r->json) ||
        !tlm_json_u64(&r->json, &begin) || !tlm_json_next(&r->json) ||
        !tlm_json_u64(&r->json, &end) || tlm_json_next(&r->json)) {
        if (!r->json.problem)
            r->json.problem = "two offsets expected";
        return safetensors_json_failed(r);
    }
    if (begin > end || end > r->data_size)
        return tlm_fail(r->error, TLM_ERR_FORMAT,
                        "%s: '%s' stands at bytes %" PRIu64 " to %" PRIu64 ", but the file has %zu",
                        tlm_path_tail(r->path), r->key, begin, end, r->data_size);
    tensor->data = r->data + begin;
    tensor->size = (size_t)(end - begin);
    return TLM_OK;
}

/* The size in bytes must follow from dtype and shape, and be what the offsets say. */
static tlm_status safetensors_check_size(struct safetensors_reader *r, struct tlm_tensor *tensor)
{
    size_t bytes = 0;
    bool fits = true;

    tensor->count = 1;
    for (uint32_t i = 0; i < tensor->rank; i++)
        fits = fits && tensor->dims[i] <= SIZE_MAX &&
               tlm_size_mul(tensor->count, (size_t)tensor->dims[i], &tensor->count);
    fits = fits && tlm_size_mul(tensor->count, safetensors_types[tensor->dtype].bytes, &bytes);
    if (fits && bytes == tensor->size)
        return TLM_OK;
    return tlm_fail(r->error, TLM_ERR_FORMAT,
                    "%s: '%s' has %zu bytes, which is not what its dtype and shape need",
                    tlm_path_tail(r->path), r->key, tensor->size);
}

/* The object of one tensor, appended to the table. */
static tlm_status safetensors_read_tensor(struct safetensors_reader *r)
{
    enum { SEEN_DTYPE = 1, SEEN_SHAPE = 2, SEEN_OFFSETS = 4, SEEN_ALL = 7 };
    struct tlm_tensor tensor = { 0 }, *grown;
    char field[32];
    unsigned seen = 0;
    tlm_status status = TLM_OK;

    if (!tlm_json_enter(&r->json, '{'))
        return safetensors_json_failed(r);
    while (status == TLM_OK && tlm_json_next(&r->json)) {
        unsigned bit = 0;

        if (!tlm_json_key(&r->json, field, sizeof field))
            break;
        if (strcmp(field, "dtype") == 0)
            bit = SEEN_DTYPE;
        else if (strcmp(field, "shape") == 0)
            bit = SEEN_SHAPE;
        else if (strcmp(field, "data_offsets") == 0)
            bit = SEEN_OFFSETS;
        if (bit == 0 || (seen & bit))
            return tlm_fail(r->error, TLM_ERR_FORMAT, "%s: '%s' has the field '%s'%s",
                            tlm_path_tail(r->path), r->key, field,
                            bit ? " twice" : ", which is not of this format");
        seen |= bit;
        status = bit == SEEN_DTYPE   ? safetensors_read_dtype(r, &tensor)
                 : bit == SEEN_SHAPE ? safetensors_read_shape(r, &tensor)
                                     : safetensors_read_offsets(r, &tensor);
    }
    if (status != TLM_OK)
        return status;
    if (r->json.problem)
        return safetensors_json_failed(r);
    if (seen != SEEN_ALL)
        return tlm_fail(r->error, TLM_ERR_FORMAT, "%s: '%s' lacks its dtype, shape or data_offsets",
                        tlm_path_tail(r->path), r->key);
    status = safetensors_check_size(r, &tensor);
    if (status != TLM_OK)
        return status;
    grown = tlm_regrow(r->table->tensors, &r->capacity, r->table->count + 1, sizeof tensor);
    if (grown)
        r->table->tensors = grown;
    tensor.key = grown ? tlm_alloc(strlen(r->key) + 1, 1) : NULL;
    if (!tensor.key)
        return tlm_fail(r->error, TLM_ERR_MEMORY, "%s: no memory for its header",
                        tlm_path_tail(r->path));
    strcpy(tensor.key, r->key);
    r->table->tensors[r->table->count++] = tensor;
    return TLM_OK;
}

/* "__metadata__": strings, of no interest here. */
static tlm_status safetensors_read_metadata(struct safetensors_reader *r)
{
    char key[TLM_SAFETENSORS_KEY_BYTES];
    char *value = tlm_alloc(r->json.size + 1, 1); /* descriptions may be long */

    if (!value)
        return tlm_fail(r->error, TLM_ERR_MEMORY, "%s: no memory for its header",
                        tlm_path_tail(r->path));
    if (tlm_json_enter(&r->json, '{'))
        while (tlm_json_next(&r->json))
            if (!tlm_json_key(&r->json, key, sizeof key) ||
                !tlm_json_string(&r->json, value, r->json.size + 1))
                break;
    free(value);
    return r->json.problem ? safetensors_json_failed(r) : TLM_OK;
}

static int safetensors_by_offset(const void *a, const void *b)
{
    const struct tlm_tensor *x = a, *y = b;

    if (x->data != y->data)
        return x->data < y->data ? -1 : 1;
    return (x->size > y->size) - (x->size < y->size);
}

static int safetensors_by_key(const void *a, const void *b)
{
    const struct tlm_tensor *x = a, *y = b;

    return strcmp(x->key, y->key);
}

/* The tensors must fill the data without overlap or hole, and no key may stand twice.  Leaves them
   sorted by key. */
static tlm_status safetensors_check_table(struct safetensors_reader *r)
{
    struct tlm_tensor *const tensors = r->table->tensors;
    const size_t count = r->table->count;
    const uint8_t *at = r->data;

    if (count > 0)
        qsort(tensors, count, sizeof *tensors, safetensors_by_offset);
    for (size_t i = 0; i < count; i++) {
        if (tensors[i].data != at)
            return tlm_fail(r->error, TLM_ERR_FORMAT, "%s: '%s' %s", tlm_path_tail(r->path),
                            tensors[i].key,
                            tensors[i].data < at ? "overlaps the tensor before it"
                                                 : "leaves a hole before its data");
        at += tensors[i].size;
    }
    if (at != r->data + r->data_size)
        return tlm_fail(r->error, TLM_ERR_FORMAT, "%s: %zu bytes at the end belong to no tensor",
                        tlm_path_tail(r->path), (size_t)(r->data + r->data_size - at));
    if (count > 0)
        qsort(tensors, count, sizeof *tensors, safetensors_by_key);
    for (size_t i = 1; i < count; i++)
        if (strcmp(tensors[i - 1].key, tensors[i].key) == 0)
            return tlm_fail(r->error, TLM_ERR_FORMAT, "%s: the key '%s' stands twice",
                            tlm_path_tail(r->path), tensors[i].key);
    return TLM_OK;
}

static tlm_status safetensors_read_header(struct safetensors_reader *r)
{
    tlm_status status = TLM_OK;
    bool metadata = false;

    if (!tlm_json_enter(&r->json, '{'))
        return safetensors_json_failed(r);
    while (status == TLM_OK && tlm_json_next(&r->json)) {
        if (!tlm_json_key(&r->json, r->key, sizeof r->key))
            break;
        if (strcmp(r->key, "__metadata__") != 0) {
            status = safetensors_read_tensor(r);
        } else if (metadata) {
            status = tlm_fail(r->error, TLM_ERR_FORMAT, "%s: the key '%s' stands twice",
                              tlm_path_tail(r->path), r->key);
        } else {
            metadata = true;
            status = safetensors_read_metadata(r);
        }
    }
    if (status != TLM_OK)
        return status;
    return tlm_json_end(&r->json) ? TLM_OK : safetensors_json_failed(r);
}

tlm_status tlm_safetensors_parse(const uint8_t *bytes, size_t size, const char *path,
                                 struct tlm_safetensors *out, char *error)
{
    struct safetensors_reader reader = { .path = path, .table = out, .error = error };
    uint64_t length = 0;
    tlm_status status;

    out->tensors = NULL;
    out->count = 0;
    if (size < 8)
        return tlm_fail(error, TLM_ERR_FORMAT, "%s: too short for a safetensors file (%zu bytes)",
                        tlm_path_tail(path), size);
    if (size > 8 && bytes[8] != '{') /* where a header begins */
        return tlm_fail(error, TLM_ERR_FORMAT, "%s: is not a safetensors file",
                        tlm_path_tail(path));
    for (int i = 7; i >= 0; i--)
        length = length << 8 | bytes[i];
    if (length > TLM_SAFETENSORS_HEADER_MOST)
        return tlm_fail(error, TLM_ERR_FORMAT,
                        "%s: a header of %" PRIu64 " bytes; at most %d are read",
                        tlm_path_tail(path), length, TLM_SAFETENSORS_HEADER_MOST);
    if (length > size - 8)
        return tlm_fail(error, TLM_ERR_FORMAT, "%s: a header of %" PRIu64 " bytes in a file of %zu",
                        tlm_path_tail(path), length, size);
    tlm_json_start(&reader.json, (const char *)bytes + 8, (size_t)length);
    reader.data = bytes + 8 + length;
    reader.data_size = size - 8 - (size_t)length;
    status = safetensors_read_header(&reader);
    if (status == TLM_OK)
        status = safetensors_check_table(&reader);
    return status;
}

void tlm_safetensors_free(struct tlm_safetensors *table)
{
    for (size_t i = 0; i < table->count; i++)
        free(table->tensors[i].key);
    free(table->tensors);
    table->tensors = NULL;
    table->count = 0;
}

const struct tlm_tensor *tlm_safetensors_find(const struct tlm_safetensors *table, const char *key)
{
    size_t low = 0, high = table->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = strcmp(key, table->tensors[middle].key);

        if (order == 0)
            return &table->tensors[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}
