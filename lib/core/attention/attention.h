/*
 * attention.h - the attention of a layer.
 *
 * Exact attention is z = softmax(q k^T / (sqrt(d_head) + eps)) v over the keys that are not masked
 * (Vaswani et al. 1706.03762, eq. 1). Sparse kinds keep fewer keys; linear and low-rank attention
 * replace the softmax. A query without visible keys gets a pattern row of zeros and z = 0.
 *
 * i is the position of a query among the keys, j the position of a key.
 */
#ifndef ATTN_ATTENTION_ATTENTION_H
#define ATTN_ATTENTION_ATTENTION_H

#include "attention/kind.h"
#include "base/api.h"
#include "base/status.h"
#include "trace/site.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The mask: which of the keys that the kind keeps a query may see. */
enum attn_mask {
    ATTN_MASK_CAUSAL = 0, /* key j is visible to query i when j <= i */
    ATTN_MASK_NONE = 1,   /* every key is visible; the whole sequence must be fed at once */
    ATTN_MASK_MATRIX = 2, /* the cells of `matrix`; the whole sequence must be fed at once */
};

/* A matrix of 0 and 1, one cell for each pair of a query and a key. */
struct attn_mask_matrix {
    const unsigned char *cells; /* [n_head, n_query, n_key]; borrowed */
    size_t n_head;              /* 1: all heads share the cells */
    size_t n_query, n_key;
};

/* Positions that see each other under a causal mask, for kinds full and window: the cells of a
 * picture, or a prompt. They must be in one feed. */
struct attn_mask_block {
    size_t first, end;   /* the positions first to end-1; end 0: no block */
    bool ignores_window; /* else a window limits how far back a query of the block sees */
};

/* Several such blocks, in ascending order; no position is in two of them. */
struct attn_mask_blocks {
    const struct attn_mask_block *items; /* [n] borrowed */
    size_t n;
};

/* Where the mask is applied; papers differ in it. */
enum attn_masking {
    ATTN_MASKING_INF = 0, /* scores become -inf before the softmax */
    /* Weights become 0 after the softmax, and are divided by their sum in the row. */
    ATTN_MASKING_RENORMALIZE = 1,
    ATTN_MASKING_ZERO = 2, /* weights become 0 after the softmax; a row sums to less than 1 */
};

enum attn_similarity {
    ATTN_SIMILARITY_DOT = 0,
    /* q and k are divided by their lengths first; the similarity with a zero vector is 0. */
    ATTN_SIMILARITY_COSINE = 1,
};

/* The algorithm for exact attention. */
enum attn_algorithm {
    ATTN_ALGORITHM_AUTO = 0, /* currently always dense */
    ATTN_ALGORITHM_DENSE = 1,
    /* A running maximum and sum over blocks of keys (Dao et al. 2205.14135). Watched rows of the
       pattern are computed separately. */
    ATTN_ALGORITHM_BLOCKWISE = 2,
};

/* The feature map phi of linear attention. It is applied to q and k without any scale. */
enum attn_feature {
    ATTN_FEATURE_ELU = 0,  /* elu(x) + 1 */
    ATTN_FEATURE_RELU = 1, /* max(x, 0) + 1e-6 */
    ATTN_FEATURE_EXP = 2,  /* exp(x) */
};

struct attn_score_bias; /* numbers that are added to scores; internal to the library */

/* The attention of one layer. */
struct attn_attention {
    enum attn_attention_kind kind;
    size_t window; /* W, for window, hybrid and sink, >= 1 */
    size_t stride; /* S, for strided and hybrid, >= 1; 0 for strided: not resolved yet. C for block;
                      0: all positions are in one row */
    size_t count;  /* K for random and sink, B for block, R for lowrank, >= 1 */
    uint64_t seed; /* for random and lowrank */
    enum attn_feature feature; /* for linear */
    bool is_raw;               /* for linear: without the division */
    enum attn_mask mask;
    struct attn_mask_matrix matrix;
    enum attn_masking masking;
    enum attn_similarity similarity;
    enum attn_algorithm algorithm;
    bool is_scaled;   /* divide scores by sqrt(d_head) + eps */
    double eps;       /* added to sqrt(d_head), >= 0 */
    double factor;    /* further factor on the scores: 1, or 1/(layer+1)
                       (scale_attn_by_inverse_layer_idx) */
    double score_cap; /* scaled scores become cap * tanh(score / cap), before the mask; 0: no cap */
    /* Share of the weights that is dropped, 0 <= p < 1; the others are multiplied by 1/(1-p)
     * (Srivastava et al. 2014). The whole sequence must be fed at once. */
    double dropout;
    uint64_t dropout_seed; /* seed of torch's random stream, from which all weights [H, T, S] draw,
                              layer after layer */
    /* 1 keeps a weight, 0 drops it. If cells is NULL, those to drop are drawn from the seed */
    struct attn_mask_matrix dropout_mask;
    const struct attn_score_bias *bias; /* borrowed; NULL: nothing is added to scores */
    /* [n_head] one score for each head that takes part in the softmax of every row but belongs to
     * no key, so that the weights of a row sum to less than 1. Borrowed; NULL: no sinks */
    const float *sinks;
    size_t first_head;                     /* index of head 0 in `bias` and `sinks` */
    struct attn_mask_block block;          /* the first block */
    const struct attn_mask_blocks *blocks; /* borrowed; those after it; NULL: none */
    const void *later[8];                  /* NULL: room for fields of later versions */
};

/* Sets ATTENTION [size bytes] to the defaults, and returns it. */
ATTN_API struct attn_attention *attn_attention_init(struct attn_attention *attention, size_t size);
#define ATTN_ATTENTION_DEFAULT ATTN_DEFAULT_OF(attn_attention)

#endif
