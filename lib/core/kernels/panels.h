/* panels.h - cuts the columns of a weight into panels for microkernels. */
#pragma once

#include "kernels/gemm.h"
#include "kernels/kernels.h"

/* Panels have 64 columns. If fewer than 17 remain for the last one, the last two panels share their
 * columns evenly. A matrix of fewer than 17 columns is padded to 32. */
enum { ATTN_PANEL_PADDED = 32 }; /* width of a padded panel */
struct attn_panels {
    size_t n_panel;
    size_t n_col; /* total, without padding */
};
struct attn_panels attn_panels_split(size_t n_col);
/* The first column of a panel. */
size_t attn_panel_first(const struct attn_panels *panels, size_t panel);
size_t attn_panel_n_col(const struct attn_panels *panels,
                        size_t panel); /* columns that exist, 1..64 */
size_t attn_panel_width(const struct attn_panels *panels,
                        size_t panel); /* columns computed, 17..64 */
/* The panel that contains COLUMN. */
size_t attn_panel_find(const struct attn_panels *panels, size_t column);

/* With AVX2, whose registers hold the sums of 16 columns at most, a full panel of float32 is four
 * slices [n_row, 16], one after the other, so that a product reads adjacent memory. Returns the
 * floats from one slice of such a panel to the next, or 0 for other panels. */
enum { ATTN_SLICE = 16 };
size_t attn_panel_slice(const struct attn_kernels *kernels, enum attn_compute compute, size_t width,
                        size_t n_row);

/* Packs columns first .. first+m-1 of MATRIX into a panel for COMPUTE: float32 [n_row, width] or
 * slices, or bfloat16 [n_row rounded up to even / 2][width][2]. Padding columns become 0. */
void attn_panel_pack(const struct attn_matrix *matrix, const struct attn_kernels *kernels,
                     enum attn_compute compute, size_t first, size_t m, void *panel);

/* Selects rows row .. row+n_row-1 and columns col .. col+n_col-1 of a matrix. */
struct attn_matrix_part {
    size_t row, n_row, col, n_col;
};

/* Packs PART of MATRIX, transposed, in float32: PANEL [part->n_col, width] has part->n_row columns.
 */
void attn_panel_pack_transposed(const struct attn_matrix *matrix,
                                const struct attn_kernels *kernels,
                                const struct attn_matrix_part *part, float *panel);

/* The bytes of a number in a panel for COMPUTE, and the depth of a panel for N_ROW rows: in
 * bfloat16 rounded up to an even number. */
size_t attn_panel_element(enum attn_compute compute);
size_t attn_panel_depth(size_t n_row, enum attn_compute compute);
