/*
 * attention.h - which attention a layer computes.
 *
 * Exact attention is z = softmax(q k^T / (sqrt(d_head) + eps)) v over the keys that the mask leaves
 * (Vaswani et al. 1706.03762, eq. 1). Sparse kinds leave fewer keys, linear and low-rank ones
 * replace the softmax. A query that may look at nothing gets a pattern row of zeros and z = 0.
 *
 * i is the position of a query among the keys, j that of a key.
 */
#ifndef ATTN_ATTENTION_ATTENTION_H
#define ATTN_ATTENTION_ATTENTION_H

#include "base/api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * X(NAME, name, how it is written). The pairs (i, j) that are kept, the mask aside:
 *
 *   full      all
 *   window    |i-j| < W
 *   strided   |i-j| < S, or S divides i-j; S is sqrt of the keys, rounded up, where none is given
 *             (Child et al. 1904.10509)
 *   log       |i-j| is 0 or a power of two
 *   random    i = j, and K-1 other keys, drawn by seed, layer, head and row
 *   block     floor(i/B) = floor(j/B)
 *   hybrid    |i-j| < W, or S divides i-j
 *
 * A number that reaches that of the keys means all of them. Two keep no pairs:
 *
 *   linear    phi(q) (phi(k)^T v), divided by phi(q) . sum phi(k) unless raw (Katharopoulos et al.
 *             2006.16236)
 *   lowrank   softmax(q (E k)^T scale) (F v), E and F [R, S] drawn from N(0, 1/R) (Wang et al.
 *             2006.04768)
 */
#define ATTN_ATTENTION_KIND_MAP(X)                                                                 \
    X(FULL, "full", "full")                                                                        \
    X(WINDOW, "window", "window:W")                                                                \
    X(STRIDED, "strided", "strided[:S]")                                                           \
    X(LOG, "log", "log")                                                                           \
    X(RANDOM, "random", "random:K[:SEED]")                                                         \
    X(BLOCK, "block", "block:B")                                                                   \
    X(HYBRID, "hybrid", "hybrid:W:S")                                                              \
    X(LINEAR, "linear", "linear[:elu|relu|exp][:raw]")                                             \
    X(LOWRANK, "lowrank", "lowrank:R[:SEED]")

enum attn_attention_kind {
#define ATTN_ATTENTION_KIND_ENUM(name, ...) ATTN_ATTENTION_##name,
    ATTN_ATTENTION_KIND_MAP(ATTN_ATTENTION_KIND_ENUM)
#undef ATTN_ATTENTION_KIND_ENUM
        ATTN_N_ATTENTION_KIND
};

/* Which keys a query may look at, beside what the kind leaves. */
enum attn_mask {
    ATTN_MASK_CAUSAL, /* key j is visible to query i when j <= i */
    ATTN_MASK_NONE,   /* every key; the whole sequence must be fed at once */
    ATTN_MASK_MATRIX, /* what `matrix` says; the whole sequence must be fed at once */
};

/* Cells of 0 and 1 for each pair of a query and a key. */
struct attn_mask_matrix {
    const unsigned char *cells; /* [n_head, n_query, n_key]; borrowed while it is used */
    size_t n_head;              /* 1: the same for all heads */
    size_t n_query, n_key;
};

/* Where the mask is put: the three ways of writing it down. */
enum attn_masking {
    ATTN_MASKING_INF,         /* scores become -inf before the softmax */
    ATTN_MASKING_RENORMALIZE, /* weights become 0 after it, and are divided by the row's sum */
    ATTN_MASKING_ZERO,        /* weights become 0 after it; rows add to less than 1 */
};

enum attn_similarity {
    ATTN_SIMILARITY_DOT,
    ATTN_SIMILARITY_COSINE, /* q and k are divided by their lengths first; of 0 it is 0 */
};

/* How exact attention is evaluated. */
enum attn_algorithm {
    ATTN_ALGORITHM_AUTO, /* dense, always */
    ATTN_ALGORITHM_DENSE,
    ATTN_ALGORITHM_BLOCKWISE, /* running maximum and sum over blocks of keys (Dao et al. 2205.14135);
                                 rows of the pattern are computed again when somebody watches */
};

/* phi of linear attention, of q and k as they are, without any scale. */
enum attn_feature {
    ATTN_FEATURE_ELU,  /* elu(x) + 1 */
    ATTN_FEATURE_RELU, /* max(x, 0) + 1e-6 */
    ATTN_FEATURE_EXP,  /* exp(x) */
};

/* One layer's attention. */
struct attn_attention {
    enum attn_attention_kind kind;
    size_t window; /* W of window and hybrid, >= 1 */
    size_t stride; /* S of strided and hybrid, >= 1; of strided also 0: see attn_attention_settle */
    size_t count;  /* K of random, B of block, R of lowrank, >= 1 */
    uint64_t seed; /* of random and lowrank */
    enum attn_feature feature; /* of linear */
    bool is_raw;               /* linear without the division */
    enum attn_mask mask;
    struct attn_mask_matrix matrix;
    enum attn_masking masking;
    enum attn_similarity similarity;
    enum attn_algorithm algorithm;
    bool is_scaled; /* divide scores by sqrt(d_head) + eps */
    double eps;     /* added to sqrt(d_head), >= 0 */
    double factor;  /* further factor on the scores: 1, or 1/(layer+1)
                       (scale_attn_by_inverse_layer_idx) */
    double
        dropout; /* share of the weights that is dropped, 0 <= p < 1; the others are multiplied by
                       1/(1-p) (Srivastava et al. 2014). The whole sequence must be fed at once */
    uint64_t dropout_seed;        /* torch's stream over all weights [H, T, S], layer after layer */
    struct attn_mask_matrix keep; /* cells NULL: drawn from that seed; else 1: this weight stays */
};

#define ATTN_ATTENTION_DEFAULT                                                                     \
    ((struct attn_attention){.kind = ATTN_ATTENTION_FULL, .is_scaled = true, .factor = 1})

#endif
