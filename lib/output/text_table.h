/*
 * text_table.h - a small table of words and numbers in columns that line up on a terminal.
 *
 *     struct attn_text_table table = {0};
 *     attn_text_table_begin(&table, 3, 1);        // three columns, the first one flush left
 *     attn_text_table_cell(&table, text, size);   // row by row
 *     attn_text_table_write(&table, sink, &err);
 *     attn_text_table_release(&table);
 */
#ifndef ATTN_OUTPUT_TEXT_TABLE_H
#define ATTN_OUTPUT_TEXT_TABLE_H

#include "base/buffer.h"
#include "base/sink.h"
#include "output/output.h" /* attn_text_width, attn_text_fit */

#include <stdint.h>

enum { ATTN_TABLE_MAX_COLUMNS = 32 };

struct attn_text_cell {
    size_t end;   /* of its bytes in `text` */
    size_t width; /* columns of a terminal */
};

/* Initialize with = {0}; may be used again after a write. */
struct attn_text_table {
    struct attn_buffer text;  /* the cells, one after the other */
    struct attn_buffer line;  /* scratch */
    struct attn_buffer cells; /* struct attn_text_cell, row by row */
    size_t n_column;
    uint32_t flush_left; /* bit c: column c; the others are flush right */
};

/* Empties the table. N_COLUMN 1 .. ATTN_TABLE_MAX_COLUMNS. */
void attn_text_table_begin(struct attn_text_table *table, size_t n_column, uint32_t flush_left);

/* The next cell: SIZE bytes of UTF-8. */
void attn_text_table_cell(struct attn_text_table *table, const char *text, size_t size);
void attn_text_table_string(struct attn_text_table *table, const char *text);
void attn_text_table_number(struct attn_text_table *table, size_t number);

/* Writes the rows; two blanks between columns, none at the ends of lines. */
enum attn_status attn_text_table_write(struct attn_text_table *table, struct attn_sink *sink,
                                       struct attn_error *err);

void attn_text_table_release(struct attn_text_table *table);

#endif
