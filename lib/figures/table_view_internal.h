/* table_view_internal.h - the columns of views in tables. For the layers above. */
#ifndef ATTN_FIGURES_TABLE_VIEW_INTERNAL_H
#define ATTN_FIGURES_TABLE_VIEW_INTERNAL_H

#include "figures/table_picture.h"

/* The number in TABLE of COLUMN of a view; SIZE_MAX if it is 0 or missing. */
size_t attn_table_view_find(const struct attn_table *table, unsigned column);

#endif
