/* figure_strip.c - how large a part is in each group of a table: a row for each part, a dot for
 * each group, and a bar at the median. The parts with the largest medians have rows, and the one
 * that was asked for; the last row has the medians of the others. Below is a sentence: in how many
 * groups each part is the largest. Numbers without a sign go by their square roots, so that small
 * ones are apart. */
#include "figures/figure_internal.h"

#include "base/text/fixed_text.h"
#include "base/text/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RANKED = 6,    /* parts with the largest medians */
    FEW = 2,       /* so many others have rows, too */
    MOST_ROWS = 9, /* those, the one that was asked for, and the row of the others */
    WIDTH = 420,   /* of the axis */
    BETWEEN = 8,   /* from a name to the axis */
    MARK_SIZE = 160
};

#define PITCH 1.8   /* from row to row / font size of names */
#define RADIUS 0.32 /* of a dot / font size of names */
#define MEDIAN 1.15 /* height of the bar of a median / font size of names */
#define LINE 1.35   /* height of a line / font size */
#define OPACITY 0.5

struct strip {
    const struct attn_level_matrix *matrix;
    struct attn_grid_axis groups, names;
    /* [names.n] columns of the matrix, whose rows are groups, by their medians, which are NaN
     * without numbers */
    struct attn_figure_rank *parts;
    double *numbers; /* [groups.n] those of a part */
    struct attn_figure_rank *rows[MOST_ROWS];
    size_t n_row;                    /* without the row of the others */
    struct attn_figure_rank *chosen; /* has the hue */
    double low, high;                /* ends of the axis */
    bool is_rooted;                  /* it goes by square roots */
    double left, top, width, bottom;
};

/* --- Numbers ------------------------------------------------------------------------------- */

/* Returns the number of COLUMN in GROUP; NaN if it is missing. */
static double number_of(const struct strip *strip, size_t group, size_t column)
{
    float value;

    return attn_level_cell(strip->matrix, group, column, &value) == ATTN_CELL_VALUE ? (double)value
                                                                                    : (double)NAN;
}

static int by_number(const void *a, const void *b)
{
    return attn_compare_numbers(*(const double *)a, *(const double *)b);
}

static double median_of(struct strip *strip, size_t column)
{
    size_t n = 0;

    for (size_t g = 0; g < strip->groups.n; g++) {
        const double number = number_of(strip, g, column);

        if (isfinite(number))
            strip->numbers[n++] = number;
    }
    if (n == 0)
        return (double)NAN;
    qsort(strip->numbers, n, sizeof *strip->numbers, by_number);
    return (strip->numbers[(n - 1) / 2] + strip->numbers[n / 2]) / 2;
}

/* Finds the ends of the axis and the median of each part. */
static enum attn_status find_parts(struct attn_figure_pen *pen, struct strip *strip,
                                   struct attn_error *err)
{
    const double small = 1e-6; /* rounding may leave a number that is at least 0 below it */

    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, strip->parts, strip->names.n, err));
    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, strip->numbers, strip->groups.n, err));
    for (size_t c = 0; c < strip->names.n; c++)
        strip->parts[c] = (struct attn_figure_rank){median_of(strip, c), c};
    for (size_t g = 0; g < strip->groups.n; g++)
        for (size_t c = 0; c < strip->names.n; c++) {
            const double number = number_of(strip, g, c);

            strip->low = fmin(strip->low, isfinite(number) ? number : 0);
            strip->high = fmax(strip->high, isfinite(number) ? number : 0);
        }
    strip->is_rooted = strip->low >= -small * strip->high;
    strip->low = strip->is_rooted ? 0 : strip->low;
    strip->high = strip->low < strip->high ? strip->high : strip->low + 1;
    qsort(strip->parts, strip->names.n, sizeof *strip->parts, attn_figure_by_rank);
    return ATTN_OK;
}

/* Chooses the part that has the hue: the one called NAME, or the largest. */
static enum attn_status choose_part(struct attn_figure_pen *pen, struct strip *strip,
                                    const char *name, struct attn_error *err)
{
    strip->chosen = name ? NULL : strip->parts;
    for (size_t i = 0; name && i < strip->names.n; i++) {
        size_t n;
        const char *label = attn_figure_label(pen, &strip->names, strip->parts[i].index, &n);

        if (n == strlen(name) && memcmp(label, name, n) == 0)
            strip->chosen = &strip->parts[i];
    }
    ATTN_TRY(attn_buffer_check(&pen->scratch, err));
    return strip->chosen ? ATTN_OK
                         : attn_error_set(err, ATTN_INVALID,
                                          "'`figure strip:%s`' names no row of the table, expected "
                                          "a name such as 2.5",
                                          attn_quote_string(name).text);
}

/* Lists the parts that have rows. A single row is not put together. */
static void list_rows(struct strip *strip)
{
    const size_t n = strip->names.n, n_ranked = n <= RANKED + FEW ? n : RANKED;

    for (size_t i = 0; i < n; i++)
        if (i < n_ranked || &strip->parts[i] == strip->chosen)
            strip->rows[strip->n_row++] = &strip->parts[i];
}

/* Appends the name of PART to TEXT [size]. */
static void append_name(struct attn_figure_pen *pen, const struct strip *strip,
                        const struct attn_figure_rank *part, char *text, size_t size, size_t *used)
{
    size_t n;
    const char *label = attn_figure_label(pen, &strip->names, part->index, &n);

    attn_fixed_text_append(text, size, used, "%.*s", (int)n, label);
}

/* --- Drawing ------------------------------------------------------------------------------- */

static double x_of(const struct strip *strip, double number)
{
    const double range = strip->high - strip->low, at = fmax(0, (number - strip->low) / range);

    return strip->left + strip->width * (strip->is_rooted ? sqrt(at) : at);
}

static uint32_t hue_of(const struct attn_figure_pen *pen, bool is_chosen)
{
    const bool is_dark = pen->options->theme == ATTN_THEME_DARK;

    if (is_chosen)
        return is_dark ? 0xff7a1a : 0xc8400a;
    return is_dark ? 0xa9b8c9 : 0x5a6b80;
}

/* Writes round numbers of a rooted axis to TICKS, the largest first, which are at least APART from
 * each other and from 0, and 0. Returns their number. */
static size_t root_ticks(const struct strip *strip, double apart, double ticks[ATTN_MOST_TICKS])
{
    static const double steps[] = {5, 2, 1};
    double unit = 1, last = HUGE_VAL;
    size_t n = 0;

    while (unit < strip->high)
        unit *= 10;
    while (unit > strip->high)
        unit /= 10;
    while (x_of(strip, unit * 5) - strip->left >= apart && n < ATTN_MOST_TICKS - 1) {
        for (size_t i = 0; i < sizeof steps / sizeof *steps && n < ATTN_MOST_TICKS - 1; i++) {
            const double tick = unit < 1 ? steps[i] / round(1 / unit) : steps[i] * unit;
            const double x = x_of(strip, tick);

            if (tick > strip->high || last - x < apart || x - strip->left < apart)
                continue;
            ticks[n++] = tick;
            last = x;
        }
        unit /= 10;
    }
    ticks[n++] = 0;
    return n;
}

/* Adds the ticks below the rows, and the name of the axis. Returns the y behind them. */
static double add_axis(struct attn_figure_pen *pen, const struct strip *strip)
{
    const double size = pen->letters.tick, y = strip->bottom + size + 2;
    double ticks[ATTN_MOST_TICKS];
    const size_t n = strip->is_rooted ? root_ticks(strip, 4 * size, ticks)
                                      : attn_round_ticks(strip->low, strip->high, ticks);
    char number[ATTN_TICK_TEXT_SIZE];

    for (size_t i = 0; i < n && !pen->is_measuring; i++) {
        const struct attn_shape_text text =
            attn_figure_text(x_of(strip, ticks[i]), y, size, pen->ink, ATTN_ANCHOR_MIDDLE);

        attn_figure_add_line(pen, (double[]){text.x, strip->top}, (double[]){text.x, strip->bottom},
                             1, pen->rule);
        attn_shapes_add_text(pen->shapes, &text, number, attn_color_tick_text(ticks[i], number));
    }
    if (pen->is_measuring)
        return y + 1.8 * pen->letters.axis;
    attn_shapes_set_mark(pen->shapes, "axis");
    attn_figure_add_axis_name(pen, strip->left + strip->width / 2, y + LINE * pen->letters.axis,
                              pen->quantity);
    attn_shapes_end_mark(pen->shapes);
    return y + 1.8 * pen->letters.axis;
}

/* Adds the dot of NUMBER at Y. */
static void add_dot(struct attn_figure_pen *pen, const struct strip *strip, double number, double y,
                    double radius, bool is_chosen)
{
    if (isfinite(number))
        attn_shapes_add_dot(pen->shapes, (struct attn_shape_dot){.x = x_of(strip, number),
                                                                 .y = y,
                                                                 .radius = radius,
                                                                 .color = hue_of(pen, is_chosen),
                                                                 .opacity = OPACITY});
}

/* Adds the line of a row at Y, and its name. */
static void add_name(struct attn_figure_pen *pen, const struct strip *strip, double y,
                     const char *name, bool is_chosen, bool is_faint)
{
    const struct attn_shape_text label = {.x = strip->left - BETWEEN,
                                          .y = y + 0.35 * pen->letters.label,
                                          .size = pen->letters.label,
                                          .color = is_faint ? pen->faint : pen->ink,
                                          .anchor = ATTN_ANCHOR_END,
                                          .is_bold = is_chosen};

    attn_figure_add_line(pen, (double[]){strip->left, y}, (double[]){strip->left + strip->width, y},
                         1, pen->rule);
    attn_shapes_add_string(pen->shapes, &label, name);
}

/* Adds the row of PART at Y. The mark of a dot is "2.5,17": the name of the part and the number of
 * the group. */
static void add_row(struct attn_figure_pen *pen, const struct strip *strip,
                    const struct attn_figure_rank *part, double y)
{
    const double size = pen->letters.label, half = MEDIAN * size / 2;
    const bool is_chosen = part == strip->chosen;
    char name[MARK_SIZE];
    size_t used = 0;

    append_name(pen, strip, part, name, sizeof name, &used);
    add_name(pen, strip, y, name, is_chosen, false);
    for (size_t g = 0; g < strip->groups.n; g++) {
        attn_shapes_set_mark(pen->shapes, "%.*s,%zu", (int)used, name, g);
        add_dot(pen, strip, number_of(strip, g, part->index), y, RADIUS * size, is_chosen);
    }
    attn_shapes_end_mark(pen->shapes);
    if (isfinite(part->number))
        attn_figure_add_line(pen, (double[]){x_of(strip, part->number), y - half},
                             (double[]){x_of(strip, part->number), y + half}, 3,
                             hue_of(pen, is_chosen));
}

/* Whether PART has a row. */
static bool has_row(const struct strip *strip, const struct attn_figure_rank *part)
{
    size_t i = 0;

    while (i < strip->n_row && strip->rows[i] != part)
        i++;
    return i < strip->n_row;
}

/* Adds the row of the medians of the parts without rows. */
static void add_others(struct attn_figure_pen *pen, const struct strip *strip, double y)
{
    char name[32];

    snprintf(name, sizeof name, "%zu others", strip->names.n - strip->n_row);
    attn_shapes_set_mark(pen->shapes, "others");
    add_name(pen, strip, y, name, false, true);
    attn_shapes_end_mark(pen->shapes);
    for (size_t i = 0; i < strip->names.n; i++)
        if (!has_row(strip, &strip->parts[i]))
            add_dot(pen, strip, strip->parts[i].number, y, 0.6 * RADIUS * pen->letters.label,
                    false);
}

/* Lays out the rows, and draws all unless the figure is measured. */
static void draw_strip(struct attn_figure_pen *pen, struct strip *strip)
{
    enum { OTHERS_COLUMNS = 11 }; /* of "1000 others" */
    const bool has_others = strip->n_row < strip->names.n;
    const double size = pen->letters.label, pitch = PITCH * size, edge = RADIUS * size + 2;
    double label = attn_figure_label_width(pen, &strip->names, size);

    if (has_others)
        label = fmax(label, attn_figure_text_width(OTHERS_COLUMNS, size));
    strip->left = ceil(ATTN_FIGURE_PAD + label + BETWEEN + edge);
    strip->width =
        pen->room > 0 ? fmax(80, floor(pen->room - strip->left - edge - ATTN_FIGURE_PAD)) : WIDTH;
    strip->top = attn_figure_add_heading(pen, strip->left + strip->width + edge) + 4;
    strip->bottom = strip->top + pitch * (double)(strip->n_row + has_others);
    pen->shapes->height = ceil(add_axis(pen, strip) + ATTN_FIGURE_PAD);
    if (pen->is_measuring)
        return;
    for (size_t i = 0; i < strip->n_row; i++)
        add_row(pen, strip, strip->rows[i], strip->top + pitch * ((double)i + 0.5));
    if (has_others)
        add_others(pen, strip, strip->top + pitch * ((double)strip->n_row + 0.5));
}

static enum attn_status draw_figure(struct attn_figure_pen *pen, struct attn_error *err)
{
    struct strip strip = {.matrix = attn_figure_matrix(pen, 0)};

    strip.groups = attn_figure_rows(pen, strip.matrix);
    strip.names = attn_figure_columns(pen, strip.matrix);
    attn_buffer_append_format(&pen->subtitle, "dots: %zu %s, bars: medians; ", strip.groups.n,
                              attn_figure_groups_word(pen));
    ATTN_TRY(find_parts(pen, &strip, err));
    ATTN_TRY(choose_part(pen, &strip, pen->options->chosen, err));
    attn_figure_name_strip(pen, strip.chosen->index);
    list_rows(&strip);
    draw_strip(pen, &strip);
    return ATTN_OK;
}

const attn_figure_fn attn_figure_draw_strip = draw_figure;
