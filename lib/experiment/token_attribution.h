/*
 * token_attribution.h - which tokens of a text an answer depends on, by gradients.
 *
 *     struct attn_token_attribution_args args = ATTN_TOKEN_ATTRIBUTION_ARGS_DEFAULT;
 *     args.method = ATTN_TOKEN_METHOD_IG;
 *     args.answer.target = " are", args.answer.foil = " is";
 *     struct attn_table *table;
 *     attn_attribute_tokens(host, &request, &args, &table, &err);
 *
 * With e the embedding of a token (hook_embed; learned positions stay as they are), d the gradient
 * of the metric with respect to it, and b a baseline, a token gets
 *
 *     saliency         the length of d: how fast the metric can change. No sign, no sum
 *     grad_x_input     e . d
 *     ig               (e - b) . the mean of d between b and e (Sundararajan et al. 1703.01365),
 *                      by Gauss and Legendre's points
 *     attnlrp          e . d by the rules of AttnLRP (Achtibat et al. 2402.05602)
 *     relevance        of the site relevance of the last layer, the row of the answer, less the
 *                      identity (Chefer et al. 2103.15679)
 *
 * in rows of
 *
 *     part, position, id, token, attribution
 *
 *     token            one a position, or a word
 *     pos              what learned positions get, of grad_x_input and attnlrp
 *     sum              of all of these, of the methods that have one: not saliency, relevance
 *     model            what it is to be: the metric; of ig less the metric at the baseline. It is
 *                      equal for ig with many points, and a gap elsewhere
 */
#ifndef ATTN_EXPERIMENT_TOKEN_ATTRIBUTION_H
#define ATTN_EXPERIMENT_TOKEN_ATTRIBUTION_H

#include "base/table.h"
#include "run/answer.h"
#include "run/run.h"

struct attn_study_args; /* experiment/study.h */

/* X(ID, number, name, whether attributions have a sum) */
#define ATTN_TOKEN_METHOD_MAP(X)                                                                   \
    X(SALIENCY, 0, "saliency", false)                                                              \
    X(GRAD_X_INPUT, 1, "grad_x_input", true)                                                       \
    X(IG, 2, "ig", true)                                                                           \
    X(ATTNLRP, 3, "attnlrp", true)                                                                 \
    X(RELEVANCE, 4, "relevance", false)

enum attn_token_method {
#define ATTN_TOKEN_METHOD_ENUM(id, number, ...) ATTN_TOKEN_METHOD_##id = (number),
    ATTN_TOKEN_METHOD_MAP(ATTN_TOKEN_METHOD_ENUM)
#undef ATTN_TOKEN_METHOD_ENUM
        ATTN_N_TOKEN_METHOD = 0 ATTN_TOKEN_METHOD_MAP(ATTN_COUNT)
};

enum attn_baseline {
    ATTN_BASELINE_MEAN = 0, /* the mean embedding of the vocabulary, at every position */
    ATTN_BASELINE_ZERO = 1, /* without learned positions all that counts lies near 0 then: a trap */
    ATTN_BASELINE_GIVEN = 2 /* the embeddings of another text */
};

struct attn_token_attribution_args {
    size_t size; /* of this struct */
    enum attn_token_method method;
    struct attn_answer_args answer;      /* any metric but kl */
    size_t n_point;                      /* of ig; 0: 50 */
    enum attn_baseline baseline;         /* of ig */
    struct attn_input given;             /* that text, or ids, of as many tokens */
    bool merges_words;                   /* a row a word: the sum over its tokens */
    const struct attn_study_args *study; /* items of as many tokens instead of the text, that of
                                            the request; or NULL */
};

#define ATTN_TOKEN_ATTRIBUTION_ARGS_DEFAULT                                                        \
    ((struct attn_token_attribution_args){.size = sizeof(struct attn_token_attribution_args)})

/* The caller owns *table. Errors have a stage; ATTN_INVALID at that of options where there are no
 * gradients (`run` says where), at that of the input for a baseline of another length. Notes a sum
 * that is off by more than 5 percent. */
ATTN_API enum attn_status attn_attribute_tokens(struct attn_host *host,
                                                const struct attn_request *request,
                                                const struct attn_token_attribution_args *args,
                                                struct attn_table **table, struct attn_error *err);

#endif
