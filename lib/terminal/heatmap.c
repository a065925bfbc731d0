/* heatmap.c - see heatmap_internal.h. */
#include "terminal/heatmap_internal.h"

#include "base/escape.h"
#include "encode/text_table.h"
#include "trace/trace_internal.h"
#include "writers/picture_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    USUAL_WIDTH = 80,
    LEAST_WIDTH = 24,   /* minimum width; in a narrower terminal lines wrap */
    MARGIN = 20,        /* maximum columns of labels and the gap after them */
    MOST_LABEL = 14,    /* columns of a label, */
    MOST_NAME = 18,     /* and of one of a table: "decoder embedding" */
    USUAL_LABEL = 9,    /* minimum columns of labels */
    POSITION_WIDTH = 3, /* minimum columns of a position */
    PERCENT_WIDTH = 3,  /* of a cell */
    SIGNED_WIDTH = 4,   /* of a cell with a sign */
    NUMBER_WIDTH = 6,   /* columns of a cell that is not a percentage */
    TICK_STEP = 10,     /* columns between the positions above half blocks */
    MOST_RAMP = 16,     /* columns of a ramp */
    LEGEND_GAP = 2,     /* columns before a ramp */
    N_MORE = 5,         /* columns of "  ..." */
    MOST_KEY_LINES = 4,
    N_SHADE = 5
};

#define KEYS "keys"

static size_t width_of(const struct attn_picture_options *picture)
{
    if (picture->width == 0)
        return USUAL_WIDTH;
    return picture->width < LEAST_WIDTH ? LEAST_WIDTH : picture->width;
}

enum attn_status attn_heatmap_init(struct attn_heatmap *map, struct attn_writer *writer,
                                   struct attn_sink *sink, struct attn_error *err)
{
    map->writer = writer;
    map->picture = writer->options.picture;
    map->sink = sink;
    map->line.depth = map->picture->depth;
    map->most_number_rows = SIZE_MAX;
    map->width = width_of(map->picture);
    return attn_token_labels_init(map->tokens, &writer->labels, err);
}

void attn_heatmap_release(struct attn_heatmap *map)
{
    attn_token_texts_release(map->tokens, 2);
    attn_color_line_release(&map->line);
    attn_buffer_release(&map->label);
}

size_t attn_heatmap_most_columns(const struct attn_writer *writer)
{
    return width_of(writer->options.picture) - MARGIN;
}

void attn_heatmap_put_label(struct attn_heatmap *map)
{
    attn_color_line_append(&map->line, map->label.data, map->label.size);
    map->label.size = 0;
}

enum attn_status attn_heatmap_end_line(struct attn_heatmap *map, struct attn_error *err)
{
    attn_heatmap_put_label(map);
    return attn_color_line_write(&map->line, map->sink, err);
}

/* Returns the size of the first line of TEXT, which ends before N_GAP blanks: at the last such gap
 * within WIDTH, or at the first gap. */
static size_t line_size(const char *text, size_t size, size_t width, size_t n_gap)
{
    size_t found = 0;

    if (attn_text_width(text, size) <= width)
        return size;
    for (size_t i = 0, n; i < size; i += n) {
        for (n = 0; i + n < size && text[i + n] == ' '; n++)
            ;
        if (n >= n_gap && i > 0 && (found == 0 || attn_text_width(text, i) <= width))
            found = i;
        n = n > 0 ? n : 1;
    }
    return found > 0 ? found : size;
}

enum attn_status attn_heatmap_end_text(struct attn_heatmap *map, size_t n_gap, size_t *n_line,
                                       struct attn_error *err)
{
    const char *text = map->label.data;
    size_t left = map->label.size, n = 0;

    ATTN_TRY(attn_buffer_check(&map->label, err));
    for (size_t size; left > 0; n++) {
        size = line_size(text, left, map->width, n_gap);
        if (n_gap > 1 && attn_text_width(text, size) > map->width)
            size = line_size(text, left, map->width, 1);
        attn_color_line_append(&map->line, text, n_line ? 0 : size);
        if (!n_line)
            ATTN_TRY(attn_color_line_write(&map->line, map->sink, err));
        for (text += size, left -= size; left > 0 && *text == ' '; left--)
            text++;
    }
    map->label.size = 0;
    if (n_line)
        *n_line = n;
    return ATTN_OK;
}

/* --- How a matrix is drawn ------------------------------------------------------------------- */

/* Whether the numbers of the matrix are shown in percent. */
static bool is_share(const struct attn_heatmap *map, const struct attn_level_matrix *matrix)
{
    return map->table ? map->table->is_share : attn_site_range(matrix->at.site) == ATTN_RANGE_SHARE;
}

static size_t count_digits(size_t n)
{
    size_t digits = 1;

    for (; n >= 10; n /= 10)
        digits++;
    return digits;
}

/* Columns of a cell with a number. */
static size_t cell_width(const struct attn_heatmap *map, const struct attn_level_matrix *matrix)
{
    const size_t n_digit = count_digits(matrix->n_column);
    const size_t width = !is_share(map, matrix)        ? NUMBER_WIDTH
                         : map->picture->is_difference ? SIGNED_WIDTH
                                                       : PERCENT_WIDTH;

    return width > n_digit ? width : n_digit;
}

bool attn_heatmap_has_numbers(const struct attn_heatmap *map,
                              const struct attn_level_matrix *matrix)
{
    const enum attn_cell_text values = map->picture->values;

    if (values == ATTN_CELL_TEXT_NEVER || matrix->k > 1)
        return false;
    if (matrix->n_row > map->most_number_rows)
        return false;
    return values == ATTN_CELL_TEXT_ALWAYS ||
           (cell_width(map, matrix) + 1) * matrix->n_column + MARGIN <= map->width;
}

struct attn_heatmap_colors attn_heatmap_colors(const struct attn_heatmap *map,
                                               const struct attn_level_matrix *matrix)
{
    struct attn_heatmap_colors colors = {.theme = attn_picture_terminal_theme(map->picture)};
    const bool is_light = colors.theme == ATTN_THEME_LIGHT;

    colors.scale = map->table ? map->table->scale
                              : attn_color_scale_of(map->picture->color_scale,
                                                    attn_site_range(matrix->at.site),
                                                    map->picture->is_difference);
    colors.map = attn_picture_colormap(map->picture, &colors.scale, is_light ? "blues" : "viridis");
    colors.range = attn_color_range(&colors.scale, (double)matrix->least, (double)matrix->most);
    if (is_light && map->line.depth != ATTN_DEPTH_NONE) /* 0 is nearly the ground */
        colors.masked = attn_ink_nearest(
            attn_rgb_mix(attn_cell_look(ATTN_CELL_MASKED, colors.theme).ground, 1, colors.theme));
    return colors;
}

static struct attn_ink ink_at(const struct attn_heatmap_colors *colors, double place)
{
    if (colors->hue)
        return attn_ink_nearest(attn_hue_color(colors->hue, place, colors->theme));
    return attn_ink_of(colors->map, colors->theme, (int)lround((ATTN_N_COLOR - 1) * place));
}

struct attn_paint attn_heatmap_paint(const struct attn_heatmap_colors *colors, double value,
                                     enum attn_color_depth depth)
{
    return attn_paint_behind(ink_at(colors, attn_color_place(&colors->scale, colors->range, value)),
                             depth);
}

/* --- Labels ---------------------------------------------------------------------------------- */

size_t attn_heatmap_append_token(struct attn_heatmap *map, const char *text, size_t size)
{
    const size_t begin = map->label.size;
    size_t width;

    if (map->table) {
        for (; size > 0 && *text == ' '; size--)
            text++;
        attn_buffer_append(&map->label, text, attn_text_fit(text, size, MOST_NAME));
    } else {
        attn_text_append_label(&map->label, text, size, MOST_LABEL,
                               map->picture->is_plain ? "..." : ATTN_ELLIPSIS);
    }
    text = map->label.data ? map->label.data + begin : "";
    size = map->label.size - begin;
    width = attn_text_width(text, size);
    if (!map->table && attn_text_is_right_to_left(text, size))
        attn_buffer_append_string(&map->label, ATTN_LEFT_TO_RIGHT);
    return width;
}

/* Appends the text of row or column I. Returns its columns. */
static size_t append_name(struct attn_heatmap *map, const struct attn_token_texts *texts, size_t i)
{
    size_t size;
    const char *text = attn_token_text(texts, i, &size);

    return attn_heatmap_append_token(map, text, size);
}

/* Writes the label of row or column I: its position and, if HAS_NAME, its text, or the text alone.
 * Returns its columns. */
static size_t make_label(struct attn_heatmap *map, const struct attn_grid_axis *axis, size_t i,
                         bool has_name)
{
    const size_t position = attn_grid_position(axis, i);
    const size_t n = count_digits(position), at = axis->has_own_texts ? i : position;

    map->label.size = 0;
    if (!axis->is_named)
        attn_buffer_append_format(&map->label, "%zu", position);
    if (!axis->texts || !(has_name || axis->is_named))
        return n;
    if (axis->is_named)
        return append_name(map, axis->texts, at);
    attn_buffer_append_char(&map->label, ' ');
    return n + 1 + append_name(map, axis->texts, at);
}

/* Puts the label, which takes USED columns, flush right in WIDTH columns. */
static void put_right(struct attn_heatmap *map, size_t used, size_t width)
{
    attn_color_line_blanks(&map->line, used < width ? width - used : 0);
    attn_heatmap_put_label(map);
}

static void put_text(struct attn_heatmap *map, const char *text, size_t size, size_t width)
{
    attn_color_line_blanks(&map->line, size < width ? width - size : 0);
    attn_color_line_append(&map->line, text, size);
}

enum attn_status attn_heatmap_draw_items(struct attn_heatmap *map,
                                         const struct attn_grid_axis *axis, const char *head,
                                         size_t most_lines, size_t *n_line, struct attn_error *err)
{
    const size_t indent = *head ? strlen(head) + 1 : 0;
    const bool is_drawn = !n_line;
    size_t used = indent, line = 1;

    attn_color_line_string(&map->line, is_drawn ? head : "");
    attn_color_line_string(&map->line, is_drawn && *head ? ":" : "");
    for (size_t i = 0; i < axis->n; i++) {
        const size_t width = 2 + make_label(map, axis, i, true);
        const bool is_cut = line == most_lines && i + 1 < axis->n;

        if (used > indent && used + width > map->width - (is_cut ? N_MORE : 0)) {
            if (line == most_lines) {
                attn_color_line_string(&map->line, is_drawn ? "  ..." : "");
                break;
            }
            if (is_drawn)
                ATTN_TRY(attn_color_line_write(&map->line, map->sink, err));
            attn_color_line_blanks(&map->line, is_drawn ? indent : 0);
            used = indent;
            line++;
        }
        used += width;
        if (!is_drawn)
            continue;
        attn_color_line_blanks(&map->line, 2);
        attn_heatmap_put_label(map);
    }
    map->label.size = 0;
    if (is_drawn)
        return attn_color_line_write(&map->line, map->sink, err);
    *n_line = axis->n > 0 ? line : 0;
    return ATTN_OK;
}

/* --- A sheet: a matrix with what stands beside and above its cells ---------------------------- */

struct sheet {
    const struct attn_level_matrix *matrix;
    struct attn_grid_axis rows, columns;
    struct attn_heatmap_colors colors;
    size_t position_width; /* columns left of the cells, flush right: positions, or labels of a
                              table */
    size_t label_width;    /* and flush left: texts of rows; or 0 */
    size_t cell_width;
    size_t first_apart, apart_width; /* of a table: columns from here on are set apart */
    bool has_numbers;
};

static size_t width_of_column(const struct sheet *sheet, size_t c)
{
    return c < sheet->first_apart ? sheet->cell_width : sheet->apart_width;
}

/* Blanks before column C. */
static size_t gap_before(const struct sheet *sheet, size_t c)
{
    return c > 0 && c == sheet->first_apart ? 3 : 1;
}

/* The sheet of a matrix of a run. */
static struct sheet sheet_of(struct attn_heatmap *map, const struct attn_level_matrix *matrix)
{
    const struct attn_writer *writer = map->writer;
    const bool is_key = attn_site_layout(matrix->at.site) == ATTN_LAYOUT_KEY;
    const bool is_source = is_key && !attn_writer_has_own_keys(writer, &matrix->at);
    const struct attn_token_texts *texts = &map->tokens[is_source];
    const size_t first =
        attn_site_first_row(matrix->at.site, attn_selection_dims(writer->labels.selection));
    const size_t last = is_key                ? matrix->n_row
                        : writer->n_query > 0 ? writer->queries[writer->n_query - 1]
                                              : 0;
    struct sheet sheet = {
        .matrix = matrix,
        .rows = {.texts = texts->n > 0 ? texts : NULL,
                 .positions = is_key ? NULL : attn_writer_rows(writer, matrix->at.site),
                 .title = attn_writer_row_name(writer, matrix->at.site)},
        .columns = {.first = attn_site_has_keys(matrix->at.site) ? first : 0},
        .colors = attn_heatmap_colors(map, matrix),
        .position_width = count_digits(last),
        .cell_width = cell_width(map, matrix),
        .first_apart = SIZE_MAX,
        .has_numbers = true};
    const size_t n_corner = strlen(sheet.rows.title);

    if (sheet.position_width < POSITION_WIDTH)
        sheet.position_width = POSITION_WIDTH;
    for (size_t i = 0; i < texts->n; i++) {
        size_t width;

        map->label.size = 0;
        width = append_name(map, texts, i);
        sheet.label_width = width > sheet.label_width ? width : sheet.label_width;
    }
    map->label.size = 0;
    if (sheet.label_width > 0 && sheet.label_width < USUAL_LABEL)
        sheet.label_width = USUAL_LABEL;
    if (sheet.label_width == 0 && sheet.position_width < n_corner)
        sheet.position_width = n_corner;
    return sheet;
}

/* Puts the title of the rows, left of the header. */
static void put_corner(struct attn_heatmap *map, const struct sheet *sheet)
{
    const char *title = sheet->rows.title;
    const size_t n = strlen(title);

    if (sheet->label_width > 0)
        attn_color_line_blanks(&map->line, sheet->position_width + 1);
    put_text(map, title, n, sheet->label_width > 0 ? 0 : sheet->position_width);
    attn_color_line_blanks(&map->line, sheet->label_width > n ? sheet->label_width - n : 0);
}

/* Puts the labels left of row ROW. */
static void put_edge(struct attn_heatmap *map, const struct sheet *sheet, size_t row)
{
    const size_t at = row * sheet->matrix->k;
    size_t used = make_label(map, &sheet->rows, at, map->table != NULL);

    put_right(map, used, sheet->position_width);
    if (sheet->label_width == 0)
        return;
    attn_color_line_blanks(&map->line, 1);
    used = append_name(map, sheet->rows.texts, attn_grid_position(&sheet->rows, at));
    attn_heatmap_put_label(map);
    attn_color_line_blanks(&map->line, used < sheet->label_width ? sheet->label_width - used : 0);
}

/* --- Numbers --------------------------------------------------------------------------------- */

/* Formats a cell as text, not terminated. Returns its length. */
static size_t write_cell(const struct attn_heatmap *map, const struct attn_level_matrix *matrix,
                         enum attn_cell_kind kind, double value, char text[ATTN_FIXED_TEXT_SIZE])
{
    static const char *const signs[] = {
        [ATTN_CELL_MASKED] = "", [ATTN_CELL_HIDDEN] = "--", [ATTN_CELL_NOT_FINITE] = "!!"};
    const size_t size = ATTN_FIXED_TEXT_SIZE;

    if (kind != ATTN_CELL_VALUE)
        return (size_t)snprintf(text, size, "%s", signs[kind]);
    if (is_share(map, matrix) && fabs(value) > 99)
        return (size_t)snprintf(text, size, "%s", value > 0 ? "++" : "--");
    if (is_share(map, matrix) && lround(100 * value) == 0)
        return (size_t)snprintf(text, size, ".");
    if (is_share(map, matrix))
        return (size_t)snprintf(text, size, "%ld", lround(100 * value));
    if (map->table)
        return attn_grid_number(map->table, (float)value, text);
    return (size_t)snprintf(text, size, fabs(value) < 1000 ? "%.1f" : "%.0e", value);
}

/* A shade, STEP 0 .. 4. */
static const char *shade(const struct attn_heatmap *map, int step)
{
    static const char *const shades[] = {" ", "\xe2\x96\x91", "\xe2\x96\x92", "\xe2\x96\x93",
                                         "\xe2\x96\x88"};
    static const char *const plain[] = {" ", ".", ":", "*", "#"};

    return map->picture->is_plain ? plain[step] : shades[step];
}

/* Writes the label of a cell with a text, "The", without colours "The(13)". Returns its columns. */
static size_t make_cell_label(struct attn_heatmap *map, const struct attn_level_matrix *matrix,
                              size_t i, float value)
{
    const bool has_number = map->line.depth == ATTN_DEPTH_NONE;
    char number[ATTN_FIXED_TEXT_SIZE];
    size_t n, width;
    const char *text = attn_grid_cell_text(map->table, i, &n);
    const int size =
        has_number ? (int)write_cell(map, matrix, ATTN_CELL_VALUE, (double)value, number) : 0;

    map->label.size = 0;
    attn_text_append_cut(&map->label, text, n, MOST_LABEL,
                         map->picture->is_plain ? "..." : ATTN_ELLIPSIS);
    if (has_number)
        attn_buffer_append_format(&map->label, "(%.*s)", size, number);
    width = attn_text_width(map->label.data, map->label.size);
    if (attn_text_is_right_to_left(text, n))
        attn_buffer_append_string(&map->label, ATTN_LEFT_TO_RIGHT);
    return width;
}

/* Puts a cell with its number or text on its colour, or the colour or a shade alone. */
static void put_cell(struct attn_heatmap *map, const struct sheet *sheet, size_t row, size_t column)
{
    const struct attn_heatmap_colors *colors = &sheet->colors;
    const size_t width = width_of_column(sheet, column);
    float value = 0;
    const enum attn_cell_kind kind = attn_level_cell(sheet->matrix, row, column, &value);
    const bool is_value = kind == ATTN_CELL_VALUE;
    char text[ATTN_FIXED_TEXT_SIZE] = "";
    size_t size = 0;

    attn_color_line_blanks(&map->line, gap_before(sheet, column));
    if (is_value && !sheet->has_numbers && map->line.depth == ATTN_DEPTH_NONE) {
        const double place = attn_color_place(&colors->scale, colors->range, (double)value);
        const double strength = colors->scale.is_signed ? fabs(2 * place - 1) : place;
        const char *shown = shade(map, (int)lround((N_SHADE - 1) * strength));

        attn_color_line_blanks(&map->line, width - 2);
        attn_color_line_string(&map->line, shown);
        attn_color_line_string(&map->line, shown);
        return;
    }
    if (is_value)
        attn_color_line_paint(&map->line,
                              attn_heatmap_paint(colors, (double)value, map->line.depth));
    else if (kind == ATTN_CELL_MASKED)
        attn_color_line_paint(&map->line, (struct attn_paint){.ground = colors->masked});
    if (is_value && sheet->has_numbers && map->table && map->table->cells) {
        size = make_cell_label(map, sheet->matrix, row * sheet->matrix->n_column + column, value);
        put_right(map, size, width);
    } else {
        if (sheet->has_numbers || !is_value)
            size = write_cell(map, sheet->matrix, kind, (double)value, text);
        put_text(map, text, size, width);
    }
    attn_color_line_paint(&map->line, ATTN_PAINT_NONE);
}

/* The columns FIRST .. LAST-1, each with its label above. */
static enum attn_status draw_columns(struct attn_heatmap *map, struct sheet *sheet, size_t first,
                                     size_t last, struct attn_error *err)
{
    put_corner(map, sheet);
    for (size_t c = first; c < last; c++)
        put_right(map, make_label(map, &sheet->columns, c, false),
                  gap_before(sheet, c) + width_of_column(sheet, c));
    ATTN_TRY(attn_color_line_write(&map->line, map->sink, err));
    for (size_t r = 0; r < sheet->matrix->n_cell_row; r++) {
        sheet->colors.range = attn_level_range(sheet->matrix, &sheet->colors.scale, r);
        put_edge(map, sheet, r);
        for (size_t c = first; c < last; c++)
            put_cell(map, sheet, r, c);
        ATTN_TRY(attn_color_line_write(&map->line, map->sink, err));
    }
    return ATTN_OK;
}

/* --- Half blocks ----------------------------------------------------------------------------- */

/* Draws signed numbers by the shade of their magnitude. Numbers below a hundredth of the largest
 * are blank. */
const char *attn_heatmap_shade(const struct attn_heatmap *map,
                               const struct attn_heatmap_colors *colors, double place)
{
    const bool is_signed = colors->scale.is_signed;
    const double small = attn_color_place(&colors->scale, colors->range, 0.01 * colors->range.high);
    const double least = colors->scale.curve == ATTN_CURVE_LOG ? 1e-9
                         : is_signed                           ? fabs(2 * small - 1)
                                                               : small;
    const double size = is_signed ? fabs(2 * place - 1) : place;

    return shade(map, size < least ? 0 : 1 + (int)fmin(floor(4 * size), 3));
}

/* The colour of a half, of a masked one too; or none. */
static struct attn_ink half_ink(const struct attn_heatmap_colors *colors,
                                const struct attn_heatmap_half *half)
{
    if (half->kind == ATTN_CELL_VALUE)
        return ink_at(colors, half->place);
    return half->kind == ATTN_CELL_MASKED && !half->is_beyond ? colors->masked
                                                              : (struct attn_ink){.is_set = false};
}

void attn_heatmap_put_halves(struct attn_heatmap *map, const struct attn_heatmap_colors *colors,
                             struct attn_heatmap_half upper, struct attn_heatmap_half lower)
{
    const bool has_upper = upper.kind == ATTN_CELL_VALUE, has_lower = lower.kind == ATTN_CELL_VALUE;
    const bool is_lower = has_lower && (!has_upper || fabsf(lower.value) > fabsf(upper.value));
    const bool is_colored = map->line.depth != ATTN_DEPTH_NONE;
    const struct attn_ink inks[] = {half_ink(colors, &upper), half_ink(colors, &lower)};
    struct attn_paint paint = ATTN_PAINT_NONE;
    const char *text = " ";

    if (upper.kind == ATTN_CELL_NOT_FINITE || lower.kind == ATTN_CELL_NOT_FINITE) {
        attn_color_line_string(&map->line, "!");
        return;
    }
    if (!has_upper && !has_lower && upper.kind == ATTN_CELL_HIDDEN) {
        attn_color_line_string(&map->line, "-");
        return;
    }
    if (!is_colored) {
        text = has_upper || has_lower
                   ? attn_heatmap_shade(map, colors, (is_lower ? lower : upper).place)
                   : " ";
    } else if (map->picture->is_plain ||
               (!has_upper && !has_lower && inks[0].is_set && inks[1].is_set)) {
        paint.ground = inks[is_lower || !inks[0].is_set]; /* that of the larger value */
    } else if (inks[0].is_set || inks[1].is_set) {
        text = inks[0].is_set ? "\xe2\x96\x80" : "\xe2\x96\x84";
        paint.text = inks[!inks[0].is_set];
        paint.ground = inks[0].is_set ? inks[1] : inks[0];
    }
    attn_color_line_paint(&map->line, paint);
    attn_color_line_string(&map->line, text);
    attn_color_line_paint(&map->line, ATTN_PAINT_NONE);
}

/* Returns half a character: a cell of MATRIX, or a masked cell below its last row. */
static struct attn_heatmap_half half_at(const struct attn_level_matrix *matrix,
                                        const struct attn_heatmap_colors *colors, size_t row,
                                        size_t column)
{
    struct attn_heatmap_half half = {.kind = ATTN_CELL_MASKED,
                                     .is_beyond = row >= matrix->n_cell_row};

    if (!half.is_beyond)
        half.kind = attn_level_cell(matrix, row, column, &half.value);
    if (half.kind == ATTN_CELL_VALUE)
        half.place = attn_color_place(&colors->scale, attn_level_range(matrix, &colors->scale, row),
                                      (double)half.value);
    return half;
}

/* Appends the note below a pooled matrix. */
static void append_pooling(struct attn_heatmap *map, const struct attn_level_matrix *matrix)
{
    attn_buffer_append_format(
        &map->label, "(a half is the largest of %zu x %zu cells; `png` and `html` show them all)",
        matrix->k, matrix->k);
    attn_picture_name_fields(map->writer->options.picture, &map->label);
}

static enum attn_status draw_halves(struct attn_heatmap *map, const struct sheet *sheet,
                                    struct attn_error *err)
{
    const struct attn_level_matrix *matrix = sheet->matrix;
    char text[ATTN_FIXED_TEXT_SIZE];
    size_t at = 0;

    put_corner(map, sheet);
    attn_color_line_blanks(&map->line, 1);
    for (size_t c = 0; c < matrix->n_cell_column; c += TICK_STEP) { /* positions above */
        snprintf(text, sizeof text, "%zu", sheet->columns.first + c * matrix->k);
        if (at > c || (c > 0 && c + strlen(text) > matrix->n_cell_column))
            continue;
        attn_color_line_blanks(&map->line, c - at);
        attn_color_line_string(&map->line, text);
        at = c + strlen(text) + 1;
        attn_color_line_blanks(&map->line, 1);
    }
    ATTN_TRY(attn_color_line_write(&map->line, map->sink, err));
    for (size_t r = 0; r < matrix->n_cell_row; r += 2) {
        put_edge(map, sheet, r);
        attn_color_line_blanks(&map->line, 1);
        for (size_t c = 0; c < matrix->n_cell_column; c++)
            attn_heatmap_put_halves(map, &sheet->colors, half_at(matrix, &sheet->colors, r, c),
                                    half_at(matrix, &sheet->colors, r + 1, c));
        ATTN_TRY(attn_color_line_write(&map->line, map->sink, err));
    }
    if (matrix->k == 1)
        return ATTN_OK;
    append_pooling(map, matrix);
    return attn_heatmap_end_text(map, 1, NULL, err);
}

/* --- A matrix -------------------------------------------------------------------------------- */

const char *attn_heatmap_noun(const struct attn_writer *writer)
{
    return writer->options.picture->merges_words ? "word"
           : writer->labels.ids                  ? "token"
                                                 : "position";
}

void attn_heatmap_append_layer(struct attn_heatmap *map, const struct attn_location *at)
{
    attn_buffer_append_format(&map->label, "%s%2d",
                              at->stack == ATTN_STACK_CROSS ? "cross" : "layer", at->layer);
}

void attn_heatmap_append_name(struct attn_heatmap *map, const struct attn_level_matrix *matrix)
{
    attn_matrix_name_append(map->writer, &matrix->at, &map->label);
    if (map->picture->is_difference)
        attn_buffer_append_string(&map->label, ", chosen minus exact");
    if (attn_heatmap_has_numbers(map, matrix) && is_share(map, matrix))
        attn_buffer_append_string(&map->label, ", in percent");
}

enum attn_status attn_heatmap_name(struct attn_heatmap *map, const struct attn_level_matrix *matrix,
                                   struct attn_error *err)
{
    attn_heatmap_append_name(map, matrix);
    return attn_heatmap_end_text(map, 1, NULL, err);
}

/* Whether the keys need a separate line: keys of a source, which no row names. */
static bool has_key_line(const struct attn_heatmap *map, const struct attn_level_matrix *matrix)
{
    return attn_site_has_keys(matrix->at.site) && map->tokens[1].n > 0 &&
           !attn_writer_has_own_keys(map->writer, &matrix->at) && matrix->k == 1;
}

enum attn_status attn_heatmap_draw(struct attn_heatmap *map, const struct attn_level_matrix *matrix,
                                   struct attn_error *err)
{
    const struct attn_grid_axis keys = attn_heatmap_axis(&map->tokens[1]);
    const size_t n = matrix->n_not_finite;
    const bool is_numbers = attn_heatmap_has_numbers(map, matrix);
    struct sheet sheet;

    if (has_key_line(map, matrix))
        ATTN_TRY(attn_heatmap_draw_items(map, &keys, KEYS, MOST_KEY_LINES, NULL, err));
    sheet = sheet_of(map, matrix);
    ATTN_TRY(is_numbers ? draw_columns(map, &sheet, 0, matrix->n_column, err)
                        : draw_halves(map, &sheet, err));
    if (n == 0)
        return ATTN_OK;
    attn_buffer_append_format(&map->label, "(%s: %zu cell%s NaN or infinite)",
                              is_numbers ? "!!" : "!", n, n == 1 ? " is" : "s are");
    return attn_heatmap_end_text(map, 1, NULL, err);
}

size_t attn_heatmap_n_line(struct attn_heatmap *map, const struct attn_level_matrix *matrix)
{
    const struct attn_grid_axis keys = attn_heatmap_axis(&map->tokens[1]);
    const size_t n_row = matrix->n_cell_row;
    size_t n_key = 0, n_pooling = 0;

    if (has_key_line(map, matrix))
        attn_heatmap_draw_items(map, &keys, KEYS, MOST_KEY_LINES, &n_key, NULL);
    if (matrix->k > 1) {
        append_pooling(map, matrix);
        attn_heatmap_end_text(map, 1, &n_pooling, NULL);
    }
    return 1 + n_key + (attn_heatmap_has_numbers(map, matrix) ? n_row : (n_row + 1) / 2) +
           n_pooling;
}

/* --- Legends --------------------------------------------------------------------------------- */

/* The colours from the first to the last in N columns, or the shades. */
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
                                         const struct attn_heatmap_colors *colors, size_t *n_line,
                                         struct attn_error *err)
{
    const size_t n_text = map->label.size, used = attn_text_width(map->label.data, n_text);
    size_t n_ramp = N_SHADE - 1, n = 0, width, room;
    char low[ATTN_TICK_TEXT_SIZE], high[ATTN_TICK_TEXT_SIZE];
    bool is_beside; /* the text */

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
        ATTN_TRY(attn_heatmap_end_text(map, 1, n_line ? &n : NULL, err));
    if (n_line) {
        *n_line = n + 1 + (width > room);
        map->label.size = 0;
        return ATTN_OK;
    }
    attn_heatmap_put_label(map);
    attn_color_line_blanks(&map->line, is_beside ? LEGEND_GAP : 0);
    attn_color_line_string(&map->line, low);
    attn_color_line_blanks(&map->line, 1);
    put_ramp(map, colors, n_ramp);
    attn_color_line_blanks(&map->line, 1);
    attn_color_line_string(&map->line, high);
    attn_color_line_string(&map->line, ",");
    if (width > room)
        ATTN_TRY(attn_color_line_write(&map->line, map->sink, err));
    else
        attn_color_line_blanks(&map->line, 1);
    attn_color_scale_append(&colors->scale, &map->label);
    return attn_heatmap_end_line(map, err);
}

/* Draws the ticks of the scale on their colours, and its words; for a scale per row only the words.
 */
static enum attn_status draw_ticks(struct attn_heatmap *map,
                                   const struct attn_heatmap_colors *colors, struct attn_error *err)
{
    const bool is_row = colors->scale.span == ATTN_SPAN_ROW; /* each has its own */
    double ticks[ATTN_MOST_TICKS];
    const size_t n = is_row ? 0 : attn_grid_ticks(&colors->scale, colors->range, ticks);
    const size_t indent = strlen("colors: ");
    size_t used = indent;

    attn_color_line_string(&map->line, "colors: ");
    for (size_t i = 0; i < n; i++) {
        char text[ATTN_TICK_TEXT_SIZE];
        const size_t width = attn_color_tick_text(ticks[i], text) + 3;

        if (used > indent && used + width - 1 > map->width) {
            ATTN_TRY(attn_color_line_write(&map->line, map->sink, err));
            attn_color_line_blanks(&map->line, indent);
            used = indent;
        }
        used += width;
        attn_color_line_paint(&map->line, attn_heatmap_paint(colors, ticks[i], map->line.depth));
        attn_color_line_blanks(&map->line, 1);
        attn_color_line_string(&map->line, text);
        attn_color_line_blanks(&map->line, 1);
        attn_color_line_paint(&map->line, ATTN_PAINT_NONE);
        attn_color_line_blanks(&map->line, 1);
    }
    attn_color_scale_append(&colors->scale, &map->label);
    if (used > indent && used + map->label.size > map->width) {
        ATTN_TRY(attn_color_line_write(&map->line, map->sink, err));
        attn_color_line_blanks(&map->line, indent);
    }
    return attn_heatmap_end_line(map, err);
}

enum attn_status attn_heatmap_legend(struct attn_heatmap *map,
                                     const struct attn_level_matrix *matrix, struct attn_error *err)
{
    const struct attn_heatmap_colors colors = attn_heatmap_colors(map, matrix);

    if (attn_heatmap_has_numbers(map, matrix) || colors.scale.span == ATTN_SPAN_ROW)
        return draw_ticks(map, &colors, err);
    return attn_heatmap_end_legend(map, &colors, NULL, err);
}

/* --- Tables ---------------------------------------------------------------------------------- */

/* The lines above a table: title, subtitle and texts, as in figures. */
static enum attn_status draw_heading(struct attn_heatmap *map, struct attn_error *err)
{
    const struct attn_grid *table = map->table;
    const char *title = map->picture->title;
    const bool has_numbers = map->picture->values != ATTN_CELL_TEXT_NEVER &&
                             (!table->cells || map->line.depth == ATTN_DEPTH_NONE);

    if (title)
        attn_escape_append(&map->label, title, strlen(title));
    else
        attn_grid_append_title(table, &map->label);
    ATTN_TRY(attn_heatmap_end_text(map, 1, NULL, err));
    attn_grid_append_subtitle(table, false, &map->label);
    if (table->is_share && has_numbers)
        attn_buffer_append_string(&map->label, "in percent; ");
    if (table->texts[0].text)
        attn_grid_append_sentence(table, 0, &map->label);
    else if (map->label.size > 0)
        map->label.size -= strlen("; ");
    ATTN_TRY(attn_heatmap_end_text(map, 1, NULL, err));
    if (table->texts[1].text)
        attn_grid_append_sentence(table, 1, &map->label);
    return attn_heatmap_end_text(map, 1, NULL, err);
}

/* The columns that the cells of column C of a table take, with its label. */
static size_t measure_column(struct attn_heatmap *map, const struct sheet *sheet, size_t c)
{
    const struct attn_level_matrix *matrix = sheet->matrix;
    size_t width = make_label(map, &sheet->columns, c, false);
    char text[ATTN_FIXED_TEXT_SIZE];
    float value = 0;

    for (size_t r = 0; sheet->has_numbers && r < matrix->n_cell_row; r++) {
        const enum attn_cell_kind kind = attn_level_cell(matrix, r, c, &value);
        const size_t n = map->table->cells && kind == ATTN_CELL_VALUE
                             ? make_cell_label(map, matrix, r * matrix->n_column + c, value)
                             : write_cell(map, matrix, kind, (double)value, text);

        width = n > width ? n : width;
    }
    return width;
}

/* The sheet of the table, as wide as its labels and numbers. */
static struct sheet sheet_of_table(struct attn_heatmap *map)
{
    const struct attn_level_matrix *matrix = map->table->matrices;
    const size_t n_main = map->table->columns->n_main;
    struct sheet sheet = {.matrix = matrix,
                          .rows = *map->table->rows,
                          .columns = *map->table->columns,
                          .colors = attn_heatmap_colors(map, matrix),
                          .position_width = strlen(map->table->rows->title),
                          .cell_width = 2,
                          .first_apart = n_main > 0 ? n_main : SIZE_MAX,
                          .apart_width = 2,
                          .has_numbers = map->picture->values != ATTN_CELL_TEXT_NEVER};

    for (size_t r = 0; r < matrix->n_cell_row; r++) {
        const size_t width = make_label(map, &sheet.rows, r, true);

        sheet.position_width = width > sheet.position_width ? width : sheet.position_width;
    }
    for (size_t c = 0; c < matrix->n_cell_column; c++) {
        const size_t width = measure_column(map, &sheet, c);
        size_t *most = c < sheet.first_apart ? &sheet.cell_width : &sheet.apart_width;

        *most = width > *most ? width : *most;
    }
    map->label.size = 0;
    return sheet;
}

/* Columns that have names beside their numbers are listed: "position:  0 The  1 keys". */
static enum attn_status draw_table(struct attn_heatmap *map, struct attn_error *err)
{
    const struct attn_level_matrix *matrix = map->table->matrices;
    const struct attn_grid_axis *columns = map->table->columns;
    const size_t n = matrix->n_cell_column;
    struct sheet sheet;

    ATTN_TRY(draw_heading(map, err));
    sheet = sheet_of_table(map);
    if (columns->texts && !columns->is_named)
        ATTN_TRY(attn_heatmap_draw_items(map, columns, columns->title, SIZE_MAX, NULL, err));
    for (size_t c = 0, end; c < n; c = end) {
        size_t used = sheet.position_width;

        for (end = c; end < n; end++) { /* as many as fit, but one at least */
            used += gap_before(&sheet, end) + width_of_column(&sheet, end);
            if (end > c && used > map->width)
                break;
        }
        if (c > 0)
            attn_sink_write(map->sink, "\n", 1);
        ATTN_TRY(draw_columns(map, &sheet, c, end, err));
    }
    sheet.colors.range = attn_level_range(matrix, &sheet.colors.scale, 0);
    if (sheet.colors.scale.span == ATTN_SPAN_MATRIX) /* the ticks show it */
        sheet.colors.scale.span = ATTN_SPAN_UNIT;
    ATTN_TRY(draw_ticks(map, &sheet.colors, err));
    return attn_buffer_check(&map->label, err);
}

enum attn_status attn_heatmap_draw_table(const struct attn_grid *table,
                                         const struct attn_picture_options *picture,
                                         struct attn_sink *sink, struct attn_error *err)
{
    struct attn_heatmap map = {.table = table,
                               .picture = picture,
                               .sink = sink,
                               .line.depth = picture->depth,
                               .width = width_of(picture)};
    const enum attn_status status = draw_table(&map, err);

    attn_heatmap_release(&map);
    return status;
}
