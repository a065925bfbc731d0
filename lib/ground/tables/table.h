/*
 * table.h - tables of results: named, typed columns, and rows of values.
 *
 *     static const struct attn_column columns[] = {
 *         {.name = "head", .type = ATTN_VALUE_INTEGER},
 *         {.name = "entropy", .type = ATTN_VALUE_REAL, .unit = "nats"},
 *         {.name = "token", .type = ATTN_VALUE_TEXT},
 *     };
 *     struct attn_table *table;
 *     attn_table_create("heads", columns, 3, &table, &err);
 *     const struct attn_cell row[] = {attn_cell_integer(3), attn_cell_real(0.7),
 *                                     attn_cell_text(token, size)};
 *     attn_table_append(table, row, 3, &err);
 *     printf("%zu rows\n", attn_table_n_row(table));
 *     attn_table_free(table);
 *
 * Rows keep the order in which they were appended. A cell may be missing. The table copies columns,
 * texts and lists; pointers that it returns are valid until the next append, reset or free.
 * tables/table_writer.h writes tables as text, CSV, JSON and JSON lines.
 */
#ifndef ATTN_TABLES_TABLE_H
#define ATTN_TABLES_TABLE_H

#include "base/status.h"
#include "tables/column.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One value, created by the functions below. */
struct attn_cell {
    enum attn_value_type type;
    size_t size;          /* bytes of text, or numbers of a list */
    int64_t integer;      /* ATTN_VALUE_INTEGER and ATTN_VALUE_BOOLEAN */
    double real;          /* ATTN_VALUE_REAL; NaN and infinities are values */
    const char *text;     /* [size] ATTN_VALUE_TEXT, not null-terminated; borrowed */
    const int64_t *list;  /* [size] ATTN_VALUE_LIST; borrowed */
    const double *reals;  /* [size] ATTN_VALUE_REALS; borrowed */
    const void *later[1]; /* NULL: room for a field of later versions */
};

static inline struct attn_cell attn_cell_missing(void)
{
    const struct attn_cell cell = {ATTN_VALUE_MISSING, 0, 0, 0, NULL, NULL, NULL, {NULL}};

    return cell;
}

static inline struct attn_cell attn_cell_integer(int64_t value)
{
    const struct attn_cell cell = {ATTN_VALUE_INTEGER, 0, value, 0, NULL, NULL, NULL, {NULL}};

    return cell;
}

static inline struct attn_cell attn_cell_boolean(bool value)
{
    const struct attn_cell cell = {ATTN_VALUE_BOOLEAN, 0, value, 0, NULL, NULL, NULL, {NULL}};

    return cell;
}

static inline struct attn_cell attn_cell_real(double value)
{
    const struct attn_cell cell = {ATTN_VALUE_REAL, 0, 0, value, NULL, NULL, NULL, {NULL}};

    return cell;
}

/* Returns a cell with TEXT [size]; a missing cell if TEXT is NULL. */
static inline struct attn_cell attn_cell_text(const char *text, size_t size)
{
    const struct attn_cell cell = {ATTN_VALUE_TEXT, size, 0, 0, text, NULL, NULL, {NULL}};

    return text ? cell : attn_cell_missing();
}

/* Returns a cell with LIST [n]. */
static inline struct attn_cell attn_cell_list(const int64_t *list, size_t n)
{
    const struct attn_cell cell = {ATTN_VALUE_LIST, n, 0, 0, NULL, list, NULL, {NULL}};

    return cell;
}

/* Returns a cell with REALS [n]. */
static inline struct attn_cell attn_cell_reals(const double *reals, size_t n)
{
    const struct attn_cell cell = {ATTN_VALUE_REALS, n, 0, 0, NULL, NULL, reals, {NULL}};

    return cell;
}

struct attn_table;

/* Creates an empty table. ATTN_INVALID if it has no name or no columns, or if a column has no name,
 * the name of another, no type, or invalid digits. */
ATTN_API enum attn_status attn_table_create(const char *name, const struct attn_column *columns,
                                            size_t n_column, struct attn_table **table,
                                            struct attn_error *err);

/* Appends a row: CELLS [n_cell], one per column, each missing or of its column's type, with texts
 * and lists below 4 GiB. ATTN_INVALID otherwise; after a failure the table is unchanged. */
ATTN_API enum attn_status attn_table_append(struct attn_table *table, const struct attn_cell *cells,
                                            size_t n_cell, struct attn_error *err);

ATTN_API const char *attn_table_name(const struct attn_table *table);
ATTN_API size_t attn_table_n_column(const struct attn_table *table);
ATTN_API size_t attn_table_n_row(const struct attn_table *table);

/* Return a column, NULL if it does not exist; and a cell, missing if row or column do not exist. */
ATTN_API const struct attn_column *attn_table_column(const struct attn_table *table, size_t column);
ATTN_API struct attn_cell attn_table_cell(const struct attn_table *table, size_t row,
                                          size_t column);

ATTN_API void attn_table_free(struct attn_table *table); /* NULL is allowed */

#endif
