/* heads_state.h - what the files of heads.h share. */
#ifndef ATTN_ATTENTION_HEADS_STATE_H
#define ATTN_ATTENTION_HEADS_STATE_H

#include "attention/heads.h"

/* Floats from one watched row to the next. */
size_t attn_heads_row_size(const struct attn_attention *attention, size_t n_key);

/* Matrices to keep: the watched ones, and the lists of their cells. */
size_t attn_heads_n_matrix(const struct attn_attention *attention, uint64_t watched);

struct attn_linear_attention attn_heads_linear(const struct attn_attention *attention,
                                               const struct attn_dense_shape *shape,
                                               const struct attn_kernels *kernels);

/* heads_linear.c: z of all heads that are needed, before any wave; then the watched rows of a
 * tile. */
void attn_heads_run_linear(const struct attn_heads *heads);
void attn_heads_run_linear_tile(const struct attn_heads *heads, const struct attn_tile *tile,
                                float *scratch);

#endif
