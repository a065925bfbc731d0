/* figure_points.c - rows of a site as points. Coordinates are the first two principal components,
 * with their share of the variance; or the numbers themselves if rows have two. Rows of three
 * numbers are drawn as arrows from the origin, in perspective. Rows of the same token have one hue,
 * if they are among the most frequent. At most 40 points have labels, the most distant ones first,
 * and a label covers neither a point nor another label. */
#include "pictures/figure_internal.h"

#include "base/elementary.h"
#include "base/memory.h"
#include "pictures/principal_axes.h"
#include "tables/colormap_internal.h"
#include "tables/text_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    SIDE = 460, /* side of the plot */
    LEAST_SIDE = 160,
    TICK_ROOM = 44, /* room for ticks left of the plot */
    AXIS_ROOM = 40, /* room below the plot */
    MANY = 100,     /* more points are smaller */
    ASIDE = 3,      /* gap between a point and its label */
    MOST_AXES = 3,
    MOST_LABELS = 40,
    N_PLACE = 8, /* places of a label around its point */
    N_HUE = 6,
    NAME_SIZE = 64, /* bytes of the name of an axis */
};

#define RADIUS 4.0       /* radius of a point */
#define SMALL_RADIUS 2.5 /* radius of each of many points */

/* The range of an axis, from tick to tick. */
struct tick_range {
    double low, high, step;
};

struct plot {
    const struct attn_level_matrix *matrix;
    struct attn_grid_axis rows;
    size_t n_axis;  /* 2 or 3 */
    size_t n;       /* number of points: rows whose numbers are all finite */
    size_t *row;    /* [n] owns; the row of each point */
    double *points; /* [n, n_axis] owns */
    /* share of the variance on each axis; 0: the axes are the numbers themselves */
    double shares[ATTN_PRINCIPAL_AXES];
    struct tick_range ranges[MOST_AXES];
    double left, top, side; /* place of the plot */
    double line;            /* height of a label */
    double radius;          /* of a point */
    double origin;          /* x of the point from which arrows go; 0: there are no arrows */
    double (*at)[2];        /* [n] owns; where each point is drawn */
    /* [n] owns; rank of the point's token by how many points have it; ties by the first of them */
    size_t *rank;
    size_t n_repeated;            /* number of tokens that several points have */
    double boxes[MOST_LABELS][4]; /* left, top, right, bottom of the labels that are drawn */
    size_t n_box;
};

/* Okabe and Ito 2008: distinguishable with any color vision deficiency. */
static const uint32_t hues[N_HUE] = {0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0x56b4e9, 0xe69f00};

static enum attn_status find_points(struct plot *plot, struct attn_error *err)
{
    const size_t n_row = plot->matrix->n_row, n_column = plot->matrix->n_column;
    double *numbers = attn_alloc(n_row * n_column, sizeof *numbers, err);
    enum attn_status status = ATTN_OK;

    plot->row = attn_alloc(n_row, sizeof *plot->row, err);
    plot->points = attn_alloc(n_row * plot->n_axis, sizeof *plot->points, err);
    plot->at = attn_alloc(n_row, sizeof *plot->at, err);
    plot->rank = attn_alloc(n_row, sizeof *plot->rank, err);
    if (!numbers || !plot->row || !plot->points || !plot->at || !plot->rank) {
        attn_free(numbers);
        return ATTN_NO_MEMORY;
    }
    for (size_t r = 0; r < n_row; r++) {
        bool is_finite = true;

        for (size_t c = 0; c < n_column && is_finite; c++) {
            float value = 0;

            is_finite = attn_level_cell(plot->matrix, r, c, &value) != ATTN_CELL_NOT_FINITE;
            numbers[plot->n * n_column + c] = (double)value;
        }
        if (is_finite)
            plot->row[plot->n++] = r;
    }
    if (n_column == plot->n_axis)
        memcpy(plot->points, numbers, plot->n * n_column * sizeof *numbers);
    else if (plot->n > 0)
        status =
            attn_principal_axes_find(numbers, plot->n, n_column, plot->points, plot->shares, err);
    attn_free(numbers);
    return status;
}

/* Returns true if points I and K are rows of the same token. */
static bool is_same(const struct plot *plot, size_t i, size_t k)
{
    size_t n, size;
    const char *text, *other;

    if (i == k || !plot->rows.texts)
        return i == k;
    text = attn_grid_text(&plot->rows, plot->row[i], &n);
    text = attn_text_trim(text, &n);
    other = attn_grid_text(&plot->rows, plot->row[k], &size);
    other = attn_text_trim(other, &size);
    return n == size && (n == 0 || memcmp(text, other, n) == 0);
}

/* Ranks the tokens of the points by how many points have them. */
static enum attn_status rank_tokens(struct plot *plot, struct attn_error *err)
{
    size_t *counts, *first = plot->rank;

    ATTN_TRY(ATTN_ALLOC(counts, plot->n + 1, err));
    for (size_t i = 0; i < plot->n; i++) {
        for (first[i] = 0; !is_same(plot, first[i], i); first[i]++)
            ;
        plot->n_repeated += ++counts[first[i]] == 2;
    }
    for (size_t i = 0; i < plot->n; i++) {
        const size_t own = first[i];
        size_t rank = 0;

        for (size_t k = 0; k < plot->n; k++)
            rank += counts[k] > counts[own] || (counts[k] == counts[own] && k < own);
        plot->rank[i] = rank;
    }
    attn_free(counts);
    return ATTN_OK;
}

/* Returns the color of point I: the hue of its token, or that of tokens without a hue. */
static uint32_t color_of(const struct attn_figure_pen *pen, const struct plot *plot, size_t i)
{
    if (plot->n_axis == 3)
        return hues[plot->rank[i] % N_HUE];
    if (plot->n_repeated == 0)
        return attn_figure_color(pen, pen->scale.is_signed ? 0 : 190);
    return plot->rank[i] < N_HUE && plot->rank[i] < plot->n_repeated ? hues[plot->rank[i]]
                                                                     : pen->frame;
}

/* Returns the range of all points on axis A. If the axes are the numbers themselves, it contains 0,
 * and also 1 if all are at most 1. */
static struct tick_range range_of(const struct plot *plot, size_t a)
{
    const bool has_zero = plot->shares[0] == 0;
    struct tick_range range = {has_zero ? 0 : HUGE_VAL, has_zero ? 0 : -HUGE_VAL, 1};
    double quarter, power;

    for (size_t i = 0; i < plot->n; i++) {
        range.low = fmin(range.low, plot->points[i * plot->n_axis + a]);
        range.high = fmax(range.high, plot->points[i * plot->n_axis + a]);
    }
    if (has_zero && range.low == 0 && range.high <= 1)
        range.high = 1;
    if (!(range.low < range.high)) /* there is at most one point */
        return (struct tick_range){(plot->n > 0 ? range.low : 0) - 1,
                                   (plot->n > 0 ? range.low : 0) + 1, 1};
    quarter = (range.high - range.low) / 4;
    /* a step is 1, 2 or 5 times this power: about a quarter of the range */
    power = attn_pow(10, floor(attn_log10(quarter)));
    range.step = (quarter / power >= 5 ? 5 : quarter / power >= 2 ? 2 : 1) * power;
    range.low = floor(range.low / range.step + 1e-9) * range.step;
    range.high = ceil(range.high / range.step - 1e-9) * range.step;
    return range;
}

static double share_in(struct tick_range range, double value)
{
    return (value - range.low) / (range.high - range.low);
}

/* Computes tick K of an axis and its text. Returns false after the last tick. */
static bool next_tick(struct tick_range range, size_t k, double *value,
                      char text[ATTN_TICK_TEXT_SIZE], size_t *n)
{
    *value = range.low + (double)k * range.step;
    if (*value > range.high + range.step / 2)
        return false;
    if (fabs(*value) < range.step / 1000)
        *value = 0;
    *n = attn_color_tick_text(*value, text);
    return true;
}

static void write_axis_name(const struct plot *plot, size_t a, char name[NAME_SIZE])
{
    if (plot->shares[0] == 0)
        snprintf(name, NAME_SIZE, "%c", "XYZ"[a]);
    else
        snprintf(name, NAME_SIZE, "component %zu (%d %% of the variance)", a + 1,
                 (int)lround(100 * plot->shares[a]));
}

static bool is_crossed(const double one[4], const double other[4])
{
    return one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3];
}

/* Sets BOX for a label of WIDTH at place K around point I: right, a line higher or lower; left;
 * above and below. Returns false if it leaves the plot or covers a point or a label. */
static bool place_label(const struct plot *plot, size_t i, int k, double width, double box[4])
{
    enum { SIDES = N_PLACE - 2 };
    static const double down[SIDES / 2] = {0, -1, 1};
    const double *at = plot->at[i], gap = plot->radius + ASIDE;
    const bool is_left = (k < SIDES / 2) == (at[0] < plot->origin);

    box[0] = k >= SIDES ? at[0] - width / 2 : is_left ? at[0] - gap - width : at[0] + gap;
    box[1] = k < SIDES    ? at[1] + (down[k % (SIDES / 2)] - 1) * plot->line / 2
             : k == SIDES ? at[1] - plot->radius - plot->line
                          : at[1] + plot->radius;
    box[2] = box[0] + width;
    box[3] = box[1] + plot->line;
    for (size_t other = 0; other < plot->n_box; other++)
        if (is_crossed(box, plot->boxes[other]))
            return false;
    for (size_t other = 0; other < plot->n; other++) {
        const double *dot = plot->at[other], radius = plot->radius;

        if (is_crossed(box, (double[]){dot[0] - radius, dot[1] - radius, dot[0] + radius,
                                       dot[1] + radius}))
            return false;
    }
    return box[0] >= plot->left && box[2] <= plot->left + plot->side && box[1] >= plot->top &&
           box[3] <= plot->top + plot->side;
}

/* Adds the label of point I where there is room. */
static void add_label(struct attn_figure_pen *pen, struct plot *plot, size_t i)
{
    double *box = plot->boxes[plot->n_box];
    size_t n;
    const char *label = attn_figure_label(pen, &plot->rows, plot->row[i], &n);
    const double width = attn_figure_string_width(pen, label, n) * pen->letters.label;
    int k = 0;

    while (k < N_PLACE && !place_label(plot, i, k, width, box))
        k++;
    if (k == N_PLACE)
        return;
    plot->n_box++;
    attn_shapes_add_text(
        pen->shapes,
        &(struct attn_shape_text){
            .x = box[0], .y = box[3] - 2.5, .size = pen->letters.label, .color = pen->ink},
        label, n);
}

/* Returns the square of the distance of two places. */
static double distance_of(const double a[2], const double b[2])
{
    return (a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]);
}

/* Adds labels: first of the point that is farthest from the middle, then always of the one that is
 * farthest from all before it. A point at the place of another has none. */
static enum attn_status add_labels(struct attn_figure_pen *pen, struct plot *plot,
                                   struct attn_error *err)
{
    double *distances, middle[2] = {0, 0};
    size_t next = 0;

    ATTN_TRY(ATTN_ALLOC(distances, plot->n + 1, err));
    for (size_t i = 0; i < plot->n; i++) {
        distances[i] = HUGE_VAL;
        for (int a = 0; a < 2; a++)
            middle[a] += plot->at[i][a] / (double)plot->n;
    }
    for (size_t i = 0; i < plot->n; i++)
        if (distance_of(plot->at[i], middle) > distance_of(plot->at[next], middle))
            next = i;
    while (plot->n_box < MOST_LABELS && distances[next] > 1) {
        const size_t last = next;

        add_label(pen, plot, last);
        next = 0;
        for (size_t i = 0; i < plot->n; i++) {
            distances[i] = fmin(distances[i], distance_of(plot->at[i], plot->at[last]));
            next = distances[i] > distances[next] ? i : next;
        }
    }
    attn_free(distances);
    return ATTN_OK;
}

static void add_flat_ticks(struct attn_figure_pen *pen, const struct plot *plot, size_t a)
{
    const double bottom = plot->top + plot->side;
    struct attn_shape_text text = {.size = pen->letters.tick, .color = pen->faint};
    char number[ATTN_TICK_TEXT_SIZE];
    double value;
    size_t n;

    text.anchor = a == 0 ? ATTN_ANCHOR_MIDDLE : ATTN_ANCHOR_END;
    for (size_t k = 0; next_tick(plot->ranges[a], k, &value, number, &n); k++) {
        const double at = floor(share_in(plot->ranges[a], value) * plot->side) + 0.5;
        const double x = plot->left + at, y = bottom - at;
        const uint32_t color = value == 0 ? pen->frame : pen->rule;

        if (a == 0)
            attn_figure_add_line(pen, (double[]){x, plot->top}, (double[]){x, bottom}, 1, color);
        else
            attn_figure_add_line(pen, (double[]){plot->left, y},
                                 (double[]){plot->left + plot->side, y}, 1, color);
        text.x = a == 0 ? x : plot->left - 6;
        text.y = a == 0 ? bottom + 15 : y + 0.35 * text.size;
        attn_shapes_add_text(pen->shapes, &text, number, n);
    }
}

static void add_flat(struct attn_figure_pen *pen, struct plot *plot)
{
    add_flat_ticks(pen, plot, 0);
    add_flat_ticks(pen, plot, 1);
    attn_figure_add_frame(pen, plot->left, plot->top, plot->side, plot->side);
    for (size_t i = 0; i < plot->n; i++) {
        const double x = plot->left + share_in(plot->ranges[0], plot->points[2 * i]) * plot->side;
        const double y = plot->top + plot->side -
                         share_in(plot->ranges[1], plot->points[2 * i + 1]) * plot->side;

        attn_shapes_add_dot(pen->shapes, (struct attn_shape_dot){.x = x,
                                                                 .y = y,
                                                                 .radius = plot->radius,
                                                                 .color = color_of(pen, plot, i)});
        plot->at[i][0] = x, plot->at[i][1] = y;
    }
}

static void add_flat_names(struct attn_figure_pen *pen, const struct plot *plot)
{
    char name[NAME_SIZE];

    write_axis_name(plot, 0, name);
    attn_figure_add_axis_name(pen, plot->left + plot->side / 2,
                              plot->top + plot->side + AXIS_ROOM - 8, name);
    write_axis_name(plot, 1, name);
    attn_figure_add_axis_name(pen, 0, plot->top + plot->side / 2.0, name);
}

/* Projects a point of the unit cube to the plot: rotated by 30 degrees about Z, seen from 25
 * degrees above. */
static void project(const struct plot *plot, const double cube[3], double out[2])
{
    static const double cos_turn = 0.8660254037844387, sin_turn = 0.5;
    static const double cos_tilt = 0.9063077870366499, sin_tilt = 0.42261826174069944;
    const double x = cube[0] - 0.5, y = cube[1] - 0.5, z = cube[2] - 0.5;
    const double across = x * cos_turn + y * sin_turn, away = -x * sin_turn + y * cos_turn;

    out[0] = plot->left + plot->side * (0.5 + 0.62 * across);
    out[1] = plot->top + plot->side * (0.5 - 0.62 * (z * cos_tilt + away * sin_tilt));
}

static void project_point(const struct plot *plot, const double *point, double out[2])
{
    double cube[3];

    for (size_t a = 0; a < 3; a++)
        cube[a] = share_in(plot->ranges[a], point[a]);
    project(plot, cube, out);
}

/* Draws the lines at the ticks of axis A on the two back walls that the axis touches. */
static void add_walls(struct attn_figure_pen *pen, const struct plot *plot, size_t a)
{
    /* floor z = 0, back wall y = 1, left wall x = 0 */
    static const double walls[3] = {0, 1, 0};
    char number[ATTN_TICK_TEXT_SIZE];
    double value;
    size_t n;

    for (size_t k = 0; next_tick(plot->ranges[a], k, &value, number, &n); k++)
        for (size_t other = 0; other < 3; other++) {
            const size_t wall = 3 - a - other;
            double from[3], to[3], begin[2], end[2];

            if (other == a)
                continue;
            from[a] = to[a] = share_in(plot->ranges[a], value);
            from[wall] = to[wall] = walls[wall];
            from[other] = 0, to[other] = 1;
            project(plot, from, begin);
            project(plot, to, end);
            attn_figure_add_line(pen, begin, end, 1, pen->rule);
        }
}

/* Adds the numbers of axis A along a front edge: X below, Y at the right, Z at the left. */
static void add_deep_ticks(struct attn_figure_pen *pen, const struct plot *plot, size_t a)
{
    static const double edges[3][3] = {{0, 0, 0}, {1, 0, 0}, {0, 0, 0}};
    static const double aside[3][2] = {{-2, 16}, {8, 12}, {-8, 4}};
    struct attn_shape_text text = {.size = pen->letters.tick,
                                   .color = pen->faint,
                                   .anchor = a == 1   ? ATTN_ANCHOR_START
                                             : a == 0 ? ATTN_ANCHOR_MIDDLE
                                                      : ATTN_ANCHOR_END};
    char number[ATTN_TICK_TEXT_SIZE];
    double value, at[2], cube[3];
    size_t n;

    memcpy(cube, edges[a], sizeof cube);
    for (size_t k = 0; next_tick(plot->ranges[a], k, &value, number, &n); k++) {
        cube[a] = share_in(plot->ranges[a], value);
        project(plot, cube, at);
        text.x = at[0] + aside[a][0];
        text.y = at[1] + aside[a][1];
        attn_shapes_add_text(pen->shapes, &text, number, n);
    }
    cube[a] = 0.5;
    project(plot, cube, at);
    text.x = at[0] + 3.2 * aside[a][0] - (a == 0 ? 14 : 0);
    text.y = at[1] + 2.4 * aside[a][1];
    text.size = pen->letters.label;
    text.color = pen->ink;
    attn_shapes_add_text(pen->shapes, &text, &"XYZ"[a], 1);
}

static void add_arrow(struct attn_figure_pen *pen, const double from[2], const double to[2],
                      uint32_t color)
{
    const double x = to[0] - from[0], y = to[1] - from[1], length = sqrt(x * x + y * y);
    const double head = fmin(10, length / 2);

    attn_figure_add_line(pen, from, to, 2, color);
    if (length < 1)
        return;
    for (int side = -1; side <= 1; side += 2) {
        const double back[2] = {to[0] - head * (x - side * 0.45 * y) / length,
                                to[1] - head * (y + side * 0.45 * x) / length};

        attn_figure_add_line(pen, back, to, 2, color);
    }
}

static void add_deep(struct attn_figure_pen *pen, struct plot *plot)
{
    static const double zero[3] = {0, 0, 0};
    double origin[2], tip[2];

    for (size_t a = 0; a < 3; a++)
        add_walls(pen, plot, a);
    for (size_t a = 0; a < 3; a++)
        add_deep_ticks(pen, plot, a);
    project_point(plot, zero, origin);
    plot->origin = origin[0];
    for (size_t i = 0; i < plot->n; i++) {
        project_point(plot, plot->points + 3 * i, tip);
        add_arrow(pen, origin, tip, color_of(pen, plot, i));
        memcpy(plot->at[i], tip, sizeof tip);
    }
}

enum attn_status attn_figure_draw_points(struct attn_figure_pen *pen, struct attn_error *err)
{
    struct plot plot = {.matrix = attn_figure_matrix(pen, 0)};
    enum attn_status status = ATTN_OK;

    plot.n_axis = plot.matrix->n_column == 3 ? 3 : 2;
    plot.line = pen->letters.label;
    pen->subtitle.size = 0; /* the figure has no color scale to describe */
    plot.left = ATTN_FIGURE_PAD + TICK_ROOM + 12;
    plot.side = pen->room > 0
                    ? fmax(LEAST_SIDE, floor(pen->room - plot.left - 20 - ATTN_FIGURE_PAD))
                    : SIDE;
    plot.top = attn_figure_add_heading(pen, plot.left + plot.side + 20) + 6;
    pen->shapes->height = ceil(plot.top + plot.side + AXIS_ROOM + 4);
    if (pen->is_measuring)
        return ATTN_OK;
    plot.rows = attn_figure_rows(pen, plot.matrix);
    status = find_points(&plot, err);
    if (status == ATTN_OK)
        status = rank_tokens(&plot, err);
    if (status == ATTN_OK) {
        plot.radius = plot.n > MANY ? SMALL_RADIUS : RADIUS;
        for (size_t a = 0; a < plot.n_axis; a++)
            plot.ranges[a] = range_of(&plot, a);
        (plot.n_axis == 3 ? add_deep : add_flat)(pen, &plot);
        status = add_labels(pen, &plot, err);
        if (plot.n_axis == 2)
            add_flat_names(pen, &plot);
    }
    attn_free(plot.row);
    attn_free(plot.points);
    attn_free(plot.at);
    attn_free(plot.rank);
    return status;
}
