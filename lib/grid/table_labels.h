/* table_labels.h - the columns of a view in a table, its axes while they are made, and names of
 * layers, positions and places. */
#ifndef ATTN_GRID_TABLE_LABELS_H
#define ATTN_GRID_TABLE_LABELS_H

#include "grid/grid.h"
#include "grid/table_view.h"

/* The columns of a view in a table, or SIZE_MAX. */
struct attn_view_columns {
    size_t rows, detail, columns, texts, values, cells, marks;
};

/* Tokens of two runs, each with those of its source. */
enum { ATTN_GRID_OTHER = 2, ATTN_GRID_N_TOKENS = 4 };

/* One side of the matrix. */
struct attn_table_axis {
    struct attn_grid_axis axis;    /* points to the fields below */
    struct attn_token_texts texts; /* [axis.n] of rows or columns that have one */
    size_t *positions;             /* [axis.n] owns */
    size_t *of_rows; /* [n_row of the table] owns; where each of its rows goes, SIZE_MAX: nowhere */
    bool *begins;    /* [axis.n] owns; of pairs, and of tokens of two texts */
};

/* The number in TABLE of COLUMN of a view; SIZE_MAX if it is 0 or missing. */
size_t attn_table_view_find(const struct attn_table *table, unsigned column);

struct attn_view_columns attn_view_columns_find(const struct attn_table *table,
                                                const struct attn_table_view *view);

/* Refuses the column NAME unless COLUMN, its place, has numbers that can be drawn. */
enum attn_status attn_view_columns_check(const struct attn_table *table,
                                         const struct attn_view_columns *of, size_t column,
                                         const char *name, struct attn_error *err);

/* COLUMN; SIZE_MAX if no row has a value. */
size_t attn_table_filled(const struct attn_table *table, size_t column);

/* Whether COLUMN, which may be SIZE_MAX, has ROLE. */
bool attn_table_has_role(const struct attn_table *table, size_t column, enum attn_column_role role);

/* Refuses a FIGURE ("a map") of a table with groups. */
enum attn_status attn_table_refuse_groups(const char *figure, struct attn_error *err);

/* Allocates N_ROW rows of the table, which are placed nowhere, and N rows or columns. */
enum attn_status attn_table_axis_create(struct attn_table_axis *axis, size_t n_row, size_t n,
                                        struct attn_error *err);

/* The axis of the texts of AXIS, without positions. */
struct attn_grid_axis attn_table_named_axis(const struct attn_table_axis *axis, const char *title);

/* Reads the tokens of the runs of PICTURE, each with those of its source. */
enum attn_status attn_table_read_tokens(const struct attn_table_picture *picture,
                                        struct attn_token_texts tokens[ATTN_GRID_N_TOKENS],
                                        struct attn_error *err);

enum attn_status attn_table_check_sides(const struct attn_view_columns *of, struct attn_error *err);

/* A number of the table, or NaN. */
float attn_table_number(const struct attn_table *table, size_t row, size_t values);

static inline const char *attn_table_column_name(const struct attn_table *table, size_t column)
{
    return attn_table_column(table, column)->name;
}

static inline bool attn_table_is_missing(const struct attn_table *table, size_t row, size_t column)
{
    return attn_table_cell(table, row, column).type == ATTN_VALUE_MISSING;
}

/* Whether COLUMN has layers of a model with two stacks, whose names are in the column before. */
bool attn_table_has_stacks(const struct attn_table *table, size_t column);

/* Whether SITE is the end of a decoder's layer, which follows its attention to the source. */
bool attn_grid_is_end(const struct attn_cell *site);

/* Reads the layer in COLUMN of ROW, with its stack if there are two. The end of a decoder's layer
 * comes after its attention to the source: it gets the place of that. */
bool attn_table_read_layer(const struct attn_table *table, size_t row, size_t column,
                           struct attn_location *at);

/* Appends a cell as a label: a text, a layer with its stack, a number; nothing if it is missing. */
void attn_grid_append_cell(struct attn_buffer *out, const struct attn_table *table, size_t row,
                           size_t column);

/* Whether CELL is a position that TOKENS, which may be NULL, have a text for. */
bool attn_grid_is_position(const struct attn_cell *cell, const struct attn_token_texts *tokens);

/* The token at POSITION of the other text, where it is not TOKEN [size]: "/Mary". */
void attn_grid_append_other(struct attn_buffer *out, const char *token, size_t size,
                            const struct attn_token_texts *others, size_t position);

/* The site of a row: in a column of sites, or its part. */
struct attn_cell attn_table_site(const struct attn_table *table, size_t row);

/* Whether rows of TABLE are places in the residual stream (ATTN_VIEW_STREAM). */
bool attn_table_is_stream(const struct attn_table *table, const struct attn_table_view *view);

/* The place of readings in the order of computation after which nothing comes; of tables without
 * sites, which need not have all layers: {.layer = ATTN_NO_LAYER}. */
struct attn_location attn_table_last_place(const struct attn_table *table);

/* Appends the name of a place AT in the residual stream, which ends in the layer LAST:
 * "embedding", "in layer 2", "after layer 2", "output", or of two stacks "decoder embedding",
 * "after cross 1". False for other sites. */
bool attn_grid_append_stream(struct attn_buffer *out, struct attn_location at,
                             struct attn_cell site, const struct attn_location *last);

#endif
