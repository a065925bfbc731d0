/* table_csv.c - a table as CSV: a line of names, then a line a row. */
#include "tables/table_writer_internal.h"

#include "encode/csv_field.h"

#include <string.h>

static void append_names(struct attn_table_page *page)
{
    for (size_t c = 0; c < attn_table_n_column(page->table); c++) {
        const char *name = attn_table_column(page->table, c)->name;

        if (c > 0)
            attn_buffer_append_char(&page->text, ',');
        attn_csv_field_append(&page->text, name, strlen(name));
    }
    attn_buffer_append_char(&page->text, '\n');
}

static void append_cell(struct attn_table_page *page, const struct attn_column *column,
                        const struct attn_cell *cell)
{
    const bool is_quoted = cell->type == ATTN_VALUE_LIST && cell->size > 1; /* it holds commas */

    if (cell->type == ATTN_VALUE_MISSING)
        return;
    if (cell->type == ATTN_VALUE_TEXT) {
        attn_table_escape(page, cell);
        attn_csv_text_append(&page->text, page->escaped.data, page->escaped.size);
        return;
    }
    attn_buffer_append_string(&page->text, is_quoted ? "\"" : "");
    attn_table_append_number(page, column, cell);
    attn_buffer_append_string(&page->text, is_quoted ? "\"" : "");
}

static void append_row(struct attn_table_page *page, size_t row)
{
    for (size_t c = 0; c < attn_table_n_column(page->table); c++) {
        const struct attn_cell cell = attn_table_cell(page->table, row, c);

        if (c > 0)
            attn_buffer_append_char(&page->text, ',');
        append_cell(page, attn_table_column(page->table, c), &cell);
    }
    attn_buffer_append_char(&page->text, '\n');
}

const struct attn_table_ops attn_table_csv_ops = {.begin = append_names, .row = append_row};
