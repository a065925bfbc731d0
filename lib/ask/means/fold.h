/*
 * fold.h - combines the tables of many items into one: means by group, with standard errors and
 * intervals. Private to lib/questions.
 *
 *     attn_fold_create(&form, study, &fold, &err);
 *     attn_fold_add(fold, &result, &err);             // every item, in their order
 *     attn_fold_tabulate(fold, 0, &whole, &err);
 *     attn_fold_free(fold);
 *
 * The table of an item has the same columns as that of the first item. Rows with the same index are
 * averaged, equally many in all items; with is_keyed, rows with the same names, over the items that
 * have them.
 */
#pragma once

#include "base/buffer.h"
#include "means/study.h"
#include "stream/many.h"
#include "tables/table_internal.h"

/* The means of a group; the procedure derives the columns that are not means. */
struct attn_fold_means {
    struct attn_cell *rows; /* [n_row, n_column] */
    size_t n_row;
    const double *more; /* [n_more] */
    size_t n_more;
    size_t n_item;    /* number of items that were averaged */
    bool is_resample; /* the means are those of a resample, `more` too */
    bool is_paired;   /* the means are of differences */
};

/* Fills the derived columns of MEANS, which are missing before. ARGS are `args` of the form. */
typedef enum attn_status (*attn_fold_derive_fn)(const void *args,
                                                const struct attn_fold_means *means,
                                                struct attn_error *err);

/* How the columns of a procedure are folded; the rules follow from their traits
 * (tables/column.h). */
struct attn_fold_form {
    const char *name; /* name of the table */
    /* [n_column] all columns; a table may have a subset of these */
    const struct attn_column *columns;
    size_t n_column;
    attn_fold_derive_fn derive; /* fills the derived columns; or NULL */
    const void *args;           /* passed to `derive` */
    /* rows are matched by the columns that name them, and items have different ones */
    bool is_keyed;
    /* error hint if the rows of an item differ from those of the first item; or NULL */
    const char *hint;
};

struct attn_fold;

/* Copies FORM; STUDY and the pointers in FORM are borrowed. ATTN_INVALID if `paired` is not
 * LABEL=A:B. */
enum attn_status attn_fold_create(const struct attn_fold_form *form,
                                  const struct attn_study_args *study, struct attn_fold **fold,
                                  struct attn_error *err);
void attn_fold_free(struct attn_fold *fold); /* NULL is allowed */

/* Checks that the table of all items can be sorted by SORT (tables/table_order.h), if items have
 * all columns of the form except the HIDDEN ones [n_column]. ATTN_INVALID, with the stage of
 * options. */
enum attn_status attn_fold_check_sort(const struct attn_fold *fold, const bool *hidden,
                                      const char *sort, struct attn_error *err);

/* Checks that items without the HIDDEN columns have the column of `fdr`, and that it can be tested
 * against 0. */
enum attn_status attn_fold_check_test(const struct attn_fold *fold, const bool *hidden,
                                      struct attn_error *err);

/* Returns an error if RESULT cannot be added because it lacks a required label, or its rows do not
 * match. Only this item fails then. */
enum attn_status attn_fold_check(const struct attn_fold *fold,
                                 const struct attn_item_result *result, struct attn_error *err);

/* Like attn_fold_check, before the ANSWER about ITEM has its table, which will have N_ROW rows of
 * N_COLUMN columns. Items on other threads may be added meanwhile; until the first one was, every
 * size fits.
 */
enum attn_status attn_fold_check_size(const struct attn_fold *fold, const struct attn_item *item,
                                      const struct attn_result_answer *answer, size_t n_row,
                                      size_t n_column, struct attn_error *err);

/* Adds RESULT. ATTN_INVALID for more than 1,000 groups, or 10,000 clusters in one. */
enum attn_status attn_fold_add(struct attn_fold *fold, const struct attn_item_result *result,
                               struct attn_error *err);

/* Returns the side of ITEM in `paired`: 0 for A, 1 for B, -1 for neither. */
int attn_fold_side(const struct attn_fold *fold, const struct attn_item *item);

/* Returns `chosen` of all results, or their metric; NULL before the first. Borrowed. */
const char *attn_fold_chosen(const struct attn_fold *fold);

/* Fills n_group, n_label and n_pair of SUM. *N_SINGLE is the number of items of `paired` that have
 * no partner. */
void attn_fold_count(const struct attn_fold *fold, struct attn_study_sum *sum, size_t *n_single);

/* Creates the table of all items, which the caller owns. Without items it has no rows, and all
 * columns of the form except the HIDDEN ones. */
enum attn_status attn_fold_tabulate(const struct attn_fold *fold, const bool *hidden,
                                    struct attn_table **table, struct attn_error *err);
