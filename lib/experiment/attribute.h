/*
 * attribute.h - which part of a model writes a logit: direct logit attribution (Elhage et al.
 * 2021).
 *
 *     struct attn_attribute_args args = ATTN_ATTRIBUTE_ARGS_DEFAULT;
 *     args.answer.target = " are", args.answer.foil = " is";
 *     struct attn_table *table;
 *     attn_attribute(host, &request, &args, &table, &err);
 *
 * The stream at a position is a sum of what embedding, positions, heads, biases and MLPs have
 * written. With the scale of the final norm frozen at what it was, the logit is a sum of these
 * parts too. So are norms after attention and MLP frozen. Parts, in rows of
 *
 *     part, layer, head, logit      the target's, minus the foil's where there is one
 *
 *     embed, pos         the token's embedding; what positions add to it
 *     head               z W_O of one head, with the share of the bias of its values
 *     attn_bias          b_O, and the bias of a norm after attention
 *     mlp                what the MLP adds, its biases and the norm after it included
 *     norm_bias          the bias of the final norm
 *     output_bias        of the output matrix
 *     sum                of all of these
 *     model              what the model says: equal but for rounding. Before a soft cap on logits
 *
 * Of many texts they are the means, each text counted once, and after them come the columns
 * logit_sd and texts; over items see study.h.
 *
 * It is the direct share only: what a head does to later heads and MLPs stands in their rows.
 */
#ifndef ATTN_EXPERIMENT_ATTRIBUTE_H
#define ATTN_EXPERIMENT_ATTRIBUTE_H

#include "base/table.h"
#include "run/answer.h"
#include "run/run.h"

struct attn_study_args; /* experiment/study.h */

struct attn_attribute_args {
    size_t size;                    /* of this struct */
    struct attn_answer_args answer; /* a target, perhaps a foil, and where; no metric is used */
    bool by_token; /* each head by the key that it read from, its pattern times value: the rows
                      layer, head, key, token, logit with the largest magnitudes */
    size_t n_most; /* so many of them; 0: 20 */
    /* [n_text] instead of the request's input, without by_token; or NULL. */
    const struct attn_input *texts;
    size_t n_text;
    const struct attn_study_args *study; /* items instead of both; or NULL */
};

#define ATTN_ATTRIBUTE_ARGS_DEFAULT                                                                \
    ((struct attn_attribute_args){.size = sizeof(struct attn_attribute_args)})

/* The caller owns *table. Errors have a stage; ATTN_INVALID at that of options for a model without
 * a residual stream, and by token for attention without a pattern
 * and for many texts. */
ATTN_API enum attn_status attn_attribute(struct attn_host *host, const struct attn_request *request,
                                         const struct attn_attribute_args *args,
                                         struct attn_table **table, struct attn_error *err);

#endif
