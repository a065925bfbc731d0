/* figure_under.c - all heads from one query: each is a tile under the word at which it looks most
 * (under_aim.h), in the hue of its kind, the stronger the larger its weight on a word that is no
 * sink, or what the next token owes it. Without kinds, as of arrays, it has the color of its weight
 * there. The words of the text stand in a line, as far apart as their tiles need; a text that has
 * no room for that is a list of the words that have tiles. Then come heads without a strong key,
 * and the number of those that park. */
#include "figures/figure_internal.h"
#include "figures/under_layout.h"
#include "measures/head_mix.h"

#include "base/status_internal.h"
#include "measures/head_kind.h"

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
#define HIGH 1.5         /* height of a line / its font size */
#define LETTER 1.1       /* width of the letter of a kind / its font size */
#define FAINTEST 0.25    /* place in a hue of a head without which the next token is the same */

struct under_head {
    struct attn_under_aim aim;
    const struct attn_head_kind *kind; /* NULL: unknown */
    double effect;                     /* KL of the next token without it, nats; NaN: unknown */
};

struct under_figure {
    struct attn_text_flow flow;
    struct attn_under_layout layout; /* owns its groups and tiles */
    struct under_head *heads;        /* [n_head] */
    size_t *shown;                   /* [layout.n_tile] the heads that have tiles */
    bool *is_sink;                   /* [n_key] NULL: sinks are unknown */
    size_t n_key, n_head;
    double most_effect;
    bool has_names, has_kinds;
    double letters; /* font size of names */
    double down;    /* from the top of a line of words to its tiles */
};

/* --- Groups -------------------------------------------------------------------------------- */

/* Finds the sinks among the keys, if they are tokens of the text whose sinks are known. */
static enum attn_status find_sinks(struct attn_figure_pen *pen, struct under_figure *figure,
                                   struct attn_error *err)
{
    const struct attn_writer *run = pen->content->grid->run;

    if (!attn_flow_has_query(pen, &figure->flow) || !run->labels.parks)
        return ATTN_OK;
    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, figure->is_sink, figure->n_key, err));
    for (size_t k = 0; k < figure->n_key; k++)
        figure->is_sink[k] = run->labels.parks[attn_grid_position(&figure->flow.keys, k)];
    return ATTN_OK;
}

/* Finds the kind of head H; NULL: unknown. */
static const struct attn_head_kind *kind_of(const struct attn_figure_pen *pen,
                                            const struct under_figure *figure, size_t h)
{
    const struct attn_grid *grid = pen->content->grid;
    struct attn_head_mixes *const *mixes = grid->run ? grid->run->options.mixes : NULL;

    return figure->is_sink && mixes && mixes[0] && !pen->options->colormap
               ? attn_head_mixes_type(mixes[0], &grid->heads[h].at).kind
               : NULL;
}

/* Finds where each head looks, and its kind. */
static enum attn_status find_heads(struct attn_figure_pen *pen, struct under_figure *figure,
                                   struct attn_error *err)
{
    const struct attn_level_matrix *matrix = figure->flow.matrix;
    float *row;

    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, row, figure->n_key, err));
    for (size_t h = 0; h < figure->n_head; h++) {
        struct under_head *head = &figure->heads[h];

        for (size_t k = 0; k < figure->n_key; k++)
            if (!matrix->cells || attn_level_cell(matrix, h, k, &row[k]) != ATTN_CELL_VALUE)
                row[k] = 0;
        head->aim = attn_under_aim_of(row, matrix->cells ? figure->is_sink : NULL, figure->n_key,
                                      figure->n_head > ATTN_UNDER_FEW);
        head->kind = kind_of(pen, figure, h);
        head->effect = head->kind ? attn_first_head_effect(pen->options->effects,
                                                           &pen->content->grid->heads[h].at)
                                  : (double)NAN;
        figure->most_effect = fmax(figure->most_effect, head->effect);
        figure->has_kinds |= head->kind != NULL;
    }
    return ATTN_OK;
}

/* Makes a tile of each head but those that park, and lists the kinds of these in the legend. */
static void make_tiles(struct attn_figure_pen *pen, struct under_figure *figure)
{
    struct attn_under_layout *layout = &figure->layout;

    for (size_t h = 0; h < figure->n_head; h++) {
        const struct under_head *head = &figure->heads[h];

        if (head->aim.place == ATTN_UNDER_PARKS)
            continue;
        layout->tiles[layout->n_tile].group =
            head->aim.place == ATTN_UNDER_WORD ? head->aim.key : figure->n_key;
        layout->groups[layout->tiles[layout->n_tile].group].n++;
        figure->shown[layout->n_tile++] = h;
        if (head->kind)
            pen->kinds |= UINT32_C(1) << (head->kind - attn_head_kind_at(0));
    }
    pen->strength = figure->most_effect > 0 ? "kind; stronger: larger KL without the head"
                                            : "kind; stronger: more weight beside sinks";
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

/* Appends "161 heads park (When 107, the 54)" to OUT; nothing if none does. */
static void append_parks(struct attn_figure_pen *pen, const struct under_figure *figure,
                         struct attn_buffer *out)
{
    const size_t n = figure->n_head - figure->layout.n_tile;
    bool has_some = false;

    if (n > 0)
        attn_buffer_append_format(out, n == 1 ? "%zu head parks" : "%zu heads park", n);
    for (size_t k = 0; k < figure->n_key && pen->options->hides == ATTN_HIDDEN_NONE; k++) {
        size_t n_own = 0, n_word;
        const char *word = word_of(pen, figure, k, &n_word);

        for (size_t h = 0; h < figure->n_head; h++)
            n_own +=
                figure->heads[h].aim.place == ATTN_UNDER_PARKS && figure->heads[h].aim.sink == k;
        if (n_own == 0)
            continue;
        attn_buffer_append_format(out, "%s%.*s %zu", has_some ? ", " : " (", (int)n_word, word,
                                  n_own);
        has_some = true;
    }
    attn_buffer_append_string(out, has_some ? ")" : "");
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
            fmax(least, attn_figure_label_width(pen, &names, figure->letters) + NAME_ROOM +
                            (figure->has_kinds ? LETTER * figure->letters : 0));
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

/* Returns the color of the tile of HEAD. */
static struct attn_rgb color_of(const struct attn_figure_pen *pen,
                                const struct under_figure *figure, const struct under_head *head)
{
    const struct attn_color_range range = attn_level_range(figure->flow.matrix, &pen->scale);
    const double share = head->effect > 0 ? head->effect / figure->most_effect : 0;
    const double place = figure->most_effect > 0
                             ? FAINTEST + (1 - FAINTEST) * sqrt(share)
                             : attn_color_place(&pen->scale, range, head->aim.beside);

    return head->kind ? attn_hue_color(head->kind->hue, place, pen->options->theme)
                      : attn_colormap_color(pen->map, pen->options->theme,
                                            attn_color_level(&pen->scale, range, head->aim.beside));
}

/* Draws tile I, with the first row of tiles at Y. */
static void add_tile(struct attn_figure_pen *pen, const struct under_figure *figure, size_t i,
                     const struct attn_grid_axis *names, double y)
{
    const struct attn_under_layout *layout = &figure->layout;
    const struct attn_under_tile *tile = &layout->tiles[i];
    const struct under_head *head = &figure->heads[figure->shown[i]];
    const struct attn_rgb color = color_of(pen, figure, head);
    const struct attn_shape_box box = {tile->x, y + tile->y, layout->tile_width - TILE_GAP,
                                       layout->tile_height - TILE_GAP, attn_rgb_number(color)};
    struct attn_shape_text text = attn_figure_text(
        box.x + box.width / 2, box.y + box.height / 2 + 0.35 * figure->letters, figure->letters,
        attn_rgb_takes_black(color) ? 0 : 0xffffff, ATTN_ANCHOR_MIDDLE);

    attn_shapes_add_box(pen->shapes, box);
    if (figure->has_names) {
        text.x -= head->kind ? LETTER * figure->letters / 2 : 0;
        attn_figure_add_label(pen, &text, names, figure->shown[i]);
        text.x = box.x + box.width - (NAME_ROOM + figure->letters) / 2;
    }
    if (head->kind)
        attn_shapes_add_text(pen->shapes, &text, &head->kind->letter, 1);
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
    for (size_t i = 0; i < layout->n_tile; i++)
        add_tile(pen, figure, i, &names, y);
}

/* Draws the number of heads that park below all tiles, if any does. */
static void add_parks(struct attn_figure_pen *pen, const struct under_figure *figure, double y)
{
    const struct attn_shape_text text =
        attn_figure_text(ATTN_FIGURE_PAD, y + figure->layout.bottom + GAP + pen->letters.tick,
                         pen->letters.tick, pen->faint, ATTN_ANCHOR_START);
    struct attn_buffer parks = {0}; /* its own buffer, as labels may use pen->scratch */

    append_parks(pen, figure, &parks);
    if (parks.size > 0)
        attn_shapes_add_text(pen->shapes, &text, parks.data, parks.size);
    pen->scratch.has_failed |= parks.has_failed;
    attn_buffer_release(&parks);
}

static enum attn_status draw(struct attn_figure_pen *pen, struct under_figure *figure,
                             struct attn_error *err)
{
    struct attn_under_layout *layout = &figure->layout;
    double parks;

    figure->n_key = layout->n_word = figure->flow.keys.n;
    figure->n_head = figure->flow.matrix->n_row;
    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, layout->groups, figure->n_key + 1, err));
    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, layout->tiles, figure->n_head, err));
    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, figure->heads, figure->n_head, err));
    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, figure->shown, figure->n_head, err));
    ATTN_TRY(find_sinks(pen, figure, err));
    ATTN_TRY(find_heads(pen, figure, err));
    make_tiles(pen, figure);
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
    parks = layout->n_tile < figure->n_head ? GAP + layout->line : 0;
    attn_figure_set_frame(pen, layout->end, 4, figure->down + layout->bottom + parks, true);
    if (pen->is_measuring)
        return ATTN_OK;
    add_groups(pen, figure, pen->layout.top + figure->down);
    add_parks(pen, figure, pen->layout.top + figure->down);
    return ATTN_OK;
}

static enum attn_status draw_figure(struct attn_figure_pen *pen, struct attn_error *err)
{
    const struct attn_grid *grid = pen->content->grid;
    struct under_figure figure = {0};

    if (!grid->is_share) {
        attn_error_set(err, ATTN_INVALID,
                       "'%s' has no shares of a row here, and '`figure under`' "
                       "shows the largest",
                       grid->name);
        return attn_error_hint(err, "`sites pattern` has them");
    }
    ATTN_TRY(attn_flow_open(pen, 0, SIZE_MAX, &figure.flow, err));
    attn_buffer_append_string(&pen->subtitle,
                              figure.flow.matrix->n_row > ATTN_UNDER_FEW && grid->run &&
                                      grid->run->labels.parks
                                  ? "heads under their strongest keys beside sinks; "
                                  : "heads under their strongest keys; ");
    return draw(pen, &figure, err);
}

const attn_figure_fn attn_figure_draw_under = draw_figure;
