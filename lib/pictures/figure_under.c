/* figure_under.c - all heads from one query: each is a tile under the word at which it looks most,
 * colored by its weight there. The words of the text stand in a line, as far apart as their tiles
 * need; a text that has no room for that is a list of the words that have tiles. Heads without a
 * strong key come last. */
#include "pictures/text_flow.h"

#include "base/memory.h"
#include "base/status_internal.h"

#include <math.h>
#include <stdio.h>

enum {
    GAP = 8,        /* between words, at least, */
    MOST_GAP = 40,  /* at most, */
    TILE_GAP = 2,   /* and between tiles */
    NAME_ROOM = 4,  /* of a tile, beside its name */
    NAMED = 400,    /* most heads whose tiles have names */
    HIGHEST = 12,   /* most tiles below each other in a line of words, if each word has room */
    COUNT_SIZE = 48 /* bytes of "14 heads look everywhere" */
};

#define LEAST_SIDE 8.504 /* of a tile, in points: 3 mm */
#define LEAST_AIM 0.34   /* weight of the strongest key of a head that stands under it */
#define HIGH 1.5         /* height of a line / its font size */

/* The heads that look most at one key; the last group has those that look at none in particular. */
struct group {
    size_t n;            /* heads */
    double word;         /* width of the word */
    double x, width;     /* left end and width of the group */
    size_t across, done; /* tiles in a row, and those that are drawn */
};

struct under_layout {
    struct attn_text_flow flow;
    struct group *groups; /* [n_key + 1] owns */
    size_t *aims;         /* [n_head] owns; the group of each */
    float *weights;       /* [n_head] owns; of their strongest keys */
    size_t n_key, n_head;
    bool is_line, has_names;
    double width, height; /* of a tile with its gap */
    double letters;       /* font size of names */
    double room, right;   /* x that nothing should exceed, and that of the widest part */
    double label;         /* of a list: width of the words */
    double down, end;     /* y of the tiles under words, and of those that look everywhere */
};

/* --- Groups -------------------------------------------------------------------------------- */

/* Finds the strongest key of each head. */
static void find_aims(struct under_layout *layout)
{
    const struct attn_level_matrix *matrix = layout->flow.matrix;

    for (size_t h = 0; h < layout->n_head; h++) {
        float value = 0;

        layout->aims[h] = layout->n_key;
        for (size_t k = 0; matrix->cells && k < layout->n_key; k++)
            if (attn_level_cell(matrix, h, k, &value) == ATTN_CELL_VALUE &&
                value > layout->weights[h]) {
                layout->weights[h] = value;
                layout->aims[h] = k;
            }
        if (layout->weights[h] < (float)LEAST_AIM)
            layout->aims[h] = layout->n_key;
        layout->groups[layout->aims[h]].n++;
    }
}

/* Returns the text of key K without the blanks around it. */
static const char *word_of(struct attn_figure_pen *pen, const struct under_layout *layout, size_t k,
                           size_t *n)
{
    const char *text = attn_flow_token(pen, &layout->flow, k, n);

    for (; *n > 1 && *text == ' '; --*n)
        text++;
    return text;
}

static size_t count_of(const struct under_layout *layout, size_t g, char text[COUNT_SIZE])
{
    const size_t n = layout->groups[g].n;
    const int size = snprintf(text, COUNT_SIZE, "%zu %s%s", n, n == 1 ? "head" : "heads",
                              g < layout->n_key ? ""
                              : n == 1          ? " looks everywhere"
                                                : " look everywhere");

    return (size_t)size;
}

/* Returns the number of rows of tiles of GROUP. */
static size_t rows_of(const struct group *group)
{
    return group->n == 0 ? 0 : (group->n + group->across - 1) / group->across;
}

/* --- Layout -------------------------------------------------------------------------------- */

/* Sets the size of tiles. */
static void size_tiles(struct attn_figure_pen *pen, struct under_layout *layout)
{
    const double least = LEAST_SIDE / pen->unit;
    const struct attn_grid_axis names = attn_figure_rows(pen, layout->flow.matrix);

    layout->letters = pen->is_printed ? attn_figure_least_letters(pen) : pen->letters.tick;
    layout->has_names = layout->n_head <= NAMED;
    layout->width = layout->height = least;
    if (layout->has_names) {
        layout->width =
            fmax(least, attn_figure_label_width(pen, &names, layout->letters) + NAME_ROOM);
        layout->height = fmax(least, HIGH * layout->letters);
        pen->label = fmin(pen->label, layout->letters);
    }
    layout->width += TILE_GAP;
    layout->height += TILE_GAP;
}

/* Places the words in a line with at most DOWN rows of tiles. Returns false without room for that.
 */
static bool place_words(struct under_layout *layout, size_t down)
{
    double x = ATTN_FIGURE_PAD;

    for (size_t k = 0; k < layout->n_key; k++) {
        struct group *group = &layout->groups[k];

        group->x = x;
        group->across = (group->n + down - 1) / down;
        if ((double)group->across * layout->width < group->word)
            group->across = (size_t)fmax(1, group->word / layout->width);
        if (group->across > group->n)
            group->across = group->n;
        group->width = fmax(group->word, (double)group->across * layout->width - TILE_GAP);
        x += group->width + GAP;
    }
    layout->right = x - GAP;
    return layout->right <= layout->room;
}

/* Finds the fewest rows of tiles with which the words have room in a line. */
static bool lay_line(struct attn_figure_pen *pen, struct under_layout *layout)
{
    size_t most = 1, down;
    double gap = 0;

    for (size_t k = 0; k < layout->n_key; k++) {
        size_t n;
        const char *text = word_of(pen, layout, k, &n);

        layout->groups[k].word = pen->letters.word * attn_figure_string_width(pen, text, n);
        most = layout->groups[k].n > most ? layout->groups[k].n : most;
    }
    for (down = (size_t)ceil(sqrt((double)most / 2)); !place_words(layout, down); down++)
        if (down >= most || down >= HIGHEST + most / HIGHEST)
            return false;
    layout->down = HIGH * (pen->letters.word + pen->letters.tick);
    layout->end = layout->down + GAP;
    if (layout->n_key > 1 && pen->room > 0)
        gap = fmin(MOST_GAP - GAP, (layout->room - layout->right) / (double)(layout->n_key - 1));
    layout->right += gap * (double)(layout->n_key - 1);
    for (size_t k = 0; k < layout->n_key; k++) {
        struct group *group = &layout->groups[k];

        group->x += gap * (double)k;
        if (layout->flow.is_leftwards)
            group->x = ATTN_FIGURE_PAD + layout->right - group->x - group->width;
        layout->end =
            fmax(layout->end, layout->down + (double)rows_of(group) * layout->height + GAP);
    }
    return true;
}

/* Places group G of a list at LEFT, y *END, in as many rows as it needs. */
static void place_group(struct under_layout *layout, size_t g, double left, double *end)
{
    struct group *group = &layout->groups[g];

    group->x = left;
    group->across = (size_t)fmax(1, (layout->room - left + TILE_GAP) / layout->width);
    if (group->across > group->n)
        group->across = group->n;
    if (group->n == 0)
        return;
    layout->right = fmax(layout->right, left + (double)group->across * layout->width);
    *end += (double)rows_of(group) * layout->height + GAP / 2.0;
}

static void lay_list(struct attn_figure_pen *pen, struct under_layout *layout)
{
    layout->label = attn_figure_label_width(pen, &layout->flow.keys, pen->letters.label) + GAP;
    layout->right = ATTN_FIGURE_PAD;
    layout->end = 0;
    for (size_t k = 0; k < layout->n_key; k++)
        place_group(layout, k, ATTN_FIGURE_PAD + layout->label, &layout->end);
}

/* --- Drawing ------------------------------------------------------------------------------- */

/* Draws the tile of head H with its left upper corner at X, Y. */
static void add_tile(struct attn_figure_pen *pen, const struct under_layout *layout, size_t h,
                     const struct attn_grid_axis *names, double x, double y)
{
    const struct attn_color_range range = attn_level_range(layout->flow.matrix, &pen->scale, h);
    const int level = attn_color_level(&pen->scale, range, (double)layout->weights[h]);
    const double width = layout->width - TILE_GAP, height = layout->height - TILE_GAP;
    const struct attn_shape_text text = {.x = x + width / 2,
                                         .y = y + height / 2 + 0.35 * layout->letters,
                                         .size = layout->letters,
                                         .color =
                                             attn_figure_takes_black(pen, level) ? 0 : 0xffffff,
                                         .anchor = ATTN_ANCHOR_MIDDLE};

    attn_shapes_add_box(
        pen->shapes, (struct attn_shape_box){x, y, width, height, attn_figure_color(pen, level)});
    if (layout->has_names)
        attn_figure_add_label(pen, &text, names, h);
}

/* Draws the tiles of all heads; those of group G begin at y TOPS[G]. */
static void add_tiles(struct attn_figure_pen *pen, struct under_layout *layout, const double *tops)
{
    const struct attn_grid_axis names = attn_figure_rows(pen, layout->flow.matrix);

    for (size_t h = 0; h < layout->n_head; h++) {
        const size_t g = layout->aims[h];
        struct group *group = &layout->groups[g];
        const size_t row = group->done / group->across, column = group->done % group->across;

        add_tile(pen, layout, h, &names, group->x + (double)column * layout->width,
                 tops[g] + (double)row * layout->height);
        group->done++;
    }
}

/* Draws the word of group G with the top of its line at Y, and frames that of the query. */
static void add_word(struct attn_figure_pen *pen, const struct under_layout *layout, size_t g,
                     double y)
{
    const double size = layout->is_line ? pen->letters.word : pen->letters.label;
    const double x = layout->is_line ? layout->groups[g].x : ATTN_FIGURE_PAD;
    struct attn_shape_text text = {.x = x, .y = y + size, .size = size, .color = pen->ink};
    size_t n;
    const char *word = layout->is_line ? word_of(pen, layout, g, &n)
                                       : attn_figure_label(pen, &layout->flow.keys, g, &n);
    const double width = size * attn_figure_string_width(pen, word, n);

    attn_shapes_add_text(pen->shapes, &text, word, n);
    if (attn_flow_has_query(pen, &layout->flow) &&
        attn_grid_position(&layout->flow.keys, g) == pen->content->grid->run->queries[0])
        attn_figure_add_outline(pen, (double[]){x - 3, y, x + width + 3, y + 1.35 * size}, 1.5,
                                pen->ink);
}

/* Draws the number of heads of group G with the top of its line at Y, in WIDTH. */
static void add_count(struct attn_figure_pen *pen, const struct under_layout *layout, size_t g,
                      double y, double width)
{
    const struct attn_shape_text text = {.x = layout->groups[g].x,
                                         .y = y + pen->letters.tick,
                                         .size = pen->letters.tick,
                                         .color = pen->faint};
    char count[COUNT_SIZE];
    const size_t n = count_of(layout, g, count);

    if (layout->groups[g].n == 0)
        return;
    if (attn_figure_string_width(pen, count, n) * text.size > width)
        attn_shapes_add_number(pen->shapes, &text, layout->groups[g].n);
    else
        attn_shapes_add_text(pen->shapes, &text, count, n);
}

/* Draws all at y TOP. TOPS [n_key + 1] gets the tops of the tiles of groups. */
static void add_groups(struct attn_figure_pen *pen, struct under_layout *layout, double top,
                       double *tops)
{
    double y = top;

    for (size_t k = 0; k < layout->n_key; k++) {
        const struct group *group = &layout->groups[k];
        tops[k] = layout->is_line ? top + layout->down : y;
        if (!layout->is_line && group->n == 0)
            continue;
        add_word(pen, layout, k, y);
        if (layout->is_line)
            add_count(pen, layout, k, top + HIGH * pen->letters.word, group->width + GAP / 2.0);
        else
            y += (double)rows_of(group) * layout->height + GAP / 2.0;
    }
    tops[layout->n_key] = top + layout->end + HIGH * pen->letters.tick;
    add_count(pen, layout, layout->n_key, top + layout->end, HUGE_VAL);
    add_tiles(pen, layout, tops);
}

static enum attn_status draw(struct attn_figure_pen *pen, struct under_layout *layout,
                             struct attn_error *err)
{
    const struct attn_grid_axis *keys = &layout->flow.keys;
    double height, *tops;

    layout->n_key = keys->n;
    layout->n_head = layout->flow.matrix->n_row;
    layout->room = pen->room > 0 ? pen->room - ATTN_FIGURE_PAD
                                 : ATTN_FIGURE_PAD +
                                       attn_figure_text_width(ATTN_FLOW_COLUMNS, pen->letters.word);
    ATTN_TRY(ATTN_ALLOC(layout->groups, layout->n_key + 1, err));
    ATTN_TRY(ATTN_ALLOC(layout->aims, layout->n_head, err));
    ATTN_TRY(ATTN_ALLOC(layout->weights, layout->n_head, err));
    find_aims(layout);
    size_tiles(pen, layout);
    layout->is_line = lay_line(pen, layout);
    if (!layout->is_line)
        lay_list(pen, layout);
    pen->has_text = !layout->is_line;
    height = layout->end;
    if (layout->groups[layout->n_key].n > 0)
        height += HIGH * pen->letters.tick;
    place_group(layout, layout->n_key, ATTN_FIGURE_PAD, &height);
    attn_figure_set_frame(pen, layout->right, 4, height, true);
    if (pen->is_measuring)
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(tops, layout->n_key + 1, err));
    add_groups(pen, layout, pen->layout.top, tops);
    attn_free(tops);
    return ATTN_OK;
}

enum attn_status attn_figure_draw_under(struct attn_figure_pen *pen, struct attn_error *err)
{
    const struct attn_grid *grid = pen->content->grid;
    struct under_layout layout = {0};
    enum attn_status status;

    if (!grid->is_share || pen->options->is_difference) {
        attn_error_set(err, ATTN_INVALID,
                       "'%s' has no shares of a row here, and '`figure under`' "
                       "shows the largest",
                       grid->name);
        return attn_error_hint(err, "`sites pattern` without `compare` has them");
    }
    ATTN_TRY(attn_flow_open(pen, 0, SIZE_MAX, &layout.flow, err));
    attn_buffer_append_string(&pen->subtitle, "heads under their strongest keys; ");
    status = draw(pen, &layout, err);
    attn_free(layout.groups);
    attn_free(layout.aims);
    attn_free(layout.weights);
    return status;
}
