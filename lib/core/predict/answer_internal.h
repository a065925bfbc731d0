/* answer_internal.h - resolves a question about a token in a run. For the files of this layer and
 * above. */
#pragma once

#include "base/status.h"
#include "forward/goal.h"
#include "input/sequence.h"
#include "input/spaces.h"
#include "params/param.h"
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
    const struct attn_error *no_tokenizer;  /* why `tokenizer` is NULL */
    const struct attn_sequence *text;
    /* Sizes of the run whose positions are selected; NULL while no selection is needed. */
    const struct attn_dims *dims;
    enum attn_special special; /* how special tokens in texts are parsed */
};

/* A question, resolved in a run. */
struct attn_answer {
    enum attn_answer_metric metric; /* not AUTO */
    bool has_target, has_foil;
    int32_t target, foil;           /* a token, a label, or the first token of a span */
    int32_t target_last, foil_last; /* the last position of a span */
    bool has_place;                 /* `at` was given */
    size_t position;                /* the position that `at` names, else the last one */
    size_t n_piece; /* the number of tokens of the word that `at` names, if tokens are labeled: its
                       first token has the label; else 0 */
    size_t first_token; /* of CE: the first token that counts, of an answer in the text; 0: 1 */
    struct attn_answer_scope of;
    struct attn_spaces spaces; /* missing or superfluous spaces of the target and the foil */
};

const char *attn_answer_metric_name(enum attn_answer_metric metric);

/* Returns ATTN_INVALID if ENCODING, that of TEXT, is the token for unknown words: a question about
 * it would be about all unknown words. FIELD is the name of the option. */
enum attn_status attn_answer_check_known(const struct attn_tokenizer *tokenizer, const char *field,
                                         const char *text, const struct attn_encoding *encoding,
                                         struct attn_error *err);

/* Resolves ARGS into ANSWER. IS_AT_QUERIES means that the answer is computed at each query, so that
 * an encoder needs no mask token. Returns ATTN_INVALID with the stage ATTN_STAGE_OPTIONS for a text
 * of several tokens, a metric without its target, a foil without a target, and an invalid position.
 */
enum attn_status attn_answer_find(const struct attn_answer_scope *scope,
                                  const struct attn_answer_args *args, bool is_at_queries,
                                  struct attn_answer *answer, struct attn_error *err);

/* --- Logits of an answer (answer_value.c) -------------------------------------------------------
 * LOGITS is one row [n_vocab]. For spans it has two columns for all positions, [T, 2], and the
 * logit of a span is the first column at its begin plus the second at its end. */

/* Returns ln(1 + e^x), which is -ln sigmoid(-x). */
double attn_softplus(double x);

/* The number of rows of logits that the answer reads, and the number of floats in all of them. */
size_t attn_answer_n_row(const struct attn_answer *answer);
size_t attn_answer_n_logit(const struct attn_answer *answer);

/* Returns T such that ln p(target) = logit of the target - T. T is the log-sum-exp of LOGITS; for
 * spans, the sum of those of both columns; for independent labels, ln(1 + e^logit) of the target; 0
 * without a target. */
double attn_answer_total(const struct attn_answer *answer, const float *logits);

/* Computes the metric, which needs a target, from LOGITS. TOTAL is attn_answer_total. */
double attn_answer_value(const struct attn_answer *answer, const float *logits, double total);

/* Returns the probability of the target; NaN if labels are values, which have no probability. */
double attn_answer_probability(const struct attn_answer *answer, const float *logits, double total);

/* Returns KL(p of BASE || p of LOGITS) in nats; the totals are attn_answer_total of both. NaN if
 * labels are values. */
double attn_answer_divergence(const struct attn_answer *answer, const float *base,
                              double base_total, const float *logits, double total);

/* Whether the logits have probabilities: false if labels are values. */
bool attn_answer_has_p(const struct attn_answer *answer);

/* Whether labels can be ranked. They cannot if they are values of different quantities. */
bool attn_answer_has_top(const struct attn_answer *answer);

/* The parameters that fill a struct attn_answer_args (answer_params.c). */
extern const struct attn_param_list attn_target_params, attn_foil_params, attn_at_params,
    attn_metric_params, attn_run_metric_params;

/* Whether the answer can be right or wrong: it has a target, and a foil or other labels. */
bool attn_answer_is_judged(const struct attn_answer *answer);

/* Returns the index of the largest logit; for spans the largest of both columns, as one number. */
int64_t attn_answer_first(const struct attn_answer *answer, const float *logits);

/* Returns 1 if TARGET is above OTHER, 0 if it is below, and NaN if the difference may be rounding:
 * at most 1e-5 of the larger one, or 1e-5 if both are below 1. */
double attn_verdict(double target, double other);

/* Returns the attn_verdict of the target against the foil; without a foil, against the best other
 * answer. */
double attn_answer_right(const struct attn_answer *answer, const float *logits);

/* Checks that the metric has gradients: ATTN_INVALID for kl. */
enum attn_status attn_answer_check_goal(const struct attn_answer *answer, struct attn_error *err);

/* The goal of a backward pass: the derivative of the metric, any but kl, with respect to the
 * logits. Borrows ANSWER. */
struct attn_backward_goal attn_answer_goal(const struct attn_answer *answer);

/* Finds the mask tokens, [MASK] or <mask>, at which an encoder predicts. For the
 * files of this layer and above. */

/* Finds the id of the mask token. Returns false if TOKENIZER has no mask token or is NULL. */
bool attn_mask_id(const struct attn_tokenizer *tokenizer, int32_t *id);

/* Selects the positions at which an encoder predicts: those of the mask tokens, or for a model that
 * labels tokens, all tokens of the text. The caller frees *masks. Returns ATTN_INVALID with the
 * stage ATTN_STAGE_OPTIONS if there are no such positions. */
enum attn_status attn_masks_select(const struct attn_answer_scope *scope,
                                   struct attn_selection **masks, struct attn_error *err);

/* Whether TEXT has exactly one mask token. If so, *POSITION receives its position. */
bool attn_mask_is_only(const struct attn_tokenizer *tokenizer, const struct attn_sequence *text,
                       size_t *position);

/* Finds the position of the only mask token. Returns ATTN_INVALID if there is no mask token, or if
 * there are several: then the user must name one by FIELD, `at` or `queries`. */
enum attn_status attn_mask_find(const struct attn_answer_scope *scope, const char *field,
                                size_t *position, struct attn_error *err);
