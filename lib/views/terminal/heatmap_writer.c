/* heatmap_writer.c - the format of heat maps as text: matrices, thumbnails (--figure grid), or the
 * text colored by one row (--figure tokens). */
#include "terminal/heatmap_internal.h"

#include "base/status_internal.h"
#include "base/text/escape.h"
#include "pictures/picture_internal.h"
#include "tables/text_table.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <string.h>

struct heatmap_writer {
    struct attn_writer base;
    struct attn_heatmap map;
    struct attn_levels *levels;                     /* owns */
    enum attn_figure figure;                        /* matrix, grid or tokens */
    struct attn_thumbnails thumbnails[ATTN_N_SITE]; /* for `grid`, one per site */
    bool has_printed;                               /* print an empty line before the next matrix */
};

static enum attn_status plan_grids(struct heatmap_writer *w, struct attn_error *err)
{
    for (int i = 0; i < ATTN_N_SITE; i++)
        if (attn_sites_have(attn_levels_sites(&w->base), i) &&
            attn_site_has_heads((enum attn_site)i))
            ATTN_TRY(attn_thumbnails_plan(&w->thumbnails[i], &w->map, w->levels, (enum attn_site)i,
                                          SIZE_MAX, err));
    return ATTN_OK;
}

static enum attn_status open_heatmap(struct attn_writer *writer, struct attn_error *err)
{
    struct heatmap_writer *w = (struct heatmap_writer *)writer;
    const struct attn_picture_options *picture = writer->options.picture;
    const enum attn_figure figure =
        picture->figure == ATTN_FIGURE_DEFAULT ? ATTN_FIGURE_MATRIX : picture->figure;
    const bool is_tokens = figure == ATTN_FIGURE_TOKENS;

    ATTN_TRY(attn_heatmap_init(&w->map, writer, true, err));
    writer->is_in_order = true;
    w->figure = figure;
    ATTN_TRY(attn_levels_create(writer, attn_levels_sites(writer), &w->levels, err));
    if (!(attn_figure_traits(figure) & ATTN_FIGURE_AS_TEXT)) {
        attn_error_set(err, ATTN_INVALID, "'`figure %s`' is not drawn as text, expected %s",
                       attn_figure_name(figure),
                       attn_figure_names(ATTN_FIGURE_AS_TEXT, " or ").text);
        return attn_error_hint(err, "`svg FILE` draws it");
    }
    w->levels->leaves_out_first = true;
    if (!is_tokens)
        attn_levels_limit(w->levels, SIZE_MAX, attn_heatmap_most_columns(writer));
    if (figure == ATTN_FIGURE_GRID)
        return plan_grids(w, err);
    if (!is_tokens || (w->levels->n == 1 && writer->n_query == 1))
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID,
                   "'`figure tokens`' draws one row of one head, and %zu rows of %zu are selected",
                   writer->n_query, w->levels->n);
    return attn_error_hint(err, "choose one of each, as with `heads 0.0` `queries -1`");
}

/* Draws MATRIX, which has one row and is not pooled, as the text of its columns in lines of the
 * map's width: each token stands on the color of its weight, or without colors is followed by its
 * percentage: The(13) keys(79). The token of the query is underlined. ATTN_INVALID if the columns
 * have no texts. */
static enum attn_status draw_tokens(struct attn_heatmap *map,
                                    const struct attn_level_matrix *matrix, struct attn_error *err)
{
    const struct attn_heatmap_colors colors = attn_heatmap_colors(map, matrix);
    const bool has_own = attn_writer_has_own_keys(map->writer, &matrix->at);
    const struct attn_token_texts *texts = &map->tokens[!has_own];
    size_t used = 0;

    if (!attn_site_has_keys(matrix->at.site) || texts->n == 0)
        return attn_error_set(err, ATTN_INVALID, "'%s' has no tokens to be drawn as",
                              attn_site_name(matrix->at.site));
    for (size_t key = 0; key < texts->n; key++) {
        const struct attn_heatmap_cell cell =
            attn_heatmap_cell(&colors, colors.range, matrix, 0, key);
        const bool has_percent =
            map->line.depth == ATTN_DEPTH_NONE && cell.kind != ATTN_CELL_MASKED;
        const long percent = cell.kind == ATTN_CELL_VALUE ? lround(100 * (double)cell.value) : 0;
        struct attn_paint paint = ATTN_PAINT_NONE;
        size_t size;
        const char *text = attn_token_text(texts, key, &size);

        if (has_percent && cell.kind != ATTN_CELL_VALUE)
            attn_buffer_append_string(&map->label, cell.kind == ATTN_CELL_HIDDEN ? "(--)" : "(!!)");
        else if (has_percent && percent != 0)
            attn_buffer_append_format(&map->label, "(%ld)", percent);
        if (used > 0 && used + attn_text_width(text, size) + map->label.size > map->width) {
            ATTN_TRY(attn_color_line_write(&map->line, map->sink, err));
            used = 0;
        }
        if (used == 0 && size > 0 && *text == ' ')
            text++, size--;
        if (cell.kind == ATTN_CELL_VALUE)
            paint = attn_heatmap_paint(&colors, cell, map->line.depth);
        paint.is_underlined = has_own && key == map->writer->queries[0];
        attn_color_line_paint(&map->line, paint);
        attn_color_line_append(&map->line, text, size);
        attn_color_line_paint(&map->line, ATTN_PAINT_NONE);
        used += attn_text_width(text, size) + map->label.size;
        attn_heatmap_put_label(map);
    }
    return attn_color_line_write(&map->line, map->sink, err);
}

static enum attn_status draw_title(struct heatmap_writer *w, struct attn_error *err)
{
    const char *title = w->base.options.picture->title;

    if (!title || !*title)
        return ATTN_OK;
    attn_escape_append(&w->map.label, title, strlen(title));
    w->has_printed = true;
    return attn_heatmap_end_line(&w->map, err);
}

static enum attn_status draw_matrix(struct heatmap_writer *w, size_t i, struct attn_error *err)
{
    const struct attn_level_matrix *matrix = &w->levels->items[i];
    const enum attn_color_span span = attn_heatmap_colors(&w->map, matrix).scale.span;
    const bool is_last = i + 1 == w->levels->n;

    if (i == 0)
        ATTN_TRY(draw_title(w, err));
    if (w->has_printed)
        attn_sink_write(w->base.sink, "\n", 1);
    w->has_printed = true;
    /* with a title, a lone matrix needs no name */
    if (!w->base.options.picture->title || w->levels->n > 1)
        ATTN_TRY(attn_heatmap_name(&w->map, matrix, err));
    ATTN_TRY(
        (w->figure == ATTN_FIGURE_TOKENS ? draw_tokens : attn_heatmap_draw)(&w->map, matrix, err));
    /* with a scale per matrix, every matrix gets its own legend */
    if (is_last || span == ATTN_SPAN_MATRIX)
        ATTN_TRY(attn_heatmap_legend(&w->map, matrix, err));
    attn_levels_drop(w->levels, i);
    return ATTN_OK;
}

static enum attn_status event_heatmap(struct attn_writer *writer,
                                      const struct attn_trace_event *event,
                                      const struct attn_place *place, struct attn_error *err)
{
    struct heatmap_writer *w = (struct heatmap_writer *)writer;
    size_t whole;

    ATTN_TRY(attn_levels_take(w->levels, event, place, &whole, err));
    attn_thumbnails_take(&w->thumbnails[event->at.site], event, place);
    return w->figure != ATTN_FIGURE_GRID && whole != SIZE_MAX ? draw_matrix(w, whole, err)
                                                              : ATTN_OK;
}

static enum attn_status draw_grids(struct heatmap_writer *w, struct attn_error *err)
{
    ATTN_TRY(draw_title(w, err));
    for (int i = 0; i < ATTN_N_SITE; i++) {
        const struct attn_thumbnails *thumbnails = &w->thumbnails[attn_site_order[i]];

        if (thumbnails->n_line == 0)
            continue;
        if (w->has_printed)
            attn_sink_write(w->base.sink, "\n", 1);
        w->has_printed = true;
        ATTN_TRY(attn_thumbnails_draw(thumbnails, err));
    }
    return ATTN_OK;
}

static enum attn_status finish_heatmap(struct attn_writer *writer, struct attn_error *err)
{
    struct heatmap_writer *w = (struct heatmap_writer *)writer;

    if (w->figure == ATTN_FIGURE_GRID)
        ATTN_TRY(draw_grids(w, err));
    return attn_buffer_check(&w->map.label, err);
}

static void release_heatmap(struct attn_writer *writer)
{
    struct heatmap_writer *w = (struct heatmap_writer *)writer;

    for (int i = 0; i < ATTN_N_SITE; i++)
        attn_thumbnails_release(&w->thumbnails[i]);
    attn_heatmap_release(&w->map);
    attn_levels_free(w->levels);
}

const struct attn_format attn_heatmap_format = {
    .name = "heatmap",
    .medium = ATTN_MEDIUM_HEATMAP,
    .title = "heat map",
    .is_picture = true,
    .tensors =
        &(const struct attn_writer_ops){
            .size = sizeof(struct heatmap_writer),
            .open = open_heatmap,
            .event = event_heatmap,
            .finish = finish_heatmap,
            .release = release_heatmap,
        },
};
