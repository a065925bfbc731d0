/*
 * lens.h - the logit lens: the next token that each layer would predict. The output layer reads the
 * residual stream of every layer (nostalgebraist 2020).
 *
 *     struct attn_lens_args args = ATTN_LENS_ARGS_DEFAULT;
 *     args.answer.target = " are";
 *     struct attn_table *table;
 *     attn_lens(host, &request, &args, &table, &err);     // rank of " are" after each layer
 *
 * The reading is softmax(LN_f(h) W_U) for h = resid_pre of layer 0 to resid_post of the last layer,
 * whose reading is bit-identical to the model's own output. The final norm was trained for the last
 * layer only: for the first layers, the numbers show what this reading finds, not what the model
 * uses.
 */
#ifndef ATTN_QUESTIONS_LENS_H
#define ATTN_QUESTIONS_LENS_H

#include "predict/answer.h"
#include "run/run.h"
#include "tables/table.h"

struct attn_ndarray;    /* formats/ndarray.h */
struct attn_study_args; /* questions/study.h */

struct attn_lens_args {
    size_t size; /* size of this struct */
    size_t top;  /* number of most probable tokens per reading; 0: 3 */
    /* with a target: its rank is shown instead of the most probable tokens; optionally with a
     * foil */
    struct attn_answer_args answer;
    bool reads_heads; /* reads the output of each head instead of the stream: LN_f(z W_O) W_U */
    /* items to use instead of the request's input; or NULL */
    const struct attn_study_args *study;
    const char *jacobian; /* file of a Jacobian lens, with which the stream is read; or NULL */
    const char *fit;      /* file for the Jacobian lens that is fitted to the items; or NULL */
    size_t skip, first;   /* of each text, for `fit`: positions that are left out, and tokens that
                             are read; `first` 0: 128 */
    const struct attn_ndarray *jacobian_array; /* [n_layer - 1, D, D], instead of `jacobian` */
    /* for a curve, at one position of one text: number of the model's most probable answers that
     * are read in each layer, after the target; 0: none */
    size_t n_answer;
};

#define ATTN_LENS_ARGS_DEFAULT ATTN_QUESTION_DEFAULT("lens", attn_lens_args)

/*
 * Reads at the queries of REQUEST (NULL: the last position; the mask of an encoder; the position
 * that a classifier reads; a classifier that reads a mean has no position and takes no queries).
 * Its layers choose rows. Its sites may add resid_mid and resid_post to resid_pre of all layers.
 * The table has the columns
 *
 *     layer, site, position, place, id, token, prob          place 1: the most probable
 *     layer, site, position, rank, prob, logit               with a target; rank 1: most probable
 *     layer, site, position, rank, id, token, prob, logit    with `n_answer`, a row for each answer
 *     layer, head, position, place, id, token, logit         for heads; place -1: the smallest
 *     layer, head, position, rank, logit                     for heads with a target
 *
 * and with a foil logit_diff, the target's logit minus the foil's.
 *
 * With items the values are means over the queries of each item, then over the items, each counted
 * once. The columns position, id and token are missing then. Queries that are words are resolved in
 * every text. An item's own `queries` or `at` is one position. With `top`, or if the first item has
 * no target, the most probable tokens are read; else all items need a target.
 *
 * A Jacobian lens (Gurnee et al. 2026) first multiplies the output h_l of layer l by J_l, the mean
 * derivative of the last layer's output by it, and so carries it to where the output layer reads.
 * Rows are the outputs of all layers then; the last is the model's own answer. With `fit` J is the
 * mean over the items of
 *
 *     1/|V| sum over t, t' in V, t' >= t of d h_last(t') / d h_l(t),   V = positions skip .. T - 2
 *
 * and is written to that file, with its matrices [n_layer - 1, D, D]. The table describes them:
 *
 *     layer, site, norm, diagonal     norm: Frobenius norm by sqrt(D), diagonal: its mean; both are
 * 1 for the identity
 *
 * ARGS may be NULL. The caller owns *table. Errors have a stage.
 */
ATTN_API enum attn_status attn_lens(struct attn_host *host, const struct attn_request *request,
                                    const struct attn_lens_args *args, struct attn_table **table,
                                    struct attn_error *err);

#endif
