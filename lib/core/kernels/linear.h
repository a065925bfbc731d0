/*
 * linear.h - a linear map over any number of rows.
 *
 *     struct attn_linear_args args = {.linear = &map, .engine = &engine, .scratch = scratch,
 *                                     .x = x, .ldx = n_in, .n_row = n, .y = y, .ldy = n_out,
 *                                     .last_col = n_out};
 *     attn_linear_run(&args, 1, pool);
 */
#pragma once

#include "base/pool.h"
#include "kernels/gemm_internal.h"

#include <stdatomic.h>

/* y [n_row, n_out] = x [n_row, n_in] W + bias: one linear map. */
struct attn_linear {
    struct attn_matrix weight;
    struct attn_vector bias; /* data is NULL if there is no bias */
    void *packed; /* borrowed; the weight in the form that attn_linear_pack writes; NULL: the weight
                     is used as it is */
    enum attn_compute packed_for;
    bool is_sliced; /* full panels of `packed` have slices (panels.h), which AVX2 alone reads */
    /* `packed` has tiles of blocks (kernels.h) of this instruction set; NULL: it has panels. Bytes
     * from the tiles of 64 columns to the next; 0: there are no tiles. */
    const struct attn_kernels *tiled_by;
    size_t tile_step;
};

/* The number of floats of scratch that attn_linear_run needs for each worker, for any number of
 * rows; the second function is for args with is_transposed. */
size_t attn_linear_scratch(const struct attn_linear *linear);
size_t attn_linear_scratch_transposed(const struct attn_linear *linear);

/* attn_linear_packed_size returns the bytes of the weight as panels for COMPUTE, and for float32,
 * if it has blocks, as tiles of these. attn_linear_pack writes them to linear->packed, which is
 * 64-byte aligned, in the layout that KERNELS read. For maps that run many times. */
size_t attn_linear_packed_size(const struct attn_linear *linear, const struct attn_kernels *kernels,
                               enum attn_compute compute);
void attn_linear_pack(struct attn_linear *linear, const struct attn_kernels *kernels,
                      struct attn_pool *pool);

/* The number of 16-bit numbers for a row of x that is rounded; 0 for float32. */
size_t attn_linear_rounded(const struct attn_linear *linear, enum attn_compute compute);

struct attn_linear_args {
    const struct attn_linear *linear;
    const struct attn_gemm_engine *engine;
    float *const *scratch; /* [n_thread] buffers of attn_linear_scratch floats, 64-byte aligned */
    const float *x;        /* [n_row, weight.n_row], stride ldx */
    size_t ldx, n_row;
    enum attn_compute compute;
    uint16_t *rounded; /* buffer for x in bfloat16, n_row times attn_linear_rounded numbers */
    float *y;          /* [n_row, last_col - first_col], stride ldy; must not be x */
    size_t ldy;
    /* The columns of the weight to compute, half open; y holds only these. */
    size_t first_col, last_col;

    /* is_transposed: computes y [n_row, weight.n_row] = x [n_row, weight.n_col] W^T in float32
     * without bias; last_col is at most weight.n_row, and the packed form of W is not used.
     * is_continued: W has the later columns of a larger matrix, and the products are added to y. */
    bool is_transposed, is_continued;

    /* The steps after the product, applied while a tile of y is in cache. None if zeroed. */
    bool has_activation;
    enum attn_activation activation;
    float *sum; /* has the shape and stride of y: sum += y, after the activation; NULL: no sum */
    atomic_bool *is_violated; /* set to true if y before the activation, or the sum, is not finite;
                                 NULL: not checked */
};

enum { ATTN_LINEAR_MOST = 8 };

/* Runs N maps, 1 to ATTN_LINEAR_MOST, side by side on POOL. They may share inputs, but not outputs.
 * In bfloat16 all must have the same x and n_row. For few rows, weights that are not packed are
 * used in place if their layout allows it; otherwise they are packed panel by panel. The bits are
 * the same. */
void attn_linear_run(const struct attn_linear_args *args, size_t n, struct attn_pool *pool);

/* The same with scratch that it allocates: sets that of ARGS. POOL may be NULL. For maps that run a
 * few times. Errors: ATTN_NO_MEMORY. */
enum attn_status attn_linear_run_alone(struct attn_linear_args *args, size_t n,
                                       struct attn_pool *pool, struct attn_error *err);
