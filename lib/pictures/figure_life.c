/* figure_life.c - the life of one position: its stream is a line from the word up to the answer,
 * with the best token of a lens at each height. In each layer ribbons enter it: from the left what
 * a head brings from a word, from the right what the MLP adds and, in grey, the rest. The height
 * of a ribbon is the part of the logit that it adds, its color the sign; all parts add up to the
 * logit. */
#include "pictures/figure_streams.h"

#include "base/escape.h"
#include "base/memory.h"
#include "pictures/table_axis.h"
#include "tables/table_internal.h"
#include "tables/text_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ASIDE = 92,       /* width of the ribbons and names at the right */
    ROOT = 20,        /* length of a ribbon of the position's own word, and of those at the right */
    LEAST_NAMED = 4,  /* height of the lowest ribbon that shows its number */
    N_LEGEND = 2,     /* lines of the legend */
    NUMBER_SIZE = 64, /* bytes of a number with its name */
    NOT_PLACED = -1,
    ANY_PLACE = -2,
};

#define OPACITY 0.85
#define LEAST_SHOWN 0.6  /* height of the lowest ribbon that is drawn */
#define LEAST_REST 0.005 /* smaller rests have no number */
#define ROOM 0.8         /* how much of a layer's height its ribbons may take */

/* What enters the stream in a layer, from one side. */
struct ribbon {
    int64_t layer; /* NOT_PLACED: before the first layer */
    int64_t head;
    int place; /* index of the key; NOT_PLACED: from the right */
    bool is_rest;
    double value;
    double from, y; /* of its upper edge: where it begins, and on the stream */
};

struct life_layout {
    const struct attn_table_picture *given;
    struct attn_figure_streams streams;
    struct ribbon *ribbons; /* [n] owns */
    size_t n, at;           /* at: index of the position */
    double scale;           /* height per unit of the logit */
    double sum;
};

static double height_of(const struct life_layout *layout, const struct ribbon *ribbon)
{
    return layout->scale * fabs(ribbon->value);
}

/* Returns the ribbon of the rest of LAYER. */
static struct ribbon *rest_of(struct life_layout *layout, int64_t layer)
{
    for (size_t i = layout->n; i-- > 0;) /* rests come last */
        if (layout->ribbons[i].is_rest && layout->ribbons[i].layer == layer)
            return &layout->ribbons[i];
    return NULL;
}

static struct attn_cell cell_of(const struct attn_table *table, size_t row,
                                enum attn_column_role role)
{
    return attn_table_cell(table, row, attn_table_find_role(table, role));
}

/* Adds a row of the parts: its own ribbon, or if FOR_REST to the rest of its layer. */
static void add_row(struct life_layout *layout, size_t row, bool for_rest)
{
    const struct attn_table *parts = layout->given->life;
    const struct attn_cell part = cell_of(parts, row, ATTN_ROLE_PART);
    const struct attn_cell layer = cell_of(parts, row, ATTN_ROLE_LAYER);
    struct ribbon ribbon = {
        .layer = layer.type == ATTN_VALUE_INTEGER ? layer.integer : NOT_PLACED,
        .head = cell_of(parts, row, ATTN_ROLE_HEAD).integer,
        .place = attn_streams_place(&layout->streams, cell_of(parts, row, ATTN_ROLE_KEY)),
        .value = attn_table_cell(parts, row, attn_table_find(parts, "value")).real};

    if (attn_cell_word(&part, "sum") == 0) {
        layout->sum = ribbon.value;
        return;
    }
    ribbon.is_rest = ribbon.place == NOT_PLACED && attn_cell_word(&part, "mlp") != 0;
    if (ribbon.is_rest != for_rest)
        return;
    if (for_rest && rest_of(layout, ribbon.layer)) {
        rest_of(layout, ribbon.layer)->value += ribbon.value;
        return;
    }
    layout->ribbons[layout->n++] = ribbon;
}

/* Returns the height of all ribbons of LAYER from the word at PLACE, from all words (ANY_PLACE), or
 * from the right (NOT_PLACED), in units of the logit. */
static double side_of(const struct life_layout *layout, int64_t layer, int place)
{
    double height = 0;

    for (size_t i = 0; i < layout->n; i++) {
        const struct ribbon *ribbon = &layout->ribbons[i];

        if (ribbon->layer == layer &&
            (ribbon->place == place || (place == ANY_PLACE && ribbon->place >= 0)))
            height += fabs(ribbon->value);
    }
    return height;
}

/* Adds ribbons that are too low to be seen to the rest of their layer. */
static void join_lowest(struct life_layout *layout)
{
    size_t n = 0;

    for (size_t i = 0; i < layout->n; i++) {
        const struct ribbon ribbon = layout->ribbons[i];
        struct ribbon *rest = ribbon.place >= 0 && height_of(layout, &ribbon) < LEAST_SHOWN
                                  ? rest_of(layout, ribbon.layer)
                                  : NULL;

        if (rest)
            rest->value += ribbon.value;
        else
            layout->ribbons[n++] = ribbon;
    }
    layout->n = n;
}

/* Orders ribbons by layer, word and head; rests last (qsort). */
static int compare(const void *a, const void *b)
{
    const struct ribbon *one = a, *two = b;
    const int64_t keys[] = {one->is_rest - two->is_rest, one->layer - two->layer,
                            one->place - two->place, one->head - two->head};
    size_t i = 0;

    while (i < 3 && keys[i] == 0)
        i++;
    return (keys[i] > 0) - (keys[i] < 0);
}

static enum attn_status read_parts(struct life_layout *layout, struct attn_error *err)
{
    const size_t n_row = attn_table_n_row(layout->given->life);
    double most = 0;

    ATTN_TRY(ATTN_ALLOC(layout->ribbons, n_row, err));
    for (int of_rests = 0; of_rests < 2; of_rests++) /* rests come last */
        for (size_t i = 0; i < n_row; i++)
            add_row(layout, i, of_rests != 0);
    for (int64_t layer = NOT_PLACED; layer < (int64_t)layout->streams.n_layer; layer++)
        most =
            fmax(most, fmax(side_of(layout, layer, ANY_PLACE), side_of(layout, layer, NOT_PLACED)));
    layout->scale = most > 0 ? ROOM * layout->streams.band / most : 0;
    join_lowest(layout);
    qsort(layout->ribbons, layout->n, sizeof *layout->ribbons, compare);
    return ATTN_OK;
}

/* Adds "MLP +1.2" at the right end of a ribbon whose middle is at Y, or the number on a ribbon from
 * the left. */
static void add_number(struct attn_figure_pen *pen, struct life_layout *layout,
                       const struct ribbon *ribbon, double x, double y)
{
    char number[ATTN_FIXED_TEXT_SIZE], text[NUMBER_SIZE];
    const size_t n = attn_grid_number(pen->content->grid, (float)fabs(ribbon->value), number);
    const char *sign = ribbon->value < 0 ? "\xe2\x88\x92" : "+";
    const int size = ribbon->place < 0
                         ? snprintf(text, sizeof text, "%s %s%.*s",
                                    ribbon->is_rest ? "rest" : "MLP", sign, (int)n, number)
                         : snprintf(text, sizeof text, "%lld.%lld %s%.*s", (long long)ribbon->layer,
                                    (long long)ribbon->head, sign, (int)n, number);
    struct attn_shape_text at = {.x = x, .y = y, .color = pen->ink};

    if (ribbon->place >= 0) {
        attn_streams_add_text(pen, &layout->streams, at, text, (size_t)size, true);
        return;
    }
    at.y += 0.35 * ATTN_STREAMS_NAME;
    at.size = ATTN_STREAMS_NAME;
    attn_shapes_add_text(pen->shapes, &at, text, (size_t)size);
}

/* Whether a ribbon begins beside the stream, not at another word. */
static bool is_beside(const struct life_layout *layout, const struct ribbon *ribbon)
{
    return ribbon->place < 0 || (size_t)ribbon->place == layout->at;
}

/* Returns the x at which a ribbon begins. */
static double start_of(const struct life_layout *layout, const struct ribbon *ribbon)
{
    if (is_beside(layout, ribbon))
        return layout->streams.xs[layout->at] + (ribbon->place < 0 ? ROOT : -ROOT);
    return layout->streams.xs[ribbon->place];
}

/* Adds a ribbon, whose mark is "2,1,5" for what head 1 of layer 2 brings from key 5, "2,," for the
 * layer's MLP, or "rest2". */
static void add_ribbon(struct attn_figure_pen *pen, const struct life_layout *layout,
                       const struct ribbon *ribbon)
{
    const double height = height_of(layout, ribbon);
    const struct attn_shape_band band = {
        .x = start_of(layout, ribbon),
        .top = ribbon->from,
        .bottom = ribbon->from + height,
        .x2 = layout->streams.xs[layout->at],
        .top2 = ribbon->y,
        .bottom2 = ribbon->y + height,
        .opacity = OPACITY,
        .color = ribbon->is_rest ? pen->faint : attn_streams_color(pen, ribbon->value)};
    char mark[ATTN_STREAMS_MARK];

    if (ribbon->place >= 0)
        snprintf(mark, sizeof mark, "%lld,%lld,%zu", (long long)ribbon->layer,
                 (long long)ribbon->head,
                 attn_grid_position(&layout->streams.places, (size_t)ribbon->place));
    else
        snprintf(mark, sizeof mark, ribbon->is_rest ? "rest%lld" : "%lld,,",
                 (long long)ribbon->layer);
    attn_shapes_set_mark(pen->shapes, mark);
    attn_shapes_add_band(pen->shapes, band);
    attn_shapes_set_mark(pen->shapes, "");
}

/* Returns the y of the lower end of the ribbons of LAYER on the stream. */
static double low_of(const struct life_layout *layout, int64_t layer)
{
    const struct attn_figure_streams *streams = &layout->streams;

    return layer == NOT_PLACED
               ? streams->bottom + ATTN_STREAMS_NAME / 2.0
               : attn_streams_y(streams, (double)layer) - (1 - ROOM) / 2 * streams->band;
}

/* Adds the ribbons of LAYER from one side, one above the other, upwards from its lower end. Those
 * of a word begin around the height that the layer reads. */
static void add_side(struct attn_figure_pen *pen, struct life_layout *layout, int64_t layer,
                     bool is_left)
{
    double y = low_of(layout, layer), from = 0;
    int place = NOT_PLACED;

    for (size_t i = 0; i < layout->n; i++) {
        struct ribbon *ribbon = &layout->ribbons[i];

        if (ribbon->layer != layer || (ribbon->place >= 0) != is_left)
            continue;
        if (ribbon->place != place) /* the first of its word */
            from = attn_streams_y(&layout->streams, (double)layer) +
                   layout->scale * side_of(layout, layer, ribbon->place) / 2;
        place = ribbon->place;
        from -= height_of(layout, ribbon);
        y -= height_of(layout, ribbon);
        ribbon->y = y;
        ribbon->from = is_beside(layout, ribbon) ? y : from;
        add_ribbon(pen, layout, ribbon);
    }
}

/* Adds the numbers of LAYER's ribbons from one side. Those at the right keep a distance. */
static void add_numbers(struct attn_figure_pen *pen, struct life_layout *layout, int64_t layer,
                        bool is_left)
{
    const double end = layout->streams.xs[layout->at];
    double last = low_of(layout, layer) + 2 * ATTN_STREAMS_NAME;

    for (size_t i = 0; i < layout->n; i++) {
        const struct ribbon *ribbon = &layout->ribbons[i];
        const double height = height_of(layout, ribbon), x = start_of(layout, ribbon);

        if (ribbon->layer != layer || (ribbon->place >= 0) != is_left)
            continue;
        if (!is_left && ribbon->is_rest && fabs(ribbon->value) < LEAST_REST)
            continue;
        if (!is_left) {
            last = fmin(ribbon->y + height / 2, last - ATTN_STREAMS_NAME - 1);
            add_number(pen, layout, ribbon, x + 4, last);
        } else if (height >= LEAST_NAMED && !is_beside(layout, ribbon)) {
            add_number(pen, layout, ribbon, x + 0.25 * (end - x),
                       ribbon->from + 0.25 * (ribbon->y - ribbon->from) + height / 2);
        }
    }
}

/* Adds the best token at each height, with its probability: "are 22 %". */
static void add_tokens(struct attn_figure_pen *pen, struct life_layout *layout)
{
    const struct attn_table *lens = layout->given->lens;
    const size_t share = attn_streams_lens_share(lens);

    for (size_t i = 0; i < attn_table_n_row(lens); i++) {
        const size_t height = attn_streams_lens_height(lens, i);
        const struct attn_cell token = cell_of(lens, i, ATTN_ROLE_TOKEN);
        const double p = attn_table_cell(lens, i, share).real;
        struct attn_buffer text = {0};
        enum { COLUMNS = 14 };

        if (height == 0 || token.type != ATTN_VALUE_TEXT)
            continue;
        attn_escape_append(&text, token.text, token.size);
        pen->scratch.size = 0;
        attn_text_append_label(&pen->scratch, text.data, text.size, COLUMNS, ATTN_ELLIPSIS);
        attn_buffer_append_format(&pen->scratch, p < 0.01 ? " %.1f %%" : " %.0f %%", 100 * p);
        pen->scratch.has_failed |= text.has_failed;
        attn_buffer_release(&text);
        attn_streams_add_text(
            pen, &layout->streams,
            (struct attn_shape_text){.x = layout->streams.xs[layout->at],
                                     .y = attn_streams_y(&layout->streams, (double)height),
                                     .color = p < 0.5 ? pen->faint : pen->ink,
                                     .is_bold = height == layout->streams.n_layer},
            pen->scratch.data, pen->scratch.size, false);
    }
}

static void add_legend(struct attn_figure_pen *pen, const struct life_layout *layout, double y)
{
    static const char *const signs[3] = {"for", "against", "rest"};
    const uint32_t colors[3] = {attn_streams_color(pen, 1), attn_streams_color(pen, -1),
                                pen->faint};
    struct attn_shape_text text = {.size = ATTN_FIGURE_SMALL, .color = pen->ink};
    char number[ATTN_FIXED_TEXT_SIZE], line[96];
    const size_t n = attn_grid_number(pen->content->grid, (float)layout->sum, number);
    double x = ATTN_FIGURE_PAD;

    for (int i = 0; i < 3; i++) {
        attn_shapes_add_line(pen->shapes, (struct attn_shape_line){x, y, x + ATTN_STREAMS_SAMPLE, y,
                                                                   7, OPACITY, colors[i]});
        text.x = x + ATTN_STREAMS_SAMPLE + 6;
        text.y = y + 0.35 * text.size;
        attn_shapes_add_string(pen->shapes, &text, signs[i]);
        x = text.x + attn_figure_text_width(strlen(signs[i]), text.size) + 12;
    }
    snprintf(line, sizeof line, "all parts add up to %.*s; word: best token of the lens", (int)n,
             number);
    text.x = ATTN_FIGURE_PAD;
    text.y += ATTN_STREAMS_LEGEND;
    attn_shapes_add_string(pen->shapes, &text, line);
}

static enum attn_status draw(struct attn_figure_pen *pen, struct life_layout *layout,
                             struct attn_error *err)
{
    struct attn_figure_streams *streams = &layout->streams;
    const int64_t n_layer = (int64_t)layout->streams.n_layer;

    ATTN_TRY(attn_streams_plan(pen, streams, ASIDE - streams->pitch / 2, err));
    pen->shapes->height += N_LEGEND * ATTN_STREAMS_LEGEND;
    if (pen->is_measuring)
        return ATTN_OK;
    ATTN_TRY(read_parts(layout, err));
    ATTN_TRY(attn_streams_reserve(streams, layout->n + layout->streams.n_layer + 1, err));
    attn_streams_add(pen, streams);
    for (int64_t layer = NOT_PLACED; layer < n_layer; layer++) {
        add_side(pen, layout, layer, true);
        add_side(pen, layout, layer, false);
    }
    attn_shapes_add_line(pen->shapes,
                         (struct attn_shape_line){.x = streams->xs[layout->at],
                                                  .y = streams->bottom,
                                                  .x2 = streams->xs[layout->at],
                                                  .y2 = attn_streams_y(streams, (double)n_layer),
                                                  .width = 2,
                                                  .opacity = 1,
                                                  .color = pen->ink});
    add_tokens(pen, layout);
    for (int64_t layer = NOT_PLACED; layer < n_layer; layer++) {
        add_numbers(pen, layout, layer, true);
        add_numbers(pen, layout, layer, false);
    }
    add_legend(pen, layout,
               pen->shapes->height - ATTN_FIGURE_PAD / 2.0 -
                   (N_LEGEND - 0.5) * ATTN_STREAMS_LEGEND);
    return ATTN_OK;
}

enum attn_status attn_figure_draw_life(struct attn_figure_pen *pen, struct attn_error *err)
{
    struct life_layout layout = {.given = pen->content->of};
    const struct attn_table *lens = layout.given->lens;
    enum attn_status status;
    int at;

    layout.streams.places = attn_figure_columns(pen, attn_figure_matrix(pen, 0));
    layout.streams.n_layer = attn_table_count(layout.given->life, ATTN_ROLE_LAYER);
    at = attn_streams_place(&layout.streams, cell_of(lens, 0, ATTN_ROLE_POSITION));
    layout.at = at < 0 ? layout.streams.places.n - 1 : (size_t)at;
    status = draw(pen, &layout, err);
    attn_streams_release(&layout.streams);
    attn_free(layout.ribbons);
    return status;
}
