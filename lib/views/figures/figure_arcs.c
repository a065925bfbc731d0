/* figure_arcs.c - a text of one line, with arcs from one query to its keys, as wide as their
 * weights, a ring for the weight of the query itself, and the weights below the words. At the query
 * arcs stand side by side, and none covers another. Keys of a text of several lines are folded; if
 * it still has several lines, it is drawn as tokens. */
#include "figures/figure_internal.h"

#include "base/elementary.h"
#include "base/status_internal.h"
#include "base/text/number.h"

#include <math.h>
#include <stdlib.h>

enum {
    WORD = 18,  /* height of a word */
    BELOW = 14, /* height of the weights below the words */
    WIDEST_RING = 12,
    LEVEL = 158, /* color level of arcs, if all have one sign */
};

#define STEEP 0.6    /* a bow grows with this power of its distance */
#define STRENGTH 0.8 /* of the color of an arc on paper */
#define LEAST 0.02   /* shares of the largest possible weight below this have no arc */

/* --- Bows ------------------------------------------------------------------------------------- */

/* The bows on one side of the query. */
struct side {
    double width, away; /* of all bows, with gaps; and the distance of the farthest key */
    double inner;       /* width of those that have their feet */
};

/* Sets SIDES to the bows left and right of the query. */
static void find_sides(const struct attn_bow *bows, size_t n, double gap, struct side sides[2])
{
    sides[0] = sides[1] = (struct side){0};
    for (size_t i = 0; i < n; i++) {
        struct side *side = &sides[bows[i].away > 0];

        if (bows[i].away == 0)
            continue;
        side->width += bows[i].width + gap;
        side->away = fmax(side->away, fabs(bows[i].away));
    }
}

/* Nearest to the query first. */
static int compare_distances(const void *a, const void *b)
{
    const struct attn_bow *p = a, *q = b;
    const int order = attn_compare_numbers(fabs(p->away), fabs(q->away));

    return order != 0 ? order : p->key < q->key ? -1 : p->key > q->key;
}

/* The feet stand side by side. The nearer a key is, the farther its foot from the middle and the
 * lower its bow, so that no bow crosses or covers another: near their feet such curves rise by the
 * root of their length. */
void attn_bows_lay_out(struct attn_bow *bows, size_t n, double widest, double crown)
{
    const double gap = fmin(1.5, ATTN_BOW_GAPS / fmax(1, (double)n));
    struct side sides[2];
    double most, half;

    find_sides(bows, n, 0, sides);
    most = fmax(sides[0].width, sides[1].width);
    for (size_t i = 0; i < n; i++)
        bows[i].width *= fmin(1, widest / fmax(1, most));
    find_sides(bows, n, gap, sides);
    half = (sides[0].width + sides[1].width - gap) / 2;
    qsort(bows, n, sizeof *bows, compare_distances);
    for (size_t i = 0; i < n; i++) {
        struct attn_bow *bow = &bows[i];
        struct side *side = &sides[bow->away > 0];
        const double within = side->inner + bow->width / 2, away = fabs(bow->away);

        if (away == 0)
            continue;
        bow->foot = bow->away < 0 ? within - half : half - within;
        bow->high =
            fmin(crown, 18 + 0.3 * side->away) * attn_pow(away / side->away, STEEP) + within;
        side->inner += bow->width + gap;
    }
}

/* --- The figure ------------------------------------------------------------------------------- */

struct arc {
    struct attn_figure_rank rank; /* its weight and its key */
    double width;
    double x; /* middle of the key */
    struct attn_bow bow;
    double label, half; /* middle of its weight, and half the width; 0: not written */
};

struct arcs_layout {
    struct attn_text_flow flow;
    struct arc *arcs;      /* [n] the first n_drawn have a width */
    struct attn_bow *bows; /* [n] those of the arcs */
    size_t n, n_drawn;
    double x, top; /* middle of the query, and top of the words */
    size_t query;
};

/* A word, without the blanks before it. */
struct word {
    const char *text; /* [n] */
    size_t n;
    double x, width;
};

/* Returns the word of token I, which must follow the previous token. */
static struct word next_word(struct attn_figure_pen *pen, struct arcs_layout *layout, size_t i)
{
    const struct attn_flow_spot spot = attn_flow_next(pen, &layout->flow, i);
    struct word word;

    word.text = attn_flow_token(pen, &layout->flow, i, &word.n) + spot.n_blank;
    word.n -= spot.n_blank;
    word.width = spot.width - 2 * ATTN_FLOW_MARGIN - spot.blank;
    word.x = spot.word;
    return word;
}

/* Lays out the bows of the arcs. */
static void place_bows(struct arcs_layout *layout)
{
    for (size_t i = 0; i < layout->n_drawn; i++) {
        const struct arc *arc = &layout->arcs[i];

        layout->bows[i] =
            (struct attn_bow){.key = i, .away = arc->x - layout->x, .width = arc->width};
    }
    attn_bows_lay_out(layout->bows, layout->n_drawn, ATTN_ARC_WIDEST, ATTN_ARC_CROWN);
    for (size_t i = 0; i < layout->n_drawn; i++)
        layout->arcs[layout->bows[i].key].bow = layout->bows[i];
}

/* Lists the arcs of the keys that have one, the largest weight first. */
static void list_arcs(struct attn_figure_pen *pen, struct arcs_layout *layout)
{
    const struct attn_level_matrix *matrix = layout->flow.matrix;
    const struct attn_color_range range = attn_level_range(matrix, &pen->scale);
    const double largest = fmax(fabs(range.low), fabs(range.high));

    layout->n_drawn = 0;
    for (size_t i = 0; i < layout->n; i++) {
        const struct word word = next_word(pen, layout, i);
        struct arc arc = {.rank.index = i, .x = word.x + word.width / 2};
        float value = 0;

        if (attn_level_cell(matrix, 0, i, &value) == ATTN_CELL_VALUE)
            arc.rank.number = (double)value;
        if (attn_grid_position(&layout->flow.keys, i) == layout->query)
            layout->x = arc.x;
        if (fabs(arc.rank.number) < LEAST * largest)
            continue;
        arc.width = fmax(0.5, ATTN_ARC_WIDEST * fmin(1, fabs(arc.rank.number) / largest));
        layout->arcs[layout->n_drawn++] = arc;
    }
    place_bows(layout);
    qsort(layout->arcs, layout->n_drawn, sizeof *layout->arcs, attn_figure_by_rank);
}

/* Returns X, moved so that what extends by HALF on both sides of it lies within the figure. */
static double inside(const struct attn_figure_pen *pen, double x, double half)
{
    const double edge = half + (pen->is_printed ? ATTN_FIGURE_PAD : 2);

    return fmax(edge, fmin(x, fmax(pen->shapes->width, pen->room) - edge));
}

void attn_arc_add(struct attn_figure_pen *pen, const struct attn_bow *bow, double x, double y,
                  double sign, uint32_t color)
{
    /* the crown of such a curve lies at three quarters of the height of its control points */
    const double control = y + sign * bow->high / 0.75, foot = x - bow->away + bow->foot;
    const double ring = fmin(bow->width, WIDEST_RING);

    if (bow->away == 0)
        attn_shapes_add_dot(pen->shapes, (struct attn_shape_dot){.x = inside(pen, x, ATTN_ARC_RING),
                                                                 .y = y + sign * ATTN_ARC_RING,
                                                                 .radius = ATTN_ARC_RING - ring / 2,
                                                                 .width = ring,
                                                                 .color = color});
    else
        attn_shapes_add_curve(pen->shapes, (struct attn_shape_curve){.x = foot,
                                                                     .y = y,
                                                                     .control_x = foot,
                                                                     .control_y = control,
                                                                     .control_x2 = x,
                                                                     .control_y2 = control,
                                                                     .x2 = x,
                                                                     .y2 = y,
                                                                     .width = bow->width,
                                                                     .color = color});
}

static void add_arc(struct attn_figure_pen *pen, const struct arcs_layout *layout,
                    const struct arc *arc)
{
    const int level = arc->rank.number < 0 ? 0 : pen->scale.is_signed ? 255 : LEVEL;

    attn_arc_add(pen, &arc->bow, arc->x, layout->top - ATTN_ARC_ABOVE, -1,
                 attn_rgb_number(
                     attn_rgb_mix(attn_figure_color(pen, level), STRENGTH, pen->options->theme)));
}

/* Writes the weight of ARC below its word, unless a larger one stands there. */
static void add_weight(struct attn_figure_pen *pen, const struct arcs_layout *layout,
                       struct arc *arc)
{
    struct attn_shape_text text = attn_figure_text(0, layout->top + WORD + 10, pen->letters.tick,
                                                   pen->faint, ATTN_ANCHOR_MIDDLE);
    const double gap = text.size * attn_figure_string_width(pen, " ", 1);
    char number[ATTN_FIGURE_NUMBER];
    const size_t n =
        attn_figure_write_number(attn_figure_is_percent(pen), arc->rank.number, number);
    const double half = text.size * attn_figure_string_width(pen, number, n) / 2;

    text.x = inside(pen, arc->x, half);
    for (const struct arc *other = layout->arcs; other < arc; other++)
        if (other->half > 0 && fabs(other->label - text.x) < other->half + gap + half)
            return;
    arc->label = text.x;
    arc->half = half;
    attn_shapes_add_text(pen->shapes, &text, number, n);
}

/* Draws the words, and a line below the query. */
static void add_words(struct attn_figure_pen *pen, struct arcs_layout *layout)
{
    for (size_t i = 0; i < layout->n; i++) {
        const struct word word = next_word(pen, layout, i);
        const struct attn_shape_text text =
            attn_figure_text(word.x, layout->top + 0.5 * WORD + 0.35 * pen->letters.word,
                             pen->letters.word, pen->ink, ATTN_ANCHOR_START);
        const double y = layout->top + WORD;

        attn_shapes_add_text(pen->shapes, &text, word.text, word.n);
        if (attn_grid_position(&layout->flow.keys, i) == layout->query)
            attn_figure_add_line(pen, (double[]){word.x, y}, (double[]){word.x + word.width, y}, 2,
                                 pen->ink);
    }
}

/* Returns the width of the text in one line. */
static double width_of_line(struct attn_figure_pen *pen, struct attn_text_flow *flow)
{
    flow->right = HUGE_VAL;
    for (size_t i = 0; i < flow->matrix->n_column; i++)
        attn_flow_next(pen, flow, i);
    return flow->spot.x + flow->spot.width;
}

/* Says that arcs of a text of WIDTH have no room. */
static void append_width(struct attn_figure_pen *pen, double width)
{
    const double mm = 25.4 / 72 * pen->unit * width;

    if (pen->is_printed)
        attn_buffer_append_format(&pen->subtitle, "arcs need %.0f mm, so drawn as tokens; ",
                                  ceil(mm));
    else
        attn_buffer_append_string(&pen->subtitle, "arcs need one line, so drawn as tokens; ");
}

/* Draws the text. */
static enum attn_status draw_text(struct attn_figure_pen *pen, struct arcs_layout *layout,
                                  struct attn_error *err)
{
    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, layout->arcs, layout->n, err));
    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, layout->bows, layout->n, err));
    layout->top = layout->flow.top + ATTN_ARC_HIGH + ATTN_ARC_ABOVE;
    list_arcs(pen, layout);
    for (size_t i = 0; i < layout->n_drawn; i++) {
        add_arc(pen, layout, &layout->arcs[i]);
        add_weight(pen, layout, &layout->arcs[i]);
    }
    add_words(pen, layout);
    return ATTN_OK;
}

/* Draws arcs, with more than MOST keys folded. */
static enum attn_status draw_arcs(struct attn_figure_pen *pen, size_t most, struct attn_error *err)
{
    const size_t n_subtitle = pen->subtitle.size;
    struct arcs_layout layout = {0};
    const double line = ATTN_ARC_HIGH + ATTN_ARC_ABOVE + WORD + BELOW;
    double right;

    ATTN_TRY(attn_flow_open(pen, WORD + BELOW, most, &layout.flow, err));
    if (!attn_flow_has_query(pen, &layout.flow)) {
        attn_error_set(err, ATTN_INVALID,
                       "the query is none of the keys, and '`figure arcs`' "
                       "draws arcs within one text");
        return attn_error_hint(err, "`figure tokens` draws the keys alone");
    }
    layout.n = layout.flow.matrix->n_column;
    layout.query = pen->content->grid->run->queries[0];
    layout.flow.line = line;
    layout.flow.hangs_blanks = true;
    right = attn_flow_measure(pen, &layout.flow);
    if (layout.flow.spot.y > 0) {
        const double width = width_of_line(pen, &layout.flow);

        pen->subtitle.size = n_subtitle;
        attn_figure_unfold(pen);
        if (most > 0)
            return draw_arcs(pen, 0, err);
        append_width(pen, width);
        pen->kind = ATTN_FIGURE_TOKENS;
        return attn_figure_draw_tokens(pen, err);
    }
    attn_buffer_append_string(&pen->subtitle, "width: weight; ");
    layout.flow.top = attn_figure_add_heading(pen, right) + ATTN_ARC_WIDEST / 2.0;
    pen->shapes->height = ceil(layout.flow.top + line + ATTN_FIGURE_PAD);
    if (pen->is_measuring)
        return ATTN_OK;
    return draw_text(pen, &layout, err);
}

static enum attn_status draw_figure(struct attn_figure_pen *pen, struct attn_error *err)
{
    return draw_arcs(pen, SIZE_MAX, err);
}

const attn_figure_fn attn_figure_draw_arcs = draw_figure;
