#include "figures/figure_streams.h"

#include "figures/table_axis.h"
#include "tables/table_internal.h"
#include "tables/text_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    LEAST_PITCH = 40, /* minimum units from one position to the next */
    MOST_PITCH = 84,
    GAP_SIZE = 32,     /* bytes of the number of positions that a gap stands for */
    LENS_COLUMNS = 14, /* maximum columns of a token of a lens */
};

/* Writes what stands in the gap before PLACE: the number of positions that are left out there.
 * Returns its width; 0 if there is no gap. */
static double gap_before(const struct attn_figure_pen *pen,
                         const struct attn_figure_streams *streams, size_t place,
                         char text[GAP_SIZE])
{
    const size_t next = place > 0 ? attn_grid_position(&streams->places, place - 1) + 1 : 0;
    const size_t n_left_out = attn_grid_position(&streams->places, place) - next;

    if (n_left_out == 0)
        return 0;
    snprintf(text, GAP_SIZE, "%s%zu", ATTN_ELLIPSIS, n_left_out);
    return attn_figure_text_width(attn_text_width(text, strlen(text)), pen->letters.tick) + 8;
}

/* Places the positions from left to right. Returns the x behind the last one. */
static double place_positions(const struct attn_figure_pen *pen,
                              struct attn_figure_streams *streams)
{
    double x = streams->left;
    char text[GAP_SIZE];

    for (size_t i = 0; i < streams->places.n; i++) {
        x += gap_before(pen, streams, i, text);
        streams->xs[i] = x + streams->pitch / 2;
        x += streams->pitch;
    }
    return x;
}

enum attn_status attn_streams_plan(struct attn_figure_pen *pen, struct attn_figure_streams *streams,
                                   double aside, struct attn_error *err)
{
    const size_t n_layer = streams->n_layer;
    const double *bands = streams->bands;
    const double word = attn_figure_label_width(pen, &streams->places, pen->letters.label);
    double height = bands[0];

    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, streams->xs, streams->places.n, err));
    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, streams->ys, n_layer + 1, err));
    streams->pitch = floor(fmin(MOST_PITCH, fmax(LEAST_PITCH, word + 8)) * pen->growth);
    streams->is_turned = word > streams->pitch;
    streams->left = ATTN_FIGURE_PAD + ATTN_STREAMS_LEFT;
    streams->right = place_positions(pen, streams);
    for (size_t i = 0; i < n_layer; i++)
        height += bands[i + 1];
    streams->ys[n_layer] =
        ceil(attn_figure_add_heading(pen, streams->right + aside) + 10 + pen->letters.tick);
    streams->bottom = streams->ys[n_layer] + height;
    for (size_t i = n_layer; i-- > 0;)
        streams->ys[i] = streams->ys[i + 1] + bands[i + 1];
    pen->shapes->height =
        ceil(streams->bottom + (streams->is_turned ? word + 8 : pen->letters.label + 12) + 10 +
             ATTN_FIGURE_PAD / 2.0);
    return ATTN_OK;
}

int attn_streams_place(const struct attn_figure_streams *streams, struct attn_cell cell)
{
    for (size_t i = 0; i < streams->places.n; i++)
        if (cell.type == ATTN_VALUE_INTEGER &&
            (int64_t)attn_grid_position(&streams->places, i) == cell.integer)
            return (int)i;
    return -1;
}

static bool is_free(const struct attn_figure_streams *streams, const struct attn_shape_box *box)
{
    for (size_t i = 0; i < streams->n_taken; i++) {
        const struct attn_shape_box *other = &streams->taken[i];

        if (box->x < other->x + other->width && other->x < box->x + box->width &&
            box->y < other->y + other->height && other->y < box->y + box->height)
            return false;
    }
    return true;
}

bool attn_streams_add_text(struct attn_figure_pen *pen, struct attn_figure_streams *streams,
                           struct attn_shape_text at, const char *text, size_t n, bool needs_room)
{
    const double size = pen->letters.tick;
    const double width = attn_figure_string_width(pen, text, n) * size + 2;
    const double half = at.anchor == ATTN_ANCHOR_MIDDLE ? width / 2 : 0;
    const double left = fmin(at.x - half, pen->shapes->width - width); /* not cut at the edge */
    const struct attn_shape_box box = {left, at.y - size / 2, width, size, pen->shapes->paper};

    if (needs_room && !is_free(streams, &box))
        return false;
    streams->taken[streams->n_taken++] = box;
    attn_shapes_add_box(pen->shapes, box);
    at.x = left + half + (half > 0 ? 0 : 1);
    at.y += 0.35 * size;
    at.size = size;
    attn_shapes_add_text(pen->shapes, &at, text, n);
    return true;
}

/* Writes how many positions each gap stands for, on the line of the words. */
static void add_gaps(struct attn_figure_pen *pen, const struct attn_figure_streams *streams)
{
    struct attn_shape_text text =
        attn_figure_text(0, streams->bottom + 8 + pen->letters.label, pen->letters.tick, pen->faint,
                         ATTN_ANCHOR_MIDDLE);
    char number[GAP_SIZE];

    for (size_t i = 0; i < streams->places.n; i++) {
        const double width = gap_before(pen, streams, i, number);

        text.x = streams->xs[i] - (streams->pitch + width) / 2;
        if (width > 0)
            attn_shapes_add_string(pen->shapes, &text, number);
    }
}

void attn_streams_add(struct attn_figure_pen *pen, const struct attn_figure_streams *streams)
{
    const double top = attn_streams_y(streams, (double)streams->n_layer);
    char folded[48];
    struct attn_shape_text text =
        attn_figure_text(0, streams->bottom + 8 + pen->letters.label, pen->letters.label, pen->ink,
                         ATTN_ANCHOR_MIDDLE);

    if (streams->is_turned) {
        text.is_turned = true;
        text.anchor = ATTN_ANCHOR_END;
        text.y = streams->bottom + 8;
    }
    for (size_t i = 0; i < streams->places.n; i++)
        attn_figure_add_line(pen, (double[]){streams->xs[i], streams->bottom},
                             (double[]){streams->xs[i], top}, 1, pen->rule);
    for (size_t i = 0; i < streams->places.n; i++) {
        text.x = streams->xs[i] + (text.is_turned ? 0.35 * pen->letters.label : 0);
        attn_shapes_set_mark(pen->shapes, ",,%zu", attn_grid_position(&streams->places, i));
        attn_figure_add_label(pen, &text, &streams->places, i);
    }
    attn_shapes_end_mark(pen->shapes);
    add_gaps(pen, streams);
    text = attn_figure_text(streams->left - 6, 0, pen->letters.tick, pen->faint, ATTN_ANCHOR_END);
    for (size_t i = 0, end; i < streams->n_layer; i = end) {
        for (end = i + 1;
             attn_streams_is_folded(streams, i) && attn_streams_is_folded(streams, end); end++)
            ;
        text.y = (attn_streams_y(streams, (double)i) + attn_streams_y(streams, (double)end)) / 2 +
                 0.35 * text.size;
        snprintf(folded, sizeof folded, "%zu-%zu", i, end - 1);
        if (end > i + 1)
            attn_shapes_add_string(pen->shapes, &text, folded);
        else
            attn_shapes_add_number(pen->shapes, &text, i);
    }
    attn_figure_add_axis_name(pen, 0, (streams->bottom + top) / 2, "layer");
}

void attn_streams_add_line(struct attn_figure_pen *pen, double x, double y, const char *mark,
                           const char *line)
{
    const struct attn_shape_text at = {
        .x = x, .y = y + 0.35 * pen->letters.tick, .size = pen->letters.tick, .color = pen->ink};

    attn_shapes_set_mark(pen->shapes, "%s", mark);
    attn_shapes_add_string(pen->shapes, &at, line);
    attn_shapes_end_mark(pen->shapes);
}

double attn_streams_add_sample(struct attn_figure_pen *pen, double x, double y, const char *name,
                               uint32_t color, double opacity)
{
    enum { LENGTH = 22, WIDTH = 7, GAP = 6 };

    attn_shapes_add_line(pen->shapes,
                         (struct attn_shape_line){x, y, x + LENGTH, y, WIDTH, opacity, color});
    attn_streams_add_line(pen, x + LENGTH + GAP, y, name, name);
    return x + LENGTH + 3 * GAP + attn_figure_text_width(strlen(name), pen->letters.tick);
}

/* Returns the height of the stream that row I of LENS reads; 0 if it is the embedding, or no best
 * token. */
static size_t lens_height(const struct attn_table *lens, size_t i)
{
    const struct attn_cell site = attn_table_role_cell(lens, i, ATTN_ROLE_SITE);
    const size_t layer = (size_t)attn_table_role_cell(lens, i, ATTN_ROLE_LAYER).integer;

    if (attn_table_role_cell(lens, i, ATTN_ROLE_PLACE).integer != 1)
        return 0;
    return attn_cell_word(&site, "resid_pre") == 0    ? layer
           : attn_cell_word(&site, "resid_post") == 0 ? layer + 1
                                                      : 0;
}

/* Writes TOKEN with its probability P to the scratch buffer. */
static void write_token(struct attn_figure_pen *pen, const struct attn_cell *token, double p)
{
    pen->scratch.size = 0;
    attn_table_append_label(&pen->scratch, token->text, token->size, LENS_COLUMNS);
    attn_figure_name_blanks(&pen->scratch);
    attn_buffer_append_format(&pen->scratch, p < 0.01 ? " %.1f %%" : " %.0f %%", 100 * p);
}

void attn_streams_add_lens(struct attn_figure_pen *pen, struct attn_figure_streams *streams,
                           const struct attn_table *lens, size_t place)
{
    size_t share = 0;

    while (share < attn_table_n_column(lens) &&
           attn_table_column(lens, share)->range != ATTN_RANGE_SHARE)
        share++;
    for (size_t i = 0; i < attn_table_n_row(lens); i++) {
        const size_t height = lens_height(lens, i);
        const struct attn_cell token = attn_table_role_cell(lens, i, ATTN_ROLE_TOKEN);
        const double p = attn_table_cell(lens, i, share).real;
        const struct attn_shape_text at = {.x = streams->xs[place],
                                           .y = attn_streams_y(streams, (double)height),
                                           .color = p < 0.5 ? pen->faint : pen->ink,
                                           .anchor = ATTN_ANCHOR_MIDDLE,
                                           .is_bold = height == streams->n_layer};

        if (height == 0 ||
            (attn_streams_is_folded(streams, height - 1) &&
             attn_streams_is_folded(streams, height)) ||
            token.type != ATTN_VALUE_TEXT ||
            attn_streams_place(streams, attn_table_role_cell(lens, i, ATTN_ROLE_POSITION)) !=
                (int)place)
            continue;
        write_token(pen, &token, p);
        attn_streams_add_text(pen, streams, at, pen->scratch.data, pen->scratch.size, false);
    }
}
