/*
 * study.h - runs a procedure for each of many items, and tabulates means over all of them.
 *
 *     struct attn_items_options file = ATTN_ITEMS_OPTIONS_DEFAULT;
 *     struct attn_study_args study = ATTN_STUDY_ARGS_DEFAULT;
 *     struct attn_ablate_args args = ATTN_ABLATE_ARGS_DEFAULT;
 *     struct attn_study_sum sum = ATTN_STUDY_SUM_DEFAULT;
 *     file.path = "agreement.csv";
 *     attn_items_open(&file, &study.items, &err);
 *     study.group_by = "condition", study.sum = &sum, args.study = &study;
 *     attn_ablate(host, &request, &args, &table, NULL, &err);
 *
 * An item has a text or a pair, and may have a target, a foil and positions; the request and the
 * arguments are the defaults for items that lack them. A default that no item uses is an error,
 * ATTN_INVALID at the stage of options; for pipes and for places, it is only a note at the end. The
 * rows of all items are combined to one table: the labels by which items are grouped, the columns
 * that name the row, then for each number X
 *
 *     X                      its mean over the items
 *     X_sd, X_se             standard deviation, with n - 1, and sd / sqrt n
 *     X_low, X_high          with n_bootstrap: the percentile interval of the mean
 *     p, q                   with fdr
 *     n_cluster              with cluster
 *
 * and last n, the number of items of the group that have the row. For a truth value the share of
 * items where it is true is shown, for a count the sum. A column that names the row is missing if
 * items differ in it.
 *
 * Failed items are counted, and the first ten are noted; means are over the others. Items run in
 * parallel, each on one of the host's threads; if there are fewer items than threads they run one
 * after the other. Results are combined in the order of the items, so results do not depend on
 * threads. Memory does not grow with the number of items, except with n_bootstrap, which keeps the
 * numbers of all items, and paired, which keeps the table of an item until its partner comes.
 * `each` writes a line for each row of every item.
 */
#ifndef ATTN_MEANS_STUDY_H
#define ATTN_MEANS_STUDY_H

#include "stream/each.h"
#include "stream/items.h"

/* Results beside the table. */
struct attn_study_sum {
    size_t size;             /* of this struct */
    size_t n_item, n_failed; /* n_item includes failed items */
    size_t n_group;          /* number of groups; 0: items are not grouped */
    size_t n_label;          /* number of leading columns of the table that name the group */
    size_t n_pair;           /* number of pairs, with `paired` */
    const char *metric;      /* metric of the unchanged model, "logit_diff"; or NULL */
    const char *row;         /* name of the row of the table that has it, "base"; or NULL */
    /* mean and standard error of that metric over the items; with `cluster`, `se` is NaN */
    double mean, se;
    /* share of items that the model has right: the difference to the foil is above 0, or without a
     * foil the target is the most probable token; NaN for other metrics */
    double right;
    /* number of ties, which do not count in `right`: both answers differ by at most 1e-5 of the
     * larger logit, or of 1 */
    size_t n_tie;
    /* name of the metric's values, "cosine" of a model that compares texts; `metric` otherwise */
    const char *quantity;
};

/* Sets SUM [size bytes] to the defaults, and returns it. */
ATTN_API struct attn_study_sum *attn_study_sum_init(struct attn_study_sum *sum, size_t size);
#define ATTN_STUDY_SUM_DEFAULT ATTN_DEFAULT_OF(attn_study_sum)

struct attn_study_args {
    size_t size;              /* size of this struct */
    struct attn_items *items; /* borrowed */
    /* labels, "condition,number": the table has rows for each combination of their values, at most
     * 1,000; NULL: no groups */
    const char *group_by;
    /* "LABEL=A:B": tabulates the differences B - A between items that have the same id and differ
     * in LABEL; n is the number of pairs; or NULL */
    const char *paired;
    size_t n_bootstrap; /* number of bootstrap resamples; 0: no intervals */
    uint64_t seed;      /* seed of the resamples, the same for each group */
    double interval;    /* width of intervals in percent; 0: 95 */
    /* number of items that may fail before the run ends; negative: any number */
    int64_t max_errors;
    bool lists_labels;          /* sends a note that lists the labels */
    struct attn_study_sum *sum; /* receives results beside the table; or NULL */
    /* writes a line for each row of each item, in order. Such a run can be resumed, and still ends
     * with the table of all items. Or NULL */
    const struct attn_each_options *each;
    /* column by which the caller will sort the table (tables/table_order.h); an unknown column is
     * an error before the first item; or NULL */
    const char *sort;
    /* a label; items with the same value of it depend on each other. X_se is then cluster-robust,
     * resampling draws clusters, and the column n_cluster has their number, at most 10,000 per
     * group; or NULL */
    const char *cluster;
    /* with group_by: adds the difference of each group from the first, after the groups */
    bool has_contrasts;
    /* a column to test: adds the columns p, the p value of its mean, and q, the false discovery
     * rate over all rows of the table; or NULL */
    const char *fdr;
    /* how the caller will choose rows and columns of the table (tables/table_order.h), checked like
     * `sort`; or NULL */
    const char *columns;
    const char *const *where; /* [n_where] */
    size_t n_where;
    /* the caller reads only what `sort`, `fdr`, `columns` and `where` name: `heads` does not
     * compute other measures, and `each` lacks them */
    bool is_narrow;
    /* the caller prints the table for people: that of `features` has the text around a token */
    bool is_read;
};

/* The arguments about items that every question shares: the file of items, the study, and the file
 * of rows (row `items` of attn_question_find in frame/questions.h). The caller links the three
 * structs. */
struct attn_items_args {
    struct attn_items_options items;
    struct attn_study_args study;
    struct attn_each_options each;
};

/* Sets ARGS [size bytes] to the defaults, and returns it. */
ATTN_API struct attn_study_args *attn_study_args_init(struct attn_study_args *args, size_t size);
#define ATTN_STUDY_ARGS_DEFAULT ATTN_DEFAULT_OF(attn_study_args)

#endif
