/* clang-format off */
/*
 * score.h - how surprising each token of a text is to a model: -ln p(token | the tokens before).
 *
 *     struct attn_score_args args = ATTN_SCORE_ARGS_DEFAULT;
 *     struct attn_score_sum sum = ATTN_SCORE_SUM_DEFAULT;
 *     struct attn_table *table;
 *     attn_score(host, &request, &args, &table, &sum, &err);
 *     printf("perplexity %g\n", exp(sum.nats / (double)sum.n_token));
 *     attn_table_free(table);
 *
 * Probabilities are computed from float32 logits in double precision. The table has a row per
 * position:
 *
 *     position, id, token, top, top_prob
 *     bits, nats          -log2 p and -ln p
 *     rank                1: no token was more probable; ties have the mean of their ranks
 *
 * The first token has the first three alone, because no token precedes it. An encoder scores each
 * token with a mask at its position, given all others; special tokens have no score.
 *
 * By word it has a row per word: word_index from 0, word, the sums nats and bits over its tokens,
 * which are missing if a token has no score, their number n_token, and the columns of `measures`.
 * Words are characters without white space, or those that the item lists.
 *
 * Over items (means/study.h) it has one row, or one per group. The first valid item determines
 * the columns for all items:
 *
 *     a target        metric, at the item's `at`; right, 1 if the foil is less probable, or without
 *                     a foil if no token is more probable than the target, else 0: its mean is the
 *                     accuracy; rank and prob of the target
 *     good and bad    good, bad: ln p of each of the two texts, by `by`; difference; right, 1 if
 *                     the difference is above 0, else 0
 *     neither         nats and bits of the text, by `by`; n_token, the number of scored ones
 *
 * A tie has no `right` (attn_study_sum.n_tie).
 *
 * With `regions` an item has a row for each of them, with the sums over the tokens of that place:
 *
 *     region, nats, bits, n_token
 *
 * An item without the place, or whose first token, which has no score, is in it, has no numbers
 * there, and does not count in n. A word is its tokens alone: a comma after it is not in its
 * region.
 *
 * A target of several tokens, or one whose foil has several, is scored by the sum of the log
 * probabilities of the tokens: logit_diff is ln p(target) - ln p(foil), which for single tokens is
 * the same. Then there is no rank, and `right` needs a foil.
 *
 * An item without a scored token fails: a single token for a decoder, only special tokens for an
 * encoder. A text of T tokens takes an encoder up to T runs, side by side.
 */
/* clang-format on */
#ifndef ATTN_SCORE_SCORE_H
#define ATTN_SCORE_SCORE_H

#include "predict/answer.h"
#include "run/run.h"
#include "tables/table.h"

struct attn_study_args; /* means/study.h */

/* How the scores of tokens or words are combined to the score of an item. */
enum attn_score_by {
    ATTN_SCORE_BY_TEXT = 0,  /* the sum over its tokens */
    ATTN_SCORE_BY_TOKEN = 1, /* the mean over its tokens */
    ATTN_SCORE_BY_WORD = 2   /* the mean over its words */
};

/* What the row of a word has beside its surprisal, which is always there. */
enum attn_word_measure {
    ATTN_WORD_SURPRISAL = 1,
    ATTN_WORD_SPACE = 2,     /* space_before, space_after, bits_trailing */
    ATTN_WORD_ENTROPY = 4,   /* entropy_bits */
    ATTN_WORD_LENS = 8,      /* bits_l0 .. bits_lL */
    ATTN_WORD_ATTENTION = 16 /* nae, dnae, md, emd of the heads of the request */
};

struct attn_score_args {
    size_t size; /* size of this struct */
    /* a text longer than n_ctx, or than max_input of the request, is scored in windows of as many
     * positions, each this many after the previous one; 0: a longer text is refused */
    size_t stride;
    /* items to use instead of the request's input; or NULL. With `measures` they have rows of their
     * own, which `each` of the study takes */
    const struct attn_study_args *study;
    enum attn_score_by by; /* for items without a target; WORD: for one text, a row per word */
    /* bits of enum attn_word_measure, for rows per word; of items, 0: the mean over the words */
    unsigned measures;
    /* defaults for items without a target, foil or `at`; the metric must not be kl or ce */
    struct attn_answer_args answer;
    /* for items: names of their places, "subject,verb", in the order of the rows; or NULL */
    const char *regions;
};

#define ATTN_SCORE_ARGS_DEFAULT ATTN_QUESTION_DEFAULT("score", attn_score_args)

/* Sums over all tokens except the first of each text. */
struct attn_score_sum {
    size_t size;    /* of this struct */
    size_t n_token; /* number of scored tokens */
    double nats;
};

/* Sets SUM [size bytes] to the defaults, and returns it. */
ATTN_API struct attn_score_sum *attn_score_sum_init(struct attn_score_sum *sum, size_t size);
#define ATTN_SCORE_SUM_DEFAULT ATTN_DEFAULT_OF(attn_score_sum)

/* Scores the text or the ids of REQUEST, with its source, attention and ablations. A token of a
 * later window is scored once, by the first window that has it, after at least n_ctx - stride other
 * tokens. ARGS may be NULL. The caller owns *table. Errors have a stage. */
ATTN_API enum attn_status attn_score(struct attn_host *host, const struct attn_request *request,
                                     const struct attn_score_args *args, struct attn_table **table,
                                     struct attn_score_sum *sum, struct attn_error *err);

#endif
