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
#ifndef ATTN_LENS_LENS_H
#define ATTN_LENS_LENS_H

#include "predict/answer.h"
#include "run/run.h"
#include "tables/table.h"

struct attn_study_args; /* means/study.h */

/* Columns beside each reading, a set of these: entropy of its distribution q, and the divergence
 * sum p ln(p / q) of the model's own prediction p, the last row. */
enum { ATTN_LENS_ENTROPY = 1, ATTN_LENS_KL = 2 };

struct attn_lens_args {
    size_t size; /* size of this struct */
    size_t top;  /* number of most probable tokens per reading; 0: 3 */
    /* with a target: its rank is shown instead of the most probable tokens; optionally with a
     * foil */
    struct attn_answer_args answer;
    bool reads_heads; /* reads the output of each head instead of the stream: LN_f(z W_O) W_U */
    /* items to use instead of the request's input; or NULL */
    const struct attn_study_args *study;
    const char *map; /* folder of maps, one for each layer, which the outputs of layers go through
                        before they are read; or NULL */
    /* for a curve, at one position of one text: number of the model's most probable answers that
     * are read in each layer, after the target; 0: none */
    size_t n_answer;
    unsigned measures; /* columns beside each reading, in nats; 0: none */
};

#define ATTN_LENS_ARGS_DEFAULT ATTN_QUESTION_DEFAULT("lens", attn_lens_args)

/*
 * Reads at the queries of REQUEST (NULL: the last position; the mask of an encoder; the position
 * that a classifier reads; a classifier that reads a mean has no position and takes no queries).
 * Its layers choose rows. Its sites may add resid_mid and resid_post to resid_pre of all layers.
 * The table has the columns
 *
 *     layer, site, position, rank, id, token, prob           rank 1: the most probable
 *     layer, site, position, rank, prob, logit               with a target; rank 1: most probable
 *     layer, site, position, rank, id, token, prob, logit    with `n_answer`, a row for each answer
 *     layer, head, position, rank, id, token, logit          for heads; rank -1: the smallest
 *     layer, head, position, rank, logit                     for heads with a target
 *
 * and with a foil logit_diff, the target's logit minus the foil's; with `measures` entropy and kl.
 *
 * With items the values are means over the queries of each item, then over the items, each counted
 * once. The columns position, id and token are missing then. Queries that are words are resolved in
 * every text. An item's own `queries` or `at` is one position. With `top`, or if the first item has
 * no target, the most probable tokens are read; else all items need a target.
 *
 * With `map` the output h_l of layer l is first multiplied by a matrix W_l, plus a bias: those of a
 * tuned lens (Belrose et al. 2023) or of a Jacobian lens, whose J_l is the mean derivative of the
 * last layer's output by h_l. The folder has l.npy, float [D, D], and l.bias.npy [D] if there is a
 * bias; or l.safetensors with `weight` and `bias`. A layer without a file is read as it is. Rows
 * are the outputs of all layers then.
 *
 * ARGS may be NULL. The caller owns *table. Errors have a stage.
 */
ATTN_API enum attn_status attn_lens(struct attn_host *host, const struct attn_request *request,
                                    const struct attn_lens_args *args, struct attn_table **table,
                                    struct attn_error *err);

#endif
