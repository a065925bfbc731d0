/* answer_internal.h - resolves a question about a token in a run. For the files of this layer and
 * above. */
#ifndef ATTN_PREDICT_ANSWER_INTERNAL_H
#define ATTN_PREDICT_ANSWER_INTERNAL_H

#include "base/param.h"
#include "base/status.h"
#include "gradient/backward.h"
#include "input/spaces.h"
#include "predict/answer.h"

struct attn_encoding;
struct attn_dims;
struct attn_model;
struct attn_sequence;
struct attn_tokenizer;

/* The parts of a run that questions about tokens need. Everything is borrowed. */
struct attn_answer_scope {
    const struct attn_model *model;
    const struct attn_tokenizer *tokenizer; /* or NULL */
    const struct attn_error *no_tokenizer;  /* why that is NULL */
    const struct attn_sequence *text;
    const struct attn_dims *dims; /* of the selection; NULL before it is made */
    enum attn_special special;    /* how special tokens in texts are parsed */
};

/* A question, resolved in a run. */
struct attn_answer {
    enum attn_answer_metric metric; /* not AUTO */
    bool has_target, has_foil;
    int32_t target, foil;           /* a token, a label, or the first token of a span */
    int32_t target_last, foil_last; /* its last position */
    bool has_place;                 /* `at` was given */
    size_t position;                /* that, or the last */
    size_t n_piece; /* number of tokens of the word `at`, whose label is that of its first token; or
                       0 */
    struct attn_answer_scope of;
    struct attn_spaces spaces; /* of target and foil */
};

const char *attn_answer_metric_name(enum attn_answer_metric metric);

/* Refuses TEXT, the value of FIELD, if ENCODING consists of the token of unknown words: the answer
 * would be about all unknown words. */
enum attn_status attn_answer_check_known(const struct attn_tokenizer *tokenizer, const char *field,
                                         const char *text, const struct attn_encoding *encoding,
                                         struct attn_error *err);

/* Resolves ARGS. IS_AT_QUERIES: there is an answer at each query, and an encoder needs no mask.
 * ATTN_INVALID at ATTN_STAGE_OPTIONS for a text of several tokens, a metric without its target, a
 * foil without a target, and an invalid place. */
enum attn_status attn_answer_find(const struct attn_answer_scope *scope,
                                  const struct attn_answer_args *args, bool is_at_queries,
                                  struct attn_answer *answer, struct attn_error *err);

/* --- Its logits (answer_value.c) ---------------------------------------------------------------
 * They are one row [n_vocab], of spans the rows [T, 2] of all positions, of which a span's logit
 * is the sum of two. */

/* ln(1 + e^x): -ln sigmoid(-x). */
double attn_softplus(double x);

/* Number of rows of logits that the answer reads, and of numbers in them. */
size_t attn_answer_n_row(const struct attn_answer *answer);
size_t attn_answer_n_logit(const struct attn_answer *answer);

/* Returns T such that ln p(target) = logit of the target - T: the log-sum-exp of LOGITS, for spans
 * the sum over both columns; for independent labels ln(1 + e^logit) of the target, 0 without a
 * target. */
double attn_answer_total(const struct attn_answer *answer, const float *logits);

/* Computes the metric, which needs a target, from LOGITS. TOTAL is attn_answer_total. */
double attn_answer_value(const struct attn_answer *answer, const float *logits, double total);

/* Returns the logit of the target minus the logit of the foil. */
double attn_answer_margin(const struct attn_answer *answer, const float *logits);

/* Returns the probability of the target; NaN if labels are values, which have no probability. */
double attn_answer_probability(const struct attn_answer *answer, const float *logits, double total);

/* Returns KL(p of BASE || p of LOGITS) in nats; the totals are attn_answer_total of both. NaN if
 * labels are values. */
double attn_answer_divergence(const struct attn_answer *answer, const float *base,
                              double base_total, const float *logits, double total);

/* Whether the logits have probabilities: false if labels are values. */
bool attn_answer_has_p(const struct attn_answer *answer);

/* Whether labels are ranked: false if they are values of different quantities. */
bool attn_answer_has_top(const struct attn_answer *answer);

/* The parameters of a struct attn_answer_args (answer_params.c). */
extern const struct attn_param_list attn_target_params, attn_foil_params, attn_at_params,
    attn_metric_params;

/* Whether the answer can be right or wrong: it has a target, and a foil or other labels. */
bool attn_answer_is_judged(const struct attn_answer *answer);

/* Returns the index of the largest logit; for spans the largest of both columns, as one number. */
int64_t attn_answer_first(const struct attn_answer *answer, const float *logits);

/* Returns 1 if TARGET is above OTHER, 0 if below, NaN if they differ by rounding only: by 1e-5 of
 * the larger one, or of 1. */
double attn_verdict(double target, double other);

/* Compares the logits of the target and the foil; without a foil, of the target and the best other
 * answer. */
double attn_answer_right(const struct attn_answer *answer, const float *logits);

/* Checks that the metric has gradients: ATTN_INVALID for kl. */
enum attn_status attn_answer_check_goal(const struct attn_answer *answer, struct attn_error *err);

/* The goal of a backward pass: the derivative of the metric, any but kl, with respect to the
 * logits. Borrows ANSWER. */
struct attn_backward_goal attn_answer_goal(const struct attn_answer *answer);

/* Sets WEIGHTS [T], the share of each row after the last layer in the answer. The sum is 1: one
 * row, or equal shares of the rows whose mean is read. */
void attn_answer_weigh_rows(const struct attn_answer *answer, double *weights);

#endif
