/* The reader of csv.h: a record at a time into a table of fields, then the wanted fields into
   numbers. */
#include "csv.h"

#include "alloc.h"
#include "status.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct csv_field {
    const char *text;
    size_t length, line, column; /* place of its first byte, from 1 */
};

struct csv_reader {
    char *text;
    size_t size, at, line, line_start;
    const char *path;
    struct csv_field *fields; /* of the current record */
    size_t field_count, field_capacity;
    char *error;
};

#define CSV_PLACE "%s:%zu:%zu: "

/* The whole text is digits with at most one point and an exponent, in what strtof and strtol read
   in the same way. */
static int csv_is_decimal(const char *text, size_t length, int integer)
{
    size_t at = 0, digits = 0;

    if (at < length && (text[at] == '+' || text[at] == '-'))
        at++;
    for (; at < length && text[at] >= '0' && text[at] <= '9'; at++)
        digits++;
    if (integer)
        return digits > 0 && at == length;
    if (at < length && text[at] == '.')
        for (at++; at < length && text[at] >= '0' && text[at] <= '9'; at++)
            digits++;
    if (digits == 0)
        return 0;
    if (at < length && (text[at] == 'e' || text[at] == 'E')) {
        at++;
        if (at < length && (text[at] == '+' || text[at] == '-'))
            at++;
        if (at == length)
            return 0;
        while (at < length && text[at] >= '0' && text[at] <= '9')
            at++;
    }
    return at == length;
}

/* `text` is followed by a byte that ends a number (a delimiter or the zero behind the file), so
   strtof stops there. */
int tlm_parse_f32(const char *text, size_t length, float *out)
{
    if (!csv_is_decimal(text, length, 0))
        return 0;
    *out = strtof(text, NULL); /* the program never calls setlocale: the point is a point */
    return isfinite(*out) ? 1 : -1;
}

int tlm_parse_i32(const char *text, size_t length, int32_t *out)
{
    long long value;

    if (!csv_is_decimal(text, length, 1))
        return 0;
    errno = 0;
    value = strtoll(text, NULL, 10);
    if (errno == ERANGE || value < INT32_MIN || value > INT32_MAX)
        return -1;
    *out = (int32_t)value;
    return 1;
}

static tlm_status csv_add_field(struct csv_reader *r, struct csv_field field)
{
    struct csv_field *grown =
        tlm_regrow(r->fields, &r->field_capacity, r->field_count + 1, sizeof *grown);

    if (!grown)
        return tlm_fail(r->error, TLM_ERR_MEMORY, "%s: no memory for this file",
                        tlm_path_tail(r->path));
    r->fields = grown;
    r->fields[r->field_count++] = field;
    return TLM_OK;
}

/* A field in quotes, put together in place; r->at is behind the opening quote. */
static tlm_status csv_quoted(struct csv_reader *r, struct csv_field *field)
{
    char *out = r->text + r->at;

    field->text = out;
    for (;;) {
        char c;

        if (r->at >= r->size)
            return tlm_fail(r->error, TLM_ERR_FORMAT, CSV_PLACE "this quote is never closed",
                            tlm_path_tail(r->path), field->line, field->column);
        c = r->text[r->at++];
        if (c == 0)
            return tlm_fail(r->error, TLM_ERR_FORMAT, CSV_PLACE "a NUL byte",
                            tlm_path_tail(r->path), r->line, r->at - r->line_start);
        if (c == '"') {
            if (r->at >= r->size || r->text[r->at] != '"')
                break;
            r->at++;
        } else if (c == '\n') {
            r->line++;
            r->line_start = r->at;
        }
        *out++ = c;
    }
    field->length = (size_t)(out - field->text);
    if (r->at < r->size && r->text[r->at] != ',' && r->text[r->at] != '\n' &&
        !(r->text[r->at] == '\r' && r->at + 1 < r->size && r->text[r->at + 1] == '\n'))
        return tlm_fail(r->error, TLM_ERR_FORMAT, CSV_PLACE "text behind a closing quote",
                        tlm_path_tail(r->path), r->line, r->at - r->line_start + 1);
    if (out < r->text + r->at) /* numbers end where their field does */
        *out = '"';
    return TLM_OK;
}

/* A field without quotes: up to the comma or the end of the line. */
static tlm_status csv_plain(struct csv_reader *r, struct csv_field *field)
{
    const char *const start = r->text + r->at;

    while (r->at < r->size && r->text[r->at] != ',' && r->text[r->at] != '\n') {
        if (r->text[r->at] == '"' || r->text[r->at] == 0)
            return tlm_fail(r->error, TLM_ERR_FORMAT, CSV_PLACE "%s", tlm_path_tail(r->path),
                            r->line, r->at - r->line_start + 1,
                            r->text[r->at] ? "a quote inside a field without quotes"
                                           : "a NUL byte");
        r->at++;
    }
    field->text = start;
    field->length = (size_t)(r->text + r->at - start);
    if (field->length > 0 && start[field->length - 1] == '\r' &&
        (r->at == r->size || r->text[r->at] == '\n'))
        field->length--;
    return TLM_OK;
}

/* The next record into r->fields. */
static tlm_status csv_record(struct csv_reader *r)
{
    r->field_count = 0;
    for (;;) {
        struct csv_field field = { .line = r->line, .column = r->at - r->line_start + 1 };
        tlm_status status;

        if (r->at < r->size && r->text[r->at] == '"') {
            r->at++;
            status = csv_quoted(r, &field);
        } else {
            status = csv_plain(r, &field);
        }
        if (status == TLM_OK)
            status = csv_add_field(r, field);
        if (status != TLM_OK)
            return status;
        if (r->at < r->size && r->text[r->at] == '\r') /* before the LF of a quoted last field */
            r->at++;
        if (r->at >= r->size)
            return TLM_OK;
        if (r->text[r->at++] == '\n') {
            r->line++;
            r->line_start = r->at;
            return TLM_OK;
        }
    }
}

/* Only line ends are left. */
static int csv_at_end(const struct csv_reader *r)
{
    for (size_t i = r->at; i < r->size; i++)
        if (r->text[i] != '\n' && r->text[i] != '\r')
            return 0;
    return 1;
}

/* The columns of a want as numbers into `columns`; the header stands in r->fields when there is
   one. */
static tlm_status csv_resolve(struct csv_reader *r, int header, const struct tlm_csv_want *want,
                              size_t *columns)
{
    for (uint32_t i = 0; i < want->column_count; i++) {
        size_t found = SIZE_MAX;

        if (want->columns) {
            if (want->columns[i] < 0 || (uint64_t)want->columns[i] >= r->field_count)
                return tlm_fail(r->error, TLM_ERR_FORMAT,
                                CSV_PLACE "no column %" PRId64 " for '%s': a line has %zu",
                                tlm_path_tail(r->path), (size_t)1, (size_t)1, want->columns[i],
                                want->name, r->field_count);
            columns[i] = (size_t)want->columns[i];
            continue;
        }
        for (size_t c = 0; header && c < r->field_count; c++) {
            if (strlen(want->column_names[i]) != r->fields[c].length ||
                memcmp(want->column_names[i], r->fields[c].text, r->fields[c].length) != 0)
                continue;
            if (found != SIZE_MAX)
                return tlm_fail(r->error, TLM_ERR_FORMAT, CSV_PLACE "two columns are named '%s'",
                                tlm_path_tail(r->path), r->fields[c].line, r->fields[c].column,
                                want->column_names[i]);
            found = c;
        }
        if (found == SIZE_MAX)
            return tlm_fail(r->error, TLM_ERR_FORMAT, CSV_PLACE "no column '%s' for '%s'%s",
                            tlm_path_tail(r->path), (size_t)1, (size_t)1, want->column_names[i],
                            want->name,
                            header ? "" : ": without `header true` columns have no names");
        columns[i] = found;
    }
    return TLM_OK;
}

static int csv_parse_bool(const char *text, size_t length, uint8_t *out)
{
    static const struct {
        const char *text;
        uint8_t value;
    } csv_bools[] = { { "0", 0 }, { "1", 1 }, { "false", 0 }, { "true", 1 } };

    for (size_t i = 0; i < sizeof csv_bools / sizeof csv_bools[0]; i++) {
        if (length == strlen(csv_bools[i].text) && memcmp(text, csv_bools[i].text, length) == 0) {
            *out = csv_bools[i].value;
            return 1;
        }
    }
    return 0;
}

/* One field as an element of `dtype` at `out`. */
static tlm_status csv_number(const struct csv_reader *r, const struct csv_field *field,
                             tlm_dtype dtype, uint8_t *out)
{
    const char *text = field->text;
    size_t length = field->length, shown;
    float f32 = 0;
    int32_t i32 = 0;
    int parsed;

    for (; length > 0 && (*text == ' ' || *text == '\t'); text++)
        length--;
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t'))
        length--;
    if (dtype == TLM_F32) {
        parsed = tlm_parse_f32(text, length, &f32);
        memcpy(out, &f32, sizeof f32);
    } else if (dtype == TLM_I32) {
        parsed = tlm_parse_i32(text, length, &i32);
        memcpy(out, &i32, sizeof i32);
    } else {
        parsed = csv_parse_bool(text, length, out);
    }
    if (parsed == 1)
        return TLM_OK;
    shown = length < 40 ? length : 40;
    for (size_t i = 0; i < shown; i++)
        if ((unsigned char)text[i] < ' ')
            shown = i;
    return tlm_fail(r->error, TLM_ERR_FORMAT, CSV_PLACE "'%.*s' %s %s%s", tlm_path_tail(r->path),
                    field->line, field->column, (int)shown, text,
                    parsed < 0 ? "is outside the range of" : "where a number is needed, of type",
                    tlm_dtype_name((int)dtype),
                    field->line == 1 && parsed == 0 ? " (is it a header? `header true` skips it)"
                                                    : "");
}

/* The wanted fields of the current record, appended to out. */
static tlm_status csv_take(const struct csv_reader *r, const struct tlm_csv_want *wants,
                           uint32_t want_count, const size_t *columns, struct tlm_csv_rows *out)
{
    for (uint32_t w = 0; w < want_count; w++) {
        const size_t width = tlm_dtype_bytes((int)wants[w].dtype);
        const size_t row = width * wants[w].column_count;
        uint8_t *grown = out[w].bytes > SIZE_MAX / 2
                             ? NULL
                             : tlm_regrow(out[w].values, &out[w].capacity, out[w].bytes + row, 1);

        if (!grown)
            return tlm_fail(r->error, TLM_ERR_MEMORY, "%s: no memory for its numbers",
                            tlm_path_tail(r->path));
        out[w].values = grown;
        for (uint32_t i = 0; i < wants[w].column_count; i++) {
            const tlm_status status = csv_number(r, &r->fields[*columns++], wants[w].dtype,
                                                 out[w].values + out[w].bytes + i * width);

            if (status != TLM_OK)
                return status;
        }
        out[w].bytes += row;
    }
    return TLM_OK;
}

/* Header and records; `columns` has room for every column of every want. */
static tlm_status csv_read_records(struct csv_reader *r, int header,
                                   const struct tlm_csv_want *wants, uint32_t want_count,
                                   size_t *columns, struct tlm_csv_rows *out, size_t *row_count)
{
    size_t resolved = 0, width;
    tlm_status status = csv_record(r);

    if (status != TLM_OK)
        return status;
    width = r->field_count;
    for (uint32_t w = 0; w < want_count; w++) {
        status = csv_resolve(r, header, &wants[w], columns + resolved);
        if (status != TLM_OK)
            return status;
        resolved += wants[w].column_count;
    }
    for (*row_count = 0;;) {
        if (header) {
            header = 0; /* the record that is read is the names */
        } else {
            if (r->field_count != width)
                return tlm_fail(r->error, TLM_ERR_FORMAT,
                                CSV_PLACE "%zu fields; the first line has %zu",
                                tlm_path_tail(r->path), r->fields[0].line, (size_t)1,
                                r->field_count, width);
            status = csv_take(r, wants, want_count, columns, out);
            if (status != TLM_OK)
                return status;
            ++*row_count;
        }
        if (csv_at_end(r))
            return TLM_OK;
        status = csv_record(r);
        if (status != TLM_OK)
            return status;
    }
}

tlm_status tlm_csv_read(char *text, size_t size, const char *path, int header,
                        const struct tlm_csv_want *wants, uint32_t want_count,
                        struct tlm_csv_rows *out, size_t *row_count, char *error)
{
    struct csv_reader reader = {
        .text = text, .size = size, .line = 1, .path = path, .error = error
    };
    size_t column_count = 0, *columns;
    tlm_status status;

    memset(out, 0, want_count * sizeof *out);
    *row_count = 0;
    if (size >= 3 &&
        memcmp(text, "\xef\xbb\xbf", 3) == 0) /* a byte order mark is no part of a field */
        reader.at = reader.line_start = 3;
    if (csv_at_end(&reader))
        return tlm_fail(error, TLM_ERR_FORMAT, "%s:1:1: the file is empty", tlm_path_tail(path));
    for (uint32_t w = 0; w < want_count; w++)
        column_count += wants[w].column_count;
    columns = tlm_alloc(column_count, sizeof *columns);
    status = columns ? csv_read_records(&reader, header, wants, want_count, columns, out, row_count)
                     : tlm_fail(error, TLM_ERR_MEMORY, "%s: no memory for this file",
                                tlm_path_tail(path));
    free(columns);
    free(reader.fields);
    if (status != TLM_OK)
        tlm_csv_rows_free(out, want_count);
    return status;
}

void tlm_csv_rows_free(struct tlm_csv_rows *rows, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        free(rows[i].values);
        memset(&rows[i], 0, sizeof rows[i]);
    }
}
