/* figure_plates.c - see figure_plates.h. A curve passes the plates of rows between its ends at
 * their nearer side. Large curves have their number, where it hides nothing. */
#include "figures/figure_plates.h"

#include "figures/table_axis.h"
#include "measures/head_kind.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_COLUMNS = 5,
    MOST_SLOTS = 4, /* plates side by side in a column */
    BESIDE = 5,     /* between a plate and the curve that passes it */
    BAR = 4,        /* width of the hue of a head */
    SHORT_WORD = 8, /* columns of a word in a plate */
    PAD = ATTN_PLATES_PAD,
};

#define BAND 0.18          /* of the color of rules in a column */
#define LEAST_NUMBER 0.095 /* of a curve that has one */
#define STEEP 0.45         /* part of the way that a curve goes upwards first */

/* --- Columns ---------------------------------------------------------------------------------- */

int64_t attn_plates_position(const struct attn_plates *layout, size_t row)
{
    const struct attn_cell cell = attn_table_role_cell(layout->table, row, ATTN_ROLE_POSITION);

    return cell.type == ATTN_VALUE_INTEGER ? cell.integer : -1;
}

size_t attn_plates_column(const struct attn_plates *layout, int64_t position)
{
    size_t i = 0;

    while (i + 1 < layout->n_column && layout->columns[i].position != position)
        i++;
    return i;
}

void attn_plates_weigh(struct attn_plates *layout, int64_t position, double weight)
{
    struct attn_plate_column *column = layout->columns, *end = column + layout->n_column;

    while (column < end && column->position < position)
        column++;
    if (column == end || column->position != position) {
        memmove(column + 1, column, (size_t)(end - column) * sizeof *column);
        *column = (struct attn_plate_column){.position = position};
        layout->n_column++;
    }
    column->weight += weight;
}

/* Makes the word whose parts carry least one of the other words. */
static void drop_column(struct attn_plates *layout)
{
    struct attn_plate_column *columns = layout->columns, *least = columns, dropped;
    const struct attn_plate_column *end = columns + layout->n_column;

    for (struct attn_plate_column *column = columns; column < end; column++)
        if (column->position < INT64_MAX && column->weight < least->weight)
            least = column;
    dropped = *least;
    memmove(least, least + 1, (size_t)(end - least - 1) * sizeof *least);
    layout->n_column--;
    attn_plates_weigh(layout, INT64_MAX, dropped.weight);
}

/* Returns the order of the row of PLATE from below: heads before the MLP of their layer. */
static int64_t height_of(const struct attn_plate *plate)
{
    return 2 * plate->layer + (plate->head < 0);
}

static int by_height(const void *a, const void *b)
{
    const struct attn_plate *x = a, *y = b;
    const int64_t above = height_of(x) - height_of(y);

    return above != 0 ? (above > 0) - (above < 0) : (x->head > y->head) - (x->head < y->head);
}

void attn_plates_sort(struct attn_plates *layout)
{
    if (layout->n_plate > 0)
        qsort(layout->plates, layout->n_plate, sizeof *layout->plates, by_height);
    while (layout->n_column > MOST_COLUMNS)
        drop_column(layout);
    for (size_t i = 0; i < layout->n_plate; i++)
        layout->plates[i].column =
            attn_plates_column(layout, attn_plates_position(layout, layout->plates[i].row));
}

/* Lays the plates of each row side by side in their columns, at most `most` of these; others go to
 * rows of their own. */
static void find_slots(struct attn_plates *layout)
{
    size_t line = 0;

    layout->n_line = 0;
    for (size_t i = 0; i < layout->n_column; i++)
        layout->columns[i].n_slot = 1;
    for (size_t i = 0; i < layout->n_plate; i++) {
        struct attn_plate *plate = &layout->plates[i];
        struct attn_plate_column *column = &layout->columns[plate->column];
        size_t n = 0;

        if (i > 0 && height_of(plate) != height_of(&plate[-1]))
            line = layout->n_line;
        for (const struct attn_plate *other = layout->plates; other < plate; other++)
            n += height_of(other) == height_of(plate) && other->column == plate->column;
        plate->slot = n % column->most;
        plate->line = line + n / column->most;
        layout->n_line = plate->line + 1 > layout->n_line ? plate->line + 1 : layout->n_line;
        column->n_slot = plate->slot + 1 > column->n_slot ? plate->slot + 1 : column->n_slot;
        for (struct attn_plate *other = layout->plates; other <= plate; other++)
            if (other->line == plate->line && other->column == plate->column)
                other->n_beside = plate->slot + 1;
    }
}

/* --- Places ----------------------------------------------------------------------------------- */

static double width_of_column(const struct attn_plates *layout, size_t column)
{
    return (double)layout->columns[column].n_slot * layout->pitch - layout->room.gap +
           2 * layout->room.lane;
}

static double middle_of(const struct attn_plates *layout, size_t column)
{
    return layout->columns[column].x + width_of_column(layout, column) / 2;
}

/* Places columns and plates. Returns the right end. */
static double place_columns(struct attn_plates *layout)
{
    double x = layout->left + layout->room.gap / 2.0;

    for (size_t i = 0; i < layout->n_column; i++) {
        layout->columns[i].x = x;
        x += width_of_column(layout, i) + layout->room.gap;
    }
    for (struct attn_plate *plate = layout->plates; plate < layout->plates + layout->n_plate;
         plate++)
        plate->x = middle_of(layout, plate->column) - plate->width / 2 +
                   ((double)plate->slot - ((double)plate->n_beside - 1) / 2) * layout->pitch;
    return x - layout->room.gap;
}

/* Places the rows below TOP. */
static void place_rows(struct attn_plates *layout, double top)
{
    double y = top + layout->room.far;
    int64_t layer = INT64_MAX;

    layout->top = top;
    for (size_t line = layout->n_line; line-- > 0;) {
        double height = 0;

        for (struct attn_plate *plate = layout->plates; plate < layout->plates + layout->n_plate;
             plate++) {
            if (plate->line != line)
                continue;
            y -= height == 0 && plate->layer == layer ? layout->room.far - layout->room.near : 0;
            layer = plate->layer;
            plate->y = y;
            height = fmax(height, plate->height);
        }
        y += height + layout->room.far;
    }
    layout->bottom = ceil(y);
}

/* Takes a place from the widest column. Returns false if all have one. */
static bool narrow(struct attn_plates *layout)
{
    struct attn_plate_column *widest = layout->columns;

    for (size_t i = 0; i < layout->n_column; i++)
        if (layout->columns[i].n_slot >= widest->n_slot)
            widest = &layout->columns[i];
    widest->most = widest->n_slot - 1;
    return widest->most > 0;
}

/* Sets the ends of LINK: x, y of the writer, x, y of the reader. */
static void find_ends(const struct attn_plates *layout, const struct attn_plate_link *link,
                      double ends[4])
{
    const double port = link->letter == 'q' ? 0.2 : link->letter == 'v' ? 0.8 : 0.5;

    ends[0] =
        link->from ? link->from->x + link->from->width / 2 : middle_of(layout, layout->of_input);
    ends[1] = link->from ? link->from->y : layout->bottom;
    ends[2] = link->to ? link->to->x + port * link->to->width : link->end;
    ends[3] = link->to ? link->to->y + link->to->height : layout->top;
}

static double width_of(const struct attn_plates *layout, const struct attn_plate_link *link)
{
    return fmax(0.7, layout->room.widest * fmin(1, fabs(link->score)));
}

/* Lays the ends of curves at the answer side by side, in the order of their writers. */
static void spread_ends(struct attn_plates *layout)
{
    const struct attn_plate_link *last = layout->links + layout->n_link;

    for (struct attn_plate_link *link = layout->links; link < last; link++) {
        link->end = middle_of(layout, layout->n_column - 1);
        for (const struct attn_plate_link *other = layout->links; other < last; other++) {
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
static void write_text(struct attn_figure_pen *pen, const struct attn_plates *layout,
                       const struct attn_plate *plate, int i)
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
static void size_plates(struct attn_figure_pen *pen, struct attn_plates *layout)
{
    const double small = pen->letters.tick, name = pen->letters.label * 0.9;
    double heads = 0, mlps = 0, widths[N_TEXT];

    layout->line = small + 4;
    for (size_t i = 0; i < layout->n_plate; i++) {
        const struct attn_plate *plate = &layout->plates[i];

        for (int k = 0; k < N_TEXT; k++) {
            write_text(pen, layout, plate, k);
            widths[k] = scratch_width(pen, k == NAME && plate->head >= 0 ? name : small);
        }
        if (plate->head < 0)
            mlps = fmax(mlps, widths[NAME] + 4 * PAD);
        else
            heads = fmax(heads, BAR + 2 * PAD +
                                    fmax(bold * widths[NAME] + PAD + widths[EFFECT], widths[LOOK]));
    }
    heads = ceil(fmax(heads, mlps));
    layout->pitch = heads + layout->room.gap;
    for (size_t i = 0; i < layout->n_plate; i++) {
        struct attn_plate *plate = &layout->plates[i];

        plate->width = plate->head < 0 ? ceil(mlps) : heads;
        plate->height =
            ceil(plate->head >= 0 && layout->weights < SIZE_MAX ? name + layout->line + 2 * PAD
                                                                : small + 2 * PAD);
    }
}

enum attn_status attn_plates_plan(struct attn_figure_pen *pen, struct attn_plates *layout,
                                  double width, struct attn_error *err)
{
    ATTN_TRY(
        ATTN_FIGURE_ALLOC(pen, layout->text.taken, layout->n_plate + 2 * layout->n_link + 1, err));
    layout->left = ATTN_FIGURE_PAD + ATTN_STREAMS_LEFT;
    size_plates(pen, layout);
    for (size_t i = 0; i < layout->n_column; i++)
        layout->columns[i].most = MOST_SLOTS;
    do {
        find_slots(layout);
        layout->right = place_columns(layout);
    } while (pen->room > 0 && layout->right > pen->room && narrow(layout));
    place_rows(layout, ceil(attn_figure_add_heading(pen, fmax(layout->right, width))) +
                           layout->line + 2 * PAD + 2);
    spread_ends(layout);
    return ATTN_OK;
}

/* --- Drawing ---------------------------------------------------------------------------------- */

void attn_plates_add_scratch(struct attn_figure_pen *pen, struct attn_shape_text at)
{
    attn_shapes_add_text(pen->shapes, &at, pen->scratch.data, pen->scratch.size);
    pen->scratch.size = 0;
}

void attn_plates_add_line(struct attn_figure_pen *pen, double y)
{
    const double size = pen->letters.tick, room = pen->shapes->width - 2 * ATTN_FIGURE_PAD;
    struct attn_buffer *line = &pen->scratch;

    while (line->size > 0 && scratch_width(pen, size) > room)
        for (line->size--; line->size > 0 && (line->data[line->size] & 0xc0) == 0x80;)
            line->size--;
    attn_plates_add_scratch(pen, attn_figure_text(ATTN_FIGURE_PAD, y + 0.35 * size, size,
                                                  pen->faint, ATTN_ANCHOR_START));
}

double attn_plates_add_signs(struct attn_figure_pen *pen, double y)
{
    const double x = attn_streams_add_sample(pen, ATTN_FIGURE_PAD, y, "for",
                                             attn_streams_color(pen, 1), ATTN_PLATES_OPACITY);

    return attn_streams_add_sample(pen, x, y, "against", attn_streams_color(pen, -1),
                                   ATTN_PLATES_OPACITY);
}

/* Adds the columns: a pale ground, and the word below; below the changed word OTHER. */
static void add_columns(struct attn_figure_pen *pen, const struct attn_plates *layout,
                        struct attn_cell other)
{
    const double top = layout->top + layout->room.far / 2.0,
                 y = layout->bottom + pen->letters.label + 3;
    const uint32_t ground = attn_rgb_number(attn_rgb_mix(pen->rule, BAND, pen->options->theme));

    for (size_t i = 0; i < layout->n_column; i++) {
        const struct attn_plate_column *column = &layout->columns[i];
        const bool is_changed = other.type == ATTN_VALUE_TEXT && i == layout->of_input;
        struct attn_shape_text text = {
            middle_of(layout, i), y,
            pen->letters.label,   is_changed ? attn_streams_color(pen, 1) : pen->ink,
            ATTN_ANCHOR_MIDDLE,   .is_bold = true};
        size_t row = 0;

        attn_figure_add_box(pen, column->x, top, width_of_column(layout, i), layout->bottom - top,
                            ground);
        while (row < attn_table_n_row(layout->table) &&
               attn_plates_position(layout, row) != column->position)
            row++;
        const struct attn_cell word = attn_table_role_cell(layout->table, row, ATTN_ROLE_TOKEN);

        pen->scratch.size = 0;
        if (column->position == INT64_MAX)
            attn_buffer_append_string(&pen->scratch, "other words");
        else if (word.type == ATTN_VALUE_TEXT)
            attn_table_append_label(&pen->scratch, word.text, word.size, ATTN_PLATES_WORD);
        attn_plates_add_scratch(pen, text);
        if (!is_changed)
            continue;
        attn_buffer_append_string(&pen->scratch, "instead of ");
        attn_table_append_label(&pen->scratch, other.text, other.size, ATTN_PLATES_WORD);
        text.y += layout->line;
        text.size = pen->letters.tick;
        text.color = attn_streams_color(pen, -1);
        text.is_bold = false;
        attn_plates_add_scratch(pen, text);
    }
}

/* Adds the numbers of layers. */
static void add_layers(struct attn_figure_pen *pen, const struct attn_plates *layout)
{
    struct attn_shape_text text =
        attn_figure_text(layout->left - 4, 0, pen->letters.tick, pen->faint, ATTN_ANCHOR_END);

    for (size_t i = 0; i < layout->n_plate; i++) {
        const struct attn_plate *plate = &layout->plates[i];

        text.y = plate->y + plate->height / 2 + 0.35 * text.size;
        if (i == 0 || plate[-1].layer != plate->layer)
            attn_shapes_add_number(pen->shapes, &text, (size_t)plate->layer);
    }
    attn_figure_add_axis_name(pen, 0, (layout->bottom + layout->top) / 2, "layer");
}

/* Keeps numbers out of a box. */
static void take(struct attn_plates *layout, double x, double y, double width, double height)
{
    layout->text.taken[layout->text.n_taken++] = (struct attn_shape_box){x, y, width, height, 0};
}

/* Adds PLATE. The mark of a head is its layer, head, position and key head, "h17.4.9.1". */
static void add_plate(struct attn_figure_pen *pen, struct attn_plates *layout,
                      const struct attn_plate *plate)
{
    const bool is_head = plate->head >= 0;
    const struct attn_cell type = attn_table_cell(layout->table, plate->row, layout->types);
    const struct attn_head_kind *kind =
        type.type == ATTN_VALUE_TEXT ? attn_head_kind_find(type.text, type.size) : NULL;
    const double x = plate->x, y = plate->y, right = x + plate->width, small = pen->letters.tick;
    const double name = is_head ? 0.9 * pen->letters.label : small, left = x + BAR + PAD;
    struct attn_shape_text text =
        attn_figure_text(is_head ? left : (x + right) / 2, y + PAD + 0.82 * name, name, pen->ink,
                         is_head ? ATTN_ANCHOR_START : ATTN_ANCHOR_MIDDLE);

    text.is_bold = is_head;
    attn_figure_add_box(pen, x, y, plate->width, plate->height, pen->shapes->paper);
    if (kind)
        attn_figure_add_box(pen, x, y, BAR, plate->height,
                            attn_rgb_number(attn_hue_color(kind->hue, 1, pen->options->theme)));
    attn_figure_add_outline(pen, (double[]){x, y, right, y + plate->height}, 1, pen->frame);
    take(layout, x, y, plate->width, plate->height);
    if (is_head)
        attn_shapes_set_mark(pen->shapes, "h%lld.%lld.%lld.%lld", (long long)plate->layer,
                             (long long)plate->head,
                             (long long)attn_plates_position(layout, plate->row),
                             (long long)(plate->head / (int64_t)layout->n_sharing));
    write_text(pen, layout, plate, NAME);
    attn_plates_add_scratch(pen, text);
    text.size = small;
    text.is_bold = false;
    text.anchor = ATTN_ANCHOR_END;
    text.x = right - PAD;
    text.color = pen->faint;
    write_text(pen, layout, plate, EFFECT);
    attn_plates_add_scratch(pen, text);
    text.anchor = ATTN_ANCHOR_START;
    text.x = left;
    text.y += layout->line + 1;
    text.color = pen->ink;
    write_text(pen, layout, plate, LOOK);
    attn_plates_add_scratch(pen, text);
    attn_shapes_end_mark(pen->shapes);
}

/* Whether no larger curve enters where LINK ends: the letter is drawn once. */
static bool is_first(const struct attn_plates *layout, const struct attn_plate_link *link)
{
    for (const struct attn_plate_link *other = layout->links; other < link; other++)
        if (other->to == link->to && other->letter == link->letter)
            return false;
    return true;
}

/* Adds a piece of LINK from x, y to x, y. */
static void add_piece(struct attn_figure_pen *pen, const struct attn_plates *layout,
                      struct attn_plate_link *link, const double piece[4])
{
    const double rise = STEEP * (piece[1] - piece[3]), *longest = link->piece;
    const uint32_t color = attn_rgb_number(attn_rgb_mix(attn_streams_color(pen, link->score),
                                                        ATTN_PLATES_OPACITY, pen->options->theme));

    attn_shapes_add_curve(pen->shapes,
                          (struct attn_shape_curve){piece[0], piece[1], piece[0], piece[1] - rise,
                                                    piece[2], piece[3] + rise, piece[2], piece[3],
                                                    width_of(layout, link), color});
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

/* Adds LINK from x, y to x, y: it passes the plates before which it would run at their nearer side.
 */
static void add_route(struct attn_figure_pen *pen, struct attn_plates *layout,
                      struct attn_plate_link *link, const double ends[4])
{
    double at[2] = {ends[0], ends[1]};

    for (struct attn_plate *plate = layout->plates; plate < layout->plates + layout->n_plate;
         plate++) {
        const double low = plate->y + plate->height, middle = plate->x + plate->width / 2;
        const double foot = x_at(at, ends, low), top = x_at(at, ends, plate->y);
        const double room = plate->width / 2 + BESIDE, width = width_of(layout, link);
        const bool is_right = foot + top > 2 * middle;
        const double away = room + plate->beside[is_right] + width / 2;
        const double beside = middle + (is_right ? away : -away);

        if (plate->y >= at[1] || plate->y <= ends[3] || fmax(foot, top) < middle - room ||
            fmin(foot, top) > middle + room)
            continue;
        plate->beside[is_right] += width + 2;
        add_route(pen, layout, link, (double[]){at[0], at[1], beside, low});
        add_piece(pen, layout, link, (double[]){beside, low + 1, beside, plate->y - 1});
        at[0] = beside;
        at[1] = plate->y;
    }
    add_piece(pen, layout, link, (double[]){at[0], at[1], ends[2], ends[3]});
}

/* Adds the curve of LINK, and the letter of what reads. */
static void add_link(struct attn_figure_pen *pen, struct attn_plates *layout,
                     struct attn_plate_link *link)
{
    struct attn_shape_text letter = {.size = pen->letters.tick, .color = pen->faint};
    double ends[4];

    find_ends(layout, link, ends);
    attn_shapes_set_mark(pen->shapes, "%zu", link->row);
    add_route(pen, layout, link, ends);
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
static void add_number(struct attn_figure_pen *pen, struct attn_plates *layout,
                       const struct attn_plate_link *link)
{
    static const double spots[] = {0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8};
    const double *ends = link->piece, rise = STEEP * (ends[1] - ends[3]);
    struct attn_shape_text at = {.color = pen->ink, .anchor = ATTN_ANCHOR_MIDDLE};
    bool is_done = fabs(link->score) < LEAST_NUMBER || pen->content->kind == ATTN_FIGURE_ANSWER;

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

/* Adds the box of the ANSWER. */
static void add_answer(struct attn_figure_pen *pen, struct attn_plates *layout,
                       const struct attn_buffer *answer)
{
    const double size = 0.9 * pen->letters.label, height = layout->line + 2 * PAD;
    const double half =
        size * attn_figure_string_width(pen, answer->data, answer->size) / 2 * 1.05 + 2 * PAD;
    const double x =
        fmin(middle_of(layout, layout->n_column - 1), pen->shapes->width - half - ATTN_FIGURE_PAD);
    struct attn_shape_text text = attn_figure_text(x, layout->top - height / 2 + 0.35 * size, size,
                                                   pen->ink, ATTN_ANCHOR_MIDDLE);

    text.is_bold = true;
    take(layout, x - half, layout->top - height, 2 * half, height);
    attn_figure_add_outline(pen, (double[]){x - half, layout->top - height, x + half, layout->top},
                            1.4, pen->ink);
    attn_shapes_add_text(pen->shapes, &text, answer->data, answer->size);
}

void attn_plates_add(struct attn_figure_pen *pen, struct attn_plates *layout,
                     const struct attn_buffer *answer, struct attn_cell other)
{
    add_columns(pen, layout, other);
    add_layers(pen, layout);
    for (size_t i = 0; i < layout->n_link; i++)
        add_link(pen, layout, &layout->links[i]);
    for (size_t i = 0; i < layout->n_plate; i++)
        add_plate(pen, layout, &layout->plates[i]);
    add_answer(pen, layout, answer);
    for (size_t i = 0; i < layout->n_link; i++)
        add_number(pen, layout, &layout->links[i]);
    pen->scratch.size = 0;
}
