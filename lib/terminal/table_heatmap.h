/*
 * table_heatmap.h - the numbers of a table as text: each on its colour, columns in as many blocks as
 * the width needs.
 *
 *     fable: change
 *     layer      0     1     2
 *         0   -0.1  -2.5   0.3
 *         1    0.0   0.1  -1.2
 *     colors:  -2.5  -1.2  0  1.2  2.5  linear
 */
#ifndef ATTN_TERMINAL_TABLE_HEATMAP_H
#define ATTN_TERMINAL_TABLE_HEATMAP_H

#include "figures/figure_internal.h"

enum attn_status attn_table_heatmap_write(const struct attn_figure_grid *grid,
                                          const struct attn_picture_options *picture,
                                          struct attn_sink *sink, struct attn_error *err);

#endif
