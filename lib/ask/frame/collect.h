/*
 * collect.h - runs each of many items, and writes its predictions as rows or records, and its
 * tensors into records, rows of cells, or one array over all items.
 *
 *     struct attn_collect_args args = ATTN_COLLECT_ARGS_DEFAULT;
 *     args.study = &study, args.at.text = "subject", args.npz = "out.npz";
 *     request.selection.sites = "resid_pre", request.selection.layers = "2";
 *     attn_collect(host, &request, &args, &err);
 *
 *     z = np.load("out.npz"); X = z["resid_pre"]; y = z["number"]       # [N, D] and [N]
 *
 * The rows go to `each` of the study, if it is set. An item has a row for each prediction that the
 * request asks for, `top` before `next`, or one row without them:
 *
 *     position, query_token          where tensors and predictions of the item are read
 *     rank                           of `top`, 1 for the most probable
 *     token, token_id, prob          of `top`; `score` in place of `prob` of a model of values
 *     end, text, prob                of a span, which begins at `position`
 *     label, score, prob             of a label of the request
 *     text, log_prob                 of `next`
 *
 * With `sites` and neither `npz` nor predictions, each cell of a pattern that is not masked is a
 * row: layer, head, query, key, query_token, key_token, weight. In the form ATTN_EACH_RECORDS
 * (stream/each.h) an item is one line with ids, tokens, predictions, and the tensors of `sites`
 * unless `npz` takes them.
 *
 * An array has a row for each item that did not fail: in an archive (.npz) each site is one, [N,
 * n], for several layers [N, L, n], and of sites with heads [N, H, n] or [N, L, H, n]; further
 * members are `id`, each label, and `layer` [L] if there are several layers. Labels are integers,
 * reals (NaN for items that lack the label), booleans or texts. A label whose name is taken becomes
 * item.NAME. A file .npy holds one site alone. Sites with a column for each key, such as patterns,
 * have a member for each item in an archive, 000000007/blocks.0.attn.hook_pattern for item 7, with
 * ids, tokens, queries and heads as in the archive of a run, because texts differ in length.
 *
 * With `mean_by` each row is the mean over the items with the same value of that label, in order of
 * first occurrence; further members are the label and `n`. With LABEL=A:B there is one row without
 * the first axis, the mean of B minus that of A: a direction for `steering`.
 */
#ifndef ATTN_FRAME_COLLECT_H
#define ATTN_FRAME_COLLECT_H

#include "run/run.h"

struct attn_study_args; /* means/study.h */

struct attn_collect_args {
    size_t size; /* size of this struct */
    /* items; required. Groups, pairs and resamples are not supported */
    const struct attn_study_args *study;
    /* position for items without `at` and `queries`, of a word its last token; not given: the last
     * position */
    struct attn_number_list at;
    /* FILE.npz or FILE.npy for the selected tensors; NULL: no array. For a shard, the number is
     * inserted: out-00003-of-00008.npz */
    const char *npz;
    const char *mean_by; /* a label with at most 1,000 values, or LABEL=A:B; or NULL */
};

/* Sets ARGS [size bytes] to the defaults, and returns it. */
ATTN_API struct attn_collect_args *attn_collect_args_init(struct attn_collect_args *args,
                                                          size_t size);
#define ATTN_COLLECT_ARGS_DEFAULT ATTN_DEFAULT_OF(attn_collect_args)

/* Runs the items with the selection and the predictions of REQUEST. Errors have a stage. */
ATTN_API enum attn_status attn_collect(struct attn_host *host, const struct attn_request *request,
                                       const struct attn_collect_args *args,
                                       struct attn_error *err);

#endif
