/*
 * columns.h - rows of short cells that line up on a terminal, whatever the width of each.
 *
 *     struct columns columns = {0};
 *     columns_text(&columns, token, size);
 *     columns_number(&columns, 0.25);
 *     columns_end_row(&columns);
 *     columns_print(&columns, out);
 *
 * A row may be shorter than others. Numbers have four digits after the point.
 */
#ifndef CMD_COLUMNS_H
#define CMD_COLUMNS_H

#include "attn.h"

#include <stdbool.h>
#include <stddef.h>

/* Initialize with = {0}. */
struct columns {
    struct cell *cells; /* [n] owns; row after row, each row ended by a cell of its own */
    size_t n, capacity;
    bool has_failed; /* memory ran out; columns_print says so */
};

/* Flush left, cut to a length that a label may have: SIZE bytes of printable UTF-8. */
void columns_text(struct columns *columns, const char *text, size_t size);

/* Flush right. */
void columns_number(struct columns *columns, double number);
void columns_put(struct columns *columns, const char *format, ...) ATTN_PRINTF(2, 3);

/* Between two numbers, with one blank around it instead of two: "+", "=". */
void columns_sign(struct columns *columns, const char *sign);

void columns_end_row(struct columns *columns);

/* Prints the rows, behind an indent of two blanks, and empties the table. Reports a failure and
 * returns an exit code. */
int columns_print(struct columns *columns, struct attn_sink *out);

void columns_release(struct columns *columns);

#endif
