/* figure_circuit.c - the edges of a circuit as a graph: layers upwards, heads across, MLPs in the
 * column behind them, and half a layer higher, as they read the heads. A curve leaves the top of
 * the part that writes and enters the foot of the part that reads: at the left of a head if its
 * query reads, in the middle its key, at the right its value, with that letter. Its width is the
 * share of the answer, the same in all figures, its color the sign, and large ones have their
 * number. An edge into a key head ends in all heads of the picture that share it. Thin edges are
 * drawn last. Layers and heads without an edge are left out. The title is the share of the answer
 * that the circuit keeps, if it was run, or the path with the largest product of scores. */
#include "figures/figure_streams.h"

#include "base/memory.h"
#include "base/number.h"
#include "figures/table_axis.h"
#include "tables/table_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDEST = 9,  /* width of an edge that carries the whole answer */
    COLUMN = 66, /* from one head to the next */
    LAYER = 84,  /* from one layer to the next */
    BOX = 18,    /* height of a part */
    WIDTH = 48,  /* width of a part */
    ENTRY = 14,  /* from the middle of a head to where keys and values come in */
    LEGEND = ATTN_STREAMS_LEGEND,
    N_LEGEND = 5,    /* lines of the legend */
    MOST_PATH = 400, /* edges of a circuit whose strongest path is searched */
    NUMBER = 9,      /* distance of numbers, one above the other */
};

#define OPACITY 0.72       /* of the color of an edge on paper */
#define LEAST_NUMBER 0.095 /* of an edge that has one */
#define STEEP 0.45         /* part of the way that a curve goes upwards first */

/* An end of an edge. In the order in which they are computed. */
struct part {
    int64_t layer; /* -1: the input; INT64_MAX: the logits */
    int64_t head;  /* -1: an MLP */
    char letter;   /* of a reader: q, k or v; else 0 */
};

struct edge {
    size_t row; /* row of the table */
    struct part from, to;
    double score;
    double x, y; /* of its number; 0: none */
};

struct circuit_layout {
    const struct attn_figure_content *given;
    struct edge *edges; /* [n] owns; in ascending order of |score| */
    size_t n;
    int64_t *layers, *heads; /* [n_layer], [n_head] own; those that have an edge, ascending */
    size_t n_layer, n_head;
    size_t n_sharing; /* heads that share a key head */
    bool has_mlp;
    double left, bottom;
    struct attn_buffer path; /* owns; the strongest path, "input -> 0.mlp -> logits"; or empty */
};

/* --- Edges ------------------------------------------------------------------------------------ */

/* Reads a number at *AT and moves behind it. Returns false if there is none. */
static bool read_number(const char **at, const char *end, int64_t *number)
{
    size_t n = 0;
    bool is_one;

    while (*at + n < end && (*at)[n] >= '0' && (*at)[n] <= '9')
        n++;
    is_one = attn_parse_int(*at, n, 0, INT32_MAX, number);
    *at += n;
    return is_one;
}

/* Reads the name of a part: "input", "2.5", "2.mlp", "3.0.q", "logits". */
static bool read_part(const struct attn_cell *cell, struct part *part)
{
    const char *at = cell->text, *end = at + cell->size;

    *part = (struct part){.head = -1};
    if (cell->type != ATTN_VALUE_TEXT)
        return false;
    if (attn_cell_word(cell, "input logits") < SIZE_MAX) {
        part->layer = *at == 'i' ? -1 : INT64_MAX;
        return true;
    }
    if (!read_number(&at, end, &part->layer) || at == end || *at++ != '.')
        return false;
    if (end - at == 3 && memcmp(at, "mlp", 3) == 0)
        return true;
    if (!read_number(&at, end, &part->head))
        return false;
    if (end - at == 2 && *at == '.')
        part->letter = at[1];
    return at == end || part->letter != '\0';
}

static int by_size(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    const int order = attn_compare_numbers(fabs(x->score), fabs(y->score));

    return order != 0 ? order : x->row > y->row ? -1 : x->row < y->row;
}

/* Inserts NUMBER into the ascending NUMBERS [*n], which have room for it. */
static void insert(int64_t *numbers, size_t *n, int64_t number)
{
    size_t at = 0;

    while (at < *n && numbers[at] < number)
        at++;
    if (at < *n && numbers[at] == number)
        return;
    memmove(numbers + at + 1, numbers + at, (*n - at) * sizeof *numbers);
    numbers[at] = number;
    ++*n;
}

/* Whether PART is a box of its own, unlike a key head that several heads share. */
static bool is_box(const struct circuit_layout *layout, const struct part *part)
{
    return layout->n_sharing == 1 || (part->letter != 'k' && part->letter != 'v');
}

/* Enters PART into the lists of layers and heads. The heads of a key head are those that have other
 * edges. */
static void enter(struct circuit_layout *layout, const struct part *part)
{
    if (part->layer < 0 || part->layer == INT64_MAX)
        return;
    insert(layout->layers, &layout->n_layer, part->layer);
    layout->has_mlp |= part->head < 0;
    if (part->head >= 0 && is_box(layout, part))
        insert(layout->heads, &layout->n_head, part->head);
}

static enum attn_status read_edges(struct circuit_layout *layout, struct attn_error *err)
{
    const struct attn_table *table = layout->given->table;
    const size_t n_row = attn_table_n_row(table);
    const size_t values = attn_table_view_find(table, layout->given->of->view.values);

    layout->n_sharing = layout->given->of->n_sharing > 0 ? layout->given->of->n_sharing : 1;
    ATTN_TRY(ATTN_ALLOC(layout->edges, n_row, err));
    ATTN_TRY(ATTN_ALLOC(layout->layers, 2 * n_row, err));
    ATTN_TRY(ATTN_ALLOC(layout->heads, 2 * n_row, err));
    for (size_t row = 0; row < n_row; row++) {
        const struct attn_cell from = attn_table_role_cell(table, row, ATTN_ROLE_WRITER);
        const struct attn_cell to = attn_table_role_cell(table, row, ATTN_ROLE_READER);
        struct edge *edge = &layout->edges[layout->n];

        edge->row = row;
        edge->score = (double)attn_table_number(table, row, values);
        if (!isfinite(edge->score) || !read_part(&from, &edge->from) || !read_part(&to, &edge->to))
            continue;
        enter(layout, &edge->from);
        enter(layout, &edge->to);
        layout->n++;
    }
    if (layout->n > 0)
        qsort(layout->edges, layout->n, sizeof *layout->edges, by_size);
    return ATTN_OK;
}

/* --- Places ----------------------------------------------------------------------------------- */

static size_t index_of(const int64_t *numbers, size_t n, int64_t number)
{
    size_t at = 0;

    while (at < n && numbers[at] != number)
        at++;
    return at;
}

/* Returns the number of columns. */
static size_t n_column(const struct circuit_layout *layout)
{
    const size_t n = layout->n_head + layout->has_mlp;

    return n > 0 ? n : 1;
}

/* Finds the middle of PART. */
static void place(const struct circuit_layout *layout, const struct part *part, double at[2])
{
    const double middle = layout->left + COLUMN * ((double)n_column(layout) - 1) / 2;
    const size_t layer = index_of(layout->layers, layout->n_layer, part->layer);
    const size_t column =
        part->head < 0 ? layout->n_head : index_of(layout->heads, layout->n_head, part->head);
    const bool is_end = part->layer < 0 || part->layer == INT64_MAX;

    at[0] = is_end ? middle : layout->left + COLUMN * (double)column;
    at[1] = layout->bottom - LAYER * (part->layer < 0 ? 0
                                      : part->layer == INT64_MAX
                                          ? (double)layout->n_layer + 1
                                          : (double)layer + (part->head < 0 ? 1.4 : 1));
}

/* --- Drawing ---------------------------------------------------------------------------------- */

/* Writes the number of EDGE in the middle of its curve, or below, where it hides no other. */
static void add_number(struct attn_figure_pen *pen, struct circuit_layout *layout,
                       struct edge *edge, double x, double y)
{
    struct attn_shape_text text = {
        .x = x, .size = pen->letters.tick, .color = pen->ink, .anchor = ATTN_ANCHOR_MIDDLE};
    char number[ATTN_FIXED_TEXT_SIZE];
    const size_t n = attn_float_text_fixed((float)edge->score, 2, number);
    const double width = attn_figure_string_width(pen, number, n) * text.size;

    for (int i = 0; i < 2; i++) {
        bool is_free = true;

        for (size_t k = 0; k < layout->n; k++)
            is_free &= layout->edges[k].x == 0 || fabs(layout->edges[k].x - x) >= width ||
                       fabs(layout->edges[k].y - y) >= text.size;
        if (!is_free) {
            y += NUMBER;
            continue;
        }
        edge->x = x;
        edge->y = y;
        attn_shapes_add_box(pen->shapes,
                            (struct attn_shape_box){x - width / 2, y - text.size / 2, width,
                                                    text.size, pen->shapes->paper});
        text.y = y + 0.35 * text.size;
        attn_shapes_add_text(pen->shapes, &text, number, n);
        return;
    }
}

/* Whether no larger edge enters where EDGE enters TO: the letter is drawn once. */
static bool is_first(const struct circuit_layout *layout, const struct edge *edge,
                     const struct part *to)
{
    for (const struct edge *other = edge + 1; other < layout->edges + layout->n; other++)
        if (other->to.layer == edge->to.layer && other->to.head == edge->to.head &&
            other->to.letter == to->letter)
            return false;
    return true;
}

/* Adds the curve of EDGE to the reader TO, and the letter of what reads; or if IS_NUMBER its
 * number. */
static void add_edge(struct attn_figure_pen *pen, struct circuit_layout *layout, struct edge *edge,
                     const struct part *to, bool is_number)
{
    const int side = to->letter == 'q' ? -1 : to->letter == 'v' ? 1 : 0;
    struct attn_shape_text letter = {.size = pen->letters.tick, .color = pen->faint};
    struct attn_shape_curve curve = {
        .width = fmax(0.7, WIDEST * fmin(1, fabs(edge->score))),
        .color = attn_rgb_number(
            attn_rgb_mix(attn_streams_color(pen, edge->score), OPACITY, pen->options->theme))};
    double a[2], b[2];
    char mark[ATTN_STREAMS_MARK];

    place(layout, &edge->from, a);
    place(layout, to, b);
    curve.x = curve.control_x = a[0];
    curve.y = a[1] - BOX / 2.0;
    curve.x2 = curve.control_x2 = b[0] + side * ENTRY;
    curve.y2 = b[1] + BOX / 2.0;
    curve.control_y = curve.y - STEEP * (curve.y - curve.y2);
    curve.control_y2 = curve.y2 + STEEP * (curve.y - curve.y2);
    if (is_number && fabs(edge->score) >= LEAST_NUMBER)
        add_number(pen, layout, edge, (curve.x + curve.x2) / 2, (curve.y + curve.y2) / 2);
    if (is_number)
        return;
    snprintf(mark, sizeof mark, "%zu", edge->row);
    attn_shapes_set_mark(pen->shapes, mark);
    attn_shapes_add_curve(pen->shapes, curve);
    attn_shapes_set_mark(pen->shapes, "");
    letter.x = curve.x2 + curve.width / 2 + 2;
    letter.y = curve.y2 + letter.size;
    if (to->letter != '\0' && is_first(layout, edge, to))
        attn_shapes_add_text(pen->shapes, &letter, &to->letter, 1);
}

/* Whether a head has a box: it writes, or its query reads. */
static bool is_drawn(const struct circuit_layout *layout, int64_t layer, int64_t head)
{
    for (size_t i = 0; i < layout->n; i++) {
        const struct part *from = &layout->edges[i].from, *to = &layout->edges[i].to;

        if ((from->layer == layer && from->head == head) ||
            (is_box(layout, to) && to->layer == layer && to->head == head))
            return true;
    }
    return false;
}

/* Adds the curves of all edges, or if ARE_NUMBERS their numbers, the largest first: thin curves are
 * not hidden. */
static void add_edges(struct attn_figure_pen *pen, struct circuit_layout *layout, bool are_numbers)
{
    for (size_t i = 0; i < layout->n; i++) {
        struct edge *edge = &layout->edges[layout->n - 1 - i];
        const bool is_shared = !is_box(layout, &edge->to);
        struct part to = edge->to;

        if (!is_shared)
            add_edge(pen, layout, edge, &to, are_numbers);
        for (size_t k = 0; is_shared && k < layout->n_sharing; k++) {
            to.head = edge->to.head * (int64_t)layout->n_sharing + (int64_t)k;
            if (is_drawn(layout, to.layer, to.head))
                add_edge(pen, layout, edge, &to, are_numbers);
        }
    }
}

/* --- The strongest path ----------------------------------------------------------------------- */

/* Whether the reader of EDGE is the part that NEXT writes from. */
static bool leads_to(const struct circuit_layout *layout, const struct edge *edge,
                     const struct part *next)
{
    const int64_t share = is_box(layout, &edge->to) ? 1 : (int64_t)layout->n_sharing;

    return edge->to.layer == next->layer &&
           (edge->to.head < 0 ? next->head < 0
                              : next->head >= 0 && next->head / share == edge->to.head);
}

/* Appends the name of PART to TEXT. */
static void append_part(struct attn_buffer *text, const struct part *part)
{
    if (part->head < 0)
        attn_buffer_append_format(text, " \xe2\x86\x92 MLP %lld", (long long)part->layer);
    else
        attn_buffer_append_format(text, " \xe2\x86\x92 %lld.%lld", (long long)part->layer,
                                  (long long)part->head);
}

/* Appends to TEXT the path from the input to the logits with the largest product of scores. BEST
 * [n] and NEXT [n] are scratch: the product from each edge on, and the edge after it. */
static void find_path(const struct circuit_layout *layout, double *best, size_t *next,
                      struct attn_buffer *text)
{
    size_t first = layout->n;

    for (size_t i = 0; i < layout->n; i++)
        best[i] = layout->edges[i].to.layer == INT64_MAX ? fabs(layout->edges[i].score) : 0;
    for (bool has_changed = true; has_changed;) {
        has_changed = false;
        for (size_t i = 0; i < layout->n; i++)
            for (size_t k = 0; k < layout->n; k++)
                if (leads_to(layout, &layout->edges[i], &layout->edges[k].from) &&
                    fabs(layout->edges[i].score) * best[k] > best[i]) {
                    best[i] = fabs(layout->edges[i].score) * best[k];
                    next[i] = k;
                    has_changed = true;
                }
    }
    for (size_t i = 0; i < layout->n; i++)
        if (layout->edges[i].from.layer < 0 && best[i] > 0 &&
            (first == layout->n || best[i] > best[first]))
            first = i;
    if (first == layout->n)
        return;
    attn_buffer_append_string(text, "input");
    for (size_t i = first; layout->edges[i].to.layer != INT64_MAX; i = next[i])
        append_part(text, &layout->edges[next[i]].from);
    attn_buffer_append_string(text, " \xe2\x86\x92 logits");
}

/* Says which share of the answer the circuit keeps. Returns false if it did not run. */
static bool find_share(struct attn_figure_pen *pen, const struct circuit_layout *layout)
{
    const struct attn_table *about = attn_table_about(layout->given->table);
    const size_t share = about ? attn_table_find(about, "faithfulness") : SIZE_MAX;

    if (share == SIZE_MAX || layout->n == 0)
        return false;
    attn_buffer_append_format(&pen->finding, "%zu edges carry %.0f %% of the answer", layout->n,
                              100 * attn_table_cell(about, 0, share).real);
    return true;
}

static enum attn_status find_finding(struct attn_figure_pen *pen, struct circuit_layout *layout,
                                     struct attn_error *err)
{
    double *best;
    size_t *next;
    enum attn_status status;

    pen->finding.size = 0;
    if (layout->n == 0 || layout->n > MOST_PATH)
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(best, layout->n, err));
    status = ATTN_ALLOC(next, layout->n, err);
    if (status == ATTN_OK)
        find_path(layout, best, next, &layout->path);
    attn_free(best);
    attn_free(next);
    ATTN_TRY(status);
    ATTN_TRY(attn_buffer_check(&layout->path, err));
    if (!find_share(pen, layout) && layout->path.size > 0)
        attn_buffer_append_format(&pen->finding, "Strongest path: %s",
                                  attn_buffer_string(&layout->path));
    return ATTN_OK;
}

/* --- Parts ------------------------------------------------------------------------------------ */

/* Adds the box of PART, whose NAME is that of a reader with its letter, or of a writer. */
static void add_part(struct attn_figure_pen *pen, const struct circuit_layout *layout,
                     const struct part *part, const struct attn_cell *name)
{
    double at[2];

    place(layout, part, at);
    attn_shapes_add_box(pen->shapes, (struct attn_shape_box){at[0] - WIDTH / 2.0, at[1] - BOX / 2.0,
                                                             WIDTH, BOX, pen->shapes->paper});
    attn_figure_add_outline(
        pen,
        (double[]){at[0] - WIDTH / 2.0, at[1] - BOX / 2.0, at[0] + WIDTH / 2.0, at[1] + BOX / 2.0},
        1, pen->frame);
    attn_shapes_add_text(pen->shapes,
                         &(struct attn_shape_text){.x = at[0],
                                                   .y = at[1] + 0.35 * pen->letters.tick,
                                                   .size = pen->letters.tick,
                                                   .color = pen->ink,
                                                   .anchor = ATTN_ANCHOR_MIDDLE},
                         name->text, name->size - (part->letter == '\0' ? 0 : 2));
}

/* Whether A, which may be no box, has the box of B. */
static bool is_same(const struct circuit_layout *layout, const struct part *a, const struct part *b)
{
    return is_box(layout, a) && a->layer == b->layer && a->head == b->head;
}

/* Adds the box of an end of edge number I, PART, unless an edge before it has it. */
static void add_end(struct attn_figure_pen *pen, const struct circuit_layout *layout, size_t i,
                    const struct part *part)
{
    const bool is_to = part == &layout->edges[i].to;
    const struct attn_cell name = attn_table_role_cell(layout->given->table, layout->edges[i].row,
                                                       is_to ? ATTN_ROLE_READER : ATTN_ROLE_WRITER);
    size_t before = 0;

    while (before < i && !is_same(layout, &layout->edges[before].from, part) &&
           !is_same(layout, &layout->edges[before].to, part))
        before++;
    if (before == i && is_box(layout, part))
        add_part(pen, layout, part, &name);
}

static void add_legend(struct attn_figure_pen *pen, struct circuit_layout *layout, double y)
{
    const struct attn_table *about = attn_table_about(layout->given->table);
    const size_t random = about ? attn_table_find(about, "random") : SIZE_MAX;
    char line[64] = "no random circuit was run beside this one";
    static const char what[] = "q, k, v: what the edge changes; full width: the whole answer";
    double x = ATTN_FIGURE_PAD;

    x = attn_streams_add_sample(pen, x, y, "above 0", attn_streams_color(pen, 1), OPACITY);
    attn_streams_add_sample(pen, x, y, "below 0", attn_streams_color(pen, -1), OPACITY);
    if (random < SIZE_MAX)
        snprintf(line, sizeof line, "%zu random edges: %.0f %% of the answer", layout->n,
                 fabs(100 * attn_table_cell(about, 0, random).real));
    attn_streams_add_line(pen, y += LEGEND, "", what);
    attn_streams_add_line(pen, y += LEGEND, "", line);
    if (random == SIZE_MAX || layout->path.size == 0)
        return; /* the title is the path */
    pen->scratch.size = 0;
    attn_buffer_append_format(&pen->scratch, "strongest path: %s",
                              attn_buffer_string(&layout->path));
    attn_streams_add_line(pen, y + LEGEND, "", attn_buffer_string(&pen->scratch));
}

static enum attn_status draw(struct attn_figure_pen *pen, struct circuit_layout *layout,
                             struct attn_error *err)
{
    double top, right;

    ATTN_TRY(read_edges(layout, err));
    ATTN_TRY(find_finding(pen, layout, err));
    layout->left = ATTN_FIGURE_PAD + WIDTH / 2.0 + ENTRY;
    right = fmax(layout->left + COLUMN * ((double)n_column(layout) - 1) + WIDTH / 2.0 + ENTRY, 420);
    top = ceil(attn_figure_add_heading(pen, right)) + BOX;
    layout->bottom = top + LAYER * ((double)layout->n_layer + 1);
    pen->shapes->height = ceil(layout->bottom + BOX + (N_LEGEND * LEGEND) + ATTN_FIGURE_PAD);
    if (pen->is_measuring)
        return ATTN_OK;
    add_edges(pen, layout, false);
    for (size_t i = 0; i < layout->n; i++) {
        add_end(pen, layout, i, &layout->edges[i].from);
        add_end(pen, layout, i, &layout->edges[i].to);
    }
    add_edges(pen, layout, true);
    add_legend(pen, layout, layout->bottom + BOX + LEGEND);
    return ATTN_OK;
}

enum attn_status attn_figure_draw_circuit(struct attn_figure_pen *pen, struct attn_error *err)
{
    struct circuit_layout layout = {.given = pen->content};
    const enum attn_status status = draw(pen, &layout, err);

    attn_buffer_release(&layout.path);
    attn_free(layout.edges);
    attn_free(layout.layers);
    attn_free(layout.heads);
    return status;
}
