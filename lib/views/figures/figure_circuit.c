/* figure_circuit.c - the edges of a circuit, to be read aloud (figure_plates.h): a part stands
 * above the word at which it works, with its own effect; a head says where it looks, in the hue of
 * its kind. An edge leaves the top of the part that writes and enters the foot of the part that
 * reads: at the left of a head if its query reads, in the middle its key, at the right its value,
 * with that letter. Its width is the share of the answer, the same in all figures, its color the
 * sign. An edge into a key head ends in all heads of the picture that share it. The title is the
 * share of the answer that the circuit keeps, if it was run. Tables without places, those of items,
 * have one column. */
#include "figures/figure_plates.h"

#include "base/text/escape.h"
#include "figures/table_axis.h"
#include "tables/table_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the legend; of an answer whose sum has two lines. */
enum { LEAST_WIDTH = 420, LEAST_OF_ANSWER = 330 };

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

struct circuit {
    const struct attn_figure_content *given;
    struct edge *edges; /* [n] the largest |score| first */
    size_t n, n_drawn;
    struct attn_plates layout;
};

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
static bool is_plate(const struct circuit *circuit, const struct part *part)
{
    return part->layer >= 0 && part->layer < INT64_MAX &&
           (circuit->layout.n_sharing == 1 || (part->letter != 'k' && part->letter != 'v'));
}

/* Adds the plate of PART, which writes the edge of ROW unless that is SIZE_MAX. */
static void add_plate(struct circuit *circuit, const struct part *part, size_t row)
{
    struct attn_plates *layout = &circuit->layout;
    struct attn_plate *plate = layout->plates;

    if (!is_plate(circuit, part))
        return;
    while (plate < layout->plates + layout->n_plate &&
           (plate->layer != part->layer || plate->head != part->head))
        plate++;
    if (plate == layout->plates + layout->n_plate) {
        *plate = (struct attn_plate){.layer = part->layer, .head = part->head, .row = SIZE_MAX};
        layout->n_plate++;
    }
    if (row < SIZE_MAX && plate->row == SIZE_MAX)
        plate->row = row;
}

static enum attn_status read_edges(struct attn_figure_pen *pen, struct circuit *circuit,
                                   struct attn_error *err)
{
    struct attn_plates *layout = &circuit->layout;
    const struct attn_table *table = layout->table;
    const size_t n_row = attn_table_n_row(table);
    const size_t values = attn_table_view_find(table, circuit->given->of->view.values);

    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, circuit->edges, n_row, err));
    for (size_t row = 0; row < n_row; row++) {
        const struct attn_cell from = attn_table_role_cell(table, row, ATTN_ROLE_WRITER);
        const struct attn_cell to = attn_table_role_cell(table, row, ATTN_ROLE_READER);
        struct edge *edge = &circuit->edges[circuit->n];

        edge->rank.index = row;
        edge->rank.number = (double)attn_table_number(table, row, values);
        circuit->n += isfinite(edge->rank.number) && read_part(&from, &edge->from) &&
                      read_part(&to, &edge->to);
    }
    if (circuit->n > 0)
        qsort(circuit->edges, circuit->n, sizeof *circuit->edges, attn_figure_by_rank);
    circuit->n_drawn = circuit->n < ATTN_PLATES_LINKS ? circuit->n : ATTN_PLATES_LINKS;
    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, layout->plates, 2 * circuit->n_drawn, err));
    for (size_t i = 0; i < circuit->n_drawn; i++) {
        const struct edge *edge = &circuit->edges[i];

        add_plate(circuit, &edge->from, edge->rank.index);
        add_plate(circuit, &edge->to, SIZE_MAX);
        if (attn_plates_position(layout, edge->rank.index) >= 0)
            attn_plates_weigh(layout, attn_plates_position(layout, edge->rank.index),
                              fabs(edge->rank.number));
    }
    if (layout->n_column == 0)
        attn_plates_weigh(layout, -1, 0);
    attn_plates_sort(layout);
    return ATTN_OK;
}

/* Finds the curves. An edge into a key head ends in all its heads that are drawn. */
static enum attn_status find_links(struct attn_figure_pen *pen, struct circuit *circuit,
                                   struct attn_error *err)
{
    struct attn_plates *layout = &circuit->layout;
    const struct attn_plate *end = layout->plates + layout->n_plate;

    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, layout->links, circuit->n_drawn * layout->n_sharing, err));
    for (size_t i = 0; i < circuit->n_drawn; i++) {
        const struct edge *edge = &circuit->edges[i];
        const struct part *to = &edge->to;
        const int64_t share = is_plate(circuit, to) ? 1 : (int64_t)layout->n_sharing;
        struct attn_plate_link link = {
            .row = edge->rank.index, .score = edge->rank.number, .letter = to->letter};

        for (const struct attn_plate *plate = layout->plates; plate < end; plate++)
            if (plate->layer == edge->from.layer && plate->head == edge->from.head)
                link.from = plate;
        if (edge->from.layer < 0)
            layout->of_input =
                attn_plates_column(layout, attn_plates_position(layout, edge->rank.index));
        if (to->layer == INT64_MAX)
            layout->links[layout->n_link++] = link;
        for (const struct attn_plate *plate = layout->plates; plate < end; plate++)
            if (plate->layer == to->layer && (plate->head < 0) == (to->head < 0) &&
                (to->head < 0 || plate->head / share == to->head)) {
                link.to = plate;
                layout->links[layout->n_link++] = link;
            }
    }
    return ATTN_OK;
}

/* --- Texts ------------------------------------------------------------------------------------ */

/* Writes the answer, with the metric of both texts: "are - is  -0.8 -> 2.5"; of its heads "are over
 * is  2.5". */
static void write_answer(const struct circuit *circuit, struct attn_buffer *out)
{
    const struct attn_table_picture *of = circuit->given->of;
    const struct attn_cell clean = attn_table_fact(circuit->layout.table, "clean");
    const struct attn_cell other = attn_table_fact(circuit->layout.table, "corrupted");
    const struct attn_cell target = attn_table_fact(circuit->layout.table, "target");
    const struct attn_cell foil = attn_table_fact(circuit->layout.table, "foil");

    if (target.type == ATTN_VALUE_TEXT && foil.type == ATTN_VALUE_TEXT) {
        attn_table_append_label(out, target.text, target.size, ATTN_PLATES_WORD);
        attn_buffer_append_string(out, " over ");
        attn_table_append_label(out, foil.text, foil.size, ATTN_PLATES_WORD);
        attn_buffer_append_string(out, "  ");
        attn_figure_append_signed(out, attn_table_fact(circuit->layout.table, "sum").real, 1);
    } else if (of->target && of->foil) {
        attn_table_append_label(out, of->target, strlen(of->target), ATTN_PLATES_WORD);
        attn_buffer_append_string(out, " \xe2\x88\x92 ");
        attn_table_append_label(out, of->foil, strlen(of->foil), ATTN_PLATES_WORD);
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

/* Whether the sum of an answer has two lines. */
static bool is_narrow(const struct attn_figure_pen *pen)
{
    return pen->content->kind == ATTN_FIGURE_ANSWER && pen->shapes->width < LEAST_WIDTH;
}

/* Writes the other parts, a narrow figure's first two above *Y. */
static void write_rest(struct attn_figure_pen *pen, const struct circuit *circuit, double *y)
{
    const struct attn_table *table = circuit->layout.table;
    struct attn_buffer *out = &pen->scratch;

    for (size_t row = circuit->n; row < attn_table_n_row(table); row++) {
        const struct attn_cell part = attn_table_role_cell(table, row, ATTN_ROLE_WRITER);

        attn_buffer_append_format(out, "+ %.*s ", (int)part.size, part.text);
        attn_figure_append_signed(
            out, 100 * (double)attn_table_number(table, row, circuit->layout.effects), 0);
        attn_buffer_append_string(out, " %  ");
        if (is_narrow(pen) && row == circuit->n + 1) {
            attn_plates_add_line(pen, *y);
            *y += circuit->layout.line;
        }
    }
    attn_buffer_append_string(out, "= 100 %");
}

/* Adds the text, and the legend, from Y on. */
static void add_legend(struct attn_figure_pen *pen, const struct circuit *circuit, double y)
{
    const struct attn_cell random = attn_table_fact(circuit->layout.table, "control");
    const struct attn_cell paths = attn_table_fact(circuit->layout.table, "paths");
    const struct attn_figure_text *text = &circuit->given->of->texts[0];
    const double line = circuit->layout.line;
    double x;

    if (pen->content->kind == ATTN_FIGURE_ANSWER)
        write_rest(pen, circuit, &y);
    else if (pen->is_printed && text->text)
        attn_escape_append(&pen->scratch, text->text, text->n);
    attn_plates_add_line(pen, y);
    y += ATTN_STREAMS_LEGEND;
    x = attn_plates_add_signs(pen, y);
    attn_buffer_append_string(&pen->scratch, "full width: the whole answer");
    attn_plates_add_scratch(pen,
                            attn_figure_text(x, y + 0.35 * pen->letters.tick, pen->letters.tick,
                                             pen->faint, ATTN_ANCHOR_START));
    if (pen->content->kind == ATTN_FIGURE_ANSWER)
        return;
    attn_buffer_append_string(
        &pen->scratch, circuit->layout.effects < SIZE_MAX
                           ? "%: own effect; \xe2\x86\x92: where it looks; q k v: what an edge "
                             "changes"
                           : "q k v: what an edge changes");
    attn_plates_add_line(pen, y += line + 1);
    if (random.type == ATTN_VALUE_REAL)
        attn_buffer_append_format(&pen->scratch, "%zu random edges: %.0f %%", circuit->n,
                                  fabs(100 * random.real));
    if (circuit->n > circuit->n_drawn)
        attn_buffer_append_format(&pen->scratch, "%s%zu thinner edges: at most %.0f %% each",
                                  pen->scratch.size > 0 ? "; " : "", circuit->n - circuit->n_drawn,
                                  100 * fabs(circuit->edges[circuit->n_drawn].rank.number));
    attn_plates_add_line(pen, y += line);
    if (paths.type == ATTN_VALUE_TEXT) { /* the first, which is the strongest */
        const char *end = memchr(paths.text, '\n', paths.size);

        attn_buffer_append_string(&pen->scratch, "strongest path: ");
        attn_buffer_append(&pen->scratch, paths.text,
                           end ? (size_t)(end - paths.text) : paths.size);
    }
    attn_plates_add_line(pen, y + line);
}

enum attn_status attn_figure_draw_circuit(struct attn_figure_pen *pen, struct attn_error *err)
{
    const struct attn_table *table = pen->content->table;
    const struct attn_table_picture *of = pen->content->of;
    struct circuit circuit = {.given = pen->content,
                              .layout = {.table = table,
                                         .room = {42, 24, 12, 18, 9},
                                         .effects = attn_table_find(table, "own"),
                                         .looks = attn_table_find(table, "looks_at"),
                                         .weights = attn_table_find(table, "weight"),
                                         .types = attn_table_find(table, "type"),
                                         .n_sharing = of->n_sharing > 0 ? of->n_sharing : 1}};
    struct attn_buffer answer = {0};
    const bool is_answer = pen->content->kind == ATTN_FIGURE_ANSWER;
    double below;

    if (is_answer) {
        circuit.layout.effects = attn_table_view_find(table, of->view.values);
        circuit.layout.room = (struct attn_plate_room){36, 8, 5, 8, 14};
    }
    ATTN_TRY(read_edges(pen, &circuit, err));
    ATTN_TRY(find_links(pen, &circuit, err));
    ATTN_TRY(
        attn_plates_plan(pen, &circuit.layout, is_answer ? LEAST_OF_ANSWER : LEAST_WIDTH, err));
    below = circuit.layout.bottom + pen->letters.label + 2 * circuit.layout.line;
    pen->shapes->height =
        ceil(below + ATTN_STREAMS_LEGEND +
             (is_answer ? 1 + is_narrow(pen) : 4) * circuit.layout.line + 2 * ATTN_FIGURE_PAD);
    if (pen->is_measuring)
        return ATTN_OK;
    write_answer(&circuit, &answer);
    attn_plates_add(pen, &circuit.layout, &answer, attn_table_fact(table, "instead"));
    add_legend(pen, &circuit, below);
    pen->scratch.has_failed |= answer.has_failed;
    attn_buffer_release(&answer);
    return ATTN_OK;
}
