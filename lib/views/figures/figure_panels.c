/* figure_panels.c - see figure_internal.h: panels of matrices, arranged by layer and head. */
#include "figures/figure_internal.h"

#include "trace/trace_internal.h"

#include <stdio.h>
#include <string.h>

enum {
    NAMES = 24, /* distance from the title of the columns to the first row of panels */
    FIFTH = 5,  /* rows lower than their numbers have those of every fifth layer */
};

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

    return ATTN_PANELS_LEFT +
           attn_figure_text_width(strlen(stack_of(pen, &number)), pen->letters.label);
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
