/* column.h - finds columns of tables by name. */
#pragma once

#include "tables/table.h"

/* Returns the index of the column NAME of TABLE. A failure fails the current test. */
size_t attn_test_column(const struct attn_table *table, const char *name);

/* Returns the cell in that column of ROW. */
struct attn_cell attn_test_cell(const struct attn_table *table, size_t row, const char *name);
