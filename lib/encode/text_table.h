/*
 * text_table.h - a small table of words and numbers in columns that line up on a terminal.
 *
 *     struct attn_text_table table = {0};
 *     attn_text_table_begin(&table, 3);
 *     attn_text_table_flush_left(&table, 0);
 *     attn_text_table_cell(&table, text, size);   // row by row
 *     attn_text_table_write(&table, sink, &err);
 *     attn_text_table_release(&table);
 */
#ifndef ATTN_ENCODE_TEXT_TABLE_H
#define ATTN_ENCODE_TEXT_TABLE_H

#include "base/buffer.h"
#include "base/sink.h"
#include "encode/color_line.h"

#include <stdbool.h>

enum { ATTN_TEXT_CELL_SIZE = 128 };

struct attn_text_column {
    size_t width; /* of its widest cell */
    size_t limit; /* wider cells do not widen it; 0: all do */
    bool is_left; /* its cells are flush left */
    bool is_sign; /* one blank on either side instead of two */
};

struct attn_text_cell {
    size_t end;   /* of its bytes in `text` */
    size_t width; /* columns of a terminal */
    struct attn_paint paint;
};

/* Initialize with = {0}; may be used again after a write. */
struct attn_text_table {
    struct attn_buffer text;    /* the cells, one after the other */
    struct attn_buffer line;    /* scratch */
    struct attn_buffer cells;   /* struct attn_text_cell, row by row */
    struct attn_buffer columns; /* struct attn_text_column */
    size_t n_column;
    size_t n_hidden; /* columns that are hidden from the right; 0 at first */
    size_t kept;     /* one of them that stays; 0 at first: the first alone does */
    size_t indent;   /* blanks before the first column */
    /* Of a row in a markup language: "| ", " | " and " |". `between` NULL: two blanks, and no
     * blanks at the end of a line; else all three are given. */
    const char *begin, *between, *end;
    enum attn_color_depth depth; /* of painted cells */
};

/* Empties the table. It has N_COLUMN columns, 1 or more, flush right. */
void attn_text_table_begin(struct attn_text_table *table, size_t n_column);
void attn_text_table_flush_left(struct attn_text_table *table, size_t column);

/* COLUMN holds signs between numbers, "+" or "=". */
void attn_text_table_sign(struct attn_text_table *table, size_t column);

/* Makes COLUMN at least WIDTH wide; lets cells that are wider than WIDTH stick out of it. */
void attn_text_table_widen(struct attn_text_table *table, size_t column, size_t width);
void attn_text_table_limit(struct attn_text_table *table, size_t column, size_t width);

/* The next cell: SIZE bytes of UTF-8. */
void attn_text_table_cell(struct attn_text_table *table, const char *text, size_t size);
void attn_text_table_painted(struct attn_text_table *table, struct attn_paint paint,
                             const char *text, size_t size);
void attn_text_table_string(struct attn_text_table *table, const char *text);
void attn_text_table_number(struct attn_text_table *table, size_t number);

/* The same of at most ATTN_TEXT_CELL_SIZE - 1 bytes. */
void attn_text_table_format(struct attn_text_table *table, const char *format, ...)
    ATTN_PRINTF(2, 3);

/* Fills up the row that was begun with empty cells. */
void attn_text_table_end_row(struct attn_text_table *table);

/* Writes the rows, two blanks between columns. */
enum attn_status attn_text_table_write(struct attn_text_table *table, struct attn_sink *sink,
                                       struct attn_error *err);

/* Writes row ROW of the rows that were measured. Returns false after the last. */
bool attn_text_table_write_row(struct attn_text_table *table, size_t row, struct attn_sink *sink);

/* For tables that are made twice, row by row: rows are first measured, then written, and cleared
 * each time. */
enum attn_status attn_text_table_measure(struct attn_text_table *table, struct attn_error *err);
void attn_text_table_clear(struct attn_text_table *table);

/* Columns that the table takes, after it was measured. */
size_t attn_text_table_width(const struct attn_text_table *table);

/* After measuring, hides columns beyond WIDTH, except the first and `kept`. */
void attn_text_table_hide(struct attn_text_table *table, size_t width);
bool attn_text_table_shows(const struct attn_text_table *table, size_t column);

void attn_text_table_release(struct attn_text_table *table);

/* Columns that a terminal needs for TEXT, printable UTF-8: 2 for wide characters, 0 for marks. */
size_t attn_text_width(const char *text, size_t size);

/* Bytes of the longest beginning of TEXT that fits WIDTH columns. */
size_t attn_text_fit(const char *text, size_t size, size_t width);

/* Whether TEXT has a letter written from right to left: U+0590 to U+08FF, presentation forms, old
 * scripts. */
bool attn_text_is_right_to_left(const char *text, size_t size);

/* TEXT without the blanks around it, and its *SIZE. */
const char *attn_text_trim(const char *text, size_t *size);

/* Appends at most WIDTH columns of TEXT, ELLIPSIS at its end where it is longer. */
void attn_text_append_cut(struct attn_buffer *out, const char *text, size_t size, size_t width,
                          const char *ellipsis);

/* The same for a token without surrounding blanks; blanks alone are quoted. */
void attn_text_append_label(struct attn_buffer *out, const char *text, size_t size, size_t width,
                            const char *ellipsis);

#define ATTN_ELLIPSIS "\xe2\x80\xa6" /* U+2026 */

/* U+200E, without width, after right-to-left text: keeps the order of numbers after it. */
#define ATTN_LEFT_TO_RIGHT "\xe2\x80\x8e"

#endif
