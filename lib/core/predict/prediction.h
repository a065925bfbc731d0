/* prediction.h - predictions of a language model: the most probable next tokens, and the
 * log-probabilities of continuations, ln p(c_1 .. c_m) = sum_i ln p(c_i | text, c_1 .. c_i-1). For
 * the files of this layer. */
#pragma once

#include "forward/session.h"
#include "predict/answer_internal.h"
#include "tensors/output.h"

/* Returns the text of continuation I; of those after the texts, its ids as they were written. */
static inline const char *attn_predict_next(const struct attn_request_predict *question, size_t i)
{
    return i < question->n_next ? question->next[i] : question->next_ids[i - question->n_next].name;
}

static inline bool attn_predict_is_asked(const struct attn_request_predict *question)
{
    return question->top + question->n_next + question->n_next_ids > 0 || question->answer;
}

/* Returns the number of labels of QUESTION: texts, ids and pictures. */
static inline size_t attn_predict_n_label(const struct attn_request_predict *question)
{
    const struct attn_request_labels *more = question->more;

    return question->n_label + (more ? more->n_ids + more->n_image : 0);
}

/* Whether the logits of a position predict the token after it. */
bool attn_predicts_next(const struct attn_config *config);

/* The tokens of each continuation. Initialize with = {0}; attn_answers_release frees them. */
struct attn_continuations {
    struct attn_encoding *encodings; /* [n] owns */
    size_t n;
    size_t n_more; /* positions that the longest continuation needs after the text; its last token
                      is not fed */
};

/* The questions of a request about tokens, resolved for one text. Initialize with = {0}; end with
 * attn_answers_release. */
struct attn_answers {
    struct attn_continuations continuations;
    struct attn_answer answer; /* the metric, if the request has one */
    struct attn_answer goal;   /* the number to differentiate, if has_goal */
    bool has_goal;
    struct attn_spaces spaces; /* missing or superfluous spaces of the text and of the questions */
    struct attn_selection *masks; /* owns; the positions at which an encoder predicts if the request
                                     has no `queries`; or NULL */
    size_t mask;                  /* the position of the only mask token, for an encoder */
};

void attn_answers_release(struct attn_answers *asked);

/* Encodes each continuation of QUESTION. Returns ATTN_INVALID if a continuation does not fit into
 * the context after the text of SCOPE. */
enum attn_status attn_continuations_encode(const struct attn_answer_scope *scope,
                                           const struct attn_request_predict *question,
                                           struct attn_continuations *continuations,
                                           struct attn_error *err);

/* What attn_predict needs. The session has been fed the text and has logits. */
struct attn_prediction_args {
    const struct attn_request_predict *question;
    const struct attn_continuations *continuations;
    const struct attn_answer *answer; /* or NULL */
    /* For the texts of tokens; NULL: tokens have no texts. */
    const struct attn_tokenizer *tokenizer;
    const struct attn_selection *positions; /* its queries are the positions of the answers; NULL:
                                               after the last position alone */
    /* An encoder requires positions and predicts the token at each of them, not after it; a
     * classifier of pictures predicts a label, without positions. */
    const struct attn_model *model;
    size_t n_vocab;
    const struct attn_sequence *text; /* the text, for spans */
};

/* Answers the question. Call it after the trace is complete, because it rewinds the session to the
 * first position of an answer. The caller owns *found, which is unchanged on failure. Errors:
 * ATTN_INVALID has the stage ATTN_STAGE_INPUT, others ATTN_STAGE_MODEL. */
enum attn_status attn_predict(struct attn_session *session, const struct attn_prediction_args *args,
                              struct attn_predictions *found, struct attn_error *err);

/* Answers a question that consists of `top` alone, after POSITION, from the LOGITS [n_vocab] of
 * that position. Ownership and errors as for attn_predict. */
enum attn_status attn_predict_last(const struct attn_prediction_args *args, size_t position,
                                   const float *logits, struct attn_predictions *found,
                                   struct attn_error *err);

/* Appends the most probable tokens at POSITION, ranked by LOGITS, to *FOUND. An encoder may answer
 * at several positions. Errors as for attn_predict. */
enum attn_status attn_predict_more(const struct attn_prediction_args *args, size_t position,
                                   const float *logits, struct attn_predictions *found,
                                   struct attn_error *err);

/* Answers `top` by the most probable spans of args->text, whose first row in the session is ROW.
 * *FOUND must be zeroed; the caller owns it, also after a failure. */
enum attn_status attn_predict_spans(struct attn_session *session, size_t row,
                                    const struct attn_prediction_args *args,
                                    struct attn_predictions *found, struct attn_error *err);

/* Replaces the borrowed tokens and texts of FOUND by copies that FOUND owns. */
enum attn_status attn_predictions_copy_texts(struct attn_predictions *found,
                                             struct attn_error *err);

/* Create the tables of attn_result_metric and attn_result_tables (run/run.h). */
enum attn_status attn_predictions_metric(const struct attn_predictions *found,
                                         struct attn_table **metric, struct attn_error *err);
enum attn_status attn_predictions_tables(const struct attn_predictions *found,
                                         struct attn_table **top, struct attn_table **next,
                                         struct attn_error *err);
void attn_predictions_release(struct attn_predictions *found);
