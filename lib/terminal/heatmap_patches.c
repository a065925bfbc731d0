/* heatmap_patches.c - draws one row of a head over the picture of the run: one cell per patch, with
 * percentages if they fit; [CLS] and registers are listed below. A map of a picture in a text is a
 * whole matrix, and below it are the shares of the other regions. */
#include "terminal/heatmap_internal.h"

#include "formats/float_text.h"
#include "measures/picture_maps.h"
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
static size_t pitch_of(const struct attn_heatmap *map, size_t n, bool is_share, bool is_signed)
{
    const enum attn_cell_text values = map->picture->values;

    if (is_share && values != ATTN_CELL_TEXT_NEVER && EDGE + WIDE * n <= map->width)
        return WIDE;
    if (is_share && !is_signed && values != ATTN_CELL_TEXT_NEVER && EDGE + NARROW * n <= map->width)
        return NARROW;
    return EDGE + 1 + SHADE * n <= map->width ? SHADE : 0;
}

/* Returns the picture of the map; one in a text has the rows and columns of MATRIX. */
static struct attn_backdrop backdrop_of(const struct attn_heatmap *map,
                                        const struct attn_level_matrix *matrix)
{
    const struct attn_labels *labels = &map->writer->labels;
    struct attn_backdrop backdrop = {0};

    if (labels->backdrop)
        return *labels->backdrop;
    if (!labels->seen || !attn_site_is_map(matrix->at.site))
        return backdrop;
    backdrop = *labels->seen;
    backdrop.n_row = matrix->n_row;
    backdrop.n_col = matrix->n_column;
    return backdrop;
}

bool attn_heatmap_shows_patches(const struct attn_heatmap *map, const struct attn_levels *levels)
{
    for (size_t i = 0; i < levels->n; i++) {
        const struct attn_backdrop backdrop = backdrop_of(map, &levels->items[i]);

        if (backdrop.n_col == 0 || pitch_of(map, backdrop.n_col, false, false) == 0 ||
            (!backdrop.is_in_text && !attn_grid_fits_backdrop(&backdrop, &levels->items[i])))
            return false;
    }
    return levels->n > 0;
}

/* Returns the colors of ROW. By default they end at the largest weight on a patch. */
static struct attn_heatmap_colors colors_of(const struct attn_heatmap *map,
                                            const struct attn_backdrop *backdrop,
                                            const struct attn_level_matrix *matrix, size_t row)
{
    struct attn_heatmap_colors colors = attn_heatmap_colors(map, matrix);
    double largest;

    if (colors.scale.span == ATTN_SPAN_ROW)
        colors.range = attn_level_range(matrix, &colors.scale, row);
    if (map->picture->color_scale.span != ATTN_SPAN_DEFAULT || colors.scale.span != ATTN_SPAN_UNIT)
        return colors;
    largest = !backdrop->is_in_text ? attn_grid_largest_mapped(backdrop, matrix, row)
              : matrix->least > matrix->most
                  ? 0 /* there is no number yet */
                  : fmax(fabs((double)matrix->least), fabs((double)matrix->most));
    largest = fmax(largest, attn_grid_least_end(backdrop));
    colors.range = (struct attn_color_range){colors.scale.is_signed ? -largest : 0, largest};
    return colors;
}

struct patches {
    const struct attn_heatmap_colors *colors;
    const struct attn_backdrop *backdrop;
    const struct attn_level_matrix *matrix;
    size_t row, pitch;
};

/* Appends VALUE in percent: "12.3", or if IS_NARROW "12", "-3" or ".4"; "." if it rounds to 0. */
static void append_number(struct attn_buffer *out, float value, bool is_narrow)
{
    char number[ATTN_FIXED_TEXT_SIZE], *text = number;
    const float size = is_narrow ? fabsf(value) : value;
    const bool is_small = is_narrow && 100 * size < 0.95F;
    size_t n = attn_float_text_fixed(100 * size, is_small || !is_narrow, number);

    if (is_small && n > 2 && number[0] == '0')
        text++, n--;
    if (strspn(text, "-0.") == n) {
        attn_buffer_append_char(out, '.');
        return;
    }
    attn_buffer_append(out, "-", is_narrow && value < 0);
    attn_buffer_append(out, text, n);
}

static size_t put_patch(struct attn_heatmap *map, const void *of, struct attn_sheet_spot at)
{
    const struct patches *p = of;
    const size_t width = p->pitch - (p->pitch > SHADE);
    const size_t i = p->backdrop->n_front + at.row * p->backdrop->n_col + at.column;
    const bool is_in_text = p->backdrop->is_in_text;
    struct attn_heatmap_cell cell =
        attn_heatmap_cell(p->colors, p->colors->range, p->matrix, is_in_text ? at.row : p->row,
                          is_in_text ? at.column : i);

    if (is_in_text && cell.kind == ATTN_CELL_NOT_FINITE)
        cell.kind = ATTN_CELL_HIDDEN; /* a sink */
    attn_heatmap_append_mark(map, cell.kind);
    if (cell.kind == ATTN_CELL_VALUE && p->pitch > SHADE)
        append_number(&map->label, cell.value, p->pitch == NARROW || p->colors->scale.is_signed);
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

/* Prints the numbers of the tokens before the patches, "[CLS] 4.8 [REG0] 1.2"; of a text, the
 * shares of the other regions. */
static enum attn_status draw_front(struct attn_heatmap *map, const struct patches *p,
                                   struct attn_error *err)
{
    const struct attn_backdrop *backdrop = p->backdrop;
    const bool is_share = attn_site_range(p->matrix->at.site) == ATTN_RANGE_SHARE;
    char number[ATTN_FIXED_TEXT_SIZE];
    float value;

    if (backdrop->is_in_text) {
        attn_heatmap_append_shares(map, &p->matrix->at);
        return attn_heatmap_end_text(map, 2, err);
    }
    if (backdrop->n_front == 0)
        return ATTN_OK;
    for (size_t i = 0; i < backdrop->n_front; i++) {
        attn_buffer_append_string(&map->label, "  ");
        attn_grid_append_position(backdrop, &map->tokens[0], i, &map->label);
        attn_buffer_append_char(&map->label, ' ');
        if (attn_level_cell(p->matrix, p->row, i, &value) == ATTN_CELL_VALUE)
            attn_buffer_append(
                &map->label, number,
                attn_float_text_fixed(is_share ? 100 * value : value, is_share ? 1 : 2, number));
        else
            attn_buffer_append_string(&map->label, "--");
    }
    return attn_heatmap_end_text(map, 2, err);
}

/* Plans the cells of ROW of MATRIX. Sets *is_share to whether its numbers are in percent. */
static struct patches plan(const struct attn_heatmap *map, const struct attn_level_matrix *matrix,
                           size_t row, struct attn_backdrop *backdrop,
                           struct attn_heatmap_colors *colors, bool *is_share)
{
    *backdrop = backdrop_of(map, matrix);
    *colors = colors_of(map, backdrop, matrix, row);
    *is_share = attn_grid_of_run(map->writer, map->tokens, matrix, 1).is_share;
    return (struct patches){
        colors, backdrop, matrix, row,
        pitch_of(map, backdrop->n_col, *is_share, colors->scale.is_signed && backdrop->is_in_text)};
}

bool attn_heatmap_has_percent(const struct attn_heatmap *map,
                              const struct attn_level_matrix *matrix)
{
    struct attn_heatmap_colors colors;
    struct attn_backdrop backdrop;
    bool is_share;

    return plan(map, matrix, 0, &backdrop, &colors, &is_share).pitch > SHADE && is_share;
}

enum attn_status attn_heatmap_draw_cells(struct attn_heatmap *map,
                                         const struct attn_level_matrix *matrix, size_t row,
                                         struct attn_error *err)
{
    struct attn_heatmap_colors colors;
    struct attn_backdrop backdrop;
    bool is_share;
    const struct patches patches = plan(map, matrix, row, &backdrop, &colors, &is_share);
    const size_t pitch = patches.pitch;
    const struct attn_sheet sheet = {.of = &patches,
                                     .n_row = backdrop.n_row,
                                     .last = backdrop.n_col,
                                     .left = EDGE + 1,
                                     .pitch = pitch,
                                     .cell_width = pitch - (pitch > SHADE),
                                     .n = backdrop.n_col,
                                     .first_apart = SIZE_MAX,
                                     .n_beside = 1,
                                     .corner = "",
                                     .label_step = pitch > SHADE ? 1 : SHADED_STEP,
                                     .is_right = pitch > SHADE,
                                     .most_label_end = SIZE_MAX,
                                     .make_label = attn_sheet_make_number,
                                     .put_edge = put_number,
                                     .put_cell = put_patch};

    ATTN_TRY(attn_sheet_draw(map, &sheet, err));
    ATTN_TRY(draw_front(map, &patches, err));
    if (pitch > SHADE && map->line.depth == ATTN_DEPTH_NONE)
        return ATTN_OK; /* numbers are shown, so no legend is needed */
    return attn_heatmap_end_legend(map, &colors, err);
}

enum attn_status attn_heatmap_draw_patches(struct attn_heatmap *map,
                                           const struct attn_level_matrix *matrix, size_t row,
                                           struct attn_error *err)
{
    const struct attn_labels *labels = &map->writer->labels;
    const struct attn_backdrop *backdrop = labels->backdrop;

    attn_matrix_name_append(map->writer, &matrix->at, matrix->image, &map->label);
    if (backdrop && !attn_site_is_pooled(matrix->at.site, attn_selection_dims(labels->selection))) {
        attn_buffer_append_string(&map->label, ", query ");
        attn_grid_append_position(backdrop, &map->tokens[0], map->writer->queries[row],
                                  &map->label);
    }
    attn_buffer_append_string(&map->label,
                              attn_heatmap_has_percent(map, matrix) ? ", in percent" : "");
    ATTN_TRY(attn_heatmap_end_line(map, err));
    return attn_heatmap_draw_cells(map, matrix, row, err);
}
