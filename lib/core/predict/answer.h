/*
 * answer.h - a question about the next token: its metric, target and foil. Runs report the metric;
 * questions report how it changes.
 *
 *     struct attn_answer_args answer = {.target = " are", .foil = " is", .at = {.text = "it"}};
 *
 * The logits are those after one position. p is their softmax, in double precision.
 */
#ifndef ATTN_PREDICT_ANSWER_H
#define ATTN_PREDICT_ANSWER_H

#include "base/api.h"
#include "trace/lists.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(ID, name, whether it needs a target) */
#define ATTN_ANSWER_METRIC_MAP(X)                                                                  \
    X(AUTO, 0, "auto", true)             /* logit_diff with a foil, else log_prob */               \
    X(LOGIT_DIFF, 1, "logit_diff", true) /* logit of the target minus that of the foil */          \
    X(LOG_PROB, 2, "log_prob", true)     /* ln p(target), in nats */                               \
    X(LOGIT, 3, "logit", true)           /* logit of the target */                                 \
    X(PROB, 4, "prob", true)             /* p(target) */                                           \
    X(KL, 5, "kl", false)                /* KL(p of the unchanged run || p), in nats */            \
    X(CE, 6, "ce", false) /* mean of -ln p(token) over all tokens of the text but the first, in    \
     nats */

enum attn_answer_metric {
#define ATTN_ANSWER_METRIC_ENUM(id, number, ...) ATTN_ANSWER_##id = (number),
    ATTN_ANSWER_METRIC_MAP(ATTN_ANSWER_METRIC_ENUM)
#undef ATTN_ANSWER_METRIC_ENUM
        ATTN_N_ANSWER_METRIC = 0 ATTN_ANSWER_METRIC_MAP(ATTN_COUNT)
};

/* A question about a token. All fields may be 0. Borrowed. */
struct attn_answer_args {
    enum attn_answer_metric metric;
    const char *target, *foil; /* texts of one token each, or NULL; foil "": the mean of logits */
    const int32_t *target_id,
        *foil_id; /* token ids instead of texts, for models without a tokenizer; or NULL */
    struct attn_number_list at; /* the position after which the token comes; not given: the last */
    const void *later[4];       /* NULL: room for fields of later versions */
};

/* The token ids of a text: a label, or a continuation. */
struct attn_label_ids {
    const int32_t *ids; /* [n] */
    size_t n;
    const char *name;
    const void *later[4]; /* NULL: room for fields of later versions, here and below */
};

/* Other labels to compare a text or a picture with, and the length of spans. Borrowed. */
struct attn_request_labels {
    const struct attn_label_ids *ids; /* [n_ids] */
    size_t n_ids;
    const char *const *images; /* [n_image] picture files, for a tower of texts */
    size_t n_image;
    const void *later[4];
};

/* What a request predicts: the most probable tokens, continuations, a metric, or labels. */
struct attn_request_predict {
    size_t top; /* number of most probable next tokens to report, after the last position or, if the
                   request has queries, after each of them; for encoders at each mask; 0: none */
    const char *const
        *next; /* [n_next] continuations to score, each by itself, after the same positions */
    size_t n_next;
    const struct attn_answer_args *answer; /* a metric, other than kl and ce, after the same
                                              positions or after its own `at`; or NULL */
    const char *const *labels; /* [n_label] texts that a picture is compared with, by a model with
                                  two towers, as CLIP is: `top` of them are listed; 0: all */
    size_t n_label;
    const struct attn_request_labels *more; /* or NULL */
    const struct attn_label_ids *next_ids;  /* [n_next_ids] more continuations, after `next` */
    size_t n_next_ids;
    const void *later[2];
};

#endif
