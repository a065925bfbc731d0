/* heatmap_heads.c - see heatmap_internal.h: heads across, layers down, and a map with a cell per
 * head. */
#include "terminal/heatmap_internal.h"
#include "trace/trace_internal.h"

#include <math.h>

enum { LEAST_GAP = 2, MOST_GAP = 4 }; /* columns between layers beside each other */

/* --- Columns --------------------------------------------------------------------------------- */

bool attn_head_columns_fit(struct attn_head_columns *columns, size_t most, size_t n_head,
                           size_t width, size_t gap, size_t n_beside)
{
    const size_t room = most + gap > columns->left ? most + gap - columns->left : 0;
    size_t needed, spare;

    columns->pitch = width + gap;
    columns->n = room / columns->pitch;
    columns->n_beside = 1;
    columns->gap = 0;
    if (attn_head_column(columns, n_head - 1) + width > most)
        columns->n_together = 0;
    if (columns->n < n_head) {
        columns->n = columns->n > 0 ? columns->n : 1;
        columns->width = columns->left + columns->n * columns->pitch - gap;
        return false;
    }
    columns->n = n_head;
    columns->width = attn_head_column(columns, n_head - 1) + width;
    needed = n_beside * columns->width + (n_beside - 1) * LEAST_GAP;
    if (needed > most)
        return false;
    spare = n_beside > 1 ? (most - needed) / (n_beside - 1) : 0;
    columns->n_beside = n_beside;
    columns->gap = LEAST_GAP + spare < MOST_GAP ? LEAST_GAP + spare : MOST_GAP;
    return true;
}

enum attn_status attn_heatmap_draw_head_numbers(struct attn_heatmap *map,
                                                const struct attn_head_columns *columns,
                                                struct attn_error *err)
{
    for (size_t i = 0, at = 0; i < columns->n_beside; i++) {
        const size_t left = i * (columns->width + columns->gap);

        attn_color_line_blanks(&map->line, left > at ? left - at : 0);
        attn_color_line_string(&map->line, "  head  ");
        at = left + sizeof "  head  " - 1;
        for (size_t head = 0; head < columns->n; head++) {
            const size_t column = left + attn_head_column(columns, head);

            attn_buffer_append_format(&map->label, "%*s%zu", head < 10 ? (int)columns->indent : 0,
                                      "", head);
            if (at > column || column + map->label.size > map->width) {
                map->label.size = 0;
                continue;
            }
            attn_color_line_blanks(&map->line, column - at);
            at = column + map->label.size + 1;
            attn_heatmap_put_label(map);
            attn_color_line_blanks(&map->line, 1);
        }
    }
    return attn_heatmap_end_line(map, err);
}

/* --- The map --------------------------------------------------------------------------------- */

/* Returns the colours of weights: the user's colour map, or greys beside hues. */
static struct attn_heatmap_colors colors_of(const struct attn_head_map *heads)
{
    const struct attn_level_matrix matrix = {.at.site = ATTN_SITE_PATTERN, .most = 1};

    struct attn_heatmap_colors colors = attn_heatmap_colors(heads->map, &matrix);

    if (!heads->map->picture->colormap)
        colors.hue = colors.theme == ATTN_THEME_DARK ? 0xffffff : 0x010101;
    return colors;
}

static void append_words(const struct attn_head_map *heads)
{
    attn_buffer_append_string(&heads->map->label, "looks most at");
    for (size_t i = 0; i < ATTN_N_HEAD_KIND; i++) {
        const struct attn_head_kind *kind = attn_head_kind_at(i);

        attn_buffer_append_format(&heads->map->label, "%s %c %s", i > 0 ? "," : "", kind->letter,
                                  attn_measure_name(kind->measure));
    }
    attn_buffer_append_string(&heads->map->label, "; mean weight:");
}

/* Plans cells of WIDTH columns, and layers beside each other to fit a screen. False if heads wrap.
 */
static bool fits(struct attn_head_map *heads, size_t width)
{
    enum { SCREEN_LINES = 24, N_HEADER = 1 };
    const struct attn_dims *dims = attn_selection_dims(heads->selection);
    const struct attn_heatmap_colors colors = colors_of(heads);
    struct attn_head_columns *columns = &heads->columns;
    const size_t most = heads->map->width, n_head = dims->n_head;
    size_t n_beside = 1;
    bool is_fit;

    columns->n_together = dims->n_kv_head < n_head ? n_head / dims->n_kv_head : 0;
    columns->left = dims->n_layer > 100 ? sizeof "layer 100" : sizeof "layer 1";
    while (dims->n_layer > SCREEN_LINES * n_beside &&
           attn_head_columns_fit(columns, most, n_head, width, 0, n_beside + 1))
        n_beside++;
    is_fit = attn_head_columns_fit(columns, most, n_head, width, 0, n_beside);
    append_words(heads);
    attn_heatmap_end_legend(heads->map, &colors, &heads->n_line, NULL);
    heads->n_line += N_HEADER + (dims->n_layer + columns->n_beside - 1) / columns->n_beside *
                                    ((n_head + columns->n - 1) / columns->n);
    return is_fit;
}

void attn_head_map_plan(struct attn_head_map *heads, struct attn_heatmap *map,
                        const struct attn_selection *selection,
                        const struct attn_measure_group *measures, size_t most_lines)
{
    enum { MOST_WIDTH = 3 };
    struct attn_head_map best = {0};

    *heads = (struct attn_head_map){.map = map, .selection = selection, .measures = measures};
    for (size_t width = MOST_WIDTH; width > 0; width--)
        if ((fits(heads, width) || width == 1) &&
            (best.n_line == 0 || (best.n_line > most_lines && heads->n_line < best.n_line)))
            best = *heads;
    *heads = best;
}

/* Returns the kind of a head, or NULL, and its weight. */
static const struct attn_head_kind *kind_of(const struct attn_head_map *heads,
                                            const struct attn_location *at, double *weight)
{
    const attn_measure_set set = attn_head_kind_measures();
    double values[ATTN_N_MEASURE];

    for (int m = 0; m < ATTN_N_MEASURE; m++)
        if (set & ATTN_MEASURE_BIT(m))
            values[m] = attn_measure_group_find(heads->measures, (enum attn_measure)m, at);
    return attn_head_kind_of(values, weight);
}

/* Returns the background of a head: its hue, or a colour of the user's map. */
static struct attn_paint paint_of(const struct attn_head_map *heads,
                                  const struct attn_heatmap_colors *colors,
                                  const struct attn_head_kind *kind, double weight)
{
    struct attn_heatmap_colors own = *colors;

    if (!heads->map->picture->colormap)
        own.hue = kind->hue;
    return attn_heatmap_paint(&own, weight, heads->map->line.depth);
}

/* Writes the cell of a head: its letter, and its shade if there is a column for it. */
static void put_head(const struct attn_head_map *heads, const struct attn_heatmap_colors *colors,
                     const struct attn_location *at)
{
    struct attn_heatmap *map = heads->map;
    const size_t width = heads->columns.pitch;
    const bool is_shaded = width > 1 && map->line.depth == ATTN_DEPTH_NONE;
    double weight;
    const struct attn_head_kind *kind = kind_of(heads, at, &weight);

    if (kind)
        attn_color_line_paint(&map->line, paint_of(heads, colors, kind, weight));
    attn_color_line_blanks(&map->line, !is_shaded && width > 2 ? 1 : 0);
    attn_color_line_append(&map->line, kind ? &kind->letter : "-", 1);
    if (is_shaded)
        attn_color_line_string(
            &map->line,
            kind ? attn_heatmap_shade(map, colors,
                                      attn_color_place(&colors->scale, colors->range, weight))
                 : " ");
    attn_color_line_blanks(&map->line, width > 2 || (width > 1 && !is_shaded) ? 1 : 0);
    attn_color_line_paint(&map->line, ATTN_PAINT_NONE);
}

/* Writes a line of the heads from FIRST on in the row LAYER. Returns its columns. */
static size_t put_layer(const struct attn_head_map *heads, const struct attn_heatmap_colors *colors,
                        size_t layer, size_t first)
{
    struct attn_heatmap *map = heads->map;
    const struct attn_dims *dims = attn_selection_dims(heads->selection);
    const size_t n_head = dims->n_head;
    struct attn_location at =
        attn_location_of_block(dims, ATTN_SITE_PATTERN, (int)layer, ATTN_ALL_HEADS);
    size_t used;

    if (first > 0)
        attn_buffer_append_format(&map->label, " head%2zu", first);
    else
        attn_heatmap_append_layer(map, &at);
    used = map->label.size;
    attn_heatmap_put_label(map);
    attn_color_line_blanks(&map->line, used < heads->columns.left ? heads->columns.left - used : 0);
    used = heads->columns.left;
    for (size_t head = first; head < first + heads->columns.n && head < n_head; head++) {
        at.head = (int)head;
        if (attn_selection_has_head(heads->selection, &at))
            put_head(heads, colors, &at);
        else
            attn_color_line_blanks(&map->line, heads->columns.pitch);
        used += heads->columns.pitch;
        if (head + 1 < n_head && attn_head_column(&heads->columns, head + 1 - first) > used) {
            attn_color_line_blanks(&map->line, 1);
            used++;
        }
    }
    return used;
}

enum attn_status attn_head_map_draw(const struct attn_head_map *heads, struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(heads->selection);
    const struct attn_head_columns *columns = &heads->columns;
    const struct attn_heatmap_colors colors = colors_of(heads);
    const size_t n_row = (dims->n_layer + columns->n_beside - 1) / columns->n_beside;
    struct attn_head_columns numbers = *columns;

    numbers.indent = columns->pitch > 2 && heads->map->line.depth != ATTN_DEPTH_NONE; /* letters */
    ATTN_TRY(attn_heatmap_draw_head_numbers(heads->map, &numbers, err));
    for (size_t row = 0; row < n_row; row++)
        for (size_t first = 0; first < dims->n_head; first += columns->n) {
            for (size_t layer = row, at = 0; layer < dims->n_layer; layer += n_row) {
                const size_t left = layer / n_row * (columns->width + columns->gap);

                attn_color_line_blanks(&heads->map->line, left - at);
                at = left + put_layer(heads, &colors, layer, first);
            }
            ATTN_TRY(attn_color_line_write(&heads->map->line, heads->map->sink, err));
        }
    append_words(heads);
    return attn_heatmap_end_legend(heads->map, &colors, NULL, err);
}
