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
    int32_t target, foil;
    bool has_place;  /* `at` was given */
    size_t position; /* that, or the last */
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

/* Its metric, one that needs a target, of the LOGITS at the position; TOTAL is ln sum exp of
 * them. */
double attn_answer_value(const struct attn_answer *answer, const float *logits, double total);

/* Whether its metric has gradients: ATTN_INVALID for kl. */
enum attn_status attn_answer_check_goal(const struct attn_answer *answer, struct attn_error *err);

/* What a backward pass begins with: the derivative of its metric, any but kl, with respect to the
 * logits. Borrows ANSWER. */
struct attn_backward_goal attn_answer_goal(const struct attn_answer *answer);

#endif
