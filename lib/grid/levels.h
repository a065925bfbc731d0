/*
 * levels.h - matrices on their way into pictures: each chosen matrix whole, or pooled so that it
 * fits a given number of cells, as its events come.
 *
 *     struct attn_levels *levels;
 *     attn_levels_create(writer, sites, &levels, &err);              // in _open of a format
 *     attn_levels_limit(levels, 128, 128);
 *     attn_levels_take(levels, event, place, &whole, &err);          // in _event
 *     for (size_t i = 0; i < levels->n; i++) {                       // in _finish
 *         const struct attn_level_matrix *m = &levels->items[i];
 *         float value;
 *         if (attn_level_cell(m, row, column, &value) == ATTN_CELL_VALUE) ... value ...
 *
 * A cell is a value or one of three kinds of gap (colormap.h); 0 is a value. A pooled cell
 * holds of k x k cells the value farthest from 0: a mean would wash out single strong cells. It is
 * masked or hidden when all of its cells are, and not finite when any is. Rows are the queries that
 * are kept, or keys of sites with one row a key; columns are keys, or components.
 *
 * A matrix of at most 128 x 128 cells is kept as it came, 4 bytes a cell. A larger one takes 2
 * bytes a cell: 11 bits of each number, far less than a level of colour.
 */
#ifndef ATTN_GRID_LEVELS_H
#define ATTN_GRID_LEVELS_H

#include "encode/colormap_internal.h"
#include "writers/writer.h"

/* One chosen matrix: a head of a site in one layer, or a site without heads. */
struct attn_level_matrix {
    struct attn_location at;
    size_t n_row, n_column;           /* that came, or will come */
    size_t k;                         /* k x k cells are pooled */
    size_t n_cell_row, n_cell_column; /* that are kept: n_row / k, rounded up */
    float least, most;                /* of the finite values; least > most without any */
    size_t n_not_finite;              /* cells, not pooled */
    size_t n_row_left;                /* that did not come yet */
    void *cells;                      /* owns; NULL until the first row comes */
};

/* Matrices of a run, in the order of the events: layer, site, head. */
struct attn_levels {
    struct attn_writer *writer; /* borrowed */
    attn_site_set sites;
    struct attn_level_matrix *items; /* [n] owns */
    size_t n;
    size_t *first_of_slot; /* [n_slot] owns; the first matrix of a site, SIZE_MAX: it is not kept */
    bool leaves_out_first; /* pooled cells with other rows omit the first row of a causal pattern,
                              which is 1 */
};

/* The sites to draw: those that the picture names, with their selected gradients, or else patterns,
 * or else all selected sites. */
attn_site_set attn_levels_sites(const struct attn_writer *writer);

/* Lists the selected matrices of SITES, a set of ATTN_SITE_BIT. */
enum attn_status attn_levels_create(struct attn_writer *writer, attn_site_set sites,
                                    struct attn_levels **levels, struct attn_error *err);

/* Pools matrices to at most MOST_ROWS and MOST_COLUMNS, 1 or more, before the first event. */
void attn_levels_limit(struct attn_levels *levels, size_t most_rows, size_t most_columns);

/* Keeps the cells of an event of the listed sites. *WHOLE is the matrix that is complete with it,
 * or SIZE_MAX. */
enum attn_status attn_levels_take(struct attn_levels *levels, const struct attn_trace_event *event,
                                  const struct attn_place *place, size_t *whole,
                                  struct attn_error *err);

/* The kind of a cell below n_cell_row and n_cell_column; sets *VALUE for ATTN_CELL_VALUE. Missing
 * rows are masked. */
enum attn_cell_kind attn_level_cell(const struct attn_level_matrix *matrix, size_t row,
                                    size_t column, float *value);

/* The range of SCALE in ROW or, by its span, in all of MATRIX. */
struct attn_color_range attn_level_range(const struct attn_level_matrix *matrix,
                                         const struct attn_color_scale *scale, size_t row);

/* A matrix of N_ROW x N_COLUMN masked cells without a trace, and a number for it. The caller frees
 * its cells with attn_free. */
enum attn_status attn_level_matrix_create(size_t n_row, size_t n_column,
                                          struct attn_level_matrix *matrix, struct attn_error *err);
void attn_level_matrix_put(struct attn_level_matrix *matrix, size_t row, size_t column,
                           float value);

/* Frees the cells of a matrix that was drawn. */
void attn_levels_drop(struct attn_levels *levels, size_t i);

void attn_levels_free(struct attn_levels *levels); /* NULL is allowed */

#endif
