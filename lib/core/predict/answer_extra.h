/* answer_extra.h - a question about a token, resolved in a run, and the numbers of its answer. */
#ifndef ATTN_PREDICT_ANSWER_EXTRA_H
#define ATTN_PREDICT_ANSWER_EXTRA_H

#include "input/input_extra.h"
#include "params/param.h"
#include "predict/answer.h"

struct attn_dims;
struct attn_model;
struct attn_sequence;
struct attn_tokenizer;

/* The parts of a run that questions about tokens need. Everything is borrowed. */
struct attn_answer_scope {
    const struct attn_model *model;
    const struct attn_tokenizer *tokenizer; /* or NULL */
    const struct attn_error *no_tokenizer;  /* why `tokenizer` is NULL */
    const struct attn_sequence *text;
    /* Sizes of the run whose positions are selected; NULL while no selection is needed. */
    const struct attn_dims *dims;
    enum attn_special special; /* how special tokens in texts are parsed */
};

enum { ATTN_FOIL_NOTHING = -1 }; /* the foil '': the mean of all logits */

/* A question, resolved in a run. */
struct attn_answer {
    enum attn_answer_metric metric; /* not AUTO */
    bool has_target, has_foil;
    int32_t target, foil; /* a token, a label, or the first token of a span; FOIL_NOTHING */
    int32_t target_last, foil_last; /* the last position of a span */
    bool has_place;                 /* `at` was given */
    size_t position;                /* the position that `at` names, else the last one */
    size_t n_piece; /* the number of tokens of the word that `at` names, if tokens are labeled: its
                       first token has the label; else 0 */
    size_t first_token; /* of CE: the first token that counts, of an answer in the text; 0: 1 */
    struct attn_answer_scope of;
    struct attn_spaces spaces; /* missing or superfluous spaces of the target and the foil */
};

ATTN_API const char *attn_answer_metric_name(enum attn_answer_metric metric);

/* Returns ln(1 + e^x), which is -ln sigmoid(-x). */
ATTN_API double attn_softplus(double x);

/* The number of rows of logits that the answer reads, and the number of floats in all of them. */
ATTN_API size_t attn_answer_n_row(const struct attn_answer *answer);
ATTN_API size_t attn_answer_n_logit(const struct attn_answer *answer);

/* Returns T such that ln p(target) = logit of the target - T. T is the log-sum-exp of LOGITS; for
 * spans, the sum of those of both columns; for independent labels, ln(1 + e^logit) of the target; 0
 * without a target. */
ATTN_API double attn_answer_total(const struct attn_answer *answer, const float *logits);

/* Computes the metric, which needs a target, from LOGITS. TOTAL is attn_answer_total. */
ATTN_API double attn_answer_value(const struct attn_answer *answer, const float *logits,
                                  double total);

/* Returns the probability of the target; NaN if labels are values, which have no probability. */
ATTN_API double attn_answer_probability(const struct attn_answer *answer, const float *logits,
                                        double total);

/* Whether the logits have probabilities: false if labels are values. */
ATTN_API bool attn_answer_has_p(const struct attn_answer *answer);

/* Whether labels can be ranked. They cannot if they are values of different quantities. */
ATTN_API bool attn_answer_has_top(const struct attn_answer *answer);

/* Whether the answer can be right or wrong: it has a target, and a foil or other labels. */
ATTN_API bool attn_answer_is_judged(const struct attn_answer *answer);

/* Returns 1 if TARGET is above OTHER, 0 if it is below, and NaN if the difference may be rounding:
 * at most 1e-5 of the larger one, or 1e-5 if both are below 1. */
ATTN_API double attn_verdict(double target, double other);

/* Returns the attn_verdict of the target against the foil; without a foil, against the best other
 * answer. */
ATTN_API double attn_answer_right(const struct attn_answer *answer, const float *logits);

/* Checks that the metric has gradients: ATTN_INVALID for kl. */
ATTN_API enum attn_status attn_answer_check_goal(const struct attn_answer *answer,
                                                 struct attn_error *err);

/* The parameters that fill a struct attn_answer_args (answer_params.c). */
extern ATTN_EXPORTED const struct attn_param_list attn_target_params;
extern ATTN_EXPORTED const struct attn_param_list attn_foil_params;
extern ATTN_EXPORTED const struct attn_param_list attn_at_params;
extern ATTN_EXPORTED const struct attn_param_list attn_metric_params;
extern ATTN_EXPORTED const struct attn_param_list attn_run_metric_params;

/* Whether MODEL has one row of logits for a whole text or picture. */
ATTN_API bool attn_model_is_classifier(const struct attn_model *model);

/* Whether the logits of MODEL belong to labels, of a whole input or of each token. */
ATTN_API bool attn_model_has_labels(const struct attn_model *model);

#endif
