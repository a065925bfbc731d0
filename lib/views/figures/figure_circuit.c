/* figure_circuit.c - the edges of a circuit, to be read aloud: words are columns, layers are rows,
 * and parts of the model are plates, side by side in their columns. A part stands above the word at
 * which it works, with its own effect; a head says where it looks, in the hue of its kind. An edge
 * is a curve that leaves the top of the part that writes and enters the foot of the part that
 * reads: at the left of a head if its query reads, in the middle its key, at the right its value,
 * with that letter; or the box of the answer above all. It passes the plates of rows between its
 * ends at their nearer side. Its width is the share of the answer, the same in all figures, its
 * color the sign; large ones have their number, where it hides nothing. An edge into a key head
 * ends in all heads of the picture that share it. The title is the share of the answer that the
 * circuit keeps, if it was run. Tables without places, those of items, have one column. */
#include "figures/figure_routes.h"
#include "figures/figure_streams.h"

#include "base/memory.h"
#include "base/text/escape.h"
#include "figures/table_axis.h"
#include "measures/head_kind.h"
#include "tables/table_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAST_WIDTH = 420, /* of the legend */
    MOST_LINKS = 24,   /* most curves, but for those into shared key heads */
    MOST_COLUMNS = 5,
    MOST_SLOTS = 4, /* plates side by side in a column */
    BAR = 4,        /* width of the hue of a head */
    WORD = 16,      /* columns of text of a word, */
    SHORT_WORD = 8, /* and of a word in a plate */
    PAD = 5,        /* in a plate */
};

#define OPACITY 0.72       /* of the color of a curve on paper */
#define BAND 0.18          /* of the color of rules in a column */
#define LEAST_NUMBER 0.095 /* of a curve that has one */

/* An end of an edge. In the order in which they are computed. */
struct part {
    int64_t layer; /* -1: the input; INT64_MAX: the logits */
    int64_t head;  /* -1: an MLP */
    char letter;   /* of a reader: q, k or v; else 0 */
};

struct edge {
    struct attn_figure_rank rank; /* its score, and the row of the table */
    struct part from, to;
};

/* A part that is drawn. */
struct plate {
    int64_t layer, head; /* head -1: an MLP */
    size_t row;          /* of the table, which has its texts; SIZE_MAX: no row */
    size_t column, line, slot, n_beside;
    struct attn_route_box box;
};

/* A curve. */
struct link {
    const struct plate *from, *to; /* NULL: the input, the answer */
    size_t row;                    /* of the table: its mark */
    double score;                  /* share of the answer */
    char letter;                   /* q, k or v of a head that reads; else 0 */
    double end;                    /* x where it ends at the answer */
    double piece[4];               /* its longest piece; x, y of its begin and of its end */
};

/* A word, or no word if there are no places. */
struct column {
    int64_t position;    /* -1: no place; INT64_MAX: several other words */
    double weight;       /* of its parts */
    size_t n_slot, most; /* plates side by side, and at most */
    double x;            /* left end */
};

/* Distances. */
struct room {
    double far, near; /* between rows, and between those of a layer */
    double gap;       /* between plates, and between columns */
    double lane;      /* at both sides of a column, for curves */
    double widest;    /* width of a curve that carries the whole answer */
};

/* Initialize with `table`, the columns of it (`effects` has shares, `looks` words, `weights` those
 * of heads on them, `types` those of heads), and `room`. */
struct layout {
    const struct attn_table *table;
    struct room room;
    size_t effects, looks, weights, types;
    struct edge *edges; /* [n_edge] the largest |score| first */
    size_t n_edge, n_drawn;
    struct plate *plates;          /* [n_plate] */
    struct attn_route_box **boxes; /* [n_plate] those of the plates */
    size_t n_plate, n_line;
    struct link *links; /* [n_link] the largest first */
    size_t n_link;
    struct column columns[MOST_LINKS + 2]; /* in the order of the text */
    size_t n_column, of_input;
    size_t n_sharing;                      /* heads that share a key head, for marks */
    double pitch;                          /* from one plate to the next */
    double left, right, top, bottom, line; /* line: height of a line of text */
    struct attn_figure_streams text;       /* `taken`: what numbers must not hide */
};

/* --- Columns ---------------------------------------------------------------------------------- */

/* Returns the position in ROW of the table; -1: unknown. */
static int64_t position_of(const struct layout *layout, size_t row)
{
    const struct attn_cell cell = attn_table_role_cell(layout->table, row, ATTN_ROLE_POSITION);

    return cell.type == ATTN_VALUE_INTEGER ? cell.integer : -1;
}

/* Returns the column of POSITION: the last one if it is no column, that of other words if there are
 * any. */
static size_t column_of(const struct layout *layout, int64_t position)
{
    size_t i = 0;

    while (i + 1 < layout->n_column && layout->columns[i].position != position)
        i++;
    return i;
}

/* Adds WEIGHT to the column of POSITION, of which there may be one more than curves. */
static void weigh(struct layout *layout, int64_t position, double weight)
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
static void drop_column(struct layout *layout)
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

/* Returns the order of the row of PLATE from below: heads before the MLP of their layer. */
static int64_t height_of(const struct plate *plate)
{
    return 2 * plate->layer + (plate->head < 0);
}

static int by_height(const void *a, const void *b)
{
    const struct plate *x = a, *y = b;
    const int64_t above = height_of(x) - height_of(y);

    return above != 0 ? (above > 0) - (above < 0) : (x->head > y->head) - (x->head < y->head);
}

/* Sorts the plates, before links refer to them, and finds their columns: the words whose parts
 * carry most have one each. */
static void sort_plates(struct layout *layout)
{
    ATTN_SORT(layout->plates, layout->n_plate, by_height);
    while (layout->n_column > MOST_COLUMNS)
        drop_column(layout);
    for (size_t i = 0; i < layout->n_plate; i++)
        layout->plates[i].column = column_of(layout, position_of(layout, layout->plates[i].row));
}

/* Lays the plates of each row side by side in their columns, at most `most` of these; others go to
 * rows of their own. */
static void find_slots(struct layout *layout)
{
    size_t line = 0;

    layout->n_line = 0;
    for (size_t i = 0; i < layout->n_column; i++)
        layout->columns[i].n_slot = 1;
    for (size_t i = 0; i < layout->n_plate; i++) {
        struct plate *plate = &layout->plates[i];
        struct column *column = &layout->columns[plate->column];
        size_t n = 0;

        if (i > 0 && height_of(plate) != height_of(&plate[-1]))
            line = layout->n_line;
        for (const struct plate *other = layout->plates; other < plate; other++)
            n += height_of(other) == height_of(plate) && other->column == plate->column;
        plate->slot = n % column->most;
        plate->line = line + n / column->most;
        layout->n_line = plate->line + 1 > layout->n_line ? plate->line + 1 : layout->n_line;
        column->n_slot = plate->slot + 1 > column->n_slot ? plate->slot + 1 : column->n_slot;
        for (struct plate *other = layout->plates; other <= plate; other++)
            if (other->line == plate->line && other->column == plate->column)
                other->n_beside = plate->slot + 1;
    }
}

/* --- Places ----------------------------------------------------------------------------------- */

static double width_of_column(const struct layout *layout, size_t column)
{
    return (double)layout->columns[column].n_slot * layout->pitch - layout->room.gap +
           2 * layout->room.lane;
}

static double middle_of(const struct layout *layout, size_t column)
{
    return layout->columns[column].x + width_of_column(layout, column) / 2;
}

/* Places columns and plates. Returns the right end. */
static double place_columns(struct layout *layout)
{
    double x = layout->left + layout->room.gap / 2.0;

    for (size_t i = 0; i < layout->n_column; i++) {
        layout->columns[i].x = x;
        x += width_of_column(layout, i) + layout->room.gap;
    }
    for (struct plate *plate = layout->plates; plate < layout->plates + layout->n_plate; plate++)
        plate->box.x = middle_of(layout, plate->column) - plate->box.width / 2 +
                       ((double)plate->slot - ((double)plate->n_beside - 1) / 2) * layout->pitch;
    return x - layout->room.gap;
}

/* Places the rows below TOP. */
static void place_rows(struct layout *layout, double top)
{
    double y = top + layout->room.far;
    int64_t layer = INT64_MAX;

    layout->top = top;
    for (size_t line = layout->n_line; line-- > 0;) {
        double height = 0;

        for (struct plate *plate = layout->plates; plate < layout->plates + layout->n_plate;
             plate++) {
            if (plate->line != line)
                continue;
            y -= height == 0 && plate->layer == layer ? layout->room.far - layout->room.near : 0;
            layer = plate->layer;
            plate->box.y = y;
            height = fmax(height, plate->box.height);
        }
        y += height + layout->room.far;
    }
    layout->bottom = ceil(y);
}

/* Takes a place from the widest column. Returns false if all have one. */
static bool narrow(struct layout *layout)
{
    struct column *widest = layout->columns;

    for (size_t i = 0; i < layout->n_column; i++)
        if (layout->columns[i].n_slot >= widest->n_slot)
            widest = &layout->columns[i];
    widest->most = widest->n_slot > 1 ? widest->n_slot - 1 : 1;
    return widest->n_slot > 1;
}

/* Sets the ends of LINK: x, y of the writer, x, y of the reader. */
static void find_ends(const struct layout *layout, const struct link *link, double ends[4])
{
    const double port = link->letter == 'q' ? 0.2 : link->letter == 'v' ? 0.8 : 0.5;

    ends[0] = link->from ? link->from->box.x + link->from->box.width / 2
                         : middle_of(layout, layout->of_input);
    ends[1] = link->from ? link->from->box.y : layout->bottom;
    ends[2] = link->to ? link->to->box.x + port * link->to->box.width : link->end;
    ends[3] = link->to ? link->to->box.y + link->to->box.height : layout->top;
}

static double width_of(const struct layout *layout, const struct link *link)
{
    return fmax(0.7, layout->room.widest * fmin(1, fabs(link->score)));
}

/* Lays the ends of curves at the answer side by side, in the order of their writers. */
static void spread_ends(struct layout *layout)
{
    const struct link *last = layout->links + layout->n_link;

    for (struct link *link = layout->links; link < last; link++) {
        link->end = middle_of(layout, layout->n_column - 1);
        for (const struct link *other = layout->links; other < last; other++) {
            double ends[4], at[4];

            find_ends(layout, link, ends);
            find_ends(layout, other, at);
            if (!other->to && other != link)
                link->end += (at[0] < ends[0] || (at[0] == ends[0] && other < link) ? 0.5 : -0.5) *
                             (width_of(layout, other) + 2);
        }
    }
}

/* --- Texts ------------------------------------------------------------------------------------ */

/* The texts of a plate. */
enum { NAME, EFFECT, LOOK, N_TEXT };

static const double bold = 1.12; /* times as wide, of names */

/* Writes text I of PLATE to the scratch buffer: its name, its share, and where a head looks. */
static void write_text(struct attn_figure_pen *pen, const struct layout *layout,
                       const struct plate *plate, int i)
{
    const struct attn_cell effect = attn_table_cell(layout->table, plate->row, layout->effects);
    const struct attn_cell word = attn_table_cell(layout->table, plate->row, layout->looks);
    const struct attn_cell weight = attn_table_cell(layout->table, plate->row, layout->weights);
    struct attn_buffer *text = &pen->scratch;

    text->size = 0;
    if (i == NAME && plate->head < 0)
        attn_buffer_append_format(text, "MLP %lld", (long long)plate->layer);
    else if (i == NAME)
        attn_buffer_append_format(text, "%lld.%lld", (long long)plate->layer,
                                  (long long)plate->head);
    if (i == EFFECT && plate->head >= 0 && effect.type == ATTN_VALUE_REAL) {
        attn_figure_append_signed(text, 100 * effect.real, 0);
        attn_buffer_append_string(text, " %");
    }
    if (i != LOOK || weight.type != ATTN_VALUE_REAL)
        return;
    if (word.type == ATTN_VALUE_TEXT) {
        attn_buffer_append_string(text, "\xe2\x86\x92 ");
        attn_table_append_label(text, word.text, word.size, SHORT_WORD);
    } else {
        attn_buffer_append_string(text, "looks");
    }
    attn_buffer_append_format(text, " %.0f %%", 100 * weight.real);
}

static double scratch_width(const struct attn_figure_pen *pen, double size)
{
    return attn_figure_string_width(pen, pen->scratch.data, pen->scratch.size) * size;
}

/* Sets the sizes of plates: all heads are as wide as the widest. */
static void size_plates(struct attn_figure_pen *pen, struct layout *layout)
{
    const double small = pen->letters.tick, name = pen->letters.label * 0.9;
    double heads = 0, mlps = 0, widths[N_TEXT];

    layout->line = small + 4;
    for (size_t i = 0; i < layout->n_plate; i++) {
        const struct plate *plate = &layout->plates[i];

        for (int k = 0; k < N_TEXT; k++) {
            write_text(pen, layout, plate, k);
            widths[k] = scratch_width(pen, k == NAME && plate->head >= 0 ? name : small);
        }
        if (plate->head < 0)
            mlps = fmax(mlps, widths[NAME] + 4 * PAD);
        else
            heads = fmax(heads, BAR + 2 * PAD +
                                    fmax(fmax(widths[LOOK], widths[EFFECT]),
                                         bold * widths[NAME] + PAD + widths[EFFECT]));
    }
    heads = ceil(fmax(heads, mlps));
    layout->pitch = heads + layout->room.gap;
    for (size_t i = 0; i < layout->n_plate; i++) {
        struct plate *plate = &layout->plates[i];

        plate->box.width = plate->head < 0 ? ceil(mlps) : heads;
        plate->box.height =
            ceil(plate->head >= 0 && layout->weights < SIZE_MAX ? name + layout->line + 2 * PAD
                                                                : small + 2 * PAD);
    }
}

/* Finds sizes and places, adds the heading, and allocates `taken`. The caller sets the height of
 * the figure. */
static enum attn_status plan(struct attn_figure_pen *pen, struct layout *layout,
                             struct attn_error *err)
{
    ATTN_TRY(
        ATTN_FIGURE_ALLOC(pen, layout->text.taken, layout->n_plate + 2 * layout->n_link + 1, err));
    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, layout->boxes, layout->n_plate, err));
    for (size_t i = 0; i < layout->n_plate; i++)
        layout->boxes[i] = &layout->plates[i].box;
    layout->left = ATTN_FIGURE_PAD + ATTN_STREAMS_LEFT;
    size_plates(pen, layout);
    for (size_t i = 0; i < layout->n_column; i++)
        layout->columns[i].most = MOST_SLOTS;
    do {
        find_slots(layout);
        layout->right = place_columns(layout);
    } while (pen->room > 0 && layout->right > pen->room && narrow(layout));
    place_rows(layout, ceil(attn_figure_add_heading(pen, fmax(layout->right, LEAST_WIDTH))) +
                           layout->line + 2 * PAD + 2);
    spread_ends(layout);
    return ATTN_OK;
}

/* --- Drawing ---------------------------------------------------------------------------------- */

/* Adds the scratch buffer as a line below the figure, from X on, cut to the width, with the middle
 * at Y, and empties it. */
static void add_line(struct attn_figure_pen *pen, double x, double y)
{
    const double size = pen->letters.tick, room = pen->shapes->width - x - ATTN_FIGURE_PAD;
    struct attn_buffer *line = &pen->scratch;

    while (line->size > 0 && scratch_width(pen, size) > room)
        for (line->size--; line->size > 0 && (line->data[line->size] & 0xc0) == 0x80;)
            line->size--;
    attn_figure_add_scratch(
        pen, attn_figure_text(x, y + 0.35 * size, size, pen->faint, ATTN_ANCHOR_START));
}

/* Adds the columns: a pale ground, and the word below; below the changed word the other. */
static void add_columns(struct attn_figure_pen *pen, const struct layout *layout)
{
    const struct attn_cell other = attn_table_fact(layout->table, "instead");
    const double top = layout->top + layout->room.far / 2.0,
                 y = layout->bottom + pen->letters.label + 3;
    const uint32_t ground = attn_rgb_number(attn_rgb_mix(pen->rule, BAND, pen->options->theme));

    for (size_t i = 0; i < layout->n_column; i++) {
        const struct column *column = &layout->columns[i];
        const bool is_changed = other.type == ATTN_VALUE_TEXT && i == layout->of_input;
        struct attn_shape_text text = {
            middle_of(layout, i), y,
            pen->letters.label,   is_changed ? attn_streams_color(pen, 1) : pen->ink,
            ATTN_ANCHOR_MIDDLE,   .is_bold = true};
        size_t row = 0;

        attn_figure_add_box(pen, column->x, top, width_of_column(layout, i), layout->bottom - top,
                            ground);
        while (row < attn_table_n_row(layout->table) &&
               position_of(layout, row) != column->position)
            row++;
        const struct attn_cell word = attn_table_role_cell(layout->table, row, ATTN_ROLE_TOKEN);

        pen->scratch.size = 0;
        if (column->position == INT64_MAX)
            attn_buffer_append_string(&pen->scratch, "other words");
        else if (word.type == ATTN_VALUE_TEXT)
            attn_table_append_label(&pen->scratch, word.text, word.size, WORD);
        attn_figure_add_scratch(pen, text);
        if (!is_changed)
            continue;
        attn_buffer_append_string(&pen->scratch, "instead of ");
        attn_table_append_label(&pen->scratch, other.text, other.size, WORD);
        text.y += layout->line;
        text.size = pen->letters.tick;
        text.color = attn_streams_color(pen, -1);
        text.is_bold = false;
        attn_figure_add_scratch(pen, text);
    }
}

/* Adds the numbers of layers. */
static void add_layers(struct attn_figure_pen *pen, const struct layout *layout)
{
    struct attn_shape_text text =
        attn_figure_text(layout->left - 4, 0, pen->letters.tick, pen->faint, ATTN_ANCHOR_END);

    for (size_t i = 0; i < layout->n_plate; i++) {
        const struct plate *plate = &layout->plates[i];

        text.y = plate->box.y + plate->box.height / 2 + 0.35 * text.size;
        if (i == 0 || plate[-1].layer != plate->layer)
            attn_shapes_add_number(pen->shapes, &text, (size_t)plate->layer);
    }
    attn_figure_add_axis_name(pen, 0, (layout->bottom + layout->top) / 2, "layer");
}

/* Keeps numbers out of a box. */
static void take(struct layout *layout, double x, double y, double width, double height)
{
    layout->text.taken[layout->text.n_taken++] = (struct attn_shape_box){x, y, width, height, 0};
}

/* Adds PLATE. The mark of a head is its layer, head, position and key head, "h17.4.9.1". */
static void add_plate(struct attn_figure_pen *pen, struct layout *layout, const struct plate *plate)
{
    const bool is_head = plate->head >= 0;
    const struct attn_cell type = attn_table_cell(layout->table, plate->row, layout->types);
    const struct attn_head_kind *kind =
        type.type == ATTN_VALUE_TEXT ? attn_head_kind_find(type.text, type.size) : NULL;
    const double x = plate->box.x, y = plate->box.y, right = x + plate->box.width,
                 small = pen->letters.tick;
    const double name = is_head ? 0.9 * pen->letters.label : small, left = x + BAR + PAD;
    struct attn_shape_text text =
        attn_figure_text(is_head ? left : (x + right) / 2, y + PAD + 0.82 * name, name, pen->ink,
                         is_head ? ATTN_ANCHOR_START : ATTN_ANCHOR_MIDDLE);

    text.is_bold = is_head;
    attn_figure_add_box(pen, x, y, plate->box.width, plate->box.height, pen->shapes->paper);
    if (kind)
        attn_figure_add_box(pen, x, y, BAR, plate->box.height,
                            attn_rgb_number(attn_hue_color(kind->hue, 1, pen->options->theme)));
    attn_figure_add_outline(pen, (double[]){x, y, right, y + plate->box.height}, 1, pen->frame);
    take(layout, x, y, plate->box.width, plate->box.height);
    if (is_head)
        attn_shapes_set_mark(pen->shapes, "h%lld.%lld.%lld.%lld", (long long)plate->layer,
                             (long long)plate->head, (long long)position_of(layout, plate->row),
                             (long long)(plate->head / (int64_t)layout->n_sharing));
    write_text(pen, layout, plate, NAME);
    attn_figure_add_scratch(pen, text);
    text.size = small;
    text.is_bold = false;
    text.anchor = ATTN_ANCHOR_END;
    text.x = right - PAD;
    text.color = pen->faint;
    write_text(pen, layout, plate, EFFECT);
    attn_figure_add_scratch(pen, text);
    text.anchor = ATTN_ANCHOR_START;
    text.x = left;
    text.y += layout->line + 1;
    text.color = pen->ink;
    write_text(pen, layout, plate, LOOK);
    attn_figure_add_scratch(pen, text);
    attn_shapes_end_mark(pen->shapes);
}

/* Whether no larger curve enters where LINK ends: the letter is drawn once. */
static bool is_first(const struct layout *layout, const struct link *link)
{
    for (const struct link *other = layout->links; other < link; other++)
        if (other->to == link->to && other->letter == link->letter)
            return false;
    return true;
}

/* Adds the curve of LINK, and the letter of what reads. */
static void add_link(struct attn_figure_pen *pen, struct layout *layout, struct link *link)
{
    const uint32_t color = attn_rgb_number(
        attn_rgb_mix(attn_streams_color(pen, link->score), OPACITY, pen->options->theme));
    struct attn_shape_text letter = {.size = pen->letters.tick, .color = pen->faint};
    double ends[4];

    find_ends(layout, link, ends);
    attn_shapes_set_mark(pen->shapes, "%zu", link->row);
    attn_route_add(pen, layout->boxes, layout->n_plate, ends,
                   (struct attn_route_pen){width_of(layout, link), color, link->piece});
    attn_shapes_end_mark(pen->shapes);
    letter.x = ends[2] + width_of(layout, link) / 2 + 2;
    letter.y = ends[3] + letter.size;
    if (link->letter == '\0' || !is_first(layout, link))
        return;
    attn_shapes_add_text(pen->shapes, &letter, &link->letter, 1);
    take(layout, letter.x, ends[3], letter.size * ATTN_SHAPES_EM, letter.size);
}

/* Writes the number of LINK on its curve, where it hides nothing; else it has none, as where its
 * plate has it. */
static void add_number(struct attn_figure_pen *pen, struct layout *layout, const struct link *link)
{
    static const double spots[] = {0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8};
    const double *ends = link->piece, rise = ATTN_ROUTE_STEEP * (ends[1] - ends[3]);
    struct attn_shape_text at = {.color = pen->ink, .anchor = ATTN_ANCHOR_MIDDLE};
    bool is_done = fabs(link->score) < LEAST_NUMBER;

    pen->scratch.size = 0;
    attn_figure_append_signed(&pen->scratch, link->score, 2);
    for (size_t i = 0; i < sizeof spots / sizeof *spots && !is_done; i++) {
        const double t = spots[i], u = 1 - t, begin = u * u * (1 + 2 * t);

        at.x = begin * ends[0] + (1 - begin) * ends[2];
        at.y = begin * ends[1] + (1 - begin) * ends[3] + 3 * u * t * (t - u) * rise;
        is_done = attn_streams_add_text(pen, &layout->text, at, pen->scratch.data,
                                        pen->scratch.size, true);
    }
}

/* Writes the answer, with the metric of both texts: "are - is  -0.8 -> 2.5". */
static void write_answer(struct attn_figure_pen *pen, const struct layout *layout)
{
    const struct attn_table_picture *of = pen->content->of;
    struct attn_buffer *out = &pen->scratch;
    const struct attn_cell clean = attn_table_fact(layout->table, "clean");
    const struct attn_cell other = attn_table_fact(layout->table, "corrupted");

    if (of->target && of->foil) {
        attn_table_append_label(out, of->target, strlen(of->target), WORD);
        attn_buffer_append_string(out, " \xe2\x88\x92 ");
        attn_table_append_label(out, of->foil, strlen(of->foil), WORD);
    } else {
        attn_buffer_append_string(out, of->answer[0] ? of->answer : "logits");
    }
    if (clean.type != ATTN_VALUE_REAL || other.type != ATTN_VALUE_REAL)
        return;
    attn_buffer_append_string(out, "  ");
    attn_figure_append_signed(out, other.real, 1);
    attn_buffer_append_string(out, " \xe2\x86\x92 ");
    attn_figure_append_signed(out, clean.real, 1);
}

/* Adds the box of the answer. */
static void add_answer(struct attn_figure_pen *pen, struct layout *layout)
{
    const double size = 0.9 * pen->letters.label, height = layout->line + 2 * PAD;
    struct attn_shape_text text = attn_figure_text(0, layout->top - height / 2 + 0.35 * size, size,
                                                   pen->ink, ATTN_ANCHOR_MIDDLE);
    double half, x;

    write_answer(pen, layout);
    half = scratch_width(pen, size) / 2 * 1.05 + 2 * PAD;
    x = fmin(middle_of(layout, layout->n_column - 1), pen->shapes->width - half - ATTN_FIGURE_PAD);
    text.x = x;
    text.is_bold = true;
    take(layout, x - half, layout->top - height, 2 * half, height);
    attn_figure_add_outline(pen, (double[]){x - half, layout->top - height, x + half, layout->top},
                            1.4, pen->ink);
    attn_figure_add_scratch(pen, text);
}

/* --- Edges ------------------------------------------------------------------------------------ */

/* Reads the name of a part: "input", "2.5", "2.mlp", "3.0.q", "logits", which none means, too. */
static bool read_part(const struct attn_cell *cell, struct part *part)
{
    char name[64], *at;

    *part = (struct part){.head = -1, .layer = INT64_MAX};
    if (cell->type != ATTN_VALUE_TEXT || cell->size >= sizeof name)
        return cell->type == ATTN_VALUE_MISSING;
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

/* Whether PART is a plate of its own, unlike a key head that several heads share. */
static bool is_plate(const struct layout *layout, const struct part *part)
{
    return part->layer >= 0 && part->layer < INT64_MAX &&
           (layout->n_sharing == 1 || (part->letter != 'k' && part->letter != 'v'));
}

/* Adds the plate of PART, which writes the edge of ROW unless that is SIZE_MAX. */
static void list_plate(struct layout *layout, const struct part *part, size_t row)
{
    struct plate *plate = layout->plates;

    if (!is_plate(layout, part))
        return;
    while (plate < layout->plates + layout->n_plate &&
           (plate->layer != part->layer || plate->head != part->head))
        plate++;
    if (plate == layout->plates + layout->n_plate) {
        *plate = (struct plate){.layer = part->layer, .head = part->head, .row = SIZE_MAX};
        layout->n_plate++;
    }
    if (row < SIZE_MAX && plate->row == SIZE_MAX)
        plate->row = row;
}

static enum attn_status read_edges(struct attn_figure_pen *pen, struct layout *layout,
                                   struct attn_error *err)
{
    const struct attn_table *table = layout->table;
    const size_t n_row = attn_table_n_row(table);
    const size_t values = attn_table_view_find(table, pen->content->of->view.values);

    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, layout->edges, n_row, err));
    for (size_t row = 0; row < n_row; row++) {
        const struct attn_cell from = attn_table_role_cell(table, row, ATTN_ROLE_WRITER);
        const struct attn_cell to = attn_table_role_cell(table, row, ATTN_ROLE_READER);
        struct edge *edge = &layout->edges[layout->n_edge];

        edge->rank.index = row;
        edge->rank.number = (double)attn_table_number(table, row, values);
        layout->n_edge += isfinite(edge->rank.number) && read_part(&from, &edge->from) &&
                          read_part(&to, &edge->to);
    }
    ATTN_SORT(layout->edges, layout->n_edge, attn_figure_by_rank);
    layout->n_drawn = layout->n_edge < MOST_LINKS ? layout->n_edge : MOST_LINKS;
    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, layout->plates, 2 * layout->n_drawn, err));
    for (size_t i = 0; i < layout->n_drawn; i++) {
        const struct edge *edge = &layout->edges[i];

        list_plate(layout, &edge->from, edge->rank.index);
        list_plate(layout, &edge->to, SIZE_MAX);
        if (position_of(layout, edge->rank.index) >= 0)
            weigh(layout, position_of(layout, edge->rank.index), fabs(edge->rank.number));
    }
    if (layout->n_column == 0)
        weigh(layout, -1, 0);
    sort_plates(layout);
    return ATTN_OK;
}

/* Finds the curves. An edge into a key head ends in all its heads that are drawn. */
static enum attn_status find_links(struct attn_figure_pen *pen, struct layout *layout,
                                   struct attn_error *err)
{
    const struct plate *end = layout->plates + layout->n_plate;

    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, layout->links, layout->n_drawn * layout->n_sharing, err));
    for (size_t i = 0; i < layout->n_drawn; i++) {
        const struct edge *edge = &layout->edges[i];
        const struct part *to = &edge->to;
        const int64_t share = is_plate(layout, to) ? 1 : (int64_t)layout->n_sharing;
        struct link link = {
            .row = edge->rank.index, .score = edge->rank.number, .letter = to->letter};

        for (const struct plate *plate = layout->plates; plate < end; plate++)
            if (plate->layer == edge->from.layer && plate->head == edge->from.head)
                link.from = plate;
        if (edge->from.layer < 0)
            layout->of_input = column_of(layout, position_of(layout, edge->rank.index));
        if (to->layer == INT64_MAX)
            layout->links[layout->n_link++] = link;
        for (const struct plate *plate = layout->plates; plate < end; plate++)
            if (plate->layer == to->layer && (plate->head < 0) == (to->head < 0) &&
                (to->head < 0 || plate->head / share == to->head)) {
                link.to = plate;
                layout->links[layout->n_link++] = link;
            }
    }
    return ATTN_OK;
}

/* --- The figure ------------------------------------------------------------------------------- */

/* Adds the text, and the legend, from Y on. */
static void add_legend(struct attn_figure_pen *pen, const struct layout *layout, double y)
{
    const struct attn_cell random = attn_table_fact(layout->table, "control");
    const struct attn_cell paths = attn_table_fact(layout->table, "paths");
    const struct attn_figure_text *text = &pen->content->of->texts[0];
    const double line = layout->line;
    double x;

    if (pen->is_printed && text->text)
        attn_escape_append(&pen->scratch, text->text, text->n);
    add_line(pen, ATTN_FIGURE_PAD, y);
    y += ATTN_STREAMS_LEGEND;
    x = attn_streams_add_sample(pen, ATTN_FIGURE_PAD, y, "for", attn_streams_color(pen, 1),
                                OPACITY);
    x = attn_streams_add_sample(pen, x, y, "against", attn_streams_color(pen, -1), OPACITY);
    attn_buffer_append_string(&pen->scratch, "full width: the whole answer");
    add_line(pen, x, y);
    attn_buffer_append_string(
        &pen->scratch, layout->effects < SIZE_MAX
                           ? "%: own effect; \xe2\x86\x92: where it looks; q k v: what an edge "
                             "changes"
                           : "q k v: what an edge changes");
    add_line(pen, ATTN_FIGURE_PAD, y += line + 1);
    if (random.type == ATTN_VALUE_REAL)
        attn_buffer_append_format(&pen->scratch, "%zu random edges: %.0f %%", layout->n_edge,
                                  fabs(100 * random.real));
    if (layout->n_edge > layout->n_drawn)
        attn_buffer_append_format(&pen->scratch, "%s%zu thinner edges: at most %.0f %% each",
                                  pen->scratch.size > 0 ? "; " : "",
                                  layout->n_edge - layout->n_drawn,
                                  100 * fabs(layout->edges[layout->n_drawn].rank.number));
    add_line(pen, ATTN_FIGURE_PAD, y += line);
    if (paths.type == ATTN_VALUE_TEXT) { /* the first, which is the strongest */
        const char *end = memchr(paths.text, '\n', paths.size);

        attn_buffer_append_string(&pen->scratch, "strongest path: ");
        attn_buffer_append(&pen->scratch, paths.text,
                           end ? (size_t)(end - paths.text) : paths.size);
    }
    add_line(pen, ATTN_FIGURE_PAD, y + line);
}

static enum attn_status draw_figure(struct attn_figure_pen *pen, struct attn_error *err)
{
    const struct attn_table *table = pen->content->table;
    const struct attn_table_picture *of = pen->content->of;
    struct layout layout = {.table = table,
                            .room = {42, 24, 12, 18, 9},
                            .effects = attn_table_find(table, "own"),
                            .looks = attn_table_find(table, "looks_at"),
                            .weights = attn_table_find(table, "weight"),
                            .types = attn_table_find(table, "type"),
                            .n_sharing = of->n_sharing > 0 ? of->n_sharing : 1};
    double below;

    ATTN_TRY(read_edges(pen, &layout, err));
    ATTN_TRY(find_links(pen, &layout, err));
    ATTN_TRY(plan(pen, &layout, err));
    below = layout.bottom + pen->letters.label + 2 * layout.line;
    pen->shapes->height = ceil(below + ATTN_STREAMS_LEGEND + 4 * layout.line + 2 * ATTN_FIGURE_PAD);
    if (pen->is_measuring)
        return ATTN_OK;
    add_columns(pen, &layout);
    add_layers(pen, &layout);
    for (size_t i = 0; i < layout.n_link; i++)
        add_link(pen, &layout, &layout.links[i]);
    for (size_t i = 0; i < layout.n_plate; i++)
        add_plate(pen, &layout, &layout.plates[i]);
    add_answer(pen, &layout);
    for (size_t i = 0; i < layout.n_link; i++)
        add_number(pen, &layout, &layout.links[i]);
    pen->scratch.size = 0;
    add_legend(pen, &layout, below);
    return ATTN_OK;
}

const attn_figure_fn attn_figure_draw_circuit = draw_figure;
