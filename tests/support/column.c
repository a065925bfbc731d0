/* column.c - see column.h. */
#include "tests/support/column.h"

#include "tests/support/suite.h"

#include <string.h>

size_t attn_test_column(const struct attn_table *table, const char *name)
{
    size_t column = 0;

    while (strcmp(attn_table_column(table, column)->name, name) != 0)
        ck_assert_msg(++column < attn_table_n_column(table), "no column '%s'", name);
    return column;
}

struct attn_cell attn_test_cell(const struct attn_table *table, size_t row, const char *name)
{
    return attn_table_cell(table, row, attn_test_column(table, name));
}
