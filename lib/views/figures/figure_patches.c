/* figure_patches.c - rows of a pattern over patches of an image, arranged as R rows of C
 * patches. */
#include "figures/figure_internal.h"

#include <math.h>

enum {
    LARGEST = 18, /* side of a patch, for a single image with up to 40 patches a side */
    FEW = 40,
    WHOLE = 720,  /* side of an image with more patches */
    SIDE = 96,    /* minimum side of an image if there are several */
    BETWEEN = 14, /* gap between images */
    CAPTION = 20, /* height of a label */
    ACROSS = 720, /* approximate width of a row of images */
};

struct patches_layout {
    const struct attn_level_matrix *matrix;
    struct attn_grid_axis queries;
    size_t n_across;      /* images side by side */
    double side;          /* side of a patch */
    double width, height; /* distance from one image to the next */
    double top;
};

static void plan(struct attn_figure_pen *pen, struct patches_layout *layout)
{
    const struct attn_figure_size legend = attn_figure_legend_size(pen);
    const size_t n = layout->matrix->n_row;
    const double n_row = (double)pen->options->n_patch_row;
    const double n_column = (double)pen->options->n_patch_column;
    const double longest = fmax(n_row, n_column);
    const double side = n > 1            ? ceil(SIDE / longest)
                        : longest <= FEW ? LARGEST
                                         : fmax(1, floor(WHOLE / longest));
    size_t n_down;
    double caption;

    layout->queries = attn_figure_rows(pen, layout->matrix);
    layout->side = attn_figure_side(pen, side);
    caption = attn_figure_text_width(layout->queries.most_columns, pen->letters.label);
    layout->width = ceil(fmax(n_column * layout->side, caption)) + BETWEEN;
    layout->height = n_row * layout->side + CAPTION + BETWEEN;
    if (pen->room > 0) /* computed from the usual size; cells are enlarged afterwards */
        layout->n_across = (size_t)fmax(1, floor((pen->room - legend.width - BETWEEN) /
                                                 (fmax(n_column * side, caption) + BETWEEN)));
    else
        layout->n_across = (size_t)fmax(1, floor(ACROSS / layout->width));
    if (layout->n_across > n)
        layout->n_across = n;
    n_down = (n - 1) / layout->n_across + 1;
    attn_figure_set_frame(pen, ATTN_FIGURE_PAD + (double)layout->n_across * layout->width - BETWEEN,
                          4 + CAPTION, (double)n_down * layout->height - BETWEEN - CAPTION, false);
    layout->top = pen->layout.top;
}

static struct attn_figure_place place_of(const struct patches_layout *layout, size_t i)
{
    const size_t across = i % layout->n_across, down = i / layout->n_across;

    return (struct attn_figure_place){.x = ATTN_FIGURE_PAD + (double)across * layout->width,
                                      .y = layout->top + (double)down * layout->height,
                                      .side = layout->side};
}

static enum attn_status draw_figure(struct attn_figure_pen *pen, struct attn_error *err)
{
    struct patches_layout layout = {.matrix = attn_figure_matrix(pen, 0)};
    const size_t n_row = pen->options->n_patch_row, n_column = pen->options->n_patch_column;
    struct attn_figure_view view = {.matrix = layout.matrix, .n_row = n_row, .n_col = n_column};

    if (n_row == 0)
        return attn_figure_draw_maps(pen, err);
    ATTN_TRY(attn_figure_check_keys(pen, err));
    if (n_row * n_column != layout.matrix->n_column)
        return attn_error_set(err, ATTN_INVALID,
                              "'%s' has %zu keys, '`figure patches:%zux%zu`' lays out %zu",
                              attn_site_name(layout.matrix->at.site), layout.matrix->n_column,
                              n_row, n_column, n_row * n_column);
    plan(pen, &layout);
    if (pen->is_measuring)
        return ATTN_OK;
    for (size_t i = 0; i < layout.matrix->n_row; i++, view.first += layout.matrix->n_column)
        attn_figure_add_cells(pen, view, place_of(&layout, i));
    view.first = 0;
    for (size_t i = 0; i < layout.matrix->n_row; i++) {
        const struct attn_figure_place place = place_of(&layout, i);

        attn_figure_add_hatches(pen, view, place);
        attn_figure_add_values(pen, view, place);
        attn_figure_add_frame(pen, place.x, place.y, (double)n_column * layout.side,
                              (double)n_row * layout.side);
        view.first += layout.matrix->n_column;
    }
    for (size_t i = 0; i < layout.matrix->n_row; i++) {
        const struct attn_figure_place place = place_of(&layout, i);
        const struct attn_shape_text text = {
            .x = place.x, .y = place.y - 6, .size = pen->letters.label, .color = pen->ink};

        attn_figure_add_label(pen, &text, &layout.queries, i);
    }
    return ATTN_OK;
}

const attn_figure_fn attn_figure_draw_patches = draw_figure;
