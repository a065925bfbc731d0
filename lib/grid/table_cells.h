/*
 * table_cells.h - a table as a grid: its numbers in the rows and columns that a view names.
 *
 *     struct attn_table_cells cells = {0};
 *     attn_table_cells_read(table, picture, ATTN_FIGURE_MATRIX, scale, &cells, &err);
 *     ... cells.grid, cells.rows.of_rows[i] ...
 *     attn_table_cells_release(&cells);
 */
#ifndef ATTN_GRID_TABLE_CELLS_H
#define ATTN_GRID_TABLE_CELLS_H

#include "grid/grid.h"
#include "grid/table_labels.h"

/* The words for a column. Printable. Initialize with = {0}. */
struct attn_table_words {
    struct attn_buffer bytes; /* owns */
    const char *title;        /* with the intervention: "... without each head"; NULL if unknown */
    const char *quantity;     /* terminated: "change of logit(are) - logit(is)" */
};

/* Fills WORDS, which is {0}; bytes.has_failed is set if memory ran out. */
void attn_table_words_find(struct attn_table_words *words, const struct attn_column *column,
                           const struct attn_table_picture *picture);

void attn_table_words_release(struct attn_table_words *words);

/* A grid with what it points to. Initialize with = {0}; it is not to be copied. */
struct attn_table_cells {
    struct attn_view_columns of; /* the columns of the table that the view names */
    struct attn_grid grid;
    struct attn_level_matrix matrix;    /* of it; owns its cells */
    struct attn_level_matrix *matrices; /* [grid.n] of parts; owns */
    struct attn_grid_part *parts;       /* [grid.n] owns */
    bool *marks;                        /* [rows] owns */
    struct attn_table_words words;
    struct attn_buffer quantity;  /* with its unit */
    struct attn_buffer both;      /* "position: clean/corrupted", where labels are of two texts */
    struct attn_buffer joined[2]; /* texts with the second text of the input */
    struct attn_table_axis rows, columns, groups;
    struct attn_token_texts texts; /* of the cells */
    struct attn_token_texts
        tokens[ATTN_GRID_N_TOKENS]; /* of the runs, if their positions are drawn */
    struct attn_grid_causes causes;
    char note[80];
    float *lows, *highs;                 /* [cells] of plots; owns */
    const struct attn_head_kind **kinds; /* [n_row of the table] of heads; owns */
    double *weights;                     /* [n_row of the table] owns */
    size_t *order;                       /* [n_row of the table] of heads on a poster; owns */
};

/* Reads TABLE as KIND of figure, not ATTN_FIGURE_DEFAULT, into CELLS, which is {0}. ASKED is how
 * the user wants the scale. Release CELLS after a failure, too. */
enum attn_status attn_table_cells_read(const struct attn_table *table,
                                       const struct attn_table_picture *picture,
                                       enum attn_figure kind, struct attn_color_scale asked,
                                       struct attn_table_cells *cells, struct attn_error *err);
void attn_table_cells_release(struct attn_table_cells *cells);

/* Digits after the point of COLUMN in cells, where MOST is the largest: that gets two figures. */
int attn_table_cell_digits(const struct attn_column *column, double most, bool has_parts);

#endif
