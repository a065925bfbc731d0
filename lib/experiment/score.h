/*
 * score.h - how surprising each token of a text is to a model: -ln p(token | what came before).
 *
 *     struct attn_score_args args = ATTN_SCORE_ARGS_DEFAULT;
 *     struct attn_score_sum sum;
 *     struct attn_table *table;
 *     attn_score(host, &request, &args, &table, &sum, &err);
 *     printf("perplexity %g\n", exp(sum.nats / (double)sum.n_token));
 *     attn_table_free(table);
 *
 * Probabilities are made of float32 logits in double precision. The table has a row a position:
 *
 *     position, id, token
 *     bits, nats          -log2 p and -ln p
 *     rank                1: no token was more probable; of equal ones the first of the vocabulary
 *     top, top_prob       the most probable token there
 *
 * The first token has none of the last five: nothing came before it. An encoder scores each token
 * with a mask in its place, given all others; special tokens have no score.
 *
 * Over many texts it has one row. Each text counts once, by the mean over its scored tokens:
 *
 *     texts, tokens       texts that have such tokens; these tokens
 *     bits, bits_sd       mean and standard deviation over the texts
 *     nats, nats_sd
 *
 * Over items (experiment/study.h) it has one row, or one for each group. What the first item has
 * that can be read says what all are asked:
 *
 *     a target        metric, at the item's `at`; right, 1 where a foil is less probable, without
 *                     one where no token is more probable than the target, else 0: its mean is the
 *                     accuracy; rank and prob of the target
 *     good and bad    good, bad: ln p of each of the two texts, by `per`; difference; right, 1
 *                     where it is above 0
 *     neither         nats and bits of the text, by `per`; tokens, those that were scored
 *
 * An item without a token that has a score fails: a single token of a decoder, special tokens alone
 * of an encoder. A text of T tokens takes an encoder up to T runs, side by side.
 */
#ifndef ATTN_EXPERIMENT_SCORE_H
#define ATTN_EXPERIMENT_SCORE_H

#include "base/table.h"
#include "run/answer.h"
#include "run/run.h"

struct attn_study_args; /* experiment/study.h */

/* What the score of an item is. Those of its tokens, or words, are what the table of that text
 * alone has. */
enum attn_score_per {
    ATTN_SCORE_PER_SUM = 0,   /* the sum over its tokens */
    ATTN_SCORE_PER_TOKEN = 1, /* their mean */
    ATTN_SCORE_PER_WORD = 2   /* the mean over its words */
};

struct attn_score_args {
    size_t size;       /* of this struct */
    size_t stride;     /* a text longer than n_ctx is scored in windows of n_ctx positions that move
                          by so many, 1..n_ctx; 0: such a text is refused */
    bool merges_words; /* a row a word: its first position, its text, and the sums of bits and nats
                          of its tokens; the others are missing. One that holds the first token of
                          the text has no sums */
    const struct attn_input *texts; /* [n_text] instead of the request's input, without stride and
                                       merges_words; or NULL */
    size_t n_text;
    const struct attn_study_args *study; /* items instead of both; or NULL */
    enum attn_score_per per;             /* of items without a target */
    struct attn_answer_args answer;      /* of items: of those that have no target, foil or `at` of
                                            their own; the metric is neither kl nor ce */
};

#define ATTN_SCORE_ARGS_DEFAULT ((struct attn_score_args){.size = sizeof(struct attn_score_args)})

/* Over all tokens but the first of each text. */
struct attn_score_sum {
    size_t n_token; /* that were scored */
    double nats;
};

/*
 * Scores the text or the ids of REQUEST; of its other parts source, attention and ablations count.
 * A token of a later window is scored once, by the first window that reaches it: it follows at
 * least n_ctx - stride tokens. ARGS may be NULL. The caller owns *table. Errors have a stage.
 */
ATTN_API enum attn_status attn_score(struct attn_host *host, const struct attn_request *request,
                                     const struct attn_score_args *args, struct attn_table **table,
                                     struct attn_score_sum *sum, struct attn_error *err);

#endif
