/* table_cells_internal.h - readers for each kind of table. Private to lib/grid. */
#ifndef ATTN_GRID_TABLE_CELLS_INTERNAL_H
#define ATTN_GRID_TABLE_CELLS_INTERNAL_H

#include "grid/table_cells.h"

/* Each reads a table into CELLS. */
enum attn_status attn_table_axes_read(const struct attn_table *table,
                                      const struct attn_table_picture *picture,
                                      struct attn_table_cells *cells, struct attn_error *err);
/* Reads an axis of parts, which the first of COLUMNS names; rows without a value in one of both
 * columns are left out. */
enum attn_status attn_table_writers_read(const struct attn_table *table,
                                         const struct attn_table_view *view,
                                         const size_t columns[2], struct attn_table_axis *axis,
                                         struct attn_error *err);
enum attn_status attn_table_pairs_read(const struct attn_table *table,
                                       const struct attn_table_picture *picture,
                                       struct attn_table_cells *cells, struct attn_error *err);
enum attn_status attn_table_head_map_read(const struct attn_table *table,
                                          const struct attn_table_picture *picture,
                                          struct attn_table_cells *cells, struct attn_error *err);
enum attn_status attn_table_series_read(const struct attn_table *table,
                                        const struct attn_table_picture *picture, bool is_curve,
                                        struct attn_table_cells *cells, struct attn_error *err);
enum attn_status attn_table_groups_read(const struct attn_table *table, size_t n_label,
                                        struct attn_table_cells *cells, struct attn_error *err);
enum attn_status attn_table_tokens_read(const struct attn_table *table,
                                        const struct attn_table_picture *picture,
                                        struct attn_table_cells *cells, struct attn_error *err);
enum attn_status attn_table_parts_read(const struct attn_table *table,
                                       const struct attn_table_picture *picture,
                                       struct attn_color_scale asked,
                                       struct attn_table_cells *cells, struct attn_error *err);
enum attn_status attn_table_causes_read(const struct attn_table *table,
                                        const struct attn_table_picture *picture,
                                        struct attn_table_cells *cells, struct attn_error *err);
enum attn_status attn_table_life_read(const struct attn_table *table,
                                      const struct attn_table_picture *picture,
                                      struct attn_table_cells *cells, struct attn_error *err);

#endif
