/*
 * dense.h - exact attention of one head, a tile of query rows at a time.
 *
 * Keys and values are kept packed for the products (kv.h). Sums, scores and softmax are float32,
 * also where products are of bfloat16. A tile's scores live in the worker's scratch, so memory is
 * O(S) a row whether or not the matrix is watched. Every row is the same chain of operations for
 * any tile, so prefill and decode give the same bits. Where cells are listed, panels that no row of
 * the tile looks into are left out.
 *
 *     attn_dense_plan(&dense, engine, &shape, n_row);  // before each feed, on the feeding thread
 *     attn_dense_run(&dense, &tile, scratch);          // on any thread
 */
#ifndef ATTN_ATTENTION_DENSE_H
#define ATTN_ATTENTION_DENSE_H

#include "attention/tile.h"
#include "kernels/gemm_internal.h"
#include "kernels/panels.h"

#include <stddef.h>

enum { ATTN_N_PANEL_KIND = 3 }; /* widths that the panels of one matrix may have */

/* Panels of a matrix have one width but for the last two: three kinds. The panel that stands for
 * KIND, and the kind of PANEL. */
size_t attn_dense_kind_panel(const struct attn_panels *panels, int kind);
int attn_dense_panel_kind(const struct attn_panels *panels, size_t panel);

/* The microkernels of one feed. */
struct attn_dense {
    const struct attn_gemm_engine *engine; /* borrowed */
    bool is_bf16; /* q, k, v, and the pattern that is multiplied by v, are rounded to bfloat16 */
    struct attn_panels value_panels;
    size_t rest;                          /* rows of the last tile */
    struct attn_gemm_kernel scores[2][2]; /* [full tile, last tile]: q k^T, [a panel of keys, the
                                             first half of one] */
    struct attn_gemm_kernel values[2][ATTN_N_PANEL_KIND]; /* pattern v, one panel of columns */
};

/* Finds the kernels, of float32 or IS_BF16, for a feed of N_ROW positions, tiled from the first. */
void attn_dense_plan(struct attn_dense *dense, const struct attn_gemm_engine *engine,
                     const struct attn_head_shape *shape, bool is_bf16, size_t n_row);

/* Floats of scratch for each worker. */
size_t attn_dense_scratch(const struct attn_head_shape *shape,
                          const struct attn_attention *attention);

/*
 * Computes a tile of n_row rows, 32 or the feed's rest. Returns the number of rows that edits
 * changed. SCRATCH is the worker's. Edits reach listed cells only.
 */
size_t attn_dense_run(const struct attn_dense *dense, const struct attn_tile *tile, float *scratch);

#endif
