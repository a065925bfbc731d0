/*
 * table.h - results as a table: named, typed columns and rows of values.
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
 * Rows keep the order in which they were appended. A cell may have no value. The table copies the
 * columns, the texts and the lists; what it hands out is borrowed until the next append, the
 * reset or the free. tables/table_writer.h writes tables as text, CSV, JSON and JSON lines.
 */
#ifndef ATTN_BASE_TABLE_H
#define ATTN_BASE_TABLE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum attn_value_type {
    ATTN_VALUE_MISSING = 0, /* of a cell: there is no value; no column has this type */
    ATTN_VALUE_INTEGER = 1,
    ATTN_VALUE_REAL = 2,
    ATTN_VALUE_TEXT = 3,    /* any bytes; they are escaped where they are written (base/escape.h) */
    ATTN_VALUE_BOOLEAN = 4, /* the integer 0 or 1 */
    ATTN_VALUE_LIST = 5     /* integers: a shape, the ids of a text */
};

/* How the reals of a column are written. */
enum attn_notation {
    ATTN_NOTATION_SHORTEST = 0, /* the shortest decimal that reads back as the same float32 */
    ATTN_NOTATION_DOUBLE = 1,   /* the shortest that reads back as the same double */
    ATTN_NOTATION_FIXED = 2,   /* `digits` after the point in text for reading, else the shortest */
    ATTN_NOTATION_FIGURES = 3, /* `digits` significant ones, as "%.*g" */
    ATTN_NOTATION_LABEL = 4    /* as DOUBLE; booleans are true and false, and texts of CSV are keys
                                  that others look for: nothing protects them from spreadsheets */
};

/* Which numbers a column has, for those who draw them. */
enum attn_value_range {
    ATTN_RANGE_SIGNED = 0, /* on both sides of 0, which is the middle */
    ATTN_RANGE_POSITIVE = 1,
    ATTN_RANGE_SHARE = 2 /* 0 to 1 */
};

struct attn_column {
    const char *name; /* terminated, not empty, unlike those of other columns */
    enum attn_value_type type;
    const char *unit;            /* of the numbers: "nats", "bytes", "s"; NULL: none */
    enum attn_notation notation; /* of reals */
    int digits;                  /* for the notation, 0..17 */
    /* The smallest width in aligned text, so that tables one below the other line up. */
    size_t width;
    enum attn_value_range range;
    const void *later[4]; /* NULL: room for fields of later versions */
};

/* One value; made by the functions below. */
struct attn_cell {
    enum attn_value_type type;
    size_t size;         /* bytes of text, or integers of list */
    int64_t integer;     /* ATTN_VALUE_INTEGER and ATTN_VALUE_BOOLEAN */
    double real;         /* ATTN_VALUE_REAL; NaN and infinities are values */
    const char *text;    /* [size] ATTN_VALUE_TEXT, not terminated; borrowed */
    const int64_t *list; /* [size] ATTN_VALUE_LIST; borrowed */
};

static inline struct attn_cell attn_cell_missing(void)
{
    const struct attn_cell cell = {ATTN_VALUE_MISSING, 0, 0, 0, NULL, NULL};

    return cell;
}

static inline struct attn_cell attn_cell_integer(int64_t value)
{
    const struct attn_cell cell = {ATTN_VALUE_INTEGER, 0, value, 0, NULL, NULL};

    return cell;
}

static inline struct attn_cell attn_cell_boolean(bool value)
{
    const struct attn_cell cell = {ATTN_VALUE_BOOLEAN, 0, value, 0, NULL, NULL};

    return cell;
}

static inline struct attn_cell attn_cell_real(double value)
{
    const struct attn_cell cell = {ATTN_VALUE_REAL, 0, 0, value, NULL, NULL};

    return cell;
}

/* TEXT [size]; NULL is no value. */
static inline struct attn_cell attn_cell_text(const char *text, size_t size)
{
    const struct attn_cell cell = {ATTN_VALUE_TEXT, size, 0, 0, text, NULL};

    return text ? cell : attn_cell_missing();
}

/* LIST [n] */
static inline struct attn_cell attn_cell_list(const int64_t *list, size_t n)
{
    const struct attn_cell cell = {ATTN_VALUE_LIST, n, 0, 0, NULL, list};

    return cell;
}

struct attn_table;

/* An empty table. ATTN_INVALID when it has no name or no columns, or a column has no name,
 * the name of another, no type, or digits that are out of range. */
ATTN_API enum attn_status attn_table_create(const char *name, const struct attn_column *columns,
                                            size_t n_column, struct attn_table **table,
                                            struct attn_error *err);

/* Appends a row: CELLS [n_cell], one a column, each of its column's type or missing, a text
 * or list below 4 GiB. ATTN_INVALID when they are not; after a failure the table is as it was. */
ATTN_API enum attn_status attn_table_append(struct attn_table *table, const struct attn_cell *cells,
                                            size_t n_cell, struct attn_error *err);

ATTN_API const char *attn_table_name(const struct attn_table *table);
ATTN_API size_t attn_table_n_column(const struct attn_table *table);
ATTN_API size_t attn_table_n_row(const struct attn_table *table);

/* NULL, and a cell without a value, where there is no such column or row. */
ATTN_API const struct attn_column *attn_table_column(const struct attn_table *table, size_t column);
ATTN_API struct attn_cell attn_table_cell(const struct attn_table *table, size_t row,
                                          size_t column);

ATTN_API void attn_table_free(struct attn_table *table); /* NULL is allowed */

#endif
