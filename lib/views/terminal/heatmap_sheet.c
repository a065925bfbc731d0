/* heatmap_sheet.c - see heatmap_internal.h: draws cells on their colors, and the legends of colors;
 * the layout of a sheet, for matrices, thumbnails and lists. */
#include "terminal/heatmap_internal.h"

#include "pictures/picture_internal.h"
#include "tables/text_table.h"

#include <math.h>
#include <string.h>

/* --- Cells ------------------------------------------------------------------------------------ */

enum {
    MOST_RAMP = 16, /* maximum columns of the color ramp in a legend */
    LEGEND_GAP = 2, /* columns before the color ramp */
    N_SHADE = 5
};

struct attn_heatmap_colors attn_heatmap_colors(const struct attn_heatmap *map,
                                               const struct attn_level_matrix *matrix)
{
    struct attn_heatmap_colors colors = {.theme = attn_picture_terminal_theme(map->picture)};
    const bool is_light = colors.theme == ATTN_THEME_LIGHT;

    colors.scale = attn_grid_of_run(map->writer, map->tokens, matrix, 1).scale;
    colors.map = attn_picture_colormap(map->picture, &colors.scale, is_light ? "blues" : "viridis");
    colors.range = attn_color_range(&colors.scale, (double)matrix->least, (double)matrix->most);
    if (is_light && map->line.depth != ATTN_DEPTH_NONE) /* 0 is close to the background color */
        colors.masked = attn_ink_nearest(
            attn_rgb_mix(attn_cell_look(ATTN_CELL_MASKED, colors.theme).ground, 1, colors.theme));
    return colors;
}

static struct attn_ink ink_at(const struct attn_heatmap_colors *colors, double place)
{
    return attn_ink_of(colors->map, colors->theme, (int)lround((ATTN_N_COLOR - 1) * place));
}

/* Returns the background color of a cell; masked cells may have one too. Not set: the terminal's
 * background. */
static struct attn_ink ink_of(const struct attn_heatmap_colors *colors,
                              struct attn_heatmap_cell cell)
{
    if (cell.kind == ATTN_CELL_VALUE)
        return ink_at(colors, cell.place);
    return cell.kind == ATTN_CELL_MASKED && !cell.is_beyond ? colors->masked
                                                            : (struct attn_ink){.is_set = false};
}

/* Returns the shade character of STEP, 0..4. */
static const char *shade(const struct attn_heatmap *map, int step)
{
    static const char *const shades[] = {" ", "\xe2\x96\x91", "\xe2\x96\x92", "\xe2\x96\x93",
                                         "\xe2\x96\x88"};
    static const char *const plain[] = {" ", ".", ":", "*", "#"};

    return map->picture->is_plain ? plain[step] : shades[step];
}

/* Returns the shade of a number at PLACE, for output without colors; signed numbers are shaded by
 * magnitude. Numbers below a hundredth of the largest are blank. */
static const char *find_shade(const struct attn_heatmap *map,
                              const struct attn_heatmap_colors *colors, double place)
{
    const bool is_signed = colors->scale.is_signed;
    const double small = attn_color_place(&colors->scale, colors->range, 0.01 * colors->range.high);
    const double least = is_signed ? fabs(2 * small - 1) : small;
    const double size = is_signed ? fabs(2 * place - 1) : place;

    return shade(map, size < least ? 0 : 1 + (int)fmin(floor(4 * size), 3));
}

struct attn_heatmap_cell attn_heatmap_cell(const struct attn_heatmap_colors *colors,
                                           struct attn_color_range range,
                                           const struct attn_level_matrix *matrix, size_t row,
                                           size_t column)
{
    struct attn_heatmap_cell cell = {.kind = ATTN_CELL_MASKED,
                                     .is_beyond = row >= matrix->n_cell_row};

    if (!cell.is_beyond)
        cell.kind = attn_level_cell(matrix, row, column, &cell.value);
    if (cell.kind == ATTN_CELL_VALUE)
        cell.place = attn_color_place(&colors->scale, range, (double)cell.value);
    return cell;
}

void attn_heatmap_append_mark(struct attn_heatmap *map, enum attn_cell_kind kind)
{
    if (kind == ATTN_CELL_HIDDEN || kind == ATTN_CELL_NOT_FINITE)
        attn_buffer_append_string(&map->label, kind == ATTN_CELL_HIDDEN ? "--" : "!!");
}

struct attn_paint attn_heatmap_paint(const struct attn_heatmap_colors *colors,
                                     struct attn_heatmap_cell cell, enum attn_color_depth depth)
{
    const struct attn_ink ink = ink_of(colors, cell);

    return cell.kind == ATTN_CELL_VALUE ? attn_paint_behind(ink, depth)
                                        : (struct attn_paint){.ground = ink};
}

void attn_heatmap_put_cell(struct attn_heatmap *map, const struct attn_heatmap_colors *colors,
                           struct attn_heatmap_cell cell, size_t used, size_t width)
{
    const enum attn_color_depth depth = map->line.depth;

    if (cell.kind == ATTN_CELL_VALUE && used == 0 && depth == ATTN_DEPTH_NONE)
        for (; used < 2; used++)
            attn_buffer_append_string(&map->label, find_shade(map, colors, cell.place));
    attn_color_line_paint(&map->line, attn_heatmap_paint(colors, cell, depth));
    attn_color_line_blanks(&map->line, used < width ? width - used : 0);
    attn_heatmap_put_label(map);
    attn_color_line_paint(&map->line, ATTN_PAINT_NONE);
}

void attn_heatmap_put_halves(struct attn_heatmap *map, const struct attn_heatmap_colors *colors,
                             struct attn_heatmap_cell upper, struct attn_heatmap_cell lower)
{
    const bool has_upper = upper.kind == ATTN_CELL_VALUE, has_lower = lower.kind == ATTN_CELL_VALUE;
    const bool is_lower = has_lower && (!has_upper || fabsf(lower.value) > fabsf(upper.value));
    const bool has_value = has_upper || has_lower, is_colored = map->line.depth != ATTN_DEPTH_NONE;
    const struct attn_ink inks[] = {ink_of(colors, upper), ink_of(colors, lower)};
    struct attn_paint paint = ATTN_PAINT_NONE;
    const char *text = " ";

    if (upper.kind == ATTN_CELL_NOT_FINITE || lower.kind == ATTN_CELL_NOT_FINITE) {
        text = "!";
    } else if (!has_value && upper.kind == ATTN_CELL_HIDDEN) {
        text = "-";
    } else if (!is_colored && has_value) {
        text = find_shade(map, colors, (is_lower ? lower : upper).place);
    } else if (map->picture->is_plain || (!has_value && inks[0].is_set && inks[1].is_set)) {
        /* without half blocks: the color of the larger value */
        paint.ground = inks[is_lower || !inks[0].is_set];
    } else if (inks[0].is_set || inks[1].is_set) {
        text = inks[0].is_set ? "\xe2\x96\x80" : "\xe2\x96\x84";
        paint.text = inks[!inks[0].is_set];
        paint.ground = inks[0].is_set ? inks[1] : inks[0];
    }
    attn_color_line_paint(&map->line, paint);
    attn_color_line_string(&map->line, text);
    attn_color_line_paint(&map->line, ATTN_PAINT_NONE);
}

/* Prints a ramp of N columns from the first color to the last; without colors, of shades. */
static void put_ramp(struct attn_heatmap *map, const struct attn_heatmap_colors *colors, size_t n)
{
    const bool is_colored = map->line.depth != ATTN_DEPTH_NONE;

    for (size_t i = 0; i < n; i++) {
        struct attn_paint paint = ATTN_PAINT_NONE;

        if (is_colored)
            paint.ground = ink_at(colors, (double)i / (double)(n - 1));
        attn_color_line_paint(&map->line, paint);
        attn_color_line_string(&map->line, is_colored ? " " : shade(map, (int)i + 1));
    }
    attn_color_line_paint(&map->line, ATTN_PAINT_NONE);
}

enum attn_status attn_heatmap_end_legend(struct attn_heatmap *map,
                                         const struct attn_heatmap_colors *colors,
                                         struct attn_error *err)
{
    const size_t n_text = map->label.size, used = attn_text_width(map->label.data, n_text);
    size_t n_ramp = N_SHADE - 1, width, room;
    char low[ATTN_TICK_TEXT_SIZE], high[ATTN_TICK_TEXT_SIZE];
    bool is_beside; /* label and ramp share one line */

    attn_color_tick_text(colors->range.low, low);
    attn_color_tick_text(colors->range.high, high);
    attn_buffer_append_format(&map->label, "%s  %s, ", low, high);
    attn_color_scale_append(&colors->scale, &map->label);
    width = map->label.size - n_text + n_ramp;
    map->label.size = n_text;
    is_beside = n_text > 0 && used + LEGEND_GAP + width <= map->width;
    room = is_beside ? map->width - used - LEGEND_GAP : map->width;
    if (map->line.depth != ATTN_DEPTH_NONE && room > width)
        n_ramp = n_ramp + room - width < MOST_RAMP ? n_ramp + room - width : MOST_RAMP;
    if (!is_beside)
        ATTN_TRY(attn_heatmap_end_text(map, 1, err));
    attn_heatmap_put_label(map);
    attn_color_line_blanks(&map->line, is_beside ? LEGEND_GAP : 0);
    attn_color_line_string(&map->line, low);
    attn_color_line_blanks(&map->line, 1);
    put_ramp(map, colors, n_ramp);
    attn_color_line_blanks(&map->line, 1);
    attn_color_line_string(&map->line, high);
    attn_color_line_string(&map->line, ",");
    if (width > room)
        ATTN_TRY(attn_heatmap_end_line(map, err));
    else
        attn_color_line_blanks(&map->line, 1);
    attn_color_scale_append(&colors->scale, &map->label);
    return attn_heatmap_end_line(map, err);
}

enum attn_status attn_heatmap_draw_ticks(struct attn_heatmap *map,
                                         const struct attn_heatmap_colors *colors,
                                         struct attn_error *err)
{
    double ticks[ATTN_MOST_TICKS];
    const size_t n = attn_grid_ticks(&colors->scale, colors->range, ticks);
    const size_t indent = strlen("colors: ");
    size_t used = indent;

    attn_color_line_string(&map->line, "colors: ");
    for (size_t i = 0; i < n; i++) {
        const struct attn_heatmap_cell cell = {
            .kind = ATTN_CELL_VALUE,
            .place = attn_color_place(&colors->scale, colors->range, ticks[i])};
        char text[ATTN_TICK_TEXT_SIZE];
        const size_t width = attn_color_tick_text(ticks[i], text) + 3;

        if (used > indent && used + width - 1 > map->width) {
            ATTN_TRY(attn_heatmap_end_line(map, err));
            attn_color_line_blanks(&map->line, indent);
            used = indent;
        }
        used += width;
        attn_buffer_append_format(&map->label, " %s ", text);
        attn_heatmap_put_cell(map, colors, cell, width - 1, width - 1);
        attn_color_line_blanks(&map->line, 1);
    }
    attn_color_scale_append(&colors->scale, &map->label);
    if (used > indent && used + map->label.size > map->width) {
        const size_t size = map->label.size;

        map->label.size = 0;
        ATTN_TRY(attn_heatmap_end_line(map, err));
        attn_color_line_blanks(&map->line, indent);
        map->label.size = size;
    }
    return attn_heatmap_end_line(map, err);
}

/* --- The layout ------------------------------------------------------------------------------- */

enum { LEAST_GAP = 2, MOST_GAP = 4 }; /* columns between two rows that stand side by side */

/* Returns the text column of cell COLUMN on a line that begins with cell FIRST. */
static size_t find_column(const struct attn_sheet *sheet, size_t first, size_t column)
{
    const size_t n = column - first;

    return sheet->left + n * sheet->pitch +
           (column >= sheet->border && sheet->border > first ? 2 : 0);
}

bool attn_sheet_fit(struct attn_sheet *sheet, size_t most, size_t cell_width, size_t pitch,
                    size_t n_beside)
{
    const size_t gap = pitch - cell_width, n_column = sheet->n_column;
    const size_t room = most + gap > sheet->left ? most + gap - sheet->left : 0;
    size_t needed, spare;

    sheet->cell_width = cell_width;
    sheet->pitch = pitch;
    sheet->n = room / pitch;
    sheet->n_beside = 1;
    sheet->gap = 0;
    if (sheet->n < n_column) {
        sheet->n = sheet->n > 0 ? sheet->n : 1;
        sheet->width = sheet->left + sheet->n * pitch - gap;
        return false;
    }
    sheet->n = n_column;
    sheet->width = find_column(sheet, 0, n_column - 1) + cell_width;
    needed = n_beside * sheet->width + (n_beside - 1) * LEAST_GAP;
    if (needed > most)
        return false;
    spare = n_beside > 1 ? (most - needed) / (n_beside - 1) : 0;
    sheet->n_beside = n_beside;
    sheet->gap = LEAST_GAP + spare < MOST_GAP ? LEAST_GAP + spare : MOST_GAP;
    return true;
}

/* Returns the number of rows below each other; rows side by side count once. */
static size_t n_down(const struct attn_sheet *sheet)
{
    return attn_divide_up(sheet->n_row, sheet->n_beside);
}

/* Returns the lines of the cells from FIRST on of ROW and of the rows beside it. */
static size_t count_lines(const struct attn_sheet *sheet, size_t row, size_t first)
{
    size_t most = sheet->count_lines ? 0 : 1;

    for (size_t i = row; sheet->count_lines && i < sheet->n_row; i += n_down(sheet)) {
        const size_t n = sheet->count_lines(sheet->of, i, first);

        most = n > most ? n : most;
    }
    return most;
}

size_t attn_sheet_n_line(const struct attn_sheet *sheet)
{
    size_t n = sheet->border_row > 0;

    for (size_t row = 0; row < n_down(sheet); row++)
        for (size_t first = 0; first < sheet->n_column; first += sheet->n)
            n += count_lines(sheet, row, first);
    return n;
}

/* Draws the column labels and the corner above the first line of cells, once for each of the rows
 * side by side. */
static enum attn_status draw_labels(struct attn_heatmap *map, const struct attn_sheet *sheet,
                                    struct attn_error *err)
{
    const size_t last = sheet->n_column < sheet->n ? sheet->n_column : sheet->n;

    for (size_t i = 0, at = 0; i < sheet->n_beside; i++) {
        const size_t left = i * (sheet->width + sheet->gap);

        attn_color_line_blanks(&map->line, left + sheet->corner_at - at);
        attn_color_line_string(&map->line, sheet->corner);
        at = left + sheet->corner_at + strlen(sheet->corner);
        for (size_t c = 0; c < last; c += sheet->label_step) {
            const size_t used = sheet->make_label(map, sheet->of, c);
            const size_t width = sheet->cell_width;
            size_t column = left + find_column(sheet, 0, c);

            if (sheet->is_right && used < width)
                column += width - used;
            if (at + (c > 0) > column || (c > 0 && column + used > sheet->most_label_end)) {
                map->label.size = 0;
                continue;
            }
            attn_color_line_blanks(&map->line, column - at);
            attn_heatmap_put_label(map);
            at = column + used;
        }
    }
    return attn_heatmap_end_line(map, err);
}

/* Prints the label of a layer ("layer 1", "cross 1") or of a batch of arrays ("batch 0"); for heads
 * that wrapped to a further line " head14". Returns its columns. */
static size_t put_layer(struct attn_heatmap *map, size_t layer, size_t first)
{
    const struct attn_labels *labels = &map->writer->labels;
    const struct attn_location at =
        attn_layer_at(attn_selection_dims(labels->selection), ATTN_SITE_PATTERN, layer);
    size_t used;

    if (first > 0)
        attn_buffer_append_format(&map->label, " head%2zu", first);
    else if (!labels->axes)
        attn_buffer_append_format(&map->label, "%s%2d",
                                  at.stack == ATTN_STACK_CROSS ? "cross" : "layer", at.layer);
    else if (labels->axes->rank == 4)
        attn_buffer_append_format(&map->label, "batch%2zu", layer);
    used = map->label.size;
    attn_heatmap_put_label(map);
    return used;
}

/* Prints one LINE of the cells from FIRST on of ROW. Returns the columns. */
static size_t put_row(struct attn_heatmap *map, const struct attn_sheet *sheet, size_t row,
                      size_t first, size_t line)
{
    size_t used = sheet->put_edge
                      ? sheet->put_edge(map, sheet->of, (struct attn_sheet_spot){row, first, line})
                  : line == 0 ? put_layer(map, sheet->layers ? sheet->layers[row] : row, first)
                              : 0;

    for (size_t c = first; c < first + sheet->n && c < sheet->n_column; c++) {
        const size_t column = find_column(sheet, first, c);

        attn_color_line_blanks(&map->line, used < column ? column - used : 0);
        used = column + sheet->put_cell(map, sheet->of, (struct attn_sheet_spot){row, c, line});
    }
    return used;
}

enum attn_status attn_sheet_draw(struct attn_heatmap *map, const struct attn_sheet *sheet,
                                 struct attn_error *err)
{
    ATTN_TRY(draw_labels(map, sheet, err));
    if (map->is_counting) {
        map->n_line += attn_sheet_n_line(sheet);
        return ATTN_OK;
    }
    for (size_t row = 0; row < n_down(sheet); row++) {
        if (row > 0 && row == sheet->border_row)
            ATTN_TRY(attn_heatmap_end_line(map, err));
        for (size_t first = 0; first < sheet->n_column; first += sheet->n)
            for (size_t line = 0, n = count_lines(sheet, row, first); line < n; line++) {
                for (size_t i = row, at = 0; i < sheet->n_row; i += n_down(sheet)) {
                    const size_t left = i / n_down(sheet) * (sheet->width + sheet->gap);

                    attn_color_line_blanks(&map->line, left - at);
                    at = left + put_row(map, sheet, i, first, line);
                }
                ATTN_TRY(attn_heatmap_end_line(map, err));
            }
    }
    return ATTN_OK;
}

/* A make_label for columns without names: writes the column number. */
static size_t make_number(struct attn_heatmap *map, const void *of, size_t column)
{
    (void)of;
    attn_buffer_append_format(&map->label, "%zu", column);
    return map->label.size;
}

struct attn_sheet attn_sheet_of_heads(const void *of, size_t n_layer, size_t n_head,
                                      size_t most_columns)
{
    return (struct attn_sheet){.of = of,
                               .n_row = n_layer,
                               .n_column = n_head,
                               .left = n_layer > 100 ? sizeof "layer 100" : sizeof "layer 1",
                               .corner_at = strlen("  "),
                               .corner = "head",
                               .label_step = 1,
                               .most_label_end = most_columns,
                               .make_label = make_number};
}
