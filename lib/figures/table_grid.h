/*
 * table_grid.h - the numbers of a table as a matrix with what its rows and columns are called. For
 * the pictures of table_picture.h.
 *
 *     struct attn_table_cells cells = {0};
 *     attn_table_cells_read(table, &grid, color_scale, &cells, &err);
 *     ... cells.figure ...
 *     attn_table_cells_release(&cells);
 */
#ifndef ATTN_FIGURES_TABLE_GRID_H
#define ATTN_FIGURES_TABLE_GRID_H

#include "figures/figure_internal.h"
#include "figures/table_picture.h"

/* One side of it. */
struct attn_table_axis {
    struct attn_figure_axis axis;  /* points to what follows */
    struct attn_token_texts texts; /* [axis.n] of rows or columns that have one */
    size_t *positions;             /* [axis.n] owns */
    size_t *of_rows; /* [n_row of the table] owns; where each of its rows goes, SIZE_MAX: nowhere */
};

/* Initialize with = {0}; is not to be copied. */
struct attn_table_cells {
    struct attn_figure_grid figure;
    struct attn_table_axis rows, columns;
};

/* ASKED is how the user wants the scale. Release CELLS after a failure, too. */
enum attn_status attn_table_cells_read(const struct attn_table *table,
                                       const struct attn_table_grid *grid,
                                       struct attn_color_scale asked,
                                       struct attn_table_cells *cells, struct attn_error *err);
void attn_table_cells_release(struct attn_table_cells *cells);

#endif
