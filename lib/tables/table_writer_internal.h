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

/* Writes TABLE as STYLE has it. */
enum attn_status attn_table_write_styled(const struct attn_table *table,
                                         const struct attn_table_style *style,
                                         struct attn_sink *sink, struct attn_error *err);

/* The same for aligned text, LaTeX and Markdown. */
enum attn_status attn_table_write_lines(const struct attn_table *table,
                                        const struct attn_table_style *style,
                                        struct attn_sink *sink, struct attn_error *err);

/* Appends CELL of COLUMN to OUT as aligned text shows it: for values inside a sentence. */
void attn_table_append_cell(struct attn_buffer *out, int precision,
                            const struct attn_column *column, const struct attn_cell *cell);

/* Appends CELL of COLUMN to OUT in the form of STYLE, which is no JSON. */
void attn_table_append_styled(struct attn_buffer *out, struct attn_table_style style,
                              const struct attn_column *column, const struct attn_cell *cell);

/* CELL of COLUMN as a value of JSON; null if missing or not finite. */
void attn_table_push_cell(struct attn_json_writer *json, const struct attn_column *column,
                          const struct attn_cell *cell, int precision);

/* CELLS [n] of COLUMNS [n] as members of the object that JSON is in. */
void attn_table_push_cells(struct attn_json_writer *json, const struct attn_column *columns,
                           const struct attn_cell *cells, size_t n, int precision);

#endif
