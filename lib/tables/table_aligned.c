/* table_aligned.c - a table for reading: a line of names, then columns that line up. */
#include "tables/table_writer_internal.h"

#include "encode/float_text.h"
#include "encode/text_table.h"

#include <math.h>

/* From here on fixed digits give way to the magnitude. */
static const double large = 1e5;

/* Four digits, say, or the magnitude where these say nothing; 0 is exactly 0. */
static void append_fixed(struct attn_table_page *page, double value, int digits)
{
    const double size = fabs(value);

    if (size == 0)
        attn_buffer_append_char(&page->text, '0');
    else if (size < 0.5 * pow(10, -digits) || size >= large)
        attn_double_append_magnitude(&page->text, value);
    else
        attn_double_append_fixed(&page->text, value, digits);
}

/* CELL in page->text. */
static void append_cell(struct attn_table_page *page, const struct attn_column *column,
                        const struct attn_cell *cell)
{
    const bool is_fixed = cell->type == ATTN_VALUE_REAL && isfinite(cell->real) &&
                          column->notation == ATTN_NOTATION_FIXED && page->precision < 0;

    if (cell->type == ATTN_VALUE_MISSING) {
        attn_buffer_append_char(&page->text, '-');
    } else if (cell->type == ATTN_VALUE_TEXT) {
        attn_table_escape(page, cell);
        attn_buffer_append(&page->text, page->escaped.data, page->escaped.size);
    } else if (cell->type == ATTN_VALUE_BOOLEAN) {
        attn_buffer_append_string(&page->text, cell->integer != 0 ? "yes" : "no");
    } else if (is_fixed) {
        append_fixed(page, cell->real, column->digits);
    } else {
        attn_table_append_number(page, column, cell);
    }
}

static void begin(struct attn_table_page *page, struct attn_text_table *lines)
{
    attn_text_table_begin(lines, attn_table_n_column(page->table));
    for (size_t c = 0; c < attn_table_n_column(page->table); c++) {
        const struct attn_column *column = attn_table_column(page->table, c);

        if (column->type != ATTN_VALUE_INTEGER && column->type != ATTN_VALUE_REAL)
            attn_text_table_flush_left(lines, c);
        attn_text_table_widen(lines, c, column->width);
        attn_text_table_string(lines, column->name);
    }
}

static enum attn_status write_whole(struct attn_table_page *page, struct attn_error *err)
{
    struct attn_text_table lines = {0};
    enum attn_status status;

    begin(page, &lines);
    for (size_t row = 0; row < attn_table_n_row(page->table); row++)
        for (size_t c = 0; c < attn_table_n_column(page->table); c++) {
            const struct attn_cell cell = attn_table_cell(page->table, row, c);

            page->text.size = 0;
            append_cell(page, attn_table_column(page->table, c), &cell);
            attn_text_table_cell(&lines, page->text.data, page->text.size);
        }
    status = attn_buffer_check(&page->text, err);
    if (status == ATTN_OK)
        status = attn_text_table_write(&lines, page->sink, err);
    attn_text_table_release(&lines);
    return status;
}

const struct attn_table_ops attn_table_aligned_ops = {.whole = write_whole};
