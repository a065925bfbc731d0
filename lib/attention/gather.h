/*
 * gather.h - exact attention of one head over scattered keys, row by row.
 *
 * The keys and values that a row looks at are gathered, and then it is a small dense
 * problem: work and memory grow with the pairs. Keys lie as rows, [n_max, d_head]. Each row is one
 * chain of operations over its own keys, so how rows are fed or split changes no bit; a row that
 * holds every key gives the bits of dense attention.
 */
#ifndef ATTN_ATTENTION_GATHER_H
#define ATTN_ATTENTION_GATHER_H

#include "attention/dense.h"

/* The microkernels of one feed. */
struct attn_gather {
    const struct attn_kernels *kernels;
    struct attn_panels value_panels;
    struct attn_gemm_kernel scores;                    /* one row, one panel of keys */
    struct attn_gemm_kernel values[ATTN_N_PANEL_KIND]; /* one row, one panel of columns */
};

void attn_gather_plan(struct attn_gather *gather, const struct attn_gemm_engine *engine,
                      const struct attn_head_shape *shape);

/* Floats of scratch for each worker. */
size_t attn_gather_scratch(const struct attn_head_shape *shape,
                           const struct attn_attention *attention);

/* Computes a tile of up to ATTN_QUERY_TILE rows, as attn_dense_run does. */
size_t attn_gather_run(const struct attn_gather *gather, const struct attn_tile *tile,
                       float *scratch);

#endif
