/* heatmap.c - see heatmap.h. */
#include "terminal/heatmap.h"

#include "base/utf8.h"
#include "encode/colormap_internal.h"
#include "encode/text_table.h"
#include "output/picture_internal.h"
#include "trace/selection_internal.h"
#include "trace/site_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    USUAL_WIDTH = 80,
    LEAST_WIDTH = 24,   /* below, lines are longer than the terminal */
    MARGIN = 20,        /* columns of labels and the gap after them, at most */
    MOST_LABEL = 14,    /* columns of a label */
    USUAL_LABEL = 9,    /* columns that labels take at least */
    POSITION_WIDTH = 3, /* columns of a position, at least */
    PERCENT_WIDTH = 3,  /* of a cell */
    SIGNED_WIDTH = 4,   /* of a cell with a sign */
    NUMBER_WIDTH = 6,   /* of a cell that is no percent */
    TICK_STEP = 10,     /* columns between the positions above half blocks */
    N_RAMP = 16,        /* cells of a ramp */
    N_MORE = 5,         /* columns of "  ..." */
    MOST_KEY_LINES = 4,
    CELL_TEXT_SIZE = 32
};

#define KEYS "keys:"

size_t attn_heatmap_width(const struct attn_picture_options *picture)
{
    if (picture->width == 0)
        return USUAL_WIDTH;
    return picture->width < LEAST_WIDTH ? LEAST_WIDTH : picture->width;
}

enum attn_status attn_heatmap_init(struct attn_heatmap *map, struct attn_writer *writer,
                                   struct attn_sink *sink, struct attn_error *err)
{
    const struct attn_picture_options *picture = writer->options.picture;

    map->writer = writer;
    map->sink = sink;
    map->line.depth = picture->depth;
    map->most_number_rows = SIZE_MAX;
    map->width = attn_heatmap_width(picture);
    ATTN_TRY(attn_token_labels_init(&map->tokens, &writer->labels, err));
    return attn_token_labels_init_source(&map->source_tokens, &writer->labels, err);
}

void attn_heatmap_release(struct attn_heatmap *map)
{
    attn_token_texts_release(&map->tokens);
    attn_token_texts_release(&map->source_tokens);
    attn_color_line_release(&map->line);
    attn_buffer_release(&map->label);
}

struct attn_levels_limits attn_heatmap_limits(const struct attn_writer *writer)
{
    return (struct attn_levels_limits){.n_row = SIZE_MAX,
                                       .n_column =
                                           attn_heatmap_width(writer->options.picture) - MARGIN,
                                       .is_square = true};
}

attn_site_set attn_heatmap_sites(const struct attn_writer *writer)
{
    return attn_levels_sites(writer);
}

/* --- How a matrix is drawn ------------------------------------------------------------------- */

static bool holds_weights(enum attn_site site)
{
    return attn_site_range(site) == ATTN_RANGE_SHARE;
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
    const size_t width = !holds_weights(matrix->site)                  ? NUMBER_WIDTH
                         : map->writer->options.picture->is_difference ? SIGNED_WIDTH
                                                                       : PERCENT_WIDTH;

    return width > n_digit ? width : n_digit;
}

static bool has_numbers(const struct attn_heatmap *map, const struct attn_level_matrix *matrix)
{
    const enum attn_cell_text values = map->writer->options.picture->values;

    if (values == ATTN_CELL_TEXT_NEVER || matrix->column_k > 1 || matrix->row_k > 1)
        return false;
    if (matrix->n_row > map->most_number_rows)
        return false;
    return values == ATTN_CELL_TEXT_ALWAYS ||
           (cell_width(map, matrix) + 1) * matrix->n_column + MARGIN <= map->width;
}

struct attn_heatmap_colors attn_heatmap_colors(const struct attn_writer *writer,
                                               const struct attn_level_matrix *matrix)
{
    const struct attn_picture_options *picture = writer->options.picture;
    struct attn_heatmap_colors colors = {.theme = picture->theme,
                                         .scale = attn_color_scale_of(picture->color_scale,
                                                                      attn_site_range(matrix->site),
                                                                      picture->is_difference)};

    colors.map = attn_picture_colormap(picture, &colors.scale, "viridis");
    colors.range = attn_color_range(&colors.scale, (double)matrix->least, (double)matrix->most);
    return colors;
}

struct attn_paint attn_heatmap_paint(const struct attn_heatmap_colors *colors, double value,
                                     enum attn_color_depth depth)
{
    const int level = attn_color_level(&colors->scale, colors->range, value);

    return attn_paint_behind(attn_ink_of(colors->map, colors->theme, level), depth);
}

/* --- Labels ---------------------------------------------------------------------------------- */

/* Letters that are written from right to left: Hebrew to Arabic, their presentation forms, and the
 * old scripts above U+10800. */
static bool is_right_to_left(uint32_t c)
{
    return (c >= 0x590 && c <= 0x8ff) || (c >= 0xfb1d && c <= 0xfdff) ||
           (c >= 0xfe70 && c <= 0xfeff) || (c >= 0x10800 && c <= 0x10fff) ||
           (c >= 0x1e800 && c <= 0x1efff);
}

static bool has_right_to_left(const char *text, size_t size)
{
    uint32_t code_point;

    for (size_t at = 0, length; at < size; at += length) {
        length = attn_utf8_decode(text + at, size - at, &code_point);
        if (length > 0 && is_right_to_left(code_point))
            return true;
        length += length == 0;
    }
    return false;
}

/* Puts the label of POSITION into map->label; returns its columns. */
static size_t make_label(struct attn_heatmap *map, const struct attn_token_texts *tokens,
                         size_t position)
{
    const bool is_plain = map->writer->options.picture->is_plain;
    size_t size, width;
    const char *text = attn_token_text(tokens, position, &size);

    map->label.size = 0;
    attn_text_append_label(&map->label, text, size, MOST_LABEL, is_plain ? "..." : ATTN_ELLIPSIS);
    width = attn_text_width(map->label.data, map->label.size);
    if (has_right_to_left(map->label.data, map->label.size))
        attn_buffer_append_string(&map->label, "\xe2\x80\x8e"); /* U+200E, no column */
    return width;
}

void attn_heatmap_append_label(struct attn_heatmap *map, const struct attn_token_texts *tokens,
                               size_t position, size_t width)
{
    const size_t used = make_label(map, tokens, position);

    attn_color_line_append(&map->line, map->label.data, map->label.size);
    attn_color_line_blanks(&map->line, used < width ? width - used : 0);
}

size_t attn_heatmap_label_width(struct attn_heatmap *map, const struct attn_token_texts *tokens)
{
    size_t widest = 0;

    for (size_t p = 0; p < tokens->n; p++) {
        const size_t width = make_label(map, tokens, p);

        widest = width > widest ? width : widest;
    }
    return widest;
}

/* The columns left of the cells. */
struct edge {
    size_t position_width;
    size_t label_width;                   /* 0: rows have no texts */
    const struct attn_token_texts *texts; /* of the rows */
    bool is_key;                          /* rows are keys, and not kept queries */
};

static struct edge edge_of(struct attn_heatmap *map, const struct attn_level_matrix *matrix)
{
    const bool is_key = attn_site_layout(matrix->site) == ATTN_LAYOUT_KEY;
    const bool is_own = !is_key || attn_writer_has_own_keys(map->writer, matrix->layer);
    struct edge edge = {.is_key = is_key, .texts = is_own ? &map->tokens : &map->source_tokens};
    const size_t last = is_key                     ? matrix->n_row
                        : map->writer->n_query > 0 ? map->writer->queries[map->writer->n_query - 1]
                                                   : 0;
    const size_t n_corner = strlen(attn_writer_row_name(map->writer, matrix->site));

    edge.position_width = count_digits(last);
    if (edge.position_width < POSITION_WIDTH)
        edge.position_width = POSITION_WIDTH;
    edge.label_width = attn_heatmap_label_width(map, edge.texts);
    if (edge.label_width > 0 && edge.label_width < USUAL_LABEL)
        edge.label_width = USUAL_LABEL;
    if (edge.label_width == 0 && edge.position_width < n_corner)
        edge.position_width = n_corner;
    return edge;
}

static void append_padded(struct attn_color_line *line, const char *text, size_t width)
{
    const size_t n = strlen(text);

    attn_color_line_blanks(line, n < width ? width - n : 0);
    attn_color_line_append(line, text, n);
}

static void append_number(struct attn_color_line *line, size_t number, size_t width)
{
    char text[CELL_TEXT_SIZE];

    snprintf(text, sizeof text, "%zu", number);
    append_padded(line, text, width);
}

/* The corner above the labels, and the gap after it. */
static void append_corner(struct attn_heatmap *map, const struct attn_level_matrix *matrix,
                          const struct edge *edge)
{
    const char *name = attn_writer_row_name(map->writer, matrix->site);

    attn_color_line_blanks(&map->line, edge->label_width > 0 ? edge->position_width + 1
                                                             : edge->position_width - strlen(name));
    attn_color_line_string(&map->line, name);
    if (edge->label_width > strlen(name))
        attn_color_line_blanks(&map->line, edge->label_width - strlen(name));
}

/* The labels of row ROW of the cells. */
static void append_edge(struct attn_heatmap *map, const struct attn_level_matrix *matrix,
                        const struct edge *edge, size_t row)
{
    const size_t at = row * matrix->row_k;
    const size_t position = edge->is_key ? at : map->writer->queries[at];

    append_number(&map->line, position, edge->position_width);
    if (edge->label_width == 0)
        return;
    attn_color_line_blanks(&map->line, 1);
    attn_heatmap_append_label(map, edge->texts, position, edge->label_width);
}

/* --- Numbers --------------------------------------------------------------------------------- */

static void format_value(const struct attn_level_matrix *matrix, double value,
                         char text[CELL_TEXT_SIZE])
{
    if (!holds_weights(matrix->site))
        snprintf(text, CELL_TEXT_SIZE, fabs(value) < 1000 ? "%.1f" : "%.0e", value);
    else if (fabs(value) > 99)
        snprintf(text, CELL_TEXT_SIZE, "%s", value > 0 ? "++" : "--");
    else if (lround(100 * value) == 0)
        snprintf(text, CELL_TEXT_SIZE, ".");
    else
        snprintf(text, CELL_TEXT_SIZE, "%ld", lround(100 * value));
}

static void append_cell(struct attn_heatmap *map, const struct attn_level_matrix *matrix,
                        const struct attn_heatmap_colors *colors, size_t row, size_t column)
{
    static const char *const signs[] = {
        [ATTN_CELL_MASKED] = "", [ATTN_CELL_HIDDEN] = "--", [ATTN_CELL_NOT_FINITE] = "!!"};
    float value = 0;
    const enum attn_cell_kind kind = attn_level_cell(matrix, row, column, &value);
    char text[CELL_TEXT_SIZE];

    attn_color_line_paint(&map->line, ATTN_PAINT_NONE);
    attn_color_line_blanks(&map->line, 1);
    if (kind != ATTN_CELL_VALUE) {
        append_padded(&map->line, signs[kind], cell_width(map, matrix));
        return;
    }
    format_value(matrix, (double)value, text);
    attn_color_line_paint(&map->line, attn_heatmap_paint(colors, (double)value, map->line.depth));
    append_padded(&map->line, text, cell_width(map, matrix));
    attn_color_line_paint(&map->line, ATTN_PAINT_NONE);
}

static enum attn_status draw_numbers(struct attn_heatmap *map,
                                     const struct attn_level_matrix *matrix, struct attn_error *err)
{
    struct attn_heatmap_colors colors = attn_heatmap_colors(map->writer, matrix);
    const struct edge edge = edge_of(map, matrix);

    append_corner(map, matrix, &edge);
    for (size_t c = 0; c < matrix->n_column; c++) {
        attn_color_line_blanks(&map->line, 1);
        append_number(&map->line, c, cell_width(map, matrix));
    }
    ATTN_TRY(attn_color_line_write(&map->line, map->sink, err));
    for (size_t r = 0; r < matrix->n_cell_row; r++) {
        colors.range = attn_level_range(matrix, &colors.scale, r);
        append_edge(map, matrix, &edge, r);
        for (size_t c = 0; c < matrix->n_column; c++)
            append_cell(map, matrix, &colors, r, c);
        ATTN_TRY(attn_color_line_write(&map->line, map->sink, err));
    }
    return ATTN_OK;
}

/* --- Half blocks ----------------------------------------------------------------------------- */

/* The upper or the lower half of a character. */
struct half {
    enum attn_cell_kind kind;
    float value;
    double place; /* 0..1, of a value */
};

/* Of K x K cells, as levels are pooled. */
static struct half half_of(const struct attn_level_matrix *matrix,
                           const struct attn_heatmap_colors *colors, size_t k, size_t row,
                           size_t column)
{
    struct half half = {.kind = ATTN_CELL_MASKED};

    for (size_t r = row * k; r < (row + 1) * k && r < matrix->n_cell_row; r++)
        for (size_t c = column * k; c < (column + 1) * k && c < matrix->n_cell_column; c++) {
            float value = 0;
            const enum attn_cell_kind kind = attn_level_cell(matrix, r, c, &value);

            if (!attn_cell_outweighs(kind, value, half.kind, half.value))
                continue;
            half.kind = kind;
            half.value = value;
        }
    if (half.kind == ATTN_CELL_VALUE)
        half.place = attn_color_place(
            &colors->scale, attn_level_range(matrix, &colors->scale, row * k), (double)half.value);
    return half;
}

/* The place below which a shade is blank: that of a hundredth of the largest number. */
static double least_place(const struct attn_heatmap_colors *colors)
{
    const struct attn_color_range range = colors->range;
    const double place = attn_color_place(&colors->scale, range, 0.01 * range.high);

    if (colors->scale.curve == ATTN_CURVE_LOG)
        return 1e-9;
    return colors->scale.is_signed ? fabs(2 * place - 1) : place;
}

/* The shade for a place: for numbers that may be negative, of their distance from 0. */
static const char *shade_of(const struct attn_heatmap *map,
                            const struct attn_heatmap_colors *colors, double place)
{
    static const char *const shades[] = {" ", "\xe2\x96\x91", "\xe2\x96\x92", "\xe2\x96\x93",
                                         "\xe2\x96\x88"};
    static const char *const plain[] = {" ", ".", ":", "*", "#"};
    const double size = colors->scale.is_signed ? fabs(2 * place - 1) : place;
    const int step = size < least_place(colors) ? 0 : 1 + (int)fmin(floor(4 * size), 3);

    return map->writer->options.picture->is_plain ? plain[step] : shades[step];
}

static void append_shade(struct attn_heatmap *map, const struct attn_heatmap_colors *colors,
                         struct half upper, struct half lower)
{
    const bool has_upper = upper.kind == ATTN_CELL_VALUE, has_lower = lower.kind == ATTN_CELL_VALUE;
    const bool is_lower = has_lower && (!has_upper || fabsf(lower.value) > fabsf(upper.value));

    attn_color_line_string(&map->line, shade_of(map, colors, is_lower ? lower.place : upper.place));
}

static struct attn_ink ink_at(const struct attn_heatmap_colors *colors, double place)
{
    return attn_ink_of(colors->map, colors->theme, (int)lround((ATTN_N_COLOR - 1) * place));
}

static void append_blocks(struct attn_heatmap *map, const struct attn_heatmap_colors *colors,
                          struct half upper, struct half lower)
{
    const bool is_upper = upper.kind == ATTN_CELL_VALUE;
    struct attn_paint paint = {.text = ink_at(colors, is_upper ? upper.place : lower.place)};

    if (is_upper && lower.kind == ATTN_CELL_VALUE)
        paint.ground = ink_at(colors, lower.place);
    attn_color_line_paint(&map->line, paint);
    attn_color_line_string(&map->line, is_upper ? "\xe2\x96\x80" : "\xe2\x96\x84");
    attn_color_line_paint(&map->line, ATTN_PAINT_NONE);
}

void attn_heatmap_half(struct attn_heatmap *map, const struct attn_level_matrix *matrix,
                       const struct attn_heatmap_colors *colors, size_t k, size_t row,
                       size_t column)
{
    const struct half upper = half_of(matrix, colors, k, row, column);
    const struct half lower = half_of(matrix, colors, k, row + 1, column);
    const bool has_value = upper.kind == ATTN_CELL_VALUE || lower.kind == ATTN_CELL_VALUE;
    const bool has_colors =
        map->line.depth != ATTN_DEPTH_NONE && !map->writer->options.picture->is_plain;

    if (upper.kind == ATTN_CELL_NOT_FINITE || lower.kind == ATTN_CELL_NOT_FINITE)
        attn_color_line_string(&map->line, "!");
    else if (!has_value)
        attn_color_line_string(&map->line, upper.kind == ATTN_CELL_HIDDEN ? "-" : " ");
    else if (has_colors)
        append_blocks(map, colors, upper, lower);
    else
        append_shade(map, colors, upper, lower);
}

/* The positions above the columns, every ten of them. */
static void append_ticks(struct attn_heatmap *map, const struct attn_level_matrix *matrix)
{
    char text[CELL_TEXT_SIZE];
    size_t at = 0;

    for (size_t c = 0; c < matrix->n_cell_column; c += TICK_STEP) {
        snprintf(text, sizeof text, "%zu", c * matrix->column_k);
        if (at > c || (c > 0 && c + strlen(text) > matrix->n_cell_column))
            continue;
        attn_color_line_blanks(&map->line, c - at);
        attn_color_line_string(&map->line, text);
        at = c + strlen(text) + 1;
        attn_color_line_blanks(&map->line, 1);
    }
}

static enum attn_status draw_pooling(struct attn_heatmap *map,
                                     const struct attn_level_matrix *matrix, struct attn_error *err)
{
    if (matrix->row_k == 1 && matrix->column_k == 1)
        return ATTN_OK;
    map->label.size = 0;
    attn_buffer_append_format(
        &map->label,
        "(a half is the largest of %zu x %zu cells; `png` and `html` show them "
        "all)",
        matrix->row_k, matrix->column_k);
    attn_picture_name_fields(map->writer->options.picture, &map->label);
    attn_color_line_append(&map->line, map->label.data, map->label.size);
    return attn_color_line_write(&map->line, map->sink, err);
}

static enum attn_status draw_halves(struct attn_heatmap *map,
                                    const struct attn_level_matrix *matrix, struct attn_error *err)
{
    const struct attn_heatmap_colors colors = attn_heatmap_colors(map->writer, matrix);
    const struct edge edge = edge_of(map, matrix);

    append_corner(map, matrix, &edge);
    attn_color_line_blanks(&map->line, 1);
    append_ticks(map, matrix);
    ATTN_TRY(attn_color_line_write(&map->line, map->sink, err));
    for (size_t r = 0; r < matrix->n_cell_row; r += 2) {
        append_edge(map, matrix, &edge, r);
        attn_color_line_blanks(&map->line, 1);
        for (size_t c = 0; c < matrix->n_cell_column; c++)
            attn_heatmap_half(map, matrix, &colors, 1, r, c);
        ATTN_TRY(attn_color_line_write(&map->line, map->sink, err));
    }
    return draw_pooling(map, matrix, err);
}

/* --- A matrix -------------------------------------------------------------------------------- */

enum attn_status attn_heatmap_name(struct attn_heatmap *map, const struct attn_level_matrix *matrix,
                                   struct attn_error *err)
{
    map->label.size = 0;
    attn_matrix_name_append(map->writer, matrix->site, matrix->layer, matrix->head, &map->label);
    if (map->writer->options.picture->is_difference)
        attn_buffer_append_string(&map->label, ", chosen minus exact");
    if (has_numbers(map, matrix) && holds_weights(matrix->site))
        attn_buffer_append_string(&map->label, ", in percent");
    attn_color_line_append(&map->line, map->label.data, map->label.size);
    return attn_color_line_write(&map->line, map->sink, err);
}

void attn_heatmap_append_item(struct attn_heatmap *map, const struct attn_token_texts *tokens,
                              size_t position)
{
    attn_color_line_blanks(&map->line, 2);
    append_number(&map->line, position, 1);
    attn_color_line_blanks(&map->line, 1);
    attn_heatmap_append_label(map, tokens, position, 0);
}

size_t attn_heatmap_item_width(struct attn_heatmap *map, const struct attn_token_texts *tokens,
                               size_t position)
{
    return 2 + count_digits(position) + 1 + make_label(map, tokens, position);
}

/* Whether the keys need a line of their own: those of a source, which no row names. */
static bool has_key_line(const struct attn_heatmap *map, const struct attn_level_matrix *matrix)
{
    return attn_site_has_keys(matrix->site) && map->source_tokens.n > 0 &&
           !attn_writer_has_own_keys(map->writer, matrix->layer) && matrix->column_k == 1;
}

enum attn_status attn_heatmap_draw_items(struct attn_heatmap *map,
                                         const struct attn_token_texts *tokens, const char *head,
                                         size_t most_lines, struct attn_error *err)
{
    const size_t indent = strlen(head);
    size_t used = indent, n_line = 1;

    attn_color_line_string(&map->line, head);
    for (size_t i = 0; i < tokens->n; i++) {
        const size_t width = attn_heatmap_item_width(map, tokens, i);
        const size_t room =
            n_line == most_lines && i + 1 < tokens->n ? map->width - N_MORE : map->width;

        if (used > indent && used + width > room) {
            if (n_line == most_lines) {
                attn_color_line_string(&map->line, "  ...");
                break;
            }
            ATTN_TRY(attn_color_line_write(&map->line, map->sink, err));
            attn_color_line_blanks(&map->line, indent);
            used = indent;
            n_line++;
        }
        attn_heatmap_append_item(map, tokens, i);
        used += width;
    }
    return attn_color_line_write(&map->line, map->sink, err);
}

size_t attn_heatmap_n_item_line(struct attn_heatmap *map, const struct attn_token_texts *tokens,
                                size_t indent, size_t most_lines)
{
    size_t used = indent, n_line = tokens->n > 0;

    for (size_t i = 0; i < tokens->n; i++) {
        const size_t width = attn_heatmap_item_width(map, tokens, i);

        if (used > indent && used + width > map->width) {
            used = indent;
            n_line++;
        }
        used += width;
    }
    return n_line < most_lines ? n_line : most_lines;
}

static enum attn_status draw_not_finite(struct attn_heatmap *map,
                                        const struct attn_level_matrix *matrix,
                                        struct attn_error *err)
{
    const size_t n = matrix->n_not_finite;

    map->label.size = 0;
    attn_buffer_append_format(&map->label, "(%s: %zu cell%s NaN or infinite)",
                              has_numbers(map, matrix) ? "!!" : "!", n, n == 1 ? " is" : "s are");
    attn_color_line_append(&map->line, map->label.data, map->label.size);
    return attn_color_line_write(&map->line, map->sink, err);
}

enum attn_status attn_heatmap_draw(struct attn_heatmap *map, const struct attn_level_matrix *matrix,
                                   struct attn_error *err)
{
    if (has_key_line(map, matrix))
        ATTN_TRY(attn_heatmap_draw_items(map, &map->source_tokens, KEYS, MOST_KEY_LINES, err));
    ATTN_TRY((has_numbers(map, matrix) ? draw_numbers : draw_halves)(map, matrix, err));
    return matrix->n_not_finite > 0 ? draw_not_finite(map, matrix, err) : ATTN_OK;
}

size_t attn_heatmap_n_line(struct attn_heatmap *map, const struct attn_level_matrix *matrix)
{
    const size_t n_row = matrix->n_cell_row;
    const size_t n_key =
        has_key_line(map, matrix)
            ? attn_heatmap_n_item_line(map, &map->source_tokens, strlen(KEYS), MOST_KEY_LINES)
            : 0;

    return 1 + n_key + (has_numbers(map, matrix) ? n_row : (n_row + 1) / 2) +
           (matrix->row_k > 1 || matrix->column_k > 1);
}

/* --- Legends --------------------------------------------------------------------------------- */

bool attn_heatmap_has_own_range(const struct attn_heatmap *map,
                                const struct attn_level_matrix *matrix)
{
    const enum attn_color_span span = attn_heatmap_colors(map->writer, matrix).scale.span;

    return span == ATTN_SPAN_MATRIX || span == ATTN_SPAN_ROW;
}

/* The shades in their order, or a ramp of colours. */
static void append_steps(struct attn_heatmap *map, const struct attn_heatmap_colors *colors)
{
    const bool is_plain = map->writer->options.picture->is_plain;

    if (map->line.depth == ATTN_DEPTH_NONE || is_plain) {
        attn_color_line_string(
            &map->line, is_plain ? ".:*#" : "\xe2\x96\x91\xe2\x96\x92\xe2\x96\x93\xe2\x96\x88");
        return;
    }
    for (int i = 0; i < N_RAMP; i++) {
        attn_color_line_paint(
            &map->line, (struct attn_paint){.ground = ink_at(colors, (double)i / (N_RAMP - 1))});
        attn_color_line_blanks(&map->line, 1);
    }
    attn_color_line_paint(&map->line, ATTN_PAINT_NONE);
}

void attn_heatmap_append_ramp(struct attn_heatmap *map, const struct attn_heatmap_colors *colors)
{
    char low[ATTN_TICK_TEXT_SIZE], high[ATTN_TICK_TEXT_SIZE];

    attn_color_tick_text(colors->range.low, low);
    attn_color_tick_text(colors->range.high, high);
    map->label.size = 0;
    attn_color_line_string(&map->line, low);
    attn_color_line_blanks(&map->line, 1);
    append_steps(map, colors);
    attn_color_line_blanks(&map->line, 1);
    attn_color_line_string(&map->line, high);
    attn_color_line_string(&map->line, ", ");
    attn_color_scale_append(&colors->scale, &map->label);
    attn_color_line_append(&map->line, map->label.data, map->label.size);
}

enum attn_status attn_heatmap_legend(struct attn_heatmap *map,
                                     const struct attn_level_matrix *matrix, struct attn_error *err)
{
    const struct attn_heatmap_colors colors = attn_heatmap_colors(map->writer, matrix);

    if (!has_numbers(map, matrix) && colors.scale.span != ATTN_SPAN_ROW) {
        attn_heatmap_append_ramp(map, &colors);
        return attn_color_line_write(&map->line, map->sink, err);
    }
    return attn_heatmap_ticks(&map->line, &colors, map->sink, err);
}

enum attn_status attn_heatmap_ticks(struct attn_color_line *line,
                                    const struct attn_heatmap_colors *colors,
                                    struct attn_sink *sink, struct attn_error *err)
{
    const bool is_row = colors->scale.span == ATTN_SPAN_ROW; /* each has its own */
    double ticks[ATTN_MOST_TICKS];
    const size_t n = is_row ? 0 : attn_color_ticks(&colors->scale, colors->range, ticks);
    struct attn_buffer words = {0};
    enum attn_status status;

    attn_color_line_string(line, "colors: ");
    for (size_t i = 0; i < n; i++) {
        char text[ATTN_TICK_TEXT_SIZE];

        attn_color_tick_text(ticks[i], text);
        attn_color_line_paint(line, attn_heatmap_paint(colors, ticks[i], line->depth));
        attn_color_line_blanks(line, 1);
        attn_color_line_string(line, text);
        attn_color_line_blanks(line, 1);
        attn_color_line_paint(line, ATTN_PAINT_NONE);
        attn_color_line_blanks(line, 1);
    }
    attn_color_scale_append(&colors->scale, &words);
    attn_color_line_append(line, words.data, words.size);
    status = attn_buffer_check(&words, err);
    attn_buffer_release(&words);
    return status == ATTN_OK ? attn_color_line_write(line, sink, err) : status;
}
