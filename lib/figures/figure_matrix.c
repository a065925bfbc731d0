/*
 * figure_matrix.c - one matrix with its labels: queries down, keys across, so that the first cell
 * is at the top left, as in tables.
 *
 * Key labels stand above, next to where a causal matrix begins, and are turned by 90 degrees when
 * one is wider than a cell. Positions stand outside the labels in lighter type. Where cells are too
 * small for labels, positions that are multiples of 1, 2, 5, 10, ... take their place.
 */
#include "figures/figure_internal.h"

#include "encode/text_table.h"

#include <math.h>
#include <string.h>

enum {
    LARGEST = 18,  /* side of a cell, of matrices with up to 40 rows or columns */
    OF_TABLE = 40, /* of a table with up to 24, whose numbers are what one looks for */
    FEW_OF_TABLE = 24,
    FEW = 40,        /* rows or columns */
    WHOLE = 720,     /* side of matrices with more */
    APART = 12,      /* positions without labels, at least */
    BETWEEN = 8,     /* labels and positions */
    TITLE_ROOM = 18, /* of an axis */
};

/* How one axis is written. */
struct axis_labels {
    struct attn_figure_axis axis;
    bool has_labels;    /* each row or column has one */
    bool has_positions; /* beside the labels */
    bool is_turned;     /* of columns */
    size_t step;        /* every so many positions are written, where there are no labels */
    double size;        /* of the font of labels, or of positions without labels */
    double depth;       /* from the matrix to the end of the labels */
    double room;        /* and of the positions */
};

struct matrix_layout {
    const struct attn_level_matrix *matrix;
    struct attn_figure_place place;
    double width, height; /* of the matrix */
    struct axis_labels rows, columns;
};

/* The least of 1, 2, 5, 10, 20, ... of which positions are far enough apart. */
static size_t step_of(double side)
{
    static const size_t steps[] = {1, 2, 5};

    for (size_t factor = 1;; factor *= 10)
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
            if ((double)(steps[i] * factor) * side >= APART)
                return steps[i] * factor;
}

/* Room for labels of AXIS beside, or where IS_ABOVE above, cells of SIDE. */
static struct axis_labels plan_labels(struct attn_figure_axis axis, double side, bool is_above)
{
    struct axis_labels labels = {.axis = axis, .step = step_of(side)};
    double width, positions;

    labels.has_labels = axis.texts ? side >= ATTN_FIGURE_LABELLED : false;
    labels.has_positions = labels.has_labels && !axis.is_named;
    labels.size = labels.has_labels
                      ? fmin(fmax(ATTN_FIGURE_TEXT, axis.has_own_texts ? 0 : side / 2), side * 0.95)
                      : ATTN_FIGURE_SMALL;
    width =
        attn_figure_text_width(labels.has_labels ? axis.most_columns : axis.n_digit, labels.size);
    positions = attn_figure_text_width(axis.n_digit, labels.size * 0.8);
    labels.is_turned = is_above && width > side * (double)(labels.has_labels ? 1 : labels.step) - 3;
    labels.depth = ATTN_FIGURE_GAP + (is_above && !labels.is_turned ? labels.size * 0.8 : width);
    labels.room = labels.depth;
    if (labels.has_positions)
        labels.room +=
            ATTN_FIGURE_GAP + (is_above && !labels.is_turned ? labels.size * 0.8 * 0.8 : positions);
    return labels;
}

static void plan(struct attn_figure_pen *pen, struct matrix_layout *layout)
{
    const struct attn_figure_size legend = attn_figure_legend_size(pen);
    struct attn_shapes *shapes = pen->shapes;
    double n, below;

    layout->matrix = attn_figure_matrix(pen, 0);
    n = fmax((double)layout->matrix->n_row, (double)layout->matrix->n_column);
    layout->place.side = attn_figure_side(pen, pen->content->grid && n <= FEW_OF_TABLE ? OF_TABLE
                                               : n <= FEW                              ? LARGEST
                                                          : fmax(1, floor(WHOLE / n)));
    layout->width = (double)layout->matrix->n_column * layout->place.side;
    layout->height = (double)layout->matrix->n_row * layout->place.side;
    layout->rows = plan_labels(attn_figure_rows(pen, layout->matrix), layout->place.side, false);
    layout->columns =
        plan_labels(attn_figure_columns(pen, layout->matrix), layout->place.side, true);
    layout->place.x = ceil(ATTN_FIGURE_PAD + TITLE_ROOM + layout->rows.room);
    shapes->width = layout->place.x + layout->width + ATTN_FIGURE_ASIDE + legend.width;
    shapes->width = ceil(fmax(shapes->width + ATTN_FIGURE_PAD, attn_figure_heading_width(pen)));
    layout->place.y = ceil(attn_figure_heading_height(pen) + TITLE_ROOM + layout->columns.room);
    below = attn_figure_text_width(strlen(layout->rows.axis.title), ATTN_FIGURE_AXIS);
    below = fmax(fmax(layout->height, below), legend.height);
    shapes->height = ceil(layout->place.y + below + ATTN_FIGURE_PAD);
}

/* --- Labels -------------------------------------------------------------------------------- */

/* Where the text of row or column I goes, AWAY from the matrix. */
static struct attn_shape_text place_label(const struct matrix_layout *layout,
                                          const struct axis_labels *labels, size_t i, double away)
{
    const struct attn_figure_place place = layout->place;
    const bool is_above = labels == &layout->columns;
    struct attn_shape_text text = {.size = labels->size};
    const double middle = ((double)i + 0.5) * place.side;

    text.x = is_above ? place.x + middle : place.x - away;
    text.y = is_above ? place.y - away : place.y + middle + 0.35 * text.size;
    text.anchor = is_above ? ATTN_ANCHOR_MIDDLE : ATTN_ANCHOR_END;
    if (labels->is_turned) {
        text.anchor = ATTN_ANCHOR_START;
        text.x += 0.35 * text.size;
        text.is_turned = true;
    }
    return text;
}

/* Labels, or where there is no room for them positions. */
static void add_labels(struct attn_figure_pen *pen, const struct matrix_layout *layout,
                       const struct axis_labels *labels)
{
    const struct attn_figure_axis *axis = &labels->axis;

    for (size_t i = 0; i < axis->n; i++) {
        struct attn_shape_text text = place_label(layout, labels, i, ATTN_FIGURE_GAP);
        size_t n;
        const char *label;

        text.color = labels->has_labels ? pen->ink : pen->faint;
        if (labels->has_labels) {
            label = attn_figure_label(pen, axis, i, &n);
            attn_shapes_add_text(pen->shapes, &text, label, n);
        } else if (attn_figure_position(axis, i) % labels->step == 0) {
            attn_shapes_add_number(pen->shapes, &text, attn_figure_position(axis, i));
        }
    }
}

/* Positions outside the labels. */
static void add_positions(struct attn_figure_pen *pen, const struct matrix_layout *layout,
                          const struct axis_labels *labels)
{
    for (size_t i = 0; labels->has_positions && i < labels->axis.n; i++) {
        struct attn_shape_text text = place_label(layout, labels, i, labels->depth + BETWEEN);

        text.size *= 0.8;
        text.color = pen->faint;
        attn_shapes_add_number(pen->shapes, &text, attn_figure_position(&labels->axis, i));
    }
}

/* The titles of the axes. One that is longer than its side begins where the matrix does. */
static void add_axis_titles(struct attn_figure_pen *pen, const struct matrix_layout *layout)
{
    const char *row = layout->rows.axis.title, *column = layout->columns.axis.title;
    const double row_width = attn_figure_text_width(strlen(row), ATTN_FIGURE_AXIS);
    const double column_width = attn_figure_text_width(strlen(column), ATTN_FIGURE_AXIS);
    struct attn_shape_text text = {.size = ATTN_FIGURE_AXIS, .color = pen->faint};

    text.x = layout->place.x + fmax(0, (layout->width - column_width) / 2);
    text.y = layout->place.y - layout->columns.room - 8;
    attn_shapes_add_string(pen->shapes, &text, column);
    text.is_turned = true;
    text.x = ATTN_FIGURE_PAD + 9;
    text.y = layout->place.y + fmax(row_width, (layout->height + row_width) / 2);
    attn_shapes_add_string(pen->shapes, &text, row);
}

enum attn_status attn_figure_draw_matrix(struct attn_figure_pen *pen, struct attn_error *err)
{
    const struct attn_figure_view view = attn_figure_whole(attn_figure_matrix(pen, 0));
    struct matrix_layout layout = {0};

    (void)err;
    plan(pen, &layout);
    if (pen->is_measuring)
        return ATTN_OK;
    attn_figure_add_heading(pen);
    attn_figure_add_cells(pen, view, layout.place);
    attn_figure_add_hatches(pen, view, layout.place);
    attn_figure_add_rules(pen, view, layout.place);
    attn_figure_add_values(pen, view, layout.place);
    attn_figure_add_frame(pen, layout.place.x, layout.place.y, layout.width, layout.height);
    add_axis_titles(pen, &layout);
    add_labels(pen, &layout, &layout.rows);
    add_labels(pen, &layout, &layout.columns);
    add_positions(pen, &layout, &layout.rows);
    add_positions(pen, &layout, &layout.columns);
    attn_figure_add_legend(pen, layout.place.x + layout.width + ATTN_FIGURE_ASIDE, layout.place.y);
    return ATTN_OK;
}
