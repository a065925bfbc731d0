/* engines_internal.h - the engines that compute one head: dense, gather and blockwise. */
#pragma once

#include "attention/tile.h"
#include "kernels/gemm_internal.h"
#include "kernels/panels.h"

#include <stddef.h>

/* --- dense.c: all keys ------------------------------------------------------------------------ */

/*
 * Exact attention of one head, a tile of query rows at a time.
 *
 * Keys and values are packed for the products (kv.h). Sums, scores and softmax are float32, even if
 * products are bfloat16. The scores of a tile are in the worker's scratch, so memory per row is
 * O(S), whether or not the matrix is watched. Each row is the same chain of operations in any tile,
 * so prefill and decode give the same bits. If cells are listed, panels that no row of the tile
 * needs are skipped.
 *
 *     attn_dense_plan(&dense, engine, &shape, n_row);  // before each feed, on the feeding thread
 *     attn_dense_run(&dense, &tile, scratch);          // on any thread
 */

enum { ATTN_N_PANEL_KIND = 3 }; /* number of widths that the panels of a matrix may have */

/* All panels of a matrix have the same width except the last two, which makes three kinds. These
 * return a panel of kind KIND, and the kind of PANEL. */
size_t attn_dense_kind_panel(const struct attn_panels *panels, int kind);
int attn_dense_panel_kind(const struct attn_panels *panels, size_t panel);

/* The microkernels of dense attention for one feed. */
struct attn_dense {
    const struct attn_gemm_engine *engine; /* borrowed */
    bool is_bf16; /* q, k, v and the pattern are rounded to bfloat16 before they are multiplied */
    struct attn_panels value_panels;
    size_t rest; /* number of rows of the last tile */
    /* For q k^T: [full tile, last tile][a panel of keys, half a panel]. */
    struct attn_gemm_kernel scores[2][2];
    /* For pattern v, one panel of columns: [full tile, last tile][kind of panel]. */
    struct attn_gemm_kernel values[2][ATTN_N_PANEL_KIND];
};

/* Finds the kernels for a feed of N_ROW positions, in bfloat16 if IS_BF16, else in float32. Tiles
 * begin at the first position. */
void attn_dense_plan(struct attn_dense *dense, const struct attn_gemm_engine *engine,
                     const struct attn_head_shape *shape, bool is_bf16, size_t n_row);

/* Returns the floats of scratch that each worker needs. */
size_t attn_dense_scratch(const struct attn_head_shape *shape,
                          const struct attn_attention *attention);

/* Computes a tile of n_row rows: 32, or the last rows of the feed. Returns the number of rows that
 * edits changed. SCRATCH belongs to the worker. Edits change listed cells only. */
size_t attn_dense_run(const struct attn_dense *dense, const struct attn_tile *tile, float *scratch);

/* --- gather.c: scattered keys ----------------------------------------------------------------- */

/* Exact attention of one head over scattered keys. The keys and values of a row are copied
 * together; the rest is a small dense problem. So work and memory grow with the number of pairs.
 * Keys are stored as rows, [n_max, d_head]. Each row is one chain of operations over its own keys,
 * so the bits do not depend on how rows are fed or split. A row with every key gives the bits of
 * dense attention. */

/* The microkernels of gathered attention for one feed. */
struct attn_gather {
    const struct attn_kernels *kernels;
    struct attn_panels value_panels;
    struct attn_gemm_kernel scores;                    /* for one row and one panel of keys */
    struct attn_gemm_kernel values[ATTN_N_PANEL_KIND]; /* for one row and one panel of columns */
};

void attn_gather_plan(struct attn_gather *gather, const struct attn_gemm_engine *engine,
                      const struct attn_head_shape *shape);

/* Returns the floats of scratch that each worker needs. */
size_t attn_gather_scratch(const struct attn_head_shape *shape,
                           const struct attn_attention *attention);

/* Computes a tile of up to ATTN_QUERY_TILE rows and returns the number of rows that edits changed,
 * like attn_dense_run. */
size_t attn_gather_run(const struct attn_gather *gather, const struct attn_tile *tile,
                       float *scratch);

/* --- blockwise.c: without a row of the matrix ------------------------------------------------- */

/*
 * Exact attention of one head in memory that does not grow with the number of keys: a running
 * maximum and sum over blocks of keys (Milakov & Gimelshein 1805.02867, Dao et al. 2205.14135).
 *
 * The result z equals that of dense.c up to rounding, about 1e-7, and is computed from the same
 * packed keys and values. No row of the matrix is ever stored as a whole. Blocks are cut by the
 * absolute positions of keys, and a row skips blocks without a visible key, so its bits do not
 * depend on the tile it is in.
 *
 *     attn_blockwise_run(engine, &tile, scratch);  // on any thread
 */

enum { ATTN_BLOCKWISE_N_KEY = 512 }; /* keys in a block */

/* Returns the floats of scratch that each worker needs. They depend on d_value, not on n_max. */
size_t attn_blockwise_scratch(const struct attn_head_shape *shape);

/* Computes z of a tile of up to 32 rows. Needs no planning, and may be called for any number of
 * tiles at once. A row without visible keys, or whose scores are all -inf, is 0. SCRATCH belongs to
 * the worker. */
void attn_blockwise_run(const struct attn_gemm_engine *engine, const struct attn_tile *tile,
                        float *scratch);
