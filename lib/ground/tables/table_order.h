/*
 * table_order.h - chooses rows and columns of a table, sorts the rows and keeps the first of them.
 *
 *     struct attn_table_order order = ATTN_TABLE_ORDER_DEFAULT;
 *     struct attn_table *sorted;
 *     order.sort = "change", order.n_most = 10;  // the ten rows whose change is the largest
 *     attn_table_sort(table, &order, &sorted, &err);
 *
 * With a column's name alone, the largest value comes first: numbers that can be negative
 * (ATTN_RANGE_SIGNED) are compared by magnitude, `true` comes before `false`, texts are sorted from
 * a to z by their bytes. "NAME:up" sorts by value, smallest first; "NAME:down" by value, largest
 * first. Rows with equal values keep their order; rows with NaN or without a value come last.
 *
 * Rows with totals (`totals` of a column of parts) are for comparison: they are not sorted, and
 * don't count as kept rows.
 */
#ifndef ATTN_TABLES_TABLE_ORDER_H
#define ATTN_TABLES_TABLE_ORDER_H

#include "tables/table.h"

struct attn_table_order {
    size_t size; /* sizeof this struct */
    /* name of the column to sort by, which ":up" or ":down" may follow; NULL: no sorting. A column
     * whose name is the whole string has precedence. "value": also the first column with reals */
    const char *sort;
    size_t n_most; /* how many rows of each group are kept; 0: all */
    /* the first N columns name a group: consecutive rows that have equal values in them form a
     * group, which is sorted on its own; 0: the table is one group */
    size_t n_group;
    /* All groups have the same rows. They are sorted once, each by its first value in any group, so
     * that every group keeps the same `n_most` rows in the same order. */
    bool is_joint;
    /* [n_where] "COLUMN=VALUE": only rows with all of these values are kept, before the others are
     * sorted. "COLUMN=": rows without a value */
    const char *const *where;
    size_t n_where;
    /* names of the columns that are kept, in this order: "layer,head,change"; NULL: all. The table
     * is sorted before */
    const char *columns;
};

/* Sets ORDER [size bytes] to the defaults, and returns it. */
ATTN_API struct attn_table_order *attn_table_order_init(struct attn_table_order *order,
                                                        size_t size);
#define ATTN_TABLE_ORDER_DEFAULT ATTN_DEFAULT_OF(attn_table_order)

/* Sets *sorted to a new table with the rows and columns of TABLE that ORDER keeps, sorted. The
 * caller frees it. ATTN_INVALID, with the stage of options, if a column does not exist, or its type
 * does not have the value; if the column to sort by holds lists, or has no value in any row that
 * may move, or if `is_joint` and groups have different numbers of rows. */
ATTN_API enum attn_status attn_table_sort(const struct attn_table *table,
                                          const struct attn_table_order *order,
                                          struct attn_table **sorted, struct attn_error *err);

#endif
