/* table_json.c - a table as one JSON document or as JSON lines: a row is an object. */
#include "tables/table_writer_internal.h"

#include "base/escape.h"

#include <math.h>
#include <string.h>

static void append_word(struct attn_table_page *page, const char *word)
{
    attn_json_append_string(&page->text, word, strlen(word));
}

static void append_cell(struct attn_table_page *page, const struct attn_column *column,
                        const struct attn_cell *cell)
{
    if (cell->type == ATTN_VALUE_MISSING ||
        (cell->type == ATTN_VALUE_REAL && !isfinite(cell->real)))
        attn_buffer_append_string(&page->text, "null");
    else if (cell->type == ATTN_VALUE_TEXT)
        attn_json_append_string(&page->text, cell->text, cell->size);
    else if (cell->type == ATTN_VALUE_BOOLEAN)
        attn_buffer_append_string(&page->text, cell->integer != 0 ? "true" : "false");
    else
        attn_table_append_number(page, column, cell);
}

static void append_object(struct attn_table_page *page, size_t row)
{
    for (size_t c = 0; c < attn_table_n_column(page->table); c++) {
        const struct attn_column *column = attn_table_column(page->table, c);
        const struct attn_cell cell = attn_table_cell(page->table, row, c);

        attn_buffer_append_string(&page->text, c == 0 ? "{" : ", ");
        append_word(page, column->name);
        attn_buffer_append_string(&page->text, ": ");
        append_cell(page, column, &cell);
    }
    attn_buffer_append_char(&page->text, '}');
}

static void begin_document(struct attn_table_page *page)
{
    attn_buffer_append_format(&page->text, "{\n\"schema\": %d,\n\"table\": ", ATTN_JSON_SCHEMA);
    append_word(page, attn_table_name(page->table));
    attn_buffer_append_string(&page->text, ",\n\"rows\": [");
    if (attn_table_n_row(page->table) > 0)
        attn_buffer_append_char(&page->text, '\n');
}

static void end_document(struct attn_table_page *page)
{
    attn_buffer_append_string(&page->text,
                              attn_table_n_row(page->table) > 0 ? "\n]\n}\n" : "]\n}\n");
}

static void append_line(struct attn_table_page *page, size_t row)
{
    append_object(page, row);
    attn_buffer_append_char(&page->text, '\n');
}

const struct attn_table_ops attn_table_json_ops = {
    .begin = begin_document,
    .row = append_object,
    .separator = ",\n",
    .end = end_document,
};

const struct attn_table_ops attn_table_json_lines_ops = {.row = append_line};
