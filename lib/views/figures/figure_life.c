/* figure_life.c - the life of one position: its stream is a line from the word up to the answer,
 * with the best token of a lens at each height. In each layer ribbons enter it: from the left what
 * a head brings from a word, from the right what the MLP adds and, in grey, the rest. The height
 * of a ribbon is the part of the logit that it adds, its color the sign; all parts add up to the
 * logit. One from the right that is much higher than all from the left is cut short, with a gap. In
 * deep models runs of layers that add little share a row. */
#include "figures/figure_streams.h"

#include "figures/table_axis.h"
#include "tables/table_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    ASIDE = ATTN_LIFE_ASIDE, /* width of the ribbons and names at the right */
    ROOT = 20,       /* length of a ribbon of the position's own word, and of those at the right */
    LEAST_NAMED = 4, /* points of the lowest ribbon with a name */
    MOST_HIGHER = 2, /* times that a ribbon from the right may be as high as all of a layer from the
                        left */
    TOKEN = 15,      /* height of the stream without ribbons, around the token of a layer */
    ROOM = 170,      /* height of all ribbons of a run without edits, but in very deep models */
    ROOM_LAYER = 22, /* of a layer there */
    DEEP = 12,       /* layers of a model whose runs of layers may be folded */
    LEAST_RUN = 3,   /* layers of such a run */
    N_LEGEND = 3,    /* lines of the legend */
    GAP = 3,         /* width of the gap in a ribbon that is cut short */
    NUMBER_SIZE = 64, /* bytes of a number with its name */
    NOT_PLACED = -1,
    ANY_PLACE = -2,
};

#define OPACITY 0.85
#define GHOST 0.25       /* opacity of what an edit has taken */
#define LEAST_LAYER 0.02 /* part of all ribbons that those of a layer have which is not folded */
#define LEAST_SHOWN 1.0  /* points of the lowest ribbon that is not part of the rest */

/* What enters the stream in a layer, from one side. It is as high as the larger of its numbers. */
struct ribbon {
    int64_t layer; /* NOT_PLACED: before the first layer */
    int64_t head;
    int place; /* index of the key; NOT_PLACED: from the right */
    bool is_rest;
    double value, before; /* before: without the edits of the run */
    double from, y;       /* of its upper edge: where it begins, and on the stream */
};

struct life_layout {
    const struct attn_table_picture *given;
    struct attn_figure_streams streams;
    struct ribbon *ribbons; /* [n] */
    size_t n, at;           /* at: index of the position */
    double scale;           /* height per unit of the logit */
    double point, line;     /* a point, and the height of a line at the right, in units */
    double most;            /* number of the highest ribbon from the right that is drawn whole */
    double sum;
    bool has_edits;
};

/* Returns the height of VALUE, one of the numbers of RIBBON. */
static double height_at(const struct life_layout *layout, const struct ribbon *ribbon, double value)
{
    return layout->scale * fmin(fabs(value), ribbon->place < 0 ? layout->most : HUGE_VAL);
}

static double height_of(const struct life_layout *layout, const struct ribbon *ribbon)
{
    return height_at(layout, ribbon, fmax(fabs(ribbon->value), fabs(ribbon->before)));
}

/* Whether a ribbon is high enough for a name. */
static bool is_named(const struct life_layout *layout, const struct ribbon *ribbon)
{
    return height_of(layout, ribbon) >= LEAST_NAMED * layout->point &&
           !attn_streams_is_folded(&layout->streams, (size_t)ribbon->layer);
}

/* Adds RIBBON to the rest of its layer. Returns false if the layer has none. */
static bool join_rest(struct life_layout *layout, const struct ribbon *ribbon)
{
    size_t i = layout->n; /* rests come last */

    while (i-- > 0)
        if (layout->ribbons[i].is_rest && layout->ribbons[i].layer == ribbon->layer) {
            layout->ribbons[i].value += ribbon->value;
            layout->ribbons[i].before += ribbon->before;
            return true;
        }
    return false;
}

/* Adds a row of the parts: its own ribbon, or if FOR_REST to the rest of its layer. */
static void add_row(struct life_layout *layout, size_t row, bool for_rest)
{
    const struct attn_table *parts = layout->given->life;
    const struct attn_cell part = attn_table_role_cell(parts, row, ATTN_ROLE_PART);
    const struct attn_cell layer = attn_table_role_cell(parts, row, ATTN_ROLE_LAYER);
    const size_t value = attn_table_next_value(parts, SIZE_MAX);
    const size_t before = attn_table_next_value(parts, value);
    struct ribbon ribbon = {.layer = layer.type == ATTN_VALUE_INTEGER ? layer.integer : NOT_PLACED,
                            .head = attn_table_role_cell(parts, row, ATTN_ROLE_HEAD).integer,
                            .place = attn_streams_place(
                                &layout->streams, attn_table_role_cell(parts, row, ATTN_ROLE_KEY)),
                            .value = attn_table_cell(parts, row, value).real};

    layout->has_edits = before < SIZE_MAX;
    ribbon.before = layout->has_edits ? attn_table_cell(parts, row, before).real : ribbon.value;
    if (attn_cell_word(&part, "sum") == 0) {
        layout->sum = ribbon.value;
        return;
    }
    ribbon.is_rest = ribbon.place == NOT_PLACED && attn_cell_word(&part, "mlp") != 0;
    if (ribbon.is_rest != for_rest)
        return;
    if (!for_rest || !join_rest(layout, &ribbon))
        layout->ribbons[layout->n++] = ribbon;
}

/* Returns the height of all ribbons of LAYER from the word at PLACE, from all words (ANY_PLACE), or
 * from the right (NOT_PLACED). */
static double side_of(const struct life_layout *layout, int64_t layer, int place)
{
    double height = 0;

    for (size_t i = 0; i < layout->n; i++) {
        const struct ribbon *ribbon = &layout->ribbons[i];

        if (ribbon->layer == layer &&
            (ribbon->place == place || (place == ANY_PLACE && ribbon->place >= 0)))
            height += height_of(layout, ribbon);
    }
    return height;
}

/* Adds ribbons that are too low to be seen to the rest of their layer. */
static void join_lowest(struct life_layout *layout)
{
    size_t n = 0;

    for (size_t i = 0; i < layout->n; i++) {
        const struct ribbon ribbon = layout->ribbons[i];

        if (ribbon.place < 0 || height_of(layout, &ribbon) >= LEAST_SHOWN * layout->point ||
            !join_rest(layout, &ribbon))
            layout->ribbons[n++] = ribbon;
    }
    layout->n = n;
}

/* Orders ribbons by layer, from the left by word and head, then MLP and rest (qsort). */
static int compare(const void *a, const void *b)
{
    const struct ribbon *one = a, *two = b;
    const int64_t keys[] = {one->layer - two->layer, one->is_rest - two->is_rest,
                            (one->place < 0) - (two->place < 0), one->place - two->place,
                            one->head - two->head};
    size_t i = 0;

    while (i < 4 && keys[i] == 0)
        i++;
    return (keys[i] > 0) - (keys[i] < 0);
}

/* Returns the sum of the numbers of LAYER without edits, from the right as far as they are drawn,
 * or from the left. */
static double sum_before(const struct life_layout *layout, int64_t layer, bool is_right)
{
    double sum = 0;

    for (size_t i = 0; i < layout->n; i++)
        if (layout->ribbons[i].layer == layer && (layout->ribbons[i].place < 0) == is_right)
            sum += fmin(fabs(layout->ribbons[i].before), is_right ? layout->most : HUGE_VAL);
    return sum;
}

/* Folds runs of layers whose ribbons are a small part of ALL. Returns the number of rows. */
static int64_t fold_layers(struct life_layout *layout, double all)
{
    const int64_t n_layer = (int64_t)layout->streams.n_layer;
    int64_t n_row = n_layer, end;

    for (int64_t first = 0; n_layer > DEEP && first < n_layer; first = end + 1) {
        for (end = first; end < n_layer && fmax(sum_before(layout, end, false),
                                                sum_before(layout, end, true)) < LEAST_LAYER * all;
             end++)
            ;
        for (int64_t i = first; end - first >= LEAST_RUN && i < end; i++)
            layout->streams.folded[i] = true;
        n_row -= end - first >= LEAST_RUN ? end - first - 1 : 0;
    }
    return n_row;
}

/* Sets the scale by the run without edits, and the heights of layers by their ribbons and the
 * numbers at the right. */
static void set_heights(struct life_layout *layout)
{
    const int64_t n_layer = (int64_t)layout->streams.n_layer;
    double all = 0, left = 0;

    for (int64_t layer = 0; layer < n_layer; layer++)
        left = fmax(left, sum_before(layout, layer, false));
    layout->most = left > 0 ? MOST_HIGHER * left : HUGE_VAL;
    for (int64_t layer = NOT_PLACED; layer < n_layer; layer++)
        all += fmax(sum_before(layout, layer, false), sum_before(layout, layer, true));
    layout->scale = all > 0 ? fmax(ROOM, ROOM_LAYER * (double)fold_layers(layout, all)) / all : 0;
    join_lowest(layout);
    for (int64_t layer = NOT_PLACED; layer < n_layer; layer++) {
        double numbers = 0;

        for (size_t i = 0; i < layout->n; i++)
            if (layout->ribbons[i].layer == layer && layout->ribbons[i].place < 0 &&
                is_named(layout, &layout->ribbons[i]))
                numbers += layout->line;
        layout->streams.bands[layer + 1] =
            ceil(fmax(numbers, fmax(side_of(layout, layer, ANY_PLACE),
                                    side_of(layout, layer, NOT_PLACED)))) +
            (layer < 0                       ? TOKEN / 2
             : layout->streams.folded[layer] ? 2
                                             : TOKEN);
    }
}

static enum attn_status read_parts(struct attn_figure_pen *pen, struct life_layout *layout,
                                   struct attn_error *err)
{
    const size_t n_row = attn_table_n_row(layout->given->life);

    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, layout->ribbons, n_row, err));
    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, layout->streams.bands, layout->streams.n_layer + 1, err));
    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, layout->streams.folded, layout->streams.n_layer, err));
    for (int of_rests = 0; of_rests < 2; of_rests++) /* rests come last */
        for (size_t i = 0; i < n_row; i++)
            add_row(layout, i, of_rests != 0);
    set_heights(layout);
    qsort(layout->ribbons, layout->n, sizeof *layout->ribbons, compare);
    return ATTN_OK;
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

/* Sets the mark of the shapes of a ribbon: "2,1,5" for what head 1 of layer 2 brings from key 5,
 * "2,," for the layer's MLP, or "rest2"; NULL: no mark. */
static void set_mark(struct attn_figure_pen *pen, const struct life_layout *layout,
                     const struct ribbon *ribbon)
{
    if (ribbon && ribbon->place >= 0)
        attn_shapes_set_mark(pen->shapes, "%lld,%lld,%zu", (long long)ribbon->layer,
                             (long long)ribbon->head,
                             attn_grid_position(&layout->streams.places, (size_t)ribbon->place));
    else if (ribbon)
        attn_shapes_set_mark(pen->shapes, ribbon->is_rest ? "rest%lld" : "%lld,,",
                             (long long)ribbon->layer);
    else
        attn_shapes_end_mark(pen->shapes);
}

/* Adds the lower part of a ribbon, as high as VALUE. */
static void add_band(struct attn_figure_pen *pen, const struct life_layout *layout,
                     const struct ribbon *ribbon, double value, double opacity)
{
    const double height = height_at(layout, ribbon, value);
    const double above = height_of(layout, ribbon) - height;
    const struct attn_shape_band band = {.x = start_of(layout, ribbon),
                                         .top = ribbon->from + above,
                                         .bottom = ribbon->from + above + height,
                                         .x2 = layout->streams.xs[layout->at],
                                         .top2 = ribbon->y + above,
                                         .bottom2 = ribbon->y + above + height,
                                         .opacity = opacity,
                                         .color = ribbon->is_rest ? pen->faint
                                                                  : attn_streams_color(pen, value)};

    attn_shapes_add_band(pen->shapes, band);
}

/* Adds a ribbon, and behind it a ghost of what it was without the edits. The ghost has the mark of
 * a ribbon that is gone. One that is cut short has a gap. */
static void add_ribbon(struct attn_figure_pen *pen, const struct life_layout *layout,
                       const struct ribbon *ribbon)
{
    const bool is_gone = ribbon->value == 0;
    const double middle = ribbon->y + height_of(layout, ribbon) / 2;

    set_mark(pen, layout, is_gone ? ribbon : NULL);
    if (ribbon->before != ribbon->value)
        add_band(pen, layout, ribbon, ribbon->before, GHOST);
    set_mark(pen, layout, ribbon);
    if (!is_gone)
        add_band(pen, layout, ribbon, ribbon->value, OPACITY);
    set_mark(pen, layout, NULL);
    if (ribbon->place < 0 && fmax(fabs(ribbon->value), fabs(ribbon->before)) > layout->most)
        attn_figure_add_line(pen, (double[]){start_of(layout, ribbon), middle - GAP},
                             (double[]){layout->streams.xs[layout->at], middle + GAP}, GAP,
                             pen->shapes->paper);
}

/* Returns the y of the lower end of the ribbons of LAYER on the stream. */
static double low_of(const struct life_layout *layout, int64_t layer)
{
    return layer == NOT_PLACED
               ? layout->streams.bottom
               : layout->streams.ys[layer] - (layout->streams.folded[layer] ? 1 : TOKEN / 2.0);
}

/* Adds the ribbons. Those of one side of a layer are one above the other, upwards from its lower
 * end; those of a word begin around the middle of the layer. */
static void add_ribbons(struct attn_figure_pen *pen, struct life_layout *layout)
{
    double ends[2] = {0}, from = 0; /* ends: of ribbons from the right, and from the left */

    for (size_t i = 0; i < layout->n; i++) {
        struct ribbon *ribbon = &layout->ribbons[i];
        const double height = height_of(layout, ribbon);
        double *end = &ends[ribbon->place >= 0];

        if (i == 0 || ribbon->layer != ribbon[-1].layer)
            ends[0] = ends[1] = low_of(layout, ribbon->layer);
        if (i == 0 || ribbon->layer != ribbon[-1].layer || ribbon->place != ribbon[-1].place)
            from = attn_streams_y(&layout->streams, (double)ribbon->layer + 0.5) +
                   side_of(layout, ribbon->layer, ribbon->place) / 2;
        from -= height;
        *end -= height;
        ribbon->y = *end;
        ribbon->from = is_beside(layout, ribbon) ? *end : from;
        add_ribbon(pen, layout, ribbon);
    }
}

/* Writes the name of a ribbon and its number: "2.5 +0.45", "MLP +1.2", of one that is gone "2.5,
 * was +0.45". Returns its length. */
static size_t name_ribbon(const struct attn_figure_pen *pen, const struct ribbon *ribbon,
                          char text[NUMBER_SIZE])
{
    const bool is_gone = ribbon->value == 0 && ribbon->before != 0;
    const double value = is_gone ? ribbon->before : ribbon->value;
    char number[ATTN_FIXED_TEXT_SIZE];
    const int n = (int)attn_grid_number(pen->content->grid, (float)fabs(value), number);
    int size = snprintf(text, NUMBER_SIZE, "%s",
                        !ribbon->is_rest    ? "MLP"
                        : ribbon->layer < 0 ? "embedding"
                                            : "rest");

    if (ribbon->place >= 0)
        size = snprintf(text, NUMBER_SIZE, "%lld.%lld", (long long)ribbon->layer,
                        (long long)ribbon->head);
    size += snprintf(text + size, (size_t)(NUMBER_SIZE - size), "%s %s%.*s", is_gone ? ", was" : "",
                     value < 0 ? "\xe2\x88\x92" : "+", n, number);
    return (size_t)size;
}

/* Adds the name of a ribbon from the left where it hides no other text. */
static void add_name(struct attn_figure_pen *pen, struct life_layout *layout,
                     const struct ribbon *ribbon, const char *text, size_t n)
{
    static const double spots[] = {0.25, 0.4, 0.55, 0.12, 0.7, 0.8};
    const double x = start_of(layout, ribbon), end = layout->streams.xs[layout->at];
    bool is_added = false;

    for (size_t i = 0; i < sizeof spots / sizeof *spots && !is_added; i++)
        is_added = attn_streams_add_text(
            pen, &layout->streams,
            (struct attn_shape_text){
                .x = is_beside(layout, ribbon)
                         ? x - attn_figure_string_width(pen, text, n) * pen->letters.tick / 2 - 2
                         : x + spots[i] * (end - x),
                .y = ribbon->from + spots[i] * (ribbon->y - ribbon->from) +
                     height_of(layout, ribbon) / 2,
                .color = pen->ink,
                .anchor = ATTN_ANCHOR_MIDDLE},
            text, n, true);
}

/* Adds the names of ribbons: those at the right, which keep a distance, then the others. */
static void add_names(struct attn_figure_pen *pen, struct life_layout *layout)
{
    char text[NUMBER_SIZE];
    double last = 0;

    for (size_t i = 0; i < 2 * layout->n; i++) {
        const struct ribbon *ribbon = &layout->ribbons[i % layout->n];
        struct attn_shape_text at = {
            .x = start_of(layout, ribbon) + 4, .size = pen->letters.tick, .color = pen->ink};

        if (ribbon == layout->ribbons || ribbon->layer != ribbon[-1].layer)
            last = low_of(layout, ribbon->layer) + layout->line / 2;
        if ((i < layout->n) != (ribbon->place < 0) || !is_named(layout, ribbon))
            continue;
        set_mark(pen, layout, ribbon);
        if (ribbon->place >= 0) {
            add_name(pen, layout, ribbon, text, name_ribbon(pen, ribbon, text));
            continue;
        }
        last = fmin(ribbon->y + height_of(layout, ribbon) / 2, last - layout->line);
        at.y = last + 0.35 * at.size;
        attn_shapes_add_text(pen->shapes, &at, text, name_ribbon(pen, ribbon, text));
    }
    set_mark(pen, layout, NULL);
}

static void add_legend(struct attn_figure_pen *pen, const struct life_layout *layout)
{
    const uint32_t color = attn_streams_color(pen, 1);
    double x = ATTN_FIGURE_PAD,
           y = pen->shapes->height - ATTN_FIGURE_PAD / 2.0 - (N_LEGEND - 0.5) * ATTN_STREAMS_LEGEND;
    char number[ATTN_FIXED_TEXT_SIZE], line[96];
    const int n = (int)attn_grid_number(pen->content->grid, (float)layout->sum, number);

    x = attn_streams_add_sample(pen, x, y, "for", color, OPACITY);
    x = attn_streams_add_sample(pen, x, y, "against", attn_streams_color(pen, -1), OPACITY);
    x = attn_streams_add_sample(pen, x, y, "rest", pen->faint, OPACITY);
    if (layout->has_edits)
        attn_streams_add_sample(pen, x, y, "without the change", color, GHOST);
    snprintf(line, sizeof line, "all parts add up to %.*s; rest: too thin to draw; gap: cut short",
             n, number);
    attn_streams_add_line(pen, ATTN_FIGURE_PAD, y + ATTN_STREAMS_LEGEND, "sum", line);
    attn_streams_add_line(pen, ATTN_FIGURE_PAD, y + 2 * ATTN_STREAMS_LEGEND, "word",
                          "grey words: the model's guess so far");
}

static enum attn_status draw_figure(struct attn_figure_pen *pen, struct attn_error *err)
{
    struct life_layout layout = {
        .given = pen->content->of, .point = 1 / pen->unit, .line = pen->letters.tick + 3};
    struct attn_figure_streams *streams = &layout.streams;
    const struct attn_table *lens = layout.given->lens;
    int at;

    streams->places = attn_figure_columns(pen, attn_figure_matrix(pen, 0));
    streams->n_layer = attn_table_count(layout.given->life, ATTN_ROLE_LAYER);
    at = attn_streams_place(streams, attn_table_role_cell(lens, 0, ATTN_ROLE_POSITION));
    layout.at = at < 0 ? streams->places.n - 1 : (size_t)at;
    ATTN_TRY(read_parts(pen, &layout, err));
    ATTN_TRY(attn_streams_plan(pen, streams, ASIDE, err));
    pen->shapes->height += N_LEGEND * ATTN_STREAMS_LEGEND;
    if (pen->is_measuring)
        return ATTN_OK;
    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, streams->taken, layout.n + streams->n_layer + 1, err));
    attn_streams_add(pen, streams);
    add_ribbons(pen, &layout);
    attn_figure_add_line(pen, (double[]){streams->xs[layout.at], streams->bottom},
                         (double[]){streams->xs[layout.at], streams->ys[streams->n_layer]}, 2,
                         pen->ink);
    attn_streams_add_lens(pen, streams, lens, layout.at);
    add_names(pen, &layout);
    add_legend(pen, &layout);
    return ATTN_OK;
}

const attn_figure_fn attn_figure_draw_life = draw_figure;
