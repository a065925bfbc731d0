/*
 * table_writer_internal.h - what the forms of tables share: the text that is being made, the cells,
 * and the operations that each form fills in, one file a form.
 */
#ifndef ATTN_TABLES_TABLE_WRITER_INTERNAL_H
#define ATTN_TABLES_TABLE_WRITER_INTERNAL_H

#include "base/buffer.h"
#include "tables/table_writer.h"

/* A table that is being written. */
struct attn_table_page {
    const struct attn_table *table;
    int precision; /* as in attn_table_write */
    struct attn_sink *sink;
    struct attn_buffer text;    /* what is made; handed to the sink and emptied row by row */
    struct attn_buffer escaped; /* scratch of one cell */
};

struct attn_table_ops {
    void (*begin)(struct attn_table_page *page); /* before the first row; NULL: nothing */
    void (*row)(struct attn_table_page *page, size_t row);
    const char *separator;                     /* between rows; NULL: none */
    void (*end)(struct attn_table_page *page); /* after the last row; NULL: nothing */

    /* In place of all of these, for a form that needs all rows at once. */
    enum attn_status (*whole)(struct attn_table_page *page, struct attn_error *err);
};

extern const struct attn_table_ops attn_table_aligned_ops, attn_table_tabbed_ops,
    attn_table_csv_ops, attn_table_json_ops, attn_table_json_lines_ops;

/* The text of CELL, escaped, in page->escaped. */
void attn_table_escape(struct attn_table_page *page, const struct attn_cell *cell);

/* Appends CELL, which is no text and not missing, to page->text. A real is as COLUMN's notation has
 * it for programs, nan, inf or -inf; a boolean is 1 or 0. */
void attn_table_append_number(struct attn_table_page *page, const struct attn_column *column,
                              const struct attn_cell *cell);

/*
 * Writes one row as it stands in FORM: a line, or in JSON an object without the end of a line, for
 * a document that the caller makes around it. Rows can be written as they come: CSV of a table
 * without rows is its line of names. ATTN_INVALID for aligned text, whose columns are as wide as
 * all rows.
 */
enum attn_status attn_table_write_row(const struct attn_table *table, size_t row,
                                      enum attn_table_form form, int precision,
                                      struct attn_sink *sink, struct attn_error *err);

#endif
