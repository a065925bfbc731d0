/* figure_causes.c - the parts of a model that cause an answer, drawn as a graph: positions go
 * across, layers upwards. A line is one cell of a head's pattern: it begins at the key, at the
 * height of the stream that the layer reads, and ends at the query, half a layer higher. A dot is
 * the output of an MLP at its position. The width of a line and the area of a dot follow the size
 * of the number, the color its sign. Words are the best tokens of a lens at each height of the
 * stream, shown if they differ from the word below. The strongest parts are drawn last, and are
 * named first. Lines of a layer between the same positions are a bundle, which has one name. A gap
 * stands for positions that are left out. */
#include "pictures/figure_streams.h"

#include "base/memory.h"
#include "base/number.h"
#include "pictures/table_axis.h"
#include "tables/table_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    WIDEST = 7, /* width of the strongest line */
    RADIUS = 8, /* radius of the largest dot */
    NAME = ATTN_STREAMS_NAME,
    LEGEND = ATTN_STREAMS_LEGEND,
    N_SPOT = 7,
    MOST_NAMED = 3,  /* heads that the name of a bundle lists */
    NAME_SIZE = 128, /* bytes of such a name */
};

#define MLP_HEIGHT 0.76
#define OPACITY 0.85 /* opacity of lines */

struct cause {
    size_t row;          /* row of the table */
    int64_t layer, head; /* head < 0: an MLP */
    size_t query, key;   /* indices of positions */
    double value, size;  /* size: 0..1, the share of the largest line, or of the largest dot */
    double shift;        /* offset to the right that separates lines between the same places */
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

/* Shifts the lines of a bundle, as they would hide each other. */
static void spread(struct causes_layout *layout)
{
    for (size_t i = 0; i < layout->n; i++) {
        struct cause *cause = &layout->causes[i];
        double before = 0, all = 0;

        for (size_t k = 0; k < layout->n; k++) {
            const struct cause *other = &layout->causes[k];

            if (!is_bundle(cause, other))
                continue;
            all += width_of(other) + 1;
            before += k < i ? width_of(other) + 1 : 0;
        }
        cause->shift = before + (width_of(cause) + 1 - all) / 2;
    }
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

        if (place < 0 || number.type != ATTN_VALUE_REAL || !isfinite(number.real))
            continue;
        layout->largest[is_dot] = fmax(layout->largest[is_dot], fabs(number.real));
        layout->causes[layout->n++] = (struct cause){
            .row = i,
            .layer = attn_table_cell(table, i, layer).integer,
            .head = is_dot ? -1 : cell.integer,
            .query = (size_t)place,
            .key = (size_t)attn_streams_place(streams, attn_table_cell(table, i, key)),
            .value = number.real};
    }
    for (size_t i = 0; i < layout->n; i++) {
        const double largest = layout->largest[layout->causes[i].head < 0];

        layout->causes[i].size = largest > 0 ? fabs(layout->causes[i].value) / largest : 0;
    }
    if (layout->n > 0)
        qsort(layout->causes, layout->n, sizeof *layout->causes, by_size);
    spread(layout);
    return ATTN_OK;
}

static struct attn_shape_line line_of(const struct attn_figure_pen *pen,
                                      const struct causes_layout *layout, const struct cause *cause)
{
    return (struct attn_shape_line){
        .x = layout->streams.xs[cause->key] + cause->shift,
        .y = attn_streams_y(&layout->streams, (double)cause->layer),
        .x2 = layout->streams.xs[cause->query] + cause->shift,
        .y2 = attn_streams_y(&layout->streams, (double)cause->layer + ATTN_STREAMS_HEAD),
        .width = width_of(cause),
        .opacity = OPACITY,
        .color = attn_streams_color(pen, cause->value)};
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
            attn_shapes_add_line(pen->shapes, line_of(pen, layout, cause));
            continue;
        }
        attn_shapes_add_dot(pen->shapes, dot);
        layout->streams.taken[layout->streams.n_taken++] =
            (struct attn_shape_box){dot.x - radius, dot.y - radius, 2 * radius, 2 * radius, 0};
    }
    attn_shapes_set_mark(pen->shapes, "");
}

/* Writes the name of the bundle of line I, the strongest of it: its layer and its heads, the
 * strongest first. Returns its length. */
static size_t name_bundle(const struct causes_layout *layout, size_t i, char name[NAME_SIZE])
{
    const struct cause *cause = &layout->causes[i];
    int n =
        snprintf(name, NAME_SIZE, "L%lldH%lld", (long long)cause->layer, (long long)cause->head);
    size_t n_head = 1;

    for (size_t k = i; k-- > 0;) {
        const struct cause *other = &layout->causes[k];

        if (is_bundle(cause, other) && ++n_head <= MOST_NAMED)
            n += snprintf(name + n, (size_t)(NAME_SIZE - n), ",%lld", (long long)other->head);
    }
    if (n_head > MOST_NAMED)
        n += snprintf(name + n, (size_t)(NAME_SIZE - n), " +%zu", n_head - MOST_NAMED);
    return (size_t)n;
}

/* Labels bundles with the names of their heads, strongest first, where there is room. Prefers
 * spots near the key, as lines of one query meet at the query. */
static void add_names(struct attn_figure_pen *pen, struct causes_layout *layout)
{
    static const double spots[N_SPOT] = {0.22, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8};

    for (size_t i = layout->n; i-- > 0;) {
        const struct cause *cause = &layout->causes[i];
        struct attn_shape_line line;
        char name[NAME_SIZE];
        size_t n, k = 0;

        if (cause->head < 0)
            continue;
        line = line_of(pen, layout, cause);
        n = name_bundle(layout, i, name);
        for (size_t stronger = i + 1; stronger < layout->n; stronger++)
            k = is_bundle(cause, &layout->causes[stronger]) ? N_SPOT : k;
        while (k < N_SPOT && !attn_streams_add_text(
                                 pen, &layout->streams,
                                 (struct attn_shape_text){
                                     .x = line.x - cause->shift + spots[k] * (line.x2 - line.x),
                                     .y = line.y + spots[k] * (line.y2 - line.y),
                                     .color = pen->ink},
                                 name, n, true))
            k++;
    }
}

/* Adds the legend: colors, the largest line, the largest dot, words. */
static void add_legend(struct attn_figure_pen *pen, const struct causes_layout *layout, double y)
{
    static const char *const signs[2][2] = {{"above 0", "below 0"}, {"for", "against"}};
    static const char *const largest[2] = {"line: cell of the head named, up to",
                                           "dot: MLP, up to"};
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
    const size_t n_words = streams->places.n * (streams->n_layer + 1);
    const int n_legend = layout->given->of->lens ? 4 : 3;

    ATTN_TRY(attn_streams_plan(pen, streams, 0, err));
    pen->shapes->height += n_legend * LEGEND;
    if (pen->is_measuring)
        return ATTN_OK;
    ATTN_TRY(read_causes(layout, err));
    ATTN_TRY(ATTN_ALLOC(streams->taken, layout->n + n_words, err));
    attn_streams_add(pen, streams);
    add_causes(pen, layout);
    for (size_t i = 0; layout->given->of->lens && i < streams->places.n; i++)
        attn_streams_add_lens(pen, streams, layout->given->of->lens, i, false);
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
