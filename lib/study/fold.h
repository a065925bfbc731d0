/*
 * fold.h - makes the tables of many items one: means by group, with their intervals and errors. For
 * the files of this layer.
 *
 *     attn_fold_create(&form, study, &fold, &err);
 *     attn_fold_add(fold, &entry, &err);             // every item, in their order
 *     attn_fold_tabulate(fold, 0, &whole, &err);
 *     attn_fold_free(fold);
 *
 * The table of an item has the columns of one text, and as many rows as that of the first item: row
 * by row they belong together.
 */
#ifndef ATTN_STUDY_FOLD_H
#define ATTN_STUDY_FOLD_H

#include "base/buffer.h"
#include "base/table_internal.h"
#include "study/study.h"

/* The answer about one item. Borrowed. */
struct attn_fold_entry {
    const struct attn_item *item;
    const struct attn_table *table;
    const double *more; /* [n_more] numbers beside its rows, as many for each item */
    size_t n_more;
};

/* The means of a group; the experiment derives the columns that are not means. */
struct attn_fold_means {
    struct attn_cell *rows; /* [n_row, n_column] */
    size_t n_row;
    const double *more; /* [n_more] */
    size_t n_more;
    size_t n_item;    /* whose means these are */
    bool is_resample; /* of the items; `more` holds the means of the group, not of the resample */
    bool is_paired;   /* means of differences */
};

/* Fills the derived columns of MEANS, which are missing before. ARGS are those of the form. */
typedef enum attn_status (*attn_fold_derive_fn)(const void *args,
                                                const struct attn_fold_means *means,
                                                struct attn_error *err);

/* The columns of an experiment, folded by their traits (base/column.h). */
struct attn_fold_form {
    const char *name;                  /* of the table */
    const struct attn_column *columns; /* [n_column] of which tables show some */
    size_t n_column;
    bool keeps_keys; /* columns that name the row keep the value of the first item if items
                        differ; else such a cell is missing */
    attn_fold_derive_fn derive; /* fills the derived columns; or NULL */
    const void *args;           /* for it */
    const char *hint;           /* the hint for an item whose rows differ from the first; or NULL */
};

struct attn_fold;

/* Copies FORM; borrows STUDY and what FORM points to. ATTN_INVALID for a `paired` that is not
 * LABEL=A:B. */
enum attn_status attn_fold_create(const struct attn_fold_form *form,
                                  const struct attn_study_args *study, struct attn_fold **fold,
                                  struct attn_error *err);
void attn_fold_free(struct attn_fold *fold); /* NULL is allowed */

/* Checks that the table of all items can be sorted by SORT (tables/table_order.h) if items have the
 * columns of the form without the HIDDEN ones [n_column]. ATTN_INVALID, with the stage of options.
 */
enum attn_status attn_fold_check_sort(const struct attn_fold *fold, const bool *hidden,
                                      const char *sort, struct attn_error *err);

/* Checks that such items have the column of `fdr`, and that it can be tested against 0. */
enum attn_status attn_fold_check_test(const struct attn_fold *fold, const bool *hidden,
                                      struct attn_error *err);

/* Fails if ENTRY cannot be added: it lacks a required label, or its rows do not match. This is the
 * item's failure. */
enum attn_status attn_fold_check(const struct attn_fold *fold, const struct attn_fold_entry *entry,
                                 struct attn_error *err);

/* Adds ENTRY. ATTN_INVALID for more than 1,000 groups, or 10,000 clusters in one. */
enum attn_status attn_fold_add(struct attn_fold *fold, const struct attn_fold_entry *entry,
                               struct attn_error *err);

/* Returns the side of ITEM in `paired`: 0 for A, 1 for B, -1 for neither. */
int attn_fold_side(const struct attn_fold *fold, const struct attn_item *item);

/* Fills n_group, n_label and n_pair of SUM. *n_single: items of `paired` without a partner. */
void attn_fold_count(const struct attn_fold *fold, struct attn_study_sum *sum, size_t *n_single);

/* Creates the table of all items, which the caller owns. Without items it has no rows, and all
 * columns of the form except the HIDDEN ones. */
enum attn_status attn_fold_tabulate(const struct attn_fold *fold, const bool *hidden,
                                    struct attn_table **table, struct attn_error *err);

/* Creates the table of all items in the form of texts, without groups: the columns of an item,
 * NAME_sd of each column of reals, and the number of items as `texts`. The caller owns it. */
enum attn_status attn_fold_tabulate_texts(const struct attn_fold *fold, struct attn_table **table,
                                          struct attn_error *err);

#endif
