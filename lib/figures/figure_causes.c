/* figure_causes.c - the parts of a model that cause an answer, drawn as a graph: positions go
 * across, layers upwards. A line is one cell of a head's pattern: it begins at the key, at the
 * height of the stream that the layer reads, and ends at the query, half a layer higher. A dot is
 * the output of an MLP at its position. The width of a line and the area of a dot follow the size
 * of the number, the color its sign. Words are the best tokens of a lens at each height of the
 * stream, shown if they differ from the word below. The strongest parts are drawn last, and are
 * named first. Lines of a layer between the same positions are a bundle, which has one name. A gap
 * stands for positions that are left out. */
#include "figures/figure_internal.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/table_internal.h"
#include "encode/text_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAST_PITCH = 40, /* minimum units from one position to the next */
    MOST_PITCH = 84,
    LEAST_BAND = 38, /* minimum height of a layer */
    MOST_BAND = 84,
    USUAL_HEIGHT = 560,   /* height of all layers together, if LEAST_BAND allows it */
    LEFT = 34,            /* width for the numbers of layers */
    WIDEST = 7,           /* width of the strongest line */
    RADIUS = 8,           /* radius of the largest dot */
    NAME = 10,            /* font size of names and words */
    LEGEND = 18,          /* height of a line of the legend */
    LEGEND_WIDTH = 450,   /* narrower figures have three lines of legend, wider ones two */
    LEGEND_PRINTED = 310, /* the same in print, where letters are narrower */
    SAMPLE = 22,          /* length of a sample line in the legend */
    N_SPOT = 7,
    MOST_NAMED = 3,  /* heads that the name of a bundle lists */
    NAME_SIZE = 128, /* bytes of such a name */
    GAP_SIZE = 32,   /* bytes of the number of positions that a gap stands for */
};

/* How far a head's lines end above the stream that its layer reads, as a part of a band. */
#define HEAD_HEIGHT 0.56
#define MLP_HEIGHT 0.76
#define OPACITY 0.85 /* opacity of lines */

struct cause {
    size_t row;          /* row of the table */
    int64_t layer, head; /* head < 0: an MLP */
    size_t query, key;   /* indices of positions */
    double value, size;  /* size: 0..1, the share of the largest line, or of the largest dot */
    double shift;        /* offset to the right that separates lines between the same places */
};

struct causes_layout {
    const struct attn_grid_causes *given;
    struct attn_grid_axis places;
    struct cause *causes; /* [n] owns; in ascending order of size */
    size_t n;
    struct attn_shape_box *taken; /* [n_taken] owns; boxes covered by names, words and dots */
    size_t n_taken;
    double *xs;          /* [places.n] owns; the middle of each position */
    double left, bottom; /* x of the first position, and y of the stream that layer 0 reads */
    double pitch, band;
    double largest[2]; /* the largest absolute value of lines, and of dots */
    bool is_turned;    /* the words of the text are rotated */
};

static double x_of(const struct causes_layout *layout, size_t place)
{
    return layout->xs[place];
}

/* Writes what stands in the gap before PLACE: the number of positions that are left out there.
 * Returns its width; 0 if there is no gap. */
static double gap_before(const struct causes_layout *layout, size_t place, char text[GAP_SIZE])
{
    const size_t next = place > 0 ? attn_grid_position(&layout->places, place - 1) + 1 : 0;
    const size_t n_left_out = attn_grid_position(&layout->places, place) - next;

    if (n_left_out == 0)
        return 0;
    snprintf(text, GAP_SIZE, "%s%zu", ATTN_ELLIPSIS, n_left_out);
    return attn_figure_text_width(attn_text_width(text, strlen(text)), ATTN_FIGURE_SMALL) + 8;
}

/* Places the positions from left to right. Returns the x behind the last one. */
static double place_positions(struct causes_layout *layout)
{
    double x = layout->left;
    char text[GAP_SIZE];

    for (size_t i = 0; i < layout->places.n; i++) {
        x += gap_before(layout, i, text);
        layout->xs[i] = x + layout->pitch / 2;
        x += layout->pitch;
    }
    return x;
}

/* Returns the y of height I of the stream, which layer I reads. */
static double y_of(const struct causes_layout *layout, double i)
{
    return layout->bottom - i * layout->band;
}

/* --- Reading the table --------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    const struct cause *x = a, *y = b;
    const int order = attn_compare_numbers(x->size, y->size);

    return order != 0 ? order : x->row > y->row ? -1 : x->row < y->row;
}

static double width_of(const struct cause *cause)
{
    return fmax(0.8, WIDEST * cause->size);
}

/* Returns whether two lines are of one bundle: they join the same places in the same layer. */
static bool is_bundle(const struct cause *a, const struct cause *b)
{
    return a->head >= 0 && b->head >= 0 && a->layer == b->layer && a->query == b->query &&
           a->key == b->key;
}

/* Shifts the lines of a bundle, as they would hide each other. */
static void spread(struct causes_layout *layout)
{
    for (size_t i = 0; i < layout->n; i++) {
        struct cause *cause = &layout->causes[i];
        double before = 0, all = 0;

        for (size_t k = 0; k < layout->n; k++) {
            const struct cause *other = &layout->causes[k];

            if (!is_bundle(cause, other))
                continue;
            all += width_of(other) + 1;
            before += k < i ? width_of(other) + 1 : 0;
        }
        cause->shift = before + (width_of(cause) + 1 - all) / 2;
    }
}

static enum attn_status read_causes(struct causes_layout *layout, struct attn_error *err)
{
    const struct attn_grid_causes *given = layout->given;
    const struct attn_table *table = given->table;
    const size_t layer = attn_table_find_role(table, ATTN_ROLE_LAYER);
    const size_t head = attn_table_find_role(table, ATTN_ROLE_HEAD);

    ATTN_TRY(ATTN_ALLOC(layout->causes, attn_table_n_row(table), err));
    for (size_t i = 0; i < attn_table_n_row(table); i++) {
        const struct attn_cell number = attn_table_cell(table, i, given->values);
        const struct attn_cell cell = attn_table_cell(table, i, head);
        const bool is_dot = cell.type == ATTN_VALUE_MISSING;

        if (given->queries[i] == SIZE_MAX || number.type != ATTN_VALUE_REAL ||
            !isfinite(number.real))
            continue;
        layout->largest[is_dot] = fmax(layout->largest[is_dot], fabs(number.real));
        layout->causes[layout->n++] =
            (struct cause){.row = i,
                           .layer = attn_table_cell(table, i, layer).integer,
                           .head = is_dot ? -1 : cell.integer,
                           .query = given->queries[i],
                           .key = given->keys[i],
                           .value = number.real};
    }
    for (size_t i = 0; i < layout->n; i++) {
        const double largest = layout->largest[layout->causes[i].head < 0];

        layout->causes[i].size = largest > 0 ? fabs(layout->causes[i].value) / largest : 0;
    }
    if (layout->n > 0)
        qsort(layout->causes, layout->n, sizeof *layout->causes, by_size);
    spread(layout);
    return ATTN_OK;
}

/* --- Text on paper ------------------------------------------------------------------------- */

static bool is_free(const struct causes_layout *layout, const struct attn_shape_box *box)
{
    for (size_t i = 0; i < layout->n_taken; i++) {
        const struct attn_shape_box *other = &layout->taken[i];

        if (box->x < other->x + other->width && other->x < box->x + box->width &&
            box->y < other->y + other->height && other->y < box->y + box->height)
            return false;
    }
    return true;
}

/* Adds TEXT [n] on a box of paper color. AT is its middle and its color. If NEEDS_ROOM, adds it
 * only if it hides no other text; returns whether it was added. */
static bool add_on_paper(struct attn_figure_pen *pen, struct causes_layout *layout,
                         struct attn_shape_text at, const char *text, size_t n, bool needs_room)
{
    const double width = attn_figure_text_width(attn_text_width(text, n), NAME) + 2;
    const double x = fmin(at.x, pen->shapes->width - width / 2); /* not cut at the edge */
    const struct attn_shape_box box = {x - width / 2, at.y - NAME / 2.0, width, NAME,
                                       pen->shapes->paper};

    if (needs_room && !is_free(layout, &box))
        return false;
    layout->taken[layout->n_taken++] = box;
    attn_shapes_add_box(pen->shapes, box);
    at.x = x;
    at.y += 0.35 * NAME;
    at.size = NAME;
    at.anchor = ATTN_ANCHOR_MIDDLE;
    attn_shapes_add_text(pen->shapes, &at, text, n);
    return true;
}

/* --- Lines and dots ------------------------------------------------------------------------ */

static uint32_t color_of(const struct attn_figure_pen *pen, double value)
{
    return attn_figure_color(pen, value < 0 ? 0 : 255);
}

static struct attn_shape_line line_of(const struct attn_figure_pen *pen,
                                      const struct causes_layout *layout, const struct cause *cause)
{
    return (struct attn_shape_line){.x = x_of(layout, cause->key) + cause->shift,
                                    .y = y_of(layout, (double)cause->layer),
                                    .x2 = x_of(layout, cause->query) + cause->shift,
                                    .y2 = y_of(layout, (double)cause->layer + HEAD_HEIGHT),
                                    .width = width_of(cause),
                                    .opacity = OPACITY,
                                    .color = color_of(pen, cause->value)};
}

static void add_causes(struct attn_figure_pen *pen, struct causes_layout *layout)
{
    for (size_t i = 0; i < layout->n; i++) {
        const struct cause *cause = &layout->causes[i];
        const double radius = fmax(1, RADIUS * sqrt(cause->size));
        const struct attn_shape_dot dot = {x_of(layout, cause->query),
                                           y_of(layout, (double)cause->layer + MLP_HEIGHT), radius,
                                           color_of(pen, cause->value)};

        pen->shapes->tag = cause->row + 1;
        if (cause->head >= 0) {
            attn_shapes_add_line(pen->shapes, line_of(pen, layout, cause));
            continue;
        }
        attn_shapes_add_dot(pen->shapes, dot);
        layout->taken[layout->n_taken++] =
            (struct attn_shape_box){dot.x - radius, dot.y - radius, 2 * radius, 2 * radius, 0};
    }
    pen->shapes->tag = 0;
}

/* Writes the name of the bundle of line I, the strongest of it: its layer and its heads, the
 * strongest first. Returns its length. */
static size_t name_bundle(const struct causes_layout *layout, size_t i, char name[NAME_SIZE])
{
    const struct cause *cause = &layout->causes[i];
    int n =
        snprintf(name, NAME_SIZE, "L%lldH%lld", (long long)cause->layer, (long long)cause->head);
    size_t n_head = 1;

    for (size_t k = i; k-- > 0;) {
        const struct cause *other = &layout->causes[k];

        if (is_bundle(cause, other) && ++n_head <= MOST_NAMED)
            n += snprintf(name + n, (size_t)(NAME_SIZE - n), ",%lld", (long long)other->head);
    }
    if (n_head > MOST_NAMED)
        n += snprintf(name + n, (size_t)(NAME_SIZE - n), " +%zu", n_head - MOST_NAMED);
    return (size_t)n;
}

/* Labels bundles with the names of their heads, strongest first, where there is room. Prefers
 * spots near the key, as lines of one query meet at the query. */
static void add_names(struct attn_figure_pen *pen, struct causes_layout *layout)
{
    static const double spots[N_SPOT] = {0.22, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8};

    for (size_t i = layout->n; i-- > 0;) {
        const struct cause *cause = &layout->causes[i];
        const struct attn_shape_line line = line_of(pen, layout, cause);
        char name[NAME_SIZE];
        const size_t n = name_bundle(layout, i, name);
        size_t k = cause->head < 0 ? N_SPOT : 0;

        for (size_t stronger = i + 1; stronger < layout->n; stronger++)
            k = is_bundle(cause, &layout->causes[stronger]) ? N_SPOT : k;
        while (k < N_SPOT &&
               !add_on_paper(pen, layout,
                             (struct attn_shape_text){.x = line.x - cause->shift +
                                                           spots[k] * (line.x2 - line.x),
                                                      .y = line.y + spots[k] * (line.y2 - line.y),
                                                      .color = pen->ink},
                             name, n, true))
            k++;
    }
}

/* --- Words --------------------------------------------------------------------------------- */

/* Returns the height of the stream that row I of the lens reads; 0 if the row is not shown. */
static size_t height_read(const struct attn_table *lens, size_t i)
{
    const struct attn_cell site =
        attn_table_cell(lens, i, attn_table_find_role(lens, ATTN_ROLE_SITE));
    const size_t layer =
        (size_t)attn_table_cell(lens, i, attn_table_find_role(lens, ATTN_ROLE_LAYER)).integer;

    if (attn_table_cell(lens, i, attn_table_find_role(lens, ATTN_ROLE_PLACE)).integer != 1)
        return 0;
    return attn_cell_word(&site, "resid_pre") == 0    ? layer
           : attn_cell_word(&site, "resid_post") == 0 ? layer + 1
                                                      : 0;
}

/* Returns the index of the probability column of LENS: the first column of shares. */
static size_t find_probability(const struct attn_table *lens)
{
    size_t i = 0;

    while (i < attn_table_n_column(lens) && attn_table_column(lens, i)->range != ATTN_RANGE_SHARE)
        i++;
    return i;
}

/* Adds the best token of the lens at each height of a position, if it differs from the token below.
 * Tokens with less than half of the probability are faint. */
static void add_lens(struct attn_figure_pen *pen, struct causes_layout *layout, size_t place)
{
    const struct attn_table *lens = layout->given->lens;
    const double most = (layout->pitch - (pen->is_printed ? 2 : 0)) / NAME;
    const size_t positions = attn_table_find_role(lens, ATTN_ROLE_POSITION);
    const size_t prob = find_probability(lens);
    struct attn_shape_text at = {.x = x_of(layout, place)};
    struct attn_cell below = {0};

    for (size_t i = 0; i < attn_table_n_row(lens); i++) {
        const size_t height = height_read(lens, i);
        const struct attn_cell token =
            attn_table_cell(lens, i, attn_table_find_role(lens, ATTN_ROLE_TOKEN));
        const size_t n_blank = token.size > 0 && token.text[0] == ' ';
        struct attn_buffer text = {0};

        if (height == 0 || token.type != ATTN_VALUE_TEXT ||
            (size_t)attn_table_cell(lens, i, positions).integer !=
                attn_grid_position(&layout->places, place) ||
            (token.size == below.size && below.text &&
             memcmp(token.text, below.text, token.size) == 0))
            continue;
        below = token;
        attn_escape_append(&text, token.text, token.size);
        for (size_t room = (size_t)(layout->pitch / (NAME * ATTN_SHAPES_EM)); room > 0; room--) {
            pen->scratch.size = 0;
            attn_text_append_label(&pen->scratch, text.data, text.size, room, ATTN_ELLIPSIS);
            /* the whole token fits */
            if (room >= attn_text_width(token.text, token.size) - n_blank ||
                attn_figure_string_width(pen, pen->scratch.data, pen->scratch.size) <= most)
                break;
        }
        pen->scratch.has_failed |= text.has_failed;
        attn_buffer_release(&text);
        at.y = y_of(layout, (double)height);
        at.color = attn_table_cell(lens, i, prob).real < 0.5 ? pen->faint : pen->ink;
        add_on_paper(pen, layout, at, pen->scratch.data, pen->scratch.size, false);
    }
}

/* Writes how many positions each gap stands for, on the line of the words. */
static void add_gaps(struct attn_figure_pen *pen, const struct causes_layout *layout)
{
    struct attn_shape_text text = {.size = ATTN_FIGURE_SMALL,
                                   .color = pen->faint,
                                   .anchor = ATTN_ANCHOR_MIDDLE,
                                   .y = layout->bottom + 8 + ATTN_FIGURE_TEXT};
    char number[GAP_SIZE];

    for (size_t i = 0; i < layout->places.n; i++) {
        const double width = gap_before(layout, i, number);

        text.x = x_of(layout, i) - (layout->pitch + width) / 2;
        if (width > 0)
            attn_shapes_add_string(pen->shapes, &text, number);
    }
}

/* Draws the stream of each position, the words of the text, and the numbers of layers. */
static void add_streams(struct attn_figure_pen *pen, const struct causes_layout *layout)
{
    const double top = y_of(layout, (double)layout->given->n_layer);
    struct attn_shape_text text = {.size = ATTN_FIGURE_TEXT,
                                   .color = pen->ink,
                                   .anchor = ATTN_ANCHOR_MIDDLE,
                                   .y = layout->bottom + 8 + ATTN_FIGURE_TEXT};

    if (layout->is_turned) {
        text.is_turned = true;
        text.anchor = ATTN_ANCHOR_END;
        text.y = layout->bottom + 8;
    }
    for (size_t i = 0; i < layout->places.n; i++)
        attn_figure_add_line(pen, (double[]){x_of(layout, i), layout->bottom},
                             (double[]){x_of(layout, i), top}, 1, pen->rule);
    for (size_t i = 0; i < layout->places.n; i++) {
        text.x = x_of(layout, i) + (text.is_turned ? 0.35 * ATTN_FIGURE_TEXT : 0);
        attn_figure_add_label(pen, &text, &layout->places, i);
    }
    add_gaps(pen, layout);
    text = (struct attn_shape_text){.x = layout->left - 6,
                                    .size = ATTN_FIGURE_SMALL,
                                    .color = pen->faint,
                                    .anchor = ATTN_ANCHOR_END};
    for (size_t i = 0; i < layout->given->n_layer; i++) {
        text.y = y_of(layout, (double)i + HEAD_HEIGHT / 2) + 0.35 * text.size;
        attn_shapes_add_number(pen->shapes, &text, i);
    }
    attn_figure_add_turned_name(pen, (layout->bottom + top) / 2, "layer");
}

/* --- The legend ---------------------------------------------------------------------------- */

static int count_legend_lines(const struct attn_figure_pen *pen)
{
    return pen->shapes->width < (pen->is_printed ? LEGEND_PRINTED : LEGEND_WIDTH) ? 3 : 2;
}

/* Adds the legend. Y is the middle of its first line. Its parts are: colors; the largest line, on
 * the same line if there is room; dots and words. */
static void add_legend(struct attn_figure_pen *pen, const struct causes_layout *layout, double y)
{
    static const char *const signs[2][2] = {{"above 0", "below 0"}, {"for", "against"}};
    struct attn_shape_text text = {.size = ATTN_FIGURE_SMALL, .color = pen->ink};
    char number[ATTN_FIXED_TEXT_SIZE], line[128];
    const int n_line = count_legend_lines(pen);
    double x = ATTN_FIGURE_PAD;

    for (int i = 0; i < 2; i++) {
        const double sign = i == 0 ? 1 : -1;
        const char *name = signs[layout->given->is_part][i];

        attn_shapes_add_line(pen->shapes, (struct attn_shape_line){x, y, x + SAMPLE, y, WIDEST,
                                                                   OPACITY, color_of(pen, sign)});
        text.x = x + SAMPLE + 6;
        text.y = y + 0.35 * text.size;
        attn_shapes_add_string(pen->shapes, &text, name);
        x = text.x + attn_figure_text_width(strlen(name), text.size) + 12;
    }
    for (int i = 0; i < 2; i++) {
        const size_t n = attn_grid_number(pen->content->grid, (float)layout->largest[i], number);

        snprintf(line, sizeof line, "%s %.*s",
                 i == 0 ? "line: cell of the head named, up to" : "dot: MLP, up to", (int)n,
                 number);
        text.x = i == 0 && n_line == 2 ? x : ATTN_FIGURE_PAD;
        text.y = y + (n_line - 2 + i) * LEGEND + 0.35 * text.size;
        if (i == 1 && layout->given->lens)
            snprintf(line + strlen(line), sizeof line - strlen(line),
                     "; word: best token of the lens");
        attn_shapes_add_string(pen->shapes, &text, line);
    }
}

/* --- The figure ---------------------------------------------------------------------------- */

static void plan(struct attn_figure_pen *pen, struct causes_layout *layout)
{
    const double n_layer = (double)layout->given->n_layer;
    const double word = attn_figure_text_width(layout->places.most_columns, ATTN_FIGURE_TEXT);

    layout->pitch = floor(fmin(MOST_PITCH, fmax(LEAST_PITCH, word + 8)) * pen->growth);
    layout->band = floor(fmin(MOST_BAND, fmax(LEAST_BAND, USUAL_HEIGHT / n_layer)));
    layout->is_turned = word > layout->pitch;
    layout->left = ATTN_FIGURE_PAD + LEFT;
    attn_figure_set_width(pen, place_positions(layout));
    layout->bottom = ceil(attn_figure_heading_height(pen) + 10 + n_layer * layout->band + NAME);
    pen->shapes->height =
        ceil(layout->bottom + (layout->is_turned ? word + 8 : ATTN_FIGURE_TEXT + 12) + 10 +
             count_legend_lines(pen) * LEGEND + ATTN_FIGURE_PAD / 2.0);
}

static enum attn_status draw(struct attn_figure_pen *pen, struct causes_layout *layout,
                             struct attn_error *err)
{
    const size_t n_words = layout->places.n * (layout->given->n_layer + 1);

    ATTN_TRY(ATTN_ALLOC(layout->xs, layout->places.n, err));
    plan(pen, layout);
    if (pen->is_measuring)
        return ATTN_OK;
    ATTN_TRY(read_causes(layout, err));
    ATTN_TRY(ATTN_ALLOC(layout->taken, layout->n + n_words, err));
    attn_figure_add_heading(pen);
    add_streams(pen, layout);
    add_causes(pen, layout);
    for (size_t i = 0; layout->given->lens && i < layout->places.n; i++)
        add_lens(pen, layout, i);
    add_names(pen, layout);
    add_legend(pen, layout,
               pen->shapes->height - ATTN_FIGURE_PAD / 2.0 -
                   (count_legend_lines(pen) - 0.5) * LEGEND);
    return ATTN_OK;
}

enum attn_status attn_figure_draw_causes(struct attn_figure_pen *pen, struct attn_error *err)
{
    struct causes_layout layout = {.given = pen->content->grid->causes};
    enum attn_status status;

    layout.places = attn_figure_columns(pen, attn_figure_matrix(pen, 0));
    status = draw(pen, &layout, err);
    attn_free(layout.xs);
    attn_free(layout.causes);
    attn_free(layout.taken);
    return status;
}
