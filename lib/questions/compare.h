/*
 * compare.h - compares attention with exact attention: the difference of every head, within its
 * layer and propagated through the model, the effect on the predictions, and the cost of both.
 *
 *     struct attn_comparison *found;
 *     attn_run_prepare(host, &request, &run, &err);
 *     attn_compare(run, 5, &found, &err);
 *     printf("%g\n", found->heads[0].local.values[ATTN_DIFFERENCE_TV]);
 *     attn_comparison_tabulate(found, ATTN_COMPARISON_HEADS, labels, NULL, &table, &err);
 *     attn_comparison_free(found);
 *
 * Exact attention is the softmax of the same scores over all pairs that are not masked: the chosen
 * attention with kind `full`, masked before the softmax, without dropout, in float32. In layers
 * whose window belongs to the model, exact attention has that window. Two errors are measured:
 *
 *     local       a layer computes the chosen attention from q, k and v of the exact run
 *     propagated  all layers compute it: from layer 1 on q, k and v differ as well
 */
#ifndef ATTN_QUESTIONS_COMPARE_H
#define ATTN_QUESTIONS_COMPARE_H

#include "measures/difference.h"
#include "run/run.h"

/* The cost of attention in a layer, for all heads and queries, whether selected or not. */
struct attn_attention_cost {
    uint64_t n_pair; /* attn_attention_n_pair */
    /* bytes of intermediate results: a float per pair; for blockwise attention maximum and sum of
     * each row; for linear attention its sums, E (Ev + 1) floats per head; for low-rank attention
     * also the projected k and v */
    uint64_t n_byte;
    double seconds; /* wall-clock time from q, k and v to z, measured once */
};

/* The differences of a head; or their means over the selected heads of a layer, or over all
 * selected heads. For arrays the layer is 0, and the heads of all batches are numbered
 * consecutively. */
struct attn_compared_row {
    /* for a mean: ATTN_ALL_HEADS, and for the mean over everything ATTN_ALL_LAYERS */
    struct attn_location at;
    /* for a layer the number of heads, for everything the number of layers; 1 for a head */
    size_t n;
    struct attn_difference local, propagated;
    struct attn_attention_cost exact, chosen; /* set for layers and for everything; 0 for heads */
};

/* Predictions of both runs after one position. */
struct attn_compared_logits {
    size_t position;
    double kl;                         /* KL(exact || chosen) in nats */
    int32_t exact_first, chosen_first; /* most probable token of each run; the first one in a tie */
};

struct attn_comparison {
    /* owns; [n_head] rows of the selected heads by layer and head, followed by the rows of layers
     * and of everything */
    struct attn_compared_row *heads;
    size_t n_head;
    struct attn_compared_row *layers; /* [n_layer] rows of the layers with selected heads */
    size_t n_layer;
    struct attn_compared_row *all; /* row of everything */
    bool has_propagated;           /* true for a model: `propagated` is set */
    /* [n_logits] sorted by position; empty without an output layer */
    struct attn_compared_logits *logits;
    size_t n_logits;
};

/*
 * Compares the attention of RUN, of a model or of arrays; a run with edits is an error. The
 * selected layers, heads and queries are compared, and the logits after these queries. The outputs
 * of RUN, which are pictures, show the local differences of the patterns, chosen minus exact; if
 * the readers of all outputs closed their pipes, *comparison is NULL. Arrays only have local
 * errors, in layer 0. N_RECALLED is K of ATTN_DIFFERENCE_RECALL, 1..ATTN_MOST_RECALLED. The caller
 * owns *comparison.
 *
 * A model runs twice, and the attention of each layer is computed once more. Memory: q, k, v and z
 * of the selected layers, n (2H + G) floats of d_head or d_value a layer; two sessions with one
 * layer's keys and values; never a whole matrix of more than 64 MiB. For arrays: z twice.
 *
 * Errors have a stage, as in attn_run_perform. ATTN_INVALID at ATTN_STAGE_OPTIONS if the attention
 * of every layer is exact.
 */
ATTN_API enum attn_status attn_compare(const struct attn_run *run, size_t n_recalled,
                                       struct attn_comparison **comparison, struct attn_error *err);

/* clang-format off */
/*
 * The tables of a comparison. A difference has the columns of ATTN_DIFFERENCE_MAP.
 *
 * HEADS   layer (for arrays: batch), head, error (local or propagated), difference
 * COSTS   layer, then pairs, bytes and seconds of exact and of chosen attention
 * LOGITS  query, kl, exact_first and chosen_first (ids), and the texts of the token at the query
 *         and of these two
 */
/* clang-format on */
enum attn_comparison_part {
    ATTN_COMPARISON_HEADS = 0,
    ATTN_COMPARISON_COSTS = 1,
    ATTN_COMPARISON_LOGITS = 2
};

/* Creates the table of a PART, which the caller owns. Without TOKENIZER the texts are missing. */
ATTN_API enum attn_status
attn_comparison_tabulate(const struct attn_comparison *comparison, enum attn_comparison_part part,
                         const struct attn_labels *labels, const struct attn_tokenizer *tokenizer,
                         struct attn_table **table, struct attn_error *err);

ATTN_API void attn_comparison_free(struct attn_comparison *comparison); /* NULL is allowed */

#endif
