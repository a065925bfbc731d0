/*
 * gemm.h - matrix products through libxsmm's JIT kernels, with the portable loop where there are
 * none.
 *
 * Only gemm.c knows libxsmm. Element order is that of the numeric contract (kernels.h); libxsmm
 * keeps it for panels of 17..64 columns, so narrower matrices are padded and wider ones split. In
 * bfloat16 libxsmm's sums are other ones than the portable loop's.
 */
#ifndef ATTN_KERNELS_GEMM_H
#define ATTN_KERNELS_GEMM_H

#include "base/pool.h"
#include "kernels/kernels.h"

#include <stdatomic.h>

/* How products are made in one session. */
struct attn_gemm_engine {
    const struct attn_kernels *kernels;
    bool is_jit;      /* libxsmm has been started and may make kernels */
    bool is_jit_bf16; /* also for bfloat16 */
};

/*
 * Chooses by HOW; AUTO starts libxsmm when WORK (multiply-adds expected) pays for its 3 to 5 ms.
 * Starting libxsmm is process-wide: with a limit below AVX-512 the first engine of the process
 * decides what libxsmm may use.
 */
struct attn_gemm_engine attn_gemm_engine_start(enum attn_gemm how, enum attn_isa limit,
                                               double work);

/* One microkernel, found when planning, called when running. */
struct attn_gemm_kernel {
    struct attn_gemm_shape shape;
    const struct attn_kernels *kernels;
    void (*jit)(void); /* libxsmm's code, or NULL: the portable loop */
    bool is_batch;     /* jit takes a count of k-blocks */
};

/* The kernel for SHAPE. Never fails: without JIT code the portable loop serves. */
struct attn_gemm_kernel attn_gemm_kernel_find(const struct attn_gemm_engine *engine,
                                              const struct attn_gemm_shape *shape);

/* c [n, m] = b [n, k*count] a [k*count, m], overwriting c or going on from it; COUNT blocks, at
 * least 1, and no more in bfloat16. A and B are float32, or bfloat16 as the shape says. */
void attn_gemm_kernel_run(const struct attn_gemm_kernel *kernel, const void *a, const void *b,
                          float *c, size_t count);

/* The same for one block of a shape that is_ahead: calls for NEXT, laid out as A is, meanwhile. It
 * need not be readable. */
void attn_gemm_kernel_run_ahead(const struct attn_gemm_kernel *kernel, const void *a, const void *b,
                                float *c, const void *next);

/*
 * How columns are cut into panels: of 64, where a rest of fewer than 17 shares its columns evenly
 * with the panel before it. Fewer than 17 columns in all are padded to 32.
 */
enum {
    ATTN_PANEL = 64,        /* columns of the widest that keeps the numeric contract */
    ATTN_PANEL_PADDED = 32, /* what fewer than the narrowest has are padded to */
};
struct attn_panels {
    size_t n_panel;
    size_t n_col; /* total, without padding */
};
struct attn_panels attn_panels_split(size_t n_col);
size_t attn_panel_first(const struct attn_panels *panels, size_t panel); /* first column */
size_t attn_panel_n_col(const struct attn_panels *panels,
                        size_t panel); /* columns that exist, 1..64 */
size_t attn_panel_width(const struct attn_panels *panels,
                        size_t panel); /* columns computed, 17..64 */
size_t attn_panel_find(const struct attn_panels *panels, size_t column); /* the panel with it */

/* y [n_row, n_out] = x [n_row, n_in] W + bias: one linear map. */
struct attn_linear {
    struct attn_matrix weight;
    struct attn_vector bias; /* data NULL: none */
    void *packed; /* borrowed: the weight as attn_linear_pack leaves it; NULL: used as it lies */
    enum attn_compute packed_for;
};

/* Floats of scratch that attn_linear_run needs from each worker, for any number of rows. */
size_t attn_linear_scratch(const struct attn_linear *linear);

/* Bytes of the weight in panels for COMPUTE; and puts all of them into linear->packed, 64-byte
 * aligned. For maps that are run again and again. */
size_t attn_linear_packed_size(const struct attn_linear *linear, enum attn_compute compute);
void attn_linear_pack(const struct attn_linear *linear, const struct attn_kernels *kernels,
                      struct attn_pool *pool);

/* Columns first .. first+m-1 of MATRIX as a panel for COMPUTE: float32 [n_row, width], or bfloat16
 * [n_row rounded up to even / 2][width][2]. Columns that do not exist become 0. */
void attn_panel_pack(const struct attn_matrix *matrix, const struct attn_kernels *kernels,
                     enum attn_compute compute, size_t first, size_t m, void *panel);

/* Bytes of a number in a panel, and how many a column has: in bfloat16 an even number, as of a row
 * of x. */
size_t attn_panel_element(enum attn_compute compute);
size_t attn_linear_depth(const struct attn_linear *linear, enum attn_compute compute);

struct attn_linear_args {
    const struct attn_linear *linear;
    const struct attn_linear *next; /* speed only: what is likely to be run after this; or NULL */
    const struct attn_gemm_engine *engine;
    float *const *scratch; /* [n_thread], each attn_linear_scratch floats, 64-byte aligned */
    const float *x;        /* [n_row, weight.n_row], stride ldx */
    size_t ldx, n_row;
    enum attn_compute compute;
    uint16_t *rounded; /* for BF16: room for x, n_row times attn_linear_depth numbers */
    float *y;          /* [n_row, last_col - first_col], stride ldy; never x */
    size_t ldy;
    size_t first_col, last_col; /* columns of the weight wanted, half open; y holds only these */

    /* What follows while a tile of y is in cache; nothing if zeroed. */
    bool has_activation;
    enum attn_activation activation;
    float *sum;               /* like y: sum += y, after the activation; NULL: none */
    atomic_bool *is_violated; /* set when y before the activation, or the sum, is not finite;
                                 NULL: who cares */
};

enum { ATTN_LINEAR_MOST = 8 };

/*
 * Runs N maps, 1 .. ATTN_LINEAR_MOST, side by side on POOL: they may share what they read and
 * nothing that they write; in bfloat16 all have the same x and n_row. Weights that are not packed
 * are used in place for few rows where their layout allows, else packed panel by panel; same bits.
 */
void attn_linear_run(const struct attn_linear_args *args, size_t n, struct attn_pool *pool);

/* "jit avx512" or "portable avx2": how this engine multiplies. Borrowed, constant. */
const char *attn_gemm_engine_name(const struct attn_gemm_engine *engine);

#endif
