/*
 * diff.h - what differs between two runs: where the heads look in two texts, or in one text under
 * two models or two kinds of attention.
 *
 *     struct attn_diff_args args = ATTN_DIFF_ARGS_DEFAULT;
 *     struct attn_diff_sum sum;
 *     struct attn_table *table;
 *     args.request = &other_text;
 *     attn_diff(host, &text, &args, &table, &sum, &err);
 *
 * Rows of the pattern are compared, a row a head:
 *
 *     layer, head, rows      how many rows were compared
 *     tv_mean, tv_max, at    total variation 1/2 sum |a - b| of a row: mean, largest, its query
 *     js                     mean Jensen-Shannon divergence of a row, in nats, not smoothed
 *
 * In a causal model a row cannot depend on later tokens. So of two texts the rows from the first
 * token that differs are compared, and those before it must be the same bits. Where the texts have
 * not as many tokens, the rows of their longest common prefix and suffix are: keys of prefix and
 * suffix with one another, the keys between them taken together as one. One text under two models
 * must have the same tokens in both.
 *
 * Over items (study.h) `rows` is the sum, and `at` is left out. With a host or a request of the
 * second run each item is one text, under both.
 */
#ifndef ATTN_EXPERIMENT_DIFF_H
#define ATTN_EXPERIMENT_DIFF_H

#include "base/table.h"
#include "run/run.h"

struct attn_study_args; /* experiment/study.h */

struct attn_diff_args {
    size_t size;                         /* of this struct */
    struct attn_host *host;              /* of the second run; NULL: that of the first */
    const struct attn_request *request;  /* of the second run; NULL: that of the first */
    const struct attn_study_args *study; /* pairs a, b instead of both inputs; with a host
                                            or a request single texts; or NULL */
};

#define ATTN_DIFF_ARGS_DEFAULT ((struct attn_diff_args){.size = sizeof(struct attn_diff_args)})

struct attn_diff_sum {
    size_t n_same;   /* rows before the first token that differs, found to be the same bits; 0 where
                      the texts are the same, the models or the attention are not, or a model is not
                      causal */
    size_t n_row;    /* rows that were compared of each head */
    bool is_aligned; /* the texts have not as many tokens: prefix and suffix were compared */
};

/* Compares two runs of models with as many layers and heads. The caller owns *table. Errors have a
 * stage: ATTN_INVALID at that of checks when rows that cannot differ do. */
ATTN_API enum attn_status attn_diff(struct attn_host *host, const struct attn_request *request,
                                    const struct attn_diff_args *args, struct attn_table **table,
                                    struct attn_diff_sum *sum, struct attn_error *err);

#endif
