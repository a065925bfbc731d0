#pragma once

#include "tables/table.h"

#include <string.h>

/* Returns true if cells of TYPE contain several numbers. */
static inline bool attn_value_is_list(enum attn_value_type type)
{
    return type == ATTN_VALUE_LIST || type == ATTN_VALUE_REALS;
}

/* Returns a cell with the null-terminated TEXT, borrowed; a missing cell if TEXT is NULL. */
static inline struct attn_cell attn_cell_string(const char *text)
{
    return attn_cell_text(text, text ? strlen(text) : 0);
}

/* Allocates memory for N_ROW rows, so that they can be appended without allocating more for
 * numbers. */
enum attn_status attn_table_reserve(struct attn_table *table, size_t n_row, struct attn_error *err);

/* Sets a cell in a column of reals to X. */
void attn_table_set_real(struct attn_table *table, size_t row, size_t column, double x);

/* Removes all rows and keeps the memory, for tables that are written in parts. */
void attn_table_reset(struct attn_table *table);

/* Return the index of the column NAME, which may be NULL, or NAME [size], and of the first column
 * with ROLE; SIZE_MAX if there is none. A column of a later version has two names (`since`). */
size_t attn_table_find(const struct attn_table *table, const char *name);
size_t attn_table_find_named(const struct attn_table *table, const char *name, size_t size);
size_t attn_table_find_role(const struct attn_table *table, enum attn_column_role role);

/* Returns the column that has TRAIT of column C, its standard error for example; SIZE_MAX if there
 * is none. */
size_t attn_table_find_spread(const struct attn_table *table, size_t c, unsigned trait);

/* Returns which of the `totals` of the column of parts ROW is, from 0; SIZE_MAX if the row is about
 * a part. */
size_t attn_table_total(const struct attn_table *table, size_t row);

/* Returns true if column C has the types of rows, and all rows are data: readers need no such
 * column. */
bool attn_table_is_all_data(const struct attn_table *table, size_t c);

/* Returns true if A and B are equal; NaN equals NaN. */
bool attn_cell_is_equal(const struct attn_cell *a, const struct attn_cell *b);

/* Returns the index of the text CELL in WORDS, separated by blanks (may be NULL); SIZE_MAX if it is
 * missing. */
size_t attn_cell_word(const struct attn_cell *cell, const char *words);

/* Sets facts about the whole TABLE: one row CELLS [n] with COLUMNS [n], which are copied; JSON
 * output contains it beside the rows. attn_table_about returns a borrowed table of one row, or
 * NULL. */
enum attn_status attn_table_set_about(struct attn_table *table, const struct attn_column *columns,
                                      const struct attn_cell *cells, size_t n,
                                      struct attn_error *err);
const struct attn_table *attn_table_about(const struct attn_table *table);

/* Returns the fact NAME about the whole TABLE; missing if there is none. */
static inline struct attn_cell attn_table_fact(const struct attn_table *table, const char *name)
{
    const struct attn_table *about = attn_table_about(table);

    return attn_table_cell(about, 0, attn_table_find(about, name));
}

/* Sets what a page shows beside TABLE: a JSON object, which is copied. attn_table_page returns it,
 * borrowed; NULL without one. */
enum attn_status attn_table_set_page(struct attn_table *table, const char *json, size_t size,
                                     struct attn_error *err);
const char *attn_table_page(const struct attn_table *table, size_t *size);

/* Copies the facts about TABLE, and what its page shows, to COPY. */
enum attn_status attn_table_copy_about(const struct attn_table *table, struct attn_table *copy,
                                       struct attn_error *err);
