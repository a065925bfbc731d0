/* table_writer_internal.h - the part of table_writer.h for the library alone. */
#ifndef ATTN_TABLES_TABLE_WRITER_INTERNAL_H
#define ATTN_TABLES_TABLE_WRITER_INTERNAL_H

#include "base/buffer.h"
#include "encode/json_writer.h"
#include "tables/table_writer.h"

/* Writes one row as it stands in FORM: a line, or in JSON an object without the end of a line, for
 * a document that the caller makes around it. Rows can be written as they come: CSV of a table
 * without rows is its line of names. ATTN_INVALID for aligned text, whose columns are as wide as
 * all rows. */
enum attn_status attn_table_write_row(const struct attn_table *table, size_t row,
                                      enum attn_table_form form, int precision,
                                      struct attn_sink *sink, struct attn_error *err);

/* The limits of aligned text, LaTeX and Markdown, and the words around the last two. */
struct attn_table_fit {
    size_t width;          /* columns of a terminal; 0: any */
    const char *elsewhere; /* where all columns are, in words of the caller: "--csv -" */
    const char *kept;      /* a column that stays, the subject of the table; or NULL */
    const char *caption;   /* printable; NULL: the name of the table */
    const char *label;     /* of LaTeX, up to its first '.'; NULL: the name of the table */
    size_t n_group;        /* leading columns that name a group; LaTeX rules groups off */
};

/* As attn_table_write in any form. FIT is of aligned text, LaTeX and Markdown: columns on the right
 * that do not fit are left out, and a last line names them and where they are. */
enum attn_status attn_table_write_fitted(const struct attn_table *table, enum attn_table_form form,
                                         int precision, const struct attn_table_fit *fit,
                                         struct attn_sink *sink, struct attn_error *err);

/* The same for these three forms. */
enum attn_status attn_table_write_lines(const struct attn_table *table, enum attn_table_form form,
                                        int precision, const struct attn_table_fit *fit,
                                        struct attn_sink *sink, struct attn_error *err);

/* Appends CELL of COLUMN to OUT as aligned text shows it: for values inside a sentence. */
void attn_table_append_cell(struct attn_buffer *out, int precision,
                            const struct attn_column *column, const struct attn_cell *cell);

/* Appends CELL of COLUMN to OUT as a field of CSV. */
void attn_table_append_csv(struct attn_buffer *out, const struct attn_column *column,
                           const struct attn_cell *cell);

/* CELL of COLUMN as a value of JSON; null if missing or not finite. */
void attn_table_push_cell(struct attn_json_writer *json, const struct attn_column *column,
                          const struct attn_cell *cell, int precision);

/* CELLS [n] of COLUMNS [n] as members of the object that JSON is in. */
void attn_table_push_cells(struct attn_json_writer *json, const struct attn_column *columns,
                           const struct attn_cell *cells, size_t n, int precision);

#endif
