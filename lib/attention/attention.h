/*
 * attention.h - the attention of a layer.
 *
 * Exact attention is z = softmax(q k^T / (sqrt(d_head) + eps)) v over the keys that the mask leaves
 * (Vaswani et al. 1706.03762, eq. 1). Sparse kinds leave fewer keys, linear and low-rank ones
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

/* Which of the kind's keys a query may look at. */
enum attn_mask {
    ATTN_MASK_CAUSAL = 0, /* key j is visible to query i when j <= i */
    ATTN_MASK_NONE = 1,   /* every key; the whole sequence must be fed at once */
    ATTN_MASK_MATRIX = 2, /* the mask in `matrix`; the whole sequence must be fed at once */
};

/* Cells of 0 and 1 for each pair of a query and a key. */
struct attn_mask_matrix {
    const unsigned char *cells; /* [n_head, n_query, n_key]; borrowed while it is used */
    size_t n_head;              /* 1: the same for all heads */
    size_t n_query, n_key;
};

/* Where the mask is put: the three ways of writing it down. */
enum attn_masking {
    ATTN_MASKING_INF = 0,         /* scores become -inf before the softmax */
    ATTN_MASKING_RENORMALIZE = 1, /* weights become 0 after it, and are divided by the row's sum */
    ATTN_MASKING_ZERO = 2,        /* weights become 0 after it; rows add to less than 1 */
};

enum attn_similarity {
    ATTN_SIMILARITY_DOT = 0,
    ATTN_SIMILARITY_COSINE = 1, /* q and k are divided by their lengths first; of 0 it is 0 */
};

/* How exact attention is evaluated. */
enum attn_algorithm {
    ATTN_ALGORITHM_AUTO = 0, /* dense, always */
    ATTN_ALGORITHM_DENSE = 1,
    /* Running maximum and sum over blocks of keys (Dao et al. 2205.14135); rows of the pattern are
     * computed again when they are watched. */
    ATTN_ALGORITHM_BLOCKWISE = 2,
};

/* phi of linear attention, of q and k as they are, without any scale. */
enum attn_feature {
    ATTN_FEATURE_ELU = 0,  /* elu(x) + 1 */
    ATTN_FEATURE_RELU = 1, /* max(x, 0) + 1e-6 */
    ATTN_FEATURE_EXP = 2,  /* exp(x) */
};

struct attn_score_bias; /* numbers that are added to scores; the library's own */

/* One layer's attention. */
struct attn_attention {
    enum attn_attention_kind kind;
    size_t window;             /* W of window, hybrid and sink, >= 1 */
    size_t stride;             /* S of strided and hybrid, >= 1; of strided also 0: not resolved */
    size_t count;              /* K of random and sink, B of block, R of lowrank, >= 1 */
    uint64_t seed;             /* of random and lowrank */
    enum attn_feature feature; /* of linear */
    bool is_raw;               /* linear without the division */
    enum attn_mask mask;
    struct attn_mask_matrix matrix;
    enum attn_masking masking;
    enum attn_similarity similarity;
    enum attn_algorithm algorithm;
    bool is_scaled;   /* divide scores by sqrt(d_head) + eps */
    double eps;       /* added to sqrt(d_head), >= 0 */
    double factor;    /* further factor on the scores: 1, or 1/(layer+1)
                       (scale_attn_by_inverse_layer_idx) */
    double score_cap; /* scaled scores become cap * tanh(score / cap), before the mask; 0: they
                         stay */
    double dropout;   /* share of the weights that is dropped, 0 <= p < 1; the others are multiplied
                         by 1/(1-p) (Srivastava et al. 2014). The whole sequence must be fed at
                         once */
    uint64_t dropout_seed; /* torch's stream over all weights [H, T, S], layer after layer */
    /* cells NULL: drawn from that seed; else 1: this weight stays */
    struct attn_mask_matrix dropout_mask;
    const struct attn_score_bias *bias; /* borrowed; NULL: nothing is added to scores */
    /* [n_head] a score of each head that takes part in the softmax of every row, and has no key:
     * the weights of a row add to less than 1. Borrowed; NULL: no sinks. */
    const float *sinks;
    size_t first_head;    /* of bias and sinks: that of head 0 */
    const void *later[2]; /* NULL: room for fields of later versions */
};

#define ATTN_ATTENTION_DEFAULT                                                                     \
    ((struct attn_attention){.kind = ATTN_ATTENTION_FULL, .is_scaled = true, .factor = 1})

#endif
