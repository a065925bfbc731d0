/*
 * comparison.h - the result of a comparison with exact attention (compare/compare.h).
 *
 *     struct attn_comparison *found;
 *     attn_compare(run, 5, &found, &err);
 *     printf("%g\n", found->heads[0].local.values[ATTN_DIFFERENCE_TV]);
 *     attn_comparison_tabulate(found, ATTN_COMPARISON_HEADS, labels, NULL, &table, &err);
 *     attn_comparison_free(found);
 */
#ifndef ATTN_COMPARE_COMPARISON_H
#define ATTN_COMPARE_COMPARISON_H

#include "analysis/difference.h"
#include "tokenizer/tokenizer.h"
#include "writers/output.h"

/* The cost of attention in a layer: all heads and queries, whether selected or not. */
struct attn_attention_cost {
    uint64_t n_pair; /* attn_attention_n_pair */
    uint64_t n_byte; /* of intermediate results: a float per pair; for blockwise attention maximum
                        and sum of each row; for linear attention its sums, E (Ev + 1) floats per
                        head; for low-rank attention also the projected k, v */
    double seconds;  /* wall time from q, k and v to z, measured once */
};

/* The differences of a head, their means over the selected heads of a layer, or over everything.
 * The layer of arrays is 0, and the heads of all batches are numbered as one list. */
struct attn_compared_row {
    struct attn_location at; /* ATTN_ALL_LAYERS, ATTN_ALL_HEADS: the mean over those that were
                                selected */
    size_t n;                /* heads of a layer, layers of everything; 1 for a head */
    struct attn_difference local, propagated;
    struct attn_attention_cost exact, chosen; /* of layers and of everything; 0 for heads */
};

/* Next tokens after one position. */
struct attn_compared_logits {
    size_t position;
    double kl;                         /* KL(exact || chosen) in nats */
    int32_t exact_first, chosen_first; /* the most probable token, the first of equal ones */
};

struct attn_comparison {
    struct attn_compared_row *heads; /* owns; [n_head] those selected, by layer and head; then the
                                        rows of layers, then that of everything */
    size_t n_head;
    struct attn_compared_row *layers; /* [n_layer] those that have such heads */
    size_t n_layer;
    struct attn_compared_row *all;       /* over everything */
    bool has_propagated;                 /* of a model: `propagated` is set */
    struct attn_compared_logits *logits; /* [n_logits] by position; empty without an output layer */
    size_t n_logits;
};

/* clang-format off */
/*
 * The tables of a comparison; the columns of a difference are those of attn_difference_columns.
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

/* Makes the table of a PART for the caller. Without TOKENIZER texts are missing. */
ATTN_API enum attn_status
attn_comparison_tabulate(const struct attn_comparison *comparison, enum attn_comparison_part part,
                         const struct attn_labels *labels, const struct attn_tokenizer *tokenizer,
                         struct attn_table **table, struct attn_error *err);

ATTN_API void attn_comparison_free(struct attn_comparison *comparison); /* NULL is allowed */

#endif
