/* answer_internal.h - the token that is asked about, found in a run. For the files of this layer
 * and above. */
#ifndef ATTN_PREDICT_ANSWER_INTERNAL_H
#define ATTN_PREDICT_ANSWER_INTERNAL_H

#include "base/status.h"
#include "gradient/backward.h"
#include "input/spaces.h"
#include "predict/answer.h"

struct attn_encoding;
struct attn_dims;
struct attn_model;
struct attn_sequence;
struct attn_tokenizer;

/* What questions about tokens need to know of a run. Everything is borrowed. */
struct attn_answer_scope {
    const struct attn_model *model;
    const struct attn_tokenizer *tokenizer; /* or NULL */
    const struct attn_error *no_tokenizer;  /* why that is NULL */
    const struct attn_sequence *text;
    const struct attn_dims *dims; /* of the selection; NULL: it is not made yet */
    enum attn_special special;    /* how special tokens in texts are taken */
};

/* What is asked for, found in a run. */
struct attn_answer {
    enum attn_answer_metric metric; /* not AUTO */
    bool has_target, has_foil;
    int32_t target, foil;           /* a token, a label, or where a span begins */
    int32_t target_last, foil_last; /* its last position */
    bool has_place;                 /* `at` was given */
    size_t position;                /* that, or the last */
    size_t n_piece; /* tokens of the word `at` whose label is asked for at the first; or 0 */
    struct attn_answer_scope of;
    struct attn_spaces spaces; /* of target and foil */
};

const char *attn_answer_metric_name(enum attn_answer_metric metric);

/* Refuses TEXT, the value of FIELD, where all that ENCODING has of it is the token of unknown
 * words: an answer would be about any of them. */
enum attn_status attn_answer_check_known(const struct attn_tokenizer *tokenizer, const char *field,
                                         const char *text, const struct attn_encoding *encoding,
                                         struct attn_error *err);

/* Finds what ARGS mean. IS_AT_QUERIES: an answer is given at each of the queries, and an encoder
 * needs no mask. ATTN_INVALID, at the stage of options, for a text of several tokens, a
 * metric without the target that it needs, a foil without a target, a place that is none. */
enum attn_status attn_answer_find(const struct attn_answer_scope *scope,
                                  const struct attn_answer_args *args, bool is_at_queries,
                                  struct attn_answer *answer, struct attn_error *err);

/* --- Its logits (answer_value.c) ---------------------------------------------------------------
 * They are one row [n_vocab], of spans the rows [T, 2] of all positions, of which a span's logit
 * is the sum of two. */

/* ln(1 + e^x): -ln sigmoid(-x). */
double attn_softplus(double x);

/* Rows of logits that it reads, and numbers in them. */
size_t attn_answer_n_row(const struct attn_answer *answer);
size_t attn_answer_n_logit(const struct attn_answer *answer);

/* The logit of the target minus this is its ln p: ln sum exp of the LOGITS, of spans both columns';
 * of labels by themselves ln(1 + e^logit) of the target, 0 without one. */
double attn_answer_total(const struct attn_answer *answer, const float *logits);

/* Computes the metric, which needs a target, from LOGITS. TOTAL is attn_answer_total. */
double attn_answer_value(const struct attn_answer *answer, const float *logits, double total);

/* The logit of the target minus that of the foil. */
double attn_answer_margin(const struct attn_answer *answer, const float *logits);

/* The probability of the target; NaN if labels are values without one. */
double attn_answer_probability(const struct attn_answer *answer, const float *logits, double total);

/* KL(p of BASE || p of LOGITS) in nats, with their totals; NaN if labels are values. */
double attn_answer_divergence(const struct attn_answer *answer, const float *base,
                              double base_total, const float *logits, double total);

/* Whether there are probabilities to compare: not of values. */
bool attn_answer_has_p(const struct attn_answer *answer);

/* Whether labels are ranked: not if they are values of different things. */
bool attn_answer_has_top(const struct attn_answer *answer);

/* Whether an answer is right or wrong: it has a target, and a foil or other labels. */
bool attn_answer_is_judged(const struct attn_answer *answer);

/* The number of the largest logit; of spans of both columns, as one number. */
int64_t attn_answer_first(const struct attn_answer *answer, const float *logits);

/* 1 if TARGET is above OTHER, 0 if it is below; NaN if they differ by rounding: 1e-5 of the larger
 * one, or of 1. */
double attn_verdict(double target, double other);

/* The verdict on the logits of the target and of the foil, or without a foil of the best other
 * answer. */
double attn_answer_right(const struct attn_answer *answer, const float *logits);

/* Whether its metric has gradients: ATTN_INVALID for kl. */
enum attn_status attn_answer_check_goal(const struct attn_answer *answer, struct attn_error *err);

/* What a backward pass begins with: the derivative of its metric, any but kl, with respect to the
 * logits. Borrows ANSWER. */
struct attn_backward_goal attn_answer_goal(const struct attn_answer *answer);

/* WEIGHTS [T]: how much of the answer is read from each row after the last layer, with the sum 1:
 * one row, or each of the rows whose mean is read. */
void attn_answer_weigh_rows(const struct attn_answer *answer, double *weights);

#endif
