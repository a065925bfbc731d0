/*
 * levels.h - collects the selected matrices for pictures from the events of a run, each one whole
 * or pooled to a given number of cells.
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
 * A cell is a value or one of three kinds of gap (colormap.h); 0 is a value. A pooled cell stores,
 * of k x k cells, the value farthest from 0: a mean would wash out single strong cells. It is
 * masked or hidden if all of its cells are, and not finite if any is. Rows are the recorded
 * queries, or keys for sites with one row per key; columns are keys, or components.
 *
 * A matrix of at most 128 x 128 cells is stored exactly, with 4 bytes a cell. A larger one is
 * stored with 2 bytes a cell: 11 bits of precision, much finer than a level of color.
 */
#pragma once

#include "pictures/colormap_internal.h"
#include "tensors/writer.h"
#include "towers/maps/picture_maps.h"
#include "trace/trace_internal.h"

/* One selected matrix: a head of a site in one layer, or a site without heads. */
struct attn_level_matrix {
    struct attn_location at;
    size_t image;                     /* number of the image that it is of, if each has one */
    enum attn_map_layer layer;        /* the cells of a map; see attn_levels_read_map */
    size_t n_row, n_column;           /* size of the matrix before pooling */
    size_t k;                         /* k x k cells are pooled */
    size_t n_cell_row, n_cell_column; /* stored cells: n_row / k and n_column / k, rounded up */
    float least, most;   /* range of the finite values; least > most if there are none */
    size_t n_not_finite; /* number of cells with NaN or infinity, before pooling */
    size_t n_row_left;   /* rows still to come */
    void *cells;         /* owns; NULL until the first row */
};

/* Matrices of a run, in the order of the events: layer, site, head, image. */
struct attn_levels {
    struct attn_writer *writer; /* borrowed */
    struct attn_site_set sites;
    struct attn_level_matrix *items; /* [n] owns */
    size_t n;
    /* [n_slot] owns; index of a site's first matrix; SIZE_MAX: not selected */
    size_t *first_of_slot;
    /* the first row of a causal pattern, which is always 1, is left out of pooled cells that have
     * other rows */
    bool leaves_out_first;
    bool has_maps; /* each row is a map of a picture, then its shares; events have no cells */
    bool has_rows; /* of a query; else of the mean of all */
};

/* Returns the sites to draw: those named in the picture options with their selected gradients; by
 * default patterns, or without patterns all selected sites. */
struct attn_site_set attn_levels_sites(const struct attn_writer *writer);

/* Lists the selected matrices of SITES. The caller frees *LEVELS. */
enum attn_status attn_levels_create(struct attn_writer *writer, struct attn_site_set sites,
                                    struct attn_levels **levels, struct attn_error *err);

/* Makes the matrices hold maps: a row has a column for each cell of the map, then one for each
 * share (towers/maps/picture_maps.h). If there is one head, its maps are those of the first N_MAP
 * queries, else there is one, the mean. Maps over image number i are planned with N_CELL[i] cells.
 * Call before the first event. */
void attn_levels_take_maps(struct attn_levels *levels, size_t n_map, const size_t *n_cell);

/* Reads map I, whose layer of the model is complete, in the cells of LAYER. Sinks are hidden. */
enum attn_status attn_levels_read_map(struct attn_levels *levels, size_t i,
                                      enum attn_map_layer layer, struct attn_error *err);

/* Returns how many of the matrices [N] are of the first one's head: one, or one for each image. */
size_t attn_levels_n_image(const struct attn_level_matrix *matrices, size_t n);

/* Pools matrices to at most MOST_ROWS x MOST_COLUMNS cells, each at least 1. Call before the first
 * event. */
void attn_levels_limit(struct attn_levels *levels, size_t most_rows, size_t most_columns);

/* Stores the cells of an event; events of other sites are ignored. *WHOLE is the index of the
 * matrix that this event completed, or SIZE_MAX. */
enum attn_status attn_levels_take(struct attn_levels *levels, const struct attn_trace_event *event,
                                  const struct attn_place *place, size_t *whole,
                                  struct attn_error *err);

/* Returns the kind of the stored cell at ROW, COLUMN; sets *VALUE for ATTN_CELL_VALUE. Rows that
 * are missing are masked. */
enum attn_cell_kind attn_level_cell(const struct attn_level_matrix *matrix, size_t row,
                                    size_t column, float *value);

/* Returns the range of the colors of MATRIX. */
struct attn_color_range attn_level_range(const struct attn_level_matrix *matrix,
                                         const struct attn_color_scale *scale);

/* A cell of a thumbnail: of each of its rows the number farthest from 0, and the mean of these. */
struct attn_mean_cell {
    float sum;
    uint32_t n_row; /* number of rows with a finite number */
    bool is_hidden, is_not_finite;
};

/* Adds ROW of a matrix of N_COLUMN columns to the cells of its thumbnail: CELLS [n_cell], each of
 * as many columns. IS_SHARE: numbers below 0 count as 0. */
void attn_mean_cells_add(struct attn_mean_cell *cells, size_t n_cell, struct attn_row row,
                         size_t n_column, bool is_share);

/* Creates a matrix of N_ROW x N_COLUMN masked cells that belongs to no run; the second function
 * sets one of its numbers. The caller frees its cells with attn_free. */
enum attn_status attn_level_matrix_create(size_t n_row, size_t n_column,
                                          struct attn_level_matrix *matrix, struct attn_error *err);
void attn_level_matrix_put(struct attn_level_matrix *matrix, size_t row, size_t column,
                           float value);

/* Copies row 0 of FROM, which has as many columns, to ROW of such a matrix. */
void attn_level_matrix_copy_row(struct attn_level_matrix *matrix, size_t row,
                                const struct attn_level_matrix *from);

/* Frees the cells of matrix I, which was drawn. */
void attn_levels_drop(struct attn_levels *levels, size_t i);

void attn_levels_free(struct attn_levels *levels); /* NULL is allowed */
