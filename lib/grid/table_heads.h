/* table_heads.h - the kinds of heads in a table of their measures. For the library. */
#ifndef ATTN_GRID_TABLE_HEADS_H
#define ATTN_GRID_TABLE_HEADS_H

#include "grid/table_cells.h"

/* Finds the kind of the head in each row of TABLE, and how strong it is. Fills `kinds` and
 * `weights` of CELLS. Returns an error if the table lacks a measure that is needed. */
enum attn_status attn_table_kinds_find(const struct attn_table *table,
                                       struct attn_table_cells *cells, struct attn_error *err);

#endif
