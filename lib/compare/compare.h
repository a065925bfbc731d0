/*
 * compare.h - attention beside exact attention: how far every head is from it, alone and carried
 * through the model, what that does to the predictions, and what both cost.
 *
 *     struct attn_comparison *found;
 *     attn_run_prepare(host, &request, &run, &err);
 *     attn_compare(run, 5, &found, &err);
 *     printf("%g\n", found->heads[0].local.values[ATTN_DIFFERENCE_TV]);
 *     attn_comparison_free(found);
 *
 * Exact attention is the softmax of the same scores over every pair that the mask leaves: the
 * chosen attention with kind `full`, masked before the softmax, without dropout, in float32. In
 * layers to which the model itself gives a window, exact is that window. There are two errors of
 * it:
 *
 *     local       a layer computes the chosen attention from q, k and v of the exact run
 *     propagated  all layers compute it: from layer 1 on q, k and v differ as well
 */
#ifndef ATTN_COMPARE_COMPARE_H
#define ATTN_COMPARE_COMPARE_H

#include "compare/comparison.h"
#include "run/run.h"

/*
 * Compares what RUN asks for, of a model or of arrays; one with edits is refused. Its outputs,
 * pictures, show the local differences of the patterns, chosen minus exact; without readers of any,
 * *comparison is NULL. The layers, heads and queries that it selects are compared, and the logits
 * after these queries. Of arrays errors are local, as those of layer 0. N_RECALLED is K of
 * ATTN_DIFFERENCE_RECALL, 1..ATTN_MOST_RECALLED. *comparison is the caller's.
 *
 * A model runs twice, the attention of each layer once more beside it. Memory: q, k, v and z of the
 * selected layers, n (2H + G) floats of d_head or d_value a layer; two sessions with one layer's
 * keys and values; never a whole matrix that is larger than 64 MiB. Of arrays: z twice.
 *
 * Errors have a stage, as those of attn_run_perform. ATTN_INVALID at ATTN_STAGE_OPTIONS where the
 * attention of every layer is exact.
 */
ATTN_API enum attn_status attn_compare(const struct attn_run *run, size_t n_recalled,
                                       struct attn_comparison **comparison, struct attn_error *err);

#endif
