/* heatmap_heads.c - see heatmap_internal.h: a map with a cell per head. */
#include "terminal/heatmap_internal.h"
#include "trace/trace_internal.h"

#include <math.h>

/* Returns the colors of weights: the user's color map, or greys beside hues. */
static struct attn_heatmap_colors colors_of(const struct attn_head_map *heads)
{
    const struct attn_level_matrix matrix = {.at.site = ATTN_SITE_PATTERN, .most = 1};

    struct attn_heatmap_colors colors = attn_heatmap_colors(heads->map, &matrix);

    if (!heads->map->picture->colormap)
        colors.hue = colors.theme == ATTN_THEME_DARK ? 0xffffff : 0x010101;
    return colors;
}

/* Returns the type of a head of this text: of the largest share of the rest if it is short. */
static struct attn_head_type type_of(const struct attn_head_map *heads,
                                     const struct attn_location *at)
{
    struct attn_head_type type = {.kind = NULL};
    struct attn_head_mix mix;

    if (!heads->mixes || !heads->mixes[0])
        return type;
    attn_head_mixes_find(heads->mixes[0], at, &mix);
    type = attn_head_type_of(&mix, 0);
    type.kind = type.kind ? type.kind : type.largest;
    return type;
}

/* Lists the kinds that occur in *occurs; all while lines are counted. */
static enum attn_status end_legend(const struct attn_head_map *heads, struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(heads->selection);
    struct attn_buffer *label = &heads->map->label;
    bool occurs[ATTN_N_HEAD_KIND] = {false};

    for (size_t i = 0; i < dims->n_layer * dims->n_head; i++) {
        const struct attn_location at = attn_head_at(dims, ATTN_SITE_PATTERN, i);
        const struct attn_head_type type = attn_selection_has_head(heads->selection, &at) && err
                                               ? type_of(heads, &at)
                                               : (struct attn_head_type){.kind = NULL};

        if (type.kind)
            occurs[type.kind - attn_head_kind_at(0)] = true;
    }
    attn_buffer_append_string(label, dims->n_position < ATTN_HEAD_TYPE_TOKENS
                                         ? "largest share beside parks (types need 30 tokens):"
                                         : "type of the weight beside parks:");
    for (size_t i = 0; i < ATTN_N_HEAD_KIND; i++) {
        const struct attn_head_kind *kind = attn_head_kind_at(i);

        if (!occurs[i] && err)
            continue;
        attn_buffer_append_format(label, "  %c %s", kind->letter, kind->name);
    }
    attn_buffer_append_string(label, "  bar height: weight not parked");
    return attn_heatmap_end_text(heads->map, 2, err);
}

/* Prints the cell of a head: its letter, and where a column is free a bar of the part of its weight
 * that is not parked. */
static size_t put_head(struct attn_heatmap *map, const void *of, struct attn_sheet_spot spot)
{
    static const char *const bars[2][5] = {{" ", ".", ":", "*", "#"},
                                           {" ", "\u2582", "\u2584", "\u2586", "\u2588"}};
    const struct attn_head_map *heads = of;
    const struct attn_dims *dims = attn_selection_dims(heads->selection);
    const struct attn_location at =
        attn_head_at(dims, ATTN_SITE_PATTERN, spot.row * dims->n_head + spot.column);
    const size_t width = heads->sheet.cell_width;
    struct attn_heatmap_colors colors = colors_of(heads);
    struct attn_heatmap_cell cell = {.kind = ATTN_CELL_HIDDEN};
    struct attn_head_type type;
    const size_t indent = map->line.depth != ATTN_DEPTH_NONE && width > 2;
    size_t used = 1 + indent;

    if (!attn_selection_has_head(heads->selection, &at))
        return 0;
    type = type_of(heads, &at);
    attn_buffer_append_format(&map->label, "%s%c", indent > 0 ? " " : "",
                              type.kind ? type.kind->letter : ' ');
    if (type.kind) {
        cell.kind = ATTN_CELL_VALUE;
        cell.place = attn_color_place(&colors.scale, colors.range, type.weight * (1 - type.park));
        if (!map->picture->colormap)
            colors.hue = type.kind->hue;
    }
    if (type.kind && width > 1) {
        attn_buffer_append_string(
            &map->label,
            bars[!map->picture->is_plain][(int)fmin(4, ceil(4 * (1 - type.park) - 0.1))]);
        used++;
    }
    attn_buffer_append_format(&map->label, "%*s", (int)(width - used), "");
    attn_heatmap_put_cell(map, &colors, cell, width, width);
    return width;
}

/* Plans cells of WIDTH columns, and rows of layers side by side if the sheet is too long for a
 * screen. Returns false if the heads of a layer do not fit one line. */
static bool fits(struct attn_head_map *heads, size_t width)
{
    enum { SCREEN_LINES = 24, N_HEADER = 1 };
    const struct attn_dims *dims = attn_selection_dims(heads->selection);
    struct attn_sheet *sheet = &heads->sheet;
    struct attn_heatmap *map = heads->map;
    size_t n_beside = 1;
    bool is_fit;

    sheet->n_together = dims->n_kv_head < dims->n_head ? dims->n_head / dims->n_kv_head : 0;
    /* aligns labels with the letters in the cells */
    sheet->label_indent = width > 2 && map->line.depth != ATTN_DEPTH_NONE;
    while (dims->n_layer > SCREEN_LINES * n_beside &&
           attn_sheet_fit(sheet, map->width, width, width, n_beside + 1))
        n_beside++;
    is_fit = attn_sheet_fit(sheet, map->width, width, width, n_beside);
    attn_heatmap_begin_count(map);
    end_legend(heads, NULL);
    heads->n_line = N_HEADER + attn_sheet_n_line(sheet) + attn_heatmap_end_count(map);
    return is_fit;
}

void attn_head_map_plan(struct attn_head_map *heads, struct attn_heatmap *map,
                        const struct attn_selection *selection,
                        struct attn_head_mixes *const *mixes, size_t most_lines)
{
    enum { MOST_WIDTH = 3 };
    const struct attn_dims *dims = attn_selection_dims(selection);
    struct attn_head_map best = {0};

    *heads = (struct attn_head_map){.map = map, .selection = selection, .mixes = mixes};
    heads->sheet = attn_sheet_of_heads(heads, dims->n_layer, dims->n_head, map->width);
    heads->sheet.put_cell = put_head;
    for (size_t width = MOST_WIDTH; width > 0; width--)
        if ((fits(heads, width) || width == 1) &&
            (best.n_line == 0 || (best.n_line > most_lines && heads->n_line < best.n_line)))
            best = *heads;
    *heads = best;
}

enum attn_status attn_head_map_draw(const struct attn_head_map *heads, struct attn_error *err)
{
    ATTN_TRY(attn_sheet_draw(heads->map, &heads->sheet, err));
    return end_legend(heads, err);
}
