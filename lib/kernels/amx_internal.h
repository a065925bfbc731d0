/*
 * amx_internal.h - products in bfloat16 by tiles: Intel's AMX.
 *
 *     const struct attn_tiles *tiles = attn_amx_find();         // NULL: not here
 *     tiles->multiply(&shape, a, b, c, NULL);
 *     tiles->release();
 *
 * An element of a product is made of blocks of 32 k: the sums of the even and of the odd k of a
 * block, each from +0 and by one fma a product, are added, and then their sum to c. Denormals are
 * zero. So bits depend neither on rows nor on columns beside the element, nor on pieces of the
 * depth that begin at multiples of 32. They differ from the bits of the portable loop.
 */
#ifndef ATTN_KERNELS_AMX_INTERNAL_H
#define ATTN_KERNELS_AMX_INTERNAL_H

#include "kernels/kernels.h"

enum { ATTN_TILE_DEPTH = 32 }; /* k of a block */

/* The functions that multiply by tiles: the processor's, or those of tests. */
struct attn_tiles {
    /* As gemm_bf16 of struct attn_kernels: c [n, m] = b [n, k] a [k, m], or c + that. Prefetches
     * NEXT meanwhile, which is laid out as A is and need not be readable; NULL: for nothing.
     * Leaves this thread with tiles that are in use. */
    void (*multiply)(const struct attn_gemm_shape *shape, const uint16_t *a, const uint16_t *b,
                     float *c, const void *next);

    /* Releases this thread's tiles: their 8 KB would otherwise be saved and restored at each switch
     * to another thread. */
    void (*release)(void);
};

/* The processor's tiles; NULL if it has none for bfloat16, or the system does not permit them.
 * Requests that permission, which is given once to the process and has one effect: the smallest
 * stack for signals that the system accepts is 8 KB larger. */
const struct attn_tiles *attn_amx_find(void);

#endif
