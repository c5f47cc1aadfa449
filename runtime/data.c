/* Reading the files of data clauses: see data.h. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "data.h"

#include "alloc.h"
#include "csv.h"
#include "file.h"
#include "npy.h"
#include "safetensors.h"
#include "status.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

size_t tlm_io_row_elements(const tlm_io *io)
{
    size_t elements = 1;

    for (uint32_t i = 1; i < io->rank; i++)
        elements *= io->dims[i]; /* checked by the compiler: every tensor's bytes fit size_t */
    return elements;
}

size_t tlm_io_elements(const tlm_io *io)
{
    return io->rank == 0 ? 1 : io->dims[0] * tlm_io_row_elements(io);
}

void tlm_source_row(const struct tlm_source *source, size_t row, void *out)
{
    const size_t first = row * source->stride + source->begin;
    char *at = out;

    switch (source->kind) {
    case TLM_SOURCE_NONE: break;
    case TLM_SOURCE_ROWS:
        memcpy(out, source->values + row * source->row_bytes, source->row_bytes);
        break;
    case TLM_SOURCE_BYTES:
        for (size_t i = 0; i < source->row_elements; i++) {
            const int32_t byte = source->values[first + i];

            memcpy(at + 4 * i, &byte, sizeof byte);
        }
        break;
    case TLM_SOURCE_TOKENS: memcpy(out, source->values + 4 * first, source->row_bytes); break;
    }
}

/* One clause while it is read. */
struct data_clause {
    struct tlm_dataset *dataset;
    const tlm_form *form;
    const tlm_data *data;
    const char *path;
    const char *elsewhere;  /* what names another file than the model does, or NULL */
    struct tlm_bytes bytes; /* the file; its memory belongs to the dataset */
    char *error;
};

static tlm_status data_own(struct tlm_dataset *dataset, void *memory, char *error)
{
    void **grown = tlm_regrow(dataset->owned, &dataset->owned_capacity, dataset->owned_count + 1,
                              sizeof *grown);

    if (!grown) {
        free(memory);
        return tlm_fail(error, TLM_ERR_MEMORY, "no memory for the data");
    }
    dataset->owned = grown;
    dataset->owned[dataset->owned_count++] = memory;
    return TLM_OK;
}

static const tlm_io *data_input(const struct data_clause *c, const tlm_feed *feed)
{
    return &c->form->inputs[feed->input];
}

static struct tlm_source *data_source(const struct data_clause *c, const tlm_feed *feed)
{
    return &c->dataset->sources[feed->input];
}

/* Column feeds: one pass over the CSV file for all of them. */
static tlm_status data_read_csv(struct data_clause *c)
{
    const uint32_t count = c->data->feed_count;
    struct tlm_csv_want *wants = tlm_alloc(count, sizeof *wants);
    struct tlm_csv_rows *rows = tlm_alloc(count, sizeof *rows);
    tlm_status status = TLM_OK;
    size_t row_count = 0;

    if (!wants || !rows)
        status = tlm_fail(c->error, TLM_ERR_MEMORY, "no memory for the data");
    for (uint32_t i = 0; status == TLM_OK && i < count; i++) {
        const tlm_feed *const feed = &c->data->feeds[i];
        const tlm_io *const input = data_input(c, feed);

        wants[i] = (struct tlm_csv_want){ input->name, input->dtype, feed->columns,
                                          feed->column_names, feed->column_count };
        if (feed->column_count != tlm_io_row_elements(input))
            status = tlm_fail(c->error, TLM_ERR_MISMATCH,
                              "%s: %" PRIu32 " columns for '%s', whose rows have %zu values",
                              tlm_path_tail(c->path), feed->column_count, input->name,
                              tlm_io_row_elements(input));
    }
    if (status == TLM_OK)
        status = tlm_csv_read((char *)c->bytes.data, c->bytes.size, c->path, (int)c->data->header,
                              wants, count, rows, &row_count, c->error);
    for (uint32_t i = 0; status == TLM_OK && i < count; i++) {
        struct tlm_source *const source = data_source(c, &c->data->feeds[i]);

        source->kind = TLM_SOURCE_ROWS;
        source->rows = row_count;
        source->values = rows[i].values;
        rows[i].values = NULL; /* now the dataset's, which frees it if it cannot take it */
        status = data_own(c->dataset, (void *)(uintptr_t)source->values, c->error);
    }
    if (rows)
        tlm_csv_rows_free(rows, count);
    free(wants);
    free(rows);
    return status;
}

/* Rows from an array whose first axis is the row and whose others hold a row's values. */
static tlm_status data_take_array(struct data_clause *c, const tlm_feed *feed, int dtype,
                                  const char *dtype_name, uint32_t rank, const uint64_t *dims,
                                  size_t count, const uint8_t *values)
{
    const tlm_io *const input = data_input(c, feed);
    struct tlm_source *const source = data_source(c, feed);
    const size_t needed = tlm_io_row_elements(input);
    char shape[128];

    tlm_shape_text(rank, dims, shape, sizeof shape);
    if (dtype != (int)input->dtype)
        return tlm_fail(c->error, TLM_ERR_MISMATCH,
                        "%s: the elements are '%s', those of '%s' are %s", tlm_path_tail(c->path),
                        dtype_name, input->name, tlm_dtype_name((int)input->dtype));
    if (rank == 0 || (dims[0] > 0 && count / dims[0] != needed))
        return tlm_fail(c->error, TLM_ERR_MISMATCH,
                        "%s: the shape %s gives no rows of %zu values for '%s'",
                        tlm_path_tail(c->path), shape, needed, input->name);
    for (size_t i = 0; dtype == TLM_BOOL && i < count; i++)
        if (values[i] > 1)
            return tlm_fail(c->error, TLM_ERR_FORMAT, "%s: %d at element %zu is not a bool",
                            tlm_path_tail(c->path), values[i], i);
    source->kind = TLM_SOURCE_ROWS;
    source->rows = (size_t)dims[0];
    source->values = values;
    return TLM_OK;
}

static tlm_status data_read_npy(struct data_clause *c, const tlm_feed *feed)
{
    struct tlm_npy npy;
    const tlm_status status = tlm_npy_parse(c->bytes.data, c->bytes.size, c->path, &npy, c->error);

    if (status != TLM_OK)
        return status;
    return data_take_array(c, feed, (int)npy.dtype, tlm_npy_descr(npy.dtype), npy.rank, npy.dims,
                           npy.count, npy.data);
}

static tlm_status data_read_tensor(struct data_clause *c, const tlm_feed *feed)
{
    struct tlm_safetensors table;
    const struct tlm_tensor *tensor;
    tlm_status status =
        tlm_safetensors_parse(c->bytes.data, c->bytes.size, c->path, &table, c->error);

    if (status == TLM_OK) {
        tensor = tlm_safetensors_find(&table, feed->key);
        if (tensor)
            status = data_take_array(c, feed, tlm_safetensors_tlm_dtype(tensor->dtype),
                                     tlm_safetensors_dtype_name(tensor->dtype), tensor->rank,
                                     tensor->dims, tensor->count, tensor->data);
        else
            status = tlm_fail(c->error, TLM_ERR_MISMATCH, "%s: no tensor '%s'",
                              tlm_path_tail(c->path), feed->key);
    }
    tlm_safetensors_free(&table);
    return status;
}

/* Windows over a text or a token file: how many there are follows from the longest. */
static tlm_status data_take_windows(struct data_clause *c, const tlm_feed *feed,
                                    enum tlm_source_kind kind, const uint8_t *values, size_t length)
{
    const tlm_io *const input = data_input(c, feed);
    struct tlm_source *const source = data_source(c, feed);
    size_t longest = 0;

    for (uint32_t i = 0; i < c->data->feed_count; i++)
        if (c->data->feeds[i].end > (int64_t)longest)
            longest = (size_t)c->data->feeds[i].end;
    if (input->dtype != TLM_I32)
        return tlm_fail(c->error, TLM_ERR_MISMATCH, "%s: bytes and tokens are i32, '%s' is %s",
                        tlm_path_tail(c->path), input->name, tlm_dtype_name((int)input->dtype));
    if (feed->begin < 0 || feed->end <= feed->begin ||
        (size_t)(feed->end - feed->begin) != source->row_elements)
        return tlm_fail(c->error, TLM_ERR_MISMATCH,
                        "%s: offsets %" PRId64 "..%" PRId64 " for '%s', whose rows have %zu values",
                        tlm_path_tail(c->path), feed->begin, feed->end, input->name,
                        source->row_elements);
    source->kind = kind;
    source->values = values;
    source->begin = (size_t)feed->begin;
    source->stride = c->data->stride > 0 ? (size_t)c->data->stride : longest;
    source->rows = length < longest ? 0 : (length - longest) / source->stride + 1;
    return TLM_OK;
}

static tlm_status data_read_tokens(struct data_clause *c, const tlm_feed *feed)
{
    struct tlm_npy npy;
    const tlm_status status = tlm_npy_parse(c->bytes.data, c->bytes.size, c->path, &npy, c->error);

    if (status != TLM_OK)
        return status;
    if (npy.dtype != TLM_I32 || npy.rank != 1)
        return tlm_fail(c->error, TLM_ERR_MISMATCH,
                        "%s: a token file is one axis of '<i4'; this one is %s with %" PRIu32
                        " axes",
                        tlm_path_tail(c->path), tlm_dtype_name((int)npy.dtype), npy.rank);
    return data_take_windows(c, feed, TLM_SOURCE_TOKENS, npy.data, npy.count);
}

static tlm_status data_read_feed(struct data_clause *c, const tlm_feed *feed)
{
    switch (feed->reader) {
    case TLM_READ_COLUMNS: return TLM_OK; /* all at once, data_read_csv */
    case TLM_READ_ARRAY: return data_read_npy(c, feed);
    case TLM_READ_TENSOR: return data_read_tensor(c, feed);
    case TLM_READ_BYTES:
        return data_take_windows(c, feed, TLM_SOURCE_BYTES, c->bytes.data, c->bytes.size);
    case TLM_READ_TOKENS: return data_read_tokens(c, feed);
    }
    return TLM_ERR_ARGUMENT;
}

/* The file of the clause.  The model names it; where the program runs is up to its user. */
static tlm_status data_read_file(struct data_clause *c)
{
    const tlm_status status = tlm_file_read(c->path, SIZE_MAX / 2, &c->bytes, c->error);
    char text[TLM_ERROR_BYTES];

    if (status == TLM_OK || c->path != c->data->path || *c->path == '/' ||
        access(c->path, F_OK) == 0)
        return status;
    memcpy(text, c->error, sizeof text);
    return tlm_fail(c->error, status, "%s; the path is relative to the current folder%s", text,
                    c->elsewhere ? c->elsewhere : "");
}

static tlm_status data_read_clause(struct data_clause *c)
{
    uint32_t columns = 0;
    tlm_status status = data_read_file(c);

    if (status == TLM_OK)
        status = data_own(c->dataset, c->bytes.data, c->error);
    for (uint32_t i = 0; i < c->data->feed_count; i++)
        columns += c->data->feeds[i].reader == TLM_READ_COLUMNS;
    if (status == TLM_OK && columns > 0 && columns < c->data->feed_count)
        return tlm_fail(c->error, TLM_ERR_MISMATCH, "%s: columns and other readers of one file",
                        tlm_path_tail(c->path));
    if (status == TLM_OK && columns > 0)
        status = data_read_csv(c);
    for (uint32_t i = 0; status == TLM_OK && i < c->data->feed_count; i++)
        status = data_read_feed(c, &c->data->feeds[i]);
    return status;
}

/* Every file has the same rows, and there are some. */
static tlm_status data_check_rows(struct data_clause *c, int first)
{
    for (uint32_t i = 0; i < c->data->feed_count; i++) {
        const struct tlm_source *const source = data_source(c, &c->data->feeds[i]);

        if (first && i == 0)
            c->dataset->rows = source->rows;
        if (source->rows != c->dataset->rows)
            return tlm_fail(c->error, TLM_ERR_MISMATCH,
                            "%s: %zu rows for '%s', but the data before have %zu",
                            tlm_path_tail(c->path), source->rows,
                            data_input(c, &c->data->feeds[i])->name, c->dataset->rows);
        if (source->rows == 0)
            return tlm_fail(c->error, TLM_ERR_MISMATCH, "%s: not one row for '%s'",
                            tlm_path_tail(c->path), data_input(c, &c->data->feeds[i])->name);
        if (source->rows > UINT32_MAX)
            return tlm_fail(c->error, TLM_ERR_MISMATCH, "%s: more than 2^32 rows",
                            tlm_path_tail(c->path));
    }
    return TLM_OK;
}

tlm_status tlm_dataset_load(struct tlm_dataset *dataset, const tlm_form *form,
                            const tlm_data *clauses, uint32_t clause_count,
                            const char *const *paths, uint32_t path_count, char *error)
{
    memset(dataset, 0, sizeof *dataset);
    dataset->source_count = form->input_count;
    dataset->sources = tlm_alloc(form->input_count, sizeof *dataset->sources);
    if (!dataset->sources)
        return tlm_fail(error, TLM_ERR_MEMORY, "no memory for the data");
    for (uint32_t i = 0; i < form->input_count; i++) {
        dataset->sources[i].row_elements = tlm_io_row_elements(&form->inputs[i]);
        dataset->sources[i].row_bytes =
            dataset->sources[i].row_elements * tlm_dtype_bytes((int)form->inputs[i].dtype);
    }
    for (uint32_t i = 0; i < clause_count; i++) {
        struct data_clause clause = { .dataset = dataset,
                                      .form = form,
                                      .data = &clauses[i],
                                      .path = i < path_count ? paths[i] : clauses[i].path,
                                      .elsewhere = paths ? ", --data FILE names another" : NULL,
                                      .error = error };
        tlm_status status = data_read_clause(&clause);

        if (status == TLM_OK)
            status = data_check_rows(&clause, i == 0);
        if (status != TLM_OK)
            return status;
    }
    for (uint32_t i = 0; i < form->input_count; i++)
        if (dataset->sources[i].kind == TLM_SOURCE_NONE)
            return tlm_fail(error, TLM_ERR_MISMATCH, "no data clause feeds '%s'",
                            form->inputs[i].name);
    return TLM_OK;
}

void tlm_dataset_free(struct tlm_dataset *dataset)
{
    for (size_t i = 0; i < dataset->owned_count; i++)
        free(dataset->owned[i]);
    free(dataset->owned);
    free(dataset->sources);
    memset(dataset, 0, sizeof *dataset);
}
