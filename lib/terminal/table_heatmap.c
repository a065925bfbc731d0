/* table_heatmap.c - see table_heatmap.h. */
#include "terminal/table_heatmap.h"

#include "base/escape.h"
#include "base/path.h"
#include "encode/color_line.h"
#include "encode/colormap_internal.h"
#include "encode/text_table.h"
#include "output/picture_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { USUAL_WIDTH = 80, LEAST_WIDTH = 24, LABEL_WIDTH = 14, NUMBER_SIZE = 32, N_SHADE = 5 };

struct page {
    const struct attn_figure_grid *grid;
    const struct attn_picture_options *picture;
    const struct attn_colormap *map;
    struct attn_sink *sink;
    struct attn_color_line line;
    struct attn_buffer scratch;
    size_t width;       /* of the terminal */
    size_t label_width; /* of rows, position and name */
    size_t cell_width;
};

/* --- Labels ----------------------------------------------------------------------------------- */

/* Appends the name of row or column I, cut, to the scratch. Returns its columns. */
static size_t append_name(struct page *page, const struct attn_figure_axis *axis, size_t i)
{
    size_t size = 0;
    const char *text = attn_token_text(axis->texts, i, &size);

    for (; size > 0 && *text == ' '; size--)
        text++;
    size = attn_text_fit(text, size, LABEL_WIDTH);
    attn_buffer_append(&page->scratch, text, size);
    return attn_text_width(text, size);
}

static size_t print_position(const struct attn_figure_axis *axis, size_t i, char text[NUMBER_SIZE])
{
    return (size_t)snprintf(text, NUMBER_SIZE, "%zu", axis->positions[i]);
}

/* The label of row or column I: its position and, of rows, its name; or its name alone. */
static size_t make_label(struct page *page, const struct attn_figure_axis *axis, size_t i,
                         bool has_name)
{
    char position[NUMBER_SIZE];
    const size_t n = print_position(axis, i, position);

    page->scratch.size = 0;
    if (!axis->is_named)
        attn_buffer_append(&page->scratch, position, n);
    if (!axis->texts || !(has_name || axis->is_named))
        return n;
    if (!axis->is_named)
        attn_buffer_append_char(&page->scratch, ' ');
    return append_name(page, axis, i) + (axis->is_named ? 0 : n + 1);
}

static void append_right(struct page *page, size_t used, size_t width)
{
    attn_color_line_blanks(&page->line, used < width ? width - used : 0);
    attn_color_line_append(&page->line, page->scratch.data ? page->scratch.data : "",
                           page->scratch.size);
}

/* --- Numbers ---------------------------------------------------------------------------------- */

static size_t print_value(const struct page *page, enum attn_cell_kind kind, float value,
                          char text[ATTN_FIXED_TEXT_SIZE])
{
    if (kind != ATTN_CELL_VALUE)
        return (size_t)snprintf(text, ATTN_FIXED_TEXT_SIZE, "%s",
                                kind == ATTN_CELL_NOT_FINITE ? "!!" : "");
    if (page->grid->is_share)
        return round(100 * (double)value) == 0
                   ? (size_t)snprintf(text, ATTN_FIXED_TEXT_SIZE, ".")
                   : (size_t)snprintf(text, ATTN_FIXED_TEXT_SIZE, "%.0f",
                                      round(100 * (double)value));
    return attn_figure_grid_text(page->grid, value, text);
}

static bool has_numbers(const struct page *page)
{
    return page->picture->values != ATTN_CELL_TEXT_NEVER;
}

static void find_widths(struct page *page)
{
    const struct attn_level_matrix *matrix = &page->grid->matrix;
    char text[ATTN_FIXED_TEXT_SIZE];
    float value = 0;

    page->label_width = strlen(page->grid->rows->title);
    for (size_t r = 0; r < matrix->n_cell_row; r++) {
        const size_t width = make_label(page, page->grid->rows, r, true);

        page->label_width = width > page->label_width ? width : page->label_width;
    }
    page->cell_width = 2;
    for (size_t c = 0; c < matrix->n_cell_column; c++) {
        const size_t width = make_label(page, page->grid->columns, c, false);

        page->cell_width = width > page->cell_width ? width : page->cell_width;
        for (size_t r = 0; has_numbers(page) && r < matrix->n_cell_row; r++) {
            const enum attn_cell_kind kind = attn_level_cell(matrix, r, c, &value);
            const size_t n = print_value(page, kind, value, text);

            page->cell_width = n > page->cell_width ? n : page->cell_width;
        }
    }
}

/* --- Cells ------------------------------------------------------------------------------------ */

static struct attn_paint paint_of(const struct page *page, struct attn_color_range range,
                                  double value)
{
    const int level = attn_color_level(&page->grid->scale, range, value);

    return attn_paint_behind(attn_ink_of(page->map, page->picture->theme, level), page->line.depth);
}

/* What stands for a cell whose number is not shown, where there are no colors: a shade, twice. */
static void append_shade(struct page *page, struct attn_color_range range, double value)
{
    static const char *const shades[N_SHADE] = {" ", "\xe2\x96\x91", "\xe2\x96\x92", "\xe2\x96\x93",
                                                "\xe2\x96\x88"};
    static const char *const plain[N_SHADE] = {" ", ".", ":", "*", "#"};
    const double place = attn_color_place(&page->grid->scale, range, value);
    const double size = page->grid->scale.is_signed ? fabs(2 * place - 1) : place;
    const size_t step = (size_t)lround((N_SHADE - 1) * size);

    attn_color_line_blanks(&page->line, page->cell_width - 2);
    for (int i = 0; i < 2; i++)
        attn_color_line_string(&page->line, page->picture->is_plain ? plain[step] : shades[step]);
}

static void append_cell(struct page *page, size_t row, size_t column)
{
    char text[ATTN_FIXED_TEXT_SIZE] = "";
    float value = 0;
    const enum attn_cell_kind kind = attn_level_cell(&page->grid->matrix, row, column, &value);
    const struct attn_color_range range =
        attn_level_range(&page->grid->matrix, &page->grid->scale, row);
    const bool is_value = kind == ATTN_CELL_VALUE;

    attn_color_line_blanks(&page->line, 1);
    if (is_value && !has_numbers(page) && page->line.depth == ATTN_DEPTH_NONE) {
        append_shade(page, range, (double)value);
        return;
    }
    page->scratch.size = 0;
    if (has_numbers(page) || !is_value)
        attn_buffer_append(&page->scratch, text, print_value(page, kind, value, text));
    if (is_value)
        attn_color_line_paint(&page->line, paint_of(page, range, (double)value));
    append_right(page, page->scratch.size, page->cell_width);
    attn_color_line_paint(&page->line, ATTN_PAINT_NONE);
}

/* --- Lines ------------------------------------------------------------------------------------ */

static enum attn_status draw_title(struct page *page, struct attn_error *err)
{
    const char *title = page->picture->title;
    size_t n;

    if (title && *title == '\0')
        return ATTN_OK;
    page->scratch.size = 0;
    if (title) {
        attn_escape_append(&page->scratch, title, strlen(title));
        append_right(page, 0, 0);
        return attn_color_line_write(&page->line, page->sink, err);
    }
    if (page->grid->model) {
        const char *model = attn_path_last(page->grid->model, &n);

        attn_escape_append(&page->scratch, model, n);
        append_right(page, 0, 0);
        attn_color_line_string(&page->line, ": ");
    }
    attn_color_line_string(&page->line, page->grid->name);
    if (page->grid->is_share && has_numbers(page))
        attn_color_line_string(&page->line, ", in percent");
    return attn_color_line_write(&page->line, page->sink, err);
}

/* "position:  0 The  1 keys" of the columns that have names beside their numbers. */
static enum attn_status draw_names(struct page *page, struct attn_error *err)
{
    const struct attn_figure_axis *axis = page->grid->columns;
    const size_t indent = strlen(axis->title) + 1;
    size_t used = indent;
    enum attn_status status = ATTN_OK;

    if (!axis->texts || axis->is_named)
        return ATTN_OK;
    attn_color_line_string(&page->line, axis->title);
    attn_color_line_string(&page->line, ":");
    for (size_t i = 0; status == ATTN_OK && i < axis->n; i++) {
        const size_t width = 2 + make_label(page, axis, i, true);

        if (used > indent && used + width > page->width) {
            status = attn_color_line_write(&page->line, page->sink, err);
            attn_color_line_blanks(&page->line, indent);
            used = indent;
        }
        attn_color_line_blanks(&page->line, 2);
        append_right(page, 0, 0);
        used += width;
    }
    return status == ATTN_OK ? attn_color_line_write(&page->line, page->sink, err) : status;
}

/* The columns FIRST .. LAST-1. */
static enum attn_status draw_block(struct page *page, size_t first, size_t last,
                                   struct attn_error *err)
{
    enum attn_status status;

    page->scratch.size = 0;
    attn_buffer_append_string(&page->scratch, page->grid->rows->title);
    append_right(page, page->scratch.size, page->label_width);
    for (size_t c = first; c < last; c++) {
        const size_t used = make_label(page, page->grid->columns, c, false);

        append_right(page, used, page->cell_width + 1);
    }
    status = attn_color_line_write(&page->line, page->sink, err);
    for (size_t r = 0; status == ATTN_OK && r < page->grid->matrix.n_cell_row; r++) {
        const size_t used = make_label(page, page->grid->rows, r, true);

        append_right(page, used, page->label_width);
        for (size_t c = first; c < last; c++)
            append_cell(page, r, c);
        status = attn_color_line_write(&page->line, page->sink, err);
    }
    return status;
}

static enum attn_status draw_legend(struct page *page, struct attn_error *err)
{
    const struct attn_color_scale *scale = &page->grid->scale;
    const struct attn_color_range range =
        attn_level_range(&page->grid->matrix, &page->grid->scale, 0);
    struct attn_color_scale told = *scale;
    double ticks[ATTN_MOST_TICKS];
    char text[ATTN_TICK_TEXT_SIZE];
    const size_t n = scale->span == ATTN_SPAN_ROW ? 0 : attn_color_ticks(scale, range, ticks);

    attn_color_line_string(&page->line, "colors: ");
    for (size_t i = 0; i < n; i++) {
        attn_color_tick_text(ticks[i], text);
        attn_color_line_paint(&page->line, paint_of(page, range, ticks[i]));
        attn_color_line_blanks(&page->line, 1);
        attn_color_line_string(&page->line, text);
        attn_color_line_blanks(&page->line, 1);
        attn_color_line_paint(&page->line, ATTN_PAINT_NONE);
        attn_color_line_blanks(&page->line, 1);
    }
    page->scratch.size = 0;
    if (told.span == ATTN_SPAN_MATRIX) /* the ticks tell */
        told.span = ATTN_SPAN_UNIT;
    attn_color_scale_append(&told, &page->scratch);
    append_right(page, 0, 0);
    return attn_color_line_write(&page->line, page->sink, err);
}

static enum attn_status draw(struct page *page, struct attn_error *err)
{
    const size_t n = page->grid->matrix.n_cell_column;
    size_t n_fit;
    enum attn_status status = draw_title(page, err);

    find_widths(page);
    n_fit = page->width > page->label_width
                ? (page->width - page->label_width) / (page->cell_width + 1)
                : 1;
    n_fit = n_fit > 0 ? n_fit : 1;
    if (status == ATTN_OK)
        status = draw_names(page, err);
    for (size_t c = 0; status == ATTN_OK && c < n; c += n_fit) {
        if (c > 0)
            attn_sink_write(page->sink, "\n", 1);
        status = draw_block(page, c, c + n_fit < n ? c + n_fit : n, err);
    }
    return status == ATTN_OK ? draw_legend(page, err) : status;
}

enum attn_status attn_table_heatmap_write(const struct attn_figure_grid *grid,
                                          const struct attn_picture_options *picture,
                                          struct attn_sink *sink, struct attn_error *err)
{
    struct page page = {.grid = grid, .picture = picture, .sink = sink};
    enum attn_status status;

    page.map = attn_picture_colormap(picture, &grid->scale, "viridis");
    page.line.depth = picture->depth;
    page.width = picture->width == 0            ? USUAL_WIDTH
                 : picture->width < LEAST_WIDTH ? LEAST_WIDTH
                                                : picture->width;
    status = draw(&page, err);
    if (status == ATTN_OK)
        status = attn_buffer_check(&page.scratch, err);
    attn_color_line_release(&page.line);
    attn_buffer_release(&page.scratch);
    return status;
}
