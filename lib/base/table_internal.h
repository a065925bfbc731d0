/* table_internal.h - what table.h declares for the library alone. */
#ifndef ATTN_BASE_TABLE_INTERNAL_H
#define ATTN_BASE_TABLE_INTERNAL_H

#include "base/table.h"

/* An empty table. ATTN_INVALID when it has no name or no columns, or a column has no name,
 * the name of another, no type, or digits that are out of range. */
enum attn_status attn_table_create(const char *name, const struct attn_column *columns,
                                   size_t n_column, struct attn_table **table,
                                   struct attn_error *err);

/* Appends a row: CELLS [n_cell], one a column, each of its column's type or missing, a text
 * or list below 4 GiB. ATTN_INVALID when they are not; after a failure the table is as it was. */
enum attn_status attn_table_append(struct attn_table *table, const struct attn_cell *cells,
                                   size_t n_cell, struct attn_error *err);

/* Removes all rows and keeps the memory, for tables that are written part by part. */
void attn_table_reset(struct attn_table *table);

#endif
