/*
 * kernels.h - the numeric core: float32, row-major, numbers in and numbers out, no options.
 *
 * The numeric contract: every function gives the same bits whatever instruction set runs it.
 * Products are chains c = fmaf(x[k], w[k], c) from +0 with k ascending. Row sums are 16 partial
 * sums by absolute index mod 16, added in one fixed tree. Elementary functions are polynomials with
 * explicit fma. Division and square root are IEEE. Nothing is contracted or reassociated by the
 * compiler (-std=c11 -ffp-contract=off).
 *
 *     const struct attn_kernels *k = attn_kernels_find(ATTN_ISA_BEST);
 *     k->softmax(row, n_valid, n, scale);
 */
#ifndef ATTN_KERNELS_KERNELS_H
#define ATTN_KERNELS_KERNELS_H

#include "base/dtype_internal.h"
#include "kernels/isa.h"

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
    const void *data;      /* borrowed; any alignment; NULL when there is no such weight */
    enum attn_dtype dtype; /* F32, F16, BF16, F64; of blocks where row_stride is 1, which lie
                                      along k */
    size_t n_row, n_col;   /* depth k and width n of the product */
    size_t row_stride, col_stride; /* elements */
    size_t group, group_stride;    /* columns in a group; elements from one group to the next */
    bool is_interleaved;           /* each group */
    const void *next; /* speed only: blocks as many as those of a panel, prefetched while one is
                         read; NULL: unknown. Need not be readable */
};

/* The offset of column N of GROUP columns in an interleaved group. */
static inline size_t attn_interleaved(size_t n, size_t group)
{
    return n % (group / 2) * 2 + n / (group / 2);
}

/* Elements from the first of MATRIX to row 0 of column N. */
static inline size_t attn_matrix_column_at(const struct attn_matrix *matrix, size_t n)
{
    const size_t in_group = n % matrix->group;

    return n / matrix->group * matrix->group_stride +
           (matrix->is_interleaved ? attn_interleaved(in_group, matrix->group) : in_group) *
               matrix->col_stride;
}

/* Bytes from the first element of MATRIX to the end of its first N_COL columns, at least one. */
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
    const void *data; /* borrowed; any alignment; NULL without a vector */
    enum attn_dtype dtype;
    size_t n;
    size_t group, group_stride; /* elements in a group; from one group to the next */
    bool is_interleaved;        /* each group */
};

/* Elementwise functions of the MLP, by the names of Hugging Face's config. X(name, text) */
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
}; /* columns of the widest panel that keeps the numeric contract, and keys in
                             a panel of keys */

/* A product as the microkernels see it: c[i, j] = sum_k b[i, k] a[k, j], i < n rows, j < m columns.
 * In bfloat16 a and b are 16-bit, k is even, and two rows of a lie interleaved: [k/2, lda, 2]. */
struct attn_gemm_shape {
    size_t m, n, k;        /* columns 17..64, rows 1..64, depth of one block >= 1 */
    size_t lda, ldb, ldc;  /* floats from one row to the next of a [k, m], b [n, k], c [n, m] */
    size_t step_a, step_b; /* numbers from one k-block to the next, when count > 1; in bfloat16
                              blocks lie one after the other */
    bool is_continued;     /* c holds the sum over earlier k, and the chain goes on from there */
    bool is_bf16;
    bool is_ahead;       /* speed only: calls get the next panel, to prefetch it */
    size_t part, n_part; /* speed only: a call prefetches this part of it; n_part 0: all of it */
};

enum { ATTN_FEW_ROWS = 6 }; /* that are multiplied by blocks without a panel of floats */

/* y = y + bias, then activated; then sum += y. */
struct attn_finish {
    const float *bias; /* [n_col]; NULL: none */
    bool has_activation;
    enum attn_activation activation;
    float *sum; /* [n_row, n_col] with the stride of y; NULL: none */
    size_t ld;  /* floats from one row of y to the next */
};

/* The backward pass of a norm over one row: from the gradient of its result to the gradient of the
 * row. */
struct attn_norm_back {
    const float *x, *w; /* [n] the norm's input, and the weight */
    size_t n;
    float eps;
    bool is_constant; /* the factor of x is treated as a constant: relevance */
};

/* An activation, with U gated: y = act(x) u. */
struct attn_activation_back {
    const float *x;
    const float *u;   /* NULL: there is no gate */
    float *dy;        /* the gradient of y on entry, of x on return */
    float *du;        /* where that of u goes */
    bool is_constant; /* act(x) / x is, and each factor of a gate gets half: relevance */
};

struct attn_cap_back {
    float cap;
    bool is_constant; /* y / x is: relevance */
};

/* The softmax of a row over the keys seen so far: the largest score, and the sum of exp(score -
 * max). Begins as ATTN_RUNNING_SOFTMAX_START. */
struct attn_running_softmax {
    float max, sum;
};
#define ATTN_RUNNING_SOFTMAX_START ((struct attn_running_softmax){.max = -INFINITY})

const char *attn_isa_name(enum attn_isa isa);

/* The best instruction set of this processor. */
enum attn_isa attn_isa_detect(void);

/* The functions of one instruction set. Pointers need no alignment; rows may overlap only when they
 * are the same. */
struct attn_kernels {
    enum attn_isa isa;

    /* The portable product: one chain over COUNT >= 1 blocks of depth k, from +0 or from the values
     * in c. The JIT kernels must give the same bits. */
    void (*gemm)(const struct attn_gemm_shape *shape, const float *a, const float *b, float *c,
                 size_t count);

    /* The same for one block, while it prefetches NEXT, a panel that lies as A does, a few lines in
     * each step of k: on AVX-512. NEXT need not be readable. */
    void (*gemm_ahead)(const struct attn_gemm_shape *shape, const float *a, const float *b,
                       float *c, const float *next);

    /* The same in bfloat16, of one block, each product added by one fma, k ascending. */
    void (*gemm_bf16)(const struct attn_gemm_shape *shape, const uint16_t *a, const uint16_t *b,
                      float *c);

    /* y = x rounded to bfloat16, to nearest, ties to even; NaN stays NaN. Y may be X. */
    void (*round_bf16)(const float *x, size_t n, uint16_t *y);

    /* Two rows x0, x1 [n] rounded and interleaved: y [n, 2]. x1 NULL: zeros. */
    void (*pair_bf16)(const float *x0, const float *x1, size_t n, uint16_t *y);

    /* Columns first .. first+m-1 of MATRIX as a panel [n_row, width] of floats; columns m ..
     * width-1 become +0. */
    void (*pack_panel)(const struct attn_matrix *matrix, size_t first, size_t m, size_t width,
                       float *panel);

    /* The product of SHAPE, of up to ATTN_FEW_ROWS rows, by columns first .. first+63 of MATRIX, of
     * blocks. For a panel that would be read once. */
    void (*multiply_blocks)(const struct attn_matrix *matrix, size_t first,
                            const struct attn_gemm_shape *shape, const float *x, float *y);

    /* y [n] = elements of a row of DTYPE at SRC (any alignment), as float32: F32, F16, BF16, F64,
     * or of blocks, the first of which begins there. */
    void (*convert)(const void *src, enum attn_dtype dtype, size_t n, float *y);

    /* Columns 0..n-1 of ROWS rows x [rows, n] (stride ldx) written transposed into panels of 64:
     * panel[(r / 64)][c][r % 64], rows first .. first+rows-1 of the panels; the rest is left alone.
     * For keys. */
    void (*pack_keys)(const float *x, size_t ldx, size_t rows, size_t n, size_t first,
                      float *panels);

    void (*add)(const float *a, const float *b, size_t n,
                float *y); /* y = a + b; y may be a or b */
    void (*scale)(const float *a, float factor, size_t n,
                  float *y); /* y = a * factor; y may be a */
    /* y = x [n], then FILL up to n_total, with stores that go past the caches: for results that are
     * not read soon, or are larger than the caches. Others may read it after _drain by the same
     * thread. */
    void (*stream)(const float *x, size_t n, float fill, size_t n_total, float *y);
    void (*drain)(void);
    void (*activate)(enum attn_activation which, float *x, size_t n); /* in place */

    /* x = act(x) * y: a gated MLP (Shazeer 2002.05202). */
    void (*gate)(enum attn_activation which, float *x, const float *y, size_t n);
    /* x = cap * tanh(x / cap), in place, cap > 0; -inf, which masks, stays. */
    void (*soft_cap)(float *x, size_t n, float cap);

    /* The steps after a product, in place, on a tile that is still in cache. Returns whether the
     * values before the activation, and the sum, are finite everywhere. */
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

    /* Cosines and sines of ANGLES [n] in radians, up to 2^30 of either sign, each rounded to
     * float32 and then multiplied by FACTOR. */
    void (*turn)(const float *angles, size_t n, float factor, float *cosines, float *sines);

    /* In place: pairs x[i], x[i + n] for i < n become x[i] cos - x[i + n] sin and
     * x[i + n] cos + x[i] sin, each product and the sum rounded (Su et al. 2104.09864). */
    void (*rotate)(float *x, const float *cosines, const float *sines, size_t n);

    /* In place: x[j] = exp(x[j]*scale - max) / sum over the first n_valid entries, the rest +0.
     * -inf counts as masked and gives exactly 0; a row with nothing allowed becomes all 0. NaN and
     * +inf give NaN. Vaswani 1706.03762 eq. 1. */
    void (*softmax)(float *x, size_t n_valid, size_t n, float scale);

    /* The next block of a row whose softmax runs over blocks (Dao et al. 2205.14135). In place:
     * x[j] = exp(x[j]*scale - max) over the first n_valid entries, the rest +0, where RUNNING's max
     * and sum have taken the block in. Returns exp(old max - max), by which whatever was
     * accumulated before must be multiplied. -inf, NaN and +inf as in softmax: a NaN or +inf makes
     * the sum NaN for good, and a row with nothing allowed keeps the sum 0. */
    float (*softmax_block)(float *x, size_t n_valid, size_t n, float scale,
                           struct attn_running_softmax *running);

    /* s [n_a, n_b] += a [n_a] b [n_b]^T, each element by one fma. */
    void (*add_outer)(const float *a, size_t n_a, const float *b, size_t n_b, float *s);

    /* y [n_col] = x [n_row] s [n_row, n_col], each element one chain; y is neither x nor s. */
    void (*multiply_row)(const float *x, size_t n_row, const float *s, size_t n_col, float *y);

    /* Gradients, each of a function above, from that of its result: of y = normalize(x) w + b, dx,
     * which may be dy; of y = act(x) or y = act(x) u, n elements; of cap * tanh(x / cap), in place,
     * x before the cap; of a rotation, in place. */
    void (*rms_norm_back)(const struct attn_norm_back *norm, const float *dy, float *dx);
    void (*layer_norm_back)(const struct attn_norm_back *norm, const float *dy, float *dx);
    void (*activate_back)(enum attn_activation which, const struct attn_activation_back *rows,
                          size_t n);
    void (*soft_cap_back)(const struct attn_cap_back *cap, const float *x, float *dy, size_t n);
    void (*rotate_back)(float *x, const float *cosines, const float *sines, size_t n);

    /* Of a row P of a softmax, in place: dp = p (dp - the sum of p dp). R is that sum but for its
     * rounding, which p (dp - r) would consist of where p is nearly 1: the sum of p (dp - r) is
     * taken off as well, unless a double would not see it beside r: then p is 1, without slope. */
    void (*softmax_back)(const float *p, float r, float *dp, size_t n);

    /* r [n_row] = the products of the rows of a and b [n_row, n], which are LD floats apart; each
     * is one chain. */
    void (*dots)(const float *a, const float *b, size_t ld, size_t n_row, size_t n, float *r);

    /* In double, each product and sum rounded: Y [n] += weight x and SUMS [n] += x; returns the sum
     * of x. And y [n] += factor (a x). For matrices that are added up. */
    double (*add_weighted)(const float *x, size_t n, double weight, double *y, double *sums);
    void (*add_product)(double factor, double a, const double *x, size_t n, double *y);

    float (*sum)(const float *x, size_t n);
    bool (*is_finite)(const float *x, size_t n); /* no NaN, no infinity */

    /* Multiply-adds on registers, N_ROUND times a few dozen: the processor's limit, for the time it
     * takes. Returns their number. */
    double (*spin)(size_t n_round);

    /* ln sum exp(x), computed from the row's maximum in double. For log-probabilities. */
    double (*log_sum_exp)(const float *x, size_t n);

    /* -sum p ln p in nats, in double, where 0 ln 0 is 0; NaN for a p below 0 or NaN. */
    double (*entropy)(const float *p, size_t n);

    /* KL(p || q) = sum p ln(p/q) in nats, in double, of p = exp(x - x_total) and
     * q = exp(y - y_total) [n], where the totals are log_sum_exp of each. */
    double (*divergence)(const float *x, double x_total, const float *y, double y_total, size_t n);
};

/* Returns the functions for the best instruction set that the processor and LIMIT allow. Never
 * NULL. Constant data; nothing to free. */
const struct attn_kernels *attn_kernels_find(enum attn_isa limit);

const char *attn_activation_name(enum attn_activation activation);

/* The activation called NAME, by any of Hugging Face's names for it, or ATTN_N_ACTIVATION. */
enum attn_activation attn_activation_find(const char *name);

#endif
