/* figure_plot.c - numbers of a table as bars from 0, one below the other, or as curves, with error
 * bars. Each row of the matrix is a group with its own color; columns are bars, or places along the
 * curve. Bars of parts of layers are ranked: the largest first, at most 32, and those below 5 % of
 * it together, without a bar. */
#include "figures/figure_internal.h"

#include "base/status_internal.h"
#include "base/text/number.h"
#include "tables/text_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_GROUPS = 10,
    MOST_BARS = 400,
    BAR = 12,          /* height of a bar */
    BETWEEN_BARS = 6,  /* gap between the bars of two columns */
    BARS_WIDTH = 320,  /* length of the axis of bars */
    STEP = 36,         /* distance from one place of a curve to the next */
    CURVE_WIDTH = 360, /* maximum width of a curve */
    CURVE_HEIGHT = 200,
    TICK_ROOM = 34, /* height for ticks below the axis of bars */
    CAP = 3,        /* half the length of the cap of an error bar */
    SWATCH = 12,    /* side of a color sample in the legend */
    ENTRY = 18,
    SMALL = 5,      /* percent of the largest bar below which bars are put together */
    FEW_SMALL = 3,  /* fewer small bars are drawn */
    RANKED = 32,    /* maximum bars of ranked parts */
    FROM_VALUE = 4, /* gap between a bar and its number */
    LEADER = 18,    /* length of the line from the end of a curve to its name */
    SHORT = 6,      /* columns of names of places that are never rotated */
};

/* Colors of Okabe and Ito, without the faint yellow, and others. The first four differ in grey. */
static const uint32_t hues[MOST_GROUPS] = {0x0072b2, 0xe69f00, 0x004d33, 0xe8a8cc, 0xa6761d,
                                           0x56b4e9, 0x7570b3, 0x666666, 0xd55e00, 0x1b7837};

/* Returns the color of a group. On a dark background, dark green is replaced by yellow. */
static uint32_t hue_of(const struct attn_figure_pen *pen, size_t group)
{
    return group == 2 && pen->options->theme == ATTN_THEME_DARK ? 0xf0e442 : hues[group];
}

struct plot_layout {
    const struct attn_grid *grid;
    const struct attn_level_matrix *matrix;
    struct attn_grid_axis groups, places;
    double left, top, width, height; /* place of the plot */
    double low, high;                /* ends of the numeric axis */
    double legend, aside; /* width of the names of groups, and with its gap; 0: one group */
    double name;          /* width of the name of the numeric axis */
    struct attn_figure_rank *bars; /* [places.n] their places, and the largest magnitude there */
    size_t n_bar;                  /* bars that are drawn; the others are small */
    double largest;                /* the size of the largest bar */
    double first, last;            /* ends of the part of the axis that has ticks */
    double value;                  /* width of the longest number at a bar */
};

/* Sets NUMBER to the number of column C of group R and the two ends of its interval (NaN without
 * one). Returns false if the cell has no number. */
static bool number_of(const struct plot_layout *plot, size_t r, size_t c, double number[3])
{
    const size_t at = r * plot->matrix->n_cell_column + c;
    const double unit = plot->grid->is_share ? 100 : 1;
    float value;

    if (attn_level_cell(plot->matrix, r, c, &value) != ATTN_CELL_VALUE)
        return false;
    number[0] = unit * (double)value;
    number[1] = plot->grid->lows ? unit * (double)plot->grid->lows[at] : (double)NAN;
    number[2] = plot->grid->highs ? unit * (double)plot->grid->highs[at] : (double)NAN;
    return true;
}

/* Sets the range of the axis: all numbers, also 0 if IS_FROM_ZERO, and a small margin. */
static void find_range(struct plot_layout *plot, bool is_from_zero)
{
    double low = is_from_zero ? 0 : HUGE_VAL, high = is_from_zero ? 0 : -HUGE_VAL, number[3];

    for (size_t r = 0; r < plot->groups.n; r++)
        for (size_t c = 0; c < plot->places.n; c++)
            for (int i = 0; number_of(plot, r, c, number) && i < 3; i++)
                if (isfinite(number[i])) {
                    low = fmin(low, number[i]);
                    high = fmax(high, number[i]);
                }
    if (!(low < high)) {
        low = isfinite(low) ? low - 1 : 0;
        high = low + 2;
    }
    plot->low = low == 0 ? 0 : low - (high - low) * 0.04;
    plot->high = high == 0 ? 0 : high + (high - low) * 0.04;
    plot->first = plot->low;
    plot->last = plot->high;
}

static void add_legend(struct attn_figure_pen *pen, const struct plot_layout *plot)
{
    const double x = plot->left + plot->width + ATTN_FIGURE_ASIDE;
    struct attn_shape_text text = {
        .x = x + SWATCH + 6, .size = pen->letters.axis, .color = pen->ink, .y = plot->top + 10};

    for (size_t i = 0; plot->legend > 0 && i < plot->groups.n; i++) {
        attn_figure_add_box(pen, x, text.y - 10, SWATCH, SWATCH, hue_of(pen, i));
        attn_figure_add_label(pen, &text, &plot->groups, i);
        text.y += ENTRY;
    }
}

/* Lists the bars, ranked if the grid is so. */
static enum attn_status list_bars(struct attn_figure_pen *pen, struct plot_layout *plot,
                                  struct attn_error *err)
{
    const size_t n = plot->places.n;
    size_t n_large = 0;
    double number[3];

    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, plot->bars, n, err));
    for (size_t c = 0; c < n; c++) {
        plot->bars[c].index = c;
        for (size_t r = 0; r < plot->groups.n; r++)
            if (number_of(plot, r, c, number) && isfinite(number[0]))
                plot->bars[c].number = fmax(plot->bars[c].number, fabs(number[0]));
        plot->largest = fmax(plot->largest, plot->bars[c].number);
    }
    plot->n_bar = n;
    if (!plot->grid->is_ranked)
        return ATTN_OK;
    qsort(plot->bars, n, sizeof *plot->bars, attn_figure_by_rank);
    while (n_large < n && n_large < RANKED && plot->bars[n_large].number > 0 &&
           plot->bars[n_large].number >= SMALL / 100.0 * plot->largest)
        n_large++;
    if (n_large > 0 && n - n_large >= FEW_SMALL)
        plot->n_bar = n_large;
    return ATTN_OK;
}

/* Appends the number at a bar to the scratch of PEN. */
static void append_number(struct attn_figure_pen *pen, const struct plot_layout *plot,
                          double number)
{
    const double small = 9.95, tiny = 1e-3;
    const int precision = fabs(number) < small ? 1 : 0;
    char text[ATTN_FIXED_TEXT_SIZE];
    size_t n;

    if (!plot->grid->is_share && plot->largest < tiny) {
        attn_double_append_as(&pen->scratch, 'g', 2, number);
        return;
    }
    n = plot->grid->is_share ? attn_float_text_fixed((float)number, precision, text)
                             : attn_grid_number(plot->grid, (float)number, text);
    attn_buffer_append(&pen->scratch, text, n);
}

/* Leaves room for numbers on the side of each bar that has one. */
static void make_value_room(struct attn_figure_pen *pen, struct plot_layout *plot)
{
    double number[3], room, unit;
    bool has_side[2] = {false, false};

    for (size_t i = 0; i < plot->n_bar; i++)
        for (size_t r = 0; r < plot->groups.n; r++)
            if (number_of(plot, r, plot->bars[i].index, number)) {
                pen->scratch.size = 0;
                append_number(pen, plot, number[0]);
                plot->value = fmax(plot->value, attn_figure_string_width(pen, pen->scratch.data,
                                                                         pen->scratch.size));
                has_side[number[0] >= 0] = true;
            }
    plot->value *= pen->letters.tick;
    room = plot->value + FROM_VALUE;
    unit = (plot->high - plot->low) /
           fmax(1, plot->width - room * (double)(has_side[0] + has_side[1]));
    plot->low -= has_side[0] ? room * unit : 0;
    plot->high += has_side[1] ? room * unit : 0;
}

static double x_of(const struct plot_layout *plot, double number)
{
    return plot->left + plot->width * (number - plot->low) / (plot->high - plot->low);
}

static void plan_bars(struct attn_figure_pen *pen, struct plot_layout *plot)
{
    enum { OTHERS_COLUMNS = 11 }; /* of "1000 others" */
    const bool has_others = plot->n_bar < plot->places.n;
    double columns = (double)plot->places.most_columns;

    columns = has_others ? fmax(columns, OTHERS_COLUMNS) : columns;
    plot->left =
        ceil(ATTN_FIGURE_PAD + columns * attn_figure_text_width(1, pen->letters.label) + 8);
    plot->width = pen->room > 0
                      ? fmax(80, floor(pen->room - plot->left - plot->aside - ATTN_FIGURE_PAD - 10))
                      : fmax(BARS_WIDTH, ceil(plot->name));
    plot->height = (double)plot->n_bar * ((double)plot->groups.n * BAR + BETWEEN_BARS) +
                   BETWEEN_BARS + (has_others ? BAR + BETWEEN_BARS : 0);
    make_value_room(pen, plot);
    plot->top = attn_figure_add_heading(pen, plot->left + plot->width + 10 + plot->aside) + 6;
    pen->shapes->height = fmax(plot->height, plot->legend > 0 ? (double)plot->groups.n * ENTRY : 0);
    pen->shapes->height = ceil(plot->top + pen->shapes->height + TICK_ROOM + ATTN_FIGURE_PAD);
}

/* Adds an error bar with two caps, horizontal or, if IS_DOWN, vertical. */
static void add_error(struct attn_figure_pen *pen, bool is_down, double at, double from, double to)
{
    const double ends[2] = {from, to};

    attn_figure_add_line(pen, (double[]){is_down ? at : from, is_down ? from : at},
                         (double[]){is_down ? at : to, is_down ? to : at}, 1, pen->ink);
    for (int i = 0; i < 2; i++)
        attn_figure_add_line(
            pen, (double[]){is_down ? at - CAP : ends[i], is_down ? ends[i] : at - CAP},
            (double[]){is_down ? at + CAP : ends[i], is_down ? ends[i] : at + CAP}, 1, pen->ink);
}

/* Draws the bar of NUMBER at Y, with its error bar and the number. */
static void add_bar(struct attn_figure_pen *pen, const struct plot_layout *plot,
                    const double number[3], double y, uint32_t hue)
{
    const double zero = x_of(plot, 0), end = x_of(plot, number[0]);
    const bool is_left = number[0] < 0, has_error = isfinite(number[1]) && isfinite(number[2]);
    struct attn_shape_text text =
        attn_figure_text(end, y + (BAR - 1) / 2.0 + 0.35 * pen->letters.tick, pen->letters.tick,
                         pen->ink, is_left ? ATTN_ANCHOR_END : ATTN_ANCHOR_START);

    attn_figure_add_box(pen, fmin(zero, end), y, fabs(end - zero), BAR - 1, hue);
    if (has_error)
        add_error(pen, false, y + (BAR - 1) / 2.0, x_of(plot, number[1]), x_of(plot, number[2]));
    if (has_error)
        text.x = is_left ? fmin(end, x_of(plot, number[1])) : fmax(end, x_of(plot, number[2]));
    text.x += is_left ? -FROM_VALUE : FROM_VALUE;
    pen->scratch.size = 0;
    append_number(pen, plot, number[0]);
    attn_figure_add_scratch(pen, text);
}

/* Names the small bars below the others at Y, with the sum of a single group. */
static void add_others(struct attn_figure_pen *pen, const struct plot_layout *plot, double y)
{
    struct attn_shape_text text = attn_figure_text(plot->left - 8, y + BAR / 2.0 + 5,
                                                   pen->letters.label, pen->faint, ATTN_ANCHOR_END);
    double sum = 0, one[3];

    pen->scratch.size = 0;
    attn_buffer_append_format(&pen->scratch, "%zu others", plot->places.n - plot->n_bar);
    attn_figure_add_scratch(pen, text);
    for (size_t i = plot->n_bar; i < plot->places.n; i++)
        if (number_of(plot, 0, plot->bars[i].index, one) && isfinite(one[0]))
            sum += one[0];
    if (plot->groups.n > 1)
        return;
    text.x = x_of(plot, 0) + (plot->high > 0 ? FROM_VALUE : -FROM_VALUE);
    text.y = y + (BAR - 1) / 2.0 + 0.35 * pen->letters.tick;
    text.size = pen->letters.tick;
    text.anchor = plot->high > 0 ? ATTN_ANCHOR_START : ATTN_ANCHOR_END;
    attn_buffer_append_string(&pen->scratch, sum < 0 ? "sum " : "sum +");
    append_number(pen, plot, sum);
    attn_figure_add_scratch(pen, text);
}

static void add_bars(struct attn_figure_pen *pen, const struct plot_layout *plot)
{
    const double pitch = (double)plot->groups.n * BAR + BETWEEN_BARS;
    double number[3];

    for (size_t i = 0; i < plot->n_bar; i++) {
        const size_t c = plot->bars[i].index;
        const double y = plot->top + BETWEEN_BARS + (double)i * pitch;
        const struct attn_shape_text label =
            attn_figure_text(plot->left - 8, y + (double)plot->groups.n * BAR / 2 + 5,
                             pen->letters.label, pen->ink, ATTN_ANCHOR_END);

        attn_figure_add_label(pen, &label, &plot->places, c);
        for (size_t r = 0; r < plot->groups.n; r++)
            if (number_of(plot, r, c, number))
                add_bar(pen, plot, number, y + (double)r * BAR, hue_of(pen, r));
    }
    if (plot->n_bar < plot->places.n)
        add_others(pen, plot, plot->top + BETWEEN_BARS + (double)plot->n_bar * pitch);
}

static double y_of(const struct plot_layout *plot, double number)
{
    return plot->top + plot->height * (plot->high - number) / (plot->high - plot->low);
}

/* Draws the numeric axis at the left or, if IS_BELOW, below: ticks, grid lines, and the name of the
 * quantity. */
static void add_axis(struct attn_figure_pen *pen, const struct plot_layout *plot, bool is_below)
{
    const double right = plot->left + plot->width, bottom = plot->top + plot->height;
    double ticks[ATTN_MOST_TICKS];
    const size_t n = attn_round_ticks(plot->first, plot->last, ticks);
    char number[ATTN_TICK_TEXT_SIZE];
    struct attn_shape_text text = attn_figure_text(0, 0, pen->letters.tick, pen->ink,
                                                   is_below ? ATTN_ANCHOR_MIDDLE : ATTN_ANCHOR_END);

    for (size_t i = 0; i < n; i++) {
        const double x = x_of(plot, ticks[i]), y = y_of(plot, ticks[i]);

        attn_figure_add_line(pen, (double[]){is_below ? x : plot->left, is_below ? plot->top : y},
                             (double[]){is_below ? x : right, is_below ? bottom : y}, 1,
                             ticks[i] == 0 ? pen->frame : pen->rule);
        text.x = is_below ? x : plot->left - 6;
        text.y = is_below ? bottom + 14 : y + 0.35 * pen->letters.tick;
        attn_shapes_add_text(pen->shapes, &text, number, attn_color_tick_text(ticks[i], number));
    }
    if (is_below)
        attn_figure_add_axis_name(pen, plot->left + plot->width / 2, bottom + 31, pen->quantity);
    else
        attn_figure_add_axis_name(pen, 0, plot->top + plot->height / 2, pen->quantity);
}

static double x_of_place(const struct plot_layout *plot, size_t c)
{
    const double n = (double)plot->places.n;

    return plot->left + plot->width * ((double)c + 0.5) / n;
}

/* Returns the width of the longest name of a place, with a gap. */
static double name_width(const struct attn_figure_pen *pen, const struct plot_layout *plot)
{
    return attn_figure_text_width(plot->places.most_columns, pen->letters.tick) + 6;
}

/* Returns true if the names of places are rotated: long ones that are wider than the distance
 * between places. */
static bool is_turned(const struct attn_figure_pen *pen, const struct plot_layout *plot)
{
    return plot->places.most_columns > SHORT &&
           name_width(pen, plot) > plot->width / (double)plot->places.n;
}

static double names_height(const struct attn_figure_pen *pen, const struct plot_layout *plot)
{
    return is_turned(pen, plot) ? name_width(pen, plot) - 2 : pen->letters.tick + 4;
}

static void plan_curve(struct attn_figure_pen *pen, struct plot_layout *plot)
{
    plot->left = ATTN_FIGURE_PAD + 18 + ceil(attn_figure_text_width(6, pen->letters.tick));
    plot->width = fmin(fmax(240, STEP * (double)plot->places.n),
                       fmax(CURVE_WIDTH, 12 * (double)plot->places.n));
    if (pen->room > 0)
        plot->width = fmax(80, floor(pen->room - plot->left - plot->aside - ATTN_FIGURE_PAD));
    plot->height = fmax(CURVE_HEIGHT, ceil(plot->name));
    plot->top = attn_figure_add_heading(pen, plot->left + plot->width + plot->aside) + 6;
    pen->shapes->height =
        fmax(plot->height + names_height(pen, plot) + 22, (double)plot->groups.n * ENTRY);
    pen->shapes->height = ceil(plot->top + pen->shapes->height + ATTN_FIGURE_PAD);
}

static void add_places(struct attn_figure_pen *pen, const struct plot_layout *plot)
{
    const double bottom = plot->top + plot->height;
    const double apart = is_turned(pen, plot) ? pen->letters.tick + 1 : name_width(pen, plot);
    const size_t n = plot->places.n;
    const size_t step = (size_t)fmax(1, ceil(apart * (double)n / plot->width));
    struct attn_shape_text text = attn_figure_text(0, bottom + pen->letters.tick + 3,
                                                   pen->letters.tick, pen->ink, ATTN_ANCHOR_MIDDLE);

    attn_figure_add_line(pen, (double[]){plot->left, bottom},
                         (double[]){plot->left + plot->width, bottom}, 1, pen->frame);
    if (is_turned(pen, plot)) {
        text.is_turned = true;
        text.anchor = ATTN_ANCHOR_END;
        text.y = bottom + 5;
    }
    for (size_t c = 0; c < n; c++) {
        if (c + 1 < n && (c % step > 0 || c + step >= n) && step > 1)
            continue; /* the last place has a name */
        text.x = x_of_place(plot, c) + (text.is_turned ? 0.35 * pen->letters.tick : 0);
        attn_figure_add_label(pen, &text, &plot->places, c);
    }
    attn_figure_add_axis_name(pen, plot->left + plot->width / 2,
                              bottom + names_height(pen, plot) + 16, plot->places.title);
}

/* Draws the curve of group R: first its band, then its lines and dots. */
static void add_curve(struct attn_figure_pen *pen, const struct plot_layout *plot, size_t r)
{
    double number[3], before[3];

    for (size_t c = 1; c < plot->places.n; c++) {
        if (!number_of(plot, r, c - 1, before) || !number_of(plot, r, c, number))
            continue;
        if (isfinite(before[1] + before[2] + number[1] + number[2]))
            attn_shapes_add_band(pen->shapes,
                                 (struct attn_shape_band){.x = x_of_place(plot, c - 1),
                                                          .x2 = x_of_place(plot, c),
                                                          .top = y_of(plot, before[2]),
                                                          .bottom = y_of(plot, before[1]),
                                                          .top2 = y_of(plot, number[2]),
                                                          .bottom2 = y_of(plot, number[1]),
                                                          .opacity = 0.2,
                                                          .color = hue_of(pen, r)});
    }
    for (size_t c = 0; c < plot->places.n; c++) {
        if (!number_of(plot, r, c, number))
            continue;
        if (c > 0 && number_of(plot, r, c - 1, before))
            attn_figure_add_line(pen, (double[]){x_of_place(plot, c - 1), y_of(plot, before[0])},
                                 (double[]){x_of_place(plot, c), y_of(plot, number[0])}, 2,
                                 hue_of(pen, r));
        if (plot->places.n == 1 && isfinite(number[1] + number[2]))
            add_error(pen, true, x_of_place(plot, c), y_of(plot, number[1]), y_of(plot, number[2]));
    }
    for (size_t c = 0; c < plot->places.n; c++)
        if (number_of(plot, r, c, number))
            attn_shapes_add_dot(pen->shapes,
                                (struct attn_shape_dot){x_of_place(plot, c), y_of(plot, number[0]),
                                                        3, 0, hue_of(pen, r), 1});
}

/* The end of a curve, and the middle of its name. */
struct curve_end {
    double x, y, name;
    size_t group;
};

/* Compares ends from the top to the bottom (qsort). */
static int compare_ends(const void *a, const void *b)
{
    const struct curve_end *one = a, *two = b;
    const int order = attn_compare_numbers(one->y, two->y);

    return order != 0 ? order : one->group < two->group ? -1 : one->group > two->group;
}

/* Lists the ENDS of the curves from the top to the bottom, with names that keep a distance. Returns
 * their number. */
static size_t list_ends(const struct attn_figure_pen *pen, const struct plot_layout *plot,
                        struct curve_end ends[MOST_GROUPS])
{
    const double line = pen->letters.label + 2;
    double number[3], most = plot->top + plot->height;
    size_t n = 0;

    for (size_t r = 0; r < plot->groups.n; r++) {
        size_t c = plot->places.n;

        while (c > 0 && !number_of(plot, r, c - 1, number))
            c--;
        if (c > 0)
            ends[n++] = (struct curve_end){x_of_place(plot, c - 1), y_of(plot, number[0]), 0, r};
    }
    qsort(ends, n, sizeof *ends, compare_ends);
    for (size_t i = 0; i < n; i++)
        ends[i].name = i > 0 ? fmax(ends[i].y, ends[i - 1].name + line) : ends[i].y;
    for (size_t i = n; i-- > 0;) {
        ends[i].name = fmin(ends[i].name, most);
        most = ends[i].name - line;
    }
    return n;
}

/* Writes the names of several curves at the right, joined to their ends. */
static void add_curve_names(struct attn_figure_pen *pen, const struct plot_layout *plot)
{
    enum { DOT = 3, GAP = 3 };
    struct curve_end ends[MOST_GROUPS];
    const size_t n = plot->legend > 0 ? list_ends(pen, plot, ends) : 0;
    const double x = plot->left + plot->width + LEADER;

    for (size_t i = 0; i < n; i++) {
        const struct attn_shape_text text =
            attn_figure_text(x, ends[i].name + 0.35 * pen->letters.label, pen->letters.label,
                             pen->ink, ATTN_ANCHOR_START);

        attn_figure_add_line(pen, (double[]){ends[i].x + DOT, ends[i].y},
                             (double[]){x - GAP, ends[i].name}, 1, hue_of(pen, ends[i].group));
        attn_figure_add_label(pen, &text, &plot->groups, ends[i].group);
    }
}

/* Returns ATTN_INVALID if there are too many groups or bars. */
static enum attn_status check_plot(const struct plot_layout *plot, bool is_curve,
                                   struct attn_error *err)
{
    if (plot->groups.n > MOST_GROUPS) {
        attn_error_set(err, ATTN_INVALID,
                       "'`figure %s`' shows at most %d groups, the table has %zu",
                       is_curve ? "curve" : "bars", MOST_GROUPS, plot->groups.n);
        return attn_error_hint(err, is_curve
                                        ? "`figure grid` shows all, `queries` and `limit` choose"
                                        : "`limit` chooses rows, `group-by` names groups");
    }
    if (!is_curve && plot->groups.n * plot->n_bar > MOST_BARS) {
        attn_error_set(err, ATTN_INVALID,
                       "'`figure bars`' shows at most %d bars, the table has %zu", MOST_BARS,
                       plot->groups.n * plot->n_bar);
        return attn_error_hint(err, "`sort` and `limit` choose rows");
    }
    return ATTN_OK;
}

static void draw_plot(struct attn_figure_pen *pen, struct plot_layout *plot, bool is_curve)
{
    find_range(plot, !is_curve);
    if (plot->groups.n > 1)
        plot->legend =
            is_curve
                ? ceil(attn_figure_label_width(pen, &plot->groups, pen->letters.label))
                : SWATCH + 6 +
                      ceil(attn_figure_text_width(plot->groups.most_columns, pen->letters.axis));
    plot->aside = plot->legend > 0 ? plot->legend + (is_curve ? LEADER : ATTN_FIGURE_ASIDE) : 0;
    plot->name = attn_figure_text_width(attn_text_width(pen->quantity, strlen(pen->quantity)),
                                        pen->letters.axis);
    (is_curve ? plan_curve : plan_bars)(pen, plot);
    if (pen->is_measuring)
        return;
    add_axis(pen, plot, !is_curve);
    if (is_curve)
        add_places(pen, plot);
    else
        add_bars(pen, plot);
    for (size_t r = 0; is_curve && r < plot->groups.n; r++)
        add_curve(pen, plot, r);
    (is_curve ? add_curve_names : add_legend)(pen, plot);
}

static enum attn_status draw_figure(struct attn_figure_pen *pen, struct attn_error *err)
{
    const bool is_curve = pen->content->kind == ATTN_FIGURE_CURVE;
    struct plot_layout plot = {.grid = pen->content->grid, .matrix = attn_figure_matrix(pen, 0)};

    plot.groups = attn_figure_rows(pen, plot.matrix);
    plot.places = attn_figure_columns(pen, plot.matrix);
    ATTN_TRY(list_bars(pen, &plot, err));
    ATTN_TRY(check_plot(&plot, is_curve, err));
    draw_plot(pen, &plot, is_curve);
    return ATTN_OK;
}

const attn_figure_fn attn_figure_draw_plot = draw_figure;
