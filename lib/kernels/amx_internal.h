/*
 * amx_internal.h - products in bfloat16 by tiles, Intel's AMX.
 *
 *     const struct attn_tiles *tiles = attn_amx_find(); // NULL: not available
 *     tiles->multiply(&shape, a, b, c, NULL);
 *     tiles->release();
 *
 * An element of the product is summed in blocks of 32 k. In each block, the products of even k and
 * those of odd k are summed separately, each sum from +0 and with one fma per product; the two sums
 * are added, and then their sum is added to c. Denormals count as zero. So the bits of an element
 * do not depend on other rows or columns, nor on how the depth is cut, if pieces begin at multiples
 * of 32. They differ from the bits of the portable loop.
 */
#ifndef ATTN_KERNELS_AMX_INTERNAL_H
#define ATTN_KERNELS_AMX_INTERNAL_H

#include "kernels/kernels.h"

enum { ATTN_TILE_DEPTH = 32 }; /* number of k in a block */

/* The functions that multiply by tiles: those of the processor, or those of tests. */
struct attn_tiles {
    /* Computes the product of gemm_bf16 of struct attn_kernels: c [n, m] = b [n, k] a [k, m], or c
     * += that. Meanwhile prefetches NEXT, which has the layout of A and need not be readable; NULL:
     * prefetches nothing. Afterwards the tiles of this thread are in use. */
    void (*multiply)(const struct attn_gemm_shape *shape, const uint16_t *a, const uint16_t *b,
                     float *c, const void *next);

    /* Releases this thread's tiles: their 8 KB would otherwise be saved and restored at each switch
     * to another thread. */
    void (*release)(void);
};

/* Returns the processor's tiles; NULL if it has none for bfloat16, or if the system does not permit
 * their use. Requests that permission, which holds for the whole process. Its only side effect is
 * that the smallest signal stack that the system accepts grows by 8 KB. */
const struct attn_tiles *attn_amx_find(void);

#endif
