/* heatmap_patches.c - a row of a head over the picture of the run: a cell per patch, with percents
 * if they fit, and [CLS] and registers below. */
#include "terminal/heatmap_internal.h"

#include "encode/float_text.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <string.h>

enum {
    EDGE = 3,   /* columns of the number of a row */
    WIDE = 5,   /* of a cell with one digit after the point, and of the gap before it */
    NARROW = 4, /* without that digit */
    SHADE = 2,  /* and without a number */
};

/* Columns of a cell; 0: the picture does not fit. */
static size_t pitch_of(const struct attn_heatmap *map, bool is_share)
{
    const size_t n = map->writer->labels.backdrop->n_col;
    const enum attn_cell_text values = map->picture->values;

    if (is_share && values != ATTN_CELL_TEXT_NEVER && EDGE + WIDE * n <= map->width)
        return WIDE;
    if (is_share && values != ATTN_CELL_TEXT_NEVER && EDGE + NARROW * n <= map->width)
        return NARROW;
    return EDGE + 1 + SHADE * n <= map->width ? SHADE : 0;
}

bool attn_heatmap_shows_patches(const struct attn_heatmap *map, const struct attn_levels *levels)
{
    for (size_t i = 0; i < levels->n; i++)
        if (!attn_grid_fits_backdrop(map->writer->labels.backdrop, &levels->items[i]))
            return false;
    return levels->n > 0 && pitch_of(map, false) > 0;
}

/* Colours up to the largest weight on a patch by default. */
static struct attn_heatmap_colors colors_of(const struct attn_heatmap *map,
                                            const struct attn_level_matrix *matrix, size_t row)
{
    struct attn_heatmap_colors colors = attn_heatmap_colors(map, matrix);
    double largest = 0;
    float value;

    if (map->picture->color_scale.span != ATTN_SPAN_DEFAULT || colors.scale.span != ATTN_SPAN_UNIT)
        return colors;
    for (size_t c = map->writer->labels.backdrop->n_front; c < matrix->n_cell_column; c++)
        if (attn_level_cell(matrix, row, c, &value) == ATTN_CELL_VALUE)
            largest = fmax(largest, fabs((double)value));
    largest = fmax(largest, attn_figure_least_end(map->writer->labels.backdrop));
    if (largest > 0)
        colors.range = (struct attn_color_range){colors.scale.is_signed ? -largest : 0, largest};
    return colors;
}

/* Appends "12.3" or, if IS_NARROW, "12" and ".4"; "." for 0 after rounding; "!!" if not finite. */
static void append_number(struct attn_buffer *out, enum attn_cell_kind kind, float value,
                          bool is_narrow)
{
    char number[ATTN_FIXED_TEXT_SIZE], *text = number;
    const bool is_small = is_narrow && 100 * value < 0.95F;
    size_t n = attn_float_text_fixed(100 * value, is_small || !is_narrow, number);

    if (is_small && n > 2 && number[0] == '0')
        text++, n--;

    if (kind == ATTN_CELL_NOT_FINITE)
        attn_buffer_append_string(out, "!!");
    else if (kind == ATTN_CELL_VALUE && strspn(text, "-0.") == n)
        attn_buffer_append_char(out, '.');
    else if (kind == ATTN_CELL_VALUE)
        attn_buffer_append(out, text, n);
}

static void put_cell(struct attn_heatmap *map, const struct attn_heatmap_colors *colors,
                     enum attn_cell_kind kind, float value, size_t pitch)
{
    const size_t gap = pitch > SHADE;
    size_t n;

    attn_color_line_blanks(&map->line, gap);
    if (kind == ATTN_CELL_VALUE)
        attn_color_line_paint(&map->line,
                              attn_heatmap_paint(colors, (double)value, map->line.depth));
    if (pitch > SHADE) {
        append_number(&map->label, kind, value, pitch == NARROW);
        n = map->label.size;
        attn_color_line_blanks(&map->line, n < pitch - gap ? pitch - gap - n : 0);
        attn_heatmap_put_label(map);
    } else if (kind == ATTN_CELL_VALUE && map->line.depth == ATTN_DEPTH_NONE) {
        const double place = attn_color_place(&colors->scale, colors->range, (double)value);

        for (int i = 0; i < SHADE; i++)
            attn_color_line_string(&map->line, attn_heatmap_shade(map, colors, place));
    } else {
        attn_color_line_blanks(&map->line, SHADE);
    }
    attn_color_line_paint(&map->line, ATTN_PAINT_NONE);
}

/* The patches of row ROW, with their numbers above and at the left. */
static enum attn_status draw_cells(struct attn_heatmap *map,
                                   const struct attn_heatmap_colors *colors,
                                   const struct attn_level_matrix *matrix, size_t row, size_t pitch,
                                   struct attn_error *err)
{
    const struct attn_backdrop *backdrop = map->writer->labels.backdrop;

    attn_color_line_blanks(&map->line, pitch == SHADE ? EDGE + 1 : EDGE);
    for (size_t c = 0; c < backdrop->n_col; c++)
        if (pitch > SHADE || c % 5 == 0)
            attn_buffer_append_format(&map->label, pitch > SHADE ? "%*zu" : "%-*zu",
                                      pitch > SHADE ? (int)pitch : 5 * SHADE, c);
    ATTN_TRY(attn_heatmap_end_line(map, err));
    for (size_t r = 0; r < backdrop->n_row; r++) {
        attn_buffer_append_format(&map->label, "%*zu%s", EDGE, r, pitch == SHADE ? " " : "");
        attn_heatmap_put_label(map);
        for (size_t c = 0; c < backdrop->n_col; c++) {
            float value = 0;
            const enum attn_cell_kind kind =
                attn_level_cell(matrix, row, backdrop->n_front + r * backdrop->n_col + c, &value);

            put_cell(map, colors, kind, value, pitch);
        }
        ATTN_TRY(attn_color_line_write(&map->line, map->sink, err));
    }
    return ATTN_OK;
}

/* "[CLS] 4.8  [REG0] 1.2" */
static enum attn_status draw_front(struct attn_heatmap *map, const struct attn_level_matrix *matrix,
                                   size_t row, bool is_share, struct attn_error *err)
{
    const struct attn_backdrop *backdrop = map->writer->labels.backdrop;
    char number[ATTN_FIXED_TEXT_SIZE];
    float value;

    if (backdrop->n_front == 0)
        return ATTN_OK;
    for (size_t i = 0; i < backdrop->n_front; i++) {
        attn_buffer_append_string(&map->label, "  ");
        attn_grid_append_position(backdrop, &map->tokens[0], i, &map->label);
        attn_buffer_append_char(&map->label, ' ');
        if (attn_level_cell(matrix, row, i, &value) == ATTN_CELL_VALUE)
            attn_buffer_append(
                &map->label, number,
                attn_float_text_fixed(is_share ? 100 * value : value, is_share ? 1 : 2, number));
        else
            attn_buffer_append_string(&map->label, "--");
    }
    return attn_heatmap_end_text(map, 2, NULL, err);
}

enum attn_status attn_heatmap_draw_patches(struct attn_heatmap *map,
                                           const struct attn_level_matrix *matrix, size_t row,
                                           struct attn_error *err)
{
    const struct attn_heatmap_colors colors = colors_of(map, matrix, row);
    const bool is_share = attn_site_range(matrix->at.site) == ATTN_RANGE_SHARE;
    const size_t pitch = pitch_of(map, is_share), position = map->writer->queries[row];

    attn_matrix_name_append(map->writer, &matrix->at, &map->label);
    attn_buffer_append_string(&map->label, ", query ");
    attn_grid_append_position(map->writer->labels.backdrop, &map->tokens[0], position, &map->label);
    attn_buffer_append_string(&map->label, is_share && pitch > SHADE ? ", in percent" : "");
    ATTN_TRY(attn_heatmap_end_line(map, err));
    ATTN_TRY(draw_cells(map, &colors, matrix, row, pitch, err));
    ATTN_TRY(draw_front(map, matrix, row, is_share, err));
    if (pitch > SHADE && map->line.depth == ATTN_DEPTH_NONE)
        return ATTN_OK; /* the numbers suffice */
    return attn_heatmap_end_legend(map, &colors, NULL, err);
}
