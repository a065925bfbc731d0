/* figure_causes.c - the parts of a model that cause an answer, drawn as a graph: positions go
 * across, layers upwards. A line is one cell of a head's pattern: it begins at the key, above the
 * stream that the layer reads, and ends at the query, half a layer higher. A dot is the output of
 * an MLP at its position. The width of a line and the area of a dot follow the size of the number,
 * the color its sign. The words at the right are the best tokens of a lens at each height of the
 * last stream. The strongest parts are drawn last, and are named first. Lines of a layer between
 * the same positions are a bundle: they lie side by side, and their names in one line. A gap stands
 * for positions that are left out. */
#include "pictures/figure_streams.h"

#include "base/memory.h"
#include "base/number.h"
#include "pictures/table_axis.h"
#include "tables/table_internal.h"
#include "tables/text_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    WIDEST = 7, /* width of the strongest line */
    RADIUS = 8, /* radius of the largest dot */
    LEGEND = ATTN_STREAMS_LEGEND,
    ASIDE = 12,      /* gap between the last stream and the words of the lens */
    NAME_GAP = 3,    /* gap between a line and its name */
    N_SPOT = 16,     /* places of a name along a side of its line */
    MOST_NAMED = 3,  /* heads that the name of a bundle lists */
    NAME_SIZE = 128, /* bytes of the name of a bundle */
};

#define TAIL 0.14 /* height at which lines begin, as a part of a layer's height */
#define MLP_HEIGHT 0.76
#define OPACITY 0.85 /* opacity of lines */

struct cause {
    size_t row;          /* row of the table */
    int64_t layer, head; /* head < 0: an MLP */
    size_t query, key;   /* indices of positions */
    double value, size;  /* size: 0..1, the share of the largest line, or of the largest dot */
    double shift;        /* offset to the right and down that separates lines of a bundle */
};

struct causes_layout {
    const struct attn_figure_content *given;
    struct attn_figure_streams streams;
    struct cause *causes; /* [n] owns; in ascending order of size */
    size_t n;
    double largest[2]; /* the largest absolute value of lines, and of dots */
};

static int by_size(const void *a, const void *b)
{
    const struct cause *x = a, *y = b;
    const int order = attn_compare_numbers(x->size, y->size);

    return order != 0 ? order : x->row > y->row ? -1 : x->row < y->row;
}

static double width_of(const struct cause *cause)
{
    return fmax(0.8, WIDEST * cause->size);
}

/* Returns whether two lines are of one bundle: they join the same places in the same layer. */
static bool is_bundle(const struct cause *a, const struct cause *b)
{
    return a->head >= 0 && b->head >= 0 && a->layer == b->layer && a->query == b->query &&
           a->key == b->key;
}

/* Returns the width of the bundle of line I, or up to and without line END. */
static double bundle_width(const struct causes_layout *layout, size_t i, size_t end)
{
    double width = 0;

    for (size_t k = 0; k < end; k++)
        width += is_bundle(&layout->causes[i], &layout->causes[k])
                     ? width_of(&layout->causes[k]) + 1
                     : 0;
    return width;
}

static enum attn_status read_causes(struct causes_layout *layout, struct attn_error *err)
{
    const struct attn_figure_streams *streams = &layout->streams;
    const struct attn_table *table = layout->given->table;
    const size_t values = attn_table_view_find(table, layout->given->of->view.values);
    const size_t query = attn_table_find_role(table, ATTN_ROLE_QUERY);
    const size_t key = attn_table_find_role(table, ATTN_ROLE_KEY);
    const size_t layer = attn_table_find_role(table, ATTN_ROLE_LAYER);
    const size_t head = attn_table_find_role(table, ATTN_ROLE_HEAD);

    ATTN_TRY(ATTN_ALLOC(layout->causes, attn_table_n_row(table), err));
    for (size_t i = 0; i < attn_table_n_row(table); i++) {
        const struct attn_cell number = attn_table_cell(table, i, values);
        const struct attn_cell cell = attn_table_cell(table, i, head);
        const bool is_dot = cell.type == ATTN_VALUE_MISSING;
        const int place = attn_streams_place(streams, attn_table_cell(table, i, query));
        const int from =
            is_dot ? place : attn_streams_place(streams, attn_table_cell(table, i, key));

        if (place < 0 || from < 0 || number.type != ATTN_VALUE_REAL || !isfinite(number.real))
            continue;
        layout->largest[is_dot] = fmax(layout->largest[is_dot], fabs(number.real));
        layout->causes[layout->n++] =
            (struct cause){.row = i,
                           .layer = attn_table_cell(table, i, layer).integer,
                           .head = is_dot ? -1 : cell.integer,
                           .query = (size_t)place,
                           .key = (size_t)from,
                           .value = number.real};
    }
    for (size_t i = 0; i < layout->n; i++) {
        const double largest = layout->largest[layout->causes[i].head < 0];

        layout->causes[i].size = largest > 0 ? fabs(layout->causes[i].value) / largest : 0;
    }
    if (layout->n > 0)
        qsort(layout->causes, layout->n, sizeof *layout->causes, by_size);
    for (size_t i = 0; i < layout->n; i++)
        layout->causes[i].shift =
            bundle_width(layout, i, i) +
            (width_of(&layout->causes[i]) + 1 - bundle_width(layout, i, layout->n)) / 2;
    return ATTN_OK;
}

/* Returns the line from the key to the query of CAUSE, moved by SHIFT across it. */
static struct attn_shape_line line_of(const struct attn_figure_pen *pen,
                                      const struct causes_layout *layout, const struct cause *cause,
                                      double shift)
{
    struct attn_shape_line line = {
        .x = layout->streams.xs[cause->key],
        .y = attn_streams_y(&layout->streams, (double)cause->layer + TAIL),
        .x2 = layout->streams.xs[cause->query],
        .y2 = attn_streams_y(&layout->streams, (double)cause->layer + ATTN_STREAMS_HEAD),
        .width = width_of(cause),
        .opacity = OPACITY,
        .color = attn_streams_color(pen, cause->value)};
    const double x = line.x2 - line.x, y = line.y - line.y2, length = sqrt(x * x + y * y);
    const double across = shift * y / length, down = shift * x / length;

    line.x += across, line.x2 += across;
    line.y += down, line.y2 += down;
    return line;
}

static void add_causes(struct attn_figure_pen *pen, struct causes_layout *layout)
{
    for (size_t i = 0; i < layout->n; i++) {
        const struct cause *cause = &layout->causes[i];
        const double radius = fmax(1, RADIUS * sqrt(cause->size));
        const struct attn_shape_dot dot = {
            layout->streams.xs[cause->query],
            attn_streams_y(&layout->streams, (double)cause->layer + MLP_HEIGHT),
            radius,
            0,
            attn_streams_color(pen, cause->value),
            1};
        char mark[ATTN_STREAMS_MARK];

        snprintf(mark, sizeof mark, "%zu", cause->row);
        attn_shapes_set_mark(pen->shapes, mark);
        if (cause->head >= 0) {
            attn_shapes_add_line(pen->shapes, line_of(pen, layout, cause, cause->shift));
            continue;
        }
        attn_shapes_add_dot(pen->shapes, dot);
        layout->streams.taken[layout->streams.n_taken++] =
            (struct attn_shape_box){dot.x - radius, dot.y - radius, 2 * radius, 2 * radius, 0};
    }
    attn_shapes_set_mark(pen->shapes, "");
}

/* Writes the names of the heads of the bundle of line I, the strongest of it: "2.5 2.0". Returns
 * their length. */
static size_t name_bundle(const struct causes_layout *layout, size_t i, char name[NAME_SIZE])
{
    size_t n_head = 0;
    int n = 0;

    for (size_t k = i + 1; k-- > 0;) {
        const struct cause *cause = &layout->causes[k];

        if (is_bundle(&layout->causes[i], cause) && n_head++ < MOST_NAMED)
            n += snprintf(name + n, (size_t)(NAME_SIZE - n), "%s%lld.%lld", n > 0 ? " " : "",
                          (long long)cause->layer, (long long)cause->head);
    }
    if (n_head > MOST_NAMED)
        n += snprintf(name + n, (size_t)(NAME_SIZE - n), " %s", ATTN_ELLIPSIS);
    return (size_t)n;
}

/* Returns true if a line crosses BOX. */
static bool is_crossed(const struct attn_figure_pen *pen, const struct causes_layout *layout,
                       struct attn_shape_box box)
{
    for (size_t i = 0; i < layout->n; i++) {
        const struct cause *cause = &layout->causes[i];
        const struct attn_shape_line line = line_of(pen, layout, cause, cause->shift);
        const double half = line.width / 2, rise = (line.y2 - line.y) / (line.x2 - line.x);
        const double from = fmax(fmin(line.x, line.x2), box.x - half);
        const double to = fmin(fmax(line.x, line.x2), box.x + box.width + half);
        const bool is_upright = line.x == line.x2;
        const double y = is_upright ? line.y : line.y + (from - line.x) * rise;
        const double y2 = is_upright ? line.y2 : line.y + (to - line.x) * rise;

        if (cause->head >= 0 && from <= to && fmin(y, y2) - half < box.y + box.height &&
            fmax(y, y2) + half > box.y)
            return true;
    }
    return false;
}

/* Returns the box of WIDTH of a name at spot K of a bundle with the middle LINE and the width 2
 * HALF: first right of the line, or below, from the key on, then at the other side, then farther
 * from it. */
static struct attn_shape_box place_name(struct attn_shape_line line, double half, int k,
                                        double width, double height)
{
    const double x = line.x2 - line.x, y = line.y - line.y2, length = sqrt(x * x + y * y);
    const double part = (double)(k % N_SPOT) / (N_SPOT - 4); /* also beyond the query */
    const int side = k / N_SPOT % 2 == 0 ? 1 : -1;
    const double away = side * (half + NAME_GAP + k / (2 * N_SPOT) % 2 * height);
    const double across = away * y / length, down = away * fabs(x) / length;
    struct attn_shape_box box = {line.x + part * x, line.y - part * y, width, height, 0};

    box.x += x < 0 ? -across : across;
    box.x -= (x < 0) == (side > 0) ? width : 0;
    box.y += down - (side < 0 ? height : 0);
    if (x == 0) /* beside the line, not below its end */
        box.y -= side > 0 ? height : 0;
    return box;
}

/* Labels bundles with the names of their heads, strongest first: beside the line, as near to the
 * key as there is room without another line, or else only without text. */
static void add_names(struct attn_figure_pen *pen, struct causes_layout *layout)
{
    const double height = pen->letters.tick;

    for (size_t i = layout->n; i-- > 0;) {
        const struct cause *cause = &layout->causes[i];
        const double half = bundle_width(layout, i, layout->n) / 2;
        const struct attn_shape_line line = line_of(pen, layout, cause, 0);
        char name[NAME_SIZE];
        const size_t n = name_bundle(layout, i, name);
        const double width = attn_figure_string_width(pen, name, n) * height + 2;
        bool is_done = cause->head < 0;

        for (size_t stronger = i + 1; stronger < layout->n; stronger++)
            is_done |= is_bundle(cause, &layout->causes[stronger]);
        for (int k = 0; k < 6 * N_SPOT && !is_done; k++) {
            const struct attn_shape_box box = place_name(line, half, k, width, height);

            if (box.x >= layout->streams.left - NAME_GAP &&
                (k >= 4 * N_SPOT || !is_crossed(pen, layout, box)))
                is_done = attn_streams_add_text(pen, &layout->streams,
                                                (struct attn_shape_text){.x = box.x,
                                                                         .y = box.y + height / 2,
                                                                         .color = pen->ink},
                                                name, n, true);
        }
    }
}

/* Adds the legend: colors, the largest line, the largest dot, words. */
static void add_legend(struct attn_figure_pen *pen, const struct causes_layout *layout, double y)
{
    static const char *const signs[2][2] = {{"above 0", "below 0"}, {"for", "against"}};
    static const char *const largest[2] = {"line: what a head brings from a word, up to",
                                           "dot: what an MLP adds, up to"};
    char number[ATTN_FIXED_TEXT_SIZE], line[128];
    double x = ATTN_FIGURE_PAD;

    for (int i = 0; i < 2; i++)
        x = attn_streams_add_sample(pen, x, y, signs[layout->given->of->view.quantity != NULL][i],
                                    attn_streams_color(pen, i == 0 ? 1 : -1), OPACITY);
    for (int i = 0; i < 2; i++) {
        const size_t n = attn_grid_number(pen->content->grid, (float)layout->largest[i], number);

        snprintf(line, sizeof line, "%s %.*s", largest[i], (int)n, number);
        attn_streams_add_line(pen, y += LEGEND, "", line);
    }
    if (layout->given->of->lens)
        attn_streams_add_words(pen, y + LEGEND);
}

static enum attn_status draw(struct attn_figure_pen *pen, struct causes_layout *layout,
                             struct attn_error *err)
{
    struct attn_figure_streams *streams = &layout->streams;
    const int n_legend = layout->given->of->lens ? 4 : 3;

    ATTN_TRY(attn_streams_plan(
        pen, streams, layout->given->of->lens ? ASIDE + attn_streams_lens_width(pen) : 0, err));
    pen->shapes->height += n_legend * LEGEND;
    if (pen->is_measuring)
        return ATTN_OK;
    ATTN_TRY(read_causes(layout, err));
    ATTN_TRY(ATTN_ALLOC(streams->taken, 2 * layout->n + streams->n_layer + 1, err));
    attn_streams_add(pen, streams);
    add_causes(pen, layout);
    if (layout->given->of->lens)
        attn_streams_add_lens(pen, streams, layout->given->of->lens, streams->places.n - 1, ASIDE);
    add_names(pen, layout);
    add_legend(pen, layout,
               pen->shapes->height - ATTN_FIGURE_PAD / 2.0 - (n_legend - 0.5) * LEGEND);
    return ATTN_OK;
}

enum attn_status attn_figure_draw_causes(struct attn_figure_pen *pen, struct attn_error *err)
{
    struct causes_layout layout = {.given = pen->content};
    enum attn_status status;

    layout.streams.places = attn_figure_columns(pen, attn_figure_matrix(pen, 0));
    layout.streams.n_layer = attn_table_count(
        layout.given->of->lens ? layout.given->of->lens : layout.given->table, ATTN_ROLE_LAYER);
    status = draw(pen, &layout, err);
    attn_streams_release(&layout.streams);
    attn_free(layout.causes);
    return status;
}
