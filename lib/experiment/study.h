/*
 * study.h - an experiment about each of many items, and what comes out over all of them.
 *
 *     struct attn_items_options file = ATTN_ITEMS_OPTIONS_DEFAULT;
 *     struct attn_study_args study = ATTN_STUDY_ARGS_DEFAULT;
 *     struct attn_ablate_args args = ATTN_ABLATE_ARGS_DEFAULT;
 *     struct attn_study_sum sum;
 *     file.path = "agreement.csv";
 *     attn_items_open(&file, &study.items, &err);
 *     study.group_by = "condition", study.sum = &sum, args.study = &study;
 *     attn_ablate(host, &request, &args, &table, NULL, &err);
 *
 * An item has a text, or a pair, and may have a target, a foil and positions of its own: what it
 * lacks is what the request and the arguments say. ATTN_INVALID, with the stage of options, for a
 * field that all items have themselves; of a pipe, and of places, it is noted at the end. The rows of all items become one table. First
 * come the labels that it is grouped by, then what says which row it is, then for each number X
 *
 *     X                      its mean over the items
 *     X_sd, X_se             standard deviation, with n - 1, and sd / sqrt n
 *     X_low, X_high          with n_bootstrap: the percentile interval of the mean
 *
 * and last n, the items of the group that have the row. A truth value becomes the share of items
 * where it is true, a count the sum. What says which row it is, and is not the same for all items,
 * is missing.
 *
 * An item that fails is counted, and the first ten are noted; means are over the others. Items are
 * asked about side by side on the host's threads, each on one, or where there are fewer items than
 * threads one after the other; they are taken in their order. Results do not depend on threads.
 * Memory does not grow with the number of items, but for n_bootstrap, which keeps the numbers of
 * all items, and paired, which keeps the table of an item until its partner comes. Where each says,
 * what came of every item is a line for each of its rows.
 */
#ifndef ATTN_EXPERIMENT_STUDY_H
#define ATTN_EXPERIMENT_STUDY_H

#include "records/each.h"
#include "records/items.h"

/* What was found, beside the table. */
struct attn_study_sum {
    size_t n_item, n_failed; /* those that failed are items too */
    size_t n_group;          /* 0: the items are not grouped */
    size_t n_label;          /* the table's leading columns, by which they are */
    size_t n_pair;           /* of paired */
    const char *metric;      /* "logit_diff", of the model as it is; NULL: there is none */
    const char *row;         /* the row of the table that has it, "base"; or NULL */
    double mean, se;         /* of that metric over the items */
    double right;            /* share of items with a foil whose difference is above 0, or whose
                                target is the most probable token; NaN: the metric has no such */
};

struct attn_study_args {
    size_t size;              /* of this struct */
    struct attn_items *items; /* borrowed */
    const char *group_by;     /* labels, "condition,number": a table for each of their values, of
                                 which there may be 1,000; NULL: all items together */
    const char *paired; /* "LABEL=A:B": the table of the differences B - A of items that have one id
                           and differ in LABEL; n is the number of pairs; or NULL */
    size_t n_bootstrap; /* resamples; 0: no intervals */
    uint64_t seed;      /* of these; each group begins with it */
    double interval;    /* in percent; 0: 95 */
    int64_t max_failed; /* so many may fail, one more ends it; negative: all may */
    bool lists_labels;  /* a note says what was taken as a label */
    struct attn_study_sum *sum;           /* filled; or NULL */
    const struct attn_each_options *each; /* where a line goes for each item and row, in their
                                             order; it can be resumed, and ends with the table of
                                             all items. Or NULL */
    const char *sort; /* by which the caller will sort the table (tables/table_order.h): refused
                         before the first item where there is no such column; or NULL */
};

#define ATTN_STUDY_ARGS_DEFAULT                                                                    \
    ((struct attn_study_args){.size = sizeof(struct attn_study_args), .max_failed = -1})

#endif
