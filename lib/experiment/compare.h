/*
 * compare.h - a kind of attention beside exact attention: how far every head is from it, alone and
 * carried through the model, what becomes of the predictions, and what both cost.
 *
 *     struct attn_compare_args args = {.model = model, .ids = ids, .n = n, .attention = chosen,
 *                                      .selection = selection, .n_recalled = 5};
 *     struct attn_comparison *found;
 *     attn_compare_run(&args, &found, &err);
 *     ... found->heads[i].local.values[ATTN_DIFFERENCE_TV] ...
 *     attn_comparison_free(found);
 *
 * Arrays are compared likewise, with attn_compare_attend.
 *
 * Exact attention is the softmax over every pair that the mask leaves, of the same scores: what was
 * chosen with kind `full`, masked before the softmax and without dropout. The error is told twice,
 * for the two differ:
 *
 *     local       a layer computes what was chosen from q, k and v of the exact run
 *     propagated  all layers compute it: from layer 1 on q, k and v are others, too
 */
#ifndef ATTN_EXPERIMENT_COMPARE_H
#define ATTN_EXPERIMENT_COMPARE_H

#include "analysis/difference.h"
#include "attention/attend.h"
#include "model/session.h"

struct attn_compare_args {
    const struct attn_model *model; /* its compute is that of the run that was chosen; the exact
                                       one multiplies in float32 */
    const int32_t *ids;             /* [n], n >= 1 */
    const float *embeddings;        /* [n, d_model] in place of ids, or NULL */
    size_t n;
    const float *source; /* [n_source, d_source] for models with cross-attention, else NULL */
    size_t n_source;
    const struct attn_attention *attention; /* [n_layer] what was chosen */

    /* Layers, heads and queries that are compared; sites pattern and z, those of them that there
     * are. Logits are compared after these queries. */
    const struct attn_selection *selection;
    size_t n_recalled;                   /* K of ATTN_DIFFERENCE_RECALL, 1..ATTN_MOST_RECALLED */
    struct attn_pool *pool;              /* NULL: the caller's thread alone */
    const volatile sig_atomic_t *cancel; /* polled; not 0: ATTN_CANCELED */
    enum attn_gemm gemm;                 /* in float32 speed only */
    enum attn_isa isa;                   /* likewise */
};

struct attn_compared_head {
    int layer, head;
    struct attn_difference local, propagated;
};

/* One attention of a layer: all heads and queries, whatever was selected. */
struct attn_attention_cost {
    uint64_t n_pair; /* attn_attention_n_pair */
    uint64_t n_byte; /* of what stands between q, k, v and z: a float for each pair; of blockwise
                        attention maximum and sum of each row; of linear attention its sums,
                        E (Ev + 1) floats a head; of low-rank attention also the projected k, v */
    double seconds;  /* wall time from q, k and v to z, measured once */
};

struct attn_compared_layer {
    int layer;
    struct attn_difference local, propagated; /* over its selected heads */
    struct attn_attention_cost exact, chosen;
};

/* Next tokens after one position. */
struct attn_compared_logits {
    size_t position;
    double kl;                         /* KL(exact || chosen) in nats */
    int32_t exact_first, chosen_first; /* the most probable token; of equal ones the first */
};

struct attn_comparison {
    struct attn_compared_head *heads; /* [n_head] those selected, by layer and head */
    size_t n_head;
    struct attn_difference local, propagated; /* over all of them */
    bool has_propagated; /* whether there was a model: otherwise these hold nothing */
    struct attn_compared_layer *layers; /* [n_layer] those that have such heads */
    size_t n_layer;
    struct attn_compared_logits *logits; /* [n_logits] by position; none without an output layer */
    size_t n_logits;
};

/*
 * Runs the model twice, and the attention of each layer beside it. ATTN_INVALID for what does not go
 * together; otherwise fails as attn_session_create and attn_session_feed do. Memory: q, k, v and z
 * of the selected layers of the exact run, n (2H + G) floats of d_head or d_value a layer; two
 * sessions that remember one layer; never a whole matrix that is larger than 64 MiB.
 */
ATTN_API enum attn_status attn_compare_run(const struct attn_compare_args *args,
                                           struct attn_comparison **comparison,
                                           struct attn_error *err);

/*
 * The same of attention on arrays, whose trace is not used: errors are local, as those of layer 0.
 * SELECTION is for attn_attend_dims of ARGS. Fails as attn_attend does. Memory: z twice.
 */
ATTN_API enum attn_status
attn_compare_attend(const struct attn_attend_args *args, const struct attn_selection *selection,
                    size_t n_recalled, struct attn_comparison **comparison, struct attn_error *err);

ATTN_API void attn_comparison_free(struct attn_comparison *comparison); /* NULL is allowed */

#endif
