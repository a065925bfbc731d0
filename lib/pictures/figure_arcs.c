/* figure_arcs.c - a text of one line, with arcs from one query to its keys, as wide as their
 * weights, a ring for the weight of the query itself, and the weights below the words; or two such
 * texts below each other, each with its next words as bars, and what they do not share marked. At
 * the query arcs stand side by side, and none covers another. Keys of a text of several lines are
 * folded; if it still has several lines, it is drawn as tokens. */
#include "pictures/text_flow.h"

#include "base/memory.h"
#include "base/number.h"
#include "base/status_internal.h"
#include "pictures/bow_layout.h"
#include "pictures/table_axis.h"
#include "tables/table_internal.h"
#include "tables/text_table.h"

#include <math.h>
#include <stdlib.h>

enum {
    WORD = 18,   /* height of a word */
    BELOW = 14,  /* height of the weights below the words */
    WIDEST = 16, /* width of the arc of the largest possible weight, and at most of all on a side */
    RING = 15,   /* radius of the ring of the query, up to its outer edge, */
    WIDEST_RING = 12,
    ABOVE = 2,  /* gap between a word and the end of its arc */
    CROWN = 54, /* maximum height of the line on which an arc without others within stands */
    HIGH = CROWN + WIDEST + ATTN_BOW_GAPS,
    LEVEL = 158, /* color level of arcs, if all have one sign */
    BAR = 15,    /* height of a next word with its bar */
    BEFORE = 90, /* width of the word, */
    LONG = 160,  /* and of the longest bar */
    NEXT_COLUMNS = 13,
    AFTER = 16, /* gap between the bars and the next text */
};

#define STRENGTH 0.8 /* of the color of an arc on paper */
#define LEAST 0.02   /* shares of the largest possible weight below this have no arc */

struct arc {
    size_t key;
    double value, width;
    double x; /* middle of the key */
    struct attn_bow bow;
    double label, half; /* middle of its weight, and half the width; 0: not written */
};

struct arcs_layout {
    struct attn_text_flow flow;
    struct arc *arcs;      /* [n] owns; the first n_drawn have a width */
    struct attn_bow *bows; /* [n] owns; those of the arcs */
    size_t n, n_drawn;
    double x, top; /* middle of the query, and top of the words */
    /* The tokens and the next words of a text; of a table its rows, in which tokens come first. */
    struct side {
        size_t query, from, end, row, row_end;
    } sides[2];
    size_t n_side, n_next; /* n_next: next words of the text that has more */
    double most;           /* largest probability of a next word */
};

static struct attn_cell cell_of(const struct attn_figure_pen *pen, size_t row,
                                enum attn_column_role role)
{
    return attn_table_role_cell(pen->content->table, row, role);
}

/* Returns a value after the weights in ROW: the probability of the next word, or if IS_LAST whether
 * the other text lacks the word. */
static struct attn_cell next_value(const struct attn_figure_pen *pen, size_t row, bool is_last)
{
    const struct attn_table *table = pen->content->table;
    size_t column = attn_table_view_find(table, pen->content->of->view.values);

    for (int i = 0; i <= is_last; i++)
        column = attn_table_next_value(table, column);
    return attn_table_cell(table, row, column);
}

/* Finds the texts of a table, and where their rows are. */
static void find_sides(const struct attn_figure_pen *pen, struct arcs_layout *layout)
{
    size_t n = 0;

    layout->n_side = 1;
    layout->sides[0] = (struct side){.end = layout->n};
    if (pen->content->grid->run) {
        layout->sides[0].query = pen->content->grid->run->queries[0];
        return;
    }
    for (size_t row = 0; row < attn_table_n_row(pen->content->table); row++) {
        const struct attn_cell part = cell_of(pen, row, ATTN_ROLE_PART);
        struct side *side = &layout->sides[attn_cell_word(&part, "a b") % 2];

        if (side->row_end == 0)
            *side = (struct side){
                .query = (size_t)cell_of(pen, row, ATTN_ROLE_QUERY).integer, .from = n, .row = row};
        side->row_end = row + 1;
        if (cell_of(pen, row, ATTN_ROLE_KEY).type == ATTN_VALUE_INTEGER)
            side->end = ++n;
        else
            layout->most = fmax(layout->most, next_value(pen, row, false).real);
    }
    layout->n_side = 2;
    for (size_t i = 0; i < 2; i++) {
        const struct side *side = &layout->sides[i];
        const size_t n_next = side->row_end - side->row - (side->end - side->from);

        layout->n_next = n_next > layout->n_next ? n_next : layout->n_next;
    }
}

/* Returns true if ROW of a table is about what the two texts do not share. */
static bool differs(const struct attn_figure_pen *pen, size_t row)
{
    return pen->content->table && next_value(pen, row, true).integer;
}

/* Marks a word from X on that the other text does not have. */
static void add_mark(struct attn_figure_pen *pen, double x, double y, double width)
{
    attn_shapes_add_box(
        pen->shapes,
        (struct attn_shape_box){x - 2, y, width + 4, BAR - 1,
                                pen->options->theme == ATTN_THEME_DARK ? 0x6b3f00 : 0xffdcae});
}

static int compare_arcs(const void *a, const void *b)
{
    const struct arc *p = a, *q = b;
    const int order = attn_compare_numbers(fabs(q->value), fabs(p->value));

    return order != 0 ? order : p->key < q->key ? -1 : p->key > q->key;
}

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
    attn_bows_lay_out(layout->bows, layout->n_drawn, WIDEST, CROWN);
    for (size_t i = 0; i < layout->n_drawn; i++)
        layout->arcs[layout->bows[i].key].bow = layout->bows[i];
}

/* Lists the arcs of the keys of SIDE that have one, the largest weight first. */
static void list_arcs(struct attn_figure_pen *pen, struct arcs_layout *layout,
                      const struct side *side)
{
    const struct attn_level_matrix *matrix = layout->flow.matrix;
    const struct attn_color_range range = attn_level_range(matrix, &pen->scale, 0);
    const double largest = fmax(fabs(range.low), fabs(range.high));

    layout->n_drawn = 0;
    for (size_t i = side->from; i < side->end; i++) {
        const struct word word = next_word(pen, layout, i);
        struct arc arc = {.key = i, .x = word.x + word.width / 2};
        float value = 0;

        if (attn_level_cell(matrix, 0, i, &value) == ATTN_CELL_VALUE)
            arc.value = (double)value;
        if (attn_grid_position(&layout->flow.keys, i) - side->from == side->query)
            layout->x = arc.x;
        if (fabs(arc.value) < LEAST * largest)
            continue;
        arc.width = fmax(0.5, WIDEST * fmin(1, fabs(arc.value) / largest));
        layout->arcs[layout->n_drawn++] = arc;
    }
    place_bows(layout);
    qsort(layout->arcs, layout->n_drawn, sizeof *layout->arcs, compare_arcs);
}

/* Returns X, moved so that what extends by HALF on both sides of it lies within the figure. */
static double inside(const struct attn_figure_pen *pen, double x, double half)
{
    const double edge = half + (pen->is_printed ? ATTN_FIGURE_PAD : 2);

    return fmax(edge, fmin(x, fmax(pen->shapes->width, pen->room) - edge));
}

static void add_arc(struct attn_figure_pen *pen, const struct arcs_layout *layout,
                    const struct arc *arc)
{
    const int level = arc->value < 0 ? 0 : pen->scale.is_signed ? 255 : LEVEL;
    const uint32_t color =
        attn_rgb_number(attn_rgb_mix(attn_figure_color(pen, level), STRENGTH, pen->options->theme));
    const double y = layout->top - ABOVE;
    /* the crown of such a curve lies at three quarters of the height of its control points */
    const double control = y - arc->bow.high / 0.75, foot = layout->x + arc->bow.foot;
    const double ring = fmin(arc->bow.width, WIDEST_RING);

    if (arc->bow.away == 0)
        attn_shapes_add_dot(pen->shapes, (struct attn_shape_dot){.x = inside(pen, arc->x, RING),
                                                                 .y = y - RING,
                                                                 .radius = RING - ring / 2,
                                                                 .width = ring,
                                                                 .color = color});
    else
        attn_shapes_add_curve(pen->shapes, (struct attn_shape_curve){.x = foot,
                                                                     .y = y,
                                                                     .control_x = foot,
                                                                     .control_y = control,
                                                                     .control_x2 = arc->x,
                                                                     .control_y2 = control,
                                                                     .x2 = arc->x,
                                                                     .y2 = y,
                                                                     .width = arc->bow.width,
                                                                     .color = color});
}

/* Writes VALUE to TEXT, and returns its bytes. */
static size_t write_percent(const struct attn_figure_pen *pen, double value,
                            char text[ATTN_FIXED_TEXT_SIZE + 4])
{
    const bool is_percent = attn_figure_is_percent(pen);
    size_t n = attn_float_text_fixed((float)(is_percent ? round(100 * value) : value),
                                     is_percent ? 0 : 2, text);

    if (is_percent) {
        text[n++] = ' ';
        text[n++] = '%';
    }
    return n;
}

/* Writes the weight of ARC below its word, unless a larger one stands there. */
static void add_weight(struct attn_figure_pen *pen, const struct arcs_layout *layout,
                       struct arc *arc)
{
    struct attn_shape_text text = {.y = layout->top + WORD + 10,
                                   .size = pen->letters.tick,
                                   .color = pen->faint,
                                   .anchor = ATTN_ANCHOR_MIDDLE};
    const double gap = text.size * attn_figure_string_width(pen, " ", 1);
    char number[ATTN_FIXED_TEXT_SIZE + 4];
    const size_t n = write_percent(pen, arc->value, number);
    const double half = text.size * attn_figure_string_width(pen, number, n) / 2;

    text.x = inside(pen, arc->x, half);
    for (const struct arc *other = layout->arcs; other < arc; other++)
        if (other->half > 0 && fabs(other->label - text.x) < other->half + gap + half)
            return;
    arc->label = text.x;
    arc->half = half;
    attn_shapes_add_text(pen->shapes, &text, number, n);
}

/* Draws the words of SIDE, and a line below its query. */
static void add_words(struct attn_figure_pen *pen, struct arcs_layout *layout,
                      const struct side *side)
{
    for (size_t i = side->from; i < side->end; i++) {
        const struct word word = next_word(pen, layout, i);
        const struct attn_shape_text text = {.x = word.x,
                                             .y = layout->top + 0.5 * WORD +
                                                  0.35 * pen->letters.word,
                                             .size = pen->letters.word,
                                             .color = pen->ink};
        const double y = layout->top + WORD;

        if (differs(pen, side->row + i - side->from))
            add_mark(pen, word.x, layout->top + 2, word.width);
        attn_shapes_add_text(pen->shapes, &text, word.text, word.n);
        if (attn_grid_position(&layout->flow.keys, i) - side->from == side->query)
            attn_figure_add_line(pen, (double[]){word.x, y}, (double[]){word.x + word.width, y}, 2,
                                 pen->ink);
    }
}

/* Draws the next words of SIDE below its weights, each with a bar. */
static void add_bars(struct attn_figure_pen *pen, const struct arcs_layout *layout,
                     const struct side *side)
{
    const double x = ATTN_FIGURE_PAD + BEFORE;
    const size_t first = side->row + side->end - side->from;

    for (size_t row = first; row < side->row_end; row++) {
        const double y = layout->top + WORD + BELOW + 4 + BAR * (double)(row - first);
        const struct attn_cell token = cell_of(pen, row, ATTN_ROLE_TOKEN);
        const double prob = next_value(pen, row, false).real, width = LONG * prob / layout->most;
        struct attn_shape_text text = {
            .x = ATTN_FIGURE_PAD, .y = y + 10, .size = pen->letters.tick, .color = pen->ink};
        struct attn_buffer *label = &pen->scratch;
        char number[ATTN_FIXED_TEXT_SIZE + 4];

        label->size = 0;
        attn_table_append_label(label, token.text, token.size);
        label->size = attn_text_fit(label->data, label->size, NEXT_COLUMNS);
        if (differs(pen, row))
            add_mark(pen, text.x, y,
                     text.size * attn_figure_string_width(pen, label->data, label->size));
        attn_shapes_add_text(pen->shapes, &text, label->data, label->size);
        attn_shapes_add_box(pen->shapes, (struct attn_shape_box){x, y + 2, width, BAR - 5,
                                                                 attn_figure_color(pen, LEVEL)});
        text.x = x + width + 5;
        text.color = pen->faint;
        attn_shapes_add_text(pen->shapes, &text, number, write_percent(pen, prob, number));
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

/* Draws the texts, each LINE high. */
static enum attn_status draw_sides(struct attn_figure_pen *pen, struct arcs_layout *layout,
                                   double line, struct attn_error *err)
{
    enum attn_status status = ATTN_ALLOC(layout->arcs, layout->n, err);

    if (status == ATTN_OK)
        status = ATTN_ALLOC(layout->bows, layout->n, err);
    for (size_t s = 0; s < layout->n_side && status == ATTN_OK; s++) {
        layout->top = layout->flow.top + (double)s * line + HIGH + ABOVE;
        list_arcs(pen, layout, &layout->sides[s]);
        for (size_t i = 0; i < layout->n_drawn; i++) {
            add_arc(pen, layout, &layout->arcs[i]);
            add_weight(pen, layout, &layout->arcs[i]);
        }
        if (layout->n_next > 0)
            add_bars(pen, layout, &layout->sides[s]);
    }
    for (size_t s = 0; s < layout->n_side && status == ATTN_OK; s++) {
        layout->top = layout->flow.top + (double)s * line + HIGH + ABOVE;
        add_words(pen, layout, &layout->sides[s]);
    }
    attn_free(layout->arcs);
    attn_free(layout->bows);
    return status;
}

/* Draws arcs, with more than MOST keys folded. */
static enum attn_status draw_arcs(struct attn_figure_pen *pen, size_t most, struct attn_error *err)
{
    const size_t n_subtitle = pen->subtitle.size;
    struct arcs_layout layout = {0};
    double right, line, next;

    ATTN_TRY(attn_flow_open(pen, WORD + BELOW, most, &layout.flow, err));
    if (pen->content->grid->run && !attn_flow_has_query(pen, &layout.flow)) {
        attn_error_set(err, ATTN_INVALID,
                       "the query is none of the keys, and '`figure arcs`' "
                       "draws arcs within one text");
        return attn_error_hint(err, "`figure tokens` draws the keys alone");
    }
    layout.n = layout.flow.matrix->n_column;
    find_sides(pen, &layout);
    next = layout.n_next > 0 ? (double)layout.n_next * BAR + AFTER : 0;
    line = HIGH + ABOVE + WORD + BELOW + next;
    layout.flow.line = line;
    layout.flow.hangs_blanks = true;
    right = attn_flow_measure(pen, &layout.flow, ATTN_FIGURE_PAD);
    if (layout.flow.spot.y > (double)(layout.n_side - 1) * line) {
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
    if (layout.n_next > 0)
        attn_buffer_append_string(&pen->subtitle, "bars: next tokens; ");
    if (layout.n_side > 1)
        attn_buffer_append_string(&pen->subtitle, "marked: not in the other; ");
    if (next > 0)
        right = fmax(right, ATTN_FIGURE_PAD + BEFORE + LONG + 40);
    layout.flow.top = attn_figure_add_heading(pen, right) + WIDEST / 2.0;
    pen->shapes->height = ceil(layout.flow.top + (double)layout.n_side * line + ATTN_FIGURE_PAD -
                               (next > 0 ? AFTER : 0));
    if (pen->is_measuring)
        return ATTN_OK;
    return draw_sides(pen, &layout, line, err);
}

enum attn_status attn_figure_draw_arcs(struct attn_figure_pen *pen, struct attn_error *err)
{
    return draw_arcs(pen, SIZE_MAX, err);
}
