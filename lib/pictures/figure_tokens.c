/* figure_tokens.c - the wrapped text, each token on the color of its weight in one row, the query
 * framed, unseen tokens grey. */
#include "pictures/text_flow.h"

#include "base/status_internal.h"
#include "tables/colormap_internal.h"

enum {
    LINE = 28, /* height of a line of text */
    BOX = 22,  /* height of a token's box */
};

#define SIZE ((double)ATTN_FLOW_SIZE)
#define MARGIN ((double)ATTN_FLOW_MARGIN)

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

enum attn_status attn_figure_draw_tokens(struct attn_figure_pen *pen, struct attn_error *err)
{
    struct attn_text_flow layout;
    double right;

    ATTN_TRY(attn_flow_open(pen, LINE, ATTN_FIGURE_FEW, &layout, err));
    right = attn_flow_measure(pen, &layout, ATTN_FIGURE_PAD);
    attn_figure_set_frame(pen, right, 4, layout.spot.y + BOX, true);
    layout.top = pen->layout.top;
    if (pen->is_measuring)
        return ATTN_OK;
    for (size_t i = 0; i < layout.matrix->n_column; i++) {
        const struct attn_flow_spot spot = attn_flow_next(pen, &layout, i);

        add_token(pen, &layout, i, spot);
        if (attn_flow_has_query(pen, &layout) &&
            attn_grid_position(&layout.keys, i) == pen->content->grid->run->queries[0])
            attn_figure_add_outline(
                pen, (double[]){spot.x - 1, spot.y - 1, spot.x + spot.width + 1, spot.y + BOX + 1},
                2, pen->ink);
    }
    return ATTN_OK;
}
