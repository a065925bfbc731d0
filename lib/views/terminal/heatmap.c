/* heatmap.c - see heatmap_internal.h: a matrix of a run as a sheet of numbers or half blocks. */
#include "terminal/heatmap_internal.h"

#include "pictures/picture_internal.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <string.h>

enum {
    MARGIN = 20,        /* maximum columns of row labels, including the gap after them */
    USUAL_LABEL = 9,    /* minimum columns of labels */
    POSITION_WIDTH = 3, /* minimum columns of a position */
    PERCENT_WIDTH = 3,  /* columns of a cell in percent */
    NUMBER_WIDTH = 6,   /* columns of a cell that is not a percentage */
    TICK_STEP = 10,     /* columns between the positions above half blocks */
    MOST_KEY_LINES = 4
};

#define KEYS "keys"

/* The layout of one matrix. */
struct layout {
    struct attn_sheet sheet;
    const struct attn_level_matrix *matrix;
    struct attn_grid_axis rows, columns;
    struct attn_heatmap_colors colors;
    size_t position_width; /* columns of right-aligned positions */
    size_t label_width;    /* columns of left-aligned row texts after them; or 0 */
    size_t rows_per_line;  /* 2 for half blocks, otherwise 1 */
};

size_t attn_heatmap_most_columns(const struct attn_writer *writer)
{
    return attn_heatmap_width(writer->options.picture) - MARGIN;
}

/* Returns true if the numbers of the matrix are shown in percent. */
static bool is_share(const struct attn_heatmap *map, const struct attn_level_matrix *matrix)
{
    return attn_grid_of_run(map->writer, map->tokens, matrix, 1).is_share;
}

/* Returns the width of a cell that shows a number. */
static size_t number_width(const struct attn_heatmap *map, const struct attn_level_matrix *matrix)
{
    size_t n_digit = 1;
    const size_t width = !is_share(map, matrix) ? NUMBER_WIDTH : PERCENT_WIDTH;

    for (size_t n = matrix->n_column; n >= 10; n /= 10)
        n_digit++;
    return width > n_digit ? width : n_digit;
}

bool attn_heatmap_has_numbers(const struct attn_heatmap *map,
                              const struct attn_level_matrix *matrix)
{
    return matrix->k <= 1 && matrix->n_row <= map->most_number_rows &&
           (number_width(map, matrix) + 1) * matrix->n_column +
                   (map->writer->labels.texts ? MARGIN + 2 : MARGIN) <=
               map->width;
}

/* Appends a finite number to the label. */
static void append_number(struct attn_heatmap *map, const struct attn_level_matrix *matrix,
                          double value)
{
    if (is_share(map, matrix) && fabs(value) > 99)
        attn_buffer_append_string(&map->label, value > 0 ? "++" : "--");
    else if (is_share(map, matrix) && lround(100 * value) == 0)
        attn_buffer_append_char(&map->label, '.');
    else if (is_share(map, matrix))
        attn_buffer_append_format(&map->label, "%ld", lround(100 * value));
    else
        attn_buffer_append_format(&map->label, fabs(value) < 1000 ? "%.1f" : "%.0e", value);
}

static size_t make_label(struct attn_heatmap *map, const void *of, size_t column)
{
    const struct layout *layout = of;

    return attn_heatmap_make_label(map, &layout->columns, column * layout->matrix->k, false);
}

/* Prints the row label: position and token. Also computes the color ranges of the rows on this
 * line. */
static size_t put_edge(struct attn_heatmap *map, const void *of, struct attn_sheet_spot at)
{
    const struct layout *layout = of;
    const size_t i = at.row * layout->rows_per_line * layout->matrix->k;
    size_t used = attn_heatmap_make_label(map, &layout->rows, i, false);

    for (size_t k = 0, row = at.row * layout->rows_per_line; k < layout->rows_per_line; k++)
        if (row + k < layout->matrix->n_cell_row)
            map->ranges[k] = attn_level_range(layout->matrix, &layout->colors.scale);
    attn_color_line_blanks(&map->line,
                           used < layout->position_width ? layout->position_width - used : 0);
    attn_heatmap_put_label(map);
    used = layout->position_width;
    if (layout->label_width == 0)
        return used;
    attn_color_line_blanks(&map->line, 1);
    used += 1 + attn_heatmap_append_name(map, &layout->rows, i);
    attn_heatmap_put_label(map);
    return used;
}

/* Prints a cell with its number or mark. */
static size_t put_number(struct attn_heatmap *map, const void *of, struct attn_sheet_spot at)
{
    const struct layout *layout = of;
    const size_t width = layout->sheet.cell_width;
    const struct attn_heatmap_cell cell =
        attn_heatmap_cell(&layout->colors, map->ranges[0], layout->matrix, at.row, at.column);

    map->label.size = 0;
    attn_heatmap_append_mark(map, cell.kind);
    if (cell.kind == ATTN_CELL_VALUE)
        append_number(map, layout->matrix, (double)cell.value);
    attn_heatmap_put_cell(map, &layout->colors, cell, map->label.size, width);
    return width;
}

static size_t put_halves(struct attn_heatmap *map, const void *of, struct attn_sheet_spot at)
{
    const struct layout *layout = of;

    attn_heatmap_put_halves(
        map, &layout->colors,
        attn_heatmap_cell(&layout->colors, map->ranges[0], layout->matrix, 2 * at.row, at.column),
        attn_heatmap_cell(&layout->colors, map->ranges[1], layout->matrix, 2 * at.row + 1,
                          at.column));
    return 1;
}

/* Computes the widths of row labels: the largest of any matrix of the run, so that they align. */
static void measure_rows(struct attn_heatmap *map, struct layout *layout)
{
    const struct attn_token_texts none = {0};
    const struct attn_grid_axis all =
        attn_heatmap_axis(layout->rows.texts ? layout->rows.texts : &none);
    const size_t n_corner = strlen(layout->rows.title);

    layout->position_width = POSITION_WIDTH;
    for (size_t r = 0; r < layout->rows.n; r++) {
        const size_t n = attn_heatmap_make_label(map, &layout->rows, r, false);

        layout->position_width = n > layout->position_width ? n : layout->position_width;
    }
    for (size_t i = 0; i < all.n; i++) {
        size_t width;

        map->label.size = 0;
        width = attn_heatmap_append_name(map, &all, i);
        layout->label_width = width > layout->label_width ? width : layout->label_width;
    }
    map->label.size = 0;
    if (layout->label_width > 0 && layout->label_width < USUAL_LABEL)
        layout->label_width = USUAL_LABEL;
    if (layout->label_width == 0 && layout->position_width < n_corner)
        layout->position_width = n_corner;
}

/* Returns the index of the first item of the second text; 0 if there is one text or more than
 * two. */
static size_t find_border(const struct attn_grid_axis *axis)
{
    size_t border = 0;

    for (size_t i = 1; i < axis->n; i++)
        if (attn_grid_begins(axis, i)) {
            if (border > 0)
                return 0;
            border = i;
        }
    return border;
}

/* Computes the layout of MATRIX. IS_HALVES: two rows share a line of half blocks. */
static void lay_out(struct attn_heatmap *map, const struct attn_level_matrix *matrix,
                    bool is_halves, struct layout *layout)
{
    const struct attn_grid grid = attn_grid_of_run(map->writer, map->tokens, matrix, 1);
    const size_t n = matrix->n_cell_column;
    struct attn_sheet *sheet = &layout->sheet;

    *layout = (struct layout){.matrix = matrix,
                              .rows = attn_grid_rows(&grid, matrix),
                              .columns = attn_grid_columns(&grid, matrix),
                              .colors = attn_heatmap_colors(map, matrix),
                              .rows_per_line = is_halves ? 2 : 1};
    /* only rows show tokens; columns show positions */
    layout->rows.title = attn_writer_row_name(map->writer, matrix->at.site);
    layout->rows.is_named = layout->columns.is_named = false;
    measure_rows(map, layout);
    *sheet = (struct attn_sheet){.of = layout,
                                 .n_row = (matrix->n_cell_row + is_halves) / layout->rows_per_line,
                                 .n_column = n,
                                 .left = layout->position_width + 1,
                                 .cell_width = is_halves ? 1 : number_width(map, matrix),
                                 .n = n,
                                 .n_beside = 1,
                                 .corner = layout->rows.title,
                                 .label_step = is_halves ? TICK_STEP : 1,
                                 .is_right = !is_halves,
                                 .make_label = make_label,
                                 .put_edge = put_edge,
                                 .put_cell = is_halves ? put_halves : put_number};
    sheet->corner_at =
        layout->label_width > 0 ? sheet->left : layout->position_width - strlen(layout->rows.title);
    sheet->left += layout->label_width > 0 ? layout->label_width + 1 : 0;
    sheet->pitch = sheet->cell_width + !is_halves;
    sheet->border = is_halves ? 0 : find_border(&layout->columns);
    sheet->border_row = is_halves ? 0 : find_border(&layout->rows);
    sheet->most_label_end = is_halves ? sheet->left + n : SIZE_MAX;
}

void attn_heatmap_append_title(struct attn_heatmap *map, const struct attn_level_matrix *matrix)
{
    attn_matrix_name_append(map->writer, &matrix->at, matrix->image, &map->label);
    if (attn_heatmap_has_numbers(map, matrix) && is_share(map, matrix))
        attn_buffer_append_string(&map->label, ", in percent");
}

enum attn_status attn_heatmap_name(struct attn_heatmap *map, const struct attn_level_matrix *matrix,
                                   struct attn_error *err)
{
    attn_heatmap_append_title(map, matrix);
    return attn_heatmap_end_text(map, 1, err);
}

/* Returns true if the keys are listed on a line of their own: keys of a source, which appear in no
 * row label. */
static bool has_key_line(const struct attn_heatmap *map, const struct attn_level_matrix *matrix)
{
    return attn_site_has_keys(matrix->at.site) && map->tokens[1].n > 0 &&
           !attn_writer_has_own_keys(map->writer, &matrix->at) && matrix->k == 1;
}

enum attn_status attn_heatmap_draw(struct attn_heatmap *map, const struct attn_level_matrix *matrix,
                                   struct attn_error *err)
{
    const struct attn_grid_axis keys = attn_heatmap_axis(&map->tokens[1]);
    const size_t n = matrix->n_not_finite;
    const bool is_numbers = attn_heatmap_has_numbers(map, matrix);
    struct layout layout;

    if (has_key_line(map, matrix))
        ATTN_TRY(attn_heatmap_draw_items(map, &keys, KEYS, MOST_KEY_LINES, err));
    lay_out(map, matrix, !is_numbers, &layout);
    ATTN_TRY(attn_sheet_draw(map, &layout.sheet, err));
    if (matrix->k > 1) {
        attn_buffer_append_format(
            &map->label,
            "(a half is the largest of %zu x %zu cells; `png` and `html` show them all)", matrix->k,
            matrix->k);
        attn_picture_name_fields(map->picture, &map->label);
        ATTN_TRY(attn_heatmap_end_text(map, 1, err));
    }
    if (n > 0)
        attn_buffer_append_format(&map->label, "(%s: %zu cell%s NaN or infinite)",
                                  is_numbers ? "!!" : "!", n, n == 1 ? " is" : "s are");
    return attn_heatmap_end_text(map, 1, err);
}

enum attn_status attn_heatmap_legend(struct attn_heatmap *map,
                                     const struct attn_level_matrix *matrix, struct attn_error *err)
{
    const struct attn_heatmap_colors colors = attn_heatmap_colors(map, matrix);

    if (attn_heatmap_has_numbers(map, matrix))
        return attn_heatmap_draw_ticks(map, &colors, err);
    return attn_heatmap_end_legend(map, &colors, err);
}
