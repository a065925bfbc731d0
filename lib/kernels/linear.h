/*
 * linear.h - a linear map over any number of rows.
 *
 *     struct attn_linear_args args = {.linear = &map, .engine = &engine, .scratch = scratch,
 *                                     .x = x, .ldx = n_in, .n_row = n, .y = y, .ldy = n_out,
 *                                     .last_col = n_out};
 *     attn_linear_run(&args, 1, pool);
 */
#ifndef ATTN_KERNELS_LINEAR_H
#define ATTN_KERNELS_LINEAR_H

#include "base/pool.h"
#include "kernels/gemm_internal.h"

#include <stdatomic.h>

/* y [n_row, n_out] = x [n_row, n_in] W + bias: one linear map. */
struct attn_linear {
    struct attn_matrix weight;
    struct attn_vector bias; /* data NULL: none */
    void *packed; /* borrowed: the weight as attn_linear_pack leaves it; NULL: used as it lies */
    enum attn_compute packed_for;
};

/* Floats of scratch that attn_linear_run needs from each worker, for any number of rows; and where
 * the map is transposed. */
size_t attn_linear_scratch(const struct attn_linear *linear);
size_t attn_linear_scratch_transposed(const struct attn_linear *linear);

/* Bytes of the weight in panels for COMPUTE; and puts all of them into linear->packed, 64-byte
 * aligned. For maps that are run again and again. */
size_t attn_linear_packed_size(const struct attn_linear *linear, enum attn_compute compute);
void attn_linear_pack(const struct attn_linear *linear, const struct attn_kernels *kernels,
                      struct attn_pool *pool);

/* Numbers of 16 bits that a row of x becomes; 0 in float32. */
size_t attn_linear_rounded(const struct attn_linear *linear, enum attn_compute compute);

struct attn_linear_args {
    const struct attn_linear *linear;
    const struct attn_linear *next; /* speed only: likely to run after this; or NULL */
    const struct attn_gemm_engine *engine;
    float *const *scratch; /* [n_thread], each attn_linear_scratch floats, 64-byte aligned */
    const float *x;        /* [n_row, weight.n_row], stride ldx */
    size_t ldx, n_row;
    enum attn_compute compute;
    uint16_t *rounded; /* room for x, n_row times attn_linear_rounded numbers */
    float *y;          /* [n_row, last_col - first_col], stride ldy; never x */
    size_t ldy;
    size_t first_col, last_col; /* columns of the weight wanted, half open; y holds only these */

    /* is_transposed: y [n_row, weight.n_row] = x [n_row, weight.n_col] W^T, in float32, without
     * bias; last_col is at most weight.n_row, and the packed form of W is not used. is_continued: W
     * has the later columns of a larger matrix, and the chain continues from y. */
    bool is_transposed, is_continued;

    /* The steps while a tile of y is in cache; none if zeroed. */
    bool has_activation;
    enum attn_activation activation;
    float *sum;               /* like y: sum += y, after the activation; NULL: none */
    atomic_bool *is_violated; /* set when y before the activation, or the sum, is not finite;
                                 NULL: not looked for */
};

enum { ATTN_LINEAR_MOST = 8 };

/* Runs N maps, 1 .. ATTN_LINEAR_MOST, side by side on POOL: they may share inputs, but not outputs;
 * in bfloat16 all have the same x and n_row. Weights that are not packed are used in place for few
 * rows where their layout allows, else packed panel by panel; same bits. */
void attn_linear_run(const struct attn_linear_args *args, size_t n, struct attn_pool *pool);

#endif
