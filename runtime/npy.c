/* Reads and writes .npy: see npy.h.  The header is a Python dict literal of three known keys;
   nothing else of Python is understood. */
#include "npy.h"

#include "alloc.h"
#include "file.h"
#include "safetensors.h"
#include "status.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NPY_DESCR = 1, NPY_ORDER = 2, NPY_SHAPE = 4, NPY_ALL = 7, NPY_HEADER_MOST = 1 << 16 };

/* The header text; every read moves `at`, a NUL stands behind the end. */
struct npy_header {
    const char *text;
    size_t size, at;
    char descr[32];
    bool fortran;
};

static char npy_peek(struct npy_header *h)
{
    while (h->at < h->size && (h->text[h->at] == ' ' || h->text[h->at] == '\n'))
        h->at++;
    return h->at < h->size ? h->text[h->at] : 0;
}

static bool npy_take(struct npy_header *h, char c)
{
    if (npy_peek(h) != c)
        return false;
    h->at++;
    return true;
}

/* A quoted word without escapes. */
static bool npy_string(struct npy_header *h, char *out, size_t capacity)
{
    const char quote = npy_peek(h);
    size_t length = 0;

    if (quote != '\'' && quote != '"')
        return false;
    for (h->at++; h->at < h->size && h->text[h->at] != quote; h->at++) {
        if (length + 1 >= capacity || h->text[h->at] < ' ')
            return false;
        out[length++] = h->text[h->at];
    }
    out[length] = 0;
    return npy_take(h, quote);
}

static bool npy_boolean(struct npy_header *h, bool *out)
{
    static const char *const npy_words[] = { "False", "True" };

    npy_peek(h);
    for (int i = 0; i < 2; i++) {
        const size_t length = strlen(npy_words[i]);

        if (h->size - h->at >= length && memcmp(h->text + h->at, npy_words[i], length) == 0) {
            h->at += length;
            *out = i;
            return true;
        }
    }
    return false;
}

/* (3, 4), (3,) or () */
static bool npy_shape(struct npy_header *h, struct tlm_npy *out)
{
    out->rank = 0;
    if (!npy_take(h, '('))
        return false;
    while (npy_peek(h) != ')') {
        uint64_t dim = 0;
        size_t digits = 0;

        if (out->rank == TLM_MAX_RANK)
            return false;
        while (h->at < h->size && h->text[h->at] >= '0' && h->text[h->at] <= '9') {
            const uint64_t digit = (uint64_t)(h->text[h->at] - '0');

            if (dim > (UINT64_MAX - digit) / 10)
                return false;
            dim = dim * 10 + digit;
            h->at++;
            digits++;
        }
        if (digits == 0)
            return false;
        out->dims[out->rank++] = dim;
        if (!npy_take(h, ',') && npy_peek(h) != ')')
            return false;
    }
    return npy_take(h, ')');
}

static bool npy_dict(struct npy_header *h, struct tlm_npy *out)
{
    unsigned seen = 0;
    char key[32];

    if (!npy_take(h, '{'))
        return false;
    while (npy_peek(h) != '}') {
        unsigned bit = 0;
        bool read = false;

        if (!npy_string(h, key, sizeof key) || !npy_take(h, ':'))
            return false;
        if (strcmp(key, "descr") == 0) {
            bit = NPY_DESCR;
            read = npy_string(h, h->descr, sizeof h->descr);
        } else if (strcmp(key, "fortran_order") == 0) {
            bit = NPY_ORDER;
            read = npy_boolean(h, &h->fortran);
        } else if (strcmp(key, "shape") == 0) {
            bit = NPY_SHAPE;
            read = npy_shape(h, out);
        }
        if (!read || (seen & bit))
            return false;
        seen |= bit;
        if (!npy_take(h, ',') && npy_peek(h) != '}')
            return false;
    }
    return npy_take(h, '}') && npy_peek(h) == 0 && h->at == h->size && seen == NPY_ALL;
}

static const struct npy_type {
    const char *descr;
    tlm_dtype dtype;
} npy_types[] = { { "<f4", TLM_F32 }, { "<i4", TLM_I32 }, { "|b1", TLM_BOOL } };

enum { NPY_TYPES = sizeof npy_types / sizeof npy_types[0] };

const char *tlm_npy_descr(tlm_dtype dtype)
{
    for (int i = 0; i < NPY_TYPES; i++)
        if (npy_types[i].dtype == dtype)
            return npy_types[i].descr;
    return "?";
}

/* Finds the header's text and where the data begin. */
static tlm_status npy_open(const uint8_t *bytes, size_t size, const char *path,
                           struct npy_header *h, size_t *data, char *error)
{
    const size_t wide = size >= 8 && bytes[6] >= 2 ? 4 : 2; /* bytes of the length */
    size_t length = 0;

    if (size < 10 || memcmp(bytes, "\x93NUMPY", 6) != 0)
        return tlm_fail(error, TLM_ERR_FORMAT, "%s: not a .npy file", tlm_path_tail(path));
    if (bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0)
        return tlm_fail(error, TLM_ERR_FORMAT, "%s: .npy version %d.%d is not known",
                        tlm_path_tail(path), bytes[6], bytes[7]);
    if (size < 8 + wide)
        return tlm_fail(error, TLM_ERR_FORMAT, "%s: the header is cut off", tlm_path_tail(path));
    for (size_t i = wide; i-- > 0;)
        length = length << 8 | bytes[8 + i];
    if (length > NPY_HEADER_MOST || length > size - 8 - wide)
        return tlm_fail(error, TLM_ERR_FORMAT, "%s: a header of %zu bytes in a file of %zu",
                        tlm_path_tail(path), length, size);
    h->text = (const char *)bytes + 8 + wide;
    h->size = length;
    *data = 8 + wide + length;
    return TLM_OK;
}

/* dtype, order and the number of bytes; `left` bytes follow the header. */
static tlm_status npy_check(const struct npy_header *h, size_t left, const char *path,
                            struct tlm_npy *out, char *error)
{
    size_t bytes = 0;
    int type = 0;
    bool fits = true;

    while (type < NPY_TYPES && strcmp(npy_types[type].descr, h->descr) != 0)
        type++;
    if (type == NPY_TYPES)
        return tlm_fail(error, TLM_ERR_MISMATCH,
                        "%s: the dtype '%s' is not one of '<f4', '<i4', '|b1'", tlm_path_tail(path),
                        h->descr);
    out->dtype = npy_types[type].dtype;
    if (h->fortran)
        return tlm_fail(error, TLM_ERR_MISMATCH,
                        "%s: the array is in Fortran order; C order is needed",
                        tlm_path_tail(path));
    out->count = 1;
    for (uint32_t i = 0; i < out->rank; i++)
        fits = fits && out->dims[i] <= SIZE_MAX &&
               tlm_size_mul(out->count, (size_t)out->dims[i], &out->count);
    fits = fits && tlm_size_mul(out->count, tlm_dtype_bytes((int)out->dtype), &bytes);
    if (!fits || bytes != left)
        return tlm_fail(error, TLM_ERR_FORMAT,
                        "%s: %zu bytes of data, which is not what dtype and shape need",
                        tlm_path_tail(path), left);
    if (out->dtype == TLM_BOOL)
        for (size_t i = 0; i < out->count; i++)
            if (out->data[i] > 1)
                return tlm_fail(error, TLM_ERR_FORMAT, "%s: %d at element %zu is not a bool",
                                tlm_path_tail(path), out->data[i], i);
    return TLM_OK;
}

tlm_status tlm_npy_parse(const uint8_t *bytes, size_t size, const char *path, struct tlm_npy *out,
                         char *error)
{
    struct npy_header header = { 0 };
    size_t data = 0;
    tlm_status status = npy_open(bytes, size, path, &header, &data, error);

    memset(out, 0, sizeof *out);
    if (status != TLM_OK)
        return status;
    if (!npy_dict(&header, out))
        return tlm_fail(error, TLM_ERR_FORMAT,
                        "%s: byte %zu of the header: not a dict of descr, fortran_order and shape",
                        tlm_path_tail(path), header.at);
    out->data = bytes + data;
    return npy_check(&header, size - data, path, out, error);
}

/* The version 1 header of an array, its length a multiple of 64; the number of bytes. */
static size_t npy_format(char out[1024], const char *descr, uint32_t rank, const uint64_t *dims)
{
    size_t length = 10, padded;

    length += (size_t)snprintf(out + length, 1024 - length,
                               "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (uint32_t i = 0; i < rank; i++)
        length += (size_t)snprintf(out + length, 1024 - length, "%" PRIu64 "%s", dims[i],
                                   i + 1 < rank ? ", "
                                   : rank == 1  ? ","
                                                : "");
    length += (size_t)snprintf(out + length, 1024 - length, "), }");
    padded = (length + 1 + 63) / 64 * 64;
    memset(out + length, ' ', padded - length);
    out[padded - 1] = '\n';
    memcpy(out, "\x93NUMPY\x01", 7);
    out[7] = 0;
    out[8] = (char)((padded - 10) & 0xff);
    out[9] = (char)((padded - 10) >> 8);
    return padded;
}

tlm_status tlm_npy_write(const char *path, tlm_dtype dtype, uint32_t rank, const uint64_t *dims,
                         const void *data, char *error)
{
    size_t bytes = tlm_dtype_bytes((int)dtype);
    struct tlm_replace replace;
    char header[1024];
    tlm_status status;
    int type = 0;

    while (type < NPY_TYPES && npy_types[type].dtype != dtype)
        type++;
    if (type == NPY_TYPES || rank > TLM_MAX_RANK)
        return tlm_fail(error, TLM_ERR_ARGUMENT, "%s: no .npy dtype for %s", tlm_path_tail(path),
                        tlm_dtype_name((int)dtype));
    for (uint32_t i = 0; i < rank; i++)
        if (dims[i] > SIZE_MAX || !tlm_size_mul(bytes, (size_t)dims[i], &bytes))
            return tlm_fail(error, TLM_ERR_ARGUMENT, "%s: the array is too large",
                            tlm_path_tail(path));
    status = tlm_replace_begin(&replace, path, NULL, error);
    if (status == TLM_OK)
        status = tlm_replace_write(&replace, header,
                                   npy_format(header, npy_types[type].descr, rank, dims));
    if (status == TLM_OK)
        status = tlm_replace_write(&replace, data, bytes);
    if (status == TLM_OK)
        status = tlm_replace_commit(&replace);
    return status;
}
