/*
 * attribute.h - distributes an answer over parts of the model, over the tokens of the text, or over
 * the cells of its patterns.
 *
 *     struct attn_attribute_args args = ATTN_ATTRIBUTE_ARGS_DEFAULT;
 *     args.answer.target = " are", args.answer.foil = " is";
 *     struct attn_table *table;
 *     attn_attribute(host, &request, &args, &table, &err);
 *
 * The method dla is direct logit attribution (Elhage et al. 2021): which part of a model writes a
 * logit. The stream at a position is a sum of what embedding, positions, heads, biases and MLPs
 * have written. With the scale of the final norm frozen at its value in the run, the logit is a sum
 * of these parts too. Norms after attention and MLP, and lengths, have frozen scales, too. Rows:
 *
 *     part, layer, head, logit      the target's logit, minus that of a foil
 *
 *     embed, pos         embedding of the token; of the position, with [CLS] and registers
 *     head               z W_O of one head, with the share of the bias of its values
 *     attn_bias          b_O, and the bias of a norm after attention
 *     mlp                the output of the MLP, with its biases and the norm after it
 *     per_layer_input    what Gemma 4 makes of the input that a layer has for the token
 *     norm_bias          the bias of the final norm
 *     output_bias        bias of the output matrix, and of maps after a pooling
 *     sum                of all these parts
 *     model              the model's logit before a soft cap: equal but for rounding
 *
 * With a foil, attribution_target and attribution_foil are what it adds to each logit. The effect
 * of a head on later heads and MLPs is counted in the rows of those.
 *
 * With `score` the number is not a logit but the score s_ij that a head gives to a key, before a
 * soft cap. Query and key are maps of the stream, so with the scales of norms frozen s_ij is a sum
 * over pairs of a writer of the query and one of the key:
 *
 *     query_part, query_layer, query_head, key_part, key_layer, key_head, score, relative
 *
 *     norm_bias          the bias of the norm before the layer
 *     attn_norm_bias     the bias of the norm after the sum with attention (BERT, BART)
 *     mlp_norm_bias      the bias of the norm after the sum with an MLP
 *     source             the rows of the source, for keys of a head that attends to it
 *     bias               b_Q or b_K, the bias of a norm of queries or keys, and what clipping takes
 *     position_bias      what is added to the score for positions (ALiBi, T5, DeBERTa)
 *     sum, model         of all pairs; the score of the run
 *
 * relative is the score less its mean over all keys that the query sees, which the softmax does not
 * see. Of several queries and keys the numbers are means over the cells. Edits of z, v, patterns
 * and MLPs come first; edits of the stream, and of q and k of the layer, are refused.
 *
 * The other methods use gradients. With e the embedding of a token (hook_embed; learned positions
 * stay as they are), d the gradient of the metric with respect to it, and b a baseline, a token
 * gets
 *
 *     saliency         the length of d: how fast the metric can change. No sign, no sum
 *     grad_x_input     e . d
 *     ig               (e - b) . the mean of d between b and e (Sundararajan et al. 1703.01365),
 *                      by Gauss-Legendre quadrature
 *     attnlrp          e . d by the rules of AttnLRP (Achtibat et al. 2402.05602)
 *     relp             e . d by the rules of RelP (2508.21258)
 *     relevance        the site relevance of the last layer in the rows that the answer reads,
 *                      without the identity (Chefer et al. 2103.15679)
 *     relevance_norm   the same with relevance_norm (2012.09838)
 *
 * in rows of part, position, id, token, attribution:
 *
 *     source, token    one row per position, or per word, of the source and of the text
 *     pos, types       the attribution of learned positions and of token types, for
 *                      grad_x_input, attnlrp and relp
 *     sum              of all these rows, for methods that have a sum
 *     model            the metric, which the sum approximates; for ig minus the metric at the
 *                      baseline. Equal for ig with many points
 *
 * Where a norm follows the embedding and what is added to it, as in BERT, the scale of their sum
 * has no effect: the shares of grad_x_input of a position, its embedding, position and type, add up
 * to 0. A note says so; where nothing is added, each share is 0, and the method is refused.
 *
 * For pictures a token is [CLS], a register or a patch. The first two have learned vectors, which
 * have no baseline: ig gives them 0.
 *
 * With n_target these rows follow for each target (attribute_generated.h), as of its prefix alone,
 * after the columns step, its position, and target, its text. All targets take one run.
 *
 * attn_x_grad gives the cells with the largest |P dP|, where P is the weight of a query on a key
 * and dP the derivative of the metric with respect to it:
 *
 *     layer, head, query, key, token, weight, attn_x_grad
 *     knockout           the estimated change of the metric if the key is masked for this query and
 *                        the other weights of the row grow to add up to 1: P times the mean of dP
 *                        over the other keys, each counted by its weight, minus P dP. Missing
 *                        if the row has no other key
 *
 * By cell, saliency, grad_x_input and ig are those of the picture in a prompt: e is the row of a
 * cell in the stream, and b the mean of all cells, in
 *
 *     part, row, column, attribution
 *
 *     picture, tile    sums over all cells, and over those of each tile
 *     cell             of the whole picture
 *     text             the sum of all other positions, for grad_x_input
 *     sum, model       picture and text; the metric, for ig minus that at the baseline, which is
 *                      minus the change of `ablate` of the picture
 *
 * saliency has the cells alone. Of pixels, grad_x_input is the sum over the pixels of a cell of the
 * value that the tower reads times its gradient, and picture that over all tiles.
 *
 * causes gives the 12 largest of these cells, after a column part, "head", and with them at most as
 * many MLPs, "mlp", whose output at a position `query` times its gradient, the attribution, is as
 * large.
 */
#ifndef ATTN_ATTRIBUTE_ATTRIBUTE_H
#define ATTN_ATTRIBUTE_ATTRIBUTE_H

#include "attribute/attribute_kinds.h"
#include "predict/answer.h"
#include "run/run.h"
#include "tables/table.h"

struct attn_study_args; /* means/study.h */

/* The scores that one head at some queries gives to some keys. Borrowed. */
struct attn_score_cells {
    const char *text; /* "QUERY>KEY@LAYER.HEAD"; NULL: not given */
    /* in the place of the text, if they are given: all three */
    struct attn_number_list queries, keys;
    struct attn_head_list head;
};

/* What a part adds to target and foil apart. */
enum attn_attribute_sides {
    ATTN_SIDES_LOGITS = 0, /* to each logit */
    ATTN_SIDES_MEAN = 1,   /* to each logit minus the mean of all */
    ATTN_SIDES_NONE = 2
};
struct attn_attribute_args {
    size_t size; /* size of this struct */
    /* for dla: a target, optionally a foil, and a position; the metric is not used. For gradients:
     * any metric but kl */
    struct attn_answer_args answer;
    /* TOKEN splits each head by the key that it read from, pattern times value: the rows layer,
     * head, key, token, logit with the largest magnitudes */
    enum attn_attribute_by by;
    /* number of these rows, of cells or of pairs; 0: 20, for causes 12; SIZE_MAX: all */
    size_t n_most;
    /* items to use instead of the request's input (not by token and not for cells); or NULL */
    const struct attn_study_args *study;
    enum attn_attribute_method method;
    size_t n_point;              /* for ig: number of points; 0: 50 */
    enum attn_baseline baseline; /* for ig */
    struct attn_input given; /* for ATTN_BASELINE_GIVEN: an input with as many tokens or patches */
    bool merges_words;       /* a row per word instead of per token, with the sum over its tokens */
    /* number of tokens at the end of the text that are targets in turn, each attributed to the
     * tokens before it; 0: the answer is the target; SIZE_MAX: all tokens but the first */
    size_t n_target;
    /* for ig: positions that keep their embedding in the baseline, or as text "none"; not given:
     * the positions that an encoder's tokenizer added */
    struct attn_number_list baseline_keep;
    struct attn_score_cells score;   /* if it is given, attributes these scores, and no answer */
    enum attn_attribute_sides sides; /* for dla with a foil, at one position */
};

#define ATTN_ATTRIBUTE_ARGS_DEFAULT ATTN_QUESTION_DEFAULT("attribute", attn_attribute_args)

/* The caller owns *table. Errors have a stage. ATTN_INVALID at the stage of options: dla for a
 * model without a residual stream, by token without a pattern, gradients if the model or its
 * attention has none. ATTN_INVALID at the stage of the input: a baseline of another length. Sends a
 * note if the sum differs from the model's value by more than 5 percent. */
ATTN_API enum attn_status attn_attribute(struct attn_host *host, const struct attn_request *request,
                                         const struct attn_attribute_args *args,
                                         struct attn_table **table, struct attn_error *err);

#endif
