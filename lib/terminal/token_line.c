/* token_line.c - see token_line.h. */
#include "terminal/token_line.h"

#include "encode/colormap_internal.h"
#include "encode/text_table.h"
#include "trace/site_internal.h"

#include <math.h>

/* The texts of the columns, or NULL. */
static const struct attn_token_texts *find_texts(const struct attn_heatmap *map,
                                                 const struct attn_level_matrix *matrix)
{
    const struct attn_token_texts *texts =
        attn_writer_has_own_keys(map->writer, matrix->layer) ? &map->tokens : &map->source_tokens;

    return attn_site_has_keys(matrix->site) && texts->n > 0 ? texts : NULL;
}

/* What stands behind a token where there are no colours. */
static void make_percent(struct attn_heatmap *map, enum attn_cell_kind kind, float value)
{
    map->label.size = 0;
    if (map->line.depth != ATTN_DEPTH_NONE || kind == ATTN_CELL_MASKED)
        return;
    if (kind == ATTN_CELL_VALUE && lround(100 * (double)value) != 0)
        attn_buffer_append_format(&map->label, "(%ld)", lround(100 * (double)value));
    else if (kind != ATTN_CELL_VALUE)
        attn_buffer_append_string(&map->label, kind == ATTN_CELL_HIDDEN ? "(--)" : "(!!)");
}

enum attn_status attn_token_line_draw(struct attn_heatmap *map,
                                      const struct attn_level_matrix *matrix,
                                      struct attn_error *err)
{
    const struct attn_token_texts *texts = find_texts(map, matrix);
    const struct attn_heatmap_colors colors = attn_heatmap_colors(map->writer, matrix);
    const bool has_own = attn_writer_has_own_keys(map->writer, matrix->layer);
    size_t used = 0;
    enum attn_status status = ATTN_OK;

    if (!texts)
        return attn_error_set(err, ATTN_INVALID, "'%s' has no tokens to be drawn as",
                              attn_site_name(matrix->site));
    for (size_t key = 0; key < texts->n && status == ATTN_OK; key++) {
        float value = 0;
        const enum attn_cell_kind kind = attn_level_cell(matrix, 0, key, &value);
        struct attn_paint paint = ATTN_PAINT_NONE;
        size_t size;
        const char *text = attn_token_text(texts, key, &size);

        make_percent(map, kind, value);
        if (used > 0 && used + attn_text_width(text, size) + map->label.size > map->width) {
            status = attn_color_line_write(&map->line, map->sink, err);
            used = 0;
        }
        if (used == 0 && size > 0 && *text == ' ')
            text++, size--;
        if (kind == ATTN_CELL_VALUE)
            paint = attn_paint_behind(
                attn_ink_of(colors.map, colors.theme,
                            attn_color_level(&colors.scale, colors.range, (double)value)),
                map->line.depth);
        paint.is_underlined = has_own && key == map->writer->queries[0];
        attn_color_line_paint(&map->line, paint);
        attn_color_line_append(&map->line, text, size);
        attn_color_line_paint(&map->line, ATTN_PAINT_NONE);
        attn_color_line_append(&map->line, map->label.data, map->label.size);
        used += attn_text_width(text, size) + map->label.size;
    }
    return status == ATTN_OK ? attn_color_line_write(&map->line, map->sink, err) : status;
}
