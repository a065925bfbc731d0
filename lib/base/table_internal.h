/* table_internal.h - what table.h declares for the library alone. */
#ifndef ATTN_BASE_TABLE_INTERNAL_H
#define ATTN_BASE_TABLE_INTERNAL_H

#include "base/table.h"

/* Removes all rows and keeps the memory, for tables that are written part by part. */
void attn_table_reset(struct attn_table *table);

#endif
