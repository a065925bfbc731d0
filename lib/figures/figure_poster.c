/* figure_poster.c - all heads on one sheet, similar heads side by side: each with its typical
 * pattern, and the hue and the letter of its kind. */
#include "figures/figure_internal.h"

#include "analysis/head_kind.h"
#include "analysis/head_patterns.h"

#include <math.h>

enum {
    CELL = 4,     /* units of a cell */
    BETWEEN = 10, /* gap between patterns */
    NAME = 18,    /* height for the name and the kind above a pattern */
    BOX = 13,     /* side of the box with the kind */
};

struct poster_layout {
    size_t n, n_column;
    double side; /* side of a pattern */
    double left, top;
};

/* Returns the number of columns that gives the sheet the proportions of paper. */
static size_t n_column_of(size_t n, double side)
{
    const double paper = 1.414;
    const double height = side + NAME + BETWEEN, width = side + BETWEEN;

    return (size_t)fmax(1, round(sqrt((double)n * height / (width * paper))));
}

static struct poster_layout plan(struct attn_figure_pen *pen)
{
    const double cell = attn_figure_side(pen, CELL);
    struct poster_layout poster = {.n = pen->content->grid->rows->n,
                                   .side = ATTN_PATTERN_SIDE * cell};
    size_t n_row;

    poster.n_column = n_column_of(poster.n, poster.side);
    n_row = (poster.n + poster.n_column - 1) / poster.n_column;
    poster.left = ATTN_FIGURE_PAD;
    attn_figure_set_frame(pen, poster.left + (double)poster.n_column * (poster.side + BETWEEN), 0,
                          (double)n_row * (poster.side + NAME + BETWEEN), false);
    poster.top = pen->layout.top;
    return poster;
}

/* Adds the name of the head, and the letter of its kind on its hue. */
static void add_name(struct attn_figure_pen *pen, const struct poster_layout *poster, size_t head,
                     double x, double y)
{
    const struct attn_grid *grid = pen->content->grid;
    const struct attn_head_kind *kind = grid->kinds[head];
    const struct attn_grid_axis names = attn_figure_rows(pen, attn_figure_matrix(pen, 0));
    const double box = fmin(BOX, 0.35 * poster->side);
    struct attn_shape_text text = {.x = x, .y = y - 5, .color = pen->ink};
    struct attn_rgb color;

    text.size =
        fmin(ATTN_FIGURE_TEXT, (poster->side - box - 2) / attn_figure_label_width(pen, &names, 1));
    pen->label = fmin(pen->label, text.size);
    attn_figure_add_label(pen, &text, &names, head);
    if (!kind)
        return;
    x += poster->side - box;
    color = attn_hue_color(kind->hue, sqrt(grid->weights[head]), pen->options->theme);
    attn_shapes_add_box(pen->shapes,
                        (struct attn_shape_box){x, y - box - 3, box, box, attn_rgb_number(color)});
    text.x = x + box / 2;
    text.size = fmin(ATTN_FIGURE_SMALL, 0.85 * box);
    text.y = y - 3 - box / 2 + 0.36 * text.size;
    text.color = attn_rgb_takes_black(color) ? 0 : 0xffffff;
    text.anchor = ATTN_ANCHOR_MIDDLE;
    attn_shapes_add_text(pen->shapes, &text, &kind->letter, 1);
}

enum attn_status attn_figure_draw_poster(struct attn_figure_pen *pen, struct attn_error *err)
{
    const struct attn_level_matrix *matrix = attn_figure_matrix(pen, 0);
    const struct poster_layout poster = plan(pen);

    (void)err;
    if (pen->is_measuring)
        return ATTN_OK;
    attn_figure_add_heading(pen);
    for (size_t i = 0; i < poster.n; i++) {
        const size_t head = pen->content->grid->order[i];
        const struct attn_figure_view view = {.matrix = matrix,
                                              .first = head * ATTN_PATTERN_SIDE * ATTN_PATTERN_SIDE,
                                              .n_row = ATTN_PATTERN_SIDE,
                                              .n_col = ATTN_PATTERN_SIDE};
        const size_t row = i / poster.n_column, column = i % poster.n_column;
        const struct attn_figure_place place = {
            .x = poster.left + (double)column * (poster.side + BETWEEN),
            .y = poster.top + NAME + (double)row * (poster.side + NAME + BETWEEN),
            .side = poster.side / ATTN_PATTERN_SIDE};

        attn_figure_add_cells(pen, view, place);
        attn_figure_add_frame(pen, place.x, place.y, poster.side, poster.side);
        add_name(pen, &poster, head, place.x, place.y);
    }
    attn_figure_add_legend(pen);
    return ATTN_OK;
}
