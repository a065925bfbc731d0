/* table_grid_internal.h - reads the axes of a table. Private to lib/grid. */
#ifndef ATTN_GRID_TABLE_GRID_INTERNAL_H
#define ATTN_GRID_TABLE_GRID_INTERNAL_H

#include "grid/table_grid.h"

/* Reads rows and columns, each of which is a key of rows of the table. */
enum attn_status attn_table_axes_read(const struct attn_table *table,
                                      const struct attn_table_picture *picture,
                                      struct attn_table_cells *cells, struct attn_error *err);

/* Reads rows and columns as the groups and the places of bars or a curve, in the order of their
 * first occurrence. */
enum attn_status attn_table_names_read(const struct attn_table *table,
                                       const struct attn_table_picture *picture, bool is_curve,
                                       struct attn_table_cells *cells, struct attn_error *err);

/* Finds the groups of the rows of the table, by its first N_LABEL columns. */
enum attn_status attn_table_groups_read(const struct attn_table *table, size_t n_label,
                                        struct attn_table_axis *groups, struct attn_error *err);

#endif
