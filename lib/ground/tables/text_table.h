/*
 * text_table.h - a small table of words and numbers with aligned columns, for terminals.
 *
 *     struct attn_text_table table = {0};
 *     attn_text_table_begin(&table, 3);
 *     attn_text_table_flush_left(&table, 0);
 *     attn_text_table_cell(&table, text, size);   // row by row
 *     attn_text_table_write(&table, sink, &err);
 *     attn_text_table_release(&table);
 */
#pragma once

#include "base/buffer.h"
#include "base/sink.h"

#include <stdbool.h>

enum { ATTN_TEXT_CELL_SIZE = 128 };

struct attn_text_column {
    size_t width; /* width of its widest cell */
    size_t limit; /* wider cells don't widen it; 0: all cells do */
    bool is_left; /* its cells are flush left */
    bool is_sign; /* it has one blank on either side instead of two */
};

struct attn_text_cell {
    size_t end;   /* end of its bytes in `text` */
    size_t width; /* in columns of a terminal */
};

/* Initialize with = {0}. Can be used again after a write. */
struct attn_text_table {
    struct attn_buffer text;    /* the texts of all cells */
    struct attn_buffer line;    /* scratch */
    struct attn_buffer cells;   /* struct attn_text_cell, row by row */
    struct attn_buffer columns; /* struct attn_text_column */
    size_t n_column;
    size_t n_hidden; /* number of hidden columns, which are the rightmost; initially 0 */
    /* columns that aren't hidden, in addition to the first: index and number; initially 0 */
    size_t kept, n_kept;
    size_t indent; /* blanks before the first column */
    /* What stands in a row of a markup language before, between and after the cells: "| ", " | "
     * and " |". If `between` is NULL, columns are two blanks apart, and lines don't end in blanks;
     * else all three must be set. */
    const char *begin, *between, *end;
};

/* Empties the table and gives it N_COLUMN columns, at least 1, flush right. */
void attn_text_table_begin(struct attn_text_table *table, size_t n_column);
void attn_text_table_flush_left(struct attn_text_table *table, size_t column);

/* Says that COLUMN holds signs between numbers, "+" or "=". */
void attn_text_table_sign(struct attn_text_table *table, size_t column);

/* The first makes COLUMN at least WIDTH wide. The second sets a limit: cells that are wider than
 * WIDTH stick out of the column. */
void attn_text_table_widen(struct attn_text_table *table, size_t column, size_t width);
void attn_text_table_limit(struct attn_text_table *table, size_t column, size_t width);

/* Appends a cell with SIZE bytes of UTF-8; the second, with bytes that have no width, of WIDTH. */
void attn_text_table_cell(struct attn_text_table *table, const char *text, size_t size);
void attn_text_table_painted(struct attn_text_table *table, const char *text, size_t size,
                             size_t width);
void attn_text_table_string(struct attn_text_table *table, const char *text);
void attn_text_table_number(struct attn_text_table *table, size_t number);

/* Appends a cell, formatted as by printf, of at most ATTN_TEXT_CELL_SIZE - 1 bytes. */
void attn_text_table_format(struct attn_text_table *table, const char *format, ...)
    ATTN_PRINTF(2, 3);

/* Fills the rest of the row with empty cells. */
void attn_text_table_end_row(struct attn_text_table *table);

/* Writes all rows, with two blanks between columns. */
enum attn_status attn_text_table_write(struct attn_text_table *table, struct attn_sink *sink,
                                       struct attn_error *err);

/* Writes row ROW of the measured rows. Returns false if there is no such row. */
bool attn_text_table_write_row(struct attn_text_table *table, size_t row, struct attn_sink *sink);

/* For a table whose rows are made twice, one by one, instead of being stored: all rows are added,
 * measured and cleared, then added again, written and cleared. */
enum attn_status attn_text_table_measure(struct attn_text_table *table, struct attn_error *err);
void attn_text_table_clear(struct attn_text_table *table);

/* Returns the width of the table in columns of the terminal, after it was measured. */
size_t attn_text_table_width(const struct attn_text_table *table);

/* Hides the rightmost columns that are beyond WIDTH, except for the first column and `kept`. The
 * table must have been measured. */
void attn_text_table_hide(struct attn_text_table *table, size_t width);
bool attn_text_table_shows(const struct attn_text_table *table, size_t column);

void attn_text_table_release(struct attn_text_table *table);

/* Returns the columns that a terminal needs for TEXT, printable UTF-8: 2 for wide characters, 0 for
 * marks. */
size_t attn_text_width(const char *text, size_t size);

/* Returns the number of bytes of TEXT that fit WIDTH columns. */
size_t attn_text_fit(const char *text, size_t size, size_t width);

/* Returns true if TEXT has a letter of a right-to-left script: U+0590 to U+08FF, presentation
 * forms, old scripts. */
bool attn_text_is_right_to_left(const char *text, size_t size);

/* Returns TEXT without the blanks around it, and sets *size. */
const char *attn_text_trim(const char *text, size_t *size);

/* Appends TEXT, cut to WIDTH columns with ELLIPSIS at its end if it is longer. */
void attn_text_append_cut(struct attn_buffer *out, const char *text, size_t size, size_t width,
                          const char *ellipsis);

/* Appends a token without the blanks around it, cut as by attn_text_append_cut. A token of blanks
 * is shown in quotes. */
void attn_text_append_label(struct attn_buffer *out, const char *text, size_t size, size_t width,
                            const char *ellipsis);

#define ATTN_ELLIPSIS "\xe2\x80\xa6" /* U+2026 */

/* U+200E, which has no width. Written after right-to-left text, it keeps the order of the numbers
 * that follow. */
#define ATTN_LEFT_TO_RIGHT "\xe2\x80\x8e"
