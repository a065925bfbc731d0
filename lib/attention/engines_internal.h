/* engines_internal.h - the engines that compute one head over listed or visible keys. */
#ifndef ATTN_ATTENTION_ENGINES_INTERNAL_H
#define ATTN_ATTENTION_ENGINES_INTERNAL_H

#include "attention/tile.h"
#include "kernels/gemm_internal.h"
#include "kernels/panels.h"

#include <stddef.h>

/* --- dense.c: all keys ------------------------------------------------------------------------ */

/*
 * Exact attention of one head, a tile of query rows at a time.
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

/* Computes a tile of n_row rows, 32 or the feed's rest. Returns the number of rows that edits
 * changed. SCRATCH is the worker's. Edits reach listed cells only. */
size_t attn_dense_run(const struct attn_dense *dense, const struct attn_tile *tile, float *scratch);

/* --- gather.c: scattered keys ----------------------------------------------------------------- */

/* Exact attention of one head over scattered keys: the keys and values of a row are copied
 * together, then it is a small dense problem, so work and memory grow with the pairs. Keys lie as
 * rows, [n_max, d_head]. Each row is one chain of operations over its own keys, so how rows are fed
 * or split changes no bit; a row with every key gives the bits of dense attention. */

/* The microkernels of one feed. */
struct attn_gather {
    const struct attn_kernels *kernels;
    struct attn_panels value_panels;
    struct attn_gemm_kernel scores;                    /* one row, one panel of keys */
    struct attn_gemm_kernel values[ATTN_N_PANEL_KIND]; /* one row, one panel of columns */
};

void attn_gather_plan(struct attn_gather *gather, const struct attn_gemm_engine *engine,
                      const struct attn_head_shape *shape);

/* Floats of scratch for each worker. */
size_t attn_gather_scratch(const struct attn_head_shape *shape,
                           const struct attn_attention *attention);

/* Computes a tile of up to ATTN_QUERY_TILE rows, as attn_dense_run does. */
size_t attn_gather_run(const struct attn_gather *gather, const struct attn_tile *tile,
                       float *scratch);

/* --- blockwise.c: without a row of the matrix ------------------------------------------------- */

/*
 * Exact attention of one head in memory that does not grow with the number of keys: a running
 * maximum and sum over blocks of keys (Milakov & Gimelshein 1805.02867, Dao et al. 2205.14135).
 *
 * The same z as dense.c to rounding, about 1e-7, from the same packed keys and values; no row of
 * the matrix ever exists as a whole. Blocks are cut by the absolute position of keys, and a row
 * passes over those that hold a key it may look at, so that its bits do not depend on the tile it
 * is in.
 *
 *     attn_blockwise_run(engine, &tile, scratch);          // on any thread
 */

enum { ATTN_BLOCKWISE_N_KEY = 512 }; /* keys in a block */

/* Floats of scratch for each worker: of d_value alone, not of n_max. */
size_t attn_blockwise_scratch(const struct attn_head_shape *shape);

/* Computes z of a tile of up to 32 rows, any number of tiles at any time, without planned memory. A
 * row without visible keys, or whose scores are all -inf, gives zeros. SCRATCH is the worker's. */
void attn_blockwise_run(const struct attn_gemm_engine *engine, const struct attn_tile *tile,
                        float *scratch);

#endif
