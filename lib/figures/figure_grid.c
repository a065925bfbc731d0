/*
 * figure_grid.c - all chosen matrices as thumbnails: layers, or batches of arrays, down, heads
 * across. A head that was not chosen leaves its place empty, so that columns stay heads.
 */
#include "figures/figure_internal.h"

#include "base/memory.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <string.h>

enum {
    SIDE = 96,   /* of a thumbnail, at least; then the next multiple of its cells */
    BETWEEN = 8, /* thumbnails */
    NUMBER = 30, /* room for the numbers at the left */
    ABOVE = 20,  /* and above */
    AXIS = 18,   /* room for what the numbers are */
};

/* A layer or batch, or a head, that is a row or column of the grid. */
struct grid_line {
    int number;
    size_t n_cell; /* of its longest thumbnail */
    double at;     /* where it begins */
};

struct grid {
    struct grid_line *rows, *columns; /* [n_row], [n_column] own */
    size_t n_row, n_column;
    double side; /* of a cell */
    double width, height;
};

/* The number of the row, or column, of MATRIX. */
static int row_number(const struct attn_figure_pen *pen, const struct attn_level_matrix *matrix)
{
    const struct attn_writer *writer = pen->content->writer;

    if (writer->labels.axes)
        return attn_writer_head_number(writer, matrix->site, matrix->head).batch;
    return matrix->layer;
}

static int column_number(const struct attn_figure_pen *pen, const struct attn_level_matrix *matrix)
{
    return attn_site_has_heads(matrix->site)
               ? attn_writer_head_number(pen->content->writer, matrix->site, matrix->head).head
               : 0;
}

/* The line NUMBER among LINES [*n], which are ascending; it is put in where there is none. */
static struct grid_line *line_of(struct grid_line *lines, size_t *n, int number)
{
    size_t at = *n;

    while (at > 0 && lines[at - 1].number > number)
        at--;
    if (at > 0 && lines[at - 1].number == number)
        return &lines[at - 1];
    memmove(lines + at + 1, lines + at, (*n - at) * sizeof *lines);
    lines[at] = (struct grid_line){.number = number};
    (*n)++;
    return &lines[at];
}

/* Sets where each line begins, FROM the first on; returns where the last ends. */
static double place_lines(struct grid_line *lines, size_t n, double from, double side)
{
    for (size_t i = 0; i < n; i++) {
        lines[i].at = from;
        from += (double)lines[i].n_cell * side + BETWEEN;
    }
    return from - BETWEEN;
}

static enum attn_status plan(struct attn_figure_pen *pen, struct grid *grid, struct attn_error *err)
{
    const struct attn_figure_size legend = attn_figure_legend_size(pen);
    const size_t n = pen->content->n;
    double right, bottom, n_cell = 1;

    grid->rows = attn_alloc(n, sizeof *grid->rows, err);
    grid->columns = attn_alloc(n, sizeof *grid->columns, err);
    if (!grid->rows || !grid->columns)
        return ATTN_NO_MEMORY;
    for (size_t i = 0; i < n; i++) {
        const struct attn_level_matrix *matrix = attn_figure_matrix(pen, i);

        struct grid_line *row = line_of(grid->rows, &grid->n_row, row_number(pen, matrix));
        struct grid_line *column =
            line_of(grid->columns, &grid->n_column, column_number(pen, matrix));

        if (matrix->n_cell_row > row->n_cell)
            row->n_cell = matrix->n_cell_row;
        if (matrix->n_cell_column > column->n_cell)
            column->n_cell = matrix->n_cell_column;
        n_cell = fmax(n_cell, (double)matrix->n_cell_row);
        n_cell = fmax(n_cell, (double)matrix->n_cell_column);
    }
    grid->side = attn_figure_side(pen, ceil(SIDE / n_cell));
    right = place_lines(grid->columns, grid->n_column, ATTN_FIGURE_PAD + AXIS + NUMBER, grid->side);
    grid->width = right;
    pen->shapes->width = ceil(fmax(right + ATTN_FIGURE_ASIDE + legend.width + ATTN_FIGURE_PAD,
                                   attn_figure_heading_width(pen)));
    grid->height = attn_figure_heading_height(pen) + AXIS + ABOVE;
    bottom = place_lines(grid->rows, grid->n_row, grid->height, grid->side);
    pen->shapes->height = ceil(fmax(bottom, grid->rows[0].at + legend.height) + ATTN_FIGURE_PAD);
    return ATTN_OK;
}

static struct attn_figure_place place_of(struct attn_figure_pen *pen, struct grid *grid,
                                         const struct attn_level_matrix *matrix)
{
    return (struct attn_figure_place){
        .x = line_of(grid->columns, &grid->n_column, column_number(pen, matrix))->at,
        .y = line_of(grid->rows, &grid->n_row, row_number(pen, matrix))->at,
        .side = grid->side};
}

static void add_thumbnails(struct attn_figure_pen *pen, struct grid *grid)
{
    for (size_t i = 0; i < pen->content->n; i++) {
        const struct attn_level_matrix *matrix = attn_figure_matrix(pen, i);

        attn_figure_add_cells(pen, attn_figure_whole(matrix), place_of(pen, grid, matrix));
    }
    for (size_t i = 0; i < pen->content->n; i++) {
        const struct attn_level_matrix *matrix = attn_figure_matrix(pen, i);

        attn_figure_add_hatches(pen, attn_figure_whole(matrix), place_of(pen, grid, matrix));
    }
    for (size_t i = 0; i < pen->content->n; i++) {
        const struct attn_level_matrix *matrix = attn_figure_matrix(pen, i);
        const struct attn_figure_place place = place_of(pen, grid, matrix);

        if (pen->options->values == ATTN_CELL_TEXT_ALWAYS)
            attn_figure_add_values(pen, attn_figure_whole(matrix), place);
        attn_figure_add_frame(pen, place.x, place.y, (double)matrix->n_cell_column * place.side,
                              (double)matrix->n_cell_row * place.side);
    }
}

/* --- Numbers ------------------------------------------------------------------------------- */

static void add_numbers(struct attn_figure_pen *pen, const struct grid *grid, bool has_rows,
                        bool has_columns)
{
    const double side = grid->side;
    struct attn_shape_text text = {.size = ATTN_FIGURE_TEXT,
                                   .color = pen->ink,
                                   .anchor = ATTN_ANCHOR_MIDDLE,
                                   .y = grid->height - 6};

    for (size_t i = 0; has_columns && i < grid->n_column; i++) {
        text.x = grid->columns[i].at + (double)grid->columns[i].n_cell * side / 2;
        attn_shapes_add_number(pen->shapes, &text, (size_t)grid->columns[i].number);
    }
    text.anchor = ATTN_ANCHOR_END;
    text.x = grid->columns[0].at - 8;
    for (size_t i = 0; has_rows && i < grid->n_row; i++) {
        text.y = grid->rows[i].at + (double)grid->rows[i].n_cell * side / 2 + 5;
        attn_shapes_add_number(pen->shapes, &text, (size_t)grid->rows[i].number);
    }
}

/* What the numbers are: "head" above, "layer" or "batch" at the left. */
static void add_names(struct attn_figure_pen *pen, const struct grid *grid, const char *row,
                      const char *column)
{
    const struct grid_line *last_row = &grid->rows[grid->n_row - 1];
    const double bottom = last_row->at + (double)last_row->n_cell * grid->side;
    const double left = grid->columns[0].at, top = grid->rows[0].at;
    struct attn_shape_text text = {
        .size = ATTN_FIGURE_AXIS, .color = pen->faint, .anchor = ATTN_ANCHOR_MIDDLE};

    text.x = (left + grid->width) / 2;
    text.y = grid->height - ABOVE - 4;
    attn_shapes_add_string(pen->shapes, &text, column);
    text.is_turned = true;
    text.x = ATTN_FIGURE_PAD + 9;
    text.y = (top + bottom) / 2;
    attn_shapes_add_string(pen->shapes, &text, row);
}

enum attn_status attn_figure_draw_grid(struct attn_figure_pen *pen, struct attn_error *err)
{
    const struct attn_level_matrix *first = attn_figure_matrix(pen, 0);
    const struct attn_array_axes *axes = pen->content->writer->labels.axes;
    const bool has_rows = axes ? axes->rank == 4 : first->layer != ATTN_NO_LAYER;
    const bool has_columns = attn_site_has_heads(first->site) && (!axes || axes->rank > 2);
    struct grid grid = {0};
    enum attn_status status;
    size_t k = 1;

    for (size_t i = 0; i < pen->content->n; i++)
        if (attn_figure_matrix(pen, i)->k > k)
            k = attn_figure_matrix(pen, i)->k;
    if (k > 1)
        attn_buffer_append_format(&pen->subtitle, "each cell the largest of %zu x %zu; ", k, k);
    status = plan(pen, &grid, err);
    if (status == ATTN_OK && !pen->is_measuring) {
        attn_figure_add_heading(pen);
        add_thumbnails(pen, &grid);
        add_names(pen, &grid, !has_rows ? "" : axes ? "batch" : "layer", has_columns ? "head" : "");
        add_numbers(pen, &grid, has_rows, has_columns);
        attn_figure_add_legend(pen, grid.width + ATTN_FIGURE_ASIDE, grid.rows[0].at);
    }
    attn_free(grid.rows);
    attn_free(grid.columns);
    return status;
}
