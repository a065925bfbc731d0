/*
 * kernels.h - the numeric core: functions on arrays of float32, row-major.
 *
 * The numeric contract: every function gives the same bits with every instruction set. Products are
 * chains c = fmaf(x[k], w[k], c) from +0 with k ascending. The sum of a row consists of 16 partial
 * sums, chosen by the index mod 16, which are added in one fixed tree. Elementary functions are
 * polynomials with explicit fma. Division and square root are IEEE. The compiler contracts and
 * reassociates nothing (-std=c11 -ffp-contract=off).
 *
 *     const struct attn_kernels *k = attn_kernels_find(ATTN_ISA_BEST);
 *     k->softmax(row, n_valid, n, scale);
 */
#pragma once

#include "base/dtype_internal.h"
#include "kernels/gemm.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A weight matrix as it lies in a file, whatever its layout and type. It stands for W [n_row,
 * n_col] in y = x W. Element (k, n) lies at
 *     data + (k*row_stride + (n / group)*group_stride + (n % group)*col_stride) elements,
 * or in an interleaved group, whose first half lies at even offsets and whose second at odd ones,
 * at the offset 2*(n % (group/2)) + n % group / (group/2) instead of n % group. GPT-2's Conv1D [in,
 * out]: row_stride = out, col_stride = 1, one group. nn.Linear [out, in]: row_stride = 1,
 * col_stride = in. Per-head W_Q [H, D, E]: group = E, group_stride = D*E, row_stride = E,
 * col_stride = 1.
 */
struct attn_matrix {
    const void *data;      /* borrowed; any alignment; NULL if the model lacks this weight */
    enum attn_dtype dtype; /* F32, F16, BF16, F64; types of blocks require row_stride 1, because
                              blocks lie along k */
    size_t n_row, n_col;   /* depth k and width n of the product */
    size_t row_stride, col_stride; /* in elements */
    /* Columns in a group; elements from the start of one group to the next. */
    size_t group, group_stride;
    bool is_interleaved; /* each group is interleaved */
    const void *next; /* speed only: blocks or tiles to prefetch while a panel is read, as many as
                         those of the panel; NULL: nothing to prefetch. Need not be readable */
    /* speed only: of a type with blocks, tiles of its first 64 columns from row 0 on, by make_tiles
     * of the same instruction set, and bytes from one 64 columns to the next; NULL: none */
    void *tiles;
    size_t tile_step;
};

/* Returns the offset of column N in an interleaved group of GROUP columns. */
static inline size_t attn_interleaved(size_t n, size_t group)
{
    return n % (group / 2) * 2 + n / (group / 2);
}

/* Returns the number of elements from the first element of MATRIX to row 0 of column N. */
static inline size_t attn_matrix_column_at(const struct attn_matrix *matrix, size_t n)
{
    const size_t in_group = n % matrix->group;

    return n / matrix->group * matrix->group_stride +
           (matrix->is_interleaved ? attn_interleaved(in_group, matrix->group) : in_group) *
               matrix->col_stride;
}

/* Returns the bytes from the first element of MATRIX to the end of its first N_COL columns. N_COL
 * is at least 1. */
static inline size_t attn_matrix_extent(const struct attn_matrix *matrix, size_t n_col)
{
    const size_t group = matrix->group, n_group = (n_col + group - 1) / group;
    const size_t last = matrix->is_interleaved ? n_group * group - 1 : n_col - 1;

    return attn_dtype_n_byte(matrix->dtype, attn_matrix_column_at(matrix, last) +
                                                (matrix->n_row - 1) * matrix->row_stride + 1);
}

/*
 * A vector of n elements (bias, norm weight) as it lies in a file: element i lies at
 *     data + ((i / group)*group_stride + i % group) elements, interleaved as above.
 */
struct attn_vector {
    const void *data; /* borrowed; any alignment; NULL if there is no vector */
    enum attn_dtype dtype;
    size_t n;
    /* Elements in a group; elements from the start of one group to the next. */
    size_t group, group_stride;
    bool is_interleaved; /* each group is interleaved */
};

/* Elementwise functions of the MLP, with the names in Hugging Face's config. X(name, text) */
#define ATTN_ACTIVATION_MAP(X)                                                                     \
    X(GELU_NEW,                                                                                    \
      "gelu_new")   /* 0.5x(1 + tanh(sqrt(2/pi)(x + 0.044715x^3))), Hendrycks 1606.08415 */        \
    X(GELU, "gelu") /* 0.5x(1 + erf(x/sqrt 2)) */                                                  \
    X(RELU, "relu")                                                                                \
    X(SILU, "silu") /* x / (1 + exp -x) */                                                         \
    X(TANH, "tanh")                                                                                \
    X(QUICK_GELU, "quick_gelu") /* x / (1 + exp(-1.702 x)) */                                      \
    X(RELU2, "relu2")           /* relu(x)^2 */

enum attn_activation {
#define ATTN_ACTIVATION_ENUM(name, text) ATTN_ACTIVATION_##name,
    ATTN_ACTIVATION_MAP(ATTN_ACTIVATION_ENUM)
#undef ATTN_ACTIVATION_ENUM
        ATTN_N_ACTIVATION
};

enum {
    ATTN_PANEL = 64
}; /* columns of the widest panel that keeps the numeric contract; also the keys in a panel of keys
    */

/* The shape of a product for microkernels: c[i, j] = sum_k b[i, k] a[k, j], i < n rows, j < m
 * columns. In bfloat16 a and b are 16-bit, k is even, and a has pairs of rows interleaved: [k/2,
 * lda, 2]. */
struct attn_gemm_shape {
    size_t m, n, k;       /* 17..64 columns, 1..64 rows, and the depth of one block, at least 1 */
    size_t lda, ldb, ldc; /* floats from one row to the next of a [k, m], b [n, k], c [n, m] */
    /* Floats from 16 columns of a to the next 16, if a lies in slices (panels.h); 0: columns lie
     * side by side. */
    size_t slice;
    /* Numbers from one k-block to the next, if count > 1; in bfloat16 blocks lie one after the
     * other. */
    size_t step_a, step_b;
    bool is_continued; /* c holds the sum over earlier k, to which the products are added */
    bool is_bf16;
    bool is_ahead; /* speed only: calls get the next panel and prefetch it */
    /* Speed only: a call prefetches part number `part` of n_part; n_part 0: all of the panel. */
    size_t part, n_part;
};

/* Up to this many rows are multiplied by blocks directly, without a panel of floats. */
enum { ATTN_FEW_ROWS = 6 };

/* The steps after a product: adds the bias to y, applies the activation, then adds y to `sum`. */
struct attn_finish {
    const float *bias; /* [n_col]; NULL: no bias */
    bool has_activation;
    enum attn_activation activation;
    float *sum; /* [n_row, n_col] with the stride of y; NULL: no sum */
    size_t ld;  /* floats from one row of y to the next */
};

/* The backward pass of a norm over one row: from the gradient of its result to the gradient of the
 * row. */
struct attn_norm_back {
    const float *x, *w; /* [n] the norm's input, and the weight */
    size_t n;
    float eps;
    bool is_constant; /* relevance: the factor of x is treated as a constant */
};

/* The backward pass of an activation: of y = act(x), or with a gate u, of y = act(x) u. */
struct attn_activation_back {
    const float *x;
    const float *u;   /* NULL: there is no gate */
    float *dy;        /* contains the gradient of y on entry, the gradient of x on return */
    float *du;        /* receives the gradient of u */
    bool is_constant; /* relevance: act(x) / x is treated as a constant, and each factor of a gate
                         gets half */
};

struct attn_cap_back {
    float cap;
    bool is_constant; /* relevance: y / x is treated as a constant */
};

/* Sums over p = exp(x - ln sum exp(x)); NaN if x has NaN or its largest is infinite. */
struct attn_exp_sums {
    const float *mask; /* [n] 0 or 1 */
    double masked;     /* sum of p where the mask is 1 */
    double entropy;    /* -sum p ln p */
};

/* The state of a softmax over the keys seen so far: the largest score, and the sum of exp(score -
 * max). Its initial value is ATTN_RUNNING_SOFTMAX_START. */
struct attn_running_softmax {
    float max, sum;
};
#define ATTN_RUNNING_SOFTMAX_START ((struct attn_running_softmax){.max = -INFINITY})

const char *attn_isa_name(enum attn_isa isa);

/* Returns the best instruction set of this processor. */
enum attn_isa attn_isa_detect(void);

/* The functions of one instruction set. Pointers need no alignment. Rows must be the same or not
 * overlap. */
struct attn_kernels {
    enum attn_isa isa;

    /* The portable product: one chain over COUNT >= 1 blocks of depth k, starting at +0, or at c if
     * the shape is_continued. The JIT kernels must give the same bits. */
    void (*gemm)(const struct attn_gemm_shape *shape, const float *a, const float *b, float *c,
                 size_t count);

    /* The product of one block. With AVX2 or AVX-512 it also prefetches NEXT, a panel with the
     * layout of A, a few lines in each step of k. NEXT need not be readable. */
    void (*gemm_ahead)(const struct attn_gemm_shape *shape, const float *a, const float *b,
                       float *c, const float *next);

    /* The product of one block in bfloat16. Each product is added by one fma, k ascending. */
    void (*gemm_bf16)(const struct attn_gemm_shape *shape, const uint16_t *a, const uint16_t *b,
                      float *c);

    /* y = x rounded to bfloat16, to nearest, ties to even. NaN stays NaN. Y may be X. */
    void (*round_bf16)(const float *x, size_t n, uint16_t *y);

    /* y [n, 2] = the rows x0 and x1 [n], rounded to bfloat16 and interleaved. x1 NULL: zeros. */
    void (*pair_bf16)(const float *x0, const float *x1, size_t n, uint16_t *y);

    /* Converts columns first .. first+m-1 of MATRIX to a panel [n_row, width] of floats. Columns m
     * .. width-1 become +0. If m is greater than WIDTH, it is a multiple, and the panel is that
     * many slices [n_row, width], one after the other. */
    void (*pack_panel)(const struct attn_matrix *matrix, size_t first, size_t m, size_t width,
                       float *panel);

    /* Multiplies X, up to ATTN_FEW_ROWS rows, by columns first .. first+63 of MATRIX, whose type
     * has blocks. Saves the panel where it would be read only once. */
    void (*multiply_blocks)(const struct attn_matrix *matrix, size_t first,
                            const struct attn_gemm_shape *shape, const float *x, float *y);

    /* make_tiles splits columns first .. first+m-1 of MATRIX, at most 64, whose type has blocks, as
     * multiply_blocks and pack_panel do each time without TILES, which is 64-byte aligned.
     * tiles_size returns the bytes for 64 columns; 0 if splitting costs little beside a product:
     * then there are no tiles. */
    size_t (*tiles_size)(enum attn_dtype dtype, size_t n_row);
    void (*make_tiles)(const struct attn_matrix *matrix, size_t first, size_t m, void *tiles);

    /* y [n] = the elements at SRC, of type DTYPE, as float32. SRC needs no alignment. The type is
     * F32, F16, BF16, F64, or has blocks; then SRC is the start of a block. */
    void (*convert)(const void *src, enum attn_dtype dtype, size_t n, float *y);

    /* Transposes ROWS rows x [rows, n] (stride ldx) of keys into panels of 64: panel[r / 64][c][r %
     * 64] for rows r = first .. first+rows-1 of the panels. The rest of the panels is unchanged. */
    void (*pack_keys)(const float *x, size_t ldx, size_t rows, size_t n, size_t first,
                      float *panels);

    void (*add)(const float *a, const float *b, size_t n,
                float *y); /* y = a + b; y may be a or b */
    void (*scale)(const float *a, float factor, size_t n,
                  float *y); /* y = a * factor; y may be a */
    /* Copies x [n] to y and fills y up to n_total with FILL, with stores that bypass the caches.
     * For results that are not read soon or exceed the caches. Other threads may read y after this
     * thread has called drain. */
    void (*stream)(const float *x, size_t n, float fill, size_t n_total, float *y);
    void (*drain)(void);
    void (*activate)(enum attn_activation which, float *x, size_t n); /* in place */

    /* x = act(x) * y in place: a gated MLP (Shazeer 2002.05202). */
    void (*gate)(enum attn_activation which, float *x, const float *y, size_t n);
    /* x = cap * tanh(x / cap), in place, cap > 0. -inf, which masks a key, stays. */
    void (*soft_cap)(float *x, size_t n, float cap);

    /* Applies the steps of FINISH in place to a tile that is still in cache. Returns whether all
     * values before the activation, and all sums, are finite. */
    bool (*finish)(const struct attn_finish *finish, float *y, size_t n_row, size_t n_col);

    /* Feature maps of linear attention (Katharopoulos et al. 2006.16236); y may be x. */
    void (*elu_plus_one)(const float *x, size_t n, float *y);   /* x > 0 ? x + 1 : exp(x) */
    void (*relu_plus_tiny)(const float *x, size_t n, float *y); /* max(x, 0) + 1e-6 */
    void (*exp)(const float *x, size_t n, float *y);

    /* y = (x - mean) / sqrt(var + eps) * w + b over n, var biased (Ba et al. 1607.06450); y may be
     * x. b may be NULL. */
    void (*layer_norm)(const float *x, const float *w, const float *b, size_t n, float eps,
                       float *y);

    /* y = x * (1 / sqrt(mean of x^2 + eps)) * w over n (Zhang and Sennrich 1910.07467); y may be
     * x. */
    void (*rms_norm)(const float *x, const float *w, size_t n, float eps, float *y);

    /* Computes the cosines and sines of ANGLES [n], in radians, up to 2^30 in magnitude. Each is
     * rounded to float32 and then multiplied by FACTOR. */
    void (*turn)(const float *angles, size_t n, float factor, float *cosines, float *sines);

    /* Rotates pairs in place: x[i] and x[i + n], for i < n, become x[i] cos - x[i + n] sin and x[i
     * + n] cos + x[i] sin. Each product and sum is rounded (Su et al. 2104.09864). */
    void (*rotate)(float *x, const float *cosines, const float *sines, size_t n);

    /* In place: x[j] = exp(x[j]*scale - max) / sum over the first n_valid entries; the other
     * entries become +0. -inf counts as masked and gives exactly 0; a row in which all keys are
     * masked becomes all 0. NaN and +inf give NaN. Vaswani 1706.03762 eq. 1. */
    void (*softmax)(float *x, size_t n_valid, size_t n, float scale);

    /* Processes the next block of a row whose softmax runs over several blocks (Dao et al.
     * 2205.14135). In place: x[j] = exp(x[j]*scale - max) over the first n_valid entries; the other
     * entries become +0. The max and the sum in RUNNING include this block. Returns exp(old max -
     * max): multiply everything accumulated before by it. -inf, NaN and +inf as in softmax: a NaN
     * or +inf makes the sum NaN for good, and while all keys are masked the sum stays 0. */
    float (*softmax_block)(float *x, size_t n_valid, size_t n, float scale,
                           struct attn_running_softmax *running);

    /* s [n_a, n_b] += a [n_a] b [n_b]^T. Each element is one fma. */
    void (*add_outer)(const float *a, size_t n_a, const float *b, size_t n_b, float *s);

    /* y [n_col] = x [n_row] s [n_row, n_col]. Each element is one chain of fma. y must not be x or
     * s. */
    void (*multiply_row)(const float *x, size_t n_row, const float *s, size_t n_col, float *y);

    /* Backward passes of the functions above, from the gradient of the result to the gradient of
     * the input. Of a norm y = normalize(x) w + b: dx, which may be dy. Of an activation, y =
     * act(x) or y = act(x) u, over n elements. Of soft_cap in place, where x is the value before
     * the cap. Of rotate in place. */
    void (*rms_norm_back)(const struct attn_norm_back *norm, const float *dy, float *dx);
    void (*layer_norm_back)(const struct attn_norm_back *norm, const float *dy, float *dx);
    void (*activate_back)(enum attn_activation which, const struct attn_activation_back *rows,
                          size_t n);
    void (*soft_cap_back)(const struct attn_cap_back *cap, const float *x, float *dy, size_t n);
    void (*rotate_back)(float *x, const float *cosines, const float *sines, size_t n);

    /* The backward pass of softmax over a row P, in place: dp = p (dp - sum of p dp). R is that
     * sum, but rounded. Where p is nearly 1, p (dp - r) would be nothing but this rounding error,
     * so the sum of p (dp - r) is subtracted as well, except if it is below 1e-16 of R: then p is
     * 1, and the gradient is 0. */
    void (*softmax_back)(const float *p, float r, float *dp, size_t n);

    /* r [n_row] = the dot products of the rows of a and b [n_row, n], whose rows lie LD floats
     * apart. Each is one chain of fma. */
    void (*dots)(const float *a, const float *b, size_t ld, size_t n_row, size_t n, float *r);

    /* Sums of matrices in double precision. Each product and each sum is rounded. add_weighted: y
     * [n] += weight x and sums [n] += x; returns the sum of x. add_product: y [n] += factor (a x).
     */
    double (*add_weighted)(const float *x, size_t n, double weight, double *y, double *sums);
    void (*add_product)(double factor, double a, const double *x, size_t n, double *y);

    float (*sum)(const float *x, size_t n);
    bool (*is_finite)(const float *x, size_t n); /* whether x has no NaN and no infinity */

    /* Does N_ROUND times a few dozen multiply-adds on registers, to measure the processor's limit.
     * Returns the number of multiply-adds. */
    double (*spin)(size_t n_round);

    /* Returns ln sum exp(x), computed from the row's maximum in double precision. For
     * log-probabilities. MORE may be NULL. */
    double (*log_sum_exp)(const float *x, size_t n, struct attn_exp_sums *more);

    /* Returns -sum p ln p in nats, in double precision, where 0 ln 0 is 0. NaN if a p is NaN or
     * below 0. Writes each p ln p to terms [n], unless that is NULL. */
    double (*entropy)(const float *p, size_t n, double *terms);

    /* Returns KL(p || q) = sum p ln(p/q) in nats, in double precision, for p = exp(x - x_total) and
     * q = exp(y - y_total) [n]. The totals are the log_sum_exp of x and of y. */
    double (*divergence)(const float *x, double x_total, const float *y, double y_total, size_t n);
};

/* Returns the functions for the best instruction set that the processor and LIMIT allow. Never
 * NULL. Constant data; nothing to free. */
const struct attn_kernels *attn_kernels_find(enum attn_isa limit);

const char *attn_activation_name(enum attn_activation activation);

/* Returns the activation called NAME, which may be any of Hugging Face's names for it;
 * ATTN_N_ACTIVATION if NAME is unknown. */
enum attn_activation attn_activation_find(const char *name);
