/* pool_head.h - SigLIP's head, which makes one vector of all rows of a picture. */
#ifndef ATTN_TOWERS_POOL_HEAD_H
#define ATTN_TOWERS_POOL_HEAD_H

#include "forward/forward_internal.h"

/* What the head computes for a picture of N rows. */
struct attn_pool_rows {
    float *qkv;     /* [n, 3 D]: all of q, k and v of the rows. q is not used */
    float *q;       /* [3 D]: q, k and v of the probe. k and v are not used */
    float *qk;      /* [H, n] */
    float *scores;  /* [H, n] */
    float *pattern; /* [H, n] */
    float *z;       /* [D] */
    float *out;     /* [D], which the MLP adds to */
    float *normed;  /* [D], the input of the MLP */
    float *hidden;  /* [F] */
};

/* Returns the tensors that the head of F computed last, for a picture of N rows. */
struct attn_pool_rows attn_pool_head_rows(const struct attn_forward *f, size_t n);

/* Returns the number of floats that these take. */
size_t attn_pool_head_size(const struct attn_forward *f, size_t n);

/* Computes image_embed Y [D] from the rows X [n, D] of SEQUENCE, and visits the sites of the head.
 */
void attn_pool_head_run(struct attn_forward *f, size_t sequence, const float *x, size_t n,
                        float *y);

#endif
