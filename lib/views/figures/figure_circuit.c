/* figure_circuit.c - the edges of a circuit as a graph: layers upwards, heads across, MLPs in the
 * column behind them, and half a layer higher, as they read the heads. A line leads from the part
 * that writes to the part that reads; its width follows the size of the score, its color the sign.
 * It ends at the left of a head if its query reads, in the middle and with long dashes if its key
 * does, at the right and with short ones if its value does. An edge into a key head ends in all
 * heads of the picture that share it. The strongest edges are drawn last. Layers and heads without
 * an edge are left out. */
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
    WIDEST = 6,  /* width of the strongest line */
    COLUMN = 66, /* from one head to the next */
    LAYER = 84,  /* from one layer to the next */
    BOX = 18,    /* height of a part */
    WIDTH = 48,  /* width of a part */
    ENTRY = 14,  /* from the middle of a head to where keys and values come in */
    LEGEND = ATTN_STREAMS_LEGEND,
    N_LEGEND = 5, /* lines of the legend */
};

#define OPACITY 0.8

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
};

struct circuit_layout {
    const struct attn_figure_content *given;
    struct edge *edges; /* [n] owns; in ascending order of |score| */
    size_t n;
    int64_t *layers, *heads; /* [n_layer], [n_head] own; those that have an edge, ascending */
    size_t n_layer, n_head;
    size_t n_sharing; /* heads that share a key head */
    bool has_mlp;
    double largest, left, bottom;
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
        layout->largest = fmax(layout->largest, fabs(edge->score));
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

/* Adds a line from A to B, with dashes of DASH units, or solid if that is 0. */
static void add_dashes(struct attn_figure_pen *pen, struct attn_shape_line line, double dash)
{
    const double dx = line.x2 - line.x, dy = line.y2 - line.y, length = sqrt(dx * dx + dy * dy);
    const struct attn_shape_line whole = line;

    if (dash == 0 || length == 0) {
        attn_shapes_add_line(pen->shapes, line);
        return;
    }
    for (size_t i = 0; i < (size_t)ceil(length / (1.6 * dash)); i++) {
        const double at = 1.6 * dash * (double)i, end = fmin(at + dash, length);

        line.x = whole.x + dx * at / length;
        line.y = whole.y + dy * at / length;
        line.x2 = whole.x + dx * end / length;
        line.y2 = whole.y + dy * end / length;
        attn_shapes_add_line(pen->shapes, line);
    }
}

static double dash_of(char letter)
{
    return letter == 'k' ? 12 : letter == 'v' ? 4 : 0;
}

/* Adds the line of EDGE to the reader TO. */
static void add_edge(struct attn_figure_pen *pen, const struct circuit_layout *layout,
                     const struct edge *edge, const struct part *to)
{
    const int side = to->letter == 'q' ? -1 : to->letter == 'v' ? 1 : 0;
    double a[2], b[2];
    char mark[ATTN_STREAMS_MARK];

    place(layout, &edge->from, a);
    place(layout, to, b);
    snprintf(mark, sizeof mark, "%zu", edge->row);
    attn_shapes_set_mark(pen->shapes, mark);
    add_dashes(
        pen,
        (struct attn_shape_line){.x = a[0],
                                 .y = a[1] - BOX / 2.0,
                                 .x2 = b[0] + side * ENTRY,
                                 .y2 = b[1] + BOX / 2.0,
                                 .width = fmax(0.8, WIDEST * fabs(edge->score) / layout->largest),
                                 .opacity = OPACITY,
                                 .color = attn_streams_color(pen, edge->score)},
        dash_of(to->letter));
    attn_shapes_set_mark(pen->shapes, "");
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

static void add_edges(struct attn_figure_pen *pen, const struct circuit_layout *layout)
{
    for (size_t i = 0; i < layout->n; i++) {
        const struct edge *edge = &layout->edges[i];
        const bool is_shared = !is_box(layout, &edge->to);
        struct part to = edge->to;

        if (!is_shared)
            add_edge(pen, layout, edge, &to);
        for (size_t k = 0; is_shared && k < layout->n_sharing; k++) {
            to.head = edge->to.head * (int64_t)layout->n_sharing + (int64_t)k;
            if (is_drawn(layout, to.layer, to.head))
                add_edge(pen, layout, edge, &to);
        }
    }
}

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

static void add_legend(struct attn_figure_pen *pen, const struct circuit_layout *layout, double y)
{
    static const char *const lines[] = {
        "left, solid: the query reads; middle, long dashes: the key",
        "right, short dashes: the value; width: |score|, up to",
        "no random circuit was run beside this one"};
    char number[ATTN_FIXED_TEXT_SIZE], line[128];
    size_t n = attn_grid_number(pen->content->grid, (float)layout->largest, number);
    double x = ATTN_FIGURE_PAD;

    x = attn_streams_add_sample(pen, x, y, "above 0", attn_streams_color(pen, 1), OPACITY);
    attn_streams_add_sample(pen, x, y, "below 0", attn_streams_color(pen, -1), OPACITY);
    attn_streams_add_line(pen, y += LEGEND, "", lines[0]);
    snprintf(line, sizeof line, "%s %.*s", lines[1], (int)n, number);
    attn_streams_add_line(pen, y += LEGEND, "", line);
    attn_streams_add_line(pen, y + LEGEND, "", lines[2]);
}

static enum attn_status draw(struct attn_figure_pen *pen, struct circuit_layout *layout,
                             struct attn_error *err)
{
    double top, right;

    ATTN_TRY(read_edges(layout, err));
    layout->left = ATTN_FIGURE_PAD + WIDTH / 2.0 + ENTRY;
    right = fmax(layout->left + COLUMN * ((double)n_column(layout) - 1) + WIDTH / 2.0 + ENTRY, 420);
    top = ceil(attn_figure_add_heading(pen, right)) + BOX;
    layout->bottom = top + LAYER * ((double)layout->n_layer + 1);
    pen->shapes->height = ceil(layout->bottom + BOX + (N_LEGEND * LEGEND) + ATTN_FIGURE_PAD);
    if (pen->is_measuring)
        return ATTN_OK;
    add_edges(pen, layout);
    for (size_t i = 0; i < layout->n; i++) {
        add_end(pen, layout, i, &layout->edges[i].from);
        add_end(pen, layout, i, &layout->edges[i].to);
    }
    add_legend(pen, layout, layout->bottom + BOX + LEGEND);
    return ATTN_OK;
}

enum attn_status attn_figure_draw_circuit(struct attn_figure_pen *pen, struct attn_error *err)
{
    struct circuit_layout layout = {.given = pen->content};
    const enum attn_status status = draw(pen, &layout, err);

    attn_free(layout.edges);
    attn_free(layout.layers);
    attn_free(layout.heads);
    return status;
}
