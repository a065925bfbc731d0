/* figure_cells.c - the cells of a matrix as shapes: colors, hatches, lines, numbers. A diagonal of
 * a hatch is one line through all its cells, so a masked triangle of N rows takes N lines. Lines
 * between cells are drawn only next to cells with a value. */
#include "figures/figure_internal.h"

#include "formats/float_text.h"
#include "measures/head_kind.h"
#include "pictures/colormap_internal.h"
#include "tables/text_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    FIRST_NOTHING = ATTN_N_COLOR - 1, /* palette index of cells without a value, plus their kind */
    PAPER = FIRST_NOTHING + ATTN_CELL_NOT_FINITE + 1,
    MOST_LINED = 1 << 16, /* maximum cells of a matrix that gets hatches and lines */
    VALUE_SIDE = 28,      /* minimum side of a cell that shows its number */
    VALUE_COLUMNS = 24,   /* maximum columns of a matrix with numbers */
    SMALLEST = 8,         /* smallest font size of numbers, unless the user requires numbers */
    APART = 16,           /* distance of the strokes in a large cell */
};

static struct attn_rgb color_of(const struct attn_figure_pen *pen, int level)
{
    if (pen->content->kind == ATTN_FIGURE_MAP)
        return attn_hue_color(
            attn_head_kind_at((size_t)(level / ATTN_KIND_LEVELS) % ATTN_N_HEAD_KIND)->hue,
            (double)(level % ATTN_KIND_LEVELS) / (ATTN_KIND_LEVELS - 1), pen->options->theme);
    return attn_colormap_color(pen->map, pen->options->theme, level);
}

uint32_t attn_figure_color(const struct attn_figure_pen *pen, int level)
{
    return attn_rgb_number(color_of(pen, level));
}

uint32_t attn_figure_ground(const struct attn_figure_pen *pen, enum attn_cell_kind kind)
{
    enum { PALE = 0xeeeeee };

    if (pen->is_printed && kind == ATTN_CELL_MASKED && pen->options->theme != ATTN_THEME_DARK)
        return PALE;
    return attn_cell_look(kind, pen->options->theme).ground;
}

bool attn_figure_takes_black(const struct attn_figure_pen *pen, int level)
{
    return attn_rgb_takes_black(color_of(pen, level));
}

static size_t stride_of(struct attn_figure_view view)
{
    return view.stride > 0 ? view.stride : view.n_col;
}

static enum attn_cell_kind cell_of(struct attn_figure_view view, size_t r, size_t c, float *value)
{
    const size_t at = view.first + r * stride_of(view) + c, n = view.matrix->n_cell_column;

    return attn_level_cell(view.matrix, at / n, at % n, value);
}

double attn_figure_number(struct attn_figure_view view, size_t i)
{
    float value;

    return cell_of(view, i / view.n_col, i % view.n_col, &value) == ATTN_CELL_VALUE ? (double)value
                                                                                    : (double)NAN;
}

static enum attn_cell_kind kind_at(struct attn_figure_view view, size_t r, size_t c)
{
    float value;

    return cell_of(view, r, c, &value);
}

/* Returns true if the token in a cell counts too little to have a color: below 2 %. */
static bool is_faint(const struct attn_figure_pen *pen, double value)
{
    const struct attn_grid *grid = pen->content->grid;

    return grid->has_words && grid->is_share && fabs(value) < ATTN_FIGURE_FAINT / 100.0;
}

static struct attn_color_range range_in(const struct attn_figure_pen *pen,
                                        struct attn_figure_view view)
{
    double least = HUGE_VAL, most = -HUGE_VAL;
    float value;

    for (size_t i = 0; view.is_veil && i < view.n_row * view.n_col; i++)
        if (cell_of(view, i / view.n_col, i % view.n_col, &value) == ATTN_CELL_VALUE) {
            least = fmin(least, (double)value);
            most = fmax(most, (double)value);
        }
    if (view.is_veil)
        return attn_color_range(&pen->scale, least, most);
    return attn_level_range(view.matrix, &pen->scale);
}

void attn_figure_add_cells(struct attn_figure_pen *pen, struct attn_figure_view view,
                           struct attn_figure_place place)
{
    const struct attn_shape_cells cells = {.x = place.x,
                                           .y = place.y,
                                           .width = attn_figure_cell_width(place),
                                           .height = place.side,
                                           .n_row = view.n_row,
                                           .n_col = view.n_col,
                                           .is_veil = view.is_veil};
    uint16_t *colors = attn_shapes_add_cells(pen->shapes, &cells);

    for (size_t r = 0; colors && r < cells.n_row; r++) {
        const struct attn_color_range range = range_in(pen, view);

        for (size_t c = 0; c < cells.n_col; c++) {
            float value = 0;
            const enum attn_cell_kind kind = cell_of(view, r, c, &value);

            if ((view.is_scarce && kind == ATTN_CELL_MASKED) ||
                (kind == ATTN_CELL_VALUE && is_faint(pen, (double)value))) {
                *colors++ = PAPER;
                continue;
            }
            pen->has_kind[kind] = true;
            *colors++ = kind == ATTN_CELL_VALUE
                            ? (uint16_t)attn_color_level(&pen->scale, range, (double)value)
                            : (uint16_t)(FIRST_NOTHING + (int)kind);
        }
    }
}

static bool has_lines(struct attn_figure_view view, struct attn_figure_place place)
{
    return place.side >= ATTN_FIGURE_HATCHED && view.n_row * view.n_col <= MOST_LINED;
}

void attn_figure_add_line(struct attn_figure_pen *pen, const double from[2], const double to[2],
                          double width, uint32_t color)
{
    attn_shapes_add_line(pen->shapes, (struct attn_shape_line){.x = from[0],
                                                               .y = from[1],
                                                               .x2 = to[0],
                                                               .y2 = to[1],
                                                               .width = width,
                                                               .opacity = 1,
                                                               .color = color});
}

/* Adds diagonal strokes through a cell, from the lower left to the upper right or, if IS_DOWNWARDS,
 * from the upper left: one, and more through a cell much larger than the usual ones. */
static void add_strokes(struct attn_figure_pen *pen, enum attn_cell_kind kind,
                        struct attn_figure_place place, bool is_downwards)
{
    const double width = attn_figure_cell_width(place), height = place.side;
    const int n = (int)fmax(1, floor(fmin(width, height) / APART));

    for (int i = 1; i < 2 * n; i++) { /* the line x / width + y / height = i / n */
        const double from = fmax(0, (double)i / n - 1), to = fmin(1, (double)i / n);
        const double ys[2] = {height * to, height * from};

        attn_figure_add_line(
            pen,
            (double[]){place.x + width * from, place.y + (is_downwards ? height - ys[0] : ys[0])},
            (double[]){place.x + width * to, place.y + (is_downwards ? height - ys[1] : ys[1])}, 1,
            attn_cell_look(kind, pen->options->theme).hatch);
    }
}

/* Hatches the cells of KIND on the anti-diagonal row + column = SUM: one line for each run of such
 * cells. */
static void hatch_diagonal(struct attn_figure_pen *pen, struct attn_figure_view view,
                           struct attn_figure_place place, enum attn_cell_kind kind, size_t sum)
{
    const size_t n_row = view.n_row;
    const size_t first = sum < n_row ? 0 : sum - n_row + 1;
    const size_t end = sum < view.n_col ? sum + 1 : view.n_col;
    const double width = attn_figure_cell_width(place);

    for (size_t c = first, begin; c < end; c++) {
        if (kind_at(view, sum - c, c) != kind)
            continue;
        for (begin = c; c + 1 < end && kind_at(view, sum - c - 1, c + 1) == kind;)
            c++;
        attn_figure_add_line(
            pen,
            (double[]){place.x + (double)begin * width,
                       place.y + (double)(sum - begin + 1) * place.side},
            (double[]){place.x + (double)(c + 1) * width, place.y + (double)(sum - c) * place.side},
            1, attn_cell_look(kind, pen->options->theme).hatch);
    }
}

/* Cells with NaN or infinity are crossed out: they also have strokes in the other direction. Large
 * cells over a picture have several. */
void attn_figure_add_hatches(struct attn_figure_pen *pen, struct attn_figure_view view,
                             struct attn_figure_place place)
{
    const size_t n_sum = view.n_row + view.n_col - 1;
    const bool *has_kind = pen->has_kind, is_large = view.is_veil && place.side >= 2 * APART;

    if (!has_lines(view, place))
        return;
    for (size_t i = 0; (is_large || has_kind[ATTN_CELL_NOT_FINITE]) && i < view.n_row * view.n_col;
         i++) {
        const size_t r = i / view.n_col, c = i % view.n_col;
        const enum attn_cell_kind kind = kind_at(view, r, c);
        const struct attn_figure_place cell = {place.x + (double)c * attn_figure_cell_width(place),
                                               place.y + (double)r * place.side, place.side,
                                               place.width};

        if (kind == ATTN_CELL_NOT_FINITE)
            add_strokes(pen, kind, cell, true);
        if (is_large && kind != ATTN_CELL_VALUE)
            add_strokes(pen, kind, cell, false);
    }
    if (is_large)
        return;
    for (int kind = view.is_scarce || pen->is_printed ? ATTN_CELL_MASKED + 1 : ATTN_CELL_MASKED;
         kind <= ATTN_CELL_NOT_FINITE; kind++)
        for (size_t sum = 0; has_kind[kind] && sum < n_sum; sum++)
            hatch_diagonal(pen, view, place, (enum attn_cell_kind)kind, sum);
}

/* Returns true if there is a line between cells K - 1 and K in row I (column I unless IS_DOWN): at
 * least one of the two has a value. */
static bool is_ruled(struct attn_figure_view view, bool is_down, size_t k, size_t i)
{
    const size_t n = is_down ? view.n_col : view.n_row;
    const bool is_after =
        k < n && (is_down ? kind_at(view, i, k) : kind_at(view, k, i)) != ATTN_CELL_MASKED;

    return is_after || (k > 0 && (is_down ? kind_at(view, i, k - 1) : kind_at(view, k - 1, i)) !=
                                     ATTN_CELL_MASKED);
}

/* Adds the line between rows K - 1 and K, or between columns if IS_DOWN. */
static void add_rule(struct attn_figure_pen *pen, struct attn_figure_view view,
                     struct attn_figure_place place, bool is_down, size_t k)
{
    const size_t n = is_down ? view.n_row : view.n_col;
    const double width = attn_figure_cell_width(place), along = is_down ? place.side : width;
    const double at =
        (is_down ? place.x : place.y) + (double)k * (is_down ? width : place.side) + 0.5;
    const double origin = is_down ? place.y : place.x;

    for (size_t i = 0, begin; i < n; i++) {
        double from[2] = {at, at}, to[2] = {at, at};

        if (!is_ruled(view, is_down, k, i))
            continue;
        for (begin = i; i + 1 < n && is_ruled(view, is_down, k, i + 1);)
            i++;
        from[is_down] = origin + (double)begin * along;
        to[is_down] = origin + (double)(i + 1) * along + 1;
        attn_figure_add_line(pen, from, to, 1, pen->rule);
    }
}

void attn_figure_add_rules(struct attn_figure_pen *pen, struct attn_figure_view view,
                           struct attn_figure_place place)
{
    const size_t outer = view.is_scarce ? 0 : 1; /* other views have a frame around them */

    if (!has_lines(view, place))
        return;
    for (size_t r = outer; r + outer <= view.n_row; r++)
        add_rule(pen, view, place, false, r);
    for (size_t c = outer; c + outer <= view.n_col; c++)
        add_rule(pen, view, place, true, c);
}

void attn_figure_add_outline(struct attn_figure_pen *pen, const double box[4], double width,
                             uint32_t color)
{
    const double left = box[0], top = box[1], right = box[2], bottom = box[3], half = width / 2;
    const double corners[][2] = {{left - half, top},     {right + half, top}, {left - half, bottom},
                                 {right + half, bottom}, {left, top},         {left, bottom},
                                 {right, top},           {right, bottom}};

    for (size_t i = 0; i < sizeof corners / sizeof *corners; i += 2)
        attn_figure_add_line(pen, corners[i], corners[i + 1], width, color);
}

void attn_figure_add_frame(struct attn_figure_pen *pen, double x, double y, double width,
                           double height)
{
    attn_figure_add_outline(pen, (double[]){x - 0.5, y - 0.5, x + width + 0.5, y + height + 0.5}, 1,
                            pen->frame);
}

void attn_figure_add_nothing(struct attn_figure_pen *pen, enum attn_cell_kind kind,
                             struct attn_figure_place place)
{
    attn_figure_add_box(pen, place.x, place.y, place.side, place.side,
                        attn_figure_ground(pen, kind));
    if (!pen->is_printed || kind != ATTN_CELL_MASKED)
        add_strokes(pen, kind, place, false);
    if (kind == ATTN_CELL_NOT_FINITE)
        add_strokes(pen, kind, place, true);
    attn_figure_add_frame(pen, place.x, place.y, place.side, place.side);
}

bool attn_figure_is_percent(const struct attn_figure_pen *pen)
{
    const struct attn_grid *grid = pen->content->grid;

    return grid->is_share &&
           (!grid->run || pen->scale.span != ATTN_SPAN_FIXED || fabs(pen->scale.high) <= 1);
}

/* Returns true if VALUE of a table is below 2 % of the largest, too small to print. */
static bool is_small(const struct attn_figure_pen *pen, double value)
{
    const struct attn_level_matrix *matrix = attn_figure_matrix(pen, 0);
    const double largest = fmax(fabs((double)matrix->least), fabs((double)matrix->most));

    return !pen->content->grid->run && matrix->least <= matrix->most &&
           fabs(value) < 0.02 * largest;
}

/* Writes a value: a share in percent, "48", or if it rounds to 0 "." (in print a centered dot, in a
 * figure of heads nothing); otherwise two digits, "-1.3", and in tables a centered dot for 0 and
 * for numbers below 2 % of the largest. */
static size_t write_value(const struct attn_figure_pen *pen, double value, bool is_share,
                          char text[ATTN_FIXED_TEXT_SIZE])
{
    const struct attn_grid *grid = pen->content->grid;
    const double percent = round(100 * value);
    struct attn_grid shorter;
    size_t n;

    if (is_share && percent == 0 && pen->content->kind == ATTN_FIGURE_HEADS)
        return 0;
    if (is_share && percent == 0 && !pen->is_printed)
        return (size_t)snprintf(text, ATTN_FIXED_TEXT_SIZE, ".");
    if (is_share)
        n = attn_float_text_fixed((float)percent, 0, text);
    else if (!grid->run) {
        shorter = *grid;
        shorter.digits -= pen->is_short;
        n = attn_grid_number(&shorter, (float)value, text);
    } else
        n = attn_float_text_fixed((float)value, fabs(value) < 9.95 ? 1 : 0, text);
    if (((pen->is_printed || !grid->run) && strspn(text, "-0.") >= n) || is_small(pen, value))
        return (size_t)snprintf(text, ATTN_FIXED_TEXT_SIZE, "\xc2\xb7");
    return n;
}

/* Returns the text of cell AT: the text of a table, or VALUE written to NUMBER. */
static const char *text_in(const struct attn_figure_pen *pen, size_t at, float value,
                           char number[ATTN_FIXED_TEXT_SIZE], size_t *n)
{
    const struct attn_grid *grid = pen->content->grid;

    if (grid->cells)
        return attn_grid_cell_text(grid, at, n);
    *n = write_value(pen, (double)value, attn_figure_is_percent(pen), number);
    return number;
}

/* Returns true if a cell has a value whose magnitude is at least LEAST. */
static bool has_value(struct attn_figure_view view, size_t r, size_t c, double least, float *value)
{
    return cell_of(view, r, c, value) == ATTN_CELL_VALUE && fabs((double)*value) >= least;
}

size_t attn_figure_value_columns(const struct attn_figure_pen *pen, struct attn_figure_view view,
                                 double least)
{
    char number[ATTN_FIXED_TEXT_SIZE];
    size_t longest = 2;
    float value;

    for (size_t r = 0; r < view.n_row; r++)
        for (size_t c = 0; c < view.n_col; c++) {
            const size_t at = view.first + r * stride_of(view) + c;
            size_t n;
            const char *text;

            if (!has_value(view, r, c, least, &value))
                continue;
            text = text_in(pen, at, value, number, &n);
            n = attn_text_width(text, n);
            longest = n > longest ? n : longest;
        }
    return longest;
}

/* Returns the width of the widest text in the cells of VIEW, as a multiple of the font size. */
static double value_width(const struct attn_figure_pen *pen, struct attn_figure_view view)
{
    char number[ATTN_FIXED_TEXT_SIZE];
    double widest = 0;
    float value;

    for (size_t i = 0; i < view.n_row * view.n_col; i++) {
        size_t n;
        const char *text;

        if (!has_value(view, i / view.n_col, i % view.n_col, 0, &value))
            continue;
        text = text_in(pen, view.first + i, value, number, &n);
        widest = fmax(widest, attn_figure_string_width(pen, text, n));
    }
    return widest;
}

/* Returns the font size at which the longest number fits its cell; 0 if none would be legible. In
 * print, if only weights above half of the largest fit, sets *LEAST to that half; a table has all
 * numbers or none. */
static double value_size(const struct attn_figure_pen *pen, struct attn_figure_view view,
                         struct attn_figure_place place, double *least)
{
    const struct attn_level_matrix *matrix = view.matrix;
    const bool is_table = pen->content->grid->rows;
    const bool has_room = place.side >= VALUE_SIDE && view.n_col <= VALUE_COLUMNS;
    const double width = attn_figure_cell_width(place);
    /* with a requested font size, numbers are not smaller than the legend */
    const bool is_narrow = pen->is_printed && !pen->content->grid->run;
    const double smallest = is_narrow       ? attn_figure_least_letters(pen)
                            : pen->room > 0 ? pen->letters.tick
                                            : SMALLEST;
    size_t n;
    double size;

    if (pen->content->grid->has_words)
        return fmin(attn_figure_word_size(pen), place.side * 0.8);
    if (has_room || is_table) {
        const struct attn_figure_view whole = attn_figure_whole(matrix);

        n = attn_figure_value_columns(pen, whole, 0);
        size = is_narrow ? 0.95 * width / value_width(pen, whole)
                         : 0.82 * width / attn_figure_text_width(n, 1);
        size = fmin(size, fmax(pen->letters.tick, place.side * 0.42));
        size = fmin(size, pen->is_printed ? fmin(pen->letters.label, place.side * 0.9)
                                          : place.side * 0.8);
        if (size >= smallest) /* of a tick, or if these are too large the smallest */
            return is_narrow && size < pen->letters.tick ? smallest : size;
    }
    if (!pen->is_printed || !pen->content->grid->run || !(matrix->least <= matrix->most))
        return 0;
    *least = fmax(fabs((double)matrix->least), fabs((double)matrix->most)) / 2;
    n = attn_figure_is_percent(pen) /* 100 is not shown if it does not fit */
            ? 2
            : attn_figure_value_columns(pen, attn_figure_whole(matrix), *least);
    size =
        fmin(fmin(pen->letters.tick, place.side * 0.9), width * 0.9 / attn_figure_text_width(n, 1));
    return size >= attn_figure_least_letters(pen) ? size : 0;
}

void attn_figure_add_bars(struct attn_figure_pen *pen, struct attn_figure_view view,
                          struct attn_figure_place place)
{
    const struct attn_grid *grid = pen->content->grid;
    const double width = attn_figure_cell_width(place), height = place.side * ATTN_FIGURE_BAR;

    for (size_t i = 0; grid->bars && i < view.n_row * view.n_col; i++) {
        const size_t r = i / view.n_col, c = i % view.n_col;
        const size_t at = view.first + r * stride_of(view) + c;
        const double left = place.x + (double)c * width + 1,
                     top = place.y + (double)(r + 1) * place.side;
        struct attn_head_part parts[ATTN_HEAD_PARTS];
        size_t n = 0;

        if (kind_at(view, r, c) == ATTN_CELL_VALUE)
            n = attn_head_bar(grid->bars[at]->shares, grid->bars[at]->park, parts);
        for (size_t p = 0; p < n; p++) {
            const bool is_parked = parts[p].kind == attn_head_kind_at(ATTN_HEAD_KIND_PARKS);
            const struct attn_rgb color = attn_rgb_mix(
                parts[p].kind->hue, is_parked ? ATTN_HEAD_PALE / 100.0 : 1, pen->options->theme);

            attn_figure_add_box(pen, left + parts[p].begin * (width - 1), top - height,
                                (parts[p].end - parts[p].begin) * (width - 1), height,
                                attn_rgb_number(color));
        }
    }
}

void attn_figure_add_values(struct attn_figure_pen *pen, struct attn_figure_view view,
                            struct attn_figure_place place)
{
    const bool has_words = pen->content->grid->has_words;
    struct attn_shape_text text = {.anchor = ATTN_ANCHOR_MIDDLE};
    char number[ATTN_FIXED_TEXT_SIZE];
    double least = 0;
    float value;

    text.size = value_size(pen, view, place, &least);
    if (text.size == 0 && pen->is_printed && pen->content->grid->rows &&
        pen->content->grid->digits > 1) {
        pen->is_short = true;
        text.size = value_size(pen, view, place, &least);
    }
    for (size_t r = 0; text.size > 0 && r < view.n_row; r++) {
        const struct attn_color_range range = range_in(pen, view);

        text.y = place.y + ((double)r + 0.5) * place.side + 0.35 * text.size;
        if (pen->content->grid->bars)
            text.y -= place.side * ATTN_FIGURE_BAR / 2;
        for (size_t c = 0; c < view.n_col; c++) {
            const size_t at = view.first + r * stride_of(view) + c;
            size_t n;
            const char *bytes;
            int level;

            if (!has_value(view, r, c, least, &value))
                continue;
            level = attn_color_level(&pen->scale, range, (double)value);
            text.color = is_faint(pen, (double)value)          ? pen->faint
                         : attn_figure_takes_black(pen, level) ? 0
                                                               : 0xffffff;
            text.x = place.x + ((double)c + 0.5) * attn_figure_cell_width(place);
            bytes = has_words ? attn_figure_word(pen, at, &n) : text_in(pen, at, value, number, &n);
            if (n > 0 && (least == 0 || attn_figure_text_width(n, text.size) <
                                            attn_figure_cell_width(place) * 0.95))
                attn_shapes_add_text(pen->shapes, &text, bytes, n);
        }
    }
}

double attn_figure_side(struct attn_figure_pen *pen, double usual)
{
    double side = usual;

    if (pen->room > 0)
        side = fmax(1, floor(usual * pen->growth * ATTN_FIGURE_PARTS)) / ATTN_FIGURE_PARTS;
    pen->shapes->cell = side;
    return side;
}
