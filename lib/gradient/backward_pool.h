/* backward_pool.h - the backward pass of SigLIP's head (forward/pool_head.h). */
#ifndef ATTN_GRADIENT_BACKWARD_POOL_H
#define ATTN_GRADIENT_BACKWARD_POOL_H

#include "gradient/backward_internal.h"

/* Returns the number of floats of b->pool_head. */
size_t attn_pool_head_back_size(const struct attn_config *config, size_t n);

/* Computes DX [n, D], the gradient of the rows that the head read, from D [D], that of image_embed.
 * The session of B ran the head of the same picture last. */
void attn_pool_head_back(struct attn_backward *b, const float *d, float *dx);

#endif
