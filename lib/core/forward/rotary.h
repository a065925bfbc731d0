/*
 * rotary.h - the angles by which rotary positions rotate queries and keys.
 *
 *     attn_rope_find_frequencies(&config->rope[layer], n, frequencies);
 *     attn_rotary_fill(&rotary, kernels, row0, n_row, n, pool);  // for each feed
 *     attn_rotary_turn(&rotary, kernels, i, false, q);
 *
 * Angles are float32, as in transformers, because their rounding affects the last digits of
 * patterns more than anything else. Layers with the same rope share a table.
 */
#pragma once

#include "base/pool.h"
#include "forward/session.h"
#include "kernels/kernels.h"
#include "model/config_fields.h"

struct attn_rotary {
    const struct attn_rope *rope; /* borrowed from the config */
    float *frequencies; /* [R/2] radians per position; for longrope [2, R/2], for short and for long
                           texts; for dynamic those of the text that was filled last */
    float *cosines, *sines; /* [n_row, R/2] for the positions of the current feed */
    float *query_factors;   /* [n_row] for these positions; or NULL */
    struct attn_position_numbers positions;
};

/* Computes FREQUENCIES [R/2] of ROPE for a text of N positions. Every operation is rounded to
 * float32. */
void attn_rope_find_frequencies(const struct attn_rope *rope, size_t n, float *frequencies);

/* Returns a number for a text of N positions. Texts of one number turn a position alike. */
size_t attn_rope_reach(const struct attn_rope *rope, size_t n);

/* Returns the factor of cosines and sines of a text of N positions. */
float attn_rope_factor(const struct attn_rope *rope, size_t n);

/* Returns the factor of rotated queries at POSITION (query_growth). */
float attn_rope_query_factor(const struct attn_rope *rope, size_t position);

/* Returns number AXIS (0 to 2) of POSITION. */
size_t attn_position_number(const struct attn_position_numbers *positions, size_t axis,
                            size_t position);

/* Returns the axis by whose number the components of PAIR are rotated. */
size_t attn_rope_axis(const struct attn_rope *rope, size_t pair);

bool attn_rope_is_same(const struct attn_rope *a, const struct attn_rope *b);

/* Rotates the head X by the position of row ROW of the table, or back if IS_BACK. Components that
 * are not rotated stay unchanged. */
void attn_rotary_turn(const struct attn_rotary *rotary, const struct attn_kernels *kernels,
                      size_t row, bool is_back, float *x);

/* Multiplies X [N], a rotated query at row ROW of the table, or its gradient, by the factor of its
 * position. */
void attn_rotary_scale_query(const struct attn_rotary *rotary, const struct attn_kernels *kernels,
                             size_t row, size_t n, float *x);

/* Computes the cosines and sines of positions row0 to row0+n_row-1 in a text of N positions, on
 * POOL; NULL: the caller's thread. */
void attn_rotary_fill(const struct attn_rotary *rotary, const struct attn_kernels *kernels,
                      size_t row0, size_t n_row, size_t n, struct attn_pool *pool);
