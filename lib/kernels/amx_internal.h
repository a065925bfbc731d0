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
 * depth that begin at multiples of 32. They are other ones than those of the portable loop.
 */
#ifndef ATTN_KERNELS_AMX_INTERNAL_H
#define ATTN_KERNELS_AMX_INTERNAL_H

#include "kernels/kernels.h"

enum { ATTN_TILE_DEPTH = 32 }; /* k of a block */

/* What multiplies by tiles. Tests have another than the processor. */
struct attn_tiles {
    /* As gemm_bf16 of struct attn_kernels: c [n, m] = b [n, k] a [k, m], or c + that. Prefetches
     * NEXT meanwhile, which is laid out as A is and need not be readable; NULL: for nothing.
     * Leaves this thread with tiles that are in use. */
    void (*multiply)(const struct attn_gemm_shape *shape, const uint16_t *a, const uint16_t *b,
                     float *c, const void *next);

    /* This thread's tiles are in use no more: what they hold, 8 KB, would be saved and restored at
     * each switch to another thread. */
    void (*release)(void);
};

/*
 * The processor's tiles; NULL where it has none for bfloat16, or where the system does not permit
 * them. Asks for that permission, which is the process's, given once, and changes one thing only:
 * the smallest stack for signals that the system accepts is 8 KB larger.
 */
const struct attn_tiles *attn_amx_find(void);

#endif
