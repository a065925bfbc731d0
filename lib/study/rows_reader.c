/* rows_reader.c - see rows_reader.h. A line of CSV is first made an object of JSON, of strings. */
#include "study/rows_reader.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status_internal.h"
#include "base/table_internal.h"
#include "formats/json_reader.h"
#include "records/batch_lines.h"
#include "records/csv_reader.h"

#include <math.h>
#include <string.h>

/* A number of a list. */
union number {
    int64_t integer;
    double real;
};

struct attn_rows_reader {
    struct attn_rows_options options;
    struct attn_batch_lines *lines; /* owns */
    struct attn_batch_line line;
    struct attn_csv_reader csv;
    struct attn_buffer json;  /* what a line of CSV became */
    struct attn_table *table; /* owns; of the item */
    struct attn_cell *cells;  /* [n_column] owns; of a line. Of texts and lists `integer` is where
                                 they begin below, until the line is read */
    struct attn_buffer texts, scratch, message;
    union number *list; /* [n_list] owns */
    size_t n_list, list_capacity;
};

/* --- Opening ---------------------------------------------------------------------------------- */

static enum attn_status read_line(struct attn_rows_reader *reader, struct attn_error *err)
{
    bool is_over;

    ATTN_TRY(attn_batch_lines_next(reader->lines, &reader->line, &is_over, err));
    return is_over ? attn_error_set(err, ATTN_FORMAT, "'%s' ends, expected the rows of an item",
                                    attn_quote_string(reader->options.path).text)
                   : ATTN_OK;
}

static enum attn_status open_reader(struct attn_rows_reader *reader, struct attn_error *err)
{
    const struct attn_rows_options *options = &reader->options;
    const struct attn_batch_lines_options lines = {
        .path = options->path, .separator = options->is_csv ? ',' : '\0', .max_line = SIZE_MAX};

    ATTN_TRY(ATTN_ALLOC(reader->cells, options->n_column, err));
    if (options->n_column > 0)
        ATTN_TRY(
            attn_table_create("items", options->columns, options->n_column, &reader->table, err));
    ATTN_TRY(attn_batch_lines_open(&lines, &reader->lines, err));
    reader->csv.separator = lines.separator;
    if (!options->is_csv)
        return ATTN_OK;
    ATTN_TRY(read_line(reader, err));
    return attn_csv_reader_begin(&reader->csv, reader->line.text.data, reader->line.text.size, err);
}

enum attn_status attn_rows_reader_open(const struct attn_rows_options *options,
                                       struct attn_rows_reader **reader, struct attn_error *err)
{
    struct attn_rows_reader *made;
    enum attn_status status;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->options = *options;
    status = open_reader(made, err);
    if (status == ATTN_OK)
        *reader = made;
    else
        attn_rows_reader_free(made);
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}

void attn_rows_reader_free(struct attn_rows_reader *reader)
{
    if (!reader)
        return;
    attn_batch_lines_free(reader->lines);
    attn_batch_line_release(&reader->line);
    attn_csv_reader_release(&reader->csv);
    attn_buffer_release(&reader->json);
    attn_buffer_release(&reader->texts);
    attn_buffer_release(&reader->scratch);
    attn_buffer_release(&reader->message);
    attn_table_free(reader->table);
    attn_free(reader->cells);
    attn_free(reader->list);
    attn_free(reader);
}

/* --- Values ----------------------------------------------------------------------------------- */

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Appends TEXT [size] as it was before it was escaped (base/escape.h). With IS_JSON only bytes that
 * are no characters were. */
static void unescape(struct attn_buffer *out, const char *text, size_t size, bool is_json)
{
    for (size_t at = 0; at < size; at++) {
        const char *next = text + at + 1;
        const size_t left = size - at - 1;
        const int high = left >= 3 && *next == 'x' ? hex_digit(next[1]) : -1;
        const int low = high >= 0 ? hex_digit(next[2]) : -1;

        if (text[at] == '\\' && low >= 0 && (!is_json || high >= 8)) {
            attn_buffer_append_char(out, (char)(16 * high + low));
            at += 3;
        } else if (text[at] == '\\' && !is_json && left > 0) {
            attn_buffer_append_char(out, *next == 'n'   ? '\n'
                                         : *next == 't' ? '\t'
                                         : *next == 'r' ? '\r'
                                                        : *next);
            at++;
        } else {
            attn_buffer_append_char(out, text[at]);
        }
    }
}

/* Reads TEXT [size] as each.h writes reals. */
static bool read_real(const char *text, size_t size, double *value)
{
    static const struct {
        const char *text;
        double value;
    } others[] = {{"nan", (double)NAN},
                  {"inf", (double)INFINITY},
                  {"-inf", (double)-INFINITY},
                  {"1e999", (double)INFINITY},
                  {"-1e999", (double)-INFINITY}};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strlen(others[i].text) == size && memcmp(others[i].text, text, size) == 0) {
            *value = others[i].value;
            return true;
        }
    return attn_parse_double(text, size, value);
}

/* Appends the numbers of TEXT [size], "[1, 2]", to the list of CELL, whose type is set. */
static enum attn_status read_list(struct attn_rows_reader *reader, const char *text, size_t size,
                                  struct attn_cell *cell, bool *is_good, struct attn_error *err)
{
    struct attn_json_reader json = attn_json_reader_init(text, size, reader->options.path);
    struct attn_json_token token;

    cell->integer = (int64_t)reader->n_list;
    cell->size = 0;
    *is_good =
        attn_json_next(&json, &token, NULL) == ATTN_OK && token.type == ATTN_JSON_ARRAY_BEGIN;
    while (*is_good && attn_json_next(&json, &token, NULL) == ATTN_OK &&
           token.type != ATTN_JSON_ARRAY_END) {
        union number *number;

        ATTN_TRY(attn_grow((void **)&reader->list, &reader->list_capacity, reader->n_list + 1,
                           sizeof *reader->list, err));
        number = &reader->list[reader->n_list];
        if (cell->type == ATTN_VALUE_LIST)
            *is_good =
                token.type == ATTN_JSON_NUMBER &&
                attn_parse_int(token.text, token.size, INT64_MIN, INT64_MAX, &number->integer);
        else
            *is_good =
                token.type == ATTN_JSON_NUMBER && read_real(token.text, token.size, &number->real);
        reader->n_list += *is_good;
        cell->size += *is_good;
    }
    return ATTN_OK;
}

/* Reads a value of TYPE from VALUE, a token of JSON [size] with what belongs to it. */
static enum attn_status read_cell(struct attn_rows_reader *reader, enum attn_value_type type,
                                  const struct attn_json_token *value, struct attn_cell *cell,
                                  bool *is_good, struct attn_error *err)
{
    const bool is_csv = reader->options.is_csv;
    struct attn_buffer *scratch = &reader->scratch;
    const size_t begin = reader->texts.size;
    const char *text = value->text;
    size_t size = value->size;
    int64_t integer = 0;
    double real = (double)NAN;

    attn_buffer_reset(scratch);
    if (value->type == ATTN_JSON_STRING) {
        attn_json_unescape(value, scratch);
        ATTN_TRY(attn_buffer_check(scratch, err));
        text = scratch->data ? scratch->data : "";
        size = scratch->size;
    }
    *is_good = true;
    if (type == ATTN_VALUE_TEXT) {
        unescape(&reader->texts, text, size, !is_csv);
        *cell = attn_cell_text("", reader->texts.size - begin);
        cell->integer = (int64_t)begin;
        *is_good = value->type == ATTN_JSON_STRING;
        return attn_buffer_check(&reader->texts, err);
    }
    cell->type = type;
    if (attn_value_is_list(type))
        return read_list(reader, text, size, cell, is_good, err);
    if (type == ATTN_VALUE_REAL) {
        *is_good = value->type == ATTN_JSON_NULL || read_real(text, size, &real);
        *cell = attn_cell_real(real);
    } else if (value->type == ATTN_JSON_TRUE || value->type == ATTN_JSON_FALSE) {
        *cell = attn_cell_boolean(value->type == ATTN_JSON_TRUE);
    } else {
        *is_good = attn_parse_int(text, size, INT64_MIN, INT64_MAX, &integer);
        *cell = type == ATTN_VALUE_BOOLEAN ? attn_cell_boolean(integer != 0)
                                           : attn_cell_integer(integer);
    }
    return ATTN_OK;
}

/* --- Names ------------------------------------------------------------------------------------ */

const char *attn_rows_written_name(const struct attn_column *column)
{
    return strcmp(column->name, "id") == 0 ? "token_id" : column->name;
}

/* --- Lines ------------------------------------------------------------------------------------ */

/* Reads the value of KEY, if it is one of a row. */
static enum attn_status read_member(struct attn_rows_reader *reader, struct attn_json_reader *json,
                                    const struct attn_json_token *key, bool *is_good,
                                    struct attn_error *err)
{
    const struct attn_rows_options *options = &reader->options;
    const char *rest = json->text + json->offset;
    struct attn_json_token value;
    size_t c = 0;

    *is_good = true;
    while (c < options->n_column &&
           !attn_json_equals(key, attn_rows_written_name(&options->columns[c])))
        c++;
    if (c == options->n_column && !attn_json_equals(key, "error"))
        return attn_json_skip(json, err);
    if (c < options->n_column && attn_value_is_list(options->columns[c].type) && !options->is_csv) {
        ATTN_TRY(attn_json_skip(json, err));
        rest += strspn(rest, ": ");
        reader->cells[c].type = options->columns[c].type;
        return read_list(reader, rest, (size_t)(json->text + json->offset - rest),
                         &reader->cells[c], is_good, err);
    }
    ATTN_TRY(attn_json_next(json, &value, err));
    if (c < options->n_column)
        return read_cell(reader, options->columns[c].type, &value, &reader->cells[c], is_good, err);
    *is_good = value.type == ATTN_JSON_STRING;
    if (*is_good)
        attn_json_unescape(&value, &reader->message);
    return ATTN_OK;
}

/* Reads the object TEXT [size] into the cells, or the message. */
static enum attn_status read_object(struct attn_rows_reader *reader, const char *text, size_t size,
                                    bool *is_good, struct attn_error *err)
{
    struct attn_json_reader json = attn_json_reader_init(text, size, reader->options.path);
    struct attn_json_token token;

    reader->texts.size = 0;
    reader->n_list = 0;
    for (size_t c = 0; c < reader->options.n_column; c++)
        reader->cells[c] = attn_cell_missing();
    ATTN_TRY(attn_json_next(&json, &token, err));
    *is_good = token.type == ATTN_JSON_OBJECT_BEGIN;
    while (*is_good) {
        ATTN_TRY(attn_json_next(&json, &token, err));
        if (token.type != ATTN_JSON_KEY)
            break;
        ATTN_TRY(read_member(reader, &json, &token, is_good, err));
    }
    for (size_t c = 0; c < reader->options.n_column; c++) {
        struct attn_cell *cell = &reader->cells[c];

        if (cell->type == ATTN_VALUE_TEXT)
            *cell = attn_cell_text(cell->size > 0 ? reader->texts.data + cell->integer : "",
                                   cell->size);
        else if (cell->type == ATTN_VALUE_LIST)
            *cell = attn_cell_list(cell->size > 0 ? &reader->list[cell->integer].integer : NULL,
                                   cell->size);
        else if (cell->type == ATTN_VALUE_REALS)
            *cell = attn_cell_reals(cell->size > 0 ? &reader->list[cell->integer].real : NULL,
                                    cell->size);
    }
    return attn_buffer_check(&reader->texts, err);
}

/* Reads the next line. */
static enum attn_status read_row(struct attn_rows_reader *reader, struct attn_error *err)
{
    const struct attn_buffer *text = &reader->line.text;
    bool is_good;

    ATTN_TRY(read_line(reader, err));
    if (reader->options.is_csv) {
        attn_buffer_reset(&reader->json);
        ATTN_TRY(attn_csv_reader_append(&reader->csv, text->data ? text->data : "", text->size,
                                        &reader->json, err));
        ATTN_TRY(attn_buffer_check(&reader->json, err));
        text = &reader->json;
    }
    ATTN_TRY(read_object(reader, text->data ? text->data : "", text->size, &is_good, err));
    ATTN_TRY(attn_buffer_check(&reader->message, err));
    return is_good ? ATTN_OK
                   : attn_error_set(err, ATTN_FORMAT, "'%s' has a line that is no row of an item",
                                    attn_quote_string(reader->options.path).text);
}

static enum attn_status read_item(struct attn_rows_reader *reader, const struct attn_table **table,
                                  const char **message, struct attn_error *err)
{
    const struct attn_rows_options *options = &reader->options;

    if (reader->table)
        attn_table_reset(reader->table);
    attn_buffer_reset(&reader->message);
    ATTN_TRY(read_row(reader, err));
    *table = NULL;
    *message = NULL;
    if (reader->message.size > 0) {
        *message = attn_buffer_string(&reader->message);
        return attn_buffer_check(&reader->message, err);
    }
    for (size_t i = 0; i < options->n_row; i++) {
        if (i > 0)
            ATTN_TRY(read_row(reader, err));
        ATTN_TRY(attn_table_append(reader->table, reader->cells, options->n_column, err));
    }
    *table = reader->table;
    if (reader->table && reader->message.size == 0)
        return ATTN_OK;
    return attn_error_set(err, ATTN_FORMAT, "'%s' has fewer than %zu rows of an item",
                          attn_quote_string(options->path).text, options->n_row);
}

enum attn_status attn_rows_reader_next(struct attn_rows_reader *reader,
                                       const struct attn_table **table, const char **message,
                                       struct attn_error *err)
{
    return attn_error_at(read_item(reader, table, message, err), ATTN_STAGE_OUTPUT, err);
}
