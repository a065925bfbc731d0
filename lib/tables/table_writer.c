/* table_writer.c - the frame of all forms, and how values are written. See table_writer.h. */
#include "tables/table_writer_internal.h"

#include "base/escape.h"
#include "base/given.h"
#include "encode/float_text.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* --- Values ----------------------------------------------------------------------------------- */

void attn_table_escape(struct attn_table_page *page, const struct attn_cell *cell)
{
    attn_buffer_reset(&page->escaped);
    attn_escape_append(&page->escaped, cell->text, cell->size);
    page->text.has_failed |= page->escaped.has_failed;
}

static void append_float(struct attn_table_page *page, double value)
{
    char *out = attn_buffer_reserve(&page->text, ATTN_FLOAT_TEXT_SIZE);

    if (out)
        page->text.size += attn_format_float((float)value, out);
}

static void append_finite(struct attn_table_page *page, const struct attn_column *column,
                          double value)
{
    if (column->notation == ATTN_NOTATION_FIGURES)
        attn_double_append_figures(&page->text, value, column->digits);
    else if (column->notation == ATTN_NOTATION_DOUBLE || fabs(value) > (double)FLT_MAX)
        attn_double_append(&page->text, value);
    else if (page->precision >= 0)
        attn_double_append_fixed(&page->text, value, page->precision);
    else
        append_float(page, value);
}

static void append_list(struct attn_buffer *out, const struct attn_cell *cell)
{
    attn_buffer_append_char(out, '[');
    for (size_t i = 0; i < cell->size; i++)
        attn_buffer_append_format(out, "%s%" PRId64, i > 0 ? ", " : "", cell->list[i]);
    attn_buffer_append_char(out, ']');
}

void attn_table_append_number(struct attn_table_page *page, const struct attn_column *column,
                              const struct attn_cell *cell)
{
    if (cell->type == ATTN_VALUE_LIST)
        append_list(&page->text, cell);
    else if (cell->type != ATTN_VALUE_REAL)
        attn_buffer_append_format(&page->text, "%" PRId64, cell->integer);
    else if (isfinite(cell->real))
        append_finite(page, column, cell->real);
    else if (isnan(cell->real))
        attn_buffer_append_string(&page->text, "nan");
    else
        attn_buffer_append_string(&page->text, cell->real < 0 ? "-inf" : "inf");
}

/* --- Forms ------------------------------------------------------------------------------------ */

static const struct attn_table_ops *const forms[] = {
    [ATTN_TABLE_ALIGNED] = &attn_table_aligned_ops,
    [ATTN_TABLE_TABBED] = &attn_table_tabbed_ops,
    [ATTN_TABLE_CSV] = &attn_table_csv_ops,
    [ATTN_TABLE_JSON] = &attn_table_json_ops,
    [ATTN_TABLE_JSON_LINES] = &attn_table_json_lines_ops,
};

static enum attn_status check(enum attn_table_form form, int precision, struct attn_error *err)
{
    if ((size_t)form >= sizeof forms / sizeof *forms)
        return attn_error_set(err, ATTN_INVALID, "tables have no form %d", (int)form);
    if (precision < -1 || precision > ATTN_FIXED_PRECISION_MAX)
        return attn_error_set(err, ATTN_INVALID, "precision is %d, expected 0 to %d", precision,
                              ATTN_FIXED_PRECISION_MAX);
    return ATTN_OK;
}

/* Hands what was made to the sink. */
static enum attn_status flush(struct attn_table_page *page, struct attn_error *err)
{
    enum attn_status status = attn_buffer_check(&page->text, err);

    if (status == ATTN_OK)
        attn_sink_write(page->sink, page->text.data, page->text.size);
    page->text.size = 0;
    return status;
}

static enum attn_status write_rows(struct attn_table_page *page, const struct attn_table_ops *ops,
                                   struct attn_error *err)
{
    const size_t n = attn_table_n_row(page->table);
    enum attn_status status = ATTN_OK;

    if (ops->begin)
        ops->begin(page);
    for (size_t i = 0; status == ATTN_OK && i < n; i++) {
        ops->row(page, i);
        if (ops->separator && i + 1 < n)
            attn_buffer_append_string(&page->text, ops->separator);
        status = flush(page, err);
    }
    if (ops->end)
        ops->end(page);
    return status == ATTN_OK ? flush(page, err) : status;
}

enum attn_status attn_table_write(const struct attn_table *table, enum attn_table_form form,
                                  int precision, struct attn_sink *sink, struct attn_error *err)
{
    if (!attn_is_given(table, "table", err) || !attn_is_given(sink, "sink", err))
        return ATTN_INVALID;
    struct attn_table_page page = {.table = table, .precision = precision, .sink = sink};
    enum attn_status status = check(form, precision, err);

    if (status == ATTN_OK)
        status = forms[form]->whole ? forms[form]->whole(&page, err)
                                    : write_rows(&page, forms[form], err);
    attn_buffer_release(&page.text);
    attn_buffer_release(&page.escaped);
    return status;
}

enum attn_status attn_table_write_row(const struct attn_table *table, size_t row,
                                      enum attn_table_form form, int precision,
                                      struct attn_sink *sink, struct attn_error *err)
{
    struct attn_table_page page = {.table = table, .precision = precision, .sink = sink};
    enum attn_status status = check(form, precision, err);

    if (status == ATTN_OK && !forms[form]->row)
        return attn_error_set(err, ATTN_INVALID,
                              "aligned text is written from all rows at once, not row by row");
    if (status == ATTN_OK) {
        forms[form]->row(&page, row);
        status = flush(&page, err);
    }
    attn_buffer_release(&page.text);
    attn_buffer_release(&page.escaped);
    return status;
}
