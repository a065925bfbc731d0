/* answer_internal.h - resolves a question about a token in a run. For the files of this layer and
 * above. */
#pragma once

#include "base/status.h"
#include "forward/goal.h"
#include "input/sequence.h"
#include "input/spaces.h"
#include "params/param.h"
#include "predict/answer_extra.h"

struct attn_encoding;
struct attn_dims;
struct attn_model;
struct attn_sequence;
struct attn_tokenizer;

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

/* Returns KL(p of BASE || p of LOGITS) in nats; the totals are attn_answer_total of both. NaN if
 * labels are values. */
double attn_answer_divergence(const struct attn_answer *answer, const float *base,
                              double base_total, const float *logits, double total);

/* Returns the index of the largest logit; for spans the largest of both columns, as one number. */
int64_t attn_answer_first(const struct attn_answer *answer, const float *logits);

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
