/* figure_grid.c - all selected matrices as thumbnails: layers (or batches of arrays) go down, heads
 * across. */
#include "figures/figure_internal.h"

#include "trace/trace_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    SIDE = 96,   /* minimum side of a thumbnail; rounded up to a multiple of its cells */
    LONE = 28,   /* side of a thumbnail of a single cell, with its number */
    BETWEEN = 8, /* gap between thumbnails */
    DENSE = 8,   /* in print, with more heads in a line the gap is NARROW and the legend below */
    NARROW = 3,
    LEFT = 48,     /* width for the numbers of rows and their title */
    NAMES = 24,    /* distance from the title of the columns to the first row of panels */
    FIFTH = 5,     /* rows lower than their numbers have those of every fifth layer */
    HIGHEST = 567, /* points of the height of all thumbnails in print: 200 mm */
};

/* --- Panels, by layer and head ---------------------------------------------------------------- */

static int row_number(const struct attn_figure_pen *pen, const struct attn_level_matrix *matrix)
{
    const struct attn_writer *writer = pen->content->grid->run;

    if (writer->labels.axes)
        return attn_writer_head_number(writer, matrix->at.site, matrix->at.head).batch;
    return (int)attn_location_index(&matrix->at);
}

/* Returns the name of the stack of a row of panels, "" if there is one stack. Replaces *NUMBER by
 * the number of the layer in its stack. */
static const char *stack_of(const struct attn_figure_pen *pen, int *number)
{
    const struct attn_labels *labels = &pen->content->grid->run->labels;
    struct attn_location at;

    if (labels->axes)
        return "";
    at = attn_layer_at(attn_selection_dims(labels->selection), attn_figure_matrix(pen, 0)->at.site,
                       (size_t)*number);
    *number = at.layer;
    return attn_model_stack_name(at.stack);
}

double attn_figure_panels_left(const struct attn_figure_pen *pen)
{
    int number = 0;

    return LEFT + attn_figure_text_width(strlen(stack_of(pen, &number)), pen->letters.label);
}

static int column_number(const struct attn_figure_pen *pen, const struct attn_level_matrix *matrix)
{
    return attn_site_has_heads(matrix->at.site)
               ? attn_writer_head_number(pen->content->grid->run, matrix->at.site, matrix->at.head)
                     .head
               : 0;
}

/* Inserts NUMBER into LINES [*n], sorted, unless it is listed; its n_cell becomes at least
 * N_CELL. */
static void put_line(struct attn_panel_line *lines, size_t *n, int number, size_t n_cell)
{
    size_t at = *n;

    while (at > 0 && lines[at - 1].number >= number)
        at--;
    if (at == *n || lines[at].number != number) {
        memmove(lines + at + 1, lines + at, (*n - at) * sizeof *lines);
        lines[at] = (struct attn_panel_line){.number = number};
        (*n)++;
    }
    if (n_cell > lines[at].n_cell)
        lines[at].n_cell = n_cell;
}

enum attn_status attn_figure_panels_list(struct attn_figure_pen *pen,
                                         struct attn_figure_panels *panels, struct attn_error *err)
{
    const size_t n = pen->content->grid->n;

    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, panels->rows, n, err));
    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, panels->columns, n, err));
    for (size_t i = 0; i < n; i++) {
        const struct attn_level_matrix *matrix = attn_figure_matrix(pen, i);

        put_line(panels->rows, &panels->n_row, row_number(pen, matrix), matrix->n_cell_row);
        put_line(panels->columns, &panels->n_column, column_number(pen, matrix),
                 matrix->n_cell_column);
    }
    return ATTN_OK;
}

void attn_figure_panels_find(const struct attn_figure_pen *pen,
                             const struct attn_figure_panels *panels,
                             const struct attn_level_matrix *matrix, size_t *row, size_t *column)
{
    for (*row = 0; panels->rows[*row].number != row_number(pen, matrix);)
        ++*row;
    for (*column = 0; panels->columns[*column].number != column_number(pen, matrix);)
        ++*column;
}

void attn_figure_panels_add_numbers(struct attn_figure_pen *pen,
                                    const struct attn_figure_panels *panels, bool has_rows,
                                    bool has_columns)
{
    struct attn_shape_text text = attn_figure_text(0, panels->rows[0].at - 6, pen->letters.label,
                                                   pen->ink, ATTN_ANCHOR_MIDDLE);
    const bool is_dense =
        panels->n_row > FIFTH && panels->rows[1].at - panels->rows[0].at < 1.1 * text.size;

    for (size_t i = 0; has_columns && i < panels->n_column; i++) {
        text.x = panels->columns[i].at + panels->columns[i].size / 2;
        attn_shapes_add_number(pen->shapes, &text, (size_t)panels->columns[i].number);
    }
    text.anchor = ATTN_ANCHOR_END;
    text.x = panels->columns[0].at - 8;
    for (size_t i = 0; has_rows && i < panels->n_row; i++) {
        int number = panels->rows[i].number;
        char name[32];
        const char *stack = stack_of(pen, &number);

        if (is_dense && number % FIFTH != 0)
            continue;
        text.y = panels->rows[i].at + panels->rows[i].size / 2 + 5;
        snprintf(name, sizeof name, "%s%s%d", stack, stack[0] ? " " : "", number);
        attn_shapes_add_string(pen->shapes, &text, name);
    }
}

void attn_figure_panels_add_names(struct attn_figure_pen *pen,
                                  const struct attn_figure_panels *panels, const double end[2],
                                  const char *row, const char *column)
{
    const double left = panels->columns[0].at, top = panels->rows[0].at;

    attn_figure_add_axis_name(pen, (left + end[0]) / 2, top - NAMES, column);
    attn_figure_add_axis_name(pen, 0, (top + end[1]) / 2, row);
}

/* --- Thumbnails ------------------------------------------------------------------------------- */

/* Sets position and size of each line, beginning at FROM, with cells of SIDE and gaps of BETWEEN.
 * Returns the end of the last line. */
static double place_lines(struct attn_panel_line *lines, size_t n, double from, double side,
                          double between)
{
    for (size_t i = 0; i < n; i++) {
        lines[i].at = from;
        lines[i].size = (double)lines[i].n_cell * side;
        from += lines[i].size + between;
    }
    return from - between;
}

/* Computes the layout. END: the right and the lower end of the panels. */
static enum attn_status plan(struct attn_figure_pen *pen, struct attn_figure_panels *grid,
                             double end[2], double *side, struct attn_error *err)
{
    size_t n_cell = 1;
    double between;
    bool is_dense;

    ATTN_TRY(attn_figure_panels_list(pen, grid, err));
    is_dense = pen->is_printed && grid->n_column > DENSE;
    between = is_dense ? NARROW : BETWEEN;
    for (size_t i = 0; i < grid->n_row; i++)
        n_cell = grid->rows[i].n_cell > n_cell ? grid->rows[i].n_cell : n_cell;
    for (size_t i = 0; i < grid->n_column; i++)
        n_cell = grid->columns[i].n_cell > n_cell ? grid->columns[i].n_cell : n_cell;
    *side = attn_figure_side(
        pen, attn_grid_is_lone(pen->content->grid) ? LONE : ceil(SIDE / (double)n_cell));
    if (pen->is_printed) { /* many layers are not higher than a page */
        const double n_row = (double)grid->n_row, parts = ATTN_FIGURE_PARTS;
        const double most = (HIGHEST / pen->unit / n_row - between) / (double)n_cell;

        *side = fmin(*side, fmax(1, floor(parts * most)) / parts);
        pen->shapes->cell = *side;
    }
    end[0] = place_lines(grid->columns, grid->n_column,
                         ATTN_FIGURE_PAD + attn_figure_panels_left(pen), *side, between);
    attn_figure_set_frame(pen, end[0], ATTN_PANELS_ABOVE,
                          place_lines(grid->rows, grid->n_row, 0, *side, between), is_dense);
    end[1] = place_lines(grid->rows, grid->n_row, pen->layout.top, *side, between);
    return ATTN_OK;
}

static struct attn_figure_place place_of(const struct attn_figure_pen *pen,
                                         const struct attn_figure_panels *grid,
                                         const struct attn_level_matrix *matrix, double side)
{
    size_t row, column;

    attn_figure_panels_find(pen, grid, matrix, &row, &column);
    return (struct attn_figure_place){
        .x = grid->columns[column].at, .y = grid->rows[row].at, .side = side};
}

/* Draws lines at the beginning of the second text. */
static void add_border(struct attn_figure_pen *pen, const struct attn_level_matrix *matrix,
                       struct attn_figure_place place)
{
    const struct attn_grid_axis axes[2] = {attn_grid_columns(pen->content->grid, matrix),
                                           attn_grid_rows(pen->content->grid, matrix)};
    const double size[2] = {(double)matrix->n_cell_column * place.side,
                            (double)matrix->n_cell_row * place.side};

    for (int down = 0; down < 2; down++)
        for (size_t i = 1; i < axes[down].n; i++) {
            const size_t cell = i / matrix->k;
            const double at = (double)cell * place.side + 0.5;
            const double x = place.x + (down ? 0 : at), y = place.y + (down ? at : 0);

            if (attn_grid_begins(&axes[down], i))
                attn_figure_add_line(pen, (double[]){x, y},
                                     (double[]){down ? x + size[0] : x, down ? y : y + size[1]}, 1,
                                     pen->ink);
        }
}

static void add_thumbnails(struct attn_figure_pen *pen, const struct attn_figure_panels *grid,
                           double side)
{
    enum { CELLS, HATCHES, VALUES, N_STEP };
    const bool has_values = attn_grid_is_lone(pen->content->grid);

    for (int step = CELLS; step < N_STEP; step++)
        for (size_t i = 0; i < pen->content->grid->n; i++) {
            const struct attn_level_matrix *matrix = attn_figure_matrix(pen, i);
            const struct attn_figure_view view = attn_figure_whole(matrix);
            const struct attn_figure_place place = place_of(pen, grid, matrix, side);

            if (step == CELLS)
                attn_figure_add_cells(pen, view, place);
            if (step == HATCHES)
                attn_figure_add_hatches(pen, view, place);
            if (step == VALUES && has_values)
                attn_figure_add_values(pen, view, place);
            if (step == VALUES)
                attn_figure_add_frame(pen, place.x, place.y, (double)view.n_col * side,
                                      (double)view.n_row * side);
            if (step == VALUES)
                add_border(pen, matrix, place);
        }
}

static enum attn_status draw_figure(struct attn_figure_pen *pen, struct attn_error *err)
{
    const struct attn_level_matrix *first = attn_figure_matrix(pen, 0);
    const struct attn_array_axes *axes = pen->content->grid->run->labels.axes;
    const bool has_rows = axes ? axes->rank == 4 : first->at.layer != ATTN_NO_LAYER;
    const bool has_columns = attn_site_has_heads(first->at.site) && (!axes || axes->rank > 2);
    struct attn_figure_panels grid = {0};
    double end[2], side;
    size_t k = 1;

    for (size_t i = 0; i < pen->content->grid->n; i++)
        if (attn_figure_matrix(pen, i)->k > k)
            k = attn_figure_matrix(pen, i)->k;
    if (k > 1)
        attn_buffer_append_format(&pen->subtitle, "each cell the largest of %zu x %zu; ", k, k);
    if (attn_grid_is_lone(pen->content->grid))
        attn_buffer_append_string(&pen->subtitle,
                                  "a single token has nothing but itself to look at; ");
    ATTN_TRY(plan(pen, &grid, end, &side, err));
    if (!pen->is_measuring) {
        add_thumbnails(pen, &grid, side);
        attn_figure_panels_add_names(pen, &grid, end,
                                     !has_rows ? ""
                                     : axes    ? "batch"
                                               : "layer",
                                     has_columns ? "head" : "");
        attn_figure_panels_add_numbers(pen, &grid, has_rows, has_columns);
    }
    return ATTN_OK;
}

const attn_figure_fn attn_figure_draw_grid = draw_figure;
