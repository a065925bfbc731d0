#include "figures/under_layout.h"

#include <math.h>
#include <stdint.h>

enum {
    HIGHEST = 12, /* most rows of tiles under a line of words, if each word has room */
    LEAST_ACROSS = 3,
};

#define LEAST 0.34 /* part of the weight on the key of a head that stands under it */
#define PARKED 0.5 /* weight on sinks of a head that parks, of many */

static size_t at_least(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Returns the number of rows of tiles of GROUP. */
static size_t rows_of(const struct attn_under_group *group)
{
    return (group->n + group->across - 1) / group->across;
}

/* Returns the number of tiles that fit in a row of WIDTH; at least one. */
static size_t tiles_in(const struct attn_under_layout *layout, double width)
{
    return (size_t)fmax(1, (width + layout->tile_gap) / layout->tile_width);
}

/* Sets the size of GROUP, which is at least as wide as its TEXT, with at most DOWN rows of tiles.
 */
static void size_group(const struct attn_under_layout *layout, struct attn_under_group *group,
                       double text, size_t down)
{
    group->across = at_least((group->n + down - 1) / down, tiles_in(layout, text));
    if (group->across > group->n)
        group->across = at_least(group->n, 1);
    group->width = text;
    if (group->n > 0)
        group->width = fmax(text, (double)group->across * layout->tile_width - layout->tile_gap);
}

/* --- A line of words ----------------------------------------------------------------------- */

/* Places the words in a line with at most DOWN rows of tiles. Returns false if they do not fit. */
static bool place_words(struct attn_under_layout *layout, size_t down)
{
    double x = layout->left;

    for (size_t k = 0; k < layout->n_word; k++) {
        struct attn_under_group *group = &layout->groups[k];
        const size_t rows = at_least((group->n + LEAST_ACROSS - 1) / LEAST_ACROSS, 1);

        size_group(layout, group, group->word, rows < down ? rows : down);
        group->x = x;
        x += group->width + layout->gap;
    }
    layout->end = x - layout->gap;
    return layout->end <= layout->right;
}

/* Places the group after the words beside them, with as many rows as they have. Returns false if it
 * does not fit. */
static bool place_beside(struct attn_under_layout *layout, size_t rows)
{
    struct attn_under_group *next = &layout->groups[layout->n_word];

    if (layout->n_group == layout->n_word || next->n == 0)
        return false;
    size_group(layout, next, next->label, rows);
    next->x = layout->end + 2 * layout->gap;
    next->y = 0;
    if (next->x + next->width > layout->right)
        return false;
    layout->end = next->x + next->width;
    return true;
}

/* Places the groups from FIRST on below Y, each in the whole width. */
static void place_below(struct attn_under_layout *layout, size_t first, double y)
{
    for (size_t g = first; g < layout->n_group; g++) {
        struct attn_under_group *group = &layout->groups[g];

        if (group->n == 0)
            continue;
        size_group(layout, group, layout->right - layout->left, SIZE_MAX);
        group->x = layout->left;
        group->y = y + layout->line;
        y = group->y + (double)rows_of(group) * layout->tile_height + layout->gap;
        layout->bottom = y - layout->gap;
        layout->end = fmax(layout->end, group->x + (double)group->across * layout->tile_width -
                                            layout->tile_gap);
    }
}

/* Spreads the first N groups over the room. */
static void spread(struct attn_under_layout *layout, size_t n)
{
    double more = 0;

    if (n > 1)
        more =
            fmin(layout->most_gap - layout->gap, (layout->right - layout->end) / (double)(n - 1));
    if (more < 0)
        more = 0;
    for (size_t k = 0; k < n; k++)
        layout->groups[k].x += more * (double)k;
    layout->end += more * (double)(n - 1);
    for (size_t k = 0; k < n && layout->is_leftwards; k++) {
        struct attn_under_group *group = &layout->groups[k];

        group->x = layout->left + layout->end - group->x - group->width;
    }
}

/* Lays out a line of words with the fewest rows of tiles that fit. Returns false if none do. */
static bool lay_line(struct attn_under_layout *layout)
{
    size_t most = 1, rows = 0, n = layout->n_word, down, highest;

    for (size_t k = 0; k < layout->n_word; k++)
        most = at_least(layout->groups[k].n, most);
    highest = layout->most_rows > 0 ? layout->most_rows : HIGHEST + most / HIGHEST;
    for (down = (size_t)ceil(sqrt((double)most / 2)); !place_words(layout, down); down++)
        if (down >= most || down >= highest)
            return false;
    for (size_t k = 0; k < layout->n_word; k++) {
        layout->groups[k].y = 0;
        rows = at_least(rows_of(&layout->groups[k]), rows);
    }
    n += place_beside(layout, at_least(rows, 1));
    if (n > layout->n_word)
        rows = at_least(rows_of(&layout->groups[layout->n_word]), rows);
    spread(layout, n);
    layout->bottom = (double)rows * layout->tile_height;
    place_below(layout, n, layout->bottom + layout->gap);
    return true;
}

/* --- A list -------------------------------------------------------------------------------- */

/* Lays out a list in which each word has its own rows, and the other groups stand below. */
static void lay_rows(struct attn_under_layout *layout)
{
    double y = 0;

    for (size_t k = 0; k < layout->n_word; k++) {
        struct attn_under_group *group = &layout->groups[k];

        group->x = layout->left + group->label;
        group->y = y;
        size_group(layout, group, layout->right - group->x, SIZE_MAX);
        if (group->n == 0)
            continue;
        y += (double)rows_of(group) * layout->tile_height + layout->gap / 2;
        layout->end = fmax(layout->end, group->x + (double)group->across * layout->tile_width);
    }
    layout->bottom = y;
    place_below(layout, layout->n_word, y);
}

/* Moves *X, *Y to the next row if what follows is WIDTH wide and does not fit. */
static void wrap(const struct attn_under_layout *layout, double width, double *x, double *y)
{
    if (*x <= layout->left || *x + width <= layout->right)
        return;
    *x = layout->left;
    *y += layout->tile_height;
}

/* Lays out a list in which groups follow each other, each after its label. */
static void lay_flow(struct attn_under_layout *layout)
{
    double x = layout->left, y = 0;

    for (size_t g = 0; g < layout->n_group; g++) {
        struct attn_under_group *group = &layout->groups[g];

        if (group->n == 0)
            continue;
        wrap(layout, group->label + layout->tile_width, &x, &y);
        group->x = x;
        group->y = y;
        group->width = group->label;
        x += group->label;
        for (size_t i = 0; i < layout->n_tile; i++) {
            struct attn_under_tile *tile = &layout->tiles[i];

            if (tile->group != g)
                continue;
            wrap(layout, layout->tile_width - layout->tile_gap, &x, &y);
            tile->x = x;
            tile->y = y;
            x += layout->tile_width;
            layout->end = fmax(layout->end, x - layout->tile_gap);
        }
        x += layout->gap;
    }
    layout->bottom = y + layout->tile_height;
}

/* Places the tiles of each group in rows. */
static void place_tiles(struct attn_under_layout *layout)
{
    for (size_t g = 0; g < layout->n_group; g++)
        layout->groups[g].n = 0;
    for (size_t i = 0; i < layout->n_tile; i++) {
        struct attn_under_tile *tile = &layout->tiles[i];
        struct attn_under_group *group = &layout->groups[tile->group];
        const size_t row = group->n / group->across, column = group->n % group->across;

        tile->x = group->x + (double)column * layout->tile_width;
        tile->y = group->y + (double)row * layout->tile_height;
        group->n++;
    }
}

void attn_under_lay_out(struct attn_under_layout *layout)
{
    for (size_t g = 0; g < layout->n_group; g++)
        layout->groups[g].n = 0;
    for (size_t i = 0; i < layout->n_tile; i++)
        layout->groups[layout->tiles[i].group].n++;
    layout->end = layout->left;
    layout->is_line = !layout->is_list && lay_line(layout);
    if (!layout->is_line)
        layout->end = layout->left;
    if (!layout->is_line && layout->is_flowing)
        lay_flow(layout);
    else if (!layout->is_line)
        lay_rows(layout);
    if (layout->is_line || !layout->is_flowing)
        place_tiles(layout);
}

struct attn_under_aim attn_under_aim_of(const float *weights, const bool *is_sink, size_t n,
                                        bool is_of_many)
{
    struct attn_under_aim aim = {.sink = SIZE_MAX};
    size_t other = 0;
    double most = 0, on_sink = 0, rest = 0;

    for (size_t k = 0; k < n; k++) {
        const bool is_other = !is_sink || !is_sink[k];
        const double weight = weights[k] > 0 ? (double)weights[k] : 0;

        rest += is_other ? weight : 0;
        if (weight > most) {
            most = weight;
            aim.key = k;
        }
        if (is_other && weight > aim.beside) {
            aim.beside = weight;
            other = k;
        }
        if (!is_other && weight > on_sink) {
            on_sink = weight;
            aim.sink = k;
        }
    }
    if (!is_of_many || !is_sink)
        rest = 1;
    else {
        aim.key = other;
        most = aim.beside;
    }
    if (1 - rest >= PARKED)
        aim.place = ATTN_UNDER_PARKS;
    else if (most <= 0 || most < LEAST * rest)
        aim.place = ATTN_UNDER_EVERYWHERE;
    return aim;
}
