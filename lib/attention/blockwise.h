/*
 * blockwise.h - exact attention of one head in memory that does not grow with the number of keys:
 * a running maximum and sum over blocks of keys (Milakov & Gimelshein 1805.02867, Dao et al.
 * 2205.14135).
 *
 * The same z as dense.h to rounding, about 1e-7, from the same packed keys and values; no row of
 * the matrix ever exists as a whole. Blocks are cut by the absolute position of keys, and a row
 * passes over those that hold a key it may look at, so that its bits do not depend on the tile it
 * is in.
 *
 *     attn_blockwise_run(engine, &tile, scratch);          // on any thread
 */
#ifndef ATTN_ATTENTION_BLOCKWISE_H
#define ATTN_ATTENTION_BLOCKWISE_H

#include "attention/dense.h"

enum { ATTN_BLOCKWISE_N_KEY = 512 }; /* keys in a block */

/* Floats of scratch for each worker: of d_value alone, not of n_max. */
size_t attn_blockwise_scratch(const struct attn_head_shape *shape);

/*
 * Computes z of a tile of up to 32 rows, any number of tiles at any time, without planned memory. A
 * row without visible keys, or whose scores are all -inf, gives zeros. SCRATCH is the worker's.
 */
void attn_blockwise_run(const struct attn_gemm_engine *engine, const struct attn_tile *tile,
                        float *scratch);

#endif
