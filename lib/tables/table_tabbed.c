/* table_tabbed.c - a table as lines of fields with tabs between them, for reading and for cut. What
 * is missing is an empty field. */
#include "tables/table_writer_internal.h"

#include "encode/float_text.h"

#include <math.h>

static void append_cell(struct attn_table_page *page, const struct attn_column *column,
                        const struct attn_cell *cell)
{
    if (cell->type == ATTN_VALUE_TEXT) {
        attn_table_escape(page, cell);
        attn_buffer_append(&page->text, page->escaped.data, page->escaped.size);
    } else if (cell->type == ATTN_VALUE_REAL && isfinite(cell->real) && page->precision < 0 &&
               column->notation == ATTN_NOTATION_FIXED) {
        attn_double_append_fixed(&page->text, cell->real, column->digits);
    } else if (cell->type != ATTN_VALUE_MISSING) {
        attn_table_append_number(page, column, cell);
    }
}

static void append_row(struct attn_table_page *page, size_t row)
{
    for (size_t c = 0; c < attn_table_n_column(page->table); c++) {
        const struct attn_cell cell = attn_table_cell(page->table, row, c);

        if (c > 0)
            attn_buffer_append_char(&page->text, '\t');
        append_cell(page, attn_table_column(page->table, c), &cell);
    }
    attn_buffer_append_char(&page->text, '\n');
}

const struct attn_table_ops attn_table_tabbed_ops = {.row = append_row};
