/* table_writer.c - see table_writer.h. A form: how cells are written, and the bytes around them. */
#include "tables/table_writer_internal.h"

#include "base/buffer.h"
#include "base/elementary.h"
#include "base/escape.h"
#include "base/given.h"
#include "base/table_internal.h"
#include "encode/float_text.h"
#include "encode/json_writer.h"
#include "encode/quoting.h"
#include "encode/text_table.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* From here on fixed digits give way to the magnitude in aligned text. */
static const double large = 1e5;

/* A table that is being written. */
struct table_page {
    const struct attn_table *table;
    struct attn_table_style style;
    struct attn_sink *sink;
    struct attn_buffer text;      /* the bytes so far; handed to the sink and emptied row by row */
    struct attn_json_writer json; /* of `text` */
};

/* --- Cells ------------------------------------------------------------------------------------ */

/* Appends CELL, which is no text and not missing. A real is as COLUMN's notation has it for
 * programs, nan, inf or -inf; a boolean is 1 or 0. */
static void append_number(struct attn_buffer *out, int precision, const struct attn_column *column,
                          const struct attn_cell *cell)
{
    const double value = cell->real;
    char *to;

    if (cell->type == ATTN_VALUE_LIST) {
        attn_buffer_append_char(out, '[');
        for (size_t i = 0; i < cell->size; i++) {
            attn_buffer_append_string(out, i > 0 ? ", " : "");
            attn_buffer_append_integer(out, cell->list[i]);
        }
        attn_buffer_append_char(out, ']');
    } else if (cell->type == ATTN_VALUE_BOOLEAN && column->notation == ATTN_NOTATION_LABEL) {
        attn_buffer_append_string(out, cell->integer != 0 ? "true" : "false");
    } else if (cell->type != ATTN_VALUE_REAL) {
        attn_buffer_append_integer(out, cell->integer);
    } else if (!isfinite(value)) {
        attn_buffer_append_string(out, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
    } else if (column->notation == ATTN_NOTATION_FIGURES) {
        attn_double_append_as(out, 'g', column->digits, value);
    } else if (column->notation == ATTN_NOTATION_DOUBLE ||
               column->notation == ATTN_NOTATION_LABEL || fabs(value) > (double)FLT_MAX) {
        attn_double_append(out, value);
    } else if (precision >= 0) {
        attn_double_append_as(out, 'f', precision, value);
    } else if ((to = attn_buffer_reserve(out, ATTN_FLOAT_TEXT_SIZE))) {
        out->size += attn_format_float((float)value, to);
    }
}

/* For a reader: of aligned text and of lines with tabs, where what is missing is empty. Reals have
 * fixed digits; in aligned text the magnitude where these say nothing, and 0 is exactly 0. */
static void append_plain(struct attn_buffer *out, struct attn_table_style style,
                         const struct attn_column *column, const struct attn_cell *cell)
{
    const bool is_aligned = style.form == ATTN_TABLE_ALIGNED;
    const double size = cell->type == ATTN_VALUE_REAL ? fabs(cell->real) : 0;

    if (cell->type == ATTN_VALUE_MISSING)
        attn_buffer_append_string(out, is_aligned ? "-" : "");
    else if (cell->type == ATTN_VALUE_TEXT)
        attn_escape_append(out, cell->text, cell->size);
    else if (cell->type == ATTN_VALUE_BOOLEAN && is_aligned &&
             column->notation != ATTN_NOTATION_LABEL)
        attn_buffer_append_string(out, cell->integer != 0 ? "yes" : "no");
    else if (cell->type != ATTN_VALUE_REAL || !isfinite(size) || style.precision >= 0 ||
             column->notation != ATTN_NOTATION_FIXED)
        append_number(out, style.precision, column, cell);
    else if (is_aligned && size == 0)
        attn_buffer_append_char(out, '0');
    else if (is_aligned && (size < 0.5 * attn_pow(10, -column->digits) || size >= large))
        attn_double_append_as(out, 'e', 1, cell->real);
    else
        attn_double_append_as(out, 'f', column->digits, cell->real);
}

static void append_csv(struct attn_buffer *out, struct attn_table_style style,
                       const struct attn_column *column, const struct attn_cell *cell)
{
    const bool is_quoted = cell->type == ATTN_VALUE_LIST && cell->size > 1; /* it holds commas */
    struct attn_buffer escaped = {0};

    if (cell->type == ATTN_VALUE_MISSING)
        return;
    if (cell->type == ATTN_VALUE_TEXT && column->notation == ATTN_NOTATION_LABEL) {
        attn_csv_field_append(out, cell->text, cell->size);
        return;
    }
    if (cell->type == ATTN_VALUE_TEXT && attn_escape_plain(cell->text, cell->size) == cell->size) {
        attn_csv_text_append(out, cell->text, cell->size);
        return;
    }
    if (cell->type == ATTN_VALUE_TEXT) {
        attn_escape_append(&escaped, cell->text, cell->size);
        attn_csv_text_append(out, escaped.data, escaped.size);
        out->has_failed |= escaped.has_failed;
        attn_buffer_release(&escaped);
        return;
    }
    attn_buffer_append_string(out, is_quoted ? "\"" : "");
    append_number(out, style.precision, column, cell);
    attn_buffer_append_string(out, is_quoted ? "\"" : "");
}

void attn_table_append_cell(struct attn_buffer *out, int precision,
                            const struct attn_column *column, const struct attn_cell *cell)
{
    append_plain(out, (struct attn_table_style){.precision = precision}, column, cell);
}

void attn_table_append_csv(struct attn_buffer *out, const struct attn_column *column,
                           const struct attn_cell *cell)
{
    append_csv(out, (struct attn_table_style){.form = ATTN_TABLE_CSV, .precision = -1}, column,
               cell);
}

void attn_table_push_cell(struct attn_json_writer *json, const struct attn_column *column,
                          const struct attn_cell *cell, int precision)
{
    if (cell->type == ATTN_VALUE_MISSING ||
        (cell->type == ATTN_VALUE_REAL && !isfinite(cell->real)))
        attn_json_null(json);
    else if (cell->type == ATTN_VALUE_TEXT)
        attn_json_string(json, cell->text, cell->size);
    else if (cell->type == ATTN_VALUE_BOOLEAN)
        attn_json_bool(json, cell->integer != 0);
    else
        append_number(attn_json_value(json), precision, column, cell);
}

void attn_table_push_cells(struct attn_json_writer *json, const struct attn_column *columns,
                           const struct attn_cell *cells, size_t n, int precision)
{
    for (size_t c = 0; c < n; c++)
        attn_table_push_cell(attn_json_key(json, columns[c].name), &columns[c], &cells[c],
                             precision);
}

/* --- Rows ------------------------------------------------------------------------------------- */

/* Row ROW of any form but aligned text: a line, or in a document of JSON an object alone. */
static void append_row(struct table_page *page, size_t row)
{
    const enum attn_table_form form = page->style.form;
    const bool is_json = form == ATTN_TABLE_JSON || form == ATTN_TABLE_JSON_LINES;

    if (is_json)
        attn_json_begin(&page->json, '{');
    for (size_t c = 0; c < attn_table_n_column(page->table); c++) {
        const struct attn_column *column = attn_table_column(page->table, c);
        const struct attn_cell cell = attn_table_cell(page->table, row, c);

        if (is_json) {
            attn_table_push_cells(&page->json, column, &cell, 1, page->style.precision);
            continue;
        }
        if (c > 0)
            attn_buffer_append_char(&page->text, form == ATTN_TABLE_CSV ? ',' : '\t');
        (form == ATTN_TABLE_CSV ? append_csv : append_plain)(&page->text, page->style, column,
                                                             &cell);
    }
    if (is_json)
        attn_json_end(&page->json);
    if (form != ATTN_TABLE_JSON)
        attn_buffer_append_char(&page->text, '\n');
}

/* Hands the bytes so far to the sink. */
static enum attn_status flush(struct table_page *page, struct attn_error *err)
{
    ATTN_TRY(attn_buffer_check(&page->text, err));
    attn_sink_write(page->sink, page->text.data, page->text.size);
    page->text.size = 0;
    return ATTN_OK;
}

/* --- Tables ----------------------------------------------------------------------------------- */

/* The members of JSON before its rows. */
static void push_about(struct table_page *page)
{
    const struct attn_table *about = attn_table_about(page->table);

    for (size_t i = 0; about && i < attn_table_n_column(about); i++) {
        const struct attn_cell cell = attn_table_cell(about, 0, i);

        attn_json_line(&page->json);
        attn_table_push_cells(&page->json, attn_table_column(about, i), &cell, 1,
                              page->style.precision);
    }
}

static enum attn_status write_rows(struct table_page *page, struct attn_error *err)
{
    struct attn_json_writer *json = &page->json;
    const bool is_document = page->style.form == ATTN_TABLE_JSON;
    const bool is_csv = page->style.form == ATTN_TABLE_CSV;
    const size_t n_row = attn_table_n_row(page->table), n_column = attn_table_n_column(page->table);

    if (is_document) {
        attn_json_begin(json, '{');
        attn_json_line(json);
        attn_json_integer(attn_json_key(json, "schema"), ATTN_JSON_SCHEMA);
        attn_json_line(json);
        attn_json_text(attn_json_key(json, "table"), attn_table_name(page->table));
        push_about(page);
        attn_json_line(json);
        attn_json_begin(attn_json_key(json, "rows"), '[');
    }
    for (size_t c = 0; is_csv && c < n_column; c++) {
        const char *name = attn_table_column(page->table, c)->name;

        attn_buffer_append_string(&page->text, c > 0 ? "," : "");
        attn_csv_field_append(&page->text, name, strlen(name));
    }
    attn_buffer_append_string(&page->text, is_csv ? "\n" : "");
    for (size_t i = 0; i < n_row; i++) {
        if (is_document)
            attn_json_line(json);
        append_row(page, i);
        ATTN_TRY(flush(page, err));
    }
    if (is_document) {
        if (n_row > 0)
            attn_json_line(json);
        attn_json_end(json);
        attn_json_line(json);
        attn_json_end(json);
        attn_buffer_append_char(&page->text, '\n');
    }
    return flush(page, err);
}

/* Writes all of the page, or the one row *ROW. */
static enum attn_status write_rows_of(struct table_page *page, const size_t *row,
                                      struct attn_error *err)
{
    const enum attn_table_form form = page->style.form;
    const bool is_aligned =
        form == ATTN_TABLE_ALIGNED || form == ATTN_TABLE_LATEX || form == ATTN_TABLE_MARKDOWN;

    if ((unsigned)form > ATTN_TABLE_MARKDOWN)
        return attn_error_set(err, ATTN_INVALID, "tables have no form %d", (int)form);
    if (page->style.precision < -1 || page->style.precision > ATTN_FIXED_PRECISION_MAX)
        return attn_error_set(err, ATTN_INVALID, "precision is %d, expected 0 to %d",
                              page->style.precision, ATTN_FIXED_PRECISION_MAX);
    page->json.out = &page->text;
    if (is_aligned && !row)
        return attn_table_write_lines(page->table, &page->style, page->sink, err);
    if (!row)
        return write_rows(page, err);
    if (is_aligned)
        return attn_error_set(err, ATTN_INVALID,
                              "aligned text is written from all rows at once, not row by row");
    append_row(page, *row);
    return flush(page, err);
}

static enum attn_status write_page(struct table_page page, const size_t *row,
                                   struct attn_error *err)
{
    const enum attn_status status = write_rows_of(&page, row, err);

    attn_buffer_release(&page.text);
    return status;
}

enum attn_status attn_table_write(const struct attn_table *table, enum attn_table_form form,
                                  int precision, struct attn_sink *sink, struct attn_error *err)
{
    const struct table_page page = {
        .table = table, .style = {.form = form, .precision = precision}, .sink = sink};

    if (!attn_is_given(table, "table", err) || !attn_is_given(sink, "sink", err))
        return ATTN_INVALID;
    return write_page(page, NULL, err);
}

enum attn_status attn_table_write_styled(const struct attn_table *table,
                                         const struct attn_table_style *style,
                                         struct attn_sink *sink, struct attn_error *err)
{
    return write_page((struct table_page){.table = table, .style = *style, .sink = sink}, NULL,
                      err);
}

enum attn_status attn_table_write_row(const struct attn_table *table, size_t row,
                                      enum attn_table_form form, int precision,
                                      struct attn_sink *sink, struct attn_error *err)
{
    const struct table_page page = {
        .table = table, .style = {.form = form, .precision = precision}, .sink = sink};

    return write_page(page, &row, err);
}
