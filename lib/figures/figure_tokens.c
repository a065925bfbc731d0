/* figure_tokens.c - the wrapped text, each token on the color of its weight in one row, the query
 * framed, unseen tokens grey. */
#include "figures/text_flow.h"

#include "base/status_internal.h"
#include "encode/colormap_internal.h"
#include "encode/text_table.h"
#include "writers/picture_internal.h"

#include <math.h>
#include <string.h>

enum {
    LINE = 28, /* height of a line of text */
    BOX = 22,  /* height of a token's box */
};

#define SIZE ((double)ATTN_FLOW_SIZE)
#define MARGIN ((double)ATTN_FLOW_MARGIN)

bool attn_flow_has_query(const struct attn_figure_pen *pen, const struct attn_text_flow *layout)
{
    const struct attn_writer *run = pen->content->grid->run;

    return run && attn_writer_has_own_keys(run, &layout->matrix->at);
}

const char *attn_flow_token(struct attn_figure_pen *pen, const struct attn_text_flow *layout,
                            size_t i, size_t *n)
{
    return layout->keys.texts ? attn_token_text(layout->keys.texts, i, n)
                              : attn_figure_label(pen, &layout->keys, i, n);
}

struct attn_flow_spot attn_flow_next(struct attn_figure_pen *pen, struct attn_text_flow *layout,
                                     size_t i)
{
    size_t n;
    const char *text = attn_flow_token(pen, layout, i, &n);
    const struct attn_writer *run = pen->content->grid->run;
    struct attn_flow_spot *spot = &layout->spot;
    const size_t n_column = attn_text_width(text, n);
    /* a combining mark that stands alone is drawn on a circle, as wide as two columns */
    const double width = (n > 0 && n_column == 0 ? attn_figure_text_width(2, SIZE)
                                                 : SIZE * attn_figure_string_width(pen, text, n)) +
                         2 * MARGIN;

    size_t n_blank = 0;
    double blank;

    while (layout->hangs_blanks && n_blank + 1 < n && text[n_blank] == ' ')
        n_blank++;
    blank = SIZE * attn_figure_string_width(pen, text, n_blank);
    spot->x += spot->width + 2;
    /* white space between this token and the previous one that belongs to neither of them */
    if (i > 0 && (!layout->keys.texts || (attn_flow_has_query(pen, layout) && run->labels.begin &&
                                          run->labels.begin[i] > run->labels.end[i - 1])))
        spot->x += attn_figure_text_width(1, SIZE) - 2;
    if (i == 0) {
        *spot = (struct attn_flow_spot){layout->left - blank, layout->top, 0, 0, 0};
    } else if (layout->is_broken || attn_grid_begins(&layout->keys, i) ||
               spot->x + width > layout->right) {
        spot->y += layout->line;
        spot->x = layout->left - blank;
    }
    spot->width = width;
    spot->blank = blank;
    spot->n_blank = n_blank;
    layout->is_broken = n >= 2 && memcmp(text + n - 2, "\\n", 2) == 0;
    return *spot;
}

double attn_flow_measure(struct attn_figure_pen *pen, struct attn_text_flow *layout, double left)
{
    double right = left;

    layout->left = left;
    layout->right = left + attn_figure_text_width(ATTN_FLOW_COLUMNS, SIZE);
    if (pen->room > 0)
        layout->right = fmax(left + 100, pen->room - ATTN_FIGURE_PAD);
    for (size_t i = 0; i < layout->matrix->n_column; i++) {
        const struct attn_flow_spot spot = attn_flow_next(pen, layout, i);

        right = fmax(right, spot.x + spot.width);
    }
    return right;
}

static void plan(struct attn_figure_pen *pen, struct attn_text_flow *layout)
{
    const double right = attn_flow_measure(pen, layout, ATTN_FIGURE_PAD);

    attn_figure_set_frame(pen, right, 4, layout->spot.y + BOX, true);
    layout->top = pen->layout.top;
}

static void add_token(struct attn_figure_pen *pen, const struct attn_text_flow *layout, size_t i,
                      struct attn_flow_spot spot)
{
    float value = 0;
    const enum attn_cell_kind kind = attn_level_cell(layout->matrix, 0, i, &value);
    const bool is_value = kind == ATTN_CELL_VALUE;
    const struct attn_color_range range = attn_level_range(layout->matrix, &pen->scale, 0);
    const int level = is_value ? attn_color_level(&pen->scale, range, (double)value) : 0;
    const uint32_t color = is_value ? attn_figure_color(pen, level) : attn_figure_ground(pen, kind);
    struct attn_shape_text text = {
        .x = spot.x + MARGIN, .y = spot.y + 0.5 * BOX + 0.35 * SIZE, .size = SIZE};
    size_t n;
    const char *bytes;

    pen->has_kind[kind] = true;
    attn_shapes_add_box(pen->shapes,
                        (struct attn_shape_box){spot.x, spot.y, spot.width, BOX, color});
    text.color = !is_value ? pen->faint : attn_figure_takes_black(pen, level) ? 0 : 0xffffff;
    bytes = attn_flow_token(pen, layout, i, &n);
    attn_shapes_add_text(pen->shapes, &text, bytes, n);
}

/* Appends "query 7 it; " to the subtitle. */
static void name_query(struct attn_figure_pen *pen, const struct attn_text_flow *layout)
{
    const struct attn_grid_axis rows = attn_figure_rows(pen, layout->matrix);
    size_t n;
    const char *label = attn_figure_label(pen, &rows, 0, &n);

    attn_buffer_append_format(&pen->subtitle, "query %zu", attn_grid_position(&rows, 0));
    if (rows.texts) {
        attn_buffer_append_char(&pen->subtitle, ' ');
        attn_buffer_append(&pen->subtitle, label, n);
    }
    attn_buffer_append_string(&pen->subtitle, "; ");
}

enum attn_status attn_flow_open(struct attn_figure_pen *pen, double line,
                                struct attn_text_flow *layout, struct attn_error *err)
{
    *layout = (struct attn_text_flow){.matrix = attn_figure_matrix(pen, 0), .line = line};
    ATTN_TRY(attn_figure_check_keys(pen, err));
    if (layout->matrix->n_row != 1) {
        attn_error_set(err, ATTN_INVALID, "%zu queries are selected, '`figure %s`' shows one",
                       layout->matrix->n_row, attn_figure_name(pen->content->kind));
        return attn_error_hint(err, "choose one: `queries -1` is the last");
    }
    pen->has_text = false;
    if (pen->content->grid->run)
        name_query(pen, layout);
    layout->keys = attn_figure_columns(pen, layout->matrix);
    return ATTN_OK;
}

enum attn_status attn_figure_draw_tokens(struct attn_figure_pen *pen, struct attn_error *err)
{
    struct attn_text_flow layout;

    ATTN_TRY(attn_flow_open(pen, LINE, &layout, err));
    plan(pen, &layout);
    if (pen->is_measuring)
        return ATTN_OK;
    attn_figure_add_heading(pen);
    for (size_t i = 0; i < layout.matrix->n_column; i++) {
        const struct attn_flow_spot spot = attn_flow_next(pen, &layout, i);

        add_token(pen, &layout, i, spot);
        if (attn_flow_has_query(pen, &layout) && i == pen->content->grid->run->queries[0])
            attn_figure_add_outline(
                pen, (double[]){spot.x - 1, spot.y - 1, spot.x + spot.width + 1, spot.y + BOX + 1},
                2, pen->ink);
    }
    attn_figure_add_legend(pen);
    return ATTN_OK;
}
