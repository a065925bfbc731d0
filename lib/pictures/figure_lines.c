/* figure_lines.c - two columns of tokens, queries left and keys right, with lines from each query
 * to its strongest keys. Width and opacity follow the square root of the weight; strong lines are
 * drawn last. */
#include "pictures/figure_internal.h"

#include "base/memory.h"
#include "base/number.h"
#include "tables/colormap_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    STRONGEST = 3,     /* maximum lines from one query */
    PITCH = 18,        /* height from one token to the next */
    SPAN = 230,        /* distance between the columns */
    POSITION_GAP = 8,  /* gap between tokens and positions */
    WIDEST = 3,        /* width of the strongest line */
    COLOR_LEVEL = 190, /* color level of lines, if all have one sign */
};

/* A line from a query to a key. */
struct link {
    size_t query, key;
    double strength;  /* square root of the weight's share of the largest, 0..1 */
    bool is_negative; /* a negative number, in a difference */
};

struct lines_layout {
    const struct attn_level_matrix *matrix;
    struct attn_grid_axis queries, keys;
    double top, left, right; /* top of the columns, and the x of their facing sides */
    struct link *links;      /* [n] owns */
    size_t n;
};

/* Inserts LINK into LINKS [*n], the strongest links of its query in descending order of
 * strength. */
static void keep_strong(struct link *links, size_t *n, struct link link)
{
    size_t at = *n;

    while (at > 0 && links[at - 1].strength < link.strength)
        at--;
    if (at == STRONGEST)
        return;
    if (*n < STRONGEST)
        (*n)++;
    memmove(links + at + 1, links + at, (*n - 1 - at) * sizeof *links);
    links[at] = link;
}

static int compare_strengths(const void *a, const void *b)
{
    const struct link *x = a, *y = b;
    const int order = attn_compare_numbers(x->strength, y->strength);

    if (order != 0)
        return order;
    if (x->query != y->query)
        return x->query < y->query ? -1 : 1;
    return x->key < y->key ? -1 : x->key > y->key;
}

static enum attn_status find_links(const struct attn_figure_pen *pen, struct lines_layout *layout,
                                   struct attn_error *err)
{
    const struct attn_level_matrix *matrix = layout->matrix;

    ATTN_TRY(ATTN_ALLOC(layout->links, matrix->n_row * STRONGEST, err));
    for (size_t r = 0; r < matrix->n_row; r++) {
        const struct attn_color_range range = attn_level_range(matrix, &pen->scale, r);
        const double largest = fmax(fabs(range.low), fabs(range.high));
        struct link strongest[STRONGEST];
        size_t n = 0;
        float value;

        for (size_t c = 0; c < matrix->n_column; c++) {
            if (attn_level_cell(matrix, r, c, &value) != ATTN_CELL_VALUE || value == 0)
                continue;
            keep_strong(
                strongest, &n,
                (struct link){r, c, sqrt(fmin(1, fabs((double)value) / largest)), value < 0});
        }
        memcpy(layout->links + layout->n, strongest, n * sizeof *strongest);
        layout->n += n;
    }
    qsort(layout->links, layout->n, sizeof *layout->links, compare_strengths);
    return ATTN_OK;
}

static bool has_positions(const struct attn_figure_pen *pen, const struct attn_grid_axis *axis)
{
    return axis->texts && !pen->is_printed;
}

static double column_width(const struct attn_figure_pen *pen, const struct attn_grid_axis *axis)
{
    const double width = attn_figure_label_width(pen, axis, pen->letters.label);
    const double position = attn_figure_text_width(axis->n_digit, pen->letters.tick);
    const double title = attn_figure_text_width(strlen(axis->title), pen->letters.axis);

    return fmax(width + (has_positions(pen, axis) ? POSITION_GAP + position : 0), title);
}

static void plan(struct attn_figure_pen *pen, struct lines_layout *layout)
{
    const size_t n_row = layout->matrix->n_row, n_column = layout->matrix->n_column;

    layout->queries = attn_figure_rows(pen, layout->matrix);
    layout->keys = attn_figure_columns(pen, layout->matrix);
    layout->left = ceil(ATTN_FIGURE_PAD + column_width(pen, &layout->queries) + ATTN_FIGURE_GAP);
    layout->right = layout->left + (pen->room > 0 ? SPAN * pen->growth : SPAN);
    layout->top = attn_figure_add_heading(pen, layout->right + ATTN_FIGURE_GAP +
                                                   column_width(pen, &layout->keys)) +
                  2 * pen->letters.axis;
    pen->shapes->height =
        ceil(layout->top + (double)(n_row > n_column ? n_row : n_column) * PITCH + ATTN_FIGURE_PAD);
}

static double height_of(const struct lines_layout *layout, size_t i)
{
    return layout->top + ((double)i + 0.5) * PITCH;
}

static void add_links(struct attn_figure_pen *pen, const struct lines_layout *layout)
{
    const uint32_t positive = attn_figure_color(pen, pen->scale.is_signed ? 255 : COLOR_LEVEL);
    const uint32_t negative = attn_figure_color(pen, 0);

    for (size_t i = 0; i < layout->n; i++) {
        const struct link *link = &layout->links[i];

        attn_shapes_add_line(pen->shapes, (struct attn_shape_line){
                                              .x = layout->left,
                                              .y = height_of(layout, link->query),
                                              .x2 = layout->right,
                                              .y2 = height_of(layout, link->key),
                                              .width = fmax(0.5, WIDEST * link->strength),
                                              .opacity = fmax(0.05, link->strength),
                                              .color = link->is_negative ? negative : positive});
    }
}

/* Draws a column of tokens at X, with positions on the outer side. AWAY is the outer direction: -1
 * left, 1 right. */
static void add_column(struct attn_figure_pen *pen, const struct lines_layout *layout,
                       const struct attn_grid_axis *axis, double x, int away)
{
    struct attn_shape_text text = {.anchor = away < 0 ? ATTN_ANCHOR_END : ATTN_ANCHOR_START};
    const double width = attn_figure_label_width(pen, axis, pen->letters.label);
    const struct attn_grid_axis positions = {.n = axis->n, .positions = axis->positions};

    x += away * ATTN_FIGURE_GAP;
    for (int is_outside = 0; is_outside <= has_positions(pen, axis); is_outside++) {
        text.color = is_outside ? pen->faint : pen->ink;
        text.size = is_outside ? pen->letters.tick : pen->letters.label;
        text.x = is_outside ? x + away * (width + POSITION_GAP) : x;
        for (size_t i = 0; i < axis->n; i++) {
            text.y = height_of(layout, i) + 0.35 * text.size;
            attn_figure_add_label(pen, &text, is_outside ? &positions : axis, i);
        }
    }
    text.color = pen->faint;
    text.size = pen->letters.axis;
    text.x = x;
    text.y = layout->top - 8;
    attn_shapes_add_string(pen->shapes, &text, axis->title);
}

enum attn_status attn_figure_draw_lines(struct attn_figure_pen *pen, struct attn_error *err)
{
    struct lines_layout layout = {.matrix = attn_figure_matrix(pen, 0)};
    enum attn_status status;

    ATTN_TRY(attn_figure_check_keys(pen, err));
    attn_buffer_append_format(&pen->subtitle, "strongest %d keys of each query; ", STRONGEST);
    plan(pen, &layout);
    if (pen->is_measuring)
        return ATTN_OK;
    status = find_links(pen, &layout, err);
    if (status == ATTN_OK) {
        add_links(pen, &layout);
        add_column(pen, &layout, &layout.queries, layout.left, -1);
        add_column(pen, &layout, &layout.keys, layout.right, 1);
    }
    attn_free(layout.links);
    return status;
}
