/* table_writer.c - see table_writer.h. A form: how a cell is written, and what is around cells. */
#include "tables/table_writer_internal.h"

#include "base/buffer.h"
#include "base/escape.h"
#include "base/given.h"
#include "encode/embed.h"
#include "encode/float_text.h"
#include "encode/json_writer.h"
#include "encode/text_table.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* From here on fixed digits give way to the magnitude in aligned text. */
static const double large = 1e5;

/* A table that is being written. */
struct table_page {
    const struct attn_table *table;
    enum attn_table_form form;
    int precision; /* as in attn_table_write */
    struct attn_sink *sink;
    struct attn_buffer text;      /* what is made; handed to the sink and emptied row by row */
    struct attn_buffer escaped;   /* scratch of one cell */
    struct attn_json_writer json; /* of `text` */
};

/* --- Values ----------------------------------------------------------------------------------- */

static void append_finite(struct table_page *page, const struct attn_column *column, double value)
{
    char *out;

    if (column->notation == ATTN_NOTATION_FIGURES)
        attn_double_append_figures(&page->text, value, column->digits);
    else if (column->notation == ATTN_NOTATION_DOUBLE || fabs(value) > (double)FLT_MAX)
        attn_double_append(&page->text, value);
    else if (page->precision >= 0)
        attn_double_append_fixed(&page->text, value, page->precision);
    else if ((out = attn_buffer_reserve(&page->text, ATTN_FLOAT_TEXT_SIZE)))
        page->text.size += attn_format_float((float)value, out);
}

/* Appends CELL, which is no text and not missing. A real is as COLUMN's notation has it for
 * programs, nan, inf or -inf; a boolean is 1 or 0. */
static void append_number(struct table_page *page, const struct attn_column *column,
                          const struct attn_cell *cell)
{
    if (cell->type == ATTN_VALUE_LIST) {
        attn_buffer_append_char(&page->text, '[');
        for (size_t i = 0; i < cell->size; i++)
            attn_buffer_append_format(&page->text, "%s%" PRId64, i > 0 ? ", " : "", cell->list[i]);
        attn_buffer_append_char(&page->text, ']');
    } else if (cell->type != ATTN_VALUE_REAL) {
        attn_buffer_append_format(&page->text, "%" PRId64, cell->integer);
    } else if (isfinite(cell->real)) {
        append_finite(page, column, cell->real);
    } else {
        attn_buffer_append_string(&page->text, isnan(cell->real) ? "nan"
                                               : cell->real < 0  ? "-inf"
                                                                 : "inf");
    }
}

/* Four digits, say; in aligned text the magnitude where these say nothing, and 0 is exactly 0. */
static void append_fixed(struct table_page *page, double value, int digits)
{
    const double size = fabs(value);
    const bool is_aligned = page->form == ATTN_TABLE_ALIGNED;

    if (is_aligned && size == 0)
        attn_buffer_append_char(&page->text, '0');
    else if (is_aligned && (size < 0.5 * pow(10, -digits) || size >= large))
        attn_double_append_magnitude(&page->text, value);
    else
        attn_double_append_fixed(&page->text, value, digits);
}

/* --- Cells of a form -------------------------------------------------------------------------- */

/* The text of CELL, escaped, in page->escaped. */
static void escape(struct table_page *page, const struct attn_cell *cell)
{
    attn_buffer_reset(&page->escaped);
    attn_escape_append(&page->escaped, cell->text, cell->size);
    page->text.has_failed |= page->escaped.has_failed;
}

/* For a reader: of aligned text and of lines with tabs, where what is missing is empty. */
static void append_plain(struct table_page *page, const struct attn_column *column,
                         const struct attn_cell *cell)
{
    const bool is_aligned = page->form == ATTN_TABLE_ALIGNED;

    if (cell->type == ATTN_VALUE_MISSING) {
        attn_buffer_append_string(&page->text, is_aligned ? "-" : "");
    } else if (cell->type == ATTN_VALUE_TEXT) {
        escape(page, cell);
        attn_buffer_append(&page->text, page->escaped.data, page->escaped.size);
    } else if (cell->type == ATTN_VALUE_BOOLEAN && is_aligned) {
        attn_buffer_append_string(&page->text, cell->integer != 0 ? "yes" : "no");
    } else if (cell->type == ATTN_VALUE_REAL && isfinite(cell->real) && page->precision < 0 &&
               column->notation == ATTN_NOTATION_FIXED) {
        append_fixed(page, cell->real, column->digits);
    } else {
        append_number(page, column, cell);
    }
}

static void append_csv(struct table_page *page, const struct attn_column *column,
                       const struct attn_cell *cell)
{
    const bool is_quoted = cell->type == ATTN_VALUE_LIST && cell->size > 1; /* it holds commas */

    if (cell->type == ATTN_VALUE_MISSING)
        return;
    if (cell->type == ATTN_VALUE_TEXT) {
        escape(page, cell);
        attn_csv_text_append(&page->text, page->escaped.data, page->escaped.size);
        return;
    }
    attn_buffer_append_string(&page->text, is_quoted ? "\"" : "");
    append_number(page, column, cell);
    attn_buffer_append_string(&page->text, is_quoted ? "\"" : "");
}

static void push_json(struct table_page *page, const struct attn_column *column,
                      const struct attn_cell *cell)
{
    if (cell->type == ATTN_VALUE_MISSING ||
        (cell->type == ATTN_VALUE_REAL && !isfinite(cell->real))) {
        attn_json_null(&page->json);
    } else if (cell->type == ATTN_VALUE_TEXT) {
        attn_json_string(&page->json, cell->text, cell->size);
    } else if (cell->type == ATTN_VALUE_BOOLEAN) {
        attn_json_bool(&page->json, cell->integer != 0);
    } else {
        attn_json_value(&page->json);
        append_number(page, column, cell);
    }
}

void attn_table_append_cell(struct attn_buffer *out, const struct attn_column *column,
                            const struct attn_cell *cell)
{
    struct table_page page = {.form = ATTN_TABLE_ALIGNED, .precision = -1, .text = *out};

    append_plain(&page, column, cell);
    *out = page.text;
    attn_buffer_release(&page.escaped);
}

void attn_table_push_cells(struct attn_json_writer *json, const struct attn_column *columns,
                           const struct attn_cell *cells, size_t n, int precision)
{
    struct attn_buffer *out = json->out;
    struct table_page page = {.precision = precision, .text = *out, .json = *json};

    page.json.out = &page.text;
    for (size_t c = 0; c < n; c++) {
        attn_json_key(&page.json, columns[c].name);
        push_json(&page, &columns[c], &cells[c]);
    }
    *json = page.json;
    json->out = out;
    *out = page.text;
}

/* --- Rows ------------------------------------------------------------------------------------- */

static void append_names(struct table_page *page)
{
    for (size_t c = 0; c < attn_table_n_column(page->table); c++) {
        const char *name = attn_table_column(page->table, c)->name;

        attn_buffer_append_string(&page->text, c > 0 ? "," : "");
        attn_csv_field_append(&page->text, name, strlen(name));
    }
    attn_buffer_append_char(&page->text, '\n');
}

/* Row ROW of any form but aligned text: a line, or in a document of JSON an object alone. */
static void append_row(struct table_page *page, size_t row)
{
    const bool is_json = page->form == ATTN_TABLE_JSON || page->form == ATTN_TABLE_JSON_LINES;
    const char *separator = page->form == ATTN_TABLE_CSV ? "," : "\t";

    if (is_json)
        attn_json_begin(&page->json, '{');
    for (size_t c = 0; c < attn_table_n_column(page->table); c++) {
        const struct attn_column *column = attn_table_column(page->table, c);
        const struct attn_cell cell = attn_table_cell(page->table, row, c);

        if (is_json) {
            attn_json_key(&page->json, column->name);
            push_json(page, column, &cell);
            continue;
        }
        attn_buffer_append_string(&page->text, c > 0 ? separator : "");
        (page->form == ATTN_TABLE_CSV ? append_csv : append_plain)(page, column, &cell);
    }
    if (is_json)
        attn_json_end(&page->json);
    if (page->form != ATTN_TABLE_JSON)
        attn_buffer_append_char(&page->text, '\n');
}

/* Hands what was made to the sink. */
static enum attn_status flush(struct table_page *page, struct attn_error *err)
{
    ATTN_TRY(attn_buffer_check(&page->text, err));
    attn_sink_write(page->sink, page->text.data, page->text.size);
    page->text.size = 0;
    return ATTN_OK;
}

/* --- Tables ----------------------------------------------------------------------------------- */

static void begin_document(struct table_page *page)
{
    attn_json_begin(&page->json, '{');
    attn_json_line(&page->json);
    attn_json_key(&page->json, "schema");
    attn_json_integer(&page->json, ATTN_JSON_SCHEMA);
    attn_json_line(&page->json);
    attn_json_key(&page->json, "table");
    attn_json_text(&page->json, attn_table_name(page->table));
    attn_json_line(&page->json);
    attn_json_key(&page->json, "rows");
    attn_json_begin(&page->json, '[');
}

static enum attn_status write_rows(struct table_page *page, struct attn_error *err)
{
    const bool is_document = page->form == ATTN_TABLE_JSON;

    if (is_document)
        begin_document(page);
    else if (page->form == ATTN_TABLE_CSV)
        append_names(page);
    for (size_t i = 0; i < attn_table_n_row(page->table); i++) {
        if (is_document)
            attn_json_line(&page->json);
        append_row(page, i);
        ATTN_TRY(flush(page, err));
    }
    if (is_document) {
        if (attn_table_n_row(page->table) > 0)
            attn_json_line(&page->json);
        attn_json_end(&page->json);
        attn_json_line(&page->json);
        attn_json_end(&page->json);
        attn_buffer_append_char(&page->text, '\n');
    }
    return flush(page, err);
}

/* Aligned text: a line of names, then columns that line up, as wide as all rows. */
static enum attn_status write_aligned(struct table_page *page, struct attn_error *err)
{
    const size_t n_column = attn_table_n_column(page->table);
    struct attn_text_table lines = {0};
    enum attn_status status;

    attn_text_table_begin(&lines, n_column);
    for (size_t c = 0; c < n_column; c++) {
        const struct attn_column *column = attn_table_column(page->table, c);

        if (column->type != ATTN_VALUE_INTEGER && column->type != ATTN_VALUE_REAL)
            attn_text_table_flush_left(&lines, c);
        attn_text_table_widen(&lines, c, column->width);
        attn_text_table_string(&lines, column->name);
    }
    for (size_t row = 0; row < attn_table_n_row(page->table); row++)
        for (size_t c = 0; c < n_column; c++) {
            const struct attn_cell cell = attn_table_cell(page->table, row, c);

            page->text.size = 0;
            append_plain(page, attn_table_column(page->table, c), &cell);
            attn_text_table_cell(&lines, page->text.data, page->text.size);
        }
    status = attn_buffer_check(&page->text, err);
    if (status == ATTN_OK)
        status = attn_text_table_write(&lines, page->sink, err);
    attn_text_table_release(&lines);
    return status;
}

/* All of the page, or the one row *ROW. */
static enum attn_status write_page(struct table_page *page, const size_t *row,
                                   struct attn_error *err)
{
    if ((unsigned)page->form > ATTN_TABLE_JSON_LINES)
        return attn_error_set(err, ATTN_INVALID, "tables have no form %d", (int)page->form);
    if (page->precision < -1 || page->precision > ATTN_FIXED_PRECISION_MAX)
        return attn_error_set(err, ATTN_INVALID, "precision is %d, expected 0 to %d",
                              page->precision, ATTN_FIXED_PRECISION_MAX);
    page->json.out = &page->text;
    if (!row)
        return (page->form == ATTN_TABLE_ALIGNED ? write_aligned : write_rows)(page, err);
    if (page->form == ATTN_TABLE_ALIGNED)
        return attn_error_set(err, ATTN_INVALID,
                              "aligned text is written from all rows at once, not row by row");
    append_row(page, *row);
    return flush(page, err);
}

enum attn_status attn_table_write(const struct attn_table *table, enum attn_table_form form,
                                  int precision, struct attn_sink *sink, struct attn_error *err)
{
    struct table_page page = {.table = table, .form = form, .precision = precision, .sink = sink};
    enum attn_status status;

    if (!attn_is_given(table, "table", err) || !attn_is_given(sink, "sink", err))
        return ATTN_INVALID;
    status = write_page(&page, NULL, err);
    attn_buffer_release(&page.text);
    attn_buffer_release(&page.escaped);
    return status;
}

enum attn_status attn_table_write_row(const struct attn_table *table, size_t row,
                                      enum attn_table_form form, int precision,
                                      struct attn_sink *sink, struct attn_error *err)
{
    struct table_page page = {.table = table, .form = form, .precision = precision, .sink = sink};
    const enum attn_status status = write_page(&page, &row, err);

    attn_buffer_release(&page.text);
    attn_buffer_release(&page.escaped);
    return status;
}
