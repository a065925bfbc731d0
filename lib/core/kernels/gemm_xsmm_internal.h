/*
 * gemm_xsmm_internal.h - the interface between our products and libxsmm's.
 *
 * gemm_xsmm.c is the only file that calls libxsmm (1.17). `make XSMM=no` builds gemm_xsmm_absent.c
 * instead, in which libxsmm never starts. Only gemm.c calls these functions.
 */
#pragma once

#include "kernels/gemm.h"
#include "kernels/kernels.h"

/* Whether libxsmm is built in and can create kernels: it needs a processor with FMA and memory that
 * can be executed. Does not start it. */
bool attn_xsmm_can_start(void);

/* The state of libxsmm for an instruction set up to some limit. */
struct attn_xsmm {
    bool is_started;
    bool lacks_memory; /* it did not start, only because memory was short */
    bool has_bf16;     /* it multiplies in bfloat16, or would if memory were not short */
};

/* Starts libxsmm, or uses the one that has started in this process. */
struct attn_xsmm attn_xsmm_start(enum attn_isa limit);

/* Returns machine code for SHAPE, or NULL. If the shape has a step, the code takes a number of
 * blocks. */
void (*attn_xsmm_find(const struct attn_gemm_shape *shape))(void);

/* The signatures of this code: for one block; for COUNT blocks; for one block of a shape that
 * is_ahead. */
typedef void attn_xsmm_product(const void *a, const void *b, float *c);
typedef void attn_xsmm_batch(const void *a, const void *b, float *c,
                             const unsigned long long *count);
typedef void attn_xsmm_product_ahead(const void *a, const void *b, float *c, const void *next_a,
                                     const void *next_b, const void *next_c);
