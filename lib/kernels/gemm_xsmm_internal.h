/*
 * gemm_xsmm_internal.h - the seam between our products and libxsmm's.
 *
 * gemm_xsmm.c is the only file that knows libxsmm (1.17). `make XSMM=no` builds gemm_xsmm_absent.c
 * instead, where nothing can start. Only gemm.c calls these functions.
 */
#ifndef ATTN_KERNELS_GEMM_XSMM_INTERNAL_H
#define ATTN_KERNELS_GEMM_XSMM_INTERNAL_H

#include "kernels/gemm.h"
#include "kernels/kernels.h"

/* Whether libxsmm is there and may make code: a processor with FMA, memory that can be executed.
 * Does not start it. */
bool attn_xsmm_can_start(void);

/* The state of libxsmm, for a processor up to some limit. */
struct attn_xsmm {
    bool is_started;
    bool lacks_memory; /* it did not start, for want of memory alone */
    bool has_bf16;     /* it multiplies in bfloat16, or would if it did not lack memory */
    bool has_avx512;   /* its code uses that */
};

/* Starts libxsmm, or joins the one that the process has started. */
struct attn_xsmm attn_xsmm_start(enum attn_isa limit);

/* "libxsmm 1.17, cpx": the name of the started engine. */
void attn_xsmm_describe(char text[ATTN_GEMM_LIBRARY_SIZE]);

/* Returns machine code for SHAPE, or NULL. Shapes with a step are batches. */
void (*attn_xsmm_find(const struct attn_gemm_shape *shape))(void);

/* How this code is called: for one block; for COUNT blocks; for one of a shape that is_ahead. */
typedef void attn_xsmm_product(const void *a, const void *b, float *c);
typedef void attn_xsmm_batch(const void *a, const void *b, float *c,
                             const unsigned long long *count);
typedef void attn_xsmm_product_ahead(const void *a, const void *b, float *c, const void *next_a,
                                     const void *next_b, const void *next_c);

#endif
