/*
 * table_grid.h - converts a table into a grid: places its numbers in rows and columns as a view
 * specifies.
 *
 *     struct attn_table_cells cells = {0};
 *     attn_table_cells_read(table, picture, ATTN_FIGURE_MATRIX, &options, &cells, &err);
 *     ... cells.grid, cells.rows.of_rows[i] ...
 *     attn_table_cells_release(&cells);
 */
#pragma once

#include "figures/table_axis.h"
#include "measures/head_kind.h"
#include "pictures/grid.h"

/* Names of a column, printable. Initialize with = {0}. */
struct attn_table_words {
    struct attn_buffer bytes; /* owns */
    const char *title;    /* includes the intervention: "... without each head"; NULL if unknown */
    const char *quantity; /* null-terminated: "change of logit(are) - logit(is)" */
};

/* Fills WORDS, which must be {0}; bytes.has_failed is set if memory ran out. The caller releases
 * the bytes. */
void attn_table_words_find(struct attn_table_words *words, const struct attn_column *column,
                           const struct attn_table_picture *picture);

/* A grid and the memory that it refers to. Initialize with = {0}. Must not be copied. */
struct attn_table_cells {
    const struct attn_table *table; /* borrowed, as is the picture */
    const struct attn_table_picture *picture;
    struct attn_view_columns of; /* the columns of the table that the view names */
    struct attn_store *store;    /* owns; has the arrays, also of the axes, but `types` and texts */
    struct attn_grid grid;
    struct attn_level_matrix matrix;    /* the matrix of the grid; owns its cells */
    struct attn_level_matrix *matrices; /* [grid.n] matrices of the parts; own cells */
    struct attn_grid_part *parts;       /* [grid.n] */
    bool *marks;                        /* [rows] */
    size_t *placed; /* [n_cell] the row of the table in each cell of the matrix; or SIZE_MAX */
    size_t n_cell;
    struct attn_table_words words;
    struct attn_buffer quantity;  /* quantity with its unit */
    struct attn_buffer both;      /* "position: clean/corrupted", if labels show two texts */
    struct attn_buffer joined[2]; /* the two texts, each followed by the second text of the input */
    struct attn_table_axis rows, columns, groups;
    struct attn_token_texts texts; /* texts in the cells */
    struct attn_token_texts
        tokens[ATTN_GRID_N_TOKENS]; /* tokens of the runs, if positions are drawn */
    char note[80];
    float *lows, *highs;                /* [cells] for plots: ends of intervals */
    struct attn_head_type *types;       /* [n_row of the table] for maps of heads; owns */
    const struct attn_head_type **bars; /* [cells] of a map */
};

/* Returns true if the rows of PICTURE are parts of the text of its run. */
static inline bool attn_table_has_spans(const struct attn_table_picture *picture)
{
    return (picture->view.traits & ATTN_VIEW_SPANS) != 0 && picture->run && !picture->run->backdrop;
}

/* Whether NAME, of a row of a table with spans, is a span, and not the other tokens. */
static inline bool attn_table_is_span(const struct attn_cell *name)
{
    return attn_cell_word(name, "rest") != 0 && attn_cell_word(name, "parked") != 0;
}

/* Reads TABLE into CELLS, which must be {0}, for KIND of figure, which must not be
 * ATTN_FIGURE_DEFAULT. Release CELLS after a failure, too. */
enum attn_status attn_table_cells_read(const struct attn_table *table,
                                       const struct attn_table_picture *picture,
                                       enum attn_figure kind,
                                       const struct attn_picture_options *options,
                                       struct attn_table_cells *cells, struct attn_error *err);
void attn_table_cells_release(struct attn_table_cells *cells);

/* Returns the decimals of COLUMN in cells, so that the largest number, MOST, has two significant
 * digits. */
int attn_table_cell_digits(const struct attn_column *column, double most, bool has_parts);

/* Reads the type of the head in each row of TABLE, without `name` and `largest`. The caller frees
 * *types. */
enum attn_status attn_table_types_read(const struct attn_table *table,
                                       struct attn_head_type **types, struct attn_error *err);

/* Returns true if TABLE has the shares of the rest of each head, which are NaN without. */
bool attn_table_has_rest(const struct attn_table *table);
