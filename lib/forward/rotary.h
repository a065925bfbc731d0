/*
 * rotary.h - the angles by which rotary positions turn queries and keys.
 *
 *     attn_rope_find_frequencies(&config->rope[layer], frequencies);
 *     attn_rotary_fill(&rotary, kernels, row0, n_row, pool);     // each feed
 *     kernels->rotate(q, rotary.cosines + i * n_pair, rotary.sines + i * n_pair, n_pair);
 *
 * Angles are float32, as transformers computes them: they decide the last digits of patterns more
 * than all else does. Layers with the same rope share a table.
 */
#ifndef ATTN_FORWARD_ROTARY_H
#define ATTN_FORWARD_ROTARY_H

#include "base/pool.h"
#include "kernels/kernels.h"
#include "model/config.h"

struct attn_rotary {
    const struct attn_rope *rope; /* borrowed from the config */
    float *frequencies;           /* [R/2] radians a position */
    float *cosines, *sines;       /* [n_row, R/2] of the positions of the current feed */
};

/* FREQUENCIES [R/2] of ROPE, every operation rounded to float32. */
void attn_rope_find_frequencies(const struct attn_rope *rope, float *frequencies);

bool attn_rope_is_same(const struct attn_rope *a, const struct attn_rope *b);

/* Cosines and sines of positions row0 .. row0+n_row-1, on POOL; NULL: the caller's thread. */
void attn_rotary_fill(const struct attn_rotary *rotary, const struct attn_kernels *kernels,
                      size_t row0, size_t n_row, struct attn_pool *pool);

#endif
