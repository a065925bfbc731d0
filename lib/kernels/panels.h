/* panels.h - how the columns of a weight are cut into panels that microkernels take. */
#ifndef ATTN_KERNELS_PANELS_H
#define ATTN_KERNELS_PANELS_H

#include "kernels/gemm.h"
#include "kernels/kernels.h"

/* How columns are cut into panels: of 64, where a rest of fewer than 17 shares its columns evenly
 * with the panel before it. Fewer than 17 columns in all are padded to 32. */
enum { ATTN_PANEL_PADDED = 32 }; /* what fewer than the narrowest has are padded to */
struct attn_panels {
    size_t n_panel;
    size_t n_col; /* total, without padding */
};
struct attn_panels attn_panels_split(size_t n_col);
size_t attn_panel_first(const struct attn_panels *panels, size_t panel); /* first column */
size_t attn_panel_n_col(const struct attn_panels *panels,
                        size_t panel); /* columns that exist, 1..64 */
size_t attn_panel_width(const struct attn_panels *panels,
                        size_t panel); /* columns computed, 17..64 */
size_t attn_panel_find(const struct attn_panels *panels, size_t column); /* the panel with it */

/* Columns first .. first+m-1 of MATRIX as a panel for COMPUTE: float32 [n_row, width], or
 * bfloat16 [n_row rounded up to even / 2][width][2]. Columns that do not exist become 0. */
void attn_panel_pack(const struct attn_matrix *matrix, const struct attn_kernels *kernels,
                     enum attn_compute compute, size_t first, size_t m, void *panel);

/* Rows row .. row+n_row-1 and columns col .. col+n_col-1 of a matrix. */
struct attn_matrix_part {
    size_t row, n_row, col, n_col;
};

/* PART of MATRIX transposed, in float32: [part->n_col, width], a panel of part->n_row columns. */
void attn_panel_pack_transposed(const struct attn_matrix *matrix,
                                const struct attn_kernels *kernels,
                                const struct attn_matrix_part *part, float *panel);

/* Bytes of a number in a panel for COMPUTE, and how many numbers a column of N_ROW has there: in
 * bfloat16 an even number, as of a row of x. */
size_t attn_panel_element(enum attn_compute compute);
size_t attn_panel_depth(size_t n_row, enum attn_compute compute);

#endif
