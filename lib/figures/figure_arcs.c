/* figure_arcs.c - the text, with arcs from one query to its keys, as wide as their weights, and the
 * weights below the words. A text of several lines has its arcs between the lines and in a margin:
 * an arc leaves its query upward, runs above the line into a lane of the margin, and enters above
 * the line of its key. The stage of a live page draws the same (page/stage.js). */
#include "figures/text_flow.h"

#include "base/memory.h"
#include "base/number.h"
#include "base/status_internal.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

enum {
    WORD = 18,   /* height of a word */
    BELOW = 14,  /* height of the weights below a line */
    WIDEST = 12, /* width of the arc of the largest possible weight */
    ROOM = 12,   /* height above a line that arcs share */
    ABOVE = 2,   /* gap between a word and the end of its arc */
    LEG = 4,     /* length of an arc upward before it turns */
    LANES = 30,  /* width of the margin */
    HIGH = 70,   /* maximum height of an arc above the only line */
    PIECES = 32, /* straight pieces of a curve */
    LEVEL = 190, /* color level of arcs, if all have one sign */
};

#define LEAST 0.02 /* shares of the largest possible weight below this have no arc */

/* Where an arc goes, in the order of heights above the line of the query. */
enum course { SAME_LEFT, DOWN, UP, SAME_RIGHT };

struct arc {
    size_t key;
    double value, width;
    double x, top, away; /* middle and top of the key, and its distance from the query */
    enum course course;
    /* the middle of the arc in the space that arcs share: at the query, above the line of the
     * query, in the margin, above the line of the key */
    double begin, out, lane, in;
};

struct arcs_layout {
    struct attn_text_flow flow;
    struct arc *arcs;  /* [n] owns */
    size_t n, n_drawn; /* the first have a width; the others are sorted behind them */
    double x, top;     /* middle and top of the query */
    double lead;       /* from the top of a line to the top of its words */
    double largest;    /* the largest possible weight */
    bool has_lanes;    /* there are several lines */
};

static int compare_widths(const void *a, const void *b)
{
    const struct arc *p = a, *q = b;
    const int order = attn_compare_numbers(q->width, p->width);

    return order != 0 ? order : p->key < q->key ? -1 : p->key > q->key;
}

/* Sorts arcs by course. Then arcs to the same line come by distance, others by line from the top,
 * in a line from the right: in this order no arc crosses another. */
static int compare_arcs(const void *a, const void *b)
{
    const struct arc *p = a, *q = b;

    if ((p->width > 0) != (q->width > 0))
        return p->width > 0 ? -1 : 1;
    if (p->course != q->course)
        return p->course < q->course ? -1 : 1;
    if (p->course == SAME_LEFT || p->course == SAME_RIGHT)
        return attn_compare_numbers(p->away, q->away);
    return p->top != q->top ? attn_compare_numbers(p->top, q->top)
                            : attn_compare_numbers(q->x, p->x);
}

/* Puts N arcs side by side into a space of SIZE, GAP apart: ARCS, or if STEP is -1 those before it.
 * Sets the member at OFFSET of each to its middle. Returns the width of all. */
static double stack(struct arc *arcs, size_t n, int step, size_t offset, double size, double gap)
{
    double total = -gap, at = 0, scale;

    for (size_t i = 0; i < n; i++)
        total += arcs[step * (ptrdiff_t)i].width + gap;
    scale = fmin(1, size / total);
    for (size_t i = 0; i < n; i++) {
        struct arc *arc = &arcs[step * (ptrdiff_t)i];

        *(double *)((char *)arc + offset) = (at + arc->width / 2) * scale;
        at += arc->width + gap;
    }
    return total * scale;
}

/* Returns the number of arcs from index FIRST on that have the course of the first one and, if
 * IS_LINE, its line. */
static size_t count_alike(const struct arcs_layout *layout, size_t first, bool is_line)
{
    const struct arc *arcs = layout->arcs;
    size_t n = 0;

    while (first + n < layout->n_drawn && arcs[first + n].course == arcs[first].course &&
           (!is_line || arcs[first + n].top == arcs[first].top))
        n++;
    return n;
}

static void place_arcs(struct arcs_layout *layout)
{
    struct arc *arcs = layout->arcs;
    size_t n_left = 0;
    double trunk;

    for (size_t i = 0; i < layout->n_drawn; i += count_alike(layout, i, false)) {
        const size_t n = count_alike(layout, i, false);

        if (arcs[i].course == SAME_RIGHT)
            stack(arcs + i, n, 1, offsetof(struct arc, out), ROOM, 1);
        else
            n_left = i + n;
        if (arcs[i].course == DOWN)
            stack(arcs + i, n, 1, offsetof(struct arc, lane), LANES - 8, 1);
        if (arcs[i].course == UP)
            stack(arcs + i + n - 1, n, -1, offsetof(struct arc, lane), LANES - 8, 1);
    }
    stack(arcs, n_left, 1, offsetof(struct arc, out), ROOM, 1);
    for (size_t i = 0; i < n_left; i += count_alike(layout, i, true)) {
        const size_t n = count_alike(layout, i, true);

        if (arcs[i].course != SAME_LEFT)
            stack(arcs + i + n - 1, n, -1, offsetof(struct arc, in), ROOM, 1);
    }
    /* those to the right leave the query from its right, the highest of them first */
    trunk = stack(arcs, n_left, 1, offsetof(struct arc, begin), ROOM, 0);
    if (layout->n_drawn > n_left)
        stack(arcs + layout->n_drawn - 1, layout->n_drawn - n_left, -1, offsetof(struct arc, begin),
              ROOM, 0);
    for (size_t i = 0; i < layout->n_drawn; i++)
        arcs[i].begin += layout->x - (i < n_left ? trunk : 0);
}

static enum course course_of(const struct arcs_layout *layout, const struct arc *arc)
{
    if (arc->top != layout->top)
        return arc->top < layout->top ? UP : DOWN;
    return arc->x > layout->x ? SAME_RIGHT : SAME_LEFT;
}

static void plan(struct attn_figure_pen *pen, struct arcs_layout *layout)
{
    double right = attn_flow_measure(pen, &layout->flow, ATTN_FIGURE_PAD);

    layout->has_lanes = layout->flow.spot.y > 0;
    layout->lead = layout->has_lanes ? ROOM + LEG + ABOVE : HIGH + ABOVE;
    if (layout->has_lanes)
        right = attn_flow_measure(pen, &layout->flow, ATTN_FIGURE_PAD + LANES);
    attn_figure_set_width(pen, right);
    layout->flow.top = attn_figure_heading_height(pen) + WIDEST / 2.0;
    pen->shapes->height = ceil(layout->flow.top + layout->flow.spot.y + layout->lead + WORD +
                               BELOW + ATTN_FIGURE_PAD);
}

/* A word, without the blanks before it. */
struct word {
    const char *text; /* [n] */
    size_t n;
    double x, width, top;
};

/* Returns the word of token I, which must follow the previous token. */
static struct word next_word(struct attn_figure_pen *pen, struct arcs_layout *layout, size_t i)
{
    const struct attn_flow_spot spot = attn_flow_next(pen, &layout->flow, i);
    struct word word = {.top = spot.y + layout->lead};

    word.text = attn_flow_token(pen, &layout->flow, i, &word.n) + spot.n_blank;
    word.n -= spot.n_blank;
    word.width = spot.width - 2 * ATTN_FLOW_MARGIN - spot.blank;
    word.x = spot.x + ATTN_FLOW_MARGIN + spot.blank;
    return word;
}

/* Lists an arc for each key, with the place of the key. */
static void list_arcs(struct attn_figure_pen *pen, struct arcs_layout *layout)
{
    const struct attn_level_matrix *matrix = layout->flow.matrix;
    const struct attn_color_range range = attn_level_range(matrix, &pen->scale, 0);
    const size_t query = pen->content->grid->run->queries[0];

    layout->largest = fmax(fabs(range.low), fabs(range.high));
    for (size_t i = 0; i < layout->n; i++) {
        struct arc *arc = &layout->arcs[i];
        const struct word word = next_word(pen, layout, i);
        float value = 0;

        *arc = (struct arc){.key = i, .x = word.x + word.width / 2, .top = word.top};
        if (attn_level_cell(matrix, 0, i, &value) == ATTN_CELL_VALUE)
            arc->value = (double)value;
        if (fabs(arc->value) >= LEAST * layout->largest)
            arc->width = fmax(0.5, WIDEST * fmin(1, fabs(arc->value) / layout->largest));
        if (attn_grid_position(&layout->flow.keys, i) == query) {
            layout->x = arc->x;
            layout->top = arc->top;
        }
    }
    for (size_t i = 0; i < layout->n; i++) {
        layout->arcs[i].course = course_of(layout, &layout->arcs[i]);
        layout->arcs[i].away = fabs(layout->arcs[i].x - layout->x);
        layout->n_drawn += layout->arcs[i].width > 0;
    }
    qsort(layout->arcs, layout->n, sizeof *layout->arcs, compare_arcs);
}

/* Returns the color of ARC, on the paper: narrow arcs are stronger, since they cross wide ones. */
static uint32_t color_of(const struct attn_figure_pen *pen, const struct arc *arc)
{
    const int level = arc->value < 0 ? 0 : pen->scale.is_signed ? 255 : LEVEL;
    const uint32_t color = attn_figure_color(pen, level), paper = pen->shapes->paper;
    const double share = 0.9 - 0.3 * arc->width / WIDEST;
    uint32_t mixed = 0;

    for (int shift = 0; shift < 24; shift += 8)
        mixed |= (uint32_t)lround(share * (color >> shift & 0xff) +
                                  (1 - share) * (paper >> shift & 0xff))
                 << shift;
    return mixed;
}

/* Adds lines through POINTS [n], longer by MORE at each bend, so that they have no gaps. */
static void add_path(struct attn_figure_pen *pen, const struct arc *arc, double points[][2],
                     size_t n, double more)
{
    const uint32_t color = color_of(pen, arc);

    for (size_t i = 0; i + 1 < n; i++) {
        const double *from = points[i], *to = points[i + 1];
        const double x = to[0] - from[0], y = to[1] - from[1], size = sqrt(x * x + y * y);
        const double before = i > 0 ? more : 0, after = i + 2 < n ? more : 0;

        if (size > 0)
            attn_shapes_add_line(pen->shapes,
                                 (struct attn_shape_line){.x = from[0] - x / size * before,
                                                          .y = from[1] - y / size * before,
                                                          .x2 = to[0] + x / size * after,
                                                          .y2 = to[1] + y / size * after,
                                                          .width = arc->width,
                                                          .opacity = 1,
                                                          .color = color});
    }
}

/* Draws an arc above the only line of the text: a cubic curve. */
static void add_curve(struct attn_figure_pen *pen, const struct arcs_layout *layout,
                      const struct arc *arc)
{
    const double y = layout->top - ABOVE, wide = arc->away > 0 ? 0 : WIDEST;
    const double high = fmin(HIGH - WIDEST / 2.0, 18 + 0.3 * arc->away) / 0.75;
    const double x[] = {layout->x + wide, layout->x + 2 * wide, arc->x - 2 * wide, arc->x - wide};
    double points[PIECES + 1][2];

    for (int i = 0; i <= PIECES; i++) {
        const double t = i / (double)PIECES, s = 1 - t;

        points[i][0] =
            s * s * s * x[0] + 3 * s * s * t * x[1] + 3 * s * t * t * x[2] + t * t * t * x[3];
        points[i][1] = y - 3 * s * t * high;
    }
    add_path(pen, arc, points, PIECES + 1, 0.3);
}

/* Draws an arc between lines and in the margin. */
static void add_bracket(struct attn_figure_pen *pen, const struct arcs_layout *layout,
                        const struct arc *arc)
{
    const double begin = layout->top - ABOVE, end = arc->top - ABOVE;
    const double over = begin - LEG - arc->out, into = end - LEG - arc->in;
    const double lane = ATTN_FIGURE_PAD + LANES - 6 - arc->lane;
    const double side = arc->away > 0 ? 0 : 5 + arc->width / 2;
    const double from = side > 0 ? layout->x + side : arc->begin;
    const bool is_same = arc->course == SAME_LEFT || arc->course == SAME_RIGHT;
    double same[][2] = {{from, begin}, {from, over}, {arc->x - side, over}, {arc->x - side, end}};
    double other[][2] = {{from, begin}, {from, over},   {lane, over},
                         {lane, into},  {arc->x, into}, {arc->x, end}};

    add_path(pen, arc, is_same ? same : other, is_same ? 4 : 6, arc->width / 2);
}

/* Returns true if a larger weight stands where that of ARC would. */
static bool is_covered(const struct arcs_layout *layout, const struct arc *arc)
{
    const double room = attn_figure_text_width(5, ATTN_FIGURE_SMALL);

    for (size_t i = 0; i < layout->n_drawn; i++) {
        const struct arc *other = &layout->arcs[i];

        if (other != arc && other->top == arc->top && fabs(other->x - arc->x) < room &&
            (fabs(other->value) > fabs(arc->value) ||
             (fabs(other->value) == fabs(arc->value) && other->key < arc->key)))
            return true;
    }
    return false;
}

/* Draws the weight of ARC below its word. */
static void add_weight(struct attn_figure_pen *pen, const struct arc *arc)
{
    const bool is_percent = attn_figure_is_percent(pen);
    const struct attn_shape_text text = {.x = arc->x,
                                         .y = arc->top + WORD + 10,
                                         .size = ATTN_FIGURE_SMALL,
                                         .color = pen->faint,
                                         .anchor = ATTN_ANCHOR_MIDDLE};
    char number[ATTN_FIXED_TEXT_SIZE + 4];
    size_t n = attn_float_text_fixed((float)(is_percent ? round(100 * arc->value) : arc->value),
                                     is_percent ? 0 : 2, number);

    if (is_percent) {
        number[n++] = ' ';
        number[n++] = '%';
    }
    attn_shapes_add_text(pen->shapes, &text, number, n);
}

static void add_words(struct attn_figure_pen *pen, struct arcs_layout *layout)
{
    const size_t query = pen->content->grid->run->queries[0];

    for (size_t i = 0; i < layout->n; i++) {
        const struct word word = next_word(pen, layout, i);
        const struct attn_shape_text text = {.x = word.x,
                                             .y = word.top + 0.5 * WORD + 0.35 * ATTN_FLOW_SIZE,
                                             .size = ATTN_FLOW_SIZE,
                                             .color = pen->ink};
        const double y = word.top + WORD;

        attn_shapes_add_text(pen->shapes, &text, word.text, word.n);
        if (attn_grid_position(&layout->flow.keys, i) == query)
            attn_figure_add_line(pen, (double[]){word.x, y}, (double[]){word.x + word.width, y}, 2,
                                 pen->ink);
    }
}

static void add_arcs(struct attn_figure_pen *pen, struct arcs_layout *layout)
{
    place_arcs(layout);
    qsort(layout->arcs, layout->n_drawn, sizeof *layout->arcs, compare_widths);
    for (size_t i = 0; i < layout->n_drawn; i++) {
        const struct arc *arc = &layout->arcs[i];

        (layout->has_lanes ? add_bracket : add_curve)(pen, layout, arc);
        if (!is_covered(layout, arc))
            add_weight(pen, arc);
    }
}

enum attn_status attn_figure_draw_arcs(struct attn_figure_pen *pen, struct attn_error *err)
{
    struct arcs_layout layout = {0};

    ATTN_TRY(attn_flow_open(pen, ROOM + LEG + ABOVE + WORD + BELOW, &layout.flow, err));
    if (!attn_flow_has_query(pen, &layout.flow)) {
        attn_error_set(err, ATTN_INVALID,
                       "the query is none of the keys, and '`figure arcs`' "
                       "draws arcs within one text");
        return attn_error_hint(err, "`figure tokens` draws the keys alone");
    }
    attn_buffer_append_string(&pen->subtitle, "width: weight; ");
    layout.n = layout.flow.matrix->n_column;
    layout.flow.hangs_blanks = true;
    plan(pen, &layout);
    if (pen->is_measuring)
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(layout.arcs, layout.n, err));
    list_arcs(pen, &layout);
    attn_figure_add_heading(pen);
    add_arcs(pen, &layout);
    add_words(pen, &layout);
    attn_free(layout.arcs);
    return ATTN_OK;
}
