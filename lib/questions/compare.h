/*
 * compare.h - compares attention with exact attention: the difference of every head, within its
 * layer and propagated through the model, the effect on the predictions, and the cost of both.
 *
 *     struct attn_comparison *found;
 *     attn_run_prepare(host, &request, &run, &err);
 *     attn_compare(run, 5, &found, &err);
 *     printf("%g\n", found->heads[0].local.values[ATTN_DIFFERENCE_TV]);
 *     attn_comparison_free(found);
 *
 * Exact attention is the softmax of the same scores over all pairs that are not masked: the chosen
 * attention with kind `full`, masked before the softmax, without dropout, in float32. In layers
 * whose window belongs to the model, exact attention has that window. Two errors are measured:
 *
 *     local       a layer computes the chosen attention from q, k and v of the exact run
 *     propagated  all layers compute it: from layer 1 on q, k and v differ as well
 */
#ifndef ATTN_QUESTIONS_COMPARE_H
#define ATTN_QUESTIONS_COMPARE_H

#include "questions/comparison.h"
#include "run/run.h"

/*
 * Compares the attention of RUN, of a model or of arrays; a run with edits is an error. The
 * selected layers, heads and queries are compared, and the logits after these queries. The outputs
 * of RUN, which are pictures, show the local differences of the patterns, chosen minus exact; if
 * the readers of all outputs closed their pipes, *comparison is NULL. Arrays only have local
 * errors, in layer 0. N_RECALLED is K of ATTN_DIFFERENCE_RECALL, 1..ATTN_MOST_RECALLED. The caller
 * owns *comparison.
 *
 * A model runs twice, and the attention of each layer is computed once more. Memory: q, k, v and z
 * of the selected layers, n (2H + G) floats of d_head or d_value a layer; two sessions with one
 * layer's keys and values; never a whole matrix of more than 64 MiB. For arrays: z twice.
 *
 * Errors have a stage, as in attn_run_perform. ATTN_INVALID at ATTN_STAGE_OPTIONS if the attention
 * of every layer is exact.
 */
ATTN_API enum attn_status attn_compare(const struct attn_run *run, size_t n_recalled,
                                       struct attn_comparison **comparison, struct attn_error *err);

#endif
