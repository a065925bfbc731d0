/* tile_grid.h - the rows that LLaVA-NeXT and LLaVA-OneVision make of a picture with tiles: first
 * those of the whole picture, then those of one grid of all tiles, from which what was padded is
 * cut off, which may be shrunk, and whose lines end with a learned row. For the files of this
 * layer. */
#pragma once

#include "model/vision_config.h"

#include <stddef.h>

struct attn_tile_grid {
    size_t side;                    /* cells of a side of a tile; 0: tiles are not joined */
    size_t tile_rows, tile_cols;    /* 0: no tiles */
    size_t top, left, n_row, n_col; /* the cells of all tiles that are left */
    size_t rows, columns;           /* what they are shrunk to: the cells of the grid */
};

/* Returns the grid of TILE_ROWS x TILE_COLS tiles with SIDE x SIDE cells, of a picture of HEIGHT x
 * WIDTH pixels. */
struct attn_tile_grid attn_tile_grid_find(const struct attn_vision_config *vision, size_t side,
                                          size_t tile_rows, size_t tile_cols, size_t height,
                                          size_t width);

/* Returns the number of rows that are made, line ends included; without tiles one follows. */
size_t attn_tile_grid_n_row(const struct attn_tile_grid *grid);

/* Whether row number I of them is the end of a line, not a cell. */
bool attn_tile_grid_is_end(const struct attn_tile_grid *grid, size_t i);

/* Makes ROWS [n_row, D] from CELLS [tiles and the whole, side * side, D], and END [D]. */
void attn_tile_grid_make(const struct attn_tile_grid *grid, const float *cells, const float *end,
                         size_t d, float *rows);

/* Computes D_CELLS, the gradient of the cells, from D_ROWS. */
void attn_tile_grid_back(const struct attn_tile_grid *grid, const float *d_rows, size_t d,
                         float *d_cells);
