/*
 * collect.h - runs each of many items, and writes its predictions as rows, and its tensors into one
 * array over all items.
 *
 *     struct attn_collect_args args = ATTN_COLLECT_ARGS_DEFAULT;
 *     args.study = &study, args.at = "subject", args.array = "out.npz";
 *     request.selection.sites = "resid_pre", request.selection.layers = "2";
 *     attn_collect(host, &request, &args, &err);
 *
 *     z = np.load("out.npz"); X = z["resid_pre"]; y = z["number"]       # [N, D] and [N]
 *
 * The rows go to `each` of the study, if it is there. An item has a row for each prediction that
 * the request asks for, `top` before `next`, or one row without them:
 *
 *     position, token                of the item, where tensors and predictions are read
 *     rank, next, log_prob           rank 1 is the most probable token; a continuation has none
 *
 * An array has a row for each item that did not fail: in an archive (.npz) each site is one, [N,
 * n], for several layers [N, L, n], and of sites with heads [N, H, n] or [N, L, H, n]; beside them
 * lie `id`, each label, and `layer` [L] if there are several. Labels are integers, reals (NaN where
 * an item has none), booleans or texts. A label with one of these names is item.NAME. A file .npy
 * holds one site alone. Sites with a column for each key are refused: texts differ in length.
 *
 * With `mean_by` a row is the mean over the items of one value of that label, in the order in which
 * the values come; beside it lie the label and `n`. With `minus` there is one row without the first
 * axis, the mean of the other value minus that of this one: a direction for `steering`.
 */
#ifndef ATTN_EXPERIMENT_COLLECT_H
#define ATTN_EXPERIMENT_COLLECT_H

#include "run/run.h"

struct attn_study_args; /* study/study.h */

struct attn_collect_args {
    size_t size;                         /* of this struct */
    const struct attn_study_args *study; /* items; needed. Without groups, pairs and resamples */
    const char *at;      /* a number, a word, whose last token it is, or the name of a place of the
                            item; for items without `at` and `queries`; NULL: the last position */
    const char *array;   /* FILE.npz or FILE.npy for the selected tensors; NULL: none. With shards
                            its name has the number, out-00003-of-00008.npz */
    const char *mean_by; /* a label, of which there may be 1,000 values; or NULL */
    const char *minus;   /* one of its two values; or NULL */
};

#define ATTN_COLLECT_ARGS_DEFAULT                                                                  \
    ((struct attn_collect_args){.size = sizeof(struct attn_collect_args)})

/* Runs the items with the selection and the predictions of REQUEST. Errors have a stage. */
ATTN_API enum attn_status attn_collect(struct attn_host *host, const struct attn_request *request,
                                       const struct attn_collect_args *args,
                                       struct attn_error *err);

#endif
