/* figure_under.c - all heads from one query: each is a tile under the word at which it looks most,
 * colored by its weight there. The words of the text stand in a line, as far apart as their tiles
 * need; a text that has no room for that is a list of the words that have tiles. Heads without a
 * strong key come last. */
#include "figures/text_flow.h"
#include "figures/under_layout.h"

#include "base/memory.h"
#include "base/status_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    GAP = 8,        /* between words, at least, */
    MOST_GAP = 40,  /* at most, */
    TILE_GAP = 2,   /* and between tiles */
    NAME_ROOM = 4,  /* of a tile, beside its name */
    NAMED = 400,    /* most heads whose tiles have names */
    COUNT_SIZE = 48 /* bytes of "14 heads look everywhere" */
};

#define LEAST_SIDE 8.504 /* of a tile, in points: 3 mm */
#define LEAST_AIM 0.34   /* weight of the strongest key of a head that stands under it */
#define HIGH 1.5         /* height of a line / its font size */

struct under_figure {
    struct attn_text_flow flow;
    struct attn_under_layout layout; /* owns its groups and tiles */
    float *weights;                  /* [n_head] owns; of the strongest keys */
    size_t n_key, n_head;
    bool has_names;
    double letters; /* font size of names */
    double down;    /* from the top of a line of words to its tiles */
};

/* --- Groups -------------------------------------------------------------------------------- */

/* Finds the strongest key of each head. */
static void find_aims(struct under_figure *figure)
{
    const struct attn_level_matrix *matrix = figure->flow.matrix;

    for (size_t h = 0; h < figure->n_head; h++) {
        size_t *aim = &figure->layout.tiles[h].group;
        float value = 0;

        *aim = figure->n_key;
        for (size_t k = 0; matrix->cells && k < figure->n_key; k++)
            if (attn_level_cell(matrix, h, k, &value) == ATTN_CELL_VALUE &&
                value > figure->weights[h]) {
                figure->weights[h] = value;
                *aim = k;
            }
        if (figure->weights[h] < (float)LEAST_AIM)
            *aim = figure->n_key;
        figure->layout.groups[*aim].n++;
    }
}

/* Returns the text of key K without the blanks around it. */
static const char *word_of(struct attn_figure_pen *pen, const struct under_figure *figure, size_t k,
                           size_t *n)
{
    const char *text = attn_flow_token(pen, &figure->flow, k, n);

    for (; *n > 1 && *text == ' '; --*n)
        text++;
    return text;
}

/* Sets *LAYER to the text of the layer of head H, "23" of "23.0", and returns its bytes. */
static size_t layer_of(struct attn_figure_pen *pen, const struct attn_grid_axis *names, size_t h,
                       const char **layer)
{
    size_t n;
    const char *dot;

    *layer = attn_figure_label(pen, names, h, &n);
    dot = memchr(*layer, '.', n);
    return dot ? (size_t)(dot - *layer) : 0;
}

/* Returns how many heads of the layer of head H stand under its word. */
static size_t count_like(struct attn_figure_pen *pen, const struct under_figure *figure,
                         const struct attn_grid_axis *names, size_t h)
{
    const char *layer, *other;
    const size_t n = layer_of(pen, names, h, &layer);
    char own[COUNT_SIZE];
    size_t n_like = 0;

    if (n == 0 || n >= sizeof own)
        return 0;
    memcpy(own, layer, n); /* the next label may take its place */
    for (size_t i = 0; i < figure->n_head; i++)
        n_like += figure->layout.tiles[i].group == figure->layout.tiles[h].group &&
                  layer_of(pen, names, i, &other) == n && memcmp(other, own, n) == 0;
    return n_like;
}

/* Says which layer has most heads under one word other than the first and the query: "5 heads of
 * layer 23 look at 'Mary'". */
static void find_finding(struct attn_figure_pen *pen, const struct under_figure *figure)
{
    const struct attn_grid_axis names = attn_figure_rows(pen, figure->flow.matrix);
    size_t most = 1, chosen = 0, n, n_word;
    const char *layer, *word;

    pen->finding.size = 0;
    for (size_t h = 0; h < figure->n_head && attn_flow_has_query(pen, &figure->flow); h++) {
        const size_t k = figure->layout.tiles[h].group;

        if (k == 0 || k >= figure->n_key ||
            attn_grid_position(&figure->flow.keys, k) == pen->content->grid->run->queries[0])
            continue;
        n = count_like(pen, figure, &names, h);
        chosen = n > most ? h : chosen;
        most = n > most ? n : most;
    }
    if (most < 2)
        return;
    n = layer_of(pen, &names, chosen, &layer);
    attn_buffer_append_format(&pen->finding, "%zu heads of layer %.*s look at '", most, (int)n,
                              layer);
    word = word_of(pen, figure, figure->layout.tiles[chosen].group, &n_word);
    attn_buffer_append_format(&pen->finding, "%.*s'", (int)n_word, word);
}

/* Writes "14 heads" of group G to TEXT, and returns its bytes. */
static size_t write_count(const struct under_figure *figure, size_t g, char text[COUNT_SIZE])
{
    const size_t n = figure->layout.groups[g].n;
    const int size = snprintf(text, COUNT_SIZE, "%zu %s%s", n, n == 1 ? "head" : "heads",
                              g < figure->n_key ? ""
                              : n == 1          ? " looks everywhere"
                                                : " look everywhere");

    return (size_t)size;
}

/* --- Sizes --------------------------------------------------------------------------------- */

static void size_tiles(struct attn_figure_pen *pen, struct under_figure *figure)
{
    const double least = LEAST_SIDE / pen->unit;
    const struct attn_grid_axis names = attn_figure_rows(pen, figure->flow.matrix);
    struct attn_under_layout *layout = &figure->layout;

    figure->letters = pen->is_printed ? attn_figure_least_letters(pen) : pen->letters.tick;
    figure->has_names = figure->n_head <= NAMED;
    layout->tile_width = layout->tile_height = least;
    if (figure->has_names) {
        layout->tile_width =
            fmax(least, attn_figure_label_width(pen, &names, figure->letters) + NAME_ROOM);
        layout->tile_height = fmax(least, HIGH * figure->letters);
        pen->label = fmin(pen->label, figure->letters);
    }
    layout->tile_gap = TILE_GAP;
    layout->tile_width += TILE_GAP;
    layout->tile_height += TILE_GAP;
}

static void size_texts(struct attn_figure_pen *pen, struct under_figure *figure)
{
    struct attn_under_group *groups = figure->layout.groups;
    const double label = attn_figure_label_width(pen, &figure->flow.keys, pen->letters.label) + GAP;
    char count[COUNT_SIZE];
    size_t n;

    for (size_t k = 0; k < figure->n_key; k++) {
        const char *text = word_of(pen, figure, k, &n);

        groups[k].word = pen->letters.word * attn_figure_string_width(pen, text, n);
        groups[k].label = label;
    }
    n = write_count(figure, figure->n_key, count);
    groups[figure->n_key].label = pen->letters.tick * attn_figure_string_width(pen, count, n);
}

/* --- Drawing ------------------------------------------------------------------------------- */

/* Draws the tile of head H, with the first row of tiles at Y. */
static void add_tile(struct attn_figure_pen *pen, const struct under_figure *figure, size_t h,
                     const struct attn_grid_axis *names, double y)
{
    const struct attn_under_layout *layout = &figure->layout;
    const struct attn_under_tile *tile = &layout->tiles[h];
    const struct attn_color_range range = attn_level_range(figure->flow.matrix, &pen->scale);
    const int level = attn_color_level(&pen->scale, range, (double)figure->weights[h]);
    const struct attn_shape_box box = {tile->x, y + tile->y, layout->tile_width - TILE_GAP,
                                       layout->tile_height - TILE_GAP,
                                       attn_figure_color(pen, level)};
    const struct attn_shape_text text = {.x = box.x + box.width / 2,
                                         .y = box.y + box.height / 2 + 0.35 * figure->letters,
                                         .size = figure->letters,
                                         .color =
                                             attn_figure_takes_black(pen, level) ? 0 : 0xffffff,
                                         .anchor = ATTN_ANCHOR_MIDDLE};

    attn_shapes_add_box(pen->shapes, box);
    if (figure->has_names)
        attn_figure_add_label(pen, &text, names, h);
}

/* Draws the word of group G at X with the top of its line at Y, and frames that of the query. */
static void add_word(struct attn_figure_pen *pen, const struct under_figure *figure, size_t g,
                     double x, double y)
{
    const bool is_line = figure->layout.is_line;
    const double size = is_line ? pen->letters.word : pen->letters.label;
    struct attn_shape_text text = {.x = x, .y = y + size, .size = size, .color = pen->ink};
    size_t n;
    const char *word =
        is_line ? word_of(pen, figure, g, &n) : attn_figure_label(pen, &figure->flow.keys, g, &n);
    const double width = size * attn_figure_string_width(pen, word, n);

    attn_shapes_add_text(pen->shapes, &text, word, n);
    if (attn_flow_has_query(pen, &figure->flow) &&
        attn_grid_position(&figure->flow.keys, g) == pen->content->grid->run->queries[0])
        attn_figure_add_outline(pen, (double[]){x - 3, y, x + width + 3, y + 1.35 * size}, 1.5,
                                pen->ink);
}

/* Draws the number of heads of group G with the top of its line at Y. */
static void add_count(struct attn_figure_pen *pen, const struct under_figure *figure, size_t g,
                      double y)
{
    const struct attn_under_group *group = &figure->layout.groups[g];
    const struct attn_shape_text text = {
        .x = group->x, .y = y + pen->letters.tick, .size = pen->letters.tick, .color = pen->faint};
    const double room = g == figure->n_key ? HUGE_VAL : group->width + GAP / 2.0;
    char count[COUNT_SIZE];
    const size_t n = write_count(figure, g, count);

    if (group->n == 0)
        return;
    if (attn_figure_string_width(pen, count, n) * text.size > room)
        attn_shapes_add_number(pen->shapes, &text, group->n);
    else
        attn_shapes_add_text(pen->shapes, &text, count, n);
}

/* Draws all, with the first row of tiles at Y. */
static void add_groups(struct attn_figure_pen *pen, const struct under_figure *figure, double y)
{
    const struct attn_under_layout *layout = &figure->layout;
    const struct attn_grid_axis names = attn_figure_rows(pen, figure->flow.matrix);

    for (size_t k = 0; k < figure->n_key; k++) {
        const struct attn_under_group *group = &layout->groups[k];

        if (layout->is_line)
            add_word(pen, figure, k, group->x, y - figure->down);
        else if (group->n > 0)
            add_word(pen, figure, k, ATTN_FIGURE_PAD, y + group->y);
        if (layout->is_line)
            add_count(pen, figure, k, y - layout->line);
    }
    add_count(pen, figure, figure->n_key, y + layout->groups[figure->n_key].y - layout->line);
    for (size_t h = 0; h < figure->n_head; h++)
        add_tile(pen, figure, h, &names, y);
}

static enum attn_status draw(struct attn_figure_pen *pen, struct under_figure *figure,
                             struct attn_error *err)
{
    struct attn_under_layout *layout = &figure->layout;

    figure->n_key = layout->n_word = figure->flow.keys.n;
    figure->n_head = layout->n_tile = figure->flow.matrix->n_row;
    ATTN_TRY(ATTN_ALLOC(layout->groups, figure->n_key + 1, err));
    ATTN_TRY(ATTN_ALLOC(layout->tiles, figure->n_head, err));
    ATTN_TRY(ATTN_ALLOC(figure->weights, figure->n_head, err));
    find_aims(figure);
    find_finding(pen, figure);
    size_tiles(pen, figure);
    size_texts(pen, figure);
    layout->left = ATTN_FIGURE_PAD;
    layout->right = pen->room > 0 ? pen->room - ATTN_FIGURE_PAD
                                  : ATTN_FIGURE_PAD + attn_figure_text_width(ATTN_FLOW_COLUMNS,
                                                                             pen->letters.word);
    layout->gap = GAP;
    layout->most_gap = pen->room > 0 ? MOST_GAP : GAP;
    layout->line = HIGH * pen->letters.tick;
    layout->n_group = figure->n_key + 1;
    layout->is_leftwards = figure->flow.is_leftwards;
    attn_under_lay_out(layout);
    figure->down = layout->is_line ? HIGH * pen->letters.word + layout->line : 0;
    pen->has_text = !layout->is_line;
    attn_figure_set_frame(pen, layout->end, 4, figure->down + layout->bottom, true);
    if (!pen->is_measuring)
        add_groups(pen, figure, pen->layout.top + figure->down);
    return ATTN_OK;
}

enum attn_status attn_figure_draw_under(struct attn_figure_pen *pen, struct attn_error *err)
{
    const struct attn_grid *grid = pen->content->grid;
    struct under_figure figure = {0};
    enum attn_status status;

    if (!grid->is_share) {
        attn_error_set(err, ATTN_INVALID,
                       "'%s' has no shares of a row here, and '`figure under`' "
                       "shows the largest",
                       grid->name);
        return attn_error_hint(err, "`sites pattern` has them");
    }
    ATTN_TRY(attn_flow_open(pen, 0, SIZE_MAX, &figure.flow, err));
    attn_buffer_append_string(&pen->subtitle, "heads under their strongest keys; ");
    status = draw(pen, &figure, err);
    attn_free(figure.layout.groups);
    attn_free(figure.layout.tiles);
    attn_free(figure.weights);
    return status;
}
