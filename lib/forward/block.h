/* block.h - one block of a model. */
#ifndef ATTN_FORWARD_BLOCK_H
#define ATTN_FORWARD_BLOCK_H

#include "forward/forward_internal.h"

/* Runs LAYER on the residual stream of the current feed. */
void attn_block_run(struct attn_forward *f, int layer);

#endif
