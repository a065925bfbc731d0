/* heatmap_patches.c - draws one row of a head over the picture of the run: one cell per patch, with
 * percentages if they fit; [CLS] and registers are listed below. */
#include "terminal/heatmap_internal.h"

#include "formats/float_text.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <string.h>

enum {
    EDGE = 3,       /* columns of the row number at the left */
    WIDE = 5,       /* columns of a cell with one decimal, including the gap before it */
    NARROW = 4,     /* columns of a cell without decimals */
    SHADE = 2,      /* columns of a cell without a number */
    SHADED_STEP = 5 /* patches between two numbers above cells without numbers */
};

/* Returns the columns of a cell; 0 if the picture does not fit. */
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

/* Returns the colors of ROW. By default they end at the largest weight on a patch. */
static struct attn_heatmap_colors colors_of(const struct attn_heatmap *map,
                                            const struct attn_level_matrix *matrix, size_t row)
{
    struct attn_heatmap_colors colors = attn_heatmap_colors(map, matrix);
    const struct attn_backdrop *backdrop = map->writer->labels.backdrop;
    double largest;

    if (colors.scale.span == ATTN_SPAN_ROW)
        colors.range = attn_level_range(matrix, &colors.scale, row);
    if (map->picture->color_scale.span != ATTN_SPAN_DEFAULT || colors.scale.span != ATTN_SPAN_UNIT)
        return colors;
    largest = fmax(attn_grid_largest_mapped(backdrop, matrix, row), attn_grid_least_end(backdrop));
    colors.range = (struct attn_color_range){colors.scale.is_signed ? -largest : 0, largest};
    return colors;
}

struct patches {
    const struct attn_heatmap_colors *colors;
    const struct attn_backdrop *backdrop;
    const struct attn_level_matrix *matrix;
    size_t row, pitch;
};

/* Appends VALUE in percent: "12.3", or if IS_NARROW "12" or ".4"; "." if it rounds to 0. */
static void append_number(struct attn_buffer *out, float value, bool is_narrow)
{
    char number[ATTN_FIXED_TEXT_SIZE], *text = number;
    const bool is_small = is_narrow && 100 * value < 0.95F;
    size_t n = attn_float_text_fixed(100 * value, is_small || !is_narrow, number);

    if (is_small && n > 2 && number[0] == '0')
        text++, n--;
    if (strspn(text, "-0.") == n)
        attn_buffer_append_char(out, '.');
    else
        attn_buffer_append(out, text, n);
}

static size_t put_patch(struct attn_heatmap *map, const void *of, struct attn_sheet_spot at)
{
    const struct patches *p = of;
    const size_t width = p->pitch - (p->pitch > SHADE);
    const size_t i = p->backdrop->n_front + at.row * p->backdrop->n_col + at.column;
    const struct attn_heatmap_cell cell =
        attn_heatmap_cell(p->colors, p->colors->range, p->matrix, p->row, i);

    attn_heatmap_append_mark(map, cell.kind);
    if (cell.kind == ATTN_CELL_VALUE && p->pitch > SHADE)
        append_number(&map->label, cell.value, p->pitch == NARROW);
    attn_heatmap_put_cell(map, p->colors, cell, map->label.size, width);
    return width;
}

static size_t put_number(struct attn_heatmap *map, const void *of, struct attn_sheet_spot at)
{
    (void)of;
    attn_buffer_append_format(&map->label, "%*zu", EDGE, at.row);
    attn_heatmap_put_label(map);
    return EDGE;
}

/* Prints the numbers of the tokens before the patches: "[CLS] 4.8 [REG0] 1.2" */
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
    return attn_heatmap_end_text(map, 2, err);
}

enum attn_status attn_heatmap_draw_patches(struct attn_heatmap *map,
                                           const struct attn_level_matrix *matrix, size_t row,
                                           struct attn_error *err)
{
    const struct attn_heatmap_colors colors = colors_of(map, matrix, row);
    const bool is_share = attn_site_range(matrix->at.site) == ATTN_RANGE_SHARE;
    const struct attn_backdrop *backdrop = map->writer->labels.backdrop;
    const size_t pitch = pitch_of(map, is_share), position = map->writer->queries[row];
    const struct patches patches = {&colors, backdrop, matrix, row, pitch};
    const struct attn_sheet sheet = {.of = &patches,
                                     .n_row = backdrop->n_row,
                                     .last = backdrop->n_col,
                                     .left = EDGE + 1,
                                     .pitch = pitch,
                                     .cell_width = pitch - (pitch > SHADE),
                                     .n = backdrop->n_col,
                                     .first_apart = SIZE_MAX,
                                     .n_beside = 1,
                                     .corner = "",
                                     .label_step = pitch > SHADE ? 1 : SHADED_STEP,
                                     .is_right = pitch > SHADE,
                                     .most_label_end = SIZE_MAX,
                                     .make_label = attn_sheet_make_number,
                                     .put_edge = put_number,
                                     .put_cell = put_patch};

    attn_matrix_name_append(map->writer, &matrix->at, &map->label);
    attn_buffer_append_string(&map->label, ", query ");
    attn_grid_append_position(map->writer->labels.backdrop, &map->tokens[0], position, &map->label);
    attn_buffer_append_string(&map->label, is_share && pitch > SHADE ? ", in percent" : "");
    ATTN_TRY(attn_heatmap_end_line(map, err));
    ATTN_TRY(attn_sheet_draw(map, &sheet, err));
    ATTN_TRY(draw_front(map, matrix, row, is_share, err));
    if (pitch > SHADE && map->line.depth == ATTN_DEPTH_NONE)
        return ATTN_OK; /* numbers are shown, so no legend is needed */
    return attn_heatmap_end_legend(map, &colors, err);
}
