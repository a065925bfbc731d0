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
 *     attn_blockwise_run(engine, &shape, &tile, scratch);          // on any thread
 */
#ifndef ATTN_ATTENTION_BLOCKWISE_H
#define ATTN_ATTENTION_BLOCKWISE_H

#include "attention/dense.h"

enum { ATTN_BLOCKWISE_N_KEY = 512 }; /* keys in a block */

/* Floats of scratch for each worker: of d_value alone, not of n_max. */
size_t attn_blockwise_scratch(const struct attn_dense_shape *shape);

/* Some rows of one head, up to 32; any number at any time, nothing is planned for it. */
struct attn_blockwise_tile {
    bool is_causal; /* key j is visible to row i when j <= position + i; else every key is */
    float scale;    /* attn_attention_scale */
    const float *q; /* [n_row, d_head], stride shape.ldq */
    const struct attn_kv *kv;
    size_t position, n_row, n_key; /* 1 <= n_row <= ATTN_QUERY_TILE */
    float *z;                      /* [n_row, d_value], stride ldz */
    size_t ldz;
};

/* Computes z. A row that may look at nothing, or whose scores are all -inf, gives zeros. SCRATCH is
 * the worker's. */
void attn_blockwise_run(const struct attn_gemm_engine *engine, const struct attn_dense_shape *shape,
                        const struct attn_blockwise_tile *tile, float *scratch);

#endif
