/* table_picture_internal.h - the layout of a table, for formats that show it beside its picture. */
#pragma once

#include "figures/figure_internal.h"
#include "figures/table_grid.h"
#include "figures/table_picture.h"

/* A table with its layout: what is drawn is decided once, for files and for pages. Initialize with
 * = {0}; must not be copied. */
struct attn_table_drawing {
    const struct attn_table *table;             /* borrowed, as are the next two */
    const struct attn_table_picture *picture;   /* as it was given */
    const struct attn_picture_options *options; /* without unset fields */
    bool is_page;
    struct attn_table_picture of; /* the picture with the view that is drawn */
    enum attn_figure kind;        /* matrix, tokens, bars, curve, causes, map or patches */
    bool is_over;                 /* rows of the table are patches of a picture */
    bool is_text;                 /* it is drawn as tokens */
    bool is_figure;               /* it is drawn as one figure: a plot, or a map over a picture */
    struct attn_backdrop tiles;
    /* the numbers with their labels and texts, and the cell of each row of the table (a pair of
     * columns has one of its two cells) */
    struct attn_table_cells cells;
    bool has_shapes; /* not if the figure is too large, or has groups */
    struct attn_shapes shapes;
};

/* Lays TABLE out as attn_table_picture_write does for a page. OPTIONS must have no unset fields.
 * Errors have the stage ATTN_STAGE_OPTIONS. Release DRAWING after a failure, too. */
enum attn_status attn_table_drawing_create(struct attn_table_drawing *drawing,
                                           const struct attn_table *table,
                                           const struct attn_table_picture *picture,
                                           const struct attn_picture_options *options,
                                           struct attn_error *err);
void attn_table_drawing_release(struct attn_table_drawing *drawing);
