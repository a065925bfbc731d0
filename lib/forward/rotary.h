/*
 * rotary.h - the angles by which rotary positions turn queries and keys.
 *
 *     attn_rope_find_frequencies(&config->rope[layer], n, frequencies);
 *     attn_rotary_fill(&rotary, kernels, row0, n_row, n, pool);     // each feed
 *     attn_rotary_turn(&rotary, kernels, i, false, q);
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
    float *frequencies;           /* [R/2] radians a position; of longrope [2, R/2]: of short and
                                     of long texts */
    float *cosines, *sines;       /* [n_row, R/2] of the positions of the current feed */
};

/* FREQUENCIES [R/2] of ROPE in a text of N positions, every operation rounded to float32. */
void attn_rope_find_frequencies(const struct attn_rope *rope, size_t n, float *frequencies);

/* Whether a text of N positions is longer than those that ROPE has other factors for. */
bool attn_rope_is_long(const struct attn_rope *rope, size_t n);

/* The factor of cosines and sines. */
float attn_rope_factor(const struct attn_rope *rope);

bool attn_rope_is_same(const struct attn_rope *a, const struct attn_rope *b);

/* Turns the head X by the position of row ROW of the table, or back. Components that are not turned
 * stay. */
void attn_rotary_turn(const struct attn_rotary *rotary, const struct attn_kernels *kernels,
                      size_t row, bool is_back, float *x);

/* Cosines and sines of positions row0 .. row0+n_row-1 of a text of N, on POOL; NULL: the caller's
 * thread. */
void attn_rotary_fill(const struct attn_rotary *rotary, const struct attn_kernels *kernels,
                      size_t row0, size_t n_row, size_t n, struct attn_pool *pool);

#endif
