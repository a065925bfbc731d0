/*
 * table_order.h - in which order the rows of a table stand, and how many of them are kept.
 *
 *     struct attn_table_order order = ATTN_TABLE_ORDER_DEFAULT;
 *     struct attn_table *sorted;
 *     order.sort = "change", order.n_most = 10;  // the ten rows whose change is the largest
 *     attn_table_sort(table, &order, &sorted, &err);
 *
 * A column by its name alone puts the largest first: numbers that may have both signs
 * (ATTN_RANGE_SIGNED) by their magnitude, `true` before `false`, texts from a to z by their bytes.
 * "NAME:up" is by value, the smallest first, "NAME:down" the largest first. Equal values keep their
 * order; rows without a value, and with NaN, come last.
 *
 * Rows that are totals (`totals` of a column of parts) are there for comparison: they keep
 * their places and are not counted.
 */
#ifndef ATTN_TABLES_TABLE_ORDER_H
#define ATTN_TABLES_TABLE_ORDER_H

#include "base/table.h"

struct attn_table_order {
    size_t size;      /* of this struct */
    const char *sort; /* a column, with ":up" or ":down" after it or not; NULL: rows keep their
                         order. A column that has all of this as its name is meant first */
    size_t n_most;    /* rows that are kept, of each group; 0: all */
    size_t n_group;   /* leading columns that name a group: rows one after the other with equal
                         values of these are one, and are sorted among themselves; 0: all are one */
    /* All groups have the same rows, which are sorted once, each by its first value in any group:
     * each group keeps the same `n_most` rows, in the same order. */
    bool is_joint;
};

#define ATTN_TABLE_ORDER_DEFAULT                                                                   \
    ((struct attn_table_order){.size = sizeof(struct attn_table_order)})

/* A new table of the rows of TABLE that ORDER keeps, in its order. The caller owns *sorted.
 * ATTN_INVALID, with the stage of options, if the column does not exist, holds lists, or has no
 * ATTN_INVALID, with the stage of options, if the column does not exist, holds lists, or has no
 * value in any row that may move, or if `is_joint` and groups have different numbers of rows. */
ATTN_API enum attn_status attn_table_sort(const struct attn_table *table,
                                          const struct attn_table_order *order,
                                          struct attn_table **sorted, struct attn_error *err);

#endif
