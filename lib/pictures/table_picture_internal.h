/* table_picture_internal.h - the layout of a table, for formats that show it beside its picture. */
#ifndef ATTN_PICTURES_TABLE_PICTURE_INTERNAL_H
#define ATTN_PICTURES_TABLE_PICTURE_INTERNAL_H

#include "pictures/figure_internal.h"
#include "pictures/table_grid.h"
#include "pictures/table_picture.h"

/* A table with its layout. Borrowed for the duration of a call. */
struct attn_table_drawing {
    const struct attn_table *table;
    const struct attn_table_picture *picture;
    enum attn_figure kind;          /* matrix, tokens, bars, curve, causes, map or patches */
    bool is_figure;                 /* it is drawn as one figure: a plot, or a map over a picture */
    const struct attn_grid *figure; /* the numbers with their labels and texts */
    /* [rows of the table] the cell of each row of the table (a pair of columns has one of its two
     * cells); SIZE_MAX: not drawn */
    const size_t *rows, *columns;
    const struct attn_shapes *shapes; /* NULL if the figure is too large, or `figure` has groups */
};

typedef enum attn_status (*attn_table_drawing_fn)(void *user,
                                                  const struct attn_table_drawing *drawing,
                                                  struct attn_error *err);

/* Lays TABLE out as attn_table_picture_write does, and calls USE with the result. OPTIONS must have
 * no unset fields. Errors have the stage ATTN_STAGE_OPTIONS. */
enum attn_status attn_table_drawing_use(const struct attn_table *table,
                                        const struct attn_table_picture *picture,
                                        const struct attn_picture_options *options,
                                        attn_table_drawing_fn use, void *user,
                                        struct attn_error *err);

#endif
