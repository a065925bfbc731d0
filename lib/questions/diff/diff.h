/*
 * diff.h - compares the patterns of two runs: two texts, or one text under two models or two kinds
 * of attention.
 *
 *     struct attn_diff_args args = ATTN_DIFF_ARGS_DEFAULT;
 *     struct attn_diff_sum sum = ATTN_DIFF_SUM_DEFAULT;
 *     struct attn_table *table;
 *     args.request = &other_text;
 *     attn_diff(host, &text, &args, &table, &sum, &err);
 *
 * The table has a row per head:
 *
 *     layer, head, n_row
 *     tv, tv_max, position   total variation 1/2 sum |a - b| of a row: mean, largest, its query
 *     js                     mean Jensen-Shannon divergence of a row, in nats, not smoothed
 *     recall                 of two kinds of attention: mean share of the 5 keys with the largest
 *                            weights of the first that are among the 5 of the second
 *
 * In a causal model a row cannot depend on later tokens. So rows are compared from the first token
 * that differs, and the rows before it must be bit-identical. If the texts differ in length, the
 * rows of their longest common prefix and suffix are compared: keys of prefix and suffix one by
 * one, all keys between them as one key. One text under two models must have the same tokens in
 * both.
 *
 * Over items (study.h) `n_row` is the sum, and `position` is left out. With a host or a request for
 * the second run, each item is one text that both run.
 */
#ifndef ATTN_DIFF_DIFF_H
#define ATTN_DIFF_DIFF_H

#include "run/run.h"
#include "tables/table.h"

struct attn_study_args; /* means/study.h */

struct attn_diff_args {
    size_t size;                        /* size of this struct */
    struct attn_host *host;             /* host of the second run; NULL: that of the first run */
    const struct attn_request *request; /* request of the second run; NULL: that of the first run */
    /* items with a and b instead of both inputs; with a host or a request, single texts; or NULL */
    const struct attn_study_args *study;
};

#define ATTN_DIFF_ARGS_DEFAULT ATTN_QUESTION_DEFAULT("diff", attn_diff_args)

struct attn_diff_sum {
    size_t size; /* of this struct */
    /* rows before the first differing token, which are bit-identical; 0 if the texts are equal, if
     * models or attention differ, or if a model is not causal */
    size_t n_same;
    size_t n_row; /* number of compared rows per head */
    /* the texts differ in length: only prefix and suffix were compared one by one */
    bool is_aligned;
    /* Of one text under two models or kinds of attention that predict the next token: sums over all
     * tokens but the first of each text; also over items. */
    size_t n_token;
    double kl;               /* KL(p of the first run || p of the second), in nats */
    size_t n_same_top;       /* tokens before which both expect the same one most */
    double nats, other_nats; /* -ln p(token) of the first run, and of the second */
};

/* Sets SUM [size bytes] to the defaults, and returns it. */
ATTN_API struct attn_diff_sum *attn_diff_sum_init(struct attn_diff_sum *sum, size_t size);
#define ATTN_DIFF_SUM_DEFAULT ATTN_DEFAULT_OF(attn_diff_sum)

/* Compares two runs of models with equal numbers of layers and heads. The caller owns *table.
 * Errors have a stage: the stage of checks with ATTN_INVALID if rows differ that must be equal. */
ATTN_API enum attn_status attn_diff(struct attn_host *host, const struct attn_request *request,
                                    const struct attn_diff_args *args, struct attn_table **table,
                                    struct attn_diff_sum *sum, struct attn_error *err);

#endif
