#include "tables/text_table.h"

#include "base/text/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Reads the grapheme cluster at TEXT: returns its length and sets *width, which is that of its
 * first character. */
static size_t next_character(const char *text, size_t size, size_t *width)
{
    uint32_t code_point;
    const size_t length = attn_utf8_decode(text, size, &code_point);

    *width = length > 0 ? (size_t)attn_utf8_width(code_point) : 1;
    return length > 0 ? attn_utf8_cluster(text, size) : 1;
}

size_t attn_text_width(const char *text, size_t size)
{
    size_t total = 0, width;

    for (size_t at = 0; at < size; total += width)
        at += next_character(text + at, size - at, &width);
    return total;
}

size_t attn_text_fit(const char *text, size_t size, size_t width)
{
    size_t at = 0, used = 0, next;

    while (at < size) {
        size_t length = next_character(text + at, size - at, &next);

        if (next > width - used)
            break;
        at += length;
        used += next;
    }
    return at;
}

bool attn_text_is_right_to_left(const char *text, size_t size)
{
    for (size_t at = 0; at < size;) {
        uint32_t c;
        size_t length = attn_utf8_decode(text + at, size - at, &c);

        if ((c >= 0x590 && c <= 0x8ff) || (c >= 0xfb1d && c <= 0xfdff) ||
            (c >= 0xfe70 && c <= 0xfefc) || (c >= 0x10800 && c <= 0x10fff) ||
            (c >= 0x1e800 && c <= 0x1efff))
            return true;
        at += length > 0 ? length : 1;
    }
    return false;
}

const char *attn_text_trim(const char *text, size_t *size)
{
    for (; *size > 0 && *text == ' '; --*size)
        text++;
    while (*size > 0 && text[*size - 1] == ' ')
        --*size;
    return text;
}

void attn_text_append_cut(struct attn_buffer *out, const char *text, size_t size, size_t width,
                          const char *ellipsis)
{
    const size_t n_ellipsis = attn_text_width(ellipsis, strlen(ellipsis));
    const bool is_cut = attn_text_width(text, size) > width;

    attn_buffer_append(out, text, is_cut ? attn_text_fit(text, size, width - n_ellipsis) : size);
    attn_buffer_append_string(out, is_cut ? ellipsis : "");
}

void attn_text_append_label(struct attn_buffer *out, const char *text, size_t size, size_t width,
                            const char *ellipsis)
{
    /* the number of blanks that stand for a text of blanks */
    const size_t n_blank = size < 8 ? size : 8;

    text = attn_text_trim(text, &size);
    if (size == 0 && n_blank > 0)
        attn_buffer_append_format(out, "'%*s'", (int)n_blank, "");
    else
        attn_text_append_cut(out, text, size, width, ellipsis);
}

/* Returns the columns; NULL if memory ran out. */
static struct attn_text_column *columns_of(struct attn_text_table *table)
{
    return table->columns.has_failed ? NULL : (void *)table->columns.data;
}

void attn_text_table_begin(struct attn_text_table *table, size_t n_column)
{
    const struct attn_text_column column = {0};

    attn_buffer_reset(&table->text);
    attn_buffer_reset(&table->line);
    attn_buffer_reset(&table->cells);
    attn_buffer_reset(&table->columns);
    table->n_column = n_column;
    table->n_hidden = table->kept = 0;
    for (size_t c = 0; c < n_column; c++)
        attn_buffer_append(&table->columns, &column, sizeof column);
}

void attn_text_table_flush_left(struct attn_text_table *table, size_t column)
{
    struct attn_text_column *columns = columns_of(table);

    if (columns)
        columns[column].is_left = true;
}

void attn_text_table_sign(struct attn_text_table *table, size_t column)
{
    struct attn_text_column *columns = columns_of(table);

    if (columns)
        columns[column].is_sign = true;
}

void attn_text_table_widen(struct attn_text_table *table, size_t column, size_t width)
{
    struct attn_text_column *columns = columns_of(table);

    if (columns && columns[column].width < width)
        columns[column].width = width;
}

void attn_text_table_limit(struct attn_text_table *table, size_t column, size_t width)
{
    struct attn_text_column *columns = columns_of(table);

    if (columns)
        columns[column].limit = width;
}

void attn_text_table_painted(struct attn_text_table *table, const char *text, size_t size,
                             size_t width)
{
    struct attn_text_cell cell = {.width = width};

    attn_buffer_append(&table->text, text, size);
    cell.end = table->text.size;
    attn_buffer_append(&table->cells, &cell, sizeof cell);
}

void attn_text_table_cell(struct attn_text_table *table, const char *text, size_t size)
{
    attn_text_table_painted(table, text, size, attn_text_width(text, size));
}

void attn_text_table_string(struct attn_text_table *table, const char *text)
{
    attn_text_table_cell(table, text, strlen(text));
}

void attn_text_table_format(struct attn_text_table *table, const char *format, ...)
{
    char text[ATTN_TEXT_CELL_SIZE];
    va_list arguments;
    int size;

    va_start(arguments, format);
    size = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    attn_text_table_cell(table, text,
                         size < 0                         ? 0
                         : (size_t)size < sizeof text - 1 ? (size_t)size
                                                          : sizeof text - 1);
}

void attn_text_table_number(struct attn_text_table *table, size_t number)
{
    attn_text_table_format(table, "%zu", number);
}

void attn_text_table_end_row(struct attn_text_table *table)
{
    while (!table->cells.has_failed &&
           table->cells.size / sizeof(struct attn_text_cell) % table->n_column != 0)
        attn_text_table_cell(table, "", 0);
}

static void append_blanks(struct attn_buffer *line, size_t n)
{
    while (n-- > 0)
        attn_buffer_append_char(line, ' ');
}

/* Returns the number of blanks before COLUMN: two, or one on either side of a sign. */
static size_t gap_before(const struct attn_text_table *table, const struct attn_text_column *column,
                         size_t c)
{
    if (table->between)
        return c > 0 ? strlen(table->between) : strlen(table->begin) + strlen(table->end);
    if (c == 0)
        return table->indent;
    return column->is_sign || column[-1].is_sign ? 1 : 2;
}

/* Appends a row as a line. CELLS is its first cell, whose text begins at BEGIN. */
static void append_row(struct attn_text_table *table, const struct attn_text_cell *cells,
                       size_t begin)
{
    const struct attn_text_column *columns = columns_of(table);
    size_t used = 0; /* length of the line without padding at its end */

    attn_buffer_reset(&table->line);
    for (size_t c = 0; c < table->n_column; begin = cells[c++].end) {
        size_t size = cells[c].end - begin;
        size_t padding = columns[c].width > cells[c].width ? columns[c].width - cells[c].width : 0;
        bool is_left = columns[c].is_left;

        if (!attn_text_table_shows(table, c))
            continue;
        if (table->between)
            attn_buffer_append_string(&table->line, c == 0 ? table->begin : table->between);
        else
            append_blanks(&table->line, gap_before(table, &columns[c], c));
        append_blanks(&table->line, is_left ? 0 : padding);
        attn_buffer_append(&table->line, table->text.data + begin, size);
        if (size > 0)
            used = table->line.size;
        if (!table->between && attn_text_is_right_to_left(table->text.data + begin, size))
            attn_buffer_append_string(&table->line, ATTN_LEFT_TO_RIGHT);
        append_blanks(&table->line, is_left ? padding : 0);
    }
    if (table->between)
        attn_buffer_append_string(&table->line, table->end);
    else if (!table->line.has_failed)
        table->line.size = used;
    attn_buffer_append_char(&table->line, '\n');
}

enum attn_status attn_text_table_measure(struct attn_text_table *table, struct attn_error *err)
{
    struct attn_text_column *columns = columns_of(table);
    /* aligned, like the columns */
    const struct attn_text_cell *cells = (const void *)table->cells.data;

    ATTN_TRY(attn_buffer_check(&table->text, err));
    ATTN_TRY(attn_buffer_check(&table->cells, err));
    ATTN_TRY(attn_buffer_check(&table->columns, err));
    for (size_t i = 0; i < table->cells.size / sizeof *cells; i++) {
        struct attn_text_column *column = &columns[i % table->n_column];

        if (cells[i].width > column->width &&
            (column->limit == 0 || cells[i].width <= column->limit))
            column->width = cells[i].width;
    }
    return ATTN_OK;
}

size_t attn_text_table_width(const struct attn_text_table *table)
{
    const struct attn_text_column *columns = (const void *)table->columns.data;
    size_t width = 0;

    for (size_t c = 0; c < table->n_column; c++)
        if (attn_text_table_shows(table, c))
            width += gap_before(table, &columns[c], c) + columns[c].width;
    return width;
}

bool attn_text_table_shows(const struct attn_text_table *table, size_t column)
{
    return column < table->n_column - table->n_hidden ||
           (column > 0 && column - table->kept < table->n_kept);
}

void attn_text_table_hide(struct attn_text_table *table, size_t width)
{
    while (table->n_hidden + 1 < table->n_column && attn_text_table_width(table) > width)
        table->n_hidden++;
}

bool attn_text_table_write_row(struct attn_text_table *table, size_t row, struct attn_sink *sink)
{
    const struct attn_text_cell *cells = (const void *)table->cells.data;
    const size_t first = row * table->n_column;

    if (first >= table->cells.size / sizeof *cells)
        return false;
    append_row(table, &cells[first], first > 0 ? cells[first - 1].end : 0);
    if (!table->line.has_failed)
        attn_sink_write(sink, table->line.data, table->line.size);
    return !table->line.has_failed;
}

enum attn_status attn_text_table_write(struct attn_text_table *table, struct attn_sink *sink,
                                       struct attn_error *err)
{
    ATTN_TRY(attn_text_table_measure(table, err));
    for (size_t row = 0; attn_text_table_write_row(table, row, sink);)
        row++;
    return attn_buffer_check(&table->line, err);
}

void attn_text_table_clear(struct attn_text_table *table)
{
    table->text.size = 0; /* a reset would clear has_failed */
    table->cells.size = 0;
}

void attn_text_table_release(struct attn_text_table *table)
{
    attn_buffer_release(&table->text);
    attn_buffer_release(&table->line);
    attn_buffer_release(&table->cells);
    attn_buffer_release(&table->columns);
}
