/* table_axis.h - finds the columns of a table that a view names, and makes and labels its axes. */
#pragma once

#include "pictures/grid.h"
#include "pictures/table_view.h"
#include "tables/table_internal.h"

struct attn_store;       /* base/memory.h */
struct attn_table_cells; /* figures/table_grid.h */

/* Indices of the columns of a view in a table; SIZE_MAX if missing. */
struct attn_view_columns {
    size_t rows, detail, columns, texts, values, cells, marks;
};

/* Token lists of two runs: each run has its text and its source. */
enum { ATTN_GRID_OTHER = 2, ATTN_GRID_N_TOKENS = 4 };

/* One side of the matrix. */
struct attn_table_axis {
    struct attn_grid_axis axis;    /* points to the fields below */
    struct attn_token_texts texts; /* [axis.n] the labels of rows or columns */
    size_t *positions;             /* [axis.n] */
    /* [n_row of the table] the row or column of the picture for each row of the table;
     * SIZE_MAX: not drawn */
    size_t *of_rows;
    bool *begins; /* [axis.n] for pairs, and for tokens of two texts */
};

/* Returns the index in TABLE of COLUMN of a view; SIZE_MAX if it is 0 or missing. */
size_t attn_table_view_find(const struct attn_table *table, unsigned column);

struct attn_view_columns attn_view_columns_find(const struct attn_table *table,
                                                const struct attn_table_view *view);

/* Returns the kind of figure that VIEW states, or otherwise the usual one for the roles of its
 * columns, which are those of a table with COLUMNS. IS_OF_ITEMS: the table has means over items,
 * whose tokens may differ. ATTN_FIGURE_DEFAULT: a grid. */
enum attn_figure attn_view_figure(const struct attn_table_view *view,
                                  const struct attn_column *columns, bool is_of_items);

/* Returns an error unless COLUMN, the index of the column NAME, has numbers that can be drawn. */
enum attn_status attn_view_columns_check(const struct attn_table *table,
                                         const struct attn_view_columns *of, size_t column,
                                         const char *name, struct attn_error *err);

/* Returns the cell of ROW in the first column with ROLE. */
static inline struct attn_cell attn_table_role_cell(const struct attn_table *table, size_t row,
                                                    enum attn_column_role role)
{
    return attn_table_cell(table, row, attn_table_find_role(table, role));
}

/* Returns the first column of ATTN_ROLE_VALUE after COLUMN, or of the whole table if COLUMN is
 * SIZE_MAX; SIZE_MAX if it is missing. */
size_t attn_table_next_value(const struct attn_table *table, size_t column);

/* Returns 1 + the largest number in the column with ROLE; 0 without numbers. */
size_t attn_table_count(const struct attn_table *table, enum attn_column_role role);

/* Returns the role of COLUMN; that of values if it is SIZE_MAX. */
enum attn_column_role attn_table_role(const struct attn_table *table, size_t column);

/* Returns true if COLUMN has the numbers of parts of a layer. */
bool attn_table_has_parts(const struct attn_table *table, size_t column);

/* Sets the error that FIGURE ("a map") cannot show a table with groups. */
enum attn_status attn_table_refuse_groups(const char *figure, struct attn_error *err);

/* Allocates an axis of N rows or columns, for a table of N_ROW rows, none of which is placed
 * yet. The caller releases the texts; STORE owns the rest. */
enum attn_status attn_table_axis_create(struct attn_table_axis *axis, size_t n_row, size_t n,
                                        struct attn_store **store, struct attn_error *err);

/* Ends AXIS, which has all of its texts and is named by these, without positions. */
enum attn_status attn_table_axis_end(struct attn_table_axis *axis, const char *title,
                                     struct attn_error *err);

/* Returns a number of the table, or NaN. */
float attn_table_number(const struct attn_table *table, size_t row, size_t values);

static inline const char *attn_table_column_name(const struct attn_table *table, size_t column)
{
    return attn_table_column(table, column)->name;
}

static inline bool attn_table_is_missing(const struct attn_table *table, size_t row, size_t column)
{
    return attn_table_cell(table, row, column).type == ATTN_VALUE_MISSING;
}

/* Reads the head of ROW. Returns false if the row has no layer or no head. */
bool attn_table_read_head(const struct attn_table *table, size_t row, struct attn_location *at);

/* Appends a token as it is shown in a cell, cut to WIDTH columns. A token that consists of blanks
 * is quoted. */
void attn_table_append_label(struct attn_buffer *out, const char *text, size_t size, size_t width);

/* Makes the rows, columns and groups of CELLS for KIND of figure: of a grid by the keys of the rows
 * of the table; of bars and curves, in the order of the rows, by their groups and names; of tokens
 * the columns, and of parts (ATTN_VIEW_PARTS) the rows, one for each row that is a token. */
enum attn_status attn_table_axes_read(struct attn_table_cells *cells, enum attn_figure kind,
                                      struct attn_error *err);
