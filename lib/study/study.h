/*
 * study.h - runs an experiment for each of many items, and tabulates means over all of them.
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
 * An item has a text or a pair, and may have a target, a foil and positions; the request and the
 * arguments are the defaults for items that lack them. A default that no item uses fails with
 * ATTN_INVALID at the stage of options; for pipes and for places it is noted at the end. The rows
 * of all items become one table: the labels that items are grouped by, the columns that name the
 * row, then for each number X
 *
 *     X                      its mean over the items
 *     X_sd, X_se             standard deviation, with n - 1, and sd / sqrt n
 *     X_low, X_high          with n_bootstrap: the percentile interval of the mean
 *     p, q                   with fdr
 *     n_cluster              with cluster
 *
 * and last n, the items of the group that have the row. A truth value becomes the share of items
 * where it is true, a count the sum. A column that names the row is missing if items differ in it.
 *
 * Failed items are counted, and the first ten are noted; means are over the others. Items run in
 * parallel, each on one of the host's threads; if there are fewer items than threads they run one
 * after the other. They are folded in order, so results do not depend on threads. Memory does not
 * grow with the number of items, except with n_bootstrap, which keeps the numbers of all items, and
 * paired, which keeps the table of an item until its partner comes. `each` writes a line for each
 * row of every item.
 */
#ifndef ATTN_STUDY_STUDY_H
#define ATTN_STUDY_STUDY_H

#include "records/items.h"
#include "study/each.h"

/* Results beside the table. */
struct attn_study_sum {
    size_t n_item, n_failed; /* n_item counts failed items, too */
    size_t n_group;          /* 0: the items are not grouped */
    size_t n_label;          /* the table's leading columns, which name the group */
    size_t n_pair;           /* of paired */
    const char *metric;      /* "logit_diff", of the unchanged model; or NULL */
    const char *row;         /* the row of the table that has it, "base"; or NULL */
    double mean, se;         /* of that metric over the items; with cluster `se` is NaN */
    double right;            /* share of items with a foil whose difference is above 0, or whose
                                target is the most probable token; NaN for other metrics */
    size_t n_tie;            /* items that are neither right nor wrong: both answers differ by at
                                most 1e-5 of the larger logit, or of 1; `right` is without them */
};

struct attn_study_args {
    size_t size;              /* of this struct */
    struct attn_items *items; /* borrowed */
    const char *group_by;     /* labels, "condition,number": a table for each of their values, of
                                 which there may be 1,000; NULL: all items together */
    const char *paired; /* "LABEL=A:B": the table of the differences B - A of items that have one id
                           and differ in LABEL; n is the number of pairs; or NULL */
    size_t n_bootstrap; /* resamples; 0: no intervals */
    uint64_t seed;      /* of the resamples; the same for each group */
    double interval;    /* in percent; 0: 95 */
    int64_t max_failed; /* items that may fail; one more ends the run; negative: any number */
    bool lists_labels;  /* a note lists the labels */
    struct attn_study_sum *sum;           /* filled; or NULL */
    const struct attn_each_options *each; /* where a line goes for each item and row, in their
                                             order; it can be resumed, and ends with the table of
                                             all items. Or NULL */
    const char *sort; /* by which the caller will sort the table (tables/table_order.h): refused
                         before the first item where there is no such column; or NULL */
    bool are_texts;   /* only the input of an item counts, all else is that of the arguments: items
                         run one after the other, one that fails ends the run, and the table has
                         the columns of one text, X_sd, and `texts`, their number. Without groups,
                         pairs, resamples, `each` and the rest below */
    const char *cluster; /* a label: items with one value of it depend on each other. X_se is the
                            cluster-robust one, resamples are of clusters, and the column n_cluster
                            has their number, of which there may be 10,000 in a group; or NULL */
    bool has_contrasts;  /* with group_by: after the groups, the difference of each group from the
                            first */
    const char *fdr;     /* a column: the columns p, the p value of its mean, and q, the false
                            discovery rate over all rows of the table; or NULL */
};

/* A study, the file of its items, and the file of its rows: what the row `items` of
 * attn_question_find is about (experiment/questions.h). The caller connects them. */
struct attn_items_args {
    struct attn_items_options items;
    struct attn_study_args study;
    struct attn_each_options each;
};

#define ATTN_STUDY_ARGS_DEFAULT                                                                    \
    ((struct attn_study_args){.size = sizeof(struct attn_study_args), .max_failed = -1})

#endif
