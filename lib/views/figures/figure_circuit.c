/* figure_circuit.c - the edges of a circuit, to be read aloud: words are columns, layers are rows.
 * A part stands above the word at which it works, below the parts that read it, with its own
 * effect; a head says where it looks, in the hue of its kind. A curve leaves the top of the part
 * that writes and enters the foot of the part that reads: at the left of a head if its query reads,
 * in the middle its key, at the right its value, with that letter. It passes the parts of rows
 * between them at their nearer side. Its width is the share of the answer, the same in all figures,
 * its color the sign, and large ones have their number. An edge into a key head ends in all heads
 * of the picture that share it. Thin edges are drawn last. The title is the share of the answer
 * that the circuit keeps, if it was run. Tables without places, those of items, have one column. */
#include "figures/figure_streams.h"

#include "base/text/escape.h"
#include "base/text/number.h"
#include "figures/table_axis.h"
#include "measures/head_kind.h"
#include "tables/table_internal.h"
#include "tables/text_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDEST = 9,      /* width of an edge that carries the whole answer */
    MOST_EDGES = 24, /* that are drawn, the largest */
    MOST_COLUMNS = 5,
    FAR = 42,       /* between rows */
    NEAR = 24,      /* between the heads and the MLP of a layer */
    GAP = 12,       /* between parts, and between columns */
    LAST_SLOTS = 2, /* parts side by side for which there is room at the answer */
    LANE = 18,      /* at both sides of a column, for edges */
    BESIDE = 5,     /* between a part and the edge that passes it */
    PAD = 5,        /* in a part */
    BAR = 4,        /* width of the hue of a head */
    WORD = 8,       /* columns of a word in a head */
    LONG_WORD = 16, /* and of other words */
    LEGEND = ATTN_STREAMS_LEGEND,
    LEAST_WIDTH = 420, /* of the legend */
};

#define OPACITY 0.72       /* of the color of an edge on paper */
#define BAND 0.18          /* of that of rules in a column */
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
};

/* A part that is drawn. */
struct plate {
    struct part of;
    size_t row; /* of an edge that it writes; SIZE_MAX: no edge */
    size_t column, line;
    double wanted;              /* the middle between the ends of what it writes */
    double x, y, width, height; /* x, y: its left upper corner */
    double beside[2];           /* width of the edges that pass it at the left and the right */
};

/* A curve of an edge. */
struct link {
    const struct edge *edge;
    const struct plate *from, *to; /* NULL: the input, the logits */
    char letter;
    double end;      /* x where it ends at the logits */
    double piece[4]; /* its longest piece; x, y of its begin and of its end */
};

/* A word, or no word if there are no places. */
struct column {
    int64_t position; /* -1: no place; INT64_MAX: several other words */
    double weight;    /* of its parts */
    size_t n_slot;
    double x; /* left end */
};

struct circuit_layout {
    const struct attn_figure_content *given;
    const struct attn_table *table;
    struct edge *edges; /* [n] the largest |score| first */
    size_t n, n_drawn;
    struct plate *plates; /* [n_plate] in ascending order */
    size_t n_plate, n_line;
    struct link *links; /* [n_link] the largest first */
    size_t n_link;
    struct column columns[MOST_EDGES + 1]; /* in ascending order of positions */
    size_t n_column, of_input;
    size_t n_sharing;                      /* heads that share a key head */
    double pitch;                          /* from one part to the next */
    double left, right, top, bottom, line; /* line: height of a line of text */
    struct attn_figure_streams text;       /* `taken`: what numbers must not hide */
};

/* --- Edges ------------------------------------------------------------------------------------ */

/* Reads the name of a part: "input", "2.5", "2.mlp", "3.0.q", "logits". */
static bool read_part(const struct attn_cell *cell, struct part *part)
{
    char name[64], *at;

    *part = (struct part){.head = -1};
    if (cell->type != ATTN_VALUE_TEXT || cell->size >= sizeof name)
        return false;
    if (attn_cell_word(cell, "input logits") < SIZE_MAX) {
        part->layer = *cell->text == 'i' ? -1 : INT64_MAX;
        return true;
    }
    snprintf(name, sizeof name, "%.*s", (int)cell->size, cell->text);
    part->layer = strtol(name, &at, 10);
    if (part->layer > INT32_MAX)
        return false;
    if (strcmp(at, ".mlp") == 0)
        return true;
    if (*at != '.' || at[1] < '0' || at[1] > '9')
        return false;
    part->head = strtol(at + 1, &at, 10);
    if (*at == '.')
        part->letter = at[1];
    return true;
}

static int by_size(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    const int order = attn_compare_numbers(fabs(y->score), fabs(x->score));

    return order != 0 ? order : (x->row > y->row) - (x->row < y->row);
}

/* Whether PART is a plate of its own, unlike a key head that several heads share. */
static bool is_plate(const struct circuit_layout *layout, const struct part *part)
{
    return part->layer >= 0 && part->layer < INT64_MAX &&
           (layout->n_sharing == 1 || (part->letter != 'k' && part->letter != 'v'));
}

static bool is_same(const struct part *a, const struct part *b)
{
    return a->layer == b->layer && a->head == b->head;
}

/* Adds the plate of PART, which writes the edge of ROW unless that is SIZE_MAX. */
static void add_plate(struct circuit_layout *layout, const struct part *part, size_t row)
{
    struct plate *plate = layout->plates;

    if (!is_plate(layout, part))
        return;
    while (plate < layout->plates + layout->n_plate && !is_same(&plate->of, part))
        plate++;
    if (plate == layout->plates + layout->n_plate) {
        *plate = (struct plate){.of = *part, .row = SIZE_MAX};
        layout->n_plate++;
    }
    if (row < SIZE_MAX && plate->row == SIZE_MAX)
        plate->row = row;
}

/* Returns the order of the row of PART from below: heads before the MLP of their layer. */
static int64_t height_of(const struct part *part)
{
    return 2 * part->layer + (part->head < 0);
}

static int by_height(const void *a, const void *b)
{
    const struct part *x = &((const struct plate *)a)->of, *y = &((const struct plate *)b)->of;
    const int64_t above = height_of(x) - height_of(y);

    return above != 0 ? (above > 0) - (above < 0) : (x->head > y->head) - (x->head < y->head);
}

static enum attn_status read_edges(struct attn_figure_pen *pen, struct circuit_layout *layout,
                                   struct attn_error *err)
{
    const struct attn_table *table = layout->table;
    const size_t n_row = attn_table_n_row(table);
    const size_t values = attn_table_view_find(table, layout->given->of->view.values);

    layout->n_sharing = layout->given->of->n_sharing > 0 ? layout->given->of->n_sharing : 1;
    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, layout->edges, n_row, err));
    for (size_t row = 0; row < n_row; row++) {
        const struct attn_cell from = attn_table_role_cell(table, row, ATTN_ROLE_WRITER);
        const struct attn_cell to = attn_table_role_cell(table, row, ATTN_ROLE_READER);
        struct edge *edge = &layout->edges[layout->n];

        edge->row = row;
        edge->score = (double)attn_table_number(table, row, values);
        layout->n +=
            isfinite(edge->score) && read_part(&from, &edge->from) && read_part(&to, &edge->to);
    }
    if (layout->n > 0)
        qsort(layout->edges, layout->n, sizeof *layout->edges, by_size);
    layout->n_drawn = layout->n < MOST_EDGES ? layout->n : MOST_EDGES;
    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, layout->plates, 2 * layout->n_drawn, err));
    for (size_t i = 0; i < layout->n_drawn; i++) {
        add_plate(layout, &layout->edges[i].from, layout->edges[i].row);
        add_plate(layout, &layout->edges[i].to, SIZE_MAX);
    }
    if (layout->n_plate > 0)
        qsort(layout->plates, layout->n_plate, sizeof *layout->plates, by_height);
    for (size_t i = 1; i < layout->n_plate; i++)
        layout->plates[i].line =
            layout->plates[i - 1].line +
            (height_of(&layout->plates[i].of) != height_of(&layout->plates[i - 1].of));
    layout->n_line = layout->n_plate > 0 ? layout->plates[layout->n_plate - 1].line + 1 : 0;
    return ATTN_OK;
}

/* Finds the curves. An edge into a key head ends in all its heads that are drawn. */
static enum attn_status find_links(struct attn_figure_pen *pen, struct circuit_layout *layout,
                                   struct attn_error *err)
{
    const struct plate *end = layout->plates + layout->n_plate;
    const size_t most = layout->n_drawn * layout->n_sharing;

    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, layout->links, most, err));
    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, layout->text.taken, layout->n_plate + 2 * most + 1, err));
    for (size_t i = 0; i < layout->n_drawn; i++) {
        const struct edge *edge = &layout->edges[i];
        const struct part *to = &edge->to;
        const int64_t share = is_plate(layout, to) ? 1 : (int64_t)layout->n_sharing;
        struct link link = {.edge = edge, .letter = to->letter};

        for (const struct plate *plate = layout->plates; plate < end; plate++)
            if (is_same(&plate->of, &edge->from))
                link.from = plate;
        if (to->layer == INT64_MAX)
            layout->links[layout->n_link++] = link;
        for (const struct plate *plate = layout->plates; plate < end; plate++)
            if (plate->of.layer == to->layer && (plate->of.head < 0) == (to->head < 0) &&
                (to->head < 0 || plate->of.head / share == to->head)) {
                link.to = plate;
                layout->links[layout->n_link++] = link;
            }
    }
    return ATTN_OK;
}

/* --- Words ------------------------------------------------------------------------------------ */

/* Returns the cell of ROW in the column NAME; missing without it. */
static struct attn_cell cell_of(const struct circuit_layout *layout, size_t row, const char *name)
{
    return attn_table_cell(layout->table, row, attn_table_find(layout->table, name));
}

/* Returns the position of the writer of ROW; -1: unknown. */
static int64_t position_of(const struct circuit_layout *layout, size_t row)
{
    const struct attn_cell cell = attn_table_role_cell(layout->table, row, ATTN_ROLE_POSITION);

    return cell.type == ATTN_VALUE_INTEGER ? cell.integer : -1;
}

/* Returns the column of POSITION: the last one if it is no column, that of other words if there
 * are any. */
static size_t column_of(const struct circuit_layout *layout, int64_t position)
{
    size_t i = 0;

    while (i + 1 < layout->n_column && layout->columns[i].position != position)
        i++;
    return i;
}

/* Adds WEIGHT to the column of POSITION. */
static void weigh(struct circuit_layout *layout, int64_t position, double weight)
{
    struct column *column = layout->columns, *end = column + layout->n_column;

    while (column < end && column->position < position)
        column++;
    if (column == end || column->position != position) {
        memmove(column + 1, column, (size_t)(end - column) * sizeof *column);
        *column = (struct column){.position = position};
        layout->n_column++;
    }
    column->weight += weight;
}

/* Makes the word whose parts carry least one of the other words. */
static void drop_column(struct circuit_layout *layout)
{
    struct column *columns = layout->columns, *least = columns, dropped;
    const struct column *end = columns + layout->n_column;

    for (struct column *column = columns; column < end; column++)
        if (column->position < INT64_MAX && column->weight < least->weight)
            least = column;
    dropped = *least;
    memmove(least, least + 1, (size_t)(end - least - 1) * sizeof *least);
    layout->n_column--;
    weigh(layout, INT64_MAX, dropped.weight);
}

/* The plates of a row and a column. */
struct row {
    size_t n, n_before; /* and how many of them stand at the left of a plate */
    double wanted;      /* the mean */
};

/* Returns the row of PLATE. */
static struct row find_row(const struct circuit_layout *layout, const struct plate *plate)
{
    struct row row = {0};

    for (const struct plate *other = layout->plates; other < layout->plates + layout->n_plate;
         other++) {
        if (other->line != plate->line || other->column != plate->column)
            continue;
        row.n++;
        row.n_before +=
            other->wanted < plate->wanted || (other->wanted == plate->wanted && other < plate);
        row.wanted += (other->wanted - row.wanted) / (double)row.n;
    }
    return row;
}

/* Finds the columns, of the words whose parts carry most. */
static void find_columns(struct circuit_layout *layout)
{
    for (size_t i = 0; i < layout->n_drawn; i++)
        if (position_of(layout, layout->edges[i].row) >= 0)
            weigh(layout, position_of(layout, layout->edges[i].row), fabs(layout->edges[i].score));
    if (layout->n_column == 0)
        weigh(layout, -1, 0);
    while (layout->n_column > MOST_COLUMNS)
        drop_column(layout);
    for (size_t i = 0; i < layout->n_column; i++)
        layout->columns[i].n_slot = i + 1 < layout->n_column ? 1 : LAST_SLOTS;
    for (size_t i = 0; i < layout->n_drawn; i++)
        if (layout->edges[i].from.layer < 0)
            layout->of_input = column_of(layout, position_of(layout, layout->edges[i].row));
    for (struct plate *plate = layout->plates; plate < layout->plates + layout->n_plate; plate++)
        plate->column =
            column_of(layout, plate->row < SIZE_MAX ? position_of(layout, plate->row) : -1);
    for (size_t i = 0; i < layout->n_plate; i++) {
        size_t *n_slot = &layout->columns[layout->plates[i].column].n_slot;
        const struct row row = find_row(layout, &layout->plates[i]);

        *n_slot = row.n > *n_slot ? row.n : *n_slot;
    }
}

/* --- Places ----------------------------------------------------------------------------------- */

static double width_of_column(const struct circuit_layout *layout, size_t column)
{
    return (double)layout->columns[column].n_slot * layout->pitch - GAP + 2 * LANE;
}

static double middle_of(const struct circuit_layout *layout, size_t column)
{
    return layout->columns[column].x + width_of_column(layout, column) / 2;
}

/* Sets the ends of LINK: x, y of the writer, x, y of the reader. */
static void find_ends(const struct circuit_layout *layout, const struct link *link, double ends[4])
{
    const double port = link->letter == 'q' ? 0.2 : link->letter == 'v' ? 0.8 : 0.5;

    ends[0] =
        link->from ? link->from->x + link->from->width / 2 : middle_of(layout, layout->of_input);
    ends[1] = link->from ? link->from->y : layout->bottom;
    ends[2] = link->to ? link->to->x + port * link->to->width : link->end;
    ends[3] = link->to ? link->to->y + link->to->height : layout->top;
}

/* Returns where PLATE is wanted: the middle of the ends of its edges, by their scores. */
static double find_wanted(const struct circuit_layout *layout, const struct plate *plate)
{
    double sum = 0, total = 0, ends[4];

    for (const struct link *link = layout->links; link < layout->links + layout->n_link; link++) {
        if (link->from != plate)
            continue;
        find_ends(layout, link, ends);
        sum += fabs(link->edge->score) * ends[2];
        total += fabs(link->edge->score);
    }
    return total > 0 ? sum / total : middle_of(layout, plate->column);
}

/* Places the plates of LINE below those that read them, side by side in their columns. */
static void place_line(struct circuit_layout *layout, size_t line)
{
    struct plate *end = layout->plates + layout->n_plate;

    for (struct plate *plate = layout->plates; plate < end; plate++)
        if (plate->line == line)
            plate->wanted = find_wanted(layout, plate);
    for (struct plate *plate = layout->plates; plate < end; plate++) {
        const struct row row = find_row(layout, plate);
        const double half = ((double)row.n * layout->pitch - GAP) / 2;
        const double left = layout->columns[plate->column].x + LANE;
        const double right = left + width_of_column(layout, plate->column) - 2 * LANE;

        if (plate->line == line)
            plate->x = fmax(left, fmin(row.wanted - half, right - 2 * half)) +
                       (double)row.n_before * layout->pitch +
                       (layout->pitch - GAP - plate->width) / 2;
    }
}

/* Places the columns. Returns the right end. */
static double place_columns(struct circuit_layout *layout)
{
    double x = layout->left + GAP / 2.0;

    for (size_t i = 0; i < layout->n_column; i++) {
        layout->columns[i].x = x;
        x += width_of_column(layout, i) + GAP;
    }
    return x - GAP;
}

static double width_of(const struct link *link)
{
    return fmax(0.7, WIDEST * fmin(1, fabs(link->edge->score)));
}

/* Lays the ends of edges at the logits side by side, in the order of their writers. */
static void spread_ends(struct circuit_layout *layout)
{
    const struct link *last = layout->links + layout->n_link;

    for (struct link *link = layout->links; link < last; link++) {
        link->end = middle_of(layout, layout->n_column - 1);
        for (const struct link *other = layout->links; other < last && !link->to; other++) {
            double ends[4], at[4];

            find_ends(layout, link, ends);
            find_ends(layout, other, at);
            if (!other->to && other != link)
                link->end += (at[0] < ends[0] || (at[0] == ends[0] && other < link) ? 0.5 : -0.5) *
                             (width_of(other) + 2);
        }
    }
}

/* Finds the places of plates, from the answer to the input, and of the ends of edges. */
static void find_places(struct circuit_layout *layout)
{
    for (size_t i = 0; i < layout->n_link; i++)
        layout->links[i].end = middle_of(layout, layout->n_column - 1);
    for (size_t line = layout->n_line; line-- > 0;)
        place_line(layout, line);
    spread_ends(layout);
}

/* --- Texts ------------------------------------------------------------------------------------ */

/* Writes the token in CELL, cut to WIDTH columns, to the scratch buffer. */
static void append_word(struct attn_figure_pen *pen, const struct attn_cell *cell, size_t width)
{
    attn_table_append_label(&pen->scratch, cell->text, cell->size, width);
}

/* Appends NUMBER with DIGITS decimals and a minus sign. */
static void append_number(struct attn_buffer *text, double number, int digits)
{
    const char *sign = number < 0 && -number * pow(10, digits) >= 0.5 ? "\xe2\x88\x92" : "";

    attn_buffer_append_format(text, "%s%.*f", sign, digits, fabs(number));
}

/* Writes the line of PLATE with number I to the scratch buffer: its name, its effect, and where a
 * head looks. */
static void write_line(struct attn_figure_pen *pen, const struct circuit_layout *layout,
                       const struct plate *plate, int i)
{
    const struct attn_cell own = cell_of(layout, plate->row, "own");
    const struct attn_cell word = cell_of(layout, plate->row, "looks_at");
    const struct attn_cell weight = cell_of(layout, plate->row, "weight");

    pen->scratch.size = 0;
    if (i == 0 && plate->of.head < 0)
        attn_buffer_append_format(&pen->scratch, "MLP %lld", (long long)plate->of.layer);
    else if (i == 0)
        attn_buffer_append_format(&pen->scratch, "%lld.%lld", (long long)plate->of.layer,
                                  (long long)plate->of.head);
    if (i == 1 && plate->of.head >= 0 && own.type == ATTN_VALUE_REAL) {
        append_number(&pen->scratch, 100 * own.real, 0);
        attn_buffer_append_string(&pen->scratch, " %");
    }
    if (i != 2 || word.type != ATTN_VALUE_TEXT)
        return;
    attn_buffer_append_string(&pen->scratch, "\xe2\x86\x92 ");
    append_word(pen, &word, WORD);
    attn_buffer_append_format(&pen->scratch, " %.0f %%", 100 * weight.real);
}

static double scratch_width(const struct attn_figure_pen *pen, double size)
{
    return attn_figure_string_width(pen, pen->scratch.data, pen->scratch.size) * size;
}

/* Sets the sizes of plates: all heads are as wide as the widest. */
static void size_plates(struct attn_figure_pen *pen, struct circuit_layout *layout)
{
    const double small = pen->letters.tick, name = pen->letters.label * 0.9;
    double heads = 0, mlps = 0;

    layout->line = small + 4;
    for (size_t i = 0; i < layout->n_plate; i++) {
        const struct plate *plate = &layout->plates[i];
        double first, width;

        write_line(pen, layout, plate, 0);
        first = scratch_width(pen, name);
        if (plate->of.head < 0) {
            mlps = fmax(mlps, scratch_width(pen, small) + 4 * PAD);
            continue;
        }
        write_line(pen, layout, plate, 1);
        first += scratch_width(pen, small) + PAD;
        write_line(pen, layout, plate, 2);
        width = fmax(first, scratch_width(pen, small));
        heads = fmax(heads, ceil(BAR + 2 * PAD + width));
    }
    heads = fmax(heads, ceil(mlps));
    layout->pitch = heads + GAP;
    for (size_t i = 0; i < layout->n_plate; i++) {
        struct plate *plate = &layout->plates[i];
        const bool is_high =
            plate->of.head >= 0 && attn_table_find(layout->table, "looks_at") < SIZE_MAX;

        plate->width = plate->of.head < 0 ? ceil(mlps) : heads;
        plate->height = ceil(is_high ? name + layout->line + 2 * PAD : small + 2 * PAD);
    }
}

/* --- The layout ------------------------------------------------------------------------------- */

/* Places columns and rows. */
static void place(struct attn_figure_pen *pen, struct circuit_layout *layout)
{
    double y;
    const struct plate *plates = layout->plates;

    layout->right = place_columns(layout);
    y = ceil(attn_figure_add_heading(pen, fmax(layout->right, LEAST_WIDTH))) + layout->line +
        2 * PAD + 2;
    layout->top = y;
    y += FAR;
    for (size_t i = layout->n_plate; i-- > 0;) {
        layout->plates[i].y = y;
        if (i > 0 && plates[i - 1].line != plates[i].line)
            y += plates[i].height + (plates[i - 1].of.layer == plates[i].of.layer ? NEAR : FAR);
    }
    layout->bottom = ceil(y + (layout->n_plate > 0 ? plates[0].height : 0) + FAR);
}

/* --- Drawing ---------------------------------------------------------------------------------- */

/* Adds the scratch buffer. */
static void add_scratch(struct attn_figure_pen *pen, struct attn_shape_text at)
{
    attn_shapes_add_text(pen->shapes, &at, pen->scratch.data, pen->scratch.size);
}

static uint32_t ground_of(const struct attn_figure_pen *pen)
{
    return attn_rgb_number(attn_rgb_mix(pen->rule, BAND, pen->options->theme));
}

static uint32_t color_of(const struct attn_figure_pen *pen, double score)
{
    return attn_rgb_number(
        attn_rgb_mix(attn_streams_color(pen, score), OPACITY, pen->options->theme));
}

/* Returns the fact NAME about the table; missing if it was not run. */
static struct attn_cell fact_of(const struct circuit_layout *layout, const char *name)
{
    const struct attn_table *about = attn_table_about(layout->table);

    return about ? attn_table_cell(about, 0, attn_table_find(about, name)) : attn_cell_missing();
}

/* Adds the columns: a pale ground, and the word below; below the changed word what stands there in
 * the other text. */
static void add_columns(struct attn_figure_pen *pen, const struct circuit_layout *layout)
{
    const double top = layout->top + FAR / 2.0;
    const struct attn_cell other = fact_of(layout, "instead");
    const double y = layout->bottom + pen->letters.label + 3;

    for (size_t i = 0; i < layout->n_column; i++) {
        const struct column *column = &layout->columns[i];
        const double x = middle_of(layout, i);
        size_t row = 0;

        attn_shapes_add_box(pen->shapes,
                            (struct attn_shape_box){column->x, top, width_of_column(layout, i),
                                                    layout->bottom - top, ground_of(pen)});
        pen->scratch.size = 0;
        if (column->position == INT64_MAX)
            attn_buffer_append_string(&pen->scratch, "other words");
        while (row < attn_table_n_row(layout->table) &&
               position_of(layout, row) != column->position)
            row++;
        const struct attn_cell word = attn_table_role_cell(layout->table, row, ATTN_ROLE_TOKEN);

        if (word.type == ATTN_VALUE_TEXT)
            append_word(pen, &word, LONG_WORD);
        add_scratch(pen, (struct attn_shape_text){x, y, pen->letters.label,
                                                  i == layout->of_input ? attn_streams_color(pen, 1)
                                                                        : pen->ink,
                                                  ATTN_ANCHOR_MIDDLE, .is_bold = true});
        if (i != layout->of_input || other.type != ATTN_VALUE_TEXT)
            continue;
        pen->scratch.size = 0;
        attn_buffer_append_string(&pen->scratch, "instead of ");
        append_word(pen, &other, LONG_WORD);
        add_scratch(pen, (struct attn_shape_text){x, y + layout->line, pen->letters.tick,
                                                  attn_streams_color(pen, -1), ATTN_ANCHOR_MIDDLE,
                                                  .is_bold = false});
    }
}

/* Adds the numbers of layers. */
static void add_layers(struct attn_figure_pen *pen, const struct circuit_layout *layout)
{
    for (size_t i = 0; i < layout->n_plate; i++) {
        const struct plate *plate = &layout->plates[i];

        if (i > 0 && plate[-1].of.layer == plate->of.layer)
            continue;
        pen->scratch.size = 0;
        attn_buffer_append_integer(&pen->scratch, plate->of.layer);
        add_scratch(pen,
                    (struct attn_shape_text){
                        layout->left - 4, plate->y + plate->height / 2 + 0.35 * pen->letters.tick,
                        pen->letters.tick, pen->faint, ATTN_ANCHOR_END, .is_bold = false});
    }
    attn_figure_add_axis_name(pen, 0, (layout->bottom + layout->top) / 2, "layer");
}

/* Keeps numbers out of a box. */
static void take(struct circuit_layout *layout, double x, double y, double width, double height)
{
    layout->text.taken[layout->text.n_taken++] = (struct attn_shape_box){x, y, width, height, 0};
}

/* Adds PLATE. The mark of a head is its layer, head, position and key head, "h17.4.9.1". */
static void add_plate_shapes(struct attn_figure_pen *pen, struct circuit_layout *layout,
                             const struct plate *plate)
{
    const bool is_head = plate->of.head >= 0;
    const struct attn_cell type = cell_of(layout, plate->row, "type");
    const struct attn_head_kind *kind =
        type.type == ATTN_VALUE_TEXT ? attn_head_kind_find(type.text, type.size) : NULL;
    const double x = plate->x, y = plate->y, right = x + plate->width, small = pen->letters.tick;
    const double name = is_head ? 0.9 * pen->letters.label : small, left = x + BAR + PAD;
    const double line = y + PAD + 0.82 * name;

    attn_shapes_add_box(pen->shapes, (struct attn_shape_box){x, y, plate->width, plate->height,
                                                             pen->shapes->paper});
    if (kind)
        attn_shapes_add_box(
            pen->shapes, (struct attn_shape_box){
                             x, y, BAR, plate->height,
                             attn_rgb_number(attn_hue_color(kind->hue, 1, pen->options->theme))});
    attn_figure_add_outline(pen, (double[]){x, y, right, y + plate->height}, 1, pen->frame);
    take(layout, x, y, plate->width, plate->height);
    if (is_head)
        attn_shapes_set_mark(
            pen->shapes, "h%lld.%lld.%lld.%lld", (long long)plate->of.layer,
            (long long)plate->of.head,
            (long long)(plate->row < SIZE_MAX ? position_of(layout, plate->row) : -1),
            (long long)(plate->of.head / (int64_t)layout->n_sharing));
    write_line(pen, layout, plate, 0);
    if (is_head)
        add_scratch(pen, (struct attn_shape_text){left, line, name, pen->ink, ATTN_ANCHOR_START,
                                                  .is_bold = true});
    else
        add_scratch(pen, (struct attn_shape_text){(x + right) / 2, line, name, pen->ink,
                                                  ATTN_ANCHOR_MIDDLE, .is_bold = false});
    write_line(pen, layout, plate, 2);
    add_scratch(pen, (struct attn_shape_text){left, line + layout->line + 1, small, pen->ink,
                                              ATTN_ANCHOR_START, .is_bold = false});
    write_line(pen, layout, plate, 1);
    add_scratch(pen, (struct attn_shape_text){right - PAD, line, small, pen->faint, ATTN_ANCHOR_END,
                                              .is_bold = false});
    attn_shapes_end_mark(pen->shapes);
}

/* Sets the place of AT to that of the curve between ENDS at T, 0 to 1. */
static void find_spot(const double ends[4], double t, struct attn_shape_text *at)
{
    const double u = 1 - t, begin = u * u * (1 + 2 * t), rise = STEEP * (ends[1] - ends[3]);

    at->x = begin * ends[0] + (1 - begin) * ends[2];
    at->y = begin * ends[1] + (1 - begin) * ends[3] + 3 * u * t * (t - u) * rise;
}

/* Whether no larger edge enters where LINK ends: the letter is drawn once. */
static bool is_first(const struct circuit_layout *layout, const struct link *link)
{
    for (const struct link *other = layout->links; other < link; other++)
        if (other->to == link->to && other->letter == link->letter)
            return false;
    return true;
}

/* Adds a piece of LINK from x, y to x, y. */
static void add_piece(struct attn_figure_pen *pen, struct link *link, const double piece[4])
{
    const double rise = STEEP * (piece[1] - piece[3]), *longest = link->piece;

    attn_shapes_add_curve(
        pen->shapes, (struct attn_shape_curve){piece[0], piece[1], piece[0], piece[1] - rise,
                                               piece[2], piece[3] + rise, piece[2], piece[3],
                                               width_of(link), color_of(pen, link->edge->score)});
    if (fabs(piece[2] - piece[0]) + fabs(piece[3] - piece[1]) >
        fabs(longest[2] - longest[0]) + fabs(longest[3] - longest[1]))
        memcpy(link->piece, piece, sizeof link->piece);
}

/* Returns about the x at Y of a curve from AT to the end of ENDS. */
static double x_at(const double at[2], const double ends[4], double y)
{
    const double t = (at[1] - y) / (at[1] - ends[3]);

    return at[0] + (ends[2] - at[0]) * t * t * (3 - 2 * t);
}

/* Adds the curve of LINK, which passes the plates before which it would run at their nearer side,
 * and the letter of what reads. */
static void add_link_shapes(struct attn_figure_pen *pen, struct circuit_layout *layout,
                            struct link *link)
{
    const double width = width_of(link);
    struct attn_shape_text letter = {.size = pen->letters.tick, .color = pen->faint};
    double ends[4], at[2];

    find_ends(layout, link, ends);
    memcpy(at, ends, sizeof at);
    attn_shapes_set_mark(pen->shapes, "%zu", link->edge->row);
    for (struct plate *plate = layout->plates; plate < layout->plates + layout->n_plate; plate++) {
        const double foot = x_at(at, ends, plate->y + plate->height),
                     top = x_at(at, ends, plate->y);
        const double left = plate->x - BESIDE, right = plate->x + plate->width + BESIDE;
        const bool is_right = foot + top > left + right;
        const double offset = plate->beside[is_right] + width / 2;
        const double beside = is_right ? right + offset : left - offset;

        if (plate->y >= at[1] || plate->y <= ends[3] || fmax(foot, top) < left ||
            fmin(foot, top) > right)
            continue;
        plate->beside[is_right] += width + 2;
        add_piece(pen, link, (double[]){at[0], at[1], beside, plate->y + plate->height});
        at[0] = beside;
        at[1] = plate->y;
        add_piece(pen, link, (double[]){beside, plate->y + plate->height + 1, beside, at[1] - 1});
    }
    add_piece(pen, link, (double[]){at[0], at[1], ends[2], ends[3]});
    attn_shapes_end_mark(pen->shapes);
    letter.x = ends[2] + width / 2 + 2;
    letter.y = ends[3] + letter.size;
    if (link->letter == '\0' || !is_first(layout, link))
        return;
    attn_shapes_add_text(pen->shapes, &letter, &link->letter, 1);
    take(layout, letter.x, ends[3], letter.size * ATTN_SHAPES_EM, letter.size);
}

/* Writes the number of LINK on its curve, where it hides nothing; else it has none. */
static void add_number(struct attn_figure_pen *pen, struct circuit_layout *layout,
                       const struct link *link)
{
    static const double spots[] = {0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8};
    struct attn_shape_text at = {.color = pen->ink, .anchor = ATTN_ANCHOR_MIDDLE};
    bool is_done = fabs(link->edge->score) < LEAST_NUMBER;

    pen->scratch.size = 0;
    append_number(&pen->scratch, link->edge->score, 2);
    for (size_t i = 0; i < sizeof spots / sizeof *spots && !is_done; i++) {
        find_spot(link->piece, spots[i], &at);
        is_done = attn_streams_add_text(pen, &layout->text, at, pen->scratch.data,
                                        pen->scratch.size, true);
    }
}

/* Adds the box of the answer, with the metric of both texts. */
static void add_answer(struct attn_figure_pen *pen, struct circuit_layout *layout)
{
    const struct attn_table_picture *of = layout->given->of;
    const struct attn_cell clean = fact_of(layout, "clean"), other = fact_of(layout, "corrupted");
    const double size = 0.9 * pen->letters.label, x = middle_of(layout, layout->n_column - 1);
    const double height = layout->line + 2 * PAD;
    const struct attn_cell words[] = {attn_cell_string(of->target), attn_cell_string(of->foil)};
    double half;

    pen->scratch.size = 0;
    if (of->target && of->foil) {
        append_word(pen, &words[0], LONG_WORD);
        attn_buffer_append_string(&pen->scratch, " \xe2\x88\x92 ");
        append_word(pen, &words[1], LONG_WORD);
    } else {
        attn_buffer_append_string(&pen->scratch, of->answer[0] ? of->answer : "logits");
    }
    if (clean.type == ATTN_VALUE_REAL && other.type == ATTN_VALUE_REAL) {
        attn_buffer_append_string(&pen->scratch, "  ");
        append_number(&pen->scratch, other.real, 1);
        attn_buffer_append_string(&pen->scratch, " \xe2\x86\x92 ");
        append_number(&pen->scratch, clean.real, 1);
    }
    half = scratch_width(pen, size) / 2 * 1.05 + 2 * PAD;
    const double middle = fmin(x, pen->shapes->width - half - 2);

    take(layout, middle - half, layout->top - height, 2 * half, height);
    attn_figure_add_outline(
        pen, (double[]){middle - half, layout->top - height, middle + half, layout->top}, 1.4,
        pen->ink);
    add_scratch(pen, (struct attn_shape_text){middle, layout->top - height / 2 + 0.35 * size, size,
                                              pen->ink, ATTN_ANCHOR_MIDDLE, .is_bold = true});
}

/* Adds the scratch buffer as a line of the legend, cut to the width; Y is its baseline. */
static void add_line(struct attn_figure_pen *pen, double y)
{
    const double room = pen->shapes->width - 2 * ATTN_FIGURE_PAD;
    struct attn_buffer *line = &pen->scratch;

    while (line->size > 0 && scratch_width(pen, pen->letters.tick) > room)
        for (line->size--; line->size > 0 && (line->data[line->size] & 0xc0) == 0x80;)
            line->size--;
    add_scratch(pen, (struct attn_shape_text){ATTN_FIGURE_PAD, y, pen->letters.tick, pen->faint,
                                              ATTN_ANCHOR_START, .is_bold = false});
}

/* Writes the first path of the facts, with the names of the picture. */
static void write_path(struct attn_figure_pen *pen, const struct attn_cell *paths)
{
    const char *at = paths->text, *line = memchr(at, '\n', paths->size);
    const char *end = line ? line : at + paths->size;

    attn_buffer_append_string(&pen->scratch, "strongest path: ");
    while (at < end) {
        const size_t n = (size_t)(end - at), n_digit = strspn(at, "0123456789");

        if (n > n_digit + 4 && memcmp(at + n_digit, ".mlp", 4) == 0) {
            attn_buffer_append_format(&pen->scratch, "MLP %.*s", (int)n_digit, at);
            at += n_digit + 4;
        } else if (n > 1 && memcmp(at, "->", 2) == 0) {
            attn_buffer_append_string(&pen->scratch, "\xe2\x86\x92");
            at += 2;
        } else {
            attn_buffer_append_char(&pen->scratch, *at++);
        }
    }
}

static void add_legend(struct attn_figure_pen *pen, const struct circuit_layout *layout, double y)
{
    const struct attn_cell random = fact_of(layout, "control"), paths = fact_of(layout, "paths");
    double x = ATTN_FIGURE_PAD;

    x = attn_streams_add_sample(pen, x, y, "for", attn_streams_color(pen, 1), OPACITY);
    x = attn_streams_add_sample(pen, x, y, "against", attn_streams_color(pen, -1), OPACITY);
    pen->scratch.size = 0;
    attn_buffer_append_string(&pen->scratch, "full width: the whole answer");
    add_scratch(pen, (struct attn_shape_text){x, y + 0.35 * pen->letters.tick, pen->letters.tick,
                                              pen->faint, ATTN_ANCHOR_START, .is_bold = false});
    y += layout->line + 5;
    pen->scratch.size = 0;
    attn_buffer_append_string(
        &pen->scratch, attn_table_find(layout->table, "own") < SIZE_MAX
                           ? "%: own effect; \xe2\x86\x92: where it looks; q k v: what an edge "
                             "changes"
                           : "q k v: what an edge changes");
    add_line(pen, y);
    pen->scratch.size = 0;
    if (random.type == ATTN_VALUE_REAL)
        attn_buffer_append_format(&pen->scratch, "%zu random edges: %.0f %%", layout->n,
                                  fabs(100 * random.real));
    if (layout->n > layout->n_drawn)
        attn_buffer_append_format(&pen->scratch, "%s%zu thinner edges: at most %.0f %% each",
                                  pen->scratch.size > 0 ? "; " : "", layout->n - layout->n_drawn,
                                  100 * fabs(layout->edges[layout->n_drawn].score));
    add_line(pen, y += layout->line);
    pen->scratch.size = 0;
    if (paths.type == ATTN_VALUE_TEXT)
        write_path(pen, &paths);
    add_line(pen, y + layout->line);
}

/* Finds the part FROM to TO of TEXT [n] in which OTHER [n_other] differs, whole words. */
static void find_change(const char *text, size_t n, const char *other, size_t n_other,
                        size_t change[2])
{
    size_t from = 0, end = 0;

    while (from < n && from < n_other && text[from] == other[from])
        from++;
    while (end < n - from && end < n_other - from && text[n - 1 - end] == other[n_other - 1 - end])
        end++;
    while (from > 0 && text[from - 1] != ' ')
        from--;
    while (end > 0 && text[n - end] != ' ')
        end--;
    change[0] = from;
    change[1] = n - end;
}

/* Adds the clean text below the words, the change in color, in one line; texts that are too long
 * lose their begin. */
static void add_sentence(struct attn_figure_pen *pen, const struct circuit_layout *layout, double y)
{
    const struct attn_figure_text *texts = layout->given->of->texts;
    const double size = pen->letters.tick, room = pen->shapes->width - 2 * ATTN_FIGURE_PAD - size;
    struct attn_buffer all = {0};
    size_t change[2], begin = 0;
    double x = ATTN_FIGURE_PAD;

    if (!texts[0].text || !texts[1].text || texts[0].n == 0)
        return;
    find_change(texts[0].text, texts[0].n, texts[1].text, texts[1].n, change);
    attn_escape_append(&all, texts[0].text, texts[0].n);
    if (all.size != texts[0].n || attn_text_is_right_to_left(texts[0].text, texts[0].n))
        change[0] = change[1] = all.size;
    while (begin < all.size &&
           attn_figure_string_width(pen, all.data + begin, all.size - begin) * size > room) {
        const char *blank = memchr(all.data + begin, ' ', all.size - begin);

        begin = blank ? (size_t)(blank - all.data) + 1 : all.size;
    }
    pen->scratch.size = 0;
    attn_buffer_append_string(&pen->scratch, begin > 0 ? ATTN_ELLIPSIS : "");
    add_scratch(
        pen, (struct attn_shape_text){x, y, size, pen->faint, ATTN_ANCHOR_START, .is_bold = false});
    x += begin > 0 ? size : 0;
    for (int i = 0; i < 3; i++) { /* what stands before the change ends at it, in any font */
        const size_t ends[] = {begin, change[0], change[1], all.size};
        const size_t from = ends[i] < begin ? begin : ends[i];
        const size_t to = ends[i + 1] < begin ? begin : ends[i + 1];
        const double bold = i == 1 && pen->is_printed ? 1.08 : 1;
        const double width =
            attn_figure_string_width(pen, all.data + from, to - from) * size * bold;

        x += i == 0 ? width : 0;
        pen->scratch.size = 0;
        attn_buffer_append(&pen->scratch, all.data + from, to - from);
        add_scratch(pen, (struct attn_shape_text){
                             x, y, size, i == 1 ? attn_streams_color(pen, 1) : pen->faint,
                             i == 0 ? ATTN_ANCHOR_END : ATTN_ANCHOR_START, .is_bold = i == 1});
        x += i == 1 ? width : 0;
    }
    pen->scratch.has_failed |= all.has_failed;
    attn_buffer_release(&all);
}

enum attn_status attn_figure_draw_circuit(struct attn_figure_pen *pen, struct attn_error *err)
{
    struct circuit_layout layout = {.given = pen->content, .table = pen->content->table};
    double below;

    ATTN_TRY(read_edges(pen, &layout, err));
    find_columns(&layout);
    ATTN_TRY(find_links(pen, &layout, err));
    pen->has_text &= !layout.given->of->texts[0].text || !layout.given->of->texts[1].text;
    size_plates(pen, &layout);
    layout.left = ATTN_FIGURE_PAD + ATTN_STREAMS_LEFT;
    place(pen, &layout);
    below = layout.bottom + pen->letters.label + 2 * layout.line + 6;
    pen->shapes->height = ceil(below + LEGEND + 4 * layout.line + ATTN_FIGURE_PAD);
    if (pen->is_measuring)
        return ATTN_OK;
    find_places(&layout);
    add_columns(pen, &layout);
    add_layers(pen, &layout);
    for (size_t i = 0; i < layout.n_link; i++)
        add_link_shapes(pen, &layout, &layout.links[i]);
    for (size_t i = 0; i < layout.n_plate; i++)
        add_plate_shapes(pen, &layout, &layout.plates[i]);
    add_answer(pen, &layout);
    for (size_t i = 0; i < layout.n_link; i++)
        add_number(pen, &layout, &layout.links[i]);
    add_sentence(pen, &layout, below);
    add_legend(pen, &layout, below + LEGEND);
    return ATTN_OK;
}
