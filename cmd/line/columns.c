/* columns.c - see columns.h. */
#include "cmd/line/columns.h"

#include "cmd/line/command.h"
#include "cmd/line/print.h"
#include "cmd/line/report.h"
#include "tool.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL_WIDTH = 10, CELL_SIZE = 64 };

enum cell_kind { CELL_LEFT, CELL_RIGHT, CELL_SIGN, CELL_END_OF_ROW };

struct cell {
    enum cell_kind kind;
    char text[CELL_SIZE];
};

static struct cell *add(struct columns *columns, enum cell_kind kind)
{
    if (columns->n == columns->capacity) {
        size_t capacity = columns->capacity > 0 ? 2 * columns->capacity : 256;
        struct cell *cells = realloc(columns->cells, capacity * sizeof *cells);
        if (!cells) {
            columns->has_failed = true;
            return NULL;
        }
        columns->cells = cells;
        columns->capacity = capacity;
    }
    struct cell *cell = &columns->cells[columns->n++];
    cell->kind = kind;
    cell->text[0] = '\0';
    return cell;
}

void columns_text(struct columns *columns, const char *text, size_t size)
{
    static const char ellipsis[] = "\xe2\x80\xa6"; /* U+2026 */
    struct cell *cell = add(columns, CELL_LEFT);
    bool is_cut = attn_text_width(text, size) > LABEL_WIDTH;
    size_t kept = attn_text_fit(text, size, LABEL_WIDTH - (is_cut ? 1 : 0));
    if (kept > CELL_SIZE - sizeof(ellipsis)) /* marks upon marks, which have no width */
        kept = 0;
    if (cell)
        snprintf(cell->text, sizeof(cell->text), "%.*s%s", (int)kept, text, is_cut ? ellipsis : "");
}

void columns_put(struct columns *columns, const char *format, ...)
{
    struct cell *cell = add(columns, CELL_RIGHT);
    va_list arguments;
    va_start(arguments, format);
    if (cell)
        vsnprintf(cell->text, sizeof(cell->text), format, arguments);
    va_end(arguments);
}

void columns_number(struct columns *columns, double number)
{
    columns_put(columns, "%.4f", isnan(number) ? fabs(number) : number); /* never "-nan" */
}

void columns_sign(struct columns *columns, const char *sign)
{
    struct cell *cell = add(columns, CELL_SIGN);
    if (cell)
        snprintf(cell->text, sizeof(cell->text), "%s", sign);
}

void columns_end_row(struct columns *columns)
{
    add(columns, CELL_END_OF_ROW);
}

static size_t width_of(const struct cell *cell)
{
    return attn_text_width(cell->text, strlen(cell->text));
}

/* The width of the widest cell of each column; NULL when memory ran out. */
static size_t *measure(const struct columns *columns)
{
    size_t *widths = calloc(columns->n + 1, sizeof *widths);
    size_t column = 0;
    for (size_t i = 0; widths && i < columns->n; i++) {
        const struct cell *cell = &columns->cells[i];
        if (cell->kind == CELL_END_OF_ROW) {
            column = 0;
            continue;
        }
        if (width_of(cell) > widths[column])
            widths[column] = width_of(cell);
        column++;
    }
    return widths;
}

/* Blanks before CELL, which comes after PREVIOUS; the first of a row has a NULL there. */
static size_t gap_between(const struct cell *previous, const struct cell *cell)
{
    bool is_sign = cell->kind == CELL_SIGN || (previous && previous->kind == CELL_SIGN);
    return is_sign ? 1 : 2;
}

/* The cells of one row up to its end, without blanks at the end of the line. */
static const struct cell *print_row(const struct cell *cell, const size_t *widths,
                                    struct attn_sink *out)
{
    const struct cell *previous = NULL;
    size_t n_blank = 0;
    for (; cell->kind != CELL_END_OF_ROW; previous = cell++, widths++) {
        size_t rest = *widths - width_of(cell);
        n_blank += gap_between(previous, cell) + (cell->kind == CELL_RIGHT ? rest : 0);
        for (; cell->text[0] && n_blank > 0; n_blank--)
            print_text(out, " ");
        print_text(out, cell->text);
        n_blank += cell->kind == CELL_RIGHT ? 0 : rest;
    }
    print_text(out, "\n");
    return cell + 1;
}

int columns_print(struct columns *columns, struct attn_sink *out)
{
    size_t *widths = columns->has_failed ? NULL : measure(columns);
    if (!widths)
        return report_no_memory();
    const struct cell *end = columns->cells + columns->n;
    for (const struct cell *row = columns->cells; row < end;)
        row = print_row(row, widths, out);
    free(widths);
    columns->n = 0;
    return EXIT_DONE;
}

void columns_release(struct columns *columns)
{
    free(columns->cells);
    *columns = (struct columns){0};
}
